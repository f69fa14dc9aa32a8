//! Reductions and scans in chunks.

use upsweep::any::{self, Op};
use upsweep::{Direction, Error, Operator, Reduce, ReduceStream, ScanStream, Widen};
use upsweep_testing::{
    Affine, Compose, Input, Last, Sample, assert_same, expected_reduce, expected_scan,
};

use crate::bytes::{Bytes, choose};
use crate::numbers::{self, any_reduce, any_scan, assert_same_value, operator};
use crate::primitives::typed_scan;

/// Reductions and scans in chunks, also of refused lengths, with the whole.
pub fn streams(data: &[u8]) {
    let bytes = &mut Bytes(data);
    if !bytes.is_for_own_operator() {
        return if bytes.odd() { reduced_numbers(bytes) } else { scanned_numbers(bytes) };
    }
    choose!(bytes;
        scans::<u32, u32, _>(Last), scans::<Affine<u32>, Affine<u32>, _>(Compose),
        reductions::<u32, u32, _>(Last),
    );
}

/// Lengths of chunks of a stream whose chunks are of multiples of `unit`, and whether the stream
/// must take each: nothing but nothing follows a chunk of another length.
fn chunks(bytes: &mut Bytes<'_>, unit: usize, most: usize) -> Vec<(usize, bool)> {
    let mut open = true;
    (0..1 + bytes.byte() % 6)
        .map(|_| {
            let whole = unit * (bytes.byte() as usize % (most + 1));
            let odd = if bytes.byte() < 64 { bytes.below(5000) } else { 0 };
            let items = whole + odd;
            let taken = open || items == 0;
            open &= items.is_multiple_of(unit);
            (items, taken)
        })
        .collect()
}

fn scanned_numbers(bytes: &mut Bytes<'_>) {
    let device = bytes.device();
    let (op, item) = operator(bytes, Op::scans);
    let (problem, out) = any_scan(bytes, op, item, false);
    let chunks = chunks(bytes, any::ScanStream::CHUNK, 2);
    let taken: usize = chunks.iter().filter(|chunk| chunk.1).map(|chunk| chunk.0).sum();
    let items = numbers::seeded(item, bytes.word(), taken);
    let context = format!("{problem:?} of {taken} {item} into {out}");
    let mut output = numbers::room(out, taken, 0);
    let mut stream = match any::ScanStream::new(&device, item, out, &problem) {
        Ok(stream) => stream,
        Err(refused) => {
            let expected = any::reference_scan(items.view(), out, &problem).map(drop);
            return assert_eq!(expected, Err(refused), "{context}");
        }
    };
    let mut done = 0;
    for (length, taken_now) in chunks {
        if !taken_now {
            let (nothing, none) = (items.view().slice(0..0).expect("none"), output.part_mut(0, 0));
            assert_eq!(stream.next(nothing, none), Ok(()), "nothing is always welcome");
            let (chunk, mut target) =
                (numbers::seeded(item, 0, length), numbers::room(out, length, 0));
            let refused = stream.next(chunk.view(), target.part_mut(0, length));
            assert!(
                matches!(refused, Err(Error::ChunkLength { .. })),
                "{length} items behind the end: {refused:?}"
            );
            continue;
        }
        let start = match problem.direction {
            Direction::Forward => done,
            Direction::Reverse => taken - done - length,
        };
        let chunk = items.view().slice(start..start + length).expect("in bounds");
        stream.next(chunk, output.part_mut(start, length)).expect("a good chunk");
        done += length;
    }
    let expected = any::reference_scan(items.view(), out, &problem).expect("as the stream");
    output.check(expected, &context);
}

fn reduced_numbers(bytes: &mut Bytes<'_>) {
    let device = bytes.device();
    let (op, item) = operator(bytes, |op| !op.is_position());
    let problem = any_reduce(bytes, op, item);
    let chunks = chunks(bytes, any::ReduceStream::CHUNK, 1);
    let total: usize = chunks.iter().map(|chunk| chunk.0).sum();
    let items = numbers::seeded(item, bytes.word(), total);
    let context = format!("{problem:?} of {total} {item}");
    let mut stream = match any::ReduceStream::new(&device, item, &problem) {
        Ok(stream) => stream,
        Err(refused) => {
            let expected = any::reference_reduce(items.view(), &problem);
            return assert_eq!(expected, Err(refused), "{context}");
        }
    };
    let mut seen = 0;
    for (length, taken) in chunks {
        let chunk = items.view().slice(seen..seen + length).expect("in bounds");
        let pushed = stream.push(chunk);
        assert_eq!(pushed.is_ok(), taken, "{pushed:?} for {length} items after {seen}");
        if taken {
            seen += length;
        }
    }
    let items = items.view().slice(0..seen).expect("in bounds");
    let expected = any::reference_reduce(items, &problem).expect("as the stream");
    assert_same_value(stream.finish().expect("a value"), expected, &context);
}

fn scans<T, U, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample + Widen<U::Acc>,
    U: Sample<Acc: Sample>,
    O: Operator<U::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let problem = typed_scan(bytes, operator);
        let chunks = chunks(bytes, ScanStream::<T, U, O>::CHUNK, 2);
        let taken: usize = chunks.iter().filter(|chunk| chunk.1).map(|chunk| chunk.0).sum();
        let items: Vec<T> = Input::Mixed.array(bytes.word(), taken);
        let mut output = vec![U::from_bits(0x5555_5555_5555_5555); taken];
        let mut stream = ScanStream::<T, U, O>::new(&device, problem).expect("a stream");
        let mut done = 0;
        for (length, taken_now) in chunks {
            if !taken_now {
                let refused = stream.next(&items[..0], &mut output[..0]);
                assert_eq!(refused, Ok(()), "nothing is always welcome");
                let chunk = vec![T::from_bits(0); length];
                let mut target = vec![U::from_bits(1); length];
                let refused = stream.next(&chunk, &mut target);
                assert!(
                    matches!(refused, Err(Error::ChunkLength { .. })),
                    "{length} items behind the end: {refused:?}"
                );
                continue;
            }
            let range = match problem.direction {
                Direction::Forward => done..done + length,
                Direction::Reverse => taken - done - length..taken - done,
            };
            stream.next(&items[range.clone()], &mut output[range]).expect("a good chunk");
            done += length;
        }
        assert_same(&output, &expected_scan::<T, U, O>(&items, &problem), O::NAME);
    }
}

fn reductions<T, A, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    move |bytes| {
        let device = bytes.device();
        let mut problem = Reduce::new(operator);
        problem.init = bytes.option();
        let chunks = chunks(bytes, ReduceStream::<T, A, O>::CHUNK, 1);
        let total: usize = chunks.iter().map(|chunk| chunk.0).sum();
        let items: Vec<T> = Input::Mixed.array(bytes.word(), total);
        let mut stream = ReduceStream::<T, A, O>::new(&device, problem).expect("a stream");
        let mut seen = 0;
        for (length, taken) in chunks {
            let pushed = stream.push(&items[seen..seen + length]);
            assert_eq!(pushed.is_ok(), taken, "{pushed:?} for {length} items after {seen}");
            if taken {
                seen += length;
            }
        }
        let expected = expected_reduce(&items[..seen], &problem);
        assert_same(&[stream.finish()], &[expected], O::NAME);
    }
}
