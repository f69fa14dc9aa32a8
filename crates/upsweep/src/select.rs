//! Stream compaction: items that are kept, one behind another.

use std::sync::Arc;

use upsweep_core::Condition;
use upsweep_gpu::{SelectOutputs, Selecting};

use crate::backend::{Kind, ViewBackend, wrong_device};
use crate::erased::{Erased, ErasedChunks, ErasedGpu, ErasedItemsMut};
use crate::fused::{Made, Parts, Source};
use crate::view::{Items, ItemsMut};
use crate::{Array, Device, Element, Error, GatherIndex, Number, Recording, Result, View, ViewMut};

/// What a compaction has kept: an array, and how many of its first items that are.
///
/// On a GPU the number lies in the device's memory, where whoever goes on there can read it ([`count`](Compacted::count)). To ask the host for
/// it is to wait for the work; nothing else here does.
///
/// ```
/// use upsweep::{Device, select};
/// let kept = select(&Device::cpu(), &[10u32, 20, 30, 40], &[0u8, 1, 1, 0])?;
/// assert_eq!((kept.capacity(), kept.len()?), (4, 2));
/// assert_eq!(kept.into_vec()?, [20, 30]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct Compacted<T> {
    items: Array<T>,
    /// Of two arrays that are kept together it is one.
    count: Arc<Array<u64>>,
}

impl<T: Element> Compacted<T> {
    /// How many items were kept. Waits for the work on a GPU.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    #[expect(clippy::len_without_is_empty, reason = "to know it is to wait")]
    pub fn len(&self) -> Result<usize> {
        let count = match self.count.as_slice() {
            Some(count) => count.first().copied(),
            None => self.count.to_vec()?.first().copied(),
        };
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0).min(self.capacity()))
    }

    /// The items that were kept, as an array of so many. Waits for the work on a GPU, where the array stays in the same memory.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn into_array(self) -> Result<Array<T>> {
        let len = self.len()?;
        Ok(self.items.truncated(len))
    }

    /// The items that were kept, in the host's memory. Waits for the work on a GPU.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn into_vec(self) -> Result<Vec<T>> {
        self.into_array()?.into_vec()
    }

    /// All items, and how many of them were kept.
    pub(crate) fn into_parts(self) -> Result<(Array<T>, usize)> {
        let len = self.len()?;
        Ok((self.items, len))
    }

    /// As many of other items, such as a scan has made of these: an array whose first ones belong to them.
    ///
    /// ```
    /// use upsweep::{Device, Sum, inclusive_scan, select};
    /// let kept = select(&Device::cpu(), &[10u32, 20, 30], &[1u8, 0, 1])?;
    /// let sums = kept.beside(inclusive_scan(&Device::cpu(), &kept, Sum)?)?;
    /// assert_eq!(sums.into_vec()?, [10, 40]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are fewer than may be kept.
    pub fn beside<U>(&self, items: Array<U>) -> Result<Compacted<U>> {
        let (room, most) = (items.len(), self.view().len());
        if room < most {
            return Err(Error::LengthMismatch { input: most, output: room });
        }
        Ok(Compacted { items, count: Arc::clone(&self.count) })
    }
}

impl<T> Compacted<T> {
    /// How many items it has room for: as many as were looked at.
    pub fn capacity(&self) -> usize {
        self.items.len()
    }

    /// The memory of the items; those behind the kept ones hold anything.
    pub fn items(&self) -> &Array<T> {
        &self.items
    }

    /// How many were kept, as the one item of an array on the device.
    pub fn count(&self) -> &Array<u64> {
        &self.count
    }

    /// The items that were kept, for calls to read: on a GPU their number stays there, and nothing waits for it. See
    /// [`View::with_length`].
    pub fn view(&self) -> View<'_, T> {
        // What was kept is within the items, and its number lies beside them.
        self.items.view().with_length(&*self.count).unwrap_or_else(|_| self.items.view())
    }
}

impl<'a, T> From<&'a Compacted<T>> for View<'a, T> {
    fn from(kept: &'a Compacted<T>) -> Self {
        kept.view()
    }
}

/// Where a compaction goes: room for as many items as are looked at, and for their number.
pub(crate) struct Room<T> {
    items: Array<T>,
    count: Array<u64>,
}

impl<T: Element> Room<T> {
    /// Room for so many, as [`room`] makes it.
    pub(crate) fn new(
        device: &Device,
        len: usize,
        first: impl FnOnce() -> Result<T>,
    ) -> Result<Self> {
        Ok(Self { items: room(device, len, first)?, count: Array::filled(device, 1, 0)? })
    }

    /// Where the items go, and their number.
    pub(crate) fn targets(&mut self) -> (ViewMut<'_, T>, ViewMut<'_, u64>) {
        (self.items.view_mut(), self.count.view_mut())
    }

    /// What was written there.
    pub(crate) fn compacted(self) -> Compacted<T> {
        Compacted { items: self.items, count: Arc::new(self.count) }
    }
}

/// Room for so many items. On the CPU an array has items from the start, of which `first` gives one.
pub(crate) fn room<T: Element>(
    device: &Device,
    len: usize,
    first: impl FnOnce() -> Result<T>,
) -> Result<Array<T>> {
    match device.kind() {
        Kind::Cpu(_) if len == 0 => Array::from_slice(device, &[]),
        Kind::Cpu(_) => Array::filled(device, len, first()?),
        _ => Array::with_room(device, len),
    }
}

/// The items whose flags are not 0, in their order.
///
/// # Arguments
/// - `items`: any number of items.
/// - `flags`: a number for each of them. It is 0 if all of its bytes are: so −0 selects.
///
/// # Result
/// On the device, in memory for as many items as there are; see [`Compacted`]. The same on every device, bit for bit.
///
/// # Cost
/// Reads both arrays once and writes what is selected once. On a GPU it returns when the work has been begun.
///
/// # Errors
/// [`Error::LengthMismatch`], [`Error::OutOfMemory`], and those of the device. On a GPU every array must fit in its memory, and with wgpu
/// in one binding; else [`Error::Buffer`] says so.
///
/// # Examples
/// ```
/// use upsweep::{Device, select};
/// let kept = select(&Device::cpu(), &['a', 'b', 'c'].map(|c| c as u32), &[1u8, 0, 1])?;
/// assert_eq!(kept.into_vec()?, [97, 99]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// G. Blelloch, *Prefix Sums and Their Applications* (1990): the place of an item is the number of selected ones in front of it.
pub fn select<'a, 'b, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
) -> Result<Compacted<T>> {
    let (items, flags) = (items.into(), flags.into());
    let device = &*device.at_home(|| items.home().or_else(|| flags.home()));
    let mut kept = Room::new(device, items.len(), || first_of(items))?;
    let (output, count) = kept.targets();
    by_flags(device, None, (items, flags), (false, output, count))?;
    Ok(kept.compacted())
}

/// As [`select`], into memory of the caller's, which has room for as many items as there are. How many are selected is written to the one
/// item of `count`; what lies behind them holds anything.
///
/// # Cost
/// As of [`select`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`select`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
pub fn select_into<'a, 'b, 'c, 'd, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
    output: impl Into<ViewMut<'c, T>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let into = (false, output.into(), count.into());
    by_flags(device, None, (items.into(), flags.into()), into)
}

/// As [`select_into`], within the array: what is selected moves to the front of `items`.
///
/// # Cost
/// On the CPU as of [`select`]. A GPU copies all items to memory of its own first: one more read and write of the items, and memory for as many.
/// It waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`select`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
///
/// # Examples
/// ```
/// use upsweep::{Device, select_in_place};
/// let (mut items, mut count) = ([1u32, 2, 3, 4], [0]);
/// select_in_place(&Device::cpu(), &mut items, &[0u8, 1, 0, 1], &mut count)?;
/// assert_eq!(items[..count[0] as usize], [2, 4]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn select_in_place<'a, 'b, 'c, T: Element, F: Number>(
    device: &Device,
    items: impl Into<ViewMut<'a, T>>,
    flags: impl Into<View<'b, F>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<()> {
    within(device, items.into(), flags.into(), count.into())
}

#[inline(never)]
fn within<T: Element, F: Number>(
    device: &Device,
    mut items: ViewMut<'_, T>,
    flags: View<'_, F>,
    mut count: ViewMut<'_, u64>,
) -> Result<()> {
    check_length(items.len(), flags.len())?;
    check_outputs(items.len(), &items, &count)?;
    let device = device.at_home(|| items.home().or_else(|| flags.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let found = cpu.select_in_place(cpu.output(items)?, cpu.input(flags)?)?;
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let own = copied(&device, gpu, &items)?;
            let made = flagged(own.view().bounded_like(&items), flags);
            gpu.select(&made, Selecting::Selected, items.erased().items, count.erased().items)
        }
    }
}

/// Another array with the same items, in the device's memory. On a GPU it is written by a selection of all items, which reads arrays wherever
/// they begin and asks for no use of the caller's memory but what kernels have.
pub(crate) fn copied<T: Element>(
    device: &Device,
    gpu: &dyn ErasedGpu,
    items: &ViewMut<'_, T>,
) -> Result<Array<T>> {
    let range = match &items.items {
        ItemsMut::Host(items) => return Array::from_slice(device, items),
        ItemsMut::Device(range) => *range,
    };
    let mut own = Room::new(device, range.len(), || Err(wrong_device(range.device(), "cpu")))?;
    let (mut output, mut count) = own.targets();
    let mut parts = Parts::default();
    let source = Source::of(View::<T>::of(Items::Device(range))).bits();
    let kind = source.kind;
    let item = parts.array(source);
    let made = Made::selecting(range.len(), kind, item, Condition::All, parts);
    gpu.select(&made, Selecting::Selected, output.erased().items, count.erased().items)?;
    Ok(own.items)
}

/// As [`select_into`], from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here.
///
/// # Errors
/// Those of [`select_into`] and of [`ReducePlan::bind`](crate::ReducePlan::bind).
pub fn bind_select<'a, 'b, 'c, 'd, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
    output: impl Into<ViewMut<'c, T>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    let from = (items.into(), flags.into());
    bind_flagged(device, from, Selecting::Selected, output.into(), count.into())
}

/// As [`partition_into`], from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here.
///
/// # Errors
/// Those of [`bind_select`].
pub fn bind_partition<'a, 'b, 'c, 'd, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
    output: impl Into<ViewMut<'c, T>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    let from = (items.into(), flags.into());
    bind_flagged(device, from, Selecting::Partitioned, output.into(), count.into())
}

fn bind_flagged<T: Element, F: Number>(
    device: &Device,
    (items, flags): (View<'_, T>, View<'_, F>),
    selecting: Selecting,
    output: ViewMut<'_, T>,
    mut count: ViewMut<'_, u64>,
) -> Result<Recording> {
    let mut output = output.fitted(items.len(), items.bound());
    check_length(items.len(), flags.len())?;
    check_outputs(items.len(), &output, &count)?;
    bind_made(device, &flagged(items, flags), selecting, (&mut output, &mut count))
}

/// All items: those whose flags are not 0, in their order, and behind them the others, in theirs; and how many come first.
///
/// # Cost
/// Reads flags twice and items once, and writes all of them once. On a GPU it waits for the number.
///
/// # Errors
/// Those of [`select`].
///
/// # Examples
/// ```
/// use upsweep::{Device, partition};
/// let (all, border) = partition(&Device::cpu(), &[1u32, 2, 3, 4], &[0u8, 1, 0, 1])?;
/// assert_eq!((all.into_vec()?, border), (vec![2, 4, 1, 3], 2));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn partition<'a, 'b, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
) -> Result<(Array<T>, usize)> {
    let (items, flags) = (items.into(), flags.into());
    let device = &*device.at_home(|| items.home().or_else(|| flags.home()));
    let mut all = Room::new(device, items.len(), || first_of(items))?;
    let (output, count) = all.targets();
    by_flags(device, None, (items, flags), (true, output, count))?;
    all.compacted().into_parts()
}

/// As [`partition`], into memory of the caller's, which has as many items; how many come first is written to the one item of `count`.
///
/// # Cost
/// As of [`partition`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`select_into`].
pub fn partition_into<'a, 'b, 'c, 'd, T: Element, F: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    flags: impl Into<View<'b, F>>,
    output: impl Into<ViewMut<'c, T>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let into = (true, output.into(), count.into());
    by_flags(device, None, (items.into(), flags.into()), into)
}

/// The numbers of the items that are not 0, counted from 0, as `u32` or `u64`. An item is 0 if all of its bytes are.
///
/// # Errors
/// Those of [`select`]; [`Error::PositionRange`] where the type does not hold the last number.
///
/// # Examples
/// ```
/// use upsweep::{Device, positions};
/// let found = positions::<u32, _>(&Device::cpu(), &[0.0f32, 2.5, 0.0, 1.0])?;
/// assert_eq!(found.into_vec()?, [1, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn positions<'a, I: GatherIndex, F: Number>(
    device: &Device,
    flags: impl Into<View<'a, F>>,
) -> Result<Compacted<I>> {
    let flags = flags.into();
    let device = &*device.at_home(|| flags.home());
    let mut found = Room::new(device, flags.len(), || Ok(I::default()))?;
    let (output, count) = found.targets();
    find_positions(device, None, (flags, 0), output, count)?;
    Ok(found.compacted())
}

/// As [`positions`], into memory of the caller's, which has room for as many numbers as there are items. How many there are is written to
/// the one item of `count`; what lies behind them holds anything.
///
/// # Cost
/// As of [`select`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`positions`] and of [`select_into`].
pub fn positions_into<'a, 'b, 'c, I: GatherIndex, F: Number>(
    device: &Device,
    flags: impl Into<View<'a, F>>,
    output: impl Into<ViewMut<'b, I>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<()> {
    find_positions(device, None, (flags.into(), 0), output.into(), count.into())
}

/// Scratch memory on a GPU that a stream keeps; `None` of a call that needs its own.
pub(crate) type Scratch<'a> = Option<&'a mut dyn ErasedChunks>;

/// As [`ErasedGpu::select`], with the scratch memory of a stream if there is one.
pub(crate) fn select_on(
    gpu: &dyn ErasedGpu,
    scratch: Scratch<'_>,
    made: &Made<'_>,
    selecting: Selecting,
    (output, count): (ErasedItemsMut<'_>, ErasedItemsMut<'_>),
) -> Result<()> {
    match scratch {
        Some(chunks) => chunks.select_next(made, selecting, output, count),
        None => gpu.select(made, selecting, output, count),
    }
}

/// Whether items are partitioned, where they go, and where their number does.
type Destination<'a, 'b, T> = (bool, ViewMut<'a, T>, ViewMut<'b, u64>);

#[inline(never)]
pub(crate) fn by_flags<T: Element, F: Number>(
    device: &Device,
    scratch: Scratch<'_>,
    (items, flags): (View<'_, T>, View<'_, F>),
    (partitions, output, mut count): Destination<'_, '_, T>,
) -> Result<()> {
    let mut output = output.fitted(items.len(), items.bound());
    check_length(items.len(), flags.len())?;
    check_outputs(items.len(), &output, &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (items, flags, output) =
                (cpu.input(items)?, cpu.input(flags)?, cpu.output(output)?);
            let found = match partitions {
                false => cpu.select(items, flags, output)?,
                true => cpu.partition(items, flags, output)?,
            };
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let (made, selecting) = (flagged(items, flags), Selecting::of(partitions));
            let targets = (output.erased().items, count.erased().items);
            select_on(gpu, scratch, &made, selecting, targets)
        }
    }
}

/// Items that flags select, as kernels know them: what is only moved are bits.
fn flagged<'a, T: Element, F: Number>(items: View<'a, T>, flags: View<'a, F>) -> Made<'a> {
    let mut parts = Parts::default();
    let source = Source::of(items).bits();
    let kind = source.kind;
    let item = parts.array(source);
    parts.array(Source::of(flags).bits());
    Made::selecting(items.len(), kind, item, Condition::IsSet(1), parts)
}

/// A selection of items that are made of arrays of a GPU's, or another kind of compaction.
pub(crate) fn bind_made<T: Element>(
    device: &Device,
    made: &Made<'_>,
    selecting: Selecting,
    (output, count): (&mut ViewMut<'_, T>, &mut ViewMut<'_, u64>),
) -> Result<Recording> {
    match device.at_home(|| output.home()).kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            let to = into_array(output.erased().items, count.erased().items);
            gpu.bind_select(made, selecting, to)
        }
    }
}

/// What a selection writes that is not one of runs with their lengths.
pub(crate) fn into_array<'a>(
    items: ErasedItemsMut<'a>,
    count: ErasedItemsMut<'a>,
) -> SelectOutputs<ErasedItemsMut<'a>> {
    SelectOutputs { items: Some(items), lengths: None, count }
}

/// Numbers of items that are not 0, counted from that of the first one.
#[inline(never)]
pub(crate) fn find_positions<I: GatherIndex, F: Number>(
    device: &Device,
    scratch: Scratch<'_>,
    (flags, first): (View<'_, F>, u64),
    output: ViewMut<'_, I>,
    mut count: ViewMut<'_, u64>,
) -> Result<()> {
    let mut output = output.fitted(flags.len(), flags.bound());
    check_positions::<I>(first.saturating_add(flags.len() as u64))?;
    check_outputs(flags.len(), &output, &count)?;
    let device = device.at_home(|| flags.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let found = cpu.positions_from(first, cpu.input(flags)?, cpu.output(output)?)?;
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let mut parts = Parts::default();
            parts.array(Source::of(flags).bits());
            let number = parts.numbers(I::DTYPE, first);
            let made = Made::selecting(flags.len(), I::KIND, number, Condition::IsSet(0), parts);
            let targets = (output.erased().items, count.erased().items);
            select_on(gpu, scratch, &made, Selecting::Selected, targets)
        }
    }
}

/// The first item, where the host can see it.
pub(crate) fn first_of<T: Element>(items: View<'_, T>) -> Result<T> {
    match items.items {
        Items::Host(items) => Ok(items[0]),
        Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
    }
}

/// That there is an output for each item, and one for their number.
pub(crate) fn check_outputs<T>(
    items: usize,
    output: &ViewMut<'_, T>,
    count: &ViewMut<'_, u64>,
) -> Result<()> {
    check_length(items, output.len())?;
    if count.len() == 1 { Ok(()) } else { Err(Error::ResultLength { items: count.len() }) }
}

/// That a type holds the numbers of so many items.
pub(crate) fn check_positions<I: Number>(items: u64) -> Result<()> {
    if size_of::<I>() < 8 && items > 1 << 32 {
        let items = usize::try_from(items).unwrap_or(usize::MAX);
        return Err(Error::PositionRange { items, dtype: I::DTYPE });
    }
    Ok(())
}

pub(crate) fn check_length(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}
