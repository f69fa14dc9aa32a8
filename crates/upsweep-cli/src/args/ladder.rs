//! What can be said to `upsweep ladder`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use upsweep_measure::selection::Lengths;

const HELP: &str = "\
Sums u32 numbers by seven kernels, each of which removes one bottleneck of the one before: the steps of
Mark Harris, Optimizing Parallel Reduction in CUDA (2007). Beside them: the library's own reduction, and
the limit, which reads the same bytes and adds nothing. docs/ladder.md explains each step.

Every result is compared with the host's before a time is printed; a difference makes the exit status 1.
Times are the device's own, of all launches of a sum together, each measured in turns with the others
once the device is awake. They are repeated on one array: one that fits in a cache is read from there.
A GPU made of software takes seconds for a step of 2^20 numbers.

Examples:
  upsweep ladder
  upsweep ladder --device wgpu:0 --n 2^20,2^26
  upsweep ladder --n 2^28 --csv -";

/// `upsweep ladder`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LadderArguments {
    /// Device: the id of a GPU that `upsweep devices` lists; auto is the first, those of CUDA before others
    #[arg(
        long,
        value_name = "ID",
        env = "UPSWEEP_DEVICE",
        default_value = "auto",
        hide_env_values = true
    )]
    pub(crate) device: String,

    /// Numbers of items, between commas: integers, or powers such as 2^26
    #[arg(long, value_name = "LIST", default_value = "2^22")]
    pub(crate) n: Lengths,

    /// Write CSV to this file, or to standard output with -
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Times that each step is measured
    #[arg(long, value_name = "K", default_value = "11")]
    pub(crate) samples: NonZeroUsize,
}
