//! A run of tiles, scanned by one thread.
//!
//! Tiles go straight from input to output where they can. Where something must happen on the way
//! (another type, the other direction, the same memory for both, stores past the caches), they are
//! staged in the first-level cache, a piece of a tile at a time.

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
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::{half, stream};

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
/// After its last run a thread must call [`stream::fence`].
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
    let done = scan_directly(settings, source, output, carry, kernels);
    if done < output.len() {
        let source = match source {
            Source::Separate(items) => Source::Separate(&items[done..]),
            Source::InPlace => Source::InPlace,
        };
        let output = &mut output[done..];
        isa::run(settings.level, ScanTiles { settings, source, output, carry, kernels, ahead });
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
    if settings.streaming || settings.direction == Direction::Reverse {
        return 0;
    }
    let (Source::Separate(input), Ok(output)) = (source, cast!(output, &mut [U::Acc])) else {
        return 0;
    };
    let Ok(input) = cast!(input, &[U::Acc]) else {
        return 0;
    };
    if let Some(slide) = kernels.slide {
        let whole = output.len() / LANES * LANES;
        let exclusive = settings.bounds == Bounds::Exclusive;
        let before = carry.before_next(&settings.operator);
        let after = slide(settings.level, &input[..whole], &mut output[..whole], before, exclusive);
        carry.set(after, &settings.operator);
        return whole;
    }
    isa::run(settings.level, ScanDirectly { settings, input, output, carry, kernels });
    input.len()
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
        for (input, output) in input.chunks(TILE).zip(output.chunks_mut(TILE)) {
            tile.scan(settings, input, output, kernels);
            tile.finish(carry, &settings.operator, kernels);
        }
    }
}

struct ScanTiles<'a, 'c, T, U: Element, O> {
    settings: &'a Settings<O>,
    source: Source<'a, T>,
    output: &'a mut [U],
    carry: &'c mut Carry<U::Acc>,
    kernels: &'a Kernels<U::Acc>,
    ahead: &'a [T],
}

/// Items of a piece of a tile: few, so that what is staged leaves room in the first-level cache.
const PIECE: usize = 4 * LANES;

const _: () = assert!(TILE.is_multiple_of(PIECE));

/// A piece in the first-level cache, aligned to its lines.
#[repr(align(64))]
struct Stage<A>([A; PIECE]);

impl<T, U, O> Kernel for ScanTiles<'_, '_, T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { settings, source, output, carry, kernels, ahead } = self;
        let operator = &settings.operator;
        let padding = operator.padding();
        let mut items_stage = Stage([padding; PIECE]);
        let mut output_stage = Stage([padding; PIECE]);
        let forward = settings.direction == Direction::Forward;
        let items = output.len();
        let mut tile = TileCarry::new(carry, operator);
        let mut ahead = ahead.chunks(PIECE);
        let mut done = 0;
        while done < items {
            let ahead = ahead.next().unwrap_or_default();
            let len = PIECE.min(items - done);
            let at = if forward { done } else { items - done - len };
            let target = &mut output[at..at + len];
            done += len;

            let direct_input = match source {
                Source::Separate(input) if forward && len == PIECE => {
                    cast!(&input[at..at + len], &[U::Acc]).ok()
                }
                _ => None,
            };
            let input = match direct_input {
                Some(input) => input,
                None => {
                    let stage = &mut items_stage.0[..len.next_multiple_of(LANES)];
                    match source {
                        Source::Separate(input) => {
                            half::widen(simd, &input[at..at + len], &mut stage[..len]);
                        }
                        Source::InPlace => {
                            for (value, item) in stage.iter_mut().zip(&*target) {
                                *value = item.to_acc();
                            }
                        }
                    }
                    if !forward {
                        stage[..len].reverse();
                    }
                    stage[len..].fill(padding);
                    stage
                }
            };

            if forward
                && input.len() == len
                && !settings.streaming
                && let Ok(target) = cast!(&mut *target, &mut [U::Acc])
            {
                tile.scan(settings, input, target, kernels);
            } else {
                let stage = &mut output_stage.0[..input.len()];
                tile.scan(settings, input, stage, kernels);
                let stage = &mut stage[..len];
                if !forward {
                    stage.reverse();
                }
                store(simd, stage, target, settings.streaming, ahead);
            }
            if done.is_multiple_of(TILE) || done == items {
                tile.finish(carry, operator, kernels);
            }
        }
    }
}

#[inline(always)]
fn store<S: Simd, T, U: Element>(
    simd: S,
    stage: &[U::Acc],
    target: &mut [U],
    streaming: bool,
    ahead: &[T],
) {
    if streaming && let Ok(stage) = cast!(stage, &[U]) {
        stream::copy(simd, stage, target, ahead);
        return;
    }
    for (item, &value) in target.iter_mut().zip(stage) {
        *item = U::from_acc(value);
    }
}

/// What comes into the rows of a tile.
struct TileCarry<A> {
    /// What comes into the tile. With a vector scan, which keeps no rows apart: into the next piece.
    before: A,
    /// The rows of the tile so far.
    rows: Tree<A, ROW_LEVELS>,
}

/// Levels of the tree over the rows of a tile.
pub(crate) const ROW_LEVELS: usize = ROWS.ilog2() as usize + 1;

impl<A: Element> TileCarry<A> {
    #[inline(always)]
    fn new<O: Operator<A>>(carry: &Carry<A>, operator: &O) -> Self {
        Self { before: carry.before_next(operator), rows: Tree::new(operator) }
    }

    /// Scans some rows of the tile. With a vector scan they must be whole.
    #[inline(always)]
    fn scan<O: Operator<A>>(
        &mut self,
        settings: &Settings<O>,
        input: &[A],
        output: &mut [A],
        kernels: &Kernels<A>,
    ) {
        let exclusive = settings.bounds == Bounds::Exclusive;
        if let Some(slide) = kernels.slide {
            self.before = slide(settings.level, input, output, self.before, exclusive);
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(rows) = kernels.rows
            && input.len().is_multiple_of(LANES)
        {
            (rows.scan)(input, output, self.before, exclusive, &mut self.rows);
            return;
        }
        if exclusive {
            self.scan_rows::<O, true>(&settings.operator, input, output);
        } else {
            self.scan_rows::<O, false>(&settings.operator, input, output);
        }
    }

    #[inline(always)]
    fn scan_rows<O: Operator<A>, const EXCLUSIVE: bool>(
        &mut self,
        operator: &O,
        input: &[A],
        output: &mut [A],
    ) {
        let mut scan = |input: &[A; LANES], output: &mut [A; LANES]| {
            let carry = match self.rows.count() {
                0 => self.before,
                _ => operator.combine(self.before, self.rows.total(operator)),
            };
            self.rows.push(scan_row::<A, O, EXCLUSIVE>(input, output, carry, operator), operator);
        };
        let (inputs, input_rest) = input.as_chunks::<LANES>();
        let (outputs, output_rest) = output.as_chunks_mut::<LANES>();
        for (input, output) in inputs.iter().zip(outputs) {
            scan(input, output);
        }
        if !input_rest.is_empty() {
            let mut row = [operator.padding(); LANES];
            row[..input_rest.len()].copy_from_slice(input_rest);
            let mut prefixes = row;
            scan(&row, &mut prefixes);
            output_rest.copy_from_slice(&prefixes[..input_rest.len()]);
        }
    }

    /// Hands the tile over to the carry, and begins the next.
    #[inline(always)]
    fn finish<O: Operator<A>>(&mut self, carry: &mut Carry<A>, operator: &O, kernels: &Kernels<A>) {
        if kernels.slide.is_some() {
            carry.set(self.before, operator);
        } else {
            carry.push(self.rows.total(operator), 0, operator);
            *self = Self::new(carry, operator);
        }
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
