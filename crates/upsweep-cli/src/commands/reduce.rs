//! `upsweep reduce`: all items of a file combined into one value.

use upsweep::any::{self, Op, Reduce, ReduceStream};
use upsweep::profile::Traffic;
use upsweep::{Device, Dtype};
use upsweep_measure::{check_accumulator, device, log};

use crate::args::ReduceArguments;
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::progress::Progress;
use crate::record::print;

/// Reduces a file and prints the result.
pub(crate) fn run(arguments: &ReduceArguments) -> Result<()> {
    let (op, acc) = (arguments.op, arguments.acc);
    let input = Input::open(&arguments.input.file, arguments.input.dtype)?;
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let bytes = input.items * input.dtype.size();
    let dtypes = [input.dtype, acc.unwrap_or_else(|| combined_in(op, input.dtype))];
    let device = device::place(wanted, options, Traffic::Reads, bytes, &dtypes)?;
    input.will_read(false);
    let choice = device.reduce_choice(input.items, input.dtype.size());
    log!("{op} on {}: strategy {}, {:?}", device.id(), choice.0, choice.1);
    let progress = Progress::new(input.item_bytes());
    check(op, input.dtype, acc)?;
    let result = reduce(&device, &input, &Reduce { op, acc, init: None }, &progress)?;
    Ok(print(&format!("{result}\n"))?)
}

/// A type that a device must have for `op` on items of type `dtype`.
fn combined_in(op: Op, dtype: Dtype) -> Dtype {
    if op.is_position() { dtype } else { any::accumulator(op, dtype) }
}

/// Refuses what there is not, in the words of the command line.
fn check(op: Op, item: Dtype, acc: Option<Dtype>) -> Result<()> {
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
fn reduce(device: &Device, input: &Input, problem: &Reduce, progress: &Progress) -> Result<String> {
    let (items, op) = (input.items(), problem.op);
    let kernel = any::reduce_kernel(op, input.dtype, problem.acc);
    if let Some(kernel) = kernel.filter(|_| !op.is_position()) {
        log!("kernel {kernel}");
    }
    let mut stream = ReduceStream::new(device, input.dtype, problem)?;
    let multiple = if op.is_position() { 1 } else { ReduceStream::CHUNK };
    items.in_steps(items.step(kernel, multiple), progress, |_, chunk| Ok(stream.push(chunk)?))?;
    Ok(stream.finish()?.map_or("none".to_owned(), |value| value.to_string()))
}
