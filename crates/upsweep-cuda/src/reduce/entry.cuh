// What a workgroup does: the value of its tiles, and then what the strategy says.

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) reduce(const Reduce reduce) {
    __shared__ Acc values[EXACT ? WARPS : TILES];
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const u32 team = threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    const u64 first = u64(blockIdx.x) * TILES;
    const u32 mark = mark_of_run(reduce.state);
    Lanes lanes;
    lanes.clear();
#pragma unroll 1
    for (u32 k = 0; k < (only_folds() ? 0 : TILES_OF_TEAM); ++k) {
        add_tile(reduce, first + k * TEAMS + team, member, lanes);
        if (!EXACT) {
            const Acc value = fold_tile(lanes, member);
            if (member == 0) {
                values[k * TEAMS + team] = value;
            }
            lanes.clear();
        }
    }
    if (EXACT) {
        // Where grouping cannot be seen, lanes go on from tile to tile.
        Acc own = lanes.at[0][0];
#pragma unroll
        for (u32 k = 1; k < ACCESSES * ACCESS_ITEMS; ++k) {
            own = combine(own, lanes.at[k / ACCESS_ITEMS][k % ACCESS_ITEMS]);
        }
        own = fold_lanes<SUBGROUP>(own);
        if (lane == 0) {
            values[warp] = own;
        }
    }
    __syncthreads();
    Acc total = padding();
    if (warp == 0) {
        total = fold_neighbours<EXACT ? WARPS : TILES>(values, lane);
    }
    finish(reduce, total, warp, lane, mark);
}
