//! Scans on a GPU.
//!
//! `chunk.cuh` says what a workgroup's chunk consists of, `unit.cuh` what one thread does of it, `anywhere.cuh` how that is read
//! and written where no access may begin, `carries.cuh` what comes into it. Who does what in a workgroup is in `held.cuh` if
//! threads hold their items in registers, and in `aggregates.cuh` if chunks wait in shared memory, with the copies that go on
//! meanwhile in `bulk.cuh`.

pub(crate) mod policy;
mod shape;

use std::sync::Arc;

use upsweep_core::summation::{GROUP, ROWS, TILES};
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

use shape::{Shape, Waits};

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

/// The first architecture whose blocks, once they began, go on whatever others do.
const ARCH_OF_PROGRESS: u32 = 70;

/// The first architecture whose copy engine fills shared memory.
const ARCH_OF_BULK_COPIES: u32 = 90;

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
                    Shape::staged(facts, types, lies, policy)
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
            include_str!("anywhere.cuh"),
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
