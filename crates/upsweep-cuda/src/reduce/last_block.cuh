// Every workgroup publishes its value; one more of them, the last, has no items, and folds all values in order as they come. It
// alone waits, a bounded number of looks, and all others run beside it, whether they began before it, as they do, or not. No
// ticket and no fence: what was published proves itself.

/// The one that folds; an only workgroup has nobody to wait for.
inline bool only_folds(const Reduce& reduce) {
    return workgroups_of(reduce) > 1 && blockIdx.x + 1 == workgroups_of(reduce);
}

inline u32 most_workgroups(const Reduce& reduce) {
    const u32 others = workgroups_with_slots(reduce);
    return others > 1 ? others + 1 : 1;
}

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    const u32 workgroups = workgroups_of(reduce) - 1;
    if (workgroups == 0) {
        if (threadIdx.x == 0) {
            write_result(reduce, total);
        }
        return;
    }
    if (!only_folds(reduce)) {
        if (threadIdx.x == 0) {
            publish(&reduce.state->published[blockIdx.x], total, mark);
        }
        return;
    }
    fold_published(reduce, workgroups, warp, lane, mark);
}
