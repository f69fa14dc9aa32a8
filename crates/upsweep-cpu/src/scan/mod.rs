//! Scans on a CPU.
//!
//! One thread goes through the array once ([`range`]). Several threads also read and write
//! memory only once: each takes blocks that fit in its own first-level cache. It finds the total of
//! a block, which brings it into the cache; gets the carry from the thread of the block before and
//! hands on the carry for the block after; and scans the block out of the cache. With each piece
//! that it writes it fetches a piece of the block that it takes next, so that memory always reads
//! and writes at the same time.
//!
//! Reductions with an operator that does not commute use the same totals.

pub(crate) mod in_turn;
pub(crate) mod range;
pub(crate) mod row;
mod slide;

use core::mem;
use std::sync::Mutex;

use castaway::cast;
use fearless_simd::Level;

use in_turn::InTurn;
pub(crate) use range::Source;
use range::{Settings, scan_range, total_of_block};
use upsweep_core::summation::{TILE, WINDOW};
use upsweep_core::{Carry, Direction, Element, Flipped, Operator, Scan, Widen};

use crate::device::Means;
use crate::isa::half_lines;
#[cfg(target_arch = "x86_64")]
use crate::isa::has_half_lines;
use crate::shape::CpuShape;
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::stream::{fence, streams};
use crate::team::lock;

/// Scans all items. `carry` is what comes in, and afterwards what goes out.
#[inline]
pub(crate) fn scan<T, U, O>(
    means: &Means<'_>,
    source: Source<'_, T>,
    output: &mut [U],
    problem: &Scan<U::Acc, O>,
    carry: &mut Carry<U::Acc>,
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let settings = |operator| settings::<U, _>(means, output.len(), problem, operator);
    if O::COMMUTATIVE || problem.direction == Direction::Forward {
        scan_with(means, &settings(problem.operator), source, output, carry);
    } else {
        let Settings { level, bounds, direction, streaming, .. } = settings(problem.operator);
        let operator = Flipped(problem.operator);
        let settings = Settings { level, operator, bounds, direction, streaming };
        scan_with(means, &settings, source, output, carry);
    }
}

fn settings<U: Element, O: Operator<U::Acc>>(
    means: &Means<'_>,
    items: usize,
    problem: &Scan<U::Acc, O>,
    operator: O,
) -> Settings<O> {
    Settings {
        level: means.level,
        operator,
        bounds: problem.bounds,
        direction: problem.direction,
        streaming: is_streaming::<U>(means, items),
    }
}

/// Whether so many items are written past the caches.
fn is_streaming<U: Element>(means: &Means<'_>, items: usize) -> bool {
    streams::<U>() && items.saturating_mul(size_of::<U>()) >= means.policy.streaming_bytes
}

/// How so many items are scanned.
pub(crate) fn shape<T, U, O>(means: &Means<'_>, items: usize) -> CpuShape
where
    T: Element,
    U: Element,
    O: Operator<U::Acc>,
{
    let block = block_items(means, items, size_of::<T>().max(size_of::<U>()));
    let threads = means.team.at_most(items.div_ceil(block)).threads();
    let streaming = is_streaming::<U>(means, items);
    let bytes = items.saturating_mul(size_of::<U>());
    CpuShape {
        threads,
        block_items: if threads > 1 { block } else { items },
        streaming,
        half_lines: threads > 1
            && takes_half_lines::<U::Acc, O>(means, means.level, streaming, bytes),
    }
}

fn scan_with<T, U, O>(
    means: &Means<'_>,
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let block = block_items(means, output.len(), size_of::<T>().max(size_of::<U>()));
    if means.team.threads() <= 1 || output.len() <= block {
        scan_range(settings, source, output, carry, &[]);
        fence();
        return;
    }
    let Settings { level, streaming, .. } = *settings;
    let halves = takes_half_lines::<U::Acc, O>(means, level, streaming, size_of_val(output));
    let settings = &Settings { level: if halves { half_lines(level) } else { level }, ..*settings };
    let team = means.team.at_most(output.len().div_ceil(block));
    let blocks = Mutex::new(Blocks { index: 0, source, output, direction: settings.direction });
    let reverse = settings.direction == Direction::Reverse;
    let carries = InTurn::new(team, *carry);
    carries.on_threads(&|| {
        let take = || lock(&blocks).and_then(|mut blocks| blocks.next(block));
        let mut next = take();
        while let Some(Block { index, source, output }) = next {
            let items = items_of(source, output);
            let total = total_of_block(settings.level, items, reverse, settings.operator);
            let items = items.len();
            let advance = |carry| advanced(carry, total, items, &settings.operator);
            let Some(mut carry) = carries.pass(index, advance) else { break };
            next = take();
            let ahead = next.as_ref().map_or(&[][..], |next| items_of(next.source, next.output));
            scan_range(settings, source, output, &mut carry, ahead);
        }
        fence();
    });
    *carry = carries.into_state();
}

/// Whether several threads that scan rows of floats past the caches write half lines: where these are faster, with AVX2 instead of AVX-512.
/// Measured on a Zen 4 with two cores, in GB/s: `f32` 41 and 31, `f64` 45 and 33; one thread alone gets 33 and 38, 38 and 36.
fn takes_half_lines<A: Element, O: Operator<A>>(
    means: &Means<'_>,
    level: Level,
    streaming: bool,
    bytes: usize,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if has_half_lines(level) && rows::find::<A, O>(level).is_some() {
        return streaming && bytes >= means.policy.scan_half_line_bytes;
    }
    let _ = (means, level, streaming, bytes);
    false
}

/// A block of items to scan, and its number from the start of the scan.
struct Block<'a, T, U> {
    index: usize,
    source: Source<'a, T>,
    output: &'a mut [U],
}

/// The blocks that nobody has taken yet.
struct Blocks<'a, T, U> {
    index: usize,
    source: Source<'a, T>,
    output: &'a mut [U],
    direction: Direction,
}

impl<'a, T, U> Blocks<'a, T, U> {
    /// Takes the next block of at most `items` items, from the end that the scan starts at.
    fn next(&mut self, items: usize) -> Option<Block<'a, T, U>> {
        if self.output.is_empty() {
            return None;
        }
        let index = self.index;
        self.index += 1;
        let output = mem::take(&mut self.output);
        let items = items.min(output.len());
        let rest = output.len() - items;
        Some(match self.direction {
            Direction::Forward => {
                let (block, rest) = output.split_at_mut(items);
                self.output = rest;
                let source = self.take_source(|source| source.split_at(items));
                Block { index, source, output: block }
            }
            Direction::Reverse => {
                let (rest, block) = output.split_at_mut(rest);
                self.output = rest;
                let source = self.take_source(|source| {
                    let (rest, block) = source.split_at(source.len() - items);
                    (block, rest)
                });
                Block { index, source, output: block }
            }
        })
    }

    fn take_source(&mut self, cut: impl FnOnce(&'a [T]) -> (&'a [T], &'a [T])) -> Source<'a, T> {
        match self.source {
            Source::InPlace => Source::InPlace,
            Source::Separate(items) => {
                let (block, rest) = cut(items);
                self.source = Source::Separate(rest);
                Source::Separate(block)
            }
        }
    }
}

/// The items of a block before it is scanned.
fn items_of<'a, T: 'static, U: 'static>(source: Source<'a, T>, output: &'a [U]) -> &'a [T] {
    match source {
        Source::Separate(items) => items,
        Source::InPlace => match cast!(output, &[T]) {
            Ok(items) => items,
            Err(_) => unreachable!("a scan in place has one type of items"),
        },
    }
}

/// What comes out of a block of `items` items with this total.
#[inline]
fn advanced<A: Element, O: Operator<A>>(
    mut carry: Carry<A>,
    total: A,
    items: usize,
    operator: &O,
) -> Carry<A> {
    if O::EXACT {
        let value = operator.combine(carry.before_next(operator), total);
        carry.set(value, operator);
    } else if items.is_multiple_of(TILE) {
        // Only the last block, which nothing follows, may hold another number of tiles than a
        // power of two.
        carry.push(total, (items / TILE).ilog2(), operator);
    }
    carry
}

/// Blocks of a scan for each thread, and the bytes of a block at least: what comes out of a smaller one is not handed on as fast as many
/// threads scan (`policy.rs`).
const BLOCKS_OF_A_THREAD: usize = 2;
const LEAST_BLOCK: usize = 1 << 16;

/// Items of a block: a power of two of tiles, of which a window is a multiple, of at most
/// `scan_block_bytes` bytes, or fewer so that all threads have some.
fn block_items(means: &Means<'_>, items: usize, item_bytes: usize) -> usize {
    let (item_bytes, most) = (item_bytes.max(1), means.policy.scan_block_bytes);
    let even = items.saturating_mul(item_bytes) / (BLOCKS_OF_A_THREAD * means.team.threads());
    let bytes = even.clamp(LEAST_BLOCK.min(most), most);
    let tiles = (bytes / (item_bytes * TILE)).max(1);
    ((1 << tiles.ilog2()) * TILE).min(WINDOW)
}

/// The value of all items in the order of a scan: a reduction with an operator that does not
/// commute.
#[inline]
pub(crate) fn total_in_order<T, A, O>(
    means: &Means<'_>,
    items: &[T],
    operator: O,
    carry: &mut Carry<A>,
) where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let windows = Mutex::new(items.chunks(WINDOW).enumerate());
    let team = means.team.at_most(items.len().div_ceil(WINDOW));
    let carries = InTurn::new(team, *carry);
    carries.on_threads(&|| {
        while let Some((index, window)) = lock(&windows).and_then(|mut windows| windows.next()) {
            let total = total_of_block(means.level, window, false, operator);
            // A window that is not full is filled up with padding, which changes nothing.
            let advance = |mut carry: Carry<A>| {
                carry.push(total, (WINDOW / TILE).ilog2(), &operator);
                carry
            };
            if carries.pass(index, advance).is_none() {
                break;
            }
        }
    });
    *carry = carries.into_state();
}
