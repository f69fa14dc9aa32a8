//! Memory to measure in.

use bytemuck::cast_slice_mut;
use memmap2::{Advice, MmapMut};
use upsweep::{Error, Number};

use crate::error::Result;

/// Large pages begin at multiples of this many bytes.
const LARGE_PAGE: usize = 2 << 20;

/// Bytes in large pages where the system has them, every page touched once it is filled.
pub struct Buffer {
    map: MmapMut,
    start: usize,
    len: usize,
}

impl Buffer {
    /// `len` bytes.
    pub fn new(len: usize) -> Result<Self> {
        let no_memory = |_| Error::OutOfMemory { bytes: len };
        let mapped = len.checked_add(LARGE_PAGE).ok_or(Error::OutOfMemory { bytes: len })?;
        let map = MmapMut::map_anon(mapped).map_err(no_memory)?;
        // Without large pages it is slower, and as right.
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        let start = map.as_ptr().align_offset(LARGE_PAGE).min(LARGE_PAGE);
        Ok(Self { map, start, len })
    }

    /// A copy of these numbers.
    pub fn of<T: Number>(items: &[T]) -> Result<Self> {
        let mut buffer = Self::new(size_of_val(items))?;
        buffer.items_mut().copy_from_slice(items);
        Ok(buffer)
    }

    /// All the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.start..][..self.len]
    }

    /// All the bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..][..self.len]
    }

    /// The bytes as numbers.
    pub fn items_mut<T: Number>(&mut self) -> &mut [T] {
        cast_slice_mut(self.bytes_mut())
    }
}

/// What outputs are filled with before every result that is compared.
pub(crate) const POISON: u8 = 0xa5;

/// Bytes of memory that can still be had, where the system says so.
pub fn available_memory() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}
