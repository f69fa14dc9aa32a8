//! Cells of the strategy space give the result of the reference, with policies from the smallest to the largest, or
//! are refused with a reason.

use std::hash::Hash;
use std::sync::Arc;

use upsweep_core::{
    AccessWidth, Arrangement, BitAnd, BitOr, BitXor, Determinism, Dtype, Element, Error,
    GpuReduceStrategy, GpuScanStrategy, Load, Max, Min, Number, Operator, Product, Reduce,
    ReduceGlobal, ReduceLocal, Scan, ScanGlobal, ScanLocal, Sum, Tail, Widen, WorkgroupPolicy,
    reference,
};
use upsweep_testing::{Input, Sample, rotation};
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, ScanOptions, Slice, Source, Target, Workspace};
use wgpu::BufferUsages;

/// Both ends of every field of a policy, and something between.
const POLICIES: [(u32, u32); 4] = [(32, 1), (1024, 32), (256, 8), (256, 128)];

/// Longest first: what a long array leaves in the workspace must not be found by a short one.
const LENGTHS: [usize; 9] = [150_001, 0, 1, 127, 129, 2047, 2049, 8193, 65_537];

/// Of so many cells one is tested in each run, beside those that it takes to meet every level; all take software devices half an hour.
const ONE_IN: usize = 27;

/// The cells of this run, of which each GPU takes its share.
fn shared<L: Eq + Hash>(levels: &[impl AsRef<[L]>], mut body: impl FnMut(&Arc<Gpu>, usize)) {
    let gpus = crate::common::gpus();
    for (turn, cell) in rotation::chosen(levels, ONE_IN).into_iter().enumerate() {
        if let Some(gpu) = gpus.get(turn % gpus.len().max(1)) {
            body(gpu, cell);
        }
    }
}

fn loads() -> Vec<Load> {
    let mut loads = Vec::new();
    for &arrangement in Arrangement::ALL {
        for &width in AccessWidth::ALL {
            for &tail in Tail::ALL {
                loads.push(Load { arrangement, width, tail });
            }
        }
    }
    loads
}

fn policy(cell: usize) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = POLICIES[cell % POLICIES.len()];
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

fn is_refusal<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::StrategyRefused { reason, .. }) if !reason.is_empty())
}

#[test]
fn reductions_give_the_bits_of_the_order() {
    let mut cells = Vec::new();
    for load in loads() {
        for &local in ReduceLocal::ALL {
            for &global in ReduceGlobal::ALL {
                cells.push(GpuReduceStrategy { load, local, global });
            }
        }
    }
    // The policy changes with every round through the three global strategies.
    let policy = |cell: usize| policy(cell / 3);
    let levels =
        cells.iter().enumerate().map(|(cell, &GpuReduceStrategy { load, local, global })| {
            let mut levels = rotation::levels_of(load, local, global);
            levels.push(format!("{:?}", policy(cell)));
            levels
        });
    let (mut ran, mut refused) = (0, 0);
    shared(&levels.collect::<Vec<_>>(), |gpu, cell| {
        let strategy = cells[cell];
        let options = ReduceOptions { strategy: Some(strategy), policy: Some(policy(cell)) };
        let (mut integers, mut floats) = (Workspace::default(), Workspace::default());
        for length in LENGTHS {
            let context = format!("{gpu:?}: {strategy:?} of {length} items");
            let items: Vec<u32> = Input::Full.array(cell as u64, length);
            let problem = Reduce::new(Sum);
            let found =
                gpu.reduce::<u32, u32, _>(&mut integers, Source::Host(&items), &problem, &options);
            assert_eq!(found, Ok(reference::reduce(&items, &problem)), "{context}");
            let items: Vec<f32> = Input::Mixed.array(cell as u64, length);
            let problem = Reduce::new(Sum).init(0.375f32);
            let found =
                gpu.reduce::<f32, f32, _>(&mut floats, Source::Host(&items), &problem, &options);
            if strategy.global == ReduceGlobal::Atomic {
                assert!(
                    is_refusal(&found),
                    "{context}: there is no atomic sum of floats: {found:?}"
                );
                refused += 1;
                continue;
            }
            let expected = reference::specified::reduce(&items, &problem);
            assert_eq!(found.map(f32::to_bits), Ok(expected.to_bits()), "{context}");
            ran += 1;
        }
    });
    assert!(crate::common::gpus().is_empty() || ran > 0 && refused > 0);
}

/// A reduction by atomics alone, several times with one total; refused with this reason, if there is one.
fn check_atomic<T, O>(gpu: &Arc<Gpu>, operator: O, refusal: Option<&str>)
where
    T: Number + Sample + Widen<T> + Element<Acc = T>,
    O: Operator<T>,
{
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes8, tail: Tail::Checked };
    let (local, global) = (ReduceLocal::SharedMemory, ReduceGlobal::Atomic);
    let strategy = Some(GpuReduceStrategy { load, local, global });
    let options = ReduceOptions { strategy, policy: None };
    let mut workspace = Workspace::default();
    for length in LENGTHS {
        let context = format!("{gpu:?}: {} of {length} {}", O::NAME, T::DTYPE);
        let items: Vec<T> = Input::Mixed.array(length as u64, length);
        let problem = Reduce::new(operator);
        let found = gpu.reduce::<T, T, _>(&mut workspace, Source::Host(&items), &problem, &options);
        match (refusal, found) {
            (None, Ok(found)) => {
                assert_eq!(found, reference::reduce(&items, &problem), "{context}")
            }
            (Some(expected), Err(Error::StrategyRefused { reason, .. })) => {
                assert!(reason.contains(expected), "{context}: {reason}");
            }
            (_, found) => panic!("{context}: {found:?}, not {refusal:?}"),
        }
    }
}

#[test]
fn atomics_of_64_bits() {
    for gpu in crate::common::gpus() {
        let limits = gpu.limits();
        if !limits.int64 {
            continue;
        }
        let refusal = (!limits.int64_atomics).then_some("no atomics of 64 bits");
        check_atomic::<u64, _>(gpu, Sum, refusal);
        check_atomic::<i64, _>(gpu, Sum, refusal);
        check_atomic::<u64, _>(gpu, Min, refusal);
        check_atomic::<i64, _>(gpu, Min, refusal);
        check_atomic::<u64, _>(gpu, Max, refusal);
        check_atomic::<i64, _>(gpu, Max, refusal);
        check_atomic::<u64, _>(gpu, BitAnd, refusal);
        check_atomic::<i64, _>(gpu, BitOr, refusal);
        check_atomic::<u64, _>(gpu, BitXor, refusal);
        check_atomic::<u64, _>(gpu, Product, Some("no atomic product of u64"));
        if limits.float64 {
            check_atomic::<f64, _>(gpu, Min, refusal);
            check_atomic::<f64, _>(gpu, Max, refusal);
            check_atomic::<f64, _>(gpu, Sum, Some("no atomic sum of f64"));
        }
    }
}

/// Whether floats are not combined in the order of summation.
fn nests(local: ScanLocal, global: ScanGlobal) -> bool {
    local == ScanLocal::Blelloch || global == ScanGlobal::ScanThenPropagate
}

/// Whether workgroups wait for others.
fn waits(global: ScanGlobal) -> bool {
    matches!(global, ScanGlobal::LookBack | ScanGlobal::Aggregates)
}

#[test]
fn scans_give_the_bits_of_the_order() {
    let mut cells = Vec::new();
    for load in loads() {
        for &local in ScanLocal::ALL {
            for &global in ScanGlobal::ALL {
                cells.push(GpuScanStrategy { load, local, global });
            }
        }
    }
    let policy = |cell: usize| policy(cell / 5);
    let levels =
        cells.iter().enumerate().map(|(cell, &GpuScanStrategy { load, local, global })| {
            let mut levels = rotation::levels_of(load, local, global);
            levels.push(format!("{:?}", policy(cell)));
            // What no device refuses, neither for integers nor for floats, is met too.
            levels.push(format!("nests {}, waits {}", nests(local, global), waits(global)));
            levels
        });
    let mut ran = 0;
    shared(&levels.collect::<Vec<_>>(), |gpu, cell| {
        let strategy = cells[cell];
        let options =
            ScanOptions { strategy: Some(strategy), policy: Some(policy(cell)), stalled: None };
        let (mut integers, mut floats) = (Workspace::default(), Workspace::default());
        for length in LENGTHS {
            let context = format!("{gpu:?}: {strategy:?} of {length} items");
            let items: Vec<u32> = Input::Full.array(cell as u64, length);
            let mut output = vec![0xaaaa_aaaau32; length];
            let problem = Scan::exclusive(Sum);
            let (from, to) = (Source::Host(&items[..]), Target::Host(&mut output[..]));
            let found = gpu.scan::<u32, u32, _>(&mut integers, from, to, &problem, &options);
            if length > 0 && waits(strategy.global) && !gpu.limits().forward_progress {
                assert!(is_refusal(&found), "{context}: {found:?}");
                continue;
            }
            assert_eq!(found, Ok(()), "{context}");
            assert!(output == reference::scan::<u32, u32, _>(&items, &problem), "{context}");
            // The order of floats is followed, or the strategy that cannot is refused.
            let items: Vec<f32> = Input::Mixed.array(cell as u64, length);
            let mut output = vec![f32::NAN; length];
            let problem = Scan::inclusive(Sum).init(0.375f32);
            let (from, to) = (Source::Host(&items[..]), Target::Host(&mut output[..]));
            let found = gpu.scan::<f32, f32, _>(&mut floats, from, to, &problem, &options);
            if nests(strategy.local, strategy.global) && length > 0 {
                assert!(is_refusal(&found), "{context}: {found:?}");
                continue;
            }
            assert_eq!(found, Ok(()), "{context}");
            let expected: Vec<f32> = reference::specified::scan(&items, &problem);
            let same = output.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{context}");
            ran += 1;
        }
    });
    assert!(crate::common::gpus().is_empty() || ran > 0);
}

/// A single pass that every device with subgroups runs.
const FALLING_BACK: GpuScanStrategy = GpuScanStrategy {
    load: Load {
        arrangement: Arrangement::Striped,
        width: AccessWidth::Bytes16,
        tail: Tail::Exact,
    },
    local: ScanLocal::Cooperative,
    global: ScanGlobal::LookBackFallback,
};

/// More runs than the state can count: what early runs left must not be taken for what late ones say.
#[test]
fn runs_are_counted_anew() {
    for gpu in crate::common::gpus() {
        let strategy = FALLING_BACK;
        let policy = WorkgroupPolicy { threads_per_workgroup: 64, items_per_thread: 32 };
        let options = ScanOptions { strategy: Some(strategy), policy: Some(policy), stalled: None };
        let items: Vec<u32> = Input::Full.array(3, 5000);
        let other: Vec<u32> = Input::Full.array(4, 5000);
        let (device, queue) = gpu.wgpu();
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let [input, output] = [0, 1].map(|_| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 20_000,
                usage,
                mapped_at_creation: false,
            })
        });
        let slice = |buffer| Slice::new(buffer, Dtype::U32, 0, 5000).expect("a slice");
        let mut workspace = Workspace::default();
        let problem = Scan::inclusive(Sum);
        let bound = gpu.bind_scan::<u32, u32, _>(
            &mut workspace,
            [slice(&input), slice(&output)],
            &problem,
            &options,
        );
        let recording = gpu.recording(bound.expect("a recording")).expect("a recording");
        let recording = recording.repeated(512);
        for round in 0..10 {
            let items = if round % 2 == 0 { &items } else { &other };
            queue.write_buffer(&input, 0, bytemuck::cast_slice(items));
            gpu.submit(&recording).expect("a submission");
            gpu.wait().unwrap_or_else(|error| panic!("{gpu:?}, round {round}: {error}"));
            let mut found = vec![0u32; 5000];
            gpu.read_back(slice(&output), &mut found).expect("the output");
            assert!(found == reference::scan::<u32, u32, _>(items, &problem), "{gpu:?}, {round}");
        }
    }
}

/// A chunk that never says its total: the chunks behind it find it out themselves.
#[test]
fn a_stalled_chunk_stops_nobody() {
    for gpu in crate::common::gpus() {
        let strategy = FALLING_BACK;
        let policy = WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 8 };
        let items: Vec<f32> = Input::Mixed.array(9, 200_000);
        let problem = Scan::inclusive(Sum);
        let expected: Vec<f32> = reference::specified::scan(&items, &problem);
        // In the middle of a window, at its end, and the very first.
        for stalled in [40, 31, 0] {
            let options = ScanOptions {
                strategy: Some(strategy),
                policy: Some(policy),
                stalled: Some(stalled),
            };
            let mut workspace = Workspace::default();
            // In place: a missing total must be found before its chunk is overwritten.
            let mut data = items.clone();
            gpu.scan_in_place(&mut workspace, Target::Host(&mut data), &problem, &options)
                .unwrap_or_else(|error| panic!("{gpu:?}: chunk {stalled} is stalled: {error}"));
            let same = data.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{gpu:?}: chunk {stalled} is stalled");
        }
    }
}

/// Without the end of a window nobody hears what comes into the next; whoever needs it folds more totals.
#[test]
fn timing_does_not_show_from_run_to_run() {
    for gpu in crate::common::gpus() {
        let policy = WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 8 };
        let items: Vec<f32> = Input::Mixed.array(11, 200_000);
        let problem = Scan::inclusive(Sum).determinism(Determinism::RunToRun);
        let scanned = |stalled| {
            let options =
                ScanOptions { strategy: Some(FALLING_BACK), policy: Some(policy), stalled };
            let mut data = items.clone();
            gpu.scan_in_place(
                &mut Workspace::default(),
                Target::Host(&mut data),
                &problem,
                &options,
            )
            .unwrap_or_else(|error| panic!("{gpu:?}: {error}"));
            data.iter().map(|item| item.to_bits()).collect::<Vec<_>>()
        };
        assert!(scanned(None) == scanned(Some(31)), "{gpu:?}");
    }
}
