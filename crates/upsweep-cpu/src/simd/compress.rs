//! Compaction of 64 items at a time by a mask of 64 bits.
//!
//! ```text
//!   from   a b c d e f g h …      items
//!   mask   1 0 0 1 1 0 1 0 …      the lowest bit is that of the first item
//!   to     a d e g ? ? ? ? …      a whole vector is stored, of which the next one replaces what is behind its kept items
//! ```
//! AVX-512 compresses a vector in a register and stores all of it: `vpcompress` to memory takes some 140 cycles on a Zen 4. AVX2 permutes eight
//! items, or four of 8 bytes, by a table. Elsewhere, and for items of other sizes, each item is written and the place for the next
//! one advances by the bit. No way has a branch for an item.
//!
//! Whole vectors never reach beyond the room of the items: of the items in front at most all are kept, so that a vector ends at the
//! latest where it ended in `from`. That also holds in place, where a vector is loaded before anything is stored over it.

use fearless_simd::{Level, Simd};

use crate::isa::is_plain_at;

/// Bytes that a way may store beyond what is kept: a vector, or an item.
pub(crate) const OVERRUN: usize = 64;

/// Items of a mask.
pub(crate) const GROUP: usize = u64::BITS as usize;

/// Moves the items whose bit is set to the front of `to`, in order.
///
/// # Safety
/// `masks` has a bit for each of `items` items, and none that is set beyond. `from` is valid for reads of as many items, `to` for writes of
/// as many; or of those that are kept, and behind them [`OVERRUN`] bytes and at least an item. Both may be of one array, if `to` does not lie
/// behind `from` and there is room for all items.
pub(crate) type CompactItems = unsafe fn(masks: &[u64], from: *const u8, items: usize, to: *mut u8);

/// Writes the numbers of the bits that are set to the front of `to`, in order, counted from `first` on.
///
/// # Safety
/// As for [`CompactItems`], of numbers of 4 or 8 bytes. Those of 4 bytes hold every number that is written.
pub(crate) type CompactNumbers = unsafe fn(masks: &[u64], first: u64, items: usize, to: *mut u8);

/// The fastest way at this level for items of so many bytes, each of which may be read, if there is one for the size.
pub(crate) fn find_items(level: Level, item_bytes: usize) -> Option<CompactItems> {
    #[cfg(target_arch = "x86_64")]
    if !is_plain_at(level) {
        return x86::items(matches!(level, Level::Avx512(_)), item_bytes);
    }
    let _ = is_plain_at(level);
    Some(match item_bytes {
        1 => compact_plainly::<u8>,
        2 => compact_plainly::<u16>,
        4 => compact_plainly::<u32>,
        8 => compact_plainly::<u64>,
        _ => return None,
    })
}

/// The fastest way at this level for numbers of 8 bytes if they are long, else of 4.
pub(crate) fn find_numbers(level: Level, long: bool) -> CompactNumbers {
    #[cfg(target_arch = "x86_64")]
    if !is_plain_at(level) {
        return x86::numbers(matches!(level, Level::Avx512(_)), long);
    }
    let _ = level;
    if long { number_plainly::<u64> } else { number_plainly::<u32> }
}

/// Moves items of any type.
///
/// # Safety
/// As for [`CompactItems`].
pub(crate) unsafe fn compact_plainly<T: Copy>(
    masks: &[u64],
    from: *const u8,
    items: usize,
    to: *mut u8,
) {
    // SAFETY: the caller's.
    unsafe { compact(masks, items, to, PlainItems(from.cast::<T>())) }
}

/// Writes numbers of bits, of any type.
///
/// # Safety
/// As for [`CompactNumbers`].
pub(crate) unsafe fn number_plainly<I: PlainNumber>(
    masks: &[u64],
    first: u64,
    items: usize,
    to: *mut u8,
) {
    // SAFETY: the caller's.
    unsafe { compact(masks, items, to, PlainNumbers::<I>(first, core::marker::PhantomData)) }
}

/// How some neighbouring items are compacted at once.
trait Lanes: Copy {
    /// How many, a divisor of [`GROUP`].
    const LANES: usize;
    /// Bytes of an item.
    const BYTES: usize;
    /// Whether it takes longer than looking at a mask first.
    const LOOKS: bool;

    /// Compacts those from number `item` on by the lowest bits of a mask, of which no others are set, with a store of [`LANES`](Self::LANES)
    /// items at most.
    ///
    /// # Safety
    /// As for [`CompactItems`]; the instructions must be there.
    unsafe fn step(self, item: usize, bits: u64, to: *mut u8);

    /// Writes one item.
    ///
    /// # Safety
    /// As for [`CompactItems`].
    unsafe fn one(self, item: usize, to: *mut u8);

    /// Writes a whole group.
    ///
    /// # Safety
    /// As for [`CompactItems`]; the instructions must be there.
    #[inline(always)]
    unsafe fn all(self, item: usize, to: *mut u8) {
        let full = u64::MAX >> (GROUP - Self::LANES);
        for step in (0..GROUP).step_by(Self::LANES) {
            // SAFETY: the caller's.
            unsafe { self.step(item + step, full, to.add(step * Self::BYTES)) };
        }
    }
}

/// # Safety
/// As for [`CompactItems`]; the instructions of the lanes must be there.
#[inline(always)]
unsafe fn compact<L: Lanes>(masks: &[u64], items: usize, mut to: *mut u8, lanes: L) {
    let full = u64::MAX >> (GROUP - L::LANES);
    let whole = items / GROUP;
    // SAFETY: the caller's. Behind what is kept of the items in front there is room for all others.
    unsafe {
        for (group, &mask) in masks.iter().take(whole).enumerate() {
            let item = group * GROUP;
            if L::LOOKS {
                if mask == 0 {
                    continue;
                }
                if mask == u64::MAX {
                    lanes.all(item, to);
                    to = to.add(GROUP * L::BYTES);
                    continue;
                }
            }
            for step in (0..GROUP).step_by(L::LANES) {
                let bits = mask >> step & full;
                lanes.step(item + step, bits, to);
                to = to.add(bits.count_ones() as usize * L::BYTES);
            }
        }
        if let Some(&mask) = masks.get(whole) {
            let mut bits = mask;
            while bits != 0 {
                lanes.one(whole * GROUP + bits.trailing_zeros() as usize, to);
                to = to.add(L::BYTES);
                bits &= bits - 1;
            }
        }
    }
}

#[derive(Clone, Copy)]
struct PlainItems<T>(*const T);

impl<T: Copy> Lanes for PlainItems<T> {
    const LANES: usize = 1;
    const BYTES: usize = size_of::<T>();
    const LOOKS: bool = true;

    #[inline(always)]
    unsafe fn step(self, item: usize, _: u64, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { self.one(item, to) };
    }

    #[inline(always)]
    unsafe fn one(self, item: usize, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { to.cast::<T>().write_unaligned(self.0.add(item).read_unaligned()) };
    }

    #[inline(always)]
    unsafe fn all(self, item: usize, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { to.copy_from(self.0.add(item).cast(), GROUP * size_of::<T>()) };
    }
}

/// A number of an item.
pub(crate) trait PlainNumber: Copy {
    /// The number, of which there must be enough bits.
    fn of(number: u64) -> Self;
}

impl PlainNumber for u32 {
    #[inline(always)]
    fn of(number: u64) -> Self {
        number as u32
    }
}

impl PlainNumber for u64 {
    #[inline(always)]
    fn of(number: u64) -> Self {
        number
    }
}

#[derive(Clone, Copy)]
struct PlainNumbers<I>(u64, core::marker::PhantomData<I>);

impl<I: PlainNumber> Lanes for PlainNumbers<I> {
    const LANES: usize = 1;
    const BYTES: usize = size_of::<I>();
    const LOOKS: bool = true;

    #[inline(always)]
    unsafe fn step(self, item: usize, _: u64, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { self.one(item, to) };
    }

    #[inline(always)]
    unsafe fn one(self, item: usize, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { to.cast::<I>().write_unaligned(I::of(self.0 + item as u64)) };
    }
}

/// A bit for each byte that is not 0.
#[inline(always)]
pub(crate) fn mask_of<S: Simd>(simd: S, bytes: &[u8; GROUP]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the level of a kernel is there, and SSE2 is everywhere.
    unsafe {
        use core::arch::x86_64::*;
        match simd.level() {
            Level::Avx512(_) => {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
                _mm512_test_epi8_mask(bytes, bytes)
            }
            Level::Avx2(_) => {
                let half = |at: usize| {
                    let bytes = _mm256_loadu_si256(bytes.as_ptr().add(at).cast());
                    let zeros = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
                    u64::from(_mm256_movemask_epi8(zeros) as u32)
                };
                !(half(0) | half(32) << 32)
            }
            _ => {
                let quarter = |at: usize| {
                    let bytes = _mm_loadu_si128(bytes.as_ptr().add(at).cast());
                    let zeros = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
                    u64::from(_mm_movemask_epi8(zeros) as u16) << at
                };
                !(quarter(0) | quarter(16) | quarter(32) | quarter(48))
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = simd;
        let mut mask = 0;
        for (k, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let ones = u64::from_le_bytes(eight.map(|byte| (byte != 0).into()));
            // Gathers the lowest bits of eight bytes in the highest byte.
            mask |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k);
        }
        mask
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every function has the contract of `CompactItems` and needs its instructions, and every block relies on that alone"
)]
mod x86 {
    use core::arch::x86_64::*;

    use super::{CompactItems, CompactNumbers, GROUP, Lanes, compact};

    /// Defines a function for each size, which all compact by the lanes of an instruction set.
    macro_rules! functions {
        ($features:literal $($name:ident $lanes:ident $from:ty;)*) => { $(
            /// # Safety
            /// As for [`CompactItems`] or [`CompactNumbers`], where these features are.
            #[target_feature(enable = $features)]
            unsafe fn $name(masks: &[u64], from: $from, items: usize, to: *mut u8) {
                unsafe { compact(masks, items, to, $lanes(from)) }
            }
        )* };
    }

    functions! { "avx2,bmi1,bmi2,lzcnt,popcnt"
        table_1 Table1 *const u8;
        table_2 Table2 *const u8;
        table_4 Table4 *const u8;
        table_8 Table8 *const u8;
        table_numbers_4 TableNumbers4 u64;
        table_numbers_8 TableNumbers8 u64;
    }

    functions! { "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
        wide_1 Wide1 *const u8;
        wide_2 Wide2 *const u8;
        wide_4 Wide4 *const u8;
        wide_8 Wide8 *const u8;
        wide_numbers_4 WideNumbers4 u64;
        wide_numbers_8 WideNumbers8 u64;
    }

    pub(super) fn items(wide: bool, item_bytes: usize) -> Option<CompactItems> {
        let [wide_items, table_items]: [CompactItems; 2] = match item_bytes {
            1 => [wide_1, table_1],
            2 => [wide_2, table_2],
            4 => [wide_4, table_4],
            8 => [wide_8, table_8],
            _ => return None,
        };
        Some(if wide { wide_items } else { table_items })
    }

    pub(super) fn numbers(wide: bool, long: bool) -> CompactNumbers {
        match (wide, long) {
            (true, false) => wide_numbers_4,
            (true, true) => wide_numbers_8,
            (false, false) => table_numbers_4,
            (false, true) => table_numbers_8,
        }
    }

    /// The numbers of the bits of a byte that are set, a byte each, in order.
    static PLACES: [[u8; 8]; 256] = {
        let mut all = [[0; 8]; 256];
        let mut mask = 0;
        while mask < 256 {
            let (mut bit, mut count) = (0, 0);
            while bit < 8 {
                if mask >> bit & 1 == 1 {
                    all[mask][count] = bit as u8;
                    count += 1;
                }
                bit += 1;
            }
            mask += 1;
        }
        all
    };

    /// Each of four bits twice.
    static TWICE: [u8; 16] = {
        let mut all = [0; 16];
        let mut mask = 0;
        while mask < 16 {
            let mut bit = 0;
            while bit < 4 {
                if mask >> bit & 1 == 1 {
                    all[mask] |= 3 << (2 * bit);
                }
                bit += 1;
            }
            mask += 1;
        }
        all
    };

    #[inline(always)]
    unsafe fn places(bits: u64) -> __m128i {
        unsafe { _mm_loadl_epi64(PLACES.as_ptr().add(bits as usize).cast()) }
    }

    /// Lanes that read items, each of this many bytes, or count them.
    macro_rules! lanes {
        ($($name:ident $lanes:literal x $bytes:literal $looks:literal |$from:ident, $bits:ident, $to:ident| $step:block)*) => { $(
            #[derive(Clone, Copy)]
            struct $name(*const u8);

            impl Lanes for $name {
                const LANES: usize = $lanes;
                const BYTES: usize = $bytes;
                const LOOKS: bool = $looks;

                #[inline(always)]
                unsafe fn step(self, item: usize, $bits: u64, $to: *mut u8) {
                    unsafe {
                        let $from = self.0.add(item * $bytes);
                        $step
                    }
                }

                #[inline(always)]
                unsafe fn one(self, item: usize, to: *mut u8) {
                    unsafe { to.copy_from(self.0.add(item * $bytes), $bytes) };
                }

                #[inline(always)]
                unsafe fn all(self, item: usize, to: *mut u8) {
                    unsafe { to.copy_from(self.0.add(item * $bytes), GROUP * $bytes) };
                }
            }
        )* };
    }

    lanes! {
        Table1 8 x 1 true |from, bits, to| {
            let items = _mm_loadl_epi64(from.cast());
            _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(items, places(bits)));
        }
        Table2 8 x 2 true |from, bits, to| {
            let items = _mm_loadu_si128(from.cast());
            let places = places(bits);
            let first = _mm_add_epi8(places, places);
            let places = _mm_unpacklo_epi8(first, _mm_add_epi8(first, _mm_set1_epi8(1)));
            _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(items, places));
        }
        Table4 8 x 4 true |from, bits, to| {
            let items = _mm256_loadu_si256(from.cast());
            let places = _mm256_cvtepu8_epi32(places(bits));
            _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(items, places));
        }
        Table8 4 x 8 true |from, bits, to| {
            let items = _mm256_loadu_si256(from.cast());
            let halves = u64::from(*TWICE.as_ptr().add(bits as usize));
            let places = _mm256_cvtepu8_epi32(places(halves));
            _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(items, places));
        }
        Wide1 64 x 1 false |from, bits, to| {
            let items = _mm512_loadu_si512(from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi8(bits, items));
        }
        Wide2 32 x 2 false |from, bits, to| {
            let items = _mm512_loadu_si512(from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi16(bits as u32, items));
        }
        Wide4 16 x 4 false |from, bits, to| {
            let items = _mm512_loadu_si512(from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(bits as u16, items));
        }
        Wide8 8 x 8 false |from, bits, to| {
            let items = _mm512_loadu_si512(from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(bits as u8, items));
        }
    }

    /// Lanes that write numbers of items.
    macro_rules! numbers {
        ($($name:ident $lanes:literal x $number:ident $looks:literal |$first:ident, $bits:ident, $to:ident| $step:block)*) => { $(
            #[derive(Clone, Copy)]
            struct $name(u64);

            impl Lanes for $name {
                const LANES: usize = $lanes;
                const BYTES: usize = size_of::<$number>();
                const LOOKS: bool = $looks;

                #[inline(always)]
                unsafe fn step(self, item: usize, $bits: u64, $to: *mut u8) {
                    let $first = self.0 + item as u64;
                    unsafe { $step }
                }

                #[inline(always)]
                unsafe fn one(self, item: usize, to: *mut u8) {
                    let number = (self.0 + item as u64) as $number;
                    unsafe { to.cast::<$number>().write_unaligned(number) };
                }
            }
        )* };
    }

    numbers! {
        TableNumbers4 8 x u32 true |first, bits, to| {
            let places = _mm256_cvtepu8_epi32(places(bits));
            let first = _mm256_set1_epi32(first as i32);
            _mm256_storeu_si256(to.cast(), _mm256_add_epi32(places, first));
        }
        TableNumbers8 4 x u64 true |first, bits, to| {
            let places = _mm256_cvtepu8_epi64(places(bits));
            let first = _mm256_set1_epi64x(first as i64);
            _mm256_storeu_si256(to.cast(), _mm256_add_epi64(places, first));
        }
        WideNumbers4 16 x u32 false |first, bits, to| {
            let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            let places = _mm512_maskz_compress_epi32(bits as u16, lanes);
            let first = _mm512_set1_epi32(first as i32);
            _mm512_storeu_si512(to.cast(), _mm512_add_epi32(places, first));
        }
        WideNumbers8 8 x u64 false |first, bits, to| {
            let lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
            let places = _mm512_maskz_compress_epi64(bits as u8, lanes);
            let first = _mm512_set1_epi64(first as i64);
            _mm512_storeu_si512(to.cast(), _mm512_add_epi64(places, first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{self, Kernel};
    use crate::tests::levels;

    /// Masks with every share of bits that are set, the last with `last` bits.
    fn masks(items: usize) -> Vec<Vec<u64>> {
        let words = items.div_ceil(GROUP);
        let mut state = 88_172_645_463_325_252u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut all =
            vec![vec![0; words], vec![u64::MAX; words], vec![0xaaaa_aaaa_aaaa_aaaa; words]];
        all.push((0..words).map(|_| random()).collect());
        all.push((0..words).map(|_| random() & random() & random() & random()).collect());
        all.push((0..words).map(|_| random() | random() | random() | random()).collect());
        all.push((0..words).map(|_| if random() % 2 == 0 { 0 } else { u64::MAX }).collect());
        for masks in &mut all {
            if let (Some(last), false) = (masks.last_mut(), items.is_multiple_of(GROUP)) {
                *last &= u64::MAX >> (GROUP - items % GROUP);
            }
        }
        all
    }

    const LENGTHS: [usize; 9] = [0, 1, 7, 63, 64, 65, 127, 128, 1000];

    fn positions(masks: &[u64]) -> Vec<usize> {
        (0..masks.len() * GROUP).filter(|k| masks[k / GROUP] >> (k % GROUP) & 1 == 1).collect()
    }

    /// Compacts from every start within a line, to another array and in place, with bytes around the output that must stay.
    fn check_items(compact: CompactItems, item_bytes: usize, start: usize) {
        for items in LENGTHS {
            let memory: Vec<u8> =
                (0..items * item_bytes + 100).map(|k| (k * 31 + k / 256) as u8).collect();
            let from = &memory[start..start + items * item_bytes];
            for masks in masks(items) {
                let positions = positions(&masks);
                let expected: Vec<u8> = positions
                    .iter()
                    .flat_map(|k| &from[k * item_bytes..(k + 1) * item_bytes])
                    .copied()
                    .collect();
                let mut output = vec![9u8; from.len() + 128];
                let to = output[64..].as_mut_ptr();
                // SAFETY: there is room for all items, and the caller's level is there.
                unsafe { compact(&masks, from.as_ptr(), items, to) };
                assert_eq!(output[64..64 + expected.len()], expected, "{items} of {item_bytes}");
                assert!(output[..64].iter().all(|byte| *byte == 9));
                assert!(output[64 + from.len()..].iter().all(|byte| *byte == 9));
                let mut own = memory.clone();
                let to = own[start..].as_mut_ptr();
                // SAFETY: likewise, of one array.
                unsafe { compact(&masks, to, items, to) };
                assert_eq!(own[start..start + expected.len()], expected, "{items} in place");
                assert_eq!(own[..start], memory[..start]);
                assert_eq!(own[start + from.len()..], memory[start + from.len()..]);
            }
        }
    }

    #[test]
    fn items_of_every_size_are_compacted() {
        for level in levels() {
            for item_bytes in [1, 2, 4, 8] {
                for start in [0, 1, 3, 64] {
                    let compact = find_items(level, item_bytes).expect("a way for the size");
                    check_items(compact, item_bytes, start);
                }
            }
            assert!(find_items(level, 3).is_none() && find_items(level, 16).is_none());
        }
        check_items(compact_plainly::<[u8; 12]>, 12, 1);
        check_items(compact_plainly::<[u64; 4]>, 32, 1);
    }

    #[test]
    fn numbers_are_those_of_the_bits() {
        for (level, items) in levels().into_iter().flat_map(|level| LENGTHS.map(|n| (level, n))) {
            for masks in masks(items) {
                let positions = positions(&masks);
                let (mut short, mut long) = (vec![7u32; items + 16], vec![7u64; items + 16]);
                let (first, high) = ((1 << 32) - 2000, 1 << 40);
                // SAFETY: there is room for all items, and the level is there.
                unsafe {
                    let to = short.as_mut_ptr().cast();
                    find_numbers(level, false)(&masks, first, items, to);
                    find_numbers(level, true)(&masks, high, items, long.as_mut_ptr().cast());
                }
                let expected = positions.iter().map(|k| first as u32 + *k as u32);
                assert!(expected.eq(short[..positions.len()].iter().copied()), "{items}");
                let expected = positions.iter().map(|k| high + *k as u64);
                assert!(expected.eq(long[..positions.len()].iter().copied()), "{items}");
                assert!(short[items..].iter().all(|number| *number == 7));
                assert!(long[items..].iter().all(|number| *number == 7));
            }
        }
    }

    struct MaskOf<'a>(&'a [u8; GROUP]);

    impl Kernel for MaskOf<'_> {
        type Output = u64;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> u64 {
            mask_of(simd, self.0)
        }
    }

    #[test]
    fn a_mask_has_a_bit_for_each_byte_that_is_not_zero() {
        for level in levels() {
            for masks in masks(20 * GROUP) {
                for (k, mask) in masks.into_iter().enumerate() {
                    let byte = [1, 255, 128, 2][k % 4];
                    let bytes = core::array::from_fn(|bit| byte * (mask >> bit & 1) as u8);
                    assert_eq!(isa::run(level, MaskOf(&bytes)), mask);
                }
            }
        }
    }
}
