// A row, or a part of one, line by line.

fn run_scan_rows(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let first_unit = workgroup * TEAMS;
    let own_unit = first_unit + thread / TEAM;
    let unit = min(own_unit, parameters.count * parameters.parts - 1u);
    let part = unit / parameters.count;
    let row = unit % parameters.count;
    let begin = offsets_of_row(row);
    let row_out = parameters.out_start + begin.y;
    let tiles = tiles_of_row();
    var of_window: Tree;
    var into_window: Values;
    var count = in_front_of_part(row, part, &of_window, &into_window);
    // A workgroup's first team has no fewer tiles than others.
    let most = tiles_of_part(first_unit / parameters.count);
    for (var t = 0u; t < most; t++) {
        let tile = part * TILES + t;
        let is_there = own_unit == unit && tile < tiles;
        let first = min(tile, tiles - 1u) * TILE_ITEMS;
        let into_tile = into_member(&of_window, count, into_window);
        var of_tile: Tree;
        for (var line = 0u; line < LINES; line += LINES_HELD) {
            let held = read_lines(begin.x, first, line, thread % TEAM);
            for (var l = 0u; l < LINES_HELD; l++) { // unrolled
                let item = first + place_of(line + l, 0u, thread % TEAM);
                var own: OfLine;
                for (var a = 0u; a < ACCESSES; a++) { // unrolled
                    own[a] = held[l * ACCESSES + a];
                }
                let at = take_group(own, item);
                let into_line = into_member(&of_tile, line + l, into_tile);
                let scanned_line = scan_line(at[3], into_line[0], thread);
                push(&of_tile, Values(scanned_line.total), line + l);
                if (is_there) {
                    write_group(row_out, item, at, scanned_line.into);
                }
            }
        }
        count = behind_tile(&of_window, count, total(&of_tile, LINES), &into_window);
    }
}
