//! Items as bytes of memory, and values as words that kernels hold them in.

use std::borrow::Cow;

use upsweep_core::{Dtype, Element, Error, Kind, Result};

use crate::ErasedType;

/// Most words of a value in a kernel.
pub const MOST_WORDS: usize = 16;

/// Most bytes of an item.
pub const MOST_BYTES: usize = 4 * MOST_WORDS;

/// The words of a value as kernels hold it: of each number one word, or two, the low one first; of short integers 32 bits, of
/// short floats those of an `f32`. Behind them there are zeros.
pub type Words = [u32; MOST_WORDS];

/// What an item of type `T` is, for kernels of a device of this id.
///
/// # Errors
/// [`Error::ElementUnsupported`] if they have no such items.
pub fn kind<T: Element>(device: &str) -> Result<Kind> {
    ErasedType::of::<T>().check(device)
}

/// The same of a kind alone, which has this name.
///
/// # Errors
/// As [`kind`].
pub fn check(kind: Kind, device: &str, name: &str) -> Result<Kind> {
    let refused = |reason: String| {
        let (device, element) = (device.to_owned(), name.to_owned());
        Err(Error::ElementUnsupported { device, element, reason })
    };
    let Kind::Struct { fields, .. } = kind else {
        return match kind {
            Kind::Opaque => refused("it is neither a number nor a structure of them".to_owned()),
            kind => Ok(kind),
        };
    };
    let (size, own) = (kind.size(), fields.iter().map(|(.., dtype)| dtype.size()).sum::<usize>());
    if size != own {
        return refused("there are gaps between its fields; derive `Element`".to_owned());
    }
    if !size.is_multiple_of(4) {
        return refused(format!("{size} bytes are no whole words of 4; fill them with a field"));
    }
    if size > MOST_BYTES || words_of(kind) > MOST_WORDS {
        return refused(format!("kernels hold at most {MOST_WORDS} words of 32 bits"));
    }
    Ok(kind)
}

/// How many words a kernel holds an item of this kind in.
pub fn words_of(kind: Kind) -> usize {
    kind.numbers().map(|(_, dtype)| dtype.size().div_ceil(4)).sum()
}

/// The words of a value, which is a number or a structure of them and no short float: kernels combine those in `f32`.
pub fn words<T: Element>(value: T) -> Words {
    T::bytes(&[value]).map_or([0; MOST_WORDS], |bytes| words_of_item(T::KIND, &bytes))
}

/// The same of a number of this type, by its bits.
pub fn words_of_number(dtype: Dtype, bits: u64) -> Words {
    words_of_item(Kind::Number(dtype), &bits.to_le_bytes())
}

/// The same of an item of this kind that has these bytes.
fn words_of_item(kind: Kind, bytes: &[u8]) -> Words {
    let mut words = [0; MOST_WORDS];
    let mut at = words.iter_mut();
    for (offset, dtype) in kind.numbers() {
        let bytes = &bytes[offset..offset + dtype.size()];
        let fill =
            if dtype.is_signed_integer() && bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 };
        for piece in bytes.chunks(4) {
            let mut word = [fill; 4];
            word[..piece.len()].copy_from_slice(piece);
            if let Some(at) = at.next() {
                *at = u32::from_le_bytes(word);
            }
        }
    }
    words
}

/// The words of memory that a device keeps an item of this kind in, from those of the value. Kinds of which there are kernels fit.
pub fn memory_words(kind: Kind, words: &Words) -> Words {
    let mut memory: Words = [0; MOST_WORDS];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    let mut words = words.iter();
    for (offset, dtype) in kind.numbers() {
        for start in (0..dtype.size()).step_by(4) {
            let end = dtype.size().min(start + 4);
            let (to, word) = (bytes.get_mut(offset + start..offset + end), words.next());
            if let (Some(to), Some(word)) = (to, word) {
                to.copy_from_slice(&word.to_le_bytes()[..end - start]);
            }
        }
    }
    memory
}

/// An item from the words of memory that a device keeps it in.
pub fn from_memory<T: Element>(words: &Words) -> Option<T> {
    T::from_bytes(bytemuck::cast_slice(words).get(..T::KIND.size())?)
}

/// The bytes of items, whose [`kind`] is known; else none.
pub fn bytes<T: Element>(items: &[T]) -> Cow<'_, [u8]> {
    T::bytes(items).unwrap_or_default()
}

/// So many items all of whose bytes are 0.
pub fn zeros<T: Element>(count: usize) -> Option<Vec<T>> {
    let zero = T::from_bytes(&vec![0; T::KIND.size()])?;
    Some(vec![zero; count])
}

#[cfg(test)]
mod tests {
    use upsweep_core::{Indexed, bf16, f16};

    use super::*;

    /// As `#[derive(Element)]` would have it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Mixed {
        wide: f64,
        short: i16,
        bytes: [u8; 2],
        count: u32,
    }

    impl Element for Mixed {
        type Acc = Self;
        const KIND: Kind = Kind::Struct {
            name: "Mixed",
            fields: &[
                ("wide", 0, Dtype::F64),
                ("short", 8, Dtype::I16),
                ("first", 10, Dtype::U8),
                ("second", 11, Dtype::U8),
                ("count", 12, Dtype::U32),
            ],
        };
        const EXACT: bool = false;
        fn to_acc(self) -> Self {
            self
        }
        fn from_acc(acc: Self) -> Self {
            acc
        }
        fn bytes(items: &[Self]) -> Option<Cow<'_, [u8]>> {
            let of = |item: &Self| {
                let short = item.short.to_le_bytes();
                let count = item.count.to_le_bytes();
                [&item.wide.to_le_bytes()[..], &short, &item.bytes, &count].concat()
            };
            Some(items.iter().flat_map(of).collect())
        }
        fn from_bytes(bytes: &[u8]) -> Option<Self> {
            Some(Self {
                wide: f64::from_le_bytes(bytes.get(..8)?.try_into().ok()?),
                short: i16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?),
                bytes: bytes.get(10..12)?.try_into().ok()?,
                count: u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?),
            })
        }
    }

    /// A value from its words.
    fn from_words<T: Element>(words: &Words) -> Option<T> {
        from_memory(&memory_words(T::KIND, words))
    }

    #[test]
    fn a_value_is_its_words() {
        assert_eq!(words(-2i16)[..2], [u32::MAX - 1, 0]);
        assert_eq!(from_words(&words(-2i16)), Some(-2i16));
        assert_eq!(words(1.5f64)[..2], [0, 0x3ff8_0000]);
        assert_eq!(from_words(&words(1.5f64)), Some(1.5f64));
        assert_eq!(from_words(&words(bf16::from_f32(1.5))), Some(bf16::from_f32(1.5)));
        assert_eq!(from_words(&words(f16::MIN)), Some(f16::MIN));
        let mixed = Mixed { wide: -0.25, short: -3, bytes: [200, 7], count: 9 };
        assert_eq!(words(mixed)[..7], [0, 0xbfd0_0000, u32::MAX - 2, 200, 7, 9, 0]);
        assert_eq!(words_of(Mixed::KIND), 6);
        assert_eq!(from_words(&words(mixed)), Some(mixed));
    }

    #[test]
    fn an_item_is_its_bytes() {
        assert_eq!(bytes(&[1u16, 2])[..], [1, 0, 2, 0]);
        let mut memory = [0; MOST_WORDS];
        memory[0] = 0x3ff0_u32 << 16 | 0xabcd;
        assert_eq!(from_memory(&memory), Some(0xabcdu16));
        assert_eq!(zeros::<i64>(3), Some(vec![0; 3]));
        let mixed = [Mixed { wide: 2.0, short: 1, bytes: [3, 4], count: 5 }; 2];
        let mut read = zeros(2).expect("a structure");
        assert_ne!(mixed[..], read);
        let all = bytes(&mixed);
        Mixed::fill(&mut read, |to| {
            to.copy_from_slice(&all);
            Ok::<_, Error>(())
        })
        .expect("bytes");
        assert_eq!(mixed[..], read);
    }

    #[test]
    fn kernels_have_numbers_and_structures_of_them() {
        assert_eq!(kind::<u8>("gpu:0"), Ok(Kind::Number(Dtype::U8)));
        assert_eq!(kind::<Mixed>("gpu:0").map(Kind::size), Ok(16));
        let refused = kind::<Indexed<u32>>("gpu:0");
        assert!(matches!(refused, Err(Error::ElementUnsupported { .. })), "{refused:?}");
    }
}
