//! `upsweep unique` and `upsweep rle`: runs of equal neighbours in a file.

use upsweep::Dtype;
use upsweep::any::{self, AnyViewMut};

use super::kept;
use super::reduce_by_key::check_targets;
use super::scan::bytes_of;
use crate::args::{InputArguments, RleArguments, UniqueArguments};
use crate::error::Result;
use crate::input::Input;
use crate::output::{NewArray, Target};
use crate::progress::Progress;

/// Writes the first item of each run.
pub(crate) fn unique(arguments: &UniqueArguments) -> Result<()> {
    let to = &arguments.output;
    let target = Target::of(&to.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let (dtype, size) = (input.dtype, input.dtype.size());
    let device = kept::place("unique", &arguments.device, dtype, input.items * size)?;
    input.will_read(false);
    let format = to.format.unwrap_or_else(|| target.format(input.format));
    let progress = Progress::new(input.item_bytes());
    let items = input.items()?;
    let mut output = NewArray::create(&target, &to.output, dtype, format, None)?;
    let (mut room, mut count) = (Vec::new(), [0]);
    // The item in front of a chunk.
    let mut last: Vec<u8> = Vec::new();
    items.in_steps(kept::step(&items), &progress, |_, chunk| {
        let room = bytes_of(&mut room, chunk.len() * size);
        any::unique_into(&device, chunk, AnyViewMut::from_bytes(dtype, room)?, &mut count)?;
        let found = &room[..count[0] as usize * size];
        let goes_on = !last.is_empty() && found.starts_with(&last);
        output.write(if goes_on { &found[size..] } else { found })?;
        // That of the last run is the last item.
        last.clear();
        last.extend_from_slice(&found[found.len() - size..]);
        Ok(())
    })?;
    output.finish()
}

/// Writes the first item of each run, and how many items it has.
pub(crate) fn rle(arguments: &RleArguments) -> Result<()> {
    let to = &arguments.output;
    let targets = [Target::of(&to.output)?, Target::of(&arguments.counts)?];
    check_targets(&targets, ["-o", "--counts"])?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let (dtype, size) = (input.dtype, input.dtype.size());
    let device = kept::place("rle", &arguments.device, dtype, input.items * size)?;
    input.will_read(false);
    let [format, counts_format] = [&targets[0], &targets[1]]
        .map(|target| to.format.unwrap_or_else(|| target.format(input.format)));
    let progress = Progress::new(input.item_bytes());
    let items = input.items()?;
    let [target, counts_target] = &targets;
    let mut values = NewArray::create(target, &to.output, dtype, format, None)?;
    let (path, dtype_of_counts) = (&arguments.counts, Dtype::U64);
    let mut counts = NewArray::create(counts_target, path, dtype_of_counts, counts_format, None)?;
    let (mut room, mut lengths, mut number) = (Vec::new(), Vec::<u32>::new(), [0]);
    let mut wide: Vec<u64> = Vec::new();
    // The value of the run that reaches the end of what was read, and how many items it has so far.
    let (mut last, mut length): (Vec<u8>, u64) = (Vec::new(), 0);
    items.in_steps(kept::step(&items), &progress, |_, chunk| {
        let room = bytes_of(&mut room, chunk.len() * size);
        lengths.resize(chunk.len(), 0);
        let into = AnyViewMut::from_bytes(dtype, room)?;
        any::run_length_encode_into(&device, chunk, into, &mut lengths, &mut number)?;
        let runs = number[0] as usize;
        let found = &room[..runs * size];
        wide.clear();
        wide.extend(lengths[..runs].iter().map(|&length| u64::from(length)));
        let goes_on = length > 0 && found.starts_with(&last);
        if goes_on {
            wide[0] += length;
        } else if length > 0 {
            values.write(&last)?;
            counts.write(&length.to_ne_bytes())?;
        }
        let (ended, own) = found.split_at(found.len() - size);
        values.write(ended)?;
        counts.write(bytemuck::cast_slice(&wide[..runs - 1]))?;
        length = wide[runs - 1];
        last.clear();
        last.extend_from_slice(own);
        Ok(())
    })?;
    if length > 0 {
        values.write(&last)?;
        counts.write(&length.to_ne_bytes())?;
    }
    let mut both = [values, counts];
    both.iter_mut().try_for_each(NewArray::complete)?;
    both.into_iter().try_for_each(NewArray::publish)
}
