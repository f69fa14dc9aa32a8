//! The laws of operators, checked on samples.
//!
//! ```
//! use upsweep_core::laws::{self, Law};
//! use upsweep_core::{Element, Max, Operator, Sum};
//!
//! laws::check(&Max, &[1.5f32, -0.0, 0.0, f32::INFINITY])?;
//! laws::check(&Sum, &[1u8, 200, 255])?;
//!
//! /// Says that it commutes.
//! #[derive(Clone, Copy)]
//! struct Right;
//! impl Operator<u32> for Right {
//!     const NAME: &'static str = "right";
//!     const COMMUTATIVE: bool = true;
//!     fn identity(&self) -> u32 { 0 }
//!     fn combine(&self, _: u32, right: u32) -> u32 { right }
//! }
//! let broken = laws::check(&Right, &[1, 2]).expect_err("the left identity");
//! assert_eq!(broken.law, Law::Identity);
//! assert_eq!(broken.to_string(), "right: the identity changes a value: of [1, 0] came 0, not 1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;

use crate::kernel::{Described, Value};
use crate::{Dtype, Element, Operator};

/// What an operator promises; see [`Operator`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// `combine(combine(a, b), c)` is `combine(a, combine(b, c))`.
    Associative,
    /// The identity on either side leaves a value equal.
    Identity,
    /// The padding on either side leaves a value as it is, bit for bit.
    Padding,
    /// `combine(a, b)` is `combine(b, a)`, if that is declared.
    Commutative,
}

/// A law that does not hold, and for which values.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation<A> {
    /// The operator's name.
    pub operator: &'static str,
    /// What does not hold.
    pub law: Law,
    /// The values that were combined, in their order.
    pub operands: Vec<A>,
    /// What came of them.
    pub found: A,
    /// What should have.
    pub expected: A,
}

impl<A: fmt::Debug> fmt::Display for Violation<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.law {
            Law::Associative => "grouping changes the result",
            Law::Identity => "the identity changes a value",
            Law::Padding => "the padding changes a value",
            Law::Commutative => "it does not commute as declared",
        };
        let Self { operator, operands, found, expected, .. } = self;
        write!(f, "{operator}: {what}: of {operands:?} came {found:?}, not {expected:?}")
    }
}

impl<A: fmt::Debug> std::error::Error for Violation<A> {}

/// How many roundings two groupings of three values may lie apart.
const ROUNDINGS: f64 = 16.0;

/// Checks an operator's laws on all samples, pairs and triples of samples.
///
/// Results are compared bit by bit, any NaN being the same, if the operator is exact. If it rounds, two groupings may differ in
/// each float by 16 roundings of the largest number that stands in the samples or in what they are combined to on the way; a
/// float that is not finite on either side is not compared then.
///
/// # Cost
/// Four combinations for each triple: some ten to thirty samples are enough.
///
/// # Errors
/// The first law that does not hold, with the values.
pub fn check<A, O>(operator: &O, samples: &[A]) -> Result<(), Violation<A>>
where
    A: Element + Described,
    O: Operator<A>,
{
    check_by(operator, samples, |found, expected, on_the_way| {
        if O::EXACT {
            return is_same(&found.value(), &expected.value());
        }
        let mut numbers = Vec::new();
        on_the_way.iter().for_each(|value| floats(&value.value(), &mut numbers));
        let largest = numbers.iter().filter(|number| number.is_finite());
        let largest = largest.fold(0.0, |most: f64, number| most.max(number.abs()));
        is_near(&found.value(), &expected.value(), largest)
    })
}

/// As [`check`], for results that `same(found, expected, on_the_way)` compares; the last are the operands and what they were
/// combined to on the way. The padding must leave `same` values with nothing on the way.
///
/// # Errors
/// The first law that does not hold, with the values.
pub fn check_by<A, O>(
    operator: &O,
    samples: &[A],
    same: impl Fn(A, A, &[A]) -> bool,
) -> Result<(), Violation<A>>
where
    A: Element,
    O: Operator<A>,
{
    let broken = |law, operands: &[A], found, expected| {
        Err(Violation { operator: O::NAME, law, operands: operands.to_vec(), found, expected })
    };
    let combine = |left, right| operator.combine(left, right);
    for &a in samples {
        for [left, right] in [[operator.identity(), a], [a, operator.identity()]] {
            let found = combine(left, right);
            #[allow(clippy::eq_op, reason = "only a NaN is not itself")]
            let is_nan = a != a;
            if found != a && !is_nan {
                return broken(Law::Identity, &[left, right], found, a);
            }
        }
        for [left, right] in [[operator.padding(), a], [a, operator.padding()]] {
            let found = combine(left, right);
            if !same(found, a, &[]) {
                return broken(Law::Padding, &[left, right], found, a);
            }
        }
    }
    for &a in samples {
        for &b in samples {
            let (found, expected) = (combine(b, a), combine(a, b));
            if O::COMMUTATIVE && !same(found, expected, &[]) {
                return broken(Law::Commutative, &[a, b], found, expected);
            }
            for &c in samples {
                let (left, right) = (combine(a, b), combine(b, c));
                let (found, expected) = (combine(left, c), combine(a, right));
                if !same(found, expected, &[a, b, c, left, right, found, expected]) {
                    return broken(Law::Associative, &[a, b, c], found, expected);
                }
            }
        }
    }
    Ok(())
}

fn float(dtype: Dtype, bits: u64) -> Option<f64> {
    match dtype {
        Dtype::F32 => Some(f64::from(f32::from_bits(bits as u32))),
        Dtype::F64 => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn floats(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(dtype, bits) => found.extend(float(*dtype, *bits)),
        Value::Fields(_, values) => values.iter().for_each(|value| floats(value, found)),
        Value::Bool(_) => {}
    }
}

/// Whether two values have the same bits, any NaN being the same.
fn is_same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Fields(_, a), Value::Fields(_, b)) => {
            a.iter().zip(b).all(|(found, expected)| is_same(found, expected))
        }
        (Value::Number(dtype, a), Value::Number(_, b)) => {
            let is_nan = |bits| float(*dtype, bits).is_some_and(f64::is_nan);
            a == b || is_nan(*a) && is_nan(*b)
        }
        _ => found == expected,
    }
}

/// Whether two values differ by roundings of `largest` alone; if that is 0, not at all.
fn is_near(found: &Value, expected: &Value, largest: f64) -> bool {
    match (found, expected) {
        (Value::Fields(_, a), Value::Fields(_, b)) => {
            a.iter().zip(b).all(|(found, expected)| is_near(found, expected, largest))
        }
        (Value::Number(dtype, a), Value::Number(_, b)) if dtype.is_float() && largest > 0.0 => {
            let epsilon = if *dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            match (float(*dtype, *a), float(*dtype, *b)) {
                (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
                    (a - b).abs() <= ROUNDINGS * epsilon * largest
                }
                _ => true,
            }
        }
        _ => is_same(found, expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitXor, Max, Min, Product, Sum};

    const FLOATS: [f32; 8] = [0.0, -0.0, 1.0, -3.7, 1e-3, 2.5e7, f32::INFINITY, f32::NAN];

    #[test]
    fn built_in_operators_obey() {
        check(&Sum, &FLOATS).expect("a sum");
        check(&Product, &FLOATS).expect("a product");
        check(&Min, &FLOATS).expect("a minimum");
        check(&Max, &FLOATS.map(f64::from)).expect("a maximum");
        check(&BitXor, &[0u64, 1, u64::MAX]).expect("bits");
        check(&Product, &[i8::MIN, -1, 0, 7]).expect("a product");
    }

    /// Each law broken by an operator that keeps those that are checked before.
    #[test]
    fn each_law_is_told_from_the_others() {
        #[derive(Clone, Copy)]
        struct Chosen(Law);
        impl Operator<i32> for Chosen {
            const NAME: &'static str = "chosen";
            const COMMUTATIVE: bool = true;
            fn identity(&self) -> i32 {
                i32::from(self.0 == Law::Identity)
            }
            fn padding(&self) -> i32 {
                i32::from(self.0 == Law::Padding)
            }
            fn combine(&self, left: i32, right: i32) -> i32 {
                match self.0 {
                    // The later one, unless it is 0.
                    Law::Commutative => {
                        if right == 0 {
                            left
                        } else {
                            right
                        }
                    }
                    // The distance commutes, and 0 leaves what is not negative.
                    Law::Associative => (left - right).abs(),
                    _ => left + right,
                }
            }
        }
        for law in [Law::Associative, Law::Identity, Law::Padding, Law::Commutative] {
            let broken = check(&Chosen(law), &[0, 1, 2]).expect_err("a broken law");
            assert_eq!(broken.law, law, "{broken}");
        }
    }

    #[test]
    fn groupings_of_floats_may_round_but_not_more() {
        #[derive(Clone, Copy)]
        struct Mean;
        impl Operator<f32> for Mean {
            const NAME: &'static str = "mean";
            const COMMUTATIVE: bool = true;
            fn identity(&self) -> f32 {
                0.0
            }
            fn combine(&self, left: f32, right: f32) -> f32 {
                if left == 0.0 || right == 0.0 { left + right } else { (left + right) / 2.0 }
            }
        }
        let broken = check(&Mean, &[1.0, 2.0, 4.0]).expect_err("a mean of means");
        assert_eq!((broken.law, broken.operands.len()), (Law::Associative, 3));
        check(&Sum, &[0.1f32, 0.2, 0.3, 1e6, -1e6]).expect("rounding");
    }
}
