//! Reductions: the steps of a call.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Extreme, Result};

use crate::Types;
use crate::arrays::{ErasedSource, Ingredients, Inputs, Part};
use crate::bits::Words;
use crate::erased::ErasedReduce;
use crate::on_device;
use crate::options::{Init, ReduceOptions};
use crate::primitives::{Job, Primitives};

/// Combines all items into one value, and waits for its words of memory.
///
/// # Errors
/// Those of the device: types or operators it does not know, memory, a lost device.
pub fn reduce<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<Words> {
    let types = gpu.types(&problem.signature)?;
    of_source(gpu, workspace, input, types, problem.init, options)
}

/// The first position of an extreme among items of this type; `None` if there are no items. Waits.
///
/// # Errors
/// As [`reduce`].
pub fn position<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    (item, extreme): (Dtype, Extreme),
    options: &ReduceOptions,
) -> Result<Option<u64>> {
    let types = gpu.types_of_position(item, extreme)?;
    let [low, high, ..] = of_source(gpu, workspace, input, types, None, options)?;
    let position = u64::from(low) | u64::from(high) << 32;
    Ok((position != u64::MAX).then_some(position))
}

/// Combines the items of one array.
fn of_source<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    types: Types<G::Syntax>,
    init: Init,
    options: &ReduceOptions,
) -> Result<Words> {
    // What is uploaded is not kept.
    let again = !input.is_on_host();
    let mut uploaded = None;
    let input = [on_device::source(gpu, input, types.item, &mut uploaded)?];
    let words = types.values.handed();
    let job = Job { types, inputs: Inputs::of(&input, &words), init };
    gpu.await_reduction(workspace, job, again, options)
}

/// Combines items that are made into one value, and waits for its words of memory.
///
/// # Errors
/// As [`reduce`], and [`Error::Buffer`] for more arrays or words of parameters than a kernel reads.
pub fn reduce_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<Words> {
    made.check(G::MOST_ARRAYS)?;
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let slices = on_device::stored_all::<G>(made, &uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let job = Job { types, inputs, init: problem.init };
    gpu.await_reduction(workspace, job, false, options)
}

/// Combines items that are made into the one item of `result`. Does not wait.
///
/// # Errors
/// As [`reduce_made`], [`Error::ResultLength`].
pub fn reduce_made_into<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    result: G::Slice<'_>,
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<()> {
    made.check(G::MOST_ARRAYS)?;
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let slices = on_device::stored_all::<G>(made, &uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let job = Job { types, inputs, init: problem.init };
    let bound = bind_job(gpu, workspace, job, G::reborrow(result), options)?;
    gpu.begin(&bound)
}

/// Combines all items into the one item of `result`. Does not wait.
///
/// # Errors
/// As [`reduce`], [`Error::ResultLength`].
pub fn reduce_into<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    result: G::Slice<'_>,
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<()> {
    let types = gpu.types(&problem.signature)?;
    let mut uploaded = None;
    let input = on_device::source(gpu, input, types.item, &mut uploaded)?;
    let result = G::reborrow(result);
    let bound = bind_types(gpu, workspace, [input, result], types, problem.init, options)?;
    gpu.begin(&bound)
}

/// A reduction of items that are made into the one item of `result`. All arrays are the device's.
///
/// # Errors
/// As [`reduce_made`], [`Error::ResultLength`].
pub fn bind_made<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'a>>,
    result: G::Slice<'a>,
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<G::Bound<'a>> {
    made.check(G::MOST_ARRAYS)?;
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    let slices = on_device::stored_all::<G>(made, &[])?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    bind_job(gpu, workspace, Job { types, inputs, init: problem.init }, result, options)
}

/// A reduction of the first slice into the one item of the second.
///
/// # Errors
/// As [`reduce_into`].
pub fn bind<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    slices: [G::Slice<'a>; 2],
    problem: &ErasedReduce,
    options: &ReduceOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types(&problem.signature)?;
    bind_types(gpu, workspace, slices, types, problem.init, options)
}

/// A search for an extreme's position in the first slice into the one item of the second, a `u64`: `u64::MAX` if there are no items.
///
/// # Errors
/// As [`reduce_into`].
pub fn bind_position<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    slices: [G::Slice<'a>; 2],
    (item, extreme): (Dtype, Extreme),
    options: &ReduceOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types_of_position(item, extreme)?;
    bind_types(gpu, workspace, slices, types, None, options)
}

fn bind_types<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, result]: [G::Slice<'a>; 2],
    types: Types<G::Syntax>,
    init: Init,
    options: &ReduceOptions,
) -> Result<G::Bound<'a>> {
    let (input, words) = ([input], types.values.handed());
    let job = Job { types, inputs: Inputs::of(&input, &words), init };
    bind_job(gpu, workspace, job, result, options)
}

/// A reduction into the one item of `result`.
pub(crate) fn bind_job<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    job: Job<'_, 'a, G>,
    result: G::Slice<'a>,
    options: &ReduceOptions,
) -> Result<G::Bound<'a>> {
    if result.len() != 1 {
        return Err(Error::ResultLength { items: result.len() });
    }
    job.inputs.all().try_for_each(|input| input.check_apart(&result))?;
    job.inputs.check_length_apart(&result)?;
    gpu.bind_reduction(workspace, job, result, options)
}
