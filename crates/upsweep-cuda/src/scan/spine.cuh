// The spine of a scan in three launches: one workgroup folds the totals of chunks to what comes into every window.

/// As many windows at a time as there are threads.
constexpr u32 SPINE_THREADS = SUBGROUP * SPINE_WARPS;

/// A window's chunks by a tree over neighbours.
inline Acc total_of_window(const Scan& scan, u32 window) {
    Acc totals[CHUNKS_OF_WINDOW];
#pragma unroll
    for (u32 k = 0; k < CHUNKS_OF_WINDOW; ++k) {
        totals[k] = handed(scan.published() + window * CHUNKS_OF_WINDOW + k);
    }
#pragma unroll
    for (u32 width = 1; width < CHUNKS_OF_WINDOW; width *= 2) {
#pragma unroll
        for (u32 k = 0; k < CHUNKS_OF_WINDOW; k += 2 * width) {
            totals[k] = then(totals[k], totals[k + width]);
        }
    }
    return totals[0];
}

/// Folds windows one after another, and replaces each one's total by what comes into the next. For the lanes of one warp.
inline Acc fold_in_turn(Acc* totals, Acc carry, u32 lane) {
#pragma unroll 1
    for (u32 first = 0; first < SPINE_THREADS; first += SUBGROUP) {
        const Acc total = totals[first + lane];
        Acc behind = padding();
#pragma unroll
        for (u32 k = 0; k < SUBGROUP; ++k) {
            carry = then(carry, shuffled(total, k));
            behind = chosen(behind, carry, lane == k);
        }
        totals[first + lane] = behind;
    }
    return carry;
}

extern "C" __global__ void __launch_bounds__(SPINE_THREADS, 1) spine(const Scan launched) {
    const auto& scan = sized(launched);
    take_given(scan.inputs);
    __shared__ Acc totals[SPINE_THREADS];
    // Windows with another behind them, so that they are whole.
    const u32 windows = (scan.chunks - 1) / CHUNKS_OF_WINDOW;
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    Acc carry = start_of(scan);
    for (u64 first = 0; first < windows; first += SPINE_THREADS) {
        const u64 window = first + threadIdx.x;
        totals[threadIdx.x] = window < windows ? total_of_window(scan, u32(window)) : padding();
        __syncthreads();
        if (warp == 0) {
            carry = fold_in_turn(totals, carry, lane);
        }
        __syncthreads();
        if (window < windows) {
            hand_on(into_windows(scan) + window, totals[threadIdx.x]);
        }
    }
}
