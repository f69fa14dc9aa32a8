// What the controller of a workgroup does: it folds the totals of all chunks since its last, window by window in their order, and
// says what comes into each tile.

/// Totals that a lane of the controller has on their way: together as many as an H200 has workgroups of this kind, and a window.
constexpr u32 TOTALS_OF_LANE = 5;

/// Says what comes into the tiles of chunks.
inline void Work::find_carries(u32 mark) const {
    Acc carry = scan.has_init ? init(scan.init[0], scan.init[1]) : padding();
    // `carry` comes into the window of which this is the first chunk.
    u32 known = 0;
    for (u32 turn = 0; turn < turns; ++turn) {
        const u32 stage = stage_of(turn), chunk = chunk_at(turn);
        const u32 own = chunk % CHUNKS_OF_WINDOW, window = chunk - own;
        if (turn == 0) {
            wait(&shared.totals_known[stage], 0);
        }
        Acc before = padding();
        for (u32 from = known; from < chunk; from += TOTALS_OF_LANE * SUBGROUP) {
            fold_totals(mark, from, chunk, window, carry, before);
        }
        known = window;
        wait(&shared.totals_known[stage], parity_of(turn));
        find_tile_carries(stage, chunk, carry, before);
    }
}

/// Brings `carry` on by those of TOTALS_OF_LANE · 32 chunks, `from` the first, that are in front of `window`, and leaves in
/// `before` the totals of those behind, lane k having that of the window's chunk k.
inline void Work::fold_totals(u32 mark, u32 from, u32 chunk, u32 window, Acc& carry, Acc& before) const {
    const Published* published = scan.state->published;
    // All that is needed is asked for at once, and what was missing again.
    Published looked[TOTALS_OF_LANE];
#pragma unroll
    for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
        if (from + k * SUBGROUP + lane < chunk) {
            looked[k] = look_at(published + from + k * SUBGROUP + lane);
        }
    }
    bool misses = true;
    for (u32 look = 0; look < LOOKS && misses; ++look) {
        misses = false;
#pragma unroll
        for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
            if (from + k * SUBGROUP + lane < chunk && !is_there(looked[k], mark)) {
                misses = true;
                looked[k] = look_at(published + from + k * SUBGROUP + lane);
            }
        }
        misses = __any_sync(ALL_LANES, misses);
    }
    if (misses) {
        *scan.state->in_vain = 1;
    }
    // Windows that are whole, in turn; then what there is of this chunk's own.
#pragma unroll
    for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
        const u32 first = from + k * SUBGROUP;
        if (first < chunk) {
            const Acc total = first + lane < chunk ? acc_in(looked[k]) : padding();
            const Acc folded = fold_lanes<CHUNKS_OF_WINDOW>(total, lane);
#pragma unroll
            for (u32 w = 0; w < SUBGROUP; w += CHUNKS_OF_WINDOW) {
                if (first + w < window) {
                    carry = then(carry, shuffled(folded, w));
                }
            }
            if (window - first < SUBGROUP) {
                before = shuffled(total, window - first + lane % CHUNKS_OF_WINDOW);
            }
        }
    }
}

/// `carry` comes into the window of this chunk, and `before` are the totals of the window's chunks.
inline void Work::find_tile_carries(u32 stage, u32 chunk, Acc carry, Acc before) const {
    const u32 own = chunk % CHUNKS_OF_WINDOW;
    Acc warps = lane < WARPS ? shared.totals[stage][lane] : padding();
    warps = fold_lanes<TILE_WARPS>(warps, lane);
    // S over the window's tiles as far as this chunk's: over those of the chunk, with the left half's total in front as
    // often as the chunk is in a right half.
    Acc upto = scan_lanes<CHUNK_TILES>(shuffled(warps, lane * TILE_WARPS % SUBGROUP), lane);
#pragma unroll
    for (u32 half = 1; half < CHUNKS_OF_WINDOW; half *= 2) {
        const Acc left = shuffled(before, (own & ~(2 * half - 1)) + half - 1);
        upto = chosen(upto, then(left, upto), own & half);
        const Acc neighbour = shuffled(before, (lane & ~(2 * half - 1)) + half - 1);
        before = chosen(before, then(neighbour, before), lane & half);
    }
    const Acc all = shuffled(before, own - 1);
    const Acc into = chosen(previous(upto, lane), all, lane == 0 && own > 0);
    if (lane < CHUNK_TILES) {
        shared.tile_carries[stage][lane] = then(carry, into);
    }
    // What comes in behind the last window, if it is whole: a scan of what follows goes on from it.
    if (chunk + 1 == scan.chunks && lane == CHUNK_TILES - 1) {
        scan.state->total = result_bits(then(carry, upto));
    }
    __syncwarp();
    if (lane == 0) {
        arrive(&shared.carries_known[stage]);
    }
}
