//! Functions that are known when a program runs: of numbers, made of operators and methods, without branches.
//!
//! A [`Definition`] is a graph. Its steps stand in an order in which each is made of earlier ones, and none is there twice. GPUs call the
//! [`Function`] that [`Definition::function`] makes of it; a CPU evaluates the steps over arrays (`upsweep_cpu::Program`).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Binary, Block, Expression, Function, Method, Pattern, Statement, Type, Unary};
use crate::{Dtype, Error, Kind, Parameter, Result};

/// The type of a value in a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `bool`; in memory a byte that is 0 or 1.
    Bool,
    /// A number, but no short float.
    Number(Dtype),
}

impl ValueType {
    /// Bytes of a value in memory.
    pub fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Number(dtype) => dtype.size(),
        }
    }

    /// The number that it is.
    pub fn number(self) -> Option<Dtype> {
        match self {
            Self::Bool => None,
            Self::Number(dtype) => Some(dtype),
        }
    }

    fn of_kernels(self) -> Type {
        match self {
            Self::Bool => Type::Bool,
            Self::Number(dtype) => Type::Number(dtype),
        }
    }
}

impl From<Dtype> for ValueType {
    fn from(dtype: Dtype) -> Self {
        Self::Number(dtype)
    }
}

impl core::fmt::Display for ValueType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Number(dtype) => dtype.fmt(f),
        }
    }
}

/// A value in a definition: the number of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term(u32);

impl Term {
    /// The number of the step.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// How a value is made. Operators, casts and methods mean what they mean in Rust, and where Rust panics what `docs/operators.md` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The argument of this number.
    Argument(usize),
    /// A value by its bits.
    Constant(u64),
    /// An operator in front of a value.
    Unary(Unary, Term),
    /// An operator between two values of one type.
    Binary(Binary, Term, Term),
    /// The value as the type of this step.
    Cast(Term),
    /// A method of one value.
    Method(Method, Term),
    /// A method of two values.
    MethodOfTwo(Method, Term, Term),
    /// The second value where the first is true, else the third. Both are made.
    Select(Term, Term, Term),
}

impl Step {
    /// The values that it is made of.
    pub fn operands(self) -> impl Iterator<Item = Term> {
        let operands = match self {
            Self::Argument(_) | Self::Constant(_) => [None; 3],
            Self::Unary(_, value) | Self::Cast(value) | Self::Method(_, value) => {
                [Some(value), None, None]
            }
            Self::Binary(_, left, right) | Self::MethodOfTwo(_, left, right) => {
                [Some(left), Some(right), None]
            }
            Self::Select(condition, yes, no) => [Some(condition), Some(yes), Some(no)],
        };
        operands.into_iter().flatten()
    }

    /// The same of other values.
    fn of(self, mut operand: impl FnMut(Term) -> Term) -> Self {
        match self {
            Self::Argument(_) | Self::Constant(_) => self,
            Self::Unary(operator, value) => Self::Unary(operator, operand(value)),
            Self::Cast(value) => Self::Cast(operand(value)),
            Self::Method(method, value) => Self::Method(method, operand(value)),
            Self::Binary(operator, left, right) => {
                Self::Binary(operator, operand(left), operand(right))
            }
            Self::MethodOfTwo(method, left, right) => {
                Self::MethodOfTwo(method, operand(left), operand(right))
            }
            Self::Select(condition, yes, no) => {
                Self::Select(operand(condition), operand(yes), operand(no))
            }
        }
    }
}

/// A function of numbers that is known when a program runs.
///
/// # Panics
/// Its methods may panic for a [`Term`] of another definition.
///
/// ```
/// use upsweep_core::Dtype;
/// use upsweep_core::kernel::{Binary, Definition, ValueType};
///
/// let mut square = Definition::default();
/// let x = square.argument(Dtype::F32)?;
/// let result = square.binary(Binary::Mul, x, x)?;
/// assert_eq!(square.type_of(result), ValueType::Number(Dtype::F32));
/// assert_eq!(square.function(result).function.parameters.len(), 1);
/// # Ok::<(), upsweep_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Definition {
    arguments: Vec<Dtype>,
    steps: Vec<(Step, ValueType)>,
}

/// A definition as a function for kernels.
#[derive(Clone, Debug)]
pub struct Defined {
    /// The function. That of an equal definition is the same one, and is kept for ever.
    pub function: &'static Function,
    /// The numbers of the arguments that it is given.
    pub arguments: Vec<usize>,
    /// What it is given behind them.
    pub constants: Vec<Parameter>,
}

fn undefined<T>(reason: String) -> Result<T> {
    Err(Error::Undefined { reason })
}

impl Definition {
    /// Types of the arguments.
    pub fn arguments(&self) -> &[Dtype] {
        &self.arguments
    }

    /// All steps with the types of their values.
    pub fn steps(&self) -> &[(Step, ValueType)] {
        &self.steps
    }

    /// The type of a value.
    pub fn type_of(&self, term: Term) -> ValueType {
        self.steps[term.number()].1
    }

    /// Another argument.
    ///
    /// # Errors
    /// [`Error::Undefined`] for short floats, which have no arithmetic here.
    pub fn argument(&mut self, dtype: Dtype) -> Result<Term> {
        if matches!(dtype, Dtype::F16 | Dtype::Bf16) {
            return undefined(format!("functions have no arithmetic of {dtype}"));
        }
        self.arguments.push(dtype);
        let step = Step::Argument(self.arguments.len() - 1);
        Ok(self.add(step, ValueType::Number(dtype)))
    }

    /// A constant by its bits. No step is made of one that is a short float.
    pub fn constant(&mut self, of: ValueType, bits: u64) -> Term {
        self.add(Step::Constant(bits), of)
    }

    /// `-value` of a signed number, `!value` of an integer or a `bool`.
    ///
    /// # Errors
    /// [`Error::Undefined`] for other types.
    pub fn unary(&mut self, operator: Unary, value: Term) -> Result<Term> {
        let of = self.operand(value)?;
        let is_defined = match (operator, of) {
            (Unary::Negate, ValueType::Number(dtype)) => {
                dtype.is_float() || dtype.is_signed_integer()
            }
            (Unary::Negate, ValueType::Bool) => false,
            (Unary::Not, ValueType::Number(dtype)) => !dtype.is_float(),
            (Unary::Not, ValueType::Bool) => true,
        };
        match is_defined {
            true => Ok(self.add(Step::Unary(operator, value), of)),
            false => undefined(format!("{of} has no operator {operator:?}")),
        }
    }

    /// An operator between two values of one type.
    ///
    /// # Errors
    /// [`Error::Undefined`] for two types, or one that has no such operator.
    pub fn binary(&mut self, operator: Binary, left: Term, right: Term) -> Result<Term> {
        let (of, other) = (self.operand(left)?, self.operand(right)?);
        if of != other {
            return undefined(format!(
                "{operator:?} is between values of one type, not {of} and {other}"
            ));
        }
        let is_bitwise = matches!(operator, Binary::BitAnd | Binary::BitOr | Binary::BitXor);
        let is_defined = match of {
            ValueType::Bool => is_bitwise || matches!(operator, Binary::Equal | Binary::Unequal),
            ValueType::Number(dtype) => !(dtype.is_float() && (is_bitwise || operator.shifts())),
        };
        if !is_defined {
            return undefined(format!("{of} has no operator {operator:?}"));
        }
        let result = if operator.compares() { ValueType::Bool } else { of };
        Ok(self.add(Step::Binary(operator, left, right), result))
    }

    /// `value as dtype`.
    ///
    /// # Errors
    /// [`Error::Undefined`] from `bool` to a float, which Rust has not, and to short floats.
    pub fn cast(&mut self, value: Term, dtype: Dtype) -> Result<Term> {
        let (from, to) = (self.operand(value)?, ValueType::Number(dtype));
        if from == to {
            return Ok(value);
        }
        if matches!(dtype, Dtype::F16 | Dtype::Bf16)
            || (from == ValueType::Bool && dtype.is_float())
        {
            return undefined(format!("functions have no cast from {from} to {dtype}"));
        }
        Ok(self.add(Step::Cast(value), to))
    }

    /// A method of one value: `abs` of signed numbers; of floats `sqrt exp exp2 ln log2 sin cos tan floor ceil trunc`, `is_nan is_finite
    /// is_infinite is_sign_negative`.
    ///
    /// # Errors
    /// [`Error::Undefined`] for all others.
    pub fn method(&mut self, method: Method, value: Term) -> Result<Term> {
        use Method::{
            Abs, Ceil, Cos, Exp, Exp2, Floor, IsFinite, IsInfinite, IsNan, IsSignNegative, Ln,
            Log2, Sin, Sqrt, Tan, Trunc,
        };
        let of = self.operand(value)?;
        let is_float = of.number().is_some_and(Dtype::is_float);
        let is_signed = of.number().is_some_and(|dtype| dtype.is_signed_integer());
        let result = match method {
            Abs if is_float || is_signed => of,
            Sqrt | Exp | Exp2 | Ln | Log2 | Sin | Cos | Tan | Floor | Ceil | Trunc if is_float => {
                of
            }
            IsNan | IsFinite | IsInfinite | IsSignNegative if is_float => ValueType::Bool,
            _ => return undefined(format!("{of} has no method {}", method.name())),
        };
        Ok(self.add(Step::Method(method, value), result))
    }

    /// A method of two values of one type: `powf` and `copysign` of floats.
    ///
    /// # Errors
    /// [`Error::Undefined`] for all others.
    pub fn method_of_two(&mut self, method: Method, left: Term, right: Term) -> Result<Term> {
        let of = self.operand(left)?;
        let is_float = of.number().is_some_and(Dtype::is_float);
        match method {
            Method::Powf | Method::Copysign if is_float && of == self.type_of(right) => {
                Ok(self.add(Step::MethodOfTwo(method, left, right), of))
            }
            _ => undefined(format!("{of} has no method {}", method.name())),
        }
    }

    /// `yes` where a `bool` is true, else `no`, which have one type.
    ///
    /// # Errors
    /// [`Error::Undefined`] for other types.
    pub fn select(&mut self, condition: Term, yes: Term, no: Term) -> Result<Term> {
        let (of, other) = (self.operand(yes)?, self.operand(no)?);
        if self.type_of(condition) != ValueType::Bool || of != other {
            let condition = self.type_of(condition);
            return undefined(format!("{condition} does not choose between {of} and {other}"));
        }
        Ok(self.add(Step::Select(condition, yes, no), of))
    }

    /// The type of an operand, which is no short float.
    fn operand(&self, value: Term) -> Result<ValueType> {
        match self.type_of(value) {
            of @ ValueType::Number(Dtype::F16 | Dtype::Bf16) => {
                undefined(format!("functions have no arithmetic of {of}"))
            }
            of => Ok(of),
        }
    }

    /// Adds a step unless it is there.
    fn add(&mut self, step: Step, of: ValueType) -> Term {
        let known = self.steps.iter().position(|known| *known == (step, of));
        let number = known.unwrap_or_else(|| {
            self.steps.push((step, of));
            self.steps.len() - 1
        });
        Term(number as u32)
    }

    /// Which steps these values need, themselves included.
    pub fn needed(&self, results: &[Term]) -> Vec<bool> {
        let mut needed = vec![false; self.steps.len()];
        results.iter().for_each(|result| needed[result.number()] = true);
        for number in (0..self.steps.len()).rev() {
            if needed[number] {
                self.steps[number].0.operands().for_each(|of| needed[of.number()] = true);
            }
        }
        needed
    }

    /// What these values need of the definition, and the same values there. All arguments stay.
    #[must_use]
    pub fn pruned(&self, results: &[Term]) -> (Self, Vec<Term>) {
        let needed = self.needed(results);
        let mut own = Self { arguments: self.arguments.clone(), steps: Vec::new() };
        let mut places = vec![Term(0); self.steps.len()];
        for (number, (step, of)) in self.steps.iter().enumerate() {
            if needed[number] {
                places[number] = own.add(step.of(|operand| places[operand.number()]), *of);
            }
        }
        (own, results.iter().map(|result| places[result.number()]).collect())
    }

    /// The function for kernels that gives one of the values, of those arguments that it needs. It is given numbers that are constants at
    /// each launch, so that others need no other kernel.
    pub fn function(&self, result: Term) -> Defined {
        let (mut own, results) = self.pruned(&[result]);
        let all = core::mem::take(&mut own.arguments);
        let (mut arguments, mut constants) = (Vec::new(), Vec::new());
        for (step, _) in &mut own.steps {
            if let Step::Argument(argument) = step {
                arguments.push(*argument);
                own.arguments.push(all[*argument]);
                *argument = arguments.len() - 1;
            }
        }
        for (step, of) in &mut own.steps {
            if let (Step::Constant(bits), ValueType::Number(dtype)) = (*step, *of) {
                let words = [bits as u32, (bits >> 32) as u32][..dtype.size().div_ceil(4)].to_vec();
                constants.push(Parameter { kind: Kind::Number(dtype), words });
                own.arguments.push(dtype);
                *step = Step::Argument(own.arguments.len() - 1);
            }
        }
        Defined { function: own.kept(results[0]), arguments, constants }
    }

    /// The same with constants in its text, as an operator's function is called.
    pub fn closed_function(&self, result: Term) -> &'static Function {
        let (own, results) = self.pruned(&[result]);
        own.kept(results[0])
    }

    /// The function, which is made once.
    fn kept(self, result: Term) -> &'static Function {
        type Known = HashMap<(Definition, Term), &'static Function>;
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(function) = known.get(&(self.clone(), result)) {
            return function;
        }
        let function: &'static Function = Box::leak(Box::new(self.lowered(result)));
        known.insert((self, result), function);
        function
    }

    fn lowered(&self, result: Term) -> Function {
        let arguments = self.arguments.len();
        let local = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let name =
            |number: usize, name| Pattern::Name { local: local(number), name, mutable: false };
        let value = |term: Term| Expression::Local(local(arguments + term.number()));
        let kept = |term: Term| -> &'static Expression { Box::leak(Box::new(value(term))) };
        let block = |term: Term| Block { statements: &[], value: Some(kept(term)) };
        let mut statements = Vec::new();
        for (number, (step, of)) in self.steps.iter().enumerate() {
            let made = match *step {
                Step::Argument(argument) => Expression::Local(local(argument)),
                Step::Constant(bits) => constant(*of, bits),
                Step::Unary(operator, value) => Expression::Unary(operator, kept(value)),
                Step::Binary(operator, left, right) => {
                    Expression::Binary(operator, kept(left), kept(right))
                }
                Step::Cast(value) => Expression::Cast(kept(value), of.of_kernels()),
                Step::Method(method, of) => Expression::Method(method, vec![value(of)].leak()),
                Step::MethodOfTwo(method, left, right) => {
                    Expression::Method(method, vec![value(left), value(right)].leak())
                }
                Step::Select(condition, yes, no) => {
                    Expression::If(kept(condition), block(yes), Some(block(no)))
                }
            };
            let pattern = name(arguments + number, "value");
            statements.push(Statement::Let(pattern, Some(of.of_kernels()), made));
        }
        let parameters = self.arguments.iter().enumerate();
        let parameters: Vec<_> = parameters
            .map(|(number, dtype)| (name(number, "argument"), Type::Number(*dtype)))
            .collect();
        Function {
            name: "defined",
            parameters: parameters.leak(),
            result: self.type_of(result).of_kernels(),
            body: Block { statements: statements.leak(), value: Some(kept(result)) },
        }
    }
}

fn constant(of: ValueType, bits: u64) -> Expression {
    match of {
        ValueType::Bool => Expression::Bool(bits != 0),
        ValueType::Number(dtype) if dtype.is_float() => {
            let bits: &'static Expression = Box::leak(Box::new(Expression::Integer(bits)));
            Expression::FromBits(bits, Type::Number(dtype))
        }
        ValueType::Number(_) => Expression::Integer(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::kernel::Module;

    const F32: ValueType = ValueType::Number(Dtype::F32);

    #[test]
    fn equal_steps_are_one_and_equal_functions_too() -> Result<()> {
        let make = |factor: f32| {
            let mut made = Definition::default();
            let x = made.argument(Dtype::F32)?;
            let factor = made.constant(F32, u64::from(factor.to_bits()));
            let product = made.binary(Binary::Mul, x, factor)?;
            assert_eq!(made.binary(Binary::Mul, x, factor)?, product);
            let unused = made.binary(Binary::Add, x, x)?;
            assert_ne!(unused, product);
            Ok::<_, Error>((made.function(product), made.closed_function(product)))
        };
        let (one, two) = (make(1.5)?, make(2.5)?);
        assert!(core::ptr::eq(one.0.function, two.0.function));
        assert_eq!((one.0.arguments, one.0.constants[0].words[0]), (vec![0], 1.5f32.to_bits()));
        assert!(!core::ptr::eq(one.1, two.1));
        assert!(core::ptr::eq(one.1, make(1.5)?.1));
        Ok(())
    }

    #[test]
    fn what_rust_has_not_is_refused() {
        let mut made = Definition::default();
        assert!(made.argument(Dtype::F16).is_err());
        let [x, i, u] =
            [Dtype::F32, Dtype::I32, Dtype::U32].map(|dtype| made.argument(dtype).unwrap());
        assert!(made.binary(Binary::Add, x, i).is_err());
        assert!(made.binary(Binary::BitAnd, x, x).is_err());
        assert!(made.unary(Unary::Negate, u).is_err());
        assert!(made.unary(Unary::Not, x).is_err());
        assert!(made.method(Method::Sqrt, i).is_err());
        assert!(made.method_of_two(Method::Powf, x, i).is_err());
        assert!(made.select(i, x, x).is_err());
        let less = made.binary(Binary::Less, x, x).unwrap();
        assert!(made.cast(less, Dtype::F32).is_err());
        let half = made.constant(Dtype::F16.into(), 0);
        assert!(made.cast(half, Dtype::F32).is_err());
        assert!(made.select(less, half, half).is_err());
        assert!(made.binary(Binary::Add, less, less).is_err());
    }

    #[test]
    fn every_language_says_it() -> Result<()> {
        let mut made = Definition::default();
        let [x, b] = [made.argument(Dtype::F32)?, made.argument(Dtype::I8)?];
        let minus = made.constant(ValueType::Number(Dtype::I8), u64::MAX);
        let infinite = made.constant(F32, u64::from(f32::INFINITY.to_bits()));
        let is_minus = made.binary(Binary::Equal, b, minus)?;
        let either = made.select(is_minus, x, infinite)?;
        let root = made.method(Method::Sqrt, either)?;
        let rounded = made.cast(root, Dtype::I8)?;
        for language in [Language::Wgsl, Language::Cuda] {
            for function in [made.function(rounded).function, made.closed_function(rounded)] {
                let mut module = Module::new(language);
                let name = module.function(function).expect("a text");
                assert!(module.text().contains(&name), "{}", module.text());
            }
        }
        Ok(())
    }
}
