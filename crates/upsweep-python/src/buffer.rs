//! The buffer protocol: memory that others lend, and the memory of our own arrays, which others read and write through it.

use core::ffi::{CStr, c_int};
use core::marker::PhantomData;
use core::ptr::null_mut;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::array::Array;
use crate::dlpack::packed_strides;
use crate::dtype::ItemType;
use crate::memory::HostMemory;

/// Memory that an object lends, until this is dropped. PyO3's own refuses arrays without dimensions.
pub(crate) struct ForeignBuffer<'py> {
    /// In a place of its own: its lengths may be within it.
    view: Box<ffi::Py_buffer>,
    /// It is released while attached to Python.
    _attached: PhantomData<Python<'py>>,
}

impl<'py> ForeignBuffer<'py> {
    /// Asks an object for its memory, with all that is known of it.
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: both pointers are valid; what the call leaves there is released once, or nothing if it fails.
        let failed = unsafe {
            ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) != 0
        };
        if failed {
            Err(PyErr::fetch(object.py()))
        } else {
            Ok(Self { view, _attached: PhantomData })
        }
    }

    /// Bytes of an item.
    pub(crate) fn item_size(&self) -> usize {
        self.view.itemsize.unsigned_abs()
    }

    /// The format of an item, as the module `struct` spells it.
    pub(crate) fn format(&self) -> &[u8] {
        if self.view.format.is_null() {
            return b"B";
        }
        // SAFETY: the exporter's text is there as long as the buffer.
        unsafe { CStr::from_ptr(self.view.format) }.to_bytes()
    }

    /// The length of each dimension.
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.numbers(self.view.shape).iter().map(|len| len.unsigned_abs()).collect()
    }

    /// How many bytes lie between two neighbours along each dimension; nothing if items lie in C order.
    pub(crate) fn strides(&self) -> Option<&[isize]> {
        // Some exporters, such as ctypes, leave them out.
        (!self.view.strides.is_null()).then(|| self.numbers(self.view.strides))
    }

    /// Whether items are found through pointers.
    pub(crate) fn is_indirect(&self) -> bool {
        !self.view.suboffsets.is_null()
    }

    /// Whether the memory may not be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.view.readonly != 0
    }

    /// The address of the item whose indices are 0.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.view.buf.cast()
    }

    /// A number for each dimension. All of them are there, since all were asked for.
    fn numbers(&self, numbers: *const isize) -> &[isize] {
        match usize::try_from(self.view.ndim) {
            // SAFETY: the exporter's numbers are there as long as the buffer.
            Ok(count @ 1..) if !numbers.is_null() => unsafe {
                core::slice::from_raw_parts(numbers, count)
            },
            _ => &[],
        }
    }
}

impl Drop for ForeignBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: it was filled by Python, and is released once, attached to it.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.view) };
    }
}

/// What a buffer points to besides the items, until it is released.
struct Sizes {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// Fills a buffer with an array's memory, and keeps the array in it.
///
/// # Safety
/// `view` is a buffer that Python wants filled, with these flags.
pub(crate) unsafe fn fill(
    array: &Bound<'_, Array>,
    memory: &HostMemory,
    item: ItemType,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("there is no buffer to fill"));
    }
    let Some(format) = item.format() else {
        let text = format!("the buffer protocol has no {}; numpy() has", item.name());
        return Err(PyBufferError::new_err(text));
    };
    let (shape, size) = (array.get().shape(), item.size() as ffi::Py_ssize_t);
    let strides = packed_strides(shape).into_iter().map(|stride| stride * size).collect();
    let shape: Vec<_> = shape.iter().map(|&len| len as ffi::Py_ssize_t).collect();
    let dimensions = shape.len() as c_int;
    let bytes = shape.iter().product::<ffi::Py_ssize_t>() * size;
    let sizes = Box::into_raw(Box::new(Sizes { shape, strides }));
    let wants = |flag: c_int| flags & flag == flag;
    // SAFETY: as promised; the sizes live until the buffer is released, the memory as long as the array, which the buffer owns.
    unsafe {
        (*view).buf = memory.pointer().cast();
        (*view).obj = array.clone().into_any().into_ptr();
        (*view).len = bytes;
        (*view).itemsize = size;
        (*view).readonly = 0;
        (*view).ndim = dimensions;
        (*view).format =
            if wants(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { null_mut() };
        (*view).shape = if wants(ffi::PyBUF_ND) { (*sizes).shape.as_mut_ptr() } else { null_mut() };
        (*view).strides =
            if wants(ffi::PyBUF_STRIDES) { (*sizes).strides.as_mut_ptr() } else { null_mut() };
        (*view).suboffsets = null_mut();
        (*view).internal = sizes.cast();
    }
    Ok(())
}

/// Drops what [`fill`] has made.
///
/// # Safety
/// `view` was filled by it, and is released once.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: as promised.
    unsafe { drop(Box::from_raw((*view).internal.cast::<Sizes>())) };
}
