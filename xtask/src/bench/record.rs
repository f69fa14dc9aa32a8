//! Records: one file of samples for programs and one of figures for people, per machine and day.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::Run;
use super::definition::Threads;
use super::figures;
use super::machine::Machine;
use super::measure::{Engine, Measured};
use super::memory::Missing;
use crate::shell::{Result, root};

/// Writes `benches/record/DEVICE/DATE.csv` and the `.md` beside it.
pub(super) fn write(run: &Run, machine: &Machine) -> Result<()> {
    let folder = root().join("benches/record").join(&machine.device);
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(say)?;
    let save = |ending: &str, text: String| -> Result<()> {
        let path = folder.join(format!("{}{ending}", machine.date));
        fs::write(&path, text).map_err(say)?;
        println!("wrote {}", path.strip_prefix(root()).unwrap_or(Path::new(&path)).display());
        Ok(())
    };
    save(".csv", rows(run, machine))?;
    save("-memory.csv", memory_rows(run, machine))?;
    save(".md", page(run, machine))
}

fn rows(run: &Run, machine: &Machine) -> String {
    let mut text = String::from(
        "device,op,dtype,acc,n,cell_threads,engine,threads,median_us,min_us,q1_us,q3_us,max_us,\
         samples,disturbed,gbps,limit_gbps,pct_of_limit,checked\n",
    );
    for measured in run.figures.iter().flat_map(|(_, cells)| cells) {
        let limit = measured.limit().map(|limit| measured.gbps(limit));
        for engine in &measured.engines {
            let _ = writeln!(text, "{}", row(machine, measured, engine, limit));
        }
        for (name, why) in &measured.wrong {
            let why = why.replace(',', ";");
            let _ = writeln!(text, "{}{name},,,,,,,0,,,,,{why}", start(machine, measured));
        }
    }
    text
}

fn start(machine: &Machine, measured: &Measured) -> String {
    let cell = &measured.cell;
    let threads = if cell.threads == Threads::One { "one" } else { "all" };
    let (op, dtype, acc, items) = (&cell.op, &cell.dtype, &cell.acc, cell.items);
    format!("{},{op},{dtype},{acc},{items},{threads},", machine.device)
}

fn row(machine: &Machine, measured: &Measured, engine: &Engine, limit: Option<f64>) -> String {
    let mut row = start(machine, measured);
    let gbps = measured.gbps(engine);
    let _ = write!(row, "{},{}", engine.name, engine.threads);
    for part in [0.5, 0.0, 0.25, 0.75, 1.0] {
        let _ = write!(row, ",{:.4}", engine.quantile(part) * 1e6);
    }
    let _ = write!(row, ",{},{},{gbps:.3}", engine.samples.len(), measured.disturbed);
    let checked = if engine.is_limit() { "limit" } else { "ok" };
    let _ = match limit {
        Some(limit) => write!(row, ",{limit:.3},{:.2},{checked}", 100.0 * gbps / limit),
        None => write!(row, ",,,{checked}"),
    };
    row
}

fn memory_rows(run: &Run, machine: &Machine) -> String {
    let mut text = String::from("device,command,file_bytes,peak_anonymous_bytes,seconds,checked\n");
    for peak in &run.memory {
        let _ = write!(text, "{},upsweep {},{},", machine.device, peak.command, peak.file_bytes);
        let _ = match &peak.outcome {
            Ok((bytes, seconds)) => writeln!(text, "{bytes},{seconds:.3},ok"),
            Err(Missing::LeftOut(why) | Missing::Failed(why)) => {
                writeln!(text, ",,{}", why.replace(',', ";"))
            }
        };
    }
    text
}

fn page(run: &Run, machine: &Machine) -> String {
    let mut text = format!("# {}, {}\n\n", machine.device, machine.date);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        text,
        "Written by `cargo xtask {}`; every engine's row is in the `.csv` beside this page, and \
         `benches/README.md` says how it is measured.\n",
        arguments.join(" ")
    );
    text.push_str("| | |\n|---|---|\n");
    for (name, value) in &machine.properties {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    let _ = writeln!(text, "\n## Figures\n\n{}", figures::table(run));
    let measured = || run.figures.iter().flat_map(|(_, cells)| cells);
    if measured().any(|measured| !measured.wrong.is_empty()) {
        text.push_str("## Results that were not right\n\nTheir times were not taken.\n\n");
        for measured in measured() {
            for (name, why) in &measured.wrong {
                let _ = writeln!(text, "- {} {name}: {why}", measured.cell);
            }
        }
        text.push('\n');
    }
    let disturbed: Vec<_> = measured().filter(|measured| measured.disturbed > 0).collect();
    if !disturbed.is_empty() {
        text.push_str("## Cells in which other programs ran\n\n");
        for measured in disturbed {
            let _ = writeln!(text, "- {}: {} rounds", measured.cell, measured.disturbed);
        }
    }
    text
}
