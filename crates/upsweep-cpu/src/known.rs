//! What is known of types and operators when a call is compiled. What stands behind `if const` is compiled for no others, where comparing
//! `TypeId`s leaves all of it to the optimiser, once for each type.

use upsweep_core::{Builtin, Element, Operator};

/// Whether two types are the same number.
pub(crate) const fn is_number<A: Element, B: Element>() -> bool {
    match (A::KIND.number(), B::KIND.number()) {
        (Some(a), Some(b)) => a as u8 == b as u8,
        _ => false,
    }
}

/// Whether values of type `A` are the numbers `B`, and are combined by this operator.
pub(crate) const fn is_pair<A: Element, B: Element, O: Operator<A>>(operator: Builtin) -> bool {
    match O::BUILTIN {
        Some(own) => own as u8 == operator as u8 && is_number::<A, B>(),
        None => false,
    }
}
