//! Device time, by events.

use core::time::Duration;

use cudarc::driver::{CudaEvent, CudaStream, sys};
use upsweep_core::Result;

use crate::device::Gpu;

impl Gpu {
    /// How long what `work` begins in a stream takes on the device. Waits for it.
    ///
    /// # Errors
    /// Those of the work and of the device.
    pub fn time(&self, stream: &CudaStream, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
        let begin = self.mark(stream)?;
        work()?;
        self.between(&begin, &self.mark(stream)?)
    }

    /// An event in a stream, by the device's clock.
    pub(crate) fn mark(&self, stream: &CudaStream) -> Result<CudaEvent> {
        self.enter()?;
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        self.did("measuring time", stream.record_event(flags))
    }

    /// The time from one event to another. Waits for the second.
    pub(crate) fn between(&self, begin: &CudaEvent, end: &CudaEvent) -> Result<Duration> {
        self.did("measuring time", end.synchronize())?;
        let mut milliseconds = 0f32;
        // SAFETY: both events were recorded and live; there is room for one number. The newer function of this kind
        // is unknown to drivers before 12.8.
        let measured =
            unsafe { sys::cuEventElapsedTime(&mut milliseconds, begin.cu_event(), end.cu_event()) };
        self.did("measuring time", measured.result())?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}
