//! How long calls take by the host's clock, in turns with the limit.

use std::num::NonZeroU32;
use std::time::Instant;

use upsweep::Result;

/// Calls that are shorter than so many seconds are timed many at once.
const SHORTEST: f64 = 2e-4;

/// Most calls that are timed at once.
const MOST_CALLS: f64 = 1e6;

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

/// What does so many calls.
pub(crate) type Calls<'a> = &'a mut dyn FnMut(Call, NonZeroU32) -> Result<()>;

/// Seconds of one call of the job and of one call of the limit, `samples` times each, in turns.
pub(crate) fn in_turns(samples: usize, run: Calls<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let (jobs, limits) = (repetitions(Call::Job, run)?, repetitions(Call::Limit, run)?);
    let (mut job_times, mut limit_times) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        job_times.push(seconds(Call::Job, jobs, run)?);
        limit_times.push(seconds(Call::Limit, limits, run)?);
    }
    job_times.sort_by(f64::total_cmp);
    limit_times.sort_by(f64::total_cmp);
    Ok((job_times, limit_times))
}

/// How many calls take long enough to be timed. The last calls made here warm up the caches.
fn repetitions(which: Call, run: Calls<'_>) -> Result<NonZeroU32> {
    let mut calls = NonZeroU32::MIN;
    loop {
        let once = seconds(which, calls, run)?;
        let enough = (SHORTEST / once.max(1e-9)).min(MOST_CALLS) as u32;
        if calls.get() >= enough {
            return Ok(calls);
        }
        // Twice as many or more, so that this ends soon.
        calls = NonZeroU32::MIN.saturating_add(enough).max(calls.saturating_add(calls.get()));
    }
}

/// Seconds of one of so many calls.
pub(crate) fn seconds(which: Call, calls: NonZeroU32, run: Calls<'_>) -> Result<f64> {
    let start = Instant::now();
    run(which, calls)?;
    Ok(start.elapsed().as_secs_f64() / f64::from(calls.get()))
}
