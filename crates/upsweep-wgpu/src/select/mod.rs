//! Stream compaction: scans of how many items are selected.
//!
//! All kernels and strategies are those of `scan`; `unit.wgsl` says what a thread holds, `finish.wgsl` where items go, and `count.wgsl` who
//! knows how many there are. Of runs with their lengths `run_lengths.wgsl` says both.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Kind, Result};
use upsweep_gpu::{BindSelect, Form, Part, ScanOptions, SelectOutputs, Selecting};

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
    let (by_votes, finish): (_, &[_]) = match form.selecting {
        Some(Selecting::Runs { .. }) => {
            (include_str!("votes_of_runs.wgsl"), &[include_str!("run_lengths.wgsl")])
        }
        Some(Selecting::Counted) => (VOTES, &[COUNT_TEXT, include_str!("only_count.wgsl")]),
        _ => (VOTES, &[COUNT_TEXT, include_str!("finish.wgsl")]),
    };
    let in_row = if votes { by_votes } else { include_str!("lanes.wgsl") };
    [&[include_str!("unit.wgsl"), in_row], finish].concat()
}

const VOTES: &str = include_str!("votes.wgsl");
const COUNT_TEXT: &str = include_str!("count.wgsl");

/// The place of the number among the arrays of a kernel: behind those that items are made of. Behind it are the lengths of runs.
pub(crate) fn place(types: &Types) -> usize {
    types.made.as_ref().map_or(1, |made| made.recipe.all_arrays())
}

/// How the number is written, and read; and how lengths of runs are written.
pub(crate) fn count_text(types: &Types) -> String {
    let place = place(types);
    let start = |place: usize| format!("parameters.starts.{}", ["x", "y", "z", "w"][place % 4]);
    let (at, lengths) = (format!("2u * {}", start(place)), place + 1);
    let lengths = match types.finds_lengths() {
        false => String::new(),
        true => format!(
            "@group(0) @binding({}) var<storage, read_write> lengths: array<u32>;\n\
             fn write_length(run: u32, items: u32) {{\n\
             \x20   let at = ({} + run) * LENGTH_WORDS;\n\
             \x20   lengths[at] = items;\n\
             \x20   if (LENGTH_WORDS == 2u) {{\n\
             \x20       lengths[at + 1u] = 0u;\n\
             \x20   }}\n}}\n",
            BINDINGS[lengths % MOST_ARRAYS],
            start(lengths)
        ),
    };
    lengths
        + &format!(
            "@group(0) @binding({}) var<storage, read_write> count: array<u32>;\n\
         fn border() -> u32 {{ return count[{at}]; }}\n\
         fn write_count(selected: u32) {{\n\
         \x20   count[{at} + 2u * BEGINS_BEHIND] = selected;\n\
         \x20   count[{at} + 2u * BEGINS_BEHIND + 1u] = 0u;\n}}\n",
            BINDINGS[place % MOST_ARRAYS]
        )
}

/// What is bound beside arrays and output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts<'a> {
    count: Slice<'a>,
    /// Lengths of runs, and of what they are.
    lengths: Option<(Slice<'a>, Kind)>,
}

impl<'a> Counts<'a> {
    /// What is bound of each, with its place.
    pub(crate) fn windows(
        &self,
        types: &Types,
        alignment: u64,
    ) -> impl Iterator<Item = (usize, &Slice<'a>, Window)> {
        let all = [(&self.count, COUNT)].into_iter();
        let all = all.chain(self.lengths.iter().map(|(lengths, kind)| (lengths, *kind)));
        all.enumerate().map(move |(k, (slice, kind))| {
            (place(types) + k, slice, slice.window(kind, alignment, 0, slice.items as u32))
        })
    }
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
        to: SelectOutputs<Slice<'a>>,
        options: &ScanOptions,
    ) -> Result<Bound> {
        let long = form.selecting.and_then(Selecting::lengths);
        let length = if long == Some(true) { Dtype::U64 } else { Dtype::U32 };
        let lengths = to.lengths.map(|lengths| (lengths, length.into()));
        check_arrays(self, &job, &to, length.into())?;
        let others = Some(Others::Counts(Counts { count: to.count, lengths }));
        // Items that are not written go nowhere.
        let (output, form) = (to.items.unwrap_or(to.count), (form, false));
        scan::calls::bind_beside(self, workspace, job, form, &output, others, options).map(Bound)
    }
}

/// Checks that there are not too many arrays, that what is written is within one binding, and that nothing is written twice, or read.
fn check_arrays(
    gpu: &Gpu,
    job: &Job<'_, '_>,
    to: &SelectOutputs<Slice<'_>>,
    length: Kind,
) -> Result<()> {
    let arrays = place(&job.types);
    let written = 1 + usize::from(to.lengths.is_some());
    if arrays + written > MOST_ARRAYS {
        let reason = format!(
            "a kernel that selects has {MOST_ARRAYS} arrays at most beside its output; items are made of {arrays}, and numbers go to {written}"
        );
        return Err(Error::Buffer { reason });
    }
    let (most, alignment, kind) = (gpu.facts.binding_bytes, gpu.facts.alignment, job.types.output);
    let items = to.items.iter().map(|items| (items, kind));
    for (written, kind) in items.chain(to.lengths.iter().map(|lengths| (lengths, length))) {
        if written.windows(kind, most, alignment, 1).len() > 1 {
            return Err(too_long(gpu, written.items, kind));
        }
    }
    for (k, written) in to.all().enumerate() {
        job.inputs.all().try_for_each(|input| input.check_apart(written))?;
        if to.all().take(k).any(|other| other.buffer == written.buffer) {
            let reason = "items, their number and lengths of runs must be in buffers of their own";
            return Err(Error::Buffer { reason: reason.to_owned() });
        }
    }
    Ok(())
}
