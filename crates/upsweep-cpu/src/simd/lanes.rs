//! Vectors of numbers: the built-in operators on them, and the shift across lanes.

use core::mem::MaybeUninit;

use fearless_simd::{Bytes, ExtractToken, Level, Select, Simd, SimdBase, SimdFrom, SimdMask};
use upsweep_core::{BitAnd, BitOr, BitXor, Max, Min, Number, Operator, Product, Sum};

use crate::isa::{self, Kernel};

/// A number that vectors hold.
pub(crate) trait Lane: Number {
    /// The widest vector of an instruction set.
    type Vector<S: Simd>: SimdBase<S, Element = Self, ByteVector = S::u8s>;

    /// The smaller value of each lane; either one where one is NaN.
    fn smaller<S: Simd>(left: Self::Vector<S>, right: Self::Vector<S>) -> Self::Vector<S>;

    /// The larger value of each lane; either one where one is NaN.
    fn larger<S: Simd>(left: Self::Vector<S>, right: Self::Vector<S>) -> Self::Vector<S>;

    /// Whether the values differ in some lane. NaN differs from everything.
    fn differ<S: Simd>(left: Self::Vector<S>, right: Self::Vector<S>) -> bool;
}

/// An operator that has a vector form, equal to its scalar form in every lane, bit for bit (a
/// NaN's payload excepted).
///
/// The vectors may hold keys in place of the numbers, which are combined in fewer instructions:
/// `combine(a, b)` is `decode(combine_keys(encode(a), encode(b)))`.
pub(crate) trait LaneOperator<A: Lane>: Operator<A> {
    /// What is combined.
    type Key: Lane;

    /// Whether keys are something else than the numbers, so that making them twice is dear.
    const ENCODES: bool;

    /// Numbers to keys.
    fn encode<S: Simd>(&self, numbers: A::Vector<S>) -> <Self::Key as Lane>::Vector<S>;

    /// Keys to numbers.
    fn decode<S: Simd>(&self, keys: <Self::Key as Lane>::Vector<S>) -> A::Vector<S>;

    /// Combines keys, lane by lane.
    fn combine_keys<S: Simd>(
        &self,
        left: <Self::Key as Lane>::Vector<S>,
        right: <Self::Key as Lane>::Vector<S>,
    ) -> <Self::Key as Lane>::Vector<S>;
}

/// `current` moved up by `DISTANCE` lanes, the last lanes of `previous` in front of it.
#[inline(always)]
pub(crate) fn shift_in<S: Simd, V: SimdBase<S>, const DISTANCE: usize>(
    previous: V,
    current: V,
) -> V {
    // The shift must be a constant, and the number of lanes is none on stable Rust: there is an
    // arm for each difference of a power of two of lanes and one of distances, of which the
    // compiler keeps one.
    macro_rules! arms {
        ($($shift:literal)*) => {
            match V::LEN - DISTANCE {
                $($shift => previous.slide::<$shift>(current),)*
                _ => unreachable!("distances are powers of two below the number of lanes"),
            }
        };
    }
    arms!(1 2 3 4 6 7 8 12 14 15 16 24 28 30 31 32 48 56 60 62 63)
}

/// Copies values, as many as there are places, all of which are written: few enough that a call of the system's copy takes its time.
#[inline(never)]
pub(crate) fn copy_to<A: Copy>(level: Level, from: &[A], to: &mut [MaybeUninit<A>]) {
    struct All<'a, A>(&'a [A], &'a mut [MaybeUninit<A>]);

    impl<A: Copy> Kernel for All<'_, A> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            let (rows, rest) = self.0.as_chunks::<32>();
            let (to_rows, to_rest) = self.1.as_chunks_mut::<32>();
            for (to, row) in to_rows.iter_mut().zip(rows) {
                // SAFETY: there is place for as many values.
                unsafe { to.as_mut_ptr().cast::<[A; 32]>().write(*row) };
            }
            for (to, value) in to_rest.iter_mut().zip(rest) {
                to.write(*value);
            }
        }
    }

    assert_eq!(from.len(), to.len());
    isa::run(level, All(from, to));
}

/// Writes a value to all places.
#[inline(never)]
pub(crate) fn fill_at<A: Copy>(level: Level, values: &mut [A], value: A) {
    struct All<'a, A>(&'a mut [A], A);

    impl<A: Copy> Kernel for All<'_, A> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            self.0.fill(self.1);
        }
    }

    isa::run(level, All(values, value));
}

/// Turns values round.
#[inline(never)]
pub(crate) fn reverse_at<A>(level: Level, values: &mut [A]) {
    struct All<'a, A>(&'a mut [A]);

    impl<A> Kernel for All<'_, A> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            self.0.reverse();
        }
    }

    isa::run(level, All(values));
}

macro_rules! lane {
    ($($type:ident $vector:ident)*) => { $(
        impl Lane for $type {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn smaller<S: Simd>(left: S::$vector, right: S::$vector) -> S::$vector {
                left.min(right)
            }

            #[inline(always)]
            fn larger<S: Simd>(left: S::$vector, right: S::$vector) -> S::$vector {
                left.max(right)
            }

            #[inline(always)]
            fn differ<S: Simd>(left: S::$vector, right: S::$vector) -> bool {
                !left.simd_eq(right).all_true()
            }
        }
    )* };
}

lane!(u8 u8s i8 i8s u16 u16s i16 i16s u32 u32s i32 i32s u64 u64s i64 i64s f32 f32s f64 f64s);

macro_rules! lane_operator {
    ($operator:ident: $($type:ident $vector:ident)* => |$left:ident, $right:ident| $combine:expr) => { $(
        impl LaneOperator<$type> for $operator {
            type Key = $type;
            const ENCODES: bool = false;

            #[inline(always)]
            fn encode<S: Simd>(&self, numbers: S::$vector) -> S::$vector {
                numbers
            }

            #[inline(always)]
            fn decode<S: Simd>(&self, keys: S::$vector) -> S::$vector {
                keys
            }

            #[inline(always)]
            fn combine_keys<S: Simd>(&self, $left: S::$vector, $right: S::$vector) -> S::$vector {
                $combine
            }
        }
    )* };
}

macro_rules! integer_lane_operators {
    ($($types:tt)*) => {
        lane_operator!(Sum: $($types)* => |l, r| l + r);
        lane_operator!(Product: $($types)* => |l, r| l * r);
        lane_operator!(Min: $($types)* => |l, r| l.min(r));
        lane_operator!(Max: $($types)* => |l, r| l.max(r));
        lane_operator!(BitAnd: $($types)* => |l, r| l & r);
        lane_operator!(BitOr: $($types)* => |l, r| l | r);
        lane_operator!(BitXor: $($types)* => |l, r| l ^ r);
    };
}

integer_lane_operators!(u8 u8s i8 i8s u16 u16s i16 i16s u32 u32s i32 i32s u64 u64s i64 i64s);

/// The bits of a float as an integer of the same order, or back.
macro_rules! turned_over {
    ($bits:expr, $key:ident) => {{
        let bits = $bits;
        bits ^ ((bits >> ($key::BITS - 1)) & $key::MAX)
    }};
}

/// Floats as integers of the same order, −0 below +0: the bits of a negative number, all but its
/// sign, are turned over. Every NaN becomes the one integer that beats all others, which turns
/// back into a NaN.
macro_rules! float_extreme {
    ($($operator:ident $float:ident $floats:ident $key:ident $keys:ident $method:ident $nan:expr;)*) => { $(
        impl LaneOperator<$float> for $operator {
            type Key = $key;
            const ENCODES: bool = true;

            #[inline(always)]
            fn encode<S: Simd>(&self, numbers: S::$floats) -> S::$keys {
                let bits = numbers.bitcast::<S::$keys>();
                let keys = turned_over!(bits, $key);
                let nan = S::$keys::simd_from(numbers.token(), $nan);
                numbers.simd_eq(numbers).select(keys, nan)
            }

            #[inline(always)]
            fn decode<S: Simd>(&self, keys: S::$keys) -> S::$floats {
                turned_over!(keys, $key).bitcast::<S::$floats>()
            }

            #[inline(always)]
            fn combine_keys<S: Simd>(&self, left: S::$keys, right: S::$keys) -> S::$keys {
                left.$method(right)
            }
        }
    )* };
}

float_extreme! {
    Min f32 f32s i32 i32s min i32::MIN;
    Max f32 f32s i32 i32s max i32::MAX;
    Min f64 f64s i64 i64s min i64::MIN;
    Max f64 f64s i64 i64s max i64::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    struct CombineAll<'a, A, O>(&'a [A], O);

    impl<A: Lane, O: LaneOperator<A>> Kernel for CombineAll<'_, A, O> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let lanes = <A::Vector<S> as SimdBase<S>>::LEN;
            for &left in self.0 {
                for rights in self.0.chunks_exact(lanes) {
                    let lefts = self.1.encode::<S>(A::Vector::<S>::simd_from(simd, left));
                    let rights_keys = self.1.encode::<S>(A::Vector::<S>::from_slice(simd, rights));
                    let found = self.1.decode::<S>(self.1.combine_keys::<S>(lefts, rights_keys));
                    for (lane, &right) in rights.iter().enumerate() {
                        let expected = self.1.combine(left, right);
                        let found = found.as_slice()[lane];
                        let same = bytemuck::bytes_of(&found) == bytemuck::bytes_of(&expected);
                        assert!(same || (found.is_nan() && expected.is_nan()), "{left} {right}");
                    }
                }
            }
        }
    }

    fn check<A: Lane>(samples: &[A], operators: impl Fn(Level, &[A])) {
        // A whole number of the widest vector.
        let repeated: Vec<A> = samples.iter().copied().cycle().take(128).collect();
        for level in levels() {
            operators(level, &repeated);
        }
    }

    macro_rules! every {
        ($($type:ident $samples:expr, $($operator:ident)*;)*) => { $(
            check::<$type>(&$samples, |level, samples| {
                $(isa::run(level, CombineAll(samples, $operator));)*
            });
        )* };
    }

    #[test]
    fn vector_operators_equal_the_scalar_ones() {
        const FLOATS: [f32; 13] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.5,
            -2.5,
            3e38,
            -3e38,
            1e-40,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MAX,
        ];
        every! {
            u8 [0, 1, 2, 7, 127, 128, 200, 255], Sum Product Min Max BitAnd BitOr BitXor;
            i8 [0, 1, -1, 7, 127, -128, 100, -77], Sum Product Min Max BitAnd BitOr BitXor;
            u16 [0, 1, 255, 256, 32767, 32768, 65535], Sum Product Min Max BitAnd BitOr BitXor;
            i16 [0, 1, -1, 255, 32767, -32768, 12345], Sum Product Min Max BitAnd BitOr BitXor;
            u32 [0, 1, 65536, !0, 1 << 31, 0x1234_5678], Sum Product Min Max BitAnd BitOr BitXor;
            i32 [0, 1, -1, i32::MAX, i32::MIN, 77], Sum Product Min Max BitAnd BitOr BitXor;
            u64 [0, 1, 1 << 32, !0, 1 << 63, 0x1234_5678_9abc], Sum Product Min Max BitAnd BitOr BitXor;
            i64 [0, 1, -1, i64::MAX, i64::MIN, 1 << 40], Sum Product Min Max BitAnd BitOr BitXor;
            f32 FLOATS, Min Max;
            f64 FLOATS.map(f64::from), Min Max;
        }
    }

    struct Shift;

    impl Kernel for Shift {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let lanes = <S::u8s as SimdBase<S>>::LEN;
            let numbers: Vec<u8> = (0..2 * lanes as u8).collect();
            let previous = S::u8s::from_slice(simd, &numbers[..lanes]);
            let current = S::u8s::from_slice(simd, &numbers[lanes..]);
            macro_rules! distances {
                ($($distance:literal)*) => { $(
                    if $distance < lanes {
                        let shifted = shift_in::<S, _, $distance>(previous, current);
                        let expected = &numbers[lanes - $distance..2 * lanes - $distance];
                        assert_eq!(shifted.as_slice(), expected);
                    }
                )* };
            }
            distances!(1 2 4 8 16 32);
        }
    }

    #[test]
    fn a_shift_takes_the_last_lanes_of_the_vector_before() {
        for level in levels() {
            isa::run(level, Shift);
        }
    }
}
