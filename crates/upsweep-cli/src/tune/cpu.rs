//! The numbers of a CPU: from how many bytes on threads, streaming stores and narrower loads pay, and how large blocks are.
//!
//! A bound is found by doing each length in both ways, in turns, and by cutting where the least time is lost on either side of it.
//! The size of a block is the fastest of some, again in turns with the one so far. Each number is best for what the others are, so all are
//! found twice: with blocks of 32 KiB sixteen threads of a Xeon gain nothing from stores past the caches, with 128 KiB they do.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bytemuck::{cast_slice, cast_slice_mut, zeroed_slice_box};
use upsweep::profile::Measured;
use upsweep::{
    CpuPolicy, Device, Dtype, Number, Operator, Policy, Profile, Scan, Sum, Widen, WorkgroupPolicy,
    reduce, scan_into_with,
};

use super::budget::{Budget, Deadline};
use super::sweep::{Tried, median_of};
use super::ways::WAKING;
use crate::bench::input;
use crate::error::Result;

/// Most bytes of an array.
const MOST_BYTES: usize = 1 << 28;

/// Bytes of the arrays that tell which size of a block is the fastest.
const BLOCK_BYTES: [usize; 3] = [1 << 22, 1 << 24, 1 << 26];

/// Seconds of one sample.
const SAMPLE: f64 = 1e-3;

/// How often all numbers are found.
const PASSES: usize = 2;

/// A block of another size must be faster by this part, twice: less is noise.
const FASTER: f64 = 0.985;

/// A size that takes so many times as long at one length is not measured at the others.
const HOPELESS: f64 = 1.3;

/// What is done with an array: sums of `u32`, which take no longer than the bytes that they move, and of `f32` where their order costs time.
/// The numbers that are best for these serve all other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Reduce,
    Scan,
    ScanFloats,
}

/// What a number of a scan is measured with.
const SCANS: &[Job] = &[Job::Scan, Job::ScanFloats];

impl Job {
    fn name(self) -> &'static str {
        match self {
            Job::Reduce => "reduce",
            Job::Scan | Job::ScanFloats => "scan",
        }
    }

    fn dtype(self) -> Dtype {
        match self {
            Job::Reduce | Job::Scan => Dtype::U32,
            Job::ScanFloats => Dtype::F32,
        }
    }
}

/// What jobs of a type read, write, and should write.
struct Arrays<T> {
    items: input::Buffer,
    output: Box<[T]>,
    expected: Box<[T]>,
}

impl<T> Arrays<T>
where
    T: Number<Acc = T> + Widen<T>,
    Sum: Operator<T>,
{
    fn new(device: &Device) -> Result<Self> {
        let count = MOST_BYTES / size_of::<T>();
        let items = input::items(T::DTYPE, count, false)?;
        let mut arrays =
            Self { items, output: zeroed_slice_box(count), expected: zeroed_slice_box(count) };
        arrays.scan(device, MOST_BYTES)?;
        std::mem::swap(&mut arrays.output, &mut arrays.expected);
        Ok(arrays)
    }

    fn items(&self, bytes: usize) -> &[T] {
        black_box(&cast_slice(self.items.bytes())[..bytes / size_of::<T>()])
    }

    fn reduce(&self, device: &Device, bytes: usize) -> Result<T> {
        Ok(black_box(reduce(device, self.items(bytes), Sum)?))
    }

    fn scan(&mut self, device: &Device, bytes: usize) -> Result<()> {
        let count = bytes / size_of::<T>();
        let items = black_box(&cast_slice::<u8, T>(self.items.bytes())[..count]);
        Ok(scan_into_with(device, items, &mut self.output[..count], &Scan::inclusive(Sum))?)
    }

    /// Whether a scan leaves the bits that it should.
    fn scans_right(&mut self, device: &Device, bytes: usize) -> Result<bool> {
        let count = bytes / size_of::<T>();
        cast_slice_mut::<T, u8>(&mut self.output[..count]).fill(crate::bench::POISON);
        self.scan(device, bytes)?;
        let [found, expected] = [&self.output, &self.expected];
        Ok(cast_slice::<T, u8>(&found[..count]) == cast_slice::<T, u8>(&expected[..count]))
    }
}

/// A number below which something is done in one way, and from which on in another.
struct Bound {
    name: &'static str,
    set: fn(&mut CpuPolicy, usize),
    /// What is measured, and the bytes of its items.
    jobs: &'static [Job],
    bytes: Vec<usize>,
    /// The number if the other way is slower at all of them.
    never: usize,
}

/// The size of a block.
struct Block {
    name: &'static str,
    get: fn(&CpuPolicy) -> usize,
    set: fn(&mut CpuPolicy, usize),
    jobs: &'static [Job],
    sizes: Vec<usize>,
}

/// Takes every row, and the type of its items.
type Tell<'a> = &'a mut dyn FnMut(Dtype, &Tried<'_>) -> Result<()>;

/// A search on the CPU.
pub(crate) struct Cpu<'a> {
    device: &'a Device,
    turns: usize,
    integers: Arrays<u32>,
    floats: Arrays<f32>,
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
        let (integers, floats) = (Arrays::new(device)?, Arrays::new(device)?);
        Ok(Self { device, turns, integers, floats, deadline, budget, tell, wrong: 0 })
    }

    /// The best numbers that were found in the time.
    pub(crate) fn run(&mut self) -> Result<CpuPolicy> {
        let limits = self.device.limits().clone();
        let (l2, l3) =
            (limits.l2_bytes.max(1 << 18), limits.l3_bytes.max(limits.l2_bytes).max(1 << 20));
        let (_, Policy::Cpu(mut policy)) = self.device.reduce_choice(1, 1) else {
            unreachable!("a CPU has the policy of one");
        };
        let threads = limits.compute_units > 1;
        let bounds = [
            Bound {
                name: "streaming_bytes",
                set: |policy, bytes| policy.streaming_bytes = bytes,
                jobs: SCANS,
                bytes: powers(l2 / 4, 4 * l3),
                never: CpuPolicy::NEVER,
            },
            Bound {
                name: "half_line_bytes",
                set: |policy, bytes| policy.half_line_bytes = bytes,
                jobs: &[Job::Reduce],
                bytes: powers(l2, 4 * l3),
                never: CpuPolicy::NEVER,
            },
            Bound {
                name: "serial_bytes",
                set: |policy, bytes| policy.serial_bytes = bytes.max(1),
                jobs: &[Job::Reduce],
                bytes: if threads { powers(1 << 16, 1 << 24) } else { Vec::new() },
                // What lies behind the longest is not known.
                never: 1 << 25,
            },
            Bound {
                name: "scan_serial_bytes",
                // A scan writes as many bytes as it reads.
                set: |policy, bytes| policy.scan_serial_bytes = bytes.saturating_mul(2).max(1),
                jobs: SCANS,
                bytes: if threads { powers(1 << 16, 1 << 26) } else { Vec::new() },
                never: 1 << 27,
            },
        ];
        let blocks = [
            Block {
                name: "block_bytes",
                get: |policy| policy.block_bytes,
                set: |policy, bytes| policy.block_bytes = bytes,
                jobs: &[Job::Reduce],
                sizes: powers(1 << 17, 1 << 21),
            },
            Block {
                name: "scan_block_bytes",
                get: |policy| policy.scan_block_bytes,
                set: |policy, bytes| policy.scan_block_bytes = bytes,
                jobs: SCANS,
                sizes: powers(1 << 14, 1 << 18),
            },
        ];
        for _ in 0..PASSES {
            for block in &blocks {
                self.choose(block, &mut policy)?;
            }
            for bound in &bounds {
                self.find(bound, &mut policy)?;
            }
        }
        Ok(policy)
    }

    /// Cuts the lengths in two where the least time is lost.
    fn find(&mut self, bound: &Bound, policy: &mut CpuPolicy) -> Result<()> {
        let mut measured = Vec::new();
        for &bytes in &bound.bytes {
            let [mut below, mut above] = [*policy; 2];
            (bound.set)(&mut below, usize::MAX);
            (bound.set)(&mut above, 0);
            for &job in bound.jobs {
                if self.deadline.is_over() {
                    return Ok(());
                }
                let times = self.in_turns(job, bytes, [&below, &above])?;
                self.row(bound.name, job, bytes, [("below", times[0]), ("above", times[1])])?;
                measured.push((bytes, times));
            }
        }
        let lost = |cut: usize| -> f64 {
            let of = |&(bytes, [below, above]): &(usize, [f64; 2])| {
                let best = below.min(above);
                if bytes < cut { below / best - 1.0 } else { above / best - 1.0 }
            };
            measured.iter().map(of).sum()
        };
        let cuts = measured.iter().map(|&(bytes, _)| bytes);
        let cuts = cuts.chain(measured.last().map(|_| bound.never));
        if let Some(best) = cuts.min_by(|&one, &other| lost(one).total_cmp(&lost(other))) {
            (bound.set)(policy, best);
        }
        Ok(())
    }

    /// Takes the fastest size.
    fn choose(&mut self, block: &Block, policy: &mut CpuPolicy) -> Result<()> {
        for &size in &block.sizes {
            let mut other = *policy;
            (block.set)(&mut other, size);
            if other == *policy {
                continue;
            }
            // Twice: what is faster by chance is not faster again.
            let mut faster = true;
            for _ in 0..2 {
                if self.deadline.is_over() {
                    return Ok(());
                }
                faster = faster && self.in_all(block, policy, &other, size)? < FASTER;
            }
            if faster {
                *policy = other;
            }
        }
        Ok(())
    }

    /// How long a job takes with a size, in times of what it takes with the one so far: the geometric mean of
    /// all lengths, unless it is hopeless at one.
    fn in_all(
        &mut self,
        block: &Block,
        policy: &CpuPolicy,
        other: &CpuPolicy,
        size: usize,
    ) -> Result<f64> {
        let names = [(block.get)(policy), size].map(|size| size.to_string());
        let (mut product, mut count) = (1.0, 0);
        for bytes in BLOCK_BYTES {
            for &job in block.jobs {
                let times = self.in_turns(job, bytes, [policy, other])?;
                self.row(block.name, job, bytes, [(&names[0], times[0]), (&names[1], times[1])])?;
                let ratio = times[1] / times[0];
                if ratio > HOPELESS {
                    return Ok(ratio);
                }
                product *= ratio;
                count += 1;
            }
        }
        Ok(f64::powf(product, 1.0 / f64::from(count)))
    }

    /// Seconds of a job with each of two policies: of the first the median, of the second that times the median of what it took in times of
    /// the first in the same turn. A machine that is slow in half of the turns does not make one look better.
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
        let (mut first, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..self.turns {
            let mut turn = [0.0; 2];
            for (device, time) in devices.iter().zip(&mut turn) {
                if runs > 1 {
                    (0..WAKING).try_for_each(|_| self.call(job, device, bytes))?;
                }
                let begun = Instant::now();
                for _ in 0..runs {
                    self.call(job, device, bytes)?;
                }
                *time = begun.elapsed().as_secs_f64() / f64::from(runs);
            }
            first.push(turn[0]);
            ratios.push(turn[1] / turn[0]);
        }
        self.budget.moved();
        let first = median_of(first);
        Ok([first, first * median_of(ratios)])
    }

    fn call(&mut self, job: Job, device: &Device, bytes: usize) -> Result<()> {
        match job {
            Job::Reduce => self.integers.reduce(device, bytes).map(drop),
            Job::Scan => self.integers.scan(device, bytes),
            Job::ScanFloats => self.floats.scan(device, bytes),
        }
    }

    fn is_right(&mut self, job: Job, device: &Device, bytes: usize) -> Result<bool> {
        match job {
            Job::Reduce => {
                let last = self.integers.expected[bytes / size_of::<u32>() - 1];
                Ok(self.integers.reduce(device, bytes)? == last)
            }
            Job::Scan => self.integers.scans_right(device, bytes),
            Job::ScanFloats => self.floats.scans_right(device, bytes),
        }
    }

    /// Tells of a pair of measurements.
    fn row(&mut self, number: &str, job: Job, bytes: usize, pair: [(&str, f64); 2]) -> Result<()> {
        let us = |seconds: f64| seconds * 1e6;
        let [(first, first_time), (second, second_time)] = pair;
        let policy = WorkgroupPolicy { threads_per_workgroup: 0, items_per_thread: 0 };
        let strategy = format!("{number}: {second} against {first}");
        let times =
            Measured { median_us: us(second_time), limit_us: 0.0, default_us: us(first_time) };
        let row = Tried {
            operation: job.name(),
            items: bytes / job.dtype().size(),
            strategy: &strategy,
            policy,
            times: Some(times),
            checked: "ok".to_owned(),
        };
        (self.tell)(job.dtype(), &row)
    }
}
