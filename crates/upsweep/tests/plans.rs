//! Plans: made once, run often, on dirty memory, without allocating; and their errors, which come
//! before anything is written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use upsweep::strategy::CpuStrategy;
use upsweep::{
    CpuOptions, Device, Error, Reduce, ReducePlan, Scan, ScanPlan, Sum, argmin,
    inclusive_scan_in_place, inclusive_scan_into, reduce, scan_in_place_with, scan_into_with,
};
use upsweep_testing::{
    Affine, Compose, Guarded, Input, POISONS, Sample, assert_same, expected_reduce, expected_scan,
    for_each_device, lengths,
};

/// The system's allocator, counting: of all threads, and the bytes of each by itself.
struct Counting;

static ALL: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    ALL.fetch_add(bytes, Ordering::Relaxed);
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends has nobody to count for.
    let _ = OWN.try_with(|own| own.set(own.get() + bytes));
}

// SAFETY: every call is handed on to the system's allocator as it came; counting does not
// allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held by every test of this file, so that what is counted belongs to one of them.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that this thread allocates while `work` runs.
fn own_bytes(work: impl FnOnce()) -> usize {
    let before = OWN.get();
    work();
    OWN.get() - before
}

fn cpu(threads: usize, strategy: CpuStrategy) -> Device {
    let options = CpuOptions { threads: Some(threads), strategy: Some(strategy), ..<_>::default() };
    Device::cpu_with(options).expect("a CPU with chosen threads")
}

#[test]
fn the_counter_counts() {
    let _alone = alone();
    assert_eq!(own_bytes(|| drop(std::hint::black_box(vec![0u8; 12_345]))), 12_345);
    assert_eq!(own_bytes(|| ()), 0);
}

/// Every planned and every in-place form, on one thread: not one byte.
#[test]
fn calls_on_one_thread_allocate_nothing() {
    let _alone = alone();
    for strategy in [CpuStrategy::Scalar, CpuStrategy::Simd, CpuStrategy::SimdThreads] {
        let device = cpu(1, strategy);
        let items: Vec<f32> = Input::Mixed.array(1, 300_001);
        let mut output = vec![0.0f32; items.len()];
        let (n, map) = (items.len(), Affine { scale: 1.5f32, shift: 0.0 });
        let maps = vec![map; 100_001];
        let mut reduction = ReducePlan::<f32, f32, _>::new(&device, n, Reduce::new(Sum)).unwrap();
        let mut wide = ReducePlan::<f32, f64, _>::new(&device, n, Reduce::new(Sum)).unwrap();
        let mut fold =
            ReducePlan::<_, Affine<f32>, _>::new(&device, n, Reduce::new(Compose)).unwrap();
        let mut scans = [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse().init(1.0)]
            .map(|problem| ScanPlan::<f32, f32, _>::new(&device, n, problem).unwrap());
        let bytes = own_bytes(|| {
            for length in [0, 1, 5000, n] {
                reduction.run(&items[..length]).unwrap();
                wide.run(&items[..length]).unwrap();
                fold.run(&maps[..length.min(maps.len())]).unwrap();
                for scan in &mut scans {
                    scan.run_into(&items[..length], &mut output[..length]).unwrap();
                    scan.run_in_place(&mut output[..length]).unwrap();
                }
                reduce(&device, &items[..length], Sum).unwrap();
                argmin(&device, &items[..length]).unwrap();
                inclusive_scan_into(&device, &items[..length], &mut output[..length], Sum).unwrap();
                inclusive_scan_in_place(&device, &mut output[..length], Sum).unwrap();
            }
        });
        assert_eq!(bytes, 0, "{strategy}");
    }
}

/// With threads, a call allocates nothing that grows with the input: some tens of bytes for each helper, and what the pool's queue of calls
/// takes, a block of some 1.5 KiB for every 63 calls.
#[test]
fn calls_on_threads_allocate_next_to_nothing() {
    let _alone = alone();
    const CALLS: usize = 100;
    for threads in [2, 3, 16] {
        let device = cpu(threads, CpuStrategy::SimdThreads);
        let items: Vec<u32> = Input::Full.array(1, 2_000_000);
        let mut output = vec![0u32; items.len()];
        let mut reduction =
            ReducePlan::<u32, u32, _>::new(&device, items.len(), Reduce::new(Sum)).unwrap();
        let mut scan =
            ScanPlan::<u32, u32, _>::new(&device, items.len(), Scan::inclusive(Sum)).unwrap();
        let mut run = |calls: usize| {
            for _ in 0..calls {
                reduction.run(&items).unwrap();
                scan.run_into(&items, &mut output).unwrap();
            }
        };
        // The pool's queues reach their size.
        run(10);
        let counts = || [ALL.load(Ordering::Relaxed), ALLOCATIONS.load(Ordering::Relaxed)];
        let before = counts();
        let own = own_bytes(|| run(CALLS));
        let [all, allocations] = [0, 1].map(|index| counts()[index] - before[index]);
        println!("{threads} threads: {own} bytes by the caller, {all} by all, in {CALLS} calls");
        // Of a reduction and of a scan.
        let helpers = 2 * CALLS * (threads - 1);
        assert!(allocations <= helpers + CALLS, "{threads} threads: {allocations} allocations");
        assert!(
            all <= 128 * helpers + 256 * CALLS,
            "{threads} threads: {all} bytes were allocated"
        );
    }
}

#[test]
fn plans_are_used_again_on_dirty_memory() {
    let _alone = alone();
    let lengths = lengths::small();
    let most = *lengths.iter().max().expect("there are lengths");
    let problem = Scan::exclusive(Sum).init(0.375f32);
    let items: Vec<f32> = Input::Mixed.array(5, most);
    for_each_device(|device| {
        let mut scan = ScanPlan::<f32, f32, _>::new(&device.device, most, problem).unwrap();
        let mut sum =
            ReducePlan::<f32, f32, _>::new(&device.device, most, Reduce::new(Sum)).unwrap();
        let whole: Vec<f32> = expected_scan(&items, &problem);
        // Long after short after long: nothing of one call is left in the next.
        for length in lengths.iter().rev().chain(&lengths) {
            let input = &items[..*length];
            let mut output = Guarded::new(*length, length % 16, POISONS[length % 2]);
            for _ in 0..2 {
                scan.run_into(input, output.items_mut()).unwrap();
                assert_same(output.items(), &whole[..*length], device);
            }
            let expected = expected_reduce(input, &Reduce::new(Sum));
            assert_same(&[sum.run(input).unwrap()], &[expected], device);
            output.check_bands(device);
        }
    });
}

#[test]
fn errors_come_before_anything_is_written() {
    let _alone = alone();
    for_each_device(|device| {
        let cpu = &device.device;
        let untouched = u16::from_bits(POISONS[0]);
        let mut output = [untouched; 12];
        let input = [1u16; 11];
        let mut plan = ScanPlan::<u16, u16, _>::new(cpu, 10, Scan::inclusive(Sum)).unwrap();
        let small = Error::PlanTooSmall { input: 11, planned: 10 };
        let unequal = Error::LengthMismatch { input: 11, output: 12 };
        assert_eq!(plan.run_into(&input, &mut output[..11]), Err(small.clone()), "{device}");
        assert_eq!(plan.run_in_place(&mut output[..11]), Err(small.clone()), "{device}");
        assert_eq!(plan.run_into(&input, &mut output), Err(unequal.clone()), "{device}");
        assert_eq!(inclusive_scan_into(cpu, &input, &mut output, Sum), Err(unequal.clone()));
        let problem = Scan::exclusive(Sum).reverse();
        assert_eq!(scan_into_with(cpu, &input, &mut output, &problem), Err(unequal));
        assert_eq!(output, [untouched; 12], "{device}");
        let mut plan = ReducePlan::<u16, u16, _>::new(cpu, 10, Reduce::new(Sum)).unwrap();
        assert_eq!(plan.run(&input), Err(small), "{device}");
        assert_eq!(plan.run(&input[..10]), Ok(10), "{device}: an error does no harm");
        scan_in_place_with(cpu, &mut output[..0], &problem).unwrap();
        assert_eq!(output, [untouched; 12], "{device}");
    });
}

#[test]
fn errors_say_the_numbers() {
    let text = Error::PlanTooSmall { input: 11, planned: 10 }.to_string();
    assert_eq!(text, "input has 11 items, the plan was made for at most 10");
    let text = Error::LengthMismatch { input: 5, output: 4 }.to_string();
    assert_eq!(text, "output has 4 items, input has 5; they must be equal");
}
