//! Runs of neighbours that are the same: the first of each, and how long they are.

use upsweep_core::Condition;
use upsweep_gpu::Selecting;

use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::fused::{Made, Parts, Source};
use crate::select::{
    Room, Scratch, check_length, check_outputs, copied, first_of, room, select_on,
};
use crate::view::Items;
use crate::{Array, Compacted, Device, Dtype, Element, Error, GatherIndex, Result, View, ViewMut};

/// The first item of each run of neighbours that are the same, in their order.
///
/// Items are the same if their bytes are: so −0 and +0 are not, and a NaN is the same as itself. An item that is in several runs is there
/// several times; of sorted items each is there once.
///
/// # Arguments
/// - `items`: any number of items.
///
/// # Result
/// On the device, in memory for as many items as there are; see [`Compacted`]. The same on every device.
///
/// # Cost
/// Reads items once and writes what is kept once. On a GPU it returns when the work has been begun.
///
/// # Errors
/// [`Error::OutOfMemory`], and those of the device. On a GPU every array must fit in its memory, and with wgpu in one binding; else
/// [`Error::Buffer`] says so.
///
/// # Examples
/// ```
/// use upsweep::{Device, unique};
/// let kept = unique(&Device::cpu(), &[3u32, 3, 7, 7, 7, 3])?;
/// assert_eq!(kept.into_vec()?, [3, 7, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// A selection as [`select`](crate::select) makes it, of the items that differ from the one in front.
pub fn unique<'a, T: Element>(
    device: &Device,
    items: impl Into<View<'a, T>>,
) -> Result<Compacted<T>> {
    let items = items.into();
    let device = &*device.at_home(|| items.home());
    let mut kept = Room::new(device, items.len(), || first_of(items))?;
    let (output, count) = kept.targets();
    keep_first(device, None, (items, false), output, count)?;
    Ok(kept.compacted())
}

/// As [`unique`], into memory of the caller's, which has room for as many items as there are. How many are kept is written to the one item
/// of `count`; what lies behind them holds anything.
///
/// # Cost
/// As of [`unique`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`unique`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
pub fn unique_into<'a, 'b, 'c, T: Element>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, T>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<()> {
    keep_first(device, None, (items.into(), false), output.into(), count.into())
}

/// As [`unique_into`], within the array: what is kept moves to the front of `items`.
///
/// # Cost
/// On the CPU as of [`unique`]. A GPU copies all items to memory of its own first: one more read and write of the items, and memory for as many.
/// It waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`unique`], and before anything is written [`Error::ResultLength`].
///
/// # Examples
/// ```
/// use upsweep::{Device, unique_in_place};
/// let (mut items, mut count) = ([3u32, 3, 7, 7, 7, 3], [0]);
/// unique_in_place(&Device::cpu(), &mut items, &mut count)?;
/// assert_eq!(items[..count[0] as usize], [3, 7, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn unique_in_place<'a, 'b, T: Element>(
    device: &Device,
    items: impl Into<ViewMut<'a, T>>,
    count: impl Into<ViewMut<'b, u64>>,
) -> Result<()> {
    keep_within(device, items.into(), count.into())
}

/// The first key of each run of neighbours whose keys are the same, and the item of the same number, both in their order.
///
/// # Arguments
/// - `keys`: any number of keys, which are the same if their bytes are.
/// - `items`: as many items.
///
/// # Result
/// Two arrays on the device, of which both have as many items; see [`Compacted`]. The same on every device.
///
/// # Cost
/// Reads both arrays once and writes what is kept once; a GPU reads the keys twice. On a GPU it returns when the work has been begun.
///
/// # Errors
/// Those of [`unique`], and [`Error::LengthMismatch`].
///
/// # Examples
/// ```
/// use upsweep::{Device, unique_by_key};
/// let (keys, items) = unique_by_key(&Device::cpu(), &[7u8, 7, 9], &[0.5f32, 1.5, 2.5])?;
/// assert_eq!((keys.into_vec()?, items.into_vec()?), (vec![7, 9], vec![0.5, 2.5]));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn unique_by_key<'a, 'b, K: Element, T: Element>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
) -> Result<(Compacted<K>, Compacted<T>)> {
    let (keys, items) = (keys.into(), items.into());
    check_length(keys.len(), items.len())?;
    let device = &*device.at_home(|| keys.home().or_else(|| items.home()));
    let mut kept = Room::new(device, keys.len(), || first_of(keys))?;
    let mut beside = room(device, items.len(), || first_of(items))?;
    let (unique, count) = kept.targets();
    keep_first_by_key(device, (keys, items), (unique, beside.view_mut()), count)?;
    let kept = kept.compacted();
    let beside = kept.beside(beside)?;
    Ok((kept, beside))
}

/// As [`unique_by_key`], into memory of the caller's: keys go to `unique` and items to `output`, which have room for as many as there are.
/// How many are kept is written to the one item of `count`; what lies behind them holds anything.
///
/// # Cost
/// As of [`unique_by_key`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`unique_by_key`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
pub fn unique_by_key_into<'a, 'b, 'c, 'd, 'e, K: Element, T: Element>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    unique: impl Into<ViewMut<'c, K>>,
    output: impl Into<ViewMut<'d, T>>,
    count: impl Into<ViewMut<'e, u64>>,
) -> Result<()> {
    let (from, to) = ((keys.into(), items.into()), (unique.into(), output.into()));
    keep_first_by_key(device, from, to, count.into())
}

/// The first item of each run of neighbours that are the same, and how many items the run has, as `u32` or `u64`.
///
/// # Arguments
/// - `items`: any number of items, which are the same if their bytes are, as of [`unique`].
///
/// # Result
/// Two arrays on the device, of which both have as many items as there are runs; see [`Compacted`]. The same on every device.
///
/// # Cost
/// Reads items once and writes an item and a number for each run, once each. On a GPU it returns when the work has been begun.
///
/// # Errors
/// Those of [`unique`]; [`Error::PositionRange`] where the type does not hold the number of items.
///
/// # Examples
/// ```
/// use upsweep::{Device, run_length_encode};
/// let (values, counts) = run_length_encode::<_, u32>(&Device::cpu(), &[5u8, 5, 5, 0, 5])?;
/// assert_eq!((values.into_vec()?, counts.into_vec()?), (vec![5, 0, 5], vec![3, 1, 1]));
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// A selection as [`unique`] makes it, that scans how many runs have begun and how long the last of them is so far. The thread that finds the
/// first item of a run writes the length of the run in front.
pub fn run_length_encode<'a, T: Element, I: GatherIndex>(
    device: &Device,
    items: impl Into<View<'a, T>>,
) -> Result<(Compacted<T>, Compacted<I>)> {
    let items = items.into();
    let device = &*device.at_home(|| items.home());
    let mut kept = Room::new(device, items.len(), || first_of(items))?;
    let mut counts = room(device, items.len(), || Ok(I::default()))?;
    let (values, number) = kept.targets();
    encode(device, items, values, counts.view_mut(), number)?;
    let kept = kept.compacted();
    let counts = kept.beside(counts)?;
    Ok((kept, counts))
}

/// As [`run_length_encode`], into memory of the caller's, which has room for as many values and counts as there are items. How many runs
/// there are is written to the one item of `number`; what lies behind them holds anything.
///
/// # Cost
/// As of [`run_length_encode`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`run_length_encode`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
pub fn run_length_encode_into<'a, 'b, 'c, 'd, T: Element, I: GatherIndex>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    values: impl Into<ViewMut<'b, T>>,
    counts: impl Into<ViewMut<'c, I>>,
    number: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    encode(device, items.into(), values.into(), counts.into(), number.into())
}

/// The first items of runs, of which the first one of all may go on with a run.
#[inline(never)]
pub(crate) fn keep_first<T: Element>(
    device: &Device,
    scratch: Scratch<'_>,
    (items, goes_on): (View<'_, T>, bool),
    output: ViewMut<'_, T>,
    mut count: ViewMut<'_, u64>,
) -> Result<()> {
    let mut output = output.fitted(items.len(), items.bound());
    check_outputs(items.len(), &output, &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let found = cpu.unique_next(goes_on, cpu.input(items)?, cpu.output(output)?)?;
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let mut own = None;
            let items = there(&device, items, &mut own)?;
            let made = if goes_on { firsts_of_rest(items) } else { firsts(items) };
            let targets = (output.erased().items, count.erased().items);
            select_on(gpu, scratch, &made, Selecting::Selected, targets)
        }
    }
}

#[inline(never)]
fn keep_within<T: Element>(
    device: &Device,
    mut items: ViewMut<'_, T>,
    mut count: ViewMut<'_, u64>,
) -> Result<()> {
    check_outputs(items.len(), &items, &count)?;
    let device = device.at_home(|| items.home());
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let found = cpu.unique_in_place(cpu.output(items)?)?;
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let own = copied(&device, gpu, &items)?;
            let made = firsts(own.view().bounded_like(&items));
            gpu.select(&made, Selecting::Selected, items.erased().items, count.erased().items)
        }
    }
}

#[inline(never)]
fn keep_first_by_key<K: Element, T: Element>(
    device: &Device,
    (keys, items): (View<'_, K>, View<'_, T>),
    (unique, output): (ViewMut<'_, K>, ViewMut<'_, T>),
    mut count: ViewMut<'_, u64>,
) -> Result<()> {
    let mut unique = unique.fitted(keys.len(), keys.bound());
    let mut output = output.fitted(items.len(), items.bound());
    check_length(keys.len(), items.len())?;
    check_outputs(keys.len(), &unique, &count)?;
    check_length(items.len(), output.len())?;
    let device = device.at_home(|| keys.home().or_else(|| unique.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (keys, items) = (cpu.input(keys)?, cpu.input(items)?);
            let (unique, output) = (cpu.output(unique)?, cpu.output(output)?);
            let found = cpu.unique_by_key(keys, items, unique, output)?;
            cpu.output(count)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let mut own = None;
            let keys = there(&device, keys, &mut own)?;
            let made = firsts(keys);
            gpu.select(&made, Selecting::Selected, unique.erased().items, count.erased().items)?;
            let mut parts = Parts::default();
            let condition = parts.begins(keys.len(), || Source::of(keys).bits());
            let source = Source::of(items).bits();
            let kind = source.kind;
            let item = parts.array(source);
            let made = Made::selecting(items.len(), kind, item, condition, parts);
            gpu.select(&made, Selecting::Selected, output.erased().items, count.erased().items)
        }
    }
}

#[inline(never)]
fn encode<T: Element, I: GatherIndex>(
    device: &Device,
    items: View<'_, T>,
    values: ViewMut<'_, T>,
    counts: ViewMut<'_, I>,
    mut number: ViewMut<'_, u64>,
) -> Result<()> {
    let mut values = values.fitted(items.len(), items.bound());
    let mut counts = counts.fitted(items.len(), items.bound());
    check_encoded(items.len(), (&values, &counts), &number)?;
    let device = device.at_home(|| items.home().or_else(|| values.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (values, counts) = (cpu.output(values)?, cpu.output(counts)?);
            let found = cpu.run_length_encode(cpu.input(items)?, values, counts)?;
            cpu.output(number)?[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let mut own = None;
            let made = firsts(there(&device, items, &mut own)?);
            let (values, counts) = (values.erased().items, counts.erased().items);
            gpu.run_length_encode(&made, [values, counts, number.erased().items], I::DTYPE)
        }
    }
}

/// That there is room for values, lengths that the type holds, and their number.
pub(crate) fn check_encoded<T, I: GatherIndex>(
    items: usize,
    (values, counts): (&ViewMut<'_, T>, &ViewMut<'_, I>),
    number: &ViewMut<'_, u64>,
) -> Result<()> {
    if size_of::<I>() < 8 && u32::try_from(items).is_err() {
        return Err(Error::PositionRange { items, dtype: I::DTYPE });
    }
    check_outputs(items, values, number)?;
    check_length(items, counts.len())
}

/// Items in the device's memory, in `own` if they come from the host's: kernels read them as two arrays.
fn there<'a, T: Element>(
    device: &Device,
    items: View<'a, T>,
    own: &'a mut Option<Array<T>>,
) -> Result<View<'a, T>> {
    match items.items {
        Items::Host(items) => Ok(own.insert(Array::from_slice(device, items)?).view()),
        Items::Device(_) => Ok(items),
    }
}

/// The items that begin runs.
pub(crate) fn firsts<T: Element>(items: View<'_, T>) -> Made<'_> {
    let mut parts = Parts::default();
    let condition = parts.begins(items.len(), || Source::of(items).bits());
    let kind = Source::of(items).bits().kind;
    Made::selecting(items.len(), kind, upsweep_core::Formula::Item(0), condition, parts)
}

/// The items that begin runs, of which the first goes on with one.
fn firsts_of_rest<T: Element>(items: View<'_, T>) -> Made<'_> {
    let mut made = firsts(items);
    let is_later = match u32::try_from(items.len()) {
        Ok(_) => made.parts.call(&is_not_first {}, |parts| vec![parts.numbers(Dtype::U32, 0)]),
        Err(_) => made.parts.call(&is_not_first_u64 {}, |parts| vec![parts.numbers(Dtype::U64, 0)]),
    };
    let begins = made.recipe.condition.take().unwrap_or(Condition::All);
    made.recipe.condition =
        Some(Condition::Both(Box::new(begins), Box::new(Condition::Holds(is_later))));
    made.recipe.parameters = made.parts.kinds();
    made
}

#[upsweep::function]
fn is_not_first(number: u32) -> bool {
    number != 0
}

#[upsweep::function]
fn is_not_first_u64(number: u64) -> bool {
    number != 0
}
