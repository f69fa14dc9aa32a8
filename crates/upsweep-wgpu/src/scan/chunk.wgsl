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
// `scan_chunk` scans every level from the smallest up: S of the items of each group, S of the groups of each row, of
// the rows of each tile, leaving the totals of tiles in `tile_totals`. `finish_chunk` brings a carry down again, so
// that each item takes part in one operation after the carry is known.
//
// S are aligned prefixes: of a power of two of values, those of the left half, and those of the right half with the
// left half's total in front (J. Sklansky, 1960). What is not there is padding.

struct Parameters {
    /// Items in these bindings that belong to the array.
    items: u32,
    /// Items in front of them that do not, in the input's binding and in the output's.
    start: u32,
    out_start: u32,
    /// Number of this dispatch's first chunk, and of chunks in all dispatches.
    first_chunk: u32,
    chunks: u32,
    /// Chunks of this dispatch, its first ticket, and workgroups that will count themselves finished.
    dispatch_chunks: u32,
    first_ticket: u32,
    workgroups: u32,
    /// 1: a start value; 4: chunk `stalled` sleeps before it publishes, to test what others do.
    flags: u32,
    stalled: u32,
    /// Slot of the state at which prefixes of windows begin.
    prefixes: u32,
    init: vec2<u32>,
    index_low: u32,
    index_high: u32,
}

@group(0) @binding(1) var<storage, read_write> output: array<OutWord>;
@group(0) @binding(3) var<uniform> parameters: Parameters;

/// Neighbouring items of one thread, later S of the items of each group; and what comes before each group within
/// its row. Units are handed on by value and indexed by constants, so that they lie in registers.
struct Unit {
    items: array<Acc, UNIT>,
    before: array<Acc, UNIT_GROUPS>,
}

/// What a thread holds of a chunk.
alias Held = array<Unit, UNITS>;

var<workgroup> row_totals: array<Acc, CHUNK_ROWS>;
/// What comes before each row within its tile; later, with the carry in front.
var<workgroup> row_carries: array<Acc, CHUNK_ROWS>;
var<workgroup> tile_totals: array<Acc, CHUNK_TILES>;
var<workgroup> tile_carries: array<Acc, CHUNK_TILES>;

/// The number in the chunk of a thread's unit r.
fn unit_of(thread: u32, r: u32) -> u32 {
    return r * THREADS + thread;
}

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

/// Scans the groups, rows and tiles of a chunk.
fn scan_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    let first = (chunk - parameters.first_chunk) * CHUNK;
    for (var r = 0u; r < UNITS; r++) { // unrolled
        (*held)[r] = load_unit(first + unit_of(thread, r) * UNIT);
    }
    workgroupBarrier();
    for (var r = 0u; r < UNITS; r++) { // unrolled
        (*held)[r] = scan_row((*held)[r], thread, r);
    }
    workgroupBarrier();
    // Rows of a tile, and tiles of the chunk.
    var total = padding();
    if (thread < CHUNK_ROWS) {
        total = row_totals[thread];
    }
    let upto = scan_across(total, thread, ROWS);
    let before = previous(upto, thread, ROWS);
    if (thread < CHUNK_ROWS) {
        row_carries[thread] = before;
        if (thread % ROWS == ROWS - 1u) {
            tile_totals[thread / ROWS] = upto;
        }
    }
    workgroupBarrier();
}

/// S over the items of each group of a unit, and over the groups of the row that it is a part of.
fn scan_row(loaded: Unit, thread: u32, r: u32) -> Unit {
    var unit = loaded;
    var upto: array<Acc, UNIT_GROUPS>;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        let pair = then(unit.items[i], unit.items[i + 1u]);
        let other = then(unit.items[i + 2u], unit.items[i + 3u]);
        unit.items[i + 1u] = pair;
        unit.items[i + 2u] = then(pair, unit.items[i + 2u]);
        unit.items[i + 3u] = then(pair, other);
        upto[g] = unit.items[i + 3u];
    }
    for (var width = 1u; width < UNIT_GROUPS; width *= 2u) { // unrolled
        for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
            if ((g & width) != 0u) {
                upto[g] = then(upto[max(g & ~(width - 1u), 1u) - 1u], upto[g]);
            }
        }
    }
    if (UNIT_GROUPS == 1u) {
        upto[0] = scan_across(upto[0], thread, ROW_THREADS);
    } else {
        for (var width = 1u; width < ROW_THREADS; width *= 2u) { // unrolled
            let left = from_left(upto[UNIT_GROUPS - 1u], thread, width);
            if ((thread & width) != 0u) {
                for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
                    upto[g] = then(left, upto[g]);
                }
            }
        }
    }
    unit.before[0] = previous(upto[UNIT_GROUPS - 1u], thread, ROW_THREADS);
    for (var g = 1u; g < UNIT_GROUPS; g++) { // unrolled
        unit.before[g] = upto[g - 1u];
    }
    if (thread % ROW_THREADS == ROW_THREADS - 1u) {
        row_totals[unit_of(thread, r) / ROW_THREADS] = upto[UNIT_GROUPS - 1u];
    }
    return unit;
}

/// The total of the chunk, for every thread: tiles by a tree over neighbours.
fn chunk_total(thread: u32) -> Acc {
    var total = padding();
    if (thread < CHUNK_TILES) {
        total = tile_totals[thread];
    }
    let upto = scan_across(total, thread, CHUNK_TILES);
    return from_thread(upto, thread, CHUNK_TILES - 1u);
}

/// Writes the chunk. `tile_carries` hold what comes into each tile.
fn finish_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    workgroupBarrier();
    if (thread < CHUNK_ROWS) {
        row_carries[thread] = then(tile_carries[thread / ROWS], row_carries[thread]);
    }
    workgroupBarrier();
    for (var r = 0u; r < UNITS; r++) { // unrolled
        let number = unit_of(thread, r);
        let first = (chunk - parameters.first_chunk) * CHUNK + number * UNIT;
        let starts = chunk == 0u && number == 0u;
        store_unit(first, with_carry((*held)[r], row_carries[number / ROW_THREADS], starts));
    }
}

/// A unit with what comes into its row in front.
fn with_carry(scanned: Unit, row_carry: Acc, starts: bool) -> Unit {
    var unit = scanned;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        let carry = then(row_carry, unit.before[g]);
        if (INCLUSIVE == 1u) {
            for (var k = 0u; k < 4u; k++) { // unrolled
                unit.items[i + k] = then(carry, unit.items[i + k]);
            }
        } else {
            for (var k = 3u; k > 0u; k--) { // unrolled
                unit.items[i + k] = then(carry, unit.items[i + k - 1u]);
            }
            unit.items[i] = carry;
        }
    }
    if (starts && INCLUSIVE == 0u && (parameters.flags & 1u) == 0u) {
        unit.items[0] = identity();
    }
    return unit;
}

/// What comes into the first window.
fn start_value() -> Acc {
    if ((parameters.flags & 1u) != 0u) {
        return init();
    }
    return padding();
}

/// The items from number `first` of the scan on; padding behind the end.
fn load_unit(first: u32) -> Unit {
    var unit: Unit;
    if (ALIGNED == 1u && first + UNIT <= parameters.items) {
        var at = first;
        if (REVERSE == 1u) {
            at = parameters.items - first - UNIT;
        }
        for (var a = 0u; a < UNIT / ACCESS_ITEMS; a++) { // unrolled
            var items = unpack(read_access((parameters.start + at) / ACCESS_ITEMS + a));
            for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
                const number = a * ACCESS_ITEMS + v;
                const k = REVERSE * (UNIT - 1u - number) + (1u - REVERSE) * number;
                unit.items[k] = enter(items[v], 0u);
            }
        }
        return unit;
    }
    for (var k = 0u; k < UNIT; k++) { // unrolled
        var value = padding();
        if (first + k < parameters.items) {
            let at = parameters.start + place(first + k);
            var items = unpack(read_access(at / ACCESS_ITEMS));
            value = enter(items[at % ACCESS_ITEMS], 0u);
        }
        unit.items[k] = value;
    }
    return unit;
}

/// Writes a unit to the items from number `first` of the scan on, as far as there are any.
fn store_unit(first: u32, unit: Unit) {
    if (OUT_ALIGNED == 1u && first + UNIT <= parameters.items) {
        var at = first;
        if (REVERSE == 1u) {
            at = parameters.items - first - UNIT;
        }
        for (var a = 0u; a < UNIT / OUT_ACCESS_ITEMS; a++) { // unrolled
            var items: array<Stored, OUT_ACCESS_ITEMS>;
            for (var v = 0u; v < OUT_ACCESS_ITEMS; v++) { // unrolled
                const number = a * OUT_ACCESS_ITEMS + v;
                const k = REVERSE * (UNIT - 1u - number) + (1u - REVERSE) * number;
                items[v] = stored(unit.items[k]);
            }
            write_access((parameters.out_start + at) / OUT_ACCESS_ITEMS + a, pack(items));
        }
        return;
    }
    for (var k = 0u; k < UNIT; k++) { // unrolled
        if (first + k < parameters.items) {
            write_item(parameters.out_start + place(first + k), stored(unit.items[k]));
        }
    }
}
