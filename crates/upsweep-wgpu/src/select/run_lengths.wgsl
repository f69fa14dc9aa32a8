// Where runs go: the first item of each, one behind another, and how many items it has. What is scanned is `Runs`: how many runs have begun,
// and how many items the last of them has so far.
//
// The thread that has the first item of a run writes the length of the run in front; the one with the last item of all, that of the last run.
// Items go to neighbours in shared memory first, with their places, of STAGED_UNITS units of each thread at a time; lengths are differences
// of places. Source: our own; a segmented scan (G. Blelloch, 1990) of ones whose values are not written, but their ends.

var<workgroup> staged: array<Stored, STAGED_ITEMS>;
var<workgroup> places: array<u32, STAGED_ITEMS>;

/// Items that are not there count too: nothing is behind them.
fn total_in_line(unit: Unit) -> Acc {
    let last = select(0u, firstLeadingBit(unit.selected), unit.selected != 0u);
    return Acc(countOneBits(unit.selected), UNIT - last);
}

/// What is in front of the units of this number; or, behind the last, in front of the next chunk.
fn in_front_of(r: u32) -> Acc {
    let row = unit_of(0u, r) / ROW_THREADS;
    if (row < CHUNK_ROWS) {
        return then(tile_carries[row / ROWS], rows_before[row]);
    }
    return then(tile_carries[CHUNK_TILES - 1u], tile_totals[CHUNK_TILES - 1u]);
}

/// Writes how many items the last run has that has begun, if one has.
fn end_run_of(begun: u32, items: u32) {
    if (begun > 0u) {
        write_length(begun - 1u, items);
    }
}

/// Writes the runs that begin in a chunk, once all threads know that `tile_carries` hold what comes into each tile.
fn finish_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    for (var r = 0u; r < UNITS; r += STAGED_UNITS) { // unrolled
        let into = in_front_of(r);
        let begun = in_front_of(r + STAGED_UNITS).begun_0 - into.begun_0;
        for (var s = 0u; s < STAGED_UNITS; s++) { // unrolled
            let number = unit_of(thread, r + s);
            let row = number / ROW_THREADS;
            let unit = (*held)[r + s];
            var to = tile_carries[row / ROWS].begun_0 + rows_before[row].begun_0 + unit.before.begun_0 - into.begun_0;
            for (var k = 0u; k < UNIT; k++) { // unrolled
                let begins = extractBits(unit.selected, k, 1u);
                if (begins == 1u) {
                    staged[to] = stored(unit.items[k]);
                    places[to] = number * UNIT + k;
                }
                to += begins;
            }
        }
        workgroupBarrier();
        let place = parameters.out_start + into.begun_0;
        for (var i = thread; i < begun; i += THREADS) {
            write_item(place + i, staged[i]);
            // How long the run in front was, which has ended there.
            var items = places[i] - unit_of(0u, r) * UNIT + into.items_0;
            if (i > 0u) {
                items = places[i] - places[i - 1u];
            }
            end_run_of(into.begun_0 + i, items);
        }
        workgroupBarrier();
    }
    if (chunk + 1u == parameters.chunks && thread == 0u) {
        let all = in_front_of(UNITS);
        // Without those that are not there.
        end_run_of(all.begun_0, all.items_0 - (first_of(chunk) + CHUNK - parameters.items));
        write_count(all.begun_0);
    }
}
