//! The limits of memory: as many bytes, moved with no arithmetic worth the name; and device time.

use core::time::Duration;
use std::collections::HashMap;

use upsweep_core::Result;
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::record::{Dispatch, Recording};
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
        self.probe("read_all", &[(0, input), (2, result)])
    }

    /// Copies a buffer: the limit that a scan is measured against.
    ///
    /// # Errors
    /// Those of the device.
    pub fn probe_copy(&self, input: Slice<'_>, output: Slice<'_>) -> Result<Recording> {
        self.probe("copy_all", &[(0, input), (1, output)])
    }

    /// Both probes work on the bytes of the first slice, as many whole accesses as one binding holds.
    fn probe(&self, entry: &'static str, slices: &[(u32, Slice<'_>)]) -> Result<Recording> {
        let pipeline = self.compile(&text(), entry)?;
        let most = self.facts.binding_bytes / 16 * 16;
        let bindings: Vec<_> = slices
            .iter()
            .map(|(binding, slice)| {
                let size = core::num::NonZeroU64::new(most.min(slice.buffer.size() / 16 * 16));
                let buffer = wgpu::BufferBinding { buffer: slice.buffer, offset: 0, size };
                (*binding, wgpu::BindingResource::Buffer(buffer))
            })
            .collect();
        let group = self.group(&pipeline, &bindings)?;
        let bytes = most.min(slices[0].1.buffer.size());
        let workgroups = bytes.div_ceil(16 * THREADS * ACCESSES).max(1) as u32;
        let size = grid(workgroups, self.facts.grid);
        let dispatches = vec![Dispatch { pipeline, group, size }];
        Ok(Recording { dispatches, strategy: None, state: None, alive: None })
    }

    /// Device times of `repeats` runs of a recording, one after another; `None` without timestamps.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, recording: &Recording, repeats: u32) -> Result<Option<Vec<Duration>>> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let count = 2 * repeats;
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("times"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let bytes = u64::from(count) * 8;
        let resolved =
            self.buffer("times", bytes, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC)?;
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        for run in 0..repeats {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: &queries,
                    beginning_of_pass_write_index: Some(2 * run),
                    end_of_pass_write_index: Some(2 * run + 1),
                }),
            });
            recording.record(&mut pass);
        }
        encoder.resolve_query_set(&queries, 0..count, &resolved, 0);
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut ticks = vec![0u8; bytes as usize];
        self.download(&resolved, 0, &mut ticks)?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&ticks);
        let period = f64::from(self.queue.get_timestamp_period());
        let nanos = |pair: &[u64]| pair[1].saturating_sub(pair[0]) as f64 * period;
        Ok(Some(
            ticks.chunks_exact(2).map(|pair| Duration::from_nanos(nanos(pair) as u64)).collect(),
        ))
    }
}
