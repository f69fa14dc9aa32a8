//! A run of tiles, scanned by one thread.
//!
//! Tiles go straight from input to output where they can. Where something must happen on the way
//! (another type, the other direction, the same memory for both, most stores past the caches), they
//! are staged in the first-level cache, a piece of a tile at a time.

use core::any::TypeId;
use core::ops::Range;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{Bounds, Direction, Element, Operator, Widen};

use super::carry::Carry;
use super::row::{scan_row, total_row};
use super::slide::{self, ScanSlice};
use crate::isa::{self, Kernel};
use crate::reduce;
use crate::reduce::tile::Tree;
use crate::simd::half;
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::stream::{Ahead, Lines};

/// Where the items come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a, T> {
    /// From an array of their own.
    Separate(&'a [T]),
    /// From where the output goes.
    InPlace,
}

/// What stays the same throughout a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<O> {
    pub(crate) level: Level,
    pub(crate) operator: O,
    pub(crate) bounds: Bounds,
    pub(crate) direction: Direction,
    /// Whether the output is written past the caches.
    pub(crate) streaming: bool,
}

/// Scans a run of items. `carry` is what comes in, and afterwards what goes out. `ahead` is what
/// this thread reads next: with each line that is written past the caches a line of it is fetched.
/// After its last run a thread must call [`stream::fence`](crate::simd::stream::fence).
#[inline]
pub(crate) fn scan_range<T, U, O>(
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
    ahead: &[T],
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let kernels = &Kernels::find::<O>(settings.level);
    if settings.streaming
        && let Source::Separate(input) = source
    {
        isa::run(settings.level, ScanPast { settings, input, output, carry, kernels, ahead });
        return;
    }
    let done = scan_directly(settings, source, output, carry, kernels);
    if done < output.len() {
        let source = match source {
            Source::Separate(items) => Source::Separate(&items[done..]),
            Source::InPlace => Source::InPlace,
        };
        let output = &mut output[done..];
        isa::run(settings.level, ScanTiles { settings, source, output, carry, kernels });
    }
}

/// The kernels that an operator on a type has besides the plain loops.
#[derive(Clone, Copy)]
struct Kernels<A> {
    /// For an exact operator.
    slide: Option<ScanSlice<A>>,
    /// For one that is not.
    #[cfg(target_arch = "x86_64")]
    rows: Option<rows::Rows<A>>,
}

impl<A: Element> Kernels<A> {
    #[inline]
    fn find<O: Operator<A>>(level: Level) -> Self {
        let _ = level;
        Self {
            slide: slide::find::<A, O>(),
            #[cfg(target_arch = "x86_64")]
            rows: rows::find::<A, O>(level),
        }
    }
}

/// What needs no staging: the same type on both sides, forward, from one array to another
/// through the caches. Returns how many items that were.
#[inline]
fn scan_directly<T, U, O>(
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
    kernels: &Kernels<U::Acc>,
) -> usize
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    if settings.direction == Direction::Reverse {
        return 0;
    }
    let (Source::Separate(input), Ok(output)) = (source, cast!(output, &mut [U::Acc])) else {
        return 0;
    };
    let Ok(input) = cast!(input, &[U::Acc]) else {
        return 0;
    };
    let len = match kernels.slide {
        Some(_) => input.len() / LANES * LANES,
        None => input.len(),
    };
    let (input, output) = (&input[..len], &mut output[..len]);
    isa::run(settings.level, ScanDirectly { settings, input, output, carry, kernels });
    len
}

struct ScanDirectly<'a, 'c, A, O> {
    settings: &'a Settings<O>,
    input: &'a [A],
    output: &'a mut [A],
    carry: &'c mut Carry<A>,
    kernels: &'a Kernels<A>,
}

impl<A: Element, O: Operator<A>> Kernel for ScanDirectly<'_, '_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { settings, input, output, carry, kernels } = self;
        let mut tile = TileCarry::new(carry, &settings.operator);
        tile.scan(settings, input, output, carry, kernels);
        tile.finish(carry, &settings.operator);
    }
}

/// Items of a piece of a tile: few, so that what is staged leaves room in the first-level cache.
const PIECE: usize = 4 * LANES;

const _: () = assert!(TILE.is_multiple_of(PIECE) && ROWS == 16);

/// A piece in the first-level cache, aligned to its lines.
#[repr(align(64))]
struct Stage<A>([A; PIECE]);

impl<A: Element> Stage<A> {
    /// The `items` items that `fill` brings, in the order of the scan, made whole rows.
    #[inline(always)]
    fn fill<O: Operator<A>>(
        &mut self,
        items: usize,
        settings: &Settings<O>,
        fill: impl FnOnce(&mut [A]),
    ) -> &[A] {
        let rows = &mut self.0[..items.next_multiple_of(LANES)];
        let (stage, rest) = rows.split_at_mut(items);
        fill(stage);
        settings.turn(stage);
        rest.fill(settings.operator.padding());
        rows
    }
}

impl<O> Settings<O> {
    /// Of a run of `items` items of which `done` are done: where the next `next` are.
    #[inline(always)]
    fn place(&self, items: usize, done: usize, next: usize) -> Range<usize> {
        match self.direction {
            Direction::Forward => done..done + next,
            Direction::Reverse => items - done - next..items - done,
        }
    }

    /// From the order of memory to that of the scan, and back.
    #[inline(always)]
    fn turn<A>(&self, items: &mut [A]) {
        if self.direction == Direction::Reverse {
            items.reverse();
        }
    }
}

/// Everything else that goes through the caches.
struct ScanTiles<'a, 'c, T, U: Element, O> {
    settings: &'a Settings<O>,
    source: Source<'a, T>,
    output: &'a mut [U],
    carry: &'c mut Carry<U::Acc>,
    kernels: &'a Kernels<U::Acc>,
}

impl<T, U, O> Kernel for ScanTiles<'_, '_, T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { settings, source, output, carry, kernels } = self;
        let operator = &settings.operator;
        let mut items_stage = Stage([operator.padding(); PIECE]);
        let mut output_stage = Stage([operator.padding(); PIECE]);
        let mut tile = TileCarry::new(carry, operator);
        let items = output.len();
        let mut done = 0;
        while done < items {
            let len = PIECE.min(items - done);
            let at = settings.place(items, done, len);
            let target = &mut output[at.clone()];
            let input = items_stage.fill(
                len,
                settings,
                #[inline(always)]
                |stage| match source {
                    Source::Separate(input) => half::widen(simd, &input[at], stage),
                    Source::InPlace => {
                        for (value, item) in stage.iter_mut().zip(&*target) {
                            *value = item.to_acc();
                        }
                    }
                },
            );
            if settings.direction == Direction::Forward
                && input.len() == len
                && let Ok(target) = cast!(&mut *target, &mut [U::Acc])
            {
                tile.scan(settings, input, target, carry, kernels);
            } else {
                let prefixes = &mut output_stage.0[..input.len()];
                tile.scan(settings, input, prefixes, carry, kernels);
                let prefixes = &mut prefixes[..len];
                settings.turn(prefixes);
                narrow(prefixes, target);
            }
            done += len;
        }
        tile.finish(carry, operator);
    }
}

/// What goes past the caches.
struct ScanPast<'a, 'c, T, U: Element, O> {
    settings: &'a Settings<O>,
    input: &'a [T],
    output: &'a mut [U],
    carry: &'c mut Carry<U::Acc>,
    kernels: &'a Kernels<U::Acc>,
    ahead: &'a [T],
}

impl<T, U, O> Kernel for ScanPast<'_, '_, T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { settings, input, output, carry, kernels, ahead } = self;
        let operator = &settings.operator;
        let mut items_stage = Stage([operator.padding(); PIECE]);
        let mut prefixes_stage = Stage([operator.padding(); PIECE]);
        let mut output_stage = Stage([U::from_acc(operator.padding()); PIECE]);
        let mut tile = TileCarry::new(carry, operator);
        let items = output.len();
        let mut lines = Lines::new(output, settings.direction, settings.level);
        // Where any pieces will do, the first one ends at the end of a unit of memory, so that the
        // others need not be shifted.
        let mut next = match kernels.slide {
            Some(_) if lines.to_border() > 0 => lines.to_border() / size_of::<U>(),
            _ => PIECE,
        };
        let mut done = 0;
        while done < items {
            let ahead = Ahead::new(&ahead[done.min(ahead.len())..]);
            #[cfg(target_arch = "x86_64")]
            if let Some(kernel) = kernels.rows
                && TypeId::of::<U>() == TypeId::of::<U::Acc>()
                && let Some(input) = in_order(settings, &input[done..])
                && let rows = &input[..input.len() / LANES * LANES]
                && !rows.is_empty()
            {
                let output = rows::Output::Lines(&mut lines, ahead);
                let exclusive = settings.bounds == Bounds::Exclusive;
                if (kernel.scan)(rows, output, exclusive, &mut tile, carry) {
                    done += rows.len();
                    continue;
                }
            }
            let len = next.min(items - done);
            next = PIECE;
            let piece = &input[settings.place(items, done, len)];
            done += len;
            let input = match in_order(settings, piece) {
                Some(input) if len.is_multiple_of(LANES) => input,
                _ => items_stage.fill(
                    len,
                    settings,
                    #[inline(always)]
                    |stage| half::widen(simd, piece, stage),
                ),
            };
            let prefixes = &mut prefixes_stage.0[..input.len()];
            tile.scan(settings, input, prefixes, carry, kernels);
            let prefixes = &mut prefixes[..len];
            settings.turn(prefixes);
            let output = match cast!(&*prefixes, &[U]) {
                Ok(prefixes) => prefixes,
                Err(prefixes) => {
                    let output = &mut output_stage.0[..len];
                    narrow(prefixes, output);
                    output
                }
            };
            lines.push(simd, output, ahead);
        }
        tile.finish(carry, operator);
        lines.finish();
    }
}

/// Items that need not be staged: in the type and in the order of the scan.
#[inline(always)]
fn in_order<'a, T: Element, A: Element, O>(
    settings: &Settings<O>,
    items: &'a [T],
) -> Option<&'a [A]> {
    match settings.direction {
        Direction::Forward => cast!(items, &[A]).ok(),
        Direction::Reverse => None,
    }
}

#[inline(always)]
fn narrow<U: Element>(prefixes: &[U::Acc], target: &mut [U]) {
    for (item, &value) in target.iter_mut().zip(prefixes) {
        *item = U::from_acc(value);
    }
}

/// What comes into the rows of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCarry<A> {
    /// What comes into the tile. With a vector scan, which keeps no rows apart: into the next piece.
    pub(crate) before: A,
    /// The rows of the tile so far.
    rows: Tree<A, ROW_LEVELS>,
}

/// Levels of the tree over the rows of a tile.
const ROW_LEVELS: usize = ROWS.ilog2() as usize + 1;

impl<A: Element> TileCarry<A> {
    #[inline(always)]
    pub(crate) fn new<O: Operator<A>>(carry: &Carry<A>, operator: &O) -> Self {
        Self { before: carry.before_next(operator), rows: Tree::new(operator) }
    }

    /// What comes into the next row.
    #[inline(always)]
    pub(crate) fn before_next<O: Operator<A>>(&self, operator: &O) -> A {
        match self.rows.count() {
            0 => self.before,
            _ => operator.combine(self.before, self.rows.total(operator)),
        }
    }

    /// What comes into each of the next four rows, as a function of the total of those of them that
    /// are before it (padding for the first). `None` if they are not four of one subtree.
    #[inline(always)]
    pub(crate) fn before_four<O: Operator<A>>(
        &self,
        operator: &O,
    ) -> Option<impl Fn(A) -> A + use<A, O>> {
        let operator = *operator;
        let (before, four, eight) =
            (self.before, self.rows.waiting(2, &operator), self.rows.waiting(3, &operator));
        self.rows.count().is_multiple_of(4).then_some(
            #[inline(always)]
            move |rows| {
                let rows = operator.combine(eight, operator.combine(four, rows));
                operator.combine(before, rows)
            },
        )
    }

    /// Appends the total of 2^`level` rows. A full tile goes to the carry, and the next one begins.
    #[inline(always)]
    pub(crate) fn push<O: Operator<A>>(
        &mut self,
        total: A,
        level: u32,
        carry: &mut Carry<A>,
        operator: &O,
    ) {
        self.rows.push_subtree(total, level, operator);
        if self.rows.count() == ROWS as u64 {
            self.finish(carry, operator);
        }
    }

    /// Hands the rows over to the carry, and begins the next tile.
    #[inline(always)]
    fn finish<O: Operator<A>>(&mut self, carry: &mut Carry<A>, operator: &O) {
        if self.rows.count() > 0 {
            carry.push(self.rows.total(operator), 0, operator);
            *self = Self::new(carry, operator);
        }
    }

    /// Scans items; with a vector scan whole rows of them.
    #[inline(always)]
    fn scan<O: Operator<A>>(
        &mut self,
        settings: &Settings<O>,
        input: &[A],
        output: &mut [A],
        carry: &mut Carry<A>,
        kernels: &Kernels<A>,
    ) {
        let exclusive = settings.bounds == Bounds::Exclusive;
        let operator = &settings.operator;
        if let Some(slide) = kernels.slide {
            self.before = slide(settings.level, input, output, self.before, exclusive);
            carry.set(self.before, operator);
            return;
        }
        let whole = input.len() / LANES * LANES;
        let (rows, rest) = input.split_at(whole);
        let (rows_output, rest_output) = output.split_at_mut(whole);
        #[cfg(target_arch = "x86_64")]
        let scanned = kernels.rows.is_some_and(|kernel| {
            (kernel.scan)(rows, rows::Output::Slice(rows_output), exclusive, self, carry)
        });
        #[cfg(not(target_arch = "x86_64"))]
        let scanned = false;
        if !scanned {
            let rows = rows.as_chunks::<LANES>().0;
            for (row, prefixes) in rows.iter().zip(rows_output.as_chunks_mut::<LANES>().0) {
                self.scan_row(row, prefixes, exclusive, carry, operator);
            }
        }
        if !rest.is_empty() {
            let mut row = [operator.padding(); LANES];
            row[..rest.len()].copy_from_slice(rest);
            let mut prefixes = row;
            self.scan_row(&row, &mut prefixes, exclusive, carry, operator);
            rest_output.copy_from_slice(&prefixes[..rest.len()]);
        }
    }

    #[inline(always)]
    fn scan_row<O: Operator<A>>(
        &mut self,
        row: &[A; LANES],
        prefixes: &mut [A; LANES],
        exclusive: bool,
        carry: &mut Carry<A>,
        operator: &O,
    ) {
        let before = self.before_next(operator);
        let total = match exclusive {
            true => scan_row::<A, O, true>(row, prefixes, before, operator),
            false => scan_row::<A, O, false>(row, prefixes, before, operator),
        };
        self.push(total, 0, carry, operator);
    }
}

/// The total of a block of tiles in the order of a scan, for the carry of the block after it.
#[inline]
pub(crate) fn total_of_block<T, A, O>(level: Level, items: &[T], reverse: bool, operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if O::EXACT && O::COMMUTATIVE {
        return reduce::fold(level, items, operator);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(rows) = rows::find::<A, O>(level)
        && !reverse
        && items.len().is_multiple_of(LANES)
        && let Ok(items) = cast!(items, &[A])
    {
        return (rows.total)(items);
    }
    isa::run(level, TotalRows { items, reverse, operator, acc: core::marker::PhantomData })
}

struct TotalRows<'a, T, A, O> {
    items: &'a [T],
    reverse: bool,
    operator: O,
    acc: core::marker::PhantomData<A>,
}

impl<T: Widen<A>, A: Element, O: Operator<A>> Kernel for TotalRows<'_, T, A, O> {
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        let Self { items, reverse, operator, .. } = self;
        let mut rows = Tree::<A>::new(&operator);
        let mut row = [operator.padding(); LANES];
        let mut done = 0;
        while done < items.len() {
            let len = LANES.min(items.len() - done);
            let at = if reverse { items.len() - done - len } else { done };
            half::widen(simd, &items[at..at + len], &mut row[..len]);
            if reverse {
                row[..len].reverse();
            }
            row[len..].fill(operator.padding());
            rows.push(total_row(&row, &operator), &operator);
            done += len;
        }
        rows.total(&operator)
    }
}
