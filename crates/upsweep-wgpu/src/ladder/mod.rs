//! The ladder on a GPU: the seven classic steps of a sum, beside the library's own.
//!
//! The kernels of all steps are in `steps.wgsl`; they differ in which of its functions they call. How the last values of a
//! workgroup are folded is in `last_subgroup.wgsl`, and for devices without subgroups in `last_thread.wgsl`.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use upsweep_core::{Dtype, Error, LadderStep, Reduce, Result, Rung, Rungs, Sum};
use upsweep_gpu::{Calls, ReduceOptions};
use wgpu::BufferUsages;

use crate::backend::Workspace;
use crate::device::{Facts, Gpu};
use crate::memory::Memory;
use crate::record::{Dispatch, Recording, Traffic};
use crate::reduce::{PARAMETERS, floor_power_of_two, grid};
use crate::shader::unroll::unroll;
use crate::slice::{Slice, Window};

/// Threads of a workgroup, where the device has as many: those of the talk's largest.
const THREADS: u32 = 256;

/// Workgroups that take all items between them in the last step: about as many as the largest GPUs hold at once, an H200
/// 1056. Nobody says how many a device holds.
const MOST_WORKGROUPS: u32 = 1024;

/// Values that one thread adds in the place of a subgroup.
const LAST_OF_THREAD: u32 = 8;

/// What a result holds before it is written.
const POISON: u32 = 0xa5a5_a5a5;

/// Threads of a workgroup.
fn threads(facts: &Facts) -> u32 {
    floor_power_of_two(THREADS.min(facts.threads))
}

/// The shader of all steps.
pub(crate) fn text(facts: &Facts) -> String {
    let threads = threads(facts);
    let (last, fold) = if facts.subgroup > 1 {
        ((2 * facts.subgroup).min(threads), include_str!("last_subgroup.wgsl"))
    } else {
        (LAST_OF_THREAD, include_str!("last_thread.wgsl"))
    };
    let subgroup = last / 2;
    let names = HashMap::from([("THREADS", threads), ("LAST", last)]);
    format!(
        "const THREADS = {threads}u;\nconst SUBGROUP = {subgroup}u;\nconst LAST = {last}u;\n{}{}",
        unroll(include_str!("steps.wgsl"), &names),
        unroll(fold, &names)
    )
}

/// The ladder over one array, which it keeps in the device's memory, with everything that its runs need.
#[derive(Debug)]
pub struct Ladder {
    gpu: Arc<Gpu>,
    result: Memory,
    steps: Vec<Recording>,
    library: Recording,
    limit: Recording,
}

impl Ladder {
    /// The ladder over a copy of these items.
    ///
    /// # Errors
    /// [`Error::Buffer`] if one binding does not hold them, and those of the device.
    pub fn new(gpu: &Arc<Gpu>, items: &[u32]) -> Result<Self> {
        let most = gpu.facts.binding_bytes - gpu.facts.alignment - 16;
        if items.len() as u64 > most / 4 {
            return Err(Error::Buffer {
                reason: format!(
                    "the ladder takes an array that one binding holds: on device {} at most {} items, not {}",
                    gpu.id(),
                    most / 4,
                    items.len()
                ),
            });
        }
        let input = Memory::holding(gpu, items)?;
        let result = Memory::new::<u32>(gpu, 1)?;
        let (options, problem) = (ReduceOptions::default(), Reduce::new(Sum));
        let (slices, workspace) = ([input.slice(), result.slice()], &mut Workspace::default());
        let library = gpu.bind_reduce::<u32, u32, _>(workspace, slices, &problem, &options)?;
        let library = gpu.recording(library)?;
        let limit = gpu.probe_read(input.slice(), result.slice())?;
        let steps = steps(gpu, &input.slice(), &result.slice())?;
        Ok(Self { gpu: Arc::clone(gpu), result, steps, library, limit })
    }

    fn recording(&self, rung: Rung) -> &Recording {
        match rung {
            Rung::Step(step) => &self.steps[step as usize],
            Rung::Library => &self.library,
        }
    }
}

impl Rungs for Ladder {
    fn sum(&mut self, rung: Rung) -> Result<u32> {
        self.result.replace(&[POISON])?;
        self.gpu.submit(self.recording(rung))?;
        let mut found = [0];
        self.gpu.read_back(self.result.slice(), &mut found)?;
        Ok(found[0])
    }

    fn time(&mut self, rung: Rung, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.gpu.time(self.recording(rung), runs)
    }

    fn time_limit(&mut self, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.gpu.time(&self.limit, runs)
    }
}

/// The launches of every step, in their order.
fn steps(gpu: &Gpu, input: &Slice<'_>, result: &Slice<'_>) -> Result<Vec<Recording>> {
    let (facts, text) = (&gpu.facts, text(&gpu.facts));
    let whole = input.window(Dtype::U32.into(), facts.alignment, 0, input.items as u32);
    // A launch reads the values of the one before, and leaves its own in the other.
    let most = 4 * input.items.div_ceil(u64::from(threads(facts)));
    let partials = [
        gpu.buffer("partials", most, BufferUsages::STORAGE)?,
        gpu.buffer("partials", most, BufferUsages::STORAGE)?,
    ];
    let one = |step: LadderStep| {
        let pipeline = gpu.compile(&text, step.name())?;
        let dispatches = launches(gpu, step, &pipeline, (input, &whole), &partials, result)?;
        Ok(Recording { dispatches, strategy: None, states: Vec::new(), scratch: 0, alive: None })
    };
    LadderStep::ALL.into_iter().map(one).collect()
}

fn launches(
    gpu: &Gpu,
    step: LadderStep,
    pipeline: &wgpu::ComputePipeline,
    (input, whole): (&Slice<'_>, &Window),
    partials: &[wgpu::Buffer; 2],
    result: &Slice<'_>,
) -> Result<Vec<Dispatch>> {
    let threads = threads(&gpu.facts);
    let passes = step.passes(input.items, threads, MOST_WORKGROUPS);
    let parameters = gpu.parameters(passes.len() as u64)?;
    let mut dispatches = Vec::with_capacity(passes.len());
    for (number, pass) in passes.iter().enumerate() {
        let (items, workgroups) = (pass.items as u32, pass.workgroups as u32);
        let words = [items, workgroups, threads];
        gpu.write(&parameters, number as u64 * PARAMETERS, bytemuck::cast_slice(&words))?;
        let from = match number {
            0 => whole.binding(input.buffer),
            _ => partials[(number - 1) % 2].as_entire_binding(),
        };
        let to = match number + 1 == passes.len() {
            true => gpu.result_binding(result),
            false => partials[number % 2].as_entire_binding(),
        };
        let bindings = [(0, from), (1, to), (2, gpu.parameter_binding(&parameters, number))];
        dispatches.push(Dispatch {
            name: step.name(),
            pipeline: pipeline.clone(),
            group: gpu.group(pipeline, &bindings)?,
            size: grid(workgroups, gpu.facts.grid),
            indirect: None,
            threads,
            traffic: Traffic { read: 4 * pass.items, written: 0 },
        });
    }
    Ok(dispatches)
}

#[cfg(test)]
mod tests {
    use upsweep_gpu::Folder;
    use upsweep_testing::rotation;

    use super::*;

    /// Of so many cells one is tested in each run, beside those that it takes to meet every length.
    const ONE_IN: usize = 8;

    /// Every device, and as it would be if it had no subgroups, fewer threads, and grids that take a second dimension.
    #[test]
    fn every_rung_gives_the_sum() {
        let mut gpus = crate::testing::gpus(&Folder::default());
        for mut less in crate::testing::gpus(&Folder::default()) {
            let facts = &mut crate::testing::own(&mut less).facts;
            (facts.subgroup, facts.threads, facts.grid) = (1, 128, 60);
            gpus.push(less);
        }
        let arrays: Vec<_> = upsweep_testing::ladder::arrays().collect();
        let mut cells = Vec::new();
        for gpu in 0..gpus.len() {
            cells.extend((0..arrays.len()).map(|array| [("device", gpu), ("array", array)]));
        }
        for cell in rotation::chosen(&cells, ONE_IN) {
            let [(_, gpu), (_, array)] = cells[cell];
            let (gpu, (items, sum)) = (&gpus[gpu], &arrays[array]);
            let mut ladder = Ladder::new(gpu, items).expect("a ladder");
            for rung in Rung::all() {
                assert_eq!(ladder.sum(rung), Ok(*sum), "{rung} of {} on {gpu:?}", items.len());
            }
        }
    }

    #[test]
    fn runs_are_timed_where_there_is_a_clock() {
        for gpu in crate::testing::gpus(&Folder::default()) {
            let mut ladder = Ladder::new(&gpu, &[1; 10_000]).expect("a ladder");
            for rung in Rung::all() {
                let times = ladder.time(rung, 3).expect("a time");
                assert_eq!(times.is_some(), ladder.gpu.limits().timestamps);
                assert!(times.is_none_or(|times| times.len() == 3), "{rung}");
            }
            let limit = ladder.time_limit(2).expect("a time");
            assert!(limit.is_none_or(|times| times.len() == 2));
        }
    }

    #[test]
    fn more_than_a_binding_holds_is_refused() {
        for mut gpu in crate::testing::gpus(&Folder::default()) {
            crate::testing::own(&mut gpu).facts.binding_bytes = 4096;
            let refused = Ladder::new(&gpu, &[1; 2000]).map(drop).expect_err("too many");
            assert!(refused.to_string().contains("items, not 2000"), "{refused}");
        }
    }
}
