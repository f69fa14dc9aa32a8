//! The calls of reductions.

use std::sync::Arc;

use upsweep_core::{
    Element, Error, GpuReduceStrategy, GpuScanStrategy, Language, Operator, Reduce, ReduceGlobal,
    ReduceLocal, Result, ScanGlobal, ScanLocal, Strategy, Widen, WorkgroupPolicy,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{BindReduce, ErasedReduce, Form, GpuDevice, ReduceOptions, ScanOptions};

use super::{Reads, Reduction, To, policy};
use crate::backend::{Inputs, Job, Workspace};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::mailbox::Mailbox;
use crate::record::{Awaited, Bound};
use crate::scan::{self, Lies};
use crate::slice::Slice;

impl Gpu {
    /// A reduction of `input` into a value that the host waits for, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`reduce`](upsweep_gpu::reduce::reduce).
    ///
    /// # Safety
    /// The memory of `input` is there as long as the recording may run.
    pub unsafe fn bind_awaited<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Awaited<A>>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Cuda);
        let types = self.types(&problem.signature)?;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
        let mut mailbox = Mailbox::new(self, types.result_words())?;
        let (address, message) = mailbox.next();
        let to = To::Mailbox(address, message);
        let (arrays, words) = ([input], types.values.handed());
        let job = Job { types, inputs: Inputs::of(&arrays, &words), init: problem.init };
        let ready = ready(self, workspace, job, to, options)?;
        Awaited::new(self, ready, Strategy::GpuReduce(strategy), mailbox)
    }
}

impl BindReduce for Gpu {
    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy) {
        super::choice(items, item_bytes)
    }

    fn bind_reduction<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        result: Slice<'a>,
        options: &ReduceOptions,
    ) -> Result<Bound<'a>> {
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&job.types));
        let (inputs, to) = (job.inputs, To::Device(result.pointer()));
        let ready = ready(self, workspace, job, to, options)?;
        let arrays = inputs.all().chain([&result]).chain(inputs.places());
        Ok(Bound::new(Some(ready), Some(Strategy::GpuReduce(strategy)), arrays))
    }

    /// One launch, and no copy of the result.
    fn await_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, '_>,
        _again: bool,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let words = job.types.result_words();
        let mut mailbox = match workspace.mailbox.take() {
            Some(mailbox) if mailbox.words() == words => mailbox,
            _ => Mailbox::new(self, words)?,
        };
        let (address, message) = mailbox.next();
        let to = To::Mailbox(address, message);
        let (stream, inputs) = (self.stream(), job.inputs);
        let ready = ready(self, workspace, job, to, options)?;
        let slices = inputs.all().chain(inputs.places());
        self.in_order(stream, slices, || ready.begin(self, stream))?;
        let found = mailbox.wait(stream)?;
        workspace.mailbox = Some(mailbox);
        self.settle()?;
        Ok(found)
    }
}

/// The launches of a reduction.
fn ready(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: Job<'_, '_>,
    to: To,
    options: &ReduceOptions,
) -> Result<Ready> {
    if !job.types.op.is_commutative() {
        return ready_in_order(gpu, workspace, job, to, options);
    }
    let Job { types, inputs, init } = job;
    let types = types.of_length(inputs.is_bounded());
    let (reads, items) = (Reads::of(&types, &inputs, options), inputs.items);
    let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
        of == options && reduction.suits(&types, items, reads)
    };
    if !workspace.reduction.as_ref().is_some_and(suits) {
        let items = items.max(workspace.items);
        workspace.reduction = None;
        let made = Reduction::new(gpu, types, items, reads, options)?;
        workspace.reduction = Some((*options, made));
    }
    match &workspace.reduction {
        Some((_, reduction)) => reduction.bind(gpu, &inputs, to, init),
        None => Err(gpu.failed("a reduction that was just made is gone")),
    }
}

/// The launches of a reduction whose operator does not commute.
fn ready_in_order(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    job: Job<'_, '_>,
    to: To,
    options: &ReduceOptions,
) -> Result<Ready> {
    let Job { types, inputs, init } = job;
    let types = types.of_length(inputs.is_bounded());
    let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
    if strategy.global != ReduceGlobal::MultiLevel || strategy.local != ReduceLocal::Cooperative {
        return Err(Error::NotCommutative {
            strategy: Strategy::GpuReduce(strategy).to_string(),
            operator: types.op.name(),
        });
    }
    let of_scan = GpuScanStrategy {
        load: strategy.load,
        local: ScanLocal::Cooperative,
        global: ScanGlobal::ReduceThenScan,
    };
    let of_scan = ScanOptions { strategy: Some(of_scan), policy: options.policy, stalled: None };
    let width = crate::bytes(strategy.load.width);
    let lies = Lies::new(Form::TOTAL, &types, &inputs, None, width);
    let scanning = scan::calls::scanning(
        gpu,
        workspace,
        types,
        Form::TOTAL,
        (inputs.items, 1),
        lies,
        &of_scan,
    )?;
    scanning.bind_total(gpu, &inputs, to, init)
}
