// Totals that one subgroup sees at once: of the chunks of WINDOWS_SEEN windows.

struct Seen {
    /// In round r and slot s, S over the chunks of a window up to chunk r · SLOTS + s.
    upto: array<Slots, LOOK_ROUNDS>,
    /// 1 + number of the last chunk that this thread misses, counted from the first; 0 if it misses none.
    gap: u32,
}

/// Looks for the totals of chunks from `first` on, which begins a window, as far as they come before chunk `end`.
fn see(first: u32, end: u32) -> Seen {
    var seen: Seen;
    var gap = 0u;
    for (var r = 0u; r < LOOK_ROUNDS; r++) { // unrolled
        for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
            let number = r * SLOTS + i * SUBGROUP + lane;
            let found = find(min(first + number, end));
            seen.upto[r][i] = padding();
            if (first + number < end) {
                seen.upto[r][i] = found.acc;
                if (!found.found) {
                    gap = number + 1u;
                }
            }
        }
    }
    seen.gap = gap;
    return seen;
}

/// `carry`, which comes into window `begin`, brought to window `end_window`, both counted from the first that is seen.
fn fold_windows(carry: Acc, seen: Seen, begin: u32, end_window: u32) -> Acc {
    var folded = carry;
    for (var r = 0u; r < LOOK_ROUNDS; r++) { // unrolled
        let upto = scan_slots(seen.upto[r], CHUNKS_OF_WINDOW);
        for (var end = CHUNKS_OF_WINDOW; end <= SLOTS; end += CHUNKS_OF_WINDOW) { // unrolled
            let total = shuffled(upto[(end - 1u) / SUBGROUP], (end - 1u) % SUBGROUP);
            let window = (r * SLOTS + end) / CHUNKS_OF_WINDOW - 1u;
            if (begin <= window && window < end_window) {
                folded = then(folded, total);
            }
        }
    }
    return folded;
}

/// The totals of the chunks of this chunk's window that come before it, in the slots of their last tiles.
struct Own {
    totals: Slots,
    /// 1 + number in the window of the last chunk that this thread misses; 0 if it misses none.
    gap: u32,
}

fn see_own(chunk: u32) -> Own {
    let own = chunk % CHUNKS_OF_WINDOW;
    var seen: Own;
    var gap = 0u;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        let slot = i * SUBGROUP + lane;
        let found = find(min(chunk - own + slot / CHUNK_TILES, chunk));
        seen.totals[i] = padding();
        if (is_total_before(slot, own)) {
            seen.totals[i] = found.acc;
            if (!found.found) {
                gap = slot / CHUNK_TILES + 1u;
            }
        }
    }
    seen.gap = gap;
    return seen;
}
