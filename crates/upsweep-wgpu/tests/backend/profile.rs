//! Profiles name every launch of every strategy, count its bytes, and time it.

use core::time::Duration;

use upsweep_core::summation::{TILE, WINDOW};
use upsweep_core::{
    AccessWidth, Arrangement, Dtype, Error, GpuReduceStrategy, GpuScanStrategy, Load, Reduce,
    ReduceGlobal, ReduceLocal, Scan, ScanGlobal, ScanLocal, Sum, Tail, WorkgroupPolicy,
};
use upsweep_wgpu::{
    Calls, Gpu, Recording, RecordingProfile, ReduceOptions, ScanOptions, Slice, Workspace,
};

const ITEMS: u64 = 100_001;
const LOAD: Load =
    Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes4, tail: Tail::Checked };

fn buffer(gpu: &Gpu, bytes: u64) -> wgpu::Buffer {
    gpu.wgpu().0.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.next_multiple_of(16),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    })
}

fn slice(buffer: &wgpu::Buffer, dtype: Dtype, items: u64) -> Slice<'_> {
    Slice::new(buffer, dtype, 0, items).expect("a slice")
}

/// A profile with what every one must say, if the device has timestamps.
fn profiled(gpu: &Gpu, recording: &Recording) -> Option<RecordingProfile> {
    let profile = gpu.profile(recording, 3).expect("a profile");
    assert_eq!(profile.is_some(), gpu.limits().timestamps, "{gpu:?}");
    let profile = profile?;
    assert_eq!(profile.dispatches.len(), recording.launches(), "{gpu:?}");
    let times = profile.dispatches.iter().flat_map(|launch| [launch.time, launch.limit]);
    for times in times.chain([profile.whole]) {
        assert!(times.lower <= times.median && times.median <= times.upper, "{gpu:?}: {times:?}");
    }
    let launches: Duration = profile.dispatches.iter().map(|launch| launch.time.median).sum();
    assert!(launches > Duration::ZERO && profile.whole.median > Duration::ZERO, "{gpu:?}");
    Some(profile)
}

/// Name, bytes read and bytes written of every launch.
fn rows(profile: &RecordingProfile) -> Vec<(&'static str, u64, u64)> {
    let launches = profile.dispatches.iter();
    launches.map(|launch| (launch.name, launch.read, launch.written)).collect()
}

#[test]
fn launches_of_reductions() {
    for gpu in crate::common::gpus() {
        let (items, total) = (buffer(gpu, 4 * ITEMS), buffer(gpu, 4));
        for &global in ReduceGlobal::ALL {
            let strategy =
                GpuReduceStrategy { load: LOAD, local: ReduceLocal::SharedMemory, global };
            let bound = gpu.bind_reduce::<u32, u32, _>(
                &mut Workspace::default(),
                [slice(&items, Dtype::U32, ITEMS), slice(&total, Dtype::U32, 1)],
                &Reduce::new(Sum),
                &ReduceOptions { strategy: Some(strategy), policy: None },
            );
            let recording = match bound {
                Err(Error::StrategyRefused { .. }) => continue,
                bound => gpu.recording(bound.expect("a recording")).expect("a recording"),
            };
            let Some(profile) = profiled(gpu, &recording) else { continue };
            let mut expected = vec![("reduce", 4 * ITEMS, 0)];
            if global == ReduceGlobal::MultiLevel {
                expected.push(("fold_partials", 4 * profile.dispatches[0].workgroups, 0));
            }
            assert_eq!(rows(&profile), expected, "{gpu:?}: {global:?}");
        }
    }
}

#[test]
fn launches_of_scans() {
    for gpu in crate::common::gpus() {
        let (items, ends) = (buffer(gpu, ITEMS), buffer(gpu, 4 * ITEMS));
        for &global in ScanGlobal::ALL {
            let strategy = GpuScanStrategy { load: LOAD, local: ScanLocal::Raking, global };
            // One tile to a chunk.
            let policy = WorkgroupPolicy { threads_per_workgroup: 64, items_per_thread: 1 };
            let bound = gpu.bind_scan::<u8, u32, _>(
                &mut Workspace::default(),
                [slice(&items, Dtype::U8, ITEMS), slice(&ends, Dtype::U32, ITEMS)],
                &Scan::inclusive(Sum),
                &ScanOptions { strategy: Some(strategy), policy: Some(policy), stalled: None },
            );
            let recording = match bound {
                Err(Error::StrategyRefused { .. }) => continue,
                bound => gpu.recording(bound.expect("a recording")).expect("a recording"),
            };
            let Some(profile) = profiled(gpu, &recording) else { continue };
            let totals = 4 * ITEMS.div_ceil(TILE as u64);
            let prefixes = 4 * (ITEMS.div_ceil(WINDOW as u64) + 1);
            let expected = match global {
                ScanGlobal::ReduceThenScan => vec![
                    ("upsweep", ITEMS, 0),
                    ("spine", totals, prefixes),
                    ("downsweep", ITEMS, 4 * ITEMS),
                ],
                ScanGlobal::ScanThenPropagate => vec![
                    ("local", ITEMS, 4 * ITEMS),
                    ("spine", totals, prefixes),
                    ("propagate", 4 * ITEMS, 4 * ITEMS),
                ],
                _ => vec![("scan", ITEMS, 4 * ITEMS)],
            };
            assert_eq!(rows(&profile), expected, "{gpu:?}: {global:?}");
        }
    }
}

#[test]
fn more_runs_than_a_query_set_holds() {
    for gpu in crate::common::gpus() {
        let (items, total) = (buffer(gpu, 4000), buffer(gpu, 4));
        let bind = |length| {
            let bound = gpu.bind_reduce::<u32, u32, _>(
                &mut Workspace::default(),
                [slice(&items, Dtype::U32, length), slice(&total, Dtype::U32, 1)],
                &Reduce::new(Sum),
                &ReduceOptions::default(),
            );
            gpu.recording(bound.expect("a recording")).expect("a recording")
        };
        let recording = bind(1000);
        for runs in [0, 1, 2049] {
            let times = gpu.time(&recording, runs).expect("times");
            assert_eq!(times.is_some(), gpu.limits().timestamps, "{gpu:?}");
            assert!(times.is_none_or(|times| times.len() == runs as usize), "{gpu:?}");
        }
        for recording in [recording.repeated(3), bind(0)] {
            let profile = profiled(gpu, &recording);
            let known = |launch: &upsweep_wgpu::DispatchProfile| launch.gbps().is_some();
            // Of no items there is no rate, but a time.
            let items = recording.launches() > 1;
            assert!(profile.is_none_or(|profile| profile.dispatches.iter().all(known) == items));
        }
    }
}
