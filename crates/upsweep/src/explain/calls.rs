//! The calls: their arrays, and how they are done on a CPU and on a GPU.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use upsweep_core::{Bounds, Extreme, Traffic, Work};

use super::Report;
use super::facts::{Facts, Jobs, Times, WhyOf};
use crate::backend::Kind;
use crate::view::Items;
use crate::{
    Array, Device, Element, Error, Number, Operator, PositionPlan, Profile, Recording, Reduce,
    ReducePlan, Result, Scan, ScanPlan, View, Widen, argmax, argmin, reduce_into_with,
    scan_into_with,
};

/// Explains a reduction: see [`reduce_with`](crate::reduce_with).
///
/// # Cost
/// Some tens of times that of the call; on a GPU at least 200 ms of work, which raise the speed of an idle one, and room for a copy
/// of an input of the host's; on a CPU room for as many bytes again, a GiB at most.
///
/// # Errors
/// Those of the call.
pub fn reduce<'a, T, A, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    problem: &Reduce<A, O>,
) -> Result<Report>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let input = input.into();
    let facts = Facts {
        primitive: "reduce",
        operator: O::NAME,
        types: names::<T, A>(),
        work: Work::of::<T, A, O, A>(),
        writes: false,
        item_bytes: [size_of::<T>(), size_of::<A>()],
        // Whatever does not commute is done as a scan is, in windows of the order of summation.
        shape: if O::COMMUTATIVE { Device::reduce_shape::<T> } else { |_, _| None },
    };
    Call {
        facts,
        filling: problem.operator.identity(),
        run: &|device: &Device, items: &[T], result: &mut Array<A>| {
            reduce_into_with(device, items, result, problem)
        },
        bind: &|device: &Device, input: View<'_, T>, result: &mut Array<A>| {
            ReducePlan::<T, A, O>::new(device, input.len(), *problem)?.bind(input, result)
        },
    }
    .explain(device, input)
}

/// Explains a search for the first position of an extreme: see [`argmin`](crate::argmin) and [`argmax`](crate::argmax).
///
/// # Cost and errors
/// Those of [`reduce`].
pub fn position<'a, T: Number>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    largest: bool,
) -> Result<Report> {
    let input = input.into();
    let (primitive, extreme) = match largest {
        true => ("argmax", Extreme::Largest),
        false => ("argmin", Extreme::Smallest),
    };
    let facts = Facts {
        primitive,
        operator: primitive,
        types: names::<T, u64>(),
        work: Some(Work::of_position::<T>(extreme)),
        writes: false,
        item_bytes: [size_of::<T>(), size_of::<u64>()],
        shape: Device::reduce_shape::<T>,
    };
    Call {
        facts,
        filling: 0u64,
        run: &|device: &Device, items: &[T], result: &mut Array<u64>| {
            let found = if largest { argmax(device, items) } else { argmin(device, items) };
            result.copy_from_slice(&[found?.unwrap_or(u64::MAX)])
        },
        bind: &|device: &Device, input: View<'_, T>, result: &mut Array<u64>| {
            let plan = match largest {
                true => PositionPlan::argmax(device, input.len()),
                false => PositionPlan::argmin(device, input.len()),
            };
            plan?.bind(input, result)
        },
    }
    .explain(device, input)
}

/// Explains a scan into an array of its own with items of type `U`: see [`scan_into_with`].
///
/// # Cost and errors
/// Those of [`reduce`], and room for the output and for as many bytes as are read.
pub fn scan<'a, T, U, O>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    problem: &Scan<U::Acc, O>,
) -> Result<Report>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let input = input.into();
    let facts = Facts {
        primitive: match problem.bounds {
            Bounds::Inclusive => "inclusive_scan",
            Bounds::Exclusive => "exclusive_scan",
        },
        operator: O::NAME,
        types: names::<T, U>(),
        work: Work::of::<T, U, O, U::Acc>(),
        writes: true,
        item_bytes: [size_of::<T>(), size_of::<U>()],
        shape: Device::scan_shape::<T, U, O>,
    };
    Call {
        facts,
        filling: U::from_acc(problem.operator.identity()),
        run: &|device: &Device, items: &[T], output: &mut Array<U>| {
            scan_into_with(device, items, output, problem)
        },
        bind: &|device: &Device, input: View<'_, T>, output: &mut Array<U>| {
            ScanPlan::<T, U, O>::new(device, input.len(), *problem)?.bind(input, output)
        },
    }
    .explain(device, input)
}

/// The names of two types.
fn names<T, U>() -> [String; 2] {
    let short = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    [short(std::any::type_name::<T>()), short(std::any::type_name::<U>())]
}

/// A call from items of the host's to an array.
type Run<'a, T, U> = &'a dyn Fn(&Device, &[T], &mut Array<U>) -> Result<()>;

/// A call bound to its arrays on a GPU.
type Bind<'a, T, U> = &'a dyn Fn(&Device, View<'_, T>, &mut Array<U>) -> Result<Recording>;

/// What is called, and how: `run` on a CPU, `bind` on a GPU. The operator is theirs alone, so that all else is compiled once for all
/// operators on two types.
struct Call<'a, T, U> {
    facts: Facts,
    /// What outputs hold before.
    filling: U,
    run: Run<'a, T, U>,
    bind: Bind<'a, T, U>,
}

impl<T: Element, U: Element> Call<'_, T, U> {
    #[inline(never)]
    fn explain(self, device: &Device, input: View<'_, T>) -> Result<Report> {
        let (work, items) = (self.facts.work, input.len());
        match device.kind() {
            Kind::Cpu(cpu) => {
                let Items::Host(items) = input.items else {
                    return Err(Error::WrongDevice {
                        array: input.device().to_owned(),
                        device: device.id().to_owned(),
                    });
                };
                // As the call itself counts them, the wider output of a scan included.
                let bytes = usize::try_from(self.facts.bytes(items.len())).unwrap_or(usize::MAX);
                let chosen = match self.facts.writes {
                    false => cpu.choice::<T>(Traffic::Reads, bytes),
                    true => cpu.choice::<U>(Traffic::Copies, bytes),
                };
                let times = self.on_cpu(device, items)?;
                Ok(self.facts.of_cpu(device, cpu, items.len(), chosen, times))
            }
            Kind::Wgpu(gpu) => {
                self.on_gpu(device, input, gpu.profile(), &|done| gpu.why(work, items as u64, done))
            }
            Kind::Cuda(gpu) => {
                self.on_gpu(device, input, gpu.profile(), &|done| gpu.why(work, items as u64, done))
            }
        }
    }

    fn on_cpu(&self, device: &Device, items: &[T]) -> Result<Times> {
        let output = |items| Array::filled(device, self.facts.outputs(items), self.filling);
        let one = &items[..items.len().min(1)];
        let (mut whole_output, mut one_output) = (output(items.len())?, output(one.len())?);
        self.facts.on_cpu(
            device,
            items.len(),
            &mut || (self.run)(device, black_box(items), &mut whole_output),
            &mut || (self.run)(device, black_box(one), &mut one_output),
        )
    }

    fn on_gpu(
        &self,
        device: &Device,
        input: View<'_, T>,
        profile: Option<&Arc<Profile>>,
        why: WhyOf<'_>,
    ) -> Result<Report> {
        let items = input.len();
        let begun = Instant::now();
        let copied = match input.items {
            Items::Host(items) => Some(Array::from_slice(device, items)?),
            Items::Device(_) => None,
        };
        device.wait()?;
        let upload = copied.as_ref().map(|_| begun.elapsed());
        let input = copied.as_ref().map_or(input, Array::view);
        let one = Array::<T>::with_room(device, items.min(1))?;
        let output = |items| Array::filled(device, self.facts.outputs(items), self.filling);
        let (mut whole_output, mut one_output) = (output(items)?, output(one.len())?);
        let begun = Instant::now();
        let job = (self.bind)(device, input, &mut whole_output)?;
        job.submit()?;
        device.wait()?;
        let first = begun.elapsed();
        let least = (self.bind)(device, one.view(), &mut one_output)?;
        let target = Array::<T>::with_room(device, if self.facts.writes { items } else { 0 })?;
        let limit = match self.facts.writes {
            _ if items == 0 => None,
            true => Some(device.bind_probe_copy(input, &mut { target })?),
            false => Some(device.bind_probe_read(input)?),
        };
        let jobs = Jobs { job, least, limit, first, upload };
        self.facts.on_gpu(device, items, &jobs, profile, why)
    }
}
