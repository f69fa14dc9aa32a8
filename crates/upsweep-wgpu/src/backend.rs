//! What the calls of all primitives share: the scratch memory, the types; and what the facade calls.

use core::ops::Range;
use std::sync::{Arc, Weak};

use upsweep_core::{
    Dtype, Element, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Kind, Language,
    Limits, Recipe, Result, WorkgroupPolicy,
};
use upsweep_gpu::bits::{Words, kind};
use upsweep_gpu::{ErasedReduce, ErasedScan, Part, Primitives, Signature};

use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::record::Recording;
use crate::reduce::calls::Asked;
use crate::reduce::{ReduceOptions, Reduction};
use crate::scan::{RUNS, ScanOptions, Scanning};
use crate::shader::Types;
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

/// Items to read, whose type is known otherwise.
pub type ErasedSource<'a> = upsweep_gpu::ErasedSource<'a, Slice<'a>>;

/// Items to write, or to read and overwrite, whose type is known otherwise.
pub type ErasedTarget<'a, 'b> = upsweep_gpu::ErasedTarget<'a, Slice<'b>>;

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

impl Gpu {
    /// The types of a kernel.
    pub(crate) fn types(&self, signature: &Signature) -> Result<Types> {
        Types::checked(signature, self.id())
    }

    /// The types of a kernel whose items are made of those of arrays.
    pub(crate) fn types_of_made(&self, recipe: &Recipe, signature: &Signature) -> Result<Types> {
        let types = Types::checked_of_made(recipe, signature, self.id())?;
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
    pub(crate) fn on_device<'a>(
        &self,
        input: ErasedSource<'a>,
        kind: Kind,
        uploaded: &'a mut Option<wgpu::Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            ErasedSource::Device(slice) => Ok(slice),
            ErasedSource::Host(items, range) => {
                let count = range.len() as u64;
                let buffer = self.upload("items", &items.bytes(range))?;
                Slice::new(uploaded.insert(buffer), kind, 0, count)
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
    const LANGUAGE: Language = Language::Wgsl;

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

    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy) {
        scan::choice(self, items, item_bytes, packed)
    }

    fn workspace(items: u64) -> Workspace {
        Workspace::for_items(items)
    }

    fn planned(workspace: &Workspace) -> u64 {
        workspace.items
    }

    fn check_types(&self, signature: &Signature) -> Result<()> {
        self.check(&self.types(signature)?)
    }

    fn reduce(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        problem: &ErasedReduce,
        options: &GpuOptions,
    ) -> Result<Words> {
        self.reduce_erased(workspace, input, problem, &options.into())
    }

    fn reduce_into(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        result: Slice<'_>,
        problem: &ErasedReduce,
        options: &GpuOptions,
    ) -> Result<()> {
        self.reduce_into_erased(workspace, input, result, problem, &options.into())
    }

    fn position(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        item: Dtype,
        extreme: Extreme,
        options: &GpuOptions,
    ) -> Result<Option<u64>> {
        self.position_erased(workspace, input, item, extreme, &options.into())
    }

    fn scan(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Option<ErasedSource<'_>>,
        output: ErasedTarget<'_, '_>,
        problem: &ErasedScan,
        options: &GpuOptions,
    ) -> Result<()> {
        self.scan_erased(workspace, input, output, problem, &options.into())
    }

    fn will_carry(workspace: &mut Workspace) {
        workspace.count_run();
    }

    fn carry(&self, workspace: &Workspace, items: u64) -> Result<Words> {
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
