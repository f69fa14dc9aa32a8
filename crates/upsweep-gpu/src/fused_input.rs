//! Items that are made as they are read, whatever language makes them.

use core::hash::{Hash, Hasher};
use std::sync::Arc;

use upsweep_core::kernel::{Composition, Function, compose};
use upsweep_core::{Condition, Dtype, Formula, Kind, Language, Recipe, Terms};

use crate::{Op, Scalar, Syntax};

/// A recipe, and the functions that it calls.
#[derive(Clone, Debug)]
pub struct FusedInput {
    /// The recipe.
    pub recipe: Recipe,
    /// The functions, in the language of kernels.
    pub functions: Arc<Composition>,
}

// Operators of one name may stand beside one recipe. The text of the same functions is made once, and so is only itself.
impl PartialEq for FusedInput {
    fn eq(&self, other: &Self) -> bool {
        self.recipe == other.recipe && Arc::ptr_eq(&self.functions, &other.functions)
    }
}

impl Eq for FusedInput {}

impl Hash for FusedInput {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.recipe.hash(state);
    }
}

impl FusedInput {
    /// The recipe's functions and the operator in one text, of which the operator calls its own; `None` if one of them has none.
    pub fn of(
        recipe: &Recipe,
        op: Op,
        operator: Option<&'static Function>,
        language: Language,
    ) -> Option<(Self, Op)> {
        let (functions, op) = match op {
            Op::Custom(own) => {
                let (functions, own) = own.beside(recipe, operator?, language)?;
                (functions, Op::Custom(own))
            }
            op => (compose(language, &recipe.functions()).ok()?, op),
        };
        Some((Self { recipe: recipe.clone(), functions }, op))
    }

    /// Of what the arrays are, if their items are asked for in their order and nothing else is, but of the first of them also the one in
    /// front.
    pub fn reads_in_order(&self) -> Option<&[Kind]> {
        let in_order = self.recipe.anywhere.is_empty() || self.compares();
        in_order.then_some(&self.recipe.arrays[..])
    }

    /// Whether the items of the first array are compared with those in front of them, and nothing else is read out of order.
    pub fn compares(&self) -> bool {
        let Recipe { arrays, anywhere, formula, condition, .. } = &self.recipe;
        let is_moved = matches!(formula, Formula::Item(_));
        let is_compared = matches!(condition, Some(Condition::Begins(Formula::Item(0), _)));
        is_moved && is_compared && anywhere.len() == 1 && anywhere.first() == arrays.first()
    }

    /// The functions' text.
    pub fn declarations(&self) -> &str {
        &self.functions.declarations
    }

    /// The types of numbers that the text computes with.
    pub fn numbers(&self) -> &[Dtype] {
        &self.functions.numbers
    }

    /// Expressions for the words of a parameter, given those for each of the recipe's.
    pub fn parameter_words(&self, parameter: usize, word: impl Fn(usize) -> String) -> Vec<String> {
        let [begin, end] = [parameter, parameter + 1].map(|k| self.recipe.word_of(k));
        (begin..end).map(word).collect()
    }

    /// An expression for an item; or for the structure `Item` of the payload and whether it is selected, where not all are.
    /// `front` says the item in front, if it was read with it.
    pub fn item_text<S: Syntax, T: Terms>(&self, terms: &T, front: Option<&T>) -> String {
        let Self { recipe, functions } = self;
        let Some(condition) = &recipe.condition else {
            let Formula::Indicator(condition) = &recipe.formula else {
                return recipe.formula.text(functions, terms);
            };
            let holds = self.condition_text::<S, T>(condition, terms, front);
            let [one, none] = ["1", "0"].map(|digits| S::literal(Scalar::U32, digits));
            return S::select(&holds, &one, &none);
        };
        let is_selected = self.condition_text::<S, T>(condition, terms, front);
        S::structure("Item", &[recipe.formula.text_as("Payload", functions, terms), is_selected])
    }

    /// An expression for whether a condition holds. Nothing branches: kernels have it for each item.
    fn condition_text<S: Syntax, T: Terms>(
        &self,
        condition: &Condition,
        terms: &T,
        front: Option<&T>,
    ) -> String {
        let Self { recipe, functions } = self;
        match condition {
            Condition::All => "true".to_owned(),
            Condition::Holds(formula) => formula.text(functions, terms),
            Condition::IsSet(array) => {
                let bits = recipe.arrays[*array].number().map_or(Scalar::U32, Scalar::of);
                format!("({} != {})", terms.item(*array, ""), S::literal(bits, "0"))
            }
            Condition::Not(other) => {
                format!("(!{})", self.condition_text::<S, T>(other, terms, front))
            }
            Condition::Both(own, other) => {
                let [own, other] =
                    [own, other].map(|of| self.condition_text::<S, T>(of, terms, front));
                format!("({})", S::select(&own, &other, "false"))
            }
            Condition::Begins(own, before) => {
                let bits = own.bits(functions, terms);
                let others = match front {
                    Some(front) => own.bits(functions, front),
                    None => before.bits(functions, terms),
                };
                let differ =
                    bits.iter().zip(others).map(|(own, other)| format!("{own} != {other}"));
                let number =
                    || format!("{} == {}", terms.number(false), S::literal(Scalar::U32, "0"));
                any_of::<S>(differ.chain(front.is_none().then(number)))
            }
        }
    }

    /// The type of items that a function makes.
    pub fn item(&self) -> Option<&str> {
        self.recipe.formula.result(&self.functions)
    }

    /// The type of what a function makes of prefixes.
    pub fn stored(&self) -> Option<&str> {
        self.recipe.written.as_ref()?.result(&self.functions)
    }
}

/// An expression for whether one of several comparisons holds. Nothing branches: kernels have it for each item.
fn any_of<S: Syntax>(comparisons: impl Iterator<Item = String>) -> String {
    let all = comparisons.map(|comparison| format!("({comparison})"));
    let any = all.reduce(|any, other| format!("({})", S::select(&other, "true", &any)));
    any.unwrap_or_else(|| "false".to_owned())
}
