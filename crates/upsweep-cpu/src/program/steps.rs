//! The loops of steps: for each operator, method and cast of each type a function over slices.
//!
//! Types whose bits are treated alike share a loop: signed and unsigned integers where the sign does not count, `bool` and `u8`. Loops that
//! become vectors are compiled for each instruction set; those that call a function for each item, once.

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, cast_slice_mut};
use fearless_simd::{Level, Simd};
use upsweep_core::Dtype;
use upsweep_core::kernel::{Binary, Method, Step, Unary, ValueType};

use super::casts;
use crate::isa::{self, Kernel};

/// Writes the values of a step, given the bytes of its operands. Operands that it has not are empty.
pub(super) type Loop = fn(Level, &mut [u8], [&[u8]; 3]);

/// A value of each operand gives one of the result.
struct Map<'a, A, B, C, T, F> {
    to: &'a mut [T],
    first: &'a [A],
    second: &'a [B],
    third: &'a [C],
    function: F,
}

impl<A, B, C, T, F> Kernel for Map<'_, A, B, C, T, F>
where
    A: Copy,
    B: Copy,
    C: Copy,
    F: Fn(A, B, C) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { to, first, second, third, function } = self;
        for (((to, &a), &b), &c) in to.iter_mut().zip(first).zip(second).zip(third) {
            *to = function(a, b, c);
        }
    }
}

/// A type of values in memory.
pub(super) trait Plain: AnyBitPattern + NoUninit {}

impl<T: AnyBitPattern + NoUninit> Plain for T {}

/// A loop over three operands, in vectors.
#[inline(always)]
fn map_three<A: Plain, B: Plain, C: Plain, T: Plain>(
    level: Level,
    to: &mut [u8],
    [first, second, third]: [&[u8]; 3],
    function: impl Fn(A, B, C) -> T,
) {
    let (to, first, second, third) =
        (cast_slice_mut(to), cast_slice(first), cast_slice(second), cast_slice(third));
    isa::run(level, Map { to, first, second, third, function });
}

/// A loop over two operands, in vectors.
#[inline(always)]
fn map_two<A: Plain, T: Plain>(
    level: Level,
    to: &mut [u8],
    [first, second, _]: [&[u8]; 3],
    function: impl Fn(A, A) -> T,
) {
    // An operand that is not there is one that is, which nobody reads.
    map_three(
        level,
        to,
        [first, second, second],
        #[inline(always)]
        |a: A, b: A, _: A| function(a, b),
    );
}

/// A loop over one operand, in vectors.
#[inline(always)]
pub(super) fn map<A: Plain, T: Plain>(
    level: Level,
    to: &mut [u8],
    [first, ..]: [&[u8]; 3],
    function: impl Fn(A) -> T,
) {
    map_three(
        level,
        to,
        [first; 3],
        #[inline(always)]
        |a: A, _: A, _: A| function(a),
    );
}

/// A loop over a condition and two operands, in vectors.
fn map_select<T: Plain>(level: Level, to: &mut [u8], of: [&[u8]; 3]) {
    map_three(
        level,
        to,
        of,
        #[inline(always)]
        |condition: u8, yes: T, no: T| if condition == 0 { no } else { yes },
    );
}

/// A loop over one operand that calls a function for each item.
fn call<A: Plain, T: Plain>(to: &mut [u8], [first, ..]: [&[u8]; 3], function: impl Fn(A) -> T) {
    for (to, &a) in cast_slice_mut(to).iter_mut().zip(cast_slice(first)) {
        *to = function(a);
    }
}

/// A loop over two operands that calls a function, or divides, for each item.
fn call_two<A: Plain, T: Plain>(
    to: &mut [u8],
    [first, second, _]: [&[u8]; 3],
    function: impl Fn(A, A) -> T,
) {
    let operands = cast_slice(first).iter().zip(cast_slice(second));
    for (to, (&a, &b)) in cast_slice_mut(to).iter_mut().zip(operands) {
        *to = function(a, b);
    }
}

/// The loop of a function of one value or two, in vectors; with `call` it is compiled once.
macro_rules! each {
    (|$a:ident: $A:ty| $function:expr) => {
        |level, to, of| {
            map(
                level,
                to,
                of,
                #[inline(always)]
                |$a: $A| $function,
            )
        }
    };
    (|$a:ident: $A:ty, $b:ident| $function:expr) => {
        |level, to, of| {
            map_two(
                level,
                to,
                of,
                #[inline(always)]
                |$a: $A, $b: $A| $function,
            )
        }
    };
    (call |$a:ident: $A:ty| $function:expr) => {
        |_, to, of| call(to, of, |$a: $A| $function)
    };
    (call |$a:ident: $A:ty, $b:ident| $function:expr) => {
        |_, to, of| call_two(to, of, |$a: $A, $b: $A| $function)
    };
}
pub(super) use each;

/// What `$value` is with `$T` for the type of a number.
macro_rules! with_type {
    (signed $dtype:expr, $T:ident => $value:expr, else $other:expr) => {
        with_type!([I8 i8, I16 i16, I32 i32, I64 i64] $dtype, $T => $value, else $other)
    };
    (integer $dtype:expr, $T:ident => $value:expr, else $other:expr) => {
        with_type!(
            [U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64]
            $dtype, $T => $value, else $other
        )
    };
    (float $dtype:expr, $T:ident => $value:expr, else $other:expr) => {
        with_type!([F32 f32, F64 f64] $dtype, $T => $value, else $other)
    };
    (bits $dtype:expr, $T:ident => $value:expr) => {
        match $dtype.size() {
            1 => { type $T = u8; $value }
            2 => { type $T = u16; $value }
            4 => { type $T = u32; $value }
            _ => { type $T = u64; $value }
        }
    };
    ([$($name:ident $type:ident),*] $dtype:expr, $T:ident => $value:expr, else $other:expr) => {
        match $dtype {
            $(Dtype::$name => { type $T = $type; $value })*
            _ => $other,
        }
    };
}
pub(super) use with_type;

/// What a definition never holds, because it refuses what Rust has not.
pub(super) fn undefined(what: &dyn core::fmt::Debug, of: impl core::fmt::Display) -> ! {
    unreachable!("definitions have no {what:?} of {of}")
}

/// The number that values are computed as: `bool` is a byte that is 0 or 1.
pub(super) fn number(of: ValueType) -> Dtype {
    of.number().unwrap_or(Dtype::U8)
}

/// The loop of `-value` or `!value`.
pub(super) fn unary(operator: Unary, of: ValueType) -> Loop {
    let dtype = number(of);
    match operator {
        Unary::Not if of == ValueType::Bool => each!(|a: u8| a ^ 1),
        Unary::Not => each!(|a: u8| !a),
        Unary::Negate if dtype.is_float() => {
            with_type!(float dtype, T => each!(|a: T| -a), else undefined(&operator, of))
        }
        Unary::Negate => with_type!(bits dtype, T => each!(|a: T| a.wrapping_neg())),
    }
}

/// The loop of an operator between two values of this type, and whether it has them exchanged.
pub(super) fn binary(operator: Binary, of: ValueType) -> (Loop, bool) {
    let dtype = number(of);
    let (operator, exchanged) = match operator {
        Binary::Greater => (Binary::Less, true),
        Binary::GreaterOrEqual => (Binary::LessOrEqual, true),
        other => (other, false),
    };
    let made: Loop = if dtype.is_float() {
        with_type!(float dtype, T => match operator {
            Binary::Add => each!(|a: T, b| a + b),
            Binary::Sub => each!(|a: T, b| a - b),
            Binary::Mul => each!(|a: T, b| a * b),
            Binary::Div => each!(|a: T, b| a / b),
            Binary::Rem => each!(call |a: T, b| a % b),
            Binary::Equal => each!(|a: T, b| u8::from(a == b)),
            Binary::Unequal => each!(|a: T, b| u8::from(a != b)),
            Binary::Less => each!(|a: T, b| u8::from(a < b)),
            Binary::LessOrEqual => each!(|a: T, b| u8::from(a <= b)),
            _ => undefined(&operator, of),
        }, else undefined(&operator, of))
    } else {
        integer(operator, dtype)
    };
    (made, exchanged)
}

fn integer(operator: Binary, dtype: Dtype) -> Loop {
    match operator {
        Binary::BitAnd => each!(|a: u8, b| a & b),
        Binary::BitOr => each!(|a: u8, b| a | b),
        Binary::BitXor => each!(|a: u8, b| a ^ b),
        Binary::Add => with_type!(bits dtype, T => each!(|a: T, b| a.wrapping_add(b))),
        Binary::Sub => with_type!(bits dtype, T => each!(|a: T, b| a.wrapping_sub(b))),
        Binary::Mul => with_type!(bits dtype, T => each!(|a: T, b| a.wrapping_mul(b))),
        Binary::Equal => with_type!(bits dtype, T => each!(|a: T, b| u8::from(a == b))),
        Binary::Unequal => with_type!(bits dtype, T => each!(|a: T, b| u8::from(a != b))),
        // The lower bits of the amount count, whatever its sign is.
        Binary::Shl => with_type!(bits dtype, T => each!(|a: T, b| a.wrapping_shl(b as u32))),
        _ => with_type!(integer dtype, T => match operator {
            Binary::Shr => each!(|a: T, b| a.wrapping_shr(b as u32)),
            Binary::Less => each!(|a: T, b| u8::from(a < b)),
            Binary::LessOrEqual => each!(|a: T, b| u8::from(a <= b)),
            Binary::Div => each!(call |a: T, b| a.wrapping_div(if b == 0 { 1 } else { b })),
            Binary::Rem => each!(call |a: T, b| a.wrapping_rem(if b == 0 { 1 } else { b })),
            _ => undefined(&operator, dtype),
        }, else undefined(&operator, dtype)),
    }
}

/// The loop of a method of one value.
pub(super) fn method(method: Method, of: ValueType) -> Loop {
    let dtype = number(of);
    if !dtype.is_float() {
        return with_type!(
            signed dtype, T => each!(|a: T| a.wrapping_abs()), else undefined(&method, of)
        );
    }
    with_type!(float dtype, T => match method {
        Method::Abs => each!(|a: T| a.abs()),
        Method::Sqrt => each!(|a: T| a.sqrt()),
        Method::Floor => each!(|a: T| a.floor()),
        Method::Ceil => each!(|a: T| a.ceil()),
        Method::Trunc => each!(|a: T| a.trunc()),
        Method::IsNan => each!(|a: T| u8::from(a.is_nan())),
        Method::IsFinite => each!(|a: T| u8::from(a.is_finite())),
        Method::IsInfinite => each!(|a: T| u8::from(a.is_infinite())),
        Method::IsSignNegative => each!(|a: T| u8::from(a.is_sign_negative())),
        Method::Exp => each!(call |a: T| a.exp()),
        Method::Exp2 => each!(call |a: T| a.exp2()),
        Method::Ln => each!(call |a: T| a.ln()),
        Method::Log2 => each!(call |a: T| a.log2()),
        Method::Sin => each!(call |a: T| a.sin()),
        Method::Cos => each!(call |a: T| a.cos()),
        Method::Tan => each!(call |a: T| a.tan()),
        _ => undefined(&method, of),
    }, else undefined(&method, of))
}

/// The loop of a method of two values.
pub(super) fn method_of_two(method: Method, of: ValueType) -> Loop {
    with_type!(float number(of), T => match method {
        Method::Powf => each!(call |a: T, b| a.powf(b)),
        Method::Copysign => each!(|a: T, b| a.copysign(b)),
        _ => undefined(&method, of),
    }, else undefined(&method, of))
}

/// The loop of a choice between two values of this type.
pub(super) fn select(of: ValueType) -> Loop {
    with_type!(bits number(of), T => map_select::<T>)
}

/// The loop of `value as to`; none if the bits stay as they are.
pub(super) fn cast(from: ValueType, to: ValueType) -> Option<Loop> {
    casts::cast(number(from), number(to))
}

/// The loop of a value as it is.
pub(super) fn copy(_: Level, to: &mut [u8], [from, ..]: [&[u8]; 3]) {
    to.copy_from_slice(from);
}

/// Whether a step calls a function for each item, or divides integers: it takes far longer than one in vectors.
pub(super) fn is_slow(step: Step, of: ValueType) -> bool {
    let is_float = number(of).is_float();
    match step {
        Step::Binary(Binary::Rem, ..) => true,
        Step::Binary(Binary::Div, ..) => !is_float,
        Step::Method(method, _) => matches!(
            method,
            Method::Exp
                | Method::Exp2
                | Method::Ln
                | Method::Log2
                | Method::Sin
                | Method::Cos
                | Method::Tan
        ),
        Step::MethodOfTwo(Method::Powf, ..) => true,
        _ => false,
    }
}
