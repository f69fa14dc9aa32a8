//! Ranges of the device's memory.

use core::marker::PhantomData;
use core::ops::Range;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut};
use upsweep_core::{Dtype, Error, Number, Result};

/// Bytes of the widest access of a thread.
const WIDEST: u64 = 16;

/// Items in the device's memory. The memory is the caller's or ours; nothing is copied.
///
/// What is launched on it runs in the stream that the call is given, or the device's own. A slice of an array of
/// cudarc's waits for what was done to the array before; that whatever comes after waits for the launch, in another
/// stream, is the caller's to see to.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Address of the first item.
    pub(crate) pointer: u64,
    pub(crate) dtype: Dtype,
    pub(crate) items: u64,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> Slice<'a> {
    /// `items` items of type `dtype` from address `pointer` of the device's memory on.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the items are not aligned to their own size, or reach over the end of all addresses.
    ///
    /// # Safety
    /// The memory can be reached by the device that the slice is used on, until all work on it is done; while
    /// something is written to it, nothing else reads or writes it.
    pub unsafe fn from_raw(pointer: u64, dtype: Dtype, items: u64) -> Result<Self> {
        Self::at(pointer, dtype, items)
    }

    /// All items of an array of cudarc's, to read from in `stream`.
    ///
    /// # Errors
    /// None that a whole array can have.
    pub fn of<T: Number>(array: &'a CudaSlice<T>, stream: &CudaStream) -> Result<Self> {
        let (pointer, _read) = array.device_ptr(stream);
        Self::at(pointer, T::DTYPE, array.len() as u64)
    }

    /// All items of an array of cudarc's, to write to in `stream`.
    ///
    /// # Errors
    /// None that a whole array can have.
    pub fn of_mut<T: Number>(array: &'a mut CudaSlice<T>, stream: &CudaStream) -> Result<Self> {
        let items = array.len() as u64;
        let (pointer, _written) = array.device_ptr_mut(stream);
        Self::at(pointer, T::DTYPE, items)
    }

    /// All items of a part of an array of cudarc's, to read from in `stream`.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the items are not aligned to their own size.
    pub fn of_view<T: Number>(view: &CudaView<'a, T>, stream: &CudaStream) -> Result<Self> {
        let (pointer, _read) = view.device_ptr(stream);
        Self::at(pointer, T::DTYPE, view.len() as u64)
    }

    /// All items of a part of an array of cudarc's, to write to in `stream`.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the items are not aligned to their own size.
    pub fn of_view_mut<T: Number>(
        view: &'a mut CudaViewMut<'_, T>,
        stream: &CudaStream,
    ) -> Result<Self> {
        let items = view.len() as u64;
        let (pointer, _written) = view.device_ptr_mut(stream);
        Self::at(pointer, T::DTYPE, items)
    }

    /// As [`from_raw`](Slice::from_raw), for memory that is known.
    pub(crate) fn at(pointer: u64, dtype: Dtype, items: u64) -> Result<Self> {
        let size = dtype.size() as u64;
        if !pointer.is_multiple_of(size) {
            return Err(Error::Buffer {
                reason: format!("items of {dtype} cannot begin at address {pointer:#x}"),
            });
        }
        if items.checked_mul(size).and_then(|bytes| bytes.checked_add(pointer)).is_none() {
            return Err(Error::Buffer {
                reason: format!("there is no room for {items} items of {dtype}"),
            });
        }
        Ok(Self { pointer, dtype, items, memory: PhantomData })
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
        let pointer = self.pointer + range.start * self.dtype.size() as u64;
        Ok(Self { pointer, items: range.end - range.start, ..*self })
    }

    /// Address of the first item.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }

    /// Type of the items.
    pub fn dtype(&self) -> Dtype {
        self.dtype
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
        self.items * self.dtype.size() as u64
    }

    /// The width in bytes, at most 16, of the widest access that may begin at the first item.
    pub(crate) fn width(&self) -> u32 {
        1 << u64::from(self.pointer.trailing_zeros()).min(u64::from(WIDEST.trailing_zeros()))
    }

    /// Whether this is the same range of memory.
    pub(crate) fn is(&self, other: &Slice<'_>) -> bool {
        self.pointer == other.pointer
    }

    /// Checks that what is read and what is written are apart.
    pub(crate) fn check_apart(&self, written: &Slice<'_>) -> Result<()> {
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

#[cfg(test)]
mod tests {
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
        assert_eq!((part.pointer(), part.len(), part.dtype()), (0x100c, 7, Dtype::U32));
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
