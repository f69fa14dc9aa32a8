//! What a test must know of an element: how to make one from a random word, and its bits.

use core::fmt::{Debug, Display};

use upsweep::{Element, Indexed, Number, bf16, f16};

use crate::Input;

/// An element that tests can make and compare bit for bit.
pub trait Sample: Element {
    /// The element that a random word stands for.
    fn sample(input: Input, word: u64) -> Self;

    /// The bits, of a structure a hash of them; every NaN gives the same ones, because its payload is not specified.
    fn bits(self) -> u64;

    /// The element with these bits, cut off to its size.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! integers {
    ($($type:ident $offset:literal;)*) => { $(
        impl Sample for $type {
            #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is meant")]
            fn sample(input: Input, word: u64) -> Self {
                match input {
                    Input::Small => ((word >> 61) as $type).wrapping_sub($offset),
                    _ => (word >> 7) as $type,
                }
            }

            #[allow(clippy::cast_sign_loss, reason = "the bits are what is meant")]
            fn bits(self) -> u64 {
                self as u64
            }

            #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is meant")]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )* };
}

integers! { u8 0; i8 3; u16 0; i16 3; u32 0; i32 3; u64 0; i64 3; }

/// How the bits of a float type lie, and how the kinds of input are made in it.
struct Layout {
    /// Bits of the mantissa.
    mantissa: u32,
    /// Bits of the whole.
    size: u32,
    /// The exponent's bits of 1.
    bias: u64,
    /// Lowest exponent, and how many there are, of [`Input::Mixed`].
    exponents: (i64, u64),
    /// For [`Input::NearOne`]: how many bits are taken, and the power of two that one step is.
    near: (u32, i32),
}

impl Layout {
    /// The bits of the float that `word` stands for.
    fn sample(&self, input: Input, word: u64) -> u64 {
        let fraction = (1u64 << self.mantissa) - 1;
        let sign = (word >> 63) << (self.size - 1);
        let largest_exponent = ((1u64 << (self.size - 1 - self.mantissa)) - 1) << self.mantissa;
        let mixed = || {
            let exponent = self.bias as i64 + self.exponents.0;
            let exponent = exponent as u64 + (word >> 55 & 0xff) % self.exponents.1;
            sign | exponent << self.mantissa | word & fraction
        };
        match input {
            Input::Zeros => sign,
            Input::Edges | Input::Special => match word >> 58 & 31 {
                0 | 1 => sign,
                2 => sign | 1,
                3 => sign | fraction,
                4 => sign | 1 << self.mantissa,
                5 => sign | (largest_exponent - 1),
                6 => sign | word & fraction,
                7 if input == Input::Special && word & 0x70 == 0 => sign | largest_exponent,
                8 if input == Input::Special && word & 0x70 == 0 => {
                    sign | largest_exponent | 1 << (self.mantissa - 1)
                }
                _ => mixed(),
            },
            _ => mixed(),
        }
    }

    /// [`Input::NearOne`] as a value; exact in the type.
    fn near_one(&self, word: u64) -> f64 {
        let (bits, power) = self.near;
        let steps = (word >> (64 - bits)) as i64 - (1i64 << (bits - 1));
        1.0 + steps as f64 * 2f64.powi(power)
    }

    /// [`Input::Uniform`] as a value; exact in the type.
    fn uniform(&self, word: u64) -> f64 {
        let bits = self.mantissa as i32 + 1;
        (word >> (64 - bits)) as f64 * 2f64.powi(-bits)
    }
}

macro_rules! floats {
    ($($type:ident $bits:ident $layout:expr, $from_f64:expr;)*) => { $(
        impl Sample for $type {
            #[allow(clippy::cast_possible_truncation, reason = "bits and values fit the type")]
            fn sample(input: Input, word: u64) -> Self {
                const LAYOUT: Layout = $layout;
                match input {
                    Input::Small => $from_f64((word >> 61) as f64 - 3.0),
                    Input::Uniform => $from_f64(LAYOUT.uniform(word)),
                    Input::NearOne => $from_f64(LAYOUT.near_one(word)),
                    _ => $type::from_bits(LAYOUT.sample(input, word) as $bits),
                }
            }

            fn bits(self) -> u64 {
                let bits = if Number::is_nan(self) { $type::NAN } else { self };
                u64::from(bits.to_bits())
            }

            #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is meant")]
            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as $bits)
            }
        }
    )* };
}

floats! {
    f16 u16 Layout { mantissa: 10, size: 16, bias: 15, exponents: (-10, 9), near: (2, -10) },
        f16::from_f64;
    bf16 u16 Layout { mantissa: 7, size: 16, bias: 127, exponents: (-20, 41), near: (2, -7) },
        bf16::from_f64;
    f32 u32 Layout { mantissa: 23, size: 32, bias: 127, exponents: (-20, 41), near: (12, -21) },
        |value| value as f32;
    f64 u64 Layout { mantissa: 52, size: 64, bias: 1023, exponents: (-50, 101), near: (40, -50) },
        |value| value;
}

impl Sample for Indexed<f32> {
    fn sample(input: Input, word: u64) -> Self {
        Self { value: f32::sample(input, word), index: word >> 40 }
    }

    fn bits(self) -> u64 {
        // Positions of samples have 24 bits, that of the identity becomes 2²⁴ − 1.
        self.value.bits() << 24 | self.index & 0xff_ffff
    }

    fn from_bits(bits: u64) -> Self {
        Self { value: f32::from_bits((bits >> 24) as u32), index: bits & 0xff_ffff }
    }
}

/// Index of the first item whose bits differ, or of the end of the shorter array.
pub fn first_difference<T: Sample>(found: &[T], expected: &[T]) -> Option<usize> {
    let unequal = found.iter().zip(expected).position(|(a, b)| a.bits() != b.bits());
    unequal.or((found.len() != expected.len()).then(|| found.len().min(expected.len())))
}

/// Panics with the first difference unless both arrays have the same bits, NaNs being equal.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn assert_same<T: Sample>(found: &[T], expected: &[T], context: impl Display) {
    if let Some(at) = first_difference(found, expected) {
        panic!(
            "{context}: item {at} of {} is {}, expected {} (of {} items)",
            found.len(),
            Shown(found.get(at)),
            Shown(expected.get(at)),
            expected.len(),
        );
    }
}

/// A value with its bits.
struct Shown<'a, T>(Option<&'a T>);

impl<T: Sample> Display for Shown<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(value) => {
                Debug::fmt(value, f)?;
                write!(f, " ({:#x})", value.bits())
            }
            None => f.write_str("nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_in_bits_and_in_length() {
        assert_eq!(first_difference(&[0.0f32], &[-0.0]), Some(0));
        assert_eq!(first_difference(&[f32::NAN], &[-f32::NAN]), None);
        assert_eq!(first_difference(&[1u8, 2], &[1, 2, 3]), Some(2));
        assert_eq!(first_difference::<i64>(&[], &[]), None);
        let panic = std::panic::catch_unwind(|| assert_same(&[1i16], &[2], "sum of one"));
        let text = *panic.expect_err("they differ").downcast::<String>().expect("a text");
        assert!(text.starts_with("sum of one: item 0 of 1 is 1 (0x1), expected 2"), "{text}");
    }

    #[test]
    fn bits_make_the_element() {
        for word in [0, 1, 0x8000, 0x7bff, 0x1234_5678_9abc_def0] {
            assert_eq!(f16::from_bits((word & 0x7bff) as u16).bits(), word & 0x7bff);
            assert_eq!(<u64 as Sample>::from_bits(word).bits(), word);
            assert_eq!(<u8 as Sample>::from_bits(word).bits(), word & 0xff);
        }
    }
}
