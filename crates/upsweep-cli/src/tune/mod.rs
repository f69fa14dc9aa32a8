//! `upsweep tune`: measures what a device does best, and keeps it in a profile.

mod awake;
pub(crate) mod budget;
mod cells;
mod cpu;
mod cpu_arrays;
mod cpu_bounds;
mod from_host;
mod gpu;
mod helpers;
mod jobs;
mod kernels;
mod known;
mod last;
mod order;
mod pieces;
mod said;
mod sweep;
mod threads;
mod trial;
mod ways;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use upsweep::profile;
use upsweep::{Device, Dtype, Limits, Profile};

use crate::args::TuneArguments;
use crate::bench::report::Record;
use crate::bench::{Devices, input};
use crate::device;
use crate::dispatch::Op;
use crate::error::{Failure, Result};
use crate::progress::{check_signals, watch_signals};

use awake::Awake;
use budget::Deadline;
pub(crate) use budget::{Budget, Span};
use gpu::{Extent, Piece, lines_of_scans};
use helpers::{Helpers, PATIENCE};
use pieces::{Wanted, cpu_dtypes, dispatched, lengths, pieces};
use said::{COLUMNS, line, lost, lost_of, table};
use sweep::Tried;
pub(crate) use threads::are_left;
use threads::none_is_left_in;

/// The time of a run on one device, and of a quick one on a GPU and on a CPU, where less than 20 s are wanted and the last
/// pass may take longer than the ones before it.
const BUDGET: &str = "120s";
const QUICK_BUDGET: &str = "25s";
const QUICK_CPU_BUDGET: &str = "18.5s";

/// How long calls on arrays in the host's memory are measured at most: a GPU made of software is at 4 GiB for minutes, and has its search ahead.
const MOST_FROM_HOST: Duration = Duration::from_secs(30);

/// Tunes, or brings a profile from elsewhere, or takes one there.
pub(crate) fn run(arguments: &TuneArguments) -> Result<()> {
    if let Some(id) = &arguments.make_kernels {
        return kernels::serve(id);
    }
    let devices = devices(arguments)?;
    if arguments.check {
        if arguments.against.is_some() && only(&devices, "--against")?.id() != "cpu" {
            return Err(Failure::usage("--against compares profiles of a CPU: --device cpu"));
        }
        watch_signals()?;
        return check(arguments, &devices);
    }
    if let Some(file) = &arguments.import {
        let limits = only(&devices, "--import")?.limits();
        let profile = profile::read_for(limits, file)?;
        return kept(&profile, &own_place(limits)?);
    }
    if let Some(file) = &arguments.export {
        let device = only(&devices, "--export")?;
        let found = profile::find(device.limits());
        let none = || Failure::usage(format!("there is no profile of device {}", device.id()));
        return kept(&*found.profile.ok_or_else(none)?, file);
    }
    let mut placed = Vec::new();
    for device in &devices {
        let place = match &arguments.output {
            Some(file) => only(&devices, "--output").map(|_| file.clone())?,
            None => own_place(device.limits())?,
        };
        check_place(&place)?;
        placed.push((device.with_profile(None), place));
    }
    watch_signals()?;
    tune(arguments, &placed)
}

/// The devices that were named, or one of each kind.
fn devices(arguments: &TuneArguments) -> Result<Vec<Device>> {
    let mut devices = device::several(arguments.device.as_ref())?;
    if !matches!(arguments.device, Some(Devices::Named(_))) {
        let mut kinds = HashSet::new();
        devices.retain(|device| {
            let Limits { interface, name, .. } = device.limits();
            kinds.insert((interface.clone(), name.clone()))
        });
    }
    Ok(devices)
}

/// The device, if it is one.
fn only<'a>(devices: &'a [Device], option: &str) -> Result<&'a Device> {
    let [device] = devices else {
        let ids: Vec<&str> = devices.iter().map(Device::id).collect();
        let ids = ids.join(" ");
        let all = format!("{option} takes the profile of one device; --device says which of {ids}");
        return Err(Failure::usage(all));
    };
    Ok(device)
}

/// Where calls on a device look for its profile.
fn own_place(limits: &Limits) -> Result<PathBuf> {
    let nowhere = "UPSWEEP_CACHE_DIR is empty, so that no profile is kept; -o names a file";
    profile::path(limits).ok_or_else(|| Failure::usage(nowhere))
}

/// Holds what calls choose now against the best that a search finds.
fn check(arguments: &TuneArguments, devices: &[Device]) -> Result<()> {
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let mut all_wrong = 0;
    for device in devices {
        let (text, wrong) = if device.id() == "cpu" {
            let found = on_cpu_in_turns(arguments, device, &mut record)?;
            (lost(found.percent), found.wrong)
        } else {
            let mut found = Profile::default();
            let wrong = search(arguments, device, &mut record, &mut found)?;
            (table(&found) + &lost(lost_of(&found)), wrong)
        };
        if record.is_table {
            let head = if devices.len() > 1 { headed(device) } else { String::new() };
            io::stdout().write_all((head + &text).as_bytes()).map_err(Failure::stdout)?;
        }
        all_wrong += wrong;
        if check_signals().is_err() {
            break;
        }
    }
    record.finish()?;
    ended(all_wrong)
}

/// What stands above the table of one of several devices.
fn headed(device: &Device) -> String {
    format!("{}, {}\n", device.id(), device.limits().name)
}

/// What there is was kept; whoever asked for the end is told so.
fn ended(wrong: usize) -> Result<()> {
    check_signals()?;
    if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) }
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
    record.line(COLUMNS)?;
    let mut wrong = 0;
    for device in devices(arguments)? {
        let device = device.with_profile(None);
        wrong += search(arguments, &device, &mut record, &mut Profile::default())?;
    }
    Ok((record, wrong))
}

/// How long it may take.
fn span(arguments: &TuneArguments, device: &Device) -> Result<Span> {
    let is_cpu = device.id() == "cpu";
    let budget = match (arguments.budget, arguments.quick) {
        (Some(span), _) => return Ok(span),
        (None, true) if is_cpu => QUICK_CPU_BUDGET,
        (None, true) => QUICK_BUDGET,
        (None, false) => BUDGET,
    };
    budget.parse().map_err(Failure::usage)
}

fn search(
    arguments: &TuneArguments,
    device: &Device,
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let search = if device.id() == "cpu" { on_cpu } else { on_gpu };
    search(arguments, device, record, profile)
}

/// Measures devices one after another, each of which has its profile as soon as it is measured.
fn tune(arguments: &TuneArguments, placed: &[(Device, PathBuf)]) -> Result<()> {
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(COLUMNS)?;
    let mut all_wrong = 0;
    for (device, place) in placed {
        let mut profile = begun(device, place);
        all_wrong += search(arguments, device, &mut record, &mut profile)?;
        if record.is_table {
            let head = if placed.len() > 1 { headed(device) } else { String::new() };
            let text = head + &table(&profile);
            io::stdout().write_all(text.as_bytes()).map_err(Failure::stdout)?;
            kept(&profile, place)?;
        } else {
            profile::write(&profile, place)?;
        }
        if check_signals().is_err() {
            break;
        }
    }
    record.finish()?;
    ended(all_wrong)
}

/// The profile of a device before anything is measured. What is not measured now stays as it was measured before, here or by
/// whoever made the profile in use.
fn begun(device: &Device, place: &Path) -> Profile {
    let limits = device.limits();
    let before = profile::read_for(limits, place).ok();
    let in_use = || profile::find(limits).profile.map(|profile| Profile::clone(&profile));
    let today = OffsetDateTime::now_utc().date();
    Profile {
        device: limits.name.clone(),
        interface: limits.interface.clone(),
        driver: profile::driver(limits),
        measured: format!("{today} by upsweep {}", env!("CARGO_PKG_VERSION")),
        ..before.or_else(in_use).unwrap_or_default()
    }
}

fn on_cpu(
    arguments: &TuneArguments,
    device: &Device,
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let mut budget = Budget::new(span(arguments, device)?, 1);
    let deadline = budget.next();
    let mut tell =
        |dtype: Dtype, row: &Tried<'_>| record.line(&line("cpu", &dtype.to_string(), row));
    let (quick, budget) = (arguments.quick, &budget);
    let before = profile.cpu_types.clone();
    let asked = cpu::Asked { device, quick, before: &before, budget, deadline, tell: &mut tell };
    let (found, wrong) = cpu::find(asked, &cpu_dtypes(arguments))?;
    // Types that are not measured have the numbers of words, if these are, and else those of the rules.
    let words = found.iter().find(|(dtype, _)| *dtype == Dtype::U32).map(|&(_, policy)| policy);
    profile.cpu = words.or(profile.cpu).or_else(|| device.cpu_policy::<u32>());
    profile.cpu_types.retain(|(before, _)| found.iter().all(|(dtype, _)| dtype != before));
    profile.cpu_types.extend(found);
    Ok(wrong)
}

/// Holds what a CPU does by itself against its other ways.
fn on_cpu_in_turns(
    arguments: &TuneArguments,
    device: &Device,
    record: &mut Record,
) -> Result<ways::Lost> {
    let pieces = pieces(arguments)?;
    let mut budget = Budget::new(span(arguments, device)?, pieces.len());
    let mut all = ways::Lost::default();
    let against = arguments.against.as_deref().map(|file| profile::read_for(device.limits(), file));
    let against = against.transpose()?.map(|profile| device.with_profile(Some(Arc::new(profile))));
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
            against: against.as_ref(),
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
    record: &mut Record,
    profile: &mut Profile,
) -> Result<usize> {
    let pieces = pieces(arguments)?;
    let all = pieces.iter().map(|wanted| wanted.parts(arguments.quick)).sum::<usize>();
    // A check keeps nothing, and what a row loses says nothing of where it is done.
    let asks_host = !arguments.skip_host && !arguments.check;
    let mut budget = Budget::new(span(arguments, device)?, all + usize::from(asks_host));
    let mut wrong = 0;
    if asks_host && check_signals().is_ok() {
        budget.say("arrays in the host's memory");
        let deadline = budget.next().at_most(MOST_FROM_HOST);
        wrong += from_host(device, arguments.quick, deadline, profile)?;
    }
    let mut helpers = Helpers::of(device);
    let in_use = profile::find(device.limits()).profile.unwrap_or_default();
    let shipped = shipped_beside(device);
    let lengths =
        |wanted: &Wanted| lengths(arguments, device, wanted.dtype.size() + wanted.stored.size());
    // Scans wait longest for their first kernels, which are made while sums are measured.
    let profiles = || [&*in_use].into_iter().chain(&shipped);
    let mut later = Vec::new();
    for wanted in pieces.iter().filter(|wanted| wanted.primitive.scans()) {
        let (work, lengths, count) = (wanted.work(), lengths(wanted), helpers.at_once());
        let (first, next) = lines_of_scans(device, profiles, work, &lengths, count);
        helpers.ask_ahead(first);
        later.extend(next);
    }
    helpers.ask_ahead(later);
    let awake = Awake::new(device)?;
    for wanted in pieces {
        if check_signals().is_err() {
            break;
        }
        let deadline = budget.next_as(wanted.parts(arguments.quick));
        let Wanted { op, dtype, .. } = wanted;
        let (operation, types) = wanted.names();
        let name = format!("{operation} of {types}");
        budget.say(&name);
        let lengths = lengths(&wanted);
        let Some(&longest) = lengths.last() else { continue };
        let items = input::repeated(dtype, longest, op == Op::Product)?;
        let mut tell = |row: &Tried<'_>| record.line(&line(device.id(), &types, row));
        let piece = Piece {
            device,
            operation: &operation,
            helpers: &mut helpers,
            awake: &awake,
            work: wanted.work(),
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
        let Extent { tried, all, wrong: found, spent } = done;
        let elapsed = budget.elapsed().as_secs_f64();
        crate::log::log!("{name}: {tried} of {all} cells, {elapsed:.1} s: {spent}");
        wrong += found;
    }
    Ok(wrong)
}

/// What calls on arrays in the host's memory take, and how many results were wrong. That comes before all else, by the profile so far, since
/// compilers of a search may still be at work behind it, on threads that calls on the CPU wait for. Scans of 64 MiB on the sixteen threads of a
/// Xeon took 30 ms there and not 2, so that `auto` would have chosen the GPU. Nor is the device kept awake yet: whoever does holds its stream, for
/// half a second where a call that copies comes in between.
fn from_host(
    device: &Device,
    quick: bool,
    deadline: Deadline,
    profile: &mut Profile,
) -> Result<usize> {
    let patience = deadline.left().map_or(PATIENCE, |left| PATIENCE.min(left / 2));
    if !none_is_left_in(patience) {
        crate::log::log!("arrays in the host's memory: not measured, a compiler is at work");
        return Ok(0);
    }
    let tuned = device.with_profile(Some(Arc::new(profile.clone())));
    let (from_host, wrong) = from_host::measure(&tuned, quick, deadline)?;
    profile.from_host = Some(from_host).filter(|found| !found.reads.is_empty());
    Ok(wrong)
}

/// What the library brings for devices that are reached in the same way as this one.
fn shipped_beside(device: &Device) -> Vec<Profile> {
    let by_cuda = |interface: &str| interface == "cuda";
    let own = by_cuda(&device.limits().interface);
    let all = profile::all_shipped().into_iter();
    all.filter(|profile| by_cuda(&profile.interface) == own).collect()
}
