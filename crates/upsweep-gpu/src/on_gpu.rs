//! A GPU and how it is to be used: the backend that the facade calls.
//!
//! What a GPU holds at once, it does by itself. A longer array of the host goes through it in pieces of whole windows, as a
//! stream does: what is known between two pieces is a few values.

use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Backend, Dtype, Element, Error, Extreme, GpuOptions, Limits, Number, Operator, Policy, Profile,
    Reduce, ReduceState, Result, Scan, ScanState, Strategy, Why, Widen, Work, WorkgroupPolicy,
};

use crate::arrays::{ErasedSource, ErasedTarget, Source, Target, check_lengths, pieces};
use crate::bits::Words;
use crate::erased::{
    ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState, Signature, value_of,
};
use crate::host::HostItems;
use crate::packed::items_of_word;
use crate::primitives::{GpuDevice, Primitives};
use crate::{on_device, reduce, scan};

/// A GPU, shared, with options.
#[derive(Debug)]
pub struct OnGpu<G: GpuDevice> {
    gpu: Arc<G>,
    options: GpuOptions,
    profile: Option<Arc<Profile>>,
    /// Scratch memory of calls that are begun, for the next ones: these follow them on the device. The last used is the last.
    idle: Arc<Mutex<Vec<G::Workspace>>>,
    /// A number that calls write and nobody reads, once there was one.
    sink: Arc<Mutex<Option<Arc<G::Buffer>>>>,
}

impl<G: GpuDevice> Clone for OnGpu<G> {
    fn clone(&self) -> Self {
        let (gpu, profile) = (Arc::clone(&self.gpu), self.profile.clone());
        let (idle, sink) = (Arc::clone(&self.idle), Arc::clone(&self.sink));
        Self { gpu, options: self.options, profile, idle, sink }
    }
}

/// Most bytes of an array of the host that are brought to the device at once. Longer ones come in pieces.
const MOST_BYTES: u64 = 1 << 30;

/// How many workspaces wait for calls on arrays of as many items, at most.
const MOST_IDLE: usize = 4;

impl<G: GpuDevice> OnGpu<G> {
    /// The GPU with these options, and what was measured on it.
    pub fn new(gpu: Arc<G>, options: GpuOptions, profile: Option<Arc<Profile>>) -> Self {
        Self { gpu, options, profile, idle: Arc::default(), sink: Arc::default() }
    }

    /// Does a call on arrays of so many items with scratch memory for them: that of an earlier call, with its kernels, if there is one.
    ///
    /// # Errors
    /// Those of the call.
    pub fn with_workspace<R>(
        &self,
        items: u64,
        call: impl FnOnce(&mut G::Workspace) -> Result<R>,
    ) -> Result<R> {
        if !self.gpu.keeps_workspaces() {
            return call(&mut G::workspace(items));
        }
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = {
            let mut idle = lock();
            let place = idle.iter().rposition(|workspace| G::planned(workspace) == items);
            place.map(|place| idle.remove(place))
        };
        let mut workspace = known.unwrap_or_else(|| G::workspace(items));
        // What a call leaves that failed is not used again.
        let done = call(&mut workspace)?;
        let mut idle = lock();
        let oldest = (idle.len() == MOST_IDLE).then(|| idle.remove(0));
        idle.push(workspace);
        drop((idle, oldest));
        Ok(done)
    }

    /// Memory for a number of 64 bits that calls write and nobody reads: all calls write the same one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn sink(&self) -> Result<Arc<G::Buffer>> {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = &*sink {
            return Ok(Arc::clone(sink));
        }
        Ok(Arc::clone(sink.insert(Arc::new(self.gpu.room(8)?))))
    }

    /// Gives back all scratch memory that waits for calls.
    fn forget_workspaces(&self) {
        let idle = core::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
    }

    /// The same GPU, used differently.
    #[must_use]
    pub fn with(&self, options: GpuOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// The same GPU, with what was measured on it or without.
    #[must_use]
    pub fn with_profile(&self, profile: Option<Arc<Profile>>) -> Self {
        Self { profile, ..self.clone() }
    }

    /// What was measured on it.
    pub fn profile(&self) -> Option<&Arc<Profile>> {
        self.profile.as_ref()
    }

    /// The GPU.
    pub fn gpu(&self) -> &Arc<G> {
        &self.gpu
    }

    /// How it is to be used.
    pub fn options(&self) -> &GpuOptions {
        &self.options
    }
}

/// A sum of integers of so many bytes.
fn sum(item_bytes: usize) -> Option<Work> {
    let unsigned = [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::U64];
    let item = unsigned.into_iter().find(|dtype| dtype.size() == item_bytes)?;
    Some(Work { operator: "sum", item, output: item })
}

/// Does `call` with what a profile says, or as it is without one if the device refuses that: a row may be of a shorter array, or
/// written by hand.
fn tuned<R>(
    profiled: Option<GpuOptions>,
    plain: &GpuOptions,
    call: &mut dyn FnMut(&GpuOptions) -> Result<R>,
) -> Result<R> {
    match profiled.map(|options| call(&options)) {
        None | Some(Err(Error::StrategyRefused { .. })) => call(plain),
        Some(result) => result,
    }
}

impl<G: Primitives> OnGpu<G> {
    /// Does `call`, a reduction of so many items with this workspace, with what was asked for, or else what a profile says of such
    /// work.
    pub fn reducing<R>(
        &self,
        workspace: &mut G::Workspace,
        work: Option<Work>,
        items: usize,
        mut call: impl FnMut(&mut G::Workspace, &GpuOptions) -> Result<R>,
    ) -> Result<R> {
        let profiled = self.profiled_reduction(workspace, work, items);
        tuned(profiled, &self.options, &mut |options| call(workspace, options))
    }

    /// The same of a scan.
    pub fn scanning<R>(
        &self,
        workspace: &mut G::Workspace,
        work: Option<Work>,
        items: usize,
        mut call: impl FnMut(&mut G::Workspace, &GpuOptions) -> Result<R>,
    ) -> Result<R> {
        let profiled = self.profiled_scan(workspace, work, items);
        tuned(profiled, &self.options, &mut |options| call(workspace, options))
    }

    fn profiled_reduction(
        &self,
        workspace: &G::Workspace,
        work: Option<Work>,
        items: usize,
    ) -> Option<GpuOptions> {
        // A plan has one kernel for all lengths.
        let items = G::planned(workspace).max(items as u64);
        let best = self.profile_to_read()?.reduction(work?, items)?;
        let (reduce, policy) = (Some(best.strategy), Some(best.policy));
        Some(GpuOptions { reduce, policy, ..GpuOptions::default() })
    }

    fn profiled_scan(
        &self,
        workspace: &G::Workspace,
        work: Option<Work>,
        items: usize,
    ) -> Option<GpuOptions> {
        let items = G::planned(workspace).max(items as u64);
        let best = self.profile_to_read()?.scan(work?, items)?;
        let (scan, policy) = (Some(best.strategy), Some(best.policy));
        Some(GpuOptions { scan, policy, ..GpuOptions::default() })
    }

    /// The profile, unless the caller has asked for something.
    fn profile_to_read(&self) -> Option<&Profile> {
        let profile = self.profile.as_deref()?;
        (self.options == GpuOptions::default()).then_some(profile)
    }

    /// Whether there can be kernels of these types and this operator.
    pub fn can<T, A, U, O>(&self, operator: &O) -> bool
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        self.can_erased(&Signature::of::<T, A, U, O>(operator, G::LANGUAGE))
    }

    /// The same of types that are values.
    pub fn can_erased(&self, signature: &Signature) -> bool {
        self.gpu.types(signature).is_ok()
    }

    /// Why a call on so many items was done with this strategy, and the numbers that were wanted, if a caller or a profile wanted
    /// any. The work is `None` if no profile knows it.
    pub fn why(
        &self,
        work: Option<Work>,
        items: u64,
        done: Option<Strategy>,
    ) -> (Why, Option<WorkgroupPolicy>) {
        if self.options != GpuOptions::default() {
            return (Why::Asked, self.options.policy);
        }
        let found = work.zip(self.profile.as_deref()).and_then(|(work, profile)| match done? {
            Strategy::GpuReduce(strategy) => {
                let best = profile.reduction(work, items)?;
                (best.strategy == strategy).then_some((best.items, best.measured, best.policy))
            }
            Strategy::GpuScan(strategy) => {
                let best = profile.scan(work, items)?;
                (best.strategy == strategy).then_some((best.items, best.measured, best.policy))
            }
            _ => None,
        });
        match found {
            Some((items, measured, policy)) => {
                (Why::Profile { items, measured: Some(measured) }, Some(policy))
            }
            None => (Why::Rule, None),
        }
    }

    /// The id that the GPU was opened with.
    pub fn id(&self) -> &str {
        self.gpu.id()
    }

    /// How many items of the host, `bytes` bytes each, are brought to the device at once: whole windows.
    fn most_items(&self, bytes: usize) -> usize {
        let most = self.gpu.limits().buffer_bytes.map_or(MOST_BYTES, |most| most.min(MOST_BYTES));
        let items = usize::try_from(most).unwrap_or(usize::MAX) / bytes.max(1);
        (items / WINDOW * WINDOW).max(WINDOW)
    }

    /// Combines items that are on the device, or few enough to be brought there at once.
    fn reduce_at_once(
        &self,
        workspace: &mut G::Workspace,
        input: &ErasedSource<'_, G::Slice<'_>>,
        problem: &ErasedReduce,
    ) -> Result<Words> {
        self.reducing(workspace, problem.signature.work, input.len(), |workspace, options| {
            reduce::reduce(&self.gpu, workspace, input.clone(), problem, &options.into())
        })
    }

    /// Combines all items into one value, and waits for its words of memory. Of more items than are brought to the device at once
    /// the pieces are folded in a new `state`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn reduce_erased(
        &self,
        workspace: &mut G::Workspace,
        input: &ErasedSource<'_, G::Slice<'_>>,
        problem: &ErasedReduce,
        state: &dyn Fn() -> Box<dyn ErasedReduceState>,
    ) -> Result<Words> {
        if input.is_on_host() && input.len() > self.most_items(problem.signature.item.size) {
            let mut state = state();
            self.reduce_next_erased(workspace, input, problem, &mut *state)?;
            return Ok(state.finish());
        }
        self.reduce_at_once(workspace, input, problem)
    }

    /// Combines all items into the one item of `result`, and does not wait.
    ///
    /// # Errors
    /// Those of the device.
    pub fn reduce_into_erased(
        &self,
        workspace: &mut G::Workspace,
        input: &ErasedSource<'_, G::Slice<'_>>,
        result: G::Slice<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        self.reducing(workspace, problem.signature.work, input.len(), |workspace, options| {
            let options = options.into();
            reduce::reduce_into(&self.gpu, workspace, input.clone(), result, problem, &options)
        })
    }

    /// Combines what comes next of an array, piece by piece. Waits for how many items there are, if only the device knows.
    ///
    /// # Errors
    /// [`Error::ChunkLength`], [`Error::LengthAboveBound`], and those of the device.
    pub fn reduce_next_erased(
        &self,
        workspace: &mut G::Workspace,
        chunk: &ErasedSource<'_, G::Slice<'_>>,
        problem: &ErasedReduce,
        state: &mut dyn ErasedReduceState,
    ) -> Result<()> {
        self.gpu.types(&problem.signature)?;
        let item = problem.signature.item;
        let chunk = &chunk.known(item.kind, on_device::known_len(&self.gpu, chunk)?);
        state.check(chunk.len())?;
        let most = if chunk.is_on_host() { self.most_items(item.size) } else { usize::MAX };
        let mut start = 0;
        while start < chunk.len() {
            let items = state.piece((chunk.len() - start).min(most));
            let piece = chunk.part(item.kind, start..start + items);
            let total = self.reduce_at_once(workspace, &piece, problem)?;
            state.push(&total, items)?;
            start += items;
        }
        Ok(())
    }

    /// The first position of an extreme, of the host's items piece by piece.
    fn find(
        &self,
        workspace: &mut G::Workspace,
        input: &ErasedSource<'_, G::Slice<'_>>,
        item: Dtype,
        work: Work,
        extreme: Extreme,
    ) -> Result<Option<u64>> {
        let most = self.most_items(item.size());
        let mut find = |input: &ErasedSource<'_, G::Slice<'_>>| {
            self.reducing(workspace, Some(work), input.len(), |workspace, options| {
                let options = options.into();
                reduce::position(&self.gpu, workspace, input.clone(), (item, extreme), &options)
            })
        };
        let ErasedSource::Host(items, range) = input else { return find(input) };
        if range.len() <= most {
            return find(input);
        }
        // The best of each piece, and the best of those, which is the first of equals.
        let mut bests = ItemBytes { size: item.size(), bytes: Vec::new() };
        let mut places = Vec::new();
        for start in range.clone().step_by(most) {
            let piece = start..range.end.min(start + most);
            if let Some(place) = find(&ErasedSource::Host(*items, piece))? {
                let place = start + usize::try_from(place).unwrap_or(usize::MAX);
                bests.bytes.extend_from_slice(&items.bytes(place..place + 1));
                places.push((place - range.start) as u64);
            }
        }
        let best = find(&ErasedSource::Host(&bests, 0..bests.len()))?;
        Ok(best.and_then(|best| places.get(usize::try_from(best).ok()?).copied()))
    }

    /// Scans items that are on the device, or few enough to be brought there at once.
    fn scan_at_once(
        &self,
        workspace: &mut G::Workspace,
        input: Option<&ErasedSource<'_, G::Slice<'_>>>,
        output: &mut ErasedTarget<'_, G::Slice<'_>>,
        problem: &ErasedScan,
    ) -> Result<()> {
        self.scanning(workspace, problem.signature.work, output.len(), |workspace, options| {
            let (output, options) = (output.reborrow(), options.into());
            scan::scan(&self.gpu, workspace, input.cloned(), output, problem, &options)
        })
    }

    /// Writes every prefix of `input` to `output`, or replaces the items of `output` by theirs if there is no input. More items than
    /// are brought to the device at once are scanned piece by piece, from a new `state` on.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and those of the device.
    pub fn scan_erased(
        &self,
        workspace: &mut G::Workspace,
        input: Option<&ErasedSource<'_, G::Slice<'_>>>,
        output: &mut ErasedTarget<'_, G::Slice<'_>>,
        problem: &ErasedScan,
        state: &dyn Fn() -> Box<dyn ErasedScanState>,
    ) -> Result<()> {
        check_lengths(input.map_or(output.len(), ErasedSource::len), output.len())?;
        let [from, to] = [problem.signature.item, problem.signature.output];
        let on_host = output.is_on_host() || input.is_some_and(ErasedSource::is_on_host);
        if on_host && output.len() > self.most_items(from.size.max(to.size)) {
            let (problem, workspace) = (problem.clone(), &mut G::Workspace::default());
            return self.scan_next_erased(workspace, input, output, problem, &mut *state());
        }
        self.scan_at_once(workspace, input, output, problem)
    }

    /// Scans what comes next of an array, piece by piece; in place if there is no input. Waits for how many items there are, if only the device
    /// knows.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ChunkLength`], [`Error::LengthAboveBound`], and those of the device.
    pub fn scan_next_erased(
        &self,
        workspace: &mut G::Workspace,
        input: Option<&ErasedSource<'_, G::Slice<'_>>>,
        output: &mut ErasedTarget<'_, G::Slice<'_>>,
        mut problem: ErasedScan,
        state: &mut dyn ErasedScanState,
    ) -> Result<()> {
        let items = output.len();
        check_lengths(input.map_or(items, ErasedSource::len), items)?;
        self.gpu.types(&problem.signature)?;
        let (from, to) = (problem.signature.item, problem.signature.output);
        let items = match input {
            Some(input) => on_device::known_within(&self.gpu, input.length(), items)?,
            None => on_device::known_within(&self.gpu, output.length(), items)?,
        };
        let input = input.map(|input| input.known(from.kind, items));
        let (input, output) = (input.as_ref(), &mut output.known(to.kind, items));
        state.check(items)?;
        let on_host = output.is_on_host() || input.is_some_and(ErasedSource::is_on_host);
        let most = if on_host { self.most_items(from.size.max(to.size)) } else { usize::MAX };
        for piece in pieces(items, most, problem.direction) {
            let items = piece.len();
            let source = input.map(|input| input.part(from.kind, piece.clone()));
            let mut target = output.part(to.kind, piece);
            problem.init = state.carry();
            G::will_carry(workspace);
            self.scan_at_once(workspace, source.as_ref(), &mut target, &problem)?;
            if items.is_multiple_of(WINDOW) {
                state.set_carry(&self.gpu.carry(workspace, items as u64)?)?;
            }
        }
        Ok(())
    }
}

/// Items of the host's that were put together here.
struct ItemBytes {
    size: usize,
    bytes: Vec<u8>,
}

impl HostItems for ItemBytes {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        (&self.bytes[range.start * self.size..range.end * self.size]).into()
    }
}

impl<G: Primitives> Backend for OnGpu<G> {
    type Input<'a, T: Element> = Source<'a, T, G::Slice<'a>>;
    type Output<'a, T: Element> = Target<'a, T, G::Slice<'a>>;
    type Workspace = G::Workspace;

    fn limits(&self) -> &Limits {
        self.gpu.limits()
    }

    /// For sums of integers: other problems may have no hardware atomic.
    fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        let (mut strategy, mut policy) = self.gpu.reduce_choice(items as u64, item_bytes);
        let profile = self.profile_to_read();
        if let Some(best) = profile.and_then(|p| p.reduction(sum(item_bytes)?, items as u64)) {
            (strategy, policy) = (best.strategy, best.policy);
        }
        let strategy = self.options.reduce.unwrap_or(strategy);
        (Strategy::GpuReduce(strategy), Policy::Workgroup(self.options.policy.unwrap_or(policy)))
    }

    fn scan_choice(
        &self,
        items: usize,
        item_bytes: usize,
        sums_integers: bool,
    ) -> (Strategy, Policy) {
        let packed = if sums_integers { items_of_word(item_bytes) } else { 1 };
        let (mut strategy, mut policy) = self.gpu.scan_choice(items as u64, item_bytes, packed);
        let profile = self.profile_to_read();
        if let Some(best) = profile.and_then(|p| p.scan(sum(item_bytes)?, items as u64)) {
            (strategy, policy) = (best.strategy, best.policy);
        }
        let strategy = self.options.scan.unwrap_or(strategy);
        (Strategy::GpuScan(strategy), Policy::Workgroup(self.options.policy.unwrap_or(policy)))
    }

    fn workspace(&self, items: usize, _item_bytes: usize) -> Result<G::Workspace> {
        Ok(G::workspace(items as u64))
    }

    #[inline(never)]
    fn reduce<T, A, O>(
        &self,
        workspace: &mut G::Workspace,
        input: Self::Input<'_, T>,
        problem: &Reduce<A, O>,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let state = || Box::new(ReduceState::new(*problem)) as _;
        let problem = ErasedReduce::of::<T, A, O>(problem, G::LANGUAGE);
        let found = self.reduce_erased(workspace, &input.erased(), &problem, &state)?;
        value_of(&found, self.id())
    }

    #[inline(never)]
    fn reduce_into<T, A, O>(
        &self,
        workspace: &mut G::Workspace,
        input: Self::Input<'_, T>,
        result: Self::Output<'_, A>,
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
                let problem = ErasedReduce::of::<T, A, O>(problem, G::LANGUAGE);
                self.reduce_into_erased(workspace, &input.erased(), result, &problem)
            }
        }
    }

    #[inline(never)]
    fn position<T: Number>(
        &self,
        workspace: &mut G::Workspace,
        input: Self::Input<'_, T>,
        extreme: Extreme,
    ) -> Result<Option<u64>> {
        let work = Work::of_position::<T>(extreme);
        self.find(workspace, &input.erased(), T::DTYPE, work, extreme)
    }

    #[inline(never)]
    fn reduce_next<T, A, O>(
        &self,
        workspace: &mut G::Workspace,
        state: &mut ReduceState<A, O>,
        chunk: Self::Input<'_, T>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = Reduce::new(state.operator());
        let problem = ErasedReduce::of::<T, A, O>(&problem, G::LANGUAGE);
        self.reduce_next_erased(workspace, &chunk.erased(), &problem, state)
    }

    #[inline(never)]
    fn scan<T, U, O>(
        &self,
        workspace: &mut G::Workspace,
        input: Self::Input<'_, T>,
        mut output: Self::Output<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let state = || Box::new(ScanState::new(*problem)) as _;
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, G::LANGUAGE);
        let (input, mut output) = (input.erased(), output.erased());
        self.scan_erased(workspace, Some(&input), &mut output, &problem, &state)
    }

    #[inline(never)]
    fn scan_in_place<T, O>(
        &self,
        workspace: &mut G::Workspace,
        mut data: Self::Output<'_, T>,
        problem: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let state = || Box::new(ScanState::new(*problem)) as _;
        let problem = ErasedScan::of::<T, T::Acc, T, O>(problem, G::LANGUAGE);
        self.scan_erased(workspace, None, &mut data.erased(), &problem, &state)
    }

    #[inline(never)]
    fn scan_next<T, U, O>(
        &self,
        workspace: &mut G::Workspace,
        state: &mut ScanState<U::Acc, O>,
        chunk: Self::Input<'_, T>,
        mut output: Self::Output<'_, U>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(state.parts().0, G::LANGUAGE);
        let (chunk, mut output) = (chunk.erased(), output.erased());
        self.scan_next_erased(workspace, Some(&chunk), &mut output, problem, state)
    }

    fn wait(&self) -> Result<()> {
        // A kernel that has failed may have left anything in its scratch memory.
        self.gpu.wait().inspect_err(|_| self.forget_workspaces())
    }
}
