//! What is known of a call whatever its types are, and its times. Of all calls it is compiled once.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use upsweep_core::Work;
use upsweep_cpu::Cpu;

use super::{Bound, Report, clock};
use crate::explain::{Quartiles, Why};
use crate::strategy::{CpuPolicy, CpuShape, CpuStrategy, Policy, Strategy, WorkgroupPolicy};
use crate::{Array, Device, Profile, Recording, Result, profile};

/// Bytes of which the limit is measured on a CPU, if there are as many. More are moved as fast: no cache holds half of them.
const LIMIT_BYTES: usize = 1 << 30;

/// What is called.
pub(crate) struct Facts {
    pub(crate) primitive: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) types: [String; 2],
    /// As profiles know it.
    pub(crate) work: Option<Work>,
    /// Whether the output is as long as the input, or one item.
    pub(crate) writes: bool,
    /// Bytes of an item of the input and of one of the output.
    pub(crate) item_bytes: [usize; 2],
    /// What the numbers of a CPU come to for this call.
    pub(crate) shape: Option<CpuShape>,
    /// What a CPU chooses for so many bytes.
    pub(crate) choice: fn(&Cpu, usize) -> (CpuStrategy, CpuPolicy),
}

/// What was measured.
pub(super) struct Times {
    first: Duration,
    /// Of the call, of the limit, of the call of one item, and of the host.
    found: [Quartiles; 4],
}

/// What is measured on a GPU.
pub(super) struct Jobs {
    pub(super) job: Recording,
    /// The same of one item.
    pub(super) least: Recording,
    /// What the device can do at most; `None` where there are no items.
    pub(super) limit: Option<Recording>,
    /// How long the first run took, and the copy of an input of the host's before it.
    pub(super) first: Duration,
    pub(super) upload: Option<Duration>,
}

/// Why a GPU took a strategy, and the numbers that were wanted.
pub(super) type ReasonFor<'a> = &'a dyn Fn(Option<Strategy>) -> (Why, Option<WorkgroupPolicy>);

/// A call.
type Run<'a> = &'a mut dyn FnMut() -> Result<()>;

impl Facts {
    /// Items of an output for so many that are read.
    pub(super) fn outputs(&self, items: usize) -> usize {
        if self.writes { items } else { 1 }
    }

    fn read(&self, items: usize) -> u64 {
        items as u64 * self.item_bytes[0] as u64
    }

    fn written(&self, items: usize) -> u64 {
        if self.writes { items as u64 * self.item_bytes[1] as u64 } else { 0 }
    }

    /// The fewest bytes that so many items make a call move.
    pub(super) fn bytes(&self, items: usize) -> u64 {
        self.read(items) + self.written(items)
    }

    /// The times of a call of the CPU, and of the same with one item.
    pub(super) fn on_cpu(
        &self,
        device: &Device,
        items: usize,
        run: Run<'_>,
        least: Run<'_>,
    ) -> Result<Times> {
        let bytes = usize::try_from(self.read(items)).unwrap_or(usize::MAX).min(LIMIT_BYTES);
        // Not zeros, which some systems give without memory behind them.
        let source = Array::filled(device, bytes, 1u8)?;
        let mut target = Array::filled(device, if self.writes { bytes } else { 0 }, 2u8)?;
        let first = clock::host(1, run)?;
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
                &mut |runs| clock::host(runs, run),
                &mut |runs| clock::host(runs, &mut limit),
                &mut |runs| clock::host(runs, least),
            ],
        )?;
        // Each byte that the limit copies is one that is read and one that is written.
        let moved = bytes * (1 + usize::from(self.writes));
        let limit = scaled(limit, self.bytes(items), moved as u64);
        Ok(Times { first, found: [time, limit, least, time] })
    }

    /// What a call of the CPU took, and why it was done so.
    pub(super) fn of_cpu(&self, device: &Device, cpu: &Cpu, items: usize, times: Times) -> Report {
        // As the call itself counts them, the wider output of a scan included.
        let bytes = usize::try_from(self.bytes(items)).unwrap_or(usize::MAX);
        let (strategy, policy) = (self.choice)(cpu, bytes);
        let found = profile::find(device.limits());
        let tuned = found.profile.as_ref().and_then(|p| profile::numbers_of(p, cpu));
        let why = match tuned {
            _ if cpu.strategy().is_some() => Why::Asked,
            Some(tuned) if tuned.has_policies_of(cpu) => Why::Profile { items: 0, measured: None },
            _ if cpu.by_default().has_policies_of(cpu) => Why::Rule,
            _ => Why::Asked,
        };
        let chosen = (Strategy::Cpu(strategy), Some(Policy::Cpu(policy)), why);
        let report = self.report(device, items, chosen, times);
        Report { profile: found.origin.filter(|_| report.is_profiled()), ..report }
    }

    /// What a call of a GPU takes, and why it is done so.
    pub(super) fn on_gpu(
        &self,
        device: &Device,
        items: usize,
        jobs: &Jobs,
        profile: Option<&Arc<Profile>>,
        why: ReasonFor<'_>,
    ) -> Result<Report> {
        let Jobs { job, least, limit, first, upload } = jobs;
        let mut call = || {
            job.submit()?;
            device.wait()
        };
        let on_device = |recording: &Recording, runs| clock::device(device, recording, runs);
        let [time, limit, least, call] = clock::in_turns(
            true,
            [
                &mut |runs| on_device(job, runs),
                &mut |runs| {
                    limit.as_ref().map_or(Ok(Duration::ZERO), |limit| on_device(limit, runs))
                },
                &mut |runs| on_device(least, runs),
                &mut |runs| clock::host(runs, &mut call),
            ],
        )?;
        let read = self.read(items);
        let bound = device.limits().binding_bytes.map_or(read, |most| read.min(most / 16 * 16));
        let moved = bound * (1 + u64::from(self.writes));
        let limit = scaled(limit, self.bytes(items), moved);
        let done = job.strategy().unwrap_or_else(|| match self.writes {
            true => device.scan_choice(items, self.item_bytes[0]).0,
            false => device.reduce_choice(items, self.item_bytes[0]).0,
        });
        let (why, policy) = why(Some(done));
        let times = Times { first: *first, found: [time, limit, least, call] };
        let chosen = (done, policy.map(Policy::Workgroup), why);
        let report = self.report(device, items, chosen, times);
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
            upload: *upload,
            ..report
        })
    }

    fn report(
        &self,
        device: &Device,
        items: usize,
        (strategy, policy, why): (Strategy, Option<Policy>, Why),
        Times { first, found: [time, limit, least, call] }: Times,
    ) -> Report {
        Report {
            device: [device.id().to_owned(), device.limits().name.clone()],
            primitive: self.primitive,
            operator: self.operator,
            types: self.types.clone(),
            items: items as u64,
            strategy,
            policy,
            shape: self.shape,
            why,
            profile: None,
            bytes: self.bytes(items),
            bytes_moved: strategy.bytes_moved(self.read(items), self.written(items)),
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

/// The times of moving `bytes` bytes, of those of moving `moved`.
fn scaled(times: Quartiles, bytes: u64, moved: u64) -> Quartiles {
    let scaled = |time: Duration| time.mul_f64(bytes as f64 / moved.max(1) as f64);
    let Quartiles { lower, median, upper } = times;
    Quartiles { lower: scaled(lower), median: scaled(median), upper: scaled(upper) }
}
