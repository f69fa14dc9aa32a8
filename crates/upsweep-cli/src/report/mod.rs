//! `upsweep report`: one page with the figures of a machine.
//!
//! Four things are kept apart: rows (`data.rs`), which are those of the records of `bench`, `tune` and `ladder`; what measures
//! them (`measure.rs`, and `host.rs` for calls with items of the host); figures made of them (`figures/`, drawn by `plot/`); and
//! the page (`page.rs`). A page that was measured goes through the same text as one that is made from files, so both are alike.

mod best;
mod contest;
mod data;
mod figures;
mod host;
mod measure;
mod page;
mod plot;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use time::OffsetDateTime;

use crate::args::ReportArguments;
use crate::error::{Failure, Result};
use crate::output::{NewFile, Target};
use crate::progress::watch_signals;

use data::Data;
use figures::Names;
use page::About;

/// Measures or reads, then writes the page.
pub(crate) fn run(arguments: &ReportArguments) -> Result<()> {
    // What cannot be written is known before anything is measured.
    let target = Target::of(&arguments.output)?;
    if let Target::File(path) = &target {
        drop(NewFile::create(path, &arguments.output)?);
    }
    for folder in arguments.save.iter().chain(&arguments.figures) {
        fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, error))?;
    }
    watch_signals()?;
    let date = OffsetDateTime::now_utc().date();
    let version = env!("CARGO_PKG_VERSION");
    let (data, mut about, wrong) = if arguments.from.is_empty() {
        let measured = measure::all(arguments)?;
        if let Some(folder) = &arguments.save {
            for (name, text) in measured.records() {
                write(&folder.join(name), text)?;
            }
        }
        let title = arguments.title.clone().unwrap_or_else(|| measured.machine());
        let about = About {
            title,
            origin: format!("measured on {date} by upsweep {version}"),
            how: measured.how(),
            commands: measured.commands.clone(),
            names: measured.names.clone(),
        };
        (measured.data()?, about, measured.wrong)
    } else {
        let mut data = Data::default();
        for path in &arguments.from {
            data.read(path)?;
        }
        let files: Vec<String> =
            arguments.from.iter().map(|path| path.display().to_string()).collect();
        let command = format!("upsweep report --from {}", files.join(","));
        let about = About {
            title: arguments.title.clone().unwrap_or_else(|| "recorded measurements".to_owned()),
            origin: format!("made on {date} by upsweep {version}"),
            how: format!("The rows are those of {}, as they were recorded.", files.join(", ")),
            commands: vec![command],
            names: Names::new(),
        };
        (data, about, 0)
    };
    about.names.extend(arguments.names.iter().cloned());
    if data.is_empty() {
        return Err(Failure::usage("there is no row to show"));
    }
    let parts = figures::all(&data, &about.names);
    if let Some(folder) = &arguments.figures {
        for figure in parts.iter().flat_map(|part| &part.figures) {
            let path = folder.join(format!("{}.svg", figure.name));
            write(&path, plot::standalone(figure).as_bytes())?;
        }
    }
    let page = page::page(&data, &about, &parts)?;
    match &target {
        Target::File(path) => write_as(path, &arguments.output, page.as_bytes())?,
        Target::Stream(_) | Target::Stdout => {
            let mut stream = target.open_stream()?;
            let written = stream.write_all(page.as_bytes()).and_then(|()| stream.flush());
            written.map_err(|error| Failure::file("write", target.path(), error))?;
        }
    }
    if !matches!(target, Target::Stdout) {
        let said = format!("report of {}: {}\n", about.title, arguments.output.display());
        io::stdout().write_all(said.as_bytes()).map_err(Failure::stdout)?;
    }
    if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) }
}

/// Writes a file that appears whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_as(path, path, bytes)
}

fn write_as(path: &Path, shown: &Path, bytes: &[u8]) -> Result<()> {
    let file = NewFile::create(path, shown)?;
    file.file().write_all(bytes).map_err(|error| Failure::file("write", shown, error))?;
    file.finish()
}
