//! Stream compaction: the steps of a call.
//!
//! What is scanned is how many items are selected. A prefix is the place of an item, so that kernels write what is selected in the same
//! launch.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Kind, Language, Recipe, Result, Sum};

use crate::arrays::{ErasedTarget, Ingredients, Part, check_lengths};
use crate::erased::{ErasedType, Signature};
use crate::on_device::{self, Written};
use crate::options::{Form, ScanOptions};
use crate::primitives::{Job, Primitives};

/// What becomes of items of which some are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selecting {
    /// Those that are selected are written, one behind another, and counted.
    Selected,
    /// All are written: those that are selected, and the others behind them. It was counted before.
    Partitioned,
    /// They are counted.
    Counted,
}

/// What the number of items is that are selected.
const COUNT: Kind = Kind::Number(Dtype::U64);

/// The types of a kernel that selects items of this recipe: it counts them in as many bits as their number takes.
pub fn signature(recipe: &Recipe, items: u64, language: Language) -> Signature {
    let signature = match u32::try_from(items) {
        Ok(_) => Signature::of::<u32, u32, u32, Sum>(&Sum, language),
        Err(_) => Signature::of::<u64, u64, u64, Sum>(&Sum, language),
    };
    let item = ErasedType::of_kind(recipe.item);
    Signature { item, output: item, ..signature }
}

/// Writes the items of which the recipe's condition holds to `output`, in their order, and how many they are to the one item of `count`.
/// Partitioned, the others follow behind them, in theirs. `output` has room for as many items as are made. Waits for what is in the host's
/// memory only.
///
/// # Errors
/// As [`scan_made`](crate::scan::scan_made), and [`Error::ResultLength`].
pub fn select<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    partitions: bool,
    [output, count]: [ErasedTarget<'_, G::Slice<'_>>; 2],
    options: &ScanOptions,
) -> Result<()> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_lengths(items, output.len())?;
    let outputs = Outputs::new(gpu, made.recipe, Some(output), count)?;
    if partitions {
        outputs.begin(gpu, workspace, made, Selecting::Counted, options)?;
        // Kernels of another kind need scratch memory of their own.
        let workspace = &mut G::Workspace::default();
        outputs.begin(gpu, workspace, made, Selecting::Partitioned, options)?;
    } else {
        outputs.begin(gpu, workspace, made, Selecting::Selected, options)?;
    }
    let all = match partitions {
        true => on_device::length_of(made)?,
        false => None,
    };
    outputs.finish(gpu, items, partitions.then_some(all))
}

/// A selection of items that are made of arrays of the device's into the first slice, whose number goes to the one item of the second.
///
/// # Errors
/// As [`select`].
pub fn bind<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'a>>,
    [output, count]: [G::Slice<'a>; 2],
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_lengths(items, output.len())?;
    check_count(count.len())?;
    let types = gpu.types_of_made(made.recipe, &signature(made.recipe, made.items, G::LANGUAGE))?;
    if items == 0 {
        // Runs have nothing to do.
        gpu.to_device(&count, &[0; 8])?;
    }
    let outputs = (Some(output), count);
    bind_types(gpu, workspace, (made, &[]), types, Selecting::Selected, outputs, options)
}

/// That there is one item for a number.
fn check_count(items: usize) -> Result<()> {
    if items == 1 { Ok(()) } else { Err(Error::ResultLength { items }) }
}

/// Writes of how many items the recipe's condition holds to the one item of `count`.
///
/// # Errors
/// As [`select`].
pub fn count<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    count: ErasedTarget<'_, G::Slice<'_>>,
    options: &ScanOptions,
) -> Result<()> {
    let outputs = Outputs::new(gpu, made.recipe, None, count)?;
    outputs.begin(gpu, workspace, made, Selecting::Counted, options)?;
    outputs.finish(gpu, 0, None)
}

/// What a call writes.
struct Outputs<'a, 'b, G: Primitives> {
    items: Option<Written<'a, 'b, G>>,
    count: Written<'a, 'b, G>,
}

impl<'a, 'b, G: Primitives> Outputs<'a, 'b, G> {
    fn new(
        gpu: &Arc<G>,
        recipe: &Recipe,
        items: Option<ErasedTarget<'a, G::Slice<'b>>>,
        count: ErasedTarget<'a, G::Slice<'b>>,
    ) -> Result<Self> {
        check_count(count.len())?;
        let is_read = items.as_ref().is_some_and(ErasedTarget::is_on_host);
        let items = items.map(|items| Written::new(gpu, items, recipe.item)).transpose()?;
        let count = Written::new(gpu, count, COUNT)?;
        if let Written::Device(count) = &count {
            gpu.check_copies(count, true, is_read)?;
        }
        Ok(Self { items, count })
    }

    fn begin(
        &self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        made: &Ingredients<'_, G::Slice<'_>>,
        selecting: Selecting,
        options: &ScanOptions,
    ) -> Result<()> {
        let types =
            gpu.types_of_made(made.recipe, &signature(made.recipe, made.items, G::LANGUAGE))?;
        let count = self.count.slice()?;
        if made.items == 0 {
            return gpu.to_device(&count, &[0; 8]);
        }
        let uploaded = on_device::upload_all(gpu, made)?;
        let items = self.items.as_ref().filter(|_| selecting != Selecting::Counted);
        let items = items.map(Written::slice).transpose()?;
        let (made, outputs) = ((made, &uploaded[..]), (items, count));
        let bound = bind_types(gpu, workspace, made, types, selecting, outputs, options)?;
        gpu.begin(&bound)
    }

    /// Copies to the host what is wanted there, as much as there is, and waits for it. Partitioned, those are all items, whose number the
    /// device may know.
    fn finish(self, gpu: &Arc<G>, items: usize, all: Option<Option<G::Slice<'_>>>) -> Result<()> {
        let Self { items: written, count } = self;
        if let Some(written) = written.filter(|written| written.is_on_host() && items > 0) {
            let found = match all {
                Some(length) => on_device::known(gpu, length, items)?,
                None => on_device::known(gpu, Some(count.slice()?), items)?,
            };
            written.finish(gpu, found)?;
        }
        count.finish(gpu, 1)
    }
}

/// A selection whose arrays are all in the device's memory.
fn bind_types<'a, 'b: 'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    (made, uploaded): (&Ingredients<'_, G::Slice<'b>>, &'a [Option<G::Buffer>]),
    types: crate::Types<G::Syntax>,
    selecting: Selecting,
    (items, count): (Option<G::Slice<'a>>, G::Slice<'a>),
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    made.check(G::MOST_ARRAYS)?;
    let slices = on_device::stored_all::<G>(made, uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let job = Job { types, inputs, init: None };
    job.inputs.check_length_apart(&count)?;
    items.map_or(Ok(()), |items| job.inputs.check_length_apart(&items))?;
    let form = Form::of_selection(selecting);
    gpu.bind_selection(workspace, job, form, items, count, options)
}
