// How many items of a row are selected, by votes of the 32 threads that have the row: one for each item of a unit, none of which waits for
// another.

fn found_in_row(unit: Unit, thread: u32) -> InRow {
    // A subgroup may have several rows, of 32 threads each.
    let in_front = (1u << (lane % 32u)) - 1u;
    var row = InRow(0u, 0u);
    for (var k = 0u; k < UNIT; k++) { // unrolled
        let lanes = subgroupBallot(extractBits(unit.selected, k, 1u) == 1u)[lane / 32u];
        row.before += countOneBits(lanes & in_front);
        row.total += countOneBits(lanes);
    }
    return row;
}
