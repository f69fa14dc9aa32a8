//! Times that can be compared: in turns, once everything is awake, in samples that are long enough for a clock.

use std::time::{Duration, Instant};

use crate::explain::Quartiles;
use crate::{Device, Recording, Result};

/// Times that each is measured.
const SAMPLES: usize = 21;

/// Runs of at least this long are one sample of a CPU: a thousand times what reading its clock takes.
const SAMPLE_OF_CPU: Duration = Duration::from_micros(100);

/// The same of a GPU, which falls asleep between shorter ones.
const SAMPLE_OF_GPU: Duration = Duration::from_millis(2);

/// Work that comes first: of a GPU so much that its clock rises, of a CPU that its caches hold what they will.
const WARM_UP: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

/// Most runs of a sample.
const MOST_RUNS: u32 = 1 << 16;

/// Most runs of a sample of a GPU: more would fill the queue of a driver, which then waits.
const MOST_RUNS_OF_GPU: u32 = 200;

/// What is measured: so many runs, one after another, and how long each of them took.
pub(super) type Runs<'a> = &'a mut dyn FnMut(u32) -> Result<Duration>;

/// How long each took, in turns.
pub(super) fn in_turns<const N: usize>(
    on_gpu: bool,
    mut works: [Runs<'_>; N],
) -> Result<[Quartiles; N]> {
    let (sample, most) = match on_gpu {
        true => (SAMPLE_OF_GPU, MOST_RUNS_OF_GPU),
        false => (SAMPLE_OF_CPU, MOST_RUNS),
    };
    let warm_up = WARM_UP[usize::from(on_gpu)];
    let (mut runs, begun) = ([1; N], Instant::now());
    let mut grows = true;
    while grows || begun.elapsed() < warm_up {
        grows = false;
        for (work, runs) in works.iter_mut().zip(&mut runs) {
            let each = work(*runs)?.as_nanos().max(1);
            let wanted = u32::try_from(sample.as_nanos().div_ceil(each)).unwrap_or(most);
            // The first of them are slow, so that fewer would be wanted than are in the end.
            let wanted = wanted.clamp(1, most);
            grows |= wanted > 2 * *runs;
            *runs = wanted;
        }
    }
    let mut found = [const { Vec::new() }; N];
    for _ in 0..SAMPLES {
        for ((work, runs), times) in works.iter_mut().zip(runs).zip(&mut found) {
            times.push(work(runs)?);
        }
    }
    Ok(found.map(Quartiles::of))
}

/// How long each of so many calls of the host's took.
pub(super) fn host(runs: u32, call: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..runs {
        call()?;
    }
    Ok(begun.elapsed() / runs)
}

/// How long each of so many runs took on the device, the median; by the host's clock if the device has none.
pub(super) fn device(device: &Device, recording: &Recording, runs: u32) -> Result<Duration> {
    match recording.time(runs)? {
        Some(times) => Ok(Quartiles::of(times).median),
        None => host(runs, &mut || {
            recording.submit()?;
            device.wait()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_turn_in_long_samples() {
        let turns = std::cell::RefCell::new(Vec::new());
        let each = [Duration::from_micros(10), Duration::from_millis(1)];
        let of = |which: usize| {
            let turns = &turns;
            move |runs| {
                turns.borrow_mut().push((which, runs));
                Ok(each[which])
            }
        };
        let found = in_turns(false, [&mut of(0), &mut of(1)]).expect("nothing fails");
        assert_eq!(found.map(|times| times.median), each);
        let turns = turns.into_inner();
        assert_eq!(turns[turns.len() - 2 * SAMPLES..], [(0, 10), (1, 1)].repeat(SAMPLES));
        assert!(turns.len() > 2 * SAMPLES, "it was warmed up");
    }
}
