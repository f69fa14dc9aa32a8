//! Copies that leave the caches alone.
//!
//! An ordinary store first reads the line it writes to, so that a scan of an array larger than
//! the caches moves three bytes for two. A non-temporal store of a whole line does not.

use fearless_simd::Simd;
use upsweep_core::{Element, Kind};

/// Whether items of this type may be copied as bytes: numbers have no padding.
pub(crate) fn streams<T: Element>() -> bool {
    cfg!(target_arch = "x86_64") && matches!(T::KIND, Kind::Number(_))
}

/// Copies `source` to `target`, which have the same length, past the caches where that is
/// possible. Other threads see the result after [`fence`]. With each line that is written, a line
/// of `ahead` is fetched: so memory reads and writes at the same time, and not in turns.
#[inline(always)]
pub(crate) fn copy<S: Simd, T: Element, A>(simd: S, source: &[T], target: &mut [T], ahead: &[A]) {
    assert_eq!(source.len(), target.len());
    #[cfg(target_arch = "x86_64")]
    if streams::<T>() {
        copy_bytes(simd, source, target, ahead);
        return;
    }
    let _ = (simd, ahead);
    target.copy_from_slice(source);
}

/// Makes all non-temporal stores of this thread visible before any later store.
#[inline]
pub(crate) fn fence() {
    // SAFETY: every x86-64 has SSE.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}

/// Whole lines, by one store of AVX-512 or four of SSE2, which the write-combining buffer joins.
/// (On a Zen 4 the one store is about 5 % faster for one thread.)
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn copy_bytes<S: Simd, T: Element, A>(simd: S, source: &[T], target: &mut [T], ahead: &[A]) {
    use core::arch::x86_64::{
        _MM_HINT_T1, _mm_loadu_si128, _mm_prefetch, _mm_stream_si128, _mm512_loadu_si512,
        _mm512_stream_si512,
    };

    const LINE: usize = 64;
    let wide = matches!(simd.level(), fearless_simd::Level::Avx512(_));
    let bytes = size_of_val(source);
    let head = target.as_ptr().cast::<u8>().align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let (source, target) = (source.as_ptr().cast::<u8>(), target.as_mut_ptr().cast::<u8>());
    let fetched = size_of_val(ahead) / LINE;
    let ahead = ahead.as_ptr().cast::<i8>();
    // SAFETY: all accesses stay in `[0, bytes)` of both slices, which do not overlap because one
    // is borrowed mutably; numbers are bytes without padding; the stores are aligned to 64 because
    // `target + head` is; a prefetch may be of any address, and these lie in `ahead`; `simd`
    // proves that AVX-512 is there where it is used.
    unsafe {
        target.copy_from_nonoverlapping(source, head);
        for line in 0..lines {
            let (from, to) = (source.add(head + line * LINE), target.add(head + line * LINE));
            if line < fetched {
                _mm_prefetch::<_MM_HINT_T1>(ahead.add(line * LINE));
            }
            if wide {
                _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()));
                continue;
            }
            let quarters: [_; 4] =
                core::array::from_fn(|quarter| _mm_loadu_si128(from.add(16 * quarter).cast()));
            for (quarter, value) in quarters.into_iter().enumerate() {
                _mm_stream_si128(to.add(16 * quarter).cast(), value);
            }
        }
        let done = head + lines * LINE;
        target.add(done).copy_from_nonoverlapping(source.add(done), bytes - done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{self, Kernel};
    use crate::tests::levels;

    struct Copy<'a>(&'a [u8], &'a mut [u8]);

    impl Kernel for Copy<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            copy(simd, self.0, self.1, self.0);
            fence();
        }
    }

    #[test]
    fn copies_exactly_what_it_is_given() {
        let source: Vec<u8> = (0..500u32).map(|i| (i * 7 + 1) as u8).collect();
        for level in levels() {
            for start in 0..70 {
                for len in [0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 400] {
                    let mut target = vec![0u8; 500];
                    isa::run(level, Copy(&source[3..3 + len], &mut target[start..start + len]));
                    assert_eq!(target[start..start + len], source[3..3 + len], "{start} {len}");
                    assert!(target[..start].iter().chain(&target[start + len..]).all(|&b| b == 0));
                }
            }
        }
    }
}
