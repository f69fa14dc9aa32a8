//! Programs beside this one that make kernels for it.
//!
//! CUDA's compiler takes its time over a kernel, and threads of one program take turns at it. Several programs do not; what one
//! makes is kept on disk, where this one finds it. Each is this program again, which reads a line for each kernel and answers with
//! another.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

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

/// Most programs: each has a context on the device.
const MOST: usize = 16;

/// A program that makes kernels.
struct Helper {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// All of them.
pub(crate) struct Helpers(Vec<Helper>);

impl Helpers {
    /// As many as this machine has threads besides this program's; none where kernels are not kept, or not by CUDA's compiler.
    pub(crate) fn of(device: &Device) -> Self {
        let is_kept =
            device.limits().interface == "cuda" && profile::path(device.limits()).is_some();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let count = if is_kept { (threads - 1).min(MOST) } else { 0 };
        Self((0..count).filter_map(|_| Helper::start(device.id()).ok()).collect())
    }

    /// How many kernels are made at once.
    pub(crate) fn at_once(&self) -> usize {
        self.0.len().max(1)
    }

    /// Has the kernels of these cells made, for arrays of at most these numbers of items. What cannot be made is seen when a cell is
    /// tried.
    pub(crate) fn make<S: Space>(&mut self, what: &str, lengths: &[usize], cells: &[Cell<S>]) {
        let kernels: Vec<(usize, Cell<S>)> = cells
            .iter()
            .flat_map(|&cell| lengths.iter().map(move |&items| (items, cell)))
            .collect();
        let line = |(items, cell): &(usize, Cell<S>)| {
            let [threads, each] = [cell.policy.threads_per_workgroup, cell.policy.items_per_thread];
            format!("{what} {items} {} {threads} {each}\n", cell.strategy.name())
        };
        let count = self.at_once();
        let asked = self.0.iter_mut().enumerate().map(|(number, helper)| {
            let own = kernels.iter().skip(number).step_by(count);
            own.take_while(|kernel| helper.to.write_all(line(kernel).as_bytes()).is_ok()).count()
        });
        let asked: Vec<usize> = asked.collect();
        for (helper, asked) in self.0.iter_mut().zip(asked) {
            let mut answer = String::new();
            for _ in 0..asked {
                // One that has ended answers nothing, and is missed by nobody.
                if helper.from.read_line(&mut answer).is_err() {
                    break;
                }
            }
        }
    }
}

impl Helper {
    fn start(id: &str) -> io::Result<Self> {
        let mut program = Command::new(std::env::current_exe()?);
        program.args(["tune", "--device", id, "--make-kernels"]).env_remove("UPSWEEP_LOG");
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Self { child, to, from: BufReader::new(from) }),
            _ => Err(io::Error::other("a program without pipes")),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It would end by itself when its input does, but for the kernel that it is at.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
