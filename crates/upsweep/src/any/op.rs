//! The built-in operators as a value.

use core::fmt::{self, Display};
use core::str::FromStr;

use crate::{Dtype, Error, Result};

/// What items are combined with, or searched for.
///
/// # Examples
/// ```
/// use upsweep::{Dtype, any::Op};
/// let op: Op = "xor".parse()?;
/// assert_eq!(op, Op::Xor);
/// assert!(op.check(Dtype::U8).is_ok() && op.check(Dtype::F32).is_err());
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// [`Sum`](crate::Sum).
    Sum,
    /// [`Product`](crate::Product).
    Product,
    /// [`Min`](crate::Min).
    Min,
    /// [`Max`](crate::Max).
    Max,
    /// [`BitAnd`](crate::BitAnd).
    And,
    /// [`BitOr`](crate::BitOr).
    Or,
    /// [`BitXor`](crate::BitXor).
    Xor,
    /// The first position of the smallest item: [`argmin`](crate::argmin).
    ArgMin,
    /// The first position of the largest item: [`argmax`](crate::argmax).
    ArgMax,
    /// [`mean`](crate::mean).
    Mean,
}

impl Op {
    /// Every operator with its name, in the order in which help lists them.
    pub const ALL: [(Op, &'static str); 10] = [
        (Op::Sum, "sum"),
        (Op::Product, "product"),
        (Op::Min, "min"),
        (Op::Max, "max"),
        (Op::And, "and"),
        (Op::Or, "or"),
        (Op::Xor, "xor"),
        (Op::ArgMin, "argmin"),
        (Op::ArgMax, "argmax"),
        (Op::Mean, "mean"),
    ];

    /// The name in commands and records.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// Whether there is a scan with this operator.
    pub fn scans(self) -> bool {
        !self.is_position() && self != Op::Mean
    }

    /// Whether this is a sum, a product or a mean, for which a wider accumulator makes a difference.
    pub fn accumulates(self) -> bool {
        matches!(self, Op::Sum | Op::Product | Op::Mean)
    }

    /// Whether the result is the position of an item.
    pub fn is_position(self) -> bool {
        matches!(self, Op::ArgMin | Op::ArgMax)
    }

    /// Whether the operator is defined for a type.
    ///
    /// # Errors
    /// [`Error::OperatorElement`] for bit operators on floats.
    pub fn check(self, dtype: Dtype) -> Result<()> {
        if matches!(self, Op::And | Op::Or | Op::Xor) && dtype.is_float() {
            return Err(Error::OperatorElement { operator: self.name(), dtype });
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(op, _)| op).ok_or_else(|| Error::UnknownName {
            what: "operator",
            name: name.to_owned(),
            known: Self::ALL.map(|(_, name)| name).join(" "),
        })
    }
}
