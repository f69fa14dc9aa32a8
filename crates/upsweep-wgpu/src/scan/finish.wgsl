// How a chunk that was scanned is written.

/// Writes the chunk, once all threads know that `tile_carries` hold what comes into each tile.
fn finish_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    if (EMITS == 1u) {
        for (var r = 0u; r < UNITS; r++) { // unrolled
            let at = unit_of(thread, r) * UNIT;
            emit(finished(chunk, thread, r, (*held)[r]), first_of(chunk) + at, at);
        }
        emit_empty(chunk, thread);
    } else if (OUT_ALIGNED == 1u && is_whole(chunk)) {
        for (var r = 0u; r < UNITS; r++) { // unrolled
            store_unit(first_of(chunk) + unit_of(thread, r) * UNIT, finished(chunk, thread, r, (*held)[r]));
        }
    } else {
        for (var r = 0u; r < UNITS; r++) { // unrolled
            store_items(first_of(chunk) + unit_of(thread, r) * UNIT, finished(chunk, thread, r, (*held)[r]));
        }
    }
}

/// A thread's unit r with all that comes before it.
fn finished(chunk: u32, thread: u32, r: u32, unit: Unit) -> Unit {
    let row = unit_of(thread, r) / ROW_THREADS;
    let carry = then(tile_carries[row / ROWS], rows_before[row]);
    let scanned = with_carry(unit, carry, r == 0u && thread == 0u && chunk == 0u);
    if (SEGMENTED == 1u) {
        return cut(scanned);
    }
    return scanned;
}
