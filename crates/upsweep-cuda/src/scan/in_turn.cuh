// A scan in a single pass over memory, by workgroups that stay: 2n of traffic. Workgroup b of G takes chunks in turn: b, b + G,
// b + 2G, …
//
// Of each chunk its total alone is published; what comes into a chunk is the fold of all totals since this workgroup's last, in
// their order, window by window. All workgroups must run at once, so the launch is cooperative. Every wait for another is bounded.
//
// The same with chunks that wait in shared memory, and warps that serve the others: `aggregates.cuh`.

extern "C" __global__ void __launch_bounds__(THREADS, 1) scan(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    const u32 turns = (scan.chunks - blockIdx.x + gridDim.x - 1) / gridDim.x;
    // Known before anything is published, after which the run may end.
    const u32 mark = mark_of_run(scan.state);
    Front front = {start_of(scan), padding()};
    // What comes into the window of which this is the first chunk is known.
    u32 known = 0;
    Acc out = padding();
    bool has_last = false;
    for (u32 turn = 0; turn < turns; ++turn) {
        const u32 number = blockIdx.x + turn * gridDim.x;
        const Chunk chunk(scan, number);
        const auto control = [&] {
            if (thread.warp > 0) {
                return;
            }
            has_last = number + 1 == scan.chunks;
            const Acc total = total_left(shared.totals, thread.lane);
            if (thread.lane == 0 && !has_last) {
                publish(scan.published() + number, total, mark);
            }
            const Tiles tiles = tiles_of(shared.totals, thread.lane);
            fold_totals(scan, mark, known, number, thread.lane, front);
            known = number - number % CHUNKS_OF_WINDOW;
            out = leave_tile_carries(tiles, shared.tile_carries, number, thread.lane, front);
        };
        if (goes_unchecked(chunk)) {
            scan_chunk<true>(chunk, thread, shared, control);
        } else {
            scan_chunk<false>(chunk, thread, shared, control);
        }
        // Nobody looks at this chunk's totals any more.
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        leave(scan, mark, has_last, out, workgroups_of(scan));
    }
}
