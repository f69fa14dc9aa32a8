//! Items of one type made items of a wider one.

use bytemuck::cast_slice_mut;

use crate::{Dtype, Error, Number, Result, Widen, bf16, f16};

/// Reads items of one type from the front of the first slice, wherever it begins, and fills the second, which is aligned, with as
/// many items of another type. The flag says that the bytes of each item to read are in the other order.
type Convert = fn(&[u8], &mut [u8], bool);

macro_rules! conversions {
    ($from:ident, $to:ident: $($t:ident => $($u:ident)*;)*) => {
        $($(
            if $from == <$t as Number>::DTYPE && $to == <$u as Number>::DTYPE {
                return Some(widen_all::<$t, $u>);
            }
        )*)*
    };
}

fn conversion(from: Dtype, to: Dtype) -> Option<Convert> {
    conversions! { from, to:
        u8 => u8 u16 u32 u64 i16 i32 i64 f32 f64;
        i8 => i8 i16 i32 i64 f32 f64;
        u16 => u16 u32 u64 i32 i64 f32 f64;
        i16 => i16 i32 i64 f32 f64;
        u32 => u32 u64 i64 f64;
        i32 => i32 i64 f64;
        u64 => u64 f64;
        i64 => i64 f64;
        f16 => f16 f32 f64;
        bf16 => bf16 f32 f64;
        f32 => f32 f64;
        f64 => f64;
    }
    None
}

/// Whether a type holds all values of another; 64-bit integers are rounded to `f64`.
pub fn holds(from: Dtype, to: Dtype) -> bool {
    conversion(from, to).is_some()
}

/// Writes items of type `from` as items of type `to`.
///
/// # Arguments
/// - `input`: the bytes of items, wherever they begin in memory.
/// - `swap_bytes`: whether the bytes of each item are in the other order than this machine's.
/// - `output`: room for as many items, at an address that suits `to`.
///
/// # Errors
/// [`Error::Accumulator`] if `to` does not [hold](holds) all values of `from`; [`Error::LengthMismatch`] if there is not as much
/// room as there are items; [`Error::Buffer`] if the room is misaligned.
pub fn convert(
    from: Dtype,
    input: &[u8],
    swap_bytes: bool,
    to: Dtype,
    output: &mut [u8],
) -> Result<()> {
    let convert = conversion(from, to).ok_or_else(|| refused(from, to))?;
    let (items, room) = (input.len() / from.size(), output.len() / to.size());
    if items != room {
        return Err(Error::LengthMismatch { input: items, output: room });
    }
    if !output.as_ptr().addr().is_multiple_of(to.size()) {
        let reason = format!("items of {to} begin at multiples of {} bytes in memory", to.size());
        return Err(Error::Buffer { reason });
    }
    convert(input, output, swap_bytes);
    Ok(())
}

/// Refuses an accumulator that does not hold every value of the items' type.
///
/// # Errors
/// [`Error::Accumulator`], which names those that do.
pub fn check_accumulator(item: Dtype, acc: Dtype) -> Result<()> {
    if holds(item, acc) { Ok(()) } else { Err(refused(item, acc)) }
}

fn refused(item: Dtype, acc: Dtype) -> Error {
    let known = Dtype::ALL.into_iter().filter(|&acc| holds(item, acc));
    Error::Accumulator { item, acc, known: known.map(Dtype::name).collect::<Vec<_>>().join(" ") }
}

fn widen_all<T: Number + Widen<U>, U: Number>(input: &[u8], output: &mut [u8], swap: bool) {
    let items = input.chunks_exact(size_of::<T>());
    let output: &mut [U] = cast_slice_mut(output);
    if swap {
        for (output, item) in output.iter_mut().zip(items) {
            let mut bytes = [0; 8];
            let bytes = &mut bytes[..item.len()];
            bytes.copy_from_slice(item);
            bytes.reverse();
            *output = bytemuck::pod_read_unaligned::<T>(bytes).widen();
        }
    } else {
        for (output, item) in output.iter_mut().zip(items) {
            *output = bytemuck::pod_read_unaligned::<T>(item).widen();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misaligned_and_swapped_items_are_read() {
        let bytes = [0u8, 0x12, 0x34, 0xff, 0xfe];
        let mut output = [0i32; 2];
        let (from, to) = (Dtype::I16, Dtype::I32);
        convert(from, &bytes[1..], true, to, cast_slice_mut(&mut output)).expect("wider");
        assert_eq!(output, [0x1234, -2]);
        convert(from, &bytes[1..], false, to, cast_slice_mut(&mut output)).expect("wider");
        assert_eq!(output, [0x3412, -257]);
    }

    #[test]
    fn only_wider_types_are_reached() {
        for (from, to, wider) in [
            (Dtype::U8, Dtype::I8, false),
            (Dtype::U32, Dtype::F32, false),
            (Dtype::F64, Dtype::F32, false),
            (Dtype::I64, Dtype::U64, false),
            (Dtype::U64, Dtype::F64, true),
            (Dtype::F16, Dtype::F16, true),
        ] {
            assert_eq!(holds(from, to), wider, "{from} {to}");
        }
        let refused = check_accumulator(Dtype::U32, Dtype::F32).expect_err("too narrow");
        let text = "f32 does not hold every value of u32; for u32 there are u32 u64 i64 f64";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn room_that_does_not_fit_is_refused() {
        let mut room = [0u64; 2];
        let bytes: &mut [u8] = cast_slice_mut(&mut room);
        let short = convert(Dtype::U8, &[1, 2], false, Dtype::U64, &mut bytes[..8]);
        assert_eq!(short, Err(Error::LengthMismatch { input: 2, output: 1 }));
        let askew = convert(Dtype::U8, &[1], false, Dtype::U64, &mut bytes[1..9]);
        assert!(matches!(askew, Err(Error::Buffer { .. })), "{askew:?}");
    }
}
