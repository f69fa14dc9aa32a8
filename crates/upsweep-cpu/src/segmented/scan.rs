//! What becomes of the prefixes of a scan: each is an output.

use core::ops::Range;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{Bounds, Carry, Direction, Element, Operator, Segmented, Widen};

use super::window::Prefixes;
use super::windows::Part;
use crate::scan::Source;
use crate::scan::range::{Settings, scan_range};
use crate::simd::stream::{Ahead, Lines, fence};

/// Every prefix goes to the place of its item.
#[derive(Clone, Copy)]
pub(super) struct EveryPrefix<A, O> {
    /// That of the order of the scan.
    pub(super) operator: O,
    pub(super) init: Option<A>,
    pub(super) bounds: Bounds,
    pub(super) direction: Direction,
    /// Whether the output is written past the caches.
    pub(super) streaming: bool,
}

impl<A, U, O> Prefixes<A, U> for EveryPrefix<A, O>
where
    A: Element,
    U: Element<Acc = A>,
    O: Operator<A>,
{
    const SPARSE: bool = false;

    #[inline(always)]
    fn exclusive(&self) -> bool {
        self.bounds == Bounds::Exclusive
    }

    fn amount(&self, window: &Range<usize>, _: &[u8]) -> usize {
        window.len()
    }

    /// A start value goes in front of every prefix by itself, so that only without one this is a scan like any other.
    fn take_whole<T: Widen<A>>(
        &self,
        level: Level,
        items: &[T],
        carry: Segmented<A>,
        begins: bool,
        part: &mut Part<'_, U>,
    ) -> Option<A> {
        let Self { operator, init, bounds, direction, streaming } = *self;
        if init.is_some() {
            return None;
        }
        let settings = Settings { level, operator, bounds, direction, streaming };
        let before = if begins { operator.padding() } else { carry.value };
        let mut carry = Carry::new(Some(before), &operator);
        scan_range(&settings, Source::Separate(items), part.output, &mut carry, &[]);
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

    #[inline(always)]
    fn begin(&self, level: Level, part: &mut Part<'_, U>) {
        if self.streaming {
            let output = core::mem::take(&mut part.output);
            part.lines = Some(Lines::new(output, self.direction, level));
        }
    }

    #[inline(always)]
    fn take<S: Simd>(
        &self,
        simd: S,
        _: Range<usize>,
        marks: &[u8],
        prefixes: &mut [A],
        part: &mut Part<'_, U>,
    ) {
        let Self { operator, init, bounds, direction, .. } = *self;
        let reverse = direction == Direction::Reverse;
        if let Some(init) = init {
            for prefix in prefixes.iter_mut() {
                *prefix = operator.combine(init, *prefix);
            }
        }
        if bounds == Bounds::Exclusive {
            let first = init.unwrap_or(operator.identity());
            for (prefix, mark) in prefixes.iter_mut().zip(marks) {
                *prefix = if *mark == 0 { *prefix } else { first };
            }
        }
        if reverse {
            prefixes.reverse();
        }
        // Pieces come in the order of the scan, each in that of memory.
        let Some(lines) = &mut part.lines else {
            let end = part.output.len() - if reverse { part.written } else { 0 };
            let start = if reverse { end - prefixes.len() } else { part.written };
            part.written += prefixes.len();
            narrow(prefixes, &mut part.output[start..start + prefixes.len()]);
            return;
        };
        if let Ok(prefixes) = cast!(&*prefixes, &[U]) {
            lines.push(simd, prefixes, Ahead::new::<U>(&[]));
            return;
        }
        let mut row = [U::from_acc(operator.padding()); LANES];
        let mut push = |prefixes: &[A]| {
            let row = &mut row[..prefixes.len()];
            narrow(prefixes, row);
            lines.push(simd, row, Ahead::new::<U>(&[]));
        };
        match reverse {
            false => prefixes.chunks(LANES).for_each(&mut push),
            true => prefixes.rchunks(LANES).for_each(&mut push),
        }
    }

    #[inline(always)]
    fn finish(&self, part: &mut Part<'_, U>) {
        if let Some(lines) = part.lines.take() {
            lines.finish();
        }
    }
}

#[inline(always)]
fn narrow<U: Element>(prefixes: &[U::Acc], output: &mut [U]) {
    for (item, prefix) in output.iter_mut().zip(prefixes) {
        *item = U::from_acc(*prefix);
    }
}
