//! The numbers of the CPU strategies: a pure function of the device's limits.

use upsweep_core::{CpuPolicy, Limits};

/// The policy for a CPU with these limits.
///
/// - `serial_bytes`: waking a thread of the pool costs some ten microseconds, in which one core
///   reads a megabyte out of its caches.
/// - `block_bytes`: a quarter of the second-level cache, so that input, output and what the
///   other accesses of the core leave there fit between the two times a block is read.
/// - `streaming_bytes`: what no cache holds anyway is better written past it. Below, a reader
///   that comes next finds the output in the last-level cache.
pub(crate) fn policy(limits: &Limits) -> CpuPolicy {
    CpuPolicy {
        serial_bytes: 1 << 20,
        block_bytes: (limits.l2_bytes / 4).max(1 << 16),
        streaming_bytes: limits.l3_bytes.max(limits.l2_bytes).max(1 << 22),
    }
}
