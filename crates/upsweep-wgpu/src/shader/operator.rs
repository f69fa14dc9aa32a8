//! Operators in WGSL.
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
    /// The operator that this is; `None` if it has no text in WGSL.
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

    /// The types that its text computes with, besides those of items.
    pub(crate) fn numbers(&self) -> &[Dtype] {
        match self {
            Op::Custom(own) => &own.source.numbers,
            _ => &[],
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

    /// The function of WGSL's that does this to a value in memory, in the order in which it wants values, if there is
    /// one. Of values of two words only some devices have it.
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
    /// for items of type `Item` that are combined as a `Value`; or what `names` has in their stead.
    pub(crate) fn text(&self, numbers: &Numbers, names: &Names) -> String {
        let Numbers { item, value, values, narrow } = numbers;
        let Names { acc, of } = names;
        let held = self.held(*value);
        let scalar = |kind: &Kind| kind.number().map(Scalar::of);
        let widened = match (scalar(item), scalar(value)) {
            // naga's SPIR-V extends the sign of whatever becomes signed (naga 30, on lavapipe).
            (Some(Scalar::U32), Some(Scalar::I64)) => "i64(u64(item))".to_owned(),
            (Some(item), Some(value)) if item != value => format!("{}(item)", value.name()),
            _ => "item".to_owned(),
        };
        if let Op::First(extreme) = self {
            return position(*extreme, held, &widened);
        }
        let mut text = match held {
            Held::Key(float) => {
                let nan = if *self == Op::Min { held.least() } else { held.most() };
                format!(
                    "{}alias {acc} = Key;\n\
                     fn {of}hold(value: Value) -> {acc} {{\n\
                     \x20   let key = key_of(value);\n\
                     \x20   return select(key, {nan}, is_nan_key(key));\n}}\n\
                     fn {of}leave(acc: {acc}) -> Value {{ return value_of(acc); }}\n",
                    keys(float)
                )
            }
            _ => format!(
                "alias {acc} = Value;\n\
                 fn {of}hold(value: Value) -> {acc} {{ return value; }}\n\
                 fn {of}leave(acc: {acc}) -> Value {{ return acc; }}\n"
            ),
        };
        let combined = match self {
            Op::Sum => "left + right".to_owned(),
            Op::Product => "left * right".to_owned(),
            Op::Min => "min(left, right)".to_owned(),
            Op::Max => "max(left, right)".to_owned(),
            Op::And => "left & right".to_owned(),
            Op::Or => "left | right".to_owned(),
            Op::Xor => "left ^ right".to_owned(),
            Op::Custom(Custom { source, .. }) => {
                let Source { declarations, combine, fields, .. } = source;
                text += declarations;
                let own = values.fields.as_ref().map_or(String::new(), |(kind, words)| {
                    format!("let fields = {}; ", of_memory(*kind, words, fields))
                });
                text += &format!(
                    "fn combined(left: {acc}, right: {acc}) -> {acc} {{ {own}{combine} }}\n"
                );
                narrow.replace('_', "combined(left, right)")
            }
            Op::First(_) => unreachable!("positions have returned"),
        };
        text += &format!(
            "fn {of}enter(item: Item, index: u32) -> {acc} {{ return {of}hold({widened}); }}\n\
             fn {of}combine(left: {acc}, right: {acc}) -> {acc} {{ return {combined}; }}\n\
             fn {of}identity() -> {acc} {{ return {of}hold({}); }}\n\
             fn {of}padding() -> {acc} {{ return {of}hold({}); }}\n",
            held.value_of_words(&values.identity),
            held.value_of_words(&values.padding),
        );
        text
    }
}

/// What the type of values in combination is called, and what stands in front of the names of its functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    acc: &'static str,
    of: &'static str,
}

impl Names {
    /// Where values are all there is.
    pub(crate) const PLAIN: Self = Self { acc: "Acc", of: "" };
    /// Where something else is known beside each.
    pub(crate) const OF_VALUES: Self = Self { acc: "ValueAcc", of: "value_" };
}

/// The numbers that an operator is given.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// What items are.
    pub(crate) item: Kind,
    /// What they are combined as.
    pub(crate) value: Kind,
    /// The identity, the padding and the fields.
    pub(crate) values: Spelled,
    /// What brings a value `_` of a short type back to its range.
    pub(crate) narrow: String,
}

/// What [`Op::text`] gives for the search for a position.
fn position(extreme: Extreme, held: Held, widened: &str) -> String {
    let (better, worst, end) = match extreme {
        Extreme::Smallest => ("<", held.most(), held.least()),
        Extreme::Largest => (">", held.least(), held.most()),
    };
    let scalar = held.scalar().unwrap_or(Scalar::U32);
    let key = if scalar.is_float() {
        // −0 and +0 are equal: −0 has the key −1, which nothing else has.
        format!(
            "{}fn hold_key(value: Value) -> Key {{\n\
             \x20   let key = key_of(value);\n\
             \x20   return select(select(key, {end}, is_nan_key(key)), Key(0), key == Key(-1));\n}}\n",
            keys(scalar)
        )
    } else {
        "alias Key = Value;\nfn hold_key(value: Value) -> Key { return value; }\n".to_owned()
    };
    format!(
        "{key}struct Acc {{ key: Key, low: u32, high: u32 }}\n\
         fn enter(item: Item, index: u32) -> Acc {{\n\
         \x20   let low = parameters.index_low + index;\n\
         \x20   return Acc(hold_key({widened}), low, parameters.index_high + u32(low < index));\n}}\n\
         fn earlier(left: Acc, right: Acc) -> bool {{\n\
         \x20   return (left.high < right.high) | ((left.high == right.high) & (left.low < right.low));\n}}\n\
         fn combine(left: Acc, right: Acc) -> Acc {{\n\
         \x20   let wins = (right.key {better} left.key) | ((right.key == left.key) & earlier(right, left));\n\
         \x20   return Acc(select(left.key, right.key, wins), select(left.low, right.low, wins), \
         select(left.high, right.high, wins));\n}}\n\
         fn padding() -> Acc {{ return Acc({worst}, 0xffffffffu, 0xffffffffu); }}\n\
         fn identity() -> Acc {{ return padding(); }}\n"
    )
}

/// The functions between a float and its key: bits, the lower ones turned round where the sign is set, so that
/// keys are in the order of the values.
fn keys(float: Scalar) -> String {
    let (key, shift, rest, infinity, name) = match float {
        Scalar::F64 => ("i64", "63u", "0x7fffffffffffffffli", "0x7ff0000000000000li", "f64"),
        _ => ("i32", "31u", "0x7fffffffi", "0x7f800000i", "f32"),
    };
    format!(
        "alias Key = {key};\n\
         fn turned(bits: Key) -> Key {{ return bits ^ ((bits >> {shift}) & {rest}); }}\n\
         fn key_of(value: {name}) -> Key {{ return turned(bitcast<Key>(value)); }}\n\
         fn value_of(key: Key) -> {name} {{ return bitcast<{name}>(turned(key)); }}\n\
         fn is_nan_key(key: Key) -> bool {{ return (turned(key) & {rest}) > {infinity}; }}\n"
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

    /// Bytes of these words.
    pub(crate) fn bytes(self) -> u64 {
        4 * u64::from(self.words())
    }

    /// The words of a value, given those that it is held as.
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
                words.extend([format!("{value}.low"), format!("{value}.high")]);
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
                format!("Acc({}, {})", self.key().of_words(key), position.join(", "))
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
        format!("Value({})", fields.collect::<Vec<_>>().join(", "))
    }

    /// The least key.
    fn least(self) -> String {
        match self.key() {
            Scalar::U32 => "0u".into(),
            Scalar::U64 => "0lu".into(),
            Scalar::I64 => "bitcast<i64>(0x8000000000000000lu)".into(),
            _ => "bitcast<i32>(0x80000000u)".into(),
        }
    }

    /// The largest key.
    fn most(self) -> String {
        match self.key() {
            Scalar::U32 => "0xffffffffu".into(),
            Scalar::U64 => "0xfffffffffffffffflu".into(),
            Scalar::I64 => "0x7fffffffffffffffli".into(),
            _ => "0x7fffffffi".into(),
        }
    }
}
