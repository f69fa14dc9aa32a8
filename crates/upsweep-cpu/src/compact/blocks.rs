//! Blocks on threads, each of which knows how many items are kept in front of its block.
//!
//! ```text
//!   items    ├──────── block ────────┼──────── block ────────┼─ …     a thread takes one after another
//!   masks    ├─ piece ─┼─ piece ─┼─ …                                 64 items a word
//!   staged   ├ kept ┼ kept ┼ …                                        in the thread's own cache
//!   output                ├ kept of the block ┤                       where the totals of all blocks before say
//! ```
//! A thread marks a piece and compacts it into its own memory, while the piece is in its first-level cache; says how many items of the block
//! are kept; learns from the [totals](crate::scan::totals) how many are in front; and copies the block to its place, exactly. So memory is
//! read once and written once, and nobody writes what belongs to another.
//!
//! That also holds in place: a thread copies when all blocks up to its own are staged, and what it writes lies in these. A thread that is
//! alone knows where items go, and compacts them there.

use core::ops::Range;

use fearless_simd::Level;

use super::columns::{Column, Part};
use super::marks::Marks;
use crate::device::ExecutionContext;
use crate::scan::blocks::Numbers;
use crate::scan::totals::Totals;
use crate::simd::compress::GROUP;
use crate::simd::stream::{self, fence};
use crate::team::MOST_BLOCKS;

/// Items that are marked at once: few enough that they stay in a first-level cache until they are compacted.
const PIECE: usize = 1024;

/// Columns at most.
const COLUMNS: usize = 2;

/// Bytes of a block's output from which on it pays to write past the caches: what its first and last line have in common with its neighbours is
/// written by ordinary stores.
const LEAST_PAST: usize = 1 << 12;

/// Blocks for each thread, so that one that was late leaves its part to others, and their bytes at least: those of scans.
const BLOCKS_OF_A_THREAD: usize = 4;
const LEAST_BLOCK: usize = 1 << 14;

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

/// What is known after some first blocks, or of one of them.
#[derive(Clone, Copy)]
struct Progress {
    /// Items that are kept.
    kept: usize,
    /// The number of the last of them.
    last: usize,
}

impl Progress {
    const NOTHING: Self = Self { kept: 0, last: 0 };

    fn and(self, block: Self) -> Self {
        let last = if block.kept > 0 { block.last } else { self.last };
        Self { kept: self.kept + block.kept, last }
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
    let blocks = work.items.div_ceil(block);
    let place = |number: usize| number * block..work.items.min((number + 1) * block);
    let team = context.team.at_most(blocks);
    let is_past = |column: &Column<'_>| {
        let bytes = work.items.saturating_mul(column.item_bytes);
        work.streaming
            && !work.in_place
            && column.all_bytes
            && column.part != Part::Lengths
            && cfg!(target_arch = "x86_64")
            && bytes >= context.policy.streaming_bytes
    };
    let mut past = [false; COLUMNS];
    past.iter_mut().zip(work.columns).for_each(|(past, column)| *past = is_past(column));
    let alone = team.threads() <= 1;
    let new = || Worker::new(work, context.level, alone, past, block);
    let last = if alone {
        let mut worker = new();
        let mut before = Progress::NOTHING;
        for number in 0..blocks {
            let own = worker.stage(place(number), before);
            let next = (number + 1 < blocks).then(|| place(number + 1));
            worker.write(place(number), before, own, next);
            before = before.and(own);
        }
        fence();
        before
    } else {
        let numbers = Numbers::below(blocks);
        let fetches = past.contains(&true);
        Totals::new(team, Progress::NOTHING, Progress::and).on_threads(&|seen| {
            let mut worker = new();
            let mut next = numbers.take();
            while let Some(number) = next.take() {
                let own = worker.stage(place(number), Progress::NOTHING);
                // SAFETY: a number is taken once.
                let Some(before) = (unsafe { seen.enter(number, own) }) else { break };
                // As in a scan: who is late and does not fetch must not have the next block.
                if fetches {
                    next = numbers.take();
                }
                worker.write(place(number), before, own, next.map(place));
                if !fetches {
                    next = numbers.take();
                }
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

/// Items of a block, whole groups of them: as many as a block of a scan has, and fewer so that all threads have some.
fn block_items(context: &ExecutionContext<'_>, items: usize, item_bytes: usize) -> usize {
    let most = context.policy.scan_block_bytes;
    let few = items.saturating_mul(item_bytes) / (context.team.threads() * BLOCKS_OF_A_THREAD);
    let bytes = few.clamp(LEAST_BLOCK.min(most), most);
    (bytes / item_bytes).next_multiple_of(GROUP).max(GROUP)
}

/// How many items are kept.
#[inline(never)]
pub(super) fn count(
    context: &ExecutionContext<'_>,
    items: usize,
    bytes: usize,
    marks: &dyn Marks,
) -> usize {
    let count = |range: Range<usize>| {
        let mut count = 0;
        for start in range.clone().step_by(PIECE) {
            let piece = start..range.end.min(start + PIECE);
            let mut masks = [0; PIECE / GROUP];
            let masks = &mut masks[..piece.len().div_ceil(GROUP)];
            // SAFETY: there are as many masks as groups, and nothing is stored.
            unsafe { marks.mark(piece, masks, core::ptr::null_mut()) };
            count += ones(masks);
        }
        count
    };
    let item_bytes = (bytes / items.max(1)).max(1);
    let block = (context.block_bytes(bytes) / item_bytes).max(items.div_ceil(MOST_BLOCKS));
    let block = block.next_multiple_of(PIECE).max(PIECE);
    let mut total = 0;
    context.team.fold(
        items.div_ceil(block),
        |number| count(number * block..items.min((number + 1) * block)),
        |count| total += count,
    );
    total
}

fn ones(masks: &[u64]) -> usize {
    masks.iter().map(|mask| mask.count_ones() as usize).sum()
}

/// What a thread needs for one block after another.
struct Worker<'a> {
    work: &'a Compaction<'a>,
    level: Level,
    /// Which columns are written past the caches.
    past: [bool; COLUMNS],
    /// Which columns are compacted into their place.
    direct: [bool; COLUMNS],
    /// A piece of items that are made.
    made: Lines,
    /// For each other column a block of it.
    staged: [Lines; COLUMNS],
}

impl<'a> Worker<'a> {
    fn new(
        work: &'a Compaction<'a>,
        level: Level,
        alone: bool,
        past: [bool; COLUMNS],
        block: usize,
    ) -> Self {
        // Whole vectors reach beyond what is kept: not where other items are already, and not over items that others are compared with.
        let direct = alone
            && !(work.in_place && work.marks.reads_items())
            && work.columns.iter().all(|column| column.part == Part::Kept);
        let direct = past.map(|past| direct && !past);
        let block = block.min(work.items);
        let staged = core::array::from_fn(|k| match work.columns.get(k) {
            Some(column) if !direct[k] => Lines::new(column.item_bytes * block),
            _ => Lines::new(0),
        });
        let made = Lines::new(work.made_bytes * block.min(PIECE));
        Self { work, level, past, direct, made, staged }
    }

    /// Compacts a block, in front of which so much is known if a column goes to its place. Gives what is known of the block.
    fn stage(&mut self, block: Range<usize>, before: Progress) -> Progress {
        let work = self.work;
        let mut own = Progress::NOTHING;
        let (mut masks, mut others) = ([0; PIECE / GROUP], [0; PIECE / GROUP]);
        for start in block.clone().step_by(PIECE) {
            let piece = start..block.end.min(start + PIECE);
            let items = piece.len();
            let masks = &mut masks[..items.div_ceil(GROUP)];
            let made = self.made.start();
            // SAFETY: there are as many masks as groups, and room for as many items that are made.
            unsafe { work.marks.mark(piece, masks, made) };
            for (k, column) in work.columns.iter().enumerate() {
                let (first, masks, done) = match column.part {
                    _ if self.direct[k] => (column.output, &*masks, before.kept + own.kept),
                    Part::Rest { .. } => {
                        let others = invert(masks, &mut others, items);
                        (self.staged[k].start(), others, start - block.start - own.kept)
                    }
                    _ => (self.staged[k].start(), &*masks, own.kept),
                };
                let to = first.wrapping_add(done * column.item_bytes);
                // SAFETY: behind what comes from the items in front there is room for all items of the piece: an output has a place for
                // each item, and what is staged for each of a block. The instructions of the level are there.
                unsafe { column.compact(masks, start, items, made, to) };
            }
            if let Some(last) = masks.iter().rposition(|mask| *mask != 0) {
                own.last = start + last * GROUP + masks[last].ilog2() as usize;
                own.kept += ones(masks);
            }
        }
        own
    }

    /// Copies what is staged of a block, of which and in front of which so much is known, and fetches items of the block that is next.
    fn write(
        &mut self,
        block: Range<usize>,
        before: Progress,
        own: Progress,
        next: Option<Range<usize>>,
    ) {
        let work = self.work;
        let is_moved = before.kept < block.start || own.kept < block.len();
        for (k, column) in work.columns.iter().enumerate() {
            if self.direct[k] || (work.in_place && !is_moved) {
                continue;
            }
            let from = self.staged[k].start().cast_const();
            let (first, items) = match column.part {
                Part::Kept => (before.kept, own.kept),
                Part::Rest { border } => {
                    (border + block.start - before.kept, block.len() - own.kept)
                }
                Part::Lengths => {
                    // SAFETY: as many runs begin in the block, and have a place in the output.
                    unsafe { column.write_lengths(from, own.kept, before.kept, before.last) };
                    continue;
                }
            };
            let bytes = items * column.item_bytes;
            let to = column.output.wrapping_add(first * column.item_bytes);
            // SAFETY: as many items are staged. They have their places in the output, which no other block has, and of which in place all
            // items have been staged. Those that are written past the caches have no padding.
            unsafe {
                if self.past[k] && bytes >= LEAST_PAST {
                    let ahead = column.items(next.clone().unwrap_or_default());
                    let from = core::slice::from_raw_parts(from, bytes);
                    stream::write_past(self.level, from, to, ahead);
                } else {
                    to.copy_from_nonoverlapping(from, bytes);
                }
            }
        }
    }
}

/// The masks of all other items.
fn invert<'a>(masks: &[u64], others: &'a mut [u64], items: usize) -> &'a [u64] {
    let others = &mut others[..masks.len()];
    others.iter_mut().zip(masks).for_each(|(other, mask)| *other = !mask);
    if let (Some(last), beyond @ 1..) = (others.last_mut(), masks.len() * GROUP - items) {
        *last &= u64::MAX >> beyond;
    }
    others
}
