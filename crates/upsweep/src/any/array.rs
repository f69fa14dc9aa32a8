//! Arrays whose type is a value.

use core::any::Any;
use core::fmt;

use bytemuck::cast_slice;

use super::view::{AnyView, AnyViewMut};
use super::{Scalar, with_dtype};
use crate::backend::{Kind, wrong_device};
use crate::view::Items;
use crate::{Array, Device, Dtype, Error, Number, Result};

/// Items of a type that is a value, in the memory of a device.
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, any::{AnyArray, Scalar}};
/// let device = Device::cpu();
/// let array = AnyArray::filled(&device, 3, Scalar::new(7u16))?;
/// assert_eq!(array.to_bytes()?, [7, 0, 7, 0, 7, 0]);
/// let typed: Array<u16> = array.into_typed()?;
/// assert_eq!(typed.into_vec()?, [7, 7, 7]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct AnyArray(Box<dyn Typed>);

/// What an array does whatever its type is.
trait Typed: Send + Sync {
    fn dtype(&self) -> Dtype;
    fn view(&self) -> AnyView<'_>;
    fn view_mut(&mut self) -> AnyViewMut<'_>;
    fn to_bytes(&self) -> Result<Vec<u8>>;
    fn copy_from(&mut self, items: AnyView<'_>) -> Result<()>;
    fn bits_as(self: Box<Self>, dtype: Dtype) -> AnyArray;
    fn truncated(self: Box<Self>, len: usize) -> AnyArray;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Number> Typed for Array<T> {
    fn dtype(&self) -> Dtype {
        T::DTYPE
    }

    fn view(&self) -> AnyView<'_> {
        Array::view(self).into()
    }

    fn view_mut(&mut self) -> AnyViewMut<'_> {
        Array::view_mut(self).into()
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        match self.as_slice() {
            Some(items) => Ok(cast_slice(items).to_vec()),
            None => Ok(cast_slice(&self.to_vec()?).to_vec()),
        }
    }

    fn copy_from(&mut self, items: AnyView<'_>) -> Result<()> {
        match items.typed::<T>()?.items {
            Items::Host(items) => self.copy_from_slice(items),
            Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
        }
    }

    fn bits_as(self: Box<Self>, dtype: Dtype) -> AnyArray {
        with_dtype!(dtype, U => if const { size_of::<T>() == size_of::<U>() } {
            Array::bits_as::<U>(*self).into()
        } else {
            unreachable!("only types of one size have the same bits")
        })
    }

    fn truncated(self: Box<Self>, len: usize) -> AnyArray {
        Array::truncated(*self, len).into()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl AnyArray {
    /// `len` items on a device, all of this value.
    ///
    /// # Errors
    /// Those of [`Array::filled`].
    pub fn filled(device: &Device, len: usize, value: Scalar) -> Result<Self> {
        with_dtype!(value.dtype(), T => Array::<T>::filled(device, len, value.bits()).map(Self::from))
    }

    /// A copy on a device of items that are in host memory.
    ///
    /// # Errors
    /// Those of [`Array::from_slice`]; [`Error::WrongDevice`] if the items are in the memory of a GPU.
    pub fn from_view<'a>(device: &Device, items: impl Into<AnyView<'a>>) -> Result<Self> {
        Self::copied(device, items.into())
    }

    // Not generic, so that callers do not compile it.
    fn copied(device: &Device, items: AnyView<'_>) -> Result<Self> {
        with_dtype!(items.dtype, T => match items.typed::<T>()?.items {
            Items::Host(items) => Array::from_slice(device, items).map(Self::from),
            Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
        })
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.0.dtype()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items, to read.
    pub fn view(&self) -> AnyView<'_> {
        self.0.view()
    }

    /// The items, to overwrite.
    pub fn view_mut(&mut self) -> AnyViewMut<'_> {
        self.0.view_mut()
    }

    /// A copy of the items in host memory, as bytes. Waits for what writes them.
    ///
    /// # Errors
    /// Those of [`Array::to_vec`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.0.to_bytes()
    }

    /// Replaces the items by as many others, which are in host memory.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongDtype`]; [`Error::WrongDevice`] if the items are in the memory of a GPU.
    pub fn copy_from<'a>(&mut self, items: impl Into<AnyView<'a>>) -> Result<()> {
        self.0.copy_from(items.into())
    }

    /// The same bits as items of another type of the same size, in the same memory.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if items of that type have another size.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Dtype, any::{self, AnyView, Op, Reduce}};
    /// let rows = AnyView::from(&[3.5f32, -1.0]).shape([1, 2])?.axis(1)?;
    /// let positions = any::reduce_axes(&Device::cpu(), &rows, &Reduce::new(Op::ArgMin))?.into_array();
    /// assert_eq!(positions.into_bits_of(Dtype::I64)?.into_typed::<i64>()?.into_vec()?, [1]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn into_bits_of(self, dtype: Dtype) -> Result<Self> {
        if dtype.size() == self.dtype().size() {
            return Ok(self.bits_as(dtype));
        }
        Err(Error::WrongDtype { found: self.dtype(), wanted: dtype })
    }

    /// The first `len` items alone, in the same memory; all of them if there are no more.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Array, Device, any::AnyArray};
    /// let array = AnyArray::from(Array::from_slice(&Device::cpu(), &[7u8, 8, 9])?);
    /// assert_eq!(array.into_first(2).to_bytes()?, [7, 8]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    #[must_use]
    pub fn into_first(self, len: usize) -> Self {
        let len = len.min(self.len());
        self.truncated(len)
    }

    /// The same bits as items of another type of the same size.
    pub(super) fn bits_as(self, dtype: Dtype) -> Self {
        if dtype == self.dtype() { self } else { self.0.bits_as(dtype) }
    }

    /// The first items alone.
    pub(super) fn truncated(self, len: usize) -> Self {
        if len == self.len() { self } else { self.0.truncated(len) }
    }

    /// An array with room for as many items of this type, holding anything.
    pub(super) fn room_for(device: &Device, items: AnyView<'_>) -> Result<Self> {
        with_dtype!(items.dtype, T => {
            Array::<T>::room_for(device, items.typed()?).map(Self::from)
        })
    }

    /// An array on a GPU with room for so many items, holding anything.
    pub(super) fn with_room(device: &Device, dtype: Dtype, len: usize) -> Result<Self> {
        with_dtype!(dtype, T => Array::<T>::with_room(device, len).map(Self::from))
    }

    /// An array on any device with room for so many items, holding anything.
    pub(super) fn with_any(device: &Device, dtype: Dtype, len: usize) -> Result<Self> {
        match device.kind() {
            Kind::Cpu(_) => Self::filled(device, len, Scalar::of_bytes(dtype, &[0; 8])),
            _ => Self::with_room(device, dtype, len),
        }
    }

    /// The array with the type of its items.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type.
    pub fn into_typed<T: Number>(self) -> Result<Array<T>> {
        let found = self.dtype();
        match self.0.into_any().downcast() {
            Ok(array) => Ok(*array),
            Err(_) => Err(Error::WrongDtype { found, wanted: T::DTYPE }),
        }
    }
}

impl<T: Number> From<Array<T>> for AnyArray {
    fn from(array: Array<T>) -> Self {
        Self(Box::new(array))
    }
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyArray")
            .field("dtype", &self.dtype())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<'a> From<&'a AnyArray> for AnyView<'a> {
    fn from(array: &'a AnyArray) -> Self {
        array.view()
    }
}

impl<'a> From<&'a mut AnyArray> for AnyViewMut<'a> {
    fn from(array: &'a mut AnyArray) -> Self {
        array.view_mut()
    }
}
