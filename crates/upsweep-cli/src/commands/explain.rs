//! `upsweep explain`: what a call does, why, how fast, and what it waits for.

mod json;

use upsweep::any::{self, AnyView, Op};
use upsweep::explain::Report;
use upsweep::profile::Traffic;
use upsweep::strategy::GpuOptions;
use upsweep::{CpuOptions, Device, Dtype, Placement};
use upsweep_measure::buffer::Buffer;
use upsweep_measure::selection::Choice;
use upsweep_measure::{Workload, device, inputs};

use crate::args::ExplainArguments;
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::progress::Progress;
use crate::record::print;

/// Explains a call on a file, or on so many items that are made.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<()> {
    let mut all = Vec::new();
    match (&arguments.file, &arguments.n) {
        (Some(file), _) => {
            let mut input = Input::open(file, arguments.dtype, &arguments.reading)?;
            let (dtype, items) = (input.dtype, input.items);
            all.push(explained(arguments, dtype, items, Some(&mut input))?);
        }
        (None, lengths) => {
            let dtype = arguments.dtype.unwrap_or(Dtype::F32);
            for &n in lengths.iter().flat_map(|lengths| &lengths.0) {
                all.push(explained(arguments, dtype, n, None)?);
            }
        }
    }
    let text = if arguments.json { json::text(&all) } else { text(&all) };
    Ok(print(&text)?)
}

/// A report, and where its call went.
struct Explained {
    placement: Option<Placement>,
    report: Report,
}

fn text(all: &[Explained]) -> String {
    let one = |Explained { placement, report }: &Explained| match placement {
        Some(placement) => format!("placed on {placement}\n{report}\n"),
        None => format!("{report}\n"),
    };
    all.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn explained(
    arguments: &ExplainArguments,
    dtype: Dtype,
    n: usize,
    file: Option<&mut Input>,
) -> Result<Explained> {
    let acc = arguments.acc.or_else(|| written(arguments, dtype));
    let workload = Workload::new(arguments.op, arguments.operator, dtype, acc);
    let Workload { primitive, op, .. } = workload;
    if primitive.compacts() {
        let name = primitive.name();
        return Err(Failure::usage(format!("explain knows reductions and scans, not {name}")));
    }
    if arguments.acc.is_some() && primitive.is_position() {
        return Err(Failure::usage(format!("--acc has no meaning for {op}: a position is u64")));
    }
    let stored = workload.stored;
    if let Some(reason) = workload.refusal() {
        return Err(Failure::usage(reason));
    }
    let written = if primitive.scans() { n.saturating_mul(stored.size()) } else { 0 };
    let (traffic, bytes) = match primitive.scans() {
        true => (Traffic::Copies, n.saturating_mul(dtype.size()).saturating_add(written)),
        false => (Traffic::Reads, n.saturating_mul(dtype.size())),
    };
    let (device, placement) = opened(arguments, traffic, bytes as u64, &[dtype, stored])?;
    let items = match file {
        Some(input) => of_file(input)?,
        None => inputs::items(dtype, n, op == Op::Product)?,
    };
    let items = AnyView::from_bytes(dtype, items.bytes())?;
    let mut report = if primitive.scans() {
        any::explain_scan(&device, items, stored, &workload.scan())?
    } else {
        any::explain_reduce(&device, items, &workload.reduction())?
    };
    if !primitive.is_position() {
        // The code of another type may have given the same bits.
        report.types = [dtype, stored].map(|dtype| dtype.to_string());
    }
    Ok(Explained { placement, report })
}

/// The type that `upsweep scan` would write, if a kernel does.
fn written(arguments: &ExplainArguments, dtype: Dtype) -> Option<Dtype> {
    let op = arguments.op.op(arguments.operator);
    let out = any::scan_output(op, dtype);
    let kernel = arguments.op.scans().then(|| any::scan_kernel(op, dtype, out)).flatten();
    kernel.filter(|kernel| !kernel.converts).map(|_| out)
}

/// The device of a call that moves so many bytes, and why it is that one if this was left to the library.
fn opened(
    arguments: &ExplainArguments,
    traffic: Traffic,
    bytes: u64,
    dtypes: &[Dtype],
) -> Result<(Device, Option<Placement>)> {
    let (id, options) = (arguments.device.device.as_str(), arguments.device.options());
    let with_gpu = |gpu: GpuOptions| -> Result<Device> {
        let device = device::open(id, options)?;
        device.with_gpu_options(gpu).map_err(|_| {
            let (name, id) = (arguments.strategy, device.id());
            Failure::usage(format!("{name} is a strategy of a GPU, and {id} is none"))
        })
    };
    let device = match arguments.strategy {
        Choice::Auto if matches!(id, "auto" | "") && options == CpuOptions::default() => {
            let placement = Device::auto().placement(traffic, bytes, dtypes);
            return Ok((placement.device.clone(), Some(placement)));
        }
        Choice::Auto => device::open(id, options)?,
        Choice::Cpu(strategy) => {
            device::open(id, CpuOptions { strategy: Some(strategy), ..options })?
        }
        Choice::GpuReduce(strategy) => {
            with_gpu(GpuOptions { reduce: Some(strategy), ..GpuOptions::default() })?
        }
        Choice::GpuScan(strategy) => {
            with_gpu(GpuOptions { scan: Some(strategy), ..GpuOptions::default() })?
        }
    };
    Ok((device, None))
}

/// All items of a file, in the machine's order of bytes.
fn of_file(file: &mut Input) -> Result<Buffer> {
    let mut all = Buffer::new(file.items * file.dtype.size())?;
    let progress = Progress::new(file.item_bytes());
    let items = file.items()?;
    let (step, size) = (items.step(None, 1), items.size());
    items.in_steps(step, &progress, |start, chunk| {
        if let Some(bytes) = chunk.bytes() {
            all.bytes_mut()[start * size..][..bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    })?;
    Ok(all)
}
