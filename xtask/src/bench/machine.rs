//! What the measuring runs on, and who else uses it meanwhile.

use std::fs;

use crate::shell::{Result, output, program, root, target_dir};

/// The machine and its software, as a record states them.
pub(super) struct Machine {
    /// Name of the folder of its records.
    pub(super) device: String,
    /// Day of the run, in UTC.
    pub(super) date: String,
    /// Properties and their values.
    pub(super) properties: Vec<(&'static str, String)>,
}

/// Asks the machine.
pub(super) fn describe(peers: bool) -> Result<Machine> {
    let info = read("/proc/cpuinfo")?;
    let cpu = |key: &str| {
        let line = info.lines().find(|line| line.split(':').next().unwrap_or("").trim() == key);
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned())).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (model, family, number) = (cpu("model name"), cpu("cpu family"), cpu("model"));
    let device = slug(&format!("{model} f{family} m{number} {cores} cpus"));

    let said = |command: &str| {
        let mut words = command.split(' ');
        output(program(words.next().unwrap_or_default()).args(words))
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
    };
    let unknown = |_| "unknown".to_owned();
    let mut commit = said("git rev-parse --short=12 HEAD").unwrap_or_else(unknown);
    if said("git status --porcelain").is_ok_and(|changes| !changes.is_empty()) {
        commit.push_str(" and changes that are not committed");
    }
    let flags = cpu("flags");
    let sets = ["avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl"];
    let sets: Vec<_> = sets.into_iter().filter(|set| flags.split(' ').any(|f| f == *set)).collect();
    let pages = read("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let mut properties = vec![
        ("CPU", format!("{model}, family {family}, model {number}")),
        ("Cores", cores.to_string()),
        ("Instruction sets", sets.join(" ")),
        ("Caches", caches()),
        ("Memory", format!("{} GiB", memory_field("MemTotal")? >> 30)),
        ("Huge pages", pages.trim().to_owned()),
        ("Kernel", said("uname -sr")?),
        ("Commit", commit),
        ("rustc", said("rustc --version")?),
    ];
    if peers {
        properties.push(("g++", said("g++ --version")?));
        let version = "#include <tbb/version.h>\nTBB_VERSION_STRING";
        properties.push(("oneTBB", preprocessed(version)?));
        let python = target_dir().join("python/bin/python");
        let version = [
            "-c",
            "import sys, numpy; print(numpy.__version__, 'on Python', sys.version.split()[0])",
        ];
        properties.push(("numpy", output(program(python).args(version))?));
        properties.push(("Rust crates", crates()?));
    }
    Ok(Machine { device, date: said("date -u +%F")?, properties })
}

/// Lower-case letters and digits, with single hyphens between.
fn slug(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> =
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.join("-")
}

/// What the C++ preprocessor makes of the last line of a text.
fn preprocessed(text: &str) -> Result<String> {
    let script = format!("printf '{text}' | g++ -std=c++17 -E -P -xc++ - | tail -1");
    let said = output(program("sh").args(["-c", &script]))?;
    Ok(said.replace(['"', ' '], ""))
}

/// Size of each cache that core 0 uses.
fn caches() -> String {
    let value = |index: usize, name: &str| {
        read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"))
            .map(|text| text.trim().to_owned())
    };
    let caches = (0..).map_while(|index| {
        let (level, kind) = (value(index, "level").ok()?, value(index, "type").ok()?);
        let kind = if kind == "Unified" { "" } else { &kind[..1] }.to_lowercase();
        Some(format!("L{level}{kind} {}", value(index, "size").ok()?))
    });
    caches.collect::<Vec<_>>().join(", ")
}

/// The versions of the peers' crates.
fn crates() -> Result<String> {
    let lock = read(&root().join("benches/peers/rust/Cargo.lock").to_string_lossy())?;
    let packages: Vec<_> = lock.split("[[package]]").collect();
    let version = |name: &str| {
        let package =
            packages.iter().find(|text| text.contains(&format!("name = \"{name}\"\n")))?;
        let version = package.split("version = \"").nth(1)?.split('"').next()?;
        Some(format!("{name} {version}"))
    };
    let names = ["rayon", "ndarray", "arrow-arith", "argminmax"];
    Ok(names.into_iter().filter_map(version).collect::<Vec<_>>().join(", "))
}

/// Bytes that can be had without swapping.
pub(super) fn available_bytes() -> Result<u64> {
    memory_field("MemAvailable")
}

fn memory_field(name: &str) -> Result<u64> {
    kibibytes(&read("/proc/meminfo")?, name).ok_or_else(|| format!("/proc/meminfo has no {name}"))
}

/// The bytes that a line like `MemTotal:   123 kB` states.
pub(super) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// Processor time used so far, in ticks.
pub(super) struct Load {
    all: u64,
    idle: u64,
    ours: u64,
}

impl Load {
    /// Of the whole machine, and of these processes.
    pub(super) fn now(processes: &[u32]) -> Result<Self> {
        let stat = read("/proc/stat")?;
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let mut ours = 0;
        for process in processes {
            let stat = read(&format!("/proc/{process}/stat"))?;
            // Behind the name, which may contain anything, user and system time are 12th and 13th.
            let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            ours += fields.skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum::<u64>();
        }
        let idle = ticks.iter().skip(3).take(2).sum();
        Ok(Self { all: ticks.iter().take(8).sum(), idle, ours })
    }

    /// Whether other programs used more than a twentieth of the machine since then; two ticks are
    /// within what the kernel rounds.
    pub(super) fn foreign_since(&self, before: &Self) -> bool {
        let all = self.all - before.all;
        let busy = all.saturating_sub(self.idle - before.idle);
        busy.saturating_sub(self.ours - before.ours) > 2 + all / 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders() {
        assert_eq!(slug("AMD EPYC (x) f25  m17 2 cpus"), "amd-epyc-x-f25-m17-2-cpus");
    }

    #[test]
    fn fields_of_the_kernel() {
        let text = "VmHWM:\t    2048 kB\nRssAnon:\t     512 kB\n";
        assert_eq!(kibibytes(text, "RssAnon"), Some(512 * 1024));
        assert_eq!(kibibytes(text, "RssFile"), None);
    }
}
