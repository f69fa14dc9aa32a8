//! One item at a time: the baseline that vectors and threads are measured against.
//!
//! The order of the items, and so every bit of a result, is that of the other strategies. Nothing
//! here is compiled for more than the least instruction set.

use core::hint::black_box;

use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{Bounds, Carry, Direction, Element, Flipped, Operator, Scan, Tree, Widen};

use crate::scan::Source;
use crate::scan::row::scan_row;

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
    if !O::COMMUTATIVE {
        let mut carry = Carry::new(None, &operator);
        let mut row = [operator.padding(); LANES];
        for tile in items.chunks(TILE) {
            let mut rows = Tree::<A, ROW_LEVELS>::new(&operator);
            for items in tile.chunks(LANES) {
                row.fill(operator.padding());
                row.iter_mut().zip(items).for_each(|(value, item)| *value = item.widen());
                let mut prefixes = row;
                let padding = operator.padding();
                rows.push(scan_row(&row, &mut prefixes, padding, false, &operator), &operator);
            }
            carry.push(rows.total(&operator), 0, &operator);
        }
        return carry.before_next(&operator);
    }
    let mut tiles = Tree::<A>::new(&operator);
    for tile in items.chunks(TILE) {
        let mut lanes = [operator.padding(); LANES];
        for row in tile.chunks(LANES) {
            for (lane, item) in lanes.iter_mut().zip(row) {
                *lane = operator.combine(*lane, item.widen());
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] = operator.combine(lanes[lane], lanes[lane + half]);
            }
            half /= 2;
        }
        tiles.push(lanes[0], &operator);
    }
    tiles.total(&operator)
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
        scan_with(source, output, problem, &Opaque(problem.operator));
    } else {
        scan_with(source, output, problem, &Opaque(Flipped(problem.operator)));
    }
}

fn scan_with<T, U, O, P>(
    source: Source<'_, T>,
    output: &mut [U],
    problem: &Scan<U::Acc, O>,
    operator: &P,
) where
    T: Widen<U::Acc>,
    U: Element,
    P: Operator<U::Acc>,
{
    let items = output.len();
    let mut carry = Carry::new(problem.init, operator);
    let mut rows = Tree::<U::Acc, ROW_LEVELS>::new(operator);
    let mut row = [operator.padding(); LANES];
    let mut prefixes = row;
    let mut done = 0;
    while done < items {
        let len = LANES.min(items - done);
        let at = |i: usize| match problem.direction {
            Direction::Forward => done + i,
            Direction::Reverse => items - 1 - (done + i),
        };
        row.fill(operator.padding());
        for (i, value) in row[..len].iter_mut().enumerate() {
            *value = match source {
                Source::Separate(items) => items[at(i)].widen(),
                Source::InPlace => output[at(i)].to_acc(),
            };
        }
        let before = operator.combine(carry.before_next(operator), rows.total(operator));
        let exclusive = problem.bounds == Bounds::Exclusive;
        let total = scan_row(&row, &mut prefixes, before, exclusive, operator);
        for (i, &prefix) in prefixes[..len].iter().enumerate() {
            output[at(i)] = U::from_acc(prefix);
        }
        rows.push(total, operator);
        done += len;
        if done.is_multiple_of(TILE) {
            carry.push(rows.total(operator), 0, operator);
            rows = Tree::new(operator);
        }
    }
}
