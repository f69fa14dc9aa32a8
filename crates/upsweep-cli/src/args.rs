//! What can be said on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use upsweep::{CpuOptions, Dtype, InstructionSet};

use crate::bench::{Devices, GuardArguments, Lengths, Names, Strategies};
use crate::dispatch::Op;
use crate::energy::EnergyArguments;
use crate::explain::ExplainArguments;
use crate::tune::Span;

const ABOUT: &str = "\
Reduces and scans arrays at the speed of the machine's memory.

Floats are combined in one written order: a sum or a scan has the same bits on every device, with
any number of threads.";

const EXAMPLES: &str = "\
Examples:
  upsweep reduce heights.npy                    the sum of all items
  upsweep reduce heights.npy --op argmax        the position of the first largest item
  upsweep reduce samples.raw --dtype f32 --op mean
  seq 1000000 | upsweep reduce - --dtype u64
  upsweep scan counts.npy -o ends.npy           running totals
  upsweep scan counts.npy -o starts.npy --exclusive --acc u64
  upsweep devices
  upsweep bench --op reduce --dtype f32 --n 2^20,2^26
  upsweep ladder --n 2^26
  upsweep tune --device wgpu:0
  upsweep explain --n 2^20 --dtype f32
  upsweep report -o report.html

Files:
  .npy   numpy's format, version 1 to 3, in C order, of any dimensions; read in place
  raw    anything else; --dtype says which little-endian numbers it holds
  -      text on standard input: numbers between white space or commas, f64 unless --dtype
         says otherwise

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
    Report(crate::report::ReportArguments),
}

/// Where the work is done.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Device: an id that `upsweep devices` lists; auto is the CPU, or a GPU where `upsweep tune` found that faster
    #[arg(
        long,
        value_name = "ID",
        env = "UPSWEEP_DEVICE",
        default_value = "auto",
        hide_env_values = true
    )]
    pub(crate) device: String,

    /// Threads of the CPU; all of them unless said
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

impl DeviceArguments {
    /// What was said about the CPU.
    pub(crate) fn options(&self) -> CpuOptions {
        CpuOptions { threads: self.threads.map(NonZeroUsize::get), ..CpuOptions::default() }
    }
}

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

const REDUCE_HELP: &str = "\
Result:
  sum, product       in 64 bits for integers (u64 or i64, wrapping), in f32 for f16 and bf16, in
                     the type itself for f32 and f64
  min, max           in the items' type; NaN if any item is NaN
  and, or, xor       in the items' type; integers only
  argmin, argmax     the first position, counted from 0 in C order; the first NaN if there is one;
                     'none' if there are no items
  mean               f64, of f16, bf16 and f32 f32
Floats are printed with the fewest digits that read back as the same number. No items give the
operator's identity: 0, 1, the largest or smallest value, all bits set; their mean is nan.

Examples:
  upsweep reduce heights.npy --op mean
  upsweep reduce samples.raw --dtype f32 --acc f64
  printf '3 1 4\\n1 5\\n' | upsweep reduce - --dtype i32 --op max";

/// `upsweep reduce`.
#[derive(Debug, Args)]
#[command(after_help = REDUCE_HELP)]
pub(crate) struct ReduceArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// sum, product, min, max, and, or, xor, argmin, argmax or mean
    #[arg(long, value_name = "OP", default_value = "sum", hide_default_value = false)]
    pub(crate) op: Op,

    /// Type to combine in; must hold every value of the items' type
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

const SCAN_HELP: &str = "\
Output:
  The items have the input's type, in which integers wrap, unless --acc names a wider one; f16 and
  bf16 are combined in f32 and rounded when stored. Output i of an inclusive scan combines the
  items [0, i], of an exclusive one [0, i); with --reverse [i, n) and (i, n).

  A file is written as .npy, with the input's shape in C order, if OUT ends in .npy or the input
  is .npy, and as raw little-endian numbers otherwise. Text in and - out gives text, one number a
  line. --format overrides. OUT may be FILE; it appears whole, or, if anything goes wrong, stays
  as it was. Pipes and devices are written chunk by chunk; - is standard output.

Examples:
  upsweep scan counts.npy -o ends.npy
  upsweep scan counts.npy -o starts.npy --exclusive --init 100 --acc u64
  upsweep scan levels.raw --dtype f32 --op max --reverse -o highest.npy
  printf '3 1 4\\n' | upsweep scan - --dtype i32 -o -";

/// `upsweep scan`.
#[derive(Debug, Args)]
#[command(after_help = SCAN_HELP)]
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

/// `upsweep devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_HELP: &str = "\
Every result is compared with the reference, bit for bit, before a time is printed; a difference
makes the exit status 1. A row that the device refuses says why under 'checked'.

  gbps          the fewest bytes that the job must move (a reduction reads its input once, a scan
                also writes its output once), by the median time, in 10^9 bytes a second
  limit_gbps    what the same device reaches on the same bytes without arithmetic, measured
                between the samples
  first_call_us the first call with these types, the others being repeated until they can be timed

On a GPU the arrays are in its memory, the times are those of its own clock where it has one, and at
least 200 ms of work, a second more for each GiB, raise its speed before anything is measured.

With --profile each row is followed by its dispatches, each timed in a pass of its own behind a run of
the whole, against the limit of as many bytes; 'whole' is all of them in one pass. Records have further
columns then: dispatch (empty in the row itself), workgroups, bytes, lower_us and upper_us (quartiles).

Times of different hours are not comparable. --save NAME keeps the program itself (some 30 MB) and what it measured; --compare NAME
runs it again, in turns with this one, row by row, and gives the ratio of the times, the interval that holds the true one at 95 times
of 100 (by the sign test, whatever the noise), and a verdict: faster or slower if all of the interval is further from 1
than --threshold, the same if none of it is, else too noisy to say. Devices or drivers other than those of then are refused.

With an operator other than sum its name follows the primitive's (reduce/max), with --acc its name
follows the type (u8->u64), with --isa the instruction set follows the strategy (simd/avx2).

With --feeding rows are of 1, 10 and 100 sums (reduce*1 …) with arrays of their own, and the time is the host's, from the first call
until all are done: waited (each before the next is begun), queued (all waited for in the end), together (in one submission, by
wgpu), streams (in eight in turn, by CUDA), graph (captured once, by CUDA). The limit is the device's own time for the same
sums, one after another: what is missing to 100 % of it are gaps in which the device waits for the host.

With --energy rows end with the joules of a call, 10^9 bytes by joule, and the watts that the device drew in
a pause right behind. They are those of the counters of the whole device, everything else on it included: of an
NVIDIA GPU by NVML, of all CPUs of the machine by RAPL, which often the administrator alone may read. Calls
are repeated from a step of the counter to another for 1 s on a GPU and 0.2 s on a CPU. Where there is no
counter one line on standard error says why, and the columns are empty.

Examples:
  upsweep bench
  upsweep bench --op reduce --dtype u8 --acc u64 --n 2^26 --samples 21
  upsweep bench --device cpu,wgpu:0 --op exclusive_scan --n 2^26 --strategy all
  upsweep bench --device wgpu:0 --op exclusive_scan --n 2^26 --profile
  upsweep bench --device cuda:0,wgpu:0 --feeding
  upsweep bench --op reduce --n 2^14,2^24 --save before; … ; upsweep bench --compare before
  upsweep bench --op all --dtype all --n 2^14,2^20 --strategy all --isa all --csv record.csv";

/// `upsweep bench`.
#[derive(Debug, Args)]
#[command(after_help = BENCH_HELP)]
pub(crate) struct BenchArguments {
    /// Primitives, between commas: reduce, argmin, argmax, inclusive_scan, exclusive_scan; or all
    #[arg(long, value_name = "LIST", default_value = "reduce,inclusive_scan")]
    pub(crate) op: Names<crate::bench::Primitive>,

    /// Operator of reductions and scans
    #[arg(long, value_name = "OP", default_value = "sum")]
    pub(crate) operator: Op,

    /// Types, between commas; or all
    #[arg(long, value_name = "LIST", default_value = "u32,f32")]
    pub(crate) dtype: Names<Dtype>,

    /// Type to combine in, and type of a scan's output
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    /// Numbers of items, between commas: integers, or powers such as 2^26
    #[arg(long, value_name = "LIST", default_value = "2^10,2^16,2^22,2^26")]
    pub(crate) n: Lengths,

    /// Devices, between commas; auto; or all
    #[arg(
        long,
        value_name = "LIST",
        env = "UPSWEEP_DEVICE",
        default_value = "auto",
        hide_env_values = true
    )]
    pub(crate) device: Devices,

    /// Strategies, between commas; auto; or all that a device has. On a CPU scalar, simd and
    /// simd+threads, on a GPU load/local/global such as striped-16-exact/cooperative/last-block
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub(crate) strategy: Strategies,

    /// Instruction sets, between commas, or all; the widest unless said
    #[arg(long, value_name = "LIST")]
    pub(crate) isa: Option<Names<InstructionSet>>,

    /// Threads of the CPU; all of them unless said
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Write CSV to this file, or to standard output with -
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Times that each row is measured
    #[arg(long, value_name = "K", default_value = "11")]
    pub(crate) samples: NonZeroUsize,

    /// Say beneath each row of a GPU where the time goes, dispatch by dispatch
    #[arg(long)]
    pub(crate) profile: bool,

    /// Measure instead how a device is kept busy: 1, 10 and 100 small sums of u32, of each of these lengths, handed over in
    /// every way
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        default_missing_value = "2^10,2^16",
        conflicts_with_all = [
            "op", "operator", "dtype", "acc", "n", "strategy", "isa", "threads", "profile", "energy", "save", "compare",
        ],
    )]
    pub(crate) feeding: Option<Lengths>,

    #[command(flatten)]
    pub(crate) energy: EnergyArguments,

    #[command(flatten)]
    pub(crate) guard: GuardArguments,
}

const LADDER_HELP: &str = "\
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
#[command(after_help = LADDER_HELP)]
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

const TUNE_HELP: &str = "\
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
#[command(after_help = TUNE_HELP)]
pub(crate) struct TuneArguments {
    /// Devices, between commas; all [default: the CPU and every GPU that is not made of software, one of each kind]
    #[arg(long, value_name = "LIST", env = "UPSWEEP_DEVICE", hide_env_values = true)]
    pub(crate) device: Option<Devices>,

    /// Primitives, between commas: reduce, argmin, argmax, inclusive_scan (which stands for both scans); or all
    #[arg(long, value_name = "LIST", default_value = "reduce,inclusive_scan")]
    pub(crate) op: Names<crate::bench::Primitive>,

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

    /// With --check, on a CPU: hold what calls choose now against what they would choose by this profile, and nothing else
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) against: Option<PathBuf>,

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
