//! Items that are made as they are read, as arrays of several dimensions.

use upsweep_core::{Layout, Rows};
use upsweep_gpu::{ErasedReduce, ErasedScan};

use super::axes::{self, Axes};
use super::{NdArray, NdViewMut};
use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::select::room;
use crate::{Device, Element, Fused, Operator, Reduce, Result, Scan, ViewMut, Widen};

/// Items that are made as they are read, with a length and a stride for each dimension: of [`Fused::shape`].
///
/// ```
/// use upsweep::{Device, Fused, Sum, View};
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
pub struct NdFused<E> {
    items: E,
    layout: Layout,
}

impl<E> NdFused<E> {
    /// Items in C order.
    pub(crate) fn packed<'a>(items: E, shape: &[usize]) -> Result<Self>
    where
        E: Fused<'a>,
    {
        let layout = axes::packed(shape, known_len(&items)?)?;
        Ok(Self { items, layout })
    }

    /// Items of this shape at these strides: see [`NdView::strided`](crate::NdView::strided).
    ///
    /// # Arguments
    /// - `items`: what there is, in one dimension.
    /// - `shape`: the length of each dimension.
    /// - `strides`: for each dimension, how many numbers of items lie between two neighbours. It may be negative, or 0.
    /// - `start`: the number of the first item.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is a stride for each dimension and every item is among those, and for items whose
    /// number only a GPU knows.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, NdFused, Sum, counting};
    /// // The antidiagonals of a table of three by three: 2, 4, 6.
    /// let numbers = NdFused::strided(counting(0u32..9), [3], &[2], 2)?;
    /// assert_eq!(numbers.axis(0)?.reduce(&Device::cpu(), Sum)?.to_vec()?, [12]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn strided<'a>(
        items: E,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<Self>
    where
        E: Fused<'a>,
    {
        let layout = axes::strided(shape.as_ref(), strides, start, known_len(&items)?)?;
        Ok(Self { items, layout })
    }

    /// The length of each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.layout.shape()
    }

    /// For each dimension, how many numbers of items lie between two neighbours.
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

impl<E: Copy> NdFused<E> {
    /// The same items with the dimensions in another order: see [`NdView::permuted`](crate::NdView::permuted).
    ///
    /// # Errors
    /// Those of [`NdView::permuted`](crate::NdView::permuted).
    pub fn permuted(&self, order: &[usize]) -> Result<Self> {
        Ok(Self { items: self.items, layout: axes::permuted(&self.layout, order)? })
    }

    /// The same items with the dimensions the other way round.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { items: self.items, layout: axes::transposed(&self.layout) }
    }

    /// The rows along one axis, to be reduced or scanned. A negative number counts from the last.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is such an axis.
    pub fn axis(&self, axis: isize) -> Result<FusedAlong<E>> {
        self.axes(&[axis])
    }

    /// The rows along several axes: see [`NdView::axes`](crate::NdView::axes).
    ///
    /// # Errors
    /// Those of [`NdView::axes`](crate::NdView::axes).
    pub fn axes(&self, axes: &[isize]) -> Result<FusedAlong<E>> {
        let axes = Axes::new(axes, self.layout.axes.len(), false)?;
        Ok(FusedAlong { of: self.clone(), axes })
    }
}

/// How many items there are, of which the host knows the number.
fn known_len<'a>(items: &impl Fused<'a>) -> Result<usize> {
    items.check()?;
    match items.bounded_len() {
        None => Ok(items.len()),
        Some(_) => Err(axes::unknown_length()),
    }
}

/// The rows of items that are made as they are read: of [`NdFused::axis`] and [`NdFused::axes`]. Each has the bits of a call on an array that
/// was made before, and on the row alone.
///
/// # Cost
/// On a GPU every array is read once, an item at a time, and what is made is written nowhere. A CPU makes the items of some rows at once on each
/// of its threads, 65,536 or one row if that is longer, which wait in that thread's cache.
#[derive(Clone, Debug)]
pub struct FusedAlong<E> {
    of: NdFused<E>,
    axes: Axes,
}

impl<E> FusedAlong<E> {
    /// The same rows, whose results have the axes with a length of 1.
    #[must_use]
    pub fn keepdims(self) -> Self {
        Self { axes: Axes { keepdims: true, ..self.axes }, ..self }
    }
}

impl<'a, E: Fused<'a, Item: Element>> FusedAlong<E> {
    /// Combines the items of each row, in their own type: see [`Along::reduce`](crate::Along::reduce).
    ///
    /// # Errors
    /// Those of [`Along::reduce`](crate::Along::reduce) and of [`Fused::reduce`].
    pub fn reduce<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.reduced(device, &Reduce::new(operator))
    }

    /// Combines the items of each row in the wider type `A`: see [`Along::reduce_as`](crate::Along::reduce_as).
    ///
    /// # Errors
    /// Those of [`reduce`](FusedAlong::reduce).
    pub fn reduce_as<A, O>(&self, device: &Device, operator: O) -> Result<NdArray<A>>
    where
        E::Item: Widen<A>,
        A: Element<Acc = A>,
        O: Operator<A>,
    {
        self.reduced(device, &Reduce::new(operator))
    }

    fn reduced<U, O>(&self, device: &Device, problem: &Reduce<U::Acc, O>) -> Result<NdArray<U>>
    where
        E::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let device = &*device.at_home(|| self.of.items.made().home());
        let shape = self.axes.reduced_shape(&self.of.layout);
        let first = || Ok(U::from_acc(problem.operator.identity()));
        let mut output = NdArray::new(room(device, shape.iter().product(), first)?, shape)?;
        self.reduce_into(device, &mut output, problem)?;
        Ok(output)
    }

    /// A reduction that is stated in full, into memory of the caller's: see [`Along::reduce_into`](crate::Along::reduce_into).
    ///
    /// # Errors
    /// Those of [`Along::reduce_into`](crate::Along::reduce_into) and of [`Fused::reduce`].
    pub fn reduce_into<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, U>>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        E::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let NdViewMut { items, layout } = output.into();
        let rows = self.axes.reduced(&self.of.layout, &layout)?;
        reduce_rows(device, &self.of.items, &rows, items, problem)
    }

    /// Every prefix of each row: see [`Along::inclusive_scan`](crate::Along::inclusive_scan).
    ///
    /// # Errors
    /// Those of [`reduce`](FusedAlong::reduce).
    pub fn inclusive_scan<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.scanned(device, &Scan::inclusive(operator))
    }

    /// Every prefix of each row without the item itself: see [`Along::exclusive_scan`](crate::Along::exclusive_scan).
    ///
    /// # Errors
    /// Those of [`reduce`](FusedAlong::reduce).
    pub fn exclusive_scan<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.scanned(device, &Scan::exclusive(operator))
    }

    fn scanned<O>(
        &self,
        device: &Device,
        problem: &Scan<<E::Item as Element>::Acc, O>,
    ) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        let device = &*device.at_home(|| self.of.items.made().home());
        let first = || Ok(<E::Item as Element>::from_acc(problem.operator.identity()));
        let mut output = NdArray::new(room(device, self.of.len(), first)?, self.of.shape())?;
        self.scan_into(device, &mut output, problem)?;
        Ok(output)
    }

    /// A scan that is stated in full, into memory of the caller's: see [`Along::scan_into`](crate::Along::scan_into).
    ///
    /// # Errors
    /// Those of [`Along::scan_into`](crate::Along::scan_into) and of [`Fused::reduce`].
    pub fn scan_into<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, U>>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        E::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let NdViewMut { items, layout } = output.into();
        let rows = self.axes.scanned(&self.of.layout, &layout)?;
        scan_rows(device, &self.of.items, &rows, items, problem)
    }
}

#[inline(never)]
fn reduce_rows<'a, E, U, O>(
    device: &Device,
    items: &E,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Element + Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| items.made().home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.reduce_rows_made(items.on_host()?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedReduce::in_segments::<U::Acc, U, O>(problem, gpu.language());
            gpu.reduce_rows_made(&items.made(), rows, output.erased().items, &problem)
        }
    }
}

#[inline(never)]
fn scan_rows<'a, E, U, O>(
    device: &Device,
    items: &E,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Element + Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| items.made().home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.scan_rows_made(items.on_host()?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedScan::of::<U::Acc, U::Acc, U, O>(problem, gpu.language());
            gpu.scan_rows_made(&items.made(), rows, output.erased().items, &problem)
        }
    }
}
