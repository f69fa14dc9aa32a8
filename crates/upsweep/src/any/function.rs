//! Functions that are known when a program runs, made ready for devices once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use upsweep_core::kernel::{Defined, Definition, Term, ValueType};
use upsweep_cpu::Program;

use super::{AnyFused, AnyView};
use crate::{Dtype, Error, Result};

/// The type of a value that is a number.
pub(super) fn number_of(definition: &Definition, term: Term) -> Result<Dtype> {
    let reason = "a bool is no item; cast it to a number".to_owned();
    definition.type_of(term).number().ok_or(Error::Buffer { reason })
}

/// A function that a [`Definition`] says, to be computed of arrays again and again: what devices make of it is kept.
///
/// [`AnyFused::new`] is for one call. Clones share what is kept.
///
/// # Examples
/// ```
/// use upsweep::any::{AnyFunction, AnyView, Binary, Definition, Op, Reduce, Scalar};
/// use upsweep::{Device, Dtype};
///
/// let mut definition = Definition::default();
/// let x = definition.argument(Dtype::F32)?;
/// let square = definition.binary(Binary::Mul, x, x)?;
/// let squares = AnyFunction::new(definition, square)?;
/// for (items, wanted) in [([1.0f32, 2.0], 5.0f32), ([3.0, 4.0], 25.0)] {
///     let sum = squares.of([AnyView::from(&items)])?.reduce(&Device::cpu(), &Reduce::new(Op::Sum))?;
///     assert_eq!(sum, Some(Scalar::new(wanted)));
/// }
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyFunction(Arc<Ready>);

#[derive(Debug)]
struct Ready {
    definition: Definition,
    item: Term,
    /// For a CPU, by the values that they compute.
    programs: Mutex<Vec<(Vec<Term>, Arc<Program>)>>,
    /// For kernels, by the value that they compute.
    defined: Mutex<Vec<(Term, Defined)>>,
    /// The functions that give one of the values as another type.
    casts: Mutex<Vec<((Term, Dtype), AnyFunction)>>,
}

impl AnyFunction {
    /// The function that gives one of a definition's values, a number.
    ///
    /// # Errors
    /// [`Error::Buffer`] for a value that is a `bool`.
    pub fn new(definition: Definition, item: Term) -> Result<Self> {
        number_of(&definition, item)?;
        let (programs, defined, casts) = Default::default();
        Ok(Self(Arc::new(Ready { definition, item, programs, defined, casts })))
    }

    /// That of an item itself. All calls share one for each type, and what is kept of its casts.
    pub(super) fn identity(dtype: Dtype) -> Result<Self> {
        static KNOWN: Mutex<Vec<AnyFunction>> = Mutex::new(Vec::new());
        let mut known = lock(&KNOWN);
        if let Some(function) = known.iter().find(|function| function.dtype() == dtype) {
            return Ok(function.clone());
        }
        let mut definition = Definition::default();
        let item = definition.argument(dtype)?;
        let function = Self::new(definition, item)?;
        known.push(function.clone());
        Ok(function)
    }

    /// The items that it makes of arrays, one for each argument.
    ///
    /// # Errors
    /// Those of [`AnyFused::new`].
    pub fn of<'a>(&self, arrays: impl Into<Vec<AnyView<'a>>>) -> Result<AnyFused<'a>> {
        AnyFused::of_function(self.clone(), arrays.into())
    }

    /// The type of what it gives.
    pub fn dtype(&self) -> Dtype {
        self.definition().type_of(self.item()).number().unwrap_or(Dtype::U8)
    }

    pub(super) fn definition(&self) -> &Definition {
        &self.0.definition
    }

    pub(super) fn item(&self) -> Term {
        self.0.item
    }

    /// The type of one of the values.
    pub(super) fn type_of(&self, value: Term) -> ValueType {
        self.definition().type_of(value)
    }

    /// What computes values on a CPU.
    pub(super) fn program(&self, results: &[Term]) -> Arc<Program> {
        let mut known = lock(&self.0.programs);
        if let Some((_, program)) = known.iter().find(|(of, _)| of == results) {
            return Arc::clone(program);
        }
        let program = Arc::new(Program::new(self.definition(), results));
        known.push((results.to_vec(), Arc::clone(&program)));
        program
    }

    /// What computes one of the values in kernels.
    pub(super) fn defined(&self, value: Term) -> Defined {
        let mut known = lock(&self.0.defined);
        if let Some((_, defined)) = known.iter().find(|(of, _)| *of == value) {
            return defined.clone();
        }
        let defined = self.definition().function(value);
        known.push((value, defined.clone()));
        defined
    }

    /// The function that gives one of the values as a type.
    pub(super) fn cast(&self, value: Term, dtype: Dtype) -> Result<Self> {
        if value == self.item() && self.dtype() == dtype {
            return Ok(self.clone());
        }
        let mut known = lock(&self.0.casts);
        if let Some((_, own)) = known.iter().find(|(of, _)| *of == (value, dtype)) {
            return Ok(own.clone());
        }
        let mut definition = self.definition().clone();
        let item = definition.cast(value, dtype)?;
        let own = Self::new(definition, item)?;
        known.push(((value, dtype), own.clone()));
        Ok(own)
    }
}

/// What is kept stays whole if another thread panics: each entry is pushed when it is ready.
fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
