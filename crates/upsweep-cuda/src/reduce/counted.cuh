// An atomic collects the values of workgroups, another counts them; whoever completes the count takes the total out.

inline bool only_folds() { return false; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    if (threadIdx.x > 0) {
        return;
    }
    Total* const collected = (Total*)reduce.state->total;
    add_to_total(collected, total);
    // What was added is there before it is counted, and is seen by whoever counts last.
    __threadfence();
    if (atomicAdd(&reduce.state->finished, 1) + 1 < gridDim.x) {
        return;
    }
    __threadfence();
    const Acc all = unordered(atomicExch(collected, ordered(padding())));
    reduce.state->finished = 0;
    write_result(reduce, all);
}
