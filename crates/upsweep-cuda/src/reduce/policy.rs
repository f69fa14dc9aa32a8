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

/// The policy where none is asked for. Of those tried on an H200 (`benches/record/nvidia-h200/2026-11-22-cuda-sweep.csv`), a
/// tile to a workgroup was best up to 2^17 `u32`, a tile to each of eight warps up to 2^23, and four beyond.
pub(crate) fn policy(bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match bytes {
        0..=0x8_0000 => (32, 64),
        0x8_0001..0x200_0000 => (256, 64),
        _ => (256, 256),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
