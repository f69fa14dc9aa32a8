//! What may stand in an array, and how an item becomes the type it is combined in.

use core::fmt::{Debug, Display};
use std::borrow::Cow;

use bytemuck::{AnyBitPattern, NoUninit};
use half::{bf16, f16};

/// The type of a number, as files, command lines and kernels name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// 8-bit unsigned integer.
    U8,
    /// 8-bit signed integer.
    I8,
    /// 16-bit unsigned integer.
    U16,
    /// 16-bit signed integer.
    I16,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit signed integer.
    I32,
    /// 64-bit unsigned integer.
    U64,
    /// 64-bit signed integer.
    I64,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
}

impl Dtype {
    /// Every type, narrow before wide, unsigned before signed before float.
    pub const ALL: [Dtype; 12] = [
        Dtype::U8,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::U32,
        Dtype::I32,
        Dtype::U64,
        Dtype::I64,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// The name used in Rust and on the command line: `u8` … `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::U8 => "u8",
            Dtype::I8 => "i8",
            Dtype::U16 => "u16",
            Dtype::I16 => "i16",
            Dtype::U32 => "u32",
            Dtype::I32 => "i32",
            Dtype::U64 => "u64",
            Dtype::I64 => "i64",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// Bytes of one item.
    pub const fn size(self) -> usize {
        match self {
            Dtype::U8 | Dtype::I8 => 1,
            Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::I64 | Dtype::F64 => 8,
        }
    }

    /// Whether this is one of the four float types.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
    }

    /// Whether this is one of the four signed integer types.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
    }
}

impl Display for Dtype {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl core::str::FromStr for Dtype {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Dtype::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name)
            .ok_or_else(|| crate::Error::UnknownDtype { name: name.into() })
    }
}

/// What a backend must know of an element besides its Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A number of a known type: kernels exist for it on every device that has the type.
    Number(Dtype),
    /// A structure; `fields` lists the numbers it consists of, in order of their offsets.
    Struct {
        /// Name of the structure, unique in the program.
        name: &'static str,
        /// Name, byte offset and type of each field.
        fields: &'static [(&'static str, usize, Dtype)],
    },
    /// A type that only the CPU can handle.
    Opaque,
}

impl Kind {
    /// The type of the number, if it is one.
    pub const fn number(self) -> Option<Dtype> {
        match self {
            Kind::Number(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Bytes of one item: those of a structure end with its last field. 0 if nothing is known of it.
    pub fn size(self) -> usize {
        match self {
            Kind::Number(dtype) => dtype.size(),
            Kind::Struct { fields, .. } => {
                fields.last().map_or(0, |(_, offset, dtype)| offset + dtype.size())
            }
            Kind::Opaque => 0,
        }
    }

    /// Offset and type of each number that an item consists of.
    pub fn numbers(self) -> impl Iterator<Item = (usize, Dtype)> + Clone {
        let (own, fields) = match self {
            Kind::Number(dtype) => (Some((0, dtype)), &[][..]),
            Kind::Struct { fields, .. } => (None, fields),
            Kind::Opaque => (None, &[][..]),
        };
        own.into_iter().chain(fields.iter().map(|(_, offset, dtype)| (*offset, *dtype)))
    }
}

impl From<Dtype> for Kind {
    fn from(dtype: Dtype) -> Self {
        Kind::Number(dtype)
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Kind::Number(dtype) => dtype.name(),
            Kind::Struct { name, .. } => name,
            Kind::Opaque => "a type of the CPU's",
        })
    }
}

/// What may stand in an array.
///
/// Implemented for the twelve number types of [`Dtype`] and for [`Indexed`](crate::Indexed).
/// `#[derive(Element)]` implements it for a structure of numbers, on every device. A type that the
/// derive does not know can be an element by hand, of which the CPU alone has arrays. Either is
/// combined as itself (`type Acc = Self`).
///
/// ```
/// use upsweep_core::{Element, Kind};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Affine { scale: f32, shift: f32 }
///
/// impl Element for Affine {
///     type Acc = Self;
///     const KIND: Kind = Kind::Opaque;
///     const EXACT: bool = false; // products and sums of floats round
///     fn to_acc(self) -> Self { self }
///     fn from_acc(acc: Self) -> Self { acc }
/// }
/// ```
pub trait Element: Copy + Send + Sync + Debug + PartialEq + 'static {
    /// The type in which items of this type are combined when the caller names no other: `f32`
    /// for the two short floats, the type itself for all others.
    type Acc: Element<Acc = Self::Acc>;

    /// What backends must know of the type.
    const KIND: Kind;

    /// Whether arithmetic on this type never rounds, so that the order in which an associative
    /// operator is applied cannot be seen in the result. True for integers.
    const EXACT: bool;

    /// The item as it is combined.
    fn to_acc(self) -> Self::Acc;

    /// A result as it is stored; rounds to nearest, ties to even, where it must round.
    fn from_acc(acc: Self::Acc) -> Self;

    /// Items as devices hold them, [`Kind::size`] bytes each: numbers where they are, structures
    /// in a copy. `None` for a type that only the CPU can handle.
    fn bytes(items: &[Self]) -> Option<Cow<'_, [u8]>> {
        let _ = items;
        None
    }

    /// The item that a device holds as these bytes. `None` for a type that only the CPU can
    /// handle, and unless there are as many.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let _ = bytes;
        None
    }

    /// Replaces items by those whose bytes `fill` writes. Where there is an error, they hold
    /// anything.
    ///
    /// # Errors
    /// Those of `fill`.
    fn fill<E>(items: &mut [Self], fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        let size = Self::KIND.size();
        let mut bytes = vec![0; items.len() * size];
        fill(&mut bytes)?;
        for (item, bytes) in items.iter_mut().zip(bytes.chunks_exact(size.max(1))) {
            *item = Self::from_bytes(bytes).unwrap_or(*item);
        }
        Ok(())
    }
}

/// How an item becomes the type it is combined in.
///
/// Every element widens to itself. Numbers widen to every type that holds all their values, and
/// 64-bit integers to `f64`, rounded to nearest.
pub trait Widen<A>: Element {
    /// The same value in the wider type.
    fn widen(self) -> A;
}

impl<T: Element> Widen<T> for T {
    #[inline(always)]
    fn widen(self) -> T {
        self
    }
}

/// One of the twelve number types.
pub trait Number:
    Element + Widen<<Self as Element>::Acc> + NoUninit + AnyBitPattern + PartialOrd + Display + Default
{
    /// The type's name and size as values.
    const DTYPE: Dtype;

    /// The nearest `f64`.
    fn to_f64(self) -> f64;

    /// Whether this is a float that is not a number.
    fn is_nan(self) -> bool;
}

macro_rules! number {
    ($($type:ident $dtype:ident $exact:literal $acc:ident $to_acc:expr, $from_acc:expr,
       $to_f64:expr, $is_nan:expr;)*) => { $(
        impl Element for $type {
            type Acc = $acc;
            const KIND: Kind = Kind::Number(Dtype::$dtype);
            const EXACT: bool = $exact;
            #[inline(always)]
            fn to_acc(self) -> $acc {
                $to_acc(self)
            }
            #[inline(always)]
            fn from_acc(acc: $acc) -> Self {
                $from_acc(acc)
            }
            fn bytes(items: &[Self]) -> Option<Cow<'_, [u8]>> {
                Some(Cow::Borrowed(bytemuck::cast_slice(items)))
            }
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytemuck::try_pod_read_unaligned(bytes).ok()
            }
            fn fill<E>(
                items: &mut [Self],
                fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
            ) -> Result<(), E> {
                fill(bytemuck::cast_slice_mut(items))
            }
        }
        impl Number for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $is_nan(self)
            }
        }
    )* };
}

#[inline(always)]
fn same<T>(value: T) -> T {
    value
}

#[inline(always)]
fn never<T>(_: T) -> bool {
    false
}

number! {
    u8 U8 true u8 same, same, f64::from, never;
    i8 I8 true i8 same, same, f64::from, never;
    u16 U16 true u16 same, same, f64::from, never;
    i16 I16 true i16 same, same, f64::from, never;
    u32 U32 true u32 same, same, f64::from, never;
    i32 I32 true i32 same, same, f64::from, never;
    u64 U64 true u64 same, same, |value| value as f64, never;
    i64 I64 true i64 same, same, |value| value as f64, never;
    f16 F16 false f32 crate::f16_to_f32, crate::f32_to_f16, f16::to_f64, f16::is_nan;
    bf16 Bf16 false f32 crate::bf16_to_f32, crate::f32_to_bf16, bf16::to_f64, bf16::is_nan;
    f32 F32 false f32 same, same, f64::from, f32::is_nan;
    f64 F64 false f64 same, same, same, f64::is_nan;
}

macro_rules! widen {
    ($($from:ident => $($to:ident)*;)*) => { $($(
        impl Widen<$to> for $from {
            #[inline(always)]
            fn widen(self) -> $to {
                self as $to
            }
        }
    )*)* };
}

widen! {
    u8 => u16 u32 u64 i16 i32 i64 f32 f64;
    i8 => i16 i32 i64 f32 f64;
    u16 => u32 u64 i32 i64 f32 f64;
    i16 => i32 i64 f32 f64;
    u32 => u64 i64 f64;
    i32 => i64 f64;
    u64 => f64;
    i64 => f64;
    f32 => f64;
}

macro_rules! widen_short {
    ($($from:ident $to_f32:path;)*) => { $(
        impl Widen<f32> for $from {
            #[inline(always)]
            fn widen(self) -> f32 {
                $to_f32(self)
            }
        }
        impl Widen<f64> for $from {
            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from($to_f32(self))
            }
        }
    )* };
}

widen_short! {
    f16 crate::f16_to_f32;
    bf16 crate::bf16_to_f32;
}
