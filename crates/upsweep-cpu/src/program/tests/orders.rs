//! Reductions and scans by a definition against the summation specification.

use upsweep_core::kernel::{Binary, Definition, ValueType};
use upsweep_core::reference::specified;
use upsweep_core::{Bounds, Direction, Dtype, Element, Error, Operator, Reduce, Scan, Sum};

use super::{Number, cpus, random};
use crate::ProgramOperator;
use crate::program::evaluator::value_of;

/// The last item that is not 0.
#[derive(Clone, Copy, Debug)]
struct LastSet;

impl Operator<i32> for LastSet {
    const NAME: &'static str = "last set";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> i32 {
        0
    }

    fn combine(&self, left: i32, right: i32) -> i32 {
        if right == 0 { left } else { right }
    }
}

/// The affine function `slope * x + offset`, of the lower and the upper half, applied from left to right.
#[derive(Clone, Copy, Debug)]
struct Compose;

impl Operator<u64> for Compose {
    const NAME: &'static str = "compose";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> u64 {
        1
    }

    fn combine(&self, left: u64, right: u64) -> u64 {
        let [a, b] = [left as u32, right as u32].map(u64::from);
        let slope = a.wrapping_mul(b) & 0xffff_ffff;
        let offset = b.wrapping_mul(left >> 32).wrapping_add(right >> 32);
        slope | offset << 32
    }
}

/// A sum whose identity changes no bit.
#[derive(Clone, Copy, Debug)]
struct Added;

macro_rules! added {
    ($($type:ident)*) => { $(impl Operator<$type> for Added {
        const NAME: &'static str = "added";
        const COMMUTATIVE: bool = true;

        fn identity(&self) -> $type {
            Operator::<$type>::padding(&Sum)
        }

        fn combine(&self, left: $type, right: $type) -> $type {
            Sum.combine(left, right)
        }
    })* };
}

added!(u8 f32 f64);

fn sum(dtype: Dtype, identity: u64) -> ProgramOperator {
    let mut made = Definition::default();
    let [a, b] = [(); 2].map(|()| made.argument(dtype).expect("a number"));
    let sum = made.binary(Binary::Add, a, b).expect("a sum");
    ProgramOperator::new(&made, sum, identity, true)
}

fn last_set() -> ProgramOperator {
    let mut made = Definition::default();
    let [a, b] = [(); 2].map(|()| made.argument(Dtype::I32).expect("a number"));
    let zero = made.constant(ValueType::Number(Dtype::I32), 0);
    let unset = made.binary(Binary::Equal, b, zero).expect("a comparison");
    let last = made.select(unset, a, b).expect("a choice");
    ProgramOperator::new(&made, last, 0, false)
}

fn compose() -> Result<ProgramOperator, Error> {
    let mut made = Definition::default();
    let [left, right] = [made.argument(Dtype::U64)?, made.argument(Dtype::U64)?];
    let word = ValueType::Number(Dtype::U64);
    let (mask, half) = (made.constant(word, 0xffff_ffff), made.constant(word, 32));
    let a = made.binary(Binary::BitAnd, left, mask)?;
    let b = made.binary(Binary::BitAnd, right, mask)?;
    let product = made.binary(Binary::Mul, a, b)?;
    let slope = made.binary(Binary::BitAnd, product, mask)?;
    let [before, after] =
        [made.binary(Binary::Shr, left, half)?, made.binary(Binary::Shr, right, half)?];
    let scaled = made.binary(Binary::Mul, b, before)?;
    let offset = made.binary(Binary::Add, scaled, after)?;
    let upper = made.binary(Binary::Shl, offset, half)?;
    let result = made.binary(Binary::BitOr, slope, upper)?;
    Ok(ProgramOperator::new(&made, result, 1, false))
}

/// Reductions and all scans of these items, of the shortest length up to all of them.
fn check_orders<T: Number + Element<Acc = T>, O: Operator<T>>(
    by: &ProgramOperator,
    operator: O,
    items: &[T],
    init: T,
) {
    let bits = value_of(bytemuck::bytes_of(&init));
    let of_bits =
        |bits: u64| -> T { bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()]) };
    assert_eq!(by.dtype(), T::DTYPE);
    let lengths = [0, 1, 2, 5, 127, 128, 129, 1023, 1025, 2047, 2048, 2049, 65535, 65536, 65537];
    let cpus = cpus();
    for (number, len) in lengths.into_iter().chain([items.len()]).enumerate() {
        let items = &items[items.len() - len..];
        let bytes: &[u8] = bytemuck::cast_slice(items);
        // All devices at short lengths, each of them once at long ones.
        let chosen =
            if len > 3000 { number % cpus.len()..number % cpus.len() + 1 } else { 0..cpus.len() };
        for start in [None, Some(init)] {
            let mut problem = Reduce::new(operator);
            problem.init = start;
            let expected = specified::reduce(items, &problem);
            for cpu in &cpus {
                let value = cpu.reduce_by(by, bytes, start.map(|_| bits)).expect("threads start");
                let value = of_bits(value);
                assert!(value.is_same(expected), "{len}: {value:?}, not {expected:?}");
            }
            for (bounds, direction) in [
                (Bounds::Inclusive, Direction::Forward),
                (Bounds::Inclusive, Direction::Reverse),
                (Bounds::Exclusive, Direction::Forward),
                (Bounds::Exclusive, Direction::Reverse),
            ] {
                let mut problem = Scan::inclusive(operator);
                (problem.bounds, problem.direction, problem.init) = (bounds, direction, start);
                let expected: Vec<T> = specified::scan(items, &problem);
                for cpu in &cpus[chosen.clone()] {
                    let mut output = items.to_vec();
                    output.fill(init);
                    let into = bytemuck::cast_slice_mut(&mut output);
                    cpu.scan_by(by, bytes, into, bounds, direction, start.map(|_| bits))
                        .expect("threads start");
                    for (item, (value, expected)) in output.iter().zip(&expected).enumerate() {
                        assert!(
                            value.is_same(*expected),
                            "{len} {bounds:?} {direction:?} {item}: {value:?}, not {expected:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Floats of both signs with exponents far apart, so that every change of order shows.
fn floats(count: usize) -> impl Iterator<Item = f32> {
    let mut state = 5;
    (0..count).map(move |number| {
        let word = random(&mut state) as u32;
        if number % 97 == 0 { -0.0 } else { f32::from_bits(word & 0x80ff_ffff | 0x3c00_0000) }
    })
}

#[test]
fn sums_of_floats_have_the_specified_order() {
    let items: Vec<f32> = floats(200_000).collect();
    check_orders(&sum(Dtype::F32, u64::from((-0.0f32).to_bits())), Added, &items, 0.3);
    let items: Vec<f64> =
        floats(140_000).map(|item| f64::from(item) * (1.0 + f64::EPSILON) / 3.0).collect();
    check_orders(&sum(Dtype::F64, (-0.0f64).to_bits()), Added, &items, 0.1);
}

#[test]
fn integers_are_combined_in_order() -> Result<(), Error> {
    let mut state = 3;
    let bytes: Vec<u8> = (0..200_000).map(|_| random(&mut state) as u8).collect();
    check_orders(&sum(Dtype::U8, 0), Added, &bytes, 9);
    let sparse =
        |_| if random(&mut state).is_multiple_of(50) { random(&mut state) as i32 } else { 0 };
    let items: Vec<i32> = (0..200_000).map(sparse).collect();
    check_orders(&last_set(), LastSet, &items, -4);
    let items: Vec<u64> = (0..140_000).map(|_| random(&mut state)).collect();
    check_orders(&compose()?, Compose, &items, 0x1234_5678_9abc_def1);
    assert_eq!(compose()?.combine(items[0], items[1]), Compose.combine(items[0], items[1]));
    Ok(())
}
