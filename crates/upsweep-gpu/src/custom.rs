//! Operators of a caller's own, as kernels have them.

use std::sync::Arc;

use upsweep_core::kernel::{Composition, Function, compose};
use upsweep_core::{Element, Kind, Language, Operator, Recipe, Source};

/// An operator of a caller's own: what is known of it, and its text in the language of kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Custom {
    /// How it is called: [`Operator::NAME`].
    pub name: &'static str,
    /// [`Operator::EXACT`].
    pub exact: bool,
    /// [`Operator::COMMUTATIVE`].
    pub commutative: bool,
    /// The text.
    pub source: Source,
}

impl Custom {
    /// An operator on values of type `A`; `None` if it has no text, or one that does not say what structure they are.
    pub fn of<A: Element, O: Operator<A>>(operator: &O, language: Language) -> Option<Self> {
        let source = operator.source(language)?;
        if matches!(A::KIND, Kind::Struct { .. }) == source.structure.is_empty() {
            return None;
        }
        Some(Self { name: O::NAME, exact: O::EXACT, commutative: O::COMMUTATIVE, source })
    }

    /// The recipe's functions and the operator's in one text, and the operator that calls its own there; `None` if one of them has
    /// none.
    pub fn beside(
        self,
        recipe: &Recipe,
        function: &'static Function,
        language: Language,
    ) -> Option<(Arc<Composition>, Self)> {
        let mut functions = recipe.functions();
        functions.push(function);
        let functions = compose(language, &functions).ok()?;
        let called = functions.named(function)?;
        let (own, fields) = called.fields();
        let Source { structure, numbers, .. } = self.source;
        let source = Source {
            declarations: "".into(),
            structure: if structure.is_empty() { structure } else { called.result.clone().into() },
            combine: format!("return {}({own}left, right);", called.name).into(),
            fields: fields.to_owned().into(),
            numbers,
        };
        Some((functions, Self { source, ..self }))
    }
}
