//! `upsweep reduce` and `upsweep scan` with segments: a value for each, or the prefixes of each.

use std::path::Path;

use upsweep::any::{self, AnyArray, AnyView, Reduce, Scalar, Scan};
use upsweep::{Device, Dtype};

use crate::args::{OutputFormat, ReduceArguments};
use crate::error::Result;
use crate::input::Input;
use crate::npy;
use crate::output::{ItemStream, NewFile, Target};

/// A file that says where segments begin.
pub(super) struct Segments {
    /// How it does, by the name of an option.
    option: &'static str,
    file: Input,
}

impl Segments {
    pub(super) fn open((option, path): (&'static str, &Path)) -> Result<Self> {
        Ok(Self { option, file: Input::open_npy(path, option)? })
    }

    pub(super) fn bytes(&self) -> usize {
        self.file.items * self.file.dtype.size()
    }

    /// Calls `work` with the items of a file, cut into segments.
    fn cut<R>(
        &mut self,
        input: &mut Input,
        work: impl FnOnce(AnyView<'_>, &upsweep::Segments<'_>) -> upsweep::Result<R>,
    ) -> Result<R> {
        let (mut buffer, mut other_buffer) = (Vec::new(), Vec::new());
        let (items, stored) = (input.items()?, self.file.items()?);
        let stored = stored.get(0..stored.len(), &mut buffer)?;
        let segments = match self.option {
            "--offsets" => any::segments_by_offsets(stored)?,
            "--flags" => any::segments_by_flags(stored)?,
            _ => any::segments_by_keys(stored)?,
        };
        Ok(work(items.get(0..items.len(), &mut other_buffer)?, &segments)?)
    }

    /// Reduces each segment of a file, and writes the values.
    pub(super) fn reduce(
        &mut self,
        device: &Device,
        input: &mut Input,
        problem: &Reduce,
        arguments: &ReduceArguments,
    ) -> Result<()> {
        let path = arguments.output.as_deref();
        let target = Target::of(path.unwrap_or(Path::new("-")))?;
        let format = match (arguments.format, path) {
            (Some(format), _) => format,
            (None, Some(_)) => target.format(input.format),
            (None, None) => OutputFormat::Text,
        };
        let values = self.cut(input, |items, segments| {
            any::segmented_reduce(device, items, segments, problem)
        })?;
        let shape = [values.len() as u64];
        write(&values, &shape, &target, path, format, problem.op.is_position())
    }

    /// Scans each segment of a file to items of type `out`, and writes them.
    pub(super) fn scan(
        &mut self,
        device: &Device,
        input: &mut Input,
        out: Dtype,
        problem: &Scan,
        (target, path, format): (&Target, &Path, OutputFormat),
    ) -> Result<()> {
        let shape = input.shape.clone();
        let prefixes = self.cut(input, |items, segments| {
            any::segmented_scan(device, items, segments, out, problem)
        })?;
        write(&prefixes, &shape, target, Some(path), format, false)
    }
}

/// Writes an array.
fn write(
    array: &AnyArray,
    shape: &[u64],
    target: &Target,
    path: Option<&Path>,
    format: OutputFormat,
    are_positions: bool,
) -> Result<()> {
    let (dtype, bytes) = (array.dtype(), array.to_bytes()?);
    let to = |mut stream: ItemStream<'_>| {
        match format {
            OutputFormat::Npy => stream.write(&npy::header(dtype, shape))?,
            OutputFormat::Text if are_positions => {
                stream.write(lines_of_positions(&bytes).as_bytes())?;
                return stream.flush();
            }
            OutputFormat::Raw | OutputFormat::Text => {}
        }
        stream.write_items(&bytes)?;
        stream.flush()
    };
    match target {
        Target::File(file) => {
            let shown = path.unwrap_or(file);
            let new = NewFile::create(file, shown)?;
            to(ItemStream::new(Box::new(new.file()), shown, dtype, format))?;
            new.finish()
        }
        Target::Stream(_) | Target::Stdout => {
            to(ItemStream::new(target.open_stream()?, target.path(), dtype, format))
        }
    }
}

/// A position a line, `none` of a segment without items.
fn lines_of_positions(bytes: &[u8]) -> String {
    let line = |position: &[u8]| match Scalar::from_bytes(Dtype::U64, position) {
        Some(position) if position != Scalar::new(u64::MAX) => format!("{position}\n"),
        _ => "none\n".to_owned(),
    };
    bytes.chunks_exact(size_of::<u64>()).map(line).collect()
}
