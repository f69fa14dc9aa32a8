//! The library's errors as Python's exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use upsweep::Error;

/// The exception for an error of the library.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::WrongDtype { .. }
        | Error::Accumulator { .. }
        | Error::OperatorElement { .. }
        | Error::ElementUnsupported { .. }
        | Error::UnknownDtype { .. }
        | Error::NoInit { .. } => PyTypeError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::NoDevice { .. } | Error::DeviceFailed { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
