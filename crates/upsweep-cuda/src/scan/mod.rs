//! Scans on a GPU.
//!
//! `chunk.cuh` says what a workgroup's chunk consists of, `unit.cuh` what one thread does of it, `carries.cuh` what comes into
//! it. Who does what in a workgroup is in `held.cuh` if threads hold their items in registers, and in `aggregates.cuh` if
//! chunks wait in shared memory, with the copies that go on meanwhile in `bulk.cuh`.

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
use crate::shader::{Constants, PUBLISHED, SUBGROUP, Shader, TOTAL, Types, state};
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
pub(crate) fn choice(
    facts: &Facts,
    items: u64,
    item_bytes: usize,
) -> (GpuScanStrategy, WorkgroupPolicy) {
    (policy::strategy(facts.arch), policy::policy(items, item_bytes))
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

/// Threads of a warp.
const WARP: u32 = 32;

/// Chunks that wait to be finished, and chunks on their way: for each size of chunk as many as the time that a total takes from
/// workgroup to workgroup, and as memory takes to answer.
fn lag_and_ahead(chunk_bytes: u32) -> (u32, u32) {
    if chunk_bytes > 32 << 10 { (1, 1) } else { (2, 2) }
}

/// Bytes of shared memory, besides stages, that a workgroup needs: totals and carries of workers, barriers.
const SHARED_BESIDES: u32 = 8 << 10;

/// Registers that a thread needs besides what it holds, for each word of a value, so that none are spilled.
const REGISTERS: u32 = 56;

/// Most totals that a lane of a controller has on their way, in words of values.
const TOTALS_OF_LANE: u32 = 10;

/// The first architecture whose blocks, once they began, go on whatever others do.
const ARCH_OF_PROGRESS: u32 = 70;

/// The first architecture whose copy engine fills shared memory.
const ARCH_OF_BULK_COPIES: u32 = 90;

/// Where a chunk is while it waits for what comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// In shared memory, others being brought there meanwhile: `aggregates.cuh`.
    Staged { lag: u32, ahead: u32 },
    /// In registers, a chunk for each workgroup: `held.cuh`. `looks_back` if there may be more than run at once.
    Held { looks_back: bool },
}

/// The sizes of a kernel. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    warps: u32,
    /// Rows of a warp.
    rows: u32,
    item_bytes: u32,
    waits: Waits,
    /// Workgroups of a multiprocessor that its shared memory and registers allow.
    at_once: u32,
}

impl Shape {
    /// The sizes with which chunks are staged.
    fn staged(facts: &Facts, types: &Types, policy: WorkgroupPolicy) -> Self {
        let item_bytes = types.item.size() as u32;
        let most = facts.shared_bytes_most.saturating_sub(SHARED_BESIDES);
        let (mut warps, mut rows) = warps_and_rows(policy, 16);
        let bytes = |warps: u32, rows: u32| warps * rows * LANES as u32 * item_bytes;
        while 3 * bytes(warps, rows) > most && rows > 4 {
            rows /= 2;
        }
        while 3 * bytes(warps, rows) > most && warps > ROWS as u32 / rows {
            warps /= 2;
        }
        let stage_bytes = bytes(warps, rows);
        let (lag, ahead) = lag_and_ahead(stage_bytes);
        let waits = Waits::Staged { lag, ahead };
        let mut shape = Self { warps, rows, item_bytes, waits, at_once: 1 };
        let shared = facts.shared_bytes_of_each / (shape.shared_bytes() + SHARED_BESIDES);
        let registers = REGISTERS * types.held().words().min(2);
        shape.at_once = shape.fit(facts, registers).min(shared).clamp(1, 4);
        shape
    }

    /// The sizes with which chunks are held in registers.
    fn held(facts: &Facts, types: &Types, policy: WorkgroupPolicy, looks_back: bool) -> Self {
        let words = types.held().words().min(2);
        // A thread has 255 registers at most, and half of those of a multiprocessor are enough for a workgroup.
        let (mut warps, mut rows) = warps_and_rows(policy, if words > 1 { 8 } else { 16 });
        let registers = |rows: u32| words * (REGISTERS + (GROUP as u32 + 1) * rows);
        while registers(rows) * WARP * (warps + 1) > facts.registers_of_each
            && warps > ROWS as u32 / rows
        {
            warps /= 2;
        }
        while registers(rows) * WARP * (warps + 1) > facts.registers_of_each && rows > 4 {
            rows /= 2;
        }
        let (item_bytes, waits) = (types.item.size() as u32, Waits::Held { looks_back });
        let mut shape = Self { warps, rows, item_bytes, waits, at_once: 1 };
        shape.at_once = shape.fit(facts, registers(rows)).clamp(1, 16);
        shape
    }

    /// Workgroups whose threads have so many registers that fit on a multiprocessor.
    fn fit(&self, facts: &Facts, registers: u32) -> u32 {
        // Registers are given to warps, 8 for each thread at a time.
        let registers = facts.registers_of_each / (registers.next_multiple_of(8) * self.threads());
        registers.min(facts.threads_of_each / self.threads()).min(facts.blocks_of_each.max(1))
    }

    /// Items of a workgroup.
    fn chunk(&self) -> u64 {
        u64::from(self.warps * self.rows) * LANES as u64
    }

    fn chunks(&self, items: u64) -> u64 {
        items.div_ceil(self.chunk()).max(1)
    }

    /// Threads of a workgroup: workers, and those who serve them.
    fn threads(&self) -> u32 {
        let serving = match self.waits {
            // The publisher, and controllers that take turns.
            Waits::Staged { lag, .. } => 1 + lag,
            Waits::Held { .. } => 1,
        };
        WARP * (self.warps + serving)
    }

    fn shared_bytes(&self) -> u32 {
        match self.waits {
            Waits::Staged { lag, ahead } => {
                (lag + 1 + ahead) * self.chunk() as u32 * self.item_bytes
            }
            Waits::Held { .. } => 0,
        }
    }

    /// Whether all workgroups must run at once.
    fn is_cooperative(&self) -> bool {
        self.waits != Waits::Held { looks_back: true }
    }

    /// Totals, and what comes into windows: `carries.cuh`.
    fn slots(&self, items: u64) -> u64 {
        let tiles = self.warps * self.rows / ROWS as u32;
        let chunks = self.chunks(items);
        chunks + chunks * u64::from(tiles) / TILES as u64
    }

    fn constants(&self, facts: &Facts, words: u32) -> Constants {
        let at_once = facts.multiprocessors * self.at_once;
        let tiles = self.warps * self.rows / ROWS as u32;
        // All that run at once, as often as a controller lets others take turns, and those of a window in front of them.
        let turns = match self.waits {
            Waits::Staged { lag, .. } => lag,
            Waits::Held { .. } => 1,
        };
        let totals = (turns * at_once + TILES as u32 / tiles).div_ceil(WARP);
        let mut constants = vec![
            ("WARPS", u64::from(self.warps)),
            ("ROWS", u64::from(self.rows)),
            ("TOTALS_OF_LANE", u64::from(totals.min(TOTALS_OF_LANE / words))),
            ("WORKGROUPS_OF_MULTIPROCESSOR", u64::from(self.at_once)),
        ];
        match self.waits {
            Waits::Staged { lag, ahead } => {
                constants.extend([("LAG", u64::from(lag)), ("AHEAD", u64::from(ahead))]);
            }
            Waits::Held { looks_back } => constants.push(("LOOKS_BACK", u64::from(looks_back))),
        }
        constants
    }
}

/// Warps of workers, of which four share a tile at most, and rows of each, of which a tile has as many at most.
fn warps_and_rows(policy: WorkgroupPolicy, most_rows: u32) -> (u32, u32) {
    let rows = (policy.items_per_thread / GROUP as u32).clamp(4, most_rows);
    let rows = 1 << rows.ilog2();
    let warps = (policy.threads_per_workgroup / WARP).clamp(ROWS as u32 / rows, 16);
    (1 << warps.ilog2(), rows)
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
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(facts.arch));
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
        let item_bytes = types.item.size();
        let policy = options.policy.unwrap_or_else(|| policy::policy(items, item_bytes));
        let shape = match strategy.global {
            ScanGlobal::Aggregates => {
                if !facts.cooperative {
                    return Err(refused("the device does not run all workgroups at once"));
                }
                let held = Shape::held(facts, types, policy, false);
                let staged = facts.arch >= ARCH_OF_BULK_COPIES;
                if held.chunks(items) <= u64::from(facts.multiprocessors * held.at_once) {
                    held
                } else if staged {
                    Shape::staged(facts, types, policy)
                } else {
                    return Err(refused(
                        "the array is longer than what all workgroups hold at once, and the device has no copy engine \
                         that fills shared memory",
                    ));
                }
            }
            ScanGlobal::LookBack => {
                if facts.arch < ARCH_OF_PROGRESS {
                    return Err(refused(
                        "the device does not promise that workgroups go on while others wait",
                    ));
                }
                Shape::held(facts, types, policy, true)
            }
            _ => return Err(refused("on CUDA scans take one launch")),
        };
        // A group in as few accesses as hold it.
        let width = |size: usize| (GROUP * size).min(16) as u32;
        let mut constants = shape.constants(facts, types.held().words().min(2));
        constants.extend([
            ("TILE_ROWS", ROWS as u64),
            ("WINDOW_TILES", TILES as u64),
            ("INCLUSIVE", u64::from(form.bounds == Bounds::Inclusive)),
            ("REVERSE", u64::from(form.direction == Direction::Reverse)),
            ("COMMUTES", u64::from(types.op.is_commutative())),
            ("ALIGNED", u64::from(lies.aligned)),
            ("OUT_ALIGNED", u64::from(lies.out_aligned)),
            ("LOOKS", LOOKS),
        ]);
        let mut parts = vec![
            SUBGROUP,
            PUBLISHED,
            include_str!("chunk.cuh"),
            include_str!("unit.cuh"),
            include_str!("carries.cuh"),
        ];
        match shape.waits {
            Waits::Staged { .. } => {
                parts.extend([include_str!("bulk.cuh"), include_str!("aggregates.cuh")])
            }
            Waits::Held { .. } => parts.push(include_str!("held.cuh")),
        }
        let shader = Shader {
            types: types.clone(),
            width: width(item_bytes),
            out_width: width(types.output.size()),
            constants,
            parts,
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
        let at_once = gpu.blocks_at_once(&kernel, shape.threads(), shape.shared_bytes())?;
        let workgroups = gpu.facts.multiprocessors * at_once.min(shape.at_once);
        if workgroups == 0 {
            return Err(gpu.failed("a workgroup of a scan does not fit on a multiprocessor"));
        }
        let state = state(gpu, &types, shape.slots(items))?;
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
        let chunks = u32::try_from(self.shape.chunks(input.items))
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
        let workgroups = match self.shape.waits {
            Waits::Staged { .. } => chunks.min(self.workgroups),
            Waits::Held { .. } => chunks,
        };
        let launch = Launch {
            grid: [workgroups, 1],
            threads: self.shape.threads(),
            shared_bytes: self.shape.shared_bytes(),
            cooperative: self.shape.is_cooperative(),
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
