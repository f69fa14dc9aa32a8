//! One row: the first call, its result compared with the reference, then the times.

use std::hint::black_box;

use bytemuck::{bytes_of, cast_slice};
use upsweep::{
    ArgMax, ArgMin, Array, Device, Indexed, Max, Min, Number, Operator, PositionPlan, Reduce,
    ReducePlan, Scan, ScanPlan, Widen, argmax, argmin, reduce_with, reference, scan_into_with,
};

use super::outcome::Outcome;
use super::resident::Resident;
use super::setup::Setup;
use crate::buffer::{Buffer, POISON};
use crate::dispatch::{PositionKernel, ReduceKernel, ScanKernel};
use crate::energy;
use crate::error::Result;
use crate::host_timing::{self, Call, Effort, Times};
use crate::statistics::median;

/// Takes a finished row.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(&Setup, String, Outcome) -> Result<()>;

/// Calls, compares, measures, compares again. `bytes` are those that the job moves, and those
/// that the limit moves.
fn measured(
    device: &Device,
    effort: Effort,
    bytes: [u64; 2],
    run: &mut dyn Run,
) -> upsweep::Result<Outcome> {
    run.poison();
    let first = host_timing::once(&mut |call| run.call(call))?;
    if !run.correct() {
        return Ok(Outcome::wrong());
    }
    let (jobs, limits) = host_timing::in_turns(effort.samples, &mut |call| run.call(call))?;
    let mut calls = |calls: u32| (0..calls).try_for_each(|_| run.call(Call::Job));
    let energy = effort.energy.then(|| energy::of_call(device, median(&jobs), &mut calls));
    run.poison();
    run.call(Call::Job)?;
    if !run.correct() {
        return Ok(Outcome::wrong());
    }
    let times = Times {
        median: median(&jobs),
        min: jobs[0],
        max: jobs[jobs.len() - 1],
        limit: median(&limits),
        first,
        bytes: bytes[0],
        limit_bytes: bytes[1],
    };
    Ok(Outcome { energy: energy.flatten(), ..Outcome::right(times, None) })
}

/// A job on one device.
trait Run {
    /// Makes sure that a result that is not written is not taken for a right one.
    fn poison(&mut self);
    /// Does the job, or moves its bytes.
    fn call(&mut self, call: Call) -> upsweep::Result<()>;
    /// Whether the last result is the reference's.
    fn correct(&self) -> bool;
}

/// A job whose result is one value: `call` does it.
struct ToValue<'a, V, F> {
    call: F,
    limit: &'a Device,
    bytes: &'a [u8],
    expected: V,
    found: Option<V>,
    equal: fn(&V, &V) -> bool,
}

impl<V, F: Fn() -> upsweep::Result<V>> Run for ToValue<'_, V, F> {
    fn poison(&mut self) {
        self.found = None;
    }

    fn call(&mut self, call: Call) -> upsweep::Result<()> {
        match call {
            Call::Job => self.found = Some(black_box((self.call)()?)),
            Call::Limit => {
                black_box(self.limit.probe_read(black_box(self.bytes))?);
            }
        }
        Ok(())
    }

    fn correct(&self) -> bool {
        self.found.as_ref().is_some_and(|found| (self.equal)(found, &self.expected))
    }
}

/// A reduction on every setup.
pub(crate) struct ReduceJob<'a> {
    pub(crate) setups: &'a [Setup],
    pub(crate) effort: Effort,
    pub(crate) bytes: &'a [u8],
    pub(crate) emit: Emit<'a>,
}

impl ReduceKernel for ReduceJob<'_> {
    type Output = Result<()>;

    fn run<T, A, O>(self, operator: O) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let items: &[T] = cast_slice(self.bytes);
        let problem = Reduce::new(operator);
        let expected: A = if O::EXACT {
            reference::reduce(items, &problem)
        } else {
            reference::specified::reduce(items, &problem)
        };
        let mut arrays = Resident::new(items);
        for setup in self.setups {
            if let Some(device) = setup.gpu() {
                let bind = |input: &Array<T>, result: &mut Array<A>| {
                    ReducePlan::<T, A, O>::new(device, items.len(), problem)?.bind(input, result)
                };
                let (chosen, outcome) = arrays.reads(device, self.effort, expected, bind);
                (self.emit)(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let outcome = value_outcome(
                setup,
                self.effort,
                self.bytes,
                expected,
                |device| reduce_with(device, black_box(items), &problem),
                |found, expected| bytes_of(found) == bytes_of(expected),
            );
            let chosen = |device: &Device| device.reduce_choice_of::<T>(items.len()).0;
            let chosen = setup.device.as_ref().ok().map(chosen);
            (self.emit)(setup, setup.label(chosen), outcome)?;
        }
        Ok(())
    }
}

/// The row of a job that gives one value.
fn value_outcome<V: Clone>(
    setup: &Setup,
    effort: Effort,
    bytes: &[u8],
    expected: V,
    job: impl Fn(&Device) -> upsweep::Result<V>,
    equal: fn(&V, &V) -> bool,
) -> Outcome {
    let device = match &setup.device {
        Ok(device) => device,
        Err(reason) => return Outcome::refused(reason.clone()),
    };
    let call = || job(device);
    let mut run = ToValue { call, limit: &setup.limit, bytes, expected, found: None, equal };
    let moved = bytes.len() as u64;
    measured(&setup.limit, effort, [moved, moved], &mut run)
        .unwrap_or_else(|error| Outcome::refused(error.to_string()))
}

/// A search for the smallest or largest item on every setup.
pub(crate) struct PositionJob<'a> {
    pub(crate) setups: &'a [Setup],
    pub(crate) effort: Effort,
    pub(crate) bytes: &'a [u8],
    pub(crate) largest: bool,
    pub(crate) emit: Emit<'a>,
}

impl PositionKernel for PositionJob<'_> {
    type Output = Result<()>;

    fn run<T>(self) -> Result<()>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let items: &[T] = cast_slice(self.bytes);
        let indexed = (0..).zip(items).map(|(index, item)| Indexed { value: item.to_acc(), index });
        let best = if self.largest {
            indexed.reduce(|left, right| ArgMax.combine(left, right))
        } else {
            indexed.reduce(|left, right| ArgMin.combine(left, right))
        };
        let expected = best.map(|best| best.index);
        let mut arrays = Resident::new(items);
        for setup in self.setups {
            if let Some(device) = setup.gpu() {
                let expected = expected.unwrap_or(u64::MAX);
                let bind = |input: &Array<T>, result: &mut Array<u64>| {
                    let mut plan = if self.largest {
                        PositionPlan::argmax(device, items.len())?
                    } else {
                        PositionPlan::argmin(device, items.len())?
                    };
                    plan.bind(input, result)
                };
                let (chosen, outcome) = arrays.reads(device, self.effort, expected, bind);
                (self.emit)(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let job = |device: &Device| {
                let items = black_box(items);
                if self.largest { argmax(device, items) } else { argmin(device, items) }
            };
            let outcome = value_outcome(setup, self.effort, self.bytes, expected, job, Option::eq);
            let chosen = |device: &Device| device.reduce_choice_of::<T>(items.len()).0;
            let chosen = setup.device.as_ref().ok().map(chosen);
            (self.emit)(setup, setup.label(chosen), outcome)?;
        }
        Ok(())
    }
}

/// A scan on every setup.
pub(crate) struct ScanJob<'a> {
    pub(crate) setups: &'a [Setup],
    pub(crate) effort: Effort,
    pub(crate) bytes: &'a [u8],
    pub(crate) exclusive: bool,
    pub(crate) emit: Emit<'a>,
}

/// A scan on one device.
struct ToArray<'a, T, U, F> {
    call: F,
    limit: &'a Device,
    items: &'a [T],
    output: &'a mut Buffer,
    expected: &'a [U],
}

impl<T: Number, U: Number, F> Run for ToArray<'_, T, U, F>
where
    F: Fn(&[T], &mut [U]) -> upsweep::Result<()>,
{
    fn poison(&mut self) {
        self.output.bytes_mut().fill(POISON);
    }

    fn call(&mut self, call: Call) -> upsweep::Result<()> {
        match call {
            Call::Job => (self.call)(black_box(self.items), self.output.items_mut()),
            Call::Limit => {
                let input: &[u8] = cast_slice(self.items);
                self.limit.probe_copy(black_box(input), &mut self.output.bytes_mut()[..input.len()])
            }
        }
    }

    fn correct(&self) -> bool {
        self.output.bytes() == cast_slice::<U, u8>(self.expected)
    }
}

impl ScanKernel for ScanJob<'_> {
    type Output = Result<()>;

    fn run<T, U, O>(self, operator: O) -> Result<()>
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let items: &[T] = cast_slice(self.bytes);
        let problem =
            if self.exclusive { Scan::exclusive(operator) } else { Scan::inclusive(operator) };
        let expected: Vec<U> = if O::EXACT {
            reference::scan(items, &problem)
        } else {
            reference::specified::scan(items, &problem)
        };
        let (read, written) = (self.bytes.len(), size_of_val(&expected[..]));
        let mut output = Buffer::new(written)?;
        let mut arrays = Resident::new(items);
        for setup in self.setups {
            if let Some(device) = setup.gpu() {
                let bind = |input: &Array<T>, output: &mut Array<U>| {
                    ScanPlan::<T, U, O>::new(device, items.len(), problem)?.bind(input, output)
                };
                let (chosen, outcome) = arrays.writes(device, self.effort, &expected, bind);
                (self.emit)(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let outcome = match &setup.device {
                Err(reason) => Outcome::refused(reason.clone()),
                Ok(device) => {
                    let mut run = ToArray {
                        call: |items: &[T], output: &mut [U]| {
                            scan_into_with(device, items, output, &problem)
                        },
                        limit: &setup.limit,
                        items,
                        output: &mut output,
                        expected: &expected,
                    };
                    measured(
                        &setup.limit,
                        self.effort,
                        [(read + written) as u64, 2 * read as u64],
                        &mut run,
                    )
                    .unwrap_or_else(|error| Outcome::refused(error.to_string()))
                }
            };
            let chosen = |device: &Device| device.scan_choice_of::<T, U>(items.len()).0;
            let chosen = setup.device.as_ref().ok().map(chosen);
            (self.emit)(setup, setup.label(chosen), outcome)?;
        }
        Ok(())
    }
}
