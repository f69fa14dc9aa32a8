//! What is said on standard error: warnings, and, when `UPSWEEP_LOG` is set, what was chosen.

use std::io::{self, Write};
use std::sync::LazyLock;

use crate::error::one_line;

/// Whether anything is wanted: `UPSWEEP_LOG` is set, and not to `0` or `off`.
pub static WANTED: LazyLock<bool> = LazyLock::new(|| {
    std::env::var_os("UPSWEEP_LOG").is_some_and(|v| !v.is_empty() && v != "0" && v != "off")
});

/// Writes a line to standard error if it is wanted.
#[macro_export]
macro_rules! log {
    ($($part:tt)*) => {
        if *$crate::log::WANTED {
            $crate::log::complain(&format!($($part)*));
        }
    };
}
/// Writes a line to standard error.
pub fn complain(message: &str) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(io::stderr(), "upsweep: {}", one_line(message));
}
