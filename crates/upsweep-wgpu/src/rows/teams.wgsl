// Threads lie along rows: a team of them, a power of two, takes a row, or a part of one.
//
//     a line of a row     │ member 0 │ member 1 │ …    an access each, or several
//
// Of rows that are no longer than a tile a team takes UNITS, whose accesses are all on their way at once: `short_rows.wgsl`. Of longer
// ones it takes a part: `long_rows.wgsl`. How a tile is folded is in `by_lanes.wgsl` or `in_order.wgsl`.
//
// No device says that a team is within a subgroup: members further apart than SUBGROUP exchange values through shared memory. So all
// threads of a workgroup take the same steps, and those that have nothing to do repeat the last row.

const TEAMS = THREADS / TEAM;

/// Accesses that are on their way at once.
alias Held = array<Access, ACCESSES_HELD>;

/// Reads lines of a tile from `line` on. Its first item is number `first` of the row, which lies at `begin`. Behind the last item there
/// is nothing, and looking at the last again costs nothing.
fn read_lines(begin: u32, first: u32, line: u32, member: u32) -> Held {
    let last = parameters.items - VECTOR;
    var held: Held;
    for (var k = 0u; k < ACCESSES_HELD; k++) { // unrolled
        let item = min(first + place_of(line + k / ACCESSES, k % ACCESSES, member), last);
        held[k] = fetch_at(begin + offsets_of_item(item).x);
    }
    return held;
}
