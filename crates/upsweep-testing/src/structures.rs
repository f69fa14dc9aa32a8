//! Structures of numbers as elements, with operators: of every size that kernels tell apart, exact and not, commutative and not.
//!
//! Their samples are such that operators keep their laws bit for bit.

use upsweep::Element;

use crate::{Input, Sample};

/// Of a sample, the word that field number `field` is made of.
fn word_of(word: u64, field: u64) -> u64 {
    let mixed =
        (word ^ field.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 29
}

/// Mixes the bits of a field into those of the fields before it.
fn mixed(bits: u64, field: u64) -> u64 {
    (bits.rotate_left(23) ^ field).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $of:ty = $input:expr,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Element)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $of,)*
        }

        impl Sample for $name {
            #[allow(unused_assignments, reason = "nobody asks for the number behind the last field's")]
            fn sample(_: Input, word: u64) -> Self {
                let mut number = 0;
                $(
                    let $field = <$of>::sample($input, word_of(word, number));
                    number += 1;
                )*
                Self { $($field),* }
            }

            fn bits(self) -> u64 {
                let mut bits = 0;
                $(bits = mixed(bits, self.$field.bits());)*
                bits
            }

            fn from_bits(bits: u64) -> Self {
                Self { $($field: Sample::from_bits(bits)),* }
            }
        }
    )* };
}

structures! {
    /// Three short integers in one word.
    Pair {
        /// Is added.
        sum: u16 = Input::Full,
        /// The last that is not 0.
        last: i8 = Input::Small,
        /// Is mixed.
        parity: u8 = Input::Full,
    }

    /// The map x → scale · x + shift on integers.
    Step {
        /// What is multiplied with.
        scale: u32 = Input::Full,
        /// What is added then.
        shift: u32 = Input::Full,
    }

    /// The same on floats.
    Recurrence {
        /// What is multiplied with, near 1.
        scale: f32 = Input::NearOne,
        /// What is added then.
        shift: f32 = Input::Uniform,
    }

    /// Sums of powers: 12 bytes.
    Powers {
        /// How many values there are.
        count: u32 = Input::Small,
        /// Their sum.
        sum: f32 = Input::Uniform,
        /// The sum of their squares.
        squares: f32 = Input::Uniform,
    }

    /// What is known of the sums of neighbouring items.
    Stretch {
        /// Of all items.
        all: i32 = Input::Small,
        /// The largest one from the first item on.
        front: i32 = Input::Small,
        /// The largest one up to the last item.
        back: i32 = Input::Small,
        /// The largest one.
        best: i32 = Input::Small,
    }

    /// A long float beside short integers.
    Tagged {
        /// The largest wins.
        weight: f64 = Input::Uniform,
        /// Is added.
        count: u32 = Input::Full,
        /// The smallest wins.
        low: i16 = Input::Full,
        /// The largest wins.
        high: u8 = Input::Full,
        /// Is mixed.
        flags: u8 = Input::Full,
    }

    /// An integer of 128 bits, and what it is of: 24 bytes.
    Wide {
        /// The upper half.
        high: u64 = Input::Full,
        /// The lower half.
        low: u64 = Input::Full,
        /// Is added.
        count: u32 = Input::Full,
        /// Is mixed.
        parity: u32 = Input::Full,
    }

    /// A box around points, and how many there are: 32 bytes.
    Extent {
        /// Least x.
        x0: f32 = Input::NearOne,
        /// Least y.
        y0: f32 = Input::NearOne,
        /// Least z.
        z0: f32 = Input::NearOne,
        /// Largest x.
        x1: f32 = Input::NearOne,
        /// Largest y.
        y1: f32 = Input::NearOne,
        /// Largest z.
        z1: f32 = Input::NearOne,
        /// Points.
        count: u32 = Input::Full,
        /// Is mixed.
        parity: u32 = Input::Full,
    }
}

/// The sum as a caller would write it.
#[upsweep::operator(identity = 0, commutative)]
pub fn wrapping_sum(left: u32, right: u32) -> u32 {
    left.wrapping_add(right)
}

/// The sum of floats as a caller would write it.
#[upsweep::operator(identity = 0.0, padding = -0.0, commutative)]
pub fn float_sum(left: f32, right: f32) -> f32 {
    left + right
}

/// What two arrays become one by.
#[upsweep::function]
pub fn product(left: f32, right: f32) -> f32 {
    left * right
}

/// Whether an item is behind the first one.
#[upsweep::function]
pub fn is_behind(number: u32) -> bool {
    number != 0
}

/// Whether a number is nearer than 1 to 0.
#[upsweep::function]
pub fn is_near(value: f32) -> bool {
    value.abs() < 1.0
}

/// Whether a byte is odd, to be counted.
#[upsweep::function]
pub fn is_odd(item: u8) -> u32 {
    (item & 1) as u32
}

/// Whether a value is above a threshold, which kernels are handed.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub struct Above {
    /// What a value must be above.
    pub threshold: f32,
}

#[upsweep::function]
impl Above {
    /// 1 if it is.
    #[must_use]
    pub fn apply(self, value: f32) -> u32 {
        (value > self.threshold) as u32
    }
}

/// The powers of one value.
#[upsweep::function]
pub fn powers_of(value: f32) -> Powers {
    Powers { count: 1, sum: value, squares: value * value }
}

/// The stretch of one item, which is kept small.
#[upsweep::function]
pub fn stretch_of(item: i32) -> Stretch {
    let item = item % 1000;
    Stretch { all: item, front: item, back: item, best: item }
}

/// Exact, not commutative.
#[upsweep::operator(identity = Pair { sum: 0, last: 0, parity: 0 })]
pub fn joined(left: Pair, right: Pair) -> Pair {
    let last = if right.last == 0 { left.last } else { right.last };
    Pair { sum: left.sum.wrapping_add(right.sum), last, parity: left.parity ^ right.parity }
}

/// One map after another. Exact, not commutative.
#[upsweep::operator(identity = Step { scale: 1, shift: 0 })]
pub fn in_steps(left: Step, right: Step) -> Step {
    let shift = right.scale.wrapping_mul(left.shift).wrapping_add(right.shift);
    Step { scale: right.scale.wrapping_mul(left.scale), shift }
}

/// One map after another. Rounds, not commutative.
#[upsweep::operator(
    identity = Recurrence { scale: 1.0, shift: 0.0 },
    padding = Recurrence { scale: 1.0, shift: -0.0 },
)]
pub fn recurs(left: Recurrence, right: Recurrence) -> Recurrence {
    Recurrence { scale: right.scale * left.scale, shift: right.scale * left.shift + right.shift }
}

/// Rounds, commutative.
#[upsweep::operator(
    identity = Powers { count: 0, sum: 0.0, squares: 0.0 },
    padding = Powers { count: 0, sum: -0.0, squares: -0.0 },
    commutative,
)]
pub fn added_powers(left: Powers, right: Powers) -> Powers {
    Powers {
        count: left.count.wrapping_add(right.count),
        sum: left.sum + right.sum,
        squares: left.squares + right.squares,
    }
}

/// The largest sum of neighbouring items: exact, not commutative. Source: J. Bentley, Programming Pearls (1984).
#[upsweep::operator(identity = Stretch { all: 0, front: -1_000_000, back: -1_000_000, best: -1_000_000 })]
pub fn largest_stretch(left: Stretch, right: Stretch) -> Stretch {
    Stretch {
        all: left.all.wrapping_add(right.all),
        front: left.front.max(left.all.wrapping_add(right.front)),
        back: right.back.max(left.back.wrapping_add(right.all)),
        best: left.best.max(right.best).max(left.back.wrapping_add(right.front)),
    }
}

/// Exact, commutative.
#[upsweep::operator(
    identity = Tagged { weight: f64::NEG_INFINITY, count: 0, low: i16::MAX, high: 0, flags: 0 },
    exact,
    commutative,
)]
pub fn both_tagged(left: Tagged, right: Tagged) -> Tagged {
    Tagged {
        weight: if right.weight > left.weight { right.weight } else { left.weight },
        count: left.count.wrapping_add(right.count),
        low: left.low.min(right.low),
        high: left.high.max(right.high),
        flags: left.flags ^ right.flags,
    }
}

/// Exact, commutative.
#[upsweep::operator(identity = Wide { high: 0, low: 0, count: 0, parity: 0 }, commutative)]
pub fn wide_sum(left: Wide, right: Wide) -> Wide {
    let low = left.low.wrapping_add(right.low);
    let carry = (low < left.low) as u64;
    Wide {
        high: left.high.wrapping_add(right.high).wrapping_add(carry),
        low,
        count: left.count.wrapping_add(right.count),
        parity: left.parity ^ right.parity,
    }
}

#[upsweep::function]
fn least(left: f32, right: f32) -> f32 {
    if right < left { right } else { left }
}

#[upsweep::function]
fn largest(left: f32, right: f32) -> f32 {
    if right > left { right } else { left }
}

/// Exact, commutative.
#[upsweep::operator(
    identity = Extent {
        x0: f32::INFINITY, y0: f32::INFINITY, z0: f32::INFINITY,
        x1: f32::NEG_INFINITY, y1: f32::NEG_INFINITY, z1: f32::NEG_INFINITY,
        count: 0, parity: 0,
    },
    exact,
    commutative,
)]
pub fn around(left: Extent, right: Extent) -> Extent {
    Extent {
        x0: least(left.x0, right.x0),
        y0: least(left.y0, right.y0),
        z0: least(left.z0, right.z0),
        x1: largest(left.x1, right.x1),
        y1: largest(left.y1, right.y1),
        z1: largest(left.z1, right.z1),
        count: left.count.wrapping_add(right.count),
        parity: left.parity ^ right.parity,
    }
}

#[cfg(test)]
mod tests {
    use core::mem::size_of;

    use upsweep::__kernel::Described;
    use upsweep::{Operator, laws};

    use super::*;

    fn keeps_its_laws<A: Sample + Described, O: Operator<A>>(operator: O) {
        let mut samples: Vec<A> = Input::Full.array(1, 10);
        samples.push(operator.identity());
        laws::check(&operator, &samples).unwrap_or_else(|broken| panic!("{broken}"));
    }

    #[test]
    fn operators_keep_their_laws() {
        keeps_its_laws(Joined);
        keeps_its_laws(InSteps);
        keeps_its_laws(Recurs);
        keeps_its_laws(AddedPowers);
        keeps_its_laws(LargestStretch);
        keeps_its_laws(BothTagged);
        keeps_its_laws(WideSum);
        keeps_its_laws(Around);
    }

    #[test]
    fn structures_have_many_sizes() {
        let sizes = [
            size_of::<Pair>(),
            size_of::<Step>(),
            size_of::<Powers>(),
            size_of::<Stretch>(),
            size_of::<Tagged>(),
            size_of::<Wide>(),
            size_of::<Extent>(),
        ];
        assert_eq!(sizes, [4, 8, 12, 16, 16, 24, 32]);
    }
}
