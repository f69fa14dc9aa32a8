//! Tuning: measures what a device does best, for its profile.
//!
//! - On a GPU `sweep.rs` searches the cells of `search_space.rs` for each workload and length: `trial.rs` tries one, `final_rounds.rs` names the
//!   fastest. `compilers.rs` makes kernels meanwhile.
//! - On a CPU `cpu_policy.rs` finds the numbers of `cpu_thresholds.rs`, and `cpu_check.rs` holds them against every other way.
//! - `host_crossover.rs` times arrays in host memory on the GPU and the CPU.

pub mod budget;
mod compiler_threads;
mod compilers;
mod cpu_arrays;
mod cpu_check;
mod cpu_policy;
mod cpu_thresholds;
mod final_rounds;
mod gpu_arrays;
mod gpu_workload;
mod host_crossover;
mod keep_awake;
mod kernel_requests;
mod length_order;
mod options;
mod profile_cells;
mod profile_files;
mod rows;
mod search;
mod search_space;
mod sweep;
mod trial;
mod workloads;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use upsweep::any::{self, Op};
use upsweep::profile;
use upsweep::{Device, Dtype, Limits, Profile};

use crate::device;
use crate::error::{Failure, Result};
use crate::inputs;
use crate::log;
use crate::selection::Devices;
use crate::signals::check_signals;
use crate::workload::Workload;

use budget::{Budget, Deadline, Span};
pub use compiler_threads::are_running as compilers_are_running;
use compiler_threads::wait_until_idle;
use compilers::{Compilers, PATIENCE};
use gpu_workload::{Coverage, GpuWorkload, lines_of_scans};
use keep_awake::KeepAwake;
pub use kernel_requests::serve as serve_kernels;
pub use options::Options;
pub use profile_files::{check_writable, path_of, profile_to_extend};
pub use rows::{COLUMNS, Row, Tell, TrialRow};
use workloads::{cpu_dtypes, lengths, share_of_time, workloads};

/// The time of a run on one device, and of a quick one on a GPU and on a CPU, where less than 20 s are wanted and the last
/// pass may take longer than the ones before it.
const BUDGET: &str = "120s";
const QUICK_BUDGET: &str = "25s";
const QUICK_CPU_BUDGET: &str = "18.5s";

/// How long calls on arrays in the host's memory are measured at most: a GPU made of software is at 4 GiB for minutes, and has its search ahead.
const MOST_FROM_HOST: Duration = Duration::from_secs(30);

/// The devices that were named, or one of each kind.
///
/// # Errors
/// Names of devices that are not there.
pub fn devices(named: Option<&Devices>) -> Result<Vec<Device>> {
    let mut devices = device::several(named)?;
    if !matches!(named, Some(Devices::Named(_))) {
        let mut kinds = HashSet::new();
        devices.retain(|device| {
            let Limits { interface, name, .. } = device.limits();
            kinds.insert((interface.clone(), name.clone()))
        });
    }
    Ok(devices)
}

/// How long it may take.
fn span(options: &Options, device: &Device) -> Result<Span> {
    let is_cpu = device.id() == "cpu";
    let budget = match (options.budget, options.quick) {
        (Some(span), _) => return Ok(span),
        (None, true) if is_cpu => QUICK_CPU_BUDGET,
        (None, true) => QUICK_BUDGET,
        (None, false) => BUDGET,
    };
    budget.parse().map_err(Failure::usage)
}

/// Measures one device, and adds to its profile what was the best; how many results were wrong.
///
/// # Errors
/// Those of `tell`, and types that do not fit.
pub fn tune(
    options: &Options,
    device: &Device,
    profile: &mut Profile,
    tell: Tell<'_>,
) -> Result<usize> {
    if device.id() == "cpu" {
        on_cpu(options, device, profile, tell)
    } else {
        on_gpu(options, device, false, profile, tell)
    }
}

/// What a check of one device finds.
pub struct Checked {
    /// Of a GPU, what was the best.
    pub best: Profile,
    /// For each row how much longer than the best the choice takes, in per cent.
    pub lost: Vec<f64>,
    /// How many results were wrong.
    pub wrong: usize,
}

/// Holds what calls on one device choose now against the best that a search finds.
///
/// # Errors
/// Those of `tell`, and types that do not fit.
pub fn check(options: &Options, device: &Device, tell: Tell<'_>) -> Result<Checked> {
    let mut best = Profile::default();
    if device.id() == "cpu" {
        let cpu_check::Losses { percent: lost, wrong } = on_cpu_in_turns(options, device, tell)?;
        return Ok(Checked { best, lost, wrong });
    }
    let wrong = on_gpu(options, device, true, &mut best, tell)?;
    Ok(Checked { lost: lost_of(&best), best, wrong })
}

/// How much longer than the best the choice took in each row, in per cent.
fn lost_of(found: &Profile) -> Vec<f64> {
    let reductions =
        found.reductions.iter().flat_map(|rows| rows.best().iter().map(|b| b.measured));
    let scans = found.scans.iter().flat_map(|rows| rows.best().iter().map(|b| b.measured));
    let lost = reductions.chain(scans).map(|row| 100.0 * (row.default_us / row.median_us - 1.0));
    lost.collect()
}

fn on_cpu(
    options: &Options,
    device: &Device,
    profile: &mut Profile,
    tell: Tell<'_>,
) -> Result<usize> {
    let mut budget = Budget::new(span(options, device)?, 1);
    let deadline = budget.next();
    let mut tell = |dtype: Dtype, tried: &TrialRow<'_>| {
        tell(&Row { device: "cpu", types: &dtype.to_string(), tried })
    };
    let (quick, budget) = (options.quick, &budget);
    let before = profile.cpu_types.clone();
    let asked =
        cpu_policy::CpuSearch { device, quick, before: &before, budget, deadline, tell: &mut tell };
    let (found, wrong) = cpu_policy::find(asked, &cpu_dtypes(options))?;
    // Types that are not measured have the numbers of words, if these are, and else those of the rules.
    let words = found.iter().find(|(dtype, _)| *dtype == Dtype::U32).map(|&(_, policy)| policy);
    profile.cpu = words.or(profile.cpu).or_else(|| any::cpu_policy(device, Dtype::U32));
    profile.cpu_types.retain(|(before, _)| found.iter().all(|(dtype, _)| dtype != before));
    profile.cpu_types.extend(found);
    Ok(wrong)
}

/// Holds what a CPU does by itself against its other ways.
fn on_cpu_in_turns(
    options: &Options,
    device: &Device,
    tell: Tell<'_>,
) -> Result<cpu_check::Losses> {
    let workloads = workloads(options)?;
    let mut budget = Budget::new(span(options, device)?, workloads.len());
    let mut all = cpu_check::Losses::default();
    for wanted in workloads {
        if check_signals().is_err() {
            break;
        }
        let deadline = budget.next();
        let Workload { op, dtype, stored, .. } = wanted;
        let (operation, types) = (wanted.operation(), wanted.types());
        budget.say(&format!("{operation} of {types}"));
        let lengths = lengths(options, device, dtype.size() + 2 * stored.size());
        let Some(&longest) = lengths.last() else { continue };
        let items = inputs::items(dtype, longest, op == Op::Product)?;
        let mut tell = |tried: &TrialRow<'_>| tell(&Row { device: "cpu", types: &types, tried });
        let ways = cpu_check::CpuCheck {
            workload: wanted,
            device,
            operation: &operation,
            lengths: &lengths,
            items: &items,
            budget: &budget,
            deadline,
            tell: &mut tell,
        };
        if wanted.kernel().is_none() {
            continue;
        }
        let found = ways.run()?;
        all.percent.extend(found.percent);
        all.wrong += found.wrong;
    }
    Ok(all)
}

fn on_gpu(
    options: &Options,
    device: &Device,
    checks: bool,
    profile: &mut Profile,
    tell: Tell<'_>,
) -> Result<usize> {
    let workloads = workloads(options)?;
    let all = workloads.iter().map(|wanted| share_of_time(wanted, options.quick)).sum::<usize>();
    // A check keeps nothing, and what a row loses says nothing of where it is done.
    let asks_host = !options.skip_host && !checks;
    let mut budget = Budget::new(span(options, device)?, all + usize::from(asks_host));
    let mut wrong = 0;
    if asks_host && check_signals().is_ok() {
        budget.say("arrays in the host's memory");
        let deadline = budget.next().at_most(MOST_FROM_HOST);
        wrong += from_host(device, options.quick, deadline, profile)?;
    }
    let mut compilers = Compilers::of(device, options.has_helpers);
    let in_use = profile::find(device.limits()).profile.unwrap_or_default();
    let shipped = shipped_beside(device);
    let lengths =
        |wanted: &Workload| lengths(options, device, wanted.dtype.size() + wanted.stored.size());
    // Scans wait longest for their first kernels, which are made while sums are measured.
    let profiles = || [&*in_use].into_iter().chain(&shipped);
    let mut later = Vec::new();
    for wanted in workloads.iter().filter(|wanted| wanted.primitive.scans()) {
        let (lengths, count) = (lengths(wanted), compilers.at_once());
        let (first, next) = lines_of_scans(device, profiles, wanted, &lengths, count);
        compilers.ask_ahead(first);
        later.extend(next);
    }
    compilers.ask_ahead(later);
    let awake = KeepAwake::new(device)?;
    for wanted in workloads {
        if check_signals().is_err() {
            break;
        }
        let deadline = budget.next_as(share_of_time(&wanted, options.quick));
        let Workload { op, dtype, .. } = wanted;
        let (operation, types) = (wanted.operation(), wanted.types());
        let name = format!("{operation} of {types}");
        budget.say(&name);
        let lengths = lengths(&wanted);
        let Some(&longest) = lengths.last() else { continue };
        let items = inputs::repeated(dtype, longest, op == Op::Product)?;
        let mut tell =
            |tried: &TrialRow<'_>| tell(&Row { device: device.id(), types: &types, tried });
        let piece = GpuWorkload {
            workload: wanted,
            device,
            operation: &operation,
            compilers: &mut compilers,
            awake: &awake,
            in_use: &in_use,
            shipped: &shipped,
            checks,
            lengths,
            items: &items,
            budget: &budget,
            deadline,
            tell: &mut tell,
            profile,
        };
        if wanted.kernel().is_none() {
            continue;
        }
        let done = match piece.run() {
            // Types that this device does not know are no mistake of a list of types.
            Err(Failure::Library(error @ upsweep::Error::ElementUnsupported { .. })) => {
                log!("{name}: {error}");
                continue;
            }
            done => done?,
        };
        let Coverage { tried, all, wrong: found } = done;
        let elapsed = budget.elapsed().as_secs_f64();
        log!("{name}: {tried} of {all} cells, {elapsed:.1} s");
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
    if !wait_until_idle(patience) {
        log!("arrays in the host's memory: not measured, a compiler is at work");
        return Ok(0);
    }
    let tuned = device.with_profile(Some(Arc::new(profile.clone())));
    let (from_host, wrong) = host_crossover::measure(&tuned, quick, deadline)?;
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
