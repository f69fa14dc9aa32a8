//! `upsweep ladder`: what each of the seven classic steps of a sum gains on a GPU.

use upsweep_measure::Failure::Mismatch;
use upsweep_measure::ladder::{COLUMNS, climb, open};

use crate::args::LadderArguments;
use crate::error::Result;
use crate::record::{Record, print};
use crate::tables;

/// Runs and times the ladder at every length.
pub(crate) fn run(arguments: &LadderArguments) -> Result<()> {
    let device = open(&arguments.device)?;
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let mut wrong = 0;
    for (number, &n) in arguments.n.0.iter().enumerate() {
        let climb = climb(&device, n, arguments.samples.get())?;
        for line in climb.records() {
            record.line(&line)?;
        }
        if record.is_table {
            let between = if number > 0 { "\n" } else { "" };
            print(&format!("{between}{}", tables::ladder::table(&climb)))?;
        }
        wrong += climb.wrong();
    }
    record.finish()?;
    if wrong > 0 { Err(Mismatch(wrong).into()) } else { Ok(()) }
}
