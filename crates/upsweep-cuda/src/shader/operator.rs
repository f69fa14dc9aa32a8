//! What operators are in CUDA C++ alone.

use upsweep_core::Extreme;
use upsweep_gpu::{Held, Op, PositionSearch, Scalar, Syntax};

use super::CudaCpp;

/// A sum, a product, a minimum or a maximum of `left` and `right`.
pub(super) fn combined(op: &Op, held: Held) -> String {
    // Signed integers wrap as unsigned ones do.
    let wrapping = |operator: &str| match held {
        Held::Plain(value) if !value.is_float() => {
            let unsigned = value.unsigned().name();
            format!("Acc({unsigned}(left) {operator} {unsigned}(right))")
        }
        _ => format!("left {operator} right"),
    };
    match op {
        Op::Product => wrapping("*"),
        Op::Min => "right < left ? right : left".to_owned(),
        Op::Max => "right > left ? right : left".to_owned(),
        _ => wrapping("+"),
    }
}

/// The functions between a float and its key.
pub(super) fn keys(float: Scalar) -> String {
    let (key, shift, rest, infinity) = match float {
        Scalar::F64 => (Scalar::I64, 63, "0x7fffffffffffffffll", "0x7ff0000000000000ll"),
        _ => (Scalar::I32, 31, "0x7fffffff", "0x7f800000"),
    };
    format!(
        "using Key = {};\n\
         inline Key turned(Key bits) {{ return bits ^ ((bits >> {shift}) & {rest}); }}\n\
         inline Key key_of(Value value) {{ return turned(Key({})); }}\n\
         inline Value value_of(Key key) {{ return {}; }}\n\
         inline bool is_nan_key(Key key) {{ return (turned(key) & {rest}) > {infinity}; }}\n",
        key.name(),
        CudaCpp::bits(float, "value"),
        CudaCpp::of_bits(float, &format!("{}(turned(key))", float.unsigned().name())),
    )
}

/// The search for a position behind its keys.
pub(super) fn search(
    PositionSearch { extreme, held, better, worst, widened }: &PositionSearch,
) -> String {
    let seen = seen(*extreme, *held);
    format!(
        "struct Acc {{ Key key; u64 index; }};\n\
         constexpr Key WORST = {worst};\n\
         constexpr u64 NOWHERE = ~u64(0);\n\
         inline bool is_better(Key left, Key right) {{ return left {better} right; }}\n\
         inline Acc enter(Item item, u64 index) {{ return Acc{{hold_key({widened}), index}}; }}\n\
         inline Acc combine(Acc left, Acc right) {{\n\
         \x20   const bool is_earlier = right.key == left.key && right.index < left.index;\n\
         \x20   const bool wins = is_better(right.key, left.key) || is_earlier;\n\
         \x20   return Acc{{wins ? right.key : left.key, wins ? right.index : left.index}};\n}}\n\
         inline Acc padding() {{ return Acc{{WORST, NOWHERE}}; }}\n\
         inline Acc identity() {{ return padding(); }}\n\
         {seen}"
    )
}

/// As what items are compared in the search for a position, before anybody asks for a key: floats of 32 bits as they are, where
/// the device can compare them as keys are, NaN before all others.
fn seen(extreme: Extreme, held: Held) -> String {
    let keys = "using Seen = Key;\n\
                inline Seen see(Value value) { return hold_key(value); }\n\
                inline Seen worst_seen() { return WORST; }\n\
                inline Seen better_of(Seen left, Seen right) { return is_better(right, left) ? right : left; }\n\
                inline bool is_like(Seen left, Seen right) { return left == right; }\n\
                inline Key key_seen(Seen seen) { return seen; }\n";
    if held.scalar() != Some(Scalar::F32) {
        return keys.to_owned();
    }
    let (instruction, worst) = match extreme {
        Extreme::Smallest => ("min.NaN.f32", "0x7f800000"),
        Extreme::Largest => ("max.NaN.f32", "0xff800000"),
    };
    format!(
        "#if __CUDA_ARCH__ >= 800\n\
         using Seen = Value;\n\
         inline Seen see(Value value) {{ return value; }}\n\
         inline Seen worst_seen() {{ return __uint_as_float({worst}u); }}\n\
         inline Seen better_of(Seen left, Seen right) {{\n\
         \x20   Seen better;\n\
         \x20   asm(\"{instruction} %0, %1, %2;\" : \"=f\"(better) : \"f\"(left), \"f\"(right));\n\
         \x20   return better;\n}}\n\
         inline bool is_like(Seen left, Seen right) {{ return right != right ? left != left : left == right; }}\n\
         inline Key key_seen(Seen seen) {{ return hold_key(seen); }}\n\
         #else\n{keys}#endif\n"
    )
}
