//! What the facade does with GPUs, whoever reaches them.

use upsweep_core::{Condition, Dtype, Extreme, Language, Work};
use upsweep_gpu::bits::Words;
use upsweep_gpu::{
    ErasedPacked, ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState, ErasedSource,
    ErasedTarget, GpuDevice, Ingredients, OnGpu, Primitives, SelectOutputs, Selecting, Signature,
    Source, Stored, Target, segmented, select, value_of,
};

use crate::backend::{Record, ViewBackend, wrong_device};
use crate::erased::{
    ErasedChunks, ErasedGpu, ErasedItems, ErasedItemsMut, NewReduceState, NewScanState, Packed,
};
use crate::memory::Range;
use crate::view::{Items, ItemsMut};
use crate::{
    Element, Error, Number, Operator, Recording, Reduce, Result, Scan, Segments, View, ViewMut,
    Widen, fused,
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

/// Checks that of arrays that are read anywhere the host knows the length.
fn check_anywhere(sources: &[fused::Source<'_>]) -> Result<()> {
    let bounded = |source: &fused::Source<'_>| matches!(&source.stored, fused::Stored::Device(range) if range.is_bounded());
    if sources.iter().any(bounded) {
        let reason =
            "an array that is reversed, strided or gathered from has a length that the host knows"
                .to_owned();
        return Err(Error::Buffer { reason });
    }
    Ok(())
}

/// Does `work` with what items are made of.
fn with_ingredients<G: Gpu, R>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'_>,
    work: impl FnOnce(&Ingredients<'_, G::Slice<'_>>) -> Result<R>,
) -> Result<R> {
    let (arrays, anywhere) = (&made.parts.arrays, &made.parts.anywhere);
    check_anywhere(anywhere)?;
    let (arrays, anywhere) = (all_stored(gpu, arrays)?, all_stored(gpu, anywhere)?);
    work(&Ingredients {
        recipe: &made.recipe,
        arrays: &arrays,
        anywhere: &anywhere,
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
    let (mut workspace, options) = (G::Workspace::default(), gpu.options().into());
    with_ingredients(gpu, made, |made| {
        upsweep_gpu::reduce::reduce_made(gpu.gpu(), &mut workspace, made, problem, &options)
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
    let (mut workspace, options) = (G::Workspace::default(), gpu.options().into());
    with_ingredients(gpu, made, |made| {
        upsweep_gpu::scan::scan_made(gpu.gpu(), &mut workspace, made, output, problem, &options)
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

/// A recording has no host to copy from.
fn no_host<G: Gpu>(gpu: &OnGpu<G>) -> Error {
    wrong_device("cpu", gpu.id())
}

/// The ranges of two views.
fn ranges<'a, G: Gpu, T, U>(
    gpu: &OnGpu<G>,
    input: View<'a, T>,
    output: ViewMut<'a, U>,
) -> Result<[Range<'a>; 2]> {
    match (input.items, output.items) {
        (Items::Device(input), ItemsMut::Device(output)) => Ok([input, output]),
        _ => Err(no_host(gpu)),
    }
}

/// The same of views whose types are values.
fn erased_ranges<'s, 'a: 's, 'b: 's, G: Gpu>(
    gpu: &OnGpu<G>,
    input: ErasedItems<'a>,
    output: ErasedItemsMut<'b>,
) -> Result<[Range<'s>; 2]> {
    match (input, output) {
        (ErasedItems::Device(input), ErasedItemsMut::Device(output)) => Ok([input, output]),
        _ => Err(no_host(gpu)),
    }
}

/// The same of two ranges.
fn record_pair<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    ranges: [Range<'a>; 2],
    bind: &mut dyn FnMut([G::Slice<'a>; 2]) -> Result<G::Bound<'a>>,
) -> Result<Recording> {
    G::record(gpu, &ranges, &mut |slices| match *slices {
        [input, output] => bind([input, output]),
        _ => Err(no_host(gpu)),
    })
}

/// The range of an output that a recording writes.
fn written<'a, G: Gpu>(gpu: &OnGpu<G>, items: ErasedItemsMut<'a>) -> Result<Range<'a>> {
    match items {
        ErasedItemsMut::Device(range) => Ok(range),
        ErasedItemsMut::Host(_) => Err(no_host(gpu)),
    }
}

/// What binds a selection to what its items are made of.
type BindMade<'f, 'a, G> = &'f mut dyn FnMut(
    &Ingredients<'_, <G as GpuDevice>::Slice<'a>>,
    SelectOutputs<<G as GpuDevice>::Slice<'a>>,
) -> Result<<G as GpuDevice>::Bound<'a>>;

/// A recording of a selection of items that are made of those of arrays.
fn record_made<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'a>,
    to: SelectOutputs<Range<'a>>,
    bind: BindMade<'_, 'a, G>,
) -> Result<Recording> {
    check_anywhere(&made.parts.anywhere)?;
    let (writes, encodes) = (to.items.is_some(), to.lengths.is_some());
    let outputs = [Some(to.count), to.items, to.lengths].into_iter().flatten().map(Ok);
    let sources = made.parts.arrays.iter().chain(&made.parts.anywhere);
    let sources = sources.map(|source| match source.stored {
        fused::Stored::Device(range) => Ok(range),
        fused::Stored::Host(_) => Err(no_host(gpu)),
    });
    let ranges: Vec<_> = outputs.chain(sources).collect::<Result<_>>()?;
    let words = made.parts.words();
    G::record(gpu, &ranges, &mut |slices| {
        let mut slices = slices.iter().copied();
        let count = slices.next().ok_or_else(|| no_host(gpu))?;
        let items = if writes { slices.next() } else { None };
        let lengths = if encodes { slices.next() } else { None };
        let stored: Vec<_> = slices.map(Stored::Device).collect();
        let (arrays, anywhere) = stored.split_at(made.parts.arrays.len());
        let (recipe, all) = (&made.recipe, made.items as u64);
        let made = Ingredients { recipe, arrays, anywhere, words: &words, items: all };
        bind(&made, SelectOutputs { items, lengths, count })
    })
}

fn record_reduce<G: Gpu>(
    gpu: &OnGpu<G>,
    workspace: &mut G::Workspace,
    ranges: [Range<'_>; 2],
    problem: &ErasedReduce,
) -> Result<Recording> {
    let (work, items) = (problem.signature.work, ranges[0].len());
    record_pair(gpu, ranges, &mut |slices| {
        gpu.reducing(workspace, work, items, |workspace, options| {
            upsweep_gpu::reduce::bind(gpu.gpu(), workspace, slices, problem, &options.into())
        })
    })
}

fn record_scan<G: Gpu>(
    gpu: &OnGpu<G>,
    workspace: &mut G::Workspace,
    ranges: [Range<'_>; 2],
    problem: &ErasedScan,
) -> Result<Recording> {
    let (work, items) = (problem.signature.work, ranges[0].len());
    record_pair(gpu, ranges, &mut |slices| {
        gpu.scanning(workspace, work, items, |workspace, options| {
            upsweep_gpu::scan::bind(gpu.gpu(), workspace, slices, problem, &options.into())
        })
    })
}

impl<G: Gpu> Record for OnGpu<G> {
    fn bind_reduce<T, A, O>(
        &self,
        workspace: &mut G::Workspace,
        input: View<'_, T>,
        result: ViewMut<'_, A>,
        problem: &Reduce<A, O>,
    ) -> Result<Recording>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, G::LANGUAGE);
        record_reduce(self, workspace, ranges(self, input, result)?, &problem)
    }

    fn bind_position<T: Number>(
        &self,
        workspace: &mut G::Workspace,
        input: View<'_, T>,
        result: ViewMut<'_, u64>,
        extreme: Extreme,
    ) -> Result<Recording> {
        let (work, items) = (Some(Work::of_position::<T>(extreme)), input.len());
        let of = (T::DTYPE, extreme);
        record_pair(self, ranges(self, input, result)?, &mut |slices| {
            self.reducing(workspace, work, items, |workspace, options| {
                let options = options.into();
                upsweep_gpu::reduce::bind_position(self.gpu(), workspace, slices, of, &options)
            })
        })
    }

    fn bind_scan<T, U, O>(
        &self,
        workspace: &mut G::Workspace,
        input: View<'_, T>,
        output: ViewMut<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, G::LANGUAGE);
        record_scan(self, workspace, ranges(self, input, output)?, &problem)
    }

    fn bind_probe_read<T: Element>(&self, input: View<'_, T>) -> Result<Recording> {
        let bytes = size_of::<T>() * input.len();
        match input.items {
            Items::Device(range) => G::record_read(self, range, bytes as u64),
            Items::Host(_) => Err(no_host(self)),
        }
    }

    fn bind_probe_copy<T: Element, U: Element>(
        &self,
        input: View<'_, T>,
        output: ViewMut<'_, U>,
    ) -> Result<Recording> {
        let bytes = size_of::<T>() * input.len();
        G::record_copy(self, ranges(self, input, output)?, bytes as u64)
    }
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
        let mut workspace = G::workspace(input.len() as u64);
        self.reduce_erased(&mut workspace, &source(self, input)?, problem, state)
    }

    fn reduce_into(
        &self,
        input: ErasedItems<'_>,
        result: Range<'_>,
        problem: &ErasedReduce,
    ) -> Result<()> {
        let mut workspace = G::workspace(input.len() as u64);
        let (input, result) = (source(self, input)?, G::slice_of(self, result)?);
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
        let mut workspace = G::workspace(output.len() as u64);
        self.scan_erased(&mut workspace, input.as_ref(), &mut output, problem, state)
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
        select_made(self, &mut G::Workspace::default(), made, selecting, (output, count))
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
