//! Items in planes: a matrix whose columns lie one after another, so that two neighbours in a row are in two runs of memory.

use core::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;

use super::steps::Plain;
use crate::isa::{self, Kernel};

/// A matrix of rows of `groups` groups of `members` values. Its planes are the first members of all groups of all rows, the second ones, and
/// so on; in a plane first come the first groups of all rows:
///
/// ```text
/// row 0   a0 b0 | a1 b1        plane 0   a0 a2 | a1 a3
/// row 1   a2 b2 | a3 b3        plane 1   b0 b2 | b1 b3
/// ```
///
/// With one group that is the matrix with rows and columns exchanged. There are at most as many columns as lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) groups: usize,
    pub(super) members: usize,
}

impl Shape {
    pub(super) fn columns(self) -> usize {
        self.groups * self.members
    }

    /// Where the values of each column begin in the planes: a table, as dividing for each of them takes longer than moving its values.
    fn starts(self) -> [usize; LANES] {
        let mut starts = [0; LANES];
        for (group, starts) in starts.chunks_mut(self.members).enumerate().take(self.groups) {
            for (member, start) in starts.iter_mut().enumerate() {
                *start = (member * self.groups + group) * self.rows;
            }
        }
        starts
    }
}

/// Rows and columns that are exchanged at once, in registers or close to them. With eight of each, as many cache lines are written at a time as a
/// set of a first-level cache has places: those of columns may all be in one.
const SQUARE: usize = 8;

/// A type of bits, of which there is one for each size.
trait Bits: Plain {
    fn of(bits: u64) -> Self;
}

macro_rules! bits {
    ($($type:ident)*) => { $(impl Bits for $type {
        fn of(bits: u64) -> Self {
            bits as $type
        }
    })* };
}

bits!(u8 u16 u32 u64);

/// Where values lie in an array, which may be turned round.
#[inline(always)]
fn place_in(len: usize, place: usize, reversed: bool) -> usize {
    if reversed { len - 1 - place } else { place }
}

/// Where so many values that begin at a place lie.
#[inline(always)]
fn places_in(len: usize, place: usize, reversed: bool) -> Range<usize> {
    let start = if reversed { len - place - SQUARE } else { place };
    start..start + SQUARE
}

/// The square with rows and columns exchanged.
#[inline(always)]
fn exchanged<T: Copy>(square: &[[T; SQUARE]; SQUARE]) -> [[T; SQUARE]; SQUARE] {
    let mut exchanged = *square;
    for (i, row) in square.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            exchanged[j][i] = *value;
        }
    }
    exchanged
}

struct ToPlanes<'a, T> {
    starts: &'a [usize],
    from: &'a [T],
    to: &'a mut [T],
    reversed: bool,
}

impl<T: Bits> Kernel for ToPlanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { starts, from, to, reversed } = self;
        let columns = starts.len();
        let (squares, rest) = starts.as_chunks::<SQUARE>();
        let rows = from.len() / columns;
        let whole = rows - rows % SQUARE;
        for row in (0..whole).step_by(SQUARE) {
            for (number, starts) in squares.iter().enumerate() {
                let mut square = [[T::zeroed(); SQUARE]; SQUARE];
                for (i, values) in square.iter_mut().enumerate() {
                    let place = (row + i) * columns + number * SQUARE;
                    values.copy_from_slice(&from[places_in(from.len(), place, reversed)]);
                    if reversed {
                        values.reverse();
                    }
                }
                for (start, values) in starts.iter().zip(exchanged(&square)) {
                    to[start + row..start + row + SQUARE].copy_from_slice(&values);
                }
            }
        }
        let done = columns - rest.len();
        for (column, start) in starts.iter().enumerate() {
            let first = if column < done { whole } else { 0 };
            for row in first..(from.len() + columns - 1 - column) / columns {
                to[start + row] = from[place_in(from.len(), row * columns + column, reversed)];
            }
        }
    }
}

struct FromPlanes<'a, T> {
    starts: &'a [usize],
    from: &'a [T],
    to: &'a mut [T],
    reversed: bool,
}

impl<T: Bits> Kernel for FromPlanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { starts, from, to, reversed } = self;
        let (columns, len) = (starts.len(), to.len());
        let (squares, rest) = starts.as_chunks::<SQUARE>();
        let rows = len / columns;
        let whole = rows - rows % SQUARE;
        for row in (0..whole).step_by(SQUARE) {
            for (number, starts) in squares.iter().enumerate() {
                let mut square = [[T::zeroed(); SQUARE]; SQUARE];
                for (start, values) in starts.iter().zip(&mut square) {
                    values.copy_from_slice(&from[start + row..start + row + SQUARE]);
                }
                for (i, mut values) in exchanged(&square).into_iter().enumerate() {
                    let place = (row + i) * columns + number * SQUARE;
                    if reversed {
                        values.reverse();
                    }
                    to[places_in(len, place, reversed)].copy_from_slice(&values);
                }
            }
        }
        let done = columns - rest.len();
        for (column, start) in starts.iter().enumerate() {
            let first = if column < done { whole } else { 0 };
            for row in first..(len + columns - 1 - column) / columns {
                to[place_in(len, row * columns + column, reversed)] = from[start + row];
            }
        }
    }
}

/// Calls `$function` with the type of as many bytes.
macro_rules! by_size {
    ($size:expr, $function:ident($($argument:expr),*)) => {
        match $size {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}

/// Fills bytes with one value.
pub(super) fn fill(to: &mut [u8], size: usize, value: u64) {
    fn typed<T: Bits>(to: &mut [u8], value: u64) {
        cast_slice_mut(to).fill(T::of(value));
    }
    by_size!(size, typed(to, value));
}

/// Brings rows of values of `size` bytes into planes. The last row may be shorter; `fill` is what stands for the rest of all rows.
pub(super) fn to_planes(
    level: Level,
    shape: Shape,
    size: usize,
    from: &[u8],
    to: &mut [u8],
    fill: u64,
    reversed: bool,
) {
    fn typed<T: Bits>(
        level: Level,
        shape: Shape,
        from: &[u8],
        to: &mut [u8],
        fill: u64,
        reversed: bool,
    ) {
        let (from, to): (&[T], &mut [T]) = (cast_slice(from), cast_slice_mut(to));
        let starts = &shape.starts()[..shape.columns()];
        for place in from.len()..shape.rows * starts.len() {
            to[starts[place % starts.len()] + place / starts.len()] = T::of(fill);
        }
        isa::run(level, ToPlanes { starts, from, to, reversed });
    }
    by_size!(size, typed(level, shape, from, to, fill, reversed))
}

/// Brings planes back into rows, of which the last one may be shorter.
pub(super) fn from_planes(
    level: Level,
    shape: Shape,
    size: usize,
    from: &[u8],
    to: &mut [u8],
    reversed: bool,
) {
    fn typed<T: Bits>(level: Level, shape: Shape, from: &[u8], to: &mut [u8], reversed: bool) {
        let (from, to) = (cast_slice::<u8, T>(from), cast_slice_mut(to));
        let starts = &shape.starts()[..shape.columns()];
        isa::run(level, FromPlanes { starts, from, to, reversed });
    }
    by_size!(size, typed(level, shape, from, to, reversed))
}
