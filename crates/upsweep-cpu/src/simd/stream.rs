//! Stores that leave the caches alone.
//!
//! An ordinary store first reads the line it writes to, so that a scan of an array larger than
//! the caches moves three bytes for two. A non-temporal store of a whole line does not. But arrays
//! seldom begin at a line, and one ordinary store to a line that is in no cache holds up all
//! stores after it: with one for each two kilobytes a scan is half as fast. So [`StreamingOutput`] keeps what
//! does not fill a line until the rest of it comes.

use core::marker::PhantomData;
use core::ops::Range;
use core::slice;

use fearless_simd::{Level, Simd};
use upsweep_core::{Direction, Element, Kind};

use crate::isa::{self, Kernel};

/// Whether items of this type may be written as bytes: numbers have no padding.
pub(crate) fn streams<T: Element>() -> bool {
    cfg!(target_arch = "x86_64") && matches!(T::KIND, Kind::Number(_))
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

/// Bytes of a line of the caches.
const LINE: usize = 64;

const HALF: usize = LINE / 2;

/// An array that is written past the caches, from one end to the other. Other threads see what
/// was written after [`finish`](Self::finish) and [`fence`].
pub(crate) struct StreamingOutput<'a> {
    /// All of the array, in bytes.
    target: Range<*mut u8>,
    /// What has not been pushed.
    free: Range<*mut u8>,
    forward: bool,
    /// Bytes that are written at once: a line with AVX-512, else half of one, whose two halves
    /// the write-combining buffer joins. (On a Zen 4 whole lines are some 5 % faster.)
    unit: usize,
    /// What was pushed of the unit in which the free part begins (backward: ends), each byte at its
    /// place in the unit.
    waiting: [LineBuffer; 2],
    /// Which of the two is in use.
    current: usize,
    /// Where the other one goes, if it is full. It is written with the next push: to read it at
    /// once would be to wait for the stores of its bytes, behind all those past the caches.
    full: Option<*mut u8>,
    array: PhantomData<&'a mut [u8]>,
}

struct Push<'a, 'b> {
    lines: &'a mut StreamingOutput<'b>,
    bytes: &'a [u8],
    ahead: Prefetch<'a>,
}

impl Kernel for Push<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.lines.push(simd, self.bytes, self.ahead);
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct LineBuffer([u8; LINE]);

/// Where a kernel goes on writing.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Place {
    /// A unit that belongs to the array, aligned.
    pub(crate) unit: *mut u8,
    /// A unit, aligned: its first `filled` bytes come into the first unit, and there the kernel
    /// leaves as many that did not fill the last.
    pub(crate) waiting: *mut u8,
    pub(crate) filled: usize,
}

impl<'a> StreamingOutput<'a> {
    /// All of `target` is to be written. For types that [`streams`] allows.
    pub(crate) fn new<T: Element>(target: &'a mut [T], direction: Direction, level: Level) -> Self {
        assert!(streams::<T>());
        let target = target.as_mut_ptr_range();
        let target = target.start.cast::<u8>()..target.end.cast::<u8>();
        #[cfg(target_arch = "x86_64")]
        let whole = matches!(level, Level::Avx512(_));
        #[cfg(not(target_arch = "x86_64"))]
        let whole = matches!(level, _);
        Self {
            free: target.clone(),
            target,
            forward: direction == Direction::Forward,
            unit: if whole { LINE } else { HALF },
            waiting: [LineBuffer([0; LINE]); 2],
            current: 0,
            full: None,
            array: PhantomData,
        }
    }

    /// Bytes up to the next border between units, none if we are at one.
    pub(crate) fn to_border(&self) -> usize {
        match self.forward {
            true => self.free.start.addr().wrapping_neg() % self.unit,
            false => self.free.end.addr() % self.unit,
        }
    }

    /// Writes `items`, which are in the order of memory. With each unit that is written as much of
    /// `ahead` is fetched: so memory reads and writes at the same time, and not in turns.
    #[inline(always)]
    pub(crate) fn push<S: Simd, T: Element>(&mut self, simd: S, items: &[T], ahead: Prefetch<'_>) {
        assert!(streams::<T>());
        // SAFETY: numbers have no padding.
        let bytes =
            unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
        assert!(bytes.len() <= self.free.end.addr() - self.free.start.addr());
        self.write_full();
        let unit = self.unit;
        let in_unit = |at: *mut u8| at.addr() % unit;
        if self.forward {
            let filled = in_unit(self.free.start);
            let (first, rest) = bytes.split_at(bytes.len().min((unit - filled) % unit));
            let (whole, last) = rest.split_at(rest.len() / unit * unit);
            if !first.is_empty() {
                self.waiting[self.current].0[filled..filled + first.len()].copy_from_slice(first);
                if filled + first.len() == unit {
                    self.full = Some(self.free.start.wrapping_sub(filled));
                    self.current ^= 1;
                }
            }
            let to = self.free.start.wrapping_add(first.len());
            // SAFETY: `to` is at a border if there are whole units; they are free.
            unsafe { write_units(simd, whole, to, ahead) };
            self.waiting[self.current].0[..last.len()].copy_from_slice(last);
            self.free.start = self.free.start.wrapping_add(bytes.len());
        } else {
            let filled = in_unit(self.free.end);
            let (rest, first) = bytes.split_at(bytes.len() - bytes.len().min(filled));
            let (last, whole) = rest.split_at(rest.len() % unit);
            if !first.is_empty() {
                self.waiting[self.current].0[filled - first.len()..filled].copy_from_slice(first);
                if first.len() == filled {
                    self.full = Some(self.free.end.wrapping_sub(filled));
                    self.current ^= 1;
                }
            }
            let to = self.free.end.wrapping_sub(first.len() + whole.len());
            // SAFETY: as above.
            unsafe { write_units(simd, whole, to, ahead) };
            if !last.is_empty() {
                self.waiting[self.current].0[unit - last.len()..unit].copy_from_slice(last);
            }
            self.free.end = self.free.end.wrapping_sub(bytes.len());
        }
    }

    /// [`push`](Self::push), compiled once.
    pub(crate) fn push_at<T: Element>(&mut self, level: Level, items: &[T], ahead: Prefetch<'_>) {
        assert!(streams::<T>());
        // SAFETY: numbers have no padding.
        let bytes =
            unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
        self.push_bytes(level, bytes, ahead);
    }

    #[inline(never)]
    fn push_bytes(&mut self, level: Level, bytes: &[u8], ahead: Prefetch<'_>) {
        isa::run(level, Push { lines: self, bytes, ahead });
    }

    /// Lets a kernel write the next `bytes` bytes: every unit that gets full, by a non-temporal
    /// store; what is left goes to `waiting`. `None` where the unit is not all of this array: then
    /// push something first; and where what waits is no multiple of `step` bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn reserve(&mut self, bytes: usize, step: usize) -> Option<Place> {
        assert!(bytes <= self.free.end.addr() - self.free.start.addr());
        let filled = self.free.start.addr() % self.unit;
        let unit = self.free.start.wrapping_sub(filled);
        if !self.forward || unit < self.target.start || !filled.is_multiple_of(step) {
            return None;
        }
        self.write_full();
        self.free.start = self.free.start.wrapping_add(bytes);
        Some(Place { unit, waiting: self.waiting[self.current].0.as_mut_ptr(), filled })
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) {
        self.write_full();
        let unit = self.unit;
        // SAFETY: what was pushed of the unit in which the free part begins or ends.
        unsafe {
            if self.forward {
                let filled = self.free.start.addr() % unit;
                self.write(self.current, self.free.start.wrapping_sub(filled), 0..filled);
            } else {
                let filled = self.free.end.addr() % unit;
                if filled > 0 {
                    self.write(self.current, self.free.end.wrapping_sub(filled), filled..unit);
                }
            }
        }
    }

    #[inline(always)]
    fn write_full(&mut self) {
        if let Some(to) = self.full.take() {
            // SAFETY: all of the unit was pushed.
            unsafe { self.write(self.current ^ 1, to, 0..self.unit) };
        }
    }

    /// Writes the bytes `filled` of a waiting unit to `to`, as far as they are of this array.
    ///
    /// # Safety
    /// These bytes must have been pushed.
    #[inline(always)]
    unsafe fn write(&self, waiting: usize, to: *mut u8, filled: Range<usize>) {
        let start = filled.start.max(self.target.start.addr().saturating_sub(to.addr()));
        let end = filled.end.min(self.target.end.addr() - to.addr());
        let from = self.waiting[waiting].0.as_ptr();
        // SAFETY: `[start, end)` of the unit is in the target, and nothing else borrows that.
        unsafe {
            if end - start == self.unit {
                for half in (0..self.unit).step_by(HALF) {
                    write_half(from.add(half), to.add(half));
                }
            } else {
                to.wrapping_add(start).copy_from_nonoverlapping(from.add(start), end - start);
            }
        }
    }
}

/// Writes whole units from anywhere to `to`, fetching `ahead`.
///
/// # Safety
/// `to` must be aligned to a unit, as [`StreamingOutput::new`] chooses it for the level of `simd`, and valid
/// for `from.len()` bytes.
#[inline(always)]
unsafe fn write_units<S: Simd>(simd: S, from: &[u8], to: *mut u8, ahead: Prefetch<'_>) {
    // SAFETY: all accesses stay in `from` and as many bytes from `to`.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(_) = simd.level() {
            use core::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
            for at in (0..from.len()).step_by(LINE) {
                ahead.fetch(at);
                let line = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                _mm512_stream_si512(to.add(at).cast(), line);
            }
            return;
        }
        let _ = simd;
        for at in (0..from.len()).step_by(HALF) {
            ahead.fetch(at);
            write_half(from.as_ptr().add(at), to.add(at));
        }
    }
}

/// Writes half a line from anywhere to `to`.
///
/// # Safety
/// Both must be valid for half a line, and `to` be aligned to 16.
#[inline(always)]
unsafe fn write_half(from: *const u8, to: *mut u8) {
    // SAFETY: see above; every x86-64 has SSE2.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
        let (front, back) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(16).cast()));
        _mm_stream_si128(to.cast(), front);
        _mm_stream_si128(to.add(16).cast(), back);
    }
    // SAFETY: see above.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        to.copy_from_nonoverlapping(from, HALF);
    }
}

/// What a thread reads soon.
#[derive(Clone, Copy)]
pub(crate) struct Prefetch<'a> {
    start: *const u8,
    bytes: usize,
    items: PhantomData<&'a [u8]>,
}

impl<'a> Prefetch<'a> {
    pub(crate) fn new<T>(items: &'a [T]) -> Self {
        Self { start: items.as_ptr().cast(), bytes: size_of_val(items), items: PhantomData }
    }

    /// Without its first `bytes` bytes, or none if there are not so many.
    pub(crate) fn after(self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        Self { start: self.start.wrapping_add(bytes), bytes: self.bytes - bytes, ..self }
    }

    /// Fetches the line of byte `at`, if there is one, to the second-level cache.
    #[inline(always)]
    pub(crate) fn fetch(self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if at < self.bytes {
            use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch may be of any address, and this one is of the items.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(self.start.add(at).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (self.start, self.bytes, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::levels;

    /// Pushes `source` to `target` in pieces.
    struct Copy<'a> {
        source: &'a [u8],
        target: &'a mut [u8],
        direction: Direction,
        pieces: &'a [usize],
        level: Level,
    }

    impl Kernel for Copy<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let mut rest = self.source;
            let mut lines = StreamingOutput::new(self.target, self.direction, self.level);
            for &piece in self.pieces.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let piece = piece.min(rest.len());
                let (front, back) = match self.direction {
                    Direction::Forward => rest.split_at(piece),
                    Direction::Reverse => rest.split_at(rest.len() - piece),
                };
                let items = match self.direction {
                    Direction::Forward => (rest = back, front).1,
                    Direction::Reverse => (rest = front, back).1,
                };
                lines.push(simd, items, Prefetch::new(self.source));
            }
            lines.finish();
            fence();
        }
    }

    #[test]
    fn writes_exactly_what_it_is_given() {
        let source: Vec<u8> = (0..500u32).map(|i| (i * 7 + 1) as u8).collect();
        let pieces: [&[usize]; 5] = [&[500], &[1], &[64], &[13, 80, 3], &[128, 5]];
        for level in levels() {
            for direction in [Direction::Forward, Direction::Reverse] {
                for start in 0..70 {
                    for len in [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 200, 400] {
                        for pieces in pieces {
                            let mut target = vec![0u8; 500];
                            let source = &source[3..3 + len];
                            let written = &mut target[start..start + len];
                            let target_of =
                                Copy { source, target: written, direction, pieces, level };
                            isa::run(level, target_of);
                            assert_eq!(target[start..start + len], *source, "{start} {len}");
                            let mut others = target[..start].iter().chain(&target[start + len..]);
                            assert!(others.all(|&b| b == 0), "{start} {len}");
                        }
                    }
                }
            }
        }
    }
}
