// Folds items in the order of docs/summation.md: tiles of 16 rows by 128 lanes, lanes down their rows, lanes
// in halves, an aligned binary tree over tiles.
//
//                  lane 0          …          lane 127
//     row 0      │ member 0 │ member 1 │ … │ member TEAM-1 │   a team of threads takes one tile;
//     …          │    ↓     │    ↓     │   │      ↓        │   each member holds LANES lanes
//     row 15     │          │          │   │               │
//                  halves: 64, 32, … 1       → the tile's value
//
// A workgroup holds TEAMS teams. Each takes a run of `tiles_per_team` neighbouring tiles, a power of two; member k
// keeps the value of its team's tile k, so that the values of a workgroup's threads, in order, are the leaves of the
// tree. What is not there is padding. `prepare` and `finish` do before and after that
// what the strategy says.
//
// The operator must commute. Source of the shape: docs/decisions/2026-11-21-order-of-summation.md.

struct Parameters {
    /// Items in this binding that belong to the array, and items in front of them that do not.
    items: u32,
    start: u32,
    tiles_per_team: u32,
    /// Number of this dispatch's first workgroup, and of workgroups in all dispatches.
    first_workgroup: u32,
    workgroups: u32,
    /// 1: a start value; 2: no items at all.
    flags: u32,
    /// Position of this binding's first item in the whole array.
    index_low: u32,
    index_high: u32,
    /// 0, which the compiler does not know.
    zero: u32,
    /// Bytes in the binding in front of the result.
    result_start: u32,
    /// The same as `start`, of each of several arrays.
    starts: vec4<u32>,
    /// Words of the start value.
    init: array<vec4<u32>, INIT_VECTORS>,
}

@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(3) var<uniform> parameters: Parameters;

fn run_reduce(workgroup: u32, thread: u32) {
    let tiles = (parameters.items + TILE - 1u) / TILE;
    let first_tile = workgroup * TEAMS * parameters.tiles_per_team;
    // The grid is folded, and may be a little larger than the work.
    if (first_tile >= max(tiles, 1u)) {
        return;
    }
    prepare();
    let member = thread % TEAM;
    let team_tile = first_tile + (thread / TEAM) * parameters.tiles_per_team;
    var lanes: Lanes;
    clear(&lanes);
    var kept = padding();
    for (var k = 0u; k < parameters.tiles_per_team; k++) {
        add_tile(team_tile + k, member, &lanes);
        if (EXACT == 0u) {
            let value = fold_lanes(lanes, thread);
            clear(&lanes);
            if (member == k) {
                kept = value;
            }
        }
    }
    if (EXACT == 1u) {
        // Where grouping cannot be seen, lanes go on from tile to tile, and each thread has a value of its own.
        kept = lanes[0];
        for (var p = 1u; p < LANES; p++) { // unrolled
            kept = combine(kept, lanes[p]);
        }
    }
    let total = fold_neighbours(kept, thread);
    finish(total, parameters.first_workgroup + workgroup, thread);
}

/// What a thread has of the lanes.
alias Lanes = array<Acc, LANES>;

fn clear(lanes: ptr<function, Lanes>) {
    for (var p = 0u; p < LANES; p++) { // unrolled
        (*lanes)[p] = padding();
    }
}

/// Folds a tile's rows into the lanes of a member.
fn add_tile(tile: u32, member: u32, lanes: ptr<function, Lanes>) {
    let first = tile * TILE;
    if (EXACT_TAIL == 1u && ALIGNED == 1u && first + TILE <= parameters.items) {
        for (var row = 0u; row < ROWS; row += ROWS_HELD) {
            var held: array<Access, ACCESSES_HELD>;
            for (var k = 0u; k < ACCESSES_HELD; k++) { // unrolled
                let at = first + (row + k / ACCESSES) * ROW + lane_of(member, k % ACCESSES);
                held[k] = fetch(at);
            }
            for (var k = 0u; k < ACCESSES_HELD; k++) { // unrolled
                let at = first + (row + k / ACCESSES) * ROW + lane_of(member, k % ACCESSES);
                var items = unpack(held[k]);
                for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
                    const lane = (k % ACCESSES) * ACCESS_ITEMS + v;
                    (*lanes)[lane] = combine((*lanes)[lane], enter(items[v], at + v));
                }
            }
        }
    } else if (first < parameters.items) {
        for (var row = 0u; row < ROWS; row++) {
            for (var a = 0u; a < ACCESSES; a++) { // unrolled
                let at = first + row * ROW + lane_of(member, a);
                var items = load_items(at);
                for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
                    if (at + v < parameters.items) {
                        const lane = a * ACCESS_ITEMS + v;
                        (*lanes)[lane] = combine((*lanes)[lane], enter(items[v], at + v));
                    }
                }
            }
        }
    }
}

/// The first lane of a member's access `a`.
fn lane_of(member: u32, a: u32) -> u32 {
    if (BLOCKED == 1u) {
        return (member * ACCESSES + a) * ACCESS_ITEMS;
    }
    return (a * TEAM + member) * ACCESS_ITEMS;
}

/// The items from `at` on, those behind the end being anything.
fn load_items(at: u32) -> array<Item, ACCESS_ITEMS> {
    if (ALIGNED == 1u) {
        return unpack(fetch(at));
    }
    let first = parameters.start + at;
    var items: array<Item, ACCESS_ITEMS>;
    for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
        var held = unpack(read_access((first + v) / ACCESS_ITEMS));
        items[v] = held[(first + v) % ACCESS_ITEMS];
    }
    return items;
}

/// The value of a tile, for every member of its team: lanes in halves, first those that lie in one thread, then those of
/// threads, then again those in one.
fn fold_lanes(all: Lanes, thread: u32) -> Acc {
    var lanes = all;
    for (var half = LANES / 2u; half >= ACROSS; half /= 2u) { // unrolled
        for (var p = 0u; p < half; p++) { // unrolled
            lanes[p] = combine(lanes[p], lanes[p + half]);
        }
    }
    for (var p = 0u; p < ACROSS; p++) { // unrolled
        lanes[p] = fold_halves(lanes[p], thread);
    }
    for (var half = ACROSS / 2u; half > 0u; half /= 2u) { // unrolled
        for (var p = 0u; p < half; p++) { // unrolled
            lanes[p] = combine(lanes[p], lanes[p + half]);
        }
    }
    return lanes[0];
}

/// Writes the result, thread 0 alone.
fn write_result(total: Acc) {
    var value = total;
    if ((parameters.flags & 2u) != 0u) {
        value = identity();
    }
    if ((parameters.flags & 1u) != 0u) {
        value = init();
        if ((parameters.flags & 2u) == 0u) {
            value = combine(value, total);
        }
    }
    let words = result_of(value);
    let at = parameters.result_start / 4u;
    if (RESULT_BITS < 32u) {
        // Its neighbours in the word are the caller's.
        let shift = 8u * (parameters.result_start % 4u);
        let mask = ((1u << (RESULT_BITS % 32u)) - 1u) << shift;
        result[at] = (result[at] & ~mask) | (words[0] << shift);
        return;
    }
    for (var k = 0u; k < RESULT_WORDS; k++) {
        result[at + k] = words[k];
    }
}
