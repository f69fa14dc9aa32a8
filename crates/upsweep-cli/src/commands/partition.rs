//! `upsweep partition`: the items of a file, those that are kept in front of the others.

use std::io::{self, Write};
use std::path::Path;

use upsweep::any::{self, AnyViewMut};

use super::kept::{self, Kept};
use super::scan::bytes_of;
use crate::args::{InputArguments, PartitionArguments};
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::output::{NewArray, Target};
use crate::progress::Progress;
use crate::record::print;

/// Writes all items of a file, in two passes over it: those that are kept, and then the others. Prints how many are kept.
pub(crate) fn run(arguments: &PartitionArguments) -> Result<()> {
    let to = &arguments.output;
    let target = Target::of(&to.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let mut kept = Kept::open(&arguments.keep, &input)?;
    let (dtype, size) = (input.dtype, input.dtype.size());
    let device =
        kept::place("partition", &arguments.device, dtype, input.items * size + kept.bytes())?;
    input.will_read(false);
    let format = to.format.unwrap_or_else(|| target.format(input.format));
    let progress = Progress::new(2 * input.item_bytes());
    let (items, kept) = (input.items()?, kept.items()?);
    let all = Some(items.len() as u64);
    let mut output = NewArray::create(&target, &to.output, dtype, format, all)?;
    let (mut room, mut flags, mut border) = (Vec::new(), Vec::new(), 0);
    for is_first in [true, false] {
        items.in_steps(kept::step(&items), &progress, |start, chunk| {
            let keep = kept.of(start..start + chunk.len(), &mut flags)?;
            let room = bytes_of(&mut room, chunk.len() * size);
            let (into, mut count) = (AnyViewMut::from_bytes(dtype, room)?, [0]);
            any::partition_into(&device, chunk, keep, into, &mut count)?;
            let (first, others) = room.split_at(count[0] as usize * size);
            border += if is_first { count[0] } else { 0 };
            output.write(if is_first { first } else { others })
        })?;
    }
    output.finish()?;
    let line = format!("{border}\n");
    match target {
        Target::Stdout => io::stderr()
            .write_all(line.as_bytes())
            .map_err(|error| Failure::file("write", Path::new("standard error"), error)),
        _ => Ok(print(&line)?),
    }
}
