//! Sums of short integers that kernels find word by word.

use upsweep_core::{Dtype, Kind};

/// Bytes of a word.
pub const WORD: u64 = 4;

/// The unsigned type in which wrapping sums of short integers are held, if prefixes of `item` are written as `output` and can be
/// found in whole words: both are one type, of which a word has several.
pub fn packed_type(item: Kind, output: Kind) -> Option<Dtype> {
    match item.number().filter(|_| item == output)? {
        Dtype::U8 | Dtype::I8 => Some(Dtype::U8),
        Dtype::U16 | Dtype::I16 => Some(Dtype::U16),
        _ => None,
    }
}

/// Items of so many bytes in a word.
pub(crate) fn items_of_word(item_bytes: usize) -> u32 {
    match item_bytes {
        1 => 4,
        2 => 2,
        _ => 1,
    }
}

/// Where the words begin that hold `bytes` bytes from `begin` on, if they begin with the first of them; or end with the last, which a
/// scan `from_end` begins with. A part of a word may be left at the other end.
pub fn packed_begin(begin: u64, bytes: u64, from_end: bool) -> Option<u64> {
    let (first, begin) = match from_end {
        true => (begin + bytes, begin / WORD * WORD),
        false => (begin, begin),
    };
    first.is_multiple_of(WORD).then_some(begin)
}
