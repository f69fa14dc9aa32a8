//! Segmented reduce and scan: scans whose values know where segments begin.
//!
//! All kernels and strategies are those of `scan`; `segments.cuh` says where segments begin, and where their values go. Reductions by
//! offsets alone, which have less to write, have kernels of their own: `by_offsets.cuh`. Many items are reduced by key in two steps:
//! `by_keys.rs`.

mod by_keys;
mod by_offsets;

use std::sync::Arc;

use upsweep_core::summation::GROUP;
use upsweep_core::{Direction, Result, SegmentedBy};
use upsweep_gpu::segmented::Beside;
use upsweep_gpu::{BindSegmented, Form, Part, ScanOptions, Segmentation};

pub(crate) use by_offsets::ByOffsets;
#[cfg(test)]
pub(crate) use by_offsets::shader as by_offsets_shader;

use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::record::Bound;
use crate::scan;
use crate::shader::{Cut, Types};
use crate::slice::Slice;

impl BindSegmented for Gpu {
    fn bind_segmented<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        beside: &Beside<Slice<'a>>,
        output: Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Bound<'a>> {
        let Job { types, inputs, init } = job;
        let (marks, written) = ([beside.marks.slice], [Some(output), beside.unique, beside.count]);
        let written: Vec<_> = written.into_iter().flatten().collect();
        for (number, output) in written.iter().enumerate() {
            let mut others = inputs.all().chain(&marks).chain(&written[..number]);
            others.try_for_each(|other| other.check_apart(output))?;
        }
        let offsets = beside.offsets();
        let lengths = inputs.places().chain(&offsets);
        let arrays = inputs.all().chain(&marks).chain(&written).chain(lengths);
        if output.items == 0 {
            return Ok(Bound::new(None, None, arrays));
        }
        if let Some(to) = by_keys::To::of(beside, output, &inputs, options) {
            let types = types.clone().of_length(inputs.is_bounded());
            let job = Job { types, inputs, init };
            if let Some(ready) = by_keys::ready(self, workspace, &job, marks[0], &to)? {
                return Ok(Bound::new(ready, None, arrays));
            }
        }
        let mut cut = cut(beside, form.direction, inputs.items);
        let is_bounded = inputs.length.is_some();
        // Nobody knows where marks end, in front of which a scan would begin.
        cut.of.wide &= form.direction == Direction::Forward || !is_bounded;
        let types = Types { cut: Some(cut), ..types }.of_length(inputs.is_bounded());
        let address = |of: Option<Slice<'_>>| of.map_or(0, |slice| slice.pointer);
        // What stands in `Inputs` beside arrays: `segments.cuh`.
        let mut words = vec![
            address(Some(marks[0])),
            beside.segments(),
            address(beside.unique),
            address(beside.count),
        ];
        words.extend(offsets.iter().map(Slice::pointer));
        if !cut.reduces || cut.packs() {
            let job = Job { types, inputs, init };
            let (ready, strategy) =
                scan::calls::ready(self, workspace, job, form, &output, &words, options)?;
            return Ok(Bound::new(ready, Some(strategy), arrays));
        }
        let job = Job { types, inputs, init };
        let ready = by_offsets::ready(self, workspace, job, (&words, beside.segments()), output)?;
        Ok(Bound::new(Some(ready), None, arrays))
    }
}

/// How an array cuts `items` items into segments.
fn cut(beside: &Beside<Slice<'_>>, direction: Direction, items: u64) -> Cut {
    let Beside { marks, reduces, .. } = *beside;
    let (by, kind) = (marks.by, marks.slice.kind());
    let begin = match direction {
        Direction::Forward => marks.slice.pointer(),
        Direction::Reverse => marks.slice.pointer() + marks.slice.bytes(),
    };
    let group = (GROUP * kind.size()) as u64;
    let aligned = begin.is_multiple_of(group.min(16)) && kind.size().is_power_of_two();
    let of = Segmentation {
        by,
        kind,
        wide: by != SegmentedBy::Offsets && aligned,
        reduces,
        is_bounded: beside.offsets().is_some(),
    };
    Cut { of, long: u32::try_from(items).is_err() }
}
