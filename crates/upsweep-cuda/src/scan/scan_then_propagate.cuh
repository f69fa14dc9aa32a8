// A scan in three launches: 4n of traffic.
//
//     local       scans, writes, and leaves the total of every chunk
//     spine       one workgroup: what comes into every window, `spine.cuh`
//     propagate   reads what was written, puts in front what comes in, and writes it again
//
// `local` scans whole chunks, so that `propagate` has one carry to put in front of all items. Where grouping is bound (NESTS),
// finished sums could not take a carry any more: `local` then writes S over the items of each group, and `propagate` scans the
// groups.

/// Leaves the total of a chunk, and writes its scan, into which nothing comes.
template <bool WHOLE> __forceinline__ void scan_apart(const Chunk& chunk, u32 number, Thread thread, Shared& shared) {
    Group held[ROWS];
    Marks marks;
    load<WHOLE>(chunk, thread, held, marks, shared.heads);
    const Acc upto = leave_total(held, thread, shared);
    __syncthreads();
    if (thread.warp == 0) {
        const Acc total = total_left(shared.totals, thread.lane);
        if (thread.lane == 0) {
            hand_on(chunk.scan.published() + number, total);
        }
        leave_tile_carries(tiles_of(shared.totals, thread.lane), shared.tile_carries, 0, thread.lane, {padding(), padding()});
    }
    __syncthreads();
    if constexpr (NESTS) {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            const Group group = scan_group(held[r]);
            store_group<WHOLE>(chunk, thread.row(r), thread.place(r), group, shared.of_warp[thread.warp].exchange);
        }
    } else {
        finish<WHOLE>(chunk, held, upto, marks, thread, shared);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) local(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    const Chunk chunk(scan, blockIdx.x);
    if (goes_unchecked(chunk)) {
        scan_apart<true>(chunk, blockIdx.x, thread, shared);
    } else {
        scan_apart<false>(chunk, blockIdx.x, thread, shared);
    }
}
