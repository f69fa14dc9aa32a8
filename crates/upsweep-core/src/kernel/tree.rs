//! A function as it was written: syntax, and the types that the source names.
//!
//! The annotations of `upsweep-macros` write such a tree, as constant data, beside the function itself. A macro sees no types
//! but those that are written down; what a tree means is found by [`Module`](super::Module).

use super::{Type, Value};

/// A function that kernels can call.
#[derive(Debug)]
pub struct Function {
    /// Its name, which another function may have too.
    pub name: &'static str,
    /// What it is given.
    pub parameters: &'static [(Pattern, Type)],
    /// What it returns.
    pub result: Type,
    /// What it does.
    pub body: Block,
}

/// Statements, and perhaps a value at the end.
#[derive(Debug)]
pub struct Block {
    /// What is done first.
    pub statements: &'static [Statement],
    /// The value of the block.
    pub value: Option<&'static Expression>,
}

/// What is done without a value.
#[derive(Debug)]
pub enum Statement {
    /// `let pattern: type = expression;`
    Let(Pattern, Option<Type>, Expression),
    /// `place = expression;` or, with an operator, `place += expression;`
    Assign(Expression, Option<Binary>, Expression),
    /// `expression;`
    Evaluate(Expression),
    /// `for local in first..end { }`, with `..=` if `inclusive`.
    For {
        /// What the number is bound to.
        variable: Pattern,
        /// Where the range begins.
        first: Expression,
        /// Where the range ends.
        end: Expression,
        /// Whether the end belongs to it.
        inclusive: bool,
        /// What is repeated.
        body: Block,
    },
    /// `while condition { }`
    While(Expression, Block),
}

/// What a value is taken apart into, or compared with.
#[derive(Debug)]
pub enum Pattern {
    /// `_`
    Any,
    /// A name for the value. Each has a number of its own in the function: that is how shadowing is told.
    Name {
        /// The number.
        local: u32,
        /// How it was written.
        name: &'static str,
        /// Whether it is assigned to.
        mutable: bool,
    },
    /// `(first, second)`
    Tuple(&'static [Pattern]),
    /// `Struct { field: pattern, .. }`
    Struct(&'static [(&'static str, Pattern)]),
    /// `3` or `u32::MAX`
    Value(Expression),
    /// `3..=5`; without its last value `3..`
    Range(Expression, Option<Expression>),
    /// `3 | 5`
    Or(&'static [Pattern]),
}

/// One line of a `match`.
#[derive(Debug)]
pub struct Arm {
    /// What is matched.
    pub pattern: Pattern,
    /// What must hold besides.
    pub guard: Option<Expression>,
    /// What the value is then.
    pub value: Block,
}

/// Something that has a value, or ends what comes after it.
#[derive(Debug)]
pub enum Expression {
    /// `true` or `false`.
    Bool(bool),
    /// An integer whose type follows from where it stands.
    Integer(u64),
    /// A float whose type follows from where it stands.
    Float(&'static str),
    /// A literal with its type, or a constant: what it is, Rust says when the kernel is made.
    Constant(fn() -> Value),
    /// A parameter or a variable, by its number.
    Local(u32),
    /// `-value` or `!value`
    Unary(Unary, &'static Expression),
    /// `left + right`
    Binary(Binary, &'static Expression, &'static Expression),
    /// `left && right`, or `left || right` if `until`: the right one is only looked at if the left one is not `until`.
    Lazy {
        /// The value of the left one that settles it.
        until: bool,
        /// What is looked at.
        left: &'static Expression,
        /// What is looked at then.
        right: &'static Expression,
    },
    /// `value as type`
    Cast(&'static Expression, Type),
    /// `f32::from_bits(bits)`
    FromBits(&'static Expression, Type),
    /// A call of another function.
    Call(&'static Function, &'static [Expression]),
    /// A method of a number, which comes first.
    Method(Method, &'static [Expression]),
    /// `(first, second)`
    Tuple(&'static [Expression]),
    /// `Struct { field: value }`, all fields, in the order in which they are written.
    Struct(Type, &'static [(&'static str, Expression)]),
    /// `value.field` or `value.0`
    Field(&'static Expression, &'static str),
    /// `if condition { } else { }`
    If(&'static Expression, Block, Option<Block>),
    /// `match value { }`
    Match(&'static Expression, &'static [Arm]),
    /// `{ }`
    Block(Block),
    /// `return value`
    Return(&'static Expression),
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// An operator in front of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they are Rust's operators, by their names in `core::ops`")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Binary {
    /// Whether it compares, so that its value is a `bool`.
    pub fn compares(self) -> bool {
        self as u32 >= Binary::Equal as u32
    }

    /// Whether it shifts, so that the right value may have another type than the left one.
    pub fn shifts(self) -> bool {
        matches!(self, Binary::Shl | Binary::Shr)
    }
}

macro_rules! methods {
    ($($method:ident $name:literal $arguments:literal,)*) => {
        /// A method of numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "they are Rust's methods, by their names")]
        pub enum Method { $($method,)* }

        impl Method {
            /// All of them.
            pub const ALL: &'static [Method] = &[$(Method::$method,)*];

            /// The name in Rust.
            pub fn name(self) -> &'static str {
                match self { $(Method::$method => $name,)* }
            }

            /// How many values it takes besides its own.
            pub fn arguments(self) -> usize {
                match self { $(Method::$method => $arguments,)* }
            }
        }
    };
}

methods! {
    Min "min" 1, Max "max" 1, Clamp "clamp" 2, Abs "abs" 0, Signum "signum" 0,
    Sqrt "sqrt" 0, Exp "exp" 0, Exp2 "exp2" 0, Ln "ln" 0, Log2 "log2" 0, Sin "sin" 0, Cos "cos" 0, Tan "tan" 0,
    Floor "floor" 0, Ceil "ceil" 0, Round "round" 0, Trunc "trunc" 0, Fract "fract" 0,
    Powi "powi" 1, Powf "powf" 1, MulAdd "mul_add" 2, Recip "recip" 0, Copysign "copysign" 1,
    IsNan "is_nan" 0, IsFinite "is_finite" 0, IsInfinite "is_infinite" 0,
    IsSignNegative "is_sign_negative" 0, IsSignPositive "is_sign_positive" 0, ToBits "to_bits" 0,
    RemEuclid "rem_euclid" 1, DivEuclid "div_euclid" 1, Pow "pow" 1,
    CountOnes "count_ones" 0, CountZeros "count_zeros" 0,
    LeadingZeros "leading_zeros" 0, TrailingZeros "trailing_zeros" 0,
    RotateLeft "rotate_left" 1, RotateRight "rotate_right" 1,
    SwapBytes "swap_bytes" 0, ReverseBits "reverse_bits" 0,
    WrappingAdd "wrapping_add" 1, WrappingSub "wrapping_sub" 1, WrappingMul "wrapping_mul" 1,
    WrappingNeg "wrapping_neg" 0, WrappingShl "wrapping_shl" 1, WrappingShr "wrapping_shr" 1,
    WrappingPow "wrapping_pow" 1, WrappingAbs "wrapping_abs" 0,
    AbsDiff "abs_diff" 1, UnsignedAbs "unsigned_abs" 0,
    SaturatingAdd "saturating_add" 1, SaturatingSub "saturating_sub" 1,
    IsNegative "is_negative" 0, IsPositive "is_positive" 0,
}
