//! How long a call takes: the one place where a clock is read.

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
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Median of the calls that move the same bytes.
    pub(crate) limit: f64,
    /// The first call.
    pub(crate) first: f64,
    /// Bytes that the job must move.
    pub(crate) bytes: u64,
    /// Bytes that the limit moves.
    pub(crate) limit_bytes: u64,
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

/// The middle of sorted numbers.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
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

/// The mean of the middle half of some numbers: a few that are far off move it as little as the median, and it is finer than the steps in
/// which a clock counts.
pub(crate) fn middle_mean(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let cut = numbers.len() / 4;
    let middle = &numbers[cut..numbers.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
        assert_eq!(middle_mean(vec![9.0, 2.0, 1.0, 4.0]), 3.0);
        assert_eq!(middle_mean(vec![1000.0, 5.0, 5.0, 6.0, 7.0, 5.0, 6.0, -9.0]), 5.5);
        assert_eq!(middle_mean(vec![2.0]), 2.0);
        assert!(middle_mean(Vec::new()).is_nan());
    }
}
