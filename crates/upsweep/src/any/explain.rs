//! What is known of calls before they run, and what they say of themselves.

use super::array::{AnyView, AnyViewMut};
use super::reduce::seen_as;
use super::{Op, Reduce, Scan, with_dtype};
use crate::explain::Report;
use crate::{CpuPolicy, CpuShape, Device, Dtype, Policy, Recording, Result, Strategy};

/// Calls `$body` with `$type` standing for the Rust type of an unsigned [`Dtype`].
macro_rules! with_unsigned {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            Dtype::U8 => {
                type $type = u8;
                $body
            }
            Dtype::U16 => {
                type $type = u16;
                $body
            }
            Dtype::U32 => {
                type $type = u32;
                $body
            }
            _ => {
                type $type = u64;
                $body
            }
        }
    };
}

/// Explains a reduction, a mean as its sum: see [`explain::reduce`](crate::explain::reduce).
///
/// # Errors
/// Those of [`reduce`](super::reduce).
pub fn explain_reduce<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    problem: &Reduce,
) -> Result<Report> {
    let input = input.into();
    if problem.op.is_position() {
        problem.check(input.dtype())?;
        let largest = problem.op == Op::ArgMax;
        return with_dtype!(input.dtype(), T => {
            crate::explain::position(device, input.typed::<T>()?, largest)
        });
    }
    let (code, [seen, from], init) = problem.code(input.dtype(), device)?;
    let mut buffer = Vec::new();
    code.explain(device, seen_as(input, seen, &mut buffer)?.bits_as(from), init)
}

/// Explains a scan into an array with items of type `out`: see [`explain::scan`](crate::explain::scan).
///
/// # Errors
/// Those of [`scan`](super::scan()).
pub fn explain_scan<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    out: Dtype,
    problem: &Scan,
) -> Result<Report> {
    let input = input.into();
    let (code, [seen, from]) = problem.code(input.dtype(), out)?;
    let mut buffer = Vec::new();
    code.explain(device, seen_as(input, seen, &mut buffer)?.bits_as(from), problem)
}

/// All of an array read, and nothing done with it: see [`Device::bind_probe_read`].
///
/// # Errors
/// Those of that call.
pub fn bind_probe_read<'a>(device: &Device, input: impl Into<AnyView<'a>>) -> Result<Recording> {
    bind_probe_read_of_view(device, input.into())
}

// Not generic, so that callers do not compile it.
fn bind_probe_read_of_view(device: &Device, input: AnyView<'_>) -> Result<Recording> {
    with_dtype!(input.dtype(), T => device.bind_probe_read(input.typed::<T>()?))
}

/// All bytes of an array copied to another: see [`Device::bind_probe_copy`].
///
/// # Errors
/// Those of that call.
pub fn bind_probe_copy<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
) -> Result<Recording> {
    bind_probe_copy_of_views(device, input.into(), output.into())
}

// Not generic, so that callers do not compile it.
fn bind_probe_copy_of_views(
    device: &Device,
    input: AnyView<'_>,
    output: AnyViewMut<'_>,
) -> Result<Recording> {
    // What bytes stand for makes no difference.
    let (from, to) = (unsigned(input.dtype()), unsigned(output.dtype()));
    let (input, output) = (input.bits_as(from), output.bits_as(to));
    with_unsigned!(from, T => with_unsigned!(to, U => {
        device.bind_probe_copy(input.typed::<T>()?, output.typed::<U>()?)
    }))
}

/// The strategy and policy that a reduction of so many items gets: see [`Device::reduce_choice_of`].
pub fn reduce_choice(device: &Device, item: Dtype, items: usize) -> (Strategy, Policy) {
    with_dtype!(item, T => device.reduce_choice_of::<T>(items))
}

/// The strategy and policy that a scan of so many items gets: see [`Device::scan_choice_of`].
pub fn scan_choice(device: &Device, item: Dtype, out: Dtype, items: usize) -> (Strategy, Policy) {
    // Of what is read, only the size counts.
    with_unsigned!(unsigned(item), T => with_dtype!(out, U => device.scan_choice_of::<T, U>(items)))
}

/// What the numbers of a CPU come to for a reduction of so many items; nothing on a GPU: see [`Device::reduce_shape`].
pub fn reduce_shape(device: &Device, item: Dtype, items: usize) -> Option<CpuShape> {
    with_dtype!(item, T => device.reduce_shape::<T>(items))
}

/// What the numbers of a CPU come to for a scan of so many items; nothing on a GPU, and of what there is not: see
/// [`Device::scan_shape`].
pub fn scan_shape(
    device: &Device,
    op: Op,
    item: Dtype,
    out: Dtype,
    items: usize,
) -> Option<CpuShape> {
    let (code, _) = Scan::inclusive(op).code(item, out).ok()?;
    code.shape(device, items)
}

/// The numbers of a CPU for items of this type; nothing on a GPU: see [`Device::cpu_policy`].
pub fn cpu_policy(device: &Device, dtype: Dtype) -> Option<CpuPolicy> {
    with_dtype!(dtype, T => device.cpu_policy::<T>())
}

/// The unsigned type of the same size.
fn unsigned(dtype: Dtype) -> Dtype {
    match dtype.size() {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    }
}
