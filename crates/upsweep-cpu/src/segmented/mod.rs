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
//! - [`per_segment`]: a call for each segment, of which it is the same.
//! - [`mod@made`]: windows whose items are made as they are read.

mod boundaries;
mod fold;
mod fused;
mod marked;
mod offsets;
mod per_segment;
mod reduce;
mod row;
mod scan;
mod window;
mod windows;

use fearless_simd::Level;
use upsweep_core::{
    Bounds, Direction, Element, Error, Flipped, Make, Operator, Reduce, Result, Scan, SegmentedBy,
    Segments, Widen,
};

use crate::device::{Cpu, ExecutionContext};
use crate::erased::ErasedOperator;
use crate::scan::range::{ScanKernel, Settings, scan_plain, total_of_block};
use crate::simd::stream::streams;
use crate::team::Team;
use boundaries::Boundaries;
use fold::SegmentFold;
use fused::{FusedItems, FusedPairScan};
use marked::PairScan;
use offsets::Offsets;
pub use per_segment::SegmentValue;
use reduce::{ByItems, ByOffsets};
use scan::{EveryPrefix, PutInFront, prepend};
use window::{Kernels, Prefixes, take_rows};
use windows::{RemainingOutput, take_all};

/// Items in segments, and how they are combined.
#[derive(Clone, Copy)]
struct Work<'a, T, O> {
    items: &'a [T],
    boundaries: Boundaries<'a>,
    reverse: bool,
    operator: O,
}

/// Which prefixes are wanted.
#[derive(Clone, Copy)]
enum OutputSelection<'a> {
    /// Those of a scan, of these bounds, past the caches if it is streaming.
    Every { bounds: Bounds, streaming: bool },
    /// The last of each segment, side by side.
    LastByItems(Segments<'a>),
    /// The last of each segment that offsets say.
    LastByOffsets(Offsets<'a>),
}

impl<T, O> Work<'_, T, O> {
    /// Writes those prefixes that are wanted. Gives how many items were written.
    fn take<U>(
        &self,
        context: &ExecutionContext<'_>,
        wanted: OutputSelection<'_>,
        init: Option<U::Acc>,
        rest: RemainingOutput<'_, U>,
    ) -> usize
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let Self { operator, reverse, .. } = *self;
        let level = context.level;
        let (bounds, streaming) = match wanted {
            OutputSelection::Every { bounds, streaming } => (bounds, streaming),
            _ => (Bounds::Inclusive, false),
        };
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        with_kernels(level, operator, (bounds, direction, streaming), |kernels| {
            let operator_of_all = kernels.settings.operator;
            let Self { items, boundaries, .. } = *self;
            take_marked(
                context.team,
                &Work { items, boundaries, reverse, operator: operator_of_all },
                kernels,
                &|items, reverse| total_of_block(level, items, reverse, operator),
                &|value, prefixes| prepend(level, operator, value, prefixes),
                (wanted, init),
                rest,
            )
        })
    }
}

/// Does `work` with what combines values by an operator.
fn with_kernels<A: Element, O: Operator<A>, R>(
    level: Level,
    operator: O,
    (bounds, direction, streaming): (Bounds, Direction, bool),
    work: impl FnOnce(Kernels<'_, A>) -> R,
) -> R {
    let plain = |input: &[_], output: &mut [_], exclusive, tile: &mut _, carry: &mut _| {
        scan_plain(level, operator, input, output, exclusive, tile, carry);
    };
    // SAFETY: the operator stays where it is until this returns.
    let erased = unsafe { ErasedOperator::new(&operator) };
    let kernel = ScanKernel::find::<O>(level, &plain);
    work(Kernels {
        settings: Settings { level, operator: erased, kernel, bounds, direction, streaming },
        total: &|values: &[A]| total_of_block(level, values, false, operator),
        rows: &|rows| take_rows(level, rows, operator),
    })
}

/// The same without the operator: compiled once for two types.
#[inline(never)]
fn take_marked<T, U>(
    team: Team<'_>,
    work: &Work<'_, T, ErasedOperator<U::Acc>>,
    kernels: Kernels<'_, U::Acc>,
    total: &(dyn Fn(&[T], bool) -> U::Acc + Sync),
    prepend: &PutInFront<'_, U::Acc>,
    (wanted, init): (OutputSelection<'_>, Option<U::Acc>),
    rest: RemainingOutput<'_, U>,
) -> usize
where
    T: Widen<U::Acc>,
    U: Element,
{
    let Work { items, boundaries, reverse, operator } = *work;
    let (every, by_items, by_offsets);
    let prefixes: &dyn Prefixes<T, U::Acc, U> = match wanted {
        OutputSelection::Every { .. } => {
            every = EveryPrefix { settings: kernels.settings, init, prepend };
            &every
        }
        OutputSelection::LastByItems(segments) => {
            by_items = ByItems { level: kernels.settings.level, segments, operator, init };
            &by_items
        }
        OutputSelection::LastByOffsets(offsets) => {
            by_offsets = ByOffsets { offsets, operator, init };
            &by_offsets
        }
    };
    // Pieces of a window are turned round before, and written after they are scanned.
    let settings = Settings { direction: Direction::Forward, streaming: false, ..kernels.settings };
    let kernels = Kernels { settings, ..kernels };
    let way = PairScan { items, first: 0, boundaries, reverse, kernels, total, prefixes };
    take_all(team, items.len(), &operator, &way, rest)
}

/// Writes the value of each segment of items that are made. Gives how many there are. Compiled once for a type.
#[inline(never)]
fn take_made<U: Element>(
    team: Team<'_>,
    making: FusedItems<'_, U::Acc>,
    boundaries: Boundaries<'_>,
    kernels: Kernels<'_, U::Acc>,
    (segments, init): (Segments<'_>, Option<U::Acc>),
    rest: RemainingOutput<'_, U>,
) -> usize {
    let Settings { level, operator, .. } = kernels.settings;
    let (by_items, by_offsets);
    let prefixes: &dyn Prefixes<U::Acc, U::Acc, U> = match boundaries.offsets() {
        None => {
            by_items = ByItems { level, segments, operator, init };
            &by_items
        }
        Some(offsets) => {
            by_offsets = ByOffsets { offsets, operator, init };
            &by_offsets
        }
    };
    let total = |values: &[U::Acc], _| (kernels.total)(values);
    let (reverse, total) = (false, &total);
    let way = PairScan { items: &[], first: 0, boundaries, reverse, kernels, total, prefixes };
    take_all(team, making.items, &operator, &FusedPairScan { way, making }, rest)
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
            self.scan_marked(work, output, problem)
        } else {
            let operator = Flipped(problem.operator);
            self.scan_marked(Work { items: input, boundaries, reverse, operator }, output, problem)
        }
    }

    fn scan_marked<T, U, O, P>(
        &self,
        work: Work<'_, T, O>,
        output: &mut [U],
        problem: &Scan<U::Acc, P>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let Scan { bounds, init, .. } = *problem;
        let bytes = size_of_val(work.items) + size_of_val(output) + work.boundaries.bytes();
        self.with_context::<U, _>(bytes, |context| {
            let streaming = streams::<U>() && size_of_val(output) >= context.policy.streaming_bytes;
            let rest = RemainingOutput::new(output, work.reverse);
            work.take(context, OutputSelection::Every { bounds, streaming }, init, rest)
        })?;
        Ok(())
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
        check_lengths(boundaries.most_segments(input.len()), output.len())?;
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
        self.with_context::<T, _>(bytes, |context| {
            let context = &context.to_read(bytes);
            let level = context.level;
            let rest = RemainingOutput { key, unique, ..RemainingOutput::new(output, false) };
            match offsets {
                None => work.take(context, OutputSelection::LastByItems(segments), init, rest),
                Some(offsets) if O::EXACT => {
                    let way = SegmentFold { level, items: input, offsets, operator, init };
                    // SAFETY: the operator stays where it is until this returns.
                    let erased = unsafe { ErasedOperator::new(&operator) };
                    take_all(context.team, input.len(), &erased, &way, rest)
                }
                Some(offsets) => {
                    work.take(context, OutputSelection::LastByOffsets(offsets), init, rest)
                }
            }
        })
    }

    /// As [`segmented_reduce`](Cpu::segmented_reduce), of items that are made as they are read and without keys. Each thread makes
    /// those of a window before it takes them.
    ///
    /// # Errors
    /// Those of [`segmented_reduce`](Cpu::segmented_reduce).
    pub fn segmented_reduce_made<M, U, O>(
        &self,
        input: M,
        segments: Segments<'_>,
        output: &mut [U],
        problem: &Reduce<U::Acc, O>,
    ) -> Result<usize>
    where
        M: Make<Item: Widen<U::Acc>>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let items = input.len();
        let boundaries = Boundaries::new(segments, items)?;
        check_lengths(boundaries.most_segments(items), output.len())?;
        let Reduce { operator, init, .. } = *problem;
        if items == 0 {
            output.fill(U::from_acc(init.unwrap_or(operator.identity())));
            return Ok(output.len());
        }
        let make = |numbers, made: &mut Vec<U::Acc>| {
            made.extend(input.make(numbers).map(
                #[inline(always)]
                |item| item.widen(),
            ));
        };
        let making = FusedItems { items, make: &make };
        let bytes = items * size_of::<M::Item>() + boundaries.bytes();
        self.with_context::<M::Item, _>(bytes, |context| {
            let context = &context.to_read(bytes);
            let form = (Bounds::Inclusive, Direction::Forward, false);
            with_kernels(context.level, operator, form, |kernels| {
                let rest = RemainingOutput::new(output, false);
                take_made(context.team, making, boundaries, kernels, (segments, init), rest)
            })
        })
    }
}

fn check_lengths(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}
