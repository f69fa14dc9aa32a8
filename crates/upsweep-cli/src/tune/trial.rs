//! One cell of a search: at three lengths first, then at those at which it may be the best.

use upsweep::profile::Measured;
use upsweep::{Device, Error, Recording, Result as Done};

use super::cells::{Cell, Space};
use super::jobs::COMPARED;
use super::kernels::line;
use super::order::{is_slow_around, longest_within, order};
use super::sweep::{
    Batch, Length, SAMPLE, Search, Tried, lengths_of_kernels, median_of, runs_of, spend,
};
use crate::bench::measure::middle_mean;
use crate::bench::report::WRONG;
use crate::bench::turns::seconds;
use crate::error::Result;

/// Times that a cell is measured when it is tried.
const TURNS: usize = 3;

/// A cell that takes so many times as long as what the device chooses in its first turn has no others: chance makes 3 % of a turn.
const FAR: f64 = 1.15;

/// One that takes so many times as long as the best at two lengths is hopeless at all.
const HOPELESS: f64 = 1.5;

/// A cell that was tried at the first lengths, and is worth others.
pub(super) struct GoingOn<S> {
    cell: Cell<S>,
    device: Device,
    /// Its times at every length at which it was tried, in times of the best there.
    ratios: Vec<Option<f64>>,
}

/// What came of a trial: whether results were right, and what goes on.
pub(super) struct Went<S> {
    pub(super) right: bool,
    pub(super) going_on: Option<GoingOn<S>>,
}

/// What came of it at one length.
enum Step {
    /// So many times as long as the best.
    Took(f64),
    /// The device does not do this.
    Refused,
    /// Its compiler could make nothing of it.
    Failed,
    Wrong,
}

impl<S> Went<S> {
    const OVER: Self = Self { right: true, going_on: None };
    const WRONG: Self = Self { right: false, going_on: None };
}

impl<S: Space> Search<'_, S> {
    /// The lengths in the order in which a cell is tried at them, and how many come first.
    fn order(&self) -> (Vec<usize>, usize) {
        let lengths = self.jobs.lengths();
        order(lengths.len(), longest_within(lengths, COMPARED))
    }

    /// The lengths for which kernels of a batch are made.
    fn lengths_of_batch(&self, whole: bool) -> Vec<usize> {
        let lengths = self.jobs.lengths();
        let different = lengths_of_kernels(lengths);
        if whole {
            return different.to_vec();
        }
        let (order, first) = self.order();
        let first = order[..first].iter().map(|&number| lengths[number]);
        first.filter(|length| different.contains(length)).collect()
    }

    /// What helpers are asked for a batch.
    pub(super) fn lines_of(&self, batch: &Batch<S>) -> impl Iterator<Item = String> {
        let lengths = self.lengths_of_batch(batch.whole);
        batch.cells.iter().map(move |&cell| line(self.name, &lengths, Some(cell)))
    }

    /// The lengths that are left for a cell.
    fn left(&self, one: &GoingOn<S>) -> Vec<usize> {
        let (order, first) = self.order();
        order[first..].iter().copied().filter(|&n| !is_slow_around(&one.ratios, n)).collect()
    }

    /// What helpers are asked for a cell that goes on: a line for each length, so that they share it.
    pub(super) fn lines_of_left(&self, one: &GoingOn<S>) -> Vec<String> {
        let lengths = self.jobs.lengths();
        let different = lengths_of_kernels(lengths);
        let left = self.left(one).into_iter().map(|number| lengths[number]);
        let left = left.filter(|length| different.contains(length));
        left.map(|length| line(self.name, &[length], Some(one.cell))).collect()
    }

    /// Measures a cell at the first lengths, having the device to itself; if it is of a batch whose kernels are all made, at all of them.
    pub(super) fn try_cell(
        &mut self,
        cell: Cell<S>,
        whole: bool,
        lengths: &mut [Length<S>],
    ) -> Result<Went<S>> {
        let device = self.told(cell)?;
        let (order, first) = self.order();
        if self.helpers.is_late(self.name, &self.lengths_of_batch(whole), cell) {
            self.say_late(cell, self.jobs.lengths()[order[0]])?;
            return Ok(Went::OVER);
        }
        let mut bind =
            |number: usize| spend(&mut self.spent.binding, || self.jobs.bind(&device, number));
        let mut bound: Vec<_> = order[..first].iter().rev().map(|&number| bind(number)).collect();
        if !self.is_new(&cell.strategy.name(), &bound)? {
            return Ok(Went::OVER);
        }
        let mut ratios = vec![None; lengths.len()];
        for (place, &number) in order[..first].iter().enumerate() {
            let Some(bound) = bound.pop() else { break };
            match self.at_length(cell, bound, number, &mut lengths[number])? {
                Step::Took(ratio) => ratios[number] = Some(ratio),
                Step::Refused if place == 0 => {
                    self.untried.forget(cell.strategy);
                    return Ok(Went::OVER);
                }
                Step::Refused => {}
                Step::Failed => return Ok(Went::OVER),
                Step::Wrong => return Ok(Went::WRONG),
            }
            if place == 1 && ratios.iter().flatten().all(|&ratio| ratio > HOPELESS) {
                return Ok(Went::OVER);
            }
        }
        let one = GoingOn { cell, device, ratios };
        if whole {
            return Ok(Went { right: self.go_on(one, lengths)?, going_on: None });
        }
        let is_left = !self.left(&one).is_empty();
        Ok(Went { right: true, going_on: is_left.then_some(one) })
    }

    /// Measures a cell at the other lengths; false if a result is wrong.
    pub(super) fn go_on(&mut self, mut one: GoingOn<S>, lengths: &mut [Length<S>]) -> Result<bool> {
        let cell = one.cell;
        for number in self.left(&one) {
            // What was slow meanwhile is slow around others.
            if is_slow_around(&one.ratios, number) {
                continue;
            }
            let items = self.jobs.lengths()[number];
            if self.helpers.is_late(self.name, &[items], cell) {
                self.say_late(cell, items)?;
                continue;
            }
            let bound = spend(&mut self.spent.binding, || self.jobs.bind(&one.device, number));
            match self.at_length(cell, bound, number, &mut lengths[number])? {
                Step::Took(ratio) => one.ratios[number] = Some(ratio),
                Step::Refused => {}
                Step::Failed => return Ok(true),
                Step::Wrong => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Compares and measures a cell at one length, and tells of it.
    fn at_length(
        &mut self,
        cell: Cell<S>,
        bound: Done<Recording>,
        number: usize,
        length: &mut Length<S>,
    ) -> Result<Step> {
        let (items, strategy) = (self.jobs.lengths()[number], cell.strategy.name());
        let (operation, policy) = (self.operation, cell.policy);
        let row = |times: Option<Measured>, checked: String| Tried {
            operation,
            items,
            strategy: &strategy,
            policy,
            times,
            checked,
        };
        let recording = match bound {
            Ok(recording) => recording,
            Err(error @ Error::StrategyRefused { .. }) => {
                (self.tell)(&row(None, error.to_string()))?;
                return Ok(Step::Refused);
            }
            Err(error @ Error::DeviceFailed { .. }) => {
                // A device that is lost says so soon.
                (self.tell)(&row(None, error.to_string()))?;
                self.device.wait()?;
                return Ok(Step::Failed);
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
                (self.tell)(&row(None, WRONG.to_owned()))?;
                return Ok(Step::Wrong);
            }
        }
        let device = self.device;
        let in_turns = || in_turns(device, &recording, length);
        let (own, plain) = spend(&mut self.spent.measuring, in_turns)?;
        let us = |seconds: f64| seconds * 1e6;
        let times =
            Measured { median_us: us(own), limit_us: us(length.limit), default_us: us(plain) };
        (self.tell)(&row(Some(times), "ok".to_owned()))?;
        let ratio = own / plain;
        length.add(ratio, cell);
        Ok(Step::Took(ratio / length.found[0].0))
    }

    fn say_late(&mut self, cell: Cell<S>, items: usize) -> Result<()> {
        (self.tell)(&Tried {
            operation: self.operation,
            items,
            strategy: &cell.strategy.name(),
            policy: cell.policy,
            times: None,
            checked: "its kernels took too long to make".to_owned(),
        })
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
}

/// Seconds of a run, and of what the device chooses, in turns.
fn in_turns<S>(device: &Device, recording: &Recording, length: &Length<S>) -> Result<(f64, f64)> {
    let (mut own, mut plain) = (Vec::new(), Vec::new());
    let runs = runs_of(SAMPLE, length.once);
    for turn in 0..TURNS {
        plain.push(middle_mean(seconds(device, &length.plain, runs)?));
        own.push(middle_mean(seconds(device, recording, runs)?));
        if turn == 0 && own[0] > FAR * plain[0] {
            break;
        }
    }
    Ok((median_of(own), median_of(plain)))
}
