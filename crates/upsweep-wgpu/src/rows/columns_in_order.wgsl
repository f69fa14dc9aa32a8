// How a column is folded in order.

/// Where in a tile the item of a line is.
fn place_of(slice: u32, k: u32, line: u32) -> u32 {
    return (slice * SLICE_LANES + k) * LINES + line;
}

/// The value of lines, as a tree of neighbours.
fn fold_lines(all: Lines) -> Values {
    var lines = all;
    for (var apart = 1u; apart < LINES; apart *= 2u) { // unrolled
        for (var l = 0u; l < LINES / 2u / apart; l++) { // unrolled
            for (var v = 0u; v < WIDTH; v++) { // unrolled
                lines[2u * apart * l][v] = then(lines[2u * apart * l][v], lines[2u * apart * l + apart][v]);
            }
        }
    }
    return lines[0];
}

/// How many slices apart those are that are folded in a step.
fn distance_of_slices(step: u32) -> u32 {
    return step;
}
