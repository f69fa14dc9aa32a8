//! `upsweep select`: the items of a file that are kept.

use upsweep::any::{self, AnyViewMut};

use super::kept::{self, Kept};
use super::scan::bytes_of;
use crate::args::{InputArguments, SelectArguments};
use crate::error::Result;
use crate::input::Input;
use crate::output::{NewArray, Target};
use crate::progress::Progress;

/// Writes the items of a file that are kept.
pub(crate) fn run(arguments: &SelectArguments) -> Result<()> {
    let to = &arguments.output;
    let target = Target::of(&to.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let mut kept = Kept::open(arguments.keep.given(), &input)?;
    let (dtype, size) = (input.dtype, input.dtype.size());
    let device =
        kept::place("select", &arguments.device, dtype, input.items * size + kept.bytes())?;
    input.will_read(false);
    let format = to.format.unwrap_or_else(|| target.format(input.format));
    let progress = Progress::new(input.item_bytes());
    let (items, kept) = (input.items()?, kept.items()?);
    let mut output = NewArray::create(&target, &to.output, dtype, format, None)?;
    let (mut room, mut flags, mut count) = (Vec::new(), Vec::new(), [0]);
    items.in_steps(kept::step(&items), &progress, |start, chunk| {
        let keep = kept.of(start..start + chunk.len(), &mut flags)?;
        let room = bytes_of(&mut room, chunk.len() * size);
        let into = AnyViewMut::from_bytes(dtype, room)?;
        any::select_into(&device, chunk, keep, into, &mut count)?;
        output.write(&room[..count[0] as usize * size])
    })?;
    output.finish()
}
