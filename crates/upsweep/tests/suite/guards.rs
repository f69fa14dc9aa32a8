//! Guard bands and misaligned starts: nothing outside is touched, wherever an array begins.

use upsweep::strategy::Policy;
use upsweep::summation::{LANES, TILE, WINDOW};
use upsweep::{
    Device, Element, Max, Operator, Scan, Sum, Widen, bf16, reduce, scan_in_place_with,
    scan_into_with,
};
use upsweep_testing::{
    Guarded, Input, POISONS, Sample, Selection, TestDevice, assert_same, expected_scan,
    for_each_device_of,
};

/// Devices that work in the host's memory: others are sent copies, which begin where they like.
fn on_cpus(mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if !device.is_gpu() {
            body(device);
        }
    });
}

/// Every start of the output relative to a cache line, with another one of the input.
fn every_start<T, U, O>(operator: O, input: Input)
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    for items in [1, 3, LANES - 1, LANES + 5, TILE + 9] {
        let array: Vec<T> = input.array(items as u64, items);
        for problem in [Scan::inclusive(operator), Scan::exclusive(operator).reverse()] {
            let expected: Vec<U> = expected_scan(&array, &problem);
            for offset in 0..64 / size_of::<U>() {
                let source = Guarded::holding(&array, 3 * offset + 1, POISONS[0]);
                let mut target = Guarded::<U>::new(items, offset, POISONS[1]);
                on_cpus(|device| {
                    target.items_mut().fill(U::from_bits(POISONS[0]));
                    let done = scan_into_with(
                        &device.device,
                        source.items(),
                        target.items_mut(),
                        &problem,
                    );
                    done.unwrap_or_else(|error| panic!("{device}: {error}"));
                    let context = format!("{device}: {items} items, start {offset}");
                    assert_same(target.items(), &expected, &context);
                    target.check_bands(&context);
                    source.check_bands(&context);
                    assert_same(source.items(), &array, "the input stays as it is");
                });
            }
        }
    }
}

#[test]
fn arrays_may_start_anywhere() {
    every_start::<u8, u8, _>(Sum, Input::Full);
    every_start::<bf16, bf16, _>(Sum, Input::Mixed);
    every_start::<f32, f32, _>(Sum, Input::Mixed);
    every_start::<u64, u64, _>(Max, Input::Full);
    every_start::<u8, u32, _>(Sum, Input::Full);
}

/// A reduction reads nothing before and behind: the bands hold a value that would show.
#[test]
fn reductions_read_what_they_are_given() {
    for items in [1, LANES - 1, LANES + 1, TILE + 1, 5 * TILE - 3] {
        for offset in 0..16 {
            let array = vec![1u32; items];
            let source = Guarded::holding(&array, offset, POISONS[0]);
            on_cpus(|device| {
                let sum = reduce(&device.device, source.items(), Sum);
                assert_eq!(sum, Ok(items as u32), "{device}: {items} items, start {offset}");
                let most = reduce(&device.device, source.items(), Max);
                assert_eq!(most, Ok(1), "{device}: {items} items, start {offset}");
            });
        }
    }
}

/// From how many bytes on a device writes past the caches.
fn streaming_bytes(device: &Device) -> usize {
    match device.scan_choice(0, 4).1 {
        Policy::Cpu(policy) => policy.streaming_bytes,
        _ => 0,
    }
}

/// Outputs large enough to be written past the caches, from awkward starts, on both sides of the
/// number where that begins.
fn streamed<T>(input: Input, init: T::Acc)
where
    T: Sample + Widen<<T as Element>::Acc>,
    Sum: Operator<T::Acc>,
{
    let mut largest: usize = 0;
    on_cpus(|device| {
        largest = largest.max(streaming_bytes(&device.device));
    });
    let most = largest / size_of::<T>() + WINDOW + 77;
    let array: Vec<T> = input.array(1, most);
    let problems = [Scan::inclusive(Sum), Scan::exclusive(Sum).init(init)];
    for (problem, offset) in problems.into_iter().zip([1, 13]) {
        // A forward scan of fewer items begins with the same output.
        let expected: Vec<T> = expected_scan(&array, &problem);
        let mut target = Guarded::<T>::new(most, offset, POISONS[1]);
        on_cpus(|device| {
            let threshold = streaming_bytes(&device.device) / size_of::<T>();
            for items in [threshold.saturating_sub(1), most] {
                let output = &mut target.items_mut()[..items];
                scan_into_with(&device.device, &array[..items], output, &problem)
                    .unwrap_or_else(|error| panic!("{device}: {error}"));
                check_streamed(device, target.items(), &expected, items);
                target.check_bands(device);
            }
            target.items_mut().copy_from_slice(&array);
            scan_in_place_with(&device.device, target.items_mut(), &problem)
                .unwrap_or_else(|error| panic!("{device}: {error}"));
            check_streamed(device, target.items(), &expected, most);
            target.check_bands(device);
        });
    }
}

fn check_streamed<T: Sample>(device: &TestDevice, found: &[T], expected: &[T], items: usize) {
    let context = format!("{device}: {items} items");
    assert_same(&found[..items], &expected[..items], context);
}

#[test]
fn large_outputs_of_integers() {
    streamed::<u32>(Input::Full, 5);
    streamed::<u8>(Input::Full, 5);
}

#[test]
fn large_outputs_of_floats() {
    streamed::<f64>(Input::Mixed, 0.375);
    streamed::<bf16>(Input::Mixed, 0.375);
}
