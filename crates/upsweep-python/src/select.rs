//! Selections: by a mask or a comparison, and the first of each run.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use upsweep::Dtype;
use upsweep::any::{self, AnyFused, AnyView, AnyViewMut, Binary, Definition, Keep, Where};

use crate::call::Call;
use crate::dtype::{ItemType, Kind};
use crate::error::raise;
use crate::library::Output;
use crate::mask;
use crate::memory::HostMemory;
use crate::operand::{InOrder, Operand};

/// Which items are kept, as the caller said it.
pub(crate) enum Condition<'py> {
    Mask(Operand<'py>),
    Where(Where),
}

impl<'py> Condition<'py> {
    pub(crate) fn parse(mask: &Bound<'py, PyAny>, x: &Operand<'py>) -> PyResult<Self> {
        if let Ok(text) = mask.cast::<PyString>() {
            let condition = Where::parse(&text.to_cow()?, x.item.dtype);
            return condition.map(Self::Where).map_err(PyValueError::new_err);
        }
        let mask = Operand::take(mask, "mask")?;
        if mask.item.kind() != Kind::Bool {
            let text = format!("mask has items of {}, not of bool", mask.item.name());
            return Err(PyTypeError::new_err(text));
        }
        if mask.shape != x.shape {
            let text = format!("mask has shape {:?}, x has {:?}", mask.shape, x.shape);
            return Err(PyValueError::new_err(text));
        }
        Ok(Self::Mask(mask))
    }

    pub(crate) fn call(
        &self,
        device: Option<&Bound<'_, PyAny>>,
        x: &Operand<'_>,
    ) -> PyResult<Call> {
        match self {
            Self::Mask(mask) => Call::new(device, &[x, mask]),
            Self::Where(_) => Call::new(device, &[x]),
        }
    }

    pub(crate) fn in_order(&self, call: &Call) -> PyResult<Option<InOrder<'_>>> {
        match self {
            Self::Mask(mask) => mask.in_order(call).map(Some),
            Self::Where(_) => Ok(None),
        }
    }

    pub(crate) fn keep<'a>(&self, flags: Option<&'a InOrder<'_>>) -> PyResult<Keep<'a>> {
        match (self, flags) {
            (Self::Where(condition), _) => Ok((*condition).into()),
            (Self::Mask(_), Some(flags)) => Ok(Keep::Flags(flags.view())),
            (Self::Mask(_), None) => Err(PyTypeError::new_err("mask is no array")),
        }
    }
}

/// How many items a call has kept.
fn found(count: [u64; 1]) -> usize {
    usize::try_from(count[0]).unwrap_or(usize::MAX)
}

/// The items that a mask keeps, in their order.
///
/// Parameters
/// ----------
/// x : array
///     As of :func:`sum`. An array that is not in C order is copied first.
/// mask : array of bool, or str
///     A flag for each item, or a comparison that is made as items are read, such as ``"> 3.5"``.
/// device : str or stream, optional
///     As of :func:`sum`.
///
/// Returns
/// -------
/// array
///     Of one dimension, with the items in C order.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x = numpy.array([10, 20, 30, 40])
/// >>> upsweep.select(x, x > 25)
/// array([30, 40])
/// >>> upsweep.select(x, "< 25")
/// array([10, 20])
#[pyfunction]
#[pyo3(signature = (x, mask, /, *, device = None))]
pub(crate) fn select<'py>(
    x: &Bound<'py, PyAny>,
    mask: &Bound<'py, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let condition = Condition::parse(mask, &x)?;
    let call = condition.call(device, &x)?;
    let (items, flags) = (x.in_order(&call)?, condition.in_order(&call)?);
    let (items, keep) = (items.view(), condition.keep(flags.as_ref())?);
    let mut output = Output::new(&call, &x, &[x.len()], x.item)?;
    let mut count = [0u64];
    let target = output.flat_mut(x.item.dtype)?;
    let counted = &mut count;
    call.run(py, |device| any::select_into(device, items, keep, target, counted))?;
    output.finish_truncated(&call, py, found(count))
}

/// All items, those that a mask keeps in front of the others, both in their order.
///
/// Parameters
/// ----------
/// x, mask, device
///     As of :func:`select`.
///
/// Returns
/// -------
/// items : array
///     Of one dimension.
/// border : int
///     How many come first.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.partition(numpy.array([4.0, 1.0, 3.0, 2.0]), "< 2.5")
/// (array([1., 2., 4., 3.]), 2)
#[pyfunction]
#[pyo3(signature = (x, mask, /, *, device = None))]
pub(crate) fn partition<'py>(
    x: &Bound<'py, PyAny>,
    mask: &Bound<'py, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, usize)> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let condition = Condition::parse(mask, &x)?;
    let call = condition.call(device, &x)?;
    let (items, flags) = (x.in_order(&call)?, condition.in_order(&call)?);
    let (items, keep) = (items.view(), condition.keep(flags.as_ref())?);
    let mut output = Output::new(&call, &x, &[x.len()], x.item)?;
    let mut count = [0u64];
    let target = output.flat_mut(x.item.dtype)?;
    let counted = &mut count;
    call.run(py, |device| any::partition_into(device, items, keep, target, counted))?;
    Ok((output.finish(&call, py)?, found(count)))
}

/// The first item of each run of neighbours that are the same, bit for bit.
///
/// Parameters
/// ----------
/// x, device
///     As of :func:`select`.
///
/// Returns
/// -------
/// array
///     Of one dimension.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.unique_consecutive(numpy.array([7, 7, 9, 7]))
/// array([7, 9, 7])
#[pyfunction]
#[pyo3(signature = (x, /, *, device = None))]
pub(crate) fn unique_consecutive<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let call = Call::new(device, &[&x])?;
    let items = x.in_order(&call)?;
    let items = items.view();
    let mut output = Output::new(&call, &x, &[x.len()], x.item)?;
    let mut count = [0u64];
    let target = output.flat_mut(x.item.dtype)?;
    let counted = &mut count;
    call.run(py, |device| any::unique_into(device, items, target, counted))?;
    output.finish_truncated(&call, py, found(count))
}

/// The first item of each run of neighbours that are the same, bit for bit, and how long each run is.
///
/// Parameters
/// ----------
/// x, device
///     As of :func:`select`.
///
/// Returns
/// -------
/// values : array
///     Of one dimension.
/// counts : array of int64
///     As many. On a GPU without integers of 64 bits, arrays of our own are of ``uint32``.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.run_length_encode(numpy.array([7, 7, 7, -1]))
/// (array([ 7, -1]), array([3, 1]))
#[pyfunction]
#[pyo3(signature = (x, /, *, device = None))]
pub(crate) fn run_length_encode<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let call = Call::new(device, &[&x])?;
    let items = x.in_order(&call)?;
    let items = items.view();
    let mut values = Output::new(&call, &x, &[x.len()], x.item)?;
    let firsts = values.flat_mut(x.item.dtype)?;
    let (lengths, len) = numbers(&call, &x, |counts| {
        let mut number = [0u64];
        let runs = &mut number;
        call.run(py, |device| any::run_length_encode_into(device, items, firsts, counts, runs))?;
        Ok(found(number))
    })?;
    Ok((values.finish_truncated(&call, py, len)?, lengths))
}

/// An array of as many numbers of items as `write` says that it has written, and how many these are: ``int64``, which a GPU without such
/// integers writes as ``uint32``.
fn numbers<'py>(
    call: &Call,
    x: &Operand<'py>,
    write: impl FnOnce(AnyViewMut<'_>) -> PyResult<usize>,
) -> PyResult<(Bound<'py, PyAny>, usize)> {
    let py = x.object.py();
    if x.is_on_host() && !call.has_int64() {
        let (wide, len) = host_numbers(call, x.len(), write)?;
        let mut output = Output::new(call, x, &[len], ItemType::INT64)?;
        let from = AnyView::from_bytes(Dtype::U64, &wide.bytes()[..8 * len]).map_err(raise)?;
        call.copy(py, from.shape([len]).map_err(raise)?, output.view_mut(Dtype::U64)?)?;
        return Ok((output.finish(call, py)?, len));
    }
    let (item, dtype) = match call.has_int64() {
        true => (ItemType::INT64, Dtype::U64),
        false => (ItemType::of(Dtype::U32), Dtype::U32),
    };
    let mut output = Output::new(call, x, &[x.len()], item)?;
    let len = write(output.flat_mut(dtype)?)?;
    Ok((output.finish_truncated(call, py, len)?, len))
}

/// Numbers of items in host memory, of 64 bits whatever the device writes, and how many they are.
fn host_numbers(
    call: &Call,
    most: usize,
    write: impl FnOnce(AnyViewMut<'_>) -> PyResult<usize>,
) -> PyResult<(HostMemory, usize)> {
    let mut wide = HostMemory::zeroed(8 * most)?;
    if call.has_int64() {
        let len = write(wide.view_mut(Dtype::U64)?)?;
        return Ok((wide, len));
    }
    let mut short = HostMemory::zeroed(4 * most)?;
    let len = write(short.view_mut(Dtype::U32)?)?;
    let (from, to) = (&short.bytes()[..4 * len], &mut wide.bytes_mut()[..8 * len]);
    any::convert(Dtype::U32, from, false, Dtype::U64, to).map_err(raise)?;
    Ok((wide, len))
}

/// The indices of the items that are not 0.
///
/// Parameters
/// ----------
/// x, device
///     As of :func:`select`.
///
/// Returns
/// -------
/// tuple of array of int64
///     For each dimension the indices along it, in C order; types as of :func:`run_length_encode`.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.nonzero(numpy.array([[0, 5], [7, 0]]))
/// (array([0, 1]), array([1, 0]))
#[pyfunction]
#[pyo3(signature = (x, /, *, device = None))]
pub(crate) fn nonzero<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    if x.shape.is_empty() {
        return Err(PyValueError::new_err("x has no dimensions, and so no indices"));
    }
    let call = Call::new(device, &[&x])?;
    // The bits of −0 are not 0, but the number is.
    let flags;
    let read = if x.item.dtype.is_float() {
        flags = Operand::take(&Bound::new(py, mask::nonzero_flags(&call, &x)?)?.into_any(), "x")?;
        &flags
    } else {
        &x
    };
    let items = read.in_order(&call)?;
    let items = items.view();
    let write = |target: AnyViewMut<'_>| {
        let mut count = [0u64];
        let counted = &mut count;
        call.run(py, |device| any::positions_into(device, items, target, counted))?;
        Ok(found(count))
    };
    let (positions, len) = numbers(&call, &x, write)?;
    if x.shape.len() == 1 {
        return PyTuple::new(py, [positions]);
    }
    let positions = Operand::take(&positions, "the result")?;
    let mut behind: usize = x.shape.iter().product();
    let mut indices = Vec::with_capacity(x.shape.len());
    for &along in &x.shape {
        behind /= along.max(1);
        indices.push(index_along(&call, &x, &positions, len, (behind, along))?);
    }
    PyTuple::new(py, indices)
}

/// The indices along an axis of so many items, of positions in C order with so many items behind each of its own.
fn index_along<'py>(
    call: &Call,
    x: &Operand<'py>,
    positions: &Operand<'py>,
    len: usize,
    (behind, along): (usize, usize),
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = positions.item.dtype;
    let mut definition = Definition::default();
    let index = (|| {
        let position = definition.argument(dtype)?;
        let [behind, along] =
            [behind, along].map(|number| definition.constant(dtype.into(), number as u64));
        let row = definition.binary(Binary::Div, position, behind)?;
        definition.binary(Binary::Rem, row, along)
    })();
    let fused = AnyFused::new([positions.flat()?], definition, index.map_err(raise)?);
    let fused = fused.map_err(raise)?;
    let mut output = Output::new(call, x, &[len], positions.item)?;
    let target = output.flat_mut(dtype)?;
    let py = x.object.py();
    call.run_at_home(py, |device| fused.evaluate_into(device, target))?;
    output.finish(call, py)
}
