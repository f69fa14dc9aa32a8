// Every workgroup publishes its value; a second launch, of one workgroup, folds all of them. Nobody waits for anybody.

inline u32 most_workgroups(const Reduce& reduce) { return workgroups_with_slots(reduce); }

inline bool only_folds(const Reduce&) { return false; }

inline void finish(const Reduce& reduce, Acc total, u32 warp, u32 lane, u32 mark) {
    if (threadIdx.x == 0) {
        publish(&reduce.state->published[blockIdx.x], total, mark);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fold(const Reduce launched) {
    const auto& reduce = sized(launched);
    take_given(reduce.inputs);
    fold_published(reduce, workgroups_with_slots(reduce), number_of_warp(), threadIdx.x % SUBGROUP, mark_of_run(reduce.state));
}
