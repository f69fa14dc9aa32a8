//! Short floats to `f32` and back without a branch, so that compilers turn loops of it into vectors
//! on every instruction set.

use half::{bf16, f16};

/// The value of `half` as `f32`; exact. A NaN keeps its sign and payload.
///
/// The exponent and mantissa, moved to their places in an `f32`, make a number that is smaller
/// than the wanted one by 2¹¹²; one multiplication by that power of two puts both normal and
/// subnormal values right. Infinity and NaN have the largest exponent, which is set by hand.
#[inline(always)]
pub fn f16_to_f32(half: f16) -> f32 {
    let bits = u32::from(half.to_bits());
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    let not_finite = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | not_finite | (bits & 0x8000) << 16)
}

/// The value of `half` as `f32`; exact: a `bf16` is the upper half of an `f32`.
#[inline(always)]
pub fn bf16_to_f32(half: bf16) -> f32 {
    f32::from_bits(u32::from(half.to_bits()) << 16)
}

/// The `f16` next to `value`, of two the even one: bit for bit `f16::from_f32`.
///
/// A normal result is rounded by an integer addition whose carry runs into the exponent. A subnormal
/// one is rounded by the addition of 0.5, whose last bit has the weight of the last bit of a
/// subnormal `f16`.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> f16 {
    const HALF: u32 = 0.5f32.to_bits();
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 13) & 1;
    // Exponents of an `f16` begin 112 later.
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(HALF);
    let nan = 0x7e00 | (magnitude >> 13) & 0x3ff;
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    let number = if magnitude < 143 << 23 { finite } else { 0x7c00 };
    let all = if magnitude > 0x7f80_0000 { nan } else { number };
    f16::from_bits((all | (bits >> 16) & 0x8000) as u16)
}

/// The `bf16` next to `value`, of two the even one: bit for bit `bf16::from_f32`.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let all = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 0x0040_0000 } else { rounded };
    bf16::from_bits((all >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each upper half with lower halves around every border of rounding.
    #[test]
    fn every_single_is_rounded_as_half_rounds_it() {
        let check = |bits: u32| {
            let value = f32::from_bits(bits);
            let expected = f16::from_f32(value).to_bits();
            assert_eq!(f32_to_f16(value).to_bits(), expected, "{bits:#010x}");
            let expected = bf16::from_f32(value).to_bits();
            assert_eq!(f32_to_bf16(value).to_bits(), expected, "{bits:#010x}");
        };
        for upper in 0..=u16::MAX {
            for power in 0..16 {
                for lower in [(1u32 << power) - 1, 1 << power, (1 << power) + 1, 3 << power] {
                    check(u32::from(upper) << 16 | lower & 0xffff);
                }
            }
        }
        for bits in (0..=u32::MAX).step_by(4099) {
            check(bits);
        }
    }

    #[test]
    fn every_short_float_keeps_its_value() {
        for bits in 0..=u16::MAX {
            let short = f16::from_bits(bits);
            let wide = f16_to_f32(short);
            if short.is_nan() {
                assert!(wide.is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(wide.to_bits(), short.to_f32_const().to_bits(), "{bits:#06x}");
            }
            let short = bf16::from_bits(bits);
            if !short.is_nan() {
                assert_eq!(bf16_to_f32(short).to_bits(), short.to_f32_const().to_bits());
            }
        }
    }
}
