// What comes into a chunk: the fold of the totals of all chunks in front of it, window by window in their order.

/// What comes into a lane's group from those before it in its row, `total` being that of its own.
inline Acc before_in_row(Acc total, u32 lane) { return previous(scan_lanes<SUBGROUP>(total, lane), lane); }

/// The prefixes of a row's items, `carry` coming into the row.
inline Group scan_row(Group group, Acc carry, u32 lane) {
    group = scan_group(group);
    return prefixes(group, then(carry, before_in_row(scanned_total(group), lane)));
}

/// What comes into this warp's rows, lane k having that of row k. `upto` is S over them.
inline Acc carries_of_rows(const Acc* totals, const Acc* tile_carries, Acc upto, u32 warp, u32 lane) {
    const u32 own = warp % TILE_WARPS;
    const Acc* tile = totals + (warp - own);
    // S over the tile's warps as far as this one: the left half's total in front as often as it is in a right half.
    Acc before = padding();
#pragma unroll
    for (u32 half = 1; half < TILE_WARPS; half *= 2) {
        if (own & half) {
            const u32 first = own & ~(2 * half - 1);
            const Acc left = half == 1 ? tile[first] : then(tile[first], tile[first + 1]);
            upto = then(left, upto);
            before = own & (half - 1) ? then(left, before) : left;
        }
    }
    return then(tile_carries[warp / TILE_WARPS], chosen(previous(upto, lane), before, lane == 0));
}

/// What is in front of a chunk: `carry` comes into its window, and lane k of a warp has the total of the window's chunk k if that
/// is in front too, else padding.
struct Front {
    Acc carry, totals;
};

inline Acc start_of(const Scan& scan) { return scan.has_init ? init(scan.init) : padding(); }

/// Folds windows to what comes into the one behind them. Of every 32 chunks from `from` on that are in front of `window`, each lane
/// has a total; of others, padding.
__forceinline__ Acc fold_windows(Acc carry, Acc (&totals)[TOTALS_OF_LANE], u32 from, u32 window, u32 lane) {
    if constexpr (EXACT && COMMUTES) {
        // Where neither grouping nor order can be seen, the shortest way.
#pragma unroll
        for (u32 k = 1; k < TOTALS_OF_LANE; ++k) {
            totals[0] = combine(totals[0], totals[k]);
        }
        return combine(carry, fold_lanes<SUBGROUP>(totals[0], lane));
    } else {
#pragma unroll
        for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
            totals[k] = fold_lanes<EXACT ? SUBGROUP : CHUNKS_OF_WINDOW>(totals[k], lane);
        }
        // Windows in turn, so that nobody sees how many there were at a time.
#pragma unroll
        for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
            const u32 first = from + k * SUBGROUP;
#pragma unroll(STAGED ? 4 : 1)
            for (u32 w = 0; w < (EXACT ? 1 : SUBGROUP) && first + w < window; w += CHUNKS_OF_WINDOW) {
                carry = then(carry, shuffled(totals[k], w));
            }
        }
        return carry;
    }
}

/// Takes the totals of chunk `from`, with which a window begins, and of all behind it that are in front of `chunk` into `front`.
/// Waits for them.
inline void fold_totals(const Scan& scan, u32 mark, u32 from, u32 chunk, u32 lane, Front& front) {
    const Published* published = scan.published();
    const u32 window = chunk - chunk % CHUNKS_OF_WINDOW;
    // Those of the chunk's own window come with the last ones in front of it.
    bool is_last = false;
    for (; !is_last; from += TOTALS_OF_LANE * SUBGROUP) {
        is_last = window <= from + TOTALS_OF_LANE * SUBGROUP;
        const auto asks = [&](u32 k) { return from + k * SUBGROUP + lane < window; };
        const bool asks_own = is_last && window + lane < chunk;
        // All that is needed is asked for at once, and what was missing again.
        Published looked[TOTALS_OF_LANE], own;
        bool misses = true;
        for (u32 look = 0; look < LOOKS && misses; ++look) {
#pragma unroll
            for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
                if (asks(k) && (look == 0 || !is_there(looked[k], mark))) {
                    looked[k] = look_at(published + from + k * SUBGROUP + lane);
                }
            }
            if (asks_own && (look == 0 || !is_there(own, mark))) {
                own = look_at(published + window + lane);
            }
            misses = asks_own && !is_there(own, mark);
#pragma unroll
            for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
                misses = misses || (asks(k) && !is_there(looked[k], mark));
            }
            misses = __any_sync(ALL_LANES, misses);
        }
        if (misses) {
            *scan.state->in_vain = 1;
        }
        Acc totals[TOTALS_OF_LANE];
#pragma unroll
        for (u32 k = 0; k < TOTALS_OF_LANE; ++k) {
            totals[k] = asks(k) ? acc_in(looked[k]) : padding();
        }
        front.carry = fold_windows(front.carry, totals, from, window, lane);
        front.totals = asks_own ? acc_in(own) : padding();
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
    if constexpr (EXACT) {
        // Where grouping cannot be seen, the shortest way.
        const Acc carry = then(front.carry, fold_lanes<SUBGROUP>(front.totals, lane));
        const Acc into = then(carry, previous(tiles.upto, lane));
        if (lane < CHUNK_TILES) {
            tile_carries[lane] = into;
        }
        return then(carry, shuffled(tiles.upto, CHUNK_TILES - 1));
    } else {
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
}

/// One of so many controllers has looked its last. Whoever has the last chunk has seen that all others began, says what comes
/// behind a last window that is whole, for a scan that goes on from there, and ends the run; but the last to leave does, if what
/// was published is to be forgotten then, and of several arrays, since whoever has the last chunk has looked at one of them only.
inline void leave(const Scan& scan, u32 mark, bool has_last, Acc out, u32 controllers) {
    if (has_last) {
        hand_to_host(scan.state, out);
    }
    if (BATCHED || mark == LAST_MARK ? atomicAdd(&scan.state->finished, 1) + 1 == controllers : has_last) {
        end_run(scan.state, mark, BATCHED ? scan.batch.arrays * scan.slots() : scan.slots());
    }
}
