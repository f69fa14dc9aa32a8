//! Windows one after another, or on several threads.
//!
//! A thread looks at its window; finds the total of what stands behind the last boundary in it, which alone reaches the window
//! behind; waits for its turn, takes what comes in and its part of the output, and hands on what goes out; and takes the window.

use core::mem;
use core::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use upsweep_core::summation::WINDOW;
use upsweep_core::{Element, InSegments, Operator, Segmented};

use super::window::Scratch;
use crate::erased::ErasedOperator;
use crate::scan::in_turn::InTurn;
use crate::simd::stream::{StreamingOutput, fence};
use crate::team::{Team, lock};

/// What takes windows of segments, one after another.
pub(super) trait WindowTaker<A, U>: Sync {
    /// Whether what goes out of a window is found by its total, and not as it is taken.
    fn is_sparse(&self) -> bool;

    /// Makes what a thread needs for one window after another.
    fn scratch(&self) -> Scratch<A>;

    /// Looks at a window, of which [`total`](Self::total) and [`take`](Self::take) follow. Gives how many items of the output
    /// belong to it.
    fn look(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> usize;

    /// The total of a window from the last boundary in it on, or of all of it. Nothing comes in.
    fn total(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> Segmented<A>;

    /// Writes a window's part of the output, from what comes in. Gives what goes out, unless it is sparse.
    fn take(
        &self,
        window: &Range<usize>,
        carry: Segmented<A>,
        part: &mut Part<'_, U>,
        scratch: &mut Scratch<A>,
    ) -> Segmented<A>;
}

/// The part of the output that belongs to a window.
pub(super) struct Part<'a, U> {
    /// The number of the first item, of all.
    pub(super) first: usize,
    /// Its items.
    pub(super) output: &'a mut [U],
    /// The same items, where they are written past the caches.
    pub(super) lines: Option<StreamingOutput<'a>>,
    /// The keys of as many segments, if they are wanted.
    pub(super) unique: &'a mut [u8],
    /// How many items are written.
    pub(super) written: usize,
}

/// The output that no window has taken yet.
pub(super) struct RemainingOutput<'a, U> {
    pub(super) output: &'a mut [U],
    /// Bytes of a key, 0 if none is wanted.
    pub(super) key: usize,
    pub(super) unique: &'a mut [u8],
    /// Whether the last items are the first to be taken.
    pub(super) reverse: bool,
    /// Items taken.
    pub(super) taken: usize,
}

impl<'a, U> RemainingOutput<'a, U> {
    /// All of an output.
    pub(super) fn new(output: &'a mut [U], reverse: bool) -> Self {
        Self { output, key: 0, unique: &mut [], reverse, taken: 0 }
    }

    fn take(&mut self, items: usize) -> Part<'a, U> {
        let output = mem::take(&mut self.output);
        let items = items.min(output.len());
        let first = self.taken;
        self.taken += items;
        let (unique, keys) = mem::take(&mut self.unique).split_at_mut(items * self.key);
        self.unique = keys;
        let (output, rest) = match self.reverse {
            false => output.split_at_mut(items),
            true => {
                let (rest, output) = output.split_at_mut(output.len() - items);
                (output, rest)
            }
        };
        self.output = rest;
        Part { first, output, lines: None, unique, written: 0 }
    }
}

/// The window with this number in the order of the scan, of an array of `items` items.
fn window(number: usize, items: usize, reverse: bool) -> Range<usize> {
    let (start, end) = (number * WINDOW, items.min((number + 1) * WINDOW));
    if reverse { items - end..items - start } else { start..end }
}

/// Takes all windows of an array of `items` items. Gives how many items were written. Compiled once for two types.
#[inline(never)]
pub(super) fn take_all<A: Element, U: Element>(
    team: Team<'_>,
    items: usize,
    operator: &ErasedOperator<A>,
    taker: &dyn WindowTaker<A, U>,
    rest: RemainingOutput<'_, U>,
) -> usize {
    let pairs = InSegments(*operator);
    let reverse = rest.reverse;
    let windows = items.div_ceil(WINDOW);
    let team = team.at_most(windows);
    let alone = team.threads() <= 1;
    let rest = Mutex::new(rest);
    let take_part = |items| lock(&rest).map(|mut rest| rest.take(items));
    let next = AtomicUsize::new(0);
    let carries = InTurn::new(team, pairs.padding());
    carries.on_threads(&|| {
        let mut scratch = taker.scratch();
        let mut carry = pairs.padding();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= windows {
                break;
            }
            let window = window(number, items, reverse);
            let amount = taker.look(&window, &mut scratch);
            let total = (taker.is_sparse() || !alone).then(|| taker.total(&window, &mut scratch));
            let mut part = None;
            match total {
                Some(total) if !alone => {
                    let advance = |before| {
                        part = take_part(amount);
                        pairs.combine(before, total)
                    };
                    match carries.pass(number, advance) {
                        Some(before) => carry = before,
                        None => break,
                    }
                }
                _ => part = take_part(amount),
            }
            let Some(mut part) = part else { break };
            let out = taker.take(&window, carry, &mut part, &mut scratch);
            carry = total.map_or(out, |total| pairs.combine(carry, total));
        }
        fence();
    });
    rest.into_inner().map_or(0, |rest| rest.taken)
}
