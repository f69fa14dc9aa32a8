//! Positions of extremes.
//!
//! Carrying an index beside every lane would halve the speed. Instead a tile is first asked for
//! its best value alone, in as many instructions as it takes to read it; only the one tile that
//! holds the best value of all is read again to find where.

use fearless_simd::Simd;
use upsweep_core::summation::{LANES, TILE};
use upsweep_core::{ArgMax, ArgMin, Number, Widen};

use crate::isa::Kernel;
use crate::simd::half::widen_row;

/// An operator that keeps the position of an extreme.
pub trait PositionOperator: Copy + Send + Sync {
    /// Whether `new` is strictly better than `old`; false if either is NaN.
    fn wins<A: Number>(self, new: A, old: A) -> bool;
}

impl PositionOperator for ArgMin {
    #[inline(always)]
    fn wins<A: Number>(self, new: A, old: A) -> bool {
        new < old
    }
}

impl PositionOperator for ArgMax {
    #[inline(always)]
    fn wins<A: Number>(self, new: A, old: A) -> bool {
        new > old
    }
}

/// The best value of a range of items, or NaN, and the tile it was found in first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best<A> {
    value: A,
    /// Index of the first item of the tile.
    tile: usize,
}

impl<A: Number> Best<A> {
    /// The better of two ranges, the left one being the earlier.
    pub(crate) fn better(left: Self, right: Self, operator: impl PositionOperator) -> Self {
        let right_wins = if left.value.is_nan() || right.value.is_nan() {
            !left.value.is_nan()
        } else {
            operator.wins(right.value, left.value)
        };
        if right_wins { right } else { left }
    }

    /// The first position of the value.
    pub(crate) fn position<T: Widen<A>>(self, items: &[T]) -> u64 {
        let tile = &items[self.tile..items.len().min(self.tile + TILE)];
        let offset = tile.iter().position(|item| {
            let item = item.widen();
            item == self.value || (self.value.is_nan() && item.is_nan())
        });
        // The value was found in this tile, so there is such an item.
        self.tile as u64 + offset.unwrap_or(0) as u64
    }
}

/// Looks for the best value of `items`, of which there is at least one; the first of them has
/// index `first` in the array.
pub(crate) struct FindBest<'a, T, A, O> {
    pub(crate) items: &'a [T],
    pub(crate) first: usize,
    pub(crate) operator: O,
    pub(crate) acc: core::marker::PhantomData<A>,
}

impl<T: Widen<A>, A: Number, O: PositionOperator> Kernel for FindBest<'_, T, A, O> {
    type Output = Best<A>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Best<A> {
        let Self { items, first, operator, .. } = self;
        let mut best = Best { value: items[0].widen(), tile: first };
        for (index, tile) in items.chunks(TILE).enumerate() {
            let value = best_of_tile(simd, tile, operator);
            let found = Best { value, tile: first + index * TILE };
            best = Best::better(best, found, operator);
        }
        best
    }
}

/// The best value of `[1, TILE]` items; NaN if one of them is.
#[inline(always)]
fn best_of_tile<S, T, A, O>(simd: S, tile: &[T], operator: O) -> A
where
    S: Simd,
    T: Widen<A>,
    A: Number,
    O: PositionOperator,
{
    let first = tile[0].widen();
    let (rows, rest) = tile.as_chunks::<LANES>();
    // A comparison with NaN is false and keeps the old value, so NaNs are kept in lanes of their
    // own; for integers those lanes do nothing, and are not compiled.
    let mut best = [first; LANES];
    let mut nan = [first; LANES];
    for row in rows {
        let row: [A; LANES] = widen_row(simd, row);
        for lane in 0..LANES {
            let item = row[lane];
            best[lane] = if operator.wins(item, best[lane]) { item } else { best[lane] };
            nan[lane] = if item.is_nan() { item } else { nan[lane] };
        }
    }
    let mut value = first;
    let mut consider = |item: A| {
        if item.is_nan() || operator.wins(item, value) {
            value = if value.is_nan() { value } else { item };
        }
    };
    best.into_iter().chain(nan).for_each(&mut consider);
    rest.iter().for_each(|item| consider(item.widen()));
    value
}
