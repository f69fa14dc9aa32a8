//! Where segments begin, as a byte for each item of a window, whatever array says it.

use core::ops::Range;

use fearless_simd::{Level, Simd};
use upsweep_core::{Result, SegmentedBy, Segments};

use super::offsets::Offsets;
use crate::isa::{self, Kernel};

/// In front of which items segments begin: number `i` is the boundary between items `i - 1` and `i`. Those in front of the first
/// and behind the last item always are boundaries.
#[derive(Clone, Copy)]
pub(super) struct Boundaries<'a> {
    segments: Segments<'a>,
    /// Of segments by offsets.
    offsets: Option<Offsets<'a>>,
    items: usize,
}

impl<'a> Boundaries<'a> {
    /// Those of `items` items.
    ///
    /// # Errors
    /// [`Error::Segments`](upsweep_core::Error::Segments) where segments cannot be so.
    pub(super) fn new(segments: Segments<'a>, items: usize) -> Result<Self> {
        let offsets = Offsets::of(segments, items)?;
        if offsets.is_none() {
            segments.check(items)?;
        }
        Ok(Self { segments, offsets, items })
    }

    /// What says them, if that is offsets.
    pub(super) fn offsets(&self) -> Option<Offsets<'a>> {
        self.offsets
    }

    /// How many segments there are of so many items, or may be.
    pub(super) fn most_segments(&self, items: usize) -> usize {
        self.offsets.map_or(items, |offsets| offsets.len() - 1)
    }

    /// Bytes that say them.
    pub(super) fn bytes(&self) -> usize {
        self.segments.bytes.len()
    }

    /// Marks the boundaries in front of the items `window` and behind the last of them by 1, all others by 0: from the front, or
    /// from the back if `reverse`. The rest of `marks` gets 0.
    #[inline(always)]
    pub(super) fn mark(&self, window: Range<usize>, reverse: bool, marks: &mut [u8]) {
        let (marks, rest) = marks.split_at_mut(window.len() + 1);
        rest.fill(0);
        match self.offsets {
            Some(offsets) => offsets.mark(window.clone(), marks),
            None => self.mark_numbers(window.clone(), marks),
        }
        if window.start == 0 {
            marks[0] = 1;
        }
        if window.end == self.items {
            marks[window.len()] = 1;
        }
        if reverse {
            marks.reverse();
        }
    }

    /// By flags or keys; the boundaries in front of and behind all items are left as they are.
    #[inline(always)]
    fn mark_numbers(&self, window: Range<usize>, marks: &mut [u8]) {
        // Between items there are boundaries from 1 on.
        let first = window.start.max(1);
        let end = (window.end + 1).min(self.items).max(first);
        let marks = &mut marks[first - window.start..end - window.start];
        let Segments { by, kind, bytes } = self.segments;
        macro_rules! words {
            ($word:ident) => {
                mark_words(bytes, by, first..end, marks, $word::from_ne_bytes)
            };
        }
        match kind.size() {
            0 => marks.fill(0),
            1 => words!(u8),
            2 => words!(u16),
            4 => words!(u32),
            8 => words!(u64),
            _ => {
                for (mark, item) in marks.iter_mut().zip(first..) {
                    *mark = self.segments.begins(item).into();
                }
            }
        }
    }
}

/// Numbers that are read as words.
#[inline(always)]
fn mark_words<const N: usize, W: PartialEq + Default>(
    bytes: &[u8],
    by: SegmentedBy,
    items: Range<usize>,
    marks: &mut [u8],
    word: impl Fn([u8; N]) -> W,
) {
    let numbers = bytes.as_chunks::<N>().0;
    let own = &numbers[items.clone()];
    if by == SegmentedBy::Flags {
        for (mark, flag) in marks.iter_mut().zip(own) {
            *mark = (word(*flag) != W::default()).into();
        }
    } else {
        let before = &numbers[items.start - 1..items.end - 1];
        for (mark, (before, own)) in marks.iter_mut().zip(before.iter().zip(own)) {
            *mark = (word(*before) != word(*own)).into();
        }
    }
}

/// Whether any mark is set.
#[inline(always)]
pub(super) fn any(marks: &[u8]) -> bool {
    marks.iter().fold(0, |all, mark| all | mark) != 0
}

/// The same by the vectors of a level.
pub(super) fn any_at(level: Level, marks: &[u8]) -> bool {
    struct Any<'a>(&'a [u8]);

    impl Kernel for Any<'_> {
        type Output = bool;

        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> bool {
            any(self.0)
        }
    }

    isa::run(level, Any(marks))
}

/// How many are.
#[inline(always)]
pub(super) fn count(marks: &[u8]) -> usize {
    let few = |marks: &[u8]| usize::from(marks.iter().sum::<u8>());
    marks.chunks(128).map(few).sum()
}

/// The last that is.
#[inline(always)]
pub(super) fn last(marks: &[u8]) -> Option<usize> {
    let piece = 256;
    let index = marks.chunks(piece).rposition(any)?;
    let within = marks.chunks(piece).nth(index)?.iter().rposition(|mark| *mark != 0)?;
    Some(index * piece + within)
}

/// Marks of which one word says where they are.
const WORD: usize = u64::BITS as usize;

/// Words that are found at once.
const WORDS: usize = 32;

/// Calls `take` with the number of each that is, in order.
pub(super) fn for_each(level: Level, marks: &[u8], mut take: impl FnMut(usize)) {
    let mut words = [0; WORDS];
    for (number, marks) in marks.chunks(WORDS * WORD).enumerate() {
        let words = &mut words[..marks.len().div_ceil(WORD)];
        find_words(level, marks, words);
        for (bits, start) in words.iter().zip((number * WORDS * WORD..).step_by(WORD)) {
            let mut bits = *bits;
            while bits != 0 {
                take(start + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

/// A bit for each mark that is set.
#[inline(never)]
fn find_words(level: Level, marks: &[u8], words: &mut [u64]) {
    struct Find<'a>(&'a [u8], &'a mut [u64]);

    impl Kernel for Find<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            let (whole, rest) = self.0.as_chunks::<WORD>();
            for (word, marks) in self.1.iter_mut().zip(whole) {
                *word = word_of(marks);
            }
            if let (false, Some(word)) = (rest.is_empty(), self.1.get_mut(whole.len())) {
                let mut marks = [0; WORD];
                marks[..rest.len()].copy_from_slice(rest);
                *word = word_of(&marks);
            }
        }
    }

    isa::run(level, Find(marks, words));
}

#[inline(always)]
fn word_of(marks: &[u8; WORD]) -> u64 {
    let mut bits = 0;
    for (k, eight) in marks.as_chunks::<8>().0.iter().enumerate() {
        // Gathers the lowest bits of eight bytes in the highest byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * k);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    #[test]
    fn marks_are_found_wherever_they_are() {
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 300, 1000, 2048, 2049, 5000] {
            for step in [1, 2, 3, 7, 64, 255, 256, 999] {
                for first in [0, 1, 5, 250] {
                    let mut marks = vec![0; len];
                    marks.iter_mut().skip(first).step_by(step).for_each(|mark| *mark = 1);
                    let expected: Vec<usize> = (0..len).filter(|k| marks[*k] != 0).collect();
                    let mut found = Vec::new();
                    for level in levels() {
                        found.clear();
                        for_each(level, &marks, |k| found.push(k));
                        assert_eq!(found, expected);
                        assert_eq!(any_at(level, &marks), !expected.is_empty());
                    }
                    assert_eq!(count(&marks), expected.len());
                    assert_eq!(last(&marks), expected.last().copied());
                    assert_eq!(any(&marks), !expected.is_empty());
                }
            }
        }
    }
}
