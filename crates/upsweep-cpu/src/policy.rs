//! The numbers of the CPU strategies: a pure function of the device's limits.

use upsweep_core::{CpuPolicy, Limits};

/// The policy for a CPU with these limits.
///
/// - `serial_bytes`: below, waking a helper takes longer than its work. Measured on a Zen 4 with two
///   cores: 2 MiB are read at 87 GB/s by one and 114 to 139 by two (2026-11-21).
/// - `scan_serial_bytes`: several threads read every item twice and hand on a carry for each block, so that they lose where one
///   thread's own cache is fast, and more threads gain sooner. In bytes read and written, two of a Zen 5 gain from 32 MiB on (L2
///   1 MiB; 16 MiB take 222 us by one and 399 by two), two of a Xeon from 4 to 8 (L2 2 MiB), eight from 2. This is nearer to both than
///   any number for all (2026-11-23, `2026-11-23-scan-threads.csv` in the records of both); `upsweep tune` finds the machine's own.
/// - `block_bytes`: a quarter of the second-level cache; enough to pay for handing out the block.
/// - `scan_block_bytes`: a first-level cache full. Between the two times a block is read, the next
///   one is fetched line by line with the stores of this one; with blocks of 16 to 32 KiB two
///   threads then reach 96 % of the speed of copying, with blocks of 256 KiB 88 %
///   (Zen 4, 2026-11-21, `benches/record/`).
/// - `streaming_bytes`: an output that leaves no room for its input in the last-level cache is better
///   written past it. Below, a reader that comes next finds the output there.
/// - `half_line_bytes`: what does not fit in the last-level cache. On two cores of a Zen 4 loads of 32
///   bytes read memory 1 to 5 % faster than loads of 64; in the caches they are up to 20 % slower.
///   Medians of five, interleaved, in GB/s: `u32` 35.1 and 34.0, `f32` 34.6 and 32.9, `i64` 34.1 and
///   33.8, `i16` 34.7 and 34.2 (2026-11-21).
pub(crate) fn policy(limits: &Limits) -> CpuPolicy {
    let helpers = limits.compute_units.saturating_sub(1).max(1);
    CpuPolicy {
        serial_bytes: 2 << 20,
        scan_serial_bytes: (24 * limits.l2_bytes / helpers).max(2 << 20),
        block_bytes: (limits.l2_bytes / 4).max(1 << 16),
        scan_block_bytes: limits.l1_bytes.max(1 << 14),
        streaming_bytes: (limits.l3_bytes / 2).max(limits.l2_bytes).max(1 << 22),
        half_line_bytes: limits.l3_bytes.max(limits.l2_bytes),
    }
}
