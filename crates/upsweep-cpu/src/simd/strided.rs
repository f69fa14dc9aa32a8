//! Copies between strided arrays, transposition among them, and an output that several threads write.
//!
//! ```text
//!   input   a0 a1 a2 a3     vectors are loaded along the axis whose stride in the input is 1,
//!           b0 b1 b2 b3     interleaved log₂ N times (each round turns the bits of an item's number by one),
//!           c0 c1 c2 c3     and stored along the axis whose stride in the output is 1:
//!           d0 d1 d2 d3     N² items by N · log₂ N shuffles
//! ```
//! Blocks of vectors lie in tiles that fit the first-level cache with all lines that they touch. What is left at the edges is taken by smaller
//! vectors, and then one by one.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::{ptr, slice};

use fearless_simd::{Level, Simd, SimdBase};
use upsweep_core::{Element, Kind, RowAxis};

use crate::isa::{self, Kernel};

/// An output that several threads write, each at places of its own.
pub(crate) struct SharedOutput<'a, T> {
    items: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: whoever writes says that nobody else has the place.
unsafe impl<T: Send> Send for SharedOutput<'_, T> {}

// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedOutput<'_, T> {}

impl<'a, T> SharedOutput<'a, T> {
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        Self { items: items.as_mut_ptr(), len: items.len(), of: PhantomData }
    }

    /// The items of a range.
    ///
    /// # Safety
    /// Nobody else has one of them as long as they are in use.
    #[allow(clippy::mut_from_ref, reason = "the caller says that nobody else has these items")]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        // SAFETY: they are within the output, and the caller has them alone.
        unsafe { slice::from_raw_parts_mut(self.items.add(range.start), range.len()) }
    }

    /// Writes an item.
    ///
    /// # Safety
    /// Nobody else has it.
    pub(crate) unsafe fn write(&self, at: usize, item: T) {
        assert!(at < self.len, "{at} of {}", self.len);
        // SAFETY: it is within the output, and the caller has it alone.
        unsafe { self.items.add(at).write(item) };
    }
}

/// Copies the items at all places on these axes, from items `start[0]` and `start[1]` on.
///
/// # Safety
/// Nobody else has the items that are written, and no place of the output is there twice.
///
/// # Panics
/// If a place is outside the input or the output.
pub(crate) unsafe fn copy_strided<T: Element>(
    level: Level,
    items: &[T],
    output: &SharedOutput<'_, T>,
    axes: &[RowAxis],
    start: [usize; 2],
) {
    if axes.iter().any(|axis| axis.len == 0) {
        return;
    }
    assert!(is_within(axes.iter().map(|axis| (axis.len, axis.input)), start[0], items.len()));
    assert!(is_within(axes.iter().map(|axis| (axis.len, axis.output)), start[1], output.len));
    let from = items.as_ptr().wrapping_add(start[0]).cast::<u8>();
    let to = output.items.wrapping_add(start[1]).cast::<u8>();
    let is_number = matches!(T::KIND, Kind::Number(_));
    // SAFETY: all places are within both arrays, and the caller says that the output's are its own.
    unsafe {
        match (size_of::<T>(), is_number) {
            (1, true) => copy_units::<u8>(level, from, to, axes),
            (2, true) => copy_units::<u16>(level, from, to, axes),
            (4, true) => copy_units::<u32>(level, from, to, axes),
            (8, true) => copy_units::<u64>(level, from, to, axes),
            (4, false) => copy_units::<[MaybeUninit<u8>; 4]>(level, from, to, axes),
            (8, false) => copy_units::<[MaybeUninit<u8>; 8]>(level, from, to, axes),
            (12, false) => copy_units::<[MaybeUninit<u8>; 12]>(level, from, to, axes),
            (16, false) => copy_units::<[MaybeUninit<u8>; 16]>(level, from, to, axes),
            _ => copy_units::<MaybeUninit<T>>(level, from, to, axes),
        }
    }
}

/// Whether all places on axes of these lengths and strides are among so many items.
fn is_within(axes: impl Iterator<Item = (usize, isize)>, start: usize, items: usize) -> bool {
    let [mut first, mut last] = [start as i128; 2];
    for (len, stride) in axes {
        let reach = (len as i128 - 1) * stride as i128;
        *(if reach < 0 { &mut first } else { &mut last }) += reach;
    }
    first >= 0 && last < items as i128
}

/// What is copied as one.
trait Unit: Copy {
    /// The sides of squares that [`transpose`](Self::transpose) takes, the largest first.
    const SIDES: &[usize] = &[];

    /// Copies a square with sides of so many items, whose vectors lie side by side down in the input and across in the output.
    ///
    /// # Safety
    /// All items are within their arrays.
    #[inline(always)]
    unsafe fn transpose<S: Simd>(simd: S, side: usize, square: Square<Self>) {
        let _ = (simd, square.from, square.from_stride, square.to, square.to_stride);
        unreachable!("there is no kernel for squares with sides of {side}");
    }
}

/// Where a square begins in the input and in the output, and how far apart its vectors are there.
#[derive(Clone, Copy)]
struct Square<U> {
    from: *const U,
    from_stride: isize,
    to: *mut U,
    to_stride: isize,
}

impl<const BYTES: usize> Unit for [MaybeUninit<u8>; BYTES] {}

impl<T: Element> Unit for MaybeUninit<T> {}

macro_rules! units {
    ($($unit:ident: $($side:literal $vector:ident)*;)*) => { $(
        impl Unit for $unit {
            const SIDES: &[usize] = &[$($side),*];

            #[inline(always)]
            unsafe fn transpose<S: Simd>(simd: S, side: usize, square: Square<Self>) {
                match side {
                    $($side => {
                        type Vector<S> = fearless_simd::$vector<S>;
                        // SAFETY: the caller's.
                        let load = |row: usize| unsafe {
                            let at = square.from.wrapping_offset(row as isize * square.from_stride);
                            Vector::<S>::load_array(simd, at.cast::<[$unit; $side]>().read_unaligned())
                        };
                        let mut rows: [Vector<S>; $side] = core::array::from_fn(load);
                        let mut rounds = $side / 2;
                        while rounds > 0 {
                            let before = rows;
                            for k in 0..$side / 2 {
                                (rows[2 * k], rows[2 * k + 1]) = before[k].interleave(before[k + $side / 2]);
                            }
                            rounds /= 2;
                        }
                        for row in 0..$side {
                            let at = square.to.wrapping_offset(row as isize * square.to_stride);
                            // SAFETY: the caller's.
                            unsafe { at.cast::<[$unit; $side]>().write_unaligned(rows[row].to_array()) };
                        }
                    })*
                    _ => unreachable!("there is no kernel for squares with sides of {side}"),
                }
            }
        }
    )* };
}

units! {
    u8: 16 u8x16;
    u16: 16 u16x16 8 u16x8;
    u32: 16 u32x16 8 u32x8 4 u32x4;
    u64: 8 u64x8 4 u64x4;
}

/// Copies units at all places on these axes.
///
/// # Safety
/// All places are within their arrays, and none of the output is there twice.
unsafe fn copy_units<U: Unit>(level: Level, from: *const u8, to: *mut u8, axes: &[RowAxis]) {
    let mut axes: Vec<RowAxis> = axes.iter().copied().filter(|axis| axis.len > 1).collect();
    // The axis along which memory is written, last, and along which it is read, before it.
    axes.sort_by_key(|axis| {
        core::cmp::Reverse((axis.output.unsigned_abs(), axis.input.unsigned_abs()))
    });
    let one = RowAxis { len: 1, input: 0, output: 0 };
    let across = axes.pop().unwrap_or(one);
    let nearest = (0..axes.len()).min_by_key(|&axis| axes[axis].input.unsigned_abs());
    // Of runs the next axis is the one that writes next to them.
    let is_run = across.input == 1 && across.output == 1;
    let down = match nearest {
        Some(_) if is_run => axes.pop().unwrap_or(one),
        Some(axis) => axes.remove(axis),
        None => one,
    };
    let mut places = vec![0; axes.len()];
    let (mut from, mut to) = (from.cast::<U>(), to.cast::<U>());
    loop {
        isa::run(level, Plane { from, to, down, across });
        // The next place on the other axes.
        let mut axis = axes.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            let RowAxis { len, input, output } = axes[axis];
            places[axis] += 1;
            if places[axis] < len {
                (from, to) = (from.wrapping_offset(input), to.wrapping_offset(output));
                break;
            }
            let back = len as isize - 1;
            (from, to) = (from.wrapping_offset(-back * input), to.wrapping_offset(-back * output));
            places[axis] = 0;
        }
    }
}

/// Two axes.
struct Plane<U> {
    from: *const U,
    to: *mut U,
    /// That whose stride in the input is the smaller.
    down: RowAxis,
    /// That whose stride in the output is the smaller.
    across: RowAxis,
}

/// Items of a side of a tile. Lines of 64 items of 8 bytes on both sides are 2 · 64 · 512 bytes, those of items of 4 bytes a first-level cache.
const TILE: usize = 64;

/// Bytes of a run that are copied without a call.
const SHORT_RUN: usize = 256;

impl<U: Unit> Kernel for Plane<U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { from, to, down, across } = self;
        let is_run = across.input == 1 && across.output == 1;
        if is_run {
            for row in 0..down.len as isize {
                let (from, to) =
                    (from.wrapping_offset(row * down.input), to.wrapping_offset(row * down.output));
                // SAFETY: who calls `copy_units` says that all places are within their arrays.
                unsafe { copy_run(from, to, across.len) };
            }
            return;
        }
        let transposes = down.input == 1 && across.output == 1 && down.len > 1;
        for top in (0..down.len).step_by(TILE) {
            for left in (0..across.len).step_by(TILE) {
                let rows = top..down.len.min(top + TILE);
                let columns = left..across.len.min(left + TILE);
                if transposes {
                    self.transpose(simd, rows, columns);
                } else {
                    self.one_by_one(rows, columns);
                }
            }
        }
    }
}

impl<U: Unit> Plane<U> {
    /// Copies by squares of vectors, in bands of as many rows as the largest square that fits, and one by one what they leave.
    #[inline(always)]
    fn transpose<S: Simd>(&self, simd: S, rows: Range<usize>, columns: Range<usize>) {
        let mut top = rows.start;
        while top < rows.end {
            let most = columns.len().min(rows.end - top);
            let fits = |side: usize| side <= most && side * size_of::<U>() <= size_of::<S::u8s>();
            let Some(&side) = U::SIDES.iter().find(|side| fits(**side)) else {
                return self.one_by_one(top..rows.end, columns);
            };
            let right = columns.end - columns.len() % side;
            for left in (columns.start..right).step_by(side) {
                let (row, column) = (top as isize, left as isize);
                let square = Square {
                    from: self.from.wrapping_offset(row + column * self.across.input),
                    from_stride: self.across.input,
                    to: self.to.wrapping_offset(row * self.down.output + column),
                    to_stride: self.down.output,
                };
                // SAFETY: who calls `copy_units` says that all places are within their arrays.
                unsafe { U::transpose(simd, side, square) };
            }
            self.one_by_one(top..top + side, right..columns.end);
            top += side;
        }
    }

    /// Copies item by item.
    #[inline(always)]
    fn one_by_one(&self, rows: Range<usize>, columns: Range<usize>) {
        for row in rows {
            let from = self.from.wrapping_offset(row as isize * self.down.input);
            let to = self.to.wrapping_offset(row as isize * self.down.output);
            for column in columns.clone() {
                let column = column as isize;
                let from = from.wrapping_offset(column * self.across.input);
                let to = to.wrapping_offset(column * self.across.output);
                // SAFETY: who calls `copy_units` says that all places are within their arrays.
                unsafe { to.write_unaligned(from.read_unaligned()) };
            }
        }
    }
}

/// Copies items side by side.
///
/// # Safety
/// All of them are within their arrays, which do not overlap.
#[inline(always)]
unsafe fn copy_run<U: Copy>(from: *const U, to: *mut U, len: usize) {
    if len * size_of::<U>() > SHORT_RUN {
        // SAFETY: the caller's; bytes need no alignment.
        unsafe {
            ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), len * size_of::<U>())
        };
        return;
    }
    for item in 0..len {
        // SAFETY: the caller's.
        unsafe { to.add(item).write_unaligned(from.add(item).read_unaligned()) };
    }
}
