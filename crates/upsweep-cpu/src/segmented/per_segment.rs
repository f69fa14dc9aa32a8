//! A call for each segment: for what is the same however items are grouped, and has a kernel of its own for an array.
//!
//! ```text
//!   windows of items     ├────────┼────────┼────────┼──…   on threads
//!   segments by offsets   ─┬──┬───────────────┬┬───┬──     each is taken by the thread in whose window it ends
//!   long ones                 └───────────────┘            one after another by all threads, in the end
//! ```
//! By flags or keys offsets are made first. So a caller's types need no code here: a value is bytes.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use bytemuck::cast_slice_mut;
use fearless_simd::Level;
use upsweep_core::summation::WINDOW;
use upsweep_core::{Backend, Error, Extreme, Number, Result, SegmentedBy, Segments, Traffic};

use super::boundaries::{Boundaries, for_each};
use super::marked::Mark;
use super::offsets::Offsets;
use crate::device::Cpu;
use crate::isa;
use crate::team::lock;

/// Writes the bytes of the value of the items of these numbers, of which there is at least one, by the device that it is given.
pub type SegmentValue<'a> = &'a (dyn Fn(&Cpu, Range<usize>, &mut [u8]) -> Result<()> + Sync);

/// The segments that end in a window, and where their values go.
type Block<'a> = (Range<usize>, &'a mut [u8]);

impl Cpu {
    /// Writes the first position of an extreme in each segment, counted from the first of all items, `u64::MAX` of a segment without
    /// items; how many segments there are. By offsets there is an output for each segment, else for each item.
    ///
    /// # Errors
    /// Those of [`segmented_reduce`](Cpu::segmented_reduce).
    #[inline(never)]
    pub fn segmented_position<T: Number>(
        &self,
        items: &[T],
        segments: Segments<'_>,
        output: &mut [u64],
        extreme: Extreme,
    ) -> Result<usize> {
        let value = |cpu: &Cpu, range: Range<usize>, value: &mut [u8]| {
            let items = &items[range.clone()];
            let found = match items.len() {
                ..FEW => Some(position_of_few(items, extreme)),
                _ => cpu.position(&mut cpu.workspace(0, 0)?, items, extreme)?,
            };
            let position = found.map_or(u64::MAX, |found| range.start as u64 + found);
            value.copy_from_slice(&position.to_ne_bytes());
            Ok(())
        };
        let empty = u64::MAX.to_ne_bytes();
        let of = (items.len(), size_of::<T>());
        self.per_segment(of, segments, None, cast_slice_mut(output), &empty, &value)
    }

    /// Writes the bytes that `value` makes of each segment, `empty` of one without items; how many segments there are. By offsets
    /// there is room for a value of each segment, else of each item; by keys, `unique` gets the bytes of each segment's key.
    ///
    /// # Errors
    /// Those of [`segmented_reduce`](Cpu::segmented_reduce) and of `value`.
    pub fn per_segment(
        &self,
        (items, item_bytes): (usize, usize),
        segments: Segments<'_>,
        unique: Option<&mut [u8]>,
        output: &mut [u8],
        empty: &[u8],
        value: SegmentValue<'_>,
    ) -> Result<usize> {
        let boundaries = Boundaries::new(segments, items)?;
        let room = output.len() / empty.len();
        if room != boundaries.most_segments(items) {
            let input = boundaries.most_segments(items);
            return Err(Error::LengthMismatch { input, output: room });
        }
        let bytes = items * item_bytes + boundaries.bytes();
        let context = self.context(Traffic::Reads, self.policies().of_bytes(item_bytes), bytes)?;
        let made;
        let offsets = match boundaries.offsets() {
            Some(offsets) => offsets,
            None => {
                made = offsets_of(&boundaries, context.level, items);
                Offsets::Long(&made)
            }
        };
        let count = offsets.len() - 1;
        if let Some(unique) = unique.filter(|_| segments.by == SegmentedBy::Keys) {
            let size = segments.kind.size();
            if unique.len() != items * size {
                return Err(Error::LengthMismatch { input: items, output: unique.len() / size });
            }
            for (segment, unique) in unique.chunks_exact_mut(size).take(count).enumerate() {
                let first = offsets.get(segment) * size;
                unique.copy_from_slice(&segments.bytes[first..first + size]);
            }
        }
        let output = &mut output[..count * empty.len()];
        if items == 0 || context.team.threads() <= 1 {
            take(self, offsets, (0..count, output), empty, value, &mut |_| false)?;
            return Ok(count);
        }
        let (alone, long_bytes) = (self.alone(), context.policy.serial_bytes);
        let windows = items.div_ceil(WINDOW);
        let (mut blocks, mut rest) = (Vec::with_capacity(windows), &mut *output);
        for window in 0..windows {
            let window = window * WINDOW..items.min((window + 1) * WINDOW);
            let segments = offsets.ending_in(&window);
            let (own, others) = rest.split_at_mut(segments.len() * empty.len());
            blocks.push(Mutex::new(Some((segments, own))));
            rest = others;
        }
        let (next, long, failed) = (AtomicUsize::new(0), Mutex::new(vec![]), Mutex::new(Ok(())));
        context.team.run(&|| {
            while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(block) = lock(block).and_then(|mut block| block.take()) else { continue };
                let mut own = Vec::new();
                let mut is_long = |segment: usize| {
                    let length = offsets.get(segment + 1) - offsets.get(segment);
                    let is_long = length * item_bytes >= long_bytes;
                    if is_long {
                        own.push(segment);
                    }
                    is_long
                };
                let taken = take(&alone, offsets, block, empty, value, &mut is_long);
                if let (Err(error), Some(mut failed)) = (taken, lock(&failed)) {
                    *failed = Err(error);
                }
                if let (false, Some(mut long)) = (own.is_empty(), lock(&long)) {
                    long.append(&mut own);
                }
            }
        });
        drop(blocks);
        failed.into_inner().unwrap_or(Ok(()))?;
        for segment in long.into_inner().unwrap_or_default() {
            let at = segment * empty.len()..(segment + 1) * empty.len();
            let block = (segment..segment + 1, &mut output[at]);
            take(self, offsets, block, empty, value, &mut |_| false)?;
        }
        Ok(count)
    }
}

/// Of fewer items a loop is over before a kernel begins.
const FEW: usize = 32;

/// The first position of an extreme of a few items, at least one.
#[inline(always)]
fn position_of_few<T: Number>(items: &[T], extreme: Extreme) -> u64 {
    let mut best = 0;
    for (index, item) in items.iter().enumerate().skip(1) {
        let is_better = match extreme {
            Extreme::Smallest => *item < items[best],
            Extreme::Largest => *item > items[best],
        };
        if !items[best].is_nan() && (is_better || item.is_nan()) {
            best = index;
        }
    }
    best as u64
}

/// Writes the values of these segments but for those that are left out.
fn take(
    cpu: &Cpu,
    offsets: Offsets<'_>,
    (segments, output): Block<'_>,
    empty: &[u8],
    value: SegmentValue<'_>,
    is_left_out: &mut dyn FnMut(usize) -> bool,
) -> Result<()> {
    for (segment, output) in segments.zip(output.chunks_exact_mut(empty.len())) {
        let range = offsets.get(segment)..offsets.get(segment + 1);
        if range.is_empty() {
            output.copy_from_slice(empty);
        } else if !is_left_out(segment) {
            value(cpu, range, output)?;
        }
    }
    Ok(())
}

/// Where segments begin that flags or keys say, and where the last one ends.
fn offsets_of(boundaries: &Boundaries<'_>, level: Level, items: usize) -> Vec<[u8; 8]> {
    let mut offsets = vec![[0; 8]];
    let mut marks = vec![0; items.min(WINDOW) + 1];
    for start in (0..items).step_by(WINDOW) {
        let window = start..items.min(start + WINDOW);
        let marks = &mut marks[..=window.len()];
        isa::run(level, Mark { boundaries: *boundaries, window, reverse: false, marks });
        for_each(level, &marks[1..], |item| {
            offsets.push(((start + item + 1) as u64).to_le_bytes());
        });
    }
    offsets
}
