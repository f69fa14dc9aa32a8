//! Sums of bytes on AVX-512: prefixes of eight vectors at a time.
//!
//! ```text
//!   a b c d e f g h │ …       groups of eight bytes, eight in each vector
//!   a ab c cd …               one multiplication of 16-bit lanes by 257
//!   a ab abc abcd …           one shuffle, one addition
//!   a ab … abcdefgh │ …       the same again
//! ```
//! The last bytes of all 64 groups make one vector of totals. Its prefixes are found in the same way, and
//! each goes back to the eight bytes of the group behind it. That takes ten instructions for a vector where
//! the windows of `scan::slide` take sixteen, and only one addition waits for the block before.
//!
//! Indices come through [`black_box`], as in [`wide`](super::wide). Of the factor 257 the compiler would make
//! a shift, which waits for the same units as shuffles do, and an addition.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every function has the one contract that `scan_sums` states, and every block relies on it alone"
)]

use core::arch::x86_64::*;
use core::hint::black_box;

use super::stream::{Prefetch, StreamingOutput};

/// Bytes of a vector, and of eight.
const VECTOR: usize = 64;
const BLOCK: usize = 8 * VECTOR;

/// Bytes for which it pays to load the indices.
pub(crate) const LEAST: usize = 4_096;

/// Takes nothing: an index of [`_mm512_shuffle_epi8`] that gives zero.
const NONE: u8 = 0x80;

/// Indices of shuffles, once for many blocks.
#[derive(Clone, Copy)]
struct Places {
    /// In runs of 4, 8 and 16: the last byte of the first half for each byte of the second.
    halves: [__m512i; 3],
    /// The same in runs of 32 and 64, across lanes of 16 bytes, with the bytes that get something.
    lanes: [(__mmask64, __m512i); 2],
    /// The last bytes of the groups of two vectors, four times.
    totals: __m512i,
    /// 16 bytes of 32.
    upper: __mmask64,
    /// 257 for each 16-bit lane.
    factor: __m512i,
    /// The byte before.
    before: __m512i,
    /// The last byte for each.
    last: __m512i,
    /// Byte `8 * vector + group` for all of the group.
    spread: [__m512i; 8],
}

/// A vector of bytes that the compiler shall not know.
///
/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
unsafe fn hidden(places: &'static [u8; VECTOR]) -> __m512i {
    unsafe { _mm512_loadu_si512(black_box(places).as_ptr().cast()) }
}

/// For each byte the place of the byte before its half of `run` bytes, if it is the second half, within a lane.
const fn half(run: usize, lane: usize, none: u8) -> [u8; VECTOR] {
    let mut places = [none; VECTOR];
    let mut at = 0;
    while at < VECTOR {
        if at % run >= run / 2 {
            places[at] = ((at - at % run + run / 2 - 1) % lane) as u8;
        }
        at += 1;
    }
    places
}

impl Places {
    /// # Safety
    /// As for [`scan_sums`].
    #[inline(always)]
    unsafe fn new() -> Self {
        const FOURS: [u8; VECTOR] = half(4, 16, NONE);
        const EIGHTS: [u8; VECTOR] = half(8, 16, NONE);
        const SIXTEENS: [u8; VECTOR] = half(16, 16, NONE);
        const LANES: [[u8; VECTOR]; 2] = [half(32, VECTOR, 0), half(VECTOR, VECTOR, 0)];
        const TOTALS: [u8; VECTOR] = {
            let mut places = [0; VECTOR];
            let mut at = 0;
            while at < VECTOR {
                places[at] = (at % 16 * 8 + 7) as u8;
                at += 1;
            }
            places
        };
        const BEFORE: [u8; VECTOR] = {
            let mut places = [0; VECTOR];
            let mut at = 1;
            while at < VECTOR {
                places[at] = at as u8 - 1;
                at += 1;
            }
            places
        };
        const GROUPS: [u8; VECTOR] = {
            let mut places = [0; VECTOR];
            let mut at = 0;
            while at < VECTOR {
                places[at] = at as u8 / 8;
                at += 1;
            }
            places
        };
        unsafe {
            let groups = hidden(&GROUPS);
            let mut spread = [groups; 8];
            for (vector, spread) in spread.iter_mut().enumerate() {
                *spread = _mm512_add_epi8(groups, _mm512_set1_epi8(8 * vector as i8));
            }
            Self {
                halves: [hidden(&FOURS), hidden(&EIGHTS), hidden(&SIXTEENS)],
                lanes: [
                    (*black_box(&0xffff_0000_ffff_0000), hidden(&LANES[0])),
                    (*black_box(&0xffff_ffff_0000_0000), hidden(&LANES[1])),
                ],
                totals: hidden(&TOTALS),
                upper: *black_box(&0xffff_0000_ffff_0000),
                factor: hidden(&[1; VECTOR]),
                before: hidden(&BEFORE),
                last: hidden(&[VECTOR as u8 - 1; VECTOR]),
                spread,
            }
        }
    }
}

/// Sums of the bytes from the first of each group of eight on.
///
/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
unsafe fn group_prefixes(bytes: __m512i, places: &Places) -> __m512i {
    unsafe {
        // The lower byte stays, and comes to the upper one, which has no carry to hand on.
        let pairs = _mm512_mullo_epi16(bytes, places.factor);
        let fours = _mm512_add_epi8(pairs, _mm512_shuffle_epi8(pairs, places.halves[0]));
        _mm512_add_epi8(fours, _mm512_shuffle_epi8(fours, places.halves[1]))
    }
}

/// Sums of the bytes from the first of all on.
///
/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
unsafe fn prefixes(bytes: __m512i, places: &Places) -> __m512i {
    unsafe {
        let mut sums = group_prefixes(bytes, places);
        sums = _mm512_add_epi8(sums, _mm512_shuffle_epi8(sums, places.halves[2]));
        for (mask, places) in places.lanes {
            sums = _mm512_add_epi8(sums, _mm512_maskz_permutexvar_epi8(mask, places, sums));
        }
        sums
    }
}

/// Writes the prefixes of all whole blocks. Takes what comes in, and returns what goes out and how many bytes that was.
///
/// # Safety
/// Only where AVX-512 as of Ice Lake is enabled, from code that is inlined into a function with these features.
#[inline(always)]
pub(crate) unsafe fn scan_sums(
    input: &[u8],
    output: &mut [u8],
    carry: u8,
    exclusive: bool,
) -> (u8, usize) {
    assert_eq!(input.len(), output.len());
    let to = output.as_mut_ptr();
    unsafe {
        scan_blocks(
            input,
            carry,
            exclusive,
            #[inline(always)]
            |at, sums| _mm512_storeu_si512(to.add(at).cast(), sums),
        )
    }
}

/// The same past the caches, fetching with each line one of `ahead`. Does nothing where `lines` are not at a border between units.
///
/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
pub(crate) unsafe fn stream_sums(
    input: &[u8],
    lines: &mut StreamingOutput<'_>,
    ahead: Prefetch<'_>,
    carry: u8,
    exclusive: bool,
) -> (u8, usize) {
    let whole = input.len() / BLOCK * BLOCK;
    if lines.to_border() > 0 {
        return (carry, 0);
    }
    let Some(place) = lines.reserve(whole, 1) else { return (carry, 0) };
    let to = place.unit;
    unsafe {
        scan_blocks(
            input,
            carry,
            exclusive,
            #[inline(always)]
            |at, sums| {
                ahead.fetch(at);
                _mm512_stream_si512(to.add(at).cast(), sums);
            },
        )
    }
}

/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
unsafe fn scan_blocks(
    input: &[u8],
    carry: u8,
    exclusive: bool,
    store: impl Fn(usize, __m512i),
) -> (u8, usize) {
    unsafe {
        let places = Places::new();
        let mut carry = _mm512_set1_epi8(carry as i8);
        let blocks = input.as_chunks::<BLOCK>().0;
        for (block, from) in blocks.iter().enumerate() {
            let mut groups = [carry; 8];
            for (vector, groups) in groups.iter_mut().enumerate() {
                *groups = group_prefixes(load(from, vector), &places);
            }
            // Of two vectors 16 totals, in each lane of 16 bytes.
            let mut lanes = [carry; 4];
            for (lane, totals) in lanes.iter_mut().enumerate() {
                let (left, right) = (groups[2 * lane], groups[2 * lane + 1]);
                *totals = _mm512_permutex2var_epi8(left, places.totals, right);
            }
            let front = _mm512_mask_blend_epi8(places.upper, lanes[0], lanes[1]);
            let back = _mm512_mask_blend_epi8(places.upper, lanes[2], lanes[3]);
            let totals = _mm512_inserti64x4::<0>(back, _mm512_castsi512_si256(front));
            let totals = prefixes(totals, &places);
            let before = _mm512_maskz_permutexvar_epi8(!1, places.before, totals);
            let before = _mm512_add_epi8(before, carry);
            carry = _mm512_add_epi8(carry, _mm512_permutexvar_epi8(places.last, totals));
            for (vector, groups) in groups.into_iter().enumerate() {
                let before = _mm512_permutexvar_epi8(places.spread[vector], before);
                let mut sums = _mm512_add_epi8(groups, before);
                if exclusive {
                    // Sums wrap, so that taking the item off gives what was before it.
                    sums = _mm512_sub_epi8(sums, load(from, vector));
                }
                store(block * BLOCK + vector * VECTOR, sums);
            }
        }
        let carry = _mm_cvtsi128_si32(_mm512_castsi512_si128(carry)) as u8;
        (carry, blocks.len() * BLOCK)
    }
}

/// # Safety
/// As for [`scan_sums`].
#[inline(always)]
unsafe fn load(block: &[u8; BLOCK], vector: usize) -> __m512i {
    unsafe { _mm512_loadu_si512(block.as_ptr().add(vector * VECTOR).cast()) }
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, Simd};
    use upsweep_core::Direction;

    use super::*;
    use crate::isa::{self, Kernel};
    use crate::simd::stream;
    use crate::tests::levels;

    struct ScanSums<'a>(&'a [u8], &'a mut [u8], bool);

    impl Kernel for ScanSums<'_> {
        type Output = (u8, usize);
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> (u8, usize) {
            let Level::Avx512(_) = simd.level() else { unreachable!("the test names the level") };
            // SAFETY: kernels run with the instruction set of their level.
            unsafe { scan_sums(self.0, self.1, 201, self.2) }
        }
    }

    #[test]
    fn whole_blocks_have_the_sums_of_single_bytes() {
        let input: Vec<u8> = (0..2_000u32).map(|i| (i * i * 7 + i / 3 + 200) as u8).collect();
        for level in levels().into_iter().filter(|level| matches!(level, Level::Avx512(_))) {
            for (start, len) in [(0, 0), (0, 511), (1, 512), (3, 1_024), (5, 1_900)] {
                let input = &input[start..start + len];
                let whole = len / BLOCK * BLOCK;
                let mut sums = vec![201u8];
                for &byte in &input[..whole] {
                    sums.push(sums[sums.len() - 1].wrapping_add(byte));
                }
                let mut output = vec![9; len];
                let done = isa::run(level, ScanSums(input, &mut output, false));
                assert_eq!(done, (sums[whole], whole));
                assert_eq!(output[..whole], sums[1..]);
                assert!(output[whole..].iter().all(|&byte| byte == 9));
                let done = isa::run(level, ScanSums(input, &mut output, true));
                assert_eq!(done, (sums[whole], whole));
                assert_eq!(output[..whole], sums[..whole]);
            }
        }
    }

    struct StreamSums<'a, 'b>(&'a [u8], &'a mut StreamingOutput<'b>, bool);

    impl Kernel for StreamSums<'_, '_> {
        type Output = (u8, usize);
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> (u8, usize) {
            let Level::Avx512(_) = simd.level() else { unreachable!("the test names the level") };
            // SAFETY: kernels run with the instruction set of their level.
            unsafe { stream_sums(self.0, self.1, Prefetch::new(self.0), 201, self.2) }
        }
    }

    #[test]
    fn lines_get_the_same_from_a_border_on() {
        let input: Vec<u8> = (0..1_100u32).map(|i| (i * i * 3 + i / 7) as u8).collect();
        for level in levels().into_iter().filter(|level| matches!(level, Level::Avx512(_))) {
            for (exclusive, start) in (0..130).map(|start| (start % 2 == 1, start)) {
                let mut memory = vec![9; 1_400];
                let mut expected = vec![9; input.len()];
                isa::run(level, ScanSums(&input, &mut expected, exclusive));
                let target = &mut memory[start..start + 1_200];
                let mut lines = StreamingOutput::new(target, Direction::Forward, level);
                let first = lines.to_border();
                if first > 0 {
                    let done = isa::run(level, StreamSums(&input, &mut lines, exclusive));
                    assert_eq!(done, (201, 0), "the first line is not all of the target's");
                    lines.push_at(level, &[8u8; VECTOR][..first], Prefetch::new(&input));
                }
                let (_, done) = isa::run(level, StreamSums(&input, &mut lines, exclusive));
                lines.finish();
                stream::fence();
                assert_eq!(done, 2 * BLOCK);
                let (before, rest) = memory.split_at(start + first);
                assert!(before[..start].iter().all(|&byte| byte == 9), "{start}");
                assert!(before[start..].iter().all(|&byte| byte == 8), "{start}");
                assert_eq!(rest[..done], expected[..done], "{start}");
                assert!(rest[done..].iter().all(|&byte| byte == 9), "{start}");
            }
        }
    }
}
