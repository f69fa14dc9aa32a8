//! The calls of the library: arrays of the host or of the device in, results out.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Dtype, Element, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Limits, Number,
    Operator, Reduce, Result, Scan, Strategy, Widen, WorkgroupPolicy,
};

use crate::device::Gpu;
use crate::launch::Ready;
use crate::mailbox::Mailbox;
use crate::memory::Buffer;
use crate::record::{Awaited, Recording};
use crate::reduce::{Init, ReduceOptions, Reduction, To};
use crate::scan::{Form, ScanOptions, Scanning};
use crate::shader::{Op, Types};
use crate::slice::Slice;
use crate::{reduce, scan};
use upsweep_gpu::Primitives;
use upsweep_gpu::bits::{bytes, bytes_mut, from_words, number, words};

/// Items to read.
pub type Source<'a, T> = upsweep_gpu::Source<'a, T, Slice<'a>>;

/// Items to write, or to read and overwrite.
pub type Target<'a, T> = upsweep_gpu::Target<'a, T, Slice<'a>>;

/// A GPU, shared, with options: the backend that the facade calls.
pub type Cuda = upsweep_gpu::OnGpu<Gpu>;

/// Scratch memory of a plan: made by the first call that needs it. One call at a time may use it, in one stream after
/// another.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Items that it is made for; more are fine, and make it anew.
    items: u64,
    reduction: Option<(ReduceOptions, Reduction)>,
    scanning: Option<(ScanOptions, Scanning)>,
    mailbox: Option<Mailbox>,
}

impl Workspace {
    /// Scratch memory for calls with at most `items` items.
    pub fn for_items(items: u64) -> Self {
        Self { items, ..Self::default() }
    }
}

/// The bits of a start value.
fn init_words<A: Element>(init: Option<A>) -> Init {
    init.map(|init| words(init).unwrap_or_default())
}

impl Gpu {
    /// The types of a kernel.
    fn types<T, A, U, O>(&self, operator: &O) -> Result<Types>
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        let untranslated = Error::OperatorUntranslated { operator: O::NAME, language: "CUDA C++" };
        match Types::of::<T, A, U, O>(operator) {
            Some(types) => Ok(types),
            None if Op::of(operator).is_none() => Err(untranslated),
            None => number::<T>(self.id())
                .and_then(|_| number::<A>(self.id()))
                .and_then(|_| number::<U>(self.id()))
                .and(Err(untranslated)),
        }
    }

    /// Combines all items into one value, and waits for it: one launch, and no copy of the result.
    ///
    /// # Errors
    /// Those of the device: types or operators it does not know, memory, a lost device.
    pub fn reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = init_words(problem.init);
        let found = self.reduce_bits(workspace, input, types, init, options)?;
        from_words([found as u32, (found >> 32) as u32])
            .ok_or_else(|| self.failed("a result of an unknown type"))
    }

    /// The first position of an extreme; `None` if there are no items.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        let types = Types::of_position(T::DTYPE, extreme);
        let position = self.reduce_bits(workspace, input, types, None, options)?;
        Ok((position != u64::MAX).then_some(position))
    }

    fn reduce_bits<T: Element>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<u64> {
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let mut mailbox = match workspace.mailbox.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let (address, message) = mailbox.next();
        let to = To::Mailbox(address, message);
        let stream = self.stream();
        let ready = self.ready_reduction(workspace, types, &input, to, init, options)?;
        self.in_order(stream, &[&input], || ready.begin(self, stream))?;
        let found = mailbox.wait(stream)?;
        workspace.mailbox = Some(mailbox);
        self.settle()?;
        Ok(found)
    }

    /// Combines all items into the one item of `result`, in a stream. Does not wait; allocates only what the workspace has
    /// not yet.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn reduce_into<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let (ready, _) =
            self.one_reduction::<T, A, O>(workspace, &input, &result, problem, options)?;
        self.in_order(stream, &[&input, &result], || ready.begin(self, stream))
    }

    /// A reduction of `input` into the one item of `result`, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`reduce_into`](Gpu::reduce_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Recording>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let (ready, strategy) =
            self.one_reduction::<T, A, O>(workspace, &input, &result, problem, options)?;
        Ok(Recording::new(self, Some(ready), Some(strategy)))
    }

    /// A reduction of `input` into a value that the host waits for, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
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
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let strategy = options.strategy.unwrap_or_else(|| reduce::policy::strategy(&types));
        let mut mailbox = Mailbox::new(self)?;
        let (address, message) = mailbox.next();
        let (to, init) = (To::Mailbox(address, message), init_words(problem.init));
        let ready = self.ready_reduction(workspace, types, &input, to, init, options)?;
        Ok(Awaited::new(self, ready, Strategy::GpuReduce(strategy), mailbox))
    }

    fn one_reduction<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: &Slice<'_>,
        result: &Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<(Ready, Strategy)>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        self.ready_result(workspace, types, input, result, init_words(problem.init), options)
    }

    /// A search for an extreme's position, ready to be launched as often as wanted. The one item of `result` is a `u64`,
    /// `u64::MAX` if there are no items.
    ///
    /// # Errors
    /// As [`reduce_into`](Gpu::reduce_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let types = Types::of_position(T::DTYPE, extreme);
        let (ready, strategy) =
            self.ready_result(workspace, types, &input, &result, None, options)?;
        Ok(Recording::new(self, Some(ready), Some(strategy)))
    }

    /// The launch of a reduction into the one item of `result`.
    fn ready_result(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        input: &Slice<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<(Ready, Strategy)> {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(result)?;
        let strategy = options.strategy.unwrap_or_else(|| reduce::policy::strategy(&types));
        let to = To::Device(result.pointer());
        let ready = self.ready_reduction(workspace, types, input, to, init, options)?;
        Ok((ready, Strategy::GpuReduce(strategy)))
    }

    fn ready_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        input: &Slice<'_>,
        to: To,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Ready> {
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(&types, input, options)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            workspace.reduction = None;
            let made = Reduction::new(self, types, items, input, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.bind(self, input, to, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }

    /// Writes every prefix of `input` to `output`, which has the same length; the two may be one slice. In a stream: does not
    /// wait, and allocates only what the workspace has not yet.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), and [`Error::LengthMismatch`].
    pub fn scan_into<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        [input, output]: [Slice<'_>; 2],
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let ready = self.ready_scan::<T, U, O>(workspace, [&input, &output], problem, options)?;
        let Some(ready) = ready else { return Ok(()) };
        let in_place = [&output];
        let arrays = [&input, &output];
        let arrays = if input.is(&output) { &in_place[..] } else { &arrays };
        self.in_order(stream, arrays, || ready.begin(self, stream))
    }

    /// A scan of `input` into `output`, ready to be launched as often as wanted. The two may be one slice.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        output: Slice<'_>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let ready = self.ready_scan::<T, U, O>(workspace, [&input, &output], problem, options)?;
        let strategy = options.strategy.unwrap_or_else(|| scan::policy::strategy(self.facts.arch));
        Ok(Recording::new(self, ready, Some(Strategy::GpuScan(strategy))))
    }

    /// The launch of a scan; `None` if there is nothing to do.
    fn ready_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        [input, output]: [&Slice<'_>; 2],
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Option<Ready>>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let in_place = input.is(output) && types.item == types.output;
        if !in_place {
            input.check_apart(output)?;
        }
        if input.items == 0 {
            return Ok(None);
        }
        let form = Form::new(problem);
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(&types, form, input, output)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            workspace.scanning = None;
            let made = Scanning::new(self, types, form, items, [input, output], options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => {
                scanning.bind(self, input, output, init_words(problem.init)).map(Some)
            }
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Writes every prefix of `input` to `output`, which has the same length. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        self.scan_from(workspace, Some(input), output, problem, options)
    }

    /// A scan in place if there is no input.
    fn scan_from<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Option<Source<'_, T>>,
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let mut uploaded = None;
        let in_place = input.is_none();
        let input = match input {
            Some(input) => Some(self.on_device(input, types.item, &mut uploaded)?),
            None => None,
        };
        let mut scan = |to: Slice<'_>| {
            let arrays = [input.unwrap_or(to), to];
            self.scan_into::<T, U, O>(workspace, self.stream(), arrays, problem, options)
        };
        match output {
            Target::Device(output) => scan(output),
            Target::Host(items) => {
                let data = bytes_mut(items).unwrap_or_default();
                let made = Buffer::new(self, data.len() as u64)?;
                if in_place {
                    made.write(0, data)?;
                }
                let count = data.len() as u64 / types.output.size() as u64;
                scan(Slice::at(made.pointer(), types.output, count)?)?;
                // SAFETY: the memory is ours, and has as many bytes.
                unsafe { self.copy_out(made.pointer(), data) }
            }
        }
    }

    /// What comes in behind the last scan of this workspace, which was one of `items` items in the device's own stream: the
    /// start value of a scan of what follows. Waits for it.
    ///
    /// # Errors
    /// [`Error::ChunkLength`] unless the items were whole windows, and those of the device.
    pub fn carry<A: Element>(&self, workspace: &Workspace, items: u64) -> Result<A> {
        if !items.is_multiple_of(WINDOW as u64) {
            let items = usize::try_from(items).unwrap_or(usize::MAX);
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("there was no scan that something comes in behind"));
        };
        let bits = scanning.carry(self)?;
        from_words([bits as u32, (bits >> 32) as u32])
            .ok_or_else(|| self.failed("a carry of an unknown type"))
    }

    /// Replaces every item by its prefix. Waits for data in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan_in_place<T, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        self.scan_from::<T, T, O>(workspace, None, data, problem, options)
    }

    /// The items in the device's memory; `uploaded` keeps those that were brought there.
    fn on_device<'a, T: Element>(
        self: &Arc<Self>,
        input: Source<'a, T>,
        dtype: Dtype,
        uploaded: &'a mut Option<Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            Source::Device(slice) if slice.dtype() == dtype => Ok(slice),
            Source::Device(slice) => Err(Error::Buffer {
                reason: format!("a slice of {} is not one of {dtype}", slice.dtype()),
            }),
            Source::Host(items) => {
                let data = bytes(items).unwrap_or_default();
                let buffer = Buffer::new(self, data.len() as u64)?;
                buffer.write(0, data)?;
                Slice::at(uploaded.insert(buffer).pointer(), dtype, items.len() as u64)
            }
        }
    }
}

impl Primitives for Gpu {
    type Slice<'a> = Slice<'a>;
    type Workspace = Workspace;

    fn id(&self) -> &str {
        Gpu::id(self)
    }

    fn limits(&self) -> &Limits {
        Gpu::limits(self)
    }

    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy) {
        reduce::choice(items, item_bytes)
    }

    fn scan_choice(&self, items: u64, item_bytes: usize) -> (GpuScanStrategy, WorkgroupPolicy) {
        scan::choice(&self.facts, items, item_bytes)
    }

    fn workspace(items: u64) -> Workspace {
        Workspace::for_items(items)
    }

    fn check_types<T, A, U, O>(&self, operator: &O) -> Result<()>
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        self.types::<T, A, U, O>(operator).map(drop)
    }

    fn reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        problem: &Reduce<A, O>,
        options: &GpuOptions,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        Gpu::reduce(self, workspace, input, problem, &options.into())
    }

    fn reduce_into<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &GpuOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let mut uploaded = None;
        let input = self.on_device(input, number::<T>(self.id())?, &mut uploaded)?;
        let (stream, options) = (self.stream(), options.into());
        Gpu::reduce_into::<T, A, O>(self, workspace, stream, input, result, problem, &options)
    }

    fn position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
        options: &GpuOptions,
    ) -> Result<Option<u64>> {
        Gpu::position(self, workspace, input, extreme, &options.into())
    }

    fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Option<Source<'_, T>>,
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &GpuOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        self.scan_from(workspace, input, output, problem, &options.into())
    }

    fn carry<A: Element>(&self, workspace: &Workspace, items: u64) -> Result<A> {
        Gpu::carry(self, workspace, items)
    }

    fn wait(&self) -> Result<()> {
        Gpu::wait(self)
    }
}

impl From<&GpuOptions> for ReduceOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { strategy: options.reduce, policy: options.policy }
    }
}

impl From<&GpuOptions> for ScanOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { strategy: options.scan, policy: options.policy, stalled: None }
    }
}
