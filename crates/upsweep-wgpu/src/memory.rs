//! Arrays of our own in the device's memory.

use std::sync::Arc;

use upsweep_core::{Element, Error, Result};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::slice::Slice;
use upsweep_gpu::bits::{bytes, kind, zeros};

/// Items in a buffer of their own.
#[derive(Clone, Debug)]
pub struct Memory {
    gpu: Arc<Gpu>,
    buffer: wgpu::Buffer,
    items: u64,
}

/// What arrays can be used for besides being bound by kernels.
const USAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// Bytes that are on their way at once.
const PIECE: usize = 64 << 20;

impl Memory {
    /// Room for `len` items of type `T`, all bits 0.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and [`Error::ElementUnsupported`] for what kernels do not have.
    pub fn new<T: Element>(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        kind::<T>(gpu.id())?;
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
        let buffer = gpu.buffer("array", bytes as u64, USAGE)?;
        Ok(Self { gpu: Arc::clone(gpu), buffer, items: len as u64 })
    }

    /// A copy of `items`.
    ///
    /// # Errors
    /// As [`new`](Memory::new).
    pub fn holding<T: Element>(gpu: &Arc<Gpu>, items: &[T]) -> Result<Self> {
        let memory = Self::new::<T>(gpu, items.len())?;
        memory.write(&bytes(items))?;
        Ok(memory)
    }

    /// `len` items, each `value`.
    ///
    /// # Errors
    /// As [`new`](Memory::new).
    pub fn filled<T: Element>(gpu: &Arc<Gpu>, len: usize, value: T) -> Result<Self> {
        let memory = Self::new::<T>(gpu, len)?;
        let items = vec![value; len.min(PIECE / size_of::<T>().max(1))];
        let piece = bytes(&items);
        let mut left = len * size_of::<T>();
        while left > 0 {
            let take = left.min(piece.len());
            memory.put((len * size_of::<T>() - left) as u64, &piece[..take])?;
            left -= take;
        }
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
        self.write(&bytes(items))
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        (0u64..)
            .zip(bytes.chunks(PIECE))
            .try_for_each(|(number, piece)| self.put(number * PIECE as u64, piece))
    }

    /// Writes bytes from a multiple of four on; buffers have room up to the next.
    fn put(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
        self.gpu.write(&self.buffer, at, whole)?;
        if !rest.is_empty() {
            let mut word = [0; 4];
            word[..rest.len()].copy_from_slice(rest);
            self.gpu.write(&self.buffer, at + whole.len() as u64, &word)?;
        }
        if bytes.len() > PIECE / 2 {
            // What is on its way takes memory of the host until it is submitted.
            self.gpu.scoped(|| self.gpu.queue.submit([]))?;
        }
        Ok(())
    }

    /// A copy in the host's memory. Waits for what writes the items.
    ///
    /// # Errors
    /// Those of the device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let kind = kind::<T>(self.gpu.id())?;
        let unknown = || self.gpu.failed(format!("an array of unknown type {kind}"));
        let mut items = zeros(self.len()).ok_or_else(unknown)?;
        self.gpu.read_back(self.slice(), &mut items)?;
        Ok(items)
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The buffer.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// All items.
    pub fn slice(&self) -> Slice<'_> {
        Slice::of_buffer(&self.buffer, self.items)
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
    pub fn read_back<T: Element>(&self, from: Slice<'_>, to: &mut [T]) -> Result<()> {
        if from.items != to.len() as u64 {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        kind::<T>(self.id())?;
        self.settle()?;
        T::fill(to, |to| self.download(from.buffer, from.offset, to))
    }
}
