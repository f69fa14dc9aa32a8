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
// T. Smith, R. Levien, J. Owens, Decoupled Fallback (2025); prefixes of whole windows only, so that
// timing cannot be seen: our own.

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
    load_chunk(chunk, thread, &held);
    // The total goes out before the chunk is scanned: others wait for the one, and nobody for the other.
    if (TOTAL_FIRST == 1u) {
        if (IS_FREE == 1u) {
            leave_totals(thread, &held);
        } else {
            leave_row_totals(thread, &held);
        }
        if (thread < SUBGROUP) {
            if (IS_FREE == 1u) {
                publish_total(chunk, total_left());
            } else {
                publish_total(chunk, total_of_rows());
            }
        }
    }
    scan_units(thread, &held, TOTAL_FIRST == 0u || IS_FREE == 1u);
    if (TOTAL_FIRST == 0u && SUBGROUP > 1u && thread < SUBGROUP) {
        publish_total(chunk, total_of_rows());
    }
    scan_tiles(thread);
    if (SUBGROUP == 1u && thread < SUBGROUP) {
        publish_total(chunk, scanned_tiles().total);
    }
    for (var round = 0u; round < ROUNDS; round++) {
        if (thread < SUBGROUP) {
            if (PARKS == 1u) {
                park(thread, &held);
            }
            look_back(chunk);
            if (PARKS == 1u) {
                // From a place that compilers do not know to be the same, lest they keep what is there after all.
                unpark(thread + u32(chunk == NONE), &held);
            }
        }
        workgroupBarrier();
        if (FALLBACK == 0u || missing == NONE) {
            break;
        }
        if (missing != chunk) {
            let total = total_of_chunk(missing, thread);
            // A chunk in place may have been overwritten since it was read, but then its total is published.
            if (thread == 0u && !find(slot_of(missing)).found) {
                publish(slot_of(missing), total);
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

fn publish_total(chunk: u32, total: Acc) {
    if (is_stalled(chunk)) {
        // Until another has found the total out.
        for (var look = 0u; look < LOOKS && !find(slot_of(chunk)).found; look++) {}
    }
    if (lane == 0u) {
        publish(slot_of(chunk), total);
    }
}

/// Fills `tile_carries`; or says in `missing` which chunk's total does not come: its own if it is to look again.
fn look_back(chunk: u32) {
    let window = chunk / CHUNKS_OF_WINDOW;
    let base = window - min(window, WINDOWS_SEEN);
    // A lane looks for what comes into the window behind that of its chunks. What comes into window 0 is known.
    let asked = base + 1u + lane / LANES_OF_WINDOW;
    var tiles: Tiles;
    if (EXACT == 1u) {
        tiles = scanned_tiles();
    }
    var own: OwnFound;
    var prefix: Found;
    var seen: Found;
    // 1 + the lane that knows the newest prefix, and 1 + the number of its window; 0 if none does.
    var knows = 0u;
    var newest = 0u;
    var ready = false;
    for (var look = 0u; look < LOOKS_BACK; look++) {
        let looked = look_at(parameters.prefixes + min(asked, window));
        // What is there is not asked for again: all who wait ask the same few words.
        if (!own.found || (!seen.found && is_within(newest, window - base))) {
            let looked_own = look_at_own(chunk);
            let looked_windows = look_at_windows(base);
            own = own_totals(looked_own, chunk);
            seen = total_seen(looked_windows);
        }
        prefix = found_in(looked);
        knows = last_lane(prefix.found && asked <= window);
        newest = (knows + LANES_OF_WINDOW - 1u) / LANES_OF_WINDOW;
        let misses = !own.found || (!seen.found && is_within(newest, window - base));
        ready = !holds_for_any(misses) && (newest > 0u || base == 0u);
        if (ready) {
            break;
        }
    }
    if (!ready) {
        // Without any prefix there is nobody to make up for but the slow: look again.
        var absent = NONE;
        if (!own.found) {
            absent = last_missing(window * CHUNKS_OF_WINDOW, chunk);
        } else if (!seen.found && is_within(newest, window - base) && (newest > 0u || base == 0u)) {
            let begin = base * CHUNKS_OF_WINDOW + lane * LANE_CHUNKS;
            absent = last_missing(begin, begin + LANE_CHUNKS);
        }
        if (lane + 1u == max(last_lane(absent != NONE), 1u)) {
            missing = select(absent, chunk, absent == NONE);
        }
        return;
    }
    var carry = start_value();
    let known = shuffled(prefix.acc, max(knows, 1u) - 1u);
    if (knows > 0u) {
        carry = known;
    }
    let ends_window = chunk % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1u;
    let folded = fold_windows(carry, seen.acc, newest, window - base);
    let tells = folded.found && ends_window && !is_stalled(chunk);
    carry = folded.acc;
    if (EXACT == 1u) {
        carry = then(carry, fold_slots(own.totals));
        let next = then(carry, tiles.total);
        if (tells && lane == 0u) {
            publish(parameters.prefixes + window + 1u, next);
        }
        for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
            if (i * SUBGROUP + lane < CHUNK_TILES) {
                tile_carries[i * SUBGROUP + lane] = then(carry, tiles.before[i]);
            }
        }
    } else {
        let next = carry_tiles(chunk, carry, own.totals);
        if (tells && owns_last_slot()) {
            publish(parameters.prefixes + window + 1u, next);
        }
    }
    missing = select(chunk, NONE, folded.found);
}

/// The last chunk before `end` from `begin` on, both of one window, whose total is missing; NONE if none is.
fn last_missing(begin: u32, end: u32) -> u32 {
    var absent = NONE;
    for (var chunk = begin; chunk < end; chunk++) {
        if (!find(slot_of(chunk)).found) {
            absent = chunk;
        }
    }
    return absent;
}
