// Totals that one subgroup sees at once: those of WINDOWS_SEEN windows, LANES_OF_WINDOW neighbouring lanes to a window
// and LANE_CHUNKS neighbouring chunks to a lane.

/// The slot of a chunk's total. What the lanes read at once are neighbours.
fn slot_of(chunk: u32) -> u32 {
    return (chunk % LANE_CHUNKS) * (parameters.prefixes / LANE_CHUNKS) + chunk / LANE_CHUNKS;
}

/// The halves of all slots lie beside one another, so that lanes read neighbours.
fn half_of(slot: u32, half: u32) -> u32 {
    return PUBLISHED + half * ((arrayLength(&state) - PUBLISHED) / (2u * WORDS)) + slot;
}

/// A look at the totals of this lane's chunks, the first window seen being `base`.
alias Seen = array<Looked, LANE_CHUNKS>;

fn look_at_windows(base: u32) -> Seen {
    var seen: Seen;
    for (var k = 0u; k < LANE_CHUNKS; k++) { // unrolled
        // The last windows seen may lie behind this chunk's; they are not used.
        let chunk = min(base * CHUNKS_OF_WINDOW + lane * LANE_CHUNKS, parameters.prefixes - LANE_CHUNKS) + k;
        seen[k] = look_at(slot_of(chunk));
    }
    return seen;
}

/// The total of this lane's chunks, and whether those of all are there.
fn total_seen(seen: Seen) -> Found {
    var totals: array<Acc, LANE_CHUNKS>;
    var found = true;
    for (var k = 0u; k < LANE_CHUNKS; k++) { // unrolled
        let one = found_in(seen[k]);
        totals[k] = one.acc;
        found = found && one.found;
    }
    for (var width = 1u; width < LANE_CHUNKS; width *= 2u) { // unrolled
        for (var k = 0u; k < LANE_CHUNKS; k += 2u * width) { // unrolled
            totals[k] = then(totals[k], totals[k + width]);
        }
    }
    return Found(totals[0], found);
}

/// The windows from `begin` to `end`, counted from the first that is seen, of which this lane sees a part.
fn is_within(begin: u32, end: u32) -> bool {
    return begin * LANES_OF_WINDOW <= lane && lane < end * LANES_OF_WINDOW;
}

/// `carry`, which comes into window `begin`, brought to window `end`, and whether it got there: some devices on a CPU
/// end loops of their own accord. `total` is of this lane's chunks.
fn fold_windows(carry: Acc, total: Acc, begin: u32, end: u32) -> Found {
    var upto = total;
    if (EXACT == 1u) {
        // Where the grouping cannot be seen, a tree over all.
        if (!is_within(begin, end)) {
            upto = padding();
        }
        return Found(then(carry, fold_lanes(upto, SUBGROUP)), true);
    }
    upto = fold_lanes(upto, LANES_OF_WINDOW);
    var folded = carry;
    var window = begin;
    for (; window < end; window += FOLDED_AT_ONCE) {
        var totals: array<Acc, FOLDED_AT_ONCE>;
        for (var k = 0u; k < FOLDED_AT_ONCE; k++) { // unrolled
            totals[k] = shuffled(upto, (window + k) * LANES_OF_WINDOW % SUBGROUP);
        }
        for (var k = 0u; k < FOLDED_AT_ONCE; k++) { // unrolled
            if (window + k < end) {
                folded = then(folded, totals[k]);
            }
        }
    }
    return Found(folded, window >= end);
}

/// A look at the totals of the chunks of this chunk's window that come before it, in the slots of their last tiles.
alias Own = array<Looked, TILE_STEPS>;

fn look_at_own(chunk: u32) -> Own {
    let own = chunk % CHUNKS_OF_WINDOW;
    var looked: Own;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        let before = (i * SUBGROUP + lane) / CHUNK_TILES;
        looked[i] = look_at(slot_of(chunk - own + min(before, own)));
    }
    return looked;
}

struct OwnFound { totals: Slots, found: bool }

fn own_totals(looked: Own, chunk: u32) -> OwnFound {
    var own: OwnFound;
    own.found = true;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        own.totals[i] = padding();
        if (is_total_before(i * SUBGROUP + lane, chunk % CHUNKS_OF_WINDOW)) {
            let one = found_in(looked[i]);
            own.totals[i] = one.acc;
            own.found = own.found && one.found;
        }
    }
    return own;
}
