//! Reductions and scans in segments.
//!
//! Items are combined in the order of the summation specification, as pairs of a value and whether a segment begins with it: a
//! scan of all of them, in which nothing crosses a boundary. So that any pattern of segments takes the same way and about the
//! same time, whatever says where they begin is first made bytes ([`boundaries`]).
//!
//! - [`windows`]: windows on threads, of which each hands on what comes behind its last boundary.
//! - [`marked`] and [`window`]: a window by its marks, one tile after another; pieces without a boundary go to the kernels for
//!   plain values.
//! - [`row`]: values and marks of a row, side by side, as vectors.
//! - [`mod@scan`] writes every prefix, [`mod@reduce`] that of each segment's last item.
//! - [`fold`]: each segment by itself, where nobody sees how items are grouped.

mod boundaries;
mod fold;
mod marked;
mod offsets;
mod reduce;
mod row;
mod scan;
mod window;
mod windows;

use upsweep_core::{
    Direction, Element, Error, Flipped, Operator, Reduce, Result, Scan, SegmentedBy, Segments,
    Widen,
};

use crate::device::{Cpu, Means};
use crate::simd::stream::streams;
use boundaries::Boundaries;
use fold::Folded;
use marked::Marked;
use reduce::{ByItems, ByOffsets};
use scan::EveryPrefix;
use window::Prefixes;
use windows::{Rest, take_all};

/// Items in segments, and how they are combined.
#[derive(Clone, Copy)]
struct Work<'a, T, O> {
    items: &'a [T],
    boundaries: Boundaries<'a>,
    reverse: bool,
    operator: O,
}

impl<T, O> Work<'_, T, O> {
    /// Writes those prefixes that are wanted. Gives how many items were written.
    fn take<A, U, P>(&self, means: &Means<'_>, prefixes: P, rest: Rest<'_, U>) -> usize
    where
        T: Widen<A>,
        A: Element,
        U: Element,
        O: Operator<A>,
        P: Prefixes<A, U>,
    {
        let Self { items, boundaries, reverse, operator } = *self;
        let way = Marked { level: means.level, items, boundaries, reverse, operator, prefixes };
        take_all(means.team, items.len(), operator, &way, rest)
    }
}

impl Cpu {
    /// Writes every prefix within segments.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are not as many outputs as items; [`Error::Segments`] where segments cannot be so.
    #[inline(never)]
    pub fn segmented_scan<T, U, O>(
        &self,
        input: &[T],
        segments: Segments<'_>,
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let boundaries = Boundaries::new(segments, input.len())?;
        check_lengths(input.len(), output.len())?;
        let reverse = problem.direction == Direction::Reverse;
        let work = Work { items: input, boundaries, reverse, operator: problem.operator };
        if O::COMMUTATIVE || !reverse {
            self.scan_marked(work, output, problem);
        } else {
            let operator = Flipped(problem.operator);
            self.scan_marked(Work { items: input, boundaries, reverse, operator }, output, problem);
        }
        Ok(())
    }

    fn scan_marked<T, U, O, P>(
        &self,
        work: Work<'_, T, O>,
        output: &mut [U],
        problem: &Scan<U::Acc, P>,
    ) where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let Scan { bounds, direction, init, .. } = *problem;
        let operator = work.operator;
        let bytes = size_of_val(work.items) + size_of_val(output) + work.boundaries.bytes();
        self.with_means::<U, _>(bytes, |means| {
            let streaming = streams::<U>() && size_of_val(output) >= means.policy.streaming_bytes;
            let rest = Rest::new(output, work.reverse);
            work.take(means, EveryPrefix { operator, init, bounds, direction, streaming }, rest)
        });
    }

    /// Writes the value of each segment, and gives how many there are. By offsets there is an output for each segment; by flags or
    /// keys there are as many as items, of which so many are written. By keys, `unique` gets the bytes of each segment's key, and
    /// has room for as many as there are items.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if outputs or `unique` are not as many; [`Error::Segments`] where segments cannot be so.
    #[inline(never)]
    pub fn segmented_reduce<T, U, O>(
        &self,
        input: &[T],
        segments: Segments<'_>,
        unique: Option<&mut [u8]>,
        output: &mut [U],
        problem: &Reduce<U::Acc, O>,
    ) -> Result<usize>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let boundaries = Boundaries::new(segments, input.len())?;
        let offsets = boundaries.offsets();
        check_lengths(offsets.map_or(input.len(), |offsets| offsets.len() - 1), output.len())?;
        let keys = unique.filter(|_| segments.by == SegmentedBy::Keys);
        let key = if keys.is_some() { segments.kind.size() } else { 0 };
        let unique = keys.unwrap_or_default();
        if unique.len() != input.len() * key {
            let output = unique.len() / key.max(1);
            return Err(Error::LengthMismatch { input: input.len(), output });
        }
        let Reduce { operator, init, .. } = *problem;
        if input.is_empty() {
            output.fill(U::from_acc(init.unwrap_or(operator.identity())));
            return Ok(output.len());
        }
        let work = Work { items: input, boundaries, reverse: false, operator };
        let bytes = size_of_val(input) + boundaries.bytes();
        Ok(self.with_means::<T, _>(bytes, |means| {
            let means = &means.to_read(bytes);
            let level = means.level;
            let rest = Rest { key, unique, ..Rest::new(output, false) };
            match offsets {
                None => work.take(means, ByItems { segments, operator, init }, rest),
                Some(offsets) if O::EXACT => {
                    let way = Folded { level, items: input, offsets, operator, init };
                    take_all(means.team, input.len(), operator, &way, rest)
                }
                Some(offsets) => work.take(means, ByOffsets { offsets, operator, init }, rest),
            }
        }))
    }
}

fn check_lengths(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}
