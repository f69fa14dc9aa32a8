//! Reductions and scans of rows.

use core::panic::Location;

use upsweep::reference::{rows, specified};
use upsweep::{
    Array, Element, Max, Min, NdArray, NdViewMut, Operator, Product, Reduce, Scan, Sum, ViewMut,
    Widen, bf16, f16, reduce, scan_into_with,
};
use upsweep_core::{Layout, Rows};
use upsweep_testing::{
    Affine, Compose, Input, LargestStretch, LastOther, Recurrence, Recurs, Sample, Stretch,
    assert_same,
};

use super::{LONG, Lies, ONE_IN, SHORT, on, on_devices, placed, spread};

/// The reference combines a whole tile for each row.
const MOST_ROWS: usize = 2500;
const FEW_ROWS: usize = 40;

/// Reductions and scans of a type along all axes of all layouts: into arrays of the device's own, and into memory with gaps.
#[track_caller]
fn check<T, U, O>(operator: O, init: U::Acc, input: Input, layouts: &[Lies])
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let line = Location::caller().line() as usize;
    let reductions = [Reduce::new(operator), Reduce::new(operator).init(init)];
    let scans = [
        Scan::inclusive(operator),
        Scan::exclusive(operator).init(init),
        Scan::exclusive(operator).reverse(),
    ];
    let gap = U::from_acc(init);
    for (turn, lie) in layouts.iter().enumerate() {
        let memory: Vec<T> = input.array(turn as u64, lie.memory);
        let of_row = |row: &Vec<usize>| row.iter().map(|&at| memory[at]).collect::<Vec<T>>();
        for (number, axes) in lie.axes().into_iter().enumerate() {
            let (places, _) = lie.rows(&axes);
            if places.len() > MOST_ROWS {
                continue;
            }
            let all: Vec<Vec<T>> = places.iter().map(of_row).collect();
            let keepdims = number % 2 == 1;
            let shape = lie.reduced(&axes, keepdims);
            for (which, problem) in reductions.iter().enumerate() {
                let value = |row: &Vec<T>| U::from_acc(specified::reduce(row, problem));
                let wanted: Vec<U> = all.iter().map(value).collect();
                if all.len() <= FEW_ROWS {
                    check_rows(lie, &axes, &memory, &wanted, problem);
                }
                on_devices(&[T::KIND, U::KIND], |device| {
                    if !device.takes(line + turn + number + which, ONE_IN) {
                        return;
                    }
                    let context = || format!("{device}: {} of {lie:?} along {axes:?}", O::NAME);
                    let of = &device.device;
                    let resident = on(of, &memory);
                    let rows = if device.is_gpu() && which == 0 {
                        lie.view(&memory)
                    } else {
                        lie.view(&resident)
                    };
                    let rows = rows.axes(&axes).expect("axes");
                    let rows = if keepdims { rows.keepdims() } else { rows };
                    let mut output =
                        NdArray::new(on(of, &vec![gap; wanted.len()]), &shape).expect("a shape");
                    rows.reduce_into(of, &mut output, problem).expect("a reduction");
                    assert_same(&output.to_vec().expect("it is there"), &wanted, context());
                    let (strides, start, room, to) = spread(&shape);
                    let mut output = on(of, &vec![gap; room]);
                    let view = NdViewMut::strided(&mut output, &shape, &strides, start);
                    rows.reduce_into(of, view.expect("it fits"), problem).expect("a reduction");
                    let wanted = placed(room, gap, &to, &wanted);
                    assert_same(&output.to_vec().expect("it is there"), &wanted, context());
                });
            }
            for (which, problem) in scans.iter().enumerate() {
                let prefixes = all.iter().map(|row| specified::scan::<T, U, O>(row, problem));
                let prefixes: Vec<Vec<U>> = prefixes.collect();
                let wanted = in_c_order(lie, &axes, &prefixes);
                on_devices(&[T::KIND, U::KIND], |device| {
                    if !device.takes(line + turn + number + which, ONE_IN) {
                        return;
                    }
                    let context =
                        || format!("{device}: a scan with {} of {lie:?} along {axes:?}", O::NAME);
                    let of = &device.device;
                    let resident = on(of, &memory);
                    let rows = lie.view(&resident).axes(&axes).expect("axes");
                    let (strides, start, room, to) = spread(lie.shape);
                    let mut output = on(of, &vec![gap; room]);
                    let view = NdViewMut::strided(&mut output, lie.shape, &strides, start);
                    rows.scan_into(of, view.expect("it fits"), problem).expect("a scan");
                    let spread = placed(room, gap, &to, &wanted);
                    assert_same(&output.to_vec().expect("it is there"), &spread, context());
                    let mut output = vec![gap; wanted.len()];
                    let view = ViewMut::from(&mut output).shape(lie.shape).expect("a shape");
                    rows.scan_into(of, view, problem).expect("a scan");
                    assert_same(&output, &wanted, context());
                    // Row by row by the same device.
                    for (row, wanted) in all.iter().zip(&prefixes).take(2) {
                        let mut alone = vec![gap; row.len()];
                        scan_into_with(of, row, &mut alone, problem).expect("a scan");
                        assert_same(&alone, wanted, context());
                    }
                });
            }
        }
    }
}

/// What the reference makes of rows.
fn check_rows<T, U, O>(
    lie: &Lies,
    axes: &[isize],
    memory: &[T],
    wanted: &[U],
    problem: &Reduce<U::Acc, O>,
) where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let layout = Layout::strided(lie.shape, lie.strides, lie.start).expect("it fits");
    let along = upsweep_core::axes_in_order(axes, lie.shape.len()).expect("axes");
    let output = Layout::packed(&lie.reduced(axes, false)).expect("a shape");
    let mut found = vec![U::from_acc(problem.operator.identity()); wanted.len()];
    rows::reduce(memory, &Rows::reduced(&layout, &along, &output), &mut found, problem);
    assert_same(&found, wanted, format!("the reference: {lie:?} along {axes:?}"));
}

/// The items of all rows in the order of the array.
fn in_c_order<U: Copy>(lie: &Lies, axes: &[isize], rows: &[Vec<U>]) -> Vec<U> {
    // Where a packed array of the shape has the items of each row.
    let mut strides = vec![0; lie.shape.len()];
    let mut step = 1;
    for (stride, &len) in strides.iter_mut().zip(lie.shape).rev() {
        *stride = step;
        step *= len.max(1) as isize;
    }
    let packed = Lies { shape: lie.shape, strides: strides.leak(), start: 0, memory: 0 };
    let (places, all) = packed.rows(axes);
    let mut found: Vec<Option<U>> = vec![None; all.len()];
    for (places, row) in places.iter().zip(rows) {
        for (&place, &item) in places.iter().zip(row) {
            found[place] = Some(item);
        }
    }
    found.into_iter().map(|item| item.expect("each is in a row")).collect()
}

#[test]
fn integers_along_all_axes() {
    check::<u32, u32, _>(Sum, 7, Input::Full, &SHORT);
    check::<u8, u64, _>(Sum, 7, Input::Full, &SHORT);
    check::<i16, i16, _>(Max, -3, Input::Full, &SHORT);
    check::<u8, u8, _>(Sum, 7, Input::Full, &LONG);
    check::<i64, i64, _>(Product, 7, Input::Full, &SHORT[13..14]);
}

#[test]
fn floats_along_all_axes() {
    check::<f32, f32, _>(Sum, 0.5, Input::Mixed, &SHORT);
    check::<f64, f64, _>(Min, 0.5, Input::Uniform, &SHORT);
    check::<f16, f16, _>(Sum, 0.5, Input::Uniform, &SHORT);
    check::<bf16, f32, _>(Sum, 0.5, Input::Uniform, &SHORT[13..15]);
}

#[test]
fn long_rows_have_the_order_of_arrays() {
    check::<f32, f32, _>(Sum, 0.5, Input::Mixed, &LONG);
    check::<f16, f16, _>(Sum, 0.5, Input::Uniform, &LONG[..2]);
    check::<f64, f64, _>(Sum, 0.5, Input::Mixed, &LONG[1..2]);
}

#[test]
fn operators_that_do_not_commute_see_c_order() {
    check::<u32, u32, _>(LastOther { nothing: 3 }, 9, Input::Small, &SHORT);
    let init = Affine { scale: 3, shift: 5 };
    check::<Affine<u32>, Affine<u32>, _>(Compose, init, Input::Full, &SHORT);
}

#[test]
fn structures_along_all_axes() {
    let init = Recurrence::sample(Input::Uniform, 7);
    check::<Recurrence, Recurrence, _>(Recurs, init, Input::Uniform, &SHORT[5..10]);
    let init = Stretch::sample(Input::Small, 7);
    check::<Stretch, Stretch, _>(LargestStretch, init, Input::Small, &SHORT[5..10]);
}

#[test]
fn owned_results_have_a_shape() {
    let items: Vec<f32> = Input::Uniform.array(3, 24);
    on_devices(&[f32::KIND], |device| {
        let of = &device.device;
        let array = NdArray::new(on(of, &items), [2, 3, 4]).expect("a shape");
        let rows = array.view().axis(-2).expect("an axis");
        let sums = rows.reduce(of, Sum).expect("sums");
        assert_eq!(sums.shape(), [2, 4]);
        let row: Vec<f32> = [3, 7, 11].map(|at| items[at]).to_vec();
        let alone = reduce(of, &row, Sum).expect("a sum");
        assert_same(&sums.to_vec().expect("sums")[3..4], &[alone], device);
        assert_eq!(rows.clone().keepdims().reduce(of, Sum).expect("sums").shape(), [2, 1, 4]);
        let prefixes = rows.inclusive_scan(of, Max).expect("prefixes");
        assert_eq!(prefixes.shape(), [2, 3, 4]);
        let all = array.view().axes(&[]).expect("no axis").reduce(of, Sum).expect("items");
        assert_same(&all.to_vec().expect("items"), &items, device);
        let exclusive = array.view().axes(&[0, 1, 2]).expect("axes").exclusive_scan(of, Sum);
        let alone = upsweep::exclusive_scan(of, &items, Sum).and_then(Array::into_vec);
        let exclusive = exclusive.and_then(|prefixes| prefixes.to_vec()).expect("prefixes");
        assert_same(&exclusive, &alone.expect("prefixes"), device);
    });
}
