// What comes before each group of a row, by lanes that rake over the values of their warp in shared memory: each takes a run of
// them. Lanes that were loaded with runs rake where they are.

/// Values in shared memory that a warp needs for it.
constexpr u32 LOCAL_VALUES = ROWS * (SUBGROUP + 1);

/// The place of value i: rows and runs meet no bank twice.
inline u32 place_of_value(u32 i) { return i + i / SUBGROUP; }

/// Replaces totals of groups by what comes before them in their row.
__forceinline__ void before_in_rows(Acc (&groups)[ROWS], u32 lane, Acc* values) {
    if constexpr (BLOCKED) {
        before_in_runs(groups, lane);
    } else {
        __syncwarp();
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            values[place_of_value(r * SUBGROUP + lane)] = groups[r];
        }
        __syncwarp();
#pragma unroll
        for (u32 k = 0; k < ROWS; ++k) {
            groups[k] = values[place_of_value(lane * ROWS + k)];
        }
        before_in_runs(groups, lane);
#pragma unroll
        for (u32 k = 0; k < ROWS; ++k) {
            values[place_of_value(lane * ROWS + k)] = groups[k];
        }
        __syncwarp();
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            groups[r] = values[place_of_value(r * SUBGROUP + lane)];
        }
    }
}
