// UNITS rows of one line each.

fn run_scan_rows(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let first = workgroup * (TEAMS * UNITS) + thread / TEAM;
    var held: array<Held, UNITS>;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = min(first + k * TEAMS, parameters.count - 1u);
        held[k] = read_lines(offsets_of_row(row).x, 0u, 0u, thread % TEAM);
    }
    let item = place_of(0u, 0u, thread % TEAM);
    for (var k = 0u; k < UNITS; k++) { // unrolled
        let row = first + k * TEAMS;
        var own: OfLine;
        for (var a = 0u; a < ACCESSES; a++) { // unrolled
            own[a] = held[k][a];
        }
        let at = take_group(own, item);
        let line = scan_line(at[3], into_row(), thread);
        if (row < parameters.count) {
            write_group(parameters.out_start + offsets_of_row(row).y, item, at, line.into);
        }
    }
}
