//! `upsweep bench`: what is measured, row by row.

mod feeding;
mod guard;
pub(crate) mod input;
mod job;
pub(crate) mod lists;
pub(crate) mod measure;
pub(crate) mod report;
mod resident;
pub(crate) mod turns;

use upsweep::{CpuOptions, Device, Dtype, GpuOptions, InstructionSet};

use crate::args::BenchArguments;
use crate::device;
use crate::dispatch::{self, Op, combined_in, same_bits};
use crate::energy;
use crate::error::{Failure, Result};
use crate::reduce::check_accumulator;

use input::Buffer;
use job::{Outcome, PositionJob, ReduceJob, ScanJob};
pub(crate) use job::{POISON, Setup, memory_refusal};
pub(crate) use lists::{Choice, Devices, Lengths, Names, Primitive, Strategies};
use measure::Effort;
use report::{Further, Record, Report, Row};

/// Measures everything that was asked for, or compares it with a program that was kept.
pub(crate) fn run(arguments: &BenchArguments) -> Result<()> {
    if let Some(name) = &arguments.guard.compare {
        return guard::compare(name, &arguments.guard, arguments.csv.as_deref());
    }
    if let Some(lengths) = &arguments.feeding {
        return feed(arguments, lengths);
    }
    arguments.guard.save.as_deref().map_or(Ok(()), guard::check_name)?;
    let (_, wrong) = measure(arguments, || Record::create(arguments.csv.as_deref()))?;
    if wrong > 0 {
        return Err(Failure::Mismatch(wrong));
    }
    arguments.guard.save.as_ref().map_or(Ok(()), |name| guard::save(name, arguments))
}

/// Measures how devices are kept busy with small operations.
fn feed(arguments: &BenchArguments, lengths: &Lengths) -> Result<()> {
    let record = Record::create(arguments.csv.as_deref())?;
    let mut report = Report::new(record, 18, Further::Nothing)?;
    let mut wrong = 0;
    for id in ids(&arguments.device) {
        wrong += feeding::rows(&id, lengths, arguments.samples.get(), &mut report)?;
    }
    report.finish()?;
    if wrong > 0 { Err(Failure::Mismatch(wrong)) } else { Ok(()) }
}

/// The ids of the devices that were asked for.
fn ids(devices: &Devices) -> Vec<String> {
    match devices {
        Devices::All => Device::list().usable.into_iter().map(|device| device.id).collect(),
        Devices::Named(ids) => ids.clone(),
    }
}

/// Measures everything that was asked for, into a record that is begun once that is known to make sense; also how many results
/// were wrong.
pub(crate) fn measure(
    arguments: &BenchArguments,
    record: impl FnOnce() -> Result<Record>,
) -> Result<(Record, usize)> {
    if !arguments.operator.scans() {
        return Err(Failure::usage(format!(
            "--operator {} is a primitive of its own: --op names it",
            arguments.operator,
        )));
    }
    let (reductions, scans) = (setups(arguments, false)?, setups(arguments, true)?);
    let gpus = reductions.iter().any(|setup| setup.limit.id() != "cpu");
    let mut bench = Bench {
        arguments,
        reductions,
        scans,
        report: Report::new(
            record()?,
            if gpus { 48 } else { 18 },
            match (arguments.energy.energy, arguments.profile) {
                (true, _) => Further::Energy,
                (false, true) => Further::Profiles,
                (false, false) => Further::Nothing,
            },
        )?,
        wrong: 0,
    };
    for &dtype in &arguments.dtype.0 {
        for &n in &arguments.n.0 {
            bench.rows(dtype, n)?;
        }
    }
    Ok((bench.report.finish()?, bench.wrong))
}

/// Every device in every way in which it is to be used for scans, or else for reductions.
fn setups(arguments: &BenchArguments, scans: bool) -> Result<Vec<Setup>> {
    let threads = arguments.threads.map(std::num::NonZeroUsize::get);
    let mut setups = Vec::new();
    for id in ids(&arguments.device) {
        // What cannot be had at all is a mistake; what one row asks of a device may be refused.
        let plain = CpuOptions { threads: threads.filter(|_| is_cpu(&id)), ..<_>::default() };
        let plain = device::open(&id, plain)?;
        if arguments.profile {
            check_profile(&plain)?;
        }
        if arguments.energy.energy && !scans {
            energy::announce(&plain);
        }
        if is_cpu(plain.id()) {
            on_cpu(arguments, &plain, threads, &mut setups);
        } else {
            let choices = arguments.strategy.on_gpu(scans).into_iter();
            setups.extend(choices.map(|choice| on_gpu(&plain, choice, scans)));
        }
    }
    Ok(setups)
}

/// Whether the dispatches of a device can be timed.
fn check_profile(device: &Device) -> Result<()> {
    let id = device.id();
    if device.wgpu().is_none() {
        return Err(Failure::usage(format!(
            "device {id} has no dispatches: --profile is for GPUs that wgpu reaches, such as wgpu:0"
        )));
    }
    if !device.limits().timestamps {
        return Err(Failure::usage(format!(
            "device {id} has no timestamps, which --profile needs"
        )));
    }
    Ok(())
}

fn is_cpu(id: &str) -> bool {
    matches!(id, "cpu" | "auto" | "")
}

fn on_cpu(
    arguments: &BenchArguments,
    plain: &Device,
    threads: Option<usize>,
    setups: &mut Vec<Setup>,
) {
    let sets: Vec<Option<InstructionSet>> = match &arguments.isa {
        None => vec![None],
        Some(Names(sets)) => sets.iter().copied().map(Some).collect(),
    };
    for instruction_set in sets {
        for choice in arguments.strategy.on_cpu() {
            let open = |strategy| {
                let options = CpuOptions { threads, instruction_set, strategy, policy: None };
                device::open("cpu", options).map_err(|error| error.to_string())
            };
            let device = match choice {
                Choice::Auto => open(None),
                Choice::Cpu(strategy) => open(Some(strategy)),
                other => Err(format!("{other} is a strategy of GPUs")),
            };
            setups.push(Setup { device, limit: plain.clone(), choice, instruction_set });
        }
    }
}

fn on_gpu(plain: &Device, choice: Choice, scans: bool) -> Setup {
    let with = |options| plain.with_gpu_options(options).map_err(|error| error.to_string());
    let device = match choice {
        Choice::Auto => Ok(plain.clone()),
        Choice::GpuReduce(reduce) if !scans => {
            with(GpuOptions { reduce: Some(reduce), ..<_>::default() })
        }
        Choice::GpuScan(scan) if scans => with(GpuOptions { scan: Some(scan), ..<_>::default() }),
        Choice::GpuReduce(_) => Err(format!("{choice} is a strategy of reductions")),
        Choice::GpuScan(_) => Err(format!("{choice} is a strategy of scans")),
        Choice::Cpu(_) => Err(format!("{choice} is a strategy of CPUs")),
    };
    Setup { device, limit: plain.clone(), choice, instruction_set: None }
}

struct Bench<'a> {
    arguments: &'a BenchArguments,
    reductions: Vec<Setup>,
    scans: Vec<Setup>,
    report: Report,
    wrong: usize,
}

impl Bench<'_> {
    /// All rows of `n` items of type `dtype`.
    fn rows(&mut self, dtype: Dtype, n: usize) -> Result<()> {
        let mut items = None;
        for &primitive in &self.arguments.op.0 {
            let op = primitive.op(self.arguments.operator);
            let name = match op {
                Op::Sum | Op::ArgMin | Op::ArgMax => primitive.name().to_owned(),
                op => format!("{}/{op}", primitive.name()),
            };
            let acc = self.arguments.acc.filter(|_| !primitive.is_position());
            let stored = acc.unwrap_or(dtype);
            let types =
                if stored == dtype { dtype.to_string() } else { format!("{dtype}->{stored}") };
            let setups = if primitive.scans() { &self.scans } else { &self.reductions };
            let mut emit = |setup: &Setup, strategy: String, outcome: Outcome| {
                self.wrong += usize::from(outcome.wrong);
                self.report.row(&Row {
                    device: setup.limit.id(),
                    op: &name,
                    dtype: &types,
                    n,
                    strategy: &strategy,
                    times: outcome.times,
                    profile: outcome.profile.as_ref(),
                    energy: outcome.energy,
                    checked: &outcome.checked,
                })
            };
            let refusal = refusal(primitive, op, dtype, stored)
                .or_else(|| memory_refusal(primitive, op, dtype, stored, n));
            if let Some(reason) = refusal {
                for setup in setups {
                    emit(setup, setup.label(None), Outcome::refused(reason.clone()))?;
                }
                continue;
            }
            let items: &Buffer = match &items {
                Some(items) => items,
                None => items.insert(input::items(dtype, n, op == Op::Product)?),
            };
            let samples = self.arguments.samples.get();
            let effort = Effort {
                samples,
                profile: self.arguments.profile,
                energy: self.arguments.energy.energy,
            };
            let bytes = items.bytes();
            match primitive {
                Primitive::ArgMin | Primitive::ArgMax => {
                    let largest = primitive == Primitive::ArgMax;
                    let kernel = PositionJob { setups, effort, bytes, largest, emit: &mut emit };
                    dispatch::position(dtype, kernel)?;
                }
                Primitive::Reduce => {
                    let (from, to) = same_bits(op, dtype, combined_in(stored));
                    let kernel = ReduceJob { setups, effort, bytes, emit: &mut emit };
                    dispatch::reduce(op, from, to, kernel).transpose()?;
                }
                Primitive::InclusiveScan | Primitive::ExclusiveScan => {
                    let (from, to) = same_bits(op, dtype, stored);
                    let exclusive = primitive == Primitive::ExclusiveScan;
                    let kernel = ScanJob { setups, effort, bytes, exclusive, emit: &mut emit };
                    dispatch::scan(op, from, to, kernel).transpose()?;
                }
            }
        }
        Ok(())
    }
}

/// Why there is no such row, if there is none on any device.
pub(crate) fn refusal(primitive: Primitive, op: Op, dtype: Dtype, stored: Dtype) -> Option<String> {
    if primitive.is_position() {
        return None;
    }
    let check = op.check(dtype).and_then(|()| op.check(stored)).map_err(Failure::from);
    if let Err(error) = check.and_then(|()| check_accumulator(dtype, stored)) {
        return Some(error.to_string());
    }
    let exists = if primitive == Primitive::Reduce {
        let (from, to) = same_bits(op, dtype, combined_in(stored));
        dispatch::reduce(op, from, to, dispatch::Exists).is_some()
    } else {
        let (from, to) = same_bits(op, dtype, stored);
        dispatch::scan(op, from, to, dispatch::Exists).is_some()
    };
    (!exists).then(|| {
        format!("{op} of {dtype} in {stored} has no kernel of its own: items are converted first")
    })
}
