//! The numbers that are measured with: the same in every run.

use bytemuck::cast_slice;
use half::{bf16, f16};
use upsweep::{Dtype, Error, Number};

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
    fn fill<T: Number>(buffer: &mut Buffer, number: impl Fn(u64) -> T) {
        for (position, item) in (0..).zip(buffer.items_mut::<T>()) {
            *item = number(position);
        }
    }
    match dtype {
        Dtype::F16 => fill(&mut buffer, |position| f16::from_f64(float(position))),
        Dtype::Bf16 => fill(&mut buffer, |position| bf16::from_f64(float(position))),
        Dtype::F32 => fill(&mut buffer, |position| float(position) as f32),
        Dtype::F64 => fill(&mut buffer, float),
        _ => {
            for (position, word) in (0..).zip(buffer.bytes_mut().chunks_mut(8)) {
                let bits = [random(position)];
                word.copy_from_slice(&cast_slice::<u64, u8>(&bits)[..word.len()]);
            }
        }
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
    use super::*;

    #[test]
    fn numbers_are_the_published_ones() {
        // The first outputs of the generator from state 0.
        assert_eq!(random(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random(1), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn floats_are_in_range() -> Result<()> {
        let mut buffer = items(Dtype::F32, 1000, false)?;
        assert!(buffer.items_mut::<f32>().iter().all(|item| (-1.0..1.0).contains(item)));
        let mut buffer = items(Dtype::F64, 1000, true)?;
        assert!(buffer.items_mut::<f64>().iter().all(|item| (item.abs() - 1.0).abs() < 0.002));
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
