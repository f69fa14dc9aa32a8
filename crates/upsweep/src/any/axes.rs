//! Reductions, positions of extremes, means and scans along axes, and strided copies.

use upsweep_core::{Extreme, Rows};
use upsweep_gpu::ErasedType;

use super::array::AnyArray;
use super::converted::{WidenedItems, widened_there};
use super::kernel::{ReduceKernel, ScanKernel};
use super::nd::{AnyAlong, AnyNdArray, AnyNdView, AnyNdViewMut};
use super::pairs::{self, ReduceRowsPair};
use super::reduce::mean_of;
use super::segmented::mapped;
use super::view::{AnyView, AnyViewMut, on_host, on_host_mut};
use super::{Op, Reduce, Scalar, Scan, unsigned, with_dtype, with_unsigned};
use crate::erased::{Erased, RowsCall};
use crate::nd::axes;
use crate::{Device, Dtype, Error, Recording, Result};

/// The kernel for rows, and what is done behind it.
struct RowsKernel {
    kernel: ReduceKernel,
    /// The type that it writes.
    to: Dtype,
    code: &'static dyn ReduceRowsPair,
}

impl RowsKernel {
    fn new(problem: &Reduce, item: Dtype, device: &Device) -> Result<Self> {
        let op = if problem.op == Op::Mean { Op::Sum } else { problem.op };
        let kernel = problem.kernel(item, device.limits().int64)?;
        // Short floats are rounded where they are stored.
        let is_stored = kernel.from == kernel.acc && !kernel.widens;
        let to = if is_stored { kernel.acc } else { kernel.to };
        let missing = Error::OperatorElement { operator: op.name(), dtype: item };
        let code = pairs::rows_reduction(op, kernel.from, to).ok_or(missing)?;
        Ok(Self { kernel, to, code })
    }

    /// Whether it writes results as they are wanted.
    fn gives_results(&self, op: Op) -> bool {
        op != Op::Mean && !self.kernel.widens && self.to.size() == self.kernel.acc.size()
    }

    /// Reduces rows to items of the type that it writes.
    fn run(
        &self,
        device: &Device,
        items: AnyView<'_>,
        rows: &Rows,
        mut output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()> {
        let (mut room, init) = (WidenedItems::default(), self.kernel.init(init));
        let items = widened_there(device, items, self.kernel.widened_to, &mut room)?;
        let items = items.bits_as(self.kernel.from);
        match device.kind().erased() {
            Erased::Cpu(cpu) => self.code.reduce(cpu, items, rows, output, init),
            Erased::Gpu(gpu) => {
                let problem = self.code.problem(init, gpu.language());
                gpu.reduce_rows(items.erased(), rows, output.erased(), &problem)
            }
        }
    }
}

/// A reduction of each row: see [`Along::reduce`](crate::Along::reduce), [`argmin`](crate::Along::argmin),
/// [`argmax`](crate::Along::argmax) and [`mean`](crate::Along::mean).
///
/// # Result
/// One item for each row, in the type that [`Reduce::result`] says and in the shape of the other axes, or with
/// [`keepdims`](AnyAlong::keepdims) of all. Each is what [`reduce`](super::reduce()) gives for the row. Of a row without items a position
/// is `u64::MAX`, and all else what `reduce` gives for no items.
///
/// # Cost
/// As of the typed calls. A result of another type than items are combined in, such as a sum of bytes in 16 bits, is made by the host
/// behind the kernel. Items that are widened first take room for all of them.
///
/// # Errors
/// Those of [`reduce`](super::reduce()).
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, AnyView, Op, Reduce}};
/// let items = [3i16, -7, 100, 4, 4, 5];
/// let rows = AnyView::from(&items).shape([2, 3])?.axis(-1)?;
/// let of_each = |op| any::reduce_axes(&Device::cpu(), &rows, &Reduce::new(op));
/// assert_eq!(of_each(Op::Sum)?.into_typed::<i64>()?.to_vec()?, [96, 13]);
/// assert_eq!(of_each(Op::Min)?.into_typed::<i16>()?.to_vec()?, [-7, 4]);
/// assert_eq!(of_each(Op::ArgMax)?.into_typed::<u64>()?.to_vec()?, [2, 2]);
/// assert_eq!(of_each(Op::Mean)?.into_typed::<f64>()?.to_vec()?, [32.0, 13.0 / 3.0]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_axes(device: &Device, rows: &AnyAlong<'_>, problem: &Reduce) -> Result<AnyNdArray> {
    let (input, shape) = (&rows.array, rows.reduced_shape());
    let (item, count) = (input.dtype(), shape.iter().product());
    problem.check(item)?;
    let home = &*device.at_home(|| input.items.home());
    if rows.axes.items(&input.layout) == 0 {
        let nothing = super::reduce(&Device::cpu(), AnyView::from_bytes(item, &[])?, problem)?;
        let value = nothing.unwrap_or(Scalar::new(u64::MAX));
        return AnyNdArray::new(AnyArray::filled(home, count, value)?, shape);
    }
    if problem.op.is_position() {
        let output = AnyArray::with_any(home, Dtype::U64, count)?;
        let mut output = AnyNdArray::new(output, shape)?;
        positions_into(home, rows, output.view_mut(), problem.op)?;
        return Ok(output);
    }
    let kernel = RowsKernel::new(problem, item, home)?;
    let output = AnyArray::with_any(home, kernel.to, count)?;
    let mut output = AnyNdArray::new(output, shape.clone())?;
    let AnyNdViewMut { items, layout } = output.view_mut();
    let found = rows.axes.reduced(&input.layout, &layout)?;
    kernel.run(home, input.items, &found, items, problem.init)?;
    let values = output.into_array();
    if kernel.gives_results(problem.op) {
        return AnyNdArray::new(values.bits_as(kernel.kernel.acc), shape);
    }
    let (acc, of_row) = (kernel.kernel.acc, rows.axes.items(&input.layout));
    // The first of several values that cannot be made says why.
    let mut failed = None;
    let values = mapped(home, &values, acc, &mut |_, value| {
        let made = kernel.kernel.result(value, item, problem.init);
        let made = made.map(|made| mean_of(problem.op, made, of_row));
        made.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Scalar::of_bytes(acc, &[0; 8])
        })
    })?;
    match failed {
        Some(error) => Err(error),
        None => AnyNdArray::new(values, shape),
    }
}

/// As [`reduce_axes`], into memory of the caller's, of the type that [`Reduce::result`] says.
///
/// # Cost
/// As of [`reduce_axes`]; it waits for nothing that is written on a GPU, unless the host makes results.
///
/// # Errors
/// Those of [`reduce_axes`]; before anything is written [`Error::Shape`] if the output has another shape, and [`Error::WrongDtype`] if
/// it has another type.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, AnyNdViewMut, AnyView, Op, Reduce}};
/// let (items, mut output) = ([3u8, 9, 9, 1], [7u64; 3]);
/// let rows = AnyView::from(&items).shape([2, 2])?.axis(1)?;
/// let every_other = AnyNdViewMut::strided(&mut output, [2], &[2], 0)?;
/// any::reduce_axes_into(&Device::cpu(), &rows, every_other, &Reduce::new(Op::Sum))?;
/// assert_eq!(output, [12, 7, 10]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_axes_into<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    problem: &Reduce,
) -> Result<()> {
    reduced_into(device, rows, output.into(), problem)
}

// Not generic, so that callers do not compile it.
fn reduced_into(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: AnyNdViewMut<'_>,
    problem: &Reduce,
) -> Result<()> {
    let (input, item) = (&rows.array, rows.dtype());
    problem.check(item)?;
    let (found, wanted) = (output.dtype(), problem.result(item));
    if found != wanted {
        return Err(Error::WrongDtype { found, wanted });
    }
    let to_rows = rows.axes.reduced(&input.layout, &output.layout)?;
    let home = &*device.at_home(|| input.items.home().or_else(|| output.items.home()));
    if rows.axes.items(&input.layout) > 0 {
        if problem.op.is_position() {
            return positions_into(home, rows, output, problem.op);
        }
        let kernel = RowsKernel::new(problem, item, home)?;
        if kernel.gives_results(problem.op) {
            let output = output.items.bits_as(kernel.to);
            return kernel.run(home, input.items, &to_rows, output, problem.init);
        }
    }
    let values = reduce_axes(home, rows, problem)?;
    copied_into(home, values.view(), output)
}

/// The extreme whose position is looked for.
fn extreme_of(op: Op) -> Extreme {
    if op == Op::ArgMax { Extreme::Largest } else { Extreme::Smallest }
}

/// Writes the first position of an extreme in each row.
fn positions_into(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: AnyNdViewMut<'_>,
    op: Op,
) -> Result<()> {
    let extreme = extreme_of(op);
    let AnyNdView { items, layout } = &rows.array;
    let to_rows = rows.axes.reduced(layout, &output.layout)?;
    let mut output = output.items;
    match device.kind().erased() {
        Erased::Cpu(cpu) => with_dtype!(items.dtype(), T => {
            let (items, output) = (on_host(items.typed::<T>()?)?, on_host_mut(output.typed()?)?);
            cpu.position_rows(items, &to_rows, output, extreme)
        }),
        Erased::Gpu(gpu) => {
            let (source, item) = (items.erased(), items.dtype());
            gpu.position_rows(source, &to_rows, output.erased(), item, extreme)
        }
    }
}

/// A scan of each row: see [`Along::scan_into`](crate::Along::scan_into).
///
/// # Result
/// An array of the shape of the input in C order, with items of type `out`. Each row is what [`scan`](super::scan()) gives for it.
///
/// # Cost
/// As of the typed call. Items that are widened first take room for all of them.
///
/// # Errors
/// Those of [`scan`](super::scan()).
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, AnyView, Op, Scan}};
/// let table = AnyView::from(&[200u8, 100, 7, 1]).shape([2, 2])?;
/// let sum = Scan::inclusive(Op::Sum);
/// let rows = any::scan_axes(&Device::cpu(), &table.axis(1)?, Dtype::U64, &sum)?;
/// assert_eq!(rows.into_typed::<u64>()?.to_vec()?, [200, 300, 7, 8]);
/// let columns = any::scan_axes(&Device::cpu(), &table.axis(0)?, Dtype::U8, &sum)?;
/// assert_eq!(columns.to_bytes()?, [200, 100, 207, 101]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn scan_axes(
    device: &Device,
    rows: &AnyAlong<'_>,
    out: Dtype,
    problem: &Scan,
) -> Result<AnyNdArray> {
    let input = &rows.array;
    problem.check(input.dtype(), out)?;
    let home = &*device.at_home(|| input.items.home());
    let mut output = AnyNdArray::new(AnyArray::with_any(home, out, input.len())?, input.shape())?;
    scanned_into(home, rows, output.view_mut(), problem)?;
    Ok(output)
}

/// As [`scan_axes`], into memory of the caller's, whose type decides in which type items are combined.
///
/// # Cost
/// As of [`scan_axes`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`scan_axes`]; [`Error::Shape`] if the output has another shape, before anything is written.
pub fn scan_axes_into<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    problem: &Scan,
) -> Result<()> {
    scanned_into(device, rows, output.into(), problem)
}

fn scanned_into(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: AnyNdViewMut<'_>,
    problem: &Scan,
) -> Result<()> {
    let AnyNdView { items, layout } = &rows.array;
    let (item, out) = (items.dtype(), output.dtype());
    problem.check(item, out)?;
    let to_rows = rows.axes.scanned(layout, &output.layout)?;
    let home = device.at_home(|| items.home().or_else(|| output.items.home()));
    let ScanKernel { widened_to: wide, from, to, .. } = ScanKernel::new(problem.op, item, out)?;
    let missing = Error::OperatorElement { operator: problem.op.name(), dtype: item };
    let code = pairs::rows_scan(problem.op, from, to).ok_or(missing)?;
    let mut room = WidenedItems::default();
    let items = widened_there(&home, *items, wide, &mut room)?.bits_as(from);
    let mut output = output.items.bits_as(to);
    match home.kind().erased() {
        Erased::Cpu(cpu) => code.scan(cpu, items, &to_rows, output, problem),
        Erased::Gpu(gpu) => {
            let problem = code.problem(problem, gpu.language());
            gpu.scan_rows(items.erased(), &to_rows, output.erased(), &problem)
        }
    }
}

/// Binds a reduction of rows to arrays of a GPU, to be run as often as wanted: see [`Along::bind_reduce`](crate::Along::bind_reduce).
///
/// # Errors
/// Those of [`reduce_axes_into`]; [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for a mean, and for types of which the host makes
/// something before or behind the kernel.
pub fn bind_reduce_axes<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    problem: &Reduce,
) -> Result<Recording> {
    bound_reduce(device, rows, output.into(), problem)
}

fn bound_reduce(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: AnyNdViewMut<'_>,
    problem: &Reduce,
) -> Result<Recording> {
    let (AnyNdView { items, layout }, item) = (&rows.array, rows.dtype());
    problem.check(item)?;
    let (found, wanted) = (output.dtype(), problem.result(item));
    if found != wanted {
        return Err(Error::WrongDtype { found, wanted });
    }
    let to_rows = rows.axes.reduced(layout, &output.layout)?;
    let home = device.at_home(|| items.home().or_else(|| output.items.home()));
    let Erased::Gpu(gpu) = home.kind().erased() else {
        return Err(Error::NoCommands { device: "cpu".to_owned() });
    };
    let mut output = output.items;
    if problem.op.is_position() {
        let call = RowsCall::Position(item, extreme_of(problem.op));
        return gpu.bind_rows(&call, items.erased(), &to_rows, output.erased());
    }
    let kernel = RowsKernel::new(problem, item, &home)?;
    if !kernel.gives_results(problem.op) || kernel.kernel.widened_to != item {
        return Err(Error::OperatorElement { operator: problem.op.name(), dtype: item });
    }
    let mut output = output.bits_as(kernel.to);
    let problem = kernel.code.problem(kernel.kernel.init(problem.init), gpu.language());
    let (call, items) = (RowsCall::Reduce(&problem), items.bits_as(kernel.kernel.from));
    gpu.bind_rows(&call, items.erased(), &to_rows, output.erased())
}

/// Binds a scan of rows to arrays of a GPU, to be run as often as wanted: see [`Along::bind_scan`](crate::Along::bind_scan).
///
/// # Errors
/// Those of [`scan_axes_into`]; [`Error::NoCommands`] on a CPU; [`Error::OperatorElement`] for items that are widened first.
pub fn bind_scan_axes<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    problem: &Scan,
) -> Result<Recording> {
    bound_scan(device, rows, output.into(), problem)
}

fn bound_scan(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: AnyNdViewMut<'_>,
    problem: &Scan,
) -> Result<Recording> {
    let AnyNdView { items, layout } = &rows.array;
    let (item, out) = (items.dtype(), output.dtype());
    problem.check(item, out)?;
    let to_rows = rows.axes.scanned(layout, &output.layout)?;
    let home = device.at_home(|| items.home().or_else(|| output.items.home()));
    let ScanKernel { widened_to: wide, from, to, .. } = ScanKernel::new(problem.op, item, out)?;
    let missing = || Error::OperatorElement { operator: problem.op.name(), dtype: item };
    let code =
        pairs::rows_scan(problem.op, from, to).filter(|_| wide == item).ok_or_else(missing)?;
    let Erased::Gpu(gpu) = home.kind().erased() else {
        return Err(Error::NoCommands { device: "cpu".to_owned() });
    };
    let mut output = output.items.bits_as(to);
    let problem = code.problem(problem, gpu.language());
    gpu.bind_rows(
        &RowsCall::Scan(&problem),
        items.bits_as(from).erased(),
        &to_rows,
        output.erased(),
    )
}

/// The items with the dimensions the other way round, in C order: see [`transpose`](crate::transpose).
///
/// # Cost
/// As of [`transpose`](crate::transpose), by one code for all types of a size.
///
/// # Errors
/// Those of [`transpose`](crate::transpose).
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, AnyView}};
/// let table = AnyView::from(&[1u16, 2, 3, 4, 5, 6]).shape([2, 3])?;
/// let columns = any::transpose(&Device::cpu(), table)?;
/// assert_eq!(columns.shape(), [3, 2]);
/// assert_eq!(columns.into_typed::<u16>()?.to_vec()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn transpose<'a>(device: &Device, input: impl Into<AnyNdView<'a>>) -> Result<AnyNdArray> {
    packed(device, input.into().transposed())
}

/// The items in C order, as an array of their own on the device: see [`NdView::to_packed`](crate::NdView::to_packed).
///
/// # Errors
/// Those of [`transpose`](crate::transpose).
pub fn copy<'a>(device: &Device, input: impl Into<AnyNdView<'a>>) -> Result<AnyNdArray> {
    packed(device, input.into())
}

/// Copies every item to its place in the output, whatever the strides of both: see [`NdView::copy_into`](crate::NdView::copy_into).
///
/// # Errors
/// Those of [`NdView::copy_into`](crate::NdView::copy_into); [`Error::WrongDtype`] if the output has another type.
///
/// # Examples
/// ```
/// use upsweep::{Device, any::{self, AnyView, AnyViewMut}};
/// let (table, mut output) = ([1i32, 2, 3, 4], [0i32; 4]);
/// let columns = AnyViewMut::from(&mut output).shape([2, 2])?.transposed();
/// any::copy_into(&Device::cpu(), AnyView::from(&table).shape([2, 2])?, columns)?;
/// assert_eq!(output, [1, 3, 2, 4]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn copy_into<'a, 'b>(
    device: &Device,
    input: impl Into<AnyNdView<'a>>,
    output: impl Into<AnyNdViewMut<'b>>,
) -> Result<()> {
    copied_into(device, input.into(), output.into())
}

// Not generic, so that callers do not compile it.
fn packed(device: &Device, input: AnyNdView<'_>) -> Result<AnyNdArray> {
    let home = &*device.at_home(|| input.items.home());
    let output = AnyArray::with_any(home, input.dtype(), input.len())?;
    let mut output = AnyNdArray::new(output, input.shape())?;
    copied_into(home, input, output.view_mut())?;
    Ok(output)
}

fn copied_into(device: &Device, input: AnyNdView<'_>, output: AnyNdViewMut<'_>) -> Result<()> {
    let (found, wanted) = (output.dtype(), input.dtype());
    if found != wanted {
        return Err(Error::WrongDtype { found, wanted });
    }
    let rows = axes::copied(&input.layout, &output.layout)?;
    let home = device.at_home(|| input.items.home().or_else(|| output.items.home()));
    let (items, mut output) = (input.items, output.items);
    match home.kind().erased() {
        Erased::Cpu(cpu) => {
            let bits = unsigned(wanted);
            let (items, output) = (items.bits_as(bits), output.bits_as(bits));
            with_unsigned!(bits, T => {
                let (items, output) = (on_host(items.typed::<T>()?)?, on_host_mut(output.typed()?)?);
                cpu.copy_rows::<T>(items, &rows, output)
            })
        }
        Erased::Gpu(gpu) => {
            let of = with_dtype!(wanted, T => ErasedType::of::<T>());
            gpu.copy_rows(items.erased(), &rows, output.erased(), of)
        }
    }
}
