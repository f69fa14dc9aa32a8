// Every workgroup publishes its value; a second launch, of one workgroup, folds all of them. Nobody waits for anybody.

inline bool only_folds() { return false; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    if (threadIdx.x == 0) {
        publish(&reduce.state->published[blockIdx.x], total, mark);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fold(const Reduce reduce) {
    take_given(reduce.inputs);
    constexpr u64 CHUNK = u64(TILES) * TILE;
    const u32 workgroups = u32(max((slots_of(reduce) + CHUNK - 1) / CHUNK, u64(1)));
    fold_published(reduce, workgroups, number_of_warp(), threadIdx.x % SUBGROUP, mark_of_run(reduce.state));
}
