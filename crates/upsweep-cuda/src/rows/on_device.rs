//! Rows on a GPU have the bits that each has alone, whichever way threads lie and however long rows are.

use std::sync::Arc;

use upsweep_core::reference::rows as expected;
use upsweep_core::{
    Element, Error, Extreme, Language, Layout, Max, Number, Operator, Reduce, Rows, RowsStrategy,
    Scan, Sum, Widen, bf16, f16,
};
use upsweep_gpu::{ErasedReduce, ErasedScan, ErasedSource, ErasedTarget, RowsOptions, rows};
use upsweep_testing::{Input, Joined, LargestStretch, Pair, Recurrence, Recurs, Sample, Stretch};

use crate::{Gpu, Workspace, testing};

/// An array, and the axes along which its rows lie.
struct Case {
    input: Layout,
    along: &'static [usize],
    /// Items between two of the output, and in front of its first.
    gap: usize,
}

fn case(shape: &[usize], along: &'static [usize]) -> Case {
    Case { input: Layout::packed(shape).expect("a shape"), along, gap: 1 }
}

fn strided(shape: &[usize], strides: &[isize], start: usize, along: &'static [usize]) -> Case {
    Case { input: Layout::strided(shape, strides, start).expect("strides"), along, gap: 1 }
}

/// Every so many cases, another part of them for each type: a kernel is compiled for nearly every one.
const EVERY: usize = 4;

/// The cases of the call of this number.
fn some_cases(call: usize) -> impl Iterator<Item = Case> {
    cases().into_iter().skip(call % EVERY).step_by(EVERY)
}

/// What is asked for of the case of this number: nothing, or one of the ways that threads may lie.
fn options(number: usize, rows: &Rows) -> RowsOptions {
    let asked = [None, Some(RowsStrategy::Along), Some(RowsStrategy::Across)][number % 3];
    let is_there =
        asked != Some(RowsStrategy::Across) || rows.across.iter().any(|axis| axis.len > 1);
    RowsOptions { rows: asked.filter(|_| is_there), ..RowsOptions::default() }
}

/// What is asked for of a scan.
#[derive(Clone, Copy)]
enum Asked {
    Nothing,
    /// What `options` have for the case of this number.
    Any(usize),
    Batched,
}

/// Few rows and many, short and long ones, along memory, across it and neither.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for len in
        [1, 2, 3, 4, 5, 8, 31, 32, 33, 100, 127, 128, 129, 256, 300, 1000, 2047, 2048, 2049, 4097]
    {
        all.push(case(&[37, len], &[1]));
        all.push(case(&[len, 37], &[0]));
        all.push(case(&[len, 64], &[0]));
        all.push(case(&[3, len, 260], &[1]));
    }
    for len in [8192, 65_536, 65_537, 200_003] {
        all.push(case(&[3, len], &[1]));
        all.push(case(&[len, 3], &[0]));
        all.push(case(&[len, 36], &[0]));
    }
    all.extend([
        case(&[10_000, 8], &[1]),
        case(&[8, 10_000], &[0]),
        case(&[20_000, 3], &[1]),
        case(&[70, 9, 11], &[0, 2]),
        case(&[5, 300, 8], &[1, 2]),
        case(&[1000, 7], &[0, 1]),
        strided(&[50, 128], &[-128, -1], 6399, &[1]),
        strided(&[50, 128], &[130, 1], 1, &[1]),
        strided(&[128, 50], &[0, 1], 0, &[0]),
        strided(&[40, 30, 20], &[1, 40, 1200], 0, &[2]),
        strided(&[40, 30, 20], &[1, 40, 1200], 0, &[0]),
        case(&[0, 5], &[0]),
        case(&[5, 0], &[0]),
        case(&[1], &[0]),
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

fn items_of<T: Sample + Element>(input: Input, case: &Case) -> Vec<T> {
    let reach: isize = case
        .input
        .axes
        .iter()
        .map(|axis| (axis.len.max(1) as isize - 1) * axis.stride.max(0))
        .sum();
    input.array(case.input.start as u64 + 1, case.input.start + reach as usize + 1)
}

fn assert_rows<U: Element + PartialEq>(found: &[U], wanted: &[U], what: &str, case: &Case) {
    let bytes = |items: &[U]| U::bytes(items).unwrap_or_default().into_owned();
    let (found, wanted) = (bytes(found), bytes(wanted));
    if found != wanted {
        let size = size_of::<U>().max(1);
        let at = found.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(0) / size;
        panic!("{what} of {:?} along {:?}: item {at} of the output", case.input, case.along);
    }
}

fn check_reduce<T, U, O>(
    gpu: &Arc<Gpu>,
    operator: O,
    input: Input,
    init: Option<U::Acc>,
    call: usize,
) where
    T: Sample + Element + Widen<U::Acc>,
    U: Sample + Element + PartialEq,
    O: Operator<U::Acc>,
{
    let problem = init.map_or(Reduce::new(operator), |init| Reduce::new(operator).init(init));
    let erased = ErasedReduce::in_segments::<T, U, O>(&problem, Language::Cuda);
    for (number, case) in some_cases(call).enumerate() {
        let shape: Vec<usize> = case.input.shape();
        let kept: Vec<usize> =
            (0..shape.len()).filter(|k| !case.along.contains(k)).map(|k| shape[k]).collect();
        let (output, room) = spread(&kept, case.gap);
        let rows = Rows::reduced(&case.input, case.along, &output);
        let items: Vec<T> = items_of(input, &case);
        let mut wanted: Vec<U> = input.array(77, room);
        let mut found = wanted.clone();
        expected::reduce(&items, &rows, &mut wanted, &problem);
        let (source, all) = (&items[..], 0..found.len());
        let mut target = &mut found[..];
        rows::reduce(
            gpu,
            &mut Workspace::default(),
            ErasedSource::Host(&source, 0..items.len()),
            &rows,
            ErasedTarget::Host(&mut target, all),
            &erased,
            &options(number, &rows),
        )
        .unwrap_or_else(|error| panic!("{:?} along {:?}: {error}", case.input, case.along));
        assert_rows(&found, &wanted, O::NAME, &case);
    }
}

fn check_scan<T, U, O>(gpu: &Arc<Gpu>, problem: &Scan<U::Acc, O>, input: Input, call: usize)
where
    T: Sample + Element + Widen<U::Acc>,
    U: Sample + Element + PartialEq,
    O: Operator<U::Acc>,
{
    let cases = some_cases(call).enumerate().map(|(number, case)| (Asked::Any(number), case));
    check_scans::<T, U, O>(gpu, problem, input, cases);
}

/// Checks scans one after another in one workspace, with the options of each.
fn check_scans<T, U, O>(
    gpu: &Arc<Gpu>,
    problem: &Scan<U::Acc, O>,
    input: Input,
    cases: impl Iterator<Item = (Asked, Case)>,
) where
    T: Sample + Element + Widen<U::Acc>,
    U: Sample + Element + PartialEq,
    O: Operator<U::Acc>,
{
    let erased = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
    let mut workspace = Workspace::default();
    for (asked, case) in cases {
        let (output, room) = spread(&case.input.shape(), case.gap);
        let rows = Rows::scanned(&case.input, case.along, &output);
        let items: Vec<T> = items_of(input, &case);
        let mut wanted: Vec<U> = input.array(77, room);
        let mut found = wanted.clone();
        expected::scan(&items, &rows, &mut wanted, problem);
        let (source, all) = (&items[..], 0..found.len());
        let mut target = &mut found[..];
        rows::scan(
            gpu,
            &mut workspace,
            ErasedSource::Host(&source, 0..items.len()),
            &rows,
            ErasedTarget::Host(&mut target, all),
            &erased,
            &match asked {
                Asked::Nothing => RowsOptions::default(),
                Asked::Any(number) => options(number, &rows),
                Asked::Batched => {
                    RowsOptions { rows: Some(RowsStrategy::Batched), ..RowsOptions::default() }
                }
            },
        )
        .unwrap_or_else(|error| panic!("{:?} along {:?}: {error}", case.input, case.along));
        assert_rows(
            &found,
            &wanted,
            &format!("scan by {} {:?} {:?}", O::NAME, problem.bounds, problem.direction),
            &case,
        );
    }
}

#[test]
fn rows_are_reduced_as_if_alone() {
    let Some(gpu) = testing::gpu() else { return };
    at_once(&[
        &|| check_reduce::<f32, f32, _>(&gpu, Sum, Input::Mixed, None, 1),
        &|| check_reduce::<u32, u32, _>(&gpu, Sum, Input::Full, Some(7), 2),
        &|| check_reduce::<u8, u64, _>(&gpu, Sum, Input::Full, None, 3),
        &|| check_reduce::<f16, f16, _>(&gpu, Sum, Input::Mixed, None, 4),
        &|| check_reduce::<f64, f64, _>(&gpu, Sum, Input::Mixed, Some(0.5), 5),
        &|| check_reduce::<i16, i16, _>(&gpu, Max, Input::Full, None, 6),
        &|| check_reduce::<bf16, f32, _>(&gpu, Sum, Input::Mixed, None, 7),
    ]);
}

#[test]
fn rows_are_reduced_in_order() {
    let Some(gpu) = testing::gpu() else { return };
    at_once(&[
        &|| check_reduce::<Pair, Pair, _>(&gpu, Joined, Input::Full, None, 8),
        &|| check_reduce::<Recurrence, Recurrence, _>(&gpu, Recurs, Input::Mixed, None, 9),
        &|| check_reduce::<Stretch, Stretch, _>(&gpu, LargestStretch, Input::Full, None, 10),
    ]);
}

#[test]
fn rows_are_scanned_as_if_alone() {
    let Some(gpu) = testing::gpu() else { return };
    at_once(&[
        &|| check_scan::<f32, f32, _>(&gpu, &Scan::inclusive(Sum), Input::Mixed, 11),
        &|| check_scan::<f32, f32, _>(&gpu, &Scan::exclusive(Sum).reverse(), Input::Mixed, 12),
        &|| check_scan::<u8, u64, _>(&gpu, &Scan::exclusive(Sum), Input::Full, 13),
        &|| check_scan::<f16, f16, _>(&gpu, &Scan::inclusive(Sum), Input::Mixed, 14),
        &|| check_scan::<f64, f64, _>(&gpu, &Scan::inclusive(Sum).init(0.25), Input::Mixed, 15),
        &|| {
            check_scan::<Recurrence, Recurrence, _>(
                &gpu,
                &Scan::inclusive(Recurs),
                Input::Mixed,
                16,
            )
        },
        &|| check_scan::<Pair, Pair, _>(&gpu, &Scan::exclusive(Joined).reverse(), Input::Full, 17),
    ]);
}

/// Few long rows, which a launch takes together: whole chunks and parts of them, beside one another and apart, begun anywhere.
fn few_long_rows() -> impl Iterator<Item = (Asked, Case)> {
    let chosen = [
        case(&[40, 30_001], &[1]),
        case(&[3, 1 << 17], &[1]),
        strided(&[7, 50_000], &[50_016, 1], 4, &[1]),
        strided(&[7, 49_999], &[-50_003, 1], 300_021, &[1]),
        case(&[300, 8_200], &[1]),
        case(&[200, 50_004], &[1]),
        case(&[2, 5_000], &[1]),
        case(&[40, 30_001], &[1]),
    ];
    let asked_for = [case(&[37, 100], &[1]), case(&[5, 3], &[1]), case(&[3, 20_000], &[1])];
    let chosen = chosen.map(|case| (Asked::Nothing, case));
    let asked_for = asked_for.map(|case| (Asked::Batched, case));
    chosen.into_iter().chain(asked_for)
}

/// Runs checks side by side: nearly every case compiles a kernel.
fn at_once(checks: &[&(dyn Fn() + Sync)]) {
    std::thread::scope(|threads| checks.iter().for_each(|check| drop(threads.spawn(check))));
}

#[test]
fn few_long_rows_are_scanned_as_if_alone() {
    let Some(gpu) = testing::gpu() else { return };
    let (sums, sums_before) = (Scan::inclusive(Sum), Scan::exclusive(Sum));
    let joined = Scan::exclusive(Joined).reverse();
    let recurs = Scan::inclusive(Recurs);
    at_once(&[
        &|| check_scans::<f32, f32, _>(&gpu, &sums, Input::Mixed, few_long_rows()),
        &|| check_scans::<f32, f32, _>(&gpu, &sums_before.reverse(), Input::Mixed, few_long_rows()),
        &|| check_scans::<u8, u8, _>(&gpu, &Scan::exclusive(Sum), Input::Full, few_long_rows()),
        &|| {
            check_scans::<u8, u8, _>(
                &gpu,
                &Scan::inclusive(Sum).reverse(),
                Input::Full,
                few_long_rows(),
            )
        },
        &|| {
            check_scans::<u32, u64, _>(
                &gpu,
                &Scan::inclusive(Sum).init(9),
                Input::Full,
                few_long_rows(),
            )
        },
        &|| check_scans::<f64, f64, _>(&gpu, &Scan::exclusive(Sum), Input::Mixed, few_long_rows()),
        &|| check_scans::<Pair, Pair, _>(&gpu, &joined, Input::Full, few_long_rows()),
        &|| check_scans::<Recurrence, Recurrence, _>(&gpu, &recurs, Input::Mixed, few_long_rows()),
    ]);
}

#[test]
fn what_no_launch_does_is_refused() {
    let Some(gpu) = testing::gpu() else { return };
    let items = [1.0f32; 60];
    let (source, mut found) = (&items[..], items);
    let options = RowsOptions { rows: Some(RowsStrategy::Batched), ..RowsOptions::default() };
    let layout = Layout::packed(&[5, 12]).expect("a shape");
    let [columns, of_rows] = [
        Rows::scanned(&layout, &[0], &layout),
        Rows::reduced(&layout, &[1], &Layout::packed(&[5]).expect("a shape")),
    ];
    let input = || ErasedSource::Host(&source, 0..60);
    let mut workspace = Workspace::default();
    let scan = ErasedScan::of::<f32, f32, f32, Sum>(&Scan::inclusive(Sum), Language::Cuda);
    let reduce = ErasedReduce::of::<f32, f32, Sum>(&Reduce::new(Sum), Language::Cuda);
    let mut target = &mut found[..];
    let to = ErasedTarget::Host(&mut target, 0..60);
    let scanned = rows::scan(&gpu, &mut workspace, input(), &columns, to, &scan, &options);
    let mut target = &mut found[..5];
    let to = ErasedTarget::Host(&mut target, 0..5);
    let reduced = rows::reduce(&gpu, &mut workspace, input(), &of_rows, to, &reduce, &options);
    for refused in [scanned, reduced] {
        assert!(
            matches!(&refused, Err(Error::StrategyRefused { strategy, .. }) if strategy == "batched"),
            "{refused:?}"
        );
    }
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

fn check_position<T: Number + Sample>(gpu: &Arc<Gpu>, extreme: Extreme) {
    for case in cases() {
        let shape = case.input.shape();
        let kept: Vec<usize> =
            (0..shape.len()).filter(|k| !case.along.contains(k)).map(|k| shape[k]).collect();
        let (output, room) = spread(&kept, case.gap);
        let rows = Rows::reduced(&case.input, case.along, &output);
        let items: Vec<T> = items_of(Input::Special, &case);
        let mut wanted = vec![5u64; room];
        let mut found = wanted.clone();
        for number in 0..rows.count() {
            let row = expected::row(&items, &rows, number);
            wanted[rows.row(number)[1]] = position_in(&row, extreme);
        }
        let (source, all) = (&items[..], 0..found.len());
        let mut target = &mut found[..];
        let input = ErasedSource::Host(&source, 0..items.len());
        let output = ErasedTarget::Host(&mut target, all);
        rows::position(
            gpu,
            &mut Workspace::default(),
            input,
            &rows,
            output,
            (T::DTYPE, extreme),
            &Default::default(),
        )
        .expect("positions");
        assert_rows(&found, &wanted, "position", &case);
    }
}

#[test]
fn extremes_are_found_in_each_row() {
    let Some(gpu) = testing::gpu() else { return };
    at_once(&[
        &|| check_position::<f32>(&gpu, Extreme::Largest),
        &|| check_position::<u8>(&gpu, Extreme::Smallest),
        &|| check_position::<i64>(&gpu, Extreme::Largest),
    ]);
}

#[test]
fn items_are_copied_from_layout_to_layout() {
    let Some(gpu) = testing::gpu() else { return };
    fn check<T: Sample + Element + PartialEq>(gpu: &Arc<Gpu>) {
        for case in cases() {
            let (output, room) = spread(&case.input.shape(), case.gap);
            let rows = Rows::scanned(&case.input, &[], &output);
            let items: Vec<T> = items_of(Input::Full, &case);
            let mut wanted: Vec<T> = Input::Full.array(77, room);
            let mut found = wanted.clone();
            for number in 0..rows.count() {
                let [from, to] = rows.row(number);
                wanted[to] = items[from];
            }
            let (source, all) = (&items[..], 0..found.len());
            let mut target = &mut found[..];
            let input = ErasedSource::Host(&source, 0..items.len());
            let output = ErasedTarget::Host(&mut target, all);
            rows::copy(gpu, input, &rows, output, T::KIND).expect("a copy");
            assert_rows(&found, &wanted, "copy", &case);
        }
    }
    check::<u8>(&gpu);
    check::<f16>(&gpu);
    check::<u32>(&gpu);
    check::<f64>(&gpu);
    check::<Recurrence>(&gpu);
    check::<Stretch>(&gpu);
}
