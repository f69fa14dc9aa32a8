//! The search for the fastest cell of one piece of work on a GPU, at every length.
//!
//! First comes what profiles have for each length, those of other devices too: on an H100 the rows of an H200 lose 3.6 % at most, and a
//! row takes one kernel. Then cells are tried in the order of their distance from the best so far, each in turns with what the device
//! chooses by itself, so that neither a clock that changes nor a neighbour on the machine makes one look better (`trial.rs`). Most of the
//! time goes to making kernels, of which long arrays need one for each length: so a cell is tried at three lengths first, and those for
//! others are made only of what is left. In the end the best of each length meet (`last.rs`).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use upsweep::profile::{Best, Measured};
use upsweep::{Device, Recording, WorkgroupPolicy};

use super::awake::Awake;
use super::budget::{Budget, Deadline};
use super::cells::{Cell, Space, Untried};
use super::helpers::Helpers;
use super::jobs::{Arrays, COMPARED};
use super::order::{longest_within, order};
use super::trial::GoingOn;
use crate::error::{Failure, Result};
use crate::gpu_timing::seconds;
use crate::statistics::median_of;

/// Seconds of one sample when a cell is tried, and its fewest and most runs. A single run behind a pause looked up to 7 % slower than one behind another.
pub(super) const SAMPLE: f64 = 3e-4;
const LEAST_RUNS: u32 = 3;
const MOST_RUNS: u32 = 200;

/// How long a search that measured nothing yet, or not what is known, goes on behind its end.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// The part of the time that is kept for the end, and the most for each length: 19 of them took an H200 5 to 9 s.
const FOR_THE_END: f64 = 0.25;
const MOST_FOR_THE_END: Duration = Duration::from_millis(600);

/// A row of what was tried.
pub struct Tried<'a> {
    /// The operation, as records name it.
    pub operation: &'a str,
    /// How many items there are.
    pub items: usize,
    /// The strategy, or which way of a CPU.
    pub strategy: &'a str,
    /// Its numbers, of a GPU.
    pub policy: WorkgroupPolicy,
    /// What it took, if it was measured.
    pub times: Option<Measured>,
    /// `ok`, in which meeting, or what went wrong.
    pub checked: String,
}

/// Takes every row.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(&Tried<'_>) -> Result<()>;

/// What came of the search.
pub(crate) struct Searched<S> {
    pub(crate) best: Vec<Best<S>>,
    /// Cells that were measured, and those that the device can have.
    pub(crate) tried: usize,
    pub(crate) all: usize,
    /// Whether a result was wrong.
    pub(crate) wrong: usize,
}

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
    fn best(&self) -> Cell<S> {
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
    /// What helpers call the work.
    pub(crate) name: &'a str,
    pub(crate) helpers: &'a mut Helpers,
    pub(crate) awake: &'a Awake,
    pub(crate) jobs: &'a mut Arrays<'b>,
    /// The numbers that the device chooses at a length.
    pub(crate) chosen: &'a dyn Fn(usize) -> WorkgroupPolicy,
    /// Whether what calls do now is held against the best, so that a length at which nothing else was tried says nothing.
    pub(crate) checks: bool,
    /// What calls on the device do now at a length, if a profile says so.
    pub(crate) in_use: &'a dyn Fn(usize) -> Option<Cell<S>>,
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    pub(crate) tell: Tell<'a>,
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
    /// Tries cells until there are none left or the time is over.
    pub(crate) fn run(mut self) -> Result<Searched<S>> {
        let all = self.untried.len();
        let awake = self.awake;
        self.helpers.wait();
        let mut lengths = awake.measuring(|| self.begin())?;
        let for_the_end = MOST_FOR_THE_END * lengths.len() as u32;
        let trying = self.deadline.before_at_most(FOR_THE_END, for_the_end);
        let (mut tried, mut wrong) = (0, 0);
        // Where preparing took all the time one cell is measured all the same: otherwise it was for nothing. The first ones may be refused, or take
        // a compiler too long.
        let is_nothing = |lengths: &[Length<S>]| lengths.iter().all(|one| one.found.len() == 1);
        let is_over = |lengths: &[Length<S>]| {
            trying.is_over_by(if is_nothing(lengths) { GRACE } else { Duration::ZERO })
        };
        let count = if trying.is_over() { 0 } else { self.helpers.at_once() };
        let mut cells = self.untried.take_known(count);
        self.helpers.ask(self.lines_of(&cells));
        wrong += awake.measuring(|| self.try_known(&mut lengths))?;
        self.helpers.wait();
        // Cells whose kernels for other lengths are made, and those for which they are being made.
        let (mut going_on, mut waiting): (Vec<GoingOn<S>>, Vec<_>) = (Vec::new(), Vec::new());
        let mut turn = Duration::ZERO;
        while !is_over(&lengths) {
            let begun = Instant::now();
            let overtime = is_nothing(&lengths) && trying.is_over();
            if overtime {
                // Next is what the device chooses by itself, whose kernels there are.
                self.untried.forget_known();
            }
            // The kernels of the next ones are made while these are measured, so what comes next is known one turn late; but none where there
            // is no time to measure them.
            let nothing = is_nothing(&lengths) && cells.is_empty();
            let goes_on = nothing || trying.left().is_none_or(|left| left > turn);
            let count = if goes_on { self.helpers.at_once() } else { 0 };
            let best: Vec<Cell<S>> = lengths.iter().map(Length::best).collect();
            let next = self.untried.take(count, &best);
            if !goes_on {
                waiting.clear();
            }
            // Those that go on first: what is begun too late is taken for what takes too long.
            let mut lines: Vec<_> =
                waiting.iter().flat_map(|one| self.lines_of_left(one)).collect();
            lines.extend(self.lines_of(&next));
            if !overtime {
                self.helpers.ask(lines);
            }
            if cells.is_empty() && next.is_empty() && going_on.is_empty() && waiting.is_empty() {
                break;
            }
            // Not each for itself: whoever keeps the device awake made CUDA's copies and allocations wait, 75 ms of the 120 of a cell.
            let mut found = Vec::new();
            awake.measuring(|| -> Result<()> {
                for one in std::mem::take(&mut going_on) {
                    if is_over(&lengths) {
                        break;
                    }
                    wrong += usize::from(!self.go_on(one, &mut lengths)?);
                }
                for &cell in &cells {
                    if is_over(&lengths) {
                        break;
                    }
                    let went = self.try_cell(cell, &mut lengths)?;
                    wrong += usize::from(!went.right);
                    found.extend(went.going_on);
                    tried += 1;
                    self.budget.moved();
                }
                Ok(())
            })?;
            self.helpers.wait();
            (cells, going_on, waiting) = (next, waiting, found);
            turn = begun.elapsed();
        }
        let mut best = Vec::new();
        // Where something was measured all lengths get rows, also of what the device chooses by itself: those without one take that of the next,
        // which was up to 7.5 % slower.
        let lengths = if is_nothing(&lengths) { Vec::new() } else { lengths };
        for (number, length) in lengths.iter().enumerate() {
            let part = 1.0 / (lengths.len() - number) as f64;
            let until = self.deadline.before(1.0 - part);
            // Whoever keeps the device awake would make copies and allocations wait.
            let (row, found) = awake.measuring(|| self.end(number, length, until))?;
            wrong += found;
            best.extend(row);
            self.budget.moved();
        }
        Ok(Searched { best, tried, all, wrong })
    }

    /// What the device chooses by itself, at every length.
    fn begin(&mut self) -> Result<Vec<Length<S>>> {
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

    pub(super) fn told(&self, cell: Cell<S>) -> upsweep::Result<Device> {
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
        (self.tell)(&Tried {
            operation: self.operation,
            items: self.jobs.lengths()[number],
            strategy: &cell.strategy.name(),
            policy: cell.policy,
            times,
            checked,
        })
    }
}

/// Times as rows have them, of so many seconds.
pub(super) fn measured(own: f64, limit: f64, plain: f64) -> Measured {
    // To the nanosecond.
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    Measured { median_us: us(own), limit_us: us(limit), default_us: us(plain) }
}

/// How many runs of so many seconds are a sample.
pub(super) fn runs_of(sample: f64, once: f64) -> u32 {
    ((sample / once.max(1e-9)) as u32).clamp(LEAST_RUNS, MOST_RUNS)
}
