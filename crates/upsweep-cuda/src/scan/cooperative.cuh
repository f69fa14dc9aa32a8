// What comes before each group of a row, by shuffles.

/// Values in shared memory that a warp needs for it.
constexpr u32 LOCAL_VALUES = 1;

/// Replaces totals of groups by what comes before them in their row.
__forceinline__ void before_in_rows(Acc (&groups)[ROWS], u32 lane, Acc* values) {
    if constexpr (BLOCKED) {
        before_in_runs(groups, lane);
    } else {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            groups[r] = before_in_row(groups[r], lane);
        }
    }
}
