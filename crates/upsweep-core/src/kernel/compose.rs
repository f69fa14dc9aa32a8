//! Several functions in one kernel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Function, Module, Refused, Type};
use crate::{Dtype, Language};

/// Functions in the language of a kernel.
#[derive(Debug, Default)]
pub struct Composition {
    /// The functions, and all that they need.
    pub declarations: String,
    /// How they are called, with their addresses.
    functions: Vec<(usize, Named)>,
    /// Types of numbers that the text computes with.
    pub numbers: Vec<Dtype>,
}

impl Composition {
    /// The names of one of the functions.
    pub fn named(&self, function: &'static Function) -> Option<&Named> {
        let address = core::ptr::from_ref(function).addr();
        self.functions.iter().find(|(of, _)| *of == address).map(|(_, named)| named)
    }
}

/// The names of a function and its types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its own.
    pub name: String,
    /// Of the types of its parameters.
    pub parameters: Vec<String>,
    /// Of the type of its result.
    pub result: String,
}

impl Named {
    /// What stands before an operator's other arguments, and the name of what its fields are; neither, if it has none.
    pub fn fields(&self) -> (&'static str, &str) {
        match &self.parameters[..] {
            [fields, _, _] => ("fields, ", fields),
            _ => ("", ""),
        }
    }
}

/// Functions by their addresses.
type Key = (Language, Vec<usize>);
type Composed = Result<Arc<Composition>, Refused>;

/// The text of functions in one kernel, made once.
///
/// # Errors
/// [`Refused`], where the language cannot say one of them.
pub fn compose(language: Language, functions: &[&'static Function]) -> Composed {
    static MADE: Mutex<Option<HashMap<Key, Composed>>> = Mutex::new(None);
    let addresses = functions.iter().map(|function| core::ptr::from_ref(*function).addr());
    let key = (language, addresses.collect());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.get_or_insert_default();
    made.entry(key).or_insert_with(|| make(language, functions).map(Arc::new)).clone()
}

fn make(language: Language, functions: &[&'static Function]) -> Result<Composition, Refused> {
    let mut module = Module::new(language);
    let mut named = Vec::new();
    for &function in functions {
        let name = module.function(function)?;
        let mut type_name = |of: Type| module.type_name(of);
        let parameters = function.parameters.iter().map(|(_, of)| type_name(*of));
        let parameters = parameters.collect::<Result<_, _>>()?;
        let result = type_name(function.result)?;
        named.push((core::ptr::from_ref(function).addr(), Named { name, parameters, result }));
    }
    let numbers = module.numbers().to_vec();
    Ok(Composition { declarations: module.text().to_owned(), functions: named, numbers })
}
