//! What can be said to `upsweep report`.

use std::path::PathBuf;

use clap::Args;
use upsweep_measure::selection::{Devices, Lengths};
use upsweep_measure::tune::budget::Span;

const HELP: &str = "\
One HTML file that needs nothing else: no network, no script. It shows bandwidth against length with the speed of
memory drawn in, and against the length of a row; time against length of CPU and GPU with the length from which on the
GPU is faster; what each strategy and each size of a workgroup is worth; the seven classic steps; a roofline; and the
best strategies. Every figure has its numbers in a table, and all rows are JSON in the element with the id 'data'.

Without --from everything is measured now, in this program: the CPU and every GPU that is not made of software, shortest arrays
first, as far as the budget goes. Every result is compared. --save keeps the rows, from which --from makes the same page.

Examples:
  upsweep report                                 a minute and one for each GPU, then report.html
  upsweep report --device cpu,cuda:0 --budget 5m --save rows -o h200.html
  upsweep report --from rows/bench.csv,rows/rows.csv,rows/tune.csv -o h200.html --figures figures";

/// `upsweep report`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReportArguments {
    /// Where to write the page: a file, a pipe, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,

    /// Measure nothing: show the rows of these records, between commas, as bench, tune and ladder write them with --csv
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["n", "budget", "save"]
    )]
    pub(crate) from: Vec<PathBuf>,

    /// Devices, between commas; all [default: the CPU and every GPU that is not made of software]
    #[arg(long, value_name = "LIST", env = "UPSWEEP_DEVICE", hide_env_values = true)]
    pub(crate) device: Option<Devices>,

    /// Numbers of items, between commas; as far as they fit
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26"
    )]
    pub(crate) n: Lengths,

    /// About how long all measurements may take: 60s, 5m [default: a minute, and one more for each GPU]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Span>,

    /// Keep what was measured in this folder: bench.csv, rows.csv, tune.csv, ladder.csv
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,

    /// Also write each figure to this folder, as an SVG file that needs nothing else
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figures: Option<PathBuf>,

    /// What figures call a device, such as 'cuda:0=NVIDIA H200'; may be said several times
    #[arg(long = "name", value_name = "ID=TEXT", value_parser = named)]
    pub(crate) names: Vec<(String, String)>,

    /// What the heading calls the machine [default: the names of its devices]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// An id and a name.
fn named(text: &str) -> Result<(String, String), String> {
    let (id, name) = text.split_once('=').ok_or("it is no name such as 'cuda:0=NVIDIA H200'")?;
    Ok((id.to_owned(), name.to_owned()))
}
