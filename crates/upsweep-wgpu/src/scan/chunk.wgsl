// One workgroup's chunk of a scan, in the order of docs/summation.md.
//
//     group    4 items                 in one thread
//     row      32 groups               in ROW_THREADS neighbouring threads
//     tile     16 rows
//     window   32 tiles                in CHUNKS_OF_WINDOW neighbouring chunks
//
// A thread holds UNITS units of UNIT neighbouring items, whole groups. Its unit r is number r · THREADS + thread of
// the chunk, so that neighbouring threads hold neighbouring units and nothing need be moved between them; with
// blocked loads there is one unit, of all the thread's items.
//
// `scan_chunk`, or its parts, scans every level from the smallest up: S of the items of each group, S of the groups of
// each row, of the rows of each tile, leaving the totals of tiles in `tile_totals`. `finish_chunk` (`finish.wgsl`) brings a carry down
// again, so that each item takes part in one operation after the carry is known. What comes into tiles, one subgroup
// finds out: `slots.wgsl`.
//
// S are aligned prefixes: of a power of two of values, those of the left half, and those of the right half with the
// left half's total in front (J. Sklansky, 1960). What is not there is padding.

struct Parameters {
    /// Items in these bindings that belong to the array; or words of PACKED items, of the last of which some may be absent.
    items: u32,
    /// Items in front of them that do not, in the input's binding and in the output's.
    start: u32,
    out_start: u32,
    /// Number of this dispatch's first chunk, its chunks, and chunks of all dispatches.
    first_chunk: u32,
    dispatch_chunks: u32,
    chunks: u32,
    /// Workgroups that take chunks.
    workgroups: u32,
    /// 1: a start value; 4: chunk `stalled` sleeps before it publishes, to test what others do; 8: a start value of the total
    /// alone; 16: there are no offsets, which only the device knew.
    flags: u32,
    stalled: u32,
    /// Slot of the state at which prefixes of windows begin.
    prefixes: u32,
    /// Segments that offsets say, or the most of them.
    segments: u32,
    absent: u32,
    /// The same as `start`, of each of several arrays; or of what says where segments begin, of their keys and of their number,
    /// behind the items.
    starts: vec4<u32>,
    /// Words of the start value.
    init: array<vec4<u32>, INIT_VECTORS>,
}

@group(0) @binding(3) var<uniform> parameters: Parameters;

/// What a thread holds of a chunk.
alias Held = array<Unit, UNITS>;

var<workgroup> row_totals: array<Acc, CHUNK_ROWS>;
/// What comes before each row within its tile.
var<workgroup> rows_before: array<Acc, CHUNK_ROWS>;
var<workgroup> tile_totals: array<Acc, CHUNK_TILES>;
var<workgroup> tile_carries: array<Acc, CHUNK_TILES>;

/// The place in the array of item `i` from the end that the scan starts at.
fn place(i: u32) -> u32 {
    if (REVERSE == 1u) {
        return parameters.items - 1u - i;
    }
    return i;
}

/// The operator, the left operand being the one nearer to the start of the scan.
fn then(left: Acc, right: Acc) -> Acc {
    if (REVERSE == 1u) {
        return combine(right, left);
    }
    return combine(left, right);
}

/// The number in the chunk of a thread's unit r.
fn unit_of(thread: u32, r: u32) -> u32 {
    return r * THREADS + thread;
}

/// Number of the scan's item with which a chunk begins, in this dispatch.
fn first_of(chunk: u32) -> u32 {
    return (chunk - parameters.first_chunk) * CHUNK;
}

/// Whether all items of a chunk are there. What only the others need is kept apart: in the middle of what all do, on an
/// H200, it made the code half as long again and a scan of 2^28 `f32` take 906 us instead of 672.
fn is_whole(chunk: u32) -> bool {
    return first_of(chunk) + CHUNK <= parameters.items - min(parameters.absent, 1u);
}

fn load_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    for (var r = 0u; r < UNITS; r++) { // unrolled
        (*held)[r] = load_unit(first_of(chunk) + unit_of(thread, r) * UNIT);
    }
    if (!is_whole(chunk)) {
        for (var r = 0u; r < UNITS; r++) { // unrolled
            (*held)[r] = padded((*held)[r], first_of(chunk) + unit_of(thread, r) * UNIT);
        }
    }
    if (SEGMENTED == 1u) {
        find_heads(chunk, thread, 0u, true);
        for (var r = 0u; r < UNITS; r++) { // unrolled
            let at = unit_of(thread, r) * UNIT;
            (*held)[r] = marked((*held)[r], first_of(chunk) + at, at, 0u);
        }
    }
}

/// Scans the groups and rows of a loaded chunk, and leaves `row_totals` unless they are there.
fn scan_units(thread: u32, held: ptr<function, Held>, leaves: bool) {
    for (var r = 0u; r < UNITS; r++) { // unrolled
        (*held)[r] = scan_row((*held)[r], thread, unit_of(thread, r), leaves);
    }
    workgroupBarrier();
}

/// Scans the rows of each tile, and leaves `rows_before` and `tile_totals`.
fn scan_tiles(thread: u32) {
    let upto = scan_rows(thread);
    let before = previous(upto, thread, ROWS);
    if (thread < CHUNK_ROWS) {
        rows_before[thread] = before;
        if (thread % ROWS == ROWS - 1u) {
            tile_totals[thread / ROWS] = upto;
        }
    }
    workgroupBarrier();
}

/// Loads a chunk and scans its groups, rows and tiles.
fn scan_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    load_chunk(chunk, thread, held);
    scan_units(thread, held, true);
    scan_tiles(thread);
}

/// S over the rows of each tile.
fn scan_rows(thread: u32) -> Acc {
    var total = padding();
    if (thread < CHUNK_ROWS) {
        total = row_totals[thread];
    }
    return scan_across(total, thread, ROWS);
}

/// What comes into the first window.
fn start_value() -> Acc {
    if ((parameters.flags & 1u) != 0u) {
        return init();
    }
    return padding();
}
