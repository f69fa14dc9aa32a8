//! `upsweep bench --save` and `--compare`: is this program as fast as that one was?
//!
//! A time says nothing beside one of another hour: clocks rise and fall, and others use the machine. So the program itself is kept,
//! and run again in turns with the new one.

mod kept;
mod verdict;

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::measure::median;
use super::report::{Record, quoted};
use crate::args::{BenchArguments, GuardArguments};
use crate::error::{Failure, Result};
use crate::progress::{check_signals, watch_signals};

use kept::Kept;
pub(super) use kept::check_name;
use verdict::{FEWEST, Ratio, Verdict};

/// The columns of a comparison.
const COLUMNS: &str = "device,op,dtype,n,strategy,kept_us,new_us,ratio,lower,upper,verdict";

/// Samples of each run of a program: fewer than a measurement has, since there are many runs.
const SAMPLES: &str = "5";

/// Keeps this program, which has measured all of this.
pub(super) fn save(name: &str, arguments: &BenchArguments) -> Result<()> {
    let folder = Kept::of(arguments)?.keep(name)?;
    log_to_people(&format!("kept as '{name}': {}", folder.display()))
}

fn log_to_people(line: &str) -> Result<()> {
    writeln!(io::stderr(), "{line}")
        .map_err(|why| Failure::file("write", Path::new("standard error"), why))
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
struct Both {
    names: [String; 5],
    times: [Vec<f64>; 2],
}

/// Compares this program with one that was kept.
pub(super) fn compare(name: &str, guard: &GuardArguments, csv: Option<&Path>) -> Result<()> {
    if guard.rounds < FEWEST {
        return Err(Failure::usage(format!("of fewer than {FEWEST} rounds nothing can be said")));
    }
    if !(0.0..=100.0).contains(&guard.threshold) {
        return Err(Failure::usage("--threshold is between 0 and 100 per cent"));
    }
    let (kept, program) = Kept::read(name)?;
    kept.check_devices(name)?;
    watch_signals()?;
    let own =
        std::env::current_exe().map_err(|why| Failure::file("find", Path::new("upsweep"), why))?;
    let mut record = Record::create(csv)?;
    record.line(COLUMNS)?;
    let mut slower = 0;
    if record.is_table {
        print(&format!(
            "compared with '{name}', {}; medians of {} rounds\n{}",
            kept.made,
            guard.rounds,
            head()
        ))?;
    }
    for cell in kept.cells() {
        for both in rounds([&program, &own], &cell, guard.rounds)? {
            let Some(compared) = Compared::of(both, guard.threshold / 100.0)? else { continue };
            slower += usize::from(compared.verdict == Verdict::Slower);
            record.line(&compared.csv())?;
            if record.is_table {
                print(&compared.text())?;
            }
        }
    }
    record.finish()?;
    if slower > 0 { Err(Failure::Slower(slower)) } else { Ok(()) }
}

fn print(text: &str) -> Result<()> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)
}

/// Runs both programs in turns, and which of them is first in turns too.
fn rounds(programs: [&Path; 2], cell: &[String], rounds: usize) -> Result<Vec<Both>> {
    let mut all: Vec<Both> = Vec::new();
    for round in 0..rounds {
        for turn in 0..2 {
            check_signals()?;
            let which = (round + turn) % 2;
            let found = run(programs[which], cell)?;
            all.resize_with(all.len().max(found.len()), Both::default);
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
struct Compared {
    names: [String; 5],
    kept_us: f64,
    new_us: f64,
    ratio: Ratio,
    verdict: Verdict,
}

impl Compared {
    /// `None` of what neither program measures.
    fn of(Both { names, times }: Both, threshold: f64) -> Result<Option<Self>> {
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

    fn csv(&self) -> String {
        let Self { names, kept_us, new_us, ratio, verdict } = self;
        let names = names.each_ref().map(|name| quoted(name)).join(",");
        let Ratio { median, lower, upper } = ratio;
        format!("{names},{kept_us:.3},{new_us:.3},{median:.4},{lower:.4},{upper:.4},{verdict}")
    }

    fn text(&self) -> String {
        let Self { names: [device, op, dtype, n, strategy], kept_us, new_us, ratio, verdict } =
            self;
        let Ratio { median, lower, upper } = ratio;
        format!(
            "{device:<8} {op:<18} {dtype:<9} {n:>11} {strategy:<48} {kept_us:>12.3} {new_us:>12.3} {median:>7.3} {:>15}  {verdict}\n",
            format!("{lower:.3} to {upper:.3}"),
        )
    }
}

fn head() -> String {
    format!(
        "{:<8} {:<18} {:<9} {:>11} {:<48} {:>12} {:>12} {:>7} {:>15}  this program is\n",
        "device", "op", "dtype", "n", "strategy", "kept µs", "new µs", "ratio", "of 95 in 100",
    )
}
