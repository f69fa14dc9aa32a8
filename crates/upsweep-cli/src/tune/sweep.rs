//! The search for the fastest cell of one piece of work on a GPU, at every length.
//!
//! Cells are tried in the order of their distance from the best so far, each in turns with what the device chooses by itself, so
//! that neither a clock that changes nor a neighbour on the machine makes one look better. One that is hopeless at two lengths is not
//! tried at the others. In the end the best of each length meet (`last.rs`).

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use upsweep::profile::{Best, Measured};
use upsweep::{Device, Error, Recording, Result as Done, WorkgroupPolicy};

use super::awake::Awake;
use super::budget::{Budget, Deadline};
use super::cells::{Cell, Space, Untried};
use super::helpers::Helpers;
use super::jobs::{COMPARED, Jobs};
use super::kernels::line;
use super::order::{is_slow_around, longest_within, order};
use crate::bench::measure::{median, middle_mean};
use crate::bench::turns::seconds;
use crate::error::{Failure, Result};
use crate::progress::check_signals;

/// Times that a cell is measured when it is tried.
const TURNS: usize = 3;

/// Seconds of one sample, and its fewest and most runs. A single run behind a pause looked up to 7 % slower than one behind another.
const SAMPLE: f64 = 3e-4;
const LEAST_RUNS: u32 = 3;
const MOST_RUNS: u32 = 200;

/// A cell that takes so many times as long as what the device chooses in its first turn has no others: chance makes 3 % of a turn.
const FAR: f64 = 1.15;

/// One that does at two lengths is hopeless at all.
const HOPELESS: f64 = 1.5;

/// The part of the time that is kept for the end.
const FOR_THE_END: f64 = 0.25;

/// A row of what was tried.
pub(crate) struct Tried<'a> {
    pub(crate) operation: &'a str,
    pub(crate) items: usize,
    pub(crate) strategy: &'a str,
    pub(crate) policy: WorkgroupPolicy,
    pub(crate) times: Option<Measured>,
    pub(crate) checked: String,
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
    pub(crate) spent: Spent,
}

/// Where the time of a search went.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Waiting for kernels, binding them to arrays, comparing results, measuring, and what the best of each length take.
    pub(crate) kernels: Duration,
    pub(crate) binding: Duration,
    pub(crate) comparing: Duration,
    pub(crate) measuring: Duration,
    pub(crate) meeting: Duration,
}

impl Display for Spent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [kernels, binding, comparing, measuring, meeting] =
            [self.kernels, self.binding, self.comparing, self.measuring, self.meeting]
                .map(|time| time.as_secs_f64());
        write!(
            f,
            "{kernels:.1} s for kernels, {binding:.1} binding, {comparing:.1} comparing, {measuring:.1} measuring, {meeting:.1} in \
             the end"
        )
    }
}

/// Does something, whose time is added.
fn spend<R>(time: &mut Duration, work: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let result = work();
    *time += begun.elapsed();
    result
}

/// One length while cells are tried.
pub(super) struct Length<S> {
    /// What the device chooses, as a run and as a cell, and its seconds.
    plain: Recording,
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

    fn add(&mut self, ratio: f64, cell: Cell<S>) {
        let place = self.found.partition_point(|(other, _)| *other <= ratio);
        self.found.insert(place, (ratio, cell));
    }
}

/// A search on one device.
pub(crate) struct Search<'a, S> {
    /// The device as it chooses, which every cell is held against.
    pub(crate) device: &'a Device,
    pub(crate) operation: &'a str,
    /// What helpers call the work.
    pub(crate) name: &'a str,
    pub(crate) helpers: &'a mut Helpers,
    pub(crate) awake: &'a Awake,
    pub(crate) jobs: &'a mut dyn Jobs,
    /// The numbers that the device chooses at a length.
    pub(crate) chosen: &'a dyn Fn(usize) -> WorkgroupPolicy,
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    pub(crate) tell: Tell<'a>,
    /// Cells whose kernels are being made already, and the others.
    pub(crate) first: Vec<Cell<S>>,
    pub(crate) untried: Untried<S>,
    /// What was launched of every cell so far.
    pub(crate) launched: HashSet<String>,
    pub(crate) spent: Spent,
}

/// The lengths whose kernels may differ: shorter ones have those of the longest at which results are compared.
pub(super) fn lengths_of_kernels(lengths: &[usize]) -> &[usize] {
    &lengths[longest_within(lengths, COMPARED)..]
}

impl<S: Space> Search<'_, S> {
    /// Tries cells until there are none left or the time is over.
    pub(crate) fn run(mut self) -> Result<Searched<S>> {
        let all = self.untried.len();
        let awake = self.awake;
        spend(&mut self.spent.kernels, || self.helpers.wait());
        let mut lengths = awake.measuring(|| self.begin())?;
        let trying = self.deadline.before(FOR_THE_END);
        let (mut tried, mut wrong) = (0, 0);
        // Where preparing took all the time one cell is measured all the same: otherwise it was for nothing.
        let is_over = |lengths: &[Length<S>]| {
            let nothing = lengths.iter().all(|length| length.found.len() == 1);
            trying.is_over() && (!nothing || check_signals().is_err())
        };
        let mut cells = std::mem::take(&mut self.first);
        let mut turn = Duration::ZERO;
        while !is_over(&lengths) {
            let begun = Instant::now();
            // The kernels of the next ones are made while these are measured, so what comes next is known one turn late; but none where there
            // is no time to measure them.
            let nothing = tried == 0 && cells.is_empty();
            let goes_on = nothing || trying.left().is_none_or(|left| left > turn);
            let count = if goes_on { self.helpers.at_once() } else { 0 };
            let best: Vec<Cell<S>> = lengths.iter().map(Length::best).collect();
            let next = self.untried.take(count, &best);
            let lengths_of_kernels = lengths_of_kernels(self.jobs.lengths());
            let lines = next.iter().map(|&cell| line(self.name, lengths_of_kernels, Some(cell)));
            self.helpers.ask(lines.collect());
            if cells.is_empty() && next.is_empty() {
                break;
            }
            // Not each for itself: whoever keeps the device awake made CUDA's copies and allocations wait, 75 ms of the 120 of a cell.
            awake.measuring(|| -> Result<()> {
                for cell in cells {
                    if is_over(&lengths) {
                        break;
                    }
                    wrong += usize::from(!self.try_cell(cell, &mut lengths)?);
                    tried += 1;
                    self.budget.moved();
                }
                Ok(())
            })?;
            spend(&mut self.spent.kernels, || self.helpers.wait());
            cells = next;
            turn = begun.elapsed();
        }
        let met = Instant::now();
        let mut best = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let part = 1.0 / (lengths.len() - number) as f64;
            let (row, found) = self.end(number, length, self.deadline.before(1.0 - part))?;
            wrong += found;
            best.extend(row);
            self.budget.moved();
        }
        self.spent.meeting = met.elapsed();
        Ok(Searched { best, tried, all, wrong, spent: self.spent })
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

    /// Measures a cell at every length, having the device to itself; false if a result is wrong.
    fn try_cell(&mut self, cell: Cell<S>, lengths: &mut [Length<S>]) -> Result<bool> {
        let device = self.told(cell)?;
        let name = cell.strategy.name();
        let lengths_of_all = self.jobs.lengths();
        if self.helpers.is_late(self.name, lengths_of_kernels(lengths_of_all), cell) {
            (self.tell)(&Tried {
                operation: self.operation,
                items: lengths_of_all[lengths_of_all.len() - 1],
                strategy: &name,
                policy: cell.policy,
                times: None,
                checked: "its kernels took too long to make".to_owned(),
            })?;
            return Ok(true);
        }
        let (order, first) = order(lengths.len(), longest_within(lengths_of_all, COMPARED));
        let mut bind =
            |number: usize| spend(&mut self.spent.binding, || self.jobs.bind(&device, number));
        let mut bound: Vec<_> = order[..first].iter().rev().map(|&number| bind(number)).collect();
        if !self.is_new(&name, &bound)? {
            return Ok(true);
        }
        let mut ratios = vec![None; lengths.len()];
        for (place, number) in order.into_iter().enumerate() {
            if is_slow_around(&ratios, number) {
                continue;
            }
            let items = self.jobs.lengths()[number];
            let length = &mut lengths[number];
            let operation = self.operation;
            let mut row = Tried {
                operation,
                items,
                strategy: &name,
                policy: cell.policy,
                times: None,
                checked: "ok".to_owned(),
            };
            let bound = bound.pop().unwrap_or_else(|| {
                spend(&mut self.spent.binding, || self.jobs.bind(&device, number))
            });
            let recording = match bound {
                Ok(recording) => recording,
                Err(error @ Error::StrategyRefused { .. }) => {
                    row.checked = error.to_string();
                    (self.tell)(&row)?;
                    if place == 0 {
                        self.untried.forget(cell.strategy);
                        return Ok(true);
                    }
                    continue;
                }
                Err(error @ Error::DeviceFailed { .. }) => {
                    // Of this cell the device's compiler could make nothing; a device that is lost says so soon.
                    row.checked = error.to_string();
                    (self.tell)(&row)?;
                    self.device.wait()?;
                    return Ok(true);
                }
                Err(error) => return Err(error.into()),
            };
            if items <= COMPARED {
                let correct = spend(&mut self.spent.comparing, || {
                    self.jobs.poison(number)?;
                    recording.submit()?;
                    self.jobs.correct(number)
                });
                if !correct? {
                    row.checked = crate::bench::report::WRONG.to_owned();
                    (self.tell)(&row)?;
                    return Ok(false);
                }
            }
            let begun = Instant::now();
            let (own, plain) = self.in_turns(&recording, length)?;
            self.spent.measuring += begun.elapsed();
            let ratio = own / plain;
            let us = |seconds: f64| seconds * 1e6;
            let times =
                Measured { median_us: us(own), limit_us: us(length.limit), default_us: us(plain) };
            row.times = Some(times);
            (self.tell)(&row)?;
            length.add(ratio, cell);
            ratios[number] = Some(ratio);
            if place == 1 && ratios.iter().flatten().all(|&ratio| ratio > HOPELESS) {
                break;
            }
        }
        Ok(true)
    }

    /// Whether no cell of this strategy had the same launches: policies that do not fit are brought to the nearest that do.
    fn is_new(&mut self, name: &str, bound: &[Done<Recording>]) -> Result<bool> {
        let mut described = Vec::new();
        for recording in bound {
            // What could not be bound is said when it is tried.
            let Ok(recording) = recording else { return Ok(true) };
            described.push(recording.described()?);
        }
        Ok(self.launched.insert(format!("{name} {described:?}")))
    }

    /// Seconds of a run, and of what the device chooses, in turns.
    fn in_turns(&self, recording: &Recording, length: &Length<S>) -> Result<(f64, f64)> {
        let (mut own, mut plain) = (Vec::new(), Vec::new());
        let runs = runs_of(SAMPLE, length.once);
        for turn in 0..TURNS {
            plain.push(middle_mean(seconds(self.device, &length.plain, runs)?));
            own.push(middle_mean(seconds(self.device, recording, runs)?));
            if turn == 0 && own[0] > FAR * plain[0] {
                break;
            }
        }
        Ok((median_of(own), median_of(plain)))
    }
}

/// How many runs of so many seconds are a sample.
pub(super) fn runs_of(sample: f64, once: f64) -> u32 {
    ((sample / once.max(1e-9)) as u32).clamp(LEAST_RUNS, MOST_RUNS)
}

pub(super) fn median_of(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    median(&times)
}
