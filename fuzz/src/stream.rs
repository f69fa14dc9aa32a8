//! Reductions and scans in chunks.

use upsweep::{
    Direction, Error, Max, Operator, Product, Reduce, ReduceStream, ScanStream, Sum, Widen, f16,
};
use upsweep_testing::{
    Affine, Compose, Input, Last, Sample, assert_same, expected_reduce, expected_scan,
};

use crate::bytes::{Bytes, choose};
use crate::primitives::any_scan;

/// Reductions and scans in chunks, also of refused lengths, with the whole.
pub fn streams(data: &[u8]) {
    let bytes = &mut Bytes(data);
    choose!(bytes;
        scans::<u8, u32, _>(Sum), scans::<f32, f32, _>(Sum), scans::<f16, f16, _>(Sum),
        scans::<u32, u32, _>(Last), scans::<i64, i64, _>(Max),
        scans::<Affine<u32>, Affine<u32>, _>(Compose), scans::<f64, f64, _>(Product),
        reductions::<u8, u64, _>(Sum), reductions::<f32, f32, _>(Sum),
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

fn scans<T, U, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample + Widen<U::Acc>,
    U: Sample<Acc: Sample>,
    O: Operator<U::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let problem = any_scan(bytes, operator);
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
