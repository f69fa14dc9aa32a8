//! Calls that are bound to their arrays, to be launched as often as wanted.

use core::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudarc::driver::{CudaStream, sys};
use upsweep_core::{Element, Launch, Result, Strategy};
use upsweep_gpu::bits::from_memory;

use crate::device::Gpu;
use crate::launch::Ready;
use crate::mailbox::Mailbox;
use crate::memory::Memory;
use crate::slice::Slice;

/// What is launched, bound to arrays that are there.
#[derive(Debug)]
pub struct Bound<'a> {
    /// None if there is nothing to do.
    ready: Vec<Ready>,
    strategy: Option<Strategy>,
    /// Of the arrays those that are cudarc's, which its streams are in order with.
    borrowed: Vec<Slice<'a>>,
}

impl<'a> Bound<'a> {
    pub(crate) fn new<'s>(
        ready: impl IntoIterator<Item = Ready>,
        strategy: Option<Strategy>,
        arrays: impl Iterator<Item = &'s Slice<'a>>,
    ) -> Self
    where
        'a: 's,
    {
        let borrowed = arrays.filter(|slice| slice.is_borrowed()).copied().collect();
        Self { ready: ready.into_iter().collect(), strategy, borrowed }
    }

    /// The same, and another behind it, which has the strategy.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.ready.extend(other.ready);
        self.borrowed.extend(other.borrowed);
        Self { strategy: other.strategy, ..self }
    }
}

impl Gpu {
    /// Launches what is bound to its arrays into a stream: after what was done to them before, and before what cudarc does to them
    /// next.
    ///
    /// # Errors
    /// [`WrongDevice`](upsweep_core::Error::WrongDevice) if an array is in another context, and those of the device.
    pub fn begin_in(&self, stream: &CudaStream, bound: &Bound<'_>) -> Result<()> {
        if bound.ready.is_empty() {
            return Ok(());
        }
        self.in_order(stream, &bound.borrowed, || {
            bound.ready.iter().try_for_each(|ready| ready.begin(self, stream))
        })
    }

    /// The same, to be launched as often as wanted, in any stream of the context: what was prepared for it is waited for.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// The memory of all arrays is there as long as the recording may run.
    pub unsafe fn recording(self: &Arc<Self>, bound: Bound<'_>) -> Result<Recording> {
        Recording::new(self, bound.ready, bound.strategy)
    }
}

/// A call on certain arrays, with all that it needs: launching it allocates nothing and waits for nothing.
///
/// It uses the scratch memory of the workspace that it was bound with: runs of one workspace's recordings must follow one
/// another, as they do in one stream.
#[derive(Clone, Debug)]
pub struct Recording {
    gpu: Arc<Gpu>,
    /// None if there is nothing to do.
    ready: Arc<[Ready]>,
    strategy: Option<Strategy>,
    /// Arrays of ours that are kept for it.
    kept: Vec<Memory>,
    /// Where its result goes, if not to the device's memory.
    mailbox: Option<Arc<Mailbox>>,
}

impl Recording {
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        ready: impl IntoIterator<Item = Ready>,
        strategy: Option<Strategy>,
    ) -> Result<Self> {
        gpu.wait()?;
        let ready = ready.into_iter().collect();
        Ok(Self { gpu: Arc::clone(gpu), ready, strategy, kept: Vec::new(), mailbox: None })
    }

    /// The same, which keeps these arrays as long as it lives.
    #[must_use]
    pub fn keeping(mut self, arrays: impl IntoIterator<Item = Memory>) -> Self {
        self.kept.extend(arrays);
        self
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The strategy that was chosen; `None` for a probe.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy
    }

    /// Number of launches.
    pub fn launches(&self) -> usize {
        self.ready.iter().map(Ready::launches).sum()
    }

    /// What each launch is, in their order, and what it needs of a multiprocessor.
    ///
    /// # Errors
    /// Those of the device.
    pub fn described(&self) -> Result<Vec<Launch>> {
        let described = self.ready.iter().map(|ready| ready.described(&self.gpu));
        described.collect::<Result<Vec<_>>>().map(|all| all.concat())
    }

    /// Bytes of scratch memory that it uses, of the workspace that it was bound with.
    pub fn scratch_bytes(&self) -> u64 {
        self.ready.iter().map(Ready::scratch_bytes).sum()
    }

    /// Launches it into the device's own stream.
    ///
    /// # Errors
    /// Those of the device.
    pub fn submit(&self) -> Result<()> {
        self.begin(self.gpu.stream())
    }

    /// Launches it into a stream of the device's context.
    ///
    /// # Errors
    /// [`WrongDevice`](upsweep_core::Error::WrongDevice) if the stream is of another context,
    /// [`DeviceFailed`](upsweep_core::Error::DeviceFailed) if it is being captured, and those of the device.
    pub fn launch(&self, stream: &CudaStream) -> Result<()> {
        self.gpu.check_context(stream)?;
        let status = self.gpu.did("looking at a stream", stream.capture_status())?;
        if status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
            return Err(self.gpu.failed("the stream is being captured, which `capture` is for"));
        }
        self.begin(stream)
    }

    /// Launches it into a stream that is being captured, or is not.
    ///
    /// # Errors
    /// As [`launch`](Recording::launch), but for the capture.
    ///
    /// # Safety
    /// The graph that comes of it is not launched any more when the last copy of this recording is gone.
    pub unsafe fn capture(&self, stream: &CudaStream) -> Result<()> {
        self.gpu.check_context(stream)?;
        self.gpu.captured.store(true, Ordering::Release);
        self.begin(stream)
    }

    fn begin(&self, stream: &CudaStream) -> Result<()> {
        self.ready.iter().try_for_each(|ready| ready.begin(&self.gpu, stream))
    }
}

/// A reduction whose value the host waits for, without a copy behind it and without the driver's wait: the kernel leaves it in
/// memory of the host's. Launched as often as wanted, or captured; every run is waited for before the next is begun.
#[derive(Debug)]
pub struct Awaited<A> {
    recording: Recording,
    mailbox: Arc<Mailbox>,
    value: PhantomData<A>,
}

impl<A: Element> Awaited<A> {
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        ready: Ready,
        strategy: Strategy,
        mailbox: Mailbox,
    ) -> Result<Self> {
        let mailbox = Arc::new(mailbox);
        let mut recording = Recording::new(gpu, Some(ready), Some(strategy))?;
        recording.mailbox = Some(Arc::clone(&mailbox));
        Ok(Self { recording, mailbox, value: PhantomData })
    }

    /// The run, to be launched or captured.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Waits for the value of the run that was begun in this stream.
    ///
    /// # Errors
    /// [`DeviceFailed`](upsweep_core::Error::DeviceFailed) if all work in the stream is done and there is no value, as when
    /// no run was begun, or the device failed.
    pub fn wait(&mut self, stream: &CudaStream) -> Result<A> {
        let gpu = &self.recording.gpu;
        let found = self.mailbox.take(stream)?;
        gpu.settle()?;
        from_memory(&found).ok_or_else(|| gpu.failed("a result of an unknown type"))
    }
}
