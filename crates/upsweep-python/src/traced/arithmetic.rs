//! Python's operators and numpy's functions as steps of a definition, which are Rust's.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use upsweep::Dtype;
use upsweep::Error;
use upsweep::any::{Binary, Definition, Method, Term, Unary, ValueType};

/// The error for what a definition refuses.
pub(crate) fn refused(error: Error) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

/// Whether a byte is not 0.
pub(crate) fn is_set(to: &mut Definition, byte: Term) -> PyResult<Term> {
    Steps(to).unequal_zero(byte).map_err(refused)
}

/// A value as one of a type of numbers.
pub(crate) fn as_number(to: &mut Definition, value: Term, dtype: Dtype) -> PyResult<Term> {
    Steps(to).cast(value, dtype).map_err(refused)
}

/// Adds steps to a definition.
pub(crate) struct Steps<'a>(pub(crate) &'a mut Definition);

type Made = upsweep::Result<Term>;

/// The type of a number; of a `bool` that of its byte.
fn number(of: ValueType) -> Dtype {
    of.number().unwrap_or(Dtype::U8)
}

impl Steps<'_> {
    fn dtype(&self, value: Term) -> Dtype {
        number(self.0.type_of(value))
    }

    /// A number of the type of a value, by what it is as an integer.
    fn small(&mut self, like: Term, number: i8) -> Term {
        let of = self.0.type_of(like);
        let bits = match self.dtype(like) {
            Dtype::F32 => u64::from(f32::from(number).to_bits()),
            Dtype::F64 => f64::from(number).to_bits(),
            dtype => i64::from(number) as u64 & (u64::MAX >> (64 - 8 * dtype.size())),
        };
        self.0.constant(of, bits)
    }

    fn unequal_zero(&mut self, value: Term) -> Made {
        let zero = self.small(value, 0);
        self.0.binary(Binary::Unequal, value, zero)
    }

    /// A value as one of a type of numbers; there is no cast from `bool` to floats.
    pub(crate) fn cast(&mut self, value: Term, dtype: Dtype) -> Made {
        let value = match self.0.type_of(value) {
            ValueType::Bool if dtype.is_float() => self.0.cast(value, Dtype::U8)?,
            _ => value,
        };
        self.0.cast(value, dtype)
    }

    /// A value as a `bool`.
    pub(crate) fn truth(&mut self, value: Term) -> Made {
        match self.0.type_of(value) {
            ValueType::Bool => Ok(value),
            ValueType::Number(_) => self.unequal_zero(value),
        }
    }

    fn is_negative(&mut self, value: Term) -> Made {
        let zero = self.small(value, 0);
        self.0.binary(Binary::Less, value, zero)
    }

    /// An operator between two values of one type. Sums and products of `bool` are "or" and "and", as numpy has them.
    pub(crate) fn binary(&mut self, operator: Binary, left: Term, right: Term) -> Made {
        let operator = match (operator, self.0.type_of(left)) {
            (Binary::Add, ValueType::Bool) => Binary::BitOr,
            (Binary::Mul, ValueType::Bool) => Binary::BitAnd,
            (
                Binary::Less | Binary::Greater | Binary::LessOrEqual | Binary::GreaterOrEqual,
                ValueType::Bool,
            ) => {
                let (left, right) = (self.0.cast(left, Dtype::U8)?, self.0.cast(right, Dtype::U8)?);
                return self.0.binary(operator, left, right);
            }
            (operator, _) => operator,
        };
        if operator.shifts() {
            return self.shifted(operator, left, right);
        }
        self.0.binary(operator, left, right)
    }

    /// How a signed integer compares with an unsigned one, as whole numbers.
    pub(crate) fn compare_signed(
        &mut self,
        operator: Binary,
        signed: Term,
        unsigned: Term,
    ) -> Made {
        let signed = self.0.cast(signed, Dtype::I64)?;
        let is_negative = self.is_negative(signed)?;
        let (left, right) = (self.0.cast(signed, Dtype::U64)?, self.0.cast(unsigned, Dtype::U64)?);
        let compares = self.0.binary(operator, left, right)?;
        if matches!(operator, Binary::Less | Binary::LessOrEqual | Binary::Unequal) {
            return self.0.binary(Binary::BitOr, is_negative, compares);
        }
        let is_positive = self.0.unary(Unary::Not, is_negative)?;
        self.0.binary(Binary::BitAnd, is_positive, compares)
    }

    /// Whether a number is below 0.
    pub(crate) fn sign(&mut self, value: Term) -> Made {
        self.is_negative(value)
    }

    /// A shift; by as many bits as there are and more, as numpy has it: nothing is left but copies of the sign.
    fn shifted(&mut self, operator: Binary, left: Term, right: Term) -> Made {
        let dtype = self.dtype(left);
        let shifted = self.0.binary(operator, left, right)?;
        let bits = self.small(left, 8 * dtype.size() as i8);
        let is_far = self.0.binary(Binary::GreaterOrEqual, right, bits)?;
        let is_far = match dtype.is_signed_integer() {
            true => {
                let is_negative = self.is_negative(right)?;
                self.0.binary(Binary::BitOr, is_far, is_negative)?
            }
            false => is_far,
        };
        let zero = self.small(left, 0);
        let rest = match operator {
            Binary::Shr if dtype.is_signed_integer() => {
                let (ones, is_negative) = (self.small(left, -1), self.is_negative(left)?);
                self.0.select(is_negative, ones, zero)?
            }
            _ => zero,
        };
        self.0.select(is_far, rest, shifted)
    }

    /// The quotient, rounded down; 0 of integers by 0.
    pub(crate) fn floor_divide(&mut self, left: Term, right: Term) -> Made {
        let dtype = self.dtype(left);
        if dtype.is_float() {
            return self.floor_divide_floats(left, right);
        }
        let quotient = self.0.binary(Binary::Div, left, right)?;
        let zero = self.small(left, 0);
        let rounded = match dtype.is_signed_integer() {
            true => {
                let rest = self.0.binary(Binary::Rem, left, right)?;
                let goes_down = self.differs(rest, right)?;
                let one = self.small(left, 1);
                let below = self.0.binary(Binary::Sub, quotient, one)?;
                self.0.select(goes_down, below, quotient)?
            }
            false => quotient,
        };
        let by_zero = self.0.binary(Binary::Equal, right, zero)?;
        self.0.select(by_zero, zero, rounded)
    }

    /// Whether a remainder that is not 0 has another sign than the divisor.
    fn differs(&mut self, rest: Term, divisor: Term) -> Made {
        let (of_rest, of_divisor) = (self.is_negative(rest)?, self.is_negative(divisor)?);
        let differs = self.0.binary(Binary::Unequal, of_rest, of_divisor)?;
        let is_some = self.unequal_zero(rest)?;
        self.0.binary(Binary::BitAnd, is_some, differs)
    }

    /// As numpy computes it: the remainder first, and what is left is divided and rounded to the next integer.
    fn floor_divide_floats(&mut self, left: Term, right: Term) -> Made {
        let rest = self.0.binary(Binary::Rem, left, right)?;
        let whole = self.0.binary(Binary::Sub, left, rest)?;
        let quotient = self.0.binary(Binary::Div, whole, right)?;
        let goes_down = self.differs(rest, right)?;
        let one = self.small(left, 1);
        let below = self.0.binary(Binary::Sub, quotient, one)?;
        let quotient = self.0.select(goes_down, below, quotient)?;
        let floor = self.0.method(Method::Floor, quotient)?;
        let off = self.0.binary(Binary::Sub, quotient, floor)?;
        let two = self.small(left, 2);
        let half = self.0.binary(Binary::Div, one, two)?;
        let is_over = self.0.binary(Binary::Greater, off, half)?;
        let above = self.0.binary(Binary::Add, floor, one)?;
        let rounded = self.0.select(is_over, above, floor)?;
        // Zero has the sign of the quotient; by 0 it is infinite, or NaN.
        let plain = self.0.binary(Binary::Div, left, right)?;
        let zero = self.small(left, 0);
        let signed = self.0.method_of_two(Method::Copysign, zero, plain)?;
        let is_some = self.unequal_zero(quotient)?;
        let rounded = self.0.select(is_some, rounded, signed)?;
        let by_zero = self.0.binary(Binary::Equal, right, zero)?;
        self.0.select(by_zero, plain, rounded)
    }

    /// The remainder, which has the sign of the divisor; 0 of integers by 0.
    pub(crate) fn remainder(&mut self, left: Term, right: Term) -> Made {
        let dtype = self.dtype(left);
        let rest = self.0.binary(Binary::Rem, left, right)?;
        let zero = self.small(left, 0);
        let rest = match dtype.is_float() || dtype.is_signed_integer() {
            true => {
                let differs = self.differs(rest, right)?;
                let moved = self.0.binary(Binary::Add, rest, right)?;
                self.0.select(differs, moved, rest)?
            }
            false => rest,
        };
        if dtype.is_float() {
            // Zero has the divisor's sign.
            let signed = self.0.method_of_two(Method::Copysign, zero, right)?;
            let is_zero = self.0.binary(Binary::Equal, rest, zero)?;
            return self.0.select(is_zero, signed, rest);
        }
        let by_zero = self.0.binary(Binary::Equal, right, zero)?;
        self.0.select(by_zero, zero, rest)
    }

    /// `-value`; of unsigned integers modulo their range.
    pub(crate) fn negated(&mut self, value: Term) -> Made {
        let dtype = self.dtype(value);
        if dtype.is_float() || dtype.is_signed_integer() {
            return self.0.unary(Unary::Negate, value);
        }
        let zero = self.small(value, 0);
        self.0.binary(Binary::Sub, zero, value)
    }

    /// The value without its sign.
    pub(crate) fn absolute(&mut self, value: Term) -> Made {
        let dtype = self.dtype(value);
        match dtype.is_float() || dtype.is_signed_integer() {
            true => self.0.method(Method::Abs, value),
            false => Ok(value),
        }
    }

    /// The smaller or the larger of two, or a NaN that is one of them.
    pub(crate) fn extreme(&mut self, operator: Binary, left: Term, right: Term) -> Made {
        if self.0.type_of(left) == ValueType::Bool {
            let bits = if operator == Binary::Less { Binary::BitAnd } else { Binary::BitOr };
            return self.0.binary(bits, left, right);
        }
        let mut keeps_left = self.0.binary(operator, left, right)?;
        if self.dtype(left).is_float() {
            let is_nan = self.0.method(Method::IsNan, left)?;
            keeps_left = self.0.binary(Binary::BitOr, keeps_left, is_nan)?;
        }
        self.0.select(keeps_left, left, right)
    }

    /// The power of a whole number that is not negative, by repeated multiplication.
    pub(crate) fn whole_power(&mut self, value: Term, exponent: u32) -> Made {
        let (mut power, mut left) = (None, exponent);
        let mut square = value;
        while left > 0 {
            if left & 1 == 1 {
                power = Some(match power {
                    Some(power) => self.0.binary(Binary::Mul, power, square)?,
                    None => square,
                });
            }
            left >>= 1;
            if left > 0 {
                square = self.0.binary(Binary::Mul, square, square)?;
            }
        }
        Ok(power.unwrap_or_else(|| self.small(value, 1)))
    }
}
