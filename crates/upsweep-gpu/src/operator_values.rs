//! What kernels know of an operator's values.

use core::hash::{Hash, Hasher};

use upsweep_core::{Dtype, Element, Error, Kind, Operator, Parameter, Result};

use crate::arrays::check_words;
use crate::bits::{MOST_WORDS, Words, words, words_of, words_of_number};

/// An operator's identity and padding, and its fields if it has some. Those of an operator without fields stand in the text of
/// kernels. Otherwise all of them are handed over at each launch, and operators of different values are equal: one kernel serves
/// for both.
#[derive(Clone, Debug)]
pub struct OperatorValues {
    acc: Kind,
    identity: Words,
    padding: Words,
    fields: Option<Parameter>,
}

/// Expressions for these values: for each word, one.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// Of what the fields are, and their words in memory, if there are some.
    pub fields: Option<(Kind, Vec<String>)>,
    /// The words of the identity as kernels hold it.
    pub identity: Vec<String>,
    /// Those of the padding.
    pub padding: Vec<String>,
}

impl OperatorValues {
    /// Those of an operator on values of type `A`.
    pub fn of<A: Element>(operator: &impl Operator<A>) -> Self {
        Self {
            acc: A::KIND,
            identity: words(operator.identity()),
            padding: words(operator.padding()),
            fields: operator.fields(),
        }
    }

    /// Those of an operator on numbers whose identity, by its bits, leaves every value as it is.
    pub fn of_number(dtype: Dtype, identity: u64) -> Self {
        let identity = words_of_number(dtype, identity);
        Self { acc: dtype.into(), identity, padding: identity, fields: None }
    }

    /// Where kernels know of themselves what stands for no item.
    pub fn none(acc: Kind) -> Self {
        Self { acc, identity: [0; MOST_WORDS], padding: [0; MOST_WORDS], fields: None }
    }

    /// The words of the padding, as kernels hold it.
    pub fn padding(&self) -> Words {
        self.padding
    }

    /// Whether kernels may take the identity for the padding, whatever values they are handed.
    pub fn is_padding_identity(&self) -> bool {
        self.fields.is_none() && self.identity == self.padding
    }

    /// The words that kernels are handed at each launch: those of the fields, of the identity and of the padding.
    pub fn handed(&self) -> Vec<u32> {
        let Some(fields) = &self.fields else { return Vec::new() };
        let count = words_of(self.acc);
        [&fields.words, &self.identity[..count], &self.padding[..count]].concat()
    }

    /// How many these are.
    pub fn count(&self) -> usize {
        self.fields.as_ref().map_or(0, |fields| fields.words.len() + 2 * words_of(self.acc))
    }

    /// Checks that kernels can be handed the fields of an operator of this name, behind so many other words.
    ///
    /// # Errors
    /// [`Error::ElementUnsupported`] for fields of a type that kernels do not know, [`Error::Buffer`] for too many words.
    pub fn check(&self, before: usize, device: &str, operator: &str) -> Result<()> {
        let Some(fields) = &self.fields else { return Ok(()) };
        if fields.kind == Kind::Opaque {
            return Err(Error::ElementUnsupported {
                device: device.to_owned(),
                element: format!("the fields of `{operator}`"),
                reason: "they are neither a number nor a structure of them".to_owned(),
            });
        }
        check_words(before + self.count())
    }

    /// The values as kernels say them, where `word` says a word that they are handed.
    pub fn spelled(&self, word: impl Fn(usize) -> String) -> Spelled {
        let count = words_of(self.acc);
        let Some(fields) = &self.fields else {
            let constant =
                |words: &Words| words[..count].iter().map(|word| format!("{word:#x}u")).collect();
            let (identity, padding) = (constant(&self.identity), constant(&self.padding));
            return Spelled { fields: None, identity, padding };
        };
        let mut all = (0..).map(word);
        let mut next = |count| all.by_ref().take(count).collect();
        let own = next(fields.words.len());
        Spelled { fields: Some((fields.kind, own)), identity: next(count), padding: next(count) }
    }

    /// What tells apart what one kernel cannot serve for.
    fn key(&self) -> core::result::Result<(Kind, usize), (&Words, &Words)> {
        match &self.fields {
            Some(fields) => Ok((fields.kind, fields.words.len())),
            None => Err((&self.identity, &self.padding)),
        }
    }
}

impl PartialEq for OperatorValues {
    fn eq(&self, other: &Self) -> bool {
        self.acc == other.acc && self.key() == other.key()
    }
}

impl Eq for OperatorValues {}

impl Hash for OperatorValues {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.acc.hash(state);
        self.key().hash(state);
    }
}
