// The value of a part of a row: TILES tiles, one after another.

fn run_reduce_rows(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let first_unit = workgroup * TEAMS;
    let last_unit = parameters.count * parameters.parts_left - 1u;
    let own_unit = first_unit + thread / TEAM;
    let unit = min(own_unit, last_unit);
    let part = unit / parameters.count;
    let row = unit % parameters.count;
    let begin = offsets_of_row(row).x;
    let tiles = tiles_of_row();
    // A workgroup's first team has no fewer tiles than others.
    let most = min(tiles - first_unit / parameters.count * TILES, TILES);
    var of_part: Tree;
    var count = 0u;
    for (var t = 0u; t < most; t++) {
        let tile = part * TILES + t;
        let first = min(tile, tiles - 1u) * TILE_ITEMS;
        var folded: Folded;
        clear_folded(&folded);
        for (var line = 0u; line < LINES; line += LINES_HELD) {
            add_lines(&folded, read_lines(begin, first, line, thread % TEAM), first, line, thread);
        }
        var own = array<Folded, 1>(folded);
        let value = fold_tiles(&own, thread).values[0];
        if (tile < tiles) {
            push(&of_part, Values(value), count);
            count++;
        }
    }
    if (own_unit == unit && thread % TEAM == 0u) {
        leave_part(row, part, total(&of_part, count)[0]);
    }
}
