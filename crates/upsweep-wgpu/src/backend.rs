//! The calls of the library: arrays of the host or of the device in, results out.

use upsweep_core::{Dtype, Element, Error, Number, Operator, Reduce, Result, Scan, Widen};
use wgpu::BufferUsages;

use crate::bits::{bytes, bytes_mut, dtype_of, from_words, words};
use crate::device::Gpu;
use crate::record::Recording;
use crate::reduce::{Init, ReduceOptions, Reduction};
use crate::scan::{Form, ScanOptions, Scanning};
use crate::shader::{Extreme, Op, Types};
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

/// Scratch memory of a plan: made by the first call that needs it.
#[derive(Debug, Default)]
pub struct Workspace {
    reduction: Option<(ReduceOptions, Reduction)>,
    scanning: Option<(ScanOptions, Scanning)>,
    result: Option<Mailbox>,
}

/// Where a small result is written by kernels and read by the host: one buffer where the device lets the host map
/// what kernels write, which spares a copy.
#[derive(Debug)]
struct Mailbox {
    device: wgpu::Buffer,
    host: Option<wgpu::Buffer>,
}

impl Mailbox {
    const BYTES: u64 = 16;

    fn new(gpu: &Gpu) -> Result<Self> {
        let kernels = BufferUsages::STORAGE;
        let host = BufferUsages::MAP_READ;
        if gpu.device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            return Ok(Self {
                device: gpu.buffer("result", Self::BYTES, kernels | host)?,
                host: None,
            });
        }
        let device = gpu.buffer("result", Self::BYTES, kernels | BufferUsages::COPY_SRC)?;
        let host = gpu.buffer("result", Self::BYTES, host | BufferUsages::COPY_DST)?;
        Ok(Self { device, host: Some(host) })
    }

    /// Records the copy to the host, if one is needed.
    fn send(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(host) = &self.host {
            encoder.copy_buffer_to_buffer(&self.device, 0, host, 0, Self::BYTES);
        }
    }

    /// The buffer that the host maps.
    fn host(&self) -> &wgpu::Buffer {
        self.host.as_ref().unwrap_or(&self.device)
    }
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
        let number = |dtype: Option<Dtype>, name: &str| {
            dtype.ok_or_else(|| Error::ElementUnsupported {
                device: self.id().to_owned(),
                element: name.to_owned(),
                reason: "it is not a number".to_owned(),
            })
        };
        let op = Op::of(operator)
            .ok_or(Error::OperatorUntranslated { operator: O::NAME, language: "WGSL" })?;
        Ok(Types {
            item: number(dtype_of::<T>(), core::any::type_name::<T>())?,
            acc: number(dtype_of::<A>(), core::any::type_name::<A>())?,
            output: number(dtype_of::<U>(), core::any::type_name::<U>())?,
            op,
            identity: words(operator.identity()).unwrap_or_default(),
            padding: words(operator.padding()).unwrap_or_default(),
        })
    }

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
        let init = problem.init.map(|init| words(init).unwrap_or_default());
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
        let acc = dtype_of::<T::Acc>().unwrap_or(T::DTYPE);
        let types = Types {
            item: T::DTYPE,
            acc,
            output: acc,
            op: Op::First(extreme),
            identity: [0; 2],
            padding: [0; 2],
        };
        let [low, high] = self.reduce_words(workspace, input, types, None, options)?;
        let position = u64::from(low) | u64::from(high) << 32;
        Ok((position != u64::MAX).then_some(position))
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
        let uploaded;
        let input = match input {
            Source::Device(slice) => slice,
            Source::Host(items) => {
                uploaded = self.upload("items", bytes(items).unwrap_or_default())?;
                Slice::new(&uploaded, types.item, 0, items.len() as u64)?
            }
        };
        let bytes = types.result_bytes();
        let mailbox = match workspace.result.take() {
            Some(mailbox) => mailbox,
            None => Mailbox::new(self)?,
        };
        let result = Slice { buffer: &mailbox.device, offset: 0, items: 1 };
        let recording = self.bind_reduction(workspace, types, &input, &result, init, options)?;
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        mailbox.send(&mut encoder);
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u8; 8];
        self.read(mailbox.host(), 0, &mut found)?;
        workspace.result = Some(mailbox);
        let mut words: [u32; 2] = bytemuck::cast(found);
        if bytes < 8 {
            words[1] = 0;
        }
        if bytes < 4 {
            words[0] &= (1 << (8 * bytes)) - 1;
        }
        Ok(words)
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
            let made = Reduction::new(self, types, input.items, input, options)?;
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
    /// As [`reduce`](Gpu::reduce).
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
        let types = self.types::<T, A, A, O>(&problem.operator)?;
        let init = problem.init.map(|init| words(init).unwrap_or_default());
        self.bind_reduction(workspace, types, &input, &result, init, options)
    }

    /// A scan of `input` into `output`, ready to be recorded. The two may be one slice.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan).
    pub fn bind_scan<T, U, O>(
        &self,
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
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let init = problem.init.map(|init| words(init).unwrap_or_default());
        let form = Form::new(problem, input.is(&output));
        self.bind_scanning(workspace, types, form, [&input, &output], init, options)
    }

    /// Writes every prefix of `input` to `output`, which has the same length, and waits for it.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), and [`Error::LengthMismatch`].
    pub fn scan<T, U, O>(
        &self,
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
        self.check(&types)?;
        let uploaded;
        let from = match input {
            Source::Device(slice) => slice,
            Source::Host(items) => {
                uploaded = self.upload("items", bytes(items).unwrap_or_default())?;
                Slice::new(&uploaded, types.item, 0, items.len() as u64)?
            }
        };
        self.scan_to(workspace, Some(from), output, types, problem, options)
    }

    /// Replaces every item by its prefix, and waits for it.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn scan_in_place<T, O>(
        &self,
        workspace: &mut Workspace,
        data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let types = self.types::<T, T::Acc, T, O>(&problem.operator)?;
        self.check(&types)?;
        self.scan_to(workspace, None, data, types, problem, options)
    }

    fn scan_to<U, O>(
        &self,
        workspace: &mut Workspace,
        input: Option<Slice<'_>>,
        output: Target<'_, U>,
        types: Types,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        U: Element,
        O: Operator<U::Acc>,
    {
        let created;
        let (to, host) = match output {
            Target::Device(slice) => (slice, None),
            Target::Host(items) => {
                let data = bytes_mut(items).unwrap_or_default();
                if input.is_none() {
                    created = self.upload("items", data)?;
                } else {
                    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
                    created = self.buffer("items", data.len() as u64, usage)?;
                }
                let items = data.len() as u64 / types.output.size() as u64;
                (Slice::new(&created, types.output, 0, items)?, Some(data))
            }
        };
        let from = input.unwrap_or(to);
        if from.items != to.items {
            let count = |items| usize::try_from(items).unwrap_or(usize::MAX);
            return Err(Error::LengthMismatch {
                input: count(from.items),
                output: count(to.items),
            });
        }
        if from.items == 0 {
            return Ok(());
        }
        let form = Form::new(problem, input.is_none());
        let init = problem.init.map(|init| words(init).unwrap_or_default());
        let recording = self.bind_scanning(workspace, types, form, [&from, &to], init, options)?;
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("a scan that was just made is gone"));
        };
        let (state, at) = scanning.fault();
        let mut fault = [0; 4];
        self.download(state, at, &mut fault)?;
        if fault != [0; 4] {
            self.write(state, at, &[0; 4])?;
            return Err(
                self.failed("a workgroup waited too long for another; use another strategy")
            );
        }
        if let Some(data) = host {
            self.download(to.buffer, to.offset, data)?;
        }
        Ok(())
    }

    fn bind_scanning(
        &self,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        [input, output]: [&Slice<'_>; 2],
        init: Init,
        options: &ScanOptions,
    ) -> Result<Recording> {
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(self, &types, form, input, output)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let made = Scanning::new(self, types, form, input, output, options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => scanning.bind(self, input, output, init),
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Copies items of the device to the host, and waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ElementUnsupported`] for anything but numbers, and those of the device.
    pub fn read_back<T: Element>(&self, from: Slice<'_>, to: &mut [T]) -> Result<()> {
        if from.items != to.len() as u64 {
            let input = usize::try_from(from.items).unwrap_or(usize::MAX);
            return Err(Error::LengthMismatch { input, output: to.len() });
        }
        let to = bytes_mut(to).ok_or_else(|| Error::ElementUnsupported {
            device: self.id().to_owned(),
            element: core::any::type_name::<T>().to_owned(),
            reason: "it is not a number".to_owned(),
        })?;
        self.download(from.buffer, from.offset, to)
    }
}
