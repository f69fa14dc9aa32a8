//! Items that are made as they are read, of what lies in views, or nowhere.
//!
//! What they are made of is said in two halves: a [`Recipe`], which is all that a kernel is made for, and the arrays and words that
//! it is handed at each launch. `places.rs` says at which numbers arrays are read, `values.rs` what lies in no array; `positions.rs`
//! makes ranks with their numbers, to find positions within segments on GPUs.

mod filter;
mod places;
mod positions;
mod values;

use core::ops::Range;
use std::borrow::Cow;

use upsweep_core::{
    Arguments, Condition, Derivation, Derived, DeviceLength, DeviceLengths, Extreme, Formula,
    Index, Make, Parameter, Quotient, Recipe, Rows,
};

use crate::backend::{Kind, ViewBackend, wrong_device};
use crate::nd::rows;
use crate::view::Items;
use crate::{
    Apply, Array, Device, Dtype, Element, Error, GatherIndex, NdItems, Number, Operator, Reduce,
    Result, Scan, Segments, View, ViewMut, Widen, cuda, gpu, memory, segmented,
};
pub use filter::Filtered;
pub(crate) use places::Place;
pub use places::{Gathered, Reversed, Strided};
#[cfg(feature = "any")]
pub(crate) use positions::find_on_gpu;
pub use positions::{
    segmented_argmax, segmented_argmax_into, segmented_argmin, segmented_argmin_into,
};
pub use values::{Constant, Count, Counting, constant, counting};

/// Items that are made as they are read: nothing is written on the way.
///
/// A [`View`] is such, of its own items; [`counting`] and [`constant`] are, without an array. [`map`](Fused::map),
/// [`zip`](Fused::zip), [`reversed`](Fused::reversed), [`strided`](Fused::strided) and [`gather`](Fused::gather) make others of
/// them. What is read is read once, by the reduction or scan that they end in.
///
/// Items in their own places are read many at a time; those that are reversed, strided or gathered one by one. Kernels are made
/// for what is done, not for values: lengths, steps, starts of ranges, constants and fields of functions are handed to them.
///
/// # Errors
/// With wgpu a reduction or scan reads four arrays at most. One that is reversed, strided or gathered must be as short as a binding
/// of the device, else [`Error::Buffer`]; others may be longer. Lengths, values and fields take 64 words of 32 bits at most.
///
/// ```
/// use upsweep::{Array, Device, Fused, Sum, View};
///
/// #[upsweep::function]
/// fn product(left: f32, right: f32) -> f32 {
///     left * right
/// }
///
/// let device = Device::cpu();
/// let (a, b) = ([1.0f32, 2.0, 3.0], [4.0f32, 5.0, 6.0]);
/// let dot = View::from(&a).zip(View::from(&b)).map(product {}).reduce(&device, Sum)?;
/// assert_eq!(dot, 32.0);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub trait Fused<'a>: Copy {
    /// What is made: a number or a structure; or a pair, which only a function takes.
    type Item: Arguments;

    /// Number of items; of two arrays, that of the shorter one.
    fn len(&self) -> usize;

    /// Items for which an output has room: all that arrays have, whatever their length.
    #[doc(hidden)]
    fn bound(&self) -> usize {
        self.len()
    }

    /// How many items there are, if only the device knows.
    #[doc(hidden)]
    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        None
    }

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether items can be made of what was given.
    #[doc(hidden)]
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The same on the host.
    #[doc(hidden)]
    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a>;

    /// What kernels make for a place of what is added to `parts`.
    #[doc(hidden)]
    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula>;

    /// What `function` makes of each item, or of each pair.
    ///
    /// `name {}` is a function `name` with [`#[upsweep::function]`](macro@crate::function) as a value; a structure whose `impl`
    /// block has it is one with fields.
    fn map<F>(self, function: F) -> Mapped<Self, F>
    where
        F: Apply<<Self::Item as Arguments>::Tuple, Output: Arguments>,
    {
        Mapped { input: self, function }
    }

    /// The items of which a predicate holds, to be selected, counted, or told apart from the others.
    ///
    /// A predicate is a function with [`#[upsweep::function]`](macro@crate::function) that takes an item and gives a `bool`.
    ///
    /// ```
    /// use upsweep::{Device, Fused, counting};
    ///
    /// #[upsweep::function]
    /// fn is_odd(number: u32) -> bool {
    ///     number % 2 == 1
    /// }
    ///
    /// let odd = counting(0u32..10).filter(is_odd {});
    /// assert_eq!(odd.select(&Device::cpu())?.into_vec()?, [1, 3, 5, 7, 9]);
    /// assert_eq!(odd.count(&Device::cpu())?, 5);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn filter<P>(self, predicate: P) -> Filtered<Self, P>
    where
        Self: Fused<'a, Item: Element>,
        P: Apply<(Self::Item,), Output = bool>,
    {
        Filtered::new(self, predicate)
    }

    /// Items of the same number in pairs, as many as the shorter one has.
    fn zip<E>(self, other: E) -> Zipped<Self, E>
    where
        Self: Fused<'a, Item: Element>,
        E: Fused<'a, Item: Element>,
    {
        Zipped { left: self, right: other }
    }

    /// Items from the last one to the first.
    ///
    /// ```
    /// use upsweep::{Device, Fused, Sum, View};
    ///
    /// let from_end = View::from(&[1u32, 2, 3]).reversed().inclusive_scan(&Device::cpu(), Sum)?;
    /// assert_eq!(from_end.into_vec()?, [3, 5, 6]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn reversed(self) -> Reversed<Self> {
        Reversed(self)
    }

    /// Every `step`-th item from the first one on: of n items ⌈n / `step`⌉.
    ///
    /// # Errors
    /// A step of 0 is [`Error::NoStep`] where the items are used.
    ///
    /// ```
    /// use upsweep::{Device, Error, Fused, Sum, View};
    ///
    /// let (device, items) = (Device::cpu(), [1u32, 2, 3, 4, 5]);
    /// assert_eq!(View::from(&items).strided(2).reduce(&device, Sum), Ok(9));
    /// assert_eq!(View::from(&items).strided(0).reduce(&device, Sum), Err(Error::NoStep));
    /// ```
    fn strided(self, step: usize) -> Strided<Self> {
        Strided { input: self, step }
    }

    /// The items at these numbers, which are `u32` or `u64`: item i is that of number `indices[i]`, or the last one if there are
    /// not so many.
    ///
    /// # Errors
    /// Indices without anything that they could stand for are [`Error::NothingToGather`] where the items are used; or where somebody waits for
    /// the device, if only that knows how many items there are.
    ///
    /// ```
    /// use upsweep::{Device, Fused, Sum, View};
    ///
    /// let (items, indices) = ([10.0f32, 20.0, 30.0], [2u32, 0, 2, 1_000_000]);
    /// let found = View::from(&items).gather(View::from(&indices));
    /// let sums = found.inclusive_scan(&Device::cpu(), Sum)?;
    /// assert_eq!(sums.into_vec()?, [30.0, 40.0, 70.0, 100.0]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn gather<I>(self, indices: I) -> Gathered<Self, I>
    where
        I: Fused<'a, Item: GatherIndex>,
    {
        Gathered { input: self, indices }
    }

    /// The items as an array of this shape, in C order, to be reduced or scanned along its axes; see
    /// [`View::shape`](crate::View::shape).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless the shape has as many items as there are, and for items whose number only a GPU knows.
    fn shape(self, shape: impl AsRef<[usize]>) -> Result<NdItems<Self>> {
        NdItems::packed(self, shape.as_ref())
    }

    /// The items as an array of this shape at these strides, which begins with item `start`: see [`NdItems::strided`].
    ///
    /// # Errors
    /// Those of [`NdItems::strided`].
    ///
    /// ```
    /// use upsweep::{Device, Fused, Sum, counting};
    /// // An antidiagonal of a table of three by three: 2, 4, 6.
    /// let numbers = counting(0u32..9).with_strides([3], &[2], 2)?;
    /// assert_eq!(numbers.axis(0)?.reduce(&Device::cpu(), Sum)?.to_vec()?, [12]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn with_strides(
        self,
        shape: impl AsRef<[usize]>,
        strides: &[isize],
        start: usize,
    ) -> Result<NdItems<Self>> {
        NdItems::strided(self, shape, strides, start)
    }

    /// Writes the value of each row.
    #[doc(hidden)]
    fn reduce_rows<U, O>(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, U>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        Self::Item: Element + Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        rows::reduce_made(device, self, rows, output, problem)
    }

    /// Writes the prefixes of each row.
    #[doc(hidden)]
    fn scan_rows<U, O>(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        Self::Item: Element + Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        rows::scan_made(device, self, rows, output, problem)
    }

    /// Writes where in each row its extreme is.
    #[doc(hidden)]
    fn position_rows(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, u64>,
        extreme: Extreme,
    ) -> Result<()>
    where
        Self::Item: Number,
    {
        rows::position_made(device, self, rows, output, extreme)
    }

    /// Combines all items with `operator`, in their own type.
    ///
    /// # Cost
    /// Every array is read once, and nothing is written. On a GPU, arrays of the host are copied there.
    ///
    /// # Errors
    /// Those of the device: an operator on items that are made must be built in, or made by
    /// [`#[upsweep::operator]`](macro@crate::operator).
    fn reduce<O>(&self, device: &Device, operator: O) -> Result<Self::Item>
    where
        Self::Item: Element + Widen<<Self::Item as Element>::Acc>,
        O: Operator<<Self::Item as Element>::Acc>,
    {
        let total = self.reduce_with(device, &Reduce::new(operator))?;
        Ok(<Self::Item as Element>::from_acc(total))
    }

    /// Solves a reduction that is stated in full, in a wider type where wanted.
    ///
    /// # Errors
    /// Those of [`reduce`](Fused::reduce).
    fn reduce_with<A, O>(&self, device: &Device, problem: &Reduce<A, O>) -> Result<A>
    where
        Self::Item: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        self.check()?;
        let device = device.at_home(|| self.home());
        match device.kind() {
            Kind::Cpu(cpu) => cpu.reduce_made(self.on_host()?, problem),
            Kind::Wgpu(gpu) => gpu::reduce_made(gpu, &self.made(), problem),
            Kind::Cuda(gpu) => cuda::reduce_made(gpu, &self.made(), problem),
        }
    }

    /// One value for each segment, in the items' own type.
    ///
    /// # Arguments
    /// - `segments`: how items are cut: by offsets up to their number, or by as many flags or keys; see [`Segments`].
    ///
    /// # Operator
    /// Associative; any, commutative or not.
    ///
    /// # Result
    /// An array of one value for each segment, on the device; of a segment without items, the identity. The same bits as
    /// [`segmented_reduce`](crate::segmented_reduce) gives of an array that was made before.
    ///
    /// # Cost
    /// Every array is read once, twice with wgpu on devices whose workgroups stop while others wait; what is made is written
    /// nowhere on a GPU. A CPU makes 65,536 items at once on each of its threads, which wait in that thread's cache. By flags or
    /// keys it waits on a GPU, to learn how many segments there are.
    ///
    /// # Errors
    /// Those of [`reduce`](Fused::reduce) and of [`segmented_reduce`](crate::segmented_reduce). With wgpu what says where segments
    /// begin counts as one of the four arrays, by flags or keys as two, else [`Error::Buffer`].
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Fused, Segments, Sum, View};
    ///
    /// #[upsweep::function]
    /// fn product(left: f32, right: f32) -> f32 {
    ///     left * right
    /// }
    ///
    /// // A sparse matrix by a vector: rows of 2, 0 and 1 numbers.
    /// let (numbers, columns, rows) = ([2.0f32, 3.0, 4.0], [0u32, 2, 1], [0u32, 2, 2, 3]);
    /// let vector = View::from(&[10.0f32, 20.0, 30.0]).gather(View::from(&columns));
    /// let products = View::from(&numbers).zip(vector).map(product {});
    /// let sums = products.segmented_reduce(&Device::cpu(), &Segments::by_offsets(&rows), Sum)?;
    /// assert_eq!(sums.into_vec()?, [110.0, 0.0, 80.0]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn segmented_reduce<O>(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        operator: O,
    ) -> Result<Array<Self::Item>>
    where
        Self::Item: Element + Widen<<Self::Item as Element>::Acc>,
        O: Operator<<Self::Item as Element>::Acc>,
    {
        self.segmented_reduce_with(device, segments, &Reduce::new(operator))
    }

    /// One value for each segment: a reduction that is stated in full, in a wider type where wanted.
    ///
    /// # Errors
    /// Those of [`segmented_reduce`](Fused::segmented_reduce).
    fn segmented_reduce_with<U, O>(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<Array<U>>
    where
        Self::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        segmented::reduce_made(device, self, segments, problem)
    }

    /// The same by offsets, into memory of the caller's: one item for each segment. It waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`segmented_reduce_into`](crate::segmented_reduce_into) and of [`segmented_reduce`](Fused::segmented_reduce).
    fn segmented_reduce_into<'b, U, O>(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        output: impl Into<ViewMut<'b, U>>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        Self::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        segmented::reduce_made_into(device, self, segments, output.into(), problem)
    }

    /// Writes every prefix to `output`, which has as many items.
    ///
    /// # Errors
    /// Those of [`reduce`](Fused::reduce), and [`Error::LengthMismatch`](crate::Error::LengthMismatch).
    fn scan_into<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, U>>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        Self::Item: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let output = output.into().fitted(self.len(), self.bound());
        check_output(self, &output)?;
        let device = device.at_home(|| output.home().or_else(|| self.home()));
        match device.kind() {
            Kind::Cpu(cpu) => cpu.scan_made(self.on_host()?, cpu.output(output)?, problem),
            Kind::Wgpu(gpu) => gpu::scan_made(gpu, &self.made(), output, problem),
            Kind::Cuda(gpu) => cuda::scan_made(gpu, &self.made(), output, problem),
        }
    }

    /// Writes what `function` makes of every prefix to `output`, which has as many items as there are. Prefixes are of the type
    /// that `problem` combines in, and are not written themselves.
    ///
    /// # Errors
    /// Those of [`scan_into`](Fused::scan_into); and [`Error::StrategyRefused`] for a strategy that reads again what it wrote.
    ///
    /// ```
    /// use upsweep::{Array, Device, Element, Fused, Scan, Sum, View};
    ///
    /// /// The number of the bucket that a running total has come to.
    /// #[derive(Clone, Copy, Debug, PartialEq, Element)]
    /// #[repr(C)]
    /// struct Bucket {
    ///     size: u32,
    /// }
    ///
    /// #[upsweep::function]
    /// impl Bucket {
    ///     fn apply(self, total: u32) -> u8 {
    ///         (total / self.size) as u8
    ///     }
    /// }
    ///
    /// let device = Device::cpu();
    /// let mut buckets = Array::filled(&device, 4, 0u8)?;
    /// let items = View::from(&[3u32, 4, 5, 6]);
    /// items.scan_map_into(&device, &mut buckets, &Scan::exclusive(Sum), Bucket { size: 4 })?;
    /// assert_eq!(buckets.into_vec()?, [0, 0, 1, 3]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    fn scan_map_into<'b, A, U, O, F>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, U>>,
        problem: &Scan<A, O>,
        function: F,
    ) -> Result<()>
    where
        Self::Item: Widen<A>,
        A: Element<Acc = A>,
        U: Element,
        O: Operator<A>,
        F: Apply<(A,), Output = U>,
    {
        let output = output.into().fitted(self.len(), self.bound());
        check_output(self, &output)?;
        let made = || {
            let mut made = self.made();
            let prefix = vec![Formula::Prefix];
            let written = made.parts.call(&function, |_| prefix);
            made.recipe.parameters = made.parts.kinds();
            made.recipe.written = Some(written);
            made
        };
        let device = device.at_home(|| output.home().or_else(|| self.home()));
        match device.kind() {
            Kind::Cpu(cpu) => {
                let write = |prefix| function.apply((prefix,));
                cpu.scan_made_with(self.on_host()?, cpu.output(output)?, problem, write)
            }
            Kind::Wgpu(gpu) => gpu::scan_made(gpu, &made(), output, problem),
            Kind::Cuda(gpu) => cuda::scan_made(gpu, &made(), output, problem),
        }
    }

    /// What `function` makes of every prefix; see [`scan_map_into`](Fused::scan_map_into).
    ///
    /// # Errors
    /// Those of [`scan_map_into`](Fused::scan_map_into).
    fn scan_map<A, U, O, F>(
        &self,
        device: &Device,
        problem: &Scan<A, O>,
        function: F,
    ) -> Result<Array<U>>
    where
        Self::Item: Widen<A>,
        A: Element<Acc = A>,
        U: Element,
        O: Operator<A>,
        F: Apply<(A,), Output = U>,
    {
        let first = function.apply((problem.operator.identity(),));
        let device = &*device.at_home(|| self.home());
        let mut output = Array::filled(device, self.len(), first)?;
        self.scan_map_into(device, &mut output, problem, function)?;
        Ok(output)
    }

    /// Every prefix, the item itself included, in the items' own type.
    ///
    /// # Errors
    /// Those of [`reduce`](Fused::reduce).
    fn inclusive_scan<O>(&self, device: &Device, operator: O) -> Result<Array<Self::Item>>
    where
        Self::Item: Element + Widen<<Self::Item as Element>::Acc>,
        O: Operator<<Self::Item as Element>::Acc>,
    {
        self.scan(device, &Scan::inclusive(operator))
    }

    /// Solves a scan that is stated in full, in the items' own type.
    ///
    /// # Errors
    /// Those of [`reduce`](Fused::reduce).
    fn scan<O>(
        &self,
        device: &Device,
        problem: &Scan<<Self::Item as Element>::Acc, O>,
    ) -> Result<Array<Self::Item>>
    where
        Self::Item: Element + Widen<<Self::Item as Element>::Acc>,
        O: Operator<<Self::Item as Element>::Acc>,
    {
        let first = <Self::Item as Element>::from_acc(problem.operator.identity());
        let device = &*device.at_home(|| self.home());
        let mut output = Array::filled(device, self.len(), first)?;
        self.scan_into(device, &mut output, problem)?;
        Ok(output)
    }

    /// The GPU on which the first array is that is on one.
    #[doc(hidden)]
    fn home(&self) -> Option<Device>
    where
        Self::Item: Element,
    {
        self.made().home()
    }

    /// The recipe of all items, and what it is for.
    #[doc(hidden)]
    fn made(&self) -> Made<'a>
    where
        Self::Item: Element,
    {
        let mut parts = Parts::default();
        let formula = self.formulas(&Place::OWN, &mut parts).pop().unwrap_or(Formula::Item(0));
        parts.set_len(self.bounded_len());
        let recipe = parts.recipe(<Self::Item as Element>::KIND, formula);
        Made { recipe, parts, items: self.len() }
    }
}

/// Whether items can be made, and `output` has as many.
fn check_output<'a, E: Fused<'a>, U>(items: &E, output: &ViewMut<'_, U>) -> Result<()> {
    items.check()?;
    match (items.len(), output.len()) {
        (input, output) if input != output => Err(Error::LengthMismatch { input, output }),
        _ => Ok(()),
    }
}

/// What kernels are made for, and what they are handed.
#[doc(hidden)]
#[derive(Debug)]
#[cfg_attr(
    not(any(feature = "wgpu", feature = "cuda")),
    expect(dead_code, reason = "without any GPU nobody is handed it")
)]
pub struct Made<'a> {
    pub(crate) recipe: Recipe,
    pub(crate) parts: Parts<'a>,
    /// How many items are made.
    pub(crate) items: usize,
}

impl<'a> Made<'a> {
    /// So many items without a formula, which [`state`](Made::state) sets.
    #[cfg(feature = "any")]
    pub(crate) fn empty(items: usize) -> Self {
        let parts = Parts::default();
        Self { recipe: parts.recipe(Dtype::U32.into(), Formula::Item(0)), parts, items }
    }

    /// Sets what is made of what was added to the parts, and of which items.
    #[cfg(feature = "any")]
    pub(crate) fn state(
        &mut self,
        item: upsweep_core::Kind,
        formula: Formula,
        condition: Option<Condition>,
    ) {
        self.recipe = Recipe { condition, ..self.parts.recipe(item, formula) };
    }

    /// Items of this kind of which those are selected that a condition holds of.
    pub(crate) fn selecting(
        items: usize,
        item: upsweep_core::Kind,
        formula: Formula,
        condition: Condition,
        parts: Parts<'a>,
    ) -> Self {
        let mut made = Self { recipe: parts.recipe(item, formula), parts, items };
        made.recipe.condition = Some(condition);
        made
    }

    /// The GPU on which the first array is that is on one.
    pub(crate) fn home(&self) -> Option<Device> {
        let mut arrays = self.parts.arrays.iter().chain(&self.parts.anywhere);
        arrays.find_map(|source| match &source.stored {
            Stored::Host(_) => None,
            Stored::Device(range) => range.home(),
        })
    }
}

/// What items are made of at each launch.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Parts<'a> {
    /// Arrays that are read in order.
    pub(crate) arrays: Vec<Source<'a>>,
    /// Arrays that are read anywhere.
    pub(crate) anywhere: Vec<Source<'a>>,
    /// What has each of the lengths that only the device knows, as far as parameters follow from them.
    pub(crate) bounded: Vec<memory::Range<'a>>,
    lengths: DeviceLengths,
    /// Whether items are made of arrays whose lengths lie in several places.
    pub(crate) is_torn: bool,
    parameters: Vec<Parameter>,
}

/// A number of items that only the device knows: of a length the quotient by a step, rounded up.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BoundedLen<'a> {
    /// Items that have the length.
    range: memory::Range<'a>,
    /// The most that the length may be.
    bound: u64,
    divisor: u64,
    /// Whether arrays that are read together have lengths in several places, of which this is one.
    is_torn: bool,
}

impl<'a> BoundedLen<'a> {
    /// Every `step`-th of so many items.
    fn strided(self, step: usize) -> Self {
        Self { divisor: self.divisor.saturating_mul(step as u64), ..self }
    }

    /// The same, but no more than `items` items.
    fn up_to(self, items: usize) -> Self {
        Self { bound: self.bound.min(self.divisor.saturating_mul(items as u64)), ..self }
    }

    /// The fewer of two numbers.
    fn min(self, other: Self) -> Self {
        let is_same = self.range.has_length_of(&other.range);
        Self {
            range: self.range,
            bound: self.bound.min(other.bound),
            divisor: self.divisor.max(other.divisor),
            is_torn: self.is_torn || other.is_torn || !is_same,
        }
    }
}

impl<'a> Parts<'a> {
    /// Adds a parameter: its number.
    pub(crate) fn parameter(&mut self, parameter: Parameter) -> usize {
        self.parameters.push(parameter);
        self.parameters.len() - 1
    }

    /// Has the device derive a parameter from how many items there are: the number of the length.
    fn derive(&mut self, parameter: usize, len: &BoundedLen<'a>, derivation: Derivation) -> usize {
        let quotient = self.quotient(len);
        let length = quotient.length;
        self.lengths.derived.push(Derived { parameter, quotient, derivation });
        length
    }

    /// A number of items that only the device knows, for kernels.
    fn quotient(&mut self, len: &BoundedLen<'a>) -> Quotient {
        self.is_torn |= len.is_torn;
        let known = self.bounded.iter().position(|range| range.has_length_of(&len.range));
        let length = known.unwrap_or_else(|| {
            let bound = self.parameter(Parameter::of(len.bound));
            self.bounded.push(len.range);
            self.lengths.all.push(DeviceLength { bound, is_gathered: false });
            self.bounded.len() - 1
        });
        let bound = &mut self.parameters[self.lengths.all[length].bound];
        let words = Parameter::of(len.bound);
        if [1, 0].map(|word| words.words[word]) < [1, 0].map(|word| bound.words[word]) {
            *bound = words;
        }
        Quotient { length, divisor: self.parameter(Parameter::of(len.divisor)) }
    }

    /// That indices are numbers of items of which there are as many as this length says.
    fn gathers_from(&mut self, length: usize) {
        self.lengths.all[length].is_gathered = true;
    }

    /// That so many items are made. Where nothing is derived, arrays in order say so.
    fn set_len(&mut self, len: Option<BoundedLen<'a>>) {
        if let Some(len) = len.filter(|_| !self.lengths.derived.is_empty()) {
            self.lengths.items = Some(self.quotient(&len));
        }
    }

    /// Adds an array that is read in order: its item.
    pub(crate) fn array(&mut self, array: Source<'a>) -> Formula {
        self.arrays.push(array);
        Formula::Item(self.arrays.len() - 1)
    }

    /// Adds an array of so many items of which every `step`-th is read: its item.
    pub(crate) fn strided(&mut self, items: usize, array: Source<'a>, step: usize) -> Formula {
        places::read(items, array, &Place::OWN.on_line(0, step as u64), self)
    }

    /// That an item of an array of so many begins a run of the same bits.
    pub(crate) fn begins(&mut self, items: usize, array: impl Fn() -> Source<'a>) -> Condition {
        let own = self.array(array());
        let in_front = Place::OWN.on_line(u64::MAX, 1);
        // Those in front of items are among them, whatever the length.
        let before = array();
        Condition::Begins(own, places::read(items, before.whole(), &in_front, self))
    }

    /// The numbers of items, counted from `first`, which is one of them.
    pub(crate) fn numbers(&mut self, of: Dtype, first: u64) -> Formula {
        let words = [first as u32, (first >> 32) as u32][..of.size() / 4].to_vec();
        let start = self.parameter(Parameter { kind: of.into(), words });
        Formula::Counted(of, start, Box::new(Index::Own))
    }

    /// The recipe of items of this kind, made of what was added.
    fn recipe(&self, item: upsweep_core::Kind, formula: Formula) -> Recipe {
        let kinds = |sources: &[Source<'_>]| sources.iter().map(|source| source.kind).collect();
        Recipe {
            item,
            arrays: kinds(&self.arrays),
            anywhere: kinds(&self.anywhere),
            parameters: self.kinds(),
            formula,
            written: None,
            condition: None,
            lengths: self.lengths.clone(),
        }
    }

    /// A call of a function, with its fields in front of these arguments.
    pub(crate) fn call<T>(
        &mut self,
        function: &impl Apply<T>,
        arguments: impl FnOnce(&mut Self) -> Vec<Formula>,
    ) -> Formula {
        let fields = function.fields().map(|fields| Formula::Value(self.parameter(fields)));
        let mut all: Vec<Formula> = fields.into_iter().collect();
        all.extend(arguments(self));
        Formula::Call(function.function(), all)
    }

    pub(crate) fn kinds(&self) -> Vec<upsweep_core::Kind> {
        self.parameters.iter().map(|parameter| parameter.kind).collect()
    }

    /// The words of all parameters.
    #[cfg_attr(
        not(any(test, feature = "wgpu", feature = "cuda")),
        expect(dead_code, reason = "without any GPU nobody is handed them")
    )]
    pub(crate) fn words(&self) -> Vec<u32> {
        self.parameters.iter().flat_map(|parameter| parameter.words.iter().copied()).collect()
    }
}

/// One of the arrays that items are made of.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) kind: upsweep_core::Kind,
    pub(crate) stored: Stored<'a>,
}

impl<'a> Source<'a> {
    /// The items of a view.
    pub(crate) fn of<T: Element>(view: View<'a, T>) -> Self {
        let stored = match view.items {
            Items::Host(items) => Stored::Host(T::bytes(items).unwrap_or_default()),
            Items::Device(range) => Stored::Device(range),
        };
        Self { kind: T::KIND, stored }
    }

    /// Numbers as unsigned integers of the same bits: what is only moved, or compared with nothing but itself.
    pub(crate) fn bits(self) -> Self {
        match self.kind {
            upsweep_core::Kind::Number(dtype) => self.bits_as(match dtype.size() {
                1 => Dtype::U8,
                2 => Dtype::U16,
                4 => Dtype::U32,
                _ => Dtype::U64,
            }),
            _ => self,
        }
    }

    /// How many of so many items there are, if only the device knows.
    fn bounded_len(&self, items: usize) -> Option<BoundedLen<'a>> {
        match self.stored {
            Stored::Device(range) if range.is_bounded() => {
                Some(BoundedLen { range, bound: items as u64, divisor: 1, is_torn: false })
            }
            _ => None,
        }
    }

    /// All of the array, whatever its length.
    fn whole(self) -> Self {
        let stored = match self.stored {
            Stored::Device(range) => Stored::Device(range.whole()),
            host @ Stored::Host(_) => host,
        };
        Self { stored, ..self }
    }

    /// The same bits as numbers of another type of the same size.
    pub(crate) fn bits_as(self, dtype: Dtype) -> Self {
        let stored = match self.stored {
            Stored::Device(range) => Stored::Device(range.bits_as(dtype)),
            host @ Stored::Host(_) => host,
        };
        Self { kind: dtype.into(), stored }
    }
}

/// Where it is.
#[derive(Debug)]
pub(crate) enum Stored<'a> {
    Host(Cow<'a, [u8]>),
    Device(memory::Range<'a>),
}

impl<'a, T: Element> Fused<'a> for View<'a, T> {
    type Item = T;

    fn len(&self) -> usize {
        View::len(self)
    }

    fn bound(&self) -> usize {
        View::bound(self)
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        match self.items {
            Items::Host(_) => None,
            Items::Device(_) => Source::of(*self).bounded_len(View::len(self)),
        }
    }

    fn on_host(&self) -> Result<impl Make<Item = T> + 'a> {
        match self.items {
            Items::Host(items) => Ok(items),
            Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
        }
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        vec![places::read(View::len(self), Source::of(*self), place, parts)]
    }

    fn reduce_with<A, O>(&self, device: &Device, problem: &Reduce<A, O>) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        crate::reduce_with(device, *self, problem)
    }

    fn segmented_reduce_with<U, O>(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<Array<U>>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        crate::segmented_reduce_with(device, *self, segments, problem)
    }

    fn segmented_reduce_into<'b, U, O>(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        output: impl Into<ViewMut<'b, U>>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        crate::segmented_reduce_into(device, *self, segments, output, problem)
    }

    fn scan_into<'b, U, O>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, U>>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        crate::scan_into_with(device, *self, output, problem)
    }

    fn reduce_rows<U, O>(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, U>,
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        rows::reduce(device, *self, rows, output, problem)
    }

    fn scan_rows<U, O>(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        rows::scan(device, *self, rows, output, problem)
    }

    fn position_rows(
        &self,
        device: &Device,
        rows: &Rows,
        output: ViewMut<'_, u64>,
        extreme: Extreme,
    ) -> Result<()>
    where
        T: Number,
    {
        rows::position(device, *self, rows, output, extreme)
    }

    fn home(&self) -> Option<Device> {
        View::home(self)
    }
}

/// What a function makes of each item; see [`Fused::map`].
#[derive(Clone, Copy, Debug)]
pub struct Mapped<E, F> {
    input: E,
    function: F,
}

impl<'a, E, F> Fused<'a> for Mapped<E, F>
where
    E: Fused<'a>,
    F: Apply<<E::Item as Arguments>::Tuple, Output: Arguments>,
{
    type Item = F::Output;

    fn len(&self) -> usize {
        self.input.len()
    }

    fn bound(&self) -> usize {
        self.input.bound()
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        self.input.bounded_len()
    }

    fn check(&self) -> Result<()> {
        self.input.check()
    }

    fn on_host(&self) -> Result<impl Make<Item = F::Output> + 'a> {
        Ok(Mapped { input: self.input.on_host()?, function: self.function })
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        vec![parts.call(&self.function, |parts| self.input.formulas(place, parts))]
    }
}

impl<M, F> Make for Mapped<M, F>
where
    M: Make<Item: Arguments>,
    F: Apply<<M::Item as Arguments>::Tuple>,
{
    type Item = F::Output;

    #[inline(always)]
    fn len(&self) -> usize {
        self.input.len()
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = F::Output> + ExactSizeIterator {
        let function = self.function;
        self.input.make(range).map(
            #[inline(always)]
            move |item| function.apply(item.tuple()),
        )
    }

    #[inline(always)]
    fn item(&self, number: usize) -> F::Output {
        self.function.apply(self.input.item(number).tuple())
    }
}

/// Items of two arrays in pairs; see [`Fused::zip`].
#[derive(Clone, Copy, Debug)]
pub struct Zipped<L, R> {
    left: L,
    right: R,
}

impl<'a, L, R> Fused<'a> for Zipped<L, R>
where
    L: Fused<'a, Item: Element>,
    R: Fused<'a, Item: Element>,
{
    type Item = (L::Item, R::Item);

    fn len(&self) -> usize {
        self.left.len().min(self.right.len())
    }

    fn bound(&self) -> usize {
        self.left.bound().min(self.right.bound())
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        let len = match (self.left.bounded_len(), self.right.bounded_len()) {
            (Some(left), Some(right)) => left.min(right),
            (left, right) => left.or(right)?,
        };
        Some(len.up_to(self.len()))
    }

    fn check(&self) -> Result<()> {
        self.left.check()?;
        self.right.check()
    }

    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a> {
        Ok(Zipped { left: self.left.on_host()?, right: self.right.on_host()? })
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        let mut both = self.left.formulas(place, parts);
        both.append(&mut self.right.formulas(place, parts));
        both
    }
}

impl<L: Make, R: Make> Make for Zipped<L, R> {
    type Item = (L::Item, R::Item);

    #[inline(always)]
    fn len(&self) -> usize {
        self.left.len().min(self.right.len())
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator {
        self.left.make(range.clone()).zip(self.right.make(range))
    }

    #[inline(always)]
    fn item(&self, number: usize) -> Self::Item {
        (self.left.item(number), self.right.item(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of kernels, and the words that they are handed.
    fn of<'a>(items: impl Fused<'a, Item: Element>) -> (Recipe, Vec<u32>) {
        let made = items.made();
        (made.recipe, made.parts.words())
    }

    #[test]
    fn kernels_are_made_for_no_values() {
        let (short, long): (&'static [f32], &'static [f32]) = (&[1.5; 3], &[2.5; 200]);
        let (few, many): (&'static [u32], &'static [u32]) = (&[0; 2], &[0; 100]);
        let found = |items: &'static [f32], indices: &'static [u32], step| {
            let found = View::<f32>::from(items).gather(View::<u32>::from(indices));
            of(found.reversed().strided(step))
        };
        let all = [
            [of(counting(3u32..5)), of(counting(1000u32..1_000_000))],
            [of(counting(-3i64..5)), of(counting(i64::MIN..i64::MAX))],
            [of(constant(0.5f32, 3)), of(constant(-7.25f32, 1 << 40))],
            [of(View::from(short).reversed()), of(View::from(long).reversed())],
            [of(View::from(long).strided(2)), of(View::from(long).strided(7))],
            [found(short, few, 1), found(long, many, 9)],
        ];
        for [one, other] in all {
            assert_eq!(one.0, other.0);
            assert_ne!(one.1, other.1);
            assert_eq!(one.1.len(), one.0.words());
        }
        assert_ne!(of(counting(3u32..5)).0, of(counting(3i32..5)).0);
        assert_ne!(of(View::from(long).reversed()).0, of(View::from(long)).0);
    }

    #[test]
    fn steps_of_steps_are_one_line() {
        let items = [0u32; 100];
        let mut parts = Parts::default();
        let view = View::from(&items);
        let twice = view.strided(3).reversed().strided(5);
        let formula = twice.formulas(&Place::OWN, &mut parts).pop();
        // The last of 34 is number 99, and every fifth one before it.
        assert_eq!(parts.words(), [99, 0, -15i32 as u32, u32::MAX, 99, 0]);
        assert!(
            matches!(formula, Some(Formula::Anywhere { array: 0, last: 2, .. })),
            "{formula:?}"
        );
    }
}
