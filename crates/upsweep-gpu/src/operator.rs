//! What values are while kernels combine them, and by what: whatever language the kernels are in.
//!
//! `Min` and `Max` of floats are those of integers in the same order: a key in which −0 comes before +0 and a
//! NaN at the end where it wins. So they are exact on every device, whatever its own `min` makes of NaN.

use upsweep_core::{Builtin, Dtype, Extreme, Kind};

use crate::bits::{Words, words_of};
use crate::custom::Custom;
use crate::erased::{ErasedOperator, OperatorText};

/// A type that kernels compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Unsigned, of 32 bits.
    U32,
    /// Signed, of 32 bits.
    I32,
    /// Floating-point, of 32 bits.
    F32,
    /// Unsigned, of 64 bits.
    U64,
    /// Signed, of 64 bits.
    I64,
    /// Floating-point, of 64 bits.
    F64,
}

impl Scalar {
    /// What items of a type are once they are unpacked.
    pub fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::U8 | Dtype::U16 | Dtype::U32 => Self::U32,
            Dtype::I8 | Dtype::I16 | Dtype::I32 => Self::I32,
            Dtype::U64 => Self::U64,
            Dtype::I64 => Self::I64,
            Dtype::F64 => Self::F64,
            _ => Self::F32,
        }
    }

    /// The name, which is one in every language.
    pub fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }

    /// Whether a value has two words.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::I64 | Self::F64)
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Words of memory that hold a value.
    pub fn words(self) -> u32 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// The unsigned integer of the same size.
    pub fn unsigned(self) -> Self {
        if self.is_wide() { Self::U64 } else { Self::U32 }
    }
}

/// What items are combined with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The first position of the smallest or largest item.
    First(Extreme),
    /// One of the caller's.
    Custom(Custom),
}

/// How values are held while they are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// As they are.
    Plain(Scalar),
    /// A float as the key of its order: the scalar is the float's.
    Key(Scalar),
    /// The key of an item of this scalar, and its position.
    Position(Scalar),
    /// A structure of numbers, as it is.
    Structure(Kind),
}

impl Op {
    /// The operator that this is; `None` if it has no text in the language that the call was made for.
    pub fn of(operator: &ErasedOperator) -> Option<Self> {
        Some(match &operator.text {
            OperatorText::Builtin(Builtin::Sum) => Op::Sum,
            OperatorText::Builtin(Builtin::Product) => Op::Product,
            OperatorText::Builtin(Builtin::Min) => Op::Min,
            OperatorText::Builtin(Builtin::Max) => Op::Max,
            OperatorText::Builtin(Builtin::BitAnd) => Op::And,
            OperatorText::Builtin(Builtin::BitOr) => Op::Or,
            OperatorText::Builtin(Builtin::BitXor) => Op::Xor,
            OperatorText::Custom(own) => Op::Custom(own.clone()),
            OperatorText::None => return None,
        })
    }

    /// The name in messages and of kernels.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::Product => "product",
            Op::Min => "min",
            Op::Max => "max",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
            Op::First(Extreme::Smallest) => "argmin",
            Op::First(Extreme::Largest) => "argmax",
            Op::Custom(own) => own.name,
        }
    }

    /// How values of this kind are held while they are combined.
    pub fn held(&self, kind: Kind) -> Held {
        let Kind::Number(dtype) = kind else { return Held::Structure(kind) };
        let scalar = Scalar::of(dtype);
        match self {
            Op::Min | Op::Max if scalar.is_float() => Held::Key(scalar),
            Op::First(_) => Held::Position(scalar),
            _ => Held::Plain(scalar),
        }
    }

    /// Whether the grouping of values of this kind cannot be seen in the result.
    pub fn is_exact(&self, kind: Kind) -> bool {
        match self {
            Op::Custom(own) => own.exact,
            Op::Sum | Op::Product => !kind.number().is_some_and(Dtype::is_float),
            _ => true,
        }
    }

    /// What the last word of a value of this kind is combined with to be in the order of unsigned integers.
    pub fn sign_of_total(&self, kind: Kind) -> u32 {
        let compares = matches!(self, Op::Min | Op::Max);
        let signed = !matches!(self.held(kind), Held::Plain(Scalar::U32 | Scalar::U64));
        if compares && signed { 1 << 31 } else { 0 }
    }

    /// The words of a total of this kind that nothing has been added to; `padding` is a value's.
    pub fn empty_total(&self, kind: Kind, padding: Words) -> [u32; 2] {
        let held = self.held(kind);
        // A key of a key is the value again.
        let mut words = held.value_of(padding);
        words[held.words() as usize - 1] ^= self.sign_of_total(kind);
        [words[0], words[1]]
    }

    /// The function that does this to an unsigned value in memory, which is one in every language, if there is one. Values of two words
    /// only some devices combine so.
    pub fn atomic(&self, held: Held) -> Option<&'static str> {
        match (self, held) {
            (_, Held::Position(_)) => None,
            (Op::Sum, Held::Plain(scalar)) if !scalar.is_float() => Some("atomicAdd"),
            (Op::Min, _) => Some("atomicMin"),
            (Op::Max, _) => Some("atomicMax"),
            (Op::And, _) => Some("atomicAnd"),
            (Op::Or, _) => Some("atomicOr"),
            (Op::Xor, _) => Some("atomicXor"),
            _ => None,
        }
    }

    /// Whether operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::Custom(own) => own.commutative,
            _ => true,
        }
    }

    /// The types that its text computes with, besides those of items.
    pub fn numbers(&self) -> &[Dtype] {
        match self {
            Op::Custom(own) => &own.source.numbers,
            _ => &[],
        }
    }
}

impl Held {
    /// The type of the value, of the float behind a key, of the item at a position; none of a structure.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Held::Plain(scalar) | Held::Key(scalar) | Held::Position(scalar) => Some(scalar),
            Held::Structure(_) => None,
        }
    }

    /// The type of what is compared, or `u32`.
    pub fn key(self) -> Scalar {
        match self {
            Held::Plain(scalar) => scalar,
            Held::Key(Scalar::F64) | Held::Position(Scalar::F64) => Scalar::I64,
            Held::Key(Scalar::F32) | Held::Position(Scalar::F32) => Scalar::I32,
            Held::Key(scalar) | Held::Position(scalar) => scalar,
            Held::Structure(_) => Scalar::U32,
        }
    }

    /// Words that a value is held in.
    pub fn words(self) -> u32 {
        match self {
            Held::Structure(kind) => words_of(kind) as u32,
            Held::Position(_) => self.key().words() + 2,
            _ => self.key().words(),
        }
    }

    /// Bytes of these words.
    pub fn bytes(self) -> u64 {
        4 * u64::from(self.words())
    }

    /// The words of a value, given those that it is held as.
    pub fn value_of(self, mut words: Words) -> Words {
        match self {
            Held::Key(Scalar::F64) => {
                let bits = u64::from(words[0]) | u64::from(words[1]) << 32;
                let value = bits ^ ((bits as i64 >> 63) as u64 >> 1);
                words[..2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
            }
            Held::Key(_) => words[0] ^= (words[0] as i32 >> 31) as u32 >> 1,
            _ => {}
        }
        words
    }
}
