//! The numbers of the CPU strategies: a pure function of the device's limits, or what a tuning run found, of each kind of items by itself.

use upsweep_core::{CpuPolicy, Dtype, Element, Kind, Limits};

/// The policy for a CPU with these limits.
///
/// - `serial_bytes`: below, waking a helper takes longer than its work. Measured on a Zen 4 with two
///   cores: 2 MiB are read at 87 GB/s by one and 114 to 139 by two (2026-11-21).
/// - `scan_serial_bytes`: several threads read every item twice, so that they lose where one thread's own cache is fast, and more threads
///   gain sooner. In bytes read and written, sixteen of a Xeon gain from 1 MiB on (L2 2 MiB), two to eight from 2, two of a Zen 3
///   from 1 to 2 (L2 512 KiB; 2026-11-26, `2026-11-26-scan-totals-cpu.csv` of both). Two of a Zen 5 gained from 32 on (L2 1 MiB; 16 MiB took 222 us
///   by one and 399 by two; 2026-11-23, `2026-11-23-scan-threads.csv`): two threads may be those of one core, and then lose more
///   than two of the Xeon do by waiting. `upsweep tune` finds the machine's own.
/// - `block_bytes`: pays for handing it out, and lets threads end together. Sixteen of a Xeon are 5 to 8 % faster with 128 KiB than with
///   512 at 64 MiB (2026-11-24, `2026-11-24-check-cpu-default.csv`), two of a Zen 5 3 to 9 % slower than with 2 MiB at 16.
/// - `scan_block_bytes`: a first-level cache full. Past the caches, between the two times a block is read, the next
///   one is fetched line by line with the stores of this one; with blocks of 16 to 32 KiB two
///   threads then reach 96 % of the speed of copying, with blocks of 256 KiB 88 %
///   (Zen 4, 2026-11-21, `benches/record/`).
///   Each thread reads the totals of all others' blocks, so that many threads want larger blocks: sixteen of a Xeon take 0.96 to 1.09 of the
///   time with 64 KiB as with 128, 1.01 to 1.26 with 32, and 1.13 to 1.75 with 16 (2^22 to 2^26 bytes, `2026-11-26-scan-totals-cpu.csv`).
///   With 256 they take the same up to 64 MiB, and up to a tenth less beyond (`2026-11-26-check-cpu-4.csv`, `-4-again.csv`).
/// - `scan_parts_bytes`: the second-level caches of all threads, as if each had its own. Sixteen of a Xeon (L2 2 MiB) take for 1 to 8 MiB of
///   items 0.78 to 0.93 of the time in parts, for 16, which fill these caches with the output, 0.93 to 1.10, and for 32 and 64 1.09 to 1.24
///   (2026-11-26, `2026-11-26-parts-cpu.csv`). Two of a Zen 3 (L2 512 KiB), whose cores share a fast third level, take up to 1 MiB 0.86 to
///   1.02, and from 2 to 8 0.75 to 1.08 (the same file): `upsweep tune` finds which machine this is.
/// - `streaming_bytes`: an output that leaves no room for its input in the last-level cache is better
///   written past it. Below, a reader that comes next finds the output there. A last level of more than 128 MiB is many cores' and other machines':
///   sixteen threads of a Xeon that says 300 MiB take for 64 MiB 0.8 of the time past the caches, for `u8` 1.0, and for 32 MiB 1.0 to 1.1 and 1.3
///   (2026-11-26, medians of ten passes of `2026-11-26-tune-cpu-6.csv`).
/// - `half_line_bytes`, `scan_half_line_bytes`: never. Past the caches loads of 32 bytes are 1 to 5 % faster than those of 64 on two cores of a Zen 4
///   (2026-11-21), but 6 to 11 % slower on two of a Zen 5, and 11 to 25 % on sixteen of a Xeon (2026-11-23,
///   `2026-11-23-check-half-lines.csv`, `-check-cpu-1.csv`). `upsweep tune` finds which machine this is.
pub(crate) fn policy(limits: &Limits) -> CpuPolicy {
    let helpers = limits.compute_units.saturating_sub(1).max(1);
    CpuPolicy {
        serial_bytes: 2 << 20,
        scan_serial_bytes: (24 * limits.l2_bytes / (4 * helpers - 3)).max(1 << 20),
        block_bytes: 1 << 18,
        scan_block_bytes: limits
            .l1_bytes
            .max(1 << 14)
            .max((limits.compute_units << 14).min(limits.l2_bytes / 2)),
        scan_parts_bytes: limits.l2_bytes.saturating_mul(limits.compute_units),
        streaming_bytes: (limits.l3_bytes / 2).min(1 << 26).max(limits.l2_bytes).max(1 << 22),
        half_line_bytes: CpuPolicy::NEVER,
        scan_half_line_bytes: CpuPolicy::NEVER,
    }
}

/// Kinds of items: of 1, 2, 4 and 8 bytes or more, that are floats or are none.
const KINDS: usize = 8;

/// The numbers for every kind of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policies([CpuPolicy; KINDS]);

/// The kind of items of so many bytes.
const fn kind(bytes: usize, is_float: bool) -> usize {
    let power = match bytes {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 2,
        _ => 3,
    };
    2 * power + is_float as usize
}

impl Policies {
    /// The same for all kinds.
    pub(crate) fn of_all(policy: CpuPolicy) -> Self {
        Self([policy; KINDS])
    }

    /// Others for the kinds of these types.
    pub(crate) fn with(mut self, types: &[(Dtype, CpuPolicy)]) -> Self {
        for &(dtype, policy) in types {
            self.0[kind(dtype.size(), dtype.is_float())] = policy;
        }
        self
    }

    /// Those for items of a type. Which, is known when a call is compiled.
    #[inline]
    pub(crate) fn of<T: Element>(&self) -> &CpuPolicy {
        match T::KIND {
            Kind::Number(dtype) => &self.0[kind(dtype.size(), dtype.is_float())],
            _ => self.of_bytes(size_of::<T>()),
        }
    }

    /// Those for items of so many bytes that are no floats.
    #[inline]
    pub(crate) fn of_bytes(&self, bytes: usize) -> &CpuPolicy {
        &self.0[kind(bytes, false)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use upsweep_core::{bf16, f16};

    #[test]
    fn every_kind_has_numbers_of_its_own() {
        let limits = Limits::least("some", "cpu");
        let base = policy(&limits);
        let number = |block_bytes| CpuPolicy { block_bytes, ..base };
        let types = [
            (Dtype::U8, number(1)),
            (Dtype::F16, number(2)),
            (Dtype::U32, number(3)),
            (Dtype::F32, number(4)),
            (Dtype::I64, number(5)),
            (Dtype::F64, number(6)),
        ];
        let all = Policies::of_all(base).with(&types);
        let of = |policy: &CpuPolicy| policy.block_bytes;
        assert_eq!([of(all.of::<u8>()), of(all.of::<i8>())], [1; 2]);
        assert_eq!([of(all.of::<f16>()), of(all.of::<bf16>())], [2; 2]);
        assert_eq!([of(all.of::<u16>()), of(all.of::<i16>())], [base.block_bytes; 2]);
        assert_eq!([of(all.of::<u32>()), of(all.of::<i32>()), of(all.of_bytes(4))], [3; 3]);
        assert_eq!([of(all.of::<f32>()), of(all.of::<f64>())], [4, 6]);
        assert_eq!([of(all.of::<u64>()), of(all.of_bytes(24))], [5; 2]);
    }
}
