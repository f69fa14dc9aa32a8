//! Rows of items that are made as they are read: some rows are made at once, and read where they wait in a cache.

use std::sync::Mutex;

use upsweep_core::{
    Element, Extreme, Make, Number, Operator, Reduce, Result, RowAxis, Rows, Scan, Widen,
};

use super::deal_out;
use crate::device::Cpu;
use crate::simd::strided::{SharedOutput, copy_strided};
use crate::team::lock;

/// Items that are made at once, unless a row has more.
const MADE: usize = 1 << 16;

/// Rows that are made at once: neighbours on the inner axis across.
struct Pack {
    width: usize,
    /// Where the first of them begins in the input and in the output.
    start: [usize; 2],
}

/// How rows are made: those that lie along memory one behind another, all others as columns.
struct Packs<'a> {
    rows: &'a Rows,
    inner: RowAxis,
    /// Rows of a pack, and packs of the inner axis.
    width: usize,
    of_inner: usize,
    along_memory: bool,
}

impl<'a> Packs<'a> {
    fn new(rows: &'a Rows) -> Self {
        let inner = rows.across.last().copied().unwrap_or(RowAxis { len: 1, input: 0, output: 0 });
        let width = (MADE / rows.items().max(1)).clamp(1, inner.len.max(1));
        let along_memory = rows.step().is_some_and(|[input, _]| input == 1);
        Self { rows, inner, width, of_inner: inner.len.div_ceil(width), along_memory }
    }

    fn count(&self) -> usize {
        self.rows.count() / self.inner.len.max(1) * self.of_inner
    }

    fn pack(&self, number: usize) -> Pack {
        let first = number % self.of_inner * self.width;
        let width = self.width.min(self.inner.len - first);
        Pack { width, start: self.rows.row(number / self.of_inner * self.inner.len + first) }
    }

    /// How far a row of a pack is from the next where they wait, and an item from the next.
    fn strides(&self, pack: &Pack) -> [isize; 2] {
        match self.along_memory {
            true => [self.rows.items() as isize, 1],
            false => [1, pack.width as isize],
        }
    }

    /// Makes the items of a pack.
    fn make<M: Make>(&self, input: M, pack: &Pack, made: &mut Vec<M::Item>) {
        let (items, step) = (self.rows.items(), self.inner.input);
        made.clear();
        if self.along_memory {
            for row in 0..pack.width as isize {
                let first = pack.start[0].wrapping_add_signed(row * step);
                made.extend(input.make(first..first + items));
            }
            return;
        }
        for item in 0..items {
            let first = pack.start[0].wrapping_add_signed(self.rows.item(item)[0]);
            if step == 1 {
                made.extend(input.make(first..first + pack.width));
            } else {
                let rows = 0..pack.width as isize;
                made.extend(rows.map(|row| input.item(first.wrapping_add_signed(row * step))));
            }
        }
    }

    /// The rows of a pack where they wait, with values side by side, or outputs like inputs.
    fn waiting(&self, pack: &Pack, reduces: bool) -> Rows {
        let [row, item] = self.strides(pack);
        let [to_row, to_item] = if reduces { [1, 0] } else { [row, item] };
        let axis = |len, input, output| vec![RowAxis { len, input, output }];
        Rows {
            across: axis(pack.width, row, to_row),
            along: axis(self.rows.items(), item, to_item),
            start: [0; 2],
        }
    }

    /// The places of what was found of a pack, and where they are in the output.
    fn written(&self, pack: &Pack, reduces: bool) -> Vec<RowAxis> {
        let [row, mut item] = self.strides(pack);
        let across = RowAxis { len: pack.width, output: self.inner.output, ..self.inner };
        if reduces {
            return vec![RowAxis { input: 1, ..across }];
        }
        let mut axes = vec![RowAxis { input: row, ..across }];
        for axis in self.rows.along.iter().rev() {
            axes.push(RowAxis { input: item, ..*axis });
            item *= axis.len as isize;
        }
        axes
    }
}

impl Cpu {
    /// Writes the value of each row of items that are made to its place of the output.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn reduce_rows_made<M, U, O>(
        &self,
        input: M,
        rows: &Rows,
        output: &mut [U],
        problem: &Reduce<U::Acc, O>,
    ) -> Result<()>
    where
        M: Make<Item: Element + Widen<U::Acc>>,
        U: Element,
        O: Operator<U::Acc>,
    {
        if rows.items() == 0 {
            return self.reduce_rows::<M::Item, U, O>(&[], rows, output, problem);
        }
        let nothing = U::from_acc(problem.operator.identity());
        self.of_packs(input, rows, output, nothing, &|cpu, made, rows, values| {
            cpu.reduce_rows(made, rows, values, problem)
        })
    }

    /// Writes where in each row of numbers that are made its extreme is, `u64::MAX` of a row without items.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn position_rows_made<M: Make<Item: Number>>(
        &self,
        input: M,
        rows: &Rows,
        output: &mut [u64],
        extreme: Extreme,
    ) -> Result<()> {
        if rows.items() == 0 {
            return self.position_rows::<M::Item>(&[], rows, output, extreme);
        }
        self.of_packs(input, rows, output, u64::MAX, &|cpu, made, rows, places| {
            cpu.position_rows(made, rows, places, extreme)
        })
    }

    /// Writes the prefixes of each row of items that are made to their places of the output.
    ///
    /// # Errors
    /// As [`reduce_rows`](Cpu::reduce_rows).
    #[inline(never)]
    pub fn scan_rows_made<M, U, O>(
        &self,
        input: M,
        rows: &Rows,
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        M: Make<Item: Element + Widen<U::Acc>>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let nothing = U::from_acc(problem.operator.identity());
        self.of_packs(input, rows, output, nothing, &|cpu, made, rows, values| {
            cpu.scan_rows(made, rows, values, problem)
        })
    }

    /// Writes what `call` finds of the rows of each pack.
    fn of_packs<M, U>(
        &self,
        input: M,
        rows: &Rows,
        output: &mut [U],
        nothing: U,
        call: &CallOfPack<'_, M::Item, U>,
    ) -> Result<()>
    where
        M: Make<Item: Element>,
        U: Element,
    {
        let reduces = rows.reduces();
        let rows = rows.clone().in_memory_order();
        let packs = Packs::new(&rows);
        if rows.count() == 0 || rows.items() == 0 {
            return Ok(());
        }
        let bytes = rows.count().saturating_mul(size_of::<M::Item>() * rows.items());
        let (output, alone) = (SharedOutput::new(output), self.alone());
        let failed = Mutex::new(Ok(()));
        self.with_context::<M::Item, _>(bytes, |context| {
            let few = packs.count() < context.team.threads();
            let cpu = if few { self } else { &alone };
            let of_pack = |number: usize| {
                let pack = packs.pack(number);
                let mut made = Vec::with_capacity(pack.width * rows.items());
                packs.make(input, &pack, &mut made);
                let mut values = vec![nothing; if reduces { pack.width } else { made.len() }];
                match call(cpu, &made, &packs.waiting(&pack, reduces), &mut values) {
                    Ok(()) => {
                        let (axes, start) = (packs.written(&pack, reduces), [0, pack.start[1]]);
                        // SAFETY: each row has places of its own, and is in one pack.
                        unsafe { copy_strided(context.level, &values, &output, &axes, start) };
                    }
                    Err(error) => lock(&failed)
                        .into_iter()
                        .for_each(|mut failed| *failed = Err(error.clone())),
                }
            };
            match few {
                true => (0..packs.count()).for_each(of_pack),
                false => deal_out(context, packs.count(), &of_pack),
            }
        })?;
        failed.into_inner().unwrap_or(Ok(()))
    }
}

/// What is done with items that were made, the rows that they are, and room for what is found.
type CallOfPack<'c, T, U> = dyn Fn(&Cpu, &[T], &Rows, &mut [U]) -> Result<()> + Sync + 'c;
