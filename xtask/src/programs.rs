//! The programs that cargo makes of tests, several at once.
//!
//! A program of tests has as many threads as there are processors, and leaves half of two idle where it waits for GPUs: those of
//! software make their kernels one after another. Cargo runs one program at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde::Deserialize;

use crate::shell::{Result, cargo, output, program, root, target_dir};

/// How many programs run at once.
const AT_ONCE: usize = 2;

/// A program that cargo has made, by the words of its message.
#[derive(Deserialize)]
struct Message {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A program that was made of the workspace.
pub(crate) struct Program {
    /// What it was made of, as cargo would be asked for it.
    name: String,
    pub(crate) path: PathBuf,
    /// The folder of its package, in which tests run.
    folder: PathBuf,
    is_test: bool,
}

/// Which programs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All tests, examples of the documentation included.
    All,
    /// Those that a CPU kernel is part of.
    OfCpu,
}

/// The programs that run longest, the longest first. They begin first, so that none is left to run alone at the end.
const LONGEST: [&str; 6] = [
    "upsweep, test suite",
    "upsweep-wgpu, test backend",
    "upsweep-cli, test suite",
    "upsweep, test large",
    "upsweep-wgpu, lib upsweep_wgpu",
    "upsweep-cuda, lib upsweep_cuda",
];

/// The folders of the packages that `OfCpu` leaves out.
const OF_GPUS: [&str; 3] = ["upsweep-gpu", "upsweep-wgpu", "upsweep-cuda"];

/// Makes programs of tests, and those that they start. Those of the whole workspace in one call, so that features, and with them what
/// is made of dependencies, are the same for both answers.
pub(crate) fn made(wanted: Wanted) -> Result<Vec<Program>> {
    let mut test = cargo("test --workspace --no-run --message-format json-render-diagnostics");
    if wanted == Wanted::OfCpu {
        test.args(["--lib", "--test", "suite", "--test", "plans", "--test", "segmented"]);
    }
    let messages = output(&mut test)?;
    let made = messages.lines().filter_map(|line| {
        let message: Message = serde_json::from_str(line).ok()?;
        let folder = message.manifest_path.parent()?.to_path_buf();
        let kind = message.target.kind.first().map_or("", String::as_str);
        let name = format!("{}, {kind} {}", file_name(&folder), message.target.name);
        Some(Program { name, path: message.executable?, folder, is_test: message.profile.test })
    });
    let is_wanted = |program: &Program| {
        wanted == Wanted::All || !OF_GPUS.contains(&file_name(&program.folder).as_str())
    };
    Ok(made.filter(is_wanted).collect())
}

/// The module of the Python package, which cargo makes as an example, beside all other programs.
pub(crate) fn python_module() -> PathBuf {
    root().join(target_dir()).join("debug/examples/libmodule.so")
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The program whose file has a name that begins so.
pub(crate) fn named<'a>(programs: &'a [Program], start: &str) -> Result<&'a Path> {
    let found = programs.iter().find(|program| file_name(&program.path).starts_with(start));
    found.map(|program| program.path.as_path()).ok_or(format!("cargo made no program {start}"))
}

/// Runs all tests, the longest programs first, if all are wanted those of documentation behind them. Each program gets what `set_up`
/// gives it. What a program says is shown when it has ended, as a whole. Returns the lines with results; it is an error if a program
/// fails, after all have run.
pub(crate) fn run_tests(
    programs: &[Program],
    wanted: Wanted,
    set_up: impl Fn(&mut Command) + Sync,
) -> Result<Vec<String>> {
    let mut jobs = VecDeque::new();
    let rank = |name: &str| LONGEST.iter().position(|long| *long == name).unwrap_or(LONGEST.len());
    let mut tests: Vec<_> = programs.iter().filter(|program| program.is_test).collect();
    tests.sort_by_key(|test| rank(&test.name));
    for test in tests {
        let mut command = program(&test.path);
        // As cargo does.
        command.current_dir(&test.folder).env("CARGO_MANIFEST_DIR", &test.folder);
        jobs.push_back((test.name.clone(), command));
    }
    if wanted == Wanted::All {
        // The examples of the annotations run in upsweep-testing: asked for documentation, cargo heeds no `doctest = false`.
        let examples = cargo("test --workspace --exclude upsweep-macros --doc");
        jobs.insert(LONGEST.len().min(jobs.len()), ("documentation".to_owned(), examples));
    }
    let (jobs, ended) = (Mutex::new(jobs), Mutex::new((Vec::new(), Vec::new())));
    let work = || {
        loop {
            // In the head of the loop the lock would be held as long as the program runs.
            let next = locked(&jobs).pop_front();
            let Some((name, mut command)) = next else { break };
            set_up(&mut command);
            let begun = Instant::now();
            let done = command.output();
            let mut ended = locked(&ended);
            let (results, failed) = &mut *ended;
            println!("\n── {name}, {:.1} s", begun.elapsed().as_secs_f64());
            match done {
                Ok(done) => {
                    let said = String::from_utf8_lossy(&done.stdout);
                    print!("{}{said}", String::from_utf8_lossy(&done.stderr));
                    let is_result = |line: &&str| line.starts_with("test result:");
                    results.extend(said.lines().filter(is_result).map(str::to_owned));
                    if !done.status.success() {
                        failed.push(format!("{name}: {}", done.status));
                    }
                }
                Err(error) => failed.push(format!("{name}: {error}")),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let (results, failed) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(results) } else { Err(failed.join("\n")) }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
