//! Rows of a GPU: arrays that stay in its memory, times of its own clock.

use std::time::Instant;

use bytemuck::{cast_slice, pod_read_unaligned};
use upsweep::{Array, Device, Error, Number, Recording, Result, Strategy};

use super::outcome::Outcome;
use crate::buffer::POISON;
use crate::energy;
use crate::gpu_timing::{in_turns, seconds, wake};
use crate::host_timing::{Effort, Times};
use crate::statistics::median;

/// The input of a job, on the device that was asked for last.
pub(crate) struct Resident<'a, T> {
    items: &'a [T],
    on_device: Option<(String, Array<T>)>,
}

impl<'a, T: Number> Resident<'a, T> {
    /// Nowhere yet.
    pub(crate) fn new(items: &'a [T]) -> Self {
        Self { items, on_device: None }
    }

    fn input(&mut self, device: &Device) -> Result<&Array<T>> {
        let here = self.on_device.take().filter(|(id, _)| id == device.id());
        let here = match here {
            Some(here) => here,
            None => (device.id().to_owned(), Array::from_slice(device, self.items)?),
        };
        Ok(&self.on_device.insert(here).1)
    }

    /// The row of a job that reads the input and leaves one value.
    pub(crate) fn reads<A: Number>(
        &mut self,
        device: &Device,
        effort: Effort,
        expected: A,
        bind: impl FnOnce(&Array<T>, &mut Array<A>) -> Result<Recording>,
    ) -> (Option<Strategy>, Outcome) {
        let read = size_of_val(self.items) as u64;
        let row = self.input(device).and_then(|input| {
            let limit = device.bind_probe_read(input)?;
            let result = Array::filled(device, 1, poison::<A>())?;
            let moved = [read, bound(device, read)];
            Job { device, limit, output: result, expected: &[expected], moved }
                .row(effort, |result| bind(input, result))
        });
        row.unwrap_or_else(refused)
    }

    /// The row of a job that reads the input and writes an array.
    pub(crate) fn writes<U: Number>(
        &mut self,
        device: &Device,
        effort: Effort,
        expected: &[U],
        bind: impl FnOnce(&Array<T>, &mut Array<U>) -> Result<Recording>,
    ) -> (Option<Strategy>, Outcome) {
        let read = size_of_val(self.items) as u64;
        let row = self.input(device).and_then(|input| {
            let mut output = Array::filled(device, expected.len(), poison::<U>())?;
            // As many bytes as are read, of an output that has at least as many.
            let limit = device.bind_probe_copy(input, &mut output)?;
            let moved = [read + size_of_val(expected) as u64, 2 * bound(device, read)];
            Job { device, limit, output, expected, moved }.row(effort, |output| bind(input, output))
        });
        row.unwrap_or_else(refused)
    }
}

fn refused(error: Error) -> (Option<Strategy>, Outcome) {
    (None, Outcome::refused(error.to_string()))
}

/// How many of so many bytes one binding holds.
fn bound(device: &Device, bytes: u64) -> u64 {
    device.limits().binding_bytes.map_or(bytes, |most| bytes.min(most / 16 * 16))
}

/// What an output holds before every result that is compared.
fn poison<T: Number>() -> T {
    pod_read_unaligned(&[POISON; 8][..size_of::<T>()])
}

/// A job whose arrays are on a device.
struct Job<'a, U> {
    device: &'a Device,
    limit: Recording,
    output: Array<U>,
    expected: &'a [U],
    /// Bytes that the job moves, and the limit.
    moved: [u64; 2],
}

impl<U: Number> Job<'_, U> {
    /// Calls, compares, measures, compares again.
    fn row(
        mut self,
        effort: Effort,
        bind: impl FnOnce(&mut Array<U>) -> Result<Recording>,
    ) -> Result<(Option<Strategy>, Outcome)> {
        self.device.wait()?;
        let start = Instant::now();
        let job = bind(&mut self.output)?;
        job.submit()?;
        self.device.wait()?;
        let first = start.elapsed().as_secs_f64();
        let strategy = job.strategy();
        if !self.correct()? {
            return Ok((strategy, Outcome::wrong()));
        }
        let [jobs, limits] = self.in_turns(&job, effort.samples)?;
        let runs = u32::try_from(effort.samples).unwrap_or(u32::MAX);
        let profile = if effort.profile { job.profile(runs)? } else { None };
        let energy = effort.energy.then(|| {
            energy::of_call(self.device, median(&jobs), &mut |calls| {
                (0..calls).try_for_each(|_| job.submit())?;
                self.device.wait()
            })
        });
        self.output.copy_from_slice(&vec![poison::<U>(); self.expected.len()])?;
        job.submit()?;
        if !self.correct()? {
            return Ok((strategy, Outcome::wrong()));
        }
        let [bytes, limit_bytes] = self.moved;
        let times = Times {
            median: median(&jobs),
            min: jobs[0],
            max: jobs[jobs.len() - 1],
            limit: median(&limits),
            first,
            bytes,
            limit_bytes,
        };
        let outcome = Outcome::right(times, profile);
        Ok((strategy, Outcome { energy: energy.flatten(), ..outcome }))
    }

    fn correct(&self) -> Result<bool> {
        let found = self.output.to_vec()?;
        Ok(cast_slice::<U, u8>(&found) == cast_slice::<U, u8>(self.expected))
    }

    /// Seconds of the job and of the limit, `samples` times each, in turns, sorted.
    fn in_turns(&self, job: &Recording, samples: usize) -> Result<[Vec<f64>; 2]> {
        let both = [job, &self.limit];
        wake(self.device, self.moved[0])?;
        let mut found = in_turns(both.len(), samples, &mut |which, runs| {
            seconds(self.device, both[which], runs)
        })?;
        let limits = found.pop().unwrap_or_default();
        Ok([found.pop().unwrap_or_default(), limits])
    }
}
