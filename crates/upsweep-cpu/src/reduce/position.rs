//! Positions of extremes.
//!
//! Carrying an index beside every lane would halve the speed. Instead a block is first asked for
//! its best value alone, in as many instructions as it takes to read it; most blocks do not beat
//! what is known and are done with. Only the one block that holds the best value of all is read
//! again to find where.
//!
//! NaN beats every number. Comparisons are false for it, so lanes of sums watch for it: a sum is
//! NaN if one of its items was. (It is also NaN where infinities of both signs met; then the
//! block is looked through once more.)

use castaway::cast;
use fearless_simd::{Simd, SimdBase, SimdFrom};
use upsweep_core::{ArgMax, ArgMin, Number, Widen};

use crate::isa::Kernel;
use crate::simd::half;
use crate::simd::lanes::Lane;

/// Items of a block: few, so that reading one again costs little even in a small array, and
/// enough rows of lanes to hide the comparison at its end.
const BLOCK: usize = 2048;

/// An operator that keeps the position of an extreme.
pub(crate) trait PositionOperator: Copy + Send + Sync {
    /// Whether `new` is strictly better than `old`; false if either is NaN.
    fn wins<A: Number>(self, new: A, old: A) -> bool;

    /// The better value of each lane; either one where one is NaN.
    fn pick<S: Simd, A: Lane>(self, left: A::Vector<S>, right: A::Vector<S>) -> A::Vector<S>;
}

impl PositionOperator for ArgMin {
    #[inline(always)]
    fn wins<A: Number>(self, new: A, old: A) -> bool {
        new < old
    }

    #[inline(always)]
    fn pick<S: Simd, A: Lane>(self, left: A::Vector<S>, right: A::Vector<S>) -> A::Vector<S> {
        A::smaller::<S>(left, right)
    }
}

impl PositionOperator for ArgMax {
    #[inline(always)]
    fn wins<A: Number>(self, new: A, old: A) -> bool {
        new > old
    }

    #[inline(always)]
    fn pick<S: Simd, A: Lane>(self, left: A::Vector<S>, right: A::Vector<S>) -> A::Vector<S> {
        A::larger::<S>(left, right)
    }
}

/// The best value of a range of items, or NaN, and the first block that it was found in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best<A> {
    value: A,
    /// Index of the first item of the block.
    block: usize,
}

impl<A: Number> Best<A> {
    /// The better of two ranges, the left one being the earlier.
    pub(crate) fn better(left: Self, right: Self, operator: impl PositionOperator) -> Self {
        let right_wins = if left.value.is_nan() || right.value.is_nan() {
            !left.value.is_nan()
        } else {
            operator.wins(right.value, left.value)
        };
        if right_wins { right } else { left }
    }
}

/// Looks for the best value of `items`, of which there is at least one; the first of them has
/// index `first` in the array.
pub(crate) struct FindBest<'a, T, A, O> {
    pub(crate) items: &'a [T],
    pub(crate) first: usize,
    pub(crate) operator: O,
    pub(crate) acc: core::marker::PhantomData<A>,
}

impl<T: Widen<A>, A: Lane, O: PositionOperator> Kernel for FindBest<'_, T, A, O> {
    type Output = Best<A>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Best<A> {
        let Self { items, first, operator, .. } = self;
        let mut best = Best { value: items[0].widen(), block: first };
        for (index, block) in items.chunks(BLOCK).enumerate() {
            let here = first + index * BLOCK;
            let (found, suspicious) = match cast!(block, &[A]) {
                Ok(values) => look_through(simd, values, best.value, operator),
                Err(_) => {
                    let mut values = [A::default(); BLOCK];
                    half::widen(simd, block, &mut values[..block.len()]);
                    look_through(simd, &values[..block.len()], best.value, operator)
                }
            };
            if suspicious && let Some(nan) = block.iter().find(|item| item.widen().is_nan()) {
                return Best { value: nan.widen(), block: here };
            }
            if operator.wins(found, best.value) {
                best = Best { value: found, block: here };
            }
        }
        best
    }
}

/// Vectors in flight: a comparison takes up to four cycles and two start in one.
const UNROLL: usize = 8;

/// The best of `old` and the items of a block, and whether one of them may be NaN.
#[inline(always)]
fn look_through<S, A, O>(simd: S, block: &[A], old: A, operator: O) -> (A, bool)
where
    S: Simd,
    A: Lane,
    O: PositionOperator,
{
    let lanes = <A::Vector<S> as SimdBase<S>>::LEN;
    let known = A::Vector::<S>::simd_from(simd, old);
    let mut best = [known; UNROLL];
    let mut sums = [A::Vector::<S>::simd_from(simd, A::default()); UNROLL];
    let mut rows = block.chunks_exact(UNROLL * lanes);
    for row in &mut rows {
        for k in 0..UNROLL {
            let items = A::Vector::<S>::from_slice(simd, &row[k * lanes..(k + 1) * lanes]);
            best[k] = operator.pick::<S, A>(best[k], items);
            if !A::EXACT {
                sums[k] += items;
            }
        }
    }
    let mut half = UNROLL / 2;
    while half > 0 {
        for k in 0..half {
            best[k] = operator.pick::<S, A>(best[k], best[k + half]);
            sums[k] += sums[k + half];
        }
        half /= 2;
    }
    let mut suspicious = !A::EXACT && A::differ::<S>(sums[0], sums[0]);
    let mut found = old;
    if A::differ::<S>(best[0], known) {
        for &value in best[0].as_slice() {
            found = if operator.wins(value, found) { value } else { found };
        }
    }
    for &item in rows.remainder() {
        found = if operator.wins(item, found) { item } else { found };
        suspicious |= item.is_nan();
    }
    (found, suspicious)
}

/// Looks for the first position of a value that [`FindBest`] found.
pub(crate) struct FindFirst<'a, T, A> {
    /// All items of the array.
    pub(crate) items: &'a [T],
    pub(crate) best: Best<A>,
}

impl<T: Widen<A>, A: Number> Kernel for FindFirst<'_, T, A> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u64 {
        let Self { items, best: Best { value, block } } = self;
        let is_it = |item: &T| {
            let item: A = item.widen();
            item == value || (value.is_nan() && item.is_nan())
        };
        let mut at = block;
        let (rows, _) = items[block..].as_chunks::<64>();
        for row in rows {
            // Without a branch for each item, so that the row is compared as vectors.
            if row.iter().fold(false, |any, item| any | is_it(item)) {
                break;
            }
            at += row.len();
        }
        // The value was found in the block, so the search ends within it.
        (at + items[at..].iter().position(is_it).unwrap_or(0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use crate::tests::levels;

    fn position<T: Lane, O: PositionOperator>(items: &[T], operator: O) -> Vec<u64> {
        let find = |level| {
            let acc = core::marker::PhantomData::<T>;
            let best = isa::run(level, FindBest { items, first: 0, operator, acc });
            isa::run(level, FindFirst { items, best })
        };
        levels().into_iter().map(find).collect()
    }

    fn check<T: Lane>(items: &[T], smallest: u64, largest: u64) {
        assert!(position(items, ArgMin).iter().all(|&at| at == smallest), "{smallest}");
        assert!(position(items, ArgMax).iter().all(|&at| at == largest), "{largest}");
    }

    /// The extreme at every place of the first two blocks and a bit, once, twice and beside NaN.
    #[test]
    fn the_first_extreme_is_found_everywhere() {
        let len = 2 * BLOCK + 77;
        let smallest = len as u64 - 1;
        for at in (0..len - 1).step_by(13).chain([BLOCK - 1, BLOCK, len - 2]) {
            let mut items: Vec<f32> = vec![1.0; len];
            items[len - 1] = -1.0;
            items[at] = 2.0;
            items[(at + 500).min(len - 2)] = 2.0;
            check(&items, smallest, at as u64);
            items[at] = f32::NAN;
            check(&items, at as u64, at as u64);
            let mut bytes = vec![7u8; len];
            bytes[at] = 9;
            bytes[len - 1] = 3;
            check(&bytes, smallest, at as u64);
        }
    }

    #[test]
    fn infinities_and_zeros() {
        let mut items = vec![0.0f64; 3000];
        items[5] = -0.0;
        check(&items, 0, 0);
        items[2500] = f64::INFINITY;
        items[2501] = f64::NEG_INFINITY;
        items[2564] = f64::NEG_INFINITY;
        check(&items, 2501, 2500);
        check(&[f32::NEG_INFINITY; 100], 0, 0);
        check(&[i64::MIN, i64::MAX, i64::MIN], 0, 1);
    }
}
