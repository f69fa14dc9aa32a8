//! What CUDA C++ writes otherwise than other languages of kernels.

use upsweep_core::{Dtype, Kind, Language};
use upsweep_gpu::{Held, Op, PositionSearch, Scalar, Syntax};

use super::{Cut, Types, operator};

/// The language of this backend's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaCpp;

impl Syntax for CudaCpp {
    const LANGUAGE: Language = Language::Cuda;

    const IS_IN_ORDER: bool = true;

    const UNUSED_INDEX: (&'static str, &'static str) = ("", "u64");

    type Cut = Cut;

    fn words_beside(cut: &Cut) -> u32 {
        cut.words_beside()
    }

    fn alias(name: &str, of: &str) -> String {
        format!("using {name} = {of};\n")
    }

    fn constant(name: &str, value: u32) -> String {
        format!("constexpr u32 {name} = {value}u;\n")
    }

    fn words_type() -> String {
        "struct Words { u32 at[WORDS]; };\n".to_owned()
    }

    fn function(result: &str, name: &str, parameters: &[(&str, &str)], body: &str) -> String {
        let parameters = parameters.iter().map(|(name, of)| match *name {
            "" => (*of).to_owned(),
            name => format!("{of} {name}"),
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        format!("inline {result} {name}({parameters}) {{{body}}}\n")
    }

    fn let_statement(name: &str, of: &str, value: &str) -> String {
        format!("const {of} {name} = {value};")
    }

    fn var_statement(name: &str, of: &str, value: &str) -> String {
        format!("{of} {name} = {value};")
    }

    fn words(words: &[String]) -> String {
        format!("Words{{{{{}}}}}", words.join(", "))
    }

    fn select(condition: &str, yes: &str, no: &str) -> String {
        format!("{condition} ? {yes} : {no}")
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

    fn structure_type(name: &str, fields: &[(&str, &str)]) -> String {
        let fields = fields.iter().map(|(field, of)| format!("{of} {field}; "));
        format!("struct {name} {{ {}}};\n", fields.collect::<String>())
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

    fn split_words(bits: &str) -> [String; 2] {
        [format!("u32({bits})"), format!("u32({bits} >> 32)")]
    }

    fn shifted(bits: &str, places: usize) -> String {
        format!("{bits} << {places}")
    }

    fn element(whole: &str, place: &str) -> String {
        format!("{whole}.at[{place}]")
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

    fn widened(_: Kind, _: Kind) -> String {
        "Value(item)".to_owned()
    }

    fn narrowed(acc: Kind, value: &str) -> String {
        match acc.number() {
            Some(Dtype::U8) => format!("u32(u8({value}))"),
            Some(Dtype::U16) => format!("u32(u16({value}))"),
            Some(Dtype::I8) => format!("i32(i8({value}))"),
            Some(Dtype::I16) => format!("i32(i16({value}))"),
            _ => value.to_owned(),
        }
    }

    fn combined(op: &Op, held: Held) -> String {
        operator::combined(op, held)
    }

    fn operator_word(types: &Types, word: usize) -> String {
        super::taken(types.parameters() + word)
    }

    fn keys(float: Scalar) -> String {
        operator::keys(float)
    }

    fn key_searched(end: &str) -> String {
        format!("is_nan_key(key) ? {end} : key == Key(-1) ? Key(0) : key")
    }

    fn search(search: &PositionSearch) -> String {
        operator::search(search)
    }

    fn add_to_total(function: &str) -> String {
        format!(
            "inline Total add_to_total(Total* total, Acc acc) {{ return {function}(total, ordered(acc)); }}\n"
        )
    }

    fn position_words(value: &str) -> Vec<String> {
        Scalar::U64.words_of::<Self>(&format!("{value}.index"))
    }

    fn position_fields(words: &[String]) -> Vec<String> {
        vec![Scalar::U64.of_words::<Self>(words)]
    }
}
