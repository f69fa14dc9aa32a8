// What one workgroup does with the values that all others have published, or are about to: it folds them in order, by the tree.

inline void fold_published(const Reduce& reduce, u32 workgroups, u32 warp, u32 lane, u32 mark) {
    __shared__ Acc folded[WARPS];
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
            // The host sees this before it sees a result.
            __threadfence_system();
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            if ((turn + k) * SUBGROUP < run) {
                const Acc value = first + k * SUBGROUP < end ? acc_in(looked[k]) : padding();
                kept = chosen(kept, fold_lanes<SUBGROUP>(value), lane == turn + k);
            }
        }
    }
    // Of one turn, lane 0 has all of it.
    if (run > SUBGROUP) {
        kept = fold_lanes<SUBGROUP>(kept);
    }
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
