//! Where the work is done.

use core::fmt;
use std::sync::Arc;

use upsweep_core::Backend;
use upsweep_cpu::Cpu;
pub use upsweep_cpu::{CpuOptions, InstructionSet};

use crate::{Error, Limits, Policy, Result, Strategy};

/// A device that runs the primitives. Cheap to clone; clones share the device.
///
/// ```
/// let device = upsweep::Device::cpu();
/// assert_eq!(device.id(), "cpu");
/// assert!(device.limits().compute_units >= 1);
/// ```
#[derive(Clone)]
pub struct Device {
    cpu: Arc<Cpu>,
}

/// A device that is here.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// What [`Device::open`] takes.
    pub id: String,
    /// What the device can do.
    pub limits: Limits,
}

/// A backend without a device, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Name of the backend: the id without its number.
    pub backend: String,
    /// Why it has no device here.
    pub reason: String,
}

/// What there is, and what there is not.
#[derive(Clone, Debug)]
pub struct DeviceList {
    /// Every usable device.
    pub usable: Vec<DeviceInfo>,
    /// Every backend without a device.
    pub absent: Vec<Absent>,
}

/// Backends of the design that this version does not contain.
const NOT_BUILT: &[(&str, &str)] = &[
    ("wgpu", "this version has no wgpu backend yet"),
    ("cuda", "this version has no CUDA backend yet"),
];

impl Device {
    /// The CPU, with every hardware thread and the widest instruction set found.
    ///
    /// The first call starts the threads; all such devices share them.
    pub fn cpu() -> Self {
        Self { cpu: Cpu::shared() }
    }

    /// The CPU, with chosen threads, instruction set or strategy.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if this CPU lacks the instruction set or the threads cannot start.
    pub fn cpu_with(options: CpuOptions) -> Result<Self> {
        Ok(Self { cpu: Arc::new(Cpu::new(options)?) })
    }

    /// The device with this id: `cpu`, `cuda:0`, `wgpu:0` …; `auto` is the best there is.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with the reason.
    ///
    /// ```
    /// use upsweep::Device;
    /// assert!(Device::open("cpu").is_ok());
    /// let error = Device::open("toaster").unwrap_err();
    /// assert!(error.to_string().starts_with("no device 'toaster'"));
    /// ```
    pub fn open(id: &str) -> Result<Self> {
        if matches!(id, "cpu" | "auto") {
            return Ok(Self::cpu());
        }
        let backend = id.split(':').next().unwrap_or(id);
        let reason = NOT_BUILT.iter().find(|(name, _)| *name == backend).map_or_else(
            || "ids are cpu, cuda:N, wgpu:N and auto".to_owned(),
            |(_, reason)| (*reason).to_owned(),
        );
        Err(Error::NoDevice { id: id.to_owned(), reason })
    }

    /// Every device that is here, and for every other backend the reason why it is not.
    pub fn list() -> DeviceList {
        let cpu = Self::cpu();
        DeviceList {
            usable: vec![DeviceInfo { id: cpu.id().to_owned(), limits: cpu.limits().clone() }],
            absent: NOT_BUILT
                .iter()
                .map(|(backend, reason)| Absent {
                    backend: (*backend).to_owned(),
                    reason: (*reason).to_owned(),
                })
                .collect(),
        }
    }

    /// What [`Device::open`] takes.
    pub fn id(&self) -> &str {
        "cpu"
    }

    /// What the device can do.
    pub fn limits(&self) -> &Limits {
        self.cpu.limits()
    }

    /// The strategy and policy that a reduction of `items` items of `item_bytes` bytes gets.
    pub fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        self.cpu.reduce_choice(items, item_bytes)
    }

    /// The strategy and policy that a scan of `items` items of `item_bytes` bytes gets.
    pub fn scan_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        self.cpu.scan_choice(items, item_bytes)
    }

    /// Reads `bytes` once, as fast as the device can, and returns a value that depends on all of
    /// them: the limit that a reduction is measured against.
    pub fn probe_read(&self, bytes: &[u8]) -> u8 {
        self.cpu.probe_read(bytes)
    }

    /// Copies `input` to `output`, as fast as the device can: the limit that a scan is measured
    /// against.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ.
    pub fn probe_copy(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        self.cpu.probe_copy(input, output)
    }

    pub(crate) fn backend(&self) -> &Cpu {
        &self.cpu
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.id()).finish()
    }
}
