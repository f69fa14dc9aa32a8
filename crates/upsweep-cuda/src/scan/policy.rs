//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};

/// The strategy where none is asked for: totals only where chunks can wait in shared memory while others are brought there, or
/// wherever the array fits into the registers of all workgroups that run at once; else look-back.
pub(crate) fn strategy(arch: u32) -> GpuScanStrategy {
    GpuScanStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: ScanLocal::Cooperative,
        global: if arch >= super::ARCH_OF_BULK_COPIES {
            ScanGlobal::Aggregates
        } else {
            ScanGlobal::LookBack
        },
    }
}

/// The policy where none is asked for.
pub(crate) fn policy(items: u64, item_bytes: usize) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match items {
        0..=0x4_0000 => (128, 16),
        0x4_0001..=0x10_0000 => (256, 16),
        0x10_0001..=0x20_0000 => (512, 16),
        _ if item_bytes > 4 => (256, 16),
        _ => (256, 64),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
