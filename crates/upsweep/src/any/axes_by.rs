//! Rows of an n-dimensional array by operators that are known when a program runs.

use upsweep_core::{Bounds, Direction};

use super::array::AnyArray;
use super::axes::copy_into;
use super::{AnyAlong, AnyNdArray, AnyNdView, AnyNdViewMut, AnyOperator, Scalar};
use crate::erased::Erased;
use crate::nd::axes::permuted;
use crate::{Device, Result};

/// Reduces each row by an operator that is known when a program runs: as [`AnyFused::reduce_by`](super::AnyFused::reduce_by) for each alone.
///
/// # Cost
/// A GPU has the kernels of [`reduce_axes`](super::reduce_axes()). A CPU copies the array first, so that each row lies in one piece, and takes one
/// row after another.
///
/// # Errors
/// [`Error::WrongDtype`](crate::Error::WrongDtype) unless items, results and the start value are of the operator's type;
/// [`Error::Shape`](crate::Error::Shape) if the output has another shape than the results; those of the device.
///
/// # Examples
/// ```
/// use upsweep::any::{self, AnyNdViewMut, AnyOperator, AnyView, Binary, Definition, Scalar};
/// use upsweep::{Device, Dtype};
///
/// let mut xor = Definition::default();
/// let (left, right) = (xor.argument(Dtype::U8)?, xor.argument(Dtype::U8)?);
/// let result = xor.binary(Binary::BitXor, left, right)?;
/// let xor = AnyOperator::new(xor, result, Scalar::new(0u8), true)?;
/// let (items, mut output) = ([1u8, 2, 4, 7, 7, 1], [0u8; 3]);
/// let columns = AnyView::from(&items).shape([2, 3])?.axis(0)?;
/// let to = AnyNdViewMut::strided(&mut output, [3], &[1], 0)?;
/// any::reduce_axes_by(&Device::cpu(), &columns, to, &xor, None)?;
/// assert_eq!(output, [6, 5, 5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn reduce_axes_by<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    operator: &AnyOperator,
    init: Option<Scalar>,
) -> Result<()> {
    reduced_into(device, rows, output.into(), operator, init)
}

fn reduced_into(
    device: &Device,
    rows: &AnyAlong<'_>,
    mut output: AnyNdViewMut<'_>,
    operator: &AnyOperator,
    init: Option<Scalar>,
) -> Result<()> {
    let bits = operator.check_call([rows.dtype(), output.dtype()], init)?;
    let AnyNdView { items, layout } = &rows.array;
    let to_rows = rows.axes.reduced(layout, &output.layout)?;
    let home = &*device.at_home(|| items.home().or_else(|| output.items.home()));
    let of_each = rows.axes.items(layout);
    match home.kind().erased() {
        Erased::Cpu(cpu) => {
            let shape = rows.reduced_shape();
            let count: usize = shape.iter().product();
            let in_rows = in_rows(home, rows)?;
            let mut values = AnyArray::with_any(home, operator.dtype(), count)?;
            let size = operator.dtype().size();
            let (items, all) = (in_rows.array().view(), &mut values.view_mut());
            let (items, _) = items.number_bytes()?;
            let room = all.bytes_mut().unwrap_or_default();
            for (row, room) in room.chunks_exact_mut(size).enumerate() {
                let row = &items[row * of_each * size..(row + 1) * of_each * size];
                let value = cpu.reduce_by(operator.on_host(), row, bits)?;
                room.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            let values = AnyNdArray::new(values, shape)?;
            copy_into(home, &values, output)
        }
        Erased::Gpu(gpu) if of_each > 0 => {
            let problem = operator.on_gpu().reduction(bits, gpu.language());
            gpu.reduce_rows(items.erased(), &to_rows, output.items.erased(), &problem)
        }
        Erased::Gpu(_) => {
            let nothing = init.unwrap_or(operator.identity());
            let values = AnyArray::filled(home, output.len(), nothing)?;
            let values = AnyNdArray::new(values, output.shape())?;
            copy_into(home, &values, output)
        }
    }
}

/// Scans each row by an operator that is known when a program runs: as [`AnyFused::scan_by_into`](super::AnyFused::scan_by_into) for each alone.
///
/// # Cost
/// As of [`reduce_axes_by`].
///
/// # Errors
/// Those of [`reduce_axes_by`]; the output has the shape of the input.
pub fn scan_axes_by<'b>(
    device: &Device,
    rows: &AnyAlong<'_>,
    output: impl Into<AnyNdViewMut<'b>>,
    operator: &AnyOperator,
    way: (Bounds, Direction),
    init: Option<Scalar>,
) -> Result<()> {
    scanned_into(device, rows, output.into(), operator, way, init)
}

fn scanned_into(
    device: &Device,
    rows: &AnyAlong<'_>,
    mut output: AnyNdViewMut<'_>,
    operator: &AnyOperator,
    (bounds, direction): (Bounds, Direction),
    init: Option<Scalar>,
) -> Result<()> {
    let bits = operator.check_call([rows.dtype(), output.dtype()], init)?;
    let AnyNdView { items, layout } = &rows.array;
    let to_rows = rows.axes.scanned(layout, &output.layout)?;
    let home = &*device.at_home(|| items.home().or_else(|| output.items.home()));
    match home.kind().erased() {
        Erased::Cpu(cpu) => {
            let of_each = rows.axes.items(layout) * operator.dtype().size();
            let in_rows = in_rows(home, rows)?;
            let mut values = AnyArray::with_any(home, operator.dtype(), in_rows.len())?;
            let (items, all) = (in_rows.array().view(), &mut values.view_mut());
            let (items, _) = items.number_bytes()?;
            let room = all.bytes_mut().unwrap_or_default();
            let rooms = room.chunks_exact_mut(of_each.max(1));
            for (row, room) in items.chunks_exact(of_each.max(1)).zip(rooms) {
                cpu.scan_by(operator.on_host(), row, room, bounds, direction, bits)?;
            }
            let values = AnyNdArray::new(values, in_rows.shape())?;
            let order = order_of(rows);
            let layout = permuted(&output.layout, &order)?;
            copy_into(home, &values, AnyNdViewMut { items: output.items, layout })
        }
        Erased::Gpu(gpu) => {
            let problem = operator.on_gpu().scan(bounds, direction, bits, gpu.language());
            gpu.scan_rows(items.erased(), &to_rows, output.items.erased(), &problem)
        }
    }
}

/// The axes of an array, those of a call last.
fn order_of(rows: &AnyAlong<'_>) -> Vec<usize> {
    let along = &rows.axes.numbers;
    let across = (0..rows.array.layout.axes.len()).filter(|axis| !along.contains(axis));
    across.chain(along.iter().copied()).collect()
}

/// A copy of an array on the host in which each row lies in one piece.
fn in_rows(device: &Device, rows: &AnyAlong<'_>) -> Result<AnyNdArray> {
    let AnyNdView { items, layout } = &rows.array;
    let layout = permuted(layout, &order_of(rows))?;
    super::copy(device, AnyNdView { items: *items, layout })
}
