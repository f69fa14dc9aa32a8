//! What differs from one language of kernels to another.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Deref;

use upsweep_core::{Dtype, Kind, Language};

use crate::{Held, Op, PositionSearch, Scalar, Segmentation, Types};

/// A language of kernels. Each backend has a type for its own, which says how it writes what every kernel needs. What the methods
/// give is text: expressions, unless they say otherwise.
pub trait Syntax: Copy + Debug + Eq + Hash {
    /// The language, as operators and functions know it.
    const LANGUAGE: Language;

    /// Whether names are declared before their use.
    const IS_IN_ORDER: bool;

    /// Name and type of the number of an item, as a parameter of a function that does not ask for it.
    const UNUSED_INDEX: (&'static str, &'static str);

    /// How items are cut into segments, with what only this language's kernels are made for.
    type Cut: Deref<Target = Segmentation> + Clone + Debug + Eq + Hash;

    /// Words of what is known of segments beside a value.
    fn words_beside(cut: &Self::Cut) -> u32;

    /// A declaration: another name of a type.
    fn alias(name: &str, of: &str) -> String;

    /// A declaration: an unsigned constant of 32 bits.
    fn constant(name: &str, value: u32) -> String;

    /// A declaration: the type `Words`, which is `WORDS` words.
    fn words_type() -> String;

    /// A declaration: a function of parameters with names and types.
    fn function(result: &str, name: &str, parameters: &[(&str, &str)], body: &str) -> String;

    /// A statement: a value of this type gets a name.
    fn let_statement(name: &str, of: &str, value: &str) -> String;

    /// A statement: a variable of this type and value.
    fn var_statement(name: &str, of: &str, value: &str) -> String;

    /// A value of the type `Words`.
    fn words(words: &[String]) -> String;

    /// One of two values.
    fn select(condition: &str, yes: &str, no: &str) -> String;

    /// An integer type's number of these hexadecimal digits.
    fn literal(scalar: Scalar, digits: &str) -> String;

    /// A declaration: a structure with fields of these names and types.
    fn structure_type(name: &str, fields: &[(&str, &str)]) -> String;

    /// A structure of these fields.
    fn structure(name: &str, fields: &[String]) -> String;

    /// The bits of a value, as an unsigned integer of the same size.
    fn bits(scalar: Scalar, value: &str) -> String;

    /// The value with these bits.
    fn of_bits(scalar: Scalar, bits: &str) -> String;

    /// The two words of 64 bits, the low one first.
    fn split_words(bits: &str) -> [String; 2];

    /// Unsigned bits so many places to the left, as one side of an `|`.
    fn shifted(bits: &str, places: usize) -> String;

    /// What is at this place in `Words`, or in an access that is no vector.
    fn element(whole: &str, place: &str) -> String;

    /// Item `k` in an integer of memory.
    fn item(dtype: Dtype, part: &str, k: u32) -> String;

    /// The bits that a value is stored as; those above the bits of its type are 0.
    fn stored(dtype: Dtype, value: &str) -> String;

    /// The variable `item` as a value of the type in which items are combined.
    fn widened(item: Kind, acc: Kind) -> String;

    /// A value of this type brought back to its range, if it is a short one.
    fn narrowed(acc: Kind, value: &str) -> String;

    /// `left` and `right` combined by a sum, a product, a minimum or a maximum.
    fn combined(op: &Op, held: Held) -> String;

    /// One of the words of an operator's values that kernels are handed.
    fn operator_word(types: &Types<Self>, word: usize) -> String;

    /// Declarations: the type `Key` of this kind of floats, the functions `turned`, `key_of` and `value_of` between a float and its key,
    /// and `is_nan_key`. The key is the bits, the lower ones turned round where the sign is set, so that keys are in the order of values.
    fn keys(float: Scalar) -> String;

    /// The variable `key` of a float that is searched for: `end` for a NaN, and the same for both zeros.
    fn key_searched(end: &str) -> String;

    /// Declarations: what the search for a position has behind the type `Key` and the function `hold_key`.
    fn search(search: &PositionSearch) -> String;

    /// Declarations: the function `add_to_total`, which combines a value with the total by this function of atomics.
    fn add_to_total(function: &str) -> String;

    /// The words of the position in a value of this name.
    fn position_words(value: &str) -> Vec<String>;

    /// What stands behind the key in a position's structure, from these words.
    fn position_fields(words: &[String]) -> Vec<String>;
}

/// The body of a function that returns this value.
pub(crate) fn returning(value: &str) -> String {
    format!(" return {value}; ")
}

/// The same behind a statement.
pub(crate) fn returning_after(statement: &str, value: &str) -> String {
    format!("\n    {statement}\n    return {value};\n")
}
