//! Recordings: calls that are bound to arrays of a GPU.

use super::kernel::{ScanKernel, combined_in, same_bits};
use super::view::{AnyView, AnyViewMut};
use super::{Op, Reduce, Scan, pairs, unsigned, with_dtype, with_unsigned};
use crate::erased::Erased;
use crate::plan::check_length;
use crate::profile::Traffic;
use crate::{Device, Error, PositionPlan, Recording, Result};

/// Binds a reduction to arrays of a GPU, to be run as often as wanted: see [`ReducePlan::bind`](crate::ReducePlan::bind).
///
/// # Errors
/// Those of [`reduce_into`](super::reduce_into); [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for a mean and for pairs of types that
/// have no kernel.
pub fn bind_reduce<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    result: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<Recording> {
    let input = input.into();
    bind_reduce_views(device, input.len(), input, result.into(), problem)
}

/// Binds the reduction that arrays of as many as `items` items get, to shorter ones: see [`ReducePlan`](crate::ReducePlan).
///
/// Kernels are made before there are arrays of that length.
///
/// # Errors
/// Those of [`bind_reduce`]; [`Error::PlanTooSmall`] if there are more items.
pub fn bind_reduce_up_to<'a, 'b>(
    device: &Device,
    items: usize,
    input: impl Into<AnyView<'a>>,
    result: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<Recording> {
    bind_reduce_views(device, items, input.into(), result.into(), problem)
}

fn bind_reduce_views(
    device: &Device,
    items: usize,
    input: AnyView<'_>,
    result: AnyViewMut<'_>,
    problem: &Reduce,
) -> Result<Recording> {
    let Reduce { op, init, .. } = *problem;
    let item = input.dtype();
    problem.check(item)?;
    if op.is_position() {
        let result = result.typed::<u64>()?;
        return with_dtype!(item, T => {
            let plan = if op == Op::ArgMax { PositionPlan::<T>::argmax } else { PositionPlan::argmin };
            plan(device, items)?.bind(input.typed::<T>()?, result)
        });
    }
    let wanted = combined_in(problem.result(item));
    if result.dtype() != wanted {
        return Err(Error::WrongDtype { found: result.dtype(), wanted });
    }
    let missing = Error::OperatorElement { operator: op.name(), dtype: item };
    let (from, to) = same_bits(op, item, wanted);
    let code = pairs::reduction(op, from, to).filter(|_| op.scans()).ok_or(missing)?;
    check_length(input.len(), items)?;
    let can = |device: &Device| {
        device.kind().erased().can(|language| code.problem(init, language).signature)
    };
    let device = device.for_call(|| None, Traffic::Reads, || items * item.size(), can);
    let (input, mut result) = (input.bits_as(from), result.bits_as(to));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: device.id().to_owned() }),
        Erased::Gpu(gpu) => {
            let problem = code.problem(init, gpu.language());
            gpu.bind_reduce(items, input.erased(), result.erased(), &problem)
        }
    }
}

/// Binds a scan to arrays of a GPU, to be run as often as wanted: see [`ScanPlan::bind`](crate::ScanPlan::bind).
///
/// # Errors
/// Those of [`scan_into`](super::scan_into); [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for pairs of types that have no kernel.
pub fn bind_scan<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<Recording> {
    let input = input.into();
    bind_scan_views(device, input.len(), input, output.into(), problem)
}

/// Binds the scan that arrays of as many as `items` items get, to shorter ones: see [`ScanPlan`](crate::ScanPlan).
///
/// Kernels are made before there are arrays of that length.
///
/// # Errors
/// Those of [`bind_scan`]; [`Error::PlanTooSmall`] if there are more items.
pub fn bind_scan_up_to<'a, 'b>(
    device: &Device,
    items: usize,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<Recording> {
    bind_scan_views(device, items, input.into(), output.into(), problem)
}

fn bind_scan_views(
    device: &Device,
    items: usize,
    input: AnyView<'_>,
    output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<Recording> {
    let (item, out) = (input.dtype(), output.dtype());
    problem.check(item, out)?;
    let kernel = ScanKernel::new(problem.op, item, out)?;
    if kernel.widened_to != item {
        return Err(Error::OperatorElement { operator: problem.op.name(), dtype: item });
    }
    check_length(input.len(), items)?;
    let can = |device: &Device| kernel.is_on(device, problem);
    let bytes = || items * (item.size() + out.size());
    let device = device.for_call(|| None, Traffic::Copies, bytes, can);
    let (input, mut output) = (input.bits_as(kernel.from), output.bits_as(kernel.to));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: device.id().to_owned() }),
        Erased::Gpu(gpu) => {
            let problem = kernel.code.problem(problem, gpu.language());
            gpu.bind_scan(items, input.erased(), output.erased(), &problem)
        }
    }
}

/// All of an array read, and nothing done with it: see [`Device::bind_probe_read`].
///
/// # Errors
/// Those of that call.
pub fn bind_probe_read<'a>(device: &Device, input: impl Into<AnyView<'a>>) -> Result<Recording> {
    probe_read(device, input.into())
}

fn probe_read(device: &Device, input: AnyView<'_>) -> Result<Recording> {
    // What bytes stand for makes no difference.
    let same = unsigned(input.dtype());
    with_unsigned!(same, T => device.bind_probe_read(input.bits_as(same).typed::<T>()?))
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
    probe_copy(device, input.into(), output.into())
}

fn probe_copy(device: &Device, input: AnyView<'_>, output: AnyViewMut<'_>) -> Result<Recording> {
    let (from, to) = (unsigned(input.dtype()), unsigned(output.dtype()));
    let (input, output) = (input.bits_as(from), output.bits_as(to));
    with_unsigned!(from, T => with_unsigned!(to, U => {
        device.bind_probe_copy(input.typed::<T>()?, output.typed::<U>()?)
    }))
}
