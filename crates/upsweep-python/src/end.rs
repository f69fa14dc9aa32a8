//! What views end in: a call that reads their arrays once.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use upsweep::any::{
    self, AnyFunction, AnyFused, AnyOperator, AnyView, AnyViewMut, Op, Reduce, Scalar, Scan, Term,
};
use upsweep::{Bounds, Device, Direction, Dtype, Result};

use crate::call::Call;
use crate::dtype::ItemType;
use crate::error::raise;
use crate::library::Output;
use crate::operand::{InOrder, Operand};
use crate::reduce::check_some;
use crate::view::{View, taken};

/// What a view ends in, ready to run on arrays of its types.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) function: AnyFunction,
    /// The type of results.
    pub(crate) result: ItemType,
    pub(crate) kind: Kind,
}

/// The call at the end of a view.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A reduction of all items, or of those that are selected: an identity stands for the others.
    Reduce {
        problem: Reduce,
        is_whole: bool,
    },
    /// The mean of the items of which a condition holds; 0 stands for the others.
    Mean {
        condition: Term,
    },
    ReduceBy {
        operator: AnyOperator,
        init: Option<Scalar>,
    },
    Scan {
        problem: Scan,
    },
    ScanBy {
        operator: AnyOperator,
        way: (Bounds, Direction),
        init: Option<Scalar>,
    },
    /// The items.
    Array,
    /// The items of which a condition holds.
    Select {
        condition: Term,
    },
}

/// The arrays of a call, and where it runs.
struct Running<'a, 'py> {
    call: Call,
    arrays: &'a [Operand<'py>],
    items: Vec<AnyView<'a>>,
}

/// Does `work` with arrays for a view, in C order.
fn with_arrays<'py, R>(
    view: &View,
    arrays: &[Bound<'py, PyAny>],
    py: Python<'py>,
    work: impl FnOnce(&Running<'_, 'py>) -> PyResult<R>,
) -> PyResult<(R, Call)> {
    let arrays = taken(arrays)?;
    let wanted = view.item_types();
    if arrays.len() != wanted.len() {
        let text = format!("{} arrays are given for {}", arrays.len(), wanted.len());
        return Err(PyTypeError::new_err(text));
    }
    if let Some((found, wanted)) =
        arrays.iter().zip(wanted).find(|(found, wanted)| found.item != **wanted)
    {
        let (name, found, wanted) = (found.name, found.item.name(), wanted.name());
        let text = format!("{name} has items of {found}, the functions are of {wanted}");
        return Err(PyTypeError::new_err(text));
    }
    let call = Call::new(view.device(py), &arrays.iter().collect::<Vec<_>>())?;
    let in_order = arrays.iter().map(|array| array.in_order(&call));
    let in_order = in_order.collect::<PyResult<Vec<_>>>()?;
    let items = in_order.iter().map(InOrder::view).collect();
    let running = Running { call, arrays: &arrays, items };
    let done = work(&running)?;
    Ok((done, running.call))
}

/// A result, and the array of the caller's that it is for if it is elsewhere yet.
type Written<'py> = (Bound<'py, PyAny>, Option<Output<'py>>);

impl End {
    /// Runs it on arrays, of which the first has the library of the result, to an array of the caller's or a new one.
    ///
    /// # Errors
    /// Those of the call; `TypeError` and `ValueError` if the result does not fit what the caller gives for it.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        view: &View,
        arrays: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (written, call) = with_arrays(view, arrays, py, |running| {
            let fused = self.function.of(&running.items[..]).map_err(raise)?;
            let result = self.result;
            let (one, all) = (&[][..], &[fused.len()][..]);
            match &self.kind {
                Kind::Reduce { problem, is_whole } => {
                    if *is_whole {
                        check_some(problem.op, fused.len(), problem.init.is_some())?;
                    }
                    let dtype = problem.acc.unwrap_or(Dtype::U64);
                    running.written((one, result), dtype, out, |device, target| {
                        fused.reduce_into(device, target, problem)
                    })
                }
                Kind::Mean { condition } => {
                    running.written((one, result), result.dtype, out, |device, target| {
                        mean_into(device, target, &fused, *condition)
                    })
                }
                Kind::ReduceBy { operator, init } => {
                    running.written((one, result), result.dtype, out, |device, target| {
                        fused.reduce_by_into(device, target, operator, *init)
                    })
                }
                Kind::Scan { problem } => {
                    running.written((all, result), result.dtype, out, |device, target| {
                        fused.scan_into(device, target, problem)
                    })
                }
                Kind::ScanBy { operator, way, init } => {
                    running.written((all, result), result.dtype, out, |device, target| {
                        fused.scan_by_into(device, target, operator, *way, *init)
                    })
                }
                Kind::Array => {
                    let shape = &running.arrays[0].shape;
                    running.written((shape, result), result.dtype, out, |device, target| {
                        fused.evaluate_into(device, target)
                    })
                }
                Kind::Select { condition } => running.selected(&fused, *condition, result, out),
            }
        })?;
        // Here nothing reads the arrays any more, which the caller's own may overlap.
        match (written, out) {
            ((found, Some(mut output)), Some(out)) => {
                output.copy_from(&call, &found)?;
                Ok(out.clone())
            }
            ((found, _), _) => Ok(found),
        }
    }
}

/// How many items of a view's arrays a condition holds for.
pub(crate) fn count(
    py: Python<'_>,
    view: &View,
    function: &AnyFunction,
    condition: Term,
) -> PyResult<usize> {
    let counted = with_arrays(view, &view.arrays(py), py, |running| {
        let fused = function.of(&running.items[..]).map_err(raise)?;
        let found = running.call.run(py, |device| fused.count(device, condition))?;
        Ok(usize::try_from(found).unwrap_or(usize::MAX))
    });
    counted.map(|(count, _)| count)
}

/// The mean of the items of which a condition holds. 0 stands for the others.
fn mean_into(
    device: &Device,
    target: AnyViewMut<'_>,
    fused: &AnyFused<'_>,
    condition: Term,
) -> Result<()> {
    let dtype = target.dtype();
    let sum = fused.reduce(device, &Reduce::new(Op::Sum).acc(dtype))?;
    let sum = sum.map_or(0.0, |sum| sum.to_f64());
    let count = fused.count(device, condition)?;
    let mean = match dtype {
        Dtype::F32 => Scalar::new(sum as f32 / count as f32),
        _ => Scalar::new(sum / count as f64),
    };
    let word = [mean.word()];
    let mean = AnyView::from_bytes(dtype, &bytemuck::cast_slice(&word)[..dtype.size()])?;
    any::reduce_into(device, mean, target, &Reduce::new(Op::Max))
}

impl<'py> Running<'_, 'py> {
    /// An array of this shape and type to which `work` has written: the caller's, or a new one. What the caller's cannot be written with while
    /// arrays are read is made elsewhere.
    fn written(
        &self,
        (shape, item): (&[usize], ItemType),
        dtype: Dtype,
        out: Option<&Bound<'py, PyAny>>,
        work: impl Send + FnOnce(&Device, AnyViewMut<'_>) -> Result<()>,
    ) -> PyResult<Written<'py>> {
        let (call, like) = (&self.call, &self.arrays[0]);
        let Some(out) = out else {
            return Ok((Output::written(call, like, (shape, item), dtype, work)?, None));
        };
        let mut output = Output::of_caller(call, out, like, shape, item)?;
        if !output.is_packed() || self.arrays.iter().any(|array| output.overlaps(array)) {
            let found = Output::written(call, like, (shape, item), dtype, work)?;
            return Ok((found, Some(output)));
        }
        let target = output.flat_mut(dtype)?;
        call.run(out.py(), |device| work(device, target))?;
        output.show(call)?;
        Ok((out.clone(), None))
    }

    /// The items of which a condition holds, in an array that has as many.
    fn selected(
        &self,
        fused: &AnyFused<'_>,
        condition: Term,
        result: ItemType,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Written<'py>> {
        if out.is_some() {
            let text = "the number of selected items is not known before; they take no out=";
            return Err(PyTypeError::new_err(text));
        }
        let (call, like) = (&self.call, &self.arrays[0]);
        let py = like.object.py();
        let mut output = Output::new(call, like, &[fused.len()], result)?;
        let mut count = [0u64];
        let (target, counted) = (output.flat_mut(result.dtype)?, &mut count);
        call.run(py, |device| fused.select_into(device, condition, target, counted))?;
        let count = usize::try_from(count[0]).unwrap_or(usize::MAX);
        Ok((output.finish_truncated(call, py, count)?, None))
    }
}
