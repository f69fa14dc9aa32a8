//! The numbers of a CPU for items of one type: from how many bytes on threads, streaming stores and narrower loads pay, and how large blocks
//! are.
//!
//! A bound is found by doing each length in both ways, in turns, and by cutting where the least time is lost on either side of it. Two bounds of
//! scans are found together, since one thread and several want stores past the caches from different lengths on: on a Zen 4 each was the best
//! for what the other was, and scans of 2^28 `u8` lost 28 % to both.
//! The size of a block is the fastest of some, each in turns with the one that rules choose. All of it three times, of which the medians count,
//! and all types in between: a machine that others share is slow for seconds, in which threads look as if they never paid (on two cores of a
//! Zen 4 sums of 1 to 8 MiB lost up to 79 % by numbers that were found within one such time). Each number is best for what the others are:
//! with blocks of 32 KiB sixteen threads of a Xeon gain nothing from stores past the caches, with 128 KiB they do. So each time begins with
//! what was found so far.
//!
//! Types differ: on a Zen 4 half lines make sums of `u32` up to 5 % faster and those of 1 to 16 MiB of `f64` 5 to 19 % slower (2026-11-24,
//! `amd-epyc-f25-m17-2-cpus/2026-11-24-tune-cpu.csv`).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use upsweep::{
    CpuPolicy, CpuShape, Device, Dtype, Number, Operator, Profile, Widen, WorkgroupPolicy,
};

use super::budget::{Budget, Deadline};
use super::cpu_arrays::{Arrays, Job};
use super::sweep::{Tried, measured, median_of};
use super::ways::WAKING;
use crate::bench::input::available_memory;
use crate::dispatch::{self, Op, ScanKernel};
use crate::error::Result;

/// Most bytes of an array, and of a quick run.
const MOST_BYTES: usize = 1 << 28;
const QUICK_BYTES: usize = 1 << 26;

/// Arrays of each type, as many bytes as an array has for each: items, output, and what it should be; and as much for everyone else.
const ARRAYS: usize = 6;

/// Fewest bytes that threads are tried for.
const SHORTEST: usize = 1 << 16;

/// Bytes of the arrays that tell which size of a block is the fastest.
const BLOCK_BYTES: [usize; 3] = [1 << 22, 1 << 24, 1 << 26];

/// Seconds of one sample, and of a pair of measurements at most, if it has so many turns.
const SAMPLE: f64 = 1e-3;
const PAIR: f64 = 0.06;
const LEAST_TURNS: usize = 3;

/// How often all numbers are found.
const PASSES: usize = 3;

/// Turns of a pair of measurements, and of the lengths that a bound may have every so manieth is measured.
const THOROUGH: (usize, usize) = (11, 1);
const QUICK: (usize, usize) = (5, 2);

/// A block of another size than that of the rules must be faster by this part: less is noise.
const FASTER: f64 = 0.985;

/// A size that takes so many times as long at one length is not measured again.
const HOPELESS: f64 = 1.3;

/// What is asked of all types.
pub(crate) struct Asked<'a> {
    pub(crate) device: &'a Device,
    pub(crate) quick: bool,
    /// What was found before.
    pub(crate) before: &'a [(Dtype, CpuPolicy)],
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    /// Takes every row, and the type of its items.
    pub(crate) tell: &'a mut dyn FnMut(Dtype, &Tried<'_>) -> Result<()>,
}

/// The best numbers for each type that were found in the time, and how many results were wrong.
pub(crate) fn find(
    mut asked: Asked<'_>,
    dtypes: &[Dtype],
) -> Result<(Vec<(Dtype, CpuPolicy)>, usize)> {
    let most = if asked.quick { QUICK_BYTES } else { MOST_BYTES };
    let memory = available_memory().map_or(usize::MAX, |bytes| bytes as usize);
    let share = (memory / (ARRAYS * dtypes.len().max(1))).max(1 << 20);
    let most = most.min(1 << share.ilog2());
    let mut all: Vec<Box<dyn Numbers>> = Vec::new();
    for &dtype in dtypes {
        let before = asked.before.iter().find(|(of, _)| *of == dtype).map(|before| before.1);
        let begin = Begin { device: asked.device, dtype, most, before };
        if let Some(numbers) = dispatch::scan(Op::Sum, dtype, dtype, begin) {
            all.push(numbers?);
        }
    }
    for pass in 1..=PASSES {
        for numbers in &mut all {
            asked.budget.say(&format!("{}, {pass} of {PASSES}", numbers.dtype()));
            numbers.pass(&mut asked)?;
        }
    }
    let found = all.iter().map(|numbers| (numbers.dtype(), numbers.policy())).collect();
    Ok((found, all.iter().map(|numbers| numbers.wrong()).sum()))
}

/// The numbers for one type.
trait Numbers {
    fn dtype(&self) -> Dtype;
    /// Measures everything once more, as far as there is time, and chooses anew.
    fn pass(&mut self, asked: &mut Asked<'_>) -> Result<()>;
    fn policy(&self) -> CpuPolicy;
    /// Results that were wrong.
    fn wrong(&self) -> usize;
}

/// A number below which something is done in one way, and from which on in another.
struct Bound {
    name: &'static str,
    set: fn(&mut CpuPolicy, usize),
    /// Whether it is one of several threads, which it is measured with: how it does with one says nothing.
    threads: bool,
    /// What is measured.
    job: Job,
    /// Bytes of its items, and what the other way takes there, in times of the first, once for each pass.
    ratios: Vec<(usize, Vec<f64>)>,
}

/// From how many bytes on scans go to threads, and are written past the caches.
struct ScanBounds {
    /// From which length on stores past the caches are tried: arrays of fewer bytes never leave them.
    least_past: usize,
    /// Whether there are several threads.
    threads: bool,
    /// Bytes of the items, and what each of the [`WAYS`] takes there in times of the first, once for each pass.
    ratios: Vec<(usize, Vec<[f64; WAYS.len()]>)>,
}

/// Whether a scan goes to threads, and past the caches.
const WAYS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The size of a block, which only several threads have.
struct Block {
    name: &'static str,
    get: fn(&CpuPolicy) -> usize,
    set: fn(&mut CpuPolicy, usize),
    job: Job,
    /// Sizes, and what they take in times of what the size of the rules does, once for each pass.
    ratios: Vec<(usize, Vec<f64>)>,
}

/// Numbers of which nothing is known.
fn unknown<R>(numbers: Vec<usize>) -> Vec<(usize, Vec<R>)> {
    numbers.into_iter().map(|number| (number, Vec::new())).collect()
}

/// Makes the arrays of one type.
struct Begin<'a> {
    device: &'a Device,
    dtype: Dtype,
    most: usize,
    before: Option<CpuPolicy>,
}

impl ScanKernel for Begin<'_> {
    type Output = Result<Box<dyn Numbers>>;

    fn run<T, U, O>(self, operator: O) -> Self::Output
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let Self { device, dtype, most, before } = self;
        let Some(rules) = device.cpu_policy::<T>() else {
            unreachable!("a CPU has the policy of one");
        };
        let arrays = Arrays::<T, U, O>::new(dtype, most, operator)?;
        let (bounds, blocks, scans) =
            (bounds(device, most), blocks(), ScanBounds::new(device, most));
        let (right, wrong) = (HashSet::new(), 0);
        let policy = before.unwrap_or(rules);
        Ok(Box::new(Typed { dtype, arrays, rules, policy, scans, bounds, blocks, right, wrong }))
    }
}

/// The search for one type.
struct Typed<T, U: Number, O> {
    dtype: Dtype,
    arrays: Arrays<T, U, O>,
    /// The numbers that rules choose, and those that were found so far.
    rules: CpuPolicy,
    policy: CpuPolicy,
    scans: ScanBounds,
    bounds: Vec<Bound>,
    blocks: [Block; 2],
    /// Jobs, bytes and shapes whose results were compared.
    right: HashSet<(Job, usize, CpuShape)>,
    wrong: usize,
}

/// The same numbers, but for calls of all threads.
fn with_threads(policy: CpuPolicy) -> CpuPolicy {
    CpuPolicy { serial_bytes: 1, scan_serial_bytes: 1, ..policy }
}

/// From how many bytes of its items on a scan goes past the caches, and to threads.
fn set_scans(policy: &mut CpuPolicy, past: usize, together: usize) {
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

fn bounds(device: &Device, most: usize) -> Vec<Bound> {
    let [l2, l3] = caches(device);
    let past_caches = (4 * l3).min(most);
    let mut bounds = vec![
        Bound {
            name: "scan_half_line_bytes",
            set: |policy, bytes| policy.scan_half_line_bytes = bytes,
            threads: true,
            job: Job::Scan,
            ratios: unknown(powers(l2, past_caches)),
        },
        Bound {
            name: "half_line_bytes",
            set: |policy, bytes| policy.half_line_bytes = bytes,
            threads: false,
            job: Job::Reduce,
            ratios: unknown(powers(l2, past_caches)),
        },
    ];
    if device.limits().compute_units > 1 {
        bounds.push(Bound {
            name: "serial_bytes",
            set: |policy, bytes| policy.serial_bytes = bytes.clamp(1, CpuPolicy::NEVER),
            threads: false,
            job: Job::Reduce,
            ratios: unknown(powers(SHORTEST, most)),
        });
    }
    bounds
}

fn blocks() -> [Block; 2] {
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
    /// The number that loses the least time on either side, if anything was measured.
    fn best(&self) -> Option<usize> {
        let known = self.ratios.iter().filter(|(_, ratios)| !ratios.is_empty());
        let known: Vec<(usize, f64)> =
            known.map(|(bytes, ratios)| (*bytes, median_of(ratios.clone()))).collect();
        let lost = |cut: usize| -> f64 {
            let of = |&(bytes, ratio): &(usize, f64)| {
                if bytes < cut { 1.0 / ratio.min(1.0) - 1.0 } else { ratio.max(1.0) - 1.0 }
            };
            known.iter().map(of).sum()
        };
        let cuts =
            known.iter().map(|&(bytes, _)| bytes).chain(known.last().map(|_| CpuPolicy::NEVER));
        cuts.min_by(|&one, &other| lost(one).total_cmp(&lost(other)))
    }
}

impl ScanBounds {
    fn new(device: &Device, most: usize) -> Self {
        let [l2, _] = caches(device);
        let (least_past, threads) = (l2 / 4, device.limits().compute_units > 1);
        let ratios = unknown(powers(SHORTEST.min(least_past), most));
        Self { least_past, threads, ratios }
    }

    /// The ways that are tried at a length.
    fn ways(&self, bytes: usize) -> Vec<usize> {
        let is_tried = |&way: &usize| {
            let (threads, past) = WAYS[way];
            (self.threads || !threads) && (bytes >= self.least_past || !past)
        };
        (0..WAYS.len()).filter(is_tried).collect()
    }

    /// From how many bytes on scans go past the caches, and to threads, so that the least time is lost, if anything was measured.
    fn best(&self) -> Option<[usize; 2]> {
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
        let last = known.last().map(|_| CpuPolicy::NEVER);
        let cuts: Vec<usize> = known.iter().map(|&(bytes, _)| bytes).chain(last).collect();
        let all = cuts.iter().flat_map(|&past| cuts.iter().map(move |&together| [past, together]));
        all.min_by(|&one, &other| lost(one).total_cmp(&lost(other)))
    }
}

impl Block {
    /// The fastest size, or that of the rules if none is faster than it, if anything was measured.
    fn best(&self, rules: usize) -> Option<usize> {
        let known = self.ratios.iter().filter(|(_, ratios)| !ratios.is_empty());
        let known = known.map(|(size, ratios)| (median_of(ratios.clone()), *size));
        let best = known.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map(|(ratio, size)| if ratio < FASTER { size } else { rules })
    }
}

impl<T, U, O> Numbers for Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc>,
{
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn pass(&mut self, asked: &mut Asked<'_>) -> Result<()> {
        for number in 0..self.blocks.len() {
            self.try_sizes(number, asked)?;
            let block = &self.blocks[number];
            if let Some(best) = block.best((block.get)(&self.rules)) {
                (block.set)(&mut self.policy, best);
            }
        }
        self.try_scans(asked)?;
        if let Some([past, together]) = self.scans.best() {
            set_scans(&mut self.policy, past, together);
        }
        for number in 0..self.bounds.len() {
            self.try_lengths(number, asked)?;
            let bound = &self.bounds[number];
            if let Some(best) = bound.best() {
                (bound.set)(&mut self.policy, best);
            }
        }
        Ok(())
    }

    fn policy(&self) -> CpuPolicy {
        self.policy
    }

    fn wrong(&self) -> usize {
        self.wrong
    }
}

impl<T, U, O> Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc>,
{
    /// Measures every length of a bound in both ways.
    fn try_lengths(&mut self, number: usize, asked: &mut Asked<'_>) -> Result<()> {
        let Bound { name, set, threads, job, .. } = self.bounds[number];
        let (_, step) = if asked.quick { QUICK } else { THOROUGH };
        let own = if threads { with_threads(self.policy) } else { self.policy };
        for place in (0..self.bounds[number].ratios.len()).step_by(step) {
            if asked.deadline.is_over() {
                break;
            }
            let bytes = self.bounds[number].ratios[place].0;
            let [mut below, mut above] = [own; 2];
            set(&mut below, usize::MAX);
            set(&mut above, 0);
            let names = [format!("{name}: above against below")];
            if let Some(ratios) = self.in_turns(job, bytes, &[below, above], &names, asked)? {
                self.bounds[number].ratios[place].1.push(ratios[1]);
            }
        }
        Ok(())
    }

    /// Measures scans of every length in all ways.
    fn try_scans(&mut self, asked: &mut Asked<'_>) -> Result<()> {
        let (_, step) = if asked.quick { QUICK } else { THOROUGH };
        for place in (0..self.scans.ratios.len()).step_by(step) {
            if asked.deadline.is_over() {
                break;
            }
            let bytes = self.scans.ratios[place].0;
            let tried = self.scans.ways(bytes);
            let number = |is_above: bool| if is_above { 0 } else { usize::MAX };
            let side = |is_above: bool| if is_above { "above" } else { "below" };
            let (mut policies, mut names) = (Vec::new(), Vec::new());
            for &way in &tried {
                let (threads, past) = WAYS[way];
                let mut policy = self.policy;
                set_scans(&mut policy, number(past), number(threads));
                policies.push(policy);
                names.push(format!(
                    "scan_serial_bytes {}, streaming_bytes {}: against both below",
                    side(threads),
                    side(past)
                ));
            }
            if let Some(found) = self.in_turns(Job::Scan, bytes, &policies, &names[1..], asked)? {
                // What is not tried is never the best.
                let mut ratios = [f64::INFINITY; WAYS.len()];
                tried.iter().zip(found).for_each(|(&way, ratio)| ratios[way] = ratio);
                self.scans.ratios[place].1.push(ratios);
            }
        }
        Ok(())
    }

    /// Measures every size of a block: how long a job takes, in times of what it takes with that of the rules, as the geometric mean of
    /// all lengths at which that is another way, unless it is hopeless at one.
    fn try_sizes(&mut self, number: usize, asked: &mut Asked<'_>) -> Result<()> {
        let Block { name, get, set, job, .. } = self.blocks[number];
        let mut own = with_threads(self.policy);
        set(&mut own, get(&self.rules));
        for place in 0..self.blocks[number].ratios.len() {
            let (size, ratios) = &self.blocks[number].ratios[place];
            let (size, hopeless) = (*size, ratios.first().is_some_and(|&ratio| ratio > HOPELESS));
            if hopeless || size == get(&own) {
                continue;
            }
            let mut other = own;
            set(&mut other, size);
            let said = [get(&own), size].map(|size| size.to_string());
            let (mut product, mut count) = (1.0, 0);
            for bytes in BLOCK_BYTES {
                if asked.deadline.is_over() {
                    return Ok(());
                }
                let names = [format!("{name}: {} against {}", said[1], said[0])];
                let Some(ratios) = self.in_turns(job, bytes, &[own, other], &names, asked)? else {
                    continue;
                };
                let ratio = ratios[1];
                (product, count) = (product * ratio, count + 1);
                if ratio > HOPELESS {
                    (product, count) = (ratio, 1);
                    break;
                }
            }
            if count > 0 {
                let mean = f64::powf(product, 1.0 / f64::from(count));
                self.blocks[number].ratios[place].1.push(mean);
            }
        }
        Ok(())
    }

    /// What a job takes with each policy, as the median of times of what it took with the first in the same turn; all others have names.
    /// Nothing if all come to the same, or the arrays are too short.
    fn in_turns(
        &mut self,
        job: Job,
        bytes: usize,
        policies: &[CpuPolicy],
        names: &[String],
        asked: &mut Asked<'_>,
    ) -> Result<Option<Vec<f64>>> {
        if bytes > self.arrays.most() {
            return Ok(None);
        }
        let device = |policy: &CpuPolicy| {
            let profile = Profile { cpu: Some(*policy), ..Profile::default() };
            asked.device.with_profile(Some(Arc::new(profile)))
        };
        let devices: Vec<Device> = policies.iter().map(device).collect();
        let shape = |device| self.arrays.shape(job, device, bytes);
        let shapes: Vec<Option<CpuShape>> = devices.iter().map(shape).collect();
        // Of those that come to the same the first is measured.
        let same = |shape| shapes.iter().position(|other| other == shape).unwrap_or(0);
        let firsts: Vec<usize> = shapes.iter().map(same).collect();
        let measured_ones: Vec<usize> = (0..devices.len()).filter(|&n| firsts[n] == n).collect();
        if measured_ones.len() < 2 {
            return Ok(None);
        }
        let mut once = f64::INFINITY;
        for &number in &measured_ones {
            // The first run brings pages and threads; the second is right for sure.
            for _ in 0..2 {
                let begun = Instant::now();
                self.arrays.call(job, &devices[number], bytes)?;
                once = once.min(begun.elapsed().as_secs_f64());
            }
            let is_new = |shape| self.right.insert((job, bytes, shape));
            if shapes[number].is_some_and(is_new) {
                self.wrong += usize::from(!self.arrays.is_right(job, &devices[number], bytes)?);
            }
        }
        let runs = ((SAMPLE / once.max(1e-9)) as u32).clamp(1, 1 << 16);
        let (most, _) = if asked.quick { QUICK } else { THOROUGH };
        let turns = (PAIR / (2.0 * once * f64::from(runs))) as usize;
        let mut times = vec![Vec::new(); devices.len()];
        for _ in 0..turns.max(LEAST_TURNS).min(most) {
            for &number in &measured_ones {
                if runs > 1 {
                    (0..WAKING).try_for_each(|_| self.arrays.call(job, &devices[number], bytes))?;
                }
                let begun = Instant::now();
                for _ in 0..runs {
                    self.arrays.call(job, &devices[number], bytes)?;
                }
                times[number].push(begun.elapsed().as_secs_f64() / f64::from(runs));
            }
        }
        asked.budget.moved();
        let ratio = |number: &usize| {
            let turns = times[*number].iter().zip(&times[0]);
            median_of(turns.map(|(time, first)| time / first).collect())
        };
        let ratios: Vec<f64> = firsts.iter().map(ratio).collect();
        let first = median_of(times[0].clone());
        for &number in &measured_ones[1..] {
            (asked.tell)(
                self.dtype,
                &Tried {
                    operation: job.name(),
                    items: bytes / self.dtype.size(),
                    strategy: &names[number - 1],
                    policy: WorkgroupPolicy { threads_per_workgroup: 0, items_per_thread: 0 },
                    times: Some(measured(first * ratios[number], 0.0, first)),
                    checked: "ok".to_owned(),
                },
            )?;
        }
        Ok(Some(ratios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds of scans at these lengths, of which each way takes so long.
    fn bounds(times: &[(usize, [f64; WAYS.len()])]) -> ScanBounds {
        let ratios = times.iter().map(|&(bytes, times)| (bytes, vec![times; 3])).collect();
        ScanBounds { least_past: 0, threads: true, ratios }
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
