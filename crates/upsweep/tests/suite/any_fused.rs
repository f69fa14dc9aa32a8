//! Functions and operators that are known when a program runs: the same bits on every device, and of arrays that were made before.

use upsweep::any::{
    self, AnyArray, AnyFused, AnyNdArray, AnyOperator, AnyView, Binary, Definition, Op, Reduce,
    Scalar, Scan, Term, Unary, ValueType,
};
use upsweep::{Array, Bounds, Device, Direction, Dtype, Error, Number, f16};
use upsweep_testing::{Input, Sample, Selection, TestDevice, assert_same, for_each_device_of};

/// From nothing to several windows of several workgroups, whole and not.
const LENGTHS: [usize; 5] = [0, 1, 129, 2049, 140_003];

const WAYS: [(Bounds, Direction); 4] = [
    (Bounds::Inclusive, Direction::Forward),
    (Bounds::Exclusive, Direction::Forward),
    (Bounds::Inclusive, Direction::Reverse),
    (Bounds::Exclusive, Direction::Reverse),
];

/// The number 3 of a type of numbers, by its bits.
fn three(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::F32 => u64::from(3f32.to_bits()),
        Dtype::F64 => 3f64.to_bits(),
        _ => 3,
    }
}

/// `if x > y { x * 3 - y } else { y }`, and whether `x` and `y` are not the same.
fn steps(dtype: Dtype) -> Result<(Definition, Term, Term), Error> {
    let mut made = Definition::default();
    let (x, y) = (made.argument(dtype)?, made.argument(dtype)?);
    let three = made.constant(dtype.into(), three(dtype));
    let is_more = made.binary(Binary::Greater, x, y)?;
    let product = made.binary(Binary::Mul, x, three)?;
    let difference = made.binary(Binary::Sub, product, y)?;
    let item = made.select(is_more, difference, y)?;
    let condition = made.binary(Binary::Unequal, x, y)?;
    Ok((made, item, condition))
}

/// An array of a device's.
fn there<T: Number>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

fn bytes(array: AnyArray) -> Vec<u8> {
    array.to_bytes().expect("bytes")
}

/// What functions make of two arrays, in calls of all kinds.
fn check_fused<T: Sample + Number>(device: &TestDevice, turn: usize) {
    if !device.supports(&[T::KIND]) {
        return;
    }
    let (cpu, of) = (Device::cpu(), &device.device);
    let (definition, item, condition) = steps(T::DTYPE).expect("a definition");
    for (number, len) in LENGTHS.into_iter().enumerate() {
        if !device.takes(turn + number, 2) {
            continue;
        }
        let context = format!("{len} {} on {device}", T::KIND);
        let (x, y): (Vec<T>, Vec<T>) = (Input::Small.array(3, len), Input::Small.array(4, len));
        let own = (there(of, &x), there(of, &y));
        let made = |x: AnyView<'_>, y: AnyView<'_>| {
            AnyFused::new([x, y], definition.clone(), item)
                .map(|made| bytes(made.to_array(&cpu).expect("items")))
        };
        let items = made((&x).into(), (&y).into()).expect("two arrays");
        let mut words = vec![0u64; items.len().div_ceil(8)];
        let room = &mut bytemuck::cast_slice_mut(&mut words)[..items.len()];
        room.copy_from_slice(&items);
        let items = AnyView::from_bytes(T::DTYPE, room).expect("items");
        let flags: Vec<u8> = x.iter().zip(&y).map(|(x, y)| u8::from(x != y)).collect();
        let arrays = [AnyView::from(&own.0), AnyView::from(&own.1)];
        let fused = AnyFused::new(arrays, definition.clone(), item).expect("two arrays");
        assert_eq!(bytes(fused.to_array(of).expect("items")), items.bytes().unwrap(), "{context}");
        for op in [Op::Sum, Op::Max, Op::Mean, Op::ArgMin] {
            let result = Reduce::new(op).result(T::DTYPE);
            if len == 0 && op == Op::Mean || !device.supports(&[result.into()]) {
                continue;
            }
            let problem = Reduce::new(op);
            let wanted = any::reduce(&cpu, items, &problem).expect("a value");
            assert_eq!(fused.reduce(of, &problem).expect("a value"), wanted, "{op} of {context}");
        }
        let out = any::scan_output(Op::Sum, T::DTYPE);
        if device.supports(&[out.into()]) {
            let problem = Scan::inclusive(Op::Sum).reverse();
            let wanted = bytes(any::scan(&cpu, items, out, &problem).expect("prefixes"));
            let mut output =
                AnyArray::filled(of, len, Scalar::from_bytes(out, &[0; 8][..out.size()]).unwrap())
                    .expect("memory");
            fused.scan_into(of, output.view_mut(), &problem).expect("prefixes");
            assert_eq!(bytes(output), wanted, "{context}");
        }
        let selected = any::select(&cpu, items, &flags).expect("a selection");
        let found = fused.select(of, condition).expect("a selection");
        let (selected, found) = (selected.into_array(), found.into_array());
        assert_eq!(bytes(found.expect("items")), bytes(selected.expect("items")), "{context}");
        let places = any::positions(&cpu, &flags, Dtype::U32).expect("positions");
        let found = fused.positions(of, condition, Dtype::U32).expect("positions");
        let (places, found) = (places.into_array(), found.into_array());
        assert_eq!(bytes(found.expect("items")), bytes(places.expect("items")), "{context}");
        let count = flags.iter().map(|&flag| u64::from(flag)).sum();
        assert_eq!(fused.count(of, condition), Ok(count), "{context}");
    }
}

#[test]
fn made_items_have_the_bits_of_arrays() {
    for_each_device_of(Selection::Representative, |device| {
        check_fused::<u8>(device, 0);
        check_fused::<i32>(device, 1);
        check_fused::<f32>(device, 2);
        check_fused::<u64>(device, 3);
        check_fused::<f64>(device, 4);
    });
}

/// The sum of two, as an operator without a name.
fn sum(dtype: Dtype, identity: Scalar) -> AnyOperator {
    let mut made = Definition::default();
    let (left, right) = (made.argument(dtype).unwrap(), made.argument(dtype).unwrap());
    let result = made.binary(Binary::Add, left, right).expect("a sum");
    AnyOperator::new(made, result, identity, true).expect("an operator")
}

/// The later one of two, unless that is 0: it does not commute.
fn last_set(dtype: Dtype) -> AnyOperator {
    let mut made = Definition::default();
    let (left, right) = (made.argument(dtype).unwrap(), made.argument(dtype).unwrap());
    let zero = made.constant(dtype.into(), 0);
    let is_set = made.binary(Binary::Unequal, right, zero).expect("a comparison");
    let is_zero = made.unary(Unary::Not, is_set).expect("its opposite");
    let result = made.select(is_zero, left, right).expect("a choice");
    let zero = Scalar::from_bytes(dtype, &[0; 8][..dtype.size()]).expect("zero");
    AnyOperator::new(made, result, zero, false).expect("an operator")
}

#[test]
fn operators_have_the_bits_of_built_in_ones() {
    for_each_device_of(Selection::Representative, |device| {
        let (cpu, of) = (Device::cpu(), &device.device);
        let sum = sum(Dtype::F32, Scalar::new(-0.0f32));
        let init = Scalar::new(0.5f32);
        for (turn, len) in LENGTHS.into_iter().enumerate() {
            if !device.takes(turn, 2) {
                continue;
            }
            let context = format!("{len} items on {device}");
            let x: Vec<f32> = Input::Full.array(5, len);
            let own = there(of, &x);
            let items = AnyFused::of((&own).into()).expect("floats");
            let wanted = any::reduce(&cpu, &x, &Reduce::new(Op::Sum).init(init));
            let found = items.reduce_by(of, &sum, Some(init)).map(Some);
            assert_same(
                &[found.unwrap().unwrap().to_f64()],
                &[wanted.unwrap().unwrap().to_f64()],
                &context,
            );
            for (bounds, direction) in WAYS {
                let problem = Scan { op: Op::Sum, bounds, direction, init: Some(init) };
                let wanted = any::scan(&cpu, &x, Dtype::F32, &problem).expect("prefixes");
                let mut output = there(of, &vec![7f32; len]);
                let way = (bounds, direction);
                items.scan_by_into(of, &mut output, &sum, way, Some(init)).expect("prefixes");
                let wanted = wanted.into_typed::<f32>().and_then(Array::into_vec).expect("floats");
                assert_same(&output.into_vec().expect("floats"), &wanted, &context);
            }
        }
    });
}

/// The last item that is not 0, in front of each and of all.
fn last_of<T: Copy + PartialEq + Default>(items: &[T]) -> Vec<T> {
    let mut last = T::default();
    let mut step = |item: &T| {
        last = if *item == T::default() { last } else { *item };
        last
    };
    items.iter().map(&mut step).collect()
}

/// Whole arrays, and rows along both axes.
fn check_order<T: Sample + Number + Default>(device: &TestDevice, turn: usize) {
    let of = &device.device;
    if !device.supports(&[T::KIND]) || !device.takes(turn, 2) {
        return;
    }
    let operator = last_set(T::DTYPE);
    let way = (Bounds::Inclusive, Direction::Forward);
    let (rows, columns) = (37, 211);
    let mut all: Vec<T> = Input::Small.array(6, rows * columns);
    all.iter_mut().step_by(3).for_each(|item| *item = T::default());
    let own = there(of, &all);
    let context = format!("{} on {device}", T::KIND);
    let items = AnyFused::of((&own).into()).expect("numbers");
    let wanted = last_of(&all);
    let found = items.reduce_by(of, &operator, None).expect("a value");
    assert_eq!(
        found.get::<T>().map(|found| found == wanted[wanted.len() - 1]),
        Some(true),
        "{context}"
    );
    let mut output = there(of, &vec![T::default(); all.len()]);
    items.scan_by_into(of, &mut output, &operator, way, None).expect("prefixes");
    assert_same(&output.into_vec().expect("numbers"), &wanted, &context);
    let transposed: Vec<T> =
        (0..all.len()).map(|item| all[item % rows * columns + item / rows]).collect();
    let table = AnyView::from(&own).shape([rows, columns]).expect("a table");
    for (axis, of_axis, length) in [(1, &all, columns), (0, &transposed, rows)] {
        let wanted: Vec<T> = of_axis.chunks(length).flat_map(last_of).collect();
        let along = table.axis(axis).expect("an axis");
        let output =
            AnyArray::from_view(of, &vec![T::default(); all.len() / length]).expect("memory");
        let mut output = AnyNdArray::new(output, along.reduced_shape()).expect("its shape");
        any::reduce_axes_by(of, &along, &mut output, &operator, None).expect("values");
        let last: Vec<T> = wanted.chunks(length).map(|row| row[length - 1]).collect();
        assert_same(&output.into_typed::<T>().unwrap().to_vec().unwrap(), &last, &context);
        let output = AnyArray::from_view(of, &vec![T::default(); all.len()]).expect("memory");
        let mut output = AnyNdArray::new(output, [rows, columns]).expect("its shape");
        any::scan_axes_by(of, &along, &mut output, &operator, way, None).expect("prefixes");
        let found = output.into_typed::<T>().unwrap().to_vec().unwrap();
        let found: Vec<T> = match axis {
            1 => found,
            _ => (0..all.len()).map(|item| found[item % rows * columns + item / rows]).collect(),
        };
        assert_same(&found, &wanted, &context);
    }
}

#[test]
fn operators_that_do_not_commute_keep_the_order() {
    for_each_device_of(Selection::Representative, |device| {
        check_order::<u8>(device, 0);
        check_order::<i32>(device, 1);
        check_order::<i64>(device, 2);
    });
}

#[test]
fn what_makes_no_sense_is_refused() -> Result<(), Error> {
    let cpu = Device::cpu();
    let (definition, item, condition) = steps(Dtype::I32)?;
    let x = [1i32, 2, 3];
    let of = |arrays: Vec<AnyView<'static>>| AnyFused::new(arrays, definition.clone(), item).err();
    let (three, two): (&'static [i32], &'static [i32]) = (&[1, 2, 3], &[1, 5]);
    assert!(matches!(of(vec![three.into()]), Some(Error::Buffer { .. })));
    assert!(matches!(of(vec![three.into(), two.into()]), Some(Error::Buffer { .. })));
    let floats: &'static [f32] = &[0.5; 3];
    assert!(matches!(of(vec![three.into(), floats.into()]), Some(Error::WrongDtype { .. })));
    let arrays = [AnyView::from(&x), AnyView::from(&x)];
    assert!(matches!(
        AnyFused::new(arrays, definition.clone(), condition),
        Err(Error::Buffer { .. })
    ));
    let fused = AnyFused::new(arrays, definition, item)?;
    assert!(matches!(fused.select(&cpu, item), Err(Error::Buffer { .. })));
    let mut output = [0i32; 2];
    let short = fused.evaluate_into(&cpu, &mut output);
    assert_eq!(short, Err(Error::LengthMismatch { input: 3, output: 2 }));
    assert!(matches!(fused.evaluate_into(&cpu, &mut [0u8; 3]), Err(Error::WrongDtype { .. })));
    let halves: [f16; 1] = [f16::ONE];
    assert!(matches!(AnyFused::of((&halves).into()), Err(Error::Undefined { .. })));
    let sum = sum(Dtype::F32, Scalar::new(0.0f32));
    assert!(matches!(fused.reduce_by(&cpu, &sum, None), Err(Error::WrongDtype { .. })));
    assert!(matches!(
        sum.combine(Scalar::new(1u8), Scalar::new(1.0f32)),
        Err(Error::WrongDtype { .. })
    ));
    let mut bad = Definition::default();
    let only = bad.argument(Dtype::U8)?;
    assert!(matches!(
        AnyOperator::new(bad, only, Scalar::new(0u8), true),
        Err(Error::Buffer { .. })
    ));
    assert_eq!(ValueType::Bool.to_string(), "bool");
    Ok(())
}
