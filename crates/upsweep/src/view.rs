//! Views of items without copying.

use upsweep_gpu::ErasedType;

use crate::erased::{ErasedItems, ErasedItemsMut, ErasedViewMut};

use crate::memory::Range;
use crate::{Device, Element};

/// Items to read, wherever they are: a borrowed slice of the host or a range of a device's
/// memory. Made from slices, vectors, arrays and [`Array`](crate::Array)s by [`Into`], without
/// copying. A device that cannot reach the host's memory is sent a copy.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(crate) items: Items<'a, T>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Items<'a, T> {
    Host(&'a [T]),
    Device(Range<'a>),
}

impl<T> View<'_, T> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Host(items) => items.len(),
            Items::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The GPU that they are on, if they are on one that is known.
    pub(crate) fn home(&self) -> Option<Device> {
        match &self.items {
            Items::Host(_) => None,
            Items::Device(range) => range.home(),
        }
    }

    /// The id of the device that they are on, or its backend's name.
    pub(crate) fn device(&self) -> &str {
        match &self.items {
            Items::Host(_) => "cpu",
            Items::Device(range) => range.device(),
        }
    }
}

/// Items to write, wherever they are; see [`View`].
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) items: ItemsMut<'a, T>,
}

#[derive(Debug)]
pub(crate) enum ItemsMut<'a, T> {
    Host(&'a mut [T]),
    Device(Range<'a>),
}

impl<T: Element> View<'_, T> {
    /// The same without Rust's type.
    pub(crate) fn erased(&self) -> ErasedItems<'_> {
        match &self.items {
            Items::Host(items) => ErasedItems::Host(items),
            Items::Device(range) => ErasedItems::Device(*range),
        }
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// The same without Rust's type.
    pub(crate) fn erased(&mut self) -> ErasedViewMut<'_> {
        let items = match &mut self.items {
            ItemsMut::Host(items) => ErasedItemsMut::Host(items),
            ItemsMut::Device(range) => ErasedItemsMut::Device(*range),
        };
        ErasedViewMut { of: ErasedType::of::<T>(), items }
    }
}

impl<T> ViewMut<'_, T> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.items {
            ItemsMut::Host(items) => items.len(),
            ItemsMut::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`View::home`].
    pub(crate) fn home(&self) -> Option<Device> {
        match &self.items {
            ItemsMut::Host(_) => None,
            ItemsMut::Device(range) => range.home(),
        }
    }
}

impl<'a, T> From<&'a [T]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T]) -> Self {
        Self { items: Items::Host(host) }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T; N]) -> Self {
        Self { items: Items::Host(host) }
    }
}

impl<'a, T> From<&'a Vec<T>> for View<'a, T> {
    #[inline]
    fn from(host: &'a Vec<T>) -> Self {
        Self { items: Items::Host(host) }
    }
}

impl<'a, T> From<&'a mut [T]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T]) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T; N]) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}

impl<'a, T> From<&'a mut Vec<T>> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut Vec<T>) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}
