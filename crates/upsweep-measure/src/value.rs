//! One number of a type that is known at run time: results, start values, text input.

use std::fmt::{self, Display};
use std::str::FromStr;

use bytemuck::bytes_of;
use half::{bf16, f16};
use upsweep::{Dtype, Number};

/// Calls `$body` with `$type` standing for the Rust type of a [`Dtype`].
#[doc(hidden)]
#[macro_export]
macro_rules! with_type {
    ($dtype:expr, $type:ident => $body:expr) => {
        $crate::with_type!(@arms $dtype, $type => $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
            F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $type:ident => $body:expr, $($variant:ident $rust:ty),*) => {
        match $dtype {
            $(upsweep::Dtype::$variant => {
                type $type = $rust;
                $body
            })*
            other => unreachable!("{other} has no Rust type"),
        }
    };
}
pub use crate::with_type;

/// A number and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    dtype: Dtype,
    /// The first [`Dtype::size`] bytes are the number's, the others are zero.
    bytes: [u8; 8],
}

impl Value {
    /// The number `value`.
    pub fn new<T: Number>(value: T) -> Self {
        Self::from_bytes(T::DTYPE, bytes_of(&value))
    }

    /// The number of type `dtype` with these bytes, as many as the type has.
    pub fn from_bytes(dtype: Dtype, number: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..dtype.size()].copy_from_slice(&number[..dtype.size()]);
        Self { dtype, bytes }
    }

    /// The bytes of the number.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.dtype.size()]
    }

    /// The same bytes, read as a number of type `T`. Bytes that `T` has more are zero, bytes
    /// that it has fewer are cut off at the upper end.
    pub fn bits<T: Number>(&self) -> T {
        bytemuck::pod_read_unaligned(&self.bytes[..size_of::<T>()])
    }

    /// The number modulo 2 to the bits of `dtype`, which is an integer type, as is this one.
    pub fn wrapped(&self, dtype: Dtype) -> Self {
        Self::from_bytes(dtype, &self.bytes)
    }

    /// Reads a number of type `dtype`; `Err` says what is wrong with `text`.
    pub fn parse(text: &str, dtype: Dtype) -> Result<Self, String> {
        fn float<T: FromStr>(text: &str, infinite: impl Fn(&T) -> bool) -> Result<T, bool> {
            let value: T = text.parse().map_err(|_| false)?;
            // Infinity must be asked for by name.
            if infinite(&value) && !text.contains(['n', 'N']) { Err(true) } else { Ok(value) }
        }
        fn integer<T: Number + FromStr>(text: &str) -> Result<Value, bool> {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().map(Value::new::<T>).map_err(|_| is_integer)
        }
        let double = |text| float(text, |value: &f64| value.is_infinite());
        let number = match dtype {
            Dtype::U8 => integer::<u8>(text),
            Dtype::I8 => integer::<i8>(text),
            Dtype::U16 => integer::<u16>(text),
            Dtype::I16 => integer::<i16>(text),
            Dtype::U32 => integer::<u32>(text),
            Dtype::I32 => integer::<i32>(text),
            Dtype::U64 => integer::<u64>(text),
            Dtype::I64 => integer::<i64>(text),
            Dtype::F32 => float(text, |value: &f32| value.is_infinite()).map(Value::new),
            Dtype::F64 => double(text).map(Value::new),
            Dtype::F16 => double(text).and_then(|wide| {
                let value = f16::from_f64(wide);
                if value.is_infinite() && wide.is_finite() {
                    Err(true)
                } else {
                    Ok(Self::new(value))
                }
            }),
            Dtype::Bf16 => double(text).and_then(|wide| {
                let value = bf16::from_f64(wide);
                if value.is_infinite() && wide.is_finite() {
                    Err(true)
                } else {
                    Ok(Self::new(value))
                }
            }),
            other => return Err(format!("{other} cannot be read as text")),
        };
        number.map_err(|too_large| {
            let mut token: String = text.chars().take(40).collect();
            if token.len() < text.len() {
                token.push('…');
            }
            match (too_large, dtype.is_float()) {
                (true, _) => format!("'{token}' does not fit in {dtype}"),
                (false, true) => format!("'{token}' is not a number"),
                (false, false) => format!("'{token}' is not an integer ({dtype} is wanted)"),
            }
        })
    }
}

/// The shortest decimal digits that read back as the same number.
impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.dtype {
            // As the f32 that they are: its digits come closer than the fewest that would do.
            Dtype::F16 => format!("{:?}", self.bits::<f16>().to_f32()),
            Dtype::Bf16 => format!("{:?}", self.bits::<bf16>().to_f32()),
            Dtype::F32 => format!("{:?}", self.bits::<f32>()),
            Dtype::F64 => format!("{:?}", self.bits::<f64>()),
            dtype => with_type!(dtype, T => self.bits::<T>().to_string()),
        };
        f.pad(if text == "NaN" { "nan" } else { &text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, dtype: Dtype) -> Result<String, String> {
        Value::parse(text, dtype).map(|value| value.to_string())
    }

    #[test]
    fn numbers_are_read_and_written() {
        let shown = |text: &str, dtype| parse(text, dtype).expect(text);
        assert_eq!(shown("-0", Dtype::F64), "-0.0");
        assert_eq!(shown("1e300", Dtype::F64), "1e300");
        assert_eq!(shown("0.1", Dtype::F32), "0.1");
        assert_eq!(shown("0.1", Dtype::F16), "0.099975586");
        assert_eq!(shown("65504", Dtype::F16), "65504.0");
        assert_eq!(shown("1e3", Dtype::Bf16), "1000.0");
        assert_eq!(shown("nan", Dtype::F32), "nan");
        assert_eq!(shown("-inf", Dtype::F16), "-inf");
        assert_eq!(shown("-128", Dtype::I8), "-128");
        assert_eq!(shown("18446744073709551615", Dtype::U64), "18446744073709551615");
    }

    #[test]
    fn what_is_no_number_is_named() {
        let message = |text: &str, dtype| parse(text, dtype).expect_err(text);
        assert_eq!(message("300", Dtype::U8), "'300' does not fit in u8");
        assert_eq!(message("-1", Dtype::U32), "'-1' does not fit in u32");
        assert_eq!(message("1.5", Dtype::I32), "'1.5' is not an integer (i32 is wanted)");
        assert_eq!(message("abc", Dtype::F64), "'abc' is not a number");
        assert_eq!(message("1e39", Dtype::F32), "'1e39' does not fit in f32");
        assert_eq!(message("70000", Dtype::F16), "'70000' does not fit in f16");
    }

    #[test]
    fn every_short_float_reads_back() {
        for bits in 0..=u16::MAX {
            for value in [Value::new(f16::from_bits(bits)), Value::new(bf16::from_bits(bits))] {
                let nan = value.bits::<f16>().is_nan() || value.bits::<bf16>().is_nan();
                if !nan {
                    assert_eq!(Value::parse(&value.to_string(), value.dtype), Ok(value));
                }
            }
        }
    }
}
