//! Calls on GPUs whose types are values: each is compiled once, and not for each operator on each pair of types.

#![cfg_attr(
    not(all(feature = "any", feature = "wgpu", feature = "cuda")),
    allow(
        dead_code,
        reason = "typed calls need the calls of segments alone, and no GPU needs none"
    )
)]

use upsweep_core::Language;
use upsweep_cpu::Cpu;
use upsweep_gpu::bits::Words;
use upsweep_gpu::{
    ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState, ErasedType, HostItems,
    HostItemsMut, Signature,
};

use crate::memory::Range;
use crate::{Recording, Result, Segments, fused};

/// Items to read, whose type is a value.
#[derive(Clone, Copy)]
pub(crate) enum ErasedItems<'a> {
    Host(&'a dyn HostItems),
    Device(Range<'a>),
}

impl ErasedItems<'_> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        match self {
            ErasedItems::Host(items) => items.len(),
            ErasedItems::Device(range) => range.len(),
        }
    }
}

/// Items to write, whose type is a value.
pub(crate) struct ErasedViewMut<'a> {
    pub(crate) of: ErasedType,
    pub(crate) items: ErasedItemsMut<'a>,
}

pub(crate) enum ErasedItemsMut<'a> {
    Host(&'a mut dyn HostItemsMut),
    Device(Range<'a>),
}

impl ErasedViewMut<'_> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        match &self.items {
            ErasedItemsMut::Host(items) => items.len(),
            ErasedItemsMut::Device(range) => range.len(),
        }
    }
}

/// Where the values of segments go, one behind another: the keys, if they are asked for, and the number of segments.
pub(crate) type Packed<'a, 'b> = (Option<ErasedViewMut<'a>>, ErasedItemsMut<'b>);

/// What makes the state of a reduction that a GPU takes in pieces.
pub(crate) type NewReduceState<'a> = &'a dyn Fn() -> Box<dyn ErasedReduceState>;

/// What makes the state of a scan that a GPU takes in pieces.
pub(crate) type NewScanState<'a> = &'a dyn Fn() -> Box<dyn ErasedScanState>;

/// A CPU, which has an instance for each pair of types, or a GPU, which has one for all.
pub(crate) enum Erased<'a> {
    Cpu(&'a Cpu),
    Gpu(&'a dyn ErasedGpu),
}

impl<'a> Erased<'a> {
    /// The CPU, if it is one.
    pub(crate) fn cpu(self) -> Option<&'a Cpu> {
        match self {
            Self::Cpu(cpu) => Some(cpu),
            Self::Gpu(_) => None,
        }
    }

    /// Whether there are kernels for what `signature` says in the language that it is given. A CPU has them all.
    pub(crate) fn can(self, signature: impl FnOnce(Language) -> Signature) -> bool {
        match self {
            Self::Cpu(_) => true,
            Self::Gpu(gpu) => gpu.can(&signature(gpu.language())),
        }
    }
}

/// A GPU, by calls whose types are values.
pub(crate) trait ErasedGpu {
    /// The language of its kernels.
    fn language(&self) -> Language;

    /// Whether there can be kernels of these types and this operator.
    fn can(&self, signature: &Signature) -> bool;

    /// Combines all items into one value, and waits for its words of memory.
    fn reduce(
        &self,
        input: ErasedItems<'_>,
        problem: &ErasedReduce,
        state: NewReduceState<'_>,
    ) -> Result<Words>;

    /// Combines all items into the one item of `result`, and does not wait.
    fn reduce_into(
        &self,
        input: ErasedItems<'_>,
        result: Range<'_>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// A scan, in place if there is no input.
    fn scan(
        &self,
        input: Option<ErasedItems<'_>>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
        state: NewScanState<'_>,
    ) -> Result<()>;

    /// A scan within segments.
    fn segmented_scan(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()>;

    /// A reduction of segments; by flags or keys, to values one behind another.
    fn segmented_reduce(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// The same of items that are made as they are read, which are combined in the type that the problem has for items. By flags
    /// or keys, `count` gets how many segments there are.
    fn segmented_reduce_made(
        &self,
        made: &fused::Made<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        count: Option<ErasedItemsMut<'_>>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// The reduction that arrays of so many items get, of a shorter one into the one item of `result`, to be run as often as wanted.
    fn bind_reduce(
        &self,
        items: usize,
        input: ErasedItems<'_>,
        result: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<Recording>;

    /// The same of a scan.
    fn bind_scan(
        &self,
        items: usize,
        input: ErasedItems<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<Recording>;

    /// Scratch memory for an array that comes in chunks.
    fn chunks(&self) -> Box<dyn ErasedChunks>;
}

/// A GPU with scratch memory for an array that comes in chunks.
pub(crate) trait ErasedChunks: Send {
    /// Takes the next chunk of a reduction.
    fn reduce_next(
        &mut self,
        chunk: ErasedItems<'_>,
        problem: &ErasedReduce,
        state: &mut dyn ErasedReduceState,
    ) -> Result<()>;

    /// Scans the next chunk.
    fn scan_next(
        &mut self,
        chunk: ErasedItems<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
        state: &mut dyn ErasedScanState,
    ) -> Result<()>;
}

/// The calls of a GPU whose types are values, in whose module of the facade this stands; its kernels are in `$language`.
#[cfg(any(feature = "wgpu", feature = "cuda"))]
macro_rules! erased_gpu {
    ($gpu:ident, $backend:ident, $language:expr) => {
        impl ErasedGpu for $gpu {
            fn language(&self) -> Language {
                $language
            }

            fn can(&self, signature: &Signature) -> bool {
                self.gpu().check_types(signature).is_ok()
            }

            fn reduce(
                &self,
                input: ErasedItems<'_>,
                problem: &ErasedReduce,
                state: NewReduceState<'_>,
            ) -> Result<Words> {
                let mut workspace = Gpu::workspace(input.len() as u64);
                self.reduce_erased(&mut workspace, &source(self, input)?, problem, state)
            }

            fn reduce_into(
                &self,
                input: ErasedItems<'_>,
                result: memory::Range<'_>,
                problem: &ErasedReduce,
            ) -> Result<()> {
                let mut workspace = Gpu::workspace(input.len() as u64);
                let (input, result) = (source(self, input)?, on(self, result)?);
                self.reduce_into_erased(&mut workspace, &input, result, problem)
            }

            fn scan(
                &self,
                input: Option<ErasedItems<'_>>,
                output: ErasedItemsMut<'_>,
                problem: &ErasedScan,
                state: NewScanState<'_>,
            ) -> Result<()> {
                let input = input.map(|input| source(self, input)).transpose()?;
                let mut output = target(self, output)?;
                let mut workspace = Gpu::workspace(output.len() as u64);
                self.scan_erased(&mut workspace, input.as_ref(), &mut output, problem, state)
            }

            fn segmented_scan(
                &self,
                input: ErasedItems<'_>,
                segments: &Segments<'_>,
                output: ErasedItemsMut<'_>,
                problem: &ErasedScan,
            ) -> Result<()> {
                let (segments, mut workspace) = (marks(self, segments)?, Workspace::default());
                let (input, output) = (source(self, input)?, target(self, output)?);
                self.gpu().segmented_scan_erased(
                    &mut workspace,
                    input,
                    segments,
                    output,
                    problem,
                    &self.options().into(),
                )
            }

            fn segmented_reduce(
                &self,
                input: ErasedItems<'_>,
                segments: &Segments<'_>,
                output: ErasedItemsMut<'_>,
                packed: Option<Packed<'_, '_>>,
                problem: &ErasedReduce,
            ) -> Result<()> {
                let (segments, mut workspace) = (marks(self, segments)?, Workspace::default());
                let (input, output) = (source(self, input)?, target(self, output)?);
                let mut packed = match packed {
                    Some((Some(unique), count)) => {
                        let keys = Some((target(self, unique.items)?, unique.of));
                        Some((keys, target(self, count)?))
                    }
                    Some((None, count)) => Some((None, target(self, count)?)),
                    None => None,
                };
                let packed = packed.as_mut().map(|(unique, count)| $backend::ErasedPacked {
                    unique: unique.as_mut().map(|(unique, of)| (unique.reborrow(), *of)),
                    count: count.reborrow(),
                });
                self.gpu().segmented_reduce_erased(
                    &mut workspace,
                    input,
                    segments,
                    output,
                    packed,
                    problem,
                    &self.options().into(),
                )
            }

            fn segmented_reduce_made(
                &self,
                made: &fused::Made<'_>,
                segments: &Segments<'_>,
                output: ErasedItemsMut<'_>,
                count: Option<ErasedItemsMut<'_>>,
                problem: &ErasedReduce,
            ) -> Result<()> {
                let (segments, mut workspace) = (marks(self, segments)?, Workspace::default());
                let output = target(self, output)?;
                let mut count = count.map(|count| target(self, count)).transpose()?;
                let packed = count
                    .as_mut()
                    .map(|count| $backend::ErasedPacked { unique: None, count: count.reborrow() });
                with_ingredients(self, made, |made| {
                    self.gpu().segmented_reduce_made_erased(
                        &mut workspace,
                        made,
                        segments,
                        output,
                        packed,
                        problem,
                        &self.options().into(),
                    )
                })
            }

            fn bind_reduce(
                &self,
                items: usize,
                input: ErasedItems<'_>,
                result: ErasedItemsMut<'_>,
                problem: &ErasedReduce,
            ) -> Result<Recording> {
                let arrays = [bound_input(self, input)?, bound_output(self, result)?];
                bind_reduce(self, &mut Gpu::workspace(items as u64), arrays, problem)
            }

            fn bind_scan(
                &self,
                items: usize,
                input: ErasedItems<'_>,
                output: ErasedItemsMut<'_>,
                problem: &ErasedScan,
            ) -> Result<Recording> {
                let arrays = [bound_input(self, input)?, bound_output(self, output)?];
                bind_scan(self, &mut Gpu::workspace(items as u64), arrays, problem)
            }

            fn chunks(&self) -> Box<dyn ErasedChunks> {
                Box::new((self.clone(), Workspace::default()))
            }
        }

        impl ErasedChunks for ($gpu, Workspace) {
            fn reduce_next(
                &mut self,
                chunk: ErasedItems<'_>,
                problem: &ErasedReduce,
                state: &mut dyn ErasedReduceState,
            ) -> Result<()> {
                let (gpu, workspace) = self;
                gpu.reduce_next_erased(workspace, &source(gpu, chunk)?, problem, state)
            }

            fn scan_next(
                &mut self,
                chunk: ErasedItems<'_>,
                output: ErasedItemsMut<'_>,
                problem: &ErasedScan,
                state: &mut dyn ErasedScanState,
            ) -> Result<()> {
                let (gpu, workspace) = self;
                let (chunk, mut output) = (source(gpu, chunk)?, target(gpu, output)?);
                let problem = problem.clone();
                gpu.scan_next_erased(workspace, Some(&chunk), &mut output, problem, state)
            }
        }

        /// Items to read whose type is a value.
        fn source<'a>(gpu: &$gpu, items: ErasedItems<'a>) -> Result<$backend::ErasedSource<'a>> {
            Ok(match items {
                ErasedItems::Host(items) => $backend::ErasedSource::Host(items, 0..items.len()),
                ErasedItems::Device(range) => $backend::ErasedSource::Device(on(gpu, range)?),
            })
        }

        /// Items to write whose type is a value.
        fn target<'a>(
            gpu: &$gpu,
            items: ErasedItemsMut<'a>,
        ) -> Result<$backend::ErasedTarget<'a, 'a>> {
            Ok(match items {
                ErasedItemsMut::Host(items) => {
                    let all = 0..items.len();
                    $backend::ErasedTarget::Host(items, all)
                }
                ErasedItemsMut::Device(range) => $backend::ErasedTarget::Device(on(gpu, range)?),
            })
        }

        /// An array that says where segments begin.
        fn marks<'a>(gpu: &$gpu, segments: &'a Segments<'_>) -> Result<$backend::Segments<'a>> {
            let (by, count, source) = segments.parts();
            let stored = stored(gpu, source)?;
            Ok($backend::Segments { by, kind: source.kind, count, stored })
        }
    };
}
#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub(crate) use erased_gpu;
