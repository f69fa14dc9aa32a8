//! Of which texts the launches of a scan are made.

use upsweep_core::summation::{GROUP, ROWS, TILES};
use upsweep_core::{
    Arrangement, Bounds, Direction, Dtype, GpuScanStrategy, Kind, ScanGlobal, ScanLocal,
    SegmentedBy, Tail,
};

use upsweep_gpu::{Form, Selecting};

use super::Lies;
use super::shape::{Shape, Waits};
use crate::device::Facts;
use crate::mailbox;
use crate::reduce::{LOOKS, RESULT, policy::packs};
use crate::select;
use crate::shader::types::alignment;
use crate::shader::{Constants, Op, PUBLISHED, SUBGROUP, Shader, Types};

/// Warps of the only workgroup of a spine.
pub(super) const SPINE_WARPS: u32 = 16;

/// Looks for another's total before a workgroup finds it out for itself.
const LOOKS_BEFORE_FALLBACK: u64 = 128;

/// No chunk.
const NONE: u32 = u32::MAX;

/// A scan whose launches are wanted.
pub(super) struct Wanted<'a> {
    pub(super) facts: &'a Facts,
    pub(super) types: &'a Types,
    pub(super) strategy: GpuScanStrategy,
    pub(super) form: Form,
    pub(super) lies: Lies,
    pub(super) shape: Shape,
    /// A chunk that seems asleep.
    pub(super) stalled: Option<u32>,
}

impl Wanted<'_> {
    /// Whether the grouping of items is bound, and can be seen.
    pub(super) fn nests(types: &Types, form: Form) -> bool {
        form.everywhere && !types.is_exact()
    }

    /// Whether a value that is written can be read again.
    pub(super) fn keeps(types: &Types) -> bool {
        let rounds = matches!(types.output.number(), Some(Dtype::F16 | Dtype::Bf16));
        !rounds || matches!(types.op, Op::Min | Op::Max)
    }

    /// The shaders, with their entry points in the order of their launches.
    pub(super) fn shaders(&self) -> Vec<Shader> {
        if self.form.only_total {
            let parts =
                [HANDED_ON, SPINE, UPSWEEP, mailbox::TEXT, RESULT, include_str!("only_total.cuh")];
            return vec![self.shader(self.alone(&parts), vec!["upsweep", "spine", "total"])];
        }
        match self.strategy.global {
            ScanGlobal::Aggregates | ScanGlobal::LookBack | ScanGlobal::LookBackFallback => {
                vec![self.shader(self.single_pass(), vec!["scan"])]
            }
            ScanGlobal::ReduceThenScan => {
                let parts = [HANDED_ON, SPINE, UPSWEEP, include_str!("reduce_then_scan.cuh")];
                vec![self.shader(self.alone(&parts), vec!["upsweep", "spine", "downsweep"])]
            }
            ScanGlobal::ScanThenPropagate => {
                let parts = [HANDED_ON, SPINE, include_str!("scan_then_propagate.cuh")];
                let mut local = self.shader(self.alone(&parts), vec!["local", "spine"]);
                let parts = [HANDED_ON, include_str!("propagate.cuh")];
                let mut propagate = self.shader(self.alone(&parts), vec!["propagate"]);
                propagate.types.item = self.types.output;
                propagate.types.made = None;
                propagate.width = propagate.out_width;
                set(&mut propagate.constants, "ALIGNED", self.lies.out_aligned);
                if Self::nests(self.types, self.form) {
                    set(&mut local.constants, "INCLUSIVE", true);
                    set(&mut propagate.constants, "SCANNED", true);
                }
                vec![local, propagate]
            }
        }
    }

    /// The texts of a scan in one launch.
    fn single_pass(&self) -> Vec<&'static str> {
        match (self.shape.waits, self.strategy.global) {
            (Waits::Staged { .. }, _) => {
                let selected = self.form.selecting.map_or("", select::staged);
                self.parts(&[BULK, selected, include_str!("aggregates.cuh")])
            }
            (Waits::Held { .. }, _) => {
                let worker: &[_] = match &self.types.cut {
                    Some(cut) if !cut.packs() => {
                        let plain = include_str!("../segmented/plain.cuh");
                        &[plain, GROUPS, include_str!("../segmented/worker.cuh")]
                    }
                    _ => &[include_str!("worker.cuh")],
                };
                self.parts(&[&[KNOWN, HELD], worker, &[include_str!("held.cuh")]].concat())
            }
            (Waits::Alone { .. }, ScanGlobal::Aggregates) => {
                self.alone(&[include_str!("in_turn.cuh")])
            }
            (Waits::Alone { .. }, _) => self.alone(&[KNOWN, include_str!("look_back.cuh")]),
        }
    }

    /// The texts of every scan, and these.
    fn parts(&self, parts: &[&'static str]) -> Vec<&'static str> {
        let carries = include_str!("carries.cuh");
        let each_item = include_str!("each_item.cuh");
        let written = self.form.selecting.map_or(each_item, select::selected);
        let own: &[_] = match self.types.cut {
            Some(_) => &[STEPS, LANES_KNOWN, SEGMENTS, carries],
            None => &[include_str!("lanes.cuh"), UNSEGMENTED, written, carries],
        };
        let values = match () {
            () if self.types.packed > 1 => include_str!("packed.cuh"),
            () if self.types.selects() => include_str!("../select/items.cuh"),
            () => ITEMS,
        };
        texts(values, &[own, parts].concat())
    }

    /// The same for workgroups all of whose warps do the same.
    fn alone(&self, parts: &[&'static str]) -> Vec<&'static str> {
        let local = match self.strategy.local {
            ScanLocal::Cooperative => include_str!("cooperative.cuh"),
            ScanLocal::Raking => include_str!("raking.cuh"),
            ScanLocal::Blelloch => include_str!("blelloch.cuh"),
        };
        let mut all = self.parts(&[include_str!("runs.cuh"), local, include_str!("workgroup.cuh")]);
        all.extend(parts);
        all
    }

    fn shader(&self, parts: Vec<&'static str>, entries: Vec<&'static str>) -> Shader {
        // A group in as few accesses as hold it.
        let width = |kind: Kind| self.lies.width.min((GROUP * kind.size()) as u32);
        Shader {
            types: self.types.clone(),
            width: match self.lies.one_by_one {
                true => self.types.item.size() as u32,
                false => width(self.types.item),
            },
            out_width: width(self.types.output),
            constants: self.constants(),
            parts,
            entries,
        }
    }

    fn constants(&self) -> Constants {
        let Self { facts, types, strategy, form, lies, .. } = self;
        let mut constants = self.shape.constants(facts, types.words());
        constants.extend([
            ("TILE_ROWS", ROWS as u64),
            ("WINDOW_TILES", TILES as u64),
            ("INCLUSIVE", u64::from(form.bounds == Bounds::Inclusive)),
            ("REVERSE", u64::from(form.direction == Direction::Reverse)),
            ("COMMUTES", u64::from(types.is_commutative())),
            ("ALIGNED", u64::from(lies.aligned)),
            ("OUT_ALIGNED", u64::from(lies.out_aligned)),
            // Segments begin with what is theirs.
            (
                "PADS_WITH_IDENTITY",
                u64::from(types.values.is_padding_identity() || types.cut.is_some()),
            ),
            ("EXACT", u64::from(types.is_exact())),
            ("SUMS_WORDS", u64::from(packs(types))),
            ("PACKED", u64::from(types.packed)),
            ("LOOKS", LOOKS),
            ("SELECTS", u64::from(types.selects())),
            ("COMPARES", u64::from(types.compares())),
            ("BATCHED", u64::from(lies.batched)),
            ("KNOWS_BEGINNINGS", u64::from(types.cut.as_ref().is_some_and(|cut| !cut.packs()))),
        ]);
        if let Some(selecting) = form.selecting {
            let words = |long: Option<bool>| long.map_or(0, |long| 1 + u64::from(long));
            constants.extend([
                ("WRITES_SELECTED", u64::from(selecting.writes())),
                ("PARTITIONS", u64::from(selecting == Selecting::Partitioned)),
                ("BEGINS_BEHIND", u64::from(selecting.begins_behind())),
                ("COUNTS", u64::from(selecting.counts())),
                ("LENGTH_WORDS", words(selecting.lengths())),
                ("OFFSET_WORDS", words(selecting.offsets())),
            ]);
        }
        if let Some(cut) = &types.cut {
            let least = alignment(cut.kind);
            let width = if cut.wide { (GROUP * cut.kind.size()).min(16) as u64 } else { least };
            constants.extend([
                ("BY_OFFSETS", u64::from(cut.by == SegmentedBy::Offsets)),
                ("BY_KEYS", u64::from(cut.by == SegmentedBy::Keys)),
                ("REDUCES", u64::from(cut.reduces)),
                ("COUNTS_SEGMENTS", u64::from(cut.packs())),
                ("MARKS_WIDE", u64::from(cut.wide)),
                ("MARKS_WIDTH", width),
            ]);
        }
        if matches!(self.shape.waits, Waits::Alone { .. }) {
            let falls_back = strategy.global == ScanGlobal::LookBackFallback;
            constants.extend([
                ("BLOCKED", u64::from(strategy.load.arrangement == Arrangement::Blocked)),
                ("CHECKED", u64::from(strategy.load.tail == Tail::Checked)),
                ("NESTS", u64::from(Self::nests(types, *form))),
                ("SCANNED", 0),
                ("SPINE_WARPS", u64::from(SPINE_WARPS)),
                ("FALLBACK", u64::from(falls_back)),
                ("LOOKS_BEFORE_FALLBACK", LOOKS_BEFORE_FALLBACK),
                ("STALLED", u64::from(self.stalled.unwrap_or(NONE))),
            ]);
        }
        constants
    }
}

/// Which lanes of a warp see one another where segments begin.
pub(crate) const STEPS: &str = include_str!("../segmented/lanes.cuh");
/// S over groups of rows, by way of shared memory, where segments begin.
pub(crate) const GROUPS: &str = include_str!("../segmented/groups.cuh");
const LANES_KNOWN: &str = include_str!("../segmented/lanes_known.cuh");
const SEGMENTS: &str = include_str!("../segmented/segments.cuh");
const UNSEGMENTED: &str = include_str!("../segmented/unsegmented.cuh");
/// What a thread does with its items.
pub(crate) const ITEMS: &str = include_str!("items.cuh");
/// The texts of everything that has chunks of these values, and these.
pub(crate) fn texts(values: &'static str, parts: &[&'static str]) -> Vec<&'static str> {
    let mut all = vec![
        SUBGROUP,
        PUBLISHED,
        include_str!("chunk.cuh"),
        include_str!("anywhere.cuh"),
        values,
        include_str!("unit.cuh"),
    ];
    all.extend(parts);
    all
}

/// Copies that the copy engine makes.
pub(crate) const BULK: &str = include_str!("bulk.cuh");
/// Rows of a warp in registers.
pub(crate) const HELD: &str = include_str!("rows.cuh");
const KNOWN: &str = include_str!("known.cuh");
const HANDED_ON: &str = include_str!("handed_on.cuh");
const SPINE: &str = include_str!("spine.cuh");
const UPSWEEP: &str = include_str!("upsweep.cuh");

/// Gives a constant another value.
fn set(constants: &mut Constants, name: &str, value: bool) {
    constants.iter_mut().filter(|(other, _)| *other == name).for_each(|c| c.1 = u64::from(value));
}
