//! Arrays that lie in memory by columns, as Fortran has them, read in C order.

use core::ops::Range;

/// Items of a row that are read from as many columns side by side: each has a cache line of its own, which serves the rows behind.
const COLUMNS: usize = 16;

/// Where the items of an array with these sides lie that is stored by columns.
#[derive(Clone, Debug)]
pub(crate) struct ByColumns {
    sides: Vec<usize>,
    /// From an item to the next along each dimension, in items.
    strides: Vec<usize>,
}

impl ByColumns {
    /// An array with these sides, none of which is 0.
    pub(crate) fn new(shape: &[u64]) -> Self {
        // Sides of length 1 have no neighbours.
        let sides = shape.iter().filter(|&&side| side != 1);
        let sides: Vec<usize> = sides.map(|&side| side.try_into().unwrap_or(usize::MAX)).collect();
        let mut next = 1usize;
        let stride = |&side: &usize| {
            let stride = next;
            next = next.saturating_mul(side);
            stride
        };
        let strides = sides.iter().map(stride).collect();
        Self { sides, strides }
    }

    /// Items of a row: along the last dimension.
    fn row(&self) -> usize {
        self.sides.last().copied().unwrap_or(1)
    }

    /// Where a row begins, which are counted in C order.
    fn start(&self, row: usize) -> usize {
        let mut left = row;
        let outer = self.sides.iter().zip(&self.strides).rev().skip(1);
        let place = |(&side, &stride): (&usize, &usize)| {
            let index = left % side;
            left /= side;
            index * stride
        };
        outer.map(place).sum()
    }

    /// Writes the items of `range`, which are counted in C order, one behind another. Items have `size` bytes.
    pub(crate) fn gather(&self, all: &[u8], size: usize, range: Range<usize>, out: &mut [u8]) {
        match size {
            1 => self.gather_items::<1>(all, range, out),
            2 => self.gather_items::<2>(all, range, out),
            4 => self.gather_items::<4>(all, range, out),
            _ => self.gather_items::<8>(all, range, out),
        }
    }

    fn gather_items<const SIZE: usize>(&self, all: &[u8], range: Range<usize>, out: &mut [u8]) {
        let (all, out) = (all.as_chunks::<SIZE>().0, out.as_chunks_mut::<SIZE>().0);
        let row = self.row();
        let stride = self.strides.last().copied().unwrap_or(1);
        let rows = range.start / row..range.end.div_ceil(row);
        for first in (0..row).step_by(COLUMNS) {
            for number in rows.clone() {
                let (start, before) = (self.start(number), number * row);
                for column in first..row.min(first + COLUMNS) {
                    if range.contains(&(before + column)) {
                        out[before + column - range.start] = all[start + column * stride];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items that say where they are in C order, stored by columns.
    fn stored(shape: &[usize]) -> Vec<u16> {
        let items = shape.iter().product();
        let mut all = vec![0; items];
        for (number, index) in (0..items).map(|number| (number as u16, number)) {
            let (mut left, mut place, mut stride) = (index, 0, items);
            for &side in shape.iter().rev() {
                stride /= side;
                place += left % side * stride;
                left /= side;
            }
            all[place] = number;
        }
        all
    }

    #[test]
    fn items_come_in_c_order() {
        for shape in
            [&[2, 3][..], &[3, 2], &[7, 1, 40], &[5, 4, 3, 2], &[1, 1], &[33, 17], &[2, 100]]
        {
            let all = stored(shape);
            let sides: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
            let array = ByColumns::new(&sides);
            for (start, end) in [(0, all.len()), (0, 1), (all.len() / 3, all.len() / 2 + 1)] {
                let mut out = vec![0u16; end - start];
                let (bytes, room) =
                    (bytemuck::cast_slice(&all), bytemuck::cast_slice_mut(&mut out));
                array.gather(bytes, 2, start..end, room);
                let wanted: Vec<u16> = (start as u16..end as u16).collect();
                assert_eq!(out, wanted, "{shape:?}");
            }
        }
    }
}
