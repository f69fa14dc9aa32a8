//! Makes the kernels that lines name, where those who need them will look.

use std::any::Any;
use std::io::{self, BufRead, Write};

use upsweep::profile::Work;
use upsweep::{
    Array, CpuOptions, Device, Dtype, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Max, Min,
    Number, Operator, PositionPlan, Recording, Reduce, ReducePlan, Scan, ScanPlan, Widen,
    WorkgroupPolicy,
};

use super::cells::{Cell, Space};
use crate::device;
use crate::dispatch::{self, Op, PositionKernel, ReduceKernel, ScanKernel, same_bits};
use crate::error::{Failure, Result};

/// What stands for a strategy in the line of what the device chooses by itself.
const OWN: &str = "-";

/// The word of a line that has the lengths.
const LENGTHS: usize = 4;

/// What one program asks another for: the kernels of a cell, or of what the device chooses by itself, for arrays of at most each of these
/// lengths.
pub(super) fn line<S: Space>(what: &str, lengths: &[usize], cell: Option<Cell<S>>) -> String {
    let lengths = lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    match cell {
        None => format!("{what} {lengths} {OWN} 0 0"),
        Some(Cell { strategy, policy }) => {
            let [threads, each] = [policy.threads_per_workgroup, policy.items_per_thread];
            format!("{what} {lengths} {} {threads} {each}", strategy.name())
        }
    }
}

/// A line for each of the lengths of one, so that threads share them.
pub(super) fn each(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let Some(lengths) = words.get(LENGTHS) else { return vec![line.to_owned()] };
    let with = |length| [&words[..LENGTHS], &[length], &words[LENGTHS + 1..]].concat().join(" ");
    lengths.split(',').map(with).collect()
}

/// What a piece of work is called in such lines.
pub(super) fn name_of(scans: bool, work: Work) -> String {
    let primitive = if scans { "scan" } else { "reduce" };
    format!("{primitive} {} {} {}", work.operator, work.item, work.output)
}

/// Makes the kernels of a device that lines on standard input name, and answers each with a line on standard output.
///
/// A search starts its own program for that, with the arguments `tune --make-kernels ID`.
///
/// # Errors
/// A device that is not there, and lines that cannot be read or written.
pub fn serve(id: &str) -> Result<()> {
    let device = device::open(id, CpuOptions::default())?.with_profile(None);
    // The other program loads them by itself.
    device.only_make_kernels();
    let mut ones = Ones::default();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::file("read", "standard input".as_ref(), error))?;
        // Whoever asked tries it too, and learns why it cannot be made.
        let _ = make(&device, &line, &mut ones);
        let mut out = io::stdout();
        out.write_all(b"done\n").and_then(|()| out.flush()).map_err(Failure::stdout)?;
    }
    Ok(())
}

/// Makes the kernels of a line.
pub(super) fn make(device: &Device, line: &str, ones: &mut Ones) -> Result<()> {
    let words: Vec<&str> = line.split(' ').collect();
    let [primitive, operator, item, output, lengths, strategy, threads, each] = words[..] else {
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
    let scans = primitive == "scan";
    let options: GpuOptions = match scans {
        _ if strategy == OWN => GpuOptions::default(),
        true => strategy.parse::<GpuScanStrategy>()?.options(policy),
        false => strategy.parse::<GpuReduceStrategy>()?.options(policy),
    };
    let device = device.with_gpu_options(options)?;
    let (from, to) = same_bits(op, item, output);
    let mut made = Ok(());
    for items in lengths.split(',') {
        let (device, items) = (device.clone(), number(items)?);
        let kernel = Kernel { ones: &mut *ones, device, items, largest: op == Op::ArgMax };
        let done = match op {
            Op::ArgMin | Op::ArgMax => dispatch::position(item, kernel),
            _ if scans => dispatch::scan(op, from, to, kernel).unwrap_or(Ok(())),
            _ => dispatch::reduce(op, from, to, kernel).unwrap_or(Ok(())),
        };
        made = made.and(done);
    }
    made
}

/// The arrays of one item that kernels were last made for. Most in a row are for the same types.
#[derive(Default)]
pub(super) struct Ones(Option<Box<dyn Any>>);

/// A kernel to be made, for arrays of at most so many items.
struct Kernel<'a> {
    ones: &'a mut Ones,
    device: Device,
    items: usize,
    largest: bool,
}

impl Kernel<'_> {
    /// Binds it to arrays of one item, which nobody reads.
    fn bind_to_ones<T: Number, U: Number>(
        self,
        bind: impl FnOnce(&Array<T>, &mut Array<U>) -> upsweep::Result<Recording>,
    ) -> Result<()> {
        let kept = self.ones.0.take().and_then(|kept| kept.downcast::<(Array<T>, Array<U>)>().ok());
        let mut ones = match kept {
            Some(ones) => ones,
            None => Box::new((
                Array::filled(&self.device, 1, T::zeroed())?,
                Array::filled(&self.device, 1, U::zeroed())?,
            )),
        };
        let bound = bind(&ones.0, &mut ones.1).map(drop);
        self.ones.0 = Some(ones);
        Ok(bound?)
    }
}

impl ReduceKernel for Kernel<'_> {
    type Output = Result<()>;

    fn run<T, A, O>(self, operator: O) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let mut plan = ReducePlan::<T, A, O>::new(&self.device, self.items, Reduce::new(operator))?;
        self.bind_to_ones(|input: &Array<T>, result: &mut Array<A>| plan.bind(input, result))
    }
}

impl ScanKernel for Kernel<'_> {
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
        self.bind_to_ones(|input: &Array<T>, output: &mut Array<U>| plan.bind(input, output))
    }
}

impl PositionKernel for Kernel<'_> {
    type Output = Result<()>;

    fn run<T>(self) -> Result<()>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let plan = if self.largest { PositionPlan::<T>::argmax } else { PositionPlan::argmin };
        let mut plan = plan(&self.device, self.items)?;
        self.bind_to_ones(|input: &Array<T>, result: &mut Array<u64>| plan.bind(input, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_of_each_length() {
        let cell = "reduce sum u32 u32 1024,4096 striped-16-exact/cooperative/atomic 64 16";
        assert_eq!(each(cell), ["1024", "4096"].map(|length| cell.replace("1024,4096", length)));
        let one = line::<GpuReduceStrategy>("reduce sum u32 u32", &[1 << 20], None);
        assert_eq!(each(&one), [one]);
    }
}
