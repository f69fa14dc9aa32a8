//! Operators in CUDA C++.
//!
//! `Min` and `Max` of floats are those of integers in the same order: a key in which −0 comes before +0 and a
//! NaN at the end where it wins. So they are exact on every device, whatever its own `min` makes of NaN.

use upsweep_core::{Builtin, Dtype, Extreme, Kind, Source};
use upsweep_gpu::bits::{Words, words_of};
use upsweep_gpu::{Custom, ErasedOperator, OperatorText, Spelled};

use super::types::{Scalar, field_names, of_memory};

/// What items are combined with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// The first position of the smallest or largest item.
    First(Extreme),
    /// One of the caller's.
    Custom(Custom),
}

/// How values are held while they are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Held {
    /// As they are.
    Plain(Scalar),
    /// A float as the key of its order: the scalar is the float's.
    Key(Scalar),
    /// The key of an item of this scalar, and its position.
    Position(Scalar),
    /// A structure of numbers, as it is.
    Structure(Kind),
}

impl Op {
    /// The operator that this is; `None` if it has no text in CUDA C++.
    pub(crate) fn of(operator: &ErasedOperator) -> Option<Self> {
        Some(match &operator.text {
            OperatorText::Builtin(Builtin::Sum) => Op::Sum,
            OperatorText::Builtin(Builtin::Product) => Op::Product,
            OperatorText::Builtin(Builtin::Min) => Op::Min,
            OperatorText::Builtin(Builtin::Max) => Op::Max,
            OperatorText::Builtin(Builtin::BitAnd) => Op::And,
            OperatorText::Builtin(Builtin::BitOr) => Op::Or,
            OperatorText::Builtin(Builtin::BitXor) => Op::Xor,
            OperatorText::Custom(own) => Op::Custom(own.clone()),
            OperatorText::None => return None,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::Product => "product",
            Op::Min => "min",
            Op::Max => "max",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
            Op::First(Extreme::Smallest) => "argmin",
            Op::First(Extreme::Largest) => "argmax",
            Op::Custom(own) => own.name,
        }
    }

    /// How values of this kind are held while they are combined.
    pub(crate) fn held(&self, kind: Kind) -> Held {
        let Kind::Number(dtype) = kind else { return Held::Structure(kind) };
        let scalar = Scalar::of(dtype);
        match self {
            Op::Min | Op::Max if scalar.is_float() => Held::Key(scalar),
            Op::First(_) => Held::Position(scalar),
            _ => Held::Plain(scalar),
        }
    }

    /// Whether the grouping of values of this kind cannot be seen in the result.
    pub(crate) fn is_exact(&self, kind: Kind) -> bool {
        match self {
            Op::Custom(own) => own.exact,
            Op::Sum | Op::Product => !kind.number().is_some_and(Dtype::is_float),
            _ => true,
        }
    }

    pub(crate) fn is_commutative(&self) -> bool {
        match self {
            Op::Custom(own) => own.commutative,
            _ => true,
        }
    }

    /// The function of CUDA's that does this to an unsigned value in memory, in the order in which it wants values, if
    /// there is one.
    pub(crate) fn atomic(&self, held: Held) -> Option<&'static str> {
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

    /// The type `Acc` and the functions `hold`, `leave`, `enter`, `combine`, `identity` and `padding`
    /// for items of type `Item` that are combined as a `Value`.
    pub(crate) fn text(&self, numbers: &Numbers) -> String {
        let Numbers { value, values, narrow } = numbers;
        let held = self.held(*value);
        if let Op::First(extreme) = self {
            return position(*extreme, held);
        }
        let mut text = match held {
            Held::Key(float) => {
                let nan = if *self == Op::Min { held.least() } else { held.most() };
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
                    format!("const auto fields = {}; ", of_memory(*kind, words, fields))
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
            held.value_of_words(&values.identity),
            held.value_of_words(&values.padding),
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
        Extreme::Smallest => ("<", held.most(), held.least()),
        Extreme::Largest => (">", held.least(), held.most()),
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
        float.bits("value"),
        float.of_bits(&format!("{}(turned(key))", float.unsigned().name())),
    )
}

impl Held {
    /// The type of the value, of the float behind a key, of the item at a position; none of a structure.
    pub(crate) fn scalar(self) -> Option<Scalar> {
        match self {
            Held::Plain(scalar) | Held::Key(scalar) | Held::Position(scalar) => Some(scalar),
            Held::Structure(_) => None,
        }
    }

    /// The type of what is compared, or `u32`.
    fn key(self) -> Scalar {
        match self {
            Held::Plain(scalar) => scalar,
            Held::Key(Scalar::F64) | Held::Position(Scalar::F64) => Scalar::I64,
            Held::Key(Scalar::F32) | Held::Position(Scalar::F32) => Scalar::I32,
            Held::Key(scalar) | Held::Position(scalar) => scalar,
            Held::Structure(_) => Scalar::U32,
        }
    }

    /// Words that a value is held in.
    pub(crate) fn words(self) -> u32 {
        match self {
            Held::Structure(kind) => words_of(kind) as u32,
            Held::Position(_) => self.key().words() + 2,
            _ => self.key().words(),
        }
    }

    /// The words of a number, given those that it is held as.
    pub(crate) fn value_of(self, mut words: Words) -> Words {
        match self {
            Held::Key(Scalar::F64) => {
                let bits = u64::from(words[0]) | u64::from(words[1]) << 32;
                let value = bits ^ ((bits as i64 >> 63) as u64 >> 1);
                words[..2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
            }
            Held::Key(_) => words[0] ^= (words[0] as i32 >> 31) as u32 >> 1,
            _ => {}
        }
        words
    }

    /// Expressions for the words of `value`.
    pub(crate) fn words_of(self, value: &str) -> Vec<String> {
        match self {
            Held::Position(_) => {
                let mut words = self.key().words_of(&format!("{value}.key"));
                words.extend(Scalar::U64.words_of(&format!("{value}.index")));
                words
            }
            Held::Structure(kind) => field_names(kind)
                .zip(kind.numbers())
                .flat_map(|(field, (_, of))| Scalar::of(of).words_of(&format!("{value}.{field}")))
                .collect(),
            _ => self.key().words_of(value),
        }
    }

    /// An expression for what is held, with these words.
    pub(crate) fn of_words(self, words: &[String]) -> String {
        match self {
            Held::Position(_) => {
                let (key, position) = words.split_at(self.key().words() as usize);
                format!("Acc{{{}, {}}}", self.key().of_words(key), Scalar::U64.of_words(position))
            }
            Held::Structure(_) => self.value_of_words(words),
            _ => self.key().of_words(words),
        }
    }

    /// An expression for the value whose words these begin with.
    pub(crate) fn value_of_words(self, mut words: &[String]) -> String {
        let mut number = |scalar: Scalar| {
            let (own, rest) = words.split_at(scalar.words() as usize);
            words = rest;
            scalar.of_words(own)
        };
        let Held::Structure(kind) = self else {
            return number(self.scalar().unwrap_or(Scalar::U32));
        };
        let fields = kind.numbers().map(|(_, dtype)| number(Scalar::of(dtype)));
        format!("Value{{{}}}", fields.collect::<Vec<_>>().join(", "))
    }

    /// The least key.
    fn least(self) -> String {
        match self.key() {
            Scalar::U32 => "0u".into(),
            Scalar::U64 => "0ull".into(),
            Scalar::I64 => "i64(0x8000000000000000ull)".into(),
            _ => "i32(0x80000000u)".into(),
        }
    }

    /// The largest key.
    fn most(self) -> String {
        match self.key() {
            Scalar::U32 => "0xffffffffu".into(),
            Scalar::U64 => "0xffffffffffffffffull".into(),
            Scalar::I64 => "0x7fffffffffffffffll".into(),
            _ => "0x7fffffff".into(),
        }
    }
}
