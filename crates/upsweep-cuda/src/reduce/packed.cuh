// The sum above the count of workgroups, in one word: whoever completes the count has the sum, without a second round trip to
// it. What the sum carries over is lost, as it is to be. For sums of 32 bits.

inline u32 most_workgroups(const Reduce& reduce) { return workgroups_with_slots(reduce); }

inline bool only_folds(const Reduce&) { return false; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    if (threadIdx.x > 0) {
        return;
    }
    const u32 word = words_of(total).at[0];
    const u64 before = atomicAdd(reduce.state->total, u64(word) << 32 | 1);
    if (u32(before) + 1 == workgroups_of(reduce)) {
        reduce.state->total[0] = 0;
        write_result(reduce, acc_of(Words{{u32(before >> 32) + word}}));
    }
}
