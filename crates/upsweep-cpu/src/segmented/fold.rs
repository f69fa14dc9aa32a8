//! Segments of exact operators by offsets: each is folded by itself, for nobody sees how items are grouped.

use core::ops::Range;

use fearless_simd::{Level, Simd};
use upsweep_core::{Element, Operator, Segmented, Widen};

use super::offsets::Offsets;
use super::window::Scratch;
use super::windows::{Part, WindowTaker};
use crate::isa::{self, Kernel};
use crate::scan::range::total_of_block;

/// Items that are folded at once in a short segment.
const LANES: usize = 8;

/// A segment of so many items is long: a call of the kernel for any number of items is short beside it.
const LONG: usize = 256;

/// Every segment that ends in a window is folded as far as it is in it.
pub(super) struct SegmentFold<'a, T, A, O> {
    pub(super) level: Level,
    pub(super) items: &'a [T],
    pub(super) offsets: Offsets<'a>,
    pub(super) operator: O,
    pub(super) init: Option<A>,
}

impl<T, U, O> WindowTaker<U::Acc, U> for SegmentFold<'_, T, U::Acc, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    fn is_sparse(&self) -> bool {
        true
    }

    fn scratch(&self) -> Scratch<U::Acc> {
        Scratch::of_segments()
    }

    fn look(&self, window: &Range<usize>, scratch: &mut Scratch<U::Acc>) -> usize {
        scratch.segments = self.offsets.ending_in(window);
        scratch.segments.len()
    }

    fn total(&self, window: &Range<usize>, scratch: &mut Scratch<U::Acc>) -> Segmented<U::Acc> {
        let segments = &scratch.segments;
        let start = self.offsets.get(segments.end);
        // Behind the last segment and in front of the first there is nothing to know.
        if segments.end + 1 == self.offsets.len() || start >= window.end {
            return Segmented { value: self.operator.padding(), begins: true };
        }
        let items = &self.items[start.max(window.start)..window.end];
        let value = total_of_block(self.level, items, false, self.operator);
        Segmented { value, begins: start >= window.start }
    }

    fn take(
        &self,
        window: &Range<usize>,
        carry: Segmented<U::Acc>,
        part: &mut Part<'_, U>,
        scratch: &mut Scratch<U::Acc>,
    ) -> Segmented<U::Acc> {
        let Self { level, items, offsets, operator, init } = *self;
        let (output, segments, from) =
            (&mut part.output[..], scratch.segments.clone(), window.start);
        let fold =
            FoldSegments { level, items, offsets, operator, init, segments, from, carry, output };
        isa::run(level, fold);
        carry
    }
}

struct FoldSegments<'a, T, A, U, O> {
    level: Level,
    items: &'a [T],
    offsets: Offsets<'a>,
    operator: O,
    init: Option<A>,
    segments: Range<usize>,
    /// The first item of the window.
    from: usize,
    /// What comes in: the value of what is in front of it.
    carry: Segmented<A>,
    output: &'a mut [U],
}

impl<T, U, O> Kernel for FoldSegments<'_, T, U::Acc, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { level, items, offsets, operator, init, segments, from, carry, output } = self;
        let padding = operator.padding();
        let empty = U::from_acc(init.unwrap_or(operator.identity()));
        let front = init.unwrap_or(padding);
        let mut outputs = output.iter_mut();
        offsets.each(segments, |start, end| {
            let Some(output) = outputs.next() else { return false };
            *output = if start == end {
                empty
            } else {
                let own = &items[start.max(from)..end];
                let value = match own.len() {
                    LONG.. => total_of_block(level, own, false, operator),
                    _ => fold_short(own, &operator),
                };
                let before =
                    if start < from { operator.combine(front, carry.value) } else { front };
                U::from_acc(operator.combine(before, value))
            };
            true
        });
    }
}

/// The value of a few items.
#[inline(always)]
fn fold_short<T, A, O>(items: &[T], operator: &O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let fold = |items: &[T]| {
        let combine = |value, item: &T| operator.combine(value, item.widen());
        items.iter().fold(operator.padding(), combine)
    };
    if !O::COMMUTATIVE {
        return fold(items);
    }
    let (rows, rest) = items.as_chunks::<LANES>();
    let rest = fold(rest);
    let Some((first, rows)) = rows.split_first() else { return rest };
    let mut lanes = first.map(
        #[inline(always)]
        |item| item.widen(),
    );
    for row in rows {
        for lane in 0..LANES {
            lanes[lane] = operator.combine(lanes[lane], row[lane].widen());
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = operator.combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    operator.combine(lanes[0], rest)
}
