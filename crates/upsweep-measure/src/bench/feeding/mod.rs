//! Many small operations: how well a device is kept busy.
//!
//! A small sum takes a GPU some microseconds, and the host as long or longer to begin it and to hear that it is done. Whatever waits
//! for each before it begins the next leaves the GPU idle in between. Here 1, 10 and 100 sums, each with arrays of its own, and a chain of
//! ten steps with lengths that only the device knows, are handed to a device in every way that it has; each time is the host's, from the
//! first call until all are done. The limit is the device's own time for the same operations, one after another, so that what is missing to
//! 100 % are the gaps; more is overlap.

mod chain;
mod sums;
mod ways;

use std::time::Instant;

use upsweep::{CpuOptions, Device, Result};

use super::outcome::Outcome;
use super::row::{Row, Tell};
use crate::device;
use crate::error;
use crate::host_timing::Times;
use crate::selection::Devices;
use crate::statistics::median;

use chain::Chain;
use sums::Sums;
use ways::{Way, Work};

/// How many sums there are.
const COUNTS: [usize; 3] = [1, 10, 100];

/// Seconds of work that comes before anything is measured, so that the device is awake.
const WARM_UP: f64 = 0.2;

/// Seconds of one sample, so that a clock tells them and the device does not fall asleep between two; and the most repetitions for it.
const SAMPLE: f64 = 2e-3;
const MOST_REPEATS: u32 = 1000;

/// Repetitions of each operation by itself, of which the device's own time is the median.
const OWN_RUNS: u32 = 9;

/// All rows of some devices, and how many results were wrong.
///
/// # Errors
/// Those of `tell`, and devices that are not there.
pub fn measure(
    devices: &Devices,
    lengths: &[usize],
    samples: usize,
    tell: Tell<'_>,
) -> error::Result<usize> {
    let mut wrong = 0;
    for id in devices.ids() {
        wrong += rows(&id, lengths, samples, tell)?;
    }
    Ok(wrong)
}

fn rows(id: &str, lengths: &[usize], samples: usize, tell: Tell<'_>) -> error::Result<usize> {
    let device = device::open(id, CpuOptions::default())?;
    let mut wrong = 0;
    for &n in lengths {
        for count in COUNTS {
            let sums = Sums::new(&device, n, count);
            let name = format!("reduce*{count}");
            wrong += rows_of(&device, n, (sums, &name), samples, tell)?;
        }
        wrong += rows_of(&device, n, (Chain::new(&device, n), "chain*10"), samples, tell)?;
    }
    Ok(wrong)
}

/// Some work in every way, which has this name if it cannot be had.
fn rows_of<'a>(
    device: &'a Device,
    n: usize,
    (mut work, name): (Result<impl Work<'a>>, &str),
    samples: usize,
    tell: Tell<'_>,
) -> error::Result<usize> {
    let mut wrong = 0;
    for (way, strategy) in Way::ALL {
        let found = match &mut work {
            Ok(work) => measured(work, way, samples),
            Err(error) => Err(error.clone()),
        };
        let outcome = found.unwrap_or_else(|error| Outcome::refused(error.to_string()));
        wrong += usize::from(outcome.wrong);
        tell(&Row {
            device: device.id(),
            op: name,
            dtype: "u32",
            n,
            rows: None,
            strategy,
            times: outcome.times,
            profile: None,
            energy: None,
            checked: &outcome.checked,
        })?;
    }
    Ok(wrong)
}

/// Compares, measures, compares again.
fn measured<'a>(work: &mut impl Work<'a>, way: Way, samples: usize) -> Result<Outcome> {
    work.recordings().prepare(way)?;
    work.poison()?;
    let begun = Instant::now();
    work.run(way)?;
    let first = begun.elapsed().as_secs_f64();
    if !work.are_right()? {
        return Ok(Outcome::wrong());
    }
    let begun = Instant::now();
    let mut repeats = 1;
    while begun.elapsed().as_secs_f64() < WARM_UP {
        let each = seconds(work, way, repeats)?;
        repeats = ((SAMPLE / each.max(1e-9)) as u32).clamp(1, MOST_REPEATS);
    }
    let (mut times, mut own) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        let time = seconds(work, way, repeats)?;
        times.push(time);
        // Without a clock of the device's, or on a CPU, nothing is known of gaps.
        own.push(work.recordings().own_seconds(OWN_RUNS)?.unwrap_or(time));
    }
    work.poison()?;
    work.run(way)?;
    if !work.are_right()? {
        return Ok(Outcome::wrong());
    }
    times.sort_by(f64::total_cmp);
    own.sort_by(f64::total_cmp);
    let times = Times {
        median: median(&times),
        min: times[0],
        max: times[times.len() - 1],
        limit: median(&own),
        first,
        bytes: work.bytes(),
        limit_bytes: work.bytes(),
    };
    Ok(Outcome::right(times, None))
}

/// Seconds of all of it, of so many repetitions the mean.
fn seconds<'a>(work: &mut impl Work<'a>, way: Way, repeats: u32) -> Result<f64> {
    let begun = Instant::now();
    for _ in 0..repeats {
        work.run(way)?;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(repeats))
}
