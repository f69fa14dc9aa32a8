//! Numbers and structures of them in WGSL: how they lie in words of memory, and what they are computed in.

use upsweep_core::kernel::field;
use upsweep_core::{Dtype, Kind};
use upsweep_gpu::Scalar;

/// Values as text.
pub(crate) trait ScalarExt {
    /// Expressions for the words of `value`, low word first.
    fn words_of(self, value: &str) -> Vec<String>;

    /// An expression for the value with these words.
    fn of_words(self, words: &[String]) -> String;
}

impl ScalarExt for Scalar {
    fn words_of(self, value: &str) -> Vec<String> {
        if !self.is_wide() {
            return vec![format!("bitcast<u32>({value})")];
        }
        let bits =
            if self == Self::U64 { value.to_owned() } else { format!("bitcast<u64>({value})") };
        vec![format!("u32({bits} & 0xfffffffflu)"), format!("u32({bits} >> 32u)")]
    }

    fn of_words(self, words: &[String]) -> String {
        let name = self.name();
        match words {
            [low, high] => {
                let bits = format!("(u64({low}) | (u64({high}) << 32u))");
                if self == Self::U64 { bits } else { format!("bitcast<{name}>({bits})") }
            }
            _ => format!("bitcast<{name}>({})", words[0]),
        }
    }
}

/// Whether an access is an item, of as many bytes as it has: of structures whose size is no power of two up to 16.
pub(crate) fn is_whole(kind: Kind) -> bool {
    let size = kind.size();
    kind.number().is_none() && !(size.is_power_of_two() && size <= 16)
}

/// Bytes of an access to items of `kind` that is to have `width`: of structures at least an item.
pub(crate) fn width_of(kind: Kind, width: u32) -> u32 {
    let size = kind.size() as u32;
    match kind {
        Kind::Number(_) => width,
        _ if is_whole(kind) => size,
        _ => width.max(size),
    }
}

/// The WGSL type of one access of `width` bytes to items of `kind`, and how many items it holds.
/// `None` where an item does not fit in it.
pub(crate) fn access(kind: Kind, width: u32) -> Option<(String, u32)> {
    let width = width_of(kind, width);
    let size = kind.size() as u32;
    let items = width / size;
    let (name, part) = match kind {
        Kind::Number(dtype) if size == 8 => (Scalar::of(dtype).name(), 8),
        _ => ("u32", 4),
    };
    match (items, width / part) {
        (0, _) => None,
        (_, 1) => Some((name.to_owned(), items)),
        (_, parts) if is_whole(kind) => Some((format!("array<{name}, {parts}>"), items)),
        (_, parts) => Some((format!("vec{parts}<{name}>"), items)),
    }
}

/// The parts of an access that hold `parts` of them.
fn parts(access: &str, parts: u32, is_whole: bool) -> Vec<String> {
    let names = ["x", "y", "z", "w"];
    let part = |k: usize| match names.get(k) {
        Some(name) if !is_whole => format!("{access}.{name}"),
        _ => format!("{access}[{k}]"),
    };
    if parts == 1 { vec![access.to_owned()] } else { (0..parts as usize).map(part).collect() }
}

/// Expressions for the items in `access`, in order.
pub(crate) fn unpack(kind: Kind, width: u32, access: &str) -> Vec<String> {
    unpack_as(kind, width, access, "Value")
}

/// The same, of structures that have this name.
pub(crate) fn unpack_as(kind: Kind, width: u32, access: &str, name: &str) -> Vec<String> {
    let width = width_of(kind, width);
    let Kind::Number(dtype) = kind else {
        let words = parts(access, width / 4, is_whole(kind));
        return words.chunks(kind.size() / 4).map(|words| structure(kind, words, name)).collect();
    };
    let size = dtype.size() as u32;
    let per_word = (4 / size).max(1);
    parts(access, width / size.max(4), false)
        .iter()
        .flat_map(|word| (0..per_word).map(move |k| item(dtype, word, k)))
        .collect()
}

/// An expression for the structure of this name that lies in these words of memory.
fn structure(kind: Kind, words: &[String], name: &str) -> String {
    let fields = kind.numbers().map(|(offset, dtype)| {
        let (first, place) = (offset / 4, offset % 4 / dtype.size().min(4));
        match dtype.size() {
            8 => Scalar::of(dtype).of_words(&words[first..first + 2]),
            _ => item(dtype, &words[first], place as u32),
        }
    });
    format!("{name}({})", fields.collect::<Vec<_>>().join(", "))
}

/// An expression for the item that lies in these words of memory; structures have this name.
pub(crate) fn of_memory(kind: Kind, words: &[String], name: &str) -> String {
    match kind.number() {
        Some(dtype) if dtype.size() == 8 => Scalar::of(dtype).of_words(words),
        Some(dtype) => item(dtype, &words[0], 0),
        None => structure(kind, words, name),
    }
}

/// An expression for item `k` in `word`.
pub(crate) fn item(dtype: Dtype, word: &str, k: u32) -> String {
    let bits = 8 * dtype.size() as u32;
    match dtype {
        Dtype::U8 | Dtype::U16 => format!("extractBits({word}, {}u, {bits}u)", k * bits),
        Dtype::I8 | Dtype::I16 => {
            format!("extractBits(bitcast<i32>({word}), {}u, {bits}u)", k * bits)
        }
        Dtype::F16 => format!("unpack2x16float({word}).{}", if k == 0 { "x" } else { "y" }),
        Dtype::Bf16 if k == 0 => format!("bitcast<f32>({word} << 16u)"),
        Dtype::Bf16 => format!("bitcast<f32>({word} & 0xffff0000u)"),
        Dtype::I32 => format!("bitcast<i32>({word})"),
        Dtype::F32 => format!("bitcast<f32>({word})"),
        _ => word.to_owned(),
    }
}

/// An expression for the bits that `value` is stored as; the bits above those of its type are 0.
pub(crate) fn stored(dtype: Dtype, value: &str) -> String {
    match dtype {
        Dtype::U8 => format!("({value} & 0xffu)"),
        Dtype::U16 => format!("({value} & 0xffffu)"),
        Dtype::I8 => format!("(bitcast<u32>({value}) & 0xffu)"),
        Dtype::I16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
        Dtype::F16 => format!("half_bits({value})"),
        Dtype::Bf16 => format!("bfloat_bits({value})"),
        Dtype::I32 | Dtype::F32 => format!("bitcast<u32>({value})"),
        _ => value.to_owned(),
    }
}

/// Expressions for the words of memory in which a structure lies.
pub(crate) fn words_stored(kind: Kind, value: &str) -> Vec<String> {
    let mut words = vec![Vec::new(); kind.size() / 4];
    for (field, (offset, dtype)) in field_names(kind).zip(kind.numbers()) {
        let value = format!("{value}.{field}");
        match (dtype.size(), offset % 4) {
            (8, _) => {
                let bits = Scalar::of(dtype).words_of(&value);
                words[offset / 4..].iter_mut().zip(bits).for_each(|(word, bits)| word.push(bits));
            }
            (_, 0) => words[offset / 4].push(stored(dtype, &value)),
            (_, byte) => {
                words[offset / 4].push(format!("({} << {}u)", stored(dtype, &value), 8 * byte));
            }
        }
    }
    words.iter().map(|fields| fields.join(" | ")).collect()
}

/// The names of a structure's fields in the text.
pub(crate) fn field_names(kind: Kind) -> impl Iterator<Item = String> {
    let fields = match kind {
        Kind::Struct { fields, .. } => fields,
        _ => &[],
    };
    fields.iter().map(|(name, ..)| field(name))
}

/// An expression for the `OutAccess` that holds `values`. By that name: arrays of one shape and two names are one type in WGSL, but two
/// in what naga (30) makes of it, which is not valid SPIR-V where the one is returned for the other.
pub(crate) fn pack(kind: Kind, values: &[String]) -> String {
    let words: Vec<String> = match kind {
        Kind::Number(dtype) => {
            let size = dtype.size() as u32;
            let part = |items: &[String]| {
                let shifted = items.iter().enumerate().map(|(k, value)| match k {
                    0 => stored(dtype, value),
                    _ => format!("({} << {}u)", stored(dtype, value), k as u32 * 8 * size),
                });
                shifted.collect::<Vec<_>>().join(" | ")
            };
            values.chunks((4 / size).max(1) as usize).map(part).collect()
        }
        _ => values.iter().flat_map(|value| words_stored(kind, value)).collect(),
    };
    if words.len() > 1 { format!("OutAccess({})", words.join(", ")) } else { words.concat() }
}
