//! The sizes of a scan's kernel: what a device and its types leave of a policy.

use upsweep_core::summation::{GROUP, LANES, ROWS, TILES};
use upsweep_core::{Condition, WorkgroupPolicy};

use super::Lies;
use crate::device::Facts;
use crate::shader::{Constants, Scalar, Types};

/// Threads of a warp.
pub(super) const WARP: u32 = 32;

/// Chunks that wait to be finished, and chunks on their way: of short ones two, if there is room, since they take less time than
/// a total from workgroup to workgroup, and than memory to answer.
fn lag_and_ahead(chunk_bytes: u32, most: u32) -> (u32, u32) {
    if chunk_bytes >= 64 << 10 || 5 * chunk_bytes > most { (1, 1) } else { (2, 2) }
}

/// Bytes of shared memory, besides stages, that a workgroup needs at most: totals and carries of workers, barriers; and of each
/// of 16 workers a row, if it puts rows in another order before it writes them, as those of two accesses to a lane, or leaves items out.
fn shared_besides(types: &Types) -> u32 {
    let bytes = types.output.size() as u32;
    let exchanges = bytes > 4 || types.selects();
    let exchange = if exchanges { 16 * LANES as u32 * bytes } else { 0 };
    (8 << 10) + exchange
}

/// Words of an item that may be selected, or of all that is read of it if it is compared with another one; 0 if all are written.
fn payload_words(types: &Types) -> u32 {
    let Some(made) = types.made.as_ref().filter(|_| types.selects()) else { return 0 };
    let words = types.output.numbers().map(|(_, of)| Scalar::of(of).words()).sum();
    if made.recipe.condition.as_ref().and_then(Condition::compared).is_none() {
        return words;
    }
    let read = made.recipe.arrays.iter().map(|kind| kind.size() as u32).sum::<u32>();
    read.div_ceil(4).max(words)
}

/// Bytes of a line of memory. A staged chunk has as much room more, or each worker's rows if they begin where no copy may, or some arrays
/// begin elsewhere in a line than others.
const LINE: u32 = 128;

/// Registers that a thread needs besides what it holds, for each word of a value, so that none are spilled.
const REGISTERS: u32 = 56;

/// And how many more for each word of a structure beyond two: a group of items, as it is read, and its neighbours.
const REGISTERS_OF_STRUCTURE: u32 = 24;

fn of_structure(words: u32) -> u32 {
    REGISTERS_OF_STRUCTURE * words.saturating_sub(2)
}

/// And how many more if items narrower than a word are compared with those before them: both are unpacked. `fit` counts registers of a whole
/// multiprocessor, but each quarter has its own: two workgroups of nine warps get 96 for each thread, not 112. With 96 NVRTC 13.0 spills 48
/// bytes for `u8` on sm_121. With 8 more there is one workgroup. Their speed was not measured.
const REGISTERS_OF_NARROW_COMPARED: u32 = 8;

fn of_narrow_compared(types: &Types) -> u32 {
    let condition = types.made.as_ref().and_then(|made| made.recipe.condition.as_ref());
    let compared = types.selects() && condition.and_then(Condition::compared).is_some();
    if compared && types.item.size() < 4 { REGISTERS_OF_NARROW_COMPARED } else { 0 }
}

/// And how many more for each word of what is known of segments.
const REGISTERS_OF_MARKS: u32 = 20;

/// Registers of a worker that knows in bits where segments begin, in place of both: what is known between rows is in shared memory.
/// With eight rows of one word they are 96 in all, for four workgroups of five warps, and no kernel spills for an H200 (NVRTC 13.0). Of
/// five some do; and one that does not gained nothing at 2^28 items, and took 59 µs instead of 57 at 2^24:
/// docs/decisions/2026-11-22-segments.md.
const REGISTERS_WITH_BITS: u32 = 44;

/// And how many more if it also does what a warp that serves the others would.
const REGISTERS_OF_SERVING: u32 = 40;

/// Most totals that a lane of a controller has on their way, in words of values; and where several workgroups share the registers
/// of a multiprocessor.
const TOTALS_OF_LANE: u32 = 8;
const TOTALS_OF_LANE_CLOSE: u32 = 4;

/// The same where all workgroups run at once and have a chunk each, of which policies make no more than 128.
const TOTALS_OF_LANE_AT_ONCE: u32 = 4;

/// The same where a lane has items too.
const TOTALS_OF_LANE_BESIDE_ITEMS: u32 = 2;

/// Where a chunk is while it waits for what comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// In shared memory, others being brought there meanwhile: `aggregates.cuh`.
    Staged { lag: u32, ahead: u32 },
    /// In registers, a chunk for each workgroup: `held.cuh`. `looks_back` if there may be more than run at once.
    Held { looks_back: bool },
    /// In registers too, without a warp that serves the others: `workgroup.cuh`. `stays` if workgroups take chunks in turn.
    Alone { stays: bool },
}

/// The sizes of a kernel. A policy that does not fit is brought to the nearest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    warps: u32,
    /// Rows of a warp.
    rows: u32,
    /// Items that are one value.
    packed: u32,
    /// Bytes of a chunk where it is staged.
    stage_bytes: u32,
    pub(super) waits: Waits,
    /// Workgroups of a multiprocessor that its shared memory and registers allow.
    pub(super) at_once: u32,
}

impl Shape {
    /// The sizes with which chunks are staged.
    pub(super) fn staged(
        facts: &Facts,
        types: &Types,
        lies: Lies,
        policy: WorkgroupPolicy,
    ) -> Self {
        let most = facts.shared_bytes_most.saturating_sub(shared_besides(types));
        let (mut warps, mut rows) = warps_and_rows(policy, 16);
        let arrays = types.made.as_ref().map_or(1, |made| made.recipe.arrays.len() as u32);
        let item_bytes = types.made.as_ref().map_or(types.item.size(), |made| {
            made.recipe.arrays.iter().map(|kind| kind.size()).sum()
        });
        let stage_bytes = |warps: u32, rows: u32| {
            let in_front = if types.compares() { warps * LINE } else { 0 };
            let room =
                in_front + if lies.aligned && !lies.batched { arrays * LINE } else { warps * LINE };
            warps * rows * (LANES * item_bytes) as u32 + room
        };
        while 3 * stage_bytes(warps, rows) > most && rows > 4 {
            rows /= 2;
        }
        while 3 * stage_bytes(warps, rows) > most && warps > ROWS as u32 / rows {
            warps /= 2;
        }
        let (lag, ahead) = lag_and_ahead(stage_bytes(warps, rows), most);
        let (waits, packed) = (Waits::Staged { lag, ahead }, types.packed);
        let mut shape =
            Self { warps, rows, packed, stage_bytes: stage_bytes(warps, rows), waits, at_once: 1 };
        let bytes = shape.shared_bytes() + shared_besides(types);
        let words = types.words();
        let registers = REGISTERS * words.min(2) + of_structure(words);
        if words > 2 {
            while shape.fit(facts, registers) == 0 && shape.warps > ROWS as u32 / rows {
                shape.warps /= 2;
                shape.stage_bytes = stage_bytes(shape.warps, rows);
            }
        }
        let at_once = shape.fit(facts, registers).min(facts.shared_bytes_of_each / bytes);
        shape.at_once = at_once.clamp(1, 4);
        shape
    }

    /// The sizes with which chunks are held in registers.
    pub(super) fn held(
        facts: &Facts,
        types: &Types,
        policy: WorkgroupPolicy,
        looks_back: bool,
    ) -> Self {
        Self::in_registers(facts, types, policy, Waits::Held { looks_back }, (16, 0))
    }

    /// The sizes with which all warps of a workgroup do the same.
    pub(super) fn alone(
        facts: &Facts,
        types: &Types,
        policy: WorkgroupPolicy,
        stays: bool,
    ) -> Self {
        let waits = Waits::Alone { stays };
        Self::in_registers(facts, types, policy, waits, (8, REGISTERS_OF_SERVING))
    }

    /// The sizes with which a thread holds at most so many rows of one word, and needs so many registers more.
    fn in_registers(
        facts: &Facts,
        types: &Types,
        policy: WorkgroupPolicy,
        waits: Waits,
        (most_rows, more): (u32, u32),
    ) -> Self {
        // Whether a segment begins is a bit of a word for each row.
        let of_values = types.held().words();
        let in_bits = matches!(waits, Waits::Held { .. })
            && types.cut.as_ref().is_some_and(|cut| !cut.packs());
        let (own, of_marks) = match in_bits {
            true => (REGISTERS_WITH_BITS, 0),
            false => (REGISTERS, REGISTERS_OF_MARKS),
        };
        let more = more + of_marks * (types.words() - of_values) + of_narrow_compared(types);
        let (words, all_words) = (of_values.min(2), of_values);
        // A thread has 255 registers at most, and half of those of a multiprocessor are enough for a workgroup.
        let payload = payload_words(types);
        let most_rows = most_rows / types.words().max(payload);
        let (mut warps, mut rows) = warps_and_rows(policy, most_rows.max(4));
        // The more rows there are, the more is on its way between registers. What may be selected waits beside which of it is, and how
        // many items are in front.
        let of_rows = |rows: u32| match payload {
            0 => (GROUP as u32 + 1) * rows + 3 * (rows - 4),
            words => (GROUP as u32 * words + 2) * rows + GROUP as u32 * words,
        };
        let structure = |rows: u32| all_words.saturating_sub(2) * of_rows(rows);
        let registers = |rows: u32| words * (own + of_rows(rows)) + structure(rows) + more;
        while registers(rows) * WARP * (warps + 1) > facts.registers_of_each
            && warps > ROWS as u32 / rows
        {
            warps /= 2;
        }
        while registers(rows) * WARP * (warps + 1) > facts.registers_of_each && rows > 4 {
            rows /= 2;
        }
        let packed = types.packed;
        let mut shape = Self { warps, rows, packed, stage_bytes: 0, waits, at_once: 1 };
        shape.at_once = shape.fit(facts, registers(rows)).clamp(1, 16);
        shape
    }

    /// Workgroups whose threads have so many registers that fit on a multiprocessor.
    fn fit(&self, facts: &Facts, registers: u32) -> u32 {
        // Registers are given to warps, 8 for each thread at a time.
        let registers = facts.registers_of_each / (registers.next_multiple_of(8) * self.threads());
        registers.min(facts.threads_of_each / self.threads()).min(facts.blocks_of_each.max(1))
    }

    /// Items of a workgroup.
    fn chunk(&self) -> u64 {
        u64::from(self.warps * self.rows * self.packed) * LANES as u64
    }

    pub(super) fn chunks(&self, items: u64) -> u64 {
        items.div_ceil(self.chunk()).max(1)
    }

    /// Threads of a workgroup: workers, and those who serve them.
    pub(super) fn threads(&self) -> u32 {
        let serving = match self.waits {
            // The publisher, and controllers that take turns.
            Waits::Staged { lag, .. } => 1 + lag,
            Waits::Held { .. } => 1,
            Waits::Alone { .. } => 0,
        };
        WARP * (self.warps + serving)
    }

    pub(super) fn shared_bytes(&self) -> u32 {
        match self.waits {
            Waits::Staged { lag, ahead } => (lag + 1 + ahead) * self.stage_bytes,
            Waits::Held { .. } | Waits::Alone { .. } => 0,
        }
    }

    /// Whether all workgroups must run at once.
    pub(super) fn is_cooperative(&self) -> bool {
        match self.waits {
            Waits::Staged { .. } => true,
            Waits::Held { looks_back } => !looks_back,
            Waits::Alone { stays } => stays,
        }
    }

    /// Totals, and what comes into windows: `carries.cuh`.
    pub(super) fn slots(&self, items: u64) -> u64 {
        let tiles = self.warps * self.rows / ROWS as u32;
        let chunks = self.chunks(items);
        chunks + chunks * u64::from(tiles) / TILES as u64
    }

    pub(super) fn constants(&self, facts: &Facts, words: u32) -> Constants {
        let at_once = facts.multiprocessors * self.at_once;
        let tiles = self.warps * self.rows / ROWS as u32;
        // All that run at once, as often as a controller lets others take turns, and those of a window in front of them.
        let turns = match self.waits {
            Waits::Staged { lag, .. } => lag,
            Waits::Held { .. } | Waits::Alone { .. } => 1,
        };
        let most = match self.waits {
            Waits::Alone { .. } => TOTALS_OF_LANE_BESIDE_ITEMS,
            Waits::Held { looks_back: false } => TOTALS_OF_LANE_AT_ONCE * words.min(2),
            _ if self.at_once > 2 => TOTALS_OF_LANE_CLOSE,
            _ => TOTALS_OF_LANE,
        };
        let totals = (turns * at_once + TILES as u32 / tiles).div_ceil(WARP);
        let mut constants = vec![
            ("WARPS", u64::from(self.warps)),
            ("ROWS", u64::from(self.rows)),
            ("TOTALS_OF_LANE", u64::from(totals.min((most / words).max(1)))),
            ("WORKGROUPS_OF_MULTIPROCESSOR", u64::from(self.at_once)),
        ];
        match self.waits {
            Waits::Staged { lag, ahead } => {
                constants.extend([
                    ("STAGED", 1),
                    ("LAG", u64::from(lag)),
                    ("AHEAD", u64::from(ahead)),
                ]);
            }
            Waits::Held { looks_back } => {
                constants.extend([("STAGED", 0), ("LOOKS_BACK", u64::from(looks_back))]);
            }
            Waits::Alone { .. } => constants.push(("STAGED", 0)),
        }
        constants
    }
}

/// Warps of workers, of which four share a tile at most, and rows of each, of which a tile has as many at most.
fn warps_and_rows(policy: WorkgroupPolicy, most_rows: u32) -> (u32, u32) {
    let rows = (policy.items_per_thread / GROUP as u32).clamp(4, most_rows);
    let rows = 1 << rows.ilog2();
    let warps = (policy.threads_per_workgroup / WARP).clamp(ROWS as u32 / rows, 16);
    (1 << warps.ilog2(), rows)
}
