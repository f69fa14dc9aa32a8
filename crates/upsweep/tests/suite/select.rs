//! Stream compaction: what the reference keeps, byte for byte, on every device, and that nothing around outputs is touched.

use upsweep::reference::compaction;
use upsweep::strategy::{
    AccessWidth, Arrangement, GpuOptions, GpuScanStrategy, Load, ScanGlobal, ScanLocal, Tail,
};
use upsweep::{
    Array, Device, Element, Error, Fused, Kind, Number, View, ViewMut, bf16, bind_partition,
    bind_partition3, bind_select, counting, f16, partition, partition_into, partition3,
    partition3_into, positions, positions_into, select, select_in_place, select_into,
};
use upsweep_testing::{
    Input, POISONS, Random, Sample, Selection, Stretch, Tagged, TestDevice, Wide, assert_same,
    for_each_device, for_each_device_of, for_each_gpu, product,
};

/// From nothing to several tiles, whole and not; and of several workgroups.
const LENGTHS: [usize; 8] = [0, 1, 31, 129, 2048, 4100, 33_000, 70_003];

/// Items around outputs.
const MARGIN: usize = 16;

/// How many flags of 1,000 are set, and how many neighbours are alike.
const PATTERNS: [(usize, usize); 6] = [(0, 1), (1000, 1), (500, 1), (20, 1), (980, 1), (500, 700)];

/// Flags of a pattern; what is not 0 takes all values.
fn flags<F: Sample + Number>(items: usize, (set, run): (usize, usize)) -> Vec<F> {
    let values: Vec<F> = Input::Full.array(9, items);
    let mut random = Random::new((items + set) as u64);
    let mut is_set = false;
    let flag = |(place, value): (usize, F)| {
        if place.is_multiple_of(run) {
            is_set = random.below(1000) < set;
        }
        let other = if compaction::is_true(value) { value } else { F::from_bits(1) };
        if is_set { other } else { F::from_bits(0) }
    };
    values.into_iter().enumerate().map(flag).collect()
}

/// Calls `body` on the devices that compute with these kinds.
fn on_devices(kinds: &[Kind], mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if device.supports(kinds) {
            body(device);
        }
    });
}

/// The same said by an array of the device.
fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// What a call leaves that writes to the middle of an array of poison, and the number that it writes; nothing around it has changed.
fn left_by<T: Sample>(
    device: &Device,
    items: usize,
    call: impl FnOnce(ViewMut<'_, T>, ViewMut<'_, u64>),
) -> (Vec<T>, usize) {
    let poison = vec![T::from_bits(POISONS[0]); items + 2 * MARGIN];
    let mut count = [u64::MAX; 3];
    let mut all = poison.clone();
    match device.id() == "cpu" {
        true => call((&mut all[MARGIN..MARGIN + items]).into(), (&mut count[1..2]).into()),
        false => {
            let (mut output, mut number) = (on(device, &poison[..items]), on(device, &count[..1]));
            call((&mut output).into(), (&mut number).into());
            all[MARGIN..MARGIN + items].copy_from_slice(&output.to_vec().expect("items"));
            count[1] = number.to_vec().expect("a number")[0];
        }
    }
    let around = [&all[..MARGIN], &all[MARGIN + items..]];
    around.into_iter().for_each(|items| assert_same(items, &poison[..MARGIN], "around"));
    assert_eq!([count[0], count[2]], [u64::MAX; 2]);
    (all[MARGIN..MARGIN + items].to_vec(), count[1] as usize)
}

/// Everything that flags of a type do with items of another.
fn check<T: Sample, F: Sample + Number>(kinds: &[Kind], input: Input) {
    for (turn, items) in LENGTHS.into_iter().enumerate() {
        let all: Vec<T> = input.array(3, items);
        for (number, pattern) in PATTERNS.into_iter().enumerate() {
            let flags: Vec<F> = flags(items, pattern);
            let selected = compaction::select(&all, &flags);
            let (partitioned, border) = compaction::partition(&all, &flags);
            let places = compaction::positions(&flags);
            let short: Vec<u32> = places.iter().map(|place| *place as u32).collect();
            let seconds: Vec<u16> = self::flags(items, (PATTERNS[(number + 2) % 6].0, 3));
            let (in_parts, borders) = compaction::partition3(&all, &flags, &seconds);
            on_devices(kinds, |device| {
                if !device.takes(turn + number, 4) {
                    return;
                }
                let of = &device.device;
                let context = format!("{device}: {items} {} by {}, {pattern:?}", T::KIND, F::KIND);
                let (there, marks) = (on(of, &all), on(of, &flags));
                let kept = select(of, &there, &marks).expect("a selection");
                assert_eq!(kept.len(), Ok(selected.len()), "{context}");
                assert_same(&kept.into_vec().expect("items"), &selected, &context);
                let (found, count) = left_by(of, items, |output, count| {
                    select_into(of, &all, &flags, output, count).expect("a selection");
                });
                assert_eq!(count, selected.len(), "{context}");
                assert_same(&found[..count], &selected, &context);
                let (found, count) = left_by(of, items, |output, count| {
                    partition_into(of, &there, &flags, output, count).expect("a partition");
                });
                assert_eq!(count, border, "{context}");
                assert_same(&found, &partitioned, &context);
                let found = partition3(of, &there, &flags, &seconds).expect("three parts");
                assert_eq!(found.1, borders, "{context}");
                assert_same(&found.0.into_vec().expect("items"), &in_parts, &context);
                let mut between = [u64::MAX; 2];
                let (found, _) = left_by(of, items, |output, _| {
                    let between = &mut between[..];
                    partition3_into(of, &all, &marks, &seconds, output, between).expect("parts");
                });
                assert_eq!(between, borders.map(|border| border as u64), "{context}");
                assert_same(&found, &in_parts, &context);
                let (mut own, mut number) = (on(of, &all), on(of, &[u64::MAX]));
                select_in_place(of, &mut own, &flags, &mut number).expect("a selection");
                let count = number.to_vec().expect("a number")[0] as usize;
                assert_same(&own.to_vec().expect("items")[..count], &selected, &context);
                let (mut own, mut number) = (all.clone(), [u64::MAX]);
                select_in_place(of, &mut own, &marks, &mut number).expect("a selection");
                assert_same(&own[..number[0] as usize], &selected, &context);
                let (found, count) = left_by(of, items, |output, count| {
                    positions_into::<u32, F>(of, &marks, output, count).expect("positions");
                });
                assert_same(&found[..count], &short, &context);
                if device.supports(&[u64::KIND]) {
                    let found = positions::<u64, F>(of, &flags).expect("positions");
                    assert_same(&found.into_vec().expect("numbers"), &places, &context);
                }
            });
        }
    }
}

/// The same for items and flags of one type.
fn check_numbers<T: Sample + Number>(input: Input) {
    check::<T, T>(&[T::KIND], input);
}

#[test]
fn unsigned_items_by_flags_of_bytes() {
    check::<u32, u8>(&[u32::KIND], Input::Full);
    check::<u64, u8>(&[u64::KIND], Input::Full);
}

#[test]
fn short_items() {
    check_numbers::<u8>(Input::Full);
    check_numbers::<i16>(Input::Full);
}

#[test]
fn short_floats() {
    check_numbers::<f16>(Input::Special);
    check_numbers::<bf16>(Input::Special);
}

#[test]
fn floats_keep_their_bits() {
    check_numbers::<f32>(Input::Special);
    check_numbers::<f64>(Input::Special);
}

#[test]
fn structures_of_several_sizes() {
    check::<Stretch, u8>(&[Stretch::KIND], Input::Full);
    check::<Tagged, u32>(&[Tagged::KIND], Input::Full);
    check::<Wide, u16>(&[Wide::KIND], Input::Full);
}

/// Numbers below a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Below {
    threshold: f32,
}

#[upsweep::function]
impl Below {
    fn apply(self, value: f32) -> bool {
        value < self.threshold
    }
}

#[upsweep::function]
fn is_odd(number: u32) -> bool {
    number % 2 == 1
}

#[test]
fn a_predicate_selects() {
    for (turn, items) in LENGTHS.into_iter().enumerate() {
        let all: Vec<f32> = Input::Uniform.array(5, items);
        for (number, threshold) in [0.0f32, 0.03, 0.5, 2.0].into_iter().enumerate() {
            let marks: Vec<u8> = all.iter().map(|value| u8::from(*value < threshold)).collect();
            let selected = compaction::select(&all, &marks);
            let (partitioned, border) = compaction::partition(&all, &marks);
            let places: Vec<u32> =
                compaction::positions(&marks).iter().map(|place| *place as u32).collect();
            let wide = 2.0 * threshold;
            let seconds: Vec<u8> = all.iter().map(|value| u8::from(*value < wide)).collect();
            let (in_parts, borders) = compaction::partition3(&all, &marks, &seconds);
            on_devices(&[f32::KIND], |device| {
                if !device.takes(turn + number, 2) {
                    return;
                }
                let of = &device.device;
                let context = format!("{device}: {items} below {threshold}");
                let there = on(of, &all);
                let below = there.view().filter(Below { threshold });
                assert_eq!(below.count(of), Ok(selected.len() as u64), "{context}");
                let found = below.select(of).expect("a selection").into_vec();
                assert_same(&found.expect("items"), &selected, &context);
                let (found, count) = below.partition(of).expect("a partition");
                assert_eq!(count, border, "{context}");
                assert_same(&found.into_vec().expect("items"), &partitioned, &context);
                let found = below.partition3(of, Below { threshold: wide }).expect("three parts");
                assert_eq!(found.1, borders, "{context}");
                assert_same(&found.0.into_vec().expect("items"), &in_parts, &context);
                let found = below.positions::<u32>(of).expect("positions").into_vec();
                assert_same(&found.expect("numbers"), &places, &context);
                let (found, count) = left_by(of, items, |output, count| {
                    let below = View::from(&all).filter(Below { threshold });
                    below.select_into(of, output, count).expect("a selection");
                });
                assert_same(&found[..count], &selected, &context);
            });
        }
    }
}

#[test]
fn items_are_made_as_they_are_selected() {
    let (left, right): (Vec<f32>, Vec<f32>) =
        (Input::Uniform.array(6, 40_000), Input::Uniform.array(7, 40_000));
    let products = left.iter().zip(&right).map(|(left, right)| left * right);
    let expected: Vec<f32> = products.filter(|value| *value < 0.25).collect();
    on_devices(&[f32::KIND], |device| {
        let of = &device.device;
        let (left, right) = (on(of, &left), on(of, &right));
        let made = left.view().zip(right.view()).map(product {});
        let found = made.filter(Below { threshold: 0.25 }).select(of).expect("a selection");
        assert_same(&found.into_vec().expect("items"), &expected, format!("{device}"));
    });
    for_each_device(|device| {
        let odd = counting(3u32..20_000).filter(is_odd {});
        let found = odd.select(&device.device).expect("a selection").into_vec().expect("items");
        let expected: Vec<u32> = (3..20_000).filter(|number| number % 2 == 1).collect();
        assert_same(&found, &expected, format!("{device}"));
    });
}

/// Items of more chunks than run at once, which GPUs hold elsewhere; the last chunk is a part.
const LONG: usize = (5 << 19) + 77;

#[test]
fn long_arrays() {
    let all: Vec<f32> = Input::Uniform.array(8, LONG);
    let shorts: Vec<u8> = Input::Full.array(8, LONG);
    for (number, threshold) in [0.1f32, 0.5, 0.97].into_iter().enumerate() {
        let marks: Vec<u8> = all.iter().map(|value| u8::from(*value < threshold)).collect();
        let (partitioned, border) = compaction::partition(&all, &marks);
        let selected = compaction::select(&shorts, &marks);
        let seconds: Vec<u8> = all.iter().map(|value| (*value < 2.0 * threshold).into()).collect();
        let (in_parts, borders) = compaction::partition3(&all, &marks, &seconds);
        on_devices(&[f32::KIND], |device| {
            if !device.takes(number, 3) {
                return;
            }
            let (of, context) = (&device.device, format!("{device}: below {threshold}"));
            let (there, others) = (on(of, &all), on(of, &shorts));
            let below = there.view().filter(Below { threshold });
            let found = below.select(of).expect("a selection").into_vec().expect("items");
            assert_same(&found, &partitioned[..border], &context);
            let (found, count) = below.partition(of).expect("a partition");
            assert_eq!(count, border, "{context}");
            assert_same(&found.into_vec().expect("items"), &partitioned, &context);
            let wide = Below { threshold: 2.0 * threshold };
            let (found, places) = below.partition3(of, wide).expect("three parts");
            assert_eq!(places, borders, "{context}");
            assert_same(&found.into_vec().expect("items"), &in_parts, &context);
            let found = select(of, &others, &marks).expect("a selection").into_vec();
            assert_same(&found.expect("items"), &selected, &context);
        });
    }
}

/// Every way in which chunks learn what comes before them, and values go from thread to thread.
#[test]
fn every_strategy() {
    let all: Vec<u32> = Input::Full.array(4, LONG / 20);
    let marks: Vec<u16> = flags(all.len(), (300, 1));
    let selected = compaction::select(&all, &marks);
    let (partitioned, border) = compaction::partition(&all, &marks);
    let seconds: Vec<u8> = flags(all.len(), (500, 5));
    let (in_parts, borders) = compaction::partition3(&all, &marks, &seconds);
    for_each_gpu(|device| {
        let mut cell = 0;
        for (local, global) in ScanLocal::ALL
            .iter()
            .flat_map(|local| ScanGlobal::ALL.iter().map(move |global| (*local, *global)))
        {
            cell += 1;
            if !device.takes(cell, 4) {
                continue;
            }
            let arrangement = [Arrangement::Striped, Arrangement::Blocked][cell % 2];
            let load = Load { arrangement, width: AccessWidth::Bytes16, tail: Tail::Exact };
            let scan = Some(GpuScanStrategy { load, local, global });
            let options = GpuOptions { scan, ..GpuOptions::default() };
            let of = device.device.with_gpu_options(options).expect("a GPU");
            let context = format!("{device}: {local:?}, {global:?}, {arrangement:?}");
            match select(&of, &all, &marks) {
                Err(Error::StrategyRefused { .. }) => continue,
                found => {
                    let found = found.expect("a selection").into_vec().expect("items");
                    assert_same(&found, &selected, &context);
                }
            }
            let (found, count) = partition(&of, &all, &marks).expect("a partition");
            assert_eq!(count, border, "{context}");
            assert_same(&found.into_vec().expect("items"), &partitioned, &context);
            let (found, places) = partition3(&of, &all, &marks, &seconds).expect("three parts");
            assert_eq!(places, borders, "{context}");
            assert_same(&found.into_vec().expect("items"), &in_parts, &context);
        }
    });
}

#[test]
fn recordings_run_again() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, flags) = (on(of, &[1u32, 2, 3, 4, 5]), on(of, &[0u8, 1, 0, 1, 1]));
        let mut output = on(of, &[7u32; 5]);
        let mut count = on(of, &[7u64]);
        let bound = bind_select(of, &items, &flags, &mut output, &mut count);
        if !device.is_gpu() {
            assert!(matches!(bound, Err(Error::NoCommands { .. })), "{device}");
            return;
        }
        let bound = bound.expect("a recording");
        let (mut all, mut border) = (on(of, &[7u32; 5]), on(of, &[7u64]));
        let parts = bind_partition(of, &items, &flags, &mut all, &mut border).expect("a recording");
        for _ in 0..3 {
            parts.submit().expect("a run");
            assert_eq!(all.to_vec(), Ok(vec![2, 4, 5, 1, 3]), "{device}");
            assert_eq!(border.to_vec(), Ok(vec![3]), "{device}");
            all.copy_from_slice(&[7; 5]).expect("memory");
            border.copy_from_slice(&[7]).expect("memory");
            output.copy_from_slice(&[9; 5]).expect("memory");
            count.copy_from_slice(&[9]).expect("memory");
            bound.submit().expect("a run");
            assert_eq!(count.to_vec(), Ok(vec![3]), "{device}");
            assert_eq!(output.to_vec().expect("items")[..3], [2, 4, 5], "{device}");
        }
    });
}

/// Whether one is left of a number that is dealt out in threes.
#[upsweep::function]
fn is_third(number: u32) -> bool {
    number % 3 == 1
}

/// By flags, and by predicates.
#[test]
fn recordings_in_three_parts_run_again() {
    on_devices(&[u32::KIND], |device| {
        let of = &device.device;
        for items in [0, 1, 4100, 70_003] {
            let (mut from, mut all) = (on(of, &vec![0u32; items]), on(of, &vec![7u32; items]));
            let (mut first, mut second) = (on(of, &vec![0u8; items]), on(of, &vec![0u16; items]));
            let (mut borders, mut of_made) = (on(of, &[7u64; 2]), on(of, &[7u64; 2]));
            let mut made = on(of, &vec![7u32; items]);
            let bound = bind_partition3(of, &from, &first, &second, &mut all, &mut borders);
            let odd = from.view().filter(is_odd {});
            let by_number = odd.bind_partition3(of, is_third {}, &mut made, &mut of_made);
            if !device.is_gpu() {
                let refused = |found| matches!(found, Err(Error::NoCommands { .. }));
                assert!(refused(bound.map(drop)) && refused(by_number.map(drop)), "{device}");
                return;
            }
            let (bound, by_number) = (bound.expect("a recording"), by_number.expect("a recording"));
            for turn in 0..3 {
                let context = format!("{device}: {items} items, turn {turn}");
                let numbers: Vec<u32> = Input::Full.array(turn, items);
                let marks: Vec<u8> = flags(items, PATTERNS[turn as usize + 2]);
                let others: Vec<u16> = flags(items, PATTERNS[turn as usize]);
                from.copy_from_slice(&numbers).expect("memory");
                first.copy_from_slice(&marks).expect("memory");
                second.copy_from_slice(&others).expect("memory");
                bound.submit().expect("a run");
                by_number.submit().expect("a run");
                let check =
                    |found: &Array<u32>, places: &Array<u64>, parts: (Vec<u32>, [usize; 2])| {
                        assert_same(&found.to_vec().expect("items"), &parts.0, &context);
                        let borders = parts.1.map(|border| border as u64).to_vec();
                        assert_eq!(places.to_vec(), Ok(borders), "{context}");
                    };
                check(&all, &borders, compaction::partition3(&numbers, &marks, &others));
                let odd: Vec<u8> = numbers.iter().map(|n| (n % 2) as u8).collect();
                let third: Vec<u8> = numbers.iter().map(|n| u8::from(n % 3 == 1)).collect();
                check(&made, &of_made, compaction::partition3(&numbers, &odd, &third));
            }
        }
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, mut output, mut count) = ([1u32, 2, 3], [7u32; 3], [7u64]);
        let short = [7u32; 2].as_mut_slice().to_vec();
        assert_eq!(
            select(of, &items, &[1u8, 0]).map(drop),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        let mut short = short;
        assert_eq!(
            select_into(of, &items, &[1u8; 3], &mut short, &mut count),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        assert_eq!(
            select_into(of, &items, &[1u8; 3], &mut output, &mut [7u64; 2]),
            Err(Error::ResultLength { items: 2 })
        );
        assert_eq!(
            partition3_into(of, &items, &[1u8; 3], &[1u8; 2], &mut output, &mut [7u64; 2]),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        let reason = "three parts have 2 borders, there is room for 1".to_owned();
        assert_eq!(
            partition3_into(of, &items, &[1u8; 3], &[1u8; 3], &mut output, &mut count),
            Err(Error::Buffer { reason })
        );
        assert_eq!(
            select_in_place(of, &mut output, &[1u8; 2], &mut count),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        assert_eq!(
            select_in_place(of, &mut output, &[1u8; 3], &mut [7u64; 2]),
            Err(Error::ResultLength { items: 2 })
        );
        assert_eq!((output, count), ([7; 3], [7]));
        let (all, border) = partition(of, &items, &[0u8, 1, 0]).expect("a partition");
        assert_eq!((all.into_vec(), border), (Ok(vec![2, 1, 3]), 1));
    });
}
