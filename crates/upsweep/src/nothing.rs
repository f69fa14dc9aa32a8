//! What stands for a GPU, its memory and its recordings where the feature for them is off: types of which there is nothing.

use core::convert::Infallible;
use core::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use upsweep_core::{
    Backend, Condition, Dtype, Extreme, Language, Limits, Number, Operator, Policy, Reduce,
    ReduceState, Rows, Rungs, Scan, ScanState, Strategy, Why, Widen, Work, WorkgroupPolicy,
};

use upsweep_gpu::bits::Words;
use upsweep_gpu::{ErasedReduce, ErasedScan, ErasedType, SelectOutputs, Selecting, Signature};

use crate::backend::{Record, ViewBackend};
use crate::erased::{
    ErasedChunks, ErasedGpu, ErasedItems, ErasedItemsMut, NewReduceState, NewScanState, Packed,
    RowsCall,
};
use crate::explain::Launch;
use crate::memory::Range;
use crate::strategy::GpuOptions;
use crate::{Element, Profile, Recording, Result, Segments, View, ViewMut, fused};

/// A GPU.
#[derive(Clone, Debug)]
pub(crate) struct NoGpu(Infallible);

impl NoGpu {
    pub(crate) fn id(&self) -> &str {
        match self.0 {}
    }

    #[must_use]
    pub(crate) fn with(&self, _: GpuOptions) -> Self {
        match self.0 {}
    }

    pub(crate) fn profile(&self) -> Option<&Arc<Profile>> {
        match self.0 {}
    }

    pub(crate) fn why(
        &self,
        _: Option<Work>,
        _: u64,
        _: Option<Strategy>,
    ) -> (Why, Option<WorkgroupPolicy>) {
        match self.0 {}
    }

    #[expect(clippy::extra_unused_type_parameters, reason = "it stands in for what has them")]
    pub(crate) fn can<T, A: Element, U, O: Operator<A>>(&self, _: &O) -> bool {
        match self.0 {}
    }

    #[must_use]
    pub(crate) fn with_profile(&self, _: Option<Arc<Profile>>) -> Self {
        match self.0 {}
    }
}

/// The ladder of a GPU.
pub(crate) fn rungs(gpu: &NoGpu, _: &[u32]) -> Result<Box<dyn Rungs>> {
    match gpu.0 {}
}

/// Kernels that are made and not run.
#[cfg(not(feature = "cuda"))]
pub(crate) fn only_make_kernels(gpu: &NoGpu) {
    match gpu.0 {}
}

/// A reduction of items that are made.
pub(crate) fn reduce_made<A: Element, O: Operator<A>>(
    gpu: &NoGpu,
    _: &fused::Made<'_>,
    _: &Reduce<A, O>,
) -> Result<A> {
    match gpu.0 {}
}

/// A scan of items that are made.
pub(crate) fn scan_made<A: Element, U: Element, O: Operator<A>>(
    gpu: &NoGpu,
    _: &fused::Made<'_>,
    _: ViewMut<'_, U>,
    _: &Scan<A, O>,
) -> Result<()> {
    match gpu.0 {}
}

impl ErasedGpu for NoGpu {
    fn language(&self) -> Language {
        match self.0 {}
    }

    fn can(&self, _: &Signature) -> bool {
        match self.0 {}
    }

    fn known_len(&self, _: ErasedItems<'_>) -> Result<usize> {
        match self.0 {}
    }

    fn reduce(&self, _: ErasedItems<'_>, _: &ErasedReduce, _: NewReduceState<'_>) -> Result<Words> {
        match self.0 {}
    }

    fn reduce_into(&self, _: ErasedItems<'_>, _: Range<'_>, _: &ErasedReduce) -> Result<()> {
        match self.0 {}
    }

    fn reduce_made(&self, _: &fused::Made<'_>, _: &ErasedReduce) -> Result<Words> {
        match self.0 {}
    }

    fn reduce_made_into(&self, _: &fused::Made<'_>, _: Range<'_>, _: &ErasedReduce) -> Result<()> {
        match self.0 {}
    }

    fn scan_made(&self, _: &fused::Made<'_>, _: ErasedItemsMut<'_>, _: &ErasedScan) -> Result<()> {
        match self.0 {}
    }

    fn scan(
        &self,
        _: Option<ErasedItems<'_>>,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
        _: NewScanState<'_>,
    ) -> Result<()> {
        match self.0 {}
    }

    fn segmented_scan(
        &self,
        _: ErasedItems<'_>,
        _: &Segments<'_>,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
    ) -> Result<()> {
        match self.0 {}
    }

    fn reduce_rows(
        &self,
        _: ErasedItems<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: &ErasedReduce,
    ) -> Result<()> {
        match self.0 {}
    }

    fn scan_rows(
        &self,
        _: ErasedItems<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
    ) -> Result<()> {
        match self.0 {}
    }

    fn bind_rows(
        &self,
        _: &RowsCall<'_>,
        _: ErasedItems<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn reduce_rows_made(
        &self,
        _: &fused::Made<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: &ErasedReduce,
    ) -> Result<()> {
        match self.0 {}
    }

    fn scan_rows_made(
        &self,
        _: &fused::Made<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
    ) -> Result<()> {
        match self.0 {}
    }

    fn position_rows(
        &self,
        _: ErasedItems<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: Dtype,
        _: Extreme,
    ) -> Result<()> {
        match self.0 {}
    }

    fn position_rows_made(
        &self,
        _: &fused::Made<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: Dtype,
        _: Extreme,
    ) -> Result<()> {
        match self.0 {}
    }

    fn copy_rows(
        &self,
        _: ErasedItems<'_>,
        _: &Rows,
        _: ErasedItemsMut<'_>,
        _: ErasedType,
    ) -> Result<()> {
        match self.0 {}
    }

    fn segmented_reduce(
        &self,
        _: ErasedItems<'_>,
        _: &Segments<'_>,
        _: ErasedItemsMut<'_>,
        _: Option<Packed<'_, '_>>,
        _: &ErasedReduce,
    ) -> Result<()> {
        match self.0 {}
    }

    fn segmented_reduce_made(
        &self,
        _: &fused::Made<'_>,
        _: &Segments<'_>,
        _: ErasedItemsMut<'_>,
        _: Option<Packed<'_, '_>>,
        _: &ErasedReduce,
    ) -> Result<()> {
        match self.0 {}
    }

    fn select(
        &self,
        _: &fused::Made<'_>,
        _: Selecting,
        _: ErasedItemsMut<'_>,
        _: ErasedItemsMut<'_>,
    ) -> Result<()> {
        match self.0 {}
    }

    fn evaluate(&self, _: &fused::Made<'_>, _: ErasedItemsMut<'_>) -> Result<()> {
        match self.0 {}
    }

    fn partition3(
        &self,
        _: &fused::Made<'_>,
        _: &Condition,
        _: ErasedItemsMut<'_>,
        _: ErasedItemsMut<'_>,
    ) -> Result<()> {
        match self.0 {}
    }

    fn run_length_encode(
        &self,
        _: &fused::Made<'_>,
        _: [ErasedItemsMut<'_>; 3],
        _: Dtype,
    ) -> Result<()> {
        match self.0 {}
    }

    fn bind_select(
        &self,
        _: &fused::Made<'_>,
        _: Selecting,
        _: SelectOutputs<ErasedItemsMut<'_>>,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn bind_partition3(
        &self,
        _: &fused::Made<'_>,
        _: &Condition,
        _: ErasedItemsMut<'_>,
        _: ErasedItemsMut<'_>,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn bind_segmented_reduce(
        &self,
        _: ErasedItems<'_>,
        _: &Segments<'_>,
        _: ErasedItemsMut<'_>,
        _: Option<Packed<'_, '_>>,
        _: &ErasedReduce,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn bind_segmented_scan(
        &self,
        _: ErasedItems<'_>,
        _: &Segments<'_>,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn count(&self, _: &fused::Made<'_>, _: ErasedItemsMut<'_>) -> Result<()> {
        match self.0 {}
    }

    fn bind_reduce(
        &self,
        _: usize,
        _: ErasedItems<'_>,
        _: ErasedItemsMut<'_>,
        _: &ErasedReduce,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn bind_scan(
        &self,
        _: usize,
        _: ErasedItems<'_>,
        _: ErasedItemsMut<'_>,
        _: &ErasedScan,
    ) -> Result<Recording> {
        match self.0 {}
    }

    fn chunks(&self) -> Box<dyn ErasedChunks> {
        match self.0 {}
    }
}

/// A recording.
#[derive(Clone, Debug)]
pub(crate) struct NoBound(Infallible);

#[cfg_attr(
    not(any(feature = "wgpu", feature = "cuda")),
    expect(dead_code, reason = "without any GPU nobody asks for the device")
)]
impl NoBound {
    pub(crate) fn device(&self) -> &str {
        match self.0 {}
    }
}

impl NoBound {
    pub(crate) fn strategy(&self) -> Option<Strategy> {
        match self.0 {}
    }

    pub(crate) fn launches(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn described(&self) -> Result<Vec<Launch>> {
        match self.0 {}
    }

    pub(crate) fn scratch_bytes(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn submit(&self) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn time(&self, _: u32) -> Result<Option<Vec<Duration>>> {
        match self.0 {}
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRange<'a>(Infallible, PhantomData<&'a ()>);

impl NoRange<'_> {
    pub(crate) fn bits_as(self, _: Dtype) -> Self {
        match self.0 {}
    }

    pub(crate) fn len(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn first(self, _: usize) -> Self {
        match self.0 {}
    }

    pub(crate) fn with_length(self, _: Self) -> Result<Self> {
        match self.0 {}
    }

    pub(crate) fn is_bounded(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn has_length_of(&self, _: &Self) -> bool {
        match self.0 {}
    }

    pub(crate) fn bounded_like(self, _: Self) -> Self {
        match self.0 {}
    }

    pub(crate) fn whole(self) -> Self {
        match self.0 {}
    }

    pub(crate) fn device(&self) -> &str {
        match self.0 {}
    }

    pub(crate) fn home(&self) -> Option<NoGpu> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(crate) struct NoMemory(Infallible);

impl NoMemory {
    pub(crate) fn filled<T: Element>(gpu: &NoGpu, _: usize, _: T) -> Result<Self> {
        match gpu.0 {}
    }

    pub(crate) fn holding<T: Element>(gpu: &NoGpu, _: &[T]) -> Result<Self> {
        match gpu.0 {}
    }

    #[allow(clippy::extra_unused_type_parameters, reason = "the one with GPUs needs it")]
    pub(crate) fn room_for<T: Element>(gpu: &NoGpu, _: usize) -> Result<Self> {
        match gpu.0 {}
    }

    #[cfg(feature = "any")]
    pub(crate) fn bits_as(self, _: Dtype) -> Self {
        match self.0 {}
    }

    pub(crate) fn truncated(self, _: usize) -> Self {
        match self.0 {}
    }

    pub(crate) fn range(&self) -> NoRange<'_> {
        match self.0 {}
    }

    pub(crate) fn replace<T: Element>(&self, _: &[T]) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        match self.0 {}
    }
}

impl Record for NoGpu {}

impl ViewBackend for NoGpu {
    fn input<'a, T: Element>(&self, _: View<'a, T>) -> Result<Infallible> {
        match self.0 {}
    }

    fn output<'a, T: Element>(&self, _: ViewMut<'a, T>) -> Result<Infallible> {
        match self.0 {}
    }
}

impl Backend for NoGpu {
    type Input<'a, T: Element> = Infallible;
    type Output<'a, T: Element> = Infallible;
    type Workspace = Infallible;

    fn limits(&self) -> &Limits {
        match self.0 {}
    }

    fn reduce_choice(&self, _: usize, _: usize) -> (Strategy, Policy) {
        match self.0 {}
    }

    fn scan_choice(&self, _: usize, _: usize, _: bool) -> (Strategy, Policy) {
        match self.0 {}
    }

    fn workspace(&self, _: usize, _: usize) -> Result<Infallible> {
        match self.0 {}
    }

    fn reduce<T, A, O>(&self, _: &mut Infallible, _: Infallible, _: &Reduce<A, O>) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn reduce_into<T, A, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Infallible,
        _: &Reduce<A, O>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn position<T: Number>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Extreme,
    ) -> Result<Option<u64>> {
        match self.0 {}
    }

    fn reduce_next<T, A, O>(
        &self,
        _: &mut Infallible,
        _: &mut ReduceState<A, O>,
        _: Infallible,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn scan<T, U, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Infallible,
        _: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        match self.0 {}
    }

    fn scan_in_place<T, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        match self.0 {}
    }

    fn scan_next<T, U, O>(
        &self,
        _: &mut Infallible,
        _: &mut ScanState<U::Acc, O>,
        _: Infallible,
        _: Infallible,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        match self.0 {}
    }

    fn wait(&self) -> Result<()> {
        match self.0 {}
    }
}
