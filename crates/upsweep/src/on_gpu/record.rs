//! Recordings: what is bound to arrays that are all in a GPU's memory.

use upsweep_core::{Extreme, Work};
use upsweep_gpu::{ErasedReduce, ErasedScan, GpuDevice, Ingredients, OnGpu, SelectOutputs, Stored};

use super::{Gpu, check_one_length, length_of};
use crate::backend::{Record, wrong_device};
use crate::erased::{ErasedItems, ErasedItemsMut};
use crate::memory::Range;
use crate::view::{Items, ItemsMut};
use crate::{
    Element, Error, Number, Operator, Recording, Reduce, Result, Scan, View, ViewMut, Widen, fused,
};

/// A recording has no host to copy from.
pub(super) fn no_host<G: Gpu>(gpu: &OnGpu<G>) -> Error {
    wrong_device("cpu", gpu.id())
}

/// The ranges of two views.
pub(super) fn ranges<'a, G: Gpu, T, U>(
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
pub(super) fn erased_ranges<'s, 'a: 's, 'b: 's, G: Gpu>(
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
pub(super) fn record_pair<'a, G: Gpu>(
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
pub(super) fn written<'a, G: Gpu>(gpu: &OnGpu<G>, items: ErasedItemsMut<'a>) -> Result<Range<'a>> {
    match items {
        ErasedItemsMut::Device(range) => Ok(range),
        ErasedItemsMut::Host(_) => Err(no_host(gpu)),
    }
}

/// What binds a selection to what its items are made of.
pub(super) type BindMade<'f, 'a, G> = &'f mut dyn FnMut(
    &Ingredients<'_, <G as GpuDevice>::Slice<'a>>,
    SelectOutputs<<G as GpuDevice>::Slice<'a>>,
) -> Result<<G as GpuDevice>::Bound<'a>>;

/// A recording of a selection of items that are made of those of arrays.
pub(super) fn record_made<'a, G: Gpu>(
    gpu: &OnGpu<G>,
    made: &fused::Made<'a>,
    to: SelectOutputs<Range<'a>>,
    bind: BindMade<'_, 'a, G>,
) -> Result<Recording> {
    check_one_length(&made.parts)?;
    let (writes, encodes) = (to.items.is_some(), to.lengths.is_some());
    let outputs = [Some(to.count), to.items, to.lengths].into_iter().flatten().map(Ok);
    let sources = made.parts.arrays.iter().chain(&made.parts.anywhere);
    let sources = sources.map(|source| match source.stored {
        fused::Stored::Device(range) => Ok(range),
        fused::Stored::Host(_) => Err(no_host(gpu)),
    });
    let bounded = made.parts.bounded.iter().map(|range| Ok(*range));
    let ranges: Vec<_> = outputs.chain(bounded).chain(sources).collect::<Result<_>>()?;
    let words = made.parts.words();
    G::record(gpu, &ranges, &mut |slices| {
        let mut slices = slices.iter().copied();
        let count = slices.next().ok_or_else(|| no_host(gpu))?;
        let items = if writes { slices.next() } else { None };
        let lengths = if encodes { slices.next() } else { None };
        let bounded = slices.by_ref().take(made.parts.bounded.len());
        let places: Vec<_> = bounded.map(length_of).collect::<Result<_>>()?;
        let stored: Vec<_> = slices.map(Stored::Device).collect();
        let (arrays, anywhere) = stored.split_at(made.parts.arrays.len());
        let (recipe, all) = (&made.recipe, made.items as u64);
        let made =
            Ingredients { recipe, arrays, anywhere, lengths: &places, words: &words, items: all };
        bind(&made, SelectOutputs { items, lengths, count })
    })
}

pub(super) fn record_reduce<G: Gpu>(
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

pub(super) fn record_scan<G: Gpu>(
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
