//! Items of which a predicate holds.

use upsweep_core::{Condition, Formula, Make};
use upsweep_gpu::Selecting;

use super::{Fused, Made, Parts, Place};
use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::partition::{self, InParts};
use crate::select::{
    Compacted, Room, Scratch, bind_made, check_outputs, check_positions, select_on,
};
use crate::{Apply, Array, Device, Element, GatherIndex, Recording, Result, ViewMut};

/// The items of which a predicate holds, which are found out as they are read; see [`Fused::filter`].
#[derive(Clone, Copy, Debug)]
pub struct Filtered<E, P> {
    items: E,
    predicate: P,
}

impl<E, P> Filtered<E, P> {
    pub(super) fn new(items: E, predicate: P) -> Self {
        Self { items, predicate }
    }
}

impl<'a, E, P> Filtered<E, P>
where
    E: Fused<'a, Item: Element>,
    P: Apply<(E::Item,), Output = bool>,
{
    /// The items of which the predicate holds, in their order.
    ///
    /// # Result
    /// On the device, in memory for as many items as there are; see [`Compacted`].
    ///
    /// # Cost
    /// Every array is read once, and what is selected is written once. On a GPU it returns when the work has been begun.
    ///
    /// # Errors
    /// Those of [`Fused::reduce`]. On a GPU every array must fit in its memory, and with wgpu in one binding; else
    /// [`Error::Buffer`](crate::Error::Buffer) says so.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Element, Fused, View};
    ///
    /// /// Numbers above a threshold.
    /// #[derive(Clone, Copy, Debug, PartialEq, Element)]
    /// #[repr(C)]
    /// struct Above {
    ///     threshold: f32,
    /// }
    ///
    /// #[upsweep::function]
    /// impl Above {
    ///     fn apply(self, value: f32) -> bool {
    ///         value > self.threshold
    ///     }
    /// }
    ///
    /// let items = View::from(&[1.0f32, 4.5, 2.0, 9.0]);
    /// let found = items.filter(Above { threshold: 3.5 }).select(&Device::cpu())?;
    /// assert_eq!(found.into_vec()?, [4.5, 9.0]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn select(&self, device: &Device) -> Result<Compacted<E::Item>> {
        let device = &*device.at_home(|| self.items.made().home());
        let mut found = Room::new(device, self.items.len(), || self.first())?;
        let (output, count) = found.targets();
        self.take(device, None, false, output, count)?;
        Ok(found.compacted())
    }

    /// The same into memory of the caller's, which has room for as many items as there are. How many are selected is written to the one
    /// item of `count`; what lies behind them holds anything.
    ///
    /// # Cost
    /// As of [`select`](Filtered::select); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`select`](Filtered::select), and before anything is written
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) and [`Error::ResultLength`](crate::Error::ResultLength).
    pub fn select_into<'b, 'c>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, E::Item>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.take(device, None, false, output.into(), count.into())
    }

    /// A selection from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here.
    ///
    /// # Errors
    /// Those of [`select_into`](Filtered::select_into) and of [`ReducePlan::bind`](crate::ReducePlan::bind).
    pub fn bind_select<'b, 'c>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, E::Item>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<Recording> {
        self.bind(device, Selecting::Selected, output.into(), count.into())
    }

    /// A partition from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here.
    ///
    /// # Errors
    /// Those of [`bind_select`](Filtered::bind_select).
    pub fn bind_partition<'b, 'c>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, E::Item>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<Recording> {
        self.bind(device, Selecting::Partitioned, output.into(), count.into())
    }

    fn bind(
        &self,
        device: &Device,
        selecting: Selecting,
        output: ViewMut<'_, E::Item>,
        mut count: ViewMut<'_, u64>,
    ) -> Result<Recording> {
        let mut output = output.fitted(self.items.len(), self.items.bound());
        self.items.check()?;
        check_outputs(self.items.len(), &output, &count)?;
        let made = self.made(<E::Item as Element>::KIND, |formula, _| formula);
        bind_made(device, &made, selecting, (&mut output, &mut count))
    }

    /// All items: those of which the predicate holds, in their order, and behind them the others, in theirs. How many come first is the
    /// second result.
    ///
    /// # Cost
    /// Every array is read twice, the first time to count. On a GPU it waits for the count.
    ///
    /// # Errors
    /// Those of [`select`](Filtered::select).
    pub fn partition(&self, device: &Device) -> Result<(Array<E::Item>, usize)> {
        let device = &*device.at_home(|| self.items.made().home());
        let mut all = Room::new(device, self.items.len(), || self.first())?;
        let (output, count) = all.targets();
        self.take(device, None, true, output, count)?;
        all.compacted().into_parts()
    }

    /// The same into memory of the caller's, which has as many items; how many come first is written to the one item of `count`.
    ///
    /// # Cost
    /// As of [`partition`](Filtered::partition); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`select_into`](Filtered::select_into).
    pub fn partition_into<'b, 'c>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, E::Item>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.take(device, None, true, output.into(), count.into())
    }

    /// All items in three parts: those of which the predicate holds; behind them those of the others of which `second` holds; and behind these
    /// the rest. Each part keeps its order. The second result is where the second part and the rest begin.
    ///
    /// # Cost
    /// A CPU makes each item four times, twice of them to count. On a GPU every array is read three times, and it waits for the borders.
    ///
    /// # Errors
    /// Those of [`select`](Filtered::select).
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Device, Fused, View};
    ///
    /// #[upsweep::function]
    /// fn is_cold(degrees: f32) -> bool {
    ///     degrees < 0.0
    /// }
    ///
    /// #[upsweep::function]
    /// fn is_mild(degrees: f32) -> bool {
    ///     degrees < 20.0
    /// }
    ///
    /// let degrees = View::from(&[21.0f32, -3.0, 12.5, 30.0, 8.0]);
    /// let (all, borders) = degrees.filter(is_cold {}).partition3(&Device::cpu(), is_mild {})?;
    /// assert_eq!((all.into_vec()?, borders), (vec![-3.0, 12.5, 8.0, 21.0, 30.0], [1, 3]));
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn partition3(
        &self,
        device: &Device,
        second: impl Apply<(E::Item,), Output = bool>,
    ) -> Result<(Array<E::Item>, [usize; 2])> {
        let device = &*device.at_home(|| self.items.made().home());
        let mut parts = InParts::new(device, self.items.len(), || self.first())?;
        let (output, borders) = parts.targets();
        self.partition3_into(device, second, output, borders)?;
        parts.finish()
    }

    /// The same into memory of the caller's, which has as many items; where the second part and the rest begin is written to the two items of
    /// `borders`.
    ///
    /// # Cost
    /// As of [`partition3`](Filtered::partition3); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`select`](Filtered::select), and before anything is written
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and [`Error::Buffer`](crate::Error::Buffer) unless there is room for two
    /// borders.
    pub fn partition3_into<'b, 'c>(
        &self,
        device: &Device,
        second: impl Apply<(E::Item,), Output = bool>,
        output: impl Into<ViewMut<'b, E::Item>>,
        borders: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        let mut output = output.into().fitted(self.items.len(), self.items.bound());
        let mut borders = borders.into();
        self.items.check()?;
        partition::check_outputs(self.items.len(), &output, &borders)?;
        let device = device.at_home(|| self.items.made().home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (items, output) = (self.items.on_host()?, cpu.output(output)?);
                let second = Self::keeps(second);
                let found =
                    cpu.partition3_made(items, Self::keeps(self.predicate), second, output)?;
                cpu.output(borders)?.copy_from_slice(&found.map(|border| border as u64));
                Ok(())
            }
            Erased::Gpu(gpu) => {
                let (made, second) = self.made_in_parts(&second);
                gpu.partition3(&made, &second, output.erased().items, borders.erased().items)
            }
        }
    }

    /// A partition in three parts from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made
    /// here.
    ///
    /// # Errors
    /// Those of [`partition3_into`](Filtered::partition3_into) and of [`ReducePlan::bind`](crate::ReducePlan::bind).
    pub fn bind_partition3<'b, 'c>(
        &self,
        device: &Device,
        second: impl Apply<(E::Item,), Output = bool>,
        output: impl Into<ViewMut<'b, E::Item>>,
        borders: impl Into<ViewMut<'c, u64>>,
    ) -> Result<Recording> {
        let mut output = output.into().fitted(self.items.len(), self.items.bound());
        let mut borders = borders.into();
        self.items.check()?;
        partition::check_outputs(self.items.len(), &output, &borders)?;
        let (made, second) = self.made_in_parts(&second);
        partition::bind_made(device, &made, &second, (&mut output, &mut borders))
    }

    /// What kernels are made for that put items into three parts, and the condition of the second part.
    fn made_in_parts(
        &self,
        second: &impl Apply<(E::Item,), Output = bool>,
    ) -> (Made<'a>, Condition) {
        let mut parts = Parts::default();
        let formula = self.formula(&mut parts);
        let first = parts.call(&self.predicate, |_| vec![formula.clone()]);
        let second = parts.call(second, |_| vec![formula.clone()]);
        let [first, second] = [first, second].map(Condition::Holds);
        let (items, kind) = (self.items.len(), <E::Item as Element>::KIND);
        (Made::selecting(items, kind, formula, first, parts), second)
    }

    /// The numbers of the items of which the predicate holds, counted from 0, as `u32` or `u64`.
    ///
    /// # Cost
    /// As of [`select`](Filtered::select).
    ///
    /// # Errors
    /// Those of [`select`](Filtered::select); [`Error::PositionRange`](crate::Error::PositionRange) where the type does not hold the last
    /// number.
    pub fn positions<I: GatherIndex>(&self, device: &Device) -> Result<Compacted<I>> {
        let device = &*device.at_home(|| self.items.made().home());
        let mut found = Room::new(device, self.items.len(), || Ok(I::default()))?;
        let (output, count) = found.targets();
        self.positions_into(device, output, count)?;
        Ok(found.compacted())
    }

    /// The same into memory of the caller's, which has room for as many numbers as there are items. How many there are is written to the
    /// one item of `count`; what lies behind them holds anything.
    ///
    /// # Cost
    /// As of [`select`](Filtered::select); it waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`positions`](Filtered::positions) and of [`select_into`](Filtered::select_into).
    pub fn positions_into<'b, 'c, I: GatherIndex>(
        &self,
        device: &Device,
        output: impl Into<ViewMut<'b, I>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        let mut output = output.into().fitted(self.items.len(), self.items.bound());
        let mut count = count.into();
        self.items.check()?;
        check_positions::<I>(self.items.len() as u64)?;
        check_outputs(self.items.len(), &output, &count)?;
        let device = device.at_home(|| self.items.made().home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (items, output) = (self.items.on_host()?, cpu.output(output)?);
                let found = cpu.positions_made(items, Self::keeps(self.predicate), output)?;
                cpu.output(count)?[0] = found as u64;
                Ok(())
            }
            Erased::Gpu(gpu) => {
                let made = self.made(I::KIND, |_, parts| parts.numbers(I::DTYPE, 0));
                let (output, count) = (output.erased().items, count.erased().items);
                gpu.select(&made, Selecting::Selected, output, count)
            }
        }
    }

    /// How many there are: `count_if` of other libraries. Waits for the number.
    ///
    /// # Cost
    /// Every array is read once, and nothing is written.
    ///
    /// # Errors
    /// Those of [`Fused::reduce`].
    pub fn count(&self, device: &Device) -> Result<u64> {
        self.items.check()?;
        let device = device.at_home(|| self.items.made().home());
        match device.kind().erased() {
            Erased::Cpu(cpu) => cpu.count_made(self.items.on_host()?, Self::keeps(self.predicate)),
            Erased::Gpu(gpu) => {
                let mut count = [0];
                let made = self.made(<E::Item as Element>::KIND, |formula, _| formula);
                gpu.count(&made, ViewMut::from(&mut count).erased().items)?;
                Ok(count[0])
            }
        }
    }

    /// As [`select_into`](Filtered::select_into), or with the others behind them; with what a stream keeps of a GPU.
    #[inline(never)]
    pub(crate) fn take(
        &self,
        device: &Device,
        scratch: Scratch<'_>,
        partitions: bool,
        output: ViewMut<'_, E::Item>,
        mut count: ViewMut<'_, u64>,
    ) -> Result<()> {
        let mut output = output.fitted(self.items.len(), self.items.bound());
        self.items.check()?;
        check_outputs(self.items.len(), &output, &count)?;
        let device = device.at_home(|| self.items.made().home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (items, output) = (self.items.on_host()?, cpu.output(output)?);
                let found = match partitions {
                    false => cpu.select_made(items, Self::keeps(self.predicate), output)?,
                    true => cpu.partition_made(items, Self::keeps(self.predicate), output)?,
                };
                cpu.output(count)?[0] = found as u64;
                Ok(())
            }
            Erased::Gpu(gpu) => {
                let made = self.made(<E::Item as Element>::KIND, |formula, _| formula);
                let selecting = Selecting::of(partitions);
                let targets = (output.erased().items, count.erased().items);
                select_on(gpu, scratch, &made, selecting, targets)
            }
        }
    }

    /// A predicate for the host.
    fn keeps<Q>(predicate: Q) -> impl Fn(E::Item) -> bool + Copy + Send + Sync + use<'a, E, P, Q>
    where
        Q: Apply<(E::Item,), Output = bool>,
    {
        #[inline(always)]
        move |item| predicate.apply((item,))
    }

    /// How an item is made of these parts.
    fn formula(&self, parts: &mut Parts<'a>) -> Formula {
        let formula = self.items.formulas(&Place::OWN, parts).pop();
        parts.set_len(self.items.bounded_len());
        formula.unwrap_or(Formula::Item(0))
    }

    /// What kernels are made for, of which `written`, of this kind, is what is written of an item.
    fn made(
        &self,
        kind: upsweep_core::Kind,
        written: impl FnOnce(Formula, &mut Parts<'a>) -> Formula,
    ) -> Made<'a> {
        let mut parts = Parts::default();
        let formula = self.formula(&mut parts);
        let condition = parts.call(&self.predicate, |_| vec![formula.clone()]);
        let written = written(formula, &mut parts);
        Made::selecting(self.items.len(), kind, written, Condition::Holds(condition), parts)
    }

    /// The first item, on the host.
    fn first(&self) -> Result<E::Item> {
        self.items.check()?;
        Ok(self.items.on_host()?.item(0))
    }
}
