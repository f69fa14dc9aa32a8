//! A report as a page of text.

use core::fmt;
use std::time::Duration;

use super::{Bound, Report};
use crate::explain::{Launch, Quartiles, Why};
use crate::strategy::{CpuPolicy, Policy};

/// Microseconds, with as many places as mean something.
fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let places = if micros < 100.0 { 2 } else { 1 };
    format!("{micros:.places$} µs")
}

fn spread(times: Quartiles) -> String {
    let Quartiles { lower, median, upper } = times;
    format!("{} ({} to {})", micros(median), micros(lower), micros(upper))
}

/// Bytes with the largest unit that they fill.
fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => {
            let amount = format!("{:.2}", bytes as f64 / (1u64 << shift) as f64);
            format!("{} {unit}", amount.trim_end_matches('0').trim_end_matches('.'))
        }
        None => format!("{bytes} bytes"),
    }
}

impl Bound {
    /// A sentence about it.
    fn meaning(self) -> &'static str {
        match self {
            Self::Bandwidth => "memory: moving the bytes takes nearly as long",
            Self::Latency => {
                "latency: a single item takes nearly as long; larger arrays gain most, or several at once"
            }
            Self::Launch => {
                "launch: the device is done long before the host knows; many calls in one submission gain most"
            }
            Self::Arithmetic => "arithmetic: neither memory nor latency takes as long",
        }
    }
}

/// A launch, and how it fills the device.
fn described(launch: &Launch) -> String {
    let Launch { name, workgroups, threads_per_workgroup, .. } = launch;
    let mut text = format!("{name}: {workgroups} workgroups of {threads_per_workgroup} threads");
    let mut add = |more: Option<String>| text.extend(more);
    add(launch.registers.map(|registers| format!(", {registers} registers")));
    add(launch.spilled_bytes.filter(|&bytes| bytes > 0).map(|b| format!(", {b} bytes besides")));
    add(launch.shared_bytes.map(|bytes| format!(", {} shared", size(u64::from(bytes)))));
    let waves = launch.at_once.zip(launch.waves());
    add(waves.map(|(at_once, waves)| format!("; {at_once} at once, {waves:.2} waves")));
    text
}

impl Report {
    /// The reason for the strategy, as a sentence.
    fn because(&self) -> String {
        let origin = self.profile.as_deref().unwrap_or("given by the caller");
        match self.why {
            Why::Asked => "it was asked for".to_owned(),
            Why::Rule => "rules for devices of these limits choose it".to_owned(),
            Why::Profile { measured: None, .. } => format!("a profile says so: {origin}"),
            Why::Profile { items, measured: Some(measured) } => format!(
                "a profile says so ({origin}): at {items} items {:.2} µs, by rules {:.2} µs, limit {:.2} µs",
                measured.median_us, measured.default_us, measured.limit_us,
            ),
        }
    }

    fn numbers(&self) -> Option<String> {
        Some(match self.policy? {
            Policy::Cpu(policy) => format!(
                "several threads from {} on, of scans {}, blocks of {}, of scans {}, scans in parts {}, past the caches {}",
                size(policy.serial_bytes as u64),
                size(policy.scan_serial_bytes as u64),
                size(policy.block_bytes as u64),
                size(policy.scan_block_bytes as u64),
                match policy.scan_parts_bytes {
                    0 => "never".to_owned(),
                    CpuPolicy::NEVER => "at any length".to_owned(),
                    bytes => format!("up to {}", size(bytes as u64)),
                },
                match policy.streaming_bytes {
                    CpuPolicy::NEVER => "never".to_owned(),
                    bytes => format!("from {} on", size(bytes as u64)),
                },
            ),
            Policy::Workgroup(policy) => format!(
                "{} threads per workgroup, {} items per thread",
                policy.threads_per_workgroup, policy.items_per_thread,
            ),
            other => format!("{other:?}"),
        })
    }

    /// What is said, with its names.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let rate = |times: Quartiles| {
            let rate = times.gbps(self.bytes).map(|rate| format!(", {rate:.1} GB/s"));
            format!("{}{}", spread(times), rate.unwrap_or_default())
        };
        let mut lines = vec![("strategy", self.strategy.to_string())];
        lines.extend(self.shape.map(|shape| ("works as", shape.to_string())));
        lines.extend(self.numbers().map(|numbers| ("policy", numbers)));
        lines.push(("because", self.because()));
        let [least, moved] = [self.bytes, self.bytes_moved].map(size);
        lines.push(("moves", format!("{moved}; {least} must be moved")));
        lines.push(("time", rate(self.time)));
        let percent = self.percent_of_limit();
        let percent = percent.map(|percent| format!("; {percent:.1} % of it are reached"));
        lines.push(("limit", rate(self.limit) + &percent.unwrap_or_default()));
        lines.extend(self.predicted.map(|time| ("predicted", micros(time))));
        lines.push(("one item", spread(self.least)));
        lines.push(("limited by", self.bound.meaning().to_owned()));
        lines.push(("host waits", spread(self.call)));
        lines.push(("first call", micros(self.first)));
        lines.extend(self.upload.map(|time| ("upload", micros(time))));
        lines.extend(self.launches.iter().map(|launch| ("launch", described(launch))));
        if !self.launches.is_empty() {
            lines.push(("scratch", size(self.scratch_bytes)));
        }
        lines
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([id, name], [item, output]) = (&self.device, &self.types);
        let operator = match self.primitive.starts_with("arg") {
            true => String::new(),
            false => format!(" by {}", self.operator),
        };
        write!(f, "{}{operator} of {} {item}", self.primitive, self.items)?;
        if item != output {
            write!(f, " to {output}")?;
        }
        write!(f, " on {id}, {name}")?;
        for (what, said) in self.lines() {
            write!(f, "\n  {what:<11} {said}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0, 512, 1 << 10, 3 << 19, 1 << 32].map(size),
            ["0 bytes", "512 bytes", "1 KiB", "1.5 MiB", "4 GiB"]
        );
        assert_eq!(micros(Duration::from_nanos(1_234)), "1.23 µs");
        assert_eq!(micros(Duration::from_nanos(123_456_000)), "123456.0 µs");
    }
}
