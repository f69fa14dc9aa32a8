//! Every strategy against the plain loops of the reference.

use std::borrow::Cow;
use std::fmt::Debug;

use upsweep_core::reference::compaction;
use upsweep_core::{
    CpuPolicy, CpuStrategy, Dtype, Element, Error, Indexed, Kind, Make, Number, bf16, f16,
};

use super::blocks::BLOCKS_OF_REDUCTIONS;
use super::marks::PIECE;
use crate::{Cpu, CpuOptions, InstructionSet};

/// Bytes of a block: few, so that short arrays have many, and enough to be written past the caches.
const BLOCK: usize = 1 << 14;

/// Every strategy with every instruction set: each with 1, 2 and 3 threads, and past the caches from a few blocks on.
fn devices() -> Vec<Cpu> {
    let mut devices = Vec::new();
    for level in crate::tests::levels() {
        let is_it =
            |set: &InstructionSet| format!("{:?}", set.level()) == format!("{:?}", Some(level));
        let set = InstructionSet::available().into_iter().find(is_it).expect("the set of a level");
        let new = |threads, strategy, streaming_bytes| {
            let options = CpuOptions {
                threads: Some(threads),
                instruction_set: Some(set),
                strategy: Some(strategy),
                policy: None,
            };
            let cpu = Cpu::new(options).expect("an instruction set of this CPU");
            let (_, policy) = cpu.choice::<u32>(upsweep_core::Traffic::Copies, 0);
            cpu.with_policy(CpuPolicy {
                block_bytes: BLOCK / BLOCKS_OF_REDUCTIONS,
                streaming_bytes,
                ..policy
            })
        };
        devices.push(new(1, CpuStrategy::Simd, CpuPolicy::NEVER));
        devices.push(new(1, CpuStrategy::Simd, BLOCK));
        devices.push(new(2, CpuStrategy::SimdThreads, CpuPolicy::NEVER));
        devices.push(new(3, CpuStrategy::SimdThreads, BLOCK));
    }
    let scalar = CpuOptions { strategy: Some(CpuStrategy::Scalar), ..CpuOptions::default() };
    devices.push(Cpu::new(scalar).expect("a CPU"));
    devices
}

/// A structure of 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point([f32; 3]);

impl Element for Point {
    type Acc = Self;
    const KIND: Kind = Kind::Struct {
        name: "Point",
        fields: &[("x", 0, Dtype::F32), ("y", 4, Dtype::F32), ("z", 8, Dtype::F32)],
    };
    const EXACT: bool = false;
    fn to_acc(self) -> Self {
        self
    }
    fn from_acc(acc: Self) -> Self {
        acc
    }
    fn bytes(items: &[Self]) -> Option<Cow<'_, [u8]>> {
        Some(items.iter().flat_map(|item| item.0.map(f32::to_ne_bytes)).flatten().collect())
    }
}

/// Items at random, of which some have the bytes of others.
trait Sample: Element {
    fn sample(word: u64) -> Self;
}

macro_rules! samples {
    ($($type:ident |$word:ident| $sample:expr;)*) => { $(
        impl Sample for $type {
            fn sample($word: u64) -> Self {
                $sample
            }
        }
    )* };
}

samples! {
    u8 |word| word as u8;
    i8 |word| word as i8;
    u16 |word| word as u16;
    i16 |word| word as i16;
    u32 |word| word as u32;
    i32 |word| word as i32;
    u64 |word| word;
    i64 |word| word as i64;
    f16 |word| f16::from_bits(word as u16);
    bf16 |word| bf16::from_bits(word as u16);
    f32 |word| f32::from_bits(word as u32);
    f64 |word| f64::from_bits(word);
    Point |word| Point([word as f32, (word >> 20) as f32, (word >> 40) as f32]);
}

impl Sample for Indexed<u8> {
    fn sample(word: u64) -> Self {
        Indexed { value: word as u8, index: word }
    }
}

/// Numbers that look random.
fn words(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    core::iter::repeat_with(next).take(count).collect()
}

/// Which of so many are kept, in every way that matters.
fn patterns(count: usize) -> Vec<Vec<bool>> {
    let share = |percent: u64| -> Vec<bool> {
        words(count, percent + 1).iter().map(|word| (word >> 32) % 100 < percent).collect()
    };
    let mut patterns: Vec<_> = [0, 1, 50, 99, 100].map(share).into();
    patterns.push((0..count).map(|k| k % 2 == 1).collect());
    // Long runs, and pieces that are kept as a whole beside others.
    patterns.push((0..count).map(|k| k / 700 % 2 == 0).collect());
    // The first that is dropped is in the last vector of a piece, of which the next piece compares the last item.
    patterns.push((0..count).map(|k| k != PIECE - 2 && k != PIECE).collect());
    patterns
}

/// Lengths at the borders of vectors, masks, pieces and blocks of items of so many bytes.
fn lengths(item_bytes: usize) -> Vec<usize> {
    let block = (BLOCK / item_bytes).next_multiple_of(64);
    vec![0, 1, 63, 64, 65, PIECE - 1, PIECE + 1, block - 1, block, block + 1, 3 * block + 777]
}

/// An output among items that must stay as they are.
struct Guarded<T> {
    memory: Vec<T>,
    start: usize,
    items: usize,
    guard: T,
}

impl<T: Element> Guarded<T> {
    fn new(items: usize, start: usize, guard: T) -> Self {
        Self { memory: vec![guard; items + start + 70], start, items, guard }
    }

    fn of(items: &[T], start: usize, guard: T) -> Self {
        let mut new = Self::new(items.len(), start, guard);
        new.output().copy_from_slice(items);
        new
    }

    fn output(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.items]
    }

    /// That the first of them are those that are wanted, and what is around them is as it was.
    fn check(&self, wanted: &[T], found: usize, what: &dyn Debug) {
        assert_eq!(found, wanted.len(), "{what:?}");
        assert_same(&self.memory[self.start..self.start + found], wanted, what);
        let around = [&self.memory[..self.start], &self.memory[self.start + self.items..]].concat();
        assert_same(&around, &vec![self.guard; around.len()], what);
    }
}

/// Compares bytes, so that NaNs are compared too.
fn assert_same<T: Element>(found: &[T], wanted: &[T], what: &dyn Debug) {
    let same = match (T::bytes(found), T::bytes(wanted)) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => found == wanted,
    };
    assert!(same, "{what:?}");
}

fn check_selection<T: Sample, F: Number>(devices: &[Cpu], flag: impl Fn(bool, usize) -> F) {
    let guard = T::sample(0x5a5a_5a5a_5a5a_5a5a);
    for length in lengths(size_of::<T>()) {
        let items: Vec<T> = words(length + 3, 7).into_iter().map(T::sample).collect();
        for (number, pattern) in patterns(length).into_iter().enumerate() {
            let start = number % 4;
            let items = &items[start % 3..][..length];
            let all: Vec<F> = [false]
                .iter()
                .chain(&pattern)
                .enumerate()
                .map(|(k, kept)| flag(*kept, k))
                .collect();
            let flags = &all[1..];
            let selected = compaction::select(items, flags);
            let (partitioned, border) = compaction::partition(items, flags);
            let positions = compaction::positions(flags);
            let short: Vec<u32> = positions.iter().map(|position| *position as u32).collect();
            let seconds: Vec<u16> = (0..length).map(|k| ((k + number) % 3) as u16).collect();
            let (in_parts, borders) = compaction::partition3(items, flags, &seconds);
            for cpu in devices {
                let what = (cpu, F::DTYPE, length, number);
                let mut output = Guarded::new(length, start, guard);
                let found = cpu.partition3(items, flags, &seconds, output.output());
                assert_eq!(found, Ok(borders), "{what:?}");
                output.check(&in_parts, length, &what);
                let mut output = Guarded::new(length, start, guard);
                let found = cpu.select(items, flags, output.output()).expect("equal lengths");
                output.check(&selected, found, &what);
                let mut output = Guarded::of(items, start, guard);
                let found = cpu.select_in_place(output.output(), flags).expect("equal lengths");
                output.check(&selected, found, &what);
                let mut output = Guarded::new(length, start, guard);
                let found = cpu.partition(items, flags, output.output()).expect("equal lengths");
                assert_eq!(found, border, "{what:?}");
                output.check(&partitioned, length, &what);
                let mut output = Guarded::new(length, start, 77u64);
                let found = cpu.positions(flags, output.output()).expect("equal lengths");
                output.check(&positions, found, &what);
                let mut output = Guarded::new(length, start, 77u32);
                let found = cpu.positions(flags, output.output()).expect("equal lengths");
                output.check(&short, found, &what);
            }
        }
    }
}

/// A flag that is true is some number that is not 0.
fn byte(kept: bool, k: usize) -> u8 {
    if kept { 1 << (k % 8) } else { 0 }
}

#[test]
fn items_of_every_type_are_selected() {
    let devices = devices();
    macro_rules! types {
        ($($type:ty)*) => { $(check_selection::<$type, u8>(&devices, byte);)* };
    }
    types!(u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 Point Indexed<u8>);
}

#[test]
fn flags_of_every_type_select() {
    let devices = devices();
    macro_rules! types {
        ($($type:ident $zero:expr, $($one:expr),*;)*) => { $(
            check_selection::<u16, $type>(&devices, |kept, k| {
                let ones = [$($one),*];
                if kept { ones[k % ones.len()] } else { $zero }
            });
        )* };
    }
    types! {
        i8 0, -1, i8::MIN, 1;
        u16 0, 1, 256, 1 << 15;
        i16 0, -1, i16::MIN;
        u32 0, 1, 1 << 16, 1 << 31;
        i32 0, -1, i32::MIN;
        u64 0, 1, 1 << 32, 1 << 63;
        i64 0, -1, i64::MIN;
        f16 f16::ZERO, f16::NEG_ZERO, f16::NAN, f16::ONE;
        bf16 bf16::ZERO, bf16::NEG_ZERO, bf16::NAN, bf16::ONE;
        f32 0.0, -0.0, f32::NAN, 1.0, 1e-45;
        f64 0.0, -0.0, f64::NAN, 1.0, 5e-324;
    }
}

/// Items that are made: every third of an array, shifted.
#[derive(Clone, Copy)]
struct Every<'a>(&'a [u64]);

impl Make for Every<'_> {
    type Item = u64;
    fn len(&self) -> usize {
        self.0.len()
    }
    fn make(
        &self,
        range: std::ops::Range<usize>,
    ) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        self.0[range].iter().map(|item| item >> 3)
    }
    fn item(&self, number: usize) -> u64 {
        self.0[number] >> 3
    }
}

fn check_made<M: Make<Item: Element>>(
    devices: &[Cpu],
    input: M,
    guard: M::Item,
    keep: impl Fn(M::Item) -> bool + Copy + Send + Sync,
) {
    let length = input.len();
    let items: Vec<M::Item> = input.make(0..length).collect();
    let flags: Vec<u8> = items.iter().map(|item| keep(*item).into()).collect();
    let selected = compaction::select(&items, &flags);
    let (partitioned, border) = compaction::partition(&items, &flags);
    let positions = compaction::positions(&flags);
    let is_even = |item: &M::Item| M::Item::bytes(&[*item]).is_some_and(|bytes| bytes[0] % 2 == 0);
    let seconds: Vec<u8> = items.iter().map(|item| is_even(item).into()).collect();
    let (in_parts, borders) = compaction::partition3(&items, &flags, &seconds);
    for (number, cpu) in devices.iter().enumerate() {
        let (what, start) = ((cpu, length), number % 5);
        let mut output = Guarded::new(length, start, guard);
        let found = cpu.select_made(input, keep, output.output()).expect("equal lengths");
        output.check(&selected, found, &what);
        let mut output = Guarded::new(length, start, guard);
        let found = cpu.partition_made(input, keep, output.output()).expect("equal lengths");
        assert_eq!(found, border, "{what:?}");
        output.check(&partitioned, length, &what);
        let mut output = Guarded::new(length, start, guard);
        let found = cpu.partition3_made(input, keep, |item| is_even(&item), output.output());
        assert_eq!(found, Ok(borders), "{what:?}");
        output.check(&in_parts, length, &what);
        let mut output = Guarded::new(length, start, 77u64);
        let found = cpu.positions_made(input, keep, output.output()).expect("equal lengths");
        output.check(&positions, found, &what);
        assert_eq!(cpu.count_made(input, keep), Ok(border as u64), "{what:?}");
    }
}

#[test]
fn items_that_are_made_are_selected() {
    let devices = devices();
    for length in lengths(8) {
        let words = words(length, 3);
        for percent in [0, 1, 50, 99, 100] {
            let most = (u64::MAX >> 3) / 100 * percent;
            check_made(&devices, Every(&words), 5, |item| item < most);
        }
        let floats: Vec<f32> = words.iter().map(|word| *word as i64 as f32).collect();
        check_made(&devices, &floats[..], 0.5, |item| item > 0.0);
        let bytes: Vec<u8> = words.iter().map(|word| *word as u8).collect();
        check_made(&devices, &bytes[..], 0, |item| item % 3 == 0);
        let points: Vec<Point> = words.iter().map(|word| Point::sample(*word)).collect();
        check_made(&devices, &points[..], Point::sample(0), |point| point.0[0] > point.0[1]);
    }
}

/// Items in runs that begin where a pattern says so.
fn runs<T: Sample>(pattern: &[bool]) -> Vec<T> {
    let mut number = 0;
    let sample = |begins: &bool| {
        number += u64::from(*begins);
        T::sample(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    pattern.iter().map(sample).collect()
}

fn check_runs<K: Sample, T: Sample>(devices: &[Cpu]) {
    let (guard, item_guard) = (K::sample(0x5a5a_5a5a_5a5a_5a5a), T::sample(0x5a5a_5a5a_5a5a_5a5a));
    for length in lengths(size_of::<K>().max(size_of::<T>())) {
        let items: Vec<T> = words(length, 11).into_iter().map(T::sample).collect();
        for (number, pattern) in patterns(length).into_iter().enumerate() {
            let (start, keys) = (number % 4, runs::<K>(&pattern));
            let unique = compaction::unique(&keys);
            let (unique_keys, first_items) = compaction::unique_by_key(&keys, &items);
            let (values, counts) = compaction::run_length_encode(&keys);
            let short: Vec<u32> = counts.iter().map(|count| *count as u32).collect();
            for cpu in devices {
                let what = (cpu, K::KIND, length, number);
                let mut output = Guarded::new(length, start, guard);
                let found = cpu.unique(&keys, output.output()).expect("equal lengths");
                output.check(&unique, found, &what);
                let mut output = Guarded::new(length, start, guard);
                let found = cpu.unique_next(true, &keys, output.output()).expect("equal lengths");
                output.check(unique.get(1..).unwrap_or_default(), found, &what);
                let mut output = Guarded::of(&keys, start, guard);
                let found = cpu.unique_in_place(output.output()).expect("equal lengths");
                output.check(&unique, found, &what);
                let mut keys_output = Guarded::new(length, start, guard);
                let mut output = Guarded::new(length, 1, item_guard);
                let found = cpu.unique_by_key(&keys, &items, keys_output.output(), output.output());
                let found = found.expect("equal lengths");
                keys_output.check(&unique_keys, found, &what);
                output.check(&first_items, found, &what);
                let mut values_output = Guarded::new(length, start, guard);
                let mut output = Guarded::new(length, start, 77u64);
                let found = cpu.run_length_encode(&keys, values_output.output(), output.output());
                let found = found.expect("equal lengths");
                values_output.check(&values, found, &what);
                output.check(&counts, found, &what);
                let mut output = Guarded::new(length, start, 77u32);
                let found = cpu.run_length_encode(&keys, values_output.output(), output.output());
                output.check(&short, found.expect("equal lengths"), &what);
            }
        }
    }
}

#[test]
fn runs_of_every_type_are_found() {
    let devices = devices();
    check_runs::<u8, f64>(&devices);
    check_runs::<i16, u8>(&devices);
    check_runs::<f16, Point>(&devices);
    check_runs::<u32, u32>(&devices);
    check_runs::<f32, Indexed<u8>>(&devices);
    check_runs::<f64, u16>(&devices);
    check_runs::<Point, u64>(&devices);
}

#[test]
fn zeros_of_both_signs_differ_and_nans_do_not() {
    let items = [0.0, -0.0, -0.0, 0.0, f32::NAN, f32::NAN, -f32::NAN, 1.0];
    for cpu in devices() {
        let (mut values, mut counts) = ([9.0; 8], [9u32; 8]);
        assert_eq!(cpu.run_length_encode(&items, &mut values, &mut counts), Ok(6));
        assert_eq!(counts[..6], [1, 2, 1, 2, 1, 1]);
        assert_same(&values[..4], &[0.0, -0.0, 0.0, f32::NAN], &cpu);
    }
}

/// Many items of a length that nobody has.
#[derive(Clone, Copy)]
struct Many(usize);

impl Make for Many {
    type Item = u8;
    fn len(&self) -> usize {
        self.0
    }
    fn make(
        &self,
        range: std::ops::Range<usize>,
    ) -> impl DoubleEndedIterator<Item = u8> + ExactSizeIterator {
        range.map(|_| 0)
    }
    fn item(&self, _: usize) -> u8 {
        0
    }
}

#[test]
fn arrays_that_do_not_go_together_are_refused() {
    let cpu = Cpu::shared();
    let differ = |input, output| Err(Error::LengthMismatch { input, output });
    let (items, flags) = ([1u32; 4], [1u8; 4]);
    assert_eq!(cpu.select(&items, &flags, &mut [0; 3]), differ(4, 3));
    assert_eq!(cpu.partition(&items, &flags, &mut [0; 5]), differ(4, 5));
    let refused = Err(Error::LengthMismatch { input: 4, output: 5 });
    assert_eq!(cpu.partition3(&items, &flags, &flags, &mut [0; 5]), refused);
    let error = cpu.partition3(&items, &flags, &flags[..3], &mut [0; 4]);
    let error = error.expect_err("a second flag is missing");
    assert_eq!(error.to_string(), "there are 3 flags for 4 items");
    assert_eq!(cpu.positions(&flags, &mut [0u64; 5]), differ(4, 5));
    assert_eq!(cpu.unique(&items, &mut [0; 5]), differ(4, 5));
    assert_eq!(cpu.run_length_encode(&items, &mut [0; 4], &mut [0u32; 3]), differ(4, 3));
    assert_eq!(cpu.select_made(&items[..], |_| true, &mut [0; 3]), differ(4, 3));
    let error = cpu.select(&items, &flags[..3], &mut [0; 4]).expect_err("a flag is missing");
    assert_eq!(error.to_string(), "there are 3 flags for 4 items");
    assert!(cpu.partition(&items, &flags[..3], &mut [0; 4]).is_err());
    assert!(cpu.select_in_place(&mut [1u32; 4], &flags[..3]).is_err());
    let found = cpu.unique_by_key(&flags[..3], &items, &mut [0; 3], &mut [0; 4]);
    assert_eq!(found.expect_err("a key is missing").to_string(), "there are 3 keys for 4 items");
    let wrong = Err(Error::WrongDtype { found: Dtype::U32, wanted: Dtype::U64 });
    let mut numbers = [0u32; 4];
    assert_eq!(cpu.positions_from((1 << 32) - 3, &[1u8; 4], &mut numbers), wrong);
    assert_eq!(cpu.positions_from((1 << 32) - 4, &[0u8, 1, 0, 1], &mut numbers), Ok(2));
    assert_eq!(numbers[..2], [u32::MAX - 2, u32::MAX]);
    assert_eq!(cpu.positions_made(Many(1 << 33), |_| true, &mut [0u32; 4]), wrong);
    assert_eq!(cpu.positions_made(Many(1 << 33), |_| true, &mut [0u64; 4]), differ(1 << 33, 4));
    let opaque = [Indexed { value: 1u8, index: 0 }; 2];
    let error = cpu.unique(&opaque, &mut opaque.clone()).expect_err("no bytes to compare");
    assert_eq!(error.to_string(), "segments: a type of the CPU's has no bytes to compare");
}

/// Nothing is written where nobody expects it if a function says of an item one thing and then another.
#[test]
fn a_function_that_changes_its_mind_ends_the_call() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let items: Vec<u32> = (0..10_000).collect();
    for cpu in devices() {
        for first in [true, false] {
            let calls = AtomicUsize::new(0);
            let keep = |_| (calls.fetch_add(1, Ordering::Relaxed) < items.len()) == first;
            let mut output = Guarded::new(items.len(), 3, 7);
            let call = || cpu.partition_made(&items[..], keep, output.output());
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
            assert!(output.memory[..3].iter().all(|item| *item == 7));
            assert!(output.memory[3 + items.len()..].iter().all(|item| *item == 7));
        }
    }
}

/// A panic of the caller's function comes to the caller, and ends all threads.
#[test]
fn a_function_that_panics_ends_the_call() {
    let items: Vec<u32> = (0..100_000).collect();
    for cpu in devices() {
        let mut output = vec![0; items.len()];
        let call = || {
            cpu.select_made(
                &items[..],
                |item| {
                    assert!(item != 70_000, "one item fails");
                    true
                },
                &mut output,
            )
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    }
}
