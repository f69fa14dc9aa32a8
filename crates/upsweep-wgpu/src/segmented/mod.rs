//! Segmented reduce and scan: scans whose values know where segments begin.
//!
//! All kernels and strategies are those of `scan`; `segments.wgsl` says what values know, `marks.wgsl` and `offsets.wgsl` where
//! segments begin, and the first and `places.wgsl` where their values go.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use upsweep_core::{Direction, Dtype, Error, Kind, Result, SegmentedBy};
use upsweep_gpu::{BindSegmented, Form, Part, ScanOptions, Segmentation};
use wgpu::BindingResource;

use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::record::{Bound, Traffic};
use crate::scan;
use crate::shader::cut::Role;
use crate::shader::made::MOST_ARRAYS;
use crate::shader::{Cut, Types};
use crate::slice::Slice;

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
    /// Segments that offsets say, or most of them.
    pub(crate) segments: u32,
    /// Where the number of offsets is, if `segments` is no more than their bound.
    pub(crate) offsets: Option<Slice<'a>>,
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

    /// Where the number of offsets is, and its bound, if only the device knows it.
    pub(crate) fn counted_offsets(&self) -> Option<(Slice<'a>, u32)> {
        self.offsets.map(|offsets| (offsets, self.segments + 1))
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

impl BindSegmented for Gpu {
    fn bind_segmented<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        beside: &upsweep_gpu::segmented::Beside<Slice<'a>>,
        output: Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Bound> {
        let upsweep_gpu::segmented::Beside { marks, reduces, unique, count } = *beside;
        let (by, kind, items) = (marks.by, marks.kind, marks.slice.items);
        let segments = u32::try_from(beside.segments()).map_err(|_| too_long(self, items, kind))?;
        let offsets = beside.offsets();
        let beside = Beside { marks: marks.slice, unique, count, segments, offsets };
        let arrays = job.types.made.as_ref().map_or(1, |made| made.recipe.all_arrays());
        let of = Segmentation { by, kind, wide: false, reduces, is_bounded: offsets.is_some() };
        let mut cut = Cut { of, unique: unique.is_some(), arrays };
        cut.of.wide =
            cut.is_wide(&marks.slice, form.direction == Direction::Reverse, self.facts.alignment);
        // Nobody knows where marks end, in front of which a scan would begin.
        cut.of.wide &= form.direction == Direction::Forward || job.inputs.length.is_none();
        if cut.all_arrays() > MOST_ARRAYS {
            return Err(too_many_arrays(&cut));
        }
        check_arrays(self, &job, &cut, &beside, &output)?;
        let job = Job { types: Types { cut: Some(cut), ..job.types }, ..job };
        let (form, others) = ((form, false), Some(scan::Others::Segments(beside)));
        scan::calls::bind_beside(self, workspace, job, form, &output, others, options).map(Bound)
    }
}

/// Checks that each array is within one binding, that none is read and written, and none written twice.
fn check_arrays(
    gpu: &Gpu,
    job: &Job<'_, '_>,
    cut: &Cut,
    beside: &Beside<'_>,
    output: &Slice<'_>,
) -> Result<()> {
    let types = &job.types;
    let kinds = match types.made.as_ref().map(|made| &made.recipe) {
        Some(recipe) => [&recipe.arrays[..], &recipe.anywhere[..]].concat(),
        None => vec![types.item],
    };
    let read = job.inputs.all().zip(kinds).map(|(slice, kind)| (*slice, kind, false));
    let mut arrays: Vec<_> = read.chain([(*output, types.output, true)]).collect();
    let others = beside.arrays(cut);
    arrays.extend(others.map(|(_, slice, kind, is_written)| (slice, kind, is_written)));
    let (most, alignment) = (gpu.facts.binding_bytes, gpu.facts.alignment);
    for (number, (slice, kind, is_written)) in arrays.iter().enumerate() {
        if slice.windows(*kind, most, alignment, 1).len() > 1 {
            return Err(too_long(gpu, slice.items, *kind));
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
    Ok(())
}
