//! A reduction of an array that comes in chunks.

use upsweep_core::summation::{TILE, WINDOW};
use upsweep_core::{Element, Error, Operator, Reduce, Result};

use super::tile::Tree;
use crate::scan::Carry;

/// Items of a chunk: every chunk but the last of a [`ReduceState`] has a multiple of them. A
/// power of two of tiles, and of windows.
pub const REDUCE_CHUNK: usize = 1 << 20;

/// Tiles of a chunk are 2 to this power.
const LEVEL: u32 = (REDUCE_CHUNK / TILE).ilog2();

const _: () = assert!((REDUCE_CHUNK / TILE).is_power_of_two());
const _: () = assert!(REDUCE_CHUNK.is_multiple_of(WINDOW));

/// What a reduction of an array in chunks knows of the chunks so far.
#[derive(Clone, Debug)]
pub struct ReduceState<A, O> {
    problem: Reduce<A, O>,
    /// For an operator that commutes: the tree over tiles.
    tree: Tree<A>,
    /// For one that does not: what comes into the next window.
    carry: Carry<A>,
    last: bool,
}

impl<A: Element, O: Operator<A>> ReduceState<A, O> {
    /// Nothing so far.
    pub fn new(problem: Reduce<A, O>) -> Self {
        let operator = &problem.operator;
        let (tree, carry) = (Tree::new(operator), Carry::new(None, operator));
        Self { problem, tree, carry, last: false }
    }

    /// The operator.
    pub(crate) fn operator(&self) -> O {
        self.problem.operator
    }

    /// Checks that a chunk of `items` items may follow.
    pub(crate) fn check(&mut self, items: usize) -> Result<()> {
        if self.last && items > 0 {
            return Err(Error::ChunkLength { items, multiple: REDUCE_CHUNK });
        }
        self.last |= !items.is_multiple_of(REDUCE_CHUNK);
        Ok(())
    }

    /// Appends the value of `[1, REDUCE_CHUNK]` items.
    pub(crate) fn push(&mut self, total: A) {
        self.tree.push_subtree(total, LEVEL, &self.problem.operator);
    }

    /// For an operator that does not commute.
    pub(crate) fn carry(&mut self) -> &mut Carry<A> {
        &mut self.carry
    }

    /// The value of all chunks so far.
    pub fn finish(&self) -> A {
        let operator = &self.problem.operator;
        let total = if O::COMMUTATIVE {
            (self.tree.count() > 0).then(|| self.tree.total(operator))
        } else {
            self.carry.total(operator)
        };
        match (self.problem.init, total) {
            (None, None) => operator.identity(),
            (Some(value), None) | (None, Some(value)) => value,
            (Some(init), Some(total)) => operator.combine(init, total),
        }
    }
}
