//! Reductions of segments that offsets say: `by_offsets.cuh`.

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_core::summation::{GROUP, LANES, ROWS, TILE, TILES};

use crate::backend::Inputs;
use crate::device::{Facts, Gpu};
use crate::launch::{Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::reduce::{Init, of_inputs, with_init};
use crate::scan::launches::{HELD, STEPS, texts};
use crate::scan::{Form, Lies};
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
/// items, so that none are spilled. For an H200 compilers do with fewer where nothing has to be moved: a workgroup more.
const REGISTERS_OF_QUARTER: u32 = 1 << 14;
const REGISTERS_OF_THREAD: u32 = 40;
const REGISTERS_OF_THREAD_OF_90: u32 = 32;

/// Segments for which there is a workgroup at least, since those without items are written by all workgroups: 512 of each thread, and
/// no more workgroups than chunks unless there are 16 segments for each item.
const SEGMENTS_OF_WORKGROUP: u64 = 1 << 16;

/// Rows of a warp, for values of so many words: their items are held in registers, 32 of them if numbers have 32 or 64 bits.
fn rows(words: u32) -> u32 {
    if words > 1 { 4 } else { 8 }
}

/// Tiles of a workgroup.
fn chunk_tiles(words: u32) -> u32 {
    WARPS * rows(words) / ROWS as u32
}

/// The shader of a reduction of arrays that lie so.
pub(crate) fn shader(facts: &Facts, types: &Types, cut: &Cut, lies: Lies) -> Shader {
    let words = types.words();
    let rows = rows(words);
    let is_narrow = facts.arch == 90 && lies.aligned && cut.kind.size() == 4;
    let own = if is_narrow { REGISTERS_OF_THREAD_OF_90 } else { REGISTERS_OF_THREAD };
    let registers = own + GROUP as u32 * rows * words;
    let at_once = (REGISTERS_OF_QUARTER / (registers.next_multiple_of(8) * WARP)).max(1);
    let width = |kind: upsweep_core::Kind| lies.width.min((GROUP * kind.size()) as u32);
    Shader {
        types: types.clone(),
        width: width(types.item),
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
            ("MARKS_WIDTH", alignment(cut.kind)),
            // Half of the chunks that run at once: by a quarter or all of them an H200 takes as long, within a seventieth.
            ("AHEAD", (at_once * facts.multiprocessors).div_ceil(2).into()),
        ],
        parts: texts(&[
            STEPS,
            HELD,
            include_str!("by_offsets.cuh"),
            include_str!("tiles.cuh"),
            include_str!("closing.cuh"),
            include_str!("in_tiles.cuh"),
            include_str!("between_tiles.cuh"),
        ]),
        entries: vec!["starts", "segments", "windows", "finish"],
    }
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
        beside: &[u64; 4],
        output: Slice<'_>,
        init: Init,
    ) -> Result<Ready> {
        let (items, words) = (inputs.items, self.types.words());
        let [_, segments, ..] = *beside;
        let counted = |count| {
            u32::try_from(count)
                .map_err(|_| gpu.failed("a reduction of more chunks or segments than are counted"))
        };
        let chunks = counted(chunks(&self.types, items))?;
        let workgroups = chunks.max(counted(segments.div_ceil(SEGMENTS_OF_WORKGROUP))?);
        let tiles = chunks * chunk_tiles(words);
        let words_of_scan =
            [output.pointer(), 0, items, u64::from(chunks) | u64::from(init.is_some()) << 32];
        let arguments = of_inputs(inputs, &self.types, beside).and(words_of_scan);
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
        let [starts, segments, windows, finish] = &self.kernels[..] else {
            return Err(gpu.failed("a reduction by offsets has four kernels"));
        };
        // SAFETY: `Scan` in `chunk.cuh` and `Told` in `by_offsets.cuh` have these fields. The caller's slices are the device's
        // memory and lie apart; what is told has room for every tile and window of the longest array.
        let ready = unsafe {
            let first = launch(chunks / STARTS_THREADS + 1, STARTS_THREADS);
            Ready::new(starts, first, arguments, Some(&self.told))
        };
        let of_windows = launch(tiles.div_ceil(TILES as u32), WARP);
        Ok(ready
            .then(segments, launch(workgroups, WARPS * WARP))
            .then(windows, of_windows)
            .then(finish, of_windows))
    }
}

const _: () = assert!(LANES == 128 && TILE == ROWS * LANES && TILES == WARP as usize);
