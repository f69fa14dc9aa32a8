// A row has one part.

/// The tiles in front of a part in its window, and what comes into the window: of WIDTH rows from `row` on.
fn in_front_of_part(row: u32, part: u32, tiles: ptr<function, Tree>, into: ptr<function, Values>) -> u32 {
    for (var v = 0u; v < WIDTH; v++) { // unrolled
        (*into)[v] = into_row();
    }
    return 0u;
}

/// Tiles of a part.
fn tiles_of_part(part: u32) -> u32 {
    return tiles_of_row();
}
