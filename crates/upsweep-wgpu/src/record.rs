//! Operations that are ready to be recorded into a command stream, the caller's or ours.

use std::sync::{Arc, Weak};

use upsweep_core::{Launch, Result, Strategy};

use crate::device::Gpu;

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    /// The kernel's entry point.
    pub(crate) name: &'static str,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) group: wgpu::BindGroup,
    /// Workgroups; where the device says how many, the most.
    pub(crate) size: [u32; 2],
    /// Where the device says how many there are.
    pub(crate) indirect: Option<(wgpu::Buffer, u64)>,
    /// Threads of a workgroup.
    pub(crate) threads: u32,
    pub(crate) traffic: Traffic,
}

/// The fewest bytes that a launch must move through memory: each item of the arrays that it reads once, and of those
/// that it writes once.
///
/// What workgroups tell one another counts where a launch does nothing else, as with the spine of a scan. The one
/// result of a reduction does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// Records launches into a compute pass.
pub(crate) fn record(dispatches: &[Dispatch], pass: &mut wgpu::ComputePass<'_>) {
    for Dispatch { pipeline, group, size: [x, y], indirect, .. } in dispatches {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        match indirect {
            None => pass.dispatch_workgroups(*x, *y, 1),
            Some((buffer, offset)) => pass.dispatch_workgroups_indirect(buffer, *offset),
        }
    }
}

/// What is launched, bound to its arrays.
#[derive(Debug)]
pub struct Bound(pub(crate) Recording);

impl Gpu {
    /// The same, to be recorded as often as wanted: whoever waits for the device looks whether it went well, as long as it lives.
    ///
    /// # Errors
    /// Those of the device.
    pub fn recording(&self, Bound(mut recording): Bound) -> Result<Recording> {
        let alive = Arc::new(());
        for state in &recording.states {
            self.watch(state, Arc::downgrade(&alive))?;
        }
        recording.alive = (!recording.states.is_empty()).then_some(alive);
        Ok(recording)
    }

    /// Submits a recording, and remembers to look later whether it went well.
    ///
    /// # Errors
    /// Those of the device.
    pub fn submit(&self, recording: &Recording) -> Result<()> {
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut states = recording.states.iter().filter(|_| recording.alive.is_none());
        states.try_for_each(|state| self.watch(state, Weak::new()))
    }
}

/// An operation on certain arrays, with all that it needs: recording it allocates nothing of ours, submits nothing
/// and waits for nothing.
///
/// It shares the scratch memory of the workspace that it was bound with: runs of one workspace's recordings must
/// follow one another, as they do in one queue.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) dispatches: Vec<Dispatch>,
    pub(crate) strategy: Option<Strategy>,
    /// What has a word that says whether it went well: the state in which workgroups say that they have waited for others in vain, and
    /// what sizes launches by a length that only the device knows, which may be above its bound.
    pub(crate) states: Vec<wgpu::Buffer>,
    /// Bytes of scratch memory.
    pub(crate) scratch: u64,
    /// Dropped with the last copy of the recording: until then it may run again.
    pub(crate) alive: Option<Arc<()>>,
}

impl Recording {
    /// Without launches.
    pub(crate) fn of_nothing() -> Self {
        let (dispatches, states) = (Vec::new(), Vec::new());
        Self { dispatches, strategy: None, states, scratch: 0, alive: None }
    }

    /// Records the launches into a compute pass.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        record(&self.dispatches, pass);
    }

    /// The same, and another behind it, which has the strategy.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.dispatches.extend(other.dispatches);
        self.states.extend(other.states);
        Self { scratch: self.scratch + other.scratch, strategy: other.strategy, ..self }
    }

    /// The same operation so many times, one after another.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        let launches = self.dispatches.len() * times;
        let dispatches = self.dispatches.iter().cycle().take(launches).cloned().collect();
        Self { dispatches, ..self.clone() }
    }

    /// The strategy that was chosen; `None` for what has none.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy
    }

    /// Number of launches.
    pub fn launches(&self) -> usize {
        self.dispatches.len()
    }

    /// What each launch is, in their order. No interface that wgpu reaches says what a kernel needs of a multiprocessor.
    pub fn described(&self) -> Vec<Launch> {
        let described = |dispatch: &Dispatch| Launch {
            name: dispatch.name,
            workgroups: dispatch.size.into_iter().map(u64::from).product(),
            threads_per_workgroup: dispatch.threads,
            registers: None,
            spilled_bytes: None,
            shared_bytes: None,
            at_once: None,
        };
        self.dispatches.iter().map(described).collect()
    }

    /// Bytes of scratch memory that it uses, of the workspace that it was bound with.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch
    }
}
