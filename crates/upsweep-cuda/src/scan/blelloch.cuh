// What comes before each group of a row, by a work-efficient tree in shared memory (G. Blelloch, 1990). It nests operations from
// the left, which S does not: for operators whose grouping cannot be seen, or where a lower level of determinism is asked for.

/// Values in shared memory that a warp needs for it.
constexpr u32 LOCAL_VALUES = ROWS * (SUBGROUP + 1);

/// The place of value i: nodes of a level meet few banks twice.
inline u32 place_of_value(u32 i) { return i + i / SUBGROUP; }

/// Replaces each of TREES times `width` neighbouring values by what comes before it in its tree. A warp does all nodes of a level
/// at once.
template <u32 TREES, u32 width> inline void sweep(Acc* values, u32 lane) {
#pragma unroll
    for (u32 half = 1; half < width; half *= 2) {
        __syncwarp();
        for (u32 node = lane; node < TREES * width / 2 / half; node += SUBGROUP) {
            const u32 right = (node + 1) * 2 * half - 1;
            Acc* own = values + place_of_value(right);
            *own = then(values[place_of_value(right - half)], *own);
        }
    }
    __syncwarp();
    if (lane < TREES) {
        values[place_of_value((lane + 1) * width - 1)] = padding();
    }
#pragma unroll
    for (u32 half = width / 2; half > 0; half /= 2) {
        __syncwarp();
        for (u32 node = lane; node < TREES * width / 2 / half; node += SUBGROUP) {
            const u32 right = (node + 1) * 2 * half - 1;
            Acc* own = values + place_of_value(right);
            Acc* left = values + place_of_value(right - half);
            const Acc before = *own, total = *left;
            *left = before;
            *own = then(before, total);
        }
    }
    __syncwarp();
}

/// Replaces totals of groups by what comes before them in their row.
__forceinline__ void before_in_rows(Acc (&groups)[ROWS], u32 lane, Acc* values) {
    __syncwarp();
    if constexpr (BLOCKED) {
        scan_run(groups);
        values[place_of_value(lane)] = groups[ROWS - 1];
        sweep<ROWS, ROW_LANES>(values, lane);
        const Acc before = values[place_of_value(lane)];
#pragma unroll
        for (u32 k = ROWS; k-- > 1;) {
            groups[k] = then(before, groups[k - 1]);
        }
        groups[0] = before;
    } else {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            values[place_of_value(r * SUBGROUP + lane)] = groups[r];
        }
        sweep<ROWS, SUBGROUP>(values, lane);
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            groups[r] = values[place_of_value(r * SUBGROUP + lane)];
        }
    }
}
