//! Items in planes: a matrix whose columns lie one after another, so that two neighbours in a row are in two runs of memory.

use core::array;

use bytemuck::{cast_slice, cast_slice_mut};
use fearless_simd::{Level, Simd};

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
/// With one group that is the matrix with rows and columns exchanged.
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

    /// Where the values of a column begin in the planes.
    #[inline(always)]
    fn column_start(self, column: usize) -> usize {
        (column % self.members * self.groups + column / self.members) * self.rows
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

struct ToPlanes<'a, T> {
    shape: Shape,
    from: &'a [T],
    to: &'a mut [T],
    reversed: bool,
}

impl<T: Copy> Kernel for ToPlanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { shape, from, to, reversed } = self;
        let columns = shape.columns();
        let rows = from.len() / columns;
        let (square_rows, square_columns) = (rows - rows % SQUARE, columns - columns % SQUARE);
        let at = |place: usize| if reversed { from[from.len() - 1 - place] } else { from[place] };
        for row in (0..square_rows).step_by(SQUARE) {
            for column in (0..square_columns).step_by(SQUARE) {
                let square: [[T; SQUARE]; SQUARE] = array::from_fn(
                    #[inline(always)]
                    |i| part(from, (row + i) * columns + column, reversed),
                );
                for j in 0..SQUARE {
                    let place = shape.column_start(column + j) + row;
                    for (to, of) in to[place..place + SQUARE].iter_mut().zip(&square) {
                        *to = of[j];
                    }
                }
            }
            for column in square_columns..columns {
                let place = shape.column_start(column) + row;
                for (i, to) in to[place..place + SQUARE].iter_mut().enumerate() {
                    *to = at((row + i) * columns + column);
                }
            }
        }
        for column in 0..columns {
            for row in square_rows..rows {
                to[shape.column_start(column) + row] = at(row * columns + column);
            }
        }
        for place in rows * columns..from.len() {
            to[shape.column_start(place % columns) + rows] = at(place);
        }
    }
}

/// A row of a square: values from this place on, of an array that may be turned round.
#[inline(always)]
fn part<T: Copy>(from: &[T], place: usize, reversed: bool) -> [T; SQUARE] {
    let start = if reversed { from.len() - place - SQUARE } else { place };
    let values = &from[start..start + SQUARE];
    array::from_fn(
        #[inline(always)]
        |i| values[if reversed { SQUARE - 1 - i } else { i }],
    )
}

struct FromPlanes<'a, T> {
    shape: Shape,
    from: &'a [T],
    to: &'a mut [T],
    reversed: bool,
}

impl<T: Copy> Kernel for FromPlanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { shape, from, to, reversed } = self;
        let (columns, len) = (shape.columns(), to.len());
        let rows = len / columns;
        let (square_rows, square_columns) = (rows - rows % SQUARE, columns - columns % SQUARE);
        let place_of = |place: usize| if reversed { len - 1 - place } else { place };
        for row in (0..square_rows).step_by(SQUARE) {
            for column in (0..square_columns).step_by(SQUARE) {
                let square: [[T; SQUARE]; SQUARE] = array::from_fn(
                    #[inline(always)]
                    |j| part(from, shape.column_start(column + j) + row, false),
                );
                for i in 0..SQUARE {
                    let place = (row + i) * columns + column;
                    let start = if reversed { len - place - SQUARE } else { place };
                    let values = &mut to[start..start + SQUARE];
                    for (j, of) in square.iter().enumerate() {
                        values[if reversed { SQUARE - 1 - j } else { j }] = of[i];
                    }
                }
            }
            for column in square_columns..columns {
                for i in row..row + SQUARE {
                    to[place_of(i * columns + column)] = from[shape.column_start(column) + i];
                }
            }
        }
        for row in square_rows..rows {
            for column in 0..columns {
                to[place_of(row * columns + column)] = from[shape.column_start(column) + row];
            }
        }
        for place in rows * columns..len {
            to[place_of(place)] = from[shape.column_start(place % columns) + rows];
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
        let columns = shape.columns();
        for place in from.len()..shape.rows * columns {
            to[shape.column_start(place % columns) + place / columns] = T::of(fill);
        }
        isa::run(level, ToPlanes { shape, from, to, reversed });
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
        isa::run(level, FromPlanes { shape, from, to, reversed });
    }
    by_size!(size, typed(level, shape, from, to, reversed))
}
