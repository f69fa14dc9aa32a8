//! How a copy between two layouts is dealt out to threads: the same on every GPU.

use upsweep_core::Rows;

/// Bytes of the widest access.
const WIDEST: usize = 16;

/// Items of a side of a square.
const SIDE: usize = 64;

/// Accesses of a thread.
const COPIED: u64 = 4;

/// Places of an axis, at least, that are worth a square.
const LEAST_SIDE: usize = 16;

/// A copy: rows of one item, whose axes are in the order in which threads lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copying {
    /// A thread has accesses of `vector` items, neighbours in the output.
    Items {
        /// The rows.
        rows: Rows,
        /// Items of an access.
        vector: u32,
    },
    /// A workgroup has a square of the last two axes, the first of which lies next to each other in the input, the second in the output.
    Squares {
        /// The rows.
        rows: Rows,
    },
}

impl Copying {
    /// For rows of one item, those of the output in its order, of `size` bytes, which begin at these addresses.
    pub fn new(rows: &Rows, size: usize, addresses: [u64; 2]) -> Self {
        let mut rows = rows.clone();
        let last = rows.across.len().saturating_sub(1);
        let is_long = |axis: usize| rows.across[axis].len >= LEAST_SIDE;
        let near = (0..last).find(|&axis| rows.across[axis].input == 1 && is_long(axis));
        if let Some(axis) = near.filter(|_| rows.across[last].input != 1 && is_long(last)) {
            let own = rows.across.remove(axis);
            rows.across.insert(last - 1, own);
            return Self::Squares { rows };
        }
        let mut vector = (WIDEST / size).max(1);
        let suits = |vector: usize| {
            let bytes = (vector * size) as u64;
            let Some((inner, outer)) = rows.across.split_last() else { return false };
            let is_whole = |stride: isize| stride.unsigned_abs().is_multiple_of(vector);
            (inner.input, inner.output) == (1, 1)
                && inner.len.is_multiple_of(vector)
                && outer.iter().all(|axis| is_whole(axis.input) && is_whole(axis.output))
                && rows.start.iter().all(|start| start.is_multiple_of(vector))
                && addresses.iter().all(|address| address.is_multiple_of(bytes))
        };
        while vector > 1 && !suits(vector) {
            vector /= 2;
        }
        Self::Items { rows, vector: vector as u32 }
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        let (Self::Items { rows, .. } | Self::Squares { rows }) = self;
        rows
    }

    /// Items of an access.
    pub fn vector(&self) -> u32 {
        match self {
            Self::Items { vector, .. } => *vector,
            Self::Squares { .. } => 1,
        }
    }

    /// Workgroups of so many threads.
    pub fn workgroups(&self, threads: u32) -> u64 {
        let rows = self.rows();
        match self {
            Self::Items { vector, .. } => {
                let accesses = rows.count() as u64 / u64::from(*vector);
                accesses.div_ceil(u64::from(threads) * COPIED)
            }
            Self::Squares { .. } => {
                let (others, sides) = rows.across.split_at(rows.across.len() - 2);
                let squares = sides.iter().map(|axis| axis.len.div_ceil(SIDE));
                others.iter().map(|axis| axis.len).chain(squares).map(|n| n as u64).product()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use upsweep_core::Layout;

    use super::*;

    fn copying(shape: &[usize], strides: &[isize], size: usize) -> Copying {
        let (from, to) = (Layout::strided(shape, strides, 0), Layout::packed(shape));
        let rows = Rows::scanned(&from.unwrap(), &[], &to.unwrap()).in_output_order();
        Copying::new(&rows, size, [0; 2])
    }

    #[test]
    fn neighbours_go_in_wide_accesses_and_columns_in_squares() {
        assert!(matches!(copying(&[64, 32], &[32, 1], 4), Copying::Items { vector: 4, .. }));
        assert!(matches!(copying(&[64, 32], &[40, 1], 2), Copying::Items { vector: 8, .. }));
        assert!(matches!(copying(&[64, 33], &[33, 1], 8), Copying::Items { vector: 2, .. }));
        assert!(matches!(copying(&[64, 33], &[34, 1], 8), Copying::Items { vector: 1, .. }));
        assert!(matches!(copying(&[64, 32], &[1, 64], 4), Copying::Squares { .. }));
        assert!(matches!(copying(&[64, 3], &[1, 64], 4), Copying::Items { vector: 1, .. }));
        let squares = copying(&[100, 5, 70], &[1, 8000, 100], 4);
        assert_eq!(squares.workgroups(256), 2 * 2 * 5);
        assert_eq!(
            squares.rows().across.iter().map(|axis| axis.len).collect::<Vec<_>>(),
            [5, 100, 70]
        );
    }
}
