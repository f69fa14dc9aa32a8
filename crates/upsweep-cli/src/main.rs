//! The `upsweep` program: reduces, scans and compacts files, lists devices, measures speed, shows what makes it, keeps what was best, and explains calls.

mod args;
mod columns;
mod commands;
mod containers;
mod error;
mod input;
mod npy;
mod output;
mod progress;
mod record;
mod spool;
mod tables;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use upsweep_measure::log::complain;

use crate::args::{Arguments, Command};
use crate::error::{Failure, Result};

fn main() -> ExitCode {
    let ended = match Arguments::try_parse() {
        Ok(arguments) => run(&arguments.command),
        Err(error) => refuse(&error),
    };
    let status = match ended {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.is_reader_gone() {
                complain(&failure.to_string());
            }
            failure.status()
        }
    };
    if upsweep_measure::tune::compilers_are_running() {
        // Everything is written. What drivers do at the end of a program is not meant for one whose threads compile.
        signal_hook::low_level::exit(status.into());
    }
    ExitCode::from(status)
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Reduce(arguments) => commands::reduce::run(arguments),
        Command::Scan(arguments) => commands::scan::run(arguments),
        Command::Select(arguments) => commands::select::run(arguments),
        Command::Positions(arguments) => commands::positions::run(arguments),
        Command::Partition(arguments) => commands::partition::run(arguments),
        Command::Unique(arguments) => commands::runs::unique(arguments),
        Command::Rle(arguments) => commands::runs::rle(arguments),
        Command::ReduceByKey(arguments) => commands::reduce_by_key::run(arguments),
        Command::Transpose(arguments) => commands::axes::transpose(arguments),
        Command::Devices(arguments) => commands::devices::run(arguments),
        Command::Bench(arguments) => Ok(commands::bench::run(arguments)?),
        Command::Ladder(arguments) => commands::ladder::run(arguments),
        Command::Tune(arguments) => commands::tune::run(arguments),
        Command::Explain(arguments) => commands::explain::run(arguments),
        Command::Report(arguments) => commands::report::run(arguments),
    }
}

/// Prints help where it was asked for, and one line where the command line is wrong.
fn refuse(error: &clap::Error) -> Result<()> {
    let text = error.to_string();
    if !error.use_stderr() {
        return io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout);
    }
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    ) {
        let known = "reduce scan select positions partition unique rle reduce-by-key transpose devices bench ladder tune explain report";
        return Err(Failure::usage(format!("no command is given; known are {known}")));
    }
    // The first paragraph says what is wrong; usage and hints follow.
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let message = lines.collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    Err(Failure::usage(format!("{message}; 'upsweep --help' tells more")))
}
