//! Items that are made as they are read: the same bits as of arrays that were made before.

use core::panic::Location;

use upsweep::{
    Array, Device, Element, Error, Fused, Max, Operator, Reduce, Scan, Sum, View, Widen, reduce,
};
use upsweep_testing::{
    AddedPowers, Input, LargestStretch, Powers, Sample, Stretch, TestDevice, assert_same,
    for_each_device, is_odd, powers_of, product, stretch_of,
};

use crate::oracle;

#[upsweep::function]
fn weighted(weight: u8, value: f32) -> f32 {
    weight as f32 * value
}

#[upsweep::function]
fn halved(value: f32) -> f32 {
    value * 0.5
}

/// Less than a word.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Short {
    low: u8,
    high: u8,
}

#[upsweep::function]
fn of_short(short: Short) -> u32 {
    short.low as u32 + short.high as u32
}

#[upsweep::function]
fn all_of(stretch: Stretch) -> i32 {
    stretch.all.wrapping_add(stretch.best)
}

/// From nothing to several windows of several workgroups, whole and not.
const LENGTHS: [usize; 7] = [0, 1, 5, 129, 2049, 65_536, 200_003];

/// Whether the device has what it takes; made items need no more than their arrays.
#[track_caller]
fn check_reduce<'a, A: Sample, O: Operator<A>>(
    device: &TestDevice,
    items: impl Fused<'a, Item: Widen<A>>,
    made: &[impl Widen<A>],
    operator: O,
    init: A,
) {
    let place = Location::caller().line() as usize;
    for (number, problem) in
        [Reduce::new(operator), Reduce::new(operator).init(init)].into_iter().enumerate()
    {
        if !device.takes(place + number, 2) {
            continue;
        }
        let found = items.reduce_with(&device.device, &problem).expect("a reduction");
        let expected = oracle::reduced(made, &problem);
        let context = format!("{device}: {} of {} items", O::NAME, made.len());
        assert_same(&[found], &[expected], context);
    }
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
    let place = Location::caller().line() as usize;
    for (number, problem) in [
        Scan::inclusive(operator),
        Scan::exclusive(operator).init(init),
        Scan::exclusive(operator).reverse(),
    ]
    .into_iter()
    .enumerate()
    {
        if !device.takes(place + number, 3) {
            continue;
        }
        let first = U::from_acc(operator.identity());
        let mut output = Array::filled(&device.device, made.len(), first).expect("memory");
        items.scan_into(&device.device, &mut output, &problem).expect("a scan");
        let expected = oracle::scanned::<T, U, _>(made, &problem);
        let context =
            format!("{device}: {} of {} items, {:?}", O::NAME, made.len(), problem.bounds);
        assert_same(&output.into_vec().expect("it can be read"), &expected, context);
    }
}

/// The items in the device's memory, some of them.
fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

#[test]
fn two_arrays_become_one() {
    for_each_device(|device| {
        for items in LENGTHS {
            let (left, right): (Vec<f32>, Vec<f32>) =
                (Input::Uniform.array(1, items), Input::Uniform.array(2, items + 3));
            let made: Vec<f32> = left.iter().zip(&right).map(|(l, r)| l * r).collect();
            let resident = (on(&device.device, &left), on(&device.device, &right));
            let pairs = resident.0.view().zip(resident.1.view());
            check_reduce(device, pairs.map(product {}), &made, Sum, 0.5f32);
            let host = View::from(&left).zip(View::from(&right)).map(product {});
            check_reduce(device, host, &made, Max, 0.5f32);
            let wide: Vec<f64> = made.iter().map(|&item| f64::from(item)).collect();
            if device.supports(&[f64::KIND]) {
                check_reduce(device, host, &wide, Sum, 0.5f64);
            }
            check_scan::<f32, f32, _>(device, pairs.map(product {}), &made, Sum, 0.5f32);
        }
    });
}

#[test]
fn arrays_of_several_widths_are_read_together() {
    for_each_device(|device| {
        for items in LENGTHS {
            let weights: Vec<u8> = Input::Full.array(1, items);
            let values: Vec<f32> = Input::Uniform.array(2, items);
            let pairs = View::from(&weights).zip(View::from(&values).map(halved {}));
            let made: Vec<f32> =
                weights.iter().zip(&values).map(|(&w, v)| f32::from(w) * (v * 0.5)).collect();
            check_reduce(device, pairs.map(weighted {}), &made, Sum, 0.5f32);
            check_scan::<f32, f32, _>(device, pairs.map(weighted {}), &made, Sum, 0.5f32);
            let odd: Vec<u32> = weights.iter().map(|&item| u32::from(item & 1)).collect();
            check_reduce(device, View::from(&weights).map(is_odd {}), &odd, Sum, 7u32);
            check_scan::<u32, u32, _>(device, View::from(&weights).map(is_odd {}), &odd, Sum, 7);
        }
    });
}

#[test]
fn numbers_become_structures() {
    for_each_device(|device| {
        for items in LENGTHS {
            let values: Vec<f32> = Input::Uniform.array(3, items);
            let made: Vec<Powers> = values.iter().map(|&value| powers_of(value)).collect();
            let start = Powers { count: 7, sum: 0.5, squares: 0.25 };
            check_reduce(device, View::from(&values).map(powers_of {}), &made, AddedPowers, start);
            let numbers: Vec<i32> = Input::Full.array(4, items);
            let made: Vec<Stretch> = numbers.iter().map(|&item| stretch_of(item)).collect();
            let from = View::from(&numbers).map(stretch_of {});
            check_reduce(device, from, &made, LargestStretch, stretch_of(-5));
            check_scan::<Stretch, Stretch, _>(device, from, &made, LargestStretch, stretch_of(-5));
            // And structures numbers again.
            let resident = on(&device.device, &made);
            let sums: Vec<i32> = made.iter().map(|&item| all_of(item)).collect();
            check_reduce(device, resident.view().map(all_of {}), &sums, Max, 3);
            check_reduce(device, from.map(all_of {}), &sums, Sum, 3);
        }
    });
}

mod either {
    #[upsweep::operator(identity = 0, commutative)]
    pub(crate) fn joined(left: u32, right: u32) -> u32 {
        left | right
    }
}

mod one {
    // The same but for what it does.
    #[upsweep::operator(identity = 0, commutative)]
    pub(crate) fn joined(left: u32, right: u32) -> u32 {
        left ^ right
    }
}

/// A kernel that was made for one is not taken for the other.
#[test]
fn operators_of_one_name_are_told_apart() {
    for_each_device(|device| {
        let odd = View::from(&[1u8, 3, 4]).map(is_odd {});
        assert_eq!(odd.reduce(&device.device, either::Joined), Ok(1), "{device}");
        assert_eq!(odd.reduce(&device.device, one::Joined), Ok(0), "{device}");
    });
}

#[test]
fn views_are_their_own_items() {
    for_each_device(|device| {
        let items: Vec<u32> = Input::Full.array(5, 10_001);
        let array = on(&device.device, &items);
        let expected = reduce(&device.device, &array, Sum).expect("a sum");
        assert_eq!(array.view().reduce(&device.device, Sum), Ok(expected), "{device}");
        let scanned = array.view().inclusive_scan(&device.device, Sum).expect("a scan");
        assert_eq!(scanned.into_vec().expect("it can be read").last(), Some(&expected), "{device}");
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    /// Known to the CPU alone.
    #[derive(Clone, Copy)]
    struct Own;
    impl Operator<f32> for Own {
        const NAME: &'static str = "own";
        const COMMUTATIVE: bool = true;
        fn identity(&self) -> f32 {
            0.0
        }
        fn combine(&self, left: f32, right: f32) -> f32 {
            left.max(right)
        }
    }
    for_each_device(|device| {
        let short = [Short { low: 1, high: 2 }; 3];
        match View::from(&short).map(of_short {}).reduce(&device.device, Sum) {
            Ok(found) => assert!(found == 9 && !device.is_gpu(), "{device}"),
            Err(Error::ElementUnsupported { reason, .. }) => {
                assert!(device.is_gpu() && reason.contains("no whole words"), "{device}: {reason}");
            }
            Err(error) => panic!("{device}: {error}"),
        }
        let items = [1.0f32, 2.0, 3.0];
        let made = View::from(&items).map(halved {});
        match made.reduce(&device.device, Own) {
            Ok(found) => assert!(found == 1.5 && !device.is_gpu(), "{device}"),
            Err(Error::OperatorUntranslated { .. }) => assert!(device.is_gpu(), "{device}"),
            Err(error) => panic!("{device}: {error}"),
        }
        let mut short = [0.0f32; 2];
        let refused = made.scan_into(&device.device, &mut short, &Scan::inclusive(Sum));
        assert_eq!(refused, Err(Error::LengthMismatch { input: 3, output: 2 }), "{device}");
    });
}
