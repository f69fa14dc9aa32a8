//! Reductions of segments that offsets say: `by_offsets.cuh`.

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_core::summation::{GROUP, LANES, ROWS, TILE, TILES};

use crate::backend::Inputs;
use crate::device::Gpu;
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

/// Threads of a workgroup that looks where segments of tiles are.
const STARTS_THREADS: u32 = 256;

/// Registers of a quarter of a multiprocessor, whose warps have the same; and those that a thread needs for what it does, so that none
/// are spilled: on an H200 a twentieth is gained by the fewer. Before compute capability 9.0 the compiler needs more.
const REGISTERS_OF_QUARTER: u32 = 1 << 14;
const REGISTERS_OF_THREAD: u32 = 52;
const REGISTERS_OF_THREAD_BEFORE: u32 = 60;

/// Rows of a warp, of which a tile has 16, for values of so many words.
fn rows(words: u32) -> u32 {
    if words > 2 { 4 } else { 8 }
}

/// The shader of a reduction of arrays that lie so.
pub(crate) fn shader(arch: u32, types: &Types, cut: &Cut, lies: Lies) -> Shader {
    let words = types.words();
    let rows = rows(words);
    let own = if arch >= 90 { REGISTERS_OF_THREAD } else { REGISTERS_OF_THREAD_BEFORE };
    let registers = own + (GROUP as u32 + 1) * rows * words;
    let warps_of_quarter = REGISTERS_OF_QUARTER / (registers.next_multiple_of(8) * WARP);
    let at_once = (4 * warps_of_quarter / (ROWS as u32 / rows)).clamp(1, 16);
    let width = |kind: upsweep_core::Kind| lies.width.min((GROUP * kind.size()) as u32);
    Shader {
        types: types.clone(),
        width: width(types.item),
        out_width: width(types.output),
        constants: vec![
            ("WARPS", ROWS as u64 / u64::from(rows)),
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
        ],
        parts: texts(&[STEPS, HELD, include_str!("by_offsets.cuh")]),
        entries: vec!["starts", "segments", "windows", "spine", "finish"],
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

fn tiles(items: u64) -> u64 {
    items.div_ceil(TILE as u64).max(1)
}

/// Bytes of the parts of `Told` for so many items.
fn parts(types: &Types, items: u64) -> [u64; 6] {
    let (tiles, words) = (tiles(items), u64::from(types.words()));
    let windows = tiles.div_ceil(TILES as u64);
    let known = 4 * (words + 1);
    let waiting = (12 * words).next_multiple_of(8) + 8;
    [8 * tiles, 4, known * tiles, known * windows, known * windows, waiting * tiles]
        .map(|b| b.next_multiple_of(256))
}

impl ByOffsets {
    pub(crate) fn lies(types: &Types, input: Slice<'_>) -> Lies {
        Lies::new(Form { only_total: false, ..Form::TOTAL }, types, &Inputs::of(&[input]), None, 16)
    }

    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        types: Types,
        cut: &Cut,
        lies: Lies,
        items: u64,
    ) -> Result<Self> {
        let shader = shader(gpu.facts.arch, &types, cut, lies);
        let entries = shader.entries.iter();
        let kernels = entries.map(|entry| gpu.kernel(&shader, entry)).collect::<Result<_>>()?;
        let told = Arc::new(Buffer::zeros(gpu, parts(&types, items).iter().sum())?);
        Ok(Self { types, lies, kernels, told, items })
    }

    /// Whether it can be used for these arrays.
    pub(crate) fn suits(&self, types: &Types, lies: Lies, items: u64) -> bool {
        self.types == *types && self.lies == lies && items <= self.items
    }

    /// The launches that write the value of each segment of `input` to `output`.
    pub(crate) fn bind(
        &self,
        gpu: &Gpu,
        input: Slice<'_>,
        beside: &[u64],
        output: Slice<'_>,
        init: Init,
    ) -> Result<Ready> {
        let items = input.items;
        let tiles = u32::try_from(tiles(items))
            .map_err(|_| gpu.failed("a reduction of more tiles than are counted"))?;
        let words =
            [output.pointer(), 0, items, u64::from(tiles) | u64::from(init.is_some()) << 32];
        let arguments = of_inputs(&Inputs::of(&[input]), &self.types, beside).and(words);
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
        let [starts, segments, windows, spine, finish] = &self.kernels[..] else {
            return Err(gpu.failed("a reduction by offsets has five kernels"));
        };
        let threads = WARP * (ROWS as u32 / rows(self.types.words()));
        // SAFETY: `Scan` in `chunk.cuh` and `Told` in `by_offsets.cuh` have these fields. The caller's slices are the device's
        // memory and lie apart; what is told has room for every tile and window of the longest array.
        let ready = unsafe {
            let first = launch(tiles.div_ceil(STARTS_THREADS), STARTS_THREADS);
            Ready::new(starts, first, arguments, Some(&self.told))
        };
        let of_windows = launch(tiles.div_ceil(TILES as u32), WARP);
        Ok(ready
            .then(segments, launch(tiles, threads))
            .then(windows, of_windows)
            .then(spine, launch(1, WARP * WARP))
            .then(finish, of_windows))
    }
}

const _: () = assert!(LANES == 128 && TILE == ROWS * LANES && TILES == WARP as usize);
