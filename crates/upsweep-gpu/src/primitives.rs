//! What a backend says of its GPU, each primitive by itself.

use std::sync::Arc;

use upsweep_core::{
    Dtype, Extreme, GpuReduceStrategy, GpuScanStrategy, Kind, Language, Limits, Recipe, Result,
    Rows, RowsStrategy, WorkgroupPolicy,
};

use crate::arrays::{Inputs, Part};
use crate::bits::Words;
use crate::erased::Signature;
use crate::options::{Form, Init, ReduceOptions, ScanOptions};
use crate::segmented::Beside;
use crate::{Syntax, Types};

/// What a launch computes.
pub struct Job<'i, 'a, G: GpuDevice> {
    /// Of which types.
    pub types: Types<G::Syntax>,
    /// Of what.
    pub inputs: Inputs<'i, G::Slice<'a>>,
    /// From which value on.
    pub init: Init,
}

/// A GPU: its memory, and how what is bound to arrays in it is launched.
pub trait GpuDevice: Send + Sync + Sized {
    /// The language of its kernels.
    type Syntax: Syntax;

    /// The same, as operators and functions know it.
    const LANGUAGE: Language = <Self::Syntax as Syntax>::LANGUAGE;

    /// Most arrays that a kernel reads.
    const MOST_ARRAYS: usize;

    /// Whether a kernel that reads no items may be given any array.
    const READS_NOTHING_ANYWHERE: bool;

    /// Items in the device's memory.
    type Slice<'a>: Part;

    /// Memory of ours on the device.
    type Buffer: Send + Sync + 'static;

    /// A place in the host's memory where a kernel leaves a number, and the host looks for it.
    type Mailbox;

    /// Kernels with their arrays, to be launched while these are there.
    type Bound<'a>;

    /// Scratch memory of one plan, with the kernels that calls have made.
    type Workspace: Default + Send;

    /// The id it was opened with.
    fn id(&self) -> &str;

    /// What the device can do.
    fn limits(&self) -> &Limits;

    /// Scratch memory for calls with at most `items` items.
    fn workspace(items: u64) -> Self::Workspace;

    /// The items that a workspace was made for; 0 of one that was made for none in particular.
    fn planned(workspace: &Self::Workspace) -> u64;

    /// Whether a call may use scratch memory of an earlier one: not where a graph is made of it, whose runs come at any time.
    fn keeps_workspaces(&self) -> bool {
        true
    }

    /// Checks that the device computes with what kernels of these types do.
    ///
    /// # Errors
    /// [`ElementUnsupported`](upsweep_core::Error::ElementUnsupported) if it does not.
    fn check(&self, _: &Types<Self::Syntax>) -> Result<()> {
        Ok(())
    }

    /// The types of a kernel, if there can be such a one, though nothing be there to run it on.
    ///
    /// # Errors
    /// Those of [`Types::checked`] and of [`check`](GpuDevice::check).
    fn types(&self, signature: &Signature) -> Result<Types<Self::Syntax>> {
        let types = Types::checked(signature, self.id())?;
        self.check(&types)?;
        Ok(types)
    }

    /// The types of a kernel whose items are made of those of arrays.
    ///
    /// # Errors
    /// As [`types`](GpuDevice::types).
    fn types_of_made(&self, recipe: &Recipe, signature: &Signature) -> Result<Types<Self::Syntax>> {
        let types = Types::checked_of_made(recipe, signature, self.id())?;
        self.check(&types)?;
        Ok(types)
    }

    /// The types of a search for the position of an extreme.
    ///
    /// # Errors
    /// Those of [`check`](GpuDevice::check).
    fn types_of_position(&self, item: Dtype, extreme: Extreme) -> Result<Types<Self::Syntax>> {
        let types = Types::of_position(item, extreme);
        self.check(&types)?;
        Ok(types)
    }

    /// The types of such a search among numbers that are made by a recipe.
    ///
    /// # Errors
    /// Those of [`Types::of_position_made`] and of [`check`](GpuDevice::check).
    fn types_of_position_made(
        &self,
        recipe: &Recipe,
        search: (Dtype, Extreme),
    ) -> Result<Types<Self::Syntax>> {
        let types = Types::of_position_made(recipe, search, self.id())?;
        self.check(&types)?;
        Ok(types)
    }

    /// The same items, borrowed for less long.
    fn reborrow<'a, 'b: 'a>(slice: Self::Slice<'b>) -> Self::Slice<'a>;

    /// Memory for so many bytes that kernels write.
    ///
    /// # Errors
    /// [`OutOfMemory`](upsweep_core::Error::OutOfMemory), and those of the device.
    fn room(self: &Arc<Self>, bytes: u64) -> Result<Self::Buffer>;

    /// Memory with a copy of these bytes of the host's, which are read when this returns.
    ///
    /// # Errors
    /// As [`room`](GpuDevice::room).
    fn upload(self: &Arc<Self>, bytes: &[u8]) -> Result<Self::Buffer>;

    /// The first `items` items of memory of ours, which are of this kind.
    ///
    /// # Errors
    /// [`Buffer`](upsweep_core::Error::Buffer) if it holds fewer.
    fn slice(buffer: &Self::Buffer, kind: Kind, items: u64) -> Result<Self::Slice<'_>>;

    /// A mailbox without a number; none of a backend whose numbers are copied from the device's memory.
    ///
    /// # Errors
    /// Those of the device.
    fn mailbox(self: &Arc<Self>, _: &mut Self::Workspace) -> Result<Option<Self::Mailbox>> {
        Ok(None)
    }

    /// The one item of a mailbox, an integer of 64 bits, which one launch stores at once, and which is never the largest.
    ///
    /// # Errors
    /// As [`slice`](GpuDevice::slice).
    fn slot(mailbox: &Self::Mailbox) -> Result<Self::Slice<'_>>;

    /// The number that a launch leaves in a mailbox. Waits for it.
    ///
    /// # Errors
    /// Those of the device, and of what was begun.
    fn number(&self, mailbox: &Self::Mailbox) -> Result<u64>;

    /// Keeps a mailbox, whose number was waited for, for the next call.
    fn put_back(workspace: &mut Self::Workspace, mailbox: Self::Mailbox);

    /// Writes bytes, of which there are as many, behind what was begun and before what will be.
    ///
    /// # Errors
    /// Those of the device.
    fn to_device(&self, to: &Self::Slice<'_>, bytes: &[u8]) -> Result<()>;

    /// Waits for everything that was begun, and copies bytes, of which there are as many, to the host.
    ///
    /// # Errors
    /// Those of the device, and of what was begun.
    fn to_host(&self, from: &Self::Slice<'_>, bytes: &mut [u8]) -> Result<()>;

    /// Checks that an array of the caller's can be copied to from the host, or from there, if that is
    /// wanted.
    ///
    /// # Errors
    /// [`Buffer`](upsweep_core::Error::Buffer) if it cannot.
    fn check_copies(&self, _: &Self::Slice<'_>, _written: bool, _read: bool) -> Result<()> {
        Ok(())
    }

    /// The one, and the other behind it. The strategy that is told is the other's.
    fn joined<'a>(first: Self::Bound<'a>, second: Self::Bound<'a>) -> Self::Bound<'a>;

    /// Launches what is bound to its arrays, and does not wait.
    ///
    /// # Errors
    /// Those of the device.
    fn begin(&self, bound: &Self::Bound<'_>) -> Result<()>;

    /// Waits for everything that was begun, and says whether it went well.
    ///
    /// # Errors
    /// Those of the device, and of what was begun.
    fn wait(&self) -> Result<()>;
}

/// Reductions that are bound to arrays.
pub trait BindReduce: GpuDevice {
    /// The strategy and policy of a sum of `items` integers of `item_bytes` bytes, where none are asked for.
    fn reduce_choice(&self, items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy);

    /// A reduction into the one item of `result`, which is apart from what is read.
    ///
    /// # Errors
    /// [`NotCommutative`](upsweep_core::Error::NotCommutative), [`StrategyRefused`](upsweep_core::Error::StrategyRefused), and those of
    /// the device.
    fn bind_reduction<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        result: Self::Slice<'a>,
        options: &ReduceOptions,
    ) -> Result<Self::Bound<'a>>;

    /// A reduction whose value the host gets: its words of memory. Of arrays that may come `again`, what is bound to them may be kept.
    ///
    /// # Errors
    /// As [`bind_reduction`](BindReduce::bind_reduction).
    fn await_reduction(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, '_, Self>,
        again: bool,
        options: &ReduceOptions,
    ) -> Result<Words>;
}

/// Scans that are bound to arrays.
pub trait BindScan: GpuDevice {
    /// The strategy and policy of a scan, where none are asked for: of words of `packed` items if it can be one of such.
    fn scan_choice(
        &self,
        items: u64,
        item_bytes: usize,
        packed: u32,
    ) -> (GpuScanStrategy, WorkgroupPolicy);

    /// A scan into `output`, which has as many items, and is apart from what is read or the same array.
    ///
    /// # Errors
    /// [`Buffer`](upsweep_core::Error::Buffer) if it is neither, [`StrategyRefused`](upsweep_core::Error::StrategyRefused), and those of
    /// the device.
    fn bind_scanning<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        form: Form,
        output: Self::Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>;

    /// Says that the [carry](BindScan::carry) of the next scan will be asked for.
    fn will_carry(_: &mut Self::Workspace) {}

    /// The words of memory of what comes in behind the last scan of this workspace, which was one of `items` items: whole windows.
    /// Waits for it.
    ///
    /// # Errors
    /// [`ChunkLength`](upsweep_core::Error::ChunkLength) unless they were whole windows, and those of the device.
    fn carry(&self, workspace: &Self::Workspace, items: u64) -> Result<Words>;
}

/// Scans within segments, and reductions of them, that are bound to arrays.
pub trait BindSegmented: GpuDevice {
    /// A scan within segments, or a reduction of them, with the arrays that it has beside items and output, whose lengths are right.
    ///
    /// # Errors
    /// As [`bind_scanning`](BindScan::bind_scanning).
    fn bind_segmented<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        form: Form,
        beside: &Beside<Self::Slice<'a>>,
        output: Self::Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>;
}

/// Selections that are bound to arrays.
pub trait BindSelect: GpuDevice {
    /// A selection, which writes what its form says.
    ///
    /// # Errors
    /// As [`bind_scanning`](BindScan::bind_scanning).
    fn bind_selection<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        form: Form,
        to: SelectOutputs<Self::Slice<'a>>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>;
}

/// Calls on the rows of n-dimensional arrays, bound to them. Input and output lie apart, and every place of the rows is within them.
/// The way that threads lie is chosen if it is not given; across rows there is an axis.
pub trait BindRows: GpuDevice {
    /// A reduction of each row into its place of the output; of rows without items, the start value or the identity; of no rows, nothing.
    ///
    /// # Errors
    /// As [`bind_reduction`](BindReduce::bind_reduction).
    fn bind_rows_reduction<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        rows: &Rows,
        way: Option<RowsStrategy>,
        output: Self::Slice<'a>,
    ) -> Result<Self::Bound<'a>>;

    /// A scan of each row into its places of the output; of no items, nothing.
    ///
    /// # Errors
    /// As [`bind_scanning`](BindScan::bind_scanning).
    fn bind_rows_scan<'a>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        job: Job<'_, 'a, Self>,
        rows: &Rows,
        form_and_way: (Form, Option<RowsStrategy>),
        output: Self::Slice<'a>,
    ) -> Result<Self::Bound<'a>>;

    /// The same of rows whose items are neighbours in memory, as are those of the output, in one launch in which each row is an array of its own:
    /// the job's first array and the output begin with the first row. `None` if the device has no such launch, or if other ways are as good and
    /// nobody asks for this one.
    ///
    /// # Errors
    /// As [`bind_scanning`](BindScan::bind_scanning).
    fn bind_batch_scan<'a>(
        self: &Arc<Self>,
        _workspace: &mut Self::Workspace,
        _job: Job<'_, 'a, Self>,
        _rows: &Rows,
        _form_and_is_asked: (Form, bool),
        _output: &Self::Slice<'a>,
    ) -> Result<Option<Self::Bound<'a>>> {
        Ok(None)
    }

    /// A copy of every item, of which there is at least one, to its place in the output: unsigned integers, of rows of one item.
    ///
    /// # Errors
    /// Those of the device.
    fn bind_rows_copy<'a>(
        self: &Arc<Self>,
        job: Job<'_, 'a, Self>,
        rows: &Rows,
        output: Self::Slice<'a>,
    ) -> Result<Self::Bound<'a>>;
}

/// Where a selection writes.
#[derive(Clone, Copy, Debug)]
pub struct SelectOutputs<S> {
    /// Items; none where they are only counted.
    pub items: Option<S>,
    /// How many items runs have; none unless items begin runs.
    pub lengths: Option<S>,
    /// The number of items. Of those that are partitioned, it is there.
    pub count: S,
}

impl<S> SelectOutputs<S> {
    /// What `body` makes of each, or its first error.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn try_map<T>(self, body: impl Fn(S) -> Result<T>) -> Result<SelectOutputs<T>> {
        let Self { items, lengths, count } = self;
        Ok(SelectOutputs {
            items: items.map(&body).transpose()?,
            lengths: lengths.map(&body).transpose()?,
            count: body(count)?,
        })
    }

    /// All that there are.
    pub fn all(&self) -> impl Iterator<Item = &S> {
        self.items.iter().chain(&self.lengths).chain([&self.count])
    }
}

/// What a backend says of its GPU: how kernels are bound to arrays which it holds at once. What calls do with these, they do alike on
/// every GPU.
pub trait Primitives: BindReduce + BindScan + BindSegmented + BindSelect + BindRows {}

impl<G: BindReduce + BindScan + BindSegmented + BindSelect + BindRows> Primitives for G {}
