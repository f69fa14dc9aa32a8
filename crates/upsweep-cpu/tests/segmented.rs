//! Reductions and scans in segments against the reference, bit for bit.

use upsweep_core::reference::segmented;
use upsweep_core::{
    Bounds, CpuPolicy, CpuStrategy, Direction, Dtype, Element, Error, Extreme, Kind, Max, Number,
    Operator, Reduce, Scan, SegmentedBy, Segments, Sum, Traffic, Widen, f16,
};
use upsweep_cpu::{Cpu, CpuOptions, InstructionSet};

/// The map `x → scale · x + shift`, for operators that do not commute.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Map<T> {
    scale: T,
    shift: T,
}

/// One map after another.
#[derive(Clone, Copy, Debug)]
struct Compose;

macro_rules! maps {
    ($($type:ident $exact:literal $one:literal $zero:literal $padding:literal $combine:expr;)*) => { $(
        impl Element for Map<$type> {
            type Acc = Self;
            const KIND: Kind = Kind::Opaque;
            const EXACT: bool = $exact;
            fn to_acc(self) -> Self {
                self
            }
            fn from_acc(acc: Self) -> Self {
                acc
            }
        }

        impl Operator<Map<$type>> for Compose {
            const NAME: &'static str = "compose";
            const COMMUTATIVE: bool = false;
            fn identity(&self) -> Map<$type> {
                Map { scale: $one, shift: $zero }
            }
            fn padding(&self) -> Map<$type> {
                Map { scale: $one, shift: $padding }
            }
            fn combine(&self, left: Map<$type>, right: Map<$type>) -> Map<$type> {
                let combine: fn($type, $type, $type) -> $type = $combine;
                Map {
                    scale: combine(right.scale, left.scale, $padding),
                    shift: combine(right.scale, left.shift, right.shift),
                }
            }
        }
    )* };
}

maps! {
    u32 true 1 0 0 |a, x, b| a.wrapping_mul(x).wrapping_add(b);
    f32 false 1.0 0.0 -0.0 |a, x, b| a * x + b;
}

/// The last item that is not 0, on numbers.
#[derive(Clone, Copy, Debug)]
struct Last;

impl Operator<u64> for Last {
    const NAME: &'static str = "last";
    const COMMUTATIVE: bool = false;
    fn identity(&self) -> u64 {
        0
    }
    fn combine(&self, left: u64, right: u64) -> u64 {
        if right == 0 { left } else { right }
    }
}

/// An element of which there are arrays at random.
trait Sample: Element {
    fn sample(word: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! samples {
    ($($type:ty, |$word:ident| $sample:expr, |$item:ident| $bits:expr;)*) => { $(
        impl Sample for $type {
            fn sample($word: u64) -> Self {
                $sample
            }
            fn bits(self) -> u64 {
                let $item = self;
                $bits
            }
        }
    )* };
}

samples! {
    u8, |word| word as u8, |item| item.into();
    i32, |word| word as i32, |item| item as u32 as u64;
    u64, |word| if word.is_multiple_of(3) { 0 } else { word }, |item| item;
    f16, |word| f16::from_f32(word as u8 as f32 / 64.0 - 1.0), |item| item.to_bits().into();
    f32, |word| (word as i32 as f32) * 2f32.powi((word >> 60) as i32), |item| item.to_bits().into();
    f64, |word| (word as i64 as f64) * 2f64.powi((word & 15) as i32), |item| item.to_bits();
    Map<u32>, |word| Map { scale: word as u32, shift: (word >> 32) as u32 },
        |item| (item.scale as u64) << 32 | item.shift as u64;
    Map<f32>, |word| Map { scale: 1.0 + (word as i32 as f32) * 2f32.powi(-40), shift: (word >> 32) as f32 },
        |item| (item.scale.to_bits() as u64) << 32 | item.shift.to_bits() as u64;
}

/// A word at random.
fn word(seed: u64, index: usize) -> u64 {
    let mixed = (seed << 40 ^ index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn samples<T: Sample>(seed: u64, items: usize) -> Vec<T> {
    (0..items).map(|index| T::sample(word(seed, index))).collect()
}

/// Around groups, rows and tiles.
const SHORT: [usize; 14] = [0, 1, 3, 4, 5, 15, 127, 128, 129, 500, 2047, 2048, 2049, 5000];

/// Some of them.
const FEW: [usize; 6] = [0, 1, 4, 129, 2047, 5000];

/// Around windows.
const LONG: [usize; 4] = [65_535, 65_536, 65_537, 200_000];

/// Offsets of several kinds for so many items.
fn patterns(items: usize) -> Vec<(&'static str, Vec<usize>)> {
    let every = |step: usize| (0..items).step_by(step).chain([items]).collect::<Vec<_>>();
    let mut power_law = vec![0];
    let mut end = 0;
    while end < items {
        let octave = word(1, power_law.len()) % 18;
        end = items.min(end + 1 + (word(2, power_law.len()) % (1 << octave)) as usize);
        power_law.push(end);
    }
    let middle = items / 2;
    let empties: Vec<usize> = [0, 0]
        .into_iter()
        .chain([middle; 5000])
        .chain([items.min(middle + 7); 40])
        .chain([items; 3])
        .collect();
    let inner = [items / 3, items / 3 + items / 5, items / 3 + items / 5, items - items / 4];
    vec![
        ("one", vec![0, items]),
        ("each", every(1)),
        ("eights", every(8)),
        ("many", every(700)),
        ("windows", every(65_536)),
        ("power law", power_law),
        ("empties", empties),
        ("inner", inner.to_vec()),
        ("one offset", vec![items]),
    ]
}

/// The CPU by one thread and by several, and by every instruction set.
fn devices() -> Vec<(String, Cpu)> {
    let strategy = Some(CpuStrategy::SimdThreads);
    let several = CpuOptions { threads: Some(3), strategy, ..CpuOptions::default() };
    let alone = InstructionSet::available().into_iter().map(|set| CpuOptions {
        threads: Some(1),
        instruction_set: Some(set),
        ..CpuOptions::default()
    });
    let all = alone.chain([several]);
    all.map(|options| (format!("{options:?}"), Cpu::new(options).expect("the CPU"))).collect()
}

/// What says the same segments, but for those without items: flags and keys of several sizes.
fn numbers(begins: &[bool]) -> Vec<(SegmentedBy, Kind, Vec<u8>)> {
    const THREE: Kind = Kind::Struct {
        name: "Three",
        fields: &[("a", 0, Dtype::U8), ("b", 1, Dtype::U8), ("c", 2, Dtype::U8)],
    };
    let mut all = Vec::new();
    for kind in [Dtype::U8.into(), Dtype::U16.into(), THREE, Dtype::U32.into(), Dtype::F64.into()] {
        let size = kind.size();
        let (mut flags, mut keys) = (Vec::new(), Vec::new());
        let mut key = 0u64;
        for (index, begins) in begins.iter().enumerate() {
            // Any byte may be the one that is not 0; what stands in front of all items begins one anyway.
            let set = *begins && index > 0;
            let flag = if set { 1u64 << (8 * (index % size)) } else { 0 };
            flags.extend(&flag.to_le_bytes()[..size]);
            let step = 1 + word(7, index) % 3 * (1 << (8 * (size - 1)));
            key = if set { key.wrapping_add(step) } else { key };
            keys.extend(&key.to_le_bytes()[..size]);
        }
        all.push((SegmentedBy::Flags, kind, flags));
        all.push((SegmentedBy::Keys, kind, keys));
    }
    all
}

fn assert_same<U: Sample>(found: &[U], wanted: &[U], what: impl Fn() -> String) {
    assert_eq!(found.len(), wanted.len(), "{}", what());
    if let Some(index) = (0..found.len()).find(|&i| found[i].bits() != wanted[i].bits()) {
        panic!("{}: item {index} is {:?}, not {:?}", what(), found[index], wanted[index]);
    }
}

/// All calls, for lengths of which all are boundaries of something.
fn check<T, U, O>(operator: O, lengths: &[usize])
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    U::Acc: Sample,
    O: Operator<U::Acc> + std::fmt::Debug,
{
    check_on::<T, U, O>(operator, lengths, &devices());
}

fn check_on<T, U, O>(operator: O, lengths: &[usize], devices: &[(String, Cpu)])
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    U::Acc: Sample,
    O: Operator<U::Acc> + std::fmt::Debug,
{
    let init = U::Acc::sample(word(5, 5));
    for &items in lengths {
        let input: Vec<T> = samples(3, items);
        for (number, (pattern, offsets)) in patterns(items).into_iter().enumerate() {
            let begins = segmented::begins(items, &offsets);
            let numbers = numbers(&begins);
            let short: Vec<u8> = offsets.iter().flat_map(|o| (*o as u32).to_le_bytes()).collect();
            // Not aligned.
            let long: Vec<u8> = [0]
                .into_iter()
                .chain(offsets.iter().flat_map(|o| (*o as u64).to_le_bytes()))
                .collect();
            let by_offsets = [
                Segments { by: SegmentedBy::Offsets, kind: Dtype::U32.into(), bytes: &short },
                Segments { by: SegmentedBy::Offsets, kind: Dtype::U64.into(), bytes: &long[1..] },
            ];
            let by_items: Vec<Segments<'_>> = numbers
                .iter()
                .map(|(by, kind, bytes)| Segments { by: *by, kind: *kind, bytes })
                .collect();
            let few = if items > 5000 { 2 } else { by_items.len() };
            let at = items + offsets.len();
            let chosen = |k: usize| by_items[(at + k) % by_items.len()];
            let problems = [
                Scan::inclusive(operator),
                Scan::exclusive(operator),
                Scan::inclusive(operator).init(init),
                Scan::exclusive(operator).init(init),
                Scan::inclusive(operator).reverse(),
                Scan::exclusive(operator).reverse(),
                Scan::exclusive(operator).reverse().init(init),
            ];
            // The reference takes its time: some of them with each pattern.
            for problem in problems.into_iter().skip((items + number) % 3).step_by(3) {
                let wanted: Vec<U> = segmented::scan(&input, &begins, &problem);
                for (name, cpu) in devices {
                    for segments in by_offsets.into_iter().chain((0..few).map(chosen)) {
                        let mut output: Vec<U> = samples(11, items);
                        cpu.segmented_scan(&input, segments, &mut output, &problem).unwrap();
                        assert_same(&output, &wanted, || {
                            format!(
                                "{items} {pattern} {problem:?} {:?} {:?} {name}",
                                segments.by, segments.kind
                            )
                        });
                    }
                }
            }
            let problems = [Reduce::new(operator), Reduce::new(operator).init(init)];
            for problem in problems.into_iter().skip((items + number) % 2).take(1) {
                let wanted: Vec<U> = segmented::reduce_by_offsets(&input, &offsets, &problem);
                let beside: Vec<U> = segmented::reduce(&input, &begins, &problem);
                for (name, cpu) in devices {
                    let what = |s: Segments<'_>| {
                        format!("{items} {pattern} {problem:?} {:?} {:?} {name}", s.by, s.kind)
                    };
                    for segments in by_offsets {
                        let mut output: Vec<U> = samples(11, wanted.len());
                        let count =
                            cpu.segmented_reduce(&input, segments, None, &mut output, &problem);
                        assert_eq!(count, Ok(wanted.len()), "{}", what(segments));
                        assert_same(&output, &wanted, || what(segments));
                    }
                    for segments in (0..few).map(chosen) {
                        let mut output: Vec<U> = samples(11, items);
                        let poison = output.clone();
                        let mut unique = vec![0xa5; segments.bytes.len()];
                        let wants = segments.by == SegmentedBy::Keys;
                        let count = cpu
                            .segmented_reduce(
                                &input,
                                segments,
                                wants.then_some(&mut unique[..]),
                                &mut output,
                                &problem,
                            )
                            .unwrap();
                        assert_eq!(count, beside.len(), "{}", what(segments));
                        assert_same(&output[..count], &beside, || what(segments));
                        assert_same(&output[count..], &poison[count..], || what(segments));
                        if wants {
                            let size = segments.kind.size();
                            let mut keys: Vec<u8> = (0..items)
                                .filter(|k| begins[*k])
                                .flat_map(|k| {
                                    segments.bytes[k * size..(k + 1) * size].iter().copied()
                                })
                                .collect();
                            keys.resize(items * size, 0xa5);
                            assert_eq!(unique, keys, "{}", what(segments));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_f32_are_the_references() {
    check::<f32, f32, _>(Sum, &SHORT);
    check::<f32, f32, _>(Sum, &LONG);
}

#[test]
fn sums_of_f16_in_f32_are_the_references() {
    check::<f16, f16, _>(Sum, &FEW);
    check::<f16, f16, _>(Sum, &[70_000]);
    check::<f16, f32, _>(Sum, &[129, 70_000]);
}

#[test]
fn sums_of_f64_are_the_references() {
    check::<f64, f64, _>(Sum, &FEW);
    check::<f64, f64, _>(Sum, &[140_000]);
}

#[test]
fn sums_of_integers_are_the_references() {
    check::<i32, i32, _>(Sum, &FEW);
    check::<i32, i32, _>(Sum, &LONG);
    check::<u8, u8, _>(Sum, &[0, 1, 129, 5000, 70_000]);
    check::<u8, u64, _>(Sum, &[0, 129, 70_000]);
}

#[test]
fn extremes_are_the_references() {
    check::<f32, f32, _>(Max, &FEW);
    check::<f32, f32, _>(Max, &[70_000]);
    check::<i32, i32, _>(Max, &[0, 129, 5000, 70_000]);
}

#[test]
fn operators_that_do_not_commute_are_in_order() {
    check::<u64, u64, _>(Last, &[0, 1, 3, 129, 5000, 70_000]);
    check::<Map<u32>, Map<u32>, _>(Compose, &[0, 1, 3, 129, 5000, 70_000]);
    check::<Map<f32>, Map<f32>, _>(Compose, &SHORT);
    check::<Map<f32>, Map<f32>, _>(Compose, &LONG);
}

/// An output that is written past the caches.
#[test]
fn long_arrays_are_the_references() {
    let policy = CpuPolicy {
        serial_bytes: 1 << 12,
        scan_serial_bytes: 1 << 12,
        block_bytes: 1 << 13,
        scan_block_bytes: 1 << 13,
        scan_parts_bytes: 0,
        streaming_bytes: 1 << 10,
        half_line_bytes: 1 << 10,
        scan_half_line_bytes: 1 << 10,
    };
    for threads in [1, 2] {
        let strategy = (threads > 1).then_some(CpuStrategy::SimdThreads);
        let policy = Some(policy);
        let options =
            CpuOptions { threads: Some(threads), policy, strategy, ..CpuOptions::default() };
        let device = (format!("{options:?}"), Cpu::new(options).expect("the CPU"));
        check_on::<f32, f32, _>(Sum, &[130_000], core::slice::from_ref(&device));
        check_on::<f16, f16, _>(Sum, &[130_000], core::slice::from_ref(&device));
        check_on::<i32, i32, _>(Sum, &[130_000], core::slice::from_ref(&device));
    }
}

#[test]
fn runs_are_alike() {
    let cpu = &devices().pop().expect("several threads").1;
    let input: Vec<f32> = samples(3, 300_000);
    let keys: Vec<u8> = (0..input.len()).map(|k| (k / 5000) as u8).collect();
    let segments = Segments { by: SegmentedBy::Keys, kind: Dtype::U8.into(), bytes: &keys };
    let problem = Scan::inclusive(Sum);
    let scan = || {
        let mut output = vec![0f32; input.len()];
        cpu.segmented_scan(&input, segments, &mut output, &problem).map(|()| output)
    };
    let first = scan();
    assert!((0..10).all(|_| scan() == first));
}

/// The first position of an extreme of these items, of which the first has number `start`; NaNs are before all others.
fn position<T: Number>(items: &[T], start: usize, extreme: Extreme) -> u64 {
    let is_better = |one: &T, other: &T| match extreme {
        _ if other.is_nan() => false,
        Extreme::Smallest => one.is_nan() || one < other,
        Extreme::Largest => one.is_nan() || one > other,
    };
    let mut best: Option<usize> = None;
    for (index, item) in items.iter().enumerate() {
        if best.is_none_or(|best| is_better(item, &items[best])) {
            best = Some(index);
        }
    }
    best.map_or(u64::MAX, |best| (start + best) as u64)
}

fn check_positions<T: Number>(make: fn(u64) -> T, lengths: &[usize]) {
    let (_, policy) = devices()[0].1.choice::<T>(Traffic::Reads, 0);
    let policy = Some(CpuPolicy { serial_bytes: 1 << 12, ..policy });
    let threads = Cpu::new(CpuOptions { threads: Some(3), policy, ..CpuOptions::default() });
    let mut devices = devices();
    devices.push(("three threads where they pay".to_owned(), threads.expect("the CPU")));
    for &items in lengths {
        let input: Vec<T> = (0..items).map(|index| make(word(5, index))).collect();
        for (pattern, offsets) in patterns(items) {
            let begins = segmented::begins(items, &offsets);
            let mut marked: Vec<usize> = (0..items).filter(|&item| begins[item]).collect();
            marked.push(items);
            let wanted = |offsets: &[usize], extreme| -> Vec<u64> {
                let pairs = offsets.windows(2);
                pairs.map(|pair| position(&input[pair[0]..pair[1]], pair[0], extreme)).collect()
            };
            let bytes: Vec<u8> =
                offsets.iter().flat_map(|offset| (*offset as u64).to_le_bytes()).collect();
            let by_offsets =
                Segments { by: SegmentedBy::Offsets, kind: Dtype::U64.into(), bytes: &bytes };
            for extreme in [Extreme::Smallest, Extreme::Largest] {
                for (name, cpu) in &devices {
                    let context =
                        || format!("{} of {items}, {pattern}, {extreme:?}, {name}", T::DTYPE);
                    let mut output = vec![7; offsets.len() - 1];
                    let found = cpu.segmented_position(&input, by_offsets, &mut output, extreme);
                    assert_eq!(found, Ok(output.len()), "{}", context());
                    assert_eq!(output, wanted(&offsets, extreme), "{}", context());
                    for (by, kind, bytes) in numbers(&begins).into_iter().take(4) {
                        let mut output = vec![7; items];
                        let segments = Segments { by, kind, bytes: &bytes };
                        let found = cpu.segmented_position(&input, segments, &mut output, extreme);
                        let expected = wanted(if items == 0 { &[] } else { &marked }, extreme);
                        assert_eq!(found, Ok(expected.len()), "{by:?}, {}", context());
                        assert_eq!(output[..expected.len()], expected, "{by:?}, {}", context());
                    }
                }
            }
        }
    }
}

#[test]
fn positions_are_the_first_of_each_segment() {
    let float = |word: u64| match word % 41 {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => f64::INFINITY,
        4 => f64::NEG_INFINITY,
        _ => (word >> 32) as f64 % 9.0 - 4.0,
    };
    check_positions::<f32>(
        |word| if word % 300 == 0 { f32::NAN } else { (word % 7) as f32 - 3.0 },
        &FEW,
    );
    check_positions::<u8>(|word| word as u8, &[0, 1, 129, 5000, 65_537]);
    check_positions::<i64>(|word| (word >> 20) as i64 - (1 << 43), &[129, 5000]);
    check_positions::<f64>(float, &[129, 5000, 65_537]);
    check_positions::<f16>(|word| f16::from_f32((word % 2000) as f32 - 1000.0), &[129, 5000]);
}

/// Keys of segments, and values of any size, that a caller's function makes.
#[test]
fn a_call_for_each_segment_has_its_items() {
    let keys: Vec<u8> = [3u16, 3, 4, 3, 3, 3].iter().flat_map(|key| key.to_le_bytes()).collect();
    let by_keys = Segments { by: SegmentedBy::Keys, kind: Dtype::U16.into(), bytes: &keys };
    for (name, cpu) in devices() {
        let (mut unique, mut values) = ([9u8; 12], [9u8; 18]);
        let value = |_: &Cpu, range: std::ops::Range<usize>, value: &mut [u8]| {
            value.copy_from_slice(&[range.start as u8, range.end as u8, 77]);
            Ok(())
        };
        let found =
            cpu.per_segment((6, 4), by_keys, Some(&mut unique), &mut values, &[0; 3], &value);
        assert_eq!(found, Ok(3), "{name}");
        assert_eq!(unique[..6], [3, 0, 4, 0, 3, 0], "{name}");
        assert_eq!(values[..9], [0, 2, 77, 2, 3, 77, 3, 6, 77], "{name}");
        let refuse = |_: &Cpu, _: std::ops::Range<usize>, _: &mut [u8]| Err(Error::NoStep);
        let found = cpu.per_segment((6, 4), by_keys, None, &mut values, &[0; 3], &refuse);
        assert_eq!(found, Err(Error::NoStep), "{name}");
        let short = cpu.per_segment((6, 4), by_keys, None, &mut values[..15], &[0; 3], &value);
        assert_eq!(short, Err(Error::LengthMismatch { input: 6, output: 5 }), "{name}");
    }
}

#[test]
fn mistakes_are_refused_and_nothing_is_written() {
    let cpu = &devices()[0].1;
    let of = |by, bytes| Segments { by, kind: Dtype::U8.into(), bytes };
    let offsets: Vec<u8> = [0u32, 3, 5].iter().flat_map(|o| o.to_le_bytes()).collect();
    let by_offsets =
        Segments { by: SegmentedBy::Offsets, kind: Dtype::U32.into(), bytes: &offsets };
    let input = [1u32, 2, 3, 4, 5];
    let keys = of(SegmentedBy::Keys, &[1, 1, 2, 2, 2]);

    let scan = |segments: Segments<'_>, items: usize| {
        let mut output = vec![77u32; items];
        let result = cpu.segmented_scan(&input, segments, &mut output, &Scan::inclusive(Sum));
        assert!(result.is_ok() || output.iter().all(|item| *item == 77));
        result
    };
    let reduce = |segments: Segments<'_>, items: usize, unique: Option<usize>| {
        let (mut output, mut keys) = (vec![77u32; items], vec![77; unique.unwrap_or(0)]);
        let unique = unique.is_some().then_some(&mut keys[..]);
        let result = cpu.segmented_reduce(&input, segments, unique, &mut output, &Reduce::new(Sum));
        assert!(result.is_ok() || output.iter().all(|item| *item == 77));
        assert!(result.is_ok() || keys.iter().all(|key| *key == 77));
        result
    };
    assert_eq!(scan(keys, 5), Ok(()));
    assert_eq!(scan(keys, 4), Err(Error::LengthMismatch { input: 5, output: 4 }));
    assert_eq!(reduce(keys, 5, Some(5)), Ok(2));
    assert_eq!(reduce(keys, 4, None), Err(Error::LengthMismatch { input: 5, output: 4 }));
    assert_eq!(reduce(keys, 5, Some(4)), Err(Error::LengthMismatch { input: 5, output: 4 }));
    assert_eq!(reduce(by_offsets, 2, None), Ok(2));
    assert_eq!(reduce(by_offsets, 5, None), Err(Error::LengthMismatch { input: 2, output: 5 }));

    let wrong = |numbers: &[u32], wanted: &str| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|o| o.to_le_bytes()).collect();
        let segments = Segments { bytes: &bytes, ..by_offsets };
        let text = Err(format!("segments: {wanted}"));
        assert_eq!(scan(segments, 5).map_err(|error| error.to_string()), text);
        let reduced = reduce(segments, numbers.len().saturating_sub(1), None);
        assert_eq!(reduced.map(|_| ()).map_err(|error| error.to_string()), text);
    };
    wrong(&[], "there are no offsets; there must be one more than segments");
    wrong(&[0, 4, 3], "offset 2 is 3, less than 4 before it");
    wrong(&[0, 6], "the last offset is 6, and there are 5 items");
    for (by, wanted) in [
        (SegmentedBy::Keys, "segments: there are 2 keys for 5 items"),
        (SegmentedBy::Flags, "segments: there are 2 flags for 5 items"),
    ] {
        let error = scan(of(by, &[1, 2]), 5).map_err(|error| error.to_string());
        assert_eq!(error, Err(wanted.to_owned()));
    }
}

#[test]
fn the_words_mean_what_they_say() {
    let cpu = &devices()[0].1;
    let flags = [0u8, 0, 1, 0, 9];
    let segments = Segments { by: SegmentedBy::Flags, kind: Dtype::U8.into(), bytes: &flags };
    let problem = Scan::exclusive(Sum).reverse().init(100);
    assert_eq!((problem.bounds, problem.direction), (Bounds::Exclusive, Direction::Reverse));
    let mut output = [0u32; 5];
    cpu.segmented_scan(&[1u32, 2, 3, 4, 5], segments, &mut output, &problem).expect("segments");
    assert_eq!(output, [102, 100, 104, 100, 100]);
    let count =
        cpu.segmented_reduce(&[1u32, 2, 3, 4, 5], segments, None, &mut output, &Reduce::new(Max));
    assert_eq!((count, &output[..3]), (Ok(3), &[2, 4, 5][..]));
}
