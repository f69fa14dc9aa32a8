//! Scans: every prefix of the items, combined.

use upsweep_core::Backend;

use crate::backend::{ViewBackend, on_backend};
use crate::profile::Traffic;
use crate::view::Items;
use crate::{Array, Device, Element, Error, Operator, Result, Scan, View, ViewMut, Widen};

/// Output `i` combines the items `[0, i]`.
///
/// # Arguments
/// - `input`: any number of items.
///
/// # Operator
/// Associative; any, commutative or not.
///
/// # Result
/// An array as long as the input. Integers wrap in their type; `f16` and `bf16` are combined in
/// `f32` and rounded once, when stored. Floats have the same bits on every device
/// ([`summation`](crate::summation)).
///
/// # Cost
/// Reads the input from memory once and writes the output once. Allocates the output, on the
/// device. Returns when the output is there, or on a GPU when the work has been begun.
///
/// # Errors
/// [`Error::OutOfMemory`] if the output cannot be allocated, and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Max, inclusive_scan};
/// let highest = inclusive_scan(&Device::cpu(), &[3, 1, 4, 1, 5], Max)?;
/// assert_eq!(highest.into_vec()?, [3, 3, 4, 4, 5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// Single pass with aggregates handed on in order, after D. Merrill and M. Garland,
/// *Single-pass Parallel Prefix Scan with Decoupled Look-back* (2016); the order of
/// `docs/summation.md`.
pub fn inclusive_scan<'a, T, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    operator: O,
) -> Result<Array<T>>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    scan(device, input.into(), &Scan::inclusive(operator))
}

/// Output `i` combines the items `[0, i)`; output 0 is the identity.
///
/// # Arguments
/// - `input`: any number of items.
///
/// # Operator
/// Associative; any, commutative or not.
///
/// # Result
/// As for [`inclusive_scan`].
///
/// # Cost
/// As for [`inclusive_scan`].
///
/// # Errors
/// As for [`inclusive_scan`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, exclusive_scan};
/// let starts = exclusive_scan(&Device::cpu(), &[3, 1, 4, 1, 5], Sum)?;
/// assert_eq!(starts.into_vec()?, [0, 3, 4, 8, 9]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn exclusive_scan<'a, T, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    operator: O,
) -> Result<Array<T>>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    scan(device, input.into(), &Scan::exclusive(operator))
}

fn scan<T, O>(device: &Device, input: View<'_, T>, problem: &Scan<T::Acc, O>) -> Result<Array<T>>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let device = &*device.at_home(|| input.home());
    let mut output = Array::room_for(device, input)?;
    match input.items {
        // A copy of the host's items is scanned in place.
        Items::Host(_) => scan_in_place_with(device, &mut output, problem)?,
        Items::Device(_) => scan_into_with(device, input, &mut output, problem)?,
    }
    Ok(output)
}

/// Like [`inclusive_scan`], into memory of the caller's; the output's type may be wider than the
/// input's, and decides in which type items are combined.
///
/// # Arguments
/// - `input`: `n` items.
/// - `output`: `n` items, overwritten.
///
/// # Cost
/// Reads the input from memory once and writes the output once. With an output on a GPU it returns
/// when the work has been begun: what comes after it on that device sees the output, and
/// [`Device::wait`] says whether it went well.
///
/// # Errors
/// [`Error::LengthMismatch`], before anything is written, and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, inclusive_scan_into};
/// let mut ends = [0u32; 3];
/// inclusive_scan_into(&Device::cpu(), &[200u8, 200, 200], &mut ends, Sum)?;
/// assert_eq!(ends, [200, 400, 600]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn inclusive_scan_into<'a, 'b, T, U, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, U>>,
    operator: O,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    scan_into_with(device, input, output, &Scan::inclusive(operator))
}

/// Like [`exclusive_scan`], into memory of the caller's; the output's type may be wider than the
/// input's, and decides in which type items are combined.
///
/// # Arguments
/// - `input`: `n` items.
/// - `output`: `n` items, overwritten.
///
/// # Errors
/// [`Error::LengthMismatch`], before anything is written, and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, exclusive_scan_into};
/// let mut starts = [0u64; 3];
/// exclusive_scan_into(&Device::cpu(), &[200u8, 200, 200], &mut starts, Sum)?;
/// assert_eq!(starts, [0, 200, 400]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn exclusive_scan_into<'a, 'b, T, U, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, U>>,
    operator: O,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    scan_into_with(device, input, output, &Scan::exclusive(operator))
}

/// Replaces every item by the combination of the items `[0, i]`.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, inclusive_scan_in_place};
/// let mut data = [1, 2, 3];
/// inclusive_scan_in_place(&Device::cpu(), &mut data, Sum)?;
/// assert_eq!(data, [1, 3, 6]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn inclusive_scan_in_place<'a, T, O>(
    device: &Device,
    data: impl Into<ViewMut<'a, T>>,
    operator: O,
) -> Result<()>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    scan_in_place_with(device, data, &Scan::inclusive(operator))
}

/// Replaces every item by the combination of the items `[0, i)`, the first by the identity.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, exclusive_scan_in_place};
/// let mut counts = vec![2usize as u64, 0, 3];
/// exclusive_scan_in_place(&Device::cpu(), &mut counts, Sum)?;
/// assert_eq!(counts, [0, 2, 2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn exclusive_scan_in_place<'a, T, O>(
    device: &Device,
    data: impl Into<ViewMut<'a, T>>,
    operator: O,
) -> Result<()>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    scan_in_place_with(device, data, &Scan::exclusive(operator))
}

/// Solves a scan that is stated in full: direction, start value, determinism.
///
/// # Arguments
/// - `input`: `n` items.
/// - `output`: `n` items, overwritten.
///
/// # Errors
/// [`Error::LengthMismatch`], before anything is written, and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Scan, Sum, scan_into_with};
/// let mut rest = [0i32; 3];
/// scan_into_with(&Device::cpu(), &[1, 2, 3], &mut rest, &Scan::exclusive(Sum).reverse().init(10))?;
/// assert_eq!(rest, [15, 13, 10]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn scan_into_with<'a, 'b, T, U, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, U>>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    scan_views(device, input.into(), output.into(), problem)
}

#[inline(never)]
fn scan_views<T, U, O>(
    device: &Device,
    input: View<'_, T>,
    mut output: ViewMut<'_, U>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    output.fit(input.len(), input.bound());
    if input.len() != output.len() {
        return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
    }
    let home = || input.home().or_else(|| output.home());
    let bytes = || input.bytes() + output.len() * size_of::<U>();
    let can = |device: &Device| device.can::<T, U::Acc, U, O>(&problem.operator);
    let device = device.for_call(home, Traffic::Copies, bytes, can);
    on_backend!(device, backend => {
        let mut workspace = backend.workspace(input.len(), size_of::<T>().max(size_of::<U>()))?;
        let (input, output) = (backend.input(input)?, backend.output(output)?);
        backend.scan::<T, U, O>(&mut workspace, input, output, problem)
    })
}

/// Solves a scan that is stated in full, in place.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, Max, Scan, scan_in_place_with};
/// let mut data = [1, 5, 2];
/// scan_in_place_with(&Device::cpu(), &mut data, &Scan::inclusive(Max).reverse())?;
/// assert_eq!(data, [5, 5, 2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn scan_in_place_with<'a, T, O>(
    device: &Device,
    data: impl Into<ViewMut<'a, T>>,
    problem: &Scan<T::Acc, O>,
) -> Result<()>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    scan_view(device, data.into(), problem)
}

#[inline(never)]
fn scan_view<T, O>(device: &Device, data: ViewMut<'_, T>, problem: &Scan<T::Acc, O>) -> Result<()>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let bytes = || 2 * data.len() * size_of::<T>();
    let can = |device: &Device| device.can::<T, T::Acc, T, O>(&problem.operator);
    let device = device.for_call(|| data.home(), Traffic::Copies, bytes, can);
    on_backend!(device, backend => {
        let mut workspace = backend.workspace(data.len(), size_of::<T>())?;
        backend.scan_in_place::<T, O>(&mut workspace, backend.output(data)?, problem)
    })
}
