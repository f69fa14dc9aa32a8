//! What a backend says of its GPU.

use std::sync::Arc;

use upsweep_core::{
    Dtype, Extreme, GpuOptions, GpuReduceStrategy, GpuScanStrategy, Language, Limits, Result,
    WorkgroupPolicy,
};

use crate::arrays::{ErasedSource, ErasedTarget, Part};
use crate::bits::Words;
use crate::erased::{ErasedReduce, ErasedScan, Signature};

/// The primitives of a GPU, on arrays that it holds at once.
pub trait Primitives: Send + Sync + Sized {
    /// The language of its kernels.
    const LANGUAGE: Language;

    /// Items in the device's memory.
    type Slice<'a>: Part;

    /// Scratch memory of one plan.
    type Workspace: Default + Send;

    /// The id it was opened with.
    fn id(&self) -> &str;

    /// What the device can do.
    fn limits(&self) -> &Limits;

    /// The strategy and policy of a sum of `items` integers of `item_bytes` bytes, where none are asked for.
    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy);

    /// The strategy and policy of a scan, where none are asked for: of words of `packed` items if it can be one of such.
    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy);

    /// Scratch memory for calls with at most `items` items.
    fn workspace(items: u64) -> Self::Workspace;

    /// The items that a workspace was made for; 0 of one that was made for none in particular.
    fn planned(workspace: &Self::Workspace) -> u64;

    /// Checks that there can be kernels of these types, though nothing be there to run them on.
    fn check_types(&self, signature: &Signature) -> Result<()>;

    /// Combines all items into one value, and waits for its words of memory.
    fn reduce(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: ErasedSource<'_, Self::Slice<'_>>,
        problem: &ErasedReduce,
        options: &GpuOptions,
    ) -> Result<Words>;

    /// Combines all items into the one item of `result`. Does not wait.
    fn reduce_into(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: ErasedSource<'_, Self::Slice<'_>>,
        result: Self::Slice<'_>,
        problem: &ErasedReduce,
        options: &GpuOptions,
    ) -> Result<()>;

    /// The first position of an extreme among items of this type; `None` if there are no items.
    fn position(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: ErasedSource<'_, Self::Slice<'_>>,
        item: Dtype,
        extreme: Extreme,
        options: &GpuOptions,
    ) -> Result<Option<u64>>;

    /// Writes every prefix of `input` to `output`, or replaces the items of `output` by theirs if there is no input. Waits for
    /// an output in the host's memory only.
    fn scan(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Option<ErasedSource<'_, Self::Slice<'_>>>,
        output: ErasedTarget<'_, Self::Slice<'_>>,
        problem: &ErasedScan,
        options: &GpuOptions,
    ) -> Result<()>;

    /// Says that the [carry](Primitives::carry) of the next scan will be asked for.
    fn will_carry(_: &mut Self::Workspace) {}

    /// The words of memory of what comes in behind the last scan of this workspace, which was one of `items` items: whole windows.
    /// Waits for it.
    fn carry(&self, workspace: &Self::Workspace, items: u64) -> Result<Words>;

    /// Waits for everything that was begun, and says whether it went well.
    fn wait(&self) -> Result<()>;
}
