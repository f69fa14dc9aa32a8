//! Rows of compaction: half of the items are kept, by a flag of one byte each; of positions, half of the items are not 0; runs have eight
//! items.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Instant;

use bytemuck::{cast_slice, cast_slice_mut};
use upsweep::any::{self, AnyArray, AnyView, AnyViewMut};
use upsweep::reference::compaction;
use upsweep::strategy::Strategy;
use upsweep::{Array, Device, Dtype, Number, Recording, Result, ViewMut};

use super::gpu_job::{bound, shortest_if_slow, slow_words};
use super::job::{Run, measured};
use super::outcome::Outcome;
use crate::buffer::{Buffer, POISON, poison, poisoned};
use crate::energy;
use crate::gpu_timing::{in_turns, seconds, wake};
use crate::host_timing::{Call, Effort, Times};
use crate::inputs;
use crate::selection::Primitive;
use crate::statistics::median;
use crate::workload::Workload;

/// Items of a run.
const RUN: usize = 8;

/// What is kept of some items, and how.
pub(super) struct Compaction {
    primitive: Primitive,
    dtype: Dtype,
    items: Buffer,
    flags: Vec<u8>,
    /// The bytes of a right output, as far as it is written.
    expected: Vec<u8>,
    /// The right lengths of runs, if they are asked for.
    lengths: Vec<u32>,
    /// How many are kept.
    kept: usize,
}

impl Compaction {
    /// Of items that lie in host memory as these bytes.
    pub(super) fn new(workload: Workload, all: &[u8]) -> crate::error::Result<Self> {
        let Workload { primitive, dtype, .. } = workload;
        let n = all.len() / dtype.size();
        let mut items = Buffer::new(all.len())?;
        items.bytes_mut().copy_from_slice(all);
        if primitive.has_runs() {
            let size = dtype.size();
            for run in items.bytes_mut().chunks_mut(RUN * size) {
                let (first, rest) = run.split_at_mut(size);
                rest.chunks_exact_mut(size).for_each(|item| item.copy_from_slice(first));
            }
        }
        let flags = inputs::items(Dtype::U64, n, false)?;
        let flags: Vec<u8> = cast_slice::<u8, u64>(flags.bytes()).iter().map(odd).collect();
        let of = (primitive, &*flags);
        let (expected, lengths, kept) = match dtype.size() {
            1 => expected::<u8>(of, items.bytes_mut()),
            2 => expected::<u16>(of, items.bytes_mut()),
            4 => expected::<u32>(of, items.bytes_mut()),
            _ => expected::<u64>(of, items.bytes_mut()),
        };
        Ok(Self { primitive, dtype, items, flags, expected, lengths, kept })
    }

    /// The type of the output.
    fn written(&self) -> Dtype {
        if self.primitive == Primitive::Positions { Dtype::U32 } else { self.dtype }
    }

    fn len(&self) -> usize {
        self.flags.len()
    }

    /// The fewest bytes that are moved: what is read, and what is written of the output.
    fn bytes(&self) -> u64 {
        let has_flags = matches!(self.primitive, Primitive::Select | Primitive::Partition);
        let flags = if has_flags { self.flags.len() } else { 0 };
        let written = self.expected.len() + size_of_val(&self.lengths[..]);
        (self.items.bytes().len() + flags + written) as u64
    }

    /// Room for lengths of runs, if they are asked for.
    fn room_for_lengths(&self) -> usize {
        if self.primitive == Primitive::RunLengthEncode { self.len() } else { 0 }
    }

    fn call(
        &self,
        device: &Device,
        (items, flags): (AnyView<'_>, AnyView<'_>),
        (output, lengths): (AnyViewMut<'_>, AnyViewMut<'_>),
        count: ViewMut<'_, u64>,
    ) -> Result<()> {
        match self.primitive {
            Primitive::Unique => any::unique_into(device, items, output, count),
            Primitive::RunLengthEncode => {
                any::run_length_encode_into(device, items, output, lengths, count)
            }
            Primitive::Positions => any::positions_into(device, items, output, count),
            Primitive::Partition => any::partition_into(device, items, flags, output, count),
            _ => any::select_into(device, items, flags, output, count),
        }
    }

    /// The row of a CPU.
    pub(super) fn on_cpu(
        &self,
        device: &Device,
        limit: &Device,
        effort: Effort,
        output: &mut Buffer,
    ) -> Result<Outcome> {
        let moved = [self.bytes(), 2 * self.items.bytes().len() as u64];
        let lengths = vec![0; self.room_for_lengths()];
        let mut run = OnCpu { of: self, device, limit, output, lengths, count: [0] };
        measured(limit, effort, moved, &mut run)
    }

    /// The row of a GPU, and the strategy that was chosen.
    pub(super) fn on_gpu(
        &self,
        device: &Device,
        effort: Effort,
    ) -> Result<(Option<Strategy>, Outcome)> {
        let mut run = OnGpu::new(self, device)?;
        let copied = bound(device, self.items.bytes().len() as u64);
        // A copy goes to as much memory as it comes from.
        let limit = match self.written().size() == self.dtype.size() {
            true => any::bind_probe_copy(device, &run.items, &mut run.output)?,
            false => {
                let mut room = AnyArray::filled(device, self.len(), poison(self.dtype))?;
                any::bind_probe_copy(device, &run.items, &mut room)?
            }
        };
        let strategy = run.recording.strategy();
        let measure = |run: &OnGpu<'_>| {
            wake(device, self.bytes())?;
            in_turns(2, effort.samples, &mut |which, runs| match which {
                0 => seconds(device, &run.recording, runs),
                _ => seconds(device, &limit, runs),
            })
        };
        let slow = |limits: &[f64]| shortest_if_slow(device, true, 2 * copied, limits);
        let mut found = measure(&run)?;
        let mut shortest = slow(&found[1]);
        // Whatever made the device slow, waking it anew is what can be done.
        if shortest.is_some() {
            found = measure(&run)?;
            shortest = slow(&found[1]);
        }
        let (jobs, limits) = (&found[0], &found[1]);
        let runs = u32::try_from(effort.samples).unwrap_or(u32::MAX);
        let profile = if effort.profile { run.recording.profile(runs)? } else { None };
        let energy = effort.energy.then(|| {
            energy::of_call(device, median(jobs), &mut |runs| {
                seconds(device, &run.recording, runs).map(drop)
            })
        });
        if !run.is_right()? {
            return Ok((strategy, Outcome::wrong()));
        }
        let times = Times {
            median: median(jobs),
            min: jobs[0],
            max: jobs[jobs.len() - 1],
            limit: median(limits),
            first: run.first,
            bytes: self.bytes(),
            limit_bytes: 2 * copied,
        };
        let mut outcome = Outcome::right(times, profile);
        if let Some(shortest) = shortest {
            outcome.checked = slow_words(&times, shortest);
        }
        Ok((strategy, Outcome { energy: energy.flatten(), ..outcome }))
    }
}

/// A compaction on a GPU, where its arrays are.
struct OnGpu<'a> {
    of: &'a Compaction,
    items: AnyArray,
    output: AnyArray,
    lengths: Array<u32>,
    count: Array<u64>,
    /// What is run again and again.
    recording: Recording,
    /// Seconds in which it was made, and ran for the first time.
    first: f64,
}

impl<'a> OnGpu<'a> {
    fn new(of: &'a Compaction, device: &Device) -> Result<Self> {
        let items = AnyArray::from_view(device, AnyView::from_bytes(of.dtype, of.items.bytes())?)?;
        let flags = Array::from_slice(device, &of.flags)?;
        let mut output = AnyArray::filled(device, of.len(), poison(of.written()))?;
        let mut lengths = Array::filled(device, of.room_for_lengths(), u32::MAX)?;
        let mut count = Array::filled(device, 1, u64::MAX)?;
        device.wait()?;
        let start = Instant::now();
        let (to, number) = (&mut output, &mut count);
        let recording = match of.primitive {
            Primitive::Positions => any::bind_positions(device, &items, to, number)?,
            Primitive::Select => any::bind_select(device, &items, &flags, to, number)?,
            Primitive::Unique => any::bind_unique(device, &items, to, number)?,
            Primitive::RunLengthEncode => {
                any::bind_run_length_encode(device, &items, to, &mut lengths, number)?
            }
            _ => any::bind_partition(device, &items, &flags, to, number)?,
        };
        recording.submit()?;
        device.wait()?;
        let first = start.elapsed().as_secs_f64();
        Ok(Self { of, items, output, lengths, count, recording, first })
    }

    /// Whether one more run leaves what the reference does.
    fn is_right(&mut self) -> Result<bool> {
        let (of, bytes) = (self.of, self.of.len() * self.of.written().size());
        let poison = poisoned(bytes);
        let poison = AnyView::from_bytes(of.written(), &cast_slice(&poison)[..bytes])?;
        self.output.copy_from(poison)?;
        self.count.copy_from_slice(&[u64::MAX])?;
        self.lengths.copy_from_slice(&vec![u32::MAX; self.of.room_for_lengths()])?;
        self.recording.submit()?;
        let is_right = self.output.to_bytes()?.starts_with(&of.expected)
            && self.lengths.to_vec()?.starts_with(&of.lengths);
        Ok(is_right && self.count.to_vec()? == [of.kept as u64])
    }
}

fn odd(word: &u64) -> u8 {
    (word & 1) as u8
}

/// What the reference writes, and how many items it keeps. Items whose positions are asked for are made 0 where they have no flag.
fn expected<T: Number>(
    (primitive, flags): (Primitive, &[u8]),
    items: &mut [u8],
) -> (Vec<u8>, Vec<u32>, usize) {
    let items: &mut [T] = cast_slice_mut(items);
    let no_lengths = Vec::new();
    match primitive {
        Primitive::Unique => {
            let kept = compaction::unique(items);
            (cast_slice(&kept).to_vec(), no_lengths, kept.len())
        }
        Primitive::RunLengthEncode => {
            let (kept, lengths) = compaction::run_length_encode(items);
            let lengths = lengths.into_iter().map(|length| length as u32).collect();
            (cast_slice(&kept).to_vec(), lengths, kept.len())
        }
        Primitive::Positions => {
            for (item, _) in items.iter_mut().zip(flags).filter(|(_, flag)| **flag == 0) {
                *item = T::zeroed();
            }
            let found = compaction::positions(items);
            let short: Vec<u32> = found.iter().map(|&position| position as u32).collect();
            (cast_slice(&short).to_vec(), no_lengths, found.len())
        }
        Primitive::Partition => {
            let (all, border) = compaction::partition(items, flags);
            (cast_slice(&all).to_vec(), no_lengths, border)
        }
        _ => {
            let kept = compaction::select(items, flags);
            (cast_slice(&kept).to_vec(), no_lengths, kept.len())
        }
    }
}

/// A compaction on a CPU.
struct OnCpu<'a> {
    of: &'a Compaction,
    device: &'a Device,
    limit: &'a Device,
    output: &'a mut Buffer,
    lengths: Vec<u32>,
    count: [u64; 1],
}

impl Run for OnCpu<'_> {
    fn poison(&mut self) {
        self.output.bytes_mut().fill(POISON);
        self.lengths.fill(u32::MAX);
        self.count = [u64::MAX];
    }

    fn run(&mut self, call: Call, times: NonZeroU32) -> Result<()> {
        let (of, input) = (self.of, self.of.items.bytes());
        for _ in 0..times.get() {
            let output = self.output.bytes_mut();
            match call {
                Call::Job => {
                    let items = AnyView::from_bytes(of.dtype, black_box(input))?;
                    let output = &mut output[..of.len() * of.written().size()];
                    let output = AnyViewMut::from_bytes(of.written(), output)?;
                    let views = (items, (&of.flags).into());
                    let to = (output, AnyViewMut::from(&mut self.lengths));
                    of.call(self.device, views, to, (&mut self.count).into())?;
                }
                Call::Limit => {
                    self.limit.probe_copy(black_box(input), &mut output[..input.len()])?;
                }
            }
        }
        Ok(())
    }

    fn correct(&self) -> bool {
        let Self { of, output, lengths, count, .. } = self;
        *count == [of.kept as u64]
            && output.bytes().starts_with(&of.expected)
            && lengths.starts_with(&of.lengths)
    }
}
