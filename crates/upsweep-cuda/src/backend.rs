//! What the calls of all primitives share: the scratch memory, the types; and what the facade calls.

use std::sync::Arc;

use cudarc::driver::sys;
use upsweep_core::{Dtype, Kind, Limits, Result};
use upsweep_gpu::{GpuDevice, ReduceOptions, ScanOptions};

use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::memory::Buffer;
use crate::record::Bound;
use crate::reduce::Reduction;
use crate::scan::Scanning;
use crate::segmented::ByOffsets;
use crate::shader::CudaCpp;
use crate::slice::Slice;

/// Items to read.
pub type Source<'a, T> = upsweep_gpu::Source<'a, T, Slice<'a>>;

/// Items of one of several arrays to read.
pub type Stored<'a> = upsweep_gpu::Stored<'a, Slice<'a>>;

/// What kernels make items of.
pub type Ingredients<'a> = upsweep_gpu::Ingredients<'a, Slice<'a>>;

/// What a launch reads.
pub type Inputs<'a> = upsweep_gpu::Inputs<'a, Slice<'a>>;

/// What a launch computes.
pub(crate) type Job<'i, 'a> = upsweep_gpu::Job<'i, 'a, Gpu>;

/// Items to write, or to read and overwrite.
pub type Target<'a, T> = upsweep_gpu::Target<'a, T, Slice<'a>>;

/// An array that says where segments begin.
pub type Segments<'a> = upsweep_gpu::Segments<'a, Slice<'a>>;

/// Where the values of segments go, one behind another, and what is found out with them.
pub type Packed<'a, K> = upsweep_gpu::Packed<'a, K, Slice<'a>>;

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
    /// Where segments begin that were found by their keys, and in front of it how many numbers that are.
    pub(crate) offsets: Option<Arc<Buffer>>,
    pub(crate) mailbox: Option<Mailbox>,
}

impl Workspace {
    /// Scratch memory for calls with at most `items` items.
    pub fn for_items(items: u64) -> Self {
        Self { items, ..Self::default() }
    }
}

impl GpuDevice for Gpu {
    type Syntax = CudaCpp;

    /// Addresses are arguments of a launch.
    const MOST_ARRAYS: usize = 8;

    const READS_NOTHING_ANYWHERE: bool = true;

    type Slice<'a> = Slice<'a>;
    type Buffer = Buffer;
    type Mailbox = Mailbox;
    type Bound<'a> = Bound<'a>;
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

    fn keeps_workspaces(&self) -> bool {
        let none = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        self.stream().capture_status().is_ok_and(|status| status == none)
    }

    fn reborrow<'a, 'b: 'a>(slice: Slice<'b>) -> Slice<'a> {
        slice
    }

    fn room(self: &Arc<Self>, bytes: u64) -> Result<Buffer> {
        Buffer::new(self, bytes)
    }

    fn upload(self: &Arc<Self>, bytes: &[u8]) -> Result<Buffer> {
        let buffer = Buffer::new(self, bytes.len() as u64)?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    }

    fn slice(buffer: &Buffer, kind: Kind, items: u64) -> Result<Slice<'_>> {
        buffer.slice(kind, items)
    }

    fn mailbox(self: &Arc<Self>, workspace: &mut Workspace) -> Result<Option<Mailbox>> {
        let mailbox = match workspace.mailbox.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self, 1)?,
        };
        mailbox.expect_number();
        Ok(Some(mailbox))
    }

    fn slot(mailbox: &Mailbox) -> Result<Slice<'_>> {
        Slice::at(mailbox.device(), Dtype::U64, 1)
    }

    fn number(&self, mailbox: &Mailbox) -> Result<u64> {
        let number = mailbox.number(self.stream())?;
        self.settle()?;
        Ok(number)
    }

    fn put_back(workspace: &mut Workspace, mailbox: Mailbox) {
        mailbox.forget_number();
        workspace.mailbox = Some(mailbox);
    }

    fn to_device(&self, to: &Slice<'_>, bytes: &[u8]) -> Result<()> {
        to.check_holds(bytes.len())?;
        // SAFETY: whoever made the slice promised that the memory is there, and it has as many bytes.
        unsafe { self.copy_in(to.pointer, bytes) }
    }

    fn to_host(&self, from: &Slice<'_>, bytes: &mut [u8]) -> Result<()> {
        from.check_holds(bytes.len())?;
        // SAFETY: as above.
        unsafe { self.copy_out(from.pointer, bytes) }
    }

    fn joined<'a>(first: Self::Bound<'a>, second: Self::Bound<'a>) -> Self::Bound<'a> {
        first.then(second)
    }

    fn begin(&self, bound: &Bound<'_>) -> Result<()> {
        self.begin_in(self.stream(), bound)
    }

    fn wait(&self) -> Result<()> {
        Gpu::wait(self)
    }
}
