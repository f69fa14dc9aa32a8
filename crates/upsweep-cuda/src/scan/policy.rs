//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};

/// The strategy where none is asked for, which is the only one there is.
pub(crate) fn strategy() -> GpuScanStrategy {
    GpuScanStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: ScanLocal::Cooperative,
        global: ScanGlobal::Aggregates,
    }
}

/// The policy where none is asked for: 16 warps of workers that hold 8 rows each, and half as many rows of 8 bytes, so that
/// three chunks fit in a multiprocessor's shared memory; 8 warps for short arrays, so that more multiprocessors have some. On
/// an H200 the first of these scans 2^28 `f32` at 95 % of copying (`benches/record/nvidia-h200/2026-11-21-cuda-scan.csv`).
pub(crate) fn policy(items: u64, item_bytes: usize) -> WorkgroupPolicy {
    let threads_per_workgroup = if items <= 1 << 20 { 256 } else { 512 };
    let items_per_thread = if item_bytes > 4 { 16 } else { 32 };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
