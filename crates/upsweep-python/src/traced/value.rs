//! The value that stands for an item while a function is traced.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};
use upsweep::Dtype;
use upsweep::any::{Binary, Definition, Method, Term, Unary, ValueType};

use super::arithmetic::{Steps, refused};
use super::promotion::{Weak, promoted, with_weak};
use super::{Graph, item_type};
use crate::dtype::{ItemType, Kind, scalar};

/// A value that stands for an item while a function is traced.
///
/// It has Python's operators but ``and``, ``or``, ``not`` and ``if``, for which there are ``&``, ``|``, ``~`` and :func:`where`. numpy's functions
/// of these names take it: ``absolute add bitwise_and bitwise_or bitwise_xor ceil clip copysign cos divide equal exp exp2 floor floor_divide
/// greater greater_equal invert isfinite isinf isnan left_shift less less_equal log log2 logical_and logical_not logical_or logical_xor maximum
/// minimum multiply negative not_equal positive power reciprocal remainder right_shift signbit sin sqrt square subtract tan trunc where``.
///
/// Types of results are numpy's, but ``float32`` in the place of ``float16``. A number of Python's takes the type of the value beside it.
#[pyclass(frozen, module = "upsweep", name = "Traced")]
pub(crate) struct Traced {
    graph: Graph,
    term: Term,
}

/// What stands beside a value.
enum Other<'py> {
    Term(Term, ItemType),
    Weak(Weak, Bound<'py, PyAny>),
    /// A number that has a type.
    Number(ItemType, Bound<'py, PyAny>),
}

impl<'py> Other<'py> {
    /// `None` for what is no value and no number.
    fn of(graph: &Graph, object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Ok(traced) = object.cast::<Traced>() {
            let Traced { graph: own, term } = traced.get();
            if !own.is(graph) {
                return Err(at_line(py, "it has values of two functions that are traced apart"));
            }
            return Ok(Some(Self::Term(*term, item_type(&graph.lock(), *term))));
        }
        if object.is_instance_of::<PyBool>() {
            return Ok(Some(Self::Number(ItemType::BOOL, object.clone())));
        }
        if object.is_exact_instance_of::<PyInt>() {
            return Ok(Some(Self::Weak(Weak::Integer, object.clone())));
        }
        if object.is_exact_instance_of::<PyFloat>() {
            return Ok(Some(Self::Weak(Weak::Float, object.clone())));
        }
        // A number of numpy's, or an array without dimensions.
        let (Ok(dtype), Ok(dimensions)) =
            (object.getattr(intern!(py, "dtype")), object.getattr(intern!(py, "ndim")))
        else {
            return Ok(None);
        };
        if dimensions.extract::<usize>()? > 0 {
            let text = "it computes with an array; give it to view() beside the others, and it is an argument too";
            return Err(at_line(py, text));
        }
        let item = ItemType::parse(&dtype)?;
        // Functions do not compute with short floats.
        let is_short = item.dtype.is_float() && item.size() == 2;
        let item = if is_short { ItemType::of(Dtype::F32) } else { item };
        Ok(Some(Self::Number(item, object.call_method0(intern!(py, "item"))?)))
    }

    /// Its type where it stands beside others of this one.
    fn beside(&self, item: Option<ItemType>) -> ItemType {
        match (self, item) {
            (Self::Term(_, own) | Self::Number(own, _), None) => *own,
            (Self::Term(_, own) | Self::Number(own, _), Some(item)) => promoted(item, *own),
            (Self::Weak(weak, _), Some(item)) => with_weak(item, *weak),
            (Self::Weak(Weak::Integer, _), None) => ItemType::INT64,
            (Self::Weak(Weak::Float, _), None) => ItemType::of(Dtype::F64),
        }
    }

    /// It as a value of a type.
    fn term(&self, definition: &mut Definition, item: ItemType) -> PyResult<Term> {
        let (own, number) = match self {
            Self::Term(term, own) if own == &item => return Ok(*term),
            Self::Term(term, _) => {
                let mut steps = Steps(definition);
                let cast =
                    if item.is_bool { steps.truth(*term) } else { steps.cast(*term, item.dtype) };
                return cast.map_err(refused);
            }
            Self::Weak(_, number) => (item, number),
            Self::Number(own, number) => (*own, number),
        };
        let own =
            if matches!(own.kind(), Kind::Brain) || own.dtype == Dtype::F16 { item } else { own };
        if own.is_bool {
            let term = definition.constant(ValueType::Bool, u64::from(number.is_truthy()?));
            return Self::Term(term, own).term(definition, item);
        }
        let value = scalar(number, own.dtype)?;
        let term = definition.constant(own.dtype.into(), value.word());
        Self::Term(term, own).term(definition, item)
    }
}

/// An error for what cannot be traced, with the line where it stands.
fn at_line(py: Python<'_>, reason: &str) -> PyErr {
    let place = || -> PyResult<String> {
        let frame = py.import(intern!(py, "sys"))?.call_method1(intern!(py, "_getframe"), (0,))?;
        let code = frame.getattr(intern!(py, "f_code"))?;
        let name: String = code.getattr(intern!(py, "co_name"))?.extract()?;
        let file: String = code.getattr(intern!(py, "co_filename"))?.extract()?;
        let line: usize = frame.getattr(intern!(py, "f_lineno"))?.extract()?;
        Ok(format!("{file}, line {line}, in {name}: "))
    };
    let place = place().unwrap_or_default();
    PyTypeError::new_err(format!("{place}the function cannot be traced: {reason}"))
}

/// Functions of floats alone, by numpy's names.
const OF_FLOATS: [(&str, Method); 8] = [
    ("sqrt", Method::Sqrt),
    ("exp", Method::Exp),
    ("exp2", Method::Exp2),
    ("log", Method::Ln),
    ("log2", Method::Log2),
    ("sin", Method::Sin),
    ("cos", Method::Cos),
    ("tan", Method::Tan),
];

/// Functions that leave integers as they are.
const ROUNDED: [(&str, Method); 3] =
    [("floor", Method::Floor), ("ceil", Method::Ceil), ("trunc", Method::Trunc)];

/// Questions that have an answer for integers too.
const QUESTIONS: [(&str, Method, bool); 4] = [
    ("isnan", Method::IsNan, false),
    ("isinf", Method::IsInfinite, false),
    ("isfinite", Method::IsFinite, true),
    ("signbit", Method::IsSignNegative, false),
];

/// Operators between two values that are Rust's, by numpy's names.
const OPERATORS: [(&str, Binary); 14] = [
    ("add", Binary::Add),
    ("subtract", Binary::Sub),
    ("multiply", Binary::Mul),
    ("bitwise_and", Binary::BitAnd),
    ("bitwise_or", Binary::BitOr),
    ("bitwise_xor", Binary::BitXor),
    ("left_shift", Binary::Shl),
    ("right_shift", Binary::Shr),
    ("equal", Binary::Equal),
    ("not_equal", Binary::Unequal),
    ("less", Binary::Less),
    ("less_equal", Binary::LessOrEqual),
    ("greater", Binary::Greater),
    ("greater_equal", Binary::GreaterOrEqual),
];

/// Those of truth values.
const LOGICAL: [(&str, Binary); 3] = [
    ("logical_and", Binary::BitAnd),
    ("logical_or", Binary::BitOr),
    ("logical_xor", Binary::Unequal),
];

fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
}

/// The type of floats in which a function of floats is computed.
fn as_float(item: ItemType) -> Dtype {
    match item.kind() {
        Kind::Float => item.dtype,
        _ if item.size() <= 2 => Dtype::F32,
        _ => Dtype::F64,
    }
}

/// What a function of numpy's, by its name, gives of these; `None` if there is no such function here, or one of them is no value.
fn apply(graph: &Graph, name: &str, operands: &[Bound<'_, PyAny>]) -> PyResult<Option<Term>> {
    let mut others = Vec::with_capacity(operands.len());
    for operand in operands {
        let Some(other) = Other::of(graph, operand)? else { return Ok(None) };
        others.push(other);
    }
    let definition = &mut *graph.lock();
    let made = match &others[..] {
        [one] => of_one(definition, name, one)?,
        [left, right] => of_two(definition, name, left, right)?,
        [condition, yes, no] if name == "where" => {
            let item = common(&[yes, no]);
            let condition = condition.term(definition, condition.beside(None))?;
            let condition = Steps(definition).truth(condition).map_err(refused)?;
            let (yes, no) = (yes.term(definition, item)?, no.term(definition, item)?);
            Some(definition.select(condition, yes, no).map_err(refused)?)
        }
        [value, low, high] if name == "clip" => {
            let item = common(&[value, low, high]);
            let [value, low, high] = [
                value.term(definition, item)?,
                low.term(definition, item)?,
                high.term(definition, item)?,
            ];
            let mut steps = Steps(definition);
            let raised = steps.extreme(Binary::Greater, value, low).map_err(refused)?;
            Some(steps.extreme(Binary::Less, raised, high).map_err(refused)?)
        }
        _ => None,
    };
    Ok(made)
}

/// The type of several: of those that have one, and then of numbers of Python's beside it.
fn common(others: &[&Other<'_>]) -> ItemType {
    let is_weak = |other: &Other<'_>| matches!(other, Other::Weak(..));
    let strong = others.iter().filter(|other| !is_weak(other));
    let all = strong.chain(others.iter().filter(|other| is_weak(other)));
    let found = all.fold(None, |item, other| Some(other.beside(item)));
    found.unwrap_or(ItemType::BOOL)
}

fn of_one(definition: &mut Definition, name: &str, one: &Other<'_>) -> PyResult<Option<Term>> {
    let item = one.beside(None);
    let is_float = item.kind() == Kind::Float;
    if let Some(method) = named(&OF_FLOATS, name) {
        let value = one.term(definition, ItemType::of(as_float(item)))?;
        return definition.method(method, value).map(Some).map_err(refused);
    }
    let value = one.term(definition, item)?;
    if let Some(method) = named(&ROUNDED, name) {
        let made = if is_float { definition.method(method, value) } else { Ok(value) };
        return made.map(Some).map_err(refused);
    }
    if name == "signbit" && item.kind() == Kind::Signed {
        return Steps(definition).sign(value).map(Some).map_err(refused);
    }
    if let Some((_, method, of_integers)) = QUESTIONS.iter().find(|(known, ..)| *known == name) {
        let made = match is_float {
            true => definition.method(*method, value),
            false => Ok(definition.constant(ValueType::Bool, u64::from(*of_integers))),
        };
        return made.map(Some).map_err(refused);
    }
    let mut steps = Steps(definition);
    let made = match name {
        "negative" => steps.negated(value),
        "positive" => Ok(value),
        "absolute" if item.is_bool => Ok(value),
        "absolute" => steps.absolute(value),
        "square" if item.is_bool => steps.cast(value, Dtype::I8),
        "square" => steps.binary(Binary::Mul, value, value),
        "reciprocal" if is_float => {
            let one = steps.whole_power(value, 0);
            one.and_then(|one| steps.binary(Binary::Div, one, value))
        }
        "invert" => definition.unary(Unary::Not, value),
        "logical_not" => {
            let truth = steps.truth(value);
            truth.and_then(|truth| definition.unary(Unary::Not, truth))
        }
        _ => return Ok(None),
    };
    made.map(Some).map_err(refused)
}

fn of_two(
    definition: &mut Definition,
    name: &str,
    left: &Other<'_>,
    right: &Other<'_>,
) -> PyResult<Option<Term>> {
    let item = common(&[left, right]);
    if let Some(operator) = named(&LOGICAL, name) {
        let mut truth = |other: &Other<'_>| {
            let value = other.term(definition, other.beside(None))?;
            Steps(definition).truth(value).map_err(refused)
        };
        let (left, right) = (truth(left)?, truth(right)?);
        return definition.binary(operator, left, right).map(Some).map_err(refused);
    }
    if let Some(operator) = named(&OPERATORS, name).filter(|operator| operator.compares())
        && let Some(found) = compared(definition, operator, left, right)?
    {
        return Ok(Some(found));
    }
    if let ("power", Other::Weak(Weak::Integer, exponent)) = (name, right) {
        let left = left.term(definition, item)?;
        return whole_power(definition, left, exponent).map(Some);
    }
    let item = match name {
        "divide" | "true_divide" if item.kind() != Kind::Float => ItemType::of(Dtype::F64),
        "copysign" => ItemType::of(as_float(item)),
        "floor_divide" | "remainder" | "power" if item.is_bool => ItemType::of(Dtype::I8),
        _ => item,
    };
    if name == "subtract" && item.is_bool {
        return Err(PyTypeError::new_err("booleans are not subtracted; use ^"));
    }
    let (left, right) = (left.term(definition, item)?, right.term(definition, item)?);
    let mut steps = Steps(definition);
    if let Some(operator) = named(&OPERATORS, name) {
        return steps.binary(operator, left, right).map(Some).map_err(refused);
    }
    let made = match name {
        "divide" | "true_divide" => steps.binary(Binary::Div, left, right),
        "floor_divide" => steps.floor_divide(left, right),
        "remainder" => steps.remainder(left, right),
        "minimum" => steps.extreme(Binary::Less, left, right),
        "maximum" => steps.extreme(Binary::Greater, left, right),
        "power" => definition.method_of_two(Method::Powf, left, right),
        "copysign" => definition.method_of_two(Method::Copysign, left, right),
        _ => return Ok(None),
    };
    made.map(Some).map_err(refused)
}

/// The comparison the other way round.
fn exchanged(operator: Binary) -> Binary {
    match operator {
        Binary::Less => Binary::Greater,
        Binary::LessOrEqual => Binary::GreaterOrEqual,
        Binary::Greater => Binary::Less,
        Binary::GreaterOrEqual => Binary::LessOrEqual,
        same => same,
    }
}

/// A comparison of integers that no type holds both of; `None` of all others.
fn compared(
    definition: &mut Definition,
    operator: Binary,
    left: &Other<'_>,
    right: &Other<'_>,
) -> PyResult<Option<Term>> {
    let is_weak = |other: &Other<'_>| matches!(other, Other::Weak(Weak::Integer, _));
    if is_weak(left) && !is_weak(right) {
        return compared(definition, exchanged(operator), right, left);
    }
    let (own, other) = (left.beside(None), right.beside(None));
    let is_integer = |item: ItemType| matches!(item.kind(), Kind::Signed | Kind::Unsigned);
    if let Other::Weak(Weak::Integer, number) = right {
        if is_weak(left) || !is_integer(own) || scalar(number, own.dtype).is_ok() {
            return Ok(None);
        }
        // The number is beyond the range: below all values, or above them.
        let is_below = number.lt(0)?;
        let holds = match operator {
            Binary::Less | Binary::LessOrEqual => !is_below,
            Binary::Greater | Binary::GreaterOrEqual => is_below,
            operator => operator == Binary::Unequal,
        };
        return Ok(Some(definition.constant(ValueType::Bool, u64::from(holds))));
    }
    let is_wide = |item: ItemType| item.dtype == Dtype::U64;
    let found = match (own.kind(), other.kind()) {
        (Kind::Signed, Kind::Unsigned) if is_wide(other) => {
            let (left, right) = (left.term(definition, own)?, right.term(definition, other)?);
            Steps(definition).compare_signed(operator, left, right)
        }
        (Kind::Unsigned, Kind::Signed) if is_wide(own) => {
            let (left, right) = (left.term(definition, own)?, right.term(definition, other)?);
            Steps(definition).compare_signed(exchanged(operator), right, left)
        }
        _ => return Ok(None),
    };
    found.map(Some).map_err(refused)
}

/// The power of a whole number, by repeated multiplication.
fn whole_power(
    definition: &mut Definition,
    value: Term,
    exponent: &Bound<'_, PyAny>,
) -> PyResult<Term> {
    let exponent: i64 = exponent.extract()?;
    let count = u32::try_from(exponent.unsigned_abs());
    let count = count.map_err(|_| PyOverflowError::new_err("the exponent is too large"))?;
    let is_float = item_type(definition, value).kind() == Kind::Float;
    if exponent < 0 && !is_float {
        let text = "integers have no powers of negative integers";
        return Err(PyValueError::new_err(text));
    }
    let mut steps = Steps(definition);
    let made = steps.whole_power(value, count).and_then(|power| {
        if exponent >= 0 {
            return Ok(power);
        }
        let one = steps.whole_power(value, 0)?;
        steps.binary(Binary::Div, one, power)
    });
    made.map_err(refused)
}

impl Traced {
    pub(super) fn new(graph: Graph, term: Term) -> Self {
        Self { graph, term }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(crate) fn term(&self) -> Term {
        self.term
    }

    /// What a function of numpy's gives of values and numbers; Python's `NotImplemented` if there is none.
    fn applied<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        operands: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        match apply(&self.graph, name, operands) {
            Ok(Some(term)) => Ok(Bound::new(py, Self::new(self.graph.clone(), term))?.into_any()),
            Ok(None) => Ok(py.NotImplemented().into_bound(py)),
            Err(error)
                if error.is_instance_of::<PyTypeError>(py)
                    || error.is_instance_of::<PyOverflowError>(py) =>
            {
                let reason = error.value(py).to_string();
                // What has its line already keeps it.
                if reason.contains("cannot be traced") {
                    Err(error)
                } else {
                    Err(at_line(py, &reason))
                }
            }
            Err(error) => Err(error),
        }
    }
}

#[pymethods]
impl Traced {
    /// Whether something holds of items is not known while a function is traced.
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let text = "what a value is, is not known yet: write upsweep.where(condition, yes, no) for `if`, and &, | and ~ for `and`, `or` and `not`";
        Err(at_line(py, text))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Err(at_line(
            py,
            "a value has no number yet; functions of `math` cannot take it, numpy's can",
        ))
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<i64> {
        Err(at_line(py, "a value has no number yet; .astype(\"int64\") makes integers of items"))
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        Err(at_line(py, "a value is no index, and no number of turns"))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<bool> {
        Err(at_line(py, "a value stands for one item"))
    }

    /// The type of items, by its name.
    #[getter]
    fn dtype(&self) -> &'static str {
        item_type(&self.graph.lock(), self.term).name()
    }

    fn __repr__(&self) -> String {
        format!("Traced({})", self.dtype())
    }

    /// The value as one of another type. Floats that an integer type does not have become its nearest value, and NaN 0.
    fn astype(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let item = ItemType::parse(dtype)?;
        let own = item_type(&self.graph.lock(), self.term);
        let other = Other::Term(self.term, own);
        let term = other.term(&mut self.graph.lock(), item);
        let term =
            term.map_err(|error| at_line(dtype.py(), &error.value(dtype.py()).to_string()))?;
        Ok(Self::new(self.graph.clone(), term))
    }

    /// numpy's functions of one and two values.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        &self,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ufunc.py();
        let name: String = ufunc.getattr(intern!(py, "__name__"))?.extract()?;
        if method != "__call__" || options.is_some_and(|options| !options.is_empty()) {
            let text = format!("numpy.{name} is called with more than its values");
            return Err(at_line(py, &text));
        }
        let inputs: Vec<_> = inputs.iter().collect();
        let found = self.applied(py, &name, &inputs)?;
        if found.is(py.NotImplemented()) {
            return Err(at_line(py, &format!("it has no function numpy.{name}")));
        }
        Ok(found)
    }

    /// numpy's `where` and `clip`.
    fn __array_function__<'py>(
        &self,
        func: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = func.py();
        let name: String = func.getattr(intern!(py, "__name__"))?.extract()?;
        let inputs: Vec<_> = args.iter().collect();
        let found = match kwargs.is_empty() {
            true => self.applied(py, &name, &inputs)?,
            false => py.NotImplemented().into_bound(py),
        };
        if found.is(py.NotImplemented()) {
            return Err(at_line(
                py,
                &format!("it has no function numpy.{name} of these arguments"),
            ));
        }
        Ok(found)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = match operator {
            CompareOp::Lt => "less",
            CompareOp::Le => "less_equal",
            CompareOp::Eq => "equal",
            CompareOp::Ne => "not_equal",
            CompareOp::Gt => "greater",
            CompareOp::Ge => "greater_equal",
        };
        slf.get().applied(slf.py(), name, &[slf.clone().into_any(), other.clone()])
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "negative", &[slf.clone().into_any()])
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "positive", &[slf.clone().into_any()])
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "absolute", &[slf.clone().into_any()])
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "invert", &[slf.clone().into_any()])
    }

    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "add", &[slf.clone().into_any(), other.clone()])
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "add", &[other.clone(), slf.clone().into_any()])
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "subtract", &[slf.clone().into_any(), other.clone()])
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "subtract", &[other.clone(), slf.clone().into_any()])
    }

    fn __mul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "multiply", &[slf.clone().into_any(), other.clone()])
    }

    fn __rmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "multiply", &[other.clone(), slf.clone().into_any()])
    }

    fn __truediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "divide", &[slf.clone().into_any(), other.clone()])
    }

    fn __rtruediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "divide", &[other.clone(), slf.clone().into_any()])
    }

    fn __floordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "floor_divide", &[slf.clone().into_any(), other.clone()])
    }

    fn __rfloordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "floor_divide", &[other.clone(), slf.clone().into_any()])
    }

    fn __mod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "remainder", &[slf.clone().into_any(), other.clone()])
    }

    fn __rmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "remainder", &[other.clone(), slf.clone().into_any()])
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_and", &[slf.clone().into_any(), other.clone()])
    }

    fn __rand__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_and", &[other.clone(), slf.clone().into_any()])
    }

    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_or", &[slf.clone().into_any(), other.clone()])
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_or", &[other.clone(), slf.clone().into_any()])
    }

    fn __xor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_xor", &[slf.clone().into_any(), other.clone()])
    }

    fn __rxor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "bitwise_xor", &[other.clone(), slf.clone().into_any()])
    }

    fn __lshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "left_shift", &[slf.clone().into_any(), other.clone()])
    }

    fn __rlshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "left_shift", &[other.clone(), slf.clone().into_any()])
    }

    fn __rshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "right_shift", &[slf.clone().into_any(), other.clone()])
    }

    fn __rrshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().applied(slf.py(), "right_shift", &[other.clone(), slf.clone().into_any()])
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match modulo {
            None => slf.get().applied(slf.py(), "power", &[slf.clone().into_any(), other.clone()]),
            Some(_) => Ok(slf.py().NotImplemented().into_bound(slf.py())),
        }
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match modulo {
            None => slf.get().applied(slf.py(), "power", &[other.clone(), slf.clone().into_any()]),
            Some(_) => Ok(slf.py().NotImplemented().into_bound(slf.py())),
        }
    }
}

/// One of two values, by a truth value, while a function is traced: numpy's ``where``.
///
/// Parameters
/// ----------
/// condition, x, y
///     Values of a traced function, or numbers; at least one is such a value.
///
/// Returns
/// -------
/// value
///     ``x`` where the condition is true, else ``y``.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x = numpy.array([3.0, -1.0, 4.0])
/// >>> float(upsweep.view(x).map(lambda x: upsweep.where(x > 0, x, 0)).sum())
/// 7.0
#[pyfunction]
#[pyo3(signature = (condition, x, y, /))]
pub(crate) fn r#where<'py>(
    condition: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = condition.py();
    let all = [condition.clone(), x.clone(), y.clone()];
    let traced = all.iter().find_map(|object| object.cast::<Traced>().ok());
    let Some(traced) = traced else {
        let text = "where is for values of a traced function; numpy.where is for arrays";
        return Err(PyTypeError::new_err(text));
    };
    let found = traced.get().applied(py, "where", &all)?;
    if found.is(py.NotImplemented()) {
        return Err(at_line(py, "where takes values of the function, and numbers"));
    }
    Ok(found)
}
