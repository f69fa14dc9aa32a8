//! `upsweep reduce-by-key`: the values of each run of equal keys combined.

use std::path::Path;

use upsweep::any::{self, AnyArray, Reduce};
use upsweep::profile::Traffic;
use upsweep_measure::{device, log};

use super::reduce::{check, combined_in};
use crate::args::{OutputFormat, ReadingArguments, ReduceByKeyArguments};
use crate::error::{Failure, Result};
use crate::input::Input;
use crate::output::{NewArray, Target};

/// Writes the key of each run, and what its values combine to.
pub(crate) fn run(arguments: &ReduceByKeyArguments) -> Result<()> {
    let (op, acc, to) = (arguments.op, arguments.acc, &arguments.output);
    let targets = [Target::of(&to.output)?, Target::of(&arguments.keys)?];
    let paths = [&*to.output, &*arguments.keys];
    check_targets(&targets, ["-o", "--keys"])?;
    let mut keys = open_keys(arguments)?;
    let mut values = Input::open(&arguments.values, arguments.dtype, &arguments.reading)?;
    let (key, value) = (keys.dtype, values.dtype);
    let bytes = values.items * value.size() + keys.items * key.size();
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let dtypes = [value, acc.unwrap_or_else(|| combined_in(op, value))];
    let device = device::place(wanted, options, Traffic::Reads, bytes, &dtypes)?;
    check(op, value, acc)?;
    log!("{op} by key on {}", device.id());
    let formats = [&targets[0], &targets[1]]
        .map(|target| to.format.unwrap_or_else(|| target.format(values.format)));
    let problem = Reduce { op, acc, init: None };
    let (mut buffer, mut other_buffer) = (Vec::new(), Vec::new());
    let (keys, values) = (keys.items()?, values.items()?);
    let keys = keys.get(0..keys.len(), &mut buffer)?;
    let values = values.get(0..values.len(), &mut other_buffer)?;
    if keys.len() != values.len() {
        let (keys, values) = (keys.len(), values.len());
        return Err(Failure::usage(format!("there are {keys} keys for {values} values")));
    }
    let (keys, values) = match op.is_position() {
        false => any::reduce_by_key(&device, keys, values, &problem)?,
        true => {
            let segments = any::segments_by_keys(keys)?;
            let found = any::segmented_reduce(&device, values, &segments, &problem)?;
            (any::unique(&device, keys)?.into_array()?, found)
        }
    };
    write_both([&values, &keys], &targets, paths, formats)
}

/// Opens the keys, whose bools are 0 and 1.
fn open_keys(arguments: &ReduceByKeyArguments) -> Result<Input> {
    let path = &arguments.of;
    if path == Path::new("-") {
        return Err(Failure::usage("KEYS is a file; - is for VALUES"));
    }
    let raw = arguments.reading.raw;
    let reading = ReadingArguments { separator: None, missing: None, raw };
    match arguments.key_dtype {
        Some(dtype) => Input::open(path, Some(dtype), &reading),
        None => Input::open_npy(path, "KEYS without --key-dtype"),
    }
}

/// Refuses two arrays that would go to one place.
pub(super) fn check_targets(targets: &[Target; 2], options: [&str; 2]) -> Result<()> {
    let is_same = match targets {
        [Target::Stdout, Target::Stdout] => true,
        [Target::File(one), Target::File(other)] => one == other,
        _ => false,
    };
    let [one, other] = options;
    let message =
        || format!("{one} and {other} name the same place, {}", targets[0].path().display());
    if is_same { Err(Failure::usage(message())) } else { Ok(()) }
}

/// Writes two arrays, of which files appear when both are written.
fn write_both(
    arrays: [&AnyArray; 2],
    targets: &[Target; 2],
    paths: [&Path; 2],
    formats: [OutputFormat; 2],
) -> Result<()> {
    let mut all = Vec::new();
    for (number, array) in arrays.into_iter().enumerate() {
        let (target, path, format) = (&targets[number], paths[number], formats[number]);
        let items = Some(array.len() as u64);
        let mut output = NewArray::create(target, path, array.dtype(), format, items)?;
        output.write(&array.to_bytes()?)?;
        output.complete()?;
        all.push(output);
    }
    all.into_iter().try_for_each(NewArray::publish)
}
