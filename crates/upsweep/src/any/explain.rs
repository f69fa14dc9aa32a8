//! What calls say of themselves.

use std::hint::black_box;

use upsweep_core::Work;
use upsweep_cpu::Cpu;

use super::array::AnyArray;
use super::kernel::{ScanKernel, widened_to};
use super::view::AnyView;
use super::{
    Op, Reduce, Scalar, Scan, bind_probe_copy, bind_probe_read, bind_reduce, bind_scan,
    reduce_into, reduce_shape, scan_into, with_dtype,
};
use crate::explain::{ExplainableCall, Facts, Report, explain};
use crate::profile::Traffic;
use crate::{Bounds, Device, Dtype, Recording, Result};

/// Explains a reduction, a mean as its sum: see [`explain::reduce`](crate::explain::reduce).
///
/// # Errors
/// Those of [`reduce`](super::reduce).
pub fn explain_reduce<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    problem: &Reduce,
) -> Result<Report> {
    let input = input.into();
    problem.check(input.dtype())?;
    if problem.op.is_position() {
        let largest = problem.op == Op::ArgMax;
        return with_dtype!(input.dtype(), T => {
            crate::explain::position(device, input.typed::<T>()?, largest)
        });
    }
    let kernel = problem.kernel(input.dtype(), device.limits().int64)?;
    let mut buffer = Vec::new();
    let input = widened_to(input, kernel.widened_to, &mut buffer)?.bits_as(kernel.from);
    let op = if problem.op == Op::Mean { Op::Sum } else { problem.op };
    let problem = Reduce { op, acc: Some(kernel.to), init: kernel.init(problem.init) };
    let [from, to] = [kernel.from, kernel.to];
    let facts = Facts {
        primitive: "reduce",
        operator: op.name(),
        types: [from, to].map(|dtype| dtype.name().to_owned()),
        work: Some(Work { operator: op.name(), item: from, output: to }),
        writes: false,
        item_bytes: [from, to].map(Dtype::size),
        shape: reduce_shape(device, from, input.len()),
        choice: with_dtype!(from, T => |cpu: &Cpu, bytes| cpu.choice::<T>(Traffic::Reads, bytes)),
    };
    explain(&facts, &Call { input, out: to, problem: Problem::Reduce(problem) }, device)
}

/// Explains a scan into an array with items of type `out`: see [`explain::scan`](crate::explain::scan).
///
/// # Errors
/// Those of [`scan`](super::scan()).
pub fn explain_scan<'a>(
    device: &Device,
    input: impl Into<AnyView<'a>>,
    out: Dtype,
    problem: &Scan,
) -> Result<Report> {
    let input = input.into();
    problem.check(input.dtype(), out)?;
    let kernel = ScanKernel::new(problem.op, input.dtype(), out)?;
    let mut buffer = Vec::new();
    let input = widened_to(input, kernel.widened_to, &mut buffer)?.bits_as(kernel.from);
    let [from, to] = [kernel.from, kernel.to];
    let facts = Facts {
        primitive: match problem.bounds {
            Bounds::Inclusive => "inclusive_scan",
            Bounds::Exclusive => "exclusive_scan",
        },
        operator: problem.op.name(),
        types: [from, to].map(|dtype| dtype.name().to_owned()),
        work: Some(Work { operator: problem.op.name(), item: from, output: to }),
        writes: true,
        item_bytes: [from, to].map(Dtype::size),
        shape: device.kind().erased().cpu().map(|cpu| kernel.code.shape(cpu, input.len())),
        choice: with_dtype!(to, U => |cpu: &Cpu, bytes| cpu.choice::<U>(Traffic::Copies, bytes)),
    };
    explain(&facts, &Call { input, out: to, problem: Problem::Scan(*problem) }, device)
}

/// A call whose types are values.
struct Call<'a> {
    input: AnyView<'a>,
    /// The type of the output.
    out: Dtype,
    problem: Problem,
}

enum Problem {
    Reduce(Reduce),
    Scan(Scan),
}

impl ExplainableCall for Call<'_> {
    type Input = AnyArray;
    type Output = AnyArray;

    fn items(&self) -> usize {
        self.input.len()
    }

    fn place(&self) -> Option<&str> {
        self.input.bytes().is_none().then(|| self.input.device())
    }

    fn run(&self, device: &Device, items: usize, output: &mut AnyArray) -> Result<()> {
        let input = black_box(self.input.slice(0..items)?);
        match &self.problem {
            Problem::Reduce(problem) => reduce_into(device, input, output, problem),
            Problem::Scan(problem) => scan_into(device, input, output, problem),
        }
    }

    fn copy(&self, device: &Device) -> Result<Option<AnyArray>> {
        match self.input.bytes() {
            Some(_) => AnyArray::from_view(device, self.input).map(Some),
            None => Ok(None),
        }
    }

    fn room(&self, device: &Device, items: usize) -> Result<AnyArray> {
        AnyArray::with_room(device, self.input.dtype(), items)
    }

    fn output(&self, device: &Device, items: usize) -> Result<AnyArray> {
        AnyArray::filled(device, items, Scalar::of_bytes(self.out, &[0; 8]))
    }

    fn bind(
        &self,
        device: &Device,
        input: Option<&AnyArray>,
        output: &mut AnyArray,
    ) -> Result<Recording> {
        let input = input.map_or(self.input, AnyArray::view);
        match &self.problem {
            Problem::Reduce(problem) => bind_reduce(device, input, output, problem),
            Problem::Scan(problem) => bind_scan(device, input, output, problem),
        }
    }

    fn probe(
        &self,
        device: &Device,
        input: Option<&AnyArray>,
        target: &mut AnyArray,
    ) -> Result<Recording> {
        let input = input.map_or(self.input, AnyArray::view);
        match self.problem {
            Problem::Scan(_) => bind_probe_copy(device, input, target),
            Problem::Reduce(_) => bind_probe_read(device, input),
        }
    }
}
