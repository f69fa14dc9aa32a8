//! Scans on a CPU.
//!
//! One thread goes through the array once ([`range`]). Several threads also read and write
//! memory only once: each takes [`blocks`] that fit in its own first or second-level cache. It finds the total of
//! a block, which brings it into the cache; knows what comes into it from the [`totals`] of all blocks before; and scans the block
//! out of the cache. Where it writes past the caches, it fetches with each piece a piece of the block that it takes next, so that memory
//! always reads and writes at the same time. An array that their own caches hold together they scan [`in_parts`].
//!
//! Reductions with an operator that does not commute use the same totals.

pub(crate) mod blocks;
mod in_parts;
pub(crate) mod in_turn;
pub(crate) mod range;
pub(crate) mod row;
mod slide;
#[cfg(test)]
mod testing;
pub(crate) mod totals;

use fearless_simd::Level;

use blocks::{Block, Blocks, Numbers};
use in_parts::scan_in_parts;
pub(crate) use range::Source;
use range::{ScanKernel, Settings, scan_plain, scan_range, total_of_block};
use totals::{Totals, append_windows};
use upsweep_core::summation::{TILE, WINDOW};
use upsweep_core::{Bounds, Carry, Direction, Element, Flipped, Operator, Scan, Widen};

use crate::device::ExecutionContext;
use crate::erased::ErasedOperator;
use crate::isa::half_lines;
#[cfg(target_arch = "x86_64")]
use crate::isa::has_half_lines;
use crate::shape::CpuShape;
use crate::signed;
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::stream::{fence, streams};
use crate::team::{MOST_BLOCKS, Team};

/// Scans all items. `carry` is what comes in, and afterwards what goes out.
#[inline]
pub(crate) fn scan<T, U, O>(
    context: &ExecutionContext<'_>,
    source: Source<'_, T>,
    output: &mut [U],
    problem: &Scan<U::Acc, O>,
    carry: &mut Carry<U::Acc>,
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    if const { signed::is_found::<T, U::Acc, O>() } {
        return signed::scan(context, source, output, problem, carry);
    }
    let Scan { operator, bounds, direction, .. } = *problem;
    if O::COMMUTATIVE || direction == Direction::Forward {
        scan_by(context, source, output, operator, (bounds, direction), carry);
    } else {
        scan_by(context, source, output, Flipped(operator), (bounds, direction), carry);
    }
}

/// The same by an operator that is given items in the order of the scan.
fn scan_by<T, U, O>(
    context: &ExecutionContext<'_>,
    source: Source<'_, T>,
    output: &mut [U],
    operator: O,
    (bounds, direction): (Bounds, Direction),
    carry: &mut Carry<U::Acc>,
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let cut = cut::<T, U>(context, output.len());
    let streaming = is_streaming::<U>(context, output.len());
    let alone = context.team.threads() <= 1 || output.len() <= cut.block;
    let halves = !alone
        && takes_half_lines::<U::Acc, O>(context, context.level, streaming, size_of_val(output));
    let level = if halves { half_lines(context.level) } else { context.level };
    let plain = |input: &[_], output: &mut [_], exclusive, tile: &mut _, carry: &mut _| {
        scan_plain(level, operator, input, output, exclusive, tile, carry);
    };
    let kernel = ScanKernel::find::<O>(level, &plain);
    // SAFETY: the operator stays where it is until this returns.
    let erased = unsafe { ErasedOperator::new(&operator) };
    let settings = Settings { level, operator: erased, kernel, bounds, direction, streaming };
    if alone {
        scan_range(&settings, source, output, carry, &[]);
        fence();
        return;
    }
    let reverse = direction == Direction::Reverse;
    let totals = Combining {
        total: &|items| total_of_block(level, items, reverse, operator),
        advance: &|carry, total| advanced(carry, total, cut.block, &operator),
    };
    scan_on_team(context.team, &cut, &settings, &totals, source, output, carry);
}

/// How totals are made and put together, by an operator whose type is known: the last thread puts together those of all blocks.
struct Combining<'a, T, A> {
    /// The total of the items of a block.
    total: &'a (dyn Fn(&[T]) -> A + Sync),
    /// What comes out of a block, from what comes into it and its total.
    advance: &'a (dyn Fn(Carry<A>, A) -> Carry<A> + Sync),
}

/// Whether so many items are written past the caches.
fn is_streaming<U: Element>(context: &ExecutionContext<'_>, items: usize) -> bool {
    streams::<U>() && items.saturating_mul(size_of::<U>()) >= context.policy.streaming_bytes
}

/// How so many items are scanned.
pub(crate) fn shape<T, U, O>(context: &ExecutionContext<'_>, items: usize) -> CpuShape
where
    T: Element,
    U: Element,
    O: Operator<U::Acc>,
{
    let BlockPartition { block, in_parts } = cut::<T, U>(context, items);
    let threads = context.team.at_most(items.div_ceil(block)).threads();
    let streaming = is_streaming::<U>(context, items);
    let bytes = items.saturating_mul(size_of::<U>());
    CpuShape {
        threads,
        block_items: if threads > 1 { block } else { items },
        in_parts: threads > 1 && in_parts,
        streaming,
        half_lines: threads > 1
            && takes_half_lines::<U::Acc, O>(context, context.level, streaming, bytes),
    }
}

/// Scans all items on several threads, by blocks. Compiled once for two types.
#[inline(never)]
fn scan_on_team<T, U>(
    team: Team<'_>,
    cut: &BlockPartition,
    settings: &Settings<'_, U::Acc>,
    totals: &Combining<'_, T, U::Acc>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
) where
    T: Widen<U::Acc>,
    U: Element,
{
    let BlockPartition { block, in_parts } = *cut;
    let team = team.at_most(output.len().div_ceil(block));
    let fetches = settings.streaming && matches!(source, Source::Separate(_));
    let blocks = Blocks::new(source, output, block, settings.direction);
    let scan = |block: Block<'_, T, U>, mut carry, ahead: &[T]| {
        scan_range(settings, block.source, block.output, &mut carry, ahead);
    };
    let work = Work {
        // SAFETY: a block is looked at before anyone scans it.
        total: &|index| unsafe { blocks.look(index, totals.total) },
        advance: totals.advance,
        scan: &|index, carry, next| {
            // Only items that lie elsewhere are fetched.
            let ahead = next.map_or(&[][..], |next| blocks.separate(next));
            // SAFETY: a block is scanned once, when nobody looks at it any more.
            scan(unsafe { blocks.block(index) }, carry, ahead);
        },
    };
    *carry = if in_parts {
        scan_in_parts(team, blocks.count(), *carry, &work)
    } else {
        scan_in_order(team, blocks.count(), fetches, *carry, &work)
    };
}

/// What is done with the blocks of an array.
struct Work<'a, A> {
    /// The total of a block.
    total: &'a (dyn Fn(usize) -> A + Sync),
    /// What comes out of a block, from what comes into it and its total.
    advance: &'a (dyn Fn(Carry<A>, A) -> Carry<A> + Sync),
    /// Scans a block, into which this comes, and fetches another, which is scanned next.
    scan: &'a (dyn Fn(usize, Carry<A>, Option<usize>) + Sync),
}

/// Scans `blocks` blocks, each as soon as the totals of all before it are there, and gives what comes out of the last. `carry` comes into the
/// first. Each block is scanned at most once, after its total has been found by the same thread, which is done at most once.
fn scan_in_order<A: Element>(
    team: Team<'_>,
    blocks: usize,
    fetches: bool,
    carry: Carry<A>,
    work: &Work<'_, A>,
) -> Carry<A> {
    let numbers = Numbers::below(blocks);
    Totals::new(team, carry, work.advance).on_threads(&|seen| {
        let mut next = numbers.take();
        while let Some(block) = next.take() {
            let total = (work.total)(block);
            // SAFETY: a number is taken once.
            let Some(carry) = (unsafe { seen.enter(block, total) }) else { break };
            // Lines past the caches fetch the next block. Elsewhere whoever is late must not have it: sixteen threads of a Xeon take
            // 0.60 to 0.86 of the time from 2 MiB to 32 (2026-11-26, `2026-11-26-parts-cpu.csv`).
            if fetches {
                next = numbers.take();
            }
            (work.scan)(block, carry, next);
            if !fetches {
                next = numbers.take();
            }
        }
        fence();
    })
}

/// Whether several threads that scan rows of floats past the caches write half lines: where these are faster, with AVX2 instead of AVX-512.
/// Measured on a Zen 4 with two cores, in GB/s: `f32` 41 and 31, `f64` 45 and 33; one thread alone gets 33 and 38, 38 and 36.
fn takes_half_lines<A: Element, O: Operator<A>>(
    context: &ExecutionContext<'_>,
    level: Level,
    streaming: bool,
    bytes: usize,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if has_half_lines(level) && rows::find::<A, O>(level).is_some() {
        return streaming && bytes >= context.policy.scan_half_line_bytes;
    }
    let _ = (context, level, streaming, bytes);
    false
}

/// What comes out of a block of `items` items, a power of two of tiles, with this total. The last block may have fewer, and is then filled up
/// with padding, which changes nothing.
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
    } else {
        carry.push(total, (items / TILE).ilog2(), operator);
    }
    carry
}

/// Blocks of a scan for each thread, so that one that was late leaves its part to others, and the bytes of a block at least, which pay for
/// reading the totals of all others. Sixteen threads of a Xeon scan 4 MiB of `u32` in 62.9 us with four blocks for each and in 70.9 with two, and
/// 256 KiB in 13.6 us by blocks of 16 KiB and in 21.4 by 64.
const BLOCKS_OF_A_THREAD: usize = 4;
const LEAST_BLOCK: usize = 1 << 14;

/// The same for blocks of at least so many bytes: with eight instead of four 8 MiB take 0.94 to 1.00 of the time there, and 16 MiB 0.86 to 1.02 if
/// blocks may have 256 KiB (2026-11-26, `2026-11-26-scan-totals-cpu.csv` for both).
const LARGE_BLOCKS_OF_A_THREAD: usize = 8;
const LARGE_BLOCK: usize = 1 << 16;

/// How an array is cut for threads.
struct BlockPartition {
    /// Items of a block: a power of two of tiles, of which a window is a multiple.
    block: usize,
    /// Whether each thread has a part of its own.
    in_parts: bool,
}

/// In parts, if the array is short enough for that and at most [`MOST_BLOCKS`] blocks, of which a window is the largest: some blocks for each thread,
/// so that others can help it. Or else blocks of at most `scan_block_bytes` bytes, and fewer so that all threads have some.
fn cut<T, U: Element>(context: &ExecutionContext<'_>, items: usize) -> BlockPartition {
    let (read, written) = (size_of::<T>(), size_of::<U>());
    let (item_bytes, most) = (read.max(written).max(1), context.policy.scan_block_bytes);
    let threads = context.team.threads();
    let each = items.saturating_mul(item_bytes) / threads;
    let few = each / BLOCKS_OF_A_THREAD;
    let least = LEAST_BLOCK.min(most);
    let block = |bytes: usize| {
        let tiles = (bytes / (item_bytes * TILE)).max(1);
        ((1 << tiles.ilog2()) * TILE).min(WINDOW)
    };
    let bytes = items.saturating_mul(read + written);
    if bytes <= context.policy.scan_parts_bytes && !is_streaming::<U>(context, items) {
        // Twice as many bytes as there must be, of which rounding down to a power of two leaves at least half.
        let least = least.max(2 * item_bytes * items.div_ceil(MOST_BLOCKS));
        let block = block(few.max(least));
        if items.div_ceil(block) <= MOST_BLOCKS {
            return BlockPartition { block, in_parts: true };
        }
    }
    let large = (each / LARGE_BLOCKS_OF_A_THREAD).max(LARGE_BLOCK);
    BlockPartition { block: block(few.min(large).clamp(least, most)), in_parts: false }
}

/// The value of all items in the order of a scan: a reduction with an operator that does not
/// commute.
#[inline]
pub(crate) fn total_in_order<T, A, O>(
    context: &ExecutionContext<'_>,
    items: &[T],
    operator: O,
    carry: &mut Carry<A>,
) where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    append_windows(context.team, items.len(), carry, operator, || {
        |window| total_of_block(context.level, &items[window], false, operator)
    });
}
