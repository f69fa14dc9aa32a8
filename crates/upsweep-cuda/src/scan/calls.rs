//! The calls of scans.

use std::sync::Arc;

use upsweep_core::summation::WINDOW;
use upsweep_core::{Direction, Error, GpuScanStrategy, Result, Strategy, WorkgroupPolicy};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{BindScan, Form, Part, ScanOptions, packed_begin};

use super::{Lies, Scanning, StridedBatch, policy};
use crate::backend::{Inputs, Job, Workspace};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::record::Bound;
use crate::shader::Types;
use crate::slice::Slice;

impl BindScan for Gpu {
    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy) {
        super::choice(&self.facts, items, item_bytes, packed)
    }

    fn bind_scanning<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        output: Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Bound<'a>> {
        let (types, mut read) = (&job.types, job.inputs);
        let may_be_one = types.made.is_none() && types.item == types.output;
        if may_be_one && read.all().all(|input| input.is(&output)) {
            read.arrays = &[];
        }
        read.all().try_for_each(|input| input.check_apart(&output))?;
        let (ready, strategy) = ready(self, workspace, job, form, &output, &[], options)?;
        Ok(Bound::new(ready, Some(strategy), read.all().chain([&output]).chain(read.places())))
    }

    /// Of a scan in the device's own stream.
    fn carry(&self, workspace: &Workspace, items: u64) -> Result<Words> {
        if !items.is_multiple_of(WINDOW as u64) {
            let items = usize::try_from(items).unwrap_or(usize::MAX);
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("there was no scan that something comes in behind"));
        };
        scanning.carry(self)
    }
}

/// The launches of a scan of arrays, with what kernels have `beside` them, and its strategy; without items there are none.
pub(crate) fn ready<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: Job<'_, 'a>,
    form: Form,
    output: &Slice<'a>,
    beside: &[u64],
    options: &ScanOptions,
) -> Result<(Option<Ready>, Strategy)> {
    ready_of(gpu, workspace, job, form, (output, StridedBatch::ONE), beside, options)
}

/// The launch of a scan of several arrays, as long as each other, of which those of the job and the output are the first; `None` if no launch
/// scans several.
pub(crate) fn ready_batch<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: Job<'_, 'a>,
    form: Form,
    to: (&Slice<'a>, StridedBatch),
    policy: WorkgroupPolicy,
) -> Result<Option<Ready>> {
    let arch = gpu.facts.arch;
    let strategy = policy::of_types(arch, &job.types, policy::begins_evenly(&job.inputs));
    if !policy::serves(arch, strategy) {
        return Ok(None);
    }
    let options = ScanOptions { strategy: Some(strategy), policy: Some(policy), stalled: None };
    let (ready, _) = ready_of(gpu, workspace, job, form, to, &[], &options)?;
    Ok(ready)
}

/// The same of one array or of several.
fn ready_of<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: Job<'_, 'a>,
    form: Form,
    (output, mut batch): (&Slice<'a>, StridedBatch),
    beside: &[u64],
    options: &ScanOptions,
) -> Result<(Option<Ready>, Strategy)> {
    let Job { types, inputs, init } = job;
    let (types, items) = (types.of_length(inputs.is_bounded()), inputs.items);
    let strategy = options.strategy.unwrap_or_else(|| {
        policy::of_types(gpu.facts.arch, &types, policy::begins_evenly(&inputs))
    });
    if items == 0 {
        return Ok((None, Strategy::GpuScan(strategy)));
    }
    let options = &ScanOptions { strategy: Some(strategy), ..*options };
    let width = crate::bytes(strategy.load.width);
    let words;
    let (types, inputs, output) =
        match packed(gpu.facts.arch, &types, form, &inputs, (output, batch), strategy) {
            Some((types, arrays)) => {
                words = arrays;
                batch.strides = batch.strides.map(|stride| stride / i64::from(types.packed));
                (types, Inputs { arrays: &words[..1], ..inputs }, &words[1])
            }
            None => (types, inputs, output),
        };
    let mut lies = Lies::new(form, &types, &inputs, Some(output), width);
    if batch.arrays > 1 {
        lies = lies.of_batch(&types, batch);
    }
    let scanning = scanning(gpu, workspace, types, form, (items, batch.arrays), lies, options)?;
    let ready = scanning.bind(gpu, &inputs, output, batch, beside, init)?;
    Ok((Some(ready), Strategy::GpuScan(strategy)))
}

/// A scan of so many items of so many arrays, which lie so: that of the call before, if it suits.
pub(crate) fn scanning<'w>(
    gpu: &Arc<Gpu>,
    workspace: &'w mut Workspace,
    types: Types,
    form: Form,
    (items, arrays): (u64, u64),
    lies: Lies,
    options: &ScanOptions,
) -> Result<&'w Scanning> {
    let suits = |(of, scanning): &(ScanOptions, Scanning)| {
        of == options && scanning.suits(&types, form, (items, arrays), lies)
    };
    if !workspace.scanning.as_ref().is_some_and(suits) {
        let items = items.max(workspace.items);
        workspace.scanning = None;
        let made = Scanning::new(gpu, types, form, (items, arrays), lies, options)?;
        workspace.scanning = Some((*options, made));
    }
    match &workspace.scanning {
        Some((_, scanning)) => Ok(scanning),
        None => Err(gpu.failed("a scan that was just made is gone")),
    }
}

/// Types and arrays of the same scan over words of several items, where it is one.
fn packed<'a>(
    arch: u32,
    types: &Types,
    form: Form,
    inputs: &Inputs<'a>,
    (output, batch): (&Slice<'a>, StridedBatch),
    strategy: GpuScanStrategy,
) -> Option<(Types, [Slice<'a>; 2])> {
    let [input] = inputs.arrays else { return None };
    let is_plain = policy::serves(arch, strategy) && !form.only_total;
    let types = types.packed().filter(|_| is_plain)?;
    let from_end = form.direction == Direction::Reverse;
    if from_end && inputs.length.is_some() {
        // Nobody knows where the last word ends.
        return None;
    }
    if batch.strides.iter().any(|stride| stride % i64::from(types.packed) != 0) {
        return None;
    }
    let words = |slice: &Slice<'a>| {
        let begin = packed_begin(slice.pointer(), slice.bytes(), from_end)?;
        Slice::at(begin, types.item, slice.items.div_ceil(types.packed.into())).ok()
    };
    let arrays = [words(input)?, words(output)?];
    Some((types, arrays))
}
