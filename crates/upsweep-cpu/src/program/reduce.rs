//! Reductions by a definition: lanes of many tiles down their rows, then halves and trees of all of them at once.

use fearless_simd::Level;
use upsweep_core::Result;
use upsweep_core::summation::{LANES, ROWS, TILE};

use super::evaluator::{Aligned, Evaluator, Side, Value, value_of};
use super::planes::{Shape, fill, to_planes};
use super::{ProgramOperator, piece_items, scan};
use crate::Cpu;
use crate::team::MOST_BLOCKS;

/// Tiles whose lanes are folded to their values at once. The lanes of all of them fit the first-level cache; halves have 16 values at least.
const BATCH: usize = 16;

impl Cpu {
    /// The value of all items in the order of the [summation specification](upsweep_core::summation): of an operator that does not commute,
    /// the total of its scan. No items give the start value, or else the identity.
    ///
    /// # Arguments
    /// `items` are the bytes of the items, aligned as their type is; `init` are the bits of a start value.
    ///
    /// # Errors
    /// [`Error::NoDevice`](upsweep_core::Error::NoDevice) if the threads cannot start.
    pub fn reduce_by(
        &self,
        operator: &ProgramOperator,
        items: &[u8],
        init: Option<u64>,
    ) -> Result<u64> {
        if items.is_empty() {
            return Ok(init.unwrap_or(operator.identity));
        }
        let total = match operator.commutative {
            true => self.total(operator, items)?,
            false => scan::total(&self.scan_context(operator, items.len())?, operator, items),
        };
        Ok(init.map_or(total, |init| operator.combine(init, total)))
    }

    /// The value of all items, of which there is at least one.
    fn total(&self, operator: &ProgramOperator, items: &[u8]) -> Result<u64> {
        let size = operator.dtype.size();
        let count = items.len() / size;
        let context = self.context_of(&operator.program, count)?;
        let block = piece_items(&context, &operator.program, count);
        let block = block.max(count.div_ceil(MOST_BLOCKS)).div_ceil(TILE).next_power_of_two();
        let block = block * TILE;
        let fold = |items: &[u8]| {
            let mut fold = Fold::new(operator, context.level, items.len() / size);
            fold.tiles(items);
            fold.total()
        };
        if count <= block {
            return Ok(fold(items));
        }
        let blocks: Vec<&[u8]> = items.chunks(block * size).collect();
        let mut tree = Fold::new(operator, context.level, blocks.len() * TILE);
        context.team.fold(
            blocks.len(),
            |number| fold(blocks[number]),
            |total| tree.push(Value::new(total).bytes(size)),
        );
        Ok(tree.total())
    }
}

/// A reduction by one thread.
struct Fold<'a> {
    operator: &'a ProgramOperator,
    evaluator: Evaluator<'a>,
    size: usize,
    /// The lanes of some tiles, one tile after another.
    lanes: Aligned,
    /// One row of each, and then the lanes in planes of a lane each.
    planes: Aligned,
    /// Values of tiles, or of wholes of them, and how many bytes of them there are.
    values: Aligned,
    len: usize,
}

impl<'a> Fold<'a> {
    fn new(operator: &'a ProgramOperator, level: Level, items: usize) -> Self {
        let size = operator.dtype.size();
        let tiles = items.div_ceil(TILE).clamp(1, BATCH);
        let at_once = if tiles == 1 { LANES } else { tiles * LANES / 2 };
        Self {
            operator,
            evaluator: Evaluator::new(&operator.program, level, at_once),
            size,
            lanes: Aligned::new(tiles * LANES * size),
            planes: Aligned::new(tiles * LANES * size),
            values: Aligned::new(items.div_ceil(TILE) * size),
            len: 0,
        }
    }

    /// Folds tiles to their values.
    fn tiles(&mut self, items: &[u8]) {
        for batch in items.chunks(BATCH * TILE * self.size) {
            self.lanes(batch);
            self.halves(batch.len().div_ceil(TILE * self.size));
        }
    }

    /// Folds the rows of some tiles to lanes: the same row of all of them is brought together first, so that one update does for all.
    fn lanes(&mut self, items: &[u8]) {
        let row = LANES * self.size;
        let tiles = items.len().div_ceil(ROWS * row);
        let lanes = self.lanes.bytes_mut();
        fill(&mut lanes[..tiles * row], self.size, self.operator.identity);
        for number in 0..ROWS {
            // The last tile may have fewer rows, and the last row fewer items: lanes without one stay as they are.
            let rows = items.chunks(row).skip(number).step_by(ROWS);
            if number == 0 {
                let places = lanes.chunks_exact_mut(row);
                places.zip(rows).for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
            } else if tiles == 1 {
                rows.for_each(|from| {
                    self.evaluator.update(&mut lanes[..from.len()], Side::Left, from);
                });
            } else {
                let mut len = 0;
                let together = self.planes.bytes_mut();
                for from in rows {
                    together[len..len + from.len()].copy_from_slice(from);
                    len += from.len();
                }
                self.evaluator.update(&mut lanes[..len], Side::Left, &together[..len]);
            }
        }
    }

    /// Folds the lanes of so many tiles to a value of each.
    fn halves(&mut self, tiles: usize) {
        let (size, level) = (self.size, self.evaluator.level());
        let shape = Shape { rows: tiles, groups: 1, members: LANES };
        let len = tiles * LANES * size;
        let planes = &mut self.planes.bytes_mut()[..len];
        to_planes(level, shape, size, &self.lanes.bytes()[..len], planes, 0, false);
        let mut half = len / 2;
        while half >= tiles * size {
            let (left, right) = planes.split_at_mut(half);
            self.evaluator.update(left, Side::Left, &right[..half]);
            half /= 2;
        }
        append(&mut self.values, &mut self.len, &planes[..tiles * size]);
    }

    /// Appends a value.
    fn push(&mut self, value: &[u8]) {
        append(&mut self.values, &mut self.len, value);
    }

    /// The aligned tree over all values. One without a partner moves up as it is.
    fn total(mut self) -> u64 {
        let (size, half) = (self.size, self.len.div_ceil(2 * self.size) * self.size);
        let (mut left, mut right) = (Aligned::new(half), Aligned::new(half));
        while self.len > size {
            let (mut lefts, mut rights) = (0, 0);
            for pair in self.values.bytes()[..self.len].chunks(2 * size) {
                append(&mut left, &mut lefts, &pair[..size]);
                append(&mut right, &mut rights, &pair[size..]);
            }
            let paired = &mut left.bytes_mut()[..rights];
            self.evaluator.update(paired, Side::Left, &right.bytes()[..rights]);
            core::mem::swap(&mut self.values, &mut left);
            self.len = lefts;
        }
        value_of(&self.values.bytes()[..size])
    }
}

/// Appends bytes, for which there is room.
fn append(to: &mut Aligned, len: &mut usize, bytes: &[u8]) {
    to.bytes_mut()[*len..][..bytes.len()].copy_from_slice(bytes);
    *len += bytes.len();
}
