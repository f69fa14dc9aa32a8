//! What can be said of `upsweep explain`.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;
use upsweep::any::Op;
use upsweep_measure::selection::{Choice, Lengths, Primitive};

use super::device::DeviceArguments;
use super::input::ReadingArguments;

const HELP: &str = "\
  strategy    which algorithm, at each level, and with which numbers (policy)
  because     it was asked for; or a profile says that nothing was faster; or the rules of policy.rs chose it
  moves       bytes of arrays that this strategy moves, and the fewest that any must
  time        median and quartiles of 21 samples; on a GPU by its own clock, the arrays being there
  limit       as many bytes, moved without arithmetic, in turns with the call
  predicted   what the profile lets expect
  one item    the same call of a single item: what more bytes cannot make shorter
  limited by  memory, latency, launch or arithmetic
  host waits  from the call to its end
  first call  with what makes kernels ready, unless earlier programs have left them
  launch      workgroups and threads; registers, shared memory, and how many run at once, where the driver says so

With --device auto it is said first where the call goes, and why.

Examples:
  upsweep explain heights.npy --op inclusive_scan
  upsweep explain --n 2^20 --dtype f32 --device wgpu:0
  upsweep explain --n 2^26 --op argmin --device cuda:0 --strategy striped-16-exact/cooperative/last-block";

/// `upsweep explain`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArguments {
    /// Items: a .npy file, a file of raw numbers (with --dtype), or - for text on standard input; without it, --n of them
    #[arg(value_name = "FILE", conflicts_with = "n", required_unless_present = "n")]
    pub(crate) file: Option<PathBuf>,

    /// Numbers of items that are made, between commas: integers, or powers such as 2^26
    #[arg(long, value_name = "LIST")]
    pub(crate) n: Option<Lengths>,

    /// Type of the items; of a .npy file its own [default: f32]
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<Dtype>,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,

    /// Primitive: reduce, argmin, argmax, inclusive_scan or exclusive_scan
    #[arg(long, value_name = "OP", default_value = "reduce")]
    pub(crate) op: Primitive,

    /// Operator of a reduction or a scan
    #[arg(long, value_name = "OP", default_value = "sum")]
    pub(crate) operator: Op,

    /// Type to combine in, and type of a scan's output
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    /// Strategy, by the name that bench gives it; what the device chooses unless said
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) strategy: Choice,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
