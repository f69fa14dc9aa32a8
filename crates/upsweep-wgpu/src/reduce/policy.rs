//! The numbers of a reduction on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuReduceStrategy, Load, ReduceGlobal, ReduceLocal, Tail,
    WorkgroupPolicy,
};

use crate::device::Facts;
use crate::shader::{Held, Types};

/// Arrays of at least so many bytes are long: a second launch is lost in the time that they take.
const LONG_BYTES: u64 = 1 << 25;

/// The strategy where none is asked for: striped loads of 16 bytes; subgroups where the device has them; one
/// launch, with a hardware atomic where the device has one of the type, unless workgroups do not hear one another: on
/// an H200 2^28 `u64` take 489 us by atomics and 549 by the last block. What does not commute takes several launches; so do
/// many numbers whose grouping cannot be seen: 2^28 `u32` take 242 us by atomics, 254 by the last block and 247 in two launches
/// (`benches/record/nvidia-h200/2026-11-23-wgpu-own.csv`).
pub(crate) fn strategy(facts: &Facts, types: &Types, bytes: u64) -> GpuReduceStrategy {
    let has_atomics = types.held().words() == 1 || facts.int64_atomics;
    let atomic = has_atomics && types.op.atomic(types.held()).is_some();
    let many = types.is_exact() && matches!(types.held(), Held::Plain(_));
    GpuReduceStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: match facts.subgroup {
            1 if types.op.is_commutative() => ReduceLocal::SharedMemory,
            1 => ReduceLocal::Raking,
            _ => ReduceLocal::Cooperative,
        },
        global: match atomic {
            _ if !facts.messages || !types.op.is_commutative() => ReduceGlobal::MultiLevel,
            true => ReduceGlobal::Atomic,
            false if many && bytes >= LONG_BYTES => ReduceGlobal::MultiLevel,
            false => ReduceGlobal::LastBlock,
        },
    }
}

/// The policy where none is asked for.
///
/// - Up to 2^18 bytes 64 threads, so that a small array too makes many workgroups busy; 512 from 2^25 bytes on, 2 to
///   3 % faster than 256 on an H200 (`benches/record/nvidia-h200/2026-11-21-wgpu-reduce.csv`). Bytes, which take more
///   registers, stay at 256: 67.1 us for 2^28 in `u32`, 68.4 with 512.
/// - 16 items of `f32` on their way for each thread: 16 bytes times 4 rows; 16 to 128 are within 1 %.
pub(crate) fn policy(bytes: u64, item_bytes: usize) -> WorkgroupPolicy {
    let threads_per_workgroup = match bytes {
        0..=0x4_0000 => 64,
        0x4_0001..LONG_BYTES => 256,
        _ if item_bytes == 1 => 256,
        _ => 512,
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread: 16 }
}

/// Workgroups that fill the largest devices several times over: those that run are not all as fast, and the last ones
/// even that out. On an H200 4,096 sum 2^28 `u32` at 4,451 GB/s, 1,024 at 4,395, 16,384 at 4,394; where one workgroup
/// folds what the others leave, 1,024 are as fast or faster (`f32`: 4,317, 4,254, 4,281).
pub(crate) fn enough_workgroups(global: ReduceGlobal) -> u64 {
    if global == ReduceGlobal::Atomic { 4096 } else { 1024 }
}
