//! Where the time of a recording goes: each launch against the limit of memory.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use upsweep_core::{Quartiles, Result};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::record::{Dispatch, Recording, Traffic};

/// Work that a device does before anything is measured: an idle one runs at a third of its speed. One that was idle
/// for long may take a second to wake; then the limits say so.
const WARM_UP: Duration = Duration::from_millis(200);

/// Work of one submission, so that the device does not fall asleep between two.
const SUBMISSION: Duration = Duration::from_millis(2);

/// Most runs of one submission.
const MOST_RUNS: u32 = 64;

/// Where the time of a [`Recording`] goes: what [`Gpu::profile`] measures. Displayed, it is a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordingProfile {
    /// Its launches, in their order.
    pub dispatches: Vec<DispatchProfile>,
    /// Times of all launches in one pass, as they are when they are used.
    pub whole: Quartiles,
}

/// One launch of a [`RecordingProfile`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DispatchProfile {
    /// The kernel's entry point, which says what it does: `reduce`, `scan`, `upsweep`, `spine`, `downsweep` …
    pub name: &'static str,
    /// Workgroups that are launched.
    pub workgroups: u64,
    /// The fewest bytes that it must read: each item of the arrays that it reads once, or what workgroups have left
    /// if it reads nothing else.
    pub read: u64,
    /// The fewest bytes that it must write, the one result of a reduction not counted.
    pub written: u64,
    /// Times in a pass of its own.
    pub time: Quartiles,
    /// Times of the limit: as many bytes, rounded up to 16, that are only read, or half of them copied if the launch
    /// writes too.
    pub limit: Quartiles,
}

impl DispatchProfile {
    /// The fewest bytes that it must move.
    pub fn bytes(&self) -> u64 {
        self.read + self.written
    }

    /// 10^9 of these bytes a second, by the median; `None` without bytes, or where the clock is too coarse.
    pub fn gbps(&self) -> Option<f64> {
        self.time.gbps(self.bytes())
    }

    /// 10^9 bytes a second of the limit.
    pub fn limit_gbps(&self) -> Option<f64> {
        self.limit.gbps(self.bytes())
    }

    /// How much of the limit is reached.
    pub fn percent_of_limit(&self) -> Option<f64> {
        Some(100.0 * self.gbps()? / self.limit_gbps()?)
    }
}

impl RecordingProfile {
    /// Seconds of the whole that no launch accounts for, by the medians: what lies between launches. Below zero where
    /// passes of their own cost launches more than that.
    pub fn between(&self) -> f64 {
        let launches: Duration = self.dispatches.iter().map(|dispatch| dispatch.time.median).sum();
        self.whole.median.as_secs_f64() - launches.as_secs_f64()
    }
}

/// The head of the table.
const HEAD: [&str; 8] =
    ["dispatch", "workgroups", "bytes", "median µs", "quartiles µs", "GB/s", "limit", "% of it"];

impl fmt::Display for RecordingProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e6);
        let spread = |of: Quartiles| format!("{} to {}", micros(of.lower), micros(of.upper));
        let number = |number: Option<f64>, places: usize| {
            number.map_or("-".to_owned(), |number| format!("{number:.places$}"))
        };
        let mut rows = vec![HEAD.map(str::to_owned)];
        rows.extend(self.dispatches.iter().map(|dispatch| {
            [
                dispatch.name.to_owned(),
                dispatch.workgroups.to_string(),
                dispatch.bytes().to_string(),
                micros(dispatch.time.median),
                spread(dispatch.time),
                number(dispatch.gbps(), 3),
                number(dispatch.limit_gbps(), 3),
                number(dispatch.percent_of_limit(), 1),
            ]
        }));
        let mut whole: [String; 8] = Default::default();
        whole[0] = "whole".to_owned();
        whole[3] = micros(self.whole.median);
        whole[4] = spread(self.whole);
        rows.push(whole);
        let widths: Vec<usize> = (0..HEAD.len())
            .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &rows {
            let mut line = format!("{:<1$}", row[0], widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "between launches {:.2} µs", self.between() * 1e6)
    }
}

impl Gpu {
    /// Runs a recording `runs` times, but at least once, and measures every launch in a pass of its own, the limit of
    /// memory on as many bytes, and the whole as one pass, all of them in turns and by the device's clock. `None`
    /// without timestamps.
    ///
    /// Each is measured behind a run of its own, so that caches hold what they hold in runs one after another. What
    /// a recording does in place, it does as often as it is run.
    ///
    /// # Cost
    /// At least 200 ms of work, which mostly raise the speed of an idle device, or two seconds of waiting for them; memory
    /// for as many bytes as the largest launch moves.
    ///
    /// # Errors
    /// Those of the device: memory, a lost device, a workgroup that waited in vain for another.
    pub fn profile(&self, recording: &Recording, runs: u32) -> Result<Option<RecordingProfile>> {
        if !self.limits().timestamps {
            return Ok(None);
        }
        let dispatches = &recording.dispatches[..];
        let (probes, limits) = self.limits_of(dispatches)?;
        let mut passes = vec![dispatches; 2];
        passes.extend(dispatches.chunks(1));
        for probe in &probes {
            passes.extend([&probe.dispatches[..]; 2]);
        }
        let together = self.warm_up(&passes)?;
        let mut times = vec![Vec::new(); passes.len()];
        let mut left = runs.max(1);
        while left > 0 {
            let now = together.min(left);
            let found = self.time_passes(&passes.repeat(now as usize))?;
            for run in found.chunks_exact(passes.len()) {
                times.iter_mut().zip(run).for_each(|(times, time)| times.push(*time));
            }
            left -= now;
        }
        self.settle()?;
        let times: Vec<Quartiles> = times.into_iter().map(Quartiles::of).collect();
        let (own, of_probes) = times[1..].split_at(1 + dispatches.len());
        let launch = |((dispatch, &time), limit): ((&Dispatch, _), usize)| DispatchProfile {
            name: dispatch.name,
            workgroups: dispatch.size.map(u64::from).iter().product(),
            read: dispatch.traffic.read,
            written: dispatch.traffic.written,
            time,
            limit: of_probes[2 * limit + 1],
        };
        let dispatches = dispatches.iter().zip(&own[1..]).zip(limits).map(launch).collect();
        Ok(Some(RecordingProfile { dispatches, whole: own[0] }))
    }

    /// The probes that dispatches are measured against, and the number of each one's.
    fn limits_of(&self, dispatches: &[Dispatch]) -> Result<(Vec<Recording>, Vec<usize>)> {
        let mut known = Vec::new();
        let mut numbers = Vec::with_capacity(dispatches.len());
        for Dispatch { traffic: Traffic { read, written }, .. } in dispatches {
            let copies = *written > 0;
            let bytes = if copies { (read + written).div_ceil(2) } else { *read };
            let probe = (copies, bytes.next_multiple_of(16).max(16));
            let found = known.iter().position(|other| *other == probe);
            numbers.push(found.unwrap_or(known.len()));
            if found.is_none() {
                known.push(probe);
            }
        }
        let most = |copied: bool| {
            let probes = known.iter().filter(|(copies, _)| !copied || *copies);
            probes.map(|(_, bytes)| *bytes).max().unwrap_or(0)
        };
        let input = self.noise(most(false))?;
        let output = self.buffer("limit", most(true), BufferUsages::STORAGE)?;
        let probe = |&(copies, bytes): &(bool, u64)| {
            let (name, binding) = if copies { ("copy_all", 1) } else { ("read_all", 2) };
            self.probe(name, bytes, &[(0, &input), (binding, &output)])
        };
        let probes = known.iter().map(probe).collect::<Result<_>>()?;
        Ok((probes, numbers))
    }

    /// A buffer of bytes without a pattern, since some devices keep and move those that have one as fewer.
    fn noise(&self, bytes: u64) -> Result<wgpu::Buffer> {
        /// Bytes that the host makes.
        const PIECE: u64 = 1 << 20;
        let buffer = self.buffer("limit", bytes, BufferUsages::STORAGE | BufferUsages::COPY_DST)?;
        let mix = |at: u32| {
            let mixed = at.wrapping_mul(0x9e37_79b9);
            (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b).to_le_bytes()
        };
        let noise: Vec<u8> = (0..PIECE as u32 / 4).flat_map(mix).collect();
        let piece = self.upload("noise", &noise)?;
        self.scoped(|| {
            let mut encoder = self.device.create_command_encoder(&<_>::default());
            for at in (0..buffer.size()).step_by(PIECE as usize) {
                let length = PIECE.min(buffer.size() - at);
                encoder.copy_buffer_to_buffer(&piece, 0, &buffer, at, length);
            }
            self.queue.submit([encoder.finish()])
        })?;
        Ok(buffer)
    }

    /// Runs these passes until the device is awake, and returns how many runs of them fill a submission.
    fn warm_up(&self, passes: &[&[Dispatch]]) -> Result<u32> {
        let (mut spent, begun, mut together) = (Duration::ZERO, Instant::now(), 1u32);
        // Where each run is short, the host's time counts too.
        while spent < WARM_UP && begun.elapsed() < 10 * WARM_UP {
            let found = self.time_passes(&passes.repeat(together as usize))?;
            let took: Duration = found.iter().sum();
            spent += took;
            let each = took / together;
            together = (SUBMISSION.as_nanos() / each.as_nanos().max(1)) as u32;
            together = together.clamp(1, MOST_RUNS);
        }
        Ok(together)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quartiles(nanos: &[u64]) -> Quartiles {
        Quartiles::of(nanos.iter().copied().map(Duration::from_nanos).collect())
    }

    #[test]
    fn a_table_of_launches() {
        let dispatch = |name, read, written, time, limit| DispatchProfile {
            name,
            workgroups: 4,
            read,
            written,
            time: quartiles(&[time]),
            limit: quartiles(&[limit]),
        };
        let dispatches = vec![
            dispatch("upsweep", 4000, 0, 2000, 1000),
            dispatch("spine", 0, 0, 500, 400),
            dispatch("downsweep", 4000, 4000, 4000, 3000),
        ];
        let profile = RecordingProfile { dispatches, whole: quartiles(&[7000]) };
        assert_eq!(
            profile.to_string(),
            "\
dispatch   workgroups  bytes  median µs  quartiles µs   GB/s  limit  % of it
upsweep             4   4000       2.00  2.00 to 2.00  2.000  4.000     50.0
spine               4      0       0.50  0.50 to 0.50      -      -        -
downsweep           4   8000       4.00  4.00 to 4.00  2.000  2.667     75.0
whole                              7.00  7.00 to 7.00
between launches 0.50 µs"
        );
    }
}
