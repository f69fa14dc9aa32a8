//! What can be said to `upsweep select`, `upsweep partition` and `upsweep positions`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::device::DeviceArguments;
use super::input::InputArguments;
use super::scan::OutputFormat;

/// What the help of several commands says of an array that is written.
macro_rules! output_help {
    () => {
        "  A file is written as .npy, of one dimension, if OUT ends in .npy or the input is .npy, and as raw
  little-endian numbers otherwise. Text in and - out gives text, one number a line. --format overrides. OUT
  may be FILE; it appears whole, or, if anything goes wrong, stays as it was. Arrays of several dimensions
  are taken in C order."
    };
}
pub(super) use output_help;

/// What the help says of conditions.
macro_rules! condition_help {
    () => {
        "\
Which items:
  --where compares items with a number: 'OP NUMBER', OP one of < <= > >= == !=. Integers are compared with
  the very number, be it negative, fractional or beyond their type; floats with the nearest number of
  their type. A NaN fulfils only !=. --flags names a .npy file of a number or bool for each item, which
  counts unless it is 0."
    };
}

const SELECT_HELP: &str = concat!(
    condition_help!(),
    "

Output:
",
    output_help!(),
    "

Examples:
  upsweep select heights.npy --where '>= 1.75' -o tall.npy
  upsweep select prices.npy --flags sold.npy -o sold_prices.npy
  upsweep select samples.raw --dtype u16 --where '!= 0' -o samples.npy
  seq 10 | upsweep select - --dtype u32 --where '> 7' -o -"
);

/// `upsweep select`.
#[derive(Debug, Args)]
#[command(after_help = SELECT_HELP)]
pub(crate) struct SelectArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

const PARTITION_HELP: &str = concat!(
    condition_help!(),
    "
  They come first, and the others behind them, both in their order. How many come first is printed, on
  standard error if the array goes to standard output.

Three parts:
  --then-where or --then-flags says of the same kind which of the others come second; the rest comes last.
  Where the second part and the rest begin is printed, one number a line.

Output:
",
    output_help!(),
    "

Examples:
  upsweep partition heights.npy --where '>= 1.75' -o tall_first.npy
  upsweep partition prices.npy --flags sold.npy -o sold_first.npy
  upsweep partition balances.npy --where '< 0' --then-where '== 0' -o by_sign.npy"
);

/// `upsweep partition`.
#[derive(Debug, Args)]
#[command(after_help = PARTITION_HELP)]
pub(crate) struct PartitionArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) then: ThenArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

const POSITIONS_HELP: &str = concat!(
    "\
Output:
  The numbers of the items that are not 0, counted from 0, as u64. NaN is not 0, and neither is -0; bools
  are 0 and 1.
",
    output_help!(),
    "

Examples:
  upsweep positions sold.npy -o places.npy
  printf '0 3 0 1\\n' | upsweep positions - --dtype i32 -o -"
);

/// `upsweep positions`.
#[derive(Debug, Args)]
#[command(after_help = POSITIONS_HELP)]
pub(crate) struct PositionsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}

/// Where an array goes.
#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Where to write: a file, a pipe, or - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// How to write; chosen from the names unless said
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<OutputFormat>,
}

/// Which items are kept.
#[derive(Debug, Args)]
#[group(id = "keep", required = true, multiple = false)]
pub(crate) struct KeepArguments {
    /// Items that compare so with a number, such as '>= 1.5'
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,

    /// Items whose number in a .npy file is not 0
    #[arg(long, value_name = "FLAGS")]
    flags: Option<PathBuf>,
}

/// Which of the items that are not kept are the second of three parts.
#[derive(Debug, Args)]
#[group(id = "then", multiple = false)]
pub(crate) struct ThenArguments {
    /// Items behind those of --where that compare so with a number
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true, conflicts_with = "flags")]
    then_where: Option<String>,

    /// Items behind those of --flags whose number in a .npy file is not 0
    #[arg(long, value_name = "FLAGS", conflicts_with = "condition")]
    then_flags: Option<PathBuf>,
}

/// What was given, and by which option.
pub(crate) enum Condition<'a> {
    /// A comparison.
    Where(&'static str, &'a str),
    /// A file of flags.
    Flags(&'static str, &'a Path),
}

impl KeepArguments {
    /// Which of the options was given; clap sees to it that one is.
    pub(crate) fn given(&self) -> Condition<'_> {
        match &self.flags {
            Some(flags) => Condition::Flags("--flags", flags),
            None => Condition::Where("--where", self.condition.as_deref().unwrap_or_default()),
        }
    }
}

impl ThenArguments {
    /// Which of the options was given, if one was; clap sees to it that it is of the same kind as the first condition.
    pub(crate) fn given(&self) -> Option<Condition<'_>> {
        let flags = self.then_flags.as_deref().map(|flags| Condition::Flags("--then-flags", flags));
        let condition = self.then_where.as_deref();
        flags.or(condition.map(|condition| Condition::Where("--then-where", condition)))
    }
}
