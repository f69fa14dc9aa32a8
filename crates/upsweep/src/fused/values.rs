//! Items that lie nowhere: numbers that are counted, and one value again and again.

use core::ops::Range;

use upsweep_core::{Dtype, Formula, Make, Parameter};

use super::{Fused, Parts, Place};
use crate::{Element, Number, Result};

/// An integer that can be counted on from: `u32`, `u64`, `i32` and `i64`.
pub trait Count: Number + sealed::Sealed {
    /// Numbers from this one on, up to another one.
    #[doc(hidden)]
    fn up_to(self, end: Self) -> usize;

    /// The number so many behind this one.
    #[doc(hidden)]
    fn plus(self, number: usize) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! count {
    ($($type:ident)*) => { $(
        impl sealed::Sealed for $type {}

        impl Count for $type {
            #[inline(always)]
            fn up_to(self, end: Self) -> usize {
                let count = i128::from(end) - i128::from(self);
                usize::try_from(count.max(0)).unwrap_or(usize::MAX)
            }

            #[inline(always)]
            fn plus(self, number: usize) -> Self {
                self.wrapping_add(number as $type)
            }
        }
    )* };
}

count! { u32 u64 i32 i64 }

/// The integers of a range, from its start to before its end, which lie in no array; none if it ends before it starts.
///
/// # Cost
/// Nothing is read. Start and length are handed to kernels, so that every range of a type has one kernel.
///
/// # Errors
/// On a GPU without 64-bit integers those of 64 bits are [`Error::ElementUnsupported`](crate::Error::ElementUnsupported) when they
/// are used.
///
/// ```
/// use upsweep::{Device, Fused, Sum, counting};
///
/// #[upsweep::function]
/// fn squared(value: u32) -> u32 {
///     value.wrapping_mul(value)
/// }
///
/// let device = Device::cpu();
/// assert_eq!(counting(1u32..4).map(squared {}).reduce(&device, Sum)?, 14);
/// assert_eq!(counting(-2i32..2).inclusive_scan(&device, Sum)?.into_vec()?, [-2, -3, -3, -2]);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn counting<T: Count>(range: Range<T>) -> Counting<T> {
    Counting { start: range.start, len: range.start.up_to(range.end) }
}

/// Integers that follow one another; see [`counting`].
#[derive(Clone, Copy, Debug)]
pub struct Counting<T> {
    start: T,
    len: usize,
}

impl<'a, T: Count> Fused<'a> for Counting<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.len
    }

    fn on_host(&self) -> Result<impl Make<Item = T> + 'a> {
        Ok(*self)
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        // The words are those of an unsigned integer, in which kernels count.
        let words = Parameter::of(self.start).words;
        let bits = if T::DTYPE.size() > 4 { Dtype::U64 } else { Dtype::U32 };
        let start = parts.parameter(Parameter { kind: bits.into(), words });
        let index = Box::new(place.index(parts));
        vec![Formula::Counted(T::DTYPE, start, index)]
    }
}

impl<T: Count> Make for Counting<T> {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn make(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        let start = self.start;
        range.map(
            #[inline(always)]
            move |number| start.plus(number),
        )
    }

    #[inline(always)]
    fn item(&self, number: usize) -> T {
        self.start.plus(number)
    }
}

/// So many items of one value, which lie in no array.
///
/// # Cost
/// Nothing is read. The value is handed to kernels, so that every value of a type has one kernel.
///
/// ```
/// use upsweep::{Device, Fused, Sum, View, constant};
///
/// #[upsweep::function]
/// fn product(left: f32, right: f32) -> f32 {
///     left * right
/// }
///
/// let scaled = View::from(&[1.0f32, 2.0, 3.0]).zip(constant(0.5, 3)).map(product {});
/// assert_eq!(scaled.reduce(&Device::cpu(), Sum)?, 3.0);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub fn constant<T: Element>(value: T, len: usize) -> Constant<T> {
    Constant { value, len }
}

/// One value again and again; see [`constant`].
#[derive(Clone, Copy, Debug)]
pub struct Constant<T> {
    value: T,
    len: usize,
}

impl<'a, T: Element> Fused<'a> for Constant<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.len
    }

    fn on_host(&self) -> Result<impl Make<Item = T> + 'a> {
        Ok(*self)
    }

    fn formulas(&self, _: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        vec![Formula::Value(parts.parameter(Parameter::of(self.value)))]
    }
}

impl<T: Element> Make for Constant<T> {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn make(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        let value = self.value;
        range.map(
            #[inline(always)]
            move |_| value,
        )
    }

    #[inline(always)]
    fn item(&self, _: usize) -> T {
        self.value
    }
}
