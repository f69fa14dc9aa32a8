//! Partitions in three parts.

use super::array::AnyArray;
use super::select::{check_flags, check_output, check_types};
use super::view::{AnyView, AnyViewMut, on_host, on_host_mut};
use super::within::{Bounds, Within8, Within16, Within32, Within64};
use super::{Where, unsigned, with_unsigned};
use crate::erased::Erased;
use crate::fused::Fused;
use crate::partition::{borders_of, check_borders, flagged};
use crate::{Apply, Array, Device, Element, Error, Number, Recording, Result, ViewMut};

/// Which items are in the first part of three, and which of the others are in the second.
#[expect(clippy::large_enum_variant, reason = "it is taken apart by the call that it is made for")]
#[derive(Clone, Copy, Debug)]
pub enum ThreeParts<'a> {
    /// Those whose first flag is not 0, and those whose second flag is not 0. A flag is 0 if all its bytes are.
    Flags([AnyView<'a>; 2]),
    /// Those that compare so with a number.
    Where([Where; 2]),
}

impl<'a, A: Into<AnyView<'a>>, B: Into<AnyView<'a>>> From<(A, B)> for ThreeParts<'a> {
    fn from((first, second): (A, B)) -> Self {
        Self::Flags([first.into(), second.into()])
    }
}

impl From<[Where; 2]> for ThreeParts<'_> {
    fn from(conditions: [Where; 2]) -> Self {
        Self::Where(conditions)
    }
}

/// All items in three parts, and where the second part and the rest begin: see [`partition3`](crate::partition3).
///
/// # Arguments
/// - `items`: any number of items.
/// - `parts`: two arrays of as many flags, of any types, or two comparisons.
///
/// # Cost
/// As of the typed calls. A comparison is made where items are read, on GPUs too.
///
/// # Errors
/// Those of [`select`](super::select()).
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, Where}};
/// let (device, items) = (Device::cpu(), [5i16, -1, 40, 7, -2]);
/// let [negative, small] = ["< 0", "< 10"].map(|text| Where::parse(text, Dtype::I16).expect("a number"));
/// let (all, borders) = any::partition3(&device, &items, [negative, small])?;
/// assert_eq!((all.into_typed::<i16>()?.into_vec()?, borders), (vec![-1, -2, 5, 7, 40], [2, 4]));
/// let (all, _) = any::partition3(&device, &items, (&[0u8, 0, 0, 1, 0], &[1.0f32, 0.0, 0.0, 0.0, 0.0]))?;
/// assert_eq!(all.into_typed::<i16>()?.into_vec()?, [7, 5, -1, 40, -2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn partition3<'a, 'b>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    parts: impl Into<ThreeParts<'b>>,
) -> Result<(AnyArray, [usize; 2])> {
    partitioned(device, items.into(), parts.into())
}

fn partitioned(
    device: &Device,
    items: AnyView<'_>,
    parts: ThreeParts<'_>,
) -> Result<(AnyArray, [usize; 2])> {
    let home = device.at_home(|| items.home().or_else(|| parts.home()));
    let mut output = AnyArray::with_any(&home, items.dtype(), items.len())?;
    let mut borders = Array::filled(&home, 2, 0)?;
    take(&home, items, parts, Way::Write, (output.view_mut(), borders.view_mut()))?;
    Ok((output, borders_of(&borders)?))
}

/// As [`partition3`], into memory of the caller's: see [`partition3_into`](crate::partition3_into).
///
/// # Errors
/// Those of [`partition3`] and of the typed call; [`Error::WrongDtype`] if the output has another type than items.
pub fn partition3_into<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    parts: impl Into<ThreeParts<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    borders: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let targets = (output.into(), borders.into());
    take(device, items.into(), parts.into(), Way::Write, targets).map(drop)
}

/// Binds a partition in three parts to arrays of a GPU, to be run as often as wanted: see [`bind_partition3`](crate::bind_partition3).
///
/// # Errors
/// Those of [`partition3_into`] and of the typed call; [`Error::NoCommands`] on a CPU.
pub fn bind_partition3<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    parts: impl Into<ThreeParts<'b>>,
    output: impl Into<AnyViewMut<'c>>,
    borders: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    let targets = (output.into(), borders.into());
    let recording = take(device, items.into(), parts.into(), Way::Bind, targets)?;
    recording.ok_or_else(|| Error::NoCommands { device: device.id().to_owned() })
}

impl ThreeParts<'_> {
    fn home(&self) -> Option<Device> {
        match self {
            Self::Flags([first, second]) => first.home().or_else(|| second.home()),
            Self::Where(_) => None,
        }
    }
}

/// Where items go, and where the borders do.
type Targets<'a, 'b> = (AnyViewMut<'a>, ViewMut<'b, u64>);

/// What is done with items in three parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Write,
    Bind,
}

fn take(
    device: &Device,
    items: AnyView<'_>,
    parts: ThreeParts<'_>,
    way: Way,
    (output, borders): Targets<'_, '_>,
) -> Result<Option<Recording>> {
    check_output(items, &output)?;
    if output.len() != items.len() {
        return Err(Error::LengthMismatch { input: items.len(), output: output.len() });
    }
    check_borders(borders.len())?;
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&home, [items.dtype()])?;
    match parts {
        ThreeParts::Flags(flags) => by_flags(&home, items, flags, way, (output, borders)),
        ThreeParts::Where(conditions) => {
            let mut numbers = conditions.iter().map(|condition| condition.number.dtype());
            match numbers.find(|dtype| *dtype != items.dtype()) {
                Some(found) => Err(Error::WrongDtype { found, wanted: items.dtype() }),
                None => {
                    let bounds = conditions.map(Bounds::from);
                    by_bounds(&home, items, bounds, way, (output, borders))
                }
            }
        }
    }
}

fn by_flags(
    device: &Device,
    items: AnyView<'_>,
    flags: [AnyView<'_>; 2],
    way: Way,
    (output, mut borders): Targets<'_, '_>,
) -> Result<Option<Recording>> {
    flags.iter().try_for_each(|flags| check_flags(items, *flags))?;
    check_types(device, flags.map(|flags| flags.dtype()))?;
    let bits = unsigned(items.dtype());
    let (items, mut output) = (items.bits_as(bits), output.bits_as(bits));
    let flags = flags.map(|flags| flags.bits_as(unsigned(flags.dtype())));
    match device.kind().erased() {
        Erased::Cpu(_) if way == Way::Bind => Ok(None),
        Erased::Cpu(cpu) => {
            let borders = on_host_mut(borders)?;
            let [first, second] = flags;
            let (first, second) = (first.number_bytes()?, second.number_bytes()?);
            let found = with_unsigned!(bits, T => {
                let items = on_host(items.typed::<T>()?)?;
                let output = on_host_mut(output.typed::<T>()?)?;
                cpu.partition3_by_bytes(items, first, second, output)?
            });
            borders.copy_from_slice(&found.map(|border| border as u64));
            Ok(None)
        }
        Erased::Gpu(gpu) => {
            let flags = flags.map(|flags| flags.source());
            let (made, second) = flagged(items.len(), items.source(), flags);
            let (output, borders) = (output.erased(), borders.erased().items);
            match way {
                Way::Write => gpu.partition3(&made, &second, output, borders).map(|()| None),
                Way::Bind => gpu.bind_partition3(&made, &second, output, borders).map(Some),
            }
        }
    }
}

/// Items of which predicates of their size hold.
fn by_bounds(
    device: &Device,
    items: AnyView<'_>,
    bounds: [Bounds; 2],
    way: Way,
    (output, borders): Targets<'_, '_>,
) -> Result<Option<Recording>> {
    fn of<T: Number + Element, P: Apply<(T,), Output = bool>>(
        device: &Device,
        items: AnyView<'_>,
        [first, second]: [P; 2],
        way: Way,
        (output, borders): Targets<'_, '_>,
    ) -> Result<Option<Recording>> {
        let (items, output) = (items.bits_as(T::DTYPE), output.bits_as(T::DTYPE));
        let (items, output) = (items.typed::<T>()?, output.typed::<T>()?);
        let found = items.filter(first);
        match way {
            Way::Write => found.partition3_into(device, second, output, borders).map(|()| None),
            Way::Bind => found.bind_partition3(device, second, output, borders).map(Some),
        }
    }
    let targets = (output, borders);
    match items.dtype().size() {
        1 => of::<u8, _>(device, items, bounds.map(Within8::from), way, targets),
        2 => of::<u16, _>(device, items, bounds.map(Within16::from), way, targets),
        4 => of::<u32, _>(device, items, bounds.map(Within32::from), way, targets),
        _ => of::<u64, _>(device, items, bounds.map(Within64::from), way, targets),
    }
}
