//! Bytes whose number is not known before the last has come: kept in memory while they are few,
//! in a file without a name when they are many.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::error::{Failure, Result};

/// Bytes that are kept in memory.
const IN_MEMORY: usize = 32 << 20;

/// Bytes that have come so far.
pub(crate) struct Spool {
    memory: Vec<u8>,
    /// Everything in front of `memory`; disappears with the program.
    file: Option<File>,
}

/// All the bytes.
pub(crate) enum Spooled {
    Memory(Vec<u8>),
    File(File),
}

impl Spool {
    /// No bytes.
    pub(crate) fn new() -> Self {
        Self { memory: Vec::new(), file: None }
    }

    /// Adds bytes at the end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.memory.len() + bytes.len() > IN_MEMORY {
            self.spill()?;
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds everything that `input` has.
    pub(crate) fn read_from(&mut self, mut input: impl Read, path: &Path) -> Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => self.write(&buffer[..read])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::file("read", path, error)),
            }
        }
    }

    fn spill(&mut self) -> Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => unnamed_file()?,
        };
        file.write_all(&self.memory)
            .map_err(|e| Failure::file("write", &std::env::temp_dir(), e))?;
        self.memory.clear();
        self.file = Some(file);
        Ok(())
    }

    /// All the bytes.
    pub(crate) fn finish(mut self) -> Result<Spooled> {
        if self.file.is_some() {
            self.spill()?;
        }
        Ok(match self.file {
            Some(file) => Spooled::File(file),
            None => Spooled::Memory(self.memory),
        })
    }

    /// Hands all the bytes on, piece by piece.
    pub(crate) fn take(self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut file = match self.finish()? {
            Spooled::Memory(bytes) => return take(&bytes),
            Spooled::File(file) => file,
        };
        let failure = |error| Failure::file("read", &std::env::temp_dir(), error);
        file.rewind().map_err(failure)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => take(&buffer[..read])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(error)),
            }
        }
    }
}

/// A file without a name in the directory for temporary files.
pub(crate) fn unnamed_file() -> Result<File> {
    tempfile::tempfile()
        .map_err(|error| Failure::file("make a temporary file in", &std::env::temp_dir(), error))
}
