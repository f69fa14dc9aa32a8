//! Segmented reductions and scans: the steps of a call.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Kind, Result, SegmentedBy, segments};

use crate::arrays::{
    ErasedPacked, ErasedSource, ErasedTarget, Ingredients, Inputs, Part, Segments, Stored,
    check_lengths, one_length,
};
use crate::bits::check;
use crate::erased::{ErasedReduce, ErasedScan};
use crate::on_device::{self, Written};
use crate::options::{Form, ScanOptions};
use crate::primitives::{Job, Primitives};

/// No items.
const NOTHING: &[u8] = &[];

/// What the number of segments is.
const COUNT: Kind = Kind::Number(Dtype::U64);

/// What kernels of segments have beside items and outputs.
#[derive(Clone, Copy, Debug)]
pub struct Beside<S> {
    /// What says where segments begin.
    pub marks: Marks<S>,
    /// Whether segments are reduced, and not scanned.
    pub reduces: bool,
    /// Where the key of each segment goes.
    pub unique: Option<S>,
    /// Where the number of segments goes.
    pub count: Option<S>,
}

impl<S: Part> Beside<S> {
    /// Whether values go one behind another, wherever segments lie.
    pub fn packs(&self) -> bool {
        self.reduces && self.marks.by != SegmentedBy::Offsets
    }

    /// How many segments there are, or most of them, if offsets say so.
    pub fn segments(&self) -> u64 {
        match self.marks.by {
            SegmentedBy::Offsets => self.marks.slice.len().saturating_sub(1) as u64,
            SegmentedBy::Keys | SegmentedBy::Flags => 0,
        }
    }
}

impl<S: Part> Beside<S> {
    /// Where the device has the number of items, if it has.
    fn length(&self, of_items: Option<S>) -> Result<Option<S>> {
        length_with(of_items, self.marks.by, self.marks.slice.length())
    }

    /// Where the device has the number of offsets, if the host knows no more than their bound.
    pub fn offsets(&self) -> Option<S> {
        offsets_with(self.marks.by, self.marks.slice.length())
    }
}

/// Where the device has the number of items, of which there are as many as keys and flags.
fn length_with<S: Part>(
    of_items: Option<S>,
    by: SegmentedBy,
    of_marks: Option<S>,
) -> Result<Option<S>> {
    let of_marks = of_marks.filter(|_| by != SegmentedBy::Offsets);
    one_length(of_items.into_iter().chain(of_marks))
}

/// Where the device has the number of offsets.
fn offsets_with<S>(by: SegmentedBy, of_marks: Option<S>) -> Option<S> {
    of_marks.filter(|_| by == SegmentedBy::Offsets)
}

/// Checks what is said of an array that says where segments of `items` items begin.
fn check_marks<G: Primitives, S>(gpu: &G, segments: &Segments<'_, S>, items: usize) -> Result<()> {
    let Segments { by, kind, count, ref stored } = *segments;
    check(kind, gpu.id(), &kind.to_string())?;
    segments::check_array(by, kind, count, items)?;
    match stored {
        Stored::Host(bytes) => segments::bytes_of(bytes, kind, count).map(drop),
        Stored::Device(_) => Ok(()),
    }
}

/// Writes every prefix within segments to `output`, which is as long as `input`. Waits for an output in the host's memory only.
///
/// # Errors
/// As [`scan`](crate::scan::scan), and [`Error::Segments`].
pub fn scan<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    segments: &Segments<'_, G::Slice<'_>>,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<()> {
    let items = output.len();
    let length = length_with(
        input.length().map(G::reborrow),
        segments.by,
        segments.stored.length().map(G::reborrow),
    )?;
    check_lengths(input.len(), items)?;
    let types = gpu.types(&problem.signature)?;
    check_marks(&**gpu, segments, items)?;
    if items == 0 {
        return Ok(());
    }
    let mut uploaded = None;
    let uploaded_marks = on_device::upload(gpu, &segments.stored, segments.kind, segments.count)?;
    let input = [on_device::source(gpu, input, types.item, &mut uploaded)?];
    let output = Written::new(gpu, output, types.output)?;
    let words = types.values.handed();
    let job = Job { types, inputs: Inputs::of(&input, &words), init: problem.init };
    let call = Call::scan(job, problem, marks::<G>(segments, &uploaded_marks)?, output.slice()?);
    call.begin(gpu, workspace, options)?;
    output.finish_known(gpu, length, items)
}

/// A segmented scan of the first slice into the second. Segments begin as the marks say, which are of this kind.
///
/// # Errors
/// As [`scan`].
pub fn bind_scan<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    marks: Marks<G::Slice<'a>>,
    problem: &ErasedScan,
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    check_lengths(input.len(), output.len())?;
    marks.check(input.len())?;
    let types = gpu.types(&problem.signature)?;
    let (input, words) = ([input], types.values.handed());
    let job = Job { types, inputs: Inputs::of(&input, &words), init: problem.init };
    Call::scan(job, problem, marks, output).bind(gpu, workspace, options)
}

/// Writes the value of each segment to `output`. By offsets it has an item for each. Else values go one behind another, with what is
/// asked for in `packed`, and `output` and the keys have room for as many as there are items, all of which may be overwritten. Waits
/// for what is in the host's memory only.
///
/// # Errors
/// As [`scan`].
pub fn reduce<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    segments: &Segments<'_, G::Slice<'_>>,
    to: Reduced<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &ScanOptions,
) -> Result<()> {
    let types = gpu.types(&problem.signature)?;
    let items = input.len();
    check_marks(&**gpu, segments, items)?;
    let input = match items == 0 && !G::READS_NOTHING_ANYWHERE {
        true => ErasedSource::Host(&NOTHING, 0..0),
        false => input,
    };
    let mut uploaded = None;
    let input = [on_device::source(gpu, input, types.item, &mut uploaded)?];
    let uploaded_marks = on_device::upload(gpu, &segments.stored, segments.kind, segments.count)?;
    let outputs = Outputs::new(gpu, segments, items, types.output, to)?;
    let words = types.values.handed();
    let job = Job { types, inputs: Inputs::of(&input, &words), init: problem.init };
    let marks = marks::<G>(segments, &uploaded_marks)?;
    outputs.begin(gpu, workspace, job, marks, problem, options)?;
    outputs.finish(gpu, segments)
}

/// The same of items that are made as they are read. The problem's items are of the type that they are combined in.
///
/// # Errors
/// As [`scan`] and [`reduce_made`](crate::reduce::reduce_made).
pub fn reduce_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    segments: &Segments<'_, G::Slice<'_>>,
    to: Reduced<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &ScanOptions,
) -> Result<()> {
    made.check(G::MOST_ARRAYS)?;
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    if made.items == 0 && !G::READS_NOTHING_ANYWHERE {
        // There is nothing to make, but a value for each segment.
        let nothing = ErasedSource::Host(&NOTHING, 0..0);
        return reduce(gpu, workspace, nothing, segments, to, problem, options);
    }
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_marks(&**gpu, segments, items)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let uploaded_marks = on_device::upload(gpu, &segments.stored, segments.kind, segments.count)?;
    let outputs = Outputs::new(gpu, segments, items, types.output, to)?;
    let slices = on_device::stored_all::<G>(made, &uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let job = Job { types, inputs, init: problem.init };
    let marks = marks::<G>(segments, &uploaded_marks)?;
    outputs.begin(gpu, workspace, job, marks, problem, options)?;
    // They borrow what the outputs are written to.
    drop(slices);
    outputs.finish(gpu, segments)
}

/// A reduction of segments of the first slice into the second. Segments begin as the marks say; by keys or flags with the array of
/// keys, if it is wanted, and that of the one number how many there are.
///
/// # Errors
/// As [`reduce`].
pub fn bind_reduce<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    marks: Marks<G::Slice<'a>>,
    [unique, count]: [Option<G::Slice<'a>>; 2],
    problem: &ErasedReduce,
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types(&problem.signature)?;
    marks.check(input.len())?;
    let keys = unique.map(|unique| (unique.kind().unwrap_or(marks.kind), unique.len()));
    let counts = count.map(|count| count.len());
    let of_marks = (marks.by, marks.kind, marks.slice.len());
    let room = check_outputs(of_marks, input.len(), output.len(), keys, counts)?;
    if let Some(count) = count.filter(|_| room == 0) {
        // Runs have nothing to do.
        gpu.to_device(&count, &[0; 8])?;
    }
    let (input, words) = ([input], types.values.handed());
    let job = Job { types, inputs: Inputs::of(&input, &words), init: problem.init };
    Call::reduce(job, problem, marks, output, [unique, count]).bind(gpu, workspace, options)
}

/// An array of the device that says where segments begin.
#[derive(Clone, Copy, Debug)]
pub struct Marks<S> {
    /// How it does.
    pub by: SegmentedBy,
    /// Of what it is.
    pub kind: Kind,
    /// Where it is.
    pub slice: S,
}

impl<S: Part> Marks<S> {
    /// Checks that there are as many as segments of so many items have.
    fn check(&self, items: usize) -> Result<()> {
        segments::check_array(self.by, self.kind, self.slice.len(), items)
    }
}

/// The marks of these segments in the device's memory, where they lie or where they were brought.
fn marks<'a, 'b: 'a, G: Primitives>(
    segments: &Segments<'_, G::Slice<'b>>,
    uploaded: &'a Option<G::Buffer>,
) -> Result<Marks<G::Slice<'a>>> {
    let Segments { by, kind, count, ref stored } = *segments;
    Ok(Marks { by, kind, slice: on_device::stored::<G>(stored, kind, count, uploaded.as_ref())? })
}

/// Where the values of segments go, and what else is asked for where they go one behind another.
pub type Reduced<'a, S> = (ErasedTarget<'a, S>, Option<ErasedPacked<'a, S>>);

/// Checks the lengths of what a reduction of segments writes, and what it is asked for: the marks are said by how they do, of what they
/// are and how many. Returns how many values there is room for.
fn check_outputs(
    (by, kind, marks): (SegmentedBy, Kind, usize),
    items: usize,
    output: usize,
    keys: Option<(Kind, usize)>,
    count: Option<usize>,
) -> Result<usize> {
    let room = if by == SegmentedBy::Offsets { marks.saturating_sub(1) } else { items };
    check_lengths(room, output)?;
    segments::check_asked(by, kind, keys.map(|(kind, _)| kind), count.is_some())?;
    keys.map_or(Ok(()), |(_, keys)| check_lengths(room, keys))?;
    match count.filter(|count| *count != 1) {
        Some(items) => Err(Error::ResultLength { items }),
        None => Ok(room),
    }
}

/// What a reduction of segments writes.
struct Outputs<'a, 'b, G: Primitives> {
    values: Written<'a, 'b, G>,
    unique: Option<Written<'a, 'b, G>>,
    count: Option<Written<'a, 'b, G>>,
    /// Values for which there is room.
    room: usize,
}

impl<'a, 'b, G: Primitives> Outputs<'a, 'b, G> {
    fn new<S>(
        gpu: &Arc<G>,
        segments: &Segments<'_, S>,
        items: usize,
        kind: Kind,
        (values, packed): Reduced<'a, G::Slice<'b>>,
    ) -> Result<Self> {
        let (unique, count) =
            packed.map_or((None, None), |packed| (packed.unique, Some(packed.count)));
        let keys = unique.as_ref().map(|(unique, keys)| (keys.kind, unique.len()));
        let marks = (segments.by, segments.kind, segments.count);
        let counts = count.as_ref().map(ErasedTarget::len);
        let room = check_outputs(marks, items, values.len(), keys, counts)?;
        let values = Written::new(gpu, values, kind)?;
        let unique = unique
            .map(|(unique, keys)| Written::new(gpu, unique, keys.check(gpu.id())?))
            .transpose()?;
        let count = count.map(|count| Written::new(gpu, count, COUNT)).transpose()?;
        let outputs = Self { values, unique, count, room };
        if let Some(Written::Device(count)) = &outputs.count {
            gpu.check_copies(count, room == 0, outputs.are_on_host() && room > 0)?;
        }
        Ok(outputs)
    }

    /// Whether the host must know how many values there are.
    fn are_on_host(&self) -> bool {
        self.values.is_on_host() || self.unique.as_ref().is_some_and(Written::is_on_host)
    }

    /// Begins the reduction of what is read; of no segments there is nothing to do but to say so.
    fn begin<'s>(
        &'s self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        job: Job<'_, 's, G>,
        marks: Marks<G::Slice<'s>>,
        problem: &ErasedReduce,
        options: &ScanOptions,
    ) -> Result<()> {
        let slice =
            |of: &'s Option<Written<'a, 'b, G>>| of.as_ref().map(Written::slice).transpose();
        let (unique, count) = (slice(&self.unique)?, slice(&self.count)?);
        if self.room == 0 {
            return count.map_or(Ok(()), |count| gpu.to_device(&count, &[0; 8]));
        }
        let call = Call::reduce(job, problem, marks, self.values.slice()?, [unique, count]);
        call.begin(gpu, workspace, options)
    }

    /// Copies to the host what is wanted there, as much as there is, and waits for it.
    fn finish(self, gpu: &Arc<G>, segments: &Segments<'_, G::Slice<'_>>) -> Result<()> {
        let mut found = self.room;
        let offsets = offsets_with(segments.by, segments.stored.length()).map(G::reborrow);
        if offsets.is_some() && self.are_on_host() {
            found = on_device::known(gpu, offsets, segments.count)?.saturating_sub(1);
        }
        if let Some(count) = self.count.as_ref().filter(|_| self.are_on_host() && self.room > 0) {
            let mut bytes = [0; 8];
            gpu.to_host(&count.slice()?, &mut bytes)?;
            found = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(found).min(found);
        }
        self.values.finish(gpu, found)?;
        self.unique.map_or(Ok(()), |unique| unique.finish(gpu, found))?;
        self.count.map_or(Ok(()), |count| count.finish(gpu, 1))
    }
}

/// A call whose arrays are all in the device's memory.
struct Call<'i, 'a, G: Primitives> {
    job: Job<'i, 'a, G>,
    form: Form,
    beside: Beside<G::Slice<'a>>,
    output: G::Slice<'a>,
}

impl<'i, 'a, G: Primitives> Call<'i, 'a, G> {
    fn scan(
        job: Job<'i, 'a, G>,
        problem: &ErasedScan,
        marks: Marks<G::Slice<'a>>,
        output: G::Slice<'a>,
    ) -> Self {
        let beside = Beside { marks, reduces: false, unique: None, count: None };
        Self { job, form: Form::new(problem), beside, output }
    }

    fn reduce(
        job: Job<'i, 'a, G>,
        problem: &ErasedReduce,
        marks: Marks<G::Slice<'a>>,
        output: G::Slice<'a>,
        [unique, count]: [Option<G::Slice<'a>>; 2],
    ) -> Self {
        let beside = Beside { marks, reduces: true, unique, count };
        Self { job, form: Form::of_segments(problem.determinism), beside, output }
    }

    fn bind(
        self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        options: &ScanOptions,
    ) -> Result<G::Bound<'a>> {
        let Self { mut job, form, beside, output } = self;
        job.inputs.length = beside.length(job.inputs.length)?;
        let written = [Some(output), beside.unique, beside.count].into_iter().flatten();
        for written in written {
            job.inputs.check_length_apart(&written)?;
            beside.offsets().map_or(Ok(()), |offsets| offsets.check_apart(&written))?;
        }
        gpu.bind_segmented(workspace, job, form, &beside, output, options)
    }

    fn begin(
        self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        options: &ScanOptions,
    ) -> Result<()> {
        let bound = self.bind(gpu, workspace, options)?;
        gpu.begin(&bound)
    }
}
