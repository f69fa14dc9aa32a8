//! Pieces of work on a GPU, from their names to their types.

use std::collections::HashSet;
use std::time::Instant;

use bytemuck::{bytes_of, cast_slice};
use upsweep::profile::{Best, Rows, Work};
use upsweep::{
    Array, CpuOptions, Device, GpuReduceStrategy, GpuScanStrategy, Max, Min, Number, Operator,
    Policy, PositionPlan, Profile, Reduce, ReducePlan, Scan, ScanPlan, View, Widen,
    WorkgroupPolicy, argmax, argmin, reduce_with, scan_into_with,
};

use super::awake::Awake;
use super::budget::{Budget, Deadline};
use super::cells::{Cell, Space, Untried};
use super::helpers::Helpers;
use super::jobs::{Arrays, Jobs};
use super::kernels::{each, line, name_of};
use super::known::{known_at, known_cells};
use super::sweep::{Search, Searched, Spent, Tell, length_of_kernel, lengths_of_first_kernels};
use crate::buffer::Buffer;
use crate::dispatch::{PositionKernel, ReduceKernel, ScanKernel};
use crate::error::Result;

/// One piece of work, at several lengths.
pub(crate) struct Piece<'a> {
    /// The GPU, without a profile or with the one that is checked.
    pub(crate) device: &'a Device,
    /// As records name it.
    pub(crate) operation: &'a str,
    pub(crate) helpers: &'a mut Helpers,
    pub(crate) awake: &'a Awake,
    pub(crate) work: Work,
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
    pub(crate) tell: Tell<'a>,
    /// Where rows go.
    pub(crate) profile: &'a mut Profile,
}

/// How much was tried of a piece of work, of what there is, and how many results were wrong.
pub(crate) struct Extent {
    pub(crate) tried: usize,
    pub(crate) all: usize,
    pub(crate) wrong: usize,
    pub(crate) spent: Spent,
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
    /// When it began.
    begun: Instant,
    /// What helpers call the work.
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
    work: Work,
    lengths: &[usize],
    count: usize,
) -> (Vec<String>, Vec<String>) {
    if lengths.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let name = name_of(true, work);
    let known = known_cells::<GpuScanStrategy>(profiles(), work);
    let next = Untried::on(device.limits(), &known).take_known(count);
    let (_, first) = first_kernels::<GpuScanStrategy, P>(profiles, &name, work, lengths);
    let lengths = lengths_of_first_kernels(lengths);
    let next = next.into_iter().flat_map(|cell| each(&line(&name, &lengths, Some(cell))));
    (first, next.collect())
}

impl Piece<'_> {
    /// Has the first kernels made, while arrays are: those of what the device chooses, and of what profiles have for each length.
    fn begin<S: Space>(&mut self, scans: bool) -> Cells<S> {
        let begun = Instant::now();
        let profiles = || [self.in_use, &*self.profile].into_iter().chain(self.shipped);
        let untried = Untried::on(self.device.limits(), &known_cells(profiles(), self.work));
        let name = name_of(scans, self.work);
        let (known, lines) = first_kernels(profiles, &name, self.work, &self.lengths);
        self.helpers.ask(lines);
        Cells { begun, name, known, untried }
    }

    /// Searches, and keeps what is found. By `rules` the device chooses the numbers of so many items.
    fn search<S: Space>(
        self,
        cells: Cells<S>,
        jobs: &mut dyn Jobs,
        rules: &dyn Fn(usize) -> Policy,
    ) -> Result<Extent> {
        let Cells { begun, name, known, untried } = cells;
        let in_use = |items| S::in_use(self.in_use, self.work, items as u64);
        let chosen = |items| match in_use(items).filter(|_| self.checks) {
            Some(cell) => cell.policy,
            None => numbers(rules(items)),
        };
        let search = Search {
            device: self.device,
            operation: self.operation,
            name: &name,
            helpers: self.helpers,
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
            spent: Spent { preparing: begun.elapsed(), ..Spent::default() },
        };
        let Searched { best, tried, all, wrong, spent } = search.run()?;
        keep(S::rows_mut(self.profile), self.work, best);
        Ok(Extent { tried, all, wrong, spent })
    }
}

impl ReduceKernel for Piece<'_> {
    type Output = Result<Extent>;

    fn run<T, A, O>(mut self, operator: O) -> Result<Extent>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let cells = self.begin::<GpuReduceStrategy>(false);
        let items: &[T] = cast_slice(self.items.bytes());
        let (cpu, problem) = (one_thread()?, Reduce::new(operator));
        let expected = self.lengths.iter().map(|&n| reduce_with(&cpu, &items[..n], &problem));
        let expected = Buffer::of(&expected.collect::<upsweep::Result<Vec<A>>>()?)?;
        let bind = move |device: &Device, input: &Array<T>, result: &mut Array<A>| {
            ReducePlan::<T, A, O>::new(device, input.len(), problem)?.bind(input, result)
        };
        let mut jobs = self.awake.measuring(|| {
            Arrays::of_values(self.device, items, self.lengths.clone(), expected, bind)
        })?;
        let device = self.device;
        self.search(cells, &mut jobs, &|items| device.reduce_choice(items, size_of::<T>()).1)
    }
}

impl PositionKernel for Piece<'_> {
    type Output = Result<Extent>;

    fn run<T>(mut self) -> Result<Extent>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let cells = self.begin::<GpuReduceStrategy>(false);
        let items: &[T] = cast_slice(self.items.bytes());
        let (cpu, largest) = (one_thread()?, self.work.operator == "argmax");
        let find = if largest { argmax::<T> } else { argmin::<T> };
        let expected =
            self.lengths.iter().map(|&n| Ok(find(&cpu, &items[..n])?.unwrap_or(u64::MAX)));
        let expected = Buffer::of(&expected.collect::<upsweep::Result<Vec<u64>>>()?)?;
        let bind = move |device: &Device, input: &Array<T>, result: &mut Array<u64>| {
            let plan = if largest { PositionPlan::argmax } else { PositionPlan::argmin };
            plan(device, input.len())?.bind(input, result)
        };
        let mut jobs = self.awake.measuring(|| {
            Arrays::of_values(self.device, items, self.lengths.clone(), expected, bind)
        })?;
        let device = self.device;
        self.search(cells, &mut jobs, &|items| device.reduce_choice(items, size_of::<T>()).1)
    }
}

impl ScanKernel for Piece<'_> {
    type Output = Result<Extent>;

    fn run<T, U, O>(mut self, operator: O) -> Result<Extent>
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
        let cells = self.begin::<GpuScanStrategy>(true);
        let items: &[T] = cast_slice(self.items.bytes());
        let problem = Scan::inclusive(operator);
        let mut expected = Buffer::new(items.len() * size_of::<U>())?;
        scan_into_with(&one_thread()?, items, expected.items_mut::<U>(), &problem)?;
        let bind = move |device: &Device, input: &Array<T>, output: &mut Array<U>| {
            ScanPlan::<T, U, O>::new(device, input.len(), problem)?.bind(input, output)
        };
        let digest = move |device: &Device, items: View<'_, U>| {
            let total = reduce_with(device, items, &Reduce::<U::Acc, O>::new(operator))?;
            Ok(bytes_of(&total).to_vec())
        };
        let (lengths, digest) = (self.lengths.clone(), Box::new(digest));
        let mut jobs = self
            .awake
            .measuring(|| Arrays::of_arrays(self.device, items, lengths, expected, digest, bind))?;
        let (device, size) = (self.device, size_of::<T>().max(size_of::<U>()));
        self.search(cells, &mut jobs, &|items| device.scan_choice(items, size).1)
    }
}
