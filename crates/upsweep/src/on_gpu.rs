//! What the facade does with GPUs, whoever reaches them.

mod record;

use upsweep_core::{Condition, Dtype, Extreme, Language, Rows};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{
    ErasedPacked, ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState, ErasedSource,
    ErasedTarget, ErasedType, GpuDevice, Ingredients, OnGpu, Part, Primitives, SelectOutputs,
    Selecting, Signature, Source, Stored, Target, rows, segmented, select, value_of,
};

use self::record::{
    erased_ranges, no_host, record_made, record_pair, record_reduce, record_scan, written,
};
use crate::backend::ViewBackend;
use crate::erased::{
    ErasedChunks, ErasedGpu, ErasedItems, ErasedItemsMut, NewReduceState, NewScanState, Packed,
    RowsCall,
};
use crate::memory::Range;
use crate::view::{Items, ItemsMut};
use crate::{
    Element, Error, Operator, Recording, Reduce, Result, Scan, Segments, View, ViewMut, fused,
};

/// What binds a call to the slices behind ranges.
pub(crate) type BindSlices<'f, 'a, G> =
    &'f mut dyn FnMut(&[<G as GpuDevice>::Slice<'a>]) -> Result<<G as GpuDevice>::Bound<'a>>;

/// GPUs of an interface: what is its own of how the facade sees memory and recordings.
pub(crate) trait Gpu: Primitives<Workspace: 'static> + 'static {
    /// The slice behind a range of any device's memory, if it is this one's.
    fn slice_of<'a>(gpu: &OnGpu<Self>, range: Range<'a>) -> Result<Self::Slice<'a>>;

    /// What `bind` binds to the slices behind these ranges, to be run as often as wanted; it keeps what it needs of ours.
    fn record<'a>(
        gpu: &OnGpu<Self>,
        ranges: &[Range<'a>],
        bind: BindSlices<'_, 'a, Self>,
    ) -> Result<Recording>;

    /// So many bytes read.
    fn record_read(gpu: &OnGpu<Self>, input: Range<'_>, bytes: u64) -> Result<Recording>;

    /// So many bytes copied.
    fn record_copy(gpu: &OnGpu<Self>, ranges: [Range<'_>; 2], bytes: u64) -> Result<Recording>;
}

impl<G: Gpu> ViewBackend for OnGpu<G> {
    fn input<'a, T: Element>(&self, view: View<'a, T>) -> Result<Source<'a, T, G::Slice<'a>>> {
        Ok(match view.items {
            Items::Host(items) => Source::Host(items),
            Items::Device(range) => Source::Device(G::slice_of(self, range)?),
        })
    }

    fn output<'a, T: Element>(&self, view: ViewMut<'a, T>) -> Result<Target<'a, T, G::Slice<'a>>> {
        Ok(match view.items {
            ItemsMut::Host(items) => Target::Host(items),
            ItemsMut::Device(range) => Target::Device(G::slice_of(self, range)?),
        })
    }
}

/// Items to read whose type is a value.
fn source<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    items: ErasedItems<'a>,
) -> Result<ErasedSource<'a, G::Slice<'a>>> {
    Ok(match items {
        ErasedItems::Host(items) => ErasedSource::Host(items, 0..items.len()),
        ErasedItems::Device(range) => ErasedSource::Device(G::slice_of(gpu, range)?),
    })
}

/// Items to write whose type is a value.
fn target<'s, 'a: 's, G: Gpu>(
    gpu: &OnGpu<G>,
    items: ErasedItemsMut<'a>,
) -> Result<ErasedTarget<'s, G::Slice<'s>>> {
    Ok(match items {
        ErasedItemsMut::Host(items) => {
            let all = 0..items.len();
            ErasedTarget::Host(items, all)
        }
        ErasedItemsMut::Device(range) => ErasedTarget::Device(G::slice_of(gpu, range)?),
    })
}

/// Where the values of segments go, one behind another.
fn packed_targets<'s, 'a: 's, 'b: 's, G: Gpu>(
    gpu: &OnGpu<G>,
    packed: Option<Packed<'a, 'b>>,
) -> Result<Option<ErasedPacked<'s, G::Slice<'s>>>> {
    let Some((unique, count)) = packed else { return Ok(None) };
    let unique = match unique {
        Some(unique) => Some((target(gpu, unique.items)?, unique.of)),
        None => None,
    };
    Ok(Some(ErasedPacked { unique, count: target(gpu, count)? }))
}

/// The items of an array among others.
fn stored<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    source: &'a fused::Source<'_>,
) -> Result<Stored<'a, G::Slice<'a>>> {
    Ok(match &source.stored {
        fused::Stored::Host(bytes) => Stored::Host(bytes),
        fused::Stored::Device(range) => Stored::Device(G::slice_of(gpu, *range)?),
    })
}

/// The items of several.
fn all_stored<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    sources: &'a [fused::Source<'_>],
) -> Result<Vec<Stored<'a, G::Slice<'a>>>> {
    sources.iter().map(|source| stored(gpu, source)).collect()
}

/// An array that says where segments begin.
fn marks<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    segments: &'a Segments<'_>,
) -> Result<upsweep_gpu::Segments<'a, G::Slice<'a>>> {
    let (by, count, source) = segments.parts();
    let stored = stored(gpu, source)?;
    Ok(upsweep_gpu::Segments { by, kind: source.kind, count, stored })
}

/// Checks that arrays that are read together have one length.
fn check_one_length(parts: &fused::Parts<'_>) -> Result<()> {
    if parts.is_torn { Err(upsweep_gpu::several_lengths()) } else { Ok(()) }
}

/// The place of the length that a slice has.
fn length_of<S: Part>(slice: S) -> Result<S> {
    slice.length().ok_or_else(|| Error::Buffer { reason: "a slice has no length".to_owned() })
}

/// Does `work` with what items are made of.
fn with_ingredients<G: Gpu, R>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    work: impl FnOnce(&Ingredients<'_, G::Slice<'_>>) -> Result<R>,
) -> Result<R> {
    let (arrays, anywhere) = (&made.parts.arrays, &made.parts.anywhere);
    check_one_length(&made.parts)?;
    let (arrays, anywhere) = (all_stored(gpu, arrays)?, all_stored(gpu, anywhere)?);
    let bounded = made.parts.bounded.iter();
    let lengths = bounded.map(|range| length_of(G::slice_of(gpu, *range)?));
    let lengths: Vec<_> = lengths.collect::<Result<_>>()?;
    work(&Ingredients {
        recipe: &made.recipe,
        arrays: &arrays,
        anywhere: &anywhere,
        lengths: &lengths,
        words: &made.parts.words(),
        items: made.items as u64,
    })
}

/// A reduction of items that are made of those of arrays.
pub(crate) fn reduce_made<G, A, O>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    problem: &Reduce<A, O>,
) -> Result<A>
where
    G: Gpu,
    A: Element,
    O: Operator<A>,
{
    let problem = ErasedReduce::of::<A, A, O>(problem, G::LANGUAGE);
    value_of(&reduce_made_erased(gpu, made, &problem)?, gpu.id())
}

fn reduce_made_erased<G: Gpu>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    problem: &ErasedReduce,
) -> Result<Words> {
    let options = gpu.options().into();
    with_ingredients(gpu, made, |made| {
        gpu.with_workspace(made.items, |workspace| {
            upsweep_gpu::reduce::reduce_made(gpu.gpu(), workspace, made, problem, &options)
        })
    })
}

/// A scan of items that are made of those of arrays.
pub(crate) fn scan_made<G, A, U, O>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    output: ViewMut<'_, U>,
    problem: &Scan<A, O>,
) -> Result<()>
where
    G: Gpu,
    A: Element,
    U: Element,
    O: Operator<A>,
{
    let problem = ErasedScan::of::<A, A, U, O>(problem, G::LANGUAGE);
    let mut output = gpu.output(output)?;
    scan_made_erased(gpu, made, output.erased(), &problem)
}

fn scan_made_erased<G: Gpu>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
) -> Result<()> {
    let options = gpu.options().into();
    with_ingredients(gpu, made, |made| {
        gpu.with_workspace(made.items, |workspace| {
            upsweep_gpu::scan::scan_made(gpu.gpu(), workspace, made, output, problem, &options)
        })
    })
}

fn select_made<G: Gpu>(
    gpu: &OnGpu<G>,
    workspace: &mut G::Workspace,
    made: &fused::Made<'_>,
    selecting: Selecting,
    (output, count): (ErasedItemsMut<'_>, ErasedItemsMut<'_>),
) -> Result<()> {
    let (outputs, options) = ([target(gpu, output)?, target(gpu, count)?], gpu.options().into());
    with_ingredients(gpu, made, |made| {
        select::select(gpu.gpu(), workspace, made, selecting, outputs, &options)
    })
}

impl<G: Gpu> ErasedGpu for OnGpu<G> {
    fn language(&self) -> Language {
        G::LANGUAGE
    }

    fn can(&self, signature: &Signature) -> bool {
        self.can_erased(signature)
    }

    fn known_len(&self, items: ErasedItems<'_>) -> Result<usize> {
        upsweep_gpu::known_len(self.gpu(), &source(self, items)?)
    }

    fn reduce(
        &self,
        input: ErasedItems<'_>,
        problem: &ErasedReduce,
        state: NewReduceState<'_>,
    ) -> Result<Words> {
        self.with_workspace(input.len() as u64, |workspace| {
            self.reduce_erased(workspace, &source(self, input)?, problem, state)
        })
    }

    fn reduce_into(
        &self,
        input: ErasedItems<'_>,
        result: Range<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        self.with_workspace(input.len() as u64, |workspace| {
            let (input, result) = (source(self, input)?, G::slice_of(self, result)?);
            self.reduce_into_erased(workspace, &input, result, problem)
        })
    }

    fn reduce_made(&self, made: &fused::Made<'_>, problem: &ErasedReduce) -> Result<Words> {
        reduce_made_erased(self, made, problem)
    }

    fn reduce_made_into(
        &self,
        made: &fused::Made<'_>,
        result: Range<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let (result, options) = (G::slice_of(self, result)?, self.options().into());
        with_ingredients(self, made, |made| {
            self.with_workspace(made.items, |workspace| {
                let gpu = self.gpu();
                upsweep_gpu::reduce::reduce_made_into(
                    gpu, workspace, made, result, problem, &options,
                )
            })
        })
    }

    fn scan_made(
        &self,
        made: &fused::Made<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()> {
        scan_made_erased(self, made, target(self, output)?, problem)
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
        self.with_workspace(output.len() as u64, |workspace| {
            self.scan_erased(workspace, input.as_ref(), &mut output, problem, state)
        })
    }

    fn segmented_scan(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()> {
        let (segments, mut workspace) = (marks(self, segments)?, G::Workspace::default());
        let (input, output) = (source(self, input)?, target(self, output)?);
        let options = self.options().into();
        segmented::scan(self.gpu(), &mut workspace, input, &segments, output, problem, &options)
    }

    fn segmented_reduce(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let (segments, mut workspace) = (marks(self, segments)?, G::Workspace::default());
        let (input, output) = (source(self, input)?, target(self, output)?);
        let (to, options) = ((output, packed_targets(self, packed)?), self.options().into());
        segmented::reduce(self.gpu(), &mut workspace, input, &segments, to, problem, &options)
    }

    fn segmented_reduce_made(
        &self,
        made: &fused::Made<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let (segments, mut workspace) = (marks(self, segments)?, G::Workspace::default());
        let output = target(self, output)?;
        let (to, options) = ((output, packed_targets(self, packed)?), self.options().into());
        with_ingredients(self, made, |made| {
            let gpu = self.gpu();
            segmented::reduce_made(gpu, &mut workspace, made, &segments, to, problem, &options)
        })
    }

    fn select(
        &self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        output: ErasedItemsMut<'_>,
        count: ErasedItemsMut<'_>,
    ) -> Result<()> {
        self.with_workspace(made.items as u64, |workspace| {
            select_made(self, workspace, made, selecting, (output, count))
        })
    }

    fn evaluate(&self, made: &fused::Made<'_>, output: ErasedItemsMut<'_>) -> Result<()> {
        // A selection of all items: how many these are, nobody asks.
        let sink = self.sink()?;
        let count = ErasedTarget::Device(G::slice(&sink, Dtype::U64.into(), 1)?);
        let (outputs, options) = ([target(self, output)?, count], self.options().into());
        self.with_workspace(made.items as u64, |workspace| {
            with_ingredients(self, made, |made| {
                let gpu = self.gpu();
                select::select(gpu, workspace, made, Selecting::Selected, outputs, &options)
            })
        })
    }

    fn partition3(
        &self,
        made: &fused::Made<'_>,
        second: &Condition,
        output: ErasedItemsMut<'_>,
        borders: ErasedItemsMut<'_>,
    ) -> Result<()> {
        let (outputs, options) = ([target(self, output)?, target(self, borders)?], self.options());
        let mut workspace = G::Workspace::default();
        with_ingredients(self, made, |made| {
            let (gpu, options) = (self.gpu(), options.into());
            select::partition3(gpu, &mut workspace, made, second, outputs, &options)
        })
    }

    fn run_length_encode(
        &self,
        made: &fused::Made<'_>,
        outputs: [ErasedItemsMut<'_>; 3],
        length: Dtype,
    ) -> Result<()> {
        let [values, lengths, count] = outputs;
        let outputs = [target(self, values)?, target(self, lengths)?, target(self, count)?];
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        with_ingredients(self, made, |made| {
            let gpu = self.gpu();
            select::run_length_encode(gpu, &mut workspace, made, outputs, length, &options)
        })
    }

    fn bind_select(
        &self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        to: SelectOutputs<ErasedItemsMut<'_>>,
    ) -> Result<Recording> {
        let to = to.try_map(|output| written(self, output))?;
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        record_made(self, made, to, &mut |made, to| {
            select::bind(self.gpu(), &mut workspace, made, selecting, to, &options)
        })
    }

    fn bind_partition3(
        &self,
        made: &fused::Made<'_>,
        second: &Condition,
        output: ErasedItemsMut<'_>,
        borders: ErasedItemsMut<'_>,
    ) -> Result<Recording> {
        let (items, count) = (Some(written(self, output)?), written(self, borders)?);
        let to = SelectOutputs { items, lengths: None, count };
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        record_made(self, made, to, &mut |made, to| {
            select::bind_partition3(self.gpu(), &mut workspace, made, second, to, &options)
        })
    }

    fn bind_segmented_scan(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<Recording> {
        let (by, _, source) = segments.parts();
        let fused::Stored::Device(marks) = source.stored else { return Err(no_host(self)) };
        let [input, output] = erased_ranges(self, input, output)?;
        let (kind, options) = (source.kind, self.options().into());
        let mut workspace = G::Workspace::default();
        G::record(self, &[input, output, marks], &mut |slices| {
            let [input, output, marks] = *slices else { return Err(no_host(self)) };
            let marks = segmented::Marks { by, kind, slice: marks };
            let (gpu, arrays) = (self.gpu(), [input, output]);
            segmented::bind_scan(gpu, &mut workspace, arrays, marks, problem, &options)
        })
    }

    fn bind_segmented_reduce(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<Recording> {
        let (by, _, source) = segments.parts();
        let fused::Stored::Device(marks) = source.stored else { return Err(no_host(self)) };
        let [input, output] = erased_ranges(self, input, output)?;
        let mut ranges = vec![input, output, marks];
        if let Some((unique, count)) = packed {
            ranges.push(written(self, count)?);
            unique.map_or(Ok(()), |unique| written(self, unique.items).map(|r| ranges.push(r)))?;
        }
        let (kind, options) = (source.kind, self.options().into());
        let mut workspace = G::Workspace::default();
        G::record(self, &ranges, &mut |slices| {
            let ([input, output, marks], packed) =
                slices.split_first_chunk().ok_or_else(|| no_host(self))?;
            let marks = segmented::Marks { by, kind, slice: *marks };
            let packed = [packed.get(1).copied(), packed.first().copied()];
            let (gpu, arrays) = (self.gpu(), [*input, *output]);
            segmented::bind_reduce(gpu, &mut workspace, arrays, marks, packed, problem, &options)
        })
    }

    fn reduce_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let (input, output) = (source(self, input)?, target(self, output)?);
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        rows::reduce(self.gpu(), &mut workspace, input, rows, output, problem, &options)
    }

    fn scan_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()> {
        let (input, output) = (source(self, input)?, target(self, output)?);
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        rows::scan(self.gpu(), &mut workspace, input, rows, output, problem, &options)
    }

    fn bind_rows(
        &self,
        call: &RowsCall<'_>,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
    ) -> Result<Recording> {
        let ranges = erased_ranges(self, input, output)?;
        let (gpu, options, workspace) =
            (self.gpu(), self.options().into(), &mut G::Workspace::default());
        record_pair(self, ranges, &mut |slices| {
            slices[0].check_apart(&slices[1])?;
            match *call {
                RowsCall::Reduce(problem) => {
                    rows::bind_reduce(gpu, workspace, slices, rows, problem, &options)
                }
                RowsCall::Scan(problem) => {
                    rows::bind_scan(gpu, workspace, slices, rows, problem, &options)
                }
                RowsCall::Position(item, extreme) => {
                    rows::bind_position(gpu, workspace, slices, rows, (item, extreme), &options)
                }
            }
        })
    }

    fn reduce_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let (output, options) = (target(self, output)?, self.options().into());
        let mut workspace = G::Workspace::default();
        with_ingredients(self, made, |made| {
            rows::reduce_made(self.gpu(), &mut workspace, made, rows, output, problem, &options)
        })
    }

    fn scan_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()> {
        let (output, options) = (target(self, output)?, self.options().into());
        let mut workspace = G::Workspace::default();
        with_ingredients(self, made, |made| {
            rows::scan_made(self.gpu(), &mut workspace, made, rows, output, problem, &options)
        })
    }

    fn position_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        item: Dtype,
        extreme: Extreme,
    ) -> Result<()> {
        let (input, output) = (source(self, input)?, target(self, output)?);
        let (mut workspace, options) = (G::Workspace::default(), self.options().into());
        rows::position(self.gpu(), &mut workspace, input, rows, output, (item, extreme), &options)
    }

    fn position_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        item: Dtype,
        extreme: Extreme,
    ) -> Result<()> {
        let (output, options) = (target(self, output)?, self.options().into());
        let (mut workspace, search) = (G::Workspace::default(), (item, extreme));
        with_ingredients(self, made, |made| {
            rows::position_made(self.gpu(), &mut workspace, made, rows, output, search, &options)
        })
    }

    fn copy_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        of: ErasedType,
    ) -> Result<()> {
        let kind = of.check(self.id())?;
        let (input, output) = (source(self, input)?, target(self, output)?);
        rows::copy(self.gpu(), input, rows, output, kind)
    }

    fn count(&self, made: &fused::Made<'_>, count: ErasedItemsMut<'_>) -> Result<()> {
        let (count, options) = (target(self, count)?, self.options().into());
        let mut workspace = G::Workspace::default();
        with_ingredients(self, made, |made| {
            select::count(self.gpu(), &mut workspace, made, count, &options)
        })
    }

    fn bind_reduce(
        &self,
        items: usize,
        input: ErasedItems<'_>,
        result: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<Recording> {
        let ranges = erased_ranges(self, input, result)?;
        record_reduce(self, &mut G::workspace(items as u64), ranges, problem)
    }

    fn bind_scan(
        &self,
        items: usize,
        input: ErasedItems<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<Recording> {
        let ranges = erased_ranges(self, input, output)?;
        record_scan(self, &mut G::workspace(items as u64), ranges, problem)
    }

    fn chunks(&self) -> Box<dyn ErasedChunks> {
        Box::new(Chunks { gpu: self.clone(), workspace: G::Workspace::default() })
    }
}

/// A GPU with scratch memory for an array that comes in chunks.
struct Chunks<G: Gpu> {
    gpu: OnGpu<G>,
    workspace: G::Workspace,
}

impl<G: Gpu> ErasedChunks for Chunks<G> {
    fn select_next(
        &mut self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        output: ErasedItemsMut<'_>,
        count: ErasedItemsMut<'_>,
    ) -> Result<()> {
        select_made(&self.gpu, &mut self.workspace, made, selecting, (output, count))
    }

    fn reduce_next(
        &mut self,
        chunk: ErasedItems<'_>,
        problem: &ErasedReduce,
        state: &mut dyn ErasedReduceState,
    ) -> Result<()> {
        let Self { gpu, workspace } = self;
        gpu.reduce_next_erased(workspace, &source(gpu, chunk)?, problem, state)
    }

    fn scan_next(
        &mut self,
        chunk: ErasedItems<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
        state: &mut dyn ErasedScanState,
    ) -> Result<()> {
        let Self { gpu, workspace } = self;
        let (chunk, mut output) = (source(gpu, chunk)?, target(gpu, output)?);
        let problem = problem.clone();
        gpu.scan_next_erased(workspace, Some(&chunk), &mut output, problem, state)
    }
}
