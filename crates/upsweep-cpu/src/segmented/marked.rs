//! Windows whose boundaries are marked, a byte for each item.

use core::ops::Range;

use fearless_simd::Simd;
use upsweep_core::summation::{LANES, TILE, TILES, WINDOW};
use upsweep_core::{Element, Operator, Segmented, Tree, Widen};

use super::boundaries::{Boundaries, any, last};
use super::window::{Kernels, Prefixes, Scratch, take_window};
use super::windows::{Part, WindowTaker};
use crate::isa::{self, Kernel};

/// Levels of the tree over the tiles of a window.
const LEVELS: usize = TILES.ilog2() as usize + 1;

/// Every window is a scan of pairs, of whose values `prefixes` takes what it wants.
#[derive(Clone, Copy)]
pub(super) struct PairScan<'a, T, A, U> {
    pub(super) items: &'a [T],
    /// The number of the first of these items.
    pub(super) first: usize,
    pub(super) boundaries: Boundaries<'a>,
    pub(super) reverse: bool,
    pub(super) kernels: Kernels<'a, A>,
    /// The total of items in the order of the scan: reverse, if the second is true.
    pub(super) total: &'a (dyn Fn(&[T], bool) -> A + Sync),
    pub(super) prefixes: &'a dyn Prefixes<T, A, U>,
}

impl<'a, T, A, U> PairScan<'a, T, A, U> {
    /// The items of these numbers.
    pub(super) fn items_of(&self, numbers: Range<usize>) -> &'a [T] {
        &self.items[numbers.start - self.first..numbers.end - self.first]
    }
}

impl<T, A, U> WindowTaker<A, U> for PairScan<'_, T, A, U>
where
    T: Widen<A>,
    A: Element,
    U: Element,
{
    fn is_sparse(&self) -> bool {
        self.prefixes.is_sparse()
    }

    fn scratch(&self) -> Scratch<A> {
        let padding = self.kernels.settings.operator.padding();
        Scratch::new(self.items.len().min(WINDOW), padding)
    }

    fn look(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> usize {
        let Self { boundaries, reverse, .. } = *self;
        let marks = &mut scratch.marks[..];
        let level = self.kernels.settings.level;
        isa::run(level, Mark { boundaries, window: window.clone(), reverse, marks });
        self.prefixes.amount(window, &scratch.marks[..=window.len()])
    }

    fn total(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> Segmented<A> {
        let Self { reverse, ref kernels, .. } = *self;
        let operator = &kernels.settings.operator;
        let len = window.len();
        if scratch.marks[len] != 0 {
            // Nothing reaches the window behind.
            return Segmented { value: operator.padding(), begins: true };
        }
        // From one place to another in the order of the scan.
        let piece = |piece: Range<usize>| match reverse {
            false => self.items_of(window.start + piece.start..window.start + piece.end),
            true => self.items_of(window.end - piece.end..window.end - piece.start),
        };
        let total = |range| (self.total)(piece(range), reverse);
        let last = last(&scratch.marks[..len]);
        let (begins, start) = (last.is_some(), last.unwrap_or(0));
        if operator.is_exact() || start == 0 {
            return Segmented { value: total(start..len), begins };
        }
        // Where the segment has no items, padding stands for them: it changes nothing.
        let mut tiles = Tree::<A, LEVELS>::new(operator);
        let first = start / TILE * TILE;
        for _ in 0..first / TILE {
            tiles.push(operator.padding(), operator);
        }
        let end = len.min(first + TILE);
        let values = &mut scratch.values[..(end - first).next_multiple_of(LANES)];
        values.fill(operator.padding());
        let own = &mut values[start - first..end - first];
        for (value, item) in own.iter_mut().zip(piece(start..end)) {
            *value = item.widen();
        }
        if reverse {
            own.reverse();
        }
        tiles.push((kernels.total)(values), operator);
        for tile in (end..len).step_by(TILE) {
            tiles.push(total(tile..len.min(tile + TILE)), operator);
        }
        Segmented { value: tiles.total(operator), begins }
    }

    fn take(
        &self,
        window: &Range<usize>,
        carry: Segmented<A>,
        part: &mut Part<'_, U>,
        scratch: &mut Scratch<A>,
    ) -> Segmented<A> {
        let marks = &scratch.marks[..=window.len()];
        let mut window = window.clone();
        if self.is_sparse() {
            window.end = window.start + last(&marks[1..]).map_or(0, |item| item + 1);
        } else if !any(&marks[1..window.len()]) {
            let begins = marks[0] != 0;
            let items = self.items_of(window.clone());
            if let Some(value) = self.prefixes.take_whole(items, carry, begins, part) {
                return Segmented { value, begins: true };
            }
        }
        take_window(self, window, scratch, part, carry)
    }
}

/// Marks the boundaries of a window.
pub(super) struct Mark<'a> {
    pub(super) boundaries: Boundaries<'a>,
    pub(super) window: Range<usize>,
    pub(super) reverse: bool,
    pub(super) marks: &'a mut [u8],
}

impl Kernel for Mark<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.boundaries.mark(self.window, self.reverse, self.marks);
    }
}
