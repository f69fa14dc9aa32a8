//! A file and how to read it.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;

/// A file and how to read it.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// A .npy file, a file of raw numbers (with --dtype), or - for text on standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Type of the numbers of a raw file or of text [default for text: f64]
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<Dtype>,
}
