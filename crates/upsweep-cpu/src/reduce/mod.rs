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
use upsweep_core::summation::TILE;
use upsweep_core::{
    ArgMax, ArgMin, Carry, Element, Extreme, Number, Operator, Tree, Widen, bf16, f16,
};

use crate::device::Means;
use crate::scan::total_in_order;
use crate::shape::CpuShape;
use crate::simd::lanes::Lane;
use crate::{isa, signed};
use position::PositionOperator;
use position::{Best, FindBest, FindFirst};
use tile::FoldTiles;

/// The value of all items, of which there is at least one.
#[inline]
pub(crate) fn total<T, A, O>(means: &Means<'_>, items: &[T], operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if const { signed::is_found::<T, A, O>() } {
        match signed::total(means, items, O::BUILTIN) {
            Some(total) => return total,
            None => unreachable!("these are all the signed types"),
        }
    }
    if !O::COMMUTATIVE {
        let mut carry = Carry::new(None, &operator);
        total_in_order(means, items, operator, &mut carry);
        return carry.before_next(&operator);
    }
    let block = block_items(means, items.len(), size_of::<T>());
    if items.len() <= block {
        return fold(means.level, items, operator);
    }
    let mut tree = <Tree<A>>::new(&operator);
    means.team.fold(
        items.len().div_ceil(block),
        |index| fold(means.level, block_of(items, block, index), operator),
        |value| tree.push_subtree(value, (block / TILE).ilog2(), &operator),
    );
    tree.total(&operator)
}

/// The value of all items, of which there is at least one, on this thread. Compiled once for all that call it.
#[inline(never)]
pub(crate) fn fold<T, A, O>(level: Level, items: &[T], operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if let Some(sum) = narrow::sum(level, items, operator) {
        return sum;
    }
    if let Some(value) = extreme::value::<T, A, O>(level, items) {
        return value;
    }
    isa::run(level, FoldTiles { items, operator, acc: PhantomData })
}

/// Items that a thread takes at once: a power of two of tiles; all there are if the caller is alone.
#[inline]
fn block_items(means: &Means<'_>, items: usize, item_bytes: usize) -> usize {
    if means.team.threads() <= 1 {
        return items;
    }
    let tiles =
        means.block_bytes(items.saturating_mul(item_bytes)).div_ceil(item_bytes.max(1) * TILE);
    tiles.max(1).next_power_of_two() * TILE
}

/// How so many items are reduced by an operator that commutes, or searched.
pub(crate) fn shape(means: &Means<'_>, items: usize, item_bytes: usize) -> CpuShape {
    let block_items = block_items(means, items, item_bytes).min(items);
    CpuShape {
        threads: means.team.at_most(items.div_ceil(block_items.max(1))).threads(),
        block_items,
        in_parts: false,
        streaming: false,
        half_lines: means.reads_half_lines(items.saturating_mul(item_bytes)),
    }
}

/// The block with this number.
fn block_of<T>(items: &[T], block: usize, index: usize) -> &[T] {
    &items[index * block..items.len().min((index + 1) * block)]
}

/// The first position of the extreme of all items, of which there is at least one.
#[inline]
pub(crate) fn position<T: Number>(means: &Means<'_>, items: &[T], extreme: Extreme) -> u64 {
    macro_rules! types {
        ($($type:ident)*) => { $(
            if let Ok(items) = cast!(items, &[$type]) {
                // A function of this crate, compiled once and not again for every caller.
                fn find(means: &Means<'_>, items: &[$type], extreme: Extreme) -> u64 {
                    type Acc = <$type as Element>::Acc;
                    let best = match extreme {
                        Extreme::Smallest => best::<$type, Acc, _>(means, items, ArgMin),
                        Extreme::Largest => best::<$type, Acc, _>(means, items, ArgMax),
                    };
                    isa::run(means.level, FindFirst { items, best })
                }
                return find(means, items, extreme);
            }
        )* };
    }
    types!(u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64);
    unreachable!("these are all the number types")
}

/// The best value of a range of items, of which there is at least one, and its block.
#[inline]
fn best<T, A, O>(means: &Means<'_>, items: &[T], operator: O) -> Best<A>
where
    T: Widen<A>,
    A: Lane,
    O: PositionOperator,
{
    let block = block_items(means, items.len(), size_of::<T>());
    if items.len() > block {
        let mut best = None;
        let find = |index| {
            let (items, first) = (block_of(items, block, index), index * block);
            isa::run(means.level, FindBest { items, first, operator, acc: PhantomData })
        };
        means.team.fold(items.len().div_ceil(block), find, |right| {
            best = Some(best.map_or(right, |left| Best::better(left, right, operator)));
        });
        if let Some(best) = best {
            return best;
        }
    }
    isa::run(means.level, FindBest { items, first: 0, operator, acc: PhantomData })
}
