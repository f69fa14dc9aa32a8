//! Runs of neighbours that are the same: what the reference finds, byte for byte, on every device.

use upsweep::reference::compaction;
use upsweep::{
    Array, Device, Element, Error, Kind, ViewMut, bf16, bind_run_length_encode, bind_unique, f16,
    run_length_encode, run_length_encode_into, unique, unique_by_key, unique_by_key_into,
    unique_in_place, unique_into,
};
use upsweep_testing::{
    Input, Powers, Random, Sample, Selection, Tagged, TestDevice, Wide, for_each_device_of,
};

/// From nothing to several tiles, whole and not; and of several workgroups.
const LENGTHS: [usize; 7] = [0, 1, 33, 2049, 8192, 33_000, 70_003];

/// How long runs are: all, of so many items, or of so many at the most.
const PATTERNS: [Runs; 6] = [
    Runs::Of(1),
    Runs::Of(8),
    Runs::Of(1000),
    Runs::Of(usize::MAX),
    Runs::UpTo(3),
    Runs::UpTo(3000),
];

#[derive(Clone, Copy, Debug)]
enum Runs {
    Of(usize),
    UpTo(usize),
}

impl Runs {
    /// So many items, of which neighbours in different runs may be the same by chance only.
    fn items<T: Sample>(self, items: usize, values: &mut impl FnMut() -> T) -> Vec<T> {
        let mut random = Random::new(items as u64);
        let mut all = Vec::with_capacity(items);
        while all.len() < items {
            let run = match self {
                Self::Of(run) => run,
                Self::UpTo(most) => 1 + random.below(most),
            };
            let run = run.min(items - all.len());
            all.extend(core::iter::repeat_n(values(), run));
        }
        all
    }
}

/// Values of an input, again and again.
fn values<T: Sample>(input: Input) -> impl FnMut() -> T {
    let mut all = input.array::<T>(11, 5000).into_iter().cycle();
    move || all.next().expect("there is always another one")
}

/// Bytes, since values that are equal are not always the same.
#[track_caller]
fn assert_bytes<T: Element>(found: &[T], expected: &[T], context: &str) {
    assert_eq!(found.len(), expected.len(), "{context}");
    let differs =
        |place: &usize| T::bytes(&found[*place..=*place]) != T::bytes(&expected[*place..=*place]);
    let place = (0..found.len()).find(differs);
    assert_eq!(place, None, "{context}: {:?}", place.map(|place| (found[place], expected[place])));
}

fn on_devices(kinds: &[Kind], mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if device.supports(kinds) {
            body(device);
        }
    });
}

fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// What a call leaves in the caller's memory, as much as it says.
fn left_in<T: Sample>(
    device: &Device,
    items: usize,
    call: impl FnOnce(&mut Array<T>, &mut Array<u64>),
) -> Vec<T> {
    let (mut output, mut number) =
        (on(device, &vec![T::from_bits(0x5a5a_5a5a); items]), on(device, &[u64::MAX]));
    call(&mut output, &mut number);
    let mut found = output.into_vec().expect("items");
    found.truncate(number.into_vec().expect("a number")[0] as usize);
    found
}

/// Unique items and lengths of runs of a type. Kernels are those of a size, so that each GPU takes one of so many types, this by its number.
fn check<T: Sample>(input: Input, (type_number, one_in): (usize, usize)) {
    for (turn, items) in LENGTHS.into_iter().enumerate() {
        for (number, runs) in PATTERNS.into_iter().enumerate() {
            let all: Vec<T> = runs.items(items, &mut values(input));
            let (firsts, lengths) = compaction::run_length_encode(&all);
            let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
            on_devices(&[T::KIND], |device| {
                if !(device.takes(type_number, one_in) && device.takes(turn + number, 6)) {
                    return;
                }
                let of = &device.device;
                let context = format!("{device}: {items} {}, {runs:?}", T::KIND);
                let there = on(of, &all);
                let kept = unique(of, &there).expect("a selection");
                assert_eq!((kept.len(), kept.capacity()), (Ok(firsts.len()), items), "{context}");
                assert_bytes(&kept.into_vec().expect("items"), &firsts, &context);
                let found = left_in(of, items, |output, count| {
                    unique_into(of, &all, output, count).expect("a selection");
                });
                assert_bytes(&found, &firsts, &context);
                let (mut own, mut number) = (on(of, &all), on(of, &[u64::MAX]));
                unique_in_place(of, &mut own, &mut number).expect("a selection");
                let count = number.into_vec().expect("a number")[0] as usize;
                assert_bytes(&own.into_vec().expect("items")[..count], &firsts, &context);
                let (mut own, mut number) = (all.clone(), [u64::MAX]);
                unique_in_place(of, &mut own, &mut number).expect("a selection");
                assert_bytes(&own[..number[0] as usize], &firsts, &context);

                let (values, counts) = run_length_encode::<T, u32>(of, &there).expect("runs");
                assert_eq!((values.len(), counts.len()), (Ok(firsts.len()), Ok(firsts.len())));
                assert_bytes(&values.into_vec().expect("items"), &firsts, &context);
                assert_bytes(&counts.into_vec().expect("counts"), &lengths, &context);
            });
        }
    }
}

#[test]
fn runs_of_bytes() {
    check::<u8>(Input::Full, (0, 2));
    check::<i8>(Input::Small, (1, 2));
}

#[test]
fn runs_of_short_numbers() {
    check::<u16>(Input::Full, (0, 4));
    check::<i16>(Input::Small, (1, 4));
    check::<f16>(Input::Special, (2, 4));
    check::<bf16>(Input::Special, (3, 4));
}

#[test]
fn runs_of_numbers() {
    check::<u32>(Input::Small, (0, 3));
    check::<i32>(Input::Full, (1, 3));
    check::<f32>(Input::Special, (2, 3));
}

#[test]
fn runs_of_long_numbers() {
    check::<u64>(Input::Full, (0, 3));
    check::<i64>(Input::Small, (1, 3));
    check::<f64>(Input::Special, (2, 3));
}

#[test]
fn runs_of_structures() {
    check::<Powers>(Input::Full, (0, 2));
    check::<Tagged>(Input::Full, (1, 2));
}

/// Counts of either size, in the caller's memory.
#[test]
fn counts_of_runs() {
    for items in [0, 1, 700, 20_001] {
        let all: Vec<i16> = Runs::UpTo(50).items(items, &mut values(Input::Small));
        let (firsts, lengths) = compaction::run_length_encode(&all);
        let short: Vec<u32> = lengths.iter().map(|length| *length as u32).collect();
        on_devices(&[u64::KIND], |device| {
            let of = &device.device;
            let context = format!("{device}: {items}");
            let encoded = |counts: ViewMut<'_, u64>, number: &mut Array<u64>| {
                let mut values = on(of, &all);
                run_length_encode_into(of, &all, &mut values, counts, number).expect("runs");
                let values = values.into_vec().expect("items");
                assert_bytes(&values[..firsts.len()], &firsts, &context);
            };
            let counts = left_in(of, items, |counts, number| encoded(counts.view_mut(), number));
            assert_bytes(&counts, &lengths, &context);
            let (mut values, mut counts, mut number) = (all.clone(), vec![0u32; items], [0]);
            run_length_encode_into(of, &all, &mut values, &mut counts, &mut number).expect("runs");
            assert_eq!(number, [firsts.len() as u64], "{context}");
            assert_bytes(&values[..firsts.len()], &firsts, &context);
            assert_bytes(&counts[..short.len()], &short, &context);
        });
    }
}

/// Structures that differ in one field alone, the signs of zeros, payloads of NaNs.
#[test]
fn runs_are_told_apart_by_single_bits() {
    let wide = |high, low, parity| Wide { high, low, count: 7, parity };
    let (all, beside) = (
        [wide(1, 2, 3), wide(1, 2, 3), wide(1, 2, 4), wide(1, 1 << 63, 4), wide(9, 1 << 63, 4)],
        [10u8, 20, 30, 40, 50],
    );
    let other_nan = f32::from_bits(f32::NAN.to_bits() + 1);
    let floats = [-0.0f32, -0.0, 0.0, 0.0, f32::NAN, f32::NAN, other_nan, -f32::NAN, 1.0, 1.0];
    on_devices(&[Wide::KIND], |device| {
        let (_, kept) = unique_by_key(&device.device, &all, &beside).expect("two selections");
        assert_eq!(kept.into_vec(), Ok(vec![10, 30, 40, 50]), "{device}");
    });
    on_devices(&[f32::KIND], |device| {
        let kept = unique(&device.device, &floats).expect("a selection").into_vec();
        let bits = kept.expect("items").into_iter().map(f32::to_bits);
        let expected = compaction::unique(&floats).into_iter().map(f32::to_bits);
        assert!(bits.eq(expected), "{device}");
    });
}

/// Items by keys, of which each GPU takes the pair of one number.
fn check_by_key<K: Sample, T: Sample>(number: usize) {
    for items in [0, 1, 700, 20_001] {
        let keys: Vec<K> = Runs::UpTo(9).items(items, &mut values(Input::Small));
        let all: Vec<T> = Input::Special.array(8, items);
        let (firsts, others) = compaction::unique_by_key(&keys, &all);
        on_devices(&[K::KIND, T::KIND], |device| {
            if !device.takes(number, 3) {
                return;
            }
            let of = &device.device;
            let context = format!("{device}: {items} {} by {}", T::KIND, K::KIND);
            let found = left_in(of, items, |output, count| {
                let mut kept = on(of, &keys);
                unique_by_key_into(of, &keys, &all, &mut kept, output, count).expect("selections");
                let kept = kept.into_vec().expect("keys");
                assert_bytes(&kept[..firsts.len()], &firsts, &context);
            });
            assert_bytes(&found, &others, &context);
            let (keys, all) = (on(of, &keys), on(of, &all));
            let (keys, kept) = unique_by_key(of, &keys, &all).expect("selections");
            assert_eq!((keys.len(), kept.len()), (Ok(firsts.len()), Ok(firsts.len())));
            assert_bytes(&keys.into_vec().expect("keys"), &firsts, &context);
            assert_bytes(&kept.into_vec().expect("items"), &others, &context);
        });
    }
}

/// Keys that are longer than items, and shorter ones.
#[test]
fn items_of_the_first_keys() {
    check_by_key::<u8, f32>(0);
    check_by_key::<f32, u16>(1);
    check_by_key::<Powers, u32>(2);
}

/// Parts of buffers that begin where no access of several items may: each GPU takes one.
#[cfg(feature = "wgpu")]
#[test]
fn runs_begin_anywhere_in_a_buffer() {
    use upsweep::View;
    fn check<T: Sample>(device: &TestDevice, start: usize) {
        if !device.takes(start, 3) {
            return;
        }
        let (of, items) = (&device.device, 5003);
        let all: Vec<T> = Runs::UpTo(4).items(items + start, &mut values(Input::Small));
        let there = on(of, &all);
        let Some(buffer) = there.buffer() else { return };
        let byte = (start * size_of::<T>()) as u64;
        let part = View::<T>::of_buffer(buffer, byte, items).expect("a part");
        let context = format!("{device}: {} from {start}", T::KIND);
        let kept = unique(of, part).expect("a selection").into_vec().expect("items");
        assert_bytes(&kept, &compaction::unique(&all[start..]), &context);
        let (values, counts) = run_length_encode::<T, u32>(of, part).expect("runs");
        let expected = compaction::run_length_encode(&all[start..]);
        assert_bytes(&values.into_vec().expect("items"), &expected.0, &context);
        let counts = counts.into_vec().expect("counts").into_iter().map(u64::from);
        assert!(counts.eq(expected.1), "{context}");
    }
    on_devices(&[], |device| {
        check::<u8>(device, 5);
        check::<i16>(device, 1);
        check::<u32>(device, 3);
    });
}

#[test]
fn recordings_find_the_runs_that_are_there() {
    on_devices(&[], |device| {
        let of = &device.device;
        let items = 9001;
        let bound: Vec<u16> = Runs::UpTo(5).items(items, &mut values(Input::Small));
        let mut there = on(of, &bound);
        let (mut firsts, mut number) = (on(of, &vec![7u16; items]), on(of, &[7u64]));
        let (mut encoded, mut runs) = (on(of, &vec![7u16; items]), on(of, &[7u64]));
        let mut counts = on(of, &vec![7u32; items]);
        let kept = bind_unique(of, &there, &mut firsts, &mut number);
        let coded = bind_run_length_encode(of, &there, &mut encoded, &mut counts, &mut runs);
        if !device.is_gpu() {
            assert!(matches!(coded, Err(Error::NoCommands { .. })), "{device}");
            assert!(matches!(kept, Err(Error::NoCommands { .. })), "{device}");
            return;
        }
        let mut length = on(of, &[0u64]);
        let view = there.view().with_length(&length).expect("a length");
        let (mut fewer, mut long) = (on(of, &vec![7u16; items]), on(of, &vec![7u64; items]));
        let mut ends = on(of, &[7u64]);
        let part = bind_run_length_encode(of, view, &mut fewer, &mut long, &mut ends);
        let recordings = [kept, coded, part].map(|bound| bound.expect("a recording"));
        for (most, length_now) in [(3, 5000), (40, 0), (1, 1), (20_000, items)] {
            let now: Vec<u16> = Runs::UpTo(most).items(items, &mut values(Input::Full));
            there.copy_from_slice(&now).expect("as many");
            length.copy_from_slice(&[length_now as u64]).expect("one");
            recordings.iter().for_each(|recording| recording.submit().expect("a run"));
            let context = format!("{device}: runs up to {most}, {length_now} items");
            let expected = compaction::run_length_encode(&now);
            let found = |items: &Array<u16>, number: &Array<u64>| {
                let number = number.to_vec().expect("a number")[0] as usize;
                items.to_vec().expect("items")[..number].to_vec()
            };
            assert_bytes(&found(&firsts, &number), &expected.0, &context);
            assert_bytes(&found(&encoded, &runs), &expected.0, &context);
            let all = counts.to_vec().expect("counts").into_iter().map(u64::from);
            assert!(all.take(expected.1.len()).eq(expected.1), "{context}");
            let expected = compaction::run_length_encode(&now[..length_now]);
            assert_bytes(&found(&fewer, &ends), &expected.0, &context);
            assert_eq!(long.to_vec().expect("counts")[..expected.1.len()], expected.1, "{context}");
        }
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, mut output, mut counts) = ([1u32, 2, 3], [7u32; 3], [7u32; 3]);
        let (mut short, mut number) = ([7u32; 2], [7u64]);
        let refused = Err(Error::LengthMismatch { input: 3, output: 2 });
        assert_eq!(unique_into(of, &items, &mut short, &mut number), refused);
        let many = Err(Error::ResultLength { items: 2 });
        assert_eq!(unique_into(of, &items, &mut output, &mut [7u64; 2]), many);
        assert_eq!(unique_by_key(of, &items, &[1u8, 2]).map(drop), refused);
        let by_key = |output: &mut [u32], number: &mut [u64]| {
            unique_by_key_into(of, &items, &items, &mut counts.clone(), output, number)
        };
        assert_eq!(by_key(&mut short, &mut number), refused);
        assert_eq!(by_key(&mut output, &mut []), Err(Error::ResultLength { items: 0 }));
        let encoded = run_length_encode_into(of, &items, &mut output, &mut short, &mut number);
        assert_eq!(encoded, refused);
        let encoded = run_length_encode_into(of, &items, &mut short, &mut counts, &mut number);
        assert_eq!(encoded, refused);
        assert_eq!((output, counts, short, number), ([7; 3], [7; 3], [7; 2], [7]));
    });
}
