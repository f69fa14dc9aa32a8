//! Items of the host's memory whose type is not known where they are copied.

use core::ops::Range;
use std::borrow::Cow;

use upsweep_core::{Element, Result};

/// Items to read. Implemented for slices of every [`Element`].
pub trait HostItems {
    /// Number of items.
    fn len(&self) -> usize;

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the items of these numbers: see [`Element::bytes`]. None of a type that only the CPU can handle.
    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]>;
}

/// Items to write.
pub trait HostItemsMut: HostItems {
    /// Replaces the items of these numbers by those whose bytes `fill` writes: see [`Element::fill`].
    ///
    /// # Errors
    /// Those of `fill`.
    fn fill(
        &mut self,
        range: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()>;
}

impl<T: Element> HostItems for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        T::bytes(&self[range]).unwrap_or_default()
    }
}

impl<T: Element> HostItems for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        T::bytes(&self[range]).unwrap_or_default()
    }
}

impl<T: Element> HostItemsMut for &mut [T] {
    fn fill(
        &mut self,
        range: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        T::fill(&mut self[range], fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_written() {
        let items = [1u16, 2, 3];
        let host: &dyn HostItems = &&items[..];
        assert_eq!((host.len(), &host.bytes(1..3)[..]), (3, &[2, 0, 3, 0][..]));
        let mut items = [1u16, 2, 3];
        let mut slice = &mut items[..];
        let host: &mut dyn HostItemsMut = &mut slice;
        host.fill(1..2, &mut |bytes| {
            bytes.copy_from_slice(&[7, 1]);
            Ok(())
        })
        .expect("nothing fails");
        assert_eq!(host.bytes(0..2)[..], [1, 0, 7, 1]);
        assert_eq!(items, [1, 263, 3]);
    }
}
