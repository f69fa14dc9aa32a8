//! Four vectors of AVX2 at a time: groups of four floats, side by side.
//!
//! A quad is four vectors of neighbouring items. Transposed, it is four vectors that hold the
//! first, second, third and fourth items of all its groups of four, so that the prefixes of all
//! groups are a few whole-vector operations. For `f32` only the 128-bit halves are transposed,
//! which leaves the groups in another order: [`natural`](Quad::natural) sorts one vector of them.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every function of `Quad` has the one contract that its trait states, and every block \
              relies on it alone"
)]

use core::arch::x86_64::*;

/// A vector of AVX2 that holds floats.
///
/// # Safety
/// Every function may only be called where AVX2 is enabled, from code that is inlined into a
/// function with that feature.
pub(crate) unsafe trait Quad: Copy {
    /// What a lane holds.
    type Item: Copy;

    /// Lanes of the vector, and so groups of a quad.
    const LANES: usize;

    /// Reads `LANES` items from `from`, which needs no alignment.
    unsafe fn load(from: *const Self::Item) -> Self;

    /// Writes `LANES` items to `to`, which needs no alignment.
    unsafe fn store(self, to: *mut Self::Item);

    /// `item` in every lane.
    unsafe fn splat(item: Self::Item) -> Self;

    /// The first lane.
    unsafe fn first(self) -> Self::Item;

    /// Lane by lane.
    unsafe fn add(self, other: Self) -> Self;

    /// Lane by lane.
    unsafe fn multiply(self, other: Self) -> Self;

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

    /// The groups of a quad, each folded as `(0 1) (2 3)`, in the order of a transposed quad.
    unsafe fn group_totals(quad: [Self; 4], combine: impl Fn(Self, Self) -> Self) -> Self;

    /// A vector of half as many lanes' worth of totals: neighbours of two vectors of groups in
    /// natural order, folded; `left`'s before `right`'s.
    unsafe fn fold_neighbours(
        left: Self,
        right: Self,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self;
}

// SAFETY: every function uses AVX and AVX2 only, and reads or writes 32 bytes at its pointer.
unsafe impl Quad for __m256 {
    type Item = f32;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm256_storeu_ps(to, self) }
    }

    #[inline(always)]
    unsafe fn splat(item: f32) -> Self {
        unsafe { _mm256_set1_ps(item) }
    }

    #[inline(always)]
    unsafe fn first(self) -> f32 {
        unsafe { _mm256_cvtss_f32(self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_ps(self, other) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> Self {
        unsafe { _mm256_mul_ps(self, other) }
    }

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
    unsafe fn group_totals([a, b, c, d]: [Self; 4], combine: impl Fn(Self, Self) -> Self) -> Self {
        #[inline(always)]
        unsafe fn pairs(
            l: __m256,
            r: __m256,
            combine: &impl Fn(__m256, __m256) -> __m256,
        ) -> __m256 {
            unsafe {
                let even = _mm256_shuffle_ps::<0b10_00_10_00>(l, r);
                combine(even, _mm256_shuffle_ps::<0b11_01_11_01>(l, r))
            }
        }
        unsafe { pairs(pairs(a, b, &combine), pairs(c, d, &combine), &combine) }
    }

    #[inline(always)]
    unsafe fn fold_neighbours(
        left: Self,
        right: Self,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let even = _mm256_shuffle_ps::<0b10_00_10_00>(left, right);
            let odd = _mm256_shuffle_ps::<0b11_01_11_01>(left, right);
            // Halves: left's first four, right's first four, left's last four, right's last four.
            let folded = _mm256_castps_pd(combine(even, odd));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(folded))
        }
    }
}

// SAFETY: as above.
unsafe impl Quad for __m256d {
    type Item = f64;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        unsafe { _mm256_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { _mm256_storeu_pd(to, self) }
    }

    #[inline(always)]
    unsafe fn splat(item: f64) -> Self {
        unsafe { _mm256_set1_pd(item) }
    }

    #[inline(always)]
    unsafe fn first(self) -> f64 {
        unsafe { _mm256_cvtsd_f64(self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_pd(self, other) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> Self {
        unsafe { _mm256_mul_pd(self, other) }
    }

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
    unsafe fn group_totals(quad: [Self; 4], combine: impl Fn(Self, Self) -> Self) -> Self {
        unsafe {
            let [a, b, c, d] = Self::transpose(quad);
            combine(combine(a, b), combine(c, d))
        }
    }

    #[inline(always)]
    unsafe fn fold_neighbours(
        left: Self,
        right: Self,
        combine: impl Fn(Self, Self) -> Self,
    ) -> Self {
        unsafe {
            let folded = combine(_mm256_unpacklo_pd(left, right), _mm256_unpackhi_pd(left, right));
            _mm256_permute4x64_pd::<0b11_01_10_00>(folded)
        }
    }
}
