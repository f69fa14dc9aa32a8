//! Streams of compactions.

use crate::any::select::{Keep, check_numbers, check_output, check_types, compact, find};
use crate::any::view::{AnyView, AnyViewMut};
use crate::any::{Scalar, unsigned, with_unsigned};
use crate::stream::{Runs, Selector, number_behind};
use crate::{Device, Dtype, Error, Result, ViewMut};

/// That items of a chunk have the type of those before.
fn check_type(chunk: AnyView<'_>, item: Dtype) -> Result<()> {
    let found = chunk.dtype();
    if found == item { Ok(()) } else { Err(Error::WrongDtype { found, wanted: item }) }
}

/// A selection from an array that comes in chunks, of any lengths: see [`SelectStream`](crate::SelectStream).
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{SelectStream, Where}};
/// let (mut stream, mut kept) = (SelectStream::new(&Device::cpu(), Dtype::I16), Vec::new());
/// let (mut output, mut count) = ([0i16; 3], [0]);
/// for chunk in [[3i16, -4, 5], [-6, 7, -8]] {
///     let negative = Where::parse("< 0", Dtype::I16).expect("a number");
///     stream.next(&chunk, negative, &mut output, &mut count)?;
///     kept.extend_from_slice(&output[..count[0] as usize]);
/// }
/// assert_eq!(kept, [-4, -6, -8]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct SelectStream {
    selector: Selector,
    item: Dtype,
}

impl SelectStream {
    /// A stream of items of type `item` that has seen nothing.
    pub fn new(device: &Device, item: Dtype) -> Self {
        Self { selector: Selector::new(device), item }
    }

    /// Writes the items of the next chunk that are kept to `output`, and how many they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`select_into`](crate::any::select_into) and of the typed call; [`Error::WrongDtype`] if the items are of another type.
    pub fn next<'a, 'b, 'c, 'd>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        keep: impl Into<Keep<'b>>,
        output: impl Into<AnyViewMut<'c>>,
        count: impl Into<ViewMut<'d, u64>>,
    ) -> Result<()> {
        self.next_views((chunk.into(), keep.into()), (output.into(), count.into()))
    }

    fn next_views(
        &mut self,
        (chunk, keep): (AnyView<'_>, Keep<'_>),
        targets: (AnyViewMut<'_>, ViewMut<'_, u64>),
    ) -> Result<()> {
        check_type(chunk, self.item)?;
        let (device, chunks) = self.selector.parts();
        compact(device, chunks, (chunk, keep), false, targets)
    }
}

/// The numbers of the items that are not 0, of an array that comes in chunks, of any lengths: see [`PositionStream`](crate::PositionStream).
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::PositionStream};
/// let mut stream = PositionStream::new(&Device::cpu(), Dtype::U32)?;
/// let (mut output, mut count, mut found) = ([0u32; 3], [0], Vec::new());
/// for chunk in [[0.0f32, 2.5, 0.0], [1.0, 0.0, -1.0]] {
///     stream.next(&chunk, &mut output, &mut count)?;
///     found.extend_from_slice(&output[..count[0] as usize]);
/// }
/// assert_eq!(found, [1, 3, 5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct PositionStream {
    selector: Selector,
    numbers: Dtype,
    /// The number of the next item.
    first: u64,
}

impl PositionStream {
    /// A stream that has seen nothing, of numbers of type `numbers`: `u32` or `u64`.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if it is another type.
    pub fn new(device: &Device, numbers: Dtype) -> Result<Self> {
        check_numbers(0, numbers)?;
        Ok(Self { selector: Selector::new(device), numbers, first: 0 })
    }

    /// Writes the numbers of the items of the next chunk that are not 0 to `output`, which has room for as many as there are items, and how many
    /// they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`positions_into`](crate::any::positions_into) and of the typed call; [`Error::WrongDtype`] if the output has another type than
    /// the stream.
    pub fn next<'a, 'b, 'c>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), (output.into(), count.into()))
    }

    fn next_views(
        &mut self,
        chunk: AnyView<'_>,
        targets: (AnyViewMut<'_>, ViewMut<'_, u64>),
    ) -> Result<()> {
        let (found, wanted) = (targets.0.dtype(), self.numbers);
        if found != wanted {
            return Err(Error::WrongDtype { found, wanted });
        }
        let bound = chunk.len();
        let chunk = chunk.known(&self.selector.device)?;
        let targets = (targets.0.fitted(chunk.len(), bound)?, targets.1);
        let behind = number_behind(self.first, chunk.len(), self.numbers)?;
        let (device, chunks) = self.selector.parts();
        find(device, chunks, (chunk, self.first), targets)?;
        self.first = behind;
        Ok(())
    }
}

/// The first item of each run of neighbours that are the same, bit for bit, of an array that comes in chunks, of any lengths: see
/// [`UniqueStream`](crate::UniqueStream).
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::UniqueStream};
/// let mut stream = UniqueStream::new(&Device::cpu(), Dtype::F32);
/// let (mut output, mut count, mut kept) = ([0.0f32; 3], [0], Vec::new());
/// for chunk in [[2.5f32, 2.5, 0.0], [0.0, -0.0, -0.0]] {
///     stream.next(&chunk, &mut output, &mut count)?;
///     kept.extend(output[..count[0] as usize].iter().map(|item| item.to_bits()));
/// }
/// assert_eq!(kept, [2.5f32, 0.0, -0.0].map(f32::to_bits));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct UniqueStream {
    selector: Selector,
    item: Dtype,
    /// The last item, as an unsigned integer.
    last: Option<Scalar>,
}

impl UniqueStream {
    /// A stream of items of type `item` that has seen nothing.
    pub fn new(device: &Device, item: Dtype) -> Self {
        Self { selector: Selector::new(device), item, last: None }
    }

    /// Writes the first item of each run that begins in the next chunk to `output`, which has room for as many as there are items, and how many
    /// they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`unique_into`](crate::any::unique_into) and of the typed call; [`Error::WrongDtype`] if the items are of another type.
    pub fn next<'a, 'b, 'c>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), output.into(), count.into())
    }

    fn next_views(
        &mut self,
        chunk: AnyView<'_>,
        output: AnyViewMut<'_>,
        count: ViewMut<'_, u64>,
    ) -> Result<()> {
        check_type(chunk, self.item)?;
        check_output(chunk, &output)?;
        let home = self.selector.device.at_home(|| chunk.home().or_else(|| output.home()));
        check_types(&home, [self.item])?;
        let bits = unsigned(self.item);
        let (chunk, output) = (chunk.bits_as(bits), output.bits_as(bits));
        with_unsigned!(bits, T => {
            let mut last = self.last.and_then(|last| last.get::<T>());
            let (chunk, output) = (chunk.typed::<T>()?, output.typed::<T>()?);
            self.selector.unique(&mut last, chunk, output, count)?;
            self.last = last.map(Scalar::new);
        });
        Ok(())
    }
}

/// The runs of neighbours that are the same, bit for bit, of an array that comes in chunks, of any lengths: see
/// [`RunLengthStream`](crate::RunLengthStream).
///
/// # Cost
/// As of the typed stream. A GPU without integers of 64 bits counts in `u64` as well.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{RunLengthStream, Scalar}};
/// let mut stream = RunLengthStream::new(&Device::cpu(), Dtype::U8, Dtype::U64)?;
/// let (mut values, mut counts, mut number, mut runs) = ([0u8; 4], [0u64; 4], [0], Vec::new());
/// for chunk in [[5u8, 5, 5, 0], [0, 0, 0, 9]] {
///     stream.next(&chunk, &mut values, &mut counts, &mut number)?;
///     runs.extend(values.into_iter().zip(counts).take(number[0] as usize));
/// }
/// assert_eq!(runs, [(5, 3), (0, 4)]);
/// assert_eq!(stream.finish(), Some((Scalar::new(9u8), 1)));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct RunLengthStream {
    device: Device,
    item: Dtype,
    counts: Dtype,
    /// The value of the run that is open, as an unsigned integer, and how many items it has so far.
    open: Option<(Scalar, u64)>,
}

impl RunLengthStream {
    /// A stream of items of type `item` that has seen nothing, which counts in `counts`: `u32` or `u64`.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if it is another type.
    pub fn new(device: &Device, item: Dtype, counts: Dtype) -> Result<Self> {
        check_numbers(0, counts)?;
        Ok(Self { device: device.clone(), item, counts, open: None })
    }

    /// Writes the first item of each run that has ended with the next chunk to `values` and how many items it has to `counts`, which have room
    /// for as many as there are items; and how many runs they are to the one item of `number`.
    ///
    /// # Errors
    /// Those of [`run_length_encode_into`](crate::any::run_length_encode_into) and of the typed call; [`Error::WrongDtype`] if the items or
    /// the counts are of another type.
    pub fn next<'a, 'b, 'c, 'd>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        values: impl Into<AnyViewMut<'b>>,
        counts: impl Into<AnyViewMut<'c>>,
        number: impl Into<ViewMut<'d, u64>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), (values.into(), counts.into()), number.into())
    }

    fn next_views(
        &mut self,
        chunk: AnyView<'_>,
        (values, counts): (AnyViewMut<'_>, AnyViewMut<'_>),
        number: ViewMut<'_, u64>,
    ) -> Result<()> {
        check_type(chunk, self.item)?;
        check_output(chunk, &values)?;
        if counts.dtype() != self.counts {
            return Err(Error::WrongDtype { found: counts.dtype(), wanted: self.counts });
        }
        let home = self.device.at_home(|| chunk.home().or_else(|| values.home()));
        check_types(&home, [self.item])?;
        let bits = unsigned(self.item);
        let (chunk, values) = (chunk.bits_as(bits), values.bits_as(bits));
        with_unsigned!(bits, T => {
            let open = self.open.and_then(|(value, length)| Some((value.get::<T>()?, length)));
            let mut runs = Runs { device: self.device.clone(), open };
            let (chunk, values) = (chunk.typed::<T>()?, values.typed::<T>()?);
            match self.counts {
                Dtype::U32 => runs.next(chunk, values, counts.typed::<u32>()?, number)?,
                _ => runs.next(chunk, values, counts.typed::<u64>()?, number)?,
            }
            self.open = runs.open.map(|(value, length)| (Scalar::new(value), length));
        });
        Ok(())
    }

    /// The run that is open: its first item, and how many items it has so far. None if nothing was taken.
    pub fn finish(&self) -> Option<(Scalar, u64)> {
        let (value, length) = self.open?;
        Some((Scalar::from_bytes(self.item, value.bytes())?, length))
    }
}
