//! Reductions, scans and compactions in chunks.

use upsweep::any::{self, Op};
use upsweep::reference::compaction;
use upsweep::{Direction, Dtype, Error, Number, Operator, Reduce, ReduceStream, ScanStream, Widen};
use upsweep_testing::{
    Affine, Compose, Input, Last, Sample, assert_same, expected_reduce, expected_scan,
};

use crate::input_bytes::{InputBytes, choose_arm};
use crate::one_shot::typed_scan_problem;
use crate::runtime_typed::{
    self, assert_same_value, choose_operator, reduce_problem, scan_problem,
};

/// Reductions, scans and compactions in chunks, also of refused lengths, with the whole.
pub fn streams(data: &[u8]) {
    let bytes = &mut InputBytes(data);
    if !bytes.wants_custom_operator() {
        return choose_arm!(bytes;
            check_runtime_typed_reduce, check_runtime_typed_scan,
            check_compactions::<u8>, check_compactions::<f32>,
        );
    }
    choose_arm!(bytes;
        check_scan::<u32, u32, _>(Last), check_scan::<Affine<u32>, Affine<u32>, _>(Compose),
        check_reduce::<u32, u32, _>(Last),
    );
}

/// Lengths of chunk_lengths of a stream whose chunk_lengths are of multiples of `unit`, and whether the stream
/// must take each: nothing but nothing follows a chunk of another length.
fn chunk_lengths(bytes: &mut InputBytes<'_>, unit: usize, most: usize) -> Vec<(usize, bool)> {
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

fn check_runtime_typed_scan(bytes: &mut InputBytes<'_>) {
    let device = bytes.device();
    let (op, item) = choose_operator(bytes, Op::scans);
    let (problem, out) = scan_problem(bytes, op, item, false);
    let chunk_lengths = chunk_lengths(bytes, any::ScanStream::CHUNK, 2);
    let taken: usize = chunk_lengths.iter().filter(|chunk| chunk.1).map(|chunk| chunk.0).sum();
    let items = runtime_typed::seeded_array(item, bytes.word(), taken);
    let context = format!("{problem:?} of {taken} {item} into {out}");
    let mut output = runtime_typed::poisoned_array(out, taken, 0);
    let mut stream = match any::ScanStream::new(&device, item, out, &problem) {
        Ok(stream) => stream,
        Err(refused) => {
            let expected = any::reference_scan(items.view(), out, &problem).map(drop);
            return assert_eq!(expected, Err(refused), "{context}");
        }
    };
    let mut done = 0;
    for (length, is_accepted) in chunk_lengths {
        if !is_accepted {
            let (nothing, none) = (items.view().slice(0..0).expect("none"), output.slice_mut(0, 0));
            assert_eq!(stream.next(nothing, none), Ok(()), "nothing is always welcome");
            let (chunk, mut target) = (
                runtime_typed::seeded_array(item, 0, length),
                runtime_typed::poisoned_array(out, length, 0),
            );
            let refused = stream.next(chunk.view(), target.slice_mut(0, length));
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
        stream.next(chunk, output.slice_mut(start, length)).expect("a good chunk");
        done += length;
    }
    let expected = any::reference_scan(items.view(), out, &problem).expect("as the stream");
    output.assert_holds(expected, &context);
}

fn check_runtime_typed_reduce(bytes: &mut InputBytes<'_>) {
    let device = bytes.device();
    let (op, item) = choose_operator(bytes, |op| !op.is_position());
    let problem = reduce_problem(bytes, op, item);
    let chunk_lengths = chunk_lengths(bytes, any::ReduceStream::CHUNK, 1);
    let total: usize = chunk_lengths.iter().map(|chunk| chunk.0).sum();
    let items = runtime_typed::seeded_array(item, bytes.word(), total);
    let context = format!("{problem:?} of {total} {item}");
    let mut stream = match any::ReduceStream::new(&device, item, &problem) {
        Ok(stream) => stream,
        Err(refused) => {
            let expected = any::reference_reduce(items.view(), &problem);
            return assert_eq!(expected, Err(refused), "{context}");
        }
    };
    let mut seen = 0;
    for (length, taken) in chunk_lengths {
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

fn check_scan<T, U, O>(operator: O) -> impl Fn(&mut InputBytes<'_>)
where
    T: Sample + Widen<U::Acc>,
    U: Sample<Acc: Sample>,
    O: Operator<U::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let problem = typed_scan_problem(bytes, operator);
        let chunk_lengths = chunk_lengths(bytes, ScanStream::<T, U, O>::CHUNK, 2);
        let taken: usize = chunk_lengths.iter().filter(|chunk| chunk.1).map(|chunk| chunk.0).sum();
        let items: Vec<T> = Input::Mixed.array(bytes.word(), taken);
        let mut output = vec![U::from_bits(0x5555_5555_5555_5555); taken];
        let mut stream = ScanStream::<T, U, O>::new(&device, problem).expect("a stream");
        let mut done = 0;
        for (length, is_accepted) in chunk_lengths {
            if !is_accepted {
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

fn check_reduce<T, A, O>(operator: O) -> impl Fn(&mut InputBytes<'_>)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    move |bytes| {
        let device = bytes.device();
        let mut problem = Reduce::new(operator);
        problem.init = bytes.optional();
        let chunk_lengths = chunk_lengths(bytes, ReduceStream::<T, A, O>::CHUNK, 1);
        let total: usize = chunk_lengths.iter().map(|chunk| chunk.0).sum();
        let items: Vec<T> = Input::Mixed.array(bytes.word(), total);
        let mut stream = ReduceStream::<T, A, O>::new(&device, problem).expect("a stream");
        let mut seen = 0;
        for (length, taken) in chunk_lengths {
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

/// Positions, selections and runs of few values, in chunks of any lengths.
fn check_compactions<T: Sample + Number>(bytes: &mut InputBytes<'_>) {
    let (device, values) = (bytes.device(), 1 + bytes.byte() % 4);
    let lengths: Vec<usize> = (0..bytes.byte() % 9)
        .map(|_| match bytes.byte() % 4 {
            0 => 0,
            1 => 1,
            2 => bytes.byte().into(),
            _ => bytes.below(5000),
        })
        .collect();
    let items = bytes.array::<u8>();
    let items: Vec<T> =
        items.into_iter().map(|item| T::from_bits((item % values).into())).collect();
    let mut select = any::SelectStream::new(&device, T::DTYPE);
    let mut unique = any::UniqueStream::new(&device, T::DTYPE);
    let mut positions = any::PositionStream::new(&device, Dtype::U64).expect("a stream");
    let mut runs = any::RunLengthStream::new(&device, T::DTYPE, Dtype::U32).expect("a stream");
    let (mut kept, mut firsts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut run_values, mut run_lengths) = (Vec::new(), Vec::new());
    let mut rest = items.as_slice();
    for length in lengths.into_iter().chain([items.len()]) {
        let (chunk, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        let (mut output, mut count) = (vec![T::from_bits(0x55); chunk.len()], [0]);
        select.next(chunk, chunk, &mut output, &mut count).expect("a chunk");
        kept.extend_from_slice(&output[..count[0] as usize]);
        unique.next(chunk, &mut output, &mut count).expect("a chunk");
        firsts.extend_from_slice(&output[..count[0] as usize]);
        let mut counts = vec![0u32; chunk.len()];
        runs.next(chunk, &mut output, &mut counts, &mut count).expect("a chunk");
        run_values.extend_from_slice(&output[..count[0] as usize]);
        run_lengths.extend(counts[..count[0] as usize].iter().map(|count| u64::from(*count)));
        let mut found = vec![0u64; chunk.len()];
        positions.next(chunk, &mut found, &mut count).expect("a chunk");
        numbers.extend_from_slice(&found[..count[0] as usize]);
    }
    if let Some((value, length)) = runs.finish() {
        run_values.push(value.get::<T>().expect("the type of items"));
        run_lengths.push(length);
    }
    let context = format!("{} {} of {values} values", items.len(), T::DTYPE);
    assert_same(&kept, &compaction::select(&items, &items), &context);
    assert_same(&numbers, &compaction::positions(&items), &context);
    let (values, lengths) = compaction::run_length_encode(&items);
    assert_same(&firsts, &values, &context);
    assert_same(&run_values, &values, &context);
    assert_same(&run_lengths, &lengths, &context);
}
