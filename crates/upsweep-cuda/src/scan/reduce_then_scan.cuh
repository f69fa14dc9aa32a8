// A scan in three launches: 3n of traffic, and no workgroup waits for another.
//
//     upsweep     reads, and leaves the total of every chunk
//     spine       one workgroup: what comes into every window, `spine.cuh`
//     downsweep   reads again, scans, writes
//
// Source: M. Harris, S. Sengupta, J. Owens, Parallel Prefix Sum (Scan) with CUDA (2007).

template <bool WHOLE> __forceinline__ void leave_total_of(const Chunk& chunk, Thread thread, Shared& shared) {
    Group held[ROWS];
    load<WHOLE>(chunk, thread, held);
    leave_total(held, thread, shared);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) upsweep(const Scan scan) {
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    const Chunk chunk(scan, blockIdx.x);
    if (goes_unchecked(chunk)) {
        leave_total_of<true>(chunk, thread, shared);
    } else {
        leave_total_of<false>(chunk, thread, shared);
    }
    __syncthreads();
    if (thread.warp == 0) {
        const Acc total = total_left(shared.totals, thread.lane);
        if (thread.lane == 0) {
            hand_on(scan.state->published + blockIdx.x, total);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) downsweep(const Scan scan) {
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    // From the end backwards: what was read last is likely to be in a cache still.
    scan_handed(scan, gridDim.x - 1 - blockIdx.x, thread, shared);
}
