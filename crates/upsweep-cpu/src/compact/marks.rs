//! What is kept, as a mask of bits for 64 items.

use core::hint::black_box;
use core::ops::Range;

use fearless_simd::{Level, Simd};
use upsweep_core::{Element, Make};

use crate::isa::{self, Kernel};
use crate::simd::compress::{GROUP, mask_of};

/// What says which items are kept.
pub(super) trait Marks: Sync {
    /// Writes a mask for each group of the items `piece`, with zeros behind the last. Items that are made go to `made`.
    ///
    /// # Safety
    /// The piece has at most [`PIECE`] items. There is a mask for each group that has begun, and no more. Where items are stored, `made` is
    /// valid for writes of as many.
    unsafe fn mark(&self, piece: Range<usize>, masks: &mut [u64], made: *mut u8);

    /// Writes a mask for each group of the items `piece`, of those that are in a second part unless they are kept.
    ///
    /// # Safety
    /// As for [`mark`](Marks::mark).
    unsafe fn mark_second(&self, _: Range<usize>, masks: &mut [u64]) {
        masks.fill(0);
    }

    /// Whether items of the array are compared with each other.
    fn reads_items(&self) -> bool {
        false
    }
}

/// Items that are marked at once: few enough that they stay in a first-level cache until they are compacted. Pieces of 1,024 take 0.14 ns instead of
/// 0.17 for each `u32` that lies in a cache, but 0.50 instead of 0.40 for each of 2^26 that are made and all kept (one thread of a Zen 4,
/// 2026-11-27).
pub(super) const PIECE: usize = 512;

/// Makes masks of a byte for each item of a piece, which is 0 of those that are dropped. All bytes are written before the first mask is made:
/// to load a vector whose parts have just been stored takes as long as ten vectors.
#[inline(always)]
fn mark_by_bytes<S: Simd>(simd: S, items: usize, masks: &mut [u64], mark: impl FnOnce(&mut [u8])) {
    let mut bytes = [0; PIECE];
    mark(&mut bytes[..items]);
    for (mask, group) in masks.iter_mut().zip(bytes.as_chunks().0) {
        *mask = mask_of(simd, group);
    }
}

/// The same by one item after another.
fn mark_one_by_one(items: usize, masks: &mut [u64], mut mark: impl FnMut(usize) -> bool) {
    for (group, mask) in masks.iter_mut().take(items.div_ceil(GROUP)).enumerate() {
        *mask = 0;
        for bit in 0..GROUP.min(items - group * GROUP) {
            *mask |= u64::from(black_box(mark(group * GROUP + bit))) << bit;
        }
    }
}

/// By a flag for each item, a number of so many bytes.
pub(super) struct Flags<'a> {
    /// `None` for one item after another.
    pub(super) level: Option<Level>,
    pub(super) bytes: &'a [u8],
    pub(super) size: usize,
}

impl Marks for Flags<'_> {
    unsafe fn mark(&self, piece: Range<usize>, masks: &mut [u64], _: *mut u8) {
        let Self { level, bytes, size } = *self;
        let bytes = &bytes[piece.start * size..piece.end * size];
        match level {
            Some(level) => isa::run(level, MarkFlags { bytes, size, masks }),
            None => mark_one_by_one(piece.len(), masks, |item| {
                bytes[item * size..(item + 1) * size].iter().any(|byte| *byte != 0)
            }),
        }
    }
}

struct MarkFlags<'a> {
    bytes: &'a [u8],
    size: usize,
    masks: &'a mut [u64],
}

impl Kernel for MarkFlags<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { bytes, size, masks } = self;
        macro_rules! words {
            ($word:ident) => {{
                let flags = bytes.as_chunks().0;
                mark_by_bytes(
                    simd,
                    flags.len(),
                    masks,
                    #[inline(always)]
                    |marks| {
                        for (mark, flag) in marks.iter_mut().zip(flags) {
                            *mark = ($word::from_ne_bytes(*flag) != 0).into();
                        }
                    },
                );
            }};
        }
        match size {
            1 => {
                let (groups, last) = bytes.as_chunks();
                for (mask, group) in masks.iter_mut().zip(groups) {
                    *mask = mask_of(simd, group);
                }
                if let Some(mask) = masks.get_mut(groups.len()) {
                    let mut group = [0; GROUP];
                    group[..last.len()].copy_from_slice(last);
                    *mask = mask_of(simd, &group);
                }
            }
            2 => words!(u16),
            4 => words!(u32),
            _ => words!(u64),
        }
    }
}

/// By what the first says, with a second part by what the second says.
pub(super) struct InParts<A, B> {
    pub(super) first: A,
    pub(super) second: B,
}

impl<A: Marks, B: Marks> Marks for InParts<A, B> {
    unsafe fn mark(&self, piece: Range<usize>, masks: &mut [u64], made: *mut u8) {
        // SAFETY: the caller's.
        unsafe { self.first.mark(piece, masks, made) }
    }

    /// The second stores nothing.
    unsafe fn mark_second(&self, piece: Range<usize>, masks: &mut [u64]) {
        // SAFETY: the caller's.
        unsafe { self.second.mark(piece, masks, core::ptr::null_mut()) }
    }
}

/// The first of each run of neighbours that have the same bytes.
pub(super) struct Runs<T> {
    pub(super) level: Option<Level>,
    /// All items.
    pub(super) items: *const T,
    /// Whether the first of all goes on with a run, and does not begin one.
    pub(super) goes_on: bool,
}

// SAFETY: items are read by every thread, which `mark` says when.
unsafe impl<T: Sync> Sync for Runs<T> {}

impl<T: Element> Marks for Runs<T> {
    /// Also reads the item in front of the piece, which nobody must write at the same time.
    unsafe fn mark(&self, piece: Range<usize>, masks: &mut [u64], _: *mut u8) {
        let first = piece.start.saturating_sub(1);
        // SAFETY: the piece and the item in front of it are of the array.
        let items =
            unsafe { core::slice::from_raw_parts(self.items.add(first), piece.end - first) };
        let Some(bytes) = T::bytes(items) else {
            unreachable!("items without bytes are refused");
        };
        let size = T::KIND.size();
        assert_eq!(bytes.len(), items.len() * size, "items have as many bytes as their kind says");
        let first = (piece.start == 0).then_some(!self.goes_on);
        mark_runs(self.level, &bytes, size, first, masks);
    }

    fn reads_items(&self) -> bool {
        true
    }
}

/// Marks all items but the first that differ from the item in front of them; if they are the first of all, the first of them too, as `first`
/// says. Compiled once for all types.
#[inline(never)]
fn mark_runs(
    level: Option<Level>,
    bytes: &[u8],
    size: usize,
    first: Option<bool>,
    masks: &mut [u64],
) {
    match level {
        Some(level) => isa::run(level, MarkRuns { bytes, size, masks }),
        None => mark_one_by_one(bytes.len() / size - 1, masks, |item| {
            let [before, own] = [item, item + 1].map(|item| &bytes[item * size..][..size]);
            before != own
        }),
    }
    if let Some(first) = first {
        let pairs = bytes.len() / size - 1;
        masks[pairs.div_ceil(GROUP)..].fill(0);
        let mut first = u64::from(first);
        for mask in masks {
            (*mask, first) = (*mask << 1 | first, *mask >> (GROUP - 1));
        }
    }
}

/// Marks pairs of neighbours that differ.
struct MarkRuns<'a> {
    bytes: &'a [u8],
    size: usize,
    masks: &'a mut [u64],
}

impl Kernel for MarkRuns<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { bytes, size, masks } = self;
        let pairs = bytes.len() / size - 1;
        macro_rules! words {
            ($word:ident) => {{
                let all = bytes.as_chunks().0;
                let (before, items) = (&all[..pairs], &all[1..]);
                let word = $word::from_ne_bytes;
                mark_by_bytes(
                    simd,
                    pairs,
                    masks,
                    #[inline(always)]
                    |marks| {
                        let pairs = before.iter().zip(items);
                        for (mark, (before, own)) in marks.iter_mut().zip(pairs) {
                            *mark = (word(*before) != word(*own)).into();
                        }
                    },
                );
            }};
        }
        match size {
            1 => words!(u8),
            2 => words!(u16),
            4 => words!(u32),
            8 => words!(u64),
            _ => mark_by_bytes(
                simd,
                pairs,
                masks,
                #[inline(always)]
                |marks| {
                    for (item, mark) in marks.iter_mut().enumerate() {
                        let (before, own) = bytes[item * size..][..2 * size].split_at(size);
                        *mark = (before != own).into();
                    }
                },
            ),
        }
    }
}

/// By what a function says of items that are made, which are stored if `STORES`.
pub(super) struct Predicate<M, P, const STORES: bool> {
    /// `None` for one item after another.
    pub(super) level: Option<Level>,
    pub(super) input: M,
    pub(super) keep: P,
}

impl<M, P, const STORES: bool> Marks for Predicate<M, P, STORES>
where
    M: Make<Item: Element>,
    P: Fn(M::Item) -> bool + Copy + Send + Sync,
{
    unsafe fn mark(&self, piece: Range<usize>, masks: &mut [u64], made: *mut u8) {
        let (input, keep) = (&self.input, self.keep);
        let made = made.cast::<M::Item>();
        match self.level {
            Some(level) => {
                isa::run(level, MarkMade::<_, _, STORES> { input, keep, piece, masks, made })
            }
            None => mark_one_by_one(piece.len(), masks, |item| {
                let value = input.item(piece.start + item);
                if STORES {
                    // SAFETY: there is room for all items.
                    unsafe { made.add(item).write_unaligned(value) };
                }
                keep(value)
            }),
        }
    }
}

struct MarkMade<'a, M: Make, P, const STORES: bool> {
    input: &'a M,
    keep: P,
    piece: Range<usize>,
    masks: &'a mut [u64],
    made: *mut M::Item,
}

impl<M, P, const STORES: bool> Kernel for MarkMade<'_, M, P, STORES>
where
    M: Make<Item: Element>,
    P: Fn(M::Item) -> bool + Copy,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { input, keep, piece, masks, made } = self;
        mark_by_bytes(
            simd,
            piece.len(),
            masks,
            #[inline(always)]
            |marks| {
                let (items, mut made_items) = (marks.len(), 0);
                for ((item, mark), value) in marks.iter_mut().enumerate().zip(input.make(piece)) {
                    if STORES {
                        // SAFETY: there is room for all items.
                        unsafe { made.add(item).write_unaligned(value) };
                    }
                    *mark = keep(value).into();
                    made_items += 1;
                }
                assert_eq!(made_items, items, "as many items are made as are asked for");
            },
        );
    }
}
