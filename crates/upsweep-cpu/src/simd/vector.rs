//! Vectors of floats on x86, as the scans of rows use them, and the shift by which they get to the
//! lines of an array that begins anywhere.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every function has the one contract that the trait states, and every block relies \
              on it alone"
)]

use core::arch::x86_64::*;
use core::convert::identity;

/// A vector of floats.
///
/// # Safety
/// Every function may only be called where the vector's instruction set is enabled (AVX2 for 32
/// bytes, AVX-512 for 64), from code that is inlined into a function with that feature.
pub(crate) unsafe trait Vector: Copy {
    /// What a lane holds.
    type Item: Copy;

    /// Lanes of the vector.
    const LANES: usize;

    /// How vectors move to the places of their items in units of memory: see [`join`](Self::join).
    type Shift: Copy;

    /// Reads `LANES` items from `from`, which needs no alignment.
    unsafe fn load(from: *const Self::Item) -> Self;

    /// Writes `LANES` items to `to`, which needs no alignment.
    unsafe fn store(self, to: *mut Self::Item);

    /// Writes the vector past the caches to `to`, which must be aligned to it.
    unsafe fn stream(self, to: *mut Self::Item);

    /// `item` in every lane.
    unsafe fn splat(item: Self::Item) -> Self;

    /// The first lane.
    unsafe fn first(self) -> Self::Item;

    /// Lane by lane.
    unsafe fn add(self, other: Self) -> Self;

    /// Lane by lane.
    unsafe fn multiply(self, other: Self) -> Self;

    /// Up by `bytes` bytes, a multiple of [`SHIFTED`] below the size of the vector.
    unsafe fn shift(bytes: usize) -> Self::Shift;

    /// What [`join`](Self::join) takes as the vector before the first, if the first bytes of
    /// `waiting` shall come out in front of it.
    unsafe fn enter(waiting: Self, shift: Self::Shift) -> Self;

    /// `self` moved up, behind the end of the vector before it. `previous` carries that end, and
    /// then the end of `self`.
    unsafe fn join(self, previous: &mut Self, shift: Self::Shift) -> Self;

    /// A vector whose first bytes are the end of the last vector that was joined.
    unsafe fn leave(previous: Self, shift: Self::Shift) -> Self;
}

/// Vectors are shifted by a multiple of so many bytes.
pub(crate) const SHIFTED: usize = 4;

/// Items in memory that a vector holds as what they are combined in.
///
/// # Safety
/// As for [`Vector`]. `load` reads and `store` writes `V::LANES` items, and nothing else. `pack_four` gives as many bytes as
/// `4 * V::LANES` items have.
pub(crate) unsafe trait Stored<V: Vector>: Copy {
    /// Reads `V::LANES` items from `from`, which needs no alignment.
    unsafe fn load(from: *const Self) -> V;

    /// Writes the lanes to `to`, which needs no alignment, rounded once if they are wider than items.
    unsafe fn store(vector: V, to: *mut Self);

    /// The lanes of four vectors as [`store`](Self::store) would write them, one after the other: bytes in the first of four vectors.
    unsafe fn pack_four(vectors: [V; 4]) -> [V; 4];

    /// Writes the lanes of four vectors, one after the other.
    #[inline(always)]
    unsafe fn store_four([a, b, c, d]: [V; 4], to: *mut Self) {
        unsafe {
            Self::store(a, to);
            Self::store(b, to.add(V::LANES));
            Self::store(c, to.add(2 * V::LANES));
            Self::store(d, to.add(3 * V::LANES));
        }
    }
}

macro_rules! stored_as_they_are {
    ($($item:ident $vector:ident)*) => { $(
        // SAFETY: those of the vector.
        unsafe impl Stored<$vector> for $item {
            #[inline(always)]
            unsafe fn load(from: *const $item) -> $vector {
                unsafe { $vector::load(from) }
            }

            #[inline(always)]
            unsafe fn store(vector: $vector, to: *mut $item) {
                unsafe { vector.store(to) };
            }

            #[inline(always)]
            unsafe fn pack_four(vectors: [$vector; 4]) -> [$vector; 4] {
                vectors
            }
        }
    )* };
}

stored_as_they_are!(f32 __m256 f64 __m256d f32 __m512 f64 __m512d);

/// Takes the vectors of a result, in order.
///
/// # Safety
/// As for [`Vector`]. Not a closure: the compiler must inline it wherever it stands.
pub(crate) unsafe trait Sink<V> {
    /// Takes the next four vectors.
    unsafe fn put(&mut self, vectors: [V; 4]);
}

macro_rules! plain {
    ($item:ty, $lanes:literal, $load:ident $store:ident $stream:ident $splat:ident $first:ident
        $add:ident $multiply:ident) => {
        type Item = $item;
        const LANES: usize = $lanes;

        #[inline(always)]
        unsafe fn load(from: *const $item) -> Self {
            unsafe { $load(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut $item) {
            unsafe { $store(to, self) }
        }

        #[inline(always)]
        unsafe fn stream(self, to: *mut $item) {
            unsafe { $stream(to, self) }
        }

        #[inline(always)]
        unsafe fn splat(item: $item) -> Self {
            unsafe { $splat(item) }
        }

        #[inline(always)]
        unsafe fn first(self) -> $item {
            unsafe { $first(self) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { $add(self, other) }
        }

        #[inline(always)]
        unsafe fn multiply(self, other: Self) -> Self {
            unsafe { $multiply(self, other) }
        }
    };
}

/// The numbers of the four-byte places of a vector.
static PLACES: [i32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// For AVX2: a vector is turned round, so that its end comes to the front, and laid over the
/// one before.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Which place each place comes from.
    from: __m256i,
    /// The places of the vector before.
    before: __m256,
}

/// `$floats` and `$back` take the vector to one of `f32` and back.
macro_rules! avx2 {
    ($vector:ty, $item:ty, $lanes:literal, $load:ident $store:ident $stream:ident $splat:ident
        $first:ident $add:ident $multiply:ident, $floats:path, $back:path) => {
        // SAFETY: every function uses AVX and AVX2 only, and reads or writes 32 bytes.
        unsafe impl Vector for $vector {
            plain!($item, $lanes, $load $store $stream $splat $first $add $multiply);

            type Shift = Turn;

            #[inline(always)]
            unsafe fn shift(bytes: usize) -> Turn {
                unsafe {
                    let places = _mm256_loadu_si256(PLACES.as_ptr().cast());
                    let by = _mm256_set1_epi32(bytes as i32 / 4);
                    // Only the last three bits of a place count: a difference turns round.
                    let from = _mm256_sub_epi32(places, by);
                    Turn { from, before: _mm256_castsi256_ps(_mm256_cmpgt_epi32(by, places)) }
                }
            }

            #[inline(always)]
            unsafe fn enter(waiting: Self, _: Turn) -> Self {
                waiting
            }

            #[inline(always)]
            unsafe fn join(self, previous: &mut Self, Turn { from, before }: Turn) -> Self {
                unsafe {
                    let turned = _mm256_permutevar8x32_ps($floats(self), from);
                    let joined = _mm256_blendv_ps(turned, $floats(*previous), before);
                    *previous = $back(turned);
                    $back(joined)
                }
            }

            #[inline(always)]
            unsafe fn leave(previous: Self, _: Turn) -> Self {
                previous
            }
        }
    };
}

/// For AVX-512: one instruction takes its places from two vectors.
macro_rules! avx512 {
    ($vector:ty, $item:ty, $lanes:literal, $load:ident $store:ident $stream:ident $splat:ident
        $first:ident $add:ident $multiply:ident, $floats:path, $back:path) => {
        // SAFETY: every function uses AVX-512F only, and reads or writes 64 bytes.
        unsafe impl Vector for $vector {
            plain!($item, $lanes, $load $store $stream $splat $first $add $multiply);

            /// Which place of two vectors, one after the other, each place comes from.
            type Shift = __m512i;

            #[inline(always)]
            unsafe fn shift(bytes: usize) -> __m512i {
                unsafe {
                    let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
                    _mm512_add_epi32(places, _mm512_set1_epi32(16 - bytes as i32 / 4))
                }
            }

            #[inline(always)]
            unsafe fn enter(waiting: Self, shift: __m512i) -> Self {
                unsafe {
                    // The last four bits of a place count: the opposite turn.
                    let two = _mm512_loadu_si512(PLACES.as_ptr().cast());
                    let back = _mm512_sub_epi32(_mm512_add_epi32(two, two), shift);
                    $back(_mm512_permutexvar_ps(back, $floats(waiting)))
                }
            }

            #[inline(always)]
            unsafe fn join(self, previous: &mut Self, shift: __m512i) -> Self {
                unsafe {
                    let joined =
                        _mm512_permutex2var_ps($floats(*previous), shift, $floats(self));
                    *previous = self;
                    $back(joined)
                }
            }

            #[inline(always)]
            unsafe fn leave(previous: Self, shift: __m512i) -> Self {
                unsafe { $back(_mm512_permutexvar_ps(shift, $floats(previous))) }
            }
        }
    };
}

avx2!(__m256, f32, 8, _mm256_loadu_ps _mm256_storeu_ps _mm256_stream_ps _mm256_set1_ps
    _mm256_cvtss_f32 _mm256_add_ps _mm256_mul_ps, identity, identity);
avx2!(__m256d, f64, 4, _mm256_loadu_pd _mm256_storeu_pd _mm256_stream_pd _mm256_set1_pd
    _mm256_cvtsd_f64 _mm256_add_pd _mm256_mul_pd, _mm256_castpd_ps, _mm256_castps_pd);
avx512!(__m512, f32, 16, _mm512_loadu_ps _mm512_storeu_ps _mm512_stream_ps _mm512_set1_ps
    _mm512_cvtss_f32 _mm512_add_ps _mm512_mul_ps, identity, identity);
avx512!(__m512d, f64, 8, _mm512_loadu_pd _mm512_storeu_pd _mm512_stream_pd _mm512_set1_pd
    _mm512_cvtsd_f64 _mm512_add_pd _mm512_mul_pd, _mm512_castpd_ps, _mm512_castps_pd);
