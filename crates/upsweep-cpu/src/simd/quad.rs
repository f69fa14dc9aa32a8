//! Four vectors of AVX2 at a time: groups of four floats, side by side.
//!
//! A quad is four vectors of neighbouring items. Transposed, it is four vectors that hold the
//! first, second, third and fourth items of all its groups of four, so that the prefixes of all
//! groups are a few whole-vector operations. For `f32` only the 128-bit halves are transposed,
//! which leaves the groups in another order: [`natural`](Quad::natural) sorts one vector of them.

#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::needless_range_loop,
    reason = "every function of `Quad` has the one contract of `Vector`, and every block relies on \
              it alone; loops over quads read like the plain ones of `scan::row`"
)]

use core::arch::x86_64::*;

use upsweep_core::summation::{GROUP, GROUPS, LANES};

use super::vector::{Sink, Stored, Vector};

/// A vector of AVX2 that holds floats.
///
/// # Safety
/// As for [`Vector`].
pub(crate) unsafe trait Quad: Vector {
    /// Items to groups, and back: its own inverse.
    unsafe fn transpose(quad: [Self; 4]) -> [Self; 4];

    /// A vector of the groups of a transposed quad, in order.
    unsafe fn natural(self) -> Self;

    /// Aligned prefixes over the lanes of a vector in natural order.
    unsafe fn prefixes(self, combine: impl Fn(Self, Self) -> Self) -> Self;

    /// The last lane in every lane.
    unsafe fn last(self) -> Self;

    /// Of prefixes in natural order: those before each group, in the order of a transposed quad.
    /// The first lane, before which there is nothing here, holds the last prefix.
    unsafe fn before(self) -> Self;

    /// `self` with its first lane from `other`.
    unsafe fn with_first(self, other: Self) -> Self;

    /// Neighbours within the 128-bit halves of two vectors, folded; in each half `left`'s before
    /// `right`'s.
    unsafe fn fold_lanes(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self;

    /// The halves of two vectors, folded; `left`'s before `right`'s.
    unsafe fn fold_halves(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self;

    /// A row, its neighbours folded until one vector is left.
    unsafe fn fold_row<T: Stored<Self>>(
        from: *const T,
        combine: impl Fn(Self, Self) -> Self + Copy,
    ) -> Self;

    /// The total of four rows that [`fold_row`](Self::fold_row) folded.
    unsafe fn fold_rows(rows: [Self; 4], combine: impl Fn(Self, Self) -> Self + Copy)
    -> Self::Item;
}

// SAFETY: every function uses AVX and AVX2 only, and reads or writes 32 bytes at its pointer.
unsafe impl Quad for __m256 {
    #[inline(always)]
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        unsafe {
            let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            [
                _mm256_shuffle_ps::<0b01_00_01_00>(ab_low, cd_low),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab_low, cd_low),
                _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
            ]
        }
    }

    #[inline(always)]
    unsafe fn natural(self) -> Self {
        // Half b, place j holds group 2j + b.
        unsafe { _mm256_permutevar8x32_ps(self, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)) }
    }

    #[inline(always)]
    unsafe fn prefixes(self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let left = _mm256_moveldup_ps(self);
            let v = _mm256_blend_ps::<0b1010_1010>(self, combine(left, self));
            let left = _mm256_permute_ps::<0b01_01_01_01>(v);
            let v = _mm256_blend_ps::<0b1100_1100>(v, combine(left, v));
            let left = _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(3));
            _mm256_blend_ps::<0b1111_0000>(v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn last(self) -> Self {
        unsafe { _mm256_permutevar8x32_ps(self, _mm256_set1_epi32(7)) }
    }

    #[inline(always)]
    unsafe fn before(self) -> Self {
        unsafe { _mm256_permutevar8x32_ps(self, _mm256_setr_epi32(7, 1, 3, 5, 0, 2, 4, 6)) }
    }

    #[inline(always)]
    unsafe fn with_first(self, other: Self) -> Self {
        unsafe { _mm256_blend_ps::<1>(self, other) }
    }

    #[inline(always)]
    unsafe fn fold_lanes(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let even = _mm256_shuffle_ps::<0b10_00_10_00>(left, right);
            combine(even, _mm256_shuffle_ps::<0b11_01_11_01>(left, right))
        }
    }

    #[inline(always)]
    unsafe fn fold_halves(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let low = _mm256_permute2f128_ps::<0x20>(left, right);
            combine(low, _mm256_permute2f128_ps::<0x31>(left, right))
        }
    }

    #[inline(always)]
    unsafe fn fold_row<T: Stored<Self>>(
        from: *const T,
        combine: impl Fn(Self, Self) -> Self + Copy,
    ) -> Self {
        unsafe {
            // Two quads make a vector of totals of eight items, in order.
            let mut eights = [Self::splat(0.0); 2];
            for (part, eights) in eights.iter_mut().enumerate() {
                let from = from.add(part * 8 * Self::LANES);
                let left =
                    Self::fold_lanes(pairs(from, 0, combine), pairs(from, 2, combine), combine);
                let right =
                    Self::fold_lanes(pairs(from, 4, combine), pairs(from, 6, combine), combine);
                *eights = Self::fold_halves(left, right, combine);
            }
            Self::fold_lanes(eights[0], eights[1], combine)
        }
    }

    #[inline(always)]
    unsafe fn fold_rows(
        [a, b, c, d]: [Self; 4],
        combine: impl Fn(Self, Self) -> Self + Copy,
    ) -> f32 {
        unsafe {
            // Of each row: the totals of 32 items, of 64, of all.
            let (ab, cd) = (Self::fold_lanes(a, b, combine), Self::fold_lanes(c, d, combine));
            let halves = Self::fold_halves(ab, cd, combine);
            let rows = Self::fold_lanes(halves, halves, combine);
            let pairs = Self::fold_lanes(rows, rows, combine);
            Self::fold_halves(pairs, pairs, combine).first()
        }
    }
}

// SAFETY: as above.
unsafe impl Quad for __m256d {
    #[inline(always)]
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        unsafe {
            let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
                _mm256_permute2f128_pd::<0x31>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
            ]
        }
    }

    #[inline(always)]
    unsafe fn natural(self) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn prefixes(self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let v = _mm256_blend_pd::<0b1010>(self, combine(_mm256_movedup_pd(self), self));
            let left = _mm256_permute4x64_pd::<0b01_01_01_01>(v);
            _mm256_blend_pd::<0b1100>(v, combine(left, v))
        }
    }

    #[inline(always)]
    unsafe fn last(self) -> Self {
        unsafe { _mm256_permute4x64_pd::<0b11_11_11_11>(self) }
    }

    #[inline(always)]
    unsafe fn before(self) -> Self {
        unsafe { _mm256_permute4x64_pd::<0b10_01_00_11>(self) }
    }

    #[inline(always)]
    unsafe fn with_first(self, other: Self) -> Self {
        unsafe { _mm256_blend_pd::<1>(self, other) }
    }

    #[inline(always)]
    unsafe fn fold_lanes(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe { combine(_mm256_unpacklo_pd(left, right), _mm256_unpackhi_pd(left, right)) }
    }

    #[inline(always)]
    unsafe fn fold_halves(left: Self, right: Self, combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let low = _mm256_permute2f128_pd::<0x20>(left, right);
            combine(low, _mm256_permute2f128_pd::<0x31>(left, right))
        }
    }

    #[inline(always)]
    unsafe fn fold_row<T: Stored<Self>>(
        from: *const T,
        combine: impl Fn(Self, Self) -> Self + Copy,
    ) -> Self {
        unsafe {
            // A quad makes a vector of totals of groups, four quads one of totals of sixteen items.
            let mut sixteens = [Self::splat(0.0); 2];
            for (part, sixteens) in sixteens.iter_mut().enumerate() {
                let mut groups = [Self::splat(0.0); 4];
                for (quad, groups) in groups.iter_mut().enumerate() {
                    let from = from.add((part * 4 + quad) * 4 * Self::LANES);
                    let (left, right) = (pairs(from, 0, combine), pairs(from, 2, combine));
                    *groups = Self::fold_halves(left, right, combine);
                }
                let left = Self::fold_lanes(groups[0], groups[1], combine);
                let right = Self::fold_lanes(groups[2], groups[3], combine);
                *sixteens = Self::fold_halves(left, right, combine);
            }
            Self::fold_lanes(sixteens[0], sixteens[1], combine)
        }
    }

    #[inline(always)]
    unsafe fn fold_rows(
        [a, b, c, d]: [Self; 4],
        combine: impl Fn(Self, Self) -> Self + Copy,
    ) -> f64 {
        unsafe {
            // Of each row: the totals of 64 items, of all; then of pairs of rows.
            let (ab, cd) = (Self::fold_halves(a, b, combine), Self::fold_halves(c, d, combine));
            let rows = Self::fold_lanes(ab, cd, combine);
            let pairs = Self::fold_halves(rows, rows, combine);
            Self::fold_lanes(pairs, pairs, combine).first()
        }
    }
}

/// See `scan::row::scan_row`. Gives the result to `sink`.
///
/// # Safety
/// As for [`Vector`]; `from` must be valid for a row.
#[inline(always)]
pub(crate) unsafe fn scan_row<Q: Quad, T: Stored<Q>, const EXCLUSIVE: bool>(
    from: *const T,
    carry: Q::Item,
    padding: Q::Item,
    combine: impl Fn(Q, Q) -> Q + Copy,
    sink: &mut impl Sink<Q>,
) -> Q::Item {
    const QUADS: usize = 8;
    let quads = GROUPS / Q::LANES;
    unsafe {
        let mut prefixes = [[Q::splat(padding); GROUP]; QUADS];
        let mut totals = [Q::splat(padding); QUADS];
        for quad in 0..quads {
            let at = |vector: usize| from.add((quad * GROUP + vector) * Q::LANES);
            let [a, b, c, d] =
                Q::transpose([T::load(at(0)), T::load(at(1)), T::load(at(2)), T::load(at(3))]);
            let pair = combine(a, b);
            let all = combine(pair, combine(c, d));
            prefixes[quad] = [a, pair, combine(pair, c), all];
            totals[quad] = all.natural().prefixes(combine);
        }
        // Aligned prefixes over the quads.
        let mut half = 1;
        while half < quads {
            let mut start = 0;
            while start < quads {
                let left = totals[start + half - 1].last();
                for quad in start + half..start + 2 * half {
                    totals[quad] = combine(left, totals[quad]);
                }
                start += 2 * half;
            }
            half *= 2;
        }
        let carry = Q::splat(carry);
        let mut earlier = Q::splat(padding);
        for quad in 0..quads {
            let shifted = totals[quad].before();
            let before = combine(carry, shifted.with_first(earlier));
            earlier = shifted;
            let [a, b, c, d] = prefixes[quad];
            let groups = if EXCLUSIVE {
                [before, combine(before, a), combine(before, b), combine(before, c)]
            } else {
                [combine(before, a), combine(before, b), combine(before, c), combine(before, d)]
            };
            sink.put(Q::transpose(groups));
        }
        totals[quads - 1].last().first()
    }
}

/// The total of four rows: neighbours fold until one vector is left of each row, then the four
/// together.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(crate) unsafe fn total_rows<Q: Quad, T: Stored<Q>>(
    rows: &[[T; LANES]; 4],
    combine: impl Fn(Q, Q) -> Q + Copy,
) -> Q::Item {
    unsafe {
        let a = Q::fold_row(rows[0].as_ptr(), combine);
        let b = Q::fold_row(rows[1].as_ptr(), combine);
        let c = Q::fold_row(rows[2].as_ptr(), combine);
        let d = Q::fold_row(rows[3].as_ptr(), combine);
        Q::fold_rows([a, b, c, d], combine)
    }
}

/// Vectors `vector` and `vector + 1` from `from` on: their neighbours, folded.
#[inline(always)]
unsafe fn pairs<Q: Quad, T: Stored<Q>>(
    from: *const T,
    vector: usize,
    combine: impl Fn(Q, Q) -> Q + Copy,
) -> Q {
    unsafe {
        let left = T::load(from.add(vector * Q::LANES));
        Q::fold_lanes(left, T::load(from.add((vector + 1) * Q::LANES)), combine)
    }
}
