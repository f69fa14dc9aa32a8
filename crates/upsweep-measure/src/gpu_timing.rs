//! How a GPU's work is timed: when it is awake, in turns, in samples so long that it does not fall asleep between them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use upsweep::any::{self, AnyArray, Scalar};
use upsweep::{Device, Recording, Result};

use crate::device::is_software;
use crate::statistics::median;

/// Work that a device does at least before anything is measured: an idle one runs at a third of its speed, and the longer the
/// host was busy with its arrays, the longer it takes to wake. An H200 that had waited for 1 GiB did not in 200 ms.
fn warm_up(bytes: u64) -> Duration {
    Duration::from_millis(200) + Duration::from_nanos(bytes)
}

/// A device is awake if it works as fast as it did before, but for so much. While the host looked for the reference of a scan of
/// `f16`, the clock of an H200 fell from 1,980 MHz to 345; with work it took from 0.1 to 1.5 s to be back, and a row of the time
/// between took twice as long as it should (2026-11-27).
const AWAKE: f64 = 1.03;

/// Work behind which it is known how fast a device is.
const KNOWN: Duration = Duration::from_secs(1);

/// Longest work until a device is awake: another program may have slowed it for good.
const MOST_WAKING: Duration = Duration::from_secs(4);

/// Bytes of an array that is read to wake a device. An H200 works on them for 20 µs a time; runs of what is measured may take 4, and
/// left it idle five sixths of the time.
const WAKING_BYTES: usize = 64 << 20;

/// Work of one sample, so that the device does not fall asleep between two.
const SAMPLE: Duration = Duration::from_millis(2);

/// Most runs of one sample.
const MOST_RUNS: u32 = 200;

/// Times that each piece of work runs to find out how many runs make a sample; the first ones are slower.
const TRIALS: usize = 3;

/// Work that fills a device: an array that is read again and again.
pub(crate) struct Busy {
    device: Device,
    read: Recording,
    /// The shortest time of a read so far, and how long it was looked for.
    shortest: f64,
    worked: Duration,
    /// The recording keeps it, but for arrays of the caller's own.
    _array: AnyArray,
}

impl Busy {
    /// With an array of so many bytes, or of a sixteenth of the device's memory.
    pub(crate) fn new(device: &Device, bytes: usize) -> Result<Self> {
        let most = device.limits().memory_bytes.map_or(bytes, |all| bytes.min(all as usize / 16));
        let array = AnyArray::filled(device, most / 4, Scalar::new(1u32))?;
        let read = any::bind_probe_read(device, &array)?;
        let (shortest, worked) = (f64::INFINITY, Duration::ZERO);
        Ok(Self { device: device.clone(), read, shortest, worked, _array: array })
    }

    /// Reads so many times at once, until so much time is over.
    pub(crate) fn work(&self, time: Duration, runs: u32) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            seconds(&self.device, &self.read, runs)?;
        }
        Ok(())
    }

    /// Reads until so much time is over, and until each read is as short as any was.
    fn wake(&mut self, least: Duration) -> Result<()> {
        let runs = self.runs()?;
        if is_software(&self.device) {
            // It does not sleep, and other programs change its speed.
            return self.work(least, runs);
        }
        let (begun, worked) = (Instant::now(), self.worked);
        loop {
            let mut times = seconds(&self.device, &self.read, runs)?;
            times.sort_by(f64::total_cmp);
            let time = median(&times);
            self.shortest = self.shortest.min(time);
            let spent = begun.elapsed();
            self.worked = worked + spent;
            let is_awake = time <= AWAKE * self.shortest && self.worked >= KNOWN;
            if spent >= MOST_WAKING || (spent >= least && is_awake) {
                return Ok(());
            }
        }
    }

    /// How many times make a sample. The first time is slower.
    fn runs(&self) -> Result<u32> {
        seconds(&self.device, &self.read, 1)?;
        Ok(runs_of_sample(median(&seconds(&self.device, &self.read, 1)?)))
    }
}

/// Keeps a device at work until it is awake, before work on arrays of so many bytes is measured.
pub(crate) fn wake(device: &Device, bytes: u64) -> Result<()> {
    // What keeps each device busy, by its id: a program wakes one before each row.
    static ALL: LazyLock<Mutex<HashMap<String, Busy>>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let busy = match all.entry(device.id().to_owned()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(Busy::new(device, WAKING_BYTES)?),
    };
    busy.wake(warm_up(bytes))
}

fn runs_of_sample(seconds: f64) -> u32 {
    ((SAMPLE.as_secs_f64() / seconds.max(1e-9)) as u32).clamp(1, MOST_RUNS)
}

/// Seconds of one run of each of `count` pieces of work, `samples` times each, in turns, sorted. `seconds` gives those of so many
/// runs of one of them, one after another.
pub(crate) fn in_turns(
    count: usize,
    samples: usize,
    seconds: &mut dyn FnMut(usize, u32) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<f64>>> {
    let mut sample = |which: usize, runs: u32| {
        let mut times = seconds(which, runs)?;
        times.sort_by(f64::total_cmp);
        Ok(median(&times))
    };
    let mut runs = vec![1u32; count];
    for _ in 0..TRIALS {
        for (which, runs) in runs.iter_mut().enumerate() {
            *runs = runs_of_sample(sample(which, *runs)?);
        }
    }
    let mut found = vec![Vec::new(); count];
    for _ in 0..samples {
        for (which, times) in found.iter_mut().enumerate() {
            times.push(sample(which, runs[which])?);
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
    fn everything_has_its_turn() {
        let mut turns = Vec::new();
        let found = in_turns(2, 3, &mut |which, runs| {
            turns.push((which, runs));
            Ok(vec![[1e-3, 0.1][which]; runs as usize])
        });
        let found = found.expect("nothing fails");
        assert_eq!(found, [[1e-3; 3], [0.1; 3]]);
        assert_eq!(turns[turns.len() - 6..], [(0, 2), (1, 1)].repeat(3));
        assert_eq!(turns[..2], [(0, 1), (1, 1)], "how long a run takes is not known at first");
    }
}
