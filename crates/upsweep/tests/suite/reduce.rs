//! Reductions of every element, with every operator, on every device, at every boundary length,
//! against the oracle.

use upsweep::{BitAnd, BitOr, BitXor, Max, Min, Product, Sum, bf16, f16};
use upsweep_testing::{
    Affine, Compose, Effort::Brief, Effort::Full, Input, Last, SaturatingSum, check_reduce,
};

macro_rules! integers {
    ($($test:ident $type:ident;)*) => { $(
        #[test]
        fn $test() {
            check_reduce::<$type, $type, _>(Sum, 5, Input::Full, Full);
            check_reduce::<$type, $type, _>(Min, 5, Input::Full, Full);
            check_reduce::<$type, $type, _>(Max, 5, Input::Full, Full);
        }
    )* };
}

integers! {
    bytes u8;
    signed_bytes i8;
    integers_of_16_bits u16;
    signed_integers_of_16_bits i16;
    integers_of_32_bits u32;
    signed_integers_of_32_bits i32;
    integers_of_64_bits u64;
    signed_integers_of_64_bits i64;
}

/// Operators that do not look at the sign: each on a narrow and on a wide type.
#[test]
fn operators_without_regard_to_the_sign() {
    check_reduce::<u8, u8, _>(Product, 3, Input::Full, Full);
    check_reduce::<i16, i16, _>(BitAnd, !8, Input::Full, Full);
    check_reduce::<u16, u16, _>(BitOr, 8, Input::Small, Full);
    check_reduce::<i8, i8, _>(BitXor, 8, Input::Full, Full);
    check_reduce::<i64, i64, _>(Product, 3, Input::Full, Full);
    check_reduce::<u64, u64, _>(BitAnd, !8, Input::Full, Full);
    check_reduce::<i32, i32, _>(BitOr, 8, Input::Small, Full);
    check_reduce::<u32, u32, _>(BitXor, 8, Input::Full, Full);
}

macro_rules! floats {
    ($($test:ident $type:ident $acc:ident;)*) => { $(
        #[test]
        fn $test() {
            check_reduce::<$type, $acc, _>(Sum, 0.375, Input::Mixed, Full);
            check_reduce::<$type, $acc, _>(Sum, -0.0, Input::Zeros, Brief);
            check_reduce::<$type, $acc, _>(Sum, 1.0, Input::Special, Brief);
            check_reduce::<$type, $acc, _>(Product, 1.25, Input::NearOne, Full);
            check_reduce::<$type, $acc, _>(Min, 5.0, Input::Edges, Full);
            check_reduce::<$type, $acc, _>(Min, 0.0, Input::Special, Brief);
            check_reduce::<$type, $acc, _>(Max, -5.0, Input::Edges, Full);
            check_reduce::<$type, $acc, _>(Max, $acc::NAN, Input::Zeros, Brief);
        }
    )* };
}

floats! {
    half_precision f16 f32;
    brain_floats bf16 f32;
    single_precision f32 f32;
    double_precision f64 f64;
}

#[test]
fn operators_that_do_not_commute() {
    let map = Affine { scale: 7, shift: 9 };
    check_reduce::<Affine<u32>, Affine<u32>, _>(Compose, map, Input::Full, Full);
    let map = Affine { scale: 0.75, shift: 0.5 };
    check_reduce::<Affine<f32>, Affine<f32>, _>(Compose, map, Input::Full, Full);
    check_reduce::<u32, u32, _>(Last, 9, Input::Small, Full);
}

#[test]
fn an_operator_of_the_users_that_commutes() {
    check_reduce::<u32, u32, _>(SaturatingSum, 9, Input::Small, Full);
    check_reduce::<u32, u32, _>(SaturatingSum, 9, Input::Full, Brief);
}
