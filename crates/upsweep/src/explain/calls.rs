//! The calls: their arrays, and how they are done on a CPU and on a GPU.

use std::hint::black_box;
use std::time::Instant;

use upsweep_core::{Bounds, Extreme, Traffic, Work};

use super::Report;
use super::facts::{Facts, Jobs, Times};
use crate::backend::{Kind, wrong_device};
use crate::view::Items;
use crate::{
    Array, Device, Element, Number, Operator, PositionPlan, Recording, Reduce, ReducePlan, Result,
    Scan, ScanPlan, View, Widen, argmax, argmin, reduce_into_with, scan_into_with,
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
        shape: device.reduce_shape::<T>(input.len()).filter(|_| O::COMMUTATIVE),
        choice: |cpu, bytes| cpu.choice::<T>(Traffic::Reads, bytes),
    };
    let call = Typed {
        input,
        writes: facts.writes,
        filling: problem.operator.identity(),
        run: &|device: &Device, items: &[T], result: &mut Array<A>| {
            reduce_into_with(device, items, result, problem)
        },
        bind: &|device: &Device, input: View<'_, T>, result: &mut Array<A>| {
            ReducePlan::<T, A, O>::new(device, input.len(), *problem)?.bind(input, result)
        },
    };
    explain(&facts, &call, device)
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
        shape: device.reduce_shape::<T>(input.len()),
        choice: |cpu, bytes| cpu.choice::<T>(Traffic::Reads, bytes),
    };
    let call = Typed {
        input,
        writes: facts.writes,
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
    };
    explain(&facts, &call, device)
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
        shape: device.scan_shape::<T, U, O>(input.len()),
        choice: |cpu, bytes| cpu.choice::<U>(Traffic::Copies, bytes),
    };
    let call = Typed {
        input,
        writes: facts.writes,
        filling: U::from_acc(problem.operator.identity()),
        run: &|device: &Device, items: &[T], output: &mut Array<U>| {
            scan_into_with(device, items, output, problem)
        },
        bind: &|device: &Device, input: View<'_, T>, output: &mut Array<U>| {
            ScanPlan::<T, U, O>::new(device, input.len(), *problem)?.bind(input, output)
        },
    };
    explain(&facts, &call, device)
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

/// A call with Rust's types: `run` on a CPU, `bind` on a GPU. The operator is theirs alone, so that all else is compiled once for all
/// operators on two types.
struct Typed<'a, T, U> {
    input: View<'a, T>,
    writes: bool,
    /// What outputs hold before.
    filling: U,
    run: Run<'a, T, U>,
    bind: Bind<'a, T, U>,
}

impl<T: Element, U: Element> ExplainableCall for Typed<'_, T, U> {
    type Input = Array<T>;
    type Output = Array<U>;

    fn items(&self) -> usize {
        self.input.len()
    }

    fn place(&self) -> Option<&str> {
        matches!(self.input.items, Items::Device(_)).then(|| self.input.device())
    }

    fn run(&self, device: &Device, items: usize, output: &mut Array<U>) -> Result<()> {
        match self.input.items {
            Items::Host(all) => (self.run)(device, black_box(&all[..items]), output),
            Items::Device(range) => Err(wrong_device(range.device(), device.id())),
        }
    }

    fn copy(&self, device: &Device) -> Result<Option<Array<T>>> {
        match self.input.items {
            Items::Host(items) => Array::from_slice(device, items).map(Some),
            Items::Device(_) => Ok(None),
        }
    }

    fn room(&self, device: &Device, items: usize) -> Result<Array<T>> {
        Array::with_room(device, items)
    }

    fn output(&self, device: &Device, items: usize) -> Result<Array<U>> {
        Array::filled(device, items, self.filling)
    }

    fn bind(
        &self,
        device: &Device,
        input: Option<&Array<T>>,
        output: &mut Array<U>,
    ) -> Result<Recording> {
        (self.bind)(device, input.map_or(self.input, Array::view), output)
    }

    fn probe(
        &self,
        device: &Device,
        input: Option<&Array<T>>,
        target: &mut Array<T>,
    ) -> Result<Recording> {
        let input = input.map_or(self.input, Array::view);
        match self.writes {
            true => device.bind_probe_copy(input, target),
            false => device.bind_probe_read(input),
        }
    }
}

/// A call that can be explained: its arrays, and what is done with them.
pub(crate) trait ExplainableCall {
    /// An array of items to read.
    type Input;
    /// An array of what is written.
    type Output;

    /// How many items are read.
    fn items(&self) -> usize;

    /// The device in whose memory they are; `None` in the host's.
    fn place(&self) -> Option<&str>;

    /// Does the call on the first of the items on a CPU.
    fn run(&self, device: &Device, items: usize, output: &mut Self::Output) -> Result<()>;

    /// A copy on a GPU of items of the host's.
    fn copy(&self, device: &Device) -> Result<Option<Self::Input>>;

    /// An array on a GPU with room for so many items, holding anything.
    fn room(&self, device: &Device, items: usize) -> Result<Self::Input>;

    /// An array for so many items of the output.
    fn output(&self, device: &Device, items: usize) -> Result<Self::Output>;

    /// Binds the call to an array, or to the one it is made on.
    fn bind(
        &self,
        device: &Device,
        input: Option<&Self::Input>,
        output: &mut Self::Output,
    ) -> Result<Recording>;

    /// Binds the copy of an array to `target`, or reads it, if nothing as long is written.
    fn probe(
        &self,
        device: &Device,
        input: Option<&Self::Input>,
        target: &mut Self::Input,
    ) -> Result<Recording>;
}

/// Does a call, and says what it was.
///
/// # Errors
/// Those of the call.
pub(crate) fn explain<C: ExplainableCall>(
    facts: &Facts,
    call: &C,
    device: &Device,
) -> Result<Report> {
    let (work, items) = (facts.work, call.items());
    match device.kind() {
        Kind::Cpu(cpu) => {
            if let Some(place) = call.place() {
                return Err(wrong_device(place, device.id()));
            }
            let times = on_cpu(facts, call, device)?;
            Ok(facts.of_cpu(device, cpu, items, times))
        }
        Kind::Wgpu(gpu) => {
            let why = |done| gpu.why(work, items as u64, done);
            facts.on_gpu(device, items, &jobs(facts, call, device)?, gpu.profile(), &why)
        }
        Kind::Cuda(gpu) => {
            let why = |done| gpu.why(work, items as u64, done);
            facts.on_gpu(device, items, &jobs(facts, call, device)?, gpu.profile(), &why)
        }
    }
}

fn on_cpu<C: ExplainableCall>(facts: &Facts, call: &C, device: &Device) -> Result<Times> {
    let items = call.items();
    let output = |items| call.output(device, facts.outputs(items));
    let one = items.min(1);
    let (mut whole_output, mut one_output) = (output(items)?, output(one)?);
    facts.on_cpu(device, items, &mut || call.run(device, items, &mut whole_output), &mut || {
        call.run(device, one, &mut one_output)
    })
}

/// The call on a GPU, bound and run once, with what it is held against.
fn jobs<C: ExplainableCall>(facts: &Facts, call: &C, device: &Device) -> Result<Jobs> {
    let items = call.items();
    let begun = Instant::now();
    let copied = call.copy(device)?;
    device.wait()?;
    let upload = copied.as_ref().map(|_| begun.elapsed());
    let one = call.room(device, items.min(1))?;
    let output = |items| call.output(device, facts.outputs(items));
    let (mut whole_output, mut one_output) = (output(items)?, output(items.min(1))?);
    let begun = Instant::now();
    let job = call.bind(device, copied.as_ref(), &mut whole_output)?;
    job.submit()?;
    device.wait()?;
    let first = begun.elapsed();
    let least = call.bind(device, Some(&one), &mut one_output)?;
    let limit = match items {
        0 => None,
        _ => {
            let mut target = call.room(device, if facts.writes { items } else { 0 })?;
            Some(call.probe(device, copied.as_ref(), &mut target)?)
        }
    };
    Ok(Jobs { job, least, limit, first, upload })
}
