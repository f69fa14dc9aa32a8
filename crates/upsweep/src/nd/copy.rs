//! Strided copies, and transposition, which is one.

use upsweep_core::Rows;
use upsweep_gpu::ErasedType;

use super::axes;
use super::{NdArray, NdView, NdViewMut};
use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::select::{first_of, room};
use crate::{Device, Element, Result, View, ViewMut};

/// The items with the dimensions the other way round, in C order: of a matrix, the columns one behind another.
///
/// # Arguments
/// - `input`: an array of any shape and strides.
///
/// # Result
/// An array of its own on the device: item `[i, j, …, k]` of the input is item `[k, …, j, i]`.
///
/// # Cost
/// Reads and writes each item once. On a GPU it returns when the work has been begun.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the output cannot be allocated, and those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, View, transpose};
/// let table = View::from(&[1u16, 2, 3, 4, 5, 6]).shape([2, 3])?;
/// let columns = transpose(&Device::cpu(), table)?;
/// assert_eq!((columns.shape(), columns.to_vec()?), (&[3, 2][..], vec![1, 4, 2, 5, 3, 6]));
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// Tiles through fast memory, after G. Ruetsch and P. Micikevicius, *Optimizing Matrix Transpose in CUDA* (2009).
pub fn transpose<'a, T: Element>(
    device: &Device,
    input: impl Into<NdView<'a, T>>,
) -> Result<NdArray<T>> {
    input.into().transposed().to_packed(device)
}

impl<'a, T: Element> NdView<'a, T> {
    /// The items in C order, as an array of their own on the device.
    ///
    /// # Cost
    /// As of [`transpose`].
    ///
    /// # Errors
    /// Those of [`transpose`].
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, View};
    /// let items = [1u8, 2, 3, 4, 5, 6];
    /// let swapped = View::from(&items).shape([1, 2, 3])?.permuted(&[2, 0, 1])?;
    /// let packed = swapped.to_packed(&Device::cpu())?;
    /// assert_eq!((packed.shape(), packed.to_vec()?), (&[3, 1, 2][..], vec![1, 4, 2, 5, 3, 6]));
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn to_packed(&self, device: &Device) -> Result<NdArray<T>> {
        let device = &*device.at_home(|| self.items.home());
        let items = room(device, self.len(), || first_of(self.items))?;
        let mut output = NdArray::new(items, self.shape())?;
        self.copy_into(device, &mut output)?;
        Ok(output)
    }

    /// Copies every item to its place in the output, whatever the strides of both.
    ///
    /// # Arguments
    /// - `output`: an array of the same shape, overwritten. What lies between its items in memory stays as it is.
    ///
    /// # Cost
    /// As of [`transpose`]; it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless both have one shape, and those of the device.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, View, ViewMut};
    /// let (table, mut output) = ([1u8, 2, 3, 4], [0u8; 4]);
    /// let columns = ViewMut::from(&mut output).shape([2, 2])?.transposed();
    /// View::from(&table).shape([2, 2])?.copy_into(&Device::cpu(), columns)?;
    /// assert_eq!(output, [1, 3, 2, 4]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn copy_into<'b>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, T>>,
    ) -> Result<()> {
        let NdViewMut { items, layout } = output.into();
        copy_rows(device, self.items, &axes::copied(&self.layout, &layout)?, items)
    }
}

#[inline(never)]
fn copy_rows<T: Element>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    mut output: ViewMut<'_, T>,
) -> Result<()> {
    let device = device.at_home(|| input.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => cpu.copy_rows(cpu.input(input)?, rows, cpu.output(output)?),
        Erased::Gpu(gpu) => {
            gpu.copy_rows(input.erased(), rows, output.erased().items, ErasedType::of::<T>())
        }
    }
}
