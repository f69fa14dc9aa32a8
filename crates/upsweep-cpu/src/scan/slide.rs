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

use castaway::cast;
use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, SimdBase};
use upsweep_core::{BitAnd, BitOr, BitXor, Builtin, Element, Max, Min, Operator, Product, Sum};

use crate::isa::{self, Kernel};
use crate::known::is_pair;
#[cfg(target_arch = "x86_64")]
use crate::simd::bytes;
use crate::simd::lanes::{Lane, LaneOperator, shift_in};
use crate::simd::stream::{Prefetch, StreamingOutput};

/// The kernels for one operator on one type.
#[derive(Clone, Copy)]
pub(crate) struct Slides<A> {
    /// Scans `input` to `output`, which have the same length, a multiple of
    /// [`LANES`](upsweep_core::summation::LANES). Takes what comes in and returns what goes out.
    pub(crate) scan: ScanSlice<A>,
    /// Scans as many of the first items as it can past the caches, if it is there.
    pub(crate) stream: Option<StreamSlice<A>>,
}

type ScanSlice<A> = fn(level: Level, input: &[A], output: &mut [A], carry: A, exclusive: bool) -> A;

/// Takes what comes in and returns what goes out, and how many items that was: none if the lines are not at a border between units.
pub(crate) type StreamSlice<A> = fn(
    level: Level,
    input: &[A],
    lines: &mut StreamingOutput<'_>,
    ahead: Prefetch<'_>,
    carry: A,
    exclusive: bool,
) -> (A, usize);

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

/// Sums whole blocks of bytes, and gives what is left.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sum_blocks<'a, 'b, A: Element, O: Operator<A>>(
    level: Level,
    input: &'a [A],
    output: &'b mut [A],
    carry: A,
    exclusive: bool,
) -> (&'a [A], &'b mut [A], A) {
    struct SumBlocks<'a>(&'a [u8], &'a mut [u8], u8, bool);

    impl Kernel for SumBlocks<'_> {
        type Output = (u8, usize);

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> (u8, usize) {
            let Self(input, output, carry, exclusive) = self;
            match simd.level() {
                // SAFETY: kernels run with the instruction set of their level.
                Level::Avx512(_) => unsafe { bytes::scan_sums(input, output, carry, exclusive) },
                _ => (carry, 0),
            }
        }
    }

    if const { !is_byte_sum::<A, O>() } {
        return (input, output, carry);
    }
    if matches!(level, Level::Avx512(_))
        && input.len() >= bytes::LEAST
        && let Ok(from) = cast!(input, &[u8])
        && let Ok(to) = cast!(&mut *output, &mut [u8])
        && let Ok(before) = cast!(carry, u8)
    {
        let (after, done) = isa::run(level, SumBlocks(from, to, before, exclusive));
        if let Ok(after) = cast!(after, A) {
            return (&input[done..], &mut output[done..], after);
        }
    }
    (input, output, carry)
}

#[cfg(target_arch = "x86_64")]
const fn is_byte_sum<A: Element, O: Operator<A>>() -> bool {
    is_pair::<A, u8, O>(Builtin::Sum)
}

/// The kernel that goes past the caches, if there is one.
fn stream_of<A: Element, O: Operator<A>>() -> Option<StreamSlice<A>> {
    #[cfg(target_arch = "x86_64")]
    if const { is_byte_sum::<A, O>() } {
        return cast!(stream_byte_sums as StreamSlice<u8>, StreamSlice<A>).ok();
    }
    None
}

/// Sums whole blocks of bytes past the caches.
#[cfg(target_arch = "x86_64")]
fn stream_byte_sums(
    level: Level,
    input: &[u8],
    lines: &mut StreamingOutput<'_>,
    ahead: Prefetch<'_>,
    carry: u8,
    exclusive: bool,
) -> (u8, usize) {
    struct StreamSums<'a, 'b>(&'a [u8], &'a mut StreamingOutput<'b>, Prefetch<'a>, u8, bool);

    impl Kernel for StreamSums<'_, '_> {
        type Output = (u8, usize);

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> (u8, usize) {
            let Self(input, lines, ahead, carry, exclusive) = self;
            match simd.level() {
                // SAFETY: kernels run with the instruction set of their level.
                Level::Avx512(_) => unsafe {
                    bytes::stream_sums(input, lines, ahead, carry, exclusive)
                },
                _ => (carry, 0),
            }
        }
    }

    if !matches!(level, Level::Avx512(_)) || input.len() < bytes::LEAST {
        return (carry, 0);
    }
    isa::run(level, StreamSums(input, lines, ahead, carry, exclusive))
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
pub(crate) fn find<A: Element, O: Operator<A>>() -> Option<Slides<A>> {
    macro_rules! kernels {
        ($($type:ident: $($operator:ident)*;)*) => { $($(
            if const { is_pair::<A, $type, O>(Builtin::$operator) } {
                fn scan(
                    level: Level,
                    input: &[$type],
                    output: &mut [$type],
                    carry: $type,
                    exclusive: bool,
                ) -> $type {
                    let operator = $operator;
                    #[cfg(target_arch = "x86_64")]
                    let (input, output, carry) =
                        sum_blocks::<$type, $operator>(level, input, output, carry, exclusive);
                    isa::run(level, Slide { input, output, carry, exclusive, operator })
                }
                let stream = stream_of::<A, O>();
                return cast!(scan as ScanSlice<$type>, ScanSlice<A>)
                    .ok()
                    .map(|scan| Slides { scan, stream });
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
