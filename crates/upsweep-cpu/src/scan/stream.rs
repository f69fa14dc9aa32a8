//! A scan of an array that comes in chunks.

use upsweep_core::summation::WINDOW;
use upsweep_core::{Direction, Element, Error, Operator, Result, Scan};

use super::carry::Carry;

/// What a scan of an array in chunks knows of the chunks so far.
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
    pub(crate) fn check(&mut self, items: usize) -> Result<bool> {
        if self.last && items > 0 {
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        self.last |= !items.is_multiple_of(WINDOW);
        let first = !self.started && items > 0;
        self.started |= first;
        Ok(first)
    }

    /// The problem, and what comes into the next chunk.
    pub(crate) fn parts(&mut self) -> (&Scan<A, O>, &mut Carry<A>) {
        (&self.problem, &mut self.carry)
    }
}
