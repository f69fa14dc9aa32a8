//! Numbers and structures of them in CUDA C++: how they lie in memory, and what they are computed in.

use upsweep_core::kernel::field;
use upsweep_core::{Dtype, Kind};
use upsweep_gpu::Scalar;
use upsweep_gpu::bits::MOST_WORDS;

/// Values as text.
pub(crate) trait ScalarExt {
    /// An expression for the bits of `value`, as an unsigned integer of the same size.
    fn bits(self, value: &str) -> String;

    /// An expression for the value with these bits.
    fn of_bits(self, bits: &str) -> String;

    /// Expressions for the words of `value`, low word first.
    fn words_of(self, value: &str) -> Vec<String>;

    /// An expression for the value with these words.
    fn of_words(self, words: &[String]) -> String;
}

impl ScalarExt for Scalar {
    fn bits(self, value: &str) -> String {
        match self {
            Self::U32 | Self::U64 => value.to_owned(),
            Self::I32 => format!("u32({value})"),
            Self::I64 => format!("u64({value})"),
            Self::F32 => format!("__float_as_uint({value})"),
            Self::F64 => format!("u64(__double_as_longlong({value}))"),
        }
    }

    fn of_bits(self, bits: &str) -> String {
        match self {
            Self::U32 | Self::U64 => bits.to_owned(),
            Self::I32 => format!("i32({bits})"),
            Self::I64 => format!("i64({bits})"),
            Self::F32 => format!("__uint_as_float({bits})"),
            Self::F64 => format!("__longlong_as_double(i64({bits}))"),
        }
    }

    fn words_of(self, value: &str) -> Vec<String> {
        let bits = self.bits(value);
        if self.is_wide() {
            return vec![format!("u32({bits})"), format!("u32({bits} >> 32)")];
        }
        vec![bits]
    }

    fn of_words(self, words: &[String]) -> String {
        match words {
            [low, high] => self.of_bits(&format!("(u64({low}) | u64({high}) << 32)")),
            _ => self.of_bits(&words[0]),
        }
    }
}

/// Bytes of an access to items of `kind` that is to have `width`: at least an item. Of structures whose size is no power of two up
/// to 16 it is an item.
pub(crate) fn width_of(kind: Kind, width: u32) -> u32 {
    let size = kind.size() as u32;
    match kind {
        Kind::Number(_) => width,
        _ if is_access(size) => width.max(size),
        _ => size,
    }
}

/// Whether an access may have so many bytes.
fn is_access(bytes: u32) -> bool {
    bytes.is_power_of_two() && bytes <= 16
}

/// The type of one access of `width` bytes to items of `kind`, and how many items it holds. `None` where an item does
/// not fit in it.
pub(crate) fn access(kind: Kind, width: u32) -> Option<(&'static str, u32)> {
    let width = width_of(kind, width);
    let size = kind.size() as u32;
    let name = match (kind, width) {
        _ if width < size => return None,
        (Kind::Number(_), 8) if size == 8 => "u64",
        (Kind::Number(_), 16) if size == 8 => "ulonglong2",
        (Kind::Number(_), 1) => "u8",
        (Kind::Number(_), 2) => "u16",
        (_, 4) => "u32",
        (_, 8) => "uint2",
        (_, 16) => "uint4",
        (Kind::Number(_), _) => return None,
        _ => whole(size as usize / 4),
    };
    Some((name, width / size))
}

/// The type in memory of one item.
pub(crate) fn in_memory(kind: Kind) -> &'static str {
    match (kind, kind.size()) {
        (Kind::Number(_), 1) => "u8",
        (Kind::Number(_), 2) => "u16",
        (Kind::Number(_), 8) => "u64",
        _ => access(kind, 0).map_or("u32", |(name, _)| name),
    }
}

/// Whether an access is an item, of as many bytes as it has.
pub(crate) fn is_whole(kind: Kind) -> bool {
    kind.number().is_none() && !is_access(kind.size() as u32)
}

/// The type that items of a structure lie in where no type of CUDA's has as many bytes, by their words.
fn whole(words: usize) -> &'static str {
    const NAMES: [&str; MOST_WORDS + 1] = [
        "Words0", "Words1", "Words2", "Words3", "Words4", "Words5", "Words6", "Words7", "Words8",
        "Words9", "Words10", "Words11", "Words12", "Words13", "Words14", "Words15", "Words16",
    ];
    NAMES.get(words).unwrap_or(&"u32")
}

/// The largest power of two, at most 16, of which the size of an item is a multiple: where items begin.
pub(crate) fn alignment(kind: Kind) -> u64 {
    1 << (kind.size() as u64 | 16).trailing_zeros()
}

/// The types that items of these kinds lie in, where they are none of CUDA's.
pub(crate) fn declared(kinds: &[Kind]) -> String {
    let whole_ones = kinds.iter().filter(|kind| is_whole(**kind));
    let mut sizes: Vec<(usize, u64)> =
        whole_ones.map(|kind| (kind.size() / 4, alignment(*kind))).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let declare = |(words, alignment): (usize, u64)| {
        let name = whole(words);
        format!(
            "struct __align__({alignment}) {name} {{ u32 at[{words}]; }};\n\
             inline {name} read(const {name}* from) {{\n\
             \x20   {name} item;\n\
             #pragma unroll\n\
             \x20   for (u32 k = 0; k < {words}; ++k) {{\n\
             \x20       item.at[k] = __ldcs(from->at + k);\n\
             \x20   }}\n\
             \x20   return item;\n}}\n"
        )
    };
    sizes.into_iter().map(declare).collect()
}

/// The parts of an access that are integers: names, and bytes of each.
fn parts(kind: Kind, access: &str, width: u32) -> (Vec<String>, u32) {
    let part = match kind {
        Kind::Number(dtype) => (dtype.size() as u32).max(4).min(width),
        _ => 4,
    };
    let count = width / part;
    let names = ["x", "y", "z", "w"];
    let parts = (0..count as usize).map(|k| match names.get(k) {
        _ if count == 1 && is_access(width) => access.to_owned(),
        Some(name) if is_access(width) => format!("{access}.{name}"),
        _ => format!("{access}.at[{k}]"),
    });
    (parts.collect(), part)
}

/// Expressions for the items in `access`, in order.
pub(crate) fn unpack(kind: Kind, width: u32, access: &str) -> Vec<String> {
    unpack_as(kind, width, access, "Value")
}

/// The same, of structures that have this name.
pub(crate) fn unpack_as(kind: Kind, width: u32, access: &str, name: &str) -> Vec<String> {
    let width = width_of(kind, width);
    let (parts, bytes) = parts(kind, access, width);
    if let Kind::Number(dtype) = kind {
        let each = bytes / dtype.size() as u32;
        return parts
            .iter()
            .flat_map(|part| (0..each).map(move |k| item(dtype, part, k)))
            .collect();
    }
    parts.chunks(kind.size() / 4).map(|words| structure(kind, words, name)).collect()
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
    format!("{name}{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

/// An expression for the item that lies in these words of memory; structures have this name.
pub(crate) fn of_memory(kind: Kind, words: &[String], name: &str) -> String {
    match kind.number() {
        Some(dtype) if dtype.size() == 8 => Scalar::of(dtype).of_words(words),
        Some(dtype) => item(dtype, &words[0], 0),
        None => structure(kind, words, name),
    }
}

/// An expression for item `k` in an integer.
fn item(dtype: Dtype, part: &str, k: u32) -> String {
    let shift = 8 * dtype.size() as u32 * k;
    let bits = if shift == 0 { part.to_owned() } else { format!("({part} >> {shift})") };
    match dtype {
        Dtype::U8 => format!("u32(u8({bits}))"),
        Dtype::U16 => format!("u32(u16({bits}))"),
        Dtype::I8 => format!("i32(i8({bits}))"),
        Dtype::I16 => format!("i32(i16({bits}))"),
        Dtype::F16 => format!("half_value(u16({bits}))"),
        Dtype::Bf16 if k == 0 => format!("bfloat_value({part} << 16)"),
        Dtype::Bf16 => format!("bfloat_value({part} & 0xffff0000u)"),
        _ => Scalar::of(dtype).of_bits(part),
    }
}

/// An expression for the bits that `value` is stored as; the bits above those of its type are 0.
pub(crate) fn stored(dtype: Dtype, value: &str) -> String {
    match dtype {
        Dtype::U8 | Dtype::I8 => format!("(u32({value}) & 0xffu)"),
        Dtype::U16 | Dtype::I16 => format!("(u32({value}) & 0xffffu)"),
        Dtype::F16 => format!("half_bits({value})"),
        Dtype::Bf16 => format!("bfloat_bits({value})"),
        _ => Scalar::of(dtype).bits(value),
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
                words[offset / 4].push(format!("{} << {}", stored(dtype, &value), 8 * byte))
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

/// An expression for the access that holds `values`.
pub(crate) fn pack(kind: Kind, width: u32, values: &[String]) -> String {
    let width = width_of(kind, width);
    let name = access(kind, width).map_or("u32", |(name, _)| name);
    let parts: Vec<String> = match kind {
        Kind::Number(dtype) => {
            let size = dtype.size() as u32;
            let each = (size.max(4).min(width) / size) as usize;
            let part = |items: &[String]| {
                let shifted = items.iter().enumerate().map(|(k, value)| match k {
                    0 => stored(dtype, value),
                    _ => format!("{} << {}", stored(dtype, value), 8 * size * k as u32),
                });
                shifted.collect::<Vec<_>>().join(" | ")
            };
            values.chunks(each).map(part).collect()
        }
        _ => values.iter().flat_map(|value| words_stored(kind, value)).collect(),
    };
    match parts.len() {
        _ if is_whole(kind) => format!("{name}{{{{{}}}}}", parts.join(", ")),
        1 => format!("{name}({})", parts[0]),
        _ => format!("make_{name}({})", parts.join(", ")),
    }
}
