// What one launch tells the next: whole words, since launches follow one another. Slots are those of `carries.cuh`.

inline void hand_on(Published* slot, Acc acc) {
    const Words words = words_of(acc);
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        slot->at[k] = words.at[k];
    }
}

inline Acc handed(const Published* slot) {
    Words words;
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        words.at[k] = u32(slot->at[k]);
    }
    return acc_of(words);
}

/// Where what comes into windows is handed on, from window 1 on.
inline Published* into_windows(const Scan& scan) { return scan.published() + scan.chunks; }

/// What is in front of a chunk, once totals of chunks and what comes into windows are there.
inline Front front_of(const Scan& scan, u32 chunk, u32 lane) {
    const u32 window = chunk / CHUNKS_OF_WINDOW, first = window * CHUNKS_OF_WINDOW;
    const Acc carry = window == 0 ? start_of(scan) : handed(into_windows(scan) + window - 1);
    return {carry, lane < chunk - first ? handed(scan.published() + first + lane) : padding()};
}

/// Says what comes into the tiles of a chunk whose warps have left their totals; and behind the last one, for a scan that goes on
/// from there. For the lanes of one warp.
inline void leave_carries(const Scan& scan, u32 chunk, u32 lane, Shared& shared) {
    const Tiles tiles = tiles_of(shared.totals, lane);
    const Acc out = leave_tile_carries(tiles, shared.tile_carries, chunk, lane, front_of(scan, chunk, lane));
    if (lane == 0 && chunk + 1 == scan.chunks) {
        hand_to_host(scan.state, out);
    }
}

/// Scans and writes a chunk, into which comes what was handed on.
inline void scan_handed(const Scan& scan, u32 number, Thread thread, Shared& shared) {
    const Chunk chunk(scan, number);
    const auto control = [&] {
        if (thread.warp == 0) {
            leave_carries(scan, number, thread.lane, shared);
        }
    };
    if (goes_unchecked(chunk)) {
        scan_chunk<true>(chunk, thread, shared, control);
    } else {
        scan_chunk<false>(chunk, thread, shared, control);
    }
}
