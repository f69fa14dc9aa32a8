//! A GPU and how it is to be used: the backend that the facade calls.
//!
//! What a GPU holds at once, it does by itself. A longer array of the host goes through it in pieces of whole windows, as a
//! stream does: what is known between two pieces is a few values.

use std::sync::Arc;

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Backend, Dtype, Element, Error, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy,
    Limits, Number, Operator, Policy, Profile, Reduce, ReduceState, Result, Scan, ScanState,
    Strategy, Why, Widen, Work, WorkgroupPolicy,
};

use crate::arrays::{Part, Source, Target, check_lengths, pieces};
use crate::bits::kind;

/// The primitives of a GPU, on arrays that it holds at once.
pub trait Primitives: Send + Sync + Sized {
    /// Items in the device's memory.
    type Slice<'a>: Part;

    /// Scratch memory of one plan.
    type Workspace: Default + Send;

    /// The id it was opened with.
    fn id(&self) -> &str;

    /// What the device can do.
    fn limits(&self) -> &Limits;

    /// The strategy and policy of a sum of `items` integers of `item_bytes` bytes, where none are asked for.
    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy);

    /// The strategy and policy of a scan, where none are asked for.
    fn scan_choice(&self, items: u64, item_bytes: usize) -> (GpuScanStrategy, WorkgroupPolicy);

    /// Scratch memory for calls with at most `items` items.
    fn workspace(items: u64) -> Self::Workspace;

    /// The items that a workspace was made for; 0 of one that was made for none in particular.
    fn planned(workspace: &Self::Workspace) -> u64;

    /// Checks that there can be kernels of these types, though nothing be there to run them on.
    fn check_types<T, A, U, O>(&self, operator: &O) -> Result<()>
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>;

    /// Combines all items into one value, and waits for it.
    fn reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        problem: &Reduce<A, O>,
        options: &GpuOptions,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>;

    /// Combines all items into the one item of `result`. Does not wait.
    fn reduce_into<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        result: Self::Slice<'_>,
        problem: &Reduce<A, O>,
        options: &GpuOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>;

    /// The first position of an extreme; `None` if there are no items.
    fn position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        extreme: Extreme,
        options: &GpuOptions,
    ) -> Result<Option<u64>>;

    /// Writes every prefix of `input` to `output`, or replaces the items of `output` by theirs if there is no input. Waits for
    /// an output in the host's memory only.
    fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Option<Source<'_, T, Self::Slice<'_>>>,
        output: Target<'_, U, Self::Slice<'_>>,
        problem: &Scan<U::Acc, O>,
        options: &GpuOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>;

    /// Says that the [carry](Primitives::carry) of the next scan will be asked for.
    fn will_carry(_: &mut Self::Workspace) {}

    /// What comes in behind the last scan of this workspace, which was one of `items` items: whole windows. Waits for it.
    fn carry<A: Element>(&self, workspace: &Self::Workspace, items: u64) -> Result<A>;

    /// Waits for everything that was begun, and says whether it went well.
    fn wait(&self) -> Result<()>;
}

/// A GPU, shared, with options.
#[derive(Debug)]
pub struct OnGpu<G> {
    gpu: Arc<G>,
    options: GpuOptions,
    profile: Option<Arc<Profile>>,
}

impl<G> Clone for OnGpu<G> {
    fn clone(&self) -> Self {
        let (gpu, profile) = (Arc::clone(&self.gpu), self.profile.clone());
        Self { gpu, options: self.options, profile }
    }
}

/// Most bytes of an array of the host that are brought to the device at once. Longer ones come in pieces.
const MOST_BYTES: u64 = 1 << 30;

impl<G> OnGpu<G> {
    /// The GPU with these options, and what was measured on it.
    pub fn new(gpu: Arc<G>, options: GpuOptions, profile: Option<Arc<Profile>>) -> Self {
        Self { gpu, options, profile }
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
    /// Does `call`, a reduction of so many items with this workspace, with what was asked for, or else what a profile says.
    pub fn reducing<T, A, O, R>(
        &self,
        workspace: &mut G::Workspace,
        items: usize,
        mut call: impl FnMut(&mut G::Workspace, &GpuOptions) -> Result<R>,
    ) -> Result<R>
    where
        T: Element,
        A: Element,
        O: Operator<A>,
    {
        let profiled = self.profiled_reduction(workspace, &Work::of::<T, A, O, A>, items);
        tuned(profiled, &self.options, &mut |options| call(workspace, options))
    }

    /// The same of a search for a position.
    pub fn searching<T: Number, R>(
        &self,
        workspace: &mut G::Workspace,
        items: usize,
        extreme: Extreme,
        mut call: impl FnMut(&mut G::Workspace, &GpuOptions) -> Result<R>,
    ) -> Result<R> {
        let work = || Some(Work::of_position::<T>(extreme));
        let profiled = self.profiled_reduction(workspace, &work, items);
        tuned(profiled, &self.options, &mut |options| call(workspace, options))
    }

    /// The same of a scan.
    pub fn scanning<T, U, O, R>(
        &self,
        workspace: &mut G::Workspace,
        items: usize,
        mut call: impl FnMut(&mut G::Workspace, &GpuOptions) -> Result<R>,
    ) -> Result<R>
    where
        T: Element,
        U: Element,
        O: Operator<U::Acc>,
    {
        let profiled = self.profiled_scan(workspace, &Work::of::<T, U, O, U::Acc>, items);
        tuned(profiled, &self.options, &mut |options| call(workspace, options))
    }

    fn profiled_reduction(
        &self,
        workspace: &G::Workspace,
        work: &dyn Fn() -> Option<Work>,
        items: usize,
    ) -> Option<GpuOptions> {
        // A plan has one kernel for all lengths.
        let items = G::planned(workspace).max(items as u64);
        let best = self.profile_to_read()?.reduction(work()?, items)?;
        Some(GpuOptions { reduce: Some(best.strategy), policy: Some(best.policy), scan: None })
    }

    fn profiled_scan(
        &self,
        workspace: &G::Workspace,
        work: &dyn Fn() -> Option<Work>,
        items: usize,
    ) -> Option<GpuOptions> {
        let items = G::planned(workspace).max(items as u64);
        let best = self.profile_to_read()?.scan(work()?, items)?;
        Some(GpuOptions { scan: Some(best.strategy), policy: Some(best.policy), reduce: None })
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
        self.gpu.check_types::<T, A, U, O>(operator).is_ok()
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

    /// Scans what comes next of an array, and keeps what comes behind it.
    #[inline(never)]
    fn scan_piece<T, U, O>(
        &self,
        workspace: &mut G::Workspace,
        state: &mut ScanState<U::Acc, O>,
        source: Option<Source<'_, T, G::Slice<'_>>>,
        mut target: Target<'_, U, G::Slice<'_>>,
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
        let (problem, carry) = state.parts();
        let mut problem = *problem;
        problem.init = carry.total(&problem.operator);
        G::will_carry(workspace);
        self.scanning::<T, U, O, _>(workspace, items, |workspace, options| {
            self.gpu.scan(workspace, source, target.all(), &problem, options)
        })?;
        if items.is_multiple_of(WINDOW) {
            carry.set(self.gpu.carry(workspace, items as u64)?, &problem.operator);
        }
        Ok(())
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

    fn scan_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        let (mut strategy, mut policy) = self.gpu.scan_choice(items as u64, item_bytes);
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
        match input {
            Source::Host(items) if items.len() > self.most_items(size_of::<T>()) => {
                let mut state = ReduceState::new(*problem);
                self.reduce_next(workspace, &mut state, input)?;
                Ok(state.finish())
            }
            _ => self.reducing::<T, A, O, _>(workspace, input.len(), |workspace, options| {
                self.gpu.reduce(workspace, input, problem, options)
            }),
        }
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
                self.reducing::<T, A, O, _>(workspace, input.len(), |workspace, options| {
                    self.gpu.reduce_into(workspace, input, result, problem, options)
                })
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
        let most = self.most_items(size_of::<T>());
        let find = |workspace: &mut G::Workspace, input: Self::Input<'_, T>| {
            self.searching::<T, _>(workspace, input.len(), extreme, |workspace, options| {
                self.gpu.position(workspace, input, extreme, options)
            })
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
        self.gpu.check_types::<T, A, A, O>(&state.operator())?;
        state.check(chunk.len())?;
        let problem = Reduce::new(state.operator());
        let most = match chunk {
            Source::Host(_) => self.most_items(size_of::<T>()),
            Source::Device(_) => usize::MAX,
        };
        let kind = kind::<T>(self.gpu.id())?;
        let mut start = 0;
        while start < chunk.len() {
            let left = (chunk.len() - start).min(most);
            let items = match O::COMMUTATIVE {
                true => state.piece(left),
                // In order, windows are folded one after another: a piece of several is a value only if nobody sees how.
                false if O::EXACT => left,
                false => left.min(WINDOW),
            };
            let piece = chunk.part(kind, start..start + items);
            let total = self.reducing::<T, A, O, _>(workspace, items, |workspace, options| {
                self.gpu.reduce(workspace, piece, &problem, options)
            })?;
            if O::COMMUTATIVE {
                state.push(total, items);
            } else {
                let operator = state.operator();
                let carry = state.carry();
                let before = carry.total(&operator);
                carry
                    .set(before.map_or(total, |before| operator.combine(before, total)), &operator);
            }
            start += items;
        }
        Ok(())
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
        check_lengths(input.len(), output.len())?;
        let most = self.most_items(size_of::<T>().max(size_of::<U>()));
        let host = matches!(input, Source::Host(_)) || matches!(output, Target::Host(_));
        if host && input.len() > most {
            let mut state = ScanState::new(*problem);
            return self.scan_next(&mut G::Workspace::default(), &mut state, input, output);
        }
        self.scanning::<T, U, O, _>(workspace, input.len(), |workspace, options| {
            self.gpu.scan(workspace, Some(input), output.all(), problem, options)
        })
    }

    #[inline(never)]
    fn scan_in_place<T, O>(
        &self,
        workspace: &mut G::Workspace,
        data: Self::Output<'_, T>,
        problem: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let most = self.most_items(size_of::<T>());
        match data {
            Target::Host(data) if data.len() > most => {
                let (mut state, workspace) =
                    (ScanState::new(*problem), &mut G::Workspace::default());
                for piece in pieces(data.len(), most, state.direction()) {
                    state.check(piece.len())?;
                    let data = Target::Host(&mut data[piece]);
                    self.scan_piece::<T, T, O>(workspace, &mut state, None, data)?;
                }
                Ok(())
            }
            mut data => self.scanning::<T, T, O, _>(workspace, data.len(), |workspace, options| {
                self.gpu.scan::<T, T, O>(workspace, None, data.all(), problem, options)
            }),
        }
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
        check_lengths(chunk.len(), output.len())?;
        self.gpu.check_types::<T, U::Acc, U, O>(&state.parts().0.operator)?;
        state.check(chunk.len())?;
        let (from, to) = (kind::<T>(self.gpu.id())?, kind::<U>(self.gpu.id())?);
        let host = matches!(chunk, Source::Host(_)) || matches!(output, Target::Host(_));
        let most = self.most_items(size_of::<T>().max(size_of::<U>()));
        let most = if host { most } else { usize::MAX };
        for piece in pieces(chunk.len(), most, state.direction()) {
            let source = chunk.part(from, piece.clone());
            let target = output.part(to, piece);
            self.scan_piece(workspace, state, Some(source), target)?;
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        self.gpu.wait()
    }
}
