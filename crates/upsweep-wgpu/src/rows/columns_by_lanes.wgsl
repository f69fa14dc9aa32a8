// How a column is folded whose operator commutes.

/// Where in a tile the item of a line is.
fn place_of(slice: u32, k: u32, line: u32) -> u32 {
    let lane = (reverseBits(k) >> ((32u - LOG_LANES) % 32u)) & (SLICE_LANES - 1u);
    return line * TILE_LANES + lane * SLICES + slice;
}

/// The value of a lane: that of its lines, one after another.
fn fold_lines(lines: Lines) -> Values {
    var value = lines[0];
    for (var l = 1u; l < LINES; l++) { // unrolled
        for (var v = 0u; v < WIDTH; v++) { // unrolled
            value[v] = combine(value[v], lines[l][v]);
        }
    }
    return value;
}

/// How many slices apart those are that are folded in a step.
fn distance_of_slices(step: u32) -> u32 {
    return SLICES / 2u / step;
}
