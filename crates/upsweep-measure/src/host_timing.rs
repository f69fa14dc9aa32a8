//! How long calls take by the host's clock, in turns with the limit.

use std::time::{Duration, Instant};

use upsweep::Result;

/// Calls that are shorter than this are timed many at once.
const SHORTEST: Duration = Duration::from_micros(200);

/// Most calls that are timed at once.
const MOST_CALLS: u128 = 1 << 20;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// What is measured.
    Job,
    /// The same bytes, moved without arithmetic.
    Limit,
}

/// How a row is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Times that it is measured.
    pub(crate) samples: usize,
    /// Whether also launch by launch.
    pub(crate) profile: bool,
    /// Whether its energy is measured too.
    pub(crate) energy: bool,
}

/// Seconds that calls took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Median of the calls that move the same bytes.
    pub limit: f64,
    /// The first call.
    pub first: f64,
    /// Bytes that the job must move.
    pub bytes: u64,
    /// Bytes that the limit moves.
    pub limit_bytes: u64,
}

/// Times one call.
pub(crate) fn once(call: &mut dyn FnMut(Call) -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    call(Call::Job)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds of one call of the job and of one call of the limit, `samples` times each, in turns.
pub(crate) fn in_turns(
    samples: usize,
    call: &mut dyn FnMut(Call) -> Result<()>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (jobs, limits) = (repetitions(Call::Job, call)?, repetitions(Call::Limit, call)?);
    let (mut job_times, mut limit_times) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        job_times.push(seconds(Call::Job, jobs, call)?);
        limit_times.push(seconds(Call::Limit, limits, call)?);
    }
    job_times.sort_by(f64::total_cmp);
    limit_times.sort_by(f64::total_cmp);
    Ok((job_times, limit_times))
}

/// How many calls take long enough to be timed. The last calls made here warm up the caches.
fn repetitions(which: Call, call: &mut dyn FnMut(Call) -> Result<()>) -> Result<u32> {
    let mut calls = 1;
    loop {
        let start = Instant::now();
        for _ in 0..calls {
            call(which)?;
        }
        let spent = start.elapsed();
        if spent >= SHORTEST || u128::from(calls) >= MOST_CALLS {
            return Ok(calls);
        }
        // Twice as many or more, so that this ends soon.
        let enough = u128::from(calls) * SHORTEST.as_nanos() / spent.as_nanos().max(1) + 1;
        let next = enough.clamp(u128::from(calls) * 2, MOST_CALLS);
        calls = u32::try_from(next).unwrap_or(calls * 2);
    }
}

fn seconds(which: Call, calls: u32, call: &mut dyn FnMut(Call) -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..calls {
        call(which)?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(calls))
}
