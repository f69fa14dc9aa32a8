// How many items are selected.

fn total_in_line(unit: Unit) -> Acc {
    return Acc(countOneBits(unit.selected));
}

/// How many items are selected in front of the units of this number; or, behind the last, up to the end of the chunk.
fn selected_in_front(r: u32) -> u32 {
    let row = unit_of(0u, r) / ROW_THREADS;
    if (row < CHUNK_ROWS) {
        return tile_carries[row / ROWS] + rows_before[row];
    }
    return tile_carries[CHUNK_TILES - 1u] + tile_totals[CHUNK_TILES - 1u];
}

/// The place of the first item that is selected.
fn first_place() -> u32 {
    if (BEGINS_BEHIND == 1u) {
        return border();
    }
    return 0u;
}

/// The last chunk says how many there are, with those in front of the first.
fn leave_count(chunk: u32, thread: u32) {
    if (COUNTS == 1u && chunk + 1u == parameters.chunks && thread == 0u) {
        write_count(first_place() + selected_in_front(UNITS));
    }
}
