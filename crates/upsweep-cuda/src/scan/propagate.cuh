// The last launch of `scan_then_propagate.cuh`.

/// Puts what comes into a chunk in front of its items.
template <bool WHOLE> __forceinline__ void put_in_front(const Chunk& chunk, u32 number, Thread thread, Shared& shared) {
    const Front front = front_of(chunk.scan, number, thread.lane);
    const Acc carry = then(front.carry, fold_lanes<SUBGROUP>(front.totals, thread.lane));
    if (threadIdx.x == 0 && number + 1 == chunk.scan.chunks) {
        hand_to_host(chunk.scan.state, then(carry, handed(chunk.scan.published() + number)));
    }
    Group held[ROWS];
    Marks unused;
    load<WHOLE>(chunk, thread, held, unused, shared.heads);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            held[r].at[k] = then(carry, held[r].at[k]);
        }
        store_group<WHOLE>(chunk, thread.row(r), thread.place(r), held[r], shared.of_warp[thread.warp].exchange);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) propagate(const Scan launched) {
    const auto& scanned = sized(launched);
    if (is_idle(scanned)) {
        return;
    }
    take_given(scanned.inputs);
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    Scan scan = scanned;
    scan.inputs.in0 = (const InMemory*)scanned.output;
    // From the end backwards: what was written last is likely to be in a cache still.
    const u32 number = workgroups_of(scan) - 1 - blockIdx.x;
    if constexpr (NESTS) {
        scan_handed(scan, number, thread, shared);
    } else {
        const Chunk chunk(scan, number);
        if (goes_unchecked(chunk)) {
            put_in_front<true>(chunk, number, thread, shared);
        } else {
            put_in_front<false>(chunk, number, thread, shared);
        }
    }
}
