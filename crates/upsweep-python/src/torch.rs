//! Tensors of torch's, which say themselves where they are: in a tenth of the time that DLPack takes, which in torch is code in Python.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::devices::Stream;
use crate::dlpack::packed_strides;
use crate::dtype::{ItemType, TYPES};
use crate::memory::Space;

/// What is used of torch.
pub(crate) struct Torch {
    tensor: Py<PyType>,
    strided: Py<PyAny>,
    empty: Py<PyAny>,
    /// What makes tensors on the current GPU for the code that torch compiles, and gives the number of that GPU, if this torch has them.
    empty_on_gpu: Option<[Py<PyAny>; 2]>,
    /// What gives the handle of the current stream of a GPU's number, if this torch has it.
    current_stream: Option<Py<PyAny>>,
    /// The `torch.dtype` of each type; none of those that a version of torch has not.
    dtypes: [Option<Py<PyAny>>; TYPES],
}

/// torch, which the program has imported if it has a tensor.
pub(crate) fn torch(py: Python<'_>) -> PyResult<&Torch> {
    static FOUND: PyOnceLock<Torch> = PyOnceLock::new();
    FOUND.get_or_try_init(py, || {
        let torch = py.import(intern!(py, "torch"))?;
        let inner = torch.getattr("_C")?;
        let current_stream = inner.getattr("_cuda_getCurrentRawStream").ok().map(Bound::unbind);
        let of_compiled = || -> PyResult<_> {
            let empty = inner.getattr("_dynamo")?.getattr("guards")?;
            Ok([empty.getattr("_empty_strided_cuda")?, inner.getattr("_cuda_getDevice")?])
        };
        let empty_on_gpu = of_compiled().ok().map(|made| made.map(Bound::unbind));
        let dtypes = ItemType::ALL.map(|item| Some(torch.getattr(item.name()).ok()?.unbind()));
        Ok(Torch {
            tensor: torch.getattr("Tensor")?.cast_into::<PyType>()?.unbind(),
            strided: torch.getattr("strided")?.unbind(),
            empty: torch.getattr("empty")?.unbind(),
            empty_on_gpu,
            current_stream,
            dtypes,
        })
    })
}

/// A tensor that lies in memory as its strides say.
pub(crate) struct Tensor {
    pub(crate) space: Space,
    pub(crate) item: ItemType,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    /// The address of the item whose indices are 0.
    pub(crate) address: usize,
}

impl Tensor {
    /// A tensor that was made with this shape and type, in this memory.
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        space: Space,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Self> {
        let address = object.call_method0(intern!(object.py(), "data_ptr"))?.extract()?;
        Ok(Self { space, item, shape: shape.to_vec(), strides: packed_strides(shape), address })
    }
}

impl Torch {
    /// What a tensor says of itself, if it is a plain one in host memory or that of a GPU of CUDA's; all others have DLPack.
    ///
    /// # Errors
    /// `ValueError` for what neither way is right for.
    pub(crate) fn tensor(&self, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Tensor>> {
        let py = object.py();
        let is = |attribute: &Bound<'_, pyo3::types::PyString>| -> PyResult<bool> {
            object.getattr(attribute)?.is_truthy()
        };
        if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
            // DLPack would lend it all the same.
            let text = format!("{name} has another sign in memory than it says; resolve_neg() it");
            return Err(PyValueError::new_err(text));
        }
        let is_plain = object.get_type().is(&self.tensor)
            && object.getattr(intern!(py, "layout"))?.is(&self.strided);
        if !is_plain {
            return Ok(None);
        }
        let space = if is(intern!(py, "is_cpu"))? {
            Space::Host
        } else if is(intern!(py, "is_cuda"))? {
            Space::Cuda(object.call_method0(intern!(py, "get_device"))?.extract()?)
        } else {
            return Ok(None);
        };
        let dtype = object.getattr(intern!(py, "dtype"))?;
        let known = self
            .dtypes
            .iter()
            .position(|known| known.as_ref().is_some_and(|known| dtype.is(known)));
        let Some(number) = known else { return Ok(None) };
        if is(intern!(py, "requires_grad"))? {
            let text = format!("{name} requires a gradient, which calls do not have; detach() it");
            return Err(PyValueError::new_err(text));
        }
        Ok(Some(Tensor {
            space,
            item: ItemType::ALL[number],
            shape: object.getattr(intern!(py, "shape"))?.extract()?,
            strides: object.call_method0(intern!(py, "stride"))?.extract()?,
            address: object.call_method0(intern!(py, "data_ptr"))?.extract()?,
        }))
    }

    /// The stream of a GPU of CUDA's that torch works in now.
    pub(crate) fn stream(&self, py: Python<'_>, number: usize) -> PyResult<Stream> {
        let handle = match &self.current_stream {
            Some(current) => current.bind(py).call1((number,))?.extract()?,
            None => {
                let cuda = py.import(intern!(py, "torch.cuda"))?;
                let stream = cuda.call_method1(intern!(py, "current_stream"), (number,))?;
                stream.getattr(intern!(py, "cuda_stream"))?.extract()?
            }
        };
        Ok(Stream { number, handle })
    }

    /// A tensor with room for a shape, where another is; if that is on a GPU of CUDA's, it is told the GPU's number.
    pub(crate) fn empty<'py>(
        &self,
        like: &Bound<'py, PyAny>,
        gpu: Option<usize>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = like.py();
        let sizes = PyTuple::new(py, shape)?;
        let dtype = self.dtype(py, item)?;
        if let (Some([empty, current]), Some(gpu)) = (&self.empty_on_gpu, gpu)
            && current.bind(py).call0()?.extract::<usize>()? == gpu
        {
            // In four tenths of the time of `new_empty`.
            let strides = PyTuple::new(py, packed_strides(shape))?;
            return empty.bind(py).call1((sizes, strides, dtype));
        }
        let options = PyDict::new(py);
        options.set_item(intern!(py, "dtype"), dtype)?;
        if like.get_type().is(&self.tensor) {
            // In three quarters of the time of `torch.empty`, which is told the device.
            return like.call_method(intern!(py, "new_empty"), (sizes,), Some(&options));
        }
        // An array of ours that stands for a tensor has the name of its device.
        options.set_item(intern!(py, "device"), like.getattr(intern!(py, "device"))?)?;
        self.empty.bind(py).call((sizes,), Some(&options))
    }

    /// The `torch.dtype` of a type.
    pub(crate) fn dtype<'py>(
        &self,
        py: Python<'py>,
        item: ItemType,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let dtype = self.dtypes[item.index()].as_ref().ok_or_else(|| {
            PyValueError::new_err(format!("this version of torch has no {}", item.name()))
        })?;
        Ok(dtype.bind(py))
    }
}
