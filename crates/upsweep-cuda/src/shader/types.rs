//! Numbers in CUDA C++: how they lie in memory, and what they are computed in.

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

    /// The name that the header gives it.
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

    /// The unsigned integer of the same size, in which what wraps is computed: where a signed one overflows, C++
    /// promises nothing.
    pub(crate) fn unsigned(self) -> Self {
        if self.is_wide() { Self::U64 } else { Self::U32 }
    }

    /// An expression for the bits of `value`, as an unsigned integer of the same size.
    pub(crate) fn bits(self, value: &str) -> String {
        match self {
            Self::U32 | Self::U64 => value.to_owned(),
            Self::I32 => format!("u32({value})"),
            Self::I64 => format!("u64({value})"),
            Self::F32 => format!("__float_as_uint({value})"),
            Self::F64 => format!("u64(__double_as_longlong({value}))"),
        }
    }

    /// An expression for the value with these bits.
    pub(crate) fn of_bits(self, bits: &str) -> String {
        match self {
            Self::U32 | Self::U64 => bits.to_owned(),
            Self::I32 => format!("i32({bits})"),
            Self::I64 => format!("i64({bits})"),
            Self::F32 => format!("__uint_as_float({bits})"),
            Self::F64 => format!("__longlong_as_double(i64({bits}))"),
        }
    }

    /// Expressions for the words of `value`, low word first.
    pub(crate) fn words_of(self, value: &str) -> Vec<String> {
        let bits = self.bits(value);
        if self.is_wide() {
            return vec![format!("u32({bits})"), format!("u32({bits} >> 32)")];
        }
        vec![bits]
    }

    /// An expression for the value with these words.
    pub(crate) fn of_words(self, words: &[String]) -> String {
        match words {
            [low, high] => self.of_bits(&format!("(u64({low}) | u64({high}) << 32)")),
            _ => self.of_bits(&words[0]),
        }
    }
}

/// The type of one access of `width` bytes to items of `dtype`, and how many items it holds. `None` where an item does
/// not fit in it.
pub(crate) fn access(dtype: Dtype, width: u32) -> Option<(&'static str, u32)> {
    let size = u32::try_from(dtype.size()).unwrap_or(u32::MAX);
    let name = match (width, size) {
        (_, size) if width < size => return None,
        (1, _) => "u8",
        (2, _) => "u16",
        (4, _) => "u32",
        (8, 8) => "u64",
        (8, _) => "uint2",
        (16, 8) => "ulonglong2",
        (16, _) => "uint4",
        _ => return None,
    };
    Some((name, width / size))
}

/// The parts of an access that are integers: names, and bytes of each.
fn parts(dtype: Dtype, access: &str, width: u32) -> (Vec<String>, u32) {
    let part = (dtype.size() as u32).max(4).min(width);
    let names = ["x", "y", "z", "w"].map(|part| format!("{access}.{part}"));
    match width / part {
        1 => (vec![access.to_owned()], part),
        parts => (names[..parts as usize].to_vec(), part),
    }
}

/// Expressions for the items in `access`, in order.
pub(crate) fn unpack(dtype: Dtype, width: u32, access: &str) -> Vec<String> {
    let (parts, bytes) = parts(dtype, access, width);
    let each = bytes / dtype.size() as u32;
    parts.iter().flat_map(|part| (0..each).map(move |k| item(dtype, part, k))).collect()
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

/// An expression for the access that holds `values`.
pub(crate) fn pack(dtype: Dtype, width: u32, values: &[String]) -> String {
    let size = dtype.size() as u32;
    let each = ((dtype.size() as u32).max(4).min(width) / size) as usize;
    let parts: Vec<String> = values
        .chunks(each)
        .map(|items| {
            let shifted = items.iter().enumerate().map(|(k, value)| match k {
                0 => stored(dtype, value),
                _ => format!("{} << {}", stored(dtype, value), 8 * size * k as u32),
            });
            shifted.collect::<Vec<_>>().join(" | ")
        })
        .collect();
    let name = access(dtype, width).map_or("u32", |(name, _)| name);
    match parts.len() {
        1 => format!("{name}({})", parts[0]),
        _ => format!("make_{name}({})", parts.join(", ")),
    }
}

/// The type in memory of one item.
pub(crate) fn in_memory(dtype: Dtype) -> &'static str {
    match dtype.size() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}
