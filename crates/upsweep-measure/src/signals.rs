//! Requests to end the program, which are noticed between two pieces of work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

#[cfg(unix)]
use signal_hook::consts::SIGXFSZ;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Failure, Result};

/// The last signal that came while signals are watched; 0 if none did.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// From now on a request to end the program is noticed by [`check_signals`] alone, so that a file
/// that is being written can be removed first. A file that grows beyond what the user may write
/// is an error instead of a signal.
pub fn watch_signals() -> Result<()> {
    let watch = |signal: i32, value: usize| {
        flag::register_usize(signal, Arc::clone(&SIGNAL), value)
            .map_err(|error| Failure::usage(format!("cannot watch for signals: {error}")))
    };
    watch(SIGINT, SIGINT as usize)?;
    watch(SIGTERM, SIGTERM as usize)?;
    #[cfg(unix)]
    watch(SIGXFSZ, 0)?;
    Ok(())
}

/// Fails if the program was asked to end.
pub fn check_signals() -> Result<()> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => Ok(()),
        signal => Err(Failure::Signal(signal.try_into().unwrap_or(SIGTERM))),
    }
}
