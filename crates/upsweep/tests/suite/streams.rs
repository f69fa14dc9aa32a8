//! Streams: chunks give the bits that the whole gives.

use upsweep::reference::compaction;
use upsweep::{
    Array, Device, Direction, Dtype, Element, Error, Fused, Indexed, Max, Operator, PositionStream,
    Product, Reduce, ReduceStream, RunLengthStream, Scan, ScanStream, SelectStream, Sum,
    UniqueStream, View, ViewMut, Widen, f16,
};
use upsweep_testing::{
    Affine, Compose, Input, Last, LastOther, Powers, Random, Recurrence, Recurs, Sample, Selection,
    TestDevice, assert_same, expected_reduce, expected_scan, for_each_device_of, for_each_gpu,
    scan_problems,
};

/// Lengths of chunks that add up to `items`: multiples of `unit` from the seed, then the rest.
fn cuts(items: usize, unit: usize, most: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut left = items;
    let mut cuts = Vec::new();
    while left >= unit {
        // Nothing at all is also a chunk.
        let chunk = random.below(most + 1).min(left / unit) * unit;
        cuts.push(chunk);
        left -= chunk;
    }
    cuts.push(left);
    cuts
}

fn reduces_like_the_whole<T, A, O>(operator: O, init: A, input: Input)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    let unit = ReduceStream::<T, A, O>::CHUNK;
    for (seed, items) in [(1, 0), (2, 1), (3, unit), (4, unit + 1), (5, 4 * unit + 12_345)] {
        let array: Vec<T> = input.array(seed, items);
        for problem in [Reduce::new(operator), Reduce::new(operator).init(init)] {
            let expected = expected_reduce(&array, &problem);
            for_each_device_of(Selection::Representative, |device| {
                let mut stream =
                    ReduceStream::<T, A, O>::new(&device.device, problem).expect("a stream");
                let mut rest = array.as_slice();
                for cut in cuts(items, unit, 2, seed) {
                    let chunk = rest.split_off(..cut).expect("the cuts add up");
                    let pushed = stream.push(chunk);
                    if device.result(&[T::KIND, A::KIND], &operator, pushed).is_none() {
                        return;
                    }
                }
                let context = format!("{device}: {} of {items} items in chunks", O::NAME);
                assert_same(&[stream.finish()], &[expected], context);
            });
        }
    }
}

#[test]
fn reductions_in_chunks() {
    reduces_like_the_whole::<f32, f32, _>(Sum, 0.375, Input::Mixed);
    reduces_like_the_whole::<f16, f32, _>(Product, 1.25, Input::NearOne);
    reduces_like_the_whole::<u8, u64, _>(Sum, 3, Input::Full);
    reduces_like_the_whole::<i32, i32, _>(Max, 3, Input::Full);
}

#[test]
fn reductions_in_chunks_that_do_not_commute() {
    let map = Affine { scale: 0.75, shift: 0.5 };
    reduces_like_the_whole::<Affine<f32>, Affine<f32>, _>(Compose, map, Input::Full);
    reduces_like_the_whole::<u32, u32, _>(Last, 3, Input::Small);
    // These run on GPUs too.
    let step = Recurrence::sample(Input::Full, 5);
    reduces_like_the_whole::<Recurrence, Recurrence, _>(Recurs, step, Input::Full);
    reduces_like_the_whole::<u8, u32, _>(LastOther { nothing: 2 }, 3, Input::Small);
}

fn scans_like_the_whole<T, U, O>(operator: O, init: U::Acc, input: Input)
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let unit = ScanStream::<T, U, O>::CHUNK;
    for (seed, items) in [(1, 0), (2, 1), (3, unit), (4, 3 * unit + 1), (5, 11 * unit + 12_345)] {
        let array: Vec<T> = input.array(seed, items);
        for (variant, problem) in scan_problems(operator, init).into_iter().enumerate() {
            let expected: Vec<U> = expected_scan(&array, &problem);
            for_each_device_of(Selection::Representative, |device| {
                // Of the kernels of GPUs two, the first and the last, in turns.
                if device.is_gpu() && !([0, 7].contains(&variant) && device.takes(variant, 2)) {
                    return;
                }
                let mut output = vec![U::from_bits(0x5555_5555_5555_5555); items];
                let mut stream =
                    ScanStream::<T, U, O>::new(&device.device, problem).expect("a stream");
                assert_eq!(stream.direction(), problem.direction);
                let cuts = cuts(items, unit, 5, seed);
                let scanned = scan_chunks(&mut stream, &array, &mut output, &cuts);
                let kinds = [T::KIND, U::Acc::KIND, U::KIND];
                if device.result(&kinds, &operator, scanned).is_none() {
                    return;
                }
                let Scan { bounds, direction, init, .. } = problem;
                let how = format!("{bounds:?} {direction:?} from {init:?}");
                let context = format!("{device}: {} {how}, {items} items in chunks", O::NAME);
                assert_same(&output, &expected, context);
            });
        }
    }
}

fn scan_chunks<T, U, O>(
    stream: &mut ScanStream<T, U, O>,
    mut items: &[T],
    mut output: &mut [U],
    cuts: &[usize],
) -> upsweep::Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    for &cut in cuts {
        let rest = items.len() - cut;
        let (chunk, target) = match stream.direction() {
            Direction::Forward => (items.split_off(..cut), output.split_off_mut(..cut)),
            Direction::Reverse => (items.split_off(rest..), output.split_off_mut(rest..)),
        };
        let (chunk, target) = (chunk.expect("the cuts add up"), target.expect("so they do"));
        stream.next(chunk, target)?;
    }
    Ok(())
}

#[test]
fn scans_in_chunks() {
    scans_like_the_whole::<f32, f32, _>(Sum, 0.375, Input::Mixed);
    scans_like_the_whole::<f16, f16, _>(Sum, 0.375, Input::Mixed);
    scans_like_the_whole::<u8, u32, _>(Sum, 3, Input::Full);
    scans_like_the_whole::<u32, u32, _>(Max, 3, Input::Full);
}

#[test]
fn scans_in_chunks_that_do_not_commute() {
    let map = Affine { scale: 0.75, shift: 0.5 };
    scans_like_the_whole::<Affine<f32>, Affine<f32>, _>(Compose, map, Input::Full);
    scans_like_the_whole::<u32, u32, _>(Last, 3, Input::Small);
    let step = Recurrence::sample(Input::Full, 5);
    scans_like_the_whole::<Recurrence, Recurrence, _>(Recurs, step, Input::Full);
    scans_like_the_whole::<u8, u32, _>(LastOther { nothing: 2 }, 3, Input::Small);
}

#[test]
fn nothing_follows_the_last_chunk_of_a_reduction() {
    let unit = ReduceStream::<u8, u64, Sum>::CHUNK;
    let mut stream =
        ReduceStream::<u8, u64, _>::new(&Device::cpu(), Reduce::new(Sum)).expect("a stream");
    stream.push(&vec![1; unit]).expect("a whole chunk");
    stream.push(&[1; 5]).expect("the last chunk");
    let refused = Error::ChunkLength { items: 7, multiple: unit };
    assert_eq!(stream.push(&[1; 7]), Err(refused.clone()));
    assert_eq!(stream.push(&[1; 7]), Err(refused.clone()), "the error does not wear off");
    stream.push(&[]).expect("nothing is always welcome");
    assert_eq!(stream.push(&[1; 7]), Err(refused), "nothing does not open the end again");
    assert_eq!(stream.finish(), unit as u64 + 5, "what was refused is not counted");
    assert_eq!(stream.finish(), unit as u64 + 5, "finishing changes nothing");
}

#[test]
fn nothing_follows_the_last_chunk_of_a_scan() {
    let unit = ScanStream::<u8, u8, Sum>::CHUNK;
    let mut stream =
        ScanStream::<u8, u8, _>::new(&Device::cpu(), Scan::inclusive(Sum)).expect("a stream");
    let mut output = [9u8; 3];
    let mismatch = Error::LengthMismatch { input: 2, output: 3 };
    assert_eq!(stream.next(&[1, 1], &mut output), Err(mismatch), "lengths differ");
    stream.next(&[1, 1, 1], &mut output).expect("the last chunk");
    assert_eq!(output, [1, 2, 3], "an error before leaves no trace");
    let refused = Error::ChunkLength { items: 3, multiple: unit };
    assert_eq!(stream.next(&[1, 1, 1], &mut output), Err(refused.clone()));
    stream.next(&[], &mut []).expect("nothing is always welcome");
    assert_eq!(stream.next(&[1, 1, 1], &mut output), Err(refused), "still");
    assert_eq!(output, [1, 2, 3], "what was refused is not written");
}

/// Chunks of any lengths that make up an array: none, single items, some, many.
fn chunks<T>(items: &[T], seed: u64) -> Vec<&[T]> {
    let (mut random, mut rest, mut chunks) = (Random::new(seed), items, Vec::new());
    while !rest.is_empty() {
        let most = [1, 2, 40, 3000][random.below(4)];
        let chunk = random.below(most + 1).min(rest.len());
        chunks.push(rest.split_off(..chunk).expect("so many are left"));
    }
    chunks.push(rest);
    chunks
}

/// Runs of at most so many items, the values of which come again.
fn runs<T: Sample>(items: usize, most: usize, input: Input) -> Vec<T> {
    let (mut random, values) = (Random::new(items as u64), input.array::<T>(7, 50));
    let mut all = Vec::with_capacity(items);
    while all.len() < items {
        let run = (1 + random.below(most)).min(items - all.len());
        all.extend(core::iter::repeat_n(values[random.below(50)], run));
    }
    all
}

/// A device, and whether chunks and outputs are in its memory or in the host's.
#[derive(Clone, Copy)]
struct Place<'a> {
    device: &'a Device,
    there: bool,
}

impl Place<'_> {
    fn array<T: Element>(self, items: &[T]) -> Option<Array<T>> {
        self.there.then(|| Array::from_slice(self.device, items).expect("memory"))
    }

    /// Does something with a chunk where it is wanted.
    fn with<T: Element, R>(self, chunk: &[T], body: impl FnOnce(View<'_, T>) -> R) -> R {
        let own = self.array(chunk);
        body(own.as_ref().map_or(View::from(chunk), View::from))
    }

    /// What a call leaves in an output, as much as it says.
    fn written<T: Sample>(
        self,
        items: usize,
        call: impl FnOnce(ViewMut<'_, T>, ViewMut<'_, u64>),
    ) -> Vec<T> {
        let mut output = Output::new(self, &vec![T::from_bits(0x5a5a_5a5a); items]);
        let mut count = Output::new(self, &[u64::MAX]);
        call(output.view(), count.view());
        let mut found = output.into_vec();
        found.truncate(count.into_vec()[0] as usize);
        found
    }

    fn unique<T: Sample>(self, chunks: &[&[T]]) -> Vec<T> {
        let mut stream = UniqueStream::new(self.device);
        let next = |chunk: &&[T]| {
            self.written(chunk.len(), |output, count| {
                self.with(chunk, |chunk| stream.next(chunk, output, count)).expect("a chunk");
            })
        };
        chunks.iter().flat_map(next).collect()
    }

    fn runs<T: Sample>(self, chunks: &[&[T]]) -> (Vec<T>, Vec<u32>) {
        let mut stream = RunLengthStream::<T, u32>::new(self.device);
        assert!(stream.finish().is_none(), "of nothing no run is open");
        let (mut values, mut counts) = (Vec::new(), Vec::new());
        for chunk in chunks {
            let mut lengths = Vec::new();
            values.extend(self.written(chunk.len(), |values, number| {
                let mut counts = Output::new(self, &vec![7u32; chunk.len()]);
                self.with(chunk, |chunk| stream.next(chunk, values, counts.view(), number))
                    .expect("a chunk");
                lengths = counts.into_vec();
            }));
            counts.extend_from_slice(&lengths[..values.len() - counts.len()]);
        }
        let (value, count) = stream.finish().unzip();
        values.extend(value);
        counts.extend(count);
        (values, counts)
    }
}

/// Where a call writes: in the host's memory or on a device.
enum Output<T> {
    Here(Vec<T>),
    There(Array<T>),
}

impl<T: Element> Output<T> {
    fn new(place: Place<'_>, items: &[T]) -> Self {
        place.array(items).map_or_else(|| Self::Here(items.to_vec()), Self::There)
    }

    fn view(&mut self) -> ViewMut<'_, T> {
        match self {
            Self::Here(items) => items.into(),
            Self::There(items) => items.view_mut(),
        }
    }

    fn into_vec(self) -> Vec<T> {
        match self {
            Self::Here(items) => items,
            Self::There(items) => items.into_vec().expect("items"),
        }
    }
}

fn places(device: &TestDevice, body: impl Fn(Place<'_>)) {
    body(Place { device: &device.device, there: false });
    if device.is_gpu() {
        body(Place { device: &device.device, there: true });
    }
}

#[track_caller]
fn assert_bytes<T: Element>(found: &[T], expected: &[T], context: &str) {
    assert!(T::bytes(found) == T::bytes(expected), "{context}: {found:?} {expected:?}");
}

/// Runs of a type, of which each GPU takes one of three by its number.
fn check_runs<T: Sample>(number: usize, input: Input) {
    for (turn, (items, most)) in
        [(0, 1), (1, 1), (900, 2), (9000, 40), (9000, 9000), (20_001, 5000)].into_iter().enumerate()
    {
        let all: Vec<T> = runs(items, most, input);
        let (values, lengths) = compaction::run_length_encode(&all);
        let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
        for_each_device_of(Selection::Representative, |device| {
            if !device.supports(&[T::KIND])
                || device.is_gpu() && !(device.takes(number, 3) && device.takes(turn, 2))
            {
                return;
            }
            let chunks = chunks(&all, 3 + turn as u64);
            places(device, |place| {
                let context = format!("{device} {}: {items} {} in {most}", place.there, T::KIND);
                assert_bytes(&place.unique(&chunks), &values, &context);
                let (found, counts) = place.runs(&chunks);
                assert_bytes(&found, &values, &context);
                assert_eq!(counts, lengths, "{context}");
            });
        });
    }
}

#[test]
fn runs_in_chunks() {
    check_runs::<u8>(0, Input::Full);
    check_runs::<f32>(1, Input::Special);
    check_runs::<Powers>(2, Input::Full);
}

#[test]
fn long_and_short_runs_in_chunks() {
    check_runs::<f16>(0, Input::Special);
    check_runs::<u64>(1, Input::Full);
    check_runs::<i32>(2, Input::Small);
}

/// Every way to cut runs of one, two and four items, and zeros and NaNs that differ in a bit.
#[test]
fn runs_in_all_chunks() {
    let other_nan = f32::from_bits(f32::NAN.to_bits() + 1);
    let all = [1.0f32, 0.0, -0.0, -0.0, -0.0, -0.0, f32::NAN, f32::NAN, other_nan, 1.0];
    let (values, lengths) = compaction::run_length_encode(&all);
    let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
    for_each_device_of(Selection::Representative, |device| {
        for ways in 0..1u32 << (all.len() - 1) {
            if device.is_gpu() && !device.takes(ways as usize, 64) {
                continue;
            }
            let (mut rest, mut chunks) = (&all[..], Vec::new());
            while !rest.is_empty() {
                let cut = ways >> (all.len() - rest.len());
                let chunk = (1 + cut.trailing_zeros() as usize).min(rest.len());
                chunks.push(rest.split_off(..chunk).expect("so many are left"));
            }
            places(device, |place| {
                let context = format!("{device} {}: {ways:b}", place.there);
                assert_bytes(&place.unique(&chunks), &values, &context);
                let (found, counts) = place.runs(&chunks);
                assert_bytes(&found, &values, &context);
                assert_eq!(counts, lengths, "{context}");
            });
        }
    });
}

#[test]
fn outputs_of_runs_lie_anywhere() {
    for_each_device_of(Selection::Representative, |device| {
        for ways in 0..8 {
            if !(device.is_gpu() && device.takes(ways, 3)) {
                continue;
            }
            let [first, second, third] =
                [1, 2, 4].map(|bit| Place { device: &device.device, there: ways & bit != 0 });
            let mut values = Output::new(first, &[7u16; 5]);
            let mut counts = Output::new(second, &[7u32; 5]);
            let mut number = Output::new(third, &[7u64]);
            let mut stream = RunLengthStream::new(&device.device);
            let outputs = (values.view(), counts.view(), number.view());
            stream.next(&[3, 3, 5, 9, 9], outputs.0, outputs.1, outputs.2).expect("a chunk");
            assert_eq!(values.into_vec()[..2], [3, 5], "{device}: {ways}");
            assert_eq!(counts.into_vec()[..2], [2, 1], "{device}: {ways}");
            assert_eq!(number.into_vec(), [2], "{device}: {ways}");
            assert_eq!(stream.finish(), Some((9, 2)), "{device}: {ways}");
        }
    });
}

#[upsweep::function]
fn is_negative(value: i32) -> bool {
    value < 0
}

#[test]
fn selections_in_chunks() {
    for (seed, items) in [(1, 0), (2, 1), (3, 900), (4, 20_001)] {
        let all: Vec<i32> = Input::Full.array(seed, items);
        let flags: Vec<u8> = all.iter().map(|item| (*item < 0).into()).collect();
        let expected = compaction::select(&all, &flags);
        let numbers: Vec<u32> =
            compaction::positions(&flags).into_iter().map(|number| number as u32).collect();
        for_each_device_of(Selection::Representative, |device| {
            places(device, |place| {
                let context = format!("{device} {}: {items}", place.there);
                let mut stream = SelectStream::new(place.device);
                let (mut kept, mut filtered) = (Vec::new(), Vec::new());
                for (chunk, flags) in chunks(&all, seed).into_iter().zip(chunks(&flags, seed)) {
                    kept.extend(place.written(chunk.len(), |output, count| {
                        place
                            .with(chunk, |chunk| {
                                place.with(flags, |flags| stream.next(chunk, flags, output, count))
                            })
                            .expect("a chunk");
                    }));
                    filtered.extend(place.written(chunk.len(), |output, count| {
                        place
                            .with(chunk, |chunk| {
                                let chunk = chunk.filter(is_negative {});
                                stream.next_filtered(&chunk, output, count)
                            })
                            .expect("a chunk");
                    }));
                }
                assert_eq!(kept, expected, "{context}");
                assert_eq!(filtered, expected, "{context}");
                let mut stream = PositionStream::<u32>::new(place.device);
                let next = |chunk: &&[u8]| {
                    place.written(chunk.len(), |output, count| {
                        place.with(chunk, |chunk| stream.next(chunk, output, count)).expect("it");
                    })
                };
                let found: Vec<u32> = chunks(&flags, seed + 9).iter().flat_map(next).collect();
                assert_eq!(found, numbers, "{context}");
            });
        });
    }
}

#[test]
fn streams_of_compactions_refuse_what_does_not_fit() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, mut output, mut short, mut count) = ([1u32, 1, 2], [7; 3], [7; 2], [7u64]);
        let refused = Err(Error::LengthMismatch { input: 3, output: 2 });
        let many = Err(Error::ResultLength { items: 2 });
        let mut unique = UniqueStream::new(of);
        assert_eq!(unique.next(&items, &mut short, &mut count), refused);
        assert_eq!(unique.next(&items, &mut output, &mut [7; 2]), many);
        let mut select = SelectStream::new(of);
        assert_eq!(select.next(&items, &items, &mut short, &mut count), refused);
        assert_eq!(select.next(&items, &[1u8, 2], &mut output, &mut count), refused);
        let mut positions = PositionStream::<u32>::new(of);
        assert_eq!(positions.next(&items, &mut short, &mut count), refused);
        let mut runs = RunLengthStream::<_, u32>::new(of);
        let mut counts = [7; 3];
        assert_eq!(runs.next(&items, &mut short, &mut counts, &mut count), refused);
        assert_eq!(runs.next(&items, &mut output, &mut short, &mut count), refused);
        assert_eq!(runs.next(&items, &mut output, &mut counts, &mut [7; 2]), many);
        assert_eq!((output, counts, short, count), ([7; 3], [7; 3], [7; 2], [7]));
        // What was refused was not taken.
        unique.next(&items, &mut output, &mut count).expect("a chunk");
        assert_eq!((&output[..2], count), (&[1, 2][..], [2]), "{device}");
        positions.next(&items, &mut output, &mut count).expect("a chunk");
        assert_eq!((output, count), ([0, 1, 2], [3]), "{device}");
        runs.next(&items, &mut output, &mut counts, &mut count).expect("a chunk");
        assert_eq!((output[0], counts[0], count), (1, 2, [1]), "{device}");
        assert_eq!(runs.finish(), Some((2, 1)), "{device}");
        if !device.is_gpu() {
            return;
        }
        // A length above its bound is known before anything is taken.
        let (all, length) = (Array::from_slice(of, &items), Array::from_slice(of, &[4u64]));
        let (all, length) = (all.expect("memory"), length.expect("memory"));
        let bounded = all.view().with_length(&length).expect("a view");
        let mut sum = ReduceStream::<u32, u32, _>::new(of, Reduce::new(Sum)).expect("a stream");
        for refused in [
            unique.next(bounded, &mut output, &mut count),
            positions.next(bounded, &mut output, &mut count),
            runs.next(bounded, &mut output, &mut counts, &mut count),
            sum.push(bounded),
        ] {
            assert_eq!(refused, Err(Error::LengthAboveBound { length: 4, bound: 3 }), "{device}");
        }
        assert_eq!((runs.finish(), sum.finish()), (Some((2, 1)), 0), "{device}");
    });
}

/// Chunks of a length that only the device knows, into memory of the device and of the host.
#[test]
fn chunks_with_a_length_on_the_device() {
    for_each_gpu(|device| {
        let of = &device.device;
        let all: Vec<u32> = (0..3000).map(|item| item / 7 % 5).collect();
        let room = 1001;
        let mut select = SelectStream::<u32>::new(of);
        let mut positions = PositionStream::<u32>::new(of);
        let (mut unique, mut runs) = (UniqueStream::new(of), RunLengthStream::<_, u32>::new(of));
        let (mut kept, mut numbers, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut values, mut lengths, mut start) = (Vec::new(), Vec::new(), 0);
        for (turn, len) in [1, 0, 1001, 6, 7, 0, 13, 998].into_iter().enumerate() {
            // What lies behind the length belongs to no chunk.
            let mut chunk = all[start..start + len].to_vec();
            chunk.resize(room, 9);
            let there = Array::from_slice(of, &chunk).expect("memory");
            let length = Array::from_slice(of, &[len as u64]).expect("memory");
            let chunk = || there.view().with_length(&length).expect("a view");
            let taken = |next: &mut dyn FnMut(ViewMut<'_, u32>, ViewMut<'_, u64>)| {
                if turn % 2 == 0 {
                    let (mut output, mut count) = (vec![7u32; room], [7u64]);
                    next((&mut output).into(), (&mut count[..]).into());
                    assert!(output[len..].iter().all(|item| *item == 7), "{device}: {len}");
                    return output[..count[0] as usize].to_vec();
                }
                let mut output = Array::from_slice(of, &vec![7u32; room]).expect("memory");
                let mut count = Array::from_slice(of, &[7u64]).expect("memory");
                next(output.view_mut(), count.view_mut());
                let count = count.to_vec().expect("a count")[0] as usize;
                let output = output.to_vec().expect("items");
                assert!(output[len..].iter().all(|item| *item == 7), "{device}: {len}");
                output[..count].to_vec()
            };
            kept.extend(taken(&mut |output, count| {
                select.next(chunk(), chunk(), output, count).expect("a chunk");
            }));
            numbers.extend(taken(&mut |output, count| {
                positions.next(chunk(), output, count).expect("a chunk");
            }));
            firsts.extend(taken(&mut |output, count| {
                unique.next(chunk(), output, count).expect("a chunk");
            }));
            let (mut ended, mut counts, mut number) = (vec![7u32; room], vec![7u32; room], [7u64]);
            runs.next(chunk(), &mut ended, &mut counts, &mut number).expect("a chunk");
            values.extend_from_slice(&ended[..number[0] as usize]);
            lengths.extend(counts[..number[0] as usize].iter().map(|count| u64::from(*count)));
            start += len;
        }
        let all = &all[..start];
        assert_eq!(kept, compaction::select(all, all), "{device}");
        let numbers: Vec<u64> = numbers.into_iter().map(u64::from).collect();
        assert_eq!(numbers, compaction::positions(all), "{device}");
        assert_eq!(firsts, compaction::unique(all), "{device}");
        let (last, length) = runs.finish().expect("a run");
        values.push(last);
        lengths.push(length.into());
        assert_eq!((values, lengths), compaction::run_length_encode(all), "{device}");
    });
}

/// Reductions and scans of such chunks, which have whole windows up to the last.
#[test]
fn windows_with_a_length_on_the_device() {
    for_each_gpu(|device| {
        let of = &device.device;
        let all: Vec<f32> = Input::Uniform.array(4, 2 * 65_536 + 5);
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse()] {
            let mut sum = ReduceStream::<f32, f32, _>::new(of, Reduce::new(Sum)).expect("a stream");
            let mut scan = ScanStream::<f32, f32, _>::new(of, problem).expect("a stream");
            let (mut prefixes, mut ranges) =
                (Vec::new(), vec![0..65_536, 65_536..131_072, 131_072..131_077]);
            if scan.direction() == Direction::Reverse {
                ranges = vec![65_541..131_077, 5..65_541, 0..5];
            }
            for range in &ranges {
                let mut chunk = all[range.clone()].to_vec();
                chunk.resize(70_000, 9.0);
                let there = Array::from_slice(of, &chunk).expect("memory");
                let length = Array::from_slice(of, &[range.len() as u64]).expect("memory");
                let chunk = there.view().with_length(&length).expect("a view");
                let mut output = vec![7.0; 70_000];
                scan.next(chunk, &mut output).expect("a chunk");
                assert!(output[range.len()..].iter().all(|item| *item == 7.0), "{device}");
                prefixes.push((range.start, output[..range.len()].to_vec()));
                if range.start == 0 {
                    // Whatever is no multiple of its own unit is the last.
                    sum.push(chunk).expect("a chunk");
                    let expected = expected_reduce(&all[range.clone()], &Reduce::new(Sum));
                    assert_same(&[sum.finish()], &[expected], format!("{device}"));
                }
            }
            prefixes.sort_by_key(|(start, _)| *start);
            let found: Vec<f32> = prefixes.into_iter().flat_map(|(_, items)| items).collect();
            assert_same(&found, &expected_scan(&all, &problem), format!("{device}"));
        }
    });
}

#[test]
fn runs_of_items_without_bytes_are_refused() {
    let (of, items, mut count) = (Device::cpu(), [Indexed { value: 1u8, index: 0 }], [7]);
    let (mut output, mut counts) = (items, [7u32]);
    let (mut unique, mut runs) = (UniqueStream::new(&of), RunLengthStream::new(&of));
    for _ in 0..2 {
        assert!(unique.next(&items, &mut output, &mut count).is_err());
        assert!(runs.next(&items, &mut output, &mut counts, &mut count).is_err());
    }
    assert!(runs.finish().is_none());
}

/// Chunks of a length that lies in host memory, into outputs with room for as much as there is without it.
#[test]
fn chunks_with_a_length_in_host_memory() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, mut output, mut count) = ([3u32, 3, 5, 5], [7; 4], [0]);
        let chunk = View::from(&items).with_length(&[3]).expect("a view");
        let mut unique = UniqueStream::new(of);
        unique.next(chunk, &mut output, &mut count).expect("a chunk");
        assert_eq!((&output[..2], output[3], count), (&[3, 5][..], 7, [2]), "{device}");
        let (mut runs, mut counts) = (RunLengthStream::<_, u64>::new(of), [7; 4]);
        runs.next(chunk, &mut output, &mut counts, &mut count).expect("a chunk");
        runs.next(&[5], &mut [7], &mut [7], &mut count).expect("a chunk");
        assert_eq!((count, runs.finish()), ([0], Some((5, 2))), "{device}");
    });
}

#[test]
fn positions_count_on_beyond_32_bits() {
    let (flags, mut count) = ([0u8, 1, 0, 1], [7]);
    for_each_device_of(Selection::Representative, |device| {
        let (mut numbers, first) = ([0; 4], (1 << 32) - 4);
        let mut stream = PositionStream::<u32>::starting_at(&device.device, first);
        stream.next(&flags, &mut numbers, &mut count).expect("a chunk");
        assert_eq!((&numbers[..2], count), (&[u32::MAX - 2, u32::MAX][..], [2]), "{device}");
        let refused = Error::PositionRange { items: (1 << 32) + 1, dtype: Dtype::U32 };
        assert_eq!(stream.next(&[1u8], &mut [0], &mut count), Err(refused), "{device}");
        stream.next::<u8>(&[], &mut [], &mut count).expect("nothing is always welcome");
        if device.supports(&[u64::KIND]) {
            let mut numbers = [0; 4];
            let mut stream = PositionStream::<u64>::starting_at(&device.device, first + 2);
            stream.next(&flags, &mut numbers, &mut count).expect("a chunk");
            assert_eq!(numbers[..2], [(1 << 32) - 1, (1 << 32) + 1], "{device}");
        }
    });
}

/// The streams of `any` do what those of a type do, in chunks of host memory.
#[cfg(feature = "any")]
fn check_by_value<T: Sample + upsweep::Number>(number: usize) {
    use upsweep::any;
    let all: Vec<T> = runs(4000, 9, Input::Small);
    let (values, lengths) = compaction::run_length_encode(&all);
    let (kept, numbers) = (compaction::select(&all, &all), compaction::positions(&all));
    for_each_device_of(Selection::Representative, |device| {
        if !device.supports(&[T::KIND]) || device.is_gpu() && !device.takes(number, 2) {
            return;
        }
        let place = Place { device: &device.device, there: false };
        let mut select = any::SelectStream::new(place.device, T::DTYPE);
        let mut unique = any::UniqueStream::new(place.device, T::DTYPE);
        let mut positions = any::PositionStream::new(place.device, Dtype::U32).expect("a stream");
        let mut encode =
            any::RunLengthStream::new(place.device, T::DTYPE, Dtype::U64).expect("a stream");
        let (mut found, mut firsts, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let (mut run_values, mut run_lengths) = (Vec::new(), Vec::new());
        for chunk in chunks(&all, 5) {
            let items = chunk.len();
            found.extend(place.written::<T>(items, |output, count| {
                select.next(chunk, chunk, output, count).expect("a chunk");
            }));
            firsts.extend(place.written::<T>(items, |output, count| {
                unique.next(chunk, output, count).expect("a chunk");
            }));
            places.extend(place.written::<u32>(items, |output, count| {
                positions.next(chunk, output, count).expect("a chunk");
            }));
            let mut counts = vec![7u64; items];
            run_values.extend(place.written::<T>(items, |output, count| {
                encode.next(chunk, output, &mut counts, count).expect("a chunk");
            }));
            run_lengths.extend_from_slice(&counts[..run_values.len() - run_lengths.len()]);
        }
        let (value, length) = encode.finish().expect("there are items");
        run_values.push(value.get::<T>().expect("the type of items"));
        run_lengths.push(length);
        let context = format!("{device}: {}", T::DTYPE);
        assert_bytes(&found, &kept, &context);
        assert_bytes(&firsts, &values, &context);
        assert_bytes(&run_values, &values, &context);
        assert_eq!(run_lengths, lengths, "{context}");
        assert!(places.into_iter().map(u64::from).eq(numbers.iter().copied()), "{context}");
        let wrong = Err(Error::WrongDtype { found: Dtype::Bf16, wanted: T::DTYPE });
        let other = [upsweep::bf16::from_f32(1.0)];
        assert_eq!(unique.next(&other, &mut other.clone(), &mut [0]), wrong, "{context}");
    });
}

#[cfg(feature = "any")]
#[test]
fn compactions_in_chunks_of_types_that_are_values() {
    check_by_value::<i8>(0);
    check_by_value::<f32>(1);
    check_by_value::<i64>(1);
    let refused = upsweep::any::PositionStream::new(&Device::cpu(), Dtype::I32);
    let wrong = Error::WrongDtype { found: Dtype::I32, wanted: Dtype::U64 };
    assert_eq!(refused.map(drop), Err(wrong));
}
