//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};
use upsweep_gpu::layout::is_whole;

use crate::backend::Inputs;
use crate::shader::Types;

/// The strategy where none is asked for: totals only where chunks can wait in shared memory while others are brought there, or
/// wherever the array fits into the registers of all workgroups that run at once; else look-back, with a fallback on devices
/// that do not promise that workgroups go on.
pub(crate) fn strategy(arch: u32) -> GpuScanStrategy {
    GpuScanStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: ScanLocal::Cooperative,
        global: match arch {
            super::ARCH_OF_BULK_COPIES.. => ScanGlobal::Aggregates,
            super::ARCH_OF_PROGRESS.. => ScanGlobal::LookBack,
            _ => ScanGlobal::LookBackFallback,
        },
    }
}

/// Whether a warp serves the others of its workgroup.
pub(crate) fn serves(arch: u32, asked: GpuScanStrategy) -> bool {
    let GpuScanStrategy { load, local, .. } = strategy(arch);
    (asked.load, asked.local) == (load, local)
        && matches!(asked.global, ScanGlobal::Aggregates | ScanGlobal::LookBack)
}

/// Whether chunks can be brought to shared memory: items of one array, as they are; or those of one or two arrays where some are selected.
/// More than items in order from one array takes arrays that all begin where the copy engine copies from, `evenly`, and an output whose items
/// wait where those of the first array did.
pub(crate) fn is_copied(types: &Types, evenly: bool) -> bool {
    if types.cut.is_some() || is_whole(types.item) {
        return false;
    }
    let Some(made) = &types.made else { return true };
    let Some(arrays) = made.reads_in_order().filter(|_| types.selects()) else { return false };
    match *arrays {
        [_] if !types.is_numbered() => true,
        [first] | [first, _] => {
            let plain = arrays.iter().all(|kind| !is_whole(*kind));
            evenly && plain && types.output.size() <= first.size()
        }
        _ => false,
    }
}

/// Whether arrays begin where the copy engine copies from.
pub(crate) fn begins_evenly(inputs: &Inputs<'_>) -> bool {
    inputs.arrays.iter().all(|slice| slice.pointer().is_multiple_of(COPIED_AT_ONCE))
}

/// Bytes of which the copy engine copies a multiple, from a multiple of them on.
const COPIED_AT_ONCE: u64 = 16;

/// The same for these types: chunks whose items are made as they are read, are cut into segments, or lie in no accesses of 16 bytes, are not brought to
/// shared memory.
pub(crate) fn of_types(arch: u32, types: &Types, evenly: bool) -> GpuScanStrategy {
    let strategy = strategy(arch);
    if is_copied(types, evenly) {
        return strategy;
    }
    let global = match strategy.global {
        ScanGlobal::Aggregates => ScanGlobal::LookBack,
        global => global,
    };
    GpuScanStrategy { global, ..strategy }
}

/// The policy for these types where none is asked for. Items that are cut into segments wait in registers until others have
/// told what comes in: the fewer a thread has, the more workgroups do so at once.
pub(crate) fn policy_of_types(items: u64, types: &Types, evenly: bool) -> WorkgroupPolicy {
    let policy = policy(items / u64::from(types.packed), types.item.size());
    match types.cut {
        Some(_) => WorkgroupPolicy { threads_per_workgroup: 128, items_per_thread: 32 },
        None if types.selects() && items > MOST_HELD_AT_ONCE => of_selection(types, evenly),
        None if gathers_to_device_length(types) => {
            WorkgroupPolicy { items_per_thread: policy.items_per_thread.min(32), ..policy }
        }
        None => policy,
    }
}

/// Whether a thread has addresses, bounds and a length in registers: it gathers items, and only the device knows how many there are. Beside 64 items of four
/// bytes NVRTC 13.0 spills 16 bytes then on sm_80, where items wait in registers. Selections have numbers of their own.
pub(crate) fn gathers_to_device_length(types: &Types) -> bool {
    types.is_bounded && types.gathers() && !types.selects()
}

/// Items that all multiprocessors of a large device hold at once.
const MOST_HELD_AT_ONCE: u64 = 1 << 20;

/// The policy of long selections. Of those tried on an H200 with 2^28 `f32` (`benches/record/nvidia-h200/2026-11-27-select.md`): as many warps as a
/// workgroup has where chunks are staged, and in registers as many items as let two workgroups share a multiprocessor.
fn of_selection(types: &Types, evenly: bool) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match is_copied(types, evenly) {
        true => (512, 32),
        false => (256, 32),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

/// A policy of words of `packed` items as one of items.
pub(crate) fn of_items(policy: WorkgroupPolicy, packed: u32) -> WorkgroupPolicy {
    WorkgroupPolicy { items_per_thread: policy.items_per_thread * packed, ..policy }
}

/// The policy where none is asked for. Of those tried on an H200 (`benches/record/nvidia-h200/2026-11-22-cuda-sweep.csv`): up
/// to 2^18 items a tile for each workgroup; up to 2^20 what all multiprocessors hold at once, in as many threads as they run;
/// for longer arrays chunks of which three fit in a multiprocessor's shared memory, and more items to a thread the shorter
/// they are.
pub(crate) fn policy(items: u64, item_bytes: usize) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match (items, item_bytes) {
        (0..=0x4_0000, _) => (128, 16),
        (0x4_0001..=0x10_0000, 8) => (256, 32),
        (0x4_0001..=0x10_0000, _) | (_, 8) => (512, 16),
        (_, 1 | 2) => (512, 64),
        _ => (256, 64),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

/// Chunks of an array beside which one that is not whole does not count: it takes several times as long as a whole one.
const CHUNKS_BESIDE_A_PART: u64 = 6;

/// Items of an array, at least: warps that have a shorter one to themselves are as fast.
const LEAST_OF_BATCH: u64 = 1 << 13;

/// The policy of scans of several arrays of so many items each by one launch: the longest chunks of which each array has a whole number, or so
/// many that the last does not count. `None` if there are none.
pub(crate) fn policy_of_batch(items: u64, types: &Types) -> Option<WorkgroupPolicy> {
    policies_of_batch(types).into_iter().filter(|_| items >= LEAST_OF_BATCH).find(|policy| {
        let chunk = u64::from(policy.threads_per_workgroup * policy.items_per_thread);
        items >= chunk && (items.is_multiple_of(chunk) || items / chunk >= CHUNKS_BESIDE_A_PART)
    })
}

/// The policy with the shortest chunks.
pub(crate) fn smallest_of_batch(types: &Types) -> WorkgroupPolicy {
    policies_of_batch(types)[2]
}

/// Of those tried on an H200 with 2^28 `f32` (`benches/record/nvidia-h200/2026-11-28-axes.md`): the policy of long arrays, and two with a half and
/// a quarter of its chunks.
fn policies_of_batch(types: &Types) -> [WorkgroupPolicy; 3] {
    let policies = match types.item.size() {
        8 => [(512, 16), (256, 16), (128, 16)],
        1 | 2 => [(512, 64), (512, 32), (256, 32)],
        _ => [(256, 64), (256, 32), (128, 32)],
    };
    policies.map(|(threads_per_workgroup, items_per_thread)| WorkgroupPolicy {
        threads_per_workgroup,
        items_per_thread,
    })
}
