//! Scans.

use core::fmt;
use core::num::NonZeroU32;

use super::array::AnyArray;
use super::convert::check_accumulator;
use super::converted::{WidenedItems, read_there, widened_there};
use super::kernel::{ScanKernel, combined_in, same_bits, widened_to};
use super::stream::ScanStream;
use super::view::{AnyView, AnyViewMut};
use super::{Op, Scalar, pairs};
use crate::erased::Erased;
use crate::profile::Traffic;
use crate::{Bounds, Device, Direction, Dtype, Error, Result};

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

/// Writes every prefix of `input`, combined, to an array of its own with items of type `out`.
///
/// # Result
/// As [`scan_into_with`](crate::scan_into_with).
///
/// # Cost
/// Reads and writes each item once. Items that are widened first take a buffer for 2^16 of them, and
/// for all of them where the output is in the memory of a GPU. A GPU widens those in its memory as it reads them.
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

fn scan_views(
    device: &Device,
    input: AnyView<'_>,
    output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<()> {
    ScanCall::new(input.dtype(), output.dtype(), problem)?.run_into(device, input, output)
}

/// A scan whose kernel is looked up once, for calls on short arrays again and again.
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
    kernel: ScanKernel,
}

impl ScanCall {
    /// A scan of items of type `item` into items of type `out`.
    ///
    /// # Errors
    /// Those of [`scan`].
    pub fn new(item: Dtype, out: Dtype, problem: &Scan) -> Result<Self> {
        problem.check(item, out)?;
        Ok(Self { problem: *problem, item, out, kernel: ScanKernel::new(problem.op, item, out)? })
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
        self.run_views(device, input.into(), output.into(), NonZeroU32::MIN)
    }

    /// Does the same `calls` times, for timing, as [`ReduceCall::run_repeatedly`](super::ReduceCall::run_repeatedly).
    ///
    /// # Errors
    /// Those of [`run_into`](Self::run_into).
    pub fn run_repeatedly<'a, 'b>(
        &self,
        device: &Device,
        input: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
        calls: NonZeroU32,
    ) -> Result<()> {
        self.run_views(device, input.into(), output.into(), calls)
    }

    fn run_views(
        &self,
        device: &Device,
        input: AnyView<'_>,
        mut output: AnyViewMut<'_>,
        calls: NonZeroU32,
    ) -> Result<()> {
        let Self { problem, item, out, kernel } = self;
        for (found, wanted) in [(input.dtype(), *item), (output.dtype(), *out)] {
            if found != wanted {
                return Err(Error::WrongDtype { found, wanted });
            }
        }
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        if kernel.widened_to == *item {
            return kernel.run(device, input, output, problem, calls);
        }
        (0..calls.get())
            .try_for_each(|_| scan_widened(device, kernel, input, output.reborrow(), problem))
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

impl ScanKernel {
    /// Whether a device can run it.
    pub(super) fn is_on(&self, device: &Device, problem: &Scan) -> bool {
        device.kind().erased().can(|language| self.code.problem(problem, language).signature)
    }

    /// Scans items, which have the type that they are widened to.
    fn run(
        &self,
        device: &Device,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
        calls: NonZeroU32,
    ) -> Result<()> {
        let (code, input) = (self.code, input.bits_as(self.from));
        let mut output = output.bits_as(self.to);
        let bytes = || input.len() * (self.from.size() + self.to.size());
        let home = || input.home().or_else(|| output.home());
        let can = |device: &Device| self.is_on(device, problem);
        let device = device.for_call(home, Traffic::Copies, bytes, can);
        match device.kind().erased() {
            Erased::Cpu(cpu) => code.scan(cpu, input, output, problem, calls),
            Erased::Gpu(gpu) => {
                let erased = code.problem(problem, gpu.language());
                let state = || code.chunks(problem).into_erased();
                (0..calls.get()).try_for_each(|_| {
                    gpu.scan(Some(input.erased()), output.reborrow().erased(), &erased, &state)
                })
            }
        }
    }
}

/// Scans items that are widened first.
fn scan_widened(
    device: &Device,
    kernel: &ScanKernel,
    input: AnyView<'_>,
    mut output: AnyViewMut<'_>,
    problem: &Scan,
) -> Result<()> {
    let (out, size) = (output.dtype(), output.dtype().size());
    let is_there = input.bytes().is_none();
    let Some(bytes) = output.bytes_mut().filter(|_| !is_there) else {
        // Items are scanned whole where they or the output are.
        let home = device.at_home(|| input.home().or_else(|| output.home()));
        if let (Some(items), Erased::Gpu(gpu)) = (read_there(input)?, home.kind().erased()) {
            return items.prefixes_into(gpu, kernel, output, problem);
        }
        let mut room = WidenedItems::default();
        let all = widened_there(&home, input, kernel.widened_to, &mut room)?;
        return kernel.run(&home, all, output, problem, NonZeroU32::MIN);
    };
    let mut stream = ScanStream::new(device, input.dtype(), out, problem)?;
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
    let mut data = data.bits_as(same);
    let kernel = ScanKernel::new(problem.op, same, same)?;
    let bytes = || 2 * data.len() * same.size();
    let can = |device: &Device| kernel.is_on(device, problem);
    let device = device.for_call(|| data.home(), Traffic::Copies, bytes, can);
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let missing = Error::OperatorElement { operator: problem.op.name(), dtype };
            pairs::scan_in_place(problem.op, same).ok_or(missing)?.scan(cpu, data, problem)
        }
        Erased::Gpu(gpu) => {
            let erased = kernel.code.problem(problem, gpu.language());
            let state = || kernel.code.chunks(problem).into_erased();
            gpu.scan(None, data.erased(), &erased, &state)
        }
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
    let kernel = ScanKernel::new(problem.op, item, out)?;
    let mut buffer = Vec::new();
    let items = widened_to(input, kernel.widened_to, &mut buffer)?;
    Ok(kernel.code.reference(items.bits_as(kernel.from), problem)?.bits_as(out))
}
