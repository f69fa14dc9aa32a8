//! Memory with a chosen start between two bands that must stay as they are.

use core::fmt::Display;

use crate::Sample;

/// Bits that memory is filled with before a call: results must not depend on them.
pub const POISONS: [u64; 2] = [0xdead_beef_5ca1_ab1e, u64::MAX];

/// Bytes of a cache line, which starts are chosen relative to.
const LINE: usize = 64;

/// Bytes of each band: more than any vector, or group of vectors, that could run over.
const BAND: usize = 1024;

/// Items between two guard bands, starting a chosen number of items behind a cache line's start.
#[derive(Debug)]
pub struct Guarded<T> {
    memory: Vec<T>,
    start: usize,
    items: usize,
    poison: T,
}

impl<T: Sample> Guarded<T> {
    /// Memory for `items` items, all of it filled with `poison`. The first item stands `offset`
    /// items behind a place that is aligned to 64 bytes.
    pub fn new(items: usize, offset: usize, poison: u64) -> Self {
        let poison = T::from_bits(poison);
        let band = BAND.div_ceil(size_of::<T>());
        let line = LINE.div_ceil(size_of::<T>());
        let memory = vec![poison; items + 2 * band + 2 * line];
        let wanted = offset * size_of::<T>() % LINE;
        // Where the size of an item does not divide a line there may be no such place: then any.
        let first = memory.as_ptr().addr();
        let start = (band..band + line)
            .find(|index| (first + index * size_of::<T>()) % LINE == wanted)
            .unwrap_or(band + offset % line);
        Self { memory, start, items, poison }
    }

    /// The same, holding a copy of `items`.
    pub fn holding(items: &[T], offset: usize, poison: u64) -> Self {
        let mut guarded = Self::new(items.len(), offset, poison);
        guarded.items_mut().copy_from_slice(items);
        guarded
    }

    /// The items between the bands.
    pub fn items(&self) -> &[T] {
        &self.memory[self.start..self.start + self.items]
    }

    /// The items between the bands, to be written.
    pub fn items_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.items]
    }

    /// Checks that nothing was written outside.
    ///
    /// # Panics
    /// If something was, saying where.
    #[track_caller]
    pub fn check_bands(&self, context: impl Display) {
        let (start, end) = (self.start, self.start + self.items);
        let written = |item: &T| item.bits() != self.poison.bits();
        if let Some(index) = self.memory[..start].iter().rposition(written) {
            let place = start - index;
            panic!("{context}: item {place} before the start of {} was written", self.items);
        }
        if let Some(index) = self.memory[end..].iter().position(written) {
            let place = index + 1;
            panic!("{context}: item {place} behind the end of {} was written", self.items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_where_it_should() {
        for offset in 0..16 {
            let guarded = Guarded::<u32>::new(5, offset, POISONS[0]);
            assert_eq!(guarded.items().as_ptr().addr() % 64, 4 * offset % 64);
            assert_eq!(guarded.items().len(), 5);
            guarded.check_bands("untouched");
        }
        let guarded = Guarded::holding(&[1u8, 2, 3], 63, POISONS[1]);
        assert_eq!(guarded.items(), [1, 2, 3]);
        assert_eq!(guarded.items().as_ptr().addr() % 64, 63);
    }

    #[test]
    fn bands_notice_every_item() {
        let untouched = Guarded::<u16>::new(3, 1, POISONS[0]);
        for index in 0..untouched.memory.len() {
            let mut guarded = Guarded::<u16>::new(3, 1, POISONS[0]);
            let inside = (guarded.start..guarded.start + 3).contains(&index);
            guarded.memory[index] = 7;
            let result = std::panic::catch_unwind(|| guarded.check_bands("touched"));
            assert_eq!(result.is_ok(), inside, "{index}");
        }
    }
}
