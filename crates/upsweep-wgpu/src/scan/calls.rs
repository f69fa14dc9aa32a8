//! The calls of scans.

use std::sync::Arc;

use upsweep_core::summation::WINDOW;
use upsweep_core::{Direction, GpuScanStrategy, Result, WorkgroupPolicy};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{BindScan, Form, Part, ScanOptions, Selecting, WORD, packed_begin};

use super::{Lies, Others, Scanning, policy};
use crate::backend::{Inputs, Job, Workspace};
use crate::device::Gpu;
use crate::record::{Bound, Recording};
use crate::reduce::bytes as bytes_of;
use crate::shader::Types;
use crate::slice::Slice;

impl BindScan for Gpu {
    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy) {
        super::choice(self, items, item_bytes, packed)
    }

    fn bind_scanning<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        output: Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Bound> {
        bind(self, workspace, job, form, &output, options).map(Bound)
    }

    fn will_carry(workspace: &mut Workspace) {
        workspace.count_run();
    }

    fn carry(&self, workspace: &Workspace, items: u64) -> Result<Words> {
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("a scan that was just made is gone"));
        };
        let found = scanning.carry(self, items)?;
        self.wait()?;
        Ok(found)
    }
}

/// A scan into `output`, or the total into its one item. Of a scan the two may be one slice.
pub(crate) fn bind(
    gpu: &Gpu,
    workspace: &mut Workspace,
    job: Job<'_, '_>,
    form: Form,
    output: &Slice<'_>,
    options: &ScanOptions,
) -> Result<Recording> {
    let may_be_one = job.types.made.is_none() && !form.only_total;
    let in_place = may_be_one && job.inputs.all().all(|input| input.is(output));
    bind_beside(gpu, workspace, job, (form, in_place), output, None, options)
}

/// The same, with what kernels have beside its arrays.
pub(crate) fn bind_beside(
    gpu: &Gpu,
    workspace: &mut Workspace,
    job: Job<'_, '_>,
    (form, in_place): (Form, bool),
    output: &Slice<'_>,
    others: Option<Others<'_>>,
    options: &ScanOptions,
) -> Result<Recording> {
    let Job { types, inputs, init } = job;
    if !in_place && form.selecting.is_none_or(Selecting::writes) {
        inputs.all().try_for_each(|input| input.check_apart(output))?;
    }
    let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&gpu.facts));
    let asked = bytes_of(strategy.load.width);
    // What comes behind words is known where whole windows of them end.
    let carries = workspace.runs > 0;
    let words;
    let (types, inputs, output, absent) =
        match packed(gpu, &types, form, &inputs, output, strategy, carries) {
            Some((types, arrays)) => {
                words = arrays;
                let items = words[0].items;
                let absent = items * u64::from(types.packed) - inputs.items;
                let in_words = Inputs { arrays: &words[..1], items, ..inputs };
                (types, in_words, &words[1], absent as u32)
            }
            None => (types, inputs, output, 0),
        };
    let lies = Lies::new(gpu, &types, (form, in_place), &inputs, output, asked);
    let items = inputs.items;
    let suits = |(of, scanning): &(ScanOptions, Scanning)| {
        of == options && scanning.suits(&types, form, items, lies)
    };
    if !workspace.scanning.as_ref().is_some_and(suits) {
        let items = items.max(workspace.items.div_ceil(types.packed.into()));
        let made = Scanning::new(gpu, types, form, items, lies, options)?;
        workspace.scanning = Some((*options, made));
    }
    match &workspace.scanning {
        Some((_, scanning)) => scanning.bind(gpu, &inputs, output, others, absent, init),
        None => Err(gpu.failed("a scan that was just made is gone")),
    }
}

/// Types and arrays of the same scan over words of several items, where it is one.
fn packed<'a>(
    gpu: &Gpu,
    types: &Types,
    form: Form,
    inputs: &Inputs<'a>,
    output: &Slice<'a>,
    strategy: GpuScanStrategy,
    carries: bool,
) -> Option<(Types, [Slice<'a>; 2])> {
    let [input] = inputs.arrays else { return None };
    let types = types.packed().filter(|types| {
        !form.only_total && policy::packs(&gpu.facts, strategy, inputs.items, types.packed)
    })?;
    let packed = u64::from(types.packed);
    let windows = packed * WINDOW as u64;
    if carries && !inputs.items.is_multiple_of(windows) {
        return None;
    }
    let from_end = form.direction == Direction::Reverse;
    if from_end && inputs.length.is_some() {
        // Nobody knows where the last word ends.
        return None;
    }
    let words = |slice: &Slice<'a>| {
        let bytes = slice.items * WORD / packed;
        let offset = packed_begin(slice.offset, bytes, from_end)?;
        let items = slice.items.div_ceil(packed);
        let words = Slice { offset, items, ..*slice };
        (offset + WORD * items <= slice.buffer.size()).then_some(words)
    };
    let arrays = [words(input)?, words(output)?];
    Some((types, arrays))
}
