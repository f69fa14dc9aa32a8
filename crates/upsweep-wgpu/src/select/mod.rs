//! Stream compaction: scans of how many items are selected.
//!
//! All kernels and strategies are those of `scan`; `unit.wgsl` says what a thread holds, `finish.wgsl` where items go, and `count.wgsl` who
//! knows how many there are.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Kind, Result};
use upsweep_gpu::{BindSelect, Form, Part, ScanOptions, Selecting};

use crate::backend::{Job, Workspace};
use crate::device::Gpu;
use crate::record::Bound;
use crate::scan::{self, Others};
use crate::shader::Types;
use crate::shader::made::{BINDINGS, MOST_ARRAYS};
use crate::slice::{Slice, Window};

/// What their number is.
const COUNT: Kind = Kind::Number(Dtype::U64);

/// The texts that say what is done with a chunk of which some items are selected; whether a subgroup has a row, and votes.
pub(crate) fn parts(form: Form, votes: bool) -> Vec<&'static str> {
    let finish = match form.selecting {
        Some(Selecting::Counted) => include_str!("only_count.wgsl"),
        _ => include_str!("finish.wgsl"),
    };
    let counted = if votes { include_str!("votes.wgsl") } else { include_str!("lanes.wgsl") };
    vec![include_str!("unit.wgsl"), counted, include_str!("count.wgsl"), finish]
}

/// The place of the number among the arrays of a kernel: behind those that items are made of.
pub(crate) fn place(types: &Types) -> usize {
    types.made.as_ref().map_or(1, |made| made.recipe.all_arrays())
}

/// How the number is written, and read.
pub(crate) fn count_text(types: &Types) -> String {
    let place = place(types);
    let at = format!("2u * parameters.starts.{}", ["x", "y", "z", "w"][place % MOST_ARRAYS]);
    format!(
        "@group(0) @binding({}) var<storage, read_write> count: array<u32>;\n\
         fn border() -> u32 {{ return count[{at}]; }}\n\
         fn write_count(selected: u32) {{\n\
         \x20   count[{at} + 2u * BEGINS_BEHIND] = selected;\n\
         \x20   count[{at} + 2u * BEGINS_BEHIND + 1u] = 0u;\n}}\n",
        BINDINGS[place % MOST_ARRAYS]
    )
}

/// What is bound of the number.
pub(crate) fn window_of(count: &Slice<'_>, alignment: u64) -> Window {
    count.window(COUNT, alignment, 0, count.items as u32)
}

/// Arrays of which some items are selected are bound at once.
pub(crate) fn too_long(gpu: &Gpu, items: u64, kind: Kind) -> Error {
    let reason = format!(
        "a selection wants every array within one binding, which on device {} has at most {} bytes; this one has {items} items of \
         {kind}",
        gpu.id(),
        gpu.facts.binding_bytes
    );
    Error::Buffer { reason }
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
    ) -> Result<Bound> {
        check_arrays(self, &job, output.as_ref(), &count)?;
        // Items that are not written go nowhere.
        let (output, others) = (output.unwrap_or(count), Some(Others::Count(count)));
        let form = (form, false);
        scan::calls::bind_beside(self, workspace, job, form, &output, others, options).map(Bound)
    }
}

/// Checks that there are not too many arrays, that what is written is within one binding, and that nothing is written twice, or read.
fn check_arrays(
    gpu: &Gpu,
    job: &Job<'_, '_>,
    output: Option<&Slice<'_>>,
    count: &Slice<'_>,
) -> Result<()> {
    let arrays = place(&job.types);
    if arrays >= MOST_ARRAYS {
        let reason = format!(
            "a kernel that selects has {MOST_ARRAYS} arrays at most, the number of items among them; items are made of {arrays}"
        );
        return Err(Error::Buffer { reason });
    }
    job.inputs.all().try_for_each(|input| input.check_apart(count))?;
    let Some(output) = output else { return Ok(()) };
    let (most, alignment, kind) = (gpu.facts.binding_bytes, gpu.facts.alignment, job.types.output);
    if output.windows(kind, most, alignment, 1).len() > 1 {
        return Err(too_long(gpu, output.items, kind));
    }
    if output.buffer == count.buffer {
        let reason = "items and their number must be in buffers of their own".to_owned();
        return Err(Error::Buffer { reason });
    }
    Ok(())
}
