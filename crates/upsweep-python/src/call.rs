//! One call: its device, and running it without the GIL.

use pyo3::exceptions::PyValueError;

use pyo3::prelude::*;
use upsweep::any::{self, AnyNdArray, AnyNdView, AnyNdViewMut};
use upsweep::{Device, Result};

use crate::devices;
use crate::error::raise;
use crate::library::is_cuda;
use crate::operand::Operand;

/// Where a call runs.
pub(crate) struct Call {
    pub(crate) device: Device,
    /// Where the arrays are, and copies of them are made.
    home: Device,
    /// Whether the host must wait for the device before what was written there is used by others.
    waits: bool,
}

impl Call {
    /// The call on these arrays: on the device that is named, or where the first array in the memory of a GPU is, or wherever the library
    /// would run it.
    pub(crate) fn new(id: Option<&str>, arrays: &[&Operand<'_>]) -> PyResult<Self> {
        let number = arrays.iter().find_map(|array| is_cuda(array.space()));
        let opaque = arrays.iter().find_map(|array| array.opaque());
        let device = match (id, number, opaque) {
            (Some(id), Some(number), _) if id != format!("cuda:{number}") => {
                let text = format!("an array is on cuda:{number}, the call is for {id}");
                return Err(PyValueError::new_err(text));
            }
            (Some(id), ..) => devices::open(id)?,
            (None, Some(number), _) => devices::cuda(number)?,
            (None, None, Some(array)) => array.get().device().clone(),
            (None, None, None) => devices::auto().clone(),
        };
        let (waits, is_elsewhere) = (number.is_some(), number.is_some() || opaque.is_some());
        let home = if is_elsewhere { device.clone() } else { devices::auto().clone() };
        Ok(Self { device, home, waits })
    }

    /// Whether the device has integers of 64 bits.
    pub(crate) fn has_int64(&self) -> bool {
        self.device.limits().int64
    }

    /// Copies every item to its place, where the arrays are.
    pub(crate) fn copy(
        &self,
        py: Python<'_>,
        from: AnyNdView<'_>,
        to: AnyNdViewMut<'_>,
    ) -> PyResult<()> {
        let copied = py.detach(|| {
            any::copy_into(&self.home, from, to)?;
            if self.waits { self.home.wait() } else { Ok(()) }
        });
        copied.map_err(raise)
    }

    /// A packed copy of an array, where it is.
    pub(crate) fn packed(&self, py: Python<'_>, array: AnyNdView<'_>) -> PyResult<AnyNdArray> {
        py.detach(|| any::copy(&self.home, array)).map_err(raise)
    }

    /// Runs work without the GIL, and waits for what it has left to a GPU in memory that others see.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&Device) -> Result<T>,
    ) -> PyResult<T> {
        py.detach(|| {
            let done = work(&self.device);
            if self.waits {
                self.device.wait()?;
            }
            done
        })
        .map_err(raise)
    }
}
