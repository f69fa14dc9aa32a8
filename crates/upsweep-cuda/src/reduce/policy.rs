//! The numbers of a reduction on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, Dtype, GpuReduceStrategy, Load, ReduceGlobal, ReduceLocal, Tail,
    WorkgroupPolicy,
};

use crate::shader::{Op, Types};

/// The strategy where none is asked for: sums of 32-bit integers by one atomic that counts workgroups too, all else by the
/// last workgroup; what does not commute in several launches.
pub(crate) fn strategy(types: &Types) -> GpuReduceStrategy {
    GpuReduceStrategy {
        load: Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        },
        local: ReduceLocal::Cooperative,
        global: match () {
            () if !types.op.is_commutative() => ReduceGlobal::MultiLevel,
            () if packs(types) => ReduceGlobal::Atomic,
            () => ReduceGlobal::LastBlock,
        },
    }
}

/// Whether a total fits in the upper half of a word whose lower half counts workgroups.
pub(crate) fn packs(types: &Types) -> bool {
    types.op == Op::Sum && types.words() == 1 && types.is_exact()
}

/// Whether the device adds four items of an access at once.
pub(crate) fn sums_bytes(types: &Types, width: u32) -> bool {
    let sums = [(Dtype::U8, Dtype::U32), (Dtype::I8, Dtype::I32)];
    let sums = sums.map(|(item, acc)| (item.into(), acc.into()));
    let as_they_are = types.made.is_none() && types.op == Op::Sum;
    as_they_are && width >= 4 && sums.contains(&(types.item, types.acc))
}

/// Up to so many bytes a workgroup has a thread for each so many of them, 32 to 256 threads: few workgroups, or one, wait for little.
const ONE_WORKGROUP_BYTES: u64 = 1 << 17;
const BYTES_OF_THREAD: u64 = 128;

/// The policy where none is asked for. More bytes than one workgroup's are spread over as many multiprocessors as there are, so
/// workgroups grow with them. On an H200 sums took, in times of what they took with 32 threads up to 2^19 bytes and with 256 beyond
/// (`benches/record/nvidia-h200/2026-11-23-tune-cuda.csv`, `-tune-cuda-2.csv`):
///
/// | bytes | threads | `f32`, `u64`, `f64` | `u8`, `u32` |
/// |---|---|---|---|
/// | 2^14, 2^15 | 128, 256 | 0.84 to 0.87 | 0.97 to 0.98 |
/// | 2^16, 2^17 | 256 | 0.88 to 0.94 | 0.98 to 1 |
/// | 2^18 to 2^21 | 64 | 0.89 to 0.98 | 0.96 to 0.99 |
/// | 2^22, 2^23 | 128 | 0.96 to 0.98 | 0.94 to 0.96 |
/// | 2^25 | 256, with 64 items instead of 256 | 0.83 to 0.84 | |
///
/// How many items a thread has hardly matters until there are more bytes than that (`2026-11-22-cuda-sweep.csv`).
pub(crate) fn policy(bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match bytes {
        _ if bytes <= ONE_WORKGROUP_BYTES => {
            let threads = bytes.div_ceil(BYTES_OF_THREAD).next_power_of_two();
            (threads.clamp(32, 256) as u32, 64)
        }
        _ if bytes <= 1 << 21 => (64, 64),
        _ if bytes <= 1 << 23 => (128, 64),
        _ if bytes <= 1 << 25 => (256, 64),
        _ => (256, 256),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
