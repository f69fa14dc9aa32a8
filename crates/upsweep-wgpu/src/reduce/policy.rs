//! The numbers of a reduction on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuReduceStrategy, Load, ReduceGlobal, ReduceLocal, Tail,
    WorkgroupPolicy,
};

use crate::device::Facts;
use crate::shader::Types;

/// The strategy where none is asked for: striped loads of 16 bytes; subgroups where the device has them; one
/// launch, with a hardware atomic where the type has one, unless workgroups do not hear one another.
pub(crate) fn strategy(facts: &Facts, types: &Types) -> GpuReduceStrategy {
    let atomic = types.op.atomic(types.held()).is_some();
    GpuReduceStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: if facts.subgroup > 1 {
            ReduceLocal::Cooperative
        } else {
            ReduceLocal::SharedMemory
        },
        global: match atomic {
            _ if !facts.messages => ReduceGlobal::MultiLevel,
            true => ReduceGlobal::Atomic,
            false => ReduceGlobal::LastBlock,
        },
    }
}

/// The policy where none is asked for.
///
/// - 256 threads; up to 2^18 bytes 64, so that a small array too makes many workgroups busy. On an H200 the best
///   of the sweep is 512 threads from 2^24 items up, 2 to 3 % faster, and 128 at 2^20
///   (`benches/record/nvidia-h200/2026-11-21-wgpu-sweep.csv`); software devices have at most 256.
/// - 32 items of `f32`: 16 bytes times 8 rows on their way for each thread; 16 to 128 are equal in the sweep.
pub(crate) fn policy(bytes: u64) -> WorkgroupPolicy {
    WorkgroupPolicy {
        threads_per_workgroup: if bytes <= 1 << 18 { 64 } else { 256 },
        items_per_thread: 32,
    }
}

/// Workgroups that fill the largest devices several times over. On an H200 256, 512, 1,024 and 4,096 were within noise
/// of each other in a draft of the kernel (2026-11-21).
pub(crate) const ENOUGH_WORKGROUPS: u64 = 1024;
