//! The type that two values are brought to: numpy's, by which a number of Python's has no type of its own.

use upsweep::Dtype;

use crate::dtype::{ItemType, Kind};

/// A number of Python's beside a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weak {
    Integer,
    Float,
}

/// The type of a value and a number of Python's.
pub(crate) fn with_weak(item: ItemType, weak: Weak) -> ItemType {
    match (weak, item.kind()) {
        (_, Kind::Float | Kind::Brain) => item,
        (Weak::Float, _) => ItemType::of(Dtype::F64),
        (Weak::Integer, Kind::Bool) => ItemType::INT64,
        (Weak::Integer, _) => item,
    }
}

/// The type that holds the values of two.
pub(crate) fn promoted(left: ItemType, right: ItemType) -> ItemType {
    match (left.kind(), right.kind()) {
        (Kind::Bool, _) => right,
        (_, Kind::Bool) => left,
        (Kind::Float, Kind::Float)
        | (Kind::Signed, Kind::Signed)
        | (Kind::Unsigned, Kind::Unsigned) => longer(left, right),
        (Kind::Float, _) => with_float(left, right),
        (_, Kind::Float) => with_float(right, left),
        (Kind::Signed, _) => with_unsigned(left, right),
        (_, _) => with_unsigned(right, left),
    }
}

fn longer(left: ItemType, right: ItemType) -> ItemType {
    if left.size() >= right.size() { left } else { right }
}

/// `float32` holds the integers of 16 bits, and no longer ones.
fn with_float(float: ItemType, integer: ItemType) -> ItemType {
    if integer.size() <= 2 { float } else { ItemType::of(Dtype::F64) }
}

fn with_unsigned(signed: ItemType, unsigned: ItemType) -> ItemType {
    match unsigned.size() {
        size if size < signed.size() => signed,
        1 => ItemType::of(Dtype::I16),
        2 => ItemType::of(Dtype::I32),
        4 => ItemType::INT64,
        _ => ItemType::of(Dtype::F64),
    }
}
