//! Sums that have nothing to do with one another, and the ways to hand them to a device.

use std::fmt::Display;
use std::sync::Arc;

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, Op, ReduceCall, Scalar};
use upsweep::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep::cudarc::driver::{CudaGraph, CudaStream};
use upsweep::{Device, Dtype, Error, Recording, Result, wgpu};

use crate::buffer::{Buffer, POISON, available_memory};
use crate::inputs;
use crate::statistics::median;

/// Streams that sums are handed to in turn: so many queues a GPU of NVIDIA's has unless it is told otherwise.
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

/// Independent sums of so many numbers each.
pub(super) struct Sums<'a> {
    device: &'a Device,
    items: Buffer,
    n: usize,
    sum: ReduceCall,
    expected: Vec<Option<Scalar>>,
    /// Launches the recordings, and stands before them, so that it is dropped before them.
    graph: Option<CudaGraph>,
    /// What was found.
    found: Vec<Option<Scalar>>,
    /// On a GPU, each with its result.
    bound: Vec<(Recording, AnyArray)>,
    streams: Vec<Arc<CudaStream>>,
}

impl<'a> Sums<'a> {
    /// So many sums, on a GPU with their arrays and all that they need.
    pub(super) fn new(device: &'a Device, n: usize, count: usize) -> Result<Self> {
        let bytes = n.saturating_mul(count).saturating_mul(size_of::<u32>());
        let fits = available_memory().is_none_or(|most| bytes as u64 <= most / 2);
        let items = fits.then(|| inputs::items(Dtype::U32, n * count, false).ok()).flatten();
        let items = items.ok_or(Error::OutOfMemory { bytes })?;
        let problem = any::Reduce::new(Op::Sum).acc(Dtype::U32);
        let mut sums = Self {
            device,
            items,
            n,
            sum: ReduceCall::new(device, Dtype::U32, &problem)?,
            expected: Vec::new(),
            graph: None,
            found: vec![None; count],
            bound: Vec::new(),
            streams: Vec::new(),
        };
        for which in 0..count {
            let own = sums.own(which);
            let sum = own.iter().fold(0, |sum: u32, item| sum.wrapping_add(*item));
            if device.id() != "cpu" {
                let input = AnyArray::from_view(device, own)?;
                let mut result = AnyArray::filled(device, 1, Scalar::new(0u32))?;
                let recording = any::bind_reduce(device, &input, &mut result, &problem)?;
                sums.bound.push((recording, result));
            }
            sums.expected.push(Some(Scalar::new(sum)));
        }
        device.wait()?;
        Ok(sums)
    }

    /// The numbers of one of them.
    fn own(&self, which: usize) -> &[u32] {
        &cast_slice(self.items.bytes())[which * self.n..][..self.n]
    }

    /// Bytes of all numbers.
    pub(super) fn bytes(&self) -> u64 {
        self.items.bytes().len() as u64
    }

    /// Makes what a way needs once, or says why there is no such way.
    pub(super) fn prepare(&mut self, way: Way) -> Result<()> {
        match way {
            Way::Waited => Ok(()),
            Way::Queued if !self.bound.is_empty() => Ok(()),
            Way::Together if self.device.wgpu().is_some() => Ok(()),
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
            for (recording, _) in &self.bound {
                // SAFETY: the graph is dropped before the recordings are.
                unsafe { recording.capture(stream) }?;
            }
            let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
            self.graph = stream.end_capture(flags).map_err(|why| self.failed(why))?;
        }
        Ok(())
    }

    /// Does all of them, and waits.
    pub(super) fn run(&mut self, way: Way) -> Result<()> {
        if self.bound.is_empty() {
            for which in 0..self.found.len() {
                let own = std::hint::black_box(self.own(which));
                self.found[which] = self.sum.run(self.device, own)?;
            }
            return Ok(());
        }
        match way {
            Way::Waited => {
                for (recording, _) in &self.bound {
                    recording.submit()?;
                    self.device.wait()?;
                }
            }
            Way::Queued => self.bound.iter().try_for_each(|(recording, _)| recording.submit())?,
            Way::Together => self.together()?,
            Way::Streams => {
                let streams = self.streams.iter().cycle();
                for ((recording, _), stream) in self.bound.iter().zip(streams) {
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
        for (recording, _) in &self.bound {
            recording.record(&mut pass)?;
        }
        drop(pass);
        queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Seconds that the device itself takes for all, one after another, by its clock if it has one.
    pub(super) fn own_seconds(&self, runs: u32) -> Result<Option<f64>> {
        let mut sum = None;
        for (recording, _) in &self.bound {
            let Some(times) = recording.time(runs)? else { return Ok(None) };
            let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
            times.sort_by(f64::total_cmp);
            sum = Some(sum.unwrap_or(0.0) + median(&times));
        }
        Ok(sum)
    }

    /// Spoils all results.
    pub(super) fn poison(&mut self) -> Result<()> {
        let poison = u32::from_ne_bytes([POISON; 4]);
        self.found.fill(None);
        for (_, result) in &mut self.bound {
            result.copy_from(&[poison])?;
        }
        self.device.wait()
    }

    /// Whether all results are right.
    pub(super) fn are_right(&mut self) -> Result<bool> {
        for ((_, result), found) in self.bound.iter().zip(&mut self.found) {
            *found = Scalar::from_bytes(Dtype::U32, &result.to_bytes()?);
        }
        Ok(self.found == self.expected)
    }
}
