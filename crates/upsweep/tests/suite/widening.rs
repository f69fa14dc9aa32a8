//! Items that are combined in a wider type than their own.

use upsweep::{Element, Max, Min, Product, Scan, Segments, Sum, bf16, f16, segmented_scan_into};
use upsweep_testing::{
    Effort::Brief, Effort::Full, Input, Sample, TestDevice, check_reduce, check_scan,
    for_each_device,
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

/// Floats of every exponent, around all that rounding to a short one decides by.
fn around_roundings(exponents: core::ops::Range<u32>) -> Vec<f32> {
    let near = |digits: u32| (digits - 1..=digits + 1).map(|digits| digits & 0x7f_ffff);
    let halves = (0..24).map(|bit| 1u32 << bit).chain([0x1800, 0x3000, 0x1_8000, 0x7f_f000]);
    let digits: Vec<u32> = halves.flat_map(near).chain([0, 0x2a_aaaa, 0x55_5555]).collect();
    let signs = |bits: u32| [bits, bits | 1 << 31].map(f32::from_bits);
    exponents
        .flat_map(|exponent| {
            digits.iter().map(move |digits| exponent << 23 | digits).collect::<Vec<_>>()
        })
        .flat_map(signs)
        .collect()
}

/// Each item in a segment of its own, stored as a short float: what the crate `half` makes of it, but for the bits of a NaN.
#[test]
fn short_floats_are_rounded_to_nearest() {
    fn check<U: Sample + Element<Acc = f32>>(device: &TestDevice, round: impl Fn(f32) -> U) {
        let least = u32::from(!device.limits().subnormals);
        let items = around_roundings(least..256);
        let flags = vec![1u8; items.len()];
        let mut output = vec![U::from_bits(0); items.len()];
        let segments = Segments::by_flags(&flags);
        let scan = Scan::inclusive(Sum);
        segmented_scan_into(&device.device, &items, &segments, &mut output, &scan).expect("a scan");
        for (&item, &found) in items.iter().zip(&output) {
            if item.is_nan() {
                assert!(found.to_acc().is_nan(), "{device}: {item}");
            } else {
                assert_eq!(found.bits(), round(item).bits(), "{device}: {item:e}");
            }
        }
    }
    for_each_device(|device| {
        check::<f16>(device, f16::from_f32);
        check::<bf16>(device, bf16::from_f32);
    });
}
