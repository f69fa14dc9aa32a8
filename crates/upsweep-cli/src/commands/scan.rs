//! `upsweep scan`: every prefix of a file, combined, as an array of the same shape.

use std::io::{BufWriter, Write};
use std::path::Path;

use bytemuck::{cast_slice, cast_slice_mut};
use upsweep::profile::Traffic;
use upsweep::{Device, Direction, Dtype, Number, Operator, Scan, ScanStream, Widen};

use crate::args::{OutputFormat, ScanArguments};
use crate::error::{Failure, Result};
use crate::input::{Format, Input, Items};
use crate::npy;
use crate::output::{self, NewFile, Target};
use crate::progress::Progress;
use crate::spool::unnamed_file;
use upsweep_measure::check_accumulator;
use upsweep_measure::device;
use upsweep_measure::dispatch::{self, Exists, ScanKernel, combined_in, same_bits};
use upsweep_measure::log;
use upsweep_measure::value::Value;

/// Scans a file.
pub(crate) fn run(arguments: &ScanArguments) -> Result<()> {
    let op = arguments.op;
    if !op.scans() {
        return Err(Failure::usage(format!(
            "there is no scan with {op}; known are sum product min max and or xor",
        )));
    }
    let target = Target::of(&arguments.output)?;
    let input = Input::open(&arguments.input.file, arguments.input.dtype)?;
    let dtype = arguments.acc.unwrap_or(input.dtype);
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let bytes = input.items * (input.dtype.size() + dtype.size());
    let device = device::place(wanted, options, Traffic::Copies, bytes, &[input.dtype, dtype])?;
    op.check(input.dtype)?;
    check_accumulator(input.dtype, dtype)?;
    op.check(dtype)?;
    let init = arguments.init.as_deref().map(|text| Value::parse(text, combined_in(dtype)));
    let init = init.transpose().map_err(|problem| Failure::usage(format!("--init {problem}")))?;
    let format = arguments.format.unwrap_or_else(|| format(&input, &target));
    input.will_read(arguments.reverse);

    let (from, to) = same_bits(op, input.dtype, dtype);
    let direct = dispatch::scan(op, from, to, Exists).is_some();
    let (seen, from, to) = if direct {
        (input.dtype, from, to)
    } else {
        let (from, to) = same_bits(op, dtype, dtype);
        (dtype, from, to)
    };
    let choice = device.scan_choice(input.items, input.dtype.size().max(dtype.size()));
    log!("{op} on {}: strategy {}, {:?}", device.id(), choice.0, choice.1);
    log!("kernel {op} {from} to {to}{}", if direct { "" } else { ", items converted first" });
    let unsupported =
        || Failure::usage(format!("{op} of {} into {dtype} is not supported", input.dtype));

    let header = match format {
        OutputFormat::Npy => npy::header(dtype, &input.shape),
        OutputFormat::Raw | OutputFormat::Text => Vec::new(),
    };
    let bytes = (header.len() as u64).saturating_add((input.items as u64) * dtype.size() as u64);
    let progress = Progress::new(input.item_bytes());
    let job = |destination: Destination<'_>| -> Result<()> {
        let kernel = Job {
            device: &device,
            items: input.items_as(seen).ok_or_else(unsupported)?,
            progress: &progress,
            exclusive: arguments.exclusive,
            reverse: arguments.reverse,
            init,
            destination,
        };
        dispatch::scan(op, from, to, kernel).ok_or_else(unsupported)?
    };

    match &target {
        Target::File(path) if format != OutputFormat::Text => {
            let new = NewFile::create(path, &arguments.output)?;
            let mut map = output::map(new.file(), &arguments.output, &header, bytes)?;
            job(Destination::Memory(&mut map[header.len()..]))?;
            drop(map);
            new.finish()
        }
        Target::File(path) => {
            let new = NewFile::create(path, &arguments.output)?;
            let mut out = Out::new(Box::new(new.file()), &arguments.output, dtype, format);
            stream(&mut out, &header, bytes, arguments.reverse, job)?;
            drop(out);
            new.finish()
        }
        Target::Stream(_) | Target::Stdout => {
            let mut out = Out::new(target.open_stream()?, target.path(), dtype, format);
            stream(&mut out, &header, bytes, arguments.reverse, job)
        }
    }
}

/// The format of the output when the user names none.
fn format(input: &Input, target: &Target) -> OutputFormat {
    let named_npy = target.path().extension().is_some_and(|extension| extension == "npy");
    match (input.format, target) {
        (Format::Npy, _) => OutputFormat::Npy,
        (_, Target::File(_) | Target::Stream(_)) if named_npy => OutputFormat::Npy,
        (Format::Text, Target::Stdout) => OutputFormat::Text,
        _ => OutputFormat::Raw,
    }
}

/// Scans into a stream. From the last item to the first, what comes out first is written last:
/// the output is put together in a file without a name.
fn stream(
    out: &mut Out<'_>,
    header: &[u8],
    bytes: u64,
    reverse: bool,
    job: impl FnOnce(Destination<'_>) -> Result<()>,
) -> Result<()> {
    out.write(header)?;
    if reverse {
        let file = unnamed_file()?;
        let bytes = bytes - header.len() as u64;
        let mut map = output::map(&file, &std::env::temp_dir(), &[], bytes)?;
        job(Destination::Memory(&mut map))?;
        for part in map[..usize::try_from(bytes).unwrap_or(0)].chunks(1 << 20) {
            out.write_items(part)?;
        }
    } else {
        job(Destination::Stream(out))?;
    }
    out.flush()
}

/// A stream that items are written to in one format.
struct Out<'a> {
    writer: BufWriter<Box<dyn Write + 'a>>,
    path: &'a Path,
    dtype: Dtype,
    format: OutputFormat,
}

impl<'a> Out<'a> {
    fn new(
        writer: Box<dyn Write + 'a>,
        path: &'a Path,
        dtype: Dtype,
        format: OutputFormat,
    ) -> Self {
        Self { writer: BufWriter::with_capacity(1 << 16, writer), path, dtype, format }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| Failure::file("write", self.path, error))
    }

    /// Writes items that lie in memory as these bytes.
    fn write_items(&mut self, bytes: &[u8]) -> Result<()> {
        if self.format != OutputFormat::Text {
            return self.write(bytes);
        }
        for item in bytes.chunks_exact(self.dtype.size()) {
            writeln!(self.writer, "{}", Value::from_bytes(self.dtype, item))
                .map_err(|error| Failure::file("write", self.path, error))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| Failure::file("write", self.path, error))
    }
}

/// Where the items of the output go.
enum Destination<'a> {
    /// To their places.
    Memory(&'a mut [u8]),
    /// Out of the program, from first to last.
    Stream(&'a mut dyn ItemWriter),
}

/// Something that takes the bytes of items.
trait ItemWriter {
    fn write_items(&mut self, bytes: &[u8]) -> Result<()>;
}

impl ItemWriter for Out<'_> {
    fn write_items(&mut self, bytes: &[u8]) -> Result<()> {
        Out::write_items(self, bytes)
    }
}

/// A scan of everything but its types.
struct Job<'a, 'd> {
    device: &'a Device,
    items: Items<'a>,
    progress: &'a Progress,
    exclusive: bool,
    reverse: bool,
    init: Option<Value>,
    destination: Destination<'d>,
}

impl Job<'_, '_> {
    fn problem<A: Number, O: Operator<A>>(&self, operator: O) -> Scan<A, O> {
        let mut problem =
            if self.exclusive { Scan::exclusive(operator) } else { Scan::inclusive(operator) };
        problem.init = self.init.map(|init| init.bits());
        if self.reverse {
            problem.direction = Direction::Reverse;
        }
        problem
    }
}

impl ScanKernel for Job<'_, '_> {
    type Output = Result<()>;

    fn run<T, U, O>(mut self, operator: O) -> Result<()>
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let problem = self.problem(operator);
        let mut stream = ScanStream::<T, U, O>::new(self.device, problem)?;
        let chunk = ScanStream::<T, U, O>::CHUNK;
        let mut buffer = Vec::new();
        match &mut self.destination {
            Destination::Memory(bytes) => {
                let (n, size) = (self.items.len(), self.items.size());
                let output: &mut [U] = cast_slice_mut(&mut bytes[..n * size_of::<U>()]);
                let step = self.items.step::<T>(chunk);
                let chunks = n.div_ceil(step);
                for number in 0..chunks {
                    // A shorter chunk is the last to come, from either end.
                    let (start, end) = if self.reverse {
                        (n.saturating_sub((number + 1) * step), n - number * step)
                    } else {
                        (number * step, n.min((number + 1) * step))
                    };
                    let items = self.items.get(start..end, &mut buffer);
                    stream.next(items, &mut output[start..end])?;
                    self.progress.advance((end - start) * size)?;
                }
                Ok(())
            }
            Destination::Stream(out) => {
                let mut output = Vec::new();
                // What is read in place comes in large chunks; the output needs memory.
                let step = self.items.step::<T>(chunk).min(chunk * 8);
                self.items.in_steps::<T>(step, &mut buffer, self.progress, |_, items| {
                    output.resize(items.len(), U::default());
                    stream.next(items, &mut output)?;
                    out.write_items(cast_slice(&output))
                })
            }
        }
    }
}
