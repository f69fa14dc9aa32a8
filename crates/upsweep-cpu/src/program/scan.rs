//! Scans by a definition, window by window, and the total of a scan.
//!
//! A window goes up four levels and down again, as `docs/summation.md` has them: groups of 4 items, rows of 32 groups, tiles of 16 rows, the
//! window. On each level the values are in planes, of which the first has the first member of each whole, and so on. Prefixes and carries of
//! all wholes are then a few updates of a plane by another one.

use std::sync::Mutex;

use fearless_simd::Level as Instructions;
use upsweep_core::summation::{GROUP, GROUPS, LANES, ROWS, WINDOW};
use upsweep_core::{Bounds, Direction, Error, Result, Traffic};

use super::ProgramOperator;
use super::evaluator::{Aligned, Evaluator, Value, value_of};
use super::planes::{Shape, from_planes, to_planes};
use crate::Cpu;
use crate::device::ExecutionContext;
use crate::scan::in_turn::InTurn;
use crate::team::lock;

impl Cpu {
    /// Writes every prefix, in the order of the [summation specification](upsweep_core::summation). Output 0 of an exclusive scan without a start
    /// value is the identity. From the end, the operator has its operands exchanged.
    ///
    /// # Arguments
    /// `items` and `output` are bytes of the operator's type, aligned as it is; `init` are the bits of a start value.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if they differ in length; [`Error::NoDevice`] if the threads cannot start.
    pub fn scan_by(
        &self,
        operator: &ProgramOperator,
        items: &[u8],
        output: &mut [u8],
        bounds: Bounds,
        direction: Direction,
        init: Option<u64>,
    ) -> Result<()> {
        let size = operator.dtype.size();
        if items.len() != output.len() {
            let (input, output) = (items.len() / size, output.len() / size);
            return Err(Error::LengthMismatch { input, output });
        }
        let context = self.scan_context(operator, items.len())?;
        let reversed = direction == Direction::Reverse;
        let bytes = WINDOW * size;
        type Windows<'a> = Box<dyn Iterator<Item = (&'a [u8], &'a mut [u8])> + Send + 'a>;
        let windows: Windows<'_> = match direction {
            Direction::Forward => Box::new(items.chunks(bytes).zip(output.chunks_mut(bytes))),
            Direction::Reverse => Box::new(items.rchunks(bytes).zip(output.rchunks_mut(bytes))),
        };
        let windows = Mutex::new(windows.enumerate());
        let carries = InTurn::new(context.team, init.unwrap_or(operator.identity));
        carries.on_threads(&|| {
            let mut window = Window::new(operator, context.level, items.len(), reversed);
            while let Some((number, (from, to))) = lock(&windows).and_then(|mut all| all.next()) {
                let total = window.up(from);
                let advance = |carry| window.evaluator.combine(carry, total);
                let Some(carry) = carries.pass(number, advance) else { break };
                window.down(carry, bounds, to);
            }
        });
        Ok(())
    }

    /// The means for a scan of so many bytes.
    pub(super) fn scan_context(
        &self,
        operator: &ProgramOperator,
        bytes: usize,
    ) -> Result<ExecutionContext<'_>> {
        // No thread reads an item twice here, so that more of them gain as soon as in a reduction.
        let size = operator.dtype.size();
        let cost = (bytes / size).saturating_mul(2 * operator.program.cost);
        self.context(Traffic::Reads, self.policies().of_bytes(size), cost)
    }
}

/// The total of the scan of all items, of which there is at least one.
pub(super) fn total(
    context: &ExecutionContext<'_>,
    operator: &ProgramOperator,
    items: &[u8],
) -> u64 {
    let windows = items.chunks(WINDOW * operator.dtype.size());
    let count = windows.len();
    let windows = Mutex::new(windows.enumerate());
    let carries = InTurn::new(context.team, operator.identity);
    carries.on_threads(&|| {
        let mut window = Window::new(operator, context.level, items.len(), false);
        while let Some((number, from)) = lock(&windows).and_then(|mut all| all.next()) {
            let total = window.up(from);
            let advance = |carry| window.evaluator.combine(carry, total);
            if carries.pass(number, advance).is_none() {
                break;
            }
        }
    });
    carries.pass(count, |carry| carry).unwrap_or(operator.identity)
}

/// Values of one level of a window, which become prefixes in the wholes of the level above, and then carries.
#[derive(Default)]
struct Planes {
    /// A free plane, and one for each member.
    values: Aligned,
    members: usize,
    /// Bytes of a plane.
    len: usize,
}

impl Planes {
    /// Room for planes of so many bytes.
    fn set(&mut self, members: usize, len: usize) -> &mut [u8] {
        (self.members, self.len) = (members, len);
        self.values.grow((members + 1) * len);
        &mut self.values.bytes_mut()[len..][..members * len]
    }

    /// The last plane: totals, when prefixes are made.
    fn last(&self) -> &[u8] {
        &self.values.bytes()[self.members * self.len..][..self.len]
    }

    /// Makes aligned prefixes: the right half of a whole has the total of the left half in front of it.
    fn scan(&mut self, evaluator: &mut Evaluator<'_>) {
        let (members, len) = (self.members, self.len);
        let values = &mut self.values.bytes_mut()[len..][..members * len];
        let mut half = 1;
        while half < members {
            for whole in values.chunks_mut(2 * half * len) {
                if whole.len() > half * len {
                    let (left, right) = whole.split_at_mut(half * len);
                    evaluator.put_before(right, &left[(half - 1) * len..]);
                }
            }
            half *= 2;
        }
    }

    /// Puts what comes into each whole in front of its prefixes, but for that of the last member if `all` is false.
    fn hand_down(&mut self, carry: &[u8], all: bool, evaluator: &mut Evaluator<'_>) {
        let (members, len) = (self.members, self.len);
        let (first, prefixes) = self.values.bytes_mut()[..(members + 1) * len].split_at_mut(len);
        first.copy_from_slice(carry);
        let count = if all { members } else { members - 1 };
        evaluator.put_before(&mut prefixes[..count * len], carry);
    }

    /// What comes into each member.
    fn carries(&self) -> &[u8] {
        &self.values.bytes()[..self.members * self.len]
    }

    /// What comes out of each member.
    fn prefixes(&self) -> &[u8] {
        &self.values.bytes()[self.len..][..self.members * self.len]
    }
}

/// A window on its way up and down, by one thread.
struct Window<'a> {
    operator: &'a ProgramOperator,
    evaluator: Evaluator<'a>,
    size: usize,
    reversed: bool,
    items: Planes,
    groups: Planes,
    rows: Planes,
    tiles: Planes,
    /// What comes into each row.
    row_carries: Aligned,
}

impl<'a> Window<'a> {
    fn new(
        operator: &'a ProgramOperator,
        level: Instructions,
        bytes: usize,
        reversed: bool,
    ) -> Self {
        let size = operator.dtype.size();
        let items = (bytes / size).min(WINDOW).div_ceil(GROUP);
        Self {
            operator,
            evaluator: Evaluator::new(&operator.program, level, items).flipped(reversed),
            size,
            reversed,
            items: Planes::default(),
            groups: Planes::default(),
            rows: Planes::default(),
            tiles: Planes::default(),
            row_carries: Aligned::default(),
        }
    }

    /// Rows of groups of items, and tiles of rows, of a window of so many bytes. What is not there is not combined either.
    fn shapes(&self, bytes: usize) -> [Shape; 2] {
        let items = bytes / self.size;
        let groups = items.div_ceil(GROUP).min(GROUPS);
        let rows = items.div_ceil(LANES);
        let tiles = rows.div_ceil(ROWS);
        [
            Shape { rows, groups, members: GROUP },
            Shape { rows: tiles, groups: 1, members: rows.min(ROWS) },
        ]
    }

    /// Makes the prefixes of all levels. Gives the total.
    fn up(&mut self, from: &[u8]) -> u64 {
        let [of_rows, of_tiles] = self.shapes(from.len());
        let Self { evaluator, size, reversed, items, groups, rows, tiles, .. } = self;
        let (size, level, identity) = (*size, evaluator.level(), self.operator.identity);

        let planes = items.set(GROUP, of_rows.groups * of_rows.rows * size);
        to_planes(level, of_rows, size, from, planes, identity, *reversed);
        items.scan(evaluator);

        groups.set(of_rows.groups, of_rows.rows * size).copy_from_slice(items.last());
        groups.scan(evaluator);

        let planes = rows.set(of_tiles.members, of_tiles.rows * size);
        to_planes(level, of_tiles, size, groups.last(), planes, identity, false);
        rows.scan(evaluator);

        tiles.set(of_tiles.rows, size).copy_from_slice(rows.last());
        tiles.scan(evaluator);
        value_of(tiles.last())
    }

    /// Hands down what comes into the window, and writes the prefixes of its items.
    fn down(&mut self, carry: u64, bounds: Bounds, to: &mut [u8]) {
        let [of_rows, of_tiles] = self.shapes(to.len());
        let Self { evaluator, size, reversed, items, groups, rows, tiles, row_carries, .. } = self;
        let (size, level) = (*size, evaluator.level());

        tiles.hand_down(Value::new(carry).bytes(size), false, evaluator);
        rows.hand_down(tiles.carries(), false, evaluator);
        row_carries.grow(of_rows.rows * size);
        let carries = &mut row_carries.bytes_mut()[..of_rows.rows * size];
        from_planes(level, of_tiles, size, rows.carries(), carries, false);
        groups.hand_down(carries, false, evaluator);
        items.hand_down(groups.carries(), bounds == Bounds::Inclusive, evaluator);
        let prefixes = match bounds {
            Bounds::Inclusive => items.prefixes(),
            Bounds::Exclusive => items.carries(),
        };
        from_planes(level, of_rows, size, prefixes, to, *reversed);
    }
}
