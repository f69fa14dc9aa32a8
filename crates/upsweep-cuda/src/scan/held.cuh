// A scan in a single pass over memory, in which each thread holds its items in registers: 2n of traffic, and the shortest way
// from the first load to the last store. A workgroup has one chunk.
//
//   workers      WARPS warps, ROWS rows of the chunk each: they load them, leave their total, scan their rows meanwhile, and
//                write them when it is known what comes in
//   controller   publishes the chunk's total, folds those in front of it, and says what comes into each tile
//
// LOOKS_BACK is whether there may be more chunks than run at once. If not, the launch is cooperative, and a chunk's number is its
// workgroup's. If there may, workgroups take numbers in the order in which they begin, so that they wait only for others that
// began before them; what comes into windows is published too, and folding begins at the newest window of which that is known.
// Totals are folded in the same order in any case, so that nothing can be seen of who was first. Every wait for another is
// bounded.
//
// Source: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016), with totals in a fixed
// order.

constexpr u32 CONTROLLER = WARPS;
constexpr u32 THREADS = SUBGROUP * (WARPS + 1);

struct Shared {
    u32 number;
    Acc totals[WARPS];
    Acc tile_carries[CHUNK_TILES];
    Exchange exchange[WARPS];
};

/// Where workers and controller meet: one side arrives, the other waits.
enum Meeting : u32 { TOTALS_KNOWN = 1, CARRIES_KNOWN = 2 };

inline void arrive_at(Meeting meeting) { asm volatile("bar.arrive %0, %1;" ::"r"(u32(meeting)), "n"(THREADS) : "memory"); }
inline void wait_at(Meeting meeting) { asm volatile("bar.sync %0, %1;" ::"r"(u32(meeting)), "n"(THREADS) : "memory"); }

inline void control(const Scan& scan, Shared& shared, u32 number, u32 lane) {
    const u32 mark = mark_of_run(scan.state);
    const u32 window = number / CHUNKS_OF_WINDOW;
    Front front = {start_of(scan), padding()};
    wait_at(TOTALS_KNOWN);
    const Acc total = fold_lanes<WARPS>(lane < WARPS ? shared.totals[lane] : padding(), lane);
    if (lane == 0 && number + 1 < scan.chunks) {
        publish(scan.state->published + number, total, mark);
    }
    const Tiles tiles = tiles_of(shared.totals, lane);
    u32 from = LOOKS_BACK ? newest_known(scan, mark, window, lane, front.carry) * CHUNKS_OF_WINDOW : 0;
    for (; from < number; from += TOTALS_OF_LANE * SUBGROUP) {
        fold_totals(scan, mark, from, number, lane, front);
    }
    const Acc out = leave_tile_carries(tiles, shared.tile_carries, number, lane, front);
    __syncwarp();
    arrive_at(CARRIES_KNOWN);
    if (lane == 0 && LOOKS_BACK && number % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1) {
        publish(scan.state->published + scan.chunks + window, out, mark);
    }
    if (lane == 0) {
        leave(scan, mark, number + 1 == scan.chunks, out, gridDim.x);
    }
}

/// Loads, scans and writes the rows of a warp, either in whole accesses or item by item.
template <bool WHOLE> inline void work(const Chunk& chunk, Shared& shared, u32 warp, u32 lane) {
    Group rows[ROWS];
    if constexpr (WHOLE && !ALIGNED) {
        InMemory items[ROWS][GROUP];
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            chunk.load(warp * ROWS + r, lane, items[r]);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = Chunk::grouped(items[r], lane, shared.exchange[warp]);
        }
    } else {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = WHOLE ? chunk.staged(warp * ROWS + r, lane) : chunk.loaded(warp * ROWS + r, lane);
        }
    }
    Acc totals[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        totals[r] = total_of(rows[r]);
    }
    const Acc upto = scan_lanes<ROWS>(fold_rows(totals, lane), lane);
    if (lane == ROWS - 1) {
        shared.totals[warp] = upto;
    }
    __syncwarp();
    arrive_at(TOTALS_KNOWN);
    Acc before[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        rows[r] = scan_group(rows[r]);
        before[r] = before_in_row(rows[r].at[GROUP - 1], lane);
    }
    wait_at(CARRIES_KNOWN);
    const Acc carries = carries_of_rows(shared.totals, shared.tile_carries, upto, warp, lane);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const Group scanned = prefixes(rows[r], then(shuffled(carries, r), before[r]));
        if (WHOLE) {
            chunk.store(warp * ROWS + r, lane, scanned, shared.exchange[warp]);
        } else {
            chunk.store_items(warp * ROWS + r, lane, scanned);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan(const Scan scan) {
    __shared__ Shared shared;
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    u32 number = blockIdx.x;
    if (LOOKS_BACK) {
        if (threadIdx.x == 0) {
            shared.number = atomicAdd(&scan.state->tickets, 1);
        }
        __syncthreads();
        number = shared.number;
    }
    const Chunk chunk(scan, number);
    if (warp == CONTROLLER) {
        control(scan, shared, number, lane);
    } else if (chunk.is_whole()) {
        work<true>(chunk, shared, warp, lane);
    } else {
        work<false>(chunk, shared, warp, lane);
    }
}
