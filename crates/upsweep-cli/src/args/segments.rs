//! What says where segments begin, to `upsweep reduce` and `upsweep scan`.

use std::path::{Path, PathBuf};

use clap::Args;

/// What says where segments begin.
#[derive(Debug, Args)]
#[group(id = "segments", multiple = false)]
pub(crate) struct SegmentArguments {
    /// Segments by a .npy file of the numbers of their first items, and the end of the last
    #[arg(long, value_name = "OFFSETS")]
    offsets: Option<PathBuf>,

    /// Segments by a .npy file of a number for each item, not 0 where a segment begins
    #[arg(long, value_name = "FLAGS")]
    flags: Option<PathBuf>,

    /// Runs of equal keys are segments; a .npy file of a key for each item
    #[arg(long, value_name = "KEYS")]
    keys: Option<PathBuf>,
}

impl SegmentArguments {
    /// The option that was given, and its file.
    pub(crate) fn given(&self) -> Option<(&'static str, &Path)> {
        let Self { offsets, flags, keys } = self;
        let all = [("--offsets", offsets), ("--flags", flags), ("--keys", keys)];
        all.into_iter().find_map(|(option, file)| Some((option, file.as_deref()?)))
    }
}
