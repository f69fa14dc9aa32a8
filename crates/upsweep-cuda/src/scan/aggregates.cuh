// A scan in a single pass over memory, by workgroups that stay: 2n of traffic, and nobody waits for what others have folded.
//
// Workgroup b of G takes chunks b, b + G, b + 2G, … The copy engine brings them into shared memory, STAGES of them ahead.
// Of each chunk its total alone is published, before the LAG chunks in front of it are finished; what comes into a chunk is
// the fold of all totals since this workgroup's last, in their order, window by window. So whose turn it was cannot be seen.
//
//   workers      WARPS warps, ROWS rows of the chunk each: its total as soon as it is there, and LAG chunks later, when it
//                is known what comes in, the scan itself, out of shared memory
//   publisher    folds the workers' totals to the chunk's
//   controller   folds the totals of all other chunks, and says what comes into each tile
//   loader       keeps the copy engine busy
//
// All workgroups must run at once, so the launch is cooperative. Every wait for another is bounded.
//
// Source: our own. The hand-over of totals: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled
// Look-back (2016), without its chain of prefixes.

static_assert(STAGES > LAG, "a chunk is there while others wait");

constexpr u32 PUBLISHER = WARPS, CONTROLLER = WARPS + 1, LOADER = WARPS + 2;
constexpr u32 THREADS = SUBGROUP * (WARPS + 3);

struct Shared {
    /// The chunk is there; all are done with it; its warps' totals are there; what comes into its tiles is.
    Barrier full[STAGES], empty[STAGES], totals_known[STAGES], carries_known[STAGES];
    Acc totals[STAGES][WARPS];
    Acc tile_carries[STAGES][CHUNK_TILES];
};

/// What a workgroup does.
struct Work {
    const Scan& scan;
    Shared& shared;
    InMemory* stages;
    /// Chunks of this workgroup, and the number of the one that it takes at its turn `turn`.
    u32 turns;
    u32 lane;

    u32 chunk_at(u32 turn) const { return blockIdx.x + turn * gridDim.x; }
    /// Where a chunk is staged, and which of two phases its barriers are in.
    static u32 stage_of(u32 turn) { return turn % STAGES; }
    static u32 parity_of(u32 turn) { return turn / STAGES & 1; }
    Chunk chunk(u32 turn) const { return Chunk(scan, stages + stage_of(turn) * CHUNK, chunk_at(turn)); }

    /// Copies chunks into the stages as they come free. One thread.
    void load(u32 turn, u32 end) const {
        for (; turn < end; ++turn) {
            const u32 stage = stage_of(turn);
            if (turn >= STAGES) {
                wait(&shared.empty[stage], parity_of(turn) ^ 1);
            }
            const Chunk chunk = this->chunk(turn);
            if (chunk.is_whole()) {
                const InMemory* from = scan.input + (REVERSE ? scan.items - chunk.first - CHUNK : chunk.first);
                arrive_with_bytes(&shared.full[stage], CHUNK * sizeof(InMemory));
                begin_copy(stages + stage * CHUNK, from, CHUNK * sizeof(InMemory), &shared.full[stage]);
            } else {
                // What is not whole, workers read for themselves.
                arrive(&shared.full[stage]);
            }
        }
    }

    /// Publishes the totals of chunks: warps by a tree.
    void publish_totals(u32 mark) const {
        for (u32 turn = 0; turn < turns; ++turn) {
            const u32 stage = stage_of(turn);
            wait(&shared.totals_known[stage], parity_of(turn));
            Acc total = lane < WARPS ? shared.totals[stage][lane] : padding();
            __syncwarp();
            if (lane == 0) {
                arrive(&shared.empty[stage]);
            }
            total = fold_lanes<WARPS>(total, lane);
            if (lane == 0) {
                publish(&scan.state->published[chunk_at(turn)], total, mark);
            }
        }
    }

    /// Says what comes into the tiles of chunks: `carries.cuh`.
    void find_carries(u32 mark) const;
    void fold_totals(u32 mark, u32 from, u32 chunk, u32 window, Acc& carry, Acc& before) const;
    void find_tile_carries(u32 stage, u32 chunk, Acc carry, Acc before) const;

    /// Finds the totals of a warp's rows, and scans them when it is known what comes in.
    void scan_rows(u32 warp) const {
        // S over this warp's rows of the chunks that wait, the oldest first, lane k having that of row k.
        Acc waiting[LAG];
        for (u32 turn = 0; turn < turns + LAG; ++turn) {
            Acc rows = padding();
            if (turn < turns) {
                wait(&shared.full[stage_of(turn)], parity_of(turn));
                rows = leave_total(turn, warp);
            }
            if (turn >= LAG) {
                wait(&shared.carries_known[stage_of(turn - LAG)], parity_of(turn - LAG));
                finish(turn - LAG, warp, waiting[0]);
            }
#pragma unroll
            for (u32 k = 0; k + 1 < LAG; ++k) {
                waiting[k] = waiting[k + 1];
            }
            waiting[LAG - 1] = rows;
        }
    }

    /// Leaves the total of this warp's rows, and gives S over them.
    Acc leave_total(u32 turn, u32 warp) const {
        const Chunk chunk = this->chunk(turn);
        // Lane k's is the total of row k, and of lanes behind the same again.
        Acc total = padding();
        if (chunk.is_whole()) {
            Acc totals[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                totals[r] = total_of(chunk.staged(warp * ROWS + r, lane));
            }
            total = fold_rows(totals, lane);
        } else {
#pragma unroll 1
            for (u32 r = 0; r < ROWS; ++r) {
                const Acc row = fold_lanes<SUBGROUP>(total_of(chunk.loaded(warp * ROWS + r, lane)), lane);
                total = chosen(total, row, lane % ROWS == r);
            }
        }
        const Acc rows = scan_lanes<ROWS>(total, lane);
        if (lane == ROWS - 1) {
            shared.totals[stage_of(turn)][warp] = rows;
            arrive(&shared.totals_known[stage_of(turn)]);
        }
        __syncwarp();
        return rows;
    }

    /// Writes this warp's rows, and frees the stage.
    void finish(u32 turn, u32 warp, Acc rows) const {
        const Chunk chunk = this->chunk(turn);
        const u32 stage = stage_of(turn);
        const Acc carries = carries_of_rows(shared.totals[stage], shared.tile_carries[stage], rows, warp, lane);
        if (OUT_ALIGNED && chunk.is_whole()) {
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                const u32 row = warp * ROWS + r;
                chunk.store(row, lane, scan_row(chunk.staged(row, lane), shuffled(carries, r), lane));
            }
        } else {
#pragma unroll 1
            for (u32 r = 0; r < ROWS; ++r) {
                const u32 row = warp * ROWS + r;
                chunk.store_items(row, lane, scan_row(chunk.loaded(row, lane), shuffled(carries, r), lane));
            }
        }
        __syncwarp();
        if (lane == 0) {
            arrive(&shared.empty[stage]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan(const Scan scan) {
    extern __shared__ __align__(128) u8 staged[];
    __shared__ Shared shared;
    const u32 warp = threadIdx.x / SUBGROUP, lane = threadIdx.x % SUBGROUP;
    const u32 turns = (scan.chunks - blockIdx.x + gridDim.x - 1) / gridDim.x;
    const Work work{scan, shared, (InMemory*)staged, turns, lane};
    if (warp == LOADER && lane == 0) {
        for (u32 stage = 0; stage < STAGES; ++stage) {
            prepare(&shared.full[stage], 1);
            prepare(&shared.empty[stage], WARPS + 1);
            prepare(&shared.totals_known[stage], WARPS);
            prepare(&shared.carries_known[stage], 1);
        }
        end_preparing();
        // On their way before anyone else is ready.
        work.load(0, min(STAGES, turns));
    }
    __syncthreads();
    if (warp == LOADER) {
        if (lane == 0) {
            work.load(STAGES, turns);
        }
    } else if (warp == CONTROLLER) {
        const u32 mark = mark_of_run(scan.state);
        work.find_carries(mark);
        if (lane == 0 && atomicAdd(&scan.state->finished, 1) + 1 == gridDim.x) {
            end_run(scan.state, mark, scan.chunks);
        }
    } else if (warp == PUBLISHER) {
        work.publish_totals(mark_of_run(scan.state));
    } else {
        work.scan_rows(warp);
    }
}
