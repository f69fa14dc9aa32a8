//! Ranges of the device's memory.

use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use upsweep_core::{Dtype, Error, Kind, Number, Result};
use upsweep_gpu::Part;

use crate::device::Gpu;
use crate::shader::types::alignment;

/// Bytes of the widest access of a thread.
const WIDEST: u64 = 16;

/// Items in the device's memory. The memory is the caller's or ours; nothing is copied.
///
/// What is launched on it runs in the stream that the call is given, or the device's own. A launch on an array of cudarc's
/// waits for what was done to the array before, and cudarc is told of it, in whatever streams that is.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Address of the first item.
    pub(crate) pointer: u64,
    pub(crate) kind: Kind,
    pub(crate) items: u64,
    /// Where the number of items is, if `items` is no more than its bound.
    length: Option<Length<'a>>,
    owner: Option<Owner<'a>>,
    memory: PhantomData<&'a [u8]>,
}

/// Where in the device's memory a number of items is: a `u64`.
#[derive(Clone, Copy, Debug)]
struct Length<'a> {
    pointer: u64,
    owner: Option<Owner<'a>>,
}

/// What cudarc keeps of an array of its own.
#[derive(Clone, Copy, Debug)]
struct Owner<'a> {
    /// The stream that waits for everything that was done to the array so far, and in which it is freed.
    stream: &'a CudaStream,
    /// To be recorded behind what is done next; `None` if cudarc leaves order to its user.
    event: Option<&'a CudaEvent>,
}

/// The event that would be recorded when a guard is dropped.
fn event_of<'a>(mut guard: SyncOnDrop<'a>) -> Option<&'a CudaEvent> {
    match &mut guard {
        SyncOnDrop::Record(target) => target.take().map(|(event, _)| event),
        SyncOnDrop::Sync(_) => None,
    }
}

impl<'a> Slice<'a> {
    /// `items` items of this kind from address `pointer` of the device's memory on.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the items are not aligned to their own size, structures to the largest power of two up to 16 that
    /// divides theirs, or reach over the end of all addresses.
    ///
    /// # Safety
    /// The memory can be reached by the device that the slice is used on, until all work on it is done; while
    /// something is written to it, nothing else reads or writes it. Of the 16 bytes, counted from a multiple of 16, in which an
    /// array begins or ends, all can be read; CUDA allocates no less.
    pub unsafe fn from_raw(pointer: u64, kind: impl Into<Kind>, items: u64) -> Result<Self> {
        Self::at(pointer, kind, items)
    }

    /// All items of an array of cudarc's, or of a part of one, to read.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the items are not aligned to their own size, which those of a whole array are.
    pub fn of<T: Number>(array: &'a impl DevicePtr<T>) -> Result<Self> {
        let stream: &CudaStream = array.stream();
        let (pointer, guard) = array.device_ptr(stream);
        let owner = Some(Owner { stream, event: event_of(guard) });
        Ok(Self { owner, ..Self::at(pointer, T::DTYPE, array.len() as u64)? })
    }

    /// All items of an array of cudarc's, or of a part of one, to write.
    ///
    /// # Errors
    /// As [`of`](Slice::of).
    pub fn of_mut<T: Number>(array: &'a mut impl DevicePtrMut<T>) -> Result<Self> {
        let stream = Arc::clone(array.stream());
        let (pointer, guard) = array.device_ptr_mut(&stream);
        let event = event_of(guard).map(core::ptr::from_ref);
        let items = array.len() as u64;
        // SAFETY: the event is the array's, which is borrowed as long as the slice lives.
        let event = event.map(|event| unsafe { &*event });
        let owner = Some(Owner { stream: array.stream(), event });
        Ok(Self { owner, ..Self::at(pointer, T::DTYPE, items)? })
    }

    /// As [`from_raw`](Slice::from_raw), for memory that is known.
    pub(crate) fn at(pointer: u64, kind: impl Into<Kind>, items: u64) -> Result<Self> {
        let kind = kind.into();
        if !pointer.is_multiple_of(alignment(kind)) {
            return Err(Error::Buffer {
                reason: format!("items of {kind} cannot begin at address {pointer:#x}"),
            });
        }
        let size = kind.size() as u64;
        if items.checked_mul(size).and_then(|bytes| bytes.checked_add(pointer)).is_none() {
            return Err(Error::Buffer {
                reason: format!("there is no room for {items} items of {kind}"),
            });
        }
        Ok(Self { pointer, kind, items, length: None, owner: None, memory: PhantomData })
    }

    /// The items of these numbers.
    ///
    /// # Errors
    /// [`Error::Buffer`] if there are not as many.
    pub fn part(&self, range: Range<u64>) -> Result<Self> {
        if range.start > range.end || range.end > self.items {
            let Range { start, end } = range;
            let reason = format!("items {start} to {end} are not among {} items", self.items);
            return Err(Error::Buffer { reason });
        }
        let pointer = self.pointer + range.start * self.kind.size() as u64;
        // From another item on there are others.
        let length = self.length.filter(|_| range.start == 0);
        Ok(Self { pointer, items: range.end - range.start, length, ..*self })
    }

    /// Whether the memory is borrowed from cudarc, no longer than the slice lives.
    pub fn is_borrowed(&self) -> bool {
        self.owner.is_some()
    }

    /// Address of the first item.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }

    /// The same bits as numbers of another type of the same size.
    #[must_use]
    pub fn bits_as(self, dtype: Dtype) -> Self {
        debug_assert_eq!(self.kind.size(), dtype.size());
        Self { kind: dtype.into(), ..self }
    }

    /// What the items are.
    pub fn kind(&self) -> Kind {
        self.kind
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

    /// Bytes of all items.
    pub(crate) fn bytes(&self) -> u64 {
        self.items * self.kind.size() as u64
    }

    /// The width in bytes, at most 16, of the widest access that may begin at the first item.
    pub(crate) fn width(&self) -> u32 {
        1 << u64::from(self.pointer.trailing_zeros()).min(u64::from(WIDEST.trailing_zeros()))
    }

    /// Checks that there are so many bytes.
    pub(crate) fn check_holds(&self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.bytes() {
            let reason = format!("{} bytes are not {bytes}", self.bytes());
            return Err(Error::Buffer { reason });
        }
        Ok(())
    }
}

impl Part for Slice<'_> {
    fn len(&self) -> usize {
        Slice::len(self)
    }

    fn kind(&self) -> Option<Kind> {
        Some(self.kind)
    }

    fn part(&self, kind: Kind, range: Range<usize>) -> Self {
        let pointer = self.pointer + range.start as u64 * kind.size() as u64;
        // From another item on there are others.
        let length = self.length.filter(|_| range.start == 0);
        Self { pointer, items: range.len() as u64, length, ..*self }
    }

    fn length(&self) -> Option<Self> {
        let Length { pointer, owner } = self.length?;
        let kind = Kind::Number(Dtype::U64);
        Some(Self { pointer, kind, items: 1, length: None, owner, memory: PhantomData })
    }

    fn with_length(self, length: Self) -> Self {
        let Self { pointer, owner, .. } = length;
        Self { length: Some(Length { pointer, owner }), ..self }
    }

    fn whole(self) -> Self {
        Slice::whole(self)
    }

    fn is(&self, other: &Self) -> bool {
        self.pointer == other.pointer
    }

    fn check_apart(&self, written: &Self) -> Result<()> {
        let ends = [self, written].map(|slice| slice.pointer + slice.bytes());
        let meet = self.pointer < ends[1] && written.pointer < ends[0];
        if meet && self.items > 0 && written.items > 0 {
            return Err(Error::Buffer {
                reason: format!(
                    "{} bytes are read from address {:#x} on and {} bytes are written from address {:#x} on; what is \
                     written must be elsewhere, or in place",
                    self.bytes(),
                    self.pointer,
                    written.bytes(),
                    written.pointer
                ),
            });
        }
        Ok(())
    }
}

impl Gpu {
    /// Does `work` in a stream: after what was done to the arrays before, and before what cudarc does to them next.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if an array is in another context, and those of the work.
    pub(crate) fn in_order<'a, 'b: 'a, R>(
        &self,
        stream: &CudaStream,
        slices: impl IntoIterator<Item = &'a Slice<'b>, IntoIter: Clone>,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let slices = slices.into_iter();
        let owners = || slices.clone().filter_map(|slice| slice.owner);
        for owner in owners() {
            self.check_context(owner.stream)?;
            if owner.stream.cu_stream() != stream.cu_stream() {
                self.did("waiting for another stream", stream.join(owner.stream))?;
            }
        }
        let done = work()?;
        for owner in owners() {
            let kept = stream.context().is_managing_stream_synchronization();
            let told = match owner.event.filter(|_| kept) {
                Some(event) => event.record(stream),
                None if owner.stream.cu_stream() == stream.cu_stream() => Ok(()),
                None => owner.stream.join(stream),
            };
            self.did("making another stream wait", told)?;
        }
        Ok(done)
    }

    /// Checks that a stream is one of this device's context.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub(crate) fn check_context(&self, stream: &CudaStream) -> Result<()> {
        let (other, own) = (stream.context(), self.context());
        if other.cu_ctx() == own.cu_ctx() {
            return Ok(());
        }
        let array = format!("cuda:{} in another context", other.ordinal());
        Err(Error::WrongDevice { array, device: self.id().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use upsweep_core::Dtype;

    use super::*;

    fn slice(pointer: u64, dtype: Dtype, items: u64) -> Slice<'static> {
        Slice::at(pointer, dtype, items).expect("a slice")
    }

    #[test]
    fn the_address_says_how_wide_accesses_may_be() {
        for (pointer, width) in [(0x1000, 16), (0x1008, 8), (0x100c, 4), (0x1002, 2), (0x1001, 1)] {
            let slice = slice(pointer, Dtype::U8, 100);
            assert_eq!(slice.width(), width);
        }
    }

    #[test]
    fn parts_are_among_the_items() {
        let all = slice(0x1000, Dtype::U32, 10);
        let part = all.part(3..10).expect("it is among them");
        assert_eq!((part.pointer(), part.len(), part.kind()), (0x100c, 7, Dtype::U32.into()));
        assert!(part.part(7..7).expect("it is among them").is_empty());
        for (start, end) in [(0, 8), (8, 8), (5, 4)] {
            assert!(part.part(start..end).is_err());
        }
    }

    #[test]
    fn items_begin_at_multiples_of_their_size() {
        for dtype in Dtype::ALL {
            let size = dtype.size() as u64;
            for offset in 0..16 {
                assert_eq!(
                    Slice::at(0x1000 + offset, dtype, 1).is_ok(),
                    offset % size == 0,
                    "{dtype} {offset}"
                );
            }
            assert!(Slice::at(u64::MAX - 15, dtype, 16 / size).is_err());
            assert!(Slice::at(0x1000, dtype, u64::MAX).is_err() || dtype.size() == 1);
        }
    }

    #[test]
    fn ranges_that_share_a_byte_are_not_apart() {
        let read = slice(0x1000, Dtype::U32, 4);
        for (pointer, apart) in
            [(0xff0, true), (0xff4, false), (0x1000, false), (0x100c, false), (0x1010, true)]
        {
            assert_eq!(
                read.check_apart(&slice(pointer, Dtype::U32, 4)).is_ok(),
                apart,
                "{pointer:#x}"
            );
        }
        assert!(read.check_apart(&slice(0x1004, Dtype::U32, 0)).is_ok(), "nothing is written");
    }
}
