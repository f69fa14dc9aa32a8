//! What every rung of the ladder is tried with.

use crate::random_word;

/// Around the workgroup and its powers, where a subgroup or a thread has nothing, and where a last step's threads take many.
const LENGTHS: [usize; 24] = [
    0, 1, 2, 3, 31, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537,
    100_003, 131_071, 131_073, 524_287, 524_289, 1_048_577,
];

/// Arrays, and the sum of each, wrapping.
pub fn arrays() -> impl Iterator<Item = (Vec<u32>, u32)> {
    LENGTHS.into_iter().map(|length| {
        let items: Vec<u32> = (0..length as u64).map(|at| random_word(7, at) as u32).collect();
        let sum = items.iter().fold(0u32, |sum, &item| sum.wrapping_add(item));
        (items, sum)
    })
}
