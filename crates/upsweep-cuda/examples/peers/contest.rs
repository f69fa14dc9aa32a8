//! Engines that take turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use upsweep_core::{Element, Result};
use upsweep_cuda::{Gpu, Memory, Probe, Slice};

/// Bytes of the arrays whose slices are worked on: several times those of the second-level cache.
const POOL_BYTES: usize = 1 << 29;

/// Rounds of a contest for which no other number is asked, and the bytes that are moved in them at most.
const ROUNDS: f64 = 101.0;
const BYTES_OF_ENGINE: f64 = 2e10;
const FEWEST_ROUNDS: f64 = 11.0;

/// How long the device is kept busy before anything is measured, so that its clock is up.
const WARMUP: Duration = Duration::from_millis(30);

/// Long arrays, of which each turn takes another slice.
pub(crate) struct Pool {
    memory: Memory,
    items: usize,
}

impl Pool {
    /// Slices of which each holds these items.
    pub(crate) fn holding<T: Element>(gpu: &Arc<Gpu>, items: &[T]) -> Result<Self> {
        let memory = Memory::holding(gpu, &items.repeat(slices::<T>(items.len())))?;
        Ok(Self { memory, items: items.len() })
    }

    /// Slices for as many items.
    pub(crate) fn room<T: Element>(gpu: &Arc<Gpu>, items: usize) -> Result<Self> {
        Ok(Self { memory: Memory::new::<T>(gpu, slices::<T>(items) * items)?, items })
    }

    pub(crate) fn slice(&self, turn: usize) -> Slice<'_> {
        let slices = self.memory.len() / self.items;
        let begin = (turn % slices * self.items) as u64;
        let slice = self.memory.slice().part(begin..begin + self.items as u64);
        slice.expect("it is among them")
    }

    /// The same without its first items, so that it begins where no access of 16 bytes may.
    pub(crate) fn slice_from(&self, first: usize, turn: usize) -> Slice<'_> {
        let slice = self.slice(turn).part(first as u64..self.items as u64);
        slice.expect("it is among them")
    }
}

fn slices<T>(items: usize) -> usize {
    (POOL_BYTES / size_of::<T>() / items).max(1)
}

/// Something that is run, once for each turn.
pub(crate) struct Engine<'a> {
    pub(crate) name: String,
    pub(crate) run: Box<dyn FnMut(usize) -> Result<()> + 'a>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(name: &str, run: impl FnMut(usize) -> Result<()> + 'a) -> Self {
        Self { name: name.to_owned(), run: Box::new(run) }
    }
}

/// Middle and quartiles of each engine's device times in microseconds. The first engine is the limit.
pub(crate) fn hold(
    gpu: &Gpu,
    probe: &Probe,
    bytes: f64,
    engines: &mut [Engine<'_>],
) -> Result<Vec<[f64; 3]>> {
    let asked = std::env::var("ROUNDS").ok().and_then(|count| count.parse().ok());
    let rounds = asked.unwrap_or((BYTES_OF_ENGINE / bytes).clamp(FEWEST_ROUNDS, ROUNDS) as usize);
    let began = Instant::now();
    while began.elapsed() < WARMUP {
        (engines[0].run)(0)?;
        gpu.wait()?;
    }
    let mut times = vec![Vec::new(); engines.len()];
    let mut turn = 0;
    for round in 0..rounds {
        for place in 0..engines.len() {
            let which = (round + place) % engines.len();
            let engine = &mut engines[which];
            // Never the slice that was just worked on.
            turn += 1;
            let time = probe.time(gpu, gpu.stream(), || (engine.run)(turn))?;
            times[which].push(time.as_secs_f64() * 1e6);
        }
    }
    Ok(times.into_iter().map(middle_and_quartiles).collect())
}

/// The mean of the middle half, and the first and third quartile, between which that lies. A median would fall on the ticks of
/// the device's clock, which are 0.2 us apart on an H200: as much as small jobs differ by.
pub(crate) fn middle_and_quartiles(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    let quartile = |quarter: usize| (times.len() - 1) * quarter / 4;
    let half = &times[quartile(1)..=quartile(3)];
    [half.iter().sum::<f64>() / half.len() as f64, times[quartile(1)], times[quartile(3)]]
}
