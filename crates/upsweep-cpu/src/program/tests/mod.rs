//! Programs against Rust; `orders` has reductions and scans against the specification.

mod orders;

use upsweep_core::kernel::{Binary, Definition, Method, Term, Unary, ValueType};
use upsweep_core::{CpuStrategy, Dtype, Error};

use super::Program;
use super::steps::Plain;
use crate::{Cpu, CpuOptions, InstructionSet};

/// One thread of every instruction set, and several threads that take even short calls.
fn cpus() -> Vec<Cpu> {
    let options = CpuOptions { threads: Some(1), ..CpuOptions::default() };
    let mut cpus: Vec<Cpu> = InstructionSet::available()
        .into_iter()
        .map(|set| CpuOptions { instruction_set: Some(set), ..options })
        .map(|options| Cpu::new(options).expect("the instruction set is there"))
        .collect();
    let strategy = Some(CpuStrategy::SimdThreads);
    for threads in [2, 3] {
        let options = CpuOptions { threads: Some(threads), strategy, ..CpuOptions::default() };
        cpus.push(Cpu::new(options).expect("threads start"));
    }
    cpus
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state ^ *state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A number of Rust, as a test needs it.
trait Number: Plain + PartialEq + core::fmt::Debug + 'static {
    const DTYPE: Dtype;
    /// Hard values and some at random.
    fn hard() -> Vec<Self>;
    /// The same value, whatever a NaN carries.
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

macro_rules! integers {
    ($($type:ident $dtype:ident)*) => { $(impl Number for $type {
        const DTYPE: Dtype = Dtype::$dtype;
        fn hard() -> Vec<$type> {
            let mut state = 7;
            let edges = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, $type::MAX, $type::MAX - 1, $type::MIN, $type::MIN + 1, !0, !1];
            edges.into_iter().chain((0..8).map(|_| random(&mut state) as $type)).collect()
        }
    })* };
}

macro_rules! floats {
    ($($type:ident $dtype:ident)*) => { $(impl Number for $type {
        const DTYPE: Dtype = Dtype::$dtype;
        fn hard() -> Vec<$type> {
            let mut all = vec![$type::NAN, $type::INFINITY, $type::MAX, $type::MIN_POSITIVE, $type::EPSILON];
            all.extend([0.0, 0.5, 1.0, 1.5, 2.5, 3.7, 127.5, 128.0, 255.9, 256.0, 3e4, 7e4, 2147483647.0, 4294967296.0, 1e19, 1e-40]);
            all.extend(all.clone().iter().map(|value| -value));
            all
        }
        fn is_same(self, other: Self) -> bool {
            self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
        }
    })* };
}

integers!(u8 U8 i8 I8 u16 U16 i16 I16 u32 U32 i32 I32 u64 U64 i64 I64);
floats!(f32 F32 f64 F64);

/// What a program gives for one result, on every device.
fn evaluated<T: Plain + PartialEq>(
    definition: &Definition,
    result: Term,
    arguments: &[&[u8]],
    items: usize,
) -> Vec<Vec<T>> {
    let program = Program::new(definition, &[result]);
    let of = |cpu: Cpu| {
        let mut output = vec![T::zeroed(); items];
        let bytes = bytemuck::cast_slice_mut(&mut output);
        cpu.evaluate(&program, items, arguments, &mut [bytes]).expect("lengths agree");
        output
    };
    cpus().into_iter().map(of).collect()
}

/// Every pair of hard values.
fn pairs<T: Number>() -> (Vec<T>, Vec<T>) {
    let hard = T::hard();
    let pairs = hard.iter().flat_map(|left| hard.iter().map(move |right| (*left, *right)));
    pairs.unzip()
}

/// Checks a function of one value, made by `make`.
fn check_one<A: Number, T: Plain + PartialEq + core::fmt::Debug>(
    name: &str,
    make: impl FnOnce(&mut Definition, Term) -> Result<Term, Error>,
    expected: impl Fn(A) -> T,
    is_same: impl Fn(T, T) -> bool,
) {
    let mut definition = Definition::default();
    let argument = definition.argument(A::DTYPE).expect("a number");
    let result = make(&mut definition, argument).expect(name);
    let items = A::hard();
    let bytes: &[u8] = bytemuck::cast_slice(&items);
    for output in evaluated::<T>(&definition, result, &[bytes], items.len()) {
        for (item, value) in items.iter().zip(output) {
            let expected = expected(*item);
            assert!(is_same(value, expected), "{name} of {item:?}: {value:?}, not {expected:?}");
        }
    }
}

/// Checks a function of two values, made by `make`.
fn check_two<A: Number, T: Plain + PartialEq + core::fmt::Debug>(
    name: &str,
    make: impl FnOnce(&mut Definition, Term, Term) -> Result<Term, Error>,
    expected: impl Fn(A, A) -> T,
    is_same: impl Fn(T, T) -> bool,
) {
    let mut definition = Definition::default();
    let arguments = [(); 2].map(|()| definition.argument(A::DTYPE).expect("a number"));
    let result = make(&mut definition, arguments[0], arguments[1]).expect(name);
    let (left, right) = pairs::<A>();
    let bytes: [&[u8]; 2] = [bytemuck::cast_slice(&left), bytemuck::cast_slice(&right)];
    for output in evaluated::<T>(&definition, result, &bytes, left.len()) {
        for ((left, right), value) in left.iter().zip(&right).zip(output) {
            let expected = expected(*left, *right);
            assert!(
                is_same(value, expected),
                "{left:?} {name} {right:?}: {value:?}, not {expected:?}"
            );
        }
    }
}

fn check_binary<A: Number>(operator: Binary, expected: impl Fn(A, A) -> A) {
    let name = format!("{operator:?}");
    check_two(&name, |of, left, right| of.binary(operator, left, right), expected, A::is_same);
}

fn check_comparison<A: Number>(operator: Binary, expected: impl Fn(&A, &A) -> bool) {
    let name = format!("{operator:?}");
    let make = |of: &mut Definition, left, right| of.binary(operator, left, right);
    check_two::<A, u8>(&name, make, |left, right| u8::from(expected(&left, &right)), |a, b| a == b);
}

fn check_comparisons<A: Number + PartialOrd>() {
    check_comparison::<A>(Binary::Equal, A::eq);
    check_comparison::<A>(Binary::Unequal, A::ne);
    check_comparison::<A>(Binary::Less, A::lt);
    check_comparison::<A>(Binary::LessOrEqual, A::le);
    check_comparison::<A>(Binary::Greater, A::gt);
    check_comparison::<A>(Binary::GreaterOrEqual, A::ge);
    let choose = |of: &mut Definition, left, right| {
        let is_less = of.binary(Binary::Less, left, right)?;
        of.select(is_less, right, left)
    };
    check_two("largest", choose, |a: A, b| if a < b { b } else { a }, A::is_same);
}

#[test]
fn integers_do_what_rust_does() {
    macro_rules! check {
        ($($type:ident)*) => { $(
            type T = $type;
            check_binary::<T>(Binary::Add, T::wrapping_add);
            check_binary::<T>(Binary::Sub, T::wrapping_sub);
            check_binary::<T>(Binary::Mul, T::wrapping_mul);
            check_binary::<T>(Binary::Div, |a, b| a.wrapping_div(if b == 0 { 1 } else { b }));
            check_binary::<T>(Binary::Rem, |a, b| a.wrapping_rem(if b == 0 { 1 } else { b }));
            check_binary::<T>(Binary::BitAnd, |a, b| a & b);
            check_binary::<T>(Binary::BitOr, |a, b| a | b);
            check_binary::<T>(Binary::BitXor, |a, b| a ^ b);
            check_binary::<T>(Binary::Shl, |a, b| a.wrapping_shl((b as u32) % T::BITS));
            check_binary::<T>(Binary::Shr, |a, b| a.wrapping_shr((b as u32) % T::BITS));
            check_comparisons::<T>();
            check_one("!", |of, value| of.unary(Unary::Not, value), |a: T| !a, T::is_same);
        )* };
    }
    {
        check!(u8);
    }
    {
        check!(i8);
    }
    {
        check!(u16);
    }
    {
        check!(i16);
    }
    {
        check!(u32);
    }
    {
        check!(i32);
    }
    {
        check!(u64);
    }
    {
        check!(i64);
    }
    macro_rules! signed {
        ($($type:ident)*) => { $(
            let negate = |of: &mut Definition, value| of.unary(Unary::Negate, value);
            check_one("-", negate, $type::wrapping_neg, $type::is_same);
            let abs = |of: &mut Definition, value| of.method(Method::Abs, value);
            check_one("abs", abs, $type::wrapping_abs, $type::is_same);
        )* };
    }
    signed!(i8 i16 i32 i64);
}

#[test]
fn floats_do_what_rust_does() {
    macro_rules! check {
        ($($type:ident)*) => { $(
            check_binary::<$type>(Binary::Add, |a, b| a + b);
            check_binary::<$type>(Binary::Sub, |a, b| a - b);
            check_binary::<$type>(Binary::Mul, |a, b| a * b);
            check_binary::<$type>(Binary::Div, |a, b| a / b);
            check_binary::<$type>(Binary::Rem, |a, b| a % b);
            check_comparisons::<$type>();
            let negate = |of: &mut Definition, value| of.unary(Unary::Negate, value);
            check_one::<$type, _>("-", negate, |a| -a, $type::is_same);
            for (method, expected) in [
                (Method::Abs, $type::abs as fn($type) -> $type),
                (Method::Sqrt, $type::sqrt),
                (Method::Exp, $type::exp),
                (Method::Exp2, $type::exp2),
                (Method::Ln, $type::ln),
                (Method::Log2, $type::log2),
                (Method::Sin, $type::sin),
                (Method::Cos, $type::cos),
                (Method::Tan, $type::tan),
                (Method::Floor, $type::floor),
                (Method::Ceil, $type::ceil),
                (Method::Trunc, $type::trunc),
            ] {
                let make = |of: &mut Definition, value| of.method(method, value);
                check_one::<$type, _>(method.name(), make, expected, $type::is_same);
            }
            for (method, expected) in [
                (Method::IsNan, $type::is_nan as fn($type) -> bool),
                (Method::IsFinite, $type::is_finite),
                (Method::IsInfinite, $type::is_infinite),
                (Method::IsSignNegative, $type::is_sign_negative),
            ] {
                let make = |of: &mut Definition, value| of.method(method, value);
                let expected = |value: $type| u8::from(expected(value));
                check_one(method.name(), make, expected, |a, b| a == b);
            }
            for (method, expected) in [
                (Method::Powf, $type::powf as fn($type, $type) -> $type),
                (Method::Copysign, $type::copysign),
            ] {
                let make = |of: &mut Definition, a, b| of.method_of_two(method, a, b);
                check_two::<$type, _>(method.name(), make, expected, $type::is_same);
            }
        )* };
    }
    check!(f32 f64);
}

#[test]
fn casts_do_what_rust_does() {
    macro_rules! to {
        ($from:ident: $($to:ident)*) => { $(
            let make = |of: &mut Definition, value| of.cast(value, <$to as Number>::DTYPE);
            check_one::<$from, $to>(stringify!($from as $to), make, |a| a as $to, $to::is_same);
        )* };
    }
    macro_rules! from {
        ($($from:ident)*) => { $(to!($from: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);)* };
    }
    from!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
    macro_rules! of_bool {
        ($($to:ident)*) => { $(
            let make = |of: &mut Definition, value| {
                let two = of.constant(ValueType::Number(Dtype::I32), 2);
                let is_less = of.binary(Binary::Less, value, two)?;
                of.cast(is_less, <$to as Number>::DTYPE)
            };
            check_one::<i32, $to>("bool", make, |a| (a < 2) as $to, $to::is_same);
        )* };
    }
    of_bool!(u8 i8 u16 i16 u32 i32 u64 i64);
}

#[test]
fn conditions_are_bytes() -> Result<(), Error> {
    let mut made = Definition::default();
    let [x, y] = [made.argument(Dtype::I16)?, made.argument(Dtype::F64)?];
    let three = made.constant(ValueType::Number(Dtype::I16), 3);
    let half = made.constant(ValueType::Number(Dtype::F64), 0.5f64.to_bits());
    let truth = made.constant(ValueType::Bool, 1);
    let a = made.binary(Binary::Less, x, three)?;
    let b = made.binary(Binary::Greater, y, half)?;
    let both = made.binary(Binary::BitAnd, a, b)?;
    let either = made.binary(Binary::BitOr, a, b)?;
    let one = made.binary(Binary::BitXor, a, b)?;
    let neither = made.unary(Unary::Not, either)?;
    let same = made.binary(Binary::Equal, a, b)?;
    let chosen = made.select(same, truth, one)?;
    let results = [both, either, one, neither, same, chosen, truth, both];
    let program = Program::new(&made, &results);
    let (x, y) = (i16::hard(), f64::hard());
    let (x, y): (Vec<i16>, Vec<f64>) =
        x.iter().flat_map(|x| y.iter().map(move |y| (*x, *y))).unzip();
    for cpu in cpus() {
        let mut outputs = vec![vec![7u8; x.len()]; results.len()];
        let mut places: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let arguments = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&y)];
        cpu.evaluate(&program, x.len(), &arguments, &mut places).expect("lengths agree");
        for (item, (x, y)) in x.iter().zip(&y).enumerate() {
            let (a, b) = (*x < 3, *y > 0.5);
            let expected = [a && b, a || b, a != b, !(a || b), a == b, true, true, a && b];
            let values: Vec<bool> = outputs.iter().map(|output| output[item] == 1).collect();
            assert_eq!(values, expected, "{x} {y}");
            assert!(outputs.iter().all(|output| output[item] < 2));
        }
    }
    Ok(())
}

/// A definition at random of `u32` and `f32`, and what its values are for one item.
fn random_graph(state: &mut u64) -> (Definition, Vec<Term>) {
    let mut made = Definition::default();
    let mut words = vec![made.argument(Dtype::U32).expect("a number")];
    let mut wide = vec![made.argument(Dtype::I64).expect("a number")];
    words.push(made.argument(Dtype::U32).expect("a number"));
    for _ in 0..random(state) % 40 {
        let pick = |of: &[Term], state: &mut u64| of[random(state) as usize % of.len()];
        let (a, b) = (pick(&words, state), pick(&words, state));
        let (c, d) = (pick(&wide, state), pick(&wide, state));
        let operator = [Binary::Add, Binary::Sub, Binary::Mul, Binary::BitXor, Binary::Shr];
        let operator = operator[random(state) as usize % operator.len()];
        let word = ValueType::Number(Dtype::U32);
        match random(state) % 6 {
            0 => words.push(made.constant(word, random(state) >> 32)),
            1 => wide.push(made.cast(a, Dtype::I64).expect("a cast")),
            2 => words.push(made.cast(c, Dtype::U32).expect("a cast")),
            3 => words.push(made.binary(operator, a, b).expect("an operator")),
            4 => wide.push(made.binary(operator, c, d).expect("an operator")),
            _ => {
                let less = made.binary(Binary::Less, c, d).expect("a comparison");
                words.push(made.select(less, a, b).expect("a choice"));
            }
        }
    }
    let count = 1 + random(state) as usize % 4;
    let all: Vec<Term> = words.into_iter().chain(wide).collect();
    let results = (0..count).map(|_| all[random(state) as usize % all.len()]).collect();
    (made, results)
}

/// All values of a definition at one item, one after another.
fn values(definition: &Definition, arguments: [u64; 3]) -> Vec<u64> {
    use upsweep_core::kernel::Step;
    let mut values: Vec<u64> = Vec::new();
    for (step, of) in definition.steps() {
        let at = |term: Term| values[term.number()];
        let value = match *step {
            Step::Argument(argument) => arguments[argument],
            Step::Constant(bits) => bits,
            Step::Cast(value) if definition.type_of(value).size() == 4 => {
                u64::from(at(value) as u32)
            }
            Step::Cast(value) => at(value),
            Step::Binary(Binary::Add, a, b) => at(a).wrapping_add(at(b)),
            Step::Binary(Binary::Sub, a, b) => at(a).wrapping_sub(at(b)),
            Step::Binary(Binary::Mul, a, b) => at(a).wrapping_mul(at(b)),
            Step::Binary(Binary::BitXor, a, b) => at(a) ^ at(b),
            Step::Binary(Binary::Shr, a, b) if of.size() == 4 => {
                u64::from((at(a) as u32).wrapping_shr(at(b) as u32))
            }
            Step::Binary(Binary::Shr, a, b) => (at(a) as i64).wrapping_shr(at(b) as u32) as u64,
            Step::Binary(Binary::Less, a, b) => u64::from((at(a) as i64) < at(b) as i64),
            Step::Select(condition, yes, no) => at(if at(condition) != 0 { yes } else { no }),
            _ => unreachable!("no such step was made"),
        };
        values.push(if of.size() == 4 { u64::from(value as u32) } else { value });
    }
    values
}

#[test]
fn random_graphs_of_any_length() {
    let mut state = 11;
    let lengths = [0, 1, 2, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049, 65537];
    let cpus = cpus();
    for round in 0..120 {
        let (definition, results) = random_graph(&mut state);
        let program = Program::new(&definition, &results);
        let items = if round == 0 { 200_000 } else { lengths[round % lengths.len()] };
        let a: Vec<u32> = (0..items).map(|_| random(&mut state) as u32).collect();
        let c: Vec<i64> = (0..items).map(|_| random(&mut state) as i64).collect();
        let b: Vec<u32> = (0..items).map(|_| random(&mut state) as u32 % 40).collect();
        let arguments =
            [bytemuck::cast_slice(&a), bytemuck::cast_slice(&c), bytemuck::cast_slice(&b)];
        let sizes: Vec<usize> =
            results.iter().map(|term| definition.type_of(*term).size()).collect();
        for cpu in &cpus[round % cpus.len()..][..1] {
            let mut outputs: Vec<Vec<u64>> =
                sizes.iter().map(|size| vec![0; (items * size).div_ceil(8)]).collect();
            let mut places: Vec<&mut [u8]> = outputs
                .iter_mut()
                .zip(&sizes)
                .map(|(output, size)| &mut bytemuck::cast_slice_mut(output)[..items * size])
                .collect();
            cpu.evaluate(&program, items, &arguments, &mut places).expect("lengths agree");
            for item in (0..items).filter(|item| item % 61 == 0 || item + 3 > items) {
                let all =
                    values(&definition, [u64::from(a[item]), c[item] as u64, u64::from(b[item])]);
                for ((place, size), result) in places.iter().zip(&sizes).zip(&results) {
                    let value = super::evaluator::value_of(&place[item * size..][..*size]);
                    assert_eq!(value, all[result.number()], "{definition:?} {result:?} {item}");
                }
            }
        }
    }
}

#[test]
fn wrong_lengths_are_errors() -> Result<(), Error> {
    let mut made = Definition::default();
    let [x, unread] = [made.argument(Dtype::U16)?, made.argument(Dtype::F32)?];
    let _ = made.binary(Binary::Add, unread, unread)?;
    let program = Program::new(&made, &[x]);
    let cpu = Cpu::shared();
    let mut output = [0u16; 2];
    let mut into = |items, bytes: usize| {
        let output = &mut bytemuck::cast_slice_mut(&mut output)[..bytes];
        cpu.evaluate(&program, items, &[&[1, 0, 2, 0], &[]], &mut [output])
    };
    assert_eq!(into(2, 4), Ok(()));
    assert_eq!(into(1, 2), Err(Error::LengthMismatch { input: 2, output: 1 }));
    assert_eq!(into(2, 2), Err(Error::LengthMismatch { input: 2, output: 1 }));
    assert_eq!(output, [1, 2]);
    Ok(())
}
