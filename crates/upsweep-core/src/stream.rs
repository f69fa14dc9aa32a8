//! What is known between the chunks of an array that comes piece by piece.
//!
//! Chunks end where the summation specification has a boundary, so that what has come so far is a few
//! values, and the bits are those of the whole array.

use crate::summation::{TILE, WINDOW};
use crate::{Carry, Direction, Element, Error, Operator, Reduce, Result, Scan, Tree};

/// Items of a chunk of a reduction: every chunk but the last has a multiple of them. A power of two of
/// tiles, and of windows.
pub const REDUCE_CHUNK: usize = 1 << 20;

const _: () = assert!((REDUCE_CHUNK / TILE).is_power_of_two());
const _: () = assert!(REDUCE_CHUNK.is_multiple_of(WINDOW));

/// A reduction of an array in chunks, as far as it has come.
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
    pub fn operator(&self) -> O {
        self.problem.operator
    }

    /// Checks that a chunk of `items` items may follow.
    ///
    /// # Errors
    /// [`Error::ChunkLength`] if an earlier chunk was the last.
    pub fn check(&mut self, items: usize) -> Result<()> {
        if self.last && items > 0 {
            return Err(Error::ChunkLength { items, multiple: REDUCE_CHUNK });
        }
        self.last |= !items.is_multiple_of(REDUCE_CHUNK);
        Ok(())
    }

    /// The most of the next items, at most `most` of which there are, that are a subtree of the tree:
    /// the length of the next piece whose value is pushed.
    pub fn piece(&self, most: usize) -> usize {
        let tiles = self.tree.count();
        let aligned = if tiles == 0 { u32::MAX } else { tiles.trailing_zeros() };
        match (most / TILE).checked_ilog2() {
            Some(level) if most >= REDUCE_CHUNK => TILE << level.min(aligned),
            _ => most,
        }
    }

    /// Appends the value of a [piece](ReduceState::piece) of `items` items.
    pub fn push(&mut self, total: A, items: usize) {
        let level = items.div_ceil(TILE).next_power_of_two().ilog2();
        self.tree.push_subtree(total, level, &self.problem.operator);
    }

    /// What comes into the next window, for an operator that does not commute.
    pub fn carry(&mut self) -> &mut Carry<A> {
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

/// A scan of an array in chunks, as far as it has come.
#[derive(Clone, Debug)]
pub struct ScanState<A, O> {
    problem: Scan<A, O>,
    carry: Carry<A>,
    started: bool,
    last: bool,
}

impl<A: Element, O: Operator<A>> ScanState<A, O> {
    /// Nothing so far.
    pub fn new(problem: Scan<A, O>) -> Self {
        let carry = Carry::new(problem.init, &problem.operator);
        Self { problem, carry, started: false, last: false }
    }

    /// From which end chunks come.
    pub fn direction(&self) -> Direction {
        self.problem.direction
    }

    /// Checks that a chunk of `items` items may follow; returns whether it is the first.
    ///
    /// # Errors
    /// [`Error::ChunkLength`] if an earlier chunk was the last.
    pub fn check(&mut self, items: usize) -> Result<bool> {
        if self.last && items > 0 {
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        self.last |= !items.is_multiple_of(WINDOW);
        let first = !self.started && items > 0;
        self.started |= first;
        Ok(first)
    }

    /// The problem, and what comes into the next chunk.
    pub fn parts(&mut self) -> (&Scan<A, O>, &mut Carry<A>) {
        (&self.problem, &mut self.carry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sum, reference};

    /// Whatever the pieces, the value is that of the whole.
    #[test]
    fn pieces_are_subtrees() -> Result<()> {
        let items: Vec<f32> =
            (0..5 * REDUCE_CHUNK + 12_345).map(|i| (i % 97) as f32 / 7.0).collect();
        let problem = Reduce::<f32, _>::new(Sum);
        let expected = reference::specified::reduce(&items, &problem);
        for most in [REDUCE_CHUNK, 2 * REDUCE_CHUNK, 3 * REDUCE_CHUNK, usize::MAX] {
            let mut state = ReduceState::new(problem);
            let mut rest = &items[..];
            while !rest.is_empty() {
                let piece = state.piece(rest.len().min(most));
                state.check(piece)?;
                state.push(reference::specified::reduce(&rest[..piece], &problem), piece);
                rest = &rest[piece..];
            }
            assert_eq!(state.finish().to_bits(), expected.to_bits(), "{most}");
        }
        Ok(())
    }
}
