//! A row of a scan in the specified order, as loops that every instruction set can vectorise.
//!
//! ```text
//!   items    a b c d │ e f g h │ …          32 groups of 4
//!   group    a ab (ab)c (ab)(cd) │ …        each by itself
//!   row      totals of the groups, aligned prefixes over all 32
//!   output   (carry ⊕ groups before) ⊕ prefix in the group
//! ```
//! The four prefixes of all groups are four arrays, so that the compiler loads with a stride of
//! four, works on whole vectors, and stores with a stride of four: instructions that Arm has, and
//! x86 makes of a few shuffles.

#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays are indexed alike, as the compiler's vectors are"
)]

use core::hint::black_box;

use upsweep_core::summation::{GROUP, GROUPS, LANES};
use upsweep_core::{Element, Operator};

const _: () = assert!(GROUP == 4, "the body below is written out for four items");

/// Prefixes of the groups of a row: `prefixes[i][g]` is that of item `i` of group `g`.
#[inline(always)]
fn group_prefixes<A: Element, O: Operator<A>>(
    groups: usize,
    items: &[A; LANES],
    operator: &O,
) -> [[A; GROUPS]; GROUP] {
    let mut prefixes = [[items[0]; GROUPS]; GROUP];
    for group in 0..groups {
        let at = GROUP * group;
        let (a, b, c, d) = (items[at], items[at + 1], items[at + 2], items[at + 3]);
        let pair = operator.combine(a, b);
        prefixes[0][group] = a;
        prefixes[1][group] = pair;
        prefixes[2][group] = operator.combine(pair, c);
        prefixes[3][group] = operator.combine(pair, operator.combine(c, d));
    }
    prefixes
}

/// Writes the prefixes of a row and returns its total, without the carry. Which prefixes, a branch says behind all that both have in
/// common.
#[inline(always)]
pub(crate) fn scan_row<A: Element, O: Operator<A>>(
    items: &[A; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> A {
    scan_groups(GROUPS, items, output, carry, exclusive, operator)
}

/// The same in loops that the compiler does not unroll.
#[inline(never)]
pub(crate) fn scan_row_plainly<A: Element, O: Operator<A>>(
    items: &[A; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> A {
    scan_groups(black_box(GROUPS), items, output, carry, exclusive, operator)
}

/// The text of both: `groups` is [`GROUPS`], known to the compiler or not.
#[inline(always)]
fn scan_groups<A: Element, O: Operator<A>>(
    groups: usize,
    items: &[A; LANES],
    output: &mut [A; LANES],
    carry: A,
    exclusive: bool,
    operator: &O,
) -> A {
    let prefixes = group_prefixes(groups, items, operator);
    let mut totals = prefixes[3];
    let mut half = 1;
    while half < groups {
        let mut start = 0;
        while start < groups {
            let left = totals[start + half - 1];
            for group in start + half..start + 2 * half {
                totals[group] = operator.combine(left, totals[group]);
            }
            start += 2 * half;
        }
        half *= 2;
    }
    let mut carries = [carry; GROUPS];
    for group in 1..groups {
        carries[group] = operator.combine(carry, totals[group - 1]);
    }
    for group in 0..groups {
        let at = GROUP * group;
        let carry = carries[group];
        if exclusive {
            output[at] = carry;
            output[at + 1] = operator.combine(carry, prefixes[0][group]);
            output[at + 2] = operator.combine(carry, prefixes[1][group]);
            output[at + 3] = operator.combine(carry, prefixes[2][group]);
        } else {
            output[at] = operator.combine(carry, prefixes[0][group]);
            output[at + 1] = operator.combine(carry, prefixes[1][group]);
            output[at + 2] = operator.combine(carry, prefixes[2][group]);
            output[at + 3] = operator.combine(carry, prefixes[3][group]);
        }
    }
    totals[GROUPS - 1]
}

/// The total of a row: a balanced tree over neighbours.
#[inline(always)]
pub(crate) fn total_row<A: Element, O: Operator<A>>(items: &[A; LANES], operator: &O) -> A {
    total_groups(GROUPS, items, operator)
}

/// The same in loops that the compiler does not unroll.
#[inline(never)]
pub(crate) fn total_row_plainly<A: Element, O: Operator<A>>(items: &[A; LANES], operator: &O) -> A {
    total_groups(black_box(GROUPS), items, operator)
}

/// The text of both: `groups` is [`GROUPS`], known to the compiler or not.
#[inline(always)]
fn total_groups<A: Element, O: Operator<A>>(groups: usize, items: &[A; LANES], operator: &O) -> A {
    let mut totals = [items[0]; GROUPS];
    for group in 0..groups {
        let at = GROUP * group;
        let left = operator.combine(items[at], items[at + 1]);
        let right = operator.combine(items[at + 2], items[at + 3]);
        totals[group] = operator.combine(left, right);
    }
    let mut pairs = groups / 2;
    while pairs > 0 {
        for pair in 0..pairs {
            totals[pair] = operator.combine(totals[2 * pair], totals[2 * pair + 1]);
        }
        pairs /= 2;
    }
    totals[0]
}
