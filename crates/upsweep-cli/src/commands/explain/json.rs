//! Reports for programs.

use std::time::Duration;

use serde_json::{Value, json};
use upsweep::explain::Bound;
use upsweep::explain::{Quartiles, Why};
use upsweep::strategy::{CpuShape, Policy};

use super::Explained;

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Three times, in microseconds.
fn quartiles(times: Quartiles) -> Value {
    let Quartiles { lower, median, upper } = times;
    json!({ "lower": micros(lower), "median": micros(median), "upper": micros(upper) })
}

fn policy(policy: Policy) -> Value {
    match policy {
        Policy::Cpu(policy) => json!({
            "serial_bytes": policy.serial_bytes,
            "scan_serial_bytes": policy.scan_serial_bytes,
            "block_bytes": policy.block_bytes,
            "scan_block_bytes": policy.scan_block_bytes,
            "scan_parts_bytes": policy.scan_parts_bytes,
            "streaming_bytes": policy.streaming_bytes,
            "half_line_bytes": policy.half_line_bytes,
            "scan_half_line_bytes": policy.scan_half_line_bytes,
        }),
        Policy::Workgroup(policy) => json!({
            "threads_per_workgroup": policy.threads_per_workgroup,
            "items_per_thread": policy.items_per_thread,
        }),
        _ => Value::Null,
    }
}

/// What the numbers of a CPU come to.
fn shape(shape: CpuShape) -> Value {
    json!({
        "threads": shape.threads,
        "block_items": shape.block_items,
        "in_parts": shape.in_parts,
        "streaming": shape.streaming,
        "half_lines": shape.half_lines,
    })
}

/// Where a choice came from, and what was measured there.
fn why(why: Why) -> Value {
    match why {
        Why::Asked => json!({ "from": "asked" }),
        Why::Rule => json!({ "from": "rule" }),
        Why::Profile { items, measured } => json!({
            "from": "profile",
            "items": items,
            "median_us": measured.map(|measured| measured.median_us),
            "limit_us": measured.map(|measured| measured.limit_us),
            "default_us": measured.map(|measured| measured.default_us),
        }),
    }
}

fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Bandwidth => "bandwidth",
        Bound::Latency => "latency",
        Bound::Launch => "launch",
        Bound::Arithmetic => "arithmetic",
    }
}

/// All of them, as an array.
pub(super) fn text(all: &[Explained]) -> String {
    format!("{:#}\n", Value::Array(all.iter().map(one).collect()))
}

fn one(Explained { placement, report }: &Explained) -> Value {
    let launches = report.launches.iter().map(|launch| {
        json!({
            "name": launch.name,
            "workgroups": launch.workgroups,
            "threads_per_workgroup": launch.threads_per_workgroup,
            "registers": launch.registers,
            "spilled_bytes": launch.spilled_bytes,
            "shared_bytes": launch.shared_bytes,
            "at_once": launch.at_once,
            "waves": launch.waves(),
        })
    });
    json!({
        "placed": placement.as_ref().map(|placement| placement.to_string()),
        "device": report.device[0],
        "name": report.device[1],
        "op": report.primitive,
        "operator": report.operator,
        "dtype": report.types[0],
        "output": report.types[1],
        "n": report.items,
        "strategy": report.strategy.to_string(),
        "policy": report.policy.map(policy),
        "shape": report.shape.map(shape),
        "why": why(report.why),
        "profile": report.profile,
        "bytes": report.bytes,
        "bytes_moved": report.bytes_moved,
        "scratch_bytes": report.scratch_bytes,
        "time_us": quartiles(report.time),
        "gbps": report.time.gbps(report.bytes),
        "limit_us": quartiles(report.limit),
        "pct_of_limit": report.percent_of_limit(),
        "predicted_us": report.predicted.map(micros),
        "one_item_us": quartiles(report.least),
        "limited_by": bound(report.bound),
        "host_us": quartiles(report.call),
        "first_call_us": micros(report.first),
        "upload_us": report.upload.map(micros),
        "launches": launches.collect::<Vec<_>>(),
    })
}
