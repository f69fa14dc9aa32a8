//! Types of values in kernels, and how a Rust type says which it is.

use std::sync::{Mutex, PoisonError};

use crate::Dtype;

/// The type of a value in a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    /// `bool`.
    Bool,
    /// A number; the two short floats have no arithmetic in Rust, and none here.
    Number(Dtype),
    /// A tuple.
    Tuple(&'static [Type]),
    /// A structure with named fields.
    Struct(&'static Struct),
}

/// Tuples that no type of Rust named: each is kept for ever, once.
static TUPLES: Mutex<Vec<&'static [Type]>> = Mutex::new(Vec::new());

impl Type {
    /// A tuple of these.
    pub(super) fn tuple(types: Vec<Type>) -> Type {
        let mut known = TUPLES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter().find(|known| ***known == *types) {
            return Type::Tuple(known);
        }
        let new: &'static [Type] = types.leak();
        known.push(new);
        Type::Tuple(new)
    }
}

/// A structure of the caller's.
#[derive(Debug)]
pub struct Struct {
    /// Its name, which another structure may have too.
    pub name: &'static str,
    /// Names and types of its fields, as declared.
    pub fields: &'static [(&'static str, Type)],
}

/// A structure is only itself, whatever others look like.
impl PartialEq for Struct {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

/// A constant's value, which has its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// The bits of a number.
    Number(Dtype, u64),
    /// The fields of a tuple or a structure.
    Fields(Type, Vec<Value>),
}

impl Value {
    /// The type of the value.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Bool(_) => Type::Bool,
            Value::Number(dtype, _) => Type::Number(*dtype),
            Value::Fields(of, _) => *of,
        }
    }
}

/// A type whose values kernels can hold: the integers of 8 to 64 bits, `f32`, `f64`, `bool`, tuples of them, and structures
/// that derive `Element`.
#[diagnostic::on_unimplemented(
    message = "kernels have no values of type `{Self}`",
    label = "not a type of kernels",
    note = "write `bool`, a number of fixed size (`u8` to `i64`, `f32`, `f64`), a tuple of these, or a structure with \
            `#[derive(Element)]`"
)]
pub trait Described: Copy {
    /// Which type it is in a kernel.
    const TYPE: Type;

    /// This value, for the text of a kernel.
    fn value(self) -> Value;
}

macro_rules! integers {
    ($($type:ident $dtype:ident $bits:ident;)*) => { $(
        impl Described for $type {
            const TYPE: Type = Type::Number(Dtype::$dtype);
            fn value(self) -> Value {
                Value::Number(Dtype::$dtype, u64::from(self as $bits))
            }
        }
    )* };
}

integers! { u8 U8 u8; i8 I8 u8; u16 U16 u16; i16 I16 u16; u32 U32 u32; i32 I32 u32; u64 U64 u64; i64 I64 u64; }

macro_rules! floats {
    ($($type:ident $dtype:ident;)*) => { $(
        impl Described for $type {
            const TYPE: Type = Type::Number(Dtype::$dtype);
            fn value(self) -> Value {
                Value::Number(Dtype::$dtype, u64::from(self.to_bits()))
            }
        }
    )* };
}

floats! { f32 F32; f64 F64; }

impl Described for bool {
    const TYPE: Type = Type::Bool;
    fn value(self) -> Value {
        Value::Bool(self)
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => { $(
        impl<$($name: Described),+> Described for ($($name,)+) {
            const TYPE: Type = Type::Tuple(&[$($name::TYPE),+]);
            #[allow(non_snake_case, reason = "a value is named after its type")]
            fn value(self) -> Value {
                let ($($name,)+) = self;
                Value::Fields(Self::TYPE, vec![$($name.value()),+])
            }
        }
    )* };
}

tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

/// What may stand beside an operator in a kernel: a number or a `bool`.
#[diagnostic::on_unimplemented(
    message = "kernels have no operators and methods on `{Self}`",
    label = "not a number",
    note = "write what happens to its fields"
)]
pub trait Operand: Described {}

macro_rules! operands {
    ($($type:ident)*) => { $(impl Operand for $type {})* };
}

operands! { bool u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }
