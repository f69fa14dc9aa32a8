//! What can be said to `upsweep tune`.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;
use upsweep::any::Op;
use upsweep_measure::selection::{Devices, Lengths, Names, Primitive};
use upsweep_measure::tune::budget::Span;

const HELP: &str = "\
Tries cells - a strategy, threads per workgroup, items per thread - at several lengths, the nearest to the best so far
first, each in turns with what the device chooses by itself. Every result is compared. What was the fastest is
written to a profile, a text file of the device and its driver, which all later calls on that device read: of the
program and of the library. It changes speed, never a result. Of a CPU it holds the bounds from which threads and
streaming stores pay, and the sizes of blocks.

Of a GPU it also measures calls on arrays in the host's memory, in turns with the CPU: what --device auto goes by.

Devices are measured one after another, the CPU first. Of GPUs alike, which read the same profile, one is.

What is not measured this time is kept as it was. Ctrl-C ends it with what was found so far.

With --csv every cell that was tried is a row; default_us is what the device chose by itself, in the same turns.

Examples:
  upsweep tune                                   every device, two minutes each at most
  upsweep tune --device cpu,wgpu:0 --budget 5m
  upsweep tune --device cuda:0 --op reduce --dtype f32 --budget all --csv sweep.csv
  upsweep tune --device cuda:0 --export h200.toml";

/// `upsweep tune`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TuneArguments {
    /// Devices, between commas; all [default: the CPU and every GPU that is not made of software, one of each kind]
    #[arg(long, value_name = "LIST", env = "UPSWEEP_DEVICE", hide_env_values = true)]
    pub(crate) device: Option<Devices>,

    /// Primitives, between commas: reduce, argmin, argmax, inclusive_scan (which stands for both scans); or all
    #[arg(long, value_name = "LIST", default_value = "reduce,inclusive_scan")]
    pub(crate) op: Names<Primitive>,

    /// Operator of reductions and scans
    #[arg(long, value_name = "OP", default_value = "sum")]
    pub(crate) operator: Op,

    /// Types, between commas; or all [default: u8,u32,u64,f32,f64; on a GPU with --quick u8,u32,f32]
    #[arg(long, value_name = "LIST")]
    pub(crate) dtype: Option<Names<Dtype>>,

    /// Type to combine in, and type of a scan's output
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    /// Numbers of items, between commas [default: every power of two from 2^10 to 2^28, as far as they fit; on a GPU with
    /// --quick to 2^27]
    #[arg(long, value_name = "LIST")]
    pub(crate) n: Option<Lengths>,

    /// How long it may take, for each device: 60s, 5m; all tries every cell [default: 120s, with --quick 25s]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Span>,

    /// In 25 seconds for each device, with fewer types and lengths
    #[arg(long)]
    pub(crate) quick: bool,

    /// Write the profile of the one device to this file, and not where calls look for it
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["import", "export"])]
    pub(crate) output: Option<PathBuf>,

    /// Measure nothing: take the profile of the one device from a file
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    pub(crate) import: Option<PathBuf>,

    /// Measure nothing: write the profile that calls on the one device read to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,

    /// Keep nothing: hold what calls choose now, by the profile in use or by rules, against the best that is found
    #[arg(long, conflicts_with_all = ["output", "import", "export"])]
    pub(crate) check: bool,

    /// Write what was tried as CSV to this file, or to standard output with -
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Do not measure what arrays in the host's memory take, which --device auto goes by
    #[arg(long)]
    pub(crate) skip_host: bool,

    /// Be one of the programs that make kernels of a device for another, which says on standard input which
    #[arg(long, hide = true, value_name = "ID")]
    pub(crate) make_kernels: Option<String>,
}
