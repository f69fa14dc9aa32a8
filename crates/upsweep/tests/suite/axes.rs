//! Calls along axes: each row has the bits that the same call gives for it alone, wherever it lies, on every device.

use core::panic::Location;

use upsweep::reference::{rows, specified};
use upsweep::{
    Array, Device, Element, Error, Fused, Kind, Max, Mean, Min, NdArray, NdFused, NdView,
    NdViewMut, Number, Operator, Product, Reduce, Scan, Sum, View, ViewMut, Widen, argmax, argmin,
    bf16, counting, f16, mean, reduce, scan_into_with, transpose,
};
use upsweep_core::{Layout, Rows};
use upsweep_testing::{
    Affine, Compose, Input, LargestStretch, LastOther, Recurrence, Recurs, Sample, Selection,
    Stretch, TestDevice, assert_same, for_each_device_of, product,
};

/// How an array lies in memory.
#[derive(Debug)]
struct Lies {
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    /// Items of memory.
    memory: usize,
}

const fn lies(
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    memory: usize,
) -> Lies {
    Lies { shape, strides, start, memory }
}

/// Of every rank, in C order and in Fortran order, from the end, with gaps, broadcast, and without items.
const SHORT: [Lies; 22] = [
    lies(&[], &[], 2, 3),
    lies(&[0], &[1], 0, 0),
    lies(&[7], &[1], 0, 7),
    lies(&[1000], &[-3], 2999, 3000),
    lies(&[5], &[0], 1, 2),
    lies(&[3, 5], &[5, 1], 0, 15),
    lies(&[3, 5], &[1, 3], 0, 15),
    lies(&[3, 5], &[-5, -1], 14, 15),
    lies(&[3, 5], &[13, 2], 4, 64),
    lies(&[4, 6], &[0, 1], 0, 6),
    lies(&[4, 6], &[1, 0], 0, 4),
    lies(&[0, 4], &[4, 1], 0, 0),
    lies(&[4, 0], &[1, 1], 0, 0),
    lies(&[33, 65], &[65, 1], 0, 2145),
    lies(&[2, 3, 4], &[12, 4, 1], 0, 24),
    lies(&[4, 2, 3], &[1, 12, 4], 0, 24),
    lies(&[2, 1, 5], &[5, 77, 1], 0, 10),
    lies(&[3, 0, 2], &[2, 2, 1], 0, 0),
    lies(&[5, 4, 9], &[-36, 9, -1], 4 * 36 + 8, 180),
    lies(&[2, 3, 2, 3], &[18, 6, 3, 1], 0, 36),
    lies(&[2, 3, 2, 3], &[1, 4, -2, 12], 2, 36),
    lies(&[3, 2, 2, 5], &[40, 20, 0, 3], 1, 120),
];

/// Longer than a tile of the summation order, along each axis.
const LONG: [Lies; 5] = [
    lies(&[3, 20_000], &[20_000, 1], 0, 60_000),
    lies(&[20_000, 3], &[3, 1], 0, 60_000),
    lies(&[2, 17_000], &[-1, 2], 1, 34_000),
    lies(&[700, 50], &[50, 1], 0, 35_000),
    lies(&[3, 90, 130], &[90 * 130, 130, 1], 0, 3 * 90 * 130),
];

/// Of so many calls a GPU takes one, others every day: nearly each has a kernel of its own.
const ONE_IN: usize = 64;

/// The same of items that are made.
const MADE_ONE_IN: usize = 48;

/// The reference combines a whole tile for each row.
const MOST_ROWS: usize = 2500;
const FEW_ROWS: usize = 40;

impl Lies {
    fn view<'a, T>(&self, memory: impl Into<View<'a, T>>) -> NdView<'a, T> {
        NdView::strided(memory, self.shape, self.strides, self.start).expect("it fits")
    }

    /// Every choice of axes, with one of them named from the end.
    fn axes(&self) -> Vec<Vec<isize>> {
        let rank = self.shape.len();
        let chosen = |mask: usize| {
            let axes = (0..rank).filter(|axis| mask >> axis & 1 == 1).map(|axis| axis as isize);
            let mut axes: Vec<isize> = axes.rev().collect();
            if let Some(first) = axes.first_mut() {
                *first -= rank as isize;
            }
            axes
        };
        (0..1 << rank).map(chosen).collect()
    }

    /// The numbers of the items of each row in memory, found place by place; and those of all items in C order.
    fn rows(&self, axes: &[isize]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let rank = self.shape.len();
        let is_along = |axis: usize| {
            axes.contains(&(axis as isize)) || axes.contains(&(axis as isize - rank as isize))
        };
        let across = (0..rank).filter(|&axis| !is_along(axis));
        let count: usize = across.map(|axis| self.shape[axis]).product();
        let (mut rows, mut all) = (vec![Vec::new(); count], Vec::new());
        for number in 0..self.shape.iter().product() {
            let (mut rest, mut at, mut row, mut step) = (number, self.start as isize, 0, 1);
            for axis in (0..rank).rev() {
                let place = rest % self.shape[axis];
                rest /= self.shape[axis];
                at += place as isize * self.strides[axis];
                if !is_along(axis) {
                    row += place * step;
                    step *= self.shape[axis];
                }
            }
            rows[row].push(at as usize);
            all.push(at as usize);
        }
        (rows, all)
    }

    /// The shape of what is found of rows.
    fn reduced(&self, axes: &[isize], keepdims: bool) -> Vec<usize> {
        let rank = self.shape.len() as isize;
        let mut shape = Vec::new();
        for (axis, &len) in (0..).zip(self.shape) {
            match axes.contains(&axis) || axes.contains(&(axis - rank)) {
                true if keepdims => shape.push(1),
                true => {}
                false => shape.push(len),
            }
        }
        shape
    }
}

/// A layout with a gap behind each item and an axis from the end, how much memory it takes, and the numbers of its items in C order.
fn spread(shape: &[usize]) -> (Vec<isize>, usize, usize, Vec<usize>) {
    let mut strides: Vec<isize> = shape.iter().map(|_| 0).collect();
    let mut step = 2;
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= len.max(1) as isize;
    }
    let mut start = 1;
    if let (Some(stride), Some(&len)) = (strides.first_mut(), shape.first()) {
        start += stride.unsigned_abs() * len.saturating_sub(1);
        *stride = -*stride;
    }
    let mut places = Vec::new();
    for number in 0..shape.iter().product() {
        let (mut rest, mut at) = (number, start as isize);
        for (stride, &len) in strides.iter().zip(shape).rev() {
            at += (rest % len) as isize * stride;
            rest /= len;
        }
        places.push(at as usize);
    }
    (strides, start, step as usize + 1, places)
}

/// Calls `body` on the devices that compute with these kinds.
fn on_devices(kinds: &[Kind], mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if device.supports(kinds) {
            body(device);
        }
    });
}

/// The same in the device's memory.
fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// Items of memory with these in their places, and `gap` everywhere else.
fn placed<T: Copy>(memory: usize, gap: T, places: &[usize], items: &[T]) -> Vec<T> {
    let mut found = vec![gap; memory];
    for (&place, &item) in places.iter().zip(items) {
        found[place] = item;
    }
    found
}

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

/// Positions and means of rows, each as of the row alone on the same device.
#[track_caller]
fn check_positions<T>(input: Input, layouts: &[Lies])
where
    T: Sample + Mean + Widen<<T as Mean>::Output>,
    T::Output: Sample,
    Sum: Operator<T::Output>,
{
    let line = Location::caller().line() as usize;
    for (turn, lie) in layouts.iter().enumerate() {
        let memory: Vec<T> = input.array(turn as u64, lie.memory);
        for (number, axes) in lie.axes().into_iter().enumerate() {
            let (places, _) = lie.rows(&axes);
            let of_row = |row: &Vec<usize>| row.iter().map(|&at| memory[at]).collect::<Vec<T>>();
            let all: Vec<Vec<T>> = places.iter().map(of_row).collect();
            let shape = lie.reduced(&axes, true);
            on_devices(&[T::KIND, <T::Output as Element>::KIND, u64::KIND], |device| {
                if !device.takes(line + turn + number, ONE_IN / 2) {
                    return;
                }
                let of = &device.device;
                let context = || format!("{device}: {lie:?} along {axes:?}");
                let resident = on(of, &memory);
                let rows = lie.view(&resident).axes(&axes).expect("axes").keepdims();
                let cpu = Device::cpu();
                let alone = |find: fn(&Device, &[T]) -> Option<u64>| -> Vec<u64> {
                    all.iter().map(|row| find(&cpu, row).unwrap_or(u64::MAX)).collect()
                };
                let smallest = alone(|device, row| argmin(device, row).expect("a search"));
                let largest = alone(|device, row| argmax(device, row).expect("a search"));
                let found = rows.argmin(of).expect("a search");
                assert_eq!(found.shape(), shape);
                assert_same(&found.to_vec().expect("positions"), &smallest, context());
                let found = rows.argmax(of).and_then(|found| found.to_vec());
                assert_same(&found.expect("positions"), &largest, context());
                let (strides, start, room, to) = spread(&shape);
                let mut output = on(of, &vec![5u64; room]);
                let view = NdViewMut::strided(&mut output, &shape, &strides, start);
                rows.argmin_into(of, view.expect("it fits")).expect("a search");
                let spread = placed(room, 5, &to, &smallest);
                assert_same(&output.to_vec().expect("positions"), &spread, context());
                if !device.keeps::<T>(input) {
                    return;
                }
                let means: Vec<T::Output> =
                    all.iter().map(|row| mean(&cpu, row).expect("a mean")).collect();
                let found = rows.mean(of).expect("means");
                assert_eq!(found.shape(), shape);
                assert_same(&found.to_vec().expect("means"), &means, context());
            });
        }
    }
}

#[test]
fn positions_and_means_of_rows() {
    check_positions::<u8>(Input::Full, &SHORT);
    check_positions::<f32>(Input::Special, &SHORT);
    check_positions::<f16>(Input::Uniform, &SHORT[5..9]);
    check_positions::<i32>(Input::Small, &LONG[..2]);
    check_positions::<f64>(Input::Zeros, &SHORT[13..16]);
}

/// Copies, and transposition of all axes.
fn check_copies<T: Sample>(gap: T, input: Input) {
    for (turn, lie) in SHORT.iter().chain(&LONG[..2]).enumerate() {
        let memory: Vec<T> = input.array(turn as u64, lie.memory);
        let (_, all) = lie.rows(&[]);
        let wanted: Vec<T> = all.iter().map(|&at| memory[at]).collect();
        let turned = Lies {
            shape: lie.shape.iter().rev().copied().collect::<Vec<_>>().leak(),
            strides: lie.strides.iter().rev().copied().collect::<Vec<_>>().leak(),
            ..*lie
        };
        let transposed: Vec<T> = turned.rows(&[]).1.iter().map(|&at| memory[at]).collect();
        on_devices(&[T::KIND], |device| {
            if !device.takes(turn, ONE_IN / 8) {
                return;
            }
            let of = &device.device;
            let context = || format!("{device}: a copy of {lie:?}");
            let resident = on(of, &memory);
            let packed = lie.view(&resident).to_packed(of).expect("a copy");
            assert_eq!(packed.shape(), lie.shape);
            assert_same(&packed.to_vec().expect("items"), &wanted, context());
            let found = transpose(of, lie.view(&resident)).expect("a transposition");
            assert_eq!(found.shape(), turned.shape);
            assert_same(&found.to_vec().expect("items"), &transposed, context());
            // Back again, into its place.
            let mut output = vec![gap; wanted.len()];
            let view = ViewMut::from(&mut output).shape(lie.shape).expect("a shape");
            found.view().copy_into(of, view.transposed()).expect("a copy");
            assert_same(&output, &wanted, context());
            let (strides, start, room, to) = spread(lie.shape);
            let mut output = on(of, &vec![gap; room]);
            let view = NdViewMut::strided(&mut output, lie.shape, &strides, start);
            lie.view(&memory).copy_into(of, view.expect("it fits")).expect("a copy");
            let spread = placed(room, gap, &to, &wanted);
            assert_same(&output.to_vec().expect("items"), &spread, context());
        });
    }
}

#[test]
fn copies_of_all_sizes() {
    check_copies::<u8>(7, Input::Full);
    check_copies::<f16>(f16::ONE, Input::Uniform);
    check_copies::<f32>(7.0, Input::Mixed);
    check_copies::<i64>(7, Input::Full);
    check_copies::<Recurrence>(Recurrence::sample(Input::Uniform, 7), Input::Uniform);
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

/// The words of an error.
#[track_caller]
/// Calls on rows of items that are made: what the same calls give of an array that was made before.
fn check_made<'a, T, O, E>(
    device: &TestDevice,
    (lie, turn): (&Lies, usize),
    items: E,
    made: &[T],
    operator: O,
) where
    T: Sample + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
    E: Fused<'a, Item = T>,
{
    let cpu = &Device::cpu();
    let of = &device.device;
    let fused = NdFused::strided(items, lie.shape, lie.strides, lie.start).expect("it fits");
    let view = lie.view(made);
    assert_eq!((fused.shape(), fused.strides()), (view.shape(), view.strides()));
    for (number, axes) in lie.axes().iter().enumerate() {
        if !device.takes(turn + number, MADE_ONE_IN) {
            continue;
        }
        let context = format!("{device}: {lie:?} along {axes:?}, made, {}", O::NAME);
        let (own, wanted) = (fused.axes(axes).expect("axes"), view.axes(axes).expect("axes"));
        let (own, wanted) = match number % 2 {
            0 => (own, wanted),
            _ => (own.keepdims(), wanted.keepdims()),
        };
        let (found, expected) = (own.reduce(of, operator), wanted.reduce(cpu, operator));
        let (found, expected) = (found.expect("values"), expected.expect("values"));
        assert_eq!(found.shape(), expected.shape(), "{context}");
        let [found, expected] = [found, expected].map(|of| of.to_vec().expect("values"));
        assert_same(&found, &expected, &context);
        let (found, expected) = match number % 3 {
            0 => (own.exclusive_scan(of, operator), wanted.exclusive_scan(cpu, operator)),
            _ => (own.inclusive_scan(of, operator), wanted.inclusive_scan(cpu, operator)),
        };
        let [found, expected] =
            [found, expected].map(|of| of.and_then(|of| of.to_vec()).expect("prefixes"));
        assert_same(&found, &expected, &context);
        // From the end, with gaps in the output.
        let (strides, start, memory, places) = spread(lie.shape);
        let gap = T::sample(Input::Full, 1);
        let mut output = on(of, &vec![gap; memory]);
        let problem = Scan::inclusive(operator).reverse();
        let to = NdViewMut::strided(&mut output, lie.shape, &strides, start).expect("it fits");
        own.scan_into(of, to, &problem).expect("prefixes");
        let mut expected =
            NdArray::new(on(cpu, &vec![gap; places.len()]), lie.shape).expect("room");
        wanted.scan_into(cpu, &mut expected, &problem).expect("prefixes");
        let (found, expected) =
            (output.to_vec().expect("prefixes"), expected.to_vec().expect("prefixes"));
        let found: Vec<T> = places.iter().map(|&place| found[place]).collect();
        assert_same(&found, &expected, &context);
    }
}

#[test]
fn items_are_made_along_all_axes() {
    for (turn, lie) in SHORT.iter().chain(&LONG[..3]).enumerate() {
        let left: Vec<f32> = Input::Uniform.array(31, lie.memory);
        let right: Vec<f32> = Input::Uniform.array(32, lie.memory);
        let products: Vec<f32> = left.iter().zip(&right).map(|(own, other)| own * other).collect();
        let numbers: Vec<u32> = (7..).take(lie.memory).collect();
        let turns: Vec<Recurrence> = Input::NearOne.array(33, lie.memory);
        let turned: Vec<Recurrence> = turns.iter().rev().copied().collect();
        on_devices(&[], |device| {
            let of = &device.device;
            let (left, right) = (on(of, &left), on(of, &right));
            let made = View::from(&left).zip(View::from(&right)).map(product {});
            check_made(device, (lie, turn), made, &products, Sum);
            let counted = counting(7u32..7 + lie.memory as u32);
            check_made(device, (lie, turn + 3), counted, &numbers, Sum);
            let turns = on(of, &turns);
            check_made(device, (lie, turn + 5), View::from(&turns).reversed(), &turned, Recurs);
        });
    }
}

#[test]
fn shapes_of_made_items_are_checked() {
    let items = [1u32, 2, 3, 4, 5, 6];
    let odd = View::from(&items).strided(2);
    assert!(words(odd.shape([2, 2])).contains("[2, 2] has 4 items, the view has 3"));
    assert!(NdFused::strided(odd, [2], &[2], 2).is_err());
    let rows = odd.shape([1, 3]).expect("it fits");
    assert!(rows.axis(2).is_err());
    assert_eq!(rows.transposed().shape(), [3, 1]);
    let cpu = &Device::cpu();
    assert_eq!(rows.axis(1).and_then(|rows| rows.reduce(cpu, Sum)?.to_vec()), Ok(vec![9]));
    let none = View::from(&items[..0]).reversed().shape([2, 0]).expect("it fits");
    assert_eq!(none.axis(1).and_then(|rows| rows.reduce(cpu, Sum)?.to_vec()), Ok(vec![0, 0]));
}

fn words<R: core::fmt::Debug>(result: Result<R, Error>) -> String {
    match result {
        Err(Error::Shape { reason }) => reason,
        other => panic!("{other:?} is no mistake about a shape"),
    }
}

#[test]
fn mistakes_are_errors_with_both_shapes() {
    let items = [1u32; 6];
    let view = View::from(&items);
    assert_eq!(words(view.shape([2, 2])), "shape [2, 2] has 4 items, the view has 6");
    assert!(words(view.shape([usize::MAX, 2])).contains("more items than are counted"));
    let table = view.shape([2, 3]).expect("six items");
    assert_eq!(words(table.axis(2)), "axis 2 is none of 2 dimensions");
    assert_eq!(words(table.axis(-3)), "axis -3 is none of 2 dimensions");
    assert_eq!(words(table.axes(&[0, -2])), "axis 0 is named twice");
    assert_eq!(words(table.permuted(&[0, 0])), "[0, 0] does not name each of 2 dimensions once");
    assert!(words(table.permuted(&[0])).contains("each of 2 dimensions"));
    assert!(words(NdView::strided(view, [2, 3], &[3, 1], 1)).contains("to 6; there are 6"));
    assert!(words(NdView::strided(view, [2, 3], &[-3, 1], 0)).contains("from item -3"));
    let mut output = [9u32; 6];
    let overlapping = NdViewMut::strided(&mut output, [2, 3], &[1, 1], 0);
    assert!(words(overlapping).contains("overlap"));
    let cpu = Device::cpu();
    let rows = table.axis(1).expect("an axis");
    let to = ViewMut::from(&mut output).shape([3, 2]).expect("six items");
    assert_eq!(
        words(rows.scan_into(&cpu, to, &Scan::inclusive(Sum))),
        "a scan of shape [2, 3] along axes [1] has shape [2, 3], the output has [3, 2]"
    );
    let to = ViewMut::from(&mut output).shape([6]).expect("six items");
    assert_eq!(
        words(rows.clone().keepdims().reduce_into(&cpu, to, &Reduce::new(Sum))),
        "a reduction of shape [2, 3] along axes [1] has shape [2, 1], the output has [6]"
    );
    let to = ViewMut::from(&mut output).shape([3, 2]).expect("six items");
    assert_eq!(
        words(table.copy_into(&cpu, to)),
        "items of shape [2, 3] do not fit an output of shape [3, 2]"
    );
    assert_eq!(output, [9; 6]);
}

#[test]
fn lengths_that_only_a_gpu_knows_have_no_shape() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, length) = (on(of, &[1u32; 6]), on(of, &[4u64]));
        let view = items.view().with_length(&length).expect("one number");
        let (plain, made) = (view.shape([4]), view.reversed().shape([2, 2]));
        match device.is_gpu() {
            true => {
                assert!(words(plain).contains("only the device knows"));
                assert!(words(made).contains("only the device knows"));
            }
            false => {
                assert_eq!(plain.expect("four items").len(), 4);
                assert_eq!(made.expect("four items").len(), 4);
            }
        }
    });
}

/// Numbers along an axis whose other axis has no place: nothing to write.
#[test]
fn arrays_without_rows_give_arrays_without_items() {
    fn check<T: Number>(device: &Device) {
        let empty = NdArray::new(on::<T>(device, &[]), [0, 5]).expect("no items");
        let found = empty.view().axis(1).and_then(|rows| rows.argmax(device)).expect("none");
        assert_eq!((found.shape(), found.len()), (&[0][..], 0));
    }
    on_devices(&[u64::KIND], |device| check::<u32>(&device.device));
}
