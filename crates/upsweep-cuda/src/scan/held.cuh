// A scan in a single pass over memory, in which each thread holds its items in registers: 2n of traffic, and the shortest way
// from the first load to the last store. A workgroup has one chunk.
//
//   workers      WARPS warps, ROWS rows of the chunk each: they load them, leave their total, scan their rows meanwhile, and
//                write them when it is known what comes in: `worker.cuh`
//   controller   publishes the chunk's total, folds those in front of it, and says what comes into each tile
//
// Both meet twice: when totals are left, and when what comes into tiles is said. What is done when shows in the branches: in one
// piece of code for each side, the compiler put the scan of rows in front of their totals, for which everybody waits.
//
// LOOKS_BACK is whether there may be more chunks than run at once. If not, the launch is cooperative, and a chunk's number is its
// workgroup's. If there may, workgroups take numbers in the order in which they begin, so that they wait only for others that
// began before them; what comes into windows is published too, and folding begins at the newest window of which that is known.
// Of several arrays (`StridedBatch`) chunks are counted through, and each looks at those of its own array.
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
    OfWarp of_warp[WARPS];
};

/// What a controller knows of its chunk: before it begins, and in the end.
struct Control {
    u32 number, mark;
    Acc out;
};

/// Publishes the chunk's total, and finds out what comes into its tiles.
inline void find_carries(const Scan& scan, Shared& shared, Control& control, u32 lane) {
    const u32 number = control.number, mark = control.mark;
    const Acc total = fold_first<WARPS>(lane < WARPS ? shared.totals[lane] : padding(), lane);
    if (lane == 0 && number + 1 < scan.chunks) {
        publish(scan.published() + number, total, mark);
    }
    const Tiles tiles = tiles_of(shared.totals, lane);
    Front front = {start_of(scan), padding()};
    const u32 window = number / CHUNKS_OF_WINDOW;
    if (!LOOKS_BACK || !find_near(scan, mark, number, lane, front)) {
        const u32 known = LOOKS_BACK ? newest_known(scan, mark, window, lane, front.carry) * CHUNKS_OF_WINDOW : 0;
        fold_totals(scan, mark, known, number, lane, front);
    }
    control.out = leave_tile_carries(tiles, shared.tile_carries, number, lane, front);
}

/// What nobody in this workgroup waits for. One thread.
inline void end(const Scan& scan, const Control& control) {
    const u32 number = control.number, window = number / CHUNKS_OF_WINDOW;
    if (LOOKS_BACK && number % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1) {
        publish(scan.published() + scan.chunks + window, control.out, control.mark);
    }
    leave(scan, control.mark, number + 1 == scan.chunks, control.out, workgroups_of(scan));
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan(const Scan launched) {
    const auto& all = sized(launched);
    if (is_idle(all)) {
        return;
    }
    take_given(all.inputs);
    __shared__ Shared shared;
    __shared__ Heads heads;
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    u32 number = blockIdx.x;
    if (LOOKS_BACK) {
        if (threadIdx.x == 0) {
            shared.number = atomicAdd(&all.state->tickets, 1);
        }
        __syncthreads();
        number = shared.number;
    }
    ScanOfArray scan = array_of(all, number);
    number = all.number_in_array(number);
    const Chunk chunk(scan, number);
    const bool is_whole = chunk.is_whole(), serves = warp == CONTROLLER;
    OfWarp& own = shared.of_warp[serves ? 0 : warp];
    Control control = {number, 0, padding()};
    Group rows[ROWS];
    Noted noted;
    Acc upto = padding(), groups[ROWS];
    if (serves) {
        control.mark = mark_of_run(scan.state);
    } else {
        load(chunk, is_whole, rows, warp, lane);
    }
    heads.find(scan, number);
    if (!serves) {
        note(chunk, is_whole, heads, rows, noted, warp, lane);
        upto = leave_total(rows, noted, groups, own, shared.totals, warp, lane);
    }
    // Totals of workers are known.
    __syncthreads();
    if (serves) {
        find_carries(scan, shared, control, lane);
    } else {
        scan_rows(rows, groups, own, lane);
    }
    // What comes into tiles is.
    __syncthreads();
    if (!serves) {
        const Acc carries = carries_of_rows(shared.totals, shared.tile_carries, upto, warp, lane);
        store(chunk, is_whole, rows, groups, carries, noted, own, warp, lane);
    } else if (lane == 0) {
        end(scan, control);
    }
}
