//! The calls of scans.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Direction, Element, Error, GpuScanStrategy, Language, Operator, Result, Scan, Strategy, Widen,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedScan, packed_begin, value_of};

use super::{Form, Lies, ScanOptions, Scanning, policy};
use crate::backend::{
    ErasedSource, ErasedTarget, Ingredients, Inputs, MOST_ARRAYS, Source, Target, Workspace,
};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::memory::Buffer;
use crate::record::Recording;
use crate::reduce::Init;
use crate::shader::Types;
use crate::slice::Slice;

impl Gpu {
    /// Writes every prefix of `input` to `output`, which has the same length; the two may be one slice. In a stream: does not
    /// wait, and allocates only what the workspace has not yet.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), and [`Error::LengthMismatch`].
    pub fn scan_into<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        [input, output]: [Slice<'_>; 2],
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
        let types = self.types(&problem.signature)?;
        let (form, init) = (Form::new(&problem), problem.init);
        self.scan_slices(workspace, stream, types, [input, output], form, init, options)
    }

    /// A scan from one array to another, or in place, in a stream.
    #[expect(clippy::too_many_arguments, reason = "what a launch consists of")]
    fn scan_slices(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        types: Types,
        [input, output]: [Slice<'_>; 2],
        form: Form,
        init: Init,
        options: &ScanOptions,
    ) -> Result<()> {
        let ready = self.ready_scan(workspace, types, [&input, &output], form, init, options)?;
        let Some(ready) = ready else { return Ok(()) };
        let in_place = [&output];
        let arrays = [&input, &output];
        let arrays = if input.is(&output) { &in_place[..] } else { &arrays };
        self.in_order(stream, arrays, || ready.begin(self, stream))
    }

    /// A scan of `input` into `output`, ready to be launched as often as wanted. The two may be one slice.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    ///
    /// # Safety
    /// The memory of both is there as long as the recording may run.
    pub unsafe fn bind_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        output: Slice<'_>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
        // SAFETY: as promised to this function.
        unsafe { self.bind_scan_erased(workspace, input, output, &problem, options) }
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    ///
    /// # Safety
    /// As of [`bind_scan`](Gpu::bind_scan).
    pub unsafe fn bind_scan_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Slice<'_>,
        output: Slice<'_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<Recording> {
        let types = self.types(&problem.signature)?;
        let strategy =
            options.strategy.unwrap_or_else(|| policy::of_types(self.facts.arch, &types));
        let (form, init) = (Form::new(problem), problem.init);
        let ready = self.ready_scan(workspace, types, [&input, &output], form, init, options)?;
        Ok(Recording::new(self, ready, Some(Strategy::GpuScan(strategy))))
    }

    /// The launch of a scan; `None` if there is nothing to do.
    fn ready_scan(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        [input, output]: [&Slice<'_>; 2],
        form: Form,
        init: Init,
        options: &ScanOptions,
    ) -> Result<Option<Ready>> {
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let in_place = input.is(output) && types.item == types.output;
        if !in_place {
            input.check_apart(output)?;
        }
        if input.items == 0 {
            return Ok(None);
        }
        let (arrays, words) = ([*input], types.values.handed());
        let inputs = Inputs::of(&arrays, &words);
        self.ready_with(workspace, types, form, &inputs, output, &[], init, options).map(Some)
    }

    /// The launch of a scan of arrays, with what its kernels have `beside` them.
    #[expect(clippy::too_many_arguments, reason = "what a launch consists of")]
    pub(crate) fn ready_with(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        inputs: &Inputs<'_>,
        output: &Slice<'_>,
        beside: &[u64],
        init: Init,
        options: &ScanOptions,
    ) -> Result<Ready> {
        let items = inputs.items;
        let strategy =
            options.strategy.unwrap_or_else(|| policy::of_types(self.facts.arch, &types));
        let options = &ScanOptions { strategy: Some(strategy), ..*options };
        let width = crate::bytes(strategy.load.width);
        let words;
        let (types, inputs, output) =
            match packed(self.facts.arch, &types, form, inputs, output, strategy) {
                Some((types, arrays)) => {
                    words = arrays;
                    (types, &Inputs { arrays: &words[..1], ..*inputs }, &words[1])
                }
                None => (types, inputs, output),
            };
        let lies = Lies::new(form, &types, inputs, Some(output), width);
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(&types, form, items, lies)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = items.max(workspace.items);
            workspace.scanning = None;
            let made = Scanning::new(self, types, form, items, lies, options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => scanning.bind(self, inputs, output, beside, init),
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Writes every prefix of items that are made, or what is made of it, to `output`. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into) and [`reduce_made`](Gpu::reduce_made).
    pub fn scan_made<A, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        mut output: Target<'_, U>,
        problem: &Scan<A, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        let problem = ErasedScan::of::<A, A, U, O>(problem, Language::Cuda);
        self.scan_made_erased(workspace, made, output.erased(), &problem, options)
    }

    fn scan_made_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        output: ErasedTarget<'_, '_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<()> {
        made.check(MOST_ARRAYS)?;
        let types = self.types_of_made(made.recipe, &problem.signature)?;
        if output.is_empty() {
            return Ok(());
        }
        let items = made.items;
        let (form, init) = (Form::new(problem), problem.init);
        self.with_inputs(made, &types, |inputs| {
            let mut scan = |to: Slice<'_>| {
                let types = types.clone();
                inputs.all().try_for_each(|input| input.check_apart(&to))?;
                let ready =
                    self.ready_with(workspace, types, form, inputs, &to, &[], init, options)?;
                let slices: Vec<&Slice<'_>> = inputs.all().chain([&to]).collect();
                self.in_order(self.stream(), &slices, || ready.begin(self, self.stream()))
            };
            match output {
                ErasedTarget::Device(output) => scan(output),
                ErasedTarget::Host(to, range) => {
                    let made = Buffer::new(self, items * types.output.size() as u64)?;
                    scan(Slice::at(made.pointer(), types.output, items)?)?;
                    // SAFETY: the memory is ours, and has as many bytes.
                    to.fill(range, &mut |data| unsafe { self.copy_out(made.pointer(), data) })
                }
            }
        })
    }

    /// Writes every prefix of `input` to `output`, which has the same length. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        mut output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
        let (input, output) = (Some(input.erased()), output.erased());
        self.scan_erased(workspace, input, output, &problem, options)
    }

    /// A scan in place if there is no input.
    pub(crate) fn scan_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Option<ErasedSource<'_>>,
        output: ErasedTarget<'_, '_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        let (form, init) = (Form::new(problem), problem.init);
        let mut uploaded = None;
        let input = match input {
            Some(input) => Some(self.on_device(input, types.item, &mut uploaded)?),
            None => None,
        };
        let kind = types.output;
        let scan = |to: Slice<'_>| {
            let arrays = [input.unwrap_or(to), to];
            self.scan_slices(workspace, self.stream(), types, arrays, form, init, options)
        };
        match output {
            ErasedTarget::Device(output) => scan(output),
            ErasedTarget::Host(items, range) => {
                let count = range.len() as u64;
                let made = Buffer::new(self, count * kind.size() as u64)?;
                if input.is_none() {
                    made.write(0, &items.bytes(range.clone()))?;
                }
                scan(Slice::at(made.pointer(), kind, count)?)?;
                // SAFETY: the memory is ours, and has as many bytes.
                items.fill(range, &mut |data| unsafe { self.copy_out(made.pointer(), data) })
            }
        }
    }

    /// What comes in behind the last scan of this workspace, which was one of `items` items in the device's
    /// own stream: the start value of a scan of what follows. Waits for it.
    ///
    /// # Errors
    /// [`Error::ChunkLength`] unless the items were whole windows, and those of the device.
    pub fn carry<A: Element>(&self, workspace: &Workspace, items: u64) -> Result<A> {
        value_of(&self.carry_words(workspace, items)?, self.id())
    }

    /// The same as words of memory.
    pub(crate) fn carry_words(&self, workspace: &Workspace, items: u64) -> Result<Words> {
        if !items.is_multiple_of(WINDOW as u64) {
            let items = usize::try_from(items).unwrap_or(usize::MAX);
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("there was no scan that something comes in behind"));
        };
        scanning.carry(self)
    }

    /// Replaces every item by its prefix. Waits for data in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan_in_place<T, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        mut data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let problem = ErasedScan::of::<T, T::Acc, T, O>(problem, Language::Cuda);
        self.scan_erased(workspace, None, data.erased(), &problem, options)
    }
}

/// Types and arrays of the same scan over words of several items, where it is one.
fn packed<'a>(
    arch: u32,
    types: &Types,
    form: Form,
    inputs: &Inputs<'a>,
    output: &Slice<'a>,
    strategy: GpuScanStrategy,
) -> Option<(Types, [Slice<'a>; 2])> {
    let [input] = inputs.arrays else { return None };
    let is_plain = policy::serves(arch, strategy) && !form.only_total;
    let types = types.packed().filter(|_| is_plain)?;
    let from_end = form.direction == Direction::Reverse;
    let words = |slice: &Slice<'a>| {
        let begin = packed_begin(slice.pointer(), slice.bytes(), from_end)?;
        Slice::at(begin, types.item, slice.items.div_ceil(types.packed.into())).ok()
    };
    let arrays = [words(input)?, words(output)?];
    Some((types, arrays))
}
