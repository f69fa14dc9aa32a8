//! The runtime-typed layer on every device: against integers that cannot wrap, the typed calls and the sequential answers.

use upsweep::any::{
    self, AnyArray, AnyView, AnyViewMut, Op, Reduce, ReduceStream, Scalar, Scan, ScanStream,
};
use upsweep::{
    ArgMax, ArgMin, Array, Bounds, Device, Direction, Dtype, Error, Indexed, Max, Min, Number,
    Operator, Result, Segments, Sum, bf16, exclusive_scan_into, f16, mean, reduce, reduce_as,
    reference,
};
use upsweep_testing::{Input, Sample, Selection, TestDevice, for_each_device_of, for_each_gpu};

use crate::share::Share;

/// Lengths on both sides of what a vector, a row, a tile and a chunk hold.
const LENGTHS: [usize; 6] = [0, 1, 127, 2049, 4096, 66_001];

/// Items of a type as bytes, at an address that suits all types.
pub(crate) struct Items {
    dtype: Dtype,
    words: Vec<u64>,
    len: usize,
}

impl Items {
    pub(crate) fn new(dtype: Dtype, len: usize) -> Self {
        fn bytes<T: Sample + Number>(len: usize) -> Vec<u8> {
            let input = if T::DTYPE.is_float() { Input::Small } else { Input::Full };
            bytemuck::cast_slice(&input.array::<T>(7, len)).to_vec()
        }
        let bytes = match dtype {
            Dtype::U8 => bytes::<u8>(len),
            Dtype::I8 => bytes::<i8>(len),
            Dtype::U16 => bytes::<u16>(len),
            Dtype::I16 => bytes::<i16>(len),
            Dtype::U32 => bytes::<u32>(len),
            Dtype::I32 => bytes::<i32>(len),
            Dtype::U64 => bytes::<u64>(len),
            Dtype::I64 => bytes::<i64>(len),
            Dtype::F16 => bytes::<f16>(len),
            Dtype::Bf16 => bytes::<bf16>(len),
            Dtype::F32 => bytes::<f32>(len),
            _ => bytes::<f64>(len),
        };
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
        Self { dtype, words, len }
    }

    pub(crate) fn view(&self) -> AnyView<'_> {
        let bytes = &bytemuck::cast_slice(&self.words)[..self.len * self.dtype.size()];
        AnyView::from_bytes(self.dtype, bytes).expect("words suit every type")
    }

    /// The items, which are integers.
    fn integers(&self) -> Vec<i128> {
        let bytes = self.view().bytes().expect("in host memory");
        let items = bytes.chunks_exact(self.dtype.size());
        items.map(|item| integer(self.dtype, item)).collect()
    }
}

fn integer(dtype: Dtype, bytes: &[u8]) -> i128 {
    let mut wide = [0u8; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let negative = dtype.is_signed_integer() && bytes.last().is_some_and(|last| last >> 7 == 1);
    wide[bytes.len()..].fill(if negative { 0xff } else { 0 });
    i128::from_le_bytes(wide)
}

fn integer_of(value: Scalar) -> i128 {
    integer(value.dtype(), value.bytes())
}

/// The lower bits of an integer, as a number of an integer type.
fn wrapped(value: i128, dtype: Dtype) -> i128 {
    integer(dtype, &value.to_le_bytes()[..dtype.size()])
}

const COMBINING: [Op; 7] = [Op::Sum, Op::Product, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor];

/// Two integers combined in an integer type.
fn combined(op: Op, left: i128, right: i128, dtype: Dtype) -> i128 {
    let value = match op {
        Op::Sum => left.wrapping_add(right),
        Op::Product => left.wrapping_mul(right),
        Op::Min => left.min(right),
        Op::Max => left.max(right),
        Op::And => left & right,
        Op::Or => left | right,
        _ => left ^ right,
    };
    wrapped(value, dtype)
}

fn identity(op: Op, dtype: Dtype) -> i128 {
    let bits = 8 * dtype.size() as u32;
    let (least, most) = match dtype.is_signed_integer() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    match op {
        Op::Product => 1,
        Op::Min => most,
        Op::Max => least,
        Op::And => wrapped(-1, dtype),
        _ => 0,
    }
}

fn integer_types() -> impl Iterator<Item = Dtype> {
    Dtype::ALL.into_iter().filter(|dtype| !dtype.is_float())
}

/// Whether a device has integers or floats of 64 bits, if one of these types has.
fn has(device: &TestDevice, dtypes: &[Dtype]) -> bool {
    dtypes.iter().all(|dtype| device.supports(&[(*dtype).into()]))
}

/// Of so many pairs of a type and an operator a GPU is asked for one, beside those that it takes to meet every type and operator.
const ONE_IN: usize = 6;

/// The types and operators that GPUs are asked for, of those that they can do.
fn share(can: impl Fn(&TestDevice, Dtype, Op) -> bool) -> Share {
    let types: Vec<Dtype> = integer_types().collect();
    Share::of(&[types.len(), COMBINING.len()], ONE_IN, |gpu, cell| {
        can(gpu, types[cell[0]], COMBINING[cell[1]])
    })
}

/// Whether a GPU is asked for this type and operator.
fn takes(share: &Share, device: &TestDevice, item: Dtype, op: Op) -> bool {
    let place = |dtype| integer_types().position(|other| other == dtype);
    let op = COMBINING.iter().position(|other| *other == op);
    place(item).zip(op).is_some_and(|(item, op)| share.has(device, &[item, op]))
}

/// Lengths and accumulators that a device is asked for. A software GPU makes kernels slowly: it gets one length and the default
/// accumulator of its share of types and operators, whose pairs of types are what the layer chooses.
fn asked(share: &Share, device: &TestDevice, item: Dtype, op: Op) -> Vec<(usize, Dtype)> {
    if device.is_gpu() {
        let own = takes(share, device, item, op);
        return own.then(|| (2049, any::accumulator(op, item))).into_iter().collect();
    }
    let accs: Vec<Dtype> = integer_types().filter(|acc| any::holds(item, *acc)).collect();
    LENGTHS.into_iter().flat_map(|len| accs.iter().map(move |acc| (len, *acc))).collect()
}

#[test]
fn integers_of_every_type_and_accumulator_are_reduced() {
    let share = share(|gpu, item, op| has(gpu, &[item, any::accumulator(op, item)]));
    for_each_device_of(Selection::Representative, |device| {
        for item in integer_types() {
            for op in COMBINING {
                for (len, acc) in asked(&share, device, item, op) {
                    if has(device, &[item, acc]) {
                        check_reduce(device, &Items::new(item, len), op, acc);
                    }
                }
            }
        }
    });
}

/// Holds a reduction of integers against one that cannot wrap.
fn check_reduce(device: &TestDevice, items: &Items, op: Op, acc: Dtype) {
    let values = items.integers().into_iter();
    let combine = |left, right| combined(op, left, right, acc);
    let expected = values.reduce(combine).unwrap_or(identity(op, acc));
    let found = any::reduce(device, items.view(), &Reduce::new(op).acc(acc));
    let found = found.expect("integers").expect("a value");
    let context = format!("{op} of {} {} in {acc} on {}", items.len, items.dtype, device.id());
    assert_eq!(found.dtype(), acc, "{context}");
    assert_eq!(integer_of(found), expected, "{context}");
    let Some(init) = Scalar::new(5u8).widened(acc).filter(|_| items.len == 127) else { return };
    let problem = Reduce::new(op).acc(acc).init(init);
    let found = any::reduce(device, items.view(), &problem).expect("integers").expect("a value");
    assert_eq!(integer_of(found), combined(op, 5, expected, acc), "{context} from 5");
}

#[test]
fn results_have_the_documented_types() -> Result<()> {
    let device = Device::cpu();
    for item in Dtype::ALL {
        let items = Items::new(item, 100);
        for (op, _) in Op::ALL {
            if op.check(item).is_err() {
                continue;
            }
            let found = any::reduce(&device, items.view(), &Reduce::new(op))?.expect("items");
            let expected = match op {
                Op::ArgMin | Op::ArgMax => Dtype::U64,
                Op::Mean if matches!(item, Dtype::F16 | Dtype::Bf16 | Dtype::F32) => Dtype::F32,
                Op::Mean => Dtype::F64,
                Op::Sum | Op::Product if item.is_signed_integer() => Dtype::I64,
                Op::Sum | Op::Product if !item.is_float() => Dtype::U64,
                Op::Sum | Op::Product if item != Dtype::F64 => Dtype::F32,
                _ => item,
            };
            assert_eq!(found.dtype(), expected, "{op} of {item}");
            assert_eq!(any::accumulator(op, item), expected, "{op} of {item}");
            assert_eq!(any::reference_reduce(items.view(), &Reduce::new(op))?, Some(found));
        }
    }
    Ok(())
}

#[test]
fn floats_have_the_bits_of_the_typed_calls() -> Result<()> {
    let device = Device::cpu();
    for len in LENGTHS {
        let input = Input::Mixed.array::<f32>(3, len);
        let sum = any::reduce(&device, &input, &Reduce::new(Op::Sum))?;
        assert_eq!(sum, Some(Scalar::new(reduce(&device, &input, Sum)?)));
        let wide = any::reduce(&device, &input, &Reduce::new(Op::Sum).acc(Dtype::F64))?;
        assert_eq!(wide, Some(Scalar::new(reduce_as::<f64, _, _>(&device, &input, Sum)?)));
        let halves: Vec<f16> = Input::Small.array(4, len);
        let rounded = any::reduce(&device, &halves, &Reduce::new(Op::Sum).acc(Dtype::F16))?;
        assert_eq!(rounded, Some(Scalar::new(reduce(&device, &halves, Sum)?)));
        // There is no kernel for this pair: items are widened first.
        let widened: Vec<f64> = halves.iter().map(|half| half.to_f64()).collect();
        let in_doubles = any::reduce(&device, &halves, &Reduce::new(Op::Sum).acc(Dtype::F64))?;
        assert_eq!(in_doubles, Some(Scalar::new(reduce(&device, &widened, Sum)?)));
        let least = any::reduce(&device, &input, &Reduce::new(Op::Min).acc(Dtype::F64))?;
        let expected = if len == 0 { f64::INFINITY } else { reduce(&device, &input, Min)?.into() };
        assert_eq!(least, Some(Scalar::new(expected)));
        let average = any::reduce(&device, &input, &Reduce::new(Op::Mean))?.expect("a mean");
        let expected = mean(&device, &input)?;
        assert!(average == Scalar::new(expected) || expected.is_nan() && len == 0);
    }
    Ok(())
}

#[test]
fn positions_are_the_first_also_across_chunks() -> Result<()> {
    let device = Device::cpu();
    let mut items = vec![3i32; 2 * ReduceStream::CHUNK + 5];
    for (place, op) in
        [(ReduceStream::CHUNK + 2, Op::ArgMin), (2 * ReduceStream::CHUNK + 1, Op::ArgMax)]
    {
        items[place] = if op == Op::ArgMin { -4 } else { 9 };
        let found = any::reduce(&device, &items, &Reduce::new(op))?;
        assert_eq!(found, Some(Scalar::new(place as u64)));
        let mut stream = ReduceStream::new(&device, Dtype::I32, &Reduce::new(op))?;
        for chunk in items.chunks(ReduceStream::CHUNK) {
            stream.push(chunk)?;
        }
        assert_eq!(stream.finish()?, found);
    }
    let nothing: [f32; 0] = [];
    assert_eq!(any::reduce(&device, &nothing, &Reduce::new(Op::ArgMax))?, None);
    let nan = [1.0f32, f32::NAN, f32::NAN];
    assert_eq!(any::reduce(&device, &nan, &Reduce::new(Op::ArgMin))?, Some(Scalar::new(1u64)));
    Ok(())
}

#[test]
fn streams_give_what_the_whole_gives() -> Result<()> {
    let device = Device::cpu();
    let items = Items::new(Dtype::I8, ReduceStream::CHUNK + 12_345);
    for (op, acc) in [
        (Op::Sum, None),
        (Op::Sum, Some(Dtype::F32)),
        (Op::Mean, None),
        (Op::Max, Some(Dtype::I16)),
    ] {
        let problem = Reduce { acc, ..Reduce::new(op) };
        let mut stream = ReduceStream::new(&device, Dtype::I8, &problem)?;
        stream.push(items.view().slice(0..ReduceStream::CHUNK)?)?;
        stream.push(items.view().slice(ReduceStream::CHUNK..items.len)?)?;
        assert_eq!(stream.finish()?, any::reduce(&device, items.view(), &problem)?, "{op}");
    }
    Ok(())
}

#[test]
fn integers_of_every_type_are_scanned_into_every_type() {
    let share = share(|gpu, item, _| has(gpu, &[item]));
    for_each_device_of(Selection::Representative, |device| {
        for item in integer_types() {
            let items = Items::new(item, 5_000);
            for out in integer_types().filter(|out| any::holds(item, *out)) {
                // A software GPU makes kernels slowly.
                let left_out = device.is_gpu() && out != item;
                if left_out || !has(device, &[item, out]) {
                    continue;
                }
                for op in COMBINING.into_iter().filter(|op| takes(&share, device, item, *op)) {
                    check_scan(device, &items, out, &Scan::exclusive(op).reverse());
                    if device.is_gpu() {
                        continue;
                    }
                    check_scan(device, &items, out, &Scan::inclusive(op));
                    if let Some(init) = Scalar::new(5u8).widened(out) {
                        check_scan(device, &items, out, &Scan::exclusive(op).init(init));
                    }
                }
            }
        }
    });
}

/// Holds a scan of integers against one that cannot wrap.
fn check_scan(device: &Device, items: &Items, out: Dtype, problem: &Scan) {
    let (op, reverse) = (problem.op, problem.direction == Direction::Reverse);
    let mut all = items.integers();
    if reverse {
        all.reverse();
    }
    let mut before = problem.init.map(integer_of);
    let mut expected = Vec::new();
    for item in all {
        let after = before.map_or(wrapped(item, out), |before| combined(op, before, item, out));
        expected.push(match problem.bounds {
            Bounds::Inclusive => after,
            Bounds::Exclusive => before.unwrap_or(identity(op, out)),
        });
        before = Some(after);
    }
    if reverse {
        expected.reverse();
    }
    let found = any::scan(device, items.view(), out, problem).expect("integers");
    let context = format!("{problem:?} of {} into {out} on {}", items.dtype, device.id());
    assert_eq!(found.dtype(), out, "{context}");
    let found = found.to_bytes().expect("the items");
    let found: Vec<i128> = found.chunks_exact(out.size()).map(|item| integer(out, item)).collect();
    assert!(found == expected, "{context}");
}

#[test]
fn floats_are_scanned_with_the_bits_of_the_reference() -> Result<()> {
    let device = Device::cpu();
    for (item, out) in [
        (Dtype::F16, Dtype::F16),
        (Dtype::Bf16, Dtype::F32),
        (Dtype::F16, Dtype::F64),
        (Dtype::F32, Dtype::F32),
        (Dtype::F32, Dtype::F64),
        (Dtype::U16, Dtype::F32),
        (Dtype::I64, Dtype::F64),
    ] {
        let items = Items::new(item, 3 * ScanStream::CHUNK + 77);
        for problem in [Scan::inclusive(Op::Sum), Scan::exclusive(Op::Max).reverse()] {
            let found = any::scan(&device, items.view(), out, &problem)?.to_bytes()?;
            let expected = any::reference_scan(items.view(), out, &problem)?.to_bytes()?;
            assert!(found == expected, "{problem:?} of {item} into {out}");
        }
    }
    let items = Input::Mixed.array::<f32>(9, 70_001);
    let mut typed = vec![0.0f64; items.len()];
    exclusive_scan_into(&device, &items, &mut typed, Sum)?;
    let found = any::scan(&device, &items, Dtype::F64, &Scan::exclusive(Op::Sum))?;
    assert_eq!(found.into_typed::<f64>()?.into_vec()?, typed);
    Ok(())
}

#[test]
fn scans_in_place_replace_their_items() -> Result<()> {
    let mut items = [1i16, -2, 30_000, 30_000];
    any::scan_in_place(&Device::cpu(), &mut items, &Scan::inclusive(Op::Sum))?;
    assert_eq!(items, [1, -1, 29_999, -5537]);
    any::scan_in_place(&Device::cpu(), &mut items, &Scan::inclusive(Op::Min).reverse())?;
    assert_eq!(items, [-5537; 4]);
    Ok(())
}

#[test]
fn arrays_of_a_gpu_stay_there() {
    for_each_gpu(|device| {
        let items = Items::new(Dtype::I32, 10_000);
        let input = AnyArray::from_view(device, items.view()).expect("room");
        let sum = items.integers().into_iter().sum();
        // Signed integers run as unsigned ones, in arrays that are of signed ones.
        let mut result = AnyArray::filled(device, 1, Scalar::new(-1i32)).expect("room");
        let problem = Reduce::new(Op::Sum).acc(Dtype::I32);
        any::reduce_into(device, &input, &mut result, &problem).expect("on the device");
        let found = integer(Dtype::I32, &result.to_bytes().expect("an item"));
        assert_eq!(found, wrapped(sum, Dtype::I32));
        let bound =
            any::bind_reduce(device, &input, &mut result, &Reduce { op: Op::Max, ..problem });
        let bound = bound.expect("a recording");
        bound.submit().expect("run");
        let most = items.integers().into_iter().max();
        assert_eq!(Some(integer(Dtype::I32, &result.to_bytes().expect("an item"))), most);
        let mut output = AnyArray::filled(device, 10_000, Scalar::new(0i32)).expect("room");
        any::scan_into(device, &input, &mut output, &Scan::inclusive(Op::Sum)).expect("scanned");
        let on_host =
            any::scan(&Device::cpu(), items.view(), Dtype::I32, &Scan::inclusive(Op::Sum));
        let on_host = on_host.expect("on the host").to_bytes().expect("items");
        assert_eq!(output.to_bytes().expect("items"), on_host);
        let bound = any::bind_scan(device, &input, &mut output, &Scan::exclusive(Op::Xor));
        bound.expect("a recording").submit().expect("run");
        any::scan_in_place(device, &mut output, &Scan::inclusive(Op::Max)).expect("in place");
        let mut expected =
            any::scan(&Device::cpu(), items.view(), Dtype::I32, &Scan::exclusive(Op::Xor))
                .expect("on the host");
        any::scan_in_place(&Device::cpu(), &mut expected, &Scan::inclusive(Op::Max))
            .expect("in place");
        assert_eq!(output.to_bytes().expect("items"), expected.to_bytes().expect("items"));
        let place = any::reduce(device, &input, &Reduce::new(Op::ArgMin)).expect("a position");
        let expected = any::reduce(&Device::cpu(), items.view(), &Reduce::new(Op::ArgMin));
        assert_eq!(place, expected.expect("a position"));
    });
}

#[test]
fn segments_of_every_type() -> Result<()> {
    let offsets = [0u32, 0, 3, 3, 100, 4_000];
    let share = share(|gpu, _, _| has(gpu, &[Dtype::U64]));
    for_each_device_of(Selection::Representative, |device| {
        for item in integer_types() {
            let items = Items::new(item, 4_000);
            let all = items.integers();
            for op in COMBINING.into_iter().filter(|op| takes(&share, device, item, *op)) {
                let out = any::accumulator(op, item);
                // The kernels of extremes and of bits have 64 bits.
                if !has(device, &[Dtype::U64]) {
                    continue;
                }
                let segments = any::segments_by_offsets(&offsets).expect("offsets");
                let found =
                    any::segmented_reduce(device, items.view(), &segments, &Reduce::new(op));
                let found = found.unwrap_or_else(|error| panic!("{op} of {item}: {error}"));
                let bytes = found.to_bytes().expect("items");
                let found: Vec<i128> =
                    bytes.chunks_exact(out.size()).map(|value| integer(out, value)).collect();
                let expected: Vec<i128> = offsets
                    .windows(2)
                    .map(|pair| {
                        let segment = &all[pair[0] as usize..pair[1] as usize];
                        let values = segment.iter().copied();
                        values.reduce(|l, r| combined(op, l, r, out)).unwrap_or(identity(op, out))
                    })
                    .collect();
                assert_eq!(found, expected, "{op} of {item} on {}", device.id());
                let scan = Scan::exclusive(op);
                let found = any::segmented_scan(device, items.view(), &segments, item, &scan);
                let bytes = found.expect("a scan").to_bytes().expect("items");
                let mut before = identity(op, item);
                for (place, (value, own)) in bytes.chunks_exact(item.size()).zip(&all).enumerate() {
                    if offsets.contains(&(place as u32)) {
                        before = identity(op, item);
                    }
                    assert_eq!(integer(item, value), before, "{op} of {item} at {place}");
                    before = combined(op, before, *own, item);
                }
            }
        }
    });
    Ok(())
}

/// Numbers with ties, zeros of both signs, infinities and NaNs where the type has them.
fn special<T: Number>(len: usize, of: impl Fn(f64) -> T) -> Vec<T> {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 3.0, -3.0];
    let number = |index: usize| match index % 71 {
        0 => special[index / 71 % special.len()],
        small => (small * 7 % 19) as f64 - 9.0,
    };
    (0..len).map(|index| of(number(index))).collect()
}

/// The first position of an extreme, from `start` on.
fn first<T: Number>(items: &[T], start: usize, op: Op) -> u64 {
    let is_better = |one: T, other: T| if op == Op::ArgMin { one < other } else { one > other };
    let mut best: Option<usize> = None;
    for (index, &item) in items.iter().enumerate() {
        let wins = best.is_none_or(|best| {
            !items[best].is_nan() && (item.is_nan() || is_better(item, items[best]))
        });
        best = if wins { Some(index) } else { best };
    }
    best.map_or(u64::MAX, |best| (start + best) as u64)
}

/// Positions in segments of one type, owned and in the caller's memory, and means.
fn check_in_segments<T: Number>(device: &TestDevice, items: &[T]) {
    let (of, len) = (&device.device, items.len());
    let ends = [0, 0, 1, 1, 3, len / 2, len / 2, len.saturating_sub(1), len, len];
    let mut offsets = ends.map(|end| end.min(len) as u32);
    offsets.sort_unstable();
    let begins: Vec<u16> =
        (0..len as u32).map(|item| u16::from(item == 0 || offsets.contains(&item)) << 8).collect();
    let keys: Vec<i8> = begins
        .iter()
        .scan(0i8, |key, begins| {
            *key = key.wrapping_add((*begins >> 8) as i8);
            Some(*key)
        })
        .collect();
    let pieces: Vec<(usize, &[T])> = offsets
        .windows(2)
        .map(|pair| (pair[0] as usize, &items[pair[0] as usize..pair[1] as usize]))
        .collect();
    let context = format!("{len} of {} on {}", T::DTYPE, device.id());
    let by_offsets = any::segments_by_offsets(&offsets).expect("offsets");
    let resident = Array::from_slice(of, items).expect("memory");
    for op in [Op::ArgMin, Op::ArgMax] {
        let problem = Reduce::new(op);
        let wanted: Vec<u64> = pieces.iter().map(|piece| first(piece.1, piece.0, op)).collect();
        let found = any::segmented_reduce(of, &resident, &by_offsets, &problem);
        let found = found.and_then(AnyArray::into_typed::<u64>).and_then(Array::into_vec);
        assert_eq!(found.as_ref(), Ok(&wanted), "{op} of {context}");
        let mut here = vec![7u64; wanted.len()];
        any::segmented_reduce_into(of, items, &by_offsets, &mut here, &problem).expect("room");
        assert_eq!(here, wanted, "{op} of {context}");
        let mut there = Array::from_slice(of, &vec![7u64; wanted.len()]).expect("memory");
        let done = any::segmented_reduce_into(of, &resident, &by_offsets, &mut there, &problem);
        assert_eq!(done, Ok(()), "{op} of {context}");
        assert_eq!(there.into_vec().as_ref(), Ok(&wanted), "{op} of {context}");
        let full: Vec<u64> =
            wanted.iter().copied().filter(|position| *position != u64::MAX).collect();
        let flags = any::segments_by_flags(&begins).expect("flags");
        let keys = any::segments_by_keys(&keys).expect("keys");
        for segments in [flags, keys] {
            let found = any::segmented_reduce(of, items, &segments, &problem);
            let found = found.and_then(AnyArray::into_typed::<u64>).and_then(Array::into_vec);
            assert_eq!(found.as_ref(), Ok(&full), "{op} of {context}, {segments:?}");
        }
    }
    // Means are sums, divided: of numbers whose sums do not round, those of any order.
    let finite = |piece: &[T]| piece.iter().all(|item| item.to_f64().is_finite());
    let found = any::segmented_reduce(of, items, &by_offsets, &Reduce::new(Op::Mean));
    let Ok(found) = found else {
        let refused = found.expect_err("refused");
        return assert!(matches!(refused, Error::ElementUnsupported { .. }), "{refused} {context}");
    };
    let (dtype, bytes) = (found.dtype(), found.to_bytes().expect("means"));
    for (mean, (_, piece)) in bytes.chunks_exact(dtype.size()).zip(&pieces) {
        let mean = Scalar::from_bytes(dtype, mean).expect("a number").to_string();
        let sum: f64 = piece.iter().map(|item| item.to_f64()).sum();
        let wanted = sum / piece.len() as f64;
        let wanted = if dtype == Dtype::F32 {
            Scalar::new(wanted as f32).to_string()
        } else {
            Scalar::new(wanted).to_string()
        };
        if finite(piece) {
            assert_eq!(mean, wanted, "mean of {context}");
        }
    }
}

#[test]
fn positions_and_means_in_segments() {
    for_each_device_of(Selection::Representative, |device| {
        for len in [0, 1, 2, 129, 4100] {
            // A software GPU makes kernels slowly: it gets one length and its share of the types.
            let takes = |place: usize, dtypes: &[Dtype]| {
                has(device, dtypes) && (!device.is_gpu() || (len == 129 && device.takes(place, 3)))
            };
            if takes(0, &[Dtype::F32]) {
                check_in_segments(device, &special(len, |number| number as f32));
            }
            if takes(1, &[Dtype::U8]) {
                check_in_segments(device, &special(len, |number| number as u8));
            }
            if takes(2, &[Dtype::U64]) {
                check_in_segments(device, &special(len, |number| number.clamp(-9.0, 9.0) as i64));
            }
            if takes(3, &[Dtype::F64, Dtype::U64]) {
                check_in_segments(device, &special(len, |number| number));
            }
            if takes(4, &[Dtype::F16]) {
                check_in_segments(device, &special(len, f16::from_f64));
            }
        }
    });
}

/// Where segments begin is known in a GPU's memory alone, which counts the items of each.
#[test]
fn means_of_segments_that_a_gpu_knows() {
    for_each_gpu(|device| {
        let of = &device.device;
        let items: Vec<f32> = (0..300).map(|item| (item % 8) as f32).collect();
        let items = Array::from_slice(of, &items).expect("memory");
        let offsets = Array::from_slice(of, &[0u32, 8, 8, 24, 300]).expect("memory");
        let mut flags = [0u32; 300];
        flags[0] = 1;
        flags[8] = 1;
        flags[24] = 1;
        let flags = Array::from_slice(of, &flags).expect("memory");
        let last = (34 * 28 + 6) as f32 / 276.0;
        let by_offsets = any::segments_by_offsets(&offsets).expect("offsets");
        let by_flags = any::segments_by_flags(&flags).expect("flags");
        let means = |segments: &Segments<'_>| {
            let found = any::segmented_reduce(of, &items, segments, &Reduce::new(Op::Mean));
            found.and_then(AnyArray::into_typed::<f32>).and_then(Array::into_vec).expect("means")
        };
        let found = means(&by_offsets);
        assert!(found[1].is_nan(), "{device}: {found:?}");
        assert_eq!([found[0], found[2], found[3]], [3.5, 3.5, last], "{device}");
        assert_eq!(means(&by_flags), [3.5, 3.5, last], "{device}");
    });
}

/// Into memory of the caller's the same comes as to an array of its own, and what cannot go there is refused.
#[test]
fn segments_into_memory_of_the_callers() -> Result<()> {
    let (device, items) = (Device::cpu(), [200u8, 100, 7, 9]);
    let segments = any::segments_by_offsets(&[0u64, 2, 2, 4])?;
    let mut sums = [9u64; 3];
    any::segmented_reduce_into(&device, &items, &segments, &mut sums, &Reduce::new(Op::Sum))?;
    assert_eq!(sums, [300, 0, 16]);
    let mut most = [9u8; 3];
    any::segmented_reduce_into(&device, &items, &segments, &mut most, &Reduce::new(Op::Max))?;
    assert_eq!(most, [200, 0, 9]);
    let from = Reduce::new(Op::Min).init(Scalar::new(50u8));
    any::segmented_reduce_into(&device, &items, &segments, &mut most, &from)?;
    assert_eq!(most, [50, 50, 7]);
    let mut means = [9f64; 3];
    any::segmented_reduce_into(&device, &items, &segments, &mut means, &Reduce::new(Op::Mean))?;
    assert!(means[0] == 150.0 && means[1].is_nan() && means[2] == 8.0);
    let mut narrow = [9u8; 4];
    any::segmented_scan_into(&device, &items, &segments, &mut narrow, &Scan::inclusive(Op::Sum))?;
    assert_eq!(narrow, [200, 44, 7, 16]);
    let (keys, means) =
        any::reduce_by_key(&device, &[1u8, 1, 2, 1], &items, &Reduce::new(Op::Mean))?;
    assert_eq!(keys.into_typed::<u8>()?.into_vec()?, [1, 2, 1]);
    assert_eq!(means.into_typed::<f64>()?.into_vec()?, [150.0, 7.0, 9.0]);
    let (keys, most) =
        any::reduce_by_key(&device, &[1u16, 1, 2, 1], &items, &Reduce::new(Op::Max))?;
    assert_eq!(keys.into_typed::<u16>()?.into_vec()?, [1, 2, 1]);
    assert_eq!(most.into_typed::<u8>()?.into_vec()?, [200, 7, 9]);
    let positions = any::reduce_by_key(&device, &[1u8, 1, 2, 1], &items, &Reduce::new(Op::ArgMin));
    assert!(matches!(positions, Err(Error::OperatorElement { .. })), "{positions:?}");
    let problem = Reduce::new(Op::ArgMax);
    let wrong = any::segmented_reduce_into(&device, &items, &segments, &mut [0u8; 3], &problem);
    assert_eq!(wrong, Err(Error::WrongDtype { found: Dtype::U8, wanted: Dtype::U64 }));
    let wrong = any::segmented_reduce_into(&device, &items, &segments, &mut [0u64; 2], &problem);
    assert_eq!(wrong, Err(Error::LengthMismatch { input: 3, output: 2 }));
    let flags = any::segments_by_flags(&[1u8, 0, 1, 0])?;
    let wrong = any::segmented_reduce_into(&device, &items, &flags, &mut [0u64; 4], &problem);
    assert!(matches!(wrong, Err(Error::Segments { .. })), "{wrong:?}");
    let with_init = any::segmented_reduce(&device, &items, &flags, &problem.init(Scalar::new(1u8)));
    assert!(matches!(with_init, Err(Error::NoInit { .. })), "{with_init:?}");
    Ok(())
}

#[test]
fn runs_of_keys_of_every_type() -> Result<()> {
    let device = Device::cpu();
    for dtype in Dtype::ALL {
        let one = Items::new(dtype, 2);
        let bytes = one.view().bytes().expect("in host memory");
        let (a, b) = bytes.split_at(dtype.size());
        let keys: Vec<u8> = [a, a, b, a].concat();
        let mut words = vec![0u64; 4];
        let room = &mut bytemuck::cast_slice_mut(&mut words)[..keys.len()];
        room.copy_from_slice(&keys);
        let keys = AnyView::from_bytes(dtype, room)?;
        let items = [1u8, 2, 3, 4];
        let (unique, sums) = any::reduce_by_key(&device, keys, &items, &Reduce::new(Op::Sum))?;
        if a == b {
            continue;
        }
        assert_eq!((unique.dtype(), unique.to_bytes()?), (dtype, [a, b, a].concat()));
        assert_eq!(sums.into_typed::<u64>()?.into_vec()?, [3, 3, 4]);
    }
    let from = Reduce::new(Op::Sum).init(Scalar::new(100u64));
    let (_, sums) = any::reduce_by_key(&device, &[1u8, 1, 2], &[1u8, 2, 7], &from)?;
    assert_eq!(sums.into_typed::<u64>()?.into_vec()?, [103, 107]);
    let segments = any::segments_by_keys(&[1u8, 1, 2])?;
    let items = [f16::from_f32(1.5), f16::from_f32(2.5), f16::from_f32(8.0)];
    let least = any::segmented_reduce(&device, &items, &segments, &Reduce::new(Op::Min))?;
    assert_eq!(least.into_typed::<f16>()?.into_vec()?, [items[0], items[2]]);
    Ok(())
}

#[test]
fn mistakes_are_named() -> Result<()> {
    let device = Device::cpu();
    let items = [1u8, 2];
    let reduce = |problem: Reduce| any::reduce(&device, &items, &problem);
    let accumulator = reduce(Reduce::new(Op::Sum).acc(Dtype::I8));
    assert!(matches!(accumulator, Err(Error::Accumulator { .. })), "{accumulator:?}");
    let init = reduce(Reduce::new(Op::Sum).init(Scalar::new(1u8)));
    let wanted = Error::WrongDtype { found: Dtype::U8, wanted: Dtype::U64 };
    assert_eq!(init, Err(wanted));
    let init = reduce(Reduce::new(Op::ArgMin).init(Scalar::new(1u8)));
    assert_eq!(init, Err(Error::NoInit { operator: "argmin" }));
    let bits = any::reduce(&device, &[1.0f32], &Reduce::new(Op::And));
    assert_eq!(bits, Err(Error::OperatorElement { operator: "and", dtype: Dtype::F32 }));
    let mean = reduce(Reduce::new(Op::Mean).acc(Dtype::U32));
    assert!(matches!(mean, Err(Error::OperatorElement { .. })), "{mean:?}");
    let mut two = [0u64; 2];
    let results = any::reduce_into(&device, &items, &mut two, &Reduce::new(Op::Sum));
    assert_eq!(results, Err(Error::ResultLength { items: 2 }));
    let mut one = [0u8; 1];
    let narrow = any::reduce_into(&device, &items, &mut one, &Reduce::new(Op::Sum));
    assert_eq!(narrow, Err(Error::WrongDtype { found: Dtype::U8, wanted: Dtype::U64 }));
    let lengths = any::scan_into(&device, &items, &mut one, &Scan::inclusive(Op::Sum));
    assert_eq!(lengths, Err(Error::LengthMismatch { input: 2, output: 1 }));
    let words = [0u64; 2];
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    assert!(matches!(AnyView::from_bytes(Dtype::U32, &bytes[1..9]), Err(Error::Buffer { .. })));
    assert!(matches!(AnyView::from_bytes(Dtype::U32, &bytes[..6]), Err(Error::Buffer { .. })));
    let nothing = AnyView::from_bytes(Dtype::U32, &bytes[1..1]).expect("no items lie anywhere");
    assert_eq!(nothing.typed::<u32>().expect("items of u32").len(), 0);
    let bound = any::bind_scan(&device, &items, &mut [0u8; 2], &Scan::inclusive(Op::Sum));
    assert!(matches!(bound, Err(Error::NoCommands { .. })), "{bound:?}");
    assert!(matches!(any::segments_by_offsets(&[0i16]), Err(Error::Segments { .. })));
    let mut three = [0u64; 3];
    let (view, out) = (AnyView::from(&items), AnyViewMut::from(&mut three));
    assert_eq!((view.len(), out.len(), out.dtype()), (2, 3, Dtype::U64));
    Ok(())
}

/// Positions by the sequential answer, for the types whose kernels differ most.
#[test]
fn the_reference_finds_positions() -> Result<()> {
    for dtype in [Dtype::Bf16, Dtype::F64, Dtype::U8, Dtype::I64] {
        let items = Items::new(dtype, 1_000);
        for op in [Op::ArgMin, Op::ArgMax] {
            let found = any::reference_reduce(items.view(), &Reduce::new(op))?;
            assert_eq!(any::reduce(&Device::cpu(), items.view(), &Reduce::new(op))?, found);
        }
    }
    let items = [4.0f64, -1.0, -1.0];
    let indexed = items.iter().zip(0..).map(|(&value, index)| Indexed { value, index });
    let least = indexed.clone().reduce(|left, right| ArgMin.combine(left, right));
    let most = indexed.reduce(|left, right| ArgMax.combine(left, right));
    assert_eq!((least.map(|found| found.index), most.map(|found| found.index)), (Some(1), Some(0)));
    Ok(())
}

#[test]
fn kernels_say_what_runs() {
    let kernel = |op, item, acc| any::reduce_kernel(op, item, acc).map(|kernel| kernel.to_string());
    let shown = kernel(Op::Sum, Dtype::I32, Some(Dtype::I32));
    assert_eq!(shown.as_deref(), Some("sum u32 in u32"));
    let shown = kernel(Op::Product, Dtype::U8, None);
    assert_eq!(shown.as_deref(), Some("product u64 in u64, items converted first"));
    assert_eq!(kernel(Op::And, Dtype::F32, None), None);
    let scan = any::scan_kernel(Op::Max, Dtype::I8, Dtype::I8).map(|kernel| kernel.to_string());
    assert_eq!(scan.as_deref(), Some("max i8 in i8"));
}

/// What the typed calls say of values, the layer says too.
#[test]
fn typed_views_and_arrays_come_back() -> Result<()> {
    let device = Device::cpu();
    let array: AnyArray = Array::from_slice(&device, &[1.0f32, -0.0])?.into();
    assert_eq!(array.view().typed::<f32>()?.len(), 2);
    let wrong = array.view().typed::<u32>().map(|view| view.len());
    assert_eq!(wrong, Err(Error::WrongDtype { found: Dtype::F32, wanted: Dtype::U32 }));
    let most = any::reduce(&device, &array, &Reduce::new(Op::Max))?;
    assert_eq!(most, Some(Scalar::new(reduce(&device, &[1.0f32, -0.0], Max)?)));
    let typed = array.into_typed::<f32>()?.into_vec()?;
    let expected = reference::scan::<f32, f32, _>(&typed, &upsweep::Scan::inclusive(Max));
    assert_eq!(expected, [1.0, 1.0]);
    Ok(())
}
