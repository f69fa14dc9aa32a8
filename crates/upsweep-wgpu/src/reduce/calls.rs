//! The calls of reductions.

use upsweep_core::{
    Dtype, Element, Error, Extreme, Kind, Language, Number, Operator, Reduce, Result, Strategy,
    Widen,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedReduce, OperatorValues, value_of};

use super::{Init, ReduceOptions, Reduction, lies, of_scan, policy};
use crate::backend::{ErasedSource, Ingredients, Inputs, Source, Workspace};
use crate::device::Gpu;
use crate::faults::FAULT;
use crate::mailbox::Mailbox;
use crate::record::Recording;
use crate::scan::{Form, ScanOptions};
use crate::shader::made::MOST_ARRAYS;
use crate::shader::{Op, Types};
use crate::slice::Slice;

/// What a recording of a reduction was made for.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    buffer: wgpu::Buffer,
    offset: u64,
    items: u64,
    types: Types,
    words: Vec<u32>,
    init: Init,
    options: ReduceOptions,
}

impl Gpu {
    /// Combines all items into one value, and waits for it.
    ///
    /// # Errors
    /// Those of the device: types or operators it does not know, memory, a lost device.
    pub fn reduce<T, A, O>(
        &self,
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
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Wgsl);
        let found = self.reduce_erased(workspace, input.erased(), &problem, options)?;
        value_of(&found, self.id())
    }

    /// The words of memory of the value of all items.
    pub(crate) fn reduce_erased(
        &self,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Words> {
        let types = self.types(&problem.signature)?;
        self.reduce_words(workspace, input, types, problem.init, options)
    }

    /// The first position of an extreme; `None` if there are no items.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn position<T: Number>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        self.position_erased(workspace, input.erased(), T::DTYPE, extreme, options)
    }

    /// The first position of an extreme among items of this type.
    pub(crate) fn position_erased(
        &self,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        item: Dtype,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        let types = Self::position_types(item, extreme);
        let [low, high, ..] = self.reduce_words(workspace, input, types, None, options)?;
        let position = u64::from(low) | u64::from(high) << 32;
        Ok((position != u64::MAX).then_some(position))
    }

    /// A search for an extreme's position, ready to be recorded. The one item of `result` is a `u64`, `u64::MAX` if
    /// there are no items.
    ///
    /// # Errors
    /// As [`bind_reduce`](Gpu::bind_reduce).
    pub fn bind_position<T: Number>(
        &self,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = Self::position_types(T::DTYPE, extreme);
        let bound = self.bind_reduction(
            workspace,
            types,
            &Inputs::of(&[input], &[]),
            &result,
            None,
            options,
        )?;
        self.keep(bound)
    }

    fn position_types(item: Dtype, extreme: Extreme) -> Types {
        let acc = Kind::Number(match item {
            Dtype::F16 | Dtype::Bf16 => Dtype::F32,
            item => item,
        });
        let (op, values) = (Op::First(extreme), OperatorValues::none(acc));
        Types { item: item.into(), acc, output: acc, op, values, made: None, cut: None, packed: 1 }
    }

    /// The words of memory of a result.
    fn reduce_words(
        &self,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Words> {
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let asked = Asked {
            buffer: input.buffer.clone(),
            offset: input.offset,
            items: input.items,
            types: types.clone(),
            words: types.values.handed(),
            init,
            options: *options,
        };
        let mailbox = match workspace.result.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let result = Slice { buffer: &mailbox.device, offset: 0, items: 1 };
        // Making parameters and bindings anew takes the host longer than a small reduction takes the device.
        let recording = match workspace.last.take() {
            Some((last, recording)) if last == asked => recording,
            _ => self.bind_reduction(
                workspace,
                types,
                &Inputs::of(&[input], &asked.words),
                &result,
                init,
                options,
            )?,
        };
        let found = self.await_result(&mailbox, &recording)?;
        workspace.result = Some(mailbox);
        // What was uploaded is not kept for the sake of a recording.
        if uploaded.is_none() {
            workspace.last = Some((asked, recording));
        }
        Ok(found)
    }

    /// Runs a reduction into a mailbox, and waits for the words of memory of its result.
    fn await_result(&self, mailbox: &Mailbox, recording: &Recording) -> Result<Words> {
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        mailbox.send(&mut encoder, recording.state.as_ref());
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u8; Mailbox::BYTES as usize];
        self.read(mailbox.host(), 0, &mut found)?;
        self.settle()?;
        let (found, fault) = found.split_at(Mailbox::FAULT as usize);
        let failed = fault.iter().any(|&byte| byte != 0);
        if let Some(state) = recording.state.as_ref().filter(|_| failed) {
            self.write(state, FAULT, &[0; 4])?;
            return Err(self.waited_in_vain());
        }
        Ok(bytemuck::pod_read_unaligned(found))
    }

    /// Combines items that are made into one value, and waits for it.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::OperatorUntranslated`] for an operator that is neither built in nor an annotated
    /// function, and [`Error::Buffer`] for more than four arrays, for more than 64 words of parameters, and for an array that is
    /// read anywhere and longer than a binding.
    pub fn reduce_made<A, O>(
        &self,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<A, A, O>(problem, Language::Wgsl);
        value_of(&self.reduce_made_erased(workspace, made, &problem, options)?, self.id())
    }

    fn reduce_made_erased(
        &self,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Words> {
        made.check(MOST_ARRAYS)?;
        let types = self.types_of_made(made.recipe, &problem.signature)?;
        let mailbox = match workspace.result.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let result = Slice { buffer: &mailbox.device, offset: 0, items: 1 };
        let init = problem.init;
        let found = self.with_inputs(made, &types, |inputs| {
            let types = types.clone();
            let recording =
                self.bind_reduction(workspace, types, inputs, &result, init, options)?;
            self.await_result(&mailbox, &recording)
        })?;
        workspace.result = Some(mailbox);
        Ok(found)
    }

    /// Combines all items into the one item of `result`. Does not wait.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn reduce_into<T, A, O>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        result: Slice<'_>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Wgsl);
        self.reduce_into_erased(workspace, input.erased(), result, &problem, options)
    }

    /// Combines all items into the one item of `result`. Does not wait.
    pub(crate) fn reduce_into_erased(
        &self,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        result: Slice<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let recording = self.bind_reduce_erased(workspace, input, result, problem, options)?;
        self.submit(&recording)
    }

    fn bind_reduction(
        &self,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        if !types.op.is_commutative() {
            return self.bind_in_order(workspace, types, inputs, result, init, options);
        }
        let bytes = inputs.items * types.item.size() as u64;
        let by_itself = || policy::strategy(&self.facts, &types, bytes);
        let strategy = options.strategy.unwrap_or_else(by_itself);
        let lies = lies(self, &types, inputs, super::bytes(strategy.load.width));
        let items = inputs.items;
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(&types, items, lies)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = items.max(workspace.items);
            let made = Reduction::new(self, types, items, lies, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.bind(self, inputs, result, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }

    /// A reduction whose operator does not commute.
    fn bind_in_order(
        &self,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let bytes = inputs.items * types.item.size() as u64;
        let by_itself = || policy::strategy(&self.facts, &types, bytes);
        let strategy = options.strategy.unwrap_or_else(by_itself);
        let of_scan = of_scan(&strategy).ok_or_else(|| Error::NotCommutative {
            strategy: Strategy::GpuReduce(strategy).to_string(),
            operator: types.op.name(),
        })?;
        let of_scan =
            ScanOptions { strategy: Some(of_scan), policy: options.policy, stalled: None };
        let arrays = (inputs, result);
        self.bind_scanning(workspace, types, Form::TOTAL, arrays, None, init, &of_scan)
    }

    /// A reduction of `input` into the one item of `result`, ready to be recorded.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), [`Error::ResultLength`].
    pub fn bind_reduce<T, A, O>(
        &self,
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
        let problem = ErasedReduce::of::<T, A, O>(problem, Language::Wgsl);
        self.bind_reduce_erased(workspace, input, result, &problem, options)
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`bind_reduce`](Gpu::bind_reduce).
    pub fn bind_reduce_erased(
        &self,
        workspace: &mut Workspace,
        input: Slice<'_>,
        result: Slice<'_>,
        problem: &ErasedReduce,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = self.types(&problem.signature)?;
        let (arrays, words) = ([input], types.values.handed());
        let inputs = Inputs::of(&arrays, &words);
        let bound =
            self.bind_reduction(workspace, types, &inputs, &result, problem.init, options)?;
        self.keep(bound)
    }
}
