//! Calls along axes: each row is reduced, searched or scanned as an array of its own.

use upsweep_core::Extreme;

use super::axes::Axes;
use super::{NdArray, NdItems, NdViewMut, rows};
use crate::backend::Kind;
use crate::select::room;
use crate::{
    Array, Device, Element, Fused, Mean, Number, Operator, Recording, Reduce, Result, Scan, Sum,
    View, Widen,
};

/// The rows of an array along some of its axes, of [`NdItems::axis`] and [`NdItems::axes`].
///
/// A row is an array: its result has, bit for bit, what the same call gives for that row alone, wherever it lies and however many rows
/// there are.
///
/// With [`Device::auto`] these calls go to the CPU unless an array is on a GPU.
///
/// Rows of a fused input have the bits of an array that was made before. On a GPU each of its arrays is read once, an item at a time,
/// and what is made is written nowhere. A CPU makes the items of some rows at once on each of its threads, 65,536 or one row if that
/// is longer, which wait in that thread's cache.
///
/// ```
/// use upsweep::{Device, Fused, Max, View};
///
/// #[upsweep::function]
/// fn distance(left: f32, right: f32) -> f32 {
///     if left < right { right - left } else { left - right }
/// }
///
/// let (device, items) = (Device::cpu(), [1.5f32, 0.5, -1.0, 4.0, 2.0, 8.0]);
/// let rows = View::from(&items).shape([2, 3])?.axis(1)?;
/// assert_eq!(rows.reduce(&device, Max)?.to_vec()?, [1.5, 8.0]);
/// assert_eq!(rows.argmin(&device)?.to_vec()?, [2, 1]);
/// assert_eq!(rows.keepdims().reduce(&device, Max)?.shape(), [2, 1]);
///
/// // Where two arrays differ most, and by how much on average: no difference is written.
/// let others = [1.5f32, 1.0, -1.0, 5.0, 4.0, 8.0];
/// let distances = View::from(&items).zip(View::from(&others)).map(distance {});
/// let rows = distances.shape([2, 3])?.axis(1)?;
/// assert_eq!(rows.argmax(&device)?.to_vec()?, [1, 1]);
/// assert_eq!(rows.mean(&device)?.to_vec()?, [0.5 / 3.0, 1.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Along<E> {
    pub(crate) array: NdItems<E>,
    pub(crate) axes: Axes,
}

impl<E> Along<E> {
    /// The same rows, whose results have the axes with a length of 1, as numpy's `keepdims`. Scans have all axes anyway.
    #[must_use]
    pub fn keepdims(self) -> Self {
        Self { axes: Axes { keepdims: true, ..self.axes }, ..self }
    }

    /// The shape of a reduction: that of the other axes; see [`keepdims`](Along::keepdims).
    pub fn reduced_shape(&self) -> Vec<usize> {
        self.axes.reduced_shape(&self.array.layout)
    }
}

impl<'a, E: Fused<'a, Item: Element>> Along<E> {
    /// Combines the items of each row with `operator`; results have the items' type.
    ///
    /// # Operator
    /// Associative; any, commutative or not. Items of a row are combined in C order.
    ///
    /// # Result
    /// One item for each row, in the shape of the other axes; see [`keepdims`](Along::keepdims). Each is what
    /// [`reduce`](crate::reduce()) gives for the row. A row without items gives the operator's identity.
    ///
    /// # Cost
    /// Reads the input once. Allocates the output, on the device. On a GPU it returns when the work has been begun.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the output cannot be allocated, and those of the device; of a fused
    /// input also those of [`Fused::reduce`].
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Sum, View};
    /// let items = [1u32, 2, 3, 4, 5, 6];
    /// let table = View::from(&items).shape([2, 3])?;
    /// assert_eq!(table.axis(0)?.reduce(&Device::cpu(), Sum)?.to_vec()?, [5, 7, 9]);
    /// assert_eq!(table.axis(1)?.reduce(&Device::cpu(), Sum)?.to_vec()?, [6, 15]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    ///
    /// # Source
    /// As of [`reduce`](crate::reduce()), in the order of `docs/summation.md`.
    pub fn reduce<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.reduced(device, &Reduce::new(operator))
    }

    /// Combines the items of each row in the wider type `A`.
    ///
    /// # Result
    /// As of [`reduce`](Along::reduce), in `A`.
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce).
    ///
    /// # Errors
    /// Those of [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Sum, View};
    /// let rows = View::from(&[250u8, 250, 1, 2]).shape([2, 2])?.axis(1)?;
    /// assert_eq!(rows.reduce_as::<u64, _>(&Device::cpu(), Sum)?.to_vec()?, [500, 3]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn reduce_as<A, O>(&self, device: &Device, operator: O) -> Result<NdArray<A>>
    where
        E::Item: Widen<A>,
        A: Element<Acc = A>,
        O: Operator<A>,
    {
        self.reduced(device, &Reduce::new(operator))
    }

    /// A reduction that is stated in full, into memory of the caller's: with a start value for each row, another type, or strides.
    ///
    /// # Arguments
    /// - `output`: an item for each row, overwritten. It has the shape of the other axes; see [`keepdims`](Along::keepdims). Its type
    ///   decides in which type items are combined. What lies between its items in memory stays as it is.
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if the output has another shape, before anything is written; those of
    /// [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Reduce, Sum, View, ViewMut};
    /// let mut output = [0i64; 2];
    /// let rows = View::from(&[1i32, 2, 3, -9]).shape([2, 2])?.axis(1)?;
    /// let sums = ViewMut::from(&mut output).shape([2])?;
    /// rows.reduce_into(&Device::cpu(), sums, &Reduce::new(Sum).init(100))?;
    /// assert_eq!(output, [103, 94]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
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
        let rows = self.axes.reduced(&self.array.layout, &layout)?;
        self.array.items.reduce_rows(device, &rows, items, problem)
    }

    fn reduced<U, O>(&self, device: &Device, problem: &Reduce<U::Acc, O>) -> Result<NdArray<U>>
    where
        E::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let device = &*device.at_home(|| self.array.items.home());
        let mut output = self.results(device, || U::from_acc(problem.operator.identity()))?;
        self.reduce_into(device, &mut output, problem)?;
        Ok(output)
    }

    /// Room for an item for each row, on the CPU filled with `first`.
    fn results<U: Element>(
        &self,
        device: &Device,
        first: impl FnOnce() -> U,
    ) -> Result<NdArray<U>> {
        let shape = self.reduced_shape();
        NdArray::new(room(device, shape.iter().product(), || Ok(first()))?, shape)
    }

    /// Every prefix of each row, combined: item `i` of a row combines its items `[0, i]`.
    ///
    /// # Operator
    /// Associative; any, commutative or not. Items of a row are combined in C order.
    ///
    /// # Result
    /// An array of the shape of the input, in C order. Each row is what [`inclusive_scan`](crate::inclusive_scan) gives for it.
    ///
    /// # Cost
    /// Reads the input once and writes the output once. Allocates the output, on the device. On a GPU it returns when the work has been
    /// begun.
    ///
    /// # Errors
    /// Those of [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Sum, View};
    /// let items = [1u32, 2, 3, 4, 5, 6];
    /// let table = View::from(&items).shape([2, 3])?;
    /// let down = table.axis(0)?.inclusive_scan(&Device::cpu(), Sum)?;
    /// assert_eq!(down.to_vec()?, [1, 2, 3, 5, 7, 9]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    ///
    /// # Source
    /// As of [`inclusive_scan`](crate::inclusive_scan), in the order of `docs/summation.md`.
    pub fn inclusive_scan<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.scanned(device, &Scan::inclusive(operator))
    }

    /// Every prefix of each row, combined: item `i` of a row combines its items `[0, i)`, the first is the operator's identity.
    ///
    /// # Result
    /// As of [`inclusive_scan`](Along::inclusive_scan); each row is what [`exclusive_scan`](crate::exclusive_scan) gives for it.
    ///
    /// # Cost
    /// As of [`inclusive_scan`](Along::inclusive_scan).
    ///
    /// # Errors
    /// Those of [`inclusive_scan`](Along::inclusive_scan).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Sum, View};
    /// let rows = View::from(&[1u32, 2, 3, 4, 5, 6]).shape([2, 3])?.axis(1)?;
    /// assert_eq!(rows.exclusive_scan(&Device::cpu(), Sum)?.to_vec()?, [0, 1, 3, 0, 4, 9]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn exclusive_scan<O>(&self, device: &Device, operator: O) -> Result<NdArray<E::Item>>
    where
        E::Item: Widen<<E::Item as Element>::Acc>,
        O: Operator<<E::Item as Element>::Acc>,
    {
        self.scanned(device, &Scan::exclusive(operator))
    }

    /// A scan that is stated in full, into memory of the caller's: with a direction, a start value for each row, another type, or
    /// strides.
    ///
    /// # Arguments
    /// - `output`: an array of the shape of the input, overwritten. Its type decides in which type items are combined. What lies between
    ///   its items in memory stays as it is.
    ///
    /// # Cost
    /// As of [`inclusive_scan`](Along::inclusive_scan); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if the output has another shape, before anything is written; those of
    /// [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Scan, Sum, View, ViewMut};
    /// let mut output = [0u32; 4];
    /// let rows = View::from(&[200u8, 100, 7, 1]).shape([2, 2])?.axis(1)?;
    /// let sums = ViewMut::from(&mut output).shape([2, 2])?;
    /// rows.scan_into(&Device::cpu(), sums, &Scan::inclusive(Sum).reverse())?;
    /// assert_eq!(output, [300, 100, 8, 1]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
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
        let rows = self.axes.scanned(&self.array.layout, &layout)?;
        self.array.items.scan_rows(device, &rows, items, problem)
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
        let device = &*device.at_home(|| self.array.items.home());
        let items = room(device, self.array.len(), || {
            Ok(<E::Item as Element>::from_acc(problem.operator.identity()))
        })?;
        let mut output = NdArray::new(items, self.array.shape())?;
        self.scan_into(device, &mut output, problem)?;
        Ok(output)
    }
}

/// Recordings: calls that are bound to arrays in the memory of a GPU, to be begun as often as wanted. Everything that they need is made
/// here.
impl<T: Element> Along<View<'_, T>> {
    /// [`reduce_into`](Along::reduce_into), from an array in a GPU's memory to another.
    ///
    /// # Errors
    /// Those of [`reduce_into`](Along::reduce_into) and of [`ReducePlan::bind`](crate::ReducePlan::bind).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Array, Device, Reduce, Result, Sum};
    ///
    /// /// The sums of the columns of tables with three columns, one after another.
    /// fn sums_of_columns(device: &Device, tables: &[[f32; 12]]) -> Result<Vec<Vec<f32>>> {
    ///     let mut table = Array::filled(device, 12, 0.0f32)?;
    ///     let mut sums = Array::filled(device, 3, 0.0f32)?;
    ///     let columns = table.view().shape([4, 3])?.axis(0)?;
    ///     let output = sums.view_mut().shape([3])?;
    ///     let recording = columns.bind_reduce(device, output, &Reduce::new(Sum))?;
    ///     let mut all = Vec::new();
    ///     for own in tables {
    ///         table.copy_from_slice(own)?;
    ///         recording.submit()?;
    ///         all.push(sums.to_vec()?);
    ///     }
    ///     Ok(all)
    /// }
    /// # // A CPU has no recordings.
    /// # assert!(sums_of_columns(&Device::cpu(), &[]).is_err());
    /// ```
    pub fn bind_reduce<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, U>>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let NdViewMut { items, layout } = output.into();
        let to_rows = self.axes.reduced(&self.array.layout, &layout)?;
        rows::bind_reduce(device, self.array.items, &to_rows, items, problem)
    }

    /// [`scan_into`](Along::scan_into), likewise.
    ///
    /// # Errors
    /// Those of [`scan_into`](Along::scan_into) and of [`ReducePlan::bind`](crate::ReducePlan::bind).
    pub fn bind_scan<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, U>>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let NdViewMut { items, layout } = output.into();
        let to_rows = self.axes.scanned(&self.array.layout, &layout)?;
        rows::bind_scan(device, self.array.items, &to_rows, items, problem)
    }
}

/// Likewise, of numbers.
impl<T: Number> Along<View<'_, T>> {
    /// [`argmin_into`](Along::argmin_into), from an array in a GPU's memory to another.
    ///
    /// # Errors
    /// Those of [`argmin_into`](Along::argmin_into) and of [`ReducePlan::bind`](crate::ReducePlan::bind).
    pub fn bind_argmin<'b>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, u64>>,
    ) -> Result<Recording> {
        self.bind_positions(device, output.into(), Extreme::Smallest)
    }

    /// [`argmax_into`](Along::argmax_into), likewise.
    ///
    /// # Errors
    /// As [`bind_argmin`](Along::bind_argmin).
    pub fn bind_argmax<'b>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, u64>>,
    ) -> Result<Recording> {
        self.bind_positions(device, output.into(), Extreme::Largest)
    }

    fn bind_positions(
        &self,
        device: &Device,
        output: NdViewMut<'_, u64>,
        extreme: Extreme,
    ) -> Result<Recording> {
        let NdViewMut { items, layout } = output;
        let to_rows = self.axes.reduced(&self.array.layout, &layout)?;
        rows::bind_position(device, self.array.items, &to_rows, items, extreme)
    }
}

impl<'a, E: Fused<'a, Item: Number>> Along<E> {
    /// The first position of the smallest item of each row, counted from the first item of the row in C order.
    ///
    /// # Result
    /// An array in the shape of the other axes; see [`keepdims`](Along::keepdims). A row without items gives `u64::MAX`. −0 and +0 are
    /// equal; a NaN counts as smaller than every number.
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce).
    ///
    /// # Errors
    /// Those of [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, View};
    /// let items = [4i16, -2, 9, 7, 7, 8];
    /// let table = View::from(&items).shape([2, 3])?;
    /// assert_eq!(table.axis(1)?.argmin(&Device::cpu())?.to_vec()?, [1, 0]);
    /// assert_eq!(table.axis(0)?.argmin(&Device::cpu())?.to_vec()?, [0, 0, 1]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn argmin(&self, device: &Device) -> Result<NdArray<u64>> {
        self.positions(device, Extreme::Smallest)
    }

    /// The first position of the largest item of each row, counted from the first item of the row in C order.
    ///
    /// # Result
    /// As of [`argmin`](Along::argmin); a NaN counts as larger than every number.
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce).
    ///
    /// # Errors
    /// Those of [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, View};
    /// let items = [4.0f64, 9.0, f64::NAN, 7.0];
    /// let rows = View::from(&items).shape([2, 2])?.axis(1)?;
    /// assert_eq!(rows.argmax(&Device::cpu())?.to_vec()?, [1, 0]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn argmax(&self, device: &Device) -> Result<NdArray<u64>> {
        self.positions(device, Extreme::Largest)
    }

    /// As [`argmin`](Along::argmin), into memory of the caller's, which has the shape of the other axes; see
    /// [`keepdims`](Along::keepdims).
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if the output has another shape, before anything is written; those of
    /// [`reduce`](Along::reduce).
    pub fn argmin_into<'b>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, u64>>,
    ) -> Result<()> {
        self.positions_into(device, output.into(), Extreme::Smallest)
    }

    /// As [`argmax`](Along::argmax), into memory of the caller's, which has the shape of the other axes; see
    /// [`keepdims`](Along::keepdims).
    ///
    /// # Cost
    /// As of [`argmin_into`](Along::argmin_into).
    ///
    /// # Errors
    /// Those of [`argmin_into`](Along::argmin_into).
    pub fn argmax_into<'b>(
        &self,
        device: &Device,
        output: impl Into<NdViewMut<'b, u64>>,
    ) -> Result<()> {
        self.positions_into(device, output.into(), Extreme::Largest)
    }

    fn positions(&self, device: &Device, extreme: Extreme) -> Result<NdArray<u64>> {
        let device = &*device.at_home(|| self.array.items.home());
        let mut output = self.results(device, || u64::MAX)?;
        self.positions_into(device, output.view_mut(), extreme)?;
        Ok(output)
    }

    fn positions_into(
        &self,
        device: &Device,
        output: NdViewMut<'_, u64>,
        extreme: Extreme,
    ) -> Result<()> {
        let NdViewMut { items, layout } = output;
        let rows = self.axes.reduced(&self.array.layout, &layout)?;
        self.array.items.position_rows(device, &rows, items, extreme)
    }

    /// The arithmetic mean of each row: its sum in the type of the mean, divided by the number of its items. That of a row without items
    /// is NaN.
    ///
    /// # Result
    /// An array in the shape of the other axes; see [`keepdims`](Along::keepdims). Each item is what [`mean`](crate::mean) gives for the
    /// row.
    ///
    /// # Cost
    /// As of [`reduce`](Along::reduce). The host divides: on a GPU it waits for the sums and brings the means back.
    ///
    /// # Errors
    /// Those of [`reduce`](Along::reduce).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, View};
    /// let table = View::from(&[250u8, 251, 1, 2]).shape([2, 2])?;
    /// assert_eq!(table.axis(1)?.mean(&Device::cpu())?.to_vec()?, [250.5, 1.5]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn mean(&self, device: &Device) -> Result<NdArray<<E::Item as Mean>::Output>>
    where
        E::Item: Mean + Widen<<E::Item as Mean>::Output>,
        Sum: Operator<<E::Item as Mean>::Output>,
    {
        let device = &*device.at_home(|| self.array.items.home());
        let sums = self.reduce_as::<<E::Item as Mean>::Output, _>(device, Sum)?;
        let (shape, count) = (sums.shape().to_vec(), self.axes.items(&self.array.layout));
        let mut means = sums.into_array().into_vec()?;
        for value in &mut means {
            *value = <E::Item as Mean>::divide(*value, count);
        }
        let means = match device.kind() {
            Kind::Cpu(_) => Array::from_host(means),
            _ => Array::from_slice(device, &means)?,
        };
        NdArray::new(means, shape)
    }
}
