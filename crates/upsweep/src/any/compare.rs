//! Comparisons of items with a number.

use core::fmt::{self, Display};
use core::str::FromStr;

use super::Scalar;
use crate::{Dtype, Error, Result, bf16, f16};

/// How items are compared with a number.
///
/// ```
/// use upsweep::any::Comparison;
/// assert_eq!("<=".parse(), Ok(Comparison::LessOrEqual));
/// assert_eq!(Comparison::NotEqual.to_string(), "!=");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
}

impl Comparison {
    /// Every comparison as it is written; one that another begins with stands behind it.
    const ALL: [(Comparison, &'static str); 6] = [
        (Comparison::LessOrEqual, "<="),
        (Comparison::GreaterOrEqual, ">="),
        (Comparison::Equal, "=="),
        (Comparison::NotEqual, "!="),
        (Comparison::Less, "<"),
        (Comparison::Greater, ">"),
    ];

    const KNOWN: &str = "< <= > >= == !=";

    /// As it is written.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Comparison {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(comparison, _)| comparison).ok_or_else(|| Error::UnknownName {
            what: "comparison",
            name: name.to_owned(),
            known: Self::KNOWN.to_owned(),
        })
    }
}

/// The items that compare so with a number of their own type. Floats are compared as IEEE 754 says: both zeros are equal, and a NaN
/// equals nothing, itself included.
///
/// # Examples
/// ```
/// use upsweep::{Dtype, any::{Comparison, Scalar, Where}};
/// let least = Where::new(Comparison::GreaterOrEqual, Scalar::new(4u8));
/// // Numbers that the type does not have are compared all the same.
/// assert_eq!(Where::parse("> 3.5", Dtype::U8), Ok(least));
/// assert_eq!(Where::parse("< 300", Dtype::U8)?.to_string(), ">= 0");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    /// How items are compared.
    pub comparison: Comparison,
    /// What they are compared with, on the right.
    pub number: Scalar,
}

impl Where {
    /// Items that compare so with `number`.
    pub fn new(comparison: Comparison, number: Scalar) -> Self {
        Self { comparison, number }
    }

    /// Reads a comparison such as `>= 3.5` of items of type `dtype`.
    ///
    /// # Result
    /// Integers are compared with the very number that is written, be it negative, fractional or beyond the type. Floats are compared with
    /// the nearest number of their type, or with one that is beyond all of them.
    ///
    /// # Errors
    /// What is wrong with `text`, in words.
    pub fn parse(text: &str, dtype: Dtype) -> core::result::Result<Self, String> {
        let text = text.trim();
        let found = Comparison::ALL.into_iter().find(|(_, name)| text.starts_with(name));
        let Some((comparison, name)) = found else {
            let (text, known) = (text.escape_debug(), Comparison::KNOWN);
            return Err(format!("'{text}' does not begin with a comparison; known are {known}"));
        };
        let number = text[name.len()..].trim_start();
        match number.parse::<f64>() {
            Err(_) => Scalar::parse(number, Dtype::F64).map(|number| Self { comparison, number }),
            Ok(double) if dtype.is_float() => {
                Ok(Self::of_floats(comparison, number, double, dtype))
            }
            Ok(double) if double.is_nan() => {
                let is_all = comparison == Comparison::NotEqual;
                Ok(if is_all { Self::all(dtype) } else { Self::none(dtype) })
            }
            Ok(_) => Ok(Self::of_integers(comparison, floor(number), dtype)),
        }
    }

    /// All items.
    fn all(dtype: Dtype) -> Self {
        match dtype.is_float() {
            true => Self::new(Comparison::NotEqual, float(f64::NAN, dtype)),
            false => Self::new(Comparison::GreaterOrEqual, integer(limits(dtype)[0], dtype)),
        }
    }

    /// No item.
    fn none(dtype: Dtype) -> Self {
        match dtype.is_float() {
            true => Self::new(Comparison::Equal, float(f64::NAN, dtype)),
            false => Self::new(Comparison::Less, integer(limits(dtype)[0], dtype)),
        }
    }

    /// Floats that compare so with a number, which is `double` if that holds it.
    fn of_floats(comparison: Comparison, number: &str, double: f64, dtype: Dtype) -> Self {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        match Scalar::parse(number, dtype) {
            Ok(number) => Self { comparison, number },
            // It lies between the largest number and infinity.
            Err(_) => match comparison {
                Equal => Self::none(dtype),
                NotEqual => Self::all(dtype),
                Less | LessOrEqual => {
                    let comparison = if double > 0.0 { Less } else { LessOrEqual };
                    Self::new(comparison, float(f64::INFINITY.copysign(double), dtype))
                }
                Greater | GreaterOrEqual => {
                    let comparison = if double > 0.0 { GreaterOrEqual } else { Greater };
                    Self::new(comparison, float(f64::INFINITY.copysign(double), dtype))
                }
            },
        }
    }

    /// Integers that compare so with a number, of which the largest integer up to it is known, and whether it is that.
    fn of_integers(comparison: Comparison, (floor, is_whole): (i128, bool), dtype: Dtype) -> Self {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let [least, most] = limits(dtype);
        let (comparison, bound) = match comparison {
            Less if is_whole => (LessOrEqual, floor - 1),
            Less | LessOrEqual => (LessOrEqual, floor),
            GreaterOrEqual if is_whole => (GreaterOrEqual, floor),
            Greater | GreaterOrEqual => (GreaterOrEqual, floor + 1),
            // No integer is a fraction, as none is beyond its type.
            Equal | NotEqual => (comparison, if is_whole { floor } else { most + 1 }),
        };
        if (least..=most).contains(&bound) {
            return Self::new(comparison, integer(bound, dtype));
        }
        match (comparison, bound < least) {
            (NotEqual, _) | (GreaterOrEqual, true) | (LessOrEqual, false) => Self::all(dtype),
            _ => Self::none(dtype),
        }
    }
}

impl Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.comparison, self.number)
    }
}

/// A number of a type of floats.
fn float(value: f64, dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F16 => Scalar::new(f16::from_f64(value)),
        Dtype::Bf16 => Scalar::new(bf16::from_f64(value)),
        Dtype::F32 => Scalar::new(value as f32),
        _ => Scalar::new(value),
    }
}

/// A number of a type of integers, which has it.
fn integer(value: i128, dtype: Dtype) -> Scalar {
    Scalar::of_bytes(dtype, &value.to_le_bytes())
}

/// The least and the most that a type of integers has.
fn limits(dtype: Dtype) -> [i128; 2] {
    let bits = 8 * dtype.size();
    match dtype.is_signed_integer() {
        true => [-1 << (bits - 1), (1 << (bits - 1)) - 1],
        false => [0, (1 << bits) - 1],
    }
}

/// Beyond all integers that items are.
const BEYOND: i128 = 1 << 100;

/// The largest integer up to a number that is no NaN, and whether it is the number itself. What is beyond 64 bits may be another integer
/// that is.
fn floor(number: &str) -> (i128, bool) {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return (if is_negative { -BEYOND } else { BEYOND }, true);
    }
    // An exponent that no integer holds moves the point as far as one that does.
    let most = i64::from(i32::MAX);
    let bound = if exponent.starts_with('-') { -most } else { most };
    let exponent = exponent.parse().unwrap_or(bound).clamp(-most, most);
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    // Digits in front of the point.
    let point = whole.len() as i64 - (all.len() - digits.len()) as i64 + exponent;
    let (magnitude, is_whole) = if digits.is_empty() {
        (0, true)
    } else if point > 30 {
        (BEYOND, true)
    } else {
        let point = usize::try_from(point).unwrap_or(0);
        let (whole, fraction) = digits.split_at(point.min(digits.len()));
        let digits = format!("{whole:0<point$}");
        (digits.parse().unwrap_or(0), fraction.bytes().all(|byte| byte == b'0'))
    };
    match (is_negative, is_whole) {
        (false, _) => (magnitude, is_whole),
        (true, true) => (-magnitude, true),
        (true, false) => (-magnitude - 1, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_a_type_of_integers_are_compared() {
        for (text, dtype, wanted) in [
            ("<3", Dtype::U8, "<= 2"),
            (" <= 3.5 ", Dtype::U8, "<= 3"),
            ("< 3.5", Dtype::U8, "<= 3"),
            ("> 3.5", Dtype::U8, ">= 4"),
            (">= 3.5", Dtype::I8, ">= 4"),
            ("> -3.5", Dtype::I8, ">= -3"),
            ("<-3.5", Dtype::I8, "<= -4"),
            ("> 3", Dtype::U8, ">= 4"),
            ("< 300", Dtype::U8, ">= 0"),
            ("> 255", Dtype::U8, "< 0"),
            (">= -1", Dtype::U8, ">= 0"),
            ("< 0", Dtype::U64, "< 0"),
            ("== 3.5", Dtype::U8, "< 0"),
            ("!= 3.5", Dtype::U8, ">= 0"),
            ("!= 2.5e1", Dtype::U8, "!= 25"),
            ("== 0.25e3", Dtype::U8, "== 250"),
            ("== 256", Dtype::U8, "< 0"),
            ("== -129", Dtype::I8, "< -128"),
            ("!= 1e99999999999999999999", Dtype::I32, ">= -2147483648"),
            ("> 1e-99999999999999999999", Dtype::I32, ">= 1"),
            ("> -.5", Dtype::I32, ">= 0"),
            ("< inf", Dtype::I16, ">= -32768"),
            ("> -infinity", Dtype::I16, ">= -32768"),
            ("< nan", Dtype::I16, "< -32768"),
            ("!= NaN", Dtype::I16, ">= -32768"),
            ("> 9007199254740993.5", Dtype::U64, ">= 9007199254740994"),
            ("> 18446744073709551614", Dtype::U64, ">= 18446744073709551615"),
            ("< 18446744073709551615.5", Dtype::U64, "<= 18446744073709551615"),
            ("== -9223372036854775809", Dtype::I64, "< -9223372036854775808"),
            ("== 000.0", Dtype::U8, "== 0"),
        ] {
            let found = Where::parse(text, dtype).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Ok(wanted), "{text} of {dtype}");
        }
    }

    #[test]
    fn numbers_beyond_a_type_of_floats_are_compared() {
        for (text, dtype, wanted) in [
            ("> 0.1", Dtype::F16, "> 0.099975586"),
            ("< 70000", Dtype::F16, "< inf"),
            ("<= 70000", Dtype::F16, "< inf"),
            (">= 1e39", Dtype::F32, ">= inf"),
            ("> -1e39", Dtype::Bf16, "> -inf"),
            ("< -1e999", Dtype::F64, "<= -inf"),
            ("== 1e39", Dtype::F32, "== nan"),
            ("!= 1e39", Dtype::F32, "!= nan"),
            ("< inf", Dtype::F32, "< inf"),
        ] {
            let found = Where::parse(text, dtype).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Ok(wanted), "{text} of {dtype}");
        }
    }

    #[test]
    fn what_is_no_comparison_is_named() {
        let known = "known are < <= > >= == !=";
        for (text, wanted) in [
            ("= 3", format!("'= 3' does not begin with a comparison; {known}")),
            ("3", format!("'3' does not begin with a comparison; {known}")),
            ("", format!("'' does not begin with a comparison; {known}")),
            ("<", "'' is not a number".to_owned()),
            ("=> 3", format!("'=> 3' does not begin with a comparison; {known}")),
            ("< =3", "'=3' is not a number".to_owned()),
            ("> three", "'three' is not a number".to_owned()),
        ] {
            assert_eq!(Where::parse(text, Dtype::I32), Err(wanted));
        }
    }
}
