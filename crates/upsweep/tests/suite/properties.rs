//! Random problems against the oracle; a failure shrinks to the shortest input that shows it.

use core::fmt::Debug;

use proptest::prelude::*;
use upsweep::{
    BitXor, Bounds, Direction, Element, Max, Min, Operator, Product, Reduce, Scan, Sum, Widen, f16,
    reduce_with, scan_in_place_with, scan_into_with,
};
use upsweep_testing::{
    Affine, Compose, Last, Sample, TestDevice, expected_reduce, expected_scan, first_difference,
    for_each_device,
};

/// A device of any kind.
fn devices() -> impl Strategy<Value = TestDevice> {
    let mut devices = Vec::new();
    for_each_device(|device| devices.push(device.clone()));
    prop::sample::select(devices)
}

/// Items with any bits: short arrays that shrink item by item, or long ones from a pattern.
fn items<T: Sample>() -> impl Strategy<Value = Vec<T>> {
    let short = prop::collection::vec(any::<u64>(), 0..400);
    let long = (prop::collection::vec(any::<u64>(), 1..40), 0usize..150_000);
    let repeated = long.prop_map(|(pattern, length)| {
        (0..length).map(|i| pattern[i % pattern.len()].rotate_left(i as u32 / 7)).collect()
    });
    prop_oneof![3 => short, 1 => repeated]
        .prop_map(|words: Vec<u64>| words.into_iter().map(T::from_bits).collect())
}

/// Any variant of a scan.
fn scans<A: Sample, O: Operator<A> + Debug>(operator: O) -> impl Strategy<Value = Scan<A, O>> {
    let init = prop::option::of(any::<u64>());
    (any::<bool>(), any::<bool>(), init).prop_map(move |(exclusive, reverse, init)| {
        let mut scan = Scan::inclusive(operator);
        scan.bounds = if exclusive { Bounds::Exclusive } else { Bounds::Inclusive };
        scan.direction = if reverse { Direction::Reverse } else { Direction::Forward };
        scan.init = init.map(A::from_bits);
        scan
    })
}

/// Whether the device keeps what random bits of floats make: items that are too small for a normal
/// float.
fn keeps<A: Element, O: Operator<A>>(device: &TestDevice) -> bool {
    device.device.limits().subnormals || O::EXACT && A::EXACT
}

fn same<T: Sample>(found: &[T], expected: &[T]) -> Result<(), TestCaseError> {
    match first_difference(found, expected) {
        None => Ok(()),
        Some(at) => Err(TestCaseError::fail(format!(
            "item {at} of {} is {:?}, expected {:?}",
            expected.len(),
            found.get(at),
            expected.get(at)
        ))),
    }
}

fn reduces<T, A, O>(
    device: &TestDevice,
    items: &[T],
    problem: &Reduce<A, O>,
) -> Result<(), TestCaseError>
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    let found = reduce_with(&device.device, items, problem);
    let Some(found) = device.result(&[T::KIND, A::KIND], &problem.operator, found) else {
        return Ok(());
    };
    if !keeps::<A, O>(device) {
        return Ok(());
    }
    same(&[found], &[expected_reduce(items, problem)])
}

fn scanned<T, U, O>(
    device: &TestDevice,
    items: &[T],
    problem: &Scan<U::Acc, O>,
) -> Result<(), TestCaseError>
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let mut output = vec![U::from_bits(0x5555_5555_5555_5555); items.len()];
    let done = scan_into_with(&device.device, items, &mut output, problem);
    let done = device.result(&[T::KIND, U::Acc::KIND, U::KIND], &problem.operator, done);
    if done.is_none() || !keeps::<U::Acc, O>(device) {
        return Ok(());
    }
    same(&output, &expected_scan::<T, U, O>(items, problem))
}

fn in_place<T, O>(
    device: &TestDevice,
    items: &[T],
    problem: &Scan<T::Acc, O>,
) -> Result<(), TestCaseError>
where
    T: Sample + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let mut data = items.to_vec();
    let done = scan_in_place_with(&device.device, &mut data, problem);
    let done = device.result(&[T::KIND, T::Acc::KIND], &problem.operator, done);
    if done.is_none() || !keeps::<T::Acc, O>(device) {
        return Ok(());
    }
    same(&data, &expected_scan::<T, T, O>(items, problem))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reductions_of_integers(device in devices(), items in items::<u8>(), init: u64) {
        reduces(&device, &items, &Reduce::new(Sum).init(init))?;
        reduces(&device, &items, &Reduce::<u8, _>::new(Min))?;
    }

    #[test]
    fn reductions_of_wide_integers(device in devices(), items in items::<i64>()) {
        reduces(&device, &items, &Reduce::<i64, _>::new(Product))?;
        reduces(&device, &items, &Reduce::<i64, _>::new(Max))?;
    }

    #[test]
    fn reductions_of_floats(device in devices(), items in items::<f32>()) {
        reduces(&device, &items, &Reduce::<f32, _>::new(Sum))?;
        reduces(&device, &items, &Reduce::<f32, _>::new(Max))?;
    }

    #[test]
    fn reductions_of_short_floats(device in devices(), items in items::<f16>(), init: f32) {
        reduces(&device, &items, &Reduce::new(Sum).init(init))?;
    }

    #[test]
    fn reductions_that_do_not_commute(device in devices(), items in items::<Affine<u32>>()) {
        reduces(&device, &items, &Reduce::<Affine<u32>, _>::new(Compose))?;
    }

    #[test]
    fn scans_of_integers(device in devices(), items in items::<i16>(), scan in scans(Sum)) {
        scanned::<i16, i16, _>(&device, &items, &scan)?;
        in_place(&device, &items, &scan)?;
    }

    #[test]
    fn scans_of_other_operators(device in devices(), items in items::<u32>(), scan in scans(BitXor)) {
        scanned::<u32, u32, _>(&device, &items, &scan)?;
    }

    #[test]
    fn scans_that_widen(device in devices(), items in items::<u8>(), scan in scans::<u64, _>(Sum)) {
        scanned::<u8, u64, _>(&device, &items, &scan)?;
    }

    #[test]
    fn scans_of_floats(device in devices(), items in items::<f32>(), scan in scans(Sum)) {
        scanned::<f32, f32, _>(&device, &items, &scan)?;
        in_place(&device, &items, &scan)?;
    }

    #[test]
    fn scans_of_short_floats(device in devices(), items in items::<f16>(), scan in scans(Sum)) {
        scanned::<f16, f16, _>(&device, &items, &scan)?;
        in_place(&device, &items, &scan)?;
    }

    #[test]
    fn scans_of_extremes(device in devices(), items in items::<f64>(), scan in scans(Min)) {
        scanned::<f64, f64, _>(&device, &items, &scan)?;
    }

    #[test]
    fn scans_that_do_not_commute(device in devices(), items in items::<u32>(), scan in scans(Last)) {
        scanned::<u32, u32, _>(&device, &items, &scan)?;
        in_place(&device, &items, &scan)?;
    }
}
