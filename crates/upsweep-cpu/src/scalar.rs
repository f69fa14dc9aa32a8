//! One item at a time: the baseline that vectors and threads are measured against.
//!
//! The order of the items, and so every bit of a result, is that of the other strategies. Nothing
//! here is compiled for more than the least instruction set.

use core::hint::black_box;

use fearless_simd::Level;
use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{Carry, Direction, Element, Flipped, Operator, Scan, Tree, Widen};

use crate::erased::ErasedOperator;
use crate::reduce::tile::fold_plainly;
use crate::scan::Source;
use crate::scan::range::{ScanKernel, Settings, scan_range, scan_rows_plainly};
use crate::scan::row::total_row_plainly;

/// An operator that the compiler cannot see through, so that it cannot combine several items at
/// once.
#[derive(Clone, Copy, Debug)]
struct Opaque<O>(O);

impl<A: Element, O: Operator<A>> Operator<A> for Opaque<O> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const EXACT: bool = O::EXACT;

    fn identity(&self) -> A {
        self.0.identity()
    }

    #[inline(always)]
    fn padding(&self) -> A {
        self.0.padding()
    }

    #[inline(always)]
    fn combine(&self, left: A, right: A) -> A {
        black_box(self.0.combine(left, right))
    }
}

/// The value of all items, of which there is at least one.
pub(crate) fn total<T, A, O>(items: &[T], operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let operator = Opaque(operator);
    if O::COMMUTATIVE {
        return fold_plainly(items, &operator);
    }
    let mut carry = Carry::new(None, &operator);
    let mut row = [operator.padding(); LANES];
    for tile in items.chunks(TILE) {
        let mut rows = Tree::<A, ROW_LEVELS>::new(&operator);
        for items in tile.chunks(LANES) {
            row.fill(operator.padding());
            row.iter_mut().zip(items).for_each(|(value, item)| *value = item.widen());
            rows.push(total_row_plainly(&row, &operator), &operator);
        }
        carry.push(rows.total(&operator), 0, &operator);
    }
    carry.before_next(&operator)
}

/// Levels of the tree over the rows of a tile.
const ROW_LEVELS: usize = ROWS.ilog2() as usize + 1;

/// Scans all items.
pub(crate) fn scan<T, U, O>(source: Source<'_, T>, output: &mut [U], problem: &Scan<U::Acc, O>)
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    if O::COMMUTATIVE || problem.direction == Direction::Forward {
        scan_by(source, output, problem, Opaque(problem.operator));
    } else {
        scan_by(source, output, problem, Opaque(Flipped(problem.operator)));
    }
}

fn scan_by<T, U, O, P>(
    source: Source<'_, T>,
    output: &mut [U],
    problem: &Scan<U::Acc, O>,
    operator: P,
) where
    T: Widen<U::Acc>,
    U: Element,
    P: Operator<U::Acc>,
{
    let plain = |input: &[_], output: &mut [_], exclusive, tile: &mut _, carry: &mut _| {
        scan_rows_plainly(input, output, exclusive, tile, carry, &operator);
    };
    let Scan { init, bounds, direction, .. } = *problem;
    let settings = Settings {
        level: Level::baseline(),
        // SAFETY: the operator stays where it is until this returns.
        operator: unsafe { ErasedOperator::new(&operator) },
        kernel: ScanKernel::Plain(&plain),
        bounds,
        direction,
        streaming: false,
    };
    scan_range(&settings, source, output, &mut Carry::new(init, &operator), &[]);
}
