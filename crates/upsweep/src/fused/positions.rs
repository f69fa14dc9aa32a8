//! Positions of extremes within segments. A CPU looks for the extreme of each segment as for that of an array. On a GPU each item is
//! made its rank among all that there can be, and its number, of which the first of the least rank is what is wanted: nothing but whole
//! numbers is compared.

use upsweep_core::{Extreme, Formula, Recipe};
use upsweep_gpu::{ErasedReduce, ErasedType};

use super::{Fused, Made, Parts, Place, Source, counting, places};
use crate::backend::ViewBackend;
use crate::erased::{Erased, ErasedGpu};
use crate::{
    Array, Device, Dtype, Element, Language, Number, Operator, Reduce, Result, Segments, View,
    ViewMut,
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
/// As of [`segmented_reduce`](crate::segmented_reduce). A CPU has a call of some 20 ns for each segment, and by flags or keys needs 8
/// bytes of memory for each.
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

/// As [`segmented_argmin`] by offsets, into memory of the caller's: one position for each segment.
///
/// # Cost
/// As of [`segmented_argmin`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`segmented_argmin`] and of [`segmented_reduce_into`](crate::segmented_reduce_into).
///
/// # Examples
/// ```
/// use upsweep::{Device, Segments, segmented_argmin_into};
/// let (mut places, segments) = ([0; 2], Segments::by_offsets(&[0u32, 2, 4]));
/// segmented_argmin_into(&Device::cpu(), &[7u8, 3, 3, 9], &segments, &mut places)?;
/// assert_eq!(places, [1, 2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_argmin_into<'a, 'b, T: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, u64>>,
) -> Result<()> {
    positions_into(device, items.into(), segments, output.into(), Extreme::Smallest)
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

/// As [`segmented_argmax`] by offsets, into memory of the caller's: one position for each segment.
///
/// # Cost
/// As of [`segmented_argmin_into`].
///
/// # Errors
/// Those of [`segmented_argmin_into`].
pub fn segmented_argmax_into<'a, 'b, T: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, u64>>,
) -> Result<()> {
    positions_into(device, items.into(), segments, output.into(), Extreme::Largest)
}

/// Ranks and numbers in words of one size.
macro_rules! ranks {
    ($word:ident: $rank:ident, $ranked:ident $made:ident, $first:ident) => {
        /// The rank of an item, and its number.
        #[derive(Clone, Copy, Debug, PartialEq, Element)]
        #[repr(C)]
        struct $ranked {
            rank: $word,
            number: $word,
        }

        #[upsweep::function]
        fn $made(rank: $word, number: $word) -> $ranked {
            $ranked { rank, number }
        }

        #[upsweep::operator(identity = $ranked { rank: $word::MAX, number: $word::MAX }, commutative)]
        fn $first(left: $ranked, right: $ranked) -> $ranked {
            let is_before = (right.rank == left.rank) & (right.number < left.number);
            let takes_right = (right.rank < left.rank) | is_before;
            let rank = if takes_right { right.rank } else { left.rank };
            $ranked { rank, number: if takes_right { right.number } else { left.number } }
        }

        /// How bits are ranked, NaNs before all others. Nothing branches: kernels have it once for each item of an access, and some
        /// drivers on CPUs take minutes for so many branches.
        #[derive(Clone, Copy, Debug, PartialEq, Element)]
        #[repr(C)]
        struct $rank {
            /// The bits of an item without its sign.
            rest: $word,
            /// The bit of its sign; 0 if it has none.
            sign: $word,
            /// The same bit of a float, 0 of an integer.
            minus: $word,
            /// The last bits, without the sign, that are a number.
            last: $word,
            /// The bits that are turned if the largest item is wanted.
            turned: $word,
        }

        #[upsweep::function]
        impl $rank {
            fn apply(self, bits: $word) -> $word {
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

        impl From<(Dtype, Extreme)> for $rank {
            fn from((dtype, extreme): (Dtype, Extreme)) -> Self {
                let all = $word::MAX >> ($word::BITS - 8 * dtype.size() as u32);
                let sign = all ^ (all >> 1);
                let (sign, minus, last) = match dtype {
                    Dtype::F16 => (sign, sign, 0x7c00),
                    Dtype::Bf16 => (sign, sign, 0x7f80),
                    Dtype::F32 => (sign, sign, f32::INFINITY.to_bits() as $word),
                    Dtype::F64 => (sign, sign, f64::INFINITY.to_bits() as $word),
                    integer if integer.is_signed_integer() => (sign, 0, all),
                    _ => (0, 0, all),
                };
                let turned = if extreme == Extreme::Largest { all } else { 0 };
                Self { rest: all ^ sign, sign, minus, last, turned }
            }
        }
    };
}

// Of items of up to 32 bits that are less than 2^32, and of all others.
ranks!(u32: ShortRank, ShortRanked short_ranked, first_short_ranked);
ranks!(u64: LongRank, LongRanked long_ranked, first_long_ranked);

#[upsweep::function]
fn short_rank_of_many(rank: u32, number: u64) -> LongRanked {
    LongRanked { rank: rank as u64, number }
}

/// A position as words of memory, which need no integers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct PositionWords {
    low: u32,
    high: u32,
}

#[upsweep::function]
fn short_position_of(found: ShortRanked) -> PositionWords {
    let high = if found.number == u32::MAX { u32::MAX } else { 0 };
    PositionWords { low: found.number, high }
}

#[upsweep::function]
fn long_position_of(found: LongRanked) -> u64 {
    found.number
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

fn positions<T: Number>(
    device: &Device,
    items: View<'_, T>,
    segments: &Segments<'_>,
    extreme: Extreme,
) -> Result<Array<u64>> {
    segments.check(items.len())?;
    let device = &*device.at_home(|| items.home());
    let mut output = Array::filled(device, segments.most(items.len()), u64::MAX)?;
    let found = find(device, items, segments, ViewMut::from(&mut output), extreme)?;
    Ok(output.truncated(found))
}

fn positions_into<T: Number>(
    device: &Device,
    items: View<'_, T>,
    segments: &Segments<'_>,
    output: ViewMut<'_, u64>,
    extreme: Extreme,
) -> Result<()> {
    let output = segments.fitted(output);
    segments.check_counted(items.len(), output.len())?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    find(&device, items, segments, output, extreme).map(drop)
}

/// Writes positions, all of which was checked; how many there are.
fn find<T: Number>(
    device: &Device,
    items: View<'_, T>,
    segments: &Segments<'_>,
    output: ViewMut<'_, u64>,
    extreme: Extreme,
) -> Result<usize> {
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (items, output) = (cpu.input(items)?, cpu.output(output)?);
            let segments = segments.on_host(items.len())?;
            cpu.segmented_position(items, segments, output, extreme)
        }
        Erased::Gpu(gpu) => {
            let (count, source) = (items.len(), Source::of(items));
            find_on_gpu(gpu, (count, source), (T::DTYPE, extreme), segments, output)
        }
    }
}

/// The same on a GPU, of so many items of a type that is a value.
pub(crate) fn find_on_gpu(
    gpu: &dyn ErasedGpu,
    (count, source): (usize, Source<'_>),
    (dtype, extreme): (Dtype, Extreme),
    segments: &Segments<'_>,
    mut output: ViewMut<'_, u64>,
) -> Result<usize> {
    let most = output.len();
    if most == 0 {
        return Ok(0);
    }
    // Kernels are made of an item that is in no segment, since they cannot be of none.
    let (source, count) = match count {
        0 => (Source::of(View::from(&[0u8; 8][..dtype.size()])), 1),
        _ => (source, count),
    };
    let (made, problem) = made(source.bits_as(bits_of(dtype)), count, (dtype, extreme), gpu);
    let mut found = [most as u64];
    let mut counted = ViewMut::from(&mut found);
    let packed = segments.packs().then(|| (None, counted.erased().items));
    gpu.segmented_reduce_made(&made, segments, output.erased().items, packed, &problem)?;
    Ok(usize::try_from(found[0]).unwrap_or(most))
}

/// What kernels make of bits of items, and with what they combine it.
fn made<'a>(
    source: Source<'a>,
    count: usize,
    rank: (Dtype, Extreme),
    gpu: &dyn ErasedGpu,
) -> (Made<'a>, ErasedReduce) {
    let (language, bits, mut parts) = (gpu.language(), source.kind, Parts::default());
    let item = places::read(count, source, &Place::OWN, &mut parts);
    // The largest number is that of no item.
    let (is_short, has_short_numbers) = (rank.0.size() <= 4, u32::try_from(count).is_ok());
    let mut number = match is_short && has_short_numbers {
        true => counting(0..count as u32).formulas(&Place::OWN, &mut parts),
        false => counting(0..count as u64).formulas(&Place::OWN, &mut parts),
    };
    let mut both = match is_short {
        true => vec![parts.call(&ShortRank::from(rank), |_| vec![item])],
        false => vec![parts.call(&LongRank::from(rank), |_| vec![item])],
    };
    both.append(&mut number);
    let prefix = vec![Formula::Prefix];
    let (kind, formula, written, problem) = if is_short && has_short_numbers {
        let problem = problem::<ShortRanked, PositionWords, _>(FirstShortRanked, language);
        let formula = parts.call(&short_ranked {}, |_| both);
        (ShortRanked::KIND, formula, parts.call(&short_position_of {}, |_| prefix), problem)
    } else {
        let problem = problem::<LongRanked, u64, _>(FirstLongRanked, language);
        let formula = match is_short {
            true => parts.call(&short_rank_of_many {}, |_| both),
            false => parts.call(&long_ranked {}, |_| both),
        };
        (LongRanked::KIND, formula, parts.call(&long_position_of {}, |_| prefix), problem)
    };
    let recipe = Recipe {
        parameters: parts.kinds(),
        written: Some(written),
        ..Recipe::of_arrays(kind, vec![bits], formula)
    };
    (Made { recipe, parts, items: count }, problem)
}

/// What ranked items are combined with, of which positions are written as `U`.
fn problem<A: Element<Acc = A>, U: Element, O: Operator<A>>(
    operator: O,
    language: Language,
) -> ErasedReduce {
    let mut problem = ErasedReduce::of::<A, A, _>(&Reduce::new(operator), language);
    problem.signature.output = ErasedType::of::<U>();
    problem
}
