//! Reductions and scans within segments.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use upsweep::Segments;
use upsweep::any::{self, AnyArray, Op, Reduce, Scan};

use crate::arguments::operator;
use crate::call::Call;
use crate::dtype::{ItemType, Kind, scalar};
use crate::error::raise;
use crate::library::Output;
use crate::operand::{InOrder, Operand};
use crate::scan;

/// How the caller says where segments begin.
enum SegmentsBy {
    Offsets,
    Flags,
    Keys,
}

/// The one array that says where segments begin.
fn segments_argument<'py>(
    offsets: Option<&Bound<'py, PyAny>>,
    flags: Option<&Bound<'py, PyAny>>,
    keys: Option<&Bound<'py, PyAny>>,
) -> PyResult<(SegmentsBy, Operand<'py>)> {
    let (by, array) = match (offsets, flags, keys) {
        (Some(offsets), None, None) => (SegmentsBy::Offsets, Operand::take(offsets, "offsets")?),
        (None, Some(flags), None) => (SegmentsBy::Flags, Operand::take(flags, "flags")?),
        (None, None, Some(keys)) => (SegmentsBy::Keys, Operand::take(keys, "keys")?),
        _ => {
            let text = "segments are said by one of offsets=, flags= and keys=";
            return Err(PyTypeError::new_err(text));
        }
    };
    check_line(&array)?;
    Ok((by, array))
}

/// Refuses an array of several dimensions.
fn check_line(array: &Operand<'_>) -> PyResult<()> {
    if array.shape.len() == 1 {
        return Ok(());
    }
    let text = format!("{} has {} dimensions, not one", array.name, array.shape.len());
    Err(pyo3::exceptions::PyValueError::new_err(text))
}

fn segments<'a>(by: &SegmentsBy, array: &'a InOrder<'_>) -> PyResult<Segments<'a>> {
    match by {
        SegmentsBy::Offsets => any::segments_by_offsets(array.view()),
        SegmentsBy::Flags => any::segments_by_flags(array.view()),
        SegmentsBy::Keys => any::segments_by_keys(array.view()),
    }
    .map_err(raise)
}

/// What of a reduction follows from its arguments: the problem, the type of results, and the type that kernels give for it.
fn reduction(
    x: &Operand<'_>,
    op: &str,
    dtype: Option<&Bound<'_, PyAny>>,
    initial: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Reduce, ItemType)> {
    let op = operator(op)?;
    let item = match (dtype, op) {
        (None, Op::ArgMin | Op::ArgMax) => return Ok((Reduce::new(op), ItemType::INT64)),
        (Some(_), Op::ArgMin | Op::ArgMax) => {
            return Err(PyTypeError::new_err("a position has no dtype="));
        }
        (Some(dtype), _) => ItemType::parse(dtype)?,
        (None, Op::Mean) => ItemType::of(any::accumulator(op, x.item.dtype)),
        (None, Op::Sum | Op::Product) if x.item.kind() == Kind::Bool => ItemType::INT64,
        (None, Op::Sum | Op::Product) if !x.item.dtype.is_float() => {
            ItemType::of(any::accumulator(op, x.item.dtype))
        }
        (None, _) => x.item,
    };
    let init = match initial {
        Some(initial) => Some(scalar(initial, any::combined_in(item.dtype))?),
        None => None,
    };
    Ok((Reduce { op, acc: Some(item.dtype), init }, item))
}

/// An array of the library's as one of the input's.
fn to_library<'py>(
    call: &Call,
    like: &Operand<'py>,
    found: AnyArray,
    item: ItemType,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, len) = (like.object.py(), found.len());
    let mut output = Output::new(call, like, &[len], item)?;
    if len > 0 {
        let from = found.view().shape([len]).map_err(raise)?;
        let to = output.view_mut(found.dtype())?;
        call.run(py, |device| any::copy_into(device, from, to))?;
    }
    output.finish(call, py)
}

/// A reduction of each segment.
///
/// Parameters
/// ----------
/// x : array
///     An array of one dimension, as of :func:`sum`.
/// op : str, default "sum"
///     As of :func:`reduce`.
/// offsets : array of int, optional
///     Where segments begin, and behind the last one where it ends.
/// flags : array, optional
///     For each item whether a segment begins with it: whether it is not 0.
/// keys : array, optional
///     A key for each item: neighbours with equal keys are a segment.
/// dtype, initial, device
///     As of :func:`sum`. A mean of short floats is ``float32`` by default.
///
/// Returns
/// -------
/// array
///     An item for each segment. For a segment without items it is the identity, or -1 for a position.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x = numpy.array([200, 100, 7], dtype="uint8")
/// >>> upsweep.segmented_reduce(x, offsets=numpy.array([0, 2, 2, 3]))
/// array([300,   0,   7], dtype=uint64)
/// >>> upsweep.segmented_reduce(x, "max", keys=numpy.array([5, 5, 6]))
/// array([200,   7], dtype=uint8)
#[pyfunction]
#[pyo3(signature = (x, op = "sum", /, *, offsets = None, flags = None, keys = None, dtype = None, initial = None, device = None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn segmented_reduce<'py>(
    x: &Bound<'py, PyAny>,
    op: &str,
    offsets: Option<&Bound<'py, PyAny>>,
    flags: Option<&Bound<'py, PyAny>>,
    keys: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    initial: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    check_line(&x)?;
    let (by, array) = segments_argument(offsets, flags, keys)?;
    let call = Call::new(device, &[&x, &array])?;
    let (problem, item) = reduction(&x, op, dtype, initial)?;
    let (items, cuts) = (x.in_order(&call)?, array.in_order(&call)?);
    let (items, segments) = (items.view(), segments(&by, &cuts)?);
    let found = call.run(py, |device| any::segmented_reduce(device, items, &segments, &problem))?;
    to_library(&call, &x, found, item)
}

/// A scan of each segment.
///
/// Parameters
/// ----------
/// x, op, offsets, flags, keys
///     As of :func:`segmented_reduce`.
/// dtype, exclusive, reverse, initial, device
///     As of :func:`scan`.
///
/// Returns
/// -------
/// array
///     As many items as ``x`` has.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.segmented_scan(numpy.array([3.0, 4.0, 5.0]), flags=numpy.array([1, 0, 1]))
/// array([3., 7., 5.])
#[pyfunction]
#[pyo3(signature = (x, op = "sum", /, *, offsets = None, flags = None, keys = None, dtype = None, exclusive = false, reverse = false, initial = None, device = None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn segmented_scan<'py>(
    x: &Bound<'py, PyAny>,
    op: &str,
    offsets: Option<&Bound<'py, PyAny>>,
    flags: Option<&Bound<'py, PyAny>>,
    keys: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    exclusive: bool,
    reverse: bool,
    initial: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    check_line(&x)?;
    let (by, array) = segments_argument(offsets, flags, keys)?;
    let call = Call::new(device, &[&x, &array])?;
    let op = operator(op)?;
    let item = match dtype {
        Some(dtype) => ItemType::parse(dtype)?,
        None => scan::result_type(op, x.item),
    };
    let init = match initial {
        Some(initial) => Some(scalar(initial, any::combined_in(item.dtype))?),
        None => None,
    };
    let problem = Scan { init, ..scan::problem(op, exclusive, reverse) };
    let (items, cuts) = (x.in_order(&call)?, array.in_order(&call)?);
    let (items, segments, out) = (items.view(), segments(&by, &cuts)?, item.dtype);
    if !x.is_on_host() {
        let found =
            call.run(py, |device| any::segmented_scan(device, items, &segments, out, &problem))?;
        return to_library(&call, &x, found, item);
    }
    let mut output = Output::new(&call, &x, &x.shape, item)?;
    let target = output.flat_mut(out)?;
    call.run(py, |device| any::segmented_scan_into(device, items, &segments, target, &problem))?;
    output.finish(&call, py)
}

/// A reduction of each run of equal keys.
///
/// Parameters
/// ----------
/// keys : array
///     An array of one dimension. Neighbours with equal keys are a run.
/// x : array
///     As many items.
/// op : str, default "sum"
///     As of :func:`reduce`, but for positions.
/// dtype, initial, device
///     As of :func:`segmented_reduce`.
///
/// Returns
/// -------
/// keys : array
///     The key of each run.
/// results : array
///     Its items combined.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.reduce_by_key(numpy.array([7, 7, -2]), numpy.array([1.5, 2.0, 8.0]))
/// (array([ 7, -2]), array([3.5, 8. ]))
#[pyfunction]
#[pyo3(signature = (keys, x, op = "sum", /, *, dtype = None, initial = None, device = None))]
pub(crate) fn reduce_by_key<'py>(
    keys: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    op: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    initial: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (keys, x, py) = (Operand::take(keys, "keys")?, Operand::take(x, "x")?, x.py());
    check_line(&keys)?;
    check_line(&x)?;
    let call = Call::new(device, &[&keys, &x])?;
    let (problem, item) = reduction(&x, op, dtype, initial)?;
    let (own, items) = (keys.in_order(&call)?, x.in_order(&call)?);
    let (of_keys, items) = (own.view(), items.view());
    let (unique, results) =
        call.run(py, |device| any::reduce_by_key(device, of_keys, items, &problem))?;
    Ok((to_library(&call, &keys, unique, keys.item)?, to_library(&call, &x, results, item)?))
}
