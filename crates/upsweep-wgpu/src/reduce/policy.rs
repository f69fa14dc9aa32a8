//! The numbers of a reduction on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::summation::ROWS;
use upsweep_core::{
    AccessWidth, Arrangement, GpuReduceStrategy, Load, ReduceGlobal, ReduceLocal, Tail,
    WorkgroupPolicy,
};

use crate::device::Facts;
use crate::shader::{Held, Types};

/// Arrays of at least so many bytes are long: their workgroups are larger.
const LONG_BYTES: u64 = 1 << 25;

/// The time of so many bytes makes up for a second launch.
const SECOND_LAUNCH_BYTES: u64 = 1 << 27;

/// So many bytes are the work of one workgroup, of at most 512 threads.
const ONE_WORKGROUP_BYTES: u64 = 512 * BYTES_OF_THREAD;

/// What a thread folds of one tile: rows of 16 bytes.
const BYTES_OF_THREAD: u64 = 16 * ROWS as u64;

/// The strategy where none is asked for: striped loads of 16 bytes; subgroups where the device has them; one
/// launch, with a hardware atomic where the device has one of the type, unless workgroups do not hear one another: on
/// an H200 2^28 `u64` take 489 us by atomics and 549 by the last block. Two launches
/// - for what does not commute;
/// - for many numbers without an atomic: 2^28 `f32` take 247 us, 251 by the last block; 2^24 take 23.7, and 23.1 by the last block;
///   one's own sum of 2^28 `u32` takes 247, the built-in's 242 by atomics, 254 by the last block
///   (`benches/record/nvidia-h200/2026-11-23-wgpu-own.csv`, `-tune-wgpu.csv`);
/// - for so few that there is one workgroup, which needs neither the second nor what the last block does before it begins:
///   2^14 `f32` take 6.3 us, 7.5 by the last block.
pub(crate) fn strategy(facts: &Facts, types: &Types, bytes: u64) -> GpuReduceStrategy {
    let has_atomics = types.held().words() == 1 || facts.int64_atomics;
    let atomic = has_atomics && types.op.atomic(types.held()).is_some();
    let many = bytes >= SECOND_LAUNCH_BYTES && matches!(types.held(), Held::Plain(_));
    let of_one = ONE_WORKGROUP_BYTES.min(u64::from(facts.threads) * BYTES_OF_THREAD);
    let few = bytes <= of_one && !matches!(types.held(), Held::Structure(_));
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
            false if many || few => ReduceGlobal::MultiLevel,
            false => ReduceGlobal::LastBlock,
        },
    }
}

/// The policy where none is asked for.
///
/// - Up to 2^17 bytes one workgroup that has threads for all of them: on an H200 2^12 `f64` take 6.7 us so, 8.4 with 64 threads to a
///   workgroup, 2^14 `f32` 6.3 and 7.5 (`2026-11-23-tune-wgpu.csv`). Then 64 threads up to 2^18, so that a small array too makes
///   many workgroups busy; 512 from 2^25 bytes on, 2 to
///   3 % faster than 256 on an H200 (`benches/record/nvidia-h200/2026-11-21-wgpu-reduce.csv`). Bytes, which take more
///   registers, stay at 256: 67.1 us for 2^28 in `u32`, 68.4 with 512.
/// - 16 items of `f32` on their way for each thread: 16 bytes times 4 rows; 16 to 128 are within 1 %.
pub(crate) fn policy(bytes: u64, item_bytes: usize) -> WorkgroupPolicy {
    let threads_per_workgroup = match bytes {
        _ if bytes <= ONE_WORKGROUP_BYTES => {
            (bytes.div_ceil(BYTES_OF_THREAD).next_power_of_two() as u32).max(32)
        }
        _ if bytes <= 1 << 18 => 64,
        _ if bytes < LONG_BYTES || item_bytes == 1 => 256,
        _ => 512,
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread: 16 }
}

/// Workgroups that fill the largest devices several times over: those that run are not all as fast, and the last ones
/// even that out. On an H200 4,096 sum 2^28 `u32` by atomics at 4,451 GB/s, 1,024 at 4,395, 16,384 at 4,394; in two launches 2,048
/// at 4,352, 1,024 at 4,310, 4,096 at 4,337; where the last folds what the others leave, 1,024 sum 2^28 `f32` at 4,278, 512 at
/// 3,906, 2,048 at 4,212 (`2026-11-23-wgpu-own.csv`, runs 9 to 19).
pub(crate) fn enough_workgroups(global: ReduceGlobal) -> u64 {
    match global {
        ReduceGlobal::Atomic => 4096,
        ReduceGlobal::MultiLevel => 2048,
        ReduceGlobal::LastBlock => 1024,
    }
}
