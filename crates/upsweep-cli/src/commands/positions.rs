//! `upsweep positions`: the numbers of the items of a file that are not 0.

use bytemuck::cast_slice;
use upsweep::Dtype;
use upsweep::any;

use super::kept;
use crate::args::{InputArguments, PositionsArguments};
use crate::error::Result;
use crate::input::Input;
use crate::output::{NewArray, Target};
use crate::progress::Progress;

/// Writes the numbers of the items of a file that are not 0.
pub(crate) fn run(arguments: &PositionsArguments) -> Result<()> {
    let to = &arguments.output;
    let target = Target::of(&to.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open_flags(file, *dtype, reading)?;
    let bytes = input.items * input.dtype.size();
    let device = kept::place("positions", &arguments.device, input.dtype, bytes)?;
    input.will_read(false);
    let format = to.format.unwrap_or_else(|| target.format(input.format));
    let progress = Progress::new(input.item_bytes());
    let items = input.items()?;
    let mut output = NewArray::create(&target, &to.output, Dtype::U64, format, None)?;
    // A chunk's own numbers have 32 bits, which every GPU writes.
    let (mut numbers, mut positions) = (Vec::<u32>::new(), Vec::<u64>::new());
    items.in_steps(kept::step(&items), &progress, |start, chunk| {
        let mut count = [0];
        numbers.resize(chunk.len(), 0);
        any::positions_into(&device, chunk, &mut numbers, &mut count)?;
        let found = &numbers[..count[0] as usize];
        positions.clear();
        positions.extend(found.iter().map(|&number| start as u64 + u64::from(number)));
        output.write(cast_slice(&positions))
    })?;
    output.finish()
}
