//! Scans of rows: long rows along memory by the kernels of one array, all others as columns of blocks, group by group.

use core::ops::Range;
use std::sync::Mutex;

use fearless_simd::{Level, Simd};
use upsweep_core::summation::{GROUP, GROUPS, LANES, ROWS, TILE, TILES, WINDOW};
use upsweep_core::{
    Backend, Bounds, Direction, Element, Flipped, Operator, Result, Rows, Scan, Widen,
};

use super::blocks::{Block, Blocks};
use super::kernels::{ByOperator, ColumnKernels, ColumnTree, Columns, Order};
use super::{LONG_ROW, TASKS_OF_THREAD, deal_out_with, each};
use crate::device::{Cpu, ExecutionContext};
use crate::isa::{self, Kernel};
use crate::simd::strided::SharedOutput;
use crate::team::lock;

/// Items of a column that are scanned before they are written: a block of them stays in the first-level cache.
const PIECE: usize = GROUP * 16;

impl Cpu {
    /// Writes the prefixes of each row to their places of the output.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn scan_rows<T, U, O>(
        &self,
        items: &[T],
        rows: &Rows,
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let rows = rows.clone().in_memory_order();
        if rows.count() == 0 || rows.items() == 0 {
            return Ok(());
        }
        let each_bytes = (size_of::<T>() + size_of::<U>()).saturating_mul(rows.items());
        let bytes = rows.count().saturating_mul(each_bytes);
        let alone = self.alone();
        let output = SharedOutput::new(output);
        if rows.step() == Some([1, 1]) && rows.items() >= LONG_ROW {
            return self.with_scan_context::<U, _>(bytes, |context| {
                each(context, rows.count(), &|context, row| {
                    let [from, to] = rows.row(row);
                    // SAFETY: rows lie apart, and each is taken by one thread.
                    let output = unsafe { output.slice(to..to + rows.items()) };
                    let cpu = if context.team.threads() > 1 { self } else { &alone };
                    let items = &items[from..][..rows.items()];
                    // Threads have started, which is all that can fail.
                    let _ = cpu
                        .workspace(0, 0)
                        .and_then(|mut own| cpu.scan(&mut own, items, output, problem));
                });
            });
        }
        let rows = if problem.direction == Direction::Reverse { rows.from_the_end() } else { rows };
        self.with_scan_context::<U, _>(bytes, |context| {
            let (level, operator) = (context.level, problem.operator);
            let first = match (problem.bounds, problem.init) {
                (Bounds::Exclusive, None) => Some(operator.identity()),
                _ => None,
            };
            let exclusive = problem.bounds == Bounds::Exclusive;
            let into = problem.init.unwrap_or(operator.padding());
            let of = Scanned { exclusive, into, first };
            match problem.direction {
                Direction::Forward => {
                    scan_columns(
                        context,
                        items,
                        &rows,
                        &output,
                        &of,
                        &ByOperator { level, operator },
                    );
                }
                Direction::Reverse => {
                    let operator = Flipped(operator);
                    scan_columns(
                        context,
                        items,
                        &rows,
                        &output,
                        &of,
                        &ByOperator { level, operator },
                    );
                }
            }
        })
    }
}

/// What is wanted of each column.
struct Scanned<A> {
    exclusive: bool,
    /// What comes into it.
    into: A,
    /// What is written of its first item, if that is something else.
    first: Option<A>,
}

/// Columns that go down a line of 128 items together, each level of its tree a vector or two.
const SIDE: usize = 16;

/// Columns of a block, at most, that go down line by line: then what is written of a line stays in the cache.
const MOST_SIDE_BY_SIDE: usize = 32;

/// Levels of a line's tree, the last of which is its total.
const LEVELS: usize = GROUPS.ilog2() as usize + 1;

/// Whether a block of so many columns goes down line by line.
fn goes_by_lines(width: usize) -> bool {
    width.is_multiple_of(SIDE) && width <= MOST_SIDE_BY_SIDE
}

/// The kernels of a scan.
trait ScanKernels<T, A, U>: ColumnKernels<T, A> {
    /// Scans up to four items of each column, from item `first` of `columns` on, `into` coming into them: `into` becomes what comes into the
    /// next ones if nobody sees the grouping, and `total` their total.
    fn scan_group(&self, group: Group<'_, T, A, U>);

    /// Scans a whole line of each column, from item `first` of `columns` on, `into` coming into it: `total` becomes its total. Without an
    /// output that is all. The columns are a multiple of [`SIDE`].
    fn scan_line(&self, line: Group<'_, T, A, U>);
}

/// Up to four items of each column, or a line of 128.
struct Group<'a, T, A, U> {
    columns: Columns<'a, T>,
    /// The number of the first.
    first: usize,
    into: &'a mut [A],
    total: &'a mut [A],
    /// The prefixes, of each item those of all columns.
    output: &'a mut [U],
    exclusive: bool,
}

impl<T, U, O> ScanKernels<T, U::Acc, U> for ByOperator<O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    fn scan_group(&self, group: Group<'_, T, U::Acc, U>) {
        isa::run(self.level, ScanGroup { operator: self.operator, group });
    }

    fn scan_line(&self, line: Group<'_, T, U::Acc, U>) {
        isa::run(self.level, ScanLine { operator: self.operator, line });
    }
}

struct ScanGroup<'a, T, A, U, O> {
    operator: O,
    group: Group<'a, T, A, U>,
}

impl<T, U, O> Kernel for ScanGroup<'_, T, U::Acc, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, group: Group { columns, first, into, total, output, exclusive } } =
            self;
        let width = columns.width;
        let there = (columns.len - first).min(GROUP);
        if there < GROUP {
            // The last items of all, of which nobody wants the total.
            for c in 0..width {
                let mut prefixes = [operator.padding(); GROUP];
                for (k, prefix) in prefixes.iter_mut().take(there).enumerate() {
                    *prefix = columns.row(first + k)[c].widen();
                }
                scan_four(&operator, &mut prefixes);
                for k in 0..there {
                    let prefix = match (exclusive, k) {
                        (true, 0) => into[c],
                        (true, k) => operator.combine(into[c], prefixes[k - 1]),
                        (false, k) => operator.combine(into[c], prefixes[k]),
                    };
                    output[k * width + c] = U::from_acc(prefix);
                }
            }
            return;
        }
        let rows: [&[T]; GROUP] = core::array::from_fn(|k| columns.row(first + k));
        let (out, rest) = output.split_at_mut(width);
        let (out_1, rest) = rest.split_at_mut(width);
        let (out_2, out_3) = rest.split_at_mut(width);
        let (into, total) = (&mut into[..width], &mut total[..width]);
        let [row, row_1, row_2, row_3] = rows.map(|row| &row[..width]);
        let (out, out_1, out_2, out_3) =
            (&mut out[..width], &mut out_1[..width], &mut out_2[..width], &mut out_3[..width]);
        for c in 0..width {
            let mut at = [row[c].widen(), row_1[c].widen(), row_2[c].widen(), row_3[c].widen()];
            scan_four(&operator, &mut at);
            let before = into[c];
            let [a, b, d, e] = at.map(|prefix| operator.combine(before, prefix));
            let [first, second, third, fourth] =
                if exclusive { [before, a, b, d] } else { [a, b, d, e] };
            out[c] = U::from_acc(first);
            out_1[c] = U::from_acc(second);
            out_2[c] = U::from_acc(third);
            out_3[c] = U::from_acc(fourth);
            total[c] = at[GROUP - 1];
            if O::EXACT {
                into[c] = e;
            }
        }
    }
}

/// Sixteen columns at a time go down a line, with the tree of its groups on the stack: what comes into a group is what comes into the line and
/// the tree so far, and nothing is called for any level.
struct ScanLine<'a, T, A, U, O> {
    operator: O,
    line: Group<'a, T, A, U>,
}

impl<T, U, O> Kernel for ScanLine<'_, T, U::Acc, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, line: Group { columns, first, into, total, output, exclusive } } =
            self;
        let width = columns.width;
        for side in (0..width).step_by(SIDE) {
            let into_line = &into[side..][..SIDE];
            let mut subtrees = [[operator.padding(); SIDE]; LEVELS];
            for group in 0..GROUPS {
                // Closures here are calls that are not compiled for the instruction set: 26 ms instead of 8 for 16 columns of 2^20 `f32`.
                let number = first + group * GROUP;
                let row = &columns.row(number)[side..][..SIDE];
                let row_1 = &columns.row(number + 1)[side..][..SIDE];
                let row_2 = &columns.row(number + 2)[side..][..SIDE];
                let row_3 = &columns.row(number + 3)[side..][..SIDE];
                let mut at = [[operator.padding(); SIDE]; GROUP];
                for c in 0..SIDE {
                    let mut four =
                        [row[c].widen(), row_1[c].widen(), row_2[c].widen(), row_3[c].widen()];
                    scan_four(&operator, &mut four);
                    [at[0][c], at[1][c], at[2][c], at[3][c]] = four;
                }
                if !output.is_empty() {
                    let mut before = [operator.padding(); SIDE];
                    before.copy_from_slice(into_line);
                    if group > 0 {
                        let found = total_of(&operator, &subtrees, group);
                        for c in 0..SIDE {
                            before[c] = operator.combine(before[c], found[c]);
                        }
                    }
                    for k in 0..GROUP {
                        let out = &mut output[(group * GROUP + k) * width + side..][..SIDE];
                        for c in 0..SIDE {
                            out[c] = U::from_acc(match (exclusive, k) {
                                (true, 0) => before[c],
                                (true, k) => operator.combine(before[c], at[k - 1][c]),
                                (false, k) => operator.combine(before[c], at[k][c]),
                            });
                        }
                    }
                }
                let mut next = at[GROUP - 1];
                let level = group.trailing_ones() as usize;
                for subtree in &subtrees[..level] {
                    for c in 0..SIDE {
                        next[c] = operator.combine(subtree[c], next[c]);
                    }
                }
                subtrees[level] = next;
            }
            total[side..][..SIDE].copy_from_slice(&subtrees[LEVELS - 1]);
        }
    }
}

/// The value of the first `count` groups of a line, of which there is one at least: the last of their aligned prefixes.
#[inline(always)]
fn total_of<A: Element, O: Operator<A>>(
    operator: &O,
    subtrees: &[[A; SIDE]; LEVELS],
    count: usize,
) -> [A; SIDE] {
    let lowest = count.trailing_zeros() as usize;
    let mut total = subtrees[lowest];
    for (level, subtree) in subtrees.iter().enumerate().skip(lowest + 1) {
        if count >> level & 1 == 1 {
            for c in 0..SIDE {
                total[c] = operator.combine(subtree[c], total[c]);
            }
        }
    }
    total
}

/// Aligned prefixes.
#[inline(always)]
fn scan_four<A: Element, O: Operator<A>>(operator: &O, at: &mut [A; GROUP]) {
    let right = operator.combine(at[2], at[3]);
    at[1] = operator.combine(at[0], at[1]);
    at[2] = operator.combine(at[1], at[2]);
    at[3] = operator.combine(at[1], right);
}

/// What is known in front of a group, level by level.
struct Levels<A> {
    groups: ColumnTree<A>,
    lines: ColumnTree<A>,
    tiles: ColumnTree<A>,
    /// What comes into the window, the tile and the line.
    window: Vec<A>,
    tile: Vec<A>,
    line: Vec<A>,
    /// What comes into the group, and its total.
    into: Vec<A>,
    total: Vec<A>,
}

impl<A: Element> Levels<A> {
    fn new() -> Self {
        let (groups, lines, tiles) = (ColumnTree::new(), ColumnTree::new(), ColumnTree::new());
        let [window, tile, line, into, total] = [const { Vec::new() }; 5];
        Self { groups, lines, tiles, window, tile, line, into, total }
    }

    fn begin(&mut self, into: &[A]) {
        for values in
            [&mut self.window, &mut self.tile, &mut self.line, &mut self.into, &mut self.total]
        {
            values.clear();
            values.extend_from_slice(into);
        }
        [&mut self.groups, &mut self.lines, &mut self.tiles]
            .into_iter()
            .for_each(ColumnTree::clear);
    }

    /// Goes on behind a whole group, whose total is there.
    fn next<T>(&mut self, kernels: &dyn ColumnKernels<T, A>) {
        self.groups.push(&mut self.total, kernels);
        if self.groups.count() == GROUPS {
            self.groups.total(&mut self.total, kernels);
            self.groups.clear();
            self.behind_line(kernels);
        }
        into_next(kernels, &self.groups, &self.line, &mut self.into);
    }

    /// Goes on behind a whole line, whose total is there.
    fn next_line<T>(&mut self, kernels: &dyn ColumnKernels<T, A>) {
        self.behind_line(kernels);
        self.into.copy_from_slice(&self.line);
    }

    fn behind_line<T>(&mut self, kernels: &dyn ColumnKernels<T, A>) {
        self.lines.push(&mut self.total, kernels);
        if self.lines.count() == ROWS {
            self.lines.total(&mut self.total, kernels);
            self.lines.clear();
            self.tiles.push(&mut self.total, kernels);
            if self.tiles.count() == TILES {
                self.tiles.total(&mut self.total, kernels);
                self.tiles.clear();
                behind(kernels, &mut self.window, &mut self.total);
            }
            into_next(kernels, &self.tiles, &self.window, &mut self.tile);
        }
        into_next(kernels, &self.lines, &self.tile, &mut self.line);
    }
}

/// `into` becomes what is behind `total`, which is overwritten.
fn behind<T, A: Element>(kernels: &dyn ColumnKernels<T, A>, into: &mut [A], total: &mut [A]) {
    kernels.combine(into, total);
    into.copy_from_slice(total);
}

/// What comes into the next member of a level, those in front of which are the tree.
fn into_next<T, A: Element>(
    kernels: &dyn ColumnKernels<T, A>,
    members: &ColumnTree<A>,
    into: &[A],
    found: &mut [A],
) {
    if members.count() == 0 {
        found.copy_from_slice(into);
    } else {
        members.total(found, kernels);
        kernels.combine(into, found);
    }
}

/// What a thread keeps from block to block.
struct Scratch<T, A, U> {
    buffer: Vec<T>,
    prefixes: Vec<U>,
    levels: Levels<A>,
}

fn scan_columns<T, U>(
    context: &ExecutionContext<'_>,
    items: &[T],
    rows: &Rows,
    output: &SharedOutput<'_, U>,
    of: &Scanned<U::Acc>,
    kernels: &dyn ScanKernels<T, U::Acc, U>,
) where
    T: Element,
    U: Element,
{
    let (bytes, threads) = (size_of::<T>().max(size_of::<U>()), context.team.threads());
    let wide = Blocks::new(rows, bytes, 1);
    let windows = rows.items().div_ceil(WINDOW);
    let has_windows = wide.count() < threads && windows > 1;
    let blocks = match has_windows {
        true => wide,
        false => Blocks::new(rows, bytes, threads * TASKS_OF_THREAD),
    };
    let call = Call { level: context.level, items, blocks: &blocks, output, of, kernels };
    let scratch = || Scratch { buffer: Vec::new(), prefixes: Vec::new(), levels: Levels::new() };
    if !has_windows {
        deal_out_with(context, blocks.count(), &scratch, &|own, number| {
            let block = blocks.block(number);
            let into = vec![of.into; block.width];
            call.scan(&block, 0..blocks.items, &into, own);
        });
        return;
    }
    // Few long columns are read twice: first for the totals of windows, all but the last.
    let window = |task: usize| {
        let first = task % windows * WINDOW;
        (task / windows, first..blocks.items.min(first + WINDOW))
    };
    let into: Vec<Mutex<Vec<U::Acc>>> =
        (0..blocks.count() * windows).map(|_| Mutex::new(Vec::new())).collect();
    deal_out_with(context, into.len(), &scratch, &|own, task| {
        let (number, range) = window(task);
        if range.end < blocks.items {
            let total = call.total(&blocks.block(number), range, own);
            lock(&into[task + 1]).into_iter().for_each(|mut known| known.clone_from(&total));
        }
    });
    let mut into: Vec<Vec<U::Acc>> =
        into.into_iter().map(|known| known.into_inner().unwrap_or_default()).collect();
    for (number, of_block) in into.chunks_mut(windows).enumerate() {
        of_block[0] = vec![of.into; blocks.block(number).width];
        for next in 1..windows {
            let (known, others) = of_block.split_at_mut(next);
            kernels.combine(&known[next - 1], &mut others[0]);
        }
    }
    deal_out_with(context, into.len(), &scratch, &|own, task| {
        let (number, range) = window(task);
        call.scan(&blocks.block(number), range, &into[task], own);
    });
}

/// What is scanned where and how.
struct Call<'a, T, U: Element> {
    level: Level,
    items: &'a [T],
    blocks: &'a Blocks,
    output: &'a SharedOutput<'a, U>,
    of: &'a Scanned<U::Acc>,
    kernels: &'a dyn ScanKernels<T, U::Acc, U>,
}

impl<T: Element, U: Element> Call<'_, T, U> {
    /// The total of a whole window of each column of a block, in the order of a scan.
    fn total(
        &self,
        block: &Block,
        window: Range<usize>,
        own: &mut Scratch<T, U::Acc, U>,
    ) -> Vec<U::Acc> {
        let Self { level, items, blocks, kernels, .. } = *self;
        let mut total = vec![kernels.padding(); block.width];
        let mut nothing = total.clone();
        let mut neighbours = ColumnTree::new();
        for tile in window.clone().step_by(TILE) {
            let tile = tile..window.end.min(tile + TILE);
            let columns = blocks.columns(level, items, block, tile, &mut own.buffer);
            if kernels.order() == Order::Exact {
                kernels.fold(columns, &mut total);
                continue;
            }
            if goes_by_lines(block.width) {
                for first in (0..columns.len).step_by(LANES) {
                    let (into, total, output) = (&mut nothing[..], &mut total[..], &mut [][..]);
                    let line = Group { columns, first, into, total, output, exclusive: false };
                    kernels.scan_line(line);
                    neighbours.push(total, kernels);
                }
                continue;
            }
            for k in 0..columns.len {
                kernels.widen(columns.row(k), &mut total);
                neighbours.push(&mut total, kernels);
            }
        }
        if kernels.order() != Order::Exact {
            neighbours.total(&mut total, kernels);
        }
        total
    }

    /// Scans items of these numbers, whole windows but for the last, of each column of a block, `into` coming into them.
    fn scan(
        &self,
        block: &Block,
        range: Range<usize>,
        into: &[U::Acc],
        own: &mut Scratch<T, U::Acc, U>,
    ) {
        let Self { level, items, blocks, output, of, kernels } = *self;
        let width = block.width;
        let is_exact = kernels.order() == Order::Exact;
        let by_lines = goes_by_lines(width);
        let piece_items = if by_lines { LANES } else { PIECE };
        own.levels.begin(into);
        for tile in range.clone().step_by(TILE) {
            let tile: Range<usize> = tile..range.end.min(tile + TILE);
            let columns = blocks.columns(level, items, block, tile.clone(), &mut own.buffer);
            for piece in (0..columns.len).step_by(piece_items) {
                let piece = piece..columns.len.min(piece + piece_items);
                if own.prefixes.len() < piece_items * width {
                    own.prefixes.resize(piece_items * width, U::from_acc(of.into));
                }
                let is_line = by_lines && piece.len() == LANES;
                if is_line {
                    let levels = &mut own.levels;
                    kernels.scan_line(Group {
                        columns,
                        first: piece.start,
                        into: &mut levels.into,
                        total: &mut levels.total,
                        output: &mut own.prefixes[..LANES * width],
                        exclusive: of.exclusive,
                    });
                    if is_exact {
                        behind(kernels, &mut levels.into, &mut levels.total);
                    } else {
                        levels.next_line::<T>(kernels);
                    }
                }
                for first in piece.clone().step_by(GROUP).filter(|_| !is_line) {
                    let at = (first - piece.start) * width;
                    let levels = &mut own.levels;
                    kernels.scan_group(Group {
                        columns,
                        first,
                        into: &mut levels.into,
                        total: &mut levels.total,
                        output: &mut own.prefixes[at..at + GROUP * width],
                        exclusive: of.exclusive,
                    });
                    if !is_exact && first + GROUP <= columns.len {
                        levels.next::<T>(kernels);
                    }
                }
                if let Some(value) = of.first.filter(|_| tile.start + piece.start == 0) {
                    own.prefixes[..width].fill(U::from_acc(value));
                }
                let range = tile.start + piece.start..tile.start + piece.end;
                // SAFETY: nobody else has these items of the block.
                unsafe { blocks.write(level, &own.prefixes, block, range, output) };
            }
        }
    }
}
