//! What operators are in WGSL alone.

use upsweep_gpu::{Op, PositionSearch, Scalar};

/// A sum, a product, a minimum or a maximum of `left` and `right`.
pub(super) fn combined(op: &Op) -> &'static str {
    match op {
        Op::Product => "left * right",
        Op::Min => "min(left, right)",
        Op::Max => "max(left, right)",
        _ => "left + right",
    }
}

/// The functions between a float and its key.
pub(super) fn keys(float: Scalar) -> String {
    let (key, shift, rest, infinity) = match float {
        Scalar::F64 => ("i64", "63u", "0x7fffffffffffffffli", "0x7ff0000000000000li"),
        _ => ("i32", "31u", "0x7fffffffi", "0x7f800000i"),
    };
    let name = float.name();
    format!(
        "alias Key = {key};\n\
         fn turned(bits: Key) -> Key {{ return bits ^ ((bits >> {shift}) & {rest}); }}\n\
         fn key_of(value: {name}) -> Key {{ return turned(bitcast<Key>(value)); }}\n\
         fn value_of(key: Key) -> {name} {{ return bitcast<{name}>(turned(key)); }}\n\
         fn is_nan_key(key: Key) -> bool {{ return (turned(key) & {rest}) > {infinity}; }}\n"
    )
}

/// The search for a position behind its keys.
pub(super) fn search(PositionSearch { better, worst, widened, .. }: &PositionSearch) -> String {
    format!(
        "struct Acc {{ key: Key, low: u32, high: u32 }}\n\
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
