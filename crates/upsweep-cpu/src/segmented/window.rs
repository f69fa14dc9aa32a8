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
use upsweep_core::{Bounds, Carry, Element, InSegments, Operator, Segmented, Widen};

use super::boundaries::{any, any_at};
use super::marked::PairScan;
use super::row::{scan_row, scan_row_plainly};
use super::windows::Part;
use crate::isa::{self, Kernel};
use crate::scan::range::{Settings, TileCarry};
use crate::scan::row;
use crate::simd::half::widen_at;
use crate::simd::lanes::reverse_at;

/// What becomes of prefixes.
pub(super) trait Prefixes<T, A, U>: Sync {
    /// Whether only prefixes in front of a boundary are wanted, so that those behind the last one of a window are of no use.
    fn is_sparse(&self) -> bool;

    /// How many items of the output belong to a window.
    fn amount(&self, window: &Range<usize>, marks: &[u8]) -> usize;

    /// Takes a window in which no segment begins, but with the first item if it `begins` there, from what comes in. Gives what
    /// goes out; `None` if it must come piece by piece.
    fn take_whole(
        &self,
        items: &[T],
        carry: Segmented<A>,
        begins: bool,
        part: &mut Part<'_, U>,
    ) -> Option<A> {
        let _ = (items, carry, begins, part);
        None
    }

    /// Before the first piece of a window.
    fn begin(&self, part: &mut Part<'_, U>) {
        let _ = part;
    }

    /// Takes the prefixes of a piece, which lies at `items` of the array.
    fn take(&self, items: Range<usize>, marks: &[u8], prefixes: &mut [A], part: &mut Part<'_, U>);

    /// After the last piece of a window.
    fn finish(&self, part: &mut Part<'_, U>) {
        let _ = part;
    }
}

/// What a thread needs for one window after another.
pub(super) struct Scratch<A> {
    /// In front of each item of a window and behind the last, then 0 to the end of a row.
    pub(super) marks: Vec<u8>,
    /// The items of a tile as they are combined.
    pub(super) values: Vec<A>,
    prefixes: Vec<A>,
    /// The items of a window, if they are made.
    pub(super) made: Vec<A>,
    /// The segments that end in the window, where these are all there is to know.
    pub(super) segments: Range<usize>,
}

impl<A: Element> Scratch<A> {
    /// For windows of at most `items` items.
    pub(super) fn new(items: usize, padding: A) -> Self {
        let rows = items.min(TILE).next_multiple_of(LANES);
        Self {
            marks: vec![0; items.next_multiple_of(LANES) + 1],
            values: vec![padding; rows],
            prefixes: vec![padding; rows],
            made: Vec::new(),
            segments: 0..0,
        }
    }

    /// For windows without marks.
    pub(super) fn of_segments() -> Self {
        Self {
            marks: Vec::new(),
            values: Vec::new(),
            prefixes: Vec::new(),
            made: Vec::new(),
            segments: 0..0,
        }
    }
}

/// What combines the values of a window.
#[derive(Clone, Copy)]
pub(super) struct Kernels<'a, A> {
    /// Of a piece in which no segment begins.
    pub(super) settings: Settings<'a, A>,
    /// The total of whole rows.
    pub(super) total: &'a (dyn Fn(&[A]) -> A + Sync),
    /// Takes a tile row by row.
    pub(super) rows: &'a (dyn Fn(TakeRows<'_, A>) + Sync),
}

/// Takes a window, and gives what comes behind it, if it is whole.
#[inline(never)]
pub(super) fn take_window<T, A, U>(
    way: &PairScan<'_, T, A, U>,
    window: Range<usize>,
    scratch: &mut Scratch<A>,
    part: &mut Part<'_, U>,
    carry: Segmented<A>,
) -> Segmented<A>
where
    T: Widen<A>,
    A: Element,
    U: Element,
{
    let PairScan { reverse, ref kernels, prefixes, .. } = *way;
    let (items, sparse) = (way.items_of(window.clone()), prefixes.is_sparse());
    let Settings { level, operator, bounds, .. } = kernels.settings;
    let exclusive = bounds == Bounds::Exclusive;
    let Scratch { marks, values, prefixes: stage, .. } = scratch;
    let pairs = InSegments(operator);
    let mut carry = Carry::new(Some(carry), &pairs);
    prefixes.begin(part);
    for start in (0..items.len()).step_by(TILE) {
        let len = TILE.min(items.len() - start);
        let at = if reverse {
            items.len() - start - len..items.len() - start
        } else {
            start..start + len
        };
        let marks = &marks[start..start + len.next_multiple_of(LANES) + 1];
        let marked = any_at(level, &marks[1..len]);
        let wanted = !sparse || marked || marks[len] != 0;
        let in_place = cast!(&items[at.clone()], &[A]).ok();
        let values = match in_place {
            Some(values) if !reverse && len.is_multiple_of(LANES) => values,
            _ => {
                let rows = &mut values[..len.next_multiple_of(LANES)];
                let (values, rest) = rows.split_at_mut(len);
                widen_at(level, &items[at.clone()], values);
                if reverse {
                    reverse_at(level, values);
                }
                rest.fill(operator.padding());
                rows
            }
        };
        let stage = &mut stage[..values.len()];
        if marked {
            let (output, carry) = (&mut *stage, &mut carry);
            (kernels.rows)(TakeRows { values, marks, output, carry, exclusive, sparse });
        } else {
            kernels.take_tile(wanted, marks[0] != 0, values, stage, &mut carry);
        }
        if wanted {
            let at = window.start + at.start..window.start + at.end;
            prefixes.take(at, &marks[..=len], &mut stage[..len], part);
        }
    }
    prefixes.finish(part);
    carry.before_next(&pairs)
}

impl<A: Element> Kernels<'_, A> {
    /// Takes a tile in which no segment begins, but with the first item if it `begins` there.
    fn take_tile(
        &self,
        wanted: bool,
        begins: bool,
        values: &[A],
        output: &mut [A],
        carry: &mut Carry<Segmented<A>>,
    ) {
        let operator = self.settings.operator;
        let pairs = InSegments(operator);
        if wanted {
            let before = if begins { operator.padding() } else { carry.before_next(&pairs).value };
            let mut plain = Carry::new(Some(before), &operator);
            let mut rows = TileCarry::new(&plain, &operator);
            rows.scan(&self.settings, values, output, &mut plain);
            if operator.is_exact() {
                // Of an exact operator that has no vectors the rows are not in the carry yet.
                rows.finish(&mut plain, &operator);
                let value = plain.before_next(&operator);
                carry.set(Segmented { value, begins: true }, &pairs);
                return;
            }
        }
        let value = (self.total)(values);
        carry.push(Segmented { value, begins }, 0, &pairs);
    }
}

/// A tile that is taken row by row, whatever becomes of its prefixes.
pub(super) struct TakeRows<'a, A> {
    values: &'a [A],
    marks: &'a [u8],
    output: &'a mut [A],
    carry: &'a mut Carry<Segmented<A>>,
    exclusive: bool,
    /// Whether only prefixes in front of a boundary are wanted.
    sparse: bool,
}

/// Takes a tile row by row, compiled once for an operator.
#[inline(never)]
pub(super) fn take_rows<A: Element, O: Operator<A>>(
    level: Level,
    rows: TakeRows<'_, A>,
    operator: O,
) {
    isa::run(level, TakeRowsBy { rows, operator });
}

struct TakeRowsBy<'a, A, O> {
    rows: TakeRows<'a, A>,
    operator: O,
}

impl<A: Element, O: Operator<A>> Kernel for TakeRowsBy<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { rows, operator } = self;
        let TakeRows { values, marks, output, carry, exclusive, sparse } = rows;
        let pairs = InSegments(operator);
        let mut tile = TileCarry::new(carry, &pairs);
        let rows = values.as_chunks::<LANES>().0.iter();
        let outputs = output.as_chunks_mut::<LANES>().0;
        for ((number, row), output) in rows.enumerate().zip(outputs) {
            let behind = &marks[number * LANES..=(number + 1) * LANES];
            let Some((marks, _)) = behind.split_first_chunk::<LANES>() else { break };
            let begins = marks[0] != 0;
            let total = if const { isa::is_plain::<S>() } {
                let before = tile.before_next(&pairs).value;
                scan_row_plainly(row, marks, output, before, exclusive, &operator)
            } else if any(&marks[1..]) {
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
