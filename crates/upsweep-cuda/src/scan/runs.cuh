// Runs of neighbouring values, ROWS of them in each lane, so that 32 / ROWS neighbouring lanes share a row.

/// Lanes that share a row.
constexpr u32 ROW_LANES = SUBGROUP / ROWS;

/// S over the values of a run.
__forceinline__ void scan_run(Acc (&run)[ROWS]) {
#pragma unroll
    for (u32 half = 1; half < ROWS; half *= 2) {
#pragma unroll
        for (u32 k = 0; k < ROWS; ++k) {
            if (k & half) {
                run[k] = then(run[(k & ~(2 * half - 1)) + half - 1], run[k]);
            }
        }
    }
}

/// Replaces values by what comes before them in their row.
__forceinline__ void before_in_runs(Acc (&run)[ROWS], u32 lane) {
    scan_run(run);
#pragma unroll
    for (u32 half = 1; half < ROW_LANES; half *= 2) {
        const Acc left = shuffled(run[ROWS - 1], (lane & ~(2 * half - 1)) + half - 1);
#pragma unroll
        for (u32 k = 0; k < ROWS; ++k) {
            run[k] = chosen(run[k], then(left, run[k]), lane & half);
        }
    }
    const Acc before = chosen(shuffled(run[ROWS - 1], lane - 1), padding(), lane % ROW_LANES == 0);
#pragma unroll
    for (u32 k = ROWS; k-- > 1;) {
        run[k] = run[k - 1];
    }
    run[0] = before;
}

/// Lane k gets the total of row k of the first ROWS, and lanes behind the same again.
__forceinline__ Acc fold_runs(Acc (&run)[ROWS], u32 lane) {
#pragma unroll
    for (u32 width = 1; width < ROWS; width *= 2) {
#pragma unroll
        for (u32 k = 0; k < ROWS; k += 2 * width) {
            run[k] = then(run[k], run[k + width]);
        }
    }
    return shuffled(fold_lanes<ROW_LANES>(run[0], lane), lane % ROWS * ROW_LANES);
}
