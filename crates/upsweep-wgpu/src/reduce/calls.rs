//! The calls of reductions.

use upsweep_core::{Element, Error, Extreme, Number, Operator, Reduce, Result, Widen};
use upsweep_gpu::bits::{dtype_of, from_words};

use super::{Init, ReduceOptions, Reduction};
use crate::backend::{Source, Workspace, init_words};
use crate::device::Gpu;
use crate::faults::FAULT;
use crate::mailbox::Mailbox;
use crate::record::Recording;
use crate::shader::{Op, Types};
use crate::slice::Slice;

/// What a recording of a reduction was made for.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    buffer: wgpu::Buffer,
    offset: u64,
    items: u64,
    types: Types,
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
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = init_words(problem.init);
        let found = self.reduce_words(workspace, input, types, init, options)?;
        from_words(found).ok_or_else(|| self.failed("a result of an unknown type"))
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
        let types = Self::position_types::<T>(extreme);
        let [low, high] = self.reduce_words(workspace, input, types, None, options)?;
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
        let types = Self::position_types::<T>(extreme);
        let bound = self.bind_reduction(workspace, types, &input, &result, None, options)?;
        self.keep(bound)
    }

    fn position_types<T: Number>(extreme: Extreme) -> Types {
        let acc = dtype_of::<T::Acc>().unwrap_or(T::DTYPE);
        let (identity, padding) = ([0; 2], [0; 2]);
        Types { item: T::DTYPE, acc, output: acc, op: Op::First(extreme), identity, padding }
    }

    fn reduce_words<T: Element>(
        &self,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<[u32; 2]> {
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let bytes = types.result_bytes();
        let asked = Asked {
            buffer: input.buffer.clone(),
            offset: input.offset,
            items: input.items,
            types: types.clone(),
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
            _ => self.bind_reduction(workspace, types, &input, &result, init, options)?,
        };
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        mailbox.send(&mut encoder, recording.state.as_ref());
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u8; 16];
        self.read(mailbox.host(), 0, &mut found)?;
        workspace.result = Some(mailbox);
        self.settle()?;
        let [low, high, fault, _]: [u32; 4] = bytemuck::cast(found);
        if let Some(state) = recording.state.as_ref().filter(|_| fault != 0) {
            self.write(state, FAULT, &[0; 4])?;
            return Err(self.waited_in_vain());
        }
        // What was uploaded is not kept for the sake of a recording.
        if uploaded.is_none() {
            workspace.last = Some((asked, recording));
        }
        let mut words = [low, high];
        if bytes < 8 {
            words[1] = 0;
        }
        if bytes < 4 {
            words[0] &= (1 << (8 * bytes)) - 1;
        }
        Ok(words)
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
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        self.check(&types)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let recording = self.bind_reduce::<T, A, O>(workspace, input, result, problem, options)?;
        self.submit(&recording)
    }

    fn bind_reduction(
        &self,
        workspace: &mut Workspace,
        types: Types,
        input: &Slice<'_>,
        result: &Slice<'_>,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<Recording> {
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(self, &types, input)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            let made = Reduction::new(self, types, items, input, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.bind(self, input, result, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
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
        let bound = self.one_reduction::<T, A, O>(workspace, input, result, problem, options)?;
        self.keep(bound)
    }

    fn one_reduction<T, A, O>(
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
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = init_words(problem.init);
        self.bind_reduction(workspace, types, &input, &result, init, options)
    }
}
