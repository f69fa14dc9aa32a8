//! The ladder on a GPU: the seven classic steps of a sum, beside the library's own.
//!
//! The kernels of all steps are in `steps.cuh`; they differ in which of its functions they call. `hold.cuh` keeps the host out
//! of what is measured.

use core::time::Duration;
use std::sync::Arc;

use upsweep_core::{LadderStep, Pass, Reduce, Result, Rung, Rungs, Sum};
use upsweep_gpu::{Calls, ReduceOptions};

use crate::backend::Workspace;
use crate::device::{Facts, Gpu};
use crate::launch::{Arguments, Kernel, Launch};
use crate::memory::{Buffer, Memory};
use crate::probe::Probe;

/// Threads of a workgroup: those of the talk's largest.
const THREADS: u32 = 256;

/// Threads of a warp.
const WARP: u32 = 32;

/// Runs that are launched together.
const MOST_RUNS: u32 = 64;

/// Clocks that the device is held for each launch and each event: some 10 µs, in which a host of today makes several.
const CLOCKS_OF_LAUNCH: u64 = 20_000;

/// What a result holds before it is written.
const POISON: u32 = 0xa5a5_a5a5;

/// Entry points: the steps in their order, and what is launched in front of them.
pub(crate) fn entries() -> Vec<&'static str> {
    LadderStep::ALL.into_iter().map(LadderStep::name).chain(["hold"]).collect()
}

/// The text of all kernels.
pub(crate) fn text() -> String {
    format!(
        "{}constexpr u32 THREADS = {THREADS}u, SUBGROUP = {WARP}u;\n{}{}",
        include_str!("../shader/names.cuh"),
        include_str!("steps.cuh"),
        include_str!("hold.cuh")
    )
}

/// Workgroups that take all items between them in the last step: as many as the device holds at once.
fn most_workgroups(facts: &Facts) -> u32 {
    (facts.multiprocessors * (facts.threads_of_each / THREADS)).max(1)
}

/// The ladder over one array, which it keeps in the device's memory, with everything that its runs need.
#[derive(Debug)]
pub struct Ladder {
    gpu: Arc<Gpu>,
    input: Memory,
    result: Memory,
    kernels: Vec<Arc<Kernel>>,
    hold: Arc<Kernel>,
    /// A launch reads the values of the one before, and leaves its own in the other.
    partials: [Buffer; 2],
    workspace: Workspace,
    probe: Probe,
}

impl Ladder {
    /// The ladder over a copy of these items.
    ///
    /// # Errors
    /// Those of the device and the compiler.
    pub fn new(gpu: &Arc<Gpu>, items: &[u32]) -> Result<Self> {
        let module = gpu.load(&text(), &entries())?;
        let kernel = |entry: &str| {
            module.kernel(entry).ok_or_else(|| gpu.failed("the ladder lacks an entry point"))
        };
        let kernels = LadderStep::ALL.map(|step| kernel(step.name()));
        let most = 4 * (items.len() as u64).div_ceil(u64::from(THREADS));
        Ok(Self {
            gpu: Arc::clone(gpu),
            input: Memory::holding(gpu, items)?,
            result: Memory::new::<u32>(gpu, 1)?,
            kernels: kernels.into_iter().collect::<Result<_>>()?,
            hold: kernel("hold")?,
            partials: [Buffer::new(gpu, most)?, Buffer::new(gpu, most)?],
            workspace: Workspace::for_items(items.len() as u64),
            probe: Probe::new(gpu)?,
        })
    }

    fn passes(&self, step: LadderStep) -> Vec<Pass> {
        step.passes(self.input.len() as u64, THREADS, most_workgroups(&self.gpu.facts))
    }

    /// Launches of a run.
    fn launches(&self, rung: Rung) -> u64 {
        match rung {
            Rung::Step(step) => self.passes(step).len() as u64,
            Rung::Library => 1,
        }
    }

    /// Launches a run. Does not wait.
    fn launch(&mut self, rung: Rung) -> Result<()> {
        let Self { gpu, input, result, workspace, .. } = self;
        match rung {
            Rung::Step(step) => self.launch_step(step),
            Rung::Library => {
                let (slices, options) = ([input.slice(), result.slice()], ReduceOptions::default());
                let problem = Reduce::new(Sum);
                let bound =
                    gpu.bind_reduce::<u32, u32, _>(workspace, slices, &problem, &options)?;
                gpu.begin_in(gpu.stream(), &bound)
            }
        }
    }

    fn launch_step(&self, step: LadderStep) -> Result<()> {
        let gpu = &self.gpu;
        let passes = self.passes(step);
        for (number, pass) in passes.iter().enumerate() {
            let from = match number {
                0 => self.input.slice().pointer(),
                _ => self.partials[(number - 1) % 2].pointer(),
            };
            let to = match number + 1 == passes.len() {
                true => self.result.slice().pointer(),
                false => self.partials[number % 2].pointer(),
            };
            let workgroups = u32::try_from(pass.workgroups)
                .map_err(|_| gpu.failed("a step of more workgroups than a launch has"))?;
            let launch = Launch {
                grid: [workgroups, 1],
                threads: THREADS,
                shared_bytes: 0,
                cooperative: false,
            };
            let arguments = Arguments::new().with([from, to, pass.items]);
            let kernel = &self.kernels[step as usize];
            // SAFETY: `Parameters` in `steps.cuh` has these fields. As many items are read as there are, or as the launch
            // before has left; of what is written there is one value for each workgroup, for which all three have room.
            unsafe { gpu.launch(gpu.stream(), kernel, &launch, &arguments) }?;
        }
        Ok(())
    }

    /// How long each of `runs` runs takes on the device: from the end of the one before to its own. A run is of so many
    /// launches, which `work` makes.
    fn time_runs(
        &mut self,
        runs: u32,
        launches: u64,
        mut work: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<Vec<Duration>> {
        let gpu = Arc::clone(&self.gpu);
        let mut times = Vec::with_capacity(runs as usize);
        while times.len() < runs as usize {
            let together = MOST_RUNS.min(runs - times.len() as u32);
            let clocks = CLOCKS_OF_LAUNCH * (launches + 1) * u64::from(together);
            let launch = Launch { grid: [1, 1], threads: 1, shared_bytes: 0, cooperative: false };
            // SAFETY: this is the kernel's argument; it touches no memory.
            unsafe {
                gpu.launch(gpu.stream(), &self.hold, &launch, &Arguments::new().with(clocks))
            }?;
            // One before the first that counts, so that it too follows one of its kind.
            work(self)?;
            let mut marks = vec![gpu.mark(gpu.stream())?];
            for _ in 0..together {
                work(self)?;
                marks.push(gpu.mark(gpu.stream())?);
            }
            for pair in marks.windows(2) {
                times.push(gpu.between(&pair[0], &pair[1])?);
            }
        }
        Ok(times)
    }
}

impl Rungs for Ladder {
    fn sum(&mut self, rung: Rung) -> Result<u32> {
        self.result.replace(&[POISON])?;
        self.launch(rung)?;
        self.gpu.wait()?;
        let mut found = [0];
        self.gpu.read_back(&self.result.slice(), &mut found)?;
        Ok(found[0])
    }

    fn time(&mut self, rung: Rung, runs: u32) -> Result<Option<Vec<Duration>>> {
        let launches = self.launches(rung);
        self.time_runs(runs, launches, |ladder| ladder.launch(rung)).map(Some)
    }

    fn time_limit(&mut self, runs: u32) -> Result<Option<Vec<Duration>>> {
        let read = |ladder: &mut Self| {
            let gpu = &ladder.gpu;
            ladder.probe.read(gpu, gpu.stream(), ladder.input.slice())
        };
        self.time_runs(runs, 1, read).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_rung_gives_the_sum() {
        let Some(gpu) = testing::gpu() else { return };
        for (items, sum) in upsweep_testing::ladder::arrays() {
            let mut ladder = Ladder::new(&gpu, &items).expect("a ladder");
            for rung in Rung::all() {
                assert_eq!(ladder.sum(rung), Ok(sum), "{rung} of {}", items.len());
            }
        }
    }

    #[test]
    fn runs_are_timed() {
        let Some(gpu) = testing::gpu() else { return };
        let mut ladder = Ladder::new(&gpu, &[1; 1 << 20]).expect("a ladder");
        let mut seconds = Vec::new();
        for rung in Rung::all() {
            let times = ladder.time(rung, MOST_RUNS + 3).expect("times").expect("it has a clock");
            assert_eq!(times.len(), MOST_RUNS as usize + 3, "{rung}");
            assert!(times.iter().all(|time| !time.is_zero()), "{rung}: {times:?}");
            seconds.push(times.iter().map(Duration::as_secs_f64).fold(f64::MAX, f64::min));
        }
        assert!(seconds[0] > seconds[6], "the last step is faster than the first: {seconds:?}");
        let limit = ladder.time_limit(2).expect("times").expect("it has a clock");
        assert_eq!(limit.len(), 2);
        assert_eq!(ladder.sum(Rung::Library), Ok(1 << 20), "runs leave everything as it was");
    }
}
