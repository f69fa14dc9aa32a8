//! How items lie in memory, as text in the language of kernels: what an access holds, and the words of structures.

use upsweep_core::kernel::field;
use upsweep_core::{Dtype, Kind};

use crate::{Scalar, Syntax};

/// Whether an access is an item, of as many bytes as it has: of structures whose size is no power of two up to 16.
pub fn is_whole(kind: Kind) -> bool {
    let size = kind.size();
    kind.number().is_none() && !(size.is_power_of_two() && size <= 16)
}

/// Bytes of an access to items of `kind` that is to have `width`: of structures at least an item.
pub fn width_of(kind: Kind, width: u32) -> u32 {
    let size = kind.size() as u32;
    match kind {
        Kind::Number(_) => width,
        _ if is_whole(kind) => size,
        _ => width.max(size),
    }
}

/// The names of a structure's fields in the text.
pub fn field_names(kind: Kind) -> impl Iterator<Item = String> {
    let fields = match kind {
        Kind::Struct { fields, .. } => fields,
        _ => &[],
    };
    fields.iter().map(|(name, ..)| field(name))
}

/// The integers that an access of `width` bytes consists of, and bytes of each.
fn parts<S: Syntax>(kind: Kind, width: u32, access: &str) -> (Vec<String>, u32) {
    let bytes = match kind {
        Kind::Number(dtype) => (dtype.size() as u32).max(4).min(width),
        _ => 4,
    };
    let count = (width / bytes) as usize;
    let names = ["x", "y", "z", "w"];
    let part = |k: usize| match names.get(k) {
        _ if count == 1 => access.to_owned(),
        Some(name) if !is_whole(kind) => format!("{access}.{name}"),
        _ => S::element(access, &k.to_string()),
    };
    ((0..count).map(part).collect(), bytes)
}

/// Expressions for the items in an access of `width` bytes, in order.
pub fn unpack<S: Syntax>(kind: Kind, width: u32, access: &str) -> Vec<String> {
    unpack_as::<S>(kind, width, access, "Value")
}

/// The same, of structures that have this name.
pub fn unpack_as<S: Syntax>(kind: Kind, width: u32, access: &str, name: &str) -> Vec<String> {
    let (parts, bytes) = parts::<S>(kind, width_of(kind, width), access);
    let Kind::Number(dtype) = kind else {
        let items = parts.chunks(kind.size() / 4);
        return items.map(|words| structure::<S>(kind, words, name)).collect();
    };
    let each = bytes / dtype.size() as u32;
    let items = parts.iter().flat_map(|part| (0..each).map(move |k| S::item(dtype, part, k)));
    items.collect()
}

/// Expressions for unsigned integers with the bits of each item in an access of `width` bytes: for the item, which is such an integer, or
/// for the words of a structure.
pub fn bits_of_items<S: Syntax>(kind: Kind, width: u32, access: &str) -> Vec<Vec<String>> {
    match kind {
        Kind::Number(_) => {
            unpack::<S>(kind, width, access).into_iter().map(|item| vec![item]).collect()
        }
        _ => {
            let (parts, _) = parts::<S>(kind, width_of(kind, width), access);
            parts.chunks(kind.size() / 4).map(<[String]>::to_vec).collect()
        }
    }
}

/// An expression for the structure of this name that lies in these words of memory.
fn structure<S: Syntax>(kind: Kind, words: &[String], name: &str) -> String {
    let field = |(offset, dtype): (usize, Dtype)| {
        let (first, place) = (offset / 4, offset % 4 / dtype.size().min(4));
        match dtype.size() {
            8 => Scalar::of(dtype).of_words::<S>(&words[first..first + 2]),
            _ => S::item(dtype, &words[first], place as u32),
        }
    };
    S::structure(name, &kind.numbers().map(field).collect::<Vec<_>>())
}

/// An expression for the item that lies in these words of memory; structures have this name.
pub fn of_memory<S: Syntax>(kind: Kind, words: &[String], name: &str) -> String {
    match kind.number() {
        Some(dtype) if dtype.size() == 8 => Scalar::of(dtype).of_words::<S>(words),
        Some(dtype) => S::item(dtype, &words[0], 0),
        None => structure::<S>(kind, words, name),
    }
}

/// Expressions for the words of memory in which a structure lies.
pub fn words_stored<S: Syntax>(kind: Kind, value: &str) -> Vec<String> {
    let mut words = vec![Vec::new(); kind.size() / 4];
    for (field, (offset, dtype)) in field_names(kind).zip(kind.numbers()) {
        let value = format!("{value}.{field}");
        let bits = match dtype.size() {
            8 => Scalar::of(dtype).words_of::<S>(&value),
            _ => vec![shifted::<S>(S::stored(dtype, &value), offset % 4)],
        };
        words[offset / 4..].iter_mut().zip(bits).for_each(|(word, bits)| word.push(bits));
    }
    words.iter().map(|fields| fields.join(" | ")).collect()
}

/// Expressions for the integers of which the access consists that holds `values`.
pub fn pack<S: Syntax>(kind: Kind, values: &[String]) -> Vec<String> {
    let Kind::Number(dtype) = kind else {
        return values.iter().flat_map(|value| words_stored::<S>(kind, value)).collect();
    };
    let size = dtype.size();
    let part = |items: &[String]| {
        let bits = (0..).zip(items);
        let bits = bits.map(|(k, value)| shifted::<S>(S::stored(dtype, value), size * k));
        bits.collect::<Vec<_>>().join(" | ")
    };
    values.chunks((4 / size).max(1)).map(part).collect()
}

/// Bits of a word at this byte of it.
fn shifted<S: Syntax>(bits: String, byte: usize) -> String {
    if byte == 0 { bits } else { S::shifted(&bits, 8 * byte) }
}
