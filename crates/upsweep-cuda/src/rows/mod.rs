//! Rows of n-dimensional arrays: reductions, with threads along rows, `teams.cuh`, or across, `columns.cuh`; scans in the same two ways,
//! `scan_rows.cuh` and `scan_columns.cuh`; copies, `copy.cuh` and `transpose.cuh`.
//!
//! What parts of long rows have left is folded by launches of its own, `fold.cuh`. A scan of long rows, of which there are few, finds totals of
//! parts first, as a reduction does. How rows are dealt out, `upsweep-gpu` says.

#[cfg(test)]
mod on_device;

use std::sync::Arc;

use upsweep_core::summation::TILES;
use upsweep_core::{Bounds, Direction, Result, RowAxis, Rows, RowsStrategy};
use upsweep_gpu::{BindRows, Copying, Form, Init, Op, RowsFacts, RowsShape, is_long};

use crate::backend::{Inputs, Job, Workspace};
use crate::device::Gpu;
use crate::launch::{Arguments, Kernel, Launch, Ready};
use crate::memory::Buffer;
use crate::record::Bound;
use crate::reduce::{of_inputs, with_init};
use crate::scan::{self, StridedBatch};
use crate::shader::{Constants, SUBGROUP, Shader, Types};
use crate::slice::Slice;

/// Threads of a warp, and of a workgroup.
const WARP: u32 = 32;
const THREADS: u32 = 256;

/// Threads of a workgroup that scans rows.
const THREADS_OF_SCAN: u32 = 128;

/// Words of values whose reduction has registers for twice as many threads, unless it gathers items: beside
/// addresses and bounds NVRTC 13.0 spills up to 432 bytes then.
const MOST_WORDS_OF_LIGHT: u32 = 2;

/// Threads of a workgroup that folds parts.
const FOLD_THREADS: u32 = 128;

/// The sizes of a reduction of rows of an input at this address.
pub(crate) fn shape(
    types: &Types,
    rows: &Rows,
    address: u64,
    way: Option<RowsStrategy>,
) -> RowsShape {
    RowsShape::new(types, rows, RowsFacts { address, most_team: WARP, threads: THREADS, way })
}

/// The sizes of a scan of rows of an input at this address.
pub(crate) fn scan_shape(
    types: &Types,
    rows: &Rows,
    address: u64,
    way: Option<RowsStrategy>,
) -> RowsShape {
    let threads = THREADS_OF_SCAN;
    RowsShape::of_scan(types, rows, RowsFacts { address, most_team: WARP, threads, way })
}

/// The numbers that every kernel of rows has, of which so many threads run on a multiprocessor at once: the fewer, the more registers each has.
fn constants(
    types: &Types,
    shape: &RowsShape,
    rows: &Rows,
    is_reversed: bool,
    threads_at_once: u32,
) -> Constants {
    let mut constants = vec![
        ("THREADS", u64::from(shape.threads)),
        ("FOLD_THREADS", FOLD_THREADS.into()),
        ("WORKGROUPS_OF_MULTIPROCESSOR", u64::from((threads_at_once / shape.threads).max(1))),
        ("COMMUTES", u64::from(!shape.in_order)),
        ("ORDERED", u64::from(types.is_ordered())),
        ("SUMS_WORDS", 0),
        ("REVERSE", u64::from(is_reversed)),
        ("LONG", u64::from(shape.is_long)),
        // Across rows each access has a place of its own, which 32 bits make faster: sums of columns of 100 reach 82 % of reading instead of 68.
        // Along rows they make short ones slower: sums of rows of 128 reach 90 % of reading instead of 99 (H200, 2026-11-28).
        ("FAR", u64::from(shape.is_long || shape.way == RowsStrategy::Along)),
        ("ACROSS", rows.across.len() as u64),
        ("ALONG", rows.along.len() as u64),
        ("TEAM", shape.team.into()),
        ("LINES", shape.lines.into()),
        ("TILES", shape.tiles.max(1).into()),
        ("IS_SHORT", u64::from(shape.tiles == 0)),
        ("LEVELS", u64::from(shape.tiles.max(1).ilog2() + 1)),
    ];
    constants.extend(match shape.way {
        RowsStrategy::Along => [
            ("ACCESSES", u64::from(shape.accesses)),
            ("LINES_HELD", shape.held.into()),
            ("UNITS", shape.units.into()),
        ],
        _ => [
            ("LANES_OF_SLICE", u64::from(shape.lanes)),
            ("LOG_LANES", shape.lanes.ilog2().into()),
            ("LANES_HELD", shape.held.into()),
        ],
    });
    if shape.way == RowsStrategy::Across {
        constants.push(("LOG_LINES", shape.lines.ilog2().into()));
    }
    constants
}

/// How a row's value is written.
fn cell(types: &Types) -> &'static str {
    match types.op {
        Op::First(_) => include_str!("position.cuh"),
        _ => include_str!("value.cuh"),
    }
}

/// The shader of a reduction of rows of this shape; or, `is_reversed`, of the totals of parts of a scan from the end.
pub(crate) fn shader(types: &Types, shape: &RowsShape, rows: &Rows, is_reversed: bool) -> Shader {
    let folds = match shape.in_order {
        false => include_str!("by_lanes.cuh"),
        true => include_str!("in_order.cuh"),
    };
    let is_light = types.words() <= MOST_WORDS_OF_LIGHT && !shape.in_order && !types.gathers();
    let at_once = if is_light { 2 * THREADS } else { THREADS };
    let way = match shape.way {
        RowsStrategy::Along => [folds, include_str!("teams.cuh")],
        _ => ["", include_str!("columns.cuh")],
    };
    Shader {
        types: types.clone(),
        width: shape.vector * types.item.size() as u32,
        out_width: types.output.size() as u32,
        constants: constants(types, shape, rows, is_reversed, at_once),
        parts: vec![
            SUBGROUP,
            cell(types),
            include_str!("rows.cuh"),
            way[0],
            way[1],
            include_str!("fold.cuh"),
        ],
        entries: vec![entry(shape.way), "fold_parts", "fill_rows"],
    }
}

/// The shader of a scan of rows of this shape, whose output has accesses of so many items.
pub(crate) fn scan_shader(
    types: &Types,
    shape: &RowsShape,
    rows: &Rows,
    form: Form,
    out_vector: u32,
) -> Shader {
    let shape = &RowsShape { threads: shape.scan_threads(rows), ..*shape };
    let is_reversed = form.direction == Direction::Reverse;
    let tiles = shape.tiles.max(1);
    // Across, a thread has three trees of the values of an access.
    let at_once = match (shape.way, types.words(), shape.vector) {
        (RowsStrategy::Across, 1, 1) => 3 * THREADS,
        (RowsStrategy::Across, 1, 2) | (RowsStrategy::Along, 1, _) => 2 * THREADS,
        _ => THREADS,
    };
    let mut constants = constants(types, shape, rows, is_reversed, at_once);
    constants.extend([
        ("INCLUSIVE", u64::from(form.bounds == Bounds::Inclusive)),
        ("LOG_TILES", tiles.ilog2().into()),
        ("PARTS_OF_WINDOW", u64::from(TILES as u32 / tiles)),
    ]);
    let way = match shape.way {
        RowsStrategy::Along => include_str!("scan_rows.cuh"),
        _ => include_str!("scan_columns.cuh"),
    };
    Shader {
        types: types.clone(),
        width: shape.vector * types.item.size() as u32,
        out_width: out_vector * types.output.size() as u32,
        constants,
        parts: vec![
            SUBGROUP,
            cell(types),
            include_str!("rows.cuh"),
            include_str!("../scan/lanes.cuh"),
            include_str!("scan.cuh"),
            way,
        ],
        entries: vec![scan_entry(shape.way), "into_windows"],
    }
}

/// The kernel that scans rows.
fn scan_entry(way: RowsStrategy) -> &'static str {
    match way {
        RowsStrategy::Along => "scan_rows",
        _ => "scan_columns",
    }
}

/// The kernel that reads rows.
fn entry(way: RowsStrategy) -> &'static str {
    match way {
        RowsStrategy::Along => "reduce_rows",
        _ => "reduce_columns",
    }
}

/// A launch on a line of workgroups.
fn launch(gpu: &Gpu, workgroups: u64, threads: u32) -> Result<Launch> {
    let grid = u32::try_from(workgroups).ok().filter(|&workgroups| workgroups <= i32::MAX as u32);
    let grid =
        grid.ok_or_else(|| gpu.failed("a call on rows of more workgroups than a launch has"))?;
    Ok(Launch { grid: [grid, 1], threads, shared_bytes: 0, cooperative: false })
}

/// Where the input begins. Items that are made are read one by one, as if they began where no longer access may.
fn address(types: &Types, inputs: &Inputs<'_>) -> u64 {
    match inputs.arrays.first() {
        Some(input) if types.made.is_none() => input.pointer(),
        _ => 1,
    }
}

/// Axes as `RowAxis` in `rows.cuh`, at least one.
fn words_of(axes: &[RowAxis]) -> impl Iterator<Item = u64> {
    let none = axes.is_empty().then_some([1, 1, 1]);
    let words = axes.iter().map(|axis| [axis.len as u64, axis.input as u64, axis.output as u64]);
    words.chain(none).flatten().collect::<Vec<_>>().into_iter()
}

/// Where parts of rows are, and how many of each row: those that a launch reads, and those that it leaves.
#[derive(Clone, Copy)]
struct Parts {
    from: u64,
    to: u64,
    read: u64,
    left: u64,
}

/// What a launch is handed.
struct Call<'a> {
    gpu: &'a Gpu,
    types: &'a Types,
    inputs: Inputs<'a>,
    rows: &'a Rows,
    output: u64,
    init: Init,
}

impl Call<'_> {
    fn arguments(&self, parts: Parts) -> Arguments {
        let Self { rows, output, .. } = self;
        let [first_in, first_out] = rows.start.map(|first| first as u64);
        let (count, items) = (rows.count() as u64, rows.items() as u64);
        let arguments = of_inputs(self.gpu, &self.inputs, self.types, &[])
            .and([*output, parts.from, parts.to, count, items, first_in, first_out])
            .and([parts.read, parts.left])
            .and(words_of(&rows.across))
            .and(words_of(&rows.along))
            .and([u64::from(self.init.is_some())]);
        with_init(arguments, self.types, self.init)
    }

    /// A launch of so many workgroups.
    fn ready(
        &self,
        kernel: &Arc<Kernel>,
        (workgroups, threads): (u64, u32),
        parts: Parts,
        scratch: Option<&Arc<Buffer>>,
    ) -> Result<Ready> {
        let launch = launch(self.gpu, workgroups, threads)?;
        // SAFETY: `Rows` in `rows.cuh` has these fields. The caller's slices are the device's memory and lie apart, every place of the rows is
        // within them, and the scratch memory has room for all parts.
        Ok(unsafe { Ready::new(kernel, launch, self.arguments(parts), scratch) })
    }
}

impl BindRows for Gpu {
    fn bind_rows_reduction<'a>(
        self: &Arc<Self>,
        _: &mut Workspace,
        job: Job<'_, 'a>,
        rows: &Rows,
        way: Option<RowsStrategy>,
        output: Slice<'a>,
    ) -> Result<Bound<'a>> {
        let Job { types, inputs, init } = job;
        let arrays = inputs.all().chain([&output]);
        if rows.count() == 0 {
            return Ok(Bound::new(None, None, arrays));
        }
        let is_empty = rows.items() == 0;
        let one = [RowAxis { len: 1, input: 1, output: 0 }];
        let of_one = Rows { along: one.to_vec(), ..rows.clone() };
        let shape_of = if is_empty { &of_one } else { rows };
        let shape = shape(&types, shape_of, address(&types, &inputs), way);
        let shader = shader(&types, &shape, rows, false);
        self.make_only(core::slice::from_ref(&shader))?;
        let call = Call { gpu: self, types: &types, inputs, rows, output: output.pointer(), init };
        let mut parts = Parts { from: 0, to: 0, read: 1, left: shape.parts };
        if is_empty {
            let kernel = self.kernel(&shader, "fill_rows")?;
            let workgroups = (rows.count() as u64).div_ceil(FOLD_THREADS.into());
            let ready = call.ready(&kernel, (workgroups, FOLD_THREADS), parts, None)?;
            return Ok(Bound::new(Some(ready), None, arrays));
        }
        let folds = shape.folds();
        let count = rows.count() as u64;
        let mut scratch = None;
        if !folds.is_empty() {
            // Values of parts, and behind them those of the parts that these become.
            let values = count * (shape.parts + folds[0]);
            scratch = Some(Arc::new(Buffer::new(self, values * types.bytes())?));
        }
        let places = scratch.as_ref().map_or([0; 2], |scratch: &Arc<Buffer>| {
            [scratch.pointer(), scratch.pointer() + count * shape.parts * types.bytes()]
        });
        parts.to = places[0];
        let kernel = self.kernel(&shader, entry(shape.way))?;
        let first =
            call.ready(&kernel, (shape.workgroups, shape.threads), parts, scratch.as_ref())?;
        let mut bound = Bound::new(Some(first), None, arrays);
        let fold = self.kernel(&shader, "fold_parts")?;
        for (number, left) in folds.into_iter().enumerate() {
            let [from, to] = [places[number % 2], places[1 - number % 2]];
            parts = Parts { from, to, read: parts.left, left };
            let workgroups = (count * left).div_ceil(FOLD_THREADS.into());
            let ready = call.ready(&fold, (workgroups, FOLD_THREADS), parts, scratch.as_ref())?;
            bound = bound.then(Bound::new(Some(ready), None, core::iter::empty()));
        }
        Ok(bound)
    }

    /// Long rows, and rows of whole chunks; each is an array of its own to the single-pass scan.
    fn bind_batch_scan<'a>(
        self: &Arc<Self>,
        workspace: &mut Workspace,
        job: Job<'_, 'a>,
        rows: &Rows,
        (form, is_asked): (Form, bool),
        output: &Slice<'a>,
    ) -> Result<Option<Bound<'a>>> {
        let (types, [input], [across]) = (&job.types, job.inputs.arrays, &rows.across[..]) else {
            return Ok(None);
        };
        let policy = scan::policy::policy_of_batch(rows.items() as u64, types).or_else(|| {
            // Fewer than there are threads for are read twice otherwise.
            let shape = scan_shape(types, rows, input.pointer(), None);
            (is_asked || shape.parts > 1).then_some(scan::policy::smallest_of_batch(types))
        });
        let Some(policy) = policy else { return Ok(None) };
        let batch = StridedBatch {
            arrays: across.len as u64,
            strides: [across.input, across.output].map(|stride| stride as i64),
        };
        let ready = scan::calls::ready_batch(self, workspace, job, form, (output, batch), policy)?;
        Ok(ready.map(|ready| Bound::new(Some(ready), None, [input, output].into_iter())))
    }

    fn bind_rows_scan<'a>(
        self: &Arc<Self>,
        _: &mut Workspace,
        job: Job<'_, 'a>,
        rows: &Rows,
        (form, way): (Form, Option<RowsStrategy>),
        output: Slice<'a>,
    ) -> Result<Bound<'a>> {
        let Job { types, inputs, init } = job;
        if rows.count() == 0 || rows.items() == 0 {
            return Ok(Bound::new(None, None, inputs.all().chain([&output])));
        }
        let is_reversed = form.direction == Direction::Reverse;
        let rows = &if is_reversed { rows.clone().from_the_end() } else { rows.clone() };
        let shape = scan_shape(&types, rows, address(&types, &inputs), way);
        let out_vector = shape.out_vector(rows, types.output.size(), output.pointer());
        let scans = scan_shader(&types, &shape, rows, form, out_vector);
        let totals = shader(&types, &shape, rows, is_reversed);
        let wanted =
            if shape.parts > 1 { vec![scans.clone(), totals.clone()] } else { vec![scans.clone()] };
        self.make_only(&wanted)?;
        let arrays = inputs.all().chain([&output]);
        let call = Call { gpu: self, types: &types, inputs, rows, output: output.pointer(), init };
        let count = rows.count() as u64;
        let kernel = self.kernel(&scans, scan_entry(shape.way))?;
        let threads = shape.scan_threads(rows);
        let sizes = (shape.scan_workgroups(rows), threads);
        let mut parts = Parts { from: 0, to: 0, read: shape.parts, left: shape.parts };
        if shape.parts == 1 {
            let ready = call.ready(&kernel, sizes, parts, None)?;
            return Ok(Bound::new(Some(ready), None, arrays));
        }
        // Totals of parts, and behind them what comes into windows.
        let windows = shape.parts.div_ceil(TILES as u64 / u64::from(shape.tiles));
        let scratch = Buffer::new(self, count * (shape.parts + windows) * types.bytes())?;
        let scratch = Some(Arc::new(scratch));
        let begin = scratch.as_ref().map_or(0, |scratch| scratch.pointer());
        let behind = begin + count * shape.parts * types.bytes();
        parts.to = begin;
        let total = self.kernel(&totals, entry(shape.way))?;
        let of_totals = (shape.workgroups, shape.threads);
        let first = call.ready(&total, of_totals, parts, scratch.as_ref())?;
        let mut bound = Bound::new(Some(first), None, arrays);
        parts = Parts { from: begin, to: behind, ..parts };
        if windows > 1 {
            let kernel = self.kernel(&scans, "into_windows")?;
            let workgroups = count.div_ceil(threads.into());
            let ready = call.ready(&kernel, (workgroups, threads), parts, scratch.as_ref())?;
            bound = bound.then(Bound::new(Some(ready), None, core::iter::empty()));
        }
        let ready = call.ready(&kernel, sizes, parts, scratch.as_ref())?;
        Ok(bound.then(Bound::new(Some(ready), None, core::iter::empty())))
    }

    fn bind_rows_copy<'a>(
        self: &Arc<Self>,
        job: Job<'_, 'a>,
        rows: &Rows,
        output: Slice<'a>,
    ) -> Result<Bound<'a>> {
        let Job { types, inputs, init } = job;
        let size = types.item.size();
        let addresses = [inputs.arrays.first().map_or(0, Slice::pointer), output.pointer()];
        let copying = Copying::new(rows, size, addresses);
        let shader = copy_shader(&types, &copying);
        self.make_only(core::slice::from_ref(&shader))?;
        let rows = copying.rows();
        let arrays = inputs.all().chain([&output]);
        let call = Call { gpu: self, types: &types, inputs, rows, output: output.pointer(), init };
        let kernel = self.kernel(&shader, shader.entries[0])?;
        let parts = Parts { from: 0, to: 0, read: 1, left: 1 };
        let ready = call.ready(&kernel, (copying.workgroups(THREADS), THREADS), parts, None)?;
        Ok(Bound::new(Some(ready), None, arrays))
    }
}

/// The shader of a copy.
pub(crate) fn copy_shader(types: &Types, copying: &Copying) -> Shader {
    let (rows, size) = (copying.rows(), types.item.size() as u32);
    let constants = vec![
        ("THREADS", u64::from(THREADS)),
        ("SUMS_WORDS", 0),
        ("REVERSE", 0),
        ("LONG", u64::from(is_long(rows))),
        ("FAR", u64::from(is_long(rows))),
        ("ACROSS", rows.across.len() as u64),
        ("ALONG", 0),
    ];
    let (way, entry) = match copying {
        Copying::Items { .. } => (include_str!("copy.cuh"), "copy_items"),
        Copying::Squares { .. } => (include_str!("transpose.cuh"), "transpose"),
    };
    Shader {
        types: types.clone(),
        width: copying.vector() * size,
        out_width: size,
        constants,
        parts: vec![SUBGROUP, cell(types), include_str!("rows.cuh"), way],
        entries: vec![entry],
    }
}
