//! Rows of a GPU: arrays that stay in its memory, times of its own clock.

use std::time::Instant;

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, AnyView, Scalar};
use upsweep::strategy::Strategy;
use upsweep::{Device, Error, Recording, Result};

use super::limits;
use super::outcome::Outcome;
use crate::buffer::{poison, poisoned};
use crate::device::is_software;
use crate::energy;
use crate::gpu_timing::{in_turns, seconds, wake};
use crate::host_timing::{Effort, Times};
use crate::statistics::median;

/// Fewer bytes take as long as a launch, which varies, and a GPU made of software is as fast as other programs let it be: neither says
/// whether a device is awake.
const LEAST_BYTES: u64 = 8 << 20;

/// The input of a job, on the device that was asked for last.
pub(crate) struct Resident<'a> {
    items: AnyView<'a>,
    on_device: Option<(String, AnyArray)>,
}

impl<'a> Resident<'a> {
    /// Nowhere yet.
    pub(crate) fn new(items: AnyView<'a>) -> Self {
        Self { items, on_device: None }
    }

    fn input(&mut self, device: &Device) -> Result<AnyView<'_>> {
        let here = self.on_device.take().filter(|(id, _)| id == device.id());
        let here = match here {
            Some(here) => here,
            None => (device.id().to_owned(), AnyArray::from_view(device, self.items)?),
        };
        Ok(self.on_device.insert(here).1.view())
    }

    /// Bytes that are read.
    fn read(&self) -> u64 {
        (self.items.len() * self.items.dtype().size()) as u64
    }

    /// The row of a job that reads the input and leaves one value.
    pub(crate) fn reads(
        &mut self,
        device: &Device,
        effort: Effort,
        expected: Scalar,
        problem: &any::Reduce,
    ) -> (Option<Strategy>, Outcome) {
        let read = self.read();
        let row = self.input(device).and_then(|input| {
            let limit = any::bind_probe_read(device, input)?;
            let output = AnyArray::filled(device, 1, poison(expected.dtype()))?;
            let moved = [read, bound(device, read)];
            Job { device, limit, output, expected: expected.bytes(), moved, copies: false }
                .row(effort, |result| any::bind_reduce(device, input, result, problem))
        });
        row.unwrap_or_else(refused)
    }

    /// The row of a job that reads the input and writes an array, which should be `expected`, in host memory.
    pub(crate) fn writes(
        &mut self,
        device: &Device,
        effort: Effort,
        expected: AnyView<'_>,
        problem: &any::Scan,
    ) -> (Option<Strategy>, Outcome) {
        let read = self.read();
        let row = self.input(device).and_then(|input| {
            let dtype = expected.dtype();
            let mut output = AnyArray::filled(device, expected.len(), poison(dtype))?;
            // As many bytes as are read, of an output that has at least as many.
            let limit = any::bind_probe_copy(device, input, &mut output)?;
            let expected = expected.bytes().unwrap_or_default();
            let moved = [read + expected.len() as u64, 2 * bound(device, read)];
            Job { device, limit, output, expected, moved, copies: true }
                .row(effort, |output| any::bind_scan(device, input, output, problem))
        });
        row.unwrap_or_else(refused)
    }
}

fn refused(error: Error) -> (Option<Strategy>, Outcome) {
    (None, Outcome::refused(error.to_string()))
}

/// How many of so many bytes one binding holds.
pub(super) fn bound(device: &Device, bytes: u64) -> u64 {
    device.limits().binding_bytes.map_or(bytes, |most| bytes.min(most / 16 * 16))
}

/// The time of a limit that moves so many bytes in another row, if it was much longer in this one.
pub(super) fn shortest_if_slow(
    device: &Device,
    copies: bool,
    bytes: u64,
    limits: &[f64],
) -> Option<f64> {
    if bytes < LEAST_BYTES || is_software(device) {
        return None;
    }
    limits::shortest_if_slow(device.id(), copies, bytes, median(limits))
}

/// What is said of a row on a slow device, whose limit took so long before.
pub(super) fn slow_words(times: &Times, shortest: f64) -> String {
    let rate = |seconds: f64| times.limit_bytes as f64 / seconds / 1e9;
    let [now, before] = [times.limit, shortest].map(rate);
    format!("right, but measured on a slow device: limit {now:.0} GB/s, {before:.0} before")
}

/// A job whose arrays are on a device.
struct Job<'a> {
    device: &'a Device,
    limit: Recording,
    output: AnyArray,
    /// The bytes of a right result.
    expected: &'a [u8],
    /// Bytes that the job moves, and the limit.
    moved: [u64; 2],
    /// Whether the limit copies them, or else reads them.
    copies: bool,
}

impl Job<'_> {
    /// Calls, compares, measures, compares again.
    fn row(
        mut self,
        effort: Effort,
        bind: impl FnOnce(&mut AnyArray) -> Result<Recording>,
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
        let [mut jobs, mut limits] = self.in_turns(&job, effort.samples)?;
        // Whatever made the device slow, waking it anew is what can be done.
        let mut slow = self.slow(&limits);
        if slow.is_some() {
            [jobs, limits] = self.in_turns(&job, effort.samples)?;
            slow = self.slow(&limits);
        }
        let runs = u32::try_from(effort.samples).unwrap_or(u32::MAX);
        let profile = if effort.profile { job.profile(runs)? } else { None };
        let energy = effort.energy.then(|| {
            energy::of_call(self.device, median(&jobs), &mut |calls| {
                (0..calls).try_for_each(|_| job.submit())?;
                self.device.wait()
            })
        });
        let poison = poisoned(self.expected.len());
        let poison = &cast_slice(&poison)[..self.expected.len()];
        self.output.copy_from(AnyView::from_bytes(self.output.dtype(), poison)?)?;
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
        let mut outcome = Outcome::right(times, profile);
        if let Some(shortest) = slow {
            outcome.checked = slow_words(&times, shortest);
        }
        Ok((strategy, Outcome { energy: energy.flatten(), ..outcome }))
    }

    /// The time of the limit in another row, if it was much longer in this one.
    fn slow(&self, limits: &[f64]) -> Option<f64> {
        shortest_if_slow(self.device, self.copies, self.moved[1], limits)
    }

    fn correct(&self) -> Result<bool> {
        Ok(self.output.to_bytes()? == self.expected)
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
