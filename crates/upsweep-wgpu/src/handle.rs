//! A GPU and how it is to be used: the backend that the facade calls.

use std::sync::Arc;

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Backend, Dtype, Element, Error, Extreme, GpuOptions, Limits, Number, Operator, Policy, Reduce,
    ReduceState, Result, Scan, ScanState, Strategy, Widen,
};

use crate::backend::{Source, Target, Workspace};
use crate::device::Gpu;
use crate::reduce::ReduceOptions;
use crate::scan::ScanOptions;
use crate::slice::Slice;
use crate::{reduce, scan};

/// A GPU, shared, with options.
#[derive(Clone, Debug)]
pub struct Wgpu {
    gpu: Arc<Gpu>,
    options: GpuOptions,
}

/// Most bytes of an array of the host that are brought to the device at once. Longer ones come in pieces.
const MOST_BYTES: u64 = 1 << 30;

impl Wgpu {
    /// The GPU with these options.
    pub fn new(gpu: Arc<Gpu>, options: GpuOptions) -> Self {
        Self { gpu, options }
    }

    /// The GPU.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The options of its reductions.
    pub fn reduce_options(&self) -> ReduceOptions {
        ReduceOptions { strategy: self.options.reduce, policy: self.options.policy }
    }

    /// The options of its scans.
    pub fn scan_options(&self) -> ScanOptions {
        ScanOptions { strategy: self.options.scan, policy: self.options.policy, stalled: None }
    }

    /// How many items of the host, `bytes` bytes each, are brought to the device at once: whole windows.
    fn most_items(&self, bytes: usize) -> usize {
        let most = self.gpu.device.limits().max_buffer_size.min(MOST_BYTES);
        let items = usize::try_from(most).unwrap_or(usize::MAX) / bytes.max(1);
        (items / WINDOW * WINDOW).max(WINDOW)
    }
}

impl Backend for Wgpu {
    type Input<'a, T: Element> = Source<'a, T>;
    type Output<'a, T: Element> = Target<'a, T>;
    type Workspace = Workspace;

    fn limits(&self) -> &Limits {
        self.gpu.limits()
    }

    /// For sums of integers: other problems may have no hardware atomic.
    fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        let (strategy, policy) = reduce::choice(&self.gpu, items as u64, item_bytes);
        let strategy = self.options.reduce.unwrap_or(strategy);
        (Strategy::GpuReduce(strategy), Policy::Workgroup(self.options.policy.unwrap_or(policy)))
    }

    fn scan_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        let (strategy, policy) = scan::choice(&self.gpu, (items * item_bytes) as u64);
        let strategy = self.options.scan.unwrap_or(strategy);
        (Strategy::GpuScan(strategy), Policy::Workgroup(self.options.policy.unwrap_or(policy)))
    }

    fn workspace(&self, items: usize, _item_bytes: usize) -> Result<Workspace> {
        Ok(Workspace::for_items(items as u64))
    }

    fn reduce<T, A, O>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        problem: &Reduce<A, O>,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match input {
            Source::Host(items) if items.len() > self.most_items(size_of::<T>()) => {
                let mut state = ReduceState::new(*problem);
                self.reduce_next(workspace, &mut state, input)?;
                Ok(state.finish())
            }
            _ => self.gpu.reduce(workspace, input, problem, &self.reduce_options()),
        }
    }

    fn reduce_into<T, A, O>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        result: Target<'_, A>,
        problem: &Reduce<A, O>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        if result.len() != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        match result {
            Target::Host(result) => {
                result[0] = self.reduce(workspace, input, problem)?;
                Ok(())
            }
            Target::Device(result) => {
                let options = self.reduce_options();
                self.gpu.reduce_into(workspace, input, result, problem, &options)
            }
        }
    }

    fn position<T: Number>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
    ) -> Result<Option<u64>> {
        let most = self.most_items(size_of::<T>());
        let options = self.reduce_options();
        let find = |workspace: &mut Workspace, input| {
            self.gpu.position(workspace, input, extreme, &options)
        };
        let items = match input {
            Source::Host(items) if items.len() > most => items,
            _ => return find(workspace, input),
        };
        // The best of each piece, and the best of those, which is the first of equals.
        let mut bests: Vec<T> = Vec::new();
        let mut places = Vec::new();
        for (number, piece) in items.chunks(most).enumerate() {
            if let Some(place) = find(workspace, Source::Host(piece))? {
                let place = number as u64 * most as u64 + place;
                bests.push(items[usize::try_from(place).unwrap_or(usize::MAX)]);
                places.push(place);
            }
        }
        let best = find(workspace, Source::Host(&bests))?;
        Ok(best.and_then(|best| places.get(usize::try_from(best).ok()?).copied()))
    }

    fn reduce_next<T, A, O>(
        &self,
        workspace: &mut Workspace,
        state: &mut ReduceState<A, O>,
        chunk: Source<'_, T>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        self.gpu.check_types::<T, A, A, O>(&state.operator())?;
        state.check(chunk.len())?;
        let problem = Reduce::new(state.operator());
        let most = match chunk {
            Source::Host(_) => self.most_items(size_of::<T>()),
            Source::Device(_) => usize::MAX,
        };
        let dtype = self.gpu.number::<T>()?;
        let mut start = 0;
        while start < chunk.len() {
            let items = state.piece((chunk.len() - start).min(most));
            let piece = chunk.range(dtype, start, items);
            let total = self.gpu.reduce(workspace, piece, &problem, &self.reduce_options())?;
            state.push(total, items);
            start += items;
        }
        Ok(())
    }

    fn scan<T, U, O>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        check_lengths(input.len(), output.len())?;
        let most = self.most_items(size_of::<T>().max(size_of::<U>()));
        let host = matches!(input, Source::Host(_)) || matches!(output, Target::Host(_));
        if host && input.len() > most {
            let mut state = ScanState::new(*problem);
            return self.scan_next(&mut Workspace::default(), &mut state, input, output);
        }
        self.gpu.scan(workspace, input, output, problem, &self.scan_options())
    }

    fn scan_in_place<T, O>(
        &self,
        workspace: &mut Workspace,
        data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let most = self.most_items(size_of::<T>());
        match data {
            Target::Host(data) if data.len() > most => {
                let (mut state, workspace) = (ScanState::new(*problem), &mut Workspace::default());
                for piece in pieces(data.len(), most, state.direction()) {
                    state.check(piece.len())?;
                    let data = Target::Host(&mut data[piece]);
                    self.scan_piece::<T, T, O>(workspace, &mut state, None, data)?;
                }
                Ok(())
            }
            data => self.gpu.scan_in_place(workspace, data, problem, &self.scan_options()),
        }
    }

    fn scan_next<T, U, O>(
        &self,
        workspace: &mut Workspace,
        state: &mut ScanState<U::Acc, O>,
        chunk: Source<'_, T>,
        mut output: Target<'_, U>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        check_lengths(chunk.len(), output.len())?;
        self.gpu.check_types::<T, U::Acc, U, O>(&state.parts().0.operator)?;
        state.check(chunk.len())?;
        let (from, to) = (self.gpu.number::<T>()?, self.gpu.number::<U>()?);
        let host = matches!(chunk, Source::Host(_)) || matches!(output, Target::Host(_));
        let most = self.most_items(size_of::<T>().max(size_of::<U>()));
        let most = if host { most } else { usize::MAX };
        for piece in pieces(chunk.len(), most, state.direction()) {
            let source = chunk.range(from, piece.start, piece.len());
            let target = output.range(to, piece.start, piece.len());
            self.scan_piece(workspace, state, Some(source), target)?;
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        self.gpu.wait()
    }
}

impl Wgpu {
    /// Scans what comes next of an array, and keeps what comes behind it.
    fn scan_piece<T, U, O>(
        &self,
        workspace: &mut Workspace,
        state: &mut ScanState<U::Acc, O>,
        source: Option<Source<'_, T>>,
        target: Target<'_, U>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let items = target.len();
        if items == 0 {
            return Ok(());
        }
        let options = self.scan_options();
        let (problem, carry) = state.parts();
        let mut problem = *problem;
        problem.init = carry.total(&problem.operator);
        workspace.count_run();
        self.gpu.scan_from(workspace, source, target, &problem, &options)?;
        if items.is_multiple_of(WINDOW) {
            carry.set(self.gpu.carry(workspace, items as u64)?, &problem.operator);
        }
        Ok(())
    }
}

/// The pieces of at most `most` items of a chunk, in the order in which a scan meets them.
fn pieces(
    items: usize,
    most: usize,
    direction: upsweep_core::Direction,
) -> impl Iterator<Item = core::ops::Range<usize>> {
    (0..items.div_ceil(most.max(1))).map(move |number| {
        let (start, end) = (number * most, items.min((number + 1).saturating_mul(most)));
        match direction {
            upsweep_core::Direction::Forward => start..end,
            upsweep_core::Direction::Reverse => items - end..items - start,
        }
    })
}

fn check_lengths(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}

impl<'a, T> Source<'a, T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Source::Host(items) => items.len(),
            Source::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn range(&self, dtype: Dtype, start: usize, items: usize) -> Source<'a, T> {
        match self {
            Source::Host(all) => Source::Host(&all[start..start + items]),
            Source::Device(slice) => Source::Device(slice.part(dtype, start, items)),
        }
    }
}

impl<T> Target<'_, T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Target::Host(items) => items.len(),
            Target::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn range(&mut self, dtype: Dtype, start: usize, items: usize) -> Target<'_, T> {
        match self {
            Target::Host(all) => Target::Host(&mut all[start..start + items]),
            Target::Device(slice) => Target::Device(slice.part(dtype, start, items)),
        }
    }
}

impl<'a> Slice<'a> {
    /// Number of items.
    pub fn len(&self) -> usize {
        usize::try_from(self.items).unwrap_or(usize::MAX)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// `items` items from number `start` on.
    fn part(&self, dtype: Dtype, start: usize, items: usize) -> Slice<'a> {
        let offset = self.offset + start as u64 * dtype.size() as u64;
        Slice { buffer: self.buffer, offset, items: items as u64 }
    }
}
