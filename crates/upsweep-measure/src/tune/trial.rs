//! One cell of a search: at three lengths first, then at those at which it may be the best; what is known of a length, at that alone.

use std::time::Duration;

use upsweep::{Device, Error, Recording, Result as Done};

use super::gpu_arrays::COMPARED;
use super::kernel_requests::line;
use super::length_order::{is_slow_around, longest_within, order};
use super::rows::measured;
use super::search::{
    GRACE, Length, SAMPLE, Search, length_of_kernel, lengths_of_first_kernels, runs_of,
};
use super::search_space::{Cell, Space};
use crate::csv_fields::WRONG;
use crate::error::Result;
use crate::gpu_timing::seconds;
use crate::statistics::{median_of, middle_mean};

/// Times that a cell is measured when it is tried.
const TURNS: usize = 3;

/// A cell that takes so many times as long as what the device chooses in its first turn has no others: chance makes 3 % of a turn.
const FAR: f64 = 1.15;

/// One that takes so many times as long as the best at two lengths is hopeless at all.
const HOPELESS: f64 = 1.5;

/// What records say of a cell that was not waited for.
const LATE: &str = "its kernels took too long to make";

/// A cell that was tried at the first lengths, and is worth others.
pub(super) struct Continuation<S> {
    cell: Cell<S>,
    device: Device,
    /// Its times at every length at which it was tried, in times of the best there.
    ratios: Vec<Option<f64>>,
}

/// What came of a trial: whether results were right, and what goes on.
pub(super) struct TrialOutcome<S> {
    pub(super) right: bool,
    pub(super) going_on: Option<Continuation<S>>,
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

impl<S> TrialOutcome<S> {
    const OVER: Self = Self { right: true, going_on: None };
    const WRONG: Self = Self { right: false, going_on: None };
}

impl<S: Space> Search<'_, '_, S> {
    /// The lengths in the order in which a cell is tried at them, and how many come first.
    fn order(&self) -> (Vec<usize>, usize) {
        let lengths = self.jobs.lengths();
        order(lengths.len(), longest_within(lengths, COMPARED))
    }

    /// What compilers are asked for cells that are tried next.
    pub(super) fn lines_of(&self, cells: &[Cell<S>]) -> Vec<String> {
        let lengths = self.first_kernels();
        cells.iter().map(|&cell| line(self.name, &lengths, Some(cell))).collect()
    }

    fn first_kernels(&self) -> Vec<usize> {
        lengths_of_first_kernels(self.jobs.lengths())
    }

    fn kernel(&self, number: usize) -> usize {
        length_of_kernel(self.jobs.lengths(), number)
    }

    /// The lengths that are left for a cell.
    fn left(&self, one: &Continuation<S>) -> Vec<usize> {
        let (order, first) = self.order();
        order[first..].iter().copied().filter(|&n| !is_slow_around(&one.ratios, n)).collect()
    }

    /// What compilers are asked for a cell that goes on: a line for each length, so that they share it.
    pub(super) fn lines_of_left(&self, one: &Continuation<S>) -> Vec<String> {
        let made = self.first_kernels();
        let left = self.left(one).into_iter().map(|number| self.kernel(number));
        let left = left.filter(|length| !made.contains(length));
        left.map(|length| line(self.name, &[length], Some(one.cell))).collect()
    }

    /// Measures at each length what profiles have for it, having the device to itself; how many results were wrong. Where kernels are made
    /// beside the search it takes a few milliseconds for each, and nothing else is worth as much: the end may wait.
    pub(super) fn try_known(&mut self, lengths: &mut [Length<S>]) -> Result<usize> {
        let mut wrong = 0;
        for (number, cells) in std::mem::take(&mut self.known).into_iter().enumerate() {
            for cell in cells {
                let grace = if self.compilers.are_there() { GRACE } else { Duration::ZERO };
                if self.deadline.is_over_by(grace) {
                    return Ok(wrong);
                }
                if cell == lengths[number].own {
                    continue;
                }
                if self.compilers.is_late(self.name, &[self.kernel(number)], cell) {
                    self.say(number, cell, None, LATE.to_owned())?;
                    continue;
                }
                let device = self.device_with(cell)?;
                let bound = self.jobs.bind(&device, number);
                match self.at_length(cell, bound, number, &mut lengths[number])? {
                    Step::Wrong => wrong += 1,
                    Step::Took(_) | Step::Refused | Step::Failed => {}
                }
            }
        }
        Ok(wrong)
    }

    /// Measures a cell at the first lengths, having the device to itself.
    pub(super) fn try_cell(
        &mut self,
        cell: Cell<S>,
        lengths: &mut [Length<S>],
    ) -> Result<TrialOutcome<S>> {
        let device = self.device_with(cell)?;
        let (order, first) = self.order();
        if self.compilers.is_late(self.name, &self.first_kernels(), cell) {
            self.say(order[0], cell, None, LATE.to_owned())?;
            return Ok(TrialOutcome::OVER);
        }
        let mut bind = |number: usize| self.jobs.bind(&device, number);
        let mut bound: Vec<_> = order[..first].iter().rev().map(|&number| bind(number)).collect();
        if !self.is_new(&cell.strategy.name(), &bound)? {
            return Ok(TrialOutcome::OVER);
        }
        let mut ratios = vec![None; lengths.len()];
        for (place, &number) in order[..first].iter().enumerate() {
            let Some(bound) = bound.pop() else { break };
            match self.at_length(cell, bound, number, &mut lengths[number])? {
                Step::Took(ratio) => ratios[number] = Some(ratio),
                Step::Refused if place == 0 => {
                    self.untried.forget(cell.strategy);
                    return Ok(TrialOutcome::OVER);
                }
                Step::Refused => {}
                Step::Failed => return Ok(TrialOutcome::OVER),
                Step::Wrong => return Ok(TrialOutcome::WRONG),
            }
            if place == 1 && ratios.iter().flatten().all(|&ratio| ratio > HOPELESS) {
                return Ok(TrialOutcome::OVER);
            }
        }
        let one = Continuation { cell, device, ratios };
        let is_left = !self.left(&one).is_empty();
        Ok(TrialOutcome { right: true, going_on: is_left.then_some(one) })
    }

    /// Measures a cell at the other lengths; false if a result is wrong.
    pub(super) fn go_on(
        &mut self,
        mut one: Continuation<S>,
        lengths: &mut [Length<S>],
    ) -> Result<bool> {
        let cell = one.cell;
        for number in self.left(&one) {
            // What was slow meanwhile is slow around others.
            if is_slow_around(&one.ratios, number) {
                continue;
            }
            if self.compilers.is_late(self.name, &[self.kernel(number)], cell) {
                self.say(number, cell, None, LATE.to_owned())?;
                continue;
            }
            let bound = self.jobs.bind(&one.device, number);
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
        let recording = match bound {
            Ok(recording) => recording,
            Err(error @ Error::StrategyRefused { .. }) => {
                self.say(number, cell, None, error.to_string())?;
                return Ok(Step::Refused);
            }
            Err(error @ Error::DeviceFailed { .. }) => {
                // A device that is lost says so soon.
                self.say(number, cell, None, error.to_string())?;
                self.device.wait()?;
                return Ok(Step::Failed);
            }
            Err(error) => return Err(error.into()),
        };
        let is_compared = self.jobs.lengths()[number] <= COMPARED;
        if is_compared && !self.is_right(number, &recording)? {
            self.say(number, cell, None, WRONG.to_owned())?;
            return Ok(Step::Wrong);
        }
        let (own, plain) = in_turns(self.device, &recording, length)?;
        let times = measured(own, length.limit, plain);
        self.say(number, cell, Some(times), "ok".to_owned())?;
        let ratio = own / plain;
        length.add(ratio, cell);
        Ok(Step::Took(ratio / length.found[0].0))
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
