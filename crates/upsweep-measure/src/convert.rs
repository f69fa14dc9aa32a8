//! Items of one type made items of another: for files that cannot be read in place, and for
//! accumulators that no kernel reads the file's type into.

use bytemuck::cast_slice_mut;
use half::{bf16, f16};
use upsweep::{Dtype, Number, Widen};

use crate::value::Value;

/// Reads items of one type from the front of the first slice, wherever it is aligned, and fills
/// the second, which is aligned, with as many items of another type. The flag says that the bytes
/// of each item to read are in the other order.
pub type Convert = fn(&[u8], &mut [u8], bool);

macro_rules! conversions {
    ($from:ident, $to:ident: $($t:ident => $($u:ident)*;)*) => {
        $($(
            if $from == <$t as Number>::DTYPE && $to == <$u as Number>::DTYPE {
                return Some(convert::<$t, $u>);
            }
        )*)*
    };
}

/// How items of type `from` become items of type `to`. `None` if `to` does not hold all values of
/// `from`; 64-bit integers are rounded to `f64`.
pub fn conversion(from: Dtype, to: Dtype) -> Option<Convert> {
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

/// One value as a wider type.
pub fn widen(value: Value, from: Dtype, to: Dtype) -> Option<Value> {
    let mut wide = [0u64];
    let bytes: &mut [u8] = cast_slice_mut(&mut wide);
    conversion(from, to)?(value.bytes(), &mut bytes[..to.size()], false);
    Some(Value::from_bytes(to, bytes))
}

fn convert<T: Number + Widen<U>, U: Number>(input: &[u8], output: &mut [u8], swap: bool) {
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
        let convert = conversion(Dtype::I16, Dtype::I32).expect("wider");
        convert(&bytes[1..], cast_slice_mut(&mut output), true);
        assert_eq!(output, [0x1234, -2]);
        convert(&bytes[1..], cast_slice_mut(&mut output), false);
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
            assert_eq!(conversion(from, to).is_some(), wider, "{from} {to}");
        }
        let value = Value::parse("-3", Dtype::I8).expect("a number");
        let wide = widen(value, Dtype::I8, Dtype::F64).map(|value| value.to_string());
        assert_eq!(wide.as_deref(), Some("-3.0"));
    }
}
