//! `f16` to `f32`, a row at a time, with the conversion instruction where there is one.

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
        && N.is_multiple_of(8)
        && let Ok(halves) = cast!(row, &[f16; N])
        && let Ok(values) = cast!(f16c(simd, halves), [A; N])
    {
        return values;
    }
    let _ = simd;
    core::array::from_fn(
        #[inline(always)]
        |i| row[i].widen(),
    )
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
        fn run<S: Simd>(self, _: S) {
            for (item, &value) in self.1.iter_mut().zip(self.0) {
                *item = U::from_acc(value);
            }
        }
    }

    match cast!(values, &[U]) {
        Ok(values) => items.copy_from_slice(values),
        Err(values) => isa::run(level, All(values, items)),
    }
}

/// F16C, which every CPU has whose level is [`converts`]'s.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn f16c<S: Simd, const N: usize>(simd: S, halves: &[f16; N]) -> [f32; N] {
    use core::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};

    assert!(converts::<S, f16, f32>(simd) && N.is_multiple_of(8));
    let mut singles = [0.0; N];
    for i in (0..N).step_by(8) {
        // SAFETY: the level that `simd` stands for includes F16C and AVX; `i + 8 <= N`, and
        // neither access needs alignment.
        unsafe {
            let eight = _mm_loadu_si128(halves.as_ptr().add(i).cast());
            _mm256_storeu_ps(singles.as_mut_ptr().add(i), _mm256_cvtph_ps(eight));
        }
    }
    singles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    struct WidenRow([f16; 16]);

    impl Kernel for WidenRow {
        type Output = [f32; 16];
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [f32; 16] {
            widen_row(simd, &self.0)
        }
    }

    #[test]
    fn every_half_widens_to_its_value() {
        for level in levels() {
            for first in (0..=u16::MAX).step_by(16) {
                let halves = core::array::from_fn(|i| f16::from_bits(first + i as u16));
                let singles = isa::run(level, WidenRow(halves));
                for (half, single) in halves.into_iter().zip(singles) {
                    let expected = upsweep_core::f16_to_f32(half);
                    let same = single.to_bits() == expected.to_bits();
                    assert!(same || (half.is_nan() && single.is_nan()), "{half:?} {single}");
                }
            }
        }
    }
}
