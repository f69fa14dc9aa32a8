//! Views and fused inputs with a shape.

use upsweep_core::Layout;

use super::axes::{self, Axes};
use super::{Along, NdArray};
use crate::view::ItemsMut;
use crate::{Element, Fused, Result, View, ViewMut};

/// An array of several dimensions, without copying: items in one dimension, and for each dimension a length and a stride.
///
/// | what items are | made by |
/// |---|---|
/// | a [`View`]: [`NdView`] | [`View::shape`], [`strided`](NdItems::strided), [`NdArray::view`] |
/// | a [`ViewMut`]: [`NdViewMut`] | [`ViewMut::shape`], [`strided`](NdItems::strided), [`NdArray::view_mut`] |
/// | a fused input: `NdItems<E>` with `E:` [`Fused`] | [`Fused::shape`], [`Fused::with_strides`] |
///
/// ```
/// use upsweep::{Device, Fused, NdView, Sum, View};
/// let items = [1u32, 2, 3, 4, 5, 6];
/// let table = View::from(&items).shape([2, 3])?;
/// let columns = table.axis(0)?.reduce(&Device::cpu(), Sum)?;
/// assert_eq!((columns.shape(), columns.to_vec()?), (&[3][..], vec![5, 7, 9]));
/// // The same items from the last to the first.
/// let turned = NdView::strided(View::from(&items), [2, 3], &[-3, -1], 5)?;
/// let rows = turned.axis(-1)?.reduce(&Device::cpu(), Sum)?;
/// assert_eq!(rows.to_vec()?, [15, 6]);
///
/// #[upsweep::function]
/// fn product(left: f32, right: f32) -> f32 {
///     left * right
/// }
///
/// // The products of rows: what is multiplied is written nowhere.
/// let (left, right) = ([1.0f32, 2.0, 3.0, 4.0], [10.0f32, 1.0, 0.5, 2.0]);
/// let products = View::from(&left).zip(View::from(&right)).map(product {}).shape([2, 2])?;
/// let sums = products.axis(1)?.reduce(&Device::cpu(), Sum)?;
/// assert_eq!(sums.to_vec()?, [12.0, 9.5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdItems<E> {
    pub(crate) items: E,
    pub(crate) layout: Layout,
}

/// Items to read as an array of several dimensions, without copying.
pub type NdView<'a, T> = NdItems<View<'a, T>>;

/// Items to write as an array of several dimensions. No two of them are in one place.
pub type NdViewMut<'a, T> = NdItems<ViewMut<'a, T>>;

/// Items in one dimension, which may be given a shape.
pub trait Sequence {
    /// Whether they are overwritten, so that no two may be in one place.
    const IS_WRITTEN: bool = false;

    /// How many there are, if the host knows.
    fn known_len(&self) -> Result<usize>;
}

impl<'a, E: Fused<'a>> Sequence for E {
    fn known_len(&self) -> Result<usize> {
        self.check()?;
        match self.bounded_len() {
            None => Ok(self.len()),
            Some(_) => Err(axes::unknown_length()),
        }
    }
}

impl<T> Sequence for ViewMut<'_, T> {
    const IS_WRITTEN: bool = true;

    fn known_len(&self) -> Result<usize> {
        match &self.items {
            ItemsMut::Device(range) if range.is_bounded() => Err(axes::unknown_length()),
            _ => Ok(self.len()),
        }
    }
}

impl<'a, T: Element> View<'a, T> {
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
        NdItems::packed(self, shape.as_ref())
    }
}

impl<'a, T> ViewMut<'a, T> {
    /// The items as an array of this shape, in C order: see [`View::shape`].
    ///
    /// # Errors
    /// Those of [`View::shape`].
    pub fn shape(self, shape: impl AsRef<[usize]>) -> Result<NdViewMut<'a, T>> {
        NdItems::packed(self, shape.as_ref())
    }
}

impl<E: Sequence> NdItems<E> {
    /// Items in C order.
    pub(crate) fn packed(items: E, shape: &[usize]) -> Result<Self> {
        let layout = axes::packed(shape, items.known_len()?)?;
        Ok(Self { items, layout })
    }

    /// Items of this shape at these strides. What lies between them in memory stays as it is where they are overwritten.
    ///
    /// # Arguments
    /// - `items`: what there is in one dimension. The type of the result says what it becomes: `NdView::strided`,
    ///   `NdViewMut::strided`; for a fused input see [`Fused::with_strides`].
    /// - `shape`: the length of each dimension.
    /// - `strides`: for each dimension, how far apart two neighbours are among the items. It may be negative, and 0 where all are
    ///   the same item, as numpy broadcasts.
    /// - `start`: the number of the first item.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is a stride for each dimension and every item is among those that there are, and
    /// for items whose number only a GPU knows; of a [`ViewMut`] also if lengths and strides allow two items in one place.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, NdView, NdViewMut, Reduce, Sum, View};
    /// let items = [10u8, 20, 30, 40, 50, 60];
    /// // Every other item, in each of three rows.
    /// let view = NdView::strided(View::from(&items), [3, 3], &[0, 2], 0)?;
    /// assert_eq!(view.to_packed(&Device::cpu())?.to_vec()?, [10, 30, 50, 10, 30, 50, 10, 30, 50]);
    ///
    /// let (items, mut output) = ([1u32, 2, 3, 4], [9u32; 3]);
    /// let every_other = NdViewMut::strided(&mut output, [2], &[2], 0)?;
    /// let rows = View::from(&items).shape([2, 2])?;
    /// rows.axis(1)?.reduce_into(&Device::cpu(), every_other, &Reduce::new(Sum))?;
    /// assert_eq!(output, [3, 9, 7]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn strided(
        items: impl Into<E>,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self> {
        Self::at_strides(items.into(), shape.as_ref(), strides, start)
    }

    // Not generic over arguments, so that callers do not compile it for each of theirs.
    fn at_strides(items: E, shape: &[usize], strides: &[isize], start: usize) -> Result<Self> {
        let layout = axes::strided(shape, strides, start, items.known_len()?)?;
        if E::IS_WRITTEN {
            layout.check_apart()?;
        }
        Ok(Self { items, layout })
    }
}

impl<E> NdItems<E> {
    /// The length of each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.layout.shape()
    }

    /// For each dimension, how far apart two neighbours are among the items in one dimension.
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

impl<E: Copy> NdItems<E> {
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
    pub fn axis(&self, axis: isize) -> Result<Along<E>> {
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
    pub fn axes(&self, axes: &[isize]) -> Result<Along<E>> {
        let axes = Axes::new(axes, self.layout.axes.len())?;
        Ok(Along { array: self.clone(), axes })
    }
}

impl<T> NdViewMut<'_, T> {
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

impl<E: Clone> From<&NdItems<E>> for NdItems<E> {
    fn from(items: &NdItems<E>) -> Self {
        items.clone()
    }
}
