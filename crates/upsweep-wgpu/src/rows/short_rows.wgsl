// The values of UNITS rows of one tile each: neighbouring teams of a subgroup have neighbouring rows.

/// Threads whose rows follow one another.
const NEIGHBOURS = min(max(SUBGROUP, TEAM), THREADS);
const TEAMS_OF_NEIGHBOURS = NEIGHBOURS / TEAM;

fn run_reduce_rows(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let neighbours = workgroup * (THREADS / NEIGHBOURS) + thread / NEIGHBOURS;
    let first = neighbours * (UNITS * TEAMS_OF_NEIGHBOURS) + thread % NEIGHBOURS / TEAM;
    var held: array<Held, UNITS>;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = min(first + k * TEAMS_OF_NEIGHBOURS, parameters.count - 1u);
        held[k] = read_lines(offsets_of_row(row).x, 0u, 0u, thread % TEAM);
    }
    var tiles: array<Folded, UNITS>;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        var folded: Folded;
        clear_folded(&folded);
        add_lines(&folded, held[k], 0u, 0u, thread);
        tiles[k] = folded;
    }
    let found = fold_tiles(&tiles, thread);
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = first + (found.first + k) * TEAMS_OF_NEIGHBOURS;
        if (k < LEFT && found.writes && row < parameters.count) {
            leave_part(row, 0u, found.values[min(k, LEFT - 1u)]);
        }
    }
}
