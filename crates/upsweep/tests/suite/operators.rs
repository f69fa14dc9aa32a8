//! What operators mean, written down as examples: wrapping, NaN, the two zeros, first positions,
//! means, and nothing at all.

use std::sync::atomic::{AtomicU64, Ordering};

use upsweep::summation::{LANES, TILE};
use upsweep::{
    ArgMax, ArgMin, BitAnd, BitOr, BitXor, Element, Error, Indexed, Max, Mean, Min, Number,
    Operator, Product, Reduce, Sum, Widen, argmax, argmin, bf16, exclusive_scan, f16,
    inclusive_scan, mean, reduce, reduce_as, reduce_with, segmented_reduce,
};
use upsweep_testing::{Input, Random, Sample, TestDevice, for_each_device};

/// The value, or what is expected where the device has rightly refused.
fn reduced<T, O>(device: &TestDevice, items: &[T], operator: O, expected: T) -> T
where
    T: Element + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let found = reduce(&device.device, items, operator);
    device.result(&[T::KIND], &operator, found).unwrap_or(expected)
}

/// Checks a position, or that the device has rightly refused.
#[track_caller]
fn at<T: Number>(device: &TestDevice, found: upsweep::Result<Option<u64>>, expected: Option<u64>) {
    if device.supports(&[T::KIND]) {
        assert_eq!(found, Ok(expected), "{device}");
    } else {
        assert!(matches!(found, Err(Error::ElementUnsupported { .. })), "{device}: {found:?}");
    }
}

#[test]
fn integers_wrap_where_they_are_combined() {
    for_each_device(|device| {
        assert_eq!(reduced(device, &[200u8, 100], Sum, 44), 44, "{device}");
        assert_eq!(reduced(device, &[i8::MAX, 1], Sum, i8::MIN), i8::MIN, "{device}");
        assert_eq!(reduced(device, &[i64::MIN, -1], Sum, i64::MAX), i64::MAX, "{device}");
        assert_eq!(reduced(device, &[1u16 << 8; 2], Product, 0), 0, "{device}");
        assert_eq!(reduced(device, &[i32::MIN, -1], Product, i32::MIN), i32::MIN, "{device}");
        let wide = reduce_as::<u64, _, _>(&device.device, &[u32::MAX; 3], Sum);
        let expected = 3 * u64::from(u32::MAX);
        let wide = device.result::<_, u64, _>(&[u64::KIND], &Sum, wide).unwrap_or(expected);
        assert_eq!(wide, expected, "{device}");
        let wrapped = inclusive_scan(&device.device, &[255u8, 1, 1], Sum);
        assert_eq!(wrapped.and_then(upsweep::Array::into_vec), Ok(vec![255, 0, 1]), "{device}");
    });
}

#[test]
fn nothing_gives_the_identity() {
    fn check<T>(device: &TestDevice, operator: impl Operator<T::Acc>, expected: T)
    where
        T: Sample + Widen<<T as Element>::Acc>,
    {
        let found = reduced::<T, _>(device, &[], operator, expected);
        assert_eq!(found.bits(), expected.bits(), "{device}: {found:?}, not {expected:?}");
        let scanned = inclusive_scan::<T, _>(&device.device, &[], operator);
        let scanned = device.result(&[T::KIND], &operator, scanned);
        assert!(scanned.is_none_or(|scanned| scanned.is_empty()), "{device}");
        let first = exclusive_scan(&device.device, &[expected], operator);
        let first = first.and_then(upsweep::Array::into_vec);
        let first = device.result(&[T::KIND], &operator, first).unwrap_or(vec![expected]);
        assert_eq!(first[0].bits(), expected.bits(), "{device}: the start of a scan");
    }
    for_each_device(|device| {
        check::<i16>(device, Sum, 0);
        check::<f32>(device, Sum, 0.0);
        check::<f16>(device, Sum, f16::ZERO);
        check::<u32>(device, Product, 1);
        check::<bf16>(device, Product, bf16::ONE);
        check::<i8>(device, Min, i8::MAX);
        check::<f64>(device, Min, f64::INFINITY);
        check::<u64>(device, Max, 0);
        check::<f16>(device, Max, f16::NEG_INFINITY);
        check::<u16>(device, BitAnd, u16::MAX);
        check::<i32>(device, BitOr, 0);
        check::<u8>(device, BitXor, 0);
        at::<u8>(device, argmin::<u8>(&device.device, &[]), None);
        at::<f64>(device, argmax::<f64>(&device.device, &[]), None);
        let start = reduce_with::<u8, u8, _>(&device.device, &[], &Reduce::new(Sum).init(9));
        assert_eq!(start, Ok(9), "{device}");
    });
}

#[test]
fn a_nan_anywhere_makes_an_extreme_nan() {
    for_each_device(|device| {
        for length in [1, 2, 5, LANES + 1, TILE + 3, 3 * TILE] {
            for place in [0, length / 2, length - 1] {
                let mut items = vec![1.5f32; length];
                items[place] = f32::NAN;
                assert!(
                    reduced(device, &items, Min, f32::NAN).is_nan(),
                    "{device}: {place} of {length}"
                );
                assert!(
                    reduced(device, &items, Max, f32::NAN).is_nan(),
                    "{device}: {place} of {length}"
                );
                let prefixes = inclusive_scan(&device.device, &items, Max);
                let prefixes = prefixes.and_then(upsweep::Array::into_vec).expect("a scan");
                let first = prefixes.iter().position(|value| value.is_nan());
                assert_eq!(first, Some(place), "{device}: {length}");
                assert!(prefixes[place..].iter().all(|value| value.is_nan()), "{device}");
                assert_eq!(argmin(&device.device, &items), Ok(Some(place as u64)), "{device}");
                assert_eq!(argmax(&device.device, &items), Ok(Some(place as u64)), "{device}");
            }
        }
    });
}

#[test]
fn extremes_order_the_zeros() {
    for_each_device(|device| {
        for length in [2, 7, LANES + 3, TILE + 1] {
            for place in [0, length / 2, length - 1] {
                let mut items = vec![0.0f64; length];
                items[place] = -0.0;
                assert!(reduced(device, &items, Min, -0.0).is_sign_negative(), "{device}: {place}");
                assert!(reduced(device, &items, Max, 0.0).is_sign_positive(), "{device}: {place}");
                // Positions take them for equal.
                at::<f64>(device, argmin(&device.device, &items), Some(0));
                at::<f64>(device, argmax(&device.device, &items), Some(0));
            }
        }
        let negative = [-0.0f32; 200];
        assert!(reduced(device, &negative, Sum, -0.0).is_sign_negative(), "{device}");
        assert!(reduced(device, &negative[..1], Max, -0.0).is_sign_negative(), "{device}");
    });
}

/// The first best item by looking at one after another.
fn first<T: Number>(items: &[T], wins: impl Fn(T, T) -> bool) -> Option<u64> {
    let mut best: Option<(usize, T)> = None;
    for (index, &item) in items.iter().enumerate() {
        let better = match best {
            None => true,
            Some((_, old)) => !old.is_nan() && (item.is_nan() || wins(item, old)),
        };
        if better {
            best = Some((index, item));
        }
    }
    best.map(|(index, _)| index as u64)
}

fn positions<T>(input: Input)
where
    T: Sample + Number,
    T::Acc: Number,
    Min: Operator<T::Acc>,
    Max: Operator<T::Acc>,
{
    let mut random = Random::new(7);
    let lengths = [1, 2, 64, LANES, LANES + 1, TILE, TILE + 1, 5 * TILE + 77, 300_000];
    for length in lengths {
        let items: Vec<T> = input.array(random.word(), length);
        let (least, most) = (first(&items, |a, b| a < b), first(&items, |a, b| a > b));
        for_each_device(|device| {
            // Those of software are slow, and there are kernels enough to compile.
            let on_gpu = [LANES + 1, 5 * TILE + 77].contains(&length) && device.keeps::<T>(input);
            if device.is_gpu() && !on_gpu {
                return;
            }
            at::<T>(device, argmin(&device.device, &items), least);
            at::<T>(device, argmax(&device.device, &items), most);
        });
    }
}

#[test]
fn positions_are_the_first_ones() {
    positions::<u8>(Input::Full);
    positions::<i8>(Input::Small);
    positions::<u16>(Input::Full);
    positions::<i16>(Input::Small);
    positions::<u32>(Input::Full);
    positions::<i32>(Input::Full);
    positions::<u64>(Input::Small);
    positions::<i64>(Input::Full);
}

#[test]
fn positions_among_floats_are_the_first_ones() {
    for input in [Input::Small, Input::Mixed, Input::Edges, Input::Special] {
        positions::<f16>(input);
        positions::<bf16>(input);
        positions::<f32>(input);
        positions::<f64>(input);
    }
}

/// The operators behind the functions, on items that carry their positions.
#[test]
fn positions_can_be_carried_along() {
    let items: Vec<Indexed<f32>> = Input::Special.array(3, 3 * TILE + 5);
    let indexed: Vec<_> =
        (0u64..).zip(&items).map(|(index, item)| Indexed { value: item.value, index }).collect();
    let values: Vec<f32> = items.iter().map(|item| item.value).collect();
    for_each_device(|device| {
        if device.is_gpu() {
            // Structures are for CPUs so far.
            let refused = reduce(&device.device, &indexed, ArgMin);
            assert!(matches!(refused, Err(Error::OperatorUntranslated { .. })), "{refused:?}");
            return;
        }
        let none = Indexed { value: 0.0, index: 0 };
        let least = reduced(device, &indexed, ArgMin, none);
        assert_eq!(argmin(&device.device, &values), Ok(Some(least.index)), "{device}");
        let most = reduced(device, &indexed, ArgMax, none);
        assert_eq!(argmax(&device.device, &values), Ok(Some(most.index)), "{device}");
    });
}

#[test]
fn means_are_divided_in_double_precision() {
    fn check<T>(device: &TestDevice, items: &[T], expected: f64)
    where
        T: Mean + Widen<<T as Mean>::Output>,
        Sum: Operator<T::Output>,
    {
        let found = mean(&device.device, items);
        let kinds = [T::KIND, T::Output::KIND];
        let Some(found) = device.result::<_, T::Output, _>(&kinds, &Sum, found) else {
            return;
        };
        let found = found.to_f64();
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{device}: {found} is not {expected}");
    }
    for_each_device(|device| {
        check(device, &[255u8; 1000], 255.0);
        check(device, &[i8::MIN, i8::MAX], -0.5);
        check(device, &[u16::MAX; 3], 65_535.0);
        check(device, &[-1i32, 2], 0.5);
        check(device, &[u64::MAX; 4], u64::MAX as f64);
        check(device, &[i64::MIN; 2], i64::MIN as f64);
        check(device, &[f16::from_f32(65_504.0); 4], 65_504.0);
        check(device, &[bf16::ONE, bf16::ZERO], 0.5);
        check(device, &[1.0f32, 2.0], 1.5);
        check(device, &[1.0f64, 0.0, 0.0], 1.0 / 3.0);
        // One division, rounded to the type of the mean.
        check(device, &[1.0f32, 0.0, 0.0], f64::from((1.0f64 / 3.0) as f32));
        check::<u8>(device, &[], f64::NAN);
        assert!(mean::<f32>(&device.device, &[]).expect("a mean").is_nan(), "{device}");
    });
}

/// Neighbouring items, from the first to the one behind the last; none at all where both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Span {
    start: u32,
    end: u32,
}

/// Joins spans, and counts what it is called with.
#[derive(Clone, Copy)]
struct Joined;

static CALLS: AtomicU64 = AtomicU64::new(0);
static NO_NEIGHBOURS: AtomicU64 = AtomicU64::new(0);

impl Operator<Span> for Joined {
    const NAME: &'static str = "joined";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> Span {
        Span { start: 0, end: 0 }
    }

    fn combine(&self, left: Span, right: Span) -> Span {
        CALLS.fetch_add(1, Ordering::Relaxed);
        match (left.start == left.end, right.start == right.end) {
            (true, _) => right,
            (_, true) => left,
            _ => {
                let are_neighbours = left.end == right.start;
                NO_NEIGHBOURS.fetch_add(u64::from(!are_neighbours), Ordering::Relaxed);
                Span { start: left.start, end: right.end }
            }
        }
    }
}

/// What docs/operators.md says of a CPU: neighbouring runs, the earlier one on the left, or the padding; often enough for every item.
#[test]
fn an_operator_is_called_with_neighbours_and_padding() {
    let lengths = [1, 5, 127, 128, 129, 2047, 2048, 2049, 2305, 65_535, 65_536, 65_537];
    for_each_device(|device| {
        if device.is_gpu() {
            return;
        }
        for length in lengths {
            let items: Vec<Span> =
                (0..length).map(|start| Span { start, end: start + 1 }).collect();
            CALLS.store(0, Ordering::Relaxed);
            let all = reduce(&device.device, &items, Joined);
            assert_eq!(all, Ok(Span { start: 0, end: length }), "{device}");
            assert!(CALLS.load(Ordering::Relaxed) >= u64::from(length - 1), "{device}: {length}");
            let prefixes = inclusive_scan(&device.device, &items, Joined);
            let prefixes = prefixes.and_then(upsweep::Array::into_vec).expect("a scan");
            let is_prefix = |(end, span): (u32, &Span)| *span == Span { start: 0, end };
            assert!((1..).zip(&prefixes).all(is_prefix), "{device}: {length}");
            let before = exclusive_scan(&device.device, &items, Joined);
            let before = before.and_then(upsweep::Array::into_vec).expect("a scan");
            assert!((0..).zip(&before).all(is_prefix), "{device}: {length}");
            let offsets = [0, length / 3, length / 3, length];
            let parts = segmented_reduce(&device.device, &items, &offsets, Joined);
            let parts = parts.and_then(upsweep::Array::into_vec).expect("a reduction");
            let wanted = offsets.windows(2).map(|ends| match ends[0] == ends[1] {
                true => Joined.identity(),
                false => Span { start: ends[0], end: ends[1] },
            });
            assert!(parts.into_iter().eq(wanted), "{device}: {length}");
            assert_eq!(NO_NEIGHBOURS.load(Ordering::Relaxed), 0, "{device}: {length}");
        }
    });
}
