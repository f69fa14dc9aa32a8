//! Recordings: calls that are bound to their arrays.

use std::time::Duration;

use upsweep_gpu::{ErasedReduce, ErasedScan, SelectOutputs, Selecting};

use crate::backend::{Record, on_backend, on_prepared};
use crate::erased::Erased;
use crate::explain::Launch;
use crate::plan::check_length;
use crate::runs::{check_encoded, firsts};
use crate::segmented::check_packed;
use crate::select::{bind_made, check_outputs, into_array};
use crate::strategy::Strategy;
use crate::{
    Device, Element, Error, GatherIndex, Number, Operator, PositionPlan, Reduce, ReducePlan,
    Result, Scan, ScanPlan, Segments, View, ViewMut, Widen, cuda, gpu,
};

/// A call that is bound to its arrays on a GPU, to be run as often as wanted: by itself, or as a part of what the caller puts
/// into a command stream of wgpu or a stream of CUDA.
///
/// It keeps what it needs, arrays of ours included. It uses the scratch memory of the plan that made it: runs must follow one
/// another, as they do in one queue or one stream. That a run went well is said by the next call that waits for the device,
/// such as [`Device::wait`] or [`Array::to_vec`](crate::Array::to_vec).
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) bound: Bound,
}

/// A recording of a backend.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(all(feature = "wgpu", feature = "cuda")),
    expect(dead_code, reason = "of a backend that is not built there is none")
)]
pub(crate) enum Bound {
    Wgpu(gpu::Bound),
    Cuda(cuda::Bound),
}

/// `$body` with the recording of a backend.
macro_rules! on_bound {
    ($recording:expr, $bound:ident => $body:expr) => {
        match &$recording.bound {
            Bound::Wgpu($bound) => $body,
            Bound::Cuda($bound) => $body,
        }
    };
}

impl Recording {
    /// The strategy that was chosen; `None` for a probe.
    pub fn strategy(&self) -> Option<Strategy> {
        on_bound!(self, bound => bound.strategy())
    }

    /// Number of launches.
    pub fn launches(&self) -> usize {
        on_bound!(self, bound => bound.launches())
    }

    /// What each launch is, in their order, and what it needs of the device, as far as its interface says.
    ///
    /// # Errors
    /// Those of the device.
    pub fn described(&self) -> Result<Vec<Launch>> {
        on_bound!(self, bound => bound.described())
    }

    /// Bytes of scratch memory that it uses, of the plan that made it.
    pub fn scratch_bytes(&self) -> u64 {
        on_bound!(self, bound => bound.scratch_bytes())
    }

    /// Begins a run of its own, and does not wait for it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn submit(&self) -> Result<()> {
        on_bound!(self, bound => bound.submit())
    }

    /// Runs it `runs` times, one after another, and returns how long each took on the device, by its
    /// own clock; `None` if it has none.
    ///
    /// Nothing else should be begun on the device meanwhile: by CUDA its stream waits until all runs are in it, half a second at most,
    /// and so does whatever comes behind them.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, runs: u32) -> Result<Option<Vec<Duration>>> {
        on_bound!(self, bound => bound.time(runs))
    }
}

impl<T, A, O> ReducePlan<T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    /// A run on certain arrays in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here. The
    /// result is one item.
    ///
    /// # Errors
    /// [`NoCommands`](crate::Error::NoCommands) on a CPU, [`PlanTooSmall`](crate::Error::PlanTooSmall),
    /// [`ResultLength`](crate::Error::ResultLength), [`WrongDevice`](crate::Error::WrongDevice),
    /// [`Buffer`](crate::Error::Buffer) for an array that cudarc may free any time, and those of the device.
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        result: impl Into<ViewMut<'b, A>>,
    ) -> Result<Recording> {
        self.bind_views(input.into(), result.into())
    }

    #[inline(never)]
    fn bind_views(&mut self, input: View<'_, T>, result: ViewMut<'_, A>) -> Result<Recording> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.bind_reduce::<T, A, O>(workspace, input, result, &self.problem)
        })
    }
}

impl<T, U, O> ScanPlan<T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    /// A run on certain arrays in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here. The
    /// two may be one range of one array.
    ///
    /// # Errors
    /// As [`ReducePlan::bind`], [`LengthMismatch`](crate::Error::LengthMismatch).
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, U>>,
    ) -> Result<Recording> {
        self.bind_views(input.into(), output.into())
    }

    #[inline(never)]
    fn bind_views(&mut self, input: View<'_, T>, output: ViewMut<'_, U>) -> Result<Recording> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.bind_scan::<T, U, O>(workspace, input, output, &self.problem)
        })
    }
}

impl<T: Number> PositionPlan<T> {
    /// A run on certain arrays in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here. The
    /// result is one item: the position, or `u64::MAX` if there are no items.
    ///
    /// # Errors
    /// As [`ReducePlan::bind`].
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        result: impl Into<ViewMut<'b, u64>>,
    ) -> Result<Recording> {
        self.bind_views(input.into(), result.into())
    }

    #[inline(never)]
    fn bind_views(&mut self, input: View<'_, T>, result: ViewMut<'_, u64>) -> Result<Recording> {
        check_length(input.len(), self.items)?;
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.bind_position::<T>(workspace, input, result, self.extreme)
        })
    }
}

/// A [scan within segments](crate::segmented_scan_into) from an array in a GPU's memory to another, to be begun as often as wanted.
/// What says where segments begin is there too. Everything that it needs is made here.
///
/// # Errors
/// Those of [`segmented_scan_into`](crate::segmented_scan_into) and of [`ReducePlan::bind`].
pub fn bind_segmented_scan<'a, 'b, T, U, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, U>>,
    problem: &Scan<U::Acc, O>,
) -> Result<Recording>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let items = items.into();
    let mut output = output.into().fitted(items.len(), items.bound());
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            segments.check(items.len())?;
            let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, gpu.language());
            gpu.bind_segmented_scan(items.erased(), segments, output.erased().items, &problem)
        }
    }
}

/// A [reduction of segments](crate::segmented_reduce_into) that offsets in a GPU's memory say, from an array there to another, to be begun as
/// often as wanted. Everything that it needs is made here; a run reads the offsets that are there.
///
/// # Errors
/// Those of [`segmented_reduce_into`](crate::segmented_reduce_into) and of [`ReducePlan::bind`].
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, Reduce, Result, Segments, Sum, bind_segmented_reduce};
///
/// /// The sums of rows of a matrix whose entries change from step to step.
/// fn rows_of_steps(device: &Device, steps: &[[f32; 4]]) -> Result<Vec<Vec<f32>>> {
///     let mut entries = Array::from_slice(device, &[0.0f32; 4])?;
///     let (rows, mut sums) = (Array::from_slice(device, &[0u32, 1, 4])?, Array::filled(device, 2, 0.0)?);
///     let by_rows = Segments::by_offsets(&rows);
///     let recording = bind_segmented_reduce(device, &entries, &by_rows, &mut sums, &Reduce::new(Sum))?;
///     let mut all = Vec::new();
///     for step in steps {
///         entries.copy_from_slice(step)?;
///         recording.submit()?;
///         all.push(sums.to_vec()?);
///     }
///     Ok(all)
/// }
/// # // A CPU has no recordings.
/// # assert!(rows_of_steps(&Device::cpu(), &[]).is_err());
/// ```
pub fn bind_segmented_reduce<'a, 'b, T, U, O>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    segments: &Segments<'_>,
    output: impl Into<ViewMut<'b, U>>,
    problem: &Reduce<U::Acc, O>,
) -> Result<Recording>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let (items, mut output) = (items.into(), segments.fitted(output.into()));
    segments.check_counted(items.len(), output.len())?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            let (items, output) = (items.erased(), output.erased().items);
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
            gpu.bind_segmented_reduce(items, segments, output, None, &problem)
        }
    }
}

/// A [reduction by keys](crate::reduce_by_key_into) from arrays in a GPU's memory to others, to be begun as often as wanted. Everything that it
/// needs is made here.
///
/// # Errors
/// Those of [`reduce_by_key_into`](crate::reduce_by_key_into) and of [`ReducePlan::bind`].
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, Recording, Reduce, Result, Sum, bind_reduce_by_key};
///
/// /// The sales of each day, into arrays with room for as many days as there are sales.
/// fn sales_of_days(
///     device: &Device,
///     [days, prices]: [&Array<u32>; 2],
///     [day, total]: [&mut Array<u32>; 2],
///     number: &mut Array<u64>,
/// ) -> Result<Recording> {
///     bind_reduce_by_key(device, days, prices, day, total, number, &Reduce::new(Sum))
/// }
/// # // A CPU has no recordings.
/// # let (of, mut n) = (&Device::cpu(), Array::filled(&Device::cpu(), 1, 0u64)?);
/// # let [a, b, mut c, mut d] = [0, 1, 2, 3].map(|item| Array::filled(of, 1, item).unwrap());
/// # assert!(sales_of_days(of, [&a, &b], [&mut c, &mut d], &mut n).is_err());
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn bind_reduce_by_key<'a, 'b, 'c, 'd, 'e, K, T, U, O>(
    device: &Device,
    keys: impl Into<View<'a, K>>,
    items: impl Into<View<'b, T>>,
    unique: impl Into<ViewMut<'c, K>>,
    output: impl Into<ViewMut<'d, U>>,
    count: impl Into<ViewMut<'e, u64>>,
    problem: &Reduce<U::Acc, O>,
) -> Result<Recording>
where
    K: Element,
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let (keys, items, mut count) = (keys.into(), items.into(), count.into());
    let mut unique = unique.into().fitted(keys.len(), keys.bound());
    let mut output = output.into().fitted(items.len(), items.bound());
    let (segments, unique) = (Segments::by_keys(keys), unique.erased());
    check_packed(items.len(), &segments, &output, Some(&unique), &count)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            let packed = Some((Some(unique), count.erased().items));
            let (items, output) = (items.erased(), output.erased().items);
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
            gpu.bind_segmented_reduce(items, &segments, output, packed, &problem)
        }
    }
}

/// The [first item of each run](crate::unique_into) from an array in a GPU's memory to another, to be begun as often as wanted.
/// Everything that it needs is made here.
///
/// # Errors
/// Those of [`unique_into`](crate::unique_into) and of [`ReducePlan::bind`].
pub fn bind_unique<'a, 'b, 'c, T: Element>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, T>>,
    count: impl Into<ViewMut<'c, u64>>,
) -> Result<Recording> {
    let (items, mut count) = (items.into(), count.into());
    let mut output = output.into().fitted(items.len(), items.bound());
    check_outputs(items.len(), &output, &count)?;
    bind_made(device, &firsts(items), Selecting::Selected, (&mut output, &mut count))
}

/// The [run lengths](crate::run_length_encode_into) of an array in a GPU's memory, to be found as often as wanted. Everything that it needs
/// is made here.
///
/// # Errors
/// Those of [`run_length_encode_into`](crate::run_length_encode_into) and of [`ReducePlan::bind`].
///
/// # Examples
/// ```
/// use upsweep::{Array, Device, Result, bind_run_length_encode};
///
/// /// How many runs each row of a bitmap has.
/// fn runs_of_rows(device: &Device, rows: &[[u8; 64]]) -> Result<Vec<u64>> {
///     let mut row = Array::from_slice(device, &[0u8; 64])?;
///     let (mut values, mut lengths) = (Array::filled(device, 64, 0u8)?, Array::filled(device, 64, 0u32)?);
///     let mut number = Array::filled(device, 1, 0u64)?;
///     let recording = bind_run_length_encode(device, &row, &mut values, &mut lengths, &mut number)?;
///     let mut all = Vec::new();
///     for bits in rows {
///         row.copy_from_slice(bits)?;
///         recording.submit()?;
///         all.extend(number.to_vec()?);
///     }
///     Ok(all)
/// }
/// # // A CPU has no recordings.
/// # assert!(runs_of_rows(&Device::cpu(), &[]).is_err());
/// ```
pub fn bind_run_length_encode<'a, 'b, 'c, 'd, T: Element, I: GatherIndex>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    values: impl Into<ViewMut<'b, T>>,
    counts: impl Into<ViewMut<'c, I>>,
    number: impl Into<ViewMut<'d, u64>>,
) -> Result<Recording> {
    let (items, mut number) = (items.into(), number.into());
    let mut values = values.into().fitted(items.len(), items.bound());
    let mut counts = counts.into().fitted(items.len(), items.bound());
    check_encoded(items.len(), (&values, &counts), &number)?;
    match device.at_home(|| values.home()).kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            let lengths = Some(counts.erased().items);
            let to = into_array(values.erased().items, number.erased().items);
            let way = Selecting::Runs { long: size_of::<I>() > 4 };
            gpu.bind_select(&firsts(items), way, SelectOutputs { lengths, ..to })
        }
    }
}

impl Device {
    /// Reads an array from beginning to end: the limit that a reduction is measured against. Of an array that one binding
    /// does not hold, as much as it does.
    ///
    /// # Errors
    /// [`NoCommands`](crate::Error::NoCommands) on a CPU, [`WrongDevice`](crate::Error::WrongDevice), and those of the
    /// device.
    pub fn bind_probe_read<'a, T: Element>(
        &self,
        input: impl Into<View<'a, T>>,
    ) -> Result<Recording> {
        let input = input.into();
        on_backend!(self, backend => backend.bind_probe_read(input))
    }

    /// Copies all bytes of an array to another that has at least as many: the limit that a scan is measured against. Of an
    /// array that one binding does not hold, as much as it does.
    ///
    /// # Errors
    /// As [`bind_probe_read`](Device::bind_probe_read), [`Buffer`](crate::Error::Buffer) if there are fewer.
    pub fn bind_probe_copy<'a, 'b, T: Element, U: Element>(
        &self,
        input: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, U>>,
    ) -> Result<Recording> {
        let (input, output) = (input.into(), output.into());
        on_backend!(self, backend => backend.bind_probe_copy(input, output))
    }
}
