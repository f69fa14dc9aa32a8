//! What a call does, why, and how fast.

use pyo3::prelude::*;
use upsweep::any::{self, Reduce, Scan};
use upsweep::profile::Traffic;

use crate::arguments::operator;
use crate::call::Call;
use crate::operand::Operand;
use crate::{reduce, scan};

/// What a call did, and how long it took. As text it is a page.
///
/// Attributes
/// ----------
/// device : str
///     The id of the device.
/// primitive, operator : str
///     What was done.
/// items, bytes : int
///     How many items were read, and the fewest bytes that the call must move.
/// strategy : str
///     Which algorithm.
/// seconds, limit_seconds : float
///     How long the call took, and as many bytes that are moved without arithmetic: medians.
/// percent_of_limit : float or None
///     How much of the limit's speed is reached; ``None`` where a clock is too coarse.
/// bound : str
///     What most of the time goes to: ``bandwidth``, ``latency``, ``launch`` or ``arithmetic``.
#[pyclass(frozen, module = "upsweep", name = "Report")]
pub(crate) struct Report(upsweep::explain::Report);

#[pymethods]
impl Report {
    #[getter]
    fn device(&self) -> &str {
        &self.0.device[0]
    }

    #[getter]
    fn primitive(&self) -> &str {
        self.0.primitive
    }

    #[getter]
    fn operator(&self) -> &str {
        self.0.operator
    }

    #[getter]
    fn items(&self) -> u64 {
        self.0.items
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn strategy(&self) -> String {
        self.0.strategy.to_string()
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.time.median.as_secs_f64()
    }

    #[getter]
    fn limit_seconds(&self) -> f64 {
        self.0.limit.median.as_secs_f64()
    }

    #[getter]
    fn percent_of_limit(&self) -> Option<f64> {
        self.0.percent_of_limit()
    }

    #[getter]
    fn bound(&self) -> String {
        format!("{:?}", self.0.bound).to_lowercase()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let upsweep::explain::Report { primitive, operator, items, device, .. } = &self.0;
        format!("Report({primitive} {operator} of {items} items on {})", device[0])
    }
}

/// What a reduction or a scan of an array does, why, how fast, and what it waits for.
///
/// The call is made some tens of times, in turns with the limit of the memory.
///
/// Parameters
/// ----------
/// x : array
///     As of :func:`select`. All items are combined.
/// op : str, default "sum"
///     As of :func:`reduce`.
/// scan : bool, default False
///     Whether it is an inclusive scan.
/// device : str or stream, optional
///     As of :func:`sum`.
///
/// Returns
/// -------
/// Report
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> report = upsweep.explain(numpy.ones(1 << 12, dtype="float32"))
/// >>> report
/// Report(reduce sum of 4096 items on cpu)
/// >>> report.bytes
/// 16384
#[pyfunction]
#[pyo3(signature = (x, op = "sum", /, *, scan = false, device = None))]
pub(crate) fn explain(
    x: &Bound<'_, PyAny>,
    op: &str,
    scan: bool,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let (x, py) = (Operand::take(x, "x")?, x.py());
    let mut call = Call::new(device, &[&x])?;
    let op = operator(op)?;
    let result = scan::result_type(op, x.item).dtype;
    if call.device.id() == "auto" {
        // The device that the call would go to.
        let written = if scan { result.size() } else { 0 };
        let traffic = if scan { Traffic::Copies } else { Traffic::Reads };
        let bytes = (x.len() * (x.item.size() + written)) as u64;
        call.device = call.device.placement(traffic, bytes, &[x.item.dtype, result]).device;
    }
    let items = x.in_order(&call)?;
    let items = items.view();
    let report = if scan {
        call.run(py, |device| any::explain_scan(device, items, result, &Scan::inclusive(op)))?
    } else {
        let problem = Reduce { acc: reduce::kernel_type(op, x.item), ..Reduce::new(op) };
        call.run(py, |device| any::explain_reduce(device, items, &problem))?
    };
    Ok(Report(report))
}
