//! Rows of n-dimensional arrays: each has the bits that it has alone.
//!
//! ```text
//!   rows that lie along memory and are long   ──────────   the kernels of one array, a row to a thread, or all threads on each
//!   all others                                │ │ │ │ │    blocks of columns: vectors across rows, lanes of each column in the cache
//! ```
//! Columns that lie next to each other are read where they are. Others are gathered into a block first, by a transposition.

mod blocks;
mod kernels;
mod made;
mod scan;
mod short;
#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use upsweep_core::summation::{LANES, TILE, WINDOW};
use upsweep_core::{
    Backend, Element, Extreme, Number, Operator, Reduce, Result, RowAxis, Rows, Widen,
};

use crate::device::{Cpu, ExecutionContext};
use crate::reduce;
use crate::simd::strided::{SharedOutput, copy_strided};
use crate::team::lock;
use blocks::{Block, Blocks};
use kernels::{ByOperator, ColumnKernels, ColumnTree, Columns, Order};
use short::{ShortRows, fold_short_rows};

/// Items of a row, at least, that is read along memory by the kernels of one array: a call of theirs costs some tens of nanoseconds.
const LONG_ROW: usize = 512;

/// Rows for each thread, at least, that are dealt out; fewer are taken one after another by all threads.
const ROWS_OF_THREAD: usize = 2;

/// Tasks for each thread, at least.
const TASKS_OF_THREAD: usize = 4;

impl Cpu {
    /// Writes the value of each row to its place of the output.
    ///
    /// # Errors
    /// [`NoDevice`](upsweep_core::Error::NoDevice) if the threads cannot start.
    #[inline(never)]
    pub fn reduce_rows<T, U, O>(
        &self,
        items: &[T],
        rows: &Rows,
        output: &mut [U],
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let operator = &problem.operator;
        let init = |total| problem.init.map_or(total, |init| operator.combine(init, total));
        let rows = rows.clone().in_memory_order();
        let rows = if O::EXACT && O::COMMUTATIVE { rows.in_any_order() } else { rows };
        if rows.count() == 0 {
            return Ok(());
        }
        if rows.items() == 0 {
            let nothing = U::from_acc(problem.init.unwrap_or(operator.identity()));
            (0..rows.count()).for_each(|row| output[rows.row(row)[1]] = nothing);
            return Ok(());
        }
        let bytes = rows.count().saturating_mul(size_of::<T>() * rows.items());
        self.with_context::<T, _>(bytes, |context| {
            let context = context.to_read(bytes);
            let output = SharedOutput::new(output);
            if rows.step() == Some([1, 0]) && rows.items() >= LONG_ROW {
                let total = |context: &ExecutionContext<'_>, row: usize| {
                    let [first, to] = rows.row(row);
                    let total = reduce::total(context, &items[first..][..rows.items()], *operator);
                    // SAFETY: each row has a place of its own, and is taken by one thread.
                    unsafe { output.write(to, U::from_acc(init(total))) };
                };
                each(&context, rows.count(), &total);
                return;
            }
            let write = |at: usize, stride: isize, totals: &[U::Acc]| {
                if stride == 1 {
                    // SAFETY: as above.
                    let places = unsafe { output.slice(at..at + totals.len()) };
                    for (place, total) in places.iter_mut().zip(totals) {
                        *place = U::from_acc(init(*total));
                    }
                    return;
                }
                for (column, total) in totals.iter().enumerate() {
                    let at = at.wrapping_add_signed(stride * column as isize);
                    // SAFETY: as above.
                    unsafe { output.write(at, U::from_acc(init(*total))) };
                }
            };
            if O::COMMUTATIVE && rows.step() == Some([1, 0]) {
                fold_rows(&context, items, &rows, *operator, &write);
                return;
            }
            let kernels = ByOperator { level: context.level, operator: *operator };
            fold_columns::<T, U::Acc>(&context, items, &rows, &kernels, &write);
        })
    }

    /// Writes where in each row its extreme is, `u64::MAX` of a row without items.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn position_rows<T: Number>(
        &self,
        items: &[T],
        rows: &Rows,
        output: &mut [u64],
        extreme: Extreme,
    ) -> Result<()> {
        let rows = rows.clone().in_memory_order();
        let bytes = rows.count().saturating_mul(size_of::<T>() * rows.items());
        let alone = self.alone();
        self.with_context::<T, _>(bytes, |context| {
            let output = SharedOutput::new(output);
            let wanted = context.team.threads() * TASKS_OF_THREAD;
            let blocks = Blocks::new(&rows, size_of::<T>(), wanted);
            let failed = Mutex::new(Ok(()));
            let is_plain = rows.step() == Some([1, 0]) && rows.items() >= LONG_ROW;
            let is_empty = rows.items() == 0;
            let of_row = |context: &ExecutionContext<'_>, row: usize| {
                let [first, to] = rows.row(row);
                let row = if is_empty { &[] } else { &items[first..][..rows.items()] };
                let cpu = if context.team.threads() > 1 { self } else { &alone };
                let found =
                    cpu.workspace(0, 0).and_then(|mut own| cpu.position(&mut own, row, extreme));
                match found {
                    // SAFETY: each row has a place of its own, and is taken by one thread.
                    Ok(found) => unsafe { output.write(to, found.unwrap_or(u64::MAX)) },
                    Err(error) => lock(&failed)
                        .into_iter()
                        .for_each(|mut failed| *failed = Err(error.clone())),
                }
            };
            if is_plain || is_empty {
                each(context, rows.count(), &of_row);
            } else {
                deal_out(context, blocks.count(), &|number| {
                    let block = blocks.block(number);
                    let places = find_in_columns(context, items, &blocks, &block, extreme);
                    for (column, place) in places.into_iter().enumerate() {
                        let to = blocks.columns.output * column as isize;
                        // SAFETY: as above.
                        unsafe { output.write(block.start[1].wrapping_add_signed(to), place) };
                    }
                });
            }
            failed.into_inner().unwrap_or(Ok(()))
        })?
    }

    /// Copies each item of each row to its place of the output.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn copy_rows<T: Element>(&self, items: &[T], rows: &Rows, output: &mut [T]) -> Result<()> {
        let mut axes: Vec<RowAxis> = rows.across.iter().chain(&rows.along).copied().collect();
        let bytes =
            axes.iter().fold(2 * size_of::<T>(), |bytes, axis| bytes.saturating_mul(axis.len));
        if bytes == 0 {
            return Ok(());
        }
        self.with_scan_context::<T, _>(bytes, |context| {
            let output = SharedOutput::new(output);
            // The longest axis is dealt out, in pieces of whole lines.
            axes.sort_by_key(|axis| axis.len);
            let longest = axes.pop().unwrap_or(RowAxis { len: 1, input: 0, output: 0 });
            let tasks = context.team.threads() * TASKS_OF_THREAD;
            let each = longest.len.div_ceil(tasks).next_multiple_of(PIECE);
            deal_out(context, longest.len.div_ceil(each), &|task| {
                let first = (task * each) as isize;
                let len = each.min(longest.len - task * each);
                let [from, to] = rows.start;
                let start = [
                    from.wrapping_add_signed(first * longest.input),
                    to.wrapping_add_signed(first * longest.output),
                ];
                let axes = [&axes[..], &[RowAxis { len, ..longest }]].concat();
                // SAFETY: pieces have no place in common.
                unsafe { copy_strided(context.level, items, &output, &axes, start) };
            });
        })
    }
}

/// Places of the axis that is dealt out, of which a piece has a multiple.
const PIECE: usize = 64;

/// Calls `work` for each row: dealt out to threads, or one after another with all threads if there are few.
fn each(
    context: &ExecutionContext<'_>,
    rows: usize,
    work: &(dyn Fn(&ExecutionContext<'_>, usize) + Sync),
) {
    if rows < ROWS_OF_THREAD * context.team.threads() {
        (0..rows).for_each(|row| work(context, row));
        return;
    }
    let alone = context.alone();
    let tasks = rows.min(context.team.threads() * 16);
    deal_out(context, tasks, &|task| {
        (rows * task / tasks..rows * (task + 1) / tasks).for_each(|row| work(&alone, row));
    });
}

/// Calls `work` for each number below `tasks`, on all threads.
fn deal_out(context: &ExecutionContext<'_>, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    deal_out_with(context, tasks, &|| (), &|(), task| work(task));
}

/// The same with what each thread keeps from task to task.
fn deal_out_with<S>(
    context: &ExecutionContext<'_>,
    tasks: usize,
    keep: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, usize) + Sync),
) {
    let next = AtomicUsize::new(0);
    context.team.run(&|| {
        let mut own = None;
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return;
            }
            work(own.get_or_insert_with(keep), task);
        }
    });
}

/// Items of the short rows that a thread takes at once.
const ITEMS_OF_TASK: usize = 1 << 14;

/// Writes the value of each row, which are short and lie along memory.
fn fold_rows<T, A, O>(
    context: &ExecutionContext<'_>,
    items: &[T],
    rows: &Rows,
    operator: O,
    write: &(dyn Fn(usize, isize, &[A]) + Sync),
) where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let inner = rows.across.last().copied().unwrap_or(RowAxis { len: 1, input: 0, output: 0 });
    let width = (ITEMS_OF_TASK / rows.items()).clamp(1, inner.len);
    let of_inner = inner.len.div_ceil(width);
    let tasks = rows.count() / inner.len * of_inner;
    let totals = || vec![operator.padding(); width];
    deal_out_with(context, tasks, &totals, &|totals: &mut Vec<A>, task| {
        let number = task % of_inner * width;
        let [first, to] = rows.row(task / of_inner * inner.len + number);
        let totals = &mut totals[..width.min(inner.len - number)];
        let short = ShortRows { items, first, step: inner.input, len: rows.items() };
        fold_short_rows(context.level, short, operator, totals);
        write(to, inner.output, totals);
    });
}

/// Writes the value of each row that is a column of a block.
fn fold_columns<T: Element, A: Element>(
    context: &ExecutionContext<'_>,
    items: &[T],
    rows: &Rows,
    kernels: &dyn ColumnKernels<T, A>,
    write: &(dyn Fn(usize, isize, &[A]) + Sync),
) {
    let blocks = Blocks::new(rows, size_of::<T>(), 1);
    let (count, order) = (blocks.count(), kernels.order());
    // Few blocks have parts: subtrees of tiles, or whole windows.
    let wanted = context.team.threads() * TASKS_OF_THREAD;
    let mut of_part = blocks.items.next_multiple_of(TILE).next_power_of_two();
    let least = if order == Order::Neighbours { WINDOW } else { TILE };
    while of_part > least
        && count * blocks.items.div_ceil(of_part) < wanted
        && context.team.threads() > 1
    {
        of_part /= 2;
    }
    if order == Order::Neighbours && blocks.items > of_part {
        of_part = WINDOW;
    }
    let parts = blocks.items.div_ceil(of_part);
    let most = blocks.most_columns();
    let totals: Vec<Mutex<Vec<A>>> =
        (0..if parts > 1 { count * parts } else { 0 }).map(|_| Mutex::new(Vec::new())).collect();
    let write = |block: &Block, totals: &[A]| write(block.start[1], blocks.columns.output, totals);
    let scratch = || Scratch {
        buffer: Vec::new(),
        lanes: Vec::new(),
        tiles: ColumnTree::new(),
        total: vec![kernels.padding(); most],
    };
    deal_out_with(context, count * parts, &scratch, &|own, task| {
        let (block, first) = (blocks.block(task / parts), task % parts * of_part);
        let range = first..blocks.items.min(first + of_part);
        own.total.resize(block.width, kernels.padding());
        fold_part(context, items, &blocks, &block, range, kernels, own);
        if parts == 1 {
            write(&block, &own.total);
        } else if let Some(mut total) = lock(&totals[task]) {
            total.clone_from(&own.total);
        }
    });
    if parts == 1 {
        return;
    }
    let mut totals = totals.into_iter().map(|total| total.into_inner().unwrap_or_default());
    for number in 0..count {
        let block = blocks.block(number);
        let mut total = totals.next().unwrap_or_default();
        if order == Order::Neighbours {
            // Windows one after another.
            for mut window in totals.by_ref().take(parts - 1) {
                kernels.combine(&total, &mut window);
                total = window;
            }
        } else {
            let mut tree = ColumnTree::new();
            tree.push(&mut total, kernels);
            totals.by_ref().take(parts - 1).for_each(|mut part| tree.push(&mut part, kernels));
            tree.total(&mut total, kernels);
        }
        write(&block, &total);
    }
}

/// What a thread keeps from task to task.
struct Scratch<T, A> {
    buffer: Vec<T>,
    lanes: Vec<A>,
    tiles: ColumnTree<A>,
    total: Vec<A>,
}

/// The values of items of these numbers of all rows of a block, into `own.total`.
fn fold_part<T: Element, A: Element>(
    context: &ExecutionContext<'_>,
    items: &[T],
    blocks: &Blocks,
    block: &Block,
    range: core::ops::Range<usize>,
    kernels: &dyn ColumnKernels<T, A>,
    own: &mut Scratch<T, A>,
) {
    let order = kernels.order();
    let width = block.width;
    own.tiles.clear();
    own.lanes.clear();
    if order == Order::Exact {
        own.total.fill(kernels.padding());
    }
    let mut carry: Option<Vec<A>> = None;
    for first in range.clone().step_by(TILE) {
        let tile = first..range.end.min(first + TILE);
        let columns = blocks.columns(context.level, items, block, tile, &mut own.buffer);
        match order {
            Order::Exact => kernels.fold(columns, &mut own.total),
            Order::Lanes if columns.len > LANES && width <= NARROW => {
                own.lanes.clear();
                own.lanes.resize(LANES * width, kernels.padding());
                kernels.fold_lanes(columns, &mut own.lanes);
                fold_halves(kernels, &mut own.lanes, width);
                own.total.copy_from_slice(&own.lanes[..width]);
                if range.len() > TILE {
                    own.tiles.push(&mut own.total, kernels);
                }
            }
            Order::Lanes => {
                own.lanes.resize(LEVELS * width, kernels.padding());
                let lanes = LanesOfTile { columns, count: columns.len.min(LANES), kernels };
                lanes.fold(0, 1, &mut own.total, &mut own.lanes);
                if range.len() > TILE {
                    own.tiles.push(&mut own.total, kernels);
                }
            }
            Order::Neighbours => {
                own.lanes.resize(width, kernels.padding());
                for k in 0..columns.len {
                    kernels.widen(columns.row(k), &mut own.lanes);
                    own.tiles.push(&mut own.lanes, kernels);
                }
                if own.tiles.count() == WINDOW || first + TILE >= range.end {
                    let mut window = vec![kernels.padding(); width];
                    own.tiles.total(&mut window, kernels);
                    if let Some(carry) = &carry {
                        kernels.combine(carry, &mut window);
                    }
                    carry = Some(window);
                    own.tiles.clear();
                }
            }
        }
    }
    match carry {
        Some(carry) => own.total.copy_from_slice(&carry),
        None if own.tiles.count() > 0 => own.tiles.total(&mut own.total, kernels),
        None => {}
    }
}

/// Columns, at most, all lanes of which the first-level cache holds: their items are read in order.
const NARROW: usize = 64;

/// Folds lanes of `width` columns by halves of 128, to the first.
fn fold_halves<T, A: Element>(kernels: &dyn ColumnKernels<T, A>, lanes: &mut [A], width: usize) {
    let mut half = lanes.len() / 2;
    while half >= width {
        let (left, right) = lanes.split_at_mut(half);
        let right = &mut right[..half];
        kernels.combine(left, right);
        left.copy_from_slice(right);
        half /= 2;
    }
}

/// Values that wait while lanes are folded by halves: one for each half of 128.
const LEVELS: usize = LANES.ilog2() as usize;

/// The lanes of a tile of columns.
struct LanesOfTile<'a, T, A> {
    columns: Columns<'a, T>,
    /// Those that have items.
    count: usize,
    kernels: &'a dyn ColumnKernels<T, A>,
}

impl<T: Element, A: Element> LanesOfTile<'_, T, A> {
    /// Folds every `step`-th lane from `lane` on by halves: those from `lane` on with twice the step, and behind them the others between. In this
    /// order few values wait, whichever number of lanes there is.
    fn fold(&self, lane: usize, step: usize, value: &mut [A], waiting: &mut [A]) {
        let Self { columns, count, kernels } = *self;
        if lane + step >= count {
            kernels.fold_lane(columns, lane, value);
        } else if columns.len <= LANES && lane + 3 * step < count && lane + 4 * step >= count {
            let rows = [0, 1, 2, 3].map(|row| columns.row(lane + row * step));
            kernels.fold_four(rows, value);
        } else {
            let (left, waiting) = waiting.split_at_mut(value.len());
            self.fold(lane, 2 * step, left, waiting);
            self.fold(lane + step, 2 * step, value, waiting);
            kernels.combine(left, value);
        }
    }
}

/// Where the extremes of a block's columns are.
fn find_in_columns<T: Number>(
    context: &ExecutionContext<'_>,
    items: &[T],
    blocks: &Blocks,
    block: &Block,
    extreme: Extreme,
) -> Vec<u64> {
    let (mut places, mut best, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
    for first in (0..blocks.items).step_by(TILE) {
        let tile = first..blocks.items.min(first + TILE);
        let columns: Columns<'_, T> =
            blocks.columns(context.level, items, block, tile, &mut buffer);
        for k in 0..columns.len {
            let row = columns.row(k);
            if first + k == 0 {
                best = row.to_vec();
                places = vec![0; block.width];
                continue;
            }
            let number = (first + k) as u64;
            for ((best, place), item) in best.iter_mut().zip(&mut places).zip(row) {
                let beats = match extreme {
                    Extreme::Smallest => *item < *best,
                    Extreme::Largest => *item > *best,
                };
                let is_better = (beats || item.is_nan()) && !best.is_nan();
                *place = if is_better { number } else { *place };
                *best = if is_better { *item } else { *best };
            }
        }
    }
    places
}
