//! What the calls of all primitives share: the scratch memory, the types; and what the facade calls.

use core::convert::Infallible;
use std::sync::Arc;

use upsweep_core::{Kind, Limits, Result};
use upsweep_gpu::{GpuDevice, ReduceOptions, ScanOptions};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::record::{Bound, Recording};
use crate::reduce::Reduction;
use crate::reduce::calls::Asked;
use crate::scan::{RUNS, Scanning};
use crate::shader::{Types, Wgsl, made};
use crate::slice::Slice;

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

/// What a launch computes.
pub(crate) type Job<'i, 'a> = upsweep_gpu::Job<'i, 'a, Gpu>;

/// An array that says where segments begin.
pub type Segments<'a> = upsweep_gpu::Segments<'a, Slice<'a>>;

/// Where the values of segments go, one behind another, and what is found out with them.
pub type Packed<'a, K> = upsweep_gpu::Packed<'a, K, Slice<'a>>;

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
    /// Values of parts of rows.
    pub(crate) parts_of_rows: Option<wgpu::Buffer>,
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

impl GpuDevice for Gpu {
    type Syntax = Wgsl;

    const MOST_ARRAYS: usize = made::MOST_ARRAYS;

    /// Arrays that are read and written are not in one buffer.
    const READS_NOTHING_ANYWHERE: bool = false;

    type Slice<'a> = Slice<'a>;
    type Buffer = wgpu::Buffer;
    type Mailbox = Infallible;
    type Bound<'a> = Bound;
    type Workspace = Workspace;

    fn id(&self) -> &str {
        Gpu::id(self)
    }

    fn limits(&self) -> &Limits {
        Gpu::limits(self)
    }

    fn workspace(items: u64) -> Workspace {
        Workspace::for_items(items)
    }

    fn planned(workspace: &Workspace) -> u64 {
        workspace.items
    }

    fn check(&self, types: &Types) -> Result<()> {
        Gpu::check(self, types)
    }

    fn reborrow<'a, 'b: 'a>(slice: Slice<'b>) -> Slice<'a> {
        slice
    }

    fn room(self: &Arc<Self>, bytes: u64) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        self.buffer("items", bytes, usage)
    }

    fn upload(self: &Arc<Self>, bytes: &[u8]) -> Result<wgpu::Buffer> {
        Gpu::upload(self, "items", bytes)
    }

    fn slice(buffer: &wgpu::Buffer, kind: Kind, items: u64) -> Result<Slice<'_>> {
        Slice::new(buffer, kind, 0, items)
    }

    fn slot(mailbox: &Infallible) -> Result<Slice<'_>> {
        match *mailbox {}
    }

    fn number(&self, mailbox: &Infallible) -> Result<u64> {
        match *mailbox {}
    }

    fn put_back(_: &mut Workspace, mailbox: Infallible) {
        match mailbox {}
    }

    fn to_device(&self, to: &Slice<'_>, bytes: &[u8]) -> Result<()> {
        self.write(to.buffer, to.offset, bytes)
    }

    fn to_host(&self, from: &Slice<'_>, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.wait()?;
        self.download(from.buffer, from.offset, bytes)
    }

    fn check_copies(&self, slice: &Slice<'_>, written: bool, read: bool) -> Result<()> {
        slice.check_copies(written, read)
    }

    fn joined<'a>(first: Self::Bound<'a>, second: Self::Bound<'a>) -> Self::Bound<'a> {
        Bound(first.0.then(second.0))
    }

    fn begin(&self, Bound(recording): &Bound) -> Result<()> {
        self.submit(recording)
    }

    fn wait(&self) -> Result<()> {
        Gpu::wait(self)
    }
}
