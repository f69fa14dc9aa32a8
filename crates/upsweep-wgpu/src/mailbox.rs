//! Small results on their way to the host.

use upsweep_core::Result;
use upsweep_gpu::bits::MOST_BYTES;
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::faults::{FAULT, FAULT_BYTES};
use crate::record::Recording;

/// Where a small result is written by kernels and read by the host: one buffer where the device lets the host map
/// what kernels write, which spares a copy.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) device: wgpu::Buffer,
    host: Option<wgpu::Buffer>,
}

impl Mailbox {
    /// Room for the longest result, and behind it for what says whether it may be trusted: of the launches, and of their sizes.
    pub(crate) const FAULTS: u64 = MOST_BYTES as u64;
    pub(crate) const BYTES: u64 = Self::FAULTS + 2 * FAULT_BYTES;

    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        let kernels = BufferUsages::STORAGE;
        let host = BufferUsages::MAP_READ;
        if gpu.device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            let usage = kernels | host | BufferUsages::COPY_DST;
            return Ok(Self { device: gpu.buffer("result", Self::BYTES, usage)?, host: None });
        }
        let device = gpu.buffer("result", Self::BYTES, kernels | BufferUsages::COPY_SRC)?;
        let host = gpu.buffer("result", Self::BYTES, host | BufferUsages::COPY_DST)?;
        Ok(Self { device, host: Some(host) })
    }

    /// Records the copies to the host that are needed: of the result, and behind it of what says whether it may be trusted, in the
    /// order of the recording's states.
    pub(crate) fn send(&self, encoder: &mut wgpu::CommandEncoder, recording: &Recording) {
        if let Some(host) = &self.host {
            encoder.copy_buffer_to_buffer(&self.device, 0, host, 0, Self::FAULTS);
        }
        for (at, state) in (Self::FAULTS..).step_by(FAULT_BYTES as usize).zip(&recording.states) {
            encoder.copy_buffer_to_buffer(state, FAULT, self.host(), at, FAULT_BYTES);
        }
    }

    /// The buffer that the host maps.
    pub(crate) fn host(&self) -> &wgpu::Buffer {
        self.host.as_ref().unwrap_or(&self.device)
    }
}
