//! Reductions and scans within segments.

use bytemuck::cast_slice_mut;
use upsweep_gpu::ErasedType;

use super::array::AnyArray;
use super::kernel::{SegmentedKernel, narrowed};
use super::view::{AnyView, AnyViewMut};
use super::{Op, Reduce, Scalar, Scan, with_dtype};
use crate::erased::{Erased, ErasedViewMut};
use crate::{Device, Dtype, Error, Result, Segments};

/// Segments that begin where these offsets say: see [`Segments::by_offsets`].
///
/// # Errors
/// [`Error::Segments`] unless offsets are `u32`, `u64`, `i32` or `i64`.
pub fn segments_by_offsets<'a>(offsets: impl Into<AnyView<'a>>) -> Result<Segments<'a>> {
    let offsets = offsets.into();
    match offsets.dtype() {
        Dtype::U32 => Ok(Segments::by_offsets(offsets.typed::<u32>()?)),
        Dtype::U64 => Ok(Segments::by_offsets(offsets.typed::<u64>()?)),
        Dtype::I32 => Ok(Segments::by_offsets(offsets.typed::<i32>()?)),
        Dtype::I64 => Ok(Segments::by_offsets(offsets.typed::<i64>()?)),
        other => {
            let reason = format!("offsets are u32, u64, i32 or i64, not {other}");
            Err(Error::Segments { reason })
        }
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

impl SegmentedKernel {
    /// The kernel's results in the type that was asked for.
    fn results(&self, device: &Device, results: AnyArray, op: Op, out: Dtype) -> Result<AnyArray> {
        let results = results.bits_as(self.widened_to);
        if out == self.widened_to {
            return Ok(results);
        }
        let wide = results.to_bytes()?;
        let mut narrow = vec![0u64; results.len().div_ceil(8 / out.size())];
        let narrow: &mut [u8] = &mut cast_slice_mut(&mut narrow)[..results.len() * out.size()];
        let size = self.widened_to.size();
        let items = wide.chunks_exact(size).zip(narrow.chunks_exact_mut(out.size()));
        for (wide, narrow) in items {
            let value = Scalar::of_bytes(self.widened_to, wide);
            narrow.copy_from_slice(narrowest(value, op, out).bytes());
        }
        AnyArray::from_view(device, AnyView::from_bytes(out, narrow)?)
    }

    /// Reduces segments to an array of its own; by keys or flags the keys go to `unique`, if they are asked for.
    fn reduce(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        mut unique: Option<AnyViewMut<'_>>,
        init: Option<Scalar>,
    ) -> Result<AnyArray> {
        segments.check(items.len())?;
        let most = segments.most(items.len());
        let mut output = AnyArray::filled(device, most, Scalar::of_bytes(self.dtype, &[0; 8]))?;
        let (code, mut found) = (self.code, [most as u64]);
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let segments = segments.on_host(items.len())?;
                let unique = unique.as_mut().and_then(AnyViewMut::bytes_mut);
                let output = output.view_mut();
                let count = code.reduce_on(cpu, items, segments, unique, output, init)?;
                found = [count as u64];
            }
            Erased::Gpu(gpu) => {
                let problem = code.reduction(init, gpu.language());
                let (mut results, mut count) = (output.view_mut(), AnyViewMut::from(&mut found));
                let packed = segments.packs().then(|| {
                    let unique = unique.as_mut().map(|unique| ErasedViewMut {
                        of: with_dtype!(unique.dtype(), T => ErasedType::of::<T>()),
                        items: unique.erased(),
                    });
                    (unique, count.erased())
                });
                let results = results.erased();
                gpu.segmented_reduce(items.erased(), segments, results, packed, &problem)?;
            }
        }
        Ok(output.truncated(usize::try_from(found[0]).unwrap_or(most)))
    }
}

/// A value in a narrower type. The identity of an extreme is that of the narrower type: of integers the extreme value that it has.
fn narrowest(value: Scalar, op: Op, out: Dtype) -> Scalar {
    if !matches!(op, Op::Min | Op::Max) || !value.dtype().is_signed_integer() {
        return narrowed(value, out);
    }
    let bits = 8 * out.size() as u32;
    let most = i64::MAX >> (64 - bits);
    let wide = value.widened(Dtype::I64).unwrap_or(value).bits::<i64>();
    narrowed(Scalar::new(wide.clamp(-most - 1, most)), out)
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
    let kernel = SegmentedKernel::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let items = kernel.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let results = kernel.reduce(&home, items, segments, None, kernel.init(problem.init)?)?;
    kernel.results(&home, results, problem.op, out)
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
    let kernel = SegmentedKernel::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let items = kernel.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let mut output = AnyArray::filled(&home, items.len(), Scalar::of_bytes(kernel.dtype, &[0; 8]))?;
    let problem = Scan { init: kernel.init(problem.init)?, ..*problem };
    segments.check(items.len())?;
    match home.kind().erased() {
        Erased::Cpu(cpu) => {
            let marks = segments.on_host(items.len())?;
            kernel.code.scan_on(cpu, items, marks, output.view_mut(), &problem)?;
        }
        Erased::Gpu(gpu) => {
            let erased = kernel.code.scan(&problem, gpu.language());
            let mut results = output.view_mut();
            gpu.segmented_scan(items.erased(), segments, results.erased(), &erased)?;
        }
    }
    kernel.results(&home, output, problem.op, out)
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
/// Those of [`segmented_reduce`].
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
    let out = problem.result(items.dtype());
    let kernel = SegmentedKernel::new(problem.op, out)?;
    let mut buffer = Vec::new();
    let items = kernel.items(items, &mut buffer)?;
    let home = device.at_home(|| items.home());
    let (segments, init) = (segments_by_keys(keys)?, kernel.init(problem.init)?);
    let mut unique = AnyArray::room_for(&home, keys)?;
    let results = kernel.reduce(&home, items, &segments, Some(unique.view_mut()), init)?;
    let found = results.len();
    Ok((unique.truncated(found), kernel.results(&home, results, problem.op, out)?))
}
