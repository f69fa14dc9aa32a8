//! Compaction: what is kept of an array, in order.
//!
//! - [`marks`]: what is kept, 64 items a word: by flags, by a function, or as the first of each run.
//! - [`columns`]: what is written of it: items of an array or that are made, their numbers, lengths of runs.
//! - [`blocks`]: blocks on threads, which read memory once and write it once.
//!
//! Kernels know the size of items and no type (`simd::compress`), so that all but functions of the caller's is compiled here.

mod blocks;
mod columns;
mod marks;
#[cfg(test)]
mod tests;

use fearless_simd::Level;
use upsweep_core::segments::check_array;
use upsweep_core::{CpuPolicy, Dtype, Element, Error, Make, Number, Result, SegmentedBy, Traffic};

use crate::Cpu;
use blocks::{Compaction, compact, count};
pub use columns::ItemIndex;
use columns::{Column, Part};
use marks::{Flags, InParts, Marks, Predicate, Runs};

impl Cpu {
    /// Writes the items whose flag is true to the front of `output`, in order, and gives how many they are.
    ///
    /// A flag is true unless all its bytes are 0: −0.0 is true.
    ///
    /// # Arguments
    /// As many flags and places of the output as items. What lies in the output behind the result is anything afterwards.
    ///
    /// # Result
    /// The same with every strategy, policy and number of threads.
    ///
    /// # Cost
    /// Flags are read once, as are those pieces of 512 items of which some are kept; what is kept is written once. Each thread allocates a few KiB.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are not as many places as items; [`Error::Buffer`] for another number of flags;
    /// [`Error::NoDevice`] if the threads cannot start.
    pub fn select<T: Element, F: Number>(
        &self,
        items: &[T],
        flags: &[F],
        output: &mut [T],
    ) -> Result<usize> {
        check_lengths(items.len(), output.len())?;
        let column = Column::of_array(self.vectors(), items.as_ptr(), output.as_mut_ptr());
        self.compact_flagged::<T, F>(items.len(), flags, &[column], false)
    }

    /// As [`select`](Cpu::select), within the array. Several threads do it by blocks, of which each waits in the cache of its thread until all
    /// items before it are read.
    ///
    /// # Cost
    /// As of [`select`](Cpu::select), but each of several threads allocates a block, of at most 2 MiB.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn select_in_place<T: Element, F: Number>(
        &self,
        items: &mut [T],
        flags: &[F],
    ) -> Result<usize> {
        let all = items.as_mut_ptr();
        let column = Column::of_array(self.vectors(), all.cast_const(), all);
        self.compact_flagged::<T, F>(items.len(), flags, &[column], true)
    }

    /// Writes the numbers of the flags that are true to the front of `output`, in order, and gives how many they are.
    ///
    /// # Arguments
    /// As many places of the output as flags. What lies in the output behind the result is anything afterwards.
    ///
    /// # Cost
    /// Flags are read once, and numbers written once.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are not as many places as flags; [`Error::WrongDtype`] if there are more flags than an index of `u32`
    /// says; [`Error::NoDevice`] if the threads cannot start.
    pub fn positions<F: Number, I: ItemIndex>(
        &self,
        flags: &[F],
        output: &mut [I],
    ) -> Result<usize> {
        self.positions_from(0, flags, output)
    }

    /// As [`positions`](Cpu::positions), with numbers that are counted from `first`.
    ///
    /// # Errors
    /// Those of [`positions`](Cpu::positions).
    pub fn positions_from<F: Number, I: ItemIndex>(
        &self,
        first: u64,
        flags: &[F],
        output: &mut [I],
    ) -> Result<usize> {
        if let Some(last) = flags.len().checked_sub(1) {
            check_index::<I>(first.saturating_add(last as u64))?;
        }
        check_lengths(flags.len(), output.len())?;
        let column = Column::of_numbers_from(first, self.vectors(), output);
        self.compact_flagged::<I, F>(flags.len(), flags, &[column], false)
    }

    /// Writes the items whose flag is true to `output`, and behind them all others, both in order. Gives how many the first are.
    ///
    /// # Arguments
    /// Those of [`select`](Cpu::select); all of the output is written.
    ///
    /// # Cost
    /// Flags are read twice, first to find where the others begin; items are read once, and written once.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn partition<T: Element, F: Number>(
        &self,
        items: &[T],
        flags: &[F],
        output: &mut [T],
    ) -> Result<usize> {
        check_lengths(items.len(), output.len())?;
        check_flags(items.len(), flags.len())?;
        let marks = self.flags(flags);
        let [border, _] = self.count_marked(size_of_val(flags), items.len(), &marks, false)?;
        let kept = Column::of_array(self.vectors(), items.as_ptr(), output.as_mut_ptr());
        let columns = [kept, kept.with(Part::Rest { border })];
        self.compact_flagged::<T, F>(items.len(), flags, &columns, false)
    }

    /// Writes the items whose first flag is true to `output`; behind them those of the others whose second flag is true; and behind these the
    /// rest: each in order. Gives where the second ones and the rest begin.
    ///
    /// # Arguments
    /// Those of [`select`](Cpu::select), with as many second flags; all of the output is written.
    ///
    /// # Cost
    /// Flags are read twice, first to find where parts begin; items are read once, and written once.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn partition3<T: Element, F: Number, G: Number>(
        &self,
        items: &[T],
        first: &[F],
        second: &[G],
        output: &mut [T],
    ) -> Result<[usize; 2]> {
        let first = (bytemuck::cast_slice(first), size_of::<F>());
        let second = (bytemuck::cast_slice(second), size_of::<G>());
        self.partition3_by_bytes(items, first, second, output)
    }

    /// The same by flags as bytes, and how many bytes each of them has.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn partition3_by_bytes<T: Element>(
        &self,
        items: &[T],
        first: (&[u8], usize),
        second: (&[u8], usize),
        output: &mut [T],
    ) -> Result<[usize; 2]> {
        let len = items.len();
        check_lengths(len, output.len())?;
        let flags = |(bytes, size): (_, usize)| -> Result<Flags<'_>> {
            let bytes: &[u8] = bytes;
            check_flags(len, bytes.len() / size)?;
            Ok(Flags { level: self.vectors(), bytes, size })
        };
        let marks = InParts { first: flags(first)?, second: flags(second)? };
        let flag_bytes = first.0.len() + second.0.len();
        let counts = self.count_marked(flag_bytes, len, &marks, true)?;
        let kept = Column::of_array(self.vectors(), items.as_ptr(), output.as_mut_ptr());
        let (columns, borders) = in_parts(kept, counts);
        let (policy, bytes) = (self.policies().of::<T>(), flag_bytes + len * 2 * size_of::<T>());
        self.compact_marked(policy, bytes, len, &marks, &columns, 0, false)?;
        Ok(borders)
    }

    /// As [`select`](Cpu::select), of items that are made as they are read; those are kept of which `keep` says so.
    ///
    /// # Cost
    /// Each item is made once. On several threads what is kept of a block, of at most 2 MiB, waits in memory that its thread allocates.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn select_made<M: Make<Item: Element>>(
        &self,
        input: M,
        keep: impl Fn(M::Item) -> bool + Copy + Send + Sync,
        output: &mut [M::Item],
    ) -> Result<usize> {
        let items = input.len();
        check_lengths(items, output.len())?;
        let level = self.vectors();
        let marks = Predicate::<_, _, true> { level, input, keep };
        let columns = [Column::of_made(level, output)];
        self.compact_made::<M::Item>(items, &marks, &columns)
    }

    /// As [`positions`](Cpu::positions), of items that are made as they are read, of which `keep` says so.
    ///
    /// # Errors
    /// Those of [`positions`](Cpu::positions).
    pub fn positions_made<M: Make<Item: Element>, I: ItemIndex>(
        &self,
        input: M,
        keep: impl Fn(M::Item) -> bool + Copy + Send + Sync,
        output: &mut [I],
    ) -> Result<usize> {
        let items = input.len();
        check_index::<I>((items as u64).saturating_sub(1))?;
        check_lengths(items, output.len())?;
        let level = self.vectors();
        let marks = Predicate::<_, _, false> { level, input, keep };
        let bytes = items.saturating_mul(size_of::<M::Item>() + size_of::<I>());
        let columns = [Column::of_numbers(level, output)];
        self.compact_marked(self.policies().of::<I>(), bytes, items, &marks, &columns, 0, false)
    }

    /// As [`partition`](Cpu::partition), of items that are made as they are read, of which `keep` says so.
    ///
    /// # Cost
    /// Each item is made twice, first to find where the others begin. Several threads allocate as for [`select_made`](Cpu::select_made).
    ///
    /// # Panics
    /// If `keep` says of more items, or of fewer, at the second time.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn partition_made<M: Make<Item: Element>>(
        &self,
        input: M,
        keep: impl Fn(M::Item) -> bool + Copy + Send + Sync,
        output: &mut [M::Item],
    ) -> Result<usize> {
        let items = input.len();
        check_lengths(items, output.len())?;
        let level = self.vectors();
        let border = self.count_made(input, keep)? as usize;
        let marks = Predicate::<_, _, true> { level, input, keep };
        let kept = Column::of_made(level, output);
        let columns = [kept, kept.with(Part::Rest { border })];
        self.compact_made::<M::Item>(items, &marks, &columns)
    }

    /// As [`partition3`](Cpu::partition3), of items that are made as they are read, of which `first` and `second` say so.
    ///
    /// # Cost
    /// Each item is made four times, twice of them to find where parts begin. Several threads allocate as for
    /// [`select_made`](Cpu::select_made).
    ///
    /// # Panics
    /// If a function says of more items, or of fewer, at the second time.
    ///
    /// # Errors
    /// Those of [`select`](Cpu::select).
    pub fn partition3_made<M: Make<Item: Element>>(
        &self,
        input: M,
        first: impl Fn(M::Item) -> bool + Copy + Send + Sync,
        second: impl Fn(M::Item) -> bool + Copy + Send + Sync,
        output: &mut [M::Item],
    ) -> Result<[usize; 2]> {
        let (level, items) = (self.vectors(), input.len());
        check_lengths(items, output.len())?;
        let counted = InParts {
            first: Predicate::<_, _, false> { level, input, keep: first },
            second: Predicate::<_, _, false> { level, input, keep: second },
        };
        let bytes = items.saturating_mul(size_of::<M::Item>());
        let counts = self.count_marked(bytes, items, &counted, true)?;
        let first = Predicate::<_, _, true> { level, input, keep: first };
        let marks = InParts { first, second: counted.second };
        let (columns, borders) = in_parts(Column::of_made(level, output), counts);
        self.compact_made::<M::Item>(items, &marks, &columns)?;
        Ok(borders)
    }

    /// How many items there are of which `keep` says so, of items that are made as they are read.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the threads cannot start.
    pub fn count_made<M: Make<Item: Element>>(
        &self,
        input: M,
        keep: impl Fn(M::Item) -> bool + Copy + Send + Sync,
    ) -> Result<u64> {
        let (level, items) = (self.vectors(), input.len());
        let marks = Predicate::<_, _, false> { level, input, keep };
        let bytes = items.saturating_mul(size_of::<M::Item>());
        let [count, _] = self.count_marked(bytes, items, &marks, false)?;
        Ok(count as u64)
    }

    /// Writes the first item of each run of neighbours that have the same bytes to the front of `output`, in order, and gives how many they
    /// are. −0 and +0 differ, a NaN equals itself; what a structure has between its fields is not compared.
    ///
    /// # Arguments
    /// As many places of the output as items. What lies in the output behind the result is anything afterwards.
    ///
    /// # Cost
    /// Items are read once, and what is kept is written once. Structures are copied to be compared.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are not as many places as items; [`Error::Segments`] for items of which
    /// [`Element::bytes`] says none; [`Error::NoDevice`] if the threads cannot start.
    pub fn unique<T: Element>(&self, items: &[T], output: &mut [T]) -> Result<usize> {
        self.unique_next(false, items, output)
    }

    /// As [`unique`](Cpu::unique), of items that come behind others: the first one `goes_on` with the run in front, or begins one.
    ///
    /// # Errors
    /// Those of [`unique`](Cpu::unique).
    pub fn unique_next<T: Element>(
        &self,
        goes_on: bool,
        items: &[T],
        output: &mut [T],
    ) -> Result<usize> {
        check_lengths(items.len(), output.len())?;
        let column = Column::of_array(self.vectors(), items.as_ptr(), output.as_mut_ptr());
        self.compact_runs(items.as_ptr(), items.len(), &[column], (goes_on, false))
    }

    /// As [`unique`](Cpu::unique), within the array, as [`select_in_place`](Cpu::select_in_place) does it.
    ///
    /// # Errors
    /// Those of [`unique`](Cpu::unique).
    pub fn unique_in_place<T: Element>(&self, items: &mut [T]) -> Result<usize> {
        let all = items.as_mut_ptr();
        let column = Column::of_array(self.vectors(), all.cast_const(), all);
        self.compact_runs(all.cast_const(), items.len(), &[column], (false, true))
    }

    /// Writes the first key of each run of neighbours whose keys have the same bytes to the front of `unique`, and the item of the same number
    /// to the front of `output`, in order. Gives how many they are.
    ///
    /// # Arguments
    /// As many keys, and places of both outputs, as items. What lies in them behind the result is anything afterwards.
    ///
    /// # Errors
    /// Those of [`unique`](Cpu::unique), of keys; [`Error::Buffer`] for another number of keys than of items.
    pub fn unique_by_key<K: Element, T: Element>(
        &self,
        keys: &[K],
        items: &[T],
        unique: &mut [K],
        output: &mut [T],
    ) -> Result<usize> {
        check_lengths(items.len(), output.len())?;
        check_lengths(keys.len(), unique.len())?;
        if keys.len() != items.len() {
            let reason = format!("there are {} keys for {} items", keys.len(), items.len());
            return Err(Error::Buffer { reason });
        }
        let level = self.vectors();
        let columns = [
            Column::of_array(level, keys.as_ptr(), unique.as_mut_ptr()),
            Column::of_array(level, items.as_ptr(), output.as_mut_ptr()),
        ];
        self.compact_runs(keys.as_ptr(), keys.len(), &columns, (false, false))
    }

    /// Writes the first item of each run of neighbours that have the same bytes to the front of `values`, and how many items the run has to the
    /// front of `counts`, in order. Gives how many runs there are.
    ///
    /// # Arguments
    /// As many places of both outputs as items. What lies in them behind the result is anything afterwards.
    ///
    /// # Errors
    /// Those of [`unique`](Cpu::unique); [`Error::WrongDtype`] if there are more items than a count of `u32` says.
    pub fn run_length_encode<T: Element, I: ItemIndex>(
        &self,
        items: &[T],
        values: &mut [T],
        counts: &mut [I],
    ) -> Result<usize> {
        check_index::<I>(items.len() as u64)?;
        check_lengths(items.len(), values.len())?;
        check_lengths(items.len(), counts.len())?;
        let level = self.vectors();
        let columns = [
            Column::of_array(level, items.as_ptr(), values.as_mut_ptr()),
            Column::of_numbers(level, counts).with(Part::Lengths),
        ];
        self.compact_runs(items.as_ptr(), items.len(), &columns, (false, false))
    }

    /// The vectors of this device; `None` for one item after another.
    fn vectors(&self) -> Option<Level> {
        (!self.is_scalar()).then_some(self.level())
    }

    fn flags<'a, F: Number>(&self, flags: &'a [F]) -> Flags<'a> {
        let bytes = bytemuck::cast_slice(flags);
        Flags { level: self.vectors(), bytes, size: size_of::<F>() }
    }

    /// Compacts by flags, of which there must be as many as items, to columns of type `T`.
    fn compact_flagged<T: Element, F: Number>(
        &self,
        items: usize,
        flags: &[F],
        columns: &[Column<'_>],
        in_place: bool,
    ) -> Result<usize> {
        check_flags(items, flags.len())?;
        let bytes = size_of_val(flags) + items * 2 * size_of::<T>();
        let (policy, flags) = (self.policies().of::<T>(), self.flags(flags));
        self.compact_marked(policy, bytes, items, &flags, columns, 0, in_place)
    }

    /// Compacts items of type `T` that are made.
    fn compact_made<T: Element>(
        &self,
        items: usize,
        marks: &dyn Marks,
        columns: &[Column<'_>],
    ) -> Result<usize> {
        let (policy, bytes) = (self.policies().of::<T>(), items * 2 * size_of::<T>());
        self.compact_marked(policy, bytes, items, marks, columns, size_of::<T>(), false)
    }

    /// Compacts to the first of each run of keys, of which the first one may go on with a run, to other arrays or in place.
    fn compact_runs<K: Element>(
        &self,
        keys: *const K,
        items: usize,
        columns: &[Column<'_>],
        (goes_on, in_place): (bool, bool),
    ) -> Result<usize> {
        // Items that say nothing of their bytes have a kind nevertheless.
        let kind = if K::bytes(&[]).is_some() { K::KIND } else { upsweep_core::Kind::Opaque };
        check_array(SegmentedBy::Keys, kind, items, items)?;
        let written = columns.iter().map(|column| column.item_bytes).sum::<usize>();
        let bytes = items * (size_of::<K>() + written);
        let (policy, marks) =
            (self.policies().of::<K>(), Runs { level: self.vectors(), items: keys, goes_on });
        self.compact_marked(policy, bytes, items, &marks, columns, 0, in_place)
    }

    /// Compacts all items, with the means for so many bytes.
    #[inline(never)]
    #[allow(
        clippy::too_many_arguments,
        reason = "each says one thing of a call, and there is no other"
    )]
    fn compact_marked(
        &self,
        policy: &CpuPolicy,
        bytes: usize,
        items: usize,
        marks: &dyn Marks,
        columns: &[Column<'_>],
        made_bytes: usize,
        in_place: bool,
    ) -> Result<usize> {
        let context = self.context(Traffic::Copies, policy, bytes)?;
        let streaming = !self.is_scalar();
        let work = Compaction { items, marks, columns, made_bytes, in_place, streaming };
        Ok(compact(&context, &work))
    }

    /// How many items are marked, of so many bytes; and how many are in the second part, if it is wanted.
    #[inline(never)]
    fn count_marked(
        &self,
        bytes: usize,
        items: usize,
        marks: &dyn Marks,
        has_second: bool,
    ) -> Result<[usize; 2]> {
        let context = self.context(Traffic::Reads, self.policies().of_bytes(1), bytes)?;
        Ok(count(&context, items, bytes, marks, has_second))
    }
}

/// The columns of three parts of which the first two have so many items, given that of the first; and where the others begin.
fn in_parts(kept: Column<'_>, [first, second]: [usize; 2]) -> ([Column<'_>; 3], [usize; 2]) {
    let border = first + second;
    let middle = kept.with(Part::Second { first, end: border });
    ([kept, middle, kept.with(Part::Rest { border })], [first, border])
}

fn check_lengths(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}

fn check_flags(items: usize, flags: usize) -> Result<()> {
    if items == flags {
        return Ok(());
    }
    Err(Error::Buffer { reason: format!("there are {flags} flags for {items} items") })
}

/// That an index says this number.
fn check_index<I: ItemIndex>(most: u64) -> Result<()> {
    if I::DTYPE == Dtype::U32 && u32::try_from(most).is_err() {
        return Err(Error::WrongDtype { found: Dtype::U32, wanted: Dtype::U64 });
    }
    Ok(())
}
