//! Scans, under numpy's names.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use upsweep::any::{self, AnyNdView, AnyView, Op, Scan};
use upsweep::{Bounds, Direction};

use crate::arguments::{axes, named_operator};
use crate::call::Call;
use crate::dtype::{ItemType, scalar};
use crate::error::raise;
use crate::library::Output;
use crate::mask::identity;
use crate::operand::Operand;
use crate::operator::{Operator, Reduction};

/// What every scan has of arguments.
struct Arguments<'a, 'py> {
    problem: Scan,
    axis: Option<&'a Bound<'py, PyAny>>,
    dtype: Option<&'a Bound<'py, PyAny>>,
    out: Option<&'a Bound<'py, PyAny>>,
    initial: Option<&'a Bound<'py, PyAny>>,
    include_initial: bool,
    device: Option<&'a Bound<'py, PyAny>>,
    /// Whether an array of several dimensions is scanned as one of one unless an axis is named.
    flattens: bool,
}

/// The type of a result as numpy has it.
pub(crate) fn result_type(op: Op, item: ItemType) -> ItemType {
    match op {
        Op::Sum | Op::Product if item.is_bool => ItemType::INT64,
        Op::Sum | Op::Product => ItemType::of(any::scan_output(op, item.dtype)),
        _ => item,
    }
}

fn run_scan<'py>(
    x: &Bound<'py, PyAny>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?.converted_to(arguments.dtype)?, x.py());
    let Arguments { axis, dtype, out, initial, include_initial, device, flattens, .. } = *arguments;
    let call = Call::new(device, &[&x])?;
    let op = arguments.problem.op;
    let item = match dtype {
        Some(dtype) => ItemType::parse(dtype)?,
        None => result_type(op, x.item),
    };
    if item.is_bool && op.accumulates() {
        return Err(PyTypeError::new_err(format!("{op} has no result of type bool")));
    }
    let init = match initial {
        Some(initial) => Some(scalar(initial, any::combined_in(item.dtype))?),
        None => None,
    };
    let problem = Scan { init, ..arguments.problem };
    if let Some(out) = out
        && is_line(&x)
        && !include_initial
        && item == x.item
    {
        axes(axis, 1)?;
        let mut target = Output::of_caller(&call, out, &x, &x.shape, item)?;
        if target.is_packed() && target.is_at(&x) {
            // Before there is any view of the array to read.
            let data = target.flat_mut(item.dtype)?;
            call.run(py, |device| any::scan_in_place(device, data, &problem))?;
            target.show(&call)?;
            return Ok(out.clone());
        }
    }
    // An array of one dimension, or what is scanned as one.
    let one = axis.is_none() && (x.shape.len() != 1);
    if one && !flattens && x.shape.len() > 1 {
        let text = format!("x has {} dimensions: name the axis", x.shape.len());
        return Err(PyValueError::new_err(text));
    }
    let flat = if one { Some(x.in_order(&call)?) } else { None };
    let (axis, input): (usize, AnyNdView<'_>) = if let Some(flat) = &flat {
        (0, flat.view().shape([x.len()]).map_err(raise)?)
    } else {
        match axes(axis, x.shape.len())?[..] {
            [axis] => (axis, x.view()?),
            _ => return Err(PyTypeError::new_err("a scan goes along one axis")),
        }
    };
    let mut shape = input.shape();
    let length = shape[axis];
    shape[axis] += usize::from(include_initial);
    let rows = input.axis(axis as isize).map_err(raise)?;
    let mut target = match out {
        Some(out) => Some(Output::of_caller(&call, out, &x, &shape, item)?),
        None => None,
    };
    let line = match (shape.len(), include_initial, &flat) {
        (1, false, Some(flat)) => Some(flat.view()),
        (1, false, None) if is_line(&x) => Some(x.flat()?),
        _ => None,
    };
    let into = |output: &mut Output<'py>| -> PyResult<()> {
        if let (Some(items), true) = (line, output.is_packed()) {
            // Without rows the way is shorter, and the library may have measured that another device is faster.
            let target = output.flat_mut(item.dtype)?;
            return call.run(py, |device| any::scan_into(device, items, target, &problem));
        }
        if include_initial {
            first_slice(&call, output, axis, item, &problem, py)?;
        }
        let first = usize::from(include_initial && problem.direction == Direction::Forward);
        let part = output.part_mut(item.dtype, axis, first, length)?;
        call.run(py, |device| any::scan_axes_into(device, &rows, part, &problem))
    };
    if let Some(target) = &mut target
        && !target.overlaps(&x)
    {
        into(target)?;
        target.show(&call)?;
    } else {
        let mut output = Output::new(&call, &x, &shape, item)?;
        into(&mut output)?;
        let found = output.finish(&call, py)?;
        let Some(target) = &mut target else { return Ok(found) };
        target.copy_from(&call, &found)?;
    }
    out.cloned().ok_or_else(|| PyTypeError::new_err("out is no array"))
}

/// Whether an array has one dimension and its items follow each other.
fn is_line(x: &Operand<'_>) -> bool {
    x.shape.len() == 1 && x.is_packed()
}

/// Writes what scans start from: in front of the items, or behind them if they are scanned from the end.
fn first_slice<'py>(
    call: &Call,
    output: &mut Output<'py>,
    axis: usize,
    item: ItemType,
    problem: &Scan,
    py: Python<'py>,
) -> PyResult<()> {
    let value = crate::dtype::shortened(
        problem.init.unwrap_or_else(|| identity(problem.op, item)),
        item.dtype,
    );
    let last = output.shape()[axis] - 1;
    let at = if problem.direction == Direction::Forward { 0 } else { last };
    let part = output.part_mut(item.dtype, axis, at, 1)?;
    let mut word = [0u64];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut word);
    bytes[..item.size()].copy_from_slice(value.bytes());
    let one = AnyView::from_bytes(item.dtype, &bytes[..item.size()]).map_err(raise)?;
    let shape = part.shape();
    if shape.contains(&0) {
        return Ok(());
    }
    // The same item for every row.
    let everywhere = AnyNdView::strided(one, &shape, &vec![0; shape.len()], 0).map_err(raise)?;
    call.copy(py, everywhere, part)
}

/// Defines scans.
macro_rules! scans {
    ($($(#[$docs:meta])* $name:ident $op:expr, $flattens:expr;)*) => {$(
        $(#[$docs])*
        #[pyfunction]
        #[pyo3(signature = (x, /, axis = None, *, dtype = None, out = None, include_initial = false, device = None))]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            dtype: Option<&Bound<'py, PyAny>>,
            out: Option<&Bound<'py, PyAny>>,
            include_initial: bool,
            device: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let (problem, initial, flattens) = (Scan::inclusive($op), None, $flattens);
            run_scan(x, &Arguments { problem, axis, dtype, out, initial, include_initial, device, flattens })
        }
    )*};
}

scans! {
    /// The sums of all items up to each.
    ///
    /// Parameters
    /// ----------
    /// x : array
    ///     As of :func:`sum`.
    /// axis : int, optional
    ///     The axis along which items are combined. It must be named unless the array has one dimension.
    /// dtype : optional
    ///     The type of the result, as of :func:`sum`.
    /// out : array, optional
    ///     Where the result goes: an array of its shape and type, which may be ``x`` itself.
    /// include_initial : bool, default False
    ///     Whether a 0 comes first, so that the result has one item more along the axis.
    /// device : str or stream, optional
    ///     As of :func:`sum`.
    ///
    /// Returns
    /// -------
    /// array
    ///     Of the library and shape of ``x``. Integers wrap. Floats are combined in the order that upsweep specifies.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.cumulative_sum(numpy.array([3, 200, 100], dtype="uint8"), include_initial=True)
    /// array([  0,   3, 203, 303], dtype=uint64)
    cumulative_sum Op::Sum, false;
    /// The products of all items up to each. As :func:`cumulative_sum`, with a 1 in front for ``include_initial``.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.cumulative_prod(numpy.array([[1, 2], [3, 4]]), axis=0)
    /// array([[1, 2],
    ///        [3, 8]])
    cumulative_prod Op::Product, false;
    /// The sums of all items up to each, as :func:`cumulative_sum`; without an axis of all items in C order, as numpy has it.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.cumsum(numpy.array([[1, 2], [3, 4]]))
    /// array([ 1,  3,  6, 10])
    cumsum Op::Sum, true;
    /// The products of all items up to each, as :func:`cumulative_prod`; without an axis of all items in C order.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.cumprod(numpy.array([[1, 2], [3, 4]]))
    /// array([ 1,  2,  6, 24])
    cumprod Op::Product, true;
}

/// A scan by an operator that is given by name.
///
/// Parameters
/// ----------
/// x : array
///     As of :func:`sum`.
/// op : str or Operator, optional
///     By default ``sum``; ``prod``, ``min``, ``max``, ``and``, ``or`` or ``xor``; or what :func:`operator` gives, which combines items in their own type and
///     has no ``dtype=``.
/// axis : int, optional
///     As of :func:`cumulative_sum`.
/// dtype, out, device
///     As of :func:`cumulative_sum`.
/// exclusive : bool, default False
///     Whether each result leaves out the item in its own place, and the first is ``initial`` or the identity.
/// reverse : bool, default False
///     Whether items are combined from the end.
/// initial : number, optional
///     A value that is combined before all others.
///
/// Returns
/// -------
/// array
///     Of the library and shape of ``x``.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.scan(numpy.array([3, -1, 5]), exclusive=True, reverse=True)
/// array([4, 5, 0])
#[pyfunction]
#[pyo3(signature = (x, op = None, /, axis = None, *, dtype = None, out = None, exclusive = false, reverse = false, initial = None, device = None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn scan<'py>(
    x: &Bound<'py, PyAny>,
    op: Option<&Bound<'py, PyAny>>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    exclusive: bool,
    reverse: bool,
    initial: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(Ok(own)) = op.map(|op| op.cast::<Operator>()) {
        if dtype.is_some() {
            return Err(PyTypeError::new_err("an operator of Python's takes no dtype="));
        }
        let arguments = Reduction { axis, out, keepdims: false, initial, device };
        return crate::operator::scan(x, own.get(), &arguments, way(exclusive, reverse));
    }
    let op = op.map_or(Ok(Op::Sum), named_operator)?;
    let problem = problem(op, exclusive, reverse);
    let (include_initial, flattens) = (false, false);
    let arguments =
        Arguments { problem, axis, dtype, out, initial, include_initial, device, flattens };
    run_scan(x, &arguments)
}

/// The scan that these flags say.
pub(crate) fn problem(op: Op, exclusive: bool, reverse: bool) -> Scan {
    let (bounds, direction) = way(exclusive, reverse);
    Scan { op, bounds, direction, init: None }
}

/// What a scan includes, and from which end.
pub(crate) fn way(exclusive: bool, reverse: bool) -> (Bounds, Direction) {
    let bounds = if exclusive { Bounds::Exclusive } else { Bounds::Inclusive };
    let direction = if reverse { Direction::Reverse } else { Direction::Forward };
    (bounds, direction)
}
