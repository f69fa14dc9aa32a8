//! The numbers of a CPU that a tuning run looks for, and which of what was measured is the best.

use upsweep::Device;
use upsweep::strategy::CpuPolicy;

use super::cpu_arrays::Job;
use crate::statistics::median_of;

/// Fewest bytes that threads are tried for.
const SHORTEST: usize = 1 << 16;

/// A block of another size than that of the rules must be faster by this part: less is noise.
const FASTER: f64 = 0.985;

/// What a bound must save, over all lengths together and in times of what they take, to be taken rather than none: less is noise. Nor is one
/// taken that lies at the longest length, by which alone all longer ones would be judged: by three passes half lines made scans of
/// 256 MiB of `f64` 3 % faster on a Xeon, and by the check those of 256 and 512 MiB 8 and 15 % slower.
const SAVED: f64 = 0.02;

/// A number below which something is done in one way, and from which on in another.
pub(super) struct Bound {
    pub(super) name: &'static str,
    pub(super) set: fn(&mut CpuPolicy, usize),
    /// The other numbers while it is measured: a bound of several threads is measured with them, since how it does with one says nothing.
    pub(super) among: fn(CpuPolicy) -> CpuPolicy,
    /// The bound if the other way never pays; less than [`CpuPolicy::NEVER`] if what was measured says nothing of longer arrays.
    pub(super) never: usize,
    /// What is measured.
    pub(super) job: Job,
    /// Bytes of its items, and what the other way takes there, in times of the first, once for each pass.
    pub(super) ratios: Vec<(usize, Vec<f64>)>,
}

/// From how many bytes on scans go to threads, and are written past the caches.
pub(super) struct ScanBounds {
    /// From which length on stores past the caches are tried: arrays of fewer bytes never leave them.
    least_past: usize,
    /// Whether there are several threads.
    threads: bool,
    /// The bound of stores past the caches if they never pay: as long as nothing longer than the caches was measured, that says nothing of what is.
    never_past: usize,
    /// Bytes of the items, and what each of the [`WAYS`] takes there in times of the first, once for each pass.
    pub(super) ratios: Vec<(usize, Vec<[f64; WAYS.len()]>)>,
}

/// Whether a scan goes to threads, and past the caches.
pub(super) const WAYS: [(bool, bool); 4] =
    [(false, false), (false, true), (true, false), (true, true)];

/// The size of a block, which only several threads have.
pub(super) struct Block {
    pub(super) name: &'static str,
    pub(super) get: fn(&CpuPolicy) -> usize,
    pub(super) set: fn(&mut CpuPolicy, usize),
    pub(super) job: Job,
    /// Sizes, and what they take in times of what the size of the rules does, once for each pass and length. Their median counts, by which
    /// no single length decides: sums of 16 MiB of `f64` once took 3.3 times as long on a Zen 4 as in the next turns, throughout one pair of two
    /// passes, and a mean took blocks of 128 KiB for the fastest.
    pub(super) ratios: Vec<(usize, Vec<f64>)>,
}

/// Numbers of which nothing is known.
fn unknown<R>(numbers: Vec<usize>) -> Vec<(usize, Vec<R>)> {
    numbers.into_iter().map(|number| (number, Vec::new())).collect()
}

/// From how many bytes of its items on a scan goes past the caches, and to threads.
pub(super) fn set_scans(policy: &mut CpuPolicy, past: usize, together: usize) {
    policy.streaming_bytes = past;
    // A scan writes as many bytes as it reads.
    policy.scan_serial_bytes = together.saturating_mul(2).clamp(1, CpuPolicy::NEVER);
}

/// From one power of two to another.
fn powers(from: usize, to: usize) -> Vec<usize> {
    let (from, to) = (from.max(1).ilog2(), to.max(1).ilog2());
    (from..=to).map(|power| 1 << power).collect()
}

/// Bytes of the second and the last level of the caches.
fn caches(device: &Device) -> [usize; 2] {
    let limits = device.limits();
    let l2 = limits.l2_bytes.max(1 << 18);
    [l2, limits.l3_bytes.max(l2).max(1 << 20)]
}

/// The same numbers, but for calls of all threads.
pub(super) fn with_threads(policy: CpuPolicy) -> CpuPolicy {
    CpuPolicy { serial_bytes: 1, scan_serial_bytes: 1, ..policy }
}

/// The number of the bound below which scans are done in parts, which comes before those of scans that are found together.
pub(super) const PARTS: usize = 0;

pub(super) fn bounds(device: &Device, most: usize) -> Vec<Bound> {
    let [l2, l3] = caches(device);
    let past_caches = (4 * l3).min(most);
    let own_caches = l2.saturating_mul(device.limits().compute_units);
    let mut bounds = vec![
        Bound {
            name: "scan_parts_bytes",
            // A scan writes as many bytes as it reads.
            set: |policy, bytes| {
                let most = bytes.saturating_mul(2).saturating_sub(1);
                policy.scan_parts_bytes = most.min(CpuPolicy::NEVER);
            },
            among: |policy| CpuPolicy { streaming_bytes: CpuPolicy::NEVER, ..with_threads(policy) },
            // Unless something longer than the caches is measured, the bound of the rules.
            never: if most < own_caches { own_caches / 2 + 1 } else { CpuPolicy::NEVER },
            job: Job::Scan,
            ratios: unknown(powers(own_caches / 4, own_caches.saturating_mul(16).min(most))),
        },
        Bound {
            name: "scan_half_line_bytes",
            set: |policy, bytes| policy.scan_half_line_bytes = bytes,
            among: with_threads,
            never: CpuPolicy::NEVER,
            job: Job::Scan,
            ratios: unknown(powers(l2, past_caches)),
        },
        Bound {
            name: "half_line_bytes",
            set: |policy, bytes| policy.half_line_bytes = bytes,
            among: |policy| policy,
            never: CpuPolicy::NEVER,
            job: Job::Reduce,
            ratios: unknown(powers(l2, past_caches)),
        },
    ];
    if device.limits().compute_units > 1 {
        bounds.push(Bound {
            name: "serial_bytes",
            set: |policy, bytes| policy.serial_bytes = bytes.clamp(1, CpuPolicy::NEVER),
            among: |policy| policy,
            never: CpuPolicy::NEVER,
            job: Job::Reduce,
            ratios: unknown(powers(SHORTEST, most)),
        });
    }
    bounds
}

pub(super) fn blocks() -> [Block; 2] {
    [
        Block {
            name: "block_bytes",
            get: |policy| policy.block_bytes,
            set: |policy, bytes| policy.block_bytes = bytes,
            job: Job::Reduce,
            ratios: unknown(powers(1 << 17, 1 << 21)),
        },
        Block {
            name: "scan_block_bytes",
            get: |policy| policy.scan_block_bytes,
            set: |policy, bytes| policy.scan_block_bytes = bytes,
            job: Job::Scan,
            ratios: unknown(powers(1 << 14, 1 << 18)),
        },
    ]
}

impl Bound {
    /// The number that loses the least time on either side, or none where that is hardly worse, if two lengths were measured.
    pub(super) fn best(&self) -> Option<usize> {
        let known = self.ratios.iter().filter(|(_, ratios)| !ratios.is_empty());
        let known: Vec<(usize, f64)> =
            known.map(|(bytes, ratios)| (*bytes, median_of(ratios.clone()))).collect();
        let lost = |cut: usize| -> f64 {
            let of = |&(bytes, ratio): &(usize, f64)| {
                if bytes < cut { 1.0 / ratio.min(1.0) - 1.0 } else { ratio.max(1.0) - 1.0 }
            };
            known.iter().map(of).sum()
        };
        let (_, shorter) = known.split_last()?;
        let cuts = shorter.iter().map(|&(bytes, _)| bytes);
        let best = cuts.min_by(|&one, &other| lost(one).total_cmp(&lost(other)))?;
        Some(if lost(CpuPolicy::NEVER) - lost(best) < SAVED { self.never } else { best })
    }
}

impl ScanBounds {
    pub(super) fn new(device: &Device, most: usize) -> Self {
        let [l2, l3] = caches(device);
        let (least_past, threads) = (l2 / 4, device.limits().compute_units > 1);
        let never_past = if most < l3 { 2 * most } else { CpuPolicy::NEVER };
        let ratios = unknown(powers(SHORTEST.min(least_past), most));
        Self { least_past, threads, never_past, ratios }
    }

    /// The ways that are tried at a length.
    pub(super) fn ways(&self, bytes: usize) -> Vec<usize> {
        let is_tried = |&way: &usize| {
            let (threads, past) = WAYS[way];
            (self.threads || !threads) && (bytes >= self.least_past || !past)
        };
        (0..WAYS.len()).filter(is_tried).collect()
    }

    /// From how many bytes on scans go past the caches, and to threads, so that the least time is lost, if anything was measured.
    pub(super) fn best(&self) -> Option<[usize; 2]> {
        let known = self.ratios.iter().filter(|(_, ratios)| !ratios.is_empty());
        let known: Vec<(usize, [f64; WAYS.len()])> = known
            .map(|(bytes, ratios)| {
                let of = |way: usize| median_of(ratios.iter().map(|ratios| ratios[way]).collect());
                (*bytes, std::array::from_fn(of))
            })
            .collect();
        let lost = |[past, together]: [usize; 2]| -> f64 {
            let of = |&(bytes, times): &(usize, [f64; WAYS.len()])| {
                let way = WAYS.iter().position(|&way| way == (bytes >= together, bytes >= past));
                let best = times.into_iter().fold(f64::INFINITY, f64::min);
                way.map_or(f64::INFINITY, |way| times[way]) / best - 1.0
            };
            known.iter().map(of).sum()
        };
        let known_or = |never: usize| {
            let last = known.last().map(|_| never);
            known.iter().map(|&(bytes, _)| bytes).chain(last)
        };
        let all = known_or(self.never_past)
            .flat_map(|past| known_or(CpuPolicy::NEVER).map(move |together| [past, together]));
        all.min_by(|&one, &other| lost(one).total_cmp(&lost(other)))
    }
}

impl Block {
    /// The fastest size, or that of the rules if none is faster than it, if anything was measured.
    pub(super) fn best(&self, rules: usize) -> Option<usize> {
        let known = self.ratios.iter().filter(|(_, ratios)| !ratios.is_empty());
        let known = known.map(|(size, ratios)| (median_of(ratios.clone()), *size));
        let best = known.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map(|(ratio, size)| if ratio < FASTER { size } else { rules })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds of scans at these lengths, of which each way takes so long.
    fn bounds(times: &[(usize, [f64; WAYS.len()])]) -> ScanBounds {
        let ratios = times.iter().map(|&(bytes, times)| (bytes, vec![times; 3])).collect();
        ScanBounds { least_past: 0, threads: true, never_past: CpuPolicy::NEVER, ratios }
    }

    #[test]
    fn a_bound_saves_more_than_noise() {
        let bound = |ratios: &[(usize, f64)]| Bound {
            name: "some",
            set: |_, _| {},
            among: with_threads,
            never: CpuPolicy::NEVER,
            job: Job::Reduce,
            ratios: ratios.iter().map(|&(bytes, ratio)| (bytes, vec![9.0, ratio, ratio])).collect(),
        };
        assert_eq!(bound(&[]).best(), None);
        assert_eq!(bound(&[(1 << 20, 0.5)]).best(), None);
        let [short, middle, long] = [1 << 20, 1 << 21, 1 << 22];
        assert_eq!(bound(&[(short, 1.3), (middle, 0.8), (long, 0.5)]).best(), Some(middle));
        assert_eq!(bound(&[(short, 0.97), (middle, 0.95), (long, 0.96)]).best(), Some(short));
        let never = Some(CpuPolicy::NEVER);
        assert_eq!(bound(&[(short, 1.3), (middle, 1.1), (long, 0.9)]).best(), never);
        assert_eq!(bound(&[(short, 1.3), (middle, 0.995), (long, 0.99)]).best(), never);
        assert_eq!(bound(&[(short, 1.3), (middle, 0.98), (long, 0.97)]).best(), Some(middle));
        assert_eq!(bound(&[(short, 1.3), (middle, 1.2), (long, 1.1)]).best(), never);
        let in_caches = Bound { never: 1 << 30, ..bound(&[(short, 1.3), (middle, 1.2)]) };
        assert_eq!(in_caches.best(), Some(1 << 30));
    }

    #[test]
    fn no_single_length_decides_the_size_of_a_block() {
        let [mut block, _] = blocks();
        assert_eq!(block.best(1 << 18), None);
        let mut measured = |size: usize, ratios: &[f64]| {
            let place = block.ratios.iter().position(|(of, _)| *of == size).expect("a size");
            block.ratios[place].1 = ratios.to_vec();
            block.best(1 << 18)
        };
        // At one length the other way took three times as long, in two passes of three.
        assert_eq!(measured(1 << 17, &[1.03, 1.01, 1.15, 0.31, 0.29, 1.02]), Some(1 << 18));
        assert_eq!(measured(1 << 20, &[0.92, 0.93, 0.91, 1.0, 0.99, 0.96]), Some(1 << 20));
        assert_eq!(measured(1 << 21, &[0.99, 0.98, 0.99, 1.0, 0.99, 0.99]), Some(1 << 20));
    }

    #[test]
    fn bounds_of_scans_are_found_together() {
        assert_eq!(bounds(&[]).best(), None);
        // Past the caches one thread loses and several gain, who lose through them.
        let long = [1.0, 1.2, 1.1, 0.7];
        let found = bounds(&[(1 << 10, [1.0, 1.5, 3.0, 3.0]), (1 << 20, long), (1 << 21, long)]);
        assert_eq!(found.best(), Some([1 << 20, 1 << 20]));
        let never = bounds(&[(1 << 10, [1.0, 1.1, 1.2, 1.3]), (1 << 20, [1.0, 1.1, 1.2, 1.3])]);
        assert_eq!(never.best(), Some([CpuPolicy::NEVER; 2]));
        // Nothing longer than the caches was measured.
        let in_caches = ScanBounds { never_past: 1 << 21, ..never };
        assert_eq!(in_caches.best(), Some([1 << 21, CpuPolicy::NEVER]));
        // What was not tried is not chosen: threads from the first length on, past the caches from the second.
        let not = f64::INFINITY;
        let short = bounds(&[(1 << 10, [1.0, not, 0.9, not]), (1 << 20, [1.0, 0.8, 0.9, 0.6])]);
        assert_eq!(short.best(), Some([1 << 20, 1 << 10]));
        // The median of three passes.
        let mut passes = bounds(&[(1 << 20, long)]);
        passes.ratios[0].1[1] = [1.0, 9.0, 9.0, 9.0];
        assert_eq!(passes.best(), Some([1 << 20, 1 << 20]));
    }
}
