//! Runs of equal neighbours.

use super::array::AnyArray;
use super::select::{AnyCompacted, Room, check_output, check_types};
use super::view::{AnyView, AnyViewMut};
use super::{unsigned, with_unsigned};
use crate::{
    Device, Dtype, Element, Error, GatherIndex, Recording, Result, View, ViewMut,
    bind_run_length_encode as bind_encode, bind_unique as bind_typed,
    run_length_encode_into as encode_typed, unique_by_key_into as keep_typed,
};

/// The first item of each run of neighbours that are the same, bit for bit: see [`unique`](crate::unique()).
///
/// # Errors
/// Those of the typed call; [`Error::ElementUnsupported`] for items of 64 bits on a GPU without integers of so many.
///
/// # Examples
/// ```
/// use upsweep::{Device, any};
/// let kept = any::unique(&Device::cpu(), &[2.5f32, 2.5, 0.0, -0.0])?.into_array()?;
/// assert_eq!(kept.into_typed::<f32>()?.into_vec()?, [2.5, 0.0, -0.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn unique<'a>(device: &Device, items: impl Into<AnyView<'a>>) -> Result<AnyCompacted> {
    kept(device, items.into())
}

fn kept(device: &Device, items: AnyView<'_>) -> Result<AnyCompacted> {
    let home = device.at_home(|| items.home());
    let mut kept = Room::new(&home, items.dtype(), items.len())?;
    let (output, count) = kept.targets();
    keep_first(&home, items, output, count)?;
    Ok(kept.compacted())
}

/// As [`unique`], into memory of the caller's: see [`unique_into`](crate::unique_into).
///
/// # Errors
/// Those of [`unique`] and of the typed call; [`Error::WrongDtype`] if the output has another type than items.
pub fn unique_into<'a, 'b, 'c>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<()> {
    keep_first(device, items.into(), output.into(), count.into())
}

/// Binds the search for the first item of each run to arrays of a GPU, to be run as often as wanted: see
/// [`bind_unique`](crate::bind_unique).
///
/// # Errors
/// Those of [`unique_into`] and of the typed call; [`Error::NoCommands`] on a CPU.
pub fn bind_unique<'a, 'b, 'c>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<Recording> {
    bind_firsts(device, items.into(), output.into(), count.into())
}

fn bind_firsts(
    device: &Device,
    items: AnyView<'_>,
    output: AnyViewMut<'_>,
    count: ViewMut<'_, u64>,
) -> Result<Recording> {
    check_output(items, &output)?;
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&home, [items.dtype()])?;
    let bits = unsigned(items.dtype());
    let (items, output) = (items.bits_as(bits), output.bits_as(bits));
    with_unsigned!(bits, T => bind_typed(&home, items.typed::<T>()?, output.typed::<T>()?, count))
}

fn keep_first(
    device: &Device,
    items: AnyView<'_>,
    output: AnyViewMut<'_>,
    count: ViewMut<'_, u64>,
) -> Result<()> {
    check_output(items, &output)?;
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    check_types(&home, [items.dtype()])?;
    let bits = unsigned(items.dtype());
    let (items, output) = (items.bits_as(bits), output.bits_as(bits));
    with_unsigned!(bits, T => {
        crate::unique_into(&home, items.typed::<T>()?, output.typed::<T>()?, count)
    })
}

/// The first key of each run of neighbours whose keys are the same, bit for bit, and the item of the same number: see
/// [`unique_by_key`](crate::unique_by_key()).
///
/// # Errors
/// Those of [`unique`], for keys and items, and of the typed call.
///
/// # Examples
/// ```
/// use upsweep::{Device, any};
/// let (keys, items) = any::unique_by_key(&Device::cpu(), &[7u8, 7, 9], &[0.5f32, 1.5, 2.5])?;
/// assert_eq!(keys.into_array()?.into_typed::<u8>()?.into_vec()?, [7, 9]);
/// assert_eq!(items.into_array()?.into_typed::<f32>()?.into_vec()?, [0.5, 2.5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn unique_by_key<'a, 'b>(
    device: &Device,
    keys: impl Into<AnyView<'a>>,
    items: impl Into<AnyView<'b>>,
) -> Result<(AnyCompacted, AnyCompacted)> {
    kept_by_key(device, keys.into(), items.into())
}

fn kept_by_key(
    device: &Device,
    keys: AnyView<'_>,
    items: AnyView<'_>,
) -> Result<(AnyCompacted, AnyCompacted)> {
    let home = device.at_home(|| keys.home().or_else(|| items.home()));
    let mut kept = Room::new(&home, keys.dtype(), keys.len())?;
    let mut beside = AnyArray::with_any(&home, items.dtype(), items.len())?;
    let (unique, count) = kept.targets();
    keep_first_by_key(&home, (keys, items), (unique, beside.view_mut()), count)?;
    let kept = kept.compacted();
    let beside = kept.beside(beside);
    Ok((kept, beside))
}

/// As [`unique_by_key`], into memory of the caller's: see [`unique_by_key_into`](crate::unique_by_key_into).
///
/// # Errors
/// Those of [`unique_by_key`] and of the typed call; [`Error::WrongDtype`] if an output has another type than what goes there.
pub fn unique_by_key_into<'a, 'b, 'c, 'd, 'e>(
    device: &Device,
    keys: impl Into<AnyView<'a>>,
    items: impl Into<AnyView<'b>>,
    unique: impl Into<AnyViewMut<'c>>,
    output: impl Into<AnyViewMut<'d>>,
    count: impl Into<ViewMut<'e, u64>>,
) -> Result<()> {
    let (from, to) = ((keys.into(), items.into()), (unique.into(), output.into()));
    keep_first_by_key(device, from, to, count.into())
}

fn keep_first_by_key(
    device: &Device,
    (keys, items): (AnyView<'_>, AnyView<'_>),
    (unique, output): (AnyViewMut<'_>, AnyViewMut<'_>),
    count: ViewMut<'_, u64>,
) -> Result<()> {
    check_output(keys, &unique)?;
    check_output(items, &output)?;
    let home = device.at_home(|| keys.home().or_else(|| unique.home()));
    check_types(&home, [keys.dtype(), items.dtype()])?;
    let (key, bits) = (unsigned(keys.dtype()), unsigned(items.dtype()));
    let (keys, unique) = (keys.bits_as(key), unique.bits_as(key));
    let (items, output) = (items.bits_as(bits), output.bits_as(bits));
    with_unsigned!(key, K => {
        let (keys, unique) = (keys.typed::<K>()?, unique.typed::<K>()?);
        with_unsigned!(bits, T => {
            keep_typed(&home, keys, items.typed::<T>()?, unique, output.typed::<T>()?, count)
        })
    })
}

/// The first item of each run of neighbours that are the same, bit for bit, and how many items each run has, as `u32` or `u64`: see
/// [`run_length_encode`](crate::run_length_encode).
///
/// # Cost
/// As of the typed call; waits for how many runs there are.
///
/// # Errors
/// Those of [`unique`] and of the typed call; [`Error::WrongDtype`] if `counts` is another type.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any};
/// let (values, counts) = any::run_length_encode(&Device::cpu(), &[7i8, 7, 7, -1], Dtype::U32)?;
/// assert_eq!(values.into_typed::<i8>()?.into_vec()?, [7, -1]);
/// assert_eq!(counts.into_typed::<u32>()?.into_vec()?, [3, 1]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn run_length_encode<'a>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    counts: Dtype,
) -> Result<(AnyArray, AnyArray)> {
    encoded(device, items.into(), counts)
}

fn encoded(device: &Device, items: AnyView<'_>, counts: Dtype) -> Result<(AnyArray, AnyArray)> {
    let home = device.at_home(|| items.home());
    let mut values = Room::new(&home, items.dtype(), items.len())?;
    let mut counts = AnyArray::with_any(&home, counts, items.len())?;
    let (output, number) = values.targets();
    encode(&home, items, Way::Write, (output, counts.view_mut()), number)?;
    let values = values.compacted().into_array()?;
    let counts = counts.truncated(values.len());
    Ok((values, counts))
}

/// As [`run_length_encode`], into memory of the caller's: see [`run_length_encode_into`](crate::run_length_encode_into).
///
/// # Cost
/// As of the typed call; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`run_length_encode`] and of the typed call; [`Error::WrongDtype`] if values have another type than items.
pub fn run_length_encode_into<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    values: impl Into<AnyViewMut<'b>>,
    counts: impl Into<AnyViewMut<'c>>,
    number: impl Into<ViewMut<'d, u64>>,
) -> Result<()> {
    let to = (values.into(), counts.into());
    encode(device, items.into(), Way::Write, to, number.into()).map(drop)
}

/// Binds the search for run lengths to arrays of a GPU, to be run as often as wanted: see
/// [`bind_run_length_encode`](crate::bind_run_length_encode).
///
/// # Errors
/// Those of [`run_length_encode_into`] and of the typed call; [`Error::NoCommands`] on a CPU.
pub fn bind_run_length_encode<'a, 'b, 'c, 'd>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    values: impl Into<AnyViewMut<'b>>,
    counts: impl Into<AnyViewMut<'c>>,
    number: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    let to = (values.into(), counts.into());
    let recording = encode(device, items.into(), Way::Bind, to, number.into())?;
    recording.ok_or_else(|| Error::NoCommands { device: device.id().to_owned() })
}

/// What is done with runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Write,
    Bind,
}

fn encode(
    device: &Device,
    items: AnyView<'_>,
    way: Way,
    (values, counts): (AnyViewMut<'_>, AnyViewMut<'_>),
    number: ViewMut<'_, u64>,
) -> Result<Option<Recording>> {
    check_output(items, &values)?;
    let home = device.at_home(|| items.home().or_else(|| values.home()));
    check_types(&home, [items.dtype(), counts.dtype()])?;
    let bits = unsigned(items.dtype());
    let (items, values) = (items.bits_as(bits), values.bits_as(bits));
    with_unsigned!(bits, T => {
        let (items, values) = (items.typed::<T>()?, values.typed::<T>()?);
        match counts.dtype() {
            Dtype::U32 => run_or_bind(&home, items, way, (values, counts.typed::<u32>()?), number),
            Dtype::U64 => run_or_bind(&home, items, way, (values, counts.typed::<u64>()?), number),
            found => Err(Error::WrongDtype { found, wanted: Dtype::U64 }),
        }
    })
}

fn run_or_bind<T: Element, I: GatherIndex>(
    device: &Device,
    items: View<'_, T>,
    way: Way,
    (values, counts): (ViewMut<'_, T>, ViewMut<'_, I>),
    number: ViewMut<'_, u64>,
) -> Result<Option<Recording>> {
    match way {
        Way::Write => encode_typed(device, items, values, counts, number).map(|()| None),
        Way::Bind => bind_encode(device, items, values, counts, number).map(Some),
    }
}
