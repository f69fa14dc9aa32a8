//! The end of a search at one length: the best cells meet in turns, and what wins meets the device's own choice once more.
//!
//! Which of some cells is the fastest is one question, and how fast it is another: the best of sixteen medians looks faster than it is. So
//! the turns that name the fastest do not say its time. Short runs are also some per cent faster or slower with where their arrays
//! lie, which a caller does not choose: each round has them elsewhere, and the last ones meet at several places.
//!
//! Whoever is in use already meets the fastest too, and stays unless it is beaten. So runs one after another come nearer to the best, where
//! each by itself would choose anew among cells that are as good as one another.

use std::time::Duration;

use upsweep::profile::Best;
use upsweep::{Error, Recording, Result as Done};

use super::budget::Deadline;
use super::gpu_arrays::COMPARED;
use super::length_order::fastest;
use super::rows::measured;
use super::search::{self, Length, Search, runs_of};
use super::search_space::{Cell, Space};
use crate::error::Result;
use crate::gpu_timing::seconds;
use crate::statistics::{median_of, middle_mean};

/// Cells that meet: those within this part of the best, and so many at most, or as there is time for, but always some. Three turns of a few
/// microseconds are 3 % apart by chance.
const CLOSE: f64 = 1.05;
const MOST_CLOSE: usize = 16;
const LEAST_CLOSE: usize = 3;

/// What it takes to bind one in every round and to measure it in the fewest turns: of 34 cells at nine lengths an H200 took two seconds longer
/// than it was given.
const ONE_CLOSE: Duration = Duration::from_millis(25);

/// Turns of each round, behind which the slower half leaves; places of the last meeting, and turns at each; and how many turns there are at
/// least, whatever the time. At a single place two cells of 4 us were up to 3 % apart in one run and as fast as one another in the next.
pub(super) const ROUNDS: [usize; 3] = [5, 7, 9];
const PLACES: usize = 5;
const TURNS_AT_A_PLACE: usize = 5;
pub(super) const LEAST_TURNS: usize = 3;

/// Seconds of one sample; in rounds for which no time is left it is as short as where cells are tried.
pub(super) const SAMPLE: f64 = 1e-3;

/// What records say of times of the last meeting, beside those of the same cells when they were tried and in rounds.
pub(super) const FINAL: &str = "ok in the end";

/// A cell that may be the fastest.
struct Candidate<S> {
    cell: Cell<S>,
    /// Its times, each in times of what the device chooses, in the same turn.
    ratios: Vec<f64>,
}

impl<S: Space> Candidate<S> {
    fn ratio(&self) -> f64 {
        median_of(self.ratios.clone())
    }
}

/// Those that meet, besides the device's own choice.
fn close<S: Space>(length: &Length<S>, own: Cell<S>, deadline: Deadline) -> Vec<Candidate<S>> {
    let in_time = |left: Duration| (left.as_secs_f64() / ONE_CLOSE.as_secs_f64()) as usize;
    let count = deadline.left().map_or(MOST_CLOSE, in_time).clamp(LEAST_CLOSE, MOST_CLOSE);
    let most = CLOSE * length.found[0].0;
    let mut cells: Vec<Cell<S>> = Vec::new();
    for &(ratio, cell) in &length.found {
        if ratio <= most && cell != own && !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.truncate(count);
    cells.into_iter().map(|cell| Candidate { cell, ratios: Vec::new() }).collect()
}

impl<S: Space> Search<'_, '_, S> {
    /// The fastest at a length, by itself or among the close ones, and how many results were wrong; nothing if all were,
    /// or if a check has nothing else. It wants the device to itself.
    pub(super) fn end(
        &mut self,
        number: usize,
        length: &Length<S>,
        deadline: Deadline,
    ) -> Result<(Option<Best<S>>, usize)> {
        let mut wrong = 0;
        if self.checks && length.found.len() == 1 {
            return Ok((None, wrong));
        }
        let own = length.own;
        let mut close = close(length, own, deadline);
        let runs = runs_of(SAMPLE, length.once);
        // Through wgpu the host's part of a timed run is several times as long as a short run.
        let sample = if deadline.is_over() { search::SAMPLE } else { SAMPLE };
        let runs_of_rounds = runs_of(sample, length.once);
        let meetings = ROUNDS.len() + 1;
        for (round, &turns) in ROUNDS.iter().enumerate() {
            if close.len() > 1 {
                let until = deadline.before(1.0 - 1.0 / (meetings - round) as f64);
                self.round(number, &mut close, length.limit, runs_of_rounds, turns, until)?;
                close.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
                close.truncate(close.len().div_ceil(2));
            }
        }
        self.move_arrays(number)?;
        // The device's own choice, what is in use, and the fastest that is right.
        let in_use = (self.in_use)(self.jobs.lengths()[number]).filter(|&cell| cell != own);
        let mut cells = vec![own];
        // What was not tried may need a kernel that a driver takes minutes for.
        let is_tried = |cell: &Cell<S>| length.found.iter().any(|(_, found)| found == cell);
        if let Some(cell) = in_use.filter(is_tried) {
            let recording = self.jobs.bind(&self.device_with(cell)?, number)?;
            if self.is_right(number, &recording)? {
                cells.push(cell);
            } else {
                wrong += 1;
            }
        }
        for Candidate { cell, .. } in close {
            if cells.contains(&cell) {
                break;
            }
            if Some(cell) == in_use {
                continue;
            }
            let recording = self.jobs.bind(&self.device_with(cell)?, number)?;
            if self.is_right(number, &recording)? {
                cells.push(cell);
                break;
            }
            wrong += 1;
        }
        let (limit, times) = self.last_meeting(number, &cells, runs, deadline)?;
        let measured = |time: f64| measured(time, limit, times[0]);
        for (&cell, &time) in cells.iter().zip(&times) {
            self.say(number, cell, Some(measured(time)), FINAL.to_owned())?;
        }
        // Of what is in use, or else of what the device chooses by itself.
        let first = usize::from(in_use.is_some() && in_use == cells.get(1).copied());
        let winner = fastest(&times, first);
        if winner == 0 {
            let recording = self.jobs.bind(self.device, number)?;
            if !self.is_right(number, &recording)? {
                return Ok((None, wrong + 1));
            }
        }
        let items = self.jobs.lengths()[number] as u64;
        let Cell { strategy, policy } = cells[winner];
        Ok((Some(Best { items, strategy, policy, measured: measured(times[winner]) }), wrong))
    }

    /// So many turns of the cells that are left, arrays being somewhere else than before.
    fn round(
        &mut self,
        number: usize,
        close: &mut [Candidate<S>],
        limit: f64,
        runs: u32,
        turns: usize,
        until: Deadline,
    ) -> Result<()> {
        self.move_arrays(number)?;
        let own = self.jobs.bind(self.device, number)?;
        let bound = close.iter().map(|one| self.device_with(one.cell));
        let devices = bound.collect::<Done<Vec<_>>>()?;
        let recordings = devices.iter().map(|device| self.jobs.bind(device, number));
        let recordings = recordings.collect::<Done<Vec<_>>>()?;
        let device = self.device;
        let sample = |recording| Ok::<f64, Error>(middle_mean(seconds(device, recording, runs)?));
        let mut own_times = Vec::new();
        for turn in 0..turns {
            if turn >= LEAST_TURNS && until.is_over() {
                break;
            }
            let own_time = sample(&own)?;
            own_times.push(own_time);
            for (one, recording) in close.iter_mut().zip(&recordings) {
                one.ratios.push(sample(recording)? / own_time);
            }
        }
        let own_time = median_of(own_times);
        for one in close.iter() {
            let times = measured(one.ratio() * own_time, limit, own_time);
            let checked = format!("ok in turns with {}", close.len());
            self.say(number, one.cell, Some(times), checked)?;
        }
        Ok(())
    }

    /// Seconds of the limit and of each of these cells, the device's own choice first, in turns: of all others the median of what they take in
    /// times of that choice in the same turn.
    fn last_meeting(
        &mut self,
        number: usize,
        cells: &[Cell<S>],
        runs: u32,
        until: Deadline,
    ) -> Result<(f64, Vec<f64>)> {
        let device = self.device;
        let sample = |recording: &Recording| {
            Ok::<f64, Error>(middle_mean(seconds(device, recording, runs)?))
        };
        let places = if self.moves(number) { PLACES } else { 1 };
        let mut own_times = Vec::new();
        let mut ratios = vec![Vec::new(); cells.len()];
        'places: for place in 0..places {
            if own_times.len() >= LEAST_TURNS && until.is_over() {
                break;
            }
            if place > 0 {
                self.move_arrays(number)?;
            }
            // By itself the device knows best what its numbers are.
            let own = self.jobs.bind(device, number)?;
            let others = cells[1..].iter().map(|&cell| self.device_with(cell));
            let others = others.collect::<Done<Vec<_>>>()?;
            let others = others.iter().map(|device| self.jobs.bind(device, number));
            let others = others.collect::<Done<Vec<_>>>()?;
            for _ in 0..PLACES * TURNS_AT_A_PLACE / places {
                if own_times.len() >= LEAST_TURNS && until.is_over() {
                    break 'places;
                }
                let own_time = sample(&own)?;
                own_times.push(own_time);
                let rest = others.iter().chain([self.jobs.limit(number)]);
                for (ratios, recording) in ratios.iter_mut().zip(rest) {
                    ratios.push(sample(recording)? / own_time);
                }
            }
        }
        let own_time = median_of(own_times);
        let mut times: Vec<f64> = ratios.into_iter().map(|r| own_time * median_of(r)).collect();
        let limit = times.pop().unwrap_or(own_time);
        times.insert(0, own_time);
        Ok((limit, times))
    }

    /// Longer arrays stay: where they lie matters no more, and bringing them takes longer than measuring.
    fn moves(&self, number: usize) -> bool {
        self.jobs.lengths()[number] <= COMPARED
    }

    fn move_arrays(&mut self, number: usize) -> Done<()> {
        if self.moves(number) { self.jobs.move_arrays(number) } else { Ok(()) }
    }
}
