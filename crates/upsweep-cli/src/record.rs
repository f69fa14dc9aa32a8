//! Lines for programs, and tables for people on standard output unless the lines go there.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use upsweep_measure::{Failure, Result};

/// Lines for programs, if a file was named for them.
pub(crate) struct Record {
    /// Where they go, and its name in messages.
    file: Option<(Box<dyn Write>, String)>,
    /// Whether people read standard output, and not programs.
    pub(crate) is_table: bool,
}

impl Record {
    /// A record in this file, or with `-` on standard output, which then has no table; without a file, none.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { file: None, is_table: true });
        };
        let is_table = path != Path::new("-");
        let writer: Box<dyn Write> = if is_table {
            Box::new(File::create(path).map_err(|error| Failure::file("write", path, error))?)
        } else {
            Box::new(io::stdout())
        };
        Ok(Self { file: Some((writer, path.display().to_string())), is_table })
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        self.write(|writer| writer.write_all(format!("{line}\n").as_bytes()))
    }

    /// Everything is there.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.write(|writer| writer.flush())
    }

    fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let Some((writer, name)) = &mut self.file else { return Ok(()) };
        write(writer).map_err(|error| Failure::file("write", Path::new(name), error))
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)
}
