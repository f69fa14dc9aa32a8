//! The numbers of a CPU: from how many bytes on threads, streaming stores and narrower loads pay, and how large blocks are.
//!
//! A bound is found by doing each length in both ways, in turns, and by cutting where the least time is lost on either side of it.
//! The size of a block is the fastest of some, again in turns with the one so far.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bytemuck::{cast_slice, zeroed_slice_box};
use upsweep::profile::Measured;
use upsweep::{
    CpuPolicy, Device, Dtype, Policy, Profile, Scan, Sum, WorkgroupPolicy, reduce, scan_into_with,
};

use super::budget::{Budget, Deadline};
use super::sweep::{Tell, Tried};
use crate::bench::input;
use crate::bench::measure::median;
use crate::error::Result;

/// Most bytes of an array.
const MOST_BYTES: usize = 1 << 28;

/// Seconds of one sample.
const SAMPLE: f64 = 1e-3;

/// A block of another size must be faster by this part, twice: less is noise.
const FASTER: f64 = 0.985;

/// Sums are of `u32`: what moves no more than its bytes. Their numbers serve all other types.
const DTYPE: Dtype = Dtype::U32;

/// What is done with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Reduce,
    Scan,
}

impl Job {
    fn name(self) -> &'static str {
        match self {
            Job::Reduce => "reduce",
            Job::Scan => "scan",
        }
    }
}

/// A number below which something is done in one way, and from which on in another.
struct Bound {
    name: &'static str,
    set: fn(&mut CpuPolicy, usize),
    /// What is measured, and the bytes of its arrays.
    job: Job,
    bytes: Vec<usize>,
}

/// The size of a block.
struct Block {
    name: &'static str,
    get: fn(&CpuPolicy) -> usize,
    set: fn(&mut CpuPolicy, usize),
    job: Job,
    sizes: Vec<usize>,
}

/// A search on the CPU.
pub(crate) struct Cpu<'a> {
    device: &'a Device,
    turns: usize,
    items: input::Buffer,
    output: Box<[u32]>,
    expected: Box<[u32]>,
    deadline: Deadline,
    budget: &'a Budget,
    tell: Tell<'a>,
    /// Results that were wrong.
    pub(crate) wrong: usize,
}

/// From one power of two to another.
fn powers(from: usize, to: usize) -> Vec<usize> {
    let (from, to) = (from.max(1).ilog2(), to.clamp(1, MOST_BYTES).ilog2());
    (from..=to).map(|power| 1 << power).collect()
}

impl<'a> Cpu<'a> {
    /// With so many turns for each pair of measurements.
    pub(crate) fn new(
        device: &'a Device,
        turns: usize,
        budget: &'a Budget,
        deadline: Deadline,
        tell: Tell<'a>,
    ) -> Result<Self> {
        let count = MOST_BYTES / DTYPE.size();
        let items = input::items(DTYPE, count, false)?;
        let mut expected = zeroed_slice_box(count);
        scan_into_with(
            device,
            cast_slice::<u8, u32>(items.bytes()),
            &mut expected[..],
            &Scan::inclusive(Sum),
        )?;
        let output = zeroed_slice_box(count);
        Ok(Self { device, turns, items, output, expected, deadline, budget, tell, wrong: 0 })
    }

    /// The best numbers that were found in the time.
    pub(crate) fn run(&mut self) -> Result<CpuPolicy> {
        let limits = self.device.limits().clone();
        let (l2, l3) =
            (limits.l2_bytes.max(1 << 18), limits.l3_bytes.max(limits.l2_bytes).max(1 << 20));
        let (_, Policy::Cpu(mut policy)) = self.device.reduce_choice(1, 1) else {
            unreachable!("a CPU has the policy of one");
        };
        let bounds = [
            Bound {
                name: "serial_bytes",
                set: |policy, bytes| policy.serial_bytes = bytes.max(1),
                job: Job::Reduce,
                bytes: if limits.compute_units > 1 { powers(1 << 16, 1 << 24) } else { Vec::new() },
            },
            Bound {
                name: "scan_serial_bytes",
                // A scan writes as many bytes as it reads.
                set: |policy, bytes| policy.scan_serial_bytes = bytes.saturating_mul(2).max(1),
                job: Job::Scan,
                bytes: if limits.compute_units > 1 { powers(1 << 16, 1 << 26) } else { Vec::new() },
            },
            Bound {
                name: "streaming_bytes",
                set: |policy, bytes| policy.streaming_bytes = bytes,
                job: Job::Scan,
                bytes: powers(l2, 4 * l3),
            },
            Bound {
                name: "half_line_bytes",
                set: |policy, bytes| policy.half_line_bytes = bytes,
                job: Job::Reduce,
                bytes: powers(l2, 4 * l3),
            },
        ];
        for bound in &bounds {
            self.find(bound, &mut policy)?;
        }
        let blocks = [
            Block {
                name: "block_bytes",
                get: |policy| policy.block_bytes,
                set: |policy, bytes| policy.block_bytes = bytes,
                job: Job::Reduce,
                sizes: powers(1 << 15, 1 << 21),
            },
            Block {
                name: "scan_block_bytes",
                get: |policy| policy.scan_block_bytes,
                set: |policy, bytes| policy.scan_block_bytes = bytes,
                job: Job::Scan,
                sizes: powers(1 << 13, 1 << 19),
            },
        ];
        for block in &blocks {
            self.choose(block, &mut policy)?;
        }
        Ok(policy)
    }

    /// Cuts the lengths in two where the least time is lost.
    fn find(&mut self, bound: &Bound, policy: &mut CpuPolicy) -> Result<()> {
        let mut measured = Vec::new();
        for &bytes in &bound.bytes {
            if self.deadline.is_over() {
                return Ok(());
            }
            let [mut below, mut above] = [*policy; 2];
            (bound.set)(&mut below, usize::MAX);
            (bound.set)(&mut above, 0);
            let times = self.in_turns(bound.job, bytes, [&below, &above])?;
            self.row(bound.name, bound.job, bytes, [("below", times[0]), ("above", times[1])])?;
            measured.push((bytes, times));
        }
        let lost = |cut: usize| -> f64 {
            let of = |&(bytes, [below, above]): &(usize, [f64; 2])| {
                let best = below.min(above);
                if bytes < cut { below / best - 1.0 } else { above / best - 1.0 }
            };
            measured.iter().map(of).sum()
        };
        let cuts = measured.iter().map(|&(bytes, _)| bytes);
        // Behind the longest is where nobody measured.
        let cuts = cuts.chain(measured.last().map(|&(bytes, _)| 2 * bytes));
        if let Some(best) = cuts.min_by(|&one, &other| lost(one).total_cmp(&lost(other))) {
            (bound.set)(policy, best);
        }
        Ok(())
    }

    /// Takes the fastest size.
    fn choose(&mut self, block: &Block, policy: &mut CpuPolicy) -> Result<()> {
        let bytes = MOST_BYTES / 4;
        for &size in &block.sizes {
            if self.deadline.is_over() {
                return Ok(());
            }
            let mut other = *policy;
            (block.set)(&mut other, size);
            if other == *policy {
                continue;
            }
            // Twice: what is faster by chance is not faster again.
            let first = self.in_turns(block.job, bytes, [policy, &other])?;
            if first[1] >= FASTER * first[0] {
                continue;
            }
            let times = self.in_turns(block.job, bytes, [policy, &other])?;
            let names = [(block.get)(policy), size].map(|size| size.to_string());
            self.row(block.name, block.job, bytes, [(&names[0], times[0]), (&names[1], times[1])])?;
            if times[1] < FASTER * times[0] {
                *policy = other;
            }
        }
        Ok(())
    }

    /// Seconds of a job with each of two policies, in turns.
    fn in_turns(&mut self, job: Job, bytes: usize, policies: [&CpuPolicy; 2]) -> Result<[f64; 2]> {
        let devices = policies.map(|policy| {
            let profile = Profile { cpu: Some(*policy), ..Profile::default() };
            self.device.with_profile(Some(Arc::new(profile)))
        });
        let mut once = f64::INFINITY;
        for device in &devices {
            // The first run brings pages and threads; the second is right for sure.
            for _ in 0..2 {
                let begun = Instant::now();
                self.call(job, device, bytes)?;
                once = once.min(begun.elapsed().as_secs_f64());
            }
            self.wrong += usize::from(!self.is_right(job, device, bytes)?);
        }
        let runs = ((SAMPLE / once.max(1e-9)) as u32).clamp(1, 1 << 16);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..self.turns {
            for (device, times) in devices.iter().zip(&mut times) {
                let begun = Instant::now();
                for _ in 0..runs {
                    self.call(job, device, bytes)?;
                }
                times.push(begun.elapsed().as_secs_f64() / f64::from(runs));
            }
        }
        self.budget.moved();
        Ok(times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            median(&times)
        }))
    }

    fn call(&mut self, job: Job, device: &Device, bytes: usize) -> Result<u32> {
        let count = bytes / DTYPE.size();
        let items = black_box(&cast_slice::<u8, u32>(self.items.bytes())[..count]);
        Ok(match job {
            Job::Reduce => black_box(reduce(device, items, Sum)?),
            Job::Scan => {
                scan_into_with(device, items, &mut self.output[..count], &Scan::inclusive(Sum))?;
                0
            }
        })
    }

    fn is_right(&mut self, job: Job, device: &Device, bytes: usize) -> Result<bool> {
        let count = bytes / DTYPE.size();
        self.output[..count].fill(u32::from_le_bytes([crate::bench::POISON; 4]));
        let found = self.call(job, device, bytes)?;
        Ok(match job {
            Job::Reduce => self.expected[..count].last() == Some(&found),
            Job::Scan => self.output[..count] == self.expected[..count],
        })
    }

    /// Tells of a pair of measurements.
    fn row(&mut self, number: &str, job: Job, bytes: usize, pair: [(&str, f64); 2]) -> Result<()> {
        let us = |seconds: f64| seconds * 1e6;
        let [(first, first_time), (second, second_time)] = pair;
        let policy = WorkgroupPolicy { threads_per_workgroup: 0, items_per_thread: 0 };
        let strategy = format!("{number}: {second} against {first}");
        let times =
            Measured { median_us: us(second_time), limit_us: 0.0, default_us: us(first_time) };
        let items = bytes / DTYPE.size();
        let row = Tried {
            operation: job.name(),
            items,
            strategy: &strategy,
            policy,
            times: Some(times),
            checked: "ok".to_owned(),
        };
        (self.tell)(&row)
    }
}
