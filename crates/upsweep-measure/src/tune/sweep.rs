//! The search for the fastest cell of one piece of work on a GPU, at every length.
//!
//! First comes what profiles have for each length, those of other devices too: on an H100 the rows of an H200 lose 3.6 % at most, and a
//! row takes one kernel. Then cells are tried in the order of their distance from the best so far, each in turns with what the device
//! chooses by itself, so that neither a clock that changes nor a neighbour on the machine makes one look better (`trial.rs`). Most of the
//! time goes to making kernels, of which long arrays need one for each length: so a cell is tried at three lengths first, and those for
//! others are made only of what is left. In the end the best of each length meet (`final_rounds.rs`).

use std::time::{Duration, Instant};

use upsweep::profile::Best;

use super::search::{GRACE, Length, Search};
use super::search_space::{Cell, Space};
use super::trial::Continuation;
use crate::error::Result;

/// The part of the time that is kept for the end, and the most for each length: 19 of them took an H200 5 to 9 s.
const FOR_THE_END: f64 = 0.25;
const MOST_FOR_THE_END: Duration = Duration::from_millis(600);

/// What came of the search.
pub(crate) struct SearchResult<S> {
    pub(crate) best: Vec<Best<S>>,
    /// Cells that were measured, and those that the device can have.
    pub(crate) tried: usize,
    pub(crate) all: usize,
    /// Whether a result was wrong.
    pub(crate) wrong: usize,
}

impl<S: Space> Search<'_, '_, S> {
    /// Tries cells until there are none left or the time is over.
    pub(crate) fn run(mut self) -> Result<SearchResult<S>> {
        let all = self.untried.len();
        let awake = self.awake;
        self.compilers.wait();
        let mut lengths = awake.exclusively(|| self.begin())?;
        let for_the_end = MOST_FOR_THE_END * lengths.len() as u32;
        let trying = self.deadline.before_at_most(FOR_THE_END, for_the_end);
        let (mut tried, mut wrong) = (0, 0);
        // Where preparing took all the time one cell is measured all the same: otherwise it was for nothing. The first ones may be refused, or take
        // a compiler too long.
        let is_nothing = |lengths: &[Length<S>]| lengths.iter().all(|one| one.found.len() == 1);
        let is_over = |lengths: &[Length<S>]| {
            trying.is_over_by(if is_nothing(lengths) { GRACE } else { Duration::ZERO })
        };
        let count = if trying.is_over() { 0 } else { self.compilers.at_once() };
        let mut cells = self.untried.take_known(count);
        self.compilers.ask(self.lines_of(&cells));
        wrong += awake.exclusively(|| self.try_known(&mut lengths))?;
        self.compilers.wait();
        // Cells whose kernels for other lengths are made, and those for which they are being made.
        let (mut going_on, mut waiting): (Vec<Continuation<S>>, Vec<_>) = (Vec::new(), Vec::new());
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
            let count = if goes_on { self.compilers.at_once() } else { 0 };
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
                self.compilers.ask(lines);
            }
            if cells.is_empty() && next.is_empty() && going_on.is_empty() && waiting.is_empty() {
                break;
            }
            // Not each for itself: whoever keeps the device awake made CUDA's copies and allocations wait, 75 ms of the 120 of a cell.
            let mut found = Vec::new();
            awake.exclusively(|| -> Result<()> {
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
            self.compilers.wait();
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
            let (row, found) = awake.exclusively(|| self.end(number, length, until))?;
            wrong += found;
            best.extend(row);
            self.budget.moved();
        }
        Ok(SearchResult { best, tried, all, wrong })
    }
}
