//! Rows of fused inputs: each call gives what it gives of an array that was made before.

use core::panic::Location;

use upsweep::{
    Device, Element, Fused, Mean, NdArray, NdViewMut, Operator, Scan, Sum, View, Widen, constant,
    counting, f16,
};
use upsweep_testing::{Input, Recurrence, Recurs, Sample, TestDevice, assert_same, product};

use super::{LONG, Lies, SHORT, lies, on, on_devices, placed, spread};

/// Of so many calls a GPU takes one, others every day; and of searches, which have two kernels.
const ONE_IN: usize = 48;
const SEARCH_ONE_IN: usize = 96;

/// More items than a CPU makes at once, along memory and across it.
const MANY: [Lies; 2] =
    [lies(&[25, 3000], &[3000, 1], 0, 75_000), lies(&[3000, 25], &[-1, 3000], 2999, 75_000)];

/// All layouts that fused inputs are tried in, with their numbers.
fn layouts() -> impl Iterator<Item = (usize, &'static Lies)> {
    const ALL: [&[Lies]; 3] = [&SHORT, LONG.split_at(3).0, &MANY];
    ALL.into_iter().flatten().enumerate()
}

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
    let fused = items.with_strides(lie.shape, lie.strides, lie.start).expect("it fits");
    let view = lie.view(made);
    assert_eq!((fused.shape(), fused.strides()), (view.shape(), view.strides()));
    for (number, axes) in lie.axes().iter().enumerate() {
        if !device.takes(turn + number, ONE_IN) {
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
    for (turn, lie) in layouts() {
        let left: Vec<f32> = Input::Uniform.array(31, lie.memory);
        let right: Vec<f32> = Input::Uniform.array(32, lie.memory);
        let products: Vec<f32> = left.iter().zip(&right).map(|(own, other)| own * other).collect();
        let numbers: Vec<u32> = (7..).take(lie.memory).collect();
        let turns: Vec<Recurrence> = Input::NearOne.array(33, lie.memory);
        let turned: Vec<Recurrence> = turns.iter().rev().copied().collect();
        let (bytes, both) = unlike_bytes(lie.memory);
        on_devices(&[], |device| {
            let of = &device.device;
            let (left, right) = (on(of, &left), on(of, &right));
            let made = View::from(&left).zip(View::from(&right)).map(product {});
            check_made(device, (lie, turn), made, &products, Sum);
            let counted = counting(7u32..7 + lie.memory as u32);
            check_made(device, (lie, turn + 3), counted, &numbers, Sum);
            let turns = on(of, &turns);
            check_made(device, (lie, turn + 5), View::from(&turns).reversed(), &turned, Recurs);
            let [items, others] = [0, 1].map(|which| on(of, &bytes[which]));
            let made = View::from(&items).zip(View::from(&others)).map(unlike {});
            check_made(device, (lie, turn + 7), made, &both, Sum);
        });
    }
}

#[upsweep::function]
fn negated(value: f32) -> f32 {
    -value
}

#[upsweep::function]
fn unlike(left: u8, right: u8) -> u8 {
    left ^ right
}

/// Two arrays of so many bytes, and where they are unlike.
fn unlike_bytes(memory: usize) -> ([Vec<u8>; 2], Vec<u8>) {
    let bytes: [Vec<u8>; 2] = [45, 46].map(|seed| Input::Full.array(seed, memory));
    let both = bytes[0].iter().zip(&bytes[1]).map(|(own, other)| own ^ other).collect();
    (bytes, both)
}

/// Positions of extremes and means of rows of numbers that are made, of arrays that hold such an `input`.
#[track_caller]
fn check_found<'a, T, E>(
    device: &TestDevice,
    (lie, turn, input): (&Lies, usize, Input),
    items: E,
    made: &[T],
) where
    T: Sample + Mean + Widen<<T as Mean>::Output>,
    T::Output: Sample,
    Sum: Operator<T::Output>,
    E: Fused<'a, Item = T>,
{
    if !device.supports(&[T::KIND]) {
        return;
    }
    let line = Location::caller().line() as usize;
    let (cpu, of) = (&Device::cpu(), &device.device);
    let fused = items.with_strides(lie.shape, lie.strides, lie.start).expect("it fits");
    for (number, axes) in lie.axes().iter().enumerate() {
        if !device.takes(line + turn + number, SEARCH_ONE_IN) {
            continue;
        }
        let context = format!("{device}: {:?} of {lie:?} along {axes:?}", T::DTYPE);
        let own = fused.axes(axes).expect("axes");
        let wanted = lie.view(made).axes(axes).expect("axes");
        let (own, wanted) = match number % 2 {
            0 => (own.keepdims(), wanted.keepdims()),
            _ => (own, wanted),
        };
        let shape = lie.reduced(axes, number % 2 == 0);
        assert_eq!(own.reduced_shape(), shape, "{context}");
        let positions = [
            (own.argmin(of), wanted.argmin(cpu), "argmin"),
            (own.argmax(of), wanted.argmax(cpu), "argmax"),
        ];
        for (found, expected, name) in positions {
            let (found, expected) = (found.expect("positions"), expected.expect("positions"));
            assert_eq!(found.shape(), shape, "{context}: {name}");
            let [found, expected] = [found, expected].map(|of| of.to_vec().expect("positions"));
            assert_same(&found, &expected, format!("{context}: {name}"));
        }
        // From the end, with gaps that stay.
        let (strides, start, memory, places) = spread(&shape);
        for is_largest in [false, true] {
            let mut output = on(of, &vec![5u64; memory]);
            let to = NdViewMut::strided(&mut output, &shape, &strides, start).expect("it fits");
            let (found, expected) = match is_largest {
                true => (own.argmax_into(of, to), wanted.argmax(cpu)),
                false => (own.argmin_into(of, to), wanted.argmin(cpu)),
            };
            found.expect("positions");
            let expected = expected.and_then(|of| of.to_vec()).expect("positions");
            let expected = placed(memory, 5, &places, &expected);
            assert_same(&output.to_vec().expect("positions"), &expected, &context);
        }
        if !device.supports(&[<T::Output as Element>::KIND]) || !device.keeps::<T>(input) {
            continue;
        }
        let (found, expected) = (own.mean(of).expect("means"), wanted.mean(cpu).expect("means"));
        assert_eq!(found.shape(), shape, "{context}: mean");
        let [found, expected] = [found, expected].map(|of| of.to_vec().expect("means"));
        assert_same(&found, &expected, format!("{context}: mean"));
    }
}

#[test]
fn positions_and_means_of_made_rows() {
    for (turn, lie) in layouts() {
        let special: Vec<f32> = Input::Special.array(41, lie.memory);
        let other: Vec<f32> = special.iter().map(|item| -item).collect();
        let halves: Vec<f16> = Input::Special.array(42, lie.memory);
        let from_end: Vec<f16> = halves.iter().rev().copied().collect();
        let zeros: Vec<f32> = Input::Zeros.array(43, lie.memory);
        let factors: Vec<f32> = Input::NearOne.array(44, lie.memory);
        let products: Vec<f32> = zeros.iter().zip(&factors).map(|(own, of)| own * of).collect();
        let (bytes, both) = unlike_bytes(lie.memory);
        let longs: Vec<i64> = Input::Full.array(47, lie.memory.max(1));
        let words: Vec<u32> = Input::Full.array(48, lie.memory);
        let indices: Vec<u32> = words.iter().map(|word| word % (2 * longs.len() as u32)).collect();
        let last = longs.len() - 1;
        let gathered: Vec<i64> =
            indices.iter().map(|&index| longs[last.min(index as usize)]).collect();
        let doubles: Vec<f64> = Input::Special.array(49, 2 * lie.memory);
        let every_other: Vec<f64> = doubles.iter().step_by(2).copied().collect();
        let numbers: Vec<i32> = (-7..).take(lie.memory).collect();
        on_devices(&[], |device| {
            let of = &device.device;
            let cell = |input| (lie, turn, input);
            if device.keeps::<f32>(Input::Special) {
                let items = on(of, &special);
                let made = View::from(&items).map(negated {});
                check_found(device, cell(Input::Special), made, &other);
            }
            let items = on(of, &halves);
            let made = View::from(&items).reversed();
            check_found(device, cell(Input::Special), made, &from_end);
            let (items, others) = (on(of, &zeros), on(of, &factors));
            let made = View::from(&items).zip(View::from(&others)).map(product {});
            check_found(device, cell(Input::Zeros), made, &products);
            let [items, others] = [0, 1].map(|which| on(of, &bytes[which]));
            let made = View::from(&items).zip(View::from(&others)).map(unlike {});
            check_found(device, cell(Input::Full), made, &both);
            let counted = counting(-7..lie.memory as i32 - 7);
            check_found(device, cell(Input::Full), counted, &numbers);
            let same = constant(-2.5f32, lie.memory);
            check_found(device, cell(Input::Uniform), same, &vec![-2.5; lie.memory]);
            if device.supports(&[i64::KIND]) {
                let (items, at) = (on(of, &longs), on(of, &indices));
                let made = View::from(&items).gather(View::from(&at));
                check_found(device, cell(Input::Full), made, &gathered);
            }
            if device.supports(&[f64::KIND]) {
                let items = on(of, &doubles);
                let made = View::from(&items).strided(2);
                check_found(device, cell(Input::Special), made, &every_other);
            }
        });
    }
}
