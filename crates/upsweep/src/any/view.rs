//! Views whose type is a value.

use core::ops::Range;
use std::borrow::Cow;

use bytemuck::{cast_slice, cast_slice_mut, try_cast_slice, try_cast_slice_mut};
use upsweep_gpu::{HostItems, HostItemsMut};

use super::with_dtype;
use crate::backend::wrong_device;
use crate::erased::{ErasedItems, ErasedItemsMut};
use crate::fused::{Source, Stored};
use crate::nd::axes::unknown_length;
use crate::nd::items::Sequence;
use crate::view::{Items, ItemsMut};
use crate::{Array, Device, Dtype, Error, Number, Result, View, ViewMut, memory};

/// Items of a type that is a value, to read, without copying.
///
/// # Examples
/// ```
/// use upsweep::{Dtype, any::AnyView};
/// let typed = AnyView::from(&[1.5f32, 2.5]);
/// let bytes = typed.bytes().expect("in host memory");
/// let view = AnyView::from_bytes(Dtype::F32, bytes)?;
/// assert_eq!((view.dtype(), view.len()), (Dtype::F32, 2));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AnyView<'a> {
    pub(super) dtype: Dtype,
    place: Place<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    /// Whole items, at an address that suits them.
    Host(&'a [u8]),
    Device(memory::Range<'a>),
}

/// Items of a type that is a value, to be overwritten, without copying.
#[derive(Debug)]
pub struct AnyViewMut<'a> {
    dtype: Dtype,
    place: PlaceMut<'a>,
}

#[derive(Debug)]
enum PlaceMut<'a> {
    /// Whole items, at an address that suits them.
    Host(&'a mut [u8]),
    Device(memory::Range<'a>),
}

/// Refuses bytes that are not items of a type.
fn check_bytes(dtype: Dtype, bytes: &[u8]) -> Result<()> {
    let (size, length) = (dtype.size(), bytes.len());
    // Sizes are powers of two, and a division takes as long as a call on a short array.
    let remainder = |number: usize| number & (size - 1);
    let reason = if remainder(length) != 0 {
        format!("{length} bytes are not a multiple of the {size} bytes of {dtype}")
    } else if length > 0 && remainder(bytes.as_ptr().addr()) != 0 {
        format!("items of {dtype} begin at multiples of {size} bytes in memory")
    } else {
        return Ok(());
    };
    Err(Error::Buffer { reason })
}

impl<'a> AnyView<'a> {
    /// Items of type `dtype` that lie in host memory as these bytes.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the bytes are no whole items, or begin where no item of this type may.
    pub fn from_bytes(dtype: Dtype, bytes: &'a [u8]) -> Result<Self> {
        check_bytes(dtype, bytes)?;
        Ok(Self { dtype, place: Place::Host(bytes) })
    }

    /// The type of the items.
    #[inline]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match self.place {
            Place::Host(bytes) => bytes.len() / self.dtype.size(),
            Place::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the items, if they are in host memory.
    pub fn bytes(&self) -> Option<&'a [u8]> {
        match self.place {
            Place::Host(bytes) => Some(bytes),
            Place::Device(_) => None,
        }
    }

    /// Some of the items, which are in host memory.
    ///
    /// # Errors
    /// [`Error::Buffer`] if there are not as many, or if they are in the memory of a GPU.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let Range { start, end } = range;
        let size = self.dtype.size();
        let Place::Host(bytes) = self.place else {
            let reason = "items in the memory of a GPU are taken whole".to_owned();
            return Err(Error::Buffer { reason });
        };
        match bytes.get(start.saturating_mul(size)..end.saturating_mul(size)) {
            Some(bytes) => Ok(Self { place: Place::Host(bytes), ..*self }),
            None => {
                let reason = format!("items {start} to {end} are not among {} items", self.len());
                Err(Error::Buffer { reason })
            }
        }
    }

    /// The first of these items, as many as the one number of `length` says when a call is run: see [`View::with_length`].
    ///
    /// Of a length in host memory the view has as many items from here on, and so have the outputs of calls.
    ///
    /// # Errors
    /// Those of [`View::with_length`].
    pub fn with_length(self, length: impl Into<View<'a, u64>>) -> Result<Self> {
        with_dtype!(self.dtype, T => Ok(self.typed::<T>()?.with_length(length)?.into()))
    }

    /// The view with the type of its items.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type.
    #[inline]
    pub fn typed<T: Number>(&self) -> Result<View<'a, T>> {
        if self.dtype != T::DTYPE {
            return Err(Error::WrongDtype { found: self.dtype, wanted: T::DTYPE });
        }
        Ok(View::of(match self.place {
            Place::Host([]) => Items::Host(&[]),
            Place::Host(bytes) => Items::Host(try_cast_slice(bytes).map_err(misplaced)?),
            Place::Device(range) => Items::Device(range),
        }))
    }

    /// The same bits as items of another type of the same size.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if items of that type have another size.
    pub fn into_bits_of(self, dtype: Dtype) -> Result<Self> {
        match dtype.size() == self.dtype.size() {
            true => Ok(self.bits_as(dtype)),
            false => Err(Error::WrongDtype { found: self.dtype, wanted: dtype }),
        }
    }

    /// The same bits as items of another type of the same size.
    #[inline]
    pub(super) fn bits_as(self, dtype: Dtype) -> Self {
        debug_assert_eq!(self.dtype.size(), dtype.size());
        let place = match self.place {
            Place::Host(bytes) => Place::Host(bytes),
            Place::Device(range) => Place::Device(range.bits_as(dtype)),
        };
        Self { dtype, place }
    }

    /// The bytes of the items, which are in host memory, and how many each of them has.
    pub(super) fn number_bytes(&self) -> Result<(&'a [u8], usize)> {
        let bytes = self.bytes().ok_or_else(|| wrong_device(self.device(), "cpu"))?;
        Ok((bytes, self.dtype.size()))
    }

    /// All items that there is memory of, whatever their number.
    pub(super) fn whole(self) -> Self {
        match self.place {
            Place::Host(_) => self,
            Place::Device(range) => Self { place: Place::Device(range.whole()), ..self },
        }
    }

    /// Whether only the device knows how many items there are.
    pub(super) fn is_bounded(&self) -> bool {
        matches!(self.place, Place::Device(range) if range.is_bounded())
    }

    /// The same items, as many as there are of others in the same memory.
    pub(super) fn bounded_like(self, other: &Self) -> Self {
        match (self.place, other.place) {
            (Place::Device(range), Place::Device(other)) => {
                Self { place: Place::Device(range.bounded_like(other)), ..self }
            }
            _ => self,
        }
    }

    /// As [`View::known`].
    pub(super) fn known(self, device: &Device) -> Result<Self> {
        with_dtype!(self.dtype, T => Ok(self.typed::<T>()?.known(device)?.into()))
    }

    /// The device where the items are, if that is known.
    pub(super) fn home(&self) -> Option<Device> {
        match self.place {
            Place::Host(_) => None,
            Place::Device(range) => range.home(),
        }
    }

    /// The same for a GPU.
    pub(super) fn erased(&self) -> ErasedItems<'_> {
        match self.place {
            Place::Host(_) => ErasedItems::Host(self),
            Place::Device(range) => ErasedItems::Device(range),
        }
    }

    /// The same as what kernels make items of.
    pub(super) fn source(&self) -> Source<'a> {
        let stored = match self.place {
            Place::Host(bytes) => Stored::Host(Cow::Borrowed(bytes)),
            Place::Device(range) => Stored::Device(range),
        };
        Source { kind: self.dtype.into(), stored }
    }

    /// The id of the device where the items are.
    pub(super) fn device(&self) -> &str {
        match &self.place {
            Place::Host(_) => "cpu",
            Place::Device(range) => range.device(),
        }
    }
}

impl<'a> AnyViewMut<'a> {
    /// Room for items of type `dtype` in host memory.
    ///
    /// # Errors
    /// Those of [`AnyView::from_bytes`].
    pub fn from_bytes(dtype: Dtype, bytes: &'a mut [u8]) -> Result<Self> {
        check_bytes(dtype, bytes)?;
        Ok(Self { dtype, place: PlaceMut::Host(bytes) })
    }

    /// The type of the items.
    #[inline]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.place {
            PlaceMut::Host(bytes) => bytes.len() / self.dtype.size(),
            PlaceMut::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same items again, for a shorter time.
    pub fn reborrow(&mut self) -> AnyViewMut<'_> {
        let place = match &mut self.place {
            PlaceMut::Host(bytes) => PlaceMut::Host(bytes),
            PlaceMut::Device(range) => PlaceMut::Device(*range),
        };
        AnyViewMut { dtype: self.dtype, place }
    }

    /// The first of these items, as many as the one number of `length` says: see [`ViewMut::with_length`].
    ///
    /// # Errors
    /// Those of [`ViewMut::with_length`].
    pub fn with_length(self, length: impl Into<View<'a, u64>>) -> Result<Self> {
        with_dtype!(self.dtype, T => Ok(self.typed::<T>()?.with_length(length)?.into()))
    }

    /// As [`ViewMut::fitted`].
    pub(super) fn fitted(self, len: usize, bound: usize) -> Result<Self> {
        with_dtype!(self.dtype, T => Ok(self.typed::<T>()?.fitted(len, bound).into()))
    }

    /// The view with the type of its items.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type.
    #[inline]
    pub fn typed<T: Number>(self) -> Result<ViewMut<'a, T>> {
        if self.dtype != T::DTYPE {
            return Err(Error::WrongDtype { found: self.dtype, wanted: T::DTYPE });
        }
        Ok(ViewMut {
            items: match self.place {
                PlaceMut::Host([]) => ItemsMut::Host(&mut []),
                PlaceMut::Host(bytes) => {
                    ItemsMut::Host(try_cast_slice_mut(bytes).map_err(misplaced)?)
                }
                PlaceMut::Device(range) => ItemsMut::Device(range),
            },
        })
    }

    #[inline]
    pub(super) fn bits_as(self, dtype: Dtype) -> Self {
        debug_assert_eq!(self.dtype.size(), dtype.size());
        let place = match self.place {
            PlaceMut::Host(bytes) => PlaceMut::Host(bytes),
            PlaceMut::Device(range) => PlaceMut::Device(range.bits_as(dtype)),
        };
        Self { dtype, place }
    }

    /// The device where the items are, if that is known.
    pub(super) fn home(&self) -> Option<Device> {
        match self.place {
            PlaceMut::Host(_) => None,
            PlaceMut::Device(range) => range.home(),
        }
    }

    /// The same for a GPU.
    pub(super) fn erased(&mut self) -> ErasedItemsMut<'_> {
        match self.place {
            PlaceMut::Host(_) => ErasedItemsMut::Host(self),
            PlaceMut::Device(range) => ErasedItemsMut::Device(range),
        }
    }

    /// The id of the device where the items are.
    pub(super) fn device(&self) -> &str {
        match &self.place {
            PlaceMut::Host(_) => "cpu",
            PlaceMut::Device(range) => range.device(),
        }
    }

    pub(super) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.place {
            PlaceMut::Host(bytes) => Some(bytes),
            PlaceMut::Device(_) => None,
        }
    }
}

/// The items of a view of host memory.
#[inline]
pub(super) fn on_host<T>(view: View<'_, T>) -> Result<&[T]> {
    match view.items {
        Items::Host(items) => Ok(items),
        Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
    }
}

/// The items of a view of host memory, to overwrite.
#[inline]
pub(super) fn on_host_mut<T>(view: ViewMut<'_, T>) -> Result<&mut [T]> {
    match view.items {
        ItemsMut::Host(items) => Ok(items),
        ItemsMut::Device(range) => Err(wrong_device(range.device(), "cpu")),
    }
}

impl Sequence for AnyView<'_> {
    fn known_len(&self) -> Result<usize> {
        match self.place {
            Place::Device(range) if range.is_bounded() => Err(unknown_length()),
            _ => Ok(self.len()),
        }
    }
}

impl Sequence for AnyViewMut<'_> {
    const IS_WRITTEN: bool = true;

    fn known_len(&self) -> Result<usize> {
        match self.place {
            PlaceMut::Device(range) if range.is_bounded() => Err(unknown_length()),
            _ => Ok(self.len()),
        }
    }
}

impl HostItems for AnyView<'_> {
    fn len(&self) -> usize {
        AnyView::len(self)
    }

    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let size = self.dtype.size();
        let bytes = AnyView::bytes(self).unwrap_or_default();
        bytes[range.start * size..range.end * size].into()
    }
}

impl HostItems for AnyViewMut<'_> {
    fn len(&self) -> usize {
        AnyViewMut::len(self)
    }

    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let size = self.dtype.size();
        match &self.place {
            PlaceMut::Host(bytes) => bytes[range.start * size..range.end * size].into(),
            PlaceMut::Device(_) => Cow::default(),
        }
    }
}

impl HostItemsMut for AnyViewMut<'_> {
    fn fill(
        &mut self,
        range: Range<usize>,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let size = self.dtype.size();
        let bytes = self.bytes_mut().unwrap_or_default();
        fill(&mut bytes[range.start * size..range.end * size])
    }
}

/// The error for bytes at an address that does not suit items.
#[cold]
fn misplaced(error: bytemuck::PodCastError) -> Error {
    Error::Buffer { reason: error.to_string() }
}

impl<'a, T: Number> From<View<'a, T>> for AnyView<'a> {
    fn from(view: View<'a, T>) -> Self {
        let place = match view.items {
            Items::Host(items) => Place::Host(cast_slice(items)),
            Items::Device(range) => Place::Device(range),
        };
        Self { dtype: T::DTYPE, place }
    }
}

impl<'a, T: Number> From<&'a [T]> for AnyView<'a> {
    fn from(items: &'a [T]) -> Self {
        View::from(items).into()
    }
}

impl<'a, T: Number, const N: usize> From<&'a [T; N]> for AnyView<'a> {
    fn from(items: &'a [T; N]) -> Self {
        View::from(items).into()
    }
}

impl<'a, T: Number> From<&'a Vec<T>> for AnyView<'a> {
    fn from(items: &'a Vec<T>) -> Self {
        View::from(items).into()
    }
}

impl<'a, T: Number> From<&'a Array<T>> for AnyView<'a> {
    fn from(array: &'a Array<T>) -> Self {
        array.view().into()
    }
}

impl<'a, T: Number> From<ViewMut<'a, T>> for AnyViewMut<'a> {
    fn from(view: ViewMut<'a, T>) -> Self {
        let place = match view.items {
            ItemsMut::Host(items) => PlaceMut::Host(cast_slice_mut(items)),
            ItemsMut::Device(range) => PlaceMut::Device(range),
        };
        Self { dtype: T::DTYPE, place }
    }
}

impl<'a, T: Number> From<&'a mut [T]> for AnyViewMut<'a> {
    fn from(items: &'a mut [T]) -> Self {
        ViewMut::from(items).into()
    }
}

impl<'a, T: Number, const N: usize> From<&'a mut [T; N]> for AnyViewMut<'a> {
    fn from(items: &'a mut [T; N]) -> Self {
        ViewMut::from(items).into()
    }
}

impl<'a, T: Number> From<&'a mut Vec<T>> for AnyViewMut<'a> {
    fn from(items: &'a mut Vec<T>) -> Self {
        ViewMut::from(items).into()
    }
}

impl<'a, T: Number> From<&'a mut Array<T>> for AnyViewMut<'a> {
    fn from(array: &'a mut Array<T>) -> Self {
        array.view_mut().into()
    }
}
