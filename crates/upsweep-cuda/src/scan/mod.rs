//! Scans on a GPU.
//!
//! `chunk.cuh` says what a workgroup's chunk consists of, `unit.cuh` what one thread does of it; who does what in a workgroup
//! is in `aggregates.cuh`, what comes into chunks in `carries.cuh`, and copies that go on meanwhile in `bulk.cuh`.

pub(crate) mod policy;

use std::sync::Arc;

use upsweep_core::summation::{GROUP, LANES, ROWS, TILES};
use upsweep_core::{
    Arrangement, Bounds, Direction, Element, Error, GpuScanStrategy, Result, Scan, ScanGlobal,
    ScanLocal, Strategy, Tail, WorkgroupPolicy,
};

use crate::device::{Facts, Gpu};
use crate::launch::{Arguments, Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::reduce::{Init, LOOKS};
use crate::shader::{PUBLISHED, SUBGROUP, Shader, TOTAL, Types, state};
use crate::slice::Slice;

/// Strategy and policy of a scan; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Which algorithm, at each level.
    pub strategy: Option<GpuScanStrategy>,
    /// The numbers.
    pub policy: Option<WorkgroupPolicy>,
}

/// The strategy and policy where none are asked for.
pub(crate) fn choice(items: u64, item_bytes: usize) -> (GpuScanStrategy, WorkgroupPolicy) {
    (policy::strategy(), policy::policy(items, item_bytes))
}

/// What is scanned how, besides its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bounds: Bounds,
    pub(crate) direction: Direction,
}

impl Form {
    /// The form of a problem.
    pub(crate) fn new<A: Element, O>(problem: &Scan<A, O>) -> Self {
        Self { bounds: problem.bounds, direction: problem.direction }
    }
}

/// Whether arrays begin, or end if they are scanned from there, where an access of 16 bytes may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lies {
    pub(crate) aligned: bool,
    pub(crate) out_aligned: bool,
}

impl Lies {
    fn new(form: Form, input: &Slice<'_>, output: &Slice<'_>) -> Self {
        let is = |slice: &Slice<'_>| {
            let from_end = form.direction == Direction::Reverse;
            let turned = if from_end { slice.pointer() + slice.bytes() } else { slice.pointer() };
            turned.is_multiple_of(16)
        };
        Self { aligned: is(input), out_aligned: is(output) }
    }
}

/// Threads of a warp; warps that serve the workers: `aggregates.cuh`.
const WARP: u32 = 32;
const SERVING_WARPS: u32 = 3;

/// Most chunks that are staged at once, besides those that wait to be finished.
const MOST_STAGES: u32 = 2;

/// Bytes of a chunk up to which two of them wait to be finished, not one: they are scanned in less time than a total takes
/// from workgroup to workgroup.
const BYTES_OF_SHORT_STAGE: u32 = 16 << 10;

/// Bytes of shared memory, besides stages, that a workgroup needs: totals and carries of workers, barriers.
const SHARED_BESIDES: u32 = 8 << 10;

/// Registers that a thread needs for each word of a value, so that none are spilled.
const REGISTERS: u32 = 56;

/// The first architecture whose copy engine fills shared memory.
const ARCH_OF_BULK_COPIES: u32 = 90;

/// The sizes of a kernel. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    warps: u32,
    /// Rows of a warp.
    rows: u32,
    stages: u32,
    stage_bytes: u32,
    /// Chunks that wait to be finished.
    lag: u32,
    /// Workgroups of a multiprocessor that its shared memory and registers allow.
    at_once: u32,
}

impl Shape {
    fn new(facts: &Facts, types: &Types, policy: WorkgroupPolicy) -> Self {
        let item = types.item.size() as u32;
        let most = facts.shared_bytes_most.saturating_sub(SHARED_BESIDES);
        // As many rows as a tile at most; four warps share a tile at most.
        let wanted = (policy.items_per_thread / GROUP as u32).clamp(4, ROWS as u32);
        let mut rows = 1 << wanted.ilog2();
        let warps = (policy.threads_per_workgroup / WARP).clamp(ROWS as u32 / rows, 16);
        let mut warps = 1 << warps.ilog2();
        let bytes = |warps: u32, rows: u32| warps * rows * LANES as u32 * item;
        while 2 * bytes(warps, rows) > most && rows > 4 {
            rows /= 2;
        }
        while 2 * bytes(warps, rows) > most && warps > ROWS as u32 / rows {
            warps /= 2;
        }
        let stage_bytes = bytes(warps, rows);
        let lag = if stage_bytes <= BYTES_OF_SHORT_STAGE { 2 } else { 1 };
        let stages = (most / stage_bytes).clamp(lag + 1, lag + MOST_STAGES);
        let threads = WARP * (warps + SERVING_WARPS);
        let shared = facts.shared_bytes_of_each / (stages * stage_bytes + SHARED_BESIDES);
        let needed = REGISTERS * types.held().words().min(2);
        let registers = facts.registers_of_each / (needed * threads);
        let at_once = shared.min(registers).min(facts.threads_of_each / threads).clamp(1, 4);
        Self { warps, rows, stages, stage_bytes, lag, at_once }
    }

    /// Items of a workgroup.
    fn chunk(&self) -> u64 {
        u64::from(self.warps * self.rows) * LANES as u64
    }

    fn shared_bytes(&self) -> u32 {
        self.stages * self.stage_bytes
    }
}

/// A scan of arrays of at most a given length, ready to be launched.
#[derive(Debug)]
pub(crate) struct Scanning {
    types: Types,
    form: Form,
    shape: Shape,
    lies: Lies,
    kernel: Arc<Kernel>,
    pub(crate) state: Arc<Buffer>,
    items: u64,
    /// Most workgroups that run at once.
    workgroups: u32,
}

impl Scanning {
    /// The sizes and the shader of a scan. No device is needed to know them; `id` is named in errors.
    pub(crate) fn kernel(
        (id, facts): (&str, &Facts),
        types: &Types,
        form: Form,
        items: u64,
        lies: Lies,
        options: &ScanOptions,
    ) -> Result<(Shape, Shader)> {
        let strategy = options.strategy.unwrap_or_else(policy::strategy);
        let refused = |reason: &str| Error::StrategyRefused {
            device: id.to_owned(),
            strategy: Strategy::GpuScan(strategy).to_string(),
            reason: reason.to_owned(),
        };
        if strategy.load.arrangement != Arrangement::Striped || strategy.load.tail != Tail::Exact {
            return Err(refused(
                "on CUDA chunks are staged striped, and whole ones without checks",
            ));
        }
        if strategy.local != ScanLocal::Cooperative {
            return Err(refused("on CUDA workgroups scan by shuffles"));
        }
        if strategy.global != ScanGlobal::Aggregates {
            return Err(refused("on CUDA chunks exchange aggregates only"));
        }
        if facts.arch < ARCH_OF_BULK_COPIES {
            return Err(refused("the device has no copy engine that fills shared memory"));
        }
        if !facts.cooperative {
            return Err(refused("the device does not run all workgroups at once"));
        }
        let item_bytes = types.item.size();
        let policy = options.policy.unwrap_or_else(|| policy::policy(items, item_bytes));
        let shape = Shape::new(facts, types, policy);
        // A group in as few accesses as hold it.
        let width = |size: usize| (GROUP * size).min(16) as u32;
        let shader = Shader {
            types: types.clone(),
            width: width(item_bytes),
            out_width: width(types.output.size()),
            constants: vec![
                ("WARPS", u64::from(shape.warps)),
                ("ROWS", u64::from(shape.rows)),
                ("STAGES", u64::from(shape.stages)),
                ("LAG", u64::from(shape.lag)),
                ("TILE_ROWS", ROWS as u64),
                ("WINDOW_TILES", TILES as u64),
                ("WORKGROUPS_OF_MULTIPROCESSOR", u64::from(shape.at_once)),
                ("INCLUSIVE", u64::from(form.bounds == Bounds::Inclusive)),
                ("REVERSE", u64::from(form.direction == Direction::Reverse)),
                ("COMMUTES", u64::from(types.op.is_commutative())),
                ("ALIGNED", u64::from(lies.aligned)),
                ("OUT_ALIGNED", u64::from(lies.out_aligned)),
                ("LOOKS", LOOKS),
            ],
            parts: vec![
                SUBGROUP,
                PUBLISHED,
                include_str!("bulk.cuh"),
                include_str!("chunk.cuh"),
                include_str!("unit.cuh"),
                include_str!("aggregates.cuh"),
                include_str!("carries.cuh"),
            ],
            entries: vec!["scan"],
        };
        Ok((shape, shader))
    }

    /// A scan of arrays of at most `items` items that lie like `input` and `output`.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        types: Types,
        form: Form,
        items: u64,
        [input, output]: [&Slice<'_>; 2],
        options: &ScanOptions,
    ) -> Result<Self> {
        let lies = Lies::new(form, input, output);
        let (shape, shader) =
            Self::kernel((gpu.id(), &gpu.facts), &types, form, items, lies, options)?;
        let kernel = gpu.kernel(&shader, "scan")?;
        let threads = WARP * (shape.warps + SERVING_WARPS);
        let at_once = gpu.blocks_at_once(&kernel, threads, shape.shared_bytes())?;
        let workgroups = gpu.facts.multiprocessors * at_once.min(shape.at_once);
        if workgroups == 0 {
            return Err(gpu.failed("a workgroup of a scan does not fit on a multiprocessor"));
        }
        let chunks = items.div_ceil(shape.chunk()).max(1);
        let state = state(gpu, &types, chunks)?;
        Ok(Self { types, form, shape, lies, kernel, state, items, workgroups })
    }

    /// Whether this scan can be used for these arrays.
    pub(crate) fn suits(
        &self,
        types: &Types,
        form: Form,
        input: &Slice<'_>,
        output: &Slice<'_>,
    ) -> bool {
        self.types == *types
            && self.form == form
            && input.items <= self.items
            && Lies::new(form, input, output) == self.lies
    }

    /// The launch of a scan of `input` into `output`, which is as long and not empty.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        input: &Slice<'_>,
        output: &Slice<'_>,
        init: Init,
    ) -> Result<Ready> {
        let chunks = u32::try_from(input.items.div_ceil(self.shape.chunk()))
            .map_err(|_| gpu.failed("a scan of more chunks than are counted"))?;
        let [low, high] = init.unwrap_or_default();
        let words = [
            input.pointer(),
            output.pointer(),
            self.state.pointer(),
            input.items,
            u64::from(chunks) | u64::from(init.is_some()) << 32,
            u64::from(low) | u64::from(high) << 32,
        ];
        let launch = Launch {
            grid: [chunks.min(self.workgroups), 1],
            threads: WARP * (self.shape.warps + SERVING_WARPS),
            shared_bytes: self.shape.shared_bytes(),
            cooperative: true,
        };
        // SAFETY: `Scan` in `chunk.cuh` has these fields. The caller's slices are the device's memory and lie apart, or are
        // one; the state has a place for every chunk of the longest array.
        Ok(unsafe {
            Ready::new(&self.kernel, launch, Arguments::new().with(words), Some(&self.state))
        })
    }

    /// The bits of what comes in behind the last scan, which was one of whole windows. Waits for it.
    pub(crate) fn carry(&self, gpu: &Gpu) -> Result<u64> {
        let mut bits = [0; 8];
        // SAFETY: the state has this word.
        unsafe { gpu.copy_out(self.state.pointer() + TOTAL, &mut bits) }?;
        Ok(u64::from_le_bytes(bits))
    }
}
