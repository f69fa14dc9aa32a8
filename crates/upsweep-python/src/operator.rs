//! Operators that are functions of Python's.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use upsweep::Dtype;
use upsweep::any::{AnyFused, AnyOperator, Scalar, reduce_axes_by, scan_axes_by};
use upsweep::{Bounds, Direction};

use crate::arguments::{axes, reduced};
use crate::call::Call;
use crate::dtype::{ItemType, scalar};
use crate::error::raise;
use crate::library::{Output, is_cuda};
use crate::operand::Operand;
use crate::traced::{self, Graph};

/// An operator of a function of Python's, for :func:`reduce`, :func:`scan` and the same methods of a :class:`View`.
///
/// :func:`operator` makes one. The function is traced once for each type of items: on a GPU it becomes a part of the kernel, and a CPU computes it
/// in its vectors.
#[pyclass(frozen, module = "upsweep", name = "Operator")]
pub(crate) struct Operator {
    function: Py<PyAny>,
    identity: Py<PyAny>,
    commutative: bool,
    traced: Mutex<Vec<(Dtype, AnyOperator)>>,
}

/// An operator of a function of two items, the earlier one and the later one, which is traced.
///
/// Parameters
/// ----------
/// function : callable, optional
///     It computes one value of two by Python's operators, numpy's functions and :func:`where`, and is associative. Without it,
///     the result is a decorator.
/// identity : number
///     A value that leaves every other one as it is, and the result of no items. In a sum of floats 0 stands for -0.0, which does that.
/// commutative : bool, default False
///     Whether the function gives the same for its values exchanged. A reduction is faster then.
///
/// Returns
/// -------
/// Operator
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> @upsweep.operator(identity=0)
/// ... def last_set(left, right):
/// ...     return upsweep.where(right == 0, left, right)
/// >>> upsweep.scan(numpy.array([3, 0, 5, 0]), last_set)
/// array([3, 3, 5, 5])
/// >>> int(upsweep.reduce(numpy.array([3, 0, 5, 0]), last_set))
/// 5
#[pyfunction]
#[pyo3(signature = (function = None, /, *, identity, commutative = false))]
pub(crate) fn operator<'py>(
    py: Python<'py>,
    function: Option<&Bound<'py, PyAny>>,
    identity: Bound<'py, PyAny>,
    commutative: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(function) = function else {
        let own = py.import(intern!(py, "upsweep"))?.getattr(intern!(py, "operator"))?;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "identity"), identity)?;
        options.set_item(intern!(py, "commutative"), commutative)?;
        let partial = py.import(intern!(py, "functools"))?.getattr(intern!(py, "partial"))?;
        return partial.call(PyTuple::new(py, [own])?, Some(&options));
    };
    if !function.is_callable() {
        return Err(PyTypeError::new_err("function is not callable"));
    }
    let (function, identity) = (function.clone().unbind(), identity.unbind());
    let operator = Operator { function, identity, commutative, traced: Mutex::default() };
    Ok(Bound::new(py, operator)?.into_any())
}

/// Bits of values that an identity is tried with.
fn samples(dtype: Dtype) -> Vec<Scalar> {
    let bits = |values: [u64; 5]| {
        let found =
            values.map(|bits| Scalar::from_bytes(dtype, &bits.to_le_bytes()[..dtype.size()]));
        found.into_iter().flatten().collect()
    };
    match dtype {
        Dtype::F32 => [0.0f32, -0.0, 1.0, -2.5, 3e30].map(Scalar::new).to_vec(),
        Dtype::F64 => [0.0f64, -0.0, 1.0, -2.5, 3e300].map(Scalar::new).to_vec(),
        _ => bits([0, 1, 7, u64::MAX, i64::MAX as u64]),
    }
}

impl Operator {
    fn name(&self, py: Python<'_>) -> String {
        let name = self.function.bind(py).getattr(intern!(py, "__name__"));
        name.map_or_else(|_| "operator".to_owned(), |name| name.to_string())
    }

    /// The operator on items of a type.
    pub(crate) fn of(&self, py: Python<'_>, item: ItemType) -> PyResult<AnyOperator> {
        if item.is_bool {
            let text = "an operator of Python's is for numbers; view booleans as uint8";
            return Err(PyTypeError::new_err(text));
        }
        let known = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = known.iter().find(|(dtype, _)| *dtype == item.dtype) {
            return Ok(known.clone());
        }
        // Other threads may go on while Python runs.
        drop(known);
        let made = self.made(py, item)?;
        let mut known = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((item.dtype, made.clone()));
        Ok(made)
    }

    fn made(&self, py: Python<'_>, item: ItemType) -> PyResult<AnyOperator> {
        let graph = Graph::default();
        let values = ["left", "right"].map(|name| graph.argument(name, item));
        let [left, right] = values;
        let values = [left?.term(), right?.term()];
        let found = graph.trace(self.function.bind(py), &values)?;
        let definition = graph.lock().clone();
        let name = self.name(py);
        let &[found] = &found[..] else {
            return Err(PyTypeError::new_err(format!("{name} gives several values")));
        };
        let given = traced::item_type(&definition, found);
        if given != item {
            let (item, given) = (item.name(), given.name());
            let text = format!(
                "{name} gives {given} of two items of {item}; convert it, as by .astype(\"{item}\")"
            );
            return Err(PyTypeError::new_err(text));
        }
        let identity = scalar(self.identity.bind(py), item.dtype)?;
        let with = |identity: Scalar| {
            let definition = definition.clone();
            AnyOperator::new(definition, found, identity, self.commutative).map_err(raise)
        };
        let made = with(identity)?;
        if leaves_all(&made, |found, item| found == item)? {
            return Ok(made);
        }
        if item.dtype.is_float() && identity.word() == 0 {
            // In a sum −0 leaves all others as they are, and 0 does not.
            let negative = scalar(&(-0.0f64).into_pyobject(py)?.into_any(), item.dtype)?;
            let made = with(negative)?;
            if leaves_all(&made, |found, item| found == item)? {
                return Ok(made);
            }
        }
        let is_same = |found: Scalar, item: Scalar| found.to_f64() == item.to_f64();
        if item.dtype.is_float() && leaves_all(&made, is_same)? {
            return Ok(made);
        }
        let text = format!(
            "identity is not left out: {name} makes other values of {identity} and some items"
        );
        Err(PyValueError::new_err(text))
    }
}

/// Whether the identity leaves some values as they are.
fn leaves_all(operator: &AnyOperator, is_same: impl Fn(Scalar, Scalar) -> bool) -> PyResult<bool> {
    let identity = operator.identity();
    for sample in samples(operator.dtype()) {
        for found in [operator.combine(identity, sample), operator.combine(sample, identity)] {
            if !is_same(found.map_err(raise)?, sample) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[pymethods]
impl Operator {
    /// The function itself.
    fn __call__<'py>(
        &self,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(left.py()).call1((left, right))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("Operator({})", self.name(py))
    }
}

/// What a reduction by an operator of Python's has of arguments.
pub(crate) struct Reduction<'a, 'py> {
    pub(crate) axis: Option<&'a Bound<'py, PyAny>>,
    pub(crate) out: Option<&'a Bound<'py, PyAny>>,
    pub(crate) keepdims: bool,
    pub(crate) initial: Option<&'a Bound<'py, PyAny>>,
    pub(crate) device: Option<&'a Bound<'py, PyAny>>,
}

/// Reduces an array along axes.
pub(crate) fn reduce<'py>(
    x: &Bound<'py, PyAny>,
    operator: &Operator,
    arguments: &Reduction<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let Reduction { axis, out, keepdims, initial, device } = *arguments;
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let own = operator.of(py, x.item)?;
    let call = Call::new(device, &[&x])?;
    let axes = axes(axis, x.shape.len())?;
    let init = initial.map(|initial| scalar(initial, x.item.dtype)).transpose()?;
    let shape = reduced(&x.shape, &axes, keepdims);
    let mut output = match out {
        Some(out) => Output::of_caller(&call, out, &x, &shape, x.item)?,
        None => Output::new(&call, &x, &shape, x.item)?,
    };
    if let (true, Some(out)) = (output.overlaps(&x), out) {
        let found = reduce(&x.object, operator, &Reduction { out: None, ..*arguments })?;
        output.copy_from(&call, &found)?;
        return Ok(out.clone());
    }
    let is_whole = axes.len() == x.shape.len() && x.is_packed();
    if is_whole && (x.is_on_host() || is_cuda(x.space()).is_some()) && output.is_packed() {
        let items = AnyFused::of(x.flat()?).map_err(raise)?;
        let target = output.flat_mut(x.item.dtype)?;
        call.run(py, |device| items.reduce_by_into(device, target, &own, init))?;
    } else {
        let rows = x.rows(&axes)?;
        let rows_shape = rows.reduced_shape();
        let target = output.view_mut(x.item.dtype)?;
        let rows = if target.shape() == rows_shape { rows } else { rows.keepdims() };
        call.run(py, |device| reduce_axes_by(device, &rows, target, &own, init))?;
    }
    finished(output, &call, py, out)
}

/// Scans an array along an axis.
pub(crate) fn scan<'py>(
    x: &Bound<'py, PyAny>,
    operator: &Operator,
    arguments: &Reduction<'_, 'py>,
    way: (Bounds, Direction),
) -> PyResult<Bound<'py, PyAny>> {
    let Reduction { axis, out, initial, device, .. } = *arguments;
    let (x, py) = (Operand::take(x, "x")?, x.py());
    if axis.is_none() && x.shape.len() != 1 {
        let text = format!("x has {} dimensions: name the axis", x.shape.len());
        return Err(PyValueError::new_err(text));
    }
    let own = operator.of(py, x.item)?;
    let call = Call::new(device, &[&x])?;
    let axes = axes(axis, x.shape.len())?;
    let init = initial.map(|initial| scalar(initial, x.item.dtype)).transpose()?;
    let mut output = match out {
        Some(out) => Output::of_caller(&call, out, &x, &x.shape, x.item)?,
        None => Output::new(&call, &x, &x.shape, x.item)?,
    };
    if let (true, Some(out)) = (output.overlaps(&x), out) {
        let found = scan(&x.object, operator, &Reduction { out: None, ..*arguments }, way)?;
        output.copy_from(&call, &found)?;
        return Ok(out.clone());
    }
    if x.shape.len() == 1 && x.is_packed() && output.is_packed() {
        let items = AnyFused::of(x.flat()?).map_err(raise)?;
        let target = output.flat_mut(x.item.dtype)?;
        call.run(py, |device| items.scan_by_into(device, target, &own, way, init))?;
    } else {
        let (rows, target) = (x.rows(&axes)?, output.view_mut(x.item.dtype)?);
        call.run(py, |device| scan_axes_by(device, &rows, target, &own, way, init))?;
    }
    finished(output, &call, py, out)
}

/// What the caller gets: a result, or the array that was given for it.
fn finished<'py>(
    output: Output<'py>,
    call: &Call,
    py: Python<'py>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = output.finish(call, py)?;
    Ok(out.cloned().unwrap_or(found))
}
