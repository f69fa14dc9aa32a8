//! Items that are made as they are read, of what lies in views.

use core::ops::Range;
use std::borrow::Cow;

use upsweep_core::{Arguments, Formula, Make, Recipe};

use crate::backend::{Kind, Reach, wrong_device};
use crate::view::Items;
use crate::{
    Apply, Array, Device, Element, Error, Operator, Reduce, Result, Scan, View, ViewMut, Widen,
    cuda, gpu, memory,
};

/// Items that are made as they are read: nothing is written on the way.
///
/// A [`View`] is such, of its own items; [`map`](Fused::map) and [`zip`](Fused::zip) make others of it. What is read is read once, by
/// the reduction or scan that they end in.
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

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same on the host.
    #[doc(hidden)]
    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a>;

    /// What kernels make of arrays, which are added to `arrays`.
    #[doc(hidden)]
    fn formulas(&self, arrays: &mut Vec<Source<'a>>) -> Vec<Formula>;

    /// What `function` makes of each item, or of each pair.
    ///
    /// `name {}` is a function `name` with [`#[upsweep::function]`](macro@crate::function) as a value.
    fn map<F>(self, function: F) -> Mapped<Self, F>
    where
        F: Apply<<Self::Item as Arguments>::Tuple, Output: Arguments>,
    {
        Mapped { input: self, function }
    }

    /// Items of the same number in pairs, as many as the shorter one has.
    fn zip<E>(self, other: E) -> Zipped<Self, E>
    where
        Self: Fused<'a, Item: Element>,
        E: Fused<'a, Item: Element>,
    {
        Zipped { left: self, right: other }
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
        match device.kind() {
            Kind::Cpu(cpu) => Ok(cpu.reduce_made(self.on_host()?, problem)),
            Kind::Wgpu(gpu) => {
                let (recipe, arrays) = self.recipe();
                gpu::reduce_made(gpu, (&recipe, &arrays), self.len(), problem)
            }
            Kind::Cuda(gpu) => {
                let (recipe, arrays) = self.recipe();
                cuda::reduce_made(gpu, (&recipe, &arrays), self.len(), problem)
            }
        }
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
        let output = output.into();
        if output.len() != self.len() {
            return Err(Error::LengthMismatch { input: self.len(), output: output.len() });
        }
        match device.kind() {
            Kind::Cpu(cpu) => cpu.scan_made(self.on_host()?, cpu.output(output)?, problem),
            Kind::Wgpu(gpu) => {
                let (recipe, arrays) = self.recipe();
                gpu::scan_made(gpu, (&recipe, &arrays), output, problem)
            }
            Kind::Cuda(gpu) => {
                let (recipe, arrays) = self.recipe();
                cuda::scan_made(gpu, (&recipe, &arrays), output, problem)
            }
        }
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
        let mut output = Array::filled(device, self.len(), first)?;
        self.scan_into(device, &mut output, problem)?;
        Ok(output)
    }

    /// The recipe of all items, and the arrays that it is for.
    #[doc(hidden)]
    fn recipe(&self) -> (Recipe, Vec<Source<'a>>)
    where
        Self::Item: Element,
    {
        let mut arrays = Vec::new();
        let formula = self.formulas(&mut arrays).pop().unwrap_or(Formula::Item(0));
        let kinds = arrays.iter().map(|source| source.kind).collect();
        (Recipe { item: <Self::Item as Element>::KIND, arrays: kinds, formula }, arrays)
    }
}

/// One of the arrays that items are made of.
#[doc(hidden)]
#[derive(Debug)]
pub struct Source<'a> {
    pub(crate) kind: upsweep_core::Kind,
    pub(crate) stored: Stored<'a>,
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

    fn on_host(&self) -> Result<impl Make<Item = T> + 'a> {
        match self.items {
            Items::Host(items) => Ok(items),
            Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
        }
    }

    fn formulas(&self, arrays: &mut Vec<Source<'a>>) -> Vec<Formula> {
        let stored = match self.items {
            Items::Host(items) => Stored::Host(T::bytes(items).unwrap_or_default()),
            Items::Device(range) => Stored::Device(range),
        };
        arrays.push(Source { kind: T::KIND, stored });
        vec![Formula::Item(arrays.len() - 1)]
    }

    fn reduce_with<A, O>(&self, device: &Device, problem: &Reduce<A, O>) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        crate::reduce_with(device, *self, problem)
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

    fn on_host(&self) -> Result<impl Make<Item = F::Output> + 'a> {
        Ok(Mapped { input: self.input.on_host()?, function: self.function })
    }

    fn formulas(&self, arrays: &mut Vec<Source<'a>>) -> Vec<Formula> {
        vec![Formula::Call(self.function.function(), self.input.formulas(arrays))]
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
    fn make(&self, range: Range<usize>) -> impl Iterator<Item = F::Output> {
        let function = self.function;
        self.input.make(range).map(
            #[inline(always)]
            move |item| function.apply(item.tuple()),
        )
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

    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a> {
        Ok(Zipped { left: self.left.on_host()?, right: self.right.on_host()? })
    }

    fn formulas(&self, arrays: &mut Vec<Source<'a>>) -> Vec<Formula> {
        let mut both = self.left.formulas(arrays);
        both.append(&mut self.right.formulas(arrays));
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
    fn make(&self, range: Range<usize>) -> impl Iterator<Item = Self::Item> {
        self.left.make(range.clone()).zip(self.right.make(range))
    }
}
