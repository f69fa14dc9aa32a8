//! A run of tiles, scanned by one thread.
//!
//! Tiles go straight from input to output where they can. Where something must happen on the way
//! (another type, the other direction, the same memory for both, most stores past the caches), they
//! are staged in the first-level cache, a piece of a tile at a time.

use core::any::TypeId;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{Bounds, Carry, Direction, Element, Operator, Tree, Widen};

use super::row::{scan_row, scan_row_plainly, total_row, total_row_plainly};
use super::slide::{self, Slides};
use crate::erased::ErasedOperator;
use crate::isa::{self, Kernel};
use crate::reduce;
use crate::simd::half::{narrow_at, widen_at, widen_to};
use crate::simd::lanes::{copy_to, fill_at, reverse_at};
#[cfg(target_arch = "x86_64")]
use crate::simd::rows;
use crate::simd::stream::{Prefetch, StreamingOutput};

/// Where the items come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a, T> {
    /// From an array of their own.
    Separate(&'a [T]),
    /// From where the output goes.
    InPlace,
}

/// What stays the same throughout a scan of values of type `A`. It knows nothing of what is read and written.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a, A> {
    pub(crate) level: Level,
    pub(crate) operator: ErasedOperator<A>,
    pub(crate) kernel: ScanKernel<'a, A>,
    pub(crate) bounds: Bounds,
    pub(crate) direction: Direction,
    /// Whether the output is written past the caches.
    pub(crate) streaming: bool,
}

/// Scans whole rows by plain loops: items, prefixes, whether these are exclusive, and what comes in and goes out.
pub(crate) type PlainRows<'a, A> =
    dyn Fn(&[A], &mut [A], bool, &mut TileCarry<A>, &mut Carry<A>) + Sync + 'a;

/// What scans rows by one operator.
#[derive(Clone, Copy)]
pub(crate) enum ScanKernel<'a, A> {
    /// Vectors, for an exact operator.
    Slide(Slides<A>),
    /// Vectors, for one that is not.
    #[cfg(target_arch = "x86_64")]
    Rows(rows::Rows<A>),
    /// Loops, for all others.
    Plain(&'a PlainRows<'a, A>),
}

impl<'a, A: Element> ScanKernel<'a, A> {
    /// Whether [`find`](Self::find) finds vectors wherever they are those of `S`, known when a call is compiled.
    const fn is_found<S: Simd, O: Operator<A>>() -> bool {
        #[cfg(target_arch = "x86_64")]
        if size_of::<S::f32s>() > 16 && rows::is_found::<A, O>() {
            return true;
        }
        slide::is_found::<A, O>()
    }

    /// The kernel for this operator, or else `plain`, which calls [`scan_plain`] for it.
    #[inline]
    pub(crate) fn find<O: Operator<A>>(level: Level, plain: &'a PlainRows<'a, A>) -> Self {
        let _ = level;
        if let Some(slide) = slide::find::<A, O>() {
            return Self::Slide(slide);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(rows) = rows::find::<A, O>(level) {
            return Self::Rows(rows);
        }
        Self::Plain(plain)
    }
}

/// Scans whole rows by loops, compiled once for an operator.
#[inline(never)]
pub(crate) fn scan_plain<A: Element, O: Operator<A>>(
    level: Level,
    operator: O,
    input: &[A],
    output: &mut [A],
    exclusive: bool,
    tile: &mut TileCarry<A>,
    carry: &mut Carry<A>,
) {
    if const { slide::is_found::<A, O>() } {
        unreachable!("the kernels of a built-in operator are there");
    }
    isa::run(level, ScanPlain { operator, input, output, exclusive, tile, carry });
}

struct ScanPlain<'a, A, O> {
    operator: O,
    input: &'a [A],
    output: &'a mut [A],
    exclusive: bool,
    tile: &'a mut TileCarry<A>,
    carry: &'a mut Carry<A>,
}

impl<A: Element, O: Operator<A>> Kernel for ScanPlain<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // Where another kernel is sure to be there, the loops are not compiled.
        if const { ScanKernel::<A>::is_found::<S, O>() } {
            unreachable!("the kernels of a built-in operator are there");
        }
        let Self { operator, input, output, exclusive, tile, carry } = self;
        if const { isa::is_plain::<S>() } {
            return scan_rows_plainly(input, output, exclusive, tile, carry, &operator);
        }
        // Of their own, so that no store to the output can be one to them.
        let (mut own_tile, mut own_carry) = (*tile, *carry);
        let outputs = output.as_chunks_mut::<LANES>().0;
        for (row, prefixes) in input.as_chunks::<LANES>().0.iter().zip(outputs) {
            let before = own_tile.before_next(&operator);
            let total = scan_row(row, prefixes, before, exclusive, &operator);
            own_tile.push(total, 0, &mut own_carry, &operator);
        }
        (*tile, *carry) = (own_tile, own_carry);
    }
}

/// Scans whole rows in loops that the compiler does not unroll.
#[inline(never)]
pub(crate) fn scan_rows_plainly<A: Element, O: Operator<A>>(
    input: &[A],
    output: &mut [A],
    exclusive: bool,
    tile: &mut TileCarry<A>,
    carry: &mut Carry<A>,
    operator: &O,
) {
    let outputs = output.as_chunks_mut::<LANES>().0;
    for (row, prefixes) in input.as_chunks::<LANES>().0.iter().zip(outputs) {
        let before = tile.before_next(operator);
        let total = scan_row_plainly(row, prefixes, before, exclusive, operator);
        tile.push(total, 0, carry, operator);
    }
}

/// Scans a run of items. `carry` is what comes in, and afterwards what goes out. `ahead` is what
/// this thread reads next: with each line that is written past the caches a line of it is fetched.
/// After its last run a thread must call [`stream::fence`](crate::simd::stream::fence).
#[inline(never)]
pub(crate) fn scan_range<T, U>(
    settings: &Settings<'_, U::Acc>,
    source: Source<'_, T>,
    output: &mut [U],
    carry: &mut Carry<U::Acc>,
    ahead: &[T],
) where
    T: Widen<U::Acc>,
    U: Element,
{
    let Settings { level, direction, streaming, .. } = *settings;
    let items = output.len();
    let input = match source {
        Source::Separate(items) => cast!(items, &[U::Acc]).ok(),
        Source::InPlace => None,
    };
    let input = input.filter(|_| direction == Direction::Forward);
    let in_place = matches!(source, Source::InPlace);
    let (ahead, item_bytes) = (Prefetch::new(ahead), size_of::<T>());
    let mut run = |target: Target<'_, '_, U::Acc>, memory: &mut Memory<'_, T, U>| {
        scan_run(
            settings,
            Run { items, input, memory, in_place, target, ahead, item_bytes },
            carry,
        );
    };
    // In place the lines that are written have just been read: nothing is gained past the caches.
    if streaming && matches!(source, Source::Separate(_)) {
        let mut lines = StreamingOutput::new(output, direction, level);
        let is_stored = TypeId::of::<U>() == TypeId::of::<U::Acc>();
        let target =
            Target::StreamingOutput { lines: &mut lines, item_bytes: size_of::<U>(), is_stored };
        run(target, &mut Memory { level, source, output: &mut [], stage: Stage::new() });
        lines.finish();
        return;
    }
    match cast!(output, &mut [U::Acc]) {
        Ok(prefixes) => {
            let memory = &mut Memory { level, source, output: &mut [], stage: Stage::new() };
            run(Target::Slice(prefixes), memory);
        }
        Err(output) => {
            run(Target::Memory, &mut Memory { level, source, output, stage: Stage::new() });
        }
    }
}

/// Items of a piece of a tile: few, so that what is staged leaves room in the first-level cache.
const PIECE: usize = 8 * LANES;

const _: () = assert!(TILE.is_multiple_of(PIECE) && ROWS == 16);

/// A piece in the first-level cache, aligned to its lines. Nothing is written there before it is needed: short scans need little.
#[repr(align(64))]
struct Stage<A> {
    items: [MaybeUninit<A>; PIECE],
    /// Items that are written, from the first on.
    ready: usize,
}

impl<A: Copy> Stage<A> {
    fn new() -> Self {
        Self { items: [const { MaybeUninit::uninit() }; PIECE], ready: 0 }
    }

    /// The first `items` items, which hold anything.
    fn first(&mut self, level: Level, items: usize, padding: A) -> &mut [A] {
        if self.ready < items {
            fill_at(level, &mut self.items[self.ready..items], MaybeUninit::new(padding));
            self.ready = items;
        }
        // SAFETY: as many have been written, and nothing makes them uninitialised again.
        unsafe { written(&mut self.items[..items]) }
    }
}

/// Places as what was written to them.
///
/// # Safety
/// All of them have been written.
unsafe fn written<A>(places: &mut [MaybeUninit<A>]) -> &mut [A] {
    // SAFETY: the caller's; a place has the size and the alignment of a value.
    unsafe { &mut *(ptr::from_mut(places) as *mut [A]) }
}

/// Where items and outputs of other types than `A`, in which they are combined, are read and written: a piece at a time.
///
/// # Safety
/// [`read`](Self::read) writes all that it says.
unsafe trait Typed<A> {
    /// Reads the items `at`, in the order of memory: writes all of `values`, which are as many.
    fn read(&mut self, at: Range<usize>, values: &mut [MaybeUninit<A>]);

    /// Writes the outputs `at`, in the order of memory.
    fn write(&mut self, at: Range<usize>, prefixes: &[A]);

    /// Scans the items `at`, which are whole rows, in the order of memory, without a stage between. Returns
    /// whether it did.
    fn scan(&mut self, at: Range<usize>, rows: RowScan<'_, A>) -> bool;

    /// The same past the caches; if lines are not where a kernel can write them, a piece by way of a stage. Returns how many items it did.
    fn scan_past(
        &mut self,
        at: Range<usize>,
        rows: RowScan<'_, A>,
        lines: &mut StreamingOutput<'_>,
        ahead: Prefetch<'_>,
    ) -> usize;

    /// Writes the next outputs past the caches.
    fn push(&mut self, prefixes: &[A], lines: &mut StreamingOutput<'_>, ahead: Prefetch<'_>);
}

/// How rows of items that are no `A` are scanned.
struct RowScan<'a, A> {
    settings: &'a Settings<'a, A>,
    tile: &'a mut TileCarry<A>,
    carry: &'a mut Carry<A>,
}

impl<A: Element> RowScan<'_, A> {
    /// Scans whole rows, if there is a kernel for their type. Returns whether it did.
    fn run<T: Element, U: Element>(&mut self, input: &[T], output: &mut [U]) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.run_to(input, rows::Output::Slice(output));
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (input, output, self.settings, &self.tile, &self.carry);
            false
        }
    }

    /// The same past the caches.
    fn run_past<T: Element, U: Element>(
        &mut self,
        input: &[T],
        lines: &mut StreamingOutput<'_>,
        ahead: Prefetch<'_>,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.run_to::<T, U>(input, rows::Output::StreamingOutput(lines, ahead));
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (input, lines, ahead);
            false
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn run_to<T: Element, U: Element>(
        &mut self,
        input: &[T],
        output: rows::Output<'_, '_, U>,
    ) -> bool {
        if let ScanKernel::Rows(rows) = self.settings.kernel
            && let Some(rows) = rows.of::<U>()
            && let Ok(input) = cast!(input, &[U])
        {
            let exclusive = self.settings.bounds == Bounds::Exclusive;
            return (rows.scan)(input, output, exclusive, self.tile, self.carry);
        }
        false
    }
}

struct Memory<'a, T, U> {
    level: Level,
    source: Source<'a, T>,
    /// Empty if it goes past the caches, or holds prefixes as they are.
    output: &'a mut [U],
    stage: Stage<U>,
}

// SAFETY: `widen_to` writes as many values as it is given places.
unsafe impl<T, U> Typed<U::Acc> for Memory<'_, T, U>
where
    T: Widen<U::Acc>,
    U: Element,
{
    fn read(&mut self, at: Range<usize>, values: &mut [MaybeUninit<U::Acc>]) {
        match self.source {
            Source::Separate(items) => widen_to(self.level, &items[at], values),
            // Items in place are of the type of the output.
            Source::InPlace => match cast!(&self.output[at], &[T]) {
                Ok(items) => widen_to(self.level, items, values),
                Err(_) => unreachable!("a scan in place has one type of items"),
            },
        }
    }

    fn write(&mut self, at: Range<usize>, prefixes: &[U::Acc]) {
        narrow_at(self.level, prefixes, &mut self.output[at]);
    }

    fn scan(&mut self, at: Range<usize>, mut rows: RowScan<'_, U::Acc>) -> bool {
        match self.source {
            Source::Separate(items) => rows.run(&items[at.clone()], &mut self.output[at]),
            Source::InPlace => false,
        }
    }

    fn scan_past(
        &mut self,
        at: Range<usize>,
        mut rows: RowScan<'_, U::Acc>,
        lines: &mut StreamingOutput<'_>,
        ahead: Prefetch<'_>,
    ) -> usize {
        let Source::Separate(items) = self.source else { return 0 };
        let items = &items[at];
        if rows.run_past::<T, U>(items, lines, ahead) {
            return items.len();
        }
        let items = &items[..items.len().min(PIECE)];
        let any = U::from_acc(rows.carry.before_next(&rows.settings.operator));
        let outputs = self.stage.first(self.level, items.len(), any);
        if !rows.run(items, outputs) {
            return 0;
        }
        lines.push_at(self.level, outputs, ahead);
        items.len()
    }

    fn push(&mut self, prefixes: &[U::Acc], lines: &mut StreamingOutput<'_>, ahead: Prefetch<'_>) {
        let Some(first) = prefixes.first() else { return };
        let outputs = self.stage.first(self.level, prefixes.len(), U::from_acc(*first));
        narrow_at(self.level, prefixes, outputs);
        lines.push_at(self.level, outputs, ahead);
    }
}

/// Where the output goes.
enum Target<'a, 'b, A> {
    /// Through the caches, as it is.
    Slice(&'a mut [A]),
    /// Through the caches, as another type.
    Memory,
    /// Past the caches, of so many bytes an item: as it is, if it `is_stored` so.
    StreamingOutput { lines: &'a mut StreamingOutput<'b>, item_bytes: usize, is_stored: bool },
}

/// A run of items, of which only the type is known in which they are combined.
struct Run<'a, 'b, A> {
    items: usize,
    /// The items, if they need not be staged: of that type, and in the order of the scan.
    input: Option<&'a [A]>,
    memory: &'a mut dyn Typed<A>,
    in_place: bool,
    target: Target<'a, 'b, A>,
    ahead: Prefetch<'a>,
    /// Of an item that is read.
    item_bytes: usize,
}

/// Of a run of `items` items of which `done` are done: where the next `next` are.
fn place(direction: Direction, items: usize, done: usize, next: usize) -> Range<usize> {
    match direction {
        Direction::Forward => done..done + next,
        Direction::Reverse => items - done - next..items - done,
    }
}

/// Scans a run. Compiled once for each type: it does nothing with single items but to turn them round.
#[inline(never)]
fn scan_run<A: Element>(settings: &Settings<'_, A>, run: Run<'_, '_, A>, carry: &mut Carry<A>) {
    let Settings { level, ref operator, kernel, direction, .. } = *settings;
    let Run { items, input, memory, in_place, mut target, ahead, item_bytes } = run;
    let padding = operator.padding();
    // From the order of memory to that of the scan, and back.
    let turn = |values: &mut [A]| {
        if direction == Direction::Reverse {
            reverse_at(level, values);
        }
    };
    let (mut items_stage, mut prefixes_stage) = (Stage::new(), Stage::new());
    let mut tile = TileCarry::new(carry, operator);
    let mut done = 0;
    while done < items {
        let rest = items - done;
        let whole = rest / LANES * LANES;
        let ahead = ahead.after(done.saturating_mul(item_bytes));
        #[cfg(target_arch = "x86_64")]
        if let ScanKernel::Rows(rows) = kernel
            && let Target::StreamingOutput { lines, is_stored: true, .. } = &mut target
            && let Some(rows) = rows.of::<A>()
            && let Some(input) = input
            && whole > 0
        {
            let exclusive = settings.bounds == Bounds::Exclusive;
            let output = rows::Output::StreamingOutput(lines, ahead);
            if (rows.scan)(&input[done..done + whole], output, exclusive, &mut tile, carry) {
                done += whole;
                continue;
            }
        }
        if let ScanKernel::Slide(Slides { stream: Some(stream), .. }) = kernel
            && let Target::StreamingOutput { lines, is_stored: true, .. } = &mut target
            && let Some(input) = input
        {
            let exclusive = settings.bounds == Bounds::Exclusive;
            let (after, len) = stream(level, &input[done..], lines, ahead, tile.before, exclusive);
            if len > 0 {
                tile.before = after;
                carry.set(after, operator);
                done += len;
                continue;
            }
        }
        if direction == Direction::Forward && whole > 0 {
            let rows = RowScan { settings, tile: &mut tile, carry };
            let len = match &mut target {
                Target::Slice(_) | Target::StreamingOutput { is_stored: true, .. } => 0,
                Target::Memory => {
                    let is_done = memory.scan(done..done + whole, rows);
                    if is_done { whole } else { 0 }
                }
                Target::StreamingOutput { lines, .. } => {
                    memory.scan_past(done..done + whole, rows, lines, ahead)
                }
            };
            if len > 0 {
                done += len;
                continue;
            }
        }
        let len = match &target {
            // Straight from input to output.
            Target::Slice(_) if whole > 0 && input.is_some() => whole,
            // Where any pieces will do, the first one ends at the end of a unit of memory, so
            // that the others need not be shifted.
            Target::StreamingOutput { lines, item_bytes, .. }
                if matches!(kernel, ScanKernel::Slide(_)) && lines.to_border() > 0 =>
            {
                lines.to_border() / item_bytes
            }
            _ => PIECE,
        };
        let len = len.min(rest);
        let at = place(direction, items, done, len);
        done += len;
        let input = match input {
            Some(input) if len.is_multiple_of(LANES) => &input[at.clone()],
            _ => {
                let rows = &mut items_stage.items[..len.next_multiple_of(LANES)];
                let (values, rest) = rows.split_at_mut(len);
                match (input, &target) {
                    (Some(input), _) => copy_to(level, &input[at.clone()], values),
                    (None, Target::Slice(output)) if in_place => {
                        copy_to(level, &output[at.clone()], values);
                    }
                    _ => memory.read(at.clone(), values),
                }
                rest.fill(MaybeUninit::new(padding));
                // SAFETY: `copy_to` and `read` write all they are given, and all others are filled.
                let rows = unsafe { written(rows) };
                turn(&mut rows[..len]);
                rows
            }
        };
        if let Target::Slice(output) = &mut target
            && direction == Direction::Forward
            && input.len() == len
        {
            tile.scan(settings, input, &mut output[at], carry);
            continue;
        }
        let prefixes = prefixes_stage.first(level, input.len(), padding);
        tile.scan(settings, input, prefixes, carry);
        let prefixes = &mut prefixes[..len];
        turn(prefixes);
        match &mut target {
            Target::Slice(output) => output[at].copy_from_slice(prefixes),
            Target::Memory => memory.write(at, prefixes),
            Target::StreamingOutput { lines, is_stored: true, .. } => {
                lines.push_at(level, prefixes, ahead)
            }
            Target::StreamingOutput { lines, .. } => memory.push(prefixes, lines, ahead),
        }
    }
    tile.finish(carry, operator);
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
    #[cfg(target_arch = "x86_64")]
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
    pub(crate) fn finish<O: Operator<A>>(&mut self, carry: &mut Carry<A>, operator: &O) {
        if self.rows.count() > 0 {
            carry.push(self.rows.total(operator), 0, operator);
            *self = Self::new(carry, operator);
        }
    }

    /// Scans whole rows. (With a vector scan, whole rows that may begin anywhere.)
    pub(crate) fn scan(
        &mut self,
        settings: &Settings<'_, A>,
        input: &[A],
        output: &mut [A],
        carry: &mut Carry<A>,
    ) {
        let exclusive = settings.bounds == Bounds::Exclusive;
        match settings.kernel {
            ScanKernel::Slide(slide) => {
                self.before = (slide.scan)(settings.level, input, output, self.before, exclusive);
                carry.set(self.before, &settings.operator);
            }
            #[cfg(target_arch = "x86_64")]
            ScanKernel::Rows(rows) => {
                let Some(rows) = rows.of::<A>() else { unreachable!("each type has its own") };
                (rows.scan)(input, rows::Output::Slice(output), exclusive, self, carry);
            }
            ScanKernel::Plain(plain) => plain(input, output, exclusive, self, carry),
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
    if const { O::EXACT && O::COMMUTATIVE } {
        return reduce::fold(level, items, operator);
    }
    #[cfg(target_arch = "x86_64")]
    if !reverse
        && items.len().is_multiple_of(LANES)
        && let Some(kernels) = rows::find::<A, O>(level)
        && let Some(rows) = kernels.of::<T>()
    {
        return (rows.total)(items);
    }
    // SAFETY: the operator stays where it is until this returns.
    let erased = unsafe { ErasedOperator::new(&operator) };
    total_of_items(level, items, reverse, &|rows| total_of_rows(level, rows, operator), &erased)
}

/// The same from the totals of whole rows, at most a tile of them if they are staged. Compiled once for two types.
#[inline(never)]
fn total_of_items<T: Widen<A>, A: Element>(
    level: Level,
    items: &[T],
    reverse: bool,
    total: &dyn Fn(&[A]) -> A,
    operator: &ErasedOperator<A>,
) -> A {
    if !reverse
        && items.len().is_multiple_of(LANES)
        && let Ok(rows) = cast!(items, &[A])
    {
        return total(rows);
    }
    let mut tiles = Tree::<A>::new(operator);
    let mut stage = [operator.padding(); TILE];
    let mut done = 0;
    while done < items.len() {
        let len = TILE.min(items.len() - done);
        let at = if reverse { items.len() - done - len } else { done };
        let (values, rest) = stage.split_at_mut(len);
        widen_at(level, &items[at..at + len], values);
        if reverse {
            reverse_at(level, values);
        }
        rest.fill(operator.padding());
        // Of a tile that is not full: rows of padding change nothing.
        tiles.push(total(&stage[..len.next_multiple_of(LANES)]), operator);
        done += len;
    }
    tiles.total(operator)
}

/// The total of any number of whole rows, compiled once for an operator.
#[inline(never)]
pub(crate) fn total_of_rows<A: Element, O: Operator<A>>(
    level: Level,
    rows: &[A],
    operator: O,
) -> A {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernels) = rows::find::<A, O>(level)
        && let Some(own) = kernels.of::<A>()
    {
        return (own.total)(rows);
    }
    isa::run(level, TotalRows { rows, operator })
}

struct TotalRows<'a, A, O> {
    rows: &'a [A],
    operator: O,
}

impl<A: Element, O: Operator<A>> Kernel for TotalRows<'_, A, O> {
    type Output = A;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> A {
        #[cfg(target_arch = "x86_64")]
        if const { size_of::<S::f32s>() > 16 && rows::is_found::<A, O>() } {
            unreachable!("the kernels of a built-in operator are there");
        }
        let Self { rows, operator } = self;
        let mut tree = Tree::<A>::new(&operator);
        for row in rows.as_chunks::<LANES>().0 {
            let total = if const { isa::is_plain::<S>() } {
                total_row_plainly(row, &operator)
            } else {
                total_row(row, &operator)
            };
            tree.push(total, &operator);
        }
        tree.total(&operator)
    }
}
