//! The state of a search for the fastest cell of one workload: the device, the lengths, and what is known so far.

use std::collections::HashSet;
use std::time::Duration;

use upsweep::profile::Measured;
use upsweep::strategy::WorkgroupPolicy;
use upsweep::{Device, Recording};

use super::budget::{Budget, Deadline};
use super::compilers::Compilers;
use super::gpu_arrays::{Arrays, COMPARED};
use super::keep_awake::KeepAwake;
use super::length_order::{longest_within, order};
use super::rows::{TellTrial, TrialRow};
use super::search_space::{Cell, Space, Untried};
use crate::error::{Failure, Result};
use crate::gpu_timing::seconds;
use crate::statistics::median_of;

/// Seconds of one sample when a cell is tried, and its fewest and most runs. A single run behind a pause looked up to 7 % slower than one behind another.
pub(super) const SAMPLE: f64 = 3e-4;
const LEAST_RUNS: u32 = 3;
const MOST_RUNS: u32 = 200;

/// How long a search that measured nothing yet, or not what is known, goes on behind its end.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// One length while cells are tried.
pub(super) struct Length<S> {
    /// What the device chooses, as a run and as a cell, and its seconds.
    pub(super) plain: Recording,
    pub(super) own: Cell<S>,
    pub(super) once: f64,
    pub(super) limit: f64,
    /// Cells by the time they take, in times of what the device chooses.
    pub(super) found: Vec<(f64, Cell<S>)>,
}

impl<S: Space> Length<S> {
    pub(super) fn best(&self) -> Cell<S> {
        self.found[0].1
    }

    pub(super) fn add(&mut self, ratio: f64, cell: Cell<S>) {
        let place = self.found.partition_point(|(other, _)| *other <= ratio);
        self.found.insert(place, (ratio, cell));
    }
}

/// A search on one device.
pub(crate) struct Search<'a, 'b, S> {
    /// The device as it chooses, which every cell is held against.
    pub(crate) device: &'a Device,
    pub(crate) operation: &'a str,
    /// What compilers call the work.
    pub(crate) name: &'a str,
    pub(crate) compilers: &'a mut Compilers,
    pub(crate) awake: &'a KeepAwake,
    pub(crate) jobs: &'a mut Arrays<'b>,
    /// The numbers that the device chooses at a length.
    pub(crate) chosen: &'a dyn Fn(usize) -> WorkgroupPolicy,
    /// Whether what calls do now is held against the best, so that a length at which nothing else was tried says nothing.
    pub(crate) checks: bool,
    /// What calls on the device do now at a length, if a profile says so.
    pub(crate) in_use: &'a dyn Fn(usize) -> Option<Cell<S>>,
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    pub(crate) tell: TellTrial<'a>,
    /// What profiles have for each length, whose kernels are being made already.
    pub(crate) known: Vec<Vec<Cell<S>>>,
    pub(crate) untried: Untried<S>,
    /// What was launched of every cell so far.
    pub(crate) launched: HashSet<String>,
}

/// The length whose kernel one of these lengths has: shorter ones have that of the longest at which results are compared.
pub(super) fn length_of_kernel(lengths: &[usize], number: usize) -> usize {
    lengths[number.max(longest_within(lengths, COMPARED))]
}

/// The lengths of the kernels with which a cell is tried first.
pub(super) fn lengths_of_first_kernels(lengths: &[usize]) -> Vec<usize> {
    let (order, first) = order(lengths.len(), longest_within(lengths, COMPARED));
    let kernels = order[..first].iter().map(|&number| length_of_kernel(lengths, number));
    let mut kernels: Vec<usize> = kernels.collect();
    kernels.sort_unstable();
    kernels.dedup();
    kernels
}

impl<S: Space> Search<'_, '_, S> {
    /// What the device chooses by itself, at every length.
    pub(super) fn begin(&mut self) -> Result<Vec<Length<S>>> {
        let mut lengths = Vec::new();
        for number in 0..self.jobs.lengths().len() {
            let items = self.jobs.lengths()[number];
            let plain = self.jobs.bind(self.device, number)?;
            plain.submit()?;
            if items <= COMPARED && !self.jobs.correct(number)? {
                return Err(Failure::Mismatch(1));
            }
            let once = median_of(seconds(self.device, &plain, 3)?);
            let runs = runs_of(SAMPLE, once);
            let limit = median_of(seconds(self.device, self.jobs.limit(number), runs)?);
            let strategy = plain.strategy().and_then(S::of);
            let strategy = strategy.ok_or_else(|| Failure::usage("a run without a strategy"))?;
            let own = Cell { strategy, policy: (self.chosen)(items) };
            lengths.push(Length { plain, own, once, limit, found: vec![(1.0, own)] });
        }
        Ok(lengths)
    }

    pub(super) fn device_with(&self, cell: Cell<S>) -> upsweep::Result<Device> {
        self.device.with_gpu_options(cell.strategy.options(cell.policy))
    }

    /// Whether a run leaves what is right.
    pub(super) fn is_right(
        &mut self,
        number: usize,
        recording: &Recording,
    ) -> upsweep::Result<bool> {
        self.jobs.poison(number)?;
        recording.submit()?;
        self.jobs.correct(number)
    }

    /// Tells of a cell at the length of this number: what it took, and what came of it.
    pub(super) fn say(
        &mut self,
        number: usize,
        cell: Cell<S>,
        times: Option<Measured>,
        checked: String,
    ) -> Result<()> {
        (self.tell)(&TrialRow {
            operation: self.operation,
            items: self.jobs.lengths()[number],
            strategy: &cell.strategy.name(),
            policy: cell.policy,
            times,
            checked,
        })
    }
}

/// How many runs of so many seconds are a sample.
pub(super) fn runs_of(sample: f64, once: f64) -> u32 {
    ((sample / once.max(1e-9)) as u32).clamp(LEAST_RUNS, MOST_RUNS)
}
