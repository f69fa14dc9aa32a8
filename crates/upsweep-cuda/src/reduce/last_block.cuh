// Every workgroup publishes its value; one more of them, the last, has no items, and folds all values in order as they come. It
// alone waits, a bounded number of looks, and all others run beside it, whether they began before it, as they do, or not. No
// ticket and no fence: what was published proves itself.

/// The one that folds; an only workgroup has nobody to wait for.
inline bool only_folds() { return gridDim.x > 1 && blockIdx.x + 1 == gridDim.x; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    __shared__ Acc folded[WARPS];
    const u32 workgroups = gridDim.x - 1;
    if (workgroups == 0) {
        if (threadIdx.x == 0) {
            write_result(reduce, total);
        }
        return;
    }
    if (!only_folds()) {
        if (threadIdx.x == 0) {
            publish(&reduce.state->published[blockIdx.x], total, mark);
        }
        return;
    }
    // Every warp takes a run of neighbouring values, a power of two, 32 at a time; lane k keeps those of turn k.
    u32 run = SUBGROUP;
    while (run * WARPS < workgroups) {
        run *= 2;
    }
    Acc kept = padding();
#pragma unroll 1
    for (u32 turn = 0; turn * SUBGROUP < run; turn += AT_ONCE) {
        const u32 first = warp * run + turn * SUBGROUP + lane;
        const u32 end = min(warp * run + run, workgroups);
        Published looked[AT_ONCE];
        bool misses = true;
        for (u32 look = 0; look < LOOKS && misses; ++look) {
            misses = false;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                const u32 slot = first + k * SUBGROUP;
                if (slot < end && (look == 0 || !is_there(looked[k], mark))) {
                    looked[k] = look_at(&reduce.state->published[slot]);
                }
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                misses = misses || first + k * SUBGROUP < end && !is_there(looked[k], mark);
            }
            misses = __any_sync(ALL_LANES, misses);
        }
        if (misses) {
            *reduce.state->in_vain = 1;
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            if ((turn + k) * SUBGROUP < run) {
                const Acc value = first + k * SUBGROUP < end ? acc_in(looked[k]) : padding();
                kept = chosen(kept, fold_lanes<SUBGROUP>(value), lane == turn + k);
            }
        }
    }
    kept = fold_lanes<SUBGROUP>(kept);
    if (lane == 0) {
        folded[warp] = kept;
    }
    __syncthreads();
    if (warp == 0) {
        const Acc all = fold_neighbours<WARPS>(folded, lane);
        if (lane == 0) {
            write_result(reduce, all);
            end_run(reduce.state, mark, workgroups);
        }
    }
}
