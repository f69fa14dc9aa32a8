//! What can be said to `upsweep unique` and `upsweep rle`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArguments;
use super::input::InputArguments;
use super::keep::{OutputArguments, output_help};

const UNIQUE_HELP: &str = concat!(
    "\
Output:
  The first of each run of neighbours that are equal bit for bit, in order; items that are not neighbours
  are not compared. So -0 and 0 differ, and a NaN is equal to one with the same bits.
",
    output_help!(),
    "

Examples:
  upsweep unique sorted.npy -o values.npy
  printf '3 3 1 1 3\\n' | upsweep unique - --dtype i32 -o -"
);

/// `upsweep unique`.
#[derive(Debug, Args)]
#[command(after_help = UNIQUE_HELP)]
pub(crate) struct UniqueArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

const RLE_HELP: &str = concat!(
    "\
Output:
  The first of each run of neighbours that are equal bit for bit, in order, and to COUNTS how many items
  each run has, as u64.
",
    output_help!(),
    "

Examples:
  upsweep rle states.npy -o values.npy --counts lengths.npy
  printf '3 3 1 1 3\\n' | upsweep rle - --dtype i32 -o values --counts -"
);

/// `upsweep rle`.
#[derive(Debug, Args)]
#[command(after_help = RLE_HELP)]
pub(crate) struct RleArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Where to write the lengths of runs: a file, a pipe, or -
    #[arg(long, value_name = "COUNTS")]
    pub(crate) counts: PathBuf,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}
