//! Reductions and scans within segments.

use bytemuck::cast_slice_mut;

use super::array::{AnyArray, AnyView};
use super::pairs::{self, SegmentedPair, same_bits};
use super::reduce::{combined_in, narrowed, seen_as};
use super::{Op, Reduce, Scalar, Scan, with_dtype};
use crate::{Device, Dtype, Error, Result, Segments};

/// Segments that begin where these offsets say: see [`Segments::by_offsets`].
///
/// # Errors
/// [`Error::Segments`] unless offsets are `u32` or `u64`.
pub fn segments_by_offsets<'a>(offsets: impl Into<AnyView<'a>>) -> Result<Segments<'a>> {
    let offsets = offsets.into();
    match offsets.dtype() {
        Dtype::U32 => Ok(Segments::by_offsets(offsets.typed::<u32>()?)),
        Dtype::U64 => Ok(Segments::by_offsets(offsets.typed::<u64>()?)),
        other => Err(Error::Segments { reason: format!("offsets are u32 or u64, not {other}") }),
    }
}

/// Segments that begin with each item whose flag is not 0: see [`Segments::by_flags`].
///
/// # Errors
/// None at present.
pub fn segments_by_flags<'a>(flags: impl Into<AnyView<'a>>) -> Result<Segments<'a>> {
    let flags = flags.into();
    with_dtype!(flags.dtype(), T => Ok(Segments::by_flags(flags.typed::<T>()?)))
}

/// Segments of equal neighbours: see [`Segments::by_keys`].
///
/// # Errors
/// None at present.
pub fn segments_by_keys<'a>(keys: impl Into<AnyView<'a>>) -> Result<Segments<'a>> {
    let keys = keys.into();
    with_dtype!(keys.dtype(), T => Ok(Segments::by_keys(keys.typed::<T>()?)))
}

/// The type of the kernel for results of type `out`, and its code.
struct Way {
    /// The type that items are widened to if it is not theirs.
    seen: Dtype,
    kernel: Dtype,
    code: &'static dyn SegmentedPair,
}

impl Way {
    /// Narrow integers are combined in 32 bits or 64, of which those that were asked for are the lower ones.
    fn new(op: Op, out: Dtype) -> Result<Self> {
        let seen = match out {
            Dtype::U8 | Dtype::U16 => Dtype::U32,
            Dtype::I8 | Dtype::I16 => Dtype::I32,
            other => combined_in(other),
        };
        let (kernel, _) = same_bits(op, seen, seen);
        let missing = Error::OperatorElement { operator: op.name(), dtype: out };
        let code = pairs::segmented(op, kernel).ok_or(missing)?;
        Ok(Self { seen, kernel, code })
    }

    /// The items as the kernel reads them.
    fn items<'b>(&self, items: AnyView<'b>, buffer: &'b mut Vec<u64>) -> Result<AnyView<'b>> {
        Ok(seen_as(items, self.seen, buffer)?.bits_as(self.kernel))
    }

    /// A start value as the kernel takes it.
    fn init(&self, init: Option<Scalar>) -> Option<Scalar> {
        init.and_then(|init| init.widened(self.seen))
    }

    /// The kernel's results in the type that was asked for.
    fn results(&self, device: &Device, results: AnyArray, op: Op, out: Dtype) -> Result<AnyArray> {
        let results = results.bits_as(self.seen);
        if out == self.seen {
            return Ok(results);
        }
        let wide = results.to_bytes()?;
        let mut narrow = vec![0u64; results.len().div_ceil(8 / out.size())];
        let narrow: &mut [u8] = &mut cast_slice_mut(&mut narrow)[..results.len() * out.size()];
        let items = wide.chunks_exact(self.seen.size()).zip(narrow.chunks_exact_mut(out.size()));
        for (wide, narrow) in items {
            let value = Scalar::of_bytes(self.seen, wide);
            narrow.copy_from_slice(narrowest(value, op, out).bytes());
        }
        AnyArray::from_view(device, AnyView::from_bytes(out, narrow)?)
    }
}

/// A value in a narrower type. The identity of an extreme is that of the narrower type: of integers the extreme value that it has.
fn narrowest(value: Scalar, op: Op, out: Dtype) -> Scalar {
    let signed = value.bits::<i32>();
    match (op, out) {
        (Op::Min | Op::Max, Dtype::I8) => {
            Scalar::new(signed.clamp(i8::MIN.into(), i8::MAX.into()) as i8)
        }
        (Op::Min | Op::Max, Dtype::I16) => {
            Scalar::new(signed.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
        }
        _ => narrowed(value, out),
    }
}

/// A reduction of each segment: see [`segmented_reduce_with`](crate::segmented_reduce_with).
///
/// # Result
/// One item for each segment, in the type that [`Reduce::result`] says.
///
/// # Cost
/// As the typed call. Items of less than 32 bits, and those that are combined in a wider type, are widened first, which takes room
/// for all of them.
///
/// # Errors
/// Those of [`reduce`](super::reduce) and [`Error::Segments`]; [`Error::OperatorElement`] for positions and means;
/// [`Error::WrongDevice`] if items in the memory of a GPU would have to be widened first.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Reduce}};
/// let segments = any::segments_by_offsets(&[0u32, 2, 2, 3])?;
/// let sums = any::segmented_reduce(&Device::cpu(), &[200u8, 100, 7], &segments, &Reduce::new(Op::Sum))?;
/// assert_eq!(sums.into_typed::<u64>()?.into_vec()?, [300, 0, 7]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_reduce<'a>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    segments: &Segments<'_>,
    problem: &Reduce,
) -> Result<AnyArray> {
    let items = items.into();
    problem.check(items.dtype())?;
    let out = problem.result(items.dtype());
    let way = Way::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let seen = way.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let results = way.code.reduce(&home, seen, segments, way.init(problem.init))?;
    way.results(&home, results, problem.op, out)
}

/// A scan of each segment: see [`segmented_scan`](crate::segmented_scan()).
///
/// # Result
/// An array of its own with items of type `out`.
///
/// # Cost
/// As [`segmented_reduce`].
///
/// # Errors
/// Those of [`scan`](super::scan) and [`Error::Segments`]; [`Error::WrongDevice`] if items in the memory of a GPU would have to be
/// widened first.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, Op, Scan}};
/// let segments = any::segments_by_flags(&[1u8, 0, 1])?;
/// let (device, scan) = (Device::cpu(), Scan::inclusive(Op::Sum));
/// let sums = any::segmented_scan(&device, &[3.0f32, 4.0, 5.0], &segments, Dtype::F32, &scan)?;
/// assert_eq!(sums.into_typed::<f32>()?.into_vec()?, [3.0, 7.0, 5.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_scan<'a>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    segments: &Segments<'_>,
    out: Dtype,
    problem: &Scan,
) -> Result<AnyArray> {
    let items = items.into();
    problem.check(items.dtype(), out)?;
    let way = Way::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let seen = way.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let zero = Scalar::of_bytes(way.kernel, &[0; 8]);
    let mut output = AnyArray::filled(&home, items.len(), zero)?;
    let problem = Scan { init: way.init(problem.init), ..*problem };
    way.code.scan_into(&home, seen, segments, output.view_mut(), &problem)?;
    way.results(&home, output, problem.op, out)
}

/// A reduction of each run of equal keys: see [`reduce_by_key`](crate::reduce_by_key).
///
/// # Result
/// The key of each run, and its items combined, in the type that [`Reduce::result`] says.
///
/// # Cost
/// As [`segmented_reduce`]; waits for how many runs there are.
///
/// # Errors
/// Those of [`segmented_reduce`]; [`Error::OperatorElement`] for a start value, which runs have none of.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Reduce}};
/// let (keys, items) = ([7i16, 7, -2], [1.5f32, 2.0, 8.0]);
/// let (keys, sums) = any::reduce_by_key(&Device::cpu(), &keys, &items, &Reduce::new(Op::Sum))?;
/// assert_eq!(keys.into_typed::<i16>()?.into_vec()?, [7, -2]);
/// assert_eq!(sums.into_typed::<f32>()?.into_vec()?, [3.5, 8.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_by_key<'a, 'b>(
    device: &Device,
    keys: impl Into<AnyView<'a>>,
    items: impl Into<AnyView<'b>>,
    problem: &Reduce,
) -> Result<(AnyArray, AnyArray)> {
    let (keys, items) = (keys.into(), items.into());
    problem.check(items.dtype())?;
    if problem.init.is_some() {
        return Err(Error::OperatorElement { operator: problem.op.name(), dtype: items.dtype() });
    }
    let out = problem.result(items.dtype());
    let way = Way::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let seen = way.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let (unique, results) = way.code.by_key(&home, keys, seen)?;
    Ok((unique, way.results(&home, results, problem.op, out)?))
}
