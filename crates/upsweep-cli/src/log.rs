//! What the program tells about itself on standard error when `UPSWEEP_LOG` is set.

use std::sync::LazyLock;

/// Whether anything is wanted: `UPSWEEP_LOG` is set, and not to `0` or `off`.
pub(crate) static WANTED: LazyLock<bool> = LazyLock::new(|| {
    std::env::var_os("UPSWEEP_LOG").is_some_and(|v| !v.is_empty() && v != "0" && v != "off")
});

/// Writes a line to standard error if it is wanted.
macro_rules! log {
    ($($part:tt)*) => {
        if *$crate::log::WANTED {
            use std::io::Write as _;
            let line = $crate::error::one_line(&format!($($part)*));
            // Nothing is left to tell if this fails.
            let _ = writeln!(std::io::stderr(), "upsweep: {line}");
        }
    };
}
pub(crate) use log;
