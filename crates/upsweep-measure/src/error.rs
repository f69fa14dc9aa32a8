//! What measuring can fail with.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything that can fail.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why nothing, or no more, is measured.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or stream that could not be used.
    #[error("cannot {action} '{}': {}", .path.display(), reason(.source))]
    File {
        /// What was tried: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A mistake in what was asked for.
    #[error("{0}")]
    Usage(String),
    /// What the library says.
    #[error(transparent)]
    Library(#[from] upsweep::Error),
    /// A benchmark found results that differ from the reference.
    #[error("{0} of the results above differ from the reference")]
    Mismatch(usize),
    /// A comparison found that this program is slower.
    #[error("{0} of the rows above are slower than they were")]
    Slower(usize),
    /// A signal asked the program to end.
    #[error("stopped by signal {0}")]
    Signal(i32),
    /// Whoever read the output has gone; that is not worth a word.
    #[error("the reader of the output has gone")]
    ReaderGone,
}

impl Failure {
    /// A failure to do something with a file.
    pub fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::File { action, path: path.to_owned(), source }
    }

    /// A failure to write to standard output.
    pub fn stdout(source: io::Error) -> Self {
        Self::file("write", Path::new("standard output"), source)
    }

    /// A mistake in what was asked for.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
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
pub fn one_line(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
