//! Items on a device, and views of items without copying.

use core::ops::{Deref, DerefMut};

use crate::{Device, Element, Error, Result};

/// Items in the memory of a device, aligned for it.
///
/// On the CPU an array is a slice, and can be used as one.
///
/// ```
/// use upsweep::{Array, Device};
/// let mut array = Array::from_slice(&Device::cpu(), &[1u32, 2, 3])?;
/// array[0] = 7;
/// assert_eq!(array.to_vec(), [7, 2, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T> {
    items: Vec<T>,
}

impl<T: Element> Array<T> {
    /// An array of `len` items, each `value`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device cannot hold that many.
    pub fn filled(device: &Device, len: usize, value: T) -> Result<Self> {
        let mut array = Self::reserve(device, len)?;
        array.items.resize(len, value);
        Ok(array)
    }

    /// A copy of `items` on the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device cannot hold that many.
    pub fn from_slice(device: &Device, items: &[T]) -> Result<Self> {
        let mut array = Self::reserve(device, items.len())?;
        array.items.extend_from_slice(items);
        Ok(array)
    }

    fn reserve(_device: &Device, len: usize) -> Result<Self> {
        let mut items = Vec::new();
        items
            .try_reserve_exact(len)
            .map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
        Ok(Self { items })
    }

    /// The items in host memory.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Array<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.items == other
    }
}

/// Items to read, wherever they are: a borrowed slice of the host or a range of a device's
/// memory. Made from slices, vectors, arrays and [`Array`]s by [`Into`], without copying.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(crate) host: &'a [T],
}

impl<T> View<'_, T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.host.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.host.is_empty()
    }
}

/// Items to write, wherever they are; see [`View`].
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) host: &'a mut [T],
}

impl<T> ViewMut<'_, T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.host.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.host.is_empty()
    }
}

impl<'a, T> From<&'a [T]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T]) -> Self {
        Self { host }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T; N]) -> Self {
        Self { host }
    }
}

impl<'a, T> From<&'a Vec<T>> for View<'a, T> {
    #[inline]
    fn from(host: &'a Vec<T>) -> Self {
        Self { host }
    }
}

impl<'a, T> From<&'a Array<T>> for View<'a, T> {
    #[inline]
    fn from(array: &'a Array<T>) -> Self {
        Self { host: array }
    }
}

impl<'a, T> From<&'a mut [T]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T]) -> Self {
        Self { host }
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T; N]) -> Self {
        Self { host }
    }
}

impl<'a, T> From<&'a mut Vec<T>> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut Vec<T>) -> Self {
        Self { host }
    }
}

impl<'a, T> From<&'a mut Array<T>> for ViewMut<'a, T> {
    #[inline]
    fn from(array: &'a mut Array<T>) -> Self {
        Self { host: array }
    }
}
