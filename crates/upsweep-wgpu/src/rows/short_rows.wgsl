// The values of UNITS rows of one tile each.

fn run_reduce_rows(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let member = thread % TEAM;
    let first = workgroup * (TEAMS * UNITS) + thread / TEAM;
    var held: array<Held, UNITS>;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = min(first + k * TEAMS, parameters.count - 1u);
        held[k] = read_lines(offsets_of_row(row).x, 0u, 0u, member);
    }
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = first + k * TEAMS;
        var folded: Folded;
        clear_folded(&folded);
        add_lines(&folded, held[k], 0u, 0u, thread);
        let value = value_of_tile(&folded, thread);
        if (member == 0u && row < parameters.count) {
            leave_part(row, 0u, value);
        }
    }
}
