//! Structures of numbers on every device: reduced, scanned, in place, from start values, and read back as they are.

use upsweep::{Array, Error, Indexed};
use upsweep_testing::{
    AddedPowers, Around, BothTagged, Effort::Brief, Extent, InSteps, Input, Joined, LargestStretch,
    Pair, Powers, Recurrence, Recurs, Sample, Step, Stretch, Tagged, Wide, WideSum, assert_same,
    check_reduce, check_scan, check_scan_in_place, for_each_device,
};

/// A start value.
fn start<A: Sample>() -> A {
    A::sample(Input::Full, 0x1234_5678_9abc_def0)
}

#[test]
fn structures_are_reduced() {
    check_reduce::<Powers, Powers, _>(AddedPowers, start(), Input::Full, Brief);
    check_reduce::<Tagged, Tagged, _>(BothTagged, start(), Input::Full, Brief);
    check_reduce::<Wide, Wide, _>(WideSum, start(), Input::Full, Brief);
    check_reduce::<Extent, Extent, _>(Around, start(), Input::Full, Brief);
}

#[test]
fn structures_are_reduced_in_their_order() {
    check_reduce::<Pair, Pair, _>(Joined, start(), Input::Full, Brief);
    check_reduce::<Step, Step, _>(InSteps, start(), Input::Full, Brief);
    check_reduce::<Recurrence, Recurrence, _>(Recurs, start(), Input::Full, Brief);
    check_reduce::<Stretch, Stretch, _>(LargestStretch, start(), Input::Full, Brief);
}

#[test]
fn small_structures_are_scanned() {
    check_scan::<Pair, Pair, _>(Joined, start(), Input::Full, Brief);
    check_scan::<Step, Step, _>(InSteps, start(), Input::Full, Brief);
    check_scan::<Recurrence, Recurrence, _>(Recurs, start(), Input::Full, Brief);
}

#[test]
fn large_structures_are_scanned() {
    check_scan::<Powers, Powers, _>(AddedPowers, start(), Input::Full, Brief);
    check_scan::<Stretch, Stretch, _>(LargestStretch, start(), Input::Full, Brief);
    check_scan::<Tagged, Tagged, _>(BothTagged, start(), Input::Full, Brief);
    check_scan::<Wide, Wide, _>(WideSum, start(), Input::Full, Brief);
    check_scan::<Extent, Extent, _>(Around, start(), Input::Full, Brief);
}

#[test]
fn structures_are_scanned_in_place() {
    check_scan_in_place::<Step, _>(InSteps, start(), Input::Full, Brief);
    check_scan_in_place::<Powers, _>(AddedPowers, start(), Input::Full, Brief);
    check_scan_in_place::<Wide, _>(WideSum, start(), Input::Full, Brief);
}

#[test]
fn arrays_hold_structures() {
    fn holds<T: Sample>(items: usize) {
        for_each_device(|device| {
            if !device.supports(&[T::KIND]) {
                return;
            }
            let own: Vec<T> = Input::Full.array(3, items);
            let mut array = Array::from_slice(&device.device, &own).expect("memory");
            assert_same(&array.to_vec().expect("it can be read"), &own, device);
            let other: Vec<T> = Input::Full.array(4, items);
            array.copy_from_slice(&other).expect("as many");
            assert_same(&array.into_vec().expect("it can be read"), &other, device);
            let filled = Array::filled(&device.device, items, own[1]).expect("memory");
            assert_same(&filled.into_vec().expect("it can be read"), &vec![own[1]; items], device);
        });
    }
    holds::<Pair>(1001);
    holds::<Powers>(1001);
    holds::<Wide>(70_001);
    holds::<Extent>(7);
}

#[test]
fn what_kernels_do_not_have_is_refused() {
    for_each_device(|device| {
        let gaps = [Indexed { value: 1.0f32, index: 0 }];
        match Array::from_slice(&device.device, &gaps) {
            Ok(_) => assert!(!device.is_gpu(), "{device}"),
            Err(Error::ElementUnsupported { reason, .. }) => {
                assert!(device.is_gpu() && reason.contains("derive"), "{device}: {reason}");
            }
            Err(error) => panic!("{device}: {error}"),
        }
    });
}
