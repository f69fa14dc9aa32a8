//! Segments: neighbouring items that are combined apart from all others.

use upsweep_core::{SegmentedBy, segments};
use upsweep_gpu::{ErasedReduce, ErasedScan};

use crate::backend::ViewBackend;
use crate::erased::{Erased, ErasedItemsMut, ErasedViewMut};
use crate::fused::{Fused, Source, Stored};
use crate::{
    Array, Device, Dtype, Element, Error, Number, Operator, Reduce, Result, Scan, View, ViewMut,
    Widen,
};

/// A number that says where a segment begins. Signed ones are those of scipy, CuPy and Arrow, and are never negative.
pub trait Offset: Number + sealed::Sealed {}

impl Offset for u32 {}
impl Offset for u64 {}
impl Offset for i32 {}
impl Offset for i64 {}

/// A number that says where an item is among others.
pub trait GatherIndex: Offset + upsweep_cpu::ItemIndex {
    /// The number; the largest one if there are none so large.
    #[doc(hidden)]
    fn number(self) -> usize;

    /// A number that says so many; `None` if there is none.
    #[doc(hidden)]
    fn of_count(count: u64) -> Option<Self>;
}

impl GatherIndex for u32 {
    #[inline(always)]
    fn number(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }

    #[inline(always)]
    fn of_count(count: u64) -> Option<Self> {
        Self::try_from(count).ok()
    }
}

impl GatherIndex for u64 {
    #[inline(always)]
    fn number(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }

    #[inline(always)]
    fn of_count(count: u64) -> Option<Self> {
        Some(count)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// How an array is cut into segments: by offsets, flags or keys.
///
/// ```
/// use upsweep::{Device, Scan, Segments, Sum, segmented_scan};
///
/// let (device, items) = (Device::cpu(), [1u32, 2, 3, 4, 5]);
/// let sums = |segments| segmented_scan(&device, &items, &segments, &Scan::inclusive(Sum))?.to_vec();
/// assert_eq!(sums(Segments::by_offsets(&[0u32, 2, 2, 5]))?, [1, 3, 3, 7, 12]);
/// assert_eq!(sums(Segments::by_flags(&[1u8, 0, 1, 0, 0]))?, [1, 3, 3, 7, 12]);
/// assert_eq!(sums(Segments::by_keys(&[7i16, 7, 9, 9, 9]))?, [1, 3, 3, 7, 12]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments<'a> {
    by: SegmentedBy,
    count: usize,
    /// How many numbers there are with those behind their length, if that is known.
    bound: usize,
    source: Source<'a>,
    /// Whether they are said by signed offsets, which the source has as unsigned ones.
    signed: bool,
}

impl<'a> Segments<'a> {
    /// Segment `s` has the items from number `offsets[s]` on, in front of number `offsets[s + 1]`: there is one offset more than
    /// there are segments, and none is less than the one before it. Segments may be empty.
    ///
    /// Items in front of the first offset and behind the last are segments of their own, which only a scan sees.
    ///
    /// That offsets are not negative, do not decrease, and do not lead behind the items, is checked where they are in the host's memory.
    /// On a GPU wrong ones make wrong results, and nothing else.
    ///
    /// Offsets may have a [length](View::with_length) that lies in memory, and items another. Outputs of reductions have room for as many
    /// segments as all offsets say, and what is behind those of the length stays as it is. A length of 0 is no segment, as one of 1.
    ///
    /// ```
    /// use upsweep::{Device, Reduce, Segments, Sum, View, segmented_reduce_into};
    /// let (starts, mut sums) = (View::from(&[0u32, 2, 5, 9]).with_length(&[3])?, [7u32; 3]);
    /// let segments = Segments::by_offsets(starts);
    /// segmented_reduce_into(&Device::cpu(), &[1u32; 5], &segments, &mut sums, &Reduce::new(Sum))?;
    /// assert_eq!(sums, [2, 3, 7]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn by_offsets<I: Offset>(offsets: impl Into<View<'a, I>>) -> Self {
        let offsets = offsets.into();
        let bound = offsets.bound();
        if offsets.is_empty() && bound > 0 {
            // One offset says as much.
            return Self { bound, ..Self::new(SegmentedBy::Offsets, View::from(&[0u32])) };
        }
        let all = Self::new(SegmentedBy::Offsets, offsets);
        // What is not negative has the same bits as a number without a sign.
        let unsigned = match I::DTYPE {
            Dtype::I32 => Dtype::U32,
            Dtype::I64 => Dtype::U64,
            unsigned => unsigned,
        };
        let source = all.source.bits_as(unsigned);
        Self { signed: I::DTYPE.is_signed_integer(), source, ..all }
    }

    /// A segment begins with every item whose flag is not 0, and with the first. There are as many flags as items. A flag is 0 if all
    /// of its bytes are: so −0 begins a segment.
    pub fn by_flags<F: Number>(flags: impl Into<View<'a, F>>) -> Self {
        Self::new(SegmentedBy::Flags, flags.into())
    }

    /// A segment is a run of neighbours with the same key. There are as many keys as items.
    ///
    /// Keys are the same if their bytes are: so −0 and +0 are not, and a NaN is the same as itself.
    pub fn by_keys<K: Element>(keys: impl Into<View<'a, K>>) -> Self {
        Self::new(SegmentedBy::Keys, keys.into())
    }

    fn new<T: Element>(by: SegmentedBy, view: View<'a, T>) -> Self {
        let (count, bound) = (view.len(), view.bound());
        Self { by, count, bound, source: Source::of(view), signed: false }
    }

    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    /// How they are said, of how many numbers, and where these are.
    pub(crate) fn parts(&self) -> (SegmentedBy, usize, &Source<'a>) {
        (self.by, self.count, &self.source)
    }

    /// The same on the host, checked against so many items.
    pub(crate) fn on_host(&self, items: usize) -> Result<upsweep_core::Segments<'_>> {
        self.check(items)?;
        match &self.source.stored {
            Stored::Host(bytes) => {
                Ok(upsweep_core::Segments { by: self.by, kind: self.source.kind, bytes })
            }
            Stored::Device(range) => Err(crate::backend::wrong_device(range.device(), "cpu")),
        }
    }

    /// What can be seen of the array without waiting for it.
    pub(crate) fn check(&self, items: usize) -> Result<()> {
        segments::check_array(self.by, self.source.kind, self.count, items)?;
        match &self.source.stored {
            Stored::Host(bytes) => {
                let of = upsweep_core::Segments { by: self.by, kind: self.source.kind, bytes };
                if self.signed { of.check_signed(items) } else { of.check(items) }
            }
            Stored::Device(_) => Ok(()),
        }
    }

    /// Whether values of a reduction go one behind another, wherever segments lie.
    pub(crate) fn packs(&self) -> bool {
        self.by != SegmentedBy::Offsets
    }

    /// That the host knows how many there are, where values are converted behind the kernel, all of them.
    #[cfg(feature = "any")]
    pub(crate) fn check_known(&self) -> Result<()> {
        match &self.source.stored {
            Stored::Device(range) if range.is_bounded() => Err(Error::Buffer {
                reason: "values of a type that they are converted to are of segments whose number the host knows"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Of an output for the segments that all offsets say, that for those of their length.
    pub(crate) fn fitted<'o, U>(&self, output: ViewMut<'o, U>) -> ViewMut<'o, U> {
        let [known, most] = [self.count, self.bound].map(|offsets| offsets.saturating_sub(1));
        output.fitted(known, most)
    }

    /// What can be seen without waiting, where there is to be an output for each segment.
    pub(crate) fn check_counted(&self, items: usize, outputs: usize) -> Result<()> {
        self.check(items)?;
        if self.by != SegmentedBy::Offsets {
            let reason = "how many values there are is known by offsets only".to_owned();
            return Err(Error::Segments { reason });
        }
        check_length(self.most(items), outputs)
    }

    /// How many values a reduction may have.
    pub(crate) fn most(&self, items: usize) -> usize {
        if self.by == SegmentedBy::Offsets { self.count.saturating_sub(1) } else { items }
    }
}

/// One value for each segment that offsets say; of a segment without items, the identity.
///
/// # Arguments
/// - `items`: any number of items.
/// - `offsets`: where segments begin; see [`Segments::by_offsets`].
///
/// # Operator
/// Associative; any, commutative or not.
///
/// # Result
/// An array of one value less than there are offsets, on the device. Floats have the same bits on every device: those of an
/// inclusive scan by the same offsets at each segment's last item.
///
/// # Cost
/// Reads items from memory once, and offsets once or twice, whatever the sizes of segments: many small ones, one that has almost all
/// items, or empty ones; with wgpu, items twice on devices whose workgroups stop while others wait. On a GPU it returns when the
/// work has been begun.
///
/// # Errors
/// [`Error::Segments`], [`Error::OutOfMemory`], and those of the device. On a GPU every array must fit in its memory, and with wgpu in
/// one binding and a buffer that no other output lies in; else [`Error::Buffer`] says so.
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, segmented_reduce};
/// let rows = segmented_reduce(&Device::cpu(), &[1.5f32, 2.0, 4.0], &[0u32, 2, 2, 3], Sum)?;
/// assert_eq!(rows.into_vec()?, [3.5, 0.0, 4.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// An operator on values that know where segments begin, after G. Blelloch, *Prefix Sums and Their Applications* (1990).
pub fn segmented_reduce<'a, 'b, T, I, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    offsets: impl Into<View<'b, I>>,
    operator: O,
) -> Result<Array<T>>
where
    T: Element + Widen<<T as Element>::Acc>,
    I: Offset,
    O: Operator<T::Acc>,
{
    let segments = Segments::by_offsets(offsets);
    segmented_reduce_with(device, items, &segments, &Reduce::new(operator))
}

/// One value for each segment, however they are said: a reduction that is stated in full, in a wider type where wanted.
///
/// # Cost
/// As of [`segmented_reduce`]. By flags or keys it waits on a GPU, to learn how many segments there are, and the array that is
/// returned lies in memory for as many values as there are items.
///
/// # Errors
/// Those of [`segmented_reduce`].
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, Max, Reduce, Segments, segmented_reduce_with};
/// let segments = Segments::by_flags(&[1u8, 0, 0, 1]);
/// let most: Array<i32> =
///     segmented_reduce_with(&Device::cpu(), &[3i32, 8, 5, 2], &segments, &Reduce::new(Max))?;
/// assert_eq!(most.into_vec()?, [8, 2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_reduce_with<'a, T, U, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    problem: &Reduce<U::Acc, O>,
) -> Result<Array<U>>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let items = items.into();
    let device = &*device.at_home(|| items.home());
    let most = segments.most(items.len());
    let mut output = Array::filled(device, most, U::from_acc(problem.operator.identity()))?;
    if segments.by == SegmentedBy::Offsets {
        segmented_reduce_into(device, items, segments, &mut output, problem)?;
        return Ok(output);
    }
    let mut count = [0];
    let into = (ViewMut::from(&mut output), None, ViewMut::from(&mut count));
    pack(device, items, segments, into, problem)?;
    Ok(output.truncated(usize::try_from(count[0]).unwrap_or(most)))
}

/// As [`segmented_reduce_with`] by offsets, into memory of the caller's: one item for each segment.
///
/// # Cost
/// As of [`segmented_reduce`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`segmented_reduce`], and [`Error::LengthMismatch`], before anything is written; [`Error::Segments`] for segments
/// that are not said by offsets, of which nobody knows how many there are.
pub fn segmented_reduce_into<'a, 'b, T, U, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, U>>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let (items, mut output) = (items.into(), segments.fitted(output.into()));
    segments.check_counted(items.len(), output.len())?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (input, segments) = (cpu.input(items)?, segments.on_host(items.len())?);
            let found = cpu.segmented_reduce(input, segments, None, cpu.output(output)?, problem);
            found.map(drop)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
            gpu.segmented_reduce(items.erased(), segments, output.erased().items, None, &problem)
        }
    }
}

/// Every prefix within segments, a scan that is stated in full: a start value is in front of each output, and outputs of an
/// exclusive scan begin with it, or with the identity.
///
/// # Arguments
/// - `items`: any number of items.
/// - `segments`: how they are cut; see [`Segments`].
///
/// # Result
/// An array as long as the input. Floats have the same bits on every device
/// ([`summation`](crate::summation)).
///
/// # Cost
/// Reads items, and what says where segments begin, from memory once, and writes the output once; twice on a GPU whose workgroups
/// stop while others wait. On a GPU it returns when the work has been begun. Not in place.
///
/// # Errors
/// Those of [`segmented_reduce`].
pub fn segmented_scan<'a, T, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    problem: &Scan<T::Acc, O>,
) -> Result<Array<T>>
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let items = items.into();
    let device = &*device.at_home(|| items.home());
    let first = T::from_acc(problem.operator.identity());
    let mut output = Array::filled(device, items.len(), first)?;
    segmented_scan_into(device, items, segments, &mut output, problem)?;
    Ok(output)
}

/// As [`segmented_scan`], into memory of the caller's; the output's type may be wider than the input's, and decides in which type
/// items are combined.
///
/// # Errors
/// Those of [`segmented_scan`], and [`Error::LengthMismatch`], before anything is written.
///
/// # Examples
/// ```
/// use upsweep::{Device, Scan, Segments, Sum, segmented_scan_into};
/// let (mut left, segments) = ([0u32; 4], Segments::by_keys(&[1u8, 1, 2, 2]));
/// let problem = Scan::exclusive(Sum).reverse();
/// segmented_scan_into(&Device::cpu(), &[200u8, 100, 50, 25], &segments, &mut left, &problem)?;
/// assert_eq!(left, [100, 0, 25, 0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_scan_into<'a, 'b, T, U, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, U>>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let items = items.into();
    let mut output = output.into().fitted(items.len(), items.bound());
    segments.check(items.len())?;
    check_length(items.len(), output.len())?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (input, segments) = (cpu.input(items)?, segments.on_host(items.len())?);
            cpu.segmented_scan(input, segments, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, gpu.language());
            gpu.segmented_scan(items.erased(), segments, output.erased().items, &problem)
        }
    }
}

/// Every prefix within runs of the same key, the item itself included; see [`Segments::by_keys`].
///
/// # Errors
/// Those of [`segmented_scan`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, inclusive_scan_by_key};
/// let sums = inclusive_scan_by_key(&Device::cpu(), &[7u8, 7, 9, 7], &[1, 2, 3, 4], Sum)?;
/// assert_eq!(sums.into_vec()?, [1, 3, 3, 4]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn inclusive_scan_by_key<'a, 'b, K, T, O>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    operator: O,
) -> Result<Array<T>>
where
    K: Element,
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    segmented_scan(device, items, &Segments::by_keys(keys), &Scan::inclusive(operator))
}

/// Every prefix within runs of the same key without the item itself; see [`Segments::by_keys`].
///
/// # Errors
/// Those of [`segmented_scan`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, exclusive_scan_by_key};
/// let places = exclusive_scan_by_key(&Device::cpu(), &['a' as u8, 97, 98], &[1u32, 1, 1], Sum)?;
/// assert_eq!(places.into_vec()?, [0, 1, 0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn exclusive_scan_by_key<'a, 'b, K, T, O>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    operator: O,
) -> Result<Array<T>>
where
    K: Element,
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    segmented_scan(device, items, &Segments::by_keys(keys), &Scan::exclusive(operator))
}

/// The key of each run of the same key, and the value of its items.
///
/// # Arguments
/// - `keys`, `items`: as many.
///
/// # Result
/// Two arrays of as many items as there are runs, in their order. A key whose items are in several runs is there several times.
///
/// # Cost
/// Reads both arrays once. On a GPU it waits, to learn how many runs there are, and the arrays lie in memory for as many items as
/// there are keys; [`reduce_by_key_into`] does neither.
///
/// # Errors
/// Those of [`segmented_reduce`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Sum, reduce_by_key};
/// let (keys, sums) = reduce_by_key(&Device::cpu(), &[7u8, 7, 9], &[1, 2, 3], Sum)?;
/// assert_eq!((keys.into_vec()?, sums.into_vec()?), (vec![7, 9], vec![3, 3]));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_by_key<'a, 'b, K, T, O>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    operator: O,
) -> Result<(Array<K>, Array<T>)>
where
    K: Element,
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let (keys, items) = (keys.into(), items.into());
    let device = &*device.at_home(|| items.home());
    let mut unique = Array::room_for(device, keys)?;
    let first = T::from_acc(operator.identity());
    let mut output = Array::filled(device, items.len(), first)?;
    let mut count = [0];
    let problem = Reduce::new(operator);
    reduce_by_key_into(device, keys, items, &mut unique, &mut output, &mut count, &problem)?;
    let found = usize::try_from(count[0]).unwrap_or(items.len());
    Ok((unique.truncated(found), output.truncated(found)))
}

/// As [`reduce_by_key`], into memory of the caller's, which has room for as many runs as there are items. How many there are is
/// written to the one item of `count`; what lies behind them holds anything.
///
/// # Cost
/// As of [`reduce_by_key`]; it waits for nothing that is written on a GPU. On CUDA, 2^23 items and more take two steps: runs are found, and then
/// reduced. Between them is scratch memory of four bytes for each item, or eight if there are 2^32 or more.
///
/// # Errors
/// Those of [`segmented_reduce`], and before anything is written [`Error::LengthMismatch`] and [`Error::ResultLength`].
pub fn reduce_by_key_into<'a, 'b, 'c, 'd, 'e, K, T, U, O>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    unique: impl Into<ViewMut<'c, K>>,
    output: impl Into<ViewMut<'d, U>>,
    count: impl Into<ViewMut<'e, u64>>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    K: Element,
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let keys = keys.into();
    let mut unique = unique.into().fitted(keys.len(), keys.bound());
    let segments = Segments::by_keys(keys);
    let into = (output.into(), Some(unique.erased()), count.into());
    pack(device, items.into(), &segments, into, problem)
}

/// Reduces segments to values that lie one behind another.
#[inline(never)]
fn pack<T, U, O>(
    device: &Device,
    items: View<'_, T>,
    segments: &Segments<'_>,
    (output, unique, mut count): (ViewMut<'_, U>, Option<ErasedViewMut<'_>>, ViewMut<'_, u64>),
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let mut output = output.fitted(items.len(), items.bound());
    check_packed(items.len(), segments, &output, unique.as_ref(), &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (input, segments) = (cpu.input(items)?, segments.on_host(items.len())?);
            let (output, count) = (cpu.output(output)?, cpu.output(count)?);
            let mut reduce = |unique: Option<&mut [u8]>| {
                count[0] = cpu.segmented_reduce(input, segments, unique, output, problem)? as u64;
                Ok(())
            };
            match unique.map(|unique| unique.items) {
                None => reduce(None)?,
                Some(ErasedItemsMut::Host(keys)) => {
                    keys.fill(0..keys.len(), &mut |keys| reduce(Some(keys)))?;
                }
                Some(ErasedItemsMut::Device(range)) => {
                    return Err(crate::backend::wrong_device(range.device(), "cpu"));
                }
            }
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let packed = Some((unique, count.erased().items));
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
            gpu.segmented_reduce(items.erased(), segments, output.erased().items, packed, &problem)
        }
    }
}

/// Checks what values of segments need that go one behind another.
pub(crate) fn check_packed<U>(
    items: usize,
    segments: &Segments<'_>,
    output: &ViewMut<'_, U>,
    unique: Option<&ErasedViewMut<'_>>,
    count: &ViewMut<'_, u64>,
) -> Result<()> {
    segments.check(items)?;
    check_length(items, output.len())?;
    unique.map_or(Ok(()), |unique| check_length(items, unique.len()))?;
    if count.len() == 1 { Ok(()) } else { Err(Error::ResultLength { items: count.len() }) }
}

/// One value for each segment of items that are made as they are read.
pub(crate) fn reduce_made<'a, E, U, O>(
    device: &Device,
    items: &E,
    segments: &Segments<'_>,
    problem: &Reduce<U::Acc, O>,
) -> Result<Array<U>>
where
    E: Fused<'a, Item: Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    items.check()?;
    segments.check(items.len())?;
    let device = &*device.at_home(|| items.made().home());
    let most = segments.most(items.len());
    let mut output = Array::filled(device, most, U::from_acc(problem.operator.identity()))?;
    if segments.by == SegmentedBy::Offsets {
        take_made(device, items, segments, ViewMut::from(&mut output), None, problem)?;
        return Ok(output);
    }
    let mut count = [0];
    let into = ViewMut::from(&mut output);
    take_made(device, items, segments, into, Some(&mut count), problem)?;
    Ok(output.truncated(usize::try_from(count[0]).unwrap_or(most)))
}

/// The same into memory of the caller's, which has an item for each segment that offsets say.
pub(crate) fn reduce_made_into<'a, E, U, O>(
    device: &Device,
    items: &E,
    segments: &Segments<'_>,
    output: ViewMut<'_, U>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    items.check()?;
    let output = segments.fitted(output);
    segments.check_counted(items.len(), output.len())?;
    take_made(device, items, segments, output, None, problem)
}

/// Reduces segments of items that are made, all of which was checked; `count` gets how many there are.
#[inline(never)]
fn take_made<'a, E, U, O>(
    device: &Device,
    items: &E,
    segments: &Segments<'_>,
    mut output: ViewMut<'_, U>,
    count: Option<&mut [u64; 1]>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| items.made().home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (input, segments) = (items.on_host()?, segments.on_host(items.len())?);
            let output = cpu.output(output)?;
            let found = cpu.segmented_reduce_made(input, segments, output, problem)?;
            if let Some(count) = count {
                count[0] = found as u64;
            }
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedReduce::in_segments::<U::Acc, U, O>(problem, gpu.language());
            let mut count = count.map(ViewMut::from);
            let packed = count.as_mut().map(|count| (None, count.erased().items));
            let (made, output) = (items.made(), output.erased().items);
            gpu.segmented_reduce_made(&made, segments, output, packed, &problem)
        }
    }
}

fn check_length(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}
