// The first launch of several: every chunk's total.

template <bool WHOLE> __forceinline__ void leave_total_of(const Chunk& chunk, Thread thread, Shared& shared) {
    Group held[ROWS];
    Marks marks;
    load<WHOLE>(chunk, thread, held, marks, shared.heads);
    leave_total(held, thread, shared);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) upsweep(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
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
            hand_on(scan.published() + blockIdx.x, total);
        }
    }
}
