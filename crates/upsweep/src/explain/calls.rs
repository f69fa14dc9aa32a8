//! The calls, and what is known of them besides their times.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use upsweep_core::{Bounds, Extreme, Traffic, Work};

use super::{Bound, Report, clock};
use crate::backend::Kind;
use crate::view::Items;
use crate::{
    Array, CpuShape, Device, Element, Error, Number, Operator, Policy, PositionPlan, Profile,
    Quartiles, Recording, Reduce, ReducePlan, Result, Scan, ScanPlan, Strategy, View, Why, Widen,
    WorkgroupPolicy, argmax, argmin, profile, reduce_into_with, scan_into_with,
};

/// Bytes of which the limit is measured on a CPU, if there are as many. More are moved as fast: no cache holds half of them.
const LIMIT_BYTES: usize = 1 << 30;

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
    Call {
        primitive: "reduce",
        operator: O::NAME,
        types: names::<T, A>(),
        work: Work::of::<T, A, O, A>(),
        writes: false,
        filling: problem.operator.identity(),
        // Whatever does not commute is done as a scan is, in windows of the order of summation.
        shape: if O::COMMUTATIVE { Device::reduce_shape::<T> } else { |_, _| None },
        run: |device: &Device, items: &[T], result: &mut Array<A>| {
            reduce_into_with(device, items, result, problem)
        },
        bind: |device: &Device, input: View<'_, T>, result: &mut Array<A>| {
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
    Call {
        primitive,
        operator: primitive,
        types: names::<T, u64>(),
        work: Some(Work::of_position::<T>(extreme)),
        writes: false,
        filling: 0u64,
        shape: Device::reduce_shape::<T>,
        run: |device: &Device, items: &[T], result: &mut Array<u64>| {
            let found = if largest { argmax(device, items) } else { argmin(device, items) };
            result.copy_from_slice(&[found?.unwrap_or(u64::MAX)])
        },
        bind: |device: &Device, input: View<'_, T>, result: &mut Array<u64>| {
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
    Call {
        primitive: match problem.bounds {
            Bounds::Inclusive => "inclusive_scan",
            Bounds::Exclusive => "exclusive_scan",
        },
        operator: O::NAME,
        types: names::<T, U>(),
        work: Work::of::<T, U, O, U::Acc>(),
        writes: true,
        filling: U::from_acc(problem.operator.identity()),
        shape: Device::scan_shape::<T, U, O>,
        run: |device: &Device, items: &[T], output: &mut Array<U>| {
            scan_into_with(device, items, output, problem)
        },
        bind: |device: &Device, input: View<'_, T>, output: &mut Array<U>| {
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

/// What is called, and how: `run` on a CPU, `bind` on a GPU.
struct Call<U, R, B> {
    primitive: &'static str,
    operator: &'static str,
    types: [String; 2],
    /// As profiles know it.
    work: Option<Work>,
    /// Whether the output is as long as the input, or one item.
    writes: bool,
    /// What outputs hold before.
    filling: U,
    /// What the numbers of a CPU come to.
    shape: fn(&Device, usize) -> Option<CpuShape>,
    run: R,
    bind: B,
}

/// What was measured.
struct Times {
    first: Duration,
    /// Of the call, of the limit, of the call of one item, and of the host.
    found: [Quartiles; 4],
}

impl<U: Element, R, B> Call<U, R, B> {
    fn explain<T>(self, device: &Device, input: View<'_, T>) -> Result<Report>
    where
        T: Element,
        R: Fn(&Device, &[T], &mut Array<U>) -> Result<()>,
        B: Fn(&Device, View<'_, T>, &mut Array<U>) -> Result<Recording>,
    {
        match device.kind() {
            Kind::Cpu(cpu) => {
                let Items::Host(items) = input.items else {
                    return Err(Error::WrongDevice {
                        array: input.device().to_owned(),
                        device: device.id().to_owned(),
                    });
                };
                // As the call itself counts them, the wider output of a scan included.
                let bytes = usize::try_from(self.bytes::<T>(items.len())).unwrap_or(usize::MAX);
                let traffic = if self.writes { Traffic::Copies } else { Traffic::Reads };
                let (strategy, policy) = match traffic {
                    Traffic::Reads => cpu.choice::<T>(traffic, bytes),
                    Traffic::Copies => cpu.choice::<U>(traffic, bytes),
                };
                let times = self.on_cpu(device, items)?;
                let found = profile::find(device.limits());
                let tuned = found.profile.as_ref().and_then(|p| profile::numbers_of(p, cpu));
                let why = match tuned {
                    _ if cpu.strategy().is_some() => Why::Asked,
                    Some(tuned) if tuned.has_policies_of(cpu) => {
                        Why::Profile { items: 0, measured: None }
                    }
                    _ if cpu.by_default().has_policies_of(cpu) => Why::Rule,
                    _ => Why::Asked,
                };
                let chosen = (Strategy::Cpu(strategy), Some(Policy::Cpu(policy)), why);
                let report = self.report::<T>(device, items.len(), chosen, times);
                Ok(Report { profile: found.origin.filter(|_| report.is_profiled()), ..report })
            }
            Kind::Wgpu(gpu) => self.on_gpu(device, input, gpu.profile(), |done| {
                gpu.why(self.work, input.len() as u64, done)
            }),
            Kind::Cuda(gpu) => self.on_gpu(device, input, gpu.profile(), |done| {
                gpu.why(self.work, input.len() as u64, done)
            }),
        }
    }

    /// Items of an output for so many that are read.
    fn outputs(&self, items: usize) -> usize {
        if self.writes { items } else { 1 }
    }

    fn on_cpu<T: Element>(&self, device: &Device, items: &[T]) -> Result<Times>
    where
        R: Fn(&Device, &[T], &mut Array<U>) -> Result<()>,
    {
        let output = |items| Array::filled(device, self.outputs(items), self.filling);
        let one = &items[..items.len().min(1)];
        let (mut whole_output, mut one_output) = (output(items.len())?, output(one.len())?);
        let bytes = size_of_val(items).min(LIMIT_BYTES);
        // Not zeros, which some systems give without memory behind them.
        let source = Array::filled(device, bytes, 1u8)?;
        let mut target = Array::filled(device, if self.writes { bytes } else { 0 }, 2u8)?;
        let mut run = || (self.run)(device, black_box(items), &mut whole_output);
        let first = clock::host(1, &mut run)?;
        let mut limit = || match (source.as_slice(), target.as_mut_slice()) {
            (Some(source), Some(target)) if self.writes => device.probe_copy(source, target),
            (Some(source), _) => {
                black_box(device.probe_read(source)?);
                Ok(())
            }
            _ => Ok(()),
        };
        let [time, limit, least] = clock::in_turns(
            false,
            [
                &mut |runs| clock::host(runs, &mut run),
                &mut |runs| clock::host(runs, &mut limit),
                &mut |runs| {
                    clock::host(runs, || (self.run)(device, black_box(one), &mut one_output))
                },
            ],
        )?;
        // Each byte that the limit copies is one that is read and one that is written.
        let moved = bytes * (1 + usize::from(self.writes));
        let limit = scaled(limit, self.bytes::<T>(items.len()), moved as u64);
        Ok(Times { first, found: [time, limit, least, time] })
    }

    fn on_gpu<T: Element>(
        &self,
        device: &Device,
        input: View<'_, T>,
        profile: Option<&Arc<Profile>>,
        why: impl Fn(Option<Strategy>) -> (Why, Option<WorkgroupPolicy>),
    ) -> Result<Report>
    where
        B: Fn(&Device, View<'_, T>, &mut Array<U>) -> Result<Recording>,
    {
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
        let output = |items| Array::filled(device, self.outputs(items), self.filling);
        let (mut whole_output, mut one_output) = (output(items)?, output(one.len())?);
        let begun = Instant::now();
        let job = (self.bind)(device, input, &mut whole_output)?;
        job.submit()?;
        device.wait()?;
        let first = begun.elapsed();
        let least = (self.bind)(device, one.view(), &mut one_output)?;
        let target = Array::<T>::with_room(device, if self.writes { items } else { 0 })?;
        let limit = match self.writes {
            _ if items == 0 => None,
            true => Some(device.bind_probe_copy(input, &mut { target })?),
            false => Some(device.bind_probe_read(input)?),
        };
        let call = || {
            job.submit()?;
            device.wait()
        };
        let on_device = |recording: &Recording, runs| clock::device(device, recording, runs);
        let [time, limit, least, call] = clock::in_turns(
            true,
            [
                &mut |runs| on_device(&job, runs),
                &mut |runs| {
                    limit.as_ref().map_or(Ok(Duration::ZERO), |limit| on_device(limit, runs))
                },
                &mut |runs| on_device(&least, runs),
                &mut |runs| clock::host(runs, call),
            ],
        )?;
        let read = bytes::<T>(items);
        let bound = device.limits().binding_bytes.map_or(read, |most| read.min(most / 16 * 16));
        let moved = bound * (1 + u64::from(self.writes));
        let limit = scaled(limit, self.bytes::<T>(items), moved);
        let done = job.strategy().unwrap_or_else(|| match self.writes {
            true => device.scan_choice(items, size_of::<T>()).0,
            false => device.reduce_choice(items, size_of::<T>()).0,
        });
        let (why, policy) = why(Some(done));
        let times = Times { first, found: [time, limit, least, call] };
        let report =
            self.report::<T>(device, items, (done, policy.map(Policy::Workgroup), why), times);
        let origin = profile::find(device.limits());
        let expected = profile.zip(self.work).and_then(|(profile, work)| match self.writes {
            true => profile.expected_scan_us(work, items as u64),
            false => profile.expected_reduction_us(work, items as u64),
        });
        Ok(Report {
            profile: origin.origin.filter(|_| origin.profile.as_ref() == profile),
            scratch_bytes: job.scratch_bytes(),
            launches: job.described()?,
            predicted: expected.map(|micros| Duration::from_secs_f64(micros * 1e-6)),
            upload,
            ..report
        })
    }

    /// The fewest bytes that so many items make a call move.
    fn bytes<T>(&self, items: usize) -> u64 {
        bytes::<T>(items) + if self.writes { bytes::<U>(items) } else { 0 }
    }

    fn report<T>(
        &self,
        device: &Device,
        items: usize,
        (strategy, policy, why): (Strategy, Option<Policy>, Why),
        Times { first, found: [time, limit, least, call] }: Times,
    ) -> Report {
        let written = if self.writes { bytes::<U>(items) } else { 0 };
        Report {
            device: [device.id().to_owned(), device.limits().name.clone()],
            primitive: self.primitive,
            operator: self.operator,
            types: self.types.clone(),
            items: items as u64,
            strategy,
            policy,
            shape: (self.shape)(device, items),
            why,
            profile: None,
            bytes: self.bytes::<T>(items),
            bytes_moved: strategy.bytes_moved(bytes::<T>(items), written),
            scratch_bytes: 0,
            launches: Vec::new(),
            predicted: None,
            time,
            limit,
            least,
            call,
            first,
            upload: None,
            bound: Bound::of(time.median, limit.median, least.median, call.median),
        }
    }
}

/// Bytes of so many items.
fn bytes<T>(items: usize) -> u64 {
    items as u64 * size_of::<T>() as u64
}

/// The times of moving `bytes` bytes, of those of moving `moved`.
fn scaled(times: Quartiles, bytes: u64, moved: u64) -> Quartiles {
    let scaled = |time: Duration| time.mul_f64(bytes as f64 / moved.max(1) as f64);
    let Quartiles { lower, median, upper } = times;
    Quartiles { lower: scaled(lower), median: scaled(median), upper: scaled(upper) }
}
