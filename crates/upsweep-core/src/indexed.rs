//! Positions of extremes: a value with its index, and the operators that keep the better one.

use crate::{Dtype, Element, Kind, Number, Operator};

/// A value and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Indexed<T> {
    /// The value.
    pub value: T,
    /// Its position. `u64::MAX` in the identity: no position.
    pub index: u64,
}

impl<T: Number> Element for Indexed<T> {
    type Acc = Self;
    const KIND: Kind = Kind::Struct {
        name: "Indexed",
        fields: &[
            ("value", 0, T::DTYPE),
            ("index", core::mem::offset_of!(Self, index), Dtype::U64),
        ],
    };
    // Choosing one of two values never rounds.
    const EXACT: bool = true;

    #[inline(always)]
    fn to_acc(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_acc(acc: Self) -> Self {
        acc
    }
}

/// Which extreme is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
}

/// The smallest value and its first position.
///
/// −0 and +0 are equal. A NaN is taken for smaller than every number, so that the first NaN is
/// found, as numpy's `argmin` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgMin;

/// The largest value and its first position.
///
/// −0 and +0 are equal. A NaN is taken for larger than every number, so that the first NaN is
/// found, as numpy's `argmax` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgMax;

/// `left` unless `right` is better, or as good and stands before it.
#[inline(always)]
fn better<T: Number>(
    left: Indexed<T>,
    right: Indexed<T>,
    wins: impl Fn(T, T) -> bool,
) -> Indexed<T> {
    let equal = left.value == right.value || (left.value.is_nan() && right.value.is_nan());
    let right_wins = if left.value.is_nan() || right.value.is_nan() {
        !left.value.is_nan()
    } else {
        wins(right.value, left.value)
    };
    if (equal && right.index < left.index) || (!equal && right_wins) { right } else { left }
}

macro_rules! extreme {
    ($($operator:ident $name:literal $wins:expr, $identity:ident;)*) => { $(
        impl<T: Number> Operator<Indexed<T>> for $operator
        where
            crate::$identity: Operator<T>,
        {
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn identity(&self) -> Indexed<T> {
                Indexed { value: crate::$identity.identity(), index: u64::MAX }
            }

            #[inline(always)]
            fn combine(&self, left: Indexed<T>, right: Indexed<T>) -> Indexed<T> {
                better(left, right, $wins)
            }
        }
    )* };
}

extreme! {
    ArgMin "argmin" |new, old| new < old, Min;
    ArgMax "argmax" |new, old| new > old, Max;
}
