//! Both programs in turns, row by row and round by round.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::args::BenchArguments;
use crate::bench::measure::median;
use crate::bench::report::{Record, quoted};
use crate::error::{Failure, Result};

use super::Name;
use super::interval::{Interval, Verdict};
use super::kept::{self, KeptRow};

/// The columns of a record.
const COLUMNS: &str =
    "device,op,dtype,n,strategy,old_us,new_us,ratio,lower,upper,rounds,verdict,note";

/// What a program said of a row.
#[derive(Deserialize)]
struct Said {
    strategy: String,
    median_us: Option<f64>,
    checked: String,
}

/// A row, compared.
struct Compared {
    /// Microseconds of the old program and of the new, and the ratio; nothing if one of them fails.
    numbers: Option<([f64; 2], Interval)>,
    rounds: usize,
    note: String,
}

/// Compares this program with what was kept under a name.
pub(crate) fn run(arguments: &BenchArguments, name: &Name) -> Result<()> {
    let guard = &arguments.guard;
    let (kept, program) = kept::read(name)?;
    let wanted = |row: &&KeptRow| {
        guard.only.is_empty() || guard.only.iter().any(|word| row.name().contains(word.trim()))
    };
    let rows: Vec<&KeptRow> = kept.rows.iter().filter(wanted).collect();
    if rows.is_empty() {
        return Err(Failure::usage(format!(
            "none of the {} rows of '{}' has such a name; they are like {}",
            kept.rows.len(),
            name.as_str(),
            kept.rows.first().map(KeptRow::name).unwrap_or_default(),
        )));
    }
    kept::check_devices(name, &kept, &rows)?;
    let this = kept::this_program()?;
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let mut slower = 0;
    for (i, row) in rows.into_iter().enumerate() {
        let compared =
            compared(row, [&program, &this], guard.rounds.get(), arguments.samples.get())?;
        let verdict = compared.numbers.map(|(_, ratio)| ratio.verdict(guard.threshold.0));
        slower += usize::from(!matches!(
            verdict,
            Some(Verdict::Faster | Verdict::Same | Verdict::Unclear)
        ));
        let verdict = verdict.map_or("fails".to_owned(), |verdict| verdict.to_string());
        record.line(&line(row, &compared, &verdict))?;
        if record.is_table && i == 0 {
            say(&heading())?;
        }
        if record.is_table {
            say(&table_line(row, &compared, &verdict))?;
        }
    }
    record.finish()?;
    if slower > 0 {
        Err(Failure::Slower { rows: slower, name: name.as_str().into() })
    } else {
        Ok(())
    }
}

/// Measures a row with both programs, each of which goes first in every other round.
fn compared(
    row: &KeptRow,
    programs: [&Path; 2],
    rounds: usize,
    samples: usize,
) -> Result<Compared> {
    let mut times = [Vec::new(), Vec::new()];
    let mut strategies = [String::new(), String::new()];
    for round in 0..rounds {
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let said = said(programs[which], row, samples)?;
            let Some(time) = said.median_us else {
                let whose = ["the kept program", "this program"][which];
                let note = format!("{whose}: {}", said.checked);
                return Ok(Compared { numbers: None, rounds: round, note });
            };
            times[which].push(time);
            strategies[which] = said.strategy;
        }
    }
    let ratios: Vec<f64> = times[0].iter().zip(&times[1]).map(|(old, new)| new / old).collect();
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    let [before, after] = strategies;
    let note = if before == after { after } else { format!("{after}, before {before}") };
    let medians = [median(&times[0]), median(&times[1])];
    Ok(Compared { numbers: Some((medians, Interval::of(&ratios))), rounds, note })
}

/// Lets a program measure a row.
fn said(program: &Path, row: &KeptRow, samples: usize) -> Result<Said> {
    let mut command = Command::new(program);
    command.arg("bench").args(row.options()).args([
        "--samples",
        &samples.to_string(),
        "--csv",
        "-",
    ]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Failure::file("run", program, error))?;
    // 1 is a wrong result, of which the row says more.
    if !matches!(output.status.code(), Some(0 | 1)) {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.trim().trim_start_matches("upsweep: ");
        return Err(Failure::usage(format!(
            "'{}' cannot measure {}: {}",
            program.display(),
            row.name(),
            if message.is_empty() { output.status.to_string() } else { message.to_owned() },
        )));
    }
    let mut lines = csv::Reader::from_reader(&output.stdout[..]).into_deserialize();
    let line = lines.next().transpose().map_err(|error| error.to_string());
    line.and_then(|line| line.ok_or("it has no row".to_owned())).map_err(|why| {
        Failure::usage(format!("'{}' wrote no record of {}: {why}", program.display(), row.name()))
    })
}

/// The words of a row.
fn words(row: &KeptRow) -> [String; 5] {
    let [op, dtype] = row.shown.clone();
    let strategy = match &row.isa {
        Some(isa) => format!("{}/{isa}", row.strategy),
        None => row.strategy.clone(),
    };
    [row.device.clone(), op, dtype, row.n.to_string(), strategy]
}

/// The five numbers; empty where there is none.
fn numbers(compared: &Compared) -> [String; 5] {
    let Some(([old, new], ratio)) = compared.numbers else {
        return Default::default();
    };
    let end =
        |end: f64| if end > 0.0 && end.is_finite() { format!("{end:.4}") } else { String::new() };
    [
        format!("{old:.3}"),
        format!("{new:.3}"),
        format!("{:.4}", ratio.estimate),
        end(ratio.lower),
        end(ratio.upper),
    ]
}

fn line(row: &KeptRow, compared: &Compared, verdict: &str) -> String {
    let mut fields: Vec<String> = words(row).iter().map(|word| quoted(word)).collect();
    fields.extend(numbers(compared));
    fields.extend([compared.rounds.to_string(), verdict.to_owned(), quoted(&compared.note)]);
    fields.join(",")
}

fn heading() -> String {
    format!(
        "{:<8} {:<18} {:<9} {:>11} {:<14} {:>12} {:>12} {:>7}  {:<17} {:<16}  strategy taken\n",
        "device",
        "op",
        "dtype",
        "n",
        "strategy",
        "old µs",
        "new µs",
        "ratio",
        "from, to",
        "verdict",
    )
}

fn table_line(row: &KeptRow, compared: &Compared, verdict: &str) -> String {
    let [device, op, dtype, n, strategy] = words(row);
    let [old, new, ratio, lower, upper] = numbers(compared);
    let interval = if lower.is_empty() { String::new() } else { format!("{lower}, {upper}") };
    format!(
        "{device:<8} {op:<18} {dtype:<9} {n:>11} {strategy:<14} {old:>12} {new:>12} {ratio:>7}  \
         {interval:<17} {verdict:<16}  {}\n",
        compared.note,
    )
}

fn say(text: &str) -> Result<()> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)
}
