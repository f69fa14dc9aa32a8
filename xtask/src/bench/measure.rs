//! Turns and statistics.
//!
//! Every engine's result is compared with the reference first; that is also the call that wakes
//! threads and faults pages in. Then come rounds: in each, every engine takes one turn, in
//! shuffled order, so that a change of the machine's speed meets all alike. A turn is a batch of
//! calls of a few milliseconds, and gives one sample. A round in which other programs used the
//! processor is done again, a limited number of times.

use super::definition::{Cell, Moves, Threads};
use super::machine::{Load, available_bytes};
use super::worker::Worker;
use crate::shell::Result;

/// Seconds that a batch takes at least.
const BATCH: f64 = 2.5e-3;

/// Most calls of a batch.
const CALLS: u64 = 1 << 20;

/// An engine that was right, and its samples.
pub(super) struct Engine {
    pub(super) name: String,
    pub(super) threads: usize,
    /// Seconds per call, from the fastest to the slowest.
    pub(super) samples: Vec<f64>,
}

/// What came out for a cell.
pub(super) struct Measured {
    pub(super) cell: Cell,
    pub(super) engines: Vec<Engine>,
    /// Engines whose result was not right, and what it was. Their time is not taken.
    pub(super) wrong: Vec<(String, String)>,
    /// Rounds that count although other programs ran.
    pub(super) disturbed: usize,
    /// Why the cell was left out.
    pub(super) left_out: Option<String>,
}

impl Engine {
    pub(super) fn is_limit(&self) -> bool {
        self.name.starts_with("limit.")
    }

    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with("upsweep")
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The sample below which this part of all samples lies, between two of them in proportion.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let position = part * (self.samples.len() - 1) as f64;
        let (low, high) = (position.floor(), position.ceil());
        let (below, above) = (self.samples[low as usize], self.samples[high as usize]);
        below + (above - below) * (position - low)
    }
}

impl Measured {
    /// The physical limit: the fastest way to move the bytes.
    pub(super) fn limit(&self) -> Option<&Engine> {
        fastest(self.engines.iter().filter(|engine| engine.is_limit()))
    }

    /// The fastest engine that is neither ours nor a limit.
    pub(super) fn best_peer(&self) -> Option<&Engine> {
        fastest(self.engines.iter().filter(|engine| !engine.is_limit() && !engine.is_ours()))
    }

    /// Ours, as the cell asks for it.
    pub(super) fn ours(&self) -> Option<&Engine> {
        let name = match self.cell.threads {
            Threads::One => "upsweep.simd",
            Threads::All => "upsweep",
        };
        self.engines.iter().find(|engine| engine.name == name)
    }

    pub(super) fn gbps(&self, engine: &Engine) -> f64 {
        self.cell.bytes() as f64 / engine.median() / 1e9
    }
}

fn fastest<'a>(engines: impl Iterator<Item = &'a Engine>) -> Option<&'a Engine> {
    engines.min_by(|a, b| a.median().total_cmp(&b.median()))
}

/// An engine that takes turns.
struct Turn {
    worker: usize,
    engine: String,
    calls: u64,
    into: Engine,
}

/// Measures a cell. The first worker holds the reference.
pub(super) fn cell(workers: &mut [Worker], cell: &Cell, rounds: usize) -> Result<Measured> {
    let mut measured = Measured {
        cell: cell.clone(),
        engines: Vec::new(),
        wrong: Vec::new(),
        disturbed: 0,
        left_out: lacks_memory(workers.len() as u64, cell)?,
    };
    if measured.left_out.is_some() {
        return Ok(measured);
    }
    let mut turns = Vec::new();
    for (index, worker) in workers.iter_mut().enumerate() {
        for (engine, threads) in worker.prepare(cell)? {
            if cell.threads == Threads::All || threads == 1 {
                let into = Engine { name: worker.label(&engine), threads, samples: Vec::new() };
                turns.push(Turn { worker: index, engine, calls: 1, into });
            }
        }
    }
    let expected = Ok(workers[0].expect()?);
    let mut right = Vec::new();
    for mut turn in turns {
        let worker = &mut workers[turn.worker];
        let found = worker.check(&turn.engine)?;
        if turn.into.is_limit() || found == expected {
            turn.calls = calls_of_a_batch(worker, &turn.engine)?;
            right.push(turn);
        } else {
            let why = found.map_or_else(|why| why, |_| "not the right result".to_owned());
            measured.wrong.push((turn.into.name, why));
        }
    }
    measured.disturbed = take_turns(workers, &mut right, rounds)?;
    for worker in workers {
        worker.free()?;
    }
    measured.engines = right.into_iter().map(|turn| turn.into).collect();
    for engine in &mut measured.engines {
        engine.samples.sort_by(f64::total_cmp);
    }
    Ok(measured)
}

/// Every worker holds the input, with a copy also the output; checks need the input once more.
fn lacks_memory(workers: u64, cell: &Cell) -> Result<Option<String>> {
    let array = cell.bytes() / if cell.moves == Moves::Copy { 2 } else { 1 };
    let needed = (workers * cell.bytes() + 2 * array) / 20 * 21;
    let available = available_bytes()?;
    Ok((needed > available)
        .then(|| format!("needs {} MiB of memory, {} are free", needed >> 20, available >> 20)))
}

fn calls_of_a_batch(worker: &mut Worker, engine: &str) -> Result<u64> {
    let mut calls = 1;
    loop {
        let seconds = worker.run(engine, calls)?;
        if seconds > BATCH / 8.0 || calls >= CALLS {
            let wanted = (BATCH / seconds * calls as f64).ceil();
            return Ok((wanted as u64).clamp(1, CALLS));
        }
        calls *= 8;
    }
}

/// Takes all rounds; returns how many of them were disturbed.
fn take_turns(workers: &mut [Worker], turns: &mut [Turn], rounds: usize) -> Result<usize> {
    let mut processes: Vec<u32> = workers.iter().map(Worker::process).collect();
    processes.push(std::process::id());
    let mut order = Shuffle::new();
    let (mut taken, mut disturbed, mut again) = (0, 0, rounds);
    while taken < rounds {
        order.shuffle(turns);
        let before = Load::now(&processes)?;
        for turn in turns.iter_mut() {
            let seconds = workers[turn.worker].run(&turn.engine, turn.calls)?;
            turn.into.samples.push(seconds / turn.calls as f64);
        }
        if !Load::now(&processes)?.foreign_since(&before) {
            taken += 1;
        } else if again > 0 {
            again -= 1;
            for turn in turns.iter_mut() {
                turn.into.samples.pop();
            }
        } else {
            taken += 1;
            disturbed += 1;
        }
    }
    Ok(disturbed)
}

/// Fisher and Yates's shuffle, with the numbers of Marsaglia's xorshift.
struct Shuffle(u64);

impl Shuffle {
    fn new() -> Self {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
        Self(now.map_or(1, |time| time.as_nanos() as u64) | 1)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            items.swap(last, (self.0 % (last as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_samples() {
        let samples = vec![1.0, 2.0, 3.0, 5.0];
        let engine = Engine { name: "numpy".into(), threads: 1, samples };
        assert_eq!(engine.median(), 2.5);
        assert_eq!(engine.quantile(0.25), 1.75);
        assert_eq!((engine.quantile(0.0), engine.quantile(1.0)), (1.0, 5.0));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Shuffle::new().shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..100));
    }
}
