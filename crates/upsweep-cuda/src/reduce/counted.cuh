// An atomic collects the values of workgroups, another counts them; whoever completes the count takes the total out.

inline u32 most_workgroups(const Reduce& reduce) { return workgroups_with_slots(reduce); }

inline bool only_folds(const Reduce&) { return false; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    if (threadIdx.x > 0) {
        return;
    }
    Total* const collected = (Total*)reduce.state->total;
    add_to_total(collected, total);
    // What was added is there before it is counted, and is seen by whoever counts last.
    __threadfence();
    if (atomicAdd(&reduce.state->finished, 1) + 1 < workgroups_of(reduce)) {
        return;
    }
    __threadfence();
    const Acc all = unordered(atomicExch(collected, ordered(padding())));
    reduce.state->finished = 0;
    write_result(reduce, all);
}
