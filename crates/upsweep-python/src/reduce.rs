//! Reductions, under numpy's names.

use std::sync::OnceLock;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use upsweep::Dtype;
use upsweep::any::{
    AnyView, Op, Reduce, ReduceCall, Scalar, accumulator, combined_in, reduce_axes,
    reduce_axes_into, reduce_into,
};

use crate::arguments::{axes, named_operator, reduced};
use crate::call::Call;
use crate::devices::auto;
use crate::dtype::{ItemType, Kind, scalar, shortened};
use crate::error::raise;
use crate::library::{Library, Output, is_cuda, numpy};
use crate::mask;
use crate::operand::Operand;
use crate::operator::{Operator, Reduction};

/// Host arrays of as many bytes are reduced without giving up the GIL, which would take longer than the reduction.
const SHORT_BYTES: usize = 1 << 15;

/// What every reduction has of arguments.
#[derive(Clone, Copy)]
struct Arguments<'a, 'py> {
    op: Op,
    axis: Option<&'a Bound<'py, PyAny>>,
    dtype: Option<&'a Bound<'py, PyAny>>,
    out: Option<&'a Bound<'py, PyAny>>,
    keepdims: bool,
    initial: Option<&'a Bound<'py, PyAny>>,
    mask: Option<&'a Bound<'py, PyAny>>,
    device: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// Those of a function that has only an axis.
    fn new(op: Op, axis: Option<&'a Bound<'py, PyAny>>) -> Self {
        let (dtype, out, initial, mask, device) = (None, None, None, None, None);
        Self { op, axis, dtype, out, keepdims: false, initial, mask, device }
    }

    /// The same without `where=True`, which is numpy's default and leaves out nothing.
    fn without_trivial_mask(self) -> Self {
        let mask = self.mask.filter(|mask| !mask.is(PyBool::new(mask.py(), true)));
        Self { mask, ..self }
    }

    /// Whether it is the reduction of all items, and nothing else was asked for.
    fn is_plain(&self) -> bool {
        let Self { op: _, axis, dtype, out, keepdims, initial, mask, device } = self;
        let others = [axis, dtype, out, initial, mask];
        others.iter().all(|argument| argument.is_none()) && !keepdims && device.is_none()
    }
}

/// The type of a result as numpy has it.
pub(crate) fn result_type(op: Op, item: ItemType) -> ItemType {
    match op {
        Op::ArgMin | Op::ArgMax => ItemType::INT64,
        Op::Mean if item.dtype.is_float() => item,
        Op::Mean => ItemType::of(Dtype::F64),
        Op::Sum | Op::Product if item.is_bool => ItemType::INT64,
        Op::Sum | Op::Product if !item.dtype.is_float() => {
            ItemType::of(accumulator(op, item.dtype))
        }
        _ => item,
    }
}

/// The type that kernels give for a result: positions are unsigned there, and means of short floats `float32`.
pub(crate) fn combined(op: Op, result: ItemType) -> Dtype {
    match op {
        Op::ArgMin | Op::ArgMax => Dtype::U64,
        Op::Mean => combined_in(result.dtype),
        _ => result.dtype,
    }
}

/// The type in which kernels give a result of items of a type; nothing for positions, which are always of one.
pub(crate) fn kernel_type(op: Op, item: ItemType) -> Option<Dtype> {
    (!op.is_position()).then(|| combined(op, result_type(op, item)))
}

/// The reduction of all items of a short or long array in host memory, whose kernel is looked up once.
fn whole(op: Op, item: ItemType) -> PyResult<&'static ReduceCall> {
    const OPERATORS: usize = Op::ALL.len();
    static CALLS: [[OnceLock<ReduceCall>; crate::dtype::TYPES]; OPERATORS] =
        [const { [const { OnceLock::new() }; crate::dtype::TYPES] }; OPERATORS];
    let number = Op::ALL.iter().position(|(known, _)| *known == op).unwrap_or(0);
    let cell = &CALLS[number][item.index()];
    if let Some(call) = cell.get() {
        return Ok(call);
    }
    let problem = Reduce { acc: kernel_type(op, item), ..Reduce::new(op) };
    let call = ReduceCall::new(auto(), item.dtype, &problem).map_err(raise)?;
    Ok(cell.get_or_init(|| call))
}

/// The refusal of an extreme of nothing.
pub(crate) fn check_some(op: Op, count: usize, has_initial: bool) -> PyResult<()> {
    match op {
        Op::ArgMin | Op::ArgMax | Op::Min | Op::Max if count == 0 && !has_initial => {
            let text = format!("{op} of no items is no number");
            Err(PyValueError::new_err(text))
        }
        _ => Ok(()),
    }
}

/// The number of numpy's that a whole array in host memory comes to, if nothing but that is asked for.
fn reduce_whole<'py>(
    x: &Operand<'py>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, op) = (x.object.py(), arguments.op);
    if x.library != Library::Numpy || !arguments.is_plain() || !x.is_packed() {
        return Ok(None);
    }
    let Some(numpy) = numpy(py)? else { return Ok(None) };
    check_some(op, x.len(), false)?;
    let (call, items, result) = (whole(op, x.item)?, x.flat()?, result_type(op, x.item));
    let is_short = items.len() * x.item.size() <= SHORT_BYTES;
    let found = match is_short {
        true => call.run(auto(), items),
        false => py.detach(|| call.run(auto(), items)),
    };
    let value = found.map_err(raise)?.unwrap_or(Scalar::new(u64::MAX));
    numpy.scalar(py, shortened(value, result.dtype), result).map(Some)
}

/// A reduction of whatever kind.
fn reduction<'py>(
    x: &Bound<'py, PyAny>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let x = Operand::take(x, "x")?.converted_to(arguments.dtype)?;
    let arguments = &arguments.without_trivial_mask();
    match reduce_whole(&x, arguments)? {
        Some(number) => Ok(number),
        None => reduce_general(&x, arguments),
    }
}

fn reduce_general<'py>(
    x: &Operand<'py>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let Arguments { op, axis, dtype, out, keepdims, initial, mask, device } = *arguments;
    let py = x.object.py();
    let mask = mask.map(|mask| mask::mask(mask, x, "where")).transpose()?;
    let call = match &mask {
        Some(mask) => Call::new(device, &[x, mask])?,
        None => Call::new(device, &[x])?,
    };
    let axes = axes(axis, x.shape.len())?;
    let item = match dtype {
        Some(dtype) => ItemType::parse(dtype)?,
        None => result_type(op, x.item),
    };
    if item.is_bool && op.accumulates() {
        return Err(PyTypeError::new_err(format!("{op} has no result of type bool")));
    }
    let shape = reduced(&x.shape, &axes, keepdims);
    let of_each: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    if !shape.contains(&0) {
        check_some(op, of_each, initial.is_some())?;
    }
    let mut target = match out {
        Some(out) => Some(Output::of_caller(&call, out, x, &shape, item)?),
        None => None,
    };
    // Means of short floats are rounded behind the kernel.
    let combined = combined(op, item);
    let made = if combined.size() == item.size() { item } else { ItemType::of(combined) };
    let init = match initial {
        Some(initial) => Some(scalar(initial, combined_in(combined))?),
        None => None,
    };
    let problem = Reduce { op, acc: Some(combined), init };
    if let (Some(mask), None) = (&mask, out)
        && axes.len() == x.shape.len()
        && x.is_packed()
        && folds(op)
        && combined_in(x.item.dtype) == x.item.dtype
    {
        check_filled(&problem)?;
        // The mask is read beside the items, and nothing is copied.
        let read = (x, x.item.dtype);
        return mask::with_filled(&call, read, mask, mask::identity(op, x.item), |fused| {
            let to = (&shape[..], item);
            Output::written(&call, x, to, item.dtype, |device, target| {
                fused.reduce_into(device, target, &problem)
            })
        });
    }
    let filled = match &mask {
        Some(mask) => Some(filled_input(&call, x, mask, &axes, &problem)?),
        None => None,
    };
    let read = filled.as_ref().unwrap_or(x);
    if let (Some(target), true) = (&mut target, made == item)
        && !target.overlaps(read)
    {
        into(&call, read, &axes, target, &problem)?;
        target.show(&call)?;
    } else {
        let mut output = Output::new(&call, x, &shape, made)?;
        into(&call, read, &axes, &mut output, &problem)?;
        let mut found = output.finish(&call, py)?;
        if made != item {
            found = x.library.converted(&found, item)?;
        }
        let Some(target) = &mut target else { return Ok(found) };
        target.copy_from(&call, &found)?;
    }
    out.cloned().ok_or_else(|| PyTypeError::new_err("out is no array"))
}

/// The value of items that lie in the memory of an array, of the array's library.
pub(crate) fn of_items<'py>(
    call: &Call,
    x: &Operand<'py>,
    items: AnyView<'_>,
    op: Op,
) -> PyResult<Bound<'py, PyAny>> {
    let result = result_type(op, x.item);
    let acc = combined(op, result);
    // Short floats are rounded behind the kernel.
    let dtype = combined_in(acc);
    let made = if dtype.size() == result.size() { result } else { ItemType::of(dtype) };
    let problem = Reduce { acc: Some(acc), ..Reduce::new(op) };
    let found = Output::written(call, x, (&[], made), dtype, |device, target| {
        reduce_into(device, items, target, &problem)
    })?;
    if made == result { Ok(found) } else { x.library.converted(&found, result) }
}

/// Whether an operator's kernel gives its result, and not a position or a sum to be divided.
fn folds(op: Op) -> bool {
    !op.is_position() && op != Op::Mean
}

/// Reduces rows along axes.
fn into(
    call: &Call,
    x: &Operand<'_>,
    axes: &[usize],
    output: &mut Output<'_>,
    problem: &Reduce,
) -> PyResult<()> {
    let py = x.object.py();
    let wanted = problem.acc.unwrap_or(Dtype::U64);
    let is_whole = axes.len() == x.shape.len() && x.is_packed() && x.len() > 0;
    let is_on_gpu = is_cuda(x.space()).is_some();
    // For all items a GPU has one launch, and scratch memory of the call before.
    if is_whole && is_on_gpu && folds(problem.op) && combined_in(wanted) == wanted {
        let (items, target) = (x.flat()?, output.flat_mut(wanted)?);
        return call.run(py, |device| reduce_into(device, items, target, problem));
    }
    let rows = x.rows(axes)?;
    let shape = rows.reduced_shape();
    // Axes that are kept have a length of 1, and are left out of what kernels see.
    let target = output.view_mut(wanted)?;
    let rows = if target.shape() == shape { rows } else { rows.keepdims() };
    let problem = match problem.op.is_position() {
        true => Reduce { acc: None, ..*problem },
        false => *problem,
    };
    call.run(py, |device| reduce_axes_into(device, &rows, target, &problem))
}

/// That a mask may leave out all items.
fn check_filled(problem: &Reduce) -> PyResult<()> {
    match problem {
        Reduce { op: op @ (Op::Min | Op::Max), init: None, .. } => {
            let text = format!("{op} with where= needs initial=: no item may be left");
            Err(PyValueError::new_err(text))
        }
        _ => Ok(()),
    }
}

/// The array with the identity where a mask leaves items out; for means, the means themselves.
fn filled_input<'py>(
    call: &Call,
    x: &Operand<'py>,
    mask: &Operand<'py>,
    axes: &[usize],
    problem: &Reduce,
) -> PyResult<Operand<'py>> {
    let (py, op) = (x.object.py(), problem.op);
    check_filled(problem)?;
    let filled = mask::filled(call, x, mask, mask::identity(op, x.item))?;
    let filled = Operand::take(&Bound::new(py, filled)?.into_any(), "x")?;
    if op != Op::Mean {
        return Ok(filled);
    }
    let counted = if call.has_int64() { Dtype::U64 } else { Dtype::U32 };
    let kept = mask::broadcast_flags(call, x, mask, counted)?;
    let kept = Operand::take(&Bound::new(py, kept)?.into_any(), "where")?;
    let of_each = |items: &Operand<'py>, acc: Dtype| -> PyResult<Vec<u8>> {
        let (rows, problem) = (items.rows(axes)?.keepdims(), Reduce::new(Op::Sum).acc(acc));
        call.run(py, |device| reduce_axes(device, &rows, &problem)?.to_bytes())
    };
    // Each row has few items beside its mean, which is the one item of its row from here on.
    let acc = problem.acc.unwrap_or(Dtype::F64);
    let (sums, counts) = (of_each(&filled, acc)?, of_each(&kept, counted)?);
    let means = mask::means((acc, &sums), (counted, &counts));
    let shape = reduced(&x.shape, axes, true);
    let means = mask::placed(call, x, &means, &shape, ItemType::of(acc))?;
    Operand::take(&Bound::new(py, means)?.into_any(), "x")
}

/// Booleans, of the items themselves or of whether they are not 0.
fn reduce_flags<'py>(
    x: &Bound<'py, PyAny>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let arguments = &arguments.without_trivial_mask();
    let Arguments { op, axis, out, keepdims, mask, device, .. } = *arguments;
    let call = Call::new(device, &[&x])?;
    let is_whole = axis.is_none() && x.is_packed() && out.is_none() && mask.is_none();
    if is_whole && x.item.kind() != Kind::Bool {
        let axes: Vec<usize> = (0..x.shape.len()).collect();
        let (shape, item) = (reduced(&x.shape, &axes, keepdims), result_type(op, ItemType::BOOL));
        let init = (op != Op::Sum).then(|| Scalar::new(u8::from(op == Op::Min)));
        let problem = Reduce { op, acc: Some(item.dtype), init };
        return mask::with_flags(&call, &x, |fused| {
            let to = (&shape[..], item);
            Output::written(&call, &x, to, item.dtype, |device, target| {
                fused.reduce_into(device, target, &problem)
            })
        });
    }
    let flags;
    let read = if x.item.kind() == Kind::Bool {
        &x
    } else {
        let array = Bound::new(py, mask::nonzero_flags(&call, &x)?)?.into_any();
        flags = Operand::take(&array, "x")?.with_library(x.library);
        &flags
    };
    let start = match arguments.op {
        Op::Min => Some(1u8.into_pyobject(py)?.into_any()),
        Op::Max => Some(0u8.into_pyobject(py)?.into_any()),
        _ => None,
    };
    reduce_general(read, &Arguments { initial: start.as_ref(), ..*arguments })
}

/// Defines reductions with all arguments.
macro_rules! reductions {
    ($($(#[$docs:meta])* $name:ident $op:expr;)*) => {$(
        $(#[$docs])*
        #[pyfunction]
        #[pyo3(signature = (x, /, axis = None, *, dtype = None, out = None, keepdims = false, initial = None, r#where = None, device = None))]
        #[expect(clippy::too_many_arguments, reason = "they are numpy's")]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            dtype: Option<&Bound<'py, PyAny>>,
            out: Option<&Bound<'py, PyAny>>,
            keepdims: bool,
            initial: Option<&Bound<'py, PyAny>>,
            r#where: Option<&Bound<'py, PyAny>>,
            device: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let (op, mask) = ($op, r#where);
            reduction(x, &Arguments { op, axis, dtype, out, keepdims, initial, mask, device })
        }
    )*};
}

reductions! {
    /// The sum of items.
    ///
    /// Parameters
    /// ----------
    /// x : array
    ///     An array of numpy, torch, CuPy or JAX, or whatever has DLPack or the buffer protocol. It is read in place.
    /// axis : int, tuple of int or None, default None
    ///     The axes along which items are combined; all for ``None``.
    /// dtype : optional
    ///     The type of the result. By default it is numpy's: ``int64`` or ``uint64`` for integers, ``int64`` for ``bool``, the items' own
    ///     for floats. If it does not hold every value of the items', a converted copy of them is reduced, as numpy does; an
    ///     :class:`Array` is refused then.
    /// out : array, optional
    ///     Where the result goes: an array of its shape and type.
    /// keepdims : bool, default False
    ///     Whether the result keeps the axes, with a length of 1.
    /// initial : number, optional
    ///     A value that is combined in front of the first item.
    /// where : array of bool, optional
    ///     Which items take part; it is where ``x`` is. The identity replaces the others: as they are read if all items of an array in C order are
    ///     reduced, and else in a copy.
    /// device : str or stream, optional
    ///     ``"cpu"``, ``"cuda:0"``, ``"wgpu:0"``; by default where the array is, and the CPU for arrays in host memory. Calls on arrays of
    ///     PyTorch and CuPy on a GPU run in the stream that the library works in, and return when they are begun. An object with
    ///     ``__cuda_stream__`` is the stream to run in.
    ///
    /// Returns
    /// -------
    /// number or array
    ///     Of the library of ``x``. Integers wrap. Floats are combined in the order that upsweep specifies: the bits are the same on
    ///     every device. Short floats are combined in ``float32`` and rounded once.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> x = numpy.array([[1, 2], [250, 255]], dtype="uint8")
    /// >>> int(upsweep.sum(x))
    /// 508
    /// >>> upsweep.sum(x, axis=0)
    /// array([251, 257], dtype=uint64)
    sum Op::Sum;
    /// The product of items. The arguments are those of :func:`sum`.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> int(upsweep.prod(numpy.array([3, 4, 5], dtype="int8")))
    /// 60
    prod Op::Product;
    /// The smallest item, or NaN if there is one. The arguments are those of :func:`sum`.
    ///
    /// With ``where=``, ``initial=`` is needed too.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.min(numpy.array([[3, -7], [4, 4]]), axis=1)
    /// array([-7,  4])
    min Op::Min;
    /// The largest item, or NaN if there is one. The arguments are those of :func:`sum`.
    ///
    /// With ``where=``, ``initial=`` is needed too.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> float(upsweep.max(numpy.array([1.5, 2.5])))
    /// 2.5
    max Op::Max;
}

/// The reduction by an operator that is given by name.
///
/// Parameters
/// ----------
/// x : array
///     As of :func:`sum`.
/// op : str or Operator
///     ``sum``, ``prod``, ``min``, ``max``, ``and``, ``or``, ``xor``, ``argmin``, ``argmax`` or ``mean``; or what :func:`operator` gives, which
///     combines items in their own type and has no ``dtype=`` and ``where=``.
/// axis, dtype, out, keepdims, initial, where, device
///     As of :func:`sum`.
///
/// Returns
/// -------
/// number or array
///     As of :func:`sum`.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> int(upsweep.reduce(numpy.array([12, 10], dtype="uint8"), "xor"))
/// 6
#[pyfunction]
#[pyo3(signature = (x, op, /, axis = None, *, dtype = None, out = None, keepdims = false, initial = None, r#where = None, device = None))]
#[expect(clippy::too_many_arguments, reason = "they are numpy's")]
pub(crate) fn reduce<'py>(
    x: &Bound<'py, PyAny>,
    op: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    initial: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(own) = op.cast::<Operator>() {
        if dtype.is_some() || r#where.is_some() {
            let text = "an operator of Python's takes no dtype= and no where=";
            return Err(PyTypeError::new_err(text));
        }
        let arguments = Reduction { axis, out, keepdims, initial, device };
        return crate::operator::reduce(x, own.get(), &arguments);
    }
    let (op, mask) = (named_operator(op)?, r#where);
    if !op.scans() && (initial.is_some() || op.is_position() && (mask.is_some() || dtype.is_some()))
    {
        let text = format!("{op} takes no initial=, and a position no dtype= and where=");
        return Err(PyTypeError::new_err(text));
    }
    reduction(x, &Arguments { op, axis, dtype, out, keepdims, initial, mask, device })
}

/// The mean of items.
///
/// Parameters
/// ----------
/// x, axis, out, keepdims, where, device
///     As of :func:`sum`. With ``where=`` sums are divided by how many items take part.
/// dtype : optional
///     ``float32`` or ``float64``. By default it is numpy's: the items' own for floats, ``float64`` for integers.
///
/// Returns
/// -------
/// number or array
///     The sum divided by the number of items.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> float(upsweep.mean(numpy.array([1, 2, 4], dtype="uint8")))
/// 2.3333333333333335
#[pyfunction]
#[pyo3(signature = (x, /, axis = None, *, dtype = None, out = None, keepdims = false, r#where = None, device = None))]
pub(crate) fn mean<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    r#where: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, initial, mask) = (Op::Mean, None, r#where);
    reduction(x, &Arguments { op, axis, dtype, out, keepdims, initial, mask, device })
}

/// Defines searches.
macro_rules! searches {
    ($($(#[$docs:meta])* $name:ident $op:expr;)*) => {$(
        $(#[$docs])*
        #[pyfunction]
        #[pyo3(signature = (x, /, axis = None, *, out = None, keepdims = false, device = None))]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            out: Option<&Bound<'py, PyAny>>,
            keepdims: bool,
            device: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let arguments = Arguments::new($op, axis);
            reduction(x, &Arguments { out, keepdims, device, ..arguments })
        }
    )*};
}

searches! {
    /// The position of the smallest item, or of the first NaN: the first of several.
    ///
    /// Parameters
    /// ----------
    /// x, axis, out, keepdims, device
    ///     As of :func:`sum`.
    ///
    /// Returns
    /// -------
    /// number or array
    ///     ``int64``. Along several axes it is the position in C order of these axes.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> int(upsweep.argmin(numpy.array([3.0, -1.0, -1.0])))
    /// 1
    argmin Op::ArgMin;
    /// The position of the largest item, or of the first NaN: the first of several. As :func:`argmin`.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.argmax(numpy.array([[3, 9, 9], [7, 1, 0]]), axis=1)
    /// array([1, 0])
    argmax Op::ArgMax;
}

/// Defines reductions of truth values.
macro_rules! truths {
    ($($(#[$docs:meta])* $name:ident $op:expr;)*) => {$(
        $(#[$docs])*
        #[pyfunction]
        #[pyo3(signature = (x, /, axis = None, *, out = None, keepdims = false, r#where = None, device = None))]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            out: Option<&Bound<'py, PyAny>>,
            keepdims: bool,
            r#where: Option<&Bound<'py, PyAny>>,
            device: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let arguments = Arguments::new($op, axis);
            reduce_flags(x, &Arguments { out, keepdims, mask: r#where, device, ..arguments })
        }
    )*};
}

truths! {
    /// Whether all items are true: not 0.
    ///
    /// Parameters
    /// ----------
    /// x, axis, out, keepdims, where, device
    ///     As of :func:`sum`.
    ///
    /// Returns
    /// -------
    /// bool or array of bool
    ///     True where there are no items.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> upsweep.all(numpy.array([[1, 2], [0, 3]]), axis=1)
    /// array([ True, False])
    all Op::Min;
    /// Whether any item is true: not 0. As :func:`all`, but false where there are no items.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, upsweep
    /// >>> bool(upsweep.any(numpy.zeros(3)))
    /// False
    any Op::Max;
}

/// How many items are not 0.
///
/// Parameters
/// ----------
/// x, axis, keepdims, device
///     As of :func:`all`.
///
/// Returns
/// -------
/// number or array
///     ``int64``.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> int(upsweep.count_nonzero(numpy.array([0.0, 2.5, -0.0, numpy.nan])))
/// 2
#[pyfunction]
#[pyo3(signature = (x, /, axis = None, *, keepdims = false, device = None))]
pub(crate) fn count_nonzero<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = Arguments::new(Op::Sum, axis);
    reduce_flags(x, &Arguments { keepdims, device, ..arguments })
}
