//! Segmented reduce and scan: scans whose values know where segments begin.
//!
//! All kernels and strategies are those of `scan`; `segments.cuh` says where segments begin, and where their values go.

use std::sync::Arc;

use upsweep_core::{
    Bounds, Determinism, Direction, Element, Error, Kind, Operator, Reduce, Result, Scan,
    SegmentedBy, Widen, segments,
};
use upsweep_gpu::bits::check;

use crate::backend::{Source, Stored, Target, Workspace, init_words};
use crate::device::Gpu;
use crate::memory::Buffer;
use crate::reduce::Init;
use crate::scan::{Form, ScanOptions};
use crate::shader::{Cut, Types};
use crate::slice::Slice;

/// An array that says where segments begin.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// How it does.
    pub by: SegmentedBy,
    /// Of what it is.
    pub kind: Kind,
    /// Numbers in it.
    pub count: usize,
    /// Where it is.
    pub stored: Stored<'a>,
}

/// Where the values of segments go, one behind another, and what is found out with them.
#[derive(Debug)]
pub struct Packed<'a, K> {
    /// The key of each segment.
    pub unique: Option<Target<'a, K>>,
    /// One number: how many segments there are.
    pub count: Target<'a, u64>,
}

/// An array that is written: the caller's, or memory of ours that is copied to it in the end.
struct Written<'a, T> {
    slice: Slice<'a>,
    host: Option<(Buffer, &'a mut [T])>,
}

impl<'a, T: Element> Written<'a, T> {
    fn new(gpu: &Arc<Gpu>, target: Target<'a, T>) -> Result<Self> {
        Ok(match target {
            Target::Device(slice) => Self { slice, host: None },
            Target::Host(items) => {
                let count = items.len() as u64;
                let made = Buffer::new(gpu, (count * T::KIND.size() as u64).max(1))?;
                let slice = Slice::at(made.pointer(), T::KIND, count)?;
                Self { slice, host: Some((made, items)) }
            }
        })
    }

    /// Copies the first items to the host, if that is where they are wanted. Waits for them.
    fn finish(self, gpu: &Gpu, items: usize) -> Result<()> {
        let Some((made, to)) = self.host else { return Ok(()) };
        // SAFETY: the memory is ours, and has at least as many bytes.
        T::fill(&mut to[..items], |data| unsafe { gpu.copy_out(made.pointer(), data) })
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
        output: Target<'_, U>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let items = output.len();
        if input.len() != items {
            return Err(Error::LengthMismatch { input: input.len(), output: items });
        }
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let (mut uploaded, mut marks) = (None, Vec::new());
        let cut = self.cut(&segments, problem.direction, items, false, &mut marks)?;
        if items == 0 {
            return Ok(());
        }
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let output = Written::new(self, output)?;
        let form = Form::new(problem);
        let (types, beside) = (Types { cut: Some(cut.cut), ..types }, cut.beside(0, 0));
        self.begin_segmented(
            workspace,
            types,
            form,
            [&input, &cut.marks],
            &[&output.slice],
            beside,
            init_words(problem.init),
            options,
        )?;
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
        self: &Arc<Self>,
        workspace: &mut Workspace,
        input: Source<'_, T>,
        segments: Segments<'_>,
        output: Target<'_, U>,
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
        let items = input.len();
        let types = self.types::<T, U::Acc, U, O>(&problem.operator)?;
        let (mut uploaded, mut marks) = (None, Vec::new());
        let cut = self.cut(&segments, Direction::Forward, items, true, &mut marks)?;
        let room = match segments.by {
            SegmentedBy::Offsets => segments.count - 1,
            _ => items,
        };
        if output.len() != room {
            return Err(Error::LengthMismatch { input: room, output: output.len() });
        }
        let input = self.on_device(input, types.item, &mut uploaded)?;
        let output = Written::new(self, output)?;
        let (unique, count) =
            packed.map_or((None, None), |packed| (packed.unique, Some(packed.count)));
        let unique = unique.map(|unique| Written::new(self, unique)).transpose()?;
        let count = count.map(|count| Written::new(self, count)).transpose()?;
        if let Some(unique) = unique.as_ref().filter(|unique| unique.slice.items != items as u64) {
            return Err(Error::LengthMismatch { input: items, output: unique.slice.len() });
        }
        if let Some(count) = count.as_ref().filter(|count| count.slice.items != 1) {
            return Err(Error::ResultLength { items: count.slice.len() });
        }
        if cut.cut.packs() && count.is_none() {
            return Err(self.failed("nobody asks how many segments there are"));
        }
        let unique_at = unique.as_ref().map_or(0, |unique| unique.slice.pointer());
        let count_at = count.as_ref().map_or(0, |count| count.slice.pointer());
        let beside = cut.beside(unique_at, count_at);
        if room > 0 {
            let form = Form {
                everywhere: problem.determinism == Determinism::Everywhere,
                bounds: Bounds::Inclusive,
                only_total: false,
                ..Form::TOTAL
            };
            let types = Types { cut: Some(cut.cut), ..types };
            let mut outputs = vec![&output.slice];
            outputs.extend(unique.as_ref().map(|unique| &unique.slice));
            outputs.extend(count.as_ref().map(|count| &count.slice));
            self.begin_segmented(
                workspace,
                types,
                form,
                [&input, &cut.marks],
                &outputs,
                beside,
                init_words(problem.init),
                options,
            )?;
        } else if count.is_some() {
            // SAFETY: the array has one number.
            unsafe { self.copy_in(count_at, &[0; 8]) }?;
        }
        let mut found = room;
        if cut.cut.packs()
            && (output.host.is_some() || unique.as_ref().is_some_and(|u| u.host.is_some()))
        {
            let mut bytes = [0; 8];
            // SAFETY: there is one number.
            unsafe { self.copy_out(count_at, &mut bytes) }?;
            found = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(room).min(room);
        }
        output.finish(self, found)?;
        unique.map_or(Ok(()), |unique| unique.finish(self, found))?;
        count.map_or(Ok(()), |count| count.finish(self, 1))
    }

    /// The array that says where segments begin in the device's memory, and how it is read.
    fn cut<'a>(
        self: &Arc<Self>,
        segments: &Segments<'a>,
        direction: Direction,
        items: usize,
        reduces: bool,
        uploaded: &mut Vec<Buffer>,
    ) -> Result<Marked<'a>> {
        let Segments { by, kind, count, .. } = *segments;
        check(kind, self.id(), &kind.to_string())?;
        segments::check_count(by, count, items)?;
        let marks = self.one_on_device(&segments.stored, kind, count as u64, uploaded)?;
        let bytes = (4 * kind.size() as u64).min(16);
        let turned = match direction {
            Direction::Forward => marks.pointer(),
            Direction::Reverse => marks.pointer() + marks.bytes(),
        };
        let wide = by != SegmentedBy::Offsets
            && turned.is_multiple_of(bytes)
            && kind.size().is_power_of_two();
        let long = u32::try_from(items).is_err();
        Ok(Marked { cut: Cut { by, kind, wide, reduces, long }, marks, count: count as u64 })
    }

    /// Begins a scan of `input`, with the start value and what its kernels have beside arrays.
    #[expect(clippy::too_many_arguments, reason = "what a launch consists of")]
    fn begin_segmented(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        types: Types,
        form: Form,
        inputs: [&Slice<'_>; 2],
        outputs: &[&Slice<'_>],
        beside: [u64; 4],
        init: Init,
        options: &ScanOptions,
    ) -> Result<()> {
        for (number, output) in outputs.iter().enumerate() {
            let others = inputs.iter().chain(&outputs[..number]);
            others.into_iter().try_for_each(|other| other.check_apart(output))?;
        }
        let input = [*inputs[0]];
        let ready =
            self.ready_with(workspace, types, form, &input, outputs[0], &beside, init, options)?;
        let slices: Vec<&Slice<'_>> = inputs.iter().chain(outputs).copied().collect();
        self.in_order(self.stream(), &slices, || ready.begin(self, self.stream()))
    }
}

/// What says where segments begin, in the device's memory.
struct Marked<'a> {
    cut: Cut,
    marks: Slice<'a>,
    count: u64,
}

impl Marked<'_> {
    /// What stands in `Inputs` beside arrays.
    fn beside(&self, unique: u64, count: u64) -> [u64; 4] {
        let segments = if self.cut.by == SegmentedBy::Offsets { self.count - 1 } else { 0 };
        [self.marks.pointer(), segments, unique, count]
    }
}
