//! Rows of n-dimensional arrays: reductions, with threads along rows, `teams.wgsl`, or across, `columns.wgsl`; scans in the same two ways,
//! `scan_teams.wgsl` and `scan_columns.wgsl`; copies, `copy.wgsl` and `transpose.wgsl`.
//!
//! What parts of long rows have left is folded by launches of its own, `fold.wgsl`. A scan of long rows, of which there are few, finds totals
//! of parts first, as a reduction does. How rows are dealt out, `upsweep-gpu` says.

#[cfg(test)]
mod tests;

use core::ops::Range;
use std::sync::Arc;

use upsweep_core::summation::TILES;
use upsweep_core::{Bounds, Direction, Error, Kind, Result, RowAxis, Rows, RowsStrategy};
use upsweep_gpu::{BindRows, Copying, Form, Init, Op, RowsFacts, RowsShape};
use wgpu::{BindingResource, BufferUsages};

use crate::backend::{Inputs, Job, Workspace};
use crate::device::{Facts, Gpu};
use crate::record::{Bound, Dispatch, Recording, Traffic};
use crate::reduce::{self, floor_power_of_two, grid};
use crate::shader::made::MOST_ARRAYS;
use crate::shader::{Constants, INPUT, Shader, Types, WORKGROUP, handed};
use crate::slice::{Slice, Window};

/// Most threads that share a row: in order, each has four of the 128 items of a line.
const MOST_TEAM: u32 = 32;

/// Most threads of a workgroup, and of one that scans rows.
const MOST_THREADS: u32 = 256;
const MOST_THREADS_OF_SCAN: u32 = 128;

/// Words of a thread's values in the memory of its workgroup, at least those of four columns of two words.
const LEAST_WORDS: u32 = 8;

/// Values that a thread holds in registers while members of a team hand tiles to each other.
const MOST_LANES_HANDED: u32 = 64;

/// Threads of a workgroup that goes through parts.
const FOLD_THREADS: u32 = 128;

/// A window of tiles, and parts of which one thread makes one, are trees of so many levels.
const LEVELS_OF_WINDOW: u32 = TILES.ilog2() + 1;

/// Accesses of a thread that copies.
const COPIED: u32 = 4;

/// Items of half a side of the square that a workgroup transposes.
const HALF: u32 = 32;

/// Most rows, items of a row and values of parts: numbers behind the last stay within 32 bits.
const MOST: u64 = u32::MAX as u64 - (1 << 16);

/// Bytes from one dispatch's parameters to the next's are a multiple of this.
const GRAIN: usize = 256;

/// What is known of an input that begins at this byte of its buffer, and which way is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) address: u64,
    pub(crate) way: Option<RowsStrategy>,
}

impl Asked {
    /// What is known with that of the device, which has at most so many threads in a workgroup.
    fn facts(self, facts: &Facts, types: &Types, most: u32) -> RowsFacts {
        let Self { address, way } = self;
        let words = types.words_in_arrays().max(LEAST_WORDS);
        let threads = facts.threads.min(most).min(facts.shared_bytes / (4 * words));
        RowsFacts { address, most_team: MOST_TEAM, threads: floor_power_of_two(threads), way }
    }
}

/// The sizes of a reduction of rows.
pub(crate) fn shape(facts: &Facts, types: &Types, rows: &Rows, asked: Asked) -> RowsShape {
    RowsShape::new(types, rows, asked.facts(facts, types, MOST_THREADS))
}

/// The sizes of a scan of rows.
pub(crate) fn scan_shape(facts: &Facts, types: &Types, rows: &Rows, asked: Asked) -> RowsShape {
    RowsShape::of_scan(types, rows, asked.facts(facts, types, MOST_THREADS_OF_SCAN))
}

/// The shader of a reduction of rows of this shape; or, `is_reversed`, of the totals of parts of a scan from the end.
pub(crate) fn shader(
    facts: &Facts,
    types: &Types,
    shape: &RowsShape,
    rows: &Rows,
    is_reversed: bool,
) -> Shader {
    let levels = shape.tiles.max(1).ilog2() + 1;
    let of_lines = if shape.in_order { shape.lines.ilog2() + 1 } else { 1 };
    let levels = match shape.way {
        RowsStrategy::Along => levels.max(of_lines),
        _ => levels.max(shape.lanes.ilog2() + 1),
    };
    let mut constants = constants(rows, is_reversed);
    constants.extend(constants_of(facts, types, shape));
    constants.extend([("LEVELS", levels), ("ORDERED", u32::from(types.is_ordered()))]);
    let mut parts = read(types, shape.vector).to_vec();
    parts.extend([include_str!("rows.wgsl"), include_str!("tree.wgsl"), cell(types)]);
    parts.push(if shape.parts > 1 { PARTS } else { include_str!("one_part.wgsl") });
    parts.extend(match (shape.way, shape.in_order) {
        (RowsStrategy::Along, false) => {
            let lanes = shape.units * shape.accesses * shape.vector;
            let hands_over = shape.team <= facts.subgroup && lanes <= MOST_LANES_HANDED;
            let tiles = if hands_over { TILES_OF_SUBGROUP } else { TILES_ONE_BY_ONE };
            [WORKGROUP, include_str!("by_lanes.wgsl"), tiles]
        }
        (RowsStrategy::Along, true) => [WORKGROUP, include_str!("in_order.wgsl"), ""],
        (_, false) => [COLUMNS, include_str!("columns_by_lanes.wgsl"), ""],
        (_, true) => [COLUMNS, include_str!("columns_in_order.wgsl"), ""],
    });
    parts.extend(match (shape.way, shape.tiles) {
        (RowsStrategy::Along, 0) => [TEAMS, include_str!("short_rows.wgsl")],
        (RowsStrategy::Along, _) => [TEAMS, include_str!("long_rows.wgsl")],
        _ => [FRONT, ""],
    });
    Written { vector: 1, finds: is_position(types) }.shader(
        types,
        shape.vector,
        constants,
        parts,
        entry(shape.way),
    )
}

/// The numbers of a shape.
fn constants_of(facts: &Facts, types: &Types, shape: &RowsShape) -> Constants {
    let mut constants = vec![
        ("THREADS", shape.threads),
        ("VECTOR", shape.vector),
        ("ITEM_BITS", 8 * types.item.size() as u32),
        ("TEAM", shape.team),
        ("TILES", shape.tiles.max(1)),
        ("LINES", shape.lines),
    ];
    constants.extend(match shape.way {
        RowsStrategy::Along => [
            ("WIDTH", 1),
            ("ACCESSES", shape.accesses),
            ("LANES", shape.accesses * shape.vector),
            ("LINES_HELD", shape.held),
            ("ACCESSES_HELD", shape.held * shape.accesses),
            ("UNITS", shape.units),
            ("SUBGROUP", facts.subgroup),
        ],
        _ => [
            ("WIDTH", shape.vector),
            ("SLICE_LANES", shape.lanes),
            ("LOG_LANES", shape.lanes.ilog2()),
            ("LANES_HELD", shape.held),
            ("ACCESSES_HELD", shape.held * shape.lines),
            ("INNER", 1),
            ("SUBGROUP", 1),
        ],
    });
    constants
}

/// The shader of a scan of rows of this shape, whose output has accesses of so many items.
pub(crate) fn scan_shader(
    facts: &Facts,
    types: &Types,
    shape: &RowsShape,
    rows: &Rows,
    form: Form,
    out_vector: u32,
) -> Shader {
    let shape = &RowsShape { threads: shape.scan_threads(rows), ..*shape };
    let mut constants = constants(rows, form.direction == Direction::Reverse);
    constants.extend(constants_of(facts, types, shape));
    // Fewer groups are on their way at once where an access has more items.
    let groups_held = match (shape.way, shape.vector) {
        (RowsStrategy::Across, 1) if types.words() == 1 => 4,
        _ => 2,
    };
    let written = Written::of(types, out_vector);
    let at_once = if shape.way == RowsStrategy::Along { written.vector } else { shape.vector };
    constants.extend([
        ("LEVELS", LEVELS_OF_WINDOW),
        ("INCLUSIVE", u32::from(form.bounds == Bounds::Inclusive)),
        ("WRITTEN", at_once),
        ("GROUPS_HELD", groups_held),
        ("ITEMS_HELD", 4 * groups_held),
    ]);
    constants.extend(of_windows(shape));
    let mut parts = read(types, shape.vector).to_vec();
    parts.extend([include_str!("rows.wgsl"), include_str!("tree.wgsl"), include_str!("scan.wgsl")]);
    parts.push(VALUE);
    parts.push(if at_once == written.vector { written.at_once(types) } else { WRITE_ITEMS });
    match shape.parts {
        1 => parts.push(include_str!("scan_of_one_part.wgsl")),
        _ => parts.extend([PARTS, include_str!("scan_of_parts.wgsl")]),
    }
    parts.extend(match (shape.way, shape.tiles) {
        (RowsStrategy::Along, 0) => {
            vec![WORKGROUP, TEAMS, SCAN_TEAMS, include_str!("scan_short_rows.wgsl")]
        }
        (RowsStrategy::Along, _) => {
            vec![WORKGROUP, TEAMS, SCAN_TEAMS, include_str!("scan_long_rows.wgsl")]
        }
        _ => vec![FRONT, include_str!("scan_columns.wgsl")],
    });
    written.shader(types, shape.vector, constants, parts, scan_entry(shape.way))
}

/// The numbers of parts of windows.
fn of_windows(shape: &RowsShape) -> [(&'static str, u32); 2] {
    let tiles = shape.tiles.max(1);
    [("LOG_TILES", tiles.ilog2()), ("PARTS_OF_WINDOW", TILES as u32 / tiles)]
}

/// Where parts of rows are.
const PARTS: &str = include_str!("parts.wgsl");

/// What threads do that lie along rows, or across.
const TEAMS: &str = include_str!("teams.wgsl");
const SCAN_TEAMS: &str = include_str!("scan_teams.wgsl");
const COLUMNS: &str = include_str!("columns.wgsl");

/// How a team folds several tiles, each of which has lanes.
const TILES_OF_SUBGROUP: &str = include_str!("tiles_of_subgroup.wgsl");
const TILES_ONE_BY_ONE: &str = include_str!("tiles_one_by_one.wgsl");

/// Rows in front of those of a workgroup.
const FRONT: &str = include_str!("front.wgsl");

/// How a row's value is written.
const VALUE: &str = include_str!("value.wgsl");

/// How items are written one by one.
const WRITE_ITEMS: &str = include_str!("write_items.wgsl");

/// Whether a row's value is where its extreme is.
fn is_position(types: &Types) -> bool {
    matches!(types.op, Op::First(_))
}

fn cell(types: &Types) -> &'static str {
    if is_position(types) { include_str!("position.wgsl") } else { VALUE }
}

/// The array that is read; those of items that are made stand with what they are made of.
fn input(types: &Types) -> &'static str {
    if types.made.is_some() { "" } else { INPUT }
}

/// How so many items are read at once.
fn read(types: &Types, vector: u32) -> [&'static str; 2] {
    let fetch = match vector * types.item.size() as u32 {
        _ if types.made.is_some() => include_str!("fetch_made.wgsl"),
        0..4 => include_str!("fetch_part_of_word.wgsl"),
        _ => include_str!("fetch_words.wgsl"),
    };
    [input(types), fetch]
}

/// The kernel that reads rows.
fn entry(way: RowsStrategy) -> &'static str {
    match way {
        RowsStrategy::Along => "reduce_rows",
        _ => "reduce_columns",
    }
}

/// The kernel that scans rows.
fn scan_entry(way: RowsStrategy) -> &'static str {
    match way {
        RowsStrategy::Along => "scan_rows",
        _ => "scan_columns",
    }
}

/// The shader of a kernel that reads no rows: `fold_parts`, in order or not, `into_windows`, or `fill_rows`.
pub(crate) fn fold_shader(
    types: &Types,
    shape: Option<&RowsShape>,
    rows: &Rows,
    is_reversed: bool,
    entry: &'static str,
) -> Shader {
    let mut constants = constants(rows, is_reversed);
    constants.extend([("THREADS", FOLD_THREADS), ("LEVELS", LEVELS_OF_WINDOW), ("WIDTH", 1)]);
    let mut parts = vec![input(types), include_str!("rows.wgsl"), cell(types)];
    if let Some(shape) = shape {
        constants.extend([("COMMUTES", u32::from(!shape.in_order)), ("TILES", shape.tiles.max(1))]);
        constants.extend(of_windows(shape));
        parts.extend([PARTS, include_str!("tree.wgsl")]);
    }
    parts.push(match entry {
        "fold_parts" => include_str!("fold.wgsl"),
        "into_windows" => include_str!("into_windows.wgsl"),
        _ => include_str!("fill.wgsl"),
    });
    Written { vector: 1, finds: is_position(types) }.shader(types, 1, constants, parts, entry)
}

/// The shader of a copy that writes so many items at once.
pub(crate) fn copy_shader(types: &Types, copying: &Copying, written: u32, threads: u32) -> Shader {
    let (rows, vector) = (copying.rows(), copying.vector());
    let mut constants = constants(rows, false);
    constants.extend([
        ("THREADS", threads),
        ("VECTOR", vector),
        ("ITEM_BITS", 8 * types.item.size() as u32),
        ("WRITTEN", written),
        ("COPIED", COPIED),
        ("ACCESSES_HELD", COPIED * written / vector),
        ("QUARTER_HELD", HALF * HALF / threads),
        ("QUARTER_WRITTEN", HALF * HALF / threads / written),
        ("INNER", 2),
    ]);
    let output = Written::of(types, written);
    let mut parts = read(types, vector).to_vec();
    parts.extend([include_str!("rows.wgsl"), VALUE]);
    let entry = match copying {
        Copying::Items { .. } if vector == output.vector && !output.shares_words(types) => {
            parts.push(include_str!("copy.wgsl"));
            "copy_items"
        }
        Copying::Items { .. } => {
            parts.extend([output.at_once(types), include_str!("gather.wgsl")]);
            "copy_items"
        }
        Copying::Squares { .. } => {
            parts.extend([output.at_once(types), FRONT, include_str!("transpose.wgsl")]);
            "transpose"
        }
    };
    output.shader(types, vector, constants, parts, entry)
}

/// Items that a thread writes at once where it reads `vector`: those of a word, if they are neighbours in the output.
pub(crate) fn written_at_once(rows: &Rows, vector: u32, size: usize, offset: u64) -> u32 {
    let of_word = (4 / size).max(1);
    let is_whole = |stride: isize| stride.unsigned_abs().is_multiple_of(of_word);
    let suits = rows.across.split_last().is_some_and(|(inner, outer)| {
        inner.output == 1
            && inner.len.is_multiple_of(of_word)
            && outer.iter().all(|axis| is_whole(axis.output))
            && rows.start[1].is_multiple_of(of_word)
            && offset.is_multiple_of(4)
    });
    if suits { vector.max(of_word as u32) } else { vector }
}

/// How items are written: so many at once; or positions.
#[derive(Clone, Copy)]
struct Written {
    vector: u32,
    finds: bool,
}

impl Written {
    /// Accesses of so many items, if they are whole words.
    fn of(types: &Types, vector: u32) -> Self {
        let is_whole = vector * types.output.size() as u32 >= 4;
        Self { vector: if is_whole { vector } else { 1 }, finds: false }
    }

    /// How several items are written at once: as an access, or one by one.
    fn at_once(self, types: &Types) -> &'static str {
        match self.shares_words(types) {
            true => WRITE_ITEMS,
            false => include_str!("write_accesses.wgsl"),
        }
    }

    /// Whether neighbours in a word have writers of their own.
    fn shares_words(self, types: &Types) -> bool {
        !self.finds && self.vector * (types.output.size() as u32) < 4
    }

    /// A shader of these texts, which reads so many items at once.
    fn shader(
        self,
        types: &Types,
        vector: u32,
        constants: Constants,
        mut parts: Vec<&'static str>,
        entry: &'static str,
    ) -> Shader {
        let shared_words = self.shares_words(types);
        parts.extend(match (self.finds, shared_words) {
            (true, _) => None,
            (false, true) => Some(include_str!("../scan/write_atomic.wgsl")),
            (false, false) => Some(include_str!("../scan/write_whole.wgsl")),
        });
        parts.retain(|text| !text.is_empty());
        // Of a fused input an access is one item, though it be less than a word.
        let least = if types.made.is_some() { 1 } else { 4 };
        Shader {
            types: types.clone(),
            width: (vector * types.item.size() as u32).max(least),
            out_width: (self.vector * types.output.size() as u32).max(4),
            constants,
            parts,
            entries: vec![entry],
            writes: !self.finds,
            shared_words,
            atomic: None,
        }
    }
}

/// The numbers that every kernel of rows has.
fn constants(rows: &Rows, is_reversed: bool) -> Constants {
    let [across, along] = [&rows.across, &rows.along].map(|axes| axes.len() as u32);
    vec![
        ("REVERSE", u32::from(is_reversed)),
        ("ACROSS", across),
        ("ACROSS_VECTORS", across.max(1)),
        ("ALONG", along),
        ("ALONG_VECTORS", along.max(1)),
    ]
}

/// Where the input begins in its buffer. Items that are made are read one by one, as if they began where no longer access may.
fn address(types: &Types, inputs: &Inputs<'_>) -> u64 {
    match inputs.arrays.first() {
        Some(input) if types.made.is_none() => input.offset,
        _ => 1,
    }
}

/// Axes as vectors of `rows.wgsl`, at least one.
fn vectors(axes: &[RowAxis]) -> Vec<u32> {
    let vector = |axis: &RowAxis| [axis.len as u32, axis.input as u32, axis.output as u32, 0];
    let none = axes.is_empty().then_some([1, 0, 0, 0]);
    axes.iter().map(vector).chain(none).flatten().collect()
}

/// What a call on rows wants of an array.
fn too_long(gpu: &Gpu, items: u64, kind: Kind) -> Error {
    let reason = format!(
        "rows want every array within one binding, which on device {} has at most {} bytes; this one has {items} items of {kind}",
        gpu.id(),
        gpu.facts.binding_bytes
    );
    Error::Buffer { reason }
}

/// A number of these, unless there are more than kernels count.
fn counted(gpu: &Gpu, number: u64, what: &str) -> Result<u32> {
    let fits = u32::try_from(number).ok().filter(|_| number <= MOST);
    fits.ok_or_else(|| Error::Buffer {
        reason: format!("kernels of device {} count at most {MOST} {what}, not {number}", gpu.id()),
    })
}

/// The first and the last of the items that rows reach in the input, or in the output.
fn reach(rows: &Rows, output: bool) -> [u64; 2] {
    let [mut first, mut last] = [rows.start[usize::from(output)] as i128; 2];
    for axis in rows.across.iter().chain(&rows.along) {
        let stride = if output { axis.output } else { axis.input };
        let reach = (axis.len as i128 - 1) * stride as i128;
        *(if reach < 0 { &mut first } else { &mut last }) += reach;
    }
    [first.max(0) as u64, last.max(0) as u64]
}

/// An array as kernels have it: what of it is bound, and how many items of that are in front of the first row.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    slice: Slice<'a>,
    window: Window,
    start: u32,
}

impl<'a> Bounded<'a> {
    fn new(gpu: &Gpu, slice: Slice<'a>, kind: Kind, rows: &Rows, output: bool) -> Result<Self> {
        let [first, last] = reach(rows, output);
        let items = last - first + 1;
        let fits = u32::try_from(items).ok();
        let window = fits.map(|items| slice.window(kind, gpu.facts.alignment, first, items));
        let window = window.filter(|window| window.bytes <= gpu.facts.binding_bytes);
        let window = window.ok_or_else(|| too_long(gpu, items, kind))?;
        let start = window.start + (rows.start[usize::from(output)] as u64 - first) as u32;
        Ok(Self { slice, window, start })
    }

    fn binding(&self) -> BindingResource<'a> {
        self.window.binding(self.slice.buffer)
    }
}

/// The bindings of what items of these numbers are made of, and where items begin in each.
fn made<'a>(
    gpu: &Gpu,
    types: &Types,
    inputs: &'a Inputs<'a>,
    items: Range<u64>,
) -> Result<reduce::Bound<'a>> {
    let count = items.end - items.start;
    let fitting = u32::try_from(count).ok();
    let count = fitting.ok_or_else(|| too_long(gpu, count, types.item))?;
    let window = Window { first: items.start, items: count, offset: 0, bytes: 0, start: 0 };
    reduce::Arrays::of(types, inputs).bound(gpu, &window)
}

/// How many parts each row has: those that a launch reads and those that it leaves; and the numbers of the first of each.
#[derive(Clone, Copy, Default)]
struct Parts {
    read: u32,
    left: u32,
    in_front: u32,
    behind: u32,
}

/// What launches are handed.
struct Call<'a> {
    gpu: &'a Gpu,
    types: &'a Types,
    rows: &'a Rows,
    /// The bindings of what is read, where items begin in each, and how many items are in front of the first row.
    inputs: Vec<(u32, BindingResource<'a>)>,
    starts: [u32; MOST_ARRAYS],
    start: u32,
    output: Bounded<'a>,
    init: Init,
    /// The words behind the start value.
    handed: Vec<u32>,
}

/// A launch: its kernel, how many workgroups it has, and of how many threads, the parts, and its traffic.
struct Launch {
    shader: Shader,
    workgroups: u64,
    parts: Parts,
    traffic: Traffic,
}

impl<'a> Call<'a> {
    fn new(
        gpu: &'a Gpu,
        types: &'a Types,
        rows: &'a Rows,
        (inputs, init): (&'a Inputs<'a>, Init),
        (output, stored): (Slice<'a>, Kind),
    ) -> Result<Self> {
        counted(gpu, rows.count() as u64, "rows")?;
        counted(gpu, rows.items() as u64, "items of a row")?;
        let [first, last] = reach(rows, false);
        let mut start = 0;
        let (bindings, starts) = match inputs.arrays.first() {
            // Rows without items are not read.
            _ if rows.items() == 0 => (Vec::new(), [0; MOST_ARRAYS]),
            Some(input) if types.made.is_none() => {
                let input = Bounded::new(gpu, *input, types.item, rows, false)?;
                start = input.start;
                (vec![(0, input.binding())], [0; MOST_ARRAYS])
            }
            _ => {
                start = (rows.start[0] as u64 - first) as u32;
                made(gpu, types, inputs, first..last + 1)?
            }
        };
        let of_one = Rows { along: Vec::new(), ..rows.clone() };
        let written = if rows.reduces() { &of_one } else { rows };
        let output = Bounded::new(gpu, output, stored, written, true)?;
        let handed = handed(types, init, first, inputs);
        Ok(Self { gpu, types, rows, inputs: bindings, starts, start, output, init, handed })
    }

    /// The words of `Parameters` in `rows.wgsl`.
    fn parameters(&self, parts: Parts, workgroups: u32) -> Vec<u32> {
        let Self { rows, .. } = self;
        let mut words = vec![
            self.start,
            self.output.start,
            rows.count() as u32,
            rows.items() as u32,
            parts.read,
            parts.left,
            parts.in_front,
            parts.behind,
            workgroups,
            u32::from(self.init.is_some()),
            0,
            0,
        ];
        words.extend(self.starts);
        words.extend(vectors(&rows.across));
        words.extend(vectors(&rows.along));
        words.extend(&self.handed);
        words
    }

    /// The launches, one behind another, with scratch memory for parts.
    fn recording(
        &self,
        launches: Vec<Launch>,
        scratch: Option<&wgpu::Buffer>,
    ) -> Result<Recording> {
        let Self { gpu, .. } = self;
        let all: Vec<(u32, Vec<u32>)> = (launches.iter())
            .map(|launch| {
                let workgroups = counted(gpu, launch.workgroups, "workgroups")?;
                Ok((workgroups, self.parameters(launch.parts, workgroups)))
            })
            .collect::<Result<_>>()?;
        let longest = all.iter().map(|(_, words)| 4 * words.len()).max().unwrap_or(0);
        let apart = longest.next_multiple_of(GRAIN);
        let mut bytes = vec![0u8; apart * all.len()];
        for (own, (_, words)) in bytes.chunks_exact_mut(apart.max(1)).zip(&all) {
            own[..4 * words.len()].copy_from_slice(bytemuck::cast_slice(words));
        }
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let parameters = gpu.buffer("parameters of rows", bytes.len() as u64, usage)?;
        gpu.write(&parameters, 0, &bytes)?;
        let mut dispatches = Vec::with_capacity(launches.len());
        for (number, (launch, (workgroups, _))) in launches.into_iter().zip(&all).enumerate() {
            let Launch { shader, traffic, .. } = launch;
            let name = shader.entries[0];
            let pipeline = gpu.pipeline(&shader, name)?;
            let own = wgpu::BufferBinding {
                buffer: &parameters,
                offset: (number * apart) as u64,
                size: core::num::NonZeroU64::new(apart as u64),
            };
            let reads = !matches!(name, "fold_parts" | "into_windows" | "fill_rows");
            let mut bindings = vec![(3, BindingResource::Buffer(own))];
            bindings.extend((name != "into_windows").then(|| (1, self.output.binding())));
            bindings.extend(self.inputs.iter().filter(|_| reads).cloned());
            let with_parts = shader.parts.contains(&PARTS);
            let scratch = scratch.filter(|_| with_parts);
            bindings.extend(scratch.map(|scratch| (2, scratch.as_entire_binding())));
            let group = gpu.group(&pipeline, &bindings)?;
            let threads = shader.constant("THREADS");
            let size = grid(*workgroups, gpu.facts.grid);
            let indirect = None;
            dispatches.push(Dispatch { name, pipeline, group, size, indirect, threads, traffic });
        }
        let scratch = scratch.map_or(0, wgpu::Buffer::size);
        let (strategy, states, alive) = (None, Vec::new(), None);
        Ok(Recording { dispatches, strategy, states, scratch, alive })
    }

    /// Bytes of all rows and of a value of each.
    fn traffic(&self) -> Traffic {
        let count = self.rows.count() as u64;
        let read = count * self.rows.items() as u64 * self.types.item.size() as u64;
        Traffic { read, written: count * self.stored_size() }
    }

    fn stored_size(&self) -> u64 {
        self.types.of_row().size() as u64
    }
}

impl Workspace {
    /// Scratch memory for values of parts of rows.
    fn parts(&mut self, gpu: &Gpu, types: &Types, values: u64) -> Result<wgpu::Buffer> {
        let bytes = values * types.bytes();
        counted(gpu, bytes / 4, "words of parts of rows")?;
        if bytes > gpu.facts.binding_bytes {
            return Err(too_long(gpu, values, types.acc));
        }
        match self.parts_of_rows.take().filter(|parts| parts.size() >= bytes) {
            Some(parts) => Ok(self.parts_of_rows.insert(parts).clone()),
            None => {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
                let parts = gpu.buffer("parts of rows", bytes, usage)?;
                Ok(self.parts_of_rows.insert(parts).clone())
            }
        }
    }
}

impl BindRows for Gpu {
    fn bind_rows_reduction<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        rows: &Rows,
        way: Option<RowsStrategy>,
        output: Slice<'a>,
    ) -> Result<Bound> {
        let Job { types, inputs, init } = job;
        let count = rows.count() as u64;
        if count == 0 {
            return Ok(Bound(Recording::of_nothing()));
        }
        let call = Call::new(self, &types, rows, (&inputs, init), (output, types.of_row()))?;
        if rows.items() == 0 {
            let launch = Launch {
                shader: fold_shader(&types, None, rows, false, "fill_rows"),
                workgroups: count.div_ceil(FOLD_THREADS.into()),
                parts: Parts::default(),
                traffic: call.traffic(),
            };
            return call.recording(vec![launch], None).map(Bound);
        }
        let address = address(&types, &inputs);
        let shape = shape(&self.facts, &types, rows, Asked { address, way });
        let folds = shape.folds();
        // Values of parts, and behind them those of the parts that these become.
        let values = folds.first().map_or(0, |left| count * (shape.parts + left));
        let scratch = match values {
            0 => None,
            values => Some(workspace.parts(self, &types, values)?),
        };
        let places = [0, (count * shape.parts) as u32];
        let mut parts = Parts { read: 1, left: shape.parts as u32, in_front: 0, behind: 0 };
        let mut launches = vec![Launch {
            shader: shader(&self.facts, &types, &shape, rows, false),
            workgroups: shape.workgroups,
            parts,
            traffic: call.traffic(),
        }];
        for (number, left) in folds.into_iter().enumerate() {
            let [in_front, behind] = [places[number % 2], places[1 - number % 2]];
            parts = Parts { read: parts.left, left: left as u32, in_front, behind };
            launches.push(Launch {
                shader: fold_shader(&types, Some(&shape), rows, false, "fold_parts"),
                workgroups: (count * left).div_ceil(FOLD_THREADS.into()),
                parts,
                traffic: Traffic {
                    read: count * u64::from(parts.read) * types.bytes(),
                    written: 0,
                },
            });
        }
        call.recording(launches, scratch.as_ref()).map(Bound)
    }

    fn bind_rows_scan<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        rows: &Rows,
        (form, way): (Form, Option<RowsStrategy>),
        output: Slice<'a>,
    ) -> Result<Bound> {
        let Job { types, inputs, init } = job;
        if rows.count() == 0 || rows.items() == 0 {
            return Ok(Bound(Recording::of_nothing()));
        }
        let is_reversed = form.direction == Direction::Reverse;
        let rows = &if is_reversed { rows.clone().from_the_end() } else { rows.clone() };
        let call = Call::new(self, &types, rows, (&inputs, init), (output, types.output))?;
        let address = address(&types, &inputs);
        let shape = scan_shape(&self.facts, &types, rows, Asked { address, way });
        let out_vector = shape.out_vector(rows, types.output.size(), output.offset);
        let count = rows.count() as u64;
        let windows = shape.parts.div_ceil(TILES as u64 / u64::from(shape.tiles.max(1)));
        let mut scratch = None;
        let mut launches = Vec::new();
        // Totals of parts, and behind them what comes into windows.
        let mut parts =
            Parts { read: shape.parts as u32, left: shape.parts as u32, ..Parts::default() };
        if shape.parts > 1 {
            scratch = Some(workspace.parts(self, &types, count * (shape.parts + windows))?);
            launches.push(Launch {
                shader: shader(&self.facts, &types, &shape, rows, is_reversed),
                workgroups: shape.workgroups,
                parts,
                traffic: Traffic { written: 0, ..call.traffic() },
            });
            parts.behind = (count * shape.parts) as u32;
        }
        if windows > 1 {
            launches.push(Launch {
                shader: fold_shader(&types, Some(&shape), rows, is_reversed, "into_windows"),
                workgroups: count.div_ceil(FOLD_THREADS.into()),
                parts,
                traffic: Traffic { read: count * shape.parts * types.bytes(), written: 0 },
            });
        }
        let written = count * rows.items() as u64 * types.output.size() as u64;
        launches.push(Launch {
            shader: scan_shader(&self.facts, &types, &shape, rows, form, out_vector),
            workgroups: shape.scan_workgroups(rows),
            parts,
            traffic: Traffic { written, ..call.traffic() },
        });
        call.recording(launches, scratch.as_ref()).map(Bound)
    }

    fn bind_rows_copy<'a>(
        self: &Arc<Self>,
        job: Job<'_, 'a>,
        rows: &Rows,
        output: Slice<'a>,
    ) -> Result<Bound> {
        let Job { types, inputs, init } = job;
        let addresses = [inputs.arrays.first().map_or(0, |input| input.offset), output.offset];
        let copying = Copying::new(rows, types.item.size(), addresses);
        let rows = copying.rows();
        let call = Call::new(self, &types, rows, (&inputs, init), (output, types.output))?;
        let threads = floor_power_of_two(self.facts.threads.min(MOST_THREADS));
        let written = written_at_once(rows, copying.vector(), types.item.size(), output.offset);
        let workgroups = match copying {
            Copying::Items { .. } => {
                let accesses = rows.count() as u64 / u64::from(written);
                accesses.div_ceil(u64::from(threads * COPIED))
            }
            Copying::Squares { .. } => copying.workgroups(threads),
        };
        let launch = Launch {
            shader: copy_shader(&types, &copying, written, threads),
            workgroups,
            parts: Parts { read: 1, left: 1, ..Parts::default() },
            traffic: call.traffic(),
        };
        call.recording(vec![launch], None).map(Bound)
    }
}
