//! From names to kernels: which types and operators have code of their own, and where the code
//! of another type gives the same bits.
//!
//! Every kernel is compiled for each instruction set, so there are as few as will do: sums,
//! products and bit operators of signed integers run as unsigned ones, and accumulators that are
//! rarely asked for are reached by converting items first.

use std::fmt::{self, Display};
use std::str::FromStr;

use half::{bf16, f16};
use upsweep::{
    BitAnd, BitOr, BitXor, Dtype, Error, Max, Min, Number, Operator, Product, Sum, Widen,
};

/// What items are combined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    ArgMin,
    ArgMax,
    Mean,
}

impl Op {
    /// Every operator, in the order in which help lists them.
    pub const ALL: [(Op, &'static str); 10] = [
        (Op::Sum, "sum"),
        (Op::Product, "product"),
        (Op::Min, "min"),
        (Op::Max, "max"),
        (Op::And, "and"),
        (Op::Or, "or"),
        (Op::Xor, "xor"),
        (Op::ArgMin, "argmin"),
        (Op::ArgMax, "argmax"),
        (Op::Mean, "mean"),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// Whether there is a scan with this operator.
    pub fn scans(self) -> bool {
        !matches!(self, Op::ArgMin | Op::ArgMax | Op::Mean)
    }

    /// Whether this is a sum or a product, for which a wider accumulator makes a difference.
    pub fn accumulates(self) -> bool {
        matches!(self, Op::Sum | Op::Product | Op::Mean)
    }

    fn is_bitwise(self) -> bool {
        matches!(self, Op::And | Op::Or | Op::Xor)
    }

    /// Refuses bit operators on floats.
    pub fn check(self, dtype: Dtype) -> Result<(), Error> {
        if self.is_bitwise() && dtype.is_float() {
            return Err(Error::OperatorElement { operator: self.name(), dtype });
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(op, _)| op).ok_or_else(|| Error::UnknownName {
            what: "operator",
            name: name.to_owned(),
            known: Self::ALL.map(|(_, name)| name).join(" "),
        })
    }
}

/// Something to do with a reduction's types, once they are known.
pub trait ReduceKernel {
    type Output;

    fn run<T, A, O>(self, operator: O) -> Self::Output
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>;
}

/// Something to do with a scan's types, once they are known.
pub trait ScanKernel {
    type Output;

    fn run<T, U, O>(self, operator: O) -> Self::Output
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>;
}

/// Something to do with a number's type, once it is known.
pub trait PositionKernel {
    type Output;

    fn run<T>(self) -> Self::Output
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>;
}

macro_rules! kernels {
    ($kernel:ident, $key:expr; $($operator:ident $name:ident: $($t:ident $u:ident,)*;)*) => {{
        let key = $key;
        $($(
            if key == (Op::$name, <$t as Number>::DTYPE, <$u as Number>::DTYPE) {
                return Some($kernel.run::<$t, $u, _>($operator));
            }
        )*)*
        None
    }};
}

/// Runs `kernel` for a reduction of items of type `from` in type `to`; `None` if that pair has no
/// code of its own.
pub fn reduce<K: ReduceKernel>(op: Op, from: Dtype, to: Dtype, kernel: K) -> Option<K::Output> {
    kernels! { kernel, (op, from, to);
        Sum Sum: u8 u8, u16 u16, u32 u32, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64,
            u8 u64, u16 u64, u32 u64, i8 i64, i16 i64, i32 i64,
            u8 f64, i8 f64, u16 f64, i16 f64, u32 f64, i32 f64, u64 f64, i64 f64, f32 f64,;
        Product Product: u8 u8, u16 u16, u32 u32, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64,;
        Min Min: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
            f16 f32, bf16 f32, f32 f32, f64 f64,;
        Max Max: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
            f16 f32, bf16 f32, f32 f32, f64 f64,;
        BitAnd And: u8 u8, u16 u16, u32 u32, u64 u64,;
        BitOr Or: u8 u8, u16 u16, u32 u32, u64 u64,;
        BitXor Xor: u8 u8, u16 u16, u32 u32, u64 u64,;
    }
}

/// Runs `kernel` for a scan of items of type `from` into items of type `to`; `None` if that pair
/// has no code of its own.
pub fn scan<K: ScanKernel>(op: Op, from: Dtype, to: Dtype, kernel: K) -> Option<K::Output> {
    kernels! { kernel, (op, from, to);
        Sum Sum: u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64,
            u8 u32, u8 u64, u16 u32, u16 u64, u32 u64, i8 i64, i16 i64, i32 i64,
            f16 f32, bf16 f32, f32 f64,;
        Product Product: u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64,;
        Min Min: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
            f16 f16, bf16 bf16, f32 f32, f64 f64,;
        Max Max: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
            f16 f16, bf16 bf16, f32 f32, f64 f64,;
        BitAnd And: u8 u8, u16 u16, u32 u32, u64 u64,;
        BitOr Or: u8 u8, u16 u16, u32 u32, u64 u64,;
        BitXor Xor: u8 u8, u16 u16, u32 u32, u64 u64,;
    }
}

/// Runs `kernel` for numbers of type `dtype`.
pub fn position<K: PositionKernel>(dtype: Dtype, kernel: K) -> K::Output {
    crate::with_type!(dtype, T => kernel.run::<T>())
}

/// The types whose code gives the same bits as combining `from` in `to`: where the sign of an
/// integer cannot be seen, the unsigned ones.
pub fn same_bits(op: Op, from: Dtype, to: Dtype) -> (Dtype, Dtype) {
    let unsigned = |dtype| match dtype {
        Dtype::I8 => Dtype::U8,
        Dtype::I16 => Dtype::U16,
        Dtype::I32 => Dtype::U32,
        Dtype::I64 => Dtype::U64,
        other => other,
    };
    let sign_shows = matches!(op, Op::Min | Op::Max);
    if sign_shows || (from != to && from.is_signed_integer()) {
        (from, to)
    } else {
        (unsigned(from), unsigned(to))
    }
}

/// The type in which items of type `dtype` are combined when no other is asked for.
pub fn combined_in(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}

/// Asks whether a kernel exists.
pub struct Exists;

impl ReduceKernel for Exists {
    type Output = ();

    fn run<T, A, O>(self, _: O)
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
    }
}

impl ScanKernel for Exists {
    type Output = ();

    fn run<T, U, O>(self, _: O)
    where
        T: Number + Widen<U::Acc>,
        U: Number,
        U::Acc: Number,
        O: Operator<U::Acc>,
    {
    }
}
