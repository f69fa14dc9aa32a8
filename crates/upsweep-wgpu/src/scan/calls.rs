//! The calls of scans.

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Direction, Element, Error, GpuScanStrategy, Language, Operator, Result, Scan, Widen,
};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedScan, WORD, packed_begin};
use wgpu::BufferUsages;

use super::{Form, Lies, ScanOptions, Scanning, policy};
use crate::backend::{ErasedSource, ErasedTarget, Ingredients, Inputs, Source, Target, Workspace};
use crate::device::Gpu;
use crate::record::Recording;
use crate::reduce::{Init, bytes as bytes_of};
use crate::segmented::Beside;
use crate::shader::Types;
use crate::shader::made::MOST_ARRAYS;
use crate::slice::Slice;

impl Gpu {
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
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Wgsl);
        self.bind_scan_erased(workspace, input, output, &problem, options)
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan).
    pub fn bind_scan_erased(
        &self,
        workspace: &mut Workspace,
        input: Slice<'_>,
        output: Slice<'_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<Recording> {
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let types = self.types(&problem.signature)?;
        let (form, init) = (Form::new(problem, input.is(&output)), problem.init);
        let (arrays, words) = ([input], types.values.handed());
        let arrays = (&Inputs::of(&arrays, &words), &output);
        let bound = self.bind_scanning(workspace, types, form, arrays, None, init, options)?;
        self.keep(bound)
    }

    /// Writes every prefix of `input` to `output`, which has the same length. Waits for an output in the host's
    /// memory only.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce), and [`Error::LengthMismatch`].
    pub fn scan<T, U, O>(
        &self,
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
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Wgsl);
        let (input, output) = (Some(input.erased()), output.erased());
        self.scan_erased(workspace, input, output, &problem, options)
    }

    /// Replaces every item by its prefix. Waits for data in the host's memory only.
    ///
    /// # Errors
    /// As [`reduce`](Gpu::reduce).
    pub fn scan_in_place<T, O>(
        &self,
        workspace: &mut Workspace,
        mut data: Target<'_, T>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let problem = ErasedScan::of::<T, T::Acc, T, O>(problem, Language::Wgsl);
        self.scan_erased(workspace, None, data.erased(), &problem, options)
    }

    /// A scan in place if there is no input.
    pub(crate) fn scan_erased(
        &self,
        workspace: &mut Workspace,
        input: Option<ErasedSource<'_>>,
        output: ErasedTarget<'_, '_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        self.check(&types)?;
        let (form, init) = (Form::new(problem, false), problem.init);
        let mut uploaded = None;
        let input = match input {
            Some(input) => Some(self.on_device(input, types.item, &mut uploaded)?),
            None => None,
        };
        match output {
            ErasedTarget::Device(to) => {
                let arrays = [input.unwrap_or(to), to];
                self.scan_slices(workspace, types, arrays, form, init, options)
            }
            ErasedTarget::Host(items, range) => {
                let count = range.len() as u64;
                let created = if input.is_none() {
                    self.upload("items", &items.bytes(range.clone()))?
                } else {
                    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
                    self.buffer("items", count * types.output.size() as u64, usage)?
                };
                let to = Slice::new(&created, types.output, 0, count)?;
                let arrays = [input.unwrap_or(to), to];
                self.scan_slices(workspace, types, arrays, form, init, options)?;
                if range.is_empty() {
                    return Ok(());
                }
                self.wait()?;
                items.fill(range, &mut |data| self.download(to.buffer, to.offset, data))
            }
        }
    }

    /// Submits a scan from one array to another, or in place.
    fn scan_slices(
        &self,
        workspace: &mut Workspace,
        types: Types,
        [from, to]: [Slice<'_>; 2],
        form: Form,
        init: Init,
        options: &ScanOptions,
    ) -> Result<()> {
        if from.items != to.items {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        if from.items == 0 {
            return Ok(());
        }
        let form = Form { in_place: from.is(&to), ..form };
        let (arrays, words) = ([from], types.values.handed());
        let arrays = (&Inputs::of(&arrays, &words), &to);
        let recording = self.bind_scanning(workspace, types, form, arrays, None, init, options)?;
        self.submit(&recording)
    }

    /// Writes every prefix of items that are made, or what is made of it, to `output`. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan) and [`reduce_made`](Gpu::reduce_made).
    pub fn scan_made<A, U, O>(
        &self,
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
        let problem = ErasedScan::of::<A, A, U, O>(problem, Language::Wgsl);
        self.scan_made_erased(workspace, made, output.erased(), &problem, options)
    }

    fn scan_made_erased(
        &self,
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
        let (form, init) = (Form::new(problem, false), problem.init);
        let created;
        let (to, host) = match output {
            ErasedTarget::Device(slice) => (slice, None),
            ErasedTarget::Host(host, range) => {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
                created = self.buffer("items", items * types.output.size() as u64, usage)?;
                (Slice::new(&created, types.output, 0, items)?, Some((host, range)))
            }
        };
        self.with_inputs(made, &types, |inputs| {
            let (types, arrays) = (types.clone(), (inputs, &to));
            let bound = self.bind_scanning(workspace, types, form, arrays, None, init, options)?;
            self.submit(&bound)
        })?;
        let Some((host, range)) = host else { return Ok(()) };
        self.wait()?;
        host.fill(range, &mut |data| self.download(to.buffer, to.offset, data))
    }

    /// The words of memory of what comes behind the last scan of this workspace, which was one of `items` items: whole windows. Waits.
    pub(crate) fn carry(&self, workspace: &Workspace, items: u64) -> Result<Words> {
        let Some((_, scanning)) = &workspace.scanning else {
            return Err(self.failed("a scan that was just made is gone"));
        };
        let found = scanning.carry(self, items)?;
        self.wait()?;
        Ok(found)
    }

    /// A scan of arrays, with what kernels of segments have beside them, ready to be recorded.
    #[expect(clippy::too_many_arguments, reason = "what a recording consists of")]
    pub(crate) fn bind_scanning(
        &self,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        (inputs, output): (&Inputs<'_>, &Slice<'_>),
        beside: Option<&Beside<'_>>,
        init: Init,
        options: &ScanOptions,
    ) -> Result<Recording> {
        if !form.in_place {
            inputs.all().try_for_each(|input| input.check_apart(output))?;
        }
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(&self.facts));
        let asked = bytes_of(strategy.load.width);
        // What comes behind words is known where whole windows of them end.
        let carries = workspace.runs > 0;
        let (words, in_words);
        let (types, inputs, output, absent) =
            match self.packed(&types, form, inputs, output, strategy, carries) {
                Some((types, arrays)) => {
                    words = arrays;
                    let items = words[0].items;
                    let absent = items * u64::from(types.packed) - inputs.items;
                    in_words = Inputs { arrays: &words[..1], items, ..*inputs };
                    (types, &in_words, &words[1], absent as u32)
                }
                None => (types, inputs, output, 0),
            };
        let lies = Lies::new(self, &types, form, inputs, output, asked);
        let items = inputs.items;
        let suits = |(of, scanning): &(ScanOptions, Scanning)| {
            of == options && scanning.suits(&types, form, items, lies)
        };
        if !workspace.scanning.as_ref().is_some_and(suits) {
            let items = items.max(workspace.items.div_ceil(types.packed.into()));
            let made = Scanning::new(self, types, form, items, lies, options)?;
            workspace.scanning = Some((*options, made));
        }
        match &workspace.scanning {
            Some((_, scanning)) => scanning.bind(self, inputs, output, beside, absent, init),
            None => Err(self.failed("a scan that was just made is gone")),
        }
    }

    /// Types and arrays of the same scan over words of several items, where it is one.
    fn packed<'a>(
        &self,
        types: &Types,
        form: Form,
        inputs: &Inputs<'a>,
        output: &Slice<'a>,
        strategy: GpuScanStrategy,
        carries: bool,
    ) -> Option<(Types, [Slice<'a>; 2])> {
        let [input] = inputs.arrays else { return None };
        let types = types.packed().filter(|types| {
            !form.only_total && policy::packs(&self.facts, strategy, inputs.items, types.packed)
        })?;
        let packed = u64::from(types.packed);
        let windows = packed * WINDOW as u64;
        if carries && !inputs.items.is_multiple_of(windows) {
            return None;
        }
        let from_end = form.direction == Direction::Reverse;
        let words = |slice: &Slice<'a>| {
            let bytes = slice.items * WORD / packed;
            let offset = packed_begin(slice.offset, bytes, from_end)?;
            let items = slice.items.div_ceil(packed);
            let words = Slice { buffer: slice.buffer, offset, items };
            (offset + WORD * items <= slice.buffer.size()).then_some(words)
        };
        let arrays = [words(input)?, words(output)?];
        Some((types, arrays))
    }
}
