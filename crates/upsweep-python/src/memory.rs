//! Memory by its address: the views of Python's arrays, and the memory of our own.
//!
//! Whoever holds an array's buffer, capsule or reference keeps its memory; the views that are made here live no longer than that holder.
//! While a call runs without the GIL, or Python has none, another thread may write to the same memory, as it may during any call of numpy: Python's arrays
//! have no locks, and not to do so is the program's duty.

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pyo3::PyResult;
use upsweep::any::{AnyView, AnyViewMut};
use upsweep::{Dtype, Error, View, ViewMut};

use crate::dtype::with_number;
use crate::error::raise;

/// Where items lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Host,
    /// The memory of a GPU of CUDA's, of this number.
    Cuda(usize),
}

/// A range of memory, of whole items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    space: Space,
    pointer: *mut u8,
    bytes: usize,
}

impl Range {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// The bytes can be read as long as a view of the range is used, and written if one to write is made. They were initialised.
    pub(crate) unsafe fn new(space: Space, pointer: *mut u8, bytes: usize) -> Self {
        Self { space, pointer, bytes }
    }

    /// So many bytes of an array of our own on a GPU of CUDA's.
    pub(crate) fn of_cuda_array(number: usize, address: u64, bytes: usize) -> Self {
        let pointer = core::ptr::without_provenance_mut(address as usize);
        Self { space: Space::Cuda(number), pointer, bytes }
    }

    /// The first bytes, which it has.
    pub(crate) fn first(self, bytes: usize) -> Self {
        Self { bytes: bytes.min(self.bytes), ..self }
    }

    /// Which memory it is in, and its address.
    pub(crate) fn place(&self) -> (Space, *mut u8) {
        (self.space, self.pointer)
    }

    /// Whether two ranges have bytes in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let [own, theirs] = [self, other].map(|range| range.pointer.addr());
        let is_apart = own + self.bytes <= theirs || theirs + other.bytes <= own;
        self.space == other.space && !is_apart && self.bytes > 0 && other.bytes > 0
    }

    /// Whether items of this size may begin where the range does.
    pub(crate) fn is_aligned(&self, size: usize) -> bool {
        self.bytes == 0 || self.pointer.addr().is_multiple_of(size)
    }

    /// The items, to read.
    pub(crate) fn view(&self, dtype: Dtype) -> PyResult<AnyView<'_>> {
        match self.space {
            _ if self.bytes == 0 => AnyView::from_bytes(dtype, &[]),
            Space::Host => {
                // SAFETY: as promised to `new`; nothing of Rust's writes there, since outputs that overlap an input are refused or made
                // elsewhere.
                let bytes = unsafe { core::slice::from_raw_parts(self.pointer, self.bytes) };
                AnyView::from_bytes(dtype, bytes)
            }
            Space::Cuda(_) => with_number!(dtype, T => {
                let items = self.bytes / size_of::<T>();
                // SAFETY: as promised to `new`; the call's device is the array's, and is waited for before the call returns.
                let view = unsafe { View::<T>::of_cuda_pointer(self.pointer.addr() as u64, items) };
                view.map(AnyView::from)
            }),
        }
        .map_err(raise)
    }

    /// The items, to overwrite.
    pub(crate) fn view_mut(&self, dtype: Dtype) -> PyResult<AnyViewMut<'_>> {
        match self.space {
            _ if self.bytes == 0 => AnyViewMut::from_bytes(dtype, &mut []),
            Space::Host => {
                // SAFETY: as promised to `new`; a call has one output in this memory, and no input.
                let bytes = unsafe { core::slice::from_raw_parts_mut(self.pointer, self.bytes) };
                AnyViewMut::from_bytes(dtype, bytes)
            }
            Space::Cuda(_) => with_number!(dtype, T => {
                let items = self.bytes / size_of::<T>();
                // SAFETY: as above.
                let view =
                    unsafe { ViewMut::<T>::of_cuda_pointer(self.pointer.addr() as u64, items) };
                view.map(AnyViewMut::from)
            }),
        }
        .map_err(raise)
    }
}

/// The number of the GPU of CUDA's in whose memory an address is.
pub(crate) fn cuda_of_pointer(address: usize) -> Option<usize> {
    use cudarc::driver::sys::{CUpointer_attribute, CUresult, cuPointerGetAttribute};
    let (mut number, of) = (0i32, CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    // SAFETY: the driver is there and was initialised, which the caller has seen to; it writes an `int`.
    let found = unsafe { cuPointerGetAttribute((&raw mut number).cast(), of, address as u64) };
    (found == CUresult::CUDA_SUCCESS).then(|| usize::try_from(number).ok()).flatten()
}

/// The stream with this handle, of the context that another stream is in.
pub(crate) fn stream(own: &Arc<CudaStream>, handle: usize) -> Arc<CudaStream> {
    if own.cu_stream().addr() == handle {
        return Arc::clone(own);
    }
    let handle = core::ptr::with_exposed_provenance_mut(handle);
    // SAFETY: a library or an object with `__cuda_stream__` says that it is a stream of this context, and it is used during a call of theirs alone.
    unsafe { own.context().wrap_borrowed_stream(handle) }
}

/// Host memory of our own, at an address that suits every type and vector.
#[derive(Debug)]
pub(crate) struct HostMemory {
    pointer: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone, and is read and written through it.
unsafe impl Send for HostMemory {}
// SAFETY: as above; what is shared is only read by Rust.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// What memory begins at multiples of.
    const ALIGNMENT: usize = 64;

    /// So many bytes, all 0.
    pub(crate) fn zeroed(bytes: usize) -> PyResult<Self> {
        let missing = || raise(Error::OutOfMemory { bytes });
        // At least one, so that there is an address.
        let layout =
            Layout::from_size_align(bytes.max(1), Self::ALIGNMENT).map_err(|_| missing())?;
        // SAFETY: the size is not 0.
        let pointer = unsafe { alloc_zeroed(layout) };
        let pointer = NonNull::new(pointer).ok_or_else(missing)?;
        Ok(Self { pointer, bytes })
    }

    /// Where it begins, for those that Python lends it to.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// All of it, as a range.
    pub(crate) fn range(&self) -> Range {
        // SAFETY: the bytes are there as long as this value, which the view's holder keeps.
        unsafe { Range::new(Space::Host, self.pointer(), self.bytes) }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: they were initialised, and are there as long as this value.
        unsafe { core::slice::from_raw_parts(self.pointer.as_ptr(), self.bytes) }
    }

    /// Items that begin where it does, to read.
    pub(crate) fn view(&self, dtype: Dtype) -> PyResult<AnyView<'_>> {
        AnyView::from_bytes(dtype, self.bytes()).map_err(raise)
    }

    /// Items that begin where it does, to overwrite.
    pub(crate) fn view_mut(&mut self, dtype: Dtype) -> PyResult<AnyViewMut<'_>> {
        AnyViewMut::from_bytes(dtype, self.bytes_mut()).map_err(raise)
    }

    /// Its bytes, to overwrite.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has the value.
        unsafe { core::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.bytes) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let layout = Layout::from_size_align(self.bytes.max(1), Self::ALIGNMENT);
        if let Ok(layout) = layout {
            // SAFETY: it was allocated so.
            unsafe { dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}
