//! Profiles as text, which people may read and change.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use upsweep_core::{CpuPolicy, PROFILED, WorkgroupPolicy};

use super::{Best, Crossing, FromHost, Measured, Profile, Rows, Work};
use crate::Dtype;
use crate::strategy::Strategy;

/// The version of the form below. A file of a later one is not read.
const VERSION: u32 = 1;

/// What a file begins with.
const HEAD: &str = "\
# What `upsweep tune` measured on one device, which policies of the upsweep library read. It changes speed, never a result.
# Rows say which strategy was the fastest for so many items, and with which numbers; times are in microseconds: the median, that
# of moving the same bytes without arithmetic, and that of what would have been chosen without this file. `from_host` has times from
# the host's call to the host's result, arrays being in the host's memory, on this device and in turns with it on the host's CPU.
";

#[derive(Deserialize, Serialize)]
struct Versioned {
    version: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    device: String,
    interface: String,
    driver: String,
    measured: String,
    cpu: Option<Cpu>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cpu_type: Vec<CpuType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reduce: Vec<Row>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scan: Vec<Row>,
    from_host: Option<Host>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Host {
    cpu: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<HostRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    copies: Vec<HostRow>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct HostRow {
    bytes: u64,
    gpu_us: f64,
    cpu_us: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    serial_bytes: NonZero<usize>,
    scan_serial_bytes: NonZero<usize>,
    block_bytes: NonZero<usize>,
    scan_block_bytes: NonZero<usize>,
    /// Profiles that were measured before there were parts have none.
    #[serde(default)]
    scan_parts_bytes: usize,
    streaming_bytes: usize,
    half_line_bytes: usize,
    scan_half_line_bytes: usize,
}

/// The numbers for items of one type, which no table can hold beside its own fields and refuse all others.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CpuType {
    item: String,
    numbers: Cpu,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Row {
    operator: String,
    item: String,
    output: String,
    items: u64,
    strategy: String,
    threads_per_workgroup: NonZero<u32>,
    items_per_thread: NonZero<u32>,
    median_us: f64,
    limit_us: f64,
    default_us: f64,
}

/// A profile as text.
pub fn text(profile: &Profile) -> String {
    let file = File {
        version: VERSION,
        device: profile.device.clone(),
        interface: profile.interface.clone(),
        driver: profile.driver.clone(),
        measured: profile.measured.clone(),
        cpu: profile.cpu.map(Cpu::of),
        cpu_type: profile.cpu_types.iter().map(CpuType::of).collect(),
        reduce: profile.reductions.iter().flat_map(|r| written(r, Strategy::GpuReduce)).collect(),
        scan: profile.scans.iter().flat_map(|r| written(r, Strategy::GpuScan)).collect(),
        from_host: profile.from_host.as_ref().map(Host::of),
    };
    match toml::to_string(&file) {
        Ok(text) => format!("{HEAD}\n{text}"),
        Err(why) => unreachable!("numbers and names can be written: {why}"),
    }
}

fn written<S: Copy>(rows: &Rows<S>, name: impl Fn(S) -> Strategy) -> Vec<Row> {
    let Work { operator, item, output } = rows.work();
    let row = |best: &Best<S>| Row {
        operator: operator.to_owned(),
        item: item.to_string(),
        output: output.to_string(),
        items: best.items,
        strategy: name(best.strategy).to_string(),
        threads_per_workgroup: NonZero::new(best.policy.threads_per_workgroup)
            .unwrap_or(NonZero::<u32>::MIN),
        items_per_thread: NonZero::new(best.policy.items_per_thread).unwrap_or(NonZero::<u32>::MIN),
        median_us: best.measured.median_us,
        limit_us: best.measured.limit_us,
        default_us: best.measured.default_us,
    };
    rows.best().iter().map(row).collect()
}

/// Reads a text.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Profile, String> {
    let reason = |why: toml::de::Error| why.to_string().lines().collect::<Vec<_>>().join(" ");
    let Versioned { version } = toml::from_str(text).map_err(reason)?;
    if version != VERSION {
        return Err(format!("it is of version {version}, this library reads version {VERSION}"));
    }
    let file: File = toml::from_str(text).map_err(reason)?;
    if file.cpu.is_none() && !file.cpu_type.is_empty() {
        return Err("it has numbers of a CPU for some types, and none for all others".to_owned());
    }
    Ok(Profile {
        device: file.device,
        interface: file.interface,
        driver: file.driver,
        measured: file.measured,
        reductions: tables(&file.reduce)?,
        scans: tables(&file.scan)?,
        cpu: file.cpu.map(|cpu| cpu.policy()),
        cpu_types: file.cpu_type.iter().map(CpuType::read).collect::<Result<_, _>>()?,
        from_host: file.from_host.map(Host::times).transpose()?,
    })
}

/// Rows by what they are of, in the order in which that comes first.
fn tables<S: Copy + std::str::FromStr<Err = crate::Error>>(
    rows: &[Row],
) -> Result<Vec<Rows<S>>, String> {
    let mut tables: Vec<(Work, Vec<Best<S>>)> = Vec::new();
    for row in rows {
        let (work, best) = row.read().map_err(|why| {
            format!("the row of {} {}, {} items: {why}", row.operator, row.item, row.items)
        })?;
        match tables.iter_mut().find(|(of, _)| *of == work) {
            Some((_, all)) => all.push(best),
            None => tables.push((work, vec![best])),
        }
    }
    Ok(tables.into_iter().map(|(work, all)| Rows::new(work, all)).collect())
}

impl Row {
    fn read<S: std::str::FromStr<Err = crate::Error>>(&self) -> Result<(Work, Best<S>), String> {
        let said = |error: crate::Error| error.to_string();
        let known = PROFILED.into_iter().find(|name| *name == self.operator);
        let operator =
            known.ok_or_else(|| format!("known operators are {}", PROFILED.join(" ")))?;
        let work = Work {
            operator,
            item: self.item.parse().map_err(said)?,
            output: self.output.parse().map_err(said)?,
        };
        let times = [self.median_us, self.limit_us, self.default_us];
        check_times(&times)?;
        let policy = WorkgroupPolicy {
            threads_per_workgroup: self.threads_per_workgroup.get(),
            items_per_thread: self.items_per_thread.get(),
        };
        let [median_us, limit_us, default_us] = times;
        let measured = Measured { median_us, limit_us, default_us };
        let strategy = self.strategy.parse().map_err(said)?;
        Ok((work, Best { items: self.items, strategy, policy, measured }))
    }
}

/// Refuses what is no time.
fn check_times(times: &[f64]) -> Result<(), String> {
    match times.iter().any(|time| !time.is_finite() || *time < 0.0) {
        true => Err("times are numbers that are not negative".to_owned()),
        false => Ok(()),
    }
}

impl Host {
    fn of(from_host: &FromHost) -> Self {
        let rows = |rows: &[Crossing]| -> Vec<HostRow> {
            let row = |&Crossing { bytes, gpu_us, cpu_us }: &_| HostRow { bytes, gpu_us, cpu_us };
            rows.iter().map(row).collect()
        };
        let FromHost { cpu, reads, copies } = from_host;
        Self { cpu: cpu.clone(), reads: rows(reads), copies: rows(copies) }
    }

    fn times(self) -> Result<FromHost, String> {
        let rows = |rows: Vec<HostRow>| -> Result<Vec<Crossing>, String> {
            let row = |HostRow { bytes, gpu_us, cpu_us }| match gpu_us > 0.0 && cpu_us > 0.0 {
                true => check_times(&[gpu_us, cpu_us]).map(|()| Crossing { bytes, gpu_us, cpu_us }),
                false => Err(format!("times of {bytes} bytes from the host are above 0")),
            };
            let mut rows = rows.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
            rows.sort_by_key(|row| row.bytes);
            rows.dedup_by_key(|row| row.bytes);
            Ok(rows)
        };
        Ok(FromHost { cpu: self.cpu, reads: rows(self.reads)?, copies: rows(self.copies)? })
    }
}

impl CpuType {
    fn of(&(item, policy): &(Dtype, CpuPolicy)) -> Self {
        Self { item: item.to_string(), numbers: Cpu::of(policy) }
    }

    fn read(&self) -> Result<(Dtype, CpuPolicy), String> {
        let item = self.item.parse().map_err(|error: crate::Error| error.to_string())?;
        Ok((item, self.numbers.policy()))
    }
}

impl Cpu {
    fn of(policy: CpuPolicy) -> Self {
        let at_least_one = |bytes| NonZero::new(bytes).unwrap_or(NonZero::<usize>::MIN);
        Self {
            serial_bytes: at_least_one(policy.serial_bytes),
            scan_serial_bytes: at_least_one(policy.scan_serial_bytes),
            block_bytes: at_least_one(policy.block_bytes),
            scan_block_bytes: at_least_one(policy.scan_block_bytes),
            scan_parts_bytes: policy.scan_parts_bytes,
            streaming_bytes: policy.streaming_bytes,
            half_line_bytes: policy.half_line_bytes,
            scan_half_line_bytes: policy.scan_half_line_bytes,
        }
    }

    fn policy(&self) -> CpuPolicy {
        CpuPolicy {
            serial_bytes: self.serial_bytes.get(),
            scan_serial_bytes: self.scan_serial_bytes.get(),
            block_bytes: self.block_bytes.get(),
            scan_block_bytes: self.scan_block_bytes.get(),
            scan_parts_bytes: self.scan_parts_bytes,
            streaming_bytes: self.streaming_bytes,
            half_line_bytes: self.half_line_bytes,
            scan_half_line_bytes: self.scan_half_line_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{GpuReduceStrategy, GpuScanStrategy};

    fn best<S>(items: u64, strategy: S) -> Best<S> {
        let policy = WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 16 };
        let measured = Measured { median_us: 61.25, limit_us: 60.0, default_us: 63.5 };
        Best { items, strategy, policy, measured }
    }

    /// A profile with something of everything.
    fn full() -> Profile {
        let reduce: GpuReduceStrategy =
            "striped-16-exact/cooperative/atomic".parse().expect("a cell");
        let scan: GpuScanStrategy = "blocked-4-checked/blelloch/look-back".parse().expect("a cell");
        let sum = Work { operator: "sum", item: Dtype::U8, output: Dtype::U32 };
        let argmin = Work { operator: "argmin", item: Dtype::F32, output: Dtype::U64 };
        let cpu = CpuPolicy {
            serial_bytes: 1,
            scan_serial_bytes: 6,
            block_bytes: 2,
            scan_block_bytes: 3,
            scan_parts_bytes: 8,
            streaming_bytes: 4,
            half_line_bytes: 5,
            scan_half_line_bytes: 7,
        };
        Profile {
            device: "Some \"GPU\"".to_owned(),
            interface: "cuda".to_owned(),
            driver: "13.0".to_owned(),
            measured: "2026-11-23".to_owned(),
            reductions: vec![
                Rows::new(sum, vec![best(1 << 10, reduce), best(1 << 33, reduce)]),
                Rows::new(argmin, vec![best(1 << 10, reduce)]),
            ],
            scans: vec![Rows::new(sum, vec![best(1 << 20, scan)])],
            cpu: Some(cpu),
            cpu_types: vec![
                (Dtype::U8, CpuPolicy { block_bytes: 8, ..cpu }),
                (Dtype::F64, CpuPolicy { streaming_bytes: CpuPolicy::NEVER, ..cpu }),
            ],
            from_host: Some(FromHost {
                cpu: "Some CPU, 2 threads".to_owned(),
                reads: vec![
                    Crossing { bytes: 1 << 10, gpu_us: 20.5, cpu_us: 0.25 },
                    Crossing { bytes: 1 << 20, gpu_us: 90.0, cpu_us: 91.0 },
                ],
                copies: vec![Crossing { bytes: 1 << 10, gpu_us: 30.0, cpu_us: 0.5 }],
            }),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = text(&full());
        assert_eq!(parse(&text), Ok(full()), "{text}");
        assert!(text.contains("strategy = \"striped-16-exact/cooperative/atomic\""), "{text}");
    }

    #[test]
    fn profiles_from_before_there_were_parts_have_none() {
        let text = text(&full()).replace("scan_parts_bytes = 8\n", "");
        let parts = |cpu: CpuPolicy| CpuPolicy { scan_parts_bytes: 0, ..cpu };
        let mut expected = full();
        expected.cpu = expected.cpu.map(parts);
        expected.cpu_types.iter_mut().for_each(|(_, cpu)| *cpu = parts(*cpu));
        assert_eq!(parse(&text), Ok(expected), "{text}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = text(&full());
        let from_cpu = &good[good.find("[cpu]").expect("a table")..];
        let cpu = from_cpu[..from_cpu.find("\n[").expect("another table") + 1].to_owned();
        for (from, to, said) in [
            ("operator = \"sum\"", "operator = \"plus\"", "known operators are sum"),
            ("item = \"u8\"", "item = \"u9\"", "unknown dtype 'u9'"),
            ("cooperative/atomic", "cooperative/magic", "'magic'"),
            ("threads_per_workgroup = 256", "threads_per_workgroup = 0", "nonzero"),
            ("threads_per_workgroup = 256", "threads_per_workgroup = -1", "line"),
            ("median_us = 61.25", "median_us = nan", "not negative"),
            ("median_us = 61.25", "speed = 61.25", "unknown field"),
            ("block_bytes = 2", "block_bytes = 0", "nonzero"),
            ("block_bytes = 8", "block_bytes = 0", "nonzero"),
            (&cpu, "", "none for all others"),
            ("item = \"f64\"", "item = \"word\"", "unknown dtype 'word'"),
            ("gpu_us = 20.5", "gpu_us = 0.0", "above 0"),
            ("gpu_us = 20.5", "gpu_us = inf", "not negative"),
            ("gpu_us = 20.5", "gpu_us = -1.0", "above 0"),
            ("driver = \"13.0\"\n", "", "driver"),
            ("version = 1", "version = 2", "version 2"),
        ] {
            let changed = good.replacen(from, to, 1);
            assert_ne!(changed, good, "{from}");
            let why = parse(&changed).expect_err(to);
            assert!(why.contains(said), "{to}: {why}");
            assert!(!why.contains('\n'), "{why}");
        }
    }
}
