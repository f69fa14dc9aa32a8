//! Views whose length lies in memory: on every device the results of as many items, and nothing else read or written.

use upsweep::reference::{compaction, segmented};
use upsweep::strategy::{
    AccessWidth, Arrangement, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Load, ReduceGlobal,
    ReduceLocal, ScanGlobal, ScanLocal, Tail,
};
use upsweep::{
    Array, Compacted, Device, Element, Error, Fused, Kind, Max, Min, Operator, Reduce, ReducePlan,
    Scan, ScanPlan, Segments, Sum, View, Widen, argmax, bind_partition3, bind_reduce_by_key,
    bind_segmented_reduce, bind_segmented_scan, counting, exclusive_scan, inclusive_scan,
    inclusive_scan_into, mean, partition_into, partition3_into, positions_into, reduce,
    reduce_by_key_into, reduce_into, reduce_into_with, reduce_with, run_length_encode_into,
    scan_in_place_with, scan_into_with, segmented_argmin_into, segmented_reduce,
    segmented_reduce_into, segmented_scan_into, select, select_in_place, select_into,
    unique_by_key_into, unique_into,
};
use upsweep_testing::{
    AddedPowers, Input, POISONS, Powers, Random, Sample, Selection, TestDevice, assert_same,
    for_each_device_of, for_each_gpu, product, wrapping_sum,
};

/// Keeps every odd number.
#[upsweep::function]
fn is_odd(number: u32) -> bool {
    number % 2 == 1
}

/// Items that there is room for, and how many there are: nothing, one, around tiles, windows and chunks, and all.
const LENGTHS: [(usize, usize); 12] = [
    (0, 0),
    (1, 0),
    (1, 1),
    (40, 3),
    (2048, 2047),
    (2049, 2049),
    (70_001, 0),
    (70_001, 1),
    (70_001, 2048),
    (70_003, 65_536),
    (140_000, 65_537),
    (140_001, 139_998),
];

pub(crate) fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// The first of these items, as many as a number of the same device says.
pub(crate) fn first<'a, T>(items: &'a Array<T>, length: &'a Array<u64>) -> View<'a, T> {
    items.view().with_length(length).expect("a length")
}

/// Calls `body` on the devices that compute with these kinds, for each length, with its number.
pub(crate) fn on_devices(kinds: &[Kind], body: impl Fn(&TestDevice, usize, usize, usize)) {
    for_each_device_of(Selection::Representative, |device| {
        if !device.supports(kinds) {
            return;
        }
        for (number, (room, len)) in LENGTHS.into_iter().enumerate() {
            body(device, number, room, len);
        }
    });
}

pub(crate) fn poison<T: Sample>(items: usize) -> Vec<T> {
    vec![T::from_bits(POISONS[0]); items]
}

/// That the first items are as expected, and all behind them as they were.
pub(crate) fn check_first<T: Sample>(found: &Array<T>, expected: &[T], context: &str) {
    let found = found.to_vec().expect("items");
    let (own, rest) = found.split_at(expected.len());
    assert_same(own, expected, context);
    assert_same(rest, &poison(rest.len()), format!("{context}: behind the length"));
}

fn check_reductions<T, O>(operator: O)
where
    T: Sample + Widen<T>,
    O: Operator<T>,
{
    on_devices(&[T::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let of = &device.device;
        let all: Vec<T> = Input::Uniform.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        let context = format!("{device}: {len} of {room}");
        for problem in [Reduce::new(operator), Reduce::new(operator).init(T::from_bits(0))] {
            let expected = reduce_with(&Device::cpu(), &all[..len], &problem).expect("a value");
            let found = reduce_with(of, first(&items, &length), &problem);
            assert_same(&[found.expect("a value")], &[expected], &context);
            let mut result = on(of, &poison::<T>(1));
            reduce_into_with(of, first(&items, &length), &mut result, &problem).expect("begun");
            check_first(&result, &[expected], &context);
        }
    });
}

#[test]
fn reductions() {
    check_reductions::<u32, _>(Sum);
    check_reductions::<f32, _>(Sum);
    check_reductions::<u64, _>(Max);
    check_reductions::<u8, _>(Min);
    check_reductions::<f32, _>(Max);
    check_reductions::<Powers, _>(AddedPowers);
}

#[test]
fn positions_and_means() {
    on_devices(&[f32::KIND, u64::KIND], |device, number, room, len| {
        if !device.takes(number, 2) {
            return;
        }
        let of = &device.device;
        let all: Vec<f32> = Input::Uniform.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        let view = first(&items, &length);
        let context = format!("{device}: {len} of {room}");
        assert_eq!(argmax(of, view), argmax(&Device::cpu(), &all[..len]), "{context}");
        let expected = mean(&Device::cpu(), &all[..len]).expect("a mean");
        assert_same(&[mean(of, view).expect("a mean")], &[expected], &context);
    });
}

fn check_scans<T, U, O>(operator: O)
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc> + core::fmt::Debug,
{
    let problems = [
        Scan::inclusive(operator),
        Scan::exclusive(operator),
        Scan::inclusive(operator).reverse(),
        Scan::exclusive(operator).reverse(),
    ];
    on_devices(&[T::KIND, U::KIND], |device, number, room, len| {
        if !device.takes(number, 4) {
            return;
        }
        let of = &device.device;
        let all: Vec<T> = Input::Uniform.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        for problem in &problems {
            let context = format!("{device}: {len} of {room}, {problem:?}");
            let mut expected = poison::<U>(len);
            scan_into_with(&Device::cpu(), &all[..len], &mut expected, problem).expect("a scan");
            let mut found = on(of, &poison::<U>(room));
            scan_into_with(of, first(&items, &length), &mut found, problem).expect("begun");
            check_first(&found, &expected, &context);
        }
    });
}

#[test]
fn scans() {
    check_scans::<u32, u32, _>(Sum);
    check_scans::<f32, f32, _>(Sum);
    check_scans::<u8, u8, _>(Sum);
    check_scans::<u8, u32, _>(Sum);
    check_scans::<u64, u64, _>(Max);
    check_scans::<Powers, Powers, _>(AddedPowers);
}

#[test]
fn scans_in_place() {
    on_devices(&[f32::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let of = &device.device;
        let all: Vec<f32> = Input::Uniform.array(number as u64, room);
        let (mut items, length) = (on(of, &all), on(of, &[len as u64]));
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse()] {
            let mut expected = all.clone();
            scan_in_place_with(&Device::cpu(), &mut expected[..len], &problem).expect("a scan");
            items.copy_from_slice(&all).expect("memory");
            let own = items.view_mut().with_length(&length).expect("a length");
            scan_in_place_with(of, own, &problem).expect("begun");
            let found = items.to_vec().expect("items");
            assert_same(&found, &expected, format!("{device}: {len} of {room}, {problem:?}"));
        }
    });
}

/// Keys in runs of a few, and flags where they begin.
fn runs(items: usize) -> (Vec<u16>, Vec<u8>) {
    let keys: Vec<u16> = (0..items).map(|item| (item / 7 % 1000) as u16).collect();
    let flags = (0..items).map(|item| u8::from(item % 7 == 0)).collect();
    (keys, flags)
}

#[test]
fn segments() {
    on_devices(&[f32::KIND, u16::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let (of, cpu) = (&device.device, &Device::cpu());
        let all: Vec<f32> = Input::Uniform.array(number as u64, room);
        let (all_keys, all_flags) = runs(room);
        let (items, keys, flags) = (on(of, &all), on(of, &all_keys), on(of, &all_flags));
        let length = on(of, &[len as u64]);
        let context = format!("{device}: {len} of {room}");
        let problem = Scan::inclusive(Sum);
        let mut expected = poison::<f32>(len);
        let by = Segments::by_flags(&all_flags[..len]);
        segmented_scan_into(cpu, &all[..len], &by, &mut expected, &problem).expect("a scan");
        let mut found = on(of, &poison::<f32>(room));
        let by = Segments::by_flags(first(&flags, &length));
        segmented_scan_into(of, first(&items, &length), &by, &mut found, &problem).expect("begun");
        check_first(&found, &expected, &context);

        // Only flags have a length, and what is behind it in the host's memory stays.
        let mut on_host = poison::<f32>(room);
        let by = Segments::by_flags(first(&flags, &length));
        segmented_scan_into(of, &items, &by, &mut on_host, &problem).map_or_else(
            |error| assert!(!device.is_gpu(), "{context}: {error}"),
            |()| {
                assert_same(&on_host[..len], &expected, &context);
                assert_same(&on_host[len..], &poison(room - len), &context);
            },
        );

        let (mut unique, mut sums) = (poison::<u16>(len), poison::<f32>(len));
        let (mut count, problem) = ([u64::MAX], Reduce::new(Sum));
        let own = &all_keys[..len];
        reduce_by_key_into(cpu, own, &all[..len], &mut unique, &mut sums, &mut count, &problem)
            .expect("sums");
        let (mut found, mut values) = (on(of, &poison::<u16>(room)), on(of, &poison::<f32>(room)));
        let mut runs = on(of, &[u64::MAX]);
        let (own, view) = (first(&keys, &length), first(&items, &length));
        reduce_by_key_into(of, own, view, &mut found, &mut values, &mut runs, &problem)
            .expect("begun");
        assert_eq!(runs.to_vec(), Ok(count.to_vec()), "{context}");
        let count = count[0] as usize;
        assert_same(&found.to_vec().expect("keys")[..count], &unique[..count], &context);
        assert_same(&values.to_vec().expect("sums")[..count], &sums[..count], &context);

        let offsets: Vec<u32> = (0..=5).map(|part| (len * part / 5) as u32).collect();
        let mut expected = poison::<f32>(5);
        let by = Segments::by_offsets(&offsets);
        segmented_reduce_into(cpu, &all[..len], &by, &mut expected, &problem).expect("sums");
        let (mut found, offsets) = (on(of, &poison::<f32>(5)), on(of, &offsets));
        let by = Segments::by_offsets(&offsets);
        segmented_reduce_into(of, first(&items, &length), &by, &mut found, &problem)
            .expect("begun");
        check_first(&found, &expected, &context);
    });
}

/// Items, offsets that there is room for, and how many there are: none, one and no segment, a few, more than items, around tiles and
/// windows, and all.
const OFFSETS: [(usize, usize, usize); 13] = [
    (0, 3, 2),
    (1, 1, 0),
    (1, 1, 1),
    (1, 2, 2),
    (129, 5, 0),
    (129, 5, 1),
    (4100, 5, 3),
    (4100, 2049, 2048),
    (4100, 40_000, 30_001),
    (70_001, 70_001, 1),
    (70_001, 70_001, 0),
    (70_003, 65_540, 65_537),
    (140_001, 9_001, 9_001),
];

/// So many offsets of items, of which some segments have none; and behind them what no offset can be.
pub(crate) fn offsets_of(items: usize, room: usize, len: usize) -> (Vec<usize>, Vec<u32>) {
    let mut random = Random::new((items + room + len) as u64);
    let mut own: Vec<usize> = (0..len).map(|_| random.below(items + 1)).collect();
    own.sort_unstable();
    let mut all: Vec<u32> = own.iter().map(|&offset| offset as u32).collect();
    all.extend((len..room).map(|number| [u32::MAX, 0, 1][number % 3]));
    (own, all)
}

#[test]
fn offsets() {
    for_each_device_of(Selection::Representative, |device| {
        if !device.supports(&[f32::KIND]) {
            return;
        }
        let of = &device.device;
        for (number, (items, room, len)) in OFFSETS.into_iter().enumerate() {
            if !device.takes(number, 3) {
                continue;
            }
            let all: Vec<f32> = Input::Uniform.array(number as u64, items);
            let (own, numbers) = offsets_of(items, room, len);
            let context = format!("{device}: {items} items, {len} of {room} offsets");
            let (from, starts, length) = (on(of, &all), on(of, &numbers), on(of, &[len as u64]));
            let by = Segments::by_offsets(first(&starts, &length));
            for problem in [Reduce::new(Sum), Reduce::new(Sum).init(2.0)] {
                let expected: Vec<f32> = segmented::reduce_by_offsets(&all, &own, &problem);
                let mut found = on(of, &poison::<f32>(room - 1));
                segmented_reduce_into(of, &from, &by, &mut found, &problem).expect("begun");
                check_first(&found, &expected, &context);
                let mut on_host = poison::<f32>(room - 1);
                segmented_reduce_into(of, &from, &by, &mut on_host, &problem).expect("sums");
                assert_same(&on_host[..expected.len()], &expected, &context);
                let rest = &on_host[expected.len()..];
                assert_same(rest, &poison(rest.len()), format!("{context}: behind the length"));
            }
            let found = segmented_reduce(of, &from, first(&starts, &length), Sum).expect("sums");
            let expected: Vec<f32> = segmented::reduce_by_offsets(&all, &own, &Reduce::new(Sum));
            let found = found.into_vec().expect("sums");
            assert_same(&found[..expected.len()], &expected, &context);

            let begins = segmented::begins(items, &own);
            let scans = [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse().init(1.0)];
            for problem in &scans {
                let expected: Vec<f32> = segmented::scan(&all, &begins, problem);
                let mut found = on(of, &poison::<f32>(items));
                segmented_scan_into(of, &from, &by, &mut found, problem).expect("begun");
                check_first(&found, &expected, &format!("{context}: {problem:?}"));
            }

            // Items have a length too, in another place.
            let fewer = items - items / 4;
            let (own, numbers) = offsets_of(fewer, room, len);
            let (starts, items_there) = (on(of, &numbers), on(of, &[fewer as u64]));
            let (view, by) =
                (first(&from, &items_there), Segments::by_offsets(first(&starts, &length)));
            let context = format!("{context}: of {fewer} items");
            let problem = Reduce::new(Sum);
            let expected: Vec<f32> = segmented::reduce_by_offsets(&all[..fewer], &own, &problem);
            let mut found = on(of, &poison::<f32>(room - 1));
            segmented_reduce_into(of, view, &by, &mut found, &problem).expect("begun");
            check_first(&found, &expected, &context);
            let begins = segmented::begins(fewer, &own);
            let expected: Vec<f32> = segmented::scan(&all[..fewer], &begins, &scans[1]);
            let mut found = on(of, &poison::<f32>(items));
            segmented_scan_into(of, view, &by, &mut found, &scans[1]).expect("begun");
            check_first(&found, &expected, &context);
        }
    });
}

/// Offsets of 64 bits; and positions, whose items are made as they are read.
#[test]
fn long_offsets_and_positions() {
    for_each_device_of(Selection::Representative, |device| {
        if !device.supports(&[u64::KIND]) {
            return;
        }
        let of = &device.device;
        for (items, room, len) in [(4100, 700, 0), (4100, 700, 1), (4100, 700, 699), (300, 4, 4)] {
            let all: Vec<u32> = Input::Full.array(room as u64, items);
            let (own, numbers) = offsets_of(items, room, len);
            let numbers: Vec<u64> = numbers.into_iter().map(u64::from).collect();
            let context = format!("{device}: {items} items, {len} of {room} offsets");
            let (from, starts, length) = (on(of, &all), on(of, &numbers), on(of, &[len as u64]));
            let by = Segments::by_offsets(first(&starts, &length));
            let expected: Vec<u32> =
                segmented::reduce_by_offsets(&all, &own, &Reduce::new(Max).init(7));
            let mut found = on(of, &poison::<u32>(room - 1));
            let problem = Reduce::new(Max).init(7);
            segmented_reduce_into(of, &from, &by, &mut found, &problem).expect("begun");
            check_first(&found, &expected, &context);
            let least = |ends: &[usize]| {
                let own = (ends[0]..ends[1]).min_by_key(|&item| all[item]);
                own.map_or(u64::MAX, |item| item as u64)
            };
            let expected: Vec<u64> = own.windows(2).map(least).collect();
            let mut found = on(of, &poison::<u64>(room - 1));
            segmented_argmin_into(of, &from, &by, &mut found).expect("begun");
            check_first(&found, &expected, &context);
        }
    });
}

#[test]
fn compaction_of_what_was_compacted() {
    on_devices(&[u32::KIND, u16::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let of = &device.device;
        let all: Vec<u32> = Input::Full.array(number as u64, room);
        let (all_keys, all_flags) = runs(room);
        let (items, keys, flags) = (on(of, &all), on(of, &all_keys), on(of, &all_flags));
        let length = on(of, &[len as u64]);
        let (view, marks, own) =
            (first(&items, &length), first(&flags, &length), first(&keys, &length));
        let context = format!("{device}: {len} of {room}");
        let into = |call: &dyn Fn(&mut Array<u32>, &mut Array<u64>)| {
            let (mut output, mut count) = (on(of, &poison::<u32>(room)), on(of, &[u64::MAX]));
            call(&mut output, &mut count);
            let count = count.to_vec().expect("a number")[0] as usize;
            (output, count)
        };
        let selected = compaction::select(&all[..len], &all_flags[..len]);
        let (found, count) = into(&|output, count| {
            select_into(of, view, marks, output, count).expect("begun");
        });
        assert_eq!(count, selected.len(), "{context}");
        assert_same(&found.to_vec().expect("items")[..count], &selected, &context);
        let (partitioned, border) = compaction::partition(&all[..len], &all_flags[..len]);
        let (found, count) = into(&|output, count| {
            partition_into(of, view, marks, output, count).expect("begun");
        });
        assert_eq!(count, border, "{context}");
        check_first(&found, &partitioned, &context);
        let odd: Vec<u8> = all_keys.iter().map(|key| (key % 2) as u8).collect();
        let seconds = on(of, &odd);
        let (parts, borders) = compaction::partition3(&all[..len], &all_flags[..len], &odd[..len]);
        let (mut output, mut found) = (on(of, &poison::<u32>(room)), on(of, &[u64::MAX; 2]));
        let seconds = first(&seconds, &length);
        partition3_into(of, view, marks, seconds, &mut output, &mut found).expect("begun");
        check_first(&output, &parts, &context);
        let borders = borders.map(|border| border as u64).to_vec();
        assert_eq!(found.to_vec(), Ok(borders), "{context}");
        let (mut own_items, mut count) = (on(of, &all), on(of, &[u64::MAX]));
        let within = own_items.view_mut().with_length(&length).expect("a length");
        select_in_place(of, within, marks, &mut count).expect("begun");
        assert_eq!(count.to_vec(), Ok(vec![selected.len() as u64]), "{context}");
        let found = own_items.to_vec().expect("items");
        assert_same(&found[..selected.len()], &selected, &context);
        let places = compaction::positions(&all_flags[..len]);
        let (found, count) = into(&|output, count| {
            positions_into(of, marks, output, count).expect("begun");
        });
        let places: Vec<u32> = places.into_iter().map(|place| place as u32).collect();
        assert_eq!(count, places.len(), "{context}");
        assert_same(&found.to_vec().expect("places")[..count], &places, &context);

        let firsts = compaction::unique(&all_keys[..len]);
        let (mut heads, mut runs) = (on(of, &poison::<u16>(room)), on(of, &[u64::MAX]));
        unique_into(of, own, &mut heads, &mut runs).expect("begun");
        assert_eq!(runs.to_vec(), Ok(vec![firsts.len() as u64]), "{context}");
        assert_same(&heads.to_vec().expect("keys")[..firsts.len()], &firsts, &context);
        let mut beside = on(of, &poison::<u32>(room));
        unique_by_key_into(of, own, view, &mut heads, &mut beside, &mut runs).expect("begun");
        let of_firsts: Vec<u32> = all[..len].iter().copied().step_by(7).collect();
        assert_same(&beside.to_vec().expect("items")[..of_firsts.len()], &of_firsts, &context);
        let mut counts = on(of, &poison::<u32>(room));
        run_length_encode_into(of, own, &mut heads, &mut counts, &mut runs).expect("begun");
        assert_eq!(runs.to_vec(), Ok(vec![firsts.len() as u64]), "{context}");
        let whole = len / 7;
        assert_same(&counts.to_vec().expect("counts")[..whole], &vec![7; whole], &context);
    });
}

#[test]
fn fused_inputs() {
    on_devices(&[f32::KIND, u32::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let of = &device.device;
        let left: Vec<f32> = Input::Uniform.array(number as u64, room);
        let right: Vec<f32> = Input::Uniform.array(number as u64 + 1, room);
        let products: Vec<f32> = left.iter().zip(&right).map(|(a, b)| a * b).take(len).collect();
        let (a, b, length) = (on(of, &left), on(of, &right), on(of, &[len as u64]));
        let made = first(&a, &length).zip(first(&b, &length)).map(product {});
        let context = format!("{device}: {len} of {room}");
        let expected = reduce(&Device::cpu(), &products, Sum).expect("a sum");
        assert_same(&[made.reduce(of, Sum).expect("a sum")], &[expected], &context);
        let mut found = on(of, &poison::<f32>(room));
        made.scan_into(of, &mut found, &Scan::inclusive(Sum)).expect("begun");
        let expected = inclusive_scan(&Device::cpu(), &products, Sum).expect("sums");
        check_first(&found, &expected.into_vec().expect("sums"), &context);

        let whole: Vec<u32> = Input::Full.array(number as u64, room);
        let numbers = on(of, &whole);
        let odd = first(&numbers, &length).filter(is_odd {});
        let expected: Vec<u32> = whole[..len].iter().copied().filter(|n| n % 2 == 1).collect();
        assert_eq!(odd.count(of), Ok(expected.len() as u64), "{context}");
        let found = odd.select(of).expect("items").into_vec().expect("items");
        assert_same(&found, &expected, &context);
    });
}

/// Every strategy of reductions and scans.
#[test]
fn every_strategy() {
    let (room, len) = (150_001, 90_017);
    let all: Vec<u32> = Input::Full.array(5, room);
    let sums = inclusive_scan(&Device::cpu(), &all[..len], Sum).expect("sums");
    let sums = sums.into_vec().expect("sums");
    let (own, numbers) = offsets_of(room, 9_001, 7_000);
    let begins = segmented::begins(room, &own);
    let in_segments: Vec<u32> = segmented::scan(&all, &begins, &Scan::inclusive(Sum));
    for_each_gpu(|device| {
        let (items, length) = (on(&device.device, &all), on(&device.device, &[len as u64]));
        let (starts, segments) = (on(&device.device, &numbers), on(&device.device, &[7_000u64]));
        let by = Segments::by_offsets(first(&starts, &segments));
        let view = first(&items, &length);
        let mut cell = 0;
        let mut load = || {
            cell += 1;
            let arrangement = [Arrangement::Striped, Arrangement::Blocked][cell % 2];
            let tail = [Tail::Exact, Tail::Checked][cell / 2 % 2];
            let load = Load { arrangement, width: AccessWidth::Bytes16, tail };
            device.takes(cell, 3).then_some(load)
        };
        for global in ScanGlobal::ALL {
            for local in ScanLocal::ALL {
                let Some(load) = load() else { continue };
                let scan = Some(GpuScanStrategy { load, local: *local, global: *global });
                let options = GpuOptions { scan, ..GpuOptions::default() };
                let of = device.device.with_gpu_options(options).expect("a GPU");
                let mut found = on(&of, &poison::<u32>(room));
                match inclusive_scan_into(&of, view, &mut found, Sum) {
                    Err(Error::StrategyRefused { .. }) => {}
                    begun => {
                        begun.expect("begun");
                        check_first(&found, &sums, &format!("{device}: {scan:?}"));
                    }
                }
                let mut found = on(&of, &poison::<u32>(room));
                match segmented_scan_into(&of, &items, &by, &mut found, &Scan::inclusive(Sum)) {
                    Err(Error::StrategyRefused { .. }) => {}
                    begun => {
                        begun.expect("begun");
                        check_first(&found, &in_segments, &format!("{device}: {scan:?}, offsets"));
                    }
                }
            }
        }
        for global in ReduceGlobal::ALL {
            for local in ReduceLocal::ALL {
                let Some(load) = load() else { continue };
                let reduces = Some(GpuReduceStrategy { load, local: *local, global: *global });
                let options = GpuOptions { reduce: reduces, ..GpuOptions::default() };
                let of = device.device.with_gpu_options(options).expect("a GPU");
                match reduce(&of, view, Sum) {
                    Err(Error::StrategyRefused { .. }) => {}
                    found => assert_eq!(found, Ok(sums[len - 1]), "{device}: {reduces:?}"),
                }
            }
        }
    });
}

/// A length that is written behind the call's beginning, and again behind the next: nothing of it is known when arrays are bound.
#[test]
fn recordings_read_the_length_that_is_there() {
    for_each_gpu(|device| {
        let of = &device.device;
        let all: Vec<f32> = Input::Uniform.array(11, 100_000);
        let (items, mut length) = (on(of, &all), on(of, &[0u64]));
        let (mut sums, mut total) = (on(of, &poison::<f32>(all.len())), on(of, &[0f32]));
        let mut scan =
            ScanPlan::<f32, f32, _>::new(of, all.len(), Scan::inclusive(Sum)).expect("a plan");
        let mut sum =
            ReducePlan::<f32, f32, _>::new(of, all.len(), Reduce::new(Sum)).expect("a plan");
        let scan = scan.bind(first(&items, &length), &mut sums).expect("a recording");
        let sum = sum.bind(first(&items, &length), &mut total).expect("a recording");
        for len in [70_000, 0, 1, 100_000, 2048] {
            length.copy_from_slice(&[len as u64]).expect("memory");
            sums.copy_from_slice(&poison::<f32>(all.len())).expect("memory");
            scan.submit().expect("begun");
            sum.submit().expect("begun");
            let expected = inclusive_scan(&Device::cpu(), &all[..len], Sum).expect("sums");
            let expected = expected.into_vec().expect("sums");
            let context = format!("{device}: {len}");
            check_first(&sums, &expected, &context);
            let expected = reduce(&Device::cpu(), &all[..len], Sum).expect("a sum");
            check_first(&total, &[expected], &context);
        }
    });
}

/// The same of calls that write several arrays, and of offsets.
#[test]
fn recordings_of_several_outputs_read_the_lengths_that_are_there() {
    for_each_gpu(|device| {
        let (of, room) = (&device.device, 70_003);
        let all: Vec<u32> = Input::Full.array(13, room);
        let (all_keys, all_flags) = runs(room);
        let seconds: Vec<u8> = all_keys.iter().map(|key| (key % 2) as u8).collect();
        let (items, keys, flags) = (on(of, &all), on(of, &all_keys), on(of, &all_flags));
        let (seconds_there, mut length) = (on(of, &seconds), on(of, &[0u64]));
        let (mut parts, mut borders) = (on(of, &poison::<u32>(room)), on(of, &[7u64; 2]));
        let in_parts = bind_partition3(
            of,
            first(&items, &length),
            first(&flags, &length),
            first(&seconds_there, &length),
            &mut parts,
            &mut borders,
        );
        let (mut unique, mut sums) = (on(of, &poison::<u16>(room)), on(of, &poison::<u32>(room)));
        let (mut count, problem) = (on(of, &[7u64]), Reduce::new(Sum));
        let (of_keys, view) = (first(&keys, &length), first(&items, &length));
        let by_key =
            bind_reduce_by_key(of, of_keys, view, &mut unique, &mut sums, &mut count, &problem);
        let offset_room = 9_001;
        let (mut starts, mut segments) = (on(of, &vec![0u32; offset_room]), on(of, &[0u64]));
        let by = Segments::by_offsets(first(&starts, &segments));
        let mut of_segments = on(of, &poison::<u32>(offset_room - 1));
        let reduced = bind_segmented_reduce(of, &items, &by, &mut of_segments, &problem);
        let (mut prefixes, scan) = (on(of, &poison::<u32>(room)), Scan::exclusive(Sum).reverse());
        let scanned = bind_segmented_scan(of, &items, &by, &mut prefixes, &scan);
        let recordings = [in_parts, by_key, reduced, scanned];
        let recordings = recordings.map(|recording| recording.expect("a recording"));
        for (len, offsets) in [(65_537, 9_001), (0, 0), (1, 1), (70_003, 2), (2048, 5_000)] {
            length.copy_from_slice(&[len as u64]).expect("memory");
            segments.copy_from_slice(&[offsets as u64]).expect("memory");
            let (own, numbers) = offsets_of(room, offset_room, offsets);
            starts.copy_from_slice(&numbers).expect("memory");
            parts.copy_from_slice(&poison::<u32>(room)).expect("memory");
            of_segments.copy_from_slice(&poison::<u32>(offset_room - 1)).expect("memory");
            recordings.iter().for_each(|recording| recording.submit().expect("a run"));
            let context = format!("{device}: {len} items, {offsets} offsets");
            let (expected, places) =
                compaction::partition3(&all[..len], &all_flags[..len], &seconds[..len]);
            check_first(&parts, &expected, &context);
            let places = places.map(|border| border as u64).to_vec();
            assert_eq!(borders.to_vec(), Ok(places), "{context}");
            let begins: Vec<bool> = all_flags[..len].iter().map(|&flag| flag != 0).collect();
            let expected: Vec<u32> = segmented::reduce(&all[..len], &begins, &problem);
            assert_eq!(count.to_vec(), Ok(vec![expected.len() as u64]), "{context}");
            assert_same(&sums.to_vec().expect("sums")[..expected.len()], &expected, &context);
            let firsts = compaction::unique(&all_keys[..len]);
            assert_same(&unique.to_vec().expect("keys")[..firsts.len()], &firsts, &context);
            let expected: Vec<u32> = segmented::reduce_by_offsets(&all, &own, &problem);
            check_first(&of_segments, &expected, &context);
            let begins = segmented::begins(room, &own);
            let expected: Vec<u32> = segmented::scan(&all, &begins, &scan);
            check_first(&prefixes, &expected, &context);
        }
    });
}

/// What is kept goes from call to call, and nothing waits for a number on the way.
#[test]
fn chains() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let all: Vec<u32> = Input::Full.array(12, 60_000);
        let flags: Vec<u8> = all.iter().map(|item| u8::from(item % 3 == 0)).collect();
        let kept = select(of, &on(of, &all), &on(of, &flags)).expect("items");
        let odd = kept.view().filter(is_odd {}).select(of).expect("items");
        let before: Compacted<u32> =
            odd.beside(exclusive_scan(of, &odd, Max).expect("a scan")).expect("as many");
        let mut largest = on(of, &[0u32]);
        reduce_into(of, &before, &mut largest, Sum).expect("begun");
        let expected: Vec<u32> =
            all.iter().copied().filter(|item| item % 3 == 0 && item % 2 == 1).collect();
        let before_all = exclusive_scan(&Device::cpu(), &expected, Max).expect("a scan");
        let sum = reduce(&Device::cpu(), &before_all, Sum).expect("a sum");
        assert_eq!(largest.to_vec(), Ok(vec![sum]), "{device}");
        assert_eq!(odd.into_vec(), Ok(expected), "{device}");
        assert_eq!(before.into_vec(), before_all.into_vec(), "{device}");
    });
}

#[test]
fn what_has_no_meaning_is_refused() {
    let two = [1u64, 2];
    assert_eq!(
        View::from(&[1u32, 2]).with_length(&two).map(drop),
        Err(Error::ResultLength { items: 2 })
    );
    let short = View::from(&[1u32, 2, 3]).with_length(&[2]).expect("a view");
    assert_eq!(short.len(), 2);
    let mut output = [7u32; 4];
    assert_eq!(
        inclusive_scan_into(&Device::cpu(), short, &mut output, Sum),
        Err(Error::LengthMismatch { input: 2, output: 4 })
    );
    for_each_gpu(|device| {
        let of = &device.device;
        let (items, length, other) = (on(of, &[1u32, 2, 3]), on(of, &[2u64]), on(of, &[2u64]));
        let view = first(&items, &length);
        // On the host, of a length that is elsewhere.
        let of_host = View::from(&[1u32, 2]).with_length(&length);
        assert!(matches!(of_host, Err(Error::WrongDevice { .. })), "{device}");
        assert!(matches!(reduce(&Device::cpu(), view, Sum), Err(Error::WrongDevice { .. })));
        // A number from the host is known at once.
        let known = items.view().with_length(&[2]).expect("a view");
        assert_eq!(reduce(of, known, Sum), Ok(3), "{device}");
        let is_refused = |found: upsweep::Result<u32>| {
            assert!(matches!(found, Err(Error::Buffer { .. })), "{device}: {found:?}");
        };
        // Two places, which may hold different lengths, whatever is read there.
        let second = first(&items, &other);
        is_refused(view.zip(second).map(wrapping_sum {}).reduce(of, Sum));
        is_refused(view.reversed().zip(second).map(wrapping_sum {}).reduce(of, Sum));
        let pairs = view.zip(second).map(wrapping_sum {});
        is_refused(pairs.reversed().reduce(of, Sum));
        is_refused(pairs.strided(2).reduce(of, Sum));
        is_refused(pairs.gather(counting(0u32..2)).reduce(of, Sum));
    });
}

/// A length of a type that the program knows only when it runs.
#[cfg(feature = "any")]
#[test]
fn lengths_of_values_by_type() {
    use upsweep::any::{self, AnyView, Op};
    on_devices(&[f32::KIND], |device, number, room, len| {
        if !device.takes(number, 4) {
            return;
        }
        let of = &device.device;
        let all: Vec<f32> = Input::Uniform.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        let view = AnyView::from(first(&items, &length));
        for op in [Op::Sum, Op::Mean, Op::Max] {
            let problem = any::Reduce::new(op);
            let found = any::reduce(of, view, &problem).expect("a value");
            let expected = any::reduce(&Device::cpu(), &all[..len], &problem).expect("a value");
            assert_eq!(
                found.map(|v| v.to_string()),
                expected.map(|v| v.to_string()),
                "{device}: {len} of {room}, {op:?}"
            );
        }
    });
}

/// What a kernel writes as it is has a length of offsets; what is converted behind it has none on a GPU.
#[cfg(feature = "any")]
#[test]
fn offsets_of_values_by_type() {
    use upsweep::any::{self, Op};
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, starts) = (on(of, &[1.0f32, 2.0, 4.0]), on(of, &[0u32, 2, 3, 1]));
        let length = on(of, &[3u64]);
        let by = Segments::by_offsets(first(&starts, &length));
        let mut found = on(of, &poison::<f32>(3));
        let problem = any::Reduce::new(Op::Sum).acc(upsweep::Dtype::F32);
        any::segmented_reduce_into(of, &items, &by, &mut found, &problem).expect("begun");
        check_first(&found, &[3.0, 4.0], &format!("{device}"));
        let mut means = poison::<f32>(3);
        let problem = any::Reduce::new(Op::Mean).acc(upsweep::Dtype::F32);
        let means_of = any::segmented_reduce_into(of, &items, &by, &mut means, &problem);
        if device.is_gpu() {
            assert!(matches!(means_of, Err(Error::Buffer { .. })), "{device}: {means_of:?}");
        } else {
            assert_eq!((means_of, &means[..2]), (Ok(()), &[1.5, 4.0][..]), "{device}");
        }
    });
}
