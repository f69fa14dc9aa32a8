//! Operators with fields: one after another of other values, wherever an operator can stand.

use upsweep::{
    Array, Device, Element, Fused, Operator, Parameter, Reduce, ReducePlan, ReduceStream, Scan,
    ScanPlan, ScanStream, Segments, Widen, laws, reduce_into_with, scan_in_place_with,
    segmented_reduce_with, segmented_scan_into,
};
use upsweep_core::reference::segmented;
use upsweep_testing::{
    Above, Capped, Input, LastOther, Modulo, Products, Quadratic, Sample, SumUpTo, TestDevice,
    assert_same, expected_reduce, expected_scan, for_each_device,
};

/// From nothing to several windows of several workgroups, whole and not.
const LENGTHS: [usize; 5] = [0, 1, 129, 2049, 70_001];

fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// Two operators on the same items, in turns, by all calls.
fn check<T, A>(device: &TestDevice, operators: [impl Operator<A>; 2], items: &[T], init: A)
where
    T: Sample + Widen<A>,
    A: Sample + Element<Acc = A> + Widen<A>,
{
    let of = &device.device;
    if !device.supports(&[T::KIND, A::KIND]) {
        return;
    }
    let resident = on(of, items);
    for round in 0..2 {
        for operator in operators {
            let context = || {
                format!(
                    "{device}: {operator:?} of {} in round {round}",
                    items.len(),
                    operator = operator.fields()
                )
            };
            for problem in [Reduce::new(operator), Reduce::new(operator).init(init)] {
                let expected = [expected_reduce(items, &problem)];
                let found = upsweep::reduce_with(of, &resident, &problem).expect("a reduction");
                assert_same(&[found], &expected, context());
                let found = upsweep::reduce_with(of, items, &problem).expect("a reduction");
                assert_same(&[found], &expected, context());
                let mut there = Array::filled(of, 1, init).expect("memory");
                reduce_into_with(of, &resident, &mut there, &problem).expect("a reduction");
                assert_same(&there.to_vec().expect("it is there"), &expected, context());
                let mut plan =
                    ReducePlan::<T, A, _>::new(of, items.len(), problem).expect("a plan");
                assert_same(&[plan.run(&resident).expect("a reduction")], &expected, context());
                let mut stream = ReduceStream::<T, A, _>::new(of, problem).expect("a stream");
                stream.push(items).expect("a chunk");
                assert_same(&[stream.finish()], &expected, context());
            }
            for problem in [
                Scan::inclusive(operator),
                Scan::exclusive(operator).init(init),
                Scan::exclusive(operator).reverse(),
            ] {
                let expected: Vec<A> = expected_scan(items, &problem);
                let mut output = Array::filled(of, items.len(), init).expect("memory");
                upsweep::scan_into_with(of, &resident, &mut output, &problem).expect("a scan");
                assert_same(&output.to_vec().expect("it is there"), &expected, context());
                let mut plan = ScanPlan::<T, A, _>::new(of, items.len(), problem).expect("a plan");
                let mut output = vec![init; items.len()];
                plan.run_into(items, &mut output).expect("a scan");
                assert_same(&output, &expected, context());
                let mut stream = ScanStream::<T, A, _>::new(of, problem).expect("a stream");
                output.fill(init);
                stream.next(items, &mut output).expect("a scan");
                assert_same(&output, &expected, context());
            }
        }
    }
}

#[test]
fn values_of_operators_are_those_of_each_call() {
    for_each_device(|device| {
        for items in LENGTHS {
            let few: Vec<u32> =
                (0..items as u32).map(|item| item.wrapping_mul(2_654_435_761) >> 30).collect();
            check(device, [LastOther { nothing: 0 }, LastOther { nothing: 3 }], &few, 1);
            let narrow: Vec<u8> = few.iter().map(|&item| item as u8).collect();
            check(device, [LastOther { nothing: 1 }, LastOther { nothing: u32::MAX }], &narrow, 2);
            let long: Vec<u64> = Input::Full.array(1, items);
            let less: Vec<u64> = long.iter().map(|item| item % 1_000_000_007).collect();
            let both = [Modulo { modulus: 1_000_000_007 }, Modulo { modulus: u64::MAX - 58 }];
            check(device, both, &less, 5);
            let small: Vec<i32> = long.iter().map(|item| (item % 7) as i32).collect();
            let both = [
                Capped { most: 9, less: 2, rest: 0 },
                Capped { most: 60_000, less: 255, rest: -1 },
            ];
            check(device, both, &small, 3);
            let pairs: Vec<Quadratic> = Input::Full.array(2, items);
            let both =
                [Products { square: -1, unused: 0.0 }, Products { square: 5, unused: f32::NAN }];
            check(device, both, &pairs, Quadratic { real: 3, root: 2 });
            let floats: Vec<f32> = Input::Uniform.array(3, items);
            check(device, [SumUpTo { most: 9.5 }, SumUpTo { most: 1e4 }], &floats, 0.5);
        }
    });
}

/// Beside functions with fields of their own, whose words come first.
#[test]
fn operators_stand_beside_functions() {
    for_each_device(|device| {
        for items in LENGTHS {
            let values: Vec<f32> = Input::Uniform.array(4, items);
            let resident = on(&device.device, &values);
            for (threshold, nothing) in [(0.25, 0), (0.75, 1), (0.75, 0)] {
                let (above, operator) = (Above { threshold }, LastOther { nothing });
                let made: Vec<u32> = values.iter().map(|&value| above.apply(value)).collect();
                let problem = Reduce::new(operator);
                let found = resident.view().map(above).reduce_with(&device.device, &problem);
                assert_eq!(found, Ok(expected_reduce(&made, &problem)), "{device}");
                let problem = Scan::inclusive(operator);
                let mut output = vec![7u32; items];
                let done =
                    resident.view().map(above).scan_into(&device.device, &mut output, &problem);
                assert_eq!(done, Ok(()), "{device}");
                assert_same(&output, &expected_scan::<_, u32, _>(&made, &problem), device);
            }
            for most in [2.5, 3.5] {
                let problem = Scan::inclusive(SumUpTo { most });
                let above = Above { threshold: 3.0 };
                let prefixes: Vec<f32> = expected_scan(&values, &problem);
                let expected: Vec<u32> = prefixes.iter().map(|&value| above.apply(value)).collect();
                let mut output = vec![7u32; items];
                let done =
                    resident.view().scan_map_into(&device.device, &mut output, &problem, above);
                assert_eq!(done, Ok(()), "{device}");
                assert_same(&output, &expected, device);
            }
        }
    });
}

#[test]
fn segments_are_combined_by_operators_with_fields() {
    for items in LENGTHS {
        let input: Vec<u32> =
            (0..items as u32).map(|item| item.wrapping_mul(2_654_435_761) >> 30).collect();
        let pairs: Vec<Quadratic> = Input::Full.array(2, items);
        let offsets: Vec<usize> = [0, items / 7, items / 7, items / 2]
            .into_iter()
            .chain((items / 2..items).step_by(37))
            .chain([items])
            .collect();
        let short: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
        let begins = segmented::begins(items, &offsets);
        let keys: Vec<u32> = begins
            .iter()
            .scan(0u32, |key, &begins| {
                *key += u32::from(begins);
                Some(*key)
            })
            .collect();
        for_each_device(|device| {
            for nothing in [0, 2] {
                segments_of(
                    device,
                    LastOther { nothing },
                    &input,
                    (&offsets, &short, &begins, &keys),
                    1,
                );
            }
            for square in [3, -2] {
                let operator = Products { square, unused: 1.0 };
                let init = Quadratic { real: 3, root: 2 };
                segments_of(device, operator, &pairs, (&offsets, &short, &begins, &keys), init);
            }
        });
    }
}

fn segments_of<T: Sample + Element<Acc = T> + Widen<T>>(
    device: &TestDevice,
    operator: impl Operator<T>,
    input: &[T],
    (offsets, short, begins, keys): (&[usize], &[u32], &[bool], &[u32]),
    init: T,
) {
    let of = &device.device;
    let problem = Reduce::new(operator).init(init);
    let by_offsets = segmented::reduce_by_offsets(input, offsets, &problem);
    let by_keys = segmented::reduce(input, begins, &problem);
    for (segments, expected) in
        [(Segments::by_offsets(short), by_offsets), (Segments::by_keys(keys), by_keys)]
    {
        let found: Array<T> =
            segmented_reduce_with(of, input, &segments, &problem).expect("a reduction");
        assert_same(&found.into_vec().expect("it is there"), &expected, device);
        for problem in [Scan::inclusive(operator), Scan::exclusive(operator).init(init).reverse()] {
            let expected: Vec<T> = segmented::scan(input, begins, &problem);
            let mut output = vec![init; input.len()];
            segmented_scan_into(of, input, &segments, &mut output, &problem).expect("a scan");
            assert_same(&output, &expected, device);
        }
    }
}

#[test]
fn scans_in_place_take_their_operators_values() {
    for_each_device(|device| {
        for nothing in [0, 2] {
            let items: Vec<u32> =
                (0..5000u32).map(|item| item.wrapping_mul(2_654_435_761) >> 30).collect();
            let problem = Scan::exclusive(LastOther { nothing });
            let mut data = on(&device.device, &items);
            scan_in_place_with(&device.device, &mut data, &problem).expect("a scan");
            let expected: Vec<u32> = expected_scan(&items, &problem);
            assert_same(&data.into_vec().expect("it is there"), &expected, device);
        }
    });
}

#[test]
fn operators_say_what_they_are() {
    let operator = Capped { most: 9, less: 2, rest: -1 };
    let fields = operator.fields().expect("it has some");
    assert_eq!(fields, Parameter { kind: Capped::KIND, words: vec![9 | 2 << 16 | 0xff << 24] });
    assert_eq!(<Capped as Operator<i32>>::NAME, "capped");
    assert_eq!(<LastOther as Operator<u32>>::NAME, "last other");
    laws::check(&operator, &[0, 1, 5, 7]).expect("it has the laws");
    laws::check(&LastOther { nothing: 3 }, &[0, 1, 3, 4]).expect("it has the laws");
    laws::check(&Modulo { modulus: 7 }, &[0, 1, 5, 6]).expect("it has the laws");
    let off = laws::check(&Capped { most: 9, less: 0, rest: 0 }, &[0, 10]);
    assert!(off.is_err(), "10 is more than it keeps");
}
