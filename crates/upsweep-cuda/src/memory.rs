//! Arrays of our own in the device's memory.

use core::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{result, sys};
use upsweep_core::{Dtype, Element, Error, Kind, Result};

use crate::device::Gpu;
use crate::slice::Slice;
use upsweep_gpu::bits::{bytes, kind, zeros};

/// Bytes of a pattern that is brought to the device once and copied there.
const PATTERN: usize = 64 << 10;

/// What memory holds in tests before something is written to it.
#[cfg(test)]
pub(crate) const POISON: u8 = 0xa5;

/// Bytes in the device's memory, freed in the end. Kernels use them in the device's own stream, or whoever owns them
/// waits for other streams before they are freed.
#[derive(Debug)]
pub struct Buffer {
    gpu: Arc<Gpu>,
    pointer: u64,
    bytes: u64,
}

impl Buffer {
    /// So many bytes, holding anything, for what comes next in the device's own stream.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and those of the device.
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self> {
        gpu.enter()?;
        let all = usize::try_from(bytes).unwrap_or(usize::MAX);
        // An empty array has an address too.
        let size = all.max(1);
        // SAFETY: the context is this device's; what is allocated is freed once, when the buffer is dropped.
        let pointer = unsafe {
            if gpu.facts.pools {
                result::malloc_async(gpu.stream.cu_stream(), size)
            } else {
                result::malloc_sync(size)
            }
        };
        match pointer {
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Err(Error::OutOfMemory { bytes: all })
            }
            pointer => {
                let pointer = gpu.did(&format!("allocating {bytes} bytes"), pointer)?;
                Ok(Self { gpu: Arc::clone(gpu), pointer, bytes })
            }
        }
    }

    /// So many bytes, all 0, for what comes next in the device's own stream. Does not wait.
    ///
    /// # Errors
    /// As [`new`](Buffer::new).
    pub(crate) fn zeros(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self> {
        let buffer = Self::new(gpu, bytes)?;
        buffer.set(0)?;
        Ok(buffer)
    }

    /// Makes every byte this one, in the device's own stream.
    pub(crate) fn set(&self, byte: u8) -> Result<()> {
        self.gpu.enter()?;
        let stream = self.gpu.stream.cu_stream();
        // SAFETY: these bytes are ours.
        let set =
            unsafe { result::memset_d8_async(self.pointer, byte, self.bytes as usize, stream) };
        self.gpu.did("filling memory", set)
    }

    /// Address of the first byte, a multiple of 256.
    pub(crate) fn pointer(&self) -> u64 {
        self.pointer
    }

    /// How many bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first `items` items of this kind.
    ///
    /// # Errors
    /// [`Error::Buffer`] if there are fewer.
    pub(crate) fn slice(&self, kind: Kind, items: u64) -> Result<Slice<'_>> {
        let slice = Slice::at(self.pointer, kind, items)?;
        if slice.bytes() > self.bytes {
            let reason = format!("{} bytes do not hold {items} items of {kind}", self.bytes);
            return Err(Error::Buffer { reason });
        }
        Ok(slice)
    }

    /// Writes a word at byte `at`, in the device's own stream: also into a graph, which a copy from the host would end.
    pub(crate) fn set_word(&self, at: u64, word: u64) -> Result<()> {
        debug_assert!(at.is_multiple_of(4) && at + 8 <= self.bytes);
        self.gpu.enter()?;
        let stream = self.gpu.stream.cu_stream();
        for (place, half) in [(at, word as u32), (at + 4, (word >> 32) as u32)] {
            // SAFETY: these bytes are ours.
            let set = unsafe { sys::cuMemsetD32Async(self.pointer + place, half, 1, stream) };
            self.gpu.did("filling memory", set.result())?;
        }
        Ok(())
    }

    /// Copies bytes from the host to byte `at` on; returns when they are read.
    pub(crate) fn write(&self, at: u64, from: &[u8]) -> Result<()> {
        debug_assert!(at + from.len() as u64 <= self.bytes);
        // SAFETY: the bytes are ours.
        unsafe { self.gpu.copy_in(self.pointer + at, from) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Nothing is left to do if any of this fails; of a context that is lost, the memory is too.
        if self.gpu.quiet().and_then(|()| self.gpu.enter()).is_err() {
            return;
        }
        // SAFETY: it was allocated like this and is freed once; what used it runs in this stream, or is done.
        let _ = unsafe {
            if self.gpu.facts.pools {
                result::free_async(self.pointer, self.gpu.stream.cu_stream())
            } else {
                result::free_sync(self.pointer)
            }
        };
    }
}

/// Items in memory of their own.
#[derive(Clone, Debug)]
pub struct Memory {
    buffer: Arc<Buffer>,
    kind: Kind,
    items: u64,
}

impl Memory {
    /// Room for `len` items of type `T`, all bits 0.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and [`Error::ElementUnsupported`] for what kernels do not have.
    pub fn new<T: Element>(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        let memory = Self::room::<T>(gpu, len)?;
        memory.buffer.set(0)?;
        gpu.wait()?;
        Ok(memory)
    }

    /// Room for `len` items of type `T`, holding anything, for what comes next in the device's own stream. Does not wait.
    ///
    /// # Errors
    /// As [`new`](Memory::new).
    pub fn room<T: Element>(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        let kind = kind::<T>(gpu.id())?;
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
        let buffer = Arc::new(Buffer::new(gpu, bytes as u64)?);
        Ok(Self { buffer, kind, items: len as u64 })
    }

    /// A copy of `items`.
    ///
    /// # Errors
    /// As [`new`](Memory::new).
    pub fn holding<T: Element>(gpu: &Arc<Gpu>, items: &[T]) -> Result<Self> {
        let memory = Self::room::<T>(gpu, items.len())?;
        memory.buffer.write(0, &bytes(items))?;
        Ok(memory)
    }

    /// `len` items, each `value`.
    ///
    /// # Errors
    /// As [`new`](Memory::new).
    pub fn filled<T: Element>(gpu: &Arc<Gpu>, len: usize, value: T) -> Result<Self> {
        let memory = Self::room::<T>(gpu, len)?;
        let pattern = vec![value; len.min(PATTERN / size_of::<T>().max(1))];
        let pattern = bytes(&pattern);
        memory.buffer.write(0, &pattern)?;
        let (mut done, all) = (pattern.len() as u64, memory.buffer.bytes);
        // What is there is copied behind itself, twice as much each time.
        while done < all {
            let piece = done.min(all - done);
            let (from, to) = (memory.buffer.pointer, memory.buffer.pointer + done);
            let stream = gpu.stream.cu_stream();
            // SAFETY: both ranges are ours, and apart: the second begins where the first ends, or behind it.
            let copied = unsafe { result::memcpy_dtod_async(to, from, piece as usize, stream) };
            gpu.did("filling memory", copied)?;
            done += piece;
        }
        gpu.wait()?;
        Ok(memory)
    }

    /// Replaces all items.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many.
    pub fn replace<T: Element>(&self, items: &[T]) -> Result<()> {
        if items.len() != self.len() {
            return Err(Error::LengthMismatch { input: items.len(), output: self.len() });
        }
        self.check::<T>()?;
        self.buffer.write(0, &bytes(items))
    }

    /// A copy in the host's memory. Waits for what writes the items in the device's own stream.
    ///
    /// # Errors
    /// Those of the device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let gpu = self.gpu();
        self.check::<T>()?;
        let unknown = || gpu.failed(format!("an array of unknown type {}", self.kind));
        let mut items = zeros(self.len()).ok_or_else(unknown)?;
        gpu.read_back(&self.slice(), &mut items)?;
        Ok(items)
    }

    /// Checks that items have this type.
    fn check<T: Element>(&self) -> Result<()> {
        let kind = kind::<T>(self.gpu().id())?;
        if kind != self.kind {
            let reason = format!("an array of {} is used as one of {kind}", self.kind);
            return Err(Error::Buffer { reason });
        }
        Ok(())
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.buffer.gpu
    }

    /// All items.
    pub fn slice(&self) -> Slice<'_> {
        // The buffer was made for so many items of this type.
        match Slice::at(self.buffer.pointer, self.kind, self.items) {
            Ok(slice) => slice,
            Err(_) => unreachable!("allocations begin at multiples of 256"),
        }
    }

    /// The same bits as numbers of another type of the same size.
    #[must_use]
    pub fn bits_as(mut self, dtype: Dtype) -> Self {
        debug_assert_eq!(self.kind.size(), dtype.size());
        self.kind = dtype.into();
        self
    }

    /// The first items alone, in the same memory.
    #[must_use]
    pub fn truncated(mut self, len: usize) -> Self {
        self.items = self.items.min(len as u64);
        self
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        usize::try_from(self.items).unwrap_or(usize::MAX)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }
}

impl Gpu {
    /// Copies items of the device to the host, and waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ElementUnsupported`] for what kernels do not have, and those of the device.
    pub fn read_back<T: Element>(&self, from: &Slice<'_>, to: &mut [T]) -> Result<()> {
        if from.items != to.len() as u64 {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        kind::<T>(self.id())?;
        T::fill(to, |to| {
            // SAFETY: whoever made the slice promised that the memory is there.
            self.in_order(&self.stream, [from], || unsafe { self.copy_out(from.pointer, to) })
        })
    }

    /// Copies bytes to the device in its own stream, and waits until they are read.
    ///
    /// # Safety
    /// So many bytes from the address on may be written.
    pub(crate) unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.enter()?;
        // SAFETY: as promised; the host's bytes are there until the wait below is over.
        let copied = unsafe { result::memcpy_htod_async(to, from, self.stream.cu_stream()) };
        self.did("copying to the device", copied)?;
        self.wait()
    }

    /// Copies bytes of the device to the host in its own stream, and waits for it.
    ///
    /// # Safety
    /// So many bytes from the address on may be read.
    pub(crate) unsafe fn copy_out(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let (host, bytes) = (to.as_mut_ptr().cast::<c_void>(), to.len());
        // SAFETY: as promised; the host's bytes are there until the wait below is over.
        let copied =
            unsafe { sys::cuMemcpyDtoHAsync_v2(host, from, bytes, self.stream.cu_stream()) };
        let copied = self.did("copying to the host", copied.result());
        // Even then: nothing may write to the host's bytes any more.
        copied.and(self.wait())
    }
}
