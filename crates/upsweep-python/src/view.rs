//! Lazy views: items that functions of Python's make of arrays as they are read, by the call that they end in.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use upsweep::Error;
use upsweep::any::{self, AnyFunction, Op, Reduce, Scalar, Term, ValueType};

use crate::arguments::{named_operator, operator};
use crate::dtype::{ItemType, scalar};
use crate::end::{End, Kind, count};
use crate::error::raise;
use crate::mask::identity;
use crate::operand::Operand;
use crate::operator::Operator;
use crate::plan::Plan;
use crate::reduce::{combined, result_type};
use crate::scan::{problem, scan, way};
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
    /// The types of their items.
    item_types: Vec<ItemType>,
    device: Option<Py<PyAny>>,
    graph: Graph,
    values: Vec<Term>,
    /// Items for which this is false are left out.
    condition: Option<Term>,
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
    let arrays = taken(&[x.clone()].into_iter().chain(others.iter()).collect::<Vec<_>>())?;
    let (graph, values) = traced::arguments(&arrays)?;
    let item_types = arrays.iter().map(|array| array.item).collect();
    let arrays = arrays.iter().map(|array| array.object.clone().unbind()).collect();
    Ok(View { arrays, item_types, device, graph, values, condition: None })
}

/// Arrays of one shape, which are read together.
pub(crate) fn taken<'py>(arrays: &[Bound<'py, PyAny>]) -> PyResult<Vec<Operand<'py>>> {
    let names = core::iter::once("x").chain(core::iter::repeat("others"));
    let taken = arrays.iter().zip(names).map(|(array, name)| Operand::take(array, name));
    let taken = taken.collect::<PyResult<Vec<_>>>()?;
    let shapes = taken.iter().map(|array| &array.shape);
    if let Some((one, other)) = shapes.clone().zip(shapes.skip(1)).find(|(one, other)| one != other)
    {
        let text = format!("one array has shape {one:?}, another {other:?}");
        return Err(PyValueError::new_err(text));
    }
    Ok(taken)
}

/// A scan as its arguments say it.
struct ScanArguments<'a, 'py> {
    op: &'a Bound<'py, PyAny>,
    exclusive: bool,
    reverse: bool,
    initial: Option<&'a Bound<'py, PyAny>>,
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
        let item_types = self.item_types.clone();
        let device = self.device.as_ref().map(|device| device.clone_ref(py));
        Self { arrays, item_types, device, graph, values, condition }
    }

    /// The arrays that it was made of.
    pub(crate) fn arrays<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyAny>> {
        self.arrays.iter().map(|array| array.bind(py).clone()).collect()
    }

    /// The types of the arrays' items.
    pub(crate) fn item_types(&self) -> &[ItemType] {
        &self.item_types
    }

    /// The device that the caller has named.
    pub(crate) fn device<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyAny>> {
        self.device.as_ref().map(|device| device.bind(py))
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

    /// Whether each item is true.
    fn truth(&self) -> PyResult<Term> {
        let value = self.value()?;
        traced::truth(&mut self.graph.lock(), value)
    }

    /// A value of the graph as items are written, and their type.
    fn stored(&self, value: Term) -> PyResult<(AnyFunction, ItemType)> {
        let mut definition = self.graph.lock();
        let item = traced::item_type(&definition, value);
        let stored = traced::stored(&mut definition, value)?;
        Ok((AnyFunction::new(definition.clone(), stored).map_err(raise)?, item))
    }

    /// A value with the identity of an operator in the places that the condition leaves out, and its type.
    fn selected(&self, value: Term, op: Op) -> PyResult<(AnyFunction, ItemType)> {
        let Some(condition) = self.condition else { return self.stored(value) };
        let mut definition = self.graph.lock();
        let item = traced::item_type(&definition, value);
        let stored = traced::stored(&mut definition, value)?;
        let nothing = identity(op, item);
        let nothing = definition.constant(item.dtype.into(), nothing.word());
        let chosen = definition.select(condition, stored, nothing).map_err(traced::refused)?;
        Ok((AnyFunction::new(definition.clone(), chosen).map_err(raise)?, item))
    }

    /// The reduction of a value by an operator.
    fn reduction(&self, value: Term, op: Op, init: Option<Scalar>) -> PyResult<End> {
        if op.is_position() && self.condition.is_some() {
            let text = format!("{op} of selected items is not known; take it of array()");
            return Err(PyTypeError::new_err(text));
        }
        let is_mean = op == Op::Mean && self.condition.is_some();
        let (function, item) = self.selected(value, if is_mean { Op::Sum } else { op })?;
        op.check(item.dtype).map_err(raise)?;
        let result = result_type(op, item);
        let acc = (!op.is_position()).then(|| combined(op, result));
        let kind = match self.condition {
            Some(condition) if is_mean => Kind::Mean { condition },
            condition => {
                let is_whole = condition.is_none();
                Kind::Reduce { problem: Reduce { op, acc, init }, is_whole }
            }
        };
        Ok(End { function, result, kind })
    }

    /// The reduction by an operator that an argument says.
    fn reduction_by(
        &self,
        op: &Bound<'_, PyAny>,
        initial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<End> {
        let value = self.value()?;
        let Ok(own) = op.cast::<Operator>() else {
            let op = named_operator(op)?;
            let item = traced::item_type(&self.graph.lock(), value);
            if !op.scans() && initial.is_some() {
                return Err(PyTypeError::new_err(format!("{op} takes no initial=")));
            }
            let acc = combined(op, result_type(op, item));
            let init = initial.map(|initial| scalar(initial, acc)).transpose()?;
            return self.reduction(value, op, init);
        };
        if self.condition.is_some() {
            let text = "an operator of Python's reduces all items; take it of array()";
            return Err(PyTypeError::new_err(text));
        }
        let (function, item) = self.stored(value)?;
        let operator = own.get().of(op.py(), item)?;
        let init = initial.map(|initial| scalar(initial, item.dtype)).transpose()?;
        Ok(End { function, result: item, kind: Kind::ReduceBy { operator, init } })
    }

    /// The scan of all items.
    fn scan_of_all(&self, arguments: &ScanArguments<'_, '_>) -> PyResult<End> {
        let ScanArguments { op, exclusive, reverse, initial } = *arguments;
        let (function, item) = self.stored(self.value()?)?;
        if let Ok(own) = op.cast::<Operator>() {
            let operator = own.get().of(op.py(), item)?;
            let init = initial.map(|initial| scalar(initial, item.dtype)).transpose()?;
            let kind = Kind::ScanBy { operator, way: way(exclusive, reverse), init };
            return Ok(End { function, result: item, kind });
        }
        let op = named_operator(op)?;
        op.check(item.dtype).map_err(raise)?;
        if !op.scans() {
            let (operator, dtype) = (op.name(), item.dtype);
            return Err(raise(Error::OperatorElement { operator, dtype }));
        }
        let result = crate::scan::result_type(op, item);
        let init = initial.map(|initial| scalar(initial, result.dtype)).transpose()?;
        let problem = any::Scan { init, ..problem(op, exclusive, reverse) };
        Ok(End { function, result, kind: Kind::Scan { problem } })
    }

    /// The items as they are, or as they are selected.
    fn items_alone(&self) -> PyResult<End> {
        let (function, result) = self.stored(self.value()?)?;
        let kind = match self.condition {
            Some(condition) => Kind::Select { condition },
            None => Kind::Array,
        };
        Ok(End { function, result, kind })
    }

    /// Runs an end on the arrays that the view was made of.
    fn ended<'py>(&self, py: Python<'py>, end: &End) -> PyResult<Bound<'py, PyAny>> {
        end.run(py, self, &self.arrays(py), None)
    }

    fn reduced<'py>(&self, py: Python<'py>, op: Op) -> PyResult<Bound<'py, PyAny>> {
        self.ended(py, &self.reduction(self.value()?, op, None)?)
    }

    fn scanned<'py>(
        &self,
        py: Python<'py>,
        arguments: &ScanArguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.condition.is_none() {
            return self.ended(py, &self.scan_of_all(arguments)?);
        }
        // What is selected has places of its own first.
        let ScanArguments { op, exclusive, reverse, initial } = *arguments;
        let items = self.array(py)?;
        scan(&items, Some(op), None, None, None, exclusive, reverse, initial, self.device(py))
    }

    fn cumulative<'py>(&self, py: Python<'py>, op: &str) -> PyResult<Bound<'py, PyAny>> {
        let op = op.into_pyobject(py)?.into_any();
        let arguments = ScanArguments { op: &op, exclusive: false, reverse: false, initial: None };
        self.scanned(py, &arguments)
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
        self.reduced(py, Op::Sum)
    }

    /// The product of all items.
    fn prod<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Product)
    }

    /// The smallest item, or NaN if there is one. As of :func:`min`, there must be items.
    fn min<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Min)
    }

    /// The largest item, or NaN if there is one. As of :func:`max`, there must be items.
    fn max<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Max)
    }

    /// The mean of all items.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Mean)
    }

    /// The position of the smallest item in C order, the first of several. The items are made in memory first.
    fn argmin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::ArgMin)
    }

    /// The position of the largest item in C order, the first of several. The items are made in memory first.
    fn argmax<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::ArgMax)
    }

    /// Whether all items are true: not 0.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ended(py, &self.reduction(self.truth()?, Op::Min, Some(Scalar::new(1u8)))?)
    }

    /// Whether any item is true: not 0.
    fn any<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ended(py, &self.reduction(self.truth()?, Op::Max, Some(Scalar::new(0u8)))?)
    }

    /// How many items are true: not 0.
    fn count_nonzero<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ended(py, &self.reduction(self.truth()?, Op::Sum, None)?)
    }

    /// The reduction by an operator: a name as of :func:`reduce`, or an :class:`Operator`.
    #[pyo3(signature = (op, /, *, initial = None))]
    fn reduce<'py>(
        &self,
        op: &Bound<'py, PyAny>,
        initial: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ended(op.py(), &self.reduction_by(op, initial)?)
    }

    /// The sums of all items up to each, in C order.
    fn cumulative_sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.cumulative(py, "sum")
    }

    /// The products of all items up to each, in C order.
    fn cumulative_prod<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.cumulative(py, "prod")
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
        self.scanned(op.py(), &ScanArguments { op, exclusive, reverse, initial })
    }

    /// The items as an array of the library of the first one, in its shape; those that are selected in one dimension.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ended(py, &self.items_alone()?)
    }

    /// What the view ends in, for calls again and again: on its arrays, or on others of the same types.
    ///
    /// Parameters
    /// ----------
    /// end : str
    ///     The name of a method that a view ends in, except ``len``.
    /// op : str or Operator, optional
    ///     The operator of ``reduce`` and ``scan``.
    /// initial, exclusive, reverse
    ///     As of :meth:`reduce` and :meth:`scan`. Selected items are scanned by calls alone.
    ///
    /// Returns
    /// -------
    /// Plan
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> x, y = numpy.array([1.0, 2.0]), numpy.array([[3.0], [4.0]])
    /// >>> norm = upsweep.view(x).map(lambda x: x * x).plan("sum")
    /// >>> float(norm()), float(norm(y))
    /// (5.0, 25.0)
    #[pyo3(signature = (end, op = None, /, *, initial = None, exclusive = false, reverse = false))]
    fn plan(
        slf: &Bound<'_, Self>,
        end: &str,
        op: Option<&Bound<'_, PyAny>>,
        initial: Option<&Bound<'_, PyAny>>,
        exclusive: bool,
        reverse: bool,
    ) -> PyResult<Plan> {
        let (view, py) = (slf.get(), slf.py());
        let takes_operator = matches!(end, "reduce" | "scan");
        if op.is_some() != takes_operator {
            let takes = if takes_operator { "needs an" } else { "takes no" };
            return Err(PyTypeError::new_err(format!("{end} {takes} operator")));
        }
        if (initial.is_some() && !takes_operator) || ((exclusive || reverse) && end != "scan") {
            let text =
                format!("{end} takes none of initial=, exclusive= and reverse= that it is given");
            return Err(PyTypeError::new_err(text));
        }
        let scan = |op: &Bound<'_, PyAny>| {
            if view.condition.is_some() {
                let text = "a plan scans all items; plan the array, and scan it";
                return Err(PyTypeError::new_err(text));
            }
            view.scan_of_all(&ScanArguments { op, exclusive, reverse, initial })
        };
        let named = |name: &str| scan(&name.into_pyobject(py)?.into_any());
        let of_truths = |op, init| view.reduction(view.truth()?, op, init);
        let made = match (end, op) {
            ("reduce", Some(op)) => view.reduction_by(op, initial),
            ("scan", Some(op)) => scan(op),
            ("cumulative_sum", _) => named("sum"),
            ("cumulative_prod", _) => named("prod"),
            ("array", _) => view.items_alone(),
            ("all", _) => of_truths(Op::Min, Some(Scalar::new(1u8))),
            ("any", _) => of_truths(Op::Max, Some(Scalar::new(0u8))),
            ("count_nonzero", _) => of_truths(Op::Sum, None),
            ("sum" | "prod" | "min" | "max" | "mean" | "argmin" | "argmax", _) => {
                view.reduction(view.value()?, operator(end)?, None)
            }
            _ => Err(PyValueError::new_err(format!("a view has no end {end}"))),
        };
        Ok(Plan::new(slf.clone().unbind(), end.to_owned(), made?))
    }

    /// How many items there are. Selected items are counted, and the call waits for the number.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let Some(condition) = self.condition else {
            return Ok(Operand::take(self.arrays[0].bind(py), "x")?.len());
        };
        let (function, _) = self.stored(self.values[0])?;
        count(py, self, &function, condition)
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
