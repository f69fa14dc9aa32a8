//! Memory for one cell: anonymous pages of 2 MiB where the system has them, all faulted in, so
//! that no engine pays for a page fault and none is luckier with its addresses than another.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use crate::input::Item;

const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

/// A fixed number of items, all zero bits at first, on a 2 MiB boundary.
#[derive(Debug)]
pub struct Buffer<T> {
    map: NonNull<libc::c_void>,
    map_bytes: usize,
    items: NonNull<T>,
    len: usize,
    owned: PhantomData<T>,
}

impl<T: Item> Buffer<T> {
    /// So many items of zero bits.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn zeroed(len: usize) -> Self {
        let bytes = (len * size_of::<T>()).next_multiple_of(PAGE);
        let map_bytes = bytes + 2 * HUGE;
        // SAFETY: a new private mapping of no file.
        let map = unsafe {
            libc::mmap(
                ptr::null_mut(),
                map_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert!(map != libc::MAP_FAILED, "no memory for {map_bytes} bytes");
        let start = map.cast::<u8>().wrapping_add(map.align_offset(HUGE));
        // SAFETY: at most `HUGE` of the mapping lies before `start`. The advice may be refused.
        unsafe { libc::madvise(start.cast(), bytes.next_multiple_of(HUGE), libc::MADV_HUGEPAGE) };
        for page in (0..bytes).step_by(PAGE) {
            // SAFETY: `page < bytes`, and `bytes` of the mapping lie behind `start`.
            unsafe { start.add(page).write_volatile(0) };
        }
        Self {
            map: NonNull::new(map).expect("mapped"),
            map_bytes,
            items: NonNull::new(start.cast()).expect("mapped"),
            len,
            owned: PhantomData,
        }
    }

    /// Items `[0, len)` of `item`.
    pub fn of(len: usize, item: impl Fn(usize) -> T) -> Self {
        let mut buffer = Self::zeroed(len);
        for (index, slot) in buffer.iter_mut().enumerate() {
            *slot = item(index);
        }
        buffer
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` items of mapped memory; zero bits are a value of every `Item`.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the buffer is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this buffer's own, and nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr(), self.map_bytes) };
    }
}

/// The bytes of items.
pub fn bytes<T: Item>(items: &[T]) -> &[u8] {
    // SAFETY: items have no padding, and every byte is a `u8`.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

/// The bytes of items, to write.
pub fn bytes_mut<T: Item>(items: &mut [T]) -> &mut [u8] {
    // SAFETY: items have no padding, and any bytes are an item.
    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), size_of_val(items)) }
}
