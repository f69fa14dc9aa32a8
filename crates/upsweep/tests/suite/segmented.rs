//! Segments, however they are said and wherever they lie: the bits of the reference on every device.

use core::panic::Location;

use upsweep::reference::segmented;
use upsweep::{
    Array, Device, Element, Error, Fused, Indexed, Kind, Max, Number, Operator, Reduce, Scan,
    Segments, Sum, View, Widen, bf16, bind_reduce_by_key, bind_segmented_reduce,
    bind_segmented_scan, counting, f16, inclusive_scan_by_key, reduce_by_key, reduce_by_key_into,
    segmented_argmax, segmented_argmax_into, segmented_argmin, segmented_argmin_into,
    segmented_reduce, segmented_reduce_into, segmented_reduce_with, segmented_scan,
    segmented_scan_into,
};
use upsweep_testing::{
    Input, LargestStretch, LastOther, Random, Recurrence, Recurs, Sample, Selection, Stretch,
    Tagged, TestDevice, assert_same, for_each_device, for_each_device_of, is_odd, product,
    stretch_of,
};

/// From nothing to several tiles, whole and not; and more than a window, of several workgroups.
const LENGTHS: [usize; 4] = [0, 1, 129, 4100];
const LONG: usize = 70_003;

/// Offsets of so many items: one segment, each item its own, short ones, of all sizes with empty ones between, very many empty ones
/// at one place, and with items in front and behind that are in none.
fn offsets(items: usize) -> Vec<(&'static str, Vec<usize>)> {
    let mut random = Random::new(items as u64);
    let mut mixed = vec![0];
    while mixed[mixed.len() - 1] < items {
        let (most, is_empty) = (1 << random.below(14), random.below(3) == 0);
        let size = if is_empty { 0 } else { random.below(most) };
        mixed.push(items.min(mixed[mixed.len() - 1] + size));
    }
    let mut crowded = vec![0; 3];
    crowded.resize(70_003, items / 2);
    crowded.extend([items / 2 + items / 3, items, items]);
    vec![
        ("one", vec![0, items]),
        ("each its own", (0..=items).collect()),
        ("eight", (0..items).step_by(8).chain([items]).collect()),
        ("mixed", mixed),
        ("crowded", crowded),
        ("some left out", vec![items / 3, items / 2, items / 2, items / 3 * 2]),
    ]
}

/// The same said by an array of the device.
fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// Calls `body` on the devices that compute with these kinds.
fn on_devices(kinds: &[Kind], mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if device.supports(kinds) {
            body(device);
        }
    });
}

/// Scans and reductions by offsets of a type, in both directions, from start values.
#[track_caller]
fn check_offsets<T, U, O>(operator: O, init: U::Acc, lengths: &[usize])
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let place = Location::caller().line() as usize;
    let reductions = [Reduce::new(operator), Reduce::new(operator).init(init)];
    let scans = [
        Scan::inclusive(operator),
        Scan::exclusive(operator).init(init),
        Scan::exclusive(operator).reverse(),
        Scan::inclusive(operator).reverse(),
    ];
    for &items in lengths {
        let input: Vec<T> = Input::Uniform.array(3, items);
        for (turn, (pattern, offsets)) in offsets(items).into_iter().enumerate() {
            let begins = segmented::begins(items, &offsets);
            let reduced: Vec<Vec<U>> = reductions
                .iter()
                .map(|problem| segmented::reduce_by_offsets(&input, &offsets, problem))
                .collect();
            let scanned: Vec<Vec<U>> =
                scans.iter().map(|problem| segmented::scan(&input, &begins, problem)).collect();
            let long: Vec<u64> = offsets.iter().map(|&offset| offset as u64).collect();
            let short: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            on_devices(&[T::KIND, U::KIND], |device| {
                let of = &device.device;
                let context = || format!("{device}: {} of {items} items, {pattern}", O::NAME);
                let (resident, short_there) = (on(of, &input), on(of, &short));
                let segments = match turn % 3 {
                    0 => Segments::by_offsets(&short_there),
                    1 if device.supports(&[u64::KIND]) => Segments::by_offsets(&long),
                    _ => Segments::by_offsets(&short),
                };
                for (number, (problem, wanted)) in reductions.iter().zip(&reduced).enumerate() {
                    if !device.takes(place + number, reductions.len()) {
                        continue;
                    }
                    let mut output = on(of, &vec![U::from_acc(init); offsets.len() - 1]);
                    segmented_reduce_into(of, &resident, &segments, &mut output, problem)
                        .expect("a reduction");
                    assert_same(&output.to_vec().expect("it is there"), wanted, context());
                }
                for (number, (problem, wanted)) in scans.iter().zip(&scanned).enumerate() {
                    if !device.takes(place + number, scans.len()) {
                        continue;
                    }
                    let mut output = vec![U::from_acc(init); items];
                    segmented_scan_into(of, &input, &segments, &mut output, problem)
                        .expect("a scan");
                    assert_same(&output, wanted, context());
                }
            });
        }
    }
}

/// The same by what `said` makes of where segments begin; and their reduction to values one behind another.
#[track_caller]
fn check_begins<T, M, O>(
    operator: O,
    lengths: &[usize],
    said: impl Fn(&[bool]) -> Vec<M>,
    segments: impl for<'a> Fn(&'a Array<M>) -> Segments<'a>,
) where
    T: Sample + Widen<<T as Element>::Acc>,
    M: Element,
    O: Operator<T::Acc>,
{
    let place = Location::caller().line() as usize;
    let scans = [Scan::inclusive(operator), Scan::exclusive(operator).reverse()];
    for &items in lengths {
        let input: Vec<T> = Input::Uniform.array(5, items);
        for (pattern, offsets) in offsets(items) {
            let begins = segmented::begins(items, &offsets);
            let said = said(&begins);
            let problem = Reduce::new(operator);
            let reduced: Vec<T> = segmented::reduce(&input, &begins, &problem);
            let scanned: Vec<Vec<T>> =
                scans.iter().map(|problem| segmented::scan(&input, &begins, problem)).collect();
            on_devices(&[T::KIND, M::KIND], |device| {
                let of = &device.device;
                let context = || format!("{device}: {} of {items} items, {pattern}", O::NAME);
                let marks = on(of, &said);
                let segments = segments(&marks);
                for (number, (problem, wanted)) in scans.iter().zip(&scanned).enumerate() {
                    if !device.takes(place + number, scans.len()) {
                        continue;
                    }
                    let output = segmented_scan(of, &on(of, &input), &segments, problem);
                    let output = output.and_then(Array::into_vec).expect("a scan");
                    assert_same(&output, wanted, context());
                }
                let output: Result<Array<T>, _> =
                    segmented_reduce_with(of, &input, &segments, &problem);
                let output = output.and_then(Array::into_vec).expect("a reduction");
                assert_same(&output, &reduced, context());
            });
        }
    }
}

#[test]
fn segments_are_said_by_offsets() {
    check_offsets::<u32, u32, _>(Sum, 7, &LENGTHS);
    check_offsets::<f32, f32, _>(Sum, 0.5, &[129, LONG]);
    check_offsets::<f64, f64, _>(Max, 0.5, &LENGTHS[2..4]);
    check_offsets::<i64, i64, _>(Sum, 7, &LENGTHS[2..3]);
}

/// Far more segments than items, nearly all of them empty: in front of all items, between two, and behind.
#[test]
fn many_more_segments_than_items() {
    const EMPTY: usize = 300_000;
    let input = [3u32, 5, 7];
    for place in 0..=input.len() {
        let mut offsets: Vec<u32> = (0..=input.len() as u32).collect();
        offsets.splice(place..place, vec![place as u32; EMPTY]);
        let wanted: Vec<u32> = offsets
            .windows(2)
            .map(|pair| if pair[0] < pair[1] { input[pair[0] as usize] } else { 0 } + 100)
            .collect();
        on_devices(&[u32::KIND], |device| {
            let of = &device.device;
            let mut output = on(of, &vec![!0u32; wanted.len()]);
            let problem = Reduce::new(Sum).init(100);
            segmented_reduce_into(
                of,
                &on(of, &input),
                &Segments::by_offsets(&offsets),
                &mut output,
                &problem,
            )
            .expect("a reduction");
            let found = output.to_vec().expect("it is there");
            let wrong = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
            assert_eq!(wrong, None, "{device}: empty segments in front of item {place}");
        });
    }
}

#[test]
fn operators_of_ones_own_keep_their_order_in_segments() {
    let start = Recurrence::sample(Input::Uniform, 9);
    check_offsets::<Recurrence, Recurrence, _>(Recurs, start, &LENGTHS[2..]);
    let start = Stretch::sample(Input::Uniform, 9);
    check_offsets::<Stretch, Stretch, _>(LargestStretch, start, &LENGTHS[3..4]);
}

/// Keys that change where segments begin.
fn keys<K>(begins: &[bool], key: impl Fn(u64) -> K) -> Vec<K> {
    let mut count = 0u64;
    let next = |begins: &bool| {
        count += u64::from(*begins);
        key(count)
    };
    begins.iter().map(next).collect()
}

#[test]
fn segments_are_said_by_flags() {
    let bytes = |begins: &[bool]| begins.iter().map(|&is| u8::from(is) << 7).collect();
    check_begins::<f32, u8, _>(Sum, &LENGTHS, bytes, |flags| Segments::by_flags(flags));
    let words = |begins: &[bool]| begins.iter().map(|&is| u32::from(is) << 16).collect();
    check_begins::<i32, u32, _>(Max, &LENGTHS[3..4], words, |flags| Segments::by_flags(flags));
}

#[test]
fn segments_are_said_by_keys() {
    let odd = |begins: &[bool]| keys(begins, |count| (count % 2) as u8);
    check_begins::<u32, u8, _>(Sum, &LENGTHS[2..4], odd, |keys| Segments::by_keys(keys));
    let words = |begins: &[bool]| keys(begins, |count| count as u32);
    check_begins::<f32, u32, _>(Sum, &[5, LONG], words, |keys| Segments::by_keys(keys));
    let short = |begins: &[bool]| keys(begins, |count| !(count as i16));
    check_begins::<u32, i16, _>(Max, &LENGTHS[3..4], short, |keys| Segments::by_keys(keys));
    let long = |begins: &[bool]| keys(begins, |count| count as f64 * 0.5);
    check_begins::<f64, f64, _>(Sum, &LENGTHS[3..4], long, |keys| Segments::by_keys(keys));
    let tagged = |begins: &[bool]| keys(begins, |count| Tagged::sample(Input::Full, count));
    check_begins::<u32, Tagged, _>(Sum, &LENGTHS[2..4], tagged, |keys| Segments::by_keys(keys));
}

/// What a caller's own memory gets of a reduction by key: on the host, and on the device, where nobody waits for it.
#[test]
fn runs_of_keys_are_reduced() {
    for items in LENGTHS {
        let input: Vec<f32> = Input::Uniform.array(8, items);
        for (pattern, offsets) in offsets(items) {
            let begins = segmented::begins(items, &offsets);
            let all = keys(&begins, |count| 3 * count as u32);
            let problem = Reduce::new(Sum);
            let wanted: Vec<f32> = segmented::reduce(&input, &begins, &problem);
            let last = |&k: &usize| k + 1 == items || begins[k + 1];
            let wanted_keys: Vec<u32> = (0..items).filter(last).map(|k| all[k]).collect();
            on_devices(&[], |device| {
                let of = &device.device;
                let context = || format!("{device}: {items} items, {pattern}");
                let (keys, values) = reduce_by_key(of, &all, &input, Sum).expect("a reduction");
                assert_eq!(keys.to_vec().expect("it is there"), wanted_keys, "{}", context());
                assert_same(&values.to_vec().expect("it is there"), &wanted, context());
                let (all, input) = (on(of, &all), on(of, &input));
                let mut unique = on(of, &vec![1u32; items]);
                let mut output = on(of, &vec![-1.5f32; items]);
                let mut count = [77u64];
                let (to, at) = (&mut output, &mut count);
                reduce_by_key_into(of, &all, &input, &mut unique, to, at, &problem)
                    .expect("a reduction");
                assert_eq!(count[0], wanted.len() as u64, "{}", context());
                let unique = unique.to_vec().expect("it is there");
                assert_eq!(unique[..wanted.len()], wanted_keys, "{}", context());
                let output = output.to_vec().expect("it is there");
                assert_same(&output[..wanted.len()], &wanted, context());
            });
        }
    }
}

/// Reductions of items that are made as they are read, by offsets, flags and keys: the bits of an array that was made before.
#[track_caller]
fn check_made<'a, T, U, O>(
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
    let of = &device.device;
    let context = |by: &str| format!("{device}: {} of {} items made, {by}", O::NAME, made.len());
    let problems = [Reduce::new(operator), Reduce::new(operator).init(init)];
    for (turn, (pattern, offsets)) in offsets(made.len()).into_iter().enumerate() {
        if !device.takes(place + turn, 3) {
            continue;
        }
        let problem = &problems[turn % 2];
        let begins = segmented::begins(made.len(), &offsets);
        // A GPU makes the kernels of one of three ways.
        if device.takes(place, 3) {
            let numbers: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            let wanted: Vec<U> = segmented::reduce_by_offsets(made, &offsets, problem);
            let mut output = on(of, &vec![U::from_acc(init); offsets.len() - 1]);
            let segments = Segments::by_offsets(&numbers);
            items.segmented_reduce_into(of, &segments, &mut output, problem).expect("a reduction");
            assert_same(&output.to_vec().expect("it is there"), &wanted, context(pattern));
        }
        let wanted: Vec<U> = segmented::reduce(made, &begins, problem);
        let flags: Vec<u8> = begins.iter().map(|&begins| u8::from(begins)).collect();
        let keys = on(of, &keys(&begins, |count| count as u32));
        let said = [("flags", Segments::by_flags(&flags)), ("keys", Segments::by_keys(&keys))];
        for (number, (by, segments)) in said.into_iter().enumerate() {
            if device.takes(place + number + 1, 3) {
                let found = items.segmented_reduce_with::<U, _>(of, &segments, problem);
                let found = found.and_then(Array::into_vec).expect("a reduction");
                assert_same(&found, &wanted, context(&format!("{pattern} by {by}")));
            }
        }
    }
}

#[upsweep::function]
fn weighted(weight: u8, value: f32) -> f32 {
    weight as f32 * value
}

#[test]
fn items_are_made_in_segments() {
    for items in [0, 1, 129, 4100, LONG] {
        let (left, right): (Vec<f32>, Vec<f32>) =
            (Input::Uniform.array(1, items), Input::Uniform.array(2, items + 3));
        let weights: Vec<u8> = Input::Full.array(3, items);
        let order: Vec<u32> = (0..items as u32).map(|k| k.wrapping_mul(2_654_435_761)).collect();
        let order: Vec<u32> = order.into_iter().map(|k| k % (items as u32 + 3)).collect();
        on_devices(&[], |device| {
            let resident = on(&device.device, &right);
            let pairs = View::from(&left).zip(resident.view());
            let made: Vec<f32> = left.iter().zip(&right).map(|(l, r)| l * r).collect();
            check_made::<_, f32, _>(device, pairs.map(product {}), &made, Sum, 0.5);
            let pairs = View::from(&weights).zip(View::from(&left));
            let made: Vec<f32> =
                weights.iter().zip(&left).map(|(&w, v)| f32::from(w) * v).collect();
            check_made::<_, f32, _>(device, pairs.map(weighted {}), &made, Max, 0.5);
            let odd: Vec<u32> = weights.iter().map(|&item| u32::from(item & 1)).collect();
            let from = View::from(&weights).map(is_odd {});
            check_made::<_, u32, _>(device, from, &odd, Sum, 7);
            let last = LastOther { nothing: 1 };
            check_made::<_, u32, _>(device, from.reversed(), &reversed(&odd), last, 7);
            check_made::<_, u32, _>(device, counting(5..5 + items as u32), &counted(items), Sum, 7);
            let found = resident.view().gather(View::from(&order));
            let made: Vec<f32> = order.iter().map(|&k| right[k as usize]).collect();
            check_made::<_, f32, _>(device, found, &made, Sum, -0.0);
            check_made::<_, f32, _>(device, View::from(&left), &left, Sum, 0.5);
            if device.supports(&[f64::KIND]) {
                check_made::<_, f64, _>(device, View::from(&left).strided(1), &left, Sum, 0.5);
            }
        });
    }
}

fn reversed<T: Copy>(items: &[T]) -> Vec<T> {
    items.iter().rev().copied().collect()
}

fn counted(items: usize) -> Vec<u32> {
    (5..5 + items as u32).collect()
}

/// Structures, by an operator that does not commute.
#[test]
fn structures_are_made_in_segments() {
    for items in [129, 4100, LONG] {
        let numbers: Vec<i32> = Input::Full.array(4, items);
        let made: Vec<Stretch> = numbers.iter().map(|&number| stretch_of(number)).collect();
        on_devices(&[Stretch::KIND], |device| {
            let from = View::from(&numbers).map(stretch_of {});
            check_made::<_, Stretch, _>(device, from, &made, LargestStretch, stretch_of(-5));
        });
    }
}

/// Three arrays are made of, by offsets; more do not fit with wgpu, nor do three with the two of flags.
#[test]
fn arrays_of_segments_are_counted() {
    on_devices(&[], |device| {
        let of = &device.device;
        let items = [1.0f32, 2.0, 3.0];
        let view = View::from(&items);
        let three = view.zip(view.zip(view).map(product {})).map(product {});
        let offsets = Segments::by_offsets(&[0u32, 1, 3]);
        let found = three.segmented_reduce(of, &offsets, Sum).and_then(Array::into_vec);
        assert_eq!(found, Ok(vec![1.0, 35.0]), "{device}");
        let flags = Segments::by_flags(&[1u8, 0, 1]);
        match three.segmented_reduce(of, &flags, Sum).and_then(Array::into_vec) {
            Err(Error::Buffer { reason }) => {
                assert!(device.is_gpu() && reason.contains("4 arrays at most"), "{reason}");
            }
            found => assert_eq!(found, Ok(vec![9.0, 27.0]), "{device}"),
        }
        let wrong = Segments::by_flags(&[1u8, 0]);
        let refused = Error::Segments { reason: "there are 2 flags for 3 items".to_owned() };
        assert_eq!(three.segmented_reduce(of, &wrong, Sum).map(drop), Err(refused), "{device}");
        let mut short = [0.5f32];
        let refused = three.segmented_reduce_into(of, &offsets, &mut short, &Reduce::new(Sum));
        assert_eq!(refused, Err(Error::LengthMismatch { input: 2, output: 1 }), "{device}");
    });
}

/// The first positions of extremes among these items, by the meaning of `ArgMin` and `ArgMax`.
fn extreme<T: Number>(items: &[T], first: usize, is_better: fn(&T, &T) -> bool) -> u64 {
    let mut best: Option<Indexed<T>> = None;
    for (index, &value) in (first as u64..).zip(items) {
        let wins = best.is_none_or(|best| {
            !best.value.is_nan() && (value.is_nan() || is_better(&value, &best.value))
        });
        if wins {
            best = Some(Indexed { value, index });
        }
    }
    best.map_or(u64::MAX, |best| best.index)
}

#[track_caller]
fn check_positions<T: Number>(make: impl Fn(u64) -> T, lengths: &[usize]) {
    let place = Location::caller().line() as usize;
    for &items in lengths {
        let mut random = Random::new(items as u64 + 7);
        let input: Vec<T> = (0..items).map(|_| make(random.below(1 << 20) as u64)).collect();
        for (turn, (pattern, offsets)) in offsets(items).into_iter().enumerate() {
            let numbers: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            let begins = segmented::begins(items, &offsets);
            let flags: Vec<u8> = begins.iter().map(|&begins| u8::from(begins)).collect();
            let mut marked: Vec<usize> = (0..items).filter(|&k| begins[k]).collect();
            marked.push(items);
            let wanted = |offsets: &[usize], is_better: fn(&T, &T) -> bool| -> Vec<u64> {
                let pairs = offsets.windows(2);
                pairs.map(|pair| extreme(&input[pair[0]..pair[1]], pair[0], is_better)).collect()
            };
            let expected = [
                wanted(&offsets, T::lt),
                wanted(&offsets, T::gt),
                if items == 0 { vec![] } else { wanted(&marked, T::lt) },
            ];
            // Ranks of 64 bits are compared as such.
            let needs = if size_of::<T>() > 4 { vec![T::KIND, u64::KIND] } else { vec![T::KIND] };
            on_devices(&needs, |device| {
                if !device.takes(place + turn, 3) {
                    return;
                }
                let of = &device.device;
                let resident = on(of, &input);
                let by_offsets = Segments::by_offsets(&numbers);
                let mut there = on(of, &vec![7u64; offsets.len() - 1]);
                let mut here = vec![7u64; offsets.len() - 1];
                segmented_argmin_into(of, &resident, &by_offsets, &mut there).expect("positions");
                segmented_argmax_into(of, &input, &by_offsets, &mut here).expect("positions");
                let context = format!("{device}: {} of {items}, {pattern}", T::DTYPE);
                assert_eq!(there.to_vec().as_ref(), Ok(&expected[0]), "{context}");
                assert_eq!(here, expected[1], "{context}");
                let found = [
                    segmented_argmin(of, &resident, &by_offsets),
                    segmented_argmax(of, &input, &by_offsets),
                    segmented_argmin(of, &resident, &Segments::by_flags(&flags)),
                ];
                for (found, expected) in found.into_iter().zip(&expected) {
                    let found = found.and_then(Array::into_vec).expect("positions");
                    let wrong = found.iter().zip(expected).position(|(one, other)| one != other);
                    assert_eq!((found.len(), wrong), (expected.len(), None), "{context}");
                }
            });
        }
    }
}

/// Zeros of both signs, infinities, NaNs of both signs, and numbers with many ties.
fn float(bits: u64) -> f64 {
    match bits % 64 {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        4 if bits % 512 < 64 => f64::NAN,
        5 if bits % 512 < 64 => -f64::NAN,
        _ => (bits / 64 % 200) as f64 - 100.0,
    }
}

#[test]
fn positions_in_segments_are_the_first() {
    check_positions::<f32>(|bits| float(bits) as f32, &[0, 1, 129, 4100, LONG]);
    check_positions::<u32>(|bits| (bits as u32 % 50).wrapping_sub(1), &[129, 4100]);
    check_positions::<i8>(|bits| bits as i8, &[129, 4100]);
    check_positions::<u16>(|bits| bits as u16 / 300, &[4100]);
    check_positions::<f16>(|bits| f16::from_f64(float(bits)), &[4100]);
    check_positions::<bf16>(|bits| bf16::from_f64(float(bits)), &[4100]);
    check_positions::<i64>(|bits| (bits as i64 % 90 - 45) << 40, &[4100]);
    check_positions::<f64>(float, &[129, 4100]);
    // All others are as good as nothing.
    check_positions::<u32>(|_| u32::MAX, &[129]);
    check_positions::<u64>(|_| 0, &[129]);
}

/// Recordings read what is there when they run: other items, other offsets, other keys.
#[test]
fn recordings_run_again() {
    on_devices(&[f32::KIND, u16::KIND], |device| {
        let of = &device.device;
        for items in LENGTHS.into_iter().chain([LONG]) {
            let segments = items.div_ceil(10) + 1;
            let (mut from, mut keys) = (on(of, &vec![0f32; items]), on(of, &vec![0u16; items]));
            let mut offsets = on(of, &vec![0u32; segments + 1]);
            let (mut sums, mut prefixes) =
                (on(of, &vec![7f32; segments]), on(of, &vec![7f32; items]));
            let (mut unique, mut by_key) = (on(of, &vec![7u16; items]), on(of, &vec![7f32; items]));
            let mut count = on(of, &[7u64]);
            let (reduce, scan) = (Reduce::new(Sum).init(2.0), Scan::exclusive(Sum).reverse());
            let by_offsets = Segments::by_offsets(&offsets);
            let reduced = bind_segmented_reduce(of, &from, &by_offsets, &mut sums, &reduce);
            let scanned = bind_segmented_scan(of, &from, &by_offsets, &mut prefixes, &scan);
            let of_keys =
                bind_reduce_by_key(of, &keys, &from, &mut unique, &mut by_key, &mut count, &reduce);
            let recordings = [reduced, scanned, of_keys];
            if !device.is_gpu() {
                let is_refused = |found: &_| matches!(found, Err(Error::NoCommands { .. }));
                assert!(recordings.iter().all(is_refused), "{device}");
                return;
            }
            let recordings = recordings.map(|recording| recording.expect("a recording"));
            for turn in 0..3 {
                let context = format!("{device}: {items} items, turn {turn}");
                let input: Vec<f32> = Input::Uniform.array(turn, items);
                let mut random = Random::new(turn);
                let mut starts: Vec<_> = (0..=segments).map(|_| random.below(items + 1)).collect();
                starts.sort_unstable();
                let own_keys: Vec<u16> =
                    (0..items).map(|item| (item / (3 + turn as usize)) as u16).collect();
                let numbers: Vec<u32> = starts.iter().map(|&start| start as u32).collect();
                from.copy_from_slice(&input).expect("memory");
                keys.copy_from_slice(&own_keys).expect("memory");
                offsets.copy_from_slice(&numbers).expect("memory");
                recordings.iter().for_each(|recording| recording.submit().expect("a run"));
                let expected: Vec<f32> = segmented::reduce_by_offsets(&input, &starts, &reduce);
                assert_same(&sums.to_vec().expect("sums"), &expected, &context);
                let begins = segmented::begins(items, &starts);
                let expected: Vec<f32> = segmented::scan(&input, &begins, &scan);
                assert_same(&prefixes.to_vec().expect("prefixes"), &expected, &context);
                let begins: Vec<bool> = (0..items)
                    .map(|item| item == 0 || own_keys[item] != own_keys[item - 1])
                    .collect();
                let expected: Vec<f32> = segmented::reduce(&input, &begins, &reduce);
                assert_eq!(count.to_vec(), Ok(vec![expected.len() as u64]), "{context}");
                let found = by_key.to_vec().expect("sums");
                assert_same(&found[..expected.len()], &expected, &context);
                let mut firsts = own_keys;
                firsts.dedup();
                let found = unique.to_vec().expect("keys");
                assert_same(&found[..firsts.len()], &firsts, &context);
            }
        }
    });
}

/// Offsets as scipy, CuPy and Arrow have them.
#[test]
fn offsets_may_have_signs() {
    let items: Vec<u32> = Input::Full.array(9, 1000);
    let offsets = [0, 3, 3, 200, 1000u32];
    let wanted: Vec<u32> =
        segmented::reduce_by_offsets(&items, &offsets.map(|o| o as usize), &Reduce::new(Sum));
    on_devices(&[u32::KIND], |device| {
        let of = &device.device;
        let short = offsets.map(|offset| offset as i32);
        let long = offsets.map(i64::from);
        let reduced = |segments: &Segments<'_>| {
            segmented_reduce_with::<u32, u32, _>(of, &items, segments, &Reduce::new(Sum))
                .and_then(Array::into_vec)
        };
        assert_eq!(reduced(&Segments::by_offsets(&short)).as_ref(), Ok(&wanted), "{device}");
        assert_eq!(
            reduced(&Segments::by_offsets(&on(of, &short))).as_ref(),
            Ok(&wanted),
            "{device}"
        );
        if device.supports(&[u64::KIND]) {
            assert_eq!(reduced(&Segments::by_offsets(&long)).as_ref(), Ok(&wanted), "{device}");
        }
        let negative = Err(Error::Segments { reason: "offset 1 is negative".to_owned() });
        assert_eq!(reduced(&Segments::by_offsets(&[0, -1, 5])), negative, "{device}");
        assert_eq!(reduced(&Segments::by_offsets(&[0, i64::MIN])), negative, "{device}");
    });
}

#[test]
fn what_is_wrong_is_said_before_anything_is_written() {
    for_each_device(|device| {
        let of = &device.device;
        let items = [1u32, 2, 3];
        let reduced = |offsets: &[u32]| segmented_reduce(of, &items, offsets, Sum).map(drop);
        let segments = |reason: &str| Err(Error::Segments { reason: reason.to_owned() });
        assert_eq!(
            reduced(&[]),
            segments("there are no offsets; there must be one more than segments")
        );
        assert_eq!(reduced(&[0, 2, 1]), segments("offset 2 is 1, less than 2 before it"));
        assert_eq!(reduced(&[0, 4]), segments("the last offset is 4, and there are 3 items"));
        let scanned = inclusive_scan_by_key(of, &[1u8, 2], &items, Sum).map(drop);
        assert_eq!(scanned, segments("there are 2 keys for 3 items"));
        let mut output = [9u32; 4];
        let by_keys = Segments::by_keys(&[1u8, 1, 2]);
        let wrong = Err(Error::LengthMismatch { input: 3, output: 4 });
        let scan = Scan::inclusive(Sum);
        assert_eq!(segmented_scan_into(of, &items, &by_keys, &mut output, &scan), wrong);
        let by_offsets = Segments::by_offsets(&[0u32, 1, 3]);
        let problem = Reduce::new(Sum);
        let found = segmented_reduce_into(of, &items, &by_offsets, &mut output, &problem);
        assert_eq!(found, Err(Error::LengthMismatch { input: 2, output: 4 }));
        let found = segmented_reduce_into(of, &items, &by_keys, &mut output, &problem);
        assert_eq!(found, segments("how many values there are is known by offsets only"));
        assert_eq!(output, [9; 4], "{device}");
        let mut places = [9u64; 4];
        let found = segmented_argmin_into(of, &items, &by_offsets, &mut places);
        assert_eq!(found, Err(Error::LengthMismatch { input: 2, output: 4 }));
        let found = segmented_argmax_into(of, &items, &by_keys, &mut places);
        assert_eq!(found, segments("how many values there are is known by offsets only"));
        assert_eq!(places, [9; 4], "{device}");
    });
}
