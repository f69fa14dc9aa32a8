//! Scans of signed integers: every operator in which the sign matters on every type, the others
//! (which are those of the unsigned types, bit for bit) on one.

use upsweep::{BitAnd, BitOr, BitXor, Max, Min, Product, Sum};
use upsweep_testing::{
    Effort::Brief, Effort::Full, Input, check_scan, check_scan_in_place as in_place,
};

macro_rules! integers {
    ($($test:ident $type:ident;)*) => { $(
        #[test]
        fn $test() {
            check_scan::<$type, $type, _>(Sum, -5, Input::Full, Full);
            check_scan::<$type, $type, _>(Min, 100, Input::Full, Full);
            check_scan::<$type, $type, _>(Max, -5, Input::Full, Brief);
            in_place::<$type, _>(Sum, -5, Input::Full, Full);
            in_place::<$type, _>(Min, 100, Input::Full, Brief);
            in_place::<$type, _>(Max, -5, Input::Full, Full);
        }
    )* };
}

integers! {
    signed_bytes i8;
    signed_integers_of_16_bits i16;
    signed_integers_of_32_bits i32;
    signed_integers_of_64_bits i64;
}

#[test]
fn operators_without_regard_to_the_sign() {
    check_scan::<i32, i32, _>(Product, -3, Input::Full, Full);
    check_scan::<i32, i32, _>(BitAnd, !8, Input::Full, Brief);
    check_scan::<i32, i32, _>(BitOr, 8, Input::Small, Brief);
    in_place::<i32, _>(Product, -3, Input::Full, Brief);
    in_place::<i32, _>(BitXor, 8, Input::Full, Brief);
    in_place::<i16, _>(Product, -3, Input::Full, Brief);
}
