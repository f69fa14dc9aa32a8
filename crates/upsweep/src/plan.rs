//! Plans: a problem and its scratch memory, made once and used many times.
//!
//! A function that takes anything that becomes a view does no more than make it one: the rest is compiled once for all of them. It is also
//! what the compiler wants: what is called with that assumption in scope took it 8 s of one core for each such function (rustc 1.95,
//! `docs/decisions/2026-11-26-compile-times.md`).

use core::marker::PhantomData;

use upsweep_core::{Backend, Extreme};

use crate::auto::knows;
use crate::backend::{ScratchMemory, ViewBackend, on_prepared};
use crate::profile::Traffic;
use crate::{Device, Element, Error, Number, Operator, Reduce, Result, Scan, View, ViewMut, Widen};

/// A reduction that is made once and run many times, on inputs of at most a given length.
///
/// # Cost
/// Owns its scratch memory: [`run`](ReducePlan::run) allocates nothing but some tens of bytes for
/// each thread that is woken. On a GPU the first run makes the kernel and the scratch memory; those after it, on arrays that are
/// aligned alike, make nothing. [`bind`](ReducePlan::bind) makes everything without a run.
///
/// # Examples
/// ```
/// use upsweep::{Device, Reduce, ReducePlan, Sum};
/// let mut plan = ReducePlan::<u8, u64, _>::new(&Device::cpu(), 1000, Reduce::new(Sum))?;
/// assert_eq!(plan.run(&[200, 100])?, 300);
/// assert_eq!(plan.run(&[1; 1000])?, 1000);
/// assert!(plan.run(&[1; 1001]).is_err());
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct ReducePlan<T, A, O> {
    pub(crate) prepared: ScratchMemory,
    pub(crate) items: usize,
    pub(crate) problem: Reduce<A, O>,
    input: PhantomData<fn(T)>,
}

impl<T, A, O> ReducePlan<T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    /// A plan for inputs of at most `items` items.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the scratch memory cannot be had.
    pub fn new(device: &Device, items: usize, problem: Reduce<A, O>) -> Result<Self> {
        let can = |device: &Device| device.can::<T, A, A, O>(&problem.operator);
        let bytes = || items * size_of::<T>();
        let device = device.for_call(|| None, Traffic::Reads, bytes, can);
        let prepared = ScratchMemory::new(device.kind(), items, size_of::<T>())?;
        Ok(Self { prepared, items, problem, input: PhantomData })
    }

    /// Combines all items of `input` into one value.
    ///
    /// # Errors
    /// [`Error::PlanTooSmall`] if there are more items than the plan was made for.
    pub fn run<'a>(&mut self, input: impl Into<View<'a, T>>) -> Result<A> {
        self.run_view(input.into())
    }

    #[inline(never)]
    fn run_view(&mut self, input: View<'_, T>) -> Result<A> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.reduce::<T, A, O>(workspace, backend.input(input)?, &self.problem)
        })
    }

    /// Combines all items of `input` into the one item of `result`. With a result on a GPU it does
    /// not wait, see [`reduce_into`](crate::reduce_into).
    ///
    /// # Errors
    /// [`Error::PlanTooSmall`], [`Error::ResultLength`], and those of the device.
    pub fn run_into<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        result: impl Into<ViewMut<'b, A>>,
    ) -> Result<()> {
        self.run_views(input.into(), result.into())
    }

    #[inline(never)]
    fn run_views(&mut self, input: View<'_, T>, result: ViewMut<'_, A>) -> Result<()> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            let (input, result) = (backend.input(input)?, backend.output(result)?);
            backend.reduce_into::<T, A, O>(workspace, input, result, &self.problem)
        })
    }
}

/// A scan that is made once and run many times, on inputs of at most a given length.
///
/// # Cost
/// Owns its scratch memory: [`run_into`](ScanPlan::run_into) and
/// [`run_in_place`](ScanPlan::run_in_place) allocate nothing but some tens of bytes for each thread that is woken,
/// and their pool's queue takes a block of some 1.5 KiB now and then. On a GPU it is as with a [`ReducePlan`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Scan, ScanPlan, Sum};
/// let mut plan = ScanPlan::<u8, u32, _>::new(&Device::cpu(), 1000, Scan::exclusive(Sum))?;
/// let mut starts = [0; 3];
/// plan.run_into(&[200, 100, 50], &mut starts)?;
/// assert_eq!(starts, [0, 200, 300]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct ScanPlan<T, U: Element, O> {
    pub(crate) prepared: ScratchMemory,
    pub(crate) items: usize,
    pub(crate) problem: Scan<U::Acc, O>,
    input: PhantomData<fn(T)>,
}

impl<T, U, O> ScanPlan<T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    /// A plan for inputs of at most `items` items.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the scratch memory cannot be had.
    pub fn new(device: &Device, items: usize, problem: Scan<U::Acc, O>) -> Result<Self> {
        let item_bytes = size_of::<T>().max(size_of::<U>());
        let bytes = || items * (size_of::<T>() + size_of::<U>());
        let can = |device: &Device| device.can::<T, U::Acc, U, O>(&problem.operator);
        let device = device.for_call(|| None, Traffic::Copies, bytes, can);
        let prepared = ScratchMemory::new(device.kind(), items, item_bytes)?;
        Ok(Self { prepared, items, problem, input: PhantomData })
    }

    /// Writes every prefix of `input` to `output`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] and [`Error::PlanTooSmall`], before anything is written.
    pub fn run_into<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, U>>,
    ) -> Result<()> {
        self.run_views(input.into(), output.into())
    }

    #[inline(never)]
    fn run_views(&mut self, input: View<'_, T>, mut output: ViewMut<'_, U>) -> Result<()> {
        output.fit(input.len(), input.bound());
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            let (input, output) = (backend.input(input)?, backend.output(output)?);
            backend.scan::<T, U, O>(workspace, input, output, &self.problem)
        })
    }
}

impl<T, O> ScanPlan<T, T, O>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    /// Replaces every item by its prefix.
    ///
    /// # Errors
    /// [`Error::PlanTooSmall`], before anything is written.
    pub fn run_in_place<'a>(&mut self, data: impl Into<ViewMut<'a, T>>) -> Result<()> {
        self.run_view(data.into())
    }

    #[inline(never)]
    fn run_view(&mut self, data: ViewMut<'_, T>) -> Result<()> {
        check_length(data.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.scan_in_place::<T, O>(workspace, backend.output(data)?, &self.problem)
        })
    }
}

/// A search for the first smallest or largest item that is made once and run many times, on inputs of
/// at most a given length.
///
/// # Examples
/// ```
/// use upsweep::{Device, PositionPlan};
/// let mut plan = PositionPlan::<f32>::argmax(&Device::cpu(), 1000)?;
/// assert_eq!(plan.run(&[0.5, 2.0, 2.0])?, Some(1));
/// assert_eq!(plan.run(&[])?, None);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct PositionPlan<T> {
    pub(crate) prepared: ScratchMemory,
    pub(crate) items: usize,
    pub(crate) extreme: Extreme,
    input: PhantomData<fn(T)>,
}

impl<T: Number> PositionPlan<T> {
    /// A plan for the first position of the smallest of at most `items` items; see
    /// [`argmin`](crate::argmin).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the scratch memory cannot be had.
    pub fn argmin(device: &Device, items: usize) -> Result<Self> {
        Self::new(device, items, Extreme::Smallest)
    }

    /// A plan for the first position of the largest of at most `items` items; see
    /// [`argmax`](crate::argmax).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the scratch memory cannot be had.
    pub fn argmax(device: &Device, items: usize) -> Result<Self> {
        Self::new(device, items, Extreme::Largest)
    }

    fn new(device: &Device, items: usize, extreme: Extreme) -> Result<Self> {
        let can = |device: &Device| knows(device.limits(), T::DTYPE);
        let bytes = || items * size_of::<T>();
        let device = device.for_call(|| None, Traffic::Reads, bytes, can);
        let prepared = ScratchMemory::new(device.kind(), items, size_of::<T>())?;
        Ok(Self { prepared, items, extreme, input: PhantomData })
    }

    /// The first position; `None` if there are no items.
    ///
    /// # Errors
    /// [`Error::PlanTooSmall`] if there are more items than the plan was made for.
    pub fn run<'a>(&mut self, input: impl Into<View<'a, T>>) -> Result<Option<u64>> {
        self.run_view(input.into())
    }

    #[inline(never)]
    fn run_view(&mut self, input: View<'_, T>) -> Result<Option<u64>> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.position::<T>(workspace, backend.input(input)?, self.extreme)
        })
    }
}

pub(crate) fn check_length(input: usize, planned: usize) -> Result<()> {
    if input > planned { Err(Error::PlanTooSmall { input, planned }) } else { Ok(()) }
}
