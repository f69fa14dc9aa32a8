//! Reductions by key in two steps: a selection writes the key of each run and where it begins, and a reduction by offsets follows.
//!
//! What the selection leaves is offsets, whose number the device knows. Values of the scan that does both at once carry where segments
//! begin, for each item; here neither step's do.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Kind, Language, Recipe, Result, SegmentedBy};
use upsweep_gpu::segmented::Beside;
use upsweep_gpu::{Form, GpuDevice, ScanOptions, Segmentation, Selecting, select};

use crate::backend::{Inputs, Job, Workspace};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::memory::Buffer;
use crate::scan;
use crate::shader::{Cut, Types};
use crate::slice::Slice;

/// Items from which on it takes less time than one scan. An H200 takes 30 µs for 28 with 2^22 items in runs of eight, and 80 for 88 with 2^24.
const LEAST_ITEMS: u64 = 1 << 23;

/// Bytes in front of the offsets: `selected.cuh`.
const NUMBER_BYTES: u64 = 16;

/// Where a reduction by key writes.
pub(super) struct To<'a> {
    unique: Slice<'a>,
    count: Slice<'a>,
    values: Slice<'a>,
}

impl<'a> To<'a> {
    /// Of a call that may be done in two steps: one by keys, which go somewhere, of enough items, and of no strategy in particular.
    pub(super) fn of(
        beside: &Beside<Slice<'a>>,
        values: Slice<'a>,
        inputs: &Inputs<'_>,
        options: &ScanOptions,
    ) -> Option<Self> {
        // There are as many keys as the one length says, and not as many as follow from it.
        let is =
            beside.reduces && beside.marks.by == SegmentedBy::Keys && inputs.lengths.is_empty();
        let free = *options == ScanOptions::default();
        let (unique, count) = (beside.unique?, beside.count?);
        (is && free && inputs.items >= LEAST_ITEMS).then_some(Self { unique, count, values })
    }
}

/// The launches of both steps; none if there is no memory for the offsets, which one scan does without.
pub(super) fn ready<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: &Job<'_, 'a>,
    keys: Slice<'a>,
    to: &To<'a>,
) -> Result<Option<[Ready; 2]>> {
    let Job { ref types, inputs, init } = *job;
    let items = inputs.items;
    let long = u32::try_from(items).is_err();
    let offset: Kind = if long { Dtype::U64 } else { Dtype::U32 }.into();
    let room = NUMBER_BYTES + (items + 1) * offset.size() as u64;
    let known = workspace.offsets.take().filter(|offsets| offsets.bytes() >= room);
    let offsets = match known.map_or_else(|| Buffer::zeros(gpu, room).map(Arc::new), Ok) {
        Err(Error::OutOfMemory { .. }) => return Ok(None),
        offsets => offsets?,
    };
    workspace.offsets = Some(Arc::clone(&offsets));
    let selection = selection(gpu, workspace, keys, (inputs.length, items, long), to, &offsets)?;

    let of = Segmentation {
        by: SegmentedBy::Offsets,
        kind: offset,
        wide: false,
        reduces: true,
        is_bounded: true,
    };
    let types = Types { cut: Some(Cut { of, long }), ..types.clone() };
    let beside = [offsets.pointer() + NUMBER_BYTES, items, 0, 0, offsets.pointer()];
    let job = Job { types, inputs, init };
    let sums = super::by_offsets::ready(gpu, workspace, job, (&beside, items), to.values)?;
    Ok(Some([selection, sums.keeping(&offsets)]))
}

/// The launch that writes keys of runs, their number, and the offsets.
fn selection<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    keys: Slice<'a>,
    (length, items, long): (Option<Slice<'a>>, u64, bool),
    to: &To<'a>,
    offsets: &Buffer,
) -> Result<Ready> {
    let recipe = Recipe::of_runs(keys.kind());
    let signature = select::signature(&recipe, items, Language::Cuda);
    let types = gpu.types_of_made(&recipe, &signature)?;
    let words = [&Recipe::words_of_runs(items)[..], &types.values.handed()].concat();
    let arrays = [keys];
    let inputs =
        Inputs { arrays: &arrays, anywhere: &arrays, lengths: &[], words: &words, items, length };
    let job = Job { types, inputs, init: None };
    let form = Form::of_selection(Selecting::Segments { long });
    let beside = [to.count.pointer(), offsets.pointer()];
    let options = ScanOptions::default();
    let (ready, _) = scan::calls::ready(gpu, workspace, job, form, &to.unique, &beside, &options)?;
    ready.ok_or_else(|| gpu.failed("a reduction by key in two steps has items"))
}
