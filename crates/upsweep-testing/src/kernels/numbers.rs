//! Every operator, method and cast, for every type that has it.

use super::{Case, functions};

macro_rules! integers {
    ($($module:ident $type:ident $unsigned:ident;)*) => { $(
        mod $module {
            super::functions! {
                fn add(a: $type, b: $type) -> $type { a + b } is { a.wrapping_add(b) }
                fn sub(a: $type, b: $type) -> $type { a - b } is { a.wrapping_sub(b) }
                fn mul(a: $type, b: $type) -> $type { a * b } is { a.wrapping_mul(b) }
                fn div(a: $type, b: $type) -> $type { a / b } is { if b == 0 { a } else { a.wrapping_div(b) } }
                fn rem(a: $type, b: $type) -> $type { a % b } is { if b == 0 { 0 } else { a.wrapping_rem(b) } }
                fn bits(a: $type, b: $type) -> $type { (a & b) ^ (a | !b) }
                fn shl(a: $type, n: u32) -> $type { a << n } is { a.wrapping_shl(n) }
                fn shr(a: $type, n: u32) -> $type { a >> n } is { a.wrapping_shr(n) }
                fn shift_by_itself(a: $type, n: $type) -> $type { a << n } is { a.wrapping_shl(n as u32) }
                fn shift_by_literal(a: $type) -> $type { (a << 3) | (a >> 5) }
                fn order(a: $type, b: $type) -> u32 {
                    (a < b) as u32 | ((a <= b) as u32) << 1 | ((a > b) as u32) << 2
                        | ((a >= b) as u32) << 3 | ((a == b) as u32) << 4 | ((a != b) as u32) << 5
                }
                fn ends(a: $type, b: $type) -> $type { a.min(b) ^ a.max(b).rotate_left(1) }
                fn clamp(a: $type, low: $type, high: $type) -> $type { a.clamp(low, high) }
                is { if a > high { high } else if a < low { if low > high { high } else { low } } else { a } }
                fn count_ones(a: $type) -> u32 { a.count_ones() }
                fn count_zeros(a: $type) -> u32 { a.count_zeros() }
                fn leading_zeros(a: $type) -> u32 { a.leading_zeros() }
                fn trailing_zeros(a: $type) -> u32 { a.trailing_zeros() }
                fn rotate_left(a: $type, n: u32) -> $type { a.rotate_left(n) }
                fn rotate_right(a: $type, n: u32) -> $type { a.rotate_right(n) }
                fn swap_bytes(a: $type) -> $type { a.swap_bytes() }
                fn reverse_bits(a: $type) -> $type { a.reverse_bits() }
                fn wrapping(a: $type, b: $type) -> $type { a.wrapping_mul(b).wrapping_add(a).wrapping_sub(b).wrapping_neg() }
                fn wrapping_shifts(a: $type, n: u32) -> $type { a.wrapping_shl(n) ^ a.wrapping_shr(n) }
                fn abs_diff(a: $type, b: $type) -> $unsigned { a.abs_diff(b) }
                fn saturating_add(a: $type, b: $type) -> $type { a.saturating_add(b) }
                fn saturating_sub(a: $type, b: $type) -> $type { a.saturating_sub(b) }
                fn pow(a: $type, n: u8) -> $type { a.pow(n as u32) } is { a.wrapping_pow(n as u32) }
                fn wrapping_pow(a: $type, n: u8) -> $type { a.wrapping_pow(u32::from(n)) }
                fn div_euclid(a: $type, b: $type) -> $type { a.div_euclid(b) }
                is { if b == 0 { a } else { a.wrapping_div_euclid(b) } }
                fn rem_euclid(a: $type, b: $type) -> $type { a.rem_euclid(b) }
                is { if b == 0 { 0 } else { a.wrapping_rem_euclid(b) } }
                fn to_u8(a: $type) -> u8 { a as u8 }
                fn to_i8(a: $type) -> i8 { a as i8 }
                fn to_u16(a: $type) -> u16 { a as u16 }
                fn to_i16(a: $type) -> i16 { a as i16 }
                fn to_u32(a: $type) -> u32 { a as u32 }
                fn to_i32(a: $type) -> i32 { a as i32 }
                fn to_u64(a: $type) -> u64 { a as u64 }
                fn to_i64(a: $type) -> i64 { a as i64 }
                fn to_f32(a: $type) -> f32 { a as f32 }
                fn to_f64(a: $type) -> f64 { a as f64 }
                fn of_bool(a: bool) -> $type { a as $type + $type::from(!a) }
                fn constants(a: $type) -> $type { (a ^ $type::MAX).wrapping_add($type::MIN) ^ 77 }
                fn literals_alone(a: $type) -> $type { let one: $type = 5 - 4; a / one }
                is { a }
            }
        }
    )* };
}

integers! {
    of_u8 u8 u8; of_i8 i8 u8; of_u16 u16 u16; of_i16 i16 u16;
    of_u32 u32 u32; of_i32 i32 u32; of_u64 u64 u64; of_i64 i64 u64;
}

macro_rules! signed {
    ($($module:ident $type:ident $unsigned:ident;)*) => { $(
        mod $module {
            super::functions! {
                fn neg(a: $type) -> $type { -a } is { a.wrapping_neg() }
                fn abs(a: $type) -> $type { a.abs() } is { a.wrapping_abs() }
                fn wrapping_abs(a: $type) -> $type { a.wrapping_abs() }
                fn unsigned_abs(a: $type) -> $unsigned { a.unsigned_abs() }
                fn signum(a: $type) -> $type { a.signum() }
                fn signs(a: $type) -> bool { a.is_negative() != a.is_positive() }
                fn negative_literals(a: $type) -> $type { if a < -3 { -a.max(-100) } else { a ^ -1 } }
            }
        }
    )* };
}

signed! { signed_i8 i8 u8; signed_i16 i16 u16; signed_i32 i32 u32; signed_i64 i64 u64; }

macro_rules! floats {
    ($($module:ident $type:ident $bits:ident;)*) => { $(
        mod $module {
            super::functions! {
                fn add(a: $type, b: $type) -> $type { a + b }
                fn sub(a: $type, b: $type) -> $type { a - b }
                fn mul(a: $type, b: $type) -> $type { a * b }
                fn neg(a: $type) -> $type { -a }
                fn not_joined(a: $type, b: $type, c: $type) -> $type { a * b + c }
                fn not_joined_by_name(a: $type, b: $type, c: $type) -> $type { let d = a * b; c - d }
                #[units(3)]
                fn div(a: $type, b: $type) -> $type { a / b }
                #[units(3)]
                fn recip(a: $type) -> $type { a.recip() }
                fn rem(a: $type, b: $type) -> $type { a % b }
                fn rem_euclid(a: $type, b: $type) -> $type { a.rem_euclid(b) }
                #[units(3)]
                fn div_euclid(a: $type, b: $type) -> $type { a.div_euclid(b) }
                fn order(a: $type, b: $type) -> u32 {
                    (a < b) as u32 | ((a <= b) as u32) << 1 | ((a > b) as u32) << 2
                        | ((a >= b) as u32) << 3 | ((a == b) as u32) << 4 | ((a != b) as u32) << 5
                }
                // Of two zeros either may come out.
                fn min(a: $type, b: $type) -> $type { let least = a.min(b); if least == 0.0 { 1.0 } else { least } }
                fn max(a: $type, b: $type) -> $type { let most = a.max(b); if most == 0.0 { 1.0 } else { most } }
                fn clamp(a: $type) -> $type { a.clamp(-2.5, 100.0) }
                fn abs(a: $type) -> $type { a.abs() }
                fn signum(a: $type) -> $type { a.signum() }
                fn copysign(a: $type, b: $type) -> $type { a.copysign(b) }
                fn floor(a: $type) -> $type { a.floor() }
                fn ceil(a: $type) -> $type { a.ceil() }
                fn trunc(a: $type) -> $type { a.trunc() }
                fn fract(a: $type) -> $type { a.fract() }
                fn round(a: $type) -> $type { a.round() }
                #[units(3)]
                fn sqrt(a: $type) -> $type { a.sqrt() }
                fn powi(a: $type, n: u8) -> $type { let few = n % 3; a.powi(few as i32) }
                fn kinds(a: $type) -> u32 {
                    a.is_nan() as u32 | (a.is_finite() as u32) << 1 | (a.is_infinite() as u32) << 2
                        | (a.is_sign_negative() as u32) << 3 | (a.is_sign_positive() as u32) << 4
                }
                fn through_bits(a: $type) -> $type { let bits: $bits = a.to_bits(); $type::from_bits(bits ^ 1) }
                is { if a.is_nan() || a.is_infinite() { $type::NAN } else { $type::from_bits(a.to_bits() ^ 1) } }
                fn to_u8(a: $type) -> u8 { a as u8 }
                fn to_i8(a: $type) -> i8 { a as i8 }
                fn to_u16(a: $type) -> u16 { a as u16 }
                fn to_i16(a: $type) -> i16 { a as i16 }
                fn to_u32(a: $type) -> u32 { a as u32 }
                fn to_i32(a: $type) -> i32 { a as i32 }
                fn to_u64(a: $type) -> u64 { a as u64 }
                fn to_i64(a: $type) -> i64 { a as i64 }
                fn to_f32(a: $type) -> f32 { a as f32 }
                fn to_f64(a: $type) -> f64 { a as f64 }
                fn constants(a: $type) -> $type {
                    if a > $type::EPSILON { $type::INFINITY } else if a < $type::MIN { $type::NAN } else { -0.0 }
                }
                fn literals(a: $type) -> $type { (a + 1.5e3 - 0.1) * -2.0 }
                fn product_of_literals(a: $type) -> $type { a + 3.0 * 1e38 }
            }
        }
    )* };
}

floats! { of_f32 f32 u32; of_f64 f64 u64; }

/// What devices compute in their own ways, where they promise something.
mod transcendental {
    super::functions! {
        #[units(8)]
        fn exp(a: f32) -> f32 { a.clamp(-20.0, 20.0).exp() }
        #[units(8)]
        fn exp2(a: f32) -> f32 { a.clamp(-20.0, 20.0).exp2() }
        #[units(8)]
        fn ln(a: f32) -> f32 { (a.abs() + 2.0).ln() }
        fn ln_of_ends(a: f32) -> f32 { if a > 0.0 && a < f32::INFINITY { 0.0 } else { a.ln() } }
        #[units(8)]
        fn log2(a: f32) -> f32 { (a.abs() + 2.0).log2() }
        #[units(4096)]
        fn sin(a: f32) -> f32 { 2.0 + a.clamp(-3.0, 3.0).sin() }
        #[units(4096)]
        fn cos(a: f32) -> f32 { 2.0 + a.clamp(-3.0, 3.0).cos() }
        #[units(8192)]
        fn tan(a: f32) -> f32 {
            // Away from 0, so that no unit of the tangent is several of the result.
            let tangent = a.clamp(-1.0, 1.0).tan();
            if a.is_sign_negative() { tangent - 1.0 } else { tangent + 1.0 }
        }
        #[units(64)]
        fn powf(a: f32, b: f32) -> f32 { a.clamp(-10.0, 10.0).powf(b.clamp(-4.0, 4.0)) }
        fn powf_at_ends(a: f32, b: f32) -> f32 {
            let between = a != 0.0 && a.is_finite() && b != 0.0 && b.is_finite() && (a > 0.0 || b.trunc() == b);
            if between { 0.0 } else { a.powf(b) }
        }
        #[units(1)]
        fn mul_add(a: f32, b: f32) -> f32 { a.clamp(0.0, 10.0).mul_add(b.clamp(0.0, 10.0), 2.0) }
    }
}

pub(super) fn all(list: &mut Vec<Case>) {
    for each in [
        of_u8::all,
        of_i8::all,
        of_u16::all,
        of_i16::all,
        of_u32::all,
        of_i32::all,
        of_u64::all,
        of_i64::all,
        signed_i8::all,
        signed_i16::all,
        signed_i32::all,
        signed_i64::all,
        of_f32::all,
        of_f64::all,
        transcendental::all,
    ] {
        each(list);
    }
}
