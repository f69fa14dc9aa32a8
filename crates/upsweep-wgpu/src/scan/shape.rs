//! The sizes of a scan's kernel, and how its arrays lie.

use upsweep_core::summation::{GROUP, LANES, ROWS, TILE, TILES, WINDOW};
use upsweep_core::{
    Arrangement, Bounds, Direction, GpuScanStrategy, Kind, ScanGlobal, ScanLocal, SegmentedBy,
    Tail, WorkgroupPolicy,
};
use upsweep_gpu::layout::{is_whole, width_of};

use super::TICKET_BITS;
use upsweep_gpu::{Form, Scalar, Selecting};

use crate::backend::Inputs;
use crate::device::{Facts, Gpu};
use crate::reduce::{LOOKS, floor_power_of_two, lies};
use crate::shader::{Constants, PACKS_HALVES, Types};
use crate::slice::{Slice, grain};

/// How the arrays of a scan lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lies {
    /// Bytes of an access to the input, and to the output.
    pub(crate) width: u32,
    pub(crate) out_width: u32,
    pub(crate) aligned: bool,
    pub(crate) out_aligned: bool,
    pub(crate) shared_words: bool,
    /// Whether both are one.
    pub(crate) in_place: bool,
}

/// The sizes of a kernel, derived from a policy. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(super) threads: u32,
    items: u32,
    /// Neighbouring items of one thread.
    unit: u32,
}

impl Shape {
    pub(super) fn new(
        facts: &Facts,
        types: &Types,
        strategy: &GpuScanStrategy,
        lies: Lies,
        policy: WorkgroupPolicy,
    ) -> Self {
        // What is known of offsets in a chunk takes a quarter at most.
        let of_offsets = if by_offsets(types) { facts.shared_bytes / 4 } else { 0 };
        let least_unit = (lies.width / types.item.size() as u32)
            .max(lies.out_width / types.output.size() as u32)
            .max(GROUP as u32);
        let shared = facts.shared_bytes.saturating_sub(SHARED_OF_TILES + of_offsets)
            / (shared_of_thread(types) + least_unit * shared_of_selected(types));
        let most = floor_power_of_two(facts.threads.min(shared).min(1024));
        // Most subgroups have at most 64 threads, and one of them looks.
        let least = facts.subgroup.max(64).min(most);
        let threads = floor_power_of_two(policy.threads_per_workgroup.clamp(least, most));
        let least = (TILE as u32 / threads).max(least_unit);
        let most_chunk = match by_offsets(types) {
            true => floor_power_of_two(of_offsets / OF_OFFSETS * u32::BITS).min(WINDOW as u32),
            false => WINDOW as u32,
        };
        let most_items = (most_chunk / threads).min(LANES as u32).max(least);
        let items = floor_power_of_two(policy.items_per_thread.max(1)).clamp(least, most_items);
        let blocked = strategy.load.arrangement == Arrangement::Blocked;
        // A word has a bit for each item of a unit of which some are selected.
        let unit = if blocked && !types.selects() { items } else { least_unit };
        Self { threads, items, unit }
    }

    /// Whether a row has as many threads as a word has bits, and a subgroup has whole rows.
    pub(super) fn has_voting_rows(&self, facts: &Facts) -> bool {
        facts.subgroup >= u32::BITS && self.unit * u32::BITS == LANES as u32
    }

    pub(super) fn chunk(&self) -> u32 {
        self.threads * self.items
    }

    pub(super) fn constants(
        &self,
        facts: &Facts,
        strategy: &GpuScanStrategy,
        form: Form,
        lies: Lies,
        (types, nests): (&Types, bool),
    ) -> Constants {
        let whole = strategy.load.tail == Tail::Exact;
        let tiles = self.chunk() / TILE as u32;
        let falls_back = strategy.global == ScanGlobal::LookBackFallback;
        let subgroup = if strategy.local == ScanLocal::Blelloch { 1 } else { facts.subgroup };
        let units = self.items / self.unit;
        let rows = self.chunk() / LANES as u32;
        // What the subgroup that looks sees at once.
        let chunks_of_window = TILES as u32 / tiles;
        let slots = subgroup.max(TILES as u32);
        let lane_chunks = chunks_of_window.min(LANE_CHUNKS).max(chunks_of_window / subgroup);
        let lanes_of_window = chunks_of_window / lane_chunks;
        let is_free = !nests && types.is_commutative();
        // A chunk's total before it is scanned needs lanes: of any, or such as hold whole rows.
        let total_first = subgroup > 1 && (is_free || subgroup * self.unit >= LANES as u32);
        let parked = subgroup * units * (self.unit + self.unit / GROUP as u32);
        let of_offsets =
            if by_offsets(types) { OF_OFFSETS * (self.chunk() / u32::BITS + 1) } else { 0 };
        let shared = SHARED_OF_TILES + self.threads * shared_of_thread(types) + of_offsets;
        let fits = shared + 4 * types.words_in_arrays() * parked <= facts.shared_bytes;
        // What comes before groups, beside the items.
        let holds_before = nests || types.packed > 1;
        let total_batch = if falls_back { 1 } else { UNITS_ON_THEIR_WAY };
        let mut constants = vec![
            ("THREADS", self.threads),
            ("SUBGROUP", subgroup),
            // Where there are none, nothing is kept for them.
            ("SUBGROUPS", if subgroup > 1 { self.threads / subgroup } else { 1 }),
            ("ITEMS", self.items),
            ("UNIT", self.unit),
            ("UNITS", units),
            ("TOTAL_BATCH", units.min(total_batch)),
            ("UNIT_GROUPS", self.unit / GROUP as u32),
            ("ROW_THREADS", LANES as u32 / self.unit),
            ("ROWS", ROWS as u32),
            ("CHUNK", self.chunk()),
            ("CHUNK_ROWS", rows),
            ("CHUNK_TILES", tiles),
            ("WINDOW_TILES", TILES as u32),
            ("CHUNKS_OF_WINDOW", chunks_of_window),
            ("TILE_STEPS", slots / subgroup),
            ("LANE_ROWS", if subgroup > 1 { (rows / subgroup).max(1) } else { 1 }),
            ("TOTAL_FIRST", u32::from(total_first)),
            ("IS_FREE", u32::from(is_free)),
            ("PARKS", u32::from(holds_before && subgroup > 1 && fits)),
            ("FOLDED_AT_ONCE", FOLDED_AT_ONCE),
            ("LANE_CHUNKS", lane_chunks),
            ("LANES_OF_WINDOW", lanes_of_window),
            ("WINDOWS_SEEN", subgroup / lanes_of_window),
            ("INCLUSIVE", u32::from(form.bounds == Bounds::Inclusive)),
            ("REVERSE", u32::from(form.direction == Direction::Reverse)),
            ("ALIGNED", u32::from(whole && lies.aligned)),
            ("OUT_ALIGNED", u32::from(whole && lies.out_aligned)),
            // Of one run to the next the grouping may not differ either, so what timing decides asks for the first.
            ("EXACT", u32::from(types.is_exact())),
            ("LOOSE", u32::from(!nests)),
            ("PACKED", types.packed),
            (PACKS_HALVES, u32::from(facts.packs_halves)),
            ("FALLBACK", u32::from(falls_back)),
            ("TICKET_BITS", TICKET_BITS),
            ("LOOKS", LOOKS),
            ("LOOKS_BACK", if falls_back { LOOKS_BEFORE_FALLBACK } else { LOOKS }),
            ("ROUNDS", if falls_back { ROUNDS } else { 1 }),
            ("SEGMENTED", u32::from(types.cut.is_some())),
            ("EMITS", u32::from(types.emits())),
        ];
        if let Some(selecting) = form.selecting {
            let room =
                facts.shared_bytes - SHARED_OF_TILES - self.threads * shared_of_thread(types);
            let each = self.threads * self.unit;
            let staged = room.min(MOST_STAGED_BYTES) / shared_of_selected(types).max(1) / each;
            let staged = floor_power_of_two(staged.clamp(1, units));
            constants.extend([
                ("STAGED_UNITS", staged),
                ("STAGED_ITEMS", staged * each),
                ("PARTITIONS", u32::from(selecting == Selecting::Partitioned)),
                ("BEGINS_BEHIND", u32::from(selecting.begins_behind())),
                ("COUNTS", u32::from(selecting.counts())),
                ("LENGTH_WORDS", selecting.lengths().map_or(0, |long| 1 + u32::from(long))),
            ]);
        }
        if let Some(cut) = &types.cut {
            constants.extend([
                ("BY_KEYS", u32::from(cut.by == SegmentedBy::Keys)),
                ("MARK_WORDS", cut.words()),
            ]);
        }
        constants
    }
}

fn by_offsets(types: &Types) -> bool {
    types.cut.is_some_and(|cut| cut.by == SegmentedBy::Offsets)
}

/// Bytes of shared memory for what is known of offsets among 32 items, five words: cuts, and those of another chunk; what closes,
/// the first segment, and how many have no items.
const OF_OFFSETS: u32 = 20;

/// Bytes of shared memory for each thread: two values, two of a row, of which there are as many, and one of a subgroup.
fn shared_of_thread(types: &Types) -> u32 {
    20 * types.words_in_arrays()
}

/// And for each item that may be selected: numbers in the types that kernels compute with, each at a multiple of its size; and, if it begins a
/// run, its place.
fn shared_of_selected(types: &Types) -> u32 {
    if !types.selects() {
        return 0;
    }
    let sizes = types.output.numbers().map(|(_, of)| 4 * Scalar::of(of).words());
    let most = sizes.clone().max().unwrap_or(4);
    most * sizes.count() as u32 + if types.finds_lengths() { 4 } else { 0 }
}

/// Bytes of items that wait there at once to be written one behind another: as many as let several workgroups share a multiprocessor.
const MOST_STAGED_BYTES: u32 = 1 << 15;

/// And those that tiles need beside.
const SHARED_OF_TILES: u32 = 1 << 10;

/// Units that a thread loads at once where it keeps none: 64 bytes, as many as a reduction has on their way.
const UNITS_ON_THEIR_WAY: u32 = 4;

/// Totals that each thread of the subgroup that looks sees at once, if they are of one window.
const LANE_CHUNKS: u32 = 8;

/// Totals on their way between lanes while others are folded one by one.
const FOLDED_AT_ONCE: u32 = 4;

/// Looks for others' totals before a workgroup computes a missing one itself, and how often it does so. Their
/// product stays below the 65,535 steps after which some Vulkan devices on a CPU end loops silently.
const LOOKS_BEFORE_FALLBACK: u32 = 128;
const ROUNDS: u32 = 128;

impl Lies {
    /// How accesses of at most `asked` bytes can reach these arrays.
    pub(super) fn new(
        gpu: &Gpu,
        types: &Types,
        (form, in_place): (Form, bool),
        inputs: &Inputs<'_>,
        output: &Slice<'_>,
        asked: u32,
    ) -> Self {
        let alignment = gpu.facts.alignment;
        // Where only the device knows how many items there are, nobody knows where they end.
        let knows_end = inputs.length.is_none();
        let knows_begin = form.direction == Direction::Forward || knows_end;
        // Arrays that items are made of say for themselves how they are read.
        let of_one = inputs.arrays.first().filter(|_| types.made.is_none());
        let item_size = types.item.size() as u64;
        // What is written one by one asks nothing of how items are read.
        let size = if types.emits() { item_size } else { types.output.size() as u64 };
        // As many items of the narrower array at once as of the wider, in no less than a word.
        let narrow = (u64::from(asked) * item_size / item_size.max(size)).max(item_size).max(4);
        let (width, _) = match of_one {
            None => {
                let (width, aligned) = lies(gpu, types, inputs, asked);
                let one = width_of(types.item, types.item.size() as u32);
                // From the end, accesses begin where the arrays' end lies.
                let ends = knows_end && inputs.items.is_multiple_of(u64::from(width) / item_size);
                (if form.direction == Direction::Forward || ends { width } else { one }, aligned)
            }
            Some(input) => input.access(types.item, alignment, narrow as u32),
        };
        let (out_width, _) = output.access(types.output, alignment, asked);
        let (width, out_width) = if in_place {
            (width.min(out_width), width.min(out_width))
        } else {
            (width, out_width)
        };
        // From the end, a unit begins where the array's end lies.
        let begins_at = |slice: &Slice<'_>, kind: Kind, multiple: u32| {
            let before = slice.offset % grain(kind, alignment);
            let begin = match form.direction {
                Direction::Forward => before,
                Direction::Reverse => before + slice.items * kind.size() as u64,
            };
            (knows_begin || is_whole(kind)) && begin.is_multiple_of(multiple.into())
        };
        let begins = |input| begins_at(input, types.item, width);
        let aligned = of_one.is_none_or(begins);
        if types.emits() {
            // Neighbours have several writers, and so accesses of their own; or atomics, where a word holds several.
            let size = types.output.size() as u32;
            let (out_width, shared_words) = (width_of(types.output, size.max(4)), size < 4);
            return Self { width, out_width, aligned, out_aligned: false, shared_words, in_place };
        }
        let out_aligned = begins_at(output, types.output, out_width);
        let word_aligned = begins_at(output, types.output, 4);
        if size < 4 && !word_aligned {
            let made = types.made.is_some();
            return Self {
                width: if made { width } else { 4 },
                out_width: 4,
                aligned: aligned && (made || width == 4),
                out_aligned: false,
                shared_words: true,
                in_place,
            };
        }
        Self { width, out_width, aligned, out_aligned, shared_words: false, in_place }
    }
}
