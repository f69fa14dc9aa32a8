//! Tiles of a reduction: every lane down its rows, the lanes by halves, the tiles by a tree.
//!
//! ```text
//!   item   0    1    2  …  127 │ lane 0 … 127 of row 0
//!        128  129  130  …  255 │              of row 1      each lane folds its column,
//!         ⋮                    │               ⋮            rows in order
//!       1920 1921 1922  … 2047 │              of row 15
//!   ─────────────────────────────
//!   lanes 0…63 with lanes 64…127, then 0…31 with 32…63, … until one value is left
//!   tiles: (0 with 1) with (2 with 3) …, an aligned binary tree
//! ```
//! This is the order of the summation specification, and also the fast one: a row of lanes is a
//! few vector registers, memory is read from front to back, and no addition waits for the one
//! before it. The rows are *not* unrolled: given all rows at once, the compiler goes down the
//! columns to save registers, and memory then sees sixteen interleaved streams. Nor are lanes that
//! do not fit the registers (64-bit ones, on AVX2) cut in two halves of a row: that reads every
//! other half kilobyte. Both were measured at a third of the speed out of cache.

use core::hint::black_box;

use fearless_simd::Simd;
use upsweep_core::summation::{LANES, TILE};
use upsweep_core::{Element, Operator, Tree, Widen};

use crate::isa::{self, Kernel};
use crate::simd::half;

/// Folds whole rows, of which there is at least one or a last tile, in the order of the specification.
pub(crate) struct FoldTiles<'a, T, A, O> {
    pub(crate) items: &'a [T],
    /// The value of a tile behind them, whose last row is not full.
    pub(crate) last: Option<A>,
    pub(crate) operator: O,
    pub(crate) acc: core::marker::PhantomData<A>,
}

impl<T, A, O> Kernel for FoldTiles<'_, T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        if const { isa::is_plain::<S>() } {
            unreachable!("items are folded plainly there");
        }
        let Self { items, last, operator, .. } = self;
        let mut tree = Tree::<A>::new(&operator);
        for tile in items.chunks(TILE) {
            if let Some((first, others)) = tile.as_chunks::<LANES>().0.split_first() {
                tree.push(fold_rows(simd, first, others, &operator), &operator);
            }
        }
        if let Some(last) = last {
            tree.push(last, &operator);
        }
        tree.total(&operator)
    }
}

/// Folds a tile whose last row is not full. Apart from [`FoldTiles`], where it would pull the lanes of full rows into memory.
pub(crate) struct FoldUneven<'a, T, A, O> {
    pub(crate) tile: &'a [T],
    pub(crate) operator: O,
    pub(crate) acc: core::marker::PhantomData<A>,
}

impl<T, A, O> Kernel for FoldUneven<'_, T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        if const { isa::is_plain::<S>() } {
            unreachable!("items are folded plainly there");
        }
        fold_uneven(simd, self.tile, &self.operator)
    }
}

/// All items, in loops that the compiler does not unroll.
#[inline(never)]
pub(crate) fn fold_plainly<T, A, O>(items: &[T], operator: &O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let mut tree = Tree::<A>::new(operator);
    for tile in items.chunks(TILE) {
        let mut lanes = [operator.padding(); LANES];
        for row in tile.chunks(LANES) {
            for (lane, item) in lanes.iter_mut().zip(row) {
                *lane = operator.combine(*lane, item.widen());
            }
        }
        let mut half = black_box(LANES) / 2;
        while half > 0 {
            let (left, right) = lanes.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                *left = operator.combine(*left, *right);
            }
            half /= 2;
        }
        tree.push(lanes[0], operator);
    }
    tree.total(operator)
}

/// One tile of `[1, TILE]` items.
#[inline(always)]
pub(crate) fn fold_tile<S, T, A, O>(simd: S, tile: &[T], operator: &O) -> A
where
    S: Simd,
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let (rows, rest) = tile.as_chunks::<LANES>();
    match rows.split_first() {
        Some((first, others)) if rest.is_empty() => fold_rows(simd, first, others, operator),
        _ => fold_uneven(simd, tile, operator),
    }
}

/// Full rows: the lanes stay in registers.
#[inline(always)]
fn fold_rows<S, T, A, O>(simd: S, first: &[T; LANES], others: &[[T; LANES]], operator: &O) -> A
where
    S: Simd,
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let mut lanes: [A; LANES] = half::widen_row(simd, first);
    for row in others {
        combine_row(simd, &mut lanes, row, operator);
    }
    fold_lanes(lanes, operator)
}

/// The last row is not full. It is filled up with padding in memory and then taken like the others.
#[inline(always)]
fn fold_uneven<S, T, A, O>(simd: S, tile: &[T], operator: &O) -> A
where
    S: Simd,
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let (rows, rest) = tile.as_chunks::<LANES>();
    let mut last = [operator.padding(); LANES];
    half::widen(simd, rest, &mut last[..rest.len()]);
    let mut lanes = [operator.padding(); LANES];
    for row in rows {
        combine_row(simd, &mut lanes, row, operator);
    }
    for lane in 0..LANES {
        lanes[lane] = operator.combine(lanes[lane], last[lane]);
    }
    fold_lanes(lanes, operator)
}

/// Takes a full row.
#[inline(always)]
fn combine_row<S, T, A, O>(simd: S, lanes: &mut [A; LANES], row: &[T; LANES], operator: &O)
where
    S: Simd,
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if half::converts::<S, T, A>(simd) {
        half::fetch_ahead(row);
        let row: [A; LANES] = half::widen_row(simd, row);
        for lane in 0..LANES {
            lanes[lane] = operator.combine(lanes[lane], row[lane]);
        }
    } else {
        for lane in 0..LANES {
            lanes[lane] = operator.combine(lanes[lane], row[lane].widen());
        }
    }
}

#[inline(always)]
pub(crate) fn fold_lanes<A: Element, O: Operator<A>, const COUNT: usize>(
    mut lanes: [A; COUNT],
    operator: &O,
) -> A {
    let mut half = COUNT / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = operator.combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}
