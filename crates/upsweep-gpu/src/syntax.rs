//! What differs from one language of kernels to another.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Deref;

use upsweep_core::{Dtype, Language};

use crate::{Scalar, Segmentation};

/// A language of kernels. Each backend has a type for its own, which says how it writes what every kernel needs. What the methods
/// give is text: expressions, unless they say otherwise.
pub trait Syntax: Copy + Debug + Eq + Hash {
    /// The language, as operators and functions know it.
    const LANGUAGE: Language;

    /// How items are cut into segments, with what only this language's kernels are made for.
    type Cut: Deref<Target = Segmentation> + Clone + Debug + Eq + Hash;

    /// Words of what is known of segments beside a value.
    fn words_beside(cut: &Self::Cut) -> u32;

    /// An integer type's number of these hexadecimal digits.
    fn literal(scalar: Scalar, digits: &str) -> String;

    /// A structure of these fields.
    fn structure(name: &str, fields: &[String]) -> String;

    /// The bits of a value, as an unsigned integer of the same size.
    fn bits(scalar: Scalar, value: &str) -> String;

    /// The value with these bits.
    fn of_bits(scalar: Scalar, bits: &str) -> String;

    /// The two words of 64 bits, the low one first.
    fn halves(bits: &str) -> [String; 2];

    /// Unsigned bits so many places to the left, as one side of an `|`.
    fn shifted(bits: &str, places: usize) -> String;

    /// Part `k` of an access that is no vector.
    fn part(access: &str, k: usize) -> String;

    /// Item `k` in an integer of memory.
    fn item(dtype: Dtype, part: &str, k: u32) -> String;

    /// The bits that a value is stored as; those above the bits of its type are 0.
    fn stored(dtype: Dtype, value: &str) -> String;

    /// The words of the position in a value of this name.
    fn position_words(value: &str) -> Vec<String>;

    /// What stands behind the key in a position's structure, from these words.
    fn position_fields(words: &[String]) -> Vec<String>;
}
