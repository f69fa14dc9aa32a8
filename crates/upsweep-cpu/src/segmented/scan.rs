//! What becomes of the prefixes of a scan: each is an output.

use core::ops::Range;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{Bounds, Carry, Direction, Element, Operator, Segmented, Widen};

use super::window::Prefixes;
use super::windows::Part;
use crate::isa::{self, Kernel};
use crate::scan::Source;
use crate::scan::range::{Settings, scan_range};
use crate::simd::half::narrow_at;
use crate::simd::lanes::reverse_at;
use crate::simd::stream::{Prefetch, StreamingOutput, fence};

/// Puts a value in front of each prefix.
pub(super) type PutInFront<'a, A> = dyn Fn(A, &mut [A]) + Sync + 'a;

/// Every prefix goes to the place of its item.
pub(super) struct EveryPrefix<'a, A> {
    /// Of a scan of all items without segments.
    pub(super) settings: Settings<'a, A>,
    pub(super) init: Option<A>,
    /// Puts a value in front of each prefix.
    pub(super) prepend: &'a PutInFront<'a, A>,
}

impl<T, A, U> Prefixes<T, A, U> for EveryPrefix<'_, A>
where
    T: Widen<A>,
    A: Element,
    U: Element<Acc = A>,
{
    fn is_sparse(&self) -> bool {
        false
    }

    fn amount(&self, window: &Range<usize>, _: &[u8]) -> usize {
        window.len()
    }

    /// A start value goes in front of every prefix by itself, so that only without one this is a scan like any other.
    fn take_whole(
        &self,
        items: &[T],
        carry: Segmented<A>,
        begins: bool,
        part: &mut Part<'_, U>,
    ) -> Option<A> {
        let Settings { operator, bounds, direction, .. } = self.settings;
        if self.init.is_some() {
            return None;
        }
        let before = if begins { operator.padding() } else { carry.value };
        let mut carry = Carry::new(Some(before), &operator);
        scan_range(&self.settings, Source::Separate(items), part.output, &mut carry, &[]);
        if bounds == Bounds::Exclusive && begins {
            fence();
            let first = match direction {
                Direction::Forward => part.output.first_mut(),
                Direction::Reverse => part.output.last_mut(),
            };
            if let Some(first) = first {
                *first = U::from_acc(operator.identity());
            }
        }
        Some(carry.before_next(&operator))
    }

    fn begin(&self, part: &mut Part<'_, U>) {
        let Settings { level, direction, streaming, .. } = self.settings;
        if streaming {
            let output = core::mem::take(&mut part.output);
            part.lines = Some(StreamingOutput::new(output, direction, level));
        }
    }

    fn take(&self, _: Range<usize>, marks: &[u8], prefixes: &mut [A], part: &mut Part<'_, U>) {
        let Settings { level, operator, bounds, direction, .. } = self.settings;
        let reverse = direction == Direction::Reverse;
        if let Some(init) = self.init {
            (self.prepend)(init, prefixes);
        }
        if bounds == Bounds::Exclusive {
            let first = self.init.unwrap_or(operator.identity());
            isa::run(level, Begin { prefixes: &mut *prefixes, marks, first });
        }
        if reverse {
            reverse_at(level, prefixes);
        }
        // Pieces come in the order of the scan, each in that of memory.
        let Some(lines) = &mut part.lines else {
            let end = part.output.len() - if reverse { part.written } else { 0 };
            let start = if reverse { end - prefixes.len() } else { part.written };
            part.written += prefixes.len();
            narrow_at(level, prefixes, &mut part.output[start..start + prefixes.len()]);
            return;
        };
        if let Ok(prefixes) = cast!(&*prefixes, &[U]) {
            lines.push_at(level, prefixes, Prefetch::new::<U>(&[]));
            return;
        }
        let mut row = [U::from_acc(operator.padding()); LANES];
        let mut push = |prefixes: &[A]| {
            let row = &mut row[..prefixes.len()];
            narrow_at(level, prefixes, row);
            lines.push_at(level, row, Prefetch::new::<U>(&[]));
        };
        match reverse {
            false => prefixes.chunks(LANES).for_each(&mut push),
            true => prefixes.rchunks(LANES).for_each(&mut push),
        }
    }

    fn finish(&self, part: &mut Part<'_, U>) {
        if let Some(lines) = part.lines.take() {
            lines.finish();
        }
    }
}

/// Puts `first` where segments begin.
struct Begin<'a, A> {
    prefixes: &'a mut [A],
    marks: &'a [u8],
    first: A,
}

impl<A: Element> Kernel for Begin<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { prefixes, marks, first } = self;
        for (prefix, mark) in prefixes.iter_mut().zip(marks) {
            *prefix = if *mark == 0 { *prefix } else { first };
        }
    }
}

/// Puts `value` in front of each prefix, compiled once for an operator.
#[inline(never)]
pub(super) fn prepend<A: Element, O: Operator<A>>(
    level: Level,
    operator: O,
    value: A,
    prefixes: &mut [A],
) {
    isa::run(level, Prepend { operator, value, prefixes });
}

struct Prepend<'a, A, O> {
    operator: O,
    value: A,
    prefixes: &'a mut [A],
}

impl<A: Element, O: Operator<A>> Kernel for Prepend<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, value, prefixes } = self;
        for prefix in prefixes {
            *prefix = operator.combine(value, *prefix);
        }
    }
}
