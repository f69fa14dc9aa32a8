//! A row of a scan of floats on AVX-512: groups stay where they are.
//!
//! ```text
//!   a b c d │ e f g h │ …     a vector: groups of four side by side
//!   a ab c cd                 one shuffle, one operation under a mask
//!   a ab (ab)c (ab)(cd)       the same again
//! ```
//! The last lanes of all groups make two vectors (`f64`: four) of totals, whose prefixes are found
//! in the same way, and each total goes back to the four lanes of the group behind it. Masks cost
//! nothing here, so that this takes three shuffles and operations for a vector where transposing
//! takes four shuffles.
//!
//! Masks and indices come through [`black_box`]: where the compiler knows a mask it turns the
//! operation under it into an operation and a shuffle, and an index into several shuffles, which is
//! slower than the plain loops by AVX2.

#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::needless_range_loop,
    reason = "every function of `Wide` has the one contract of `Vector`, and every block relies on \
              it alone; loops over vectors read like the plain ones of `scan::row`"
)]

use core::arch::x86_64::*;
use core::hint::black_box;

use upsweep_core::summation::{GROUP, GROUPS};

use super::vector::{Sink, Stored, Vector};

/// A vector of AVX-512 that holds groups of four.
///
/// # Safety
/// As for [`Vector`].
pub(crate) unsafe trait Wide: Vector {
    /// Masks and indices.
    type Places: Copy;

    /// Masks and indices, once for many rows.
    unsafe fn places() -> Self::Places;

    /// Aligned prefixes within each group.
    unsafe fn group_prefixes(
        self,
        places: &Self::Places,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self;

    /// The last lanes of the groups of four vectors, in order.
    unsafe fn totals(vectors: [Self; 4], places: &Self::Places) -> Self;

    /// Aligned prefixes over all lanes.
    unsafe fn prefixes(self, places: &Self::Places, combine: impl Fn(Self, Self) -> Self) -> Self;

    /// The last lane in every lane.
    unsafe fn last(self, places: &Self::Places) -> Self;

    /// Moved up by a lane, the last lane of `previous` in front.
    unsafe fn shifted(self, previous: Self) -> Self;

    /// Of lanes that belong to the groups of four vectors: those of vector `part`, each in the four
    /// lanes of its group.
    unsafe fn spread(self, part: usize, places: &Self::Places) -> Self;

    /// Each group's carry with the items before each of the group: the carry alone in front.
    unsafe fn exclusive(
        carry: Self,
        prefixes: Self,
        places: &Self::Places,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self;
}

/// Reads something that the compiler shall not know.
macro_rules! hidden {
    (mask $mask:literal) => {
        *black_box(&$mask)
    };
    ($($index:expr),*) => {
        _mm512_loadu_si512(black_box(&[$($index),*]).as_ptr().cast())
    };
}

#[derive(Clone, Copy)]
pub(crate) struct PlacesOfF32 {
    second: __mmask16,
    upper: __mmask16,
    half: __mmask16,
    high: __mmask16,
    not_first: __mmask16,
    totals: __m512i,
    fourth: __m512i,
    eighth: __m512i,
    last: __m512i,
    spread: [__m512i; 4],
}

// SAFETY: every function uses AVX-512F only.
unsafe impl Wide for __m512 {
    type Places = PlacesOfF32;

    #[inline(always)]
    unsafe fn places() -> PlacesOfF32 {
        unsafe {
            PlacesOfF32 {
                second: hidden!(mask 0b1010_1010_1010_1010),
                upper: hidden!(mask 0b1100_1100_1100_1100),
                half: hidden!(mask 0b1111_0000_1111_0000),
                high: hidden!(mask 0b1111_1111_0000_0000),
                not_first: hidden!(mask 0b1110_1110_1110_1110),
                totals: hidden!(3, 7, 11, 15, 19, 23, 27, 31, 0, 0, 0, 0, 0, 0, 0, 0),
                fourth: hidden!(3, 3, 3, 3, 3, 3, 3, 3, 11, 11, 11, 11, 11, 11, 11, 11),
                eighth: hidden!(7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7),
                last: hidden!(15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15),
                spread: [
                    hidden!(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
                    hidden!(4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7),
                    hidden!(8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11),
                    hidden!(12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15),
                ],
            }
        }
    }

    #[inline(always)]
    unsafe fn group_prefixes(
        self,
        places: &PlacesOfF32,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let left = _mm512_moveldup_ps(self);
            let v = _mm512_mask_blend_ps(places.second, self, combine(left, self));
            let left = _mm512_permute_ps::<0b01_01_01_01>(v);
            _mm512_mask_blend_ps(places.upper, v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4], places: &PlacesOfF32) -> Self {
        unsafe {
            let front = _mm512_permutex2var_ps(a, places.totals, b);
            let back = _mm512_permutex2var_ps(c, places.totals, d);
            _mm512_shuffle_f32x4::<0b01_00_01_00>(front, back)
        }
    }

    #[inline(always)]
    unsafe fn prefixes(self, places: &PlacesOfF32, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let v = self.group_prefixes(places, &combine);
            let left = _mm512_permutexvar_ps(places.fourth, v);
            let v = _mm512_mask_blend_ps(places.half, v, combine(left, v));
            let left = _mm512_permutexvar_ps(places.eighth, v);
            _mm512_mask_blend_ps(places.high, v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn last(self, places: &PlacesOfF32) -> Self {
        unsafe { _mm512_permutexvar_ps(places.last, self) }
    }

    #[inline(always)]
    unsafe fn shifted(self, previous: Self) -> Self {
        unsafe {
            let (current, previous) = (_mm512_castps_si512(self), _mm512_castps_si512(previous));
            _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(current, previous))
        }
    }

    #[inline(always)]
    unsafe fn spread(self, part: usize, places: &PlacesOfF32) -> Self {
        unsafe { _mm512_permutexvar_ps(places.spread[part], self) }
    }

    #[inline(always)]
    unsafe fn exclusive(
        carry: Self,
        prefixes: Self,
        places: &PlacesOfF32,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let before = _mm512_permute_ps::<0b10_01_00_00>(prefixes);
            _mm512_mask_blend_ps(places.not_first, carry, combine(carry, before))
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct PlacesOfF64 {
    second: __mmask8,
    upper: __mmask8,
    high: __mmask8,
    not_first: __mmask8,
    totals: __m512i,
    fourth: __m512i,
    last: __m512i,
    spread: [__m512i; 4],
}

// SAFETY: every function uses AVX-512F only.
unsafe impl Wide for __m512d {
    type Places = PlacesOfF64;

    #[inline(always)]
    unsafe fn places() -> PlacesOfF64 {
        unsafe {
            PlacesOfF64 {
                second: hidden!(mask 0b1010_1010),
                upper: hidden!(mask 0b1100_1100),
                high: hidden!(mask 0b1111_0000),
                not_first: hidden!(mask 0b1110_1110),
                totals: hidden!(3i64, 7, 11, 15, 0, 0, 0, 0),
                fourth: hidden!(3i64, 3, 3, 3, 3, 3, 3, 3),
                last: hidden!(7i64, 7, 7, 7, 7, 7, 7, 7),
                spread: [
                    hidden!(0i64, 0, 0, 0, 1, 1, 1, 1),
                    hidden!(2i64, 2, 2, 2, 3, 3, 3, 3),
                    hidden!(4i64, 4, 4, 4, 5, 5, 5, 5),
                    hidden!(6i64, 6, 6, 6, 7, 7, 7, 7),
                ],
            }
        }
    }

    #[inline(always)]
    unsafe fn group_prefixes(
        self,
        places: &PlacesOfF64,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let left = _mm512_movedup_pd(self);
            let v = _mm512_mask_blend_pd(places.second, self, combine(left, self));
            let left = _mm512_permutex_pd::<0b01_01_01_01>(v);
            _mm512_mask_blend_pd(places.upper, v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4], places: &PlacesOfF64) -> Self {
        unsafe {
            let front = _mm512_permutex2var_pd(a, places.totals, b);
            let back = _mm512_permutex2var_pd(c, places.totals, d);
            _mm512_shuffle_f64x2::<0b01_00_01_00>(front, back)
        }
    }

    #[inline(always)]
    unsafe fn prefixes(self, places: &PlacesOfF64, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let v = self.group_prefixes(places, &combine);
            let left = _mm512_permutexvar_pd(places.fourth, v);
            _mm512_mask_blend_pd(places.high, v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn last(self, places: &PlacesOfF64) -> Self {
        unsafe { _mm512_permutexvar_pd(places.last, self) }
    }

    #[inline(always)]
    unsafe fn shifted(self, previous: Self) -> Self {
        unsafe {
            let (current, previous) = (_mm512_castpd_si512(self), _mm512_castpd_si512(previous));
            _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(current, previous))
        }
    }

    #[inline(always)]
    unsafe fn spread(self, part: usize, places: &PlacesOfF64) -> Self {
        unsafe { _mm512_permutexvar_pd(places.spread[part], self) }
    }

    #[inline(always)]
    unsafe fn exclusive(
        carry: Self,
        prefixes: Self,
        places: &PlacesOfF64,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let before = _mm512_permutex_pd::<0b10_01_00_00>(prefixes);
            _mm512_mask_blend_pd(places.not_first, carry, combine(carry, before))
        }
    }
}

/// Vectors of totals, of at most 32 groups.
const TOTALS: usize = GROUPS / 8;

/// A row without what comes before it.
#[derive(Clone, Copy)]
pub(crate) struct Row<V> {
    /// Aligned prefixes within the groups of four vectors at a time.
    prefixes: [[V; 4]; TOTALS],
    /// Aligned prefixes over the totals of the groups.
    totals: [V; TOTALS],
}

/// The first half of `scan::row::scan_row`: all that needs no carry, and the total of the row.
///
/// # Safety
/// As for [`Vector`]; `from` must be valid for a row.
#[inline(always)]
pub(crate) unsafe fn load_row<V: Wide, T: Stored<V>>(
    from: *const T,
    padding: V::Item,
    places: &V::Places,
    combine: impl Fn(V, V) -> V + Copy,
) -> (Row<V>, V::Item) {
    unsafe {
        let padding = V::splat(padding);
        let mut prefixes = [[padding; 4]; TOTALS];
        let mut totals = [padding; TOTALS];
        let count = GROUPS / V::LANES;
        for vector in 0..count {
            for part in 0..4 {
                let at = (4 * vector + part) * V::LANES;
                prefixes[vector][part] = T::load(from.add(at)).group_prefixes(places, combine);
            }
            totals[vector] = V::totals(prefixes[vector], places).prefixes(places, combine);
        }
        // Aligned prefixes over the vectors of totals.
        let mut half = 1;
        while half < count {
            let mut start = 0;
            while start < count {
                let left = totals[start + half - 1].last(places);
                for vector in start + half..start + 2 * half {
                    totals[vector] = combine(left, totals[vector]);
                }
                start += 2 * half;
            }
            half *= 2;
        }
        let total = totals[count - 1].last(places).first();
        (Row { prefixes, totals }, total)
    }
}

/// The second half: gives the result to `sink`.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(crate) unsafe fn store_row<V: Wide, const EXCLUSIVE: bool>(
    Row { prefixes, totals }: Row<V>,
    carry: V::Item,
    padding: V::Item,
    places: &V::Places,
    combine: impl Fn(V, V) -> V + Copy,
    sink: &mut impl Sink<V>,
) {
    unsafe {
        let carry = V::splat(carry);
        let mut previous = V::splat(padding);
        for vector in 0..GROUPS / V::LANES {
            let before = combine(carry, totals[vector].shifted(previous));
            previous = totals[vector];
            let mut results = prefixes[vector];
            for (part, prefixes) in results.iter_mut().enumerate() {
                let before = before.spread(part, places);
                *prefixes = if EXCLUSIVE {
                    V::exclusive(before, *prefixes, places, combine)
                } else {
                    combine(before, *prefixes)
                };
            }
            sink.put(results);
        }
    }
}

const _: () = assert!(GROUP == 4, "masks and shuffles are written out for four items");
