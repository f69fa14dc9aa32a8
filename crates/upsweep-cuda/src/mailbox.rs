//! Where a kernel leaves a result for the host: memory of the host that the device writes to.
//!
//! ```text
//!   byte 0: number of the message    byte 8 …: the message, 56 bytes
//! ```
//! The kernel writes the message, orders it before what follows for the whole system (`__threadfence_system`), and then
//! writes the number. The host looks at the number: so a small result needs one launch, no copy, and no wait of the
//! driver's, which costs some ten microseconds. Whoever sees the number sees the message.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, result, sys};
use upsweep_core::Result;

use crate::device::Gpu;

/// Bytes of a mailbox: a line of the host's cache.
const BYTES: usize = 64;

/// Byte at which the message begins.
pub(crate) const MESSAGE: u64 = 8;

/// Words of 8 bytes of a message.
pub(crate) const MESSAGE_WORDS: usize = 7;

/// How long the host looks before it lets the driver wait: beyond this, what the driver's wait costs does not count.
const PATIENCE: Duration = Duration::from_micros(500);

/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// A mailbox that one launch at a time writes to.
#[derive(Debug)]
pub(crate) struct Mailbox {
    gpu: Arc<Gpu>,
    host: NonNull<c_void>,
    device: u64,
    /// Number of the last message that was asked for.
    number: u32,
}

// SAFETY: the host's memory is not bound to a thread, and whoever waits holds the mailbox alone.
unsafe impl Send for Mailbox {}

impl Mailbox {
    /// An empty mailbox.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        gpu.enter()?;
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: what is allocated is freed once, when the mailbox is dropped.
        let host = gpu.did("allocating a mailbox", unsafe { result::malloc_host(BYTES, flags) })?;
        let host = NonNull::new(host)
            .ok_or_else(|| gpu.failed("the driver gave no memory for a mailbox"))?;
        let mut mailbox = Self { gpu: Arc::clone(gpu), host, device: 0, number: 0 };
        // SAFETY: the memory is ours and has so many bytes; there is room for one address.
        let mapped = unsafe {
            host.cast::<u8>().write_bytes(0, BYTES);
            sys::cuMemHostGetDevicePointer_v2(&mut mailbox.device, host.as_ptr(), 0)
        };
        gpu.did("mapping a mailbox", mapped.result())?;
        Ok(mailbox)
    }

    /// The address that kernels know it by, and the number to write for the next message. It is never 0.
    pub(crate) fn next(&mut self) -> (u64, u32) {
        self.number = self.number.checked_add(1).unwrap_or(1);
        (self.device, self.number)
    }

    /// Waits for the message that was last asked for, which something in this stream will leave.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`](upsweep_core::Error::DeviceFailed) if all work in the stream is done and there is no
    /// message, or the device failed.
    pub(crate) fn wait(&self, stream: &CudaStream) -> Result<[u64; MESSAGE_WORDS]> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            for _ in 0..LOOKS {
                if let Some(message) = self.look() {
                    return Ok(message);
                }
                core::hint::spin_loop();
            }
        }
        self.gpu.wait_for(stream)?;
        self.look().ok_or_else(|| self.gpu.failed("a kernel left no result"))
    }

    /// The message, if it has come.
    fn look(&self) -> Option<[u64; MESSAGE_WORDS]> {
        // SAFETY: the memory is ours, aligned for the driver's sake, and read by atomics while the device may write.
        let (number, words) = unsafe {
            let words = self.host.byte_add(MESSAGE as usize).cast::<AtomicU64>();
            (self.host.cast::<AtomicU32>().as_ref(), words)
        };
        if number.load(Ordering::Acquire) != self.number {
            return None;
        }
        // SAFETY: so many words lie behind the number.
        Some(core::array::from_fn(|k| unsafe { words.add(k).as_ref() }.load(Ordering::Relaxed)))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // A launch that nobody waited for may still write. Nothing is left to do if any of this fails; of a context
        // that is lost, nothing writes any more, but the driver frees it with the context.
        if self.gpu.quiet().and_then(|()| self.gpu.wait()).and_then(|()| self.gpu.enter()).is_ok() {
            // SAFETY: it was allocated like this, and is freed once.
            let _ = unsafe { result::free_host(self.host.as_ptr()) };
        }
    }
}
