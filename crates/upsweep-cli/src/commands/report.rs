//! `upsweep report`: measures or reads, then writes the page.

use std::fs;
use std::io::Write;
use std::path::Path;

use upsweep_measure::Failure::Mismatch;
use upsweep_measure::report::{self, Page};
use upsweep_measure::signals::watch_signals;

use crate::args::ReportArguments;
use crate::error::{Failure, Result};
use crate::output::{NewFile, Target};
use crate::record::print;

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
    let (title, names) = (arguments.title.clone(), &arguments.names);
    let (page, wrong) = if arguments.from.is_empty() {
        let measured = report::measure(&report::Options {
            devices: arguments.device.clone(),
            lengths: arguments.n.0.clone(),
            budget: arguments.budget,
        })?;
        if let Some(folder) = &arguments.save {
            for (name, text) in measured.records() {
                write(&folder.join(name), text)?;
            }
        }
        (measured.page(title, names)?, measured.wrong())
    } else {
        (Page::of_records(&arguments.from, title, names)?, 0)
    };
    if let Some(folder) = &arguments.figures {
        for (name, figure) in page.figures() {
            write(&folder.join(format!("{name}.svg")), figure.as_bytes())?;
        }
    }
    let html = page.html()?;
    match &target {
        Target::File(path) => write_as(path, &arguments.output, html.as_bytes())?,
        Target::Stream(_) | Target::Stdout => {
            let mut stream = target.open_stream()?;
            let written = stream.write_all(html.as_bytes()).and_then(|()| stream.flush());
            written.map_err(|error| Failure::file("write", target.path(), error))?;
        }
    }
    if !matches!(target, Target::Stdout) {
        print(&format!("report of {}: {}\n", page.title(), arguments.output.display()))?;
    }
    if wrong > 0 { Err(Mismatch(wrong).into()) } else { Ok(()) }
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
