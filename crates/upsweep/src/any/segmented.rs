//! Reductions, positions of extremes, means and scans within segments.

use core::num::NonZeroU32;
use core::ops::Range;

use bytemuck::cast_slice_mut;
use upsweep_core::Extreme;
use upsweep_cpu::Cpu;
use upsweep_gpu::{ErasedReduce, ErasedType};

use super::array::AnyArray;
use super::axes::copy_into;
use super::converted::{WidenedItems, narrowed_there, read_there};
use super::kernel::{SegmentedKernel, narrowed, widened_to};
use super::pairs::{self, SegmentedReducePair, SegmentedScanPair};
use super::reduce::mean_of;
use super::view::{AnyView, AnyViewMut, on_host, on_host_mut};
use super::{Op, Reduce, Scalar, Scan, unsigned, with_dtype, with_unsigned};
use crate::backend::wrong_device;
use crate::erased::{Erased, ErasedViewMut};
use crate::fused::{Fused, find_on_gpu};
use crate::{Array, Device, Dtype, Error, Result, Segments, Sum, ViewMut, constant};

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
    // Whatever bytes stand for: those of 0 are 0.
    let bits = unsigned(flags.dtype());
    with_unsigned!(bits, T => Ok(Segments::by_flags(flags.bits_as(bits).typed::<T>()?)))
}

/// Segments of equal neighbours: see [`Segments::by_keys`].
///
/// # Errors
/// None at present.
pub fn segments_by_keys<'a>(keys: impl Into<AnyView<'a>>) -> Result<Segments<'a>> {
    let keys = keys.into();
    with_dtype!(keys.dtype(), T => Ok(Segments::by_keys(keys.typed::<T>()?)))
}

type ReduceKernel = SegmentedKernel<&'static dyn SegmentedReducePair>;
type ScanKernel = SegmentedKernel<&'static dyn SegmentedScanPair>;

impl<C> SegmentedKernel<C> {
    /// The kernel's results in the type that was asked for.
    fn results(&self, device: &Device, results: AnyArray, op: Op, out: Dtype) -> Result<AnyArray> {
        let results = results.bits_as(self.widened_to);
        if out == self.widened_to {
            return Ok(results);
        }
        if matches!(device.kind().erased(), Erased::Gpu(_)) && !out.is_float() {
            return narrowed_there(results.view(), op, out)?.to_array(device);
        }
        mapped(device, &results, out, &mut |_, value| narrowest(value, op, out))
    }
}

impl ReduceKernel {
    /// Reduces segments to an array of its own; by keys or flags the keys go to `unique`, if they are asked for.
    fn reduce(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        unique: Option<AnyViewMut<'_>>,
        init: Option<Scalar>,
    ) -> Result<AnyArray> {
        segments.check(items.len())?;
        let most = segments.most(items.len());
        let mut output = AnyArray::filled(device, most, Scalar::of_bytes(self.dtype, &[0; 8]))?;
        let found = self.reduce_into(device, items, segments, unique, output.view_mut(), init)?;
        Ok(output.truncated(found))
    }

    /// The same into items of the kernel's type; how many segments there are.
    fn reduce_into(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        mut unique: Option<AnyViewMut<'_>>,
        mut output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<usize> {
        let mut room = WidenedItems::default();
        let gpu = match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let items = self.items(device, items, &mut room)?;
                let segments = segments.on_host(items.len())?;
                let unique = unique.as_mut().and_then(AnyViewMut::bytes_mut);
                return self.code.reduce(cpu, items, segments, unique, output, init);
            }
            Erased::Gpu(gpu) => gpu,
        };
        let problem = self.code.problem(init, gpu.language());
        let most = output.len();
        let mut found = [most as u64];
        let mut count = AnyViewMut::from(&mut found);
        let packed = segments.packs().then(|| {
            let unique = unique.as_mut().map(|unique| ErasedViewMut {
                of: with_dtype!(unique.dtype(), T => ErasedType::of::<T>()),
                items: unique.erased(),
            });
            (unique, count.erased())
        });
        let (results, is_widened) = (output.erased(), items.dtype() != self.widened_to);
        if let (true, Some(read)) = (is_widened, read_there(items)?) {
            let read = read.cast_by(self.widened_to, self.dtype)?;
            gpu.segmented_reduce_made(&read.all(), segments, results, packed, &problem)?;
        } else {
            let items = self.items(device, items, &mut room)?;
            gpu.segmented_reduce(items.erased(), segments, results, packed, &problem)?;
        }
        Ok(usize::try_from(found[0]).unwrap_or(most))
    }
}

/// An array on a device of what `value` makes of each item and its number.
pub(super) fn mapped(
    device: &Device,
    items: &AnyArray,
    out: Dtype,
    value: &mut dyn FnMut(usize, Scalar) -> Scalar,
) -> Result<AnyArray> {
    let (from, bytes) = (items.dtype(), items.to_bytes()?);
    let mut words = vec![0u64; items.len().div_ceil(8 / out.size())];
    let made: &mut [u8] = &mut cast_slice_mut(&mut words)[..items.len() * out.size()];
    let pairs = bytes.chunks_exact(from.size()).zip(made.chunks_exact_mut(out.size()));
    for (number, (item, made)) in pairs.enumerate() {
        made.copy_from_slice(value(number, Scalar::of_bytes(from, item)).bytes());
    }
    AnyArray::from_view(device, AnyView::from_bytes(out, made)?)
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

/// How many items each segment has.
fn lengths(device: &Device, segments: &Segments<'_>, items: usize) -> Result<Vec<usize>> {
    let gpu = match (segments.on_host(items), device.kind().erased()) {
        (Ok(segments), _) => return Ok(segments.lengths(items)),
        (Err(wrong), Erased::Cpu(_)) => return Err(wrong),
        (Err(_), Erased::Gpu(gpu)) => gpu,
    };
    if u32::try_from(items).is_err() {
        let reason = "means of segments that a GPU's memory says are of less than 2^32 items";
        return Err(Error::Buffer { reason: reason.to_owned() });
    }
    // Where they begin is known on the GPU alone, which counts ones.
    let most = segments.most(items);
    let (mut counts, mut found) = (Array::filled(device, most, 0u32)?, [most as u64]);
    let (mut output, mut count) = (ViewMut::from(&mut counts), ViewMut::from(&mut found));
    let packed = segments.packs().then(|| (None, count.erased().items));
    let problem =
        ErasedReduce::in_segments::<u32, u32, _>(&crate::Reduce::new(Sum), gpu.language());
    let ones = constant(1u32, items).made();
    gpu.segmented_reduce_made(&ones, segments, output.erased().items, packed, &problem)?;
    Ok(counts.into_vec()?.into_iter().map(|count| count as usize).collect())
}

/// Sums of segments divided by how many items each has.
fn means(
    device: &Device,
    sums: &AnyArray,
    segments: &Segments<'_>,
    items: usize,
) -> Result<AnyArray> {
    let lengths = lengths(device, segments, items)?;
    mapped(device, sums, sums.dtype(), &mut |segment, sum| mean_of(Op::Mean, sum, lengths[segment]))
}

/// A reduction of each segment: see [`segmented_reduce_with`](crate::segmented_reduce_with),
/// [`segmented_argmin`](crate::segmented_argmin) and [`segmented_argmax`](crate::segmented_argmax).
///
/// # Result
/// One item for each segment, in the type that [`Reduce::result`] says. Of a segment without items a position is `u64::MAX`, a mean
/// NaN, and all else the operator's identity. A mean is the segment's sum divided by its length.
///
/// # Cost
/// As the typed call. Sums and products of floats, means, and whatever is reduced on a GPU, are combined in kernels of 32 or 64 bits:
/// items of other types are widened first, which takes room for all of them; a GPU widens integers in its memory as it reads them. A CPU reduces all
/// else without that, by a call of 60 to 90 ns for each segment, where those kernels take 20 ns for one of eight items. Means wait for the
/// sums, and so do short floats, which the host rounds.
///
/// # Errors
/// Those of [`reduce`](super::reduce) and [`Error::Segments`]. A GPU without integers of 64 bits refuses extremes and bits of integers, which are
/// combined in these, with [`Error::ElementUnsupported`].
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Reduce}};
/// let (device, items) = (Device::cpu(), [200u8, 100, 7]);
/// let segments = any::segments_by_offsets(&[0u32, 2, 2, 3])?;
/// let of_each = |op| any::segmented_reduce(&device, &items, &segments, &Reduce::new(op));
/// assert_eq!(of_each(Op::Sum)?.into_typed::<u64>()?.into_vec()?, [300, 0, 7]);
/// assert_eq!(of_each(Op::ArgMin)?.into_typed::<u64>()?.into_vec()?, [1, u64::MAX, 2]);
/// assert_eq!(of_each(Op::Mean)?.to_bytes()?[..8], 150f64.to_le_bytes());
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_reduce<'a>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    segments: &Segments<'_>,
    problem: &Reduce,
) -> Result<AnyArray> {
    reduced(device, items.into(), segments, problem)
}

// Not generic, so that callers do not compile it.
fn reduced(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    problem: &Reduce,
) -> Result<AnyArray> {
    problem.check(items.dtype())?;
    let (home, most) = (device.at_home(|| items.home()), segments.most(items.len()));
    if problem.op.is_position() {
        segments.check(items.len())?;
        let mut output = Array::filled(&home, most, u64::MAX)?;
        let found = positions(&home, items, segments, ViewMut::from(&mut output), problem.op)?;
        return Ok(output.truncated(found).into());
    }
    values(&home, items, segments, None, problem)
}

/// Writes positions to a place for each segment that there may be; how many there are.
fn positions(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    output: ViewMut<'_, u64>,
    op: Op,
) -> Result<usize> {
    let extreme = if op == Op::ArgMax { Extreme::Largest } else { Extreme::Smallest };
    match device.kind().erased() {
        Erased::Cpu(cpu) => with_dtype!(items.dtype(), T => {
            let (items, output) = (on_host(items.typed::<T>()?)?, on_host_mut(output)?);
            cpu.segmented_position(items, segments.on_host(items.len())?, output, extreme)
        }),
        Erased::Gpu(gpu) => {
            let (source, rank) = ((items.len(), items.source()), (items.dtype(), extreme));
            find_on_gpu(gpu, source, rank, segments, output)
        }
    }
}

/// Values or means of segments, and their keys where they are asked for.
fn values(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    mut unique: Option<AnyViewMut<'_>>,
    problem: &Reduce,
) -> Result<AnyArray> {
    let (out, count) = (problem.result(items.dtype()), items.len());
    segments.check(count)?;
    if let (Erased::Cpu(cpu), true) = (device.kind().erased(), is_exact(problem, out)) {
        let zero = Scalar::of_bytes(out, &[0; 8]);
        let mut output = AnyArray::filled(device, segments.most(count), zero)?;
        let (unique, view) = (unique.as_mut().and_then(AnyViewMut::bytes_mut), output.view_mut());
        let found = exact_values(cpu, items, segments, unique, view, problem)?;
        return Ok(output.truncated(found));
    }
    let (op, kernel) = kernel_of(problem, out)?;
    if op != problem.op || kernel.widened_to != out {
        // What is converted behind the kernel would be more than there is.
        segments.check_known()?;
    }
    let results = kernel.reduce(device, items, segments, unique, kernel.init(problem.init)?)?;
    let results = kernel.results(device, results, op, out)?;
    match problem.op {
        Op::Mean => means(device, &results, segments, count),
        _ => Ok(results),
    }
}

/// Whether it cannot be seen how items are grouped.
fn is_exact(problem: &Reduce, out: Dtype) -> bool {
    !(problem.op.accumulates() && out.is_float())
}

/// Values of segments on a CPU, each as of an array of its own.
fn exact_values(
    cpu: &Cpu,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    unique: Option<&mut [u8]>,
    mut output: AnyViewMut<'_>,
    problem: &Reduce,
) -> Result<usize> {
    let (item, out, init) = (items.dtype(), output.dtype(), problem.init);
    let kernel = problem.kernel(item, true)?;
    let Some(empty) = super::reduce(&Device::cpu(), items.slice(0..0)?, problem)? else {
        return Err(Error::OperatorElement { operator: problem.op.name(), dtype: item });
    };
    let mut buffer = Vec::new();
    let read = widened_to(items, kernel.widened_to, &mut buffer)?.bits_as(kernel.from);
    let value = |cpu: &Cpu, range: Range<usize>, value: &mut [u8]| {
        let (part, once) = (read.slice(range)?, NonZeroU32::MIN);
        let found = kernel.code.reduce(cpu, part, kernel.init(init), once)?;
        value.copy_from_slice(kernel.result(found, item, init)?.bytes());
        Ok(())
    };
    let (of, by) = ((items.len(), kernel.from.size()), segments.on_host(items.len())?);
    let Some(output) = output.bytes_mut() else {
        return Err(wrong_device(output.device(), "cpu"));
    };
    debug_assert_eq!(empty.dtype(), out);
    cpu.per_segment(of, by, unique, output, empty.bytes(), &value)
}

/// What is combined with, a sum for a mean, and the kernel for it.
fn kernel_of(problem: &Reduce, out: Dtype) -> Result<(Op, ReduceKernel)> {
    let op = if problem.op == Op::Mean { Op::Sum } else { problem.op };
    Ok((op, SegmentedKernel::new(op, out, pairs::segmented_reduction)?))
}

/// As [`segmented_reduce`] by offsets, into memory of the caller's: one item for each segment, of the type that [`Reduce::result`]
/// says.
///
/// # Cost
/// As [`segmented_reduce`]; it waits for nothing that is written on a GPU, but for means and short floats. Values of another type than items are
/// combined in, such as extremes of items of less than 64 bits, take an array of their own first.
///
/// # Errors
/// Those of [`segmented_reduce`] and of [`segmented_reduce_into`](crate::segmented_reduce_into); [`Error::WrongDtype`] if the output
/// has another type.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Reduce}};
/// let (device, items, mut most) = (Device::cpu(), [3i16, 9, 9, -4], [0u64; 2]);
/// let segments = any::segments_by_offsets(&[0i64, 3, 4])?;
/// any::segmented_reduce_into(&device, &items, &segments, &mut most, &Reduce::new(Op::ArgMax))?;
/// assert_eq!(most, [1, 3]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_reduce_into<'a, 'b>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    segments: &Segments<'_>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<()> {
    reduced_into(device, items.into(), segments, output.into(), problem)
}

fn reduced_into(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    output: AnyViewMut<'_>,
    problem: &Reduce,
) -> Result<()> {
    let dtype = items.dtype();
    problem.check(dtype)?;
    let output: AnyViewMut<'_> =
        with_dtype!(output.dtype(), T => segments.fitted(output.typed::<T>()?).into());
    segments.check_counted(items.len(), output.len())?;
    let wanted = problem.result(dtype);
    if output.dtype() != wanted {
        return Err(Error::WrongDtype { found: output.dtype(), wanted });
    }
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    if problem.op.is_position() {
        return positions(&home, items, segments, output.typed::<u64>()?, problem.op).map(drop);
    }
    if let (Erased::Cpu(cpu), true) = (home.kind().erased(), is_exact(problem, wanted)) {
        return exact_values(cpu, items, segments, None, output, problem).map(drop);
    }
    let (op, kernel) = kernel_of(problem, wanted)?;
    if op != problem.op || kernel.widened_to != wanted {
        segments.check_known()?;
        return copied(&home, output, || values(&home, items, segments, None, problem));
    }
    let (output, init) = (output.bits_as(kernel.dtype), kernel.init(problem.init)?);
    kernel.reduce_into(&home, items, segments, None, output, init).map(drop)
}

/// Copies what `make` gives to the caller's memory.
fn copied(
    device: &Device,
    mut output: AnyViewMut<'_>,
    make: impl FnOnce() -> Result<AnyArray>,
) -> Result<()> {
    let made = make()?;
    match output.bytes_mut() {
        Some(bytes) => {
            bytes.copy_from_slice(&made.to_bytes()?);
            Ok(())
        }
        None => {
            let shape = [made.len()];
            copy_into(device, made.view().shape(shape)?, output.shape(shape)?)
        }
    }
}

/// A scan of each segment: see [`segmented_scan`](crate::segmented_scan()).
///
/// # Result
/// An array of its own with items of type `out`.
///
/// # Cost
/// As [`segmented_reduce`], but a GPU makes an array of items that are widened, and another of results that are narrowed.
///
/// # Errors
/// Those of [`scan`](super::scan) and [`Error::Segments`].
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
    scanned(device, items.into(), segments, out, problem)
}

fn scanned(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    out: Dtype,
    problem: &Scan,
) -> Result<AnyArray> {
    problem.check(items.dtype(), out)?;
    let kernel: ScanKernel = SegmentedKernel::new(problem.op, out, pairs::segmented_scan)?;
    segments.check(items.len())?;
    let (mut room, home) = (WidenedItems::default(), device.at_home(|| items.home()));
    let items = kernel.items(&home, items, &mut room)?;
    let mut output = AnyArray::filled(&home, items.len(), Scalar::of_bytes(kernel.dtype, &[0; 8]))?;
    kernel.scan_into(&home, items, segments, output.view_mut(), problem)?;
    kernel.results(&home, output, problem.op, out)
}

/// As [`segmented_scan`], into memory of the caller's, whose type says in which type items are combined.
///
/// # Errors
/// Those of [`segmented_scan`]; [`Error::LengthMismatch`]; [`Error::Buffer`] for short floats of which only a GPU knows how many there are.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Scan}};
/// let (segments, mut before) = (any::segments_by_keys(&[7u8, 7, 9])?, [0u64; 3]);
/// let scan = Scan::exclusive(Op::Sum);
/// any::segmented_scan_into(&Device::cpu(), &[3u8, 4, 5], &segments, &mut before, &scan)?;
/// assert_eq!(before, [0, 3, 0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn segmented_scan_into<'a, 'b>(
    device: &Device,
    items: impl Into<AnyView<'a>>,
    segments: &Segments<'_>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<()> {
    scanned_into(device, items.into(), segments, output.into(), problem)
}

fn scanned_into(
    device: &Device,
    items: AnyView<'_>,
    segments: &Segments<'_>,
    output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<()> {
    let out = output.dtype();
    problem.check(items.dtype(), out)?;
    segments.check(items.len())?;
    if items.len() != output.len() {
        return Err(Error::LengthMismatch { input: items.len(), output: output.len() });
    }
    let kernel: ScanKernel = SegmentedKernel::new(problem.op, out, pairs::segmented_scan)?;
    let home = device.at_home(|| items.home().or_else(|| output.home()));
    let mut room = WidenedItems::default();
    if kernel.widened_to == out {
        let items = kernel.items(&home, items, &mut room)?;
        let output = output.bits_as(kernel.dtype);
        return kernel.scan_into(&home, items, segments, output, problem);
    }
    if matches!(home.kind().erased(), Erased::Gpu(_)) && !out.is_float() {
        let mut wide = AnyArray::with_any(&home, kernel.dtype, items.len())?;
        let read = kernel.items(&home, items, &mut room)?;
        kernel.scan_into(&home, read, segments, wide.view_mut(), problem)?;
        let wide = wide.bits_as(kernel.widened_to);
        let results = wide.view().bounded_like(&items);
        return narrowed_there(results, problem.op, out)?.evaluate_into(&home, output);
    }
    if items.is_bounded() {
        let reason = format!("the host rounds to {out}, and must know how many items there are");
        return Err(Error::Buffer { reason });
    }
    copied(&home, output, || scanned(&home, items, segments, out, problem))
}

impl ScanKernel {
    /// Scans segments into items of the kernel's type.
    fn scan_into(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        mut output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let problem = Scan { init: self.init(problem.init)?, ..*problem };
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                self.code.scan(cpu, items, segments.on_host(items.len())?, output, &problem)
            }
            Erased::Gpu(gpu) => {
                let problem = self.code.problem(&problem, gpu.language());
                gpu.segmented_scan(items.erased(), segments, output.erased(), &problem)
            }
        }
    }
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
/// Those of [`segmented_reduce`]; [`Error::OperatorElement`] for positions, which [`segmented_reduce`] finds by keys.
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
    reduced_by_key(device, keys.into(), items.into(), problem)
}

fn reduced_by_key(
    device: &Device,
    keys: AnyView<'_>,
    items: AnyView<'_>,
    problem: &Reduce,
) -> Result<(AnyArray, AnyArray)> {
    problem.check(items.dtype())?;
    let (home, segments) = (device.at_home(|| items.home()), segments_by_keys(keys)?);
    let mut unique = AnyArray::room_for(&home, keys)?;
    let results = values(&home, items, &segments, Some(unique.view_mut()), problem)?;
    Ok((unique.truncated(results.len()), results))
}
