//! Programs or threads that make kernels while the search prepares arrays or measures.
//!
//! CUDA's compiler takes its time over a kernel, and threads of one program take turns at it. Several programs do not; what one
//! makes is kept on disk, where this one finds it. Each is this program again, which reads a line for each cell, or each of its lengths, and answers with
//! another. Compilers behind wgpu work in as many threads as there are.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use upsweep::{Device, profile};

use super::compiler_threads::CompilerThreads;
use super::kernel_requests::{OneItemArrays, each, line, make};
use super::search_space::{Cell, Space};

/// Most programs, each of which has a context on the device, or threads.
const MOST: usize = 16;

/// How long the kernels of a cell may take, from when they and those beside them were asked for. Most took a second on an H200 at most.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);

/// A program that makes kernels.
struct CompilerProcess {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Answers that it owes.
    asked: usize,
}

/// Programs or threads that make kernels.
pub(crate) struct Compilers {
    programs: Vec<CompilerProcess>,
    threads: Option<CompilerThreads>,
    /// What took threads too long.
    late: HashSet<String>,
}

impl Compilers {
    /// As many as this machine has threads besides the two that measure and keep the device awake, but one where there are two; no
    /// programs where kernels are not kept, or where the program that runs cannot be started as one.
    pub(crate) fn of(device: &Device, has_helpers: bool) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let others = threads.saturating_sub(2).max(threads.min(2) - 1).min(MOST);
        let by_cuda = device.limits().interface == "cuda";
        let is_kept = profile::path(device.limits()).is_some();
        let programs = if by_cuda && is_kept && has_helpers { others } else { 0 };
        let programs =
            (0..programs).filter_map(|_| CompilerProcess::start(device.id()).ok()).collect();
        let device = device.clone();
        // Whoever asked tries it too, and learns why it cannot be made.
        let work = move |line: &str| drop(make(&device, line, &mut OneItemArrays::default()));
        let threads =
            (!by_cuda && others > 0).then(|| CompilerThreads::new(others, PATIENCE, work));
        Self { programs, threads, late: HashSet::new() }
    }

    /// Whether there are any.
    pub(crate) fn are_there(&self) -> bool {
        self.threads.is_some() || !self.programs.is_empty()
    }

    /// For how many cells kernels are made at once.
    pub(crate) fn at_once(&self) -> usize {
        let threads = self.threads.as_ref().map_or(0, CompilerThreads::free);
        self.programs.len().max(threads).max(1)
    }

    /// Begins to do what these lines say. What cannot be made is seen when a cell is tried.
    pub(crate) fn ask(&mut self, lines: Vec<String>) {
        if let Some(threads) = &mut self.threads {
            threads.begin(lines.iter().flat_map(|line| each(line)).collect());
        } else if !self.programs.is_empty() {
            let count = self.programs.len();
            for (number, line) in lines.into_iter().enumerate() {
                let program = &mut self.programs[number % count];
                let line = line + "\n";
                program.asked += usize::from(program.to.write_all(line.as_bytes()).is_ok());
            }
        }
    }

    /// Kernels that are wanted later. Threads make them whenever they have nothing else to do; programs, whose kernels are waited for most of the
    /// time, do not.
    pub(crate) fn ask_ahead(&mut self, lines: Vec<String>) {
        if let Some(threads) = &mut self.threads {
            threads.ahead(lines);
        }
    }

    /// Waits until everything that was asked for is made, or took too long.
    pub(crate) fn wait(&mut self) {
        for program in &mut self.programs {
            let mut answer = String::new();
            for _ in 0..std::mem::take(&mut program.asked) {
                // One that has ended answers nothing, and is missed by nobody.
                if program.from.read_line(&mut answer).is_err() {
                    break;
                }
            }
        }
        if let Some(threads) = &mut self.threads {
            self.late.extend(threads.wait());
        }
    }

    /// Whether the kernels of a cell took too long, so that whoever needs one would wait for it.
    pub(crate) fn is_late<S: Space>(&self, what: &str, lengths: &[usize], cell: Cell<S>) -> bool {
        let is_late = |&length: &usize| self.late.contains(&line(what, &[length], Some(cell)));
        !self.late.is_empty() && lengths.iter().any(is_late)
    }
}

impl Drop for Compilers {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // It would end by itself when its input does, but for the kernel that it is at.
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
    }
}

impl CompilerProcess {
    fn start(id: &str) -> io::Result<Self> {
        let mut program = Command::new(std::env::current_exe()?);
        program.args(["tune", "--make-kernels", id]).env_remove("UPSWEEP_LOG");
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Self { child, to, from: BufReader::new(from), asked: 0 }),
            _ => Err(io::Error::other("a program without pipes")),
        }
    }
}
