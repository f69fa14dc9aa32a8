//! The calls of the library: arrays of the host or of the device in, results out.

use core::ops::Range;
use std::sync::{Arc, Weak};

use upsweep_core::{
    Dtype, Element, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Limits, Number,
    Operator, Reduce, Result, Scan, Widen, WorkgroupPolicy,
};
use upsweep_gpu::{Part, Primitives};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::faults::FAULT;
use crate::record::Recording;
use crate::reduce::{Init, ReduceOptions, Reduction};
use crate::scan::{Form, RUNS, ScanOptions, Scanning};
use crate::shader::{Op, Types};
use crate::slice::Slice;
use crate::{reduce, scan};
use upsweep_gpu::bits::{bytes, bytes_mut, dtype_of, from_words, number, words};

/// Items to read.
pub type Source<'a, T> = upsweep_gpu::Source<'a, T, Slice<'a>>;

/// Items to write, or to read and overwrite.
pub type Target<'a, T> = upsweep_gpu::Target<'a, T, Slice<'a>>;

/// A GPU, shared, with options: the backend that the facade calls.
pub type Wgpu = upsweep_gpu::OnGpu<Gpu>;

/// Scratch memory of a plan: made by the first call that needs it.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Items that it is made for; more are fine, and make it anew.
    items: u64,
    reduction: Option<(ReduceOptions, Reduction)>,
    scanning: Option<(ScanOptions, Scanning)>,
    result: Option<Mailbox>,
    /// The last reduction of an array of the device to a value of the host, to be run again.
    last: Option<(Asked, Recording)>,
    /// Runs of `scanning` of which the carry is asked for.
    runs: u32,
}

impl Workspace {
    /// Scratch memory for calls with at most `items` items.
    pub(crate) fn for_items(items: u64) -> Self {
        Self { items, ..Self::default() }
    }

    /// A run of a scan of which the carry is asked for: the run after which the state is cleared must not be among
    /// them.
    pub(crate) fn count_run(&mut self) {
        self.runs += 1;
        if self.runs == RUNS {
            (self.runs, self.scanning) = (1, None);
        }
    }
}

/// The bits of a start value.
fn init_words<A: Element>(init: Option<A>) -> Init {
    init.map(|init| words(init).unwrap_or_default())
}

/// What a recording of a reduction was made for.
#[derive(Debug, PartialEq)]
struct Asked {
    buffer: wgpu::Buffer,
    offset: u64,
    items: u64,
    types: Types,
    init: Init,
    options: ReduceOptions,
}

/// Where a small result is written by kernels and read by the host: one buffer where the device lets the host map
/// what kernels write, which spares a copy.
#[derive(Debug)]
struct Mailbox {
    device: wgpu::Buffer,
    host: Option<wgpu::Buffer>,
}

impl Mailbox {
    const BYTES: u64 = 16;

    fn new(gpu: &Gpu) -> Result<Self> {
        let kernels = BufferUsages::STORAGE;
        let host = BufferUsages::MAP_READ;
        if gpu.device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            let usage = kernels | host | BufferUsages::COPY_DST;
            return Ok(Self { device: gpu.buffer("result", Self::BYTES, usage)?, host: None });
        }
        let device = gpu.buffer("result", Self::BYTES, kernels | BufferUsages::COPY_SRC)?;
        let host = gpu.buffer("result", Self::BYTES, host | BufferUsages::COPY_DST)?;
        Ok(Self { device, host: Some(host) })
    }

    /// Records the copies to the host that are needed: of the result, and behind it of the state's word that says
    /// whether it may be trusted.
    fn send(&self, encoder: &mut wgpu::CommandEncoder, state: Option<&wgpu::Buffer>) {
        if let Some(host) = &self.host {
            encoder.copy_buffer_to_buffer(&self.device, 0, host, 0, 8);
        }
        if let Some(state) = state {
            encoder.copy_buffer_to_buffer(state, FAULT, self.host(), 8, 4);
        }
    }

    /// The buffer that the host maps.
    fn host(&self) -> &wgpu::Buffer {
        self.host.as_ref().unwrap_or(&self.device)
    }
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
        let op = Op::of(operator)
            .ok_or(Error::OperatorUntranslated { operator: O::NAME, language: "WGSL" })?;
        Ok(Types {
            item: number::<T>(self.id())?,
            acc: number::<A>(self.id())?,
            output: number::<U>(self.id())?,
            op,
            identity: words(operator.identity()).unwrap_or_default(),
            padding: words(operator.padding()).unwrap_or_default(),
        })
    }

    /// Combines all items into one value, and waits for it.
    ///
    /// # Errors
    /// Those of the device: types or operators it does not know, memory, a lost device.
    pub fn reduce<T, A, O>(
        &self,
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
        let found = self.reduce_words(workspace, input, types, init, options)?;
        from_words(found).ok_or_else(|| self.failed("a result of an unknown type"))
    }

    /// The first position of an extreme; `None` if there are no items.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn position<T: Number>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        let types = Self::position_types::<T>(extreme);
        let [low, high] = self.reduce_words(workspace, input, types, None, options)?;
        let position = u64::from(low) | u64::from(high) << 32;
        Ok((position != u64::MAX).then_some(position))
    }

    /// A search for an extreme's position, ready to be recorded. The one item of `result` is a `u64`, `u64::MAX` if
    /// there are no items.
    ///
    /// # Errors
    /// As [`bind_reduce`](Gpu::bind_reduce).
    pub fn bind_position<T: Number>(
        &self,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = Self::position_types::<T>(extreme);
        let bound = self.bind_reduction(workspace, types, &input, &result, None, options)?;
        self.keep(bound)
    }

    fn position_types<T: Number>(extreme: Extreme) -> Types {
        let acc = dtype_of::<T::Acc>().unwrap_or(T::DTYPE);
        let (identity, padding) = ([0; 2], [0; 2]);
        Types { item: T::DTYPE, acc, output: acc, op: Op::First(extreme), identity, padding }
    }

    fn reduce_words<T: Element>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<[u32; 2]> {
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let bytes = types.result_bytes();
        let asked = Asked {
            buffer: input.buffer.clone(),
            offset: input.offset,
            items: input.items,
            types: types.clone(),
            init,
            options: *options,
        };
        let mailbox = match workspace.result.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let result = Slice { buffer: &mailbox.device, offset: 0, items: 1 };
        // Making parameters and bindings anew takes the host longer than a small reduction takes the device.
        let recording = match workspace.last.take() {
            Some((last, recording)) if last == asked => recording,
            _ => self.bind_reduction(workspace, types, &input, &result, init, options)?,
        };
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        mailbox.send(&mut encoder, recording.state.as_ref());
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u8; 16];
        self.read(mailbox.host(), 0, &mut found)?;
        workspace.result = Some(mailbox);
        self.settle()?;
        let [low, high, fault, _]: [u32; 4] = bytemuck::cast(found);
        if let Some(state) = recording.state.as_ref().filter(|_| fault != 0) {
            self.write(state, FAULT, &[0; 4])?;
            return Err(self.waited_in_vain());
        }
        // What was uploaded is not kept for the sake of a recording.
        if uploaded.is_none() {
            workspace.last = Some((asked, recording));
        }
        let mut words = [low, high];
        if bytes < 8 {
            words[1] = 0;
        }
        if bytes < 4 {
            words[0] &= (1 << (8 * bytes)) - 1;
        }
        Ok(words)
    }

    /// Combines all items into the one item of `result`. Does not wait.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn reduce_into<T, A, O>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let recording = self.bind_reduce::<T, A, O>(workspace, input, result, problem, options)?;
        self.submit(&recording)
    }

    fn bind_reduction(
        &self,
        workspace: &mut Workspace,
        types: Types,
        input: &Slice<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(self, &types, input)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            let made = Reduction::new(self, types, items, input, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.bind(self, input, result, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }

    /// A reduction of `input` into the one item of `result`, ready to be recorded.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn bind_reduce<T, A, O>(
        &self,
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
        let bound = self.one_reduction::<T, A, O>(workspace, input, result, problem, options)?;
        self.keep(bound)
    }

    fn one_reduction<T, A, O>(
        &self,
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
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = init_words(problem.init);
        self.bind_reduction(workspace, types, &input, &result, init, options)
    }

    /// A scan of `input` into `output`, ready to be recorded. The two may be one slice.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan).
    pub fn bind_scan<T, U, O>(
        &self,
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
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let init = init_words(problem.init);
        let form = Form::new(problem, input.is(&output));
        let bound = self.bind_scanning(workspace, types, form, [&input, &output], init, options)?;
        self.keep(bound)
    }

    /// Writes every prefix of `input` to `output`, which has the same length. Waits for an output in the host's
    /// memory only.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), and [`Error::LengthMismatch`].
    pub fn scan<T, U, O>(
        &self,
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

    /// Replaces every item by its prefix. Waits for data in the host's memory only.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn scan_in_place<T, O>(
        &self,
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

    /// A scan in place if there is no input.
    pub(crate) fn scan_from<T, U, O>(
        &self,
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
        self.check(&types)?;
        let (mut uploaded, created);
        let input = match input {
            Some(input) => {
                uploaded = None;
                Some(self.on_device(input, types.item, &mut uploaded)?)
            }
            None => None,
        };
        let (to, host) = match output {
            Target::Device(slice) => (slice, None),
            Target::Host(items) => {
                let data = bytes_mut(items).unwrap_or_default();
                created = if input.is_none() {
                    self.upload("items", data)?
                } else {
                    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
                    self.buffer("items", data.len() as u64, usage)?
                };
                let items = data.len() as u64 / types.output.size() as u64;
                (Slice::new(&created, types.output, 0, items)?, Some(data))
            }
        };
        let from = input.unwrap_or(to);
        if from.items != to.items {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        if from.items == 0 {
            return Ok(());
        }
        let form = Form::new(problem, from.is(&to));
        let init = init_words(problem.init);
        let recording = self.bind_scanning(workspace, types, form, [&from, &to], init, options)?;
        self.submit(&recording)?;
        match host {
            Some(data) => {
                self.wait()?;
                self.download(to.buffer, to.offset, data)
            }
            None => Ok(()),
        }
    }

    /// What comes behind the last scan of this workspace, which was one of `items` items: whole windows. Waits.
    pub(crate) fn carry<A: Element>(&self, workspace: &Workspace, items: u64) -> Result<A> {
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("a scan that was just made is gone"));
        };
        let found = scanning.carry(self, items)?;
        self.wait()?;
        from_words(found).ok_or_else(|| self.failed("a carry of an unknown type"))
    }

    /// Submits a recording, and remembers to look later whether it went well.
    ///
    /// # Errors
    /// Those of the device.
    pub fn submit(&self, recording: &Recording) -> Result<()> {
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        match &recording.state {
            Some(state) if recording.alive.is_none() => self.watch(state, Weak::new()),
            _ => Ok(()),
        }
    }

    /// The items in the device's memory; `uploaded` keeps those that were brought there.
    fn on_device<'a, T: Element>(
        &self,
        input: Source<'a, T>,
        dtype: Dtype,
        uploaded: &'a mut Option<wgpu::Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            Source::Device(slice) => Ok(slice),
            Source::Host(items) => {
                let buffer = self.upload("items", bytes(items).unwrap_or_default())?;
                Slice::new(uploaded.insert(buffer), dtype, 0, items.len() as u64)
            }
        }
    }

    fn bind_scanning(
        &self,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        [input, output]: [&Slice<'_>; 2],
        init: Init,
        options: &ScanOptions,
    ) -> Result<Recording> {
        if !form.in_place {
            input.check_apart(output)?;
        }
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(self, &types, form, input, output)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            let made = Scanning::new(self, types, form, items, [input, output], options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => scanning.bind(self, input, output, init),
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Copies items of the device to the host, and waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ElementUnsupported`] for anything but numbers, and those of the device.
    pub fn read_back<T: Element>(&self, from: Slice<'_>, to: &mut [T]) -> Result<()> {
        if from.items != to.len() as u64 {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        number::<T>(self.id())?;
        self.settle()?;
        let to = bytes_mut(to).unwrap_or_default();
        self.download(from.buffer, from.offset, to)
    }
}

impl Part for Slice<'_> {
    fn len(&self) -> usize {
        Slice::len(self)
    }

    fn part(&self, dtype: Dtype, range: Range<usize>) -> Self {
        let offset = self.offset + range.start as u64 * dtype.size() as u64;
        Slice { buffer: self.buffer, offset, items: range.len() as u64 }
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
        reduce::choice(self, items, item_bytes)
    }

    fn scan_choice(&self, items: u64, item_bytes: usize) -> (GpuScanStrategy, WorkgroupPolicy) {
        scan::choice(self, items * item_bytes as u64)
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
        self.check(&self.types::<T, A, U, O>(operator)?)
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
        Gpu::reduce_into(self, workspace, input, result, problem, &options.into())
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

    fn will_carry(workspace: &mut Workspace) {
        workspace.count_run();
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
