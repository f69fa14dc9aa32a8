//! One call: its device, and running it without the GIL.

use pyo3::exceptions::PyValueError;

use pyo3::prelude::*;
use upsweep::{Device, Result};

use crate::devices;
use crate::error::raise;
use crate::library::is_cuda;
use crate::operand::Operand;

/// Where a call runs.
pub(crate) struct Call {
    pub(crate) device: Device,
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
        let waits = number.is_some();
        Ok(Self { device, waits })
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
