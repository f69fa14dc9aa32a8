//! What can be said to `upsweep scan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use upsweep::Dtype;
use upsweep::any::Op;

use super::axes::AxisArguments;
use super::device::DeviceArguments;
use super::input::InputArguments;
use super::segments::SegmentArguments;

const HELP: &str = "\
Output:
  Sums and products of integers have 64 bits (u64 or i64, wrapping); all else has the input's type.
  --acc names another type, the input's own included; f16 and bf16 are combined in f32 and rounded when
  stored. Output i of an inclusive scan combines the
  items [0, i], of an exclusive one [0, i); with --reverse [i, n) and (i, n).

  A file is written as .npy, with the input's shape in C order, if OUT ends in .npy or the input
  is .npy, and as raw little-endian numbers otherwise. Text in and - out gives text, one number a
  line. --format overrides. OUT may be FILE; it appears whole, or, if anything goes wrong, stays
  as it was. Pipes and devices are written chunk by chunk; - is standard output.

Segments:
  With --offsets, --flags or --keys each segment of the items in C order is scanned by itself. Offsets are
  u32, u64, i32 or i64, one more than there are segments, none less than the one before it; flags and keys
  are numbers or bools, one for each item. The whole file and its prefixes are in memory at once.

Axes:
  With --axis each row along these axes is scanned by itself. The file and the output are in memory as a whole. Raw
  numbers and text need --shape.

Examples:
  upsweep scan counts.npy -o ends.npy
  upsweep scan counts.npy -o starts.npy --exclusive --init 100
  upsweep scan levels.raw --dtype f32 --op max --reverse -o highest.npy
  upsweep scan counts.npy --offsets rows.npy -o ends_of_rows.npy
  upsweep scan table.npy --axis 0 -o down.npy
  printf '3 1 4\\n' | upsweep scan - --dtype i32 -o -";

/// `upsweep scan`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ScanArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Where to write: a file, a pipe, or - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// sum, product, min, max, and, or or xor
    #[arg(long, value_name = "OP", default_value = "sum")]
    pub(crate) op: Op,

    /// Include each item in its own prefix (the default)
    #[arg(long, conflicts_with = "exclusive")]
    pub(crate) inclusive: bool,

    /// Leave each item out of its own prefix
    #[arg(long)]
    pub(crate) exclusive: bool,

    /// Combine from the last item to the first
    #[arg(long)]
    pub(crate) reverse: bool,

    /// A value combined before all others
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) init: Option<String>,

    /// Type of the output; must hold every value of the items' type
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    #[command(flatten)]
    pub(crate) segments: SegmentArguments,

    #[command(flatten)]
    pub(crate) axes: AxisArguments,

    /// How to write the output; chosen from the names unless said
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<OutputFormat>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

/// How an array is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// numpy's format
    Npy,
    /// Little-endian numbers and nothing else
    Raw,
    /// One number a line
    Text,
}
