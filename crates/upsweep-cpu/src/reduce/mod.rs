//! Reductions on a CPU.
//!
//! One thread folds tiles ([`tile`]); several share the aligned binary tree over them: each takes whole
//! subtrees of one size, so that any size gives the same bits.

mod extreme;
pub(crate) mod narrow;
pub(crate) mod position;
pub(crate) mod tile;

use core::marker::PhantomData;

use castaway::cast;
use fearless_simd::Level;
use upsweep_core::summation::{LANES, TILE};
use upsweep_core::{
    ArgMax, ArgMin, Carry, Element, Extreme, Number, Operator, Tree, Widen, bf16, f16,
};

use crate::device::ExecutionContext;
use crate::erased::ErasedOperator;
use crate::scan::total_in_order;
use crate::shape::CpuShape;
use crate::simd::lanes::Lane;
use crate::team::Team;
use crate::{isa, signed};
use position::PositionOperator;
use position::{Best, FindBest, FindFirst};
use tile::{FoldTiles, FoldUneven};

/// The value of all items, of which there is at least one. Compiled once for all that call it.
#[inline(never)]
pub(crate) fn total<T, A, O>(context: &ExecutionContext<'_>, items: &[T], operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if const { signed::is_found::<T, A, O>() } {
        return signed::total(context, items, O::BUILTIN);
    }
    if !O::COMMUTATIVE {
        let mut carry = Carry::new(None, &operator);
        total_in_order(context, items, operator, &mut carry);
        return carry.before_next(&operator);
    }
    let block = block_items(context, items.len(), size_of::<T>());
    if items.len() <= block {
        return fold(context.level, items, operator);
    }
    let fold = |index| fold(context.level, block_of(items, block, index), operator);
    // SAFETY: the operator stays where it is until this returns.
    let erased = unsafe { ErasedOperator::new(&operator) };
    total_of_blocks(context.team, items.len().div_ceil(block), block / TILE, &fold, &erased)
}

/// The value of so many blocks of `tiles` tiles, a power of two, from that of each.
fn total_of_blocks<A: Element>(
    team: Team<'_>,
    blocks: usize,
    tiles: usize,
    fold: &(dyn Fn(usize) -> A + Sync),
    operator: &ErasedOperator<A>,
) -> A {
    let mut tree = <Tree<A>>::new(operator);
    team.fold(blocks, fold, |value| tree.push_subtree(value, tiles.ilog2(), operator));
    tree.total(operator)
}

/// The value of all items, of which there is at least one, on this thread. Compiled once for all that call it.
#[inline(never)]
pub(crate) fn fold<T, A, O>(level: Level, items: &[T], operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if const { narrow::is_found::<T, A, O>() } {
        match narrow::sum(level, items, operator) {
            Some(sum) => return sum,
            None => unreachable!("these are all sums of short integers in 64 bits"),
        }
    }
    if const { extreme::is_found::<T, A, O>() } {
        match extreme::value::<T, A, O>(level, items) {
            Some(value) => return value,
            None => unreachable!("these are all extremes that have a kernel of their own"),
        }
    }
    if isa::is_plain_at(level) {
        return tile::fold_plainly(items, &operator);
    }
    let rest = items.len() % LANES;
    let (items, last) = match rest {
        0 => (items, None),
        _ => {
            let (items, tile) = items.split_at(items.len() / TILE * TILE);
            let uneven = FoldUneven { tile, operator, acc: PhantomData };
            (items, Some(isa::run(level, uneven)))
        }
    };
    match last {
        Some(last) if items.is_empty() => last,
        _ => isa::run(level, FoldTiles { items, last, operator, acc: PhantomData }),
    }
}

/// Items that a thread takes at once: a power of two of tiles; all there are if the caller is alone.
#[inline]
fn block_items(context: &ExecutionContext<'_>, items: usize, item_bytes: usize) -> usize {
    if context.team.threads() <= 1 {
        return items;
    }
    let tiles =
        context.block_bytes(items.saturating_mul(item_bytes)).div_ceil(item_bytes.max(1) * TILE);
    tiles.max(1).next_power_of_two() * TILE
}

/// How so many items are reduced by an operator that commutes, or searched.
pub(crate) fn shape(context: &ExecutionContext<'_>, items: usize, item_bytes: usize) -> CpuShape {
    let block_items = block_items(context, items, item_bytes).min(items);
    CpuShape {
        threads: context.team.at_most(items.div_ceil(block_items.max(1))).threads(),
        block_items,
        in_parts: false,
        streaming: false,
        half_lines: context.reads_half_lines(items.saturating_mul(item_bytes)),
    }
}

/// The block with this number.
fn block_of<T>(items: &[T], block: usize, index: usize) -> &[T] {
    &items[index * block..items.len().min((index + 1) * block)]
}

/// The first position of the extreme of all items, of which there is at least one.
#[inline]
pub(crate) fn position<T: Number>(
    context: &ExecutionContext<'_>,
    items: &[T],
    extreme: Extreme,
) -> u64 {
    macro_rules! types {
        ($($type:ident)*) => { $(
            if let Ok(items) = cast!(items, &[$type]) {
                // A function of this crate, compiled once and not again for every caller.
                fn find(context: &ExecutionContext<'_>, items: &[$type], extreme: Extreme) -> u64 {
                    type Acc = <$type as Element>::Acc;
                    let best = match extreme {
                        Extreme::Smallest => best::<$type, Acc, _>(context, items, ArgMin),
                        Extreme::Largest => best::<$type, Acc, _>(context, items, ArgMax),
                    };
                    isa::run(context.level, FindFirst { items, best })
                }
                return find(context, items, extreme);
            }
        )* };
    }
    types!(u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64);
    unreachable!("these are all the number types")
}

/// The best value of a range of items, of which there is at least one, and its block.
#[inline]
fn best<T, A, O>(context: &ExecutionContext<'_>, items: &[T], operator: O) -> Best<A>
where
    T: Widen<A>,
    A: Lane,
    O: PositionOperator,
{
    let block = block_items(context, items.len(), size_of::<T>());
    let find = |index| {
        let (items, first) = (block_of(items, block, index), index * block);
        isa::run(context.level, FindBest { items, first, operator, acc: PhantomData })
    };
    if items.len() <= block {
        return find(0);
    }
    best_of_blocks(context.team, items.len().div_ceil(block), &find, &|left, right| {
        Best::better(left, right, operator)
    })
}

/// The best value of so many blocks, of which there is at least one, from that of each.
fn best_of_blocks<A: Lane>(
    team: Team<'_>,
    blocks: usize,
    find: &(dyn Fn(usize) -> Best<A> + Sync),
    better: &dyn Fn(Best<A>, Best<A>) -> Best<A>,
) -> Best<A> {
    let mut best = None;
    team.fold(blocks, find, |right| {
        best = Some(best.map_or(right, |left| better(left, right)));
    });
    match best {
        Some(best) => best,
        None => unreachable!("each block has a best value, unless a panic goes on"),
    }
}
