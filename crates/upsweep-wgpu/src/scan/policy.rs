//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};

use crate::device::Facts;

/// The strategy where none is asked for: striped loads of 16 bytes; subgroups where the device has them; a single
/// pass where workgroups go on, three launches elsewhere.
pub(crate) fn strategy(facts: &Facts) -> GpuScanStrategy {
    GpuScanStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        // Without subgroup operations one thread rakes: slow, but in the order of summation, which Blelloch's
        // tree is not.
        local: if facts.subgroup > 1 { ScanLocal::Cooperative } else { ScanLocal::Raking },
        global: if facts.messages && facts.forward_progress {
            ScanGlobal::LookBackFallback
        } else {
            ScanGlobal::ReduceThenScan
        },
    }
}

/// The policy where none is asked for: chunks of 4,096 items, of 2,048 for arrays of at most 2^20 bytes. Near the best
/// of the first sweep on an H200 for the strategy with fallback (512 or 256 threads, 16 items), which is to be made again
/// (`docs/decisions/2026-11-21-wgpu-first-figures.md`).
pub(crate) fn policy(bytes: u64) -> WorkgroupPolicy {
    WorkgroupPolicy {
        threads_per_workgroup: 256,
        items_per_thread: if bytes <= 1 << 20 { 8 } else { 16 },
    }
}
