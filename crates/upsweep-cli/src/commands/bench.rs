//! `upsweep bench`: rows as they are measured, for people and for programs.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use upsweep_measure::baseline::{self, Comparison, Verdict};
use upsweep_measure::bench::{self, Bench, Columns, Row, feeding};
use upsweep_measure::signals::watch_signals;
use upsweep_measure::{Failure, Result};

use crate::args::{BenchArguments, GuardArguments};
use crate::record::{Record, print};
use crate::tables;

/// Columns of a strategy's name: of a GPU's, and of a CPU's or of a way to hand over sums.
const GPU_WIDTH: usize = 48;
const WIDTH: usize = 18;

/// Measures everything that was asked for, or compares it with a program that was kept.
pub(crate) fn run(arguments: &BenchArguments) -> Result<()> {
    if let Some(name) = &arguments.guard.compare {
        return compare(arguments, name, &arguments.guard);
    }
    if let Some(lengths) = &arguments.feeding {
        let mut report = Report::new(arguments, WIDTH, Columns::Plain)?;
        let (devices, samples) = (&arguments.device, arguments.samples.get());
        let wrong = feeding::measure(devices, &lengths.0, samples, &mut |row| report.row(row))?;
        report.record.finish()?;
        return if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) };
    }
    arguments.guard.save.as_deref().map_or(Ok(()), baseline::check_name)?;
    let options = options(arguments);
    let bench = Bench::new(&options)?;
    // Rows have no strategies of a GPU's.
    let width = if bench.has_gpus() && arguments.rows.is_none() { GPU_WIDTH } else { WIDTH };
    arguments.rows.as_ref().map_or(Ok(()), |lengths| bench.check_rows(&lengths.0))?;
    let columns = if arguments.rows.is_some() { Columns::Rows } else { bench.columns() };
    let mut report = Report::new(arguments, width, columns)?;
    let tell = &mut |row: &Row<'_>| report.row(row);
    let wrong = match &arguments.rows {
        Some(lengths) => bench.run_rows(&lengths.0, tell)?,
        None => bench.run(tell)?,
    };
    report.record.finish()?;
    if wrong > 0 {
        return Err(Failure::Mismatch(wrong));
    }
    let Some(name) = &arguments.guard.save else { return Ok(()) };
    let folder = baseline::save(name, &options)?;
    eprint(&format!("kept as '{name}': {}", folder.display()))
}

fn options(arguments: &BenchArguments) -> bench::Options {
    bench::Options {
        primitives: arguments.op.0.clone(),
        operator: arguments.operator,
        dtypes: arguments.dtype.0.clone(),
        acc: arguments.acc,
        lengths: arguments.n.0.clone(),
        devices: arguments.device.clone(),
        strategies: arguments.strategy.clone(),
        instruction_sets: arguments.isa.as_ref().map(|sets| sets.0.clone()),
        threads: arguments.threads.map(NonZeroUsize::get),
        samples: arguments.samples.get(),
        profile: arguments.profile,
        energy: arguments.energy.energy,
    }
}

/// Where rows go, one by one as they are measured: a record, and a table on standard output unless that is where the record is.
struct Report {
    record: Record,
    columns: Columns,
    table: tables::bench::Table,
}

impl Report {
    fn new(arguments: &BenchArguments, width: usize, columns: Columns) -> Result<Self> {
        let mut record = Record::create(arguments.csv.as_deref())?;
        record.line(&columns.heading())?;
        Ok(Self { record, columns, table: tables::bench::Table::new(width, columns) })
    }

    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        for line in row.csv(self.columns) {
            self.record.line(&line)?;
        }
        if self.record.is_table { print(&self.table.row(row)) } else { Ok(()) }
    }
}

/// Compares this program with one that was kept.
fn compare(arguments: &BenchArguments, name: &str, guard: &GuardArguments) -> Result<()> {
    let comparison = Comparison::new(name, guard.rounds, guard.threshold)?;
    watch_signals()?;
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(baseline::COLUMNS)?;
    if record.is_table {
        let (made, rounds) = (comparison.made(), guard.rounds);
        let heading = tables::compare::heading();
        print(&format!("compared with '{name}', {made}; medians of {rounds} rounds\n{heading}"))?;
    }
    let mut slower = 0;
    comparison.run(&mut |compared| {
        slower += usize::from(compared.verdict == Verdict::Slower);
        record.line(&compared.csv())?;
        if record.is_table { print(&tables::compare::line(compared)) } else { Ok(()) }
    })?;
    record.finish()?;
    if slower > 0 { Err(Failure::Slower(slower)) } else { Ok(()) }
}

fn eprint(line: &str) -> Result<()> {
    writeln!(io::stderr(), "{line}")
        .map_err(|why| Failure::file("write", Path::new("standard error"), why))
}
