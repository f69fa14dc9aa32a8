//! What this CPU can do, as far as the operating system tells.

use std::fs;
use std::path::Path;
use std::thread;

use upsweep_core::Limits;

use crate::InstructionSet;

/// Cache sizes where nothing is told: those of a small core of the last ten years.
const UNKNOWN: Caches = Caches { l1: 32 << 10, l2: 256 << 10, l3: 0 };

#[derive(Clone, Copy, Debug)]
struct Caches {
    l1: usize,
    l2: usize,
    l3: usize,
}

/// The limits of this CPU with `threads` threads and this instruction set.
pub(crate) fn limits(threads: usize, set: InstructionSet) -> Limits {
    let caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(UNKNOWN);
    let mut limits = Limits::least(model().unwrap_or_else(|| std::env::consts::ARCH.into()), "cpu");
    limits.compute_units = threads;
    limits.instruction_set = set.name().into();
    limits.l1_bytes = caches.l1;
    limits.l2_bytes = caches.l2;
    limits.l3_bytes = caches.l3;
    limits.memory_bytes = memory();
    limits.forward_progress = true;
    limits.int64 = true;
    limits.float64 = true;
    limits.subnormals = true;
    limits
}

/// Hardware threads that this process may use.
pub(crate) fn hardware_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Linux tells of each cache of a core in a folder of its own.
fn caches(folder: &Path) -> Option<Caches> {
    let mut found = UNKNOWN;
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        let read = |name: &str| fs::read_to_string(path.join(name)).ok();
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            continue;
        };
        let Some(bytes) = bytes(size.trim()) else { continue };
        match (level.trim(), kind.trim()) {
            ("1", "Data" | "Unified") => found.l1 = bytes,
            ("2", _) => found.l2 = bytes,
            ("3", _) => found.l3 = bytes,
            _ => {}
        }
    }
    Some(found)
}

/// `512K` or `32M` as bytes.
fn bytes(size: &str) -> Option<usize> {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &size[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

fn model() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(bytes("512K"), Some(512 << 10));
        assert_eq!(bytes("32M"), Some(32 << 20));
        assert_eq!(bytes("64"), Some(64));
        assert_eq!(bytes("12X"), None);
        assert_eq!(bytes("K"), None);
    }
}
