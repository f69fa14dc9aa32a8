//! Profiles: what a policy reads first, and what it does with what makes no sense on a device.

use std::sync::Arc;

use upsweep::profile::{Best, Measured, Rows, Work};
use upsweep::strategy::{CpuPolicy, GpuOptions, Policy, Strategy, WorkgroupPolicy};
use upsweep::{
    Array, Device, Dtype, Element, Number, PositionPlan, Profile, Recording, Reduce, ReducePlan,
    Scan, ScanPlan, Sum, argmin, inclusive_scan, reduce, reference,
};
use upsweep_testing::{Input, assert_same, for_each_device, for_each_gpu};

const ITEMS: usize = 70_001;

/// A row of a cell.
fn best<S: std::str::FromStr<Err = upsweep::Error>>(
    items: usize,
    cell: &str,
    [threads_per_workgroup, items_per_thread]: [u32; 2],
) -> Best<S> {
    Best {
        items: items as u64,
        strategy: cell.parse().expect("a cell"),
        policy: WorkgroupPolicy { threads_per_workgroup, items_per_thread },
        measured: Measured { median_us: 1.0, limit_us: 1.0, default_us: 1.0 },
    }
}

fn sum(dtype: Dtype) -> Work {
    Work { operator: "sum", item: dtype, output: dtype }
}

/// Sums and scans of `u32` and `f32` by these cells at these lengths, and the same reductions to find the smallest `f32`.
fn profile(
    reduce: &[(usize, &str, [u32; 2])],
    scan: &[(usize, &str, [u32; 2])],
) -> Option<Arc<Profile>> {
    let reduce = || reduce.iter().map(|&(items, cell, policy)| best(items, cell, policy)).collect();
    let scan = || scan.iter().map(|&(items, cell, policy)| best(items, cell, policy)).collect();
    let argmin = Work { operator: "argmin", item: Dtype::F32, output: Dtype::U64 };
    let [words, floats] = [Dtype::U32, Dtype::F32].map(sum);
    Some(Arc::new(Profile {
        reductions: [words, floats, argmin].map(|work| Rows::new(work, reduce())).to_vec(),
        scans: [words, floats].map(|work| Rows::new(work, scan())).to_vec(),
        ..Profile::default()
    }))
}

/// The strategies of a sum, a scan and a search of `items` items, whose results are those of the host.
fn chosen<T>(gpu: &Device, items: usize, what: &str) -> [Option<Strategy>; 3]
where
    T: Number + Element<Acc = T> + upsweep::Widen<T> + upsweep_testing::Sample,
    Sum: upsweep::Operator<T>,
    upsweep::Min: upsweep::Operator<T>,
    upsweep::Max: upsweep::Operator<T>,
{
    let cpu = Device::cpu();
    let host: Vec<T> = Input::Mixed.array(3, items);
    let input = Array::from_slice(gpu, &host).expect("an array");
    let run = |recording: &Recording| {
        recording.submit().expect("a run");
        recording.strategy()
    };
    let mut total = Array::filled(gpu, 1, host[0]).expect("an array");
    let plan = ReducePlan::new(gpu, items, Reduce::<T, _>::new(Sum));
    let reduced = run(&plan.expect("a plan").bind(&input, &mut total).expect("a reduction"));
    let expected = reduce(&cpu, &host, Sum).expect("a CPU");
    assert_same(&total.to_vec().expect("a value"), &[expected], what);
    assert_same(&[reduce(gpu, &input, Sum).expect("a value")], &[expected], what);
    let mut output = Array::filled(gpu, items, host[0]).expect("an array");
    let plan = ScanPlan::new(gpu, items, Scan::inclusive(Sum));
    let scanned = run(&plan.expect("a plan").bind(&input, &mut output).expect("a scan"));
    let expected = inclusive_scan(&cpu, &host, Sum).expect("a CPU").into_vec().expect("an array");
    assert_same(&output.to_vec().expect("an array"), &expected, what);
    let mut place = Array::filled(gpu, 1, 0u64).expect("an array");
    let plan = PositionPlan::argmin(gpu, items).expect("a plan").bind(&input, &mut place);
    let found = run(&plan.expect("a search"));
    let expected = argmin(&cpu, &host).expect("a CPU").expect("there are items");
    assert_eq!(place.to_vec().expect("a value"), [expected], "{what}");
    [reduced, scanned, found]
}

#[test]
fn the_row_of_the_nearest_length_is_run() {
    let reduce = [
        (100, "striped-4-checked/raking/multi-level", [64, 8]),
        (50_000, "blocked-8-exact/cooperative/last-block", [128, 32]),
    ];
    let scan = [
        (100, "striped-8-exact/raking/reduce-then-scan", [64, 8]),
        (50_000, "striped-16-checked/cooperative/reduce-then-scan", [128, 16]),
    ];
    for_each_gpu(|device| {
        let gpu = device.device.with_profile(profile(&reduce, &scan));
        for (items, row) in [(100, 0), (ITEMS, 1)] {
            let [reduced, scanned] = [reduce[row].1, scan[row].1].map(str::to_owned);
            let what = format!("{device}, {items}");
            let names = |all: [Option<Strategy>; 3]| all.map(|one| one.map(|one| one.to_string()));
            let floats = names(chosen::<f32>(&gpu, items, &what));
            assert_eq!(
                floats,
                [Some(reduced.clone()), Some(scanned.clone()), Some(reduced.clone())],
                "{what}"
            );
            let [sums, scans, search] = names(chosen::<u32>(&gpu, items, &what));
            assert_eq!([sums, scans], [Some(reduced.clone()), Some(scanned)], "{what}");
            // Nothing was said of searches among integers.
            let as_ever = names(chosen::<u32>(&device.device.with_profile(None), items, &what));
            assert_eq!(search, as_ever[2], "{what}");
            let (strategy, policy) = gpu.reduce_choice(items, 4);
            assert_eq!(strategy.to_string(), reduced, "{what}");
            let [threads_per_workgroup, items_per_thread] = reduce[row].2;
            let expected = WorkgroupPolicy { threads_per_workgroup, items_per_thread };
            assert_eq!(policy, Policy::Workgroup(expected), "{what}");
        }
    });
}

#[test]
fn what_a_device_refuses_is_chosen_as_ever() {
    // No device has an atomic sum of floats, and Blelloch's tree is not the order of summation.
    let reduce = [(1, "striped-16-exact/cooperative/atomic", [256, 16])];
    let scan = [(1, "striped-16-exact/blelloch/reduce-then-scan", [256, 16])];
    for_each_gpu(|device| {
        let plain = device.device.with_profile(None);
        let gpu = plain.with_profile(profile(&reduce, &scan));
        let what = device.to_string();
        assert_eq!(
            chosen::<f32>(&gpu, ITEMS, &what),
            chosen::<f32>(&plain, ITEMS, &what),
            "{what}"
        );
    });
}

#[test]
fn what_is_asked_for_comes_first() {
    let reduce = [(1, "striped-4-checked/raking/multi-level", [64, 8])];
    let wanted = "striped-8-checked/shared-memory/last-block";
    for_each_gpu(|device| {
        let options = GpuOptions { reduce: wanted.parse().ok(), ..GpuOptions::default() };
        let gpu = device.device.with_profile(profile(&reduce, &[]));
        let gpu = gpu.with_gpu_options(options).expect("a GPU");
        let [reduced, scanned, _] = chosen::<u32>(&gpu, ITEMS, &device.to_string());
        assert_eq!(reduced.map(|one| one.to_string()).as_deref(), Some(wanted), "{device}");
        let plain = device.device.with_profile(None);
        assert_eq!(scanned, chosen::<u32>(&plain, ITEMS, &device.to_string())[1], "{device}");
    });
}

#[test]
fn a_plan_has_one_kernel_for_all_lengths() {
    let reduce = [
        (100, "striped-4-checked/raking/multi-level", [64, 8]),
        (50_000, "blocked-8-exact/cooperative/last-block", [128, 32]),
    ];
    for_each_gpu(|device| {
        let gpu = device.device.with_profile(profile(&reduce, &[]));
        let host: Vec<f32> = Input::Mixed.array(5, 100);
        let input = Array::from_slice(&gpu, &host).expect("an array");
        let mut total = Array::filled(&gpu, 1, 0f32).expect("an array");
        let plan = ReducePlan::new(&gpu, ITEMS, Reduce::<f32, _>::new(Sum));
        let recording = plan.expect("a plan").bind(&input, &mut total).expect("a reduction");
        recording.submit().expect("a run");
        assert_eq!(
            recording.strategy().map(|one| one.to_string()).as_deref(),
            Some(reduce[1].1),
            "{device}"
        );
        let expected = reference::specified::reduce(&host, &Reduce::<f32, _>::new(Sum));
        assert_same(&total.to_vec().expect("a value"), &[expected], device);
    });
}

#[test]
fn a_cpu_takes_its_numbers_from_a_profile() {
    let policy = CpuPolicy {
        serial_bytes: 1 << 12,
        scan_serial_bytes: 1 << 12,
        block_bytes: 1 << 13,
        scan_block_bytes: 1,
        scan_parts_bytes: 1 << 12,
        streaming_bytes: 1 << 14,
        half_line_bytes: 0,
        scan_half_line_bytes: 0,
    };
    let cpu = Some(policy);
    for_each_device(|device| {
        let tuned =
            device.device.with_profile(Some(Arc::new(Profile { cpu, ..Profile::default() })));
        if device.is_gpu() {
            assert_eq!(
                tuned.reduce_choice(ITEMS, 4),
                device.device.with_profile(None).reduce_choice(ITEMS, 4)
            );
            return;
        }
        assert_eq!(tuned.reduce_choice(ITEMS, 4).1, Policy::Cpu(policy));
        let host: Vec<f32> = Input::Mixed.array(7, 300_001);
        let found = reduce(&tuned, &host, Sum).expect("a CPU");
        let expected = reference::specified::reduce(&host, &Reduce::<f32, _>::new(Sum));
        assert_same(&[found], &[expected], device);
        let found = inclusive_scan(&tuned, &host, Sum).expect("a CPU").into_vec().expect("items");
        let expected: Vec<f32> = reference::specified::scan(&host, &Scan::inclusive(Sum));
        assert_same(&found, &expected, device);
        assert_eq!(
            tuned.with_profile(None).reduce_choice(1, 4),
            device.device.with_profile(None).reduce_choice(1, 4)
        );
        // Those of a type hold for its kind alone, and change no result.
        let of_floats = CpuPolicy { block_bytes: 1 << 20, scan_block_bytes: 1 << 16, ..policy };
        let cpu_types = vec![(Dtype::F32, of_floats)];
        let tuned =
            tuned.with_profile(Some(Arc::new(Profile { cpu, cpu_types, ..<_>::default() })));
        assert_eq!(tuned.cpu_policy::<f32>(), Some(of_floats));
        assert_eq!([tuned.cpu_policy::<i32>(), tuned.cpu_policy::<f64>()], [Some(policy); 2]);
        assert_eq!(reduce(&tuned, &host, Sum), reduce(&device.device, &host, Sum));
        let again = inclusive_scan(&tuned, &host, Sum).expect("a CPU").into_vec().expect("items");
        assert_same(&again, &found, device);
    });
}
