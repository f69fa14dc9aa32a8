//! Plans: a problem and its scratch memory, made once and used many times.

use core::marker::PhantomData;

use upsweep_core::Backend;
use upsweep_cpu::Cpu;

use crate::{Device, Element, Error, Operator, Reduce, Result, Scan, View, ViewMut, Widen};

/// A reduction that is made once and run many times, on inputs of at most a given length.
///
/// # Cost
/// Owns its scratch memory: [`run`](ReducePlan::run) allocates nothing but some tens of bytes for
/// each thread that is woken.
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
    device: Device,
    items: usize,
    problem: Reduce<A, O>,
    workspace: <Cpu as Backend>::Workspace,
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
        let workspace = device.backend().workspace(items, size_of::<T>())?;
        Ok(Self { device: device.clone(), items, problem, workspace, input: PhantomData })
    }

    /// Combines all items of `input` into one value.
    ///
    /// # Errors
    /// [`Error::PlanTooSmall`] if there are more items than the plan was made for.
    pub fn run<'a>(&mut self, input: impl Into<View<'a, T>>) -> Result<A> {
        let input = input.into();
        check_length(input.len(), self.items)?;
        self.device.backend().reduce(&mut self.workspace, input.host, &self.problem)
    }
}

/// A scan that is made once and run many times, on inputs of at most a given length.
///
/// # Cost
/// Owns its scratch memory: [`run_into`](ScanPlan::run_into) and
/// [`run_in_place`](ScanPlan::run_in_place) allocate nothing; with threads, their pool's queue takes a
/// block of some 1.5 KiB now and then.
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
    device: Device,
    items: usize,
    problem: Scan<U::Acc, O>,
    workspace: <Cpu as Backend>::Workspace,
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
        let workspace = device.backend().workspace(items, size_of::<T>().max(size_of::<U>()))?;
        Ok(Self { device: device.clone(), items, problem, workspace, input: PhantomData })
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
        let (input, output) = (input.into(), output.into());
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        check_length(input.len(), self.items)?;
        let backend = self.device.backend();
        backend.scan(&mut self.workspace, input.host, output.host, &self.problem)
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
        let data = data.into();
        check_length(data.len(), self.items)?;
        self.device.backend().scan_in_place(&mut self.workspace, data.host, &self.problem)
    }
}

fn check_length(input: usize, planned: usize) -> Result<()> {
    if input > planned { Err(Error::PlanTooSmall { input, planned }) } else { Ok(()) }
}
