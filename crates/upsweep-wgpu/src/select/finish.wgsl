// Where selected items go: one behind another, from the beginning or behind what others have left. Partitioned, those that are not selected
// follow behind all of them.
//
// Items go to neighbours in shared memory first, of STAGED_UNITS units of each thread at a time, and from there in whole accesses of the
// workgroup's subgroups.

var<workgroup> staged: array<Stored, STAGED_ITEMS>;

/// Writes the chunk's items, once all threads know that `tile_carries` hold what comes into each tile.
fn finish_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    for (var r = 0u; r < UNITS; r += STAGED_UNITS) { // unrolled
        let first = selected_in_front(r);
        let selected = selected_in_front(r + STAGED_UNITS) - first;
        for (var s = 0u; s < STAGED_UNITS; s++) { // unrolled
            let number = unit_of(thread, r + s);
            let at = first_of(chunk) + number * UNIT;
            let row = number / ROW_THREADS;
            let unit = (*held)[r + s];
            var to = tile_carries[row / ROWS] + rows_before[row] + unit.before - first;
            // Others lie behind all that are selected.
            var other = selected + (number - unit_of(0u, r)) * UNIT - to;
            for (var k = 0u; k < UNIT; k++) { // unrolled
                let is_selected = extractBits(unit.selected, k, 1u);
                if (is_selected == 1u || (PARTITIONS == 1u && at + k < parameters.items)) {
                    staged[select(other, to, is_selected == 1u)] = stored(unit.items[k]);
                }
                to += is_selected;
                other += 1u - is_selected;
            }
        }
        workgroupBarrier();
        let place = parameters.out_start + first_place() + first;
        for (var i = thread; i < selected; i += THREADS) {
            write_item(place + i, staged[i]);
        }
        if (PARTITIONS == 1u) {
            let begin = first_of(chunk) + unit_of(0u, r) * UNIT;
            let items = min(parameters.items - min(begin, parameters.items), STAGED_ITEMS);
            // So many that are not selected are in front of these.
            let others = border() + begin - first;
            for (var i = thread; i < items - selected; i += THREADS) {
                write_item(parameters.out_start + others + i, staged[selected + i]);
            }
        }
        workgroupBarrier();
    }
    leave_count(chunk, thread);
}
