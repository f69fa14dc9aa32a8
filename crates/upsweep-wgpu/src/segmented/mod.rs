//! Segmented reduce and scan: scans whose values know where segments begin.
//!
//! All kernels and strategies are those of `scan`; `segments.wgsl` says what values know, `marks.wgsl` and `offsets.wgsl` where
//! segments begin, and the first and `places.wgsl` where their values go.

#[cfg(test)]
mod tests;

use core::ops::Range;

use upsweep_core::{
    Determinism, Direction, Dtype, Element, Error, Kind, Language, Operator, Reduce, Result, Scan,
    SegmentedBy, Widen, segments,
};
use upsweep_gpu::bits::check;
use upsweep_gpu::{ErasedReduce, ErasedScan, HostItemsMut, Segmentation};
use wgpu::{BindingResource, BufferUsages};

use crate::backend::{
    ErasedSource, ErasedTarget, Ingredients, Inputs, Source, Stored, Target, Workspace,
};
use crate::device::Gpu;
use crate::record::Traffic;
use crate::reduce::Init;
use crate::scan::{Form, ScanOptions};
use crate::shader::cut::Role;
use crate::shader::made::MOST_ARRAYS;
use crate::shader::{Cut, Types};
use crate::slice::Slice;

/// An array that says where segments begin.
pub type Segments<'a> = upsweep_gpu::Segments<'a, Slice<'a>>;

/// Where the values of segments go, one behind another, and what is found out with them.
pub type Packed<'a, K> = upsweep_gpu::Packed<'a, K, Slice<'a>>;

/// The same without Rust's types.
pub type ErasedPacked<'a, 'b> = upsweep_gpu::ErasedPacked<'a, Slice<'b>>;

/// No items.
const NOTHING: &[u8] = &[];

/// The texts that say what segments are to a kernel.
pub(crate) fn parts(types: &Types) -> Vec<&'static str> {
    let segments = include_str!("segments.wgsl");
    match types.cut.map(|cut| cut.by) {
        None => vec![include_str!("unsegmented.wgsl")],
        Some(SegmentedBy::Offsets) => {
            vec![segments, include_str!("offsets.wgsl"), include_str!("places.wgsl")]
        }
        Some(_) => vec![segments, include_str!("marks.wgsl")],
    }
}

/// What kernels of segments have beside items and outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<'a> {
    marks: Slice<'a>,
    unique: Option<Slice<'a>>,
    count: Option<Slice<'a>>,
    /// Segments that offsets say.
    pub(crate) segments: u32,
}

impl<'a> Beside<'a> {
    /// The arrays, of what they are, and whether they are written.
    fn arrays(&self, cut: &Cut) -> impl Iterator<Item = (Role, Slice<'a>, Kind, bool)> + use<'a> {
        let marks = Some((Role::Marks, self.marks, cut.kind, false));
        let unique = self.unique.filter(|_| cut.unique);
        let unique = unique.map(|unique| (Role::Unique, unique, cut.kind, true));
        let count = self.count.filter(|_| cut.packs());
        let count = count.map(|count| (Role::Count, count, Kind::Number(Dtype::U64), true));
        [marks, unique, count].into_iter().flatten()
    }

    /// Sets where they begin in their bindings, behind those of the items.
    pub(crate) fn set_starts(&self, cut: &Cut, alignment: u64, starts: &mut [u32; MOST_ARRAYS]) {
        for (role, slice, kind, _) in self.arrays(cut) {
            let own = slice.window(kind, alignment, 0, slice.items as u32);
            starts[cut.place(role)] = own.start;
        }
    }

    /// The bindings, without those that are written unless the kernel `writes`.
    pub(crate) fn bound(
        &self,
        cut: &Cut,
        alignment: u64,
        writes: bool,
    ) -> impl Iterator<Item = (u32, BindingResource<'a>)> + use<'a> {
        let arrays = self.arrays(cut).filter(move |(.., is_written)| writes || !is_written);
        let cut = *cut;
        arrays.map(move |(role, slice, kind, _)| {
            let window = slice.window(kind, alignment, 0, slice.items as u32);
            (cut.binding(role), window.binding(slice.buffer))
        })
    }

    /// The least traffic of a launch that has this of items and outputs. Values that go one behind another may be few.
    pub(crate) fn traffic(&self, cut: &Cut, of_items: Traffic) -> Traffic {
        let marks = self.marks.items * cut.kind.size() as u64;
        let written = if cut.packs() { 0 } else { of_items.written };
        Traffic { read: of_items.read + marks, written }
    }
}

/// What is cut into segments is bound at once.
pub(crate) fn too_long(gpu: &Gpu, items: u64, kind: Kind) -> Error {
    let reason = format!(
        "segments want every array within one binding, which on device {} has at most {} bytes; this one has {items} items \
         of {kind}",
        gpu.id(),
        gpu.facts.binding_bytes
    );
    Error::Buffer { reason }
}

/// Arrays that items are made of, and those of segments, are all bound at once.
fn too_many_arrays(cut: &Cut) -> Error {
    let reason = format!(
        "a kernel reads {MOST_ARRAYS} arrays at most, those of segments among them; items are made of {}, and segments by {:?} \
         take {}",
        cut.arrays,
        cut.by,
        cut.all_arrays() - cut.arrays
    );
    Error::Buffer { reason }
}

/// That the number of segments can be copied to the buffer for it, or from there, if that is how it gets there or is read.
fn check_copies(buffer: &wgpu::Buffer, to: bool, from: bool) -> Result<()> {
    for (wanted, usage, name) in
        [(to, BufferUsages::COPY_DST, "COPY_DST"), (from, BufferUsages::COPY_SRC, "COPY_SRC")]
    {
        if wanted && !buffer.usage().contains(usage) {
            let reason = format!(
                "the buffer for the number of segments needs the usage {name} for this call"
            );
            return Err(Error::Buffer { reason });
        }
    }
    Ok(())
}

/// An array that is written: the caller's, or a buffer of ours that is copied to it in the end.
enum Written<'a, 'b> {
    Device(Slice<'b>),
    Host(wgpu::Buffer, &'a mut dyn HostItemsMut, Range<usize>),
}

impl<'a, 'b> Written<'a, 'b> {
    fn new(gpu: &Gpu, target: ErasedTarget<'a, 'b>, kind: Kind) -> Result<Self> {
        Ok(match target {
            ErasedTarget::Device(slice) => Self::Device(slice),
            ErasedTarget::Host(items, range) => {
                let bytes = (range.len() * kind.size()) as u64;
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
                Self::Host(gpu.buffer("items", bytes, usage)?, items, range)
            }
        })
    }

    fn slice(&self) -> Slice<'_> {
        match self {
            Self::Device(slice) => *slice,
            Self::Host(buffer, _, range) => Slice { buffer, offset: 0, items: range.len() as u64 },
        }
    }

    fn is_on_host(&self) -> bool {
        matches!(self, Self::Host(..))
    }

    /// Copies the first items to the host, if that is where they are wanted. Waits for them.
    fn finish(self, gpu: &Gpu, items: usize) -> Result<()> {
        let Self::Host(buffer, to, Range { start, .. }) = self else { return Ok(()) };
        to.fill(start..start + items, &mut |data| gpu.download(&buffer, 0, data))
    }
}

impl Gpu {
    /// Writes every prefix within segments to `output`, which is as long as `input`. Waits for an output in the host's memory only.
    ///
    /// # Errors
    /// As [`scan`](Gpu::scan), [`Error::Segments`], and [`Error::Buffer`] for arrays that one binding does not hold.
    pub fn segmented_scan<T, U, O>(
        &self,
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
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Language::Wgsl);
        let (input, output) = (input.erased(), output.erased());
        self.segmented_scan_erased(workspace, input, segments, output, &problem, options)
    }

    /// The same of a problem without Rust's types.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    pub fn segmented_scan_erased(
        &self,
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
        self.check(&types)?;
        let (mut uploaded, mut marks) = (None, None);
        let (cut, beside) = self.cut(&segments, problem.direction, items, false, &mut marks)?;
        if items == 0 {
            return Ok(());
        }
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let output = Written::new(self, output, types.output)?;
        let types = Types { cut: Some(cut), ..types };
        let (inputs, words) = ([input], types.values.handed());
        let arrays = (&Inputs::of(&inputs, &words), &output.slice());
        let (form, init) = (Form::new(problem, false), problem.init);
        self.begin_segmented(workspace, types, form, arrays, &beside, init, options)?;
        if output.is_on_host() {
            self.wait()?;
        }
        output.finish(self, items)
    }

    /// Writes the value of each segment to `output`. By offsets it has an item for each. Else values go one behind another, with
    /// what is asked for in `packed`, and `output` and the keys have room for as many as there are items, all of which may be
    /// overwritten. Waits for what is in the host's memory only.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan).
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    pub fn segmented_reduce<T, U, O, K>(
        &self,
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
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, Language::Wgsl);
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
        &self,
        workspace: &mut Workspace,
        input: ErasedSource<'_>,
        segments: Segments<'_>,
        output: ErasedTarget<'_, '_>,
        packed: Option<ErasedPacked<'_, '_>>,
        problem: &ErasedReduce,
        options: &ScanOptions,
    ) -> Result<()> {
        let types = self.types(&problem.signature)?;
        self.check(&types)?;
        // Of no items it does not matter where they are.
        let input = if input.is_empty() { ErasedSource::Host(&NOTHING, 0..0) } else { input };
        let mut uploaded = None;
        let input = [self.on_device(input, types.item, &mut uploaded)?];
        let words = types.values.handed();
        let inputs = Inputs::of(&input, &words);
        self.reduce_segments(workspace, types, &inputs, segments, output, packed, problem, options)
    }

    /// The same of items that are made as they are read. The problem's items are of the type that they are combined in.
    ///
    /// # Errors
    /// As [`segmented_scan`](Gpu::segmented_scan) and [`reduce_made`](Gpu::reduce_made); the arrays that say where segments begin and
    /// how many there are count with those that items are made of.
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call by key")]
    pub fn segmented_reduce_made_erased(
        &self,
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
        if made.items == 0 {
            // There is nothing to make, but a value for each segment.
            let nothing = ErasedSource::Host(&NOTHING, 0..0);
            return self.segmented_reduce_erased(
                workspace, nothing, segments, output, packed, problem, options,
            );
        }
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
        &self,
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
        let mut marks = None;
        let (cut, mut beside) = self.cut(&segments, Direction::Forward, items, true, &mut marks)?;
        let room = if cut.packs() { items } else { segments.count - 1 };
        if output.len() != room {
            return Err(Error::LengthMismatch { input: room, output: output.len() });
        }
        let (unique, count) =
            packed.map_or((None, None), |packed| (packed.unique, Some(packed.count)));
        let keys = unique.as_ref().map(|(_, keys)| keys.kind);
        segments::check_asked(cut.by, cut.kind, keys, count.is_some())?;
        let output = Written::new(self, output, types.output)?;
        let unique = unique
            .map(|(unique, keys)| Written::new(self, unique, keys.check(self.id())?))
            .transpose()?;
        let number = Kind::Number(Dtype::U64);
        let count = count.map(|count| Written::new(self, count, number)).transpose()?;
        let on_host = output.is_on_host() || unique.as_ref().is_some_and(Written::is_on_host);
        if let Some(Written::Device(count)) = &count {
            check_copies(count.buffer, room == 0, on_host && room > 0)?;
        }
        beside.unique = unique.as_ref().map(Written::slice);
        beside.count = count.as_ref().map(Written::slice);
        if let Some(unique) = beside.unique.filter(|unique| unique.len() != items) {
            return Err(Error::LengthMismatch { input: items, output: unique.len() });
        }
        if let Some(count) = beside.count.filter(|count| count.items != 1) {
            return Err(Error::ResultLength { items: count.len() });
        }
        if room > 0 {
            let form = Form {
                everywhere: problem.determinism == Determinism::Everywhere,
                only_total: false,
                ..Form::TOTAL
            };
            let arrays = types.made.as_ref().map_or(1, |made| made.recipe.all_arrays());
            let cut = Cut { unique: beside.unique.is_some(), arrays, ..cut };
            if cut.all_arrays() > MOST_ARRAYS {
                return Err(too_many_arrays(&cut));
            }
            let types = Types { cut: Some(cut), ..types };
            let (arrays, init) = ((inputs, &output.slice()), problem.init);
            self.begin_segmented(workspace, types, form, arrays, &beside, init, options)?;
        } else if let Some(count) = beside.count {
            self.write(count.buffer, count.offset, &[0; 8])?;
        }
        let mut found = room;
        if on_host || count.as_ref().is_some_and(Written::is_on_host) {
            self.wait()?;
        }
        if let Some(count) = beside.count.filter(|_| on_host) {
            let mut bytes = [0; 8];
            self.download(count.buffer, count.offset, &mut bytes)?;
            found = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(room).min(room);
        }
        output.finish(self, found)?;
        unique.map_or(Ok(()), |unique| unique.finish(self, found))?;
        count.map_or(Ok(()), |count| count.finish(self, 1))
    }

    /// How items are cut, with the array that says where in the device's memory; `uploaded` keeps it if it was brought there.
    fn cut<'a>(
        &self,
        segments: &Segments<'a>,
        direction: Direction,
        items: usize,
        reduces: bool,
        uploaded: &'a mut Option<wgpu::Buffer>,
    ) -> Result<(Cut, Beside<'a>)> {
        let Segments { by, kind, count, stored } = *segments;
        check(kind, self.id(), &kind.to_string())?;
        segments::check_array(by, kind, count, items)?;
        let marks = match stored {
            Stored::Device(slice) => Slice::new(slice.buffer, kind, slice.offset, count as u64)?,
            Stored::Host(bytes) => {
                let bytes = segments::bytes_of(bytes, kind, count)?;
                let buffer = uploaded.insert(self.upload("segments", bytes)?);
                Slice { buffer, offset: 0, items: count as u64 }
            }
        };
        let said = if by == SegmentedBy::Offsets { count - 1 } else { 0 };
        let said = u32::try_from(said).map_err(|_| too_long(self, count as u64, kind))?;
        let beside = Beside { marks, unique: None, count: None, segments: said };
        let of = Segmentation { by, kind, wide: false, reduces };
        let mut cut = Cut { of, unique: false, arrays: 1 };
        let turned = direction == Direction::Reverse;
        cut.of.wide = cut.is_wide(&marks, turned, self.facts.alignment);
        Ok((cut, beside))
    }

    /// Begins a scan of arrays into another one, with what its kernels have beside them.
    #[expect(clippy::too_many_arguments, reason = "what a launch consists of")]
    fn begin_segmented(
        &self,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        (inputs, output): (&Inputs<'_>, &Slice<'_>),
        beside: &Beside<'_>,
        init: Init,
        options: &ScanOptions,
    ) -> Result<()> {
        let recipe = types.made.as_ref().map(|made| &made.recipe);
        let kinds = match recipe {
            Some(recipe) => [&recipe.arrays[..], &recipe.anywhere[..]].concat(),
            None => vec![types.item],
        };
        let read = inputs.all().zip(kinds).map(|(slice, kind)| (*slice, kind, false));
        let mut arrays: Vec<_> = read.chain([(*output, types.output, true)]).collect();
        if let Some(cut) = &types.cut {
            let others = beside.arrays(cut);
            arrays.extend(others.map(|(_, slice, kind, is_written)| (slice, kind, is_written)));
        }
        let (most, alignment) = (self.facts.binding_bytes, self.facts.alignment);
        for (number, (slice, kind, is_written)) in arrays.iter().enumerate() {
            if slice.windows(*kind, most, alignment, 1).len() > 1 {
                return Err(too_long(self, slice.items, *kind));
            }
            for (other, _, other_is_written) in &arrays[..number] {
                match (is_written, other_is_written) {
                    (true, true) if other.buffer == slice.buffer => {
                        return Err(Error::Buffer {
                            reason: format!(
                                "one buffer is written from byte {} on and from byte {} on; each output must be in a \
                                 buffer of its own",
                                other.offset, slice.offset
                            ),
                        });
                    }
                    (true, false) => other.check_apart(slice)?,
                    (false, true) => slice.check_apart(other)?,
                    _ => {}
                }
            }
        }
        let (arrays, beside) = ((inputs, output), Some(beside));
        let bound = self.bind_scanning(workspace, types, form, arrays, beside, init, options)?;
        self.submit(&bound)
    }
}
