//! What is spelt differently in the two languages; all else is the same text.

use super::helpers::NOT_A_NUMBER;
use crate::{Dtype, Language};

/// What a kernel holds a number in: the short integers in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Bool,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Scalar {
    pub(super) fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::U8 | Dtype::U16 | Dtype::U32 => Self::U32,
            Dtype::I8 | Dtype::I16 | Dtype::I32 => Self::I32,
            Dtype::U64 => Self::U64,
            Dtype::I64 => Self::I64,
            Dtype::F64 => Self::F64,
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 => Self::F32,
        }
    }

    /// The name, in Rust, in WGSL and in the header of CUDA kernels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::I64 | Self::F64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// The unsigned integer of the same size.
    pub(super) fn unsigned(self) -> Self {
        if self.is_wide() { Self::U64 } else { Self::U32 }
    }
}

/// The language of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling(pub(super) Language);

impl Spelling {
    fn is_wgsl(self) -> bool {
        self.0 == Language::Wgsl
    }

    /// One of two spellings.
    pub(super) fn either<T>(self, wgsl: T, cuda: T) -> T {
        if self.is_wgsl() { wgsl } else { cuda }
    }

    /// The number with these bits, which must not be a NaN, infinite, subnormal or −0: for those see [`plain`].
    pub(super) fn literal(self, scalar: Scalar, bits: u64) -> String {
        let suffix = self.suffix(scalar);
        match scalar {
            Scalar::Bool => (bits != 0).to_string(),
            Scalar::U32 | Scalar::U64 => format!("{bits}{suffix}"),
            Scalar::I32 if (bits as i32) < 0 => format!("i32({:#x}u)", bits as u32),
            Scalar::I32 => format!("{}{suffix}", bits as i32),
            Scalar::I64 if (bits as i64) < 0 => {
                format!("i64({bits:#x}{})", self.suffix(Scalar::U64))
            }
            Scalar::I64 => format!("{}{suffix}", bits as i64),
            Scalar::F32 => format!("{:?}{suffix}", f32::from_bits(bits as u32)),
            Scalar::F64 => format!("{:?}{suffix}", f64::from_bits(bits)),
        }
    }

    /// What stands behind a literal.
    pub(super) fn suffix(self, scalar: Scalar) -> &'static str {
        match scalar {
            Scalar::Bool => "",
            Scalar::U32 => "u",
            Scalar::I32 => self.either("i", ""),
            Scalar::U64 => self.either("lu", "ull"),
            Scalar::I64 => self.either("li", "ll"),
            Scalar::F32 => "f",
            Scalar::F64 => self.either("lf", ""),
        }
    }

    /// A variable, or what is named once and stays.
    pub(super) fn declare(
        self,
        mutable: bool,
        name: &str,
        of: &str,
        value: Option<&str>,
    ) -> String {
        let value = value.map(|value| format!(" = {value}")).unwrap_or_default();
        match (self.is_wgsl(), mutable) {
            (true, true) => format!("var {name}: {of}{value};"),
            (true, false) => format!("let {name}{value};"),
            (false, true) => format!("{of} {name}{value};"),
            (false, false) => format!("const {of} {name}{value};"),
        }
    }

    /// The head of a function; parameters are names and types.
    pub(super) fn head(self, name: &str, parameters: &[(String, String)], result: &str) -> String {
        let list: Vec<String> = parameters
            .iter()
            .map(|(name, of)| self.either(format!("{name}: {of}"), format!("{of} {name}")))
            .collect();
        let list = list.join(", ");
        self.either(
            format!("fn {name}({list}) -> {result}"),
            format!("inline {result} {name}({list})"),
        )
    }

    /// A structure with these fields.
    pub(super) fn structure(self, name: &str, fields: &[(String, String)]) -> String {
        let list: Vec<String> = fields
            .iter()
            .map(|(field, of)| self.either(format!("{field}: {of},"), format!("{of} {field};")))
            .collect();
        format!("struct {name} {{ {} }}{}\n", list.join(" "), self.either("", ";"))
    }

    /// A value of a structure.
    pub(super) fn construct(self, name: &str, values: &[String]) -> String {
        let values = values.join(", ");
        self.either(format!("{name}({values})"), format!("{name}{{{values}}}"))
    }

    /// `yes` where the condition holds; both are looked at.
    pub(super) fn select(self, no: &str, yes: &str, condition: &str) -> String {
        self.either(
            format!("select({no}, {yes}, {condition})"),
            format!("({condition} ? {yes} : {no})"),
        )
    }

    /// The body of a helper, written in what both languages have in common, and in WGSL where they have nothing.
    pub(super) fn body(self, text: &str) -> String {
        if self.is_wgsl() {
            return text.to_owned();
        }
        text.replace("let ", "const auto ")
            .replace("var ", "auto ")
            .replace("select(", "rust_select(")
    }
}

/// Whether a number may stand in a text as a literal: WGSL knows no NaN and no infinity, and may flush subnormals.
pub(super) fn plain(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        Scalar::F32 => {
            let value = f32::from_bits(bits as u32);
            bits == 0 || value.is_normal()
        }
        Scalar::F64 => bits == 0 || f64::from_bits(bits).is_normal(),
        _ => true,
    }
}

/// A name of Rust's that neither language can take for one of its own: behind it stands a number.
pub(super) fn mangled(name: &str, number: u32) -> String {
    let mut text = String::new();
    for letter in name.trim_start_matches("r#").chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => text.push(letter),
            // Two underscores are reserved in C++.
            '_' if !text.is_empty() && !text.ends_with('_') => text.push('_'),
            '_' => {}
            other => text += &format!("u{:x}", u32::from(other)),
        }
    }
    let letter = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let underscore = if text.ends_with('_') { "" } else { "_" };
    format!("{}{text}{underscore}{number}", if letter { "" } else { "v" })
}

/// Bits of the NaN that texts make.
pub(super) fn nan(scalar: Scalar) -> u64 {
    NOT_A_NUMBER[usize::from(scalar.is_wide())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_one_of_a_language() {
        let names = ["var", "float", "r#match", "_", "__hidden", "a__b", "größe", "x_"];
        let made: Vec<String> =
            (1..).zip(names).map(|(number, name)| mangled(name, number)).collect();
        assert_eq!(
            made,
            ["var_1", "float_2", "match_3", "v_4", "hidden_5", "a_b_6", "gruf6udfe_7", "x_8"]
        );
    }

    #[test]
    fn literals_are_what_they_say() {
        let [wgsl, cuda] = [Spelling(Language::Wgsl), Spelling(Language::Cuda)];
        for (scalar, bits, expected) in [
            (Scalar::U32, 7, ["7u", "7u"]),
            (Scalar::I32, 7, ["7i", "7"]),
            (Scalar::I32, u64::MAX, ["i32(0xffffffffu)", "i32(0xffffffffu)"]),
            (Scalar::U64, 1 << 40, ["1099511627776lu", "1099511627776ull"]),
            (Scalar::I64, 1 << 63, ["i64(0x8000000000000000lu)", "i64(0x8000000000000000ull)"]),
            (Scalar::F32, u64::from(1.5f32.to_bits()), ["1.5f", "1.5f"]),
            (Scalar::F64, 1e300f64.to_bits(), ["1e300lf", "1e300"]),
        ] {
            assert_eq!([wgsl.literal(scalar, bits), cuda.literal(scalar, bits)], expected);
        }
    }

    #[test]
    fn what_wgsl_has_no_literal_for_is_told() {
        let special = [f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 2.0, -0.0];
        for value in special {
            assert!(!plain(Scalar::F32, u64::from(value.to_bits())), "{value}");
            assert!(
                !plain(Scalar::F64, f64::from(value).to_bits()) || value.is_subnormal(),
                "{value}"
            );
        }
        assert!(
            [0.0, -1.0, f32::MAX]
                .iter()
                .all(|value| plain(Scalar::F32, u64::from(value.to_bits())))
        );
    }
}
