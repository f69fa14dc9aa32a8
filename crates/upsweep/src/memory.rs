//! Memory of a device, whichever backend it has.

use crate::backend::{Kind, wrong_device};
use crate::{Device, Element, Result, cuda, gpu};

/// Items in it, of an array of ours or of the caller's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range<'a> {
    Wgpu(gpu::Range<'a>),
    Cuda(cuda::Range<'a>),
}

impl<'a> Range<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Range::Wgpu(range) => range.len(),
            Range::Cuda(range) => range.len(),
        }
    }

    /// The first items, of which there are no fewer.
    pub(crate) fn first(self, items: usize) -> Self {
        match self {
            Range::Wgpu(range) => Range::Wgpu(range.first(items)),
            Range::Cuda(range) => Range::Cuda(range.first(items)),
        }
    }

    /// The same items, whose number is the one of `length`.
    pub(crate) fn with_length(self, length: Self) -> Result<Self> {
        match (self, length) {
            (Range::Wgpu(range), Range::Wgpu(length)) => {
                Ok(Range::Wgpu(range.with_length(length)?))
            }
            (Range::Cuda(range), Range::Cuda(length)) => {
                Ok(Range::Cuda(range.with_length(length)?))
            }
            (range, length) => Err(wrong_device(range.device(), length.device())),
        }
    }

    /// Whether only the device knows how many of them there are.
    pub(crate) fn is_bounded(&self) -> bool {
        match self {
            Range::Wgpu(range) => range.is_bounded(),
            Range::Cuda(range) => range.is_bounded(),
        }
    }

    /// Whether there are as many of them as of others, by a length in the same place.
    pub(crate) fn has_length_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Range::Wgpu(range), Range::Wgpu(other)) => range.has_length_of(other),
            (Range::Cuda(range), Range::Cuda(other)) => range.has_length_of(other),
            _ => false,
        }
    }

    /// The same items, as many of them as there are of others.
    pub(crate) fn bounded_like(self, other: Self) -> Self {
        match (self, other) {
            (Range::Wgpu(range), Range::Wgpu(other)) => Range::Wgpu(range.bounded_like(other)),
            (Range::Cuda(range), Range::Cuda(other)) => Range::Cuda(range.bounded_like(other)),
            (range, _) => range,
        }
    }

    /// All of them, whatever their length.
    pub(crate) fn whole(self) -> Self {
        match self {
            Range::Wgpu(range) => Range::Wgpu(range.whole()),
            Range::Cuda(range) => Range::Cuda(range.whole()),
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
