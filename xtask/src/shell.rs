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

/// Steps that are done in order, with the time each took.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration, String)>,
}

impl Steps {
    /// Does a step; what it returns is its remark in the summary.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<String>) -> Result<()> {
        println!("\n── {name}");
        let start = Instant::now();
        let outcome = work();
        let (remark, failure) = match outcome {
            Ok(remark) => (remark, None),
            Err(message) => ("FAILED".to_owned(), Some(message)),
        };
        self.done.push((name.to_owned(), start.elapsed(), remark));
        match failure {
            None => Ok(()),
            Some(message) => {
                self.summary();
                Err(format!("{name}: {message}"))
            }
        }
    }

    /// Prints every step with its time.
    pub(crate) fn summary(&self) {
        println!("\n── summary");
        for (name, time, remark) in &self.done {
            println!("{:>7.1} s  {name}  {remark}", time.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, time, _)| *time).sum();
        println!("{:>7.1} s  in all", total.as_secs_f64());
    }
}
