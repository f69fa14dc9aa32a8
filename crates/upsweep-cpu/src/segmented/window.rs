//! A window in segments, tile by tile, on one thread.
//!
//! ```text
//!   items  → widened, turned round in reverse        ┐
//!   marks  → 1 where a segment begins                ├ a tile, in the first-level cache
//!   prefixes → what becomes of them: `Prefixes`      ┘
//!   what comes into a tile and a row: `Carry`, `TileCarry` over pairs of a value and whether a segment begins
//! ```
//! Where none begins but with the first item, values alone nest as pairs do, and the kernels for them take the piece.

use core::ops::Range;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::{LANES, TILE};
use upsweep_core::{Bounds, Carry, Direction, Element, InSegments, Operator, Segmented, Widen};

use super::boundaries::any;
use super::row::scan_row;
use super::windows::Part;
use crate::isa::{self, Kernel};
use crate::scan::range::{Kernels, Settings, TileCarry, total_of_block};
use crate::scan::row;
use crate::simd::half;

/// What becomes of prefixes.
pub(super) trait Prefixes<A: Element, U>: Copy + Send + Sync {
    /// Whether only prefixes in front of a boundary are wanted, so that those behind the last one of a window are of no use.
    const SPARSE: bool;

    /// Whether a prefix is without its own item.
    fn exclusive(&self) -> bool {
        false
    }

    /// How many items of the output belong to a window.
    fn amount(&self, window: &Range<usize>, marks: &[u8]) -> usize;

    /// Takes a window in which no segment begins, but with the first item if it `begins` there, from what comes in. Gives what
    /// goes out; `None` if it must come piece by piece.
    fn take_whole<T: Widen<A>>(
        &self,
        level: Level,
        items: &[T],
        carry: Segmented<A>,
        begins: bool,
        part: &mut Part<'_, U>,
    ) -> Option<A> {
        let _ = (level, items, carry, begins, part);
        None
    }

    /// Before the first piece of a window.
    fn begin(&self, level: Level, part: &mut Part<'_, U>) {
        let _ = (level, part);
    }

    /// Takes the prefixes of a piece, which lies at `items` of the array.
    fn take<S: Simd>(
        &self,
        simd: S,
        items: Range<usize>,
        marks: &[u8],
        prefixes: &mut [A],
        part: &mut Part<'_, U>,
    );

    /// After the last piece of a window.
    fn finish(&self, part: &mut Part<'_, U>);
}

/// What a thread needs for one window after another.
pub(super) struct Scratch<A> {
    /// In front of each item of a window and behind the last, then 0 to the end of a row.
    pub(super) marks: Vec<u8>,
    /// The items of a tile as they are combined.
    pub(super) values: Vec<A>,
    prefixes: Vec<A>,
}

impl<A: Element> Scratch<A> {
    /// For windows of at most `items` items.
    pub(super) fn new(items: usize, padding: A) -> Self {
        let rows = items.min(TILE).next_multiple_of(LANES);
        Self {
            marks: vec![0; items.next_multiple_of(LANES) + 1],
            values: vec![padding; rows],
            prefixes: vec![padding; rows],
        }
    }
}

/// Takes a window, and gives what comes behind it, if it is whole.
pub(super) struct TakeWindow<'a, 'b, T, A, U, O, P> {
    pub(super) level: Level,
    /// The items of the window, which is `window` of the array.
    pub(super) items: &'a [T],
    pub(super) window: Range<usize>,
    pub(super) reverse: bool,
    pub(super) operator: O,
    pub(super) prefixes: &'a P,
    pub(super) scratch: &'a mut Scratch<A>,
    pub(super) part: &'a mut Part<'b, U>,
    /// What comes in.
    pub(super) carry: Segmented<A>,
}

impl<T, A, U, O, P> Kernel for TakeWindow<'_, '_, T, A, U, O, P>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
    P: Prefixes<A, U>,
{
    type Output = Segmented<A>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Segmented<A> {
        let Self { level, items, window, reverse, operator, prefixes, scratch, part, carry } = self;
        let Scratch { marks, values, prefixes: stage } = scratch;
        let exclusive = prefixes.exclusive();
        let bounds = if exclusive { Bounds::Exclusive } else { Bounds::Inclusive };
        let settings =
            Settings { level, operator, bounds, direction: Direction::Forward, streaming: false };
        let pieces = Pieces { settings, kernels: Kernels::find::<O>(level) };
        let pairs = InSegments(operator);
        let mut carry = Carry::new(Some(carry), &pairs);
        prefixes.begin(level, part);
        for start in (0..items.len()).step_by(TILE) {
            let len = TILE.min(items.len() - start);
            let at = if reverse {
                items.len() - start - len..items.len() - start
            } else {
                start..start + len
            };
            let marks = &marks[start..start + len.next_multiple_of(LANES) + 1];
            let wanted = !P::SPARSE || any(&marks[1..=len]);
            let in_place = cast!(&items[at.clone()], &[A]).ok();
            let values = match in_place {
                Some(values) if !reverse && len.is_multiple_of(LANES) => values,
                _ => {
                    let rows = &mut values[..len.next_multiple_of(LANES)];
                    let (values, rest) = rows.split_at_mut(len);
                    half::widen(simd, &items[at.clone()], values);
                    if reverse {
                        values.reverse();
                    }
                    rest.fill(operator.padding());
                    rows
                }
            };
            let stage = &mut stage[..values.len()];
            if any(&marks[1..len]) {
                let (output, carry, sparse) = (&mut *stage, &mut carry, P::SPARSE);
                let rows = TakeRows { operator, values, marks, output, carry, exclusive, sparse };
                take_rows(level, rows);
            } else {
                pieces.take_tile::<S>(wanted, marks[0] != 0, values, stage, &mut carry);
            }
            if wanted {
                let at = window.start + at.start..window.start + at.end;
                prefixes.take(simd, at, &marks[..=len], &mut stage[..len], part);
            }
        }
        prefixes.finish(part);
        carry.before_next(&pairs)
    }
}

/// How pieces of a window are scanned.
struct Pieces<A, O> {
    settings: Settings<O>,
    kernels: Kernels<A>,
}

impl<A: Element, O: Operator<A>> Pieces<A, O> {
    /// Takes a tile in which no segment begins, but with the first item if it `begins` there.
    #[inline(always)]
    fn take_tile<S: Simd>(
        &self,
        wanted: bool,
        begins: bool,
        values: &[A],
        output: &mut [A],
        carry: &mut Carry<Segmented<A>>,
    ) {
        let Settings { level, operator, .. } = self.settings;
        let pairs = InSegments(operator);
        if wanted {
            let before = if begins { operator.padding() } else { carry.before_next(&pairs).value };
            let mut plain = Carry::new(Some(before), &operator);
            let mut rows = TileCarry::new(&plain, &operator);
            rows.scan::<S, _>(&self.settings, values, output, &mut plain, &self.kernels);
            if O::EXACT {
                let value = plain.before_next(&operator);
                carry.set(Segmented { value, begins: true }, &pairs);
                return;
            }
        }
        let value = total_of_block(level, values, false, operator);
        carry.push(Segmented { value, begins }, 0, &pairs);
    }
}

/// Takes a tile row by row. Compiled once for all that becomes of prefixes.
#[inline(never)]
fn take_rows<A: Element, O: Operator<A>>(level: Level, rows: TakeRows<'_, A, O>) {
    isa::run(level, rows);
}

struct TakeRows<'a, A, O> {
    operator: O,
    values: &'a [A],
    marks: &'a [u8],
    output: &'a mut [A],
    carry: &'a mut Carry<Segmented<A>>,
    exclusive: bool,
    /// Whether only prefixes in front of a boundary are wanted.
    sparse: bool,
}

impl<A: Element, O: Operator<A>> Kernel for TakeRows<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, values, marks, output, carry, exclusive, sparse } = self;
        let pairs = InSegments(operator);
        let mut tile = TileCarry::new(carry, &pairs);
        let rows = values.as_chunks::<LANES>().0.iter();
        let outputs = output.as_chunks_mut::<LANES>().0;
        for ((number, row), output) in rows.enumerate().zip(outputs) {
            let behind = &marks[number * LANES..=(number + 1) * LANES];
            let Some((marks, _)) = behind.split_first_chunk::<LANES>() else { break };
            let begins = marks[0] != 0;
            let total = if any(&marks[1..]) {
                let before = tile.before_next(&pairs).value;
                scan_row(row, marks, output, before, exclusive, &operator)
            } else if !sparse || any(&behind[1..]) {
                let before =
                    if begins { operator.padding() } else { tile.before_next(&pairs).value };
                let value = row::scan_row(row, output, before, exclusive, &operator);
                Segmented { value, begins }
            } else {
                Segmented { value: row::total_row(row, &operator), begins }
            };
            tile.push(total, 0, carry, &pairs);
        }
    }
}
