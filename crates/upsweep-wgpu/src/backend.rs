//! What the calls of all primitives share: the scratch memory, the types; and what the facade calls.

use core::ops::Range;
use std::sync::{Arc, Weak};

use upsweep_core::{
    Element, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Kind, Limits, Number,
    Operator, Recipe, Reduce, Result, Scan, Widen, WorkgroupPolicy,
};
use upsweep_gpu::bits::{bytes, check, kind, words};
use upsweep_gpu::{OperatorValues, Part, Primitives};

use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::record::Recording;
use crate::reduce::calls::Asked;
use crate::reduce::{Init, ReduceOptions, Reduction};
use crate::scan::{RUNS, ScanOptions, Scanning};
use crate::shader::{Made, Op, Types};
use crate::slice::Slice;
use crate::{reduce, scan};

/// Items to read.
pub type Source<'a, T> = upsweep_gpu::Source<'a, T, Slice<'a>>;

/// Items of one of several arrays to read.
pub type Stored<'a> = upsweep_gpu::Stored<'a, Slice<'a>>;

/// What kernels make items of.
pub type Ingredients<'a> = upsweep_gpu::Ingredients<'a, Slice<'a>>;

/// What a launch reads.
pub(crate) type Inputs<'a> = upsweep_gpu::Inputs<'a, Slice<'a>>;

/// Items to write, or to read and overwrite.
pub type Target<'a, T> = upsweep_gpu::Target<'a, T, Slice<'a>>;

/// A GPU, shared, with options: the backend that the facade calls.
pub type Wgpu = upsweep_gpu::OnGpu<Gpu>;

/// Scratch memory of a plan: made by the first call that needs it.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Items that it is made for; more are fine, and make it anew.
    pub(crate) items: u64,
    pub(crate) reduction: Option<(ReduceOptions, Reduction)>,
    pub(crate) scanning: Option<(ScanOptions, Scanning)>,
    pub(crate) result: Option<Mailbox>,
    /// The last reduction of an array of the device to a value of the host, to be run again.
    pub(crate) last: Option<(Asked, Recording)>,
    /// Runs of `scanning` of which the carry is asked for.
    pub(crate) runs: u32,
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

/// The items of arrays, or the first ones of each, some of which were uploaded.
fn all_on_device<'a>(
    arrays: &[Stored<'a>],
    kinds: &[Kind],
    uploaded: &'a [Option<wgpu::Buffer>],
    first: Option<u64>,
) -> Vec<Slice<'a>> {
    let on_device = |((array, kind), uploaded): ((&Stored<'a>, &Kind), &'a Option<_>)| {
        let slice = match (array, uploaded) {
            (Stored::Device(slice), _) => *slice,
            (Stored::Host(bytes), buffer) => {
                let items = (bytes.len() / kind.size().max(1)) as u64;
                Slice { buffer: buffer.as_ref()?, offset: 0, items }
            }
        };
        Some(Slice { items: first.unwrap_or(slice.items), ..slice })
    };
    arrays.iter().zip(kinds).zip(uploaded).filter_map(on_device).collect()
}

/// The words of a start value.
pub(crate) fn init_words<A: Element>(init: Option<A>) -> Init {
    init.map(words)
}

impl Gpu {
    /// The types of a kernel.
    pub(crate) fn types<T, A, U, O>(&self, operator: &O) -> Result<Types>
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        let op = Op::of(operator)
            .ok_or(Error::OperatorUntranslated { operator: O::NAME, language: "WGSL" })?;
        Ok(Types {
            item: kind::<T>(self.id())?,
            acc: kind::<A>(self.id())?,
            output: kind::<U>(self.id())?,
            op,
            values: self.values(operator, 0)?,
            made: None,
            cut: None,
        })
    }

    /// What kernels know of an operator's values, behind so many other words that they are handed.
    fn values<A: Element, O: Operator<A>>(
        &self,
        operator: &O,
        before: usize,
    ) -> Result<OperatorValues> {
        let values = OperatorValues::of(operator);
        values.check(before, self.id(), O::NAME)?;
        Ok(values)
    }

    /// The types of a kernel whose items are made of those of arrays.
    pub(crate) fn types_of_made<A, U, O>(&self, recipe: &Recipe, operator: &O) -> Result<Types>
    where
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        let untranslated = || Error::OperatorUntranslated { operator: O::NAME, language: "WGSL" };
        for array in recipe.arrays.iter().chain(&recipe.anywhere) {
            check(*array, self.id(), &array.to_string())?;
        }
        for parameter in recipe.parameters.iter().filter(|kind| **kind == Kind::Opaque) {
            check(*parameter, self.id(), &parameter.to_string())?;
        }
        let op = Op::of(operator).ok_or_else(untranslated)?;
        let (made, op) = Made::of(recipe, op, operator.function()).ok_or_else(untranslated)?;
        let types = Types {
            item: recipe.widest(),
            acc: kind::<A>(self.id())?,
            output: kind::<U>(self.id())?,
            op,
            values: self.values(operator, recipe.words())?,
            made: Some(made),
            cut: None,
        };
        self.check(&types)?;
        Ok(types)
    }

    /// Does `work` with arrays in the device's memory, and all that kernels of these types are handed.
    pub(crate) fn with_inputs<R>(
        &self,
        made: &Ingredients<'_>,
        types: &Types,
        work: impl FnOnce(&Inputs<'_>) -> Result<R>,
    ) -> Result<R> {
        let Ingredients { recipe, arrays, anywhere, words, items } = *made;
        let uploaded = self.all_uploaded(arrays, &recipe.arrays, Some(items))?;
        let arrays = all_on_device(arrays, &recipe.arrays, &uploaded, Some(items));
        let others = self.all_uploaded(anywhere, &recipe.anywhere, None)?;
        let anywhere = all_on_device(anywhere, &recipe.anywhere, &others, None);
        let words = [words, &types.values.handed()].concat();
        work(&Inputs { arrays: &arrays, anywhere: &anywhere, words: &words, items })
    }

    /// The buffers of those arrays, or of the first items of each, that are in the host's memory.
    fn all_uploaded(
        &self,
        arrays: &[Stored<'_>],
        kinds: &[Kind],
        first: Option<u64>,
    ) -> Result<Vec<Option<wgpu::Buffer>>> {
        let upload = |(array, kind): (&Stored<'_>, &Kind)| match array {
            Stored::Device(_) => Ok(None),
            Stored::Host(bytes) => {
                let first = first.and_then(|first| usize::try_from(first).ok());
                let end = first.map_or(bytes.len(), |first| first * kind.size());
                self.upload("items", &bytes[..end]).map(Some)
            }
        };
        arrays.iter().zip(kinds).map(upload).collect()
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
    pub(crate) fn on_device<'a, T: Element>(
        &self,
        input: Source<'a, T>,
        kind: Kind,
        uploaded: &'a mut Option<wgpu::Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            Source::Device(slice) => Ok(slice),
            Source::Host(items) => {
                let buffer = self.upload("items", &bytes(items))?;
                Slice::new(uploaded.insert(buffer), kind, 0, items.len() as u64)
            }
        }
    }

    /// Copies items of the device to the host, and waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ElementUnsupported`] for what kernels do not have, and those of the device.
    pub fn read_back<T: Element>(&self, from: Slice<'_>, to: &mut [T]) -> Result<()> {
        if from.items != to.len() as u64 {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        kind::<T>(self.id())?;
        self.settle()?;
        T::fill(to, |to| self.download(from.buffer, from.offset, to))
    }
}

impl Part for Slice<'_> {
    fn len(&self) -> usize {
        Slice::len(self)
    }

    fn part(&self, kind: Kind, range: Range<usize>) -> Self {
        let offset = self.offset + range.start as u64 * kind.size() as u64;
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
        scan::choice(self, items, item_bytes)
    }

    fn workspace(items: u64) -> Workspace {
        Workspace::for_items(items)
    }

    fn planned(workspace: &Workspace) -> u64 {
        workspace.items
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
