//! The loops of casts between two types of numbers.

use upsweep_core::Dtype;

use super::steps::{Loop, each, map, undefined, with_type};

/// The loop of `value as to`; none if the bits stay as they are.
pub(super) fn cast(from: Dtype, to: Dtype) -> Option<Loop> {
    let bits = from.size() == to.size() && !from.is_float() && !to.is_float();
    if from == to || bits {
        return None;
    }
    Some(match (from.is_float(), to.is_float()) {
        (false, false) if to.size() < from.size() => shorter(from, to),
        (false, false) => longer(from, to),
        (false, true) => with_type!(integer from, F => {
            with_type!(float to, T => each!(|a: F| a as T), else undefined(&from, to))
        }, else undefined(&from, to)),
        (true, false) => with_type!(integer to, T => {
            with_type!(float from, F => each!(|a: F| a as T), else undefined(&from, to))
        }, else undefined(&from, to)),
        (true, true) if to == Dtype::F32 => each!(|a: f64| a as f32),
        (true, true) => each!(|a: f32| f64::from(a)),
    })
}

/// The lower bytes of an integer.
fn shorter(from: Dtype, to: Dtype) -> Loop {
    match (from.size(), to.size()) {
        (2, _) => each!(|a: u16| a as u8),
        (4, 1) => each!(|a: u32| a as u8),
        (4, _) => each!(|a: u32| a as u16),
        (_, 1) => each!(|a: u64| a as u8),
        (_, 2) => each!(|a: u64| a as u16),
        _ => each!(|a: u64| a as u32),
    }
}

/// An integer with more bytes, as its sign says.
fn longer(from: Dtype, to: Dtype) -> Loop {
    match (from, to.size()) {
        (Dtype::U8, 2) => each!(|a: u8| u16::from(a)),
        (Dtype::U8, 4) => each!(|a: u8| u32::from(a)),
        (Dtype::U8, _) => each!(|a: u8| u64::from(a)),
        (Dtype::I8, 2) => each!(|a: i8| i16::from(a)),
        (Dtype::I8, 4) => each!(|a: i8| i32::from(a)),
        (Dtype::I8, _) => each!(|a: i8| i64::from(a)),
        (Dtype::U16, 4) => each!(|a: u16| u32::from(a)),
        (Dtype::U16, _) => each!(|a: u16| u64::from(a)),
        (Dtype::I16, 4) => each!(|a: i16| i32::from(a)),
        (Dtype::I16, _) => each!(|a: i16| i64::from(a)),
        (Dtype::U32, _) => each!(|a: u32| u64::from(a)),
        (Dtype::I32, _) => each!(|a: i32| i64::from(a)),
        _ => undefined(&from, to),
    }
}
