//! An operator as a value, for all code around kernels: compiled once for each type, not for each operator.

use upsweep_core::{Element, Operator};

/// An operator on `A` whose type is not known here. It combines by a call, so that it is for what is done once for a block, a tile or a
/// row, and not for what is done with every item.
#[derive(Clone, Copy)]
pub(crate) struct ErasedOperator<A> {
    operator: *const (),
    combine: unsafe fn(*const (), A, A) -> A,
    identity: A,
    padding: A,
    exact: bool,
}

// SAFETY: all it does with the pointer is to hand it to `combine` as a shared reference to an operator, which every thread may have:
// operators are `Sync`.
unsafe impl<A: Send> Send for ErasedOperator<A> {}

// SAFETY: as above.
unsafe impl<A: Sync> Sync for ErasedOperator<A> {}

impl<A: Element> ErasedOperator<A> {
    /// `operator`, without its type.
    ///
    /// # Safety
    /// Neither this value nor a copy of it combines anything when `operator` is not there any more.
    pub(crate) unsafe fn new<O: Operator<A>>(operator: &O) -> Self {
        /// # Safety
        /// `operator` points to an operator of type `O`.
        unsafe fn combine<A: Element, O: Operator<A>>(operator: *const (), left: A, right: A) -> A {
            // SAFETY: the caller's.
            unsafe { &*operator.cast::<O>() }.combine(left, right)
        }
        Self {
            operator: (&raw const *operator).cast(),
            combine: combine::<A, O>,
            identity: operator.identity(),
            padding: operator.padding(),
            exact: O::EXACT,
        }
    }

    /// Whether the grouping of items cannot be seen in the result: [`Operator::EXACT`], which is not known of this type.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }
}

impl<A: Element> Operator<A> for ErasedOperator<A> {
    const NAME: &'static str = "any";
    const COMMUTATIVE: bool = false;
    const EXACT: bool = false;

    fn identity(&self) -> A {
        self.identity
    }

    #[inline(always)]
    fn padding(&self) -> A {
        self.padding
    }

    #[inline(always)]
    fn combine(&self, left: A, right: A) -> A {
        // SAFETY: `new` made `combine` for the type of the operator, which is still there.
        unsafe { (self.combine)(self.operator, left, right) }
    }
}
