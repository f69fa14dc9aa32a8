//! Operators, methods and casts with the meaning that they have in Rust.
//!
//! Where Rust panics, a device goes on: integers wrap, shifts take the amount's lower bits, a divisor of 0 counts as 1, and
//! `clamp` with its bounds exchanged gives the upper one.

use super::helpers;
use super::spelling::{Scalar, nan, plain};
use super::{Binary, Method, Module, Refused, Type, Unary, Value};
use crate::{Dtype, Language};

/// A value in the text.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) text: String,
    pub(super) of: Type,
    pub(super) stays: ValueLifetime,
}

/// How long a text stands for the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueLifetime {
    /// Until a variable in it is assigned to.
    AWhile,
    /// As long as its names are known; it costs nothing to write it again.
    InScope,
    /// For ever: a device compiler may compute it, and refuse what overflows.
    Constant,
}

impl Operand {
    pub(super) fn new(text: String, of: Type) -> Self {
        Self { text, of, stays: ValueLifetime::AWhile }
    }

    fn number(&self) -> Result<Dtype, Refused> {
        match self.of {
            Type::Number(dtype) => Ok(dtype),
            _ => Err(Refused(format!("{:?} is not a number", self.of))),
        }
    }

    pub(super) fn scalar(&self) -> Option<Scalar> {
        match self.of {
            Type::Bool => Some(Scalar::Bool),
            Type::Number(dtype) => Some(Scalar::of(dtype)),
            _ => None,
        }
    }
}

/// Whether it is held in more bits than it has.
fn is_short(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::U8 | Dtype::I8 | Dtype::U16 | Dtype::I16)
}

fn bits(dtype: Dtype) -> u32 {
    8 * dtype.size() as u32
}

/// The least and the largest value of an integer.
fn range(dtype: Dtype) -> (i128, i128) {
    let bits = bits(dtype);
    if dtype.is_signed_integer() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

fn unsigned(dtype: Dtype) -> Dtype {
    match dtype.size() {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    }
}

impl Module {
    /// A value of a type that may not be there otherwise, as every device type must be known.
    fn of(&mut self, text: String, dtype: Dtype) -> Result<Operand, Refused> {
        self.type_name(Type::Number(dtype))?;
        Ok(Operand::new(text, Type::Number(dtype)))
    }

    /// A constant.
    pub(super) fn constant(&mut self, value: &Value) -> Result<Operand, Refused> {
        let text = match value {
            Value::Bool(value) => value.to_string(),
            Value::Number(dtype, bits) => {
                let scalar = Scalar::of(*dtype);
                let held = match dtype {
                    Dtype::I8 => i64::from(*bits as i8) as u64,
                    Dtype::I16 => i64::from(*bits as i16) as u64,
                    _ => *bits,
                };
                self.number(scalar, held)
            }
            Value::Fields(of, values) => {
                let name = self.type_name(*of)?;
                let mut texts = Vec::new();
                for value in values {
                    texts.push(self.constant(value)?.text);
                }
                self.spelling.construct(&name, &texts)
            }
        };
        self.type_name(value.type_of())?;
        Ok(Operand { text, of: value.type_of(), stays: ValueLifetime::Constant })
    }

    /// The number with these bits.
    fn number(&mut self, scalar: Scalar, bits: u64) -> String {
        if plain(scalar, bits) {
            return self.spelling.literal(scalar, bits);
        }
        let is_nan = match scalar {
            Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
            _ => f64::from_bits(bits).is_nan(),
        };
        let bits = if is_nan { nan(scalar) } else { bits };
        let text = format!("{bits:#x}{}", self.spelling.suffix(scalar.unsigned()));
        self.help("from_bits", scalar, &[&text])
    }

    /// An integer of a scalar type.
    fn integer(&mut self, scalar: Scalar, value: i128) -> String {
        self.number(scalar, value as u64)
    }

    /// A short integer that may have left its range, in its range.
    fn narrow(&self, dtype: Dtype, text: String) -> String {
        let shift = 32 - bits(dtype).min(32);
        match dtype {
            Dtype::U8 | Dtype::U16 => format!("({text} & {}u)", range(dtype).1),
            Dtype::I8 | Dtype::I16 => {
                self.spelling.either(format!("extractBits({text}, 0u, {}u)", bits(dtype)), {
                    format!("(i32(u32({text}) << {shift}u) >> {shift}u)")
                })
            }
            _ => text,
        }
    }

    /// What wraps: an operator between integers, by way of unsigned ones where the language wants that.
    fn wrapping(&self, scalar: Scalar, left: &str, sign: &str, right: &str, both: bool) -> String {
        // WGSL's integers wrap by themselves.
        if !scalar.is_signed() || self.spelling.0 == Language::Wgsl {
            return format!("({left} {sign} {right})");
        }
        let (name, unsigned) = (scalar.name(), scalar.unsigned().name());
        let right = if both { format!("{unsigned}({right})") } else { right.to_owned() };
        format!("{name}({unsigned}({left}) {sign} {right})")
    }

    pub(super) fn unary(&mut self, operator: Unary, value: Operand) -> Result<Operand, Refused> {
        let text = &value.text;
        if value.of == Type::Bool {
            return Ok(Operand::new(format!("!{text}"), Type::Bool));
        }
        let dtype = value.number()?;
        let scalar = Scalar::of(dtype);
        let text = match operator {
            Unary::Not => format!("(~{text})"),
            Unary::Negate if scalar.is_float() => format!("(-{text})"),
            // Of unsigned ones too, for `wrapping_neg`.
            Unary::Negate => {
                let zero = self.integer(scalar.unsigned(), 0);
                let unsigned = scalar.unsigned().name();
                format!("{}({zero} - {unsigned}({text}))", scalar.name())
            }
        };
        // A short `!` of a signed integer stays in its range.
        self.of(self.narrow(dtype, text), dtype)
    }

    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: &Operand,
        right: &Operand,
    ) -> Result<Operand, Refused> {
        let (a, b) = (&left.text, &right.text);
        let sign = match operator {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Equal => "==",
            Binary::Unequal => "!=",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
        };
        if left.of == Type::Bool {
            let text = match operator {
                Binary::BitXor => format!("({a} != {b})"),
                Binary::BitAnd | Binary::BitOr => self
                    .spelling
                    .either(format!("({a} {sign} {b})"), format!("bool({a} {sign} {b})")),
                Binary::Equal | Binary::Unequal => format!("({a} {sign} {b})"),
                _ => format!("(u32({a}) {sign} u32({b}))"),
            };
            return Ok(Operand::new(text, Type::Bool));
        }
        let dtype = left.number()?;
        let scalar = Scalar::of(dtype);
        if operator.compares() {
            // A NaN is unequal to everything; naga's `!=` says that it is not (naga 30).
            let text = match operator {
                Binary::Unequal if scalar.is_float() => format!("!({a} == {b})"),
                _ => format!("({a} {sign} {b})"),
            };
            return Ok(Operand::new(text, Type::Bool));
        }
        if operator.shifts() {
            let amount = self.cast(right, Type::Number(Dtype::U32))?;
            let amount = format!("({} & {}u)", amount.text, bits(dtype) - 1);
            let text = match operator {
                Binary::Shr => format!("({a} >> {amount})"),
                _ => self.wrapping(scalar, a, sign, &amount, false),
            };
            return self.of(self.narrow(dtype, text), dtype);
        }
        let text = match operator {
            Binary::Mul if scalar.is_float() && self.spelling.0 == Language::Wgsl => {
                self.help("product", scalar, &[a, b])
            }
            Binary::Rem => self.help("rem", scalar, &[a, b]),
            Binary::Div if !scalar.is_float() => self.help("div", scalar, &[a, b]),
            Binary::Add | Binary::Sub | Binary::Mul => self.wrapping(scalar, a, sign, b, true),
            _ => format!("({a} {sign} {b})"),
        };
        self.of(self.narrow(dtype, text), dtype)
    }

    pub(super) fn cast(&mut self, value: &Operand, to: Type) -> Result<Operand, Refused> {
        let Type::Number(to) = to else {
            return match value.of == to {
                true => Ok(value.clone()),
                false => Err(Refused(format!("{:?} does not become {to:?}", value.of))),
            };
        };
        let (text, new) = (&value.text, Scalar::of(to));
        let from = match value.of {
            Type::Bool => {
                let (no, yes) = (self.integer(new, 0), self.integer(new, 1));
                let text = self.spelling.select(&no, &yes, text);
                return self.of(text, to);
            }
            _ => value.number()?,
        };
        let old = Scalar::of(from);
        if from == to {
            return Ok(value.clone());
        }
        if old.is_float() && !new.is_float() {
            let text = self.saturated(old, text, to);
            return self.of(text, to);
        }
        let text = if old.is_float() || new.is_float() {
            format!("{}({text})", new.name())
        } else {
            let text = self.resized(old, text, new);
            let ((least, most), (lower, upper)) = (range(from), range(to));
            match is_short(to) && (least < lower || upper < most) {
                true => self.narrow(to, text),
                false => text,
            }
        };
        self.of(text, to)
    }

    /// An integer in another size: its lower bits, or itself with its sign.
    fn resized(&self, old: Scalar, text: &str, new: Scalar) -> String {
        let name = new.name();
        match (old.is_wide(), new.is_wide()) {
            _ if old == new => text.to_owned(),
            // naga's SPIR-V extends the sign of whatever becomes signed (naga 30), so the sign is settled first.
            (false, true) => {
                let same = if old.is_signed() { "i64" } else { "u64" };
                if same == name {
                    format!("{same}({text})")
                } else {
                    format!("{name}({same}({text}))")
                }
            }
            (true, false) => {
                let bits = if old.is_signed() { format!("u64({text})") } else { text.to_owned() };
                let suffix = self.spelling.suffix(Scalar::U64);
                let low = format!("u32({bits} & {:#x}{suffix})", u32::MAX);
                if new.is_signed() { format!("i32({low})") } else { low }
            }
            _ => format!("{name}({text})"),
        }
    }

    /// A float as an integer: cut off, at the end of the range beyond it, 0 for a NaN.
    fn saturated(&mut self, old: Scalar, text: &str, to: Dtype) -> String {
        let new = Scalar::of(to);
        let name = format!("rust_{}_of_{}", to.name(), old.name());
        let (least, most) = range(to);
        let float = |value: f64| match old {
            Scalar::F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        };
        let low = self.number(old, float(least as f64));
        let high = self.number(old, float((most + 1) as f64));
        let is_nan = self.help("is_nan", old, &["value"]);
        let [zero, least, most] = [0, least, most].map(|end| self.integer(new, end));
        let head =
            self.spelling.head(&name, &[("value".to_owned(), old.name().to_owned())], new.name());
        let mut whole = format!("{}(value)", new.name());
        if (old, new) == (Scalar::F32, Scalar::U64) {
            // Word by word, each exactly: NVIDIA's driver for Vulkan (580) fills the lower one with ones where the upper is not 0.
            let words = "(u64(u32(value * 0x1p-32f)) << 32u) | \
                         u64(u32(value - trunc(value * 0x1p-32f) * 0x1p32f))";
            whole = self.spelling.either(words.to_owned(), whole);
        }
        self.declare(
            &name,
            &format!(
                "{head} {{ if ({is_nan}) {{ return {zero}; }} if (value <= {low}) {{ return {least}; }} \
                 if (value >= {high}) {{ return {most}; }} return {whole}; }}\n"
            ),
        );
        format!("{name}({text})")
    }

    /// What `from_bits` of a float type gives.
    pub(super) fn value_of_bits(&mut self, bits: &Operand, to: Type) -> Result<Operand, Refused> {
        match to {
            Type::Number(dtype @ (Dtype::F32 | Dtype::F64)) => {
                let text = self.help("from_bits", Scalar::of(dtype), &[&bits.text]);
                self.of(text, dtype)
            }
            _ => Err(Refused(format!("`from_bits` makes no {to:?}"))),
        }
    }

    /// The type of a method's argument, for a receiver of this type.
    pub(super) fn argument(method: Method, receiver: Type) -> Type {
        match method {
            Method::Powi => Type::Number(Dtype::I32),
            Method::Pow
            | Method::WrappingPow
            | Method::RotateLeft
            | Method::RotateRight
            | Method::WrappingShl
            | Method::WrappingShr => Type::Number(Dtype::U32),
            _ => receiver,
        }
    }

    pub(super) fn method(
        &mut self,
        method: Method,
        operands: &[Operand],
    ) -> Result<Operand, Refused> {
        let [value, arguments @ ..] = operands else {
            return Err(Refused(format!("`{}` has no value", method.name())));
        };
        let dtype = value.number()?;
        let operator = match method {
            Method::WrappingAdd => Some(Binary::Add),
            Method::WrappingSub => Some(Binary::Sub),
            Method::WrappingMul => Some(Binary::Mul),
            Method::WrappingShl => Some(Binary::Shl),
            Method::WrappingShr => Some(Binary::Shr),
            _ => None,
        };
        if let (Some(operator), [argument]) = (operator, arguments) {
            return self.binary(operator, value, argument);
        }
        if dtype.is_float() {
            self.float_method(method, dtype, operands)
        } else {
            self.integer_method(method, dtype, operands)
        }
    }

    fn float_method(
        &mut self,
        method: Method,
        dtype: Dtype,
        operands: &[Operand],
    ) -> Result<Operand, Refused> {
        let scalar = Scalar::of(dtype);
        let single = matches!(
            method,
            Method::Exp
                | Method::Exp2
                | Method::Ln
                | Method::Log2
                | Method::Sin
                | Method::Cos
                | Method::Tan
                | Method::Powf
        );
        if single && scalar == Scalar::F64 && self.spelling.0 == Language::Wgsl {
            return Err(Refused(format!("WGSL has no `{}` of f64", method.name())));
        }
        if helpers::find(method.name(), scalar.name()).is_none() {
            return Err(Refused(format!("{dtype} has no method `{}`", method.name())));
        }
        let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
        let text = self.help(method.name(), scalar, &texts);
        match method {
            Method::IsNan
            | Method::IsFinite
            | Method::IsInfinite
            | Method::IsSignNegative
            | Method::IsSignPositive => Ok(Operand::new(text, Type::Bool)),
            Method::ToBits => self.of(text, unsigned(dtype)),
            _ => self.of(text, dtype),
        }
    }

    fn integer_method(
        &mut self,
        method: Method,
        dtype: Dtype,
        operands: &[Operand],
    ) -> Result<Operand, Refused> {
        let scalar = Scalar::of(dtype);
        let width = bits(dtype);
        let beyond = 32u32.saturating_sub(width);
        let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
        let a = texts[0];
        // The bits, those above the type's own being 0.
        let raw = self.cast(&operands[0], Type::Number(unsigned(dtype)))?.text;
        let word = scalar.unsigned();
        let as_bits = |module: &mut Self, text: String, bits: Dtype| {
            let operand = Operand::new(text, Type::Number(bits));
            module.cast(&operand, Type::Number(dtype))
        };
        let count = |text: String| Ok(Operand::new(text, Type::Number(Dtype::U32)));
        self.type_name(Type::Number(Dtype::U32))?;
        match method {
            Method::CountOnes => count(self.help("count_ones", word, &[&raw])),
            Method::CountZeros => {
                count(format!("({width}u - {})", self.help("count_ones", word, &[&raw])))
            }
            Method::LeadingZeros => {
                let zeros = self.help("leading_zeros", word, &[&raw]);
                count(if beyond == 0 { zeros } else { format!("({zeros} - {beyond}u)") })
            }
            Method::TrailingZeros if beyond == 0 => {
                count(self.help("trailing_zeros", word, &[&raw]))
            }
            Method::TrailingZeros => {
                let ended = format!("({raw} | {}u)", 1u32 << width);
                count(self.help("trailing_zeros", word, &[&ended]))
            }
            Method::RotateLeft | Method::RotateRight => {
                let places = match method {
                    Method::RotateLeft => texts[1].to_owned(),
                    _ => format!("({width}u - ({} & {}u))", texts[1], width - 1),
                };
                let turned = self.help("rotate_left", word, &[&raw, &places, &format!("{width}u")]);
                as_bits(self, self.narrow(unsigned(dtype), turned), unsigned(dtype))
            }
            Method::SwapBytes if width == 8 => Ok(operands[0].clone()),
            Method::SwapBytes | Method::ReverseBits => {
                let turned = self.help(method.name(), word, &[&raw]);
                let turned = if beyond == 0 { turned } else { format!("({turned} >> {beyond}u)") };
                as_bits(self, turned, unsigned(dtype))
            }
            Method::AbsDiff => {
                let text = self.help("abs_diff", scalar, &texts);
                self.of(text, unsigned(dtype))
            }
            Method::UnsignedAbs => {
                let text = self.help("abs", scalar, &[a]);
                self.of(self.resized(scalar, &text, word), unsigned(dtype))
            }
            Method::Abs | Method::WrappingAbs if dtype.is_signed_integer() => {
                let text = self.help("abs", scalar, &[a]);
                self.of(self.narrow(dtype, text), dtype)
            }
            Method::WrappingNeg => self.unary(Unary::Negate, operands[0].clone()),
            Method::SaturatingAdd if is_short(dtype) => {
                let [least, most] =
                    [range(dtype).0, range(dtype).1].map(|end| self.integer(scalar, end));
                let sum = format!("({a} + {})", texts[1]);
                let text = self.help("clamp", scalar, &[&sum, &least, &most]);
                self.of(text, dtype)
            }
            Method::SaturatingSub if is_short(dtype) && dtype.is_signed_integer() => {
                let [least, most] =
                    [range(dtype).0, range(dtype).1].map(|end| self.integer(scalar, end));
                let rest = format!("({a} - {})", texts[1]);
                let text = self.help("clamp", scalar, &[&rest, &least, &most]);
                self.of(text, dtype)
            }
            Method::Pow | Method::WrappingPow => {
                let text = self.help("pow", scalar, &texts);
                self.of(self.narrow(dtype, text), dtype)
            }
            Method::IsNegative | Method::IsPositive if dtype.is_signed_integer() => {
                let zero = self.integer(scalar, 0);
                let sign = if method == Method::IsNegative { "<" } else { ">" };
                Ok(Operand::new(format!("({a} {sign} {zero})"), Type::Bool))
            }
            Method::DivEuclid => {
                let text = self.help("div_euclid", scalar, &texts);
                self.of(self.narrow(dtype, text), dtype)
            }
            Method::Min
            | Method::Max
            | Method::Clamp
            | Method::Signum
            | Method::RemEuclid
            | Method::SaturatingAdd
            | Method::SaturatingSub => {
                if helpers::find(method.name(), scalar.name()).is_none() {
                    return Err(Refused(format!("{dtype} has no method `{}`", method.name())));
                }
                let text = self.help(method.name(), scalar, &texts);
                self.of(text, dtype)
            }
            _ => Err(Refused(format!("{dtype} has no method `{}`", method.name()))),
        }
    }
}
