//! Reductions: all items combined into one value.

use upsweep_core::{Backend, Extreme};

use crate::auto::knows;
use crate::backend::{ViewBackend, on_backend};
use crate::profile::Traffic;
use crate::{
    Device, Element, Number, Operator, Reduce, Result, Sum, View, ViewMut, Widen, bf16, f16,
};

/// Combines all items of `input` with `operator`; the result has the items' type.
///
/// # Arguments
/// - `input`: any number of items; none give the operator's identity.
///
/// # Operator
/// Associative; any, commutative or not.
///
/// # Result
/// Integers wrap in their type; `f16` and `bf16` are combined in `f32` and rounded once, at the
/// end. Floats have the same bits on every device ([`summation`](crate::summation)).
///
/// # Cost
/// Reads the input once. Allocates nothing but some tens of bytes for each thread that is woken.
/// Returns when the value is there.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, Product, reduce};
/// assert_eq!(reduce(&Device::cpu(), &[2u32, 3, 7], Product)?, 42);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// Algorithm cascading, after M. Harris, *Optimizing Parallel Reduction in CUDA* (2007); the
/// order of `docs/summation.md`.
#[inline]
pub fn reduce<'a, T, O>(device: &Device, input: impl Into<View<'a, T>>, operator: O) -> Result<T>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    reduce_with(device, input, &Reduce::new(operator)).map(T::from_acc)
}

/// Combines all items of `input` in the wider type `A`.
///
/// # Arguments
/// - `input`: any number of items of a type that widens to `A`.
///
/// # Operator
/// Associative on `A`; any, commutative or not.
///
/// # Result
/// As for [`reduce`], in `A`.
///
/// # Cost
/// Reads the input once. Allocates nothing but some tens of bytes for each thread that is woken.
/// Returns when the value is there.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, reduce_as};
/// assert_eq!(reduce_as::<u64, _, _>(&Device::cpu(), &[250u8, 250], Sum)?, 500);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[inline]
pub fn reduce_as<'a, A, T, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    operator: O,
) -> Result<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    reduce_with(device, input, &Reduce::new(operator))
}

/// Solves a reduction that is stated in full: with a start value or another determinism.
///
/// # Examples
/// ```
/// use upsweep::{Device, Reduce, Sum, reduce_with};
/// let total: i64 = reduce_with(&Device::cpu(), &[1i8, -3], &Reduce::new(Sum).init(100))?;
/// assert_eq!(total, 98);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[inline]
pub fn reduce_with<'a, T, A, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    problem: &Reduce<A, O>,
) -> Result<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    reduce_view(device, input.into(), problem)
}

#[inline(never)]
fn reduce_view<T, A, O>(device: &Device, input: View<'_, T>, problem: &Reduce<A, O>) -> Result<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let can = |device: &Device| device.can::<T, A, A, O>(&problem.operator);
    let device = device.for_call(|| input.home(), Traffic::Reads, || input.bytes(), can);
    on_backend!(device, backend => {
        let mut workspace = backend.workspace(input.len(), size_of::<T>())?;
        backend.reduce::<T, A, O>(&mut workspace, backend.input(input)?, problem)
    })
}

/// Like [`reduce_as`], leaving the value where the caller wants it: on a GPU the host need not wait.
///
/// # Arguments
/// - `input`: any number of items of a type that widens to `A`.
/// - `result`: one item, overwritten.
///
/// # Cost
/// As for [`reduce`]. With a result on a GPU it returns before the value is there; what comes after
/// it on that device sees the value.
///
/// # Errors
/// [`Error::ResultLength`](crate::Error::ResultLength) unless there is one item for the result,
/// and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, Sum, reduce_into};
/// let device = Device::cpu();
/// let mut total = Array::filled(&device, 1, 0u64)?;
/// reduce_into(&device, &[250u8, 250], &mut total, Sum)?;
/// assert_eq!(total.to_vec()?, [500]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_into<'a, 'b, A, T, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    result: impl Into<ViewMut<'b, A>>,
    operator: O,
) -> Result<()>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    reduce_into_with(device, input, result, &Reduce::new(operator))
}

/// Like [`reduce_into`], for a reduction that is stated in full.
///
/// # Errors
/// Those of [`reduce_into`].
pub fn reduce_into_with<'a, 'b, T, A, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    result: impl Into<ViewMut<'b, A>>,
    problem: &Reduce<A, O>,
) -> Result<()>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    reduce_views(device, input.into(), result.into(), problem)
}

#[inline(never)]
fn reduce_views<T, A, O>(
    device: &Device,
    input: View<'_, T>,
    result: ViewMut<'_, A>,
    problem: &Reduce<A, O>,
) -> Result<()>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let home = || input.home().or_else(|| result.home());
    let can = |device: &Device| device.can::<T, A, A, O>(&problem.operator);
    let device = device.for_call(home, Traffic::Reads, || input.bytes(), can);
    on_backend!(device, backend => {
        let mut workspace = backend.workspace(input.len(), size_of::<T>())?;
        let (input, result) = (backend.input(input)?, backend.output(result)?);
        backend.reduce_into::<T, A, O>(&mut workspace, input, result, problem)
    })
}

/// The first position of the smallest item; `None` if there are no items.
///
/// # Result
/// −0 and +0 are equal; a NaN counts as smaller than every number, so that the first NaN is found.
///
/// # Cost
/// Reads the input once. Allocates nothing but some tens of bytes for each thread that is woken.
/// Returns when the value is there.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, argmin};
/// assert_eq!(argmin(&Device::cpu(), &[4i16, -2, 9, -2])?, Some(1));
/// assert_eq!(argmin::<f32>(&Device::cpu(), &[])?, None);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[inline]
pub fn argmin<'a, T>(device: &Device, input: impl Into<View<'a, T>>) -> Result<Option<u64>>
where
    T: Number,
{
    position(device, input.into(), Extreme::Smallest)
}

/// The first position of the largest item; `None` if there are no items.
///
/// # Result
/// −0 and +0 are equal; a NaN counts as larger than every number, so that the first NaN is found.
///
/// # Cost
/// Reads the input once. Allocates nothing but some tens of bytes for each thread that is woken.
/// Returns when the value is there.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, argmax};
/// assert_eq!(argmax(&Device::cpu(), &[4.0f64, 9.0, f64::NAN])?, Some(2));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[inline]
pub fn argmax<'a, T>(device: &Device, input: impl Into<View<'a, T>>) -> Result<Option<u64>>
where
    T: Number,
{
    position(device, input.into(), Extreme::Largest)
}

#[inline(never)]
fn position<T: Number>(
    device: &Device,
    input: View<'_, T>,
    extreme: Extreme,
) -> Result<Option<u64>> {
    let can = |device: &Device| knows(device.limits(), T::DTYPE);
    let device = device.for_call(|| input.home(), Traffic::Reads, || input.bytes(), can);
    on_backend!(device, backend => {
        let mut workspace = backend.workspace(input.len(), size_of::<T>())?;
        backend.position::<T>(&mut workspace, backend.input(input)?, extreme)
    })
}

/// A number whose mean is defined, and the type of the mean.
pub trait Mean: Number {
    /// `f64` for integers and `f64`, `f32` for the shorter floats.
    type Output: Number + Element<Acc = Self::Output>;

    /// `sum / items`, divided in `f64`.
    fn divide(sum: Self::Output, items: usize) -> Self::Output;
}

macro_rules! mean {
    ($($type:ident $output:ident)*) => { $(
        impl Mean for $type {
            type Output = $output;
            #[allow(
                clippy::cast_possible_truncation,
                clippy::unnecessary_cast,
                reason = "rounding to the output type is what is meant"
            )]
            fn divide(sum: $output, items: usize) -> $output {
                (sum as f64 / items as f64) as $output
            }
        }
    )* };
}

mean!(u8 f64 i8 f64 u16 f64 i16 f64 u32 f64 i32 f64 u64 f64 i64 f64 f16 f32 bf16 f32 f32 f32 f64 f64);

/// The arithmetic mean: the sum, in the type of the mean, divided by the number of items. The
/// mean of nothing is NaN.
///
/// # Result
/// The same bits on every device: the sum follows [`summation`](crate::summation).
///
/// # Cost
/// Reads the input once. Allocates nothing but some tens of bytes for each thread that is woken.
/// Returns when the value is there.
///
/// # Errors
/// Those of the device; none on the CPU.
///
/// # Examples
/// ```
/// use upsweep::{Device, mean};
/// assert_eq!(mean(&Device::cpu(), &[250u8, 251])?, 250.5);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn mean<'a, T>(device: &Device, input: impl Into<View<'a, T>>) -> Result<T::Output>
where
    T: Mean + Widen<<T as Mean>::Output>,
    Sum: Operator<T::Output>,
{
    let input = input.into();
    let sum = reduce_as::<T::Output, _, _>(device, input, Sum)?;
    Ok(T::divide(sum, device.known_len(input.erased())?))
}
