//! Operators as text in the language of kernels.

use upsweep_core::{Extreme, Source};

use crate::layout::of_memory;
use crate::syntax::{returning, returning_after};
use crate::{Custom, Held, Op, Spelled, Syntax, Types};

/// What the type of values in combination is called, and what stands in front of the names of its functions.
#[derive(Clone, Copy, Debug)]
pub struct OperatorNames {
    /// The type.
    pub acc: &'static str,
    /// What stands in front.
    pub of: &'static str,
}

impl OperatorNames {
    /// Where values are all there is.
    pub const PLAIN: Self = Self { acc: "Acc", of: "" };
}

/// The search for the position of an extreme.
#[derive(Clone, Debug)]
pub struct PositionSearch {
    /// Which extreme.
    pub extreme: Extreme,
    /// How keys and positions are held.
    pub held: Held,
    /// What stands between a better key and another.
    pub better: &'static str,
    /// The key that none is worse than.
    pub worst: String,
    /// The variable `item` as a value.
    pub widened: String,
}

impl<S: Syntax> Types<S> {
    /// The type `Acc` and the functions `hold`, `leave`, `enter`, `combine`, `identity` and `padding` for items of type `Item` that
    /// are combined as a `Value`; or what `names` has in their stead.
    pub fn operator_text(&self, names: &OperatorNames) -> String {
        if let Op::First(extreme) = self.op {
            return self.position(extreme);
        }
        let OperatorNames { acc, of } = names;
        let (held, values) =
            (self.held(), self.values.spelled(|word| S::operator_word(self, word)));
        let mut text = self.conversions(names);
        let combined = match &self.op {
            Op::And => "left & right".to_owned(),
            Op::Or => "left | right".to_owned(),
            Op::Xor => "left ^ right".to_owned(),
            Op::Custom(own) => {
                text += &custom::<S>(own, &values, acc);
                S::narrowed(self.acc, "combined(left, right)")
            }
            op => S::combined(op, held),
        };
        let hold = |value: &str| returning(&format!("{of}hold({value})"));
        let (item, index) = (("item", "Item"), S::UNUSED_INDEX);
        let both = [("left", *acc), ("right", *acc)];
        let [identity, padding] =
            [&values.identity, &values.padding].map(|words| held.value_of_words::<S>(words));
        if !self.selects() {
            let enters = hold(&self.widened());
            text += &S::function(acc, &format!("{of}enter"), &[item, index], &enters);
        }
        text += &S::function(acc, &format!("{of}combine"), &both, &returning(&combined));
        text += &S::function(acc, &format!("{of}identity"), &[], &hold(&identity));
        text += &S::function(acc, &format!("{of}padding"), &[], &hold(&padding));
        text
    }

    /// An expression for the variable `item` as a value.
    fn widened(&self) -> String {
        let item = self.made.as_ref().map_or(self.item, |made| made.recipe.item);
        S::widened(item, self.acc)
    }

    /// The type of values in combination, and the functions `hold` and `leave`.
    fn conversions(&self, OperatorNames { acc, of }: &OperatorNames) -> String {
        let (value, own) = (("value", "Value"), ("acc", *acc));
        let (hold, leave) = (format!("{of}hold"), format!("{of}leave"));
        let Held::Key(float) = self.held() else {
            return S::alias(acc, "Value")
                + &S::function(acc, &hold, &[value], &returning("value"))
                + &S::function("Value", &leave, &[own], &returning("acc"));
        };
        let nan =
            if self.op == Op::Min { self.held().least::<S>() } else { self.held().most::<S>() };
        let key = S::let_statement("key", "Key", "key_of(value)");
        let body = returning_after(&key, &S::select("is_nan_key(key)", &nan, "key"));
        S::keys(float)
            + &S::alias(acc, "Key")
            + &S::function(acc, &hold, &[value], &body)
            + &S::function("Value", &leave, &[own], &returning("value_of(acc)"))
    }

    /// The same functions for the search for a position.
    fn position(&self, extreme: Extreme) -> String {
        let held = self.held();
        let (least, most) = (held.least::<S>(), held.most::<S>());
        let (better, worst, end) = match extreme {
            Extreme::Smallest => ("<", most, least),
            Extreme::Largest => (">", least, most),
        };
        let value = ("value", "Value");
        let key = match held.scalar() {
            Some(float) if float.is_float() => {
                // −0 and +0 are equal: −0 has the key −1, which nothing else has.
                let key = S::let_statement("key", "Key", "key_of(value)");
                let body = returning_after(&key, &S::key_searched(&end));
                S::keys(float) + &S::function("Key", "hold_key", &[value], &body)
            }
            _ => {
                S::alias("Key", "Value")
                    + &S::function("Key", "hold_key", &[value], &returning("value"))
            }
        };
        key + &S::search(&PositionSearch { extreme, held, better, worst, widened: self.widened() })
    }
}

/// The function `combined` of an operator of the caller's own.
fn custom<S: Syntax>(Custom { source, .. }: &Custom, values: &Spelled, acc: &str) -> String {
    let Source { declarations, combine, structure, fields, .. } = source;
    // Where names come before their use, those of a structure have been declared.
    let declared = S::IS_IN_ORDER && !structure.is_empty();
    let fields = values.fields.as_ref().map_or(String::new(), |(kind, words)| {
        S::let_statement("fields", "auto", &of_memory::<S>(*kind, words, fields)) + " "
    });
    let body = format!(" {fields}{combine} ");
    let function = S::function(acc, "combined", &[("left", acc), ("right", acc)], &body);
    format!("{}{function}", if declared { "" } else { &**declarations })
}
