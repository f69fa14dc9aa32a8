//! What happens between two chunks: the progress bar moves, and a signal is noticed.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::error::{Failure, Result};

/// Work on fewer bytes is over before a bar can be read: about a second.
const LONG_BYTES: u64 = 1 << 30;

/// The last signal that came while signals are watched; 0 if none did.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// From now on a request to end the program is noticed by [`check_signals`] alone, so that a file
/// that is being written can be removed first. A file that grows beyond what the user may write
/// is an error instead of a signal.
pub(crate) fn watch_signals() -> Result<()> {
    let watch = |signal: i32, value: usize| {
        flag::register_usize(signal, Arc::clone(&SIGNAL), value)
            .map_err(|error| Failure::usage(format!("cannot watch for signals: {error}")))
    };
    watch(SIGINT, SIGINT as usize)?;
    watch(SIGTERM, SIGTERM as usize)?;
    watch(SIGXFSZ, 0)?;
    Ok(())
}

/// Fails if the program was asked to end.
pub(crate) fn check_signals() -> Result<()> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => Ok(()),
        signal => Err(Failure::Signal(signal.try_into().unwrap_or(SIGTERM))),
    }
}

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
        check_signals()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
