//! Scans on a GPU.
//!
//! `chunk.wgsl` scans what one workgroup holds. How values go from thread to thread is in `cooperative.wgsl`,
//! `raking.wgsl` and `blelloch.wgsl`; how chunks learn what comes before them, in `look_back.wgsl`,
//! `reduce_then_scan.wgsl` and `scan_then_propagate.wgsl`.

mod policy;

use upsweep_core::summation::{GROUP, LANES, ROWS, TILE, TILES, WINDOW};
use upsweep_core::{
    Arrangement, Bounds, Determinism, Direction, Element, Error, GpuScanStrategy, Result, Scan,
    ScanGlobal, ScanLocal, Strategy, Tail, WorkgroupPolicy,
};
use wgpu::BufferUsages;

use crate::device::{Facts, Gpu};
use crate::record::{Dispatch, Recording};
use crate::reduce::{Init, LOOKS, PARAMETERS, bytes, floor_power_of_two, grid};
use crate::shader::types::access;
use crate::shader::{Constants, STATE, Shader, Types, WORKGROUP};
use crate::slice::Slice;

/// Strategy and policy of a scan; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Which algorithm, at each level.
    pub strategy: Option<GpuScanStrategy>,
    /// The numbers.
    pub policy: Option<WorkgroupPolicy>,
    /// A chunk that sleeps before it publishes its total, and publishes no prefix, to test what others do.
    pub stalled: Option<u32>,
}

/// What is scanned how, besides its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bounds: Bounds,
    pub(crate) direction: Direction,
    pub(crate) in_place: bool,
    /// Whether the order of summation binds.
    pub(crate) everywhere: bool,
}

impl Form {
    /// The form of a problem.
    pub(crate) fn new<A: Element, O>(problem: &Scan<A, O>, in_place: bool) -> Self {
        Self {
            bounds: problem.bounds,
            direction: problem.direction,
            in_place,
            everywhere: problem.determinism == Determinism::Everywhere,
        }
    }
}

/// The strategy and policy of a scan of so many bytes.
pub(crate) fn choice(gpu: &Gpu, bytes: u64) -> (GpuScanStrategy, WorkgroupPolicy) {
    (policy::strategy(&gpu.facts, gpu.limits().forward_progress), policy::policy(bytes))
}

/// How the arrays of a scan lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lies {
    width: u32,
    aligned: bool,
    out_aligned: bool,
    shared_words: bool,
}

/// The sizes of a kernel, derived from a policy. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    threads: u32,
    items: u32,
    /// Neighbouring items of one thread.
    unit: u32,
}

impl Shape {
    fn new(
        facts: &Facts,
        types: &Types,
        strategy: &GpuScanStrategy,
        lies: Lies,
        policy: WorkgroupPolicy,
    ) -> Self {
        // Two values of each thread in shared memory, and one of each row twice.
        let shared = facts.shared_bytes / (16 * types.held().words());
        let most = floor_power_of_two(facts.threads.min(shared).min(1024));
        // Two windows must fit among the chunks that the threads of a workgroup look at.
        let threads = floor_power_of_two(policy.threads_per_workgroup.clamp(64, most));
        let held = |dtype: upsweep_core::Dtype| lies.width / dtype.size() as u32;
        let least_unit = held(types.item).max(held(types.output)).max(GROUP as u32);
        let least = (TILE as u32 / threads).max(least_unit);
        let most_items = (WINDOW as u32 / threads).min(LANES as u32).max(least);
        let items = floor_power_of_two(policy.items_per_thread.max(1)).clamp(least, most_items);
        let unit = match strategy.load.arrangement {
            Arrangement::Striped => least_unit,
            Arrangement::Blocked => items,
        };
        Self { threads, items, unit }
    }

    fn chunk(&self) -> u32 {
        self.threads * self.items
    }

    fn constants(
        &self,
        facts: &Facts,
        strategy: &GpuScanStrategy,
        form: Form,
        lies: Lies,
    ) -> Constants {
        let whole = strategy.load.tail == Tail::Exact;
        let tiles = self.chunk() / TILE as u32;
        let falls_back = strategy.global == ScanGlobal::LookBackFallback;
        let subgroup = if strategy.local == ScanLocal::Blelloch { 1 } else { facts.subgroup };
        vec![
            ("THREADS", self.threads),
            ("SUBGROUP", subgroup),
            ("ITEMS", self.items),
            ("UNIT", self.unit),
            ("UNITS", self.items / self.unit),
            ("UNIT_GROUPS", self.unit / GROUP as u32),
            ("GROUPS_HELD", self.items / GROUP as u32),
            ("ROW_THREADS", LANES as u32 / self.unit),
            ("ROWS", ROWS as u32),
            ("CHUNK", self.chunk()),
            ("CHUNK_ROWS", self.chunk() / LANES as u32),
            ("CHUNK_TILES", tiles),
            ("WINDOW_TILES", TILES as u32),
            ("CHUNKS_OF_WINDOW", TILES as u32 / tiles),
            ("INCLUSIVE", u32::from(form.bounds == Bounds::Inclusive)),
            ("REVERSE", u32::from(form.direction == Direction::Reverse)),
            ("ALIGNED", u32::from(whole && lies.aligned)),
            ("OUT_ALIGNED", u32::from(whole && lies.out_aligned)),
            ("FALLBACK", u32::from(falls_back)),
            ("LOOKS", LOOKS),
            ("LOOKS_BACK", if falls_back { LOOKS_BEFORE_FALLBACK } else { LOOKS }),
            ("ROUNDS", if falls_back { ROUNDS } else { 1 }),
        ]
    }
}

/// Looks for others' totals before a workgroup computes a missing one itself, and how often it does so. Their
/// product stays below the 65,535 steps after which some Vulkan devices on a CPU end loops silently.
const LOOKS_BEFORE_FALLBACK: u32 = 128;
const ROUNDS: u32 = 128;

/// Words in front of what workgroups publish; `state.wgsl`.
const STATE_HEADER: u64 = 8;

/// A scan of arrays of at most a given length, ready to be recorded.
#[derive(Debug)]
pub(crate) struct Scanning {
    types: Types,
    form: Form,
    shape: Shape,
    lies: Lies,
    strategy: GpuScanStrategy,
    stalled: Option<u32>,
    /// In the order of their launches; the second of three is the spine.
    pipelines: Vec<wgpu::ComputePipeline>,
    state: wgpu::Buffer,
    items: u64,
}

impl Lies {
    /// How accesses of at most `asked` bytes can reach these arrays.
    fn new(
        gpu: &Gpu,
        types: &Types,
        form: Form,
        input: &Slice<'_>,
        output: &Slice<'_>,
        asked: u32,
    ) -> Self {
        let alignment = gpu.facts.alignment;
        let size = types.output.size() as u64;
        let (width, _) = input.access(types.item, alignment, asked);
        let (width, _) = output.access(types.output, alignment, width);
        // From the end, a unit begins where the array's end lies.
        let turned = |slice: &Slice<'_>, size: u64| match form.direction {
            Direction::Forward => slice.offset % alignment,
            Direction::Reverse => slice.offset % alignment + slice.items * size,
        };
        let aligned = turned(input, types.item.size() as u64).is_multiple_of(u64::from(width));
        let out_aligned = turned(output, size).is_multiple_of(u64::from(width));
        let word_aligned = turned(output, size).is_multiple_of(4);
        if size < 4 && !word_aligned {
            return Self {
                width: 4,
                aligned: aligned && width == 4,
                out_aligned: false,
                shared_words: true,
            };
        }
        Self { width, aligned, out_aligned, shared_words: false }
    }
}

impl Scanning {
    /// A scan of arrays of at most `items` items that lie like `input` and `output`.
    pub(crate) fn new(
        gpu: &Gpu,
        types: Types,
        form: Form,
        items: u64,
        [input, output]: [&Slice<'_>; 2],
        options: &ScanOptions,
    ) -> Result<Self> {
        let facts = &gpu.facts;
        gpu.check(&types)?;
        let strategy = options
            .strategy
            .unwrap_or_else(|| policy::strategy(facts, gpu.limits().forward_progress));
        let refused = |reason: String| Error::StrategyRefused {
            device: gpu.id().to_owned(),
            strategy: Strategy::GpuScan(strategy).to_string(),
            reason,
        };
        let asked = bytes(strategy.load.width);
        for dtype in [types.item, types.output] {
            if access(dtype, asked).is_none() {
                return Err(refused(format!("an access of {asked} bytes holds no {dtype}")));
            }
        }
        let nests = form.everywhere && !types.is_exact();
        let lies = Lies::new(gpu, &types, form, input, output, asked);
        let item_bytes = types.item.size().max(types.output.size()) as u64;
        let policy = options.policy.unwrap_or_else(|| policy::policy(items * item_bytes));
        let shape = Shape::new(facts, &types, &strategy, lies, policy);
        let mut parts =
            vec![include_str!("chunk.wgsl"), include_str!("carries.wgsl"), WORKGROUP, STATE];
        match strategy.local {
            ScanLocal::Cooperative if facts.subgroup == 1 => {
                return Err(refused("the device has no subgroup operations".to_owned()));
            }
            ScanLocal::Cooperative => parts.push(include_str!("cooperative.wgsl")),
            ScanLocal::Raking => {
                parts.extend([include_str!("shared.wgsl"), include_str!("raking.wgsl")]);
            }
            ScanLocal::Blelloch if nests => {
                return Err(refused(
                    "Blelloch's tree nests operations from the left, the order of summation does not; \
                     a lower level of determinism allows it"
                        .to_owned(),
                ));
            }
            ScanLocal::Blelloch => {
                parts.extend([include_str!("shared.wgsl"), include_str!("blelloch.wgsl")]);
            }
        }
        parts.push(match (form.in_place, lies.shared_words) {
            (false, _) => include_str!("memory_separate.wgsl"),
            (true, false) => include_str!("memory_in_place.wgsl"),
            (true, true) => include_str!("memory_in_place_atomic.wgsl"),
        });
        parts.push(if lies.shared_words {
            include_str!("write_atomic.wgsl")
        } else {
            include_str!("write_whole.wgsl")
        });
        let entries = match strategy.global {
            ScanGlobal::LookBack if !gpu.limits().forward_progress => {
                return Err(refused(
                    "the device does not promise that workgroups go on while others wait for them"
                        .to_owned(),
                ));
            }
            ScanGlobal::LookBack | ScanGlobal::LookBackFallback => {
                parts.push(include_str!("look_back.wgsl"));
                vec!["scan"]
            }
            ScanGlobal::ReduceThenScan => {
                parts.push(include_str!("reduce_then_scan.wgsl"));
                vec!["upsweep", "spine", "downsweep"]
            }
            ScanGlobal::ScanThenPropagate if nests => {
                return Err(refused(
                    "the carry would meet finished sums, which is not the order of summation; a lower level \
                     of determinism allows it"
                        .to_owned(),
                ));
            }
            ScanGlobal::ScanThenPropagate => {
                parts.extend([
                    include_str!("reduce_then_scan.wgsl"),
                    include_str!("scan_then_propagate.wgsl"),
                ]);
                vec!["local", "spine", "propagate"]
            }
            ScanGlobal::Aggregates => {
                return Err(refused("it is not there yet".to_owned()));
            }
        };
        let shader = |types: &Types,
                      form: Form,
                      parts: &[&'static str],
                      entries: Vec<&'static str>| Shader {
            width: lies.width,
            constants: shape.constants(facts, &strategy, form, lies),
            parts: parts.to_vec(),
            entries,
            writes: true,
            shared_words: lies.shared_words,
            atomic: None,
            types: types.clone(),
        };
        let mut pipelines = Vec::new();
        for entry in &entries {
            let made = if *entry == "propagate" {
                // What was written is read again, and stays where it is.
                let types = Types { item: types.output, ..types.clone() };
                let in_place = Form { in_place: true, ..form };
                let separate = include_str!("memory_separate.wgsl");
                let again = if lies.shared_words {
                    include_str!("memory_in_place_atomic.wgsl")
                } else {
                    include_str!("memory_in_place.wgsl")
                };
                let parts: Vec<_> =
                    parts.iter().map(|&part| if part == separate { again } else { part }).collect();
                let mut shader = shader(&types, in_place, &parts, vec![*entry]);
                let aligned = shader
                    .constants
                    .iter()
                    .find(|(name, _)| *name == "OUT_ALIGNED")
                    .map_or(0, |c| c.1);
                shader
                    .constants
                    .iter_mut()
                    .filter(|(name, _)| *name == "ALIGNED")
                    .for_each(|c| c.1 = aligned);
                gpu.pipeline(&shader, entry)?
            } else {
                gpu.pipeline(&shader(&types, form, &parts, vec![*entry]), entry)?
            };
            pipelines.push(made);
        }
        let slots = items.div_ceil(u64::from(shape.chunk())) + items.div_ceil(WINDOW as u64) + 2;
        let words = STATE_HEADER + 2 * u64::from(types.held().words()) * slots;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let state = gpu.buffer("state of a scan", 4 * words, usage)?;
        Ok(Self {
            types,
            form,
            shape,
            lies,
            strategy,
            stalled: options.stalled,
            pipelines,
            state,
            items,
        })
    }

    /// Whether this scan can be used for these arrays.
    pub(crate) fn suits(
        &self,
        gpu: &Gpu,
        types: &Types,
        form: Form,
        input: &Slice<'_>,
        output: &Slice<'_>,
    ) -> bool {
        let asked = bytes(self.strategy.load.width);
        self.types == *types
            && self.form == form
            && input.items <= self.items
            && Lies::new(gpu, types, form, input, output, asked) == self.lies
    }

    /// Everything for a scan of `input` into `output`, which is as long. In place they are the same.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        input: &Slice<'_>,
        output: &Slice<'_>,
        init: Init,
    ) -> Result<Recording> {
        let facts = &gpu.facts;
        let chunk = u64::from(self.shape.chunk());
        let multiple = WINDOW as u64;
        let (wide, narrow) = if self.types.item.size() >= self.types.output.size() {
            ((self.types.item, input), (self.types.output, output))
        } else {
            ((self.types.output, output), (self.types.item, input))
        };
        let turned = self.form.direction == Direction::Reverse;
        let windows =
            wide.1.windows_of(wide.0, facts.binding_bytes, facts.alignment, multiple, turned);
        let chunks = input.items.div_ceil(chunk).max(1);
        let grids: Vec<[u32; 2]> = windows
            .iter()
            .map(|window| grid(u64::from(window.items).div_ceil(chunk).max(1) as u32, facts.grid))
            .collect();
        let workgroups: u64 = grids.iter().map(|[x, y]| u64::from(*x) * u64::from(*y)).sum();
        let parameters = gpu.parameters(windows.len() as u64)?;
        let mut bytes = vec![0u8; windows.len() * PARAMETERS as usize];
        let mut first_ticket = 0u64;
        let mut arrays = Vec::with_capacity(windows.len());
        for (index, (window, [x, y])) in windows.iter().zip(&grids).enumerate() {
            let other = narrow.1.window(narrow.0, facts.alignment, window.first, window.items);
            let (read, write) = if wide.0 == self.types.item
                && wide.1.offset == input.offset
                && core::ptr::eq(wide.1.buffer, input.buffer)
            {
                (*window, other)
            } else {
                (other, *window)
            };
            // Chunks are counted from the end that the scan starts at.
            let before = if turned {
                input.items - window.first - u64::from(window.items)
            } else {
                window.first
            };
            let flags = u32::from(init.is_some()) | u32::from(self.stalled.is_some()) << 2;
            let [low, high] = init.unwrap_or_default();
            let words = [
                window.items,
                read.start,
                write.start,
                (before / chunk) as u32,
                chunks as u32,
                u64::from(window.items).div_ceil(chunk).max(1) as u32,
                first_ticket as u32,
                workgroups as u32,
                flags,
                self.stalled.unwrap_or(0),
                chunks as u32,
                0,
                low,
                high,
                0,
                0,
            ];
            let at = index * PARAMETERS as usize;
            bytes[at..at + 64].copy_from_slice(bytemuck::cast_slice(&words));
            first_ticket += u64::from(*x) * u64::from(*y);
            arrays.push((read, write));
        }
        gpu.queue.write_buffer(&parameters, 0, &bytes);
        let mut dispatches = Vec::new();
        for (stage, pipeline) in self.pipelines.iter().enumerate() {
            let spine = self.pipelines.len() == 3 && stage == 1;
            let propagates = self.strategy.global == ScanGlobal::ScanThenPropagate && stage == 2;
            let upsweeps = self.strategy.global == ScanGlobal::ReduceThenScan && stage == 0;
            for (index, ((read, write), size)) in arrays.iter().zip(&grids).enumerate() {
                if spine && index > 0 {
                    break;
                }
                let mut bindings = vec![
                    (2, self.state.as_entire_binding()),
                    (3, gpu.parameter_binding(&parameters, index)),
                ];
                if !spine && !propagates && !self.form.in_place {
                    bindings.push((0, read.binding(input.buffer)));
                }
                if !spine && (!upsweeps || self.form.in_place) {
                    bindings.push((1, write.binding(output.buffer)));
                }
                let group = gpu.group(pipeline, &bindings)?;
                let size = if spine { [1, 1] } else { *size };
                dispatches.push(Dispatch { pipeline: pipeline.clone(), group, size });
            }
        }
        let state = self.waits().then(|| self.state.clone());
        let strategy = Some(Strategy::GpuScan(self.strategy));
        Ok(Recording { dispatches, strategy, state, alive: None })
    }

    /// Whether a workgroup may wait for others.
    fn waits(&self) -> bool {
        matches!(
            self.strategy.global,
            ScanGlobal::LookBack | ScanGlobal::LookBackFallback | ScanGlobal::Aggregates
        )
    }

    /// What comes into the window behind the last run, one of `items` items, which are whole windows: the words of
    /// the value that the last chunk, or the spine, has published. Waits.
    pub(crate) fn carry(&self, gpu: &Gpu, items: u64) -> Result<[u32; 2]> {
        let slot = items / u64::from(self.shape.chunk()) + items / WINDOW as u64;
        let held = self.types.held();
        let words = held.words() as usize;
        let mut header = [0u32; 3];
        gpu.download(&self.state, 0, bytemuck::bytes_of_mut(&mut header))?;
        let mut published = [0u32; 4];
        let published = &mut published[..2 * words];
        let at = 4 * (STATE_HEADER + 2 * words as u64 * slot);
        gpu.download(&self.state, at, bytemuck::cast_slice_mut(published))?;
        let [_, _, run] = header;
        if published.iter().any(|half| half >> 16 != run) {
            return Err(gpu.failed("a scan has not said what comes behind it"));
        }
        let mut found = [0u32; 2];
        for (word, halves) in found.iter_mut().zip(published.chunks_exact(2)) {
            *word = (halves[0] & 0xffff) | halves[1] << 16;
        }
        Ok(held.value_of(found))
    }
}
