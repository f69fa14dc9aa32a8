//! Cells of the strategy space of scans give the bits of the order, or are refused with a reason.

use std::sync::Arc;

use upsweep_core::{
    AccessWidth, Arrangement, Determinism, Element, Error, GpuScanStrategy, Load, Number, Operator,
    Scan, ScanGlobal, ScanLocal, Sum, Tail, Widen, WorkgroupPolicy, f16, reference,
};
use upsweep_cuda::{Calls, Gpu, ScanOptions, Source, Target, Workspace};
use upsweep_testing::{Input, LastSet, Sample};

/// Both ends of every field of a policy, what is chosen, and something between.
const POLICIES: [Option<(u32, u32)>; 5] =
    [None, Some((32, 1)), Some((1024, 1024)), Some((256, 32)), Some((512, 16))];

/// Longest first: what a long array leaves in the workspace must not be found by a short one.
const LENGTHS: [usize; 6] = [400_003, 131_072, 40_001, 2049, 127, 1];

fn options(strategy: GpuScanStrategy, policy: Option<(u32, u32)>) -> ScanOptions {
    let policy = policy.map(|(threads_per_workgroup, items_per_thread)| WorkgroupPolicy {
        threads_per_workgroup,
        items_per_thread,
    });
    ScanOptions { strategy: Some(strategy), policy, stalled: None }
}

fn same<T: Number + Sample>(found: &[T], expected: &[T]) -> bool {
    found.iter().zip(expected).all(|(found, expected)| {
        found.bits() == expected.bits() || found.is_nan() && expected.is_nan()
    })
}

/// One form of a scan by one cell, for all lengths, at another place and in place.
fn check<T, O>(gpu: &Arc<Gpu>, cell: usize, options: &ScanOptions, operator: O)
where
    T: Number + Sample + Element<Acc = T> + Widen<T>,
    O: Operator<T> + core::fmt::Debug,
{
    let start: Vec<T> = Input::Mixed.array(3, 1);
    let problem = match cell % 5 {
        0 => Scan::inclusive(operator),
        1 => Scan::exclusive(operator).reverse(),
        2 => Scan::exclusive(operator).init(start[0]),
        3 => Scan::inclusive(operator).reverse(),
        _ => Scan::exclusive(operator),
    };
    let mut workspace = Workspace::default();
    for length in LENGTHS {
        let items: Vec<T> = Input::Mixed.array(cell as u64, length);
        let expected: Vec<T> = reference::specified::scan(&items, &problem);
        let context = format!("{options:?}: {problem:?} of {length} {}", T::DTYPE);
        let mut found = vec![T::from_bits(0x5555_5555_5555_5555); length];
        let (from, to) = (Source::Host(&items[..]), Target::Host(&mut found[..]));
        gpu.scan::<T, T, O>(&mut workspace, from, to, &problem, options)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(same(&found, &expected), "{context}");
        let mut data = items;
        gpu.scan_in_place(&mut workspace, Target::Host(&mut data), &problem, options)
            .unwrap_or_else(|error| panic!("{context}, in place: {error}"));
        assert!(same(&data, &expected), "{context}, in place");
    }
}

/// Every load with every global strategy, and every local one with each of them; types and forms in turn.
#[test]
fn scans_give_the_bits_of_the_order() {
    let Some(gpu) = crate::common::gpu() else { return };
    let mut cell = 0;
    for load in Load::all() {
        for &global in ScanGlobal::ALL {
            let local = ScanLocal::ALL[(cell + cell / 5) % 3];
            let options = options(GpuScanStrategy { load, local, global }, POLICIES[cell % 5]);
            let floats = local != ScanLocal::Blelloch;
            match cell / 3 % 4 {
                0 | 1 if floats => check::<f32, _>(gpu, cell, &options, Sum),
                2 if floats && load.width != AccessWidth::Bytes4 => {
                    check::<f64, _>(gpu, cell, &options, Sum);
                }
                3 => check::<u8, _>(gpu, cell, &options, Sum),
                _ => check::<u32, _>(gpu, cell, &options, LastSet),
            }
            cell += 1;
        }
    }
}

fn plain(local: ScanLocal, global: ScanGlobal) -> GpuScanStrategy {
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    GpuScanStrategy { load, local, global }
}

#[test]
fn what_would_break_the_order_is_refused_where_it_binds() {
    let Some(gpu) = crate::common::gpu() else { return };
    let items: Vec<f16> = Input::Mixed.array(4, 5000);
    for strategy in [
        plain(ScanLocal::Blelloch, ScanGlobal::ReduceThenScan),
        plain(ScanLocal::Cooperative, ScanGlobal::ScanThenPropagate),
    ] {
        let mut scanned = vec![f16::ZERO; items.len()];
        for level in [Determinism::Everywhere, Determinism::RunToRun] {
            let problem = Scan::inclusive(Sum).determinism(level);
            let (from, to) = (Source::Host(&items[..]), Target::Host(&mut scanned[..]));
            let mut workspace = Workspace::default();
            let options = options(strategy, None);
            let found = gpu.scan::<f16, f16, _>(&mut workspace, from, to, &problem, &options);
            let binds = level == Determinism::Everywhere;
            assert_eq!(matches!(found, Err(Error::StrategyRefused { .. })), binds, "{found:?}");
        }
    }
}

/// A chunk that never says its total: the chunks behind it find it out themselves.
#[test]
fn a_stalled_chunk_stops_nobody() {
    let Some(gpu) = crate::common::gpu() else { return };
    let items: Vec<f32> = Input::Mixed.array(9, 200_000);
    let problem = Scan::inclusive(Sum);
    let expected: Vec<f32> = reference::specified::scan(&items, &problem);
    let strategy = plain(ScanLocal::Cooperative, ScanGlobal::LookBackFallback);
    // In the middle of a window, at its end, and the very first.
    for stalled in [40, 31, 0] {
        let options = ScanOptions { stalled: Some(stalled), ..options(strategy, Some((128, 16))) };
        let mut workspace = Workspace::default();
        for run in 0..3 {
            // In place: a missing total must be found before its chunk is overwritten.
            let mut data = items.clone();
            gpu.scan_in_place(&mut workspace, Target::Host(&mut data), &problem, &options)
                .unwrap_or_else(|error| panic!("chunk {stalled} is stalled: {error}"));
            assert!(same(&data, &expected), "chunk {stalled} is stalled, run {run}");
        }
    }
}
