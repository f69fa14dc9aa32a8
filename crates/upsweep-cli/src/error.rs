//! What the program can fail with: one line on standard error and an exit status.

use std::io;
use std::path::{Path, PathBuf};

use crate::npy::HeaderError;

/// The result of everything that can fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file or stream that could not be used.
    #[error("cannot {action} '{}': {}", .path.display(), reason(.source))]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// A `.npy` file that is not what it should be.
    #[error("'{}': {source}", .path.display())]
    Npy { path: PathBuf, source: HeaderError },
    /// Text that is not a number.
    #[error("standard input, line {line}: {problem}")]
    Text { line: u64, problem: String },
    /// A mistake in what was asked for.
    #[error("{0}")]
    Usage(String),
    /// What the library says.
    #[error(transparent)]
    Library(#[from] upsweep::Error),
    /// A benchmark found results that differ from the reference.
    #[error("{0} of the results above differ from the reference")]
    Mismatch(usize),
    /// A comparison found rows that became slower, or fail.
    #[error("{rows} of the rows above are slower than '{name}', or fail")]
    Slower { rows: usize, name: String },
    /// A signal asked the program to end.
    #[error("stopped by signal {0}")]
    Signal(i32),
    /// Whoever read the output has gone; that is not worth a word.
    #[error("the reader of the output has gone")]
    ReaderGone,
}

impl Failure {
    /// A failure to do something with a file.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::File { action, path: path.to_owned(), source }
    }

    /// A failure to write to standard output.
    pub(crate) fn stdout(source: io::Error) -> Self {
        Self::file("write", Path::new("standard output"), source)
    }

    /// A mistake in what was asked for.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Mismatch(_) | Self::Slower { .. } => 1,
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(u8::MAX),
            _ => 2,
        }
    }
}

/// What the system says, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The message on one line, whatever names it quotes.
pub(crate) fn one_line(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
