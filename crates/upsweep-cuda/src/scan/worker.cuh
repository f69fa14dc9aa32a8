// What a warp does with its rows of a chunk, which it holds in registers: `held.cuh`.

/// What it has in shared memory for itself.
using OfWarp = Exchange;

struct Worker {
    Group rows[ROWS];
    Marks marks;
    /// S over the rows, lane k having that of row k.
    Acc upto;
    /// What comes before a lane's groups in their rows.
    Acc before[ROWS];

    Worker() : upto(padding()) {}

    /// Finds out where segments begin in the rows, and leaves their total.
    __forceinline__ void leave_total(const Chunk& chunk, bool, const Heads& heads, OfWarp&, Acc* totals_of_warps, u32 warp, u32 lane) {
        find_cuts(chunk.scan, heads, chunk.number_of(warp * ROWS, 0), lane, marks);
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            mark(chunk.scan, chunk.number_of(warp * ROWS + r, lane), marks.of_row[r], rows[r]);
        }
        Acc totals[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            totals[r] = total_of(rows[r]);
        }
        upto = scan_lanes<ROWS>(fold_rows(totals, lane), lane);
        if (lane == ROWS - 1) {
            totals_of_warps[warp] = upto;
        }
    }

    /// Scans the rows.
    __forceinline__ void scan(OfWarp&, u32 lane) {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = scan_group(rows[r]);
            before[r] = before_in_row(rows[r].at[GROUP - 1], lane);
        }
    }

    /// Writes the rows, into which `carries` come.
    __forceinline__ void store(const Chunk& chunk, bool is_whole, Acc carries, OfWarp& exchange, u32 warp, u32 lane) const {
        Kept kept;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            Group scanned = prefixes(rows[r], then(shuffled(carries, r), before[r]));
            cut(chunk.scan, marks.of_row[r], scanned);
            if (EMITS) {
                emit(chunk.scan, chunk.number_of(warp * ROWS + r, lane), scanned, marks.of_row[r]);
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
};
