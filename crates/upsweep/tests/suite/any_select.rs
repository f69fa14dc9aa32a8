//! Compaction of types that are values: what the reference keeps, on every device; and comparisons as Rust makes them.

use core::cmp::Ordering;

use upsweep::any::{self, AnyArray, AnyView, Comparison, Keep, Scalar, Where};
use upsweep::reference::compaction;
use upsweep::{Array, Device, Dtype, Element, Error, Kind, Number, bf16, f16};
use upsweep_testing::{
    Input, Sample, Selection, TestDevice, assert_same, for_each_device, for_each_device_of,
};

/// From nothing to several tiles.
const LENGTHS: [usize; 4] = [0, 1, 2049, 40_003];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
];

fn holds(comparison: Comparison, order: Option<Ordering>) -> bool {
    let Some(order) = order else { return comparison == Comparison::NotEqual };
    match comparison {
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
    }
}

/// The items of an array.
fn vec<T: Number>(array: AnyArray) -> Vec<T> {
    array.into_typed().expect("the items' type").into_vec().expect("items")
}

/// What is kept of items, to their own arrays and to others, against the reference by flags.
fn check_kept<'a, T: Sample + Number>(
    device: &Device,
    items: AnyView<'_>,
    keep: impl Into<Keep<'a>>,
    (all, flags): (&[T], &[u8]),
    context: &str,
) {
    let keep = keep.into();
    let selected = compaction::select(all, flags);
    let kept = any::select(device, items, keep).expect("a selection");
    assert_eq!(kept.len(), Ok(selected.len()), "{context}");
    assert_same(&vec::<T>(kept.into_array().expect("items")), &selected, context);
    let (partitioned, border) = compaction::partition(all, flags);
    let (mut output, mut count) = (vec![T::from_bits(0); all.len()], [u64::MAX]);
    // Memory of the host's suits every device.
    any::partition_into(device, items, keep, &mut output, &mut count).expect("a partition");
    assert_eq!(count[0], border as u64, "{context}");
    assert_same(&output, &partitioned, context);
}

/// Items that are kept by flags, and numbers of flags.
fn check_flags<T: Sample + Number, F: Sample + Number>() {
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let all: Vec<T> = Input::Full.array(3, len);
        let marks: Vec<F> =
            Input::Full.array::<F>(4, len).iter().map(|&flag| sparse(flag)).collect();
        let flags: Vec<u8> = marks.iter().map(|&flag| compaction::is_true(flag).into()).collect();
        let places = compaction::positions(&flags);
        let seconds: Vec<i16> = (0..len).map(|item| (item % 3) as i16 - 1).collect();
        let (in_parts, borders) = compaction::partition3(&all, &flags, &seconds);
        for_each_device_of(Selection::Representative, |device| {
            if !(moves(device, T::KIND) && moves(device, F::KIND) && device.takes(turn, 2)) {
                return;
            }
            let context = format!("{len} {} by {} on {device}", T::KIND, F::KIND);
            let of = &device.device;
            check_kept(of, (&all).into(), &marks, (&all, &flags), &context);
            let (found, between) =
                any::partition3(of, &all, (&marks, &seconds)).expect("three parts");
            assert_eq!(between, borders, "{context}");
            assert_same(&vec::<T>(found), &in_parts, &context);
            let (mut output, mut between) = (all.clone(), [u64::MAX; 2]);
            any::partition3_into(of, &all, (&marks, &seconds), &mut output, &mut between)
                .expect("three parts");
            assert_eq!(between, borders.map(|border| border as u64), "{context}");
            assert_same(&output, &in_parts, &context);
            let found = any::positions(of, &marks, Dtype::U32).expect("positions");
            let short: Vec<u32> = places.iter().map(|&place| place as u32).collect();
            assert_same(&vec::<u32>(found.into_array().expect("numbers")), &short, &context);
            let (mut numbers, mut count) = (vec![0u64; len], [0]);
            if device.supports(&[u64::KIND]) {
                any::positions_into(of, &marks, &mut numbers, &mut count).expect("positions");
                assert_same(&numbers[..count[0] as usize], &places, &context);
            }
        });
    }
}

/// By flags and by comparisons, with other items in each run.
#[test]
fn recordings_in_three_parts_run_again() {
    for_each_device_of(Selection::Representative, |device| {
        let (of, items) = (&device.device, 4100);
        let there = |values: &[u32]| Array::from_slice(of, values).expect("memory");
        let (mut from, mut all) = (there(&vec![0; items]), there(&vec![7; items]));
        let mut borders = Array::from_slice(of, &[7u64; 2]).expect("memory");
        let (first, second) = (there(&vec![1; items]), there(&vec![0; items]));
        let parts = [Comparison::Less, Comparison::Equal]
            .map(|comparison| Where::new(comparison, Scalar::new(5u32)));
        let by_flags = any::bind_partition3(of, &from, (&first, &second), &mut all, &mut borders);
        let by_number = any::bind_partition3(of, &from, parts, &mut all, &mut borders);
        if !device.is_gpu() {
            let is_refused = |found| matches!(found, Err(Error::NoCommands { .. }));
            assert!([by_flags, by_number].into_iter().all(is_refused), "{device}");
            return;
        }
        let [by_flags, by_number] =
            [by_flags, by_number].map(|recording| recording.expect("a recording"));
        for turn in 0..3 {
            let numbers: Vec<u32> = (0..items).map(|item| (item as u32 + turn) % 11).collect();
            from.copy_from_slice(&numbers).expect("memory");
            by_number.submit().expect("a run");
            let [less, same]: [Vec<u8>; 2] = [
                numbers.iter().map(|number| (*number < 5).into()).collect(),
                numbers.iter().map(|number| (*number == 5).into()).collect(),
            ];
            let (in_parts, expected) = compaction::partition3(&numbers, &less, &same);
            let context = format!("{device}, turn {turn}");
            let expected = expected.map(|border| border as u64).to_vec();
            assert_eq!(borders.to_vec(), Ok(expected), "{context}");
            assert_same(&all.to_vec().expect("items"), &in_parts, &context);
            by_flags.submit().expect("a run");
            assert_eq!(borders.to_vec(), Ok(vec![items as u64; 2]), "{context}");
            assert_same(&all.to_vec().expect("items"), &numbers, &context);
        }
    });
}

/// A flag of which half are 0.
fn sparse<F: Sample + Number>(flag: F) -> F {
    if bytemuck::bytes_of(&flag)[0] & 1 == 0 { F::from_bits(0) } else { flag }
}

#[test]
fn flags_of_every_size_keep_items_of_every_size() {
    check_flags::<i8, f64>();
    check_flags::<f16, u8>();
    check_flags::<f32, u16>();
    check_flags::<i64, f32>();
}

/// Whether a device moves items of this type, be they floats or integers.
fn moves(device: &TestDevice, kind: Kind) -> bool {
    kind.size() < 8 || device.supports(&[u64::KIND])
}

/// Items of a type compared with some of them and with other numbers, on the host and in the device's memory.
fn check_compared<T: Sample + Number + PartialOrd>(numbers: &[T]) {
    let all: Vec<T> = Input::Special.array(5, 5_000);
    let numbers = numbers.iter().chain(&all[..3]);
    for (turn, &number) in numbers.enumerate() {
        for (step, comparison) in COMPARISONS.into_iter().enumerate() {
            let condition = Where::new(comparison, Scalar::new(number));
            let holds = |item: &T| holds(comparison, item.partial_cmp(&number));
            let flags: Vec<u8> = all.iter().map(|item| holds(item).into()).collect();
            for_each_device_of(Selection::Representative, |device| {
                if !moves(device, T::KIND) || !device.takes(turn + step, 9) {
                    return;
                }
                let context = format!("{} {condition} on {device}", T::KIND);
                let of = &device.device;
                check_kept(of, (&all).into(), condition, (&all, &flags), &context);
                let there = Array::from_slice(of, &all).expect("memory");
                let parts = [condition, Where::new(Comparison::Equal, Scalar::new(all[0]))];
                let (found, _) = any::partition3(of, &there, parts).expect("three parts");
                let seconds: Vec<u8> = all.iter().map(|item| (*item == all[0]).into()).collect();
                let (in_parts, _) = compaction::partition3(&all, &flags, &seconds);
                assert_same(&vec::<T>(found), &in_parts, &context);
                check_kept(of, (&there).into(), condition, (&all, &flags), &context);
            });
        }
    }
}

#[test]
fn integers_are_compared() {
    check_compared(&[0u8, 1, u8::MAX]);
    check_compared(&[0, i8::MIN, i8::MAX]);
    check_compared(&[0u16, u16::MAX]);
    check_compared(&[0, i16::MIN, i16::MAX]);
    check_compared(&[0u32, u32::MAX]);
    check_compared(&[0, i32::MIN, i32::MAX]);
    check_compared(&[0u64, u64::MAX]);
    check_compared(&[-1, i64::MIN, i64::MAX]);
}

#[test]
fn floats_are_compared() {
    let special = [0.0f32, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -1.0];
    check_compared(&special.map(f16::from_f32));
    check_compared(&special.map(bf16::from_f32));
    check_compared(&special);
    check_compared(&special.map(f64::from));
    // Those that some devices take for 0.
    check_compared(&[f32::from_bits(1), -f32::from_bits(1), f32::MIN_POSITIVE]);
}

/// Runs of items of a type.
fn check_runs<T: Sample + Number>() {
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let all: Vec<T> = Input::Special.array(6, len);
        // Runs of one item and of several.
        let all: Vec<T> = (0..len).map(|item| all[item - item % (1 + item % 7)]).collect();
        let beside: Vec<i16> = Input::Full.array(7, len);
        let (values, counts) = compaction::run_length_encode(&all);
        let short: Vec<u32> = counts.iter().map(|&count| count as u32).collect();
        for_each_device_of(Selection::Representative, |device| {
            if !moves(device, T::KIND) || !device.takes(turn, 2) {
                return;
            }
            let (of, context) = (&device.device, format!("{len} {} on {device}", T::KIND));
            let kept = any::unique(of, &all).expect("runs").into_array().expect("items");
            assert_same(&vec::<T>(kept), &values, &context);
            let (found, lengths) = any::run_length_encode(of, &all, Dtype::U32).expect("runs");
            assert_same(&vec::<T>(found), &values, &context);
            assert_same(&vec::<u32>(lengths), &short, &context);
            let (firsts, others) = compaction::unique_by_key(&all, &beside);
            let (keys, kept) = any::unique_by_key(of, &all, &beside).expect("runs");
            assert_same(&vec::<T>(keys.into_array().expect("keys")), &firsts, &context);
            assert_same(&vec::<i16>(kept.into_array().expect("items")), &others, &context);
            let (mut keys, mut kept, mut count) = (all.clone(), beside.clone(), [u64::MAX]);
            any::unique_by_key_into(of, &all, &beside, &mut keys, &mut kept, &mut count)
                .expect("runs");
            let count = count[0] as usize;
            assert_same(&keys[..count], &firsts, &context);
            assert_same(&kept[..count], &others, &context);
        });
    }
}

#[test]
fn runs_of_every_size() {
    check_runs::<i8>();
    check_runs::<bf16>();
    check_runs::<f32>();
    check_runs::<f64>();
}

#[test]
fn comparisons_that_all_or_none_fulfil() {
    for (text, kept) in
        [("< 300", 256), ("> 255", 0), (">= -0.5", 256), ("== 0.5", 0), ("!= nan", 256)]
    {
        let all: Vec<u8> = (0..=255).collect();
        let flags = vec![u8::from(kept > 0); 256];
        let condition = Where::parse(text, Dtype::U8).expect("a comparison");
        for_each_device(|device| {
            let context = format!("{text} on {device}");
            check_kept(&device.device, (&all).into(), condition, (&all, &flags), &context);
        });
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for_each_device_of(Selection::Representative, |device| {
        let (of, items) = (&device.device, [1u32, 2, 3]);
        let reason = "there are 2 flags for 3 items".to_owned();
        assert_eq!(any::select(of, &items, &[1u8, 0]).map(drop), Err(Error::Buffer { reason }));
        let signed = Where::new(Comparison::Less, Scalar::new(3i32));
        let wrong = |found, wanted| Err(Error::WrongDtype { found, wanted });
        assert_eq!(any::select(of, &items, signed).map(drop), wrong(Dtype::I32, Dtype::U32));
        assert_eq!(
            any::partition3(of, &items, [signed; 2]).map(drop),
            wrong(Dtype::I32, Dtype::U32)
        );
        let reason = "there are 2 flags for 3 items".to_owned();
        assert_eq!(
            any::partition3(of, &items, (&[1u8; 3], &[1u8; 2])).map(drop),
            Err(Error::Buffer { reason })
        );
        assert_eq!(
            any::unique_by_key(of, &items, &[1u8; 2]).map(drop),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        let (flags, mut count) = ([1u8; 3], [7u64]);
        assert_eq!(
            any::select_into(of, &items, &flags, &mut [0i32; 3], &mut count),
            wrong(Dtype::I32, Dtype::U32)
        );
        assert_eq!(
            any::partition_into(of, &items, &flags, &mut [0u32; 2], &mut count),
            Err(Error::LengthMismatch { input: 3, output: 2 })
        );
        assert_eq!(
            any::positions_into(of, &flags, &mut [0u32; 3], &mut [0u64; 2]),
            Err(Error::ResultLength { items: 2 })
        );
        assert_eq!(any::positions(of, &flags, Dtype::I64).map(drop), wrong(Dtype::I64, Dtype::U64));
        assert_eq!(count, [7]);
    });
}
