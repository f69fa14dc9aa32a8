//! Small results on their way to the host.

use upsweep_core::Result;
use upsweep_gpu::bits::MOST_BYTES;
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::faults::FAULT;

/// Where a small result is written by kernels and read by the host: one buffer where the device lets the host map
/// what kernels write, which spares a copy.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) device: wgpu::Buffer,
    host: Option<wgpu::Buffer>,
}

impl Mailbox {
    /// Room for the longest result, and behind it for the word that says whether it may be trusted.
    pub(crate) const FAULT: u64 = MOST_BYTES as u64;
    pub(crate) const BYTES: u64 = Self::FAULT + 16;

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

    /// Records the copies to the host that are needed: of the result, and behind it of the state's word that says
    /// whether it may be trusted.
    pub(crate) fn send(&self, encoder: &mut wgpu::CommandEncoder, state: Option<&wgpu::Buffer>) {
        if let Some(host) = &self.host {
            encoder.copy_buffer_to_buffer(&self.device, 0, host, 0, Self::FAULT);
        }
        if let Some(state) = state {
            encoder.copy_buffer_to_buffer(state, FAULT, self.host(), Self::FAULT, 4);
        }
    }

    /// The buffer that the host maps.
    pub(crate) fn host(&self) -> &wgpu::Buffer {
        self.host.as_ref().unwrap_or(&self.device)
    }
}
