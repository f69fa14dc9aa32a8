//! Plans: views that are run again and again.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::end::End;
use crate::view::View;

/// What a view ends in, for calls again and again.
///
/// :meth:`View.plan` makes one, which keeps the view and its arrays. Its functions are traced and made ready for the device once; a call looks at its arrays and runs. Kernels of a
/// GPU are compiled in the first call.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> x = numpy.array([1.5, -2.0], dtype="float32")
/// >>> doubled = upsweep.view(x).map(lambda x: 2 * x).plan("array")
/// >>> doubled(numpy.array([4.0, 0.5, 1.0], dtype="float32"))
/// array([8., 1., 2.], dtype=float32)
/// >>> x[0] = 0
/// >>> room = numpy.empty(2, dtype="float32")
/// >>> doubled(out=room) is room, room
/// (True, array([ 0., -4.], dtype=float32))
#[pyclass(frozen, module = "upsweep", name = "Plan")]
pub(crate) struct Plan {
    view: Py<View>,
    name: String,
    end: End,
}

impl Plan {
    pub(crate) fn new(view: Py<View>, name: String, end: End) -> Self {
        Self { view, name, end }
    }
}

#[pymethods]
impl Plan {
    /// Runs the plan.
    ///
    /// Parameters
    /// ----------
    /// *arrays : array
    ///     As many as the view has, with items of the same types; of one shape and any length. Without them the view's own are read again.
    /// out : array, optional
    ///     Where the result goes: an array of its shape and type. Selected items take none.
    ///
    /// Returns
    /// -------
    /// array
    ///     What the method of the view returns.
    #[pyo3(signature = (*arrays, out = None))]
    fn __call__<'py>(
        &self,
        arrays: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = arrays.py();
        let view = self.view.get();
        let arrays = if arrays.is_empty() { view.arrays(py) } else { arrays.iter().collect() };
        self.end.run(py, view, &arrays, out)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let view = self.view.bind(py).repr()?;
        Ok(format!("Plan({} of {view})", self.name))
    }
}
