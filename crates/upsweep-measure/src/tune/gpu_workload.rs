//! One workload on a GPU: its arrays, its first kernels, and the search for its best cells.

use std::collections::HashSet;

use upsweep::any::{self, AnyView, AnyViewMut, Scalar};
use upsweep::profile::{Best, Rows, Work};
use upsweep::strategy::{GpuReduceStrategy, GpuScanStrategy, Policy, WorkgroupPolicy};
use upsweep::{CpuOptions, Device, Profile};

use super::budget::{Budget, Deadline};
use super::compilers::Compilers;
use super::gpu_arrays::Arrays;
use super::keep_awake::KeepAwake;
use super::kernel_requests::{each, line, name_of};
use super::profile_cells::{known_at, known_cells};
use super::rows::TellTrial;
use super::search::{Search, length_of_kernel, lengths_of_first_kernels};
use super::search_space::{Cell, Space, Untried};
use super::sweep::SearchResult;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::workload::Workload;

/// One piece of work, at several lengths.
pub(crate) struct GpuWorkload<'a> {
    pub(crate) workload: Workload,
    /// The GPU, without a profile or with the one that is checked.
    pub(crate) device: &'a Device,
    /// As records name it.
    pub(crate) operation: &'a str,
    pub(crate) compilers: &'a mut Compilers,
    pub(crate) awake: &'a KeepAwake,
    /// What calls read, and what the library brings for this device and others.
    pub(crate) in_use: &'a Profile,
    pub(crate) shipped: &'a [Profile],
    /// Whether the device reads it too, so that it is what is held against the best.
    pub(crate) checks: bool,
    pub(crate) lengths: Vec<usize>,
    /// The items of the longest.
    pub(crate) items: &'a Buffer,
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    pub(crate) tell: TellTrial<'a>,
    /// Where rows go.
    pub(crate) profile: &'a mut Profile,
}

/// How much was tried of a piece of work, of what there is, and how many results were wrong.
pub(crate) struct Coverage {
    pub(crate) tried: usize,
    pub(crate) all: usize,
    pub(crate) wrong: usize,
}

/// Keeps the rows of a piece of work, and those that there were at other lengths.
fn keep<S: Copy>(all: &mut Vec<Rows<S>>, work: Work, mut best: Vec<Best<S>>) {
    if best.is_empty() {
        return;
    }
    // Of two of one length the first stays.
    let before = all.iter().find(|rows| rows.work() == work);
    best.extend(before.into_iter().flat_map(Rows::best));
    all.retain(|rows| rows.work() != work);
    all.push(Rows::new(work, best));
}

/// What a search tries.
struct Cells<S> {
    /// What compilers call the work.
    name: String,
    /// For each length, whose kernels are being made already.
    known: Vec<Vec<Cell<S>>>,
    untried: Untried<S>,
}

/// A CPU beside compilers, which have the other threads: those of a scan would wait for one another.
fn one_thread() -> upsweep::Result<Device> {
    Device::cpu_with(CpuOptions { threads: Some(1), ..CpuOptions::default() })
}

fn numbers(policy: Policy) -> WorkgroupPolicy {
    match policy {
        Policy::Workgroup(policy) => policy,
        _ => WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 16 },
    }
}

/// What profiles have for each length, and the lines of kernels for that and for what the device chooses.
fn first_kernels<'a, S: Space, P: Iterator<Item = &'a Profile>>(
    profiles: impl Fn() -> P,
    name: &str,
    work: Work,
    lengths: &[usize],
) -> (Vec<Vec<Cell<S>>>, Vec<String>) {
    let known = lengths.iter().map(|&items| known_at(profiles(), work, items));
    let known: Vec<Vec<Cell<S>>> = known.collect();
    let mut lines: Vec<String> =
        lengths.iter().map(|&items| line::<S>(name, &[items], None)).collect();
    for (number, cells) in known.iter().enumerate() {
        let items = length_of_kernel(lengths, number);
        for &cell in cells {
            let line = line(name, &[items], Some(cell));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    (known, lines)
}

/// The lines of kernels of scans that come later: the first ones, and those of so many cells that are tried next.
pub(crate) fn lines_of_scans<'a, P: Iterator<Item = &'a Profile>>(
    device: &Device,
    profiles: impl Fn() -> P,
    workload: &Workload,
    lengths: &[usize],
    count: usize,
) -> (Vec<String>, Vec<String>) {
    if lengths.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (name, work) = (name_of(workload), workload.work());
    let known = known_cells::<GpuScanStrategy>(profiles(), work);
    let next = Untried::on(device.limits(), &known).take_known(count);
    let (_, first) = first_kernels::<GpuScanStrategy, P>(profiles, &name, work, lengths);
    let lengths = lengths_of_first_kernels(lengths);
    let next = next.into_iter().flat_map(|cell| each(&line(&name, &lengths, Some(cell))));
    (first, next.collect())
}

impl GpuWorkload<'_> {
    /// Searches on arrays of its own, and keeps what is found.
    pub(crate) fn run(self) -> Result<Coverage> {
        let items = AnyView::from_bytes(self.workload.dtype, self.items.bytes())?;
        let Workload { dtype, stored, .. } = self.workload;
        if self.workload.primitive.scans() {
            self.on_arrays::<GpuScanStrategy>(items, &|device, n| {
                any::scan_choice(device, dtype, stored, n).1
            })
        } else {
            let size = dtype.size();
            self.on_arrays::<GpuReduceStrategy>(items, &|device, n| device.reduce_choice(n, size).1)
        }
    }

    /// By `rules` the device chooses the numbers of so many items.
    fn on_arrays<S: Space>(
        mut self,
        items: AnyView<'_>,
        rules: &dyn Fn(&Device, usize) -> Policy,
    ) -> Result<Coverage> {
        let cells = self.begin::<S>();
        let (device, workload, lengths) = (self.device, self.workload, self.lengths.clone());
        let expected = if workload.primitive.scans() {
            scanned(workload, items)?
        } else {
            values(workload, items, &lengths)?
        };
        let arrays = || Arrays::new(device, workload, items, lengths, expected);
        let mut arrays = self.awake.exclusively(arrays)?;
        self.search(cells, &mut arrays, &|items| rules(device, items))
    }

    /// Has the first kernels made, while arrays are: those of what the device chooses, and of what profiles have for each length.
    fn begin<S: Space>(&mut self) -> Cells<S> {
        let profiles = || [self.in_use, &*self.profile].into_iter().chain(self.shipped);
        let untried =
            Untried::on(self.device.limits(), &known_cells(profiles(), self.workload.work()));
        let name = name_of(&self.workload);
        let (known, lines) = first_kernels(profiles, &name, self.workload.work(), &self.lengths);
        self.compilers.ask(lines);
        Cells { name, known, untried }
    }

    /// Searches, and keeps what is found. By `rules` the device chooses the numbers of so many items.
    fn search<S: Space>(
        self,
        cells: Cells<S>,
        jobs: &mut Arrays<'_>,
        rules: &dyn Fn(usize) -> Policy,
    ) -> Result<Coverage> {
        let Cells { name, known, untried } = cells;
        let work = self.workload.work();
        let in_use = |items| S::in_use(self.in_use, work, items as u64);
        let chosen = |items| match in_use(items).filter(|_| self.checks) {
            Some(cell) => cell.policy,
            None => numbers(rules(items)),
        };
        let search = Search {
            device: self.device,
            operation: self.operation,
            name: &name,
            compilers: self.compilers,
            awake: self.awake,
            jobs,
            chosen: &chosen,
            checks: self.checks,
            in_use: &in_use,
            budget: self.budget,
            deadline: self.deadline,
            tell: self.tell,
            known,
            untried,
            launched: HashSet::new(),
        };
        let SearchResult { best, tried, all, wrong } = search.run()?;
        keep(S::rows_mut(self.profile), work, best);
        Ok(Coverage { tried, all, wrong })
    }
}

/// The results of reductions on a CPU, at all lengths.
fn values(workload: Workload, items: AnyView<'_>, lengths: &[usize]) -> Result<Buffer> {
    let (cpu, problem) = (one_thread()?, workload.reduction());
    let size = problem.result(workload.dtype).size();
    let mut values = Buffer::new(lengths.len() * size)?;
    for (&length, place) in lengths.iter().zip(values.bytes_mut().chunks_exact_mut(size)) {
        let value = any::reduce(&cpu, items.slice(0..length)?, &problem)?;
        place.copy_from_slice(value.unwrap_or(Scalar::new(u64::MAX)).bytes());
    }
    Ok(values)
}

/// The scan of all items on a CPU.
fn scanned(workload: Workload, items: AnyView<'_>) -> Result<Buffer> {
    let mut scanned = Buffer::new(items.len() * workload.stored.size())?;
    let output = AnyViewMut::from_bytes(workload.stored, scanned.bytes_mut())?;
    any::scan_into(&one_thread()?, items, output, &workload.scan())?;
    Ok(scanned)
}
