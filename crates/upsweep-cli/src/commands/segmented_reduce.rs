//! `upsweep reduce` with segments: a value for each of them.

use std::path::Path;

use upsweep::any::{self, Reduce, Scalar};
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
        let (mut buffer, mut other_buffer) = (Vec::new(), Vec::new());
        let (items, stored) = (input.items()?, self.file.items()?);
        let stored = stored.get(0..stored.len(), &mut buffer)?;
        let segments = match self.option {
            "--offsets" => any::segments_by_offsets(stored)?,
            "--flags" => any::segments_by_flags(stored)?,
            _ => any::segments_by_keys(stored)?,
        };
        let items = items.get(0..items.len(), &mut other_buffer)?;
        let values = any::segmented_reduce(device, items, &segments, problem)?;
        let (dtype, shape, bytes) = (values.dtype(), [values.len() as u64], values.to_bytes()?);
        let is_position = problem.op.is_position();
        let write = |mut stream: ItemStream<'_>| {
            match format {
                OutputFormat::Npy => stream.write(&npy::header(dtype, &shape))?,
                OutputFormat::Text if is_position => {
                    stream.write(lines_of_positions(&bytes).as_bytes())?;
                    return stream.flush();
                }
                OutputFormat::Raw | OutputFormat::Text => {}
            }
            stream.write_items(&bytes)?;
            stream.flush()
        };
        match &target {
            Target::File(file) => {
                let shown = path.unwrap_or(file);
                let new = NewFile::create(file, shown)?;
                write(ItemStream::new(Box::new(new.file()), shown, dtype, format))?;
                new.finish()
            }
            Target::Stream(_) | Target::Stdout => {
                write(ItemStream::new(target.open_stream()?, target.path(), dtype, format))
            }
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
