//! Views with a shape.

use upsweep_core::Layout;

use super::axes::{self, Axes, unknown_length};
use super::{Along, NdArray};
use crate::view::ItemsMut;
use crate::{Result, View, ViewMut};

/// Items to read as an array of several dimensions, without copying: a [`View`], and for each dimension a length and a stride.
///
/// ```
/// use upsweep::{Device, NdView, Sum, View};
/// let items = [1u32, 2, 3, 4, 5, 6];
/// let table = View::from(&items).shape([2, 3])?;
/// let columns = table.axis(0)?.reduce(&Device::cpu(), Sum)?;
/// assert_eq!((columns.shape(), columns.to_vec()?), (&[3][..], vec![5, 7, 9]));
/// // The same items from the last to the first.
/// let turned = NdView::strided(View::from(&items), [2, 3], &[-3, -1], 5)?;
/// let rows = turned.axis(-1)?.reduce(&Device::cpu(), Sum)?;
/// assert_eq!(rows.to_vec()?, [15, 6]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdView<'a, T> {
    pub(crate) items: View<'a, T>,
    pub(crate) layout: Layout,
}

/// Items to write as an array of several dimensions; see [`NdView`]. No two of them are in one place.
#[derive(Debug)]
pub struct NdViewMut<'a, T> {
    pub(crate) items: ViewMut<'a, T>,
    pub(crate) layout: Layout,
}

impl<'a, T> View<'a, T> {
    /// The items as an array of this shape, in C order: the last dimension counts fastest. Without a dimension it is one item.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless the shape has as many items as the view, and for a view whose length only a GPU
    /// knows.
    ///
    /// # Examples
    /// ```
    /// use upsweep::View;
    /// let table = View::from(&[1u8, 2, 3, 4, 5, 6]).shape([2, 3])?;
    /// assert_eq!((table.shape(), table.strides()), (vec![2, 3], vec![3, 1]));
    /// assert!(View::from(&[1u8, 2, 3]).shape([2, 2]).is_err());
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<NdView<'a, T>> {
        self.check_known().map_err(|_| unknown_length())?;
        let layout = axes::packed(shape.as_ref(), self.len())?;
        Ok(NdView { items: self, layout })
    }
}

impl<'a, T> ViewMut<'a, T> {
    /// The items as an array of this shape, in C order: see [`View::shape`].
    ///
    /// # Errors
    /// Those of [`View::shape`].
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<NdViewMut<'a, T>> {
        self.check_known()?;
        let layout = axes::packed(shape.as_ref(), self.len())?;
        Ok(NdViewMut { items: self, layout })
    }

    /// Checks that the host knows how many items there are.
    fn check_known(&self) -> Result<()> {
        match &self.items {
            ItemsMut::Device(range) if range.is_bounded() => Err(unknown_length()),
            _ => Ok(()),
        }
    }
}

impl<'a, T> NdView<'a, T> {
    /// Items of this shape at these strides.
    ///
    /// # Arguments
    /// - `view`: the memory that they lie in.
    /// - `shape`: the length of each dimension.
    /// - `strides`: for each dimension, how many items of memory lie between two neighbours. It may be negative, and 0 where all are
    ///   the same item, as numpy broadcasts.
    /// - `start`: the number of the first item in memory.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is a stride for each dimension and every item is in the view, and for a view
    /// whose length only a GPU knows.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, NdView, View};
    /// let items = [10u8, 20, 30, 40, 50, 60];
    /// // Every other item, in each of three rows.
    /// let view = NdView::strided(View::from(&items), [3, 3], &[0, 2], 0)?;
    /// assert_eq!(view.to_packed(&Device::cpu())?.to_vec()?, [10, 30, 50, 10, 30, 50, 10, 30, 50]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn strided(
        view: impl Into<View<'a, T>>,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        let items = view.into();
        items.check_known().map_err(|_| unknown_length())?;
        let layout = axes::strided(shape.as_ref(), strides, start, items.len())?;
        Ok(Self { items, layout })
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
}

impl<'a, T: Copy> NdView<'a, T> {
    /// The same items with the dimensions in another order: dimension `k` is the one that was `order[k]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless each dimension is named once.
    ///
    /// # Examples
    /// ```
    /// use upsweep::View;
    /// let items = [0u8; 24];
    /// let view = View::from(&items).shape([2, 3, 4])?.permuted(&[2, 0, 1])?;
    /// assert_eq!((view.shape(), view.strides()), (vec![4, 2, 3], vec![1, 12, 4]));
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn permuted(&self, order: &[usize]) -> Result<Self> {
        Ok(Self { items: self.items, layout: axes::permuted(&self.layout, order)? })
    }

    /// The same items with the dimensions the other way round. Nothing is moved; [`transpose`](crate::transpose) does that.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { items: self.items, layout: axes::transposed(&self.layout) }
    }

    /// The rows along one axis, to be reduced or scanned. A negative number counts from the last.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is such an axis.
    pub fn axis(&self, axis: isize) -> Result<Along<'a, T>> {
        self.axes(&[axis])
    }

    /// The rows along several axes: one for each place on the other axes, whose items are those along these axes in C order. The order
    /// in which axes are named does not matter. Without an axis each item is a row.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless these are different axes of the array.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Sum, View};
    /// let items = [1u32, 2, 3, 4, 5, 6, 7, 8];
    /// let cube = View::from(&items).shape([2, 2, 2])?;
    /// let sums = cube.axes(&[0, -1])?.reduce(&Device::cpu(), Sum)?;
    /// assert_eq!(sums.to_vec()?, [1 + 2 + 5 + 6, 3 + 4 + 7 + 8]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn axes(&self, axes: &[isize]) -> Result<Along<'a, T>> {
        let axes = Axes::new(axes, self.layout.axes.len(), false)?;
        Ok(Along::new(self.clone(), axes))
    }
}

impl<'a, T> NdViewMut<'a, T> {
    /// Items of this shape at these strides: see [`NdView::strided`]. What lies between them in memory stays as it is.
    ///
    /// # Errors
    /// Those of [`NdView::strided`]; [`Error::Shape`](crate::Error::Shape) if lengths and strides allow two items in one place.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, NdViewMut, Sum, View, ViewMut, Reduce};
    /// let (items, mut output) = ([1u32, 2, 3, 4], [9u32; 3]);
    /// let every_other = NdViewMut::strided(&mut output, [2], &[2], 0)?;
    /// let rows = View::from(&items).shape([2, 2])?;
    /// rows.axis(1)?.reduce_into(&Device::cpu(), every_other, &Reduce::new(Sum))?;
    /// assert_eq!(output, [3, 9, 7]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn strided(
        view: impl Into<ViewMut<'a, T>>,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        let items = view.into();
        items.check_known()?;
        let layout = axes::strided(shape.as_ref(), strides, start, items.len())?;
        layout.check_apart()?;
        Ok(Self { items, layout })
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

impl<'a, T> From<&'a NdArray<T>> for NdView<'a, T> {
    fn from(array: &'a NdArray<T>) -> Self {
        array.view()
    }
}

impl<'a, T> From<&'a mut NdArray<T>> for NdViewMut<'a, T> {
    fn from(array: &'a mut NdArray<T>) -> Self {
        array.view_mut()
    }
}

impl<'a, T: Copy> From<&NdView<'a, T>> for NdView<'a, T> {
    fn from(view: &NdView<'a, T>) -> Self {
        view.clone()
    }
}
