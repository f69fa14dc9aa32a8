//! Device time, by timestamps.

use core::time::Duration;

use upsweep_core::Result;
use wgpu::{BufferUsages, QUERY_SET_MAX_QUERIES, QUERY_SIZE};

use crate::device::Gpu;
use crate::record::{Dispatch, Recording, record};

/// Passes of which one query set holds beginning and end.
const PASSES_OF_SET: usize = QUERY_SET_MAX_QUERIES as usize / 2;

/// Bytes of the beginning and the end of a pass.
const PASS_BYTES: u64 = 2 * QUERY_SIZE as u64;

impl Gpu {
    /// Device times of `repeats` runs of a recording, one after another; `None` without timestamps.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, recording: &Recording, repeats: u32) -> Result<Option<Vec<Duration>>> {
        if !self.limits().timestamps {
            return Ok(None);
        }
        self.time_passes(&vec![&recording.dispatches[..]; repeats as usize]).map(Some)
    }

    /// Runs these passes one after another, and returns how long each took. The device has timestamps.
    pub(crate) fn time_passes(&self, passes: &[&[Dispatch]]) -> Result<Vec<Duration>> {
        let bytes = passes.len() as u64 * PASS_BYTES;
        let usage = BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC;
        let resolved = self.buffer("times", bytes, usage)?;
        self.scoped(|| {
            let mut encoder = self.device.create_command_encoder(&<_>::default());
            for (set, passes) in (0u64..).zip(passes.chunks(PASSES_OF_SET)) {
                let count = 2 * passes.len() as u32;
                let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("times"),
                    ty: wgpu::QueryType::Timestamp,
                    count,
                });
                for (begin, dispatches) in (0..).step_by(2).zip(passes) {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        label: None,
                        timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                            query_set: &queries,
                            beginning_of_pass_write_index: Some(begin),
                            end_of_pass_write_index: Some(begin + 1),
                        }),
                    });
                    record(dispatches, &mut pass);
                }
                let at = set * PASSES_OF_SET as u64 * PASS_BYTES;
                encoder.resolve_query_set(&queries, 0..count, &resolved, at);
            }
            self.queue.submit([encoder.finish()])
        })?;
        let mut ticks = vec![0u8; bytes as usize];
        self.download(&resolved, 0, &mut ticks)?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&ticks);
        let period = f64::from(self.queue.get_timestamp_period());
        let nanos = |pair: &[u64]| pair[1].saturating_sub(pair[0]) as f64 * period;
        Ok(ticks.chunks_exact(2).map(|pair| Duration::from_nanos(nanos(pair) as u64)).collect())
    }
}
