//! Reductions on a CPU.
//!
//! One thread folds tiles ([`tile`]); several share the aligned binary tree over them: a range is
//! cut where the root of its tree is cut, so that any cutting gives the same bits.

mod extreme;
pub(crate) mod narrow;
pub(crate) mod position;
mod stream;
pub(crate) mod tile;

use core::marker::PhantomData;

use castaway::cast;
use fearless_simd::Level;
pub use stream::{REDUCE_CHUNK, ReduceState};
use upsweep_core::summation::TILE;
use upsweep_core::{ArgMax, ArgMin, CpuPolicy, Element, Number, Operator, Widen, bf16, f16};

use crate::device::Means;
use crate::isa;
use crate::scan::{Carry, total_in_order};
use crate::simd::lanes::Lane;
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
    if !O::COMMUTATIVE {
        let mut carry = Carry::new(None, &operator);
        total_in_order(means, items, operator, &mut carry);
        return carry.before_next(&operator);
    }
    if means.threads > 1
        && let Some(middle) = cut::<T>(items.len(), means.policy)
    {
        let (left, right) = items.split_at(middle);
        let (left, right) =
            rayon::join(|| total(means, left, operator), || total(means, right, operator));
        return operator.combine(left, right);
    }
    fold(means.level, items, operator)
}

/// The value of all items, of which there is at least one, on this thread.
#[inline]
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

/// Where the tree over the tiles of `items` items is cut: behind the largest power of two of
/// tiles that leaves something on the right. `None` if one thread shall take them all.
#[inline]
fn cut<T>(items: usize, policy: &CpuPolicy) -> Option<usize> {
    if items.saturating_mul(size_of::<T>()) <= policy.block_bytes || items <= TILE {
        return None;
    }
    let tiles = items.div_ceil(TILE);
    Some((1 << (tiles - 1).ilog2()) * TILE)
}

/// Which extreme is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
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
                        Extreme::Smallest => best::<$type, Acc, _>(means, items, 0, ArgMin),
                        Extreme::Largest => best::<$type, Acc, _>(means, items, 0, ArgMax),
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
fn best<T, A, O>(means: &Means<'_>, items: &[T], first: usize, operator: O) -> Best<A>
where
    T: Widen<A>,
    A: Lane,
    O: PositionOperator,
{
    if means.threads > 1
        && let Some(middle) = cut::<T>(items.len(), means.policy)
    {
        let (left, right) = items.split_at(middle);
        let (left, right) = rayon::join(
            || best(means, left, first, operator),
            || best(means, right, first + middle, operator),
        );
        return Best::better(left, right, operator);
    }
    isa::run(means.level, FindBest { items, first, operator, acc: PhantomData })
}
