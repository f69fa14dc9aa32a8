//! Scans.

use core::fmt;

use super::array::{AnyArray, AnyView, AnyViewMut};
use super::convert::check_accumulator;
use super::pairs::{self, ScanChunks, same_bits};
use super::reduce::{Kernel, combined_in, seen_as};
use super::{Op, Scalar};
use crate::{Bounds, Device, Direction, Dtype, Error, Recording, Result};

/// A scan of items whose type is a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan {
    /// What to combine with.
    pub op: Op,
    /// Whether output `i` includes item `i`.
    pub bounds: Bounds,
    /// From which end.
    pub direction: Direction,
    /// A value that is combined before all others. It has the type that the output is
    /// [combined in](super::combined_in).
    pub init: Option<Scalar>,
}

impl Scan {
    /// An inclusive forward scan.
    pub fn inclusive(op: Op) -> Self {
        Self { op, bounds: Bounds::Inclusive, direction: Direction::Forward, init: None }
    }

    /// An exclusive forward scan.
    pub fn exclusive(op: Op) -> Self {
        Self { bounds: Bounds::Exclusive, ..Self::inclusive(op) }
    }

    /// Runs from the last item to the first.
    #[must_use]
    pub fn reverse(self) -> Self {
        Self { direction: Direction::Reverse, ..self }
    }

    /// Starts from `init`.
    #[must_use]
    pub fn init(self, init: Scalar) -> Self {
        Self { init: Some(init), ..self }
    }

    /// The code for items of this type, and the types that they are seen as and read as.
    pub(super) fn code(
        &self,
        item: Dtype,
        out: Dtype,
    ) -> Result<(&'static dyn pairs::ScanPair, [Dtype; 2])> {
        self.check(item, out)?;
        let way = Way::new(self.op, item, out)?;
        Ok((way.code, [way.seen, way.from]))
    }

    /// Refuses what there is not.
    pub(super) fn check(&self, item: Dtype, out: Dtype) -> Result<()> {
        if !self.op.scans() {
            return Err(Error::OperatorElement { operator: self.op.name(), dtype: item });
        }
        self.op.check(item)?;
        check_accumulator(item, out)?;
        self.op.check(out)?;
        let wanted = combined_in(out);
        match self.init {
            Some(init) if init.dtype() != wanted => {
                Err(Error::WrongDtype { found: init.dtype(), wanted })
            }
            _ => Ok(()),
        }
    }
}

/// The types of a kernel, and the type that items are widened to if it is not theirs.
struct Way {
    seen: Dtype,
    from: Dtype,
    to: Dtype,
    code: &'static dyn pairs::ScanPair,
}

impl Way {
    fn new(op: Op, item: Dtype, out: Dtype) -> Result<Self> {
        let of = |seen: Dtype| {
            let (from, to) = same_bits(op, seen, out);
            pairs::scan(op, from, to).map(|code| Self { seen, from, to, code })
        };
        let missing = Error::OperatorElement { operator: op.name(), dtype: item };
        of(item).or_else(|| of(out)).ok_or(missing)
    }
}

/// The kernel of a scan; `None` if there is no such scan.
pub fn scan_kernel(op: Op, item: Dtype, out: Dtype) -> Option<Kernel> {
    Scan::inclusive(op).check(item, out).ok()?;
    let way = Way::new(op, item, out).ok()?;
    Some(Kernel { op, item: way.from, out: way.to, converts: way.seen != item })
}

/// Writes every prefix of `input`, combined, to an array of its own with items of type `out`.
///
/// # Result
/// As [`scan_into_with`](crate::scan_into_with).
///
/// # Cost
/// Reads and writes each item once. Items that are widened first take a buffer of a MiB of items.
///
/// # Errors
/// [`Error::OperatorElement`] for what is not defined; [`Error::Accumulator`] for an output that does not hold every item;
/// [`Error::WrongDtype`] for a start value of another type than items are [combined in](super::combined_in); those of the device.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, Op, Scan}};
/// let sums = any::scan(&Device::cpu(), &[200u8, 100], Dtype::U8, &Scan::inclusive(Op::Sum))?;
/// assert_eq!(sums.to_bytes()?, [200, 44]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn scan<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    out: Dtype,
    problem: &Scan,
) -> Result<AnyArray> {
    let input = input.into();
    problem.check(input.dtype(), out)?;
    let home = device.at_home(|| input.home());
    let zero = Scalar::of_bytes(out, &[0; 8]);
    let mut output = AnyArray::filled(&home, input.len(), zero)?;
    scan_views(&home, input, output.view_mut(), problem)?;
    Ok(output)
}

/// Writes every prefix of `input`, combined, to `output`, whose type decides in which type items are combined.
///
/// # Cost
/// As [`scan`]. Does not wait for an output in the memory of a GPU.
///
/// # Errors
/// Those of [`scan`]; [`Error::LengthMismatch`] if the lengths differ.
pub fn scan_into<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<()> {
    scan_views(device, input.into(), output.into(), problem)
}

/// A scan whose kernel is looked up once: what is called again and again costs no more than with types.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{Op, Scan, ScanCall}};
/// let sums = ScanCall::new(Dtype::U8, Dtype::U32, &Scan::inclusive(Op::Sum))?;
/// let mut output = [0u32; 2];
/// sums.run_into(&Device::cpu(), &[200u8, 100], &mut output)?;
/// assert_eq!(output, [200, 300]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ScanCall {
    problem: Scan,
    item: Dtype,
    out: Dtype,
    way: Way,
}

impl ScanCall {
    /// A scan of items of type `item` into items of type `out`.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub fn new(item: Dtype, out: Dtype, problem: &Scan) -> Result<Self> {
        problem.check(item, out)?;
        Ok(Self { problem: *problem, item, out, way: Way::new(problem.op, item, out)? })
    }

    /// Writes every prefix of `input`, combined, to `output`.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if items or outputs are of other types; [`Error::LengthMismatch`] if the lengths differ; those of the
    /// device.
    pub fn run_into<'a, 'b>(
        &self,
        device: &Device,
        input: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
    ) -> Result<()> {
        self.run_views(device, input.into(), output.into())
    }

    fn run_views(&self, device: &Device, input: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        let Self { problem, item, out, way } = self;
        for (found, wanted) in [(input.dtype(), *item), (output.dtype(), *out)] {
            if found != wanted {
                return Err(Error::WrongDtype { found, wanted });
            }
        }
        if way.seen == *item {
            let (input, output) = (input.bits_as(way.from), output.bits_as(way.to));
            return way.code.scan_into(device, input, output, problem);
        }
        scan_views(device, input, output, problem)
    }
}

impl fmt::Debug for ScanCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanCall")
            .field("problem", &self.problem)
            .field("item", &self.item)
            .field("out", &self.out)
            .finish_non_exhaustive()
    }
}

fn scan_views(
    device: &Device,
    input: AnyView<'_>,
    mut output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<()> {
    let (item, out) = (input.dtype(), output.dtype());
    problem.check(item, out)?;
    if input.len() != output.len() {
        return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
    }
    let way = Way::new(problem.op, item, out)?;
    if way.seen == item {
        let (input, output) = (input.bits_as(way.from), output.bits_as(way.to));
        return way.code.scan_into(device, input, output, problem);
    }
    let size = out.size();
    let Some(bytes) = output.bytes_mut() else {
        // Widened items are the output's: they are brought to it whole, and scanned there.
        let mut buffer = Vec::new();
        let all = seen_as(input, way.seen, &mut buffer)?;
        let (all, output) = (all.bits_as(way.from), output.bits_as(way.to));
        return way.code.scan_into(device, all, output, problem);
    };
    let mut stream = ScanStream::new(device, item, out, problem)?;
    let mut begin = |start: usize, end: usize| {
        let output = AnyViewMut::from_bytes(out, &mut bytes[start * size..end * size])?;
        stream.next(input.slice(start..end)?, output)
    };
    let chunks = input.len().div_ceil(ScanStream::CHUNK);
    for number in 0..chunks {
        // A shorter chunk is the last to come, from either end.
        let (start, end) = match problem.direction {
            Direction::Forward => {
                let start = number * ScanStream::CHUNK;
                (start, input.len().min(start + ScanStream::CHUNK))
            }
            Direction::Reverse => {
                let end = input.len() - number * ScanStream::CHUNK;
                (end.saturating_sub(ScanStream::CHUNK), end)
            }
        };
        begin(start, end)?;
    }
    Ok(())
}

/// Replaces every item by its prefix.
///
/// # Cost
/// Reads and writes each item once. Does not wait for items in the memory of a GPU.
///
/// # Errors
/// Those of [`scan`].
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, Op, Scan}};
/// let mut items = [3i32, -1, 5];
/// any::scan_in_place(&Device::cpu(), &mut items, &Scan::exclusive(Op::Sum).reverse())?;
/// assert_eq!(items, [4, 5, 0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn scan_in_place<'a>(
    device: &Device,
    data: impl Into<AnyViewMut<'a>>,
    problem: &Scan,
) -> Result<()> {
    let data = data.into();
    let dtype = data.dtype();
    problem.check(dtype, dtype)?;
    let (same, _) = same_bits(problem.op, dtype, dtype);
    let missing = Error::OperatorElement { operator: problem.op.name(), dtype };
    let code = pairs::scan_in_place(problem.op, same).ok_or(missing)?;
    code.scan(device, data.bits_as(same), problem)
}

/// Binds a scan to arrays of a GPU, to be run as often as wanted: see [`ScanPlan::bind`](crate::ScanPlan::bind).
///
/// # Errors
/// Those of [`scan_into`]; [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for pairs of types that have no kernel.
pub fn bind_scan<'a, 'b>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<Recording> {
    let input = input.into();
    bind_views(device, input.len(), input, output.into(), problem)
}

/// Binds the scan that arrays of as many as `items` items get, to shorter ones: see [`ScanPlan`](crate::ScanPlan).
///
/// Kernels are made before there are arrays of that length.
///
/// # Errors
/// Those of [`bind_scan`]; [`Error::PlanTooSmall`] if there are more items.
pub fn bind_scan_up_to<'a, 'b>(
    device: &Device,
    items: usize,
    input: impl Into<AnyView<'a>>,
    output: impl Into<AnyViewMut<'b>>,
    problem: &Scan,
) -> Result<Recording> {
    bind_views(device, items, input.into(), output.into(), problem)
}

fn bind_views(
    device: &Device,
    items: usize,
    input: AnyView<'_>,
    output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<Recording> {
    let (item, out) = (input.dtype(), output.dtype());
    problem.check(item, out)?;
    let (from, to) = same_bits(problem.op, item, out);
    let missing = Error::OperatorElement { operator: problem.op.name(), dtype: item };
    let code = pairs::scan(problem.op, from, to).ok_or(missing)?;
    code.bind(device, items, input.bits_as(from), output.bits_as(to), problem)
}

/// A scan of an array that comes in chunks: first chunk first, or, in reverse, last chunk first.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{Op, Scan, ScanStream}};
/// let (items, mut output) = (vec![1u8; 70_000], vec![0u32; 70_000]);
/// let problem = Scan::inclusive(Op::Sum);
/// let mut stream = ScanStream::new(&Device::cpu(), Dtype::U8, Dtype::U32, &problem)?;
/// for (chunk, output) in items.chunks(ScanStream::CHUNK).zip(output.chunks_mut(ScanStream::CHUNK)) {
///     stream.next(chunk, output)?;
/// }
/// assert_eq!(output[69_999], 70_000);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ScanStream {
    item: Dtype,
    out: Dtype,
    way: Way,
    chunks: Box<dyn ScanChunks>,
    direction: Direction,
    /// Room for items that are widened first.
    buffer: Vec<u64>,
}

impl ScanStream {
    /// Every chunk but the last to come must have a multiple of this many items.
    pub const CHUNK: usize = crate::summation::WINDOW;

    /// A stream of items of type `item` into items of type `out` that has seen nothing.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub fn new(device: &Device, item: Dtype, out: Dtype, problem: &Scan) -> Result<Self> {
        problem.check(item, out)?;
        let way = Way::new(problem.op, item, out)?;
        let chunks = way.code.stream(device, problem)?;
        let (direction, buffer) = (problem.direction, Vec::new());
        Ok(Self { item, out, way, chunks, direction, buffer })
    }

    /// From which end chunks are taken.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Writes the prefixes of the next chunk to `output`.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if items or outputs are of other types; [`Error::LengthMismatch`] if the lengths differ;
    /// [`Error::ChunkLength`] if an earlier chunk was the last; [`Error::WrongDevice`] if items in the memory of a GPU would have
    /// to be widened first.
    pub fn next<'a, 'b>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), output.into())
    }

    fn next_views(&mut self, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        if chunk.dtype() != self.item {
            return Err(Error::WrongDtype { found: chunk.dtype(), wanted: self.item });
        }
        if output.dtype() != self.out {
            return Err(Error::WrongDtype { found: output.dtype(), wanted: self.out });
        }
        let output = output.bits_as(self.way.to);
        let chunk = seen_as(chunk, self.way.seen, &mut self.buffer)?;
        self.chunks.next(chunk.bits_as(self.way.from), output)
    }
}

impl fmt::Debug for ScanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream")
            .field("item", &self.item)
            .field("out", &self.out)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// The sequential answer that [`scan`] is held to on every device, of items in host memory.
///
/// # Errors
/// Those of [`scan`].
pub fn reference_scan<'a>(
    input: impl Into<AnyView<'a>>,
    out: Dtype,
    problem: &Scan,
) -> Result<AnyArray> {
    let input = input.into();
    let item = input.dtype();
    problem.check(item, out)?;
    let way = Way::new(problem.op, item, out)?;
    let mut buffer = Vec::new();
    let seen = seen_as(input, way.seen, &mut buffer)?;
    Ok(way.code.reference(seen.bits_as(way.from), problem)?.bits_as(out))
}
