
/// S over each `width` neighbouring lanes.
template <u32 width> inline Acc scan_lanes(Acc upto, u32 lane) {
    if constexpr (COUNTS_SEGMENTS) {
#pragma unroll
        for (u32 half = 1; half < width; half *= 2) {
            const Acc left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
            upto = chosen(upto, then(left, upto), lane & half);
        }
        return upto;
    } else {
        const u32 first = lane & ~(width - 1), own = lane - first;
        const u32 begins = __ballot_sync(ALL_LANES, upto.begins != 0) >> first;
        const u32 steps = steps_of(begins, own);
        // Whether one begins is asked in the end.
        upto.begins = 0;
#pragma unroll
        for (u32 half = 1; half < width; half *= 2) {
            const Acc left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
            upto = chosen(upto, then(left, upto), steps & half);
        }
        upto.begins = begins & (ALL_LANES >> (SUBGROUP - 1 - own)) ? 1 : 0;
        return upto;
    }
}
