//! The ways to hand operations to a device.

use std::fmt::Display;
use std::sync::Arc;

use upsweep::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep::cudarc::driver::{CudaGraph, CudaStream};
use upsweep::{Device, Error, Recording, Result, wgpu};

use crate::statistics::median;

/// Streams that operations are handed to in turn: so many queues a GPU of NVIDIA's has unless it is told otherwise.
const STREAMS: usize = 8;

/// A way to hand them over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each is waited for before the next is begun.
    Waited,
    /// Each is begun by itself, and all are waited for in the end.
    Queued,
    /// All are one submission.
    Together,
    /// Each goes into the next of some streams.
    Streams,
    /// All are a graph.
    Graph,
}

impl Way {
    pub(super) const ALL: [(Way, &'static str); 5] = [
        (Way::Waited, "waited"),
        (Way::Queued, "queued"),
        (Way::Together, "together"),
        (Way::Streams, "streams"),
        (Way::Graph, "graph"),
    ];
}

/// Operations that are measured in every way.
pub(super) trait Work<'a> {
    /// The fewest bytes that it must move.
    fn bytes(&self) -> u64;

    /// The recordings, which a GPU has.
    fn recordings(&mut self) -> &mut Recordings<'a>;

    /// Does all of it on a device without recordings.
    fn run_on_host(&mut self) -> Result<()>;

    /// Waits for what the host must know of a recording before it begins the next, if it waits for that.
    fn wait_for(&mut self, recording: usize) -> Result<()>;

    /// Spoils all results.
    fn poison(&mut self) -> Result<()>;

    /// Whether all results are right.
    fn are_right(&mut self) -> Result<bool>;

    /// Does all of it, and waits.
    fn run(&mut self, way: Way) -> Result<()> {
        let count = self.recordings().recordings.len();
        if count == 0 {
            return self.run_on_host();
        }
        if way != Way::Waited {
            return self.recordings().run(way);
        }
        for number in 0..count {
            self.recordings().recordings[number].submit()?;
            self.wait_for(number)?;
        }
        self.recordings().device.wait()
    }
}

/// Recordings, and what it takes to hand them over.
pub(super) struct Recordings<'a> {
    device: &'a Device,
    /// Launches the recordings, and stands before them, so that it is dropped before them.
    graph: Option<CudaGraph>,
    recordings: Vec<Recording>,
    streams: Vec<Arc<CudaStream>>,
    /// Whether each reads what the one before has written.
    follow: bool,
}

impl<'a> Recordings<'a> {
    pub(super) fn new(device: &'a Device, follow: bool) -> Self {
        Self { device, graph: None, recordings: Vec::new(), streams: Vec::new(), follow }
    }

    pub(super) fn push(&mut self, recording: Recording) {
        self.recordings.push(recording);
    }

    /// Makes what a way needs once, or says why there is no such way.
    pub(super) fn prepare(&mut self, way: Way) -> Result<()> {
        match way {
            Way::Waited => Ok(()),
            Way::Queued if !self.recordings.is_empty() => Ok(()),
            Way::Together if self.device.wgpu().is_some() => Ok(()),
            Way::Streams if self.follow => {
                Err(self
                    .none(way, "each reads what the one before has written: there are no streams"))
            }
            Way::Streams | Way::Graph if self.device.cuda_stream().is_some() => {
                self.in_streams(way)
            }
            Way::Queued => Err(self.none(way, "each call is done when it returns")),
            Way::Together => Err(self.none(way, "there are no submissions of several calls")),
            Way::Streams | Way::Graph => Err(self.none(way, "there are no streams and graphs")),
        }
    }

    fn none(&self, way: Way, why: &str) -> Error {
        let name =
            Way::ALL.into_iter().find(|(known, _)| *known == way).map_or("", |(_, name)| name);
        Error::StrategyRefused {
            device: self.device.id().to_owned(),
            strategy: name.to_owned(),
            reason: why.to_owned(),
        }
    }

    fn failed(&self, why: impl Display) -> Error {
        Error::DeviceFailed { device: self.device.id().to_owned(), reason: why.to_string() }
    }

    fn in_streams(&mut self, way: Way) -> Result<()> {
        let Some(own) = self.device.cuda_stream() else { return Ok(()) };
        let count = if way == Way::Graph { 1 } else { STREAMS };
        let stream = |_| own.context().new_stream().map_err(|why| self.failed(why));
        self.streams = (0..count).map(stream).collect::<Result<_>>()?;
        self.graph = None;
        if way == Way::Graph {
            let stream = &self.streams[0];
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            stream.begin_capture(mode).map_err(|why| self.failed(why))?;
            for recording in &self.recordings {
                // SAFETY: the graph is dropped before the recordings are.
                unsafe { recording.capture(stream) }?;
            }
            let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
            self.graph = stream.end_capture(flags).map_err(|why| self.failed(why))?;
        }
        Ok(())
    }

    /// Does all of them in a way that waits once, in the end.
    fn run(&self, way: Way) -> Result<()> {
        match way {
            Way::Waited | Way::Queued => self.recordings.iter().try_for_each(Recording::submit)?,
            Way::Together => self.together()?,
            Way::Streams => {
                let streams = self.streams.iter().cycle();
                for (recording, stream) in self.recordings.iter().zip(streams) {
                    recording.launch(stream)?;
                }
            }
            Way::Graph => {
                if let Some(graph) = &self.graph {
                    graph.launch().map_err(|why| self.failed(why))?;
                }
            }
        }
        for stream in self.streams.iter().filter(|_| matches!(way, Way::Streams | Way::Graph)) {
            stream.synchronize().map_err(|why| self.failed(why))?;
        }
        self.device.wait()
    }

    /// One submission of wgpu's.
    fn together(&self) -> Result<()> {
        let Some((device, queue)) = self.device.wgpu() else { return Ok(()) };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for recording in &self.recordings {
            recording.record(&mut pass)?;
        }
        drop(pass);
        queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Seconds that the device itself takes for all, one after another, by its clock if it has one.
    pub(super) fn own_seconds(&self, runs: u32) -> Result<Option<f64>> {
        let mut sum = None;
        for recording in &self.recordings {
            let Some(times) = recording.time(runs)? else { return Ok(None) };
            let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
            times.sort_by(f64::total_cmp);
            sum = Some(sum.unwrap_or(0.0) + median(&times));
        }
        Ok(sum)
    }
}
