//! `upsweep devices`: what there is, and what there is not.

use serde::Serialize;
use upsweep::{Device, DeviceList, Limits, profile};

use crate::args::DevicesArguments;
use crate::error::{Failure, Result};
use crate::record::print;

/// Prints the devices.
pub(crate) fn run(arguments: &DevicesArguments) -> Result<()> {
    let list = Device::list();
    let text = if arguments.json { json(&list)? } else { table(&list) };
    Ok(print(&text)?)
}

#[derive(Serialize)]
struct List<'a> {
    usable: Vec<Usable<'a>>,
    absent: Vec<Absent<'a>>,
}

#[derive(Serialize)]
struct Usable<'a> {
    id: &'a str,
    limits: Facts<'a>,
    profile: ProfileFound,
}

/// Which profile calls on a device read.
#[derive(Serialize)]
struct ProfileFound {
    /// A path, or `shipped`; nothing if there is none.
    origin: Option<String>,
    /// When and by what it was measured.
    measured: Option<String>,
    /// Why a file is not used.
    ignored: Option<String>,
}

impl ProfileFound {
    fn of(limits: &Limits) -> Self {
        let found = profile::find(limits);
        Self {
            origin: found.origin,
            measured: found.profile.map(|profile| profile.measured.clone()),
            ignored: found.ignored.map(|error| error.to_string()),
        }
    }
}

#[derive(Serialize)]
struct Absent<'a> {
    backend: &'a str,
    reason: &'a str,
}

/// The fields of [`Limits`], under their own names.
#[derive(Serialize)]
struct Facts<'a> {
    name: &'a str,
    interface: &'a str,
    driver: &'a str,
    compute_units: usize,
    instruction_set: &'a str,
    l1_bytes: usize,
    l2_bytes: usize,
    l3_bytes: usize,
    memory_bytes: Option<u64>,
    subgroup_sizes: (u32, u32),
    threads_per_workgroup: u32,
    buffer_bytes: Option<u64>,
    binding_bytes: Option<u64>,
    workgroups_per_dimension: Option<u32>,
    messages: bool,
    forward_progress: bool,
    int64: bool,
    int64_atomics: bool,
    float64: bool,
    subnormals: bool,
    timestamps: bool,
}

impl<'a> Facts<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            name: &limits.name,
            interface: &limits.interface,
            driver: &limits.driver,
            compute_units: limits.compute_units,
            instruction_set: &limits.instruction_set,
            l1_bytes: limits.l1_bytes,
            l2_bytes: limits.l2_bytes,
            l3_bytes: limits.l3_bytes,
            memory_bytes: limits.memory_bytes,
            subgroup_sizes: limits.subgroup_sizes,
            threads_per_workgroup: limits.threads_per_workgroup,
            buffer_bytes: limits.buffer_bytes,
            binding_bytes: limits.binding_bytes,
            workgroups_per_dimension: limits.workgroups_per_dimension,
            messages: limits.messages,
            forward_progress: limits.forward_progress,
            int64: limits.int64,
            int64_atomics: limits.int64_atomics,
            float64: limits.float64,
            subnormals: limits.subnormals,
            timestamps: limits.timestamps,
        }
    }
}

fn json(list: &DeviceList) -> Result<String> {
    let list = List {
        usable: list
            .usable
            .iter()
            .map(|device| Usable {
                id: &device.id,
                limits: Facts::new(&device.limits),
                profile: ProfileFound::of(&device.limits),
            })
            .collect(),
        absent: list
            .absent
            .iter()
            .map(|absent| Absent { backend: &absent.backend, reason: &absent.reason })
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&list)
        .map_err(|error| Failure::usage(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

fn table(list: &DeviceList) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<26}{value}\n"));
        }
    };
    for (number, device) in list.usable.iter().enumerate() {
        let limits = &device.limits;
        line(if number == 0 { "id" } else { "\nid" }, device.id.clone());
        line("name", limits.name.clone());
        line("interface", limits.interface.clone());
        line("driver", limits.driver.clone());
        if !limits.instruction_set.is_empty() {
            line("compute units", limits.compute_units.to_string());
        }
        line("instruction set", limits.instruction_set.clone());
        let cpu = !limits.instruction_set.is_empty();
        line(if cpu { "first-level cache" } else { "shared memory" }, size(limits.l1_bytes as u64));
        line("second-level cache", size(limits.l2_bytes as u64));
        line("last-level cache", size(limits.l3_bytes as u64));
        line("memory", limits.memory_bytes.map_or("unknown".to_owned(), size));
        let (least, most) = limits.subgroup_sizes;
        line("subgroup sizes", format!("{least} to {most}"));
        line("threads per workgroup", limits.threads_per_workgroup.to_string());
        line("largest array", limits.buffer_bytes.map_or("any size".to_owned(), size));
        line("array binding", limits.binding_bytes.map_or("any size".to_owned(), size));
        let workgroups = limits.workgroups_per_dimension;
        line("workgroups per dimension", workgroups.map_or("any".to_owned(), |n| n.to_string()));
        line("messages in a launch", yes(limits.messages));
        line("forward progress", yes(limits.forward_progress));
        line("64-bit integers", yes(limits.int64));
        line("64-bit atomics", yes(limits.int64_atomics));
        line("64-bit floats", yes(limits.float64));
        line("subnormal floats", yes(limits.subnormals));
        line("timestamps", yes(limits.timestamps));
        let found = ProfileFound::of(limits);
        let measured = found.measured.map(|when| format!(", measured {when}")).unwrap_or_default();
        line("profile", found.origin.map_or("none".to_owned(), |origin| origin + &measured));
        line("profile not used", found.ignored.unwrap_or_default());
    }
    let mut text = text.replace("  id", "id").replace("  \nid", "\nid ");
    for absent in &list.absent {
        text.push_str(&format!("\n{}: absent: {}\n", absent.backend, absent.reason));
    }
    text
}

/// Bytes with the largest unit that they fill.
fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    if bytes == 0 {
        return String::new();
    }
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => {
            let amount = format!("{:.1}", bytes as f64 / (1u64 << shift) as f64);
            format!("{} {unit}", amount.trim_end_matches(".0"))
        }
        None => format!("{bytes} bytes"),
    }
}

fn yes(fact: bool) -> String {
    if fact { "yes" } else { "no" }.to_owned()
}
