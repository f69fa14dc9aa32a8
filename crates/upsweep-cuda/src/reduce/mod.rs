//! Reductions on a GPU.
//!
//! One kernel, `reduce.cuh`, folds tiles, `tile.cuh`, to one value for each workgroup; where their items lie is in `slots.cuh`. How
//! a workgroup folds what its threads have is in `cooperative.cuh`, `shared_memory.cuh` and `raking.cuh`; how the values of
//! workgroups become one, in `packed.cuh`, `counted.cuh`, `last_block.cuh` and `multi_level.cuh`.

pub(crate) mod calls;
#[cfg(test)]
mod on_device;
pub(crate) mod policy;

use std::sync::Arc;

use upsweep_core::summation::{LANES, TILE};
use upsweep_core::{
    Arrangement, Dtype, Error, Formula, GpuReduceStrategy, Kind, ReduceGlobal, ReduceLocal, Result,
    Strategy, Tail, WorkgroupPolicy,
};

use upsweep_gpu::layout::width_of;
use upsweep_gpu::{Init, OperatorValues, ReduceOptions};

use crate::backend::Inputs;
use crate::device::Gpu;
use crate::launch::{Arguments, Kernel, Launch, Ready};
use crate::mailbox;
use crate::memory::Buffer;
use crate::shader::types::access;
use crate::shader::{
    Held, Op, PUBLISHED, SUBGROUP, Shader, TOTAL, Types, init_words, made, state, tells_faults,
};
use crate::slice::Slice;

/// The strategy and policy of a sum of integers, where none are asked for.
pub(crate) fn choice(items: u64, item_bytes: usize) -> (GpuReduceStrategy, WorkgroupPolicy) {
    let kind = Kind::Number(Dtype::U32);
    let types = Types::new(kind, kind, kind, Op::Sum, OperatorValues::none(kind));
    (policy::strategy(&types), policy::policy(items * item_bytes as u64))
}

/// Where a result goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    /// The device's memory, at this address.
    Device(u64),
    /// A mailbox at this address, as the message of this number.
    Mailbox(u64, u32),
}

/// A first argument that begins with what is read, as `Inputs` in a kernel's header has it; kernels of segments have some words
/// `beside` arrays.
pub(crate) fn of_inputs(
    gpu: &Gpu,
    inputs: &Inputs<'_>,
    types: &Types,
    beside: &[u64],
) -> Arguments {
    let arrays = Arguments::new().begin().and(inputs.all().map(Slice::pointer));
    let numbered = arrays.and((0..u64::from(types.is_numbered())).map(|_| 0));
    let given = inputs.words.chunks(2).map(|pair| match pair {
        [low, high] => u64::from(*low) | u64::from(*high) << 32,
        pair => pair.iter().copied().map(u64::from).sum(),
    });
    let length = types.is_bounded.then(|| inputs.length.map_or(0, |length| length.pointer()));
    let lengths = inputs.lengths.iter().map(Slice::pointer);
    let fault = tells_faults(types).then(|| gpu.in_vain());
    numbered.and(beside.iter().copied()).and(length).and(lengths).and(fault).and(given)
}

/// Where a result goes, and whether there is a start value, whose words follow: `result.cuh`.
pub(crate) fn outcome(to: To, init: Init) -> [u64; 3] {
    let has_init = u64::from(init.is_some()) << 32;
    match to {
        To::Device(result) => [result, 0, has_init],
        To::Mailbox(mailbox, message) => [0, mailbox, u64::from(message) | has_init],
    }
}

/// The words of a start value at the end of the last argument, if there is one.
pub(crate) fn with_init(arguments: Arguments, types: &Types, init: Init) -> Arguments {
    let words = init.unwrap_or_default();
    let words = words[..init_words(types) as usize].chunks_exact(2);
    arguments.and(words.map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32))
}

/// Looks for a word that another workgroup has written or will write at once: some seconds of them.
pub(crate) const LOOKS: u64 = 1 << 22;

/// Most words of values that a lane of the last workgroup has on their way.
const AT_ONCE: u32 = 8;

/// Where a result goes.
pub(crate) const RESULT: &str = include_str!("result.cuh");

/// What a warp folds by shuffles.
const SHUFFLES: &str = include_str!("shuffles.cuh");

/// Threads of a warp, and the most of a workgroup and a multiprocessor, so that each has up to 128 registers.
const WARP: u32 = 32;
const MOST_THREADS: u32 = 512;

/// Bytes of the widest access of a number.
const WIDEST: u32 = 16;

/// Accesses of a thread that are on their way at once: half of its registers, if they have 16 bytes; and fewer if its lanes
/// need more than a quarter of its registers; half as many beside more than an eighth for structures.
const ACCESSES_HELD: u64 = 16;
const ACCESSES_HELD_CLOSE: u64 = 4;
const MOST_WORDS_OF_LANES: u32 = 32;

/// Items that a thread looks through at once for a position: half of its registers of one word each; of two, keys need as many
/// again.
const KEYS_HELD: u64 = 64;
const LONG_KEYS_HELD: u64 = 16;

/// Most bytes of them where they follow one another, and a thread has the more lanes for it.
const BYTES_HELD_BLOCKED: u64 = 128;

/// Most tiles that a team takes one after another, and that a workgroup takes, each of which leaves a value in shared memory.
const MOST_TILES_OF_TEAM: u32 = 64;
const MOST_TILES: u32 = 1024;

/// Accesses of a row that a thread takes at least, where they follow one another.
const LEAST_RUN: u32 = 2;

/// Words of shared memory for what threads have of lanes; every device has them, and room for the values of tiles beside them.
const WORDS_OF_LANES: u32 = 8 << 10;

/// The sizes of a kernel. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    warps: u32,
    /// Threads that share a tile.
    team: u32,
    tiles_of_team: u32,
    /// Threads that a multiprocessor has registers for.
    most_threads: u32,
}

impl Shape {
    /// `None` if one workgroup could not fold what all leave.
    fn new(
        types: &Types,
        strategy: &GpuReduceStrategy,
        width: u32,
        items: u64,
        policy: WorkgroupPolicy,
    ) -> Option<Self> {
        let accesses = LANES as u32 / (width / types.item.size() as u32);
        let blocked = strategy.load.arrangement == Arrangement::Blocked;
        let team = (if blocked { accesses / LEAST_RUN } else { accesses }).min(WARP);
        let words = LANES as u32 / team * types.held().words();
        // Beside so many lanes of its own a thread needs twice the registers, unless whole tiles of numbers are loaded striped.
        let is_structure = matches!(types.held(), Held::Structure(_));
        let checks = blocked || strategy.load.tail == Tail::Checked;
        let is_close = (checks || is_structure) && words > MOST_WORDS_OF_LANES;
        let most_threads = if is_close { MOST_THREADS / 2 } else { MOST_THREADS };
        let leaves_lanes = strategy.local != ReduceLocal::Cooperative && !types.is_exact();
        let most =
            most_threads.min(if leaves_lanes { WORDS_OF_LANES / words } else { MOST_THREADS });
        let warps = 1 << (policy.threads_per_workgroup.clamp(WARP, most) / WARP).ilog2();
        let tiles = (policy.items_per_thread / (TILE as u32 / team)).max(1);
        let mut shape = Self { warps, team, tiles_of_team: 1 << tiles.ilog2(), most_threads };
        shape.tiles_of_team = shape.tiles_of_team.min(shape.most_tiles_of_team());
        let one_folds = strategy.global != ReduceGlobal::Atomic;
        while one_folds && shape.workgroups(items) > u64::from(shape.warps * WARP * WARP) {
            if shape.tiles_of_team < shape.most_tiles_of_team() {
                shape.tiles_of_team *= 2;
            } else if shape.warps < most / WARP {
                shape.warps *= 2;
                shape.tiles_of_team = shape.tiles_of_team.min(shape.most_tiles_of_team());
            } else {
                return None;
            }
        }
        Some(shape)
    }

    /// Teams of a workgroup.
    fn teams(&self) -> u32 {
        self.warps * WARP / self.team
    }

    fn most_tiles_of_team(&self) -> u32 {
        MOST_TILES_OF_TEAM.min(MOST_TILES / self.teams())
    }

    /// Items of a workgroup.
    fn chunk(&self) -> u64 {
        u64::from(self.teams() * self.tiles_of_team) * TILE as u64
    }

    fn workgroups(&self, items: u64) -> u64 {
        items.div_ceil(self.chunk()).max(1)
    }
}

/// How an array is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Bytes of an access.
    pub(crate) width: u32,
    /// Whether the array begins where none may, and is read by those around it: `slots.cuh`.
    pub(crate) skewed: bool,
}

impl Reads {
    /// As wide as asked for. Lanes that are turned round are seen by an operator that commutes but for rounding: that one gets
    /// accesses that may begin where the array does.
    pub(crate) fn of(types: &Types, inputs: &Inputs<'_>, options: &ReduceOptions) -> Self {
        if let Some(made) = &types.made {
            let items = made::items_at_once(made, inputs.arrays);
            return Self { width: items * types.item.size() as u32, skewed: false };
        }
        let [input, ..] = inputs.arrays else { return Self { width: WIDEST, skewed: false } };
        let asked = options.strategy.map_or(WIDEST, |strategy| crate::bytes(strategy.load.width));
        let asked = width_of(types.item, asked.max(types.item.size() as u32));
        if !asked.is_power_of_two() || asked > WIDEST {
            // An access is an item.
            return Self { width: asked, skewed: false };
        }
        if types.is_ordered() {
            return Self { width: asked.min(input.width()), skewed: false };
        }
        Self { width: asked, skewed: input.width() < asked }
    }

    /// What is dealt out to workgroups: items; but slots, those in front of the array too, where grouping cannot be seen.
    fn dealt(&self, types: &Types, inputs: &Inputs<'_>) -> u64 {
        let begin = inputs.arrays.first().map_or(0, Slice::pointer);
        let before = begin % u64::from(self.width) / types.item.size() as u64;
        inputs.items + if types.is_exact() { before } else { 0 }
    }

    /// The same of any array of at most so many items.
    fn most_dealt(&self, types: &Types, items: u64) -> u64 {
        let before = u64::from(self.width) / types.item.size() as u64 - 1;
        items + if self.skewed && types.is_exact() { before } else { 0 }
    }
}

/// Accesses of a thread that looks through their items for a position.
fn keys_held(types: &Types, width: u32) -> u64 {
    let items = u64::from(width) / types.item.size() as u64;
    let keys = if types.item.size() > 4 { LONG_KEYS_HELD } else { KEYS_HELD };
    (keys / items).clamp(1, ACCESSES_HELD)
}

/// A reduction of arrays of at most a given length, ready to be launched.
#[derive(Debug)]
pub(crate) struct Reduction {
    types: Types,
    shape: Shape,
    kernel: Arc<Kernel>,
    /// What folds the values of workgroups in a launch of its own.
    fold: Option<Arc<Kernel>>,
    state: Arc<Buffer>,
    items: u64,
    reads: Reads,
    /// Whether one more workgroup folds what the others publish.
    one_folds: bool,
}

impl Reduction {
    /// The sizes and the shader of a reduction of at most `items` items that are read so. No device is needed to know them; `id`
    /// is named in errors.
    pub(crate) fn kernel(
        id: &str,
        types: &Types,
        options: &ReduceOptions,
        items: u64,
        reads: Reads,
    ) -> Result<(Shape, Shader)> {
        let Reads { width, skewed } = reads;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(types));
        let refused = |reason: &str| Error::StrategyRefused {
            device: id.to_owned(),
            strategy: Strategy::GpuReduce(strategy).to_string(),
            reason: reason.to_owned(),
        };
        if !types.op.is_commutative() {
            return Err(Error::NotCommutative {
                strategy: Strategy::GpuReduce(strategy).to_string(),
                operator: types.op.name(),
            });
        }
        let asked = crate::bytes(strategy.load.width).min(width);
        if access(types.item, asked).is_none() {
            return Err(refused(&format!("an access of {asked} bytes holds no {}", types.item)));
        }
        let locals = match strategy.local {
            ReduceLocal::Cooperative => [SHUFFLES, include_str!("cooperative.cuh")],
            ReduceLocal::SharedMemory => ["", include_str!("shared_memory.cuh")],
            ReduceLocal::Raking => [SHUFFLES, include_str!("raking.cuh")],
        };
        let finish = match strategy.global {
            ReduceGlobal::LastBlock => include_str!("last_block.cuh"),
            ReduceGlobal::MultiLevel => include_str!("multi_level.cuh"),
            ReduceGlobal::Atomic if policy::packs(types) => include_str!("packed.cuh"),
            ReduceGlobal::Atomic if types.op.atomic(types.held()).is_some() => {
                include_str!("counted.cuh")
            }
            ReduceGlobal::Atomic => {
                return Err(refused(&format!(
                    "there is no atomic {} of {}",
                    types.op.name(),
                    types.acc
                )));
            }
        };
        let wanted =
            options.policy.unwrap_or_else(|| policy::policy(items * types.item.size() as u64));
        let one_folds = strategy.global != ReduceGlobal::Atomic;
        let dealt = reads.most_dealt(types, items);
        let shape = Shape::new(types, &strategy, width, dealt, wanted).ok_or_else(|| {
            refused("there are too many items for a workgroup to fold what workgroups leave")
        })?;
        let blocked = strategy.load.arrangement == Arrangement::Blocked;
        let finds = matches!(types.held(), Held::Position(_));
        let words = LANES as u32 / shape.team * types.held().words();
        let is_close = words > MOST_WORDS_OF_LANES;
        let is_structure = matches!(types.held(), Held::Structure(_));
        let held = match () {
            () if finds => keys_held(types, width),
            () if is_close => ACCESSES_HELD_CLOSE,
            () if words > MOST_WORDS_OF_LANES / 2 && is_structure => ACCESSES_HELD / 2,
            () if blocked => ACCESSES_HELD.min(BYTES_HELD_BLOCKED / u64::from(width)).max(1),
            () => ACCESSES_HELD * u64::from(WIDEST) / u64::from(width.max(WIDEST)),
        };
        // Of several arrays, each has as many fewer; and half as many beside values of two words.
        let arrays = types.made.as_ref().map_or(1, |made| made.recipe.all_arrays().max(1));
        // With 16 accesses of flags of 64 bits and a sum of as many NVRTC 13.0 spills 20 bytes.
        let counts_long = types.item.size() == 8
            && types
                .made
                .as_ref()
                .is_some_and(|made| matches!(made.recipe.formula, Formula::Indicator(_)));
        let shares = match arrays {
            1 if counts_long => 2,
            1 => 1,
            arrays => arrays as u32 * types.held().words().min(2),
        };
        let held = (held / u64::from(shares.next_power_of_two())).max(1);
        let shader = Shader {
            types: types.clone(),
            width,
            out_width: types.output.size() as u32,
            constants: vec![
                ("WARPS", u64::from(shape.warps)),
                ("TEAM", u64::from(shape.team)),
                ("TILES_OF_TEAM", u64::from(shape.tiles_of_team)),
                (
                    "WORKGROUPS_OF_MULTIPROCESSOR",
                    u64::from(shape.most_threads / WARP / shape.warps),
                ),
                ("ACCESSES_HELD", held),
                ("ARRAYS", arrays as u64),
                ("BLOCKED", u64::from(blocked)),
                ("CHECKED", u64::from(strategy.load.tail == Tail::Checked)),
                ("EXACT", u64::from(types.is_exact())),
                ("ORDERED", u64::from(types.is_ordered())),
                ("SKEWED", u64::from(skewed)),
                ("FINDS", u64::from(finds)),
                ("SUMS_BYTES", u64::from(policy::sums_bytes(types, width))),
                ("SUMS_WORDS", u64::from(policy::packs(types))),
                ("AT_ONCE", u64::from((AT_ONCE / types.held().words()).max(2))),
                ("LOOKS", LOOKS),
            ],
            parts: vec![
                SUBGROUP,
                PUBLISHED,
                mailbox::TEXT,
                RESULT,
                include_str!("reduce.cuh"),
                include_str!("slots.cuh"),
                include_str!("tile.cuh"),
                if finds { include_str!("find.cuh") } else { "" },
                locals[0],
                locals[1],
                if one_folds { include_str!("fold_published.cuh") } else { "" },
                finish,
                include_str!("entry.cuh"),
            ],
            entries: if strategy.global == ReduceGlobal::MultiLevel {
                vec!["reduce", "fold"]
            } else {
                vec!["reduce"]
            },
        };
        Ok((shape, shader))
    }

    /// A reduction of arrays of at most `items` items that are read so.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        types: Types,
        items: u64,
        reads: Reads,
        options: &ReduceOptions,
    ) -> Result<Self> {
        let (shape, shader) = Self::kernel(gpu.id(), &types, options, items, reads)?;
        gpu.make_only(core::slice::from_ref(&shader))?;
        let kernel = gpu.kernel(&shader, "reduce")?;
        let state = state(gpu, &types, shape.workgroups(reads.most_dealt(&types, items)))?;
        let global = options.strategy.unwrap_or_else(|| policy::strategy(&types)).global;
        if global == ReduceGlobal::Atomic && !policy::packs(&types) {
            state.write(TOTAL, bytemuck::cast_slice(&types.empty_total()))?;
        }
        let fold = match global {
            ReduceGlobal::MultiLevel => Some(gpu.kernel(&shader, "fold")?),
            _ => None,
        };
        let one_folds = global == ReduceGlobal::LastBlock;
        Ok(Self { types, shape, kernel, fold, state, items, reads, one_folds })
    }

    /// Whether this reduction can be used for `input`.
    pub(crate) fn suits(&self, types: &Types, items: u64, reads: Reads) -> bool {
        self.types == *types && items <= self.items && reads == self.reads
    }

    /// The launch of a reduction.
    pub(crate) fn bind(&self, gpu: &Gpu, inputs: &Inputs<'_>, to: To, init: Init) -> Result<Ready> {
        let workgroups = self.shape.workgroups(self.reads.dealt(&self.types, inputs));
        let folding = u64::from(self.one_folds && workgroups > 1);
        let workgroups = u32::try_from(workgroups + folding)
            .map_err(|_| gpu.failed("a reduction of more workgroups than a launch has"))?;
        let launch = Launch {
            grid: [workgroups, 1],
            threads: WARP * self.shape.warps,
            shared_bytes: 0,
            cooperative: false,
        };
        let arguments = of_inputs(gpu, inputs, &self.types, &[]);
        let arguments = arguments.and([self.state.pointer(), inputs.items]);
        let arguments = with_init(arguments.and(outcome(to, init)), &self.types, init);
        // SAFETY: `Reduce` in `reduce.cuh` has these fields. The caller's slices are the device's memory; the state has a
        // place for every workgroup of the longest array.
        let ready = unsafe { Ready::new(&self.kernel, launch, arguments, Some(&self.state)) };
        Ok(match &self.fold {
            Some(fold) => ready.then(fold, Launch { grid: [1, 1], ..launch }),
            None => ready,
        })
    }
}
