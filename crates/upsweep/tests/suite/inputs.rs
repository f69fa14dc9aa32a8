//! Items that lie elsewhere or nowhere, and functions with fields: the same bits as of arrays that were made before.

use core::panic::Location;

use upsweep::{
    Array, Device, Element, Error, Fused, Max, Operator, Reduce, Scan, Sum, View, ViewMut, Widen,
    bf16, constant, counting, f16,
};
use upsweep_testing::{
    AddedPowers, Guarded, Input, LargestStretch, Powers, Sample, Stretch, TestDevice, assert_same,
    expected_scan, for_each_device, powers_of, product, stretch_of,
};

use crate::oracle;

/// Whether a value is above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Greater {
    threshold: f32,
}

#[upsweep::function]
impl Greater {
    fn apply(self, value: f32) -> u32 {
        (value > self.threshold) as u32
    }
}

/// Less than a word, and more than one.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Masked {
    mask: u8,
}

#[upsweep::function]
impl Masked {
    fn apply(self, item: u8, value: u32) -> u32 {
        let Self { mask } = self;
        ((item & mask) as u32).wrapping_add(value)
    }
}

/// Fields of several widths. With powers of two, nothing of it rounds.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Line {
    step: f32,
    first: f32,
    least: i16,
    most: i16,
    by: u32,
}

impl Line {
    const LEAST: i32 = -30_000;
}

#[upsweep::function]
impl Line {
    fn apply(self, number: i32) -> f32 {
        let within = number.max(self.least as i32).min(self.most as i32).max(Self::LEAST);
        self.first + self.step * (within as f32) * (self.by as f32)
    }
}

#[upsweep::function]
fn halved(value: f32) -> f32 {
    value * 0.5
}

#[upsweep::function]
fn mixed(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761).rotate_left(7)
}

#[upsweep::function]
fn mixed_long(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
}

#[upsweep::function]
fn plus(left: u32, right: u32) -> u32 {
    left.wrapping_add(right)
}

#[upsweep::function]
fn sum_of(powers: Powers, more: f32) -> f32 {
    powers.sum + more
}

/// The last item that is not 0.
#[upsweep::operator(identity = 0)]
fn last_set(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { right }
}

/// From nothing to several windows of several workgroups, whole and not.
const LENGTHS: [usize; 5] = [0, 1, 129, 2049, 70_001];

#[track_caller]
fn check_reduce<'a, A: Sample, O: Operator<A>>(
    device: &TestDevice,
    items: impl Fused<'a, Item: Widen<A>>,
    made: &[impl Widen<A>],
    operator: O,
    init: A,
) {
    assert_eq!(items.len(), made.len(), "{device}");
    let place = Location::caller().line() as usize;
    for (number, problem) in
        [Reduce::new(operator), Reduce::new(operator).init(init)].into_iter().enumerate()
    {
        if !device.takes(place + number, 2) {
            continue;
        }
        let found = items.reduce_with(&device.device, &problem).expect("a reduction");
        let expected = oracle::reduced(made, &problem);
        assert_same(&[found], &[expected], format!("{device}: {} of {}", O::NAME, made.len()));
    }
}

fn problems<A: Element, O: Operator<A>>(operator: O, init: A) -> [Scan<A, O>; 4] {
    [
        Scan::inclusive(operator),
        Scan::exclusive(operator),
        Scan::exclusive(operator).init(init),
        Scan::inclusive(operator).reverse(),
    ]
}

#[track_caller]
fn check_scan<'a, T, U, O>(
    device: &TestDevice,
    items: impl Fused<'a, Item = T>,
    made: &[T],
    operator: O,
    init: U::Acc,
) where
    T: Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    assert_eq!(items.len(), made.len(), "{device}");
    let place = Location::caller().line() as usize;
    for (number, problem) in problems(operator, init).into_iter().enumerate() {
        if !device.takes(place + number, 4) {
            continue;
        }
        let first = U::from_acc(operator.identity());
        let mut output = Array::filled(&device.device, made.len(), first).expect("memory");
        items.scan_into(&device.device, &mut output, &problem).expect("a scan");
        let expected = oracle::scanned::<T, U, _>(made, &problem);
        let context = format!("{device}: {} of {}, {:?}", O::NAME, made.len(), problem.bounds);
        assert_same(&output.into_vec().expect("it can be read"), &expected, context);
    }
}

fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

#[test]
fn functions_have_fields() {
    for_each_device(|device| {
        for items in LENGTHS {
            let mut values: Vec<f32> = Input::Uniform.array(1, items);
            if let Some(value) = values.get_mut(items / 2) {
                *value = f32::NAN;
            }
            let resident = on(&device.device, &values);
            for threshold in [0.5, -1.0, f32::NAN] {
                let greater = Greater { threshold };
                let made: Vec<u32> = values.iter().map(|&value| greater.apply(value)).collect();
                check_reduce(device, resident.view().map(greater), &made, Sum, 7u32);
                check_scan::<u32, u32, _>(device, View::from(&values).map(greater), &made, Sum, 7);
            }
            // Narrow items beside wide ones.
            let bytes: Vec<u8> = Input::Full.array(2, items);
            let numbers: Vec<u32> = Input::Full.array(3, items);
            for mask in [0xff, 0x0f] {
                let masked = Masked { mask };
                let made: Vec<u32> =
                    bytes.iter().zip(&numbers).map(|(&b, &n)| masked.apply(b, n)).collect();
                let pairs = View::from(&bytes).zip(View::from(&numbers)).map(masked);
                check_reduce(device, pairs, &made, Sum, 7u32);
                check_scan::<u32, u32, _>(device, pairs, &made, LastSet, 7);
            }
            let line = Line { step: 0.25, first: 3.0, least: -100, most: 12_345, by: 3 };
            let numbers: Vec<i32> = Input::Full.array(4, items);
            let made: Vec<f32> = numbers.iter().map(|&n| line.apply(n) * 0.5).collect();
            let view = View::from(&numbers);
            check_reduce(device, view.map(line).map(halved {}), &made, Sum, 0.5f32);
        }
    });
}

#[test]
fn numbers_are_counted() {
    for_each_device(|device| {
        for items in LENGTHS {
            let (len, start) = (items as u32, 4_294_000_000u32);
            let all = counting(0..len);
            let made: Vec<u32> = (0..len).map(mixed).collect();
            check_reduce(device, all.map(mixed {}), &made, Sum, 7u32);
            check_reduce(device, all.map(mixed {}), &made, LastSet, 7u32);
            check_scan::<u32, u32, _>(device, all.map(mixed {}), &made, Sum, 7);
            let made: Vec<u32> = (start..start + len).collect();
            check_reduce(device, counting(start..start + len), &made, Max, 7u32);
            let below = -(items as i32) / 3;
            let made: Vec<i32> = (below..below + items as i32).collect();
            let signed = counting(below..below + items as i32);
            check_scan::<i32, i32, _>(device, signed, &made, Sum, 7);
            let line = Line { step: 0.25, first: 3.0, least: -100, most: 12_345, by: 3 };
            let made: Vec<f32> = made.iter().map(|&number| line.apply(number)).collect();
            check_reduce(device, signed.map(line), &made, Sum, 0.5f32);
            if device.supports(&[u64::KIND]) {
                let start = u64::from(u32::MAX) - 1000;
                let made: Vec<u64> = (start..start + items as u64).map(mixed_long).collect();
                let long = counting(start..start + items as u64).map(mixed_long {});
                check_reduce(device, long, &made, Sum, 7u64);
                check_scan::<u64, u64, _>(device, long, &made, Sum, 7);
                let start = i64::MIN + 5;
                let made: Vec<i64> = (start..start + items as i64).collect();
                let signed = counting(start..start + items as i64);
                check_reduce(device, signed, &made, Max, i64::MIN);
                check_reduce(device, signed.reversed(), &made, Sum, 3i64);
            }
        }
        let [start, end] = [5u32, 2];
        assert_eq!(counting(start..end).reduce(&device.device, Sum), Ok(0), "{device}");
        assert_eq!(counting(i64::MIN..i64::MAX).len(), usize::MAX, "{device}");
    });
}

#[test]
fn values_are_repeated() {
    for_each_device(|device| {
        for items in LENGTHS {
            check_reduce(device, constant(0.1f32, items), &vec![0.1f32; items], Sum, 0.5f32);
            check_scan::<u8, u32, _>(device, constant(7u8, items), &vec![7u8; items], Sum, 3);
            check_scan::<i16, i16, _>(device, constant(-7i16, items), &vec![-7; items], Sum, 3);
            let (short, shorter) = (f16::from_f32(0.1), bf16::from_f32(0.1));
            check_reduce(device, constant(short, items), &vec![short; items], Sum, 0.5f32);
            check_reduce(device, constant(shorter, items), &vec![shorter; items], Max, 0.5f32);
            let powers = powers_of(0.3);
            let start = Powers { count: 7, sum: 0.5, squares: 0.25 };
            let (all, made) = (constant(powers, items), vec![powers; items]);
            check_reduce(device, all, &made, AddedPowers, start);
            let values: Vec<f32> = Input::Uniform.array(1, items);
            let made: Vec<f32> = values.iter().map(|&value| sum_of(powers, value)).collect();
            let pairs = all.zip(View::from(&values)).map(sum_of {});
            check_reduce(device, pairs, &made, Sum, 0.5f32);
        }
    });
}

#[test]
fn items_are_reversed_and_strided() {
    for_each_device(|device| {
        for items in LENGTHS {
            let values: Vec<f32> = Input::Uniform.array(1, items + 3);
            let resident = on(&device.device, &values);
            let turned: Vec<f32> = values.iter().rev().copied().collect();
            check_reduce(device, resident.view().reversed(), &turned, Sum, 0.5f32);
            check_scan::<f32, f32, _>(device, View::from(&values).reversed(), &turned, Sum, 0.5);
            let bytes: Vec<u8> = Input::Full.array(2, items);
            let wide: Vec<u32> = bytes.iter().rev().map(|&byte| u32::from(byte)).collect();
            check_reduce(device, View::from(&bytes).reversed(), &wide, Sum, 7u32);
            for step in [1, 3, 200_000] {
                let some: Vec<f32> = values.iter().step_by(step).copied().collect();
                check_reduce(device, resident.view().strided(step), &some, Sum, 0.5f32);
                // From the end of what is left, and of each pair halved.
                let some: Vec<f32> =
                    turned.iter().step_by(step).step_by(2).map(|value| value * 0.5).collect();
                let twice = resident.view().map(halved {}).reversed().strided(step).strided(2);
                check_scan::<f32, f32, _>(device, twice, &some, Sum, 0.5);
                let back = resident.view().strided(step).reversed().reversed();
                let some: Vec<f32> = values.iter().step_by(step).copied().collect();
                check_reduce(device, back, &some, Max, 0.5f32);
            }
            // In order beside from the end.
            let made: Vec<f32> =
                values.iter().zip(&turned).map(|(&left, &right)| left * right).collect();
            let pairs = resident.view().zip(resident.view().reversed()).map(product {});
            check_reduce(device, pairs, &made, Sum, 0.5f32);
            check_scan::<f32, f32, _>(device, pairs, &made, Sum, 0.5);
            let numbers: Vec<i32> = Input::Full.array(4, items);
            let made: Vec<Stretch> = numbers.iter().rev().map(|&item| stretch_of(item)).collect();
            let stretches = View::from(&numbers).map(stretch_of {}).reversed();
            check_reduce(device, stretches, &made, LargestStretch, stretch_of(-5));
            check_scan::<Stretch, Stretch, _>(
                device,
                stretches,
                &made,
                LargestStretch,
                stretch_of(-5),
            );
            let made: Vec<Stretch> = numbers.iter().map(|&item| stretch_of(item)).collect();
            let stored = on(&device.device, &made);
            let turned: Vec<Stretch> = made.iter().rev().copied().collect();
            check_reduce(device, stored.view().reversed(), &turned, LargestStretch, made_start());
        }
        let items = [1.0f32, 2.0];
        let refused = View::from(&items).strided(0).map(halved {}).reduce(&device.device, Sum);
        assert_eq!(refused, Err(Error::NoStep), "{device}");
        let refused = View::from(&items).strided(0).inclusive_scan(&device.device, Sum).map(drop);
        assert_eq!(refused, Err(Error::NoStep), "{device}");
    });
}

fn made_start() -> Stretch {
    stretch_of(3)
}

#[test]
fn items_are_gathered() {
    for_each_device(|device| {
        for items in LENGTHS {
            let values: Vec<f32> = Input::Uniform.array(1, items / 2 + 1);
            let last = values.len() - 1;
            let indices: Vec<u32> = (0..items as u32)
                .map(|number| match number % 1000 {
                    17 => u32::MAX,
                    18 => values.len() as u32,
                    _ => mixed(number) % values.len() as u32,
                })
                .collect();
            let at = |index: u32| values[(index as usize).min(last)];
            let made: Vec<f32> = indices.iter().map(|&index| at(index)).collect();
            let (resident, there) = (on(&device.device, &values), on(&device.device, &indices));
            let found = resident.view().gather(there.view());
            check_reduce(device, found, &made, Sum, 0.5f32);
            check_scan::<f32, f32, _>(device, found, &made, Sum, 0.5);
            let host = View::from(&values).gather(View::from(&indices));
            check_reduce(device, host.map(Greater { threshold: 0.5 }), &above(&made), Sum, 7u32);
            // Indices that are made, of what is made; and from the end.
            let some = counting(0..items as u32).map(mixed {}).reversed();
            let made: Vec<f32> =
                (0..items as u32).rev().map(|number| at(mixed(number)) * 0.5).collect();
            let found = resident.view().map(halved {}).gather(some);
            check_reduce(device, found, &made, Sum, 0.5f32);
            let made: Vec<f32> = indices
                .iter()
                .step_by(3)
                .map(|&index| values[last - (index as usize).min(last)])
                .collect();
            let found = resident.view().reversed().gather(there.view()).strided(3);
            check_reduce(device, found, &made, Max, 0.5f32);
            check_scan::<f32, f32, _>(device, found, &made, Sum, 0.5);
            // Two steps, and narrow items beside what is read in order.
            let bytes: Vec<u8> = Input::Full.array(2, items + 1);
            let made: Vec<u32> = indices
                .iter()
                .map(|&index| u32::from(bytes[(index as usize).min(items)]))
                .zip(&indices)
                .map(|(byte, &index)| byte.wrapping_add(index))
                .collect();
            let narrow = View::from(&bytes).gather(there.view());
            let pairs = narrow.zip(there.view()).map(plus_byte {});
            check_reduce(device, pairs, &made, Sum, 7u32);
            check_scan::<u32, u32, _>(device, pairs, &made, LastSet, 7);
            let hops = View::from(&indices).gather(View::from(&indices));
            let twice: Vec<f32> =
                indices.iter().map(|&index| at(indices[(index as usize).min(items - 1)])).collect();
            check_reduce(device, resident.view().gather(hops), &twice, Sum, 0.5f32);
            if device.supports(&[u64::KIND]) {
                let long: Vec<u64> = indices
                    .iter()
                    .map(|&index| if index == u32::MAX { u64::MAX } else { index.into() })
                    .collect();
                let made: Vec<f32> = indices.iter().map(|&index| at(index)).collect();
                let found = resident.view().gather(View::from(&long));
                check_reduce(device, found, &made, Sum, 0.5f32);
                // Of what is counted in 64 bits.
                let made: Vec<u64> = indices
                    .iter()
                    .map(|&index| (1 << 40) + u64::from(index).min((1 << 33) - 1))
                    .collect();
                let found =
                    counting(1u64 << 40..(1 << 40) + (1 << 33)).gather(View::from(&indices));
                check_reduce(device, found, &made, Sum, 7u64);
            }
        }
        let (nothing, indices) = ([0.0f32; 0], [0u32, 1]);
        let found = View::from(&nothing[..]).gather(View::from(&indices));
        let refused = Error::NothingToGather { indices: 2 };
        assert_eq!(found.reduce(&device.device, Sum), Err(refused.clone()), "{device}");
        assert_eq!(found.inclusive_scan(&device.device, Sum).map(drop), Err(refused), "{device}");
        let none = found.gather(counting(0u32..0));
        assert_eq!(none.strided(2).len(), 0, "{device}");
        let found = View::from(&nothing[..]).gather(View::from(&indices[..0]));
        assert_eq!(found.reduce(&device.device, Sum), Ok(0.0), "{device}");
    });
}

fn above(values: &[f32]) -> Vec<u32> {
    values.iter().map(|&value| Greater { threshold: 0.5 }.apply(value)).collect()
}

#[upsweep::function]
fn plus_byte(byte: u8, number: u32) -> u32 {
    (byte as u32).wrapping_add(number)
}

/// Structures, of which less is written.
#[upsweep::function]
fn best_of(stretch: Stretch) -> i16 {
    stretch.best as i16
}

#[upsweep::function]
fn squares_of(sum: f32) -> Powers {
    Powers { count: 1, sum, squares: sum * sum }
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Slot {
    size: u32,
    base: u32,
}

#[upsweep::function]
impl Slot {
    fn apply(self, total: u32) -> u8 {
        (total / self.size + self.base) as u8
    }
}

#[test]
fn prefixes_are_written_as_something_else() {
    for_each_device(|device| {
        for items in LENGTHS {
            let numbers: Vec<u32> = Input::Full.array(1, items);
            let resident = on(&device.device, &numbers);
            let floats: Vec<f32> = Input::Uniform.array(2, items);
            let signed: Vec<i32> = Input::Full.array(3, items);
            for slot in [Slot { size: 1 << 24, base: 3 }, Slot { size: 7, base: 0 }] {
                for (number, problem) in problems(Sum, 7u32).into_iter().enumerate() {
                    if !device.takes(number, 4) {
                        continue;
                    }
                    let prefixes: Vec<u32> = expected_scan(&numbers, &problem);
                    let expected: Vec<u8> =
                        prefixes.iter().map(|&prefix| slot.apply(prefix)).collect();
                    let found = resident.view().scan_map(&device.device, &problem, slot);
                    let found = found.and_then(Array::into_vec).expect("a scan");
                    assert_same(&found, &expected, format!("{device}: {items} {problem:?}"));
                }
            }
            for (number, problem) in problems(Sum, 0.5f32).into_iter().enumerate() {
                if !device.takes(number, 4) {
                    continue;
                }
                let prefixes: Vec<f32> = expected_scan(&floats, &problem);
                let expected: Vec<Powers> = prefixes.iter().map(|&sum| squares_of(sum)).collect();
                let made = View::from(&floats).scan_map(&device.device, &problem, squares_of {});
                let found = made.and_then(Array::into_vec).expect("a scan");
                assert_same(&found, &expected, format!("{device}: {items} {problem:?}"));
                let expected: Vec<u32> =
                    prefixes.iter().map(|&sum| Greater { threshold: 9.0 }.apply(sum)).collect();
                let above = Greater { threshold: 9.0 };
                let made = View::from(&floats).scan_map(&device.device, &problem, above);
                let found = made.and_then(Array::into_vec).expect("a scan");
                assert_same(&found, &expected, format!("{device}: {items} {problem:?}"));
            }
            for (number, problem) in
                problems(LargestStretch, stretch_of(-5)).into_iter().enumerate()
            {
                if !device.takes(number, 4) {
                    continue;
                }
                let made: Vec<Stretch> = signed.iter().map(|&item| stretch_of(item)).collect();
                let prefixes: Vec<Stretch> = expected_scan(&made, &problem);
                let expected: Vec<i16> = prefixes.iter().map(|&stretch| best_of(stretch)).collect();
                let from = View::from(&signed).map(stretch_of {});
                let found = from.scan_map(&device.device, &problem, best_of {});
                let found = found.and_then(Array::into_vec).expect("a scan");
                assert_same(&found, &expected, format!("{device}: {items} {problem:?}"));
            }
            for (number, problem) in problems(LastSet, 7u32).into_iter().enumerate() {
                if !device.takes(number, 4) {
                    continue;
                }
                let prefixes: Vec<u32> = expected_scan(&numbers, &problem);
                let expected: Vec<u32> = prefixes.iter().map(|&prefix| mixed(prefix)).collect();
                let found = View::from(&numbers).scan_map(&device.device, &problem, mixed {});
                let found = found.and_then(Array::into_vec).expect("a scan");
                assert_same(&found, &expected, format!("{device}: {items} {problem:?}"));
            }
        }
        let mut short = [0u8; 2];
        let (slot, problem) = (Slot { size: 1, base: 0 }, Scan::inclusive(Sum));
        let refused = counting(0u32..3).scan_map_into(&device.device, &mut short, &problem, slot);
        assert_eq!(refused, Err(Error::LengthMismatch { input: 3, output: 2 }), "{device}");
    });
}

/// Nothing is written but what is asked for, wherever that begins.
#[test]
fn outputs_begin_anywhere() {
    for_each_device(|device| {
        for (items, offset) in [(1, 1), (130, 3), (2050, 2), (20_001, 1)] {
            let values: Vec<u32> = Input::Full.array(1, items + 5);
            // Views that begin anywhere, beside others.
            let pairs = View::from(&values[1..]).zip(View::from(&values[3..]).reversed());
            let turned: Vec<u32> = values[3..].iter().rev().copied().collect();
            let made: Vec<u32> =
                values[1..].iter().zip(&turned).map(|(&l, &r)| plus(l, r)).collect();
            let all = pairs.map(plus {});
            let problem = Scan::inclusive(Sum);
            let expected: Vec<u8> = expected_scan::<u32, u32, _>(&made, &problem)
                .iter()
                .map(|&prefix| Slot { size: 3, base: 1 }.apply(prefix))
                .collect();
            for poison in [0, u64::MAX] {
                let mut output = Guarded::<u8>::new(all.len(), offset, poison);
                let to = ViewMut::from(output.items_mut());
                let slot = Slot { size: 3, base: 1 };
                all.scan_map_into(&device.device, to, &problem, slot).expect("a scan");
                assert_same(output.items(), &expected, format!("{device}: {items}"));
                output.check_bands(format!("{device}: {items}"));
            }
        }
    });
}

#[test]
fn what_kernels_cannot_be_handed_is_refused() {
    for_each_device(|device| {
        let items = [1u32, 2, 3, 4];
        let view = View::from(&items);
        // Five arrays, and twice as many words as there may be.
        let two = view.zip(view.reversed()).map(plus {});
        let four = two.zip(two).map(plus {});
        let five = four.zip(view).map(plus {});
        match five.reduce(&device.device, Sum) {
            Ok(found) => assert_eq!(found, 50, "{device}"),
            Err(Error::Buffer { reason }) => {
                assert!(
                    device.is_gpu() && reason.contains("arrays at most, here are 5"),
                    "{reason}"
                );
            }
            Err(error) => panic!("{device}: {error}"),
        }
        let line = counting(0u32..4).reversed();
        let two = line.zip(line).map(plus {});
        let four = two.zip(two).map(plus {});
        let eight = four.zip(four).map(plus {});
        let sixteen = eight.zip(eight).map(plus {});
        match sixteen.reduce(&device.device, Sum) {
            Ok(found) => assert!(found == 96 && !device.is_gpu(), "{device}"),
            Err(Error::Buffer { reason }) => {
                assert!(device.is_gpu() && reason.contains("64 words at most"), "{reason}");
            }
            Err(error) => panic!("{device}: {error}"),
        }
        assert_eq!(eight.reduce(&device.device, Sum), Ok(48), "{device}");
    });
}
