//! Short floats to `f32` without a branch, so that compilers turn loops of it into vectors on
//! every instruction set.

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

#[cfg(test)]
mod tests {
    use super::*;

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
