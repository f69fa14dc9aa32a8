//! Scans of exact operators by sliding windows.
//!
//! Where rounding cannot tell the order, overlapping windows save the broadcast of a carry:
//! ```text
//!   y[i] = x[i-1] ⊕ x[i]                 windows of 2: one shift across lanes, one operation
//!   z[i] = y[i-2] ⊕ y[i]                 windows of 4
//!   w[i] = z[i-4] ⊕ z[i]   …             until a window is as long as a vector
//!   out[i] = out[i - lanes] ⊕ w[i]       whole vectors: the only chain through the loop
//! ```
//! The windows reach into the vector before, so that nothing is masked and nothing is broadcast;
//! the chain is one operation for a vector of items. The first shift is a load one item earlier.
//!
//! What is found is stored behind the loads of the next vector. Arrays often begin at the same place of
//! a large page. There the item before a vector lies where the vector before has just been stored, to
//! all that an Intel processor compares before it knows better, the last 20 bits of an address in memory
//! (S. Islam et al., *SPOILER*, USENIX Security 2019). Loads then seem to wait for that store: scans on a
//! Xeon took up to six times as long, but not in small pages, whose addresses in memory differ. Where the output lies
//! one vector further, loads one item earlier wait as ever: shifts in their place would cost a Zen 4 8 % (docs/decisions).

use core::any::TypeId;

use castaway::cast;
use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, SimdBase};
use upsweep_core::{BitAnd, BitOr, BitXor, Builtin, Element, Max, Min, Operator, Product, Sum};

use crate::isa::{self, Kernel};
use crate::simd::lanes::{Lane, LaneOperator, shift_in};

/// Scans `input` to `output`, which have the same length, a multiple of
/// [`LANES`](upsweep_core::summation::LANES). Takes what comes in and returns what goes out.
pub(crate) type ScanSlice<A> =
    fn(level: Level, input: &[A], output: &mut [A], carry: A, exclusive: bool) -> A;

struct Slide<'a, A, O> {
    input: &'a [A],
    output: &'a mut [A],
    carry: A,
    exclusive: bool,
    operator: O,
}

impl<A: Lane, O: LaneOperator<A>> Kernel for Slide<'_, A, O> {
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        let Self { input, output, carry, exclusive, operator } = self;
        let lanes = <A::Vector<S> as SimdBase<S>>::LEN;
        let combine = |left, right| operator.combine_keys::<S>(left, right);
        let splat = |item| operator.encode::<S>(A::Vector::<S>::simd_from(simd, item));
        let load =
            |at| operator.encode::<S>(A::Vector::<S>::from_slice(simd, &input[at..at + lanes]));
        // The windows of 1, 2, 4 … items of the vector before.
        let mut windows = [splat(operator.padding()); 6];
        let mut prefixes = splat(carry);
        assert!(input.len() == output.len() && input.len().is_multiple_of(lanes));
        // Of the vector before, to be stored.
        let mut unstored = None;
        for at in (0..input.len()).step_by(lanes) {
            let items = load(at);
            let earlier = if at == 0 || O::ENCODES {
                shift_in::<S, _, 1>(windows[0], items)
            } else {
                load(at - 1)
            };
            if let Some(keys) = unstored {
                operator.decode::<S>(keys).store_slice(&mut output[at - lanes..at]);
            }
            if O::ENCODES {
                windows[0] = items;
            }
            let mut window = combine(earlier, items);
            macro_rules! level {
                ($level:literal $distance:literal) => {
                    if lanes > $distance {
                        let longer =
                            combine(shift_in::<S, _, $distance>(windows[$level], window), window);
                        windows[$level] = window;
                        window = longer;
                    }
                };
            }
            level!(1 2);
            level!(2 4);
            level!(3 8);
            level!(4 16);
            level!(5 32);
            let before = prefixes;
            prefixes = combine(before, window);
            let keys = if exclusive { shift_in::<S, _, 1>(before, prefixes) } else { prefixes };
            unstored = Some(keys);
        }
        if let Some(keys) = unstored {
            let at = output.len() - lanes;
            operator.decode::<S>(keys).store_slice(&mut output[at..]);
        }
        operator.decode::<S>(prefixes).as_slice()[lanes - 1]
    }
}

/// Whether [`find`] gives a vector scan, known when a call is compiled.
pub(crate) const fn is_found<A: Element, O: Operator<A>>() -> bool {
    let Some(number) = A::KIND.number() else { return false };
    match O::BUILTIN {
        None => false,
        Some(Builtin::Min | Builtin::Max) => true,
        Some(Builtin::Product) => matches!(number.size(), 2 | 4) && !number.is_float(),
        Some(_) => !number.is_float(),
    }
}

/// The vector scan for this operator on this type, if there is one.
///
/// The kernels are functions of this crate, compiled once, and not again in every crate that
/// calls a scan.
#[inline]
pub(crate) fn find<A: Element, O: Operator<A>>() -> Option<ScanSlice<A>> {
    macro_rules! kernels {
        ($($type:ident: $($operator:ident)*;)*) => { $($(
            if TypeId::of::<(A, O)>() == TypeId::of::<($type, $operator)>() {
                fn scan(
                    level: Level,
                    input: &[$type],
                    output: &mut [$type],
                    carry: $type,
                    exclusive: bool,
                ) -> $type {
                    let operator = $operator;
                    isa::run(level, Slide { input, output, carry, exclusive, operator })
                }
                return cast!(scan as ScanSlice<$type>, ScanSlice<A>).ok();
            }
        )*)* };
    }
    // Products of vectors of 64-bit integers are made of many instructions before AVX-512, and
    // those of bytes everywhere: the plain loop is as fast.
    kernels! {
        u8: Sum Min Max BitAnd BitOr BitXor;
        i8: Sum Min Max BitAnd BitOr BitXor;
        u16: Sum Product Min Max BitAnd BitOr BitXor;
        i16: Sum Product Min Max BitAnd BitOr BitXor;
        u32: Sum Product Min Max BitAnd BitOr BitXor;
        i32: Sum Product Min Max BitAnd BitOr BitXor;
        u64: Sum Min Max BitAnd BitOr BitXor;
        i64: Sum Min Max BitAnd BitOr BitXor;
        f32: Min Max;
        f64: Min Max;
    }
    None
}
