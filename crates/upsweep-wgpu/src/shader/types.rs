//! Numbers in WGSL: how they lie in words of memory, and what they are computed in.

use upsweep_core::Dtype;

/// A type that kernels compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
}

impl Scalar {
    /// What items of a type are once they are unpacked.
    pub(crate) fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::U8 | Dtype::U16 | Dtype::U32 => Self::U32,
            Dtype::I8 | Dtype::I16 | Dtype::I32 => Self::I32,
            Dtype::U64 => Self::U64,
            Dtype::I64 => Self::I64,
            Dtype::F64 => Self::F64,
            _ => Self::F32,
        }
    }

    /// The name in WGSL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }

    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::I64 | Self::F64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Words of memory that hold a value.
    pub(crate) fn words(self) -> u32 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Expressions for the words of `value`, low word first.
    pub(crate) fn words_of(self, value: &str) -> Vec<String> {
        if !self.is_wide() {
            return vec![format!("bitcast<u32>({value})")];
        }
        let bits =
            if self == Self::U64 { value.to_owned() } else { format!("bitcast<u64>({value})") };
        vec![format!("u32({bits} & 0xfffffffflu)"), format!("u32({bits} >> 32u)")]
    }

    /// An expression for the value with these words.
    pub(crate) fn of_words(self, words: &[String]) -> String {
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

/// The WGSL type of one access of `width` bytes to items of `dtype`, and how many items it holds.
/// `None` where an item does not fit in it.
pub(crate) fn access(dtype: Dtype, width: u32) -> Option<(String, u32)> {
    let size = u32::try_from(dtype.size()).unwrap_or(u32::MAX);
    let items = width / size;
    let name = if size == 8 { Scalar::of(dtype).name() } else { "u32" };
    let parts = width / size.max(4);
    match (items, parts) {
        (0, _) => None,
        (_, 1) => Some((name.to_owned(), items)),
        (_, parts) => Some((format!("vec{parts}<{name}>"), items)),
    }
}

/// The parts of an access that hold `parts` of them.
fn parts(access: &str, parts: u32) -> Vec<String> {
    if parts == 1 {
        return vec![access.to_owned()];
    }
    ["x", "y", "z", "w"]
        .iter()
        .take(parts as usize)
        .map(|part| format!("{access}.{part}"))
        .collect()
}

/// Expressions for the items in `access`, in order.
pub(crate) fn unpack(dtype: Dtype, width: u32, access: &str) -> Vec<String> {
    let size = dtype.size() as u32;
    let per_word = (4 / size).max(1);
    parts(access, width / size.max(4))
        .iter()
        .flat_map(|word| (0..per_word).map(move |k| item(dtype, word, k)))
        .collect()
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

/// An expression for the access that holds `values`.
pub(crate) fn pack(dtype: Dtype, width: u32, values: &[String]) -> String {
    let size = dtype.size() as u32;
    let per_word = (4 / size).max(1) as usize;
    let words: Vec<String> = values
        .chunks(per_word)
        .map(|items| {
            let shifted = items.iter().enumerate().map(|(k, value)| match k {
                0 => stored(dtype, value),
                _ => format!("({} << {}u)", stored(dtype, value), k as u32 * 8 * size),
            });
            shifted.collect::<Vec<_>>().join(" | ")
        })
        .collect();
    match access(dtype, width) {
        Some((name, _)) if words.len() > 1 => format!("{name}({})", words.join(", ")),
        _ => words.join(""),
    }
}
