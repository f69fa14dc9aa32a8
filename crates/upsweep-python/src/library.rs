//! Libraries of arrays: which one an array is of, and new arrays of it for results.

use std::sync::Mutex;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyDict, PySlice, PyTuple, PyType};
use upsweep::any::{AnyArray, AnyNdViewMut, AnyViewMut, Scalar};
use upsweep::{Device, Dtype, Result};

use crate::array::Array;
use crate::call::Call;
use crate::devices::Stream;
use crate::dlpack::packed_strides;
use crate::dtype::{ItemType, TYPES, number};
use crate::error::raise;
use crate::memory::Space;
use crate::operand::Operand;
use crate::torch::{Tensor, torch};

/// Whose array it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Numpy,
    Torch,
    Cupy,
    Jax,
    /// Ours, or of a library whose arrays are read and not made.
    Own,
}

/// What is used of numpy.
pub(crate) struct Numpy {
    array: Py<PyType>,
    generic: Py<PyType>,
    masked: Py<PyAny>,
    empty: Py<PyAny>,
    dtypes: [PyOnceLock<Py<PyAny>>; TYPES],
    scalars: [PyOnceLock<Py<PyAny>>; TYPES],
}

/// numpy, if the program has imported it: without it no array is one of its.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<Option<&Numpy>> {
    static FOUND: PyOnceLock<Numpy> = PyOnceLock::new();
    if let Some(found) = FOUND.get(py) {
        return Ok(Some(found));
    }
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    if !modules.contains(intern!(py, "numpy"))? {
        return Ok(None);
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let class = |name: &str| -> PyResult<Py<PyType>> {
        Ok(numpy.getattr(name)?.cast_into::<PyType>()?.unbind())
    };
    let found = Numpy {
        array: class("ndarray")?,
        generic: class("generic")?,
        masked: numpy.getattr("ma")?.getattr("MaskedArray")?.unbind(),
        empty: numpy.getattr("empty")?.unbind(),
        dtypes: [const { PyOnceLock::new() }; TYPES],
        scalars: [const { PyOnceLock::new() }; TYPES],
    };
    Ok(Some(FOUND.get_or_init(py, || found)))
}

impl Numpy {
    /// Whether an object is exactly an array.
    pub(crate) fn is_array(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type().is(&self.array)
    }

    fn is_numpy(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = object.py();
        if self.is_array(object) {
            return Ok(true);
        }
        if object.is_instance(self.masked.bind(py))? {
            let text = "a masked array hides items that calls would read; give its data, and the mask as where=";
            return Err(PyTypeError::new_err(text));
        }
        Ok(object.is_instance(self.array.bind(py))? || object.is_instance(self.generic.bind(py))?)
    }

    /// The `numpy.dtype` of a type.
    fn dtype<'py>(&self, py: Python<'py>, item: ItemType) -> PyResult<&Bound<'py, PyAny>> {
        let make = || -> PyResult<Py<PyAny>> {
            let class = self.scalar_type(py, item)?;
            let numpy = py.import(intern!(py, "numpy"))?;
            Ok(numpy.call_method1(intern!(py, "dtype"), (class,))?.unbind())
        };
        Ok(self.dtypes[item.index()].get_or_try_init(py, make)?.bind(py))
    }

    /// The class of numpy's numbers of a type.
    fn scalar_type<'py>(&self, py: Python<'py>, item: ItemType) -> PyResult<&Bound<'py, PyAny>> {
        let make = || -> PyResult<Py<PyAny>> {
            let (module, name) = match item {
                ItemType::BFLOAT16 => ("ml_dtypes", "bfloat16"),
                ItemType::BOOL => ("numpy", "bool_"),
                item => ("numpy", item.name()),
            };
            Ok(py.import(module)?.getattr(name)?.unbind())
        };
        Ok(self.scalars[item.index()].get_or_try_init(py, make)?.bind(py))
    }

    /// A number of numpy's.
    pub(crate) fn scalar<'py>(
        &self,
        py: Python<'py>,
        value: Scalar,
        item: ItemType,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.scalar_type(py, item)?.call1((number(py, value, item.is_bool)?,))
    }

    /// An array with room for this shape.
    fn empty<'py>(
        &self,
        py: Python<'py>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = PyTuple::new(py, shape)?;
        self.empty.bind(py).call1((shape, self.dtype(py, item)?))
    }
}

/// The libraries by the modules of their arrays' classes.
const MODULES: [(&str, Library); 4] = [
    ("torch", Library::Torch),
    ("cupy", Library::Cupy),
    ("jaxlib", Library::Jax),
    ("jax", Library::Jax),
];

impl Library {
    /// The library of an array.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Some(numpy) = numpy(py)?
            && numpy.is_numpy(object)?
        {
            return Ok(Self::Numpy);
        }
        if object.is_instance_of::<Array>() {
            return Ok(Self::Own);
        }
        // By classes, of which programs have few. Each is kept, so that no other has its address.
        static KNOWN: Mutex<Vec<(Py<PyType>, Library)>> = Mutex::new(Vec::new());
        let class = object.get_type();
        if let Ok(known) = KNOWN.lock_py_attached(py)
            && let Some((_, library)) = known.iter().find(|(known, _)| class.is(known))
        {
            return Ok(*library);
        }
        let library = Self::of_class(&class)?;
        if library != Self::Own
            && let Ok(mut known) = KNOWN.lock_py_attached(py)
        {
            known.push((class.unbind(), library));
        }
        Ok(library)
    }

    /// The library of a class, by the modules of it and of those that it is derived from.
    fn of_class(class: &Bound<'_, PyType>) -> PyResult<Self> {
        for class in class.mro() {
            let module = class.getattr(intern!(class.py(), "__module__"))?;
            let Ok(module) = module.extract::<String>() else { continue };
            let root = module.split('.').next().unwrap_or_default();
            if let Some((_, library)) = MODULES.iter().find(|(name, _)| *name == root) {
                return Ok(*library);
            }
        }
        Ok(Self::Own)
    }

    /// The stream of a GPU of CUDA's that the library works in now, and calls on its arrays; none of one that says nothing of it.
    pub(crate) fn stream(self, py: Python<'_>, number: usize) -> PyResult<Option<Stream>> {
        match self {
            Self::Torch => torch(py)?.stream(py, number).map(Some),
            Self::Cupy => {
                let cuda = py.import(intern!(py, "cupy.cuda"))?;
                let stream = cuda.call_method1(intern!(py, "get_current_stream"), (number,))?;
                let handle = stream.getattr(intern!(py, "ptr"))?.extract()?;
                Ok(Some(Stream { number, handle }))
            }
            Self::Numpy | Self::Jax | Self::Own => Ok(None),
        }
    }

    /// An array of this library with room for a shape, where another array is; none if the library's arrays are not written to.
    fn empty<'py>(
        self,
        like: &Operand<'py>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = like.object.py();
        match self {
            Self::Numpy => match numpy(py)? {
                Some(numpy) => numpy.empty(py, shape, item).map(Some),
                None => Ok(None),
            },
            Self::Torch => {
                let gpu = is_cuda(like.space());
                torch(py)?.empty(&like.object, gpu, shape, item).map(Some)
            }
            Self::Cupy => {
                let cupy = py.import(intern!(py, "cupy"))?;
                let device = like.object.getattr(intern!(py, "device"))?;
                device.call_method0(intern!(py, "__enter__"))?;
                let arguments = (PyTuple::new(py, shape)?, item.name());
                let made = cupy.call_method1(intern!(py, "empty"), arguments);
                device.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
                made.map(Some)
            }
            Self::Jax | Self::Own => Ok(None),
        }
    }

    /// The same numbers as items of another type, of an array that is ours one of shorter floats.
    pub(crate) fn converted<'py>(
        self,
        object: &Bound<'py, PyAny>,
        item: ItemType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        match self {
            Self::Numpy => {
                let numpy = numpy(py)?.ok_or_else(|| PyTypeError::new_err("numpy is not there"))?;
                object.call_method1(intern!(py, "astype"), (numpy.dtype(py, item)?,))
            }
            Self::Torch => object.call_method1(intern!(py, "to"), (torch(py)?.dtype(py, item)?,)),
            Self::Cupy | Self::Jax => object.call_method1(intern!(py, "astype"), (item.name(),)),
            Self::Own => {
                let array = object.cast::<Array>()?.get().shortened(py, item)?;
                Ok(Bound::new(py, array)?.into_any())
            }
        }
    }
}

/// An array for results.
pub(crate) enum Output<'py> {
    /// Of the library of the input, or the caller's own.
    Array(Operand<'py>),
    /// On a GPU, of our own. It has the type in which it was last asked for, and in the end that of `item`.
    Device { array: Option<AnyArray>, shape: Vec<usize>, item: ItemType, library: Library },
}

impl<'py> Output<'py> {
    /// An array of a shape and type in the library of an array, where that is.
    pub(crate) fn new(
        call: &Call,
        like: &Operand<'py>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Self> {
        let py = like.object.py();
        if let Some(object) = like.library.empty(like, shape, item)? {
            if let (Library::Torch, Some(space)) = (like.library, like.space()) {
                let tensor = Tensor::new(&object, space, shape, item)?;
                return Ok(Self::Array(Operand::of_torch(&object, "the result", tensor)?));
            }
            return Ok(Self::Array(Operand::take(&object, "the result")?));
        }
        let library = like.library;
        if like.is_on_host() {
            let array = Bound::new(py, Array::zeroed(shape, item)?)?.into_any();
            return Ok(Self::Array(Operand::take(&array, "the result")?.with_library(library)));
        }
        let zero = Scalar::from_bytes(item.dtype, &[0; 8][..item.size()]);
        let zero = zero.ok_or_else(|| PyTypeError::new_err("a number has at most 8 bytes"))?;
        let array = AnyArray::filled(&call.device, shape.iter().product(), zero);
        let (array, shape) = (Some(array.map_err(raise)?), shape.to_vec());
        Ok(Self::Device { array, shape, item, library })
    }

    /// An array of this shape and type to which `work` has written, as items of a type of the same size.
    pub(crate) fn written(
        call: &Call,
        like: &Operand<'py>,
        (shape, item): (&[usize], ItemType),
        dtype: Dtype,
        work: impl Send + FnOnce(&Device, AnyViewMut<'_>) -> Result<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = like.object.py();
        let mut output = Self::new(call, like, shape, item)?;
        let target = output.flat_mut(dtype)?;
        call.run(py, |device| work(device, target))?;
        output.finish(call, py)
    }

    /// Lets the library of an array use it, which may work in another stream than the call.
    pub(crate) fn show(&self, call: &Call) -> PyResult<()> {
        match self {
            Self::Array(operand) => call.show_to(operand),
            Self::Device { .. } => call.show_to_all(),
        }
    }

    /// An array for what calls read again: of the array's library where that writes to its arrays, else of our own.
    pub(crate) fn beside(
        call: &Call,
        like: &Operand<'py>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Self> {
        let made = Self::new(call, like, shape, item)?;
        Ok(match made {
            Self::Array(own) if own.library == Library::Jax => {
                Self::Array(own.with_library(Library::Own))
            }
            Self::Device { array, shape, item, .. } => {
                Self::Device { array, shape, item, library: Library::Own }
            }
            own => own,
        })
    }

    /// The caller's own array, if it can take results of this shape and type.
    pub(crate) fn of_caller(
        call: &Call,
        out: &Bound<'py, PyAny>,
        like: &Operand<'_>,
        shape: &[usize],
        item: ItemType,
    ) -> PyResult<Self> {
        let out = Operand::take(out, "out")?;
        if out.item != item {
            let (found, wanted) = (out.item.name(), item.name());
            let text = format!("out has items of {found}, the result has {wanted}");
            return Err(PyTypeError::new_err(text));
        }
        if out.shape != shape {
            let text = format!("out has shape {:?}, the result has {shape:?}", out.shape);
            return Err(PyValueError::new_err(text));
        }
        if out.space() != like.space() {
            let text = "out is in the memory of another device than x";
            return Err(PyValueError::new_err(text));
        }
        if !out.is_writable {
            return Err(PyValueError::new_err("out is read-only"));
        }
        call.come_behind(&out)?;
        Ok(Self::Array(out))
    }

    /// Copies a result here, to an array that could not be written before all was read.
    pub(crate) fn copy_from(&mut self, call: &Call, found: &Bound<'py, PyAny>) -> PyResult<()> {
        let from = Operand::take(found, "the result")?;
        call.copy(found.py(), from.view()?, self.view_mut(from.item.dtype)?)?;
        self.show(call)
    }

    /// The length of each dimension.
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Array(operand) => &operand.shape,
            Self::Device { shape, .. } => shape,
        }
    }

    /// Whether items follow each other in C order.
    pub(crate) fn is_packed(&self) -> bool {
        match self {
            Self::Array(operand) => operand.is_packed(),
            Self::Device { .. } => true,
        }
    }

    /// Whether it has memory in common with an array.
    pub(crate) fn overlaps(&self, operand: &Operand<'_>) -> bool {
        match self {
            Self::Array(own) => own.overlaps(operand),
            Self::Device { .. } => false,
        }
    }

    /// Whether it is in the same bytes as an array.
    pub(crate) fn is_at(&self, operand: &Operand<'_>) -> bool {
        match self {
            Self::Array(own) => own.is_at(operand),
            Self::Device { .. } => false,
        }
    }

    /// The array, to overwrite as items of a type of the same size.
    pub(crate) fn view_mut(&mut self, dtype: Dtype) -> PyResult<AnyNdViewMut<'_>> {
        match self {
            Self::Array(operand) => operand.view_mut(dtype),
            Self::Device { array, shape, .. } => {
                device_view(array, dtype)?.shape(&*shape).map_err(raise)
            }
        }
    }

    /// The items of an array in C order, to overwrite.
    pub(crate) fn flat_mut(&mut self, dtype: Dtype) -> PyResult<AnyViewMut<'_>> {
        match self {
            Self::Array(operand) => operand.flat_mut(dtype),
            Self::Device { array, .. } => device_view(array, dtype),
        }
    }

    /// A part along an axis, to overwrite.
    pub(crate) fn part_mut(
        &mut self,
        dtype: Dtype,
        axis: usize,
        first: usize,
        count: usize,
    ) -> PyResult<AnyNdViewMut<'_>> {
        match self {
            Self::Array(operand) => operand.part_mut(dtype, axis, first, count),
            Self::Device { array, shape, .. } => {
                let strides = packed_strides(shape);
                let mut part = shape.clone();
                part[axis] = count;
                let start = first * strides[axis].unsigned_abs();
                let items = device_view(array, dtype)?;
                AnyNdViewMut::strided(items, part, &strides, start).map_err(raise)
            }
        }
    }

    /// What the caller gets. A number of numpy's stands for an array of its without dimensions.
    pub(crate) fn finish(self, call: &Call, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (object, library) = match self {
            Self::Array(operand) => {
                let (object, library) = (operand.object.clone(), operand.library);
                call.show_to(&operand)?;
                if library == Library::Numpy && operand.shape.is_empty() {
                    return object.get_item(PyTuple::empty(py));
                }
                (object, library)
            }
            Self::Device { array, shape, item, library } => {
                call.show_to_all()?;
                let array =
                    array.ok_or_else(missing_memory)?.into_bits_of(item.dtype).map_err(raise)?;
                let array = Array::on_device(array, shape, item, &call.device)?;
                (Bound::new(py, array)?.into_any(), library)
            }
        };
        if library == Library::Jax {
            let jax = py.import(intern!(py, "jax.numpy"))?;
            return jax.call_method1(intern!(py, "from_dlpack"), (object,));
        }
        Ok(object)
    }

    /// The first items of an array of one dimension that has as many and more, which is given up.
    pub(crate) fn finish_truncated(
        self,
        call: &Call,
        py: Python<'py>,
        len: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operand = match self {
            Self::Array(operand) => operand,
            Self::Device { array, item, library, .. } => {
                let array = array.map(|array| array.into_first(len));
                return Self::Device { array, shape: vec![len], item, library }.finish(call, py);
            }
        };
        let (library, is_whole, object) =
            (operand.library, len == operand.len(), operand.object.clone());
        if library == Library::Numpy && !is_whole {
            // The buffer is released, so that numpy may give back the memory behind.
            drop(operand);
            let options = PyDict::new(py);
            options.set_item(intern!(py, "refcheck"), false)?;
            object.call_method(intern!(py, "resize"), (len,), Some(&options))?;
            return Ok(object);
        }
        let whole = Self::Array(operand);
        if is_whole {
            return whole.finish(call, py);
        }
        match object.cast::<Array>() {
            Ok(array) => {
                let first = Bound::new(py, array.get().truncated(len)?)?.into_any();
                let first = Operand::take(&first, "the result")?.with_library(library);
                Self::Array(first).finish(call, py)
            }
            Err(_) => object.get_item(PySlice::new(py, 0, len as isize, 1)),
        }
    }
}

/// An array on a GPU, to overwrite as items of a type of the same size.
fn device_view(array: &mut Option<AnyArray>, dtype: Dtype) -> PyResult<AnyViewMut<'_>> {
    let own = array.take().ok_or_else(missing_memory)?;
    Ok(array.insert(own.into_bits_of(dtype).map_err(raise)?).view_mut())
}

/// The error for a result that an earlier error has taken away.
fn missing_memory() -> PyErr {
    PyTypeError::new_err("the result has no memory")
}

/// Whether memory of a GPU of CUDA's has to be waited for.
pub(crate) fn is_cuda(space: Option<Space>) -> Option<usize> {
    match space {
        Some(Space::Cuda(number)) => Some(number),
        _ => None,
    }
}
