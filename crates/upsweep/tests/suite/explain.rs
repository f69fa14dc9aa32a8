//! What calls say of themselves.

use std::sync::Arc;
use std::time::Duration;

use upsweep::explain::Why;
use upsweep::explain::{self, Report};
use upsweep::profile::{Best, Measured, Rows, Work};
use upsweep::strategy::{CpuStrategy, GpuOptions, GpuScanStrategy, Strategy, WorkgroupPolicy};
use upsweep::{Array, CpuOptions, Device, Dtype, Error, Operator, Profile, Reduce, Scan, Sum};
use upsweep_testing::{Input, for_each_device, for_each_gpu};

const ITEMS: usize = 10_000;

/// What holds of every report of a call that moves something.
fn check(report: &Report, device: &Device, [bytes, moved]: [u64; 2]) {
    let text = report.to_string();
    assert_eq!(report.device, [device.id().to_owned(), device.limits().name.clone()]);
    assert_eq!([report.bytes, report.bytes_moved], [bytes, moved], "{text}");
    let times = [report.time, report.limit, report.least, report.call];
    let ordered = |times: &explain::Quartiles| {
        times.lower <= times.median && times.median <= times.upper && times.upper > Duration::ZERO
    };
    assert!(times.iter().all(ordered) && report.first > Duration::ZERO, "{text}");
    assert!(report.percent_of_limit().is_none_or(|percent| percent > 0.0), "{text}");
    for said in [report.strategy.to_string(), "because".to_owned(), "limited by".to_owned()] {
        assert!(text.contains(&said), "{said} is not in {text}");
    }
}

#[test]
fn every_device_explains_itself() {
    let items: Vec<u32> = Input::Mixed.array(1, ITEMS);
    let bytes = 4 * ITEMS as u64;
    for_each_device(|tested| {
        let device = &tested.device;
        let report = explain::reduce(device, &items, &Reduce::<u32, _>::new(Sum)).expect("a call");
        check(&report, device, [bytes; 2]);
        assert_eq!(
            (report.primitive, report.operator, report.items),
            ("reduce", "sum", ITEMS as u64)
        );
        assert_eq!(report.types, ["u32", "u32"]);
        let report = explain::position(device, &items, true).expect("a call");
        check(&report, device, [bytes; 2]);
        assert_eq!((report.primitive, report.upload.is_some()), ("argmax", tested.is_gpu()));
        let report = explain::scan::<u32, u32, _>(device, &items, &Scan::exclusive(Sum));
        let report = report.expect("a call");
        check(&report, device, [2 * bytes, report.strategy.bytes_moved(bytes, bytes)]);
        assert_eq!(report.primitive, "exclusive_scan");
        assert_eq!(report.launches.is_empty(), !tested.is_gpu());
        assert_eq!(report.shape.is_some(), !tested.is_gpu());
        for launch in &report.launches {
            assert!(launch.workgroups > 0 && launch.threads_per_workgroup > 0, "{launch:?}");
            let of_cuda = report.device[0].starts_with("cuda");
            assert_eq!([launch.registers.is_some(), launch.at_once.is_some()], [of_cuda; 2]);
        }
    });
}

#[test]
fn a_cpus_strategy_is_that_of_all_bytes_that_it_moves() {
    // As many items as make a scan into wider ones go by threads, though as many bytes twice would not.
    let device = Device::cpu();
    let bound = device.cpu_policy::<u32>().expect("the numbers of a CPU").scan_serial_bytes;
    let items = vec![1u8; bound / 4];
    let report = explain::scan::<u8, u32, _>(&device, &items, &Scan::inclusive(Sum));
    let threads = device.limits().compute_units > 1;
    let expected = if threads { CpuStrategy::SimdThreads } else { CpuStrategy::Simd };
    let report = report.expect("a call");
    assert_eq!(report.strategy, Strategy::Cpu(expected));
    let shape = report.shape.expect("the shape of a CPU");
    assert_eq!(shape.threads > 1, threads, "{shape:?}");
    let said =
        if threads { format!("{} threads, blocks of", shape.threads) } else { "one thread".into() };
    assert!(report.to_string().contains(&said), "{said} is not in {report}");
}

#[test]
fn nothing_and_little_are_explained_too() {
    for_each_device(|tested| {
        let device = &tested.device;
        for items in [&[][..], &[7u8]] {
            let report =
                explain::reduce(device, items, &Reduce::<u32, _>::new(Sum)).expect("a call");
            assert_eq!((report.items, report.bytes), (items.len() as u64, items.len() as u64));
            let report = explain::scan::<u8, u32, _>(device, items, &Scan::inclusive(Sum));
            assert_eq!(report.expect("a call").bytes, 5 * items.len() as u64);
        }
    });
}

#[test]
fn a_strategy_that_is_asked_for_is_done() {
    let items: Vec<u32> = Input::Mixed.array(1, ITEMS);
    for strategy in CpuStrategy::ALL.iter().copied() {
        let options = CpuOptions { strategy: Some(strategy), ..CpuOptions::default() };
        let device = Device::cpu_with(options).expect("a CPU");
        let report = explain::reduce(&device, &items, &Reduce::<u32, _>::new(Sum)).expect("a call");
        assert_eq!((report.strategy, report.why), (Strategy::Cpu(strategy), Why::Asked));
    }
    let scan: GpuScanStrategy =
        "striped-4-checked/cooperative/scan-then-propagate".parse().expect("a cell");
    let policy = WorkgroupPolicy { threads_per_workgroup: 64, items_per_thread: 16 };
    let options = GpuOptions { scan: Some(scan), policy: Some(policy), ..GpuOptions::default() };
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let device = gpu.with_gpu_options(options).expect("a GPU");
        let report = explain::scan::<u32, u32, _>(&device, &items, &Scan::inclusive(Sum));
        let report = report.expect("a call");
        assert_eq!((report.strategy, report.why), (Strategy::GpuScan(scan), Why::Asked));
        assert_eq!(report.bytes_moved, 16 * ITEMS as u64);
        assert!(report.to_string().contains("64 threads per workgroup"), "{report}");
    });
}

#[test]
fn a_profile_is_given_as_the_reason() {
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let items = Array::filled(gpu, ITEMS, 1u32).expect("room");
        let plain = gpu.with_profile(None);
        let by_rule = explain::reduce(&plain, &items, &Reduce::<u32, _>::new(Sum)).expect("a call");
        assert_eq!((by_rule.why, by_rule.predicted, by_rule.upload), (Why::Rule, None, None));
        let Strategy::GpuReduce(strategy) = by_rule.strategy else { panic!("{by_rule}") };
        let measured = Measured { median_us: 8.0, limit_us: 4.0, default_us: 9.0 };
        let policy = WorkgroupPolicy { threads_per_workgroup: 64, items_per_thread: 16 };
        let best = |items| Best { items, strategy, policy, measured };
        let work = Work { operator: "sum", item: Dtype::U32, output: Dtype::U32 };
        let rows = Rows::new(work, vec![best(1 << 10), best(1 << 20)]);
        let profile = Profile { reductions: vec![rows], ..Profile::default() };
        let device = gpu.with_profile(Some(Arc::new(profile)));
        let report = explain::reduce(&device, &items, &Reduce::<u32, _>::new(Sum)).expect("a call");
        assert_eq!(report.why, Why::Profile { items: 1 << 10, measured: Some(measured) });
        assert_eq!(report.predicted, Some(Duration::from_micros(8)));
        assert!(
            report.is_profiled() && report.to_string().contains("by rules 9.00 µs"),
            "{report}"
        );
    });
}

#[test]
fn an_array_elsewhere_is_refused() {
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let items = Array::filled(gpu, 10, 1u32).expect("room");
        let report = explain::reduce(&Device::cpu(), &items, &Reduce::<u32, _>::new(Sum));
        assert!(matches!(report, Err(Error::WrongDevice { .. })), "{report:?}");
    });
    assert_eq!(<Sum as Operator<u32>>::NAME, "sum");
}
