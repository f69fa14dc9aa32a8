//! One call: its device, and running it without the GIL.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use upsweep::any::{self, AnyNdArray, AnyNdView, AnyNdViewMut};
use upsweep::{Device, Result};

use crate::devices::{self, Stream};
use crate::error::raise;
use crate::library::is_cuda;
use crate::operand::Operand;

/// Where a call runs.
pub(crate) struct Call {
    pub(crate) device: Device,
    /// Where the arrays are, and copies of them are made.
    home: Device,
    /// The stream of a GPU of CUDA's that it runs in, in order with what the arrays' library does there.
    stream: Option<Stream>,
    /// Whether the host must wait for the device before what was written there is used by others, who do not say in which stream.
    waits: bool,
}

/// What `device=` is: an id, or an object with `__cuda_stream__`.
enum DeviceArgument<'py> {
    Id(String),
    Stream(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for DeviceArgument<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(id) = object.extract::<String>() {
            return Ok(Self::Id(id));
        }
        if object.hasattr(intern!(object.py(), "__cuda_stream__"))? {
            return Ok(Self::Stream(object.to_owned()));
        }
        let text = format!(
            "device is a {}, and neither an id nor an object with __cuda_stream__",
            object.get_type().name()?
        );
        Err(PyTypeError::new_err(text))
    }
}

impl Call {
    /// The call on these arrays: on the device that is named, or where the first array in the memory of a GPU is, or wherever the library
    /// would run it. On a GPU of CUDA's it runs in the stream that is named, or in the one that the array's library works in.
    pub(crate) fn new(to: Option<&Bound<'_, PyAny>>, arrays: &[&Operand<'_>]) -> PyResult<Self> {
        let to = to.map(|to| to.extract()).transpose()?;
        let number = arrays.iter().find_map(|array| is_cuda(array.space()));
        let opaque = arrays.iter().find_map(|array| array.opaque());
        if let Some(number) = number {
            return Self::on_cuda(to, arrays, number);
        }
        let device = match (to, opaque) {
            (Some(DeviceArgument::Id(id)), _) => devices::open(&id)?,
            (Some(DeviceArgument::Stream(_)), _) => {
                let text = "a stream of CUDA's is for arrays in the memory of a GPU of CUDA's";
                return Err(PyValueError::new_err(text));
            }
            (None, Some(array)) => array.get().device().clone(),
            (None, None) => devices::auto().clone(),
        };
        let home = if opaque.is_some() { device.clone() } else { devices::auto().clone() };
        Ok(Self { device, home, stream: None, waits: false })
    }

    /// The call on arrays of which some are in the memory of this GPU of CUDA's.
    fn on_cuda(
        to: Option<DeviceArgument<'_>>,
        arrays: &[&Operand<'_>],
        number: usize,
    ) -> PyResult<Self> {
        let of_arrays = arrays.iter().find_map(|array| array.stream());
        let stream = match to {
            Some(DeviceArgument::Id(id)) if id != format!("cuda:{number}") => {
                let text = format!("an array is on cuda:{number}, the call is for {id}");
                return Err(PyValueError::new_err(text));
            }
            Some(DeviceArgument::Stream(object)) => Some(Stream::of_object(&object, number)?),
            _ => of_arrays,
        };
        let in_stream = stream.map(Stream::device).transpose()?.flatten();
        let stream = stream.filter(|_| in_stream.is_some());
        let device = in_stream.map_or_else(|| devices::cuda(number), Ok)?;
        let runs_in = stream.map_or_else(|| Stream::own(number), Ok)?;
        for array in arrays.iter().filter(|array| is_cuda(array.space()) == Some(number)) {
            let ready_in = array.stream().map_or_else(|| Stream::own(number), Ok)?;
            runs_in.follow(ready_in)?;
        }
        Ok(Self { home: device.clone(), device, stream, waits: stream.is_none() })
    }

    /// Lets the call come behind what the library of an output has begun with its memory.
    pub(crate) fn come_behind(&self, output: &Operand<'_>) -> PyResult<()> {
        let (Some(library), Some(number)) = (output.stream(), is_cuda(output.space())) else {
            return Ok(());
        };
        self.stream.map_or_else(|| Stream::own(number), Ok)?.follow(library)
    }

    /// Lets the library of an output use it, which finds what was written there in the stream that it works in.
    pub(crate) fn show_to(&self, output: &Operand<'_>) -> PyResult<()> {
        match (self.stream, output.stream()) {
            (Some(stream), Some(library)) => library.follow(stream),
            (Some(_), None) if is_cuda(output.space()).is_some() => self.show_to_all(),
            _ => Ok(()),
        }
    }

    /// Waits for what was begun in a stream of others, for those who do not say in which they work.
    pub(crate) fn show_to_all(&self) -> PyResult<()> {
        match self.stream {
            Some(_) => self.device.wait().map_err(raise),
            None => Ok(()),
        }
    }

    /// Where the arrays are.
    pub(crate) fn home(&self) -> &Device {
        &self.home
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
        self.run_on(py, &self.device, work)
    }

    /// The same where the arrays are.
    pub(crate) fn run_at_home<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&Device) -> Result<T>,
    ) -> PyResult<T> {
        self.run_on(py, &self.home, work)
    }

    fn run_on<T: Send>(
        &self,
        py: Python<'_>,
        device: &Device,
        work: impl Send + FnOnce(&Device) -> Result<T>,
    ) -> PyResult<T> {
        py.detach(|| {
            let done = work(device);
            if self.waits {
                device.wait()?;
            }
            done
        })
        .map_err(raise)
    }
}
