//! Views and arrays of several dimensions whose type is a value.

use upsweep_core::Layout;

use super::array::AnyArray;
use super::view::{AnyView, AnyViewMut};
use crate::nd::axes;
use crate::{Along, Dtype, NdArray, NdItems, NdView, NdViewMut, Number, Result};

/// Items of a type that is a value as an array of several dimensions, to read, without copying: as [`NdView`].
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, AnyView, Op, Reduce}};
/// let items = AnyView::from(&[1u8, 2, 250, 255]);
/// let columns = items.shape([2, 2])?.axis(0)?;
/// let sums = any::reduce_axes(&Device::cpu(), &columns, &Reduce::new(Op::Sum))?;
/// assert_eq!(sums.into_typed::<u64>()?.to_vec()?, [251, 257]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub type AnyNdView<'a> = NdItems<AnyView<'a>>;

/// Items of a type that is a value as an array of several dimensions, to be overwritten: as [`NdViewMut`].
pub type AnyNdViewMut<'a> = NdItems<AnyViewMut<'a>>;

/// The rows of an array along some of its axes, of [`axis`](NdItems::axis) and [`axes`](NdItems::axes).
pub type AnyAlong<'a> = Along<AnyView<'a>>;

impl<'a> AnyView<'a> {
    /// The items as an array of this shape, in C order: see [`View::shape`](crate::View::shape).
    ///
    /// # Errors
    /// Those of [`View::shape`](crate::View::shape).
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<AnyNdView<'a>> {
        NdItems::packed(self, shape.as_ref())
    }
}

impl<'a> AnyViewMut<'a> {
    /// The items as an array of this shape, in C order: see [`View::shape`](crate::View::shape).
    ///
    /// # Errors
    /// Those of [`View::shape`](crate::View::shape).
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<AnyNdViewMut<'a>> {
        NdItems::packed(self, shape.as_ref())
    }
}

impl<'a> AnyNdView<'a> {
    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.items.dtype()
    }

    /// The view with the type of its items.
    ///
    /// # Errors
    /// [`Error::WrongDtype`](crate::Error::WrongDtype) if the items are of another type.
    pub fn typed<T: Number>(&self) -> Result<NdView<'a, T>> {
        Ok(NdView { items: self.items.typed()?, layout: self.layout.clone() })
    }
}

impl AnyAlong<'_> {
    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.array.dtype()
    }
}

impl AnyNdViewMut<'_> {
    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.items.dtype()
    }

    /// The same items with the dimensions in another order: see [`NdView::permuted`].
    ///
    /// # Errors
    /// Those of [`NdView::permuted`].
    pub fn permuted(self, order: &[usize]) -> Result<Self> {
        let layout = axes::permuted(&self.layout, order)?;
        Ok(Self { items: self.items, layout })
    }

    /// The same items with the dimensions the other way round.
    #[must_use]
    pub fn transposed(self) -> Self {
        let layout = axes::transposed(&self.layout);
        Self { items: self.items, layout }
    }
}

/// Items of a type that is a value in the memory of a device, as an array of several dimensions in C order: as [`NdArray`].
#[derive(Debug)]
pub struct AnyNdArray {
    items: AnyArray,
    shape: Box<[usize]>,
    /// Of the shape in C order.
    layout: Layout,
}

impl AnyNdArray {
    /// The items of an array in this shape.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless the shape has as many items as the array.
    pub fn new(items: AnyArray, shape: impl AsRef<[usize]>) -> Result<Self> {
        let layout = axes::packed(shape.as_ref(), items.len())?;
        Ok(Self { items, shape: shape.as_ref().into(), layout })
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.items.dtype()
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// All items, to read.
    pub fn view(&self) -> AnyNdView<'_> {
        AnyNdView { items: self.items.view(), layout: self.layout.clone() }
    }

    /// All items, to overwrite.
    pub fn view_mut(&mut self) -> AnyNdViewMut<'_> {
        AnyNdViewMut { items: self.items.view_mut(), layout: self.layout.clone() }
    }

    /// The items in C order.
    pub fn array(&self) -> &AnyArray {
        &self.items
    }

    /// The items in C order.
    pub fn into_array(self) -> AnyArray {
        self.items
    }

    /// A copy of the items in host memory, in C order, as bytes. Waits for what writes them.
    ///
    /// # Errors
    /// Those of [`Array::to_vec`](crate::Array::to_vec).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.items.to_bytes()
    }

    /// The array with the type of its items.
    ///
    /// # Errors
    /// [`Error::WrongDtype`](crate::Error::WrongDtype) if the items are of another type.
    pub fn into_typed<T: Number>(self) -> Result<NdArray<T>> {
        NdArray::new(self.items.into_typed()?, self.shape)
    }
}

impl<'a, T: Number> From<NdView<'a, T>> for AnyNdView<'a> {
    fn from(view: NdView<'a, T>) -> Self {
        Self { items: view.items.into(), layout: view.layout }
    }
}

impl<'a, T: Number> From<NdViewMut<'a, T>> for AnyNdViewMut<'a> {
    fn from(view: NdViewMut<'a, T>) -> Self {
        Self { items: view.items.into(), layout: view.layout }
    }
}

impl<'a> From<&'a AnyNdArray> for AnyNdView<'a> {
    fn from(array: &'a AnyNdArray) -> Self {
        array.view()
    }
}

impl<'a> From<&'a mut AnyNdArray> for AnyNdViewMut<'a> {
    fn from(array: &'a mut AnyNdArray) -> Self {
        array.view_mut()
    }
}

impl<T: Number> From<NdArray<T>> for AnyNdArray {
    fn from(array: NdArray<T>) -> Self {
        let (layout, shape) = (array.view().layout, array.shape().into());
        Self { items: array.into_array().into(), shape, layout }
    }
}
