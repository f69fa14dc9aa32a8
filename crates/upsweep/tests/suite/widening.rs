//! Items that are combined in a wider type than their own.

use upsweep::{Max, Min, Product, Sum, bf16, f16};
use upsweep_testing::{
    Effort::Brief, Effort::Full, Input, check_reduce, check_scan, for_each_device,
};

#[test]
fn short_integers_are_summed_in_64_bits() {
    check_reduce::<u8, u64, _>(Sum, u64::MAX, Input::Full, Full);
    check_reduce::<i8, i64, _>(Sum, i64::MIN, Input::Full, Full);
    check_reduce::<u16, u64, _>(Sum, 5, Input::Full, Full);
    check_reduce::<i16, i64, _>(Sum, 5, Input::Full, Full);
    check_reduce::<u32, u64, _>(Sum, 5, Input::Full, Full);
    check_reduce::<i32, i64, _>(Sum, -5, Input::Full, Full);
}

#[test]
fn integers_are_combined_in_other_types() {
    check_reduce::<u8, u16, _>(Sum, 5, Input::Full, Brief);
    check_reduce::<u8, i32, _>(Sum, -5, Input::Full, Brief);
    check_reduce::<u16, i64, _>(Product, 3, Input::Full, Brief);
    check_reduce::<i8, i16, _>(Min, -200, Input::Full, Brief);
    check_reduce::<u32, i64, _>(Max, -1, Input::Full, Brief);
}

#[test]
fn integers_become_floats() {
    check_reduce::<u8, f32, _>(Sum, 0.5, Input::Full, Full);
    check_reduce::<i32, f64, _>(Sum, 0.5, Input::Full, Brief);
    check_reduce::<u64, f64, _>(Sum, 0.5, Input::Full, Full);
    check_reduce::<i64, f64, _>(Max, 0.5, Input::Full, Brief);
}

#[test]
fn floats_become_wider() {
    check_reduce::<f16, f64, _>(Sum, 0.375, Input::Mixed, Brief);
    check_reduce::<bf16, f64, _>(Sum, 0.375, Input::Mixed, Full);
    check_reduce::<f32, f64, _>(Sum, 0.375, Input::Mixed, Full);
    check_reduce::<f32, f64, _>(Product, 1.25, Input::NearOne, Brief);
}

#[test]
fn scans_write_wider_types() {
    check_scan::<u8, u64, _>(Sum, 5, Input::Full, Full);
    check_scan::<u8, u32, _>(Sum, 5, Input::Full, Brief);
    check_scan::<i16, i64, _>(Sum, -5, Input::Full, Brief);
    check_scan::<u16, f32, _>(Sum, 0.5, Input::Full, Brief);
    check_scan::<u64, f64, _>(Sum, 0.5, Input::Full, Brief);
    check_scan::<f16, f32, _>(Sum, 0.375, Input::Mixed, Full);
    check_scan::<bf16, f32, _>(Product, 1.25, Input::NearOne, Brief);
    check_scan::<f32, f64, _>(Sum, 0.375, Input::Mixed, Full);
}

/// The output may also be narrower than what items are combined in: it rounds once, when stored.
#[test]
fn a_short_output_rounds_once() {
    check_scan::<f32, f16, _>(Sum, 0.375, Input::Uniform, Brief);
    check_scan::<u8, bf16, _>(Sum, 0.375, Input::Full, Brief);
    // 2048 + 1 is no f16, but 2048 + 1 + 1 is: a carry that was rounded would stay at 2048.
    for_each_device(|device| {
        let mut output = [f16::ZERO; 3];
        let items = [2048.0f32, 1.0, 1.0].map(f16::from_f32);
        upsweep::inclusive_scan_into(&device.device, &items, &mut output, Sum)
            .unwrap_or_else(|error| panic!("{device}: {error}"));
        assert_eq!(output.map(f16::to_f32), [2048.0, 2048.0, 2050.0], "{device}");
    });
}
