// What a warp does with its rows of a chunk, which it holds in registers: `held.cuh`.

/// What it has in shared memory for itself.
using OfWarp = Exchange;

/// What is known of where segments begin.
using Noted = Marks;

/// Finds out where segments begin in the rows.
__forceinline__ void note(const Chunk& chunk, bool, const Heads& heads, Group (&rows)[ROWS], Noted& marks, u32 warp, u32 lane) {
    find_cuts(chunk.scan, heads, chunk.number_of(warp * ROWS, 0), lane, marks);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        mark(chunk.scan, chunk.number_of(warp * ROWS + r, lane), marks.of_row[r], rows[r]);
    }
}

/// Leaves the total of a warp's rows, and gives S over them, lane k having that of row k.
__forceinline__ Acc leave_total(const Group (&rows)[ROWS], const Noted&, Acc (&)[ROWS], OfWarp&, Acc* totals_of_warps, u32 warp,
                                u32 lane) {
    Acc totals[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        totals[r] = total_of(rows[r]);
    }
    const Acc upto = scan_lanes<ROWS>(fold_rows(totals, lane), lane);
    if (lane == ROWS - 1) {
        totals_of_warps[warp] = upto;
    }
    return upto;
}

/// S over the rows: `before` is what comes before each group in its row.
__forceinline__ void scan_rows(Group (&rows)[ROWS], Acc (&before)[ROWS], OfWarp&, u32 lane) {
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        rows[r] = scan_group(rows[r]);
        // Where items are selected, that is found out as they are written.
        before[r] = SELECTS ? padding() : before_in_row(scanned_total(rows[r]), lane);
    }
}

/// Writes the rows of a warp, `before` being what comes before each group in its row, and `carries` what comes into rows.
__forceinline__ void store(const Chunk& chunk, bool is_whole, const Group (&rows)[ROWS], const Acc (&before)[ROWS], Acc carries,
                           const Noted& marks, OfWarp& exchange, u32 warp, u32 lane) {
    Kept kept;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const Acc into = shuffled(carries, r);
        Group scanned = prefixes(rows[r], then(into, before[r]));
        cut(chunk.scan, marks.of_row[r], scanned);
        if (EMITS) {
            emit_row(chunk.scan, chunk.number_of(warp * ROWS + r, lane), scanned, marks.of_row[r], into, exchange, lane);
        } else if (is_whole) {
            chunk.store(warp * ROWS + r, lane, scanned, exchange, kept);
        } else {
            chunk.store_items(warp * ROWS + r, lane, scanned);
        }
    }
    if (warp == 0) {
        chunk.store_start(lane);
    }
}
