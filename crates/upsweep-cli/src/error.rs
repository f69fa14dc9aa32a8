//! What the program can fail with: one line on standard error and an exit status.

use std::io;
use std::path::{Path, PathBuf};

use crate::npy::HeaderError;

/// The result of everything that can fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What measuring, or opening a device or a file, fails with.
    #[error(transparent)]
    Measure(#[from] upsweep_measure::Failure),
    /// A `.npy` file that is not what it should be.
    #[error("'{}': {source}", .path.display())]
    Npy { path: PathBuf, source: HeaderError },
    /// Text that is not a number.
    #[error("standard input, line {line}: {problem}")]
    Text { line: u64, problem: String },
}

impl From<upsweep::Error> for Failure {
    fn from(error: upsweep::Error) -> Self {
        Self::Measure(error.into())
    }
}

impl Failure {
    /// A failure to do something with a file.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        upsweep_measure::Failure::file(action, path, source).into()
    }

    /// A failure to write to standard output.
    pub(crate) fn stdout(source: io::Error) -> Self {
        Self::file("write", Path::new("standard output"), source)
    }

    /// A mistake in what was asked for.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        upsweep_measure::Failure::usage(message).into()
    }

    /// Whether whoever read the output has gone, which is not worth a word.
    pub(crate) fn is_reader_gone(&self) -> bool {
        matches!(self, Self::Measure(upsweep_measure::Failure::ReaderGone))
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        use upsweep_measure::Failure::{Mismatch, ReaderGone, Signal, Slower};
        match self {
            Self::Measure(ReaderGone) => 0,
            Self::Measure(Mismatch(_) | Slower(_)) => 1,
            Self::Measure(Signal(number)) => u8::try_from(128 + number).unwrap_or(u8::MAX),
            _ => 2,
        }
    }
}
