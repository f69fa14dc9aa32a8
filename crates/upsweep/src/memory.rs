//! Memory of a device, whichever backend it has.

use crate::backend::Kind;
use crate::{Device, Element, Result, cuda, gpu};

/// Items in it, of an array of ours or of the caller's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range<'a> {
    Wgpu(gpu::Range<'a>),
    Cuda(cuda::Range<'a>),
}

impl Range<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Range::Wgpu(range) => range.len(),
            Range::Cuda(range) => range.len(),
        }
    }

    /// The same bits as items of another type of the same size.
    pub(crate) fn bits_as(self, dtype: crate::Dtype) -> Self {
        match self {
            Range::Wgpu(range) => Range::Wgpu(range.bits_as(dtype)),
            Range::Cuda(range) => Range::Cuda(range.bits_as(dtype)),
        }
    }

    /// The device, if it is known: that of an array of ours.
    pub(crate) fn home(&self) -> Option<Device> {
        match self {
            Range::Wgpu(range) => range.home().map(Kind::Wgpu).map(Device::of),
            Range::Cuda(range) => range.home().map(Kind::Cuda).map(Device::of),
        }
    }

    /// The id of the device, or the backend's name where that is not known.
    pub(crate) fn device(&self) -> &str {
        match self {
            Range::Wgpu(range) => range.device(),
            Range::Cuda(range) => range.device(),
        }
    }
}

/// An array of ours.
#[derive(Debug)]
pub(crate) enum Memory {
    Wgpu(gpu::Memory),
    Cuda(cuda::Memory),
}

impl Memory {
    pub(crate) fn truncated(self, len: usize) -> Self {
        match self {
            Memory::Wgpu(memory) => Memory::Wgpu(memory.truncated(len)),
            Memory::Cuda(memory) => Memory::Cuda(memory.truncated(len)),
        }
    }

    /// The same bits as items of another type of the same size.
    #[cfg(feature = "any")]
    pub(crate) fn bits_as(self, dtype: crate::Dtype) -> Self {
        match self {
            Memory::Wgpu(memory) => Memory::Wgpu(memory.bits_as(dtype)),
            Memory::Cuda(memory) => Memory::Cuda(memory.bits_as(dtype)),
        }
    }

    pub(crate) fn range(&self) -> Range<'_> {
        match self {
            Memory::Wgpu(memory) => Range::Wgpu(memory.range()),
            Memory::Cuda(memory) => Range::Cuda(memory.range()),
        }
    }

    pub(crate) fn replace<T: Element>(&self, items: &[T]) -> Result<()> {
        match self {
            Memory::Wgpu(memory) => memory.replace(items),
            Memory::Cuda(memory) => memory.replace(items),
        }
    }

    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        match self {
            Memory::Wgpu(memory) => memory.to_vec(),
            Memory::Cuda(memory) => memory.to_vec(),
        }
    }
}
