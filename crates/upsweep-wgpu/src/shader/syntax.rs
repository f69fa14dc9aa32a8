//! What WGSL writes otherwise than other languages of kernels.

use upsweep_core::{Dtype, Kind, Language};
use upsweep_gpu::{Held, Op, PositionSearch, Scalar, Syntax};

use super::{Cut, Types, operator};

/// The language of this backend's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wgsl;

impl Syntax for Wgsl {
    const LANGUAGE: Language = Language::Wgsl;

    const IS_IN_ORDER: bool = false;

    const UNUSED_INDEX: (&'static str, &'static str) = ("index", "u32");

    type Cut = Cut;

    fn words_beside(_: &Cut) -> u32 {
        1
    }

    fn alias(name: &str, of: &str) -> String {
        format!("alias {name} = {of};\n")
    }

    fn constant(name: &str, value: u32) -> String {
        format!("const {name} = {value}u;\n")
    }

    fn words_type() -> String {
        "alias Words = array<u32, WORDS>;\n".to_owned()
    }

    fn function(result: &str, name: &str, parameters: &[(&str, &str)], body: &str) -> String {
        let parameters = parameters.iter().map(|(name, of)| format!("{name}: {of}"));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        format!("fn {name}({parameters}) -> {result} {{{body}}}\n")
    }

    fn let_statement(name: &str, _: &str, value: &str) -> String {
        format!("let {name} = {value};")
    }

    fn var_statement(name: &str, _: &str, value: &str) -> String {
        format!("var {name} = {value};")
    }

    fn words(words: &[String]) -> String {
        format!("Words({})", words.join(", "))
    }

    fn select(condition: &str, yes: &str, no: &str) -> String {
        format!("select({no}, {yes}, {condition})")
    }

    fn literal(scalar: Scalar, digits: &str) -> String {
        let suffix = match scalar {
            Scalar::U32 => "u",
            Scalar::U64 => "lu",
            Scalar::I64 => "li",
            _ => "i",
        };
        format!("{digits}{suffix}")
    }

    fn structure_type(name: &str, fields: &[(&str, &str)]) -> String {
        let fields: Vec<String> =
            fields.iter().map(|(field, of)| format!("{field}: {of}")).collect();
        format!("struct {name} {{ {} }}\n", fields.join(", "))
    }

    fn structure(name: &str, fields: &[String]) -> String {
        format!("{name}({})", fields.join(", "))
    }

    fn bits(scalar: Scalar, value: &str) -> String {
        match scalar {
            Scalar::U64 => value.to_owned(),
            _ => format!("bitcast<{}>({value})", scalar.unsigned().name()),
        }
    }

    fn of_bits(scalar: Scalar, bits: &str) -> String {
        match scalar {
            Scalar::U64 => bits.to_owned(),
            _ => format!("bitcast<{}>({bits})", scalar.name()),
        }
    }

    fn split_words(bits: &str) -> [String; 2] {
        [format!("u32({bits} & 0xfffffffflu)"), format!("u32({bits} >> 32u)")]
    }

    fn shifted(bits: &str, places: usize) -> String {
        format!("({bits} << {places}u)")
    }

    fn element(whole: &str, place: &str) -> String {
        format!("{whole}[{place}]")
    }

    fn item(dtype: Dtype, part: &str, k: u32) -> String {
        let bits = 8 * dtype.size() as u32;
        match dtype {
            Dtype::U8 | Dtype::U16 => format!("extractBits({part}, {}u, {bits}u)", k * bits),
            Dtype::I8 | Dtype::I16 => {
                format!("extractBits(bitcast<i32>({part}), {}u, {bits}u)", k * bits)
            }
            Dtype::F16 => format!("unpack2x16float({part}).{}", if k == 0 { "x" } else { "y" }),
            Dtype::Bf16 if k == 0 => format!("bitcast<f32>({part} << 16u)"),
            Dtype::Bf16 => format!("bitcast<f32>({part} & 0xffff0000u)"),
            Dtype::I32 => format!("bitcast<i32>({part})"),
            Dtype::F32 => format!("bitcast<f32>({part})"),
            _ => part.to_owned(),
        }
    }

    fn stored(dtype: Dtype, value: &str) -> String {
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

    fn widened(item: Kind, acc: Kind) -> String {
        let [item, acc] = [item, acc].map(|kind| kind.number().map(Scalar::of));
        match (item, acc) {
            // naga's SPIR-V extends the sign of whatever becomes signed (naga 30, on lavapipe).
            (Some(Scalar::U32), Some(Scalar::I64)) => "i64(u64(item))".to_owned(),
            (Some(item), Some(acc)) if item != acc => format!("{}(item)", acc.name()),
            _ => "item".to_owned(),
        }
    }

    fn narrowed(acc: Kind, value: &str) -> String {
        match acc.number() {
            Some(Dtype::U8) => format!("({value} & 0xffu)"),
            Some(Dtype::U16) => format!("({value} & 0xffffu)"),
            Some(Dtype::I8) => format!("extractBits({value}, 0u, 8u)"),
            Some(Dtype::I16) => format!("extractBits({value}, 0u, 16u)"),
            _ => value.to_owned(),
        }
    }

    fn combined(op: &Op, _: Held) -> String {
        operator::combined(op).to_owned()
    }

    fn operator_word(types: &Types, word: usize) -> String {
        super::handed_word(super::first_word(types) + super::words_of_made(types) + word)
    }

    fn keys(float: Scalar) -> String {
        operator::keys(float)
    }

    fn key_searched(end: &str) -> String {
        let key = Self::select("is_nan_key(key)", end, "key");
        Self::select("key == Key(-1)", "Key(0)", &key)
    }

    fn search(search: &PositionSearch) -> String {
        operator::search(search)
    }

    fn add_to_total(function: &str) -> String {
        format!(
            "fn add_to_total(acc: Acc) -> Total {{ return {function}(&state.total, ordered(acc)); }}\n"
        )
    }

    fn position_words(value: &str) -> Vec<String> {
        vec![format!("{value}.low"), format!("{value}.high")]
    }

    fn position_fields(words: &[String]) -> Vec<String> {
        words.to_vec()
    }
}
