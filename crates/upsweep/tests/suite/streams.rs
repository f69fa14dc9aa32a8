//! Streams: chunks give the bits that the whole gives.

use upsweep::{
    Device, Direction, Element, Error, Max, Operator, Product, Reduce, ReduceStream, Scan,
    ScanStream, Sum, Widen, f16,
};
use upsweep_testing::{
    Affine, Compose, Input, Last, LastOther, Random, Recurrence, Recurs, Sample, Selection,
    assert_same, expected_reduce, expected_scan, for_each_device_of, scan_problems,
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
