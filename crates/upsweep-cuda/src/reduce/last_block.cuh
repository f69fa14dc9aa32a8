// Every workgroup publishes its value; the one of the highest number folds all, in order. It alone waits, a bounded number of
// looks, and all others run beside it, whether they began before it, as they do, or not. No ticket and no fence: what was
// published proves itself.

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    __shared__ Acc folded[WARPS];
    const u32 workgroups = gridDim.x;
    if (workgroups == 1) {
        if (threadIdx.x == 0) {
            write_result(reduce, total);
        }
        return;
    }
    if (threadIdx.x == 0) {
        publish(&reduce.state->published[blockIdx.x], total, mark);
    }
    if (blockIdx.x + 1 < workgroups) {
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
        Published looked[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 slot = warp * run + (turn + k) * SUBGROUP + lane;
            if ((turn + k) * SUBGROUP < run && slot < workgroups) {
                looked[k] = look_at(&reduce.state->published[slot]);
            }
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 slot = warp * run + (turn + k) * SUBGROUP + lane;
            Acc value = padding();
            if ((turn + k) * SUBGROUP < run && slot < workgroups) {
                bool found = is_there(looked[k], mark);
                for (u32 look = 0; look < LOOKS && !found; ++look) {
                    looked[k] = look_at(&reduce.state->published[slot]);
                    found = is_there(looked[k], mark);
                }
                if (!found) {
                    *reduce.state->in_vain = 1;
                }
                value = acc_in(looked[k]);
            }
#pragma unroll
            for (u32 half = 1; half < SUBGROUP; half *= 2) {
                value = combine(value, shuffled_xor(value, half));
            }
            kept = chosen(kept, value, lane == turn + k);
        }
    }
#pragma unroll
    for (u32 half = 1; half < SUBGROUP; half *= 2) {
        kept = combine(kept, shuffled_xor(kept, half));
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
