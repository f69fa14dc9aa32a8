//! The calls of the library: arrays of the host or of the device in, results out.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use upsweep_core::summation::WINDOW;
use upsweep_core::{Dtype, Element, Error, Extreme, Number, Operator, Reduce, Result, Scan, Widen};

use crate::bits::{bytes, bytes_mut, from_words, words};
use crate::device::Gpu;
use crate::mailbox::Mailbox;
use crate::memory::Buffer;
use crate::reduce::{Init, ReduceOptions, Reduction, To};
use crate::scan::{Form, ScanOptions, Scanning};
use crate::shader::{FAULT, Types};
use crate::slice::Slice;

/// Items to read.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a, T> {
    /// In the host's memory: copied to the device.
    Host(&'a [T]),
    /// In the device's memory.
    Device(Slice<'a>),
}

/// Items to write, or to read and overwrite.
#[derive(Debug)]
pub enum Target<'a, T> {
    /// In the host's memory: copied there from the device.
    Host(&'a mut [T]),
    /// In the device's memory.
    Device(Slice<'a>),
}

/// Scratch memory of a plan: made by the first call that needs it. One call at a time may use it, in one stream after
/// another.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Items that it is made for; more are fine, and make it anew.
    items: u64,
    reduction: Option<(ReduceOptions, Reduction)>,
    scanning: Option<(ScanOptions, Scanning)>,
    mailbox: Option<Mailbox>,
}

impl Workspace {
    /// Scratch memory for calls with at most `items` items.
    pub fn for_items(items: u64) -> Self {
        Self { items, ..Self::default() }
    }

    /// Looks whether a workgroup has waited in vain for another since this was last asked, in any call with this workspace.
    /// Waits for the device.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if so; what was written then is not to be trusted.
    pub fn check(&self, gpu: &Gpu) -> Result<()> {
        let states = [
            self.reduction.as_ref().map(|(_, reduction)| &reduction.state),
            self.scanning.as_ref().map(|(_, scanning)| &scanning.state),
        ];
        gpu.quiet()?;
        for state in states.into_iter().flatten() {
            let mut fault = [0u8; 4];
            // SAFETY: the state has this word.
            unsafe { gpu.copy_out(state.pointer() + FAULT, &mut fault) }?;
            if fault != [0; 4] {
                state.write(FAULT, &[0; 4])?;
                return Err(gpu.failed("a workgroup waited too long for another"));
            }
        }
        Ok(())
    }
}

/// The bits of a start value.
fn init_words<A: Element>(init: Option<A>) -> Init {
    init.map(|init| words(init).unwrap_or_default())
}

impl Gpu {
    /// The types of a kernel.
    fn types<T, A, U, O>(&self, operator: &O) -> Result<Types>
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        self.number::<T>()?;
        self.number::<A>()?;
        self.number::<U>()?;
        Types::of::<T, A, U, O>(operator)
            .ok_or(Error::OperatorUntranslated { operator: O::NAME, language: "CUDA C++" })
    }

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
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = init_words(problem.init);
        let found = self.reduce_bits(workspace, input, types, init, options)?;
        from_words([found as u32, (found >> 32) as u32])
            .ok_or_else(|| self.failed("a result of an unknown type"))
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
        let types = Types::of_position(T::DTYPE, extreme);
        let position = self.reduce_bits(workspace, input, types, None, options)?;
        Ok((position != u64::MAX).then_some(position))
    }

    fn reduce_bits<T: Element>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        types: Types,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<u64> {
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let mut mailbox = match workspace.mailbox.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let (address, message) = mailbox.next();
        let to = To::Mailbox(address, message);
        let stream = Arc::clone(self.stream());
        self.launch_reduction(workspace, &stream, types, &input, to, init, options)?;
        let [found, fault, ..] = mailbox.wait(&stream)?;
        workspace.mailbox = Some(mailbox);
        if fault != 0 {
            workspace.check(self)?;
        }
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
        if result.items != 1 {
            return Err(Error::ResultLength { items: result.len() });
        }
        input.check_apart(&result)?;
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let (to, init) = (To::Device(result.pointer()), init_words(problem.init));
        self.launch_reduction(workspace, stream, types, &input, to, init, options)
    }

    #[expect(clippy::too_many_arguments, reason = "each is another thing")]
    fn launch_reduction(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        stream: &CudaStream,
        types: Types,
        input: &Slice<'_>,
        to: To,
        init: Init,
        options: &ReduceOptions,
    ) -> Result<()> {
        let suits = |(of, reduction): &(ReduceOptions, Reduction)| {
            of == options && reduction.suits(&types, input, options)
        };
        if !workspace.reduction.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            workspace.reduction = None;
            let made = Reduction::new(self, types, items, input, options)?;
            workspace.reduction = Some((*options, made));
        }
        match &workspace.reduction {
            Some((_, reduction)) => reduction.launch(self, stream, input, to, init),
            None => Err(self.failed("a reduction that was just made is gone")),
        }
    }

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
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let in_place = input.is(&output) && types.item == types.output;
        if !in_place {
            input.check_apart(&output)?;
        }
        if input.items == 0 {
            return Ok(());
        }
        let form = Form::new(problem);
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(&types, form, &input, &output)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = input.items.max(workspace.items);
            workspace.scanning = None;
            let made = Scanning::new(self, types, form, items, [&input, &output], options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => {
                scanning.launch(self, stream, &input, &output, init_words(problem.init))
            }
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Writes every prefix of `input` to `output`, which has the same length. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let mut uploaded = None;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let stream = Arc::clone(self.stream());
        match output {
            Target::Device(output) => {
                self.scan_into::<T, U, O>(workspace, &stream, [input, output], problem, options)
            }
            Target::Host(items) => {
                let data = bytes_mut(items).unwrap_or_default();
                let made = Buffer::new(self, data.len() as u64)?;
                let count = data.len() as u64 / types.output.size() as u64;
                let output = Slice::at(made.pointer(), types.output, count)?;
                self.scan_into::<T, U, O>(workspace, &stream, [input, output], problem, options)?;
                workspace.check(self)?;
                // SAFETY: the memory is ours, and has as many bytes.
                unsafe { self.copy_out(made.pointer(), data) }
            }
        }
    }

    /// What comes in behind the last scan of this workspace, which was one of `items` items in the device's own stream: the
    /// start value of a scan of what follows. Waits for it.
    ///
    /// # Errors
    /// [`Error::ChunkLength`] unless the items were whole windows, and those of the device.
    pub fn carry<A: Element>(&self, workspace: &Workspace, items: u64) -> Result<A> {
        if !items.is_multiple_of(WINDOW as u64) {
            let items = usize::try_from(items).unwrap_or(usize::MAX);
            return Err(Error::ChunkLength { items, multiple: WINDOW });
        }
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("there was no scan that something comes in behind"));
        };
        workspace.check(self)?;
        let bits = scanning.carry(self)?;
        from_words([bits as u32, (bits >> 32) as u32])
            .ok_or_else(|| self.failed("a carry of an unknown type"))
    }

    /// Replaces every item by its prefix. Waits for data in the host's memory only.
    ///
    /// # Errors
    /// As [`scan_into`](Gpu::scan_into).
    pub fn scan_in_place<T, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let stream = Arc::clone(self.stream());
        match data {
            Target::Device(data) => {
                self.scan_into::<T, T, O>(workspace, &stream, [data, data], problem, options)
            }
            Target::Host(items) => {
                let dtype = self.number::<T>()?;
                let bytes = bytes_mut(items).unwrap_or_default();
                let made = Buffer::new(self, bytes.len() as u64)?;
                made.write(0, bytes)?;
                let data =
                    Slice::at(made.pointer(), dtype, bytes.len() as u64 / dtype.size() as u64)?;
                self.scan_into::<T, T, O>(workspace, &stream, [data, data], problem, options)?;
                workspace.check(self)?;
                // SAFETY: the memory is ours, and has as many bytes.
                unsafe { self.copy_out(made.pointer(), bytes) }
            }
        }
    }

    /// The items in the device's memory; `uploaded` keeps those that were brought there.
    fn on_device<'a, T: Element>(
        self: &Arc<Self>,
        input: Source<'a, T>,
        dtype: Dtype,
        uploaded: &'a mut Option<Buffer>,
    ) -> Result<Slice<'a>> {
        match input {
            Source::Device(slice) if slice.dtype() == dtype => Ok(slice),
            Source::Device(slice) => Err(Error::Buffer {
                reason: format!("a slice of {} is not one of {dtype}", slice.dtype()),
            }),
            Source::Host(items) => {
                let data = bytes(items).unwrap_or_default();
                let buffer = Buffer::new(self, data.len() as u64)?;
                buffer.write(0, data)?;
                Slice::at(uploaded.insert(buffer).pointer(), dtype, items.len() as u64)
            }
        }
    }
}
