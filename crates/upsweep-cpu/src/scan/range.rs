//! A run of tiles, scanned by one thread.
//!
//! Tiles go straight from input to output where they can. Where something must happen on the way
//! (another type, the other direction, the same memory for both, most stores past the caches), they
//! are staged in the first-level cache, a piece of a tile at a time.

use core::any::TypeId;
use core::ops::Range;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{Bounds, Carry, Direction, Element, Operator, Tree, Widen};

use super::row::{scan_row, total_row};
use super::slide::{self, ScanSlice};
use crate::isa::{self, Kernel};
use crate::reduce;
use crate::simd::half;
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::stream::{Ahead, Lines};

/// Where the items come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a, T> {
    /// From an array of their own.
    Separate(&'a [T]),
    /// From where the output goes.
    InPlace,
}

/// What stays the same throughout a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<O> {
    pub(crate) level: Level,
    pub(crate) operator: O,
    pub(crate) bounds: Bounds,
    pub(crate) direction: Direction,
    /// Whether the output is written past the caches.
    pub(crate) streaming: bool,
}

/// Scans a run of items. `carry` is what comes in, and afterwards what goes out. `ahead` is what
/// this thread reads next: with each line that is written past the caches a line of it is fetched.
/// After its last run a thread must call [`stream::fence`](crate::simd::stream::fence).
#[inline]
pub(crate) fn scan_range<T, U, O>(
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
    ahead: &[T],
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    if const { slide::is_found::<U::Acc, O>() } {
        let Settings { level, ref operator, bounds, direction, streaming } = *settings;
        let operator = slide::Erased { padding: operator.padding() };
        let settings = Settings { level, operator, bounds, direction, streaming };
        scan_tiles(&settings, source, output, carry, &Kernels::find::<O>(level), ahead);
    } else {
        scan_tiles(settings, source, output, carry, &Kernels::find::<O>(settings.level), ahead);
    }
}

/// Scans a run of items by these kernels, or else by `settings.operator`.
#[inline]
fn scan_tiles<T, U, O>(
    settings: &Settings<O>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
    kernels: &Kernels<U::Acc>,
    ahead: &[T],
) where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let items = output.len();
    // In place the lines that are written have just been read: nothing is gained past the caches.
    if settings.streaming && matches!(source, Source::Separate(_)) {
        let mut lines = Lines::new(output, settings.direction, settings.level);
        let target = Target::<U>::Lines(&mut lines);
        let scan = ScanTiles { settings, source, target, items, carry, kernels, ahead };
        isa::run(settings.level, scan);
        lines.finish();
    } else {
        let target = Target::Slice(output);
        let scan = ScanTiles { settings, source, target, items, carry, kernels, ahead };
        isa::run(settings.level, scan);
    }
}

/// The kernels that an operator on a type has besides the plain loops.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<A> {
    /// For an exact operator.
    slide: Option<ScanSlice<A>>,
    /// For one that is not.
    #[cfg(target_arch = "x86_64")]
    rows: Option<rows::Rows<A>>,
}

impl<A: Element> Kernels<A> {
    /// Whether there are some wherever vectors are those of `S`, known when a call is compiled.
    const fn are_found<S: Simd, O: Operator<A>>() -> bool {
        #[cfg(target_arch = "x86_64")]
        if size_of::<S::f32s>() > 16 && rows::is_found::<A, O>() {
            return true;
        }
        slide::is_found::<A, O>()
    }

    #[inline]
    pub(crate) fn find<O: Operator<A>>(level: Level) -> Self {
        let _ = level;
        Self {
            slide: slide::find::<A, O>(),
            #[cfg(target_arch = "x86_64")]
            rows: rows::find::<A, O>(level),
        }
    }
}

/// Items of a piece of a tile: few, so that what is staged leaves room in the first-level cache.
const PIECE: usize = 4 * LANES;

const _: () = assert!(TILE.is_multiple_of(PIECE) && ROWS == 16);

/// A piece in the first-level cache, aligned to its lines.
#[repr(align(64))]
struct Stage<A>([A; PIECE]);

impl<A: Element> Stage<A> {
    /// The stage, made if it is not there yet: short scans want none.
    #[inline(always)]
    fn ready(stage: &mut Option<Self>, padding: A) -> &mut Self {
        stage.get_or_insert_with(|| Stage([padding; PIECE]))
    }

    /// The `items` items that `fill` brings, in the order of the scan, made whole rows.
    #[inline(always)]
    fn fill<O: Operator<A>>(
        &mut self,
        items: usize,
        settings: &Settings<O>,
        fill: impl FnOnce(&mut [A]),
    ) -> &[A] {
        let rows = &mut self.0[..items.next_multiple_of(LANES)];
        let (stage, rest) = rows.split_at_mut(items);
        fill(stage);
        settings.turn(stage);
        rest.fill(settings.operator.padding());
        rows
    }
}

impl<O> Settings<O> {
    /// Of a run of `items` items of which `done` are done: where the next `next` are.
    #[inline(always)]
    fn place(&self, items: usize, done: usize, next: usize) -> Range<usize> {
        match self.direction {
            Direction::Forward => done..done + next,
            Direction::Reverse => items - done - next..items - done,
        }
    }

    /// From the order of memory to that of the scan, and back.
    #[inline(always)]
    fn turn<A>(&self, items: &mut [A]) {
        if self.direction == Direction::Reverse {
            items.reverse();
        }
    }
}

/// Where the output goes.
enum Target<'a, 'b, U> {
    /// Through the caches.
    Slice(&'a mut [U]),
    /// Past them.
    Lines(&'a mut Lines<'b>),
}

struct ScanTiles<'a, 'b, T, U: Element, O> {
    settings: &'a Settings<O>,
    source: Source<'a, T>,
    target: Target<'a, 'b, U>,
    items: usize,
    carry: &'a mut Carry<U::Acc>,
    kernels: &'a Kernels<U::Acc>,
    ahead: &'a [T],
}

impl<T, U, O> Kernel for ScanTiles<'_, '_, T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { settings, source, mut target, items, carry, kernels, ahead } = self;
        let operator = &settings.operator;
        let padding = operator.padding();
        // Made when they are first needed.
        let (mut items_stage, mut prefixes_stage, mut output_stage) = (None, None, None);
        let mut tile = TileCarry::new(carry, operator);
        let mut done = 0;
        while done < items {
            let rest = items - done;
            let whole = rest / LANES * LANES;
            let ahead = Ahead::new(&ahead[done.min(ahead.len())..]);
            #[cfg(target_arch = "x86_64")]
            if let Some(kernel) = kernels.rows
                && let Target::Lines(lines) = &mut target
                && TypeId::of::<U>() == TypeId::of::<U::Acc>()
                && let Some(rows) = in_order(settings, source, done..done + whole)
                && whole > 0
            {
                let output = rows::Output::Lines(lines, ahead);
                let exclusive = settings.bounds == Bounds::Exclusive;
                if (kernel.scan)(rows, output, exclusive, &mut tile, carry) {
                    done += whole;
                    continue;
                }
            }
            let same = TypeId::of::<U>() == TypeId::of::<U::Acc>();
            let forward = settings.direction == Direction::Forward;
            let len = match &target {
                // Straight from input to output.
                Target::Slice(_)
                    if same
                        && whole > 0
                        && in_order::<_, U::Acc, _>(settings, source, 0..0).is_some() =>
                {
                    whole
                }
                // Where any pieces will do, the first one ends at the end of a unit of memory, so
                // that the others need not be shifted.
                Target::Lines(lines) if kernels.slide.is_some() && lines.to_border() > 0 => {
                    lines.to_border() / size_of::<U>()
                }
                _ => PIECE,
            };
            let len = len.min(rest);
            let at = settings.place(items, done, len);
            done += len;
            let input = match in_order(settings, source, at.clone()) {
                Some(input) if len.is_multiple_of(LANES) => input,
                _ => Stage::ready(&mut items_stage, padding).fill(
                    len,
                    settings,
                    #[inline(always)]
                    |stage| match (source, &target) {
                        (Source::Separate(input), _) => {
                            half::widen(simd, &input[at.clone()], stage);
                        }
                        (Source::InPlace, Target::Slice(output)) => {
                            for (value, item) in stage.iter_mut().zip(&output[at.clone()]) {
                                *value = item.to_acc();
                            }
                        }
                        (Source::InPlace, Target::Lines(_)) => {
                            unreachable!("a scan in place goes through the caches")
                        }
                    },
                ),
            };
            let direct = same && forward && input.len() == len;
            let prefixes = match &mut target {
                Target::Slice(output) if direct => {
                    cast!(&mut output[at.clone()], &mut [U::Acc]).ok()
                }
                _ => None,
            };
            let staged = prefixes.is_none();
            let prefixes = match prefixes {
                Some(prefixes) => prefixes,
                None => &mut Stage::ready(&mut prefixes_stage, padding).0[..input.len()],
            };
            tile.scan::<S, _>(settings, input, prefixes, carry, kernels);
            if !staged {
                continue;
            }
            let prefixes = &mut Stage::ready(&mut prefixes_stage, padding).0[..len];
            settings.turn(prefixes);
            match &mut target {
                Target::Slice(output) => narrow(prefixes, &mut output[at]),
                Target::Lines(lines) => match cast!(&*prefixes, &[U]) {
                    Ok(prefixes) => lines.push(simd, prefixes, ahead),
                    Err(prefixes) => {
                        let stage = Stage::ready(&mut output_stage, U::from_acc(padding));
                        narrow(prefixes, &mut stage.0[..len]);
                        lines.push(simd, &stage.0[..len], ahead);
                    }
                },
            }
        }
        tile.finish(carry, operator);
    }
}

/// Items that need not be staged: in the type and in the order of the scan.
#[inline(always)]
fn in_order<'a, T: Element, A: Element, O>(
    settings: &Settings<O>,
    source: Source<'a, T>,
    at: Range<usize>,
) -> Option<&'a [A]> {
    match (source, settings.direction) {
        (Source::Separate(items), Direction::Forward) => cast!(&items[at], &[A]).ok(),
        _ => None,
    }
}

#[inline(always)]
fn narrow<U: Element>(prefixes: &[U::Acc], target: &mut [U]) {
    for (item, &value) in target.iter_mut().zip(prefixes) {
        *item = U::from_acc(value);
    }
}

/// What comes into the rows of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCarry<A> {
    /// What comes into the tile. With a vector scan, which keeps no rows apart: into the next piece.
    pub(crate) before: A,
    /// The rows of the tile so far.
    rows: Tree<A, ROW_LEVELS>,
}

/// Levels of the tree over the rows of a tile.
const ROW_LEVELS: usize = ROWS.ilog2() as usize + 1;

impl<A: Element> TileCarry<A> {
    #[inline(always)]
    pub(crate) fn new<O: Operator<A>>(carry: &Carry<A>, operator: &O) -> Self {
        Self { before: carry.before_next(operator), rows: Tree::new(operator) }
    }

    /// What comes into the next row.
    #[inline(always)]
    pub(crate) fn before_next<O: Operator<A>>(&self, operator: &O) -> A {
        match self.rows.count() {
            0 => self.before,
            _ => operator.combine(self.before, self.rows.total(operator)),
        }
    }

    /// What comes into each of the next four rows, as a function of the total of those of them that
    /// are before it (padding for the first). `None` if they are not four of one subtree.
    #[inline(always)]
    pub(crate) fn before_four<O: Operator<A>>(
        &self,
        operator: &O,
    ) -> Option<impl Fn(A) -> A + use<A, O>> {
        let operator = *operator;
        let (before, four, eight) =
            (self.before, self.rows.waiting(2, &operator), self.rows.waiting(3, &operator));
        self.rows.count().is_multiple_of(4).then_some(
            #[inline(always)]
            move |rows| {
                let rows = operator.combine(eight, operator.combine(four, rows));
                operator.combine(before, rows)
            },
        )
    }

    /// Appends the total of 2^`level` rows. A full tile goes to the carry, and the next one begins.
    #[inline(always)]
    pub(crate) fn push<O: Operator<A>>(
        &mut self,
        total: A,
        level: u32,
        carry: &mut Carry<A>,
        operator: &O,
    ) {
        self.rows.push_subtree(total, level, operator);
        if self.rows.count() == ROWS as u64 {
            self.finish(carry, operator);
        }
    }

    /// Hands the rows over to the carry, and begins the next tile.
    #[inline(always)]
    fn finish<O: Operator<A>>(&mut self, carry: &mut Carry<A>, operator: &O) {
        if self.rows.count() > 0 {
            carry.push(self.rows.total(operator), 0, operator);
            *self = Self::new(carry, operator);
        }
    }

    /// Scans whole rows. (With a vector scan, whole rows that may begin anywhere.)
    #[inline(always)]
    pub(crate) fn scan<S: Simd, O: Operator<A>>(
        &mut self,
        settings: &Settings<O>,
        input: &[A],
        output: &mut [A],
        carry: &mut Carry<A>,
        kernels: &Kernels<A>,
    ) {
        let exclusive = settings.bounds == Bounds::Exclusive;
        let operator = &settings.operator;
        if let Some(slide) = kernels.slide {
            self.before = slide(settings.level, input, output, self.before, exclusive);
            carry.set(self.before, operator);
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = kernels.rows {
            (kernel.scan)(input, rows::Output::Slice(output), exclusive, self, carry);
            return;
        }
        // Where another kernel is sure to be there, the plain loops are not compiled.
        if const { Kernels::<A>::are_found::<S, O>() } {
            unreachable!("the kernels of a built-in operator are there");
        }
        let outputs = output.as_chunks_mut::<LANES>().0;
        for (row, prefixes) in input.as_chunks::<LANES>().0.iter().zip(outputs) {
            let before = self.before_next(operator);
            let total = scan_row(row, prefixes, before, exclusive, operator);
            self.push(total, 0, carry, operator);
        }
    }
}

/// The total of a block of tiles in the order of a scan, for the carry of the block after it.
#[inline]
pub(crate) fn total_of_block<T, A, O>(level: Level, items: &[T], reverse: bool, operator: O) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if O::EXACT && O::COMMUTATIVE {
        return reduce::fold(level, items, operator);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(rows) = rows::find::<A, O>(level)
        && !reverse
        && items.len().is_multiple_of(LANES)
        && let Ok(items) = cast!(items, &[A])
    {
        return (rows.total)(items);
    }
    isa::run(level, TotalRows { items, reverse, operator, acc: core::marker::PhantomData })
}

struct TotalRows<'a, T, A, O> {
    items: &'a [T],
    reverse: bool,
    operator: O,
    acc: core::marker::PhantomData<A>,
}

impl<T: Widen<A>, A: Element, O: Operator<A>> Kernel for TotalRows<'_, T, A, O> {
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> A {
        let Self { items, reverse, operator, .. } = self;
        let mut rows = Tree::<A>::new(&operator);
        let mut row = [operator.padding(); LANES];
        let mut done = 0;
        while done < items.len() {
            let len = LANES.min(items.len() - done);
            let at = if reverse { items.len() - done - len } else { done };
            half::widen(simd, &items[at..at + len], &mut row[..len]);
            if reverse {
                row[..len].reverse();
            }
            row[len..].fill(operator.padding());
            rows.push(total_row(&row, &operator), &operator);
            done += len;
        }
        rows.total(&operator)
    }
}
