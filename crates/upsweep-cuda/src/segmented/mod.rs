//! Segmented reduce and scan: scans whose values know where segments begin.
//!
//! All kernels and strategies are those of `scan`; `segments.cuh` says where segments begin, and where their values go. Reductions by
//! offsets alone, which have less to write, have kernels of their own: `by_offsets.cuh`.

mod by_offsets;

use core::ops::Range;
use std::sync::Arc;

use upsweep_core::summation::GROUP;
use upsweep_core::{
    Determinism, Direction, Dtype, Element, Error, Kind, Language, Operator, Reduce, Result, Scan,
    SegmentedBy, Widen, segments,
};
use upsweep_gpu::bits::check;
use upsweep_gpu::{ErasedReduce, ErasedScan, HostItemsMut, Segmentation};

pub(crate) use by_offsets::ByOffsets;
#[cfg(test)]
pub(crate) use by_offsets::shader as by_offsets_shader;

use crate::backend::{
    ErasedSource, ErasedTarget, Ingredients, Inputs, MOST_ARRAYS, Source, Stored, Target, Workspace,
};
use crate::device::Gpu;
use crate::launch::Ready;
use crate::memory::Buffer;
use crate::record::Recording;
use crate::reduce::Init;
use crate::scan::{Form, ScanOptions};
use crate::shader::{Cut, Types};
use crate::slice::Slice;

/// An array that says where segments begin.
pub type Segments<'a> = upsweep_gpu::Segments<'a, Slice<'a>>;

/// Where the values of segments go, one behind another, and what is found out with them.
pub type Packed<'a, K> = upsweep_gpu::Packed<'a, K, Slice<'a>>;

/// The same without Rust's types.
pub type ErasedPacked<'a, 'b> = upsweep_gpu::ErasedPacked<'a, Slice<'b>>;

/// An array that is written: the caller's, or memory of ours that is copied to it in the end.
struct Written<'a, 'b> {
    slice: Slice<'b>,
    host: Option<(Buffer, &'a mut dyn HostItemsMut, Range<usize>)>,
}

impl<'a, 'b> Written<'a, 'b> {
    fn new(gpu: &Arc<Gpu>, target: ErasedTarget<'a, 'b>, kind: Kind) -> Result<Self> {
        Ok(match target {
            ErasedTarget::Device(slice) => Self { slice, host: None },
            ErasedTarget::Host(items, range) => {
                let count = range.len() as u64;
                let made = Buffer::new(gpu, (count * kind.size() as u64).max(1))?;
                let slice = Slice::at(made.pointer(), kind, count)?;
                Self { slice, host: Some((made, items, range)) }
            }
        })
    }

    /// Copies the first items to the host, if that is where they are wanted. Waits for them.
    fn finish(self, gpu: &Gpu, items: usize) -> Result<()> {
        let Some((made, to, Range { start, .. })) = self.host else { return Ok(()) };
        // SAFETY: the memory is ours, and has at least as many bytes.
        to.fill(start..start + items, &mut |data| unsafe { gpu.copy_out(made.pointer(), data) })
    }
}

impl Gpu {
    /// Writes every prefix within segments to `output`, which is as long as `input`. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan), and [`Error::Segments`].
    pub fn segmented_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        segments: Segments<'_>,
        mut output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
        let (input, output) = (input.erased(), output.erased());
        self.segmented_scan_erased(workspace, input, segments, output, &problem, options)
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    pub fn segmented_scan_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        segments: Segments<'_>,
        output: ErasedTarget<'_, '_>,
        problem: &ErasedScan,
        options: &ScanOptions,
    ) -> Result<()> {
        let items = output.len();
        if input.len() != items {
            return Err(Error::LengthMismatch { input: input.len(), output: items });
        }
        let types = self.types(&problem.signature)?;
        let (mut uploaded, mut marks) = (None, Vec::new());
        let marks = self.marks(&segments, items, &mut marks)?;
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let output = Written::new(self, output, types.output)?;
        let (input, words) = ([input], types.values.handed());
        let inputs = Inputs::of(&input, &words);
        let job = Job::scan(types, segments.by, inputs, [marks, output.slice], problem)?;
        job.begin(self, workspace, options)?;
        output.finish(self, items)
    }

    /// A segmented scan of `input` into `output` by `marks`, ready to be launched as often as wanted.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    ///
    /// # Safety
    /// The memory of all is there as long as the recording may run.
    pub unsafe fn bind_segmented_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        by: SegmentedBy,
        [input, marks, output]: [Slice<'_>; 3],
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        if input.items != output.items {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Cuda);
        let types = self.types(&problem.signature)?;
        let (input, words) = ([input], types.values.handed());
        let job = Job::scan(types, by, Inputs::of(&input, &words), [marks, output], &problem)?;
        Ok(Recording::new(self, job.ready(self, workspace, options)?, None))
    }

    /// Writes the value of each segment to `output`. By offsets it has an item for each. Else values go one behind another, with
    /// what is asked for in `packed`, and `output` and the keys have room for as many as there are items, all of which may be
    /// overwritten. Waits for what is in the host's memory only.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    pub fn segmented_reduce<T, U, O, K>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        segments: Segments<'_>,
        mut output: Target<'_, U>,
        packed: Option<Packed<'_, K>>,
        problem: &Reduce<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
        K: Element,
    {
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, Language::Cuda);
        let (input, output, mut packed) = (input.erased(), output.erased(), packed);
        let packed = packed.as_mut().map(Packed::erased);
        self.segmented_reduce_erased(workspace, input, segments, output, packed, &problem, options)
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    pub fn segmented_reduce_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        segments: Segments<'_>,
        output: ErasedTarget<'_, '_>,
        packed: Option<ErasedPacked<'_, '_>>,
        problem: &ErasedReduce,
        options: &ScanOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        let mut uploaded = None;
        let input = [self.on_device(input, types.item, &mut uploaded)?];
        let words = types.values.handed();
        let inputs = Inputs::of(&input, &words);
        self.reduce_segments(workspace, types, &inputs, segments, output, packed, problem, options)
    }

    /// The same of items that are made as they are read. The problem's items are of the type that they are combined in.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan) and [`reduce_made`](Gpu::reduce_made).
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    pub fn segmented_reduce_made_erased(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        made: &Ingredients<'_>,
        segments: Segments<'_>,
        output: ErasedTarget<'_, '_>,
        packed: Option<ErasedPacked<'_, '_>>,
        problem: &ErasedReduce,
        options: &ScanOptions,
    ) -> Result<()> {
        made.check(MOST_ARRAYS)?;
        let types = self.types_of_made(made.recipe, &problem.signature)?;
        self.with_inputs(made, &types, |inputs| {
            let types = types.clone();
            self.reduce_segments(
                workspace, types, inputs, segments, output, packed, problem, options,
            )
        })
    }

    /// A reduction of segments of what kernels read.
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    fn reduce_segments(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        inputs: &Inputs<'_>,
        segments: Segments<'_>,
        output: ErasedTarget<'_, '_>,
        packed: Option<ErasedPacked<'_, '_>>,
        problem: &ErasedReduce,
        options: &ScanOptions,
    ) -> Result<()> {
        let items = usize::try_from(inputs.items).unwrap_or(usize::MAX);
        let mut marks = Vec::new();
        let marks = self.marks(&segments, items, &mut marks)?;
        let output = Written::new(self, output, types.output)?;
        let (unique, count) =
            packed.map_or((None, None), |packed| (packed.unique, Some(packed.count)));
        let unique =
            unique.map(|(unique, keys)| Written::new(self, unique, keys.kind)).transpose()?;
        let number = Kind::Number(Dtype::U64);
        let count = count.map(|count| Written::new(self, count, number)).transpose()?;
        let asked = Asked {
            unique: unique.as_ref().map(|unique| unique.slice),
            count: count.as_ref().map(|count| count.slice),
        };
        let slices = [marks, output.slice];
        let job = Job::reduce(types, segments.by, *inputs, slices, &asked, problem)?;
        job.begin(self, workspace, options)?;
        let mut found = output.slice.len();
        let to_host = output.host.is_some() || unique.as_ref().is_some_and(|of| of.host.is_some());
        if let Some(count) = asked.count.filter(|_| to_host) {
            let mut bytes = [0; 8];
            // SAFETY: there is one number.
            unsafe { self.copy_out(count.pointer, &mut bytes) }?;
            found = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(found).min(found);
        }
        output.finish(self, found)?;
        unique.map_or(Ok(()), |unique| unique.finish(self, found))?;
        count.map_or(Ok(()), |count| count.finish(self, 1))
    }

    /// A reduction of segments of `input` into `output` by `marks`, ready to be launched as often as wanted; by keys or flags with
    /// the array of keys, if it is wanted, and that of the one number how many there are.
    ///
    /// # Errors
    /// As [`segmented_reduce`](Gpu::segmented_reduce).
    ///
    /// # Safety
    /// The memory of all is there as long as the recording may run.
    pub unsafe fn bind_segmented_reduce<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        by: SegmentedBy,
        [input, marks, output]: [Slice<'_>; 3],
        [unique, count]: [Option<Slice<'_>>; 2],
        problem: &Reduce<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, Language::Cuda);
        let types = self.types(&problem.signature)?;
        let (input, words) = ([input], types.values.handed());
        let (inputs, asked) = (Inputs::of(&input, &words), Asked { unique, count });
        let job = Job::reduce(types, by, inputs, [marks, output], &asked, &problem)?;
        Ok(Recording::new(self, job.ready(self, workspace, options)?, None))
    }

    /// The array that says where segments begin in the device's memory.
    fn marks<'a>(
        self: &Arc<Self>,
        segments: &Segments<'a>,
        items: usize,
        uploaded: &mut Vec<Buffer>,
    ) -> Result<Slice<'a>> {
        let Segments { by, kind, count, .. } = *segments;
        check(kind, self.id(), &kind.to_string())?;
        segments::check_array(by, kind, count, items)?;
        if let Stored::Host(bytes) = &segments.stored {
            segments::bytes_of(bytes, kind, count)?;
        }
        self.one_on_device(&segments.stored, kind, count as u64, uploaded)
    }
}

/// What is found out beside values that go one behind another.
struct Asked<'a> {
    unique: Option<Slice<'a>>,
    count: Option<Slice<'a>>,
}

/// What is launched.
struct Job<'a> {
    types: Types,
    form: Form,
    inputs: Inputs<'a>,
    marks: Slice<'a>,
    /// The first is where values go.
    outputs: Vec<Slice<'a>>,
    /// What stands in `Inputs` beside arrays: `segments.cuh`.
    beside: [u64; 4],
    init: Init,
}

impl<'a> Job<'a> {
    fn scan(
        types: Types,
        by: SegmentedBy,
        inputs: Inputs<'a>,
        [marks, output]: [Slice<'a>; 2],
        problem: &ErasedScan,
    ) -> Result<Self> {
        let (cut, segments) = cut(by, &marks, problem.direction, inputs.items, false)?;
        Ok(Self {
            types: Types { cut: Some(cut), ..types },
            form: Form::new(problem),
            inputs,
            marks,
            outputs: vec![output],
            beside: [marks.pointer, segments, 0, 0],
            init: problem.init,
        })
    }

    fn reduce(
        types: Types,
        by: SegmentedBy,
        inputs: Inputs<'a>,
        [marks, output]: [Slice<'a>; 2],
        asked: &Asked<'a>,
        problem: &ErasedReduce,
    ) -> Result<Self> {
        let (cut, segments) = cut(by, &marks, Direction::Forward, inputs.items, true)?;
        let room = if cut.packs() { inputs.items } else { segments };
        for slice in [Some(output), asked.unique].into_iter().flatten() {
            if slice.items != room {
                let input = usize::try_from(room).unwrap_or(usize::MAX);
                return Err(Error::LengthMismatch { input, output: slice.len() });
            }
        }
        let keys = asked.unique.as_ref().map(Slice::kind);
        segments::check_asked(by, cut.kind, keys, asked.count.is_some())?;
        if let Some(count) = asked.count.filter(|count| count.items != 1) {
            return Err(Error::ResultLength { items: count.len() });
        }
        let address = |of: Option<Slice<'_>>| of.map_or(0, |slice| slice.pointer);
        let everywhere = problem.determinism == Determinism::Everywhere;
        Ok(Self {
            types: Types { cut: Some(cut), ..types },
            form: Form { everywhere, only_total: false, ..Form::TOTAL },
            inputs,
            marks,
            outputs: [Some(output), asked.unique, asked.count].into_iter().flatten().collect(),
            beside: [marks.pointer, segments, address(asked.unique), address(asked.count)],
            init: problem.init,
        })
    }

    /// All arrays that are read.
    fn read(&self) -> impl Iterator<Item = &Slice<'a>> {
        self.inputs.all().chain([&self.marks])
    }

    /// Its launch; `None` if there is nothing to do but to say so.
    fn ready(
        &self,
        gpu: &Arc<Gpu>,
        workspace: &mut Workspace,
        options: &ScanOptions,
    ) -> Result<Option<Ready>> {
        for (number, output) in self.outputs.iter().enumerate() {
            let mut others = self.read().chain(&self.outputs[..number]);
            others.try_for_each(|other| other.check_apart(output))?;
        }
        if self.outputs[0].items == 0 {
            return Ok(None);
        }
        let (types, inputs, output) = (self.types.clone(), &self.inputs, &self.outputs[0]);
        let (form, beside, init) = (self.form, &self.beside, self.init);
        if let Some(cut) = self.types.cut.as_ref().filter(|cut| cut.reduces && !cut.packs()) {
            let lies = ByOffsets::lies(&types, inputs);
            let items = inputs.items;
            let known =
                workspace.by_offsets.take().filter(|known| known.suits(&types, lies, items));
            let reducing = match known {
                Some(known) => known,
                None => ByOffsets::new(gpu, types, cut, lies, items.max(workspace.items))?,
            };
            let ready = reducing.bind(gpu, inputs, beside, *output, init);
            workspace.by_offsets = Some(reducing);
            return ready.map(Some);
        }
        gpu.ready_with(workspace, types, form, inputs, output, beside, init, options).map(Some)
    }

    /// Begins it in the device's stream.
    fn begin(
        &self,
        gpu: &Arc<Gpu>,
        workspace: &mut Workspace,
        options: &ScanOptions,
    ) -> Result<()> {
        let Some(ready) = self.ready(gpu, workspace, options)? else {
            let [.., count] = self.beside;
            // SAFETY: if there is such an array, it has one number.
            return if count == 0 { Ok(()) } else { unsafe { gpu.copy_in(count, &[0; 8]) } };
        };
        let slices: Vec<&Slice<'_>> = self.read().chain(&self.outputs).collect();
        gpu.in_order(gpu.stream(), &slices, || ready.begin(gpu, gpu.stream()))
    }
}

/// How an array cuts `items` items into segments, and how many it says there are.
fn cut(
    by: SegmentedBy,
    marks: &Slice<'_>,
    direction: Direction,
    items: u64,
    reduces: bool,
) -> Result<(Cut, u64)> {
    let kind = marks.kind();
    segments::check_array(by, kind, marks.len(), usize::try_from(items).unwrap_or(usize::MAX))?;
    let begin = match direction {
        Direction::Forward => marks.pointer(),
        Direction::Reverse => marks.pointer() + marks.bytes(),
    };
    let group = (GROUP * kind.size()) as u64;
    let aligned = begin.is_multiple_of(group.min(16)) && kind.size().is_power_of_two();
    let (offsets, long) = (by == SegmentedBy::Offsets, u32::try_from(items).is_err());
    let segments = if offsets { marks.items - 1 } else { 0 };
    let of = Segmentation { by, kind, wide: !offsets && aligned, reduces };
    Ok((Cut { of, long }, segments))
}
