//! Files as arrays of several dimensions: `--axis` of `upsweep reduce` and `upsweep scan`, and `upsweep transpose`.

use std::path::Path;

use upsweep::any::{self, AnyAlong, AnyNdArray, AnyNdView, Op, Reduce, Scan};
use upsweep::profile::Traffic;
use upsweep::{Device, Dtype};
use upsweep_measure::device;

use crate::args::{InputArguments, OutputFormat, ShapeArguments, TransposeArguments};
use crate::error::{Failure, Result};
use crate::input::{Format, Input};
use crate::npy;
use crate::output::{ItemStream, NewFile, Target};

/// Where an array goes: what it is, what the user calls it, and how it is written.
pub(super) type To<'a> = (&'a Target, &'a Path, Option<OutputFormat>);

/// Turns a file round.
pub(crate) fn transpose(arguments: &TransposeArguments) -> Result<()> {
    let target = Target::of(&arguments.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let bytes = 2 * input.items * input.dtype.size();
    let device = device::place(wanted, options, Traffic::Copies, bytes, &[input.dtype])?;
    let format = input.format;
    let turned = with_view(&mut input, &arguments.shape, |view| {
        let order = match &arguments.axes {
            Some(axes) => in_order(axes, view.shape().len())?,
            None => (0..view.shape().len()).rev().collect(),
        };
        Ok(any::copy(&device, view.permuted(&order)?)?)
    })?;
    write(&turned, (&target, &arguments.output, arguments.format), format)
}

/// The numbers of these axes, of which negative ones count from the last.
fn in_order(axes: &[isize], dimensions: usize) -> Result<Vec<usize>> {
    let number = |&axis: &isize| {
        let from_start = if axis < 0 { axis + dimensions as isize } else { axis };
        usize::try_from(from_start).ok().filter(|axis| *axis < dimensions).ok_or_else(|| {
            Failure::usage(format!("axis {axis} is none of {dimensions} dimensions"))
        })
    };
    axes.iter().map(number).collect()
}

/// Reduces rows of a file along axes.
pub(super) fn reduce(
    device: &Device,
    input: &mut Input,
    (axes, shape, keepdims): (&[isize], &ShapeArguments, bool),
    problem: &Reduce,
    to: To<'_>,
) -> Result<()> {
    let (format, op) = (input.format, problem.op);
    let found = with_view(input, shape, |view| {
        let rows = along(&view, axes)?;
        let rows = if keepdims { rows.keepdims() } else { rows };
        let counted = rows.reduced_shape().iter().product::<usize>();
        let has_none = matches!(op, Op::Min | Op::Max | Op::ArgMin | Op::ArgMax);
        if view.is_empty() && counted > 0 && has_none {
            return Err(Failure::usage(format!("rows without items have no {op}")));
        }
        Ok(any::reduce_axes(device, &rows, problem)?)
    })?;
    write(&found, to, format)
}

/// Scans rows of a file along axes.
pub(super) fn scan(
    device: &Device,
    input: &mut Input,
    (axes, shape): (&[isize], &ShapeArguments),
    (out, problem): (Dtype, &Scan),
    to: To<'_>,
) -> Result<()> {
    let format = input.format;
    let found = with_view(input, shape, |view| {
        Ok(any::scan_axes(device, &along(&view, axes)?, out, problem)?)
    })?;
    write(&found, to, format)
}

fn along<'a>(view: &AnyNdView<'a>, axes: &[isize]) -> Result<AnyAlong<'a>> {
    Ok(view.axes(axes)?)
}

/// Calls `work` with a file as an array of the shape that it has or is said to have.
fn with_view<R>(
    input: &mut Input,
    shape: &ShapeArguments,
    work: impl FnOnce(AnyNdView<'_>) -> Result<R>,
) -> Result<R> {
    let own: Vec<usize> =
        input.shape.iter().map(|&len| usize::try_from(len).unwrap_or(usize::MAX)).collect();
    let shape = match &shape.shape {
        None => own,
        Some(_) if input.format == Format::Npy => {
            return Err(Failure::usage(
                "--shape is for raw numbers and text; a .npy file says its own",
            ));
        }
        Some(shape) => shape.clone(),
    };
    let by_columns = input.is_by_columns();
    // Items come as they are stored, and strides say where they are.
    input.ignore_order();
    let items = input.items()?;
    let mut buffer = Vec::new();
    let all = items.get(0..items.len(), &mut buffer)?;
    let view = match by_columns {
        false => all.shape(&shape)?,
        true => {
            let strides: Vec<isize> = shape
                .iter()
                .scan(1isize, |stride, &len| {
                    let own = *stride;
                    *stride *= len as isize;
                    Some(own)
                })
                .collect();
            AnyNdView::strided(all, &shape, &strides, 0)?
        }
    };
    work(view)
}

/// Writes an array, of what was read in this format.
fn write(array: &AnyNdArray, (target, shown, asked): To<'_>, read: Format) -> Result<()> {
    let format = asked.unwrap_or_else(|| target.format(read));
    let shape: Vec<u64> = array.shape().iter().map(|&len| len as u64).collect();
    let header = match format {
        OutputFormat::Npy => npy::header(array.dtype(), &shape),
        OutputFormat::Raw | OutputFormat::Text => Vec::new(),
    };
    let bytes = array.to_bytes()?;
    let fill = |mut out: ItemStream<'_>| -> Result<()> {
        out.write(&header)?;
        out.write_items(&bytes)?;
        out.flush()
    };
    match target {
        Target::File(path) => {
            let new = NewFile::create(path, shown)?;
            fill(ItemStream::new(Box::new(new.file()), shown, array.dtype(), format))?;
            new.finish()
        }
        Target::Stream(_) | Target::Stdout => {
            fill(ItemStream::new(target.open_stream()?, target.path(), array.dtype(), format))
        }
    }
}
