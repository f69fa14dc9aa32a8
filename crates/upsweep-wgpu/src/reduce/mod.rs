//! Reductions on a GPU.
//!
//! One kernel, `reduce.wgsl`, folds tiles to one value for each workgroup. How a workgroup folds the values of its
//! threads is in `cooperative.wgsl`, `shared_memory.wgsl` and `raking.wgsl`; how the values of workgroups become one,
//! in `multi_level.wgsl`, `last_block.wgsl` and `atomic.wgsl`, of which the first two fold what workgroups leave by
//! `left_by_workgroups.wgsl`.

pub(crate) mod calls;
pub(crate) mod policy;

use upsweep_core::summation::{LANES, ROWS, TILE};
use upsweep_core::{
    AccessWidth, Arrangement, Dtype, Error, GpuReduceStrategy, GpuScanStrategy, Kind, ReduceGlobal,
    ReduceLocal, Result, ScanGlobal, ScanLocal, Strategy, Tail, WorkgroupPolicy,
};
use upsweep_gpu::bits::MOST_WORDS;
use upsweep_gpu::{Init, MOST_PARAMETERS, OperatorValues, ReduceOptions};
use wgpu::BufferUsages;

use crate::backend::Inputs;
use crate::device::{Facts, Gpu};
use crate::launch_sizes::{DerivedFrom, LaunchSizes, SizedBy, Workgroups};
use crate::record::{Dispatch, Recording, Traffic};
use crate::shader::made::{BINDINGS, MOST_ARRAYS};
use crate::shader::types::access;
use crate::shader::{
    Constants, FusedInput, INPUT, Op, PUBLISHED, STATE, Shader, Types, WORKGROUP, handed, made,
};
use crate::slice::{Slice, Window};

/// A reduction of arrays of at most a given length, ready to be recorded.
#[derive(Debug)]
pub(crate) struct Reduction {
    types: Types,
    shape: Shape,
    strategy: GpuReduceStrategy,
    pipeline: wgpu::ComputePipeline,
    /// Folds partials, in the strategy of several launches.
    fold: Option<wgpu::ComputePipeline>,
    state: wgpu::Buffer,
    items: u64,
    /// Width of accesses, and whether arrays begin with one.
    lies: (u32, bool),
}

/// The sizes of a kernel, derived from a policy. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    threads: u32,
    width: u32,
    access_items: u32,
    /// Lanes of one thread.
    lanes: u32,
    rows_held: u32,
    /// Workgroups that are enough.
    enough: u64,
}

impl Shape {
    fn new(
        facts: &Facts,
        types: &Types,
        strategy: &GpuReduceStrategy,
        width: u32,
        policy: WorkgroupPolicy,
    ) -> Self {
        let access_items = width / types.item.size() as u32;
        let shared = facts.shared_bytes / (4 * types.held().words());
        let most = facts.threads.min(shared).min(1024);
        let threads = floor_power_of_two(policy.threads_per_workgroup.clamp(32, most));
        let least = access_items.max(LANES as u32 / threads);
        let wanted = floor_power_of_two(policy.items_per_thread.max(1));
        let lanes = match strategy.load.arrangement {
            Arrangement::Striped => least,
            Arrangement::Blocked => least.max(wanted).min(LANES as u32),
        };
        let rows_held = (wanted / lanes).clamp(1, ROWS as u32);
        let enough = policy::enough_workgroups(strategy.global);
        Self { threads, width, access_items, lanes, rows_held, enough }
    }

    fn team(&self) -> u32 {
        LANES as u32 / self.lanes
    }

    fn teams(&self) -> u32 {
        self.threads / self.team()
    }

    fn constants(
        &self,
        facts: &Facts,
        types: &Types,
        strategy: &GpuReduceStrategy,
        aligned: bool,
    ) -> Constants {
        let accesses = self.lanes / self.access_items;
        let blocked = strategy.load.arrangement == Arrangement::Blocked;
        let subgroup = if strategy.local == ReduceLocal::SharedMemory { 1 } else { facts.subgroup };
        vec![
            ("THREADS", self.threads),
            ("SUBGROUP", subgroup),
            ("ROWS", ROWS as u32),
            ("ROW", LANES as u32),
            ("TILE", TILE as u32),
            ("LANES", self.lanes),
            ("TEAM", self.team()),
            ("TEAMS", self.teams()),
            // Values of threads to each thread of the one subgroup that rakes.
            ("RAKED", self.threads / self.threads.min(subgroup)),
            ("ACCESSES", accesses),
            ("ROWS_HELD", self.rows_held),
            ("ACCESSES_HELD", self.rows_held * accesses),
            ("ACROSS", if blocked { self.lanes } else { self.access_items }),
            ("BLOCKED", u32::from(blocked)),
            ("EXACT_TAIL", u32::from(strategy.load.tail == Tail::Exact)),
            ("ALIGNED", u32::from(aligned)),
            ("EXACT", u32::from(types.is_exact())),
            ("LOOKS", LOOKS),
            ("HELD", (WORDS_HELD / types.held().words()).max(1)),
        ]
    }

    /// Tiles that a team takes one after another: so many that workgroups are enough and not more, and that
    /// the last one can fold what they leave.
    fn tiles_per_team(&self, items: u64) -> Option<u32> {
        let tiles = items.div_ceil(TILE as u64);
        let teams = u64::from(self.teams());
        let threads = u64::from(self.threads);
        let mut each = 1u32;
        loop {
            let workgroups = tiles.div_ceil(teams * u64::from(each));
            if workgroups <= self.enough.min(threads * threads) {
                return Some(each);
            }
            if each >= self.team() {
                return (workgroups <= threads * threads).then_some(each);
            }
            each *= 2;
        }
    }
}

/// Words of what workgroups left that one thread takes at once: with 4 the second launch for 2^28 `u32`, of which 2,048
/// workgroups leave a word each, takes 4 us less on an H200 than with 1, with 2 it takes 2 less, with 8 no less than with 4
/// (`benches/record/nvidia-h200/2026-11-23-wgpu-own.csv`, runs 14 to 19).
const WORDS_HELD: u32 = 4;

/// How the values of workgroups become one.
const LEFT_BY_WORKGROUPS: &str = include_str!("left_by_workgroups.wgsl");

/// Looks for a word that another workgroup has surely written. Some Vulkan devices on a CPU end loops silently
/// after 65,535 steps.
pub(crate) const LOOKS: u32 = 4096;

/// Words in front of what workgroups publish; `state.wgsl`.
const STATE_HEADER: u64 = 8;
/// The word of the total.
const TOTAL: u64 = 4;

/// The bytes of an access.
pub(crate) fn bytes(width: AccessWidth) -> u32 {
    match width {
        AccessWidth::Bytes4 => 4,
        AccessWidth::Bytes8 => 8,
        AccessWidth::Bytes16 => 16,
    }
}

pub(crate) fn floor_power_of_two(value: u32) -> u32 {
    1 << value.max(1).ilog2()
}

impl Reduction {
    /// The sizes and the shader of a reduction of at most `items` items that lie as `lies` says. No device is
    /// needed to know them; `id` is named in errors.
    pub(crate) fn kernel(
        (id, facts): (&str, &Facts),
        types: &Types,
        strategy: GpuReduceStrategy,
        items: u64,
        lies: (u32, bool),
        policy: Option<WorkgroupPolicy>,
    ) -> Result<(Shape, Shader)> {
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
        if strategy.local != ReduceLocal::SharedMemory && facts.subgroup == 1 {
            return Err(refused("the device has no subgroup operations"));
        }
        if strategy.global != ReduceGlobal::MultiLevel && !facts.messages {
            return Err(refused("workgroups of the device do not hear one another"));
        }
        let bytes_all = items * types.item.size() as u64;
        let asked = bytes(strategy.load.width);
        if access(types.item, asked).is_none() {
            return Err(refused(&format!("an access of {asked} bytes holds no {}", types.item)));
        }
        let (width, aligned) = lies;
        let wanted = policy.unwrap_or_else(|| policy::policy(bytes_all, types.item.size()));
        let mut shape = Shape::new(facts, types, &strategy, width, wanted);
        while shape.tiles_per_team(items).is_none() && shape.threads < facts.threads.min(1024) {
            let more = WorkgroupPolicy { threads_per_workgroup: 2 * shape.threads, ..wanted };
            shape = Shape::new(facts, types, &strategy, width, more);
        }
        let atomic = types.op.atomic(types.held());
        let packs = facts.int64_atomics && types.op == Op::Sum && types.held().words() == 1;
        let mut parts = vec![
            if types.made.is_some() { "" } else { INPUT },
            include_str!("reduce.wgsl"),
            WORKGROUP,
            match strategy.local {
                ReduceLocal::SharedMemory => include_str!("shared_memory.wgsl"),
                ReduceLocal::Raking => include_str!("raking.wgsl"),
                ReduceLocal::Cooperative => include_str!("cooperative.wgsl"),
            },
        ];
        match strategy.global {
            ReduceGlobal::MultiLevel => {
                parts.extend([include_str!("multi_level.wgsl"), LEFT_BY_WORKGROUPS]);
            }
            ReduceGlobal::LastBlock => {
                let last_block = include_str!("last_block.wgsl");
                parts.extend([last_block, LEFT_BY_WORKGROUPS, STATE, PUBLISHED]);
            }
            ReduceGlobal::Atomic => {
                if atomic.is_none() {
                    return Err(refused(&format!(
                        "there is no atomic {} of {}",
                        types.op.name(),
                        types.acc
                    )));
                }
                if types.held().words() == 2 && !facts.int64_atomics {
                    return Err(refused("the device has no atomics of 64 bits"));
                }
                let collect =
                    if packs { include_str!("packed.wgsl") } else { include_str!("counted.wgsl") };
                parts.extend([include_str!("atomic.wgsl"), collect]);
            }
        }
        let shader = Shader {
            width: shape.width,
            out_width: shape.width,
            constants: shape.constants(facts, types, &strategy, aligned),
            parts,
            entries: match strategy.global {
                ReduceGlobal::MultiLevel => vec!["reduce", "fold_partials"],
                _ => vec!["reduce"],
            },
            writes: false,
            shared_words: false,
            atomic: atomic.filter(|_| strategy.global == ReduceGlobal::Atomic && !packs),
            types: types.clone(),
        };
        if shape.workgroups(items).is_none() {
            return Err(refused(
                "there are too many items for a workgroup to fold what workgroups leave",
            ));
        }
        Ok((shape, shader))
    }

    /// A reduction of arrays of at most `items` items that [lie](lies) so.
    pub(crate) fn new(
        gpu: &Gpu,
        types: Types,
        items: u64,
        lies: (u32, bool),
        options: &ReduceOptions,
    ) -> Result<Self> {
        let facts = &gpu.facts;
        gpu.check(&types)?;
        let bytes = items * types.item.size() as u64;
        let by_itself = || policy::strategy(facts, &types, bytes);
        let strategy = options.strategy.unwrap_or_else(by_itself);
        let device = (gpu.id(), facts);
        let (shape, shader) = Self::kernel(device, &types, strategy, items, lies, options.policy)?;
        let pipeline = gpu.pipeline(&shader, "reduce")?;
        let fold = match strategy.global {
            ReduceGlobal::MultiLevel => Some(gpu.pipeline(&shader, "fold_partials")?),
            _ => None,
        };
        let workgroups = shape.workgroups(items).unwrap_or(1);
        let words = STATE_HEADER + 2 * u64::from(types.held().words()) * workgroups;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let state = gpu.buffer("state of a reduction", 4 * words, usage)?;
        if shader.atomic.is_some() {
            let empty = types.empty_total();
            let words = &empty[..types.held().words() as usize];
            gpu.write(&state, 4 * TOTAL, bytemuck::cast_slice(words))?;
        }
        Ok(Self { types, shape, strategy, pipeline, fold, state, items, lies })
    }

    /// Whether a workgroup may wait for others.
    fn waits(&self) -> bool {
        self.strategy.global == ReduceGlobal::LastBlock
    }

    /// Whether this reduction can be used for `input`.
    pub(crate) fn suits(&self, types: &Types, items: u64, lies: (u32, bool)) -> bool {
        self.types == *types && items <= self.items && lies == self.lies
    }

    /// Everything for a reduction of as many items as each array has into `result`, which has room for it.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        inputs: &Inputs<'_>,
        result: &Slice<'_>,
        init: Init,
    ) -> Result<Recording> {
        let arrays = Arrays::of(&self.types, inputs);
        let items = usize::try_from(inputs.items).unwrap_or(usize::MAX);
        if inputs.items > self.items {
            let planned = usize::try_from(self.items).unwrap_or(usize::MAX);
            return Err(Error::PlanTooSmall { input: items, planned });
        }
        let facts = &gpu.facts;
        let each = self.shape.tiles_per_team(self.items).unwrap_or(1);
        let chunk = u64::from(self.shape.teams() * each) * TILE as u64;
        let windows = match arrays.widest() {
            Some(input) => {
                input.windows(self.types.item, facts.binding_bytes, facts.alignment, chunk)
            }
            None => Window::of_nothing(inputs.items, u64::from(u32::MAX), chunk, false),
        };
        let all = inputs.items.div_ceil(chunk).max(1);
        let mut dispatches = Vec::with_capacity(windows.len());
        let parameters = gpu.parameters(windows.len() as u64)?;
        let mut bytes = vec![0u8; windows.len() * PARAMETERS as usize];
        for (index, window) in windows.iter().enumerate() {
            let first = window.first / chunk;
            let flags = u32::from(init.is_some()) | u32::from(inputs.items == 0) << 1;
            let words = [
                window.items,
                window.start,
                each,
                first as u32,
                all as u32,
                flags,
                window.first as u32,
                (window.first >> 32) as u32,
                0,
                gpu.result_start(result),
            ];
            let (mut bindings, starts) = arrays.bound(gpu, window)?;
            let handed = handed(&self.types, init, window.first, inputs);
            put_parameters(&mut bytes, index, &words, starts, &handed);
            bindings.extend([
                (1, gpu.result_binding(result)),
                (2, self.state.as_entire_binding()),
                (3, gpu.parameter_binding(&parameters, index)),
            ]);
            let group = gpu.group(&self.pipeline, &bindings)?;
            let workgroups = u64::from(window.items).div_ceil(chunk).max(1) as u32;
            let read = u64::from(window.items) * arrays.item_bytes();
            dispatches.push(Dispatch {
                name: "reduce",
                pipeline: self.pipeline.clone(),
                group,
                size: grid(workgroups, facts.grid),
                indirect: None,
                threads: self.shape.threads,
                traffic: Traffic { read, written: 0 },
            });
        }
        gpu.write(&parameters, 0, &bytes)?;
        let by = SizedBy {
            length: inputs.length,
            bound: inputs.items,
            offsets: None,
            packed: 1,
            chunk,
            most_workgroups: u64::MAX,
            reduces: true,
            derived: DerivedFrom::new(&self.types, inputs),
        };
        let sizes = LaunchSizes::new(gpu, &by, &windows, &parameters)?;
        let grid_of =
            |workgroups| sizes.as_ref().and_then(|sizes: &LaunchSizes| sizes.grid(workgroups));
        for (index, dispatch) in dispatches.iter_mut().enumerate() {
            dispatch.indirect = grid_of(Workgroups::OfWindow(index));
        }
        if let Some(pipeline) = self.fold.as_ref().filter(|_| all > 1) {
            let group = gpu.group(
                pipeline,
                &[
                    (1, gpu.result_binding(result)),
                    (2, self.state.as_entire_binding()),
                    (3, gpu.parameter_binding(&parameters, 0)),
                ],
            )?;
            dispatches.push(Dispatch {
                name: "fold_partials",
                pipeline: pipeline.clone(),
                group,
                size: [1, 1],
                indirect: grid_of(Workgroups::ToFold),
                threads: self.shape.threads,
                traffic: Traffic { read: all * self.types.held().bytes(), written: 0 },
            });
        }
        let state = self.waits().then(|| self.state.clone());
        let strategy = Some(Strategy::GpuReduce(self.strategy));
        let scratch = self.state.size();
        let (first, sizes) = sizes.map(|sizes| (sizes.first, sizes.buffer)).unzip();
        dispatches.splice(0..0, first.into_iter().flatten());
        let states = state.into_iter().chain(sizes).collect();
        Ok(Recording { dispatches, strategy, states, scratch, alive: None })
    }
}

/// The strategy and policy of a sum of so many integers of so many bytes.
pub(crate) fn choice(
    gpu: &Gpu,
    items: u64,
    item_bytes: usize,
) -> (GpuReduceStrategy, WorkgroupPolicy) {
    let kind = Kind::Number(Dtype::U32);
    let types = Types::new(kind, kind, kind, Op::Sum, OperatorValues::none(kind));
    let bytes = items * item_bytes as u64;
    (policy::strategy(&gpu.facts, &types, bytes), policy::policy(bytes, item_bytes))
}

impl Shape {
    fn workgroups(&self, items: u64) -> Option<u64> {
        let each = self.tiles_per_team(items)?;
        Some(items.div_ceil(u64::from(self.teams() * each) * TILE as u64).max(1))
    }
}

/// The scan whose total a reduction by this strategy is, where the operator does not commute; `None` if there is none.
pub(crate) fn of_scan(strategy: &GpuReduceStrategy) -> Option<GpuScanStrategy> {
    let local = match strategy.local {
        ReduceLocal::Cooperative => ScanLocal::Cooperative,
        ReduceLocal::Raking => ScanLocal::Raking,
        ReduceLocal::SharedMemory => return None,
    };
    let global = ScanGlobal::ReduceThenScan;
    (strategy.global == ReduceGlobal::MultiLevel).then_some(GpuScanStrategy {
        load: strategy.load,
        local,
        global,
    })
}

/// The strategy of a reduction that is the total of this scan.
pub(crate) fn in_order(strategy: &GpuScanStrategy) -> Strategy {
    let local = match strategy.local {
        ScanLocal::Raking => ReduceLocal::Raking,
        ScanLocal::Cooperative | ScanLocal::Blelloch => ReduceLocal::Cooperative,
    };
    let global = ReduceGlobal::MultiLevel;
    Strategy::GpuReduce(GpuReduceStrategy { load: strategy.load, local, global })
}

/// Bytes from one dispatch's parameters to the next's.
pub(crate) const PARAMETERS: u64 = 512;

/// Words in front of what a kernel is handed: its own, and where arrays begin.
pub(crate) const OWN_WORDS: usize = 12 + MOST_ARRAYS;

const _: () = assert!(
    4 * (OWN_WORDS + MOST_WORDS + 4 + MOST_PARAMETERS) <= PARAMETERS as usize,
    "what a kernel is handed has room"
);

/// Writes one dispatch's parameters: words, and from the next multiple of 16 bytes on where arrays begin, and what is handed on.
pub(crate) fn put_parameters(
    bytes: &mut [u8],
    dispatch: usize,
    words: &[u32],
    starts: [u32; MOST_ARRAYS],
    handed: &[u32],
) {
    let own = &mut bytes[dispatch * PARAMETERS as usize..][..PARAMETERS as usize];
    let own: &mut [u32] = bytemuck::cast_slice_mut(own);
    own[..words.len()].copy_from_slice(words);
    let (_, own) = own.split_at_mut(words.len().next_multiple_of(4));
    own[..MOST_ARRAYS].copy_from_slice(&starts);
    own[MOST_ARRAYS..][..handed.len()].copy_from_slice(handed);
}

/// The arrays that a kernel reads: in order, of each as many items, and anywhere.
pub(crate) struct Arrays<'a> {
    inputs: &'a Inputs<'a>,
    kinds: Vec<Kind>,
    anywhere: Vec<Kind>,
    widest: usize,
}

impl<'a> Arrays<'a> {
    pub(crate) fn of(types: &Types, inputs: &'a Inputs<'a>) -> Self {
        match &types.made {
            Some(FusedInput { recipe, .. }) => {
                let (kinds, anywhere) = (recipe.arrays.clone(), recipe.anywhere.clone());
                Self { inputs, kinds, anywhere, widest: recipe.widest_number() }
            }
            None => Self { inputs, kinds: vec![types.item], anywhere: Vec::new(), widest: 0 },
        }
    }

    /// The one by which they are cut into windows.
    pub(crate) fn widest(&self) -> Option<&'a Slice<'a>> {
        self.inputs.arrays.get(self.widest)
    }

    /// Bytes of one item of each.
    pub(crate) fn item_bytes(&self) -> u64 {
        self.kinds.iter().chain(&self.anywhere).map(|kind| kind.size() as u64).sum()
    }

    /// The bindings of a window, and where items begin in each: those of the window, or all where they are read anywhere.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a window, or an array that is read anywhere, is longer than a binding.
    pub(crate) fn bound(&self, gpu: &Gpu, window: &Window) -> Result<Bound<'a>> {
        let (alignment, most) = (gpu.facts.alignment, gpu.facts.binding_bytes);
        let mut starts = [0; MOST_ARRAYS];
        let mut bindings = Vec::with_capacity(MOST_ARRAYS + 3);
        let in_order = self.inputs.arrays.iter().zip(&self.kinds);
        let in_order = in_order.map(|(slice, &kind)| {
            let own = slice.window(kind, alignment, window.first, window.items);
            let reason = || {
                format!("{} items of {kind} must fit in a binding of {most} bytes", window.items)
            };
            match own.bytes <= most {
                true => Ok((slice, own)),
                false => Err(Error::Buffer { reason: reason() }),
            }
        });
        let anywhere = self.inputs.anywhere.iter().zip(&self.anywhere);
        let anywhere = anywhere.map(|(slice, &kind)| {
            let items = u32::try_from(slice.items).ok();
            let whole = items.map(|items| slice.window(kind, alignment, 0, items));
            let held = whole.filter(|whole| whole.bytes <= most);
            held.map(|whole| (slice, whole)).ok_or_else(|| Error::Buffer {
                reason: format!(
                    "an array of {} items of {kind} that is read anywhere must fit in a binding of {most} bytes",
                    slice.items
                ),
            })
        });
        for (number, own) in in_order.chain(anywhere).enumerate() {
            let (slice, own) = own?;
            starts[number] = own.start;
            bindings.push((BINDINGS[number], own.binding(slice.buffer)));
        }
        Ok((bindings, starts))
    }
}

/// Bindings, and where items begin in each.
pub(crate) type Bound<'a> = (Vec<(u32, wgpu::BindingResource<'a>)>, [u32; MOST_ARRAYS]);

/// The width of accesses to arrays, and whether the first item begins one.
pub(crate) fn lies(gpu: &Gpu, types: &Types, inputs: &Inputs<'_>, asked: u32) -> (u32, bool) {
    let alignment = gpu.facts.alignment;
    match (&types.made, inputs.arrays.first()) {
        (Some(made), _) => {
            let items = made::items_at_once(made, inputs.arrays, alignment);
            (items * types.item.size() as u32, true)
        }
        (None, Some(input)) => input.access(types.item, alignment, asked),
        (None, None) => (asked, true),
    }
}

/// A grid of at least `workgroups` workgroups, folded where one dimension does not hold them.
pub(crate) fn grid(workgroups: u32, most: u32) -> [u32; 2] {
    let x = workgroups.min(most).max(1);
    [x, workgroups.div_ceil(x).max(1)]
}
