// What comes into a chunk: the fold of the totals of all chunks in front of it, window by window in their order.
//
// Slots of what is published: the totals of all chunks; what comes into each window but the first.

inline u64 slots_of(const Scan& scan) { return u64(scan.chunks) + scan.chunks / CHUNKS_OF_WINDOW; }

/// What is in front of a chunk: `carry` comes into its window, and lane k of a warp has the total of the window's chunk k.
struct Front {
    Acc carry, totals;
};

inline Acc start_of(const Scan& scan) { return scan.has_init ? init(scan.init[0], scan.init[1]) : padding(); }

/// Takes the totals of chunk `from` and of those behind it into `front`, TOTALS_OF_LANE · 32 of them at most and none that is not
/// in front of `chunk`. Waits for them.
inline void fold_totals(const Scan& scan, u32 mark, u32 from, u32 chunk, u32 lane, Front& front) {
    const Published* published = scan.state->published;
    const u32 window = chunk - chunk % CHUNKS_OF_WINDOW;
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
            if (first < window) {
                const Acc folded = fold_lanes<CHUNKS_OF_WINDOW>(total, lane);
#pragma unroll
                for (u32 w = 0; w < SUBGROUP; w += CHUNKS_OF_WINDOW) {
                    front.carry = chosen(front.carry, then(front.carry, shuffled(folded, w)), first + w < window);
                }
            }
            if (window - first < SUBGROUP) {
                front.totals = shuffled(total, window - first + lane % CHUNKS_OF_WINDOW);
            }
        }
    }
}

/// S over a chunk's tiles, lane k having that of tile k; found while others are waited for.
struct Tiles {
    Acc upto;
};

/// The tiles of a chunk whose warps have these totals.
inline Tiles tiles_of(const Acc* totals, u32 lane) {
    const Acc warps = fold_lanes<TILE_WARPS>(lane < WARPS ? totals[lane] : padding(), lane);
    return {scan_lanes<CHUNK_TILES>(shuffled(warps, lane * TILE_WARPS % SUBGROUP), lane)};
}

/// Says what comes into each tile of a chunk, and gives what comes out of its last one.
inline Acc leave_tile_carries(Tiles tiles, Acc* tile_carries, u32 chunk, u32 lane, Front front) {
    const u32 own = chunk % CHUNKS_OF_WINDOW;
    // S over the window's tiles as far as this chunk's: those of the chunk with the left half's total in front as often as
    // the chunk is in a right half.
    Acc upto = tiles.upto;
#pragma unroll
    for (u32 half = 1; half < CHUNKS_OF_WINDOW; half *= 2) {
        const Acc left = shuffled(front.totals, (own & ~(2 * half - 1)) + half - 1);
        upto = chosen(upto, then(left, upto), own & half);
        const Acc neighbour = shuffled(front.totals, (lane & ~(2 * half - 1)) + half - 1);
        front.totals = chosen(front.totals, then(neighbour, front.totals), lane & half);
    }
    const Acc all = shuffled(front.totals, own - 1);
    const Acc into = chosen(previous(upto, lane), all, lane == 0 && own > 0);
    if (lane < CHUNK_TILES) {
        tile_carries[lane] = then(front.carry, into);
    }
    return then(front.carry, shuffled(upto, CHUNK_TILES - 1));
}

/// One of so many controllers has looked its last. Whoever has the last chunk has seen that all others began, says what comes
/// behind a last window that is whole, for a scan that goes on from there, and ends the run; but the last to leave does, if what
/// was published is to be forgotten then.
inline void leave(const Scan& scan, u32 mark, bool has_last, Acc out, u32 controllers) {
    if (has_last) {
        scan.state->total = result_bits(out);
    }
    if (mark == LAST_MARK ? atomicAdd(&scan.state->finished, 1) + 1 == controllers : has_last) {
        end_run(scan.state, mark, slots_of(scan));
    }
}
