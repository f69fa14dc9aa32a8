//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaStream;
use upsweep_core::{Error, Result};
use upsweep_gpu::Part;

use crate::device::Gpu;
use crate::launch::{Arguments, Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::record::Recording;
use crate::slice::Slice;

/// Threads of a workgroup, and accesses of 16 bytes of a thread: on an H200 within 2 % of the best shape that was tried, from
/// 2^12 bytes to 2^31.
const THREADS: u32 = 256;
const ACCESSES: u32 = 1;

/// Bytes of an access.
const ACCESS: u64 = 16;

/// The kernels that measure.
#[derive(Debug)]
pub struct Probe {
    reads: Arc<Kernel>,
    copies: Arc<Kernel>,
    delays: Arc<Kernel>,
    sink: Arc<Buffer>,
}

/// How long the device is kept busy in front of what is measured: longer than a host takes to launch a few kernels.
const DELAY: Duration = Duration::from_micros(50);

/// The text of all kernels.
pub(crate) fn text() -> String {
    format!(
        "{}constexpr u32 THREADS = {THREADS}u, ACCESSES = {ACCESSES}u;\n{}",
        include_str!("shader/names.cuh"),
        include_str!("probe.cuh")
    )
}

impl Probe {
    /// The probe of a device.
    ///
    /// # Errors
    /// Those of the device and the compiler.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let module = gpu.load(&text(), &["read_all", "copy_all", "delay"])?;
        let one =
            |entry| module.kernel(entry).ok_or_else(|| gpu.failed("a probe has no entry point"));
        let (reads, copies, delays) = (one("read_all")?, one("copy_all")?, one("delay")?);
        Ok(Self { reads, copies, delays, sink: Arc::new(Buffer::zeros(gpu, 4)?) })
    }

    /// Reads an array from beginning to end, in a stream: the limit that a reduction is measured against. What is no whole
    /// access of 16 bytes at its end is left out.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the array does not begin where such an access may, and those of the device.
    pub fn read(&self, gpu: &Gpu, stream: &CudaStream, input: Slice<'_>) -> Result<()> {
        self.ready_read(gpu, &input)?.begin(gpu, stream)
    }

    /// Copies an array, in a stream: the limit that a scan is measured against.
    ///
    /// # Errors
    /// As [`read`](Probe::read), and [`Error::LengthMismatch`].
    pub fn copy(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        input: Slice<'_>,
        output: Slice<'_>,
    ) -> Result<()> {
        self.ready_copy(gpu, &input, &output)?.begin(gpu, stream)
    }

    /// As [`read`](Probe::read), ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`read`](Probe::read).
    ///
    /// # Safety
    /// The memory is there as long as the recording may run.
    pub unsafe fn bind_read(&self, gpu: &Arc<Gpu>, input: Slice<'_>) -> Result<Recording> {
        Recording::new(gpu, Some(self.ready_read(gpu, &input)?), None)
    }

    /// As [`copy`](Probe::copy), ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`copy`](Probe::copy).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_copy(
        &self,
        gpu: &Arc<Gpu>,
        input: Slice<'_>,
        output: Slice<'_>,
    ) -> Result<Recording> {
        Recording::new(gpu, Some(self.ready_copy(gpu, &input, &output)?), None)
    }

    fn ready_read(&self, gpu: &Gpu, input: &Slice<'_>) -> Result<Ready> {
        self.ready(gpu, &self.reads, input, self.sink.pointer())
    }

    fn ready_copy(&self, gpu: &Gpu, input: &Slice<'_>, output: &Slice<'_>) -> Result<Ready> {
        if input.bytes() != output.bytes() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        input.check_apart(output)?;
        check(output)?;
        self.ready(gpu, &self.copies, input, output.pointer())
    }

    /// How long what `work` begins in a stream takes on the device, which is kept busy until it has been told of all of it,
    /// so that the host's time does not count. Waits for it.
    ///
    /// # Errors
    /// Those of the work and of the device.
    pub fn time(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<Duration> {
        let launch = Launch { grid: [1, 1], threads: 1, shared_bytes: 0, cooperative: false };
        let arguments = Arguments::new().with(DELAY.as_nanos() as u64);
        // SAFETY: it has this argument, and touches no memory.
        unsafe { gpu.launch(stream, &self.delays, &launch, &arguments) }?;
        gpu.time(stream, work)
    }

    fn ready(&self, gpu: &Gpu, kernel: &Arc<Kernel>, input: &Slice<'_>, to: u64) -> Result<Ready> {
        check(input)?;
        let accesses = input.bytes() / ACCESS;
        let workgroups = accesses.div_ceil(u64::from(THREADS * ACCESSES)).max(1);
        let workgroups = u32::try_from(workgroups)
            .map_err(|_| gpu.failed("a probe of more workgroups than a launch has"))?;
        let launch =
            Launch { grid: [workgroups, 1], threads: THREADS, shared_bytes: 0, cooperative: false };
        let arguments = Arguments::new().with(input.pointer()).with(accesses).with(to);
        // SAFETY: these are the arguments of both kernels; of the input whole accesses are read, and as many are written.
        Ok(unsafe { Ready::new(kernel, launch, arguments, Some(&self.sink)) })
    }
}

fn check(slice: &Slice<'_>) -> Result<()> {
    if slice.width() == ACCESS as u32 {
        return Ok(());
    }
    let reason =
        format!("an array at address {:#x} is not read 16 bytes at a time", slice.pointer());
    Err(Error::Buffer { reason })
}
