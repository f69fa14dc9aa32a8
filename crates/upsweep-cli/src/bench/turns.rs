//! How a GPU's work is timed: when it is awake, in turns, in samples so long that it does not fall asleep between them.

use std::time::{Duration, Instant};

use upsweep::{Device, Recording, Result};

use super::measure::median;

/// Work that a device does before anything is measured: an idle one runs at a third of its speed, and the longer the
/// host was busy with its arrays, the longer it takes to wake. An H200 that had waited for 1 GiB did not in 200 ms.
fn warm_up(bytes: u64) -> Duration {
    Duration::from_millis(200) + Duration::from_nanos(bytes)
}

/// Work of one sample, so that the device does not fall asleep between two.
const SAMPLE: Duration = Duration::from_millis(2);

/// Most runs of one sample.
const MOST_RUNS: u32 = 200;

/// Seconds of one run of each of `count` pieces of work on arrays of so many bytes, `samples` times each, in turns, sorted.
/// `seconds` gives those of so many runs of one of them, one after another.
pub(crate) fn in_turns(
    count: usize,
    samples: usize,
    bytes: u64,
    seconds: &mut dyn FnMut(usize, u32) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<f64>>> {
    let mut sorted = |which: usize, runs: u32| {
        let mut times = seconds(which, runs)?;
        times.sort_by(f64::total_cmp);
        Ok(times)
    };
    let mut runs = vec![1u32; count];
    let (mut spent, begun) = (0.0, Instant::now());
    // Without a clock of its own, or where each run is short, the host's time counts too.
    let warm_up = warm_up(bytes);
    while spent < warm_up.as_secs_f64() && begun.elapsed() < 10 * warm_up {
        for (which, runs) in runs.iter_mut().enumerate() {
            let times = sorted(which, *runs)?;
            let each = median(&times).max(1e-9);
            spent += times.iter().sum::<f64>();
            *runs = ((SAMPLE.as_secs_f64() / each) as u32).clamp(1, MOST_RUNS);
        }
    }
    let mut found = vec![Vec::new(); count];
    for _ in 0..samples {
        for (which, times) in found.iter_mut().enumerate() {
            times.push(median(&sorted(which, runs[which])?));
        }
    }
    for times in &mut found {
        times.sort_by(f64::total_cmp);
    }
    Ok(found)
}

/// Seconds of runs one after another; of all alike if only the host has a clock.
pub(crate) fn seconds(device: &Device, recording: &Recording, runs: u32) -> Result<Vec<f64>> {
    if let Some(times) = recording.time(runs)? {
        return Ok(times.iter().map(Duration::as_secs_f64).collect());
    }
    device.wait()?;
    let start = Instant::now();
    for _ in 0..runs {
        recording.submit()?;
    }
    device.wait()?;
    Ok(vec![start.elapsed().as_secs_f64() / f64::from(runs)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_turn_once_the_device_is_awake() {
        let mut turns = Vec::new();
        let found = in_turns(2, 3, 0, &mut |which, runs| {
            turns.push((which, runs));
            Ok(vec![[1e-3, 0.1][which]; runs as usize])
        });
        let found = found.expect("nothing fails");
        assert_eq!(found, [[1e-3; 3], [0.1; 3]]);
        assert_eq!(turns[turns.len() - 6..], [(0, 2), (1, 1)].repeat(3));
        assert!(turns.len() > 6, "it was warmed up");
    }
}
