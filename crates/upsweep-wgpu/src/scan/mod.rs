//! Scans on a GPU.
//!
//! `chunk.wgsl` scans what one workgroup holds, `unit.wgsl` what one thread does, with items as in `items.wgsl` or with words of several
//! as in `packed.wgsl`, `slots.wgsl` what one subgroup does above tiles; `total.wgsl` finds a chunk's total without a scan. How values go from thread to thread in a scan is in
//! `cooperative.wgsl`, `raking.wgsl` and `blelloch.wgsl`; how chunks learn what comes before them, in `look_back.wgsl`
//! (with `parked.wgsl`) and `aggregates.wgsl` (what they see: `seen.wgsl`), `reduce_then_scan.wgsl` and `scan_then_propagate.wgsl`.

pub(crate) mod calls;
pub(crate) mod policy;
mod shape;

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Direction, Error, GpuScanStrategy, Result, ScanGlobal, ScanLocal, Strategy, WorkgroupPolicy,
};
use upsweep_gpu::bits::{MOST_WORDS, Words, memory_words};
use upsweep_gpu::{Form, Init, ScanOptions, Selecting};
use wgpu::BufferUsages;

use crate::backend::Inputs;
use crate::device::{Facts, Gpu};
use crate::launch_sizes::{DerivedFrom, LaunchSizes, SizedBy, Workgroups};
use crate::record::{Dispatch, Recording, Traffic};
use crate::reduce::{self, Arrays, PARAMETERS, bytes, grid, put_parameters};
use crate::segmented::{self, Beside};
use crate::select;
use crate::shader::made::BINDINGS;
use crate::shader::types::access;
use crate::shader::{INPUT, PUBLISHED, STATE, Shader, Types, WORKGROUP, handed};
use crate::slice::{Slice, Window};
pub(crate) use shape::{Lies, Shape};

/// The strategy and policy of a scan of so many items.
pub(crate) fn choice(
    gpu: &Gpu,
    items: u64,
    item_bytes: usize,
    packed: u32,
) -> (GpuScanStrategy, WorkgroupPolicy) {
    let strategy = policy::strategy(&gpu.facts);
    (strategy, policy::of_size(&gpu.facts, strategy, items, item_bytes as u64, packed))
}

/// Workgroups that stay, for the strategy that wants such: more than run at once on the largest device, where the
/// others find no ticket left.
const STAYING_WORKGROUPS: u64 = 1024;

/// Bits of the word of tickets that count them, above which it counts runs; and tickets of a launch, half as many as
/// it can count.
const TICKET_BITS: u32 = 20;
const MOST_TICKETS: u64 = 1 << (TICKET_BITS - 1);

/// Runs after the last of which what was published is forgotten.
pub(crate) const RUNS: u32 = 1 << (u32::BITS - TICKET_BITS);

/// Words in front of what workgroups publish; `state.wgsl`.
const STATE_HEADER: u64 = 8;

/// What kernels have beside items and outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others<'a> {
    /// Of segments.
    Segments(Beside<'a>),
    /// The number of items that are selected, and lengths of runs.
    Counts(select::Counts<'a>),
}

/// A scan of arrays of at most a given length, ready to be recorded.
#[derive(Debug)]
pub(crate) struct Scanning {
    types: Types,
    form: Form,
    shape: Shape,
    lies: Lies,
    strategy: GpuScanStrategy,
    stalled: Option<u32>,
    /// With their entry points, in the order of their launches.
    pipelines: Vec<(&'static str, wgpu::ComputePipeline)>,
    state: wgpu::Buffer,
    items: u64,
}

impl Scanning {
    /// The sizes of a scan of `items` items that lie as `lies` says, and the shader of each launch. No device is
    /// needed to know them; `id` is named in errors.
    pub(crate) fn kernels(
        (id, facts): (&str, &Facts),
        types: &Types,
        strategy: GpuScanStrategy,
        form: Form,
        items: u64,
        lies: Lies,
        policy: Option<WorkgroupPolicy>,
    ) -> Result<(Shape, Vec<Shader>)> {
        let refused = |reason: String| Error::StrategyRefused {
            device: id.to_owned(),
            strategy: Strategy::GpuScan(strategy).to_string(),
            reason,
        };
        let asked = bytes(strategy.load.width);
        for kind in [types.item, types.output] {
            if access(kind, asked).is_none() {
                return Err(refused(format!("an access of {asked} bytes holds no {kind}")));
            }
        }
        let nests = form.everywhere && !types.is_exact();
        let policy = match policy {
            Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread }) => {
                let items_per_thread = items_per_thread / types.packed;
                WorkgroupPolicy { threads_per_workgroup, items_per_thread }
            }
            None => policy::of_kernel(facts, types, form, items),
        };
        let shape = Shape::new(facts, types, &strategy, lies, policy);
        let mut parts = vec![
            include_str!("chunk.wgsl"),
            include_str!("slots.wgsl"),
            include_str!("total.wgsl"),
            WORKGROUP,
            STATE,
        ];
        if types.selects() {
            let votes = strategy.local == ScanLocal::Cooperative && shape.has_voting_rows(facts);
            parts.extend(select::parts(form, votes));
        } else {
            parts.extend([
                include_str!("unit.wgsl"),
                include_str!("finish.wgsl"),
                if types.packed > 1 {
                    include_str!("packed.wgsl")
                } else {
                    include_str!("items.wgsl")
                },
            ]);
            parts.extend(segmented::parts(types));
        }
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
        parts.push(match (lies.in_place, lies.shared_words) {
            (false, _) if types.made.is_some() => "",
            (false, _) => INPUT,
            (true, false) => include_str!("memory_in_place.wgsl"),
            (true, true) => include_str!("memory_in_place_atomic.wgsl"),
        });
        let writes = form.selecting.is_none_or(Selecting::writes);
        parts.push(match (writes, lies.shared_words) {
            (false, _) => "",
            (true, true) => include_str!("write_atomic.wgsl"),
            (true, false) => include_str!("write_whole.wgsl"),
        });
        let waits = matches!(strategy.global, ScanGlobal::LookBack | ScanGlobal::Aggregates);
        if waits && !facts.forward_progress {
            return Err(refused(
                "the device does not promise that workgroups go on while others wait for them"
                    .to_owned(),
            ));
        }
        let entries = match strategy.global {
            ScanGlobal::LookBack | ScanGlobal::LookBackFallback | ScanGlobal::Aggregates
                if !facts.messages =>
            {
                return Err(refused("workgroups of the device do not hear one another".to_owned()));
            }
            ScanGlobal::LookBack | ScanGlobal::LookBackFallback => {
                parts.extend([
                    PUBLISHED,
                    include_str!("tickets.wgsl"),
                    include_str!("seen.wgsl"),
                    if types.selects() { "" } else { include_str!("parked.wgsl") },
                    include_str!("look_back.wgsl"),
                ]);
                vec!["scan"]
            }
            ScanGlobal::Aggregates => {
                parts.extend([
                    PUBLISHED,
                    include_str!("tickets.wgsl"),
                    include_str!("seen.wgsl"),
                    include_str!("aggregates.wgsl"),
                ]);
                vec!["scan"]
            }
            ScanGlobal::ReduceThenScan => {
                parts.extend([
                    include_str!("handed_on.wgsl"),
                    include_str!("reduce_then_scan.wgsl"),
                ]);
                if form.only_total {
                    parts.push(include_str!("only_total.wgsl"));
                    vec!["upsweep", "spine", "write_total"]
                } else {
                    vec!["upsweep", "spine", "downsweep"]
                }
            }
            ScanGlobal::ScanThenPropagate if types.cut.is_some() => {
                return Err(refused(
                    "what is written does not say where segments begin".to_owned(),
                ));
            }
            ScanGlobal::ScanThenPropagate if types.writes_other() || types.selects() => {
                return Err(refused("what is written is not what is combined".to_owned()));
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
                    include_str!("handed_on.wgsl"),
                    include_str!("reduce_then_scan.wgsl"),
                    include_str!("scan_then_propagate.wgsl"),
                ]);
                vec!["local", "spine", "propagate"]
            }
        };
        let shader = |types: &Types, parts: &[&'static str], entries: Vec<&'static str>| Shader {
            width: lies.width,
            out_width: lies.out_width,
            constants: shape.constants(facts, &strategy, form, lies, (types, nests)),
            parts: parts.to_vec(),
            entries,
            writes,
            shared_words: lies.shared_words,
            atomic: None,
            types: types.clone(),
        };
        let mut shaders = Vec::new();
        for entry in &entries {
            let made = if *entry == "propagate" {
                // What was written is read again, and stays where it is.
                let types = Types { item: types.output, made: None, ..types.clone() };
                let again = if lies.shared_words {
                    include_str!("memory_in_place_atomic.wgsl")
                } else {
                    include_str!("memory_in_place.wgsl")
                };
                let parts: Vec<_> =
                    parts.iter().map(|&part| if part == INPUT { again } else { part }).collect();
                let mut shader = shader(&types, &parts, vec![*entry]);
                shader.width = lies.out_width;
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
                shader
            } else {
                shader(types, &parts, vec![*entry])
            };
            shaders.push(made);
        }
        Ok((shape, shaders))
    }

    /// A scan of arrays of at most `items` items that lie so.
    pub(crate) fn new(
        gpu: &Gpu,
        types: Types,
        form: Form,
        items: u64,
        lies: Lies,
        options: &ScanOptions,
    ) -> Result<Self> {
        let facts = &gpu.facts;
        gpu.check(&types)?;
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(facts));
        let device = (gpu.id(), facts);
        let (shape, shaders) =
            Self::kernels(device, &types, strategy, form, items, lies, options.policy)?;
        let compiled = shaders.iter().map(|shader| {
            let entry = shader.entries[0];
            gpu.pipeline(shader, entry).map(|pipeline| (entry, pipeline))
        });
        let pipelines = compiled.collect::<Result<Vec<_>>>()?;
        // A total to a chunk of every window, and what comes into each and behind the last.
        let windows = items.div_ceil(WINDOW as u64).max(1);
        let slots = windows * (WINDOW as u64 / u64::from(shape.chunk()) + 1) + 1;
        let words = STATE_HEADER + 2 * u64::from(types.words()) * slots;
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
    pub(crate) fn suits(&self, types: &Types, form: Form, items: u64, lies: Lies) -> bool {
        self.types == *types && self.form == form && items <= self.items && lies == self.lies
    }

    /// Everything for a scan of arrays into `output`, which is as long. In place they are the same. Some kernels have `others`; those of
    /// words are told how many items are `absent` from the last.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        inputs: &Inputs<'_>,
        output: &Slice<'_>,
        others: Option<Others<'_>>,
        absent: u32,
        init: Init,
    ) -> Result<Recording> {
        let facts = &gpu.facts;
        let chunk = u64::from(self.shape.chunk());
        let (beside, counts) = match &others {
            Some(Others::Segments(beside)) => (Some(beside), None),
            Some(Others::Counts(counts)) => (None, Some(counts)),
            None => (None, None),
        };
        // What is cut into segments, or selected, is not cut into windows, and so need not be whole ones.
        let is_whole = self.types.cut.is_some() || self.types.selects();
        let multiple = if is_whole { 1 } else { WINDOW as u64 };
        let only_total = self.form.only_total;
        let all = Arrays::of(&self.types, inputs);
        let input = all.widest();
        let only_input = only_total || self.types.emits();
        let reads_wide = only_input || self.types.item.size() >= self.types.output.size();
        // An array that is read, if it is the wider one, or the only one; else the output.
        let wide = match input {
            Some(input) if reads_wide => Some((self.types.item, input)),
            None if only_input => None,
            _ => Some((self.types.output, output)),
        };
        let of_input = wide.is_none() || (reads_wide && input.is_some());
        let turned = self.form.direction == Direction::Reverse;
        let tickets = MOST_TICKETS * chunk;
        if is_whole && self.waits() && inputs.items > tickets {
            let reason = format!(
                "workgroups that wait for others count at most {tickets} items in one launch, not {}; take {}",
                inputs.items,
                ScanGlobal::ReduceThenScan
            );
            return Err(Error::Buffer { reason });
        }
        let length = inputs.length;
        let windows = match wide {
            Some((kind, slice)) => {
                let counted = if is_whole { u64::MAX } else { tickets * kind.size() as u64 };
                let most = facts.binding_bytes.min(counted);
                slice.windows_of(kind, most, facts.alignment, multiple, turned)
            }
            None => Window::of_nothing(inputs.items, tickets, multiple, turned),
        };
        if is_whole && windows.len() > 1 {
            let too_long = if counts.is_some() { select::too_long } else { segmented::too_long };
            return Err(too_long(gpu, inputs.items, self.types.item));
        }
        if turned && length.is_some() && windows.len() > 1 {
            let reason = format!(
                "a scan from the end of items whose number only the device knows wants every array within one binding of {} bytes",
                facts.binding_bytes
            );
            return Err(Error::Buffer { reason });
        }
        let chunks = inputs.items.div_ceil(chunk).max(1);
        let prefixes = chunks.next_multiple_of(WINDOW as u64 / chunk);
        let most_workgroups = match self.strategy.global {
            ScanGlobal::Aggregates => STAYING_WORKGROUPS,
            _ => u64::MAX,
        };
        let parameters = gpu.parameters(windows.len() as u64)?;
        let mut bytes = vec![0u8; windows.len() * PARAMETERS as usize];
        let mut arrays = Vec::with_capacity(windows.len());
        for (index, window) in windows.iter().enumerate() {
            let dispatch_chunks = u64::from(window.items).div_ceil(chunk).max(1);
            let workgroups = dispatch_chunks.min(most_workgroups) as u32;
            let (read, write) = if of_input {
                let items = output.items as u32;
                let output = match only_input {
                    true => output.window(self.types.output, facts.alignment, 0, items),
                    false => output.window(
                        self.types.output,
                        facts.alignment,
                        window.first,
                        window.items,
                    ),
                };
                (*window, output)
            } else {
                let read = input.map_or(Window::numbers(window), |input| {
                    input.window(self.types.item, facts.alignment, window.first, window.items)
                });
                (read, *window)
            };
            // Chunks are counted from the end that the scan starts at.
            let before = if turned {
                inputs.items - window.first - u64::from(window.items)
            } else {
                window.first
            };
            // What a reduction starts from comes in at its end.
            let starts = u32::from(init.is_some()) << if only_total { 3 } else { 0 };
            let flags = starts | u32::from(self.stalled.is_some()) << 2;
            let words = [
                window.items,
                read.start,
                write.start,
                (before / chunk) as u32,
                dispatch_chunks as u32,
                chunks as u32,
                workgroups,
                flags,
                self.stalled.unwrap_or(0),
                prefixes as u32,
                beside.map_or(0, |beside| beside.segments),
                if index + 1 == windows.len() { absent } else { 0 },
            ];
            let (bindings, mut starts) = all.bound(gpu, &read)?;
            if let (Some(cut), Some(beside)) = (&self.types.cut, beside) {
                beside.set_starts(cut, facts.alignment, &mut starts);
            }
            for (place, _, window) in
                counts.into_iter().flat_map(|counts| counts.windows(&self.types, facts.alignment))
            {
                starts[place] = window.start;
            }
            put_parameters(
                &mut bytes,
                index,
                &words,
                starts,
                &handed(&self.types, init, window.first, inputs),
            );
            arrays.push((bindings, read, write, grid(workgroups, facts.grid)));
        }
        gpu.write(&parameters, 0, &bytes)?;
        let packed = self.types.packed;
        let by = SizedBy {
            length,
            bound: inputs.items * u64::from(packed) - u64::from(absent),
            offsets: beside.and_then(Beside::counted_offsets),
            packed,
            chunk,
            most_workgroups,
            reduces: false,
            derived: DerivedFrom::new(&self.types, inputs),
        };
        let sizes = LaunchSizes::new(gpu, &by, &windows, &parameters)?;
        let mut dispatches: Vec<_> = sizes.iter().flat_map(|sizes| sizes.first.clone()).collect();
        let (item, stored) = (all.item_bytes(), self.types.output.size() as u64);
        for (name, pipeline) in &self.pipelines {
            let (upsweeps, spine) = (*name == "upsweep", *name == "spine");
            let (propagates, total) = (*name == "propagate", *name == "write_total");
            for (index, (of_arrays, read, write, size)) in arrays.iter().enumerate() {
                if (spine || total) && index > 0 {
                    break;
                }
                let mut bindings = vec![
                    (2, self.state.as_entire_binding()),
                    (3, gpu.parameter_binding(&parameters, index)),
                ];
                if !spine && !propagates && !total && !self.lies.in_place {
                    bindings.extend(of_arrays.iter().cloned());
                }
                let writes = self.form.selecting.is_none_or(Selecting::writes);
                if !spine && writes && (!upsweeps || self.lies.in_place) {
                    bindings.push((1, write.binding(output.buffer)));
                }
                if let (Some(counts), false) = (counts, spine || upsweeps) {
                    let windows = counts.windows(&self.types, facts.alignment);
                    bindings.extend(windows.map(|(place, slice, window)| {
                        (BINDINGS[place], window.binding(slice.buffer))
                    }));
                }
                if let (Some(cut), Some(beside), false) = (&self.types.cut, beside, spine) {
                    bindings.extend(beside.bound(cut, facts.alignment, !upsweeps));
                }
                let group = gpu.group(pipeline, &bindings)?;
                let (size, workgroups) = match spine || total {
                    true => ([1, 1], Workgroups::One),
                    false => (*size, Workgroups::OfWindow(index)),
                };
                let indirect = sizes.as_ref().and_then(|sizes| sizes.grid(workgroups));
                let items = u64::from(read.items);
                let traffic = match *name {
                    // A total of every chunk; what comes into every window, and behind the last.
                    "spine" => Traffic {
                        read: chunks * self.types.bytes(),
                        written: (inputs.items.div_ceil(WINDOW as u64) + 1) * self.types.bytes(),
                    },
                    "upsweep" => Traffic { read: items * item, written: 0 },
                    "write_total" => Traffic { read: self.types.bytes(), written: stored },
                    "propagate" => Traffic { read: items * stored, written: items * stored },
                    _ => Traffic { read: items * item, written: u64::from(write.items) * stored },
                };
                let traffic = match (&self.types.cut, beside) {
                    (Some(cut), Some(beside)) if !spine => beside.traffic(cut, traffic),
                    _ => traffic,
                };
                let pipeline = pipeline.clone();
                let threads = self.shape.threads;
                dispatches.push(Dispatch {
                    name,
                    pipeline,
                    group,
                    size,
                    indirect,
                    threads,
                    traffic,
                });
            }
        }
        let state = self.waits().then(|| self.state.clone());
        let strategy = match self.form.only_total {
            true => reduce::in_order(&self.strategy),
            false => Strategy::GpuScan(self.strategy),
        };
        let strategy = Some(strategy);
        let scratch = self.state.size();
        let states = state.into_iter().chain(sizes.map(|sizes| sizes.buffer)).collect();
        Ok(Recording { dispatches, strategy, states, scratch, alive: None })
    }

    /// Whether a workgroup may wait for others.
    fn waits(&self) -> bool {
        matches!(
            self.strategy.global,
            ScanGlobal::LookBack | ScanGlobal::LookBackFallback | ScanGlobal::Aggregates
        )
    }

    /// What comes into the window behind the last run, one of `items` items, which are whole windows: the words of memory of
    /// the value that the last chunk, or the spine, has left. Waits.
    pub(crate) fn carry(&self, gpu: &Gpu, items: u64) -> Result<Words> {
        Ok(memory_words(self.types.acc, &self.carried(gpu, items)?))
    }

    /// The same as the words of the value.
    fn carried(&self, gpu: &Gpu, items: u64) -> Result<Words> {
        let items = items / u64::from(self.types.packed);
        let slot = items / u64::from(self.shape.chunk()) + items / WINDOW as u64;
        let held = self.types.held();
        let words = held.words() as usize;
        let mut found = [0u32; MOST_WORDS];
        if !self.waits() {
            // Launches hand on whole words: `handed_on.wgsl`.
            let at = 4 * (STATE_HEADER + words as u64 * slot);
            gpu.download(&self.state, at, bytemuck::cast_slice_mut(&mut found[..words]))?;
            return Ok(held.value_of(found));
        }
        // Workgroups publish halves with the mark of the run, one more than its number: `published.wgsl`. The ticket
        // has been set for the run after.
        let mut ticket = 0u32;
        gpu.download(&self.state, 0, bytemuck::bytes_of_mut(&mut ticket))?;
        let mut published = [0u32; 2 * MOST_WORDS];
        let published = &mut published[..2 * words];
        let slots = (self.state.size() / 4 - STATE_HEADER) / (2 * words as u64);
        for (half, word) in published.iter_mut().enumerate() {
            let at = 4 * (STATE_HEADER + half as u64 * slots + slot);
            gpu.download(&self.state, at, bytemuck::bytes_of_mut(word))?;
        }
        if published.iter().any(|half| half >> 16 != ticket >> TICKET_BITS) {
            return Err(gpu.failed("a scan has not said what comes behind it"));
        }
        for (word, halves) in found.iter_mut().zip(published.chunks_exact(2)) {
            *word = (halves[0] & 0xffff) | halves[1] << 16;
        }
        Ok(held.value_of(found))
    }
}
