//! Stream compaction: scans of how many items are selected.
//!
//! All kernels and strategies are those of `scan`; `items.cuh` says what a thread holds, `selected.cuh` where items go, and
//! `staged.cuh` how a warp writes several rows at once. Of runs with their lengths `run_lengths.cuh` and `staged_runs.cuh` say that.

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_gpu::{BindSelect, Form, Part, ScanOptions, SelectOutputs, Selecting};

use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::record::Bound;
use crate::scan;
use crate::slice::Slice;

/// The text that says what is done with items of which some are selected. Constants tell apart all kinds that write nothing else.
pub(crate) fn selected(selecting: Selecting) -> &'static str {
    match selecting {
        Selecting::Runs { .. } => include_str!("run_lengths.cuh"),
        _ => include_str!("selected.cuh"),
    }
}

/// The text that says what is done with several rows that are staged.
pub(crate) fn staged(selecting: Selecting) -> &'static str {
    match selecting {
        Selecting::Runs { .. } => include_str!("staged_runs.cuh"),
        _ => include_str!("staged.cuh"),
    }
}

impl BindSelect for Gpu {
    fn bind_selection<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        to: SelectOutputs<Slice<'a>>,
        options: &ScanOptions,
    ) -> Result<Bound<'a>> {
        let inputs = job.inputs;
        for (k, written) in to.all().enumerate() {
            inputs.all().try_for_each(|input| input.check_apart(written))?;
            to.all().take(k).try_for_each(|other| other.check_apart(written))?;
        }
        // What stands in `Inputs` beside arrays; items that are not written go nowhere.
        let beside = [to.count.pointer(), to.lengths.map_or(0, |lengths| lengths.pointer())];
        let output = to.items.unwrap_or(to.count);
        let (ready, strategy) =
            scan::calls::ready(self, workspace, job, form, &output, &beside, options)?;
        let arrays = inputs.all().chain(inputs.places()).chain(to.all());
        Ok(Bound::new(ready, Some(strategy), arrays))
    }
}
