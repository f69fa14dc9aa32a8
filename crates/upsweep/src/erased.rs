//! Calls on GPUs whose types are values: each is compiled once, and not for each operator on each pair of types.

#![cfg_attr(
    not(all(feature = "any", feature = "wgpu", feature = "cuda")),
    allow(
        dead_code,
        reason = "typed calls need the calls of segments alone, and no GPU needs none"
    )
)]

use upsweep_core::{Condition, Dtype, Extreme, Language, Rows};
use upsweep_cpu::Cpu;
use upsweep_gpu::bits::Words;
use upsweep_gpu::{
    ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState, ErasedType, HostItems,
    HostItemsMut, SelectOutputs, Selecting, Signature,
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

/// A call on rows that is bound to arrays.
pub(crate) enum RowsCall<'a> {
    Reduce(&'a ErasedReduce),
    Scan(&'a ErasedScan),
    /// Of numbers of this type.
    Position(Dtype, Extreme),
}

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

    /// How many items there are. Waits for the device, if only that knows.
    fn known_len(&self, items: ErasedItems<'_>) -> Result<usize>;

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

    /// Combines all items that are made into one value, and waits for its words of memory.
    fn reduce_made(&self, made: &fused::Made<'_>, problem: &ErasedReduce) -> Result<Words>;

    /// Combines all items that are made of arrays of the device's into the one item of `result`, and does not wait.
    fn reduce_made_into(
        &self,
        made: &fused::Made<'_>,
        result: Range<'_>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// A scan of items that are made.
    fn scan_made(
        &self,
        made: &fused::Made<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
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
    /// or keys, values go one behind another.
    fn segmented_reduce_made(
        &self,
        made: &fused::Made<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// What `selecting` says of the items that are made: those of which the recipe's condition holds, in their order, and how many there are;
    /// if it partitions, the others follow behind them.
    fn select(
        &self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        output: ErasedItemsMut<'_>,
        count: ErasedItemsMut<'_>,
    ) -> Result<()>;

    /// Writes all items that are made.
    fn evaluate(&self, made: &fused::Made<'_>, output: ErasedItemsMut<'_>) -> Result<()>;

    /// All items that are made: those of which the recipe's condition holds, those of the others of which `second` does, and the rest; and
    /// the two borders.
    fn partition3(
        &self,
        made: &fused::Made<'_>,
        second: &Condition,
        output: ErasedItemsMut<'_>,
        borders: ErasedItemsMut<'_>,
    ) -> Result<()>;

    /// The items that are made of which the recipe's condition holds, which begin runs; how many items each run has, in integers of this type;
    /// and how many runs there are.
    fn run_length_encode(
        &self,
        made: &fused::Made<'_>,
        outputs: [ErasedItemsMut<'_>; 3],
        length: Dtype,
    ) -> Result<()>;

    /// The selection of items that are made of arrays of the device's, or their partition, to be run as often as wanted.
    fn bind_select(
        &self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        to: SelectOutputs<ErasedItemsMut<'_>>,
    ) -> Result<Recording>;

    /// The same of a [partition in three parts](ErasedGpu::partition3).
    fn bind_partition3(
        &self,
        made: &fused::Made<'_>,
        second: &Condition,
        output: ErasedItemsMut<'_>,
        borders: ErasedItemsMut<'_>,
    ) -> Result<Recording>;

    /// A reduction of segments that arrays of the device's say, to be run as often as wanted.
    fn bind_segmented_reduce(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        packed: Option<Packed<'_, '_>>,
        problem: &ErasedReduce,
    ) -> Result<Recording>;

    /// A scan within segments that arrays of the device's say, to be run as often as wanted.
    fn bind_segmented_scan(
        &self,
        input: ErasedItems<'_>,
        segments: &Segments<'_>,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<Recording>;

    /// The value of each row of an n-dimensional array.
    fn reduce_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// The prefixes of each row.
    fn scan_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()>;

    /// The calls on rows of arrays of the device's, to be run as often as wanted.
    fn bind_rows(
        &self,
        call: &RowsCall<'_>,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
    ) -> Result<Recording>;

    /// The value of each row of items that are made as they are read. The problem's items are of the type that they are combined in.
    fn reduce_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedReduce,
    ) -> Result<()>;

    /// The prefixes of each row of items that are made as they are read; likewise.
    fn scan_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        problem: &ErasedScan,
    ) -> Result<()>;

    /// The first position of an extreme in each row, `u64::MAX` of a row without items.
    fn position_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        item: Dtype,
        extreme: Extreme,
    ) -> Result<()>;

    /// The same of items that are made as they are read, numbers of type `item`.
    fn position_rows_made(
        &self,
        made: &fused::Made<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        item: Dtype,
        extreme: Extreme,
    ) -> Result<()>;

    /// The items of each row.
    fn copy_rows(
        &self,
        input: ErasedItems<'_>,
        rows: &Rows,
        output: ErasedItemsMut<'_>,
        of: ErasedType,
    ) -> Result<()>;

    /// Of how many it holds.
    fn count(&self, made: &fused::Made<'_>, count: ErasedItemsMut<'_>) -> Result<()>;

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
    /// As [`ErasedGpu::select`], of what is made of the next chunk.
    fn select_next(
        &mut self,
        made: &fused::Made<'_>,
        selecting: Selecting,
        output: ErasedItemsMut<'_>,
        count: ErasedItemsMut<'_>,
    ) -> Result<()>;

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
