//! Views of arrays of the crate `ndarray`.

use ndarray::{ArrayView, ArrayViewMut, Axis, Dimension};
use upsweep_core::Layout;

use super::{NdView, NdViewMut};
use crate::{Error, Result, View, ViewMut};

/// A layout in the memory that items of this shape and these strides fill: it begins with the item at the lowest address.
fn layout(shape: &[usize], strides: &[isize]) -> Result<Layout> {
    let mut layout = Layout::strided(shape, strides, 0)?;
    if !layout.is_empty() {
        let below = |(&len, &stride): (&usize, &isize)| (len - 1) * stride.min(0).unsigned_abs();
        layout.start = shape.iter().zip(strides).map(below).sum();
    }
    Ok(layout)
}

/// The error for items with others between them.
#[cold]
fn has_gaps(shape: &[usize], strides: &[isize]) -> Error {
    let reason = format!(
        "between the items of shape {shape:?} with strides {strides:?} lie others, which may be borrowed elsewhere; a strided view of the whole array shows them"
    );
    Error::Shape { reason }
}

/// A view of the same items, in any order of dimensions, from either end, and broadcast.
///
/// # Errors
/// [`Error::Shape`] if items that are not in the view lie between its own, as in a slice of columns: these may be written
/// meanwhile by whoever has them. [`NdView::strided`] of the whole array gives such a view.
///
/// # Examples
/// ```
/// use ndarray::array;
/// use upsweep::{Device, NdView, Sum};
/// let table = array![[1u32, 2, 3], [4, 5, 6]];
/// let columns = NdView::try_from(table.view().reversed_axes())?;
/// assert_eq!(columns.axis(1)?.reduce(&Device::cpu(), Sum)?.to_vec()?, [5, 7, 9]);
/// # Ok::<(), upsweep::Error>(())
/// ```
impl<'a, T, D: Dimension> TryFrom<ArrayView<'a, T, D>> for NdView<'a, T> {
    type Error = Error;

    fn try_from(array: ArrayView<'a, T, D>) -> Result<Self> {
        let layout = layout(array.shape(), array.strides())?;
        if layout.is_empty() {
            return Ok(Self { items: View::from(&[]), layout });
        }
        let mut items = array.clone();
        for (number, &stride) in array.strides().iter().enumerate() {
            if stride == 0 {
                items.collapse_axis(Axis(number), 0);
            }
        }
        let missing = || has_gaps(array.shape(), array.strides());
        Ok(Self { items: items.to_slice_memory_order().ok_or_else(missing)?.into(), layout })
    }
}

/// A view of the same items to write, in any order of dimensions and from either end.
///
/// # Errors
/// As of views to read, see [`NdView`]; [`NdViewMut::strided`] is the way for others.
impl<'a, T, D: Dimension> TryFrom<ArrayViewMut<'a, T, D>> for NdViewMut<'a, T> {
    type Error = Error;

    fn try_from(array: ArrayViewMut<'a, T, D>) -> Result<Self> {
        let layout = layout(array.shape(), array.strides())?;
        if layout.is_empty() {
            return Ok(Self { items: ViewMut::from(&mut []), layout });
        }
        let missing = has_gaps(array.shape(), array.strides());
        Ok(Self { items: array.into_slice_memory_order().ok_or(missing)?.into(), layout })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, Array3, ArrayView, Ix0, Ix2, s};

    use super::*;
    use crate::Device;

    /// The items in C order as each of us sees them.
    fn same<D: Dimension>(array: ArrayView<'_, u32, D>) -> bool {
        let wanted: Vec<u32> = array.iter().copied().collect();
        let view = NdView::try_from(array).expect("no gaps");
        view.to_packed(&Device::cpu()).and_then(|packed| packed.to_vec()) == Ok(wanted)
    }

    #[test]
    fn views_have_the_items_of_arrays() {
        let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as u32);
        assert!(same(array.view()) && same(array.view().reversed_axes()));
        assert!(same(array.view().permuted_axes([1, 2, 0])));
        assert!(same(array.slice(s![..;-1, .., ..;-1])) && same(array.slice(s![1, ..;-1, ..])));
        assert!(same(array.slice(s![.., 1..1, ..])) && same(array.slice(s![1..2, .., ..])));
        let row = array.slice(s![0, 1, ..;-1]);
        assert!(same(row.broadcast((5, 4)).expect("it can be")));
        assert!(same(Array::<u32, Ix0>::from_elem((), 7).view()));
        assert!(same(Array::<u32, Ix2>::zeros((0, 3)).view()));
    }

    #[test]
    fn what_has_gaps_is_refused() {
        let mut array = Array3::<u32>::zeros((2, 3, 4));
        let gaps = NdView::try_from(array.slice(s![.., .., 1..3]));
        assert!(matches!(gaps, Err(Error::Shape { .. })), "{gaps:?}");
        let gaps = NdViewMut::try_from(array.slice_mut(s![.., ..;2, ..]));
        assert!(matches!(gaps, Err(Error::Shape { .. })), "{gaps:?}");
    }

    #[test]
    fn outputs_are_written_in_place() {
        let mut array = Array3::<u32>::zeros((2, 3, 1));
        let items = [1u32, 2, 3, 4, 5, 6];
        let view = View::from(&items).shape([2, 1, 3]).expect("six items");
        let output = array.slice_mut(s![..;-1, .., ..]).permuted_axes([0, 2, 1]);
        let output = NdViewMut::try_from(output).expect("no gaps");
        view.copy_into(&Device::cpu(), output).expect("a copy");
        assert_eq!(array.iter().copied().collect::<Vec<_>>(), [4, 5, 6, 1, 2, 3]);
    }
}
