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

use crate::share::Share;

/// From nothing to several windows of several workgroups, whole and not.
const LENGTHS: [usize; 5] = [0, 1, 129, 2049, 70_001];

fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// Problems with what they give, of two operators.
type Answered<P, R, const N: usize> = [[(P, R); N]; 2];

/// The reductions that are asked for, with what they give.
fn reductions<T: Widen<A>, A: Element, O: Operator<A>>(
    operator: O,
    items: &[T],
    init: A,
) -> [(Reduce<A, O>, A); 2] {
    let problems = [Reduce::new(operator), Reduce::new(operator).init(init)];
    problems.map(|problem| (problem, expected_reduce(items, &problem)))
}

/// The same of scans.
fn scans<T: Widen<A>, A: Element<Acc = A>, O: Operator<A>>(
    operator: O,
    items: &[T],
    init: A,
) -> [(Scan<A, O>, Vec<A>); 3] {
    let problems = [
        Scan::inclusive(operator),
        Scan::exclusive(operator).init(init),
        Scan::exclusive(operator).reverse(),
    ];
    problems.map(|problem| (problem, expected_scan(items, &problem)))
}

/// Two operators on the same items, in turns, by all calls on every device; which of the tests' operators they are, the share of GPUs says.
fn check<T, A>(
    (share, number): (&Share, usize),
    operators: [impl Operator<A>; 2],
    items: &[T],
    init: A,
) where
    T: Sample + Widen<A>,
    A: Sample + Element<Acc = A> + Widen<A>,
{
    // The oracle is slow, and there are many devices.
    let reductions = operators.map(|operator| reductions(operator, items, init));
    let scans = operators.map(|operator| scans(operator, items, init));
    for_each_device(|device| {
        let takes = |problem| share.has(device, &[number, problem]);
        check_on(device, takes, operators, &reductions, &scans, items, init);
    });
}

fn check_on<T, A, O>(
    device: &TestDevice,
    takes: impl Fn(usize) -> bool,
    operators: [O; 2],
    reductions: &Answered<Reduce<A, O>, A, 2>,
    scans: &Answered<Scan<A, O>, Vec<A>, 3>,
    items: &[T],
    init: A,
) where
    T: Sample + Widen<A>,
    A: Sample + Element<Acc = A> + Widen<A>,
    O: Operator<A>,
{
    let of = &device.device;
    if !device.supports(&[T::KIND, A::KIND]) {
        return;
    }
    let resident = on(of, items);
    for round in 0..2 {
        for (turn, operator) in operators.into_iter().enumerate() {
            let context = || {
                format!(
                    "{device}: {operator:?} of {} in round {round}",
                    items.len(),
                    operator = operator.fields()
                )
            };
            for (number, &(problem, expected)) in reductions[turn].iter().enumerate() {
                if !takes(number) {
                    continue;
                }
                let expected = [expected];
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
            for (number, (problem, expected)) in scans[turn].iter().enumerate() {
                if !takes(reductions[turn].len() + number) {
                    continue;
                }
                let problem = *problem;
                let mut output = Array::filled(of, items.len(), init).expect("memory");
                upsweep::scan_into_with(of, &resident, &mut output, &problem).expect("a scan");
                assert_same(&output.to_vec().expect("it is there"), expected, context());
                let mut plan = ScanPlan::<T, A, _>::new(of, items.len(), problem).expect("a plan");
                let mut output = vec![init; items.len()];
                plan.run_into(items, &mut output).expect("a scan");
                assert_same(&output, expected, context());
                let mut stream = ScanStream::<T, A, _>::new(of, problem).expect("a stream");
                output.fill(init);
                stream.next(items, &mut output).expect("a scan");
                assert_same(&output, expected, context());
            }
        }
    }
}

#[test]
fn values_of_operators_are_those_of_each_call() {
    // Six pairs of operators, five problems; the third pair works in 64 bits.
    let can = |gpu: &TestDevice, cell: &[usize]| cell[0] != 2 || gpu.supports(&[u64::KIND]);
    let share = Share::of(&[6, 5], 5, can);
    for items in LENGTHS {
        let few: Vec<u32> =
            (0..items as u32).map(|item| item.wrapping_mul(2_654_435_761) >> 30).collect();
        check((&share, 0), [LastOther { nothing: 0 }, LastOther { nothing: 3 }], &few, 1);
        let narrow: Vec<u8> = few.iter().map(|&item| item as u8).collect();
        check((&share, 1), [LastOther { nothing: 1 }, LastOther { nothing: u32::MAX }], &narrow, 2);
        let long: Vec<u64> = Input::Full.array(1, items);
        let less: Vec<u64> = long.iter().map(|item| item % 1_000_000_007).collect();
        let both = [Modulo { modulus: 1_000_000_007 }, Modulo { modulus: u64::MAX - 58 }];
        check((&share, 2), both, &less, 5);
        let small: Vec<i32> = long.iter().map(|item| (item % 7) as i32).collect();
        let both =
            [Capped { most: 9, less: 2, rest: 0 }, Capped { most: 60_000, less: 255, rest: -1 }];
        check((&share, 3), both, &small, 3);
        let pairs: Vec<Quadratic> = Input::Full.array(2, items);
        let both = [Products { square: -1, unused: 0.0 }, Products { square: 5, unused: f32::NAN }];
        check((&share, 4), both, &pairs, Quadratic { real: 3, root: 2 });
        let floats: Vec<f32> = Input::Uniform.array(3, items);
        check((&share, 5), [SumUpTo { most: 9.5 }, SumUpTo { most: 1e4 }], &floats, 0.5);
    }
}

/// Beside functions with fields of their own, whose words come first.
#[test]
fn operators_stand_beside_functions() {
    for items in LENGTHS {
        let values: Vec<f32> = Input::Uniform.array(4, items);
        for (threshold, nothing) in [(0.25, 0), (0.75, 1), (0.75, 0)] {
            let (above, operator) = (Above { threshold }, LastOther { nothing });
            let made: Vec<u32> = values.iter().map(|&value| above.apply(value)).collect();
            let (reduction, scan) = (Reduce::new(operator), Scan::inclusive(operator));
            let total = expected_reduce(&made, &reduction);
            let expected = expected_scan::<_, u32, _>(&made, &scan);
            for_each_device(|device| {
                let of = &device.device;
                let resident = on(of, &values);
                let found = resident.view().map(above).reduce_with(of, &reduction);
                assert_eq!(found, Ok(total), "{device}");
                let mut output = vec![7u32; items];
                let done = resident.view().map(above).scan_into(of, &mut output, &scan);
                assert_eq!(done, Ok(()), "{device}");
                assert_same(&output, &expected, device);
            });
        }
        for most in [2.5, 3.5] {
            let problem = Scan::inclusive(SumUpTo { most });
            let above = Above { threshold: 3.0 };
            let prefixes: Vec<f32> = expected_scan(&values, &problem);
            let expected: Vec<u32> = prefixes.iter().map(|&value| above.apply(value)).collect();
            for_each_device(|device| {
                let resident = on(&device.device, &values);
                let mut output = vec![7u32; items];
                let done =
                    resident.view().scan_map_into(&device.device, &mut output, &problem, above);
                assert_eq!(done, Ok(()), "{device}");
                assert_same(&output, &expected, device);
            });
        }
    }
}

#[test]
fn segments_are_combined_by_operators_with_fields() {
    // Two operators, offsets and keys, three problems.
    let share = Share::of(&[2, 2, 3], 4, |_, _| true);
    for items in LENGTHS {
        let input: Vec<u32> =
            (0..items as u32).map(|item| item.wrapping_mul(2_654_435_761) >> 30).collect();
        let pairs: Vec<Quadratic> = Input::Full.array(2, items);
        let offsets: Vec<usize> = [0, items / 7, items / 7, items / 2]
            .into_iter()
            .chain((items / 2..items).step_by(37))
            .chain([items])
            .collect();
        for nothing in [0, 2] {
            segments_of((&share, 0), LastOther { nothing }, &input, &offsets, 1);
        }
        for square in [3, -2] {
            let operator = Products { square, unused: 1.0 };
            segments_of((&share, 1), operator, &pairs, &offsets, Quadratic { real: 3, root: 2 });
        }
    }
}

/// By offsets and by keys, on every device.
fn segments_of<T: Sample + Element<Acc = T> + Widen<T>>(
    (share, number): (&Share, usize),
    operator: impl Operator<T>,
    input: &[T],
    offsets: &[usize],
    init: T,
) {
    let short: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
    let begins = segmented::begins(input.len(), offsets);
    let next = |key: &mut u32, &begins: &bool| {
        *key += u32::from(begins);
        Some(*key)
    };
    let keys: Vec<u32> = begins.iter().scan(0, next).collect();
    let reduction = Reduce::new(operator).init(init);
    let by_offsets: Vec<T> = segmented::reduce_by_offsets(input, offsets, &reduction);
    let by_keys: Vec<T> = segmented::reduce(input, &begins, &reduction);
    let scans = [Scan::inclusive(operator), Scan::exclusive(operator).init(init).reverse()];
    let scans: [(_, Vec<T>); 2] =
        scans.map(|problem| (problem, segmented::scan(input, &begins, &problem)));
    for_each_device(|device| {
        let of = &device.device;
        let ways =
            [(Segments::by_offsets(&short), &by_offsets), (Segments::by_keys(&keys), &by_keys)];
        for (way, (segments, expected)) in ways.into_iter().enumerate() {
            let takes = |problem| share.has(device, &[number, way, problem]);
            if takes(0) {
                let found: Array<T> =
                    segmented_reduce_with(of, input, &segments, &reduction).expect("a reduction");
                assert_same(&found.into_vec().expect("it is there"), expected, device);
            }
            for (place, (problem, expected)) in scans.iter().enumerate() {
                if !takes(1 + place) {
                    continue;
                }
                let mut output = vec![init; input.len()];
                segmented_scan_into(of, input, &segments, &mut output, problem).expect("a scan");
                assert_same(&output, expected, device);
            }
        }
    });
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
