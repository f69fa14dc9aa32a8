//! How rows become blocks of columns, which are read where they lie or gathered into the cache.

use core::ops::Range;

use fearless_simd::Level;
use upsweep_core::{Element, RowAxis, Rows};

use super::kernels::Columns;
use crate::simd::strided::{SharedOutput, copy_strided};

/// Bytes of an item of all columns of a block: half a page, since each item may be on a page of its own, and lanes that the second-level
/// cache holds. A sum of 1,024 columns of 16,384 `f32` took 30 ms on two cores of a Zen 4 with 512 bytes.
const ROW_BYTES: usize = 2048;

/// Items of a block at least: of short rows there are the more.
const BLOCK_ITEMS: usize = 1 << 14;

/// The same of rows that are gathered: as many as the first-level cache holds.
const GATHERED_ITEMS: usize = 1 << 13;

/// Columns that are gathered, a multiple of which are in a block.
const GATHERED_WIDTH: usize = 64;

/// Bytes of a line of a cache.
const LINE_BYTES: usize = 64;

/// From one row of gathered columns to the next: an odd number of lines. With a power of two all rows would share a few sets of the cache.
fn pitch(width: usize, item_bytes: usize) -> usize {
    let lines = (width * item_bytes).div_ceil(LINE_BYTES) | 1;
    (lines * LINE_BYTES / item_bytes.max(1)).max(width)
}

/// Columns of a block, at least.
const LEAST_WIDTH: usize = 16;

/// Columns, at least, that are read where they lie.
const LEAST_COLUMNS: usize = 8;

/// Rows in blocks of neighbours on one axis, the columns.
pub(super) struct Blocks {
    /// The axis of columns, of one place if there is no axis across.
    pub(super) columns: RowAxis,
    /// The others, in whose places there are blocks.
    others: Rows,
    /// Columns of a block.
    width: usize,
    /// Items of a row.
    pub(super) items: usize,
}

/// Rows that are neighbours.
pub(super) struct Block {
    /// Where the first of them begins in the input and in the output.
    pub(super) start: [usize; 2],
    /// How many there are.
    pub(super) width: usize,
}

impl Blocks {
    /// Blocks of these rows, of items of so many bytes, so many of them if there are as many columns.
    pub(super) fn new(rows: &Rows, item_bytes: usize, wanted: usize) -> Self {
        let mut others = rows.clone();
        let near = rows.across.iter().position(|axis| axis.input == 1 && axis.len >= LEAST_COLUMNS);
        let longest = (0..rows.across.len()).max_by_key(|&axis| rows.across[axis].len);
        let columns = match near.or(longest) {
            Some(axis) => others.across.remove(axis),
            None => RowAxis { len: 1, input: 1, output: 1 },
        };
        let items = rows.items();
        let width = if columns.input == 1 && rows.step().is_some() {
            (ROW_BYTES / item_bytes.max(1)).max(BLOCK_ITEMS / items.max(1))
        } else {
            (GATHERED_ITEMS / items.max(1)).next_multiple_of(GATHERED_WIDTH)
        };
        let each = columns.len.div_ceil(wanted.div_ceil(others.count().max(1)).max(1));
        let width = width.min(each.next_multiple_of(LEAST_WIDTH)).max(LEAST_WIDTH);
        Self { columns, others, width, items }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.others.count() * self.columns.len.div_ceil(self.width)
    }

    /// The block of this number.
    pub(super) fn block(&self, number: usize) -> Block {
        let blocks = self.columns.len.div_ceil(self.width);
        let [input, output] = self.others.row(number / blocks);
        let first = number % blocks * self.width;
        let along =
            |start: usize, stride: isize| start.wrapping_add_signed(stride * first as isize);
        let start = [along(input, self.columns.input), along(output, self.columns.output)];
        Block { start, width: self.width.min(self.columns.len - first) }
    }

    /// Most columns of a block.
    pub(super) fn most_columns(&self) -> usize {
        self.width.min(self.columns.len)
    }

    /// Items of these numbers of all rows of a block: where they are, or gathered into `buffer`.
    pub(super) fn columns<'a, T: Element>(
        &self,
        level: Level,
        items: &'a [T],
        block: &Block,
        range: Range<usize>,
        buffer: &'a mut Vec<T>,
    ) -> Columns<'a, T> {
        let (width, len) = (block.width, range.len());
        if let (1, Some([stride, _])) = (self.columns.input, self.others.step()) {
            let first = block.start[0].wrapping_add_signed(stride * range.start as isize);
            return Columns { items, first, stride, len, width };
        }
        let pitch = pitch(width, size_of::<T>());
        // It grows once.
        buffer.resize(buffer.len().max(pitch * len), items[block.start[0]]);
        let gathered = SharedOutput::new(buffer);
        let columns = RowAxis { len: width, input: self.columns.input, output: 1 };
        for run in self.runs(range.clone()) {
            let [from, _] = self.others.item(run.start);
            let start =
                [block.start[0].wrapping_add_signed(from), (run.start - range.start) * pitch];
            let step = self.others.along.last().map_or(0, |axis| axis.input);
            let along = RowAxis { len: run.len(), input: step, output: pitch as isize };
            // SAFETY: the buffer is this thread's, and has a place for each item.
            unsafe { copy_strided(level, items, &gathered, &[along, columns], start) };
        }
        Columns { items: buffer, first: 0, stride: pitch as isize, len, width }
    }

    /// Writes items of these numbers of all rows of a block, which lie in `values` as columns.
    ///
    /// # Safety
    /// Nobody else has the block's places of the output.
    pub(super) unsafe fn write<U: Element>(
        &self,
        level: Level,
        values: &[U],
        block: &Block,
        range: Range<usize>,
        output: &SharedOutput<'_, U>,
    ) {
        let columns = RowAxis { len: block.width, input: 1, output: self.columns.output };
        for run in self.runs(range.clone()) {
            let [_, to] = self.others.item(run.start);
            let start =
                [(run.start - range.start) * block.width, block.start[1].wrapping_add_signed(to)];
            let step = self.others.along.last().map_or(0, |axis| axis.output);
            let width = block.width as isize;
            // Without gaps it is one copy.
            let axes = if columns.output == 1 && step == width {
                let len = run.len() * block.width;
                [RowAxis { len: 1, input: 0, output: 0 }, RowAxis { len, ..columns }]
            } else {
                [RowAxis { len: run.len(), input: width, output: step }, columns]
            };
            // SAFETY: the caller's.
            unsafe { copy_strided(level, values, output, &axes, start) };
        }
    }

    /// Pieces of a range of a row's items that lie on one place of all but its last axis.
    fn runs(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let inner = self.others.along.last().map_or(usize::MAX, |axis| axis.len.max(1));
        let Range { start, end } = range;
        let mut next = start;
        core::iter::from_fn(move || {
            let start = next;
            next = end.min((start / inner).saturating_add(1).saturating_mul(inner));
            (start < end).then_some(start..next)
        })
    }
}
