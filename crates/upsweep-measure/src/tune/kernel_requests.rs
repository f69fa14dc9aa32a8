//! Requests for kernels: lines that name them, and what makes the kernels, which are kept where a search finds them.

use std::io::{BufRead, Write};

use upsweep::any::{self, AnyArray, Op};
use upsweep::profile::Work;
use upsweep::strategy::{GpuOptions, GpuReduceStrategy, GpuScanStrategy, WorkgroupPolicy};
use upsweep::{CpuOptions, Device, Dtype};

use super::search_space::{Cell, Space};
use crate::buffer::poison;
use crate::device;
use crate::error::{Failure, Result};
use crate::selection::Primitive;
use crate::workload::Workload;

/// The first words of lines.
const REDUCE: &str = "reduce";
const SCAN: &str = "scan";

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
pub(super) fn name_of(workload: &Workload) -> String {
    let primitive = if workload.primitive.scans() { SCAN } else { REDUCE };
    let Work { operator, item, output } = workload.work();
    format!("{primitive} {operator} {item} {output}")
}

/// Makes the kernels of a device that lines on `input` name, and answers each with a line on `output`: standard input and output of a
/// program.
///
/// A search starts its own program for that, with the arguments `tune --make-kernels ID`.
///
/// # Errors
/// A device that is not there, and lines that cannot be read or written.
pub fn serve(id: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<()> {
    let device = device::open(id, CpuOptions::default())?.with_profile(None);
    // The other program loads them by itself.
    device.only_make_kernels();
    let mut ones = OneItemArrays::default();
    for line in input.lines() {
        let line = line.map_err(|error| Failure::file("read", "standard input".as_ref(), error))?;
        // Whoever asked tries it too, and learns why it cannot be made.
        let _ = make(&device, &line, &mut ones);
        output.write_all(b"done\n").and_then(|()| output.flush()).map_err(Failure::stdout)?;
    }
    Ok(())
}

/// Makes the kernels of a line.
pub(super) fn make(device: &Device, line: &str, ones: &mut OneItemArrays) -> Result<()> {
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
    let workload = match (primitive, op) {
        (SCAN, _) => Workload::new(Primitive::InclusiveScan, op, item, Some(output)),
        (_, Op::ArgMin) => Workload::new(Primitive::ArgMin, op, item, None),
        (_, Op::ArgMax) => Workload::new(Primitive::ArgMax, op, item, None),
        _ => Workload::new(Primitive::Reduce, op, item, Some(output)),
    };
    let options: GpuOptions = match primitive {
        _ if strategy == OWN => GpuOptions::default(),
        SCAN => strategy.parse::<GpuScanStrategy>()?.options(policy),
        _ => strategy.parse::<GpuReduceStrategy>()?.options(policy),
    };
    let device = device.with_gpu_options(options)?;
    let mut made = Ok(());
    for items in lengths.split(',') {
        made = made.and(ones.bind(&device, &workload, number(items)?));
    }
    made
}

/// The arrays of one item that kernels were last made for. Most in a row are for the same types.
#[derive(Default)]
pub(super) struct OneItemArrays(Option<[AnyArray; 2]>);

impl OneItemArrays {
    /// Binds the kernel of arrays of at most so many items to these, which nobody reads.
    fn bind(&mut self, device: &Device, workload: &Workload, items: usize) -> Result<()> {
        let scans = workload.primitive.scans();
        let problem = workload.reduction();
        let out = if scans { workload.stored } else { problem.result(workload.dtype) };
        let types = [workload.dtype, out];
        let fit = |ones: &[AnyArray; 2]| ones.each_ref().map(AnyArray::dtype) == types;
        let [input, output] = match self.0.take().filter(fit) {
            Some(ones) => self.0.insert(ones),
            None => {
                let [input, output] = types.map(|dtype| AnyArray::filled(device, 1, poison(dtype)));
                self.0.insert([input?, output?])
            }
        };
        if scans {
            any::bind_scan_up_to(device, items, &*input, output, &workload.scan())?;
        } else {
            any::bind_reduce_up_to(device, items, &*input, output, &problem)?;
        }
        Ok(())
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
