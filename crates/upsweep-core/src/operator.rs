//! Associative operators: what a reduction or a scan combines items with.

use std::borrow::Cow;

use crate::kernel::Function;
use crate::{Dtype, Element, Parameter};

/// A language that kernels are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// The WebGPU shading language.
    Wgsl,
    /// CUDA C++17.
    Cuda,
}

/// An operator's text in the language of a kernel. Integers of 8 and 16 bits are held in 32.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Source {
    /// Structures and functions that the body needs; they stand in front of it.
    pub declarations: Cow<'static, str>,
    /// The name of the structure that values are, among the declarations: its fields have the
    /// names that [`kernel::field`](crate::kernel::field) gives those of the element, in the same
    /// order. Empty if values are numbers.
    pub structure: Cow<'static, str>,
    /// Body of a function `combine(left, right)` that returns the combined value. If the operator has
    /// [fields](Operator::fields), they are the variable `fields`.
    pub combine: Cow<'static, str>,
    /// The name of the structure that the fields are, among the declarations; empty if there are none, or one number.
    pub fields: Cow<'static, str>,
    /// Types of numbers that the text computes with, besides those of the items.
    pub numbers: Cow<'static, [Dtype]>,
}

/// The built-in operators on numbers.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    Sum,
    Product,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
}

/// An associative operator on values of type `A`.
///
/// # Laws
/// - Associative: `combine(a, combine(b, c))` equals `combine(combine(a, b), c)`, up to rounding
///   where `A` rounds. `left` is always the earlier item.
/// - `combine(identity, a)` and `combine(a, identity)` equal `a`.
/// - If [`COMMUTATIVE`](Operator::COMMUTATIVE), `combine(a, b)` and `combine(b, a)` are the same
///   bits (a NaN's payload excepted).
///
/// An operator of your own runs on the CPU as it is, compiled into the loops and turned into
/// vectors with them:
///
/// ```
/// use upsweep_core::Operator;
///
/// /// The larger of two numbers.
/// #[derive(Clone, Copy)]
/// struct Larger;
///
/// impl Operator<u32> for Larger {
///     const NAME: &'static str = "larger";
///     const COMMUTATIVE: bool = true;
///     fn identity(&self) -> u32 { 0 }
///     fn combine(&self, left: u32, right: u32) -> u32 { left.max(right) }
/// }
/// assert_eq!(Larger.combine(3, 5), 5);
/// ```
pub trait Operator<A: Element>: Copy + Send + Sync + 'static {
    /// The operator's name in messages, on the command line and in kernels.
    const NAME: &'static str;

    /// Whether items may be combined in any order.
    const COMMUTATIVE: bool;

    /// Whether the grouping of items cannot be seen in the result. By default that is so where
    /// the type never rounds. `Min` and `Max` are exact on floats too.
    const EXACT: bool = A::EXACT;

    /// Which built-in operator on numbers this is. Backends find faster kernels by it when a call is compiled.
    #[doc(hidden)]
    const BUILTIN: Option<Builtin> = None;

    /// The neutral value: the result of reducing nothing.
    fn identity(&self) -> A;

    /// A value that leaves the other operand as it is, bit for bit: what kernels put where there
    /// is no item. It differs from the identity in one place: a sum of no floats is +0, but only
    /// −0 leaves every float as it is.
    #[inline(always)]
    fn padding(&self) -> A {
        self.identity()
    }

    /// Combines two values; `left` comes earlier.
    fn combine(&self, left: A, right: A) -> A;

    /// The operator in the language of a kernel. Built-in operators are known to the GPU
    /// backends; an operator that gives no text runs on the CPU only.
    fn source(&self, language: Language) -> Option<Source> {
        let _ = language;
        None
    }

    /// The operator's fields, which kernels are handed at each launch, and with them its identity and padding: another value needs
    /// no other kernel. `None` if it has none; then identity and padding stand in the text of kernels.
    fn fields(&self) -> Option<Parameter> {
        None
    }

    /// The annotated function that the operator combines by: of the fields, if there are some, of `left` and of `right`. It stands
    /// beside others in kernels whose items are made as they are read; an operator that gives none reduces and scans arrays alone
    /// there.
    fn function(&self) -> Option<&'static Function> {
        None
    }
}

/// Sum. Integers wrap in the type they are combined in. The sum of no floats is +0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

/// Product. Integers wrap in the type they are combined in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Product;

/// Smallest value. A NaN anywhere makes the result NaN; −0 is smaller than +0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Min;

/// Largest value. A NaN anywhere makes the result NaN; +0 is larger than −0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Max;

/// Bitwise and, on integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitAnd;

/// Bitwise or, on integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitOr;

/// Bitwise exclusive or, on integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitXor;

macro_rules! operator {
    ($operator:ident $name:literal, $type:ident, $identity:expr, $combine:expr
     $(, padding $padding:expr)? $(, exact $exact:literal)?) => {
        impl Operator<$type> for $operator {
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            const BUILTIN: Option<Builtin> = Some(Builtin::$operator);
            $(const EXACT: bool = $exact;)?

            #[inline(always)]
            fn identity(&self) -> $type {
                $identity
            }

            $(#[inline(always)]
            fn padding(&self) -> $type {
                $padding
            })?

            #[inline(always)]
            fn combine(&self, left: $type, right: $type) -> $type {
                let combine: fn($type, $type) -> $type = $combine;
                combine(left, right)
            }
        }
    };
}

macro_rules! integer_operators {
    ($($type:ident)*) => { $(
        operator!(Sum "sum", $type, 0, |l, r| l.wrapping_add(r));
        operator!(Product "product", $type, 1, |l, r| l.wrapping_mul(r));
        operator!(Min "min", $type, $type::MAX, |l, r| if r < l { r } else { l });
        operator!(Max "max", $type, $type::MIN, |l, r| if r > l { r } else { l });
        operator!(BitAnd "and", $type, !0, |l, r| l & r);
        operator!(BitOr "or", $type, 0, |l, r| l | r);
        operator!(BitXor "xor", $type, 0, |l, r| l ^ r);
    )* };
}

integer_operators!(u8 i8 u16 i16 u32 i32 u64 i64);

// Equal values differ at most in the sign of zero; the bitwise "or" of the two keeps a minus,
// the "and" a plus, so that the order of the operands cannot be seen.
macro_rules! float_operators {
    ($($type:ident)*) => { $(
        operator!(Sum "sum", $type, 0.0, |l, r| l + r, padding -0.0);
        operator!(Product "product", $type, 1.0, |l, r| l * r);
        operator!(Min "min", $type, $type::INFINITY, |l, r| {
            let smaller = if l < r { l } else { r };
            let either = $type::from_bits(l.to_bits() | r.to_bits());
            let least = if l == r { either } else { smaller };
            if l.is_nan() { l } else { least }
        }, exact true);
        operator!(Max "max", $type, $type::NEG_INFINITY, |l, r| {
            let larger = if l > r { l } else { r };
            let either = $type::from_bits(l.to_bits() & r.to_bits());
            let most = if l == r { either } else { larger };
            if l.is_nan() { l } else { most }
        }, exact true);
    )* };
}

float_operators!(f32 f64);

/// The operator with its operands exchanged: what a scan from the end combines with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flipped<O>(pub O);

impl<A: Element, O: Operator<A>> Operator<A> for Flipped<O> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const EXACT: bool = O::EXACT;

    #[inline(always)]
    fn identity(&self) -> A {
        self.0.identity()
    }

    #[inline(always)]
    fn padding(&self) -> A {
        self.0.padding()
    }

    #[inline(always)]
    fn combine(&self, left: A, right: A) -> A {
        self.0.combine(right, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neutral values and the two zeros, for both float types, bit for bit.
    #[test]
    fn float_padding_changes_no_bit() {
        for value in [0.0f32, -0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE]
        {
            let same = |left: f32, right: f32| assert_eq!(left.to_bits(), right.to_bits());
            same(Sum.combine(Operator::<f32>::padding(&Sum), value), value);
            same(Sum.combine(value, Operator::<f32>::padding(&Sum)), value);
            same(Product.combine(value, Operator::<f32>::padding(&Product)), value);
            same(Min.combine(value, Operator::<f32>::padding(&Min)), value);
            same(Max.combine(Operator::<f32>::padding(&Max), value), value);
        }
    }

    #[test]
    fn extremes_order_the_zeros_and_keep_a_nan() {
        assert!(Min.combine(0.0f32, -0.0).is_sign_negative());
        assert!(Min.combine(-0.0f32, 0.0).is_sign_negative());
        assert!(Max.combine(0.0f64, -0.0).is_sign_positive());
        assert!(Max.combine(-0.0f64, 0.0).is_sign_positive());
        for (left, right) in [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::NAN, f32::NAN)] {
            assert!(Min.combine(left, right).is_nan());
            assert!(Max.combine(left, right).is_nan());
        }
        assert_eq!(Min.combine(2u8, 3), 2);
        assert_eq!(Max.combine(-2i64, 3), 3);
    }
}
