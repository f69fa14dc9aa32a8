//! What differs from one language of kernels to another.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Deref;

use upsweep_core::Language;

use crate::Segmentation;

/// A language of kernels. Each backend has a type for its own, which says how it writes what every kernel needs.
pub trait Syntax: Copy + Debug + Eq + Hash {
    /// The language, as operators and functions know it.
    const LANGUAGE: Language;

    /// How items are cut into segments, with what only this language's kernels are made for.
    type Cut: Deref<Target = Segmentation> + Clone + Debug + Eq + Hash;

    /// Words of what is known of segments beside a value.
    fn words_beside(cut: &Self::Cut) -> u32;
}
