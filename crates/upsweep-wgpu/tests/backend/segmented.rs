//! Segments give the bits of the reference, however they are said and wherever they lie, by every strategy that there is for them.

use core::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use upsweep_core::reference::segmented;
use upsweep_core::{
    AccessWidth, Arrangement, Bounds, Dtype, Element, Error, GpuScanStrategy, Load, Max, Min,
    Operator, Product, Reduce, Scan, ScanGlobal, ScanLocal, SegmentedBy, Sum, Tail, Widen,
    WorkgroupPolicy, bf16, f16,
};
use upsweep_testing::{Input, Joined, Pair, Powers, Random, Recurrence, Recurs, Sample, rotation};
use upsweep_wgpu::{Calls, Gpu, Packed, ScanOptions, Segments, Source, Stored, Target, Workspace};

use crate::common::Placed;

/// Longest first: what a long array leaves in the workspace must not be found by a short one. Those of a row lie in memory in one
/// way, so that there are few kernels.
const LENGTHS: [[usize; 5]; 2] = [[70_001, 6_145, 2_049, 113, 1], [69_632, 6_160, 2_048, 112, 16]];

/// Several sizes of workgroups and of what threads hold, and none.
const POLICIES: [Option<(u32, u32)>; 4] = [None, Some((32, 1)), Some((1024, 32)), Some((256, 8))];

/// What says where segments begin: neighbours differ, and of 0 all bytes are.
trait Mark: Element {
    fn of(number: usize) -> Self;
}

macro_rules! marks {
    ($($of:ty: $number:ident => $value:expr;)*) => { $(
        impl Mark for $of {
            fn of($number: usize) -> Self {
                $value
            }
        }
    )* };
}

marks! {
    u8: number => (number % 251) as u8;
    bf16: number => bf16::from_bits((number % 60_000) as u16);
    u32: number => (number as u32).wrapping_mul(0x1_0001);
    f32: number => f32::from_bits(number as u32);
    // The upper half alone tells neighbours apart.
    u64: number => (number as u64) << 32;
    f64: number => f64::from_bits(number as u64);
    Pair: number => Pair { sum: (number % 7) as u16, last: 0, parity: (number / 7) as u8 };
    Powers: number => Powers { count: 0, sum: 0.0, squares: f32::from_bits(number as u32) };
}

/// Offsets of segments of `items` items in every pattern that is handled apart.
fn patterns(items: usize, seed: u64) -> Vec<(&'static str, Vec<usize>)> {
    let mut random = Random::new(seed);
    let mut uneven = vec![0];
    while uneven.last().is_some_and(|&last| last < items) {
        // Many short ones, some long ones, some without items.
        let most = [1, 2, 3, 9, 40, 3000][random.below(6)];
        let next = uneven[uneven.len() - 1] + random.below(most);
        uneven.push(next.min(items));
    }
    let runs = (0..items).step_by(8).chain([items]);
    let crowd = |place: usize| core::iter::repeat_n(place, 9000);
    // Items behind an end that is no end of a chunk, and crowds at both ends and within.
    let middle = (items / 2..items).step_by(5).take(400);
    let crowded: Vec<usize> = crowd(0)
        .chain([items / 3])
        .chain(crowd(items / 2))
        .chain(middle)
        .chain(crowd(items))
        .collect();
    vec![
        ("one", vec![0, items]),
        ("each its own", (0..=items).collect()),
        ("runs of 8", runs.collect()),
        ("uneven", uneven),
        ("crowded", crowded),
        ("in the middle", vec![items / 3, items / 2, items / 2, items - items / 4]),
        ("none", vec![items / 2]),
    ]
}

/// One cell: the strategy, and how the arrays lie.
struct Cell {
    options: ScanOptions,
    number: usize,
}

impl Cell {
    /// Items in front of an array.
    fn before(&self, array: usize) -> usize {
        [0, 1, 4, 3][(self.number + array) % 4]
    }

    /// Whether a strategy that rounding forbids is refused.
    fn nests(&self, is_exact: bool) -> bool {
        !is_exact && self.options.strategy.is_some_and(|of| of.local == ScanLocal::Blelloch)
    }
}

/// The array that says where segments begin: by the cell's number, another way.
fn said<M: Mark>(
    gpu: &Gpu,
    way: usize,
    offsets: &[usize],
    begins: &[bool],
    before: usize,
) -> (SegmentedBy, Placed, Vec<M>) {
    let by_item = |each: &dyn Fn(usize, bool) -> M| -> Vec<M> {
        begins.iter().enumerate().map(|(item, &begins)| each(item, begins)).collect()
    };
    match way % 4 {
        0 => {
            let offsets: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            (SegmentedBy::Offsets, Placed::of(gpu, &offsets, before), Vec::new())
        }
        1 => {
            let offsets: Vec<u64> = offsets.iter().map(|&offset| offset as u64).collect();
            (SegmentedBy::Offsets, Placed::of(gpu, &offsets, before), Vec::new())
        }
        2 => {
            // The first item begins a segment in any case.
            let flags =
                by_item(&|item, begins| M::of(usize::from(begins && item > 0) * (item % 200 + 1)));
            (SegmentedBy::Flags, Placed::of(gpu, &flags, before), Vec::new())
        }
        _ => {
            let mut number = 0;
            let mut next = |begins: bool| {
                number += usize::from(begins);
                M::of(number)
            };
            let keys: Vec<M> = begins.iter().map(|&begins| next(begins)).collect();
            let of = |(item, key): (usize, &M)| begins[item].then_some(*key);
            let unique = keys.iter().enumerate().filter_map(of).collect();
            (SegmentedBy::Keys, Placed::of(gpu, &keys, before), unique)
        }
    }
}

impl Placed {
    fn segments(&self, by: SegmentedBy) -> Segments<'_> {
        Segments { by, kind: self.kind, count: self.items, stored: Stored::Device(self.slice()) }
    }
}

/// Scans of one form, of every length and pattern.
fn check_scans<T, U, O, M>(gpu: &Arc<Gpu>, cell: &Cell, problem: &Scan<U::Acc, O>)
where
    T: Widen<U::Acc> + Sample,
    U: Element + Debug,
    O: Operator<U::Acc> + Debug,
    M: Mark,
{
    let mut workspace = Workspace::default();
    for length in LENGTHS[usize::from(cell.number.is_multiple_of(4))] {
        let items: Vec<T> = Input::Mixed.array(cell.number as u64, length);
        let input = Placed::of(gpu, &items, cell.before(0));
        for (pattern, offsets) in patterns(length, cell.number as u64) {
            let begins = segmented::begins(length, &offsets);
            let (by, marks, _) = said::<M>(gpu, cell.number, &offsets, &begins, cell.before(1));
            let context = format!(
                "{gpu:?}: {:?} of {length}, {pattern} by {by:?} of {}, {problem:?}",
                cell.options, marks.kind
            );
            let output = Placed::poisoned(gpu, U::KIND, length, cell.before(2));
            let done = gpu.segmented_scan::<T, U, O>(
                &mut workspace,
                Source::Device(input.slice()),
                &marks.segments(by),
                Target::Device(output.slice()),
                problem,
                &cell.options,
            );
            if cell.nests(U::EXACT) {
                assert!(matches!(done, Err(Error::StrategyRefused { .. })), "{context}: {done:?}");
                return;
            }
            done.unwrap_or_else(|error| panic!("{context}: {error}"));
            let expected: Vec<U> = segmented::scan(&items, &begins, problem);
            output.check(gpu, &expected, &context);
        }
    }
}

/// Reductions of every length and pattern.
fn check_reductions<T, U, O, M>(gpu: &Arc<Gpu>, cell: &Cell, problem: &Reduce<U::Acc, O>)
where
    T: Widen<U::Acc> + Sample,
    U: Element + Debug,
    O: Operator<U::Acc> + Debug,
    M: Mark + Debug,
{
    let mut workspace = Workspace::default();
    for length in LENGTHS[usize::from(cell.number.is_multiple_of(4))] {
        let items: Vec<T> = Input::Mixed.array(cell.number as u64, length);
        let input = Placed::of(gpu, &items, cell.before(0));
        for (pattern, offsets) in patterns(length, cell.number as u64) {
            let begins = segmented::begins(length, &offsets);
            let (by, marks, keys) = said::<M>(gpu, cell.number, &offsets, &begins, cell.before(1));
            let context = format!(
                "{gpu:?}: {:?} of {length}, {pattern} by {by:?} of {}, {problem:?}",
                cell.options, marks.kind
            );
            let is_packed = by != SegmentedBy::Offsets;
            let room = if is_packed { length } else { offsets.len() - 1 };
            let output = Placed::poisoned(gpu, U::KIND, room, cell.before(2));
            let unique = Placed::poisoned(gpu, M::KIND, length, cell.before(3));
            let count = Placed::poisoned(gpu, Dtype::U64.into(), 1, cell.before(4));
            let asks = by == SegmentedBy::Keys && !cell.number.is_multiple_of(8);
            let packed = is_packed.then(|| Packed::<M> {
                unique: asks.then(|| Target::Device(unique.slice())),
                count: Target::Device(count.slice()),
            });
            let done = gpu.segmented_reduce::<T, U, O, M>(
                &mut workspace,
                Source::Device(input.slice()),
                &marks.segments(by),
                (Target::Device(output.slice()), packed),
                problem,
                &cell.options,
            );
            if cell.nests(U::EXACT) && room > 0 {
                assert!(matches!(done, Err(Error::StrategyRefused { .. })), "{context}: {done:?}");
                return;
            }
            done.unwrap_or_else(|error| panic!("{context}: {error}"));
            let expected: Vec<U> = match is_packed {
                true => segmented::reduce(&items, &begins, problem),
                false => segmented::reduce_by_offsets(&items, &offsets, problem),
            };
            output.check(gpu, &expected, &context);
            if is_packed {
                count.check(gpu, &[expected.len() as u64], &context);
            }
            if asks {
                unique.check(gpu, &keys, &context);
            }
        }
    }
}

/// Scans and reductions with one of all forms, with and without a start value.
fn check<T, U, O, M>(gpu: &Arc<Gpu>, cell: &Cell, operator: O, init: U::Acc)
where
    T: Widen<U::Acc> + Sample,
    U: Element + Debug,
    O: Operator<U::Acc> + Debug,
    M: Mark + Debug,
{
    let mut scan = Scan::inclusive(operator);
    if cell.number & 1 > 0 {
        scan.bounds = Bounds::Exclusive;
    }
    if (cell.number / 3) & 1 > 0 {
        scan = scan.reverse();
    }
    let mut reduce = Reduce::new(operator);
    if (cell.number / 5) & 1 > 0 {
        (scan, reduce) = (scan.init(init), reduce.init(init));
    }
    check_scans::<T, U, O, M>(gpu, cell, &scan);
    check_reductions::<T, U, O, M>(gpu, cell, &reduce);
}

/// One of all types and operators, with one of what says where segments begin.
fn check_types(gpu: &Arc<Gpu>, cell: &Cell, types: usize) {
    let pair = Pair { sum: 3, last: -1, parity: 5 };
    match types {
        0 => check::<u32, u32, _, u32>(gpu, cell, Sum, 7),
        1 => check::<f32, f32, _, f64>(gpu, cell, Sum, 0.375),
        2 => check::<u8, u8, _, u8>(gpu, cell, Sum, 200),
        3 => check::<Pair, Pair, _, Pair>(gpu, cell, Joined, pair),
        4 => check::<f16, f16, _, bf16>(gpu, cell, Sum, 0.5),
        5 => check::<i16, i16, _, f32>(gpu, cell, Min, 31),
        6 => {
            let first = Recurrence { scale: 0.75, shift: 2.0 };
            check::<Recurrence, Recurrence, _, Powers>(gpu, cell, Recurs, first);
        }
        7 if gpu.limits().int64 => check::<u32, u64, _, u64>(gpu, cell, Product, 3),
        7 => check::<i8, i32, _, u64>(gpu, cell, Product, 3),
        _ => check::<f32, f32, _, u8>(gpu, cell, Max, -1.0),
    }
}

/// Of so many cells one is tested in each run, beside those that it takes to meet every level.
const ONE_IN: usize = 24;

/// The cells of this run, each with a GPU in turn.
fn shared<L: Eq + Hash>(levels: &[impl AsRef<[L]>], mut body: impl FnMut(&Arc<Gpu>, usize)) {
    let gpus = crate::common::gpus();
    for (turn, cell) in rotation::chosen(levels, ONE_IN).into_iter().enumerate() {
        if let Some(gpu) = gpus.get(turn % gpus.len().max(1)) {
            body(gpu, cell);
        }
    }
}

#[test]
fn every_strategy_gives_the_bits_of_the_order() {
    let mut cells = Vec::new();
    for &arrangement in Arrangement::ALL {
        for &width in AccessWidth::ALL {
            for &tail in Tail::ALL {
                for &local in ScanLocal::ALL {
                    for global in [ScanGlobal::ReduceThenScan, ScanGlobal::LookBackFallback] {
                        cells.push((Load { arrangement, width, tail }, local, global));
                    }
                }
            }
        }
    }
    // Widths that hold no longer items are refused for all scans.
    let types = |number: usize| match cells[number].0.width {
        AccessWidth::Bytes4 => number % 3,
        _ => number % 9,
    };
    let levels = cells.iter().enumerate().map(|(number, &(load, local, global))| {
        let mut levels = rotation::levels_of(load, local, global);
        levels.push(format!("policy {}", number % POLICIES.len()));
        levels.push(format!("types {}", types(number)));
        levels.push(format!("way {}", number % 4));
        levels
    });
    shared(&levels.collect::<Vec<_>>(), |gpu, number| {
        let (load, local, global) = cells[number];
        let strategy = Some(GpuScanStrategy { load, local, global });
        let sizes = POLICIES[number % POLICIES.len()];
        let policy = sizes.map(|(threads_per_workgroup, items_per_thread)| WorkgroupPolicy {
            threads_per_workgroup,
            items_per_thread,
        });
        // A chunk that never says its total: those behind it find it out, and where its segments begin.
        let stalled = (global == ScanGlobal::LookBackFallback).then_some(1);
        let options = ScanOptions { strategy, policy, stalled };
        check_types(gpu, &Cell { options, number }, types(number));
    });
}

/// Strategies that there are not for segments, or not on devices whose workgroups may stop.
#[test]
fn strategies_are_refused() {
    for gpu in crate::common::gpus() {
        let load = Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        };
        for global in [ScanGlobal::ScanThenPropagate, ScanGlobal::LookBack, ScanGlobal::Aggregates]
        {
            let strategy = Some(GpuScanStrategy { load, local: ScanLocal::Raking, global });
            let options = ScanOptions { strategy, policy: None, stalled: None };
            match global {
                ScanGlobal::ScanThenPropagate => refused(gpu, &options, "where segments begin"),
                _ if !gpu.limits().forward_progress => refused(gpu, &options, "promise"),
                _ => {}
            }
        }
    }
}

fn refused(gpu: &Arc<Gpu>, options: &ScanOptions, reason: &str) {
    let offsets: Vec<u8> = [0u32, 2].iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let done = gpu.segmented_scan::<u32, u32, _>(
        &mut Workspace::default(),
        Source::Host(&[1, 2]),
        &Segments {
            by: SegmentedBy::Offsets,
            kind: Dtype::U32.into(),
            count: 2,
            stored: Stored::Host(&offsets),
        },
        Target::Host(&mut [0, 0]),
        &Scan::inclusive(Sum),
        options,
    );
    let Err(Error::StrategyRefused { reason: said, .. }) = done else { panic!("{done:?}") };
    assert!(said.contains(reason), "{said}");
}

/// By what is chosen where nothing is asked for: every type with every way of saying where segments begin.
#[test]
fn every_type_and_way() {
    let levels = (0..9 * 4 * 2).map(|cell| [("types", cell % 9), ("way", cell / 9 % 4)]);
    shared(&levels.collect::<Vec<_>>(), |gpu, cell| {
        let (types, way) = (cell % 9, cell / 9 % 4);
        let number = 4 * (cell % 15) + way;
        check_types(gpu, &Cell { options: ScanOptions::default(), number }, types);
    });
}

/// Arrays of the host's: only what there is of values and keys is written.
#[test]
fn arrays_of_the_host() {
    for gpu in crate::common::gpus() {
        let (mut workspace, options) = (Workspace::default(), ScanOptions::default());
        let keys = [3u16, 3, 5, 5, 5, 3];
        let marks = Segments {
            by: SegmentedBy::Keys,
            kind: Dtype::U16.into(),
            count: 6,
            stored: Stored::Host(bytemuck::cast_slice(&keys)),
        };
        let (mut values, mut unique, mut count) = ([9u32; 6], [9u16; 6], [9u64]);
        let packed =
            Packed { unique: Some(Target::Host(&mut unique)), count: Target::Host(&mut count) };
        gpu.segmented_reduce(
            &mut workspace,
            Source::Host(&[1u32, 2, 3, 4, 5, 6]),
            &marks,
            (Target::Host(&mut values), Some(packed)),
            &Reduce::<u32, _>::new(Sum),
            &options,
        )
        .expect("sums by key");
        assert_eq!((values, unique, count), ([3, 12, 6, 9, 9, 9], [3, 5, 3, 9, 9, 9], [3]));
        let offsets = [0u64, 0, 0, 0];
        let empty = Segments {
            by: SegmentedBy::Offsets,
            kind: Dtype::U64.into(),
            count: 4,
            stored: Stored::Host(bytemuck::cast_slice(&offsets)),
        };
        let mut values = [9u32; 3];
        let problem = Reduce::<u32, _>::new(Sum).init(4);
        gpu.segmented_reduce::<u32, u32, _, u32>(
            &mut workspace,
            Source::Host(&[]),
            &empty,
            (Target::Host(&mut values), None),
            &problem,
            &options,
        )
        .expect("sums of nothing");
        assert_eq!(values, [4; 3]);
        let nothing = Segments { count: 0, stored: Stored::Host(&[]), ..marks };
        let mut count = [9u64];
        let packed = Packed::<u16> { unique: None, count: Target::Host(&mut count) };
        gpu.segmented_reduce(
            &mut workspace,
            Source::Host(&[] as &[u32]),
            &nothing,
            (Target::Host(&mut [] as &mut [u32]), Some(packed)),
            &problem,
            &options,
        )
        .expect("nothing by key");
        assert_eq!(count, [0]);
    }
}

/// Offsets that decrease or are too large: whatever comes of them, nothing around the output is touched, and it ends.
#[test]
fn wrong_offsets_write_nowhere_outside() {
    for gpu in crate::common::gpus() {
        let items: Vec<u32> = Input::Full.array(1, 9_001);
        let input = Placed::of(gpu, &items, 1);
        let shorts: Vec<u16> = Input::Full.array(2, 9_001);
        let short_input = Placed::of(gpu, &shorts, 1);
        let mut random = Random::new(7);
        let kinds: [Vec<u32>; 3] = [
            (0..9_000).map(|_| random.word() as u32 % 10_000).collect(),
            (0..9_000).rev().collect(),
            (0..20_000).map(|k| if k % 3 == 0 { u32::MAX - k } else { k }).collect(),
        ];
        for offsets in kinds {
            let marks = Placed::of(gpu, &offsets, 1);
            let output = Placed::poisoned(gpu, Dtype::U16.into(), offsets.len() - 1, 3);
            let scanned = Placed::poisoned(gpu, Dtype::U32.into(), items.len(), 3);
            let (mut workspace, options) = (Workspace::default(), ScanOptions::default());
            gpu.segmented_reduce::<u16, u16, _, u32>(
                &mut workspace,
                Source::Device(short_input.slice()),
                &marks.segments(SegmentedBy::Offsets),
                (Target::Device(output.slice()), None),
                &Reduce::new(Max),
                &options,
            )
            .expect("a reduction");
            gpu.segmented_scan::<u32, u32, _>(
                &mut workspace,
                Source::Device(input.slice()),
                &marks.segments(SegmentedBy::Offsets),
                Target::Device(scanned.slice()),
                &Scan::exclusive(Sum).reverse(),
                &options,
            )
            .expect("a scan");
            output.check::<u16>(gpu, &[], "wrong offsets");
            scanned.check::<u32>(gpu, &[], "wrong offsets");
        }
    }
}

#[test]
fn mistakes_are_named() {
    for gpu in crate::common::gpus() {
        let marks = |by, dtype: Dtype, count| Segments {
            by,
            kind: dtype.into(),
            count,
            stored: Stored::Host(&[0; 8]),
        };
        let scan = |segments| {
            let (items, mut output) = ([1u32, 2], [0u32; 2]);
            let done = gpu.segmented_scan::<u32, u32, _>(
                &mut Workspace::default(),
                Source::Host(&items),
                &segments,
                Target::Host(&mut output),
                &Scan::inclusive(Sum),
                &ScanOptions::default(),
            );
            done.expect_err("a mistake").to_string()
        };
        for (segments, wanted) in [
            (marks(SegmentedBy::Offsets, Dtype::U32, 0), "there are no offsets"),
            (marks(SegmentedBy::Offsets, Dtype::I32, 2), "offsets are u32 or u64, not i32"),
            (marks(SegmentedBy::Offsets, Dtype::U32, 3), "8 bytes do not hold 3 items of u32"),
            (marks(SegmentedBy::Flags, Dtype::U8, 3), "there are 3 flags for 2 items"),
        ] {
            let said = scan(segments);
            assert!(said.contains(wanted), "{said}");
        }
        let reduce = |segments, packed: Option<Packed<'_, u16>>, output: &mut [u32]| {
            let done = gpu.segmented_reduce::<u32, u32, _, u16>(
                &mut Workspace::default(),
                Source::Host(&[1, 2]),
                &segments,
                (Target::Host(output), packed),
                &Reduce::new(Sum),
                &ScanOptions::default(),
            );
            done.expect_err("a mistake")
        };
        let keys = marks(SegmentedBy::Keys, Dtype::U32, 2);
        assert!(matches!(reduce(keys, None, &mut [0; 2]), Error::Segments { .. }));
        let (mut unique, mut count) = ([0u16; 2], [0u64]);
        let packed =
            Packed { unique: Some(Target::Host(&mut unique)), count: Target::Host(&mut count) };
        let said = reduce(keys, Some(packed), &mut [0; 2]).to_string();
        assert!(said.contains("keys of u32 do not go to an array of u16"), "{said}");
        let mut counts = [0u64; 2];
        let packed = Packed { unique: None, count: Target::Host(&mut counts) };
        assert_eq!(reduce(keys, Some(packed), &mut [0; 2]), Error::ResultLength { items: 2 });
        let offsets = marks(SegmentedBy::Offsets, Dtype::U32, 2);
        let wanted = Error::LengthMismatch { input: 1, output: 2 };
        assert_eq!(reduce(offsets, None, &mut [0; 2]), wanted);
        let both = Placed::of(gpu, &[1u32, 2], 0);
        let done = gpu.segmented_scan::<u32, u32, _>(
            &mut Workspace::default(),
            Source::Device(both.slice()),
            &marks(SegmentedBy::Flags, Dtype::U8, 2),
            Target::Device(both.slice()),
            &Scan::inclusive(Sum),
            &ScanOptions::default(),
        );
        assert!(matches!(done, Err(Error::Buffer { .. })), "{done:?}");
    }
}
