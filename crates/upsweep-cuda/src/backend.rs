//! What the calls of all primitives share: the scratch memory, the types; and what the facade calls.

use std::sync::Arc;

use upsweep_core::{
    Dtype, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Kind, Language, Limits,
    Recipe, Result, WorkgroupPolicy,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedReduce, ErasedScan, Primitives, Signature};

use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::memory::Buffer;
use crate::reduce::{ReduceOptions, Reduction};
use crate::scan::{ScanOptions, Scanning};
use crate::segmented::ByOffsets;
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
pub type Inputs<'a> = upsweep_gpu::Inputs<'a, Slice<'a>>;

/// Most arrays that a kernel reads: addresses are arguments of its launch.
pub(crate) const MOST_ARRAYS: usize = 8;

/// Items to write, or to read and overwrite.
pub type Target<'a, T> = upsweep_gpu::Target<'a, T, Slice<'a>>;

/// Items to read, whose type is known otherwise.
pub type ErasedSource<'a> = upsweep_gpu::ErasedSource<'a, Slice<'a>>;

/// Items to write, or to read and overwrite, whose type is known otherwise.
pub type ErasedTarget<'a, 'b> = upsweep_gpu::ErasedTarget<'a, Slice<'b>>;

/// A GPU, shared, with options: the backend that the facade calls.
pub type Cuda = upsweep_gpu::OnGpu<Gpu>;

/// Scratch memory of a plan: made by the first call that needs it. One call at a time may use it, in one stream after
/// another.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Items that it is made for; more are fine, and make it anew.
    pub(crate) items: u64,
    pub(crate) reduction: Option<(ReduceOptions, Reduction)>,
    pub(crate) scanning: Option<(ScanOptions, Scanning)>,
    pub(crate) by_offsets: Option<ByOffsets>,
    pub(crate) mailbox: Option<Mailbox>,
}

impl Workspace {
    /// Scratch memory for calls with at most `items` items.
    pub fn for_items(items: u64) -> Self {
        Self { items, ..Self::default() }
    }
}

impl Gpu {
    /// The types of a kernel.
    pub(crate) fn types(&self, signature: &Signature) -> Result<Types> {
        Types::checked(signature, self.id())
    }

    /// The types of a kernel whose items are made of those of arrays.
    pub(crate) fn types_of_made(&self, recipe: &Recipe, signature: &Signature) -> Result<Types> {
        Types::checked_of_made(recipe, signature, self.id())
    }

    /// Does `work` with arrays in the device's memory, and all that kernels of these types are handed.
    pub(crate) fn with_inputs<R>(
        self: &Arc<Self>,
        made: &Ingredients<'_>,
        types: &Types,
        work: impl FnOnce(&Inputs<'_>) -> Result<R>,
    ) -> Result<R> {
        let Ingredients { recipe, words, items, .. } = *made;
        let mut uploaded = Vec::new();
        let (mut arrays, mut anywhere) = (Vec::new(), Vec::new());
        for (array, &kind) in made.arrays.iter().zip(&recipe.arrays) {
            arrays.push(self.one_on_device(array, kind, items, &mut uploaded)?);
        }
        for (array, &kind) in made.anywhere.iter().zip(&recipe.anywhere) {
            let items = match array {
                Stored::Device(slice) => slice.items,
                Stored::Host(bytes) => (bytes.len() / kind.size().max(1)) as u64,
            };
            anywhere.push(self.one_on_device(array, kind, items, &mut uploaded)?);
        }
        let words = [words, &types.values.handed()].concat();
        work(&Inputs { arrays: &arrays, anywhere: &anywhere, words: &words, items })
    }

    /// `items` items of one array in the device's memory.
    pub(crate) fn one_on_device<'a>(
        self: &Arc<Self>,
        array: &Stored<'a>,
        kind: Kind,
        items: u64,
        uploaded: &mut Vec<Buffer>,
    ) -> Result<Slice<'a>> {
        match array {
            Stored::Device(slice) => slice.part(0..items),
            Stored::Host(bytes) => {
                let bytes = &bytes[..kind.size() * usize::try_from(items).unwrap_or(0)];
                let buffer = Buffer::new(self, (bytes.len() as u64).max(1))?;
                buffer.write(0, bytes)?;
                let pointer = buffer.pointer();
                uploaded.push(buffer);
                Slice::at(pointer, kind, items)
            }
        }
    }

    /// The items in the device's memory; `uploaded` keeps those that were brought there.
    pub(crate) fn on_device<'a>(
        self: &Arc<Self>,
        input: ErasedSource<'a>,
        kind: Kind,
        uploaded: &'a mut Option<Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            ErasedSource::Device(slice) if slice.kind() == kind => Ok(slice),
            ErasedSource::Device(slice) => Err(Error::Buffer {
                reason: format!("a slice of {} is not one of {kind}", slice.kind()),
            }),
            ErasedSource::Host(items, range) => {
                let count = range.len() as u64;
                let data = items.bytes(range);
                let buffer = Buffer::new(self, data.len() as u64)?;
                buffer.write(0, &data)?;
                Slice::at(uploaded.insert(buffer).pointer(), kind, count)
            }
        }
    }
}

impl Primitives for Gpu {
    const LANGUAGE: Language = Language::Cuda;

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

    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy) {
        scan::choice(&self.facts, items, item_bytes, packed)
    }

    fn workspace(items: u64) -> Workspace {
        Workspace::for_items(items)
    }

    fn planned(workspace: &Workspace) -> u64 {
        workspace.items
    }

    fn check_types(&self, signature: &Signature) -> Result<()> {
        self.types(signature).map(drop)
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
        let mut uploaded = None;
        let input =
            self.on_device(input, problem.signature.item.check(self.id())?, &mut uploaded)?;
        let (stream, options) = (self.stream(), options.into());
        self.reduce_into_erased(workspace, stream, input, result, problem, &options)
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

    fn carry(&self, workspace: &Workspace, items: u64) -> Result<Words> {
        self.carry_words(workspace, items)
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
