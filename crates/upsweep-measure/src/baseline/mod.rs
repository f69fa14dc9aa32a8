//! Programs that are kept with what they measured: is a later one as fast?
//!
//! A time says nothing beside one of another hour: clocks rise and fall, and others use the machine. So the program itself is kept,
//! and run again in turns with the new one.

mod saved;
mod sign_test;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::bench::Options;
use crate::csv_fields::quoted;
use crate::error::{Failure, Result};
use crate::signals::check_signals;
use crate::statistics::median;

use saved::Baseline;
pub use saved::check_name;
use sign_test::FEWEST;
pub use sign_test::{Ratio, Verdict};

/// The columns of a comparison.
pub const COLUMNS: &str = "device,op,dtype,n,strategy,kept_us,new_us,ratio,lower,upper,verdict";

/// Samples of each run of a program: fewer than a measurement has, since there are many runs.
const SAMPLES: &str = "5";

/// Keeps this program, which has measured all of this; in which folder.
///
/// # Errors
/// A name that is none, and files that cannot be written.
pub fn save(name: &str, options: &Options) -> Result<PathBuf> {
    Baseline::of(options)?.keep(name)
}

/// A row of a record, as far as it counts here.
#[derive(Deserialize)]
struct Row {
    device: String,
    op: String,
    dtype: String,
    n: String,
    strategy: String,
    median_us: Option<f64>,
    checked: String,
}

/// A row of a cell: its names as the new program gives them, and the times of both programs. A strategy that was left to the device
/// may be another in each, so rows are known by their place.
#[derive(Default)]
struct PairedTimes {
    names: [String; 5],
    times: [Vec<f64>; 2],
}

/// This program beside one that was kept.
pub struct Comparison {
    kept: Baseline,
    program: PathBuf,
    rounds: usize,
    threshold: f64,
}

impl Comparison {
    /// With the program that was kept under a name, in so many rounds; differences below `threshold` per cent do not matter.
    ///
    /// # Errors
    /// Too few rounds, a threshold that is none, and a name under which nothing is kept of the devices of this machine.
    pub fn new(name: &str, rounds: usize, threshold: f64) -> Result<Self> {
        if rounds < FEWEST {
            return Err(Failure::usage(format!(
                "of fewer than {FEWEST} rounds nothing can be said"
            )));
        }
        if !(0.0..=100.0).contains(&threshold) {
            return Err(Failure::usage("--threshold is between 0 and 100 per cent"));
        }
        let (kept, program) = Baseline::read(name)?;
        kept.check_devices(name)?;
        Ok(Self { kept, program, rounds, threshold })
    }

    /// The day on which the other program was kept, and its version.
    pub fn made(&self) -> &str {
        &self.kept.made
    }

    /// Runs both programs in turns on all that was measured then.
    ///
    /// # Errors
    /// Those of `tell`, and programs that fail.
    pub fn run(&self, tell: &mut dyn FnMut(&ComparedRow) -> Result<()>) -> Result<()> {
        let own = std::env::current_exe()
            .map_err(|why| Failure::file("find", Path::new("upsweep"), why))?;
        for cell in self.kept.cells() {
            for both in rounds([&self.program, &own], &cell, self.rounds)? {
                if let Some(compared) = ComparedRow::of(both, self.threshold / 100.0)? {
                    tell(&compared)?;
                }
            }
        }
        Ok(())
    }
}

/// Runs both programs in turns, and which of them is first in turns too.
fn rounds(programs: [&Path; 2], cell: &[String], rounds: usize) -> Result<Vec<PairedTimes>> {
    let mut all: Vec<PairedTimes> = Vec::new();
    for round in 0..rounds {
        for turn in 0..2 {
            check_signals()?;
            let which = (round + turn) % 2;
            let found = run(programs[which], cell)?;
            all.resize_with(all.len().max(found.len()), PairedTimes::default);
            for (both, row) in all.iter_mut().zip(found) {
                // What a device refuses takes no time.
                both.times[which].extend(row.median_us.filter(|_| row.checked == "ok"));
                both.names = [row.device, row.op, row.dtype, row.n, row.strategy];
            }
        }
    }
    Ok(all)
}

/// The rows of one run.
fn run(program: &Path, cell: &[String]) -> Result<Vec<Row>> {
    let mut command = Command::new(program);
    let ran = command.args(cell).args(["--samples", SAMPLES, "--csv", "-"]).output();
    let ran = ran.map_err(|why| Failure::file("run", program, why))?;
    let failed =
        |why: &str| Failure::usage(format!("'{}' {}: {why}", program.display(), cell.join(" ")));
    if !ran.status.success() {
        return Err(failed(String::from_utf8_lossy(&ran.stderr).trim()));
    }
    let rows = csv::Reader::from_reader(&ran.stdout[..]).into_deserialize().collect();
    let rows: std::result::Result<Vec<Row>, csv::Error> = rows;
    rows.map_err(|why| failed(&why.to_string()))
}

/// A row of a comparison.
pub struct ComparedRow {
    /// Device, primitive, types, number of items and strategy.
    pub names: [String; 5],
    /// The median of the kept program's times, in microseconds.
    pub kept_us: f64,
    /// That of this program's.
    pub new_us: f64,
    /// The times of this program in times of the kept one's.
    pub ratio: Ratio,
    /// What follows.
    pub verdict: Verdict,
}

impl ComparedRow {
    /// `None` of what neither program measures.
    fn of(PairedTimes { names, times }: PairedTimes, threshold: f64) -> Result<Option<Self>> {
        let [kept, new] = &times;
        if kept.is_empty() && new.is_empty() {
            return Ok(None);
        }
        let uneven = || {
            Failure::usage(format!(
                "of {} the kept program has {} times and this one {}",
                names.join(" "),
                kept.len(),
                new.len(),
            ))
        };
        let ratios = kept.iter().zip(new).map(|(kept, new)| new / kept).collect();
        let ratio = Ratio::of(ratios).filter(|_| kept.len() == new.len()).ok_or_else(uneven)?;
        let verdict = ratio.verdict(threshold);
        let [kept_us, new_us] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            median(&times)
        });
        Ok(Some(Self { names, kept_us, new_us, ratio, verdict }))
    }

    /// The line of a record.
    pub fn csv(&self) -> String {
        let Self { names, kept_us, new_us, ratio, verdict } = self;
        let names = names.each_ref().map(|name| quoted(name)).join(",");
        let Ratio { median, lower, upper } = ratio;
        format!("{names},{kept_us:.3},{new_us:.3},{median:.4},{lower:.4},{upper:.4},{verdict}")
    }
}
