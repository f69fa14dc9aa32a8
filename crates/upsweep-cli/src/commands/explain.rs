//! `upsweep explain`: what a call does, why, how fast, and what it waits for.

mod json;

use std::io::{self, Write};

use bytemuck::cast_slice;
use upsweep::explain::{self, Report};
use upsweep::profile::Traffic;
use upsweep::{
    CpuOptions, Device, Dtype, GpuOptions, Max, Min, Number, Operator, Placement, Reduce, Scan,
    Widen,
};

use crate::args::ExplainArguments;
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::progress::Progress;
use upsweep_measure::Workload;
use upsweep_measure::buffer::Buffer;
use upsweep_measure::device;
use upsweep_measure::dispatch::{
    self, Op, PositionKernel, ReduceKernel, ScanKernel, combined_in, same_bits,
};
use upsweep_measure::inputs;
use upsweep_measure::lists::{Choice, Primitive};
use upsweep_measure::with_type;

/// Explains a call on a file, or on so many items that are made.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<()> {
    let mut all = Vec::new();
    match (&arguments.file, &arguments.n) {
        (Some(file), _) => {
            let input = Input::open(file, arguments.dtype)?;
            all.push(explained(arguments, input.dtype, input.items, Some(&input))?);
        }
        (None, lengths) => {
            let dtype = arguments.dtype.unwrap_or(Dtype::F32);
            for &n in lengths.iter().flat_map(|lengths| &lengths.0) {
                all.push(explained(arguments, dtype, n, None)?);
            }
        }
    }
    let text = if arguments.json { json::text(&all) } else { text(&all) };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)
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
    file: Option<&Input>,
) -> Result<Explained> {
    let workload = Workload::new(arguments.op, arguments.operator, dtype, arguments.acc);
    let Workload { primitive, op, .. } = workload;
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
    let (from, to) = match primitive {
        Primitive::Reduce => same_bits(op, dtype, combined_in(stored)),
        _ => same_bits(op, dtype, stored),
    };
    let items = match file {
        Some(input) => of_file(input)?,
        None => inputs::items(dtype, n, op == Op::Product)?,
    };
    let kernel = Explain { device: &device, bytes: items.bytes(), primitive };
    let found = match primitive {
        Primitive::ArgMin | Primitive::ArgMax => Some(dispatch::position(dtype, kernel)),
        Primitive::Reduce => dispatch::reduce(op, from, to, kernel),
        Primitive::InclusiveScan | Primitive::ExclusiveScan => dispatch::scan(op, from, to, kernel),
    };
    let unsupported = || Failure::usage(format!("{op} of {dtype} in {stored} is not supported"));
    let mut report = found.ok_or_else(unsupported)??;
    if !primitive.is_position() {
        // The code of another type may have given the same bits.
        report.types = [dtype, stored].map(|dtype| dtype.to_string());
    }
    Ok(Explained { placement, report })
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
fn of_file(file: &Input) -> Result<Buffer> {
    let mut all = Buffer::new(file.items * file.dtype.size())?;
    let Some(items) = file.items_as(file.dtype) else { return Ok(all) };
    let progress = Progress::new(file.item_bytes());
    with_type!(file.dtype, T => {
        let target: &mut [T] = all.items_mut();
        let step = items.step::<T>(1);
        items.in_steps::<T>(step, &mut Vec::new(), &progress, |start, chunk| {
            target[start..][..chunk.len()].copy_from_slice(chunk);
            Ok(())
        })?;
    });
    Ok(all)
}

/// A call whose types are to be found.
struct Explain<'a> {
    device: &'a Device,
    bytes: &'a [u8],
    primitive: Primitive,
}

impl ReduceKernel for Explain<'_> {
    type Output = Result<Report>;

    fn run<T, A, O>(self, operator: O) -> Result<Report>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let items: &[T] = cast_slice(self.bytes);
        Ok(explain::reduce(self.device, items, &Reduce::<A, O>::new(operator))?)
    }
}

impl ScanKernel for Explain<'_> {
    type Output = Result<Report>;

    fn run<T, U, O>(self, operator: O) -> Result<Report>
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let problem = match self.primitive {
            Primitive::ExclusiveScan => Scan::exclusive(operator),
            _ => Scan::inclusive(operator),
        };
        let items: &[T] = cast_slice(self.bytes);
        Ok(explain::scan::<T, U, O>(self.device, items, &problem)?)
    }
}

impl PositionKernel for Explain<'_> {
    type Output = Result<Report>;

    fn run<T>(self) -> Result<Report>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let items: &[T] = cast_slice(self.bytes);
        Ok(explain::position(self.device, items, self.primitive == Primitive::ArgMax)?)
    }
}
