//! What is written of the items that are kept.

use core::marker::PhantomData;
use core::ops::Sub;

use fearless_simd::Level;
use upsweep_core::{Element, Kind};

use crate::simd::compress::{
    CompactItems, CompactNumbers, PlainNumber, compact_plainly, find_items, find_numbers,
};

/// An array that is written, and where its items come from.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub(super) source: Source,
    pub(super) part: Part,
    pub(super) output: *mut u8,
    pub(super) item_bytes: usize,
    /// Whether each byte of an item may be read, so that it can be written past the caches.
    pub(super) all_bytes: bool,
    of: PhantomData<&'a mut [u8]>,
}

// SAFETY: arrays are borrowed for `'a`, and of types that threads may share and send. Each item of an output is written by one of them.
unsafe impl Sync for Column<'_> {}

/// Where the items of a column come from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// From an array.
    Array(*const u8, CompactItems),
    /// They are made.
    Made(CompactItems),
    /// They are numbers of items, of which the first has this one.
    Numbers(CompactNumbers, u64),
}

/// Which items a column has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// Those that are kept.
    Kept,
    /// Those of a second part, which has these places of the output.
    Second { first: usize, end: usize },
    /// All others, from this one of the output on.
    Rest { border: usize },
    /// For each that is kept, how many there are up to the next one.
    Lengths,
}

/// An unsigned integer that numbers of items, or counts of them, are written as: `u32` or `u64`.
pub trait ItemIndex: upsweep_core::Number + sealed::Sealed {}

impl ItemIndex for u32 {}
impl ItemIndex for u64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl<'a> Column<'a> {
    /// Items of an array. `None` as the level is for one item after another.
    pub(super) fn of_array<T: Element>(level: Option<Level>, from: *const T, to: *mut T) -> Self {
        Self::of_items(Source::Array(from.cast(), compact_items::<T>(level)), to)
    }

    /// Items that are made.
    pub(super) fn of_made<T: Element>(level: Option<Level>, output: &'a mut [T]) -> Self {
        Self::of_items(Source::Made(compact_items::<T>(level)), output.as_mut_ptr())
    }

    fn of_items<T: Element>(source: Source, to: *mut T) -> Self {
        let (all_bytes, item_bytes) = (has_all_bytes::<T>(), size_of::<T>());
        let (part, output) = (Part::Kept, to.cast());
        Self { source, part, output, item_bytes, all_bytes, of: PhantomData }
    }

    /// Numbers of items, counted from 0.
    pub(super) fn of_numbers<I: ItemIndex>(level: Option<Level>, output: &'a mut [I]) -> Self {
        Self::of_numbers_from(0, level, output)
    }

    /// Numbers of items, counted from `first`.
    pub(super) fn of_numbers_from<I: ItemIndex>(
        first: u64,
        level: Option<Level>,
        output: &'a mut [I],
    ) -> Self {
        let level = level.unwrap_or(Level::baseline());
        let compact = find_numbers(level, size_of::<I>() == size_of::<u64>());
        Self::of_items(Source::Numbers(compact, first), output.as_mut_ptr())
    }

    /// The same array, with other items.
    pub(super) fn with(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Compacts `items` items, from number `start` on.
    ///
    /// # Safety
    /// That of [`CompactItems`] and [`CompactNumbers`]. Items that are made lie at `made`.
    pub(super) unsafe fn compact(
        &self,
        masks: &[u64],
        start: usize,
        items: usize,
        made: *const u8,
        to: *mut u8,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match self.source {
                Source::Array(from, compact) => {
                    compact(masks, from.add(start * self.item_bytes), items, to);
                }
                Source::Made(compact) => compact(masks, made, items, to),
                Source::Numbers(compact, first) => {
                    compact(masks, first + start as u64, items, to);
                }
            }
        }
    }

    /// Writes how long those runs are that end where the runs of a block begin: the one in front, which began with item `last`, and all of the
    /// block but the last.
    ///
    /// # Safety
    /// `count` runs begin in the block, at the numbers that lie at `starts`, behind `before` others; the output has a place for each.
    pub(super) unsafe fn write_lengths(
        &self,
        starts: *const u8,
        count: usize,
        before: usize,
        last: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match self.item_bytes {
                4 => lengths::<u32>(starts.cast(), count, before, last, self.output.cast()),
                _ => lengths::<u64>(starts.cast(), count, before, last, self.output.cast()),
            }
        }
    }

    /// Writes how long a run is.
    ///
    /// # Safety
    /// It has a place in the output.
    pub(super) unsafe fn write_last_length(&self, run: usize, length: usize) {
        // SAFETY: the caller's.
        unsafe {
            match self.item_bytes {
                4 => self.output.cast::<u32>().add(run).write(length as u32),
                _ => self.output.cast::<u64>().add(run).write(length as u64),
            }
        }
    }
}

fn compact_items<T: Element>(level: Option<Level>) -> CompactItems {
    let level = level.unwrap_or(Level::baseline());
    let found = if has_all_bytes::<T>() { find_items(level, size_of::<T>()) } else { None };
    found.unwrap_or(compact_plainly::<T>)
}

/// Whether all bytes of items may be read: they have no padding.
const fn has_all_bytes<T: Element>() -> bool {
    match T::KIND {
        Kind::Number(_) => true,
        Kind::Struct { fields, .. } => {
            let (mut bytes, mut field) = (0, 0);
            while field < fields.len() {
                bytes += fields[field].2.size();
                field += 1;
            }
            bytes == size_of::<T>()
        }
        _ => false,
    }
}

/// # Safety
/// That of [`Column::write_lengths`].
unsafe fn lengths<I: PlainNumber + Sub<Output = I>>(
    starts: *const I,
    count: usize,
    before: usize,
    last: usize,
    output: *mut I,
) {
    // SAFETY: the caller's.
    unsafe {
        let starts = core::slice::from_raw_parts(starts, count);
        if let (Some(&first), Some(run)) = (starts.first(), before.checked_sub(1)) {
            output.add(run).write(first - I::of(last as u64));
        }
        for (k, pair) in starts.windows(2).enumerate() {
            output.add(before + k).write(pair[1] - pair[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use upsweep_core::Indexed;

    #[test]
    fn structures_with_padding_are_not_read_by_bytes() {
        assert!(has_all_bytes::<f32>() && has_all_bytes::<Indexed<u64>>());
        assert!(!has_all_bytes::<Indexed<u8>>());
    }

    #[test]
    fn runs_end_where_the_next_ones_begin() {
        let (starts, mut output) = ([7u32, 9, 12], [0u32; 6]);
        let column = Column::of_numbers(None, &mut output);
        // SAFETY: there are three starts, and room for their runs.
        unsafe { column.write_lengths(starts.as_ptr().cast(), 3, 2, 4) };
        assert_eq!(output, [0, 3, 2, 3, 0, 0]);
        let (starts, mut output) = ([0u64, 5], [0u64; 3]);
        let column = Column::of_numbers(None, &mut output);
        // SAFETY: likewise.
        unsafe {
            column.write_lengths(starts.as_ptr().cast(), 2, 0, 0);
            column.write_last_length(1, 3);
        }
        assert_eq!(output, [5, 3, 0]);
    }
}
