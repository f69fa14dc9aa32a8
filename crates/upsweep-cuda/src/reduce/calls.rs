//! The calls of reductions.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use upsweep_core::{
    Dtype, Element, Error, Extreme, GpuScanStrategy, Language, Number, Operator, Recipe, Reduce,
    ReduceGlobal, ReduceLocal, Result, ScanGlobal, ScanLocal, Strategy, Widen,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedReduce, value_of};

use super::{Init, Reads, ReduceOptions, Reduction, To, policy};
use crate::backend::{ErasedSource, Ingredients, Inputs, MOST_ARRAYS, Source, Workspace};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::mailbox::Mailbox;
use crate::record::{Awaited, Recording};
use crate::scan::{Form, Lies, ScanOptions, Scanning};
use crate::shader::Types;
use crate::slice::Slice;

impl Gpu {
    /// Combines all items into one value, and waits for it: one launch, and no copy of the result.
    ///
    /// # Errors
    /// Those of the device: types or operators it does not know, memory, a lost device.
    pub fn reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Cuda);
        let found = self.reduce_erased(workspace, input.erased(), &problem, options)?;
        value_of(&found, self.id())
    }

    /// The words of memory of the value of all items.
    pub(crate) fn reduce_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let types = self.types(&problem.signature)?;
        self.reduce_words(workspace, input, types, problem.init, options)
    }

    /// Combines items that are made into one value, and waits for it.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::OperatorUntranslated`] for an operator that is neither built in nor an annotated
    /// function, and [`Error::Buffer`] for more than eight arrays or 64 words of parameters.
    pub fn reduce_made<A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<A, A, O>(problem, Language::Cuda);
        value_of(&self.reduce_made_erased(workspace, made, &problem, options)?, self.id())
    }

    fn reduce_made_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Words> {
        made.check(MOST_ARRAYS)?;
        let types = self.types_of_made(made.recipe, &problem.signature)?;
        self.with_inputs(made, &types, |inputs| {
            self.await_reduction(workspace, types.clone(), inputs, problem.init, options)
        })
    }

    /// A reduction of items that are made of those of arrays, into the one item of `result`, ready to be launched as often as
    /// wanted.
    ///
    /// # Errors
    /// As [`reduce_made`](Gpu::reduce_made), [`Error::ResultLength`].
    ///
    /// # Safety
    /// The inputs are those that the recipe has, and their memory is there as long as the recording may run.
    pub unsafe fn bind_reduce_made<A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        (recipe, inputs): (&Recipe, &Inputs<'_>),
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Recording>
    where
        A: Element,
        O: Operator<A>,
    {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        inputs.all().try_for_each(|input| input.check_apart(&result))?;
        let problem = ErasedReduce::of::<A, A, O>(problem, Language::Cuda);
        let types = self.types_of_made(recipe, &problem.signature)?;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
        let (to, init) = (To::Device(result.pointer()), problem.init);
        let words = [inputs.words, &types.values.handed()].concat();
        let inputs = &Inputs { words: &words, ..*inputs };
        let ready = self.ready_reduction(workspace, types, inputs, to, init, options)?;
        Ok(Recording::new(self, Some(ready), Some(Strategy::GpuReduce(strategy))))
    }

    /// The first position of an extreme; `None` if there are no items.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        self.position_erased(workspace, input.erased(), T::DTYPE, extreme, options)
    }

    /// The first position of an extreme among items of this type.
    pub(crate) fn position_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        item: Dtype,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        let types = Types::of_position(item, extreme);
        let found = self.reduce_words(workspace, input, types, None, options)?;
        let position = u64::from(found[0]) | u64::from(found[1]) << 32;
        Ok((position != u64::MAX).then_some(position))
    }

    /// The words of memory of a result.
    fn reduce_words(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let words = types.values.handed();
        self.await_reduction(workspace, types, &Inputs::of(&[input], &words), init, options)
    }

    /// Begins a reduction and waits for the words of memory of its result.
    fn await_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let words = types.result_words();
        let mut mailbox = match workspace.mailbox.take() {
            Some(mailbox) if mailbox.words() == words => mailbox,
            _ => Mailbox::new(self, words)?,
        };
        let (address, message) = mailbox.next();
        let to = To::Mailbox(address, message);
        let stream = self.stream();
        let ready = self.ready_reduction(workspace, types, inputs, to, init, options)?;
        let slices: Vec<&Slice<'_>> = inputs.all().collect();
        self.in_order(stream, &slices, || ready.begin(self, stream))?;
        let found = mailbox.wait(stream)?;
        workspace.mailbox = Some(mailbox);
        self.settle()?;
        Ok(found)
    }

    /// Combines all items into the one item of `result`, in a stream. Does not wait; allocates only what the workspace has
    /// not yet.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn reduce_into<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Cuda);
        self.reduce_into_erased(workspace, stream, input, result, &problem, options)
    }

    /// The same of a problem without Rust's types.
    pub(crate) fn reduce_into_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        let (ready, _) =
            self.ready_result(workspace, types, &input, &result, problem.init, options)?;
        self.in_order(stream, &[&input, &result], || ready.begin(self, stream))
    }

    /// A reduction of `input` into the one item of `result`, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`reduce_into`](Gpu::reduce_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Recording>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Cuda);
        // SAFETY: as promised to this function.
        unsafe { self.bind_reduce_erased(workspace, input, result, &problem, options) }
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`reduce_into`](Gpu::reduce_into).
    ///
    /// # Safety
    /// As of [`bind_reduce`](Gpu::bind_reduce).
    pub unsafe fn bind_reduce_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let types = self.types(&problem.signature)?;
        let (ready, strategy) =
            self.ready_result(workspace, types, &input, &result, problem.init, options)?;
        Ok(Recording::new(self, Some(ready), Some(strategy)))
    }

    /// A reduction of `input` into a value that the host waits for, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    ///
    /// # Safety
    /// The memory of `input` is there as long as the recording may run.
    pub unsafe fn bind_awaited<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Awaited<A>>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Cuda);
        let types = self.types(&problem.signature)?;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
        let mut mailbox = Mailbox::new(self, types.result_words())?;
        let (address, message) = mailbox.next();
        let words = types.values.handed();
        let (arrays, to) = ([input], To::Mailbox(address, message));
        let inputs = Inputs::of(&arrays, &words);
        let ready = self.ready_reduction(workspace, types, &inputs, to, problem.init, options)?;
        Ok(Awaited::new(self, ready, Strategy::GpuReduce(strategy), mailbox))
    }

    /// A search for an extreme's position, ready to be launched as often as wanted. The one item of `result` is a `u64`,
    /// `u64::MAX` if there are no items.
    ///
    /// # Errors
    /// As [`reduce_into`](Gpu::reduce_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let types = Types::of_position(T::DTYPE, extreme);
        let (ready, strategy) =
            self.ready_result(workspace, types, &input, &result, None, options)?;
        Ok(Recording::new(self, Some(ready), Some(strategy)))
    }

    /// The launch of a reduction into the one item of `result`.
    fn ready_result(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        input: &Slice<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<(Ready, Strategy)> {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(result)?;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
        let to = To::Device(result.pointer());
        let (arrays, words) = ([*input], types.values.handed());
        let inputs = Inputs::of(&arrays, &words);
        let ready = self.ready_reduction(workspace, types, &inputs, to, init, options)?;
        Ok((ready, Strategy::GpuReduce(strategy)))
    }

    fn ready_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        to: To,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Ready> {
        if !types.op.is_commutative() {
            return self.ready_in_order(workspace, types, inputs, to, init, options);
        }
        let (reads, items) = (Reads::of(&types, inputs, options), inputs.items);
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(&types, items, reads)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = items.max(workspace.items);
            workspace.reduction = None;
            let made = Reduction::new(self, types, items, reads, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.bind(self, inputs, to, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }

    /// The launches of a reduction whose operator does not commute.
    fn ready_in_order(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        to: To,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Ready> {
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&types));
        if strategy.global != ReduceGlobal::MultiLevel || strategy.local != ReduceLocal::Cooperative
        {
            return Err(Error::NotCommutative {
                strategy: Strategy::GpuReduce(strategy).to_string(),
                operator: types.op.name(),
            });
        }
        let of_scan = GpuScanStrategy {
            load: strategy.load,
            local: ScanLocal::Cooperative,
            global: ScanGlobal::ReduceThenScan,
        };
        let of_scan =
            ScanOptions { strategy: Some(of_scan), policy: options.policy, stalled: None };
        let width = crate::bytes(strategy.load.width);
        let lies = Lies::new(Form::TOTAL, &types, inputs, None, width);
        let items = inputs.items;
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            *of == of_scan && scanning.suits(&types, Form::TOTAL, items, lies)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = items.max(workspace.items);
            workspace.scanning = None;
            let made = Scanning::new(self, types, Form::TOTAL, items, lies, &of_scan)?;
            workspace.scanning = Some((of_scan, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => scanning.bind_total(self, inputs, to, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }
}
