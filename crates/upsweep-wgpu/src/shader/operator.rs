//! Operators in WGSL.

use upsweep_core::{Extreme, Kind, Source};
use upsweep_gpu::layout::of_memory;
use upsweep_gpu::{Custom, Held, Op, Scalar, Spelled};

use super::Wgsl;

/// Operators as text.
pub(crate) trait OpExt {
    /// The function of WGSL's that does this to a value in memory, in the order in which it wants values, if there is
    /// one. Of values of two words only some devices have it.
    fn atomic(&self, held: Held) -> Option<&'static str>;

    /// The type `Acc` and the functions `hold`, `leave`, `enter`, `combine`, `identity` and `padding`
    /// for items of type `Item` that are combined as a `Value`; or what `names` has in their stead.
    fn text(&self, numbers: &Numbers, names: &Names) -> String;
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

    fn text(&self, numbers: &Numbers, names: &Names) -> String {
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
                let nan = if *self == Op::Min { held.least::<Wgsl>() } else { held.most::<Wgsl>() };
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
                    format!("let fields = {}; ", of_memory::<Wgsl>(*kind, words, fields))
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
            held.value_of_words::<Wgsl>(&values.identity),
            held.value_of_words::<Wgsl>(&values.padding),
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
        Extreme::Smallest => ("<", held.most::<Wgsl>(), held.least::<Wgsl>()),
        Extreme::Largest => (">", held.least::<Wgsl>(), held.most::<Wgsl>()),
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
