// A scan in a single pass over memory, without a chain: 2n of traffic.
//
// Workgroups stay, and take one chunk after another. Each publishes the chunk's total, and nothing else. It keeps what
// came into the window of its last chunk, and folds the totals of all chunks since, in their order, window by window.
// So nobody waits for what others have folded.
//
// A workgroup takes its chunks in the order of its tickets: whoever it waits for has begun. Every wait is bounded, and
// one that is too long sets the state's fault word.
//
// Source: our own, after the order of docs/summation.md.

/// What comes into window `known`, of the subgroup that looks.
var<private> carry: Acc;
var<private> known: u32;

fn run_scan(workgroup: u32, thread: u32) {
    // The grid is folded, and may be a little larger than the work.
    if (workgroup >= parameters.workgroups) {
        return;
    }
    var ticket = take_ticket(thread);
    known = parameters.first_chunk / CHUNKS_OF_WINDOW;
    carry = start_value();
    if (known > 0u) {
        carry = find(parameters.prefixes + known).acc;
    }
    // Each turn takes a ticket, so that there are no more turns than chunks.
    for (var turn = 0u; turn < parameters.dispatch_chunks && ticket < parameters.dispatch_chunks; turn++) {
        let chunk = parameters.first_chunk + ticket;
        var held: Held;
        scan_chunk(chunk, thread, &held);
        if (thread < SUBGROUP) {
            let total = scanned_tiles().total;
            if (lane == 0u) {
                publish(slot_of(chunk), total);
            }
            fold_since(chunk);
        }
        workgroupBarrier();
        finish_chunk(chunk, thread, &held);
        ticket = take_ticket(thread);
    }
    end_tickets(ticket == parameters.dispatch_chunks + parameters.workgroups - 1u, thread);
}

/// Fills `tile_carries`.
fn fold_since(chunk: u32) {
    let window = chunk / CHUNKS_OF_WINDOW;
    while (known < window) {
        let to = min(window, known + WINDOWS_SEEN);
        var seen: Found;
        var misses = true;
        for (var look = 0u; look < LOOKS && misses; look++) {
            seen = total_seen(look_at_windows(known));
            misses = holds_for_any(!seen.found && is_within(0u, to - known));
        }
        let folded = fold_windows(carry, seen.acc, 0u, to - known);
        if (misses || !folded.found) {
            atomicStore(&state[FAULT], 1u);
        }
        carry = folded.acc;
        known = to;
    }
    var own: OwnFound;
    var misses = true;
    for (var look = 0u; look < LOOKS && misses; look++) {
        own = own_totals(look_at_own(chunk), chunk);
        misses = holds_for_any(!own.found);
    }
    if (misses) {
        atomicStore(&state[FAULT], 1u);
    }
    let next = carry_tiles(chunk, carry, own.totals);
    // The next launch begins with what comes into its first window.
    let is_last = chunk + 1u == parameters.first_chunk + parameters.dispatch_chunks;
    let ends_window = chunk % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1u;
    if (is_last && ends_window && owns_last_slot()) {
        publish(parameters.prefixes + window + 1u, next);
    }
}
