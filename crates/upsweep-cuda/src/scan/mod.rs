//! Scans on a GPU.
//!
//! `chunk.cuh` says what a workgroup's chunk consists of, `unit.cuh` how one thread reads and writes its part of it and `anywhere.cuh`
//! how it does where no access may begin, `items.cuh` what it does with items and `packed.cuh` what with words of several, `carries.cuh`
//! what comes into the chunk. Who does what in a workgroup is in `held.cuh` if
//! threads hold their items in registers, and in `aggregates.cuh` if chunks wait in shared memory, with the copies that go on
//! meanwhile in `bulk.cuh`. These are the fast ones. In all others no warp serves the others: `workgroup.cuh`, with
//! `cooperative.cuh`, `raking.cuh` or `blelloch.cuh` in it; how chunks then learn what comes before them, in
//! `reduce_then_scan.cuh`, `scan_then_propagate.cuh`, `look_back.cuh` and `in_turn.cuh`.

pub(crate) mod calls;
pub(crate) mod launches;
pub(crate) mod policy;
mod shape;

use std::sync::Arc;

use upsweep_core::{
    Direction, Error, GpuScanStrategy, Result, ScanGlobal, ScanLocal, Strategy, WorkgroupPolicy,
};
use upsweep_gpu::bits::{MOST_WORDS, Words};
use upsweep_gpu::layout::is_whole;
use upsweep_gpu::{Form, Init, ScanOptions};

use crate::backend::Inputs;
use crate::device::{Facts, Gpu};
use crate::launch::{Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::reduce::{To, of_inputs, outcome, with_init};
use crate::shader::types::{access, alignment};
use crate::shader::{Shader, TOTAL, Types, state};
use crate::slice::Slice;

use launches::{SPINE_WARPS, Wanted};
use shape::{Shape, WARP, Waits};

/// The strategy and policy where none are asked for, of words of `packed` items.
pub(crate) fn choice(
    facts: &Facts,
    items: u64,
    item_bytes: usize,
    packed: u32,
) -> (GpuScanStrategy, WorkgroupPolicy) {
    let policy = policy::policy(items / u64::from(packed), item_bytes * packed as usize);
    (policy::strategy(facts.arch), policy::of_items(policy, packed))
}

/// How arrays lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lies {
    /// Most bytes of an access.
    pub(crate) width: u32,
    /// Whether arrays begin, or end if they are scanned from there, where such an access may.
    pub(crate) aligned: bool,
    pub(crate) out_aligned: bool,
    /// Whether items are read one by one, since the arrays that they are made of do not begin alike.
    pub(crate) one_by_one: bool,
    /// Whether all arrays that are read begin where the copy engine copies from.
    pub(crate) evenly: bool,
    /// Whether there are several arrays, each of which is scanned by itself.
    pub(crate) batched: bool,
}

/// Arrays at equal distances that are scanned by one launch, each by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedBatch {
    /// How many.
    pub(crate) arrays: u64,
    /// How far one begins behind another, in items of the input and of the output.
    pub(crate) strides: [i64; 2],
}

impl StridedBatch {
    /// A single array.
    pub(crate) const ONE: Self = Self { arrays: 1, strides: [0; 2] };
}

impl Lies {
    /// Without an output, as if it lay like the input.
    pub(crate) fn new(
        form: Form,
        types: &Types,
        inputs: &Inputs<'_>,
        output: Option<&Slice<'_>>,
        width: u32,
    ) -> Self {
        let from_end = form.direction == Direction::Reverse;
        let knows_begin = !from_end || inputs.length.is_none();
        let is = |slice: &Slice<'_>| {
            // An access of its own begins where its item does, be it the first or the last.
            if is_whole(slice.kind()) {
                return slice.pointer().is_multiple_of(alignment(slice.kind()));
            }
            let turned = if from_end { slice.pointer() + slice.bytes() } else { slice.pointer() };
            knows_begin && turned.is_multiple_of(width.into())
        };
        let begins = inputs.arrays.iter().all(is);
        let one_by_one = types.made.is_some() && !begins;
        let out_aligned = output.map_or(begins, is);
        let evenly = types.made.is_some() && policy::begins_evenly(inputs);
        Self {
            width,
            aligned: begins || one_by_one,
            out_aligned,
            one_by_one,
            evenly,
            batched: false,
        }
    }

    /// The same of several arrays, of which these are the first.
    pub(crate) fn of_batch(self, types: &Types, batch: StridedBatch) -> Self {
        let [aligned, out_aligned] = [(types.item, 0), (types.output, 1)].map(|(kind, k)| {
            let bytes = batch.strides[k].unsigned_abs() * kind.size() as u64;
            is_whole(kind) || bytes.is_multiple_of(self.width.into())
        });
        Self {
            aligned: self.aligned && aligned,
            out_aligned: self.out_aligned && out_aligned,
            batched: true,
            ..self
        }
    }
}

/// The first architecture whose blocks, once they began, go on whatever others do.
const ARCH_OF_PROGRESS: u32 = 70;

/// The first architecture whose copy engine fills shared memory.
pub(crate) const ARCH_OF_BULK_COPIES: u32 = 90;

/// A scan of arrays of at most a given length, ready to be launched.
#[derive(Debug)]
pub(crate) struct Scanning {
    types: Types,
    form: Form,
    shape: Shape,
    lies: Lies,
    /// In the order of their launches.
    kernels: Vec<Arc<Kernel>>,
    pub(crate) state: Arc<Buffer>,
    items: u64,
    /// Most arrays of so many items.
    arrays: u64,
    /// Most workgroups that run at once.
    workgroups: u32,
}

impl Scanning {
    /// The sizes and the shaders of a scan. No device is needed to know them; `id` is named in errors.
    pub(crate) fn kernels(
        (id, facts): (&str, &Facts),
        types: &Types,
        form: Form,
        items: u64,
        lies: Lies,
        options: &ScanOptions,
    ) -> Result<(Shape, Vec<Shader>)> {
        let strategy = options.strategy.unwrap_or_else(|| policy::strategy(facts.arch));
        let refused = |reason: &str| Error::StrategyRefused {
            device: id.to_owned(),
            strategy: Strategy::GpuScan(strategy).to_string(),
            reason: reason.to_owned(),
        };
        for kind in [types.item, types.output] {
            if access(kind, lies.width).is_none() {
                return Err(refused(&format!("an access of {} bytes holds no {kind}", lies.width)));
            }
        }
        if strategy.local == ScanLocal::Blelloch && Wanted::nests(types, form) {
            return Err(refused(
                "Blelloch's tree nests operations from the left, the order of summation does not; a lower level of \
                 determinism allows it",
            ));
        }
        if strategy.global == ScanGlobal::ScanThenPropagate
            && form.everywhere
            && !Wanted::keeps(types)
        {
            return Err(refused(
                "what is written is rounded, and the carry would meet what was rounded; a lower level of determinism \
                 allows it",
            ));
        }
        let writes_other = types.writes_other() || types.selects();
        if strategy.global == ScanGlobal::ScanThenPropagate && writes_other {
            return Err(refused("what is written is not what is combined"));
        }
        if strategy.global == ScanGlobal::ScanThenPropagate && !types.reads_one() {
            return Err(refused("what is written is read again as the items are, as one array"));
        }
        if strategy.global == ScanGlobal::ScanThenPropagate && types.cut.is_some() {
            return Err(refused("what is written does not say where segments begin"));
        }
        if strategy.global == ScanGlobal::Aggregates && !facts.cooperative {
            return Err(refused("the device does not run all workgroups at once"));
        }
        if strategy.global == ScanGlobal::LookBack && facts.arch < ARCH_OF_PROGRESS {
            return Err(refused(
                "the device does not promise that workgroups go on while others wait",
            ));
        }
        let policy = match options.policy {
            Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread }) => {
                let items_per_thread = items_per_thread / types.packed;
                WorkgroupPolicy { threads_per_workgroup, items_per_thread }
            }
            None => policy::policy_of_types(items, types, lies.evenly),
        };
        let items_of_all = if lies.batched { u64::MAX } else { items };
        let shape = Self::shape(facts, types, lies, strategy, items_of_all, policy);
        let stalled = options.stalled;
        let wanted = Wanted { facts, types, strategy, form, lies, shape, stalled };
        Ok((shape, wanted.shaders()))
    }

    fn shape(
        facts: &Facts,
        types: &Types,
        lies: Lies,
        strategy: GpuScanStrategy,
        items: u64,
        policy: WorkgroupPolicy,
    ) -> Shape {
        let stays = strategy.global == ScanGlobal::Aggregates;
        let looks_back = strategy.global == ScanGlobal::LookBack;
        if policy::serves(facts.arch, strategy) {
            let held = Shape::held(facts, types, policy, looks_back);
            let at_once = u64::from(facts.multiprocessors * held.at_once);
            if looks_back || held.chunks(items) <= at_once {
                return held;
            }
            let copies = policy::is_copied(types, lies.evenly) && !lies.one_by_one;
            if facts.arch >= ARCH_OF_BULK_COPIES && copies {
                return Shape::staged(facts, types, lies, policy);
            }
        }
        Shape::alone(facts, types, policy, stays)
    }

    /// A scan of arrays of at most `items` items that lie so, of at most so many at a time.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        types: Types,
        form: Form,
        (items, arrays): (u64, u64),
        lies: Lies,
        options: &ScanOptions,
    ) -> Result<Self> {
        let (shape, shaders) =
            Self::kernels((gpu.id(), &gpu.facts), &types, form, items, lies, options)?;
        gpu.make_only(&shaders)?;
        let mut kernels = Vec::new();
        for shader in &shaders {
            for entry in &shader.entries {
                kernels.push(gpu.kernel(shader, entry)?);
            }
        }
        let at_once = gpu.blocks_at_once(&kernels[0], shape.threads(), shape.shared_bytes())?;
        let workgroups = gpu.facts.multiprocessors * at_once.min(shape.at_once);
        if workgroups == 0 {
            return Err(gpu.failed("a workgroup of a scan does not fit on a multiprocessor"));
        }
        let state = state(gpu, &types, arrays * shape.slots(items))?;
        Ok(Self { types, form, shape, lies, kernels, state, items, arrays, workgroups })
    }

    /// Whether this scan can be used for so many arrays of so many items.
    pub(crate) fn suits(
        &self,
        types: &Types,
        form: Form,
        (items, arrays): (u64, u64),
        lies: Lies,
    ) -> bool {
        let is_long_enough = items <= self.items && arrays <= self.arrays;
        self.types == *types && self.form == form && is_long_enough && lies == self.lies
    }

    /// The launch of a scan of an array into `output`, which is as long and not empty, or of several, of which these are the first; kernels of
    /// segments have some words `beside` the arrays.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        inputs: &Inputs<'_>,
        output: &Slice<'_>,
        batch: StridedBatch,
        beside: &[u64],
        init: Init,
    ) -> Result<Ready> {
        let items = inputs.items;
        let chunks = self.shape.chunks(items);
        let all = u32::try_from(batch.arrays * chunks)
            .map_err(|_| gpu.failed("a scan of more chunks than are counted"))?;
        let memory = [output.pointer(), self.state.pointer()];
        let words = words_of(memory, items, chunks as u32, batch, init);
        let workgroups = match self.shape.waits {
            Waits::Staged { .. } | Waits::Alone { stays: true } => all.min(self.workgroups),
            Waits::Held { .. } | Waits::Alone { stays: false } => all,
        };
        let launch = Launch {
            grid: [workgroups, 1],
            threads: self.shape.threads(),
            shared_bytes: self.shape.shared_bytes(),
            cooperative: self.shape.is_cooperative(),
        };
        let spine = Launch { grid: [1, 1], threads: WARP * SPINE_WARPS, ..launch };
        let arguments =
            with_init(of_inputs(gpu, inputs, &self.types, beside).and(words), &self.types, init);
        // SAFETY: `Scan` in `chunk.cuh` has these fields. The caller's slices are the device's memory and lie apart, or are
        // one; the state has a place for every chunk of the longest array.
        let ready = unsafe { Ready::new(&self.kernels[0], launch, arguments, Some(&self.state)) };
        Ok(self.kernels[1..].iter().fold(ready, |ready, kernel| {
            ready.then(kernel, if kernel.name == "spine" { spine } else { launch })
        }))
    }

    /// The launches that find the total of as many items as each array has, in the order of their scan.
    pub(crate) fn bind_total(
        &self,
        gpu: &Gpu,
        inputs: &Inputs<'_>,
        to: To,
        init: Init,
    ) -> Result<Ready> {
        let items = inputs.items;
        let chunks = u32::try_from(self.shape.chunks(items))
            .map_err(|_| gpu.failed("a reduction of more chunks than are counted"))?;
        let words = words_of([0, self.state.pointer()], items, chunks, StridedBatch::ONE, None);
        let arguments =
            with_init(of_inputs(gpu, inputs, &self.types, &[]).and(words), &self.types, None);
        let arguments = with_init(arguments.begin().and(outcome(to, init)), &self.types, init);
        let launch = |workgroups, threads| Launch {
            grid: [workgroups, 1],
            threads,
            shared_bytes: 0,
            cooperative: false,
        };
        let [upsweep, spine, total] = &self.kernels[..] else {
            return Err(gpu.failed("a reduction in order has three kernels"));
        };
        // SAFETY: `Scan` in `chunk.cuh` and `Outcome` in `result.cuh` have these fields; kernels that have no second argument
        // get the first. The rest as in `bind`.
        let ready = unsafe {
            Ready::new(upsweep, launch(chunks, self.shape.threads()), arguments, Some(&self.state))
        };
        Ok(ready.then(spine, launch(1, WARP * SPINE_WARPS)).then(total, launch(1, WARP)))
    }

    /// The words of memory of what comes in behind the last scan, which was one of whole windows. Waits for it.
    pub(crate) fn carry(&self, gpu: &Gpu) -> Result<Words> {
        let mut found = [0; MOST_WORDS];
        let words = &mut found[..self.types.result_words() as usize];
        // SAFETY: the state has these words.
        unsafe { gpu.copy_out(self.state.pointer() + TOTAL, bytemuck::cast_slice_mut(words)) }?;
        Ok(found)
    }
}

/// The words of `Scan` in `chunk.cuh` between what is read and the start value: an output and a state, and how many items and chunks an array
/// has.
pub(crate) fn words_of(
    [output, state]: [u64; 2],
    items: u64,
    chunks: u32,
    batch: StridedBatch,
    init: Init,
) -> [u64; 8] {
    let chunks = u64::from(chunks) | u64::from(init.is_some()) << 32;
    let [input_stride, output_stride] = batch.strides.map(|stride| stride as u64);
    [output, state, items, chunks, batch.arrays, input_stride, output_stride, 0]
}
