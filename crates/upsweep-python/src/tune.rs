//! What a device does best, measured and kept, as the program's `tune` does.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use upsweep::any::Op;
use upsweep::profile;
use upsweep_measure::Failure;
use upsweep_measure::selection::Primitive;
use upsweep_measure::tune::{self, Options, Row};

use crate::devices;

/// Measures what a device does best, and keeps it in a profile that all later programs read.
///
/// Strategies and sizes are tried in turns with what the device chooses by itself, and every result is compared. A profile changes speed,
/// never a result. Nothing else should run meanwhile.
///
/// Parameters
/// ----------
/// device : str, default "cpu"
///     As of :func:`asarray`.
/// quick : bool, default False
///     Whether fewer types and lengths are measured, in 25 seconds instead of two minutes.
/// budget : float, optional
///     How many seconds it may take instead.
/// progress : callable, optional
///     Called with a dict for each trial: ``device``, ``op``, ``dtype``, ``n``, ``strategy``, ``threads_per_workgroup``, ``items_per_thread``,
///     ``median_us``, ``default_us``, ``limit_us`` and ``checked``, all of them text. What it raises ends the search.
///
/// Returns
/// -------
/// str
///     The file with the profile. Programs that are started from now on read it; this one goes on as it was.
///
/// Examples
/// --------
/// >>> import upsweep
/// >>> trials = []
/// >>> upsweep.tune("cpu", quick=True, budget=0.1, progress=trials.append).endswith(".toml")
/// True
#[pyfunction]
#[pyo3(name = "tune", signature = (device = "cpu", *, quick = false, budget = None, progress = None))]
pub(crate) fn tune_device(
    py: Python<'_>,
    device: &str,
    quick: bool,
    budget: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let budget = budget.map(|seconds| format!("{seconds}s").parse().map_err(PyValueError::new_err));
    let options = Options {
        primitives: vec![Primitive::Reduce, Primitive::InclusiveScan],
        operator: Op::Sum,
        dtypes: None,
        acc: None,
        lengths: None,
        budget: budget.transpose()?,
        quick,
        skip_host: false,
        has_helpers: false,
    };
    let device = devices::open(device)?.with_profile(None);
    let nowhere = "UPSWEEP_CACHE_DIR is empty, so that no profile is kept";
    let place = profile::path(device.limits()).ok_or_else(|| PyValueError::new_err(nowhere))?;
    tune::check_writable(&place).map_err(raise)?;
    // What the callback raised, which ends the search by an error of its own.
    let mut raised = None;
    let found = py.detach(|| {
        let mut profile = tune::profile_to_extend(&device, &place);
        let wrong = tune::tune(&options, &device, &mut profile, &mut |row| {
            told(progress.as_ref(), row).map_err(|error| {
                raised = Some(error);
                Failure::ReaderGone
            })
        })?;
        if wrong > 0 {
            return Err(Failure::Mismatch(wrong));
        }
        profile::write(&profile, &place)?;
        Ok(())
    });
    match (raised, found) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(raise(error)),
        (None, Ok(())) => Ok(place.display().to_string()),
    }
}

/// Tells a trial to whoever wants to know. Signals, such as that of Ctrl-C, are seen here.
fn told(progress: Option<&Py<PyAny>>, row: &Row<'_>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        // A strategy has commas, in quotes.
        let lines = (row.csv(),);
        let values = py.import("csv")?.call_method1("reader", (lines,))?.try_iter()?.next();
        let values = values.ok_or_else(|| PyRuntimeError::new_err("a trial without values"))??;
        let trial = PyDict::new(py);
        for (name, value) in tune::COLUMNS.split(',').zip(values.try_iter()?) {
            trial.set_item(name, value?)?;
        }
        progress.call1(py, (trial,))?;
        Ok(())
    })
}

fn raise(error: Failure) -> PyErr {
    match error {
        Failure::Usage(text) => PyValueError::new_err(text),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}
