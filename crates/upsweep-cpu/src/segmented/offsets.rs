//! Offsets as numbers.

use core::ops::Range;

use upsweep_core::{Error, Result, SegmentedBy, Segments};

/// As many equal offsets are looked at one by one; of more, only the ends.
const RUN: usize = 64;

/// Offsets as they lie in memory, which need not be aligned.
#[derive(Clone, Copy)]
pub(super) enum Offsets<'a> {
    /// Of 32 bits.
    Short(&'a [[u8; 4]]),
    /// Of 64 bits.
    Long(&'a [[u8; 8]]),
}

/// Chooses by the type of the offsets, once, what is done with all of them.
macro_rules! with_numbers {
    ($offsets:expr, |$numbers:ident, $number:ident| $do:expr) => {
        match $offsets {
            Offsets::Short($numbers) => {
                let $number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize;
                $do
            }
            Offsets::Long($numbers) => {
                let $number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes) as usize;
                $do
            }
        }
    };
}

impl<'a> Offsets<'a> {
    /// Those of segments of `items` items that are said by offsets.
    ///
    /// # Errors
    /// [`Error::Segments`] where they cannot be so.
    pub(super) fn of(segments: Segments<'a>, items: usize) -> Result<Option<Self>> {
        if segments.by != SegmentedBy::Offsets {
            return Ok(None);
        }
        let offsets = match segments.kind.size() {
            4 => Self::Short(segments.bytes.as_chunks().0),
            8 => Self::Long(segments.bytes.as_chunks().0),
            _ => {
                let reason = format!("offsets are u32 or u64, not {}", segments.kind);
                return Err(Error::Segments { reason });
            }
        };
        let good = match offsets {
            Self::Short(offsets) => {
                ascend(offsets, items, |bytes| u32::from_le_bytes(bytes).into())
            }
            Self::Long(offsets) => ascend(offsets, items, u64::from_le_bytes),
        };
        if !good {
            // What is wrong is said in one place, which takes its time.
            segments.check(items)?;
        }
        Ok(Some(offsets))
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        with_numbers!(self, |numbers, _number| numbers.len())
    }

    /// Number `index`.
    #[inline(always)]
    pub(super) fn get(self, index: usize) -> usize {
        with_numbers!(self, |numbers, number| number(&numbers[index]))
    }

    /// How many are less than `value`.
    pub(super) fn less_than(self, value: usize) -> usize {
        with_numbers!(self, |numbers, number| numbers
            .partition_point(|bytes| number(bytes) < value))
    }

    /// The segments that end behind an item of the window, or in front of the first item of all.
    pub(super) fn ending_in(self, window: &Range<usize>) -> Range<usize> {
        let ends_at = |boundary| self.less_than(boundary).max(1) - 1;
        let first = if window.start == 0 { 0 } else { ends_at(window.start + 1) };
        first..ends_at(window.end + 1)
    }

    /// Marks by 1 where offsets are among the boundaries in front of the items `window` and behind the last of them.
    #[inline(always)]
    pub(super) fn mark(self, window: Range<usize>, marks: &mut [u8]) {
        marks.fill(0);
        let among = self.less_than(window.start)..self.less_than(window.end + 1);
        with_numbers!(self, |numbers, number| {
            for run in numbers[among].chunks(RUN) {
                if run.first() == run.last() {
                    marks[number(&run[0]) - window.start] = 1;
                    continue;
                }
                for offset in run {
                    marks[number(offset) - window.start] = 1;
                }
            }
        });
    }

    /// Calls `take` with the first item and the end of each of these segments, until it gives `false`.
    #[inline(always)]
    pub(super) fn each(self, segments: Range<usize>, mut take: impl FnMut(usize, usize) -> bool) {
        with_numbers!(self, |numbers, number| {
            let (starts, ends) = (&numbers[segments.clone()], &numbers[segments.start + 1..]);
            for (start, end) in starts.iter().zip(ends) {
                if !take(number(start), number(end)) {
                    break;
                }
            }
        });
    }
}

/// Whether there are some, none less than the one before it and none more than `items`.
fn ascend<const N: usize>(
    offsets: &[[u8; N]],
    items: usize,
    number: impl Fn([u8; N]) -> u64,
) -> bool {
    let Some(last) = offsets.last() else { return false };
    // In pieces, so that nothing stops within them and they become vectors.
    let piece = 1 << 12;
    let mut pairs = offsets.chunks(piece).zip(offsets[1..].chunks(piece));
    number(*last) <= items as u64
        && pairs.all(|(before, after)| {
            let ascends = |(before, after): (&[u8; N], &[u8; N])| number(*before) <= number(*after);
            before.iter().zip(after).map(ascends).fold(true, |all, ascends| all & ascends)
        })
}
