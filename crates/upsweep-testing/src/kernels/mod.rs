//! Annotated functions over hard inputs: what every device must make of them.
//!
//! A case is a function, and what Rust says it is for each input. Where Rust panics there is either a model that says what
//! devices do instead, or nothing is asked.

pub mod cuda;
mod numbers;
mod syntax;

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use upsweep::__kernel::{Callable, Function, Type};
use upsweep::Dtype;

/// A function, its inputs, and what comes of them.
#[derive(Debug)]
pub struct Case {
    /// What it is called in messages.
    pub name: String,
    /// Its tree.
    pub function: &'static Function,
    /// The words of its arguments, for each call.
    pub inputs: Vec<Vec<u64>>,
    /// What it returns; `None` where Rust panics, and nothing is asked.
    pub expected: Vec<Option<u64>>,
    /// By how many units in the last place a device may miss it that computes in its own way.
    pub units: u32,
}

impl Case {
    /// Whether it calls what a library of C's or CUDA's computes in its own way: all else is exact in those languages, quotients and
    /// roots too.
    pub fn is_of_library(&self) -> bool {
        self.name.contains("::transcendental::")
    }

    /// Whether a result is right: any NaN, either zero of those that `min` may choose, and what `units` allow.
    pub fn accepts(&self, found: u64, expected: u64, units: u32) -> bool {
        if found == expected {
            return true;
        }
        let (a, b) = match self.function.result {
            Type::Number(Dtype::F32) => (
                f64::from(f32::from_bits(found as u32)),
                f64::from(f32::from_bits(expected as u32)),
            ),
            Type::Number(Dtype::F64) => (f64::from_bits(found), f64::from_bits(expected)),
            _ => return false,
        };
        if a.is_nan() || b.is_nan() {
            return a.is_nan() && b.is_nan();
        }
        let epsilon = match self.function.result {
            Type::Number(Dtype::F32) => f64::from(f32::EPSILON),
            _ => f64::EPSILON,
        };
        let near =
            (a - b).abs() <= f64::from(units) * epsilon * b.abs().max(f64::from(f32::MIN_POSITIVE));
        units > 0 && (near || a == b)
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    numbers::all(&mut all);
    syntax::all(&mut all);
    all
}

/// A value of a parameter or a result, as 64 bits: integers with their sign.
trait Word: Copy {
    /// Values that are hard for an operation.
    fn hard() -> Vec<Self>;
    fn word(self) -> u64;
    fn of(word: u64) -> Self;
}

macro_rules! integers {
    ($($type:ident)*) => { $(
        impl Word for $type {
            fn hard() -> Vec<Self> {
                let mut values = vec![
                    0, 1, 2, 3, 5, 7, 31, 33, 64, 100, $type::MAX, $type::MAX - 1, $type::MIN, $type::MIN + 1,
                    $type::MAX / 2, $type::MAX / 2 + 1, $type::MAX / 3, !0, !1, !6, !99,
                ];
                values.sort_unstable();
                values.dedup();
                values
            }
            fn word(self) -> u64 {
                self as i64 as u64
            }
            fn of(word: u64) -> Self {
                word as $type
            }
        }
    )* };
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 }

macro_rules! floats {
    ($($type:ident)*) => { $(
        impl Word for $type {
            fn hard() -> Vec<Self> {
                let around = [255.5, 32_768.0, 65_536.0, 2_147_483_648.0, 4_294_967_296.0,
                    10_000_000_000.75, 9_223_372_036_854_775_808.0];
                let small = [0.0, 0.25, 0.499_999_97, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 126.5, 128.0, 1e-3, 8_388_609.0];
                let ends = [$type::MAX, $type::MIN_POSITIVE, $type::EPSILON, $type::INFINITY, 18_446_744_073_709_551_616.0, 1e30];
                let positive = around.into_iter().chain(small).chain(ends);
                let mut values: Vec<Self> = positive.flat_map(|value| [value, -value]).collect();
                values.push($type::NAN);
                values
            }
            fn word(self) -> u64 {
                u64::from(if self.is_nan() { $type::NAN } else { self }.to_bits())
            }
            fn of(word: u64) -> Self {
                $type::from_bits(word as _)
            }
        }
    )* };
}

floats! { f32 f64 }

impl Word for bool {
    fn hard() -> Vec<Self> {
        vec![false, true]
    }
    fn word(self) -> u64 {
        u64::from(self)
    }
    fn of(word: u64) -> Self {
        word != 0
    }
}

/// Most calls of one case.
const MOST: usize = 1200;

/// All combinations of hard values, evenly thinned out if there are too many.
fn combinations(parameters: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let all: usize = parameters.iter().map(Vec::len).product();
    // A step without a common factor with any number of values, so that all of them meet.
    let step = if all <= MOST { 1 } else { (all / MOST) | 1 };
    let combination = |number: usize| {
        let mut rest = number;
        parameters
            .iter()
            .map(|values| {
                let value = values[rest % values.len()];
                rest /= values.len();
                value
            })
            .collect()
    };
    (0..all).step_by(step).map(combination).collect()
}

fn case<F: Callable>(
    name: &str,
    parameters: &[Vec<u64>],
    units: u32,
    native: impl Fn(&[u64]) -> u64,
) -> Case {
    let inputs = combinations(parameters);
    let expected = inputs.iter().map(|words| unless_it_panics(|| native(words))).collect();
    Case { name: name.to_owned(), function: F::FUNCTION, inputs, expected, units }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, if it does not panic. Says nothing either way.
fn unless_it_panics(work: impl FnOnce() -> u64) -> Option<u64> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    done.ok()
}

/// Functions, each with a model of what devices do if that is not what it does itself, and the units by which a device may
/// miss it.
macro_rules! functions {
    ($($(#[units($units:literal)])? fn $name:ident($($argument:ident: $type:ident),*) -> $result:ident
       { $($body:tt)* } $(is { $($model:tt)* })?)*) => {
        $(
            #[upsweep::function]
            #[allow(clippy::all, unused, reason = "they are written to be hard")]
            fn $name($($argument: $type),*) -> $result { $($body)* }
        )*

        #[allow(clippy::all, unused, reason = "models are written as functions are")]
        pub(super) fn all(list: &mut Vec<crate::kernels::Case>) {
            $({
                fn model($($argument: $type),*) -> $result {
                    crate::kernels::functions!(@model { $name($($argument),*) } $({ $($model)* })?)
                }
                let parameters = [$(
                    <$type as crate::kernels::Word>::hard().into_iter().map(crate::kernels::Word::word).collect()
                ),*];
                let units = 0 $(+ $units)?;
                let name = concat!(module_path!(), "::", stringify!($name));
                list.push(crate::kernels::case::<$name>(name, &parameters, units, |words| {
                    let mut words = words.iter().copied();
                    $(let $argument = <$type as crate::kernels::Word>::of(words.next().unwrap_or_default());)*
                    crate::kernels::Word::word(model($($argument),*))
                }));
            })*
        }
    };
    (@model { $($own:tt)* }) => { $($own)* };
    (@model { $($own:tt)* } { $($model:tt)* }) => { $($model)* };
}

use functions;
