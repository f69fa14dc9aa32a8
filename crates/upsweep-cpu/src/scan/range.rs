//! A run of tiles, scanned by one thread.
//!
//! Tiles go straight from input to output where they can. Where something must happen on the way
//! (another type, the other direction, an incomplete row, the same memory for both, stores past
//! the caches), they are staged in the first-level cache, one tile of 2,048 items at a time.

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
use crate::simd::stream;

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

/// Scans a run of items. `carry` is what comes in, and afterwards what goes out.
#[inline]
pub(crate) fn scan_range<T, U, O>(
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
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
        let before = carry.into_tile(&settings.operator);
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
        for (input, output) in input.chunks(TILE).zip(output.chunks_mut(TILE)) {
            scan_tile(settings, input, output, carry, kernels);
        }
    }
}

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
    fn run<S: Simd>(self, _: S) {
        let Self { settings, source, output, carry, kernels } = self;
        let padding = settings.operator.padding();
        let mut items_stage = Stage([padding; TILE]);
        let mut output_stage = Stage([padding; TILE]);
        let items = output.len();
        let mut done = 0;
        while done < items {
            let len = TILE.min(items - done);
            let at = match settings.direction {
                Direction::Forward => done,
                Direction::Reverse => items - done - len,
            };
            done += len;
            let padded = len.next_multiple_of(LANES);
            let target = &mut output[at..at + len];

            let straight = settings.direction == Direction::Forward && padded == len;
            let direct_input = match source {
                Source::Separate(input) if straight => cast!(&input[at..at + len], &[U::Acc]).ok(),
                _ => None,
            };
            let input = match direct_input {
                Some(input) => input,
                None => {
                    let stage = &mut items_stage.0[..padded];
                    match source {
                        Source::Separate(input) => load(&input[at..at + len], stage),
                        Source::InPlace => {
                            for (value, item) in stage.iter_mut().zip(&*target) {
                                *value = item.to_acc();
                            }
                        }
                    }
                    if settings.direction == Direction::Reverse {
                        stage[..len].reverse();
                    }
                    stage[len..].fill(padding);
                    stage
                }
            };

            if straight
                && !settings.streaming
                && let Ok(target) = cast!(&mut *target, &mut [U::Acc])
            {
                scan_tile(settings, input, target, carry, kernels);
            } else {
                let stage = &mut output_stage.0[..padded];
                scan_tile(settings, input, stage, carry, kernels);
                let stage = &mut stage[..len];
                if settings.direction == Direction::Reverse {
                    stage.reverse();
                }
                store(stage, target, settings.streaming);
            }
        }
        if settings.streaming {
            stream::fence();
        }
    }
}

/// A tile in the first-level cache, aligned to its lines.
#[repr(align(64))]
struct Stage<A>([A; TILE]);

#[inline(always)]
fn load<T: Widen<A>, A: Element>(items: &[T], stage: &mut [A]) {
    for (value, item) in stage.iter_mut().zip(items) {
        *value = item.widen();
    }
}

#[inline(always)]
fn store<U: Element>(stage: &[U::Acc], target: &mut [U], streaming: bool) {
    if streaming && let Ok(stage) = cast!(stage, &[U]) {
        stream::copy(stage, target);
        return;
    }
    for (item, &value) in target.iter_mut().zip(stage) {
        *item = U::from_acc(value);
    }
}

/// One tile. With a vector scan it must consist of whole rows.
#[inline(always)]
fn scan_tile<A: Element, O: Operator<A>>(
    settings: &Settings<O>,
    input: &[A],
    output: &mut [A],
    carry: &mut Carry<A>,
    kernels: &Kernels<A>,
) {
    let operator = &settings.operator;
    let before = carry.into_tile(operator);
    let exclusive = settings.bounds == Bounds::Exclusive;
    if let Some(slide) = kernels.slide {
        carry.set(slide(settings.level, input, output, before, exclusive), operator);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(rows) = kernels.rows
        && input.len().is_multiple_of(LANES)
    {
        carry.push((rows.scan)(input, output, before, exclusive), 0, operator);
        return;
    }
    let total = if exclusive {
        scan_rows::<A, O, true>(operator, input, output, before)
    } else {
        scan_rows::<A, O, false>(operator, input, output, before)
    };
    carry.push(total, 0, operator);
}

/// Levels of the tree over the rows of a tile.
const ROW_LEVELS: usize = ROWS.ilog2() as usize + 1;

#[inline(always)]
fn scan_rows<A: Element, O: Operator<A>, const EXCLUSIVE: bool>(
    operator: &O,
    input: &[A],
    output: &mut [A],
    before: A,
) -> A {
    let mut rows = Tree::<A, ROW_LEVELS>::new(operator);
    let mut scan = |input: &[A; LANES], output: &mut [A; LANES]| {
        let carry = match rows.count() {
            0 => before,
            _ => operator.combine(before, rows.total(operator)),
        };
        rows.push(scan_row::<A, O, EXCLUSIVE>(input, output, carry, operator), operator);
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
    rows.total(operator)
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
    fn run<S: Simd>(self, _: S) -> A {
        let Self { items, reverse, operator, .. } = self;
        let mut rows = Tree::<A>::new(&operator);
        let mut row = [operator.padding(); LANES];
        let mut done = 0;
        while done < items.len() {
            let len = LANES.min(items.len() - done);
            let at = if reverse { items.len() - done - len } else { done };
            load(&items[at..at + len], &mut row);
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
