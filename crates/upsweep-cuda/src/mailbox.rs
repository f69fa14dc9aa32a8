//! Where a kernel leaves a result for the host: memory of the host that the device writes to.
//!
//! ```text
//!   bytes 0 … 3  word 0 of the result    4 … 7  number of the message
//!   bytes 8 … 11 word 1                 12 … 15 number of the message      …
//! ```
//! Each word is stored together with the number of the message, so that it proves itself: the kernel need not wait, as a fence
//! would, until the host's memory has one before it stores the other. The host looks at all: so a small result needs one
//! launch, no copy, and no wait of the driver's, which costs some ten microseconds.
//!
//! A number of 64 bits that is never the largest, such as a count, may stand there alone: a kernel stores it at once, as it would in the device's
//! memory, and knows of no mailbox.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use upsweep_core::Result;
use upsweep_gpu::bits::{MOST_WORDS, Words};

use crate::device::Gpu;
use crate::mapped::Mapped;

/// What kernels need to leave a message.
pub(crate) const TEXT: &str = include_str!("mailbox.cuh");

/// How long the host looks before it lets the driver wait: beyond this, what the driver's wait costs does not count.
const PATIENCE: Duration = Duration::from_micros(500);

/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// What stands where no number has come yet.
const NO_NUMBER: u64 = u64::MAX;

/// A mailbox that one launch at a time writes to.
#[derive(Debug)]
pub struct Mailbox {
    gpu: Arc<Gpu>,
    memory: Mapped,
    /// Words of a message.
    words: usize,
    /// Number of the last message that was asked for.
    number: u32,
}

impl Mailbox {
    /// An empty mailbox for messages of so many words.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn new(gpu: &Arc<Gpu>, words: u32) -> Result<Self> {
        let memory = gpu.did("allocating a mailbox", Mapped::new(gpu.context()))?;
        Ok(Self { gpu: Arc::clone(gpu), memory, words: words as usize, number: 0 })
    }

    /// Words of a message.
    pub(crate) fn words(&self) -> u32 {
        self.words as u32
    }

    /// The address that kernels know it by, and the number to write for the next message. It is never 0.
    pub(crate) fn next(&mut self) -> (u64, u32) {
        self.number = self.number.checked_add(1).unwrap_or(1);
        (self.memory.device(), self.number)
    }

    /// The address that kernels know it by.
    pub(crate) fn device(&self) -> u64 {
        self.memory.device()
    }

    /// Empties the mailbox for a number, which the next launch leaves.
    pub(crate) fn expect_number(&self) {
        self.memory.word(0).store(NO_NUMBER, Ordering::Release);
    }

    /// Waits for the number, which something in this stream will leave.
    ///
    /// # Errors
    /// As [`wait`](Mailbox::wait).
    pub(crate) fn number(&self, stream: &CudaStream) -> Result<u64> {
        let word = self.memory.word(0);
        let look = || Some(word.load(Ordering::Acquire)).filter(|&number| number != NO_NUMBER);
        self.wait_until(stream, look)
    }

    /// Makes room for messages, for none of which a number is mistaken.
    pub(crate) fn forget_number(&self) {
        self.memory.word(0).store(0, Ordering::Relaxed);
    }

    /// Waits for the message as [`wait`](Mailbox::wait) does, and empties the mailbox, so that the next message may have the same
    /// number.
    ///
    /// # Errors
    /// As [`wait`](Mailbox::wait).
    pub(crate) fn take(&self, stream: &CudaStream) -> Result<Words> {
        let message = self.wait(stream)?;
        for word in 0..self.words {
            self.memory.word(word).store(0, Ordering::Relaxed);
        }
        Ok(message)
    }

    /// Waits for the message that was last asked for, which something in this stream will leave.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`](upsweep_core::Error::DeviceFailed) if all work in the stream is done and there is no
    /// message, or the device failed.
    pub(crate) fn wait(&self, stream: &CudaStream) -> Result<Words> {
        self.wait_until(stream, || self.look())
    }

    /// Looks until something is there, or all work in the stream is done.
    fn wait_until<R>(&self, stream: &CudaStream, look: impl Fn() -> Option<R>) -> Result<R> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            for _ in 0..LOOKS {
                if let Some(found) = look() {
                    return Ok(found);
                }
                core::hint::spin_loop();
            }
        }
        self.gpu.wait_for(stream)?;
        look().ok_or_else(|| self.gpu.failed("a kernel left no result"))
    }

    /// The message, if it has come.
    fn look(&self) -> Option<Words> {
        let mut message = [0; MOST_WORDS];
        for (number, to) in message[..self.words].iter_mut().enumerate() {
            let word = self.memory.word(number).load(Ordering::Acquire);
            *to = ((word >> 32) as u32 == self.number).then_some(word as u32)?;
        }
        Some(message)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // A launch that nobody waited for may still write; in a context that is lost, nothing writes any more.
        let _ = self.gpu.quiet().and_then(|()| self.gpu.synchronize(self.gpu.stream()));
    }
}
