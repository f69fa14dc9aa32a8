//! `upsweep partition`: the items of a file in two parts or three.

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

/// Writes all items of a file, in a pass over it for each part. Prints where the parts behind the first begin.
pub(crate) fn run(arguments: &PartitionArguments) -> Result<()> {
    let to = &arguments.output;
    let target = Target::of(&to.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let mut kept = Kept::open(arguments.keep.given(), &input)?;
    let then = arguments.then.given();
    let mut then = then.map(|condition| Kept::open(condition, &input)).transpose()?;
    let (dtype, size) = (input.dtype, input.dtype.size());
    let flags = kept.bytes() + then.as_ref().map_or(0, Kept::bytes);
    let device = kept::place("partition", &arguments.device, dtype, input.items * size + flags)?;
    input.will_read(false);
    let format = to.format.unwrap_or_else(|| target.format(input.format));
    let mut borders = vec![0; if then.is_some() { 2 } else { 1 }];
    let parts = borders.len() + 1;
    let progress = Progress::new(parts as u64 * input.item_bytes());
    let (items, kept) = (input.items()?, kept.items()?);
    let then = then.as_mut().map(Kept::items).transpose()?;
    let all = Some(items.len() as u64);
    let mut output = NewArray::create(&target, &to.output, dtype, format, all)?;
    let (mut room, mut flags, mut found) = (Vec::new(), [Vec::new(), Vec::new()], borders.clone());
    for part in 0..parts {
        items.in_steps(kept::step(&items), &progress, |start, chunk| {
            let range = start..start + chunk.len();
            let room = bytes_of(&mut room, chunk.len() * size);
            let into = AnyViewMut::from_bytes(dtype, room)?;
            match &then {
                None => {
                    let keep = kept.of(range, &mut flags[0])?;
                    any::partition_into(&device, chunk, keep, into, &mut found)?;
                }
                Some(then) => {
                    let parts = kept::three_parts(&kept, then, range, &mut flags)?;
                    any::partition3_into(&device, chunk, parts, into, &mut found)?;
                }
            }
            let begins = if part == 0 { 0 } else { found[part - 1] as usize };
            let ends = found.get(part).map_or(chunk.len(), |border| *border as usize);
            if part == 0 {
                borders.iter_mut().zip(&found).for_each(|(all, found)| *all += found);
            }
            output.write(&room[begins * size..ends * size])
        })?;
    }
    output.finish()?;
    let line: String = borders.iter().map(|border| format!("{border}\n")).collect();
    match target {
        Target::Stdout => io::stderr()
            .write_all(line.as_bytes())
            .map_err(|error| Failure::file("write", Path::new("standard error"), error)),
        _ => Ok(print(&line)?),
    }
}
