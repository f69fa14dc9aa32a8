//! Memory to measure in.

#[cfg(target_os = "linux")]
use memmap2::Advice;
use memmap2::MmapMut;
use upsweep::any::Scalar;
use upsweep::{Dtype, Error};

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

    /// All the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.start..][..self.len]
    }

    /// All the bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..][..self.len]
    }
}

/// What outputs are filled with before every result that is compared.
pub(crate) const POISON: u8 = 0xa5;

/// A number of such bytes.
pub(crate) fn poison(dtype: Dtype) -> Scalar {
    match Scalar::from_bytes(dtype, &[POISON; 8][..dtype.size()]) {
        Some(poison) => poison,
        None => unreachable!("{dtype} has as many bytes as it has"),
    }
}

/// Such bytes, so many or a few more, where any number may begin.
pub(crate) fn poisoned(bytes: usize) -> Vec<u64> {
    vec![u64::from_ne_bytes([POISON; 8]); bytes.div_ceil(8)]
}

/// Bytes of memory that can still be had, where the system says so.
pub fn available_memory() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}
