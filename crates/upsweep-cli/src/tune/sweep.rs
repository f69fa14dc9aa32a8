//! The search for the fastest cell of one piece of work on a GPU, at every length.
//!
//! Cells are tried in the order of their distance from the best so far, each in turns with what the device chooses by itself, so
//! that neither a clock that changes nor a neighbour on the machine makes one look better. One that is hopeless at two lengths is not
//! tried at the others. In the end the best of each length meet (`last.rs`).

use upsweep::profile::{Best, Measured};
use upsweep::{Device, Error, Recording, WorkgroupPolicy};

use super::awake::Awake;
use super::budget::{Budget, Deadline};
use super::cells::{Cell, Space, Untried};
use super::helpers::Helpers;
use super::jobs::{COMPARED, Jobs};
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

/// A cell that takes so many times as long as what the device chooses is hopeless.
const HOPELESS: f64 = 1.5;

/// The part of the time that is kept for the end.
const FOR_THE_END: f64 = 0.25;

/// A cell that takes so many times as long at three lengths, a short, a long and one in between, is not tried at the others.
const SLOW: f64 = 1.1;

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
}

/// The number of the longest length at which results are compared item by item.
fn middle(lengths: &[usize]) -> usize {
    lengths.partition_point(|&items| items <= COMPARED).saturating_sub(1)
}

/// The kernels that some cells need: those of long arrays may differ from those of others.
pub(super) fn kernels_of<S: Space>(
    lengths: &[usize],
    cells: &[Cell<S>],
) -> Vec<(usize, Option<Cell<S>>)> {
    let items = [middle(lengths), lengths.len() - 1].map(|number| lengths[number]);
    cells.iter().flat_map(|&cell| items.map(|items| (items, Some(cell)))).collect()
}

impl<S: Space> Search<'_, S> {
    /// Tries cells until there are none left or the time is over.
    pub(crate) fn run(mut self) -> Result<Searched<S>> {
        let all = self.untried.len();
        let awake = self.awake;
        self.helpers.wait();
        let mut lengths = awake.measuring(|| self.begin())?;
        let trying = self.deadline.before(FOR_THE_END);
        let (mut tried, mut wrong) = (0, 0);
        // Where preparing took all the time one cell is measured all the same: otherwise it was for nothing.
        let is_over = |lengths: &[Length<S>]| {
            let nothing = lengths.iter().all(|length| length.found.len() == 1);
            trying.is_over() && (!nothing || check_signals().is_err())
        };
        while !is_over(&lengths) {
            let mut cells = std::mem::take(&mut self.first);
            if cells.is_empty() {
                let best: Vec<Cell<S>> = lengths.iter().map(Length::best).collect();
                cells = self.untried.take(self.helpers.at_once(), &best);
                self.helpers.ask(self.name, &kernels_of(self.jobs.lengths(), &cells));
                self.helpers.wait();
            }
            if cells.is_empty() {
                break;
            }
            for cell in cells {
                if is_over(&lengths) {
                    break;
                }
                wrong += usize::from(!self.try_cell(cell, &mut lengths)?);
                tried += 1;
                self.budget.moved();
            }
        }
        let mut best = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let part = 1.0 / (lengths.len() - number) as f64;
            let (row, found) = self.end(number, length, self.deadline.before(1.0 - part))?;
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

    /// Measures a cell at every length; false if a result is wrong.
    fn try_cell(&mut self, cell: Cell<S>, lengths: &mut [Length<S>]) -> Result<bool> {
        let awake = self.awake;
        let device = self.told(cell)?;
        let name = cell.strategy.name();
        // Where it can be compared, where memory is the limit, where starting is; then all others.
        let (middle, last) = (middle(self.jobs.lengths()), lengths.len() - 1);
        let first = [middle, last, 0];
        let mut order: Vec<usize> = Vec::new();
        for number in first.into_iter().chain(0..=last) {
            if !order.contains(&number) {
                order.push(number);
            }
        }
        let (mut hopeless, mut slow) = (0, 0);
        for (place, number) in order.into_iter().enumerate() {
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
            let recording = match self.jobs.bind(&device, number) {
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
                self.jobs.poison(number)?;
                recording.submit()?;
                if !self.jobs.correct(number)? {
                    row.checked = crate::bench::report::WRONG.to_owned();
                    (self.tell)(&row)?;
                    return Ok(false);
                }
            }
            let (own, plain) = awake.measuring(|| self.in_turns(&recording, length))?;
            let ratio = own / plain;
            let us = |seconds: f64| seconds * 1e6;
            let times =
                Measured { median_us: us(own), limit_us: us(length.limit), default_us: us(plain) };
            row.times = Some(times);
            (self.tell)(&row)?;
            length.add(ratio, cell);
            hopeless += usize::from(ratio > HOPELESS);
            slow += usize::from(ratio > SLOW);
            if (place == 1 && hopeless == 2) || (place == 2 && slow == 3) {
                break;
            }
        }
        Ok(true)
    }

    /// Seconds of a run, and of what the device chooses, in turns; of a hopeless one in one turn.
    fn in_turns(&self, recording: &Recording, length: &Length<S>) -> Result<(f64, f64)> {
        let (mut own, mut plain) = (Vec::new(), Vec::new());
        let runs = runs_of(SAMPLE, length.once);
        for turn in 0..TURNS {
            plain.push(middle_mean(seconds(self.device, &length.plain, runs)?));
            own.push(middle_mean(seconds(self.device, recording, runs)?));
            if turn == 0 && own[0] > HOPELESS * plain[0] {
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
