//! A row of a scan in segments: as [`scan::row`](crate::scan::row), with values and marks in arrays of their own.
//!
//! ```text
//!   marks    1 0 0 1 │ 0 0 1 0 │ …          1 where a segment begins
//!   group    a ab (ab)c d │ …               behind a mark nothing reaches from before it
//!   word     one of 32 bits: whether a prefix of the group has a mark is a mask of it
//! ```
//! Of both operands of a choice the combined one is always computed, so that loops become vectors.

#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays are indexed alike, as the compiler's vectors are"
)]

use core::hint::black_box;

use upsweep_core::summation::{GROUP, GROUPS, LANES};
use upsweep_core::{Element, Operator, Segmented};

const _: () = assert!(GROUP == 4, "the body below is written out for four items");

/// `right`, with `left` in front unless `begins` is not 0.
#[inline(always)]
fn behind<A: Element, O: Operator<A>>(left: A, right: A, begins: u32, operator: &O) -> A {
    let combined = operator.combine(left, right);
    if begins == 0 { combined } else { right }
}

/// Bytes of the marks of items `[first, end)` of a group in its word.
const fn mask(first: u32, end: u32) -> u32 {
    (u32::MAX >> (8 * (4 - end + first))) << (8 * first)
}

/// Writes the prefixes of a row and returns its total, without the carry. What an exclusive scan writes where a segment begins is
/// of no meaning.
#[inline(always)]
pub(super) fn scan_row<A: Element, O: Operator<A>>(
    items: &[A; LANES],
    marks: &[u8; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> Segmented<A> {
    scan_groups(GROUPS, items, marks, output, carry, exclusive, operator)
}

/// The same in loops that the compiler does not unroll.
#[inline(never)]
pub(super) fn scan_row_plainly<A: Element, O: Operator<A>>(
    items: &[A; LANES],
    marks: &[u8; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> Segmented<A> {
    scan_groups(black_box(GROUPS), items, marks, output, carry, exclusive, operator)
}

/// The text of both: `groups` is [`GROUPS`], known to the compiler or not.
#[inline(always)]
fn scan_groups<A: Element, O: Operator<A>>(
    groups: usize,
    items: &[A; LANES],
    marks: &[u8; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> Segmented<A> {
    let mut words = [0; GROUPS];
    for (word, marks) in words.iter_mut().zip(marks.as_chunks::<GROUP>().0) {
        *word = u32::from_le_bytes(*marks);
    }
    let mut prefixes = [[items[0]; GROUPS]; GROUP];
    for group in 0..groups {
        let at = GROUP * group;
        let (a, b, c, d) = (items[at], items[at + 1], items[at + 2], items[at + 3]);
        let word = words[group];
        let pair = behind(a, b, word & mask(1, 2), operator);
        let other = behind(c, d, word & mask(3, 4), operator);
        prefixes[0][group] = a;
        prefixes[1][group] = pair;
        prefixes[2][group] = behind(pair, c, word & mask(2, 3), operator);
        prefixes[3][group] = behind(pair, other, word & mask(2, 4), operator);
    }
    let mut totals = prefixes[3];
    // Not 0 where a segment begins in the groups that a total is of.
    let mut begins = words;
    for four in 0..groups / 4 {
        let at = 4 * four;
        let (a, b, c, d) = (totals[at], totals[at + 1], totals[at + 2], totals[at + 3]);
        let (fa, fb, fc, fd) = (begins[at], begins[at + 1], begins[at + 2], begins[at + 3]);
        let pair = behind(a, b, fb, operator);
        let other = behind(c, d, fd, operator);
        totals[at + 1] = pair;
        totals[at + 2] = behind(pair, c, fc, operator);
        totals[at + 3] = behind(pair, other, fc | fd, operator);
        begins[at + 1] = fa | fb;
        begins[at + 2] = fa | fb | fc;
        begins[at + 3] = fa | fb | fc | fd;
    }
    let mut half = 4;
    while half < groups {
        let mut start = 0;
        while start < groups {
            let (left, left_begins) = (totals[start + half - 1], begins[start + half - 1]);
            for group in start + half..start + 2 * half {
                totals[group] = behind(left, totals[group], begins[group], operator);
                begins[group] |= left_begins;
            }
            start += 2 * half;
        }
        half *= 2;
    }
    let mut carries = [carry; GROUPS];
    for group in 1..groups {
        carries[group] = behind(carry, totals[group - 1], begins[group - 1], operator);
    }
    for group in 0..groups {
        let at = GROUP * group;
        let (carry, word) = (carries[group], words[group]);
        let value = |item: usize, mask| behind(carry, prefixes[item][group], word & mask, operator);
        if exclusive {
            output[at] = carry;
            output[at + 1] = value(0, mask(0, 1));
            output[at + 2] = value(1, mask(0, 2));
            output[at + 3] = value(2, mask(0, 3));
        } else {
            output[at] = value(0, mask(0, 1));
            output[at + 1] = value(1, mask(0, 2));
            output[at + 2] = value(2, mask(0, 3));
            output[at + 3] = value(3, mask(0, 4));
        }
    }
    Segmented { value: totals[GROUPS - 1], begins: begins[GROUPS - 1] != 0 }
}
