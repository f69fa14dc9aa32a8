//! The numbers of a scan on a GPU: a pure function of the device's limits and the problem.

use upsweep_core::{
    AccessWidth, Arrangement, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail, WorkgroupPolicy,
};

use upsweep_gpu::Form;

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

/// Whether scans of so many items by this strategy may be those of words of `packed` items. On an H200 scans of 2^24 `i16` took 1.05
/// of what they take item by item, of 2^26 0.86 and of 2^28 0.77.
pub(crate) fn packs(facts: &Facts, asked: GpuScanStrategy, items: u64, packed: u32) -> bool {
    let GpuScanStrategy { load, local, .. } = strategy(facts);
    let gains = packed == 4 || items >= 1 << 25 || facts.subgroup < 32;
    let serves = (asked.load, asked.local) == (load, local);
    gains && serves && asked.global != ScanGlobal::ScanThenPropagate
}

/// The policy where none is asked for.
///
/// Chunks must be many enough to fill the device and large enough to hide what they wait for. So few items that all chunks run at
/// once are spread over as many threads as there are; of many, a thread holds as much as it has registers for. On an H200, in
/// times of what was chosen before, 512 threads with 8 items or, from 8 MiB on, with 32 (`benches/record/nvidia-h200/2026-11-23-tune-wgpu.csv`,
/// `-tune-wgpu-2.csv`, `-scan-chunks-wgpu.csv`):
///
/// | items | chosen | `u8` | `u32`, `f32` | `u64`, `f64` |
/// |---|---|---|---|---|
/// | to 2^18 | 512 threads with 4 | 0.97 to 0.99 | 0.89 to 0.98 | 0.86 to 0.93 |
/// | 2^20 | 512 with 8 | 1 | 1 | 0.74 to 0.77 |
/// | 2^22 | 512 with 32; of 8 bytes 128 with 32 | 0.83 | 0.92 to 1 | 0.97 |
/// | 2^24 and more | the same; of one byte 128 with 128, from 2^27 on 512 with 128 | 0.86 to 0.91 | 1 | 0.9 to 0.94 |
///
/// Of 2^22 items and less that is as cells were tried. Of more, where single runs made the second of two look faster, it is what the last turns
/// said; for `u8` and `u64` the product of those of two runs.
/// Of 2^28 `u8` 512 threads with 128 items take 0.96 of what 128 take (`-tune-wgpu-3.csv`), with 256 items as long
/// (`2026-11-24-check-quick-wgpu.csv`), of 2^26 0.98 (`2026-11-23-check-wgpu-2.csv`).
/// Of 2^24 `u32` and `f32` 128 threads with 32 items take 1.03 of what 512 take, of 2^28 1.07 and 1.11
/// (`-scan-chunks-wgpu.csv`, `-check-quick-wgpu.csv`).
pub(crate) fn policy(facts: &Facts, items: u64, item_bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match () {
        _ if facts.subgroup < 32 => narrow(items * item_bytes),
        _ if items < 1 << 19 => (512, 4),
        _ if items < 1 << 21 => (512, 8),
        _ if item_bytes >= 8 => (128, 32),
        _ if item_bytes == 1 && items >= 1 << 27 => (512, 128),
        _ if item_bytes == 1 && items >= 1 << 23 => (128, 128),
        _ => (512, 32),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

/// Threads and items of devices with narrow subgroups, which have few registers.
fn narrow(bytes: u64) -> (u32, u32) {
    (256, if bytes < 1 << 22 { 8 } else { 16 })
}

/// The policy of kernels that were not measured with the numbers above and keep what they had: with what values know of segments,
/// registers hold half as many items; where only the total is written, as many.
fn of_others(facts: &Facts, types: &Types, bytes: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match bytes {
        _ if facts.subgroup < 32 => narrow(bytes),
        0..=0x7f_ffff => (512, 8),
        _ => (512, 32),
    };
    let items_per_thread = match types.cut {
        Some(_) => (items_per_thread / 2).max(8),
        None => items_per_thread,
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}

/// The policy of a kernel.
pub(crate) fn of_kernel(facts: &Facts, types: &Types, form: Form, items: u64) -> WorkgroupPolicy {
    let item_bytes = types.item.size().max(types.output.size()) as u64;
    if types.cut.is_some() || form.only_total {
        of_others(facts, types, items * item_bytes)
    } else if types.selects() && facts.subgroup >= 32 && items >= 1 << 21 {
        // Of those tried on an H200 with 2^24 and 2^28 `f32`, the fastest (`benches/record/nvidia-h200/2026-11-27-select.md`).
        WorkgroupPolicy { threads_per_workgroup: 512, items_per_thread: 16 }
    } else if types.packed > 1 && facts.subgroup >= 32 {
        of_words(items)
    } else {
        policy(facts, items, item_bytes)
    }
}

/// The policy of scans of items of so many bytes, of which `packed` may be scanned as one word.
pub(crate) fn of_size(
    facts: &Facts,
    strategy: GpuScanStrategy,
    items: u64,
    item_bytes: u64,
    packed: u32,
) -> WorkgroupPolicy {
    if packed == 1 || !packs(facts, strategy, items, packed) {
        return policy(facts, items, item_bytes);
    }
    let words = items / u64::from(packed);
    let of_words = match facts.subgroup {
        32.. => of_words(words),
        _ => policy(facts, words, item_bytes * u64::from(packed)),
    };
    WorkgroupPolicy { items_per_thread: of_words.items_per_thread * packed, ..of_words }
}

/// The policy of scans of so many words of several items: that of as many `u32`, but of many words fewer threads, which wait for less
/// where each has more to do. On an H200 the words of 2^26 `u8` took 0.70 of what 512 threads with 32 words take, of 2^28 0.65
/// (`benches/record/nvidia-h200/2026-11-27-short-types-tune-wgpu.csv`).
fn of_words(words: u64) -> WorkgroupPolicy {
    let (threads_per_workgroup, items_per_thread) = match () {
        _ if words < 1 << 19 => (512, 4),
        _ if words < 1 << 21 => (512, 8),
        _ if words < 1 << 23 => (512, 32),
        _ => (128, 32),
    };
    WorkgroupPolicy { threads_per_workgroup, items_per_thread }
}
