//! `upsweep tune`: measures what a device does best, and keeps it in a profile.

use std::io;
use std::path::{Path, PathBuf};

use upsweep::{Device, Profile, profile};
use upsweep_measure::Failure::Mismatch;
use upsweep_measure::signals::{check_signals, watch_signals};
use upsweep_measure::tune::{self, Options};

use crate::args::TuneArguments;
use crate::error::{Failure, Result};
use crate::record::{Record, print};
use crate::tables;

/// Tunes, or brings a profile from elsewhere, or takes one there.
pub(crate) fn run(arguments: &TuneArguments) -> Result<()> {
    if let Some(id) = &arguments.make_kernels {
        return Ok(tune::serve_kernels(id, &mut io::stdin().lock(), &mut io::stdout())?);
    }
    let devices = tune::devices(arguments.device.as_ref())?;
    if arguments.check {
        watch_signals()?;
        return check(arguments, &devices);
    }
    if let Some(file) = &arguments.import {
        let limits = only(&devices, "--import")?.limits();
        let profile = profile::read_for(limits, file)?;
        return keep(&profile, &tune::path_of(limits)?);
    }
    if let Some(file) = &arguments.export {
        let device = only(&devices, "--export")?;
        let found = profile::find(device.limits());
        let none = || Failure::usage(format!("there is no profile of device {}", device.id()));
        return keep(&*found.profile.ok_or_else(none)?, file);
    }
    let mut placed = Vec::new();
    for device in &devices {
        let place = match &arguments.output {
            Some(file) => only(&devices, "--output").map(|_| file.clone())?,
            None => tune::path_of(device.limits())?,
        };
        tune::check_writable(&place)?;
        placed.push((device.with_profile(None), place));
    }
    watch_signals()?;
    tune(arguments, &placed)
}

fn options(arguments: &TuneArguments) -> Options {
    Options {
        primitives: arguments.op.0.clone(),
        operator: arguments.operator,
        dtypes: arguments.dtype.as_ref().map(|dtypes| dtypes.0.clone()),
        acc: arguments.acc,
        lengths: arguments.n.as_ref().map(|lengths| lengths.0.clone()),
        budget: arguments.budget,
        quick: arguments.quick,
        skip_host: arguments.skip_host,
        has_helpers: true,
    }
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

/// Measures devices one after another, each of which has its profile as soon as it is measured.
fn tune(arguments: &TuneArguments, placed: &[(Device, PathBuf)]) -> Result<()> {
    let mut record = begin(arguments)?;
    let mut all_wrong = 0;
    for (device, place) in placed {
        let mut profile = tune::profile_to_extend(device, place);
        all_wrong += tune::tune(&options(arguments), device, &mut profile, &mut |row| {
            record.line(&row.csv())
        })?;
        if record.is_table {
            let head = if placed.len() > 1 { headed(device) } else { String::new() };
            print(&(head + &tables::tune::table(&profile)))?;
            keep(&profile, place)?;
        } else {
            profile::write(&profile, place)?;
        }
        if check_signals().is_err() {
            break;
        }
    }
    end(record, all_wrong)
}

/// Holds what calls choose now against the best that a search finds.
fn check(arguments: &TuneArguments, devices: &[Device]) -> Result<()> {
    let mut record = begin(arguments)?;
    let mut all_wrong = 0;
    for device in devices {
        let mut tell = |row: &tune::Row<'_>| record.line(&row.csv());
        let checked = tune::check(&options(arguments), device, &mut tell)?;
        if record.is_table {
            let head = if devices.len() > 1 { headed(device) } else { String::new() };
            print(
                &(head + &tables::tune::table(&checked.best) + &tables::tune::lost(checked.lost)),
            )?;
        }
        all_wrong += checked.wrong;
        if check_signals().is_err() {
            break;
        }
    }
    end(record, all_wrong)
}

fn begin(arguments: &TuneArguments) -> Result<Record> {
    let mut record = Record::create(arguments.csv.as_deref())?;
    record.line(tune::COLUMNS)?;
    Ok(record)
}

/// What there is was kept; whoever asked for the end is told so.
fn end(mut record: Record, wrong: usize) -> Result<()> {
    record.finish()?;
    check_signals()?;
    if wrong > 0 { Err(Mismatch(wrong).into()) } else { Ok(()) }
}

/// What stands above the table of one of several devices.
fn headed(device: &Device) -> String {
    format!("{}, {}\n", device.id(), device.limits().name)
}

/// Writes a profile, and says where.
fn keep(profile: &Profile, place: &Path) -> Result<()> {
    profile::write(profile, place)?;
    Ok(print(&format!("profile of {}: {}\n", profile.device, place.display()))?)
}
