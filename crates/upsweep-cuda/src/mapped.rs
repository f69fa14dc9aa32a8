//! Memory of the host that kernels write to.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};

/// Bytes of it: two lines of the host's cache, with room for the longest result. Most lie in the first.
pub(crate) const BYTES: usize = 128;

/// Some of the host's memory, all bits 0 at first. Whoever drops it sees to it that no kernel writes to it any more.
#[derive(Debug)]
pub(crate) struct Mapped {
    context: Arc<CudaContext>,
    host: NonNull<c_void>,
    device: u64,
}

// SAFETY: the host's memory is not bound to a thread.
unsafe impl Send for Mapped {}
// SAFETY: it is read and written by atomics alone.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Memory of its own.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: what is allocated is freed once, when this is dropped.
        let host = unsafe { result::malloc_host(BYTES, flags) }?;
        let host = NonNull::new(host).ok_or(DriverError(sys::CUresult::CUDA_ERROR_UNKNOWN))?;
        let mut mapped = Self { context: Arc::clone(context), host, device: 0 };
        // SAFETY: the memory is ours and has so many bytes; there is room for one address.
        let address = unsafe {
            host.cast::<u8>().write_bytes(0, BYTES);
            sys::cuMemHostGetDevicePointer_v2(&mut mapped.device, host.as_ptr(), 0)
        };
        address.result()?;
        Ok(mapped)
    }

    /// The address that kernels know it by.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// The first word.
    pub(crate) fn first(&self) -> &AtomicU32 {
        // SAFETY: the memory is ours, aligned for the driver's sake, and shared by atomics alone.
        unsafe { self.host.cast::<AtomicU32>().as_ref() }
    }

    /// The word of 8 bytes of this number.
    pub(crate) fn word(&self, number: usize) -> &AtomicU64 {
        assert!(number < BYTES / 8, "there are so many words");
        // SAFETY: as above; the word is among the bytes.
        unsafe { self.host.cast::<AtomicU64>().add(number).as_ref() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Nothing is left to do if this fails; the driver frees it with the context.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated like this, and is freed once.
            let _ = unsafe { result::free_host(self.host.as_ptr()) };
        }
    }
}
