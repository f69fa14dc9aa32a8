//! Scans with operators and elements of a user's own, most of which do not commute.

use upsweep::{ArgMax, ArgMin, Indexed};
use upsweep_testing::{
    Affine, Compose, Effort::Brief, Effort::Full, Input, Last, SaturatingSum, check_scan,
    check_scan_in_place,
};

#[test]
fn exact_maps() {
    let map = Affine { scale: 7, shift: 9 };
    check_scan::<Affine<u32>, Affine<u32>, _>(Compose, map, Input::Full, Full);
    check_scan_in_place::<Affine<u32>, _>(Compose, map, Input::Full, Full);
}

#[test]
fn maps_that_round() {
    let map = Affine { scale: 0.75, shift: 0.5 };
    check_scan::<Affine<f32>, Affine<f32>, _>(Compose, map, Input::Full, Full);
    check_scan_in_place::<Affine<f32>, _>(Compose, map, Input::Full, Full);
}

#[test]
fn the_last_item_that_is_not_zero() {
    check_scan::<u32, u32, _>(Last, 9, Input::Small, Full);
    check_scan_in_place::<u32, _>(Last, 9, Input::Small, Full);
}

#[test]
fn sums_that_saturate() {
    check_scan::<u32, u32, _>(SaturatingSum, 1 << 31, Input::Small, Brief);
    check_scan::<u32, u32, _>(SaturatingSum, 9, Input::Full, Brief);
    check_scan_in_place::<u32, _>(SaturatingSum, 9, Input::Small, Full);
}

/// A running argmin and argmax: structures with a gap between their fields.
#[test]
fn values_with_positions() {
    let start = Indexed { value: 0.5f32, index: 3 };
    check_scan::<Indexed<f32>, Indexed<f32>, _>(ArgMin, start, Input::Special, Brief);
    check_scan_in_place::<Indexed<f32>, _>(ArgMax, start, Input::Edges, Full);
}
