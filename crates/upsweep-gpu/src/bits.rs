//! Numbers as bytes and words, where their type is one that kernels know.

use castaway::cast;
use upsweep_core::{Dtype, Element, Error, Kind, Result, bf16, f16};

/// The number type of `T`; `None` if it is a structure.
pub fn dtype_of<T: Element>() -> Option<Dtype> {
    match T::KIND {
        Kind::Number(dtype) => Some(dtype),
        _ => None,
    }
}

/// The number type of `T`, for calls of a device of this id.
///
/// # Errors
/// [`Error::ElementUnsupported`] if it is a structure.
pub fn number<T: Element>(device: &str) -> Result<Dtype> {
    dtype_of::<T>().ok_or_else(|| Error::ElementUnsupported {
        device: device.to_owned(),
        element: core::any::type_name::<T>().to_owned(),
        reason: "it is not a number".to_owned(),
    })
}

macro_rules! numbers {
    ($value:expr, $found:ident => $result:expr; $($type:ident)*) => { $(
        if let Ok($found) = cast!($value, $type) {
            return Some($result);
        }
    )* };
}

macro_rules! slices {
    ($items:expr, $found:ident => $result:expr; $($type:ident)*) => { $(
        if let Ok($found) = cast!($items, &[$type]) {
            return Some($result);
        }
    )* };
}

macro_rules! mut_slices {
    ($items:expr, $found:ident => $result:expr; $($type:ident)*) => {{
        let items = $items;
        $(
            let items = match cast!(items, &mut [$type]) {
                Ok($found) => return Some($result),
                Err(items) => items,
            };
        )*
        let _ = items;
    }};
}

/// The bits of a number, in two words, low word first; `None` for anything else.
pub fn words<T: Element>(value: T) -> Option<[u32; 2]> {
    fn split(bits: u64) -> [u32; 2] {
        [bits as u32, (bits >> 32) as u32]
    }
    numbers!(value, found => split(found as u64); u8 u16 u32 u64);
    numbers!(value, found => split(found as i64 as u64); i8 i16 i32 i64);
    numbers!(value, found => split(u64::from(found.to_bits())); f32);
    numbers!(value, found => split(found.to_bits()); f64);
    // Short floats are combined in `f32`.
    numbers!(value, found => split(u64::from(found.to_f32().to_bits())); f16 bf16);
    None
}

/// A number from its bits; `None` for anything else. Short floats have bits of their own here.
pub fn from_words<T: Element>(words: [u32; 2]) -> Option<T> {
    let bits = u64::from(words[0]) | u64::from(words[1]) << 32;
    macro_rules! number {
        ($($type:ident $value:expr;)*) => { $(
            if dtype_of::<T>() == Some(<$type as upsweep_core::Number>::DTYPE) {
                return cast!($value, T).ok();
            }
        )* };
    }
    number! {
        u8 bits as u8; u16 bits as u16; u32 bits as u32; u64 bits;
        i8 bits as i8; i16 bits as i16; i32 bits as i32; i64 bits as i64;
        f16 f16::from_bits(bits as u16); bf16 bf16::from_bits(bits as u16);
        f32 f32::from_bits(bits as u32); f64 f64::from_bits(bits);
    }
    None
}

/// The bytes of numbers; `None` for anything else.
pub fn bytes<T: Element>(items: &[T]) -> Option<&[u8]> {
    slices!(items, found => bytemuck::cast_slice(found);
        u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64);
    None
}

/// The bytes of numbers, to write; `None` for anything else.
pub fn bytes_mut<T: Element>(items: &mut [T]) -> Option<&mut [u8]> {
    mut_slices!(items, found => bytemuck::cast_slice_mut(found);
        u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64);
    None
}

#[cfg(test)]
mod tests {
    use upsweep_core::Indexed;

    use super::*;

    #[test]
    fn a_number_is_its_bits() {
        assert_eq!(words(-2i16).and_then(from_words::<i16>), Some(-2));
        assert_eq!(words(1.5f64).and_then(from_words::<f64>), Some(1.5));
        assert_eq!(words(f16::from_f32(1.5)), Some([1.5f32.to_bits(), 0]));
        assert_eq!(from_words::<bf16>([0x3fc0, 0]), Some(bf16::from_f32(1.5)));
        assert_eq!(bytes(&[1u16, 2]), Some(&[1, 0, 2, 0][..]));
        let structure = number::<Indexed<u32>>("gpu:0");
        assert!(matches!(structure, Err(Error::ElementUnsupported { .. })), "{structure:?}");
        assert_eq!(number::<u8>("gpu:0"), Ok(Dtype::U8));
    }
}
