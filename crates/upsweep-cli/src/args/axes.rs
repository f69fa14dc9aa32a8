//! What is said of arrays of several dimensions, to `upsweep reduce`, `upsweep scan` and `upsweep transpose`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArguments;
use super::input::InputArguments;
use super::scan::OutputFormat;

/// Along which axes, and what shape the array has.
#[derive(Debug, Args)]
pub(crate) struct AxisArguments {
    /// Take each row along these axes by itself: 0 is the first, -1 the last
    #[arg(
        long,
        value_name = "K[,L...]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "segments"
    )]
    pub(crate) axis: Option<Vec<isize>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArguments,
}

/// What shape an array has.
#[derive(Debug, Args)]
pub(crate) struct ShapeArguments {
    /// The lengths of the dimensions [default: those of the .npy file]
    #[arg(long, value_name = "N[,M...]", value_delimiter = ',')]
    pub(crate) shape: Option<Vec<usize>>,
}

const HELP: &str = "\
Output:
  An .npy file of the new shape in C order, if OUT ends in .npy or the input is .npy; raw numbers otherwise.
  The file and the output are in memory at once.

Examples:
  upsweep transpose image.npy -o turned.npy
  upsweep transpose batch.npy --axes 0,3,1,2 -o channels_first.npy
  upsweep transpose samples.raw --dtype f32 --shape 1000,16 -o by_channel.npy";

/// `upsweep transpose`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TransposeArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Where to write: a file, a pipe, or - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The axes in their new order [default: the other way round]
    #[arg(long, value_name = "K,L,...", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) axes: Option<Vec<isize>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArguments,

    /// How to write the output; chosen from the names unless said
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<OutputFormat>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}
