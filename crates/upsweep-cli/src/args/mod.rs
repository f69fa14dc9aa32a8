//! What can be said on the command line.

mod axes;
mod bench;
mod device;
mod devices;
mod explain;
mod input;
mod keep;
mod ladder;
mod reduce;
mod reduce_by_key;
mod report;

mod runs;
mod scan;
mod segments;
mod tune;

use clap::{Parser, Subcommand};

pub(crate) use axes::{ShapeArguments, TransposeArguments};
pub(crate) use bench::{BenchArguments, GuardArguments};
pub(crate) use device::DeviceArguments;
pub(crate) use devices::DevicesArguments;
pub(crate) use explain::ExplainArguments;
pub(crate) use input::{InputArguments, ReadingArguments};
pub(crate) use keep::{Condition, PartitionArguments, PositionsArguments, SelectArguments};
pub(crate) use ladder::LadderArguments;
pub(crate) use reduce::ReduceArguments;
pub(crate) use reduce_by_key::ReduceByKeyArguments;
pub(crate) use report::ReportArguments;
pub(crate) use runs::{RleArguments, UniqueArguments};
pub(crate) use scan::{OutputFormat, ScanArguments};
pub(crate) use tune::TuneArguments;

const ABOUT: &str = "\
Reduces, scans and compacts arrays at the speed of the machine's memory.

Floats are combined in one written order: a sum or a scan has the same bits on every device, with
any number of threads.";

const EXAMPLES: &str = "\
Examples:
  upsweep reduce heights.npy                    the sum of all items
  upsweep reduce heights.npy --op argmax        the position of the first largest item
  upsweep reduce samples.raw --dtype f32 --op mean
  seq 1000000 | upsweep reduce - --dtype u64
  upsweep scan counts.npy -o ends.npy           running totals
  upsweep scan counts.npy -o starts.npy --exclusive
  upsweep select heights.npy --where '>= 1.75' -o tall.npy
  upsweep positions flags.npy -o places.npy
  upsweep partition counts.npy --where '== 0' -o zeros_first.npy
  upsweep unique sorted.npy -o values.npy
  upsweep rle states.npy -o values.npy --counts lengths.npy
  upsweep reduce-by-key days.npy prices.npy --op mean -o means.npy --keys each_day.npy
  upsweep reduce image.npy --axis 0,1 --op mean -o colour.npy
  upsweep scan table.npy --axis 0 -o down.npy
  upsweep transpose table.npy -o turned.npy
  upsweep devices
  upsweep bench --op reduce --dtype f32 --n 2^20,2^26
  upsweep ladder --n 2^26
  upsweep tune --device wgpu:0
  upsweep explain --n 2^20 --dtype f32
  upsweep report -o report.html

Files:
  .npy   numpy's format, version 1 to 3, of any dimensions; read in place. Positions and prefixes
         are those of C order, however the array is stored
  raw    anything else; --dtype says which little-endian numbers it holds. Archives, compressed files
         and text are not taken for numbers, unless --raw says so
  -      text on standard input: numbers between white space or commas, f64 unless --dtype
         says otherwise. --separator names another character than the comma. An empty field is an error
         unless --missing says what it stands for, and so is 1,234,567, which may be one number or three

Types:
  u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64. numpy has no bf16: a .npy file of type '<V2' is
  read as such with --dtype bf16, and a bool file as 0 and 1 with --dtype u8.

Environment:
  UPSWEEP_DEVICE   the default of --device
  UPSWEEP_LOG      set to 1 to be told on standard error what was chosen
  UPSWEEP_PROFILE  a file to be used instead of what upsweep tune has kept, or off
  UPSWEEP_CACHE_DIR  where profiles and compiled kernels are kept; nowhere if it is empty

Exit status: 0; 1 if bench or ladder found a wrong result, or a comparison a slower row; 2 for a mistake in what was asked for, in a file,
or while writing, with one line on standard error.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "upsweep", version, about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Combine all items of a file into one value, and print it
    Reduce(ReduceArguments),
    /// Combine every prefix of a file, and write an array of the same shape
    Scan(ScanArguments),
    /// Write the items of a file that fulfil a condition, in their order
    Select(SelectArguments),
    /// Write the numbers of the items of a file that are not 0
    Positions(PositionsArguments),
    /// Write the items of a file that fulfil a condition, and behind them all others; print how many come first
    Partition(PartitionArguments),
    /// Write the first of each run of equal neighbours in a file
    Unique(UniqueArguments),
    /// Write the first of each run of equal neighbours in a file, and how many there are
    Rle(RleArguments),
    /// Combine the values of each run of equal keys
    ReduceByKey(ReduceByKeyArguments),
    /// Write an array with its axes in another order
    Transpose(TransposeArguments),
    /// List the devices that are usable here, and say why others are not
    Devices(DevicesArguments),
    /// Measure primitives against the memory speed of the device
    Bench(BenchArguments),
    /// Run the seven classic steps of a sum on a GPU, and say what each gains
    Ladder(LadderArguments),
    /// Measure what a device does best, and keep it for every later call
    Tune(TuneArguments),
    /// Say of a call what it does, why, how fast, and what it waits for
    Explain(ExplainArguments),
    /// Measure, and make one page of figures
    Report(ReportArguments),
}
