//! The same bits on every run, from wherever a call is made; and a panic that ends the call.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use upsweep::strategy::CpuStrategy;
use upsweep::{
    Array, CpuOptions, Determinism, Device, Element, Reduce, Scan, Sum, inclusive_scan, reduce,
    reduce_with, scan_in_place_with, scan_into_with,
};
use upsweep_testing::{
    Affine, Compose, Input, Selection, assert_same, expected_reduce, expected_scan, explosive,
    for_each_device_of,
};

/// More than any device takes in one go.
const ITEMS: usize = 700_001;

#[test]
fn ten_runs_give_equal_bits() {
    let items: Vec<f32> = Input::Mixed.array(1, ITEMS);
    let maps: Vec<Affine<f32>> = Input::Full.array(2, ITEMS);
    for_each_device_of(Selection::Representative, |device| {
        let sum = || reduce(&device.device, &items, Sum).expect("a sum");
        let identity = Affine { scale: 1.0, shift: 0.0 };
        let composed = || {
            let found = reduce(&device.device, &maps, Compose);
            device
                .result::<_, Affine<f32>, _>(&[Affine::<f32>::KIND], &Compose, found)
                .unwrap_or(identity)
        };
        let scanned = || {
            inclusive_scan(&device.device, &items, Sum).and_then(Array::into_vec).expect("a scan")
        };
        let first = (sum(), composed(), scanned());
        for run in 1..10 {
            let context = format!("{device}, run {run}");
            assert_same(&[sum()], &[first.0], &context);
            assert_same(&[composed()], &[first.1], &context);
            assert_same(&scanned(), &first.2, &context);
        }
    });
}

fn threaded(threads: usize) -> Device {
    let options = CpuOptions {
        threads: Some(threads),
        strategy: Some(CpuStrategy::SimdThreads),
        ..CpuOptions::default()
    };
    Device::cpu_with(options).expect("a CPU with threads")
}

/// One device, from many threads at once: each gets its own answer.
#[test]
fn threads_share_a_device() {
    for device in [Device::cpu(), threaded(2), threaded(3)] {
        thread::scope(|scope| {
            for seed in 0..6 {
                let device = &device;
                scope.spawn(move || {
                    let items: Vec<f32> = Input::Mixed.array(seed, ITEMS);
                    let alone = threaded(1);
                    let sum = reduce(&alone, &items, Sum).expect("a sum");
                    let scan = inclusive_scan(&alone, &items, Sum)
                        .and_then(Array::into_vec)
                        .expect("a scan");
                    for _ in 0..5 {
                        assert_same(&[reduce(device, &items, Sum).expect("a sum")], &[sum], seed);
                        let found = inclusive_scan(device, &items, Sum)
                            .and_then(Array::into_vec)
                            .expect("a scan");
                        assert_same(&found, &scan, seed);
                    }
                });
            }
        });
    }
}

/// Called from the threads of another pool, nested.
#[test]
fn calls_may_come_from_a_thread_pool() {
    fn both(device: &Device, depth: usize, items: &[f32], expected: &[f32]) {
        if depth == 0 {
            let scan =
                inclusive_scan(device, items, Sum).and_then(Array::into_vec).expect("a scan");
            assert_same(&scan, expected, "from a pool");
            return;
        }
        rayon::join(
            || both(device, depth - 1, items, expected),
            || both(device, depth - 1, items, expected),
        );
    }
    let items: Vec<f32> = Input::Mixed.array(1, 400_000);
    let expected =
        inclusive_scan(&threaded(1), &items, Sum).and_then(Array::into_vec).expect("a scan");
    for device in [Device::cpu(), threaded(2), threaded(3)] {
        both(&device, 4, &items, &expected);
    }
}

/// Runs `work` on a thread of its own and returns what it says within `limit`.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(limit).expect("the call neither hangs nor loses its answer")
}

/// An operator that panics, early or late, on whichever thread: the panic reaches the caller, and
/// the device works on.
#[test]
fn a_panic_ends_the_call() {
    let start = Instant::now();
    for threads in [1, 2, 3, 16] {
        for combinations in [1, 1000, 200_000, 600_000, 1_000_000] {
            let ended = within(Duration::from_secs(20), move || {
                let device = threaded(threads);
                let items: Vec<u32> = Input::Small.array(3, ITEMS);
                let mut output = vec![0u32; ITEMS];
                let operator = explosive(combinations);
                let scan = Scan::inclusive(operator);
                let panics = [
                    catch(|| scan_into_with(&device, &items, &mut output, &scan)),
                    {
                        explosive(combinations);
                        let mut data = items.clone();
                        catch(move || scan_in_place_with(&device, &mut data, &scan.reverse()))
                    },
                    {
                        let device = threaded(threads);
                        explosive(combinations.min(ITEMS / 2));
                        catch(|| reduce_with(&device, &items, &Reduce::new(operator)).map(drop))
                    },
                ];
                let device = threaded(threads);
                let total = reduce(&device, &items, Sum).expect("devices work on");
                (panics, total == items.iter().sum::<u32>())
            });
            assert_eq!(ended, ([true; 3], true), "{threads} threads, {combinations} combinations");
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Whether `work` panics; anything else it does must succeed.
fn catch(work: impl FnOnce() -> upsweep::Result<()>) -> bool {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    match result {
        Ok(done) => {
            done.expect("no error");
            false
        }
        Err(_) => true,
    }
}

/// The weaker levels may combine floats in another order, but not other items.
#[test]
fn weaker_levels_are_right_too() {
    let integers: Vec<u32> = Input::Full.array(1, ITEMS);
    let floats: Vec<f32> = Input::Uniform.array(2, ITEMS);
    let exact = Reduce::<u32, _>::new(Sum);
    let close = Reduce::<f32, _>::new(Sum);
    let sum: f64 = floats.iter().map(|&item| f64::from(item)).sum();
    for level in [Determinism::RunToRun, Determinism::Unordered] {
        for_each_device_of(Selection::Representative, |device| {
            let found = reduce_with(&device.device, &integers, &exact.determinism(level));
            assert_eq!(found, Ok(expected_reduce(&integers, &exact)), "{device} {level:?}");
            let found = reduce_with(&device.device, &floats, &close.determinism(level));
            let off = f64::from(found.expect("a sum")) - sum;
            // One rounding for each item at most, each of half a unit in the last place.
            assert!(off.abs() <= ITEMS as f64 * sum * 2f64.powi(-24), "{device} {level:?}: {off}");
            let scan = Scan::<u32, _>::inclusive(Sum).determinism(level);
            let mut data = integers.clone();
            scan_in_place_with(&device.device, &mut data, &scan).expect("a scan");
            assert_same(&data, &expected_scan::<_, u32, _>(&integers, &scan), device);
        });
    }
}
