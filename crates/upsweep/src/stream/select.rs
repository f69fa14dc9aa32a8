//! Streams of compactions: what is kept of an array that comes chunk by chunk.

use core::fmt;
use core::marker::PhantomData;

use upsweep_core::Condition;
use upsweep_gpu::Selecting;

use crate::backend::{ViewBackend, wrong_device};
use crate::erased::{Erased, ErasedChunks, ErasedGpu};
use crate::fused::{Fused, Made, Parts, Source};
use crate::runs::{check_encoded, keep_first};
use crate::select::{by_flags, find_positions};
use crate::view::{Items, ItemsMut};
use crate::{
    Apply, Array, Device, Dtype, Element, Error, Filtered, GatherIndex, Number, Result, View,
    ViewMut, run_length_encode_into,
};

/// A device, and on a GPU scratch memory that a stream keeps from chunk to chunk.
pub(crate) struct Selector {
    pub(crate) device: Device,
    chunks: Option<Box<dyn ErasedChunks>>,
}

impl Selector {
    pub(crate) fn new(device: &Device) -> Self {
        let chunks = match device.kind().erased() {
            Erased::Cpu(_) => None,
            Erased::Gpu(gpu) => Some(gpu.chunks()),
        };
        Self { device: device.clone(), chunks }
    }

    /// What calls take of it.
    pub(crate) fn parts(&mut self) -> (&Device, Option<&mut dyn ErasedChunks>) {
        let Self { device, chunks } = self;
        match chunks {
            Some(chunks) => (device, Some(&mut **chunks)),
            None => (device, None),
        }
    }

    /// Writes the first of each run that begins in a chunk, which comes behind the item `last`.
    pub(crate) fn unique<T: Element>(
        &mut self,
        last: &mut Option<T>,
        chunk: View<'_, T>,
        output: ViewMut<'_, T>,
        count: ViewMut<'_, u64>,
    ) -> Result<()> {
        let chunk = chunk.known(&self.device)?;
        let ends = ends(&self.device, chunk)?;
        let goes_on = match (&*last, &ends) {
            (Some(last), Some([first, _])) => is_same(last, first),
            _ => false,
        };
        let (device, chunks) = self.parts();
        keep_first(device, chunks, (chunk, goes_on), output, count)?;
        if let Some([_, end]) = ends {
            *last = Some(end);
        }
        Ok(())
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").field("device", &self.device).finish_non_exhaustive()
    }
}

/// Whether items have the same bytes. Those that say none are refused by the calls that take chunks.
fn is_same<T: Element>(left: &T, right: &T) -> bool {
    T::bytes(core::slice::from_ref(left)) == T::bytes(core::slice::from_ref(right))
}

/// The first and the last item of a chunk, if there are any. Waits for them on a GPU.
fn ends<T: Element>(device: &Device, chunk: View<'_, T>) -> Result<Option<[T; 2]>> {
    let range = match chunk.items {
        Items::Host(items) => return Ok(items.first().zip(items.last()).map(|(a, b)| [*a, *b])),
        Items::Device(range) => range,
    };
    let device = device.at_home(|| chunk.home());
    let Erased::Gpu(gpu) = device.kind().erased() else {
        return Err(wrong_device(range.device(), "cpu"));
    };
    let Some(step) = chunk.len().checked_sub(1) else { return Ok(None) };
    let mut parts = Parts::default();
    let source = Source::of(chunk).bits();
    let kind = source.kind;
    let item = parts.strided(chunk.len(), source, step);
    let made = Made::selecting(2, kind, item, Condition::All, parts);
    let (mut found, mut count) = (Array::with_room(&device, 2)?, Array::filled(&device, 1, 0u64)?);
    let (mut to, mut counted) = (found.view_mut(), count.view_mut());
    gpu.select(&made, Selecting::Selected, to.erased().items, counted.erased().items)?;
    Ok(found.to_vec()?.first_chunk().copied())
}

/// The run that is open: its value, and how many items it has so far.
type Open<T> = Option<(T, u64)>;

/// Runs of items of which those that have ended are written.
#[derive(Debug)]
pub(crate) struct Runs<T> {
    pub(crate) device: Device,
    pub(crate) open: Open<T>,
}

impl<T: Element> Runs<T> {
    /// Writes the runs that end with a chunk.
    #[inline(never)]
    pub(crate) fn next<I: GatherIndex>(
        &mut self,
        chunk: View<'_, T>,
        values: ViewMut<'_, T>,
        counts: ViewMut<'_, I>,
        mut number: ViewMut<'_, u64>,
    ) -> Result<()> {
        let chunk = chunk.known(&self.device)?;
        let (items, bound) = (chunk.len(), chunk.bound());
        let (values, counts) = (values.fitted(items, bound), counts.fitted(items, bound));
        check_encoded(items, (&values, &counts), &number)?;
        let device = self.device.at_home(|| chunk.home().or_else(|| values.home()));
        let Some(ends) = ends(&device, chunk)? else { return write_count(&device, 0, &mut number) };
        let body = chunk.first(items - 1);
        let open = match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (body, number) = (cpu.input(body)?, cpu.output(number)?);
                let outputs = (cpu.output(values)?, cpu.output(counts)?);
                let (ended, open) = splice(self.open, ends, outputs, &mut |values, counts| {
                    cpu.run_length_encode(body, values, counts)
                })?;
                number[0] = ended as u64;
                open
            }
            Erased::Gpu(gpu) => {
                let (mut values, mut counts) =
                    (Staged::new(values, ends[0]), Staged::new(counts, I::default()));
                let outputs = (values.items(), counts.items());
                let (ended, open) = splice(self.open, ends, outputs, &mut |values, counts| {
                    encode(&device, body, values, counts)
                })?;
                values.finish(gpu, ended)?;
                counts.finish(gpu, ended)?;
                write_count(&device, ended, &mut number)?;
                open
            }
        };
        self.open = Some(open);
        Ok(())
    }
}

/// Writes a number to wherever it is wanted.
fn write_count(device: &Device, found: usize, number: &mut ViewMut<'_, u64>) -> Result<()> {
    match (&mut number.items, device.kind().erased()) {
        (ItemsMut::Host(number), _) => {
            number[0] = found as u64;
            Ok(())
        }
        (ItemsMut::Device(range), Erased::Cpu(_)) => Err(wrong_device(range.device(), "cpu")),
        (ItemsMut::Device(_), Erased::Gpu(gpu)) => {
            let mut parts = Parts::default();
            let item = parts.numbers(Dtype::U32, 0);
            let made = Made::selecting(found, u32::KIND, item, Condition::All, parts);
            gpu.count(&made, number.erased().items)
        }
    }
}

/// What finds runs of items, and how many they are.
type Encode<'a, T, I> = &'a mut dyn FnMut(&mut [T], &mut [I]) -> Result<usize>;

/// Writes the runs that have ended when the items come that begin with `first` and end with `last`: how many, and the one that is open then.
/// `encode` finds the runs of all of these items but the last, so that the run in front has a place before them.
fn splice<T: Element, I: GatherIndex>(
    open: Open<T>,
    [first, last]: [T; 2],
    (values, counts): (&mut [T], &mut [I]),
    encode: Encode<'_, T, I>,
) -> Result<(usize, (T, u64))> {
    let body = values.len() - 1;
    let mut runs = 0;
    let mut goes_on = 0;
    if let Some((value, length)) = open {
        if body > 0 && is_same(&value, &first) {
            goes_on = length;
        } else {
            (values[0], counts[0], runs) = (value, run_length(length)?, 1);
        }
    }
    runs += encode(&mut values[runs..][..body], &mut counts[runs..][..body])?;
    if goes_on > 0 {
        counts[0] = run_length(counts[0].number() as u64 + goes_on)?;
    }
    let mut length = 1;
    if let Some(run) = runs.checked_sub(1).filter(|run| is_same(&values[*run], &last)) {
        (length, runs) = (counts[run].number() as u64 + 1, run);
    }
    run_length::<I>(length)?;
    Ok((runs, (last, length)))
}

/// A length of a run as it is written.
fn run_length<I: GatherIndex>(length: u64) -> Result<I> {
    let items = usize::try_from(length).unwrap_or(usize::MAX);
    I::of_count(length).ok_or(Error::PositionRange { items, dtype: I::DTYPE })
}

/// Runs of items on a GPU, which counts in 32 bits where these are enough.
fn encode<T: Element, I: GatherIndex>(
    device: &Device,
    items: View<'_, T>,
    values: &mut [T],
    counts: &mut [I],
) -> Result<usize> {
    let mut number = [0];
    if size_of::<I>() < 8 || u32::try_from(items.len()).is_err() {
        run_length_encode_into(device, items, values, counts, &mut number)?;
        return Ok(number[0] as usize);
    }
    let mut short = vec![0u32; items.len()];
    run_length_encode_into(device, items, values, &mut short, &mut number)?;
    let found = number[0] as usize;
    for (length, short) in counts.iter_mut().zip(&short[..found]) {
        *length = run_length((*short).into())?;
    }
    Ok(found)
}

/// An output of a GPU's in the host's memory, where the run in front is.
enum Staged<'a, T> {
    Host(&'a mut [T]),
    Device(ViewMut<'a, T>, Vec<T>),
}

impl<'a, T: Element> Staged<'a, T> {
    fn new(output: ViewMut<'a, T>, any: T) -> Self {
        let items = output.len();
        match output.items {
            ItemsMut::Host(items) => Self::Host(items),
            device @ ItemsMut::Device(_) => {
                Self::Device(ViewMut { items: device }, vec![any; items])
            }
        }
    }

    fn items(&mut self) -> &mut [T] {
        match self {
            Self::Host(items) => items,
            Self::Device(_, items) => items,
        }
    }

    /// Brings the first items to where they are wanted.
    fn finish(self, gpu: &dyn ErasedGpu, found: usize) -> Result<()> {
        let Self::Device(output, items) = self else { return Ok(()) };
        if found == 0 {
            return Ok(());
        }
        let room = output.len();
        let (mut output, mut count) = (output.fitted(found, room), [0]);
        let mut parts = Parts::default();
        let source = Source::of(View::from(&items[..found])).bits();
        let kind = source.kind;
        let item = parts.array(source);
        let made = Made::selecting(found, kind, item, Condition::All, parts);
        let mut counted = ViewMut::from(&mut count);
        gpu.select(&made, Selecting::Selected, output.erased().items, counted.erased().items)
    }
}

/// A selection from an array that comes in chunks, of any lengths: what is selected of the chunks, one behind another, is what is selected of
/// the whole.
///
/// # Cost
/// As of [`select_into`](crate::select_into) for each chunk. On a GPU scratch memory is kept for the longest chunk so far.
///
/// # Examples
/// ```
/// use upsweep::{Device, SelectStream};
/// let mut stream = SelectStream::<u32>::new(&Device::cpu());
/// let (mut output, mut count, mut kept) = ([0; 4], [0], Vec::new());
/// for (chunk, flags) in [([1, 2, 3, 4], [0u8, 1, 1, 0]), ([5, 6, 7, 8], [1, 0, 0, 1])] {
///     stream.next(&chunk, &flags, &mut output, &mut count)?;
///     kept.extend_from_slice(&output[..count[0] as usize]);
/// }
/// assert_eq!(kept, [2, 3, 5, 8]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// [`select`](crate::select()).
#[derive(Debug)]
pub struct SelectStream<T> {
    selector: Selector,
    items: PhantomData<fn(T)>,
}

impl<T: Element> SelectStream<T> {
    /// A stream that has seen nothing.
    pub fn new(device: &Device) -> Self {
        Self { selector: Selector::new(device), items: PhantomData }
    }

    /// Writes the items of the next chunk whose flags are not 0 to `output`, and how many they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`select_into`](crate::select_into).
    pub fn next<'a, 'b, 'c, 'd, F: Number>(
        &mut self,
        chunk: impl Into<View<'a, T>>,
        flags: impl Into<View<'b, F>>,
        output: impl Into<ViewMut<'c, T>>,
        count: impl Into<ViewMut<'d, u64>>,
    ) -> Result<()> {
        let (chunk, flags) = (chunk.into(), flags.into());
        let (device, chunks) = self.selector.parts();
        by_flags(device, chunks, (chunk, flags), (false, output.into(), count.into()))
    }

    /// The same of the next items of which a predicate holds, which are made as they are read.
    ///
    /// ```
    /// use upsweep::{Device, Fused, SelectStream, View};
    ///
    /// #[upsweep::function]
    /// fn is_negative(value: i32) -> bool {
    ///     value < 0
    /// }
    ///
    /// let mut stream = SelectStream::<i32>::new(&Device::cpu());
    /// let (mut output, mut count) = ([0; 3], [0]);
    /// let chunk = View::from(&[-4, 7, -1]).filter(is_negative {});
    /// stream.next_filtered(&chunk, &mut output, &mut count)?;
    /// assert_eq!(output[..count[0] as usize], [-4, -1]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Filtered::select_into`].
    pub fn next_filtered<'a, 'b, 'c, E, P>(
        &mut self,
        chunk: &Filtered<E, P>,
        output: impl Into<ViewMut<'b, T>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()>
    where
        E: Fused<'a, Item = T>,
        P: Apply<(T,), Output = bool>,
    {
        let (device, chunks) = self.selector.parts();
        chunk.take(device, chunks, false, output.into(), count.into())
    }
}

/// The numbers of the items that are not 0, of an array that comes in chunks, of any lengths: each chunk counts on from those before. They are
/// `u32` or `u64`.
///
/// # Cost
/// As of [`positions_into`](crate::positions_into) for each chunk. On a GPU scratch memory is kept for the longest chunk so far. Of a chunk whose
/// length only a GPU knows it waits for that one number, from which the next chunk counts on.
///
/// # Examples
/// ```
/// use upsweep::{Device, PositionStream};
/// let mut stream = PositionStream::<u32>::new(&Device::cpu());
/// let (mut output, mut count, mut found) = ([0; 3], [0], Vec::new());
/// for chunk in [[0.0f32, 2.5, 0.0], [1.0, 0.0, -1.0]] {
///     stream.next(&chunk, &mut output, &mut count)?;
///     found.extend_from_slice(&output[..count[0] as usize]);
/// }
/// assert_eq!(found, [1, 3, 5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// [`positions`](crate::positions()), with a number that kernels count on from.
#[derive(Debug)]
pub struct PositionStream<I> {
    selector: Selector,
    /// The number of the next item.
    first: u64,
    numbers: PhantomData<fn() -> I>,
}

/// The number of the item behind so many, which has to be one of 64 bits; of `dtype` are the numbers that are written.
pub(crate) fn number_behind(first: u64, items: usize, dtype: Dtype) -> Result<u64> {
    first.checked_add(items as u64).ok_or(Error::PositionRange { items, dtype })
}

impl<I: GatherIndex> PositionStream<I> {
    /// A stream that has seen nothing.
    pub fn new(device: &Device) -> Self {
        Self::starting_at(device, 0)
    }

    /// A stream whose first item has this number.
    pub fn starting_at(device: &Device, first: u64) -> Self {
        Self { selector: Selector::new(device), first, numbers: PhantomData }
    }

    /// Writes the numbers of the items of the next chunk that are not 0 to `output`, which has room for as many as there are items, and how many
    /// they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`positions_into`](crate::positions_into), of the items of all chunks so far; [`Error::LengthAboveBound`] for a chunk whose
    /// length is above its bound. A chunk that is refused is not counted.
    pub fn next<'a, 'b, 'c, F: Number>(
        &mut self,
        chunk: impl Into<View<'a, F>>,
        output: impl Into<ViewMut<'b, I>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        let chunk = chunk.into().known(&self.selector.device)?;
        let behind = number_behind(self.first, chunk.len(), I::DTYPE)?;
        let (device, chunks) = self.selector.parts();
        find_positions(device, chunks, (chunk, self.first), output.into(), count.into())?;
        self.first = behind;
        Ok(())
    }
}

/// The first item of each run of neighbours that are the same, of an array that comes in chunks, of any lengths: runs go on from chunk to chunk.
///
/// # Cost
/// As of [`unique_into`](crate::unique_into) for each chunk. On a GPU it also reads the first and the last item of a chunk that is there, and waits for
/// them, and first for its length if only the GPU knows it.
///
/// # Examples
/// ```
/// use upsweep::{Device, UniqueStream};
/// let mut stream = UniqueStream::<u32>::new(&Device::cpu());
/// let (mut output, mut count, mut kept) = ([0; 3], [0], Vec::new());
/// for chunk in [[3, 3, 7], [7, 7, 3]] {
///     stream.next(&chunk, &mut output, &mut count)?;
///     kept.extend_from_slice(&output[..count[0] as usize]);
/// }
/// assert_eq!(kept, [3, 7, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// [`unique`](crate::unique()), which is told whether the first item begins a run.
#[derive(Debug)]
pub struct UniqueStream<T> {
    selector: Selector,
    last: Option<T>,
}

impl<T: Element> UniqueStream<T> {
    /// A stream that has seen nothing.
    pub fn new(device: &Device) -> Self {
        Self { selector: Selector::new(device), last: None }
    }

    /// Writes the first item of each run that begins in the next chunk to `output`, which has room for as many as there are items, and how many
    /// they are to the one item of `count`.
    ///
    /// # Errors
    /// Those of [`unique_into`](crate::unique_into); [`Error::LengthAboveBound`] for a chunk whose length is above its bound. After an error
    /// the stream is as it was.
    pub fn next<'a, 'b, 'c>(
        &mut self,
        chunk: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, T>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.selector.unique(&mut self.last, chunk.into(), output.into(), count.into())
    }
}

/// The runs of neighbours that are the same, of an array that comes in chunks, of any lengths: the first item of each, and how many items it has,
/// as `u32` or `u64`. A run is written when it has ended; the last one is what [`finish`](RunLengthStream::finish) gives.
///
/// # Cost
/// As of [`run_length_encode_into`](crate::run_length_encode_into) for each chunk. On a GPU runs come to the host, which has the one that is open;
/// they go back if outputs are there. So it waits for each chunk.
///
/// # Examples
/// ```
/// use upsweep::{Device, RunLengthStream};
/// let mut stream = RunLengthStream::<u8, u32>::new(&Device::cpu());
/// let (mut values, mut counts, mut number, mut runs) = ([0; 4], [0; 4], [0], Vec::new());
/// for chunk in [[5, 5, 5, 0], [0, 0, 0, 0], [7, 8, 9, 9]] {
///     stream.next(&chunk, &mut values, &mut counts, &mut number)?;
///     runs.extend(values.into_iter().zip(counts).take(number[0] as usize));
/// }
/// assert_eq!(runs, [(5, 3), (0, 5), (7, 1), (8, 1)]);
/// assert_eq!(stream.finish(), Some((9, 2)));
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// [`run_length_encode`](crate::run_length_encode).
#[derive(Debug)]
pub struct RunLengthStream<T, I> {
    runs: Runs<T>,
    counts: PhantomData<fn() -> I>,
}

impl<T: Element, I: GatherIndex> RunLengthStream<T, I> {
    /// A stream that has seen nothing.
    pub fn new(device: &Device) -> Self {
        Self { runs: Runs { device: device.clone(), open: None }, counts: PhantomData }
    }

    /// Writes the first item of each run that has ended with the next chunk to `values` and how many items it has to `counts`, which have room
    /// for as many as there are items; and how many runs they are to the one item of `number`. What lies behind them holds anything.
    ///
    /// # Errors
    /// Those of [`run_length_encode_into`](crate::run_length_encode_into), where [`Error::PositionRange`] may come when outputs are written, of a
    /// run that has become too long; [`Error::LengthAboveBound`] for a chunk whose length is above its bound. After an error the stream is as it
    /// was.
    pub fn next<'a, 'b, 'c, 'd>(
        &mut self,
        chunk: impl Into<View<'a, T>>,
        values: impl Into<ViewMut<'b, T>>,
        counts: impl Into<ViewMut<'c, I>>,
        number: impl Into<ViewMut<'d, u64>>,
    ) -> Result<()> {
        self.runs.next(chunk.into(), values.into(), counts.into(), number.into())
    }

    /// The run that is open: its first item, and how many items it has so far. None if nothing was taken.
    pub fn finish(&self) -> Option<(T, I)> {
        // A length that is too large was refused.
        let (value, length) = self.runs.open?;
        Some((value, I::of_count(length)?))
    }
}
