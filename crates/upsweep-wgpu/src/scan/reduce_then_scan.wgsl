// A scan in three launches: 3n of traffic, and no workgroup waits for another.
//
//     upsweep     reads, and leaves the total of every chunk
//     spine       one workgroup: what comes into every window
//     downsweep   reads again, scans, writes
//
// Source: M. Harris, S. Sengupta, J. Owens, Parallel Prefix Sum (Scan) with CUDA (2007).

var<workgroup> window_totals: array<Acc, THREADS>;

fn run_upsweep(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.dispatch_chunks) {
        return;
    }
    let chunk = parameters.first_chunk + workgroup;
    let total = total_of_chunk(chunk, thread);
    if (thread == 0u) {
        hand_on(chunk, total);
    }
}

fn run_spine(workgroup: u32, thread: u32) {
    var carry = start_value();
    let windows = (parameters.chunks + CHUNKS_OF_WINDOW - 1u) / CHUNKS_OF_WINDOW;
    // The next totals are on their way while these are folded.
    var next = window_total(thread);
    // Also what comes behind the last window, for whoever goes on there.
    for (var first = 0u; first <= windows; first += THREADS) {
        let total = next;
        next = window_total(first + THREADS + thread);
        var before: Acc;
        if (LOOSE == 1u) {
            let upto = scan_across(total, thread, THREADS);
            before = then(carry, previous(upto, thread, THREADS));
            carry = then(carry, from_thread(upto, thread, THREADS - 1u));
        } else {
            workgroupBarrier();
            window_totals[thread] = total;
            workgroupBarrier();
            if (thread < SUBGROUP) {
                carry = fold_in_turn(carry);
            }
            workgroupBarrier();
            before = window_totals[thread];
        }
        if (first + thread <= windows) {
            hand_on(parameters.prefixes + first + thread, before);
        }
    }
}

/// A window's chunks by a tree over neighbours.
fn window_total(window: u32) -> Acc {
    var totals: array<Acc, CHUNKS_OF_WINDOW>;
    for (var k = 0u; k < CHUNKS_OF_WINDOW; k++) { // unrolled
        totals[k] = padding();
        if (window * CHUNKS_OF_WINDOW + k < parameters.chunks) {
            totals[k] = handed(window * CHUNKS_OF_WINDOW + k);
        }
    }
    for (var width = 1u; width < CHUNKS_OF_WINDOW; width *= 2u) { // unrolled
        for (var k = 0u; k < CHUNKS_OF_WINDOW; k += 2u * width) { // unrolled
            totals[k] = then(totals[k], totals[k + width]);
        }
    }
    return totals[0];
}

/// Replaces every window's total by what comes into it, one after another, and gives what comes into the next. One
/// subgroup does that, each thread holding a total.
fn fold_in_turn(start: Acc) -> Acc {
    var carry = start;
    for (var first = 0u; first < THREADS; first += SUBGROUP) {
        let total = window_totals[first + lane];
        var before = carry;
        for (var k = 0u; k < SUBGROUP; k++) { // unrolled
            if (lane == k) {
                before = carry;
            }
            carry = then(carry, shuffled(total, k));
        }
        window_totals[first + lane] = before;
    }
    return carry;
}

fn run_downsweep(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.dispatch_chunks) {
        return;
    }
    // From the end backwards: what was read last is likely to be in a cache still.
    let chunk = parameters.first_chunk + parameters.dispatch_chunks - 1u - workgroup;
    var held: Held;
    scan_chunk(chunk, thread, &held);
    if (thread < SUBGROUP) {
        find_carries(chunk);
    }
    workgroupBarrier();
    finish_chunk(chunk, thread, &held);
}

/// Fills `tile_carries` from what upsweep and spine have left.
fn find_carries(chunk: u32) {
    let own = chunk % CHUNKS_OF_WINDOW;
    var totals: Slots;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        let slot = i * SUBGROUP + lane;
        totals[i] = padding();
        if (is_total_before(slot, own)) {
            totals[i] = handed(chunk - own + slot / CHUNK_TILES);
        }
    }
    carry_tiles(chunk, handed(parameters.prefixes + chunk / CHUNKS_OF_WINDOW), totals);
}
