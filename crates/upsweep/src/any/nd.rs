//! Views and arrays of several dimensions whose type is a value.

use upsweep_core::Layout;

use super::array::AnyArray;
use super::view::{AnyView, AnyViewMut};
use crate::nd::axes::{self, Axes};
use crate::{Dtype, NdArray, NdView, NdViewMut, Number, Result};

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
#[derive(Clone, Debug)]
pub struct AnyNdView<'a> {
    pub(super) items: AnyView<'a>,
    pub(super) layout: Layout,
}

/// Items of a type that is a value as an array of several dimensions, to be overwritten: as [`NdViewMut`].
#[derive(Debug)]
pub struct AnyNdViewMut<'a> {
    pub(super) items: AnyViewMut<'a>,
    pub(super) layout: Layout,
}

/// The rows of an array along some of its axes, of [`AnyNdView::axis`] and [`AnyNdView::axes`]: as [`Along`](crate::Along).
#[derive(Clone, Debug)]
pub struct AnyAlong<'a> {
    pub(super) view: AnyNdView<'a>,
    pub(super) axes: Axes,
}

impl<'a> AnyView<'a> {
    /// The items as an array of this shape, in C order: see [`View::shape`](crate::View::shape).
    ///
    /// # Errors
    /// Those of [`View::shape`](crate::View::shape).
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<AnyNdView<'a>> {
        AnyNdView::packed(self, shape.as_ref())
    }
}

impl<'a> AnyViewMut<'a> {
    /// The items as an array of this shape, in C order: see [`View::shape`](crate::View::shape).
    ///
    /// # Errors
    /// Those of [`View::shape`](crate::View::shape).
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<AnyNdViewMut<'a>> {
        AnyNdViewMut::packed(self, shape.as_ref())
    }
}

impl<'a> AnyNdView<'a> {
    // Not generic, so that callers do not compile it.
    fn packed(items: AnyView<'a>, shape: &[usize]) -> Result<Self> {
        items.check_known().map_err(|_| axes::unknown_length())?;
        let layout = axes::packed(shape, items.len())?;
        Ok(Self { items, layout })
    }

    fn at_strides(
        items: AnyView<'a>,
        shape: &[usize],
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        items.check_known().map_err(|_| axes::unknown_length())?;
        let layout = axes::strided(shape, strides, start, items.len())?;
        Ok(Self { items, layout })
    }

    /// Items of this shape at these strides: see [`NdView::strided`].
    ///
    /// # Errors
    /// Those of [`NdView::strided`].
    pub fn strided(
        view: impl Into<AnyView<'a>>,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        Self::at_strides(view.into(), shape.as_ref(), strides, start)
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.items.dtype()
    }

    /// The length of each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.layout.shape()
    }

    /// For each dimension, how many items of memory lie between two neighbours.
    pub fn strides(&self) -> Vec<isize> {
        self.layout.strides()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// The same items with the dimensions in another order: see [`NdView::permuted`].
    ///
    /// # Errors
    /// Those of [`NdView::permuted`].
    pub fn permuted(&self, order: &[usize]) -> Result<Self> {
        Ok(Self { items: self.items, layout: axes::permuted(&self.layout, order)? })
    }

    /// The same items with the dimensions the other way round.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { items: self.items, layout: axes::transposed(&self.layout) }
    }

    /// The rows along one axis: see [`NdView::axis`].
    ///
    /// # Errors
    /// Those of [`NdView::axis`].
    pub fn axis(&self, axis: isize) -> Result<AnyAlong<'a>> {
        self.axes(&[axis])
    }

    /// The rows along several axes: see [`NdView::axes`].
    ///
    /// # Errors
    /// Those of [`NdView::axes`].
    pub fn axes(&self, axes: &[isize]) -> Result<AnyAlong<'a>> {
        let axes = Axes::new(axes, self.layout.axes.len(), false)?;
        Ok(AnyAlong { view: self.clone(), axes })
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
    /// The same rows, whose results have the axes with a length of 1: see [`Along::keepdims`](crate::Along::keepdims).
    #[must_use]
    pub fn keepdims(self) -> Self {
        Self { axes: Axes { keepdims: true, ..self.axes }, ..self }
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.view.dtype()
    }

    /// The shape of a reduction.
    pub fn reduced_shape(&self) -> Vec<usize> {
        self.axes.reduced_shape(&self.view.layout)
    }
}

impl<'a> AnyNdViewMut<'a> {
    // Not generic, so that callers do not compile it.
    fn packed(items: AnyViewMut<'a>, shape: &[usize]) -> Result<Self> {
        items.check_known()?;
        let layout = axes::packed(shape, items.len())?;
        Ok(Self { items, layout })
    }

    fn at_strides(
        items: AnyViewMut<'a>,
        shape: &[usize],
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        items.check_known()?;
        let layout = axes::strided(shape, strides, start, items.len())?;
        layout.check_apart()?;
        Ok(Self { items, layout })
    }

    /// Items of this shape at these strides: see [`NdViewMut::strided`].
    ///
    /// # Errors
    /// Those of [`NdViewMut::strided`].
    pub fn strided(
        view: impl Into<AnyViewMut<'a>>,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        Self::at_strides(view.into(), shape.as_ref(), strides, start)
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.items.dtype()
    }

    /// The length of each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.layout.shape()
    }

    /// For each dimension, how many items of memory lie between two neighbours.
    pub fn strides(&self) -> Vec<isize> {
        self.layout.strides()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
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

impl<'a> From<&AnyNdView<'a>> for AnyNdView<'a> {
    fn from(view: &AnyNdView<'a>) -> Self {
        view.clone()
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
