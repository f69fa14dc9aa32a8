//! What calls on a GPU take whose arrays are in the host's memory, in turns with the same calls on the CPU: what `--device auto`
//! goes by.

use std::time::{Duration, Instant};

use bytemuck::cast_slice;
use upsweep::any::{self, Op, ReduceCall, Scalar, ScanCall};
use upsweep::profile::{self, Crossing, FromHost};
use upsweep::{Device, Dtype, cpu_name};

use super::budget::Deadline;
use crate::buffer::{Buffer, POISON, available_memory};
use crate::error::Result;
use crate::inputs;
use crate::statistics::median;

/// Bytes that are read: from where a GPU takes as long for any, to where its time grows in proportion. The type hardly matters, so
/// there is one.
const POWERS: [u32; 11] = [12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32];

/// Items that there are from the beginning.
const LEAST_HELD: usize = 1 << 20;

/// The most of a quick run.
const QUICK_POWER: u32 = 28;

/// Turns of each; those of long arrays end with the time that there is.
const TURNS: usize = 11;
const LEAST_TURNS: usize = 3;

/// Until when it is measured.
struct Time {
    deadline: Deadline,
    /// By how much first turns may still put that off, most of which goes to making kernels: in all, by as much time as there was.
    spare: Duration,
}

/// Arrays of the host's, calls on which are timed.
struct Arrays<'a> {
    gpu: &'a Device,
    cpu: Device,
    sum: ReduceCall,
    sums: ScanCall,
    items: Buffer,
    output: Vec<u32>,
    expected: Vec<u32>,
    wrong: usize,
}

/// Measures as many lengths as there is time for, and how many results were wrong.
pub(super) fn measure(gpu: &Device, quick: bool, deadline: Deadline) -> Result<(FromHost, usize)> {
    let mut time = Time { deadline, spare: deadline.left().unwrap_or_default() };
    // Also by what this very program may have found of it a minute ago.
    let cpu = Device::cpu();
    let cpu = cpu.with_profile(profile::find(cpu.limits()).profile);
    // Half of the memory for the three arrays.
    let most = available_memory().unwrap_or(u64::MAX) / 6;
    let powers = POWERS.into_iter().filter(|&power| !quick || power <= QUICK_POWER);
    let lengths = powers.filter_map(|power| 1usize.checked_shl(power));
    let lengths: Vec<usize> = lengths.filter(|&bytes| bytes as u64 <= most).collect();
    let mut found = FromHost { cpu: cpu_name(cpu.limits()), ..FromHost::default() };
    let (items, [output, expected]) = (Buffer::new(0)?, [const { Vec::new() }; 2]);
    let sum = any::Reduce::new(Op::Sum).acc(Dtype::U32);
    let sum = ReduceCall::new(&cpu, Dtype::U32, &sum)?;
    let sums = ScanCall::new(Dtype::U32, Dtype::U32, &any::Scan::inclusive(Op::Sum))?;
    let mut arrays = Arrays { gpu, cpu, sum, sums, items, output, expected, wrong: 0 };
    for bytes in lengths {
        if time.deadline.is_over() {
            break;
        }
        let items = bytes / size_of::<u32>();
        arrays.hold(items)?;
        let reduces = |on_gpu| arrays.reduces(items, on_gpu);
        let Some([gpu_us, cpu_us]) = in_turns(&mut time, reduces)? else { break };
        found.reads.push(Crossing { bytes: bytes as u64, gpu_us, cpu_us });
        let scans = |on_gpu| arrays.scans(items, on_gpu);
        let Some([gpu_us, cpu_us]) = in_turns(&mut time, scans)? else { break };
        found.copies.push(Crossing { bytes: 2 * bytes as u64, gpu_us, cpu_us });
    }
    Ok((found, arrays.wrong))
}

/// The medians of both, in microseconds, the GPU's first; `None` if the time was over before there were enough. The first turn makes
/// kernels, which the search uses too, and wakes threads: it does not count, nor what it takes, as far as there is time to spare.
fn in_turns(
    time: &mut Time,
    mut call: impl FnMut(bool) -> Result<f64>,
) -> Result<Option<[f64; 2]>> {
    let mut times = [Vec::new(), Vec::new()];
    let begun = Instant::now();
    for on_gpu in [true, false] {
        call(on_gpu)?;
    }
    let first = begun.elapsed().min(time.spare);
    time.spare -= first;
    time.deadline = time.deadline.later(first);
    for _ in 0..TURNS {
        for (times, on_gpu) in times.iter_mut().zip([true, false]) {
            times.push(call(on_gpu)?);
        }
        if time.deadline.is_over() {
            break;
        }
    }
    let enough = times[1].len() >= LEAST_TURNS;
    Ok(enough.then(|| {
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            1e6 * median(&times)
        })
    }))
}

impl Arrays<'_> {
    /// Has room for so many items, made only when they are wanted: the most take seconds.
    fn hold(&mut self, items: usize) -> Result<()> {
        let held = items.max(LEAST_HELD);
        if self.expected.len() < items {
            self.items = inputs::repeated(Dtype::U32, held, false)?;
            self.output = vec![0; held];
            self.expected = vec![0; held];
            let items = cast_slice::<u8, u32>(self.items.bytes());
            self.sums.run_into(&self.cpu, items, &mut self.expected)?;
        }
        Ok(())
    }

    fn items(&self, items: usize) -> &[u32] {
        &cast_slice::<u8, u32>(self.items.bytes())[..items]
    }

    fn device(&self, on_gpu: bool) -> &Device {
        if on_gpu { self.gpu } else { &self.cpu }
    }

    /// Seconds of a sum of so many items.
    fn reduces(&mut self, items: usize, on_gpu: bool) -> Result<f64> {
        let begun = Instant::now();
        let sum = self.sum.run(self.device(on_gpu), self.items(items))?;
        let time = begun.elapsed();
        self.wrong += usize::from(sum != Some(Scalar::new(self.expected[items - 1])));
        Ok(time.as_secs_f64())
    }

    /// Seconds of a scan of so many items.
    fn scans(&mut self, items: usize, on_gpu: bool) -> Result<f64> {
        self.output[..items].fill(u32::from_ne_bytes([POISON; 4]));
        let device = if on_gpu { self.gpu } else { &self.cpu };
        let begun = Instant::now();
        let read = &cast_slice::<u8, u32>(self.items.bytes())[..items];
        self.sums.run_into(device, read, &mut self.output[..items])?;
        let time = begun.elapsed();
        self.wrong += usize::from(self.output[..items] != self.expected[..items]);
        Ok(time.as_secs_f64())
    }
}
