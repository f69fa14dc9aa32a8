//! One number whose type is a value: results, start values, numbers in text.

use core::fmt::{self, Display};
use core::str::FromStr;

use bytemuck::bytes_of;

use super::convert::convert;
use super::with_dtype;
use crate::{Dtype, Number, bf16, f16};

/// A number and its type.
///
/// # Examples
/// ```
/// use upsweep::{Dtype, any::Scalar};
/// let half = Scalar::parse("0.1", Dtype::F16)?;
/// assert_eq!(half.to_string(), "0.099975586");
/// assert_eq!(Scalar::new(-3i8).widened(Dtype::F64), Some(Scalar::new(-3.0f64)));
/// assert_eq!(Scalar::new(7u32).get::<u32>(), Some(7));
/// assert_eq!(Scalar::new(7u32).get::<i32>(), None);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    dtype: Dtype,
    /// The first [`Dtype::size`] bytes are the number's, the others are zero.
    bytes: [u8; 8],
}

impl Scalar {
    /// The number `value`.
    #[inline]
    pub fn new<T: Number>(value: T) -> Self {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytes_of(&value));
        Self { dtype: T::DTYPE, bytes }
    }

    /// The number of type `dtype` that lies in memory as these bytes; `None` if there are not as many as the type has.
    pub fn from_bytes(dtype: Dtype, number: &[u8]) -> Option<Self> {
        (number.len() == dtype.size()).then(|| Self::of_bytes(dtype, number))
    }

    /// The first bytes of `number`, as many as the type has.
    pub(super) fn of_bytes(dtype: Dtype, number: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..dtype.size()].copy_from_slice(&number[..dtype.size()]);
        Self { dtype, bytes }
    }

    /// The type of the number.
    #[inline]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The bytes of the number as they lie in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.dtype.size()]
    }

    /// The number, if it is a `T`.
    pub fn get<T: Number>(&self) -> Option<T> {
        (T::DTYPE == self.dtype).then(|| self.bits())
    }

    /// The same bytes, read as a number of type `T`. Bytes that `T` has more are zero, bytes
    /// that it has fewer are cut off at the upper end.
    #[inline]
    pub(super) fn bits<T: Number>(&self) -> T {
        bytemuck::pod_read_unaligned(&self.bytes[..size_of::<T>()])
    }

    /// The bytes of the number in the lower end of a word.
    pub fn word(&self) -> u64 {
        u64::from_le_bytes(self.bytes)
    }

    /// The number modulo 2 to the bits of `dtype`, which is an integer type, as is this one.
    #[inline]
    pub(super) fn wrapped(&self, dtype: Dtype) -> Self {
        let kept = u64::MAX >> (64 - 8 * dtype.size());
        Self { dtype, bytes: (self.word() & kept).to_le_bytes() }
    }

    /// The number as a type that holds all values of its own; `None` if `dtype` does not. 64-bit integers are rounded to `f64`.
    pub fn widened(&self, dtype: Dtype) -> Option<Self> {
        let mut wide = [0u64];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut wide);
        convert(self.dtype, self.bytes(), false, dtype, &mut bytes[..dtype.size()]).ok()?;
        Some(Self::of_bytes(dtype, bytes))
    }

    /// The number as a double: exact but for 64-bit integers, which are rounded.
    pub fn to_f64(&self) -> f64 {
        with_dtype!(self.dtype, T => self.bits::<T>().to_f64())
    }

    /// Reads a number of type `dtype`.
    ///
    /// # Errors
    /// What is wrong with `text`, in words.
    pub fn parse(text: &str, dtype: Dtype) -> Result<Self, String> {
        fn float<T: FromStr>(text: &str, infinite: impl Fn(&T) -> bool) -> Result<T, bool> {
            let value: T = text.parse().map_err(|_| false)?;
            // Infinity must be asked for by name.
            if infinite(&value) && !text.contains(['n', 'N']) { Err(true) } else { Ok(value) }
        }
        fn integer<T: Number + FromStr>(text: &str) -> Result<Scalar, bool> {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().map(Scalar::new::<T>).map_err(|_| is_integer)
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
            Dtype::F32 => float(text, |value: &f32| value.is_infinite()).map(Scalar::new),
            Dtype::F64 => double(text).map(Scalar::new),
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
            other => unreachable!("{other} has no Rust type"),
        };
        number.map_err(|too_large| {
            let mut token = String::new();
            for c in text.chars().take(40) {
                match c {
                    '\'' | '"' => token.push(c),
                    // What cannot be seen is spelt out.
                    _ => token.extend(c.escape_debug()),
                }
            }
            if text.chars().nth(40).is_some() {
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
impl Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.dtype {
            // As the f32 that they are: its digits come closer than the fewest that would do.
            Dtype::F16 => format!("{:?}", self.bits::<f16>().to_f32()),
            Dtype::Bf16 => format!("{:?}", self.bits::<bf16>().to_f32()),
            Dtype::F32 => format!("{:?}", self.bits::<f32>()),
            Dtype::F64 => format!("{:?}", self.bits::<f64>()),
            dtype => with_dtype!(dtype, T => self.bits::<T>().to_string()),
        };
        f.pad(if text == "NaN" { "nan" } else { &text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, dtype: Dtype) -> Result<String, String> {
        Scalar::parse(text, dtype).map(|value| value.to_string())
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
            for value in [Scalar::new(f16::from_bits(bits)), Scalar::new(bf16::from_bits(bits))] {
                let nan = value.bits::<f16>().is_nan() || value.bits::<bf16>().is_nan();
                if !nan {
                    assert_eq!(Scalar::parse(&value.to_string(), value.dtype), Ok(value));
                }
            }
        }
    }
}
