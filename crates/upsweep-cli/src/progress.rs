//! What happens between two chunks: the progress bar moves, and a signal is noticed.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};
use upsweep_measure::signals::check_signals;

use crate::error::Result;

/// Work on fewer bytes is over before a bar can be read: about a second.
const LONG_BYTES: u64 = 1 << 30;

/// How far the work has come.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work on `bytes` bytes. A bar is drawn if the work is long and standard error a terminal.
    pub(crate) fn new(bytes: u64) -> Self {
        let bar = (bytes >= LONG_BYTES && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(bytes);
            let form = "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(form) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar }
    }

    /// A chunk of `bytes` bytes is done.
    pub(crate) fn advance(&self, bytes: usize) -> Result<()> {
        if let Some(bar) = &self.bar {
            bar.inc(bytes as u64);
        }
        Ok(check_signals()?)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
