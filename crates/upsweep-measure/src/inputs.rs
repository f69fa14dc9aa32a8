//! The numbers that are measured with: the same in every run.

use upsweep::{Dtype, Error, bf16, f16};

use crate::buffer::Buffer;
use crate::error::Result;

/// The same numbers in every run: SplitMix64 (G. Steele, D. Lea, C. Flood, *Fast Splittable
/// Pseudorandom Number Generators*, 2014).
fn random(position: u64) -> u64 {
    let mut bits = (position + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// `n` numbers of type `dtype`: integers of any bits, floats in `[-1, 1)`. Factors of a product of
/// floats are close to 1 or −1, so that the product stays a number.
pub fn items(dtype: Dtype, n: usize, factors: bool) -> Result<Buffer> {
    let bytes = n.checked_mul(dtype.size()).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
    let mut buffer = Buffer::new(bytes)?;
    let float = |position: u64| {
        let bits = random(position);
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match (factors, bits & 1) {
            (false, _) => 2.0 * unit - 1.0,
            (true, 0) => 1.0 + (unit - 0.5) / 256.0,
            (true, _) => (0.5 - unit) / 256.0 - 1.0,
        }
    };
    // How a float is stored.
    let store: fn(f64, &mut [u8]) = match dtype {
        Dtype::F16 => |float, item| item.copy_from_slice(&f16::from_f64(float).to_ne_bytes()),
        Dtype::Bf16 => |float, item| item.copy_from_slice(&bf16::from_f64(float).to_ne_bytes()),
        Dtype::F32 => |float, item| item.copy_from_slice(&(float as f32).to_ne_bytes()),
        Dtype::F64 => |float, item| item.copy_from_slice(&float.to_ne_bytes()),
        _ => {
            for (position, word) in (0..).zip(buffer.bytes_mut().chunks_mut(8)) {
                word.copy_from_slice(&random(position).to_ne_bytes()[..word.len()]);
            }
            return Ok(buffer);
        }
    };
    for (position, item) in (0..).zip(buffer.bytes_mut().chunks_exact_mut(dtype.size())) {
        store(float(position), item);
    }
    Ok(buffer)
}

/// Numbers of which there are different ones: more take longer to make than to measure.
const DIFFERENT: usize = 1 << 22;

/// The first of [`items`], again and again if there are more than 2^22.
pub fn repeated(dtype: Dtype, n: usize, factors: bool) -> Result<Buffer> {
    let first = items(dtype, n.min(DIFFERENT), factors)?;
    if n <= DIFFERENT {
        return Ok(first);
    }
    let bytes = n.checked_mul(dtype.size()).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
    let mut all = Buffer::new(bytes)?;
    for piece in all.bytes_mut().chunks_mut(first.bytes().len()) {
        piece.copy_from_slice(&first.bytes()[..piece.len()]);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use bytemuck::cast_slice;

    use super::*;

    #[test]
    fn numbers_are_the_published_ones() {
        // The first outputs of the generator from state 0.
        assert_eq!(random(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random(1), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn floats_are_in_range() -> Result<()> {
        let buffer = items(Dtype::F32, 1000, false)?;
        let floats: &[f32] = cast_slice(buffer.bytes());
        assert!(floats.iter().all(|item| (-1.0..1.0).contains(item)));
        let buffer = items(Dtype::F64, 1000, true)?;
        let floats: &[f64] = cast_slice(buffer.bytes());
        assert!(floats.iter().all(|item| (item.abs() - 1.0).abs() < 0.002));
        Ok(())
    }

    #[test]
    fn many_numbers_are_few_again_and_again() -> Result<()> {
        let all = repeated(Dtype::U8, 2 * DIFFERENT + 3, false)?;
        let first = items(Dtype::U8, DIFFERENT, false)?;
        assert_eq!(all.bytes().len(), 2 * DIFFERENT + 3);
        assert!(all.bytes().chunks(DIFFERENT).all(|piece| first.bytes().starts_with(piece)));
        Ok(())
    }
}
