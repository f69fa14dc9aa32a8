//! Reductions, positions of extremes and means.

use core::fmt::{self, Display};
use core::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use super::array::{AnyView, AnyViewMut, on_host};
use super::convert::{check_accumulator, convert};
use super::pairs::{self, ReduceChunks, same_bits};
use super::{Op, Scalar, with_dtype};
use crate::backend::wrong_device;
use crate::{
    ArgMax, ArgMin, Device, Dtype, Element, Error, Indexed, Mean, Number, Operator, PositionPlan,
    Recording, Result, argmax, argmin, bf16, f16,
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

    /// The code for values of items of this type, the types that they are seen as and read as, and its start value.
    pub(super) fn code(
        &self,
        item: Dtype,
        device: &Device,
    ) -> Result<(&'static dyn pairs::ReducePair, [Dtype; 2], Option<Scalar>)> {
        self.check(item)?;
        let op = if self.op == Op::Mean { Op::Sum } else { self.op };
        let way = Way::new(op, item, self.result(item), device.limits().int64)?;
        Ok((way.code()?, [way.seen, way.from], way.init(self.init)))
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
            let reason = format!("{op} has no start value");
            return Err(Error::Buffer { reason });
        }
        let wanted = combined_in(acc);
        if init.dtype() == wanted {
            Ok(())
        } else {
            Err(Error::WrongDtype { found: init.dtype(), wanted })
        }
    }
}

/// The type of a result unless another is asked for: 64 bits for sums and products of integers, `f32` for those of short floats,
/// `u64` for positions, `f32` or `f64` for means, and the items' type for all else.
pub fn accumulator(op: Op, item: Dtype) -> Dtype {
    match (op, item) {
        (Op::ArgMin | Op::ArgMax, _) => Dtype::U64,
        (Op::Mean, Dtype::F16 | Dtype::Bf16 | Dtype::F32) => Dtype::F32,
        (Op::Mean, _) => Dtype::F64,
        (Op::Sum | Op::Product, Dtype::U8 | Dtype::U16 | Dtype::U32) => Dtype::U64,
        (Op::Sum | Op::Product, Dtype::I8 | Dtype::I16 | Dtype::I32) => Dtype::I64,
        (Op::Sum | Op::Product, other) => combined_in(other),
        (_, other) => other,
    }
}

/// The type in which items of a type are combined if the result has their type: `f32` for short floats, or the type itself.
pub fn combined_in(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}

/// The kernel that a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The operator.
    pub op: Op,
    /// The type that it reads.
    pub item: Dtype,
    /// The type that it combines in, of a reduction, or that it writes, of a scan.
    pub out: Dtype,
    /// Whether items are widened first, piece by piece.
    pub converts: bool,
}

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, item, out, converts } = self;
        write!(f, "{op} {item} in {out}{}", if *converts { ", items converted first" } else { "" })
    }
}

/// How a reduction is done.
#[derive(Clone, Copy, Debug)]
struct Way {
    op: Op,
    /// The type that items are widened to if it is not theirs.
    seen: Dtype,
    /// The types of the kernel.
    from: Dtype,
    to: Dtype,
    /// The type of the result.
    acc: Dtype,
    /// Whether the kernel's value has the items' type, and is widened in the end.
    widens: bool,
}

impl Way {
    /// How items of type `item` are combined into a result of type `acc`.
    fn new(op: Op, item: Dtype, acc: Dtype, int64: bool) -> Result<Self> {
        let of = |seen: Dtype, to: Dtype, widens: bool| {
            let (from, to) = same_bits(op, seen, to);
            pairs::reduction(op, from, to).map(|_| Self { op, seen, from, to, acc, widens })
        };
        let combined = combined_in(acc);
        // Integers wrap, so that 64 bits end in the bits of every narrower result. A device without such integers can do
        // with those.
        let in_64_bits = || {
            let wraps = op.accumulates() && !acc.is_float() && int64;
            wraps.then(|| of(item, accumulator(op, item), false)).flatten()
        };
        // The extreme of widened values is the widened extreme; so it is with bits.
        let narrow = || (!op.accumulates()).then(|| of(item, combined_in(item), true)).flatten();
        of(item, combined, false)
            .or_else(in_64_bits)
            .or_else(narrow)
            .or_else(|| of(combined, combined, false))
            .ok_or(Error::OperatorElement { operator: op.name(), dtype: item })
    }

    fn code(&self) -> Result<&'static dyn pairs::ReducePair> {
        let missing = Error::OperatorElement { operator: self.op.name(), dtype: self.from };
        pairs::reduction(self.op, self.from, self.to).ok_or(missing)
    }

    fn kernel(&self, item: Dtype) -> Kernel {
        Kernel { op: self.op, item: self.from, out: self.to, converts: self.seen != item }
    }

    /// The start value that the kernel gets. A value that is widened gets it in the end.
    fn init(&self, init: Option<Scalar>) -> Option<Scalar> {
        init.filter(|_| !self.widens)
    }

    /// The result by the kernel's value of items of type `item`.
    fn result(&self, value: Scalar, item: Dtype, init: Option<Scalar>) -> Result<Scalar> {
        if !self.widens {
            let is_narrow = value.dtype() == self.acc;
            return Ok(if is_narrow { value } else { narrowed(value, self.acc) });
        }
        let own = narrowed(value, item);
        let wide = own.widened(combined_in(self.acc)).unwrap_or(own);
        let wide = match init {
            Some(init) => {
                let both = [init, wide].map(|scalar| scalar.word());
                let mut bytes = [0u64; 2];
                let pair = Self::new(self.op, wide.dtype(), wide.dtype(), true)?;
                let size = wide.dtype().size();
                let room: &mut [u8] = cast_slice_mut(&mut bytes);
                for (room, word) in room.chunks_exact_mut(size).zip(both) {
                    room.copy_from_slice(&word.to_le_bytes()[..size]);
                }
                let view = AnyView::from_bytes(wide.dtype(), &room[..2 * size])?;
                pair.code()?.reference(view.bits_as(pair.from), None)?.wrapped(wide.dtype())
            }
            None => wide,
        };
        Ok(narrowed(wide, self.acc))
    }
}

/// A value as one of a type that is no wider: rounded once if that is a short float, of integers the lower bits, and otherwise
/// the same bits.
pub(super) fn narrowed(value: Scalar, dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F16 => Scalar::new(f16::from_f32(value.bits())),
        Dtype::Bf16 => Scalar::new(bf16::from_f32(value.bits())),
        _ => value.wrapped(dtype),
    }
}

/// The kernel of a reduction; `None` if there is no such reduction.
pub fn reduce_kernel(op: Op, item: Dtype, acc: Option<Dtype>) -> Option<Kernel> {
    let problem = Reduce { op, acc, init: None };
    problem.check(item).ok()?;
    match op {
        Op::ArgMin | Op::ArgMax => Some(Kernel { op, item, out: Dtype::U64, converts: false }),
        Op::Mean => Some(Way::new(Op::Sum, item, problem.result(item), true).ok()?.kernel(item)),
        _ => Some(Way::new(op, item, problem.result(item), true).ok()?.kernel(item)),
    }
}

/// Combines all items into one value, or searches for an extreme.
///
/// # Result
/// As [`reduce_as`](crate::reduce_as), [`argmin`], [`argmax`] and [`mean`](crate::mean), in the type that
/// [`Reduce::result`] says; `None` only for the position of an extreme of nothing.
///
/// # Cost
/// Reads the input once, and returns when the value is there. Items that are widened first take a buffer of a MiB of items.
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
    reduce_view(device, input.into(), problem)
}

/// A reduction whose kernel is looked up once: what is called again and again costs no more than with types.
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
    Value(Way, &'static dyn pairs::ReducePair),
    Position(fn(&Device, AnyView<'_>) -> Result<Option<u64>>),
    /// Whatever [`reduce`] does.
    Other,
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
                |device: &Device, input: AnyView<'_>| argmin(device, input.typed::<T>()?)
            })),
            Op::ArgMax => Code::Position(with_dtype!(item, T => {
                |device: &Device, input: AnyView<'_>| argmax(device, input.typed::<T>()?)
            })),
            Op::Mean => Code::Other,
            op => {
                let way = Way::new(op, item, problem.result(item), device.limits().int64)?;
                if way.seen == item { Code::Value(way, way.code()?) } else { Code::Other }
            }
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
        self.run_view(device, input.into())
    }

    fn run_view(&self, device: &Device, input: AnyView<'_>) -> Result<Option<Scalar>> {
        if input.dtype() != self.item {
            return Err(Error::WrongDtype { found: input.dtype(), wanted: self.item });
        }
        let init = self.problem.init;
        match &self.code {
            Code::Value(way, code) if !(way.widens && input.is_empty()) => {
                let value = code.reduce(device, input.bits_as(way.from), way.init(init))?;
                way.result(value, self.item, init).map(Some)
            }
            Code::Position(find) => Ok(find(device, input)?.map(Scalar::new)),
            _ => reduce_view(device, input, &self.problem),
        }
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

fn reduce_view(device: &Device, input: AnyView<'_>, problem: &Reduce) -> Result<Option<Scalar>> {
    let item = input.dtype();
    problem.check(item)?;
    if problem.op.is_position() {
        let found = with_dtype!(item, T => match problem.op {
            Op::ArgMax => argmax(device, input.typed::<T>()?),
            _ => argmin(device, input.typed::<T>()?),
        });
        return found.map(|position| position.map(Scalar::new));
    }
    if problem.op == Op::Mean || input.is_empty() {
        let mut stream = ReduceStream::new(device, item, problem)?;
        stream.push(input)?;
        return stream.finish();
    }
    let way = Way::new(problem.op, item, problem.result(item), device.limits().int64)?;
    if way.seen != item {
        let mut stream = ReduceStream::new(device, item, problem)?;
        stream.push(input)?;
        return stream.finish();
    }
    let value = way.code()?.reduce(device, input.bits_as(way.from), way.init(problem.init))?;
    way.result(value, item, problem.init).map(Some)
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
        let way = Way::new(problem.op, item, wanted, device.limits().int64)?;
        let direct = way.seen == item && !way.widens && way.to.size() == wanted.size();
        if direct {
            let (input, result) = (input.bits_as(way.from), result.bits_as(way.to));
            return way.code()?.reduce_into(device, input, result, problem.init);
        }
    }
    let problem = Reduce { acc: Some(wanted), ..*problem };
    let value = reduce_view(device, input, &problem)?.unwrap_or(Scalar::new(u64::MAX));
    if let Some(bytes) = result.bytes_mut() {
        bytes.copy_from_slice(value.bytes());
        return Ok(());
    }
    // One item is its own extreme.
    let word = [value.word()];
    let one = AnyView::from_bytes(wanted, &cast_slice(&word)[..wanted.size()])?;
    let way = Way::new(Op::Max, wanted, wanted, true)?;
    way.code()?.reduce_into(device, one.bits_as(way.from), result.bits_as(way.to), None)
}

/// Binds a reduction to arrays of a GPU, to be run as often as wanted: see [`ReducePlan::bind`](crate::ReducePlan::bind).
///
/// # Errors
/// Those of [`reduce_into`]; [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for a mean and for pairs of types that
/// have no kernel.
pub fn bind_reduce<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    result: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<Recording> {
    let input = input.into();
    bind_views(device, input.len(), input, result.into(), problem)
}

/// Binds the reduction that arrays of as many as `items` items get, to shorter ones: see [`ReducePlan`](crate::ReducePlan).
///
/// Kernels are made before there are arrays of that length.
///
/// # Errors
/// Those of [`bind_reduce`]; [`Error::PlanTooSmall`] if there are more items.
pub fn bind_reduce_up_to<'a, 'b>(
    device: &Device,
    items: usize,
    input: impl Into<AnyView<'a>>,
    result: impl Into<AnyViewMut<'b>>,
    problem: &Reduce,
) -> Result<Recording> {
    bind_views(device, items, input.into(), result.into(), problem)
}

fn bind_views(
    device: &Device,
    items: usize,
    input: AnyView<'_>,
    result: AnyViewMut<'_>,
    problem: &Reduce,
) -> Result<Recording> {
    let Reduce { op, init, .. } = *problem;
    let item = input.dtype();
    problem.check(item)?;
    if op.is_position() {
        let result = result.typed::<u64>()?;
        return with_dtype!(item, T => {
            let plan = if op == Op::ArgMax { PositionPlan::<T>::argmax } else { PositionPlan::argmin };
            plan(device, items)?.bind(input.typed::<T>()?, result)
        });
    }
    let wanted = combined_in(problem.result(item));
    if result.dtype() != wanted {
        return Err(Error::WrongDtype { found: result.dtype(), wanted });
    }
    let missing = Error::OperatorElement { operator: op.name(), dtype: item };
    let (from, to) = same_bits(op, item, wanted);
    let code = pairs::reduction(op, from, to).filter(|_| op.scans()).ok_or(missing)?;
    code.bind(device, items, input.bits_as(from), result.bits_as(to), init)
}

/// A reduction of an array that comes in chunks, first chunk first, with the bits that the whole would give.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, AnyView, Op, Reduce, ReduceStream}};
/// let device = Device::cpu();
/// let items = vec![0.1f32; 3_000_000];
/// let problem = Reduce::new(Op::Sum);
/// let mut stream = ReduceStream::new(&device, Dtype::F32, &problem)?;
/// for chunk in items.chunks(ReduceStream::CHUNK) {
///     stream.push(chunk)?;
/// }
/// assert_eq!(stream.finish()?, any::reduce(&device, &items, &problem)?);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ReduceStream {
    device: Device,
    problem: Reduce,
    item: Dtype,
    way: Option<Way>,
    chunks: Chunks,
    /// Items that were taken.
    items: u64,
    /// Room for items that are widened first.
    buffer: Vec<u64>,
}

enum Chunks {
    Values(Box<dyn ReduceChunks>),
    Positions(Box<dyn PositionChunks>),
}

impl ReduceStream {
    /// Every chunk but the last must have a multiple of this many items.
    pub const CHUNK: usize = upsweep_core::REDUCE_CHUNK;

    /// A stream of items of type `item` that has seen nothing.
    ///
    /// # Errors
    /// Those of [`reduce`].
    pub fn new(device: &Device, item: Dtype, problem: &Reduce) -> Result<Self> {
        problem.check(item)?;
        let op = if problem.op == Op::Mean { Op::Sum } else { problem.op };
        let acc = problem.result(item);
        let (way, chunks) = if op.is_position() {
            let largest = op == Op::ArgMax;
            let best =
                with_dtype!(item, T => Box::new(Positions::<T> { largest, best: None }) as _);
            (None, Chunks::Positions(best))
        } else {
            let way = Way::new(op, item, acc, device.limits().int64)?;
            let stream = way.code()?.stream(device, way.init(problem.init))?;
            (Some(way), Chunks::Values(stream))
        };
        let (device, buffer) = (device.clone(), Vec::new());
        Ok(Self { device, problem: *problem, item, way, chunks, items: 0, buffer })
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type; [`Error::ChunkLength`] if an earlier chunk was the last;
    /// [`Error::WrongDevice`] if items in the memory of a GPU would have to be widened first.
    pub fn push<'a>(&mut self, chunk: impl Into<AnyView<'a>>) -> Result<()> {
        self.push_view(chunk.into())
    }

    fn push_view(&mut self, chunk: AnyView<'_>) -> Result<()> {
        if chunk.dtype() != self.item {
            return Err(Error::WrongDtype { found: chunk.dtype(), wanted: self.item });
        }
        match (&mut self.chunks, self.way) {
            (Chunks::Positions(best), _) => best.push(&self.device, chunk, self.items)?,
            (Chunks::Values(stream), Some(way)) if way.seen == self.item => {
                stream.push(chunk.bits_as(way.from))?;
            }
            (Chunks::Values(stream), way) => {
                let Some(way) = way else { return Ok(()) };
                for start in (0..chunk.len()).step_by(Self::CHUNK) {
                    let piece = chunk.len().min(start + Self::CHUNK);
                    let piece = widened(chunk, start..piece, way.seen, &mut self.buffer)?;
                    stream.push(piece.bits_as(way.from))?;
                }
            }
        }
        self.items += chunk.len() as u64;
        Ok(())
    }

    /// The value of everything that was taken; `None` only for the position of an extreme of nothing.
    ///
    /// # Errors
    /// None at present.
    pub fn finish(&self) -> Result<Option<Scalar>> {
        let init = self.problem.init;
        let (stream, way) = match (&self.chunks, self.way) {
            (Chunks::Positions(best), _) => return Ok(best.position().map(Scalar::new)),
            (Chunks::Values(_), None) => return Ok(None),
            (Chunks::Values(stream), Some(way)) => (stream, way),
        };
        if self.items == 0 && way.widens {
            // Only the identity, which no item gives, is that of the wider type.
            let problem = Reduce { acc: Some(way.acc), ..self.problem };
            return Self::new(&self.device, way.acc, &problem)?.finish();
        }
        let value = way.result(stream.finish(), self.item, init)?;
        let items = usize::try_from(self.items).unwrap_or(usize::MAX);
        Ok(Some(mean_of(self.problem.op, value, items)))
    }
}

impl fmt::Debug for ReduceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReduceStream")
            .field("problem", &self.problem)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

/// Items of a chunk in host memory, widened. `buffer` keeps them.
pub(super) fn widened<'b>(
    chunk: AnyView<'_>,
    range: Range<usize>,
    to: Dtype,
    buffer: &'b mut Vec<u64>,
) -> Result<AnyView<'b>> {
    let from = chunk.dtype();
    let Some(bytes) = chunk.bytes() else {
        return Err(wrong_device(chunk.device(), "cpu"));
    };
    let bytes = &bytes[range.start * from.size()..range.end * from.size()];
    let room = range.len() * to.size();
    buffer.resize(room.div_ceil(8), 0);
    let room = &mut cast_slice_mut(buffer)[..room];
    convert(from, bytes, false, to, room)?;
    AnyView::from_bytes(to, room)
}

/// Items as the type that they are widened to, if it is not theirs.
pub(super) fn seen_as<'b>(
    items: AnyView<'b>,
    seen: Dtype,
    buffer: &'b mut Vec<u64>,
) -> Result<AnyView<'b>> {
    if items.dtype() == seen { Ok(items) } else { widened(items, 0..items.len(), seen, buffer) }
}

/// A search that takes chunk by chunk.
trait PositionChunks: Send {
    /// Searches a chunk that begins at item `start` of all.
    fn push(&mut self, device: &Device, chunk: AnyView<'_>, start: u64) -> Result<()>;
    fn position(&self) -> Option<u64>;
}

struct Positions<T: Number> {
    largest: bool,
    best: Option<(T, u64)>,
}

impl<T: Number> PositionChunks for Positions<T> {
    fn push(&mut self, device: &Device, chunk: AnyView<'_>, start: u64) -> Result<()> {
        let items = on_host(chunk.typed::<T>()?)?;
        let found = if self.largest { argmax(device, items) } else { argmin(device, items) }?;
        let Some(index) = found else { return Ok(()) };
        let found = (items[usize::try_from(index).unwrap_or(usize::MAX)], start + index);
        self.best = Some(match self.best {
            Some(best) => {
                let both = [best.0, found.0];
                let device = Device::cpu();
                let better =
                    if self.largest { argmax(&device, &both) } else { argmin(&device, &both) }?;
                if better == Some(1) { found } else { best }
            }
            None => found,
        });
        Ok(())
    }

    fn position(&self) -> Option<u64> {
        self.best.map(|(_, index)| index)
    }
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
    let op = if problem.op == Op::Mean { Op::Sum } else { problem.op };
    let mut way = Way::new(op, item, problem.result(item), true)?;
    if input.is_empty() && way.widens {
        way = Way::new(op, way.acc, way.acc, true)?;
    }
    let mut buffer = Vec::new();
    let seen = seen_as(input, way.seen, &mut buffer)?;
    let value = way.code()?.reference(seen.bits_as(way.from), way.init(problem.init))?;
    let value = way.result(value, item, problem.init)?;
    Ok(Some(mean_of(problem.op, value, input.len())))
}

/// A sum of so many items, or their mean if that was asked for.
fn mean_of(op: Op, sum: Scalar, items: usize) -> Scalar {
    match (op, sum.dtype()) {
        (Op::Mean, Dtype::F32) => Scalar::new(<f32 as Mean>::divide(sum.bits(), items)),
        (Op::Mean, _) => Scalar::new(<f64 as Mean>::divide(sum.bits(), items)),
        _ => sum,
    }
}
