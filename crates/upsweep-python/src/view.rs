//! Lazy views: items that functions of Python's make of arrays as they are read, by the call that they end in.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use upsweep::any::{self, AnyFused, AnyView, Op, Reduce, Scalar, Term, ValueType};
use upsweep::{Dtype, Result};

use crate::arguments::named_operator;
use crate::call::Call;
use crate::dtype::ItemType;
use crate::error::raise;
use crate::library::Output;
use crate::mask::identity;
use crate::operand::Operand;
use crate::operator::Operator;
use crate::reduce::{check_some, combined, result_type};
use crate::scan::scan;
use crate::traced::{self, Graph};

/// Items of one or several arrays, and what functions make of them when a call reads them.
///
/// :func:`view` makes one. :meth:`map` and :meth:`select` call a function of Python's once, with values that stand for items
/// (:class:`Traced`), and return another view. A reduction, a scan or :meth:`array` reads the arrays once and computes the functions on the way:
/// on a GPU in its kernel, on a CPU in its vectors. Nothing is written in between.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x = numpy.array([3.0, -1.0, 4.0], dtype="float32")
/// >>> squares = upsweep.view(x).map(lambda x: x * x)
/// >>> float(squares.sum())
/// 26.0
/// >>> squares.select(lambda square: square > 5).array()
/// array([ 9., 16.], dtype=float32)
#[pyclass(frozen, module = "upsweep", name = "View")]
pub(crate) struct View {
    arrays: Vec<Py<PyAny>>,
    device: Option<Py<PyAny>>,
    graph: Graph,
    values: Vec<Term>,
    /// Items for which this is false are left out.
    condition: Option<Term>,
}

/// The arrays of a call, and where it runs.
struct Running<'a, 'py> {
    call: Call,
    x: &'a Operand<'py>,
    items: Vec<AnyView<'a>>,
}

/// Items of arrays, to be made into others as they are read.
///
/// Parameters
/// ----------
/// x : array
///     As of :func:`sum`. An array that is not in C order is copied when it is read. ``float16`` and ``bfloat16`` are refused.
/// *others : array
///     Others of the same shape, on the same device. Functions take an item of each.
/// device : str or stream, optional
///     As of :func:`sum`.
///
/// Returns
/// -------
/// View
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x, y = numpy.array([1, 2, 3]), numpy.array([4, 5, 6])
/// >>> int(upsweep.view(x, y).map(lambda x, y: x * y).sum())
/// 32
#[pyfunction]
#[pyo3(signature = (x, /, *others, device = None))]
pub(crate) fn view<'py>(
    x: &Bound<'py, PyAny>,
    others: &Bound<'py, PyTuple>,
    device: Option<Py<PyAny>>,
) -> PyResult<View> {
    let first = Operand::take(x, "x")?;
    let others: Vec<_> = others.iter().collect();
    let taken = others.iter().map(|other| Operand::take(other, "others"));
    let taken = taken.collect::<PyResult<Vec<_>>>()?;
    for other in &taken {
        if other.shape != first.shape {
            let text = format!("one array has shape {:?}, another {:?}", first.shape, other.shape);
            return Err(PyValueError::new_err(text));
        }
    }
    let all: Vec<_> = core::iter::once(&first).chain(&taken).collect();
    let (graph, values) = traced::arguments(&all)?;
    let arrays = all.iter().map(|array| array.object.clone().unbind()).collect();
    Ok(View { arrays, device, graph, values, condition: None })
}

impl View {
    /// A view of the same arrays.
    fn with(
        &self,
        py: Python<'_>,
        graph: Graph,
        values: Vec<Term>,
        condition: Option<Term>,
    ) -> Self {
        let arrays = self.arrays.iter().map(|array| array.clone_ref(py)).collect();
        let device = self.device.as_ref().map(|device| device.clone_ref(py));
        Self { arrays, device, graph, values, condition }
    }

    /// The one value of each item.
    fn value(&self) -> PyResult<Term> {
        match self.values[..] {
            [value] => Ok(value),
            _ => {
                let text = format!(
                    "items have {} values; map a function to them that gives one",
                    self.values.len()
                );
                Err(PyTypeError::new_err(text))
            }
        }
    }

    /// Does `work` with the arrays.
    fn run<'py, R>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Running<'_, 'py>) -> PyResult<R>,
    ) -> PyResult<R> {
        let names = core::iter::once("x").chain(core::iter::repeat("others"));
        let arrays = self.arrays.iter().zip(names);
        let arrays = arrays.map(|(array, name)| Operand::take(array.bind(py), name));
        let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
        let all: Vec<_> = arrays.iter().collect();
        let call = Call::new(self.device.as_ref().map(|device| device.bind(py)), &all)?;
        let in_order = arrays.iter().map(|array| array.in_order(&call));
        let in_order = in_order.collect::<PyResult<Vec<_>>>()?;
        let items = in_order.iter().map(|items| items.view()).collect();
        work(&Running { call, x: &arrays[0], items })
    }

    /// The items that are a value of the graph.
    fn fused<'a>(&self, running: &Running<'a, '_>, item: Term) -> PyResult<AnyFused<'a>> {
        let definition = self.graph.lock().clone();
        AnyFused::new(&running.items[..], definition, item).map_err(raise)
    }

    /// The value of each item with the identity of an operator where the condition does not hold, and its type.
    fn selected_value(&self, op: Op) -> PyResult<(Term, ItemType)> {
        let value = self.value()?;
        let mut definition = self.graph.lock();
        let item = traced::item_type(&definition, value);
        let stored = traced::stored(&mut definition, value)?;
        let Some(condition) = self.condition else { return Ok((stored, item)) };
        let nothing = identity(op, item);
        let nothing = definition.constant(item.dtype.into(), nothing.word());
        let chosen = definition.select(condition, stored, nothing);
        Ok((chosen.map_err(traced::refused)?, item))
    }

    /// The value of all items, of the library of the first array.
    fn reduced<'py>(
        &self,
        py: Python<'py>,
        op: Op,
        init: Option<Scalar>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if op.is_position() && self.condition.is_some() {
            let text = format!("{op} of selected items is not known; take it of array()");
            return Err(PyTypeError::new_err(text));
        }
        if op == Op::Mean && self.condition.is_some() {
            return self.selected_mean(py);
        }
        let (value, item) = self.selected_value(op)?;
        let result = result_type(op, item);
        let acc = (!op.is_position()).then(|| combined(op, result));
        let problem = Reduce { op, acc, init };
        self.run(py, |running| {
            let fused = self.fused(running, value)?;
            if self.condition.is_none() {
                check_some(op, fused.len(), init.is_some())?;
            }
            let dtype = acc.unwrap_or(Dtype::U64);
            Output::written(&running.call, running.x, (&[], result), dtype, |device, target| {
                fused.reduce_into(device, target, &problem)
            })
        })
    }

    /// The mean of the items of which the condition holds.
    fn selected_mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (value, item) = self.selected_value(Op::Sum)?;
        let result = result_type(Op::Mean, item);
        let problem = Reduce::new(Op::Sum).acc(result.dtype);
        self.run(py, |running| {
            let (fused, condition) = (self.fused(running, value)?, self.condition);
            let to = (&[][..], result);
            Output::written(&running.call, running.x, to, result.dtype, |device, target| {
                let sum = fused.reduce(device, &problem)?.map_or(0.0, |sum| sum.to_f64());
                let count = condition.map_or(Ok(0), |condition| fused.count(device, condition))?;
                let mean = match result.dtype {
                    Dtype::F32 => Scalar::new(sum as f32 / count as f32),
                    _ => Scalar::new(sum / count as f64),
                };
                let word = [mean.word()];
                let bytes = &bytemuck::cast_slice(&word)[..result.size()];
                let mean = AnyView::from_bytes(result.dtype, bytes)?;
                any::reduce_into(device, mean, target, &Reduce::new(Op::Max))
            })
        })
    }

    /// Whether each item is true, as a view.
    fn truths(&self, py: Python<'_>) -> PyResult<Self> {
        let value = self.value()?;
        let graph = self.graph.copied();
        let truth = traced::truth(&mut graph.lock(), value)?;
        Ok(self.with(py, graph, vec![truth], self.condition))
    }

    fn of_scan<'py>(
        &self,
        py: Python<'py>,
        op: &Bound<'py, PyAny>,
        exclusive: bool,
        reverse: bool,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.condition.is_some() {
            // What is selected has places of its own first.
            let items = self.array(py)?;
            let device = self.device.as_ref().map(|device| device.bind(py));
            return scan(&items, Some(op), None, None, None, exclusive, reverse, initial, device);
        }
        let value = self.value()?;
        let (value, item) = {
            let mut definition = self.graph.lock();
            let item = traced::item_type(&definition, value);
            (traced::stored(&mut definition, value)?, item)
        };
        if let Ok(own) = op.cast::<Operator>() {
            let own = own.get().of(py, item)?;
            let init =
                initial.map(|initial| crate::dtype::scalar(initial, item.dtype)).transpose()?;
            let way = crate::scan::way(exclusive, reverse);
            return self.scanned(py, value, item, |fused, device, target| {
                fused.scan_by_into(device, target, &own, way, init)
            });
        }
        let op = named_operator(op)?;
        let result = crate::scan::result_type(op, item);
        let init =
            initial.map(|initial| crate::dtype::scalar(initial, result.dtype)).transpose()?;
        let problem = any::Scan { init, ..crate::scan::problem(op, exclusive, reverse) };
        self.scanned(py, value, result, |fused, device, target| {
            fused.scan_into(device, target, &problem)
        })
    }

    fn scanned<'py>(
        &self,
        py: Python<'py>,
        value: Term,
        result: ItemType,
        work: impl Send + FnOnce(&AnyFused<'_>, &upsweep::Device, any::AnyViewMut<'_>) -> Result<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, |running| {
            let Running { call, x, .. } = running;
            let fused = self.fused(running, value)?;
            let to = (&[fused.len()][..], result);
            Output::written(call, x, to, result.dtype, |device, target| {
                work(&fused, device, target)
            })
        })
    }
}

#[pymethods]
impl View {
    /// Other values of each item: what a function of Python's computes of it.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     It is called once, with a :class:`Traced` for each value of an item, and returns one, or a tuple of them. ``x * factor`` with a number
    ///     of Python's is computed in the type of ``x``; another number needs no other kernel.
    ///
    /// Returns
    /// -------
    /// View
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.view(numpy.array([1, 2, 3])).map(lambda x: x / 2).array()
    /// array([0.5, 1. , 1.5])
    fn map(&self, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        // Views that are made of this one in turn leave it as it is.
        let graph = self.graph.copied();
        let values = graph.trace(function, &self.values)?;
        Ok(self.with(function.py(), graph, values, self.condition))
    }

    /// The items of which a function of Python's gives true.
    ///
    /// :meth:`array` and scans have those items alone. In a reduction the identity stands for the others, as with ``where=``: of no items a minimum
    /// is infinite, or the largest integer.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     As of :meth:`map`; what it gives is a ``bool``.
    ///
    /// Returns
    /// -------
    /// View
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> above = upsweep.view(numpy.array([1, 20, 30])).select(lambda x: x > 10)
    /// >>> int(above.sum()), len(above)
    /// (50, 2)
    fn select(&self, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        let graph = self.graph.copied();
        let found = graph.trace(function, &self.values)?;
        let mut definition = graph.lock();
        let &[own] = &found[..] else {
            return Err(PyTypeError::new_err("a condition is one value"));
        };
        if definition.type_of(own) != ValueType::Bool {
            let found = traced::item_type(&definition, own).name();
            let text = format!("a condition is a bool, not {found}; compare it, as by != 0");
            return Err(PyTypeError::new_err(text));
        }
        let both = match self.condition {
            Some(before) => definition.binary(any::Binary::BitAnd, before, own),
            None => Ok(own),
        };
        let both = both.map_err(traced::refused)?;
        drop(definition);
        Ok(self.with(function.py(), graph, self.values.clone(), Some(both)))
    }

    /// The sum of all items, in the type that :func:`sum` gives.
    fn sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Sum, None)
    }

    /// The product of all items.
    fn prod<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Product, None)
    }

    /// The smallest item, or NaN if there is one. As of :func:`min`, there must be items.
    fn min<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Min, None)
    }

    /// The largest item, or NaN if there is one. As of :func:`max`, there must be items.
    fn max<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Max, None)
    }

    /// The mean of all items.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Mean, None)
    }

    /// The position of the smallest item in C order, the first of several. The items are made in memory first.
    fn argmin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::ArgMin, None)
    }

    /// The position of the largest item in C order, the first of several. The items are made in memory first.
    fn argmax<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::ArgMax, None)
    }

    /// Whether all items are true: not 0.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.truths(py)?.reduced(py, Op::Min, Some(Scalar::new(1u8)))
    }

    /// Whether any item is true: not 0.
    fn any<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.truths(py)?.reduced(py, Op::Max, Some(Scalar::new(0u8)))
    }

    /// How many items are true: not 0.
    fn count_nonzero<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.truths(py)?.reduced(py, Op::Sum, None)
    }

    /// The reduction by an operator: a name as of :func:`reduce`, or an :class:`Operator`.
    #[pyo3(signature = (op, /, *, initial = None))]
    fn reduce<'py>(
        &self,
        op: &Bound<'py, PyAny>,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = op.py();
        let Ok(own) = op.cast::<Operator>() else {
            let op = named_operator(op)?;
            let value = self.value()?;
            let item = traced::item_type(&self.graph.lock(), value);
            if !op.scans() && initial.is_some() {
                return Err(PyTypeError::new_err(format!("{op} takes no initial=")));
            }
            let acc = combined(op, result_type(op, item));
            let init = initial.map(|initial| crate::dtype::scalar(initial, acc)).transpose()?;
            return self.reduced(py, op, init);
        };
        if self.condition.is_some() {
            let text = "an operator of Python's reduces all items; take it of array()";
            return Err(PyTypeError::new_err(text));
        }
        let (value, item) = self.selected_value(Op::Sum)?;
        let own = own.get().of(py, item)?;
        let init = initial.map(|initial| crate::dtype::scalar(initial, item.dtype)).transpose()?;
        self.run(py, |running| {
            let fused = self.fused(running, value)?;
            let to = (&[][..], item);
            Output::written(&running.call, running.x, to, item.dtype, |device, target| {
                fused.reduce_by_into(device, target, &own, init)
            })
        })
    }

    /// The sums of all items up to each, in C order.
    fn cumulative_sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = "sum".into_pyobject(py)?.into_any();
        self.of_scan(py, &name, false, false, None)
    }

    /// The products of all items up to each, in C order.
    fn cumulative_prod<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = "prod".into_pyobject(py)?.into_any();
        self.of_scan(py, &name, false, false, None)
    }

    /// A scan in C order by an operator, a name or an :class:`Operator`. The arguments are those of :func:`scan`.
    #[pyo3(signature = (op, /, *, exclusive = false, reverse = false, initial = None))]
    fn scan<'py>(
        &self,
        op: &Bound<'py, PyAny>,
        exclusive: bool,
        reverse: bool,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.of_scan(op.py(), op, exclusive, reverse, initial)
    }

    /// The items as an array of the library of the first one, in its shape; those that are selected in one dimension.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.value()?;
        let (value, item) = {
            let mut definition = self.graph.lock();
            let item = traced::item_type(&definition, value);
            (traced::stored(&mut definition, value)?, item)
        };
        self.run(py, |running| {
            let Running { call, x, .. } = running;
            let fused = self.fused(running, value)?;
            let Some(condition) = self.condition else {
                return Output::written(call, x, (&x.shape, item), item.dtype, |device, target| {
                    fused.evaluate_into(device, target)
                });
            };
            let mut output = Output::new(call, x, &[fused.len()], item)?;
            let mut count = [0u64];
            let (target, counted) = (output.flat_mut(item.dtype)?, &mut count);
            call.run(py, |device| fused.select_into(device, condition, target, counted))?;
            output.finish_truncated(call, py, usize::try_from(count[0]).unwrap_or(usize::MAX))
        })
    }

    /// How many items there are. Selected items are counted, and the call waits for the number.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.run(py, |running| {
            let Some(condition) = self.condition else { return Ok(running.items[0].len()) };
            let value = traced::stored(&mut self.graph.lock(), self.values[0])?;
            let fused = self.fused(running, value)?;
            let found = running.call.run(py, |device| fused.count(device, condition))?;
            Ok(usize::try_from(found).unwrap_or(usize::MAX))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let definition = self.graph.lock();
        let types = self.values.iter().map(|value| traced::item_type(&definition, *value).name());
        let types = types.collect::<Vec<_>>().join(", ");
        // Before Python's code runs, which may use the view.
        drop(definition);
        let selected = if self.condition.is_some() { ", selected" } else { "" };
        let items = Operand::take(self.arrays[0].bind(py), "x")?.len();
        Ok(format!("View({types}; {items} items{selected})"))
    }
}
