//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use std::collections::HashMap;

use upsweep_core::Result;

use crate::device::Gpu;
use crate::record::{Dispatch, Recording, Traffic};
use crate::reduce::grid;
use crate::shader::unroll::unroll;
use crate::slice::Slice;

/// Threads of a workgroup, and accesses of 16 bytes of a thread.
const THREADS: u64 = 256;
const ACCESSES: u64 = 8;

/// The shader of both probes.
pub(crate) fn text() -> String {
    let names = HashMap::from([("ACCESSES", ACCESSES as u32)]);
    format!(
        "const THREADS = {THREADS}u;\nconst ACCESSES = {ACCESSES}u;\n{}",
        unroll(include_str!("probe.wgsl"), &names)
    )
}

impl Gpu {
    /// Reads a buffer from beginning to end: the limit that a reduction is measured against.
    ///
    /// # Errors
    /// Those of the device.
    pub fn probe_read(&self, input: Slice<'_>, result: Slice<'_>) -> Result<Recording> {
        self.probe("read_all", input.buffer.size(), &[(0, input.buffer), (2, result.buffer)])
    }

    /// Copies a buffer: the limit that a scan is measured against.
    ///
    /// # Errors
    /// Those of the device.
    pub fn probe_copy(&self, input: Slice<'_>, output: Slice<'_>) -> Result<Recording> {
        self.probe("copy_all", input.buffer.size(), &[(0, input.buffer), (1, output.buffer)])
    }

    /// One of the two, of the first so many bytes of the buffers, or as many whole accesses as one binding holds.
    pub(crate) fn probe(
        &self,
        entry: &'static str,
        bytes: u64,
        buffers: &[(u32, &wgpu::Buffer)],
    ) -> Result<Recording> {
        let pipeline = self.compile(&text(), entry)?;
        let bytes = bytes.min(self.facts.binding_bytes) / 16 * 16;
        let bindings: Vec<_> = buffers
            .iter()
            .map(|(binding, buffer)| {
                let size = core::num::NonZeroU64::new(bytes.min(buffer.size() / 16 * 16));
                let buffer = wgpu::BufferBinding { buffer, offset: 0, size };
                (*binding, wgpu::BindingResource::Buffer(buffer))
            })
            .collect();
        let group = self.group(&pipeline, &bindings)?;
        let workgroups = bytes.div_ceil(16 * THREADS * ACCESSES).max(1) as u32;
        let size = grid(workgroups, self.facts.grid);
        let written = if entry == "copy_all" { bytes } else { 0 };
        let traffic = Traffic { read: bytes, written };
        let threads = THREADS as u32;
        let dispatches =
            vec![Dispatch { name: entry, pipeline, group, size, indirect: None, threads, traffic }];
        Ok(Recording { dispatches, strategy: None, states: Vec::new(), scratch: 0, alive: None })
    }
}
