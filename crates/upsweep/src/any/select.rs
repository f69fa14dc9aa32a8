//! Stream compaction.

use std::sync::Arc;

use upsweep_core::Condition;
use upsweep_gpu::Selecting;

use super::array::AnyArray;
use super::view::{AnyView, AnyViewMut, on_host, on_host_mut};
use super::within::{Bounds, Within8, Within16, Within32, Within64};
use super::{Where, unsigned, with_unsigned};
use crate::erased::Erased;
use crate::fused::{Fused, Made, Parts};
use crate::select::{Scratch, check_positions, into_array, select_on};
use crate::{Apply, Array, Device, Dtype, Element, Error, Number, Recording, Result, ViewMut};

/// What a compaction has kept, of a type that is a value: see [`Compacted`](crate::Compacted).
///
/// ```
/// use upsweep::{Device, any};
/// let kept = any::select(&Device::cpu(), &[1.5f32, 2.5, 3.5], &[1u8, 0, 1])?;
/// assert_eq!((kept.capacity(), kept.len()?), (3, 2));
/// assert_eq!(kept.into_array()?.into_typed::<f32>()?.into_vec()?, [1.5, 3.5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct AnyCompacted {
    items: AnyArray,
    /// Of two arrays that are kept together it is one.
    count: Arc<Array<u64>>,
}

/// Where a compaction goes: room for as many items as are looked at, and for their number.
pub(super) struct Room {
    items: AnyArray,
    count: Array<u64>,
}

impl Room {
    pub(super) fn new(device: &Device, dtype: Dtype, len: usize) -> Result<Self> {
        let items = AnyArray::with_any(device, dtype, len)?;
        Ok(Self { items, count: Array::filled(device, 1, 0)? })
    }

    /// Where the items go, and their number.
    pub(super) fn targets(&mut self) -> (AnyViewMut<'_>, ViewMut<'_, u64>) {
        (self.items.view_mut(), self.count.view_mut())
    }

    /// What was written there.
    pub(super) fn compacted(self) -> AnyCompacted {
        AnyCompacted { items: self.items, count: Arc::new(self.count) }
    }
}

impl AnyCompacted {
    /// Beside it as many of other items.
    pub(super) fn beside(&self, items: AnyArray) -> Self {
        Self { items, count: Arc::clone(&self.count) }
    }

    /// How many items were kept. Waits for the work on a GPU.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    #[expect(clippy::len_without_is_empty, reason = "to know it is to wait")]
    pub fn len(&self) -> Result<usize> {
        let count = self.count.to_vec()?.first().map_or(0, |count| *count);
        Ok(usize::try_from(count).unwrap_or(usize::MAX).min(self.capacity()))
    }

    /// The items that were kept, as an array of so many. Waits for the work on a GPU, where the array stays in the same memory.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn into_array(self) -> Result<AnyArray> {
        let len = self.len()?;
        Ok(self.items.truncated(len))
    }

    /// How many items it has room for: as many as were looked at.
    pub fn capacity(&self) -> usize {
        self.items.len()
    }

    /// The memory of the items; those behind the kept ones hold anything.
    pub fn items(&self) -> &AnyArray {
        &self.items
    }

    /// How many were kept, as the one item of an array on the device.
    pub fn count(&self) -> &Array<u64> {
        &self.count
    }

    /// The items that were kept, for calls to read: see [`Compacted::view`](crate::Compacted::view).
    pub fn view(&self) -> AnyView<'_> {
        // What was kept is within the items, and its number lies beside them.
        self.items.view().with_length(&*self.count).unwrap_or_else(|_| self.items.view())
    }
}

impl<'a> From<&'a AnyCompacted> for AnyView<'a> {
    fn from(kept: &'a AnyCompacted) -> Self {
        kept.view()
    }
}

/// Which items are kept.
#[derive(Clone, Copy, Debug)]
pub enum Keep<'a> {
    /// Those whose flag is not 0. A flag is 0 if all its bytes are.
    Flags(AnyView<'a>),
    /// Those that compare so with a number.
    Where(Where),
}

impl<'a, V: Into<AnyView<'a>>> From<V> for Keep<'a> {
    fn from(flags: V) -> Self {
        Self::Flags(flags.into())
    }
}

impl From<Where> for Keep<'_> {
    fn from(condition: Where) -> Self {
        Self::Where(condition)
    }
}

/// Items that are kept, in their order: see [`select`](crate::select()).
///
/// # Arguments
/// - `items`: any number of items.
/// - `keep`: as many flags, of any type, or a [`Where`].
///
/// # Cost
/// As of the typed call. A comparison is made where items are read, on GPUs too.
///
/// # Errors
/// Those of the typed call, but [`Error::Buffer`] for another number of flags; [`Error::WrongDtype`] if items are compared with a number of
/// another type; [`Error::ElementUnsupported`] for items or flags of 64 bits on a GPU without integers of so many.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, Where}};
/// let (device, items) = (Device::cpu(), [10i16, 20, 30, 40]);
/// let flagged = any::select(&device, &items, &[0u8, 1, 1, 0])?;
/// assert_eq!(flagged.into_array()?.into_typed::<i16>()?.into_vec()?, [20, 30]);
/// let above = any::select(&device, &items, Where::parse("> 24.5", Dtype::I16).expect("a number"))?;
/// assert_eq!(above.into_array()?.into_typed::<i16>()?.into_vec()?, [30, 40]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn select<'a, 'b>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
) -> Result<AnyCompacted> {
    compacted(device, items.into(), keep.into(), false)
}

/// As [`select`], into memory of the caller's: see [`select_into`](crate::select_into).
///
/// # Errors
/// Those of [`select`] and of the typed call; [`Error::WrongDtype`] if the output has another type than items.
pub fn select_into<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let from = (items.into(), keep.into());
    compact(device, None, from, false, (output.into(), count.into()))
}

/// All items, those that are kept in front of the others, and how many come first: see [`partition`](crate::partition()).
///
/// # Cost
/// As of the typed call, and of [`select`].
///
/// # Errors
/// Those of [`select`].
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Comparison, Scalar, Where}};
/// let small = Where::new(Comparison::Less, Scalar::new(3.0f32));
/// let (all, border) = any::partition(&Device::cpu(), &[4.0f32, 1.0, f32::INFINITY, 2.0], small)?;
/// let all = all.into_typed::<f32>()?.into_vec()?;
/// assert_eq!((all, border), (vec![1.0, 2.0, 4.0, f32::INFINITY], 2));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn partition<'a, 'b>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
) -> Result<(AnyArray, usize)> {
    let all = compacted(device, items.into(), keep.into(), true)?;
    let border = all.len()?;
    Ok((all.items, border))
}

/// As [`partition`], into memory of the caller's: see [`partition_into`](crate::partition_into).
///
/// # Errors
/// Those of [`select_into`].
pub fn partition_into<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let from = (items.into(), keep.into());
    compact(device, None, from, true, (output.into(), count.into()))
}

fn compacted(
    device: &Device,
    items: AnyView<'_>,
    keep: Keep<'_>,
    partitions: bool,
) -> Result<AnyCompacted> {
    let home = device.at_home(|| items.home().or_else(|| keep.home()));
    let mut kept = Room::new(&home, items.dtype(), items.len())?;
    compact(&home, None, (items, keep), partitions, kept.targets())?;
    Ok(kept.compacted())
}

impl Keep<'_> {
    fn home(&self) -> Option<Device> {
        match self {
            Self::Flags(flags) => flags.home(),
            Self::Where(_) => None,
        }
    }
}

/// Where items go, and where their number does.
type Targets<'a, 'b> = (AnyViewMut<'a>, ViewMut<'b, u64>);

pub(super) fn compact(
    device: &Device,
    scratch: Scratch<'_>,
    (items, keep): (AnyView<'_>, Keep<'_>),
    partitions: bool,
    (output, count): Targets<'_, '_>,
) -> Result<()> {
    check_output(items, &output)?;
    check_room(items.len(), &output, &count)?;
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&home, [items.dtype()])?;
    match keep {
        Keep::Flags(flags) => by_flags(&home, scratch, (items, flags), partitions, (output, count)),
        Keep::Where(condition) => {
            let way = if partitions { ByBounds::Partition } else { ByBounds::Select };
            let bounds = bounds_of(condition, items)?;
            by_bounds(&home, scratch, (items, bounds), way, (output, count)).map(drop)
        }
    }
}

/// That an output has the type of items.
pub(super) fn check_output(items: AnyView<'_>, output: &AnyViewMut<'_>) -> Result<()> {
    match output.dtype() == items.dtype() {
        true => Ok(()),
        false => Err(Error::WrongDtype { found: output.dtype(), wanted: items.dtype() }),
    }
}

/// That there is an output for each item, and one for their number.
pub(super) fn check_room(
    items: usize,
    output: &AnyViewMut<'_>,
    count: &ViewMut<'_, u64>,
) -> Result<()> {
    if output.len() != items {
        return Err(Error::LengthMismatch { input: items, output: output.len() });
    }
    if count.len() == 1 { Ok(()) } else { Err(Error::ResultLength { items: count.len() }) }
}

/// That there is a flag for each item.
pub(super) fn check_flags(items: AnyView<'_>, flags: AnyView<'_>) -> Result<()> {
    if flags.len() == items.len() {
        return Ok(());
    }
    let reason = format!("there are {} flags for {} items", flags.len(), items.len());
    Err(Error::Buffer { reason })
}

fn by_flags(
    device: &Device,
    scratch: Scratch<'_>,
    (items, flags): (AnyView<'_>, AnyView<'_>),
    partitions: bool,
    (output, mut count): Targets<'_, '_>,
) -> Result<()> {
    check_flags(items, flags)?;
    check_types(device, [flags.dtype()])?;
    let (bits, marks) = (unsigned(items.dtype()), unsigned(flags.dtype()));
    let (items, flags, mut output) =
        (items.bits_as(bits), flags.bits_as(marks), output.bits_as(bits));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let count = on_host_mut(count)?;
            let found = with_unsigned!(bits, T => {
                let items = on_host(items.typed::<T>()?)?;
                let output = on_host_mut(output.typed::<T>()?)?;
                with_unsigned!(marks, F => {
                    let flags = on_host(flags.typed::<F>()?)?;
                    match partitions {
                        false => cpu.select(items, flags, output)?,
                        true => cpu.partition(items, flags, output)?,
                    }
                })
            });
            count[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let (made, selecting) = (flagged(items, flags), Selecting::of(partitions));
            select_on(gpu, scratch, &made, selecting, (output.erased(), count.erased().items))
        }
    }
}

/// Items that flags select, both as unsigned integers, as kernels know them.
fn flagged<'a>(items: AnyView<'a>, flags: AnyView<'a>) -> Made<'a> {
    let mut parts = Parts::default();
    let (len, source) = (items.len(), items.source());
    let kind = source.kind;
    let item = parts.array(source);
    parts.array(flags.source());
    Made::selecting(len, kind, item, Condition::IsSet(1), parts)
}

/// What items compare with, which has their type.
fn bounds_of(condition: Where, items: AnyView<'_>) -> Result<Bounds> {
    let (found, wanted) = (condition.number.dtype(), items.dtype());
    if found == wanted { Ok(condition.into()) } else { Err(Error::WrongDtype { found, wanted }) }
}

/// What is done with items of which a predicate holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByBounds {
    Select,
    Partition,
    BindSelect,
    BindPartition,
}

/// Items of which a predicate of their size holds, or the recording of their selection.
fn by_bounds(
    device: &Device,
    scratch: Scratch<'_>,
    (items, bounds): (AnyView<'_>, Bounds),
    way: ByBounds,
    (output, count): Targets<'_, '_>,
) -> Result<Option<Recording>> {
    fn of<T: Number + Element>(
        device: &Device,
        scratch: Scratch<'_>,
        (items, within): (AnyView<'_>, impl Apply<(T,), Output = bool>),
        way: ByBounds,
        (output, count): Targets<'_, '_>,
    ) -> Result<Option<Recording>> {
        let (items, output) = (items.bits_as(T::DTYPE), output.bits_as(T::DTYPE));
        let (found, output) = (items.typed::<T>()?.filter(within), output.typed::<T>()?);
        match way {
            ByBounds::Select => found.take(device, scratch, false, output, count).map(|()| None),
            ByBounds::Partition => found.take(device, scratch, true, output, count).map(|()| None),
            ByBounds::BindSelect => found.bind_select(device, output, count).map(Some),
            ByBounds::BindPartition => found.bind_partition(device, output, count).map(Some),
        }
    }
    let targets = (output, count);
    match items.dtype().size() {
        1 => of::<u8>(device, scratch, (items, Within8::from(bounds)), way, targets),
        2 => of::<u16>(device, scratch, (items, Within16::from(bounds)), way, targets),
        4 => of::<u32>(device, scratch, (items, Within32::from(bounds)), way, targets),
        _ => of::<u64>(device, scratch, (items, Within64::from(bounds)), way, targets),
    }
}

/// That a GPU moves what has these types: of 64 bits only if it has integers of so many.
pub(super) fn check_types<const N: usize>(device: &Device, dtypes: [Dtype; N]) -> Result<()> {
    let wide = dtypes.into_iter().find(|dtype| dtype.size() == 8);
    match wide {
        Some(dtype) if device.id() != "cpu" && !device.limits().int64 => {
            let (device, element) = (device.id().to_owned(), dtype.to_string());
            let reason = "it has no 64-bit integers".to_owned();
            Err(Error::ElementUnsupported { device, element, reason })
        }
        _ => Ok(()),
    }
}

/// The numbers of the items that are not 0, as `u32` or `u64`: see [`positions`](crate::positions()).
///
/// # Errors
/// Those of the typed call; [`Error::WrongDtype`] if `numbers` is another type.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any};
/// let found = any::positions(&Device::cpu(), &[0.0f32, 2.5, 0.0, 1.0], Dtype::U32)?;
/// assert_eq!(found.into_array()?.into_typed::<u32>()?.into_vec()?, [1, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn positions<'a>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    numbers: Dtype,
) -> Result<AnyCompacted> {
    positions_of(device, items.into(), numbers)
}

fn positions_of(device: &Device, items: AnyView<'_>, numbers: Dtype) -> Result<AnyCompacted> {
    check_numbers(items.len() as u64, numbers)?;
    let home = device.at_home(|| items.home());
    let mut found = Room::new(&home, numbers, items.len())?;
    find(&home, None, (items, 0), found.targets())?;
    Ok(found.compacted())
}

/// As [`positions`], into memory of the caller's: see [`positions_into`](crate::positions_into).
///
/// # Errors
/// Those of [`positions`] and of [`select_into`].
pub fn positions_into<'a, 'b, 'c>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<()> {
    find(device, None, (items.into(), 0), (output.into(), count.into()))
}

/// That numbers of so many items can be written as this type.
pub(super) fn check_numbers(items: u64, numbers: Dtype) -> Result<()> {
    match numbers {
        Dtype::U32 => check_positions::<u32>(items),
        Dtype::U64 => Ok(()),
        found => Err(Error::WrongDtype { found, wanted: Dtype::U64 }),
    }
}

/// Numbers of items that are not 0, counted from that of the first one.
pub(super) fn find(
    device: &Device,
    scratch: Scratch<'_>,
    (items, first): (AnyView<'_>, u64),
    (mut output, mut count): Targets<'_, '_>,
) -> Result<()> {
    let (len, numbers) = (items.len(), output.dtype());
    check_numbers(first.saturating_add(len as u64), numbers)?;
    check_room(len, &output, &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&device, [items.dtype(), numbers])?;
    let bits = unsigned(items.dtype());
    let items = items.bits_as(bits);
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let count = on_host_mut(count)?;
            let found = with_unsigned!(bits, F => {
                let items = on_host(items.typed::<F>()?)?;
                match numbers {
                    Dtype::U32 => {
                        cpu.positions_from(first, items, on_host_mut(output.typed::<u32>()?)?)?
                    }
                    _ => cpu.positions_from(first, items, on_host_mut(output.typed::<u64>()?)?)?,
                }
            });
            count[0] = found as u64;
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let (made, selecting) = (numbered(items, numbers, first), Selecting::Selected);
            select_on(gpu, scratch, &made, selecting, (output.erased(), count.erased().items))
        }
    }
}

/// The numbers of the items that are not 0, which are unsigned integers, as kernels know them, counted from that of the first one.
fn numbered(items: AnyView<'_>, numbers: Dtype, first: u64) -> Made<'_> {
    let mut parts = Parts::default();
    parts.array(items.source());
    let number = parts.numbers(numbers, first);
    Made::selecting(items.len(), numbers.into(), number, Condition::IsSet(0), parts)
}

/// Binds a selection to arrays of a GPU, to be run as often as wanted: see [`bind_select`](crate::bind_select).
///
/// # Errors
/// Those of [`select_into`] and of the typed call; [`Error::NoCommands`] on a CPU.
pub fn bind_select<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    bind_selection(device, items.into(), keep.into(), false, (output.into(), count.into()))
}

/// The same of a partition: see [`bind_partition`](crate::bind_partition).
///
/// # Errors
/// Those of [`bind_select`].
pub fn bind_partition<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    keep: impl Into<Keep<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    count: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    bind_selection(device, items.into(), keep.into(), true, (output.into(), count.into()))
}

fn bind_selection(
    device: &Device,
    items: AnyView<'_>,
    keep: Keep<'_>,
    partitions: bool,
    (output, count): Targets<'_, '_>,
) -> Result<Recording> {
    check_output(items, &output)?;
    check_room(items.len(), &output, &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    let flags = match keep {
        Keep::Flags(flags) => flags,
        Keep::Where(condition) => {
            check_types(&device, [items.dtype()])?;
            let bounds = bounds_of(condition, items)?;
            let way = if partitions { ByBounds::BindPartition } else { ByBounds::BindSelect };
            let recording = by_bounds(&device, None, (items, bounds), way, (output, count))?;
            return recording.ok_or(Error::NoCommands { device: device.id().to_owned() });
        }
    };
    check_flags(items, flags)?;
    check_types(&device, [items.dtype(), flags.dtype()])?;
    let [items, flags] = [items, flags].map(|items| items.bits_as(unsigned(items.dtype())));
    let way = if partitions { Selecting::Partitioned } else { Selecting::Selected };
    bind(&device, &flagged(items, flags), way, (output, count))
}

/// The same of the numbers of items that are not 0: see [`positions_into`].
///
/// # Errors
/// Those of [`positions_into`] and of [`bind_select`].
pub fn bind_positions<'a, 'b, 'c>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<Recording> {
    bind_numbers(device, items.into(), (output.into(), count.into()))
}

fn bind_numbers(
    device: &Device,
    items: AnyView<'_>,
    (output, count): Targets<'_, '_>,
) -> Result<Recording> {
    check_numbers(items.len() as u64, output.dtype())?;
    check_room(items.len(), &output, &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&device, [items.dtype(), output.dtype()])?;
    let made = numbered(items.bits_as(unsigned(items.dtype())), output.dtype(), 0);
    bind(&device, &made, Selecting::Selected, (output, count))
}

fn bind(
    device: &Device,
    made: &Made<'_>,
    selecting: Selecting,
    (mut output, mut count): Targets<'_, '_>,
) -> Result<Recording> {
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: device.id().to_owned() }),
        Erased::Gpu(gpu) => {
            let to = into_array(output.erased(), count.erased().items);
            gpu.bind_select(made, selecting, to)
        }
    }
}
