//! Opening the device that was asked for.

use upsweep::profile::Traffic;
use upsweep::{CpuOptions, Device, Dtype, Error};

use crate::error::{Failure, Result};
use crate::log;
use crate::selection::Devices;

/// Vulkan devices that are programs on the CPU.
const SOFTWARE: [&str; 3] = ["llvmpipe", "lavapipe", "SwiftShader"];

/// Whether a device is a GPU made of software.
pub(crate) fn is_software(device: &Device) -> bool {
    SOFTWARE.iter().any(|name| device.limits().name.contains(name))
}

/// The devices that were named, or all, each once; if nothing was said, the CPU and every GPU that is not made of software.
pub fn several(named: Option<&Devices>) -> Result<Vec<Device>> {
    let ids: Vec<String> = match named {
        Some(Devices::Named(ids)) => ids.clone(),
        _ => Device::list().usable.into_iter().map(|device| device.id).collect(),
    };
    let mut devices: Vec<Device> = Vec::new();
    for id in ids {
        let device = open(&id, CpuOptions::default())?;
        let is_twice = devices.iter().any(|other| other.id() == device.id());
        if !is_twice && (named.is_some() || !is_software(&device)) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// Opens the device for a call that moves so many bytes of files, which are in the host's memory or come through it, and computes
/// with these types; options are for a CPU only.
pub fn place(
    id: &str,
    options: CpuOptions,
    traffic: Traffic,
    bytes: usize,
    dtypes: &[Dtype],
) -> Result<Device> {
    if !matches!(id, "auto" | "") || options != CpuOptions::default() {
        return open(id, options);
    }
    let placement = Device::auto().placement(traffic, bytes as u64, dtypes);
    log!("placed on {placement}");
    Ok(placement.device)
}

/// Opens the device `id`; options are for a CPU only. Without anything that is known of a call, `auto` is the CPU.
pub fn open(id: &str, options: CpuOptions) -> Result<Device> {
    let id = if matches!(id, "auto" | "") { "cpu" } else { id };
    let opened = if options == CpuOptions::default() || id != "cpu" {
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
