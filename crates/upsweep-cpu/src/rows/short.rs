//! Sums of short rows along memory: the lanes of a row are folded by halves where they were read.

use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{Element, Operator, Widen};

use crate::isa::{self, Kernel};
use crate::reduce::tile::fold_lanes;

/// Rows that are neighbours on one axis, each of `len` neighbouring items.
#[derive(Clone, Copy)]
pub(super) struct ShortRows<'a, T> {
    pub(super) items: &'a [T],
    pub(super) first: usize,
    pub(super) step: isize,
    pub(super) len: usize,
}

/// The value of each row, by an operator that commutes, into as many `totals`.
#[inline(never)]
pub(super) fn fold_short_rows<T, A, O>(
    level: Level,
    rows: ShortRows<'_, T>,
    operator: O,
    totals: &mut [A],
) where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    // As few lanes of padding as three kernels allow: one vector, four of them, and a whole tile's.
    match rows.len {
        0..=8 => isa::run(level, FoldShortRows::<_, _, _, 8> { rows, operator, totals }),
        9..=32 => isa::run(level, FoldShortRows::<_, _, _, 32> { rows, operator, totals }),
        _ => isa::run(level, FoldShortRows::<_, _, _, LANES> { rows, operator, totals }),
    }
}

/// Rows that have items in so many lanes at most.
struct FoldShortRows<'a, T, A, O, const USED: usize> {
    rows: ShortRows<'a, T>,
    operator: O,
    totals: &'a mut [A],
}

impl<T, A, O, const USED: usize> Kernel for FoldShortRows<'_, T, A, O, USED>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { rows: ShortRows { items, first, step, len }, operator, totals } = self;
        let mut at = first;
        for total in totals {
            *total = fold::<T, A, O, USED>(&items[at..][..len], &operator);
            at = at.wrapping_add_signed(step);
        }
    }
}

/// The value of a row in the order of a tile: lanes without items are padding.
#[inline(always)]
fn fold<T, A, O, const USED: usize>(row: &[T], operator: &O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let mut lanes = [operator.padding(); USED];
    if let Ok(row) = <&[T; USED]>::try_from(row) {
        // As many as are compiled for.
        for (lane, item) in lanes.iter_mut().zip(row) {
            *lane = operator.combine(*lane, item.widen());
        }
    } else {
        for row in row.chunks(USED) {
            for (lane, item) in lanes.iter_mut().zip(row) {
                *lane = operator.combine(*lane, item.widen());
            }
        }
    }
    fold_lanes(lanes, operator)
}
