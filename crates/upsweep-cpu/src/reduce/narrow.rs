//! Sums of short integers in 64 bits, without widening every item to 64 bits.
//!
//! Integers may be added in any order, so the lanes of a block of rows are sums in a type that is
//! just wide enough for the block; only they are widened. One vector instruction then takes in
//! four times as many bytes.

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{Builtin, Dtype, Element, Operator, Sum, Widen};

use crate::isa::{self, Kernel};
use crate::known::is_number;

/// Rows whose sum every lane can hold: 256 · 255 < 2¹⁶, 256 · (2¹⁶ − 1) < 2³², and the same for
/// the signed types, −256 · 128 = −2¹⁵.
const ROWS: usize = 256;

/// Whether [`sum`] gives one, known when a call is compiled.
pub(crate) const fn is_found<T: Element, A: Element, O: Operator<A>>() -> bool {
    let (Some(item), Some(wide)) = (T::KIND.number(), A::KIND.number()) else { return false };
    matches!(O::BUILTIN, Some(Builtin::Sum))
        && matches!(
            (item, wide),
            (Dtype::U8 | Dtype::U16, Dtype::U64) | (Dtype::I8 | Dtype::I16, Dtype::I64)
        )
}

/// The sum of all items, if this is a sum of short integers in 64 bits.
#[inline(always)]
pub(crate) fn sum<T, A, O>(level: Level, items: &[T], operator: O) -> Option<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    cast!(operator, Sum).ok()?;
    macro_rules! through {
        ($($item:ident $wide:ident $function:ident,)*) => { $(
            if const { is_number::<A, $wide>() && is_number::<T, $item>() } {
                let items = cast!(items, &[$item]).ok()?;
                return cast!($function(level, items), A).ok();
            }
        )* };
    }
    through! {
        u8 u64 sum_u8,
        i8 i64 sum_i8,
        u16 u64 sum_u16,
        i16 i64 sum_i16,
    }
    None
}

macro_rules! narrow {
    ($($function:ident $item:ident $lane:ident $wide:ident;)*) => { $(
        fn $function(level: Level, items: &[$item]) -> $wide {
            struct Narrow<'a>(&'a [$item]);

            impl Kernel for Narrow<'_> {
                type Output = $wide;

                #[inline(always)]
                fn run<S: Simd>(self, _: S) -> $wide {
                    let mut total: $wide = 0;
                    for block in self.0.chunks(ROWS * LANES) {
                        let (rows, rest) = block.as_chunks::<LANES>();
                        let mut lanes: [$lane; LANES] = [0; LANES];
                        for row in rows {
                            for lane in 0..LANES {
                                lanes[lane] = lanes[lane].wrapping_add($lane::from(row[lane]));
                            }
                        }
                        for lane in lanes {
                            total = total.wrapping_add($wide::from(lane));
                        }
                        for &item in rest {
                            total = total.wrapping_add($wide::from(item));
                        }
                    }
                    total
                }
            }

            isa::run(level, Narrow(items))
        }
    )* };
}

narrow! {
    sum_u8 u8 u16 u64;
    sum_i8 i8 i16 i64;
    sum_u16 u16 u32 u64;
    sum_i16 i16 i32 i64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    /// The values at which a lane that is too narrow would wrap.
    #[test]
    fn lanes_hold_the_extremes() {
        let items = 3 * ROWS * LANES + LANES + 5;
        for level in levels() {
            assert_eq!(sum_u8(level, &vec![u8::MAX; items]), items as u64 * 255);
            assert_eq!(sum_i8(level, &vec![i8::MIN; items]), items as i64 * -128);
            assert_eq!(sum_i8(level, &vec![i8::MAX; items]), items as i64 * 127);
            assert_eq!(sum_u16(level, &vec![u16::MAX; items]), items as u64 * 65_535);
            assert_eq!(sum_i16(level, &vec![i16::MIN; items]), items as i64 * -32_768);
        }
    }

    #[test]
    fn is_taken_for_the_right_types_only() {
        let level = levels()[0];
        assert_eq!(sum::<u8, u64, _>(level, &[255, 255], Sum), Some(510));
        assert_eq!(sum::<i16, i64, _>(level, &[-5, 2], Sum), Some(-3));
        assert_eq!(sum::<u8, u8, _>(level, &[1], Sum), None);
        assert_eq!(sum::<u8, u64, _>(level, &[1], upsweep_core::Max), None);
    }
}
