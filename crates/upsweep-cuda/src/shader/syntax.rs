//! What CUDA C++ writes otherwise than other languages of kernels.

use upsweep_core::{Dtype, Language};
use upsweep_gpu::{Scalar, Syntax};

use super::Cut;

/// The language of this backend's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CudaCpp;

impl Syntax for CudaCpp {
    const LANGUAGE: Language = Language::Cuda;

    type Cut = Cut;

    fn words_beside(cut: &Cut) -> u32 {
        cut.words()
    }

    fn literal(scalar: Scalar, digits: &str) -> String {
        let suffix = match scalar {
            Scalar::U32 => "u",
            Scalar::U64 => "ull",
            Scalar::I64 => "ll",
            _ => "",
        };
        format!("{digits}{suffix}")
    }

    fn structure(name: &str, fields: &[String]) -> String {
        format!("{name}{{{}}}", fields.join(", "))
    }

    fn bits(scalar: Scalar, value: &str) -> String {
        match scalar {
            Scalar::U32 | Scalar::U64 => value.to_owned(),
            Scalar::I32 => format!("u32({value})"),
            Scalar::I64 => format!("u64({value})"),
            Scalar::F32 => format!("__float_as_uint({value})"),
            Scalar::F64 => format!("u64(__double_as_longlong({value}))"),
        }
    }

    fn of_bits(scalar: Scalar, bits: &str) -> String {
        match scalar {
            Scalar::U32 | Scalar::U64 => bits.to_owned(),
            Scalar::I32 => format!("i32({bits})"),
            Scalar::I64 => format!("i64({bits})"),
            Scalar::F32 => format!("__uint_as_float({bits})"),
            Scalar::F64 => format!("__longlong_as_double(i64({bits}))"),
        }
    }

    fn halves(bits: &str) -> [String; 2] {
        [format!("u32({bits})"), format!("u32({bits} >> 32)")]
    }

    fn shifted(bits: &str, places: usize) -> String {
        format!("{bits} << {places}")
    }

    fn part(access: &str, k: usize) -> String {
        format!("{access}.at[{k}]")
    }

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
            _ => Self::of_bits(Scalar::of(dtype), part),
        }
    }

    fn stored(dtype: Dtype, value: &str) -> String {
        match dtype {
            Dtype::U8 | Dtype::I8 => format!("(u32({value}) & 0xffu)"),
            Dtype::U16 | Dtype::I16 => format!("(u32({value}) & 0xffffu)"),
            Dtype::F16 => format!("half_bits({value})"),
            Dtype::Bf16 => format!("bfloat_bits({value})"),
            _ => Self::bits(Scalar::of(dtype), value),
        }
    }

    fn position_words(value: &str) -> Vec<String> {
        Scalar::U64.words_of::<Self>(&format!("{value}.index"))
    }

    fn position_fields(words: &[String]) -> Vec<String> {
        vec![Scalar::U64.of_words::<Self>(words)]
    }
}
