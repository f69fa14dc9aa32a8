//! Where a kernel leaves a result for the host: memory of the host that the device writes to.
//!
//! ```text
//!   byte 0: number of the message    byte 8 …: the message, 56 bytes
//! ```
//! The kernel writes the message, orders it before what follows for the whole system (`__threadfence_system`), and then
//! writes the number. The host looks at the number: so a small result needs one launch, no copy, and no wait of the
//! driver's, which costs some ten microseconds. Whoever sees the number sees the message.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use upsweep_core::Result;

use crate::device::Gpu;
use crate::mapped::{BYTES, Mapped};

/// Byte at which the message begins.
pub(crate) const MESSAGE: u64 = 8;

/// Words of 8 bytes of a message.
pub(crate) const MESSAGE_WORDS: usize = (BYTES - MESSAGE as usize) / 8;

/// How long the host looks before it lets the driver wait: beyond this, what the driver's wait costs does not count.
const PATIENCE: Duration = Duration::from_micros(500);

/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// A mailbox that one launch at a time writes to.
#[derive(Debug)]
pub(crate) struct Mailbox {
    gpu: Arc<Gpu>,
    memory: Mapped,
    /// Number of the last message that was asked for.
    number: u32,
}

impl Mailbox {
    /// An empty mailbox.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let memory = gpu.did("allocating a mailbox", Mapped::new(gpu.context()))?;
        Ok(Self { gpu: Arc::clone(gpu), memory, number: 0 })
    }

    /// The address that kernels know it by, and the number to write for the next message. It is never 0.
    pub(crate) fn next(&mut self) -> (u64, u32) {
        self.number = self.number.checked_add(1).unwrap_or(1);
        (self.memory.device(), self.number)
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
        if self.memory.first().load(Ordering::Acquire) != self.number {
            return None;
        }
        let first = MESSAGE as usize / 8;
        Some(core::array::from_fn(|k| self.memory.word(first + k).load(Ordering::Relaxed)))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // A launch that nobody waited for may still write; in a context that is lost, nothing writes any more.
        let _ = self.gpu.quiet().and_then(|()| self.gpu.synchronize(self.gpu.stream()));
    }
}
