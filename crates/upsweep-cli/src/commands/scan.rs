//! `upsweep scan`: every prefix of a file, combined, as an array of the same shape.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use bytemuck::cast_slice_mut;
use upsweep::any::{self, AnyViewMut, Kernel, Scalar, Scan, ScanStream};
use upsweep::profile::Traffic;
use upsweep::{Bounds, Direction, Dtype};
use upsweep_measure::{check_accumulator, device, log};

use crate::args::{InputArguments, OutputFormat, ScanArguments};
use crate::error::{Failure, Result};
use crate::input::{Input, Items};
use crate::npy;
use crate::output::{self, ItemStream, NewFile, Target};
use crate::progress::Progress;
use crate::spool::unnamed_file;

use super::axes;
use super::segments::Segments;

/// Scans a file.
pub(crate) fn run(arguments: &ScanArguments) -> Result<()> {
    let op = arguments.op;
    if !op.scans() {
        return Err(Failure::usage(format!(
            "there is no scan with {op}; known are sum product min max and or xor",
        )));
    }
    let target = Target::of(&arguments.output)?;
    let InputArguments { file, dtype, reading } = &arguments.input;
    let mut input = Input::open(file, *dtype, reading)?;
    let dtype = arguments.acc.unwrap_or_else(|| any::scan_output(op, input.dtype));
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let mut segments = arguments.segments.given().map(Segments::open).transpose()?;
    let marks = segments.as_ref().map_or(0, Segments::bytes);
    let bytes = input.items * (input.dtype.size() + dtype.size()) + marks;
    let device = device::place(wanted, options, Traffic::Copies, bytes, &[input.dtype, dtype])?;
    op.check(input.dtype)?;
    if arguments.acc.is_none() && dtype != input.dtype && !device.limits().int64 {
        let (item, id) = (input.dtype, device.id());
        return Err(Failure::usage(format!(
            "a scan of {item} is written in {dtype}, which {id} does not have; --acc {item} keeps the type",
        )));
    }
    check_accumulator(input.dtype, dtype)?;
    op.check(dtype)?;
    let init = arguments.init.as_deref().map(|text| Scalar::parse(text, any::combined_in(dtype)));
    let init = init.transpose().map_err(|problem| Failure::usage(format!("--init {problem}")))?;
    let format = arguments.format.unwrap_or_else(|| target.format(input.format));
    input.will_read(arguments.reverse);

    let choice = any::scan_choice(&device, input.dtype, dtype, input.items);
    log!("{op} on {}: strategy {}, {:?}", device.id(), choice.0, choice.1);
    let kernel = any::scan_kernel(op, input.dtype, dtype);
    if let Some(Kernel { op, item, out, converts }) = kernel {
        let first = if converts { ", items converted first" } else { "" };
        log!("kernel {op} {item} to {out}{first}");
    }
    let bounds = if arguments.exclusive { Bounds::Exclusive } else { Bounds::Inclusive };
    let direction = if arguments.reverse { Direction::Reverse } else { Direction::Forward };

    let problem = Scan { op, bounds, direction, init };
    if let Some(segments) = &mut segments {
        let to = (&target, &*arguments.output, format);
        return segments.scan(&device, &mut input, dtype, &problem, to);
    }
    if let Some(axes) = &arguments.axes.axis {
        let (rows, to) =
            ((&axes[..], &arguments.axes.shape), (&target, &*arguments.output, Some(format)));
        return axes::scan(&device, &mut input, rows, (dtype, &problem), to);
    }
    if arguments.axes.shape.shape.is_some() {
        return Err(Failure::usage("--shape is for --axis"));
    }
    let header = match format {
        OutputFormat::Npy => npy::header(dtype, &input.shape),
        OutputFormat::Raw | OutputFormat::Text => Vec::new(),
    };
    let bytes = (header.len() as u64).saturating_add((input.items as u64) * dtype.size() as u64);
    let progress = Progress::new(input.item_bytes());
    let item = input.dtype;
    let items = input.items()?;
    let job = |destination: Destination<'_>| -> Result<()> {
        Job {
            stream: ScanStream::new(&device, item, dtype, &problem)?,
            items,
            kernel,
            out: dtype,
            progress: &progress,
            destination,
        }
        .run()
    };

    match &target {
        Target::File(path) if format != OutputFormat::Text => {
            let new = NewFile::create(path, &arguments.output)?;
            into_file(new.file(), &arguments.output, &header, bytes, job)?;
            new.finish()
        }
        Target::File(path) => {
            let new = NewFile::create(path, &arguments.output)?;
            let mut out = ItemStream::new(Box::new(new.file()), &arguments.output, dtype, format);
            stream(&mut out, &header, bytes, arguments.reverse, job)?;
            drop(out);
            new.finish()
        }
        Target::Stream(_) | Target::Stdout => {
            let mut out = ItemStream::new(target.open_stream()?, target.path(), dtype, format);
            stream(&mut out, &header, bytes, arguments.reverse, job)
        }
    }
}

/// Bytes that are copied at once.
const PART: usize = 1 << 20;

/// Scans into a file behind a header, `bytes` bytes in all.
fn into_file(
    file: &File,
    path: &Path,
    header: &[u8],
    bytes: u64,
    job: impl FnOnce(Destination<'_>) -> Result<()>,
) -> Result<()> {
    output::begin(file, path, header, bytes)?;
    match output::map(file) {
        Some(mut map) => job(Destination::Memory(&mut map[header.len()..])),
        None => job(Destination::File { file, path, offset: header.len() as u64 }),
    }
}

/// Scans into a stream. From the last item to the first, what comes out first is written last:
/// the output is put together in a file without a name.
fn stream(
    out: &mut ItemStream<'_>,
    header: &[u8],
    bytes: u64,
    reverse: bool,
    job: impl FnOnce(Destination<'_>) -> Result<()>,
) -> Result<()> {
    out.write(header)?;
    if reverse {
        let (mut file, directory) = (unnamed_file()?, std::env::temp_dir());
        let mut left = bytes - header.len() as u64;
        into_file(&file, &directory, &[], left, job)?;
        let failure = |error| Failure::file("read", &directory, error);
        file.rewind().map_err(failure)?;
        let mut part = vec![0; PART];
        while left > 0 {
            let length = usize::try_from(left).map_or(PART, |left| left.min(PART));
            file.read_exact(&mut part[..length]).map_err(failure)?;
            out.write_items(&part[..length])?;
            left -= length as u64;
        }
    } else {
        job(Destination::Stream(out))?;
    }
    out.flush()
}

/// Where the items of the output go.
enum Destination<'a> {
    /// To their places.
    Memory(&'a mut [u8]),
    /// To their places in a file, from this byte on.
    File { file: &'a File, path: &'a Path, offset: u64 },
    /// Out of the program, from first to last.
    Stream(&'a mut dyn ItemWriter),
}

/// Something that takes the bytes of items.
trait ItemWriter {
    fn write_items(&mut self, bytes: &[u8]) -> Result<()>;
}

impl ItemWriter for ItemStream<'_> {
    fn write_items(&mut self, bytes: &[u8]) -> Result<()> {
        ItemStream::write_items(self, bytes)
    }
}

/// A scan of all items.
struct Job<'a, 'd> {
    stream: ScanStream,
    items: Items<'a>,
    kernel: Option<Kernel>,
    /// The type of the output.
    out: Dtype,
    progress: &'a Progress,
    destination: Destination<'d>,
}

impl Job<'_, '_> {
    fn run(self) -> Result<()> {
        let Self { mut stream, items, kernel, out: dtype, progress, destination } = self;
        let (n, size) = (items.len(), dtype.size());
        let step = items.step(kernel, ScanStream::CHUNK);
        // What is read in place comes in large chunks; an output that is not in place needs memory.
        let short = step.min(ScanStream::CHUNK * 8);
        let mut buffer = Vec::new();
        match destination {
            Destination::Memory(bytes) => {
                for range in chunks(n, step, stream.direction()) {
                    let chunk = items.get(range.clone(), &mut buffer)?;
                    let output = &mut bytes[range.start * size..range.end * size];
                    stream.next(chunk, AnyViewMut::from_bytes(dtype, output)?)?;
                    progress.advance(range.len() * items.size())?;
                }
            }
            Destination::File { mut file, path, offset } => {
                let mut output = Vec::new();
                for range in chunks(n, short, stream.direction()) {
                    let chunk = items.get(range.clone(), &mut buffer)?;
                    let output = bytes_of(&mut output, range.len() * size);
                    stream.next(chunk, AnyViewMut::from_bytes(dtype, output)?)?;
                    file.seek(SeekFrom::Start(offset + (range.start * size) as u64))
                        .and_then(|_| file.write_all(output))
                        .map_err(|error| Failure::file("write", path, error))?;
                    progress.advance(range.len() * items.size())?;
                }
            }
            Destination::Stream(out) => {
                let mut output = Vec::new();
                items.in_steps(short, progress, |_, chunk| {
                    let output = bytes_of(&mut output, chunk.len() * size);
                    stream.next(chunk, AnyViewMut::from_bytes(dtype, output)?)?;
                    out.write_items(output)
                })?;
            }
        }
        Ok(())
    }
}

/// So many bytes in a buffer for items of any type.
pub(super) fn bytes_of(buffer: &mut Vec<u64>, bytes: usize) -> &mut [u8] {
    buffer.resize(bytes.div_ceil(8), 0);
    &mut cast_slice_mut(buffer)[..bytes]
}

/// `n` items by `step`, in the order of a scan. A shorter chunk is the last to come, from either end.
fn chunks(n: usize, step: usize, direction: Direction) -> impl Iterator<Item = Range<usize>> {
    (0..n.div_ceil(step)).map(move |number| match direction {
        Direction::Forward => number * step..n.min((number + 1) * step),
        Direction::Reverse => n.saturating_sub((number + 1) * step)..n - number * step,
    })
}
