//! Short floats to `f32` and back, a vector at a time.
//!
//! `f16` has instructions for both ways on x86. `bf16` is the upper half of an `f32`, rounded by integer
//! instructions: `VCVTNEPS2BF16` would make zeros of subnormals. What is left to the compiler are loops
//! of conversions without a branch.

use core::mem::MaybeUninit;
use core::ptr;

use castaway::cast;
use fearless_simd::{Level, Simd};
#[cfg(target_arch = "x86_64")]
use upsweep_core::f16;
use upsweep_core::{Element, Widen};

use crate::isa::{self, Kernel};

/// Whether [`widen_row`] has an instruction for this conversion; a constant of the types.
#[inline(always)]
pub(crate) fn converts<S: Simd, T: Element, A: Element>(simd: S) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::any::TypeId;
        TypeId::of::<(T, A)>() == TypeId::of::<(f16, f32)>()
            && matches!(simd.level(), Level::Avx2(_) | Level::Avx512(_))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = simd;
        false
    }
}

/// The items of a row as they are combined.
#[inline(always)]
pub(crate) fn widen_row<S, T, A, const N: usize>(simd: S, row: &[T; N]) -> [A; N]
where
    S: Simd,
    T: Widen<A>,
    A: Element,
{
    #[cfg(target_arch = "x86_64")]
    if converts::<S, T, A>(simd)
        && N.is_multiple_of(16)
        && let Ok(halves) = cast!(row, &[f16; N])
        && let Ok(values) = cast!(x86::widen_f16(simd, halves), [A; N])
    {
        return values;
    }
    let _ = simd;
    core::array::from_fn(
        #[inline(always)]
        |i| row[i].widen(),
    )
}

/// Bytes from what is converted to what is fetched meanwhile. Conversions hold memory up: sixteen threads of a Xeon sum 2^28 `f16` at 74 to 77 % of
/// reading them without, and at 93 to 95 % with this distance, of 2^24 82 and 91 to 95 %; 2^14, which lie in a cache, take as long
/// (`benches/record/nvidia-h200/2026-11-27-short-types.md`).
const FETCHED_AHEAD: usize = 1 << 12;

/// Fetches to the first-level cache what lies so far behind a row. It need not be of the array: a prefetch reads nothing.
#[inline(always)]
pub(crate) fn fetch_ahead<T, const N: usize>(row: &[T; N]) {
    #[cfg(target_arch = "x86_64")]
    x86::fetch(row.as_ptr().cast::<u8>().wrapping_add(FETCHED_AHEAD), size_of_val(row));
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, FETCHED_AHEAD);
}

/// Items as they are combined, any number of them.
#[inline(always)]
pub(crate) fn widen<S, T, A>(simd: S, items: &[T], values: &mut [A])
where
    S: Simd,
    T: Widen<A>,
    A: Element,
{
    let (rows, rest) = items.as_chunks::<32>();
    let (value_rows, value_rest) = values.as_chunks_mut::<32>();
    for (values, row) in value_rows.iter_mut().zip(rows) {
        *values = widen_row(simd, row);
    }
    for (value, item) in value_rest.iter_mut().zip(rest) {
        *value = item.widen();
    }
}

/// Items as they are combined, as many as there are places, all of which are written. Compiled once for two types.
#[inline(never)]
pub(crate) fn widen_to<T: Widen<A>, A: Element>(
    level: Level,
    items: &[T],
    values: &mut [MaybeUninit<A>],
) {
    struct All<'a, T, A>(&'a [T], &'a mut [MaybeUninit<A>]);

    impl<T: Widen<A>, A: Element> Kernel for All<'_, T, A> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let (rows, rest) = self.0.as_chunks::<32>();
            let (value_rows, value_rest) = self.1.as_chunks_mut::<32>();
            for (values, row) in value_rows.iter_mut().zip(rows) {
                let row: [A; 32] = widen_row(simd, row);
                // SAFETY: there is place for as many values.
                unsafe { values.as_mut_ptr().cast::<[A; 32]>().write(row) };
            }
            for (value, item) in value_rest.iter_mut().zip(rest) {
                value.write(item.widen());
            }
        }
    }

    assert_eq!(items.len(), values.len());
    isa::run(level, All(items, values));
}

/// The same to places that hold something.
pub(crate) fn widen_at<T: Widen<A>, A: Element>(level: Level, items: &[T], values: &mut [A]) {
    // SAFETY: a value may be where none need be, and nothing but values is written there.
    let values = unsafe { &mut *(ptr::from_mut(values) as *mut [MaybeUninit<A>]) };
    widen_to(level, items, values);
}

/// Results as they are stored, compiled once for a type.
#[inline(never)]
pub(crate) fn narrow_at<U: Element>(level: Level, values: &[U::Acc], items: &mut [U]) {
    struct All<'a, U: Element>(&'a [U::Acc], &'a mut [U]);

    impl<U: Element> Kernel for All<'_, U> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self(values, items) = self;
            #[cfg(target_arch = "x86_64")]
            let (values, items) = {
                let done = x86::narrow(simd, values, items);
                (&values[done..], &mut items[done..])
            };
            let _ = simd;
            for (item, &value) in items.iter_mut().zip(values) {
                *item = U::from_acc(value);
            }
        }
    }

    match cast!(values, &[U]) {
        Ok(values) => items.copy_from_slice(values),
        Err(values) => isa::run(level, All(values, items)),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use castaway::cast;
    use fearless_simd::{Level, Simd};
    use upsweep_core::{Element, bf16, f16};

    use super::converts;
    use crate::simd::vector::{Stored, Vector};

    /// Fetches the lines of so many bytes from here on to the first-level cache.
    #[inline(always)]
    pub(super) fn fetch(from: *const u8, bytes: usize) {
        const LINE: usize = 64;
        for line in (0..bytes).step_by(LINE) {
            // SAFETY: a prefetch may be of any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line).cast()) };
        }
    }

    /// To the nearest, of two to the even one, whatever the thread's rounding mode is.
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

    // SAFETY: reads or writes 16 bytes; F16C is part of every level that has AVX2.
    unsafe impl Stored<__m256> for f16 {
        #[inline(always)]
        unsafe fn load(from: *const f16) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
        }

        #[inline(always)]
        unsafe fn store(vector: __m256, to: *mut f16) {
            // SAFETY: see above.
            unsafe { _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<NEAREST>(vector)) };
        }

        #[inline(always)]
        unsafe fn pack_four([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
            #[inline(always)]
            unsafe fn both(front: __m256, back: __m256) -> __m256 {
                // SAFETY: see above.
                unsafe {
                    let front = _mm256_cvtps_ph::<NEAREST>(front);
                    let back = _mm256_cvtps_ph::<NEAREST>(back);
                    _mm256_castsi256_ps(_mm256_set_m128i(back, front))
                }
            }
            // SAFETY: see above.
            unsafe { [both(a, b), both(c, d), a, a] }
        }
    }

    // SAFETY: reads or writes 32 bytes, with AVX-512F.
    unsafe impl Stored<__m512> for f16 {
        #[inline(always)]
        unsafe fn load(from: *const f16) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
        }

        #[inline(always)]
        unsafe fn store(vector: __m512, to: *mut f16) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<NEAREST>(vector)) };
        }

        #[inline(always)]
        unsafe fn pack_four([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
            #[inline(always)]
            unsafe fn both(front: __m512, back: __m512) -> __m512 {
                // SAFETY: see above.
                unsafe {
                    let front = _mm512_cvtps_ph::<NEAREST>(front);
                    let back = _mm512_cvtps_ph::<NEAREST>(back);
                    let front = _mm512_castsi256_si512(front);
                    _mm512_castsi512_ps(_mm512_inserti64x4::<1>(front, back))
                }
            }
            // SAFETY: see above.
            unsafe { [both(a, b), both(c, d), a, a] }
        }
    }

    // SAFETY: reads or writes 16 bytes, with AVX2.
    unsafe impl Stored<__m256> for bf16 {
        #[inline(always)]
        unsafe fn load(from: *const bf16) -> __m256 {
            // SAFETY: see above.
            unsafe {
                let upper = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(upper))
            }
        }

        /// See `f32_to_bf16`.
        #[inline(always)]
        unsafe fn store(vector: __m256, to: *mut bf16) {
            // SAFETY: see above.
            unsafe {
                let upper = upper_halves(vector);
                let (front, back) =
                    (_mm256_castsi256_si128(upper), _mm256_extracti128_si256::<1>(upper));
                _mm_storeu_si128(to.cast(), _mm_packus_epi32(front, back));
            }
        }

        #[inline(always)]
        unsafe fn pack_four([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
            #[inline(always)]
            unsafe fn both(front: __m256, back: __m256) -> __m256 {
                // SAFETY: see above.
                unsafe {
                    let packed = _mm256_packus_epi32(upper_halves(front), upper_halves(back));
                    // Quarters of the vector: front, back, front, back.
                    _mm256_castsi256_ps(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
                }
            }
            // SAFETY: see above.
            unsafe { [both(a, b), both(c, d), a, a] }
        }
    }

    // SAFETY: reads or writes 32 bytes, with AVX-512F.
    unsafe impl Stored<__m512> for bf16 {
        #[inline(always)]
        unsafe fn load(from: *const bf16) -> __m512 {
            // SAFETY: see above.
            unsafe {
                let upper = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(upper))
            }
        }

        /// See `f32_to_bf16`.
        #[inline(always)]
        unsafe fn store(vector: __m512, to: *mut bf16) {
            // SAFETY: see above.
            unsafe {
                let upper = _mm512_srli_epi32::<16>(rounded(vector));
                _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(upper));
            }
        }

        #[inline(always)]
        unsafe fn pack_four([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
            // SAFETY: see above.
            unsafe { [rounded_both(a, b), rounded_both(c, d), a, a] }
        }

        #[inline(always)]
        unsafe fn store_four([a, b, c, d]: [__m512; 4], to: *mut bf16) {
            // SAFETY: see above; each of the two stores writes 64 bytes. The first goes before the others are rounded, which leaves
            // registers free.
            unsafe {
                rounded_both(a, b).store(to.cast());
                rounded_both(c, d).store(to.add(32).cast());
            }
        }
    }

    /// The nearest `bf16` of the lanes of two vectors, one after the other.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn rounded_both(front: __m512, back: __m512) -> __m512 {
        // SAFETY: the caller's.
        unsafe {
            let uppers = _mm512_loadu_si512(UPPERS.as_ptr().cast());
            _mm512_castsi512_ps(_mm512_permutex2var_epi16(rounded(front), uppers, rounded(back)))
        }
    }

    /// The upper halves of the lanes of two vectors.
    static UPPERS: [u16; 32] = {
        let mut places = [0; 32];
        let mut lane = 0;
        while lane < 32 {
            places[lane] = 2 * lane as u16 + 1;
            lane += 1;
        }
        places
    };

    /// The `bf16` next to each lane in its lower half: see `f32_to_bf16`.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn upper_halves(vector: __m256) -> __m256i {
        // SAFETY: the caller's.
        unsafe {
            let bits = _mm256_castps_si256(vector);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let half = _mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff));
            let rounded = _mm256_castsi256_ps(_mm256_add_epi32(half, odd));
            let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
            let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(vector, vector);
            let all = _mm256_blendv_ps(rounded, _mm256_castsi256_ps(quiet), is_nan);
            _mm256_srli_epi32::<16>(_mm256_castps_si256(all))
        }
    }

    /// Lanes whose upper half is the `bf16` next to them: see `f32_to_bf16`.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn rounded(vector: __m512) -> __m512i {
        // SAFETY: the caller's.
        unsafe {
            let bits = _mm512_castps_si512(vector);
            let odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x0001_0000));
            let half = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
            let rounded = _mm512_mask_add_epi32(half, odd, half, _mm512_set1_epi32(1));
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(vector, vector);
            let quiet = _mm512_set1_epi32(0x0040_0000);
            _mm512_mask_or_epi32(rounded, is_nan, bits, quiet)
        }
    }

    /// Converts whole vectors of `values`, if these are `f32` and items short floats, and returns how many
    /// values that is: from the first on.
    #[inline(always)]
    pub(super) fn narrow<S: Simd, A: Element, U: Element>(
        simd: S,
        values: &[A],
        items: &mut [U],
    ) -> usize {
        macro_rules! to {
            ($($short:ident)*) => { $(
                if let (Ok(values), Ok(items)) =
                    (cast!(values, &[f32]), cast!(&mut *items, &mut [$short]))
                {
                    // SAFETY: kernels run with the instruction set of their level.
                    return unsafe {
                        match simd.level() {
                            Level::Avx512(_) => store_all::<__m512, $short>(values, items),
                            Level::Avx2(_) => store_all::<__m256, $short>(values, items),
                            _ => 0,
                        }
                    };
                }
            )* };
        }
        to!(f16 bf16);
        0
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn store_all<V: Vector<Item = f32>, U: Stored<V>>(
        values: &[f32],
        items: &mut [U],
    ) -> usize {
        assert_eq!(values.len(), items.len());
        let whole = values.len() / V::LANES * V::LANES;
        for at in (0..whole).step_by(V::LANES) {
            // SAFETY: the caller's; `at + V::LANES <= whole`, and there are as many items as values.
            unsafe { U::store(V::load(values.as_ptr().add(at)), items.as_mut_ptr().add(at)) };
        }
        whole
    }

    /// A row of `N` halves, a multiple of 16, with the instruction of the level, which is
    /// [`converts`]'s.
    #[inline(always)]
    pub(super) fn widen_f16<S: Simd, const N: usize>(simd: S, halves: &[f16; N]) -> [f32; N] {
        assert!(converts::<S, f16, f32>(simd) && N.is_multiple_of(16));
        let mut singles = [0.0; N];
        for at in (0..N).step_by(16) {
            // SAFETY: kernels run with the instruction set of their level; `at + 16 <= N`.
            unsafe {
                let (from, to) = (halves.as_ptr().add(at), singles.as_mut_ptr().add(at));
                if let Level::Avx512(_) = simd.level() {
                    <f16 as Stored<__m512>>::load(from).store(to);
                } else {
                    <f16 as Stored<__m256>>::load(from).store(to);
                    <f16 as Stored<__m256>>::load(from.add(8)).store(to.add(8));
                }
            }
        }
        singles
    }
}

#[cfg(test)]
mod tests {
    use upsweep_core::{Number, bf16, f16};

    use super::*;
    use crate::tests::levels;

    /// Widens items at each level, from starts that no vector is aligned to and with ends that fill none.
    fn check_widening<T: Number + Widen<f32>>(items: &[T]) {
        for level in levels() {
            for (start, end) in [(0, 0), (1, 5), (3, 0), (15, 31)] {
                let items = &items[start..items.len() - end];
                let mut values = vec![7.0; items.len() + 1];
                widen_at(level, items, &mut values[..items.len()]);
                assert_eq!(values.pop(), Some(7.0), "nothing behind them is written");
                for (item, value) in items.iter().zip(values) {
                    let expected: f32 = item.widen();
                    let same = value.to_bits() == expected.to_bits();
                    let both_nan = item.is_nan() && value.is_nan();
                    assert!(same || both_nan, "{item:?} {value}");
                }
            }
        }
    }

    #[test]
    fn every_short_float_widens_to_its_value() {
        let bits = || 0..=u16::MAX;
        check_widening(&bits().map(f16::from_bits).collect::<Vec<_>>());
        check_widening(&bits().map(bf16::from_bits).collect::<Vec<_>>());
    }

    /// Each upper half of an `f32`, with lower halves around the borders of rounding for both types, and a sample of all others.
    fn singles() -> Vec<f32> {
        const LOWER: [u16; 20] = [
            0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x3001, 0x5000,
            0x7000, 0x7fff, 0x8000, 0x8001, 0x9000, 0xb000, 0xd000, 0xf000, 0xffff,
        ];
        let borders = (0..=u16::MAX)
            .flat_map(|upper| LOWER.map(|lower| u32::from(upper) << 16 | u32::from(lower)));
        borders.chain((0..=u32::MAX).step_by(65_521)).map(f32::from_bits).collect()
    }

    /// Narrows values at each level, from starts that no vector is aligned to and with ends that fill none.
    fn check_narrowing<U: Number<Acc = f32> + bytemuck::NoUninit>(half: impl Fn(f32) -> U) {
        let values = singles();
        let expected: Vec<U> = values.iter().map(|&value| half(value)).collect();
        let bits = |items: &[U]| bytemuck::cast_slice::<U, u16>(items).to_vec();
        for level in levels() {
            for (start, end) in [(0, 0), (1, 5), (3, 0), (15, 31)] {
                let range = start..values.len() - end;
                let values = &values[range.clone()];
                let mut items = vec![half(7.0); values.len() + 1];
                narrow_at(level, values, &mut items[..values.len()]);
                let behind = items.pop().expect("there is one");
                assert_eq!(bits(&[behind]), bits(&[half(7.0)]), "nothing behind them is written");
                if let Some(at) = (0..values.len())
                    .find(|&at| bits(&items[at..=at]) != bits(&expected[range.clone()][at..=at]))
                {
                    panic!("{:#010x} {:?} {level:?}", values[at].to_bits(), items[at]);
                }
            }
        }
    }

    #[test]
    fn every_single_is_rounded_as_half_rounds_it() {
        check_narrowing(f16::from_f32);
        check_narrowing(bf16::from_f32);
    }

    /// Four vectors at a time, as scans of rows store them.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn four_vectors_are_rounded_like_one() {
        use core::arch::x86_64::{__m256, __m512};

        use crate::simd::vector::{Stored, Vector};

        struct StoreFours<'a, U>(&'a [f32], &'a mut [U]);

        impl<U: Stored<__m256> + Stored<__m512>> StoreFours<'_, U> {
            /// # Safety
            /// As for [`Vector`].
            #[inline(always)]
            unsafe fn run_with<V: Vector<Item = f32>>(self)
            where
                U: Stored<V>,
            {
                let Self(values, items) = self;
                for at in (0..values.len()).step_by(4 * V::LANES) {
                    let from = values[at..at + 4 * V::LANES].as_ptr();
                    let to = items[at..at + 4 * V::LANES].as_mut_ptr();
                    // SAFETY: the caller's; as many items are written as were borrowed.
                    unsafe {
                        let vectors = [
                            V::load(from),
                            V::load(from.add(V::LANES)),
                            V::load(from.add(2 * V::LANES)),
                            V::load(from.add(3 * V::LANES)),
                        ];
                        <U as Stored<V>>::store_four(vectors, to);
                    }
                }
            }
        }

        impl<U: Stored<__m256> + Stored<__m512>> Kernel for StoreFours<'_, U> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                // SAFETY: kernels run with the instruction set of their level.
                unsafe {
                    match simd.level() {
                        Level::Avx512(_) => self.run_with::<__m512>(),
                        Level::Avx2(_) => self.run_with::<__m256>(),
                        _ => unreachable!("the test names the levels"),
                    }
                }
            }
        }

        fn check<U: Stored<__m256> + Stored<__m512> + bytemuck::NoUninit>(half: impl Fn(f32) -> U) {
            let mut values = singles();
            values.truncate(values.len() / 64 * 64);
            let expected: Vec<U> = values.iter().map(|&value| half(value)).collect();
            for level in levels().into_iter().filter(|&level| !isa::is_plain_at(level)) {
                let mut items = vec![half(7.0); values.len()];
                isa::run(level, StoreFours(&values, &mut items));
                let bits = |items: &[U]| bytemuck::cast_slice::<U, u16>(items).to_vec();
                assert!(bits(&items) == bits(&expected), "{level:?}");
            }
        }

        check(f16::from_f32);
        check(bf16::from_f32);
    }
}
