//! Smallest and largest values, where the plain loop takes many instructions for an item: floats,
//! whose NaNs and zeros have rules, and 64-bit integers, which AVX2 cannot compare in one.
//!
//! The rules are kept apart from the loop. A comparison may lose a NaN, so a sum of all items
//! watches for one. It takes the zeros for equal, so the signs of all items are watched: where the
//! smallest value is a zero, no item is less than zero, and a sign can only be that of a −0; where
//! the largest is a zero, an item without a sign can only be a +0.

use castaway::cast;
use fearless_simd::{Bytes, Level, Simd, SimdBase, SimdFrom};
use upsweep_core::{ArgMax, ArgMin, Builtin, Dtype, Element, Max, Min, Operator, Widen};

use super::position::PositionOperator;
use crate::isa::{self, Kernel};
use crate::known::is_pair;
use crate::simd::lanes::Lane;

/// Whether [`value`] gives one, known when a call is compiled.
pub(crate) const fn is_found<T: Element, A: Element, O: Operator<A>>() -> bool {
    let (Some(item), Some(combined)) = (T::KIND.number(), A::KIND.number()) else { return false };
    matches!(O::BUILTIN, Some(Builtin::Min | Builtin::Max))
        && matches!(
            (item, combined),
            (Dtype::F32, Dtype::F32)
                | (Dtype::F64, Dtype::F64)
                | (Dtype::U64, Dtype::U64)
                | (Dtype::I64, Dtype::I64)
        )
}

/// The extreme of all items, of which there is at least one, if this is a problem of the kind.
#[inline(always)]
pub(crate) fn value<T, A, O>(level: Level, items: &[T]) -> Option<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    macro_rules! kernels {
        ($($type:ident: $($operator:ident $position:ident)*;)*) => { $($(
            if const { is_pair::<A, $type, O>(Builtin::$operator) } {
                let items = cast!(items, &[$type]).ok()?;
                // A function of this crate, compiled once and not again for every caller.
                fn find(level: Level, items: &[$type]) -> $type {
                    let found = isa::run(level, FindValue { items, operator: $position });
                    if found.suspicious
                        && let Some(&nan) = items.iter().find(|item| item.differs_from_itself())
                    {
                        return nan;
                    }
                    found.value.with_zero_of($operator, found.any_sign, found.all_signs)
                }
                return cast!(find(level, items), A).ok();
            }
        )*)* };
    }
    kernels! {
        f32: Min ArgMin Max ArgMax;
        f64: Min ArgMin Max ArgMax;
        u64: Min ArgMin Max ArgMax;
        i64: Min ArgMin Max ArgMax;
    }
    None
}

/// What a look through all items has found.
struct BestSoFar<A> {
    value: A,
    /// Whether an item may be NaN.
    suspicious: bool,
    /// Whether an item has its first bit set.
    any_sign: bool,
    /// Whether all items have.
    all_signs: bool,
}

struct FindValue<'a, A, O> {
    items: &'a [A],
    operator: O,
}

/// Vectors in flight. With the sums and signs of each they fill the registers of AVX-512.
const UNROLL: usize = 4;

impl<A: Lane, O: PositionOperator> Kernel for FindValue<'_, A, O> {
    type Output = BestSoFar<A>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> BestSoFar<A> {
        let Self { items, operator } = self;
        let lanes = <A::Vector<S> as SimdBase<S>>::LEN;
        let splat = |item| A::Vector::<S>::simd_from(simd, item);
        let bytes = |vector: A::Vector<S>| vector.bitcast::<S::u8s>();
        let mut best = [splat(items[0]); UNROLL];
        let mut sums = [splat(A::default()); UNROLL];
        let mut any = [bytes(splat(items[0])); UNROLL];
        let mut all = any;
        let mut rows = items.chunks_exact(UNROLL * lanes);
        for row in &mut rows {
            for k in 0..UNROLL {
                let items = A::Vector::<S>::from_slice(simd, &row[k * lanes..(k + 1) * lanes]);
                best[k] = operator.pick::<S, A>(best[k], items);
                if !A::EXACT {
                    sums[k] += items;
                    any[k] |= bytes(items);
                    all[k] &= bytes(items);
                }
            }
        }
        let mut half = UNROLL / 2;
        while half > 0 {
            for k in 0..half {
                best[k] = operator.pick::<S, A>(best[k], best[k + half]);
                sums[k] += sums[k + half];
                any[k] |= any[k + half];
                all[k] &= all[k + half];
            }
            half /= 2;
        }
        // The sign is in the last byte of a little-endian number.
        let last = size_of::<A>() - 1;
        let sign = |bytes: &[u8]| bytes[last] >> 7 == 1;
        let mut found = BestSoFar {
            value: items[0],
            suspicious: !A::EXACT && A::differ::<S>(sums[0], sums[0]),
            any_sign: any[0].as_slice().chunks_exact(size_of::<A>()).any(sign),
            all_signs: all[0].as_slice().chunks_exact(size_of::<A>()).all(sign),
        };
        for &item in best[0].as_slice() {
            found.value = if operator.wins(item, found.value) { item } else { found.value };
        }
        for &item in rows.remainder() {
            found.value = if operator.wins(item, found.value) { item } else { found.value };
            found.suspicious |= item.is_nan();
            let signed = sign(bytemuck::bytes_of(&item));
            found.any_sign |= signed;
            found.all_signs &= signed;
        }
        found
    }
}

/// What is left to do with the value that was found.
trait Finish: Copy {
    /// Whether this is NaN.
    fn differs_from_itself(self) -> bool;

    /// The value, or the zero that the operator prefers if the value is a zero.
    fn with_zero_of(self, operator: impl ZeroOf, any_sign: bool, all_signs: bool) -> Self;
}

/// Which zero an operator prefers.
trait ZeroOf {
    /// Whether it is −0, given which signs there are.
    fn negative(self, any_sign: bool, all_signs: bool) -> bool;
}

impl ZeroOf for Min {
    fn negative(self, any_sign: bool, _: bool) -> bool {
        any_sign
    }
}

impl ZeroOf for Max {
    fn negative(self, _: bool, all_signs: bool) -> bool {
        all_signs
    }
}

macro_rules! finish {
    ($($float:ident)*; $($integer:ident)*) => {
        $(impl Finish for $float {
            #[inline(always)]
            fn differs_from_itself(self) -> bool {
                self.is_nan()
            }

            fn with_zero_of(self, operator: impl ZeroOf, any_sign: bool, all_signs: bool) -> Self {
                if self != 0.0 {
                    self
                } else if operator.negative(any_sign, all_signs) {
                    -0.0
                } else {
                    0.0
                }
            }
        })*
        $(impl Finish for $integer {
            #[inline(always)]
            fn differs_from_itself(self) -> bool {
                false
            }

            fn with_zero_of(self, _: impl ZeroOf, _: bool, _: bool) -> Self {
                self
            }
        })*
    };
}

finish!(f32 f64; u64 i64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    fn check(items: &[f32]) {
        let same = |found: f32, expected: f32| {
            let same = found.to_bits() == expected.to_bits();
            assert!(same || (found.is_nan() && expected.is_nan()), "{found} {expected}");
        };
        for level in levels() {
            let fold = |combine: &dyn Fn(f32, f32) -> f32| {
                items.iter().copied().reduce(combine).expect("an item")
            };
            let found = value::<f32, f32, Min>(level, items).expect("a kernel");
            same(found, fold(&|l, r| Min.combine(l, r)));
            let found = value::<f32, f32, Max>(level, items).expect("a kernel");
            same(found, fold(&|l, r| Max.combine(l, r)));
        }
    }

    #[test]
    fn zeros_nans_and_infinities_at_every_place() {
        for len in [1, 2, 15, 16, 17, 63, 64, 65, 127, 300] {
            for special in [-0.0, 0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 5.0, -5.0] {
                for rest in [0.0, -0.0, 1.0, -1.0, f32::NEG_INFINITY] {
                    for at in (0..len).step_by(7).chain([len - 1]) {
                        let mut items = vec![rest; len];
                        items[at] = special;
                        check(&items);
                    }
                }
            }
        }
    }

    #[test]
    fn is_taken_for_items_that_are_not_widened_only() {
        let level = levels()[0];
        assert_eq!(value::<f32, f64, Min>(level, &[1.0]), None);
        assert_eq!(value::<i64, i64, Max>(level, &[-1, 3, 2]), Some(3));
        assert_eq!(value::<u64, u64, upsweep_core::Sum>(level, &[1]), None);
    }
}
