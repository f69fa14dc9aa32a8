//! What can be said to `upsweep reduce-by-key`.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;
use upsweep::any::Op;

use super::device::DeviceArguments;
use super::keep::{OutputArguments, output_help};

const HELP: &str = concat!(
    "\
Result:
  Runs of equal neighbours among the keys, which are compared bit for bit, are segments of the values. The
  key of each run is written to OUTKEYS, and what its values combine to, in their order, to OUT. Keys that
  stand in several runs are written as often. Types are those of upsweep reduce, where --help says them.

Output:
",
    output_help!(),
    "
  Both arrays are in memory at once.

Examples:
  upsweep reduce-by-key days.npy prices.npy --op mean -o means.npy --keys each_day.npy
  upsweep reduce-by-key words.raw counts.raw --key-dtype u32 --dtype u16 -o sums.npy --keys words.npy"
);

/// `upsweep reduce-by-key`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReduceByKeyArguments {
    /// A key for each value: a .npy file, or a file of raw numbers (with --key-dtype)
    #[arg(value_name = "KEYS")]
    pub(crate) of: PathBuf,

    /// A .npy file, a file of raw numbers (with --dtype), or - for text on standard input
    #[arg(value_name = "VALUES")]
    pub(crate) values: PathBuf,

    /// Type of the values of a raw file or of text [default for text: f64]
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<Dtype>,

    /// Type of the keys of a raw file
    #[arg(long, value_name = "TYPE")]
    pub(crate) key_dtype: Option<Dtype>,

    #[command(flatten)]
    pub(crate) reading: super::ReadingArguments,

    /// sum, product, min, max, and, or, xor, argmin, argmax or mean
    #[arg(long, value_name = "OP", default_value = "sum", hide_default_value = false)]
    pub(crate) op: Op,

    /// Type to combine in; must hold every value of the values' type
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Where to write the key of each run: a file, a pipe, or -
    #[arg(long, value_name = "OUTKEYS")]
    pub(crate) keys: PathBuf,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}
