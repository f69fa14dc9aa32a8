//! Ranges of buffers.

use core::ops::Range;

use upsweep_core::{Dtype, Error, Kind, Result};
use upsweep_gpu::Part;
use upsweep_gpu::layout::{is_whole, width_of};

/// Items in a range of a buffer. The buffer is the caller's or ours; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    /// Byte at which the first item begins.
    pub(crate) offset: u64,
    pub(crate) items: u64,
    /// Where the number of items is, if `items` is no more than its bound.
    pub(crate) length: Option<Length<'a>>,
}

/// Where in the device's memory a number of items is: a `u64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) offset: u64,
}

/// A piece of a slice that one binding can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Number of its first item.
    pub(crate) first: u64,
    pub(crate) items: u32,
    /// The binding: byte at which it begins, and its length.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Items in the binding in front of the first.
    pub(crate) start: u32,
}

impl<'a> Slice<'a> {
    /// `items` items of this kind from byte `offset` of `buffer` on.
    ///
    /// The buffer must be of the device that it is used on. One of another device of the same [`wgpu::Instance`] is
    /// an error when it is used; of another instance wgpu cannot tell, and may take another buffer for it.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the buffer is too short, its usage does not contain `STORAGE`, or the items are not
    /// aligned to their own size.
    pub fn new(
        buffer: &'a wgpu::Buffer,
        kind: impl Into<Kind>,
        offset: u64,
        items: u64,
    ) -> Result<Self> {
        let kind = kind.into();
        let refused = |reason| Err(Error::Buffer { reason });
        let end = items.checked_mul(kind.size() as u64).and_then(|bytes| bytes.checked_add(offset));
        if end.is_none_or(|end| end > buffer.size()) {
            return refused(format!(
                "a buffer of {} bytes does not hold {items} items of {kind} from byte {offset} on",
                buffer.size()
            ));
        }
        if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
            return refused(format!("a buffer needs usage STORAGE, and has {:?}", buffer.usage()));
        }
        if !offset.is_multiple_of(kind.size() as u64) {
            return refused(format!("items of {kind} cannot begin at byte {offset}"));
        }
        Ok(Self { buffer, offset, items, length: None })
    }

    /// The first `items` items of a buffer of ours, which has as many.
    pub(crate) fn of_buffer(buffer: &'a wgpu::Buffer, items: u64) -> Self {
        Self { buffer, offset: 0, items, length: None }
    }

    /// The first `bytes` bytes from where it begins, each as an item.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the buffer has fewer.
    pub fn first_bytes(&self, bytes: u64) -> Result<Self> {
        Self::new(self.buffer, Dtype::U8, self.offset, bytes)
    }

    /// All of these items, whatever their length.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { length: None, ..self }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        usize::try_from(self.items).unwrap_or(usize::MAX)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Checks that bytes can be copied to the buffer, and from there, if that is wanted.
    pub(crate) fn check_copies(&self, to: bool, from: bool) -> Result<()> {
        for (wanted, usage, name) in [
            (to, wgpu::BufferUsages::COPY_DST, "COPY_DST"),
            (from, wgpu::BufferUsages::COPY_SRC, "COPY_SRC"),
        ] {
            if wanted && !self.buffer.usage().contains(usage) {
                let reason = format!(
                    "the buffer for the number of segments needs the usage {name} for this call"
                );
                return Err(Error::Buffer { reason });
            }
        }
        Ok(())
    }

    /// The width of accesses, at most `wanted` bytes, with which every item can be reached, and whether the first
    /// item begins an access.
    pub(crate) fn access(&self, kind: Kind, alignment: u64, wanted: u32) -> (u32, bool) {
        if is_whole(kind) {
            return (width_of(kind, wanted), true);
        }
        let size = kind.size() as u64;
        let end = self.offset + self.items * size;
        let mut width = u64::from(width_of(kind, wanted));
        // Bindings begin at multiples of more than 16 bytes, and hold whole accesses only.
        while width > size.max(4) && end.next_multiple_of(width) > self.buffer.size() {
            width /= 2;
        }
        (width as u32, (self.offset % alignment).is_multiple_of(width))
    }

    /// The pieces that bindings of at most `most` bytes, beginning at multiples of `alignment`, can hold, each
    /// but the last of a multiple of `multiple` items. At least one.
    pub(crate) fn windows(
        &self,
        kind: Kind,
        most: u64,
        alignment: u64,
        multiple: u64,
    ) -> Vec<Window> {
        self.windows_of(kind, most, alignment, multiple, false)
    }

    /// As [`windows`](Slice::windows), from the end backwards if `turned`.
    pub(crate) fn windows_of(
        &self,
        kind: Kind,
        most: u64,
        alignment: u64,
        multiple: u64,
        turned: bool,
    ) -> Vec<Window> {
        let held = (most - grain(kind, alignment) - 16) / kind.size() as u64 / multiple * multiple;
        let count = self.items.div_ceil(held).max(1);
        (0..count)
            .map(|index| {
                let before = index * held;
                let items = held.min(self.items - before);
                let first = if turned { self.items - before - items } else { before };
                self.window(kind, alignment, first, items as u32)
            })
            .collect()
    }

    /// The piece of `items` items from number `first` on.
    pub(crate) fn window(&self, kind: Kind, alignment: u64, first: u64, items: u32) -> Window {
        let size = kind.size() as u64;
        let byte = self.offset + first * size;
        let grain = grain(kind, alignment);
        let offset = byte / grain * grain;
        let end = byte + u64::from(items) * size;
        // Whole accesses of every width, as far as the buffer goes.
        let bytes = (end - offset)
            .next_multiple_of(16)
            .max(16.max(size))
            .min((self.buffer.size() - offset) / 4 * 4);
        Window { first, items, offset, bytes, start: ((byte - offset) / size) as u32 }
    }
}

impl Part for Slice<'_> {
    fn len(&self) -> usize {
        Slice::len(self)
    }

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn part(&self, kind: Kind, range: Range<usize>) -> Self {
        let offset = self.offset + range.start as u64 * kind.size() as u64;
        // From another item on there are others.
        let length = self.length.filter(|_| range.start == 0);
        Self { buffer: self.buffer, offset, items: range.len() as u64, length }
    }

    fn length(&self) -> Option<Self> {
        self.length.map(|Length { buffer, offset }| Self { buffer, offset, items: 1, length: None })
    }

    fn with_length(self, length: Self) -> Self {
        let Self { buffer, offset, .. } = length;
        Self { length: Some(Length { buffer, offset }), ..self }
    }

    fn whole(self) -> Self {
        Slice::whole(self)
    }

    fn is(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.offset == other.offset
    }

    /// WebGPU does not allow that one buffer is read and written.
    fn check_apart(&self, written: &Self) -> Result<()> {
        if self.buffer == written.buffer {
            return Err(Error::Buffer {
                reason: format!(
                    "one buffer is read from byte {} on and written from byte {} on; what is written must be \
                     in another, or in place",
                    self.offset, written.offset
                ),
            });
        }
        Ok(())
    }
}

/// Where bindings may begin: at multiples of the device's alignment, of which each is one of an item's size.
pub(crate) fn grain(kind: Kind, alignment: u64) -> u64 {
    // Alignments are powers of two, of no less than 32.
    let size = kind.size() as u64;
    alignment * (size >> size.trailing_zeros())
}

impl Window {
    /// The pieces of items that lie nowhere, of at most `most`, each but the last of a multiple of `multiple`, from the end
    /// backwards if `turned`. At least one.
    pub(crate) fn of_nothing(items: u64, most: u64, multiple: u64, turned: bool) -> Vec<Self> {
        let held = most.min(u64::from(u32::MAX)) / multiple * multiple;
        let piece = |index| {
            let before = index * held;
            let own = held.min(items - before);
            let first = if turned { items - before - own } else { before };
            Self { first, items: own as u32, offset: 0, bytes: 0, start: 0 }
        };
        (0..items.div_ceil(held).max(1)).map(piece).collect()
    }

    /// The same items, which lie nowhere.
    pub(crate) fn numbers(&self) -> Self {
        Self { offset: 0, bytes: 0, start: 0, ..*self }
    }

    /// The binding of this window of `buffer`.
    pub(crate) fn binding<'a>(&self, buffer: &'a wgpu::Buffer) -> wgpu::BindingResource<'a> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: self.offset,
            size: core::num::NonZeroU64::new(self.bytes),
        })
    }
}
