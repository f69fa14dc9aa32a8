//! Device time, by events.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use cudarc::driver::{CudaEvent, CudaStream, sys};
use upsweep_core::Result;

use crate::device::Gpu;
use crate::mapped::Mapped;
use crate::record::Recording;

/// Runs that are put into a stream while it waits: fewer than make a driver wait for room.
const RUNS_AT_ONCE: u32 = 64;

/// How long a stream waits at most for the runs that are put into it.
const PATIENCE: Duration = Duration::from_millis(500);

/// The first driver whose streams wait for a word in this way: CUDA 11.7.
const DRIVER_OF_WAITS: i32 = 11_070;

impl Recording {
    /// Runs it `runs` times, one after another in the device's own stream, and returns how long each took on the device.
    ///
    /// The stream waits until all runs are in it, or some tens of them, so that the host's part of a launch is not measured.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, runs: u32) -> Result<Vec<Duration>> {
        let gpu = self.gpu();
        let gate = gpu.did("measuring time", Mapped::new(gpu.context()))?;
        let mut times = Vec::new();
        while times.len() < runs as usize {
            let count = RUNS_AT_ONCE.min(runs - times.len() as u32);
            gpu.wait()?;
            let runs = thread::scope(|scope| {
                gate.first().store(0, Ordering::Release);
                let (all_in, wait) = mpsc::channel::<()>();
                let gate_word = gate.first();
                scope.spawn(move || {
                    // Whether all are in or it took too long.
                    let _ = wait.recv_timeout(PATIENCE);
                    gate_word.store(1, Ordering::Release);
                });
                gpu.wait_for_word(&gate);
                let runs: Result<Vec<_>> = (0..count)
                    .map(|_| {
                        let begin = gpu.mark(gpu.stream())?;
                        self.submit()?;
                        Ok((begin, gpu.mark(gpu.stream())?))
                    })
                    .collect();
                drop(all_in);
                runs
            });
            // Even then: the stream looks at the word no more.
            gpu.synchronize(gpu.stream())?;
            for (begin, end) in &runs? {
                times.push(gpu.between(begin, end)?);
            }
        }
        gpu.wait()?;
        Ok(times)
    }
}

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

    /// A point in a stream whose time is taken.
    pub(crate) fn mark(&self, stream: &CudaStream) -> Result<CudaEvent> {
        self.enter()?;
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        self.did("measuring time", stream.record_event(flags))
    }

    /// Makes the device's own stream wait until the first word is 1. Where streams cannot, this one goes on.
    fn wait_for_word(&self, gate: &Mapped) {
        if self.facts.driver >= DRIVER_OF_WAITS {
            let equal = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ as u32;
            let stream = self.stream.cu_stream();
            // SAFETY: the word is there until the stream was waited for. What a device cannot do is not missed.
            let _ = unsafe { sys::cuStreamWaitValue32_v2(stream, gate.device(), 1, equal) };
        }
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
