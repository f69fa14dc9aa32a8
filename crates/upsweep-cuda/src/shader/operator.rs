//! Operators in CUDA C++.

use upsweep_core::{Extreme, Kind, Source};
use upsweep_gpu::layout::of_memory;
use upsweep_gpu::{Custom, Held, Op, Scalar, Spelled, Syntax};

use super::CudaCpp;

/// Operators as text.
pub(crate) trait OpExt {
    /// The function of CUDA's that does this to an unsigned value in memory, in the order in which it wants values, if
    /// there is one.
    fn atomic(&self, held: Held) -> Option<&'static str>;

    /// The type `Acc` and the functions `hold`, `leave`, `enter`, `combine`, `identity` and `padding`
    /// for items of type `Item` that are combined as a `Value`.
    fn text(&self, numbers: &Numbers) -> String;
}

impl OpExt for Op {
    fn atomic(&self, held: Held) -> Option<&'static str> {
        match (self, held) {
            (_, Held::Position(_)) => None,
            (Op::Sum, Held::Plain(scalar)) if !scalar.is_float() => Some("atomicAdd"),
            (Op::Min, _) => Some("atomicMin"),
            (Op::Max, _) => Some("atomicMax"),
            (Op::And, _) => Some("atomicAnd"),
            (Op::Or, _) => Some("atomicOr"),
            (Op::Xor, _) => Some("atomicXor"),
            _ => None,
        }
    }

    fn text(&self, numbers: &Numbers) -> String {
        let Numbers { value, values, narrow } = numbers;
        let held = self.held(*value);
        if let Op::First(extreme) = self {
            return position(*extreme, held);
        }
        let mut text = match held {
            Held::Key(float) => {
                let nan =
                    if *self == Op::Min { held.least::<CudaCpp>() } else { held.most::<CudaCpp>() };
                format!(
                    "{}using Acc = Key;\n\
                     inline Acc hold(Value value) {{\n\
                     \x20   const Key key = key_of(value);\n\
                     \x20   return is_nan_key(key) ? {nan} : key;\n}}\n\
                     inline Value leave(Acc acc) {{ return value_of(acc); }}\n",
                    keys(float)
                )
            }
            _ => "using Acc = Value;\n\
                  inline Acc hold(Value value) { return value; }\n\
                  inline Value leave(Acc acc) { return acc; }\n"
                .to_owned(),
        };
        // Signed integers wrap as unsigned ones do.
        let wrapping = |operator: &str| match held {
            Held::Plain(value) if !value.is_float() => {
                let unsigned = value.unsigned().name();
                format!("Acc({unsigned}(left) {operator} {unsigned}(right))")
            }
            _ => format!("left {operator} right"),
        };
        let combined = match self {
            Op::Sum => wrapping("+"),
            Op::Product => wrapping("*"),
            Op::Min => "right < left ? right : left".to_owned(),
            Op::Max => "right > left ? right : left".to_owned(),
            Op::And => "left & right".to_owned(),
            Op::Or => "left | right".to_owned(),
            Op::Xor => "left ^ right".to_owned(),
            Op::Custom(Custom { source, .. }) => {
                let Source { declarations, combine, structure, fields, .. } = source;
                // Those of a structure have come before its name.
                text += if structure.is_empty() { declarations } else { "" };
                let own = values.fields.as_ref().map_or(String::new(), |(kind, words)| {
                    format!("const auto fields = {}; ", of_memory::<CudaCpp>(*kind, words, fields))
                });
                text += &format!("inline Acc combined(Acc left, Acc right) {{ {own}{combine} }}\n");
                narrow.replace('_', "combined(left, right)")
            }
            Op::First(_) => unreachable!("positions have returned"),
        };
        text += &format!(
            "inline Acc enter(Item item, u64) {{ return hold(Value(item)); }}\n\
             inline Acc combine(Acc left, Acc right) {{ return {combined}; }}\n\
             inline Acc identity() {{ return hold({}); }}\n\
             inline Acc padding() {{ return hold({}); }}\n",
            held.value_of_words::<CudaCpp>(&values.identity),
            held.value_of_words::<CudaCpp>(&values.padding),
        );
        text
    }
}

/// The numbers that an operator is given.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// What they are combined as.
    pub(crate) value: Kind,
    /// The identity, the padding and the fields.
    pub(crate) values: Spelled,
    /// What brings a value `_` of a short type back to its range.
    pub(crate) narrow: String,
}

/// What [`Op::text`] gives for the search for a position.
fn position(extreme: Extreme, held: Held) -> String {
    let (better, worst, end) = match extreme {
        Extreme::Smallest => ("<", held.most::<CudaCpp>(), held.least::<CudaCpp>()),
        Extreme::Largest => (">", held.least::<CudaCpp>(), held.most::<CudaCpp>()),
    };
    let seen = seen(extreme, held);
    let scalar = held.scalar().unwrap_or(Scalar::U32);
    let key = if scalar.is_float() {
        // −0 and +0 are equal: −0 has the key −1, which nothing else has.
        format!(
            "{}inline Key hold_key(Value value) {{\n\
             \x20   const Key key = key_of(value);\n\
             \x20   return is_nan_key(key) ? {end} : key == Key(-1) ? Key(0) : key;\n}}\n",
            keys(scalar)
        )
    } else {
        "using Key = Value;\ninline Key hold_key(Value value) { return value; }\n".to_owned()
    };
    format!(
        "{key}struct Acc {{ Key key; u64 index; }};\n\
         constexpr Key WORST = {worst};\n\
         constexpr u64 NOWHERE = ~u64(0);\n\
         inline bool is_better(Key left, Key right) {{ return left {better} right; }}\n\
         inline Acc enter(Item item, u64 index) {{ return Acc{{hold_key(Value(item)), index}}; }}\n\
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

/// The functions between a float and its key: bits, the lower ones turned round where the sign is set, so that
/// keys are in the order of the values.
fn keys(float: Scalar) -> String {
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
