//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};

use crate::device::Facts;
use crate::shader::Types;

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
/// in registers, the faster, until a workgroup fewer fits. On an H200 32 items of 512 threads scan 2^28 `u32` at 3,210
/// GB/s and 2^24 at 2,384, of 256 threads at 3,046 and 2,337, 64 of 256 at 2,952 and 2,142; 8 of 512 scan 2^20 in
/// 10.1 us instead of 11.5, but 2^22 in 19.4 instead of 16.4
/// (`benches/record/nvidia-h200/2026-11-21-wgpu-early-total.csv`).
pub(crate) fn policy(facts: &Facts, bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match bytes {
        // Devices with narrow subgroups have few registers.
        0..=0x3f_ffff if facts.subgroup < 32 => (256, 8),
        _ if facts.subgroup < 32 => (256, 16),
        0..=0x7f_ffff => (512, 8),
        _ => (512, 32),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

/// The same for items that are cut into segments: with what values know of these, registers hold half as many.
pub(crate) fn of_types(facts: &Facts, types: &Types, bytes: u64) -> WorkgroupPolicy {
    let policy = policy(facts, bytes);
    let items_per_thread = match types.cut {
        Some(_) => (policy.items_per_thread / 2).max(8),
        None => policy.items_per_thread,
    };
    WorkgroupPolicy { items_per_thread, ..policy }
}
