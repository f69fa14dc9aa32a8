//! What becomes of the prefixes of a reduction: that of the last item of a segment is its value.

use core::ops::Range;

use fearless_simd::Level;
use upsweep_core::{Element, Operator, Segments};

use super::boundaries::{count, for_each};
use super::offsets::Offsets;
use super::window::Prefixes;
use super::windows::Part;
use crate::erased::ErasedOperator;

/// A value for each segment that offsets say, also of those without items.
pub(super) struct ByOffsets<'a, A> {
    pub(super) offsets: Offsets<'a>,
    pub(super) operator: ErasedOperator<A>,
    pub(super) init: Option<A>,
}

impl<T, A, U> Prefixes<T, A, U> for ByOffsets<'_, A>
where
    A: Element,
    U: Element<Acc = A>,
{
    fn is_sparse(&self) -> bool {
        true
    }

    fn amount(&self, window: &Range<usize>, _: &[u8]) -> usize {
        self.offsets.ending_in(window).len()
    }

    fn take(&self, items: Range<usize>, _: &[u8], prefixes: &mut [A], part: &mut Part<'_, U>) {
        let Self { offsets, operator, init } = *self;
        let empty = init.unwrap_or(operator.identity());
        let next = part.first + part.written..part.first + part.output.len();
        let all = part.output.len();
        let mut outputs = part.output[part.written..].iter_mut();
        let with_init = |value| init.map_or(value, |init| operator.combine(init, value));
        offsets.each(next, |start, end| {
            if end > items.end {
                return false;
            }
            let (Some(output), item) = (outputs.next(), end.wrapping_sub(items.start + 1)) else {
                return false;
            };
            let value = prefixes.get(item).map_or(empty, |value| with_init(*value));
            *output = U::from_acc(if start == end { empty } else { value });
            true
        });
        part.written = all - outputs.len();
    }

    /// What is left has no items.
    fn finish(&self, part: &mut Part<'_, U>) {
        let empty = self.init.unwrap_or(self.operator.identity());
        part.output[part.written..].fill(U::from_acc(empty));
    }
}

/// A value for each segment, side by side, and its key.
pub(super) struct ByItems<'a, A> {
    pub(super) level: Level,
    pub(super) segments: Segments<'a>,
    pub(super) operator: ErasedOperator<A>,
    pub(super) init: Option<A>,
}

impl<T, A, U> Prefixes<T, A, U> for ByItems<'_, A>
where
    A: Element,
    U: Element<Acc = A>,
{
    fn is_sparse(&self) -> bool {
        true
    }

    fn amount(&self, _: &Range<usize>, marks: &[u8]) -> usize {
        count(&marks[1..])
    }

    fn take(&self, items: Range<usize>, marks: &[u8], prefixes: &mut [A], part: &mut Part<'_, U>) {
        let Self { segments, operator, init, .. } = *self;
        let with_init = |value| init.map_or(value, |init| operator.combine(init, value));
        let all = part.output.len();
        let first = part.written;
        let mut outputs = part.output[first..].iter_mut();
        for_each(self.level, &marks[1..], |item| {
            if let Some(output) = outputs.next() {
                *output = U::from_acc(with_init(prefixes[item]));
            }
        });
        part.written = all - outputs.len();
        if !part.unique.is_empty() {
            let size = segments.kind.size();
            let keys = &segments.bytes[items.start * size..items.end * size];
            let mut unique = part.unique[first * size..].chunks_exact_mut(size);
            for_each(self.level, &marks[1..], |item| {
                if let Some(unique) = unique.next() {
                    unique.copy_from_slice(&keys[item * size..(item + 1) * size]);
                }
            });
        }
    }
}
