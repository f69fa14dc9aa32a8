//! Reductions of segments that offsets say: `by_offsets.cuh`.

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_core::summation::{GROUP, LANES, ROWS, TILE, TILES};
use upsweep_gpu::layout::is_whole;
use upsweep_gpu::{Form, Init};

use crate::backend::{Inputs, Job, Workspace};
use crate::device::{Facts, Gpu};
use crate::launch::{Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::reduce::{of_inputs, with_init};
use crate::scan::launches::{BULK, GROUPS, HELD, ITEMS, STEPS, texts};
use crate::scan::{ARCH_OF_BULK_COPIES, Lies, StridedBatch, words_of};
use crate::shader::types::alignment;
use crate::shader::{Cut, Shader, Types};
use crate::slice::Slice;

/// Threads of a warp.
const WARP: u32 = 32;

/// Threads of a workgroup that looks where segments of chunks are.
const STARTS_THREADS: u32 = 256;

/// Warps of a workgroup, which have two tiles of numbers of 32 bits: half as many searches as with one, and four gain nothing.
const WARPS: u32 = 4;

/// Registers of a quarter of a multiprocessor, whose warps have the same; and those that a thread needs besides what it holds of
/// items, so that none are spilled.
const REGISTERS_OF_QUARTER: u32 = 1 << 14;
const REGISTERS_OF_THREAD: u32 = 40;

/// And how many more for items that are made with parameters: with 72 in all NVRTC 13.0 spills 8 bytes for a sum of `f32` on sm_80. Their
/// speed was not measured.
const REGISTERS_OF_PARAMETERS: u32 = 8;

/// And for items that are gathered, whose index is checked: with 80 in all NVRTC 13.0 spills 64 bytes for a sum of `f32` on sm_121.
const REGISTERS_OF_GATHERING: u32 = 8;

/// The same where items wait in shared memory, and for each word of a value. For one word and for two, 48 and 80, these are the fewest
/// found at which kernels for an H200 do not spill (NVRTC 13.0, one more workgroup having 40 and 72); but that for the largest of `bf16`
/// by offsets of 32 bits spills 16 bytes. For one word of 32 bits, shared memory has no room for more workgroups either.
const REGISTERS_BESIDE_STAGE: u32 = 16;
const REGISTERS_OF_WORD: u32 = 32;

/// Words of a value, at most, for whose groups there is room beside the items.
const MOST_STAGED_WORDS: u32 = 4;

/// Bytes of shared memory that a workgroup needs besides items and groups: bits, rows, and what the system keeps of it.
const SHARED_BESIDES: u32 = 2 << 10;

/// Segments for which there is a workgroup of `windows` at least, since those without items may be written by all of them: 512 of each
/// thread, and no more workgroups than windows unless there is a segment for four items.
const SEGMENTS_OF_WORKGROUP: u64 = 1 << 14;

/// Rows of a warp, for values of so many words: their items are held in registers, 32 of them if numbers have 32 or 64 bits.
fn rows(words: u32) -> u32 {
    if words > 1 { 4 } else { 8 }
}

/// Tiles of a workgroup.
fn chunk_tiles(words: u32) -> u32 {
    WARPS * rows(words) / ROWS as u32
}

/// Whether the items of a chunk wait in shared memory: where the copy engine can bring them there, which copies 16 bytes at a time.
fn is_staged(facts: &Facts, types: &Types, lies: Lies) -> bool {
    let plain = types.made.is_none() && !is_whole(types.item);
    let fits = types.item.size() <= 8 && types.words() <= MOST_STAGED_WORDS;
    facts.arch >= ARCH_OF_BULK_COPIES && lies.aligned && plain && fits
}

/// The shader of a reduction of arrays that lie so.
pub(crate) fn shader(facts: &Facts, types: &Types, cut: &Cut, lies: Lies) -> Shader {
    let words = types.words();
    let rows = rows(words);
    let waits = is_staged(facts, types, lies);
    let of_parameters = if types.parameters() > 0 { REGISTERS_OF_PARAMETERS } else { 0 };
    let of_gathering = if types.gathers() { REGISTERS_OF_GATHERING } else { 0 };
    let registers = match waits {
        true => REGISTERS_BESIDE_STAGE + REGISTERS_OF_WORD * words,
        false => REGISTERS_OF_THREAD + GROUP as u32 * rows * words + of_parameters + of_gathering,
    };
    let by_registers = REGISTERS_OF_QUARTER / (registers.next_multiple_of(8) * WARP);
    let shared_bytes =
        WARPS * rows * LANES as u32 * (types.item.size() as u32 + words) + SHARED_BESIDES;
    let by_memory = if waits { facts.shared_bytes_of_each / shared_bytes } else { u32::MAX };
    let at_once = by_registers.min(by_memory).max(1);
    let items: &[_] = match waits {
        true => &[BULK, include_str!("staged.cuh")],
        false => &[include_str!("held.cuh")],
    };
    let width = |kind: upsweep_core::Kind| lies.width.min((GROUP * kind.size()) as u32);
    Shader {
        types: types.clone(),
        width: if lies.one_by_one { types.item.size() as u32 } else { width(types.item) },
        out_width: width(types.output),
        constants: vec![
            ("WARPS", WARPS.into()),
            ("ROWS", rows.into()),
            ("TILE_ROWS", ROWS as u64),
            ("WINDOW_TILES", TILES as u64),
            ("WORKGROUPS_OF_MULTIPROCESSOR", at_once.into()),
            ("STAGED", 0),
            ("INCLUSIVE", 1),
            ("REVERSE", 0),
            ("COMMUTES", u64::from(types.op.is_commutative())),
            ("ALIGNED", u64::from(lies.aligned)),
            ("OUT_ALIGNED", 1),
            ("PADS_WITH_IDENTITY", 1),
            ("EXACT", u64::from(types.is_exact())),
            ("SUMS_WORDS", 0),
            ("SELECTS", 0),
            ("COMPARES", 0),
            ("PACKED", 1),
            ("BATCHED", 0),
            ("MARKS_WIDTH", alignment(cut.kind)),
            // Half of the chunks that run at once: by a quarter or all of them an H200 takes as long, within a seventieth.
            ("AHEAD", (at_once * facts.multiprocessors).div_ceil(2).into()),
        ],
        parts: texts(
            ITEMS,
            &[
                &[STEPS, HELD, include_str!("by_offsets.cuh")],
                items,
                &[
                    GROUPS,
                    include_str!("tiles.cuh"),
                    include_str!("closing.cuh"),
                    include_str!("in_tiles.cuh"),
                    include_str!("between_tiles.cuh"),
                ],
            ]
            .concat(),
        ),
        entries: vec!["starts", "segments", "windows", "finish"],
    }
}

/// The launches that write the value of each segment to `output`. Kernels have some words `beside` the arrays; there are so many segments, or
/// at most.
pub(super) fn ready<'a>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    Job { types, inputs, init }: Job<'_, 'a>,
    beside: (&[u64], u64),
    output: Slice<'a>,
) -> Result<Ready> {
    let cut = types.cut.ok_or_else(|| gpu.failed("segments are cut by offsets"))?;
    let (lies, items) = (ByOffsets::lies(&types, &inputs), inputs.items);
    let known = workspace.by_offsets.take().filter(|known| known.suits(&types, lies, items));
    let reducing = match known {
        Some(known) => known,
        None => ByOffsets::new(gpu, types, &cut, lies, items.max(workspace.items))?,
    };
    let ready = reducing.bind(gpu, &inputs, beside, output, init);
    workspace.by_offsets = Some(reducing);
    ready
}

/// A reduction of at most so many items, ready to be launched.
#[derive(Debug)]
pub(crate) struct ByOffsets {
    types: Types,
    lies: Lies,
    kernels: Vec<Arc<Kernel>>,
    /// What launches tell one another: `Told`.
    told: Arc<Buffer>,
    items: u64,
}

/// Chunks of so many items.
fn chunks(types: &Types, items: u64) -> u64 {
    items.div_ceil(TILE as u64 * u64::from(chunk_tiles(types.words()))).max(1)
}

/// Bytes of the parts of `Told` for so many items.
fn parts(types: &Types, items: u64) -> [u64; 5] {
    let (chunks, words) = (chunks(types, items), u64::from(types.words()));
    let tiles = chunks * u64::from(chunk_tiles(types.words()));
    let windows = tiles.div_ceil(TILES as u64);
    let known = 4 * (words + 1);
    let waiting = (12 * words).next_multiple_of(8) + 8;
    [8 * (chunks + 1), 4, known * tiles, known * windows, waiting * tiles]
        .map(|b| b.next_multiple_of(256))
}

impl ByOffsets {
    pub(crate) fn lies(types: &Types, inputs: &Inputs<'_>) -> Lies {
        Lies::new(Form { only_total: false, ..Form::TOTAL }, types, inputs, None, 16)
    }

    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        types: Types,
        cut: &Cut,
        lies: Lies,
        items: u64,
    ) -> Result<Self> {
        let shader = shader(&gpu.facts, &types, cut, lies);
        let entries = shader.entries.iter();
        let kernels = entries.map(|entry| gpu.kernel(&shader, entry)).collect::<Result<_>>()?;
        let told = Arc::new(Buffer::zeros(gpu, parts(&types, items).iter().sum())?);
        Ok(Self { types, lies, kernels, told, items })
    }

    /// Whether it can be used for these arrays.
    pub(crate) fn suits(&self, types: &Types, lies: Lies, items: u64) -> bool {
        self.types == *types && self.lies == lies && items <= self.items
    }

    /// The launches that write the value of each segment of the one array to `output`.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        inputs: &Inputs<'_>,
        (beside, segments): (&[u64], u64),
        output: Slice<'_>,
        init: Init,
    ) -> Result<Ready> {
        let (items, words) = (inputs.items, self.types.words());
        let counted = |count| {
            u32::try_from(count)
                .map_err(|_| gpu.failed("a reduction of more chunks or segments than are counted"))
        };
        let chunks = counted(chunks(&self.types, items))?;
        let windows = (chunks * chunk_tiles(words)).div_ceil(TILES as u32);
        let sharing = windows.max(counted(segments.div_ceil(SEGMENTS_OF_WORKGROUP))?);
        let words_of_scan = words_of([output.pointer(), 0], items, chunks, StridedBatch::ONE, init);
        let arguments = of_inputs(gpu, inputs, &self.types, beside).and(words_of_scan);
        let arguments = with_init(arguments, &self.types, init);
        let mut begin = self.told.pointer();
        let told = parts(&self.types, self.items).map(|bytes| {
            begin += bytes;
            begin - bytes
        });
        let arguments = arguments.begin().and(told);
        let launch = |grid, threads| Launch {
            grid: [grid, 1],
            threads,
            shared_bytes: 0,
            cooperative: false,
        };
        let [starts, in_tiles, of_windows, finish] = &self.kernels[..] else {
            return Err(gpu.failed("a reduction by offsets has four kernels"));
        };
        // SAFETY: `Scan` in `chunk.cuh` and `Told` in `by_offsets.cuh` have these fields. The caller's slices are the device's
        // memory and lie apart; what is told has room for every tile and window of the longest array. All kernels but the first wait
        // for the one before.
        unsafe {
            let first = launch(chunks / STARTS_THREADS + 1, STARTS_THREADS);
            Ok(Ready::new(starts, first, arguments, Some(&self.told))
                .then(in_tiles, launch(chunks, WARPS * WARP))
                .then(of_windows, launch(sharing, WARP))
                .then(finish, launch(windows, WARP))
                .overlapping())
        }
    }
}

const _: () = assert!(LANES == 128 && TILE == ROWS * LANES && TILES == WARP as usize);
