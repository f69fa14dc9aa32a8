//! Scans of unsigned integers: every operator, every variant, in place and out of place, on every device,
//! at every boundary length, against the oracle.

use upsweep::{BitAnd, BitOr, BitXor, Max, Min, Product, Sum};
use upsweep_testing::{
    Effort::Brief, Effort::Full, Input, check_scan, check_scan_in_place as in_place,
};

macro_rules! integers {
    ($($test:ident $type:ident;)*) => { $(
        #[test]
        fn $test() {
            check_scan::<$type, $type, _>(Sum, 5, Input::Full, Full);
            check_scan::<$type, $type, _>(Product, 3, Input::Full, Full);
            check_scan::<$type, $type, _>(Min, 100, Input::Full, Brief);
            check_scan::<$type, $type, _>(Max, 5, Input::Full, Brief);
            check_scan::<$type, $type, _>(BitAnd, !8, Input::Full, Brief);
            check_scan::<$type, $type, _>(BitOr, 8, Input::Small, Brief);
            check_scan::<$type, $type, _>(BitXor, 8, Input::Full, Brief);
            in_place::<$type, _>(Sum, 5, Input::Full, Full);
            in_place::<$type, _>(Product, 3, Input::Full, Full);
            in_place::<$type, _>(Min, 100, Input::Full, Brief);
            in_place::<$type, _>(Max, 5, Input::Full, Brief);
            in_place::<$type, _>(BitAnd, !8, Input::Full, Brief);
            in_place::<$type, _>(BitOr, 8, Input::Small, Brief);
            in_place::<$type, _>(BitXor, 8, Input::Full, Brief);
        }
    )* };
}

integers! {
    bytes u8;
    integers_of_16_bits u16;
    integers_of_32_bits u32;
    integers_of_64_bits u64;
}
