//! `upsweep reduce`: all items of a file combined into one value.

use upsweep::any::{self, Op, Reduce, ReduceStream};
use upsweep::profile::Traffic;
use upsweep::{Device, Dtype};
use upsweep_measure::{check_accumulator, device, log};

use crate::args::{InputArguments, ReduceArguments};
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::output::Target;
use crate::progress::Progress;
use crate::record::print;

use super::axes;
use super::segments::Segments;

/// Reduces a file and prints the result.
pub(crate) fn run(arguments: &ReduceArguments) -> Result<()> {
    let (op, acc) = (arguments.op, arguments.acc);
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let mut segments = arguments.segments.given().map(Segments::open).transpose()?;
    let bytes = input.items * input.dtype.size() + segments.as_ref().map_or(0, Segments::bytes);
    let dtypes = [input.dtype, acc.unwrap_or_else(|| combined_in(op, input.dtype))];
    let device = device::place(wanted, options, Traffic::Reads, bytes, &dtypes)?;
    input.will_read(false);
    let choice = device.reduce_choice(input.items, input.dtype.size());
    log!("{op} on {}: strategy {}, {:?}", device.id(), choice.0, choice.1);
    check(op, input.dtype, acc)?;
    let problem = Reduce { op, acc, init: None };
    if let Some(segments) = &mut segments {
        return segments.reduce(&device, &mut input, &problem, arguments);
    }
    if let Some(axes) = &arguments.axes.axis {
        let Some(output) = &arguments.output else {
            return Err(Failure::usage("--axis writes an array; say with -o where"));
        };
        let (target, format) = (Target::of(output)?, arguments.format);
        let rows = (&axes[..], &arguments.axes.shape, arguments.keepdims);
        return axes::reduce(&device, &mut input, rows, &problem, (&target, output, format));
    }
    if arguments.axes.shape.shape.is_some() {
        return Err(Failure::usage("--shape is for --axis"));
    }
    if arguments.output.is_some() {
        return Err(Failure::usage("-o is for values of segments, or of rows with --axis"));
    }
    let progress = Progress::new(input.item_bytes());
    if is_exact(op, problem.result(input.dtype)) {
        input.ignore_order();
    }
    let result = reduce(&device, &mut input, &problem, &progress)?;
    Ok(print(&format!("{result}\n"))?)
}

/// Whether the order of items cannot be seen in a result of type `acc`.
fn is_exact(op: Op, acc: Dtype) -> bool {
    match op {
        Op::ArgMin | Op::ArgMax => false,
        Op::Sum | Op::Product | Op::Mean => !acc.is_float(),
        _ => true,
    }
}

/// A type that a device must have for `op` on items of type `dtype`.
pub(super) fn combined_in(op: Op, dtype: Dtype) -> Dtype {
    if op.is_position() { dtype } else { any::accumulator(op, dtype) }
}

/// Refuses what there is not, in the words of the command line.
pub(super) fn check(op: Op, item: Dtype, acc: Option<Dtype>) -> Result<()> {
    if op.is_position() {
        let meaning = format!("--acc has no meaning for {op}: a position is u64");
        return if acc.is_some() { Err(Failure::usage(meaning)) } else { Ok(()) };
    }
    op.check(item)?;
    let acc = acc.unwrap_or_else(|| any::accumulator(op, item));
    check_accumulator(item, acc)?;
    if op == Op::Mean && !matches!(acc, Dtype::F32 | Dtype::F64) {
        return Err(Failure::usage(format!("a mean is f32 or f64, not --acc {acc}")));
    }
    Ok(op.check(acc)?)
}

/// Takes the items chunk by chunk; the value as text.
fn reduce(
    device: &Device,
    input: &mut Input,
    problem: &Reduce,
    progress: &Progress,
) -> Result<String> {
    let (op, dtype) = (problem.op, input.dtype);
    if input.items == 0 && matches!(op, Op::Min | Op::Max) {
        // The operator's identity would be taken for an item.
        return Ok("none".to_owned());
    }
    let items = input.items()?;
    let kernel = any::reduce_kernel(op, dtype, problem.acc);
    if let Some(kernel) = kernel.filter(|_| !op.is_position()) {
        log!("kernel {kernel}");
    }
    let mut stream = ReduceStream::new(device, dtype, problem)?;
    let multiple = if op.is_position() { 1 } else { ReduceStream::CHUNK };
    items.in_steps(items.step(kernel, multiple), progress, |_, chunk| Ok(stream.push(chunk)?))?;
    Ok(stream.finish()?.map_or("none".to_owned(), |value| value.to_string()))
}
