//! Arrays with a shape.

use upsweep_core::Layout;

use super::axes;
use super::{NdView, NdViewMut};
use crate::{Array, Element, Result};

/// Items in the memory of a device as an array of several dimensions, in C order.
///
/// ```
/// use upsweep::{Array, Device, NdArray, Sum};
/// let device = Device::cpu();
/// let items = Array::from_slice(&device, &[1u32, 2, 3, 4])?;
/// let table = NdArray::new(items, [2, 2])?;
/// let sums = table.view().axis(1)?.inclusive_scan(&device, Sum)?;
/// assert_eq!((sums.shape(), sums.to_vec()?), (&[2, 2][..], vec![1, 3, 3, 7]));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct NdArray<T> {
    items: Array<T>,
    shape: Box<[usize]>,
    /// Of the shape in C order.
    layout: Layout,
}

impl<T> NdArray<T> {
    /// The items of an array in this shape.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless the shape has as many items as the array.
    pub fn new(items: Array<T>, shape: impl AsRef<[usize]>) -> Result<Self> {
        let layout = axes::packed(shape.as_ref(), items.len())?;
        Ok(Self { items, shape: shape.as_ref().into(), layout })
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items, to read.
    pub fn view(&self) -> NdView<'_, T> {
        NdView { items: self.items.view(), layout: self.layout.clone() }
    }

    /// All items, to write.
    pub fn view_mut(&mut self) -> NdViewMut<'_, T> {
        NdViewMut { items: self.items.view_mut(), layout: self.layout.clone() }
    }

    /// The items in C order.
    pub fn array(&self) -> &Array<T> {
        &self.items
    }

    /// The items in C order.
    pub fn into_array(self) -> Array<T> {
        self.items
    }
}

impl<T: Element> NdArray<T> {
    /// A copy of the items in the host's memory, in C order. Waits for what writes the array, and says if that failed.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.items.to_vec()
    }
}
