// A scan in a single pass over memory by a workgroup for each chunk that looks back by itself: 2n of traffic.
//
// Workgroups take numbers in the order in which they begin, so that they wait only for others that began before them. A chunk's
// total is published at once; what comes into windows is published too, and folding begins at the newest window of which that
// is known. Totals are folded in the same order in any case, so that nothing can be seen of who was first.
//
// Every wait is bounded. With FALLBACK, a workgroup that has waited too long finds a missing total out for itself; so this ends
// on devices too that do not promise that workgroups go on. Without, it says that it has waited in vain.
//
// Source: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016); the fallback: T. Smith,
// R. Levien, J. Owens, Decoupled Fallback (2025); with totals in a fixed order.

constexpr u32 NONE = 0xffffffffu;

/// What workgroups have besides in shared memory.
struct Looking {
    u32 number, mark;
    /// The chunk whose total does not come, and the totals of its rows.
    u32 missing;
    Acc totals[WARPS];
    Heads heads;
};

/// Publishes the total of a chunk. One that is to seem asleep waits until another has found it out.
inline void publish_total(const Scan& scan, u32 mark, u32 number, Acc total) {
    Published* slot = scan.published() + number;
    for (u32 look = 0; number == STALLED && look < LOOKS && !is_there(look_at(slot), mark); ++look) {}
    publish(slot, total, mark);
    // Before anything is written: whoever finds a chunk overwritten finds its total too.
    __threadfence();
}

/// The first chunk from `from` on, in front of `number`, whose total does not come; NONE if all are there.
inline u32 missing_total(const Scan& scan, u32 mark, u32 from, u32 number, u32 lane) {
    for (u32 first = from; first < number; first += SUBGROUP) {
        const Published* asked = scan.published() + min(first + lane, number - 1);
        u32 absent = ALL_LANES;
        for (u32 look = 0; look < LOOKS_BEFORE_FALLBACK && absent; ++look) {
            absent = __ballot_sync(ALL_LANES, !is_there(look_at(asked), mark));
        }
        if (absent) {
            return first + __ffs(absent) - 1;
        }
    }
    return NONE;
}

/// Finds out another chunk's total, of which nothing is kept, and publishes it.
inline void make_up_for(const Scan& scan, u32 run, u32 number, Thread thread, Acc* totals, Heads& heads) {
    const Chunk chunk(scan, number);
    heads.find(scan, number);
    Acc total = padding();
#pragma unroll 1
    for (u32 r = 0; r < ROWS; ++r) {
        const u32 row = thread.warp * ROWS + r;
        Group group = ALIGNED && chunk.is_whole() ? chunk.staged(row, thread.lane) : chunk.loaded(row, thread.lane);
        const u64 at = chunk.number_of(row, thread.lane);
        mark(scan, at, cuts_of(scan, heads, at), group);
        total = chosen(total, fold_lanes<SUBGROUP>(total_of(group), thread.lane), thread.lane % ROWS == r);
    }
    const Acc rows = fold_lanes<ROWS>(total, thread.lane);
    if (thread.lane == 0) {
        totals[thread.warp] = rows;
    }
    __syncthreads();
    if (thread.warp == 0) {
        const Acc all = total_left(totals, thread.lane);
        // A chunk in place may have been overwritten since it was read, but then its total is published.
        __threadfence();
        if (thread.lane == 0 && !is_there(look_at(scan.published() + number), run)) {
            publish(scan.published() + number, all, run);
        }
    }
}

/// Says what comes into the tiles of a chunk, or in `missing` whose total does not come. For the lanes of one warp.
inline void look_back(const Scan& scan, Shared& shared, Looking& looking, u32 lane) {
    const u32 mark = looking.mark, number = looking.number, window = number / CHUNKS_OF_WINDOW;
    Front front = {start_of(scan), padding()};
    const u32 known = newest_known(scan, mark, window, lane, front.carry) * CHUNKS_OF_WINDOW;
    const u32 missing = FALLBACK ? missing_total(scan, mark, known, number, lane) : NONE;
    if (lane == 0) {
        looking.missing = missing;
    }
    if (missing != NONE) {
        return;
    }
    fold_totals(scan, mark, known, number, lane, front);
    const Acc out = leave_tile_carries(tiles_of(shared.totals, lane), shared.tile_carries, number, lane, front);
    if (lane == 0) {
        if (number % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1 && number != STALLED) {
            publish(scan.published() + scan.chunks + window, out, mark);
        }
        leave(scan, mark, number + 1 == scan.chunks, out, workgroups_of(scan));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) scan(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    __shared__ Shared shared;
    __shared__ Looking looking;
    if (threadIdx.x == 0) {
        // Known before the number is taken: whoever has the last number ends the run.
        looking.mark = mark_of_run(scan.state);
        __threadfence();
        looking.number = atomicAdd(&scan.state->tickets, 1);
    }
    __syncthreads();
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    const u32 number = looking.number, mark = looking.mark;
    const Chunk chunk(scan, number);
    const auto control = [&] {
        if (thread.warp == 0) {
            const Acc total = total_left(shared.totals, thread.lane);
            if (thread.lane == 0) {
                publish_total(scan, mark, number, total);
            }
            __syncwarp();
        }
        // Each turn but the last finds out a total in front.
        for (u32 turn = 0; turn <= number; ++turn) {
            if (thread.warp == 0) {
                look_back(scan, shared, looking, thread.lane);
            }
            if (!FALLBACK) {
                return;
            }
            __syncthreads();
            if (looking.missing == NONE) {
                return;
            }
            make_up_for(scan, mark, looking.missing, thread, looking.totals, looking.heads);
        }
        *scan.state->in_vain = 1;
    };
    if (goes_unchecked(chunk)) {
        scan_chunk<true>(chunk, thread, shared, control);
    } else {
        scan_chunk<false>(chunk, thread, shared, control);
    }
}
