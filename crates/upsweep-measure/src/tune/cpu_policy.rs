//! The numbers of a CPU for items of one type: from how many bytes on threads, streaming stores and narrower loads pay, up to how many parts of
//! a scan, and how large blocks are.
//!
//! A bound is found by doing each length in both ways, in turns, and by cutting where the least time is lost on either side of it. Two bounds of
//! scans are found together, since one thread and several want stores past the caches from different lengths on: each by itself ends at what is
//! the best for the other as it is.
//! The size of a block is the fastest of some, each in turns with the one that rules choose. All of it three times and then as often as there is
//! time for, of which the medians count, and all types in between: a machine that others share is slow for seconds, in which threads look as if
//! they never paid (on two cores of a Zen 4 sums of 1 to 8 MiB lost up to 79 % by numbers that were found within one such time). Each number is
//! best for what the others are: with blocks of 32 KiB sixteen threads of a Xeon gain nothing from stores past the caches, with 128 KiB they do.
//! So each time begins with what was found so far.
//!
//! Types differ: on a Zen 4 half lines make sums of `u32` up to 5 % faster and those of 1 to 16 MiB of `f64` 5 to 19 % slower (2026-11-24,
//! `amd-epyc-f25-m17-2-cpus/2026-11-24-tune-cpu.csv`).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use upsweep::strategy::{CpuPolicy, CpuShape, WorkgroupPolicy};
use upsweep::{Device, Dtype, Profile, any};

use super::budget::{Budget, Deadline};
use super::cpu_arrays::{Arrays, Job};
use super::cpu_check::sample;
use super::cpu_thresholds::{
    Block, Bound, PARTS, ScanBounds, WAYS, blocks, bounds, set_scans, with_threads,
};
use super::final_rounds::SAMPLE;
use super::rows::{TrialRow, measured};
use crate::buffer::available_memory;
use crate::error::Result;
use crate::statistics::median_of;

/// Most bytes of an array, and of a quick run.
const MOST_BYTES: usize = 1 << 28;
const QUICK_BYTES: usize = 1 << 26;

/// Arrays of each type, as many bytes as an array has for each: items, output, and what it should be; and as much for everyone else.
const ARRAYS: usize = 6;

/// Bytes of the arrays that tell which size of a block is the fastest. A quick run leaves out the last, which takes two cores of a Zen 3 four of its
/// seconds, all other work on all types nine (not in the record).
const BLOCK_BYTES: [usize; 3] = [1 << 22, 1 << 24, 1 << 26];
const QUICK_BLOCK_BYTES: usize = 1 << 24;

/// Seconds of a pair of samples, without what is not timed, at most, if it has so many turns.
const PAIR: f64 = 0.06;
const LEAST_TURNS: usize = 3;

/// How often all numbers are found at least, unless a quick run has no time for it.
const PASSES: u32 = 3;

/// Turns at most of what is measured together. A quick run has few of them and all lengths: with five turns at every second length 15 of 148
/// rows lost more than 5 % on a Zen 4, with three at every one 5, in one check each.
const THOROUGH: usize = 11;
const QUICK: usize = 3;

/// A size that takes so many times as long at one length is not measured again.
const HOPELESS: f64 = 1.3;

/// A way that takes so many times as long as the fastest in its first runs, and so many seconds more, in which threads wake up, does not meet the
/// others. One thread takes most of the time of long arrays, and seems to leave them in other caches than all threads do: in turns with it
/// sixteen threads of a Xeon took 842 us for 32 MiB of `u8`, and 538 in the check, which has no such way.
const FAR: f64 = 2.0;
const WAKING_UP: f64 = 1e-4;

/// What is asked of all types.
pub(crate) struct CpuSearch<'a> {
    pub(crate) device: &'a Device,
    pub(crate) quick: bool,
    /// What was found before.
    pub(crate) before: &'a [(Dtype, CpuPolicy)],
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    /// Takes every row, and the type of its items.
    pub(crate) tell: &'a mut dyn FnMut(Dtype, &TrialRow<'_>) -> Result<()>,
}

/// The best numbers for each type that were found in the time, and how many results were wrong.
pub(crate) fn find(
    mut asked: CpuSearch<'_>,
    dtypes: &[Dtype],
) -> Result<(Vec<(Dtype, CpuPolicy)>, usize)> {
    let most = if asked.quick { QUICK_BYTES } else { MOST_BYTES };
    let memory = available_memory().map_or(usize::MAX, |bytes| bytes as usize);
    let share = (memory / (ARRAYS * dtypes.len().max(1))).max(1 << 20);
    let most = most.min(1 << share.ilog2());
    let mut all = Vec::new();
    for &dtype in dtypes {
        let before = asked.before.iter().find(|(of, _)| *of == dtype).map(|before| before.1);
        all.push(Numbers::new(asked.device, dtype, most, before)?);
    }
    let begun = Instant::now();
    for pass in 0.. {
        // Whole passes alone, so that no type is measured more often than another.
        let another = || asked.deadline.left().is_some_and(|left| begun.elapsed() / pass <= left);
        let least = if asked.quick && asked.deadline.left().is_some() { 1 } else { PASSES };
        if pass >= least && !another() {
            break;
        }
        for numbers in &mut all {
            asked.budget.say(&format!("{}, pass {}", numbers.dtype, pass + 1));
            numbers.pass(&mut asked)?;
        }
    }
    let found = all.iter().map(|numbers| (numbers.dtype, numbers.policy)).collect();
    Ok((found, all.iter().map(|numbers| numbers.wrong).sum()))
}

/// The search for the numbers of one type.
struct Numbers {
    dtype: Dtype,
    arrays: Arrays,
    /// The numbers that rules choose, and those that were found so far.
    rules: CpuPolicy,
    policy: CpuPolicy,
    scans: ScanBounds,
    bounds: Vec<Bound>,
    blocks: [Block; 2],
    /// Jobs, bytes and shapes whose results were compared.
    right: HashSet<(Job, usize, CpuShape)>,
    /// Results that were wrong.
    wrong: usize,
}

impl Numbers {
    /// Makes the arrays of one type.
    fn new(device: &Device, dtype: Dtype, most: usize, before: Option<CpuPolicy>) -> Result<Self> {
        let Some(rules) = any::cpu_policy(device, dtype) else {
            unreachable!("a CPU has the policy of one");
        };
        let arrays = Arrays::new(device, dtype, most)?;
        let (bounds, blocks, scans) =
            (bounds(device, most), blocks(), ScanBounds::new(device, most));
        let (right, wrong) = (HashSet::new(), 0);
        let policy = before.unwrap_or(rules);
        Ok(Self { dtype, arrays, rules, policy, scans, bounds, blocks, right, wrong })
    }

    /// Measures everything once more, as far as there is time, and chooses anew.
    fn pass(&mut self, asked: &mut CpuSearch<'_>) -> Result<()> {
        for number in 0..self.blocks.len() {
            self.try_sizes(number, asked)?;
            let block = &self.blocks[number];
            if let Some(best) = block.best((block.get)(&self.rules)) {
                (block.set)(&mut self.policy, best);
            }
        }
        self.try_bound(PARTS, asked)?;
        self.try_scans(asked)?;
        if let Some([past, together]) = self.scans.best() {
            set_scans(&mut self.policy, past, together);
        }
        (0..self.bounds.len())
            .filter(|&number| number != PARTS)
            .try_for_each(|number| self.try_bound(number, asked))
    }

    /// Measures every length of a bound in both ways, and chooses it anew.
    fn try_bound(&mut self, number: usize, asked: &mut CpuSearch<'_>) -> Result<()> {
        let Bound { name, set, among, job, .. } = self.bounds[number];
        let own = among(self.policy);
        for place in 0..self.bounds[number].ratios.len() {
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
        if let Some(best) = self.bounds[number].best() {
            set(&mut self.policy, best);
        }
        Ok(())
    }

    /// Measures scans of every length in all ways.
    fn try_scans(&mut self, asked: &mut CpuSearch<'_>) -> Result<()> {
        for place in 0..self.scans.ratios.len() {
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

    /// Measures every size of a block: how long a job takes, in times of what it takes with that of the rules, at all lengths at which that
    /// is another way, unless it is hopeless at one.
    fn try_sizes(&mut self, number: usize, asked: &mut CpuSearch<'_>) -> Result<()> {
        let Block { name, get, set, job, .. } = self.blocks[number];
        // A scan in parts has blocks of its own sizes.
        let mut own = CpuPolicy { scan_parts_bytes: 0, ..with_threads(self.policy) };
        set(&mut own, get(&self.rules));
        for place in 0..self.blocks[number].ratios.len() {
            let (size, ratios) = &self.blocks[number].ratios[place];
            let (size, so_far) = (*size, ratios.clone());
            let hopeless = !so_far.is_empty() && median_of(so_far) > HOPELESS;
            if hopeless || size == get(&own) {
                continue;
            }
            let mut other = own;
            set(&mut other, size);
            let said = [get(&own), size].map(|size| size.to_string());
            let most = if asked.quick { QUICK_BLOCK_BYTES } else { usize::MAX };
            for bytes in BLOCK_BYTES.into_iter().filter(|&bytes| bytes <= most) {
                if asked.deadline.is_over() {
                    return Ok(());
                }
                let names = [format!("{name}: {} against {}", said[1], said[0])];
                let Some(ratios) = self.in_turns(job, bytes, &[own, other], &names, asked)? else {
                    continue;
                };
                self.blocks[number].ratios[place].1.push(ratios[1]);
                if ratios[1] > HOPELESS {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What a job takes with each policy, in times of what it takes with the first: the median of turns, or that of its first runs where it
    /// is [`FAR`] behind. All but the first have names.
    /// Nothing if all come to the same, or the arrays are too short.
    fn in_turns(
        &mut self,
        job: Job,
        bytes: usize,
        policies: &[CpuPolicy],
        names: &[String],
        asked: &mut CpuSearch<'_>,
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
        let mut once = vec![f64::INFINITY; devices.len()];
        for &number in &measured_ones {
            // The first run brings pages and threads; the second is right for sure.
            for _ in 0..2 {
                let begun = Instant::now();
                self.arrays.call(job, &devices[number], bytes)?;
                once[number] = once[number].min(begun.elapsed().as_secs_f64());
            }
            let is_new = |shape| self.right.insert((job, bytes, shape));
            if shapes[number].is_some_and(is_new) {
                self.wrong += usize::from(!self.arrays.is_right(job, &devices[number], bytes)?);
            }
        }
        let fastest = once.iter().copied().fold(f64::INFINITY, f64::min);
        let meets = |number: &usize| once[*number] <= FAR * fastest + WAKING_UP;
        let meeting: Vec<usize> = measured_ones.iter().copied().filter(meets).collect();
        let mut order = meeting.clone();
        let most = if asked.quick { QUICK } else { THOROUGH };
        let turns = (PAIR / (2.0 * fastest.max(SAMPLE))) as usize;
        let mut times = vec![Vec::new(); devices.len()];
        for _ in 0..turns.max(LEAST_TURNS).min(most) {
            for &number in &order {
                let call = || self.arrays.call(job, &devices[number], bytes);
                times[number].push(sample(fastest, call)?);
            }
            // Backwards: what comes behind another finds the caches as that left them.
            order.reverse();
        }
        asked.budget.moved();
        // In times of one that met the others.
        let ratio = |number: usize| {
            if times[number].is_empty() {
                return once[number] / once[meeting[0]];
            }
            let turns = times[number].iter().zip(&times[meeting[0]]);
            median_of(turns.map(|(time, one)| time / one).collect())
        };
        let first = ratio(0);
        let time = median_of(times[meeting[0]].clone());
        for &number in &measured_ones[1..] {
            (asked.tell)(
                self.dtype,
                &TrialRow {
                    operation: job.name(),
                    items: bytes / self.dtype.size(),
                    strategy: &names[number - 1],
                    policy: WorkgroupPolicy { threads_per_workgroup: 0, items_per_thread: 0 },
                    times: Some(measured(time * ratio(number), 0.0, time * first)),
                    checked: "ok".to_owned(),
                },
            )?;
        }
        Ok(Some(firsts.into_iter().map(|number| ratio(number) / first).collect()))
    }
}
