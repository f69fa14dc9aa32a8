//! Inputs that every language makes alike, and the digest by which results are compared.
//!
//! Item `i` is made from `hash(i)`. Of the kind `whole`, floats are odd integers between -128 and
//! 128. Their mean is 0, so that no partial sum of 2^28 of them comes near 2^24, and all sums are
//! exact in any order: every engine must return the same bits, and a single wrong item shows. Of
//! the kind `unit` floats lie in [0, 1) and sums round.

use half::f16;

/// What floats are like; integers are the same in both kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Odd integers.
    Whole,
    /// Of [0, 1).
    Unit,
}

impl Kind {
    /// By the name in requests.
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn named(name: &str) -> Self {
        match name {
            "whole" => Self::Whole,
            "unit" => Self::Unit,
            _ => panic!("no kind of input is called '{name}'"),
        }
    }
}

/// The mixing function of SplitMix64.
pub fn hash(index: usize) -> u64 {
    let mut z = (index as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The numbers that arrays are made of: no padding, any bits allowed.
pub trait Item: Copy + Send + Sync + 'static {
    /// The item of a hash.
    fn of(hash: u64, kind: Kind) -> Self;

    /// Its bits, in the lower end of a word.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($type:ident)*) => { $(
        impl Item for $type {
            fn of(hash: u64, _: Kind) -> Self {
                (hash >> (64 - $type::BITS)) as $type
            }

            fn bits(self) -> u64 {
                self as u64
            }
        }
    )* };
}

integers!(u8 i16 u32 i64 u64);

fn whole(hash: u64) -> i8 {
    (hash >> 56) as i8 | 1
}

impl Item for f16 {
    fn of(hash: u64, kind: Kind) -> Self {
        match kind {
            Kind::Whole => f16::from_f32(whole(hash).into()),
            Kind::Unit => f16::from_f32((hash >> 53) as f32 / 2f32.powi(11)),
        }
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Item for f32 {
    fn of(hash: u64, kind: Kind) -> Self {
        match kind {
            Kind::Whole => whole(hash).into(),
            Kind::Unit => (hash >> 40) as f32 / 2f32.powi(24),
        }
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Item for f64 {
    fn of(hash: u64, kind: Kind) -> Self {
        match kind {
            Kind::Whole => whole(hash).into(),
            Kind::Unit => (hash >> 11) as f64 / 2f64.powi(53),
        }
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A sum over positions and bits: of two results that differ in one item it is never the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest {
    sum: u64,
    items: u64,
}

impl Digest {
    /// Takes the next items of the result.
    pub fn add<T: Item>(&mut self, items: &[T]) {
        for item in items {
            let weight = self.items.wrapping_mul(2).wrapping_add(1);
            self.sum = self.sum.wrapping_add(item.bits().wrapping_mul(weight));
            self.items += 1;
        }
    }

    /// The digest of all items.
    pub fn value(self) -> u64 {
        self.sum
    }
}

/// The digest of a whole result.
pub fn digest<T: Item>(items: &[T]) -> u64 {
    let mut digest = Digest::default();
    digest.add(items);
    digest.value()
}
