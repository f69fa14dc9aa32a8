//! Blocks on threads, each of which knows how many items are kept in front of its block.
//!
//! ```text
//!   items    ├──────── block ────────┼──────── block ────────┼─ …     a thread takes one after another
//!   masks    ├─ piece ─┼─ piece ─┼─ …                                 64 items a word
//!   output                ├ kept of the block ┤                       where the totals of all blocks before say
//! ```
//! A thread marks a block; says how many of its items are kept; learns from the [totals](crate::scan::totals) how many are in front; and compacts
//! the block, a piece after another, to its place. So memory is read once and written once: flags and items that are compared or made
//! are read with the masks, and wait in the thread's own cache; items that are selected by flags are read as the output is written.
//!
//! Whole vectors are stored as long as they stay in the part of the output that belongs to the block. Its end, and what goes past the caches,
//! is first *staged* in memory of the thread's own. Items that are made, or are moved within their array, are staged block by block before
//! totals are shown: what is written of a block lies in it and those in front, all of which have then been read.
//!
//! A thread that is alone knows where items go. Its blocks are pieces, so that memory reads and writes at the same time: `f32` that are copied by way
//! of a thread's own memory take 0.33 ns each in pieces of up to 2 KiB, 0.37 in those of 4, and 0.55 by 32 (one thread of a Zen 4,
//! 2026-11-27). It does not write past the caches, which several threads do to leave more of memory's speed to each other: of `u32` by
//! flags it takes 0.29 ns if half of them are kept and 0.40 if all are, and past the caches 0.32 and 0.43.

use core::ops::Range;

use fearless_simd::Level;
use upsweep_core::Direction;

use super::columns::{Column, Part};
use super::marks::{Marks, PIECE};
use crate::device::ExecutionContext;
use crate::scan::blocks::Numbers;
use crate::scan::totals::Totals;
use crate::simd::compress::{GROUP, OVERRUN};
use crate::simd::stream::{Prefetch, StreamingOutput, fence};
use crate::team::MOST_BLOCKS;

/// Columns at most.
const COLUMNS: usize = 3;

/// Bytes of a block's output from which on it pays to write past the caches: what its first and last line have in common with its neighbours is
/// written by ordinary stores.
const LEAST_PAST: usize = 1 << 12;

/// Blocks for each thread, so that one that was late leaves its part to others, and their bytes at least: those of scans.
const BLOCKS_OF_A_THREAD: usize = 4;
const LEAST_BLOCK: usize = 1 << 14;

/// A block has at most the bytes of so many blocks of a reduction. Handing totals on, and beginning to read and to write anew, takes some 2 us for
/// each: two threads of a Zen 4 take 0.366 ns for a `u32` by flags of which half are kept with blocks of 32 KiB, 0.258 with 128, and for
/// each of 2^26 of them 0.154 with 1 MiB and 0.152 with 2; of items that are made 0.180 and 0.151; with 4 and 8 MiB the same (2026-11-27).
pub(super) const BLOCKS_OF_REDUCTIONS: usize = 8;

/// What is compacted.
pub(super) struct Compaction<'a> {
    /// How many items there are.
    pub(super) items: usize,
    pub(super) marks: &'a dyn Marks,
    /// At most [`COLUMNS`].
    pub(super) columns: &'a [Column<'a>],
    /// Bytes of an item that is made, or 0.
    pub(super) made_bytes: usize,
    /// Whether the output is the array that items come from.
    pub(super) in_place: bool,
    /// Whether outputs of enough bytes may be written past the caches.
    pub(super) streaming: bool,
}

impl Compaction<'_> {
    /// Where others begin behind those that are kept, if they do.
    fn border(&self) -> Option<usize> {
        self.columns.iter().find_map(|column| match column.part {
            Part::Second { first: border, .. } | Part::Rest { border } => Some(border),
            _ => None,
        })
    }

    /// Whether there is a second part between those that are kept and the rest.
    fn has_second(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.part, Part::Second { .. }))
    }
}

/// What is known after some first blocks, or of one of them.
#[derive(Clone, Copy)]
struct Progress {
    /// Items that are kept.
    kept: usize,
    /// Items of the second part, if there is one.
    second: usize,
    /// The number of the last item that is kept.
    last: usize,
}

impl Progress {
    const NOTHING: Self = Self { kept: 0, second: 0, last: 0 };

    fn and(self, block: Self) -> Self {
        let last = if block.kept > 0 { block.last } else { self.last };
        Self { kept: self.kept + block.kept, second: self.second + block.second, last }
    }
}

/// Memory of a thread's own, aligned to lines.
struct Lines(Vec<Line>);

#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "only its place is used")] [u8; 64]);

impl Lines {
    fn new(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes.div_ceil(size_of::<Line>())))
    }

    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Compacts all items. Gives how many are kept.
#[inline(never)]
pub(super) fn compact(context: &ExecutionContext<'_>, work: &Compaction<'_>) -> usize {
    let widest = work.columns.iter().map(|column| column.item_bytes).max();
    let widest = widest.unwrap_or(0).max(work.made_bytes).max(1);
    let block = block_items(context, work.items, widest);
    let team = context.team.at_most(work.items.div_ceil(block));
    let alone = team.threads() <= 1;
    let block = if alone { PIECE } else { block };
    let blocks = work.items.div_ceil(block);
    let place = |number: usize| number * block..work.items.min((number + 1) * block);
    let new = || Worker::new(context, work, alone, block);
    let last = if alone {
        let mut worker = new();
        let mut before = Progress::NOTHING;
        for number in 0..blocks {
            let own = worker.look(place(number));
            worker.write(place(number), before, own);
            before = before.and(own);
        }
        before
    } else {
        let numbers = Numbers::below(blocks);
        Totals::new(team, Progress::NOTHING, Progress::and).on_threads(&|seen| {
            let mut worker = new();
            while let Some(number) = numbers.take() {
                let own = worker.look(place(number));
                // SAFETY: a number is taken once.
                let Some(before) = (unsafe { seen.enter(number, own) }) else { break };
                worker.write(place(number), before, own);
            }
            fence();
        })
    };
    for column in work.columns.iter().filter(|column| column.part == Part::Lengths) {
        if let Some(run) = last.kept.checked_sub(1) {
            // SAFETY: the last run has a place in the output.
            unsafe { column.write_last_length(run, work.items - last.last) };
        }
    }
    last.kept
}

/// Items of a block, whole groups of them: as many as blocks of reductions have, and fewer so that all threads have some.
fn block_items(context: &ExecutionContext<'_>, items: usize, item_bytes: usize) -> usize {
    let most = context.policy.block_bytes.saturating_mul(BLOCKS_OF_REDUCTIONS);
    let few = items.saturating_mul(item_bytes) / (context.team.threads() * BLOCKS_OF_A_THREAD);
    let bytes = few.clamp(LEAST_BLOCK.min(most), most);
    (bytes / item_bytes).next_multiple_of(GROUP).max(GROUP)
}

/// How many items are kept, and how many are of the second part, which are counted only if `has_second`.
#[inline(never)]
pub(super) fn count(
    context: &ExecutionContext<'_>,
    items: usize,
    bytes: usize,
    marks: &dyn Marks,
    has_second: bool,
) -> [usize; 2] {
    let count = |range: Range<usize>| {
        let mut count = [0; 2];
        for start in range.clone().step_by(PIECE) {
            let piece = start..range.end.min(start + PIECE);
            let (mut masks, mut seconds) = ([0; PIECE / GROUP], [0; PIECE / GROUP]);
            let groups = piece.len().div_ceil(GROUP);
            let masks = &mut masks[..groups];
            // SAFETY: there are as many masks as groups, and nothing is stored.
            unsafe { marks.mark(piece.clone(), masks, core::ptr::null_mut()) };
            count[0] += ones(masks);
            if has_second {
                let seconds = &mut seconds[..groups];
                // SAFETY: there are as many masks as groups.
                unsafe { mark_second(marks, piece, masks, seconds) };
                count[1] += ones(seconds);
            }
        }
        count
    };
    let item_bytes = (bytes / items.max(1)).max(1);
    let block = (context.block_bytes(bytes) / item_bytes).max(items.div_ceil(MOST_BLOCKS));
    let block = block.next_multiple_of(PIECE).max(PIECE);
    let mut total = [0; 2];
    context.team.fold(
        items.div_ceil(block),
        |number| count(number * block..items.min((number + 1) * block)),
        |count| total = [total[0] + count[0], total[1] + count[1]],
    );
    total
}

/// Marks the items of the second part of a piece: those that the second function or flag says, without those that are kept.
///
/// # Safety
/// That of [`Marks::mark_second`]. There are as many masks of those that are kept.
unsafe fn mark_second(marks: &dyn Marks, piece: Range<usize>, kept: &[u64], seconds: &mut [u64]) {
    // SAFETY: the caller's.
    unsafe { marks.mark_second(piece, seconds) };
    seconds.iter_mut().zip(kept).for_each(|(second, kept)| *second &= !kept);
}

fn ones(masks: &[u64]) -> usize {
    masks.iter().map(|mask| mask.count_ones() as usize).sum()
}

/// What a thread needs for one block after another.
struct Worker<'a> {
    work: &'a Compaction<'a>,
    level: Level,
    /// Whether no other thread writes.
    alone: bool,
    /// Whether numbers of last items are wanted.
    lengths: bool,
    /// Whether there is a second part.
    has_second: bool,
    /// Which columns are written past the caches.
    past: [bool; COLUMNS],
    /// Which columns are staged before totals are shown.
    early: [bool; COLUMNS],
    /// Those of a block.
    masks: Vec<u64>,
    /// Those of the second part, if there is one.
    seconds: Vec<u64>,
    /// A piece of items that are made.
    made: Lines,
    /// For each column a block of it, if it is staged early, or else a piece.
    staged: [Lines; COLUMNS],
}

/// A part of an output.
#[derive(Clone, Copy)]
struct Region {
    /// The number of its first item.
    first: usize,
    /// How many items are written.
    items: usize,
    /// Up to which item anything may be written, by what comes later, too.
    end: usize,
}

impl<'a> Worker<'a> {
    fn new(
        context: &ExecutionContext<'_>,
        work: &'a Compaction<'a>,
        alone: bool,
        block: usize,
    ) -> Self {
        let block = block.min(work.items);
        let is_past = |column: &Column<'_>| {
            cfg!(target_arch = "x86_64")
                && !alone
                && work.streaming
                && !work.in_place
                && column.all_bytes
                && column.part != Part::Lengths
                && work.items.saturating_mul(column.item_bytes) >= context.policy.streaming_bytes
        };
        let is_early = |column: &Column<'_>| {
            column.part == Part::Lengths || (!alone && (work.in_place || work.made_bytes > 0))
        };
        let (mut past, mut early) = ([false; COLUMNS], [false; COLUMNS]);
        let mut staged = [const { Lines(Vec::new()) }; COLUMNS];
        for (k, column) in work.columns.iter().enumerate() {
            (past[k], early[k]) = (is_past(column), is_early(column));
            let items = if early[k] { block } else { block.min(PIECE) };
            staged[k] = Lines::new(column.item_bytes * items);
        }
        let (groups, has_second) = (block.div_ceil(GROUP), work.has_second());
        Self {
            work,
            level: context.level,
            alone,
            has_second,
            lengths: work.columns.iter().any(|column| column.part == Part::Lengths),
            past,
            early,
            masks: vec![0; groups],
            seconds: vec![0; if has_second { groups } else { 0 }],
            made: Lines::new(work.made_bytes * block.min(PIECE)),
            staged,
        }
    }

    /// Marks a block, and stages what must be. Gives what is known of the block.
    fn look(&mut self, block: Range<usize>) -> Progress {
        let work = self.work;
        let mut own = Progress::NOTHING;
        let pieces = block.clone().step_by(PIECE).zip(self.masks.chunks_mut(PIECE / GROUP));
        for (start, masks) in pieces {
            let piece = start..block.end.min(start + PIECE);
            let items = piece.len();
            let groups = items.div_ceil(GROUP);
            let masks = &mut masks[..groups];
            let made = self.made.start();
            // SAFETY: there are as many masks as groups, and room for as many items that are made.
            unsafe { work.marks.mark(piece.clone(), masks, made) };
            let seconds: &[u64] = if self.has_second {
                let seconds = &mut self.seconds[(start - block.start) / GROUP..][..groups];
                // SAFETY: there are as many masks as groups.
                unsafe { mark_second(work.marks, piece, masks, seconds) };
                seconds
            } else {
                &[]
            };
            for (k, column) in work.columns.iter().enumerate().filter(|(k, _)| self.early[*k]) {
                let mut others = [0; PIECE / GROUP];
                let done = match column.part {
                    Part::Second { .. } => own.second,
                    Part::Rest { .. } => start - block.start - own.kept - own.second,
                    _ => own.kept,
                };
                let masks = masks_of(column.part, (&*masks, seconds), &mut others, items);
                let to = self.staged[k].start().wrapping_add(done * column.item_bytes);
                // SAFETY: there is room for each item of the block. The instructions of the level are there.
                unsafe { column.compact(masks, start, items, made, to) };
            }
            own.kept += ones(masks);
            own.second += ones(seconds);
            if self.lengths
                && let Some(last) = masks.iter().rposition(|mask| *mask != 0)
            {
                own.last = start + last * GROUP + masks[last].ilog2() as usize;
            }
        }
        own
    }

    /// Writes a block to its place, of which and in front of which so much is known.
    fn write(&mut self, block: Range<usize>, before: Progress, own: Progress) {
        let work = self.work;
        let border = work.border();
        let is_moved = before.kept < block.start || own.kept < block.len();
        if (border.is_none() && own.kept == 0) || (work.in_place && !is_moved) {
            return;
        }
        for (k, column) in work.columns.iter().enumerate() {
            let staged = self.staged[k].start();
            let (first, items, end) = match column.part {
                Part::Kept => (before.kept, own.kept, border.unwrap_or(work.items)),
                Part::Second { first, end } => (first + before.second, own.second, end),
                Part::Rest { border } => {
                    let in_front = before.kept + before.second;
                    let items = block.len() - own.kept - own.second;
                    (border + block.start - in_front, items, work.items)
                }
                Part::Lengths => {
                    // SAFETY: as many runs begin in the block, and have a place in the output.
                    unsafe { column.write_lengths(staged, own.kept, before.kept, before.last) };
                    continue;
                }
            };
            // A function may say of an item one thing when others are counted, and then another.
            assert!(first + items <= end, "a function of a partition changes its mind");
            // Items that others are compared with must stay.
            let exact = !self.alone || (work.in_place && work.marks.reads_items());
            let region = Region { first, items, end: if exact { first + items } else { end } };
            let is_past = self.past[k] && items * column.item_bytes >= LEAST_PAST;
            // SAFETY: the block's part of the output has all its items.
            let lines = is_past.then(|| unsafe { lines_of(column, region, self.level) });
            let mut sink = Sink { column, region, level: self.level, lines };
            if self.early[k] {
                // SAFETY: as many items are staged.
                unsafe { sink.copy(staged, items) };
            } else {
                let made = self.made.start();
                // SAFETY: those are the masks of the block, and there is room for a piece.
                unsafe { sink.compact((&self.masks, &self.seconds), block.clone(), made, staged) };
            }
            sink.lines.into_iter().for_each(StreamingOutput::finish);
        }
    }
}

/// A part of an output as lines past the caches.
///
/// # Safety
/// Nobody else writes there, and items have no padding.
unsafe fn lines_of<'a>(column: &Column<'a>, region: Region, level: Level) -> StreamingOutput<'a> {
    let Region { first, items, .. } = region;
    let start = column.output.wrapping_add(first * column.item_bytes);
    // SAFETY: the caller's; the output is borrowed for `'a`.
    let bytes = unsafe { core::slice::from_raw_parts_mut(start, items * column.item_bytes) };
    StreamingOutput::new(bytes, Direction::Forward, level)
}

/// Where a block of a column goes.
struct Sink<'s, 'a> {
    column: &'s Column<'a>,
    /// What is left of the block's part of the output.
    region: Region,
    level: Level,
    lines: Option<StreamingOutput<'a>>,
}

impl Sink<'_, '_> {
    /// The next place.
    fn place(&self) -> *mut u8 {
        self.column.output.wrapping_add(self.region.first * self.column.item_bytes)
    }

    /// Copies staged items to the next place.
    ///
    /// # Safety
    /// So many items lie at `from`, and have a place that nobody else has.
    unsafe fn copy(&mut self, from: *const u8, items: usize) {
        let bytes = items * self.column.item_bytes;
        // SAFETY: the caller's; what is written past the caches has no padding.
        unsafe {
            match &mut self.lines {
                Some(lines) => {
                    let bytes = core::slice::from_raw_parts(from, bytes);
                    lines.push_at(self.level, bytes, Prefetch::new::<u8>(&[]));
                }
                None => self.place().copy_from_nonoverlapping(from, bytes),
            }
        }
        self.region.first += items;
    }

    /// Compacts a block to its place, one piece after another.
    ///
    /// # Safety
    /// As for [`Column::compact`]. The block has a place that nobody else has, and there is room for a piece at `staged`.
    unsafe fn compact(
        &mut self,
        (masks, seconds): (&[u64], &[u64]),
        block: Range<usize>,
        made: *const u8,
        staged: *mut u8,
    ) {
        for start in block.clone().step_by(PIECE) {
            let items = PIECE.min(block.end - start);
            let first = (start - block.start) / GROUP;
            let groups = first..first + items.div_ceil(GROUP);
            let masks = (&masks[groups.clone()], seconds.get(groups).unwrap_or_default());
            let mut others = [0; PIECE / GROUP];
            let masks = masks_of(self.column.part, masks, &mut others, items);
            let kept = ones(masks);
            // Nothing of the items is read.
            if kept == 0 {
                continue;
            }
            let room = self.region.end - self.region.first;
            let overrun = OVERRUN.div_ceil(self.column.item_bytes.max(1));
            // SAFETY: the caller's. Directly only if what is stored beyond the items that are kept is of the region, too.
            unsafe {
                if self.lines.is_none() && (room >= items || room >= kept + overrun) {
                    self.column.compact(masks, start, items, made, self.place());
                    self.region.first += kept;
                } else {
                    self.column.compact(masks, start, items, made, staged);
                    self.copy(staged, kept);
                }
            }
        }
    }
}

/// The masks of a column's items, given those of the items that are kept and of the second part, of which there are none if there is no such
/// part.
fn masks_of<'a>(
    part: Part,
    (masks, seconds): (&'a [u64], &'a [u64]),
    others: &'a mut [u64],
    items: usize,
) -> &'a [u64] {
    match part {
        Part::Kept | Part::Lengths => return masks,
        Part::Second { .. } => return seconds,
        Part::Rest { .. } => {}
    }
    let others = &mut others[..masks.len()];
    others.iter_mut().zip(masks).for_each(|(other, mask)| *other = !mask);
    others.iter_mut().zip(seconds).for_each(|(other, second)| *other &= !second);
    if let (Some(last), beyond @ 1..) = (others.last_mut(), masks.len() * GROUP - items) {
        *last &= u64::MAX >> beyond;
    }
    others
}
