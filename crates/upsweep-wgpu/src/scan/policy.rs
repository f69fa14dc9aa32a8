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

/// The policy where none is asked for.
///
/// Chunks must be many enough to fill the device and large enough to hide what they wait for: the more bytes are held
/// in registers, the faster, until a workgroup fewer fits. On an H200 32 items of 512 threads scan 2^28 `u32` at 2,595
/// GB/s, of 256 threads at 2,362, 64 of 512 at 2,401 (`benches/record/nvidia-h200/2026-11-21-wgpu-look.csv`); below
/// 2^22 bytes 8 of 256 were best for an earlier kernel (`2026-11-21-wgpu-sweep.csv` there).
pub(crate) fn policy(facts: &Facts, bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match bytes {
        0..=0x3f_ffff => (256, 8),
        // Devices with narrow subgroups have few registers.
        _ if facts.subgroup < 32 => (256, 16),
        _ => (512, 32),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
