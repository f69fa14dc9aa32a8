//! Devices, and the ways in which they are to be used.

use upsweep::strategy::{GpuOptions, Strategy};
use upsweep::{CpuOptions, Device, InstructionSet};

use super::options::Options;
use crate::device;
use crate::energy;
use crate::error::{Failure, Result};
use crate::selection::Choice;

/// A device and how it is to be used.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The device, or why it cannot be used so.
    pub(crate) device: std::result::Result<Device, String>,
    /// The device as it comes, for the limit.
    pub(crate) limit: Device,
    pub(crate) choice: Choice,
    pub(crate) instruction_set: Option<InstructionSet>,
}

impl Setup {
    /// The device, if it is a GPU.
    pub(super) fn gpu(&self) -> Option<&Device> {
        self.device.as_ref().ok().filter(|device| device.id() != "cpu")
    }

    /// The strategy as records name it: what was asked for, or what was chosen.
    pub(crate) fn label(&self, chosen: Option<Strategy>) -> String {
        let strategy = match (self.choice, chosen) {
            (Choice::Auto, Some(chosen)) => chosen.to_string(),
            (choice, _) => choice.to_string(),
        };
        match self.instruction_set {
            Some(set) => format!("{strategy}/{set}"),
            None => strategy,
        }
    }
}

/// Every device in every way in which it is to be used for scans, or else for reductions.
pub(super) fn setups(options: &Options, scans: bool) -> Result<Vec<Setup>> {
    let threads = options.threads;
    let mut setups = Vec::new();
    for id in options.devices.ids() {
        // What cannot be had at all is a mistake; what one row asks of a device may be refused.
        let plain = CpuOptions { threads: threads.filter(|_| is_cpu(&id)), ..<_>::default() };
        let plain = device::open(&id, plain)?;
        if options.profile {
            check_profile(&plain)?;
        }
        if options.energy && !scans {
            energy::announce(&plain);
        }
        if is_cpu(plain.id()) {
            on_cpu(options, &plain, threads, &mut setups);
        } else {
            let choices = options.strategies.on_gpu(scans).into_iter();
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

fn on_cpu(options: &Options, plain: &Device, threads: Option<usize>, setups: &mut Vec<Setup>) {
    let sets: Vec<Option<InstructionSet>> = match &options.instruction_sets {
        None => vec![None],
        Some(sets) => sets.iter().copied().map(Some).collect(),
    };
    for instruction_set in sets {
        for choice in options.strategies.on_cpu() {
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
