//! Scans: the steps of a call.

use std::sync::Arc;

use upsweep_core::Result;

use crate::Types;
use crate::arrays::{ErasedSource, ErasedTarget, Ingredients, Inputs, Part, check_lengths};
use crate::erased::ErasedScan;
use crate::on_device::{self, Written};
use crate::options::{Form, ScanOptions};
use crate::primitives::{Job, Primitives};

/// Writes every prefix of `input` to `output`, or replaces the items of `output` by theirs if there is no input. Waits for an output in
/// the host's memory only.
///
/// # Errors
/// Those of the device: types or operators it does not know, memory, a lost device; and
/// [`LengthMismatch`](upsweep_core::Error::LengthMismatch).
pub fn scan<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: Option<ErasedSource<'_, G::Slice<'_>>>,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<()> {
    let types = gpu.types(&problem.signature)?;
    let (items, kind) = (output.len(), types.output);
    let length = input.as_ref().and_then(ErasedSource::length);
    let mut uploaded = None;
    let input = match input {
        Some(input) => Some(on_device::source(gpu, input, types.item, &mut uploaded)?),
        None => None,
    };
    let output = match input {
        Some(_) => Written::new(gpu, output, kind)?,
        None => Written::holding(gpu, output, kind)?,
    };
    begin(gpu, workspace, input, output.slice()?, types, problem, options)?;
    output.finish_known(gpu, length, items)
}

/// Begins a scan from one array to another, or in place.
fn begin<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: Option<G::Slice<'a>>,
    output: G::Slice<'a>,
    types: Types<G::Syntax>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<()> {
    let input = input.unwrap_or(output);
    check_lengths(input.len(), output.len())?;
    if input.is_empty() {
        return Ok(());
    }
    let bound = bind_types(gpu, workspace, [input, output], types, problem, options)?;
    gpu.begin(&bound)
}

/// A scan of the first slice into the second. The two may be one.
///
/// # Errors
/// As [`scan`].
pub fn bind<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    check_lengths(input.len(), output.len())?;
    let types = gpu.types(&problem.signature)?;
    bind_types(gpu, workspace, [input, output], types, problem, options)
}

fn bind_types<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    types: Types<G::Syntax>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    let (input, words) = ([input], types.values.handed());
    let job = Job { types, inputs: Inputs::of(&input, &words), init: problem.init };
    job.inputs.check_length_apart(&output)?;
    gpu.bind_scanning(workspace, job, Form::new(problem), output, options)
}

/// Writes every prefix of items that are made, or what is made of it, to `output`. Waits for an output in the host's memory only.
///
/// # Errors
/// As [`scan`] and [`reduce_made`](crate::reduce::reduce_made).
pub fn scan_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<()> {
    made.check(G::MOST_ARRAYS)?;
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    let items = output.len();
    if items == 0 {
        return Ok(());
    }
    let uploaded = on_device::upload_all(gpu, made)?;
    let output = Written::new(gpu, output, types.output)?;
    begin_made(gpu, workspace, (made, &uploaded), output.slice()?, types, problem, options)?;
    if !output.is_on_host() {
        return Ok(());
    }
    let items = on_device::known_of_made(gpu, made)?;
    output.finish(gpu, items)
}

/// Begins a scan of items that are made.
fn begin_made<'a, 'b: 'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    (made, uploaded): (&Ingredients<'_, G::Slice<'b>>, &'a [Option<G::Buffer>]),
    output: G::Slice<'a>,
    types: Types<G::Syntax>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<()> {
    let slices = on_device::stored_all::<G>(made, uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let job = Job { types, inputs, init: problem.init };
    job.inputs.check_length_apart(&output)?;
    let bound = gpu.bind_scanning(workspace, job, Form::new(problem), output, options)?;
    gpu.begin(&bound)
}
