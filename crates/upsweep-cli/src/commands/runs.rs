//! `upsweep unique` and `upsweep rle`: runs of equal neighbours in a file.

use upsweep::Dtype;
use upsweep::any::{AnyViewMut, RunLengthStream, UniqueStream};

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
    let mut stream = UniqueStream::new(&device, dtype);
    items.in_steps(kept::step(&items), &progress, |_, chunk| {
        let room = bytes_of(&mut room, chunk.len() * size);
        stream.next(chunk, AnyViewMut::from_bytes(dtype, room)?, &mut count)?;
        output.write(&room[..count[0] as usize * size])
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
    let (mut room, mut lengths, mut number) = (Vec::new(), Vec::<u64>::new(), [0]);
    let mut stream = RunLengthStream::new(&device, dtype, dtype_of_counts)?;
    items.in_steps(kept::step(&items), &progress, |_, chunk| {
        let room = bytes_of(&mut room, chunk.len() * size);
        lengths.resize(chunk.len(), 0);
        let into = AnyViewMut::from_bytes(dtype, room)?;
        stream.next(chunk, into, &mut lengths, &mut number)?;
        let ended = number[0] as usize;
        values.write(&room[..ended * size])?;
        counts.write(bytemuck::cast_slice(&lengths[..ended]))
    })?;
    if let Some((value, length)) = stream.finish() {
        values.write(value.bytes())?;
        counts.write(&length.to_ne_bytes())?;
    }
    let mut both = [values, counts];
    both.iter_mut().try_for_each(NewArray::complete)?;
    both.into_iter().try_for_each(NewArray::publish)
}
