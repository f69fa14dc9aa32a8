//! Items that a mask has kept, whose number stays where they are until somebody asks for it.

use pyo3::prelude::*;
use upsweep::any::{AnyNdViewMut, AnyView, Op, Scan, scan_into, select_into};
use upsweep::{Dtype, View};

use crate::arguments::named_operator;
use crate::call::Call;
use crate::dtype::ItemType;
use crate::error::raise;
use crate::library::Output;
use crate::operand::Operand;
use crate::reduce::of_items;
use crate::scan;
use crate::select::Condition;

/// The items that a mask keeps, whose number stays on the device.
///
/// :func:`compact` makes it, and does not wait on a GPU. Its methods read as many items as there are when they run, without waiting either;
/// ``len()`` and :meth:`array` wait for the number.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> kept = upsweep.compact(numpy.array([10, 20, 30, 40]), "> 15")
/// >>> int(kept.sum()), len(kept), kept.capacity
/// (90, 3, 4)
/// >>> kept.array()
/// array([20, 30, 40])
#[pyclass(frozen, module = "upsweep", name = "Compacted")]
pub(crate) struct Compacted {
    /// An array of the library of what was compacted, with room for all of it.
    items: Py<PyAny>,
    /// How many were kept: an array of one number beside it.
    count: Py<PyAny>,
    device: Option<Py<PyAny>>,
}

/// The items that a mask keeps, as :func:`select` has them, without waiting for how many they are.
///
/// Parameters
/// ----------
/// x, mask, device
///     As of :func:`select`.
///
/// Returns
/// -------
/// Compacted
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> float(upsweep.compact(numpy.array([1.5, -2.0, 3.5]), "> 0").mean())
/// 2.5
#[pyfunction]
#[pyo3(signature = (x, mask, /, *, device = None))]
pub(crate) fn compact(
    x: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Compacted> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let condition = Condition::parse(mask, &x)?;
    let call = condition.call(device, &x)?;
    let (items, flags) = (x.in_order(&call)?, condition.in_order(&call)?);
    let (items, keep) = (items.view(), condition.keep(flags.as_ref())?);
    let mut output = Output::new(&call, &x, &[x.len()], x.item)?;
    // Old versions of torch have no integers without a sign.
    let mut count = Output::beside(&call, &x, &[1], ItemType::INT64)?;
    let target = output.flat_mut(x.item.dtype)?;
    let counted = count.flat_mut(Dtype::U64)?.typed().map_err(raise)?;
    call.run(py, |device| select_into(device, items, keep, target, counted))?;
    let (items, count) = (output.finish(&call, py)?.unbind(), count.finish(&call, py)?.unbind());
    Ok(Compacted { items, count, device: device.map(|device| device.clone().unbind()) })
}

impl Compacted {
    /// Does `work` with the items.
    fn run<'py, R>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Call, &Operand<'py>, AnyView<'_>, View<'_, u64>) -> PyResult<R>,
    ) -> PyResult<R> {
        let x = Operand::take(self.items.bind(py), "x")?;
        let count = Operand::take(self.count.bind(py), "count")?;
        let call = Call::new(self.device(py), &[&x, &count])?;
        let count = count.flat()?.into_bits_of(Dtype::U64).and_then(|count| count.typed());
        let (items, count) = (x.flat()?, count.map_err(raise)?);
        // No item is in no memory.
        let items = if x.len() == 0 { items } else { items.with_length(count).map_err(raise)? };
        work(&call, &x, items, count)
    }

    fn device<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyAny>> {
        self.device.as_ref().map(|device| device.bind(py))
    }

    fn reduced<'py>(&self, py: Python<'py>, op: Op) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, |call, x, items, _| of_items(call, x, items, op))
    }

    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        let count = Operand::take(self.count.bind(py), "count")?;
        let call = Call::new(self.device(py), &[&count])?;
        let mut found = [0i64];
        let to = AnyNdViewMut::strided(&mut found, [1], &[1], 0).map_err(raise)?;
        call.copy(py, count.view()?, to)?;
        Ok(usize::try_from(found[0]).unwrap_or(usize::MAX))
    }
}

#[pymethods]
impl Compacted {
    /// How many items there is room for: as many as were looked at.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(Operand::take(self.items.bind(py), "x")?.len())
    }

    /// How many items were kept. Waits for the number.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.len(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let x = Operand::take(self.items.bind(py), "x")?;
        Ok(format!("Compacted({}; room for {} items)", x.item.name(), x.len()))
    }

    /// The items, as an array of the library of what was compacted. Waits for their number.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let len = self.len(py)?;
        let x = Operand::take(self.items.bind(py), "x")?;
        let call = Call::new(self.device(py), &[&x])?;
        x.first(&call, len)
    }

    /// The sum of the items, in the type that :func:`sum` gives.
    fn sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Sum)
    }

    /// The product of the items.
    fn prod<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Product)
    }

    /// The smallest item; the largest number of the type, or infinity, if there are none.
    fn min<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Min)
    }

    /// The largest item; the smallest number of the type, or minus infinity, if there are none.
    fn max<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Max)
    }

    /// The mean of the items. On a GPU it waits for their number.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reduced(py, Op::Mean)
    }

    /// A scan of the items by an operator, as :func:`scan`, which is as long as they are.
    #[pyo3(signature = (op, /, *, exclusive = false, reverse = false))]
    fn scan(
        slf: &Bound<'_, Self>,
        op: &Bound<'_, PyAny>,
        exclusive: bool,
        reverse: bool,
    ) -> PyResult<Self> {
        let (py, own) = (slf.py(), slf.get());
        let op = named_operator(op)?;
        own.run(py, |call, x, items, count| {
            let result = scan::result_type(op, x.item);
            let problem: Scan = scan::problem(op, exclusive, reverse);
            let mut output = Output::new(call, x, &[x.len()], result)?;
            let target = output.flat_mut(result.dtype)?;
            let target = match x.len() {
                0 => target,
                _ => target.with_length(count).map_err(raise)?,
            };
            call.run(py, |device| scan_into(device, items, target, &problem))?;
            let device = own.device.as_ref().map(|device| device.clone_ref(py));
            let (items, count) = (output.finish(call, py)?.unbind(), own.count.clone_ref(py));
            Ok(Self { items, count, device })
        })
    }
}
