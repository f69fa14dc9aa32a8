//! Opening the device that was asked for.

use upsweep::{CpuOptions, Device, Error};

use crate::error::{Failure, Result};

/// Opens the device `id`; options are for a CPU only.
pub(crate) fn open(id: &str, options: CpuOptions) -> Result<Device> {
    let id = if id.is_empty() { "auto" } else { id };
    let opened = if options == CpuOptions::default() || !matches!(id, "cpu" | "auto") {
        Device::open(id)
    } else {
        Device::cpu_with(options)
    };
    let device = opened.map_err(|error| match error {
        Error::NoDevice { .. } => {
            let usable: Vec<String> = Device::list().usable.into_iter().map(|d| d.id).collect();
            Failure::usage(format!("{error}; usable here: {}", usable.join(" ")))
        }
        other => other.into(),
    })?;
    if options != CpuOptions::default() && device.id() != "cpu" {
        return Err(Failure::usage(format!(
            "threads, strategies and instruction sets of the CPU do not fit device {}",
            device.id(),
        )));
    }
    Ok(device)
}
