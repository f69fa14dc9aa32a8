// What a workgroup does: the value of its tiles, and then what the strategy says.

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) reduce(const Reduce launched) {
    const auto& reduce = sized(launched);
    if (is_idle(reduce)) {
        return;
    }
    take_given(reduce.inputs);
    __shared__ Acc values[VALUES];
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const u32 team = threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    const u64 first = u64(blockIdx.x) * TILES;
    const u32 mark = mark_of_run(reduce.state);
    Lanes lanes;
    lanes.clear();
#pragma unroll 1
    for (u32 k = 0; k < (only_folds(reduce) ? 0 : TILES_OF_TEAM); ++k) {
        add_tile(reduce, first + k * TEAMS + team, member, lanes);
        if (!EXACT) {
            fold_tile(lanes, values, k * TEAMS, warp, lane);
            lanes.clear();
        }
    }
    if (EXACT) {
        // Where grouping cannot be seen, lanes go on from tile to tile.
        fold_thread(lanes.all(), values, warp, lane);
    }
    const Acc total = fold_values<VALUES>(values, warp, lane);
    finish(reduce, total, warp, lane, mark);
}
