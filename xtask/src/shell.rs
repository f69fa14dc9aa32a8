//! Running other programs: where they run, what is said when they fail, how long they took.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A value, or what to tell the person who asked.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Whether a machine asks, so that nothing may be left out.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// A program, to be run at the root of the repository.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Cargo with these space-separated arguments.
pub(crate) fn cargo(arguments: &str) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split(' '));
    command
}

/// Runs a program and shows what it says.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot(command, &error.to_string()))?;
    if status.success() { Ok(()) } else { Err(cannot(command, &status.to_string())) }
}

/// Runs a program, shows what it says on standard output, and returns the lines that `keep`
/// keeps.
pub(crate) fn run_and_keep(
    command: &mut Command,
    keep: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot(command, &error.to_string()))?;
    let mut kept = Vec::new();
    let output = child.stdout.take().expect("piped");
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| cannot(command, &error.to_string()))?;
        println!("{line}");
        if keep(&line) {
            kept.push(line);
        }
    }
    let status = child.wait().map_err(|error| cannot(command, &error.to_string()))?;
    if status.success() { Ok(kept) } else { Err(cannot(command, &status.to_string())) }
}

/// What a program prints, without the white space around it.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot(command, &error.to_string()))?;
    if !output.status.success() {
        return Err(cannot(command, &output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program is there: whether it can say its version.
pub(crate) fn exists(name: &str) -> bool {
    let mut command = program(name);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cannot(command: &Command, why: &str) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    format!("{why}: {}", words.join(" "))
}

/// Seconds of processors that ended programs have taken, with those that they started; only Linux says so.
fn processor_seconds() -> Option<f64> {
    // Times are counted in hundredths of a second, whatever the kernel's own clock.
    const PER_SECOND: f64 = 100.0;
    let fields = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = fields.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<f64>().ok());
    Some((times.next()?? + times.next()??) / PER_SECOND)
}

/// A step that was done.
struct Done {
    name: String,
    time: Duration,
    processors: Option<f64>,
    remark: String,
}

/// Steps that are done in order, with the time each took.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

impl Steps {
    /// Does a step; what it returns is its remark in the summary.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<String>) -> Result<()> {
        println!("\n── {name}");
        let (start, before) = (Instant::now(), processor_seconds());
        let outcome = work();
        let (remark, failure) = match outcome {
            Ok(remark) => (remark, None),
            Err(message) => ("FAILED".to_owned(), Some(message)),
        };
        let processors = processor_seconds().zip(before).map(|(after, before)| after - before);
        self.done.push(Done { name: name.to_owned(), time: start.elapsed(), processors, remark });
        match failure {
            None => Ok(()),
            Some(message) => {
                self.summary();
                Err(format!("{name}: {message}"))
            }
        }
    }

    /// Prints every step with its time, and with what it took of processors.
    pub(crate) fn summary(&self) {
        let line = |time: Duration, processors: Option<f64>, text: &str| {
            let processors = processors.map_or("-".to_owned(), |seconds| format!("{seconds:.1}"));
            println!("{:>7.1} s  {processors:>7} s CPU  {text}", time.as_secs_f64());
        };
        println!("\n── summary");
        for Done { name, time, processors, remark } in &self.done {
            line(*time, *processors, &format!("{name}  {remark}"));
        }
        let time = self.done.iter().map(|done| done.time).sum();
        line(time, self.done.iter().map(|done| done.processors).sum(), "in all");
    }
}
