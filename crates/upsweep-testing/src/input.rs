//! Inputs from a seed. Item `i` of an array depends on the seed and `i` alone, so that any other
//! program can make the same array, in any order.

use core::fmt;
use core::str::FromStr;

use crate::Sample;

/// The increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Word `index` of the SplitMix64 sequence that starts from `seed`.
pub fn random_word(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1)));
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The SplitMix64 sequence, word by word.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    seed: u64,
    index: u64,
}

impl Random {
    /// The sequence that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, index: 0 }
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        let word = random_word(self.seed, self.index);
        self.index += 1;
        word
    }

    /// A number of `[0, end)`; the modulo's bias does not matter here.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }
}

/// What kind of items an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Integers of `[-3, 4]`, or of `[0, 7]` in an unsigned type: every type holds them exactly.
    Small,
    /// All values of an integer type; for floats the same as [`Input::Mixed`].
    Full,
    /// Floats of `[0, 1)` with all bits that fit; for integers the same as [`Input::Full`].
    Uniform,
    /// Floats of both signs with exponents far apart, so that every change of order shows.
    Mixed,
    /// Floats so near 1 that the product of millions neither overflows nor vanishes.
    NearOne,
    /// Floats −0 and +0.
    Zeros,
    /// Floats at the edges of their range: zeros, subnormals, the largest and the smallest.
    Edges,
    /// [`Input::Edges`] with infinities and NaNs among them.
    Special,
}

impl Input {
    /// Every kind with its name in files.
    pub const NAMES: [(Input, &'static str); 8] = [
        (Input::Small, "small"),
        (Input::Full, "full"),
        (Input::Uniform, "uniform"),
        (Input::Mixed, "mixed"),
        (Input::NearOne, "near-one"),
        (Input::Zeros, "zeros"),
        (Input::Edges, "edges"),
        (Input::Special, "special"),
    ];

    /// An array of `items` items.
    pub fn array<T: Sample>(self, seed: u64, items: usize) -> Vec<T> {
        (0..items as u64).map(|index| T::sample(self, random_word(seed, index))).collect()
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(input, _)| input == self).map_or("?", |named| named.1);
        f.pad(name)
    }
}

impl FromStr for Input {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|named| named.1 == name);
        found.map(|named| named.0).ok_or_else(|| format!("no kind of input is called '{name}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words from seed 0 as the authors of SplitMix64 publish them.
    #[test]
    fn words_are_those_of_splitmix64() {
        let mut random = Random::new(0);
        assert_eq!(random.word(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.word(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(random.word(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn floats_are_where_their_kind_says() {
        let uniform: Vec<f32> = Input::Uniform.array(1, 10_000);
        assert!(uniform.iter().all(|value| (0.0..1.0).contains(value)));
        assert!(uniform.iter().any(|&value| value > 0.99) && uniform.iter().any(|&v| v < 0.01));
        let near: Vec<f64> = Input::NearOne.array(2, 10_000);
        assert!(near.iter().all(|value| (value - 1.0).abs() < 1e-3) && near[0] != near[1]);
        let mixed: Vec<f32> = Input::Mixed.array(3, 10_000);
        assert!(mixed.iter().all(|value| value.is_normal()));
        assert!(mixed.iter().any(|&v| v < -1e5) && mixed.iter().any(|v| v.abs() < 1e-5));
        let special: Vec<f64> = Input::Special.array(4, 10_000);
        assert!(special.iter().any(|value| value.is_nan()));
        assert!(special.iter().any(|value| value.is_infinite()));
        assert!(special.iter().any(|value| value.is_subnormal()));
        assert!(Input::Edges.array::<f32>(4, 10_000).iter().all(|value| value.is_finite()));
        let small: Vec<i8> = Input::Small.array(5, 1000);
        assert!(small.contains(&-3) && small.contains(&4) && small.iter().all(|v| *v >= -3));
    }

    #[test]
    fn names_read_back() {
        for (input, name) in Input::NAMES {
            assert_eq!(name.parse(), Ok(input));
            assert_eq!(input.to_string(), name);
        }
        assert!("odd".parse::<Input>().is_err());
    }
}
