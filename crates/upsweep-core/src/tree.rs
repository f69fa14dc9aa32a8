//! The aligned binary tree of the summation specification, built as values come.

use crate::{Element, Operator};

/// An aligned binary tree over values that come one after another.
///
/// Bit `k` of the count says whether a subtree of 2ᵏ values waits for its right neighbour.
///
/// The value of all so far is also the prefix that the specification of a scan wants in front of
/// the next one: the total of each left half in front of what follows in the right half.
#[derive(Clone, Copy, Debug)]
pub struct Tree<A, const LEVELS: usize = 64> {
    subtrees: [A; LEVELS],
    count: u64,
}

impl<A: Element, const LEVELS: usize> Tree<A, LEVELS> {
    /// Nothing so far.
    #[inline(always)]
    pub fn new(operator: &impl Operator<A>) -> Self {
        Self { subtrees: [operator.padding(); LEVELS], count: 0 }
    }

    /// Appends one value.
    #[inline(always)]
    pub fn push(&mut self, value: A, operator: &impl Operator<A>) {
        self.push_subtree(value, 0, operator);
    }

    /// Appends the root of a full subtree of 2^`level` values; so many are a multiple of it.
    #[inline(always)]
    pub fn push_subtree(&mut self, value: A, level: u32, operator: &impl Operator<A>) {
        debug_assert_eq!(self.count & ((1 << level) - 1), 0);
        let mut value = value;
        let mut k = level as usize;
        while self.count >> k & 1 == 1 {
            value = operator.combine(self.subtrees[k], value);
            k += 1;
        }
        self.subtrees[k] = value;
        self.count += 1 << level;
    }

    /// The value of all that was appended: a subtree without a right neighbour moves up as it
    /// is. Padding if there was nothing.
    #[inline(always)]
    pub fn total(&self, operator: &impl Operator<A>) -> A {
        let mut waiting = self.count;
        let mut total = operator.padding();
        while waiting != 0 {
            let k = waiting.trailing_zeros() as usize;
            total = operator.combine(self.subtrees[k], total);
            waiting &= waiting - 1;
        }
        total
    }

    /// The subtree of 2^`level` values that waits for its right neighbour; padding if none does.
    #[inline(always)]
    pub fn waiting(&self, level: usize, operator: &impl Operator<A>) -> A {
        match self.count >> level & 1 {
            1 => self.subtrees[level],
            _ => operator.padding(),
        }
    }

    /// Values so far.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count
    }
}
