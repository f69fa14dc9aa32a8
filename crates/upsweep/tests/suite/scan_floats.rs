//! Scans of floats: bit for bit as the summation specification says, every operator, every
//! variant, in place and out of place, on every device, at every boundary length.

use upsweep::{Max, Min, Product, Sum, bf16, f16};
use upsweep_testing::{
    Effort::Brief, Effort::Full, Input, check_scan, check_scan_in_place as in_place,
};

macro_rules! floats {
    ($($test:ident $type:ident $acc:ident;)*) => { $(
        #[test]
        fn $test() {
            check_scan::<$type, $type, _>(Sum, 0.375, Input::Mixed, Full);
            check_scan::<$type, $type, _>(Sum, -0.0, Input::Zeros, Brief);
            check_scan::<$type, $type, _>(Sum, 1.0, Input::Special, Brief);
            check_scan::<$type, $type, _>(Product, 1.25, Input::NearOne, Full);
            check_scan::<$type, $type, _>(Min, 5.0, Input::Edges, Full);
            check_scan::<$type, $type, _>(Max, $acc::NAN, Input::Special, Brief);
            in_place::<$type, _>(Sum, 0.375, Input::Mixed, Full);
            in_place::<$type, _>(Product, 1.25, Input::NearOne, Brief);
            in_place::<$type, _>(Min, 0.0, Input::Special, Brief);
            in_place::<$type, _>(Max, -5.0, Input::Edges, Full);
        }
    )* };
}

floats! {
    half_precision f16 f32;
    brain_floats bf16 f32;
    single_precision f32 f32;
    double_precision f64 f64;
}
