//! The array of our own: what calls give whose input is of no library that makes arrays.

use core::ffi::c_int;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{ffi, intern};
use upsweep::Device;
use upsweep::any::{AnyArray, AnyView, Scalar};

use crate::call::Call;
use crate::devices::auto;
use crate::dtype::{ItemType, number, shortened, with_number};
use crate::error::raise;
use crate::memory::{HostMemory, Range, Space};
use crate::operand::Operand;
use crate::{buffer, dlpack};

/// An array of numbers in the memory of a device, in C order.
///
/// Calls give it where the input is of no library that makes arrays, such as a ``memoryview``, and :func:`asarray` makes one on a GPU.
/// Others take it without a copy: by the buffer protocol and ``__array_interface__`` in host memory, by DLPack there and on GPUs of CUDA's,
/// and by ``__cuda_array_interface__`` on these.
///
/// Examples
/// --------
/// >>> import array, upsweep
/// >>> sums = upsweep.cumulative_sum(array.array("i", [3, -1, 5]))
/// >>> sums
/// Array([3, 2, 7], dtype=int64)
/// >>> memoryview(sums).tolist()
/// [3, 2, 7]
#[pyclass(frozen, module = "upsweep", name = "Array")]
pub(crate) struct Array {
    memory: Arc<Memory>,
    item: ItemType,
    shape: Vec<usize>,
}

/// Where the items are.
pub(crate) enum Memory {
    Host(HostMemory),
    /// On a GPU. `pointer` is the address on one of CUDA's.
    Device {
        array: AnyArray,
        device: Device,
        pointer: Option<u64>,
    },
}

impl Array {
    /// An array in host memory whose items are all 0.
    pub(crate) fn zeroed(shape: &[usize], item: ItemType) -> PyResult<Self> {
        let bytes = shape.iter().try_fold(item.size(), |bytes, &len| bytes.checked_mul(len));
        let bytes = bytes.ok_or_else(|| PyValueError::new_err("the array has no address space"))?;
        Ok(Self::on_host(HostMemory::zeroed(bytes)?, shape, item))
    }

    /// An array of what is in host memory.
    pub(crate) fn on_host(memory: HostMemory, shape: &[usize], item: ItemType) -> Self {
        Self { memory: Arc::new(Memory::Host(memory)), item, shape: shape.to_vec() }
    }

    /// An array of what is on a device.
    pub(crate) fn on_device(
        array: AnyArray,
        shape: Vec<usize>,
        item: ItemType,
        device: &Device,
    ) -> PyResult<Self> {
        let (array, pointer) = with_number!(array.dtype(), T => {
            let typed = array.into_typed::<T>().map_err(raise)?;
            let pointer = typed.cuda_pointer();
            (AnyArray::from(typed), pointer)
        });
        let memory = Memory::Device { array, device: device.clone(), pointer };
        Ok(Self { memory: Arc::new(memory), item, shape })
    }

    /// The memory, for those that keep it.
    pub(crate) fn memory(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    pub(crate) fn item(&self) -> ItemType {
        self.item
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The items, where they have addresses.
    pub(crate) fn range(&self) -> Option<Range> {
        let bytes = self.len() * self.item.size();
        match &*self.memory {
            Memory::Host(memory) => Some(memory.range().first(bytes)),
            Memory::Device { device, pointer, .. } => {
                let number = device.id().strip_prefix("cuda:")?.parse().ok()?;
                Some(Range::of_cuda_array(number, (*pointer)?, bytes))
            }
        }
    }

    /// The items of an array that has no addresses.
    pub(crate) fn opaque_view(&self) -> PyResult<AnyView<'_>> {
        match &*self.memory {
            Memory::Host(memory) => memory.view(self.item.dtype),
            Memory::Device { array, .. } => Ok(array.view()),
        }
    }

    /// The device of the items.
    pub(crate) fn device(&self) -> &Device {
        match &*self.memory {
            Memory::Host(_) => auto(),
            Memory::Device { device, .. } => device,
        }
    }

    /// The first items of an array of one dimension, in the same memory.
    pub(crate) fn truncated(&self, len: usize) -> PyResult<Self> {
        if self.shape.len() != 1 || len > self.shape[0] || self.range().is_none() {
            return Err(PyValueError::new_err("an array has fewer items than are wanted"));
        }
        Ok(Self { memory: Arc::clone(&self.memory), item: self.item, shape: vec![len] })
    }

    /// The same bits as items of another type of the same size.
    fn bits_as(&self, item: ItemType) -> Self {
        Self { memory: Arc::clone(&self.memory), item, shape: self.shape.clone() }
    }

    /// A copy of the items in host memory, or the array if that is where they are.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        match &*self.memory {
            Memory::Host(_) => Ok(self.bits_as(self.item)),
            Memory::Device { array, .. } => {
                let bytes = py.detach(|| array.to_bytes()).map_err(raise)?;
                let mut memory = HostMemory::zeroed(bytes.len())?;
                memory.bytes_mut().copy_from_slice(&bytes);
                Ok(Self::on_host(memory, &self.shape, self.item))
            }
        }
    }

    /// The bytes of the items, which are in host memory.
    fn host_bytes(&self) -> PyResult<&[u8]> {
        match &*self.memory {
            Memory::Host(memory) => Ok(&memory.bytes()[..self.len() * self.item.size()]),
            Memory::Device { device, .. } => {
                Err(PyTypeError::new_err(format!("the array is on {}", device.id())))
            }
        }
    }

    /// The same numbers as items of a shorter type of floats, where they are. Of a GPU's the host makes them.
    pub(crate) fn shortened(&self, py: Python<'_>, item: ItemType) -> PyResult<Self> {
        let mut words = vec![0u64; (self.len() * item.size()).div_ceil(8)];
        let room = &mut bytemuck::cast_slice_mut(&mut words)[..self.len() * item.size()];
        let own = self.to_host(py)?;
        let bytes = own.host_bytes()?.chunks_exact(self.item.size());
        for (bytes, room) in bytes.zip(room.chunks_exact_mut(item.size())) {
            if let Some(value) = Scalar::from_bytes(self.item.dtype, bytes) {
                room.copy_from_slice(shortened(value, item.dtype).bytes());
            }
        }
        if let Memory::Device { device, .. } = &*self.memory {
            let items = AnyView::from_bytes(item.dtype, room).map_err(raise)?;
            let array = AnyArray::from_view(device, items).map_err(raise)?;
            return Self::on_device(array, self.shape.clone(), item, device);
        }
        let mut memory = HostMemory::zeroed(room.len())?;
        memory.bytes_mut().copy_from_slice(room);
        Ok(Self::on_host(memory, &self.shape, item))
    }

    /// The items from number `start` on as nested lists, along the axes from `axis` on.
    fn nested_list<'py>(
        &self,
        py: Python<'py>,
        axis: usize,
        start: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(&len) = self.shape.get(axis) else {
            let size = self.item.size();
            let bytes = &self.host_bytes()?[start * size..][..size];
            let value = Scalar::from_bytes(self.item.dtype, bytes);
            let value = value.ok_or_else(|| PyTypeError::new_err("an item is no number"))?;
            return number(py, value, self.item.is_bool);
        };
        let step: usize = self.shape[axis + 1..].iter().product();
        let rows = (0..len).map(|row| self.nested_list(py, axis + 1, start + row * step));
        Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }
}

#[pymethods]
impl Array {
    /// The length of each dimension.
    #[getter(shape)]
    fn py_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The name of the items' type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.item.name()
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of items.
    #[getter]
    fn size(&self) -> usize {
        self.len()
    }

    /// Bytes of all items.
    #[getter]
    fn nbytes(&self) -> usize {
        self.len() * self.item.size()
    }

    /// The id of the device where the items are.
    #[getter(device)]
    fn py_device(&self) -> &str {
        match &*self.memory {
            Memory::Host(_) => "cpu",
            Memory::Device { device, .. } => device.id(),
        }
    }

    /// The one item of an array that has no other.
    #[pyo3(name = "item")]
    fn item_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.len() != 1 {
            let text = format!("an array of {} items is not one number", self.len());
            return Err(PyValueError::new_err(text));
        }
        let one = Self { shape: Vec::new(), ..self.to_host(py)? };
        one.nested_list(py, 0, 0)
    }

    /// The one item of an array that has no other.
    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item_value(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item_value(py)?.call_method0(intern!(py, "__int__"))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item_value(py)?.call_method0(intern!(py, "__index__"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item_value(py)?.is_truthy()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("an array without dimensions has no length"))
    }

    /// The items as nested lists of Python's numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_host(py)?.nested_list(py, 0, 0)
    }

    /// The items as an array of numpy's: the same memory, or a copy of what is on a GPU.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let numpy = py.import(intern!(py, "numpy"))?;
        let as_numpy = |array: Self| -> PyResult<Bound<'py, PyAny>> {
            let memory = Bound::new(py, array)?;
            let view = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "memoryview"))?;
            numpy.call_method1(intern!(py, "asarray"), (view.call1((memory,))?,))
        };
        let host = slf.get().to_host(py)?;
        if host.item != ItemType::BFLOAT16 {
            return as_numpy(host);
        }
        let bits = as_numpy(host.bits_as(ItemType::of(upsweep::Dtype::U16)))?;
        let class = py.import(intern!(py, "ml_dtypes"))?.getattr(intern!(py, "bfloat16"))?;
        bits.call_method1(intern!(py, "view"), (class,))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let is_elsewhere = matches!(&*slf.get().memory, Memory::Device { .. });
        if copy == Some(false) && is_elsewhere {
            return Err(PyValueError::new_err("the array is on a GPU: it must be copied"));
        }
        let array = Self::numpy(slf)?;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "copy"), copy == Some(true))?;
        let dtype = match dtype {
            Some(dtype) => dtype,
            None => array.getattr(intern!(py, "dtype"))?,
        };
        array.call_method(intern!(py, "astype"), (dtype,), Some(&options))
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.range().map(|range| range.place()) {
            Some((Space::Host, pointer)) => self.interface(py, pointer.expose_provenance(), 3),
            _ => Err(no_attribute("__array_interface__", self.py_device())),
        }
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.range().map(|range| range.place()) {
            Some((Space::Cuda(_), pointer)) => {
                let facts = self.interface(py, pointer.expose_provenance(), 3)?;
                // Calls have waited for what they wrote.
                facts.set_item(intern!(py, "stream"), py.None())?;
                Ok(facts)
            }
            _ => Err(no_attribute("__cuda_array_interface__", self.py_device())),
        }
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Calls have waited for what they wrote, so that any stream may read it.
        drop(stream);
        let array = slf.get();
        let range = array.range().ok_or_else(|| {
            PyBufferError::new_err(format!("DLPack has no device {}", array.py_device()))
        })?;
        let own = dlpack::device(range.place().0);
        if copy == Some(true) || dl_device.is_some_and(|wanted| wanted != own) {
            let text = "a tensor is lent as it is, where it is";
            return Err(PyBufferError::new_err(text));
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        dlpack::export(slf.py(), array, range, array.item, is_versioned)
    }

    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        let range = self.range().ok_or_else(|| {
            PyBufferError::new_err(format!("DLPack has no device {}", self.py_device()))
        })?;
        Ok(dlpack::device(range.place().0))
    }

    /// # Safety
    /// Called by Python, with a buffer to fill.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let array = slf.get();
        match &*array.memory {
            // SAFETY: as promised to this function.
            Memory::Host(memory) => unsafe { buffer::fill(slf, memory, array.item, view, flags) },
            Memory::Device { device, .. } => {
                let text = format!("the array is on {}; numpy() copies it", device.id());
                Err(PyBufferError::new_err(text))
            }
        }
    }

    /// # Safety
    /// Called by Python, with a buffer that was filled here.
    #[expect(clippy::unused_self, reason = "the protocol's form")]
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as promised to this function.
        unsafe { buffer::release(view) };
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.item.name();
        if self.len() > 1000 {
            let (shape, device) = (&self.shape, self.py_device());
            return Ok(format!("Array(shape={shape:?}, dtype={name}, device='{device}')"));
        }
        Ok(format!("Array({}, dtype={name})", self.tolist(py)?.repr()?))
    }
}

impl Array {
    /// What both interfaces of numpy's kind say.
    fn interface<'py>(
        &self,
        py: Python<'py>,
        address: usize,
        version: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        facts.set_item(intern!(py, "shape"), PyTuple::new(py, &self.shape)?)?;
        facts.set_item(intern!(py, "typestr"), self.item.typestr())?;
        facts.set_item(intern!(py, "data"), (address, false))?;
        facts.set_item(intern!(py, "strides"), py.None())?;
        facts.set_item(intern!(py, "version"), version)?;
        Ok(facts)
    }
}

/// That there is no such attribute, as `hasattr` wants to hear it.
fn no_attribute(attribute: &str, device: &str) -> PyErr {
    let text = format!("an array on {device} has no {attribute}");
    pyo3::exceptions::PyAttributeError::new_err(text)
}

/// A copy of an array on a device.
///
/// Parameters
/// ----------
/// x : array
///     An array of any library.
/// device : str, default "cpu"
///     Where the copy is: ``"cpu"``, ``"cuda:0"``, ``"wgpu:0"``.
///
/// Returns
/// -------
/// Array
///     Calls on it run on its device, and give arrays there.
///
/// Examples
/// --------
/// >>> import numpy, upsweep
/// >>> upsweep.asarray(numpy.arange(6, dtype="uint8").reshape(2, 3))
/// Array([[0, 1, 2], [3, 4, 5]], dtype=uint8)
#[pyfunction]
#[pyo3(signature = (x, /, *, device = "cpu"))]
pub(crate) fn asarray(x: &Bound<'_, PyAny>, device: &str) -> PyResult<Array> {
    let py = x.py();
    let x = Operand::take(x, "x")?;
    let own = Call::new(None, &[&x])?;
    let mut host = Array::zeroed(&x.shape, x.item)?;
    let memory = Arc::get_mut(&mut host.memory);
    if let Some(Memory::Host(memory)) = memory {
        let output = memory.view_mut(x.item.dtype)?.shape(&x.shape).map_err(raise)?;
        let view = x.view()?;
        own.copy(py, view, output)?;
    }
    if device == "cpu" {
        return Ok(host);
    }
    let target = crate::devices::open(device)?;
    let items = AnyView::from_bytes(x.item.dtype, host.host_bytes()?).map_err(raise)?;
    let array = py.detach(|| AnyArray::from_view(&target, items)).map_err(raise)?;
    Array::on_device(array, x.shape.clone(), x.item, &target)
}
