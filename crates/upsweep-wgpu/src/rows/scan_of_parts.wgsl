// Parts of rows, whose totals are there, and what comes into each window.

/// The tiles in front of a part in its window, and what comes into the window: of WIDTH rows from `row` on.
fn in_front_of_part(row: u32, part: u32, tiles: ptr<function, Tree>, into: ptr<function, Values>) -> u32 {
    let window = part / PARTS_OF_WINDOW;
    for (var v = 0u; v < WIDTH; v++) { // unrolled
        if (window == 0u) {
            (*into)[v] = into_row();
        } else {
            (*into)[v] = part_at(parameters.parts_behind + window * parameters.count + row + v);
        }
    }
    let first = window * PARTS_OF_WINDOW;
    for (var p = first; p < part; p++) {
        var values: Values;
        for (var v = 0u; v < WIDTH; v++) { // unrolled
            values[v] = part_in_front(row + v, p);
        }
        push_at(tiles, values, (p - first) * TILES, LOG_TILES);
    }
    return (part - first) * TILES;
}

/// Tiles of a part.
fn tiles_of_part(part: u32) -> u32 {
    return min(tiles_of_row() - part * TILES, TILES);
}
