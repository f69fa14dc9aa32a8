//! `upsweep tune`: measures what a device does best, and keeps it in a profile.

mod awake;
mod budget;
mod cells;
mod cpu;
mod from_host;
mod gpu;
mod helpers;
mod jobs;
mod last;
mod sweep;
mod ways;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use time::OffsetDateTime;
use upsweep::profile::{self, Crossing, FromHost, Work};
use upsweep::{CpuOptions, CpuPolicy, Device, Dtype, Profile};

use crate::args::TuneArguments;
use crate::bench::report::{Record, quoted};
use crate::bench::{Primitive, input};
use crate::device;
use crate::dispatch::{self, Op, PositionKernel, ReduceKernel, ScanKernel, combined_in, same_bits};
use crate::error::{Failure, Result};
use crate::progress::{check_signals, watch_signals};
use crate::reduce::check_accumulator;

use awake::Awake;
pub(crate) use budget::Budget;
pub(crate) use budget::Span;
use gpu::{Extent, Piece};
use helpers::Helpers;
use sweep::Tried;

/// The time of a run, and of a quick one.
const BUDGET: &str = "60s";
const QUICK_BUDGET: &str = "25s";

/// Types and lengths that are measured unless others are asked for.
const DTYPES: [Dtype; 5] = [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64];
const QUICK_DTYPES: [Dtype; 3] = [Dtype::U8, Dtype::U32, Dtype::F32];
const POWERS: [u32; 10] = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
const QUICK_POWERS: [u32; 9] = [10, 12, 14, 16, 18, 20, 22, 24, 26];

/// Turns of each pair of measurements on a CPU.
const TURNS: usize = 31;
const QUICK_TURNS: usize = 11;

/// The columns of what was tried.
const COLUMNS: &str = "device,op,dtype,n,strategy,threads_per_workgroup,items_per_thread,median_us,default_us,limit_us,checked";

/// Tunes, or brings a profile from elsewhere, or takes one there.
pub(crate) fn run(arguments: &TuneArguments) -> Result<()> {
    if arguments.make_kernels {
        return helpers::serve(&arguments.device);
    }
    if arguments.check {
        watch_signals()?;
        return check(arguments);
    }
    let device = device::open(&arguments.device, CpuOptions::default())?.with_profile(None);
    let own = profile::path(device.limits());
    let place = || -> Result<PathBuf> {
        let nowhere = "UPSWEEP_CACHE_DIR is empty, so that no profile is kept; -o names a file";
        own.clone().ok_or_else(|| Failure::usage(nowhere))
    };
    if let Some(file) = &arguments.import {
        let profile = profile::read_for(device.limits(), file)?;
        return kept(&profile, &place()?);
    }
    if let Some(file) = &arguments.export {
        let found = profile::find(device.limits());
        let none = || Failure::usage(format!("there is no profile of device {}", device.id()));
        return kept(&*found.profile.ok_or_else(none)?, file);
    }
    let place = match &arguments.output {
        Some(file) => file.clone(),
        None => place()?,
    };
    check_place(&place)?;
    watch_signals()?;
    tune(arguments, &device, &place)
}

/// Holds what calls choose now against the best that a search finds.
fn check(arguments: &TuneArguments) -> Result<()> {
    let device = device::open(&arguments.device, CpuOptions::default())?;
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let span = span(arguments)?;
    let (text, wrong) = if device.id() == "cpu" {
        let found = on_cpu_in_turns(arguments, &device, span, &mut record)?;
        (lost(found.percent), found.wrong)
    } else {
        let mut found = Profile::default();
        let wrong = search(arguments, &device, span, &mut record, &mut found)?;
        (table(&found) + &lost(lost_of(&found)), wrong)
    };
    record.finish()?;
    if record.is_table {
        io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)?;
    }
    check_signals()?;
    if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) }
}

/// How much longer than the best the choice took in each row, in per cent.
fn lost_of(found: &Profile) -> Vec<f64> {
    let reductions =
        found.reductions.iter().flat_map(|rows| rows.best().iter().map(|b| b.measured));
    let scans = found.scans.iter().flat_map(|rows| rows.best().iter().map(|b| b.measured));
    let lost = reductions.chain(scans).map(|row| 100.0 * (row.default_us / row.median_us - 1.0));
    lost.collect()
}

/// In how many rows the choice was as good as the best, and where it was worst.
fn lost(mut lost: Vec<f64>) -> String {
    lost.sort_by(f64::total_cmp);
    let within = |percent: f64| lost.partition_point(|&row| row <= percent);
    match lost.last() {
        None => String::new(),
        Some(worst) => format!(
            "\nOf {} rows the choice in use loses 2 % at most in {}, 5 % at most in {}, and {worst:.1} % in the worst.\n",
            lost.len(),
            within(2.0),
            within(5.0),
        ),
    }
}

/// Finds out now, and not when everything is measured, whether a file can be written.
fn check_place(place: &Path) -> Result<()> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder).map(drop));
    written.map_err(|error| Failure::file("write", place, error))
}

/// Writes a profile, and says where.
fn kept(profile: &Profile, place: &Path) -> Result<()> {
    profile::write(profile, place)?;
    let said = format!("profile of {}: {}\n", profile.device, place.display());
    io::stdout().write_all(said.as_bytes()).map_err(Failure::stdout)
}

/// What was tried, into a record; also how many results were wrong. No profile is kept.
pub(crate) fn tried(arguments: &TuneArguments, mut record: Record) -> Result<(Record, usize)> {
    let device = device::open(&arguments.device, CpuOptions::default())?.with_profile(None);
    let span = span(arguments)?;
    record.line(COLUMNS)?;
    let wrong = search(arguments, &device, span, &mut record, &mut Profile::default())?;
    Ok((record, wrong))
}

/// How long it may take.
fn span(arguments: &TuneArguments) -> Result<Span> {
    match (arguments.budget, arguments.quick) {
        (Some(span), _) => Ok(span),
        (None, true) => QUICK_BUDGET.parse().map_err(Failure::usage),
        (None, false) => BUDGET.parse().map_err(Failure::usage),
    }
}

fn search(
    arguments: &TuneArguments,
    device: &Device,
    span: Span,
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let search = if device.id() == "cpu" { on_cpu } else { on_gpu };
    search(arguments, device, span, record, profile)
}

fn tune(arguments: &TuneArguments, device: &Device, place: &Path) -> Result<()> {
    let span = span(arguments)?;
    let limits = device.limits();
    // What is not measured now stays as it was measured before, here or by whoever made the profile in use.
    let before = profile::read_for(limits, place).ok();
    let in_use = || profile::find(limits).profile.map(|profile| Profile::clone(&profile));
    let today = OffsetDateTime::now_utc().date();
    let mut profile = Profile {
        device: limits.name.clone(),
        interface: limits.interface.clone(),
        driver: profile::driver(limits),
        measured: format!("{today} by upsweep {}", env!("CARGO_PKG_VERSION")),
        ..before.or_else(in_use).unwrap_or_default()
    };
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let wrong = search(arguments, device, span, &mut record, &mut profile)?;
    record.finish()?;
    if record.is_table {
        io::stdout().write_all(table(&profile).as_bytes()).map_err(Failure::stdout)?;
        kept(&profile, place)?;
    } else {
        profile::write(&profile, place)?;
    }
    // What there is was kept; whoever asked for the end is told so.
    check_signals()?;
    if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) }
}

fn line(device: &str, dtype: &str, row: &Tried<'_>) -> String {
    let [median, default, limit] = match row.times {
        Some(times) => {
            [times.median_us, times.default_us, times.limit_us].map(|us| format!("{us:.3}"))
        }
        None => Default::default(),
    };
    let (strategy, checked) = (quoted(row.strategy), quoted(&row.checked));
    let [threads, items] = [row.policy.threads_per_workgroup, row.policy.items_per_thread];
    let (device, operation, n) = (quoted(device), quoted(row.operation), row.items);
    format!(
        "{device},{operation},{dtype},{n},{strategy},{threads},{items},{median},{default},{limit},{checked}"
    )
}

fn on_cpu(
    arguments: &TuneArguments,
    device: &Device,
    span: Span,
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let mut budget = Budget::new(span, 1);
    let deadline = budget.next();
    budget.say("threads, streaming stores, blocks");
    let mut tell =
        |dtype: Dtype, row: &Tried<'_>| record.line(&line("cpu", &dtype.to_string(), row));
    let turns = if arguments.quick { QUICK_TURNS } else { TURNS };
    let mut search = cpu::Cpu::new(device, turns, &budget, deadline, &mut tell)?;
    profile.cpu = Some(search.run()?);
    Ok(search.wrong)
}

/// Holds what a CPU does by itself against its other ways.
fn on_cpu_in_turns(
    arguments: &TuneArguments,
    device: &Device,
    span: Span,
    record: &mut Record,
) -> Result<ways::Lost> {
    let pieces = pieces(arguments)?;
    let mut budget = Budget::new(span, pieces.len());
    let mut all = ways::Lost::default();
    for wanted in pieces {
        if check_signals().is_err() {
            break;
        }
        let deadline = budget.next();
        let Wanted { op, dtype, stored, .. } = wanted;
        let (operation, types) = wanted.names();
        budget.say(&format!("{operation} of {types}"));
        let lengths = lengths(arguments, device, dtype.size() + 2 * stored.size());
        let Some(&longest) = lengths.last() else { continue };
        let items = input::items(dtype, longest, op == Op::Product)?;
        let mut tell = |row: &Tried<'_>| record.line(&line("cpu", &types, row));
        let ways = ways::Ways {
            device,
            operation: &operation,
            lengths: &lengths,
            items: &items,
            largest: op == Op::ArgMax,
            budget: &budget,
            deadline,
            tell: &mut tell,
        };
        let Some(found) = dispatched(wanted, ways) else { continue };
        let found = found?;
        all.percent.extend(found.percent);
        all.wrong += found.wrong;
    }
    Ok(all)
}

fn on_gpu(
    arguments: &TuneArguments,
    device: &Device,
    span: Span,
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let pieces = pieces(arguments)?;
    let all = pieces.iter().map(Wanted::parts).sum::<usize>();
    let mut budget = Budget::new(span, all + usize::from(!arguments.skip_host));
    let mut helpers = Helpers::of(device);
    let in_use = profile::find(device.limits()).profile.unwrap_or_default();
    let shipped = shipped_beside(device);
    let awake = Awake::new(device)?;
    let mut wrong = 0;
    for wanted in pieces {
        if check_signals().is_err() {
            break;
        }
        let deadline = budget.next_as(wanted.parts());
        let Wanted { primitive, op, dtype, stored } = wanted;
        let (operation, types) = wanted.names();
        let name = format!("{operation} of {types}");
        budget.say(&name);
        let lengths = lengths(arguments, device, dtype.size() + stored.size());
        let Some(&longest) = lengths.last() else { continue };
        let items = input::repeated(dtype, longest, op == Op::Product)?;
        let mut tell = |row: &Tried<'_>| record.line(&line(device.id(), &types, row));
        let output = if primitive.is_position() { Dtype::U64 } else { stored };
        let work = Work { operator: op.name(), item: dtype, output };
        let piece = Piece {
            device,
            operation: &operation,
            helpers: &mut helpers,
            awake: &awake,
            work,
            in_use: &in_use,
            shipped: &shipped,
            checks: arguments.check,
            lengths,
            items: &items,
            budget: &budget,
            deadline,
            tell: &mut tell,
            profile,
        };
        let done = match dispatched(wanted, piece) {
            None => continue,
            // Types that this device does not know are no mistake of a list of types.
            Some(Err(Failure::Library(error @ upsweep::Error::ElementUnsupported { .. }))) => {
                crate::log::log!("{name}: {error}");
                continue;
            }
            Some(done) => done?,
        };
        let Extent { tried, all, wrong: found } = done;
        crate::log::log!("{name}: {tried} of {all} cells, {:.1} s", budget.elapsed().as_secs_f64());
        wrong += found;
    }
    if !arguments.skip_host && check_signals().is_ok() {
        budget.say("arrays in the host's memory");
        let tuned = device.with_profile(Some(Arc::new(profile.clone())));
        // Whoever keeps the device awake holds its stream, for half a second where a call that copies comes in between.
        drop(awake);
        let (from_host, found) = from_host::measure(&tuned, arguments.quick, budget.next())?;
        profile.from_host = Some(from_host).filter(|found| !found.reads.is_empty());
        wrong += found;
    }
    Ok(wrong)
}

/// What the library brings for devices that are reached in the same way as this one.
fn shipped_beside(device: &Device) -> Vec<Profile> {
    let by_cuda = |interface: &str| interface == "cuda";
    let own = by_cuda(&device.limits().interface);
    let all = profile::all_shipped().into_iter();
    all.filter(|profile| by_cuda(&profile.interface) == own).collect()
}

/// A piece of work that is wanted.
#[derive(Clone, Copy)]
struct Wanted {
    primitive: Primitive,
    op: Op,
    dtype: Dtype,
    stored: Dtype,
}

impl Wanted {
    /// The part of the time that it gets, where arrays in the host's memory get 1, the longest of which are not for short runs: scans write
    /// and compare their outputs, and their kernels take longer to compile.
    fn parts(&self) -> usize {
        if self.primitive.scans() { 3 } else { 2 }
    }

    /// What records call the operation and its types.
    fn names(self) -> (String, String) {
        let (dtype, stored) = (self.dtype, self.stored);
        let operation = match self.op {
            Op::Sum | Op::ArgMin | Op::ArgMax => self.primitive.name().to_owned(),
            op => format!("{}/{op}", self.primitive.name()),
        };
        let types = if stored == dtype { dtype.to_string() } else { format!("{dtype}->{stored}") };
        (operation, types)
    }
}

/// Does a piece of work with its types, if there is such a kernel.
fn dispatched<R, K>(wanted: Wanted, kernel: K) -> Option<R>
where
    K: ReduceKernel<Output = R> + ScanKernel<Output = R> + PositionKernel<Output = R>,
{
    let Wanted { primitive, op, dtype, stored } = wanted;
    match primitive {
        Primitive::ArgMin | Primitive::ArgMax => Some(dispatch::position(dtype, kernel)),
        Primitive::Reduce => {
            let (from, to) = same_bits(op, dtype, combined_in(stored));
            dispatch::reduce(op, from, to, kernel)
        }
        Primitive::InclusiveScan | Primitive::ExclusiveScan => {
            let (from, to) = same_bits(op, dtype, stored);
            dispatch::scan(op, from, to, kernel)
        }
    }
}

/// Every piece of work that is wanted and exists; scans with and without their own item are one.
fn pieces(arguments: &TuneArguments) -> Result<Vec<Wanted>> {
    let dtypes = match &arguments.dtype {
        Some(names) => names.0.clone(),
        None if arguments.quick => QUICK_DTYPES.to_vec(),
        None => DTYPES.to_vec(),
    };
    let mut scans = false;
    let mut wanted = Vec::new();
    for &primitive in &arguments.op.0 {
        if primitive.scans() && std::mem::replace(&mut scans, true) {
            continue;
        }
        let op = primitive.op(arguments.operator);
        for &dtype in &dtypes {
            let stored = arguments.acc.filter(|_| !primitive.is_position()).unwrap_or(dtype);
            if !primitive.is_position() {
                check_accumulator(dtype, stored)?;
                op.check(dtype)?;
            }
            wanted.push(Wanted { primitive, op, dtype, stored });
        }
    }
    Ok(wanted)
}

/// The lengths to measure at: those of which the device and the host hold all arrays, half of each memory being left.
fn lengths(arguments: &TuneArguments, device: &Device, bytes: usize) -> Vec<usize> {
    let mut lengths = match &arguments.n {
        Some(lengths) => lengths.0.clone(),
        None if arguments.quick => QUICK_POWERS.map(|power| 1 << power).to_vec(),
        None => POWERS.map(|power| 1 << power).to_vec(),
    };
    lengths.sort_unstable();
    lengths.dedup();
    let limits = device.limits();
    let memories = [limits.memory_bytes, input::available_memory()];
    let least = memories.into_iter().flatten().min().unwrap_or(u64::MAX);
    // Shorter lengths together are as long as the longest.
    lengths.retain(|&n| n > 0 && (2 * n as u64).saturating_mul(bytes as u64) <= least / 2);
    lengths
}

/// What a profile says, for people.
fn table(profile: &Profile) -> String {
    let mut text = String::new();
    if let Some(cpu) = profile.cpu {
        for (name, bytes) in [
            ("serial_bytes", cpu.serial_bytes),
            ("scan_serial_bytes", cpu.scan_serial_bytes),
            ("block_bytes", cpu.block_bytes),
            ("scan_block_bytes", cpu.scan_block_bytes),
            ("streaming_bytes", cpu.streaming_bytes),
            ("half_line_bytes", cpu.half_line_bytes),
        ] {
            let bytes =
                if bytes == CpuPolicy::NEVER { "never".to_owned() } else { bytes.to_string() };
            text.push_str(&format!("{name:<18}{bytes:>12}\n"));
        }
    }
    let reductions = profile.reductions.iter().flat_map(|rows| {
        rows.best().iter().map(move |best| {
            (
                "reduce",
                rows.work(),
                best.items,
                cells::Space::name(best.strategy),
                best.policy,
                best.measured,
            )
        })
    });
    let scans = profile.scans.iter().flat_map(|rows| {
        rows.best().iter().map(move |best| {
            (
                "scan",
                rows.work(),
                best.items,
                cells::Space::name(best.strategy),
                best.policy,
                best.measured,
            )
        })
    });
    for (number, (primitive, work, items, strategy, policy, measured)) in
        reductions.chain(scans).enumerate()
    {
        if number == 0 {
            text.push_str(&format!(
                "{:<8} {:<8} {:<9} {:>11} {:<48} {:>7} {:>5} {:>12} {:>7} {:>8}\n",
                "",
                "operator",
                "dtype",
                "n",
                "strategy",
                "threads",
                "items",
                "median µs",
                "% limit",
                "gained %",
            ));
        }
        let types = format!("{}->{}", work.item, work.output);
        let of_limit = 100.0 * measured.limit_us / measured.median_us;
        let gained = 100.0 * (measured.default_us / measured.median_us - 1.0);
        text.push_str(&format!(
            "{primitive:<8} {:<8} {types:<9} {items:>11} {strategy:<48} {:>7} {:>5} {:>12.3} {of_limit:>7.1} {gained:>8.1}\n",
            work.operator, policy.threads_per_workgroup, policy.items_per_thread, measured.median_us,
        ));
    }
    if let Some(from_host) = &profile.from_host {
        text.push_str(&crossings(from_host));
    }
    text
}

/// What arrays of the host's take, and where that is the better place.
fn crossings(from_host: &FromHost) -> String {
    let mut text = format!(
        "\nArrays in the host's memory, from call to result; CPU: {}\n{:<8} {:>12} {:>12} {:>12}  faster\n",
        from_host.cpu, "", "bytes", "GPU µs", "CPU µs",
    );
    for (name, rows) in [("reduce", &from_host.reads), ("scan", &from_host.copies)] {
        for &Crossing { bytes, gpu_us, cpu_us } in rows {
            let faster = if gpu_us < cpu_us { "GPU" } else { "CPU" };
            text.push_str(&format!(
                "{name:<8} {bytes:>12} {gpu_us:>12.2} {cpu_us:>12.2}  {faster}, {:.1} times\n",
                (gpu_us / cpu_us).max(cpu_us / gpu_us),
            ));
        }
    }
    text
}
