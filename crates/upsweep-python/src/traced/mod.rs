//! Functions of Python's that are traced: called once with values that stand for items, they leave what they compute.
//!
//! `value.rs` is the value that stands for an item, with Python's operators and numpy's functions; `arithmetic.rs` says what these mean, in steps of
//! a definition; `promotion.rs` in which type, by numpy's rules.

mod arithmetic;
mod promotion;
mod value;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use upsweep::Dtype;
use upsweep::any::{Definition, Term};

use crate::dtype::ItemType;
use crate::operand::Operand;
pub(crate) use arithmetic::{is_set, refused};
pub(crate) use value::{Traced, r#where};

/// The steps of one or several functions of the same items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph(Arc<Mutex<Definition>>);

impl Graph {
    /// The definition, to be read or added to.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Definition> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A graph of its own with the same values, to be added to.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A value for the items of another array. Booleans are bytes in memory.
    pub(crate) fn argument(&self, name: &str, item: ItemType) -> PyResult<Traced> {
        let mut definition = self.lock();
        let term = definition.argument(item.dtype).map_err(|_| {
            let item = item.name();
            let text = format!("{name} has items of {item}, which functions do not compute with; convert them first, as by {name}.astype(\"float32\")");
            PyTypeError::new_err(text)
        })?;
        let term = if item.is_bool { is_set(&mut definition, term)? } else { term };
        drop(definition);
        Ok(Traced::new(self.clone(), term))
    }

    /// What a function of Python's gives for these values.
    pub(crate) fn trace(
        &self,
        function: &Bound<'_, PyAny>,
        values: &[Term],
    ) -> PyResult<Vec<Term>> {
        let py = function.py();
        let values = values.iter().map(|term| Traced::new(self.clone(), *term));
        let found = function.call1(PyTuple::new(py, values)?)?;
        let term = |object: &Bound<'_, PyAny>| match object.cast::<Traced>() {
            Ok(traced) if traced.get().graph().is(self) => Ok(traced.get().term()),
            _ => {
                let name = function.getattr(intern!(py, "__name__"));
                let name = name.map_or_else(|_| "the function".to_owned(), |name| name.to_string());
                let class = object.get_type().name()?;
                let text = format!(
                    "{name} gives a {class}, and not what it was given or what was computed of it"
                );
                Err(PyTypeError::new_err(text))
            }
        };
        match found.cast::<PyTuple>() {
            Ok(several) if several.is_empty() => {
                Err(PyTypeError::new_err("the function gives no value"))
            }
            Ok(several) => several.iter().map(|object| term(&object)).collect(),
            Err(_) => Ok(vec![term(&found)?]),
        }
    }
}

/// The type of a value as Python's arrays have it.
pub(crate) fn item_type(definition: &Definition, term: Term) -> ItemType {
    definition.type_of(term).number().map_or(ItemType::BOOL, ItemType::of)
}

/// A value as one that can be written: booleans are bytes.
pub(crate) fn stored(definition: &mut Definition, term: Term) -> PyResult<Term> {
    match definition.type_of(term).number() {
        Some(_) => Ok(term),
        None => arithmetic::as_number(definition, term, Dtype::U8),
    }
}

/// Whether a value is not 0.
pub(crate) fn truth(definition: &mut Definition, term: Term) -> PyResult<Term> {
    arithmetic::Steps(definition).truth(term).map_err(refused)
}

/// The graph of as many arrays, and a value for the items of each.
pub(crate) fn arguments(arrays: &[Operand<'_>]) -> PyResult<(Graph, Vec<Term>)> {
    let graph = Graph::default();
    let values = arrays.iter().map(|array| Ok(graph.argument(array.name, array.item)?.term()));
    let values = values.collect::<PyResult<_>>()?;
    Ok((graph, values))
}
