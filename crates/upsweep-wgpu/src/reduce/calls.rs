//! The calls of reductions.

use std::sync::Arc;

use upsweep_core::{Error, GpuReduceStrategy, Result, Strategy, WorkgroupPolicy};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{BindReduce, Form, Init, ReduceOptions, ScanOptions};

use super::{Reduction, lies, of_scan, policy};
use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::faults::FAULT_BYTES;
use crate::mailbox::Mailbox;
use crate::record::{Bound, Recording};
use crate::scan;
use crate::shader::Types;
use crate::slice::Slice;

/// What a recording of a reduction was made for.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    buffer: wgpu::Buffer,
    offset: u64,
    items: u64,
    length: Option<(wgpu::Buffer, u64)>,
    types: Types,
    words: Vec<u32>,
    init: Init,
    options: ReduceOptions,
}

impl Asked {
    /// Of one array.
    fn new(job: &Job<'_, '_>, options: &ReduceOptions) -> Option<Self> {
        let [Slice { buffer, offset, items, length }] = *job.inputs.arrays else { return None };
        Some(Self {
            buffer: buffer.clone(),
            offset,
            items,
            length: length.map(|length| (length.buffer.clone(), length.offset)),
            types: job.types.clone(),
            words: job.inputs.words.to_vec(),
            init: job.init,
            options: *options,
        })
    }
}

impl BindReduce for Gpu {
    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy) {
        super::choice(self, items, item_bytes)
    }

    fn bind_reduction<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        result: Slice<'a>,
        options: &ReduceOptions,
    ) -> Result<Bound> {
        bind(self, workspace, job, &result, options).map(Bound)
    }

    fn await_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, '_>,
        again: bool,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let asked = if again { Asked::new(&job, options) } else { None };
        let mailbox = match workspace.result.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let result = Slice::of_buffer(&mailbox.device, 1);
        // Making parameters and bindings anew takes the host longer than a small reduction takes the device.
        let recording = match workspace.last.take() {
            Some((last, recording)) if asked.as_ref() == Some(&last) => recording,
            _ => bind(self, workspace, job, &result, options)?,
        };
        let found = self.await_result(&mailbox, &recording)?;
        workspace.result = Some(mailbox);
        workspace.last = asked.map(|asked| (asked, recording));
        Ok(found)
    }
}

impl Gpu {
    /// Runs a reduction into a mailbox, and waits for the words of memory of its result.
    fn await_result(&self, mailbox: &Mailbox, recording: &Recording) -> Result<Words> {
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        mailbox.send(&mut encoder, recording);
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u8; Mailbox::BYTES as usize];
        self.read(mailbox.host(), 0, &mut found)?;
        self.settle()?;
        let (found, faults) = found.split_at(Mailbox::FAULTS as usize);
        let faults = faults.chunks_exact(FAULT_BYTES as usize).zip(&recording.states);
        faults.map(|(fault, state)| self.judge(fault, state)).fold(Ok(()), Result::and)?;
        Ok(bytemuck::pod_read_unaligned(found))
    }
}

/// A reduction into the one item of `result`.
fn bind(
    gpu: &Gpu,
    workspace: &mut Workspace,
    job: Job<'_, '_>,
    result: &Slice<'_>,
    options: &ReduceOptions,
) -> Result<Recording> {
    let bytes = job.inputs.items * job.types.item.size() as u64;
    let by_itself = || policy::strategy(&gpu.facts, &job.types, bytes);
    let strategy = options.strategy.unwrap_or_else(by_itself);
    if !job.types.op.is_commutative() {
        let of_scan = of_scan(&strategy).ok_or_else(|| Error::NotCommutative {
            strategy: Strategy::GpuReduce(strategy).to_string(),
            operator: job.types.op.name(),
        })?;
        let of_scan =
            ScanOptions { strategy: Some(of_scan), policy: options.policy, stalled: None };
        return scan::calls::bind(gpu, workspace, job, Form::TOTAL, result, &of_scan);
    }
    let Job { types, inputs, init } = job;
    let lies = lies(gpu, &types, &inputs, super::bytes(strategy.load.width));
    let items = inputs.items;
    let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
        of == options && reduction.suits(&types, items, lies)
    };
    if !workspace.reduction.as_ref().is_some_and(suits) {
        let items = items.max(workspace.items);
        let made = Reduction::new(gpu, types, items, lies, options)?;
        workspace.reduction = Some((*options, made));
    }
    match &workspace.reduction {
        Some((_, reduction)) => reduction.bind(gpu, &inputs, result, init),
        None => Err(gpu.failed("a reduction that was just made is gone")),
    }
}
