//! Operators with fields, which kernels are handed: commutative and not, on numbers and structures.

use upsweep::Element;

use crate::{Input, Sample};

/// The last item that is not this one, which is the identity: exact, not commutative.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct LastOther {
    /// The item that does not count.
    pub nothing: u32,
}

#[upsweep::operator]
impl LastOther {
    /// What does not count.
    #[must_use]
    pub fn identity(self) -> u32 {
        self.nothing
    }

    /// The later one that counts.
    #[must_use]
    pub fn combine(self, left: u32, right: u32) -> u32 {
        if right == self.nothing { left } else { right }
    }
}

/// The sum modulo a number, of items less than it.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct Modulo {
    /// Larger than every item.
    pub modulus: u64,
}

#[upsweep::operator(commutative)]
impl Modulo {
    /// Nothing.
    #[must_use]
    pub fn identity(self) -> u64 {
        0
    }

    /// The sum, or what it is larger than the modulus.
    #[must_use]
    pub fn combine(self, left: u64, right: u64) -> u64 {
        let room = self.modulus - right;
        if left >= room { left - room } else { left + right }
    }
}

/// A sum that stops growing, of items that are not negative: of fields that fill no word.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct Capped {
    /// More than this it never is; items are not either.
    pub most: u16,
    /// What it loses of the most.
    pub less: u8,
    /// Fills the structure up.
    pub rest: i8,
}

#[upsweep::operator(commutative)]
impl Capped {
    /// Nothing.
    #[must_use]
    pub fn identity(self) -> i32 {
        0
    }

    /// The sum, as far as it goes.
    #[must_use]
    pub fn combine(self, left: i32, right: i32) -> i32 {
        (left + right).min(self.most as i32 - self.less as i32)
    }
}

/// `real + root · √square` in wrapping integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Element)]
#[repr(C)]
pub struct Quadratic {
    /// The part without the root.
    pub real: i32,
    /// How many roots.
    pub root: i32,
}

impl Sample for Quadratic {
    fn sample(_: Input, word: u64) -> Self {
        // Odd, so that products do not run into 0.
        Self { real: word as i32 | 1, root: (word >> 32) as i32 & !1 }
    }

    fn bits(self) -> u64 {
        u64::from(self.real as u32) | u64::from(self.root as u32) << 32
    }

    fn from_bits(bits: u64) -> Self {
        Self { real: bits as i32, root: (bits >> 32) as i32 }
    }
}

/// Their product.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct Products {
    /// What the root is of.
    pub square: i32,
    /// What stands beside it, and is not asked for.
    pub unused: f32,
}

#[upsweep::operator(commutative)]
impl Products {
    /// One.
    #[must_use]
    pub fn identity(self) -> Quadratic {
        Quadratic { real: 1, root: 0 }
    }

    /// The product.
    #[must_use]
    pub fn combine(self, left: Quadratic, right: Quadratic) -> Quadratic {
        let roots = left.root.wrapping_mul(right.root).wrapping_mul(self.square);
        Quadratic {
            real: left.real.wrapping_mul(right.real).wrapping_add(roots),
            root: left
                .real
                .wrapping_mul(right.root)
                .wrapping_add(left.root.wrapping_mul(right.real)),
        }
    }
}

/// A sum modulo a power of two: of all bits it is the wrapping sum, with one instruction more.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct SumOfBits {
    /// The bits that are kept, from the lowest on.
    pub mask: u32,
}

#[upsweep::operator(commutative)]
impl SumOfBits {
    /// Nothing.
    #[must_use]
    pub fn identity(self) -> u32 {
        0
    }

    /// The sum of these bits.
    #[must_use]
    pub fn combine(self, left: u32, right: u32) -> u32 {
        left.wrapping_add(right) & self.mask
    }
}

/// A sum of floats that stops growing, of items that are neither negative nor more than the most, which may be infinite. What the
/// padding leaves as it is, the identity does not.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct SumUpTo {
    /// More than this it never is.
    pub most: f32,
}

#[upsweep::operator(commutative)]
impl SumUpTo {
    /// Nothing.
    #[must_use]
    pub fn identity(self) -> f32 {
        0.0
    }

    /// Nothing either, which leaves −0 as it is.
    #[must_use]
    pub fn padding(self) -> f32 {
        -0.0
    }

    /// The sum, as far as it goes.
    #[must_use]
    pub fn combine(self, left: f32, right: f32) -> f32 {
        (left + right).min(self.most)
    }
}
