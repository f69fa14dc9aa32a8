//! What can be said to `upsweep bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use upsweep::{Dtype, InstructionSet};

use upsweep::any::Op;
use upsweep_measure::selection::{Devices, Lengths, Names, Primitive, Strategies};

const HELP: &str = "\
Every result is compared with the reference, bit for bit, before a time is printed; a difference
makes the exit status 1. A row that the device refuses says why under 'checked', and so does a right one of a GPU
that moved the same bytes much faster in another row: it was slow, as GPUs are that sleep, and the row does not count.

  gbps          the fewest bytes that the job must move (a reduction reads its input once, a scan
                also writes its output once, a compaction what it keeps), by the median time, in
                10^9 bytes a second
  limit_gbps    what the same device reaches on the same bytes without arithmetic, measured
                between the samples
  first_call_us the first call with these types, the others being repeated until they can be timed

On a GPU the arrays are in its memory, the times are those of its own clock where it has one, and at
least 200 ms of work, a second more for each GiB, raise its speed before anything is measured.

select, partition and positions keep half of the items: by a flag of one byte each, which select and
partition read too; of positions, which are u32, half of the items are not 0. Their limit copies items.
unique and run_length_encode have runs of eight equal items. On a GPU run_length_encode is timed by the host's clock, in calls one
behind another.

With --profile each row is followed by its dispatches, each timed in a pass of its own behind a run of
the whole, against the limit of as many bytes; 'whole' is all of them in one pass. Records have further
columns then: dispatch (empty in the row itself), workgroups, bytes, lower_us and upper_us (quartiles).

Times of different hours are not comparable. --save NAME keeps the program itself (some 30 MB) and what it measured; --compare NAME
runs it again, in turns with this one, row by row, and gives the ratio of the times, the interval that holds the true one at 95 times
of 100 (by the sign test, whatever the noise), and a verdict: faster or slower if all of the interval is further from 1
than --threshold, the same if none of it is, else too noisy to say. Devices or drivers other than those of then are refused.

With an operator other than sum its name follows the primitive's (reduce/max), with --acc its name
follows the type (u8->u64), with --isa the instruction set follows the strategy (simd/avx2).

With --feeding rows are of 1, 10 and 100 sums (reduce*1 …) with arrays of their own, and of a chain of ten steps whose lengths only the
device knows (chain*10). The time is the host's, from the first call until all are done: waited (each before the next is begun), queued (all waited for in the end), together (in one submission, by
wgpu), streams (in eight in turn, by CUDA), graph (captured once, by CUDA). The limit is the device's own time for the same
operations, one after another: what is missing to 100 % of it are gaps in which the device waits for the host.

With --rows each row is about rows of one length, which --n items make (what is over is left out): 'rows' lie along memory, the last
axis of an array of two dimensions, 'columns' across it, along axis 0. reduce leaves a value for each, which counts as written; the limit
is as above. Some rows of every result are compared with the reference, of about 2^20 items: 2 rows at least, 4,096 at most. Records
end with axis and length.

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
  upsweep bench --op reduce,inclusive_scan --n 2^26 --rows 8,32,128,1000 --csv rows.csv
  upsweep bench --op reduce --n 2^14,2^24 --save before; … ; upsweep bench --compare before
  upsweep bench --op all --dtype all --n 2^14,2^20 --strategy all --isa all --csv record.csv";

/// `upsweep bench`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BenchArguments {
    /// Primitives, between commas: reduce, argmin, argmax, inclusive_scan, exclusive_scan, select, partition, positions, unique, run_length_encode; or all
    #[arg(long, value_name = "LIST", default_value = "reduce,inclusive_scan")]
    pub(crate) op: Names<Primitive>,

    /// Operator of reductions and scans
    #[arg(long, value_name = "OP", default_value = "sum")]
    pub(crate) operator: Op,

    /// Types, between commas; or all
    #[arg(
        long,
        value_name = "LIST",
        default_value = "u32,f32",
        default_value_if("rows", ArgPredicate::IsPresent, "f32")
    )]
    pub(crate) dtype: Names<Dtype>,

    /// Type to combine in, and type of a scan's output
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    /// Numbers of items, between commas: integers, or powers such as 2^26
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2^10,2^16,2^22,2^26",
        default_value_if("rows", ArgPredicate::IsPresent, "2^26")
    )]
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

    /// Measure instead rows of each of these lengths, along memory and across it: --n items of type --dtype,
    /// 2^26 of f32 unless said
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        default_missing_value = "8,32,128,1000,2^14,2^20",
        conflicts_with_all = ["feeding", "strategy", "profile", "energy", "save", "compare"],
    )]
    pub(crate) rows: Option<Lengths>,

    #[command(flatten)]
    pub(crate) energy: EnergyArguments,

    #[command(flatten)]
    pub(crate) guard: GuardArguments,
}

/// Whether energy is measured.
#[derive(Debug, Args)]
pub(crate) struct EnergyArguments {
    /// Measure the energy of each row too, where the machine can tell
    #[arg(long, conflicts_with_all = ["profile", "compare"])]
    pub(crate) energy: bool,
}

/// What can be said of keeping and comparing.
#[derive(Debug, Args)]
pub(crate) struct GuardArguments {
    /// Keep this program and what was measured under this name, unless a result was wrong
    #[arg(long, value_name = "NAME", conflicts_with = "compare")]
    pub(crate) save: Option<String>,

    /// Run the program that was kept under this name in turns with this one, on all that it measured; exit status 1 if this one is
    /// slower
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "op", "operator", "dtype", "acc", "n", "device", "strategy", "isa", "threads", "samples", "profile",
    ])]
    pub(crate) compare: Option<String>,

    /// Rounds of a comparison, 6 at least
    #[arg(long, value_name = "N", default_value = "9", requires = "compare")]
    pub(crate) rounds: usize,

    /// Per cent that do not matter in a comparison
    #[arg(long, value_name = "PERCENT", default_value = "2", requires = "compare")]
    pub(crate) threshold: f64,
}
