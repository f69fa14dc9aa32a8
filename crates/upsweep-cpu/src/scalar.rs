//! One item at a time: the baseline that vectors are measured against.

use core::hint::black_box;

use upsweep_core::{Element, Operator, Scan};

/// An operator that the compiler cannot see through, so that it cannot combine several items at
/// once. The order of the items, and so every bit of the result, stays the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opaque<O>(pub(crate) O);

impl<O> Opaque<O> {
    /// The same scan with the opaque operator.
    pub(crate) fn scan<A: Element>(problem: &Scan<A, O>) -> Scan<A, Self>
    where
        O: Operator<A>,
    {
        let mut opaque = Scan::inclusive(Opaque(problem.operator));
        opaque.bounds = problem.bounds;
        opaque.direction = problem.direction;
        opaque.init = problem.init;
        opaque.determinism = problem.determinism;
        opaque
    }
}

impl<A: Element, O: Operator<A>> Operator<A> for Opaque<O> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const EXACT: bool = O::EXACT;

    fn identity(&self) -> A {
        self.0.identity()
    }

    #[inline(always)]
    fn padding(&self) -> A {
        self.0.padding()
    }

    #[inline(always)]
    fn combine(&self, left: A, right: A) -> A {
        black_box(self.0.combine(left, right))
    }
}
