// A scan in a single pass over memory: 2n of traffic.
//
// A workgroup takes a ticket, which is the number of its chunk. It publishes its chunk's total at once. What comes into
// its window it learns from the newest window whose prefix is known and the totals of all chunks since, folded in their
// order, window by window: whichever prefix that was, the bits are the same. The chunk that ends a window publishes the
// prefix of the next. One subgroup looks; the others wait for it once.
//
// Every wait is bounded. With FALLBACK, a workgroup that has waited too long computes the missing total itself; so this
// finishes on devices too that do not promise that workgroups go on. Without, it sets the state's fault word.
//
// Source: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016); the fallback:
// T. Smith, R. Levien, J. Owens, Decoupled Fallback (2025); totals only, so that timing cannot be seen: our own.

const NONE = 0xffffffffu;

/// The chunk whose total does not come; `NONE` once the carries are there.
var<workgroup> missing: u32;

fn run_scan(workgroup: u32, thread: u32) {
    // The grid is folded, and may be a little larger than the work.
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let ticket = take_ticket(thread);
    let chunk = parameters.first_chunk + ticket;
    var held: Held;
    scan_chunk(chunk, thread, &held);
    if (thread < SUBGROUP) {
        publish_total(chunk);
    }
    for (var round = 0u; round < ROUNDS; round++) {
        if (thread < SUBGROUP) {
            look_back(chunk);
        }
        workgroupBarrier();
        if (FALLBACK == 0u || missing == NONE) {
            break;
        }
        if (missing != chunk) {
            let total = total_of_chunk(missing, thread);
            // A chunk in place may have been overwritten since it was read, but then its total is published.
            if (thread == 0u && !find(missing).found) {
                publish(missing, total);
            }
        }
        workgroupBarrier();
    }
    // Also where a device has ended the loops above of its own accord.
    if (missing != NONE && thread == 0u) {
        atomicStore(&state[FAULT], 1u);
    }
    finish_chunk(chunk, thread, &held);
    end_tickets(ticket == parameters.workgroups - 1u, thread);
}

/// Whether this chunk is to seem asleep, to test what others do.
fn is_stalled(chunk: u32) -> bool {
    return (parameters.flags & 4u) != 0u && chunk == parameters.stalled;
}

fn publish_total(chunk: u32) {
    let total = scanned_total();
    if (is_stalled(chunk)) {
        // Until another has found the total out.
        for (var look = 0u; look < LOOKS && !find(chunk).found; look++) {}
    }
    if (owns_last_tile()) {
        publish(chunk, total);
    }
}

/// Fills `tile_carries`; or says in `missing` which chunk's total does not come: its own if it is to look again.
fn look_back(chunk: u32) {
    let window = chunk / CHUNKS_OF_WINDOW;
    let base = window - min(window, WINDOWS_SEEN);
    let first = base * CHUNKS_OF_WINDOW;
    // Lane j looks for what comes into window base + 1 + j. What comes into window 0 is known.
    let asked = base + 1u + lane;
    var own: Own;
    var seen: Seen;
    var prefix: Found;
    var newest = 0u;
    var ready = false;
    for (var look = 0u; look < LOOKS_BACK; look++) {
        own = see_own(chunk);
        prefix = find(parameters.prefixes + min(asked, window));
        seen = see(first, window * CHUNKS_OF_WINDOW);
        let known = select(0u, lane + 1u, prefix.found && asked <= window && lane < WINDOWS_SEEN);
        let all = most(vec3<u32>(own.gap, seen.gap, known));
        own.gap = all.x;
        seen.gap = all.y;
        newest = all.z;
        ready = own.gap == 0u && (newest > 0u || base == 0u) && seen.gap <= newest * CHUNKS_OF_WINDOW;
        if (ready) {
            break;
        }
    }
    if (!ready) {
        // Without any prefix there is nobody to make up for but the slow: look again.
        var culprit = chunk;
        if (own.gap > 0u) {
            culprit = window * CHUNKS_OF_WINDOW + own.gap - 1u;
        } else if (seen.gap > 0u && (newest > 0u || base == 0u)) {
            culprit = first + seen.gap - 1u;
        }
        missing = culprit;
        return;
    }
    var carry = start_value();
    let known = shuffled(prefix.acc, max(newest, 1u) - 1u);
    if (newest > 0u) {
        carry = known;
    }
    carry = fold_windows(carry, seen, newest, window - base);
    let next = carry_tiles(chunk, carry, own.totals);
    let ends_window = chunk % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1u;
    if (ends_window && owns_last_slot() && !is_stalled(chunk)) {
        publish(parameters.prefixes + window + 1u, next);
    }
    missing = NONE;
}
