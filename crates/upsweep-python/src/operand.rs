//! An array of Python's, taken in place: what its items are, how they lie, and what keeps them there.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use upsweep::Dtype;
use upsweep::any::{AnyAlong, AnyNdArray, AnyNdView, AnyNdViewMut, AnyView, AnyViewMut, holds};

use crate::array::Array;
use crate::buffer;
use crate::call::Call;
use crate::devices::{self, Stream};
use crate::dlpack::{self, packed_strides};
use crate::dtype::{ItemType, Kind};
use crate::error::raise;
use crate::library::Library;
use crate::memory::{Range, Space};
use crate::torch::{Tensor, torch};

/// An array whose memory is kept as long as this.
pub(crate) struct Operand<'py> {
    /// What the caller gave.
    pub(crate) object: Bound<'py, PyAny>,
    /// What the caller calls it.
    pub(crate) name: &'static str,
    pub(crate) item: ItemType,
    pub(crate) shape: Vec<usize>,
    /// In items.
    pub(crate) strides: Vec<isize>,
    pub(crate) library: Library,
    pub(crate) is_writable: bool,
    /// The stream in which it is ready, if it is in the memory of a GPU of CUDA's.
    stream: Option<Stream>,
    memory: Memory<'py>,
}

/// Where the items are.
enum Memory<'py> {
    /// In memory that has an address. `start` is the number of the item whose indices are 0.
    Addressed { range: Range, start: usize, _lease: Lease<'py> },
    /// In the memory of a GPU that has none, packed.
    Opaque(Bound<'py, Array>),
}

/// What keeps memory that has an address.
#[expect(dead_code, reason = "a lease is held, and not looked at")]
enum Lease<'py> {
    Buffer(buffer::ForeignBuffer<'py>),
    Tensor(dlpack::ManagedTensor),
    Object(Bound<'py, PyAny>),
}

/// An array as it is description.
struct Description<'py> {
    item: ItemType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    space: Space,
    is_writable: bool,
    /// The address of the item whose indices are 0.
    pointer: *mut u8,
    lease: Lease<'py>,
}

impl<'py> Operand<'py> {
    /// The array that an object is.
    ///
    /// # Errors
    /// `TypeError` if it is none, or has items that are no numbers here; `ValueError` if it is where no call can read it.
    pub(crate) fn take(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        let library = Library::of(object)?;
        if let Ok(array) = object.cast::<Array>() {
            return Self::of_ours(array, name);
        }
        if library == Library::Numpy {
            return Self::of_numpy(object, name);
        }
        let py = object.py();
        if library == Library::Torch
            && let Some(tensor) = torch(py)?.tensor(object, name)?
        {
            return Self::of_torch(object, name, tensor);
        }
        if object.hasattr(intern!(py, "__dlpack__"))? {
            let tensor = dlpack::tensor(object, name, library)?;
            let lease = Lease::Tensor(tensor.managed);
            let (shape, strides) = (tensor.shape, tensor.strides);
            let (item, space, pointer) = (tensor.item, tensor.space, tensor.pointer);
            let is_writable = tensor.is_writable;
            let description =
                Description { item, shape, strides, space, is_writable, pointer, lease };
            return Self::from_description(object, name, library, description);
        }
        if let Ok(facts) = object.getattr(intern!(py, "__cuda_array_interface__")) {
            let description = of_cuda_interface(object, &facts, name)?;
            return Self::from_description(object, name, library, description);
        }
        if let Ok(buffer) = buffer::ForeignBuffer::new(object) {
            return Self::from_description(object, name, library, of_buffer(object, buffer, name)?);
        }
        match object.getattr(intern!(py, "__array_interface__")) {
            Ok(facts) => Self::from_description(
                object,
                name,
                library,
                of_interface(object, &facts, name, Space::Host)?,
            ),
            Err(_) => {
                let text = format!(
                    "{name} is a {}, and no array; numpy.asarray makes one of it",
                    object.get_type().name()?
                );
                Err(PyTypeError::new_err(text))
            }
        }
    }

    /// An array of numpy's, of which the buffer protocol tells all but short floats.
    fn of_numpy(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        let py = object.py();
        let buffer = match buffer::ForeignBuffer::new(object) {
            Ok(buffer) => buffer,
            Err(_) => {
                let dtype = object.getattr(intern!(py, "dtype"))?;
                let item = ItemType::parse(&dtype).ok().filter(|item| item.kind() == Kind::Brain);
                let Some(item) = item else {
                    let text = format!("{name} has items of {dtype}, which are no numbers here");
                    return Err(PyTypeError::new_err(text));
                };
                // The same memory as integers, which the protocol knows.
                let bits = object.call_method1(intern!(py, "view"), (intern!(py, "uint16"),))?;
                let operand = Self::of_numpy(&bits, name)?;
                return Ok(Self { item, object: object.clone(), ..operand });
            }
        };
        Self::from_description(object, name, Library::Numpy, of_buffer(object, buffer, name)?)
    }

    /// A tensor of torch's.
    pub(crate) fn of_torch(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        tensor: Tensor,
    ) -> PyResult<Self> {
        let Tensor { space, item, shape, strides, address } = tensor;
        let pointer = core::ptr::with_exposed_provenance_mut(address);
        let is_writable = true;
        let lease = Lease::Object(object.clone());
        let description = Description { item, shape, strides, space, is_writable, pointer, lease };
        Self::from_description(object, name, Library::Torch, description)
    }

    /// An array of our own.
    fn of_ours(array: &Bound<'py, Array>, name: &'static str) -> PyResult<Self> {
        let ours = array.get();
        let (item, shape) = (ours.item(), ours.shape().to_vec());
        let strides = packed_strides(&shape);
        let object = array.clone().into_any();
        let memory = match ours.range() {
            Some(range) => {
                Memory::Addressed { range, start: 0, _lease: Lease::Object(object.clone()) }
            }
            None => Memory::Opaque(array.clone()),
        };
        // What has no address is written by nobody.
        let is_writable = ours.range().is_some();
        let (library, stream) = (Library::Own, None);
        Ok(Self { object, name, item, shape, strides, library, is_writable, stream, memory })
    }

    fn from_description(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        library: Library,
        description: Description<'py>,
    ) -> PyResult<Self> {
        let Description { item, shape, strides, space, is_writable, pointer, lease } = description;
        let reach = |negative: bool| -> isize {
            let axes = shape.iter().zip(&strides).filter(|(_, stride)| (**stride < 0) == negative);
            axes.map(|(&len, &stride)| (len as isize - 1).wrapping_mul(stride)).sum()
        };
        let is_empty = shape.contains(&0);
        let (first, last) = if is_empty { (0, -1) } else { (reach(true), reach(false)) };
        let (size, start) = (item.size(), first.unsigned_abs());
        let bytes = (last - first + 1).unsigned_abs() * size;
        let pointer = pointer.wrapping_offset(first.wrapping_mul(size as isize));
        // SAFETY: the array's owner says that the items at these strides are there, and `lease` keeps them.
        let range = unsafe { Range::new(space, pointer, bytes) };
        if !range.is_aligned(size) {
            let text = format!(
                "{name} is misaligned: items of {} begin at multiples of {size} bytes; copy it first, as by numpy.copy",
                item.name()
            );
            return Err(PyValueError::new_err(text));
        }
        let memory = Memory::Addressed { range, start, _lease: lease };
        let object = object.clone();
        // Arrays of JAX never change, though its tensors do not say so.
        let is_writable = is_writable && library != Library::Jax;
        let stream = match space {
            Space::Host => None,
            Space::Cuda(number) => library.stream(object.py(), number)?,
        };
        Ok(Self { object, name, item, shape, strides, library, is_writable, stream, memory })
    }

    /// The array, or a copy of it in the type `dtype` if that does not hold every value of its items: as in numpy they are converted before
    /// they are combined. Arrays of ours have no conversion.
    pub(crate) fn converted_to(self, dtype: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(dtype) = dtype else { return Ok(self) };
        let item = ItemType::parse(dtype)?;
        if item.is_bool || self.library == Library::Own || holds(self.item.dtype, item.dtype) {
            return Ok(self);
        }
        Self::take(&self.library.converted(&self.object, item)?, self.name)
    }

    /// The same array, whose results are arrays of a library.
    pub(crate) fn with_library(self, library: Library) -> Self {
        Self { library, ..self }
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Where the items are, if that has addresses.
    pub(crate) fn space(&self) -> Option<Space> {
        match &self.memory {
            Memory::Addressed { range, .. } => Some(range.place().0),
            Memory::Opaque(_) => None,
        }
    }

    /// The stream that calls on it run in, if its library has one.
    pub(crate) fn stream(&self) -> Option<Stream> {
        self.stream
    }

    /// The array, if it is one of ours in the memory of a GPU without addresses.
    pub(crate) fn opaque(&self) -> Option<&Bound<'py, Array>> {
        match &self.memory {
            Memory::Addressed { .. } => None,
            Memory::Opaque(array) => Some(array),
        }
    }

    /// Whether the items are in host memory.
    pub(crate) fn is_on_host(&self) -> bool {
        self.space() == Some(Space::Host)
    }

    /// Whether two arrays have memory in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (&self.memory, &other.memory) {
            (Memory::Addressed { range, .. }, Memory::Addressed { range: other, .. }) => {
                range.overlaps(other)
            }
            (Memory::Opaque(own), Memory::Opaque(other)) => own.is(other),
            _ => false,
        }
    }

    /// Whether two arrays are in the same bytes.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        match (&self.memory, &other.memory) {
            (Memory::Addressed { range, .. }, Memory::Addressed { range: other, .. }) => {
                range == other
            }
            _ => false,
        }
    }

    /// Whether items follow each other in C order.
    pub(crate) fn is_packed(&self) -> bool {
        let mut wanted = 1;
        for (&len, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if len == 0 {
                return true;
            }
            if len > 1 && stride != wanted {
                return false;
            }
            wanted *= len as isize;
        }
        true
    }

    /// All items in memory, and the number of the one whose indices are 0.
    pub(crate) fn items(&self, dtype: Dtype) -> PyResult<(AnyView<'_>, usize)> {
        match &self.memory {
            Memory::Addressed { range, start, .. } => Ok((range.view(dtype)?, *start)),
            Memory::Opaque(array) => Ok((array.get().opaque_view()?, 0)),
        }
    }

    /// The items in C order, which is how they lie.
    pub(crate) fn flat(&self) -> PyResult<AnyView<'_>> {
        debug_assert!(self.is_packed());
        Ok(self.items(self.item.dtype)?.0)
    }

    /// The array.
    pub(crate) fn view(&self) -> PyResult<AnyNdView<'_>> {
        let (items, start) = self.items(self.item.dtype)?;
        let view = match self.is_packed() {
            true => items.shape(&self.shape),
            false => AnyNdView::strided(items, &self.shape, &self.strides, start),
        };
        view.map_err(raise)
    }

    /// The rows along these axes. Along none each item is a row.
    pub(crate) fn rows(&self, axes: &[usize]) -> PyResult<AnyAlong<'_>> {
        let axes: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        if !axes.is_empty() {
            return self.view()?.axes(&axes).map_err(raise);
        }
        let (items, start) = self.items(self.item.dtype)?;
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape.push(1);
        strides.push(1);
        let view = AnyNdView::strided(items, shape, &strides, start).map_err(raise)?;
        view.axis(-1).map_err(raise)
    }

    /// The array, to overwrite as items of a type of the same size.
    pub(crate) fn view_mut(&mut self, dtype: Dtype) -> PyResult<AnyNdViewMut<'_>> {
        let (shape, strides) = (&self.shape, &self.strides);
        let is_packed = self.is_packed();
        let (items, start) = self.items_mut(dtype)?;
        let view = match is_packed {
            true => items.shape(shape),
            false => AnyNdViewMut::strided(items, shape, strides, start),
        };
        view.map_err(raise)
    }

    /// A part of the array along one axis, to overwrite: `count` slices from number `first` on.
    pub(crate) fn part_mut(
        &mut self,
        dtype: Dtype,
        axis: usize,
        first: usize,
        count: usize,
    ) -> PyResult<AnyNdViewMut<'_>> {
        let (mut shape, strides) = (self.shape.clone(), &self.strides);
        shape[axis] = count;
        let (items, start) = self.items_mut(dtype)?;
        let start = start.wrapping_add_signed(strides[axis] * first as isize);
        AnyNdViewMut::strided(items, shape, strides, start).map_err(raise)
    }

    /// The items in C order, which is how they lie, to overwrite.
    pub(crate) fn flat_mut(&mut self, dtype: Dtype) -> PyResult<AnyViewMut<'_>> {
        debug_assert!(self.is_packed());
        Ok(self.items_mut(dtype)?.0)
    }

    fn items_mut(&self, dtype: Dtype) -> PyResult<(AnyViewMut<'_>, usize)> {
        match &self.memory {
            Memory::Addressed { range, start, .. } if self.is_writable => {
                Ok((range.view_mut(dtype)?, *start))
            }
            _ => Err(PyValueError::new_err(format!("{} is read-only", self.name))),
        }
    }

    /// The first items of an array of one dimension, as the same library has them.
    pub(crate) fn first(&self, call: &Call, len: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        let Ok(array) = self.object.cast::<Array>() else {
            return self.object.get_item(PySlice::new(py, 0, len as isize, 1));
        };
        if self.space().is_some() {
            return Ok(Bound::new(py, array.get().truncated(len)?)?.into_any());
        }
        let (items, start) = self.items(self.item.dtype)?;
        let first = AnyNdView::strided(items, [len], &[1], start).map_err(raise)?;
        let first = call.packed(py, first)?.into_array();
        let first = Array::on_device(first, vec![len], self.item, array.get().device())?;
        Ok(Bound::new(py, first)?.into_any())
    }

    /// The items in C order: in place if they lie so, or packed on the call's device.
    pub(crate) fn in_order(&self, call: &Call) -> PyResult<InOrder<'_>> {
        if self.is_packed() {
            return Ok(InOrder::InPlace(self.flat()?));
        }
        Ok(InOrder::Packed(call.packed(self.object.py(), self.view()?)?))
    }
}

/// Items in C order.
pub(crate) enum InOrder<'a> {
    InPlace(AnyView<'a>),
    Packed(AnyNdArray),
}

impl InOrder<'_> {
    pub(crate) fn view(&self) -> AnyView<'_> {
        match self {
            Self::InPlace(view) => *view,
            Self::Packed(array) => array.array().view(),
        }
    }
}

/// What the buffer protocol says.
fn of_buffer<'py>(
    object: &Bound<'py, PyAny>,
    buffer: buffer::ForeignBuffer<'py>,
    name: &str,
) -> PyResult<Description<'py>> {
    let (size, format) = (buffer.item_size(), buffer.format());
    let Some(item) = ItemType::of_format(format, size) else {
        let dtype = object.getattr(intern!(object.py(), "dtype"));
        let what = dtype.map_or_else(|_| String::from_utf8_lossy(format).into(), |d| d.to_string());
        let text = format!(
            "{name} has items of {what}, which are no numbers here; known are integers of 8 to 64 bits and floats of 16 to 64 in this machine's order of bytes"
        );
        return Err(PyTypeError::new_err(text));
    };
    if buffer.is_indirect() {
        return Err(PyValueError::new_err(format!("{name} is an array of pointers to its items")));
    }
    let shape = buffer.shape();
    let strides = match buffer.strides() {
        Some(strides) => item_strides(strides, size, name)?,
        None => packed_strides(&shape),
    };
    let (pointer, is_writable) = (buffer.pointer(), !buffer.is_read_only());
    let lease = Lease::Buffer(buffer);
    Ok(Description { item, shape, strides, space: Space::Host, is_writable, pointer, lease })
}

/// Strides in items, of strides in bytes.
fn item_strides(strides: &[isize], size: usize, name: &str) -> PyResult<Vec<isize>> {
    let size = size as isize;
    match strides.iter().find(|stride| *stride % size != 0) {
        None => Ok(strides.iter().map(|stride| stride / size).collect()),
        Some(stride) => Err(PyValueError::new_err(format!(
            "{name} has strides of {stride} bytes between items of {size}; copy it first, as by numpy.copy"
        ))),
    }
}

/// What `__cuda_array_interface__` says, once the array's stream is done.
fn of_cuda_interface<'py>(
    object: &Bound<'py, PyAny>,
    facts: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Description<'py>> {
    let (address, _): (usize, bool) = fact(facts, name, "data")?.extract()?;
    let number = devices::cuda_of_pointer(address)?;
    let stream = facts.cast::<PyDict>()?.get_item("stream")?;
    // Nothing says that nothing is left to do; before version 3 there was no such word.
    if stream.is_none_or(|stream| !stream.is_none()) {
        devices::wait_for_all(object.py(), number)?;
    }
    of_interface(object, facts, name, Space::Cuda(number))
}

/// What an array's interface says under a key.
fn fact<'py>(facts: &Bound<'py, PyAny>, name: &str, key: &str) -> PyResult<Bound<'py, PyAny>> {
    facts.cast::<PyDict>()?.get_item(key)?.ok_or_else(|| {
        PyValueError::new_err(format!("the array interface of {name} has no '{key}'"))
    })
}

/// What `__array_interface__` or `__cuda_array_interface__` says.
fn of_interface<'py>(
    object: &Bound<'py, PyAny>,
    facts: &Bound<'py, PyAny>,
    name: &str,
    space: Space,
) -> PyResult<Description<'py>> {
    let typestr: String = fact(facts, name, "typestr")?.extract()?;
    let mut letters = typestr.chars();
    let (order, letter) = (letters.next(), letters.next());
    let size = letters.as_str().parse().unwrap_or(0);
    let kind = match letter {
        Some('b') => Some(Kind::Bool),
        Some('u') => Some(Kind::Unsigned),
        Some('i') => Some(Kind::Signed),
        Some('f') => Some(Kind::Float),
        _ => None,
    };
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let is_native = matches!(order, Some('|' | '=')) || order == Some(native);
    let kind = kind.filter(|_| is_native);
    let item = kind.and_then(|kind| ItemType::of_kind(kind, size)).ok_or_else(|| {
        PyTypeError::new_err(format!("{name} has items of {typestr}, which are no numbers here"))
    })?;
    let shape: Vec<usize> = fact(facts, name, "shape")?.extract()?;
    let strides = match facts.cast::<PyDict>()?.get_item("strides")? {
        Some(strides) if !strides.is_none() => {
            item_strides(&strides.extract::<Vec<isize>>()?, item.size(), name)?
        }
        _ => packed_strides(&shape),
    };
    if strides.len() != shape.len() {
        let text = format!("the array interface of {name} has not a stride for each dimension");
        return Err(PyValueError::new_err(text));
    }
    let (address, is_read_only): (usize, bool) = fact(facts, name, "data")?.extract()?;
    if address == 0 && !shape.contains(&0) {
        return Err(PyValueError::new_err(format!("the array interface of {name} has no address")));
    }
    let pointer = core::ptr::with_exposed_provenance_mut(address);
    let (is_writable, lease) = (!is_read_only, Lease::Object(object.clone()));
    Ok(Description { item, shape, strides, space, is_writable, pointer, lease })
}
