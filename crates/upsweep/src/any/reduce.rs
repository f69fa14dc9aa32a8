//! Reductions, positions of extremes and means.

use core::fmt;
use core::hint::black_box;
use core::num::NonZeroU32;

use bytemuck::cast_slice;

use super::convert::check_accumulator;
use super::converted::{WidenedItems, read_there, widened_there};
use super::kernel::{ReduceKernel, accumulator, combined_in, widened_to};
use super::stream::ReduceStream;
use super::view::{AnyView, AnyViewMut, on_host};
use super::{Op, Scalar, bind_reduce, with_dtype};
use crate::backend::wrong_device;
use crate::erased::{Erased, ErasedItemsMut};
use crate::profile::Traffic;
use crate::{
    ArgMax, ArgMin, Device, Dtype, Element, Error, Indexed, Mean, Operator, Result, argmax, argmin,
};

/// A reduction of items whose type is a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduce {
    /// What to combine with, or to search for.
    pub op: Op,
    /// The type of the result; by default that of [`accumulator`].
    pub acc: Option<Dtype>,
    /// A value that is combined in front of the first item. It has the type that items are [combined in](combined_in).
    pub init: Option<Scalar>,
}

impl Reduce {
    /// A reduction from the identity into the default type.
    pub fn new(op: Op) -> Self {
        Self { op, acc: None, init: None }
    }

    /// Asks for the type of the result.
    #[must_use]
    pub fn acc(self, acc: Dtype) -> Self {
        Self { acc: Some(acc), ..self }
    }

    /// Combines `init` in front of the first item.
    #[must_use]
    pub fn init(self, init: Scalar) -> Self {
        Self { init: Some(init), ..self }
    }

    /// The type of the result for items of this type.
    pub fn result(&self, item: Dtype) -> Dtype {
        self.acc.unwrap_or_else(|| accumulator(self.op, item))
    }

    /// Refuses what there is not.
    pub(super) fn check(&self, item: Dtype) -> Result<()> {
        let Self { op, acc, init } = *self;
        op.check(item)?;
        let acc = match acc {
            Some(acc) if op.is_position() && acc != Dtype::U64 => {
                return Err(Error::OperatorElement { operator: op.name(), dtype: acc });
            }
            _ if op.is_position() => Dtype::U64,
            Some(acc) => {
                check_accumulator(item, acc)?;
                acc
            }
            None => accumulator(op, item),
        };
        op.check(acc)?;
        if op == Op::Mean && !matches!(acc, Dtype::F32 | Dtype::F64) {
            return Err(Error::OperatorElement { operator: op.name(), dtype: acc });
        }
        let Some(init) = init else { return Ok(()) };
        if !op.scans() {
            return Err(Error::NoInit { operator: op.name() });
        }
        let wanted = combined_in(acc);
        if init.dtype() == wanted {
            Ok(())
        } else {
            Err(Error::WrongDtype { found: init.dtype(), wanted })
        }
    }
}

/// Combines all items into one value, or searches for an extreme.
///
/// # Result
/// As [`reduce_as`](crate::reduce_as), [`argmin`], [`argmax`] and [`mean`](crate::mean), in the type that
/// [`Reduce::result`] says; `None` only for the position of an extreme of nothing.
///
/// # Cost
/// Reads the input once, and returns when the value is there. Items that are widened first take a buffer for 2^20 of them. A GPU
/// widens those in its memory as it reads them, but makes an array of short floats that are combined in `f64`.
///
/// # Errors
/// [`Error::OperatorElement`] for what is not defined; [`Error::Accumulator`] for a result that does not hold every item;
/// [`Error::WrongDtype`] for a start value of another type than items are [combined in](combined_in); those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, Op, Reduce, Scalar}};
/// let device = Device::cpu();
/// let items = [3i16, -7, 100];
/// let reduce = |op| any::reduce(&device, &items, &Reduce::new(op));
/// assert_eq!(reduce(Op::Sum)?, Some(Scalar::new(96i64)));
/// assert_eq!(reduce(Op::Min)?, Some(Scalar::new(-7i16)));
/// assert_eq!(reduce(Op::ArgMax)?, Some(Scalar::new(2u64)));
/// assert_eq!(reduce(Op::Mean)?, Some(Scalar::new(32.0)));
/// let total = any::reduce(&device, &items, &Reduce::new(Op::Sum).acc(Dtype::F64))?;
/// assert_eq!(total, Some(Scalar::new(96.0)));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    problem: &Reduce,
) -> Result<Option<Scalar>> {
    let input = input.into();
    ReduceCall::new(device, input.dtype(), problem)?.run(device, input)
}

/// A reduction whose kernel is looked up once, for calls on short arrays again and again.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{Op, Reduce, ReduceCall, Scalar}};
/// let device = Device::cpu();
/// let sum = ReduceCall::new(&device, Dtype::U8, &Reduce::new(Op::Sum))?;
/// assert_eq!(sum.run(&device, &[200u8, 100])?, Some(Scalar::new(300u64)));
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ReduceCall {
    problem: Reduce,
    item: Dtype,
    code: Code,
}

enum Code {
    Value(ReduceKernel),
    Position(fn(&Device, AnyView<'_>, NonZeroU32) -> Result<Option<u64>>),
}

impl ReduceCall {
    /// A reduction of items of type `item` on devices of one kind.
    ///
    /// # Errors
    /// Those of [`reduce`].
    pub fn new(device: &Device, item: Dtype, problem: &Reduce) -> Result<Self> {
        problem.check(item)?;
        let code = match problem.op {
            Op::ArgMin => Code::Position(with_dtype!(item, T => {
                |device: &Device, input: AnyView<'_>, calls: NonZeroU32| {
                    let input = input.typed::<T>()?;
                    again(calls, || argmin(device, black_box(input)))
                }
            })),
            Op::ArgMax => Code::Position(with_dtype!(item, T => {
                |device: &Device, input: AnyView<'_>, calls: NonZeroU32| {
                    let input = input.typed::<T>()?;
                    again(calls, || argmax(device, black_box(input)))
                }
            })),
            _ => Code::Value(problem.kernel(item, device.limits().int64)?),
        };
        Ok(Self { problem: *problem, item, code })
    }

    /// Combines all items into one value, or searches for an extreme.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type; those of the device.
    pub fn run<'a>(
        &self,
        device: &Device,
        input: impl Into<AnyView<'a>>,
    ) -> Result<Option<Scalar>> {
        self.run_view(device, input.into(), NonZeroU32::MIN)
    }

    /// Does the same `calls` times, for timing. On a CPU the loop lies where the types are known, so that each time is that of a
    /// typed call; [`run`](Self::run) in a loop would time the way there too.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_repeatedly<'a>(
        &self,
        device: &Device,
        input: impl Into<AnyView<'a>>,
        calls: NonZeroU32,
    ) -> Result<Option<Scalar>> {
        self.run_view(device, input.into(), calls)
    }

    fn run_view(
        &self,
        device: &Device,
        input: AnyView<'_>,
        calls: NonZeroU32,
    ) -> Result<Option<Scalar>> {
        let Self { problem, item, .. } = *self;
        if input.dtype() != item {
            return Err(Error::WrongDtype { found: input.dtype(), wanted: item });
        }
        let kernel = match &self.code {
            Code::Position(find) => return Ok(find(device, input, calls)?.map(Scalar::new)),
            Code::Value(kernel) => kernel,
        };
        let (is_widened, is_on_host) = (kernel.widened_to != item, input.bytes().is_some());
        if is_widened && is_on_host || (is_widened || kernel.widens) && input.is_empty() {
            return again(calls, || {
                let mut stream = ReduceStream::new(device, item, &problem)?;
                if !input.is_empty() {
                    stream.push(black_box(input))?;
                }
                stream.finish()
            });
        }
        let init = kernel.init(problem.init);
        let value = if is_widened {
            let home = device.at_home(|| input.home());
            again(calls, || match (read_there(input)?, home.kind().erased()) {
                (Some(items), Erased::Gpu(gpu)) => items.combined(gpu, kernel, problem.init),
                _ => {
                    let mut room = WidenedItems::default();
                    let items = widened_there(&home, input, kernel.widened_to, &mut room)?;
                    kernel.run(&home, items, init, NonZeroU32::MIN)
                }
            })?
        } else {
            kernel.run(device, input, init, calls)?
        };
        let value = kernel.result(value, item, problem.init)?;
        Ok(Some(if problem.op == Op::Mean {
            mean_of(problem.op, value, device.known_len(input.erased())?)
        } else {
            value
        }))
    }
}

impl fmt::Debug for ReduceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReduceCall")
            .field("problem", &self.problem)
            .field("item", &self.item)
            .finish_non_exhaustive()
    }
}

/// Calls so often, and gives what the last call gave.
fn again<R>(calls: NonZeroU32, mut call: impl FnMut() -> Result<R>) -> Result<R> {
    for _ in 1..calls.get() {
        black_box(call()?);
    }
    call()
}

impl Reduce {
    /// The kernel for items of this type; that of a mean is its sum's.
    pub(super) fn kernel(&self, item: Dtype, int64: bool) -> Result<ReduceKernel> {
        let op = if self.op == Op::Mean { Op::Sum } else { self.op };
        ReduceKernel::new(op, item, self.result(item), int64)
    }
}

impl ReduceKernel {
    /// Whether a device can run it.
    fn is_on(&self, device: &Device) -> bool {
        device.kind().erased().can(|language| self.code.problem(None, language).signature)
    }

    /// Combines all items into one value. They have the type that items are widened to.
    #[inline]
    fn run(
        &self,
        device: &Device,
        input: AnyView<'_>,
        init: Option<Scalar>,
        calls: NonZeroU32,
    ) -> Result<Scalar> {
        let (code, input) = (self.code, input.bits_as(self.from));
        let bytes = || input.len() * self.from.size();
        let can = |device: &Device| self.is_on(device);
        let device = device.for_call(|| input.home(), Traffic::Reads, bytes, can);
        match device.kind().erased() {
            Erased::Cpu(cpu) => code.reduce(cpu, input, init, calls),
            Erased::Gpu(gpu) => {
                let problem = code.problem(init, gpu.language());
                let state = || code.chunks(init).into_erased();
                let found = again(calls, || gpu.reduce(input.erased(), &problem, &state))?;
                Ok(Scalar::of_bytes(self.to, cast_slice(&found)))
            }
        }
    }

    /// The same into the one item of `result`.
    fn run_into(
        &self,
        device: &Device,
        input: AnyView<'_>,
        result: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()> {
        let (input, mut result) = (input.bits_as(self.from), result.bits_as(self.to));
        let bytes = || input.len() * self.from.size();
        let can = |device: &Device| self.is_on(device);
        let home = || input.home().or_else(|| result.home());
        let device = device.for_call(home, Traffic::Reads, bytes, can);
        if let (Erased::Gpu(gpu), ErasedItemsMut::Device(range)) =
            (device.kind().erased(), result.erased())
        {
            let problem = self.code.problem(init, gpu.language());
            return gpu.reduce_into(input.erased(), range, &problem);
        }
        let value = self.run(&device, input, init, NonZeroU32::MIN)?;
        match result.bytes_mut() {
            Some(bytes) => bytes.copy_from_slice(value.bytes()),
            None => return Err(wrong_device(result.device(), device.id())),
        }
        Ok(())
    }
}

/// Like [`reduce`], leaving the value where the caller wants it: on a GPU the host need not wait.
///
/// # Arguments
/// - `result`: one item of the type that [`Reduce::result`] says, or `f32` for short floats. A position of nothing is `u64::MAX`.
///
/// # Cost
/// As [`reduce`]. A call whose kernel gives another type than the result's, and a mean, wait for the value.
///
/// # Errors
/// Those of [`reduce`]; [`Error::ResultLength`] unless there is room for one item; [`Error::WrongDtype`] if it has another type.
pub fn reduce_into<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    result: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<()> {
    reduce_views(device, input.into(), result.into(), problem)
}

fn reduce_views(
    device: &Device,
    input: AnyView<'_>,
    mut result: AnyViewMut<'_>,
    problem: &Reduce,
) -> Result<()> {
    let item = input.dtype();
    problem.check(item)?;
    if result.len() != 1 {
        return Err(Error::ResultLength { items: result.len() });
    }
    let wanted = combined_in(problem.result(item));
    if result.dtype() != wanted {
        return Err(Error::WrongDtype { found: result.dtype(), wanted });
    }
    if problem.op.is_position() && result.bytes_mut().is_none() {
        return bind_reduce(device, input, result, problem)?.submit();
    }
    if problem.op.scans() && !input.is_empty() {
        let kernel = ReduceKernel::new(problem.op, item, wanted, device.limits().int64)?;
        let gives_result = !kernel.widens && kernel.to.size() == wanted.size();
        if gives_result && kernel.widened_to == item {
            return kernel.run_into(device, input, result, problem.init);
        }
        if gives_result && input.bytes().is_none() && result.bytes_mut().is_none() {
            let home = device.at_home(|| input.home());
            if let (Some(items), Erased::Gpu(gpu), ErasedItemsMut::Device(range)) =
                (read_there(input)?, home.kind().erased(), result.erased())
            {
                return items.combined_into(gpu, &kernel, range, problem.init);
            }
            let mut room = WidenedItems::default();
            let items = widened_there(&home, input, kernel.widened_to, &mut room)?;
            return kernel.run_into(&home, items, result, problem.init);
        }
    }
    let problem = Reduce { acc: Some(wanted), ..*problem };
    let value = reduce(device, input, &problem)?.unwrap_or(Scalar::new(u64::MAX));
    write_value(device, result, value)
}

/// Writes a value to the one item of `result`, which has its type.
pub(super) fn write_value(
    device: &Device,
    mut result: AnyViewMut<'_>,
    value: Scalar,
) -> Result<()> {
    if let Some(bytes) = result.bytes_mut() {
        bytes.copy_from_slice(value.bytes());
        return Ok(());
    }
    // One item is its own extreme.
    let (dtype, word) = (value.dtype(), [value.word()]);
    let one = AnyView::from_bytes(dtype, &cast_slice(&word)[..dtype.size()])?;
    ReduceKernel::new(Op::Max, dtype, dtype, true)?.run_into(device, one, result, None)
}

/// The sequential answer that [`reduce`] is held to on every device, of items in host memory.
///
/// # Errors
/// Those of [`reduce`].
pub fn reference_reduce<'a>(
    input: impl Into<AnyView<'a>>,
    problem: &Reduce,
) -> Result<Option<Scalar>> {
    reference_of_view(input.into(), problem)
}

// Not generic, so that callers do not compile it.
fn reference_of_view(input: AnyView<'_>, problem: &Reduce) -> Result<Option<Scalar>> {
    let item = input.dtype();
    problem.check(item)?;
    if problem.op.is_position() {
        return with_dtype!(item, T => {
            let items = on_host(input.typed::<T>()?)?.iter().zip(0..);
            let indexed = items.map(|(item, index)| Indexed { value: item.to_acc(), index });
            let best = match problem.op {
                Op::ArgMax => indexed.reduce(|left, right| ArgMax.combine(left, right)),
                _ => indexed.reduce(|left, right| ArgMin.combine(left, right)),
            };
            Ok(best.map(|best| Scalar::new(best.index)))
        });
    }
    let mut kernel = problem.kernel(item, true)?;
    if input.is_empty() && kernel.widens {
        kernel = problem.kernel(kernel.acc, true)?;
    }
    let mut buffer = Vec::new();
    let items = widened_to(input, kernel.widened_to, &mut buffer)?;
    let init = kernel.init(problem.init);
    let value = kernel.code.reference(items.bits_as(kernel.from), init)?;
    let value = kernel.result(value, item, problem.init)?;
    Ok(Some(mean_of(problem.op, value, input.len())))
}

/// A sum of so many items, or their mean if that was asked for.
pub(super) fn mean_of(op: Op, sum: Scalar, items: usize) -> Scalar {
    match (op, sum.dtype()) {
        (Op::Mean, Dtype::F32) => Scalar::new(<f32 as Mean>::divide(sum.bits(), items)),
        (Op::Mean, _) => Scalar::new(<f64 as Mean>::divide(sum.bits(), items)),
        _ => sum,
    }
}
