//! One row: the first call, its result compared with the reference, then the times.

use std::hint::black_box;
use std::num::NonZeroU32;

use upsweep::Device;
use upsweep::any::{self, AnyView, AnyViewMut, ReduceCall, Scalar, ScanCall};
use upsweep::strategy::Strategy;

use super::compaction::Compaction;
use super::gpu_job::Resident;
use super::outcome::Outcome;
use super::setup::Setup;
use crate::buffer::{Buffer, POISON};
use crate::energy;
use crate::error::Result;
use crate::host_timing::{self, Call, Effort, Times};
use crate::statistics::median;
use crate::workload::Workload;

/// Takes a finished row.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(&Setup, String, Outcome) -> Result<()>;

/// A workload over some items, on every setup.
pub(super) struct Job<'a> {
    pub(super) workload: Workload,
    pub(super) setups: &'a [Setup],
    pub(super) effort: Effort,
    pub(super) items: AnyView<'a>,
    pub(super) emit: Emit<'a>,
}

impl Job<'_> {
    /// Measures all rows.
    pub(super) fn run(self) -> Result<()> {
        match self.workload.primitive {
            primitive if primitive.scans() => self.scan(),
            primitive if primitive.compacts() => self.compact(),
            _ => self.reduce(),
        }
    }

    fn reduce(self) -> Result<()> {
        let Self { workload, setups, effort, items, emit } = self;
        let (problem, n) = (workload.reduction(), items.len());
        let expected = any::reference_reduce(items, &problem)?;
        let read = workload.read();
        let mut arrays = Resident::new(items);
        for setup in setups {
            if let Some(device) = setup.gpu() {
                let expected = expected.unwrap_or(Scalar::new(u64::MAX));
                let (chosen, outcome) = arrays.reads(device, effort, expected, &problem);
                emit(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let call = |device: &Device| ReduceCall::new(device, workload.dtype, &problem);
            let outcome = outcome(setup, |device| {
                let (call, found, limit) = (call(device)?, None, &setup.limit);
                let mut run = ToValue { call, device, limit, items, expected, found };
                let moved = workload.bytes_read(n);
                measured(limit, effort, [moved, moved], &mut run)
            });
            let chosen = |device: &Device| any::reduce_choice(device, read, n).0;
            emit(setup, setup.label(chosen_by(setup, chosen)), outcome)?;
        }
        Ok(())
    }

    fn scan(self) -> Result<()> {
        let Self { workload, setups, effort, items, emit } = self;
        let (problem, n) = (workload.scan(), items.len());
        let (dtype, stored) = (workload.dtype, workload.stored);
        let reference = any::reference_scan(items, stored, &problem)?;
        let expected = reference.view();
        let types = [workload.read(), workload.written()];
        let (read, written) = (workload.bytes_read(n), workload.bytes_written(n));
        let mut output = Buffer::new(n * stored.size())?;
        let mut arrays = Resident::new(items);
        for setup in setups {
            if let Some(device) = setup.gpu() {
                let (chosen, outcome) = arrays.writes(device, effort, expected, &problem);
                emit(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let outcome = outcome(setup, |device| {
                let (call, limit) = (ScanCall::new(dtype, stored, &problem)?, &setup.limit);
                let output = &mut output;
                let mut run = ToArray { call, device, limit, items, output, expected };
                measured(limit, effort, [read + written, 2 * read], &mut run)
            });
            let [read, written] = types;
            let chosen = |device: &Device| any::scan_choice(device, read, written, n).0;
            emit(setup, setup.label(chosen_by(setup, chosen)), outcome)?;
        }
        Ok(())
    }

    fn compact(self) -> Result<()> {
        let Self { workload, setups, effort, items, emit } = self;
        let job = Compaction::new(workload, items.bytes().unwrap_or_default())?;
        // Room for items of the widest type, or their numbers.
        let mut output = Buffer::new(items.len() * workload.dtype.size().max(size_of::<u32>()))?;
        for setup in setups {
            if let Some(device) = setup.gpu() {
                let row = job.on_gpu(device, effort);
                let refused = |error: upsweep::Error| (None, Outcome::refused(error.to_string()));
                let (chosen, outcome) = row.unwrap_or_else(refused);
                emit(setup, setup.label(chosen), outcome)?;
                continue;
            }
            let outcome =
                outcome(setup, |device| job.on_cpu(device, &setup.limit, effort, &mut output));
            emit(setup, setup.label(None), outcome)?;
        }
        Ok(())
    }
}

/// The row of a setup, unless it cannot be.
pub(super) fn outcome(
    setup: &Setup,
    row: impl FnOnce(&Device) -> upsweep::Result<Outcome>,
) -> Outcome {
    match &setup.device {
        Ok(device) => row(device).unwrap_or_else(|error| Outcome::refused(error.to_string())),
        Err(reason) => Outcome::refused(reason.clone()),
    }
}

/// What the device of a setup chooses.
fn chosen_by(setup: &Setup, choice: impl FnOnce(&Device) -> Strategy) -> Option<Strategy> {
    setup.device.as_ref().ok().map(choice)
}

/// Calls, compares, measures, compares again. `bytes` are those that the job moves, and those
/// that the limit moves.
pub(super) fn measured(
    device: &Device,
    effort: Effort,
    bytes: [u64; 2],
    run: &mut dyn Run,
) -> upsweep::Result<Outcome> {
    run.poison();
    let first = host_timing::seconds(Call::Job, NonZeroU32::MIN, &mut |call, n| run.run(call, n))?;
    if !run.correct() {
        return Ok(Outcome::wrong());
    }
    let (jobs, limits) = host_timing::in_turns(effort.samples, &mut |call, n| run.run(call, n))?;
    let mut calls = |calls| run.run(Call::Job, NonZeroU32::new(calls).unwrap_or(NonZeroU32::MIN));
    let energy = effort.energy.then(|| energy::of_call(device, median(&jobs), &mut calls));
    run.poison();
    run.run(Call::Job, NonZeroU32::MIN)?;
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
pub(super) trait Run {
    /// Makes sure that a result that is not written is not taken for a right one.
    fn poison(&mut self);
    /// Does the job, or moves its bytes, so often.
    fn run(&mut self, call: Call, times: NonZeroU32) -> upsweep::Result<()>;
    /// Whether the last result is the reference's.
    fn correct(&self) -> bool;
}

/// A job whose result is one value.
struct ToValue<'a> {
    call: ReduceCall,
    device: &'a Device,
    limit: &'a Device,
    items: AnyView<'a>,
    expected: Option<Scalar>,
    /// What a call found, if there was one.
    found: Option<Option<Scalar>>,
}

impl Run for ToValue<'_> {
    fn poison(&mut self) {
        self.found = None;
    }

    fn run(&mut self, call: Call, times: NonZeroU32) -> upsweep::Result<()> {
        match call {
            Call::Job => {
                self.found = Some(self.call.run_repeatedly(self.device, self.items, times)?);
            }
            Call::Limit => {
                for _ in 0..times.get() {
                    let items = black_box(self.items);
                    black_box(self.limit.probe_read(items.bytes().unwrap_or_default())?);
                }
            }
        }
        Ok(())
    }

    fn correct(&self) -> bool {
        self.found == Some(self.expected)
    }
}

/// A scan on one device.
struct ToArray<'a> {
    call: ScanCall,
    device: &'a Device,
    limit: &'a Device,
    items: AnyView<'a>,
    output: &'a mut Buffer,
    expected: AnyView<'a>,
}

impl Run for ToArray<'_> {
    fn poison(&mut self) {
        self.output.bytes_mut().fill(POISON);
    }

    fn run(&mut self, call: Call, times: NonZeroU32) -> upsweep::Result<()> {
        let output = self.output.bytes_mut();
        match call {
            Call::Job => {
                let output = AnyViewMut::from_bytes(self.expected.dtype(), output)?;
                self.call.run_repeatedly(self.device, self.items, output, times)
            }
            Call::Limit => (0..times.get()).try_for_each(|_| {
                let input = black_box(self.items).bytes().unwrap_or_default();
                self.limit.probe_copy(input, &mut output[..input.len()])
            }),
        }
    }

    fn correct(&self) -> bool {
        Some(self.output.bytes()) == self.expected.bytes()
    }
}
