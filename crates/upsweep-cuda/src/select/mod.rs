//! Stream compaction: scans of how many items are selected.
//!
//! All kernels and strategies are those of `scan`; `items.cuh` says what a thread holds, `selected.cuh` where items go, and
//! `staged.cuh` how a warp writes several rows at once.

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_gpu::{BindSelect, Form, Part, ScanOptions, Selecting};

use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::record::Bound;
use crate::scan;
use crate::slice::Slice;

/// The text that says what is done with items of which some are selected. Constants tell all kinds that there are apart.
pub(crate) fn selected(_: Selecting) -> &'static str {
    include_str!("selected.cuh")
}

/// The text that says what is done with several rows that are staged.
pub(crate) fn staged(_: Selecting) -> &'static str {
    include_str!("staged.cuh")
}

impl BindSelect for Gpu {
    fn bind_selection<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        form: Form,
        output: Option<Slice<'a>>,
        count: Slice<'a>,
        options: &ScanOptions,
    ) -> Result<Bound<'a>> {
        let inputs = job.inputs;
        for written in output.iter().chain([&count]) {
            inputs.all().try_for_each(|input| input.check_apart(written))?;
        }
        output.map_or(Ok(()), |output| output.check_apart(&count))?;
        // What stands in `Inputs` beside arrays; items that are not written go nowhere.
        let (beside, to) = ([count.pointer()], output.unwrap_or(count));
        let (ready, strategy) =
            scan::calls::ready(self, workspace, job, form, &to, &beside, options)?;
        Ok(Bound::new(ready, Some(strategy), inputs.all().chain(&output).chain([&count])))
    }
}
