// A scan in three launches: 4n of traffic.
//
//     local       scans every chunk by itself, writes it, and leaves its total
//     spine       one workgroup: what comes into every window
//     propagate   reads what was written, puts the carry in front, and writes it again
//
// The carry meets items that are finished sums, not groups, so this is for operators whose grouping cannot be seen.

fn run_local(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.dispatch_chunks) {
        return;
    }
    let chunk = parameters.first_chunk + workgroup;
    var held: Held;
    scan_chunk(chunk, thread, &held);
    if (thread < SUBGROUP) {
        let total = scanned_tiles().total;
        if (lane == 0u) {
            hand_on(chunk, total);
        }
        var totals: Slots;
        for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
            totals[i] = padding();
        }
        carry_tiles(chunk, padding(), totals);
    }
    workgroupBarrier();
    finish_chunk(chunk, thread, &held);
}

fn run_propagate(workgroup: u32, thread: u32) {
    if (workgroup < parameters.dispatch_chunks) {
        let chunk = parameters.first_chunk + workgroup;
        let first = chunk - chunk % CHUNKS_OF_WINDOW;
        var total = padding();
        if (first + thread < chunk) {
            total = handed(first + thread);
        }
        let upto = scan_across(total, thread, CHUNKS_OF_WINDOW);
        let before = from_thread(upto, thread, CHUNKS_OF_WINDOW - 1u);
        let carry = then(handed(parameters.prefixes + chunk / CHUNKS_OF_WINDOW), before);
        for (var r = 0u; r < UNITS; r++) { // unrolled
            let number = unit_of(thread, r);
            let at = (chunk - parameters.first_chunk) * CHUNK + number * UNIT;
            var unit = load_unit(at);
            for (var k = 0u; k < UNIT; k++) { // unrolled
                unit.items[k] = then(carry, unit.items[k]);
            }
            if (INCLUSIVE == 0u && chunk == 0u && number == 0u && (parameters.flags & 1u) == 0u) {
                unit.items[0] = identity();
            }
            if (OUT_ALIGNED == 1u && is_whole(chunk)) {
                store_unit(at, unit);
            } else {
                store_items(at, unit);
            }
        }
    }
}
