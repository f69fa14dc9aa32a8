//! What comes into a tile of a scan, from all tiles before it.

use crate::summation::TILES;
use crate::{Element, Operator, Tree};

/// Levels of the tree over the tiles of a window: subtrees of 1, 2, … 32 tiles.
const LEVELS: usize = TILES.ilog2() as usize + 1;

/// The combination of everything before the next tile, as the specification groups it.
///
/// For an exact operator the grouping cannot be seen, and everything is kept in one value.
#[derive(Clone, Copy, Debug)]
pub struct Carry<A> {
    /// What comes into the current window; padding if nothing does.
    base: A,
    /// The tiles of the current window so far.
    window: Tree<A, LEVELS>,
    /// Whether `base` is more than padding.
    started: bool,
}

impl<A: Element> Carry<A> {
    /// What comes into the first tile: a start value or nothing.
    #[inline(always)]
    pub fn new(init: Option<A>, operator: &impl Operator<A>) -> Self {
        Self {
            base: init.unwrap_or(operator.padding()),
            window: Tree::new(operator),
            started: init.is_some(),
        }
    }

    /// What comes into the next tile; padding if nothing does.
    #[inline(always)]
    pub fn before_next<O: Operator<A>>(&self, operator: &O) -> A {
        if self.window.count() == 0 {
            self.base
        } else {
            operator.combine(self.base, self.window.total(operator))
        }
    }

    /// Appends the total of 2^`level` tiles, which do not cross the end of a window.
    #[inline(always)]
    pub fn push<O: Operator<A>>(&mut self, total: A, level: u32, operator: &O) {
        self.window.push_subtree(total, level, operator);
        if self.window.count() == TILES as u64 {
            self.set(operator.combine(self.base, self.window.total(operator)), operator);
        }
    }

    /// Replaces everything so far by its value: at the end of a window, or of an exact operator
    /// anywhere.
    #[inline(always)]
    pub fn set<O: Operator<A>>(&mut self, value: A, operator: &O) {
        *self = Self { base: value, window: Tree::new(operator), started: true };
    }

    /// The value of everything so far; `None` if there was nothing.
    pub fn total<O: Operator<A>>(&self, operator: &O) -> Option<A> {
        (self.started || self.window.count() > 0).then(|| self.before_next(operator))
    }
}
