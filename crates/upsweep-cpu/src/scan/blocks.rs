//! The blocks of an array that several threads scan, or copy.

use core::marker::PhantomData;
use core::ops::Range;
use core::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use castaway::cast;
use upsweep_core::Direction;

use super::range::Source;

/// A block of items to scan.
pub(crate) struct Block<'a, T, U> {
    pub(crate) source: Source<'a, T>,
    pub(crate) output: &'a mut [U],
}

/// The numbers of blocks, for threads to take.
///
/// They are handed out by one addition. Behind a lock on what is left, sixteen threads of a Xeon took some 1 us for each block, whatever
/// its size: 4 MiB by blocks of 16 KiB 285 to 334 us, and without it 71 to 116 (2026-11-26, `2026-11-26-scan-totals-cpu.csv`).
pub(crate) struct Numbers {
    /// The number that is taken next.
    next: AtomicUsize,
    count: usize,
}

impl Numbers {
    /// All below `count`.
    pub(crate) fn below(count: usize) -> Self {
        Self { next: AtomicUsize::new(0), count }
    }

    /// Takes the next number: each is given out once, since a thread stops at the first that is too high, long before they begin again.
    pub(crate) fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }
}

/// All blocks of an array.
pub(crate) struct Blocks<'a, T, U> {
    source: Source<'a, T>,
    output: *mut U,
    items: usize,
    block_items: usize,
    direction: Direction,
    of: PhantomData<&'a mut [U]>,
}

// SAFETY: threads share the input, and each item of the output goes to one of them. Of a scan in place others may look at it before: `block` and
// `look` say when.
unsafe impl<T: Sync, U: Send> Sync for Blocks<'_, T, U> {}

impl<'a, T, U> Blocks<'a, T, U> {
    /// Blocks of `block_items` items, of which the last has what is left.
    pub(crate) fn new(
        source: Source<'a, T>,
        output: &'a mut [U],
        block_items: usize,
        direction: Direction,
    ) -> Self {
        Self {
            source,
            items: output.len(),
            output: output.as_mut_ptr(),
            block_items,
            direction,
            of: PhantomData,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.items.div_ceil(self.block_items)
    }

    /// A block, counted from the end that the scan starts at.
    ///
    /// # Safety
    /// Nobody has this block, or looks at its items, at the same time.
    pub(crate) unsafe fn block(&self, index: usize) -> Block<'a, T, U> {
        let place = self.place(index);
        let source = match self.source {
            Source::InPlace => Source::InPlace,
            Source::Separate(all) => Source::Separate(&all[place.clone()]),
        };
        // SAFETY: it is within the output, which is borrowed for `'a`, and no other block has an item of it.
        let output =
            unsafe { slice::from_raw_parts_mut(self.output.add(place.start), place.len()) };
        Block { source, output }
    }

    /// The items of a block, if they do not lie in the output; else none.
    pub(crate) fn separate(&self, index: usize) -> &'a [T] {
        match self.source {
            Source::InPlace => &[],
            Source::Separate(all) => &all[self.place(index)],
        }
    }

    /// Calls `work` with the items of a block before it is scanned.
    ///
    /// # Safety
    /// Nobody has this block at the same time.
    pub(crate) unsafe fn look<R>(&self, index: usize, work: impl FnOnce(&[T]) -> R) -> R
    where
        T: 'static,
        U: 'static,
    {
        let place = self.place(index);
        match self.source {
            Source::InPlace => {
                let start = self.output.wrapping_add(place.start);
                // SAFETY: it is within the output, and nobody has the block; others may look at it too.
                let output = unsafe { slice::from_raw_parts(start, place.len()) };
                work(items_of(Source::InPlace, output))
            }
            Source::Separate(all) => work(&all[place]),
        }
    }

    /// Where a block is.
    fn place(&self, index: usize) -> Range<usize> {
        let before = index * self.block_items;
        assert!(before < self.items, "there are {} blocks", self.count());
        let items = self.block_items.min(self.items - before);
        match self.direction {
            Direction::Forward => before..before + items,
            Direction::Reverse => self.items - before - items..self.items - before,
        }
    }
}

/// The items of a block before it is scanned.
pub(crate) fn items_of<'a, T: 'static, U: 'static>(
    source: Source<'a, T>,
    output: &'a [U],
) -> &'a [T] {
    match source {
        Source::Separate(items) => items,
        Source::InPlace => match cast!(output, &[T]) {
            Ok(items) => items,
            Err(_) => unreachable!("a scan in place has one type of items"),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_block_is_looked_at_and_then_scanned() {
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut output: Vec<usize> = (0..25).collect();
            let blocks = Blocks::new(Source::InPlace, &mut output, 10, direction);
            let starts = match direction {
                Direction::Forward => [0, 10, 20],
                Direction::Reverse => [15, 5, 0],
            };
            assert_eq!(blocks.count(), starts.len());
            for (index, start) in starts.into_iter().enumerate() {
                // SAFETY: nobody has a block.
                let looked = unsafe { blocks.look(index, <[usize]>::to_vec) };
                // SAFETY: each is taken once, and nobody looks at it.
                let block = unsafe { blocks.block(index) };
                assert_eq!((looked[0], looked.len()), (start, block.output.len()));
                assert_eq!(block.output, looked);
            }
        }
    }

    #[test]
    fn every_item_is_in_one_block() {
        for direction in [Direction::Forward, Direction::Reverse] {
            for items in [0, 1, 9, 10, 11, 1_000] {
                let input: Vec<usize> = (0..items).collect();
                let mut output = vec![None; items];
                let blocks = Blocks::new(Source::Separate(&input), &mut output, 10, direction);
                let numbers = Numbers::below(blocks.count());
                thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            while let Some(number) = numbers.take() {
                                // SAFETY: a number is taken once.
                                let block = unsafe { blocks.block(number) };
                                let Block { source, output } = block;
                                for (place, &item) in output.iter_mut().zip(items_of(source, &[0]))
                                {
                                    assert!(place.replace((number, item)).is_none());
                                }
                            }
                        });
                    }
                });
                for (item, place) in output.into_iter().enumerate() {
                    let from_start = match direction {
                        Direction::Forward => item,
                        Direction::Reverse => items - 1 - item,
                    };
                    assert_eq!(place, Some((from_start / 10, item)), "of {items}");
                }
            }
        }
    }
}
