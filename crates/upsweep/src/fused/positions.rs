//! Positions of extremes within segments: of each item its rank among all that there can be, and its number. The first of those of the
//! least rank is what is wanted; nothing but whole numbers is compared, on every device alike.

use core::ops::Range;

use upsweep_core::{Extreme, Formula, Make, Recipe};
use upsweep_cpu::Cpu;
use upsweep_gpu::{ErasedReduce, ErasedType};

use super::{Fused, Made, Parts, Place, Source, counting, places};
use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::{
    Array, Device, Dtype, Element, Language, Number, Operator, Reduce, Result, Segments, View,
    ViewMut, array,
};

/// The first position of the smallest item in each segment.
///
/// # Arguments
/// - `items`: any number of items.
/// - `segments`: how they are cut; see [`Segments`].
///
/// # Result
/// An array of one position for each segment, on the device, counted from the array's first item; `u64::MAX` for a segment without
/// items. −0 and +0 are equal; a NaN counts as smaller than every number, so that a segment's first NaN is found, as by
/// [`argmin`](crate::argmin).
///
/// # Cost
/// As of [`Fused::segmented_reduce`]. A CPU needs 8 bytes of memory for each segment beside the result, by flags or keys for each item;
/// 16 bytes if items have 64 bits, or there are 2^32 or more.
///
/// # Errors
/// Those of [`segmented_reduce`](crate::segmented_reduce). On a GPU without 64-bit integers items of 64 bits are
/// [`Error::ElementUnsupported`](crate::Error::ElementUnsupported).
///
/// # Examples
/// ```
/// use upsweep::{Device, Segments, segmented_argmin};
/// let segments = Segments::by_offsets(&[0u32, 3, 3, 5]);
/// let places = segmented_argmin(&Device::cpu(), &[4.0f32, -2.0, -2.0, 0.5, f32::NAN], &segments)?;
/// assert_eq!(places.into_vec()?, [1, u64::MAX, 4]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_argmin<'a, T: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
) -> Result<Array<u64>> {
    positions(device, items.into(), segments, Extreme::Smallest)
}

/// The first position of the largest item in each segment.
///
/// # Result
/// As of [`segmented_argmin`]; a NaN counts as larger than every number.
///
/// # Cost
/// As of [`segmented_argmin`].
///
/// # Errors
/// Those of [`segmented_argmin`].
///
/// # Examples
/// ```
/// use upsweep::{Device, Segments, segmented_argmax};
/// let segments = Segments::by_keys(&[7u8, 7, 7, 9]);
/// let places = segmented_argmax(&Device::cpu(), &[4i16, 8, 8, -1], &segments)?;
/// assert_eq!(places.into_vec()?, [1, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_argmax<'a, T: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
) -> Result<Array<u64>> {
    positions(device, items.into(), segments, Extreme::Largest)
}

/// The rank of an item of up to 32 bits, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Ranked {
    rank: u32,
    number: u32,
}

#[upsweep::operator(identity = Ranked { rank: u32::MAX, number: u32::MAX }, commutative)]
fn first_ranked(left: Ranked, right: Ranked) -> Ranked {
    let is_before = (right.rank == left.rank) & (right.number < left.number);
    let takes_right = (right.rank < left.rank) | is_before;
    let rank = if takes_right { right.rank } else { left.rank };
    Ranked { rank, number: if takes_right { right.number } else { left.number } }
}

/// The rank of an item of any size, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct LongRanked {
    rank: u64,
    number: u64,
}

#[upsweep::operator(identity = LongRanked { rank: u64::MAX, number: u64::MAX }, commutative)]
fn first_long_ranked(left: LongRanked, right: LongRanked) -> LongRanked {
    let is_before = (right.rank == left.rank) & (right.number < left.number);
    let takes_right = (right.rank < left.rank) | is_before;
    let rank = if takes_right { right.rank } else { left.rank };
    LongRanked { rank, number: if takes_right { right.number } else { left.number } }
}

/// How bits are ranked, NaNs before all others. Nothing branches: kernels have it once for each item of an access, and some drivers on
/// CPUs take minutes for so many branches.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Rank {
    /// The bits of an item without its sign.
    rest: u32,
    /// The bit of its sign; 0 if it has none.
    sign: u32,
    /// The same bit of a float, 0 of an integer.
    minus: u32,
    /// The last bits, without the sign, that are a number.
    last: u32,
    /// The bits that are turned if the largest item is wanted.
    turned: u32,
}

#[upsweep::function]
impl Rank {
    fn apply(self, bits: u32) -> u32 {
        let rest = bits & self.rest;
        // Zeros are one.
        let zero = if rest == 0 { self.minus } else { 0 };
        let bits = bits & !zero;
        // The larger a float below zero is without its sign, the smaller it is.
        let below = if bits & self.minus == 0 { 0 } else { self.rest };
        let rank = bits ^ self.sign ^ below ^ self.turned;
        if rest > self.last { 0 } else { rank }
    }
}

/// The same of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct LongRank {
    rest: u64,
    sign: u64,
    minus: u64,
    last: u64,
    turned: u64,
}

#[upsweep::function]
impl LongRank {
    fn apply(self, bits: u64) -> u64 {
        let rest = bits & self.rest;
        // Zeros are one.
        let zero = if rest == 0 { self.minus } else { 0 };
        let bits = bits & !zero;
        // The larger a float below zero is without its sign, the smaller it is.
        let below = if bits & self.minus == 0 { 0 } else { self.rest };
        let rank = bits ^ self.sign ^ below ^ self.turned;
        if rest > self.last { 0 } else { rank }
    }
}

#[upsweep::function]
fn ranked(rank: u32, number: u32) -> Ranked {
    Ranked { rank, number }
}

#[upsweep::function]
fn long_ranked(rank: u64, number: u64) -> LongRanked {
    LongRanked { rank, number }
}

#[upsweep::function]
fn ranked_among_many(rank: u32, number: u64) -> LongRanked {
    LongRanked { rank: rank as u64, number }
}

/// A position as words of memory, which need no integers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Position {
    low: u32,
    high: u32,
}

#[upsweep::function]
fn position_of(found: Ranked) -> Position {
    let high = if found.number == u32::MAX { u32::MAX } else { 0 };
    Position { low: found.number, high }
}

#[upsweep::function]
fn long_position_of(found: LongRanked) -> u64 {
    found.number
}

impl LongRank {
    /// How items of a type are ranked.
    fn of(dtype: Dtype, extreme: Extreme) -> Self {
        let all = u64::MAX >> (64 - 8 * dtype.size());
        let sign = all ^ (all >> 1);
        let (sign, minus, last) = match dtype {
            Dtype::F16 => (sign, sign, 0x7c00),
            Dtype::Bf16 => (sign, sign, 0x7f80),
            Dtype::F32 => (sign, sign, f32::INFINITY.to_bits().into()),
            Dtype::F64 => (sign, sign, f64::INFINITY.to_bits()),
            integer if integer.is_signed_integer() => (sign, 0, all),
            _ => (0, 0, all),
        };
        let turned = if extreme == Extreme::Largest { all } else { 0 };
        Self { rest: all ^ sign, sign, minus, last, turned }
    }

    /// The same of up to 32 bits.
    fn short(self) -> Rank {
        let Self { rest, sign, minus, last, turned } = self;
        let [rest, sign, minus, last, turned] =
            [rest, sign, minus, last, turned].map(|bits| bits as u32);
        Rank { rest, sign, minus, last, turned }
    }
}

/// Unsigned integers of the same size.
fn bits_of(dtype: Dtype) -> Dtype {
    match dtype.size() {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    }
}

/// Whether numbers of so many items have 32 bits, of which the largest is none of them.
fn is_short(items: usize) -> bool {
    u32::try_from(items).is_ok()
}

/// How an item becomes one whose rank and number are compared.
trait RankItem: Copy + Send + Sync {
    type Key: Element;

    /// Of the bits of an item of this number.
    fn key(self, bits: u64, number: usize) -> Self::Key;
}

impl RankItem for Rank {
    type Key = Ranked;

    #[inline(always)]
    fn key(self, bits: u64, number: usize) -> Ranked {
        ranked(self.apply(bits as u32), number as u32)
    }
}

impl RankItem for LongRank {
    type Key = LongRanked;

    #[inline(always)]
    fn key(self, bits: u64, number: usize) -> LongRanked {
        long_ranked(self.apply(bits), number as u64)
    }
}

/// Items with their numbers, on the host.
#[derive(Clone, Copy)]
struct RankedItems<'a, T, R> {
    items: &'a [T],
    rank: R,
}

impl<T: Number, R: RankItem> Make for RankedItems<'_, T, R> {
    type Item = R::Key;

    #[inline(always)]
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = R::Key> + ExactSizeIterator {
        let Self { items, rank } = *self;
        let numbered = items[range.clone()].iter().zip(range);
        numbered.map(
            #[inline(always)]
            move |(item, number)| rank.key(bits(*item), number),
        )
    }

    #[inline(always)]
    fn item(&self, number: usize) -> R::Key {
        self.rank.key(bits(self.items[number]), number)
    }
}

/// The bits of a number.
#[inline(always)]
fn bits<T: Number>(item: T) -> u64 {
    match size_of::<T>() {
        1 => bytemuck::cast::<T, u8>(item).into(),
        2 => bytemuck::cast::<T, u16>(item).into(),
        4 => bytemuck::cast::<T, u32>(item).into(),
        _ => bytemuck::cast(item),
    }
}

/// Values of segments on the host, of which there are so many at most.
fn reduced<M, O>(
    cpu: &Cpu,
    items: M,
    segments: upsweep_core::Segments<'_>,
    most: usize,
    operator: O,
) -> Result<Vec<M::Item>>
where
    M: Make<Item: Element<Acc = M::Item>>,
    O: Operator<M::Item>,
{
    let mut values = array::reserve(most)?;
    values.resize(most, operator.identity());
    let problem = Reduce::new(operator);
    let found = cpu.segmented_reduce_made(items, segments, &mut values, &problem)?;
    values.truncate(found);
    Ok(values)
}

/// What kernels make of items, and with what they combine it.
fn on_gpu<'a, T: Number>(
    items: View<'a, T>,
    rank: LongRank,
    language: Language,
) -> (Made<'a>, ErasedReduce) {
    let (count, bits) = (items.len(), bits_of(T::DTYPE));
    let (mut parts, source) = (Parts::default(), Source::of(items).bits_as(bits));
    let item = places::read(count, source, &Place::OWN, &mut parts);
    let number = if bits.size() <= 4 && is_short(count) {
        counting(0..count as u32).formulas(&Place::OWN, &mut parts)
    } else {
        counting(0..count as u64).formulas(&Place::OWN, &mut parts)
    };
    let rank = match bits.size() {
        ..=4 => parts.call(&rank.short(), |_| vec![item]),
        _ => parts.call(&rank, |_| vec![item]),
    };
    let both = [vec![rank], number].concat();
    let prefix = vec![Formula::Prefix];
    let (kind, formula, written, problem) = if bits.size() <= 4 && is_short(count) {
        let mut problem =
            ErasedReduce::of::<Ranked, Ranked, _>(&Reduce::new(FirstRanked), language);
        problem.signature.output = ErasedType::of::<Position>();
        let formula = parts.call(&ranked {}, |_| both);
        (Ranked::KIND, formula, parts.call(&position_of {}, |_| prefix), problem)
    } else {
        let reduce = Reduce::new(FirstLongRanked);
        let mut problem = ErasedReduce::of::<LongRanked, LongRanked, _>(&reduce, language);
        problem.signature.output = ErasedType::of::<u64>();
        let formula = match bits.size() {
            ..=4 => parts.call(&ranked_among_many {}, |_| both),
            _ => parts.call(&long_ranked {}, |_| both),
        };
        (LongRanked::KIND, formula, parts.call(&long_position_of {}, |_| prefix), problem)
    };
    let parameters = parts.kinds();
    let recipe = Recipe {
        parameters,
        written: Some(written),
        ..Recipe::of_arrays(kind, vec![bits.into()], formula)
    };
    (Made { recipe, parts, items: count }, problem)
}

#[inline(never)]
fn positions<T: Number>(
    device: &Device,
    items: View<'_, T>,
    segments: &Segments<'_>,
    extreme: Extreme,
) -> Result<Array<u64>> {
    segments.check(items.len())?;
    let device = &*device.at_home(|| items.home());
    let most = segments.most(items.len());
    let rank = LongRank::of(T::DTYPE, extreme);
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (items, segments) = (cpu.input(items)?, segments.on_host(items.len())?);
            let positions = if size_of::<T>() <= 4 && is_short(items.len()) {
                let made = RankedItems { items, rank: rank.short() };
                let found = reduced(cpu, made, segments, most, FirstRanked)?;
                let position = |found: Ranked| match found.number {
                    u32::MAX => u64::MAX,
                    number => number.into(),
                };
                found.into_iter().map(position).collect()
            } else {
                let found =
                    reduced(cpu, RankedItems { items, rank }, segments, most, FirstLongRanked)?;
                found.into_iter().map(long_position_of).collect()
            };
            Ok(Array::from_host(positions))
        }
        Erased::Gpu(gpu) => {
            let mut output = Array::filled(device, most, u64::MAX)?;
            if items.is_empty() {
                return Ok(output);
            }
            let (made, problem) = on_gpu(items, rank, gpu.language());
            let mut count = [most as u64];
            let mut counted = ViewMut::from(&mut count);
            let counted = segments.packs().then(|| counted.erased().items);
            let mut into = ViewMut::from(&mut output);
            gpu.segmented_reduce_made(&made, segments, into.erased().items, counted, &problem)?;
            Ok(output.truncated(usize::try_from(count[0]).unwrap_or(most)))
        }
    }
}
