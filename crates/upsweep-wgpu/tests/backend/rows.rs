//! Rows of n-dimensional arrays have the bits that each has alone, whichever way threads lie and however long rows are.

use core::fmt::Debug;
use std::sync::Arc;

use upsweep_core::reference::rows as reference;
use upsweep_core::{
    Element, Error, Extreme, Language, Layout, Max, Min, Number, Operator, Product, Reduce, Rows,
    RowsStrategy, Scan, Sum, Widen, bf16, f16,
};
use upsweep_gpu::{ErasedReduce, ErasedScan, ErasedSource, ErasedTarget, RowsOptions, rows};
use upsweep_testing::{
    Input, Joined, LargestStretch, Pair, Recurrence, Recurs, Sample, Stretch, rotation,
};
use upsweep_wgpu::{Gpu, Slice, Workspace};

use crate::common::{POISON, Placed};

/// An array, and the axes along which its rows lie.
#[derive(Debug)]
struct Case {
    input: Layout,
    along: &'static [usize],
    /// Items from one of the output to the next.
    gap: usize,
}

fn packed(shape: &[usize], along: &'static [usize]) -> Case {
    Case { input: Layout::packed(shape).expect("a shape"), along, gap: 1 }
}

fn strided(shape: &[usize], strides: &[isize], start: usize, along: &'static [usize]) -> Case {
    Case { input: Layout::strided(shape, strides, start).expect("strides"), along, gap: 1 }
}

/// Few rows and many, short and long ones, along memory, across it and neither.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for len in
        [1, 2, 3, 4, 5, 8, 31, 32, 33, 100, 127, 128, 129, 256, 300, 1000, 2047, 2048, 2049, 4097]
    {
        all.push(packed(&[37, len], &[1]));
        all.push(packed(&[len, 37], &[0]));
        all.push(packed(&[len, 64], &[0]));
        all.push(packed(&[3, len, 40], &[1]));
    }
    for len in [8192, 65_536, 65_537, 140_003] {
        all.push(packed(&[3, len], &[1]));
        all.push(packed(&[len, 3], &[0]));
        all.push(packed(&[len, 36], &[0]));
    }
    all.extend([
        packed(&[700, 8], &[1]),
        packed(&[8, 700], &[0]),
        packed(&[900, 3], &[1]),
        packed(&[70, 9, 11], &[0, 2]),
        packed(&[5, 300, 8], &[1, 2]),
        packed(&[1000, 7], &[0, 1]),
        strided(&[50, 128], &[-128, -1], 6399, &[1]),
        strided(&[50, 128], &[130, 1], 1, &[1]),
        strided(&[128, 50], &[0, 1], 0, &[0]),
        strided(&[300, 100], &[1, 300], 0, &[0]),
        strided(&[40, 30, 20], &[1, 40, 1200], 0, &[2]),
        strided(&[40, 30, 20], &[1, 40, 1200], 0, &[0]),
        packed(&[0, 5], &[0]),
        packed(&[5, 0], &[0]),
        packed(&[1], &[0]),
    ]);
    for (number, case) in all.iter_mut().enumerate() {
        case.gap = 1 + usize::from(number % 5 == 0);
    }
    all
}

/// The layout of an output of this shape, with gaps between items, and how many items it takes.
fn spread(shape: &[usize], gap: usize) -> (Layout, usize) {
    let mut layout = Layout::packed(shape).expect("a shape");
    layout.axes.iter_mut().for_each(|axis| axis.stride *= gap as isize);
    layout.start = gap - 1;
    let items = layout.len() * gap;
    (layout, items)
}

impl Case {
    /// Its rows, and how many items the output has.
    fn reduced(&self) -> (Rows, usize) {
        let others = self.input.axes.iter().enumerate();
        let others = others.filter(|(number, _)| !self.along.contains(number));
        let shape: Vec<usize> = others.map(|(_, axis)| axis.len).collect();
        let (output, room) = spread(&shape, self.gap);
        (Rows::reduced(&self.input, self.along, &output), room)
    }

    /// The rows of which each item has a place of the output, and how many items that has.
    fn scanned(&self, along: &[usize]) -> (Rows, usize) {
        let (output, room) = spread(&self.input.shape(), self.gap);
        (Rows::scanned(&self.input, along, &output), room)
    }

    fn items<T: Sample>(&self, input: Input) -> Vec<T> {
        let reach = self.input.axes.iter();
        let reach = reach.map(|axis| (axis.len.max(1) as isize - 1) * axis.stride.max(0));
        let items = self.input.start + reach.sum::<isize>() as usize + 1;
        input.array(self.input.start as u64 + 1, items)
    }
}

/// An item of poisoned memory.
fn poison<T: Element>() -> T {
    T::from_bytes(&vec![POISON; size_of::<T>()]).expect("an item of numbers")
}

/// Items in front of arrays, of both in this order.
const BEFORE: [[usize; 2]; 4] = [[0, 0], [1, 3], [4, 1], [8, 16]];

/// A cell: the number of a case, and that of how arrays lie.
#[derive(Clone, Copy)]
struct Cell {
    case: usize,
    place: usize,
}

impl Cell {
    /// What is asked for: in most cells nothing, in others one of the ways that threads may lie.
    fn options(self, rows: &Rows) -> RowsOptions {
        let asked = match self.place % 5 {
            3 => Some(RowsStrategy::Along),
            4 if rows.across.iter().any(|axis| axis.len > 1) => Some(RowsStrategy::Across),
            _ => None,
        };
        RowsOptions { rows: asked, ..RowsOptions::default() }
    }
}

/// Places arrays, calls, and checks all of the output.
fn call<T, U>(
    gpu: &Arc<Gpu>,
    (items, expected): (&[T], &[U]),
    place: usize,
    context: &str,
    call: impl FnOnce(ErasedSource<'_, Slice<'_>>, ErasedTarget<'_, Slice<'_>>) -> Result<(), Error>,
) where
    T: Element,
    U: Element + Debug,
{
    let [before_input, before_output] = BEFORE[place % BEFORE.len()];
    let from = Placed::of(gpu, items, before_input);
    let to = Placed::poisoned(gpu, U::KIND, expected.len(), before_output);
    let done = call(ErasedSource::Device(from.slice()), ErasedTarget::Device(to.slice()));
    done.unwrap_or_else(|error| panic!("{context}: {error}"));
    to.check(gpu, expected, context);
}

fn check<T, U, O>(gpu: &Arc<Gpu>, cell: Cell, operator: O, init: U::Acc)
where
    T: Sample + Element + Widen<U::Acc>,
    U: Sample + Element + Debug,
    O: Operator<U::Acc>,
{
    let case = &cases()[cell.case];
    let (rows, room) = case.reduced();
    let input = if U::EXACT { Input::Full } else { Input::Mixed };
    let items: Vec<T> = case.items(input);
    let problem = Reduce::new(operator);
    let problem = if cell.place.is_multiple_of(3) { problem.init(init) } else { problem };
    let mut expected = vec![poison::<U>(); room];
    reference::reduce(&items, &rows, &mut expected, &problem);
    let erased = ErasedReduce::in_segments::<T, U, O>(&problem, Language::Wgsl);
    let context = format!("{gpu:?}: {} of {} in {case:?}", O::NAME, core::any::type_name::<T>());
    call(gpu, (&items, &expected), cell.place, &context, |from, to| {
        let options = cell.options(&rows);
        rows::reduce(gpu, &mut Workspace::default(), from, &rows, to, &erased, &options)
    });
}

fn check_scan<T, U, O>(gpu: &Arc<Gpu>, cell: Cell, problem: &Scan<U::Acc, O>)
where
    T: Sample + Element + Widen<U::Acc>,
    U: Sample + Element + Debug,
    O: Operator<U::Acc>,
{
    let case = &cases()[cell.case];
    let (rows, room) = case.scanned(case.along);
    let input = if U::EXACT { Input::Full } else { Input::Mixed };
    let items: Vec<T> = case.items(input);
    let mut expected = vec![poison::<U>(); room];
    reference::scan(&items, &rows, &mut expected, problem);
    let erased = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Wgsl);
    let Scan { bounds, direction, .. } = problem;
    let context = format!(
        "{gpu:?}: {bounds:?} {direction:?} scan by {} of {} in {case:?}",
        O::NAME,
        core::any::type_name::<T>()
    );
    call(gpu, (&items, &expected), cell.place, &context, |from, to| {
        let options = cell.options(&rows);
        rows::scan(gpu, &mut Workspace::default(), from, &rows, to, &erased, &options)
    });
}

fn check_copy<T: Sample + Element + Debug>(gpu: &Arc<Gpu>, cell: Cell) {
    let case = &cases()[cell.case];
    let (rows, room) = case.scanned(&[]);
    let items: Vec<T> = case.items(Input::Full);
    let mut expected = vec![poison::<T>(); room];
    for number in 0..rows.count() {
        let [from, to] = rows.row(number);
        expected[to] = items[from];
    }
    let context = format!("{gpu:?}: copy of {} in {case:?}", core::any::type_name::<T>());
    call(gpu, (&items, &expected), cell.place, &context, |from, to| {
        rows::copy(gpu, from, &rows, to, T::KIND)
    });
}

/// Where the first extreme is; a NaN beats every number.
fn position_in<T: Number>(row: &[T], extreme: Extreme) -> u64 {
    let mut best: Option<usize> = None;
    for (k, item) in row.iter().enumerate() {
        let is_better = best.is_none_or(|best| {
            let beats = match extreme {
                Extreme::Smallest => *item < row[best],
                Extreme::Largest => *item > row[best],
            };
            !row[best].is_nan() && (beats || item.is_nan())
        });
        best = if is_better { Some(k) } else { best };
    }
    best.map_or(u64::MAX, |best| best as u64)
}

fn check_position<T: Number + Sample>(gpu: &Arc<Gpu>, cell: Cell, input: Input, extreme: Extreme) {
    let case = &cases()[cell.case];
    let (rows, room) = case.reduced();
    let items: Vec<T> = case.items(input);
    let mut expected = vec![poison::<u64>(); room];
    for number in 0..rows.count() {
        expected[rows.row(number)[1]] =
            position_in(&reference::row(&items, &rows, number), extreme);
    }
    let context = format!("{gpu:?}: {extreme:?} of {} in {case:?}", T::DTYPE);
    call(gpu, (&items, &expected), cell.place, &context, |from, to| {
        let (options, of) = (cell.options(&rows), (T::DTYPE, extreme));
        rows::position(gpu, &mut Workspace::default(), from, &rows, to, of, &options)
    });
}

const REDUCTIONS: usize = 14;

/// A reduction by one of all types and operators.
fn check_reduction(gpu: &Arc<Gpu>, types: usize, cell: Cell) {
    match types {
        0 => check::<f32, f32, _>(gpu, cell, Sum, 0.375),
        1 => check::<u8, u32, _>(gpu, cell, Sum, 7),
        2 => check::<f16, f16, _>(gpu, cell, Sum, 0.5),
        3 => check::<i32, i32, _>(gpu, cell, Min, 31),
        4 => check::<Pair, Pair, _>(gpu, cell, Joined, Pair { sum: 3, last: -1, parity: 5 }),
        5 => {
            let init = Recurrence { scale: 0.75, shift: 2.0 };
            check::<Recurrence, Recurrence, _>(gpu, cell, Recurs, init);
        }
        6 => {
            let init = upsweep_testing::stretch_of(4);
            check::<Stretch, Stretch, _>(gpu, cell, LargestStretch, init);
        }
        7 if gpu.limits().int64 => check::<u32, u64, _>(gpu, cell, Product, 3),
        7 => check::<i8, i32, _>(gpu, cell, Product, 3),
        8 => check::<bf16, f32, _>(gpu, cell, Sum, -0.25),
        9 => check::<i16, i16, _>(gpu, cell, Max, 31),
        10 => check::<u8, u8, _>(gpu, cell, Sum, 200),
        11 => check_position::<f32>(gpu, cell, Input::Special, Extreme::Largest),
        12 => check_position::<u8>(gpu, cell, Input::Full, Extreme::Smallest),
        _ => check_position::<f32>(gpu, cell, Input::Small, Extreme::Smallest),
    }
}

const SCANS: usize = 9;

/// A scan of one of all forms, types and operators.
fn check_scans(gpu: &Arc<Gpu>, types: usize, cell: Cell) {
    match types {
        0 => check_scan::<f32, f32, _>(gpu, cell, &Scan::inclusive(Sum)),
        1 => check_scan::<f32, f32, _>(gpu, cell, &Scan::exclusive(Sum).reverse()),
        2 => check_scan::<u8, u32, _>(gpu, cell, &Scan::exclusive(Sum).init(9)),
        3 => check_scan::<f16, f16, _>(gpu, cell, &Scan::inclusive(Sum).init(0.25)),
        4 => check_scan::<u8, u8, _>(gpu, cell, &Scan::inclusive(Sum).reverse()),
        5 => check_scan::<Recurrence, Recurrence, _>(gpu, cell, &Scan::inclusive(Recurs)),
        6 => check_scan::<Pair, Pair, _>(gpu, cell, &Scan::exclusive(Joined).reverse()),
        7 if gpu.limits().int64 => check_scan::<i32, i64, _>(gpu, cell, &Scan::inclusive(Sum)),
        7 => check_scan::<i16, i32, _>(gpu, cell, &Scan::inclusive(Max)),
        _ => check_scan::<Stretch, Stretch, _>(gpu, cell, &Scan::exclusive(LargestStretch)),
    }
}

const COPIES: usize = 6;

fn check_copies(gpu: &Arc<Gpu>, types: usize, cell: Cell) {
    match types {
        0 => check_copy::<u8>(gpu, cell),
        1 => check_copy::<f16>(gpu, cell),
        2 => check_copy::<u32>(gpu, cell),
        3 => check_copy::<f64>(gpu, cell),
        4 => check_copy::<Recurrence>(gpu, cell),
        _ => check_copy::<Stretch>(gpu, cell),
    }
}

/// Of so many cells one is tested in each run, beside those that it takes to meet every level.
const ONE_IN: usize = 56;

/// Calls `body` with a GPU in turn, and the number of the type and of the case of each cell of this run.
fn each_cell(types: usize, mut body: impl FnMut(&Arc<Gpu>, usize, Cell)) {
    let cases = cases().len();
    let of = |cell: usize| (cell / cases, cell % cases);
    let levels =
        (0..types * cases).map(of).map(|(types, case)| [("types", types), ("cases", case / 6)]);
    let gpus = crate::common::gpus();
    for (turn, cell) in
        rotation::chosen(&levels.collect::<Vec<_>>(), ONE_IN).into_iter().enumerate()
    {
        let (types, case) = of(cell);
        if let Some(gpu) = gpus.get(turn % gpus.len().max(1)) {
            body(gpu, types, Cell { case, place: case + types });
        }
    }
}

#[test]
fn rows_are_reduced_as_if_alone() {
    each_cell(REDUCTIONS, check_reduction);
}

#[test]
fn rows_are_scanned_as_if_alone() {
    each_cell(SCANS, check_scans);
}

#[test]
fn items_are_copied_from_layout_to_layout() {
    each_cell(COPIES, check_copies);
}
