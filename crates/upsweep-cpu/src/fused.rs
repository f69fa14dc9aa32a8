//! Items that are made as they are read: for a reduction a row of lanes at a time, which goes nowhere else; for a scan, and for what
//! does not commute, a piece that waits in a cache to be read like any other.

use core::marker::PhantomData;
use core::ops::Range;

use fearless_simd::Simd;
use upsweep_core::summation::{LANES, TILE, TILES, WINDOW};
use upsweep_core::{
    Bounds, Carry, Direction, Element, Error, Make, Operator, Reduce, Result, Scan, Tree, Widen,
};

use crate::device::{Cpu, ExecutionContext, set_first};
use crate::isa::{self, Kernel};
use crate::reduce::tile::{fold_lanes, fold_tile};
use crate::scan::range::{Source, total_of_block};
use crate::scan::scan;
use crate::scan::totals::append_windows;
use crate::team::MOST_BLOCKS;

impl Cpu {
    /// Combines all items into one value. Another strategy than threads is not asked for: items are made and folded by vectors.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the threads cannot start.
    pub fn reduce_made<M, A, O>(&self, input: M, problem: &Reduce<A, O>) -> Result<A>
    where
        M: Make<Item: Widen<A>>,
        A: Element,
        O: Operator<A>,
    {
        let operator = problem.operator;
        if input.is_empty() {
            return Ok(problem.init.unwrap_or(operator.identity()));
        }
        let bytes = input.len() * size_of::<M::Item>();
        let total = self.with_context::<M::Item, _>(bytes, |context| match O::COMMUTATIVE {
            true => total(&context.to_read(bytes), input, operator),
            false => total_in_order(context, input, operator),
        })?;
        Ok(problem.init.map_or(total, |init| operator.combine(init, total)))
    }

    /// Writes every prefix of `input` to `output`, by one thread.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are not as many.
    pub fn scan_made<M, U, O>(
        &self,
        input: M,
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        M: Make<Item: Widen<U::Acc>>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let into = |context: &ExecutionContext<'_>,
                    made: &[M::Item],
                    to: &mut [U],
                    carry: &mut Carry<U::Acc>| {
            scan(context, Source::Separate(made), to, problem, carry);
        };
        self.scan_pieces(input, output, problem, into)?;
        if problem.bounds == Bounds::Exclusive {
            set_first(output, problem);
        }
        Ok(())
    }

    /// Writes what `write` makes of every prefix of `input` to `output`, by one thread.
    ///
    /// # Errors
    /// As [`scan_made`](Cpu::scan_made).
    pub fn scan_made_with<M, A, U, O>(
        &self,
        input: M,
        output: &mut [U],
        problem: &Scan<A, O>,
        write: impl Fn(A) -> U + Sync,
    ) -> Result<()>
    where
        M: Make<Item: Widen<A>>,
        A: Element<Acc = A>,
        U: Element,
        O: Operator<A>,
    {
        let identity = problem.operator.identity();
        let mut prefixes = vec![identity; SCANNED.min(input.len())];
        let mut is_first = problem.bounds == Bounds::Exclusive;
        let into = |context: &ExecutionContext<'_>,
                    made: &[M::Item],
                    to: &mut [U],
                    carry: &mut Carry<A>| {
            let prefixes = &mut prefixes[..made.len()];
            scan(context, Source::Separate(made), prefixes, problem, carry);
            if core::mem::take(&mut is_first) {
                set_first(prefixes, problem);
            }
            to.iter_mut().zip(prefixes).for_each(|(to, prefix)| *to = write(*prefix));
        };
        self.scan_pieces(input, output, problem, into)
    }

    /// Hands items, piece after piece, and where their prefixes go to `into`, with what comes into them.
    fn scan_pieces<M, A, U, O>(
        &self,
        input: M,
        output: &mut [U],
        problem: &Scan<A, O>,
        mut into: impl FnMut(&ExecutionContext<'_>, &[M::Item], &mut [U], &mut Carry<A>),
    ) -> Result<()>
    where
        M: Make<Item: Widen<A>>,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let mut carry = Carry::new(problem.init, &problem.operator);
        let mut staged = Vec::with_capacity(SCANNED.min(input.len()));
        let bytes = output.len() * (size_of::<M::Item>() + size_of::<U>());
        let items = output.len();
        self.with_scan_context::<U, _>(bytes, |context| {
            let alone = ExecutionContext { team: crate::team::Team::ALONE, ..*context };
            for number in 0..items.div_ceil(SCANNED) {
                let (start, end) = (number * SCANNED, items.min((number + 1) * SCANNED));
                let piece = match problem.direction {
                    Direction::Forward => start..end,
                    Direction::Reverse => items - end..items - start,
                };
                staged.clear();
                staged.extend(input.make(piece.clone()));
                into(&alone, &staged, &mut output[piece], &mut carry);
            }
        })
    }
}

/// Items of a scan that are made at once: few enough for the first-level cache, and tiles of which a window has whole many.
const SCANNED: usize = 2 * TILE;
const _: () = assert!(WINDOW.is_multiple_of(SCANNED) && TILES.is_power_of_two());

/// The value of all items, of which there is at least one.
fn total<M, A, O>(context: &ExecutionContext<'_>, input: M, operator: O) -> A
where
    M: Make<Item: Widen<A>>,
    A: Element,
    O: Operator<A>,
{
    let items = input.len();
    let fold =
        |range| isa::run(context.level, FoldMade { input, range, operator, acc: PhantomData });
    let block = block_tiles(context, items, size_of::<M::Item>()) * TILE;
    if items <= block {
        return fold(0..items);
    }
    let mut tree = <Tree<A>>::new(&operator);
    context.team.fold(
        items.div_ceil(block),
        |index| fold(index * block..items.min((index + 1) * block)),
        |value| tree.push_subtree(value, (block / TILE).ilog2(), &operator),
    );
    tree.total(&operator)
}

/// Tiles that a thread takes at once, a power of two; all there are if the caller is alone.
fn block_tiles(context: &ExecutionContext<'_>, items: usize, item_bytes: usize) -> usize {
    let tiles = items.div_ceil(TILE);
    if context.team.threads() <= 1 {
        return tiles;
    }
    let item_bytes = item_bytes.max(1);
    let bytes = context.block_bytes(items.saturating_mul(item_bytes));
    let block = bytes.div_ceil(item_bytes * TILE).max(tiles.div_ceil(MOST_BLOCKS));
    block.max(1).next_power_of_two()
}

/// Folds items of these numbers, of which there is at least one.
struct FoldMade<M, A, O> {
    input: M,
    range: Range<usize>,
    operator: O,
    acc: PhantomData<A>,
}

impl<M, A, O> Kernel for FoldMade<M, A, O>
where
    M: Make<Item: Widen<A>>,
    A: Element,
    O: Operator<A>,
{
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        let Self { input, range, operator, .. } = self;
        let mut tree = Tree::<A>::new(&operator);
        let mut start = range.start;
        while start + TILE <= range.end {
            tree.push(fold_whole(&input, start, &operator), &operator);
            start += TILE;
        }
        if start < range.end {
            let tile: Vec<M::Item> = input.make(start..range.end).collect();
            tree.push(fold_tile(simd, &tile, &operator), &operator);
        }
        tree.total(&operator)
    }
}

/// A whole tile, whose items go from their arrays into the lanes without a place of their own.
#[inline(always)]
fn fold_whole<M, A, O>(input: &M, start: usize, operator: &O) -> A
where
    M: Make<Item: Widen<A>>,
    A: Element,
    O: Operator<A>,
{
    let mut lanes = [operator.padding(); LANES];
    for row in (start..start + TILE).step_by(LANES) {
        for (lane, item) in lanes.iter_mut().zip(input.make(row..row + LANES)) {
            *lane = operator.combine(*lane, item.widen());
        }
    }
    fold_lanes(lanes, operator)
}

/// The value of all items, of which there is at least one, of an operator that does not commute.
fn total_in_order<M, A, O>(context: &ExecutionContext<'_>, input: M, operator: O) -> A
where
    M: Make<Item: Widen<A>>,
    A: Element,
    O: Operator<A>,
{
    let mut carry = Carry::new(None, &operator);
    append_windows(context.team, input.len(), &mut carry, operator, || {
        let mut made = Vec::new();
        move |window| {
            made.clear();
            made.extend(input.make(window));
            total_of_block(context.level, &made, false, operator)
        }
    });
    carry.before_next(&operator)
}
