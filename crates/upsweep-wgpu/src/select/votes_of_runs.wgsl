// What is in front of a unit in its row, by votes of the 32 threads that have the row, as in `votes.wgsl`.

fn found_in_row(unit: Unit, thread: u32) -> InRow {
    // A subgroup may have several rows, of 32 threads each.
    let own = lane % 32u;
    let in_front = (1u << own) - 1u;
    var row = InRow(Acc(0u, own * UNIT), Acc(0u, 32u * UNIT));
    for (var k = 0u; k < UNIT; k++) { // unrolled
        let lanes = subgroupBallot(extractBits(unit.selected, k, 1u) == 1u)[lane / 32u];
        row.before = Acc(row.before.begun_0 + countOneBits(lanes & in_front), since(row.before.items_0, lanes & in_front, own, k));
        row.total = Acc(row.total.begun_0 + countOneBits(lanes), since(row.total.items_0, lanes, 32u, k));
    }
    return row;
}

/// Items since the last that begins a run: those so far, or fewer since the last of these lanes' items k, up to lane `end`.
fn since(items: u32, lanes: u32, end: u32, k: u32) -> u32 {
    if (lanes == 0u) {
        return items;
    }
    return min(items, (end - firstLeadingBit(lanes)) * UNIT - k);
}
