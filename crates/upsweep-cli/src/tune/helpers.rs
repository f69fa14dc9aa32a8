//! Kernels that are made beside the search, while it prepares arrays or waits.
//!
//! CUDA's compiler takes its time over a kernel, and threads of one program take turns at it. Several programs do not; what one
//! makes is kept on disk, where this one finds it. Each is this program again, which reads a line for each kernel and answers with
//! another. Compilers behind wgpu work in as many threads as there are.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use upsweep::profile::{self, Work};
use upsweep::{
    Array, CpuOptions, Device, Dtype, Element, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Max,
    Min, Number, Operator, PositionPlan, Reduce, ReducePlan, Scan, ScanPlan, Widen,
    WorkgroupPolicy,
};

use super::cells::{Cell, Space};
use crate::device;
use crate::dispatch::{self, Op, PositionKernel, ReduceKernel, ScanKernel, same_bits};
use crate::error::{Failure, Result};

/// Most programs, each of which has a context on the device, or threads.
const MOST: usize = 16;

/// What stands for a strategy in the line of what the device chooses by itself.
const OWN: &str = "-";

/// A program that makes kernels.
struct Helper {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Answers that it owes.
    asked: usize,
}

/// Whoever makes kernels.
pub(crate) struct Helpers {
    device: Device,
    programs: Vec<Helper>,
    /// How many threads there may be, and those that work now.
    threads: usize,
    working: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// As many as this machine has threads besides this program's; no programs where kernels are not kept.
    pub(crate) fn of(device: &Device) -> Self {
        let others = (thread::available_parallelism().map_or(1, usize::from) - 1).min(MOST);
        let by_cuda = device.limits().interface == "cuda";
        let is_kept = profile::path(device.limits()).is_some();
        let programs = if by_cuda && is_kept { others } else { 0 };
        let programs = (0..programs).filter_map(|_| Helper::start(device.id()).ok()).collect();
        let threads = if by_cuda { 0 } else { others };
        Self { device: device.clone(), programs, threads, working: Vec::new() }
    }

    /// How many kernels are made at once.
    pub(crate) fn at_once(&self) -> usize {
        self.programs.len().max(self.threads).max(1)
    }

    /// Begins to make the kernels of these cells, or of what the device chooses by itself, each for arrays of at most so many items. What
    /// cannot be made is seen when a cell is tried.
    pub(crate) fn ask<S: Space>(&mut self, what: &str, kernels: &[(usize, Option<Cell<S>>)]) {
        let line = |&(items, cell): &(usize, Option<Cell<S>>)| match cell {
            None => format!("{what} {items} {OWN} 0 0\n"),
            Some(Cell { strategy, policy }) => {
                let [threads, each] = [policy.threads_per_workgroup, policy.items_per_thread];
                format!("{what} {items} {} {threads} {each}\n", strategy.name())
            }
        };
        let lines: Vec<String> = kernels.iter().map(line).collect();
        if !self.programs.is_empty() {
            let count = self.programs.len();
            for (number, line) in lines.iter().enumerate() {
                let program = &mut self.programs[number % count];
                program.asked += usize::from(program.to.write_all(line.as_bytes()).is_ok());
            }
        } else if self.threads > 0 {
            let (lines, next) = (Arc::new(lines), Arc::new(AtomicUsize::new(0)));
            for _ in 0..self.threads.min(lines.len()) {
                let (device, lines, next) =
                    (self.device.clone(), Arc::clone(&lines), Arc::clone(&next));
                self.working.push(thread::spawn(move || {
                    while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Whoever asked tries it too, and learns why it cannot be made.
                        let _ = make(&device, line.trim_end());
                    }
                }));
            }
        }
    }

    /// Waits until everything that was asked for is made.
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
        for thread in self.working.drain(..) {
            // What one could not make is made later.
            let _ = thread.join();
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // It would end by itself when its input does, but for the kernel that it is at.
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
        self.programs.clear();
        self.wait();
    }
}

impl Helper {
    fn start(id: &str) -> io::Result<Self> {
        let mut program = Command::new(std::env::current_exe()?);
        program.args(["tune", "--device", id, "--make-kernels"]).env_remove("UPSWEEP_LOG");
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Self { child, to, from: BufReader::new(from), asked: 0 }),
            _ => Err(io::Error::other("a program without pipes")),
        }
    }
}

/// What a piece of work is called between programs.
pub(crate) fn name_of(scans: bool, work: Work) -> String {
    let primitive = if scans { "scan" } else { "reduce" };
    format!("{primitive} {} {} {}", work.operator, work.item, work.output)
}

/// The other side: makes a kernel for each line until there are no more.
pub(crate) fn serve(id: &str) -> Result<()> {
    let device = device::open(id, CpuOptions::default())?.with_profile(None);
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::file("read", "standard input".as_ref(), error))?;
        // Whoever asked tries it too, and learns why it cannot be made.
        let answer = if make(&device, &line).is_ok() { "made\n" } else { "not made\n" };
        let mut out = io::stdout();
        out.write_all(answer.as_bytes()).and_then(|()| out.flush()).map_err(Failure::stdout)?;
    }
    Ok(())
}

/// Makes the kernel of a line.
fn make(device: &Device, line: &str) -> Result<()> {
    let words: Vec<&str> = line.split(' ').collect();
    let [primitive, operator, item, output, items, strategy, threads, each] = words[..] else {
        return Err(Failure::usage(format!("'{line}' says no kernel")));
    };
    let number =
        |word: &str| word.parse().map_err(|_| Failure::usage(format!("'{word}' is no number")));
    let policy = WorkgroupPolicy {
        threads_per_workgroup: number(threads)? as u32,
        items_per_thread: number(each)? as u32,
    };
    let (op, item, output): (Op, Dtype, Dtype) =
        (operator.parse()?, item.parse()?, output.parse()?);
    let items: usize = number(items)?;
    let scans = primitive == "scan";
    let options: GpuOptions = match scans {
        _ if strategy == OWN => GpuOptions::default(),
        true => strategy.parse::<GpuScanStrategy>()?.options(policy),
        false => strategy.parse::<GpuReduceStrategy>()?.options(policy),
    };
    let kernel =
        Kernel { device: device.with_gpu_options(options)?, items, largest: op == Op::ArgMax };
    let (from, to) = same_bits(op, item, output);
    match op {
        Op::ArgMin | Op::ArgMax => dispatch::position(item, kernel),
        _ if scans => dispatch::scan(op, from, to, kernel).unwrap_or(Ok(())),
        _ => dispatch::reduce(op, from, to, kernel).unwrap_or(Ok(())),
    }
}

/// A kernel to be made, for arrays of at most so many items.
struct Kernel {
    device: Device,
    items: usize,
    largest: bool,
}

impl Kernel {
    /// An array to bind it to, which nobody reads.
    fn one<T: Element>(&self, value: T) -> upsweep::Result<Array<T>> {
        Array::filled(&self.device, 1, value)
    }
}

impl ReduceKernel for Kernel {
    type Output = Result<()>;

    fn run<T, A, O>(self, operator: O) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let mut plan = ReducePlan::<T, A, O>::new(&self.device, self.items, Reduce::new(operator))?;
        plan.bind(&self.one(T::zeroed())?, &mut self.one(A::zeroed())?)?;
        Ok(())
    }
}

impl ScanKernel for Kernel {
    type Output = Result<()>;

    fn run<T, U, O>(self, operator: O) -> Result<()>
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let mut plan =
            ScanPlan::<T, U, O>::new(&self.device, self.items, Scan::inclusive(operator))?;
        plan.bind(&self.one(T::zeroed())?, &mut self.one(U::zeroed())?)?;
        Ok(())
    }
}

impl PositionKernel for Kernel {
    type Output = Result<()>;

    fn run<T>(self) -> Result<()>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let plan = if self.largest { PositionPlan::<T>::argmax } else { PositionPlan::argmin };
        plan(&self.device, self.items)?.bind(&self.one(T::zeroed())?, &mut self.one(0u64)?)?;
        Ok(())
    }
}
